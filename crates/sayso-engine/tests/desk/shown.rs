//! A credential that was good before is checked with what it is used for, whoever changed it meanwhile.

use crate::bench::{Bench, ann, bob, fails, question};
use sayso_core::{Actor, Code, EntryPoint, IdentityProof, Role};
use sayso_engine::{Desk, GateFilter, LocalDesk, NewToken, RemoteCaller, StoreLocation};

const PASSPHRASE: &str = "correct horse battery";

/// A store, two desks at it as two servers have them, and somebody's credential.
struct Stage {
    bench: Bench,
    there: LocalDesk,
    secret: String,
    handle: String,
}

impl Stage {
    fn new(role: Role, name: &str) -> Self {
        let bench = Bench::sqlite();
        let place = StoreLocation::Sqlite(bench.file.clone().unwrap());
        let there = Desk::open_shared(place, "test", bench.clock.world()).unwrap();
        let there = there.local().unwrap().clone();
        let (task, run, expires_at, scopes) = (None, None, None, None);
        let new = NewToken { role, name: name.into(), task, run, expires_at, scopes };
        let minted = bench.desk.mint(&ann(), new).unwrap();
        Self { bench, there, secret: minted.secret, handle: minted.token.handle }
    }

    fn here(&self) -> &LocalDesk {
        self.bench.desk.local().unwrap()
    }

    /// Comes in here, once more.
    fn comes(&self) -> (RemoteCaller, LocalDesk) {
        let caller =
            RemoteCaller::authenticate_cached(self.here(), &self.secret, EntryPoint::Http, "0")
                .unwrap();
        let desk = caller.with_credential_check(self.here());
        (caller, desk)
    }
}

#[test]
fn revoked_elsewhere_it_does_and_sees_nothing() {
    let stage = Stage::new(Role::Agent, "coder");
    let (first, desk) = stage.comes();
    let asked = desk.ask(&first.actor, question(desk.new_gate_id(), "May I?")).unwrap();
    // Known by now: nothing is looked up to let it in, and it is as good as before.
    let (caller, desk) = stage.comes();
    assert_eq!(caller.actor, first.actor);
    desk.ask(&caller.actor, question(desk.new_gate_id(), "And this?")).unwrap();
    assert!(!caller.has_changed());

    let (caller, desk) = stage.comes();
    stage.there.revoke(&ann(), &stage.handle).unwrap();
    let entries = stage.bench.entries();
    fails(desk.ask(&caller.actor, question(desk.new_gate_id(), "Now?")), Code::BadToken);
    fails(desk.gate_for(&caller.actor, asked.opened.id), Code::BadToken);
    fails(
        desk.gates(&caller.actor, GateFilter { limit: 9, ..GateFilter::default() }),
        Code::BadToken,
    );
    assert!(caller.has_changed());
    assert_eq!(stage.bench.entries(), entries, "nothing is written");
    let again =
        RemoteCaller::authenticate_cached(stage.here(), &stage.secret, EntryPoint::Http, "0")
            .map(|_| ());
    assert!(again.as_ref().is_err_and(|e| e.to_string().contains("revoked")), "{again:?}");
}

#[test]
fn it_ends_by_the_clock_too() {
    let stage = Stage::new(Role::Agent, "coder");
    let now = stage.bench.clock.at();
    let expires_at = Some(now.plus_micros(60_000_000));
    let (task, run, scopes) = (None, None, None);
    let new = NewToken { role: Role::Agent, name: "brief".into(), task, run, expires_at, scopes };
    let secret = stage.bench.desk.mint(&ann(), new).unwrap().secret;
    let come = || {
        RemoteCaller::authenticate_cached(stage.here(), &secret, EntryPoint::Http, "0")
            .map(|caller| caller.actor.name)
    };
    assert_eq!(come().unwrap(), "brief");
    assert_eq!(come().unwrap(), "brief");
    stage.bench.clock.jump(61_000_000);
    fails(come(), Code::BadToken);
}

/// More proof is not missed, and less is not overlooked.
#[test]
fn a_passphrase_that_was_shown_or_taken_back_elsewhere_counts_here() {
    let stage = Stage::new(Role::Human, "bob");
    let at_a_terminal = Actor { proof: IdentityProof::Tty, ..bob() };
    stage.bench.desk.set_passphrase(&at_a_terminal, None, PASSPHRASE).unwrap();
    let asked = stage.bench.ask("Ship?").opened.id;
    let elsewhere = RemoteCaller::by(&stage.there, &stage.secret, EntryPoint::Http, "0").unwrap();
    let proofs = |expected: IdentityProof| {
        let (caller, _) = stage.comes();
        assert_eq!(caller.actor.proof, expected);
        stage.comes()
    };
    let (caller, desk) = proofs(IdentityProof::Token);
    elsewhere.unlock(&stage.there, PASSPHRASE).unwrap();
    fails(desk.gate_for(&caller.actor, asked), Code::BadToken);
    assert!(caller.has_changed());
    let (caller, desk) = proofs(IdentityProof::Passphrase);
    elsewhere.lock(&stage.there).unwrap();
    fails(desk.gate_for(&caller.actor, asked), Code::BadToken);
    assert!(caller.has_changed());
    proofs(IdentityProof::Token);
}
