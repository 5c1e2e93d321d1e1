use llamon_macros::InputContracts;

#[derive(InputContracts)]
#[inputs(crate = "llamon_core")]
struct Billing {
    #[input(on_missing = "wait")]
    order: u32,
}

fn main() {}
