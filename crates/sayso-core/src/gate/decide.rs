//! Decides the commands of a gate: returns the events to append, or a refusal. Approvers, proof, deadline and
//! idempotency are checked here.

use super::delegation::{Absentee, let_in_since, people, suffices};
use super::schedule::tick;
use super::{
    AnswerSignature, Card, DeferredAction, DeliveryState, Gate, GateEnding, GateEvent, GateSpec,
};
use crate::{
    Actor, Answer, Approvers, Code, GateId, IdentityProof, Permission, Refusal, Role, Timestamp,
    Verdict,
};
use std::collections::BTreeSet;

/// The maximum size of a card, all parts together.
pub const CARD_BYTES_MAX: usize = 256 * 1024;

/// The maximum length of the reason for a delegation.
const REASON_BYTES_MAX: usize = 4_096;

/// The maximum length of a deputy's name.
const DEPUTY_BYTES_MAX: usize = 200;

/// The maximum number of facts of a card.
pub const FACTS_MAX: usize = 100;

/// A command to a gate.
#[derive(Debug, Clone, PartialEq)]
pub enum GateCommand {
    /// Open the gate with a question.
    Open(Box<GateSpec>),
    /// Change the card of the gate.
    Revise(Card),
    /// Record that the caller saw the card with this digest.
    MarkSeen {
        /// The digest that was shown.
        digest: String,
    },
    /// Claim the gate for the caller.
    Claim {
        /// The new deadline.
        until: Timestamp,
    },
    /// Release the caller's claim.
    Release,
    /// Snooze the gate: hide it from the inbox until a time.
    Snooze {
        /// The new deadline.
        until: Timestamp,
    },
    /// Remind the approvers.
    Remind,
    /// Escalate by one level.
    Escalate,
    /// Answer the question.
    Answer {
        /// The answer to the question.
        answer: Answer,
        /// The digest of the card that was shown, complete or shortened.
        digest: String,
    },
    /// Delegate it to another person.
    Delegate {
        /// The name of that person.
        to: String,
        /// The reason of the withdrawal.
        reason: String,
    },
    /// Drop the votes that count for a person who was removed.
    DropVotes {
        /// The name of the person.
        of: String,
    },
    /// Fire the timers that are due.
    Tick,
    /// Extend the deadline of the gate.
    Extend {
        /// The new deadline.
        until: Timestamp,
    },
    /// Withdraw the question.
    Withdraw {
        /// The reason of the withdrawal.
        reason: String,
    },
    /// Supersede it by another gate.
    Supersede {
        /// The gate that replaces it.
        by: GateId,
    },
    /// Record the outcome of the deferred action, in the same transaction as the action or after it.
    RecordOutcome {
        /// True if the action was done.
        done: bool,
        /// The action, or the reason why it was not done.
        what: String,
    },
    /// Record that the ending was delivered to the asker.
    Deliver,
    /// Record that the asker continues with it.
    Acknowledge,
    /// Record that the delivery failed.
    FailDelivery {
        /// The error of the delivery.
        why: String,
    },
    /// Record that the task ended before the delivery.
    GiveUpDelivery {
        /// The event that ended the task, and its actor.
        why: String,
    },
}

impl GateCommand {
    /// True if only approvers and their deputies may give this command.
    pub const fn is_decision(&self) -> bool {
        matches!(
            self,
            GateCommand::Answer { .. }
                | GateCommand::Claim { .. }
                | GateCommand::Snooze { .. }
                | GateCommand::Extend { .. }
                | GateCommand::Delegate { .. }
        )
    }
}

