//! `sayso people`: manages the people of a space.

use crate::context::Context;
use crate::exit::Result;
use crate::out::Look;
use crate::{when, who};
use clap::Subcommand;
use sayso_core::Exit;
use sayso_engine::{Dismissed, Known};

/// Manage the people who belong to a space, and their access from other machines.
///
/// An admin of the space invites people: each gets a code that counts once, and sets a passphrase
/// with it. Their hours, and groups, stand in a fleet file (`sayso apply`).
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
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
pub(crate) struct Shown {
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
pub(crate) struct Sent {
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

impl Sent {
    fn of(name: &str, came: Dismissed) -> Self {
        let Dismissed { ended, kept, named_in, gates } = came;
        Self { name: name.to_owned(), ended, kept, named_in, gates }
    }
}

/// A code, for `--json`.
#[derive(serde::Serialize, schemars::JsonSchema)]
pub(crate) struct Code {
    /// The name of the person it lets in.
    name: String,
    /// The code that they type.
    code: String,
    /// The time at which it ends by itself.
    expires_at: String,
}

pub(crate) fn run(args: Args, context: &Context<'_>) -> Result<Exit> {
    match args.verb {
        Verb::List => list(context),
        Verb::Invite { name, admin } => invite(context, name, admin),
        Verb::Dismiss { name } => dismiss(context, &name),
    }
}

fn list(context: &Context<'_>) -> Result<Exit> {
    let (desk, _) = context.sit_down_to_look()?;
    let invited = desk.people()?.into_iter().map(|known| shown(known, false));
    let others = desk.people_by_token()?.into_iter().map(|known| shown(known, true));
    let people: Vec<_> = invited.chain(others).collect();
    let out = context.out;
    if out.json {
        out.json(&people);
        return Ok(Exit::Ok);
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
        out.line(&format!("{}{what}", out.paint(Look::Name, &person.name)));
    }
    Ok(Exit::Ok)
}

fn shown(known: Known, by_token: bool) -> Shown {
    let Known { name, is_admin, joined_at } = known;
    Shown { name, admin: is_admin, joined_at: when::rfc3339(joined_at), by_token }
}

fn dismiss(context: &Context<'_>, name: &str) -> Result<Exit> {
    let desk = context.desk()?;
    let actor = who::person(context, &desk)?;
    let came = desk.dismiss_person(&actor, name)?;
    let out = context.out;
    if out.json {
        out.json(&Sent::of(name, came));
        return Ok(Exit::Ok);
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
    Ok(Exit::Ok)
}

fn invite(context: &Context<'_>, name: String, is_admin: bool) -> Result<Exit> {
    let desk = context.desk()?;
    let actor = who::person(context, &desk)?;
    let invited = desk.invite(&actor, &name, is_admin)?;
    let out = context.out;
    if out.json {
        let expires_at = when::rfc3339(invited.expires_at);
        out.json(&Code { name, code: invited.code, expires_at });
        return Ok(Exit::Ok);
    }
    out.line(&invited.code);
    let until = when::local(invited.expires_at);
    let store = desk.remote().map_or_else(|| "https://…".into(), |_| desk.address());
    out.remark(&format!(
        "lets {name} in once, until {until}; they type: \
         sayso --store {store} --space {} login --name {name} --code {}",
        desk.space_name(),
        invited.code
    ));
    Ok(Exit::Ok)
}
