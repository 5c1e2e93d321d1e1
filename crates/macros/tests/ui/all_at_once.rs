use llamon_core::contracts::{FilePart, Inputs};
use llamon_macros::InputContracts;

#[derive(InputContracts)]
#[inputs(crate = "llamon_core")]
struct Billing {
    #[input(pick = "newest")]
    order: u32,
    #[input(select = "$.pages")]
    scan: FilePart,
    #[input(name = "total")]
    net: u32,
    #[input(name = "total")]
    gross: u32,
}

fn agent<I: Inputs>() {}

fn main() {
    // The struct counts as declared: nothing is said of it here.
    agent::<Billing>();
}
