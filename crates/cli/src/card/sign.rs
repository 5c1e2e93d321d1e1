//! `llamon card sign`.

use llamon_agent::client::signing::{Algorithm, SigningKey};

use super::{SignArgs, source};
use crate::error::CliError;
use crate::exit::Exit;
use crate::out::Out;

/// Prints the card with a signature more.
pub(super) fn run(args: &SignArgs) -> Result<Exit, CliError> {
    let mut key = key(args)?;
    if let Some(wanted) = args.alg.map(Algorithm::from)
        && wanted != key.algorithm()
    {
        let message = format!(
            "the key {} signs with {}, not with {wanted}",
            args.key.display(),
            key.algorithm()
        );
        return Err(CliError::usage(message).with_next("leave --alg out, or give another key"));
    }
    if args.also_without_empty {
        key = key.also_without_empty();
    }
    let card = source::file(&args.card)?;
    let signed = key.sign(&card).map_err(|error| {
        CliError::usage(format!("the file {}: {error}", args.card.display())).with_next(format!(
            "see what is wrong: llamon card lint {}",
            args.card.display()
        ))
    })?;
    let mut out = Out::default();
    out.raw(&signed)?;
    out.end_line()?;
    Ok(Exit::Completed)
}

fn key(args: &SignArgs) -> Result<SigningKey, CliError> {
    let text = source::file(&args.key)?;
    let key = if source::is_pem(&text) {
        let kid = args.kid.as_deref().ok_or_else(|| {
            CliError::usage("a key in PEM has no id, and verifiers need one")
                .with_next("name it: --kid 2026-12")
        })?;
        SigningKey::from_pem(&text, kid)
    } else {
        match &args.kid {
            None => SigningKey::from_jwk(&text),
            Some(kid) => SigningKey::from_jwk_as(&text, kid),
        }
    };
    key.map_err(|error| {
        CliError::usage(format!("the file {}: {error}", args.key.display()))
            .with_next("give a private key: PEM or a JSON Web Key, EC P-256, Ed25519 or RSA")
    })
}
