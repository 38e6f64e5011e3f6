//! Kills: `kill -9` at any moment loses nothing that was acknowledged (R1, R2).
//!
//! Acknowledged means that the process printed it and we read it. What a killed process did not
//! print may have counted or not; asking again with the same id settles it.

use super::{Chance, TOKENS, ann, desk, gate_id, name, place};
use crate::harness::{Backend, SAYSO, Space, Who};
use sayso_core::{AnswerContent, GateId};
use sayso_engine::{Desk, RuntimeEnv};
use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

const TASKS: u64 = 6;

/// The real `sayso audit verify` runs after this many kills; an in-process one after each.
const KILLS_PER_REAL_VERIFY: u64 = 20;

/// What must have happened for the test to mean anything.
struct Goal {
    kills: u64,
    gates: u64,
    answers: u64,
    seconds_max: u64,
}

#[test]
fn nothing_acknowledged_is_lost_sqlite() {
    let goal = Goal { kills: 320, gates: 150, answers: 60, seconds_max: 240 };
    run(&Space::new(Backend::Sqlite), &goal);
}

#[test]
fn nothing_acknowledged_is_lost_postgres() {
    let goal = Goal { kills: 60, gates: 30, answers: 12, seconds_max: 240 };
    run(&Space::new(Backend::Postgres), &goal);
}

fn run(space: &Space, goal: &Goal) {
    let loop_ = Loop::new(space);
    loop_.rolling(goal.kills / 2, goal.seconds_max);
    loop_.all_at_once(goal.kills, goal.seconds_max);
    // The moment between commit and print is short: kill on until one hit it, or time is over.
    while loop_.counted.load(Relaxed) == 0 {
        loop_.rolling(loop_.kills.load(Relaxed) + 10, goal.seconds_max);
    }
    loop_.settle();
    let report = loop_.report();
    assert!(report.kills >= goal.kills, "{report:?}");
    assert!(report.gates_acknowledged >= goal.gates, "{report:?}");
    assert!(report.answers_acknowledged >= goal.answers, "{report:?}");
    assert!(
        report.killed_after_it_counted > 0,
        "no kill came between commit and print: {report:?}"
    );
}

/// What we know about one question.
struct Asked {
    text: String,
    task: Option<String>,
    acknowledged: bool,
    answer: Option<Answered>,
}

struct Answered {
    text: String,
    by: &'static str,
    acknowledged: bool,
    under_way: bool,
}

#[derive(Debug)]
#[allow(dead_code, reason = "printed")]
struct Report {
    kills: u64,
    gates_acknowledged: u64,
    answers_acknowledged: u64,
    /// Killed before it could print, and yet it had counted.
    killed_after_it_counted: u64,
    checks: u64,
    real_verifies: u64,
    seconds: f32,
}

struct Loop<'a> {
    space: &'a Space,
    tasks: Vec<String>,
    book: Mutex<BTreeMap<GateId, Asked>>,
    /// How long a process takes that nobody kills, in microseconds.
    typical: AtomicU64,
    kills: AtomicU64,
    counted: AtomicU64,
    checks: AtomicU64,
    verifies: AtomicU64,
    began: Instant,
}

/// How a process that may be killed ended.
struct Ended {
    /// It was still running when the signal came.
    was_killed: bool,
    stdout: String,
}

impl<'a> Loop<'a> {
    fn new(space: &'a Space) -> Self {
        let tasks = (0..TASKS).map(|n| space.create(&[&format!("Task {n}")])).collect();
        Self {
            space,
            tasks,
            book: Mutex::default(),
            typical: AtomicU64::new(15_000),
            kills: AtomicU64::default(),
            counted: AtomicU64::default(),
            checks: AtomicU64::default(),
            verifies: AtomicU64::default(),
            began: Instant::now(),
        }
    }