/// Decides a command. A repeated command returns no events and no refusal (idempotent).
pub fn decide(
    gate: Option<&Gate>,
    command: &GateCommand,
    actor: &Actor,
    at: Timestamp,
) -> Result<Vec<GateEvent>, Refusal> {
    let Some(gate) = gate else {
        return match command {
            GateCommand::Open(opened) => open(opened, actor),
            _ => Err(Refusal::new(Code::NotFound, "there is no such gate")),
        };
    };
    match command {
        GateCommand::Open(opened) => open_again(gate, opened, actor),
        GateCommand::Revise(card) => revise(gate, card, actor, at),
        GateCommand::MarkSeen { digest } => Ok(see(gate, digest, actor)),
        GateCommand::Claim { until } => claim(gate, *until, actor, at),
        GateCommand::Release => release(gate, actor),
        GateCommand::Snooze { until } => snooze(gate, *until, actor, at),
        GateCommand::Remind => nudge(gate, GateEvent::Reminded, actor, at),
        GateCommand::Escalate => {
            let level = gate.escalation.saturating_add(1);
            nudge(gate, GateEvent::Escalated { level, until: None }, actor, at)
        }
        GateCommand::Answer { answer, digest } => self::answer(gate, answer, digest, actor, at),
        GateCommand::Delegate { to, reason } => delegate(gate, to, reason, actor, at),
        GateCommand::DropVotes { of } => drop_votes(gate, of, actor),
        GateCommand::Tick => {
            actor.check(Permission::Track, "let time pass").map(|()| tick(gate, at))
        }
        GateCommand::Extend { until } => extend(gate, *until, actor, at),
        GateCommand::Withdraw { reason } => withdraw(gate, reason, actor),
        GateCommand::Supersede { by } => supersede(gate, *by, actor),
        GateCommand::RecordOutcome { done, what } => act(gate, *done, what, actor),
        GateCommand::Deliver => deliver(gate, actor),
        GateCommand::Acknowledge => acknowledge(gate, actor),
        GateCommand::FailDelivery { why } => fail_delivery(gate, why, actor),
        GateCommand::GiveUpDelivery { why } => give_up_delivery(gate, why, actor),
    }
}

fn open(opened: &GateSpec, actor: &Actor) -> Result<Vec<GateEvent>, Refusal> {
    check_may_open(opened, actor)?;
    check_card(&opened.card)?;
    let left_out = opened.lineage.launcher.as_deref().filter(|_| opened.launcher_excluded);
    if !opened.approvers.can_be_satisfied(left_out) {
        let who = opened.approvers.in_words();
        return Err(Refusal::new(
            Code::BadValue,
            format!("nobody could answer it: it is for {who}"),
        )
        .hint("name people who may answer; who launched the asker may be left out"));
    }
    Ok(vec![GateEvent::Opened(Box::new(opened.clone()))])
}

/// Accepts the same question again without effect. The handle is not compared, because the desk assigns it.
fn open_again(gate: &Gate, opened: &GateSpec, actor: &Actor) -> Result<Vec<GateEvent>, Refusal> {
    check_may_open(opened, actor)?;
    let first = &gate.opened;
    let same_question = first.digest(&first.card, 1) == opened.digest(&opened.card, 1);
    let same_asker = first.space == opened.space && first.lineage.asker == opened.lineage.asker;
    if same_question && same_asker {
        return Ok(vec![]);
    }
    Err(Refusal::new(
        Code::Clash,
        format!("id {} is gate {}, which asks something else", opened.id, gate.handle()),
    )
    .hint("make a new id for a new question, or change this one with: sayso ask --revise ID"))
}

/// Checks that the actor may open this gate. A worker or a service may ask for an agent. An agent asks for itself:
/// its launcher, who may be excluded as an approver, comes from its credential.
fn check_may_open(opened: &GateSpec, actor: &Actor) -> Result<(), Refusal> {
    actor.check(Permission::Ask, "ask")?;
    if actor.role == Role::Agent && opened.lineage != actor.lineage() {
        return Err(Refusal::new(
            Code::NotAllowed,
            format!("agent {} may not ask in the name of {}", actor.name, opened.lineage.asker),
        ));
    }
    Ok(())
}

