//! Tests of delegation and of deputies for absent people.

use super::{Play, check, check_with, two_of_three};
use crate::gate::{Absentee, GateCommand, GateSpec, Introduction, decide, effects};
use crate::testing::{at, who};
use crate::{Actor, Approvers, Code, IdentityProof, NoticeReason};

fn person(name: &str) -> Approvers {
    Approvers::Person(name.into())
}

fn for_ann(rules: &mut GateSpec) {
    rules.approvers = person("ann");
}

fn for_both(rules: &mut GateSpec) {
    rules.approvers = Approvers::All(vec![person("ann"), person("bob")]);
}

#[test]
fn a_gate_is_handed_on_by_those_it_is_for() {
    check_with(
        for_ann,
        "fixer open | bob yes | bob delegate cid | fixer delegate bob | ann delegate ann | ann delegate bob | \
         ann delegate bob | cid yes | bob yes | ann delegate cid",
        &[
            "opened",
            "SAY013",
            "SAY013",
            "SAY010",
            "SAY038",
            "delegated",
            "=",
            "SAY013",
            "answered",
            "SAY004",
        ],
    );
}

#[test]
fn whoever_handed_it_on_may_still_answer_or_hand_it_to_another() {
    check_with(
        for_ann,
        "fixer open | ann delegate bob | ann yes",
        &["opened", "delegated", "answered"],
    );
    check_with(
        for_ann,
        "fixer open | ann delegate bob | ann delegate cid | bob yes | cid yes",
        &["opened", "delegated", "delegated", "SAY013", "answered"],
    );
}

#[test]
fn what_was_left_to_somebody_is_not_theirs_to_hand_on() {
    check_with(
        for_ann,
        "fixer open | ann delegate bob | bob delegate cid | bob+ann delegate cid | cid yes",
        &["opened", "delegated", "SAY013", "SAY013", "SAY013"],
    );
}

#[test]
fn whoever_stands_in_may_do_what_those_they_stand_in_for_may() {
    check_with(
        for_ann,
        "fixer open | bob+ann claim | bob+ann snooze | bob+ann extend | cid+dan yes | bob+ann yes",
        &["opened", "claimed", "snoozed", "extended", "SAY013", "answered"],
    );
    let mut play = Play::with(for_ann);
    play.play("fixer open | bob+ann+eve yes");
    let (_, by) = play.gate().answer().unwrap();
    assert_eq!((by.name.as_str(), &by.stands_for), ("bob", &vec!["ann".to_owned()]));
}

