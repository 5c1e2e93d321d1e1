use llamon_core::contracts::FilePart;
use llamon_macros::InputContracts;

#[derive(InputContracts)]
#[inputs(crate = "llamon_core")]
struct Billing {
    #[input(select = "$.pages")]
    order: FilePart,
}

fn main() {}
