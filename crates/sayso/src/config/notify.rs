//! The settings of notification channels: the commands and webhooks by which this machine notifies people.

use crate::exit::{Failure, Result};
use crate::time;
use sayso_core::{ChannelInfo, Code};
use sayso_engine::{ChannelKind, NetworkScope, NoticeChannel, check_channel_name};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The default time limit for sending.
const TIMEOUT: Duration = Duration::from_secs(10);

/// A channel, as it stands in a settings file.
#[derive(Debug, Clone, Default, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ChannelConfig {
    command: Option<Vec<String>>,
    webhook: Option<String>,
    secret: Option<PathBuf>,
    private: Option<PrivateAccess>,
    who: Vec<String>,
    settled: bool,
    timeout: Option<String>,
}

impl ChannelConfig {
    /// The command it runs or the URL it calls.
    pub(super) fn in_words(&self) -> String {
        match (&self.command, &self.webhook) {
            (Some(command), _) => command.join(" "),
            (None, Some(webhook)) => webhook.clone(),
            (None, None) => String::new(),
        }
    }
}

/// The permission for a webhook to a private address.
#[derive(Debug, Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum PrivateAccess {
    Allowed,
}

/// A channel, and the folder of the file that names it.
#[derive(Debug, Clone)]
pub(crate) struct ChannelSettings {
    pub(crate) name: String,
    pub(crate) file: ChannelConfig,
    pub(crate) folder: PathBuf,
}

impl ChannelSettings {
    /// The channel, as the desk needs to know it.
    pub(crate) fn reach(&self) -> ChannelInfo {
        let ChannelConfig { who, settled, .. } = &self.file;
        ChannelInfo { channel: self.name.clone(), who: who.clone(), settled: *settled }
    }

    /// Builds the channel; an error if one of its settings is wrong.
    pub(crate) fn channel(&self, environment: &[(String, String)]) -> Result<NoticeChannel> {
        let Self { name, file, folder } = self;
        check_channel_name(name).map_err(|why| wrong(name, &why))?;
        let way = match (&file.command, &file.webhook) {
            (Some(argv), None) => command(name, file, argv, folder, environment)?,
            (None, Some(url)) => webhook(name, file, url, folder)?,
            (Some(_), Some(_)) | (None, None) => {
                return Err(wrong(name, "it is a command or a webhook; write one of the two"));
            }
        };
        let timeout = match &file.timeout {
            Some(typed) => time::duration(typed).map_err(|why| wrong(name, &why))?,
            None => TIMEOUT,
        };
        if timeout.is_zero() || timeout > NoticeChannel::TIMEOUT_MAX {
            return Err(wrong(name, "its timeout is not within 30s; write 1s to 30s"));
        }
        let (who, settled) = (file.who.clone(), file.settled);
        Ok(NoticeChannel { name: name.clone(), people: who, settled, timeout, kind: way })
    }
}

fn command(
    name: &str,
    file: &ChannelConfig,
    argv: &[String],
    folder: &Path,
    environment: &[(String, String)],
) -> Result<ChannelKind> {
    if argv.first().is_none_or(|program| program.trim().is_empty()) {
        return Err(wrong(name, "it names no program; write [program, argument]"));
    }
    if file.secret.is_some() || file.private.is_some() {
        return Err(wrong(name, "secret and private are for webhooks; take them out"));
    }
    let mut argv = argv.to_vec();
    // A program path is relative to the file that names it, not to the current folder.
    if let Some(program) = argv.first_mut().filter(|program| program.contains('/')) {
        *program = folder.join(&*program).display().to_string();
    }
    Ok(ChannelKind::Command { argv, folder: folder.into(), environment: environment.to_vec() })
}

fn webhook(name: &str, file: &ChannelConfig, url: &str, folder: &Path) -> Result<ChannelKind> {
    let is_near = file.private == Some(PrivateAccess::Allowed);
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    let Some(rest) = rest else {
        return Err(wrong(name, "its URL is none; write https://…"));
    };
    if url.starts_with("http://") && !is_near {
        return Err(wrong(name, "its URL needs https; without it only `private: allowed` goes"));
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.is_empty() || authority.contains('@') || url.chars().any(|c| c.is_whitespace()) {
        return Err(wrong(name, "its URL is none; write it without a name, a password and spaces"));
    }
    let Some(secret) = &file.secret else {
        return Err(wrong(name, "a webhook is signed; write secret: FILE"));
    };
    let reach = if is_near { NetworkScope::Private } else { NetworkScope::Public };
    Ok(ChannelKind::Webhook { url: url.into(), secret: folder.join(secret), reach })
}

fn wrong(name: &str, why: &str) -> Failure {
    Failure::new(Code::BadConfig, format!("channel {name}: {why}"))
        .hint("mend it under `notify` in .sayso/config.yaml, or in your own settings")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_a_channel_may_be() {
        for (name, yaml, expected) in [
            ("bell", "{command: [notify-send, sayso]}", ""),
            ("bell", "{command: [./bell.sh], who: [ann], settled: true, timeout: 5s}", ""),
            ("hook", "{webhook: 'https://example.org/x?y=1', secret: s}", ""),
            ("hook", "{webhook: 'http://127.0.0.1:9', secret: s, private: allowed}", ""),
            ("nudge@here", "{command: [x]}", "no name of a channel"),
            ("", "{command: [x]}", "no name of a channel"),
            ("bell", "{}", "a command or a webhook"),
            ("bell", "{command: [x], webhook: 'https://x'}", "a command or a webhook"),
            ("bell", "{command: []}", "names no program"),
            ("bell", "{command: [x], secret: s}", "are for webhooks"),
            ("bell", "{command: [x], timeout: soon}", "is no duration"),
            ("bell", "{command: [x], timeout: 5m}", "not within 30s"),
            ("hook", "{webhook: 'http://example.org', secret: s}", "needs https"),
            ("hook", "{webhook: 'https://example.org'}", "is signed"),
            ("hook", "{webhook: 'ftp://example.org', secret: s}", "its URL is none"),
            ("hook", "{webhook: 'https://a:b@example.org', secret: s}", "its URL is none"),
            ("hook", "{webhook: 'https://', secret: s}", "its URL is none"),
        ] {
            let file: ChannelConfig = serde_saphyr::from_str(yaml).unwrap();
            let settings = ChannelSettings { name: name.into(), file, folder: "/f".into() };
            match settings.channel(&[]) {
                Ok(channel) => assert_eq!((channel.name.as_str(), expected), (name, "")),
                Err(failure) => {
                    let said = &failure.message;
                    assert!(!expected.is_empty() && said.contains(expected), "{yaml}: {said}");
                }
            }
        }
        assert!(serde_saphyr::from_str::<ChannelConfig>("{private: yes}").is_err());
        assert!(serde_saphyr::from_str::<ChannelConfig>("{comand: [x]}").is_err());
    }
}
