use llamon_macros::InputContracts;

#[derive(InputContracts)]
#[inputs(crate = "llamon_core")]
struct Billing {
    order: Option<Vec<u32>>,
}

fn main() {}
