//! The words that requests choose from. Each is one of the core's; an unknown one is refused.

use schemars::JsonSchema;
use serde::Deserialize;

macro_rules! words {
    ($($(#[$doc:meta])* $name:ident for $core:ty: $($word:ident)*;)*) => {
        $($(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub(super) enum $name {
            $(#[allow(missing_docs)] $word,)*
        }

        impl From<$name> for $core {
            fn from(word: $name) -> Self {
                match word {
                    $($name::$word => <$core>::$word,)*
                }
            }
        })*
    };
}

words! {
    /// Yes, an answer with a content, or no.
    Verdict for sayso_core::Verdict: Approved Answered Rejected;
    /// What sort of gate can be asked for; the others are asked by what they hold back.
    Kind for sayso_core::Kind:
        Work Approval Input Review Content Escalation Checkpoint Decision;
    /// The least proof an answer needs.
    Proof for sayso_core::Proof: Token Tty Passphrase Presence;
    /// What silence means to an asker: anything but a yes.
    AtEnd for sayso_core::AtEnd: Deny Fail Defer Keep;
    /// Whom a gate waits for: the caller, a group they are in, or others.
    Whose for sayso_core::gate::Whose: Yours Groups Others;
    /// The part a credential's holder plays.
    Role for sayso_core::Role: Agent Human Operator Admin Auditor Service;
}

/// The form of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Shape {
    /// Yes or no.
    Verdict,
    /// A text.
    Text,
    /// One of the options, or several.
    Choice,
    /// A form, described by a JSON Schema.
    Form,
}
