//! Wake-ups between machines on PostgreSQL, through LISTEN and NOTIFY.

use super::WatchTopic;
use crate::{Result, postgres};
use std::time::{Duration, Instant};

/// A LISTEN connection. A lost one only delays: it is opened again, and the waiter reads the row in between.
pub(super) struct NotifyListener {
    url: String,
    client: Option<::postgres::Client>,
    topics: Vec<String>,
}

impl NotifyListener {
    pub(super) fn new(url: &str) -> Result<Self> {
        let client = listen(url, postgres::CONNECT_MAX)?;
        Ok(Self { url: url.into(), client: Some(client), topics: vec![] })
    }

    pub(super) fn listen_to(&mut self, topics: &[WatchTopic]) {
        self.topics = topics.iter().map(WatchTopic::to_string).collect();
    }

    pub(super) fn wait(&mut self, timeout: Duration) {
        let until = Instant::now() + timeout;
        let Some(client) = &mut self.client else {
            self.client = listen(&self.url, timeout).ok();
            if self.client.is_none() {
                std::thread::sleep(until.saturating_duration_since(Instant::now()));
            }
            return;
        };
        if !hears(client, &self.topics, until) {
            self.client = None;
        }
    }
}

fn listen(url: &str, timeout: Duration) -> Result<::postgres::Client> {
    let mut client = postgres::client(url, timeout)?;
    client.batch_execute(&format!("LISTEN {}", postgres::CHANNEL)).map_err(postgres::silent)?;
    Ok(client)
}

/// Waits for a notification about one of the topics. Returns false if the connection was lost.
fn hears(client: &mut ::postgres::Client, topics: &[String], until: Instant) -> bool {
    use ::postgres::fallible_iterator::FallibleIterator;
    let mut notices = client.notifications();
    let about_us = |payload: &str| {
        payload.is_empty() || payload.split(' ').any(|t| topics.iter().any(|topic| topic == t))
    };
    loop {
        // Notifications about other topics must not delay the next read.
        let left = until.saturating_duration_since(Instant::now());
        let next = notices.timeout_iter(left).next();
        match next {
            Ok(Some(notice)) if about_us(notice.payload()) => {
                // One read covers all notifications received so far.
                while let Ok(Some(_)) = notices.iter().next() {}
                return true;
            }
            Ok(Some(_)) if Instant::now() < until => {}
            Ok(Some(_)) => return true,
            // A lost connection returns nothing, too, but before the timeout.
            Ok(None) => return Instant::now() >= until,
            Err(_) => return false,
        }
    }
}
