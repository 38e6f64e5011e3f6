//! The same question from several agents is one card, and one answer goes to all of them (F3).

use crate::governed::{policy, times};
use crate::harness::{Space, Who, on_both};
use crate::mcp::client::{Client, said};
use serde_json::{Value, json};
use std::process::Stdio;
use std::time::Duration;

const AGENTS: [&str; 3] = ["coder", "tester", "fixer"];

/// Three agents, each on a task of its own, ask the same. Returns tasks and gates.
fn three_ask(space: &Space, question: &str) -> Vec<(String, String)> {
    if !space.token("fixer").exists() {
        space.mint("agent", "fixer");
    }
    let ask = |agent: &&str| {
        let task = space.create(&[&format!("Work of {agent}")]);
        let gate = space.ask(agent, &[question, "--context", "for the proxy", "--task", &task]);
        (task, gate)
    };
    AGENTS.iter().map(ask).collect()
}

fn inbox(space: &Space, who: Who<'_>) -> Vec<Value> {
    space.run(who, &["inbox", "--json"]).json()["items"].as_array().unwrap().clone()
}

fn handles(card: &Value) -> Vec<&str> {
    let askers = card["askers"].as_array().unwrap();
    askers.iter().map(|asker| asker["gate"].as_str().unwrap()).collect()
}

on_both! {
    /// One card, one answer, three deliveries, three entries in the audit.
    fn three_agents_and_one_answer(space: &Space) {
        let asked = three_ask(space, "Which port?");
        let gates: Vec<_> = asked.iter().map(|(_, gate)| gate.as_str()).collect();
        let cards = inbox(space, Who::Human("ann"));
        assert_eq!(cards.len(), 1, "{cards:?}");
        assert_eq!(handles(&cards[0]), gates);
        assert_eq!(cards[0]["others"], 0);
        let names: Vec<_> = (0..3).map(|n| cards[0]["askers"][n]["name"].as_str().unwrap()).collect();
        assert_eq!(names, AGENTS);
        space.ann(&["inbox"]).says("3 agents ask this: coder").says(gates[2]).ok();
        space.ann(&["show", gates[1]]).says("3 agents ask this: tester").ok();
        assert_eq!(space.show(gates[1])["same"], cards[0]["same"]);
        // Every one of them was shown with it.
        assert_eq!(space.show(gates[2])["seen"][0]["by"], "ann");
        let before = times(space, "gate.answered");
        let also = format!("also answered gate {}", gates[2]);
        space.ann(&["respond", gates[1], "8080"]).says("also answered gate").says(&also).ok();
        assert_eq!(times(space, "gate.answered"), before + 3);
        let audit = space.audit();
        for ((task, gate), agent) in asked.iter().zip(AGENTS) {
            let own: Vec<_> = audit
                .iter()
                .filter(|e| e["action"] == "gate.answered" && e["object"] == gate.as_str())
                .collect();
            assert_eq!(own.len(), 1);
            let shown = space.show(gate);
            assert_eq!(own[0]["digest"], shown["digest"], "each by its own digest");
            assert_eq!(shown["delivery"]["state"], "pending");
            assert_eq!(space.state(task), "open");
            assert_eq!(space.run(Who::Agent(agent), &["wait", gate]).ok(), "8080");
            assert_eq!(space.show(gate)["delivery"]["state"], "acknowledged");
        }
        assert_eq!(inbox(space, Who::Human("ann")).len(), 0);
        space.verify();
    }
}

