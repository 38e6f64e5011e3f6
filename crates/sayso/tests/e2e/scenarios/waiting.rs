//! Waiting is a row: whoever waits may give up, die and come back, and the answer is still there.

use crate::harness::{Ran, Space, Who, everywhere};
use std::process::Child;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Longer than a wake-up takes, shorter than anybody would poll.
const AT_ONCE: Duration = Duration::from_secs(3);

/// Waits until a process that was started has asked, and returns the gate's handle.
fn asked(space: &Space) -> String {
    let began = Instant::now();
    loop {
        let inbox = space.ann(&["inbox", "--json"]).json();
        if let Some(handle) = inbox["items"][0]["handle"].as_str() {
            return handle.to_owned();
        }
        assert!(began.elapsed() < Duration::from_secs(20), "nobody asked");
        sleep(Duration::from_millis(20));
    }
}

fn ended(child: Child) -> Ran {
    Ran::of(&child.wait_with_output().unwrap())
}

everywhere! {
    fn a_wait_that_runs_out_leaves_the_question_open(space: &Space) {
        let ran = space.coder(&["ask", "Which port?", "--timeout", "200ms"]);
        let ran = ran.exits(7).refused("SAY014");
        assert_eq!(ran.stdout, "");
        let gate = asked(space);
        assert!(ran.stderr.contains(&format!("sayso wait {gate}")), "{}", ran.stderr);
        assert_eq!(space.show(&gate)["state"], "open");
        space.coder(&["wait", &gate, "--timeout", "0"]).exits(7).refused("SAY014");
        // The late answer lands and is delivered.
        space.ann(&["respond", &gate, "8080"]).ok();
        assert_eq!(space.show(&gate)["delivery"]["state"], "pending");
        assert_eq!(space.coder(&["wait", &gate, "--timeout", "0"]).ok(), "8080");
        assert_eq!(space.show(&gate)["delivery"]["state"], "acknowledged");
        assert_eq!(space.coder(&["wait", &gate]).ok(), "8080", "whoever asks again is told again");
    }
}

everywhere! {
    /// Only the answer is on stdout, and it comes at once.
    fn an_answer_wakes_the_one_who_asked(space: &Space) {
        let child = space.start(Who::Agent("coder"), &["ask", "Which port?", "--wait"]);
        let gate = asked(space);
        sleep(Duration::from_millis(300));
        space.ann(&["respond", &gate, "8080\nand 8081"]).ok();
        let answered = Instant::now();
        let ran = ended(child).exits(0);
        assert!(answered.elapsed() < AT_ONCE, "it took {:?}", answered.elapsed());
        assert_eq!(ran.stdout, "8080\nand 8081\n");
        assert!(ran.stderr.contains("answered by ann"), "{}", ran.stderr);
        let shown = space.show(&gate);
        assert_eq!(shown["delivery"]["state"], "acknowledged");
        let text = space.ann(&["show", &gate]).ok();
        assert!(text.contains("delivered, and the asker went on"), "{text}");
    }
}

everywhere! {
    /// Each ending has its own exit code.
    fn endings_are_told_apart(space: &Space) {
        let rejected = space.ask("coder", &["May I?", "--verdict"]);
        space.ann(&["reject", &rejected, "not on a Friday"]).ok();
        let ran = space.coder(&["wait", &rejected]).exits(8).says("rejected by ann");
        assert_eq!(ran.stdout, "not on a Friday\n");
        let withdrawn = space.ask("coder", &["May I?", "--verdict"]);
        space.coder(&["withdraw", &withdrawn, "found", "it", "myself"]).ok();
        let ran = space.coder(&["wait", &withdrawn]).exits(11).says("found it myself");
        assert_eq!(ran.stdout, "", "no answer is never an empty answer");
        let approved = space.ask("coder", &["May I?", "--verdict"]);
        space.ann(&["approve", &approved]).ok();
        assert_eq!(space.coder(&["wait", &approved]).ok(), "approved");
        let gate = space.coder(&["wait", &rejected, "--json"]).exits(8);
        let gate: serde_json::Value = serde_json::from_str(&gate.stdout).unwrap();
        assert_eq!(gate["answer"]["reason"], "not on a Friday");
    }
}

