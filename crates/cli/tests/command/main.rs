//! The command as a user meets it: what it prints, what it writes, and its exit codes.

#![expect(clippy::unwrap_used, reason = "a test stops at what it does not expect")]

mod access;
mod altered;
mod apis;
mod arguments;
mod canaries;
mod compared;
mod configured;
mod datasets;
mod decided;
mod descriptors;
mod determinism;
mod files;
mod formats;
mod golden;
mod graded;
mod imported;
mod interrupted;
mod killed;
mod kubernetes;
mod loads;
mod measured;
mod merged;
mod messages;
mod observed;
mod odd_servers;
mod process;
mod published;
mod qualify;
mod refused;
mod replicas;
mod reported;
mod robust;
mod secrets;
mod server_metrics;
mod sharded;
mod storage;
mod tabled;
mod taken_up;
mod turnover;
mod watched;
mod written;
