//! Real clients as agents of a real worker, against a scripted model. `cargo xtask clients` installs
//! them and says where they are; without it these tests are not run.
//!
//! A client gets a home of its own, so that no login or setting of this machine is used, and the
//! scripted model as its provider and as its proxy, so that nothing of it leaves this machine.

mod asked;
mod client;
mod conformance;
mod deferred;
mod dialogs;
mod heard;
mod hooked;
mod killed;
mod limits;
mod model;
mod nudged;
mod turns;

use crate::harness::{Backend, Ran, Space, Who};
use crate::worker::Project;
use crate::worker::budgets::until_in;
use client::Client;
use model::Model;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A repository in which a real client works.
struct Stage<'a> {
    space: &'a Space,
    project: Project<'a>,
    client: Client,
    model: Model,
}

impl<'a> Stage<'a> {
    fn new(space: &'a Space, client: Client) -> Self {
        let project = Project::new(space, "", "");
        let model = Model::start(space.path().join("xdg/model"));
        let stage = Self { space, project, client, model };
        client.settle_in(&stage.home(), &stage.model.url);
        stage.settings();
        stage
    }

    /// The client's home, in a folder that git does not look at.
    fn home(&self) -> PathBuf {
        self.space.path().join("xdg/home")
    }

    /// Replaces the settings of scripted agents.
    fn settings(&self) {
        let path = self.space.path().join(".sayso/config.yaml");
        let text = std::fs::read_to_string(&path).unwrap();
        let head: String =
            text.split_inclusive('\n').take_while(|l| !l.starts_with("work:")).collect();
        let name = self.client.name();
        let agent = json!({"program": self.client.program(), "model": self.client.model()});
        let agents = json!({name: agent});
        let text =
            format!("{head}work: {{agent: {name}, turn: 2m, retry: 1s}}\nagents: {agents}\n");
        std::fs::write(path, text).unwrap();
        self.space.trust();
    }

    /// Makes a task and writes what the model does for it: scenes, with `{tree}` for its worktree.
    fn task(&self, args: &[&str], scenes: &Value) -> String {
        let task = self.space.create(args);
        let tree = self.project.tree(&task).display().to_string();
        self.model.plays(&scenes.to_string().replace("{tree}", &tree));
        task
    }

    /// The worker, ready to be started; its client finds nothing of this machine's user.
    fn worker(&self, args: &[&str]) -> Command {
        let args: Vec<_> = ["work"].iter().chain(args).copied().collect();
        self.at_home(self.space.command(Who::Script, &args))
    }

    /// A command that finds the client and its home.
    fn at_home(&self, mut command: Command) -> Command {
        command.env("HOME", self.home()).env("PATH", client::path());
        command.envs(self.client.variables(&self.home(), &self.model.url));
        for proxy in ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"] {
            command.env(proxy, &self.model.url);
        }
        command.env("NO_PROXY", "127.0.0.1").env("no_proxy", "127.0.0.1");
        command
    }

    /// Lets the worker work until nothing is ready.
    fn work(&self) -> Ran {
        self.space.finish(&mut self.worker(&[]))
    }

    /// Lets the worker work in the background.
    fn start(&self, args: &[&str]) -> Working {
        let mut command = self.worker(args);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Working(command.spawn().unwrap())
    }

    /// What a task's branch holds of a file.
    fn committed(&self, task: &str, file: &str) -> String {
        let branch = self.project.branch(task);
        self.project.git(&["show", &format!("{branch}:{file}")])
    }

    /// How the one question of a task reached the agent.
    fn delivery(&self, task: &str) -> Value {
        let shown = self.space.show(task);
        assert_eq!(shown["questions"].as_array().unwrap().len(), 1, "{shown}");
        shown["questions"][0]["delivery"]["state"].clone()
    }

    /// Asserts what holds at the end of every story.
    fn ends(&self, task: &str) {
        assert_eq!(self.space.state(task), "closed");
        self.space.verify();
    }
}

/// Waits until there is something. Some clients take their time to start.
fn until<T>(look: impl FnMut() -> Option<T>) -> T {
    until_in(Duration::from_secs(180), look)
}

/// A worker in the background, which ends with its agents when the test does.
struct Working(Child);

impl Working {
    /// Waits until it has ended by itself.
    #[track_caller]
    fn ends(mut self) {
        let status = until(|| self.0.try_wait().unwrap());
        assert!(status.success(), "{status}");
    }

    /// Kills it, and nothing else.
    fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        if let Ok(None) = self.0.try_wait() {
            let _ = Command::new("kill").arg(self.0.id().to_string()).status();
            let _ = self.0.wait();
        }
    }
}

