use llamon_macros::InputContracts;

#[derive(InputContracts)]
#[inputs(crate = "llamon_core")]
struct Billing {
    #[input(schema = 5)]
    order: u32,
}

fn main() {}
