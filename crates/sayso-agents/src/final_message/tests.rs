//! Tests of the parser for final messages: tables and random messages.
#![allow(clippy::unwrap_used, clippy::panic)]

use super::*;
use proptest::prelude::*;

fn completed(message: &str) -> (String, Option<u8>) {
    match read(message) {
        TurnResult::Completed { summary, confidence } => (summary, confidence),
        other => panic!("{message:?} reads as {other:?}"),
    }
}

fn asks(message: &str) -> Vec<AgentQuestion> {
    match read(message) {
        TurnResult::Asks(requests) => requests,
        other => panic!("{message:?} reads as {other:?}"),
    }
}

fn check_asks(message: &str, expected: &[(GateKind, &str, &str)]) {
    let asked = asks(message);
    let asked: Vec<_> =
        asked.iter().map(|r| (r.kind, r.question.as_str(), r.context.as_str())).collect();
    assert_eq!(asked, expected, "{message}");
}

fn check_unclear(message: &str, word: &str) {
    match read(message) {
        TurnResult::Unclear { why } => assert!(why.contains(word), "{message:?}: {why}"),
        other => panic!("{message:?} reads as {other:?}"),
    }
}

fn check_failed(message: &str, expected: &str) {
    assert_eq!(read(message), TurnResult::Failed { reason: expected.into() }, "{message}");
}

#[test]
fn a_signal_says_that_all_is_done() {
    assert_eq!(completed("Fixed it.\n\n<promise>COMPLETE</promise>"), ("Fixed it.".into(), None));
    assert_eq!(completed("<promise>COMPLETE: fixed ü ✓</promise>").0, "fixed ü ✓");
    assert_eq!(completed("Done.\n<promise> COMPLETE </promise>\r\n").0, "Done.");
    assert_eq!(completed("<promise>COMPLETE</promise>\n```\nit passes\n```").1, None);
    for prose in [
        "I will not print <promise>COMPLETE</promise> because tests fail.",
        "I was to end with \"<promise>COMPLETE</promise>\" but I cannot.",
        "<promise>COMPLETE</promise>\nI am not done yet.",
        "For example:\n\n    <promise>COMPLETE</promise>",
        "I cannot say <promise>COMPLETE</promise>",
        "<promise>COMPLETE</promise> bye",
    ] {
        check_unclear(prose, "alone on the last line");
    }
}

#[test]
fn every_name_asks_for_its_kind() {
    for (name, kind) in ASKING {
        check_asks(&format!("<promise>{name}: Which?</promise>"), &[(*kind, "Which?", "")]);
        check_unclear(&format!("<promise>{name}</promise>"), name);
        check_unclear(&format!("<promise>{name}: \n </promise>"), name);
    }
    assert_eq!(ASKING.len(), 8);
}

#[test]
fn a_context_may_have_many_lines_and_code() {
    check_asks(
        "<promise>INPUT_NEEDED: Which one?\n\nEither `a` or:\n```\n</promise>\n```\n> or b\n</promise>",
        &[(GateKind::Input, "Which one?", "Either `a` or:\n```\n</promise>\n```\n> or b")],
    );
}

#[test]
fn no_question_is_lost_and_none_is_outranked() {
    check_asks(
        "<promise>COMPLETE</promise> <promise>INPUT_NEEDED: a?</promise>\n\
         <promise>ESCALATE: b</promise> <promise>INPUT_NEEDED: a?</promise>",
        &[(GateKind::Input, "a?", ""), (GateKind::Escalation, "b", "")],
    );
    check_asks(
        "<promise>done</promise>\n<promise>APPROVAL_NEEDED: ship it</promise>",
        &[(GateKind::Approval, "ship it", "")],
    );
    check_asks(
        "```json\n{\"status\":\"needs_input\",\"question\":\"a?\"}\n```\n\
         ```json\n{\"status\":\"completed\",\"summary\":\"s\"}\n```\n<promise>COMPLETE</promise>",
        &[(GateKind::Input, "a?", "")],
    );
    check_asks(
        "{\"status\":\"needs_input\",\"question\":\"a?\"}\nand then all went well\n\
         {\"status\":\"completed\"}",
        &[(GateKind::Input, "a?", "")],
    );
    let many: String = (0..40).map(|n| format!("<promise>ESCALATE: {n}</promise>")).collect();
    check_unclear(&many, "more than 32");
}

