//! The reader of command lines beside real shells: lines are made up by the thousand and run in a folder of their
//! own, where the programs that rules speak of only write down how they were called. Whatever was called must
//! not have been allowed.
//!
//! `SAYSO_LINES=10000` runs so many, `SAYSO_SEED=7` others than usual.

use sayso_policy::{Policy, PolicyEffect, PolicyLayer, PolicyRequest, PolicySet};
use serde_json::json;
use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How many lines are run where nothing is said.
const LINES: usize = 600;

/// How long one line may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// Programs that only write down how they were called.
const STUBS: &[&str] = &["git", "rm", "curl", "doit"];

/// Real programs that lines may use.
const REAL: &[&str] = &[
    "bash", "cat", "dash", "echo", "env", "false", "find", "nice", "nohup", "printf", "sh",
    "sleep", "sort", "tee", "test", "timeout", "tr", "true", "xargs", "zsh", "setsid", "stdbuf",
    "awk", "sed", "head", "tar", "make", "perl", "python3", "cp", "chmod", "touch",
];

/// Signs that are put in anywhere.
const SIGNS: &[&str] = &[
    "'", "\"", "\\", "$", "`", "(", ")", "{", "}", "[", "]", ";", "&", "|", "<", ">", "#", "!",
    "~", "=", "*", "?", ",", "\n", " ", "-", "$(", "${", "((", "<<", "<<<", "&&", "||", ";;", "$'",
    "\\\n",
];

