//! A space with gates, tasks and messages of others, a server of it, and holders of every sort of credential.

use super::{About, May, Said};
use crate::api::{Server, text, ulid};
use crate::harness::{Backend, PASSPHRASE, Space};
use sayso_core::gate::{Card, Gate};
use sayso_core::{
    Actor, Answer, AnswerShape, AssuranceLevel, EntryPoint, GateKind, IdentityProof, MessageId,
    Permission, Role, TaskId,
};
use sayso_engine::{LocalDesk, NewGate, NewTask, NewToken, RuntimeEnv, StoreLocation};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::time::{Duration, Instant};

/// A word of every gate, answer and message of others, and of nothing else.
pub(super) const MARKER: &str = "zebra-crossing";

/// A holder of a credential.
#[derive(Debug, Clone)]
pub(super) struct Holder {
    pub(super) name: &'static str,
    pub(super) may: May,
    pub(super) is_known: bool,
    pub(super) lacks_word: bool,
    /// As it goes into the head of a request.
    header: String,
}

impl Holder {
    pub(super) fn is_browser(&self) -> bool {
        self.header.starts_with("cookie")
    }
}

pub(super) struct Stage {
    pub(super) space: Space,
    pub(super) server: Server,
    desk: LocalDesk,
    holders: Vec<Holder>,
    pub(super) open: Gate,
    ended: Gate,
    pub(super) task: TaskId,
    task_handle: String,
    message: MessageId,
    message_handle: String,
    /// True while calls of the line are made.
    pub(super) is_line: bool,
    /// The cells that did not hold.
    pub(super) wrong: Vec<String>,
}

/// Every sort of credential: the role, the name, the deeds it is limited to, and what it may do then.
const TOKENS: [(&str, Role, &str, &[Permission], May); 16] = [
    ("an agent", Role::Agent, "eve", &[], "QTE"),
    ("an agent that only asks", Role::Agent, "mute", &[Permission::Ask], "QE"),
    ("an agent that only tracks", Role::Agent, "mule", &[Permission::Track], "TE"),
    ("a person", Role::Human, "hal", &[], "AQTRUGOM"),
    ("a person's token that reads", Role::Human, "ivy", &[Permission::Read], "R"),
    ("a person's token that asks", Role::Human, "joy", &[Permission::Ask], "Q"),
    ("a person's token that answers", Role::Human, "kai", &[Permission::Answer], "A"),
    ("a person's token for figures", Role::Human, "lea", &[Permission::Measure], "M"),
    ("an operator", Role::Operator, "ops", &[], "QTROM"),
    ("an operator's token that reads", Role::Operator, "ops", &[Permission::Read], "R"),
    ("an admin", Role::Admin, "root", &[], "QTRUGMN"),
    ("an auditor", Role::Auditor, "eye", &[], "RUM"),
    ("an auditor's token for figures", Role::Auditor, "eye", &[Permission::Measure], "M"),
    ("a service", Role::Service, "cron", &[], "QTRM"),
    ("a service that only asks", Role::Service, "job", &[Permission::Ask], "Q"),
    // Named like the agent that asked.
    (
        "a service of the asker's name",
        Role::Service,
        "coder",
        &[Permission::Ask, Permission::Track],
        "QT",
    ),
];

fn person(name: &str) -> Actor {
    Actor::new(Role::Human, name, IdentityProof::Tty, AssuranceLevel::S0, EntryPoint::Cli)
}

fn coder() -> Actor {
    Actor::new(Role::Agent, "coder", IdentityProof::Token, AssuranceLevel::S0, EntryPoint::Cli)
}

