//! `sayso people`: manages the people of a space.

use crate::context::CliContext;
use crate::exit::Result;
use crate::output::OutputStyle;
use crate::{identity, time};
use clap::Subcommand;
use sayso_core::CommandExit;
use sayso_engine::{DismissalReport, SpaceMember};

/// Manage the people who belong to a space, and their access from other machines.
///
/// An admin of the space invites people: each gets a code that counts once, and sets a passphrase
/// with it. Their hours, and groups, stand in a fleet file (`sayso apply`).
#[derive(clap::Args)]
pub(crate) struct PeopleArgs {
    #[command(subcommand)]
    verb: PeopleCommand,
}

#[derive(Subcommand)]
enum PeopleCommand {
    /// The people who were let in.
    List,
    /// Make a code that lets a person in, once. Also for one who forgot their passphrase.
    Invite {
        /// The name of the person here.
        #[arg(value_name = "NAME")]
        name: String,
        /// They look after the space: its people, policies and credentials.
        #[arg(long)]
        admin: bool,
    },
    /// Let a person in no more. Their credentials end at once, and so do the tokens they made, apart from those of
    /// agents at work; what they did stays. Says where they are still named, and which open gates have no approver
    /// left.
    Dismiss {
        /// The name of the person here.
        #[arg(value_name = "NAME")]
        name: String,
    },
}

/// A person, for `--json`.
#[derive(serde::Serialize, schemars::JsonSchema)]
#[schemars(rename = "Shown")]
pub(crate) struct PersonJson {
    /// The name of the person.
    name: String,
    /// True if they are an admin of the space.
    admin: bool,
    /// The time they were first let in, or since which they have a token.
    joined_at: String,
    /// True if they are here by a token alone, and were never invited.
    by_token: bool,
}

/// The outcome of dismissing a person, for `--json`.
#[derive(serde::Serialize, schemars::JsonSchema)]
#[schemars(rename = "Sent")]
pub(crate) struct DismissalJson {
    /// The name of the person.
    name: String,
    /// Tokens they had made, which have ended: handle, role and name.
    ended: Vec<String>,
    /// Those that stay valid, since an agent is at work with one.
    kept: Vec<String>,
    /// The groups and policies that still name them.
    named_in: Vec<String>,
    /// Open gates that have no approver left.
    gates: Vec<String>,
}

impl DismissalJson {
    fn of(name: &str, came: DismissalReport) -> Self {
        let DismissalReport { ended, kept, named_in, gates } = came;
        Self { name: name.to_owned(), ended, kept, named_in, gates }
    }
}

/// A code, for `--json`.
#[derive(serde::Serialize, schemars::JsonSchema)]
#[schemars(rename = "Code")]
pub(crate) struct InvitationJson {
    /// The name of the person it lets in.
    name: String,
    /// The code that they type.
    code: String,
    /// The time at which it ends by itself.
    expires_at: String,
}

pub(crate) fn run(args: PeopleArgs, context: &CliContext<'_>) -> Result<CommandExit> {
    match args.verb {
        PeopleCommand::List => list(context),
        PeopleCommand::Invite { name, admin } => invite(context, name, admin),
        PeopleCommand::Dismiss { name } => dismiss(context, &name),
    }
}

fn list(context: &CliContext<'_>) -> Result<CommandExit> {
    let (desk, _) = context.open_read_only()?;
    let invited = desk.people()?.into_iter().map(|known| person_json(known, false));
    let others = desk.people_by_token()?.into_iter().map(|known| person_json(known, true));
    let people: Vec<_> = invited.chain(others).collect();
    let out = context.out;
    if out.json {
        out.json(&people);
        return Ok(CommandExit::Ok);
    }
    if people.is_empty() {
        out.remark("nobody was let in yet; invite somebody with: sayso people invite NAME");
    }
    for person in &people {
        let what = match (person.admin, person.by_token) {
            (true, _) => "  looks after the space",
            (false, true) => "  by a token alone",
            (false, false) => "",
        };
        out.line(&format!("{}{what}", out.paint(OutputStyle::Name, &person.name)));
    }
    Ok(CommandExit::Ok)
}

fn person_json(known: SpaceMember, by_token: bool) -> PersonJson {
    let SpaceMember { name, is_admin, joined_at } = known;
    PersonJson { name, admin: is_admin, joined_at: time::rfc3339(joined_at), by_token }
}

fn dismiss(context: &CliContext<'_>, name: &str) -> Result<CommandExit> {
    let desk = context.desk()?;
    let actor = identity::person(context, &desk)?;
    let came = desk.dismiss_person(&actor, name)?;
    let out = context.out;
    if out.json {
        out.json(&DismissalJson::of(name, came));
        return Ok(CommandExit::Ok);
    }
    out.line(&format!("{name} is let in no more; their credentials have ended"));
    let say = |what: &str, which: &[String]| {
        if !which.is_empty() {
            out.remark(&format!("{what}: {}", which.join(", ")));
        }
    };
    say("tokens they made have ended, too", &came.ended);
    say("agents are at work with tokens they made; these end with the work", &came.kept);
    say("they are still named in", &came.named_in);
    say("nobody is left to answer", &came.gates);
    Ok(CommandExit::Ok)
}

fn invite(context: &CliContext<'_>, name: String, is_admin: bool) -> Result<CommandExit> {
    let desk = context.desk()?;
    let actor = identity::person(context, &desk)?;
    let invited = desk.invite(&actor, &name, is_admin)?;
    let out = context.out;
    if out.json {
        let expires_at = time::rfc3339(invited.expires_at);
        out.json(&InvitationJson { name, code: invited.code, expires_at });
        return Ok(CommandExit::Ok);
    }
    out.line(&invited.code);
    let until = time::local(invited.expires_at);
    let store = desk.remote().map_or_else(|| "https://…".into(), |_| desk.address());
    out.remark(&format!(
        "lets {name} in once, until {until}; they type: \
         sayso --store {store} --space {} login --name {name} --code {}",
        desk.space_name(),
        invited.code
    ));
    Ok(CommandExit::Ok)
}
