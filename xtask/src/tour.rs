//! `cargo xtask tour`: the main job in a folder that goes away. An agent asks and waits, a person
//! answers, the agent goes on; then a task that needs a sign-off. Everything is the real program,
//! and anything that goes otherwise than told ends the tour with an error.

use std::env;
use std::io::{IsTerminal, Write};
use std::thread;
use std::time::Duration;

use crate::stage::{self, Ran, Running, Stage};
use crate::stop::{Outcome, Stop, no_words};
use crate::test::detach;

/// The verb's name, which a detached process is started with again.
pub(crate) const TOUR: &str = "tour";

/// Who asks, and the file with its token.
const AGENT: &str = "fixer";
const TOKEN: &str = "fixer.token";
/// Time to read, where somebody reads.
const PAUSE: Duration = Duration::from_millis(400);

const HELLO: &str = "\
sayso in a minute, in a folder that goes away. Two take part: you, at a terminal that `script`
makes, because sayso takes no verdict without a person at one; and fixer, an agent with a token.";
const BYE: &str = "
That was it; nothing is left behind. Your own space:
  cargo install --path crates/sayso
  cd your-project && sayso init
More: docs/guide/getting-started.md";

pub(crate) fn run(words: &[String]) -> Outcome {
    no_words(TOUR, words)?;
    detach::unless_alone(TOUR, words)
}

/// Plays the tour in this process's own surroundings.
pub(crate) fn here(_: &[String]) -> Outcome {
    let program = stage::build()?;
    let is_watched = std::io::stdout().is_terminal();
    let colour = is_watched && env::var_os("NO_COLOR").is_none();
    let tour = Tour { stage: Stage::new(&program, colour)?, is_watched, colour };
    tour.say(HELLO);
    tour.a_space()?;
    tour.a_question()?;
    tour.a_sign_off()?;
    tour.the_record()?;
    tour.say(BYE);
    Ok(())
}

struct Tour {
    stage: Stage,
    is_watched: bool,
    colour: bool,
}

impl Tour {
    fn a_space(&self) -> Outcome {
        self.scene("A space is a folder: no daemon, no account, no network.");
        self.you("sayso init", "space shop made")?;
        self.say("\nAgents are told from people by their token. Only a person can make one.");
        let mint = format!("sayso token create --role agent --name {AGENT} --out {TOKEN}");
        self.you(&mint, "token ").map(drop)
    }

    fn a_question(&self) -> Outcome {
        self.scene("The agent asks, and waits as long as it takes.");
        let ask = "sayso ask \"Which database for the tests?\" --option \"SQLite=nothing to install\" \
                   --option PostgreSQL --context \"Both pass today.\" --wait";
        let waiting = self.agent_waits(ask)?;
        let gate = handle(&waiting.first_line(), 'g')?;

        self.scene("You see what waits for you, look closer, and answer.");
        self.you("sayso inbox", "Which database for the tests?")?;
        self.you(&format!("sayso show {gate}"), "The agent says")?;

        self.say(
            "\nThe agent could try to answer itself. It is refused, and that is written down.",
        );
        self.agent(&format!("sayso choose {gate} SQLite"), 5, "SAY010")?;

        self.say("\nYour word counts, and reaches the process that waits.");
        self.you(&format!("sayso choose {gate} SQLite"), "answered \"SQLite\"")?;
        let ran = waiting.end()?;
        let answer = ran.text.split_once('\n').map_or("", |(_, rest)| rest).to_owned();
        self.show(&format!("{AGENT} <"), &answer);
        expect(ask, &ran, 0, "SQLite\n")?;
        self.say(&format!("\n{AGENT} goes on with SQLite."));
        self.you(&format!("sayso show {gate}"), "the asker went on").map(drop)
    }

    fn a_sign_off(&self) -> Outcome {
        self.scene("A task can require a sign-off. No agent can close it alone.");
        let create = "sayso create \"Migrate the users table\" --requires approval";
        let task = handle(&self.you(create, "t")?, 't')?;
        let complete = format!("sayso close {task} \"All rows are copied.\"");
        self.agent(&complete, 0, "requires approval first")?;
        self.you(&format!("sayso reject {task} \"The e-mail column is empty.\""), "rejected")?;

        self.say("\nThe task is the agent's again, and it finds your words.");
        self.agent(&format!("sayso notes {task}"), 0, "The e-mail column is empty.")?;
        let again = format!("sayso close {task} \"The e-mail column is filled.\"");
        self.agent(&again, 0, "requires approval first")?;
        self.you(&format!("sayso approve {task}"), &format!("task {task} is closed")).map(drop)
    }

