use llamon_macros::InputContracts;

#[derive(InputContracts)]
#[inputs(crate = "llamon_core")]
struct Billing {
    #[input(on_missing = "ask", default = "1")]
    order: u32,
}

fn main() {}
