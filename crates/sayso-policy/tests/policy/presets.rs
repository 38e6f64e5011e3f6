//! The policies people start from have no mistakes, and their own tests pass.

use sayso_policy::{KnownNames, Policy, PolicyLayer, PolicyPreset, PolicySet};

#[test]
fn presets_hold_what_they_promise() {
    let mut tests_run = 0;
    for preset in PolicyPreset::ALL {
        let file = format!("{}.yaml", preset.as_str());
        let policy = Policy::parse(PolicyLayer::Space, &file, preset.text())
            .unwrap_or_else(|mistakes| panic!("{mistakes:#?}"));
        for outcome in policy.run_tests() {
            assert!(
                outcome.passed(),
                "{}:{} {}: {:?}",
                outcome.file,
                outcome.line,
                outcome.name,
                outcome.failure
            );
            tests_run += 1;
        }
        let rules = policy.rules().count();
        let tested: std::collections::BTreeSet<_> =
            policy.tests().iter().filter_map(|t| t.by.as_deref()).collect();
        assert!(tested.len() * 3 >= rules * 2, "{file}: too few rules are tested: {tested:?}");
        let mistakes = PolicySet::new(vec![policy]).check(&KnownNames::of_every_space());
        assert_eq!(mistakes, [], "{file}");
    }
    assert!(tests_run >= 45, "{tests_run}");
}