fn revise(
    gate: &Gate,
    card: &Card,
    actor: &Actor,
    at: Timestamp,
) -> Result<Vec<GateEvent>, Refusal> {
    check_asker(gate, actor, "change the question of")?;
    if gate.opened.held.is_some() {
        let message = format!("gate {} says what would be done: nobody words it", gate.handle());
        return Err(Refusal::new(Code::NotAllowed, message)
            .hint("withdraw it and ask again, if it is not what you want"));
    }
    check_waits(gate, at)?;
    check_card(card)?;
    if gate.card == *card {
        return Ok(vec![]);
    }
    let revision = gate.revision + 1;
    let digest = gate.opened.digest(card, revision);
    Ok(vec![GateEvent::Revised { card: card.clone(), revision, digest }])
}

/// Records only people, only the current card, and each card once per person.
fn see(gate: &Gate, digest: &str, actor: &Actor) -> Vec<GateEvent> {
    let seen_already = gate.seen_by(&actor.name).is_some_and(|s| s.digest == gate.digest);
    let is_current = gate.digest.is_named_by(digest);
    if actor.role != Role::Human || seen_already || !is_current || !gate.is_open() {
        return vec![];
    }
    vec![GateEvent::Seen { by: actor.name.clone(), digest: gate.digest.clone() }]
}

fn claim(
    gate: &Gate,
    until: Timestamp,
    actor: &Actor,
    at: Timestamp,
) -> Result<Vec<GateEvent>, Refusal> {
    check_is_for(gate, actor, "claim")?;
    check_waits(gate, at)?;
    if until <= at {
        return Err(Refusal::new(Code::BadValue, "a gate is claimed until a time to come"));
    }
    match &gate.claim {
        Some(claim) if claim.by != actor.name && at < claim.until => Err(Refusal::new(
            Code::WrongState,
            format!("gate {} is claimed by {}", gate.handle(), claim.by),
        )
        .hint("answering it is still possible; a claim only tells others that somebody is on it")),
        Some(claim) if claim.by == actor.name && claim.until == until => Ok(vec![]),
        _ => Ok(vec![GateEvent::Claimed { by: actor.name.clone(), until }]),
    }
}

fn release(gate: &Gate, actor: &Actor) -> Result<Vec<GateEvent>, Refusal> {
    actor.check(Permission::Answer, "release a gate")?;
    let is_mine = gate.claim.as_ref().is_some_and(|c| c.by == actor.name);
    Ok(if is_mine && gate.is_open() { vec![GateEvent::Released] } else { vec![] })
}

fn snooze(
    gate: &Gate,
    until: Timestamp,
    actor: &Actor,
    at: Timestamp,
) -> Result<Vec<GateEvent>, Refusal> {
    check_is_for(gate, actor, "snooze")?;
    check_waits(gate, at)?;
    let is_put_off = gate.snoozed_until.is_some_and(|until| until > at);
    if until <= at && !is_put_off {
        let message = format!("gate {} is not put off, so it cannot come back", gate.handle());
        return Err(Refusal::new(Code::BadValue, message)
            .hint("it waits now; to put it off name a time to come: 2h, 3d, tomorrow"));
    }
    if gate.snoozed_until == Some(until) {
        return Ok(vec![]);
    }
    // A snooze until now or earlier ends the present one.
    Ok(vec![GateEvent::Snoozed { by: actor.name.clone(), until: until.max(at) }])
}

fn answer(
    gate: &Gate,
    answer: &Answer,
    digest: &str,
    actor: &Actor,
    at: Timestamp,
) -> Result<Vec<GateEvent>, Refusal> {
    let answer = &answer.clone().with_verdict_for(&gate.card.shape);
    if has_veto(gate, answer, actor) {
        check_proof(gate, actor)?
    } else {
        check_may_decide(gate, actor, "answer")?
    }
    if let Some(ending) = &gate.ending {
        return after_the_end(gate, ending, answer, actor);
    }
    check_waits(gate, at)?;
    if !gate.digest.is_named_by(digest) {
        return Err(Refusal::new(
            Code::Stale,
            format!(
                "gate {} changed since it was shown: it is now {}, not {digest:.12}",
                gate.handle(),
                gate.digest.short(),
            ),
        )
        .hint(format!("look again with: sayso show {}", gate.handle())));
    }
    answer.check(gate.opened.kind, &gate.card.shape)?;
    let by = signed(gate, answer, actor, at);
    let answer = answer.clone();
    if answer.verdict.is_no() || is_enough(gate, &answer, &by) {
        return Ok(vec![GateEvent::Answered { answer, by }]);
    }
    let said_before = gate.votes.iter().any(|v| v.by.name == actor.name && v.answer == answer);
    if said_before {
        return Ok(vec![]);
    }
    check_adds_a_person(gate, &answer, &by)?;
    Ok(vec![GateEvent::Voted { answer, by }])
}

