//! People: whom a question is for, who makes whom a credential, and what it takes to be gone.

use crate::bench::{Bench, ann, bob, coder, fails, question};
use sayso_core::gate::AlertKind;
use sayso_core::{
    Actor, Approvers, AssuranceLevel, Code, EntryPoint, IdentityProof, Refusal, Role,
};
use sayso_engine::{Desk, IssuedToken, LoginClient, NewToken, Result, SettingChange, SettingKind};

const PASSPHRASE: &str = "correct horse battery";

fn person(name: &str) -> Approvers {
    Approvers::Person(name.into())
}

/// Lets somebody in, as they would be.
fn join(desk: &Desk, name: &str, is_admin: bool) -> IssuedToken {
    let code = desk.invite(&ann(), name, is_admin).unwrap().code;
    desk.local().unwrap().join(&code, name, PASSPHRASE, LoginClient::Program).unwrap()
}

fn mint(desk: &Desk, by: &Actor, role: Role, name: &str) -> Result<IssuedToken> {
    let (task, run, expires_at, scopes) = (None, None, None, None);
    desk.mint(by, NewToken { role, name: name.into(), task, run, expires_at, scopes })
}

/// Who comes with a secret.
fn who(desk: &Desk, secret: &str) -> Result<Actor> {
    desk.authenticate(secret, EntryPoint::Http)
}

fn group(desk: &Desk, name: &str, people: &[&str]) {
    let body = Some(serde_json::to_string(people).unwrap());
    desk.set(&ann(), vec![SettingChange { kind: SettingKind::Group, name: name.into(), body }])
        .unwrap();
}

fn ask(desk: &Desk, approvers: Approvers) -> Result<sayso_core::gate::Gate> {
    let mut ask = question(desk.new_gate_id(), "Ship?");
    ask.demands.approvers = approvers;
    desk.ask(&coder(), ask)
}

#[test]
fn a_question_is_for_people_there_are() {
    let bench = Bench::memory();
    let desk = &bench.desk;
    // Where nobody was ever let in, people are names of the operating system: any will do.
    assert_eq!(ask(desk, person("zed")).unwrap().opened.approvers, person("zed"));
    fails(ask(desk, person("@reviewers")), Code::BadValue);
    for name in ["ann", "bob", "cleo"] {
        join(desk, name, name == "ann");
    }
    mint(desk, &ann(), Role::Agent, "coder").unwrap();
    mint(desk, &ann(), Role::Human, "dora").unwrap();
    group(desk, "reviewers", &["bob", "cleo"]);
    group(desk, "gone", &["zed"]);
    let some = |least, names: &[&str]| Approvers::Some {
        least,
        of: names.iter().map(|name| person(name)).collect(),
    };
    for (asked, opened) in [
        (person("bob"), person("bob")),
        (person("dora"), person("dora")),
        (person("@reviewers"), some(1, &["bob", "cleo"])),
        (some(2, &["@reviewers"]), some(2, &["bob", "cleo"])),
        (some(2, &["bob", "@reviewers", "ann"]), some(2, &["bob", "cleo", "ann"])),
        (Approvers::Anyone, Approvers::Anyone),
    ] {
        assert_eq!(ask(desk, asked.clone()).unwrap().opened.approvers, opened, "{asked:?}");
    }
    for (asked, what, hint) in [
        (person("bop"), "nobody here is called \"bop\"", "did you mean bob?"),
        (person("xenia"), "nobody here is called", "there are: ann, bob, cleo"),
        (person("coder"), "coder is an agent", "name a person"),
        (person("@reviewer"), "there is no group @reviewer", "did you mean @reviewers?"),
        (person("@gone"), "nobody of @gone is here", "name a person"),
        (some(1, &["bob", "xenia"]), "nobody here is called", "there are"),
        (some(0, &["bob"]), "at least one person has to agree", "name the people"),
        (some(1, &[]), "does not say who", "name the people"),
    ] {
        let refused = ask(desk, asked.clone()).unwrap_err();
        assert_eq!(refused.code(), Code::BadValue, "{asked:?}");
        assert!(refused.to_string().contains(what), "{asked:?}: {refused}");
        assert!(refused.hint().unwrap().contains(hint), "{asked:?}: {refused:?}");
    }
}

