use llamon_macros::InputContracts;

#[derive(InputContracts)]
#[inputs(crate = "llamon_core")]
struct Billing {
    #[input(optional, default = "[]")]
    order: Vec<u32>,
}

fn main() {}
