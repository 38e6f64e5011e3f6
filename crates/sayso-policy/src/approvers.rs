//! The language of approvers: `2 of @security, and ann`. Groups are resolved to people when a ruling is given.

use crate::diagnostic::FileDiagnostics;
use crate::yaml::YamlNode;
use sayso_core::Approvers;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// The group that replaces an empty one.
pub(crate) const OWNERS: &str = "owners";
/// The deepest nesting of brackets.
const DEPTH_MAX: usize = 8;
/// The most people that a number may ask for.
const PEOPLE_MAX: usize = 100;

/// The people whose approval is needed, with unresolved groups.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ApproverExpression {
    Anyone,
    Person(String),
    Group(String),
    All(Vec<ApproverExpression>),
    AtLeast(usize, Vec<ApproverExpression>),
}

/// Parses an expression of approvers. The error is the problem and the fix.
pub(crate) fn parse_who(text: &str) -> Result<ApproverExpression, (String, String)> {
    let tokens = tokens(text)?;
    let mut words = TokenCursor { text, tokens: &tokens, at: 0, depth: 0 };
    let who = words.whole()?;
    match words.peek() {
        None => Ok(who),
        Some(word) => Err(words.wrong(&format!("goes on with `{word}`"))),
    }
}

fn tokens(text: &str) -> Result<Vec<&str>, (String, String)> {
    let mut found = vec![];
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '(' | ')' | ',' => 1,
            _ => rest.find(|c: char| c.is_whitespace() || "(),".contains(c)).unwrap_or(rest.len()),
        };
        let (token, after) = rest.split_at(length);
        let is_name = token.chars().all(|c| c.is_alphanumeric() || "._-@+".contains(c));
        if length > 1 && !is_name || length == 1 && !"(),".contains(first) && !is_name {
            return Err((
                format!("`{token}` is no name of a person"),
                "names are letters, digits, `.`, `_`, `-`; groups begin with `@`".into(),
            ));
        }
        found.push(token);
        rest = after.trim_start();
    }
    Ok(found)
}

struct TokenCursor<'a> {
    text: &'a str,
    tokens: &'a [&'a str],
    at: usize,
    depth: usize,
}

impl<'a> TokenCursor<'a> {
    fn peek(&self) -> Option<&'a str> {
        self.tokens.get(self.at).copied()
    }

    fn next(&mut self) -> Option<&'a str> {
        let token = self.peek();
        self.at += 1;
        token
    }

    fn wrong(&self, what: &str) -> (String, String) {
        (
            format!("`{}` {what}", self.text),
            "write it like `ann`, `@owners`, `2 of @security, and ann`, `ann or (bob and cid)`"
                .into(),
        )
    }

    /// Parses parts joined by `and` or by `or`; both together need brackets.
    fn whole(&mut self) -> Result<ApproverExpression, (String, String)> {
        let mut parts = vec![self.part()?];
        let mut joined_by = None;
        while let Some(word) = self.peek() {
            let follows = self.tokens.get(self.at + 1).copied();
            let (joint, length) = match (word, follows) {
                (",", Some(joint @ ("and" | "or"))) => (joint, 2),
                ("and" | "or", _) => (word, 1),
                (",", _) => return Err(self.wrong("has a comma that may mean `and` or `or`")),
                _ => break,
            };
            if joined_by.is_some_and(|before| before != joint) {
                return Err(self.wrong("mixes `and` and `or`: put one of them in brackets"));
            }
            joined_by = Some(joint);
            self.at += length;
            parts.push(self.part()?);
        }
        Ok(match (parts.len(), joined_by) {
            (1, _) => parts.swap_remove(0),
            (_, Some("or")) => ApproverExpression::AtLeast(1, parts),
            _ => ApproverExpression::All(parts),
        })
    }

    fn part(&mut self) -> Result<ApproverExpression, (String, String)> {
        let Some(word) = self.next() else { return Err(self.wrong("ends too early")) };
        if self.peek() == Some("of") {
            self.at += 1;
            let list = self.list()?;
            return match word {
                "all" => Ok(ApproverExpression::All(list)),
                "any" => Ok(ApproverExpression::AtLeast(1, list)),
                number => match number.parse() {
                    Ok(least) if (1..=PEOPLE_MAX).contains(&least) => {
                        Ok(ApproverExpression::AtLeast(least, list))
                    }
                    _ => Err(self.wrong(&format!("needs a number before `of`, not `{number}`"))),
                },
            };
        }
        match word {
            "(" => self.bracketed(Self::whole),
            ")" | "," | "and" | "or" | "of" => Err(self.wrong(&format!("has `{word}` too early"))),
            "anyone" => Ok(ApproverExpression::Anyone),
            name => Ok(one(name)),
        }
    }

    /// Parses the list after `of`: one name, or several in brackets.
    fn list(&mut self) -> Result<Vec<ApproverExpression>, (String, String)> {
        match self.next() {
            Some("(") => self.bracketed(|words| {
                let mut list = vec![words.part()?];
                while words.peek() == Some(",") {
                    words.at += 1;
                    list.push(words.part()?);
                }
                Ok(list)
            }),
            Some("anyone") => Ok(vec![ApproverExpression::Anyone]),
            Some(name) if !["and", "or", "of", ")", ","].contains(&name) => Ok(vec![one(name)]),
            _ => Err(self.wrong("does not say of whom")),
        }
    }

    fn bracketed<T>(
        &mut self,
        inside: impl FnOnce(&mut Self) -> Result<T, (String, String)>,
    ) -> Result<T, (String, String)> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(self.wrong("has too many brackets in brackets"));
        }
        let found = inside(self)?;
        self.depth -= 1;
        match self.next() {
            Some(")") => Ok(found),
            _ => Err(self.wrong("has a bracket that is not closed")),
        }
    }
}

