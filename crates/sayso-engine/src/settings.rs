//! The settings of a space: policies, agents, people, groups. They are kept in the store, where agents cannot edit
//! them; every change is made by a person, validated as a whole and audited.

use crate::write_batch::WriteBatch;
use crate::{
    Absence, AgentSpec, AnswerTemplate, Calendar, LocalDesk, Person, Result, StandingApproval,
    ledger, lifecycle,
};
use sayso_core::text::shorten;
use sayso_core::{Actor, Code, Permission, Refusal, Role, Timestamp};
use sayso_policy::{FileDiagnostic, KnownNames, Policy, PolicyLayer, PolicySet};
use sayso_store::{ReadTransaction, StoredSetting};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The maximum number of settings in a space.
const SETTINGS_MAX: usize = 10_000;

/// The maximum size of a setting.
const BODY_BYTES_MAX: usize = 1024 * 1024;

/// The maximum length of the names in an audit entry; the events have all of it.
const REASON_CHARS_MAX: usize = 1_000;

/// The name of the space's own policy; an agent's is `agent/NAME`.
pub const SPACE_POLICY: &str = "space";

/// The name of the installation admin's policy, which may contain rules that no other may.
pub const ADMIN_POLICY: &str = "admin";

/// The kind of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum SettingKind {
    /// A policy, as YAML: the space's, or one agent's.
    Policy,
    /// An agent that can be started.
    Agent,
    /// The instructions for agents in a role.
    Role,
    /// The calendar and quiet hours of a person.
    Person,
    /// A group of people.
    Group,
    /// The working hours and the time zone of the space, under the name `space`.
    Calendar,
    /// A ready answer to a recurring question.
    Template,
    /// A standing approval of an earlier request.
    Remembered,
    /// The backend in which a managed agent runs.
    Station,
    /// The absence of a person, and their deputy.
    Away,
    /// The mark of a person who was removed, until they are invited again.
    Dismissed,
}

impl SettingKind {
    pub const ALL: [SettingKind; 11] = [
        SettingKind::Policy,
        SettingKind::Agent,
        SettingKind::Role,
        SettingKind::Person,
        SettingKind::Group,
        SettingKind::Calendar,
        SettingKind::Template,
        SettingKind::Remembered,
        SettingKind::Station,
        SettingKind::Away,
        SettingKind::Dismissed,
    ];

    /// Returns the name in the store.
    pub const fn as_str(self) -> &'static str {
        match self {
            SettingKind::Policy => "policy",
            SettingKind::Agent => "agent",
            SettingKind::Role => "role",
            SettingKind::Person => "person",
            SettingKind::Group => "group",
            SettingKind::Calendar => "calendar",
            SettingKind::Template => "template",
            SettingKind::Remembered => "remembered",
            SettingKind::Station => "station",
            SettingKind::Away => "away",
            SettingKind::Dismissed => "dismissed",
        }
    }
}

/// A change of one setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingChange {
    /// The kind of the setting.
    pub kind: SettingKind,
    /// The name within the kind.
    pub name: String,
    /// The new body; none removes the setting.
    pub body: Option<String>,
}

impl SettingChange {
    /// Returns the mistakes that these changes would have as the only settings, for checks of a file.
    pub fn mistakes(changes: &[SettingChange]) -> Vec<FileDiagnostic> {
        mistakes_in(&changes.iter().map(SettingChange::as_setting).collect::<Vec<_>>())
    }

    fn as_setting(&self) -> StoredSetting {
        StoredSetting {
            kind: self.kind.as_str().into(),
            name: self.name.clone(),
            seq: 0,
            set_by: String::new(),
            set_at: Timestamp::from_micros(0),
            body: self.body.clone(),
        }
    }
}

/// The settings of a space, cached until one changes.
#[derive(Debug)]
pub(crate) struct SpaceSettings {
    seq: u64,
    settings: Vec<StoredSetting>,
    pub(crate) policies: Arc<PolicySet>,
}

impl SpaceSettings {
    fn read(read: &mut ReadTransaction<'_>, space: sayso_core::SpaceId, seq: u64) -> Result<Self> {
        let settings = match seq {
            0 => vec![],
            _ => ledger::settings(read, space)?,
        };
        let policies = Arc::new(policies_in_force(&settings)?);
        Ok(Self { seq, settings, policies })
    }

    /// Returns the body of a setting.
    pub(crate) fn one(&self, kind: SettingKind, name: &str) -> Option<&str> {
        let is_it = |s: &&StoredSetting| s.kind == kind.as_str() && s.name == name;
        self.settings.iter().find(is_it).and_then(|setting| setting.body.as_deref())
    }

