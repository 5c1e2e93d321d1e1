//! Which connections there are, and which of them gives way to a new one.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

use super::limits::ConnectionLimits;
use crate::peer::counted;

/// The places that connections have on a server.
#[derive(Debug)]
pub(super) struct Places {
    most: usize,
    most_per_address: usize,
    taken: Mutex<Taken>,
}

/// The place of one connection; it is free again when this value is dropped.
#[derive(Debug)]
pub(super) struct Place {
    places: Arc<Places>,
    id: u64,
    address: IpAddr,
    given_away: CancellationToken,
    requests: AtomicUsize,
}

/// A request on a connection, from its head to the last byte of its answer.
#[derive(Debug)]
pub(super) struct Busy(Arc<Place>);

#[derive(Debug, Default)]
struct Taken {
    /// Counts what happens; the smaller, the longer ago.
    now: u64,
    connections: HashMap<u64, Connection>,
    addresses: HashMap<IpAddr, Address>,
    /// Connections without a request, by when they became so.
    idle: BTreeMap<u64, u64>,
}

#[derive(Debug)]
struct Connection {
    address: IpAddr,
    idle_since: Option<u64>,
    given_away: CancellationToken,
}

/// What comes from one address.
#[derive(Debug, Default)]
struct Address {
    connections: usize,
    /// When its connections without a request became so.
    idle: BTreeSet<u64>,
}

impl Places {
    pub(super) fn new(limits: &ConnectionLimits, most: usize) -> Self {
        Self {
            most,
            most_per_address: limits.max_connections_per_address,
            taken: Mutex::default(),
        }
    }

    /// A place for a connection from `remote`; `None` where all are taken by connections that have
    /// a request.
    pub(super) fn take(self: &Arc<Self>, remote: IpAddr) -> Option<Arc<Place>> {
        let address = counted(remote);
        let mut taken = self.taken();
        let of_address = taken.addresses.get(&address);
        if of_address.is_some_and(|known| known.connections >= self.most_per_address) {
            let idle = of_address.and_then(|known| known.idle.first().copied())?;
            taken.give_away(idle);
        } else if taken.connections.len() >= self.most {
            let idle = taken.idle.first_key_value().map(|(since, _)| *since)?;
            taken.give_away(idle);
        }
        let since = taken.next();
        let given_away = CancellationToken::new();
        let connection = Connection {
            address,
            idle_since: None,
            given_away: given_away.clone(),
        };
        taken.connections.insert(since, connection);
        taken.addresses.entry(address).or_default().connections += 1;
        taken.rest(since, since);
        Some(Arc::new(Place {
            places: Arc::clone(self),
            id: since,
            address,
            given_away,
            requests: AtomicUsize::new(0),
        }))
    }

