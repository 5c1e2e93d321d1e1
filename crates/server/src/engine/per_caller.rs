use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::scope::Scope;

/// How many turns each known caller runs at the moment. Whoever runs none is not kept.
#[derive(Debug)]
pub(super) struct PerCaller {
    most: usize,
    running: Mutex<HashMap<Scope, usize>>,
}

/// One of a caller's places; dropping it gives the place back.
#[derive(Debug)]
pub(super) struct Place {
    of: Arc<PerCaller>,
    scope: Scope,
}

impl PerCaller {
    pub(super) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self {
            most,
            running: Mutex::default(),
        })
    }

    pub(super) fn most(&self) -> usize {
        self.most
    }

    /// A place for a turn of this caller, if it has one left.
    pub(super) fn take(self: &Arc<Self>, scope: &Scope) -> Option<Place> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = running.entry(scope.clone()).or_default();
        if *taken >= self.most {
            return None;
        }
        *taken += 1;
        Some(Place {
            of: Arc::clone(self),
            scope: scope.clone(),
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let running = self.of.running.lock();
        let mut running = running.unwrap_or_else(PoisonError::into_inner);
        if let Some(taken) = running.get_mut(&self.scope) {
            *taken -= 1;
            if *taken == 0 {
                running.remove(&self.scope);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::PerCaller;
    use crate::scope::Scope;

    #[test]
    fn each_caller_has_its_places_and_gets_them_back() {
        let places = PerCaller::new(2);
        let (alice, bob) = (Scope::of_principal("alice"), Scope::of_principal("bob"));
        let first = places.take(&alice);
        let second = places.take(&alice);
        assert!(first.is_some() && second.is_some());
        assert!(places.take(&alice).is_none());
        assert!(places.take(&bob).is_some());
        drop(first);
        assert!(places.take(&alice).is_some());
        drop(second);
        assert!(places.running.lock().unwrap().is_empty());
    }
}