    /// Returns all settings of a kind, parsed from JSON.
    pub(crate) fn of<T: DeserializeOwned>(&self, kind: SettingKind) -> Vec<(&str, T)> {
        let all = self.settings.iter().filter(|setting| setting.kind == kind.as_str());
        all.filter_map(|s| Some((s.name.as_str(), serde_json::from_str(s.body.as_deref()?).ok()?)))
            .collect()
    }
}

impl LocalDesk {
    /// Returns all settings, by kind and name.
    pub fn settings(&self, kind: Option<SettingKind>) -> Result<Vec<StoredSetting>> {
        let all = self.read(|read| ledger::settings(read, self.space))?;
        let is_wanted =
            |setting: &StoredSetting| kind.is_none_or(|kind| setting.kind == kind.as_str());
        Ok(self.known_settings(all.into_iter().filter(is_wanted).collect()))
    }

    /// Returns the policies in force.
    pub fn policies(&self) -> Result<Arc<PolicySet>> {
        let rules = self.read(|read| self.rules(read))?;
        Ok(rules.policies.clone())
    }

    /// Applies changes in one transaction, and returns how many settings differ. The result is validated as a whole
    /// first. Only people may do this, so that an agent cannot change the rules that govern it.
    pub fn set(&self, actor: &Actor, changes: Vec<SettingChange>) -> Result<usize> {
        self.submit(actor, move |batch| {
            batch.actor.check(Permission::Govern, "change what is set for the space")?;
            check_may_set(batch.actor, &changes)?;
            batch.check_space_is_there()?;
            if changes.len() > 1 {
                let names = changes.iter().map(|c| format!("{} {}", c.kind.as_str(), c.name));
                let all = shorten(&names.collect::<Vec<_>>().join(", "), REASON_CHARS_MAX);
                let space = batch.desk.space_name.clone();
                batch.set_audit_subject("fleet.applied", &space, None, &all);
            }
            batch.change(&changes, "")
        })
    }

    /// Validates changes without applying them.
    pub fn check_settings(&self, changes: &[SettingChange]) -> Result<()> {
        let before = self.settings(None)?;
        let after = changes.iter().map(SettingChange::as_setting);
        changes.iter().try_for_each(|c| check_name(c.kind, &c.name, c.body.as_deref()))?;
        check(&together(before, after))
    }

    /// Returns the names of all settings of a kind.
    pub(crate) fn names_set(
        &self,
        read: &mut ReadTransaction<'_>,
        kind: SettingKind,
    ) -> Result<BTreeSet<String>> {
        let all = ledger::settings(read, self.space)?.into_iter();
        let is_one = |s: &StoredSetting| s.kind == kind.as_str() && s.body.is_some();
        Ok(all.filter(is_one).map(|setting| setting.name).collect())
    }

    /// Returns the settings, from the cache unless one has changed.
    pub(crate) fn rules(&self, read: &mut ReadTransaction<'_>) -> Result<Arc<SpaceSettings>> {
        let seq = read.settings_seq(self.space)?;
        let mut kept = self.rules.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(rules) = kept.as_ref().filter(|rules| rules.seq == seq) {
            return Ok(rules.clone());
        }
        let rules = Arc::new(SpaceSettings::read(read, self.space, seq)?);
        *kept = Some(rules.clone());
        Ok(rules)
    }
}

impl WriteBatch<'_, '_> {
    /// Applies changes that are valid as a whole, and dismisses agents that are removed.
    pub(crate) fn change(&mut self, changes: &[SettingChange], reason: &str) -> Result<usize> {
        let changed = self.set(changes)?;
        check(&self.settings()?)?;
        let is_gone = |c: &&SettingChange| c.kind == SettingKind::Agent && c.body.is_none();
        let gone: Vec<_> = changes.iter().filter(is_gone).collect();
        // All checks first: nothing may be written before the last one that can refuse.
        gone.iter().try_for_each(|agent| lifecycle::dismiss(self, &agent.name, reason))?;
        gone.iter().try_for_each(|agent| lifecycle::forget(self, &agent.name, reason))?;
        Ok(changed)
    }

    /// Stages changes; returns how many settings differ.
    pub(crate) fn set(&mut self, changes: &[SettingChange]) -> Result<usize> {
        let mut changed = 0;
        for SettingChange { kind, name, body } in changes {
            check_name(*kind, name, body.as_deref())?;
            let before = ledger::setting(self.write, self.space, *kind, name)?;
            if before.as_ref().and_then(|setting| setting.body.as_ref()) == body.as_ref() {
                continue;
            }
            changed += 1;
            let stream = ledger::setting_stream(self.space, kind.as_str(), name);
            let version = self.write.events(&stream)?.len() as u64 + 1;
            let (event, action) = match body {
                Some(body) => (json!({"event": "set", "body": body}), "set"),
                None => (json!({"event": "removed"}), "removed"),
            };
            self.record(&stream, version, &event)?;
            self.set_audit_subject(&format!("{}.{action}", kind.as_str()), name, None, "");
            self.sets.push(StoredSetting {
                kind: kind.as_str().into(),
                name: name.clone(),
                seq: 0,
                set_by: self.actor.name.clone(),
                set_at: self.at,
                body: body.clone(),
            });
        }
        Ok(changed)
    }

