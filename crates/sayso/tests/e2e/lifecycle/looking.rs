//! Looking at agents, and typing to them.

use super::{Fleet, until};
use crate::governed::times;
use crate::harness::{Ran, Who, everywhere, shows};
use std::io::Write;

const ECHOES: &str = r#"program: sh, args: [-c, "printf 'red \\033[31mhot\\033[0m\\n'; echo $SAYSO_TOKEN > echo.secret; echo $$ > echo.starts; while read line; do echo heard $line; done"]"#;

everywhere! {
    fn what_agents_wrote_can_be_read(space: &Space) {
        let fleet = Fleet::new(space, &[("echo", &format!("{ECHOES}, backend: tmux, nudge: {{prompt: ''}}")), ("mute", r#"program: sh, args: [-c, "seq 100; echo $$ > mute.starts; exec sleep 600"]"#)]);
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

everywhere! {
    /// A person looks at the session, and lets go of it; the agent runs on.
    fn a_person_attaches(space: &Space) {
        let fleet = Fleet::new(space, &[("echo", &format!("{ECHOES}, backend: tmux, nudge: {{prompt: ''}}"))]);
        space.ann(&["agent", "spawn", "echo"]).ok();
        let pid = fleet.started("echo", 1)[0];
        let mut terminal = space.start(Who::Terminal, &["agent", "attach", "echo"]);
        let mut keys = terminal.stdin.take().unwrap();
        // What the agent wrote is on the screen: now keys are for it.
        shows(&mut terminal, "hot");
        keys.write_all(b"hello\r").unwrap();
        keys.flush().unwrap();
        until("it has heard it", || space.ann(&["agent", "logs", "echo", "--screen"]).stdout.contains("heard hello"));
        keys.write_all(b"\x02d").unwrap();
        keys.flush().unwrap();
        Ran::of(&terminal.wait_with_output().unwrap()).says("detached").exits(0);
        assert_eq!(fleet.alive("echo"), [pid]);
    }
}

everywhere! {
    /// Whoever lives in a terminal is told that there is something to hear, once for each, and never what:
    /// that stays where it is until it is read. A nudge that did not get through is left for the next.
    fn agents_in_a_terminal_are_nudged(space: &Space) {
        let fleet = Fleet::new(space, &[("echo", &format!("{ECHOES}, backend: tmux, nudge: {{prompt: ''}}")), ("mute", "")]);
        space.ann(&["agent", "spawn", "echo"]).ok();
        space.ann(&["agent", "spawn", "mute"]).ok();
        fleet.started("echo", 1);
        fleet.started("mute", 1);
        let heard = || {
            let screen = space.ann(&["agent", "logs", "echo", "--screen"]).stdout;
            assert!(!screen.contains("secret"), "only a fixed line is typed: {screen}");
            screen.matches("heard sayso has news for you").count()
        };
        let hears = |times: usize| {
            until("it was nudged", || heard() >= times);
            space.ann(&["agent", "list"]).ok();
            assert_eq!(heard(), times);
        };
        space.ann(&["tell", "echo", "a secret; rm -rf /"]).ok();
        space.ann(&["tell", "mute", "a secret"]).ok();
        hears(1);
        // An answer, too; what it takes back itself is no news.
        let secret = std::fs::read_to_string(space.path().join("echo.secret")).unwrap();
        let own = [("SAYSO_TOKEN", secret.trim())];
        let ask = |text: &str| space.run(Who::With(&own), &["ask", text]).ok().trim().to_owned();
        let gate = ask("Which port?");
        space.ann(&["respond", &gate, "secret 8443"]).ok();
        hears(2);
        let gate = ask("Which host?");
        space.run(Who::With(&own), &["withdraw", &gate, "never mind"]).ok();
        hears(2);
        // Who is on another machine writes it down, and somebody here types it.
        let elsewhere = space.path().join(".sayso/config.yaml");
        let here = std::fs::read_to_string(&elsewhere).unwrap();
        assert!(here.contains("host: \"\""), "{here}");
        std::fs::write(&elsewhere, here.replace("host: \"\"", "host: elsewhere")).unwrap();
        space.ann(&["tell", "echo", "another secret"]).ok();
        std::fs::write(&elsewhere, here).unwrap();
        hears(3);
        space.verify();
    }
}