/// Chance, from a seed.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 16
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next()).unwrap() % end
    }

    fn one_of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len())]
    }

    fn is(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// A word as shells may have it spelled.
fn spelled(word: &str, chance: &mut Chance) -> String {
    let (one, rest) = word.split_at(1.min(word.len()));
    match chance.below(24) {
        0 => format!("'{word}'"),
        1 => format!("\"{word}\""),
        2 => format!("{one}''{rest}"),
        3 => format!("{one}\\{rest}"),
        4 => format!("$'{word}'"),
        5 => format!("{one}\"\"{rest}"),
        6 => format!("{one}$x{rest}"),
        7 => format!("{one}${{x}}{rest}"),
        8 => format!("${{x:-{word}}}"),
        9 => format!("$(echo {word})"),
        10 => format!("`echo {word}`"),
        11 => format!("{one}\\\n{rest}"),
        12 => format!("{{{word},}}"),
        13 => format!("{one}?{}", rest.get(1..).unwrap_or_default()),
        14 => format!("{one}*"),
        15 => format!("\"{one}\"'{rest}'"),
        _ => word.to_owned(),
    }
}

/// A simple command, often one that rules speak of.
fn simple(chance: &mut Chance) -> String {
    let words: &[&str] = match chance.below(9) {
        0 | 1 => &["git", "push", "origin"],
        2 => &["git", "-C", "d", "push"],
        3 => &["rm", "-rf", "x"],
        4 => &["rm", "-r", "-f", "x"],
        5 => &["curl", "u"],
        6 => &["echo", "push"],
        7 => &["true"],
        _ => &["cat", "x"],
    };
    let spell = if chance.is(60) { 0 } else { 100 };
    let words: Vec<String> = words
        .iter()
        .map(|word| if chance.is(spell) { spelled(word, chance) } else { (*word).to_owned() })
        .collect();
    words.join(" ")
}

/// A command, often wrapped in others.
fn command(depth: usize, chance: &mut Chance) -> String {
    if depth == 0 || chance.is(35) {
        return simple(chance);
    }
    let inner = command(depth - 1, chance);
    let line = quoted(&inner);
    if chance.is(12) {
        return evaluated(&inner, &line, chance);
    }
    match chance.below(44) {
        0 => format!("env {inner}"),
        1 => format!("env X=1 {inner}"),
        2 => format!("nice -n 1 {inner}"),
        3 => format!("timeout 5 {inner}"),
        4 => format!("command {inner}"),
        5 => format!("exec {inner}"),
        6 => format!("sh -c {line}"),
        7 => format!("bash -c {line}"),
        8 => format!("bash -euo pipefail -c {line}"),
        9 => format!("bash -c -- {line}"),
        10 => format!("eval {line}"),
        11 => format!("eval {inner}"),
        12 => format!("echo $({inner})"),
        13 => format!("echo \"a $({inner}) b\""),
        14 => format!("echo `{}`", inner.replace('\\', "\\\\").replace('`', "\\`")),
        15 => format!("({inner})"),
        16 => format!("{{ {inner}; }}"),
        17 => format!("if true; then {inner}; fi"),
        18 => format!("for i in 1; do {inner}; done"),
        19 => format!("while {inner}; do break; done"),
        20 => format!("! {inner}"),
        21 => format!("cat <({inner})"),
        22 => format!("cat <<E\n$({inner})\nE"),
        23 => format!("cat <<'E'\n$({inner})\nE\n"),
        24 => format!("sh <<'E'\n{inner}\nE\n"),
        25 => format!("echo {line} | sh"),
        26 => format!("echo x | xargs {inner}"),
        27 => format!("find . -maxdepth 0 -exec {inner} \\;"),
        28 => format!("X=1 {inner}"),
        29 => format!("x=$({inner})"),
        30 => format!("f() {{ {inner}; }}; f"),
        31 => format!("case x in x) {inner};; esac"),
        32 => format!("trap {line} EXIT"),
        33 => format!("echo ${{y:-$({inner})}}"),
        34 => format!("echo $((1 + $({inner}; echo 1)))"),
        35 => format!("[[ -n x ]] && {inner}"),
        36 => format!("z={line}; eval \"$z\""),
        37 => format!("z={line}; $z"),
        38 => format!("alias g={line}\ng"),
        39 => format!("nohup {inner}"),
        40 => format!("time {inner}"),
        41 => format!("set -- {inner}; \"$@\""),
        42 => format!("{inner} # {line}"),
        _ => format!("builtin {inner}"),
    }
}

/// A command as text for a program that evaluates it, in a file that is run, or behind a here-document.
fn evaluated(inner: &str, line: &str, chance: &mut Chance) -> String {
    let escaped = inner.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "; ");
    let sed = quoted(&format!("1e {}", inner.replace('\n', "; ")));
    let awk = quoted(&format!("BEGIN{{system(\"{escaped}\")}}"));
    let python = quoted(&format!("import os; os.system(\"{escaped}\")"));
    let perl = quoted(&format!("system(\"{}\")", escaped.replace('$', "\\$").replace('@', "\\@")));
    match chance.below(38) {
        0 => format!("cat <<A $(\n{inner}\nA\n)\nA"),
        1 => format!("cat <<A \"$(\n{inner}\nA\n)\"\nA"),
        2 => format!("cat <(cat <<A\nx\nA\n) <<B $(\n{inner}\nB\n)\nB"),
        3 => format!("cat <<A $( (\n{inner}\nA\n) )\nA"),
        4 => format!("sed {sed} y"),
        5 => format!("z={sed}; sed -n \"$z\" y"),
        6 => format!("z={}; sed -n p \"$z\" y", quoted(&format!("-e1e {inner}"))),
        7 => format!("echo {line} | sed e"),
        8 => format!("echo {line} | sed '' | sed 1e"),
        9 => format!("sed -n -f <(echo {sed}) y"),
        10 => format!("awk {awk}"),
        11 => format!("z={awk}; awk \"$z\""),
        12 => format!("echo {line} | awk '{{system($0)}}'"),
        13 => format!("awk -f <(echo {awk})"),
        14 => format!("tar cf /dev/null y --checkpoint=1 --checkpoint-action=exec={line}"),
        15 => format!("z=--use-compress-program={line}; tar cf z.tar \"$z\" y"),
        16 => format!("tar -c -I {line} -f z.tar y"),
        17 => {
            format!("make -s --eval={} a", quoted(&format!("a: ; @{}", inner.replace('$', "$$"))))
        }
        18 => format!("printf 'a:\\n\\t%s\\n' {line} > Makefile; make -s"),
        19 => format!("echo {python} | python3 -W ignore"),
        20 => format!("echo {python} | python3 -Bs"),
        21 => format!("echo {python} | python3 //dev/stdin"),
        22 => format!("z={python}; python3 -c \"$z\""),
        23 => format!("python3 -c \"$(cat <<'E'\nimport os\nos.system(\"{escaped}\")\nE\n)\""),
        24 => format!("python3 <(echo {python})"),
        25 => format!("echo {perl} | perl -Mstrict"),
        26 => format!("perl -e \"$(echo {perl})\""),
        27 => format!("echo {line} > z.sh; sh z.sh"),
        28 => format!("echo {line} | tee z.sh > /dev/null; sh z.sh"),
        29 => format!("z=z.sh; echo {line} > $z; sh z.sh"),
        30 => format!("echo {line} | sed 'w z.sh'; sh z.sh"),
        31 => format!("echo {line} | tee z{{,}}.sh; sh z.sh"),
        32 => format!("echo {line} | sort -o z.sh; sh z.sh"),
        33 => format!("echo '#!/bin/sh' > z; echo {line} >> z; chmod +x z; ./z"),
        34 => "touch -- -rf; rm *".to_owned(),
        35 => format!("mapfile -t z <<< {line}; \"${{z[0]}}\""),
        36 => format!("printf '%d' 'a[$({inner})]'"),
        _ => format!("echo {line} | while read -r z; do $z; done"),
    }
}

