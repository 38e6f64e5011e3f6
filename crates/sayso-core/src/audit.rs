//! The audit log, a hash chain: every change has one entry, and each entry contains the hash of the previous one.
//!
//! Hashing and verifying are pure, so an export can be verified anywhere, without the database.

use crate::{
    Actor, AssuranceLevel, Digest, EntryPoint, IdentityProof, Role, RunId, SpaceId, Timestamp,
    digest,
};
use serde::{Deserialize, Serialize};

/// One entry of the audit log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainEntry {
    /// The position in the chain, from 1.
    pub seq: u64,
    /// The time of the change.
    pub at: Timestamp,
    /// The space to which the chain belongs.
    pub space: SpaceId,
    /// The name of the actor.
    pub actor: String,
    /// The role of the actor.
    pub role: Role,
    /// The run of the actor, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// The person who launched that run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launcher: Option<String>,
    /// The actor's proof of identity.
    pub proof: IdentityProof,
    /// The assurance level of the place.
    pub level: AssuranceLevel,
    /// The interface that was used.
    pub door: EntryPoint,
    /// The action: `gate.answered`, `task.created`, `token.minted`.
    pub action: String,
    /// The handle of the object acted on.
    pub object: String,
    /// The revision of a gate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<u32>,
    /// The digest of a gate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    /// The outcome: done or refused.
    pub outcome: AuditOutcome,
    /// The reason of the actor or of the refusal, if there is one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// References to the events written with this entry.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<EventReference>,
}

/// The outcome of an audited action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuditOutcome {
    /// The action was done.
    Done,
    /// The action was refused.
    Refused,
}

/// A reference that binds one event of the log to an audit entry.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct EventReference {
    /// The stream, such as `gate/01ARZ3NDEKTSV4RRFFQ69G5FAV`.
    pub stream: String,
    /// The position in the stream, from 1.
    pub version: u64,
    /// The hash of stream, version and text of the event.
    pub hash: Digest,
}

impl EventReference {
    /// Returns the reference to an event with the text that is stored.
    pub fn of(stream: &str, version: u64, body: &str) -> Self {
        let hash = Digest::of_bytes(format!("{stream}\n{version}\n{body}").as_bytes());
        Self { stream: stream.into(), version, hash }
    }
}

impl ChainEntry {
    /// Returns an entry for an action of `actor`; the caller fills in the particular fields.
    pub fn new(actor: &Actor, space: SpaceId, at: Timestamp, action: &str, object: &str) -> Self {
        Self {
            seq: 0,
            at,
            space,
            actor: actor.name.clone(),
            role: actor.role,
            run: actor.run,
            launcher: actor.launcher.clone(),
            proof: actor.proof,
            level: actor.level,
            door: actor.door,
            action: action.into(),
            object: object.into(),
            revision: None,
            digest: None,
            outcome: AuditOutcome::Done,
            reason: String::new(),
            events: vec![],
        }
    }
}

/// An entry sealed into the chain. `body` is the entry as canonical JSON, byte for byte as hashed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SealedEntry {
    /// The position in the chain.
    pub seq: u64,
    /// The hash of the previous entry.
    pub prev: Digest,
    /// The hash of this entry.
    pub hash: Digest,
    /// The entry as canonical JSON.
    pub body: String,
}

/// The head of a chain. A copy outside of the database shows if entries were cut off.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainHead {
    /// The number of entries.
    pub seq: u64,
    /// The hash of the last entry.
    pub hash: Digest,
}

impl ChainHead {
    /// Returns the head of a chain without entries.
    pub fn genesis(space: SpaceId) -> Self {
        Self { seq: 0, hash: Digest::of_bytes(format!("sayso audit chain of {space}").as_bytes()) }
    }
}

/// Seals an entry as the next one after `head`.
pub fn seal(head: &ChainHead, mut entry: ChainEntry) -> SealedEntry {
    entry.seq = head.seq + 1;
    let body = digest::canonical(&entry);
    SealedEntry { seq: entry.seq, prev: head.hash.clone(), hash: link(&head.hash, &body), body }
}

fn link(prev: &Digest, body: &str) -> Digest {
    Digest::of_bytes(format!("{prev}\n{body}").as_bytes())
}

/// The first entry that fails verification, and the reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("audit entry {seq} does not hold: {why}")]
pub struct ChainBreak {
    /// The position of the entry.
    pub seq: u64,
    /// The defect that was found.
    pub why: String,
}

