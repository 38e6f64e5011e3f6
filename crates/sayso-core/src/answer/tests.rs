//! Tests of answers against question forms, and of schemas with hostile content.

use super::*;
use serde_json::json;

fn choice(multi: bool, other: bool) -> AnswerShape {
    let option = |name: &str| ChoiceOption::named(name);
    AnswerShape::Choice { options: vec![option("red"), option("blue")], multi, other }
}

fn picks(names: &[&str], other: Option<&str>) -> Answer {
    Answer::choice(names.iter().map(|n| n.to_string()).collect(), other.map(Into::into))
}

#[test]
fn what_fits_what() {
    let form = AnswerShape::Form {
        schema: json!({"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}),
    };
    let table: Vec<(GateKind, AnswerShape, Answer, Option<Code>)> = vec![
        (GateKind::Approval, AnswerShape::Verdict, Answer::approved(), None),
        (GateKind::Approval, AnswerShape::Verdict, Answer::rejected(None), None),
        (GateKind::Escalation, AnswerShape::Verdict, Answer::text("go left"), None),
        (GateKind::Work, AnswerShape::Verdict, Answer::text("it is done"), None),
        (
            GateKind::Approval,
            AnswerShape::Verdict,
            Answer::text("not yet"),
            Some(Code::WrongAnswer),
        ),
        (GateKind::Checkpoint, AnswerShape::Verdict, Answer::text("no"), Some(Code::WrongAnswer)),
        (GateKind::Approval, AnswerShape::Verdict, picks(&["red"], None), Some(Code::WrongAnswer)),
        (GateKind::Work, AnswerShape::Verdict, Answer::rejected(None), Some(Code::ReasonMissing)),
        (
            GateKind::Work,
            AnswerShape::Verdict,
            Answer::rejected(Some(" ".into())),
            Some(Code::ReasonMissing),
        ),
        (GateKind::Work, AnswerShape::Verdict, Answer::rejected(Some("no access".into())), None),
        (GateKind::Input, AnswerShape::Text, Answer::text("JWT"), None),
        (GateKind::Input, AnswerShape::Text, Answer::text("  \n"), Some(Code::EmptyAnswer)),
        (GateKind::Input, AnswerShape::Text, Answer::approved(), Some(Code::EmptyAnswer)),
        (GateKind::Input, AnswerShape::Text, Answer::rejected(None), None),
        (GateKind::Input, AnswerShape::Text, picks(&["red"], None), Some(Code::WrongAnswer)),
        (GateKind::Decision, choice(false, false), picks(&["red"], None), None),
        (
            GateKind::Decision,
            choice(false, false),
            picks(&["Red"], None),
            Some(Code::UnknownOption),
        ),
        (
            GateKind::Decision,
            choice(false, false),
            picks(&["red", "blue"], None),
            Some(Code::WrongAnswer),
        ),
        (GateKind::Decision, choice(true, false), picks(&["red", "blue"], None), None),
        (
            GateKind::Decision,
            choice(true, false),
            picks(&["red", "red"], None),
            Some(Code::WrongAnswer),
        ),
        (GateKind::Decision, choice(true, false), picks(&[], None), Some(Code::EmptyAnswer)),
        (
            GateKind::Decision,
            choice(false, false),
            picks(&[], Some("green")),
            Some(Code::UnknownOption),
        ),
        (GateKind::Decision, choice(false, true), picks(&[], Some("green")), None),
        (GateKind::Decision, choice(false, true), picks(&[], Some(" ")), Some(Code::EmptyAnswer)),
        (
            GateKind::Decision,
            choice(false, true),
            picks(&["red"], Some("green")),
            Some(Code::WrongAnswer),
        ),
        (GateKind::Decision, choice(false, false), Answer::text("red"), Some(Code::WrongAnswer)),
        (
            GateKind::Tool,
            AnswerShape::Verdict,
            Answer { content: AnswerContent::Arguments(json!({})), ..Answer::approved() },
            None,
        ),
        (
            GateKind::Tool,
            AnswerShape::Verdict,
            Answer { content: AnswerContent::Arguments(json!(["ls"])), ..Answer::approved() },
            Some(Code::WrongAnswer),
        ),
        (
            GateKind::Review,
            AnswerShape::Verdict,
            Answer { content: AnswerContent::Arguments(json!({})), ..Answer::approved() },
            Some(Code::WrongAnswer),
        ),
        (GateKind::Input, form.clone(), Answer::form(json!({"n": 1})), None),
        (GateKind::Input, form, Answer::form(json!({"n": "1"})), Some(Code::InvalidForm)),
        (
            GateKind::Decision,
            choice(false, false),
            Answer { verdict: Verdict::Rejected, ..picks(&["red"], None) },
            Some(Code::WrongAnswer),
        ),
        (
            GateKind::Approval,
            AnswerShape::Verdict,
            Answer::rejected(Some("x".repeat(ANSWER_BYTES_MAX))),
            None,
        ),
        (
            GateKind::Approval,
            AnswerShape::Verdict,
            Answer::rejected(Some("x".repeat(ANSWER_BYTES_MAX + 1))),
            Some(Code::TooLarge),
        ),
        (
            GateKind::Input,
            AnswerShape::Text,
            Answer::text("x".repeat(ANSWER_BYTES_MAX + 1)),
            Some(Code::TooLarge),
        ),
    ];
    for (kind, shape, answer, expected) in table {
        let got = answer.check(kind, &shape).err().map(|r| r.code);
        assert_eq!(got, expected, "{kind} {shape:?} {:.80?}", answer);
    }
}

#[test]
fn what_cannot_be_asked() {
    let option = |name: &str| ChoiceOption::named(name);
    let of = |options| AnswerShape::Choice { options, multi: false, other: false };
    let code = |shape: AnswerShape| shape.check().err().map(|r| r.code);
    assert_eq!(code(of(vec![])), Some(Code::BadValue));
    assert_eq!(code(of(vec![option("a"), option("a")])), Some(Code::BadValue));
    assert_eq!(code(of(vec![option("ship"), option("ship ")])), Some(Code::BadValue));
    assert_eq!(code(of(vec![option(" ")])), Some(Code::BadValue));
    let many = (0..=OPTIONS_MAX).map(|n| option(&n.to_string())).collect();
    assert_eq!(code(of(many)), Some(Code::TooLarge));
    assert_eq!(
        code(AnswerShape::Form { schema: json!({"type": "nonsense"}) }),
        Some(Code::InvalidForm)
    );
    let remote = json!({"$ref": "http://127.0.0.1:1/schema.json"});
    assert_eq!(code(AnswerShape::Form { schema: remote }), Some(Code::InvalidForm));
}

#[test]
fn what_does_not_fit_is_told_where_it_stands() {
    let schema = json!({"type": "object", "required": ["a/b"], "properties": {
        "port": {"type": "integer"},
        "proxy": {"type": "object", "required": ["host"]},
        "tags": {"type": "array", "items": {"type": "string"}}}});
    let form = json!({"port": "x", "proxy": {}, "tags": ["a", 1]});
    let answer = Answer { content: AnswerContent::Form(form), ..Answer::approved() };
    let refused = answer.check(GateKind::Input, &AnswerShape::Form { schema }).err();
    let misfits = refused.map_or_else(Box::default, |refusal| refusal.misfits);
    // The order in which errors are found is up to the library.
    let mut places: Vec<_> = misfits.iter().map(|it| it.at.as_str()).collect();
    places.sort_unstable();
    assert_eq!(places, ["/a~1b", "/port", "/proxy/host", "/tags/1"]);
}

/// Returns the message for a value of this format, or `None` if the value fits.
fn misfit(format: &str, value: &str) -> Option<String> {
    let schema = json!({"properties": {"x": {"type": "string", "format": format}}});
    let form = AnswerContent::Form(json!({"x": value}));
    let answer = Answer { content: form, ..Answer::approved() };
    let refusal = answer.check(GateKind::Input, &AnswerShape::Form { schema }).err()?;
    assert_eq!(refusal.code, Code::InvalidForm);
    assert_eq!(refusal.misfits[0].at, "/x");
    Some(refusal.misfits[0].words.clone())
}

#[test]
fn a_format_holds_wherever_the_form_is_filled_in() {
    let mail = " is not an e-mail address";
    let address = " is not an address, such as https://example.com";
    let moment = " is not a day and a time with its zone, such as 2026-11-18T09:30:00Z";
    for (format, fits, does_not, words) in [
        ("date", "2028-02-29", "2026-02-31", " is not a day of the calendar, such as 2026-11-18"),
        ("date-time", "2026-11-18T09:30:00+01:00", "2026-11-18 at nine", moment),
        ("time", "09:30:00Z", "25:00", " is not a time of day with its zone, such as 09:30:00Z"),
        ("email", "ann@example.com", "nobody", mail),
        ("idn-email", "änn@exämple.com", "änn@ex ämple.com", mail),
        ("uri", "https://example.com/a?b=c", "http://x y", address),
        ("url", "mailto:ann", "example.com", address),
        ("iri", "https://exämple.com/ä", "//x", address),
        ("ipv4", "127.0.0.1", "127.0.0.256", " is not an IPv4 address"),
        ("uuid", "67e55044-10b1-426f-9247-bb680e5fe0c8", "67e5", " is not a UUID"),
        ("json-pointer", "/a", "a", " is not of the format \"json-pointer\""),
    ] {
        assert_eq!(misfit(format, fits), None, "{format}");
        assert_eq!(misfit(format, does_not), Some(format!("{does_not:?}{words}")), "{format}");
    }
    assert_eq!(misfit("of-our-own", "anything"), None, "a format nobody knows says nothing");
    let long = misfit("email", &"x".repeat(1_000)).unwrap_or_default();
    assert!(long.chars().count() < 200, "{long}");
}

#[test]
fn all_that_does_not_fit_is_told_at_once() {
    let names: Vec<_> = (0..60).map(|n| format!("f{n}")).collect();
    let told = |count: usize| {
        let schema = json!({"type": "object", "required": names[..count]});
        let answer = Answer { content: AnswerContent::Form(json!({})), ..Answer::approved() };
        let refusal = answer.check(GateKind::Input, &AnswerShape::Form { schema }).err();
        refusal.map_or(0, |refusal| refusal.misfits.len())
    };
    assert_eq!((told(1), told(12), told(60)), (1, 12, MISFITS_MAX));
}

#[test]
fn everything_that_does_not_fit_is_told_and_a_few_in_words() {
    let properties: serde_json::Map<_, _> =
        (0..12).map(|at| (format!("f{at}"), json!({"type": "integer"}))).collect();
    let form: serde_json::Map<_, _> = (0..12).map(|at| (format!("f{at}"), json!("x"))).collect();
    let schema = json!({"type": "object", "properties": properties});
    let answer = Answer { content: AnswerContent::Form(form.into()), ..Answer::approved() };
    let refused = answer.check(GateKind::Input, &AnswerShape::Form { schema }).err();
    let told = refused.map(|it| (it.misfits.len(), it.message.ends_with("; and 7 more")));
    assert_eq!(told, Some((12, true)));
}

/// Sixty references to references: 2^60 parts, a few kilobytes of text.
fn bomb() -> Value {
    let both = |n: u32| json!({"anyOf": vec![json!({"$ref": format!("#/$defs/{n}")}); 2]});
    let mut defs: serde_json::Map<_, _> = (0..60).map(|n| (n.to_string(), both(n + 1))).collect();
    defs.insert("60".into(), json!({"type": "integer"}));
    json!({"$defs": defs, "$ref": "#/$defs/0"})
}

#[test]
fn a_form_is_bounded_before_anybody_fills_it() {
    let text = json!({"type": "string"});
    for (name, schema, takes) in [
        (
            "local reference",
            json!({"$id": "urn:x", "$defs": {"t": text}, "properties": {"id": {"$ref": "#/$defs/t"}}}),
            true,
        ),
        ("list of countries", json!({"enum": vec!["Utopia"; 250]}), true),
        ("bomb", bomb(), false),
        ("circle", json!({"properties": {"again": {"$ref": "#"}}}), false),
        ("dangling reference", json!({"$ref": "#/$defs/none"}), false),
        ("moved base", json!({"$defs": {"t": {"$id": "urn:x", "$ref": "#"}}}), false),
        ("dynamic reference", json!({"$dynamicRef": "#x"}), false),
        ("too much", json!({"enum": vec!["x"; FORM_NODES_MAX]}), false),
        ("huge pattern", json!({"pattern": "((a{50}){50}){50}"}), false),
    ] {
        let code = AnswerShape::Form { schema }.check().err().map(|r| r.code);
        assert_eq!(code, (!takes).then_some(Code::InvalidForm), "{name}");
    }
}

#[test]
fn a_hostile_pattern_is_answered_in_linear_time() {
    let schema = json!({"type": "string", "pattern": "^(a+)+$"});
    let shape = AnswerShape::Form { schema };
    let form = AnswerContent::Form(json!(format!("{}!", "a".repeat(50_000))));
    let answer = Answer { content: form, ..Answer::approved() };
    assert_eq!(
        answer.check(GateKind::Input, &shape).err().map(|r| r.code),
        Some(Code::InvalidForm)
    );
}

/// Answers stored before texts and choices had a verdict of their own are read with the right one.
#[test]
fn an_older_answer_is_read_as_answered() {
    let table = [
        (json!({"verdict": "approved"}), Verdict::Approved),
        (json!({"verdict": "approved", "content": {"text": "8081"}}), Verdict::Answered),
        (
            json!({"verdict": "approved", "content": {"choice": {"picked": ["a"]}}}),
            Verdict::Answered,
        ),
        (json!({"verdict": "approved", "content": {"form": {"n": 1}}}), Verdict::Answered),
        (json!({"verdict": "approved", "content": {"arguments": {}}}), Verdict::Approved),
        (json!({"verdict": "rejected", "content": {"text": "no"}}), Verdict::Rejected),
    ];
    for (stored, expected) in table {
        let answer: Answer = serde_json::from_value(stored.clone()).unwrap();
        assert_eq!(answer.verdict, expected, "{stored}");
        let again: Answer = serde_json::from_str(&serde_json::to_string(&answer).unwrap()).unwrap();
        assert_eq!(again, answer);
    }
}

/// The verdict follows from the content, not from the verdict sent with it; and an answer without content is invalid.
#[test]
fn the_verdict_follows_the_content() {
    let option = |name: &str| ChoiceOption::named(name);
    let shape = AnswerShape::Choice {
        options: vec![option("yes"), option("no")],
        multi: true,
        other: true,
    };
    let kind = GateKind::Decision;
    let table = [
        (picks(&["yes"], None), Some(Verdict::Answered)),
        (Answer { verdict: Verdict::Approved, ..picks(&["yes"], None) }, Some(Verdict::Answered)),
        (Answer { verdict: Verdict::Approved, ..picks(&["no"], None) }, Some(Verdict::Rejected)),
        (picks(&["no"], Some("not today")), Some(Verdict::Rejected)),
        (picks(&[], Some("tomorrow")), Some(Verdict::Answered)),
        (picks(&[], Some("no")), None),
        (picks(&["yes", "no"], None), None),
        (Answer { verdict: Verdict::Rejected, ..picks(&["yes"], None) }, None),
        (Answer { verdict: Verdict::Answered, ..Answer::approved() }, None),
        (Answer::approved(), None),
        (Answer::rejected(None), Some(Verdict::Rejected)),
    ];
    for (given, expected) in table {
        let answer = given.clone().with_verdict_for(&shape);
        let verdict = answer.check(kind, &shape).ok().map(|()| answer.verdict);
        assert_eq!(verdict, expected, "{given:?}");
    }
    let bare = Answer { verdict: Verdict::Answered, ..Answer::approved() };
    assert!(bare.check(GateKind::Approval, &AnswerShape::Verdict).is_err(), "a yes is spelt out");
}
