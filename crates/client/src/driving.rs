//! The waker of a connection's driver: silent while the driver is being driven.
//!
//! hyper wakes the driver whenever the body's consumer takes a frame. Here both are one task, which
//! drives on after each frame in any case; such a wake would only poll it once more in vain.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Wake, Waker};

/// Wakes the task that drives a connection, unless it is driving it already.
#[derive(Debug)]
pub(crate) struct Driving {
    state: Arc<State>,
    waker: Waker,
    /// The task that was told to the state last.
    task: Option<Waker>,
}

#[derive(Debug, Default)]
struct State {
    task: Mutex<Option<Waker>>,
    driving: AtomicBool,
    woken: AtomicBool,
}

impl Driving {
    pub(crate) fn new() -> Self {
        let state: Arc<State> = Arc::default();
        Self { waker: Waker::from(Arc::clone(&state)), state, task: None }
    }

    /// The waker for the driver.
    pub(crate) fn waker(&self) -> &Waker {
        &self.waker
    }

    /// The task begins to drive. Wakes of before are made good by that.
    pub(crate) fn begin(&mut self, task: &Waker) {
        if !self.task.as_ref().is_some_and(|last| last.will_wake(task)) {
            *self.state.task() = Some(task.clone());
            self.task = Some(task.clone());
        }
        self.state.driving.store(true, SeqCst);
        self.state.woken.store(false, SeqCst);
    }

    /// The task stops driving. If it now waits, and a wake came meanwhile, it is woken.
    pub(crate) fn end(&self, waits: bool) {
        self.state.driving.store(false, SeqCst);
        if waits
            && self.state.woken.load(SeqCst)
            && let Some(task) = &self.task
        {
            task.wake_by_ref();
        }
    }
}

impl State {
    fn task(&self) -> MutexGuard<'_, Option<Waker>> {
        // A waker is replaced as a whole.
        self.task.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wake for State {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // In this order: either the one who drives sees the wake, or it has stopped driving.
        self.woken.store(true, SeqCst);
        if !self.driving.load(SeqCst)
            && let Some(task) = &*self.task()
        {
            task.wake_by_ref();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use super::*;

    #[derive(Default)]
    struct Count(AtomicU64);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, SeqCst);
        }
    }

    #[test]
    fn a_wake_is_heard_once_unless_the_task_drives_on() {
        let count: Arc<Count> = Arc::default();
        let task = Waker::from(Arc::clone(&count));
        let mut driving = Driving::new();
        let woken = || count.0.swap(0, SeqCst);

        driving.begin(&task);
        driving.end(true);
        assert_eq!(woken(), 0, "nothing happened");
        driving.waker().wake_by_ref();
        assert_eq!(woken(), 1, "from outside");

        driving.begin(&task);
        driving.waker().wake_by_ref();
        driving.waker().wake_by_ref();
        assert_eq!(woken(), 0, "not while it drives");
        driving.end(false);
        assert_eq!(woken(), 0, "it drives on by itself");

        driving.begin(&task);
        driving.waker().wake_by_ref();
        driving.end(true);
        assert_eq!(woken(), 1, "it would wait in vain");

        let other: Arc<Count> = Arc::default();
        driving.begin(&Waker::from(Arc::clone(&other)));
        driving.end(true);
        driving.waker().wake_by_ref();
        assert_eq!((woken(), other.0.load(SeqCst)), (0, 1), "another task has taken over");
    }
}
