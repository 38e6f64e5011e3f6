//! Generates the reference pages from the program's own definitions.

mod http;

use crate::cli::Cli;
use crate::commands;
use crate::context::CliContext;
use crate::exit::Result;
use clap::CommandFactory;
use sayso_core::{Code, CommandExit};
use sayso_server::wire;
use schemars::schema_for;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Write the reference pages.
#[derive(clap::Args)]
pub(crate) struct GenerateArgs {
    /// The folder to write into.
    dir: PathBuf,
}

pub(crate) fn run(args: GenerateArgs, _: &CliContext<'_>) -> Result<CommandExit> {
    let dir = &args.dir;
    put(dir, "README.md", INDEX)?;
    put(dir, "commands.md", &commands_page())?;
    put(dir, "exit-codes.md", &exit_page())?;
    put(dir, "errors.md", &errors_page())?;
    put(dir, "configuration.md", &configuration_page())?;
    let api = sayso_server::http::document();
    put(dir, "http.md", &http::page(&api))?;
    let text = serde_json::to_string_pretty(&api).unwrap_or_default();
    put(dir, "api/openapi.json", &format!("{text}\n"))?;
    for (name, schema) in schemas() {
        let text = serde_json::to_string_pretty(&sorted(schema)).unwrap_or_default();
        put(dir, &format!("json/{name}.json"), &format!("{text}\n"))?;
    }
    Ok(CommandExit::Ok)
}

/// Sorts the fields of a schema by name: their order in the code is noise in a diff.
fn sorted(schema: schemars::Schema) -> schemars::Schema {
    let mut value = schema.clone().to_value();
    value.sort_all_objects();
    value.try_into().unwrap_or(schema)
}

const INDEX: &str = "# Reference

Made by `cargo xtask generate` from the program itself; do not edit.

- [Commands](commands.md)
- [Exit codes](exit-codes.md)
- [Error codes](errors.md)
- [Configuration](configuration.md)
- [HTTP API](http.md), and as a document for programs: [api/openapi.json](../../api/openapi.json)
- [JSON schemas](json/) of what `--json` prints: `inbox` prints a `gate-page`; `show`, `approve`,
  `ask` and every other command about a gate a `gate`; `show` of a task a `task-detail`; `list` and
  `ready` a `task-page`; `tree` a `tree`; `notes` a `notes`; `messages` a `message-page`; `notices` a `notice-page`; `token` a
  `token` or `token-page`; `audit list` an `audit`; `audit verify` an `audit-verified`; `doctor` a
  `doctor`; `policy check` and `validate` a `mistakes`; `policy explain` a `policy-explained`;
  `policy test` a `policy-tested`; `policy show` and `set` a `policy`; `policy replay` a
  `policy-replayed`; `policy suggest` a `policy-suggestions`; `policy presets` a `policy-presets`, or with a name a
  `policy-preset`; `agent list` an `agents`, `agent spawn`, `restart` and `stop` an `agent-outcome`; `connect` a `connected`, `connect --check` a `connect-checked`; `init` an `init`; `login` a `login`; `people list` a `people`, `people invite` an `invited`; `delete --whole-space` a `space-deleted`. Whatever fails prints an
  `error` on stderr.
";

fn put(dir: &Path, name: &str, text: &str) -> Result<()> {
    let path = dir.join(name);
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    Ok(std::fs::write(path, text)?)
}

fn commands_page() -> String {
    let mut whole = Cli::command().term_width(100);
    whole.build();
    let mut page = String::from("# Commands\n");
    section(&mut page, &mut whole.clone(), "sayso");
    for sub in whole.get_subcommands().filter(|s| !s.is_hide_set() && s.get_name() != "help") {
        section(&mut page, &mut sub.clone().term_width(100), &format!("sayso {}", sub.get_name()));
        for deeper in sub.get_subcommands().filter(|s| s.get_name() != "help") {
            let name = format!("sayso {} {}", sub.get_name(), deeper.get_name());
            section(&mut page, &mut deeper.clone().term_width(100), &name);
        }
    }
    page
}

fn section(page: &mut String, command: &mut clap::Command, name: &str) {
    let help = command.render_long_help().to_string();
    let help: String = help.lines().map(|line| format!("{}\n", line.trim_end())).collect();
    let _ = write!(page, "\n## {name}\n\n```text\n{}\n```\n", help.trim_end());
}

fn exit_page() -> String {
    let mut page = String::from("# Exit codes\n\n| code | meaning |\n|---|---|\n");
    for (exit, meaning) in CommandExit::TABLE {
        let _ = writeln!(page, "| {} | {meaning} |", exit as u8);
    }
    page
}

fn errors_page() -> String {
    let mut page =
        String::from("# Error codes\n\n| code | what happened | exit code |\n|---|---|---|\n");
    for code in Code::ALL {
        let (name, title, exit) = (code.as_str(), code.title(), code.exit() as u8);
        let _ = writeln!(page, "| [{name}](../errors/{name}.md) | {title} | {exit} |");
    }
    page
}