/// Whoever lets people in decides whose answers count, and that is no program.
#[test]
fn an_admins_token_makes_no_person() {
    let bench = Bench::memory();
    let desk = &bench.desk;
    join(desk, "ann", true);
    let root = mint(desk, &ann(), Role::Admin, "root").unwrap();
    let root = who(desk, &root.secret).unwrap();
    for role in [Role::Human, Role::Admin] {
        fails(mint(desk, &root, role, "eve"), Code::NotHuman);
    }
    fails(desk.invite(&root, "eve", false), Code::NotHuman);
    fails(desk.invite(&root, "ann", true), Code::NotHuman);
    for role in [Role::Agent, Role::Operator, Role::Auditor, Role::Service] {
        mint(desk, &root, role, role.as_str()).unwrap();
    }
}

/// Who is sent away is out: with what they made, with codes that were given out, and by every other way.
#[test]
fn who_is_sent_away_is_out() {
    let bench = Bench::memory();
    let desk = &bench.desk;
    for name in ["ann", "bob", "cleo"] {
        join(desk, name, name != "cleo");
    }
    let bob_here = Actor { proof: IdentityProof::Tty, ..bob() };
    let login = join(desk, "bob", true);
    let root = mint(desk, &bob_here, Role::Admin, "root").unwrap();
    let ci = mint(desk, &bob_here, Role::Agent, "ci").unwrap();
    let deeper = mint(desk, &who(desk, &root.secret).unwrap(), Role::Operator, "ops").unwrap();
    let anns = mint(desk, &ann(), Role::Operator, "ours").unwrap();
    let code = desk.invite(&bob_here, "mallory", false).unwrap().code;
    group(desk, "reviewers", &["bob", "cleo"]);
    let alone = ask(desk, person("bob")).unwrap();
    let shared = ask(desk, person("@reviewers")).unwrap();

    let came = desk.dismiss_person(&ann(), "bob").unwrap();
    assert_eq!(came.ended.len(), 3, "{came:?}");
    assert!(came.kept.is_empty());
    assert_eq!(came.named_in, ["group reviewers"]);
    assert_eq!(came.gates, [alone.handle()]);
    for secret in [&login.secret, &root.secret, &ci.secret, &deeper.secret] {
        fails(who(desk, secret), Code::BadToken);
    }
    who(desk, &anns.secret).unwrap();
    let join_by = |code: &str, name: &str| {
        desk.local().unwrap().join(code, name, PASSPHRASE, LoginClient::Program).map(drop)
    };
    fails(join_by(&code, "mallory"), Code::BadCode);
    fails(mint(desk, &ann(), Role::Human, "bob"), Code::WrongState);
    fails(ask(desk, person("bob")), Code::BadValue);
    let alerts = desk.alerts(&ann(), 10).unwrap();
    let hang: Vec<_> = alerts.iter().map(|alert| (alert.trouble, alert.gate.as_str())).collect();
    assert_eq!(hang, [(AlertKind::Unanswerable, alone.handle())]);
    assert_ne!(shared.handle(), alone.handle());

    join(desk, "bob", false);
    fails(mint(desk, &ann(), Role::Human, "bob"), Code::OthersCredential);
    mint(desk, &bob_here, Role::Human, "bob").unwrap();
    assert_eq!(desk.alerts(&ann(), 10).unwrap(), []);
}

/// People who are here by a token alone are seen, and can be sent away.
#[test]
fn a_person_by_a_token_alone() {
    let bench = Bench::memory();
    let desk = &bench.desk;
    join(desk, "ann", true);
    let zed = mint(desk, &ann(), Role::Human, "zed").unwrap();
    let names: Vec<_> = desk.people_by_token().unwrap().into_iter().map(|it| it.name).collect();
    assert_eq!(names, ["zed"]);
    desk.dismiss_person(&ann(), "zed").unwrap();
    fails(who(desk, &zed.secret), Code::BadToken);
    assert_eq!(desk.people_by_token().unwrap(), []);
    fails(desk.dismiss_person(&ann(), "nobody"), Code::NotFound);
    let level = AssuranceLevel::S0;
    let root = Actor::new(Role::Admin, "root", IdentityProof::Token, level, EntryPoint::Http);
    fails(desk.dismiss_person(&root, "ann"), Code::WrongState);
}

