//! Error codes: every refusal and failure, each with a number, an exit status and a page in `docs/errors/`.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The exit status of a command. The numbers are stable, because scripts depend on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[repr(u8)]
pub enum CommandExit {
    /// The command did its work.
    Ok = 0,
    /// A failure that is none of the below.
    Error = 1,
    /// The command line is wrong.
    Usage = 2,
    /// The object named does not exist.
    NotFound = 3,
    /// A credential is missing, unknown, expired or revoked.
    Login = 4,
    /// The caller may not do this.
    NotAllowed = 5,
    /// The object has changed, or is in another state.
    Conflict = 6,
    /// The timeout of the wait is over without an answer; the gate stays open.
    TimedOut = 7,
    /// The person rejected the request.
    Rejected = 8,
    /// The store cannot be reached.
    Unreachable = 9,
    /// The audit chain does not verify.
    AuditBroken = 10,
    /// The gate ended without an answer: expired, withdrawn or superseded.
    Unanswered = 11,
    /// The policy requires a person's approval first; nothing has been done yet.
    Held = 12,
    /// The connection was lost during the call: the write may be committed or not.
    OutcomeUnknown = 13,
    /// It stopped before it was finished: a budget is used up, or a step is stuck.
    Unfinished = 14,
    /// A hangup ended it before it was finished.
    HungUp = 129,
    /// An interrupt, such as Ctrl+C, ended it before it was finished.
    Interrupted = 130,
    /// SIGTERM ended it before it was finished.
    Terminated = 143,
}

impl CommandExit {
    /// All exit codes, in order, with their meaning. The reference page is made from it.
    pub const TABLE: [(CommandExit, &'static str); 18] = [
        (CommandExit::Ok, "it worked"),
        (CommandExit::Error, "something failed: the disk, the editor, a bug"),
        (CommandExit::Usage, "the command line, a file or a value given is wrong"),
        (CommandExit::NotFound, "no such task, gate, message, token or space"),
        (CommandExit::Login, "a credential is missing, unknown, expired or revoked"),
        (CommandExit::NotAllowed, "the caller may not do this"),
        (
            CommandExit::Conflict,
            "already answered, changed since it was shown, or in another state",
        ),
        (CommandExit::TimedOut, "the wait is over and nobody has answered; the gate stays open"),
        (CommandExit::Rejected, "the person said no"),
        (CommandExit::Unreachable, "the store cannot be reached; nothing was allowed"),
        (CommandExit::AuditBroken, "the audit chain does not verify"),
        (
            CommandExit::Unanswered,
            "the gate ended without an answer: expired, withdrawn or superseded",
        ),
        (CommandExit::Held, "a person is asked first; nothing has been done yet"),
        (
            CommandExit::OutcomeUnknown,
            "the connection was lost half-way; it may have counted or not: look before you try again",
        ),
        (CommandExit::Unfinished, "it stopped unfinished: a budget is used up, or a step is stuck"),
        (CommandExit::HungUp, "the terminal went away before it was finished (SIGHUP)"),
        (
            CommandExit::Interrupted,
            "it was interrupted before it was finished (SIGINT, as by Ctrl+C)",
        ),
        (CommandExit::Terminated, "it was ended before it was finished (SIGTERM)"),
    ];
}

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal, $exit:ident, $title:literal;)*) => {
        /// An error code with a stable number; `SAY004` has its page at `docs/errors/SAY004.md`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code { $($(#[$doc])* $name,)* }

        impl Code {
            /// All codes, in the order of their numbers.
            pub const ALL: &'static [Code] = &[$(Code::$name,)*];

            /// Returns the number as `SAYnnn`.
            pub const fn as_str(self) -> &'static str {
                match self { $(Code::$name => $text,)* }
            }

            /// Returns a title of a few words.
            pub const fn title(self) -> &'static str {
                match self { $(Code::$name => $title,)* }
            }

            /// Returns the page about it, with the likely cause and the remedy.
            pub const fn page(self) -> &'static str {
                match self {
                    $(Code::$name => {
                        include_str!(concat!("../../../docs/errors/", $text, ".md"))
                    })*
                }
            }

            /// Returns the exit status of a command that ends with this code.
            pub const fn exit(self) -> CommandExit {
                match self { $(Code::$name => CommandExit::$exit,)* }
            }
        }
    };
}