/// Keeps a vote that completes nothing for the next one, unless a person who counts as the same voted before.
fn check_adds_a_person(gate: &Gate, answer: &Answer, by: &AnswerSignature) -> Result<(), Refusal> {
    let equal = gate.votes.iter().filter(|v| v.answer.content == answer.content);
    let mut others = equal.map(|v| &v.by).filter(|other| other.name != by.name);
    let Some(same) = others.find(|other| other.is_one_with(by)) else {
        return Ok(());
    };
    let (name, other, handle) = (&by.name, &same.name, gate.handle());
    let message = format!(
        "{name} and {other} count as one person for gate {handle}: who let one of them in did it after it was asked"
    );
    Err(Refusal::new(Code::NotAnApprover, message)
        .hint("somebody else answers it as well, or the asker asks again"))
}

/// Returns the signature of an answer: the person, and the people whose votes it includes. Delegations of this gate
/// are always included; absent people only if their vote is needed. So the record names only people who had a part in
/// it.
fn signed(gate: &Gate, answer: &Answer, actor: &Actor, at: Timestamp) -> AnswerSignature {
    let with_voices = |stands_for: &[Absentee]| {
        let mut signature = AnswerSignature::of(actor, at);
        let voices = gate.represented(&actor.name, stands_for).into_iter();
        let others = voices.filter(|name| *name != actor.name);
        let counted = others.filter(|name| gate.admits(&BTreeSet::from([*name])));
        signature.stands_for = counted.map(str::to_owned).collect();
        let let_in = let_in_since(actor, &signature.represented(), gate.opened_at);
        signature.let_in_by = let_in.into_iter().map(str::to_owned).collect();
        signature
    };
    let of_this_gate = with_voices(&[]);
    let is_theirs = gate.admits(&of_this_gate.represented());
    let is_no = answer.verdict.is_no();
    if is_theirs && (is_no || is_enough(gate, answer, &of_this_gate)) {
        of_this_gate
    } else {
        with_voices(&actor.stands_for)
    }
}

/// True if this approval, together with equal ones before it, reaches the quorum.
fn is_enough(gate: &Gate, answer: &Answer, by: &AnswerSignature) -> bool {
    let others = gate.votes.iter().filter(|v| v.by.name != by.name);
    let agreed = others.filter(|v| v.answer.content == answer.content).map(|v| &v.by);
    let people = people(agreed.chain([by]));
    gate.approvers().any(|approvers| suffices(approvers, &people))
}

/// Checks that a verdict of this actor counts; `verb` names the attempted action.
fn check_may_decide(gate: &Gate, actor: &Actor, verb: &str) -> Result<(), Refusal> {
    check_is_for(gate, actor, verb)?;
    check_proof(gate, actor)
}

/// True if the answer is a rejection by a person with a veto, whose approval may not count.
fn has_veto(gate: &Gate, answer: &Answer, actor: &Actor) -> bool {
    let is_named = gate.opened.veto.contains(&actor.name);
    is_named && answer.verdict.is_no() && actor.may(Permission::Answer)
}

