//! Connections that wait for their next request.

use std::sync::{Mutex, PoisonError};

use crate::connection::Connection;

/// Idle connections; the one used last is taken first.
#[derive(Debug, Default)]
pub(crate) struct Pool(Mutex<Vec<Connection>>);

/// What taking from a pool gave.
#[derive(Debug)]
pub(crate) struct Taken {
    /// A connection that was alive a moment ago.
    pub(crate) connection: Option<Connection>,
    /// Connections that were found closed on the way.
    pub(crate) stale: u64,
}

impl Pool {
    /// Puts a connection back.
    pub(crate) fn put(&self, connection: Connection) {
        self.lock().push(connection);
    }

    /// Takes a living connection, dropping dead ones.
    pub(crate) async fn take(&self) -> Taken {
        let mut stale = 0;
        loop {
            let popped = self.lock().pop();
            match popped {
                None => return Taken { connection: None, stale },
                Some(mut connection) => {
                    if connection.is_alive().await {
                        return Taken { connection: Some(connection), stale };
                    }
                    stale += 1;
                }
            }
        }
    }

    /// How many there are.
    pub(crate) fn idle(&self) -> usize {
        self.lock().len()
    }

    /// Drops those that have waited longest and were closed meanwhile.
    pub(crate) fn drop_closed(&self) {
        let mut idle = self.lock();
        let closed = idle.iter().take_while(|connection| connection.was_closed()).count();
        idle.drain(..closed);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Connection>> {
        // Pushing and popping cannot panic half-way.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
