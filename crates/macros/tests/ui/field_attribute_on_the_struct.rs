use llamon_macros::InputContracts;

#[derive(InputContracts)]
#[inputs(crate = "llamon_core")]
#[input(name = "order")]
struct Billing {
    order: u32,
}

fn main() {}