everywhere! {
    /// The waiter is killed, the answer is given, and the next one to wait gets it.
    fn a_killed_waiter_waits_again(space: &Space) {
        let mut child = space.start(Who::Agent("coder"), &["ask", "Which port?", "--wait"]);
        let gate = asked(space);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(space.show(&gate)["state"], "open");
        let again = space.start(Who::Agent("coder"), &["wait", &gate]);
        space.ann(&["respond", &gate, "8080"]).ok();
        assert_eq!(ended(again).ok(), "8080");
        let inbox = space.ann(&["inbox", "--json"]).json();
        assert_eq!(inbox["items"].as_array().unwrap().len(), 0, "it was asked once");
    }
}

everywhere! {
    /// A task stands for the gate it waits for, and later for the one it waited for last.
    fn waiting_for_a_task(space: &Space) {
        let task = space.create(&["Build it"]);
        space.coder(&["wait", &task]).exits(6).refused("SAY003");
        space.coder(&["update", &task, "--awaiting", "approval", "--question", "Is it good?"]).ok();
        let child = space.start(Who::Agent("coder"), &["wait", &task]);
        space.ann(&["reject", &task, "softer"]).ok();
        assert_eq!(ended(child).exits(8).stdout, "softer\n");
        space.coder(&["wait", &task]).exits(8);
    }
}

everywhere! {
    /// Whoever looks on does not take the answer away from the one who asked.
    fn somebody_else_waits(space: &Space) {
        let gate = space.ask("coder", &["Which port?"]);
        space.ann(&["respond", &gate, "8080"]).ok();
        assert_eq!(space.run(Who::Script, &["wait", &gate]).ok(), "8080");
        assert_eq!(space.show(&gate)["delivery"]["state"], "pending");
        space.run(Who::Agent("tester"), &["wait", &gate]).exits(3).refused("SAY001");
        assert_eq!(space.coder(&["wait", &gate]).ok(), "8080");
        assert_eq!(space.show(&gate)["delivery"]["state"], "acknowledged");
    }
}

everywhere! {
    /// Who could not hear an answer has not gone on with it: it is handed over again.
    fn an_answer_that_could_not_be_printed_is_not_acknowledged(space: &Space) {
        let gate = space.ask("coder", &["Which port?"]);
        space.ann(&["respond", &gate, "8080"]).ok();
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut wait = space.command(Who::Agent("coder"), &["wait", &gate]);
        let ended = wait.stdout(full).stderr(std::process::Stdio::piped()).output().unwrap();
        assert_eq!(ended.status.code(), Some(1));
        assert!(String::from_utf8_lossy(&ended.stderr).contains("could not be written"));
        assert_eq!(space.show(&gate)["delivery"]["state"], "delivered");
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut wait = space.command(Who::Agent("coder"), &["wait", &gate]);
        assert_eq!(wait.stdout(writer).output().unwrap().status.code(), Some(1), "nobody reads it");
        assert_eq!(space.show(&gate)["delivery"]["state"], "delivered");
        assert_eq!(space.coder(&["wait", &gate]).ok(), "8080");
        assert_eq!(space.show(&gate)["delivery"]["state"], "acknowledged");
    }
}

/// Lists and exports may be read in part; what is lost on a full disk is told.
#[test]
fn a_reader_may_go_away_and_a_disk_may_not_be_full() {
    let space = Space::new(crate::harness::Backend::Sqlite);
    space.ask("coder", &["Which port?"]);
    for args in [&["inbox", "--json"][..], &["audit", "export"], &["man"], &["completions", "bash"]]
    {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let ended = space.command(Who::Human("ann"), args).stdout(writer).output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert_eq!((ended.status.code(), said.as_str()), (Some(0), ""), "{args:?}");
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let ended = space.command(Who::Human("ann"), args).stdout(full).output().unwrap();
        assert_eq!(ended.status.code(), Some(1), "{args:?}");
    }
}
