//! Enumerated parameters of requests. Each value is one of the core's; an unknown one is refused.

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
    /// The kinds of gates that can be asked for; the others are asked by the action they hold back.
    Kind for sayso_core::GateKind:
        Work Approval Input Review Content Escalation Checkpoint Decision;
    /// The least proof an answer needs.
    Proof for sayso_core::IdentityProof: Token Tty Passphrase Presence;
    /// The timeout action of a gate: anything but a yes.
    AtEnd for sayso_core::TimeoutAction: Deny Fail Defer Keep;
    /// The people a gate waits for: the caller, a group they are in, or others.
    Whose for sayso_core::gate::GateAudience: Yours Groups Others;
    /// The role of a credential's holder.
    Role for sayso_core::Role: Agent Human Operator Admin Auditor Service;
}

/// The form of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Shape")]
pub(super) enum ShapeParam {
    /// A yes or a no.
    Verdict,
    /// A text of the person.
    Text,
    /// One of the options, or several.
    Choice,
    /// A form, described by a JSON Schema.
    Form,
}