    fn the_record(&self) -> Outcome {
        self.scene(
            "Everything is in the audit, refusals too; each entry holds the hash of the last.",
        );
        self.you("sayso audit list", "SAY010")?;
        self.you("sayso audit verify", "entries hold").map(drop)
    }

    fn scene(&self, title: &str) {
        let (bold, plain) = if self.colour { ("\x1b[1m", "\x1b[0m") } else { ("", "") };
        self.say(&format!("\n{bold}{title}{plain}"));
    }

    fn say(&self, text: &str) {
        println!("{text}");
        self.rest();
    }

    /// A person types a line at their terminal. Returns what it printed.
    fn you(&self, line: &str, holds: &str) -> Outcome<String> {
        self.show("you $", line);
        let ran = self.stage.at_terminal(line)?;
        self.show("", &ran.text);
        self.rest();
        expect(line, &ran, 0, holds)?;
        Ok(ran.text)
    }

    /// The agent runs a line, with its token and without a terminal.
    fn agent(&self, line: &str, code: i32, holds: &str) -> Outcome {
        self.show(&format!("{AGENT} $"), line);
        let ran = self.stage.without_terminal(Some(TOKEN), line)?;
        self.show("", &ran.text);
        self.rest();
        expect(line, &ran, code, holds)
    }

    /// The agent starts a line that waits for a person.
    fn agent_waits(&self, line: &str) -> Outcome<Running> {
        self.show(&format!("{AGENT} $"), line);
        let running = self.stage.start(Some(TOKEN), line)?;
        self.show("", &running.first_line());
        self.rest();
        Ok(running)
    }

    /// Shows a text with who it is from in the margin.
    fn show(&self, who: &str, text: &str) {
        let margin = format!("{who:>7} ");
        let blank = " ".repeat(margin.len());
        for (at, line) in text.trim_end().lines().enumerate() {
            println!("{}", format!("{}{line}", if at == 0 { &margin } else { &blank }).trim_end());
        }
        // Whoever reads along sees it before the next command runs.
        let _ = std::io::stdout().flush();
    }

    fn rest(&self) {
        if self.is_watched {
            thread::sleep(PAUSE);
        }
    }
}

/// The first handle with this letter in a text.
fn handle(text: &str, letter: char) -> Outcome<String> {
    let is_handle = |word: &&str| {
        word.starts_with(letter)
            && word.len() >= 5
            && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
    };
    let text = plain(text);
    let found = text.split(|c: char| !c.is_ascii_alphanumeric()).find(is_handle);
    found.map(Into::into).ok_or_else(|| format!("there is no handle in {text:?}").into())
}

/// Whether a line did what the tour says of it.
fn expect(line: &str, ran: &Ran, code: i32, holds: &str) -> Outcome {
    let text = plain(&ran.text);
    if ran.code == code && text.contains(holds) {
        return Ok(());
    }
    let what = format!("`{line}` ended with {} and should with {code}, saying {holds:?}", ran.code);
    Err(Stop::from(format!("the tour went astray: {what}\n{text}")))
}

/// A text without its colours.
fn plain(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |all, part| all + part.split_once('m').map_or(part, |(_, rest)| rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_are_found_behind_colours_and_other_words() {
        assert_eq!(handle("gate \x1b[36mg7k2m\x1b[0m waits", 'g').unwrap(), "g7k2m");
        assert_eq!(handle("t9qx3\nmore", 't').unwrap(), "t9qx3");
        assert!(handle("gate waits", 'g').is_err());
    }

    #[test]
    fn a_wrong_code_or_a_missing_word_ends_the_tour() {
        let ran = Ran { code: 0, text: "space \x1b[36mshop\x1b[0m made".into() };
        assert!(expect("sayso init", &ran, 0, "shop made").is_ok());
        assert!(expect("sayso init", &ran, 5, "shop made").is_err());
        assert!(expect("sayso init", &ran, 0, "sold").is_err());
    }
}
