//! Builds the notice sender of this process from the channels set on this machine.

use crate::config::{self, SpaceLocation};
use crate::context::CliContext;
use crate::exit::Result;
use crate::trust;
use sayso_core::text::sanitize_line;
use sayso_engine::{Desk, NoticeChannel, NoticeSender, SenderGuard};

/// The channels of this machine.
pub(crate) fn channels(location: &SpaceLocation) -> Result<Vec<NoticeChannel>> {
    let environment = crate::work::environment();
    location.channels.iter().map(|settings| settings.channel(&environment)).collect()
}

/// Prints the channels that are left out because the settings of the project are not trusted.
pub(crate) fn remark_untrusted(context: &CliContext<'_>, location: &SpaceLocation) {
    if let Some(untrusted) = location.untrusted.as_ref().filter(|u| u.concerns_notices()) {
        let said = sanitize_line(&untrusted.in_words());
        context.out.remark(&format!("{said}, and sends no notices; {}", trust::HINT));
    }
}

/// Returns a notice sender, if a channel is set.
pub(crate) fn notice_sender(context: &CliContext<'_>, desk: &Desk) -> Result<Option<NoticeSender>> {
    let location = config::locate(&context.globals)?;
    remark_untrusted(context, &location);
    let channels = channels(&location)?;
    Ok((!channels.is_empty()).then(|| NoticeSender::new(desk.clone(), channels, location.pages)))
}

/// Sends notices in the background while this process waits. With a local store there may be no other process that
/// does; a server sends its own. A mistake in a channel is printed and stops nothing.
pub(crate) fn send_in_background(context: &CliContext<'_>, desk: &Desk) -> Option<SenderGuard> {
    if desk.is_remote() {
        return None;
    }
    match notice_sender(context, desk) {
        Ok(courier) => courier.map(NoticeSender::start),
        Err(failure) => {
            context.out.remark(&format!("no notices are sent from here: {}", failure.message));
            None
        }
    }
}
