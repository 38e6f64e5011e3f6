//! Looking at agents, and typing to them.

use super::{Fleet, until};
use crate::governed::times;
use crate::harness::{Ran, Who, on_both};
use std::io::Write;
use std::time::Duration;

const ECHOES: &str = r#"program: sh, args: [-c, "printf 'red \\033[31mhot\\033[0m\\n'; echo $$ > echo.starts; while read line; do echo heard $line; done"]"#;

on_both! {
    fn what_agents_wrote_can_be_read(space: &Space) {
        let fleet = Fleet::new(space, &[("echo", &format!("{ECHOES}, backend: tmux")), ("mute", r#"program: sh, args: [-c, "seq 100; echo $$ > mute.starts; exec sleep 600"]"#)]);
        space.ann(&["agent", "logs", "mute"]).refused("SAY001").refused("has not run");
        space.ann(&["agent", "spawn", "echo"]).ok();
        space.ann(&["agent", "spawn", "mute"]).ok();
        fleet.started("echo", 1);
        fleet.started("mute", 1);
        until("the log is written", || space.ann(&["agent", "logs", "mute", "-n", "2"]).stdout == "99\n100\n");
        space.ann(&["agent", "nudge", "echo", "are", "you", "there?"]).ok();
        until("it has heard it", || space.ann(&["agent", "logs", "echo", "--screen"]).stdout.contains("heard are you there?"));
        space.ann(&["agent", "logs", "echo"]).says("red hot").never_says("\u{1b}").ok();
        assert_eq!(times(space, "agent.nudged"), 1);
        for args in [vec!["agent", "nudge", "mute", "hello"], vec!["agent", "attach", "mute"], vec!["agent", "logs", "mute", "--screen"]] {
            space.ann(&args).refused("SAY018").refused("without a screen").exits(6);
        }
        space.ann(&["agent", "list"]).says("session echo").says("process ").ok();
        let row = fleet.row("mute");
        assert_eq!(row["running"]["pid"], fleet.alive("mute")[0]);
        assert_eq!(fleet.row("echo")["running"]["session"], "echo");
        // What it wrote is there when it is gone.
        space.ann(&["agent", "stop", "mute"]).ok();
        space.ann(&["agent", "logs", "mute", "-n", "1"]).says("100").ok();
        space.verify();
    }
}

on_both! {
    /// A person looks at the session, and lets go of it; the agent runs on.
    fn a_person_attaches(space: &Space) {
        let fleet = Fleet::new(space, &[("echo", &format!("{ECHOES}, backend: tmux"))]);
        space.ann(&["agent", "spawn", "echo"]).ok();
        let pid = fleet.started("echo", 1)[0];
        let mut terminal = space.start(Who::Terminal, &["agent", "attach", "echo"]);
        let mut keys = terminal.stdin.take().unwrap();
        std::thread::sleep(Duration::from_millis(1_000));
        keys.write_all(b"hello\r").unwrap();
        keys.flush().unwrap();
        until("it has heard it", || space.ann(&["agent", "logs", "echo", "--screen"]).stdout.contains("heard hello"));
        keys.write_all(b"\x02d").unwrap();
        keys.flush().unwrap();
        Ran::of(&terminal.wait_with_output().unwrap()).says("detached").exits(0);
        assert_eq!(fleet.alive("echo"), [pid]);
    }
}
