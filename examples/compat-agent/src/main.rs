use clap::Parser;
use compat_agent::{Profile, app};
use llamon_agent::server::Compat;

/// The agent that the public A2A compatibility kit drives.
#[derive(Parser)]
struct Arguments {
    /// Where it listens; the card is at the root.
    #[arg(long, default_value = "127.0.0.1:9999")]
    address: String,
    /// What the card declares.
    #[arg(long, value_enum, default_value_t)]
    profile: Profile,
    /// Answers in the forms that the kit expects where A2A 1.0.0 and 1.0.1 differ.
    #[arg(long = "compat-1-0-0")]
    compat_1_0_0: bool,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments = Arguments::parse();
    let compat = if arguments.compat_1_0_0 {
        Compat::V1_0_0
    } else {
        Compat::Current
    };
    let server = app(arguments.profile, compat).await?;
    let bound = server.bind(&arguments.address).await?;
    println!("compat-agent at {}", bound.url());
    bound.serve().await?;
    Ok(())
}
