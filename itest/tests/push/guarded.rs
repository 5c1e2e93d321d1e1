//! Where notifications are not sent to, whatever a configuration says.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use llamon_agent::client::egress::{Resolve, Resolving};
use llamon_agent::server::create_server;
use llamon_itest::agents::{card, start, until};
use llamon_itest::receiver::{Answer, Receiver};
use llamon_itest::say::Say;
use llamon_itest::wire::peers;

use crate::support::{COMPLETED, agent, create, notifying, options, serve, url, waiting_task};

/// A name server that gives one address and then another.
struct Rebinding {
    addresses: Vec<&'static str>,
    asked: Arc<AtomicUsize>,
}

impl Resolve for Rebinding {
    fn resolve<'a>(&'a self, _host: &'a str) -> Resolving<'a> {
        let n = self.asked.fetch_add(1, Ordering::SeqCst);
        let address = self.addresses[n.min(self.addresses.len() - 1)];
        let ip = address.parse().map_err(|_| io::Error::other("an address"));
        Box::pin(async move { Ok(vec![SocketAddr::new(ip?, 0)]) })
    }
}

#[tokio::test]
async fn a_name_that_leads_to_a_metadata_service_is_not_followed() {
    let asked = Arc::new(AtomicUsize::new(0));
    let resolver = Rebinding {
        addresses: vec!["169.254.169.254"],
        asked: Arc::clone(&asked),
    };
    let options = options().resolver(resolver);
    let server = start(create_server(card("agent"), agent).push_notifications(options)).await;
    let [peer, _] = peers(server.url());
    let task = waiting_task(&peer).await;
    create(&peer, &task, &url("http://hook.example.com:8080/")).await;
    let control = Receiver::start().await;
    create(&peer, &task, &url(&control.url)).await;
    peer.send(&Say::text("ask").in_task(&task)).await;
    until(|| async { (asked.load(Ordering::SeqCst) > 0).then_some(()) }).await;
    peer.send(&Say::text("emit 10").in_task(&task)).await;
    control.wait_for(|got| got.is_state(COMPLETED)).await;
    // It was given up at once: nobody asked for its address again.
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_name_that_changes_its_address_is_checked_each_time() {
    let asked = Arc::new(AtomicUsize::new(0));
    let resolver = Rebinding {
        addresses: vec!["127.0.0.1", "169.254.169.254"],
        asked: Arc::clone(&asked),
    };
    let options = options().resolver(resolver);
    let server = start(create_server(card("agent"), agent).push_notifications(options)).await;
    let [peer, _] = peers(server.url());
    // A connection for each notification.
    let receiver =
        Receiver::answering(|_, _| Answer::Header(200, "Connection", "close".to_owned())).await;
    let named = receiver.url.replace("127.0.0.1", "hook.example.com");
    peer.send(&notifying(Say::text("emit 5"), &url(&named)))
        .await;
    until(|| async { (asked.load(Ordering::SeqCst) > 1).then_some(()) }).await;
    let got = receiver.got();
    assert_eq!(got.len(), 1);
    let host = named
        .trim_start_matches("http://")
        .trim_end_matches("/hook");
    assert_eq!(got[0].header("host"), Some(host));
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let server = serve().await;
    for peer in peers(server.url()) {
        let target = Receiver::start().await;
        let to = target.url.clone();
        let receiver = Receiver::answering(move |n, _| match n {
            0 => Answer::Header(307, "Location", to.clone()),
            _ => Answer::Status(200),
        })
        .await;
        peer.send(&notifying(Say::text("emit 0"), &url(&receiver.url)))
            .await;
        receiver.wait_for(|got| got.is_state(COMPLETED)).await;
        assert!(target.got().is_empty());
    }
}

#[tokio::test]
async fn an_origin_that_the_operator_trusts_is_called() {
    let receiver = Receiver::start().await;
    let options = llamon_agent::server::PushNotifications::new().trust_origin(&*receiver.url);
    let server = start(create_server(card("agent"), agent).push_notifications(options)).await;
    let [peer, _] = peers(server.url());
    peer.send(&notifying(Say::text("emit 0"), &url(&receiver.url)))
        .await;
    receiver.wait_for(|got| got.is_state(COMPLETED)).await;
}
