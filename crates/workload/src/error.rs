//! What can be wrong with a dataset, and with a plan's requests.

use streamgauge_schema::{CanonicalError, Dialect, JsonPath, Position, SharedPrefix};

use crate::synthetic::{MAX_WORDS, MIN_PREFIX_WORDS, MIN_WORDS};

/// A dataset that could not be read. Every text begins with the file.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DatasetError {
    /// No line holds a request.
    #[error("{file}: no line holds a request")]
    Empty {
        /// The file.
        file: String,
    },
    /// A member of a line is missing, unknown, or breaks its rule.
    #[error("{file}: {position}: {path}: {fault}")]
    Member {
        /// The file.
        file: String,
        /// Where the value begins; of a missing one, where the line's object does.
        position: Position,
        /// The member.
        path: JsonPath,
        /// What is wrong with it.
        fault: MemberFault,
    },
    /// A line is not JSON.
    #[error("{file}: {position}: not JSON: {message}")]
    NotJson {
        /// The file.
        file: String,
        /// Where the reading stopped.
        position: Position,
        /// What the parser says.
        message: String,
    },
    /// A line is JSON, but no object.
    #[error("{file}: {position}: {found} is not an object")]
    NotObject {
        /// The file.
        file: String,
        /// Where the line's value begins.
        position: Position,
        /// What stands there.
        found: String,
    },
    /// A line is not UTF-8.
    #[error("{file}: {position}: not UTF-8")]
    NotUtf8 {
        /// The file.
        file: String,
        /// The first byte that is none.
        position: Position,
    },
}

/// What is wrong with a member of a dataset's line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MemberFault {
    /// An earlier line has the same id.
    #[error("{id:?} is the id of line {first_line} already")]
    DuplicateId {
        /// The id.
        id: String,
        /// The line that had it first.
        first_line: usize,
    },
    /// It is nothing that an answer could be held against.
    #[error("{message}")]
    Expectation {
        /// What is wrong with it.
        message: String,
    },
    /// A required member is not there.
    #[error("missing; every {owner} has {required}")]
    Missing {
        /// What it belongs to: a line or a message.
        owner: &'static str,
        /// What is required.
        required: &'static str,
    },
    /// A line is due before the one in front of it.
    #[error(
        "{found} lies before the at_ms of line {earlier_line}; a trace is in the order of time"
    )]
    NotInOrder {
        /// The value.
        found: String,
        /// The line in front of it.
        earlier_line: usize,
    },
    /// The line has two kinds of prompt.
    #[error("stands beside {first:?}; a line has one of the two")]
    SecondPrompt {
        /// The other.
        first: &'static str,
    },
    /// A due time that another line has, and this line or that one has not.
    #[error("{}; of a trace every line has one", if *.here { format!("line {other_line} has none") }
        else { format!("missing, and line {other_line} has one") })]
    SometimesDue {
        /// Whether the line has one.
        here: bool,
        /// The line that differs.
        other_line: usize,
    },
    /// The same name occurs more than once.
    #[error("stands twice in one object")]
    Twice,
    /// No member of this name is known.
    #[error("unknown member; {}", suggestion(*.nearest))]
    Unknown {
        /// The known name that was probably meant.
        nearest: Option<&'static str>,
    },
    /// The value breaks the member's rule.
    #[error("{found} is not {rule}")]
    Value {
        /// The value, cut when long.
        found: String,
        /// What it should be.
        rule: &'static str,
    },
}

fn suggestion(nearest: Option<&str>) -> String {
    nearest.map_or_else(
        || format!("a line has {}", crate::dataset::MEMBERS.join(", ")),
        |name| format!("did you mean {name:?}?"),
    )
}

/// Requests that cannot be made as they were asked for.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum WorkloadError {
    /// A member added to the body has no JSON form.
    #[error("extra body member {name:?} cannot be written")]
    ExtraBody {
        /// The member.
        name: String,
        /// Why.
        #[source]
        source: CanonicalError,
    },
    /// The API has no member for a setting.
    #[error(
        "a request of {dialect} has no {setting}; leave it out, or put the server's own name for \
         it into the extra body"
    )]
    Inexpressible {
        /// The setting, by its name in the plan.
        setting: &'static str,
        /// The API.
        dialect: Dialect,
    },
    /// A line asks for a longer prompt than can be made.
    #[error(
        "{file}: line {line}: {input_tokens} input tokens are {words} words, more than {MAX_WORDS}"
    )]
    LineWords {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// Tokens asked for.
        input_tokens: u64,
        /// Words that they come to.
        words: u64,
    },
    /// A line has messages, and the API takes a prompt.
    #[error("{file}: line {line}: has messages, and {dialect} takes a prompt")]
    MessagesForPrompt {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The API.
        dialect: Dialect,
    },
    /// A line that needs a nonce has no user message to put it in.
    #[error("{file}: line {line}: messages have no user message with content to put a nonce into")]
    NoPlaceForNonce {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
    },
    /// An answer of no tokens was asked for.
    #[error("max_tokens 0 is not a whole number of at least 1")]
    NoTokens,
    /// A shared prefix that leaves too little of the prompt, or is none.
    #[error(
        "{} prefixes of {} words do not fit prompts of {words}: at least one, of at least \
         {MIN_PREFIX_WORDS} words, which leave {MIN_WORDS} of each prompt",
        prefix.count,
        prefix.words
    )]
    Prefix {
        /// The prefix asked for.
        prefix: SharedPrefix,
        /// Words of the whole prompt.
        words: u64,
    },
    /// A member added to the body is one that the request sets itself.
    #[error("extra body member {name:?} is set by the request itself; leave it out")]
    ReservedMember {
        /// The member.
        name: String,
    },
    /// The temperature is negative or not finite.
    #[error("temperature {value} is not a number of at least 0")]
    Temperature {
        /// The value.
        value: f64,
    },
    /// More requests than lines, and no way given to use lines again.
    #[error(
        "{file}: {requested} requests are more than its {}; ask for fewer, for a nonce before each \
         prompt, or for repeated prompts",
        if *.records == 1 { "one line".to_owned() } else { format!("{records} lines") }
    )]
    TooFewLines {
        /// The file.
        file: String,
        /// Lines that hold a request.
        records: usize,
        /// Measured requests asked for.
        requested: u64,
    },
    /// A word that an answer is to repeat never, or too often.
    #[error("the word is to be repeated {count} times, which is not within 1 to {most}")]
    TurnoverCount {
        /// How often.
        count: u64,
        /// The most that is possible.
        most: u64,
    },
    /// What an answer is to repeat is no word.
    #[error("the word {word:?} is not 1 to {most} letters and digits")]
    TurnoverWord {
        /// What was to be repeated.
        word: String,
        /// Its most characters.
        most: usize,
    },
    /// A warm-up prompt would be one of the measured ones.
    #[error(
        "{file}: line {line}: with the nonce of a warm-up request it is the prompt of another line"
    )]
    WarmupIsMeasured {
        /// The file.
        file: String,
        /// The line that the warm-up request asks, from 1.
        line: usize,
    },
    /// A synthetic prompt of a length that cannot be made.
    #[error("{words} words a prompt are not within {MIN_WORDS} to {MAX_WORDS}")]
    Words {
        /// Words asked for.
        words: u64,
    },
}