impl Stage {
    pub(super) fn new(backend: Backend) -> Self {
        let space = Space::new(backend);
        let server = Server::of(&space);
        let place = match &space.store {
            Some(url) => StoreLocation::Postgres(url.clone()),
            None => StoreLocation::Sqlite(space.file()),
        };
        let desk = LocalDesk::open(place, &server.space, RuntimeEnv::real()).unwrap();
        let mut holders = vec![];
        let mint = |role, name: &str, scopes: &[Permission]| {
            let scopes =
                (!scopes.is_empty()).then(|| scopes.iter().copied().collect::<BTreeSet<_>>());
            let new = NewToken {
                role,
                name: name.into(),
                task: None,
                run: None,
                expires_at: None,
                scopes,
            };
            desk.mint(&person("ann"), new).unwrap()
        };
        let bearer = |secret: &str| format!("authorization: Bearer {secret}\r\n");
        for (name, role, holder, scopes, may) in TOKENS {
            let header = bearer(&mint(role, holder, scopes).secret);
            holders.push(Holder { name, may, is_known: true, lacks_word: false, header });
        }
        let gone = mint(Role::Agent, "gone", &[]);
        desk.revoke(&person("ann"), &gone.token.handle).unwrap();
        let header = bearer(&gone.secret);
        holders.push(Holder {
            name: "a revoked agent",
            may: "",
            is_known: false,
            lacks_word: false,
            header,
        });
        let nobody = Holder {
            name: "nobody",
            may: "",
            is_known: false,
            lacks_word: false,
            header: String::new(),
        };
        holders.push(nobody);
        let code = desk.invite(&person("ann"), "hal", false).unwrap().code;
        desk.join(&code, "hal", PASSPHRASE, sayso_engine::LoginClient::Program).unwrap();
        let log_in = json!({"name": "hal", "passphrase": PASSPHRASE}).to_string();
        let path = format!("/session/{}", server.space);
        let session = server.raw(&server.request("POST", &path, None, Some(log_in.as_bytes())));
        let word = text(&session.is(200)["word"]).to_owned();
        let cookie = session.headers["set-cookie"].split(';').next().unwrap().to_owned();
        let may = "AQTRUGOM";
        for (name, lacks_word, more) in [
            ("a browser", false, format!("sayso-word: {word}\r\n")),
            ("a browser without the word", true, String::new()),
        ] {
            let header = format!("cookie: {cookie}\r\n{more}");
            holders.push(Holder { name, may, is_known: true, lacks_word, header });
        }
        let (open, ended) = gates(&desk);
        let (task, task_handle) = task(&desk);
        let (message, message_handle) = message(&desk);
        Self {
            space,
            server,
            desk,
            holders,
            open,
            ended,
            task,
            task_handle,
            message,
            message_handle,
            is_line: false,
            wrong: vec![],
        }
    }

    pub(super) fn holders(&self) -> Vec<Holder> {
        self.holders.clone()
    }

    /// Puts others in the place of what may have been changed.
    pub(super) fn renew(&mut self) {
        let is_open = self
            .desk
            .gate(self.open.opened.id)
            .is_ok_and(|gate| gate.is_open() && gate == self.open);
        let is_told = self.desk.gate(self.ended.opened.id).is_ok_and(|gate| gate == self.ended);
        if !is_open || !is_told {
            (self.open, self.ended) = gates(&self.desk);
        }
        let is_task = self.desk.task(self.task).is_ok_and(|row| row.task.is_waiting());
        if !is_task {
            (self.task, self.task_handle) = task(&self.desk);
        }
        let messages =
            self.desk.messages(&person("ann"), Some("coder"), true, None, 1_000).unwrap();
        if !messages.items.iter().any(|it| it.id == self.message) {
            (self.message, self.message_handle) = message(&self.desk);
        }
    }

    /// The id of an object.
    pub(super) fn named(&self, about: About, state: &str) -> String {
        match (about, state) {
            (About::Gate, "open") => self.open.opened.id.to_string(),
            (About::Gate, _) => self.ended.opened.id.to_string(),
            // Calls of the line take ids alone.
            (About::Task, "ended") if !self.is_line => self.task_handle.clone(),
            (About::Task, _) => self.task.to_string(),
            (About::Message, "open") => self.message.to_string(),
            (About::Message, _) => self.message_handle.clone(),
            (About::Nothing, _) => String::new(),
        }
    }

    /// A name of the same form that means nothing.
    pub(super) fn missing(&self, _: About) -> String {
        ulid(987_654_321)
    }

    /// The digest of the card of a gate.
    pub(super) fn digest(&self, id: &str) -> String {
        let gate =
            [&self.open, &self.ended].into_iter().find(|gate| gate.opened.id.to_string() == id);
        gate.unwrap_or(&self.open).digest.to_string()
    }

    /// The words of an answer that give away others to a holder who may not read them.
    pub(super) fn gives_away(&self, holder: &Holder, said: &Said, named: &str) -> Option<String> {
        // Whoever may answer is shown what they do something to.
        let sees_gates = holder.may.contains('R') || holder.may.contains('A');
        let sees_tasks = holder.may.contains('R') || holder.may.contains('T');
        let (open, ended) = (self.open.opened.id.to_string(), self.ended.opened.id.to_string());
        let task = self.task.to_string();
        let of_gates = [MARKER, &open, &ended, self.open.handle(), self.ended.handle()];
        let of_tasks = ["Tidy the attic", &self.task_handle, &task];
        let hidden = of_gates.into_iter().filter(|_| !sees_gates);
        let mut hidden = hidden.chain(of_tasks.into_iter().filter(|_| !sees_tasks));
        let found = hidden.find(|word| *word != named && said.body.contains(word));
        found.map(|word| format!("it gives away {word:?}"))
    }

