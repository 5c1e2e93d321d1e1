//! An issuer of tokens: its keys, the tokens that they sign, and the place where it publishes them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use llamon_agent::server::auth::{JwtAlgorithm, JwtBearer, JwtBuilder};
use llamon_itest::agents::Gate;
use ring::hmac;
use ring::rand::SystemRandom;
use ring::rsa::PublicKeyComponents;
use ring::signature::{self, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _, RsaKeyPair};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

pub(crate) const ISSUER: &str = "https://id.example";
pub(crate) const AUDIENCE: &str = "https://agent.example";
/// The RSA key of the tests of card signatures.
const RSA_PEM: &str = include_str!("../../../crates/client/tests/keys/rsa.pem");

/// A key that tokens are signed with.
pub(crate) enum Signer {
    Ed25519(Ed25519KeyPair),
    P256(EcdsaKeyPair),
    Rsa(Box<RsaKeyPair>),
    Secret(Vec<u8>),
}

impl Signer {
    pub(crate) fn ed25519() -> Self {
        let random = SystemRandom::new();
        let der = Ed25519KeyPair::generate_pkcs8(&random).unwrap();
        Self::Ed25519(Ed25519KeyPair::from_pkcs8(der.as_ref()).unwrap())
    }

    pub(crate) fn p256() -> Self {
        let random = SystemRandom::new();
        let how = &signature::ECDSA_P256_SHA256_FIXED_SIGNING;
        let der = EcdsaKeyPair::generate_pkcs8(how, &random).unwrap();
        Self::P256(EcdsaKeyPair::from_pkcs8(how, der.as_ref(), &random).unwrap())
    }

    pub(crate) fn rsa() -> Self {
        let lines = RSA_PEM.lines().filter(|line| !line.starts_with('-'));
        let der = STANDARD.decode(lines.collect::<String>()).unwrap();
        Self::Rsa(Box::new(RsaKeyPair::from_pkcs8(&der).unwrap()))
    }

    /// Signs with SHA-256, whatever the token's header says.
    fn sign(&self, message: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match self {
            Self::Ed25519(pair) => pair.sign(message).as_ref().to_vec(),
            Self::P256(pair) => pair.sign(&random, message).unwrap().as_ref().to_vec(),
            Self::Rsa(pair) => {
                let mut out = vec![0; pair.public().modulus_len()];
                pair.sign(&signature::RSA_PKCS1_SHA256, &random, message, &mut out)
                    .unwrap();
                out
            }
            Self::Secret(secret) => {
                let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
                hmac::sign(&key, message).as_ref().to_vec()
            }
        }
    }

    /// The public key as JSON, with members more.
    pub(crate) fn jwk(&self, more: &str) -> String {
        let encode = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let own = match self {
            Self::Ed25519(pair) => {
                let x = encode(pair.public_key().as_ref());
                format!(r#""kty":"OKP","crv":"Ed25519","x":"{x}""#)
            }
            Self::P256(pair) => {
                let point = pair.public_key().as_ref();
                let (x, y) = (encode(&point[1..33]), encode(&point[33..]));
                format!(r#""kty":"EC","crv":"P-256","x":"{x}","y":"{y}""#)
            }
            Self::Rsa(pair) => {
                let public = PublicKeyComponents::<Vec<u8>>::from(pair.public());
                let (n, e) = (encode(&public.n), encode(&public.e));
                format!(r#""kty":"RSA","n":"{n}","e":"{e}""#)
            }
            Self::Secret(secret) => format!(r#""kty":"oct","k":"{}""#, encode(secret)),
        };
        format!("{{{own}{more}}}")
    }

    /// The key as one of a set, under this id.
    pub(crate) fn named(&self, id: &str) -> String {
        self.jwk(&format!(r#","kid":"{id}""#))
    }

    /// A token of these two JSON texts.
    pub(crate) fn token(&self, header: &str, claims: &str) -> String {
        let message = unsigned(header, claims);
        let signature = URL_SAFE_NO_PAD.encode(self.sign(message.as_bytes()));
        format!("{message}.{signature}")
    }
}

/// A token without its last dot and signature.
pub(crate) fn unsigned(header: &str, claims: &str) -> String {
    let (header, claims) = (
        URL_SAFE_NO_PAD.encode(header),
        URL_SAFE_NO_PAD.encode(claims),
    );
    format!("{header}.{claims}")
}

pub(crate) fn key_set(keys: &[String]) -> String {
    format!(r#"{{"keys":[{}]}}"#, keys.join(","))
}

/// Claims that count, of this subject, with members more.
pub(crate) fn claims(subject: &str, more: &str) -> String {
    format!(r#"{{"iss":"{ISSUER}","aud":"{AUDIENCE}","sub":"{subject}","exp":4000000000{more}}}"#)
}

/// An authenticator of [`ISSUER`]'s tokens by Ed25519, which wants keys only.
pub(crate) fn tokens() -> JwtBuilder {
    JwtBearer::builder()
        .issuer(ISSUER)
        .audience(AUDIENCE)
        .algorithms([JwtAlgorithm::EdDsa])
}

/// How a place answers.
#[derive(Clone)]
pub(crate) enum Answer {
    Json(String),
    Status(u16),
    Redirect(String),
    /// As the last one does, when the gate is opened.
    After(Arc<Gate>, Box<Self>),
    /// By hanging up.
    Close,
}

/// A server of JSON documents on loopback.
pub(crate) struct Place {
    pub(crate) url: String,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    answers: Mutex<HashMap<String, Answer>>,
    asked: Mutex<Vec<String>>,
}

impl Place {
    /// A server that knows one path.
    pub(crate) async fn at(path: &str, answer: Answer) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let shared = Arc::new(Shared::default());
        let place = Self {
            url,
            shared: Arc::clone(&shared),
        };
        place.set(path, answer);
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(serve(socket, Arc::clone(&shared)));
            }
        });
        place
    }

    pub(crate) fn set(&self, path: &str, answer: Answer) {
        let mut answers = self.shared.answers.lock().unwrap();
        answers.insert(path.to_owned(), answer);
    }

    pub(crate) fn keys_url(&self) -> String {
        format!("{}/keys", self.url)
    }

    /// The paths that were asked for, in order.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.shared.asked.lock().unwrap().clone()
    }
}

async fn serve(mut socket: TcpStream, shared: Arc<Shared>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        match socket.read(&mut byte).await {
            Ok(1) => head.push(byte[0]),
            _ => return,
        }
    }
    let head = String::from_utf8(head).unwrap();
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    shared.asked.lock().unwrap().push(path.clone());
    let answer = shared.answers.lock().unwrap().get(&path).cloned();
    let mut answer = answer.unwrap_or(Answer::Status(404));
    while let Answer::After(gate, then) = answer {
        gate.pass().await;
        answer = *then;
    }
    let (status, more, body) = match answer {
        Answer::Json(body) => (200, String::new(), body),
        Answer::Status(status) => (status, String::new(), String::new()),
        Answer::Redirect(to) => (302, format!("Location: {to}\r\n"), String::new()),
        Answer::Close | Answer::After(..) => return,
    };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status} x\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\
         Connection: close\r\n{more}\r\n"
    );
    // Whoever asked may be gone.
    let _ = socket.write_all((head + &body).as_bytes()).await;
}
