//! The client against real sockets: the simulated server, scripted servers, TLS, and saved bytes.

mod connections;
mod fixtures;
mod journal;
mod limits;
mod plan;
mod sim;
mod tls;