/// Lists name who asks: an agent of a person's name would be taken for them.
#[test]
fn no_agent_has_a_persons_name() {
    let bench = Bench::memory();
    let desk = &bench.desk;
    join(desk, "ann", true);
    fails(mint(desk, &ann(), Role::Agent, "ann"), Code::BadValue);
    mint(desk, &ann(), Role::Agent, "anna").unwrap();
    mint(desk, &ann(), Role::Human, "ann").unwrap();
}

/// Wrong passphrases count against the place at which they are typed: they keep the right one out nowhere else.
#[test]
fn wrong_passphrases_lock_out_the_place_they_come_from() {
    let bench = Bench::memory();
    let desk = bench.desk.local().unwrap();
    join(&bench.desk, "ann", true);
    let log_in = |passphrase: &str, from: &str| {
        desk.log_in("ann", passphrase, from, LoginClient::Program).map(|_| ())
    };
    let at_a_terminal = Actor { proof: IdentityProof::Tty, ..ann() };
    let unlock =
        |passphrase: &str, place: &str| desk.unlock(&at_a_terminal, passphrase, place).map(|_| ());
    for guess in 0..5 {
        assert!(
            log_in("wrong horse", "10.0.0.9").is_err_and(|e| e.code() == Code::Passphrase),
            "{guess}"
        );
        assert!(
            unlock("wrong horse", "pts/9").is_err_and(|e| e.code() == Code::Passphrase),
            "{guess}"
        );
    }
    fails(log_in(PASSPHRASE, "10.0.0.9"), Code::TooManyGuesses);
    fails(unlock(PASSPHRASE, "pts/9"), Code::TooManyGuesses);
    log_in(PASSPHRASE, "10.0.0.1").unwrap();
    unlock(PASSPHRASE, "pts/1").unwrap();
    // The pause at a place ends by itself, and a right one ends what was counted there.
    bench.clock.jump(1_100_000);
    log_in(PASSPHRASE, "10.0.0.9").unwrap();
    fails(log_in("wrong horse", "10.0.0.9"), Code::Passphrase);
    log_in(PASSPHRASE, "10.0.0.9").unwrap();
    // From very many places at once a name is not guessed without end, and whoever unlocks does not wait for that.
    let from = |number: usize| format!("10.1.{}.{}", number / 250, number % 250);
    let taken = |number: &usize| {
        log_in("wrong horse", &from(*number)).is_err_and(|e| e.code() == Code::Passphrase)
    };
    let taken = (0..200).filter(taken).count();
    assert!((40..=50).contains(&taken), "{taken}");
    fails(log_in(PASSPHRASE, "10.0.0.1"), Code::TooManyGuesses);
    unlock(PASSPHRASE, "pts/1").unwrap();
}

