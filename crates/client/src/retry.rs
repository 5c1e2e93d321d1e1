use std::future::Future;
use std::time::Duration;

use uuid::Uuid;

use crate::error::ClientError;

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Makes up to `attempts` attempts while the error says that another one could succeed.
pub(crate) async fn retrying<T, F>(
    attempts: u32,
    mut attempt: impl FnMut() -> F,
) -> Result<T, ClientError>
where
    F: Future<Output = Result<T, ClientError>>,
{
    let mut made = 0;
    loop {
        made += 1;
        let error = match attempt().await {
            Ok(value) => return Ok(value),
            Err(error) => error,
        };
        if made >= attempts || !error.is_temporary() {
            return Err(error.after_attempts(made));
        }
        let pause = pause_by_chance(made);
        tracing::debug!(attempt = made, ?pause, %error, "the call is repeated");
        tokio::time::sleep(pause).await;
    }
}

/// The pause after attempt number `made`.
pub(crate) fn pause_by_chance(made: u32) -> Duration {
    pause(made, Uuid::new_v4().as_u128())
}

/// The pause after attempt number `made`: it doubles each time, and half of it is chance, so
/// that clients which failed together do not come back together.
fn pause(made: u32, chance: u128) -> Duration {
    let doubled = 2_u32.saturating_pow(made.saturating_sub(1));
    let whole = FIRST_PAUSE.saturating_mul(doubled).min(LONGEST_PAUSE);
    let half = whole / 2;
    let share = (chance % 1_000) as u32;
    half + half * share / 1_000
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::pause;

    #[test]
    fn the_pause_doubles_and_half_of_it_is_chance() {
        let millis = Duration::from_millis;
        assert_eq!(pause(1, 0), millis(50));
        assert!((millis(99)..millis(100)).contains(&pause(1, 999)));
        assert_eq!(pause(2, 0), millis(100));
        assert_eq!(pause(3, 500), millis(300));
        assert_eq!(pause(u32::MAX, 0), millis(2_500));
    }
}