/// Verifies a chain entry by entry.
#[derive(Debug, Clone)]
pub struct ChainVerifier {
    space: SpaceId,
    head: ChainHead,
}

impl ChainVerifier {
    /// Returns a verifier that starts at the first entry of a space's chain.
    pub fn new(space: SpaceId) -> Self {
        Self { space, head: ChainHead::genesis(space) }
    }

    /// Returns a verifier that starts right before an entry, to check that one by itself.
    pub fn behind(space: SpaceId, sealed: &SealedEntry) -> Self {
        let seq = sealed.seq.saturating_sub(1);
        Self { space, head: ChainHead { seq, hash: sealed.prev.clone() } }
    }

    /// Checks the next entry and returns it.
    pub fn next(&mut self, sealed: &SealedEntry) -> Result<ChainEntry, ChainBreak> {
        let seq = self.head.seq + 1;
        let broken = |why: String| ChainBreak { seq, why };
        if sealed.seq != seq {
            return Err(broken(format!("entry {} stands in its place", sealed.seq)));
        }
        if sealed.prev != self.head.hash {
            return Err(broken("it does not follow the entry before it".into()));
        }
        if sealed.hash != link(&sealed.prev, &sealed.body) {
            return Err(broken("its text was changed".into()));
        }
        let entry: ChainEntry = serde_json::from_str(&sealed.body)
            .map_err(|e| broken(format!("its text cannot be read: {e}")))?;
        if entry.seq != seq || entry.space != self.space {
            return Err(broken("its text belongs to another place".into()));
        }
        self.head = ChainHead { seq, hash: sealed.hash.clone() };
        Ok(entry)
    }

    /// Checks that the chain ends at the expected head.
    pub fn finish(self, head: &ChainHead) -> Result<ChainHead, ChainBreak> {
        if self.head == *head {
            return Ok(self.head);
        }
        Err(ChainBreak {
            seq: self.head.seq + 1,
            why: format!("the chain has {} entries and should have {}", self.head.seq, head.seq),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(len: u64) -> (SpaceId, Vec<SealedEntry>, ChainHead) {
        let space = SpaceId::mint(Timestamp::from_micros(0), 7);
        let actor =
            Actor::new(Role::Human, "ann", IdentityProof::Tty, AssuranceLevel::S0, EntryPoint::Cli);
        let mut head = ChainHead::genesis(space);
        let mut entries = vec![];
        for n in 0..len {
            let at = Timestamp::from_micros(n as i64);
            let sealed = seal(&head, ChainEntry::new(&actor, space, at, "gate.answered", "g1234"));
            head = ChainHead { seq: sealed.seq, hash: sealed.hash.clone() };
            entries.push(sealed);
        }
        (space, entries, head)
    }

    fn verify(
        space: SpaceId,
        entries: &[SealedEntry],
        head: &ChainHead,
    ) -> Result<ChainHead, ChainBreak> {
        let mut verifier = ChainVerifier::new(space);
        for entry in entries {
            verifier.next(entry)?;
        }
        verifier.finish(head)
    }

    #[test]
    fn an_untouched_chain_verifies() {
        let (space, entries, head) = chain(5);
        assert_eq!(verify(space, &entries, &head), Ok(head));
    }

    #[test]
    fn every_kind_of_tampering_is_found_and_named() {
        let (space, entries, head) = chain(5);
        type Tamper = fn(&mut Vec<SealedEntry>);
        let table: [(&str, Tamper, u64); 6] = [
            ("edit the middle", |e| e[2].body = e[2].body.replace("ann", "eve"), 3),
            (
                "edit and re-hash",
                |e| {
                    e[2].body = e[2].body.replace("ann", "eve");
                    e[2].hash = link(&e[2].prev, &e[2].body);
                },
                4,
            ),
            ("delete the middle", |e| drop(e.remove(2)), 3),
            ("delete the last", |e| drop(e.pop()), 5),
            ("truncate to nothing", |e| e.clear(), 1),
            ("swap two", |e| e.swap(1, 2), 2),
        ];
        for (name, tamper, seq) in table {
            let mut copy = entries.clone();
            tamper(&mut copy);
            let found = verify(space, &copy, &head).map_err(|b| b.seq);
            assert_eq!(found, Err(seq), "{name}");
        }
    }

    #[test]
    fn a_chain_of_another_space_does_not_verify() {
        let (_, entries, head) = chain(2);
        let other = SpaceId::mint(Timestamp::from_micros(1), 8);
        assert_eq!(verify(other, &entries, &head).map_err(|b| b.seq), Err(1));
    }
}
