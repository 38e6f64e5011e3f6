//! Loads policies: from named files, each with its layer, or the active ones.

use crate::context::CliContext;
use crate::exit::{Failure, Result};
use sayso_core::Code;
use sayso_engine::{ADMIN_POLICY, Desk, SPACE_POLICY, SettingKind};
use sayso_policy::{FILE_BYTES_MAX, FileDiagnostic, KnownNames, Policy, PolicyLayer, PolicySet};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

/// The policies to examine: those in files, or the active ones.
#[derive(clap::Args)]
pub(crate) struct PolicyFileArgs {
    /// Policy files, `-` for standard input; what is in force, unless given.
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PolicySource>,
    /// The files are the policy of this agent, not of the space.
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
}

impl PolicyFileArgs {
    /// The layer of files without a layer of their own.
    pub(crate) fn usual(&self) -> PolicyLayer {
        self.agent.clone().map_or(PolicyLayer::Space, PolicyLayer::Agent)
    }
}

/// The prefix of the names of agents' policies.
const AGENT: &str = "agent/";

/// A policy file and its layer, as it is typed: `FILE`, `admin=FILE`, `space=FILE`,
/// `agent:NAME=FILE`; `-` is standard input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PolicySource {
    /// The layer, if one was named.
    layer: Option<PolicyLayer>,
    path: String,
}

impl FromStr for PolicySource {
    type Err = String;

    fn from_str(typed: &str) -> std::result::Result<Self, String> {
        let whole = || Self { layer: None, path: typed.into() };
        let Some((head, path)) = typed.split_once('=') else { return Ok(whole()) };
        let layer = match (head, head.strip_prefix("agent:")) {
            ("admin", _) => PolicyLayer::Admin,
            ("space", _) => PolicyLayer::Space,
            (_, Some("")) => return Err("an agent's policy is written agent:NAME=FILE".into()),
            (_, Some(name)) => PolicyLayer::Agent(name.into()),
            // A name of a file may hold an equals sign.
            (_, None) => return Ok(whole()),
        };
        Ok(Self { layer: Some(layer), path: path.into() })
    }
}

/// The text of a policy file.
pub(crate) struct PolicyText {
    pub(crate) layer: PolicyLayer,
    pub(crate) file: String,
    pub(crate) text: String,
}

impl PolicyText {
    fn parse(&self) -> std::result::Result<Policy, Vec<FileDiagnostic>> {
        Policy::parse(self.layer.clone(), &self.file, &self.text)
    }
}

/// Reads files; a file without a layer has the layer `usual`.
pub(crate) fn read(
    context: &CliContext<'_>,
    sources: &[PolicySource],
    usual: &PolicyLayer,
) -> Result<Vec<PolicyText>> {
    let read = |PolicySource { layer, path }: &PolicySource| {
        let layer = layer.clone().unwrap_or_else(|| usual.clone());
        let (file, text) = match path.as_str() {
            "-" => ("stdin".to_owned(), context.text("-")?),
            path => (path.to_owned(), read_text(Path::new(path), FILE_BYTES_MAX)?),
        };
        Ok(PolicyText { layer, file, text })
    };
    sources.iter().map(read).collect()
}

/// The policies in these files; without any, the active ones.
pub(crate) fn read_or_in_force(
    context: &CliContext<'_>,
    sources: &[PolicySource],
    usual: &PolicyLayer,
) -> Result<Arc<PolicySet>> {
    if sources.is_empty() {
        in_force(context)
    } else {
        let texts = read(context, sources, usual)?;
        Ok(Arc::new(parse(&texts, &known(context).groups)?))
    }
}

/// The policies in force.
pub(crate) fn in_force(context: &CliContext<'_>) -> Result<Arc<PolicySet>> {
    Ok(context.desk_read_only()?.policies()?)
}

/// The policies as they would be, were these files set: each replaces its layer.
pub(crate) fn as_if_set(desk: &Desk, mut texts: Vec<PolicyText>) -> Result<PolicySet> {
    let given: Vec<PolicyLayer> = texts.iter().map(|text| text.layer.clone()).collect();
    for setting in desk.settings(Some(SettingKind::Policy))? {
        let layer = layer_of(&setting.name);
        if let Some(text) = setting.body.filter(|_| !given.contains(&layer)) {
            texts.push(PolicyText { layer, file: format!("policy {}", setting.name), text });
        }
    }
    parse(&texts, &groups(desk)?)
}