    /// Ends the connection that has had no request for the longest time, if there is one.
    pub(super) fn make_room(&self) -> bool {
        let mut taken = self.taken();
        let idle = taken.idle.first_key_value().map(|(since, _)| *since);
        idle.is_some_and(|since| {
            taken.give_away(since);
            true
        })
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// Says that a request has begun.
    pub(super) fn busy(self: &Arc<Self>) -> Busy {
        let mut taken = self.places.taken();
        if self.requests.fetch_add(1, Ordering::Relaxed) == 0 {
            taken.work(self.id);
        }
        Busy(Arc::clone(self))
    }

    /// Resolves when the place is another connection's.
    pub(super) async fn given_away(&self) {
        self.given_away.cancelled().await;
    }

    /// The address as it is counted.
    pub(super) fn address(&self) -> IpAddr {
        self.address
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let place = &self.0;
        let mut taken = place.places.taken();
        if place.requests.fetch_sub(1, Ordering::Relaxed) == 1 {
            let since = taken.next();
            taken.rest(place.id, since);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.places.taken().remove(self.id);
    }
}

impl Taken {
    fn next(&mut self) -> u64 {
        self.now += 1;
        self.now
    }

    /// The connection has no request from now on.
    fn rest(&mut self, id: u64, since: u64) {
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        connection.idle_since = Some(since);
        self.idle.insert(since, id);
        let address = self.addresses.entry(connection.address).or_default();
        address.idle.insert(since);
    }

    /// The connection has a request from now on.
    fn work(&mut self, id: u64) {
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        if let Some(since) = connection.idle_since.take() {
            self.idle.remove(&since);
            if let Some(address) = self.addresses.get_mut(&connection.address) {
                address.idle.remove(&since);
            }
        }
    }

    fn give_away(&mut self, idle_since: u64) {
        if let Some(id) = self.idle.get(&idle_since).copied()
            && let Some(connection) = self.remove(id)
        {
            connection.given_away.cancel();
        }
    }

    /// Forgets a connection; one that has been forgotten already stays so.
    fn remove(&mut self, id: u64) -> Option<Connection> {
        self.work(id);
        let connection = self.connections.remove(&id)?;
        if let Some(address) = self.addresses.get_mut(&connection.address) {
            address.connections -= 1;
            if address.connections == 0 {
                self.addresses.remove(&connection.address);
            }
        }
        Some(connection)
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;
    use std::sync::Arc;

    use super::{ConnectionLimits, Place, Places};

    fn places(most: usize, per_address: usize) -> Arc<Places> {
        let limits = ConnectionLimits::default().with_max_connections_per_address(per_address);
        Arc::new(Places::new(&limits, most))
    }

    fn from(last: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, last])
    }

    fn is_gone(place: &Arc<Place>) -> bool {
        place.given_away.is_cancelled()
    }

    #[test]
    fn the_connection_that_was_idle_for_longest_gives_way() {
        let places = places(3, 9);
        let first = places.take(from(1)).unwrap();
        let second = places.take(from(2)).unwrap();
        let third = places.take(from(3)).unwrap();
        drop(first.busy());
        let fourth = places.take(from(4)).unwrap();
        assert!(!is_gone(&first) && is_gone(&second) && !is_gone(&third));
        let _third = third.busy();
        let _fifth = places.take(from(5)).unwrap();
        assert!(is_gone(&first) && !is_gone(&third) && !is_gone(&fourth));
    }

    #[test]
    fn an_address_with_too_many_gives_way_to_itself() {
        let places = places(9, 2);
        let other = places.take(from(1)).unwrap();
        let first = places.take(from(2)).unwrap();
        let second = places.take(from(2)).unwrap();
        let third = places.take(from(2)).unwrap();
        assert!(!is_gone(&other) && is_gone(&first) && !is_gone(&second) && !is_gone(&third));
        let busy = (second.busy(), third.busy());
        assert!(places.take(from(2)).is_none());
        assert!(places.take(from(3)).is_some());
        drop(busy);
        assert!(places.take(from(2)).is_some());
        assert!(is_gone(&second));
    }

    #[test]
    fn where_all_are_busy_there_is_no_place() {
        let places = places(2, 9);
        let first = places.take(from(1)).unwrap();
        let second = places.take(from(2)).unwrap();
        let (one, another) = (first.busy(), first.busy());
        let _second = second.busy();
        assert!(places.take(from(3)).is_none());
        drop(one);
        assert!(places.take(from(3)).is_none());
        assert!(!places.make_room());
        drop(another);
        assert!(places.take(from(3)).is_some());
        assert!(is_gone(&first));
    }

    #[test]
    fn what_ends_is_forgotten() {
        let places = places(2, 2);
        for _ in 0..100 {
            let place = places.take(from(1)).unwrap();
            let busy = place.busy();
            drop(place);
            drop(busy);
        }
        let given_away = [(); 5].map(|()| places.take(from(1)).unwrap());
        drop(given_away);
        let taken = places.taken();
        assert!(taken.connections.is_empty() && taken.idle.is_empty());
        assert!(taken.addresses.is_empty());
    }
}
