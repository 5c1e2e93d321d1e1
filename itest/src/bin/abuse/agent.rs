//! The server: with the limits that everybody has.

use llamon_agent::prelude::*;
use llamon_agent::server::{ConnectionLimits, GrpcAt};
use llamon_itest::agents::card;

/// Serves until it is killed. A roomy server holds all connections that come, so that it can be
/// seen what they cost.
pub(crate) async fn serve(roomy: bool) -> Result<(), Box<dyn std::error::Error>> {
    let mut limits = ConnectionLimits::default();
    if roomy {
        limits = limits
            .with_max_connections(100_000)
            .with_max_connections_per_address(100_000);
    }
    let bound = create_server(card("abused"), answer)
        .connection_limits(limits)
        .grpc(GrpcAt::SamePort)
        .await?
        .bind("127.0.0.1:0")
        .await?;
    println!("READY {}", bound.url());
    bound.serve().await?;
    Ok(())
}

/// Says more than the socket of a client that does not read takes, where it is asked to.
async fn answer(turn: Turn) -> Result<Answer, AgentError> {
    if turn.query() == "flood" {
        let chunk = "x".repeat(64 * 1024);
        for _ in 0..48 {
            turn.emit(chunk.as_str()).await?;
        }
    }
    Ok(Answer::completed("done")?)
}
