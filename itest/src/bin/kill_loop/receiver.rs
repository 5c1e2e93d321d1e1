//! Who receives push notifications.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use llamon_agent::a2a::{PushConfig, StreamEvent};
use llamon_agent::client::push::Notification;

use crate::clients::{Kind, Sent};
use crate::figures::Figures;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const PATIENCE: Duration = Duration::from_secs(60);

/// What came: for each task, each event once by its place.
#[derive(Default)]
struct Came {
    events: HashMap<String, BTreeMap<u64, StreamEvent>>,
    deliveries: usize,
    repeats: usize,
    wrong: Option<String>,
}

pub(crate) struct Receiver {
    url: String,
    came: Mutex<Came>,
}

impl Receiver {
    pub(crate) async fn start() -> Result<Arc<Self>> {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let receiver = Arc::new(Self {
            url: format!("http://{}/hook", listener.local_addr()?),
            came: Mutex::default(),
        });
        let router = Router::new()
            .route("/hook", post(take))
            .with_state(Arc::clone(&receiver));
        #[expect(
            clippy::disallowed_methods,
            reason = "only the server that is tested connects to it"
        )]
        tokio::spawn(async move { axum::serve(listener, router).await });
        Ok(receiver)
    }

    pub(crate) fn config(&self) -> PushConfig {
        PushConfig::new(&*self.url)
            .with_id("hook")
            .with_token("secret")
    }

    /// Checks that the receiver of each push task has had every event, in order, and one end.
    pub(crate) async fn check(&self, sent: &[Sent], figures: &mut Figures) -> Result<()> {
        let tasks = sent.iter().filter(|sent| sent.kind == Kind::Push);
        for task in tasks.filter_map(|sent| sent.task.as_ref()) {
            let complete = async {
                loop {
                    if let Some(checked) = self.check_task(&task.id) {
                        return checked;
                    }
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            };
            let complete = tokio::time::timeout(PATIENCE, complete).await;
            complete.map_err(|_| format!("not all events of {} were pushed", task.id))??;
            figures.pushed_tasks += 1;
        }
        let came = self.came.lock().unwrap_or_else(PoisonError::into_inner);
        figures.deliveries = came.deliveries;
        figures.repeats = came.repeats;
        came.wrong.clone().map_or(Ok(()), |wrong| Err(wrong.into()))
    }

    /// `None` as long as the end has not come.
    fn check_task(&self, task_id: &str) -> Option<Result<()>> {
        let came = self.came.lock().unwrap_or_else(PoisonError::into_inner);
        let events = came.events.get(task_id)?;
        let is_end = |event: &StreamEvent| event.state().is_some_and(|state| state.is_terminal());
        let ends = events.values().filter(|event| is_end(event)).count();
        if ends == 0 {
            return None;
        }
        let places: Vec<u64> = events.keys().copied().collect();
        let first = places.first().copied().unwrap_or_default();
        let gapless = places
            .iter()
            .copied()
            .eq(first..first + places.len() as u64);
        let snapshot = events
            .values()
            .any(|event| matches!(event, StreamEvent::Task(_)));
        if ends != 1 || !(gapless || snapshot) {
            return Some(Err(format!(
                "{ends} ends of {task_id}, events at {places:?}"
            )
            .into()));
        }
        Some(Ok(()))
    }

    fn note(&self, headers: &HeaderMap, body: &[u8]) -> std::result::Result<(), String> {
        let id = headers.get("webhook-id").and_then(|id| id.to_str().ok());
        let id = id.ok_or("no event id")?;
        let position = id
            .rsplit(['-', ':'])
            .next()
            .and_then(|place| place.parse().ok());
        let position: u64 = position.ok_or_else(|| format!("the event id is {id:?}"))?;
        let notification = Notification::read(body).map_err(|error| error.to_string())?;
        let task_id = notification.task_id().ok_or("no task")?.to_owned();
        let event = notification.into_event();
        let mut came = self.came.lock().unwrap_or_else(PoisonError::into_inner);
        came.deliveries += 1;
        let before = came
            .events
            .entry(task_id)
            .or_default()
            .insert(position, event.clone());
        if let Some(before) = before {
            came.repeats += 1;
            if before != event {
                return Err(format!(
                    "the event {id} came twice and differs: {before:?}, {event:?}"
                ));
            }
        }
        Ok(())
    }
}

async fn take(
    State(receiver): State<Arc<Receiver>>,
    headers: HeaderMap,
    body: axum::body::Bytes,
) -> StatusCode {
    if let Err(wrong) = receiver.note(&headers, &body) {
        let mut came = receiver.came.lock().unwrap_or_else(PoisonError::into_inner);
        came.wrong.get_or_insert(wrong);
    }
    StatusCode::NO_CONTENT
}