/// Credentials are found one by one, however many there are that are newer: each run of an agent makes one.
#[test]
fn very_many_credentials_hide_nobody() {
    let bench = Bench::memory();
    let desk = &bench.desk;
    join(desk, "ann", true);
    let bob = mint(desk, &ann(), Role::Human, "bob").unwrap();
    let cleo = join(desk, "cleo", false);
    let dora = join(desk, "dora", false);
    let spec = Some(r#"{"program": "bot"}"#.to_owned());
    let spec = SettingChange { kind: SettingKind::Agent, name: "bot".into(), body: spec };
    desk.set(&ann(), vec![spec]).unwrap();
    let bot = mint(desk, &ann(), Role::Agent, "bot").unwrap();
    let ours = mint(desk, &Actor { name: "dora".into(), ..ann() }, Role::Operator, "ops").unwrap();
    for _ in 0..10_001 {
        mint(desk, &ann(), Role::Agent, "crowd").unwrap();
    }
    let names: Vec<_> = desk.people_by_token().unwrap().into_iter().map(|it| it.name).collect();
    assert_eq!(names, ["bob"]);
    // Nobody takes over the name of somebody whom others brought in.
    let eve = Actor { name: "eve".into(), ..ann() };
    fails(mint(desk, &eve, Role::Human, "bob"), Code::OthersCredential);
    desk.dismiss_person(&ann(), "bob").unwrap();
    assert_eq!(desk.dismiss_person(&ann(), "dora").unwrap().ended.len(), 1);
    let local = desk.local().unwrap();
    let actor = who(desk, &cleo.secret).unwrap();
    local.end_login(&actor, cleo.token.id).unwrap();
    desk.delete_agent(&ann(), "bot", "not needed", true).unwrap();
    for secret in [&bob.secret, &cleo.secret, &dora.secret, &bot.secret, &ours.secret] {
        fails(who(desk, secret), Code::BadToken);
    }
    bench.entries();
}

/// What strangers call themselves is not written down, and costs nobody else a login.
#[test]
fn made_up_names_leave_nothing_behind() {
    let bench = Bench::memory();
    join(&bench.desk, "ann", true);
    let desk = bench.desk.local().unwrap();
    let before = bench.entries();
    let long = "x".repeat(60_000);
    let log_in = |name: &str, from: &str| {
        desk.log_in(name, "wrong horse", from, LoginClient::Program).map(drop)
    };
    fails(log_in(&long, "10.0.0.9"), Code::Passphrase);
    fails(log_in("a b", "10.0.0.9"), Code::Passphrase);
    let guesses: Vec<_> =
        (0..150).map(|n| log_in(&format!("made-up-{n}"), "10.0.0.9").unwrap_err().code()).collect();
    assert!(guesses[..100].iter().all(|code| *code == Code::Passphrase), "{guesses:?}");
    assert!(guesses[100..].iter().all(|code| *code == Code::TooManyGuesses), "{guesses:?}");
    let join =
        |name: &str, code: &str| desk.join(code, name, PASSPHRASE, LoginClient::Program).map(drop);
    for name in [long.as_str(), "made-up", "ann"] {
        fails(join(name, "AAAA-BBBB-CCCC-DDDD"), Code::BadCode);
    }
    let code = bench.desk.invite(&ann(), "eve", false).unwrap().code;
    fails(join(&long, &code), Code::BadCode);
    assert_eq!(bench.entries(), before + 1, "the invitation");
    // A wrong one for somebody who is here is written down, in short.
    fails(log_in("ann", "10.0.0.8"), Code::Passphrase);
    assert_eq!(bench.entries(), before + 2);
    desk.log_in("ann", PASSPHRASE, "10.0.0.1", LoginClient::Program).unwrap();
    let stranger = Actor { name: long.clone(), ..ann() };
    desk.note_refusal(&stranger, &Refusal::new(Code::NotAllowed, long));
    let entry = &desk.audit_entries(&ann(), 1).unwrap()[0].entry;
    assert!(entry.actor.chars().count() <= 200 && entry.reason.chars().count() <= 2_000);
}

/// Those who begin to come in by a passkey and do not go on keep out nobody from elsewhere.
#[test]
fn unanswered_touches_make_room_for_the_next() {
    let bench = Bench::memory();
    let desk = bench.desk.local().unwrap();
    let first = desk.issue_login_challenge("10.0.0.9", "first".into()).unwrap();
    let other = desk.issue_login_challenge("10.0.0.1", "other".into()).unwrap();
    let mut last = None;
    for number in 0..1_100 {
        last = Some(desk.issue_login_challenge("10.0.0.9", number.to_string()).unwrap());
    }
    fails(desk.redeem_login_challenge(&first.id), Code::NoTouch);
    assert_eq!(desk.redeem_login_challenge(&other.id).unwrap(), "other");
    assert_eq!(desk.redeem_login_challenge(&last.unwrap().id).unwrap(), "1099");
    fails(desk.redeem_login_challenge(&other.id), Code::NoTouch);
}
