//! What somebody who walks must know of a workflow, whatever it is written in. All of it is a function of
//! where the flow stands, so that whoever goes on after a crash takes the same way.

use crate::{Human, Result};
use sayso_core::flow::{Flow, How};
use serde_json::Value;
use std::future::Future;
use std::pin::Pin;

/// Work that is under way.
pub type Work = Pin<Box<dyn Future<Output = Worked> + Send>>;

/// What came of a step.
#[non_exhaustive]
pub enum Worked {
    /// It is done, and gave this.
    Gave(Value),
    /// The agent asks a person before it goes on; it is not done.
    Waits,
    /// A person said no to what the step asked, and why: it is not done, and not to be done.
    Rejected(String),
    /// It is not done.
    Failed(String),
    /// Whoever leads was told to stop before it was done: it has not failed, and is begun anew.
    Stopped,
}

/// Where a phase leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Lead {
    /// To a phase.
    To(String),
    /// To an end.
    End(How, String),
}

/// A workflow, as somebody who walks through it sees it.
pub(crate) trait Plan: Send + Sync {
    /// Its name.
    fn name(&self) -> &str;
    /// Which version it is.
    fn version(&self) -> &str;
    /// Whether a flow of that version can go on here.
    fn goes_on_from(&self, version: &str) -> bool;
    /// Whether there is such a phase.
    fn has(&self, phase: &str) -> bool;
    /// In how many pieces the agent's work is done; none where there is no such work.
    fn pieces(&self, flow: &Flow) -> Result<Option<u32>>;
    /// How many pieces may be worked on at one time.
    fn at_once(&self, flow: &Flow) -> usize;
    /// Begins the work on a piece.
    fn work(&self, flow: &Flow, item: u32) -> Result<Work>;
    /// How often a piece that failed is tried again.
    fn retries(&self, flow: &Flow) -> u32;
    /// What the flow carries along when all pieces are done.
    fn keep(&self, flow: &Flow) -> Result<Value>;
    /// What people are asked, and about which piece.
    fn questions(&self, flow: &Flow) -> Result<Vec<(u32, Human)>>;
    /// What the flow carries along when everything was heard.
    fn hear(&self, flow: &Flow) -> Result<Value>;
    /// What the flow carries along from here, where that is something else than on the way in.
    fn leave(&self, _: &Flow) -> Result<Option<Value>> {
        Ok(None)
    }
    /// Where it leads from here.
    fn lead(&self, flow: &Flow) -> Result<Lead>;
}
