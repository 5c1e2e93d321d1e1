use llamon_macros::InputContracts;

#[derive(InputContracts)]
#[inputs(crate = "llamon_core")]
enum Billing {
    Order,
}

fn main() {}
