use llamon_core::contracts::FilePart;
use llamon_macros::InputContracts;

#[derive(InputContracts)]
#[inputs(crate = "llamon_core")]
struct Billing {
    order: Vec<Option<FilePart>>,
}

fn main() {}
