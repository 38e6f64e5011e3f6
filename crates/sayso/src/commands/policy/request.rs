//! Parses a policy request: from JSON, or from options. The policy crate checks the combination; here the options are
//! only turned into JSON.

use super::files::read_text;
use crate::context::CliContext;
use crate::exit::{Failure, Result};
use crate::time;
use sayso_core::{Code, Timestamp};
use sayso_policy::{LocalTime, PolicyRequest};
use serde_json::{Map, Value, json};
use std::path::Path;

/// The maximum size of a request.
const REQUEST_BYTES_MAX: usize = 1024 * 1024;

/// The request to put before a policy.
#[derive(clap::Args)]
pub(crate) struct RequestArgs {
    /// The request as JSON; `-` for standard input, `@FILE` for a file. Or say it with options.
    #[arg(value_name = "REQUEST", conflicts_with = "said")]
    request: Option<String>,

    #[command(flatten)]
    said: RequestOptions,
}

/// A request, option by option.
#[derive(clap::Args)]
#[group(id = "said", multiple = true)]
struct RequestOptions {
    /// A call of this tool; Bash, where only a command is given.
    #[arg(long, value_name = "NAME", help_heading = "What is to happen")]
    tool: Option<String>,
    /// The command line it would run.
    #[arg(long, value_name = "LINE", help_heading = "What is to happen")]
    command: Option<String>,
    /// A file it is about. Can be repeated.
    #[arg(long, value_name = "PATH", help_heading = "What is to happen")]
    path: Vec<String>,
    /// A task moves from this status.
    #[arg(long, value_name = "STATUS", help_heading = "What is to happen")]
    from: Option<String>,
    /// A task moves to this status.
    #[arg(long, value_name = "STATUS", help_heading = "What is to happen")]
    to: Option<String>,
    /// This agent is started.
    #[arg(long, value_name = "AGENT", help_heading = "What is to happen")]
    spawn: Option<String>,
    /// This agent is started anew.
    #[arg(long, value_name = "AGENT", help_heading = "What is to happen", conflicts_with_all = ["spawn", "stop"])]
    restart: Option<String>,
    /// This agent is ended.
    #[arg(
        long,
        value_name = "AGENT",
        help_heading = "What is to happen",
        conflicts_with = "spawn"
    )]
    stop: Option<String>,
    /// An agent reports this: completed, failed.
    #[arg(long, value_name = "OUTCOME", help_heading = "What is to happen")]
    result: Option<String>,
    /// The confidence that it reports, in percent.
    #[arg(long, value_name = "PERCENT", help_heading = "What is to happen")]
    confidence: Option<u8>,
    /// An agent asks a question of this kind: input, approval, review.
    #[arg(long, value_name = "KIND", help_heading = "What is to happen")]
    ask: Option<String>,
    /// The words of the question.
    #[arg(long, value_name = "TEXT", help_heading = "What is to happen")]
    question: Option<String>,

    /// The agent that wants it.
    #[arg(long, value_name = "NAME", help_heading = "Who, for what, when")]
    agent: Option<String>,
    /// The role it works in.
    #[arg(long, value_name = "NAME", help_heading = "Who, for what, when")]
    role: Option<String>,
    /// The person who launched it.
    #[arg(long, value_name = "NAME", help_heading = "Who, for what, when")]
    launcher: Option<String>,
    /// A label of its task. Can be repeated.
    #[arg(
        long = "task-label",
        visible_alias = "label",
        value_name = "LABEL",
        help_heading = "Who, for what, when"
    )]
    labels: Vec<String>,
    /// The priority of its task, from 0 to 4; 2, where only a label or a type is given.
    #[arg(long, value_name = "0-4", help_heading = "Who, for what, when")]
    priority: Option<u8>,
    /// The type of its task.
    #[arg(long = "type", value_name = "TYPE", help_heading = "Who, for what, when")]
    sort: Option<String>,
    /// The time on the clock, such as 2026-11-16T21:30; now, unless given.
    #[arg(long, value_name = "TIME", help_heading = "Who, for what, when")]
    at: Option<String>,
}