fn configuration_page() -> String {
    format!(
        "# Configuration\n\n`sayso init` writes this file as `.sayso/config.yaml`; every setting is \
         in it. Outside of any space, the same settings in `$XDG_CONFIG_HOME/sayso/config.yaml` \
         (usually `~/.config/sayso/config.yaml`) name the space to use.\n\n```yaml\n{}```\n\n| variable | meaning |\n|---|---|\n\
         | `SAYSO_STORE` | the store, before the configured one |\n\
         | `SAYSO_SPACE` | the space, before the configured one |\n\
         | `SAYSO_TOKEN_FILE` | a file with a token |\n\
         | `SAYSO_TOKEN` | a token |\n\
         | `SAYSO_CA_FILE` | authorities that may vouch for a server, before `ca` |\n\
         | `SAYSO_LOG` | how much `sayso serve` logs: off, error, warn, info or debug |\n\
         | `OTEL_EXPORTER_OTLP_ENDPOINT` | where `sayso serve` sends traces |\n\
         | `SAYSO_EDITOR`, `GIT_EDITOR`, `VISUAL`, `EDITOR` | the editor, in this order |\n\
         | `NO_COLOR` | no colours |\n",
        crate::config::DEFAULT
    )
}

fn schemas() -> Vec<(&'static str, schemars::Schema)> {
    vec![
        ("gate", schema_for!(wire::GateJson)),
        ("gate-page", schema_for!(wire::PageJson<wire::GateJson>)),
        ("gate-detail", schema_for!(wire::GateDetail)),
        ("card", schema_for!(wire::CardJson)),
        ("card-page", schema_for!(wire::InboxJson)),
        ("answered", schema_for!(wire::AnsweredGates)),
        ("answers", schema_for!(wire::AnswerResults)),
        ("task", schema_for!(wire::TaskJson)),
        ("task-page", schema_for!(wire::PageJson<wire::TaskJson>)),
        ("task-detail", schema_for!(wire::TaskDetail)),
        ("tree", schema_for!(Vec<commands::tree::TaskBranch>)),
        ("notes", schema_for!(Vec<wire::NoteJson>)),
        ("message", schema_for!(wire::MessageJson)),
        ("message-page", schema_for!(wire::PageJson<wire::MessageJson>)),
        ("notice-page", schema_for!(wire::PageJson<sayso_server::notices::NoticeJson>)),
        ("token", schema_for!(wire::TokenJson)),
        ("token-page", schema_for!(wire::PageJson<wire::TokenJson>)),
        ("run-page", schema_for!(wire::PageJson<wire::RunJson>)),
        ("flow", schema_for!(wire::FlowJson)),
        ("flow-detail", schema_for!(wire::FlowDetail)),
        ("flow-page", schema_for!(wire::PageJson<wire::FlowJson>)),
        ("tally", schema_for!(wire::WorkerTotalsJson)),
        ("audit", schema_for!(Vec<wire::AuditEntry>)),
        ("audit-verified", schema_for!(wire::AuditVerification)),
        ("backup", schema_for!(commands::backup::BackupCopy)),
        ("doctor", schema_for!(commands::doctor::DoctorReport)),
        ("init", schema_for!(commands::init::InitReport)),
        ("login", schema_for!(commands::login::LoginReport)),
        ("away", schema_for!(wire::AbsenceJson)),
        ("away-list", schema_for!(Vec<wire::AbsenceJson>)),
        ("people", schema_for!(Vec<commands::people::PersonJson>)),
        ("people-dismiss", schema_for!(commands::people::DismissalJson)),
        ("invited", schema_for!(commands::people::InvitationJson)),
        ("space-deleted", schema_for!(commands::delete::DeletedSpace)),
        ("mistakes", schema_for!(commands::diagnostics::DiagnosticReport)),
        ("policy-explained", schema_for!(wire::PolicyExplanation)),
        ("policy-tested", schema_for!(commands::policy::wire::PolicyTestReport)),
        ("policy-smuggled", schema_for!(commands::policy::wire::SmuggleReport)),
        ("trust", schema_for!(commands::trust::TrustReport)),
        ("policy-preset", schema_for!(commands::policy::wire::PresetJson)),
        ("policy", schema_for!(wire::ActivePolicies)),
        ("policy-replayed", schema_for!(commands::policy::wire::PolicyReplayReport)),
        ("policy-suggestions", schema_for!(Vec<commands::policy::wire::SuggestionJson>)),
        ("policy-presets", schema_for!(Vec<commands::policy::wire::PresetJson>)),
        ("agents", schema_for!(Vec<wire::AgentJson>)),
        ("agent-outcome", schema_for!(wire::AgentOutcome)),
        ("connected", schema_for!(commands::connect::ConnectReport)),
        ("connect-checked", schema_for!(Vec<commands::connect::ClientReport>)),
        ("error", schema_for!(crate::exit::ErrorReport)),
    ]
}
