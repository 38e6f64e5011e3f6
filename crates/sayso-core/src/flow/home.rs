//! The home of a flow: the machine, folder and user that its commands run as, and the actor who leads it there. A
//! flow continues at home. Anywhere else its commands would run with another person's files and credentials, so
//! moving it takes an explicit take-over.

use super::Flow;
use crate::{Actor, Code, Refusal, Role};
use serde::{Deserialize, Serialize};

/// A place where the commands of a flow run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowPlace {
    /// The name of the machine.
    pub host: String,
    /// The path of the folder.
    pub folder: String,
    /// The user of that machine.
    pub user: String,
}

impl FlowPlace {
    /// Returns the place as text for people.
    pub fn in_words(&self) -> String {
        let Self { host, folder, user } = self;
        format!("{folder} on {host} as {user}")
    }
}

/// The place where a flow runs, and the actor who leads it there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowHome {
    /// The place where it runs.
    pub place: FlowPlace,
    /// The name of the actor who leads it.
    pub name: String,
    /// The role of that actor.
    pub role: Role,
}

impl FlowHome {
    /// Returns the home of a flow that an actor leads at a place.
    pub fn of(actor: &Actor, place: &FlowPlace) -> Self {
        Self { place: place.clone(), name: actor.name.clone(), role: actor.role }
    }

    /// True if this home belongs to this actor at this place. A person and that person's scripts count as one.
    fn is_of(&self, actor: &Actor, place: &FlowPlace) -> bool {
        let is_persons = |role| matches!(role, Role::Human | Role::Service);
        let is_same_role = self.role == actor.role
            || (is_persons(self.role)
                && is_persons(actor.role)
                && (actor.role == Role::Human || actor.is_own_script()));
        is_same_role && self.name == actor.name && self.place == *place
    }

    /// Returns the home as text for people.
    pub fn in_words(&self) -> String {
        format!("{}, by {} {}", self.place.in_words(), self.role.as_str(), self.name)
    }
}

/// Refuses to continue a flow away from its home. A flow that a program started is exempt, because sayso stores no
/// commands of it. Without a place sayso runs no commands.
pub fn check_home(flow: &Flow, actor: &Actor, place: Option<&FlowPlace>) -> Result<(), Refusal> {
    if flow.started.definition.is_none() {
        return Ok(());
    }
    let is_at_home = match (&flow.home, place) {
        (Some(home), Some(place)) => home.is_of(actor, place),
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    };
    if is_at_home {
        return Ok(());
    }
    let handle = &flow.started.handle;
    let home = match &flow.home {
        Some(home) => home.in_words(),
        None => "a place that was not recorded".to_owned(),
    };
    let here = place.map(|place| format!("; here its commands would run in {}", place.in_words()));
    let message = format!("flow {handle} goes on in {home}{}", here.unwrap_or_default());
    Err(Refusal::new(Code::FlowElsewhere, message).hint(format!(
        "see what it runs: sayso flow show {handle}; take it over with: sayso flow resume {handle} --adopt"
    )))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::flow::{FlowLogEvent, FlowSpec, apply};
    use crate::testing::{at, space};
    use crate::{AssuranceLevel, EntryPoint, FlowId, IdentityProof};
    use serde_json::Value;

    fn actor(role: Role, name: &str, proof: IdentityProof) -> Actor {
        Actor::new(role, name, proof, AssuranceLevel::S0, EntryPoint::Cli)
    }

    fn place(host: &str, folder: &str, user: &str) -> FlowPlace {
        FlowPlace { host: host.into(), folder: folder.into(), user: user.into() }
    }

    fn begun(by: Option<(Role, &str)>, definition: Option<&str>) -> Flow {
        let started = FlowSpec {
            id: FlowId::mint(at(0), 1),
            space: space(),
            handle: "f001".into(),
            workflow: "ask".into(),
            version: "1".into(),
            definition: definition.map(str::to_owned),
            title: String::new(),
            task: None,
            phase: "a".into(),
            state: Value::Null,
            launcher: by.map_or("ann", |(_, name)| name).into(),
            launcher_role: by.map(|(role, _)| role),
            place: by.map(|_| place("desk", "/shop", "ann")),
        };
        apply(None, &FlowLogEvent::Started(Box::new(started)), at(0)).unwrap()
    }

    #[test]
    fn a_flow_goes_on_where_it_began() {
        let here = || place("desk", "/shop", "ann");
        let human = (Role::Human, "ann");
        let operator = (Role::Operator, "ops");
        let ann = || actor(Role::Human, "ann", IdentityProof::Tty);
        let table = [
            (Some(human), ann(), Some(here()), true),
            (Some(human), actor(Role::Human, "ann", IdentityProof::Token), Some(here()), true),
            (Some(human), actor(Role::Service, "ann", IdentityProof::None), Some(here()), true),
            (Some((Role::Service, "ann")), ann(), Some(here()), true),
            // Another person, machine, folder or user.
            (Some(human), actor(Role::Human, "bob", IdentityProof::Tty), Some(here()), false),
            (Some(human), ann(), Some(place("laptop", "/shop", "ann")), false),
            (Some(human), ann(), Some(place("desk", "/clone", "ann")), false),
            (Some(human), ann(), Some(place("desk", "/shop", "root")), false),
            (Some(human), ann(), None, false),
            // A token with a person's name is not that person, and a flow that a token started belongs to that token.
            (Some(human), actor(Role::Service, "ann", IdentityProof::Token), Some(here()), false),
            (Some(human), actor(Role::Operator, "ann", IdentityProof::Token), Some(here()), false),
            (Some((Role::Operator, "ann")), ann(), Some(here()), false),
            (Some(operator), ann(), Some(here()), false),
            (
                Some(operator),
                actor(Role::Operator, "ops", IdentityProof::Token),
                Some(here()),
                true,
            ),
            // Started before the home was recorded.
            (None, ann(), Some(here()), false),
            (None, ann(), None, true),
        ];
        for (by, actor, place, is_home) in table {
            let checked = check_home(&begun(by, Some("text")), &actor, place.as_ref());
            assert_eq!(checked.is_ok(), is_home, "{by:?} {actor:?} {place:?}: {checked:?}");
            // A program continues its own flow in any place.
            assert!(check_home(&begun(by, None), &actor, place.as_ref()).is_ok());
        }
    }

    #[test]
    fn whoever_takes_it_over_has_it_from_then_on() {
        let laptop = place("laptop", "/shop", "bob");
        let bob = actor(Role::Human, "bob", IdentityProof::Tty);
        let flow = begun(Some((Role::Human, "ann")), Some("text"));
        let refused = check_home(&flow, &bob, Some(&laptop)).unwrap_err();
        assert_eq!(refused.code, Code::FlowElsewhere);
        assert!(refused.message.contains("/shop on desk as ann"), "{}", refused.message);
        assert!(refused.message.contains("/shop on laptop as bob"), "{}", refused.message);
        let adopted = FlowLogEvent::Adopted { home: FlowHome::of(&bob, &laptop) };
        let flow = apply(Some(flow), &adopted, at(1)).unwrap();
        assert!(check_home(&flow, &bob, Some(&laptop)).is_ok());
        let ann = actor(Role::Human, "ann", IdentityProof::Tty);
        assert!(check_home(&flow, &ann, Some(&place("desk", "/shop", "ann"))).is_err());
    }
}
