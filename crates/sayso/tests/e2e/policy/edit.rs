//! `policy edit`: through the editor, through validation, and nothing that was written is lost.

use crate::harness::{Space, Who, everywhere};
use std::os::unix::fs::PermissionsExt;

/// Edits the policy with a program that runs `script` on the file.
fn edit(space: &Space, who: Who<'_>, script: &str) -> crate::harness::Ran {
    let editor = space.path().join("editor.sh");
    std::fs::write(&editor, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&editor, std::fs::Permissions::from_mode(0o755)).unwrap();
    space.finish(space.command(who, &["policy", "edit"]).env("EDITOR", &editor))
}

everywhere! {
    fn a_policy_is_edited_through_validation(space: &Space) {
        let ann = Who::Human("ann");
        let good = "rules:\n  - {name: done, on: transition, match: {to: closed}, then: ask}\n";
        edit(space, ann, &format!("printf '{}' > \"$1\"", good.replace('\n', "\\n"))).says("1 rule").ok();
        assert_eq!(space.ann(&["policy", "show", "--text"]).ok(), good.trim_end());
        edit(space, ann, "true").says("nothing changed").ok();
        // What is wrong is not set, and not lost.
        let ran = edit(space, ann, "sed -i 's/then: ask/then: axe/' \"$1\"").refused("SAY047").exits(2);
        let kept = ran.stderr.split_whitespace().find(|word| word.ends_with(".yaml;")).unwrap();
        let kept = kept.trim_end_matches(';');
        assert!(std::fs::read_to_string(kept).unwrap().contains("axe"));
        std::fs::remove_file(kept).unwrap();
        assert_eq!(space.ann(&["policy", "show", "--text"]).ok(), good.trim_end());
        edit(space, ann, "exit 1").refused("SAY036");
        edit(space, Who::Agent("coder"), "echo 'rules: []' > \"$1\"").refused("SAY010").exits(5);
        assert_eq!(space.ann(&["policy", "show", "--text"]).ok(), good.trim_end());
        space.verify();
    }
}