#[test]
fn what_is_not_exactly_a_signal_is_never_a_yes() {
    check_unclear("", "empty");
    check_unclear(" \n\t", "empty");
    check_unclear("All done!", "no signal");
    check_unclear("<promise>complete</promise>", "write COMPLETE");
    check_unclear("<promise>Complete</promise>", "write COMPLETE");
    check_unclear("<promise>input_needed: a?</promise>", "write INPUT_NEEDED");
    check_unclear("<promise>DONE</promise>", "no signal \"DONE\"");
    check_unclear("<promise>COMPLETE", "not closed");
    check_unclear("<promise>COMPLETE <promise>COMPLETE</promise>", "not closed");
    check_unclear("COMPLETE</promise>", "before it");
    check_unclear("<PROMISE>COMPLETE</PROMISE>", "exactly");
    check_unclear("<Promise>COMPLETE</Promise> <promise>COMPLETE</promise>", "exactly");
    check_unclear("<promise kind=\"x\">COMPLETE</promise>", "exactly");
    check_unclear("<promise>COMPLETE</promise> <promise>INPUT_NEEDED</promise>", "INPUT_NEEDED");
    check_unclear("<promise>`COMPLETE`</promise>", "no signal");
    check_unclear("<promise>СOMPLETE</promise>", "no signal");
}

#[test]
fn examples_and_quotes_do_not_count() {
    for message in [
        "I end with `<promise>COMPLETE</promise>`.",
        "I end with ``<promise>COMPLETE</promise> ` ``.",
        "> <promise>COMPLETE</promise>",
        "   > said <promise>COMPLETE</promise>",
        "```\n<promise>COMPLETE</promise>\n```",
        "~~~ text\n<promise>COMPLETE</promise>\n~~~",
        "````\n```\n<promise>COMPLETE</promise>\n```\n````",
        "```md\n    ```\n<promise>COMPLETE</promise>\n    ```\n```",
        "- item\n  ```\n  <promise>COMPLETE</promise>\n  ```",
        "```\n<promise>COMPLETE</promise>",
        "a `code\nspan <promise>COMPLETE</promise> over` lines",
    ] {
        check_unclear(message, "");
    }
    assert_eq!(completed("```\nx\n```\n<promise>COMPLETE</promise>").0, "```\nx\n```");
    assert_eq!(completed("a ` b\n\nc `\n<promise>COMPLETE</promise>").0, "a ` b\n\nc `");
}

#[test]
fn code_that_is_not_closed_hides_no_question() {
    check_unclear(
        "<promise>COMPLETE</promise>\n```\n<promise>INPUT_NEEDED: a?</promise>",
        "not closed",
    );
    check_unclear(
        "<promise>COMPLETE</promise>\n```\nx\n```json\n{\"status\":\"needs_input\",\"question\":\"a?\"}\n```",
        "not closed",
    );
}

