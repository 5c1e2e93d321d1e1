use llamon_macros::InputContracts;

#[derive(InputContracts)]
#[inputs(crate = "llamon_core")]
struct Billing {
    #[input(default = "5")]
    order: Vec<u32>,
}

fn main() {}