on_both! {
    /// Other words, options, facts, people or proof are another question; so is a yes for other work.
    fn what_differs_is_another_card(space: &Space) {
        let asks: [&[&str]; 9] = [
            &["Which port?"],
            &["Which port"],
            &["Which port?", "--context", "quick"],
            &["Which port?", "--option", "80"],
            &["Which port?", "--option", "80", "--option", "81"],
            &["Which port?", "--option", "80=taken"],
            &["Which port?", "--fact", "host=a"],
            &["Which port?", "--to", "ann"],
            &["Which port?", "--proof", "tty"],
        ];
        for agent in ["coder", "tester"] {
            for args in asks {
                space.ask(agent, args);
            }
        }
        let cards = inbox(space, Who::Human("ann"));
        assert_eq!(cards.len(), 9);
        assert!(cards.iter().all(|card| handles(card).len() == 2), "{cards:?}");
        // Leave to do something is for one piece of work, and a sign-off is never shared.
        let tasks = [space.create(&["One"]), space.create(&["Two"])];
        for kind in ["input", "approval", "review", "checkpoint"] {
            for task in &tasks {
                space.ask("coder", &["Go on?", "--verdict", "--kind", kind, "--task", task]);
            }
        }
        let cards = inbox(space, Who::Human("ann"));
        let alone = cards.iter().filter(|card| card["question"] == "Go on?");
        assert_eq!(alone.filter(|card| handles(card).len() == 1).count(), 8);
        space.verify();
    }
}

on_both! {
    /// `--only` answers one of them; the others wait on as one card.
    fn one_of_them_alone(space: &Space) {
        let asked = three_ask(space, "Which port?");
        let gates: Vec<_> = asked.iter().map(|(_, gate)| gate.as_str()).collect();
        let only = space.ann(&["respond", gates[0], "1", "--only"]).never_says("also").exits(0);
        drop(only);
        assert_eq!(handles(&inbox(space, Who::Human("ann"))[0]), gates[1..]);
        let rest = space.ann(&["respond", gates[1], "2", "--json"]).json();
        assert_eq!(rest["handle"], gates[1]);
        assert_eq!(rest["also"][0]["handle"], gates[2]);
        let text = |gate: &str| space.show(gate)["answer"]["text"].as_str().unwrap().to_owned();
        assert_eq!([text(gates[0]), text(gates[1]), text(gates[2])], ["1", "2", "2"]);
        space.verify();
    }
}

on_both! {
    /// Who asks the same after the person looked is answered with it; who words it anew is not, and
    /// nobody is while the card in front of the person is not what it was.
    fn who_joins_after_the_look(space: &Space) {
        let first = space.ask("coder", &["Which port?"]);
        space.ann(&["show", &first]).never_says("agents ask this").exits(0);
        let joined = space.ask("tester", &["Which port?"]);
        let other = space.ask("tester", &["Which port?", "--context", "and drop the tables"]);
        space.coder(&["ask", "Which port, and may I drop the tables?", "--revise", &first]).ok();
        space.ann(&["respond", &first, "80"]).refused("SAY005");
        assert_eq!(space.show(&joined)["state"], "open", "nothing was answered by halves");
        space.coder(&["ask", "Which port?", "--revise", &first]).ok();
        space.ann(&["show", &first]).says("2 agents ask this").exits(0);
        space.ann(&["respond", &first, "80"]).says(&joined).ok();
        assert_eq!(space.show(&joined)["answer"]["text"], "80");
        assert_eq!(space.show(&other)["state"], "open");
        space.verify();
    }
}

