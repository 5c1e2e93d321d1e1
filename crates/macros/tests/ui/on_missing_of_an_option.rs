use llamon_macros::InputContracts;

#[derive(InputContracts)]
#[inputs(crate = "llamon_core")]
struct Billing {
    #[input(on_missing = "ask")]
    order: Option<u32>,
}

fn main() {}