fn check_proof(gate: &Gate, actor: &Actor) -> Result<(), Refusal> {
    let Gate { opened, .. } = gate;
    if actor.proof < opened.least_proof {
        let (has, needs) = (actor.proof.as_str(), opened.least_proof.as_str());
        return Err(Refusal::new(
            Code::ProofTooLow,
            format!("gate {} needs {needs} as proof; this is {has}", opened.handle),
        )
        .hint(match opened.least_proof {
            IdentityProof::Presence => {
                "touch a passkey: answer it over the API or on the pages of the server"
            }
            IdentityProof::TwoPeople => "it takes two people, each by themselves",
            IdentityProof::None
            | IdentityProof::Token
            | IdentityProof::Tty
            | IdentityProof::Passphrase => "unlock this terminal with: sayso unlock",
        }));
    }
    Ok(())
}

impl Gate {
    /// True if this person is one of the approvers. The proof of identity is not checked here.
    pub fn is_for(&self, actor: &Actor) -> bool {
        check_is_for(self, actor, "answer").is_ok()
    }
}

/// Checks that the gate is for this person, among others.
fn check_is_for(gate: &Gate, actor: &Actor, verb: &str) -> Result<(), Refusal> {
    let Gate { opened, .. } = gate;
    actor.check(Permission::Answer, &format!("{verb} gate {}", opened.handle))?;
    if gate.excludes(&actor.name) {
        return Err(Refusal::new(
            Code::NotAnApprover,
            format!("gate {} was asked by an agent that {} launched", opened.handle, actor.name),
        )
        .hint("somebody else has to answer it"));
    }
    if !gate.admits(&gate.represented(&actor.name, &actor.stands_for)) {
        let who = gate.approvers().map(Approvers::in_words).collect::<Vec<_>>().join(" or ");
        return Err(Refusal::new(
            Code::NotAnApprover,
            format!("gate {} is for {who}, not for {}", opened.handle, actor.name),
        ));
    }
    Ok(())
}

/// Decides an answer after the end: the first answer wins. The same answer again by a person who gave it is accepted
/// without effect.
fn after_the_end(
    gate: &Gate,
    ending: &GateEnding,
    given: &Answer,
    actor: &Actor,
) -> Result<Vec<GateEvent>, Refusal> {
    let gave = |answer: &Answer, by: &AnswerSignature| answer == given && by.name == actor.name;
    let is_theirs = match ending {
        GateEnding::Answered { answer, by } => {
            let was_outvoted = (answer.verdict, &answer.content) != (given.verdict, &given.content);
            let voted = gate.votes.iter().any(|v| gave(&v.answer, &v.by));
            gave(answer, by) || (voted && !was_outvoted)
        }
        GateEnding::Expired { .. }
        | GateEnding::Withdrawn { .. }
        | GateEnding::Superseded { .. } => false,
    };
    if is_theirs { Ok(vec![]) } else { Err(closed(gate, ending)) }
}

/// Refuses a gate that has ended, before a person starts to write an answer.
pub fn check_is_open(gate: &Gate) -> Result<(), Refusal> {
    gate.ending.as_ref().map_or(Ok(()), |ending| Err(closed(gate, ending)))
}

fn closed(gate: &Gate, ending: &GateEnding) -> Refusal {
    let handle = gate.handle();
    match ending {
        GateEnding::Answered { answer, by } => Refusal::new(
            Code::AlreadyAnswered,
            match answer.verdict {
                Verdict::Answered => format!("gate {handle} is already answered by {}", by.name),
                verdict @ (Verdict::Approved | Verdict::Rejected) => {
                    format!("gate {handle} is already answered: {verdict} by {}", by.name)
                }
            },
        )
        .hint(format!("see the answer with: sayso show {handle}")),
        GateEnding::Expired { .. } => Refusal::new(
            Code::NotWaiting,
            format!("gate {handle} has expired; nobody answered it in time"),
        ),
        GateEnding::Withdrawn { by, reason, .. } => {
            Refusal::new(Code::NotWaiting, format!("gate {handle} was withdrawn by {by}: {reason}"))
        }
        GateEnding::Superseded { by, .. } => {
            Refusal::new(Code::NotWaiting, format!("gate {handle} was replaced by gate {by}"))
        }
    }
}

