//! Every way sayso says no, each with a number, an exit code and a page in `docs/errors/`.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What a command's exit status tells a script. The numbers are a promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[repr(u8)]
pub enum Exit {
    /// It worked.
    Ok = 0,
    /// Something failed that is none of the below.
    Error = 1,
    /// The command line is wrong.
    Usage = 2,
    /// There is no such thing.
    NotFound = 3,
    /// A credential is missing, unknown, expired or revoked.
    Login = 4,
    /// The caller may not do this.
    NotAllowed = 5,
    /// The thing has changed, or is in another state.
    Conflict = 6,
    /// The wait is over and nobody has answered; the gate stays open.
    TimedOut = 7,
    /// The person said no.
    Rejected = 8,
    /// The store cannot be reached.
    Unreachable = 9,
    /// The audit chain does not verify.
    AuditBroken = 10,
    /// The gate ended without an answer: expired, withdrawn or superseded.
    Unanswered = 11,
    /// The policy asks a person first; nothing has been done yet.
    Held = 12,
    /// The connection was lost while it was being done: it may have counted or not.
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

impl Exit {
    /// All exit codes, in order, with what each means. The reference page is made from it.
    pub const TABLE: [(Exit, &'static str); 18] = [
        (Exit::Ok, "it worked"),
        (Exit::Error, "something failed: the disk, the editor, a bug"),
        (Exit::Usage, "the command line, a file or a value given is wrong"),
        (Exit::NotFound, "no such task, gate, message, token or space"),
        (Exit::Login, "a credential is missing, unknown, expired or revoked"),
        (Exit::NotAllowed, "the caller may not do this"),
        (Exit::Conflict, "already answered, changed since it was shown, or in another state"),
        (Exit::TimedOut, "the wait is over and nobody has answered; the gate stays open"),
        (Exit::Rejected, "the person said no"),
        (Exit::Unreachable, "the store cannot be reached; nothing was allowed"),
        (Exit::AuditBroken, "the audit chain does not verify"),
        (Exit::Unanswered, "the gate ended without an answer: expired, withdrawn or superseded"),
        (Exit::Held, "a person is asked first; nothing has been done yet"),
        (
            Exit::OutcomeUnknown,
            "the connection was lost half-way; it may have counted or not: look before you try again",
        ),
        (Exit::Unfinished, "it stopped unfinished: a budget is used up, or a step is stuck"),
        (Exit::HungUp, "the terminal went away before it was finished (SIGHUP)"),
        (Exit::Interrupted, "it was interrupted before it was finished (SIGINT, as by Ctrl+C)"),
        (Exit::Terminated, "it was ended before it was finished (SIGTERM)"),
    ];
}

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal, $exit:ident, $title:literal;)*) => {
        /// A stable number for each reason; `SAY004` has its page at `docs/errors/SAY004.md`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code { $($(#[$doc])* $name,)* }

        impl Code {
            /// Every code there is.
            pub const ALL: &'static [Code] = &[$(Code::$name,)*];

            /// `SAYnnn`.
            pub const fn as_str(self) -> &'static str {
                match self { $(Code::$name => $text,)* }
            }

            /// What happened, in a few words.
            pub const fn title(self) -> &'static str {
                match self { $(Code::$name => $title,)* }
            }

            /// The page about it: the likely cause, and what to do.
            pub const fn page(self) -> &'static str {
                match self {
                    $(Code::$name => {
                        include_str!(concat!("../../../docs/errors/", $text, ".md"))
                    })*
                }
            }

            /// The exit status of a command that ends with it.
            pub const fn exit(self) -> Exit {
                match self { $(Code::$name => Exit::$exit,)* }
            }
        }
    };
}

