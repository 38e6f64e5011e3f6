//! Loads a workflow from a folder: its file, and the prompts beside it.

use super::FILE_BYTES_MAX;
use super::definition::WorkflowDefinition;
use sayso_policy::FileDiagnostic;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Component, Path};

/// The reason for which a workflow could not be read.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file could not be read at all.
    #[error("{file}: {why}")]
    File {
        /// The name of the file.
        file: String,
        /// The reason, in words.
        why: String,
    },
    /// The workflow has mistakes.
    #[error("{} mistakes in {}", .0.len(), .0.first().map_or("the workflow", |m| &m.file))]
    Mistakes(Vec<FileDiagnostic>),
}

impl WorkflowDefinition {
    /// Reads a workflow file, with the prompts it names. Prompts are looked up in the folder of the file and nowhere
    /// else.
    pub fn load(path: &Path) -> Result<WorkflowDefinition, LoadError> {
        let file = path.display().to_string();
        let text = text_of(path).map_err(|why| LoadError::File { file: file.clone(), why })?;
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Self::parse(&file, &text, &|name| prompt_in(folder, name)).map_err(LoadError::Mistakes)
    }

    /// Reads a workflow that was stored together with its prompts.
    pub fn parse_kept(
        file: &str,
        text: &str,
        prompts: &BTreeMap<String, String>,
    ) -> Result<WorkflowDefinition, Vec<FileDiagnostic>> {
        let kept = |name: &str| prompts.get(name).cloned().ok_or_else(|| "it was not kept".into());
        Self::parse(file, text, &kept)
    }
}

/// Reads a prompt from a file of its own, inside the folder.
fn prompt_in(folder: &Path, name: &str) -> Result<String, String> {
    let is_inside = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    if name.is_empty() || !Path::new(name).components().all(is_inside) {
        return Err("it is not inside the folder of the workflow".into());
    }
    let whole = |path: &Path| path.canonicalize().map_err(|error| words(&error));
    let (home, path) = (whole(folder)?, whole(&folder.join(name))?);
    if !path.starts_with(&home) {
        return Err("it leads out of the folder of the workflow".into());
    }
    text_of(&path)
}

fn text_of(path: &Path) -> Result<String, String> {
    let file = std::fs::File::open(path).map_err(|error| words(&error))?;
    if !file.metadata().is_ok_and(|about| about.is_file()) {
        return Err("it is no file".into());
    }
    let mut bytes = vec![];
    let most = FILE_BYTES_MAX as u64 + 1;
    file.take(most).read_to_end(&mut bytes).map_err(|error| words(&error))?;
    if bytes.len() > FILE_BYTES_MAX {
        return Err(format!("it has more than {FILE_BYTES_MAX} bytes"));
    }
    let text = String::from_utf8(bytes).map_err(|_| "it is no text in UTF-8")?;
    Ok(text.trim_start_matches('\u{feff}').replace("\r\n", "\n"))
}

fn words(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "it is not there".into(),
        _ => error.to_string(),
    }
}
