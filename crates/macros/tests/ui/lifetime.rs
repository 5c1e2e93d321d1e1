use llamon_macros::InputContracts;

#[derive(InputContracts)]
#[inputs(crate = "llamon_core")]
struct Billing<'a> {
    order: &'a str,
}

fn main() {}
