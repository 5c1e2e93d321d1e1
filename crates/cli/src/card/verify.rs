//! `llamon card verify`.

use llamon_agent::client::signing::CardVerifier;
use llamon_agent::core::json::string_token;

use super::{VerifyArgs, source};
use crate::error::CliError;
use crate::exit::Exit;
use crate::out::Out;

/// Says which trusted key signed the card, or why none did.
pub(super) async fn run(args: &VerifyArgs) -> Result<Exit, CliError> {
    let verifier = verifier(args)?;
    let card = source::card(&args.source).await?;
    let mut out = Out::default();
    match verifier.verify(&card) {
        Ok(by) if args.json => {
            out.raw(&format!(
                "{{\"verified\":true,\"kid\":{},\"alg\":\"{}\",\"signature\":{}}}\n",
                string_token(by.kid()),
                by.algorithm(),
                by.index()
            ))?;
            Ok(Exit::Completed)
        }
        Ok(by) => {
            out.line(&format!(
                "signed by {} with {} (signatures[{}])",
                by.kid(),
                by.algorithm(),
                by.index()
            ))?;
            Ok(Exit::Completed)
        }
        Err(error) => {
            if args.json {
                let reason = string_token(&error.to_string());
                out.raw(&format!("{{\"verified\":false,\"reason\":{reason}}}\n"))?;
            }
            let next = if error.is_unsigned() {
                "ask the agent's owner for a signed card; llamon card sign signs one"
            } else {
                "do not trust the card; get the owner's current keys and card from the owner"
            };
            Err(CliError::new(Exit::Protocol, error.to_string()).with_next(next))
        }
    }
}

fn verifier(args: &VerifyArgs) -> Result<CardVerifier, CliError> {
    let mut verifier = CardVerifier::new();
    if args.accept_without_empty {
        verifier = verifier.accept_without_empty();
    }
    for path in &args.keys {
        let text = source::file(path)?;
        let with_key = if source::is_pem(&text) {
            let kid = args.kid.as_deref().ok_or_else(|| {
                CliError::usage(format!("the key {} is PEM and has no id", path.display()))
                    .with_next("say which id signatures name it by: --kid 2026-12")
            })?;
            verifier.pem(&text, kid)
        } else {
            verifier.jwks(&text)
        };
        verifier = with_key.map_err(|error| {
            CliError::usage(format!("the file {}: {error}", path.display()))
                .with_next("give public keys: a JSON Web Key Set, or PEM with --kid")
        })?;
    }
    Ok(verifier)
}
