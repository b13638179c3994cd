//! Faults that strike a connection before any request of it is answered.

use std::fmt;
use std::str::FromStr;

use crate::error::ConnectionFaultSyntaxError;

/// A fault that strikes every n-th connection, counted from 1 over the life of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionRule {
    /// The connections whose ordinal is a multiple of this; at least 1.
    pub every: u64,
    /// What happens to them.
    pub kind: ConnectionFault,
}

/// What happens to a connection when its first bytes come, a request's or those of a handshake.
///
/// ```
/// use streamgauge_sim::ConnectionFault;
///
/// assert_eq!("silent".parse(), Ok(ConnectionFault::Silent));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionFault {
    /// `close`: it is closed in good order (FIN).
    Close,
    /// `reset`: it is torn down (RST).
    Reset,
    /// `silent`: what comes is read, and nothing is ever answered; to a client that speaks TLS that
    /// is a handshake without an end.
    Silent,
}

const TEXTS: [(&str, ConnectionFault); 3] = [
    ("close", ConnectionFault::Close),
    ("reset", ConnectionFault::Reset),
    ("silent", ConnectionFault::Silent),
];

/// The fault that the rules hold for the connection with this ordinal.
pub(crate) fn by_rule(rules: &[ConnectionRule], ordinal: u64) -> Option<ConnectionFault> {
    rules.iter().find(|rule| ordinal.is_multiple_of(rule.every)).map(|rule| rule.kind)
}

impl FromStr for ConnectionFault {
    type Err = ConnectionFaultSyntaxError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = TEXTS.iter().find(|(known, _)| *known == text);
        found
            .map(|(_, fault)| *fault)
            .ok_or_else(|| ConnectionFaultSyntaxError { text: text.to_owned() })
    }
}

impl fmt::Display for ConnectionFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = TEXTS.iter().find(|(_, fault)| fault == self).map_or("", |(text, _)| text);
        f.write_str(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_has_a_text_that_reads_back() {
        for (text, fault) in TEXTS {
            assert_eq!(text.parse(), Ok(fault));
            assert_eq!(fault.to_string(), text);
        }
        assert!("".parse::<ConnectionFault>().is_err());
    }
}