/// A line of some commands, often with a sign too many or too few.
fn line(chance: &mut Chance) -> String {
    let mut line = command(3, chance);
    for _ in 0..chance.below(3) {
        let between = chance.one_of(&["; ", " && ", " || ", " | ", " & ", "\n", ";", "&", " |& "]);
        line = format!("{line}{between}{}", command(2, chance));
    }
    if chance.is(25) {
        let end = chance.one_of(&[" > out", " 2>&1", " < x", " >> out", " &> out", " <<< y", " &"]);
        line.push_str(end);
    }
    if chance.is(40) {
        for _ in 0..=chance.below(2) {
            let places: Vec<usize> = line.char_indices().map(|(at, _)| at).collect();
            let at = places[chance.below(places.len())];
            if chance.is(50) {
                line.insert_str(at, chance.one_of(SIGNS));
            } else {
                line.remove(at);
            }
        }
    }
    line
}

/// A folder with the programs that lines may call.
fn programs(home: &Path) -> PathBuf {
    let bin = home.join("bin");
    fs::create_dir(&bin).unwrap();
    for name in STUBS {
        // Builtins only: nothing of it is looked up where the stubs are.
        let text = format!("#!/bin/sh\nIFS='\t'\nprintf '%s\\n' \"{name}\t$*\" >> \"$LINE_LOG\"\n");
        fs::write(bin.join(name), text).unwrap();
        fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    for name in REAL {
        let found =
            ["/usr/bin", "/bin"].iter().map(|d| Path::new(d).join(name)).find(|f| f.exists());
        if let Some(found) = found {
            symlink(found, bin.join(name)).unwrap();
        }
    }
    bin
}

/// Runs a line in a shell.
fn run(shell: &str, line: &str, bin: &Path, folder: &Path, log: &Path) {
    fs::create_dir(folder).unwrap();
    for name in ["push", "x", "git"] {
        fs::write(folder.join(name), "").unwrap();
    }
    fs::write(folder.join("y"), "y\n").unwrap();
    let mut command = Command::new(bin.join(shell));
    command.args(["-c", line]).current_dir(folder).env_clear();
    command.env("PATH", bin).env("HOME", folder).env("LINE_LOG", log).env("ZDOTDIR", folder);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let began = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if began.elapsed() > PATIENCE {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        std::thread::sleep(Duration::from_micros(300));
    }
}

/// A policy that denies exactly this call.
fn denies(call: &[&str]) -> PolicySet {
    let command = shell_words::join(call);
    let rule = json!({"name": "r", "on": "tool", "match": {"command": command}, "then": "deny"});
    let text = json!({"rules": [rule]}).to_string();
    let policy = Policy::parse(PolicyLayer::Space, "space.yaml", &text);
    PolicySet::new(vec![policy.unwrap_or_else(|mistakes| panic!("{mistakes:#?}"))])
}

fn request(command: &str) -> PolicyRequest {
    let request = json!({"on": "tool", "tool": "Bash", "command": command});
    serde_json::from_value(request).unwrap()
}

fn number(name: &str, usual: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

#[test]
#[allow(clippy::print_stderr)]
fn no_shell_runs_what_the_reader_does_not_see() {
    let (lines, seed) = (number("SAYSO_LINES", LINES), number("SAYSO_SEED", 1));
    let home = tempfile::tempdir().unwrap();
    let bin = programs(home.path());
    let shells: Vec<&str> =
        ["bash", "sh", "zsh"].into_iter().filter(|shell| bin.join(shell).exists()).collect();
    assert!(shells.contains(&"bash"), "this test needs bash");
    if !shells.contains(&"zsh") {
        eprintln!("zsh is not installed: nothing is said about how it reads these lines");
    }
    let mut chance = Chance((seed as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let all: Vec<String> = (0..lines).map(|_| line(&mut chance)).collect();
    let log_of = |at: usize, shell: &str| home.path().join(format!("{at}.{shell}.log"));
    // Some lines wait until their patience is up.
    let threads = std::thread::available_parallelism().map_or(2, usize::from).max(4);
    std::thread::scope(|scope| {
        for part in 0..threads {
            let (all, shells, bin, home) = (&all, &shells, &bin, home.path());
            scope.spawn(move || {
                for (at, line) in all.iter().enumerate().filter(|(at, _)| at % threads == part) {
                    for (n, shell) in shells.iter().enumerate() {
                        // bash has them all, the others a third each.
                        if n == 0 || at % 3 == n {
                            let folder = home.join(format!("{at}.{shell}"));
                            run(shell, line, bin, &folder, &home.join(format!("{at}.{shell}.log")));
                            let _ = fs::remove_dir_all(folder);
                        }
                    }
                }
            });
        }
    });
    let nothing = PolicySet::new(vec![]);
    let mut known: HashMap<String, PolicySet> = HashMap::new();
    let (mut clear, mut calls, mut unseen) = (0, 0, vec![]);
    for (at, line) in all.iter().enumerate() {
        let is_clear = nothing.explain(&request(line)).unclear.is_none();
        clear += usize::from(is_clear);
        for shell in &shells {
            let log = fs::read_to_string(log_of(at, shell)).unwrap_or_default();
            for call in log.lines() {
                // Words with signs cannot be put in a pattern; what comes before them can.
                let plain = |word: &&str| {
                    !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
                };
                let words: Vec<&str> = call.split('\t').take_while(plain).collect();
                if words.is_empty() {
                    continue;
                }
                calls += usize::from(is_clear);
                let policies = known.entry(words.join(" ")).or_insert_with(|| denies(&words));
                if policies.ruling(&request(line)).effect == PolicyEffect::Allow {
                    unseen.push(format!("{shell} ran {words:?} of {line:?}"));
                }
            }
        }
    }
    assert!(
        unseen.is_empty(),
        "seed {seed}: {} calls were not seen:\n{}",
        unseen.len(),
        unseen.join("\n")
    );
    // Lines that nobody understands would prove nothing.
    assert!(clear * 6 > lines && calls * 6 > lines, "{clear} clear, {calls} calls of {lines}");
}