/// The record names the people whose vote was needed, and none who had no part in it.
#[test]
fn whoever_may_say_it_alone_speaks_for_nobody_else() {
    let one_of_both = |rules: &mut GateSpec| {
        rules.approvers = Approvers::Some { least: 1, of: vec![person("ann"), person("bob")] };
    };
    let anyone = |rules: &mut GateSpec| rules.approvers = Approvers::Anyone;
    type Case<'a> = (&'a dyn Fn(&mut GateSpec), &'a str, &'a [&'a str]);
    let cases: [Case<'_>; 6] = [
        (&anyone, "bob+ann yes", &[]),
        (&one_of_both, "bob+ann yes", &[]),
        (&one_of_both, "bob+ann no", &[]),
        (&one_of_both, "cid+ann+eve yes", &["ann"]),
        (&for_ann, "bob+ann no", &["ann"]),
        (&for_both, "cid+ann no", &["ann"]),
    ];
    for (rules, says, expected) in cases {
        let mut play = Play::with(rules);
        play.play(&format!("fixer open | {says}"));
        let (_, by) = play.gate().answer().unwrap();
        assert_eq!(by.stands_for, expected, "{says}");
    }
}

#[test]
fn one_who_stands_in_is_still_one_person() {
    check_with(
        for_both,
        "fixer open | bob+ann yes | bob+ann yes | cid yes | ann yes",
        &["opened", "voted", "=", "SAY013", "answered"],
    );
    check_with(
        for_both,
        "fixer open | ann delegate bob | bob yes | ann yes",
        &["opened", "delegated", "voted", "answered"],
    );
    check_with(
        |rules| rules.approvers = two_of_three(),
        "fixer open | bob+ann+cid yes | eve+ann yes",
        &["opened", "voted", "answered"],
    );
    // If anyone may answer, being a deputy adds nothing.
    check("fixer open | bob+ann yes", &["opened", "answered"]);
}

#[test]
fn whoever_is_left_out_has_no_voice_to_leave() {
    let excluded = |rules: &mut GateSpec| {
        rules.approvers = Approvers::Some { least: 1, of: vec![person("lea"), person("ann")] };
        rules.launcher_excluded = true;
    };
    check_with(
        excluded,
        "fixer open | lea delegate bob | bob+lea yes | ann delegate lea | lea+ann yes | ann yes",
        &["opened", "SAY013", "SAY013", "SAY013", "SAY013", "answered"],
    );
}

/// A stolen token of ann's without her passphrase cannot delegate a gate that needs the passphrase.
#[test]
fn nobody_leaves_more_than_they_showed() {
    for (shown, needed, expected) in [
        (IdentityProof::Token, IdentityProof::Token, None),
        (IdentityProof::Token, IdentityProof::Passphrase, Some(Code::NotAnApprover)),
        (IdentityProof::Tty, IdentityProof::Passphrase, Some(Code::NotAnApprover)),
        (IdentityProof::Passphrase, IdentityProof::Passphrase, None),
    ] {
        let mut play = Play::with(|rules| {
            for_ann(rules);
            rules.least_proof = needed;
        });
        play.play("fixer open");
        let stands_for = vec![Absentee { name: "ann".into(), proof: shown }];
        let bob = Actor { proof: IdentityProof::Presence, stands_for, ..who("bob") };
        let yes = play.command("yes", &bob);
        let code = decide(play.gate.as_ref(), &yes, &bob, at(10)).err().map(|r| r.code);
        assert_eq!(code, expected, "{shown:?} for {needed:?}");
        // The same for a delegation: it takes the proof that an answer takes.
        let ann = Actor { proof: shown, ..who("ann") };
        let hand_on = GateCommand::Delegate { to: "bob".into(), reason: String::new() };
        let code = decide(play.gate.as_ref(), &hand_on, &ann, at(10)).err().map(|r| r.code);
        assert_eq!(code, expected.map(|_| Code::ProofTooLow), "{shown:?} for {needed:?}");
    }
}

#[test]
fn whom_it_is_handed_to_hears_of_it() {
    let mut play = Play::with(for_ann);
    play.play("fixer open | ann claim | ann delegate bob");
    let (event, _) = play.log.last().unwrap();
    assert!(play.gate().claim.is_none());
    let told = format!("{:?}", effects(play.gate(), event));
    assert!(told.contains(&format!("{:?}", NoticeReason::Delegated)), "{told}");
}

/// A person introduced after a gate was asked counts as one with the person who introduced them, in any order of the
/// votes.
#[test]
fn who_was_let_in_since_counts_with_whoever_did_it() {
    // Ann let bob in, bob let cid in, and dan let eve in: at 20, after the gate was asked at 10, or before.
    let chain = [("bob", "ann"), ("cid", "bob"), ("eve", "dan")];
    type Case = (i64, &'static str, &'static [&'static str]);
    let table: &[Case] = &[
        (20, "ann yes | bob yes", &["voted", "SAY013"]),
        (20, "bob yes | ann yes", &["voted", "SAY013"]),
        (20, "ann yes | cid yes", &["voted", "SAY013"]),
        (20, "bob yes | cid yes", &["voted", "SAY013"]),
        (20, "ann yes | bob yes | bob yes but | bob no", &["voted", "SAY013", "voted", "answered"]),
        (20, "ann yes | bob yes | dan yes", &["voted", "SAY013", "answered"]),
        (20, "bob yes | eve yes", &["voted", "answered"]),
        (20, "bob yes | bob yes", &["voted", "="]),
        (5, "ann yes | bob yes", &["voted", "answered"]),
        (5, "bob yes | cid yes", &["voted", "answered"]),
        // A voice that was handed on, or left while its person is away, is one of those who let that person in.
        (20, "ann yes | bob delegate fay | fay yes", &["voted", "delegated", "SAY013"]),
        (20, "bob delegate fay | fay yes | ann yes", &["delegated", "voted", "SAY013"]),
        (20, "ann delegate fay | bob yes | fay yes", &["delegated", "voted", "SAY013"]),
        (20, "ann delegate fay | fay yes | bob yes", &["delegated", "voted", "SAY013"]),
        (
            20,
            "ann delegate fay | bob delegate gus | fay yes | gus yes",
            &["delegated", "delegated", "voted", "SAY013"],
        ),
        (
            20,
            "ann yes | bob delegate fay | fay yes | dan yes",
            &["voted", "delegated", "SAY013", "answered"],
        ),
        (5, "ann yes | bob delegate fay | fay yes", &["voted", "delegated", "answered"]),
        (5, "ann delegate fay | bob yes | fay yes", &["delegated", "voted", "answered"]),
    ];
    for (since, script, expected) in table {
        let two = Approvers::Some { least: 2, of: vec![Approvers::Anyone; 2] };
        let mut play = Play::with(|rules| rules.approvers = two);
        play.introductions = chain
            .map(|(name, by)| Introduction { name: name.into(), by: by.into(), at: at(*since) })
            .to_vec();
        play.play("fixer open | @30");
        assert_eq!(play.play(script), *expected, "{since}: {script}");
    }
}

/// The voice of an absent person counts like a delegated one; a dismissed person leaves neither votes nor voice.
#[test]
fn a_voice_of_another_is_one_with_who_let_them_in() {
    let for_two = |rules: &mut GateSpec| {
        rules.approvers = Approvers::Some { least: 2, of: vec![person("ann"), person("bob")] };
    };
    let ann_let_bob_in = Introduction { name: "bob".into(), by: "ann".into(), at: at(20) };
    for script in ["ann yes | cid+bob yes", "cid+bob yes | ann yes", "bob yes | cid+ann yes"] {
        let mut play = Play::with(for_two);
        play.introductions = vec![ann_let_bob_in.clone()];
        play.play("fixer open | @30");
        assert_eq!(play.play(script), ["voted", "SAY013"], "{script}");
    }
    check_with(
        for_two,
        "fixer open | bob delegate cid | cid yes | root drop bob | ann yes | cid yes",
        &["opened", "delegated", "voted", "votes_dropped", "voted", "SAY013"],
    );
    check_with(
        for_two,
        "fixer open | bob delegate cid | root drop bob | root drop bob | cid yes",
        &["opened", "delegated", "votes_dropped", "=", "SAY013"],
    );
}
