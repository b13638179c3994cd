//! When a request is sent again by policy, and after which pause; pure.

use std::time::Duration;

use streamgauge_schema::{FailureClass, Retries};

/// The pause after the first attempt that found no connection; it doubles with each one.
const FIRST_PAUSE: Duration = Duration::from_millis(250);

/// What a failed attempt says of another one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Again {
    /// There was no connection.
    Unconnected,
    /// The server asks to come again after so many seconds, with status 429 or 503.
    After(f64),
}

impl Again {
    /// Whether a failure of this class is one of connecting.
    pub(crate) fn of_class(class: FailureClass) -> Option<Self> {
        let is_connect = matches!(class, FailureClass::Connect | FailureClass::ConnectTimeout);
        is_connect.then_some(Self::Unconnected)
    }

    /// What a response with a status and its `Retry-After` says.
    pub(crate) fn of_status(status: u16, retry_after_s: Option<f64>) -> Option<Self> {
        retry_after_s.filter(|_| matches!(status, 429 | 503)).map(Self::After)
    }

    /// The pause before the next attempt, when so many have been made again; `None` where there is no
    /// next one: the policy has no more, or the server asks for a longer pause than it allows.
    pub(crate) fn pause(self, policy: Retries, made: u64) -> Option<Duration> {
        if made >= policy.most {
            return None;
        }
        let longest = Duration::from_millis(policy.longest_pause_ms);
        match self {
            Self::Unconnected => {
                let doubled = 2_u32.saturating_pow(u32::try_from(made).unwrap_or(u32::MAX));
                Some(FIRST_PAUSE.saturating_mul(doubled).min(longest))
            }
            Self::After(seconds) => {
                Duration::try_from_secs_f64(seconds).ok().filter(|pause| *pause <= longest)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_is_what_the_server_asks_for_or_doubles_and_is_bounded() {
        let policy = Retries { most: 4, longest_pause_ms: 1_500 };
        let pause = |again: Again, made| again.pause(policy, made).map(|it| it.as_millis());
        let unconnected: Vec<_> = (0..5).map(|made| pause(Again::Unconnected, made)).collect();
        assert_eq!(unconnected, [Some(250), Some(500), Some(1_000), Some(1_500), None]);
        for (seconds, expected) in
            [(0.0, Some(0)), (1.5, Some(1_500)), (1.501, None), (1e300, None), (-1.0, None)]
        {
            assert_eq!(pause(Again::After(seconds), 0), expected, "{seconds}");
        }
        assert_eq!(pause(Again::After(1.0), 4), None);
    }

    #[test]
    fn only_refused_connections_and_asked_for_pauses_are_reasons() {
        let again = |status, after| Again::of_status(status, after);
        assert_eq!(again(429, Some(2.0)), Some(Again::After(2.0)));
        assert_eq!(again(503, Some(0.0)), Some(Again::After(0.0)));
        assert_eq!(again(429, None), None);
        assert_eq!(again(500, Some(2.0)), None);
        for class in FailureClass::ALL {
            let is_one = matches!(class, FailureClass::Connect | FailureClass::ConnectTimeout);
            assert_eq!(Again::of_class(*class).is_some(), is_one, "{class}");
        }
    }
}