codes! {
    /// No such id or handle.
    NotFound = "SAY001", NotFound, "no such id";
    /// A prefix of a handle matches several objects.
    Ambiguous = "SAY002", Usage, "several ids begin like this";
    /// Nothing waits for an answer here.
    NotWaiting = "SAY003", Conflict, "nothing is waiting here";
    /// Another answer was recorded before.
    AlreadyAnswered = "SAY004", Conflict, "already answered";
    /// The card changed since it was shown.
    Stale = "SAY005", Conflict, "the gate changed since it was shown";
    /// A text for a verdict, a verdict for a choice.
    WrongAnswer = "SAY006", Usage, "the wrong kind of answer";
    /// The answer has no content.
    EmptyAnswer = "SAY007", Usage, "an empty answer";
    /// Not one of the options.
    UnknownOption = "SAY008", Usage, "not one of the options";
    /// The form does not fit its schema.
    InvalidForm = "SAY009", Usage, "the form does not fit";
    /// An agent tried to answer.
    NotHuman = "SAY010", NotAllowed, "only a person may do this";
    /// No sign of a person at the terminal.
    NoPerson = "SAY011", NotAllowed, "no sign of a person at this terminal";
    /// More proof is needed.
    ProofTooLow = "SAY012", NotAllowed, "more proof is needed";
    /// The caller is not one of the approvers.
    NotAnApprover = "SAY013", NotAllowed, "somebody else must answer this";
    /// The timeout of a wait is over.
    TimedOut = "SAY014", TimedOut, "nobody has answered yet";
    /// Too much text, too many options.
    TooLarge = "SAY015", Usage, "too large";
    /// Not UTF-8, or characters that are not allowed there.
    InvalidText = "SAY016", Usage, "not readable text";
    /// Dependencies or parents form a cycle.
    Cycle = "SAY017", Conflict, "a circle of dependencies";
    /// The object is in another state.
    WrongState = "SAY018", Conflict, "its state does not allow this";
    /// A reason must be given.
    ReasonMissing = "SAY019", Usage, "a reason is needed";
    /// There is no space in this folder.
    NoSpace = "SAY020", NotFound, "no space here";
    /// The database is damaged or not ours.
    BrokenStore = "SAY021", Error, "the database is damaged";
    /// The schema was written by a later version of sayso.
    NewerSchema = "SAY022", Error, "the database belongs to a newer sayso";
    /// PostgreSQL or a server does not answer.
    Unreachable = "SAY023", Unreachable, "the store cannot be reached";
    /// No space is left on the disk.
    DiskFull = "SAY024", Error, "no space left on the disk";
    /// The location of the store cannot be written.
    ReadOnly = "SAY025", Error, "the store cannot be written";
    /// The write lock was not free in time.
    Busy = "SAY026", Error, "the store is busy";
    /// A version of SQLite that can lose commits.
    OldSqlite = "SAY027", Error, "this SQLite can lose commits";
    /// A token that is unknown, expired or revoked.
    BadToken = "SAY028", Login, "the token is not valid";
    /// The audit chain fails verification.
    AuditBroken = "SAY029", AuditBroken, "the audit chain is broken";
    /// One id is used for two different contents.
    Clash = "SAY030", Conflict, "this id already means something else";
    /// A symbolic link where a file must be.
    Symlink = "SAY031", Error, "the store is behind a symbolic link";
    /// A setting is wrong.
    BadConfig = "SAY032", Usage, "a setting is wrong";
    /// More than one gate waits.
    WhichGate = "SAY033", Usage, "several gates wait here: name one";
    /// It belongs to another space.
    OtherSpace = "SAY034", NotFound, "it belongs to another space";
    /// It ended without an answer.
    Unanswered = "SAY035", Unanswered, "ended without an answer";
    /// The editor ended with an error.
    Editor = "SAY036", Error, "the editor did not end well";
    /// The caller may not do this.
    NotAllowed = "SAY037", NotAllowed, "your role may not do this";
    /// An option's value is wrong.
    BadValue = "SAY038", Usage, "a value is wrong";
    /// A passphrase is wrong or missing.
    Passphrase = "SAY039", Login, "the passphrase is wrong";
    /// The lease or the fencing number of a run is no longer valid.
    Fenced = "SAY040", Conflict, "this run is no longer the task's";
    /// Input was needed and was forbidden, as by `--no-input`.
    NoInput = "SAY041", Usage, "input is needed";
    /// Any other failure of the environment.
    Failure = "SAY042", Error, "something failed";
    /// The person rejected the request.
    Rejected = "SAY043", Rejected, "the person said no";
    /// Git cannot do what a worker needs.
    Git = "SAY044", Error, "git cannot do this";
    /// The agent's program cannot be found or started.
    NoAgent = "SAY045", Usage, "the agent cannot be started";
    /// A task file is wrong.
    TaskFile = "SAY046", Usage, "the task file is wrong";
    /// A policy has mistakes.
    BadPolicy = "SAY047", Usage, "the policy has mistakes";
    /// A test written in a policy fails.
    PolicyTest = "SAY048", Error, "a test of the policy fails";
    /// A file that was checked is invalid.
    Invalid = "SAY049", Usage, "something is wrong with a file";
    /// The policy denies the action.
    Denied = "SAY050", NotAllowed, "the policy does not allow this";
    /// The policy requires a person's approval first.
    Held = "SAY051", Held, "it waits for a person's say-so";
    /// Program and server have incompatible versions.
    OtherVersion = "SAY052", Error, "program and server are of different versions";
    /// The body of a request is not JSON.
    NotJson = "SAY053", Usage, "only JSON is taken";
    /// Too many wrong guesses.
    TooManyGuesses = "SAY054", Login, "too many wrong guesses";
    /// An invitation code is unknown, used or expired.
    BadCode = "SAY055", Login, "the code does not let anybody in";
    /// A passkey assertion that was not requested, was already used, or is not valid.
    NoTouch = "SAY056", NotAllowed, "the touch of the passkey does not count";
    /// An agent asks faster than its rate limit.
    TooManyAsks = "SAY057", NotAllowed, "too many questions in a short time";
    /// A request with a foreign `Host`, or from a page of another origin.
    Foreign = "SAY058", NotAllowed, "the request does not come from where it should";
    /// The terminal of an agent does not show an empty prompt.
    NotAtPrompt = "SAY059", Conflict, "the agent is not at an empty prompt";
    /// An answer for the agent of the task was not delivered yet.
    Unheard = "SAY061", Conflict, "an answer on the task was not heard yet";
    /// A credential for a person who exists already.
    OthersCredential = "SAY062", NotAllowed, "nobody makes credentials for another person";
    /// A terminal without evidence of a person.
    PersonInDoubt = "SAY063", NotAllowed, "nothing shows that a person is here";
    /// A client that cannot be given its hook, while there are rules for tool calls.
    NotHeld = "SAY064", Usage, "the agent cannot be held to the policy";
    /// A flow runs in another place or under another runner.
    FlowElsewhere = "SAY066", Conflict, "the flow goes on elsewhere";
    /// The settings of a project would start a program, and no person has trusted them.
    Untrusted = "SAY068", NotAllowed, "the settings of this project are not trusted";
    /// A known way to run a command past a rule is open.
    Smuggled = "SAY069", Error, "a command can be smuggled past the policy";
    /// The connection was lost while a write was being committed.
    OutcomeUnknown = "SAY071", OutcomeUnknown, "the outcome is unknown";
    /// The caller stopped waiting before the write was committed.
    Expired = "SAY072", Unreachable, "the caller stopped waiting; nothing was written";
    /// The clock of this machine disagrees with the one it is checked against.
    ClockOff = "SAY073", Error, "the clock of this machine is off";
    /// The server sheds load.
    Overloaded = "SAY074", Unreachable, "the server has too much to do";
    /// An agent writes faster than its rate limit.
    TooManyWrites = "SAY075", NotAllowed, "too many writes in a short time";
    /// A request that did not arrive completely in time.
    TooSlow = "SAY076", Error, "the request did not arrive in time";
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Code {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        // A code that only a newer version knows counts as a failure here; its text tells what happened.
        Ok(Code::ALL.iter().copied().find(|code| code.as_str() == text).unwrap_or(Code::Failure))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn codes_are_unique_and_in_order() {
        let texts: Vec<_> = Code::ALL.iter().map(|c| c.as_str()).collect();
        let sorted: BTreeSet<_> = texts.iter().collect();
        assert_eq!(sorted.len(), texts.len());
        assert!(texts.is_sorted());
    }
}
