use llamon_macros::InputContracts;

#[derive(InputContracts)]
#[inputs(krate = "llamon_core")]
struct Billing {
    order: u32,
}

fn main() {}
