//! Clients with certificates: who is let in, as whom, and what changes with the roots.

use std::path::Path;

use llamon_agent::prelude::*;
use llamon_agent::server::auth::{Identity, MutualTls};
use llamon_agent::server::tls::{ClientCertificates, Tls, TlsFiles};
use llamon_itest::agents::card;
use llamon_itest::certificates::{Authority, Issued, VALID, Years};
use llamon_itest::tls::Caller;

use crate::support::{CARD, Secure, status};

const GO: &str = r#"{"message":{"messageId":"1","role":"ROLE_USER","parts":[{"text":"go"}]}}"#;

async fn whoever(turn: Turn) -> Result<Answer, AgentError> {
    let whom = turn.principal().unwrap_or("nobody").to_owned();
    Ok(Answer::completed(whom)?)
}

/// A server for the clients of an authority.
struct Served {
    server: Secure,
    servers: Authority,
    tls: Tls,
    folder: tempfile::TempDir,
}

impl Served {
    async fn start(clients: &Authority, asked: ClientCertificates, auth: MutualTls) -> Self {
        let (servers, folder) = (
            Authority::new("servers"),
            tempfile::tempdir().expect("a folder"),
        );
        let (certificate, key) = servers.server().write(folder.path());
        let roots = folder.path().join("clients.pem");
        clients.write(&roots);
        let files = TlsFiles::new(certificate, key).client_roots(roots, asked);
        let tls = files.load().expect("files");
        let builder = create_server(card("agent"), whoever).authenticate(auth);
        let server = Secure::start(builder.tls(tls.clone())).await;
        Self {
            server,
            servers,
            tls,
            folder,
        }
    }

    fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Sends a message with this certificate, and says the status and the answer.
    async fn send(&self, certificate: Option<&Issued>) -> Option<(u16, String)> {
        let caller = match certificate {
            Some(certificate) => Caller::known(&self.servers, certificate),
            None => Caller::of(&self.servers),
        };
        let url = &self.server.url;
        let answer = caller.ask(url, "POST", "/message:send", GO).await.ok()?;
        Some((status(&answer), answer))
    }

    async fn is_served(&self, certificate: &Issued, whom: &str) -> bool {
        let sent = self.send(Some(certificate)).await;
        sent.is_some_and(|(status, answer)| status == 200 && answer.contains(whom))
    }
}

#[tokio::test]
async fn certificates_that_are_not_good_get_no_connection() {
    let (clients, others) = (Authority::new("clients"), Authority::new("clients"));
    for asked in [ClientCertificates::Required, ClientCertificates::Optional] {
        let served = Served::start(&clients, asked, MutualTls::new()).await;
        let good = clients.client(&["spiffe://example.org/one"], VALID);
        assert!(
            served
                .is_served(&good, "uri:spiffe://example.org/one")
                .await
        );
        for (why, bad) in [
            ("another authority", others.client(&["a.example"], VALID)),
            ("expired", clients.client(&["a.example"], Years(2020, 2021))),
            (
                "not yet valid",
                clients.client(&["a.example"], Years(2089, 2090)),
            ),
            ("a server's", clients.server()),
        ] {
            assert_eq!(served.send(Some(&bad)).await, None, "{why}");
        }
        assert!(served.is_served(&good, "example.org/one").await);
    }
}

#[tokio::test]
async fn without_a_certificate_there_is_no_connection_or_no_operation() {
    let clients = Authority::new("clients");
    let asked = ClientCertificates::Required;
    let served = Served::start(&clients, asked, MutualTls::new()).await;
    assert_eq!(served.send(None).await, None);

    let asked = ClientCertificates::Optional;
    let served = Served::start(&clients, asked, MutualTls::new()).await;
    let (status_of, answer) = served.send(None).await.unwrap();
    assert_eq!(status_of, 401, "{answer}");
    assert!(answer.contains("www-authenticate: MutualTLS"), "{answer}");
    let caller = Caller::of(&served.servers);
    let card = caller
        .ask(&served.server.url, "GET", CARD, "")
        .await
        .unwrap();
    assert_eq!(status(&card), 200, "{card}");
    assert!(card.contains("mtlsSecurityScheme"), "{card}");
}

#[tokio::test]
async fn who_it_is_is_the_first_uri_or_else_the_first_dns_name() {
    let clients = Authority::new("clients");
    let asked = ClientCertificates::Required;
    let served = Served::start(&clients, asked, MutualTls::new()).await;
    for (names, whom) in [
        (
            &["b.example", "spiffe://example.org/b"][..],
            "\"uri:spiffe://example.org/b\"",
        ),
        (&["urn:one", "urn:two"], "\"uri:urn:one\""),
        (&["C.example", "d.example"], "\"dns:c.example\""),
        (&["me@example.com", "e.example"], "\"dns:e.example\""),
    ] {
        let certificate = clients.client(names, VALID);
        let (_, answer) = served.send(Some(&certificate)).await.unwrap();
        assert!(answer.contains(whom), "{names:?}: {answer}");
    }
    for names in [&[][..], &["me@example.com"]] {
        let certificate = clients.client(names, VALID);
        let (status, answer) = served.send(Some(&certificate)).await.unwrap();
        assert_eq!(status, 403, "{names:?}: {answer}");
    }
}

#[tokio::test]
async fn who_it_is_can_be_decided_otherwise_and_tasks_are_theirs() {
    let clients = Authority::new("clients");
    let auth = MutualTls::new().with_identity(|certificate| {
        let [name] = certificate.dns_names() else {
            return None;
        };
        let (who, tenant) = name.split_once('.')?;
        Some(Identity::new(who).of_tenant(tenant))
    });
    let served = Served::start(&clients, ClientCertificates::Required, auth).await;
    let alice = clients.client(&["alice.acme"], VALID);
    let mallory = clients.client(&["mallory.acme"], VALID);
    let (_, answer) = served.send(Some(&alice)).await.unwrap();
    assert!(answer.contains("\"alice\""), "{answer}");
    let body = answer.split("\r\n\r\n").nth(1).unwrap();
    let id = llamon_itest::raw::Raw::parse(body).string("task.id");
    for (certificate, expected) in [(&alice, 200), (&mallory, 404)] {
        let caller = Caller::known(&served.servers, certificate);
        let path = format!("/tasks/{id}");
        let got = caller.ask(&served.server.url, "GET", &path, "").await;
        assert_eq!(status(&got.unwrap()), expected);
    }
    let several = clients.client(&["a.acme", "b.acme"], VALID);
    let (status, answer) = served.send(Some(&several)).await.unwrap();
    assert_eq!(status, 403, "{answer}");
}

#[tokio::test]
async fn new_roots_count_for_new_connections() {
    let (before, after) = (Authority::new("before"), Authority::new("after"));
    let asked = ClientCertificates::Required;
    let served = Served::start(&before, asked, MutualTls::new()).await;
    let old = before.client(&["old.example"], VALID);
    let new = after.client(&["new.example"], VALID);
    assert!(served.is_served(&old, "dns:old.example").await);
    assert_eq!(served.send(Some(&new)).await, None);

    std::fs::write(served.folder().join("clients.pem"), "").unwrap();
    assert!(served.tls.reload().is_err(), "no roots");
    assert!(served.is_served(&old, "dns:old.example").await);

    after.write(&served.folder().join("clients.pem"));
    assert!(served.tls.reload().unwrap());
    assert!(served.is_served(&new, "dns:new.example").await);
    assert_eq!(served.send(Some(&old)).await, None);
}
