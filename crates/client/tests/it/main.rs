//! The client against real sockets: the simulated server, scripted servers, TLS, and saved bytes.

#![expect(clippy::unwrap_used, reason = "a test stops at what it does not expect")]

mod beginnings;
mod connections;
mod faults;
mod fixtures;
mod journal;
mod limits;
mod plan;
mod ready;
mod replicas;
mod retries;
mod routes;
mod scrapes;
mod shapes;
mod sim;
mod sinks;
mod tls;
mod workers;
