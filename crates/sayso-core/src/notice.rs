//! Notices: their reasons, and the choice of recipients and channels.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The reason of a notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoticeReason {
    /// A gate waits for them.
    Asked,
    /// The card of the gate has changed.
    Changed,
    /// The snooze of the gate is over.
    Woken,
    /// The gate still waits.
    Reminded,
    /// It escalated to them, because it was not answered.
    Escalated,
    /// The deadline is near.
    ExpiresSoon,
    /// The deadline passed and a new one was set.
    AskedAgain,
    /// The deadline passed, and the gate stays open.
    Overdue,
    /// A person delegated it to them.
    Delegated,
    /// The gate has ended.
    Settled,
}

impl NoticeReason {
    /// All reasons, in the order of declaration.
    pub const ALL: [NoticeReason; 10] = [
        NoticeReason::Asked,
        NoticeReason::Changed,
        NoticeReason::Woken,
        NoticeReason::Reminded,
        NoticeReason::Escalated,
        NoticeReason::ExpiresSoon,
        NoticeReason::AskedAgain,
        NoticeReason::Overdue,
        NoticeReason::Delegated,
        NoticeReason::Settled,
    ];

    /// Returns the name used in the API and in settings.
    pub const fn as_str(self) -> &'static str {
        match self {
            NoticeReason::Asked => "asked",
            NoticeReason::Changed => "changed",
            NoticeReason::Woken => "woken",
            NoticeReason::Reminded => "reminded",
            NoticeReason::Escalated => "escalated",
            NoticeReason::ExpiresSoon => "expires_soon",
            NoticeReason::AskedAgain => "asked_again",
            NoticeReason::Overdue => "overdue",
            NoticeReason::Delegated => "delegated",
            NoticeReason::Settled => "settled",
        }
    }

    /// Returns the predicate of a sentence about the gate: "it …".
    pub const fn in_words(self) -> &'static str {
        match self {
            NoticeReason::Asked => "waits for you",
            NoticeReason::Changed => "has changed; look again",
            NoticeReason::Woken => "was put off until now",
            NoticeReason::Reminded => "still waits for you",
            NoticeReason::Escalated => "waits for you now, since nobody else answered",
            NoticeReason::ExpiresSoon => "waits for you, and its time is nearly over",
            NoticeReason::AskedAgain => "is asked again, since nobody answered",
            NoticeReason::Overdue => "is overdue and waits on",
            NoticeReason::Delegated => "was handed to you",
            NoticeReason::Settled => "waits no more",
        }
    }
}

/// A notification channel as the desk knows it: its name and its recipients. The sender knows how to send.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelInfo {
    /// The name of the channel.
    pub channel: String,
    /// The people it reaches. Empty for a channel that is shared.
    pub who: Vec<String>,
    /// True if it also sends a notice when a gate is settled.
    pub settled: bool,
}

impl From<&str> for ChannelInfo {
    fn from(channel: &str) -> Self {
        Self { channel: channel.into(), ..Self::default() }
    }
}

/// A person's preference: the channels by which they want to be notified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoticePreference {
    /// The name of the person.
    pub person: String,
    /// The channels; `None` leaves it to the channels that list the person.
    pub channels: Option<Vec<String>>,
}

/// Returns the pairs of channel and recipient for a notice. A person is notified by the channels they chose, else by
/// those that list them; a shared channel is notified once, independent of the approvers.
pub fn notice_targets(
    is_told: impl Fn(&str) -> bool,
    people: &[NoticePreference],
    channels: &[ChannelInfo],
) -> BTreeSet<(String, Option<String>)> {
    let wish = |name: &str| people.iter().find(|wish| wish.person == name)?.channels.as_ref();
    let named = channels.iter().flat_map(|reach| &reach.who);
    let everybody: BTreeSet<_> = people.iter().map(|wish| &wish.person).chain(named).collect();
    let mut ways = BTreeSet::new();
    for person in everybody {
        if !is_told(person) {
            continue;
        }
        let own = channels.iter().filter(|reach| reach.who.contains(person));
        let own = own.map(|reach| &reach.channel).collect();
        let wanted: Vec<&String> = wish(person).map_or(own, |wanted| wanted.iter().collect());
        ways.extend(wanted.into_iter().map(|channel| (channel.clone(), Some(person.clone()))));
    }
    let is_somebodys = |channel: &String| {
        people.iter().filter_map(|wish| wish.channels.as_ref()).any(|all| all.contains(channel))
    };
    let shared = channels.iter().filter(|r| r.who.is_empty() && !is_somebodys(&r.channel));
    ways.extend(shared.map(|reach| (reach.channel.clone(), None)));
    ways
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Approvers;

    #[test]
    fn who_is_told_by_which_channel() {
        let person = |name: &str| Approvers::Person(name.into());
        let reach = |channel: &str, who: &[&str]| ChannelInfo {
            who: who.iter().map(|name| (*name).into()).collect(),
            ..ChannelInfo::from(channel)
        };
        let wish = |person: &str, channels: Option<&[&str]>| NoticePreference {
            person: person.into(),
            channels: channels.map(|all| all.iter().map(|name| (*name).into()).collect()),
        };
        let bell = || vec![reach("bell", &[])];
        let both = || vec![reach("room", &[]), reach("phone", &["ann"])];
        type Case = (
            &'static str,
            Approvers,
            Option<&'static str>,
            Vec<NoticePreference>,
            Vec<ChannelInfo>,
            &'static str,
        );
        let table: Vec<Case> = vec![
            ("no channel", Approvers::Anyone, None, vec![], vec![], ""),
            ("one user, no people", Approvers::Anyone, None, vec![], bell(), "bell"),
            ("a name without a wish", person("ann"), None, vec![], bell(), "bell"),
            ("named by a channel", person("ann"), None, vec![], both(), "phone:ann room"),
            ("not the one who is asked", person("bob"), None, vec![], both(), "room"),
            ("anyone", Approvers::Anyone, None, vec![], both(), "phone:ann room"),
            ("may not answer", Approvers::Anyone, Some("ann"), vec![], both(), "room"),
            (
                "a wish counts before the channel, known here or not",
                Approvers::Anyone,
                None,
                vec![wish("ann", Some(&["pager"])), wish("bob", None)],
                both(),
                "pager:ann room",
            ),
            (
                "who wants nothing is told nothing",
                person("ann"),
                None,
                vec![wish("ann", Some(&[]))],
                vec![reach("phone", &["ann"])],
                "",
            ),
            (
                "a channel that somebody named is theirs",
                person("ann"),
                None,
                vec![wish("ann", Some(&["room"])), wish("bob", Some(&["room"]))],
                both(),
                "room:ann",
            ),
        ];
        for (story, asked, excluded, people, channels, expected) in table {
            let is_told = |name: &str| asked.admits(name) && excluded != Some(name);
            let ways = notice_targets(is_told, &people, &channels).into_iter();
            let said: Vec<_> = ways
                .map(|(channel, person)| match person {
                    Some(person) => format!("{channel}:{person}"),
                    None => channel,
                })
                .collect();
            assert_eq!(said.join(" "), expected, "{story}");
        }
    }

    #[test]
    fn occasions_have_one_name() {
        for occasion in NoticeReason::ALL {
            let written = serde_json::to_value(occasion).unwrap_or_default();
            assert_eq!(written, occasion.as_str());
        }
    }
}
