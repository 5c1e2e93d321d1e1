use llamon_macros::InputContracts;

#[derive(InputContracts)]
#[inputs(crate = "llamon_core")]
union Billing {
    order: u32,
}

fn main() {}