    /// Two agents ask and two people answer, all the time; each is killed now and then.
    fn rolling(&self, kills: u64, seconds_max: u64) {
        std::thread::scope(|scope| {
            for salt in 0..4 {
                scope.spawn(move || {
                    let mut chance = Chance::new(salt);
                    while self.kills.load(Relaxed) < kills {
                        self.check_time(seconds_max);
                        let (child, what) = self.begin(salt, &mut chance);
                        let ended = self.maybe_kill(child, &mut chance);
                        let was_killed = ended.was_killed;
                        self.note(&what, &ended);
                        if was_killed {
                            self.check();
                        }
                    }
                });
            }
        });
    }

    /// Six processes at once, and then none: whoever comes next recovers the store alone.
    fn all_at_once(&self, kills: u64, seconds_max: u64) {
        let mut chance = Chance::new(99);
        while self.kills.load(Relaxed) < kills {
            self.check_time(seconds_max);
            let begun: Vec<_> = (0..6).map(|salt| self.begin(salt, &mut chance)).collect();
            std::thread::sleep(self.moment(&mut chance) * 2);
            let (mut children, whats): (Vec<_>, Vec<_>) = begun.into_iter().unzip();
            for child in &mut children {
                child.kill().unwrap();
            }
            for (child, what) in children.into_iter().zip(whats) {
                let ended = self.end(child);
                self.note(&what, &ended);
            }
            self.check();
        }
    }

    fn check_time(&self, seconds_max: u64) {
        assert!(self.began.elapsed().as_secs() < seconds_max, "{:?}", self.report());
    }

    /// Starts a process that asks (even salts) or answers (odd ones).
    fn begin(&self, salt: u64, chance: &mut Chance) -> (Child, Try) {
        let answering = (salt % 2 == 1).then(|| self.choose_answer(salt, chance)).flatten();
        match answering {
            Some(id) => (self.answer(id), Try::Answer(id)),
            None => {
                let id = self.choose_question(chance);
                (self.ask(id), Try::Ask(id))
            }
        }
    }

    /// A new question, or one whose asker was killed before it heard back.
    fn choose_question(&self, chance: &mut Chance) -> GateId {
        let mut book = self.book.lock().unwrap();
        if chance.below(3) == 0 {
            let unsure = book.iter().find(|(_, asked)| !asked.acknowledged);
            if let Some((id, _)) = unsure {
                return *id;
            }
        }
        let id = gate_id(chance);
        let text = format!("Question {id}: ship it?");
        let task = (chance.below(3) == 0).then(|| self.tasks[chance.below(TASKS) as usize].clone());
        book.insert(id, Asked { text, task, acknowledged: false, answer: None });
        id
    }

    /// A gate without an answer, or one whose answerer was killed before it heard back.
    fn choose_answer(&self, salt: u64, chance: &mut Chance) -> Option<GateId> {
        let mut book = self.book.lock().unwrap();
        let by = if salt % 4 == 1 { "ann" } else { "bob" };
        let unsure = |asked: &Asked| {
            let answer = asked.answer.as_ref();
            answer.is_some_and(|a| !a.acknowledged && !a.under_way && a.by == by)
        };
        if chance.below(3) == 0
            && let Some((id, asked)) = book.iter_mut().find(|(_, asked)| unsure(asked))
        {
            asked.answer.as_mut().unwrap().under_way = true;
            return Some(*id);
        }
        let free = |asked: &Asked| asked.acknowledged && asked.answer.is_none();
        let (id, asked) = book.iter_mut().find(|(_, asked)| free(asked))?;
        let text = format!("Answer {:016x}", chance.next());
        asked.answer = Some(Answered { text, by, acknowledged: false, under_way: true });
        Some(*id)
    }

    fn ask(&self, id: GateId) -> Child {
        let book = self.book.lock().unwrap();
        let asked = &book[&id];
        let id = id.to_string();
        let mut args = vec!["ask", &asked.text, "--id", &id];
        if let Some(task) = &asked.task {
            args.extend(["--task", task]);
        }
        self.start(Who::Agent("coder"), &args)
    }

    fn answer(&self, id: GateId) -> Child {
        let book = self.book.lock().unwrap();
        let answer = book[&id].answer.as_ref().unwrap();
        let verb = if answer.by == "ann" { "respond" } else { "answer" };
        self.start(Who::Human(answer.by), &[verb, &id.to_string(), &answer.text])
    }