/// Tests of each client, ignored unless asked for; the stories are told in the modules.
macro_rules! of_each_client {
    ($($module:ident: $client:ident { $($test:ident: $story:path $(= $backend:ident)?),* $(,)? })*) => {$(
        mod $module {
            use super::*;

            $(
                #[test]
                #[ignore = "needs real clients: cargo xtask clients"]
                fn $test() {
                    let backend = [$(Backend::$backend,)? Backend::Sqlite][0];
                    let space = Space::new(backend);
                    $story(&Stage::new(&space, Client::$client));
                }
            )*
        }
    )*};
}

of_each_client! {
    claude_code: ClaudeCode {
        an_answer_resumes_it: turns::answered,
        it_asks_through_mcp: asked::answered,
        an_answer_resumes_it_on_postgres: turns::answered = Postgres,
        it_hears_why_it_was_rejected: turns::rejected,
        it_asks_while_it_works: turns::asks_while_it_works,
        it_asks_while_it_works_on_postgres: turns::asks_while_it_works = Postgres,
        killed_at_work_it_goes_on: killed::at_work,
        killed_while_it_waits_it_goes_on: killed::while_it_waits,
        a_limit_is_waited_for: limits::of_claude_code,
        its_hooks_are_ruled_on: hooked::ruled_on,
        its_calls_are_held_at_work: hooked::held_at_work,
        work_past_its_hook_is_found: hooked::found_past_its_hook,
        its_check_tells_whether_hooks_are_run: hooked::checked,
        its_check_holds_for_a_project: hooked::checked_in_a_project,
        its_hooks_are_ruled_on_by_postgres: hooked::ruled_on = Postgres,
        the_first_answer_to_its_prompt_counts: dialogs::the_first_answer_counts,
        it_is_resumed_at_its_call: deferred::resumed_at_its_call,
        it_is_resumed_at_its_call_on_postgres: deferred::resumed_at_its_call = Postgres,
        it_hears_why_its_call_was_rejected: deferred::rejected_at_its_call,
        no_nudge_answers_its_menu: nudged::at_its_menu,
        no_nudge_answers_its_menu_on_postgres: nudged::at_its_menu = Postgres,
        no_nudge_answers_its_open_gate: nudged::with_an_open_gate,
    }
    codex: Codex {
        an_answer_resumes_it: turns::answered,
        it_asks_through_mcp: asked::answered,
        it_hears_why_it_was_rejected: turns::rejected,
        it_asks_while_it_works: turns::asks_while_it_works,
        it_cannot_ask_a_server_while_it_works: turns::cannot_ask_a_server = Postgres,
        killed_at_work_it_goes_on: killed::at_work,
        killed_while_it_waits_it_goes_on: killed::while_it_waits,
        no_nudge_answers_its_menu: nudged::at_its_menu,
        a_limit_is_waited_for: limits::of_codex,
        its_check_sees_what_it_does_not_trust: hooked::untrusted,
        its_hooks_are_ruled_on: hooked::ruled_on,
        its_calls_are_held_at_work: hooked::held_at_work,
        work_past_its_hook_is_found: hooked::found_past_its_hook,
        its_check_tells_whether_hooks_are_run: hooked::checked,
        its_check_holds_for_a_project: hooked::checked_in_a_project,
    }
    gemini: Gemini {
        an_answer_resumes_it: turns::answered,
        it_asks_through_mcp: asked::answered,
        it_hears_why_it_was_rejected: turns::rejected,
        it_asks_while_it_works: turns::asks_while_it_works,
        killed_at_work_it_goes_on: killed::at_work,
        killed_while_it_waits_it_goes_on: killed::while_it_waits,
        its_hooks_are_ruled_on: hooked::ruled_on,
        its_calls_are_held_at_work: hooked::held_at_work,
        work_past_its_hook_is_found: hooked::found_past_its_hook,
        its_check_tells_whether_hooks_are_run: hooked::checked,
        its_check_holds_for_a_project: hooked::checked_in_a_project,
        it_hears_what_was_written_to_it: heard::before_and_after,
        no_nudge_answers_its_menu: nudged::at_its_menu,
    }
    opencode: Opencode {
        an_answer_resumes_it: turns::answered,
        it_asks_through_mcp: asked::answered,
        it_hears_why_it_was_rejected: turns::rejected,
        it_asks_while_it_works: turns::asks_while_it_works,
        killed_at_work_it_goes_on: killed::at_work,
        killed_while_it_waits_it_goes_on: killed::while_it_waits,
        its_hooks_are_ruled_on: hooked::ruled_on,
        its_calls_are_held_at_work: hooked::held_at_work,
        work_past_its_hook_is_found: hooked::found_past_its_hook,
        its_check_tells_whether_hooks_are_run: hooked::checked,
        its_check_holds_for_a_project: hooked::checked_in_a_project,
        no_nudge_answers_its_menu: nudged::at_its_menu,
    }
}