fn one(name: &str) -> ApproverExpression {
    match name.strip_prefix('@') {
        Some(group) => ApproverExpression::Group(group.into()),
        None => ApproverExpression::Person(name.into()),
    }
}

impl ApproverExpression {
    /// Returns all people and groups it names.
    pub(crate) fn names(&self) -> Vec<&ApproverExpression> {
        match self {
            ApproverExpression::Anyone => vec![],
            ApproverExpression::Person(_) | ApproverExpression::Group(_) => vec![self],
            ApproverExpression::All(parts) | ApproverExpression::AtLeast(_, parts) => {
                parts.iter().flat_map(ApproverExpression::names).collect()
            }
        }
    }

    /// Resolves groups to people. An empty group becomes the owners; without owners no person can approve, which is
    /// not the same as any person.
    pub(crate) fn resolve(&self, groups: &GroupScopes<'_>) -> Approvers {
        let person = |name: String| Approvers::Person(name);
        match self {
            ApproverExpression::Anyone => Approvers::Anyone,
            ApproverExpression::Person(name) => person(name.clone()),
            ApproverExpression::Group(name) => {
                let of = groups.people(name).into_iter().map(person).collect();
                Approvers::Some { least: 1, of }
            }
            ApproverExpression::All(parts) => Approvers::All(groups.each(parts)),
            ApproverExpression::AtLeast(least, parts) if parts == &[ApproverExpression::Anyone] => {
                Approvers::Some { least: *least, of: vec![Approvers::Anyone; *least] }
            }
            // `ann or bob` is alternatives; `2 of (ann, @security)` counts people.
            ApproverExpression::AtLeast(1, parts) => Approvers::Some {
                least: 1,
                of: parts.iter().map(|part| part.resolve(groups)).collect(),
            },
            ApproverExpression::AtLeast(least, parts) => {
                Approvers::Some { least: *least, of: groups.each(parts) }
            }
        }
    }
}

/// The groups that a policy can name.
pub(crate) struct GroupScopes<'a> {
    /// The scopes, from the policy's own outward.
    pub(crate) scopes: Vec<&'a BTreeMap<String, PeopleGroup>>,
}

/// A group of people and other groups.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PeopleGroup {
    pub(crate) line: u64,
    pub(crate) people: BTreeSet<String>,
    pub(crate) groups: BTreeSet<String>,
}

impl GroupScopes<'_> {
    pub(crate) fn find(&self, name: &str) -> Option<&PeopleGroup> {
        self.scopes.iter().find_map(|scope| scope.get(name))
    }

    /// Returns all people in a group and its subgroups; the owners, if there are none.
    pub(crate) fn people(&self, name: &str) -> BTreeSet<String> {
        let people = self.members(name);
        if people.is_empty() { self.members(OWNERS) } else { people }
    }

    pub(crate) fn members(&self, name: &str) -> BTreeSet<String> {
        let mut people = BTreeSet::new();
        let (mut seen, mut left) = (BTreeSet::from([name]), vec![name]);
        while let Some(group) = left.pop().and_then(|name| self.find(name)) {
            people.extend(group.people.iter().cloned());
            left.extend(group.groups.iter().map(String::as_str).filter(|name| seen.insert(name)));
        }
        people
    }

    /// Resolves the parts of a list, each person once.
    fn each(&self, parts: &[ApproverExpression]) -> Vec<Approvers> {
        let mut found: Vec<Approvers> = vec![];
        for part in parts {
            let opened = match part {
                ApproverExpression::Group(name) => {
                    let people: Vec<_> =
                        self.people(name).into_iter().map(Approvers::Person).collect();
                    // An empty part must not disappear: it is one that cannot be met.
                    if people.is_empty() { vec![part.resolve(self)] } else { people }
                }
                ApproverExpression::Anyone
                | ApproverExpression::Person(_)
                | ApproverExpression::All(_)
                | ApproverExpression::AtLeast(..) => {
                    vec![part.resolve(self)]
                }
            };
            for one in opened {
                if !found.contains(&one) {
                    found.push(one);
                }
            }
        }
        found
    }
}

