//! Resolves the recipients that an asker names: groups of the space are expanded, and unknown names are refused,
//! since a gate without recipients would never be answered.

use crate::people::NameDirectory;
use crate::settings::SpaceSettings;
use crate::write_batch::WriteBatch;
use crate::{Error, NewGate, Result};
use sayso_core::{Approvers, Code, Refusal};

/// Returns the question with its recipients resolved. Demands of a policy were resolved with the ruling, and a gate
/// that exists keeps its recipients.
pub(crate) fn resolve_recipients(batch: &mut WriteBatch<'_, '_>, ask: &NewGate) -> Result<NewGate> {
    let is_plain = ask.demands.approvers == Approvers::Anyone && ask.demands.escalate.is_empty();
    if is_plain || ask.is_ruled || batch.gate(ask.id)?.is_some() {
        return Ok(ask.clone());
    }
    let names = batch.desk.names(batch.write)?;
    let rules = batch.desk.rules(batch.write)?;
    let mut each = |name: &str| people_of(name, &names, &rules);
    let mut ask = ask.clone();
    ask.demands.approvers = counted(ask.demands.approvers.try_map(&mut each)?)?;
    for level in &mut ask.demands.escalate {
        level.approvers = counted(level.approvers.try_map(&mut each)?)?;
    }
    Ok(ask)
}

/// Returns the people that a name stands for: one person, or the members of a group.
fn people_of(name: &str, names: &NameDirectory, rules: &SpaceSettings) -> Result<Vec<String>> {
    let Some(group) = name.strip_prefix('@') else {
        names.check_can_answer(name)?;
        return Ok(vec![name.to_owned()]);
    };
    let groups = rules.policies.group_names();
    if !groups.contains(group) {
        return Err(no_group(group, groups.iter().map(String::as_str)).into());
    }
    let people = rules.policies.people_in(group);
    if people.iter().any(|person| names.check_can_answer(person).is_ok()) {
        return Ok(people);
    }
    let message = format!("nobody of @{group} is here");
    Err(Refusal::new(Code::BadValue, message)
        .hint("put somebody into the group, or name a person")
        .into())
}

fn no_group<'a>(group: &str, groups: impl Iterator<Item = &'a str> + Clone) -> Refusal {
    let hint = match sayso_policy::nearest(group, groups.clone()) {
        Some(meant) => format!("did you mean @{meant}?"),
        None => {
            let all: Vec<_> = groups.map(|name| format!("@{name}")).collect();
            if all.is_empty() {
                "there are no groups; name a person, or make one in the fleet file or a policy"
                    .into()
            } else {
                format!("there are: {}", all.join(", "))
            }
        }
    };
    Refusal::new(Code::BadValue, format!("there is no group @{group}")).hint(hint)
}

/// Checks that the quorum is at least one and that the list of approvers is not empty.
fn counted(approvers: Approvers) -> std::result::Result<Approvers, Error> {
    let wrong = match &approvers {
        Approvers::Some { least: 0, .. } => "at least one person has to agree",
        Approvers::Some { of, .. } | Approvers::All(of) if of.is_empty() => {
            "it does not say who has to agree"
        }
        _ => return Ok(approvers),
    };
    Err(Refusal::new(Code::BadValue, wrong).hint("name the people it is for").into())
}
