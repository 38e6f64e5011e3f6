//! The terminal inbox: the list at the left, the card at the right, keys at the foot. The screen is a function
//! of a state ([`view`]); an event changes the state and returns effects ([`update`]); a loop runs them ([`app`]),
//! and a thread calls the desk for it.
//!
//! The same rules as on the pages: Enter never approves, keys count when the card was on the screen for a
//! moment, an answer can be undone for a while, nothing moves under the cursor, and nothing is shown as
//! done before the desk has confirmed it.

mod answer;
mod app;
mod clerk;
mod kept;
mod keys;
mod line;
mod paint;
mod press;
mod screen;
mod state;
#[cfg(test)]
mod tests;
mod unsent;
mod update;
mod view;

pub(crate) use state::{Scope, View};

use crate::context::Context;
use crate::exit::Result;
use clerk::Clerk;
use sayso_core::{Actor, Door, Exit};
use sayso_engine::Desk;
use state::State;
use std::io::IsTerminal;

/// True if full screen is possible and wanted.
pub(crate) fn fits(context: &Context<'_>) -> bool {
    let (globals, out) = (&context.globals, context.out);
    let can_move = std::env::var("TERM").is_ok_and(|name| !name.is_empty() && name != "dumb");
    let is_terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    is_terminal && can_move && !globals.plain && !globals.json && !globals.no_input && !out.ascii
}

/// Opens the inbox and stays until the person leaves.
pub(crate) fn open(
    context: &Context<'_>,
    desk: Desk,
    me: Actor,
    view: View,
    scope: Scope,
) -> Result<Exit> {
    let me = Actor { door: Door::Tui, ..me };
    let mut state = State::new(me.clone(), desk.space_name(), view);
    state.colour = context.out.has_colour();
    let clerk = Clerk { desk, me, scope, globals: context.globals.clone() };
    app::run(context, clerk, state)
}
