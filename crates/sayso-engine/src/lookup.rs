//! Name lookup: resolves ids, handles and their prefixes to gates and tasks.

use crate::gates::nothing_waits;
use crate::write_batch::not_found;
use crate::{LocalDesk, NameMatch, Result};
use sayso_core::task::{Task, TaskEvent};
use sayso_core::{Code, GateId, Refusal, TaskId};
use sayso_store::ReadTransaction;

impl LocalDesk {
    /// Resolves an id, a handle or the prefix of one.
    pub fn find(&self, name: &str) -> Result<NameMatch> {
        let found = self.read(|read| self.find_in(read, name));
        // The attempt of an agent is recorded in the same way whether or not the gate exists, so that the record does
        // not reveal it.
        if let (Some(actor), Err(error)) = (self.limited_reader(), &found)
            && error.code() == Code::NotFound
            && may_name_a_gate(name)
        {
            let shown = sayso_core::text::shorten(&sayso_core::text::sanitize_line(name), 60);
            self.note_hidden(actor, &shown);
        }
        found
    }

    /// Resolves a name to a task; a gate resolves to the task that waits for it.
    pub fn find_task(&self, name: &str) -> Result<TaskId> {
        match self.find(name)? {
            NameMatch::Task(id) => Ok(id),
            NameMatch::Gate(id) => {
                let gate = self.gate(id)?;
                let lonely =
                    || Refusal::new(Code::NotFound, format!("gate {} has no task", gate.handle()));
                Ok(gate.opened.task.ok_or_else(lonely)?)
            }
        }
    }

    /// Resolves a name to a gate; a task resolves to the one gate that it waits for.
    pub fn find_gate(&self, name: &str) -> Result<GateId> {
        match self.find(name)? {
            NameMatch::Gate(id) => Ok(id),
            NameMatch::Task(id) => {
                let row = self.task(id)?;
                let gates = row.task.waits_for.keys().copied().collect::<Vec<_>>();
                let own = match self.limited_reader() {
                    Some(actor) => self.read(|read| {
                        let mut own = vec![];
                        for id in &gates {
                            own.extend(self.knows(read, actor, *id)?.then_some(*id));
                        }
                        Ok(own)
                    })?,
                    None => gates.clone(),
                };
                match (own.as_slice(), gates.is_empty()) {
                    ([only], _) => Ok(*only),
                    (_, true) => Err(self.nothing_waits_now(&row.task)?.into()),
                    ([], false) => Err(self.none_is_own(&row.task).into()),
                    _ => Err(self.which_gate(&row.task)?.into()),
                }
            }
        }
    }

    /// Returns the refusal for a task that waits only for gates of other askers. The reader may see that it waits,
    /// but not act on those gates.
    fn none_is_own(&self, task: &Task) -> Refusal {
        let message = format!("what task {} waits for was asked by others", task.handle);
        let refusal = Refusal::new(Code::NotAllowed, message)
            .hint("a person answers it, or its asker takes it back");
        if let Some(actor) = self.limited_reader() {
            self.note_refusal(actor, &refusal);
        }
        refusal
    }

    /// Returns the refusal for a task that waits for nothing. A caller who came too late learns who answered first.
    fn nothing_waits_now(&self, task: &Task) -> Result<Refusal> {
        let history = self.history(task.id)?;
        let last = history.iter().rev().find_map(|(_, event)| match event {
            TaskEvent::Settled { handle, ending, verdict, by, .. } => {
                let how = verdict.map_or_else(|| ending.clone(), |v| v.to_string());
                Some(format!("; gate {handle} was {how} by {by}"))
            }
            _ => None,
        });
        let mut refusal = nothing_waits(&task.handle);
        // The last gate and the person who answered it are named only to callers who may read them.
        let last = last.filter(|_| self.limited_reader().is_none());
        refusal.message.push_str(&last.unwrap_or_default());
        Ok(refusal)
    }

    fn which_gate(&self, task: &Task) -> Result<Refusal> {
        let mut gates = vec![];
        for (id, kind) in &task.waits_for {
            let gate = self.stored_gate(*id)?.ok_or_else(|| not_found("gate", id))?;
            gates.push((NameMatch::Gate(*id), format!("{} ({kind})", gate.handle())));
        }
        let message = format!("task {} waits for {} gates", task.handle, gates.len());
        let own = self.read(|read| self.visible_names(read, gates))?;
        let names: Vec<_> = own.into_iter().map(|(_, name)| name).collect();
        Ok(Refusal::new(Code::WhichGate, message).hint(if names.is_empty() {
            "none of them is yours".to_owned()
        } else {
            format!("name one: {}", names.join(", "))
        }))
    }

    fn find_in(&self, read: &mut ReadTransaction<'_>, typed: &str) -> Result<NameMatch> {
        let name = normal(typed).ok_or_else(|| unknown(typed))?;
        let found = read.find(self.space, &name)?;
        let found = self.visible_names(read, found)?;
        if let [(only, _)] = found.as_slice() {
            return Ok(only.clone());
        }
        if found.is_empty() {
            let elsewhere =
                if self.hides_spaces() { None } else { read.find_in_other_space(&name)? };
            return Err(elsewhere
                .map_or_else(|| unknown(typed), |s| other_space(typed, &s))
                .into());
        }
        let names: Vec<_> = found.iter().map(|(_, handle)| handle.as_str()).collect();
        let hint = format!("type more of it: {}", names.join(", "));
        Err(Refusal::new(Code::Ambiguous, format!("several ids begin with {name:?}"))
            .hint(hint)
            .into())
    }
}

/// Normalizes a typed name: any case, with a dash after the letter, or with look-alikes of the digits 0 and 1. None
/// if it is not a valid name.
fn normal(typed: &str) -> Option<String> {
    let typed = typed.trim().to_ascii_lowercase().replace('-', "");
    let plain = !typed.is_empty() && typed.len() <= 26;
    if !plain || !typed.bytes().all(|b| b.is_ascii_alphanumeric()) {
        return None;
    }
    let (letter, rest) = typed.split_at(1);
    let rest = rest.replace('o', "0").replace(['i', 'l'], "1");
    Some(format!("{letter}{rest}"))
}

/// True if a name could be that of a gate: handles of gates begin with their letter, and an id may belong to a gate
/// or a task.
fn may_name_a_gate(typed: &str) -> bool {
    let typed = typed.trim();
    typed.len() == 26 || typed.starts_with(['g', 'G'])
}

fn unknown(typed: &str) -> Refusal {
    let shown = sayso_core::text::shorten(&sayso_core::text::sanitize_line(typed), 60);
    Refusal::new(Code::NotFound, format!("there is no task or gate {shown:?} here"))
        .hint("see what is there with: sayso list, or: sayso inbox")
}

fn other_space(typed: &str, space: &str) -> Refusal {
    Refusal::new(Code::OtherSpace, format!("{typed} belongs to space {space:?}"))
        .hint(format!("add: --space {space}"))
}

#[cfg(test)]
mod tests {
    use super::normal;

    #[test]
    fn what_people_type_is_read_kindly() {
        assert_eq!(normal("G-7K2M").as_deref(), Some("g7k2m"));
        assert_eq!(normal(" goil1 ").as_deref(), Some("g0111"));
        for hostile in ["", "../x", "a'b", "a%", "a\0", &"x".repeat(27), "ä"] {
            assert_eq!(normal(hostile), None, "{hostile:?}");
        }
    }
}