/// Checks that the gate still accepts an answer. Past its deadline it has expired, even if that is not recorded yet.
fn check_waits(gate: &Gate, at: Timestamp) -> Result<(), Refusal> {
    if let Some(ending) = &gate.ending {
        return Err(closed(gate, ending));
    }
    if is_late(gate, at) {
        return Err(closed(gate, &GateEnding::Expired { at, at_end: gate.at_end() }));
    }
    Ok(())
}

fn is_late(gate: &Gate, at: Timestamp) -> bool {
    gate.ends_at().is_some_and(|end| at >= end)
}

/// Delegates the gate. The person must be allowed to answer it, and a vote that others delegated to them cannot be
/// passed on.
fn delegate(
    gate: &Gate,
    to: &str,
    reason: &str,
    actor: &Actor,
    at: Timestamp,
) -> Result<Vec<GateEvent>, Refusal> {
    let own = Actor { stands_for: vec![], ..actor.clone() };
    check_may_decide(gate, &own, "delegate")?;
    check_waits(gate, at)?;
    let is_theirs = gate.approvers().any(|approvers| approvers.admits(&actor.name));
    let refuse = |code, why: String| Err(Refusal::new(code, why));
    if !is_theirs {
        let why = format!(
            "gate {} was left to {}, and is not theirs to hand on",
            gate.handle(),
            actor.name
        );
        return refuse(Code::NotAnApprover, why);
    }
    check_deputy(&actor.name, to)?;
    if gate.excludes(to) {
        let why = format!("gate {} was asked by an agent that {to} launched", gate.handle());
        return refuse(Code::NotAnApprover, why);
    }
    if reason.len() > REASON_BYTES_MAX {
        return refuse(Code::TooLarge, format!("a reason has at most {REASON_BYTES_MAX} bytes"));
    }
    if gate.delegations.iter().any(|d| d.from == actor.name && d.to == to) {
        return Ok(vec![]);
    }
    let (by, to, reason) = (actor.name.clone(), to.to_owned(), reason.to_owned());
    Ok(vec![GateEvent::Delegated { by, to, reason }])
}

/// Drops the votes of a dismissed person, and the voice they delegated: a quorum consists of people who are here.
fn drop_votes(gate: &Gate, of: &str, actor: &Actor) -> Result<Vec<GateEvent>, Refusal> {
    actor.check(Permission::Govern, "let votes fall")?;
    let has_voice = gate.is_open() && gate.holds_voice_of(of);
    Ok(if has_voice { vec![GateEvent::VotesDropped { of: of.into() }] } else { vec![] })
}

/// Checks that `deputy` is a valid deputy for this person.
pub fn check_deputy(person: &str, deputy: &str) -> Result<(), Refusal> {
    let is_name = !deputy.trim().is_empty()
        && deputy.len() <= DEPUTY_BYTES_MAX
        && !deputy.chars().any(char::is_control);
    if is_name && deputy != person {
        Ok(())
    } else {
        Err(Refusal::new(Code::BadValue, format!("{deputy:?} cannot stand in for {person}"))
            .hint("name another person, as they are called here"))
    }
}

/// Reminds or escalates, for timers and people only: an agent would put pressure on people.
fn nudge(
    gate: &Gate,
    event: GateEvent,
    actor: &Actor,
    at: Timestamp,
) -> Result<Vec<GateEvent>, Refusal> {
    actor.check(Permission::Track, "remind people")?;
    if actor.role == Role::Agent {
        return Err(Refusal::new(
            Code::NotAllowed,
            format!("agent {} may not press people to answer gate {}", actor.name, gate.handle()),
        )
        .hint("people are reminded by themselves; go on with other work"));
    }
    check_waits(gate, at).map(|()| vec![event])
}

