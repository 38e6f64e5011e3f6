//! Passkeys over the API, with an authenticator in software that makes real signatures.

use super::{Server, text};
use crate::governed::policy;
use crate::harness::{Space, on_both};
use serde_json::{Value, json};
use webauthn_authenticator_rs::prelude::{Url, WebauthnAuthenticator};
use webauthn_authenticator_rs::softpasskey::SoftPasskey;

/// Somebody's key, as a browser on this machine would use it.
pub struct Key {
    authenticator: SoftPasskey,
    origin: Url,
}

impl Key {
    pub fn here() -> Self {
        Self::at("http://localhost")
    }

    /// A key whose owner is at this address.
    fn at(origin: &str) -> Self {
        Self { authenticator: SoftPasskey::new(true), origin: Url::parse(origin).unwrap() }
    }

    /// Touches the key to add it.
    pub fn register(&mut self, begun: &Value) -> Value {
        let options = serde_json::from_value(begun["options"].clone()).unwrap();
        let made = self.authenticator.do_registration(self.origin.clone(), options).unwrap();
        json!({"touch": begun["touch"], "credential": made})
    }

    /// Touches the key for an answer.
    pub fn touch(&mut self, asked: &Value) -> Value {
        let options = serde_json::from_value(asked["options"].clone()).unwrap();
        let signed = self.authenticator.do_authentication(self.origin.clone(), options).unwrap();
        json!({"touch": asked["touch"], "credential": signed})
    }
}

/// What takes a touch.
const RULES: &str = "
rules:
  - name: payments
    on: ask
    match: {kind: approval}
    then: ask
    ask: {proof: presence}
";

/// Somebody who has shown their passphrase and has a key.
fn with_key(space: &Space, server: &Server, who: &str) -> Key {
    server.passphrase(space, who, "correct horse");
    server.post(who, "/passkeys/begin", json!({"label": "phone"})).refused(403, "SAY012");
    server.line(who, "unlock", json!(["correct horse"])).is(200);
    let mut key = Key::at("http://localhost");
    let begun = server.post(who, "/passkeys/begin", json!({"label": "phone"})).is(200);
    server.post(who, "/passkeys", key.register(&begun)).is(201);
    key
}

fn ask(server: &Server, question: &str) -> Value {
    let question = json!({"question": question, "kind": "approval"});
    server.post("coder", "/gates", question).is(201)
}

fn touch_for(server: &Server, who: &str, gate: &Value) -> Value {
    let path = format!("/gates/{}/presence", text(&gate["id"]));
    server.post(who, &path, json!({"digest": gate["digest"]})).is(200)
}

fn yes(touch: Option<Value>) -> Value {
    let mut yes = json!({"verdict": "approved"});
    if let Some(touch) = touch {
        yes["presence"] = touch;
    }
    yes
}

