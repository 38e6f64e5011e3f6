//! Fleet files: all settings of a space, as people write them and keep them under version control.

use sayso_engine::{
    ADMIN_POLICY, AgentSpec, AnswerTemplate, Calendar, Person, SPACE_POLICY, SettingChange,
    SettingKind, StoredSetting,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A space and its settings. Texts of policies and roles are kept as they are, comments included.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FleetFile {
    /// The space; without one, the one the command works in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub space: Option<String>,
    /// Its time zone, working hours and quiet hours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calendar: Option<Calendar>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub people: BTreeMap<String, Option<Person>>,
    /// Groups: people under one name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub groups: BTreeMap<String, Vec<String>>,
    /// Agents that can be spawned.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub agents: BTreeMap<String, AgentSpec>,
    /// Roles: the instructions for an agent in them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub roles: BTreeMap<String, TextSource>,
    /// Answers to questions that come again and again.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub templates: BTreeMap<String, AnswerTemplate>,
    /// The policy of the space.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<TextSource>,
    /// The policy of the administrator of the installation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub admin_policy: Option<TextSource>,
    /// The policies of agents, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub agent_policies: BTreeMap<String, TextSource>,
}

/// A text, or the file it is in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a text (behind `|`), or a file as {file: policy.yaml}")]
pub enum TextSource {
    /// A file, from the folder of the fleet file.
    File {
        file: String,
    },
    Text(String),
}

impl FleetFile {
    /// Returns all settings of the file. `read` returns the text of a file that it names.
    pub fn settings<E>(
        &self,
        mut read: impl FnMut(&str) -> Result<String, E>,
    ) -> Result<Vec<SettingChange>, E> {
        let mut all = vec![];
        let mut set = |kind, name: &str, body: String| {
            all.push(SettingChange { kind, name: name.into(), body: Some(body) });
        };
        if let Some(calendar) = &self.calendar {
            set(SettingKind::Calendar, "space", json(calendar));
        }
        for (name, person) in &self.people {
            set(SettingKind::Person, name, json(&person.clone().unwrap_or_default()));
        }
        for (name, people) in &self.groups {
            set(SettingKind::Group, name, json(people));
        }
        for (name, agent) in &self.agents {
            set(SettingKind::Agent, name, json(agent));
        }
        for (name, template) in &self.templates {
            set(SettingKind::Template, name, json(template));
        }
        let mut text = |text: &TextSource| match text {
            TextSource::Text(text) => Ok(with_one_end(text)),
            TextSource::File { file } => read(file).map(|text| with_one_end(&text)),
        };
        for (name, role) in &self.roles {
            set(SettingKind::Role, name, text(role)?);
        }
        if let Some(policy) = &self.policy {
            set(SettingKind::Policy, SPACE_POLICY, text(policy)?);
        }
        if let Some(policy) = &self.admin_policy {
            set(SettingKind::Policy, ADMIN_POLICY, text(policy)?);
        }
        for (agent, policy) in &self.agent_policies {
            set(SettingKind::Policy, &format!("agent/{agent}"), text(policy)?);
        }
        Ok(all)
    }

    /// Builds a fleet file from the settings of a space.
    pub fn of(space: &str, settings: &[StoredSetting]) -> Self {
        let mut fleet = Self { space: Some(space.into()), ..Self::default() };
        for StoredSetting { kind, name, body, .. } in settings {
            let Some(body) = body else { continue };
            let Some(kind) = SettingKind::ALL.into_iter().find(|k| k.as_str() == kind) else {
                continue;
            };
            fleet.put(kind, name, body);
        }
        fleet
    }

    fn put(&mut self, kind: SettingKind, name: &str, body: &str) {
        let text = || TextSource::Text(body.into());
        let name = name.to_owned();
        match kind {
            SettingKind::Calendar => self.calendar = from_json(body),
            SettingKind::Person => {
                let person = from_json(body).filter(|person| *person != Person::default());
                self.people.insert(name, person);
            }
            SettingKind::Group => {
                self.groups.insert(name, from_json(body).unwrap_or_default());
            }
            SettingKind::Agent => {
                self.agents.extend(from_json(body).map(|agent| (name, agent)));
            }
            SettingKind::Template => {
                self.templates.extend(from_json(body).map(|template| (name, template)));
            }
            SettingKind::Role => {
                self.roles.insert(name, text());
            }
            SettingKind::Policy => match name.strip_prefix("agent/") {
                Some(agent) => drop(self.agent_policies.insert(agent.into(), text())),
                None if name == ADMIN_POLICY => self.admin_policy = Some(text()),
                None => self.policy = Some(text()),
            },
            // The results of people's answers and of agents' actions are not for a file.
            SettingKind::Remembered
            | SettingKind::Station
            | SettingKind::Away
            | SettingKind::Dismissed => {}
        }
    }
}

/// True if a fleet file contains this kind of setting.
pub fn is_declared(kind: &str) -> bool {
    let others =
        [SettingKind::Remembered, SettingKind::Station, SettingKind::Away, SettingKind::Dismissed];
    !others.iter().any(|other| other.as_str() == kind)
}

/// Returns the text with one line break at its end, however it was written.
fn with_one_end(text: &str) -> String {
    format!("{}\n", text.trim_end())
}

fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

fn from_json<T: serde::de::DeserializeOwned>(body: &str) -> Option<T> {
    serde_json::from_str(body).ok()
}
