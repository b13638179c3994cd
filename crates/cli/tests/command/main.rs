//! The command as a user meets it: what it prints, what it writes, and its exit codes.

mod arguments;
mod golden;
mod interrupted;
mod measured;
mod process;