codes! {
    /// No such id or handle.
    NotFound = "SAY001", NotFound, "no such id";
    /// A handle's beginning fits several things.
    Ambiguous = "SAY002", Usage, "several ids begin like this";
    /// Nothing waits here.
    NotWaiting = "SAY003", Conflict, "nothing is waiting here";
    /// Somebody answered otherwise before.
    AlreadyAnswered = "SAY004", Conflict, "already answered";
    /// The card changed since it was shown.
    Stale = "SAY005", Conflict, "the gate changed since it was shown";
    /// A text for a verdict, a verdict for a choice.
    WrongAnswer = "SAY006", Usage, "the wrong kind of answer";
    /// Nothing was said.
    EmptyAnswer = "SAY007", Usage, "an empty answer";
    /// Not one of the options.
    UnknownOption = "SAY008", Usage, "not one of the options";
    /// The form does not fit its schema.
    InvalidForm = "SAY009", Usage, "the form does not fit";
    /// An agent tried to say yes.
    NotHuman = "SAY010", NotAllowed, "only a person may do this";
    /// No sign of a person.
    NoPerson = "SAY011", NotAllowed, "no sign of a person at this terminal";
    /// More proof is needed.
    ProofTooLow = "SAY012", NotAllowed, "more proof is needed";
    /// Not among those who may answer.
    NotAnApprover = "SAY013", NotAllowed, "somebody else must answer this";
    /// The wait ran out.
    TimedOut = "SAY014", TimedOut, "nobody has answered yet";
    /// Too much text, too many options.
    TooLarge = "SAY015", Usage, "too large";
    /// Not UTF-8, or characters that may not stand there.
    InvalidText = "SAY016", Usage, "not readable text";
    /// Dependencies or parents in a circle.
    Cycle = "SAY017", Conflict, "a circle of dependencies";
    /// The thing is in another state.
    WrongState = "SAY018", Conflict, "its state does not allow this";
    /// A reason must be given.
    ReasonMissing = "SAY019", Usage, "a reason is needed";
    /// No space here.
    NoSpace = "SAY020", NotFound, "no space here";
    /// The database is damaged or not ours.
    BrokenStore = "SAY021", Error, "the database is damaged";
    /// Written by a later sayso.
    NewerSchema = "SAY022", Error, "the database belongs to a newer sayso";
    /// PostgreSQL or a server does not answer.
    Unreachable = "SAY023", Unreachable, "the store cannot be reached";
    /// No room left.
    DiskFull = "SAY024", Error, "no space left on the disk";
    /// The place cannot be written.
    ReadOnly = "SAY025", Error, "the store cannot be written";
    /// The write lock was not free in time.
    Busy = "SAY026", Error, "the store is busy";
    /// An old SQLite.
    OldSqlite = "SAY027", Error, "this SQLite can lose commits";
    /// A token that does not count.
    BadToken = "SAY028", Login, "the token is not valid";
    /// The chain does not hold.
    AuditBroken = "SAY029", AuditBroken, "the audit chain is broken";
    /// One id, two contents.
    Clash = "SAY030", Conflict, "this id already means something else";
    /// A link where a file must be.
    Symlink = "SAY031", Error, "the store is behind a symbolic link";
    /// A setting is wrong.
    BadConfig = "SAY032", Usage, "a setting is wrong";
    /// More than one gate waits.
    WhichGate = "SAY033", Usage, "several gates wait here: name one";
    /// It belongs to another space.
    OtherSpace = "SAY034", NotFound, "it belongs to another space";
    /// It ended without an answer.
    Unanswered = "SAY035", Unanswered, "ended without an answer";
    /// The editor did not end well.
    Editor = "SAY036", Error, "the editor did not end well";
    /// The caller may not do this.
    NotAllowed = "SAY037", NotAllowed, "your role may not do this";
    /// An option's value is wrong.
    BadValue = "SAY038", Usage, "a value is wrong";
    /// A passphrase is wrong or missing.
    Passphrase = "SAY039", Login, "the passphrase is wrong";
    /// A run's lease or number is over.
    Fenced = "SAY040", Conflict, "this run is no longer the task's";
    /// Input was needed and forbidden.
    NoInput = "SAY041", Usage, "input is needed";
    /// Something else in the world failed.
    Failure = "SAY042", Error, "something failed";
    /// The person said no.
    Rejected = "SAY043", Rejected, "the person said no";
    /// Git cannot do what work needs.
    Git = "SAY044", Error, "git cannot do this";
    /// The agent is not there.
    NoAgent = "SAY045", Usage, "the agent cannot be started";
    /// A task file is wrong.
    TaskFile = "SAY046", Usage, "the task file is wrong";
    /// A policy has mistakes.
    BadPolicy = "SAY047", Usage, "the policy has mistakes";
    /// A test written in a policy fails.
    PolicyTest = "SAY048", Error, "a test of the policy fails";
    /// A file that was looked at is wrong.
    Invalid = "SAY049", Usage, "something is wrong with a file";
    /// The policy says no.
    Denied = "SAY050", NotAllowed, "the policy does not allow this";
    /// A person is asked first.
    Held = "SAY051", Held, "it waits for a person's say-so";
    /// Program and server do not speak the same.
    OtherVersion = "SAY052", Error, "program and server are of different versions";
    /// Something else than JSON was sent.
    NotJson = "SAY053", Usage, "only JSON is taken";
    /// Too many wrong guesses.
    TooManyGuesses = "SAY054", Login, "too many wrong guesses";
    /// A code that lets somebody in is not known, used up or too old.
    BadCode = "SAY055", Login, "the code does not let anybody in";
    /// A touch of a passkey that was not asked for, was used, or is not right.
    NoTouch = "SAY056", NotAllowed, "the touch of the passkey does not count";
    /// An agent asks too fast.
    TooManyAsks = "SAY057", NotAllowed, "too many questions in a short time";
    /// A request came by a name that is not the server's, or from a page that is not.
    Foreign = "SAY058", NotAllowed, "the request does not come from where it should";
    /// The terminal of an agent does not show an empty prompt.
    NotAtPrompt = "SAY059", Conflict, "the agent is not at an empty prompt";
    /// An answer is on its way to the agent of a task.
    Unheard = "SAY061", Conflict, "an answer on the task was not heard yet";
    /// A credential for somebody who is here already.
    OthersCredential = "SAY062", NotAllowed, "nobody makes credentials for another person";
    /// A terminal at which nothing shows a person.
    PersonInDoubt = "SAY063", NotAllowed, "nothing shows that a person is here";
    /// A client that cannot be given its hook, while there are rules for tool calls.
    NotHeld = "SAY064", Usage, "the agent cannot be held to the policy";
    /// A flow belongs to another place or another leader.
    FlowElsewhere = "SAY066", Conflict, "the flow goes on elsewhere";
    /// The settings of a project would run something, and nobody has trusted them.
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
    /// An agent writes too fast.
    TooManyWrites = "SAY075", NotAllowed, "too many writes in a short time";
    /// A request that did not arrive as a whole in time.
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
        // A number that is only known elsewhere is a failure here; its text says what happened.
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
