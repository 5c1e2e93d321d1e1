use llamon_macros::InputContracts;

#[derive(InputContracts)]
#[inputs(crate = "llamon_core")]
struct Billing {
    #[inputs(crate = "llamon_core")]
    order: u32,
}

fn main() {}
