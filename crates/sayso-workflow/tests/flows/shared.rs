//! What the tests share: a space on each database, and ann, who answers.

use sayso_core::gate::Gate;
use sayso_core::{Actor, Answer, AssuranceLevel, EntryPoint, IdentityProof, Role};
use sayso_engine::{Desk, GateFilter, RuntimeEnv, StoreLocation};
use sayso_workflow::Inbox;
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

pub(crate) fn ann() -> Actor {
    Actor::new(Role::Human, "ann", IdentityProof::Tty, AssuranceLevel::S0, EntryPoint::Cli)
}

/// A space of a test's own.
pub(crate) struct Site {
    pub(crate) place: StoreLocation,
    pub(crate) space: String,
    pub(crate) desk: Desk,
    _folder: tempfile::TempDir,
}

impl Site {
    pub(crate) fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let place = StoreLocation::Sqlite(folder.path().join("sayso.db"));
        Self::at(place, folder)
    }

    /// A space on the tests' server. There is no silent skip.
    pub(crate) fn postgres() -> Self {
        let url = std::env::var("SAYSO_TEST_PG").expect(
            "SAYSO_TEST_PG names no PostgreSQL server; run the tests with: cargo xtask test",
        );
        Self::at(StoreLocation::Postgres(url), tempfile::tempdir().unwrap())
    }

    fn at(place: StoreLocation, folder: tempfile::TempDir) -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let space = format!("flows-{}-{count}", std::process::id());
        let (desk, _) = Desk::create(place.clone(), &space, &ann(), RuntimeEnv::real()).unwrap();
        Self { place, space, desk, _folder: folder }
    }

    pub(crate) fn inbox(&self) -> Inbox {
        Inbox::at(self.place.clone(), &self.space, "bot").unwrap()
    }

    /// The desk waits for the database, so a test that is asynchronous itself goes there by a thread.
    pub(crate) fn at_desk<T: Send>(&self, work: impl FnOnce(&Desk) -> T + Send) -> T {
        std::thread::scope(|scope| scope.spawn(|| work(&self.desk)).join().unwrap())
    }

    /// What waits now.
    pub(crate) fn open(&self) -> Vec<Gate> {
        let filter = GateFilter { limit: 100, ..GateFilter::default() };
        self.at_desk(|desk| desk.gates(&ann(), filter).unwrap().items)
    }

    /// Everything that was ever asked.
    pub(crate) fn asked(&self) -> Vec<Gate> {
        let filter = GateFilter { limit: 100, ended: true, ..GateFilter::default() };
        let mut all = self.at_desk(|desk| desk.gates(&ann(), filter).unwrap().items);
        all.extend(self.open());
        all
    }

    pub(crate) fn answer(&self, gate: &Gate, answer: Answer) {
        self.at_desk(|desk| desk.answer(&ann(), gate.opened.id, answer, gate.digest.as_str()))
            .unwrap();
    }

    /// Answers the one question that waits, once it does.
    pub(crate) fn answer_next(&self, prompt: &str, answer: Answer) {
        let gate = self.wait_for(prompt);
        self.answer(&gate, answer);
    }

    pub(crate) fn wait_for(&self, prompt: &str) -> Gate {
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            let open = self.open();
            if let Some(gate) = open.iter().find(|gate| gate.card.question.contains(prompt)) {
                return gate.clone();
            }
            assert!(Instant::now() < until, "nobody asked {prompt:?}: {open:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Every step of this space is covered by the audit, and every row is what its events made it.
    pub(crate) fn verify(&self) {
        let report = self.desk.verify_audit(&ann(), |_| {}).unwrap();
        assert!(report.entries > 0 && report.views > 0, "{report:?}");
    }
}

pub(crate) fn block_on<T>(work: impl Future<Output = T>) -> T {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.unwrap().block_on(work)
}

pub(crate) fn picked(option: &str) -> Answer {
    Answer::choice(vec![option.into()], None)
}

/// Makes a test of each database.
macro_rules! on_both {
    ($(#[$doc:meta])* fn $name:ident($site:ident: &Site) $body:block) => {
        mod $name {
            #[allow(unused_imports)]
            use super::*;

            fn story($site: &Site) $body

            #[test]
            fn sqlite() {
                let site = Site::sqlite();
                story(&site);
                site.verify();
            }

            #[test]
            fn postgres() {
                let site = Site::postgres();
                story(&site);
                site.verify();
            }
        }
    };
}
pub(crate) use on_both;