#[test]
fn a_result_in_json_is_read() {
    let json = r#"{"status":"completed","summary":"done","confidence":0.856,"other":[1]}"#;
    for message in [
        format!("Prose.\n```json\n{json}\n```\nMore prose."),
        format!("Prose.\n```JSON\n{json}\n```"),
        format!("Prose.\n{json}"),
        format!("{json}\n\n<promise>COMPLETE</promise>\n"),
    ] {
        assert_eq!(completed(&message), ("done".into(), Some(86)), "{message}");
    }
    check_unclear(&format!("```\n{json}\n```"), "marked json");
    let asking = "```\n{\"status\":\"needs_input\",\"question\":\"a?\"}\n```";
    check_asks(asking, &[(GateKind::Input, "a?", "")]);
    check_failed(
        r#"{"status":"failed","summary":"no way","issues":["a","b"]}"#,
        "no way\n\n- a\n- b",
    );
    let asked = asks(
        r#"{"status":"needs_input","question":"Which?","questionContext":"Two ways.",
            "options":["A",{"label":"B"}],"issues":["c"],"summary":"half"}"#,
    );
    assert_eq!(asked[0].options, ["A", "B"]);
    assert_eq!(asked[0].context, "Two ways.\n\nhalf\n\n- c");
    check_asks(r#"{"status":"blocked","question":"a?"}"#, &[(GateKind::Input, "a?", "")]);
    check_asks(r#"{"status":"blocked","summary":"stuck"}"#, &[(GateKind::Escalation, "stuck", "")]);
}

#[test]
fn of_several_results_the_last_counts() {
    let block =
        |status: &str| format!("```json\n{{\"status\":\"{status}\",\"summary\":\"s\"}}\n```\n");
    check_failed(&(block("completed") + &block("failed")), "s");
    assert_eq!(completed(&(block("failed") + &block("completed"))).0, "s");
    assert_eq!(completed(&(block("completed") + &block("ok"))).0, "s");
    check_unclear(&block("done"), "no status \"done\"");
}

#[test]
fn contradictions_are_never_completed() {
    check_failed("{\"status\":\"failed\",\"summary\":\"s\"}\n<promise>COMPLETE</promise>", "s");
    check_unclear(
        "<promise>COMPLETE</promise>\n{\"status\":\"failed\",\"summary\":\"s\"}",
        "alone",
    );
    check_unclear("{\"status\":\"completed\"}\n<promise>complete</promise>", "write COMPLETE");
}

#[test]
fn broken_json_with_a_status_is_unclear() {
    for message in [
        "```json\n{\"status\":\"completed\",}\n```",
        "```json\n{'status':'needs_input'}\n```\n<promise>COMPLETE</promise>",
        "{\"status\":\"completed\", \"summary\": oops}\n<promise>COMPLETE</promise>",
        "{\"status\":\"completed\"",
        "```json\n{\"status\":\"needs_input\",\"status\":\"completed\"}\n```",
        "```json\n{\"status\":\"needs_input\"}\n```\n<promise>COMPLETE</promise>",
        "```json\n{\"status\":\"blocked\"}\n```\n<promise>COMPLETE</promise>",
    ] {
        check_unclear(message, "JSON");
    }
    check_unclear("{\"status\":\"completed\"}\nThat is the format; I am not done.", "no signal");
    check_unclear("```python\n{\"status\":\"completed\"}\n```", "code block");
    assert_eq!(completed("fn main() {\n{ let x; }\n<promise>COMPLETE</promise>").1, None);
}

#[test]
fn a_megabyte_is_read_in_no_time() {
    let end = "\n<promise>INPUT_NEEDED: a?</promise>";
    let pieces = [
        "<",
        "`",
        "a `` b ` ",
        "<promise>",
        "</promise>",
        "> ",
        "{",
        "{\"a\":[\n",
        "{}\n",
        "\"status\"",
        "```\n",
        "```json\n",
        "{\n",
        "{\"status\":1}\n<promise>\n",
        "é",
        "\n",
        "{\"a\":{\"b\":\n",
    ];
    for piece in pieces {
        let message = piece.repeat(1_000_000 / piece.len()) + end;
        let started = std::time::Instant::now();
        let said = read(&message);
        let took = started.elapsed();
        assert!(took.as_secs() < 3, "{piece:?} took {took:?}");
        assert!(!matches!(said, TurnResult::Completed { .. }), "{piece:?}");
    }
    let spam = "x".repeat(1_000_000);
    check_asks(&format!("{spam}{end}"), &[(GateKind::Input, "a?", "")]);
}

/// Generates messages from signals, results and code.
fn messages() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("<promise>COMPLETE</promise>".to_owned()),
        Just("<promise>".to_owned()),
        Just("</promise>".to_owned()),
        Just("COMPLETE".to_owned()),
        Just("<promise>INPUT_NEEDED: a?</promise>".to_owned()),
        Just("<promise>DONE</promise>".to_owned()),
        Just("```".to_owned()),
        Just("```json\n".to_owned()),
        Just("~~~".to_owned()),
        Just("`".to_owned()),
        Just("``".to_owned()),
        Just("\n".to_owned()),
        Just("\n\n".to_owned()),
        Just("\n> ".to_owned()),
        Just("    ".to_owned()),
        Just("{\"status\":\"completed\"}".to_owned()),
        Just("{\"status\":\"failed\",\"summary\":\"s\"}".to_owned()),
        Just("{\"status\":".to_owned()),
        Just("\n{\"a\":[\"".to_owned()),
        "[a-zé \"{}:,\\\\]{0,8}",
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn nothing_makes_it_panic(message in "\\PC{0,200}", other in messages()) {
        read(&message);
        read(&other);
    }

    #[test]
    fn without_complete_nothing_is_completed(message in messages()) {
        let message = message.replace("COMPLETE", "COMPLETED").replace("completed", "complete");
        let said = read(&message);
        prop_assert!(!matches!(said, TurnResult::Completed { .. }), "{message:?} reads as {said:?}");
    }

    #[test]
    fn what_is_only_in_code_is_never_completed(message in messages()) {
        let message = message.replace(['`', '~'], "");
        let said = read(&format!("````\n{message}\n````\n"));
        prop_assert!(!matches!(said, TurnResult::Completed { .. }), "{message:?} reads as {said:?}");
    }

    #[test]
    fn with_a_question_nothing_is_completed(message in messages(), first: bool) {
        for question in [
            "<promise>INPUT_NEEDED: Which one?</promise>",
            "```json\n{\"status\":\"needs_input\",\"question\":\"Which one?\"}\n```",
            "{\"status\":\"needs_input\",\"question\":\"Which one?\"}",
        ] {
            let whole = if first { format!("{question}\n\n{message}") } else { format!("{message}\n\n{question}") };
            let said = read(&whole);
            prop_assert!(!matches!(said, TurnResult::Completed { .. }), "{whole:?} reads as {said:?}");
        }
    }
}