on_both! {
    /// What needs presence is answered by a touch for this very card, once, by whoever's key it is.
    fn a_touch_is_for_one_card(space: &Space) {
        policy(space, "space", RULES);
        let server = Server::of(space);
        let mut anns = with_key(space, &server, "ann");
        let mut bobs = with_key(space, &server, "bob");
        let (first, second) = (ask(&server, "Pay 10?"), ask(&server, "Pay 10,000?"));
        assert_eq!(first["least_proof"], "presence");
        server.answer("ann", &first, yes(None)).refused(403, "SAY012");
        // A touch for one gate is none for another.
        let touched = anns.touch(&touch_for(&server, "ann", &first));
        server.answer("ann", &second, yes(Some(touched.clone()))).refused(403, "SAY056");
        // It is used up by that, whatever came of it.
        server.answer("ann", &first, yes(Some(touched))).refused(403, "SAY056");
        // Bob's touch is not ann's, nor is his key.
        let for_bob = bobs.touch(&touch_for(&server, "bob", &first));
        server.answer("ann", &first, yes(Some(for_bob))).refused(403, "SAY056");
        let mut asked = touch_for(&server, "ann", &first);
        let bobs_own = touch_for(&server, "bob", &first);
        asked["options"] = bobs_own["options"].clone();
        server.answer("ann", &first, yes(Some(bobs.touch(&asked)))).refused(403, "SAY056");
        // Somebody on another site was shown the challenge.
        let asked = touch_for(&server, "ann", &first);
        let mut elsewhere = Key { origin: Url::parse("https://evil.example").unwrap(), ..anns };
        if let Some(signed) = signed_elsewhere(&mut elsewhere, &asked) {
            server.answer("ann", &first, yes(Some(signed))).refused(403, "SAY056");
        }
        let mut anns = Key { origin: Url::parse("http://localhost").unwrap(), ..elsewhere };
        // The card changed since: what was touched for is not what is there.
        let touched = anns.touch(&touch_for(&server, "ann", &first));
        let revise = json!({"question": "Pay 1,000,000?"});
        let now = server.post("coder", &format!("/gates/{}/revise", text(&first["id"])), revise).is(200);
        server.answer("ann", &now, yes(Some(touched))).refused(409, "SAY005");
        let stale = server.post(
            "ann",
            &format!("/gates/{}/presence", text(&first["id"])),
            json!({"digest": first["digest"]}),
        );
        stale.refused(409, "SAY005");
        // One touch, one gate: not for several at once.
        let touched = anns.touch(&touch_for(&server, "ann", &now));
        let mut both = yes(Some(touched.clone()));
        (both["digest"], both["same"]) = (now["digest"].clone(), json!("0".repeat(64)));
        server.post("ann", &format!("/gates/{}/answer", text(&now["id"])), both).refused(400, "SAY038");
        // As it should be.
        let answered = server.answer("ann", &now, yes(Some(touched))).is(200);
        assert_eq!(answered["answer"]["proof"], "presence", "{answered}");
        let used = server.get("ann", "/passkeys").is(200)["items"][0]["used_at"].clone();
        assert!(used.is_string());
        server.answer("bob", &second, yes(Some(bobs.touch(&touch_for(&server, "bob", &second))))).is(200);
        space.verify();
    }
}

/// What a browser would not sign, a program might.
fn signed_elsewhere(key: &mut Key, asked: &Value) -> Option<Value> {
    let options = serde_json::from_value(asked["options"].clone()).unwrap();
    let signed = key.authenticator.do_authentication(key.origin.clone(), options).ok()?;
    Some(json!({"touch": asked["touch"], "credential": signed}))
}

on_both! {
    /// Keys are their owner's; agents have none; a key that was taken away signs nothing any more.
    fn whose_key_it_is(space: &Space) {
        policy(space, "space", RULES);
        let server = Server::of(space);
        let mut key = with_key(space, &server, "ann");
        let id = text(&server.get("ann", "/passkeys").is(200)["items"][0]["id"]).to_owned();
        for (who, status, code) in [("bob", 404, "SAY001"), ("coder", 403, "SAY010")] {
            server.send(who, "DELETE", &format!("/passkeys/{id}"), None).refused(status, code);
        }
        server.post("coder", "/passkeys/begin", json!({"label": "mine"})).refused(403, "SAY010");
        let gate = ask(&server, "Pay?");
        let path = format!("/gates/{}/presence", text(&gate["id"]));
        server.post("bob", &path, json!({"digest": gate["digest"]})).refused(403, "SAY012");
        server.post("coder", &path, json!({"digest": gate["digest"]})).refused(403, "SAY010");
        let touched = key.touch(&touch_for(&server, "ann", &gate));
        server.send("ann", "DELETE", &format!("/passkeys/{id}"), None).is(200);
        server.answer("ann", &gate, yes(Some(touched))).refused(403, "SAY056");
        assert_eq!(server.get("ann", "/passkeys").is(200)["items"], json!([]));
        space.verify();
    }
}
