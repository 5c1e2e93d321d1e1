use llamon_macros::InputContracts;

#[derive(InputContracts)]
#[inputs(crate = "llamon_core")]
struct Billing {
    #[input(default = "5")]
    order: Option<u32>,
}

fn main() {}
