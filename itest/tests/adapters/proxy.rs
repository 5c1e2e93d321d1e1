//! A way to an agent that can be cut.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// Passes connections on to an agent.
pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    cut: Arc<Notify>,
    connections: Arc<AtomicUsize>,
    running: JoinHandle<()>,
}

impl Proxy {
    /// To the agent at `url`.
    pub(crate) async fn to(url: &str) -> Self {
        let target = url
            .trim_start_matches("http://")
            .trim_end_matches('/')
            .to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let cut = Arc::new(Notify::new());
        let connections = Arc::new(AtomicUsize::new(0));
        let (cutting, counting) = (Arc::clone(&cut), Arc::clone(&connections));
        let running = tokio::spawn(async move {
            loop {
                let (mut from, _) = listener.accept().await.unwrap();
                counting.fetch_add(1, Ordering::Relaxed);
                let (target, cut) = (target.clone(), Arc::clone(&cutting));
                tokio::spawn(async move {
                    let mut to = TcpStream::connect(target).await.unwrap();
                    tokio::select! {
                        _ = copy_bidirectional(&mut from, &mut to) => {}
                        () = cut.notified() => {}
                    }
                });
            }
        });
        Self {
            address,
            cut,
            connections,
            running,
        }
    }

    /// Cuts the connections that there are.
    pub(crate) fn cut(&self) {
        self.cut.notify_waiters();
    }

    /// How many connections there were.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.running.abort();
    }
}
