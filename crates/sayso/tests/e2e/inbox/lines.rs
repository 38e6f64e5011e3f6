//! Where there is no screen to fill, and for those who want none, `sayso inbox` prints lines.

use crate::harness::{Who, in_places};
use std::process::Stdio;

in_places! {
    [sqlite: Sqlite]
    fn lines_where_lines_are_wanted(space: &Space) {
        let gate = space.ask("coder", &["Deploy?", "--verdict"]);
        space.ann(&["inbox"]).says(&gate).ok();
        for args in [&["inbox", "--plain"][..], &["inbox", "--json"], &["inbox", "-n", "5"], &["inbox", "--no-input"]] {
            space.run(Who::Terminal, args).says(&gate).never_says("\u{1b}").ok();
        }
        space.run(Who::Terminal, &["inbox", "--done"]).says("nothing has been answered yet").ok();
        let with = |name: &str, value: &str| {
            let mut command = space.command(Who::Terminal, &["inbox"]);
            space.finish(command.env(name, value).stdin(Stdio::null()))
        };
        with("TERM", "dumb").says(&gate).says("❓").never_says("\u{1b}").ok();
        with("LANG", "C").says(&gate).says("[?]").never_says("\u{1b}").ok();
        // For a screen reader: no symbols either, in every command.
        with("SAYSO_SCREEN_READER", "1").says(&gate).says("[?]").never_says("\u{1b}").ok();
        let own = space.path().join("xdg/sayso");
        std::fs::create_dir_all(&own).unwrap();
        std::fs::write(own.join("config.yaml"), "screen_reader: true\n").unwrap();
        space.run(Who::Terminal, &["inbox"]).says(&gate).says("[?]").never_says("\u{1b}").ok();
        space.run(Who::Terminal, &[]).says("One thing waits for you").says("[?]").never_says("❓").ok();
    }
}