impl RequestArgs {
    /// Parses the request.
    pub(crate) fn read(&self, context: &CliContext<'_>) -> Result<PolicyRequest> {
        let value = match &self.request {
            Some(typed) => {
                let text = match typed.strip_prefix('@') {
                    Some(path) => read_text(Path::new(path), REQUEST_BYTES_MAX)?,
                    None => context.text(typed)?,
                };
                serde_json::from_str(&text).map_err(|error| no_request(&error))?
            }
            None => self.said.value()?,
        };
        serde_json::from_value(value).map_err(|error| no_request(&error))
    }
}

fn no_request(error: &serde_json::Error) -> Failure {
    Failure::new(Code::BadValue, format!("this is no request: {error}")).hint(
        "write it like '{\"on\": \"tool\", \"tool\": \"Bash\", \"command\": \"git push\"}', or with \
         options, as in: sayso policy explain --command 'git push'",
    )
}

impl RequestOptions {
    /// The request as JSON. `on` is derived from the first option; the others must fit it.
    fn value(&self) -> Result<Value> {
        let mut fields = Map::new();
        let mut put = |name: &str, value: Option<Value>| {
            value.map(|value| fields.insert(name.to_owned(), value)).is_some()
        };
        let text = |text: &Option<String>| text.clone().map(Value::from);
        let shell = || self.command.is_some().then(|| "Bash".into());
        let (action, target) = self.lifecycle();
        let paths = (!self.path.is_empty()).then(|| json!(self.path));
        let is_tool = [
            put("tool", text(&self.tool).or_else(shell)),
            put("command", text(&self.command)),
            put("paths", paths),
        ];
        let is_transition = [put("from", text(&self.from)), put("to", text(&self.to))];
        let is_lifecycle = [put("action", action.map(Value::from)), put("target", target)];
        let is_result = [
            put("outcome", text(&self.result)),
            put("confidence", self.confidence.map(Value::from)),
        ];
        let is_ask = [put("kind", text(&self.ask)), put("question", text(&self.question))];
        let sorts = [
            ("tool", is_tool.contains(&true)),
            ("transition", is_transition.contains(&true)),
            ("lifecycle", is_lifecycle.contains(&true)),
            ("result", is_result.contains(&true)),
            ("ask", is_ask.contains(&true)),
        ];
        let Some((on, _)) = sorts.into_iter().find(|(_, is_it)| *is_it) else {
            return Err(Failure::new(Code::BadValue, "nothing is said about what is to happen").hint(
                "say it like --command 'git push', --from open --to closed, --spawn NAME, --result \
                 completed or --ask input",
            ));
        };
        put("on", Some(on.into()));
        put("agent", Some(self.agent()));
        put("task", self.task());
        put("time", self.at.as_deref().map(time).transpose()?);
        Ok(Value::Object(fields))
    }

    fn lifecycle(&self) -> (Option<&'static str>, Option<Value>) {
        let all = [("spawn", &self.spawn), ("restart", &self.restart), ("stop", &self.stop)];
        let given = all.into_iter().find_map(|(action, target)| Some((action, target.clone()?)));
        given.map(|(action, target)| (action, Value::from(target))).unzip()
    }

    fn agent(&self) -> Value {
        let name = |name: &Option<String>| name.clone().unwrap_or_default();
        json!({"name": name(&self.agent), "role": name(&self.role), "launcher": self.launcher})
    }

    fn task(&self) -> Option<Value> {
        let is_given = !self.labels.is_empty() || self.priority.is_some() || self.sort.is_some();
        is_given.then(|| {
            let (priority, sort) = (self.priority.unwrap_or(2), self.sort.as_deref());
            json!({"labels": self.labels, "priority": priority, "type": sort.unwrap_or("task")})
        })
    }
}

/// The present local time.
pub(super) fn now() -> LocalTime {
    LocalTime::of(&jiff::Zoned::now())
}

/// The local time of a typed moment.
fn time(typed: &str) -> Result<Value> {
    let now = jiff::Zoned::now();
    let at = time::moment(typed, Timestamp::from_micros(now.timestamp().as_microsecond()))?;
    let at = jiff::Timestamp::from_microsecond(at.as_micros())
        .map_err(|error| Failure::new(Code::BadValue, error.to_string()))?;
    Ok(json!(LocalTime::of(&at.to_zoned(now.time_zone().clone()))))
}
