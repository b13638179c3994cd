//! The three vocabularies of what became of a request: transport, failure, case.

use crate::vocabulary::{closed_vocabulary, open_vocabulary};

closed_vocabulary! {
    /// What became of one request on the wire. Every declared request has exactly one.
    Completion {
        /// Stopped by the client before it ended.
        Cancelled = "cancelled",
        /// Refused, broken, or answered without any output.
        Failed = "failed",
        /// Declared, but never sent.
        NotSent = "not_sent",
        /// Status 2xx, a complete stream, no request-level error, and output.
        Succeeded = "succeeded",
        /// A time limit of the client ended it.
        TimedOut = "timed_out",
    }
}

closed_vocabulary! {
    /// What became of one case. Truncated streams are errors, never answers.
    CaseOutcome {
        /// The request failed.
        Error = "error",
        /// Answered, and graded wrong or cut by the length limit.
        Fail = "fail",
        /// Never finished for a reason of the run.
        NotRun = "not_run",
        /// Answered and graded right.
        Pass = "pass",
        /// A time limit ended it.
        Timeout = "timeout",
        /// Answered; nothing graded it.
        Unverified = "unverified",
    }
}

closed_vocabulary! {
    /// Why a request did not succeed.
    FailureClass {
        /// The connection could not be made.
        Connect = "connect",
        /// The connection was not made in time.
        ConnectTimeout = "connect_timeout",
        /// The whole request took longer than allowed.
        DeadlineExceeded = "deadline_exceeded",
        /// The host name could not be resolved.
        Dns = "dns",
        /// The server reported a failure inside the stream.
        ErrorEvent = "error_event",
        /// A status other than 2xx.
        HttpStatus = "http_status",
        /// Nothing arrived for longer than allowed.
        IdleTimeout = "idle_timeout",
        /// Complete, but without any output.
        NoOutput = "no_output",
        /// 2xx, but neither a stream nor one JSON object.
        NotEventStream = "not_event_stream",
        /// The responses under way together took more memory than allowed.
        OverBudget = "over_budget",
        /// The data of one event is longer than allowed.
        OversizedEvent = "oversized_event",
        /// A line is longer than allowed.
        OversizedLine = "oversized_line",
        /// The stream has more output events than allowed.
        OversizedStream = "oversized_stream",
        /// The body ended before the stream did.
        PrematureEof = "premature_eof",
        /// The connection was reset.
        Reset = "reset",
        /// A reused connection closed before any byte of the response.
        ReusedConnectionClosed = "reused_connection_closed",
        /// A fault of the client itself.
        RunnerError = "runner_error",
        /// The TLS handshake failed.
        Tls = "tls",
    }
}

closed_vocabulary! {
    /// How a stream ended.
    Ending {
        /// Every choice has a finish reason, and the end mark or the proper end of the body came.
        Complete = "complete",
        /// The end mark came without the reasons.
        CompleteNoReason = "complete_no_reason",
        /// Anything else.
        Truncated = "truncated",
    }
}

closed_vocabulary! {
    /// What the body of a response was.
    BodyKind {
        /// An HTML page.
        Html = "html",
        /// One JSON object instead of a stream.
        Json = "json",
        /// Neither.
        Other = "other",
        /// A stream of events.
        Stream = "stream",
    }
}

open_vocabulary! {
    /// Where a case went wrong.
    FailureStage {
        /// The answer did not pass its checks.
        AnswerChecks = "answer_checks",
        /// A canary or a controlled output did not hold.
        Contract = "contract",
        /// A time limit of the client.
        Deadline = "deadline",
        /// Another program measured, and its file does not tell.
        NotTold = "not_told",
        /// The stream broke or reported a failure.
        Stream = "stream",
        /// Connection, status or head.
        Transport = "transport",
    }
}

impl FailureClass {
    /// The stage in which a failure of this class happens.
    #[must_use]
    pub fn stage(self) -> FailureStage {
        match self {
            Self::ConnectTimeout | Self::DeadlineExceeded | Self::IdleTimeout => {
                FailureStage::Deadline
            }
            Self::ErrorEvent
            | Self::NoOutput
            | Self::NotEventStream
            | Self::OverBudget
            | Self::OversizedEvent
            | Self::OversizedLine
            | Self::OversizedStream
            | Self::PrematureEof => FailureStage::Stream,
            Self::Connect
            | Self::Dns
            | Self::HttpStatus
            | Self::Reset
            | Self::ReusedConnectionClosed
            | Self::RunnerError
            | Self::Tls => FailureStage::Transport,
        }
    }
}
