use llamon_macros::InputContracts;

#[derive(InputContracts)]
#[inputs(crate = "llamon_core")]
struct Billing {
    #[input(name = "a", name = "b")]
    order: u32,
}

fn main() {}