on_both! {
    /// Whoever launched an agent is left out where the policy says so, also when others ask the same.
    fn what_is_not_yours_is_not_in_your_card(space: &Space) {
        policy(space, "space", "
rules:
  - {name: own-work, on: ask, then: ask, ask: {not_launcher: true}}
");
        // Whoever is at the terminal made the agent's token. A script was launched by nobody.
        let theirs = space.ask("coder", &["Which port?"]);
        let script = space.run(Who::Script, &["ask", "Which port?"]).ok();
        let again = space.run(Who::Script, &["ask", "Which port?"]).ok();
        let card = &inbox(space, Who::Terminal)[0];
        assert_eq!((handles(card), &card["others"]), (vec![&*script, &*again], &json!(1)));
        let card = &inbox(space, Who::Human("ann"))[0];
        assert_eq!((handles(card), &card["others"]), (vec![&*theirs, &*script, &*again], &json!(0)));
        space.run(Who::Terminal, &["inbox", "--plain"]).says("one more asks it who is not yours to answer").ok();
        space.run(Who::Terminal, &["respond", &theirs, "80"]).refused("SAY013");
        let said = space.run(Who::Terminal, &["respond", &script, "80"]).exits(0);
        said.says(&format!("also answered gate {again}")).never_says(&theirs);
        assert_eq!(space.show(&theirs)["state"], "open");
        space.ann(&["respond", &theirs, "81"]).never_says("also").exits(0);
        assert_eq!(space.show(&again)["answer"]["text"], "80");
        space.verify();
    }
}

on_both! {
    /// Where two have to agree, each yes counts for every gate of the card.
    fn several_have_to_agree(space: &Space) {
        let two = ["Which port?", "--to", "ann", "--to", "bob", "--quorum", "2"];
        let gates = ["coder", "tester"].map(|agent| space.ask(agent, &two));
        space.ann(&["respond", &gates[0], "80"]).says("still needs").says("also counted for").ok();
        assert_eq!(inbox(space, Who::Human("bob")).len(), 1);
        space.run(Who::Human("bob"), &["respond", &gates[1], "80"]).says("also answered").ok();
        for gate in &gates {
            assert_eq!(space.show(gate)["state"], "answered");
        }
        space.verify();
    }
}

on_both! {
    /// What unblocks most comes first, then what waits longest; `next` agrees with `inbox`.
    fn the_order_of_the_inbox(space: &Space) {
        let old = space.ask("coder", &["Which host?"]);
        let asked = three_ask(space, "Which port?");
        let late = space.ask("coder", &["Which path?"]);
        let order: Vec<_> = inbox(space, Who::Human("ann"))
            .iter()
            .map(|card| card["handle"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(order, [asked[0].1.clone(), old.clone(), late.clone()]);
        let next = space.ann(&["next", "--awaiting", "--json"]).json();
        assert_eq!(next["handle"], order[0].as_str());
        let page = space.ann(&["inbox", "-n", "1", "--json"]).json();
        assert_eq!(page["next"], order[0].as_str());
        let page = space.ann(&["inbox", "-n", "2", "--after", &order[0], "--json"]).json();
        assert_eq!(page["items"][1]["handle"], late.as_str());
        assert_eq!(page["next"], Value::Null);
    }
}

on_both! {
    /// All that waits behind a task counts: what depends on it at any depth, and the epics it is part of. Rows
    /// and cards say so, and pages go on where they ended although the last card is gone.
    fn what_waits_behind_a_task_counts(space: &Space) {
        let lone = space.create(&["Tidy up"]);
        let old = space.ask("coder", &["Which host?", "--task", &lone]);
        let epic = space.create(&["The shop"]);
        let part = space.create(&["Build the cart", "--parent", &epic]);
        let after = space.create(&["Announce it", "--blocked-by", &epic]);
        let over = space.create(&["Nothing any more", "--blocked-by", &part]);
        space.ann(&["close", &over]).ok();
        let young = space.ask("tester", &["Which port?", "--task", &part]);
        let order = || -> Vec<_> {
            let cards = inbox(space, Who::Human("ann"));
            cards.iter().map(|card| card["handle"].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(order(), [young.clone(), old.clone()]);
        let rows = space.ann(&["inbox", "--plain"]).says("unblocks 3 tasks").ok();
        assert_eq!(rows.matches("unblocks").count(), 1, "{rows}");
        space.ann(&[]).says("unblocks 3 tasks").ok();
        let card = space.ann(&["show", &young, "--json"]).json();
        let unblocks = &card["unblocks"];
        assert_eq!((unblocks["tasks"].as_u64(), unblocks["more"].as_bool()), (Some(3), Some(false)));
        let first: Vec<_> = (0..3).map(|n| unblocks["first"][n]["handle"].as_str().unwrap()).collect();
        assert_eq!(first, [&part, &epic, &after]);
        space.ann(&["show", &young]).says("an answer unblocks 3 tasks").says("Announce it").ok();
        // The last card of the page before is answered meanwhile: what was behind it is still there.
        space.ann(&["respond", &young, "80"]).ok();
        let page = space.ann(&["inbox", "-n", "9", "--after", &young, "--json"]).json();
        assert_eq!(page["items"][0]["handle"], old.as_str());
        // What is over is held up by nothing.
        space.ann(&["close", &after]).ok();
        let again = space.ask("tester", &["Which path?", "--task", &part]);
        assert_eq!(space.show(&again)["unblocks"]["tasks"], 2);
        space.verify();
    }
}

on_both! {
    /// Put off is the card; who asks it anew brings it back.
    fn a_card_is_put_off_as_a_whole(space: &Space) {
        let first = space.ask("coder", &["Which port?"]);
        let second = space.ask("tester", &["Which port?"]);
        space.ann(&["claim", &first]).ok();
        assert_eq!(space.show(&second)["claimed_by"], "ann");
        space.ann(&["snooze", &second, "2h"]).ok();
        assert_eq!(inbox(space, Who::Human("ann")).len(), 0);
        let third = space.ask("coder", &["Which port?"]);
        assert_eq!(handles(&inbox(space, Who::Human("ann"))[0]), [&first, &second, &third]);
        space.verify();
    }
}

on_both! {
    /// Several gates at once: each has its own outcome, and one that is refused hides no other.
    fn several_at_once(space: &Space) {
        let gates: Vec<_> = (0..4)
            .map(|n| space.ask("coder", &[&format!("Do {n}?"), "--verdict"]))
            .collect();
        space.run(Who::Human("bob"), &["reject", &gates[1], "no"]).ok();
        let all = format!("{},{},nonsense,{}", gates[0], gates[1], gates[2]);
        let ran = space.ann(&["approve", &all, "--json"]).exits(6);
        let outcomes: Value = serde_json::from_str(&ran.stdout).unwrap();
        let outcome = |n: usize| outcomes["items"][n]["outcome"].as_str().unwrap().to_owned();
        assert_eq!([0, 1, 2, 3].map(outcome), ["answered", "refused", "refused", "answered"]);
        assert_eq!(outcomes["items"][1]["code"], "SAY004");
        assert_eq!(outcomes["items"][3]["answered"]["verdict"], "approved");
        space.ann(&["reject", &format!("{},{}", gates[0], gates[3]), "too late"])
            .exits(6)
            .says("SAY004")
            .says(&format!("gate {} rejected", gates[3]));
        space.ann(&["approve", &all, "--digest", "0123456789ab"]).refused("several");
        space.verify();
    }
}

on_both! {
    /// People race for one card: one of them answers all of it, and everybody else is told who.
    fn one_of_many_racers_answers_all_of_it(space: &Space) {
        let (mut won, mut lost) = (0, 0);
        for round in 0..4 {
            let asked = three_ask(space, &format!("Which port, {round}?"));
            let racers: Vec<_> = (0..6)
                .map(|n| {
                    let (name, gate) = (["ann", "bob"][n % 2], &asked[n % 3].1);
                    space.start(Who::Human(name), &["respond", gate, &format!("{n}")])
                })
                .collect();
            let ran: Vec<_> = racers.into_iter().map(|c| c.wait_with_output().unwrap()).collect();
            let winners = ran.iter().filter(|output| output.status.success()).count();
            assert_eq!(winners, 1, "{ran:?}");
            assert!(ran.iter().all(|o| matches!(o.status.code(), Some(0 | 6))), "{ran:?}");
            let texts: Vec<_> = asked.iter().map(|(_, gate)| space.show(gate)["answer"].clone()).collect();
            assert!(texts.iter().all(|t| t == &texts[0] && !t.is_null()), "{texts:?}");
            (won, lost) = (won + winners, lost + ran.len() - winners);
        }
        assert_eq!((won, lost), (4, 20));
        assert_eq!(times(space, "gate.answered"), 12);
        space.verify();
    }
}

on_both! {
    /// Whoever answers is killed at any moment: all of the card is answered, or nothing of it.
    fn killed_in_between_it_is_all_or_nothing(space: &Space) {
        let mut looked = 0;
        for round in 0..12 {
            let asked = three_ask(space, &format!("Which port, {round}?"));
            let mut answer = space
                .command(Who::Human("ann"), &["respond", &asked[0].1, "80"])
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            std::thread::sleep(Duration::from_millis(round * 3));
            let _ = answer.kill();
            answer.wait().unwrap();
            let states: Vec<_> = asked.iter().map(|(_, gate)| space.show(gate)["state"].clone()).collect();
            assert!(states.iter().all(|state| state == &states[0]), "by halves: {states:?}");
            // Once more, and it is answered exactly once.
            space.ann(&["respond", &asked[0].1, "80"]).ok();
            for (task, gate) in &asked {
                assert_eq!(space.show(gate)["answer"]["text"], "80");
                assert_eq!(space.state(task), "open");
                looked += 1;
            }
        }
        assert_eq!(looked, 36);
        assert_eq!(times(space, "gate.answered"), 36);
        space.verify();
    }
}

on_both! {
    /// Agents that wait through MCP are answered by the same answer, each in its own call.
    fn agents_that_speak_mcp_share_a_card(space: &Space) {
        let question = json!({"question": "Which colour?", "options": ["red", "blue"]});
        let mut clients = ["coder", "tester"].map(|agent| Client::of(space, agent, "30s"));
        let calls = clients.each_mut().map(|client| client.begin_call("ask_human", &question));
        let end = std::time::Instant::now() + Duration::from_secs(20);
        let card = loop {
            let cards = inbox(space, Who::Human("ann"));
            if cards.len() == 1 && handles(&cards[0]).len() == 2 {
                break cards[0].clone();
            }
            assert!(std::time::Instant::now() < end, "{cards:?}");
            std::thread::sleep(Duration::from_millis(20));
        };
        space.ann(&["choose", card["handle"].as_str().unwrap(), "blue"]).ok();
        for (client, call) in clients.iter_mut().zip(calls) {
            let answer = said(&client.reply(call));
            assert_eq!((&answer["answer"], &answer["answered_by"]), (&json!("blue"), &json!("ann")));
        }
        space.verify();
    }
}

on_both! {
    /// Bare `sayso` calls "for you" what one may answer, offers no command that would be refused, and counts as
    /// the list does.
    fn what_is_yours_at_a_glance(space: &Space) {
        let mine = space.ask("coder", &["Mine?", "--verdict", "--to", "ann"]);
        let both = space.ask("coder", &["Ours?", "--verdict", "--to", "ann", "--to", "bob"]);
        let theirs = space.ask("coder", &["Theirs?", "--verdict", "--to", "bob"]);
        let later = space.ask("coder", &["Later?", "--verdict"]);
        space.ann(&["snooze", &later, "2h"]).ok();
        let listed = || space.ann(&["inbox", "--plain"]).ok().matches("[?]").count();
        assert_eq!(listed(), 3);
        let said = space.ann(&[]).says("2 things wait for you").says("One more waits for others").ok();
        assert!(said.contains("Mine?") && said.contains("Ours?"), "{said}");
        assert!(!said.contains("Theirs?") && !said.contains("Later?"), "{said}");
        space.ann(&["approve", &format!("{mine},{both}")]).ok();
        assert_eq!(listed(), 1);
        let said = space.ann(&[]).says("Nothing waits for you").says("One more waits for others").ok();
        assert!(!said.contains("approve"), "{said}");
        space.ann(&["approve", &theirs]).refused("SAY013");
        // An agent is told of its own, and of no way to answer it.
        space.coder(&[]).says("One thing waits for a person").never_says("sayso approve").exits(0);
    }
}