/// Extends the deadline. Only approvers may: an asker could otherwise avoid a rejection for ever.
fn extend(
    gate: &Gate,
    until: Timestamp,
    actor: &Actor,
    at: Timestamp,
) -> Result<Vec<GateEvent>, Refusal> {
    check_is_for(gate, actor, "extend")?;
    check_waits(gate, at)?;
    if until <= at {
        return Err(Refusal::new(Code::BadValue, "a gate is extended to a time to come"));
    }
    if gate.deadline().is_some_and(|deadline| until < deadline) {
        let message = format!("gate {} has more time than that already", gate.handle());
        return Err(Refusal::new(Code::BadValue, message).hint("name a later time"));
    }
    if gate.deadline() == Some(until) {
        return Ok(vec![]);
    }
    Ok(vec![GateEvent::Extended { by: actor.name.clone(), until }])
}

/// Withdraws the question. The asker may; for any other actor it counts as a verdict.
fn withdraw(gate: &Gate, reason: &str, actor: &Actor) -> Result<Vec<GateEvent>, Refusal> {
    if !actor.is_asker(&gate.opened.lineage) {
        check_may_decide(gate, actor, "withdraw")?;
    }
    if reason.len() > CARD_BYTES_MAX {
        return Err(Refusal::new(
            Code::TooLarge,
            format!("the reason has {} bytes; at most {CARD_BYTES_MAX} are taken", reason.len()),
        ));
    }
    match &gate.ending {
        Some(GateEnding::Withdrawn { .. }) => Ok(vec![]),
        Some(ending) => Err(closed(gate, ending)),
        None => Ok(vec![GateEvent::Withdrawn { by: actor.name.clone(), reason: reason.into() }]),
    }
}

fn supersede(gate: &Gate, by: GateId, actor: &Actor) -> Result<Vec<GateEvent>, Refusal> {
    check_asker(gate, actor, "replace")?;
    if by == gate.opened.id {
        let handle = gate.handle();
        return Err(Refusal::new(Code::BadValue, format!("gate {handle} cannot replace itself")));
    }
    match &gate.ending {
        Some(GateEnding::Superseded { by: before, .. }) if *before == by => Ok(vec![]),
        Some(ending) => Err(closed(gate, ending)),
        None => Ok(vec![GateEvent::Superseded { by }]),
    }
}

/// Records the outcome of the deferred action. sayso carries it out, so no agent may report it. A granted tool call
/// is the exception: its asker uses the grant up when the call runs.
fn act(gate: &Gate, done: bool, what: &str, actor: &Actor) -> Result<Vec<GateEvent>, Refusal> {
    let is_own_grant = matches!(gate.opened.held, Some(DeferredAction::Call { .. }))
        && is_asker_or_follows(gate, actor);
    if actor.role == Role::Agent && !is_own_grant {
        let message =
            format!("agent {} may not say what became of gate {}", actor.name, gate.handle());
        return Err(Refusal::new(Code::NotAllowed, message));
    }
    Ok(if gate.is_to_be_done() {
        vec![GateEvent::Acted { done, what: what.into() }]
    } else {
        vec![]
    })
}

fn deliver(gate: &Gate, actor: &Actor) -> Result<Vec<GateEvent>, Refusal> {
    check_may_carry(gate, actor)?;
    check_ended(gate)?;
    Ok(match gate.delivery {
        DeliveryState::Pending { .. }
        | DeliveryState::Failed { .. }
        | DeliveryState::Never { .. } => {
            vec![GateEvent::Delivered]
        }
        DeliveryState::None
        | DeliveryState::Delivered { .. }
        | DeliveryState::Acknowledged { .. } => vec![],
    })
}

fn acknowledge(gate: &Gate, actor: &Actor) -> Result<Vec<GateEvent>, Refusal> {
    check_may_carry(gate, actor)?;
    check_ended(gate)?;
    Ok(match gate.delivery {
        DeliveryState::Acknowledged { .. } => vec![],
        DeliveryState::Delivered { .. } => vec![GateEvent::Acknowledged],
        DeliveryState::None
        | DeliveryState::Pending { .. }
        | DeliveryState::Failed { .. }
        | DeliveryState::Never { .. } => vec![GateEvent::Delivered, GateEvent::Acknowledged],
    })
}

