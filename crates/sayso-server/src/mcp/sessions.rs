//! Conversations over HTTP, of revisions of the protocol that have them. Each takes memory and a task of the server, so
//! there are so many of a token and so many at a door; the next one ends the oldest.

use sayso_core::Digest;
use std::collections::{HashMap, VecDeque};

/// So many conversations a token has at one time: clients that come and go without a word leave theirs behind.
const OF_TOKEN_MAX: usize = 32;

/// So many there are at one door.
const ALL_MAX: usize = 1_024;

/// The conversations of a door, oldest first, with the hash of the token each was begun with.
#[derive(Default)]
pub(super) struct Sessions {
    all: VecDeque<(String, Digest)>,
}

impl Sessions {
    /// True if a session was begun with this token.
    pub(super) fn is_of(&self, session: &str, token: &Digest) -> bool {
        self.all.iter().any(|(id, owner)| id == session && owner == token)
    }

    pub(super) fn ids(&self) -> Vec<String> {
        self.all.iter().map(|(id, _)| id.clone()).collect()
    }

    /// Takes one up. Returns those that have to end for it.
    pub(super) fn begin(&mut self, session: String, token: Digest) -> Vec<String> {
        self.all.push_back((session, token.clone()));
        let mut over = vec![];
        if self.count(&token) > OF_TOKEN_MAX {
            over.extend(self.end_oldest(&token));
        }
        // The one with the most makes room, so that a token with few keeps them.
        if self.all.len() > ALL_MAX
            && let Some(most) = self.most()
        {
            over.extend(self.end_oldest(&most));
        }
        over
    }

    pub(super) fn end(&mut self, session: &str) {
        self.all.retain(|(id, _)| id != session);
    }

    fn count(&self, token: &Digest) -> usize {
        self.all.iter().filter(|(_, owner)| owner == token).count()
    }

    fn end_oldest(&mut self, token: &Digest) -> Option<String> {
        let oldest = self.all.iter().position(|(_, owner)| owner == token)?;
        self.all.remove(oldest).map(|(id, _)| id)
    }

    /// The token with the most conversations.
    fn most(&self) -> Option<Digest> {
        let mut counts: HashMap<String, (usize, &Digest)> = HashMap::new();
        for (_, owner) in &self.all {
            counts.entry(owner.to_string()).or_insert((0, owner)).0 += 1;
        }
        counts.into_values().max_by_key(|(count, _)| *count).map(|(_, owner)| owner.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(name: &str) -> Digest {
        Digest::of_bytes(name.as_bytes())
    }

    #[test]
    fn one_more_ends_the_oldest_of_the_same_token() {
        let mut sessions = Sessions::default();
        sessions.begin("other".into(), token("tester"));
        let over: Vec<_> =
            (0..100).flat_map(|n| sessions.begin(n.to_string(), token("coder"))).collect();
        let expected: Vec<_> = (0..100 - OF_TOKEN_MAX).map(|n| n.to_string()).collect();
        assert_eq!(over, expected);
        assert!(sessions.is_of("other", &token("tester")) && sessions.is_of("99", &token("coder")));
        assert!(!sessions.is_of("99", &token("tester")) && !sessions.is_of("0", &token("coder")));
        sessions.end("99");
        assert!(!sessions.is_of("99", &token("coder")));
    }

    #[test]
    fn a_full_door_takes_from_the_one_with_the_most() {
        let mut sessions = Sessions::default();
        sessions.begin("first".into(), token("calm"));
        let begin = |number: usize, sessions: &mut Sessions| {
            sessions.begin(format!("s{number}"), token(&(number / OF_TOKEN_MAX).to_string()))
        };
        let over: Vec<_> =
            (0..2 * ALL_MAX).flat_map(|number| begin(number, &mut sessions)).collect();
        assert_eq!(over.len(), ALL_MAX + 1);
        assert_eq!(sessions.ids().len(), ALL_MAX);
        assert!(sessions.is_of("first", &token("calm")));
    }
}