    /// Returns the settings with the staged changes applied.
    fn settings(&mut self) -> Result<Vec<StoredSetting>> {
        let before = ledger::settings(self.write, self.space)?;
        let all = together(before, self.sets.iter().cloned());
        if all.len() > SETTINGS_MAX {
            let message = format!("at most {SETTINGS_MAX} things are set in a space");
            return Err(Refusal::new(Code::TooLarge, message).into());
        }
        Ok(all)
    }
}

/// Returns the settings with changes applied.
fn together(
    before: Vec<StoredSetting>,
    after: impl Iterator<Item = StoredSetting>,
) -> Vec<StoredSetting> {
    let key = |setting: &StoredSetting| (setting.kind.clone(), setting.name.clone());
    let all = before.into_iter().chain(after).map(|setting| (key(&setting), setting));
    let all: BTreeMap<_, _> = all.collect();
    all.into_values().filter(|setting| setting.body.is_some()).collect()
}

/// Checks that the actor may make these changes. Only an admin may change the admin's policy, which alone may approve
/// on timeout. And settings that people make for themselves, such as an absence, are not set by others.
fn check_may_set(actor: &Actor, changes: &[SettingChange]) -> Result<()> {
    let said = |c: &&SettingChange| match c.kind {
        SettingKind::Away | SettingKind::Remembered | SettingKind::Dismissed => true,
        SettingKind::Policy
        | SettingKind::Agent
        | SettingKind::Role
        | SettingKind::Person
        | SettingKind::Group
        | SettingKind::Calendar
        | SettingKind::Template
        | SettingKind::Station => false,
    };
    if let Some(change) = changes.iter().find(said) {
        let what = change.kind.as_str();
        let message =
            format!("{} may not set {what} {}: it is said, not set", actor.name, change.name);
        return Err(Refusal::new(Code::NotAllowed, message).into());
    }
    let is_admins = |c: &SettingChange| c.kind == SettingKind::Policy && c.name == ADMIN_POLICY;
    if actor.role == Role::Admin || !changes.iter().any(is_admins) {
        return Ok(());
    }
    let message = format!("{} may not change the admin's policy", actor.name);
    let hint = "use an admin's token: sayso token create --role admin --name NAME";
    Err(Refusal::new(Code::NotAllowed, message).hint(hint).into())
}

fn check_name(kind: SettingKind, name: &str, body: Option<&str>) -> Result<()> {
    let is_plain = |c: char| c.is_alphanumeric() || "-_.@/+".contains(c);
    let is_short = !name.is_empty() && name.len() <= 200;
    if !is_short || !name.chars().all(is_plain) {
        let message = format!("{name:?} cannot be a name ({})", kind.as_str());
        let hint = "take letters, digits, dashes, dots and underscores";
        return Err(Refusal::new(Code::BadValue, message).hint(hint).into());
    }
    match body.map_or(0, str::len) {
        0..=BODY_BYTES_MAX => Ok(()),
        size => {
            let what = kind.as_str();
            let message =
                format!("{what} {name} has {size} bytes; at most {BODY_BYTES_MAX} are taken");
            Err(Refusal::new(Code::TooLarge, message).into())
        }
    }
}

/// Checks that the settings are consistent: policies may only name people and groups that exist.
fn check(settings: &[StoredSetting]) -> Result<()> {
    let mistakes = mistakes_in(settings);
    if mistakes.is_empty() { Ok(()) } else { Err(wrong(&mistakes).into()) }
}

fn mistakes_in(settings: &[StoredSetting]) -> Vec<FileDiagnostic> {
    let texts = policy_texts(settings);
    let files = texts.iter().map(|(layer, file, text)| (layer.clone(), file.as_str(), *text));
    let mut mistakes = sayso_policy::mistakes(files, &known(settings));
    for setting in settings {
        if let Some(what) = unreadable_body(setting) {
            let file = format!("{} {}", setting.kind, setting.name);
            let fix = "see the guide to fleets for what belongs there".into();
            mistakes.push(FileDiagnostic { file, line: None, what, fix });
        }
    }
    mistakes
}