fn fail_delivery(gate: &Gate, why: &str, actor: &Actor) -> Result<Vec<GateEvent>, Refusal> {
    check_may_carry(gate, actor)?;
    check_ended(gate)?;
    if matches!(gate.delivery, DeliveryState::Acknowledged { .. }) {
        return Ok(vec![]);
    }
    let attempts = gate.attempts.saturating_add(1);
    Ok(vec![GateEvent::DeliveryFailed { why: why.into(), attempts }])
}

/// Records that the ending is not to be delivered. A completed delivery is not undone, and an agent may not declare
/// an answer unnecessary.
fn give_up_delivery(gate: &Gate, why: &str, actor: &Actor) -> Result<Vec<GateEvent>, Refusal> {
    actor.check(Permission::Track, "take note of answers")?;
    if actor.role == Role::Agent {
        let message = format!(
            "agent {} may not say that the answer to gate {} is not needed",
            actor.name,
            gate.handle()
        );
        return Err(Refusal::new(Code::NotAllowed, message));
    }
    check_ended(gate)?;
    Ok(match gate.delivery {
        DeliveryState::Pending { .. } | DeliveryState::Failed { .. } => {
            vec![GateEvent::NeverDelivered { why: why.into() }]
        }
        DeliveryState::None
        | DeliveryState::Delivered { .. }
        | DeliveryState::Acknowledged { .. }
        | DeliveryState::Never { .. } => vec![],
    })
}

fn check_ended(gate: &Gate) -> Result<(), Refusal> {
    if gate.is_open() {
        return Err(Refusal::new(
            Code::WrongState,
            format!("gate {} is still open: there is nothing to deliver", gate.handle()),
        ));
    }
    Ok(())
}

/// Checks that the actor may record the delivery. Everyone who may ask may; an agent only for its own answers, since
/// it could make those of others disappear. The refusal discloses neither the asker nor the state of that gate.
fn check_may_carry(gate: &Gate, actor: &Actor) -> Result<(), Refusal> {
    let is_own = is_asker_or_follows(gate, actor);
    if is_own && actor.may(Permission::Ask) {
        return Ok(());
    }
    actor.check(Permission::Track, "take note of answers")?;
    if actor.role == Role::Agent && !is_own {
        let message = format!("agent {} may take note of its own answers only", actor.name);
        return Err(Refusal::new(Code::NotAllowed, message));
    }
    Ok(())
}

/// True for the asker, or the same agent in a later run of the task it asked for.
fn is_asker_or_follows(gate: &Gate, actor: &Actor) -> bool {
    let GateSpec { lineage, task, .. } = &gate.opened;
    actor.is_asker(lineage) || actor.follows(lineage, *task)
}

fn check_asker(gate: &Gate, actor: &Actor, what: &str) -> Result<(), Refusal> {
    if actor.is_asker(&gate.opened.lineage) {
        return Ok(());
    }
    Err(Refusal::new(
        Code::NotAllowed,
        format!("only {} may {what} gate {}", gate.opened.lineage.asker, gate.handle()),
    ))
}

fn check_card(card: &Card) -> Result<(), Refusal> {
    if card.question.trim().is_empty() {
        return Err(Refusal::new(Code::BadValue, "the question is empty")
            .hint("say what a person shall decide: sayso ask \"Ship 1.2 today?\""));
    }
    let size = serde_json::to_string(card).map_or(usize::MAX, |text| text.len());
    if size > CARD_BYTES_MAX {
        return Err(Refusal::new(
            Code::TooLarge,
            format!(
                "the question and its context have {size} bytes; at most {CARD_BYTES_MAX} are taken"
            ),
        )
        .hint("put the long part in a file of the project and name it in the question"));
    }
    if card.facts.len() > FACTS_MAX {
        return Err(Refusal::new(Code::TooLarge, format!("at most {FACTS_MAX} facts are taken")));
    }
    card.shape.check()
}