/// Parses the groups of a file; empty groups and cycles are mistakes.
pub(crate) fn parse_groups(
    node: &YamlNode,
    mistakes: &mut FileDiagnostics,
) -> BTreeMap<String, PeopleGroup> {
    let mut groups = BTreeMap::new();
    for entry in node.entries("`groups`", mistakes) {
        let name = entry.key.trim_start_matches('@').to_owned();
        let mut group = PeopleGroup { line: entry.line, ..PeopleGroup::default() };
        for (line, member) in entry.value.texts(&format!("the group `{name}`"), mistakes) {
            match parse_who(&member) {
                Ok(ApproverExpression::Person(person)) => drop(group.people.insert(person)),
                Ok(ApproverExpression::Group(other)) => drop(group.groups.insert(other)),
                Ok(
                    ApproverExpression::Anyone
                    | ApproverExpression::All(_)
                    | ApproverExpression::AtLeast(..),
                )
                | Err(_) => mistakes.add(
                    line,
                    format!("`{member}` in the group `{name}` is no person and no group"),
                    "write a name, or `@` and the name of a group",
                ),
            }
        }
        groups.insert(name, group);
    }
    for (name, group) in &groups {
        if let Some(circle) = circle_through(name, &groups) {
            let what = format!("the group `{name}` is in itself: {circle}");
            mistakes.add(group.line, what, "take one of them out");
        }
    }
    groups
}

/// Returns the path from a group back to itself, if there is one.
fn circle_through(name: &str, groups: &BTreeMap<String, PeopleGroup>) -> Option<String> {
    let mut came_from: BTreeMap<&str, &str> = BTreeMap::new();
    let mut left = vec![name];
    while let Some(at) = left.pop() {
        for next in groups.get(at)?.groups.iter().map(String::as_str) {
            if next == name {
                let mut way = vec![name, at];
                while let Some(before) =
                    way.last().filter(|n| **n != name).and_then(|n| came_from.get(n))
                {
                    way.push(before);
                }
                way.dedup();
                let way: Vec<_> = way.into_iter().rev().map(|n| format!("@{n}")).collect();
                return Some(way.join(" > "));
            }
            if groups.contains_key(next) && !came_from.contains_key(next) {
                came_from.insert(next, at);
                left.push(next);
            }
        }
    }
    None
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    fn groups() -> BTreeMap<String, PeopleGroup> {
        let group = |people: &[&str], groups: &[&str]| PeopleGroup {
            line: 1,
            people: people.iter().map(|s| (*s).into()).collect(),
            groups: groups.iter().map(|s| (*s).into()).collect(),
        };
        BTreeMap::from([
            ("owners".into(), group(&["ann", "bob"], &[])),
            ("security".into(), group(&["cid"], &["owners"])),
        ])
    }

    #[test]
    fn approvers_in_words() {
        let groups = groups();
        let scope = GroupScopes { scopes: vec![&groups] };
        for (text, expected) in [
            ("anyone", "anyone"),
            ("ann", "ann"),
            ("@owners", "1 of (ann, bob)"),
            ("2 of @security", "2 of (ann, bob, cid)"),
            ("2 of @security, and ann", "all of (2 of (ann, bob, cid), ann)"),
            ("ann or bob", "1 of (ann, bob)"),
            ("ann or (bob and cid)", "1 of (ann, all of (bob, cid))"),
            ("all of @owners", "all of (ann, bob)"),
            ("any of (ann, @owners)", "1 of (ann, 1 of (ann, bob))"),
            ("2 of (cid, @owners, ann)", "2 of (cid, ann, bob)"),
            ("2 of anyone", "2 of (anyone, anyone)"),
            ("@ghosts", "1 of (ann, bob)"),
            ("2 of @ghosts", "2 of (ann, bob)"),
            ("ann@example.org", "ann@example.org"),
        ] {
            let who = parse_who(text).unwrap();
            assert_eq!(who.resolve(&scope).in_words(), expected, "{text}");
        }
    }

    #[test]
    fn without_owners_an_empty_group_is_nobody() {
        let scope = GroupScopes { scopes: vec![] };
        for text in ["@ghosts", "all of @ghosts", "2 of @ghosts", "ann and @ghosts"] {
            let approvers = parse_who(text).unwrap().resolve(&scope);
            assert!(!approvers.can_be_satisfied(None), "{text}: {}", approvers.in_words());
        }
    }

    #[test]
    fn words_that_make_no_sense_are_refused() {
        for text in [
            "",
            "ann, bob",
            "ann and bob or cid",
            "0 of @a",
            "x of @a",
            "2 of",
            "(ann",
            "ann)",
            "ann and",
            "2 of (ann, )",
            "a$b",
            "101 of @a",
            "((((((((((ann))))))))))",
            "and",
        ] {
            assert!(parse_who(text).is_err(), "{text}");
        }
    }

    #[test]
    fn circles_and_strangers_in_groups_are_mistakes() {
        let text = "a: ['@b']\nb: ['@c', x]\nc: ['@a']\nd: []\ne: [2 of @a]\n";
        let mut mistakes = FileDiagnostics::of("p");
        parse_groups(&crate::yaml::read(text).unwrap(), &mut mistakes);
        let said: Vec<_> = mistakes.into_sorted().iter().map(ToString::to_string).collect();
        assert_eq!(said.len(), 5, "{said:#?}");
        assert!(said[0].contains("@a > @b > @c > @a"), "{said:#?}");
    }
}