/// Returns the reason why a body cannot be parsed, if it cannot.
fn unreadable_body(setting: &StoredSetting) -> Option<String> {
    fn wrong<T: DeserializeOwned>(text: &str) -> Option<String> {
        serde_json::from_str::<T>(text).err().map(|error| error.to_string())
    }
    let body = setting.body.as_deref()?;
    let kind = SettingKind::ALL.into_iter().find(|kind| kind.as_str() == setting.kind)?;
    match kind {
        SettingKind::Agent => wrong::<AgentSpec>(body),
        SettingKind::Person => wrong::<Person>(body).or_else(|| wrong_person(body)),
        SettingKind::Group => wrong::<Vec<String>>(body).or_else(|| wrong_group(body)),
        SettingKind::Calendar => wrong::<Calendar>(body),
        SettingKind::Template => wrong::<AnswerTemplate>(body),
        SettingKind::Remembered => wrong::<StandingApproval>(body),
        SettingKind::Away => wrong::<Absence>(body),
        SettingKind::Policy | SettingKind::Role | SettingKind::Station | SettingKind::Dismissed => {
            None
        }
    }
}

/// Returns the reason why a channel of a person is invalid, if one is.
fn wrong_person(body: &str) -> Option<String> {
    let person: Person = serde_json::from_str(body).ok()?;
    let named = person.notify.unwrap_or_default();
    named.iter().find_map(|name| crate::check_channel_name(name).err())
}

/// Returns the reason why a group is invalid, if it is: its members must be people, and nested groups are written in
/// a policy.
fn wrong_group(body: &str) -> Option<String> {
    let people: Vec<String> = serde_json::from_str(body).unwrap_or_default();
    let is_group = |name: &&String| name.starts_with('@') || name.trim().is_empty();
    match people.iter().find(is_group) {
        Some(name) => {
            Some(format!("{name:?} is no person; groups in groups are written in a policy"))
        }
        None => people.is_empty().then(|| "nobody is in it".into()),
    }
}

/// Returns the names that policies may use. Without settings for people, any name may be a person.
fn known(settings: &[StoredSetting]) -> KnownNames {
    let names = |kind: SettingKind| -> Option<BTreeSet<String>> {
        let all = settings.iter().filter(|setting| setting.kind == kind.as_str());
        let names: BTreeSet<_> = all.map(|setting| setting.name.clone()).collect();
        (!names.is_empty()).then_some(names)
    };
    KnownNames {
        people: names(SettingKind::Person),
        // Agents may exist by a token alone.
        groups: groups(settings),
        ..KnownNames::of_every_space()
    }
}

fn groups(settings: &[StoredSetting]) -> BTreeMap<String, Vec<String>> {
    let all = settings.iter().filter(|setting| setting.kind == SettingKind::Group.as_str());
    all.filter_map(|s| Some((s.name.clone(), serde_json::from_str(s.body.as_deref()?).ok()?)))
        .collect()
}

/// Returns the policies with their layers, and their names in messages.
fn policy_texts(settings: &[StoredSetting]) -> Vec<(PolicyLayer, String, &str)> {
    let all = settings.iter().filter(|setting| setting.kind == SettingKind::Policy.as_str());
    all.filter_map(|setting| {
        let layer = match (setting.name.as_str(), setting.name.strip_prefix("agent/")) {
            (_, Some(agent)) => PolicyLayer::Agent(agent.into()),
            (ADMIN_POLICY, None) => PolicyLayer::Admin,
            (_, None) => PolicyLayer::Space,
        };
        Some((layer, format!("policy {}", setting.name), setting.body.as_deref()?))
    })
    .collect()
}

fn policies(
    settings: &[StoredSetting],
    parse: fn(PolicyLayer, &str, &str) -> std::result::Result<Policy, Vec<FileDiagnostic>>,
) -> std::result::Result<PolicySet, Vec<FileDiagnostic>> {
    let all: std::result::Result<Vec<_>, _> = policy_texts(settings)
        .into_iter()
        .map(|(layer, file, text)| parse(layer, &file, text))
        .collect();
    Ok(PolicySet::with_groups(all?, &groups(settings)))
}

/// Parses the policies that are set.
pub(crate) fn policies_in_force(settings: &[StoredSetting]) -> Result<PolicySet> {
    Ok(policies(settings, Policy::parse_again).map_err(unreadable)?)
}

/// Returns the refusal for an unreadable policy, which allows nothing.
fn unreadable(mistakes: Vec<FileDiagnostic>) -> Refusal {
    let refusal = wrong(&mistakes);
    let message =
        format!("the policy in force cannot be read, so nothing is allowed: {}", refusal.message);
    Refusal::new(Code::BadPolicy, message).hint("see it with: sayso policy check")
}

fn wrong(mistakes: &[FileDiagnostic]) -> Refusal {
    let all: Vec<_> = mistakes.iter().map(ToString::to_string).collect();
    Refusal::new(Code::BadPolicy, all.join("\n"))
        .hint("nothing was changed; mend it and set it again")
}