    /// Sends a request; a stream is listened to for a moment.
    pub(super) fn send(
        &self,
        holder: &Holder,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Said {
        self.send_with(holder, method, path, body, "")
    }

    pub(super) fn send_with(
        &self,
        holder: &Holder,
        method: &str,
        path: &str,
        body: Option<&Value>,
        more: &str,
    ) -> Said {
        let body = body.map(Value::to_string);
        let mut head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n{}{more}",
            self.server.address, holder.header
        );
        if let Some(body) = &body {
            head +=
                &format!("content-type: application/json\r\ncontent-length: {}\r\n", body.len());
        }
        let mut stream = self.server.connect();
        let all = format!("{head}\r\n{}", body.unwrap_or_default());
        stream.write_all(all.as_bytes()).unwrap();
        // What waits for a person is not waited for here.
        let waits = all.contains("permission_prompt");
        let is_stream = waits || path.contains("/events");
        let patience = Duration::from_millis(if is_stream { 150 } else { 30_000 });
        stream.set_read_timeout(Some(patience)).unwrap();
        let (mut bytes, mut some, began) = (vec![], [0; 16 * 1024], Instant::now());
        while let Ok(count @ 1..) = stream.read(&mut some) {
            bytes.extend_from_slice(&some[..count]);
            if is_stream && began.elapsed() > Duration::from_millis(400) {
                break;
            }
        }
        let reply = String::from_utf8_lossy(&bytes).into_owned();
        if waits && reply.is_empty() {
            return Said { status: 200, body: String::new() };
        }
        let status = reply.split(' ').nth(1).and_then(|it| it.parse().ok());
        let status = status.unwrap_or_else(|| panic!("{method} {path}: {reply:?}"));
        let (head, body) = reply.split_once("\r\n\r\n").unwrap_or((&reply, ""));
        let is_in_chunks = head.to_lowercase().contains("transfer-encoding: chunked");
        Said { status, body: if is_in_chunks { joined(body) } else { body.to_owned() } }
    }
}

/// An open gate of an agent, and one that has ended, with all that could be learnt of them.
fn gates(desk: &LocalDesk) -> (Gate, Gate) {
    let ask = |words: String| {
        let card = Card {
            question: words,
            narrative: format!("At the {MARKER}."),
            facts: vec![],
            shape: AnswerShape::Text,
        };
        desk.ask(&coder(), NewGate::new(desk.new_gate_id(), GateKind::Decision, None, card))
            .unwrap()
    };
    // The same question twice would be one card.
    let open = ask(format!("Which {MARKER}, {}?", desk.new_gate_id()));
    let ended = ask(format!("How wide is the {MARKER}, {}?", desk.new_gate_id()));
    let answer = Answer::text(format!("the {MARKER} on the left"));
    let ended =
        desk.answer(&person("ann"), ended.opened.id, answer, ended.digest.as_str()).unwrap();
    (open, ended)
}

fn task(desk: &LocalDesk) -> (TaskId, String) {
    let id = TaskId::mint(desk.now(), u128::from(rand(desk)));
    let new = NewTask {
        id,
        title: "Tidy the attic".into(),
        body: String::new(),
        sort: "task".into(),
        priority: 2,
        size: None,
        labels: BTreeSet::new(),
        parent: None,
        blocked_by: BTreeSet::new(),
        requires: None,
        awaiting: None,
    };
    let made = desk.create_task(&person("ann"), new).unwrap();
    desk.hand_over(&coder(), id, GateKind::Input, Some(format!("Where is the {MARKER}?"))).unwrap();
    (id, made.handle)
}

fn message(desk: &LocalDesk) -> (MessageId, String) {
    let words = format!("mind the {MARKER}");
    let sent = desk.tell(&person("ann"), desk.new_message_id(), "coder", &words).unwrap();
    (sent.id, sent.handle)
}

/// A number that no other task has.
fn rand(desk: &LocalDesk) -> u64 {
    let id = desk.new_gate_id().to_string();
    id.bytes().skip(10).fold(7, |all, byte| all.wrapping_mul(31).wrapping_add(u64::from(byte)))
}

/// A body that came in chunks, as one. What breaks off is taken as far as it came.
fn joined(mut rest: &str) -> String {
    let mut whole = String::new();
    while let Some((size, more)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size.trim(), 16).unwrap_or(0);
        if size == 0 {
            break;
        }
        let Some(chunk) = more.get(..size) else {
            whole.push_str(more);
            break;
        };
        whole.push_str(chunk);
        rest = more[size..].trim_start_matches("\r\n");
    }
    whole
}
