use llamon_macros::InputContracts;

#[derive(InputContracts)]
#[inputs(crate = "llamon_core")]
struct Billing {
    order: u32,
    #[input(name = "order")]
    other: u32,
}

fn main() {}