    fn start(&self, who: Who<'_>, args: &[&str]) -> Child {
        let mut command = self.space.command(who, args);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    fn moment(&self, chance: &mut Chance) -> Duration {
        Duration::from_micros(chance.below(self.typical.load(Relaxed) * 5 / 4))
    }

    fn maybe_kill(&self, mut child: Child, chance: &mut Chance) -> Ended {
        let began = Instant::now();
        if chance.below(4) > 0 {
            std::thread::sleep(self.moment(chance));
            child.kill().unwrap();
            return self.end(child);
        }
        let ended = self.end(child);
        let took = began.elapsed().as_micros() as u64;
        self.typical.store((self.typical.load(Relaxed) * 3 + took) / 4, Relaxed);
        ended
    }

    /// Waits for the end. Only a process that a signal ended was killed while it ran.
    fn end(&self, child: Child) -> Ended {
        let output = child.wait_with_output().unwrap();
        let was_killed = output.status.signal() == Some(9);
        self.kills.fetch_add(u64::from(was_killed), Relaxed);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(was_killed || output.status.code() == Some(0), "{:?}: {stderr}", output.status);
        Ended { was_killed, stdout: String::from_utf8(output.stdout).unwrap() }
    }

    /// Writes down what the process acknowledged.
    fn note(&self, what: &Try, ended: &Ended) {
        let is_acknowledged = ended.stdout.ends_with('\n');
        assert!(is_acknowledged || ended.was_killed, "it ended well and said nothing");
        let mut book = self.book.lock().unwrap();
        match what {
            Try::Ask(id) => book.get_mut(id).unwrap().acknowledged |= is_acknowledged,
            Try::Answer(id) => {
                let answer = book.get_mut(id).unwrap().answer.as_mut().unwrap();
                answer.acknowledged |= is_acknowledged;
                answer.under_way = false;
            }
        }
        drop(book);
        if !is_acknowledged && self.has_counted(what) {
            self.counted.fetch_add(1, Relaxed);
        }
    }

    fn has_counted(&self, what: &Try) -> bool {
        match what {
            Try::Ask(id) => desk(self.space).gate(*id).is_ok(),
            Try::Answer(id) => desk(self.space).gate(*id).unwrap().answer().is_some(),
        }
    }

    /// Looks with fresh eyes: the audit holds, and whatever was acknowledged is there, unchanged.
    fn check(&self) {
        let known: Vec<_> = {
            let book = self.book.lock().unwrap();
            let known = book.iter().map(|(id, asked)| {
                let answer = asked.answer.as_ref();
                let answer = answer.map(|a| (a.text.clone(), a.by, a.acknowledged));
                (*id, asked.text.clone(), asked.acknowledged, answer)
            });
            known.collect()
        };
        let desk = desk(self.space);
        desk.verify_audit(&ann(), |_| {}).unwrap();
        for (id, text, is_acknowledged, answer) in known {
            if !is_acknowledged {
                continue;
            }
            let gate = desk.gate(id).unwrap_or_else(|e| panic!("lost gate {id}: {e}"));
            assert_eq!(gate.card.question, text);
            let Some((text, by, is_acknowledged)) = answer else { continue };
            match gate.answer() {
                Some((given, signed)) => {
                    assert_eq!(given.content, AnswerContent::Text(text));
                    assert_eq!(signed.name, by);
                }
                None => assert!(!is_acknowledged, "lost the answer to gate {id}"),
            }
        }
        let checks = self.checks.fetch_add(1, Relaxed) + 1;
        if self.kills.load(Relaxed) / KILLS_PER_REAL_VERIFY > self.verifies.load(Relaxed) {
            self.verifies.fetch_add(1, Relaxed);
            self.space.verify();
        }
        assert!(checks > 0);
    }

    /// Asks and answers again whatever is unsure, this time without kills. Each id then stands for
    /// exactly one gate with one answer, however often it was tried.
    fn settle(&self) {
        let book = self.book.lock().unwrap();
        let unsure = |asked: &&Asked| !asked.acknowledged;
        let asks: Vec<_> =
            book.iter().filter(|(_, a)| unsure(a)).map(|(id, _)| Try::Ask(*id)).collect();
        let open = |asked: &Asked| asked.answer.as_ref().is_some_and(|a| !a.acknowledged);
        let answers: Vec<_> =
            book.iter().filter(|(_, a)| open(a)).map(|(id, _)| Try::Answer(*id)).collect();
        drop(book);
        for what in asks.into_iter().chain(answers) {
            let child = match what {
                Try::Ask(id) => self.ask(id),
                Try::Answer(id) => self.answer(id),
            };
            let ended = self.end(child);
            self.note(&what, &ended);
        }
        self.check();
        self.space.verify();
        let report = desk(self.space).verify_audit(&ann(), |_| {}).unwrap();
        let book = self.book.lock().unwrap();
        let all = book.len() as u64 + TASKS + TOKENS;
        assert_eq!(report.views, all, "gates, tasks and tokens, none doubled");
        assert!(book.values().all(|asked| asked.acknowledged));
    }

    fn report(&self) -> Report {
        let book = self.book.lock().unwrap();
        let answers = book.values().filter_map(|asked| asked.answer.as_ref());
        let report = Report {
            kills: self.kills.load(Relaxed),
            gates_acknowledged: book.values().filter(|a| a.acknowledged).count() as u64,
            answers_acknowledged: answers.filter(|a| a.acknowledged).count() as u64,
            killed_after_it_counted: self.counted.load(Relaxed),
            checks: self.checks.load(Relaxed),
            real_verifies: self.verifies.load(Relaxed),
            seconds: self.began.elapsed().as_secs_f32(),
        };
        println!("{:?}: {report:?}", self.space.backend);
        report
    }
}

enum Try {
    Ask(GateId),
    Answer(GateId),
}

/// A store is made under another name and then gets its own: whoever is killed while making it
/// leaves none behind, or a whole one.
#[test]
fn making_a_space_can_be_killed_at_any_moment() {
    let mut chance = Chance::new(5);
    let mut kills = 0;
    let mut halves = 0;
    for round in 0..200 {
        let space = Space::empty();
        let mut init = space.command(Who::Script, &["init"]);
        let mut child = init.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_micros(chance.below(25_000)));
        child.kill().unwrap();
        kills += u64::from(child.wait().unwrap().signal() == Some(9));
        halves += u64::from(space.path().join(".sayso").exists() && !space.file().exists());
        space.run(Who::Script, &["init"]).ok();
        space.run(Who::Script, &["ask", "Still there?"]).ok();
        let desk = Desk::open(place(&space), &name(&space), RuntimeEnv::real()).unwrap();
        assert_eq!(desk.verify_audit(&ann(), |_| {}).unwrap().entries, 2, "round {round}");
        if kills >= 40 && halves >= 3 {
            break;
        }
    }
    println!("{kills} kills of init, {halves} with the folder and without a database");
    assert!(kills >= 40, "{kills}");
}

/// A process that was stopped in its tracks holds the write lock: others wait, and say so in time
/// instead of hanging for ever; when it goes on, nothing is lost.
#[test]
fn a_writer_that_stands_still_holds_nobody_up_for_ever() {
    let space = Space::new(Backend::Sqlite);
    let lock = rusqlite::Connection::open(space.file()).unwrap();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    let began = Instant::now();
    let refused = space.run(Who::Agent("coder"), &["ask", "Anyone?"]).exits(1).refused("SAY026");
    assert!(refused.stdout.is_empty(), "nothing is acknowledged");
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
    println!("a busy store was reported after {:?}", began.elapsed());
    // Reading is not held up.
    space.run(Who::Human("ann"), &["list"]).ok();
    lock.execute_batch("ROLLBACK").unwrap();
    space.run(Who::Agent("coder"), &["ask", "Anyone?"]).ok();
    space.verify();
}

/// The program is found where cargo put it; a wrong path would make every kill above a no-op.
#[test]
fn the_program_under_test_is_the_real_one() {
    let output = Command::new(SAYSO).arg("--version").output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("sayso "));
}
