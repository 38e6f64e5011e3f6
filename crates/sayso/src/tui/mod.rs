//! The terminal inbox: the list at the left, the card at the right, keys at the foot. The screen is a function
//! of a state ([`view`]); an event changes the state and returns effects ([`update`]); a loop runs them ([`app`]),
//! and a thread calls the desk for it.
//!
//! The same rules as on the pages: Enter never approves, keys count when the card was on the screen for a
//! moment, an answer can be undone for a while, nothing moves under the cursor, and nothing is shown as
//! done before the desk has confirmed it.

mod answer;
mod app;
mod desk_thread;
mod drafts;
mod input_line;
mod key_handler;
mod keys;
mod retry_queue;
mod screen;
mod state;
mod style;
#[cfg(test)]
mod tests;
mod update;
mod view;

pub(crate) use state::{InboxListKind, InboxScope};

use crate::context::CliContext;
use crate::exit::Result;
use desk_thread::DeskThread;
use sayso_core::{Actor, CommandExit, EntryPoint};
use sayso_engine::Desk;
use state::InboxState;
use std::io::IsTerminal;

/// True if full screen is possible and wanted.
pub(crate) fn fits(context: &CliContext<'_>) -> bool {
    let (globals, out) = (&context.globals, context.out);
    let can_move = std::env::var("TERM").is_ok_and(|name| !name.is_empty() && name != "dumb");
    let is_terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    is_terminal && can_move && !globals.plain && !globals.json && !globals.no_input && !out.ascii
}

/// Opens the inbox and stays until the person leaves.
pub(crate) fn open(
    context: &CliContext<'_>,
    desk: Desk,
    me: Actor,
    view: InboxListKind,
    scope: InboxScope,
) -> Result<CommandExit> {
    let me = Actor { door: EntryPoint::Tui, ..me };
    let mut state = InboxState::new(me.clone(), desk.space_name(), view);
    state.colour = context.out.has_colour();
    let clerk = DeskThread { desk, me, scope, globals: context.globals.clone() };
    app::run(context, clerk, state)
}
