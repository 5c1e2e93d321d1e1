//! Our server: a function agent under `append`.

use std::io::Write as _;

use llamon_agent::prelude::*;

use crate::Outcome;
use crate::load::STREAM_CHUNKS;

#[tokio::main]
pub(crate) async fn serve() -> Outcome<()> {
    let card = AgentCard::new("bench", "Answers done", "1.0.0").skill(Skill::new(
        "bench",
        "Bench",
        "Answers done",
    ));
    let server = create_server(card, agent)
        .upstream_parts_policy("append")
        .await?
        .bind("127.0.0.1:0")
        .await?;
    writeln!(std::io::stdout(), "{}", server.local_addr())?;
    server.serve().await?;
    Ok(())
}

async fn agent(turn: Turn) -> Result<&'static str, AgentError> {
    let chunks = match turn.query() {
        "stream" => STREAM_CHUNKS,
        query => match query.strip_prefix("chunks ") {
            Some(count) => count.parse()?,
            None => return Ok("done"),
        },
    };
    for _ in 0..chunks {
        turn.emit("a chunk of some tokens ").await?;
    }
    Ok("")
}
