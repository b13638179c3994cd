//! The server over real sockets, seen by a small client. Times are bounded from below only.

mod account;
mod answers;
mod client;
mod connections;
mod faults;
mod raw;
mod routes;
mod wire;
mod wrong_answers;