/// The names that policies may use: those of every space, and the groups of this one, if there is one. Files can be
/// checked without a space as well.
pub(crate) fn known(context: &CliContext<'_>) -> KnownNames {
    let groups = context.desk_read_only().and_then(|desk| groups(&desk)).unwrap_or_default();
    KnownNames { groups, ..KnownNames::of_every_space() }
}

fn groups(desk: &Desk) -> Result<BTreeMap<String, Vec<String>>> {
    let mut groups = BTreeMap::new();
    for setting in desk.settings(Some(SettingKind::Group))? {
        let people = serde_json::from_str(&setting.body.unwrap_or_default());
        groups.extend(people.ok().map(|people| (setting.name, people)));
    }
    Ok(groups)
}

/// The name under which a layer's policy is set.
pub(crate) fn name_of(layer: &PolicyLayer) -> Result<String> {
    match layer {
        PolicyLayer::Space => Ok(SPACE_POLICY.into()),
        PolicyLayer::Admin => Ok(ADMIN_POLICY.into()),
        PolicyLayer::Agent(name) => Ok(format!("{AGENT}{name}")),
        PolicyLayer::Floor | PolicyLayer::Task(_) => {
            let what = format!("a policy of the {layer} is not set here");
            Err(Failure::new(Code::BadValue, what)
                .hint("set the space's, or an agent's with: --agent NAME"))
        }
    }
}

fn layer_of(name: &str) -> PolicyLayer {
    match (name, name.strip_prefix(AGENT)) {
        (_, Some(agent)) => PolicyLayer::Agent(agent.into()),
        (ADMIN_POLICY, None) => PolicyLayer::Admin,
        (_, None) => PolicyLayer::Space,
    }
}

/// Parses policies; an error if one of them has mistakes.
fn parse(texts: &[PolicyText], groups: &BTreeMap<String, Vec<String>>) -> Result<PolicySet> {
    let (mut policies, mut mistakes) = (vec![], vec![]);
    for text in texts {
        match text.parse() {
            Ok(policy) => policies.push(policy),
            Err(found) => mistakes.extend(found),
        }
    }
    if mistakes.is_empty() {
        Ok(PolicySet::with_groups(policies, groups))
    } else {
        Err(cannot_be_used(&mistakes))
    }
}

fn cannot_be_used(mistakes: &[FileDiagnostic]) -> Failure {
    let all: String = mistakes.iter().map(|mistake| format!("\n  {mistake}")).collect();
    Failure::new(Code::BadPolicy, format!("the policy cannot be used:{all}"))
        .hint("mend it, then see with: sayso policy check FILE")
}

/// The text of a file, of which a little more than `bytes_max` is read, so that the caller can see that it is too
/// long.
pub(crate) fn read_text(path: &Path, bytes_max: usize) -> Result<String> {
    let shown = path.display();
    let file = std::fs::File::open(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            Failure::new(Code::NotFound, format!("there is no file {shown}"))
        }
        _ => Failure::new(Code::Failure, format!("{shown}: {error}")),
    })?;
    let (mut bytes, most) = (vec![], bytes_max as u64 + 4);
    file.take(most)
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::new(Code::Failure, format!("{shown}: {error}")))?;
    // The cut may split the last character; the text is too long anyway.
    let is_cut = bytes.len() > bytes_max;
    match String::from_utf8(bytes) {
        Ok(text) => Ok(text),
        Err(error) if is_cut && error.utf8_error().error_len().is_none() => {
            Ok(String::from_utf8_lossy(error.as_bytes()).into_owned())
        }
        Err(_) => Err(Failure::new(Code::InvalidText, format!("{shown} is not UTF-8 text"))
            .hint("convert it first, for example with: iconv -t utf-8")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_names_its_layer() {
        let source = |typed: &str| typed.parse::<PolicySource>().map(|s| (s.layer, s.path));
        let plain = |path: &str| Ok((None, path.to_owned()));
        assert_eq!(source("p.yaml"), plain("p.yaml"));
        assert_eq!(source("a=b.yaml"), plain("a=b.yaml"));
        assert_eq!(source("admin=p.yaml"), Ok((Some(PolicyLayer::Admin), "p.yaml".into())));
        let rex = Some(PolicyLayer::Agent("rex".into()));
        assert_eq!(source("agent:rex=a=b.yaml"), Ok((rex, "a=b.yaml".into())));
        assert!(source("agent:=p.yaml").is_err());
    }
}
