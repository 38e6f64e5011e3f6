//! `sayso people`: who belongs to a space.

use crate::context::Context;
use crate::exit::Result;
use crate::out::Look;
use crate::{when, who};
use clap::Subcommand;
use sayso_core::Exit;
use sayso_engine::{Person, Setting, SettingKind};

/// Who belongs to a space, and how they get in from elsewhere.
///
/// Whoever looks after the space invites people: each gets a code that counts once, and sets a passphrase
/// with it. Their hours, and groups, stand in a fleet file (`sayso apply`).
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// The people of the space.
    List,
    /// Make a code that lets a person in, once. Also for one who forgot their passphrase.
    Invite {
        /// Who they are here.
        #[arg(value_name = "NAME")]
        name: String,
        /// They look after the space: its people, policies and credentials.
        #[arg(long)]
        admin: bool,
    },
}

/// A person, for `--json`.
#[derive(serde::Serialize, schemars::JsonSchema)]
pub(crate) struct Shown {
    /// Their name.
    name: String,
    /// Whether they look after the space.
    admin: bool,
    /// Since when, or when something was set for them last.
    set_at: String,
}

/// A code, for `--json`.
#[derive(serde::Serialize, schemars::JsonSchema)]
pub(crate) struct Code {
    /// Whom it lets in.
    name: String,
    /// What they type.
    code: String,
    /// When it ends by itself.
    expires_at: String,
}

pub(crate) fn run(args: Args, context: &Context<'_>) -> Result<Exit> {
    match args.verb {
        Verb::List => list(context),
        Verb::Invite { name, admin } => invite(context, name, admin),
    }
}

fn list(context: &Context<'_>) -> Result<Exit> {
    let (desk, _) = context.sit_down_to_look()?;
    let set = desk.settings(Some(SettingKind::Person))?;
    let people: Vec<_> = set.into_iter().filter_map(shown).collect();
    let out = context.out;
    if out.json {
        out.json(&people);
        return Ok(Exit::Ok);
    }
    if people.is_empty() {
        out.remark("nobody is named yet; invite somebody with: sayso people invite NAME");
    }
    for person in &people {
        let what = if person.admin { "  looks after the space" } else { "" };
        out.line(&format!("{}{what}", out.paint(Look::Name, &person.name)));
    }
    Ok(Exit::Ok)
}

fn shown(set: Setting) -> Option<Shown> {
    let person: Person = serde_json::from_str(&set.body?).ok()?;
    Some(Shown { name: set.name, admin: person.admin, set_at: when::rfc3339(set.set_at) })
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
