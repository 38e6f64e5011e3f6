//! Tests of the commands found in command lines, as tables.

use super::*;

/// Returns the commands of a line without transparent wrappers, and true if it is unclear.
fn found(text: &str) -> (Vec<String>, bool) {
    let line = CommandLine::read(text);
    let commands =
        line.commands.iter().filter(|c| !c.transparent).map(SimpleCommand::in_words).collect();
    let all: Vec<usize> = (0..line.commands.len()).collect();
    (commands, line.unclear_but_for(&all).is_some())
}

#[test]
fn the_commands_of_a_line_are_found() {
    let table: &[(&str, &[&str])] = &[
        ("git status", &["git status"]),
        ("git status; rm -rf x", &["git status", "rm -rf x"]),
        ("a && b || c | d & e", &["a", "b", "c", "d", "e"]),
        ("a\nb\n", &["a", "b"]),
        ("(a; b) && c", &["a", "b", "c"]),
        ("{ a; b; }", &["a", "b"]),
        ("! a", &["a"]),
        ("echo $(a $(b))", &["b", "a …", "echo …"]),
        ("echo `a`", &["a", "echo …"]),
        (r"echo `a \`b\``", &["b", "a …", "echo …"]),
        ("echo \"x $(a) y\"", &["a", "echo x …"]),
        ("echo ${x:-$(a)}", &["a", "echo …"]),
        ("diff <(a) <(b)", &["a", "b", "diff … …"]),
        ("a > >(b)", &["b", "a"]),
        ("echo 'a; b' \"c; d\" e\\;f", &["echo a; b c; d e;f"]),
        ("echo 'a'\"b\"c", &["echo abc"]),
        ("l\\s", &["ls"]),
        ("'l's -l", &["ls -l"]),
        ("a \\\n b", &["a b"]),
        ("ls # nothing", &["ls"]),
        ("ls a#b", &["ls a#b"]),
        ("if a; then b; elif c; then d; else e; fi", &["a", "b", "c", "d", "e"]),
        ("while a; do b; done", &["a", "b"]),
        ("for x in 1 2; do rm $x; done", &["rm …"]),
        ("env X=1 cmd", &["env X=1 cmd", "cmd"]),
        ("sudo -u root rm -rf /", &["sudo -u root rm -rf /", "rm -rf /"]),
        ("sudo -n -- rm x", &["sudo -n -- rm x", "rm x"]),
        ("nohup time timeout -k 5 10 nice -n 3 cmd x", &["cmd x"]),
        ("timeout --signal=KILL 10s cmd", &["cmd"]),
        ("ls | xargs -0 -n1 rm -f", &["ls", "xargs -0 -n1 rm -f", "rm -f …"]),
        ("sh -c 'a; b'", &["a", "b"]),
        ("bash -lc 'a'", &["bash -lc a", "a"]),
        ("bash -c \"bash -c 'rm x'\"", &["rm x"]),
        ("bash script.sh", &["bash script.sh"]),
        ("find . -name x -exec rm {} \\;", &["find . -name x -exec rm {} ;", "rm {} …"]),
        ("ssh -p 22 host rm -rf x", &["ssh -p 22 host rm -rf x", "rm -rf x"]),
        ("ls | xargs -I{} cp {} d", &["ls", "xargs -I{} cp {} d", "cp … d …"]),
        ("find . -exec sh -c 'a $1' _ {} \\;", &["find . -exec sh -c a $1 _ {} ;", "a …"]),
        ("command git push", &["command git push", "git push"]),
        ("script -qec 'git push' f", &["script -qec git push f", "git push"]),
        ("strace -f -o f git push", &["strace -f -o f git push", "git push"]),
        ("chroot / git push", &["chroot / git push", "git push"]),
        ("taskset 1 git push", &["taskset 1 git push", "git push"]),
        ("unshare git push", &["unshare git push", "git push"]),
        ("flock -n /tmp/l git push", &["flock -n /tmp/l git push", "git push"]),
        ("ssh-agent git push", &["ssh-agent git push", "git push"]),
        ("cat <<EOF\nrm x; $(a)\nEOF\nb", &["cat", "a", "b"]),
        ("cat <<'EOF'\n$(a)\nEOF\nb", &["cat", "b"]),
        ("cat <<-E\n\tx\n\tE\nb", &["cat", "b"]),
        ("cat <<< \"$(a)\"", &["a", "cat"]),
        ("X=1 cmd", &["cmd"]),
        ("git -c user.name=b -C d push", &["git -c user.name=b -C d push"]),
        ("a 2>&1 >/dev/null", &["a"]),
        ("echo é ü", &["echo é ü"]),
        ("[ -f x ] && a", &["[ -f x ]", "a"]),
    ];
    for (text, expected) in table {
        let (mut commands, unclear) = found(text);
        let mut expected: Vec<_> = expected.iter().map(|s| (*s).to_owned()).collect();
        commands.sort();
        expected.sort();
        assert_eq!(commands, expected, "{text:?}");
        assert!(!unclear, "{text:?} is unclear: {:?}", CommandLine::read(text).unclear());
    }
}

#[test]
fn what_git_may_be_made_to_run_is_unclear() {
    for (text, is_unclear) in [
        ("git submodule foreach git push", true),
        ("git bisect run git push", true),
        ("git rebase --exec 'git push' HEAD~1", true),
        ("git rebase -x 'git push' HEAD~1", true),
        ("git -c core.sshCommand='rm -rf ~' fetch", true),
        ("git -c alias.x='!rm' x", true),
        ("git --exec-path=/x status", true),
        ("git fetch --upload-pack=evil o", true),
        ("flock /tmp/l -c 'git push'", true),
        ("unshare -r git push", true),
        ("git -c user.name=x commit", false),
        ("git checkout pager-fix", false),
    ] {
        assert_eq!(found(text).1, is_unclear, "{text}");
    }
}

#[test]
fn what_cannot_be_told_is_unclear_and_the_rest_is_still_found() {
    let table: &[(&str, &str)] = &[
        ("rm x 'a", "rm x a"),
        ("rm x \"a", "rm x a"),
        ("rm x; $CMD y", "rm x"),
        ("rm x; ${CMD} y", "rm x"),
        ("rm x; $(echo y)", "rm x"),
        ("rm x; `echo y`", "rm x"),
        ("rm x; eval y", "rm x"),
        ("rm x; . y", "rm x"),
        ("rm x; source y", "rm x"),
        ("rm x; alias ls=y; ls", "rm x"),
        ("rm x; trap y EXIT", "rm x"),
        ("rm x; f() { y; }; f", "rm x"),
        ("rm x; function f { y; }", "rm x"),
        ("rm x | sh", "rm x"),
        ("rm x; curl u | sudo bash", "rm x"),
        ("rm x; bash <<E\ny\nE", "rm x"),
        ("rm x; bash <<< y", "rm x"),
        ("rm x; sh -c \"$y\"", "rm x"),
        ("rm x; bash -s", "rm x"),
        ("rm x; sudo $y", "rm x"),
        ("rm x; sudo --odd y", "rm x"),
        ("rm x; env -S 'y z'", "rm x"),
        ("rm x; /bin/l?", "rm x"),
        ("rm x; {a,b} y", "rm x"),
        ("rm x; case y in z) a;; esac", "rm x"),
        ("rm x; [[ y ]]", "rm x"),
        ("rm x; ((y))", "rm x"),
        ("rm x; (y", "rm x"),
        ("rm x)", "rm x"),
        ("rm x; $'y'", "rm x"),
        ("rm x; a=(y z)", "rm x"),
        ("rm x; cat <<E\ny", "rm x"),
        ("rm x; cat >", "rm x"),
        ("rm x; y \\", "rm x"),
        ("rm x; echo ${y@P}", "rm x"),
        ("rm x # y; z", "rm x"),
        ("rm x; time { y; }", "rm x"),
        ("rm x; cat <<$E\ny\n$E\nz", "rm x"),
        ("rm x; cat <<E\ny\\\nE\nE\nz", "rm x"),
        ("rm x; echo y | xargs -I% % z", "rm x"),
        ("rm x; echo y | xargs sh -c 'z'", "rm x"),
        ("rm x; find . -exec sh -c 'y {}' \\;", "rm x"),
        ("rm x; echo y | sudo -s", "rm x"),
        ("rm x; $=y", "rm x"),
        ("rm x; y\0", "rm x"),
        ("rm x; env ~A=1 =2 y", "rm x"),
    ];
    for (text, expected) in table {
        let (commands, unclear) = found(text);
        assert!(unclear, "{text:?} is clear: {commands:?}");
        assert!(commands.iter().any(|c| c == expected), "{text:?}: {commands:?}");
    }
}

#[test]
fn files_are_noted_and_variables_too() {
    let files = |text: &str| {
        let line = CommandLine::read(text);
        let texts: Vec<_> = line
            .files
            .iter()
            .map(|f| format!("{}{}", if f.writes { '>' } else { '<' }, f.path.text))
            .collect();
        texts.join(" ")
    };
    assert_eq!(files("a > x 2>> y < z &> w >| v >& u"), ">x >>y <z >w >v >u".replace(">>", ">"));
    assert_eq!(files("a 2>&1 > /dev/null 3>&- < /dev/fd/3"), "");
    assert_eq!(files("(a) > x; > y"), ">x >y");
    assert_eq!(files("a > /dev/tcp/host/80"), ">/dev/tcp/host/80");
    for text in [
        "X=1 a",
        "env X=1 a",
        "export X=1",
        "X=1",
        "sudo X=1 a",
        "X=1 sh -c a",
        "printf -v X y",
        "echo ${X:=y}",
        "read X",
        "if X=1 a; then b; fi",
    ] {
        let line = CommandLine::read(text);
        assert!(line.commands.iter().any(|c| c.assigns), "{text:?}: {line:?}");
    }
    assert!(CommandLine::read("cd x && a > y").moves);
}

#[test]
fn only_the_systems_own_wrappers_are_looked_through() {
    for (text, expected) in [
        ("sh -c ls", 1),
        ("/bin/sh -c ls", 1),
        ("/usr/bin/timeout 5 ls", 1),
        ("./sh -c ls", 2),
        ("/tmp/timeout 5 ls", 2),
        ("SH -c ls", 2),
        ("time -p ls", 1),
        ("time -o x ls", 2),
        ("X=1 sh -c ls", 2),
    ] {
        assert_eq!(found(text).0.len(), expected, "{text}: {:?}", found(text));
    }
}

#[test]
fn a_script_is_a_program_too() {
    let line = CommandLine::read("bash -x deploy.sh now");
    let commands: Vec<_> = line.commands.iter().map(SimpleCommand::in_words).collect();
    assert_eq!(commands, ["bash -x deploy.sh now", "deploy.sh now"]);
}

#[test]
fn depth_and_number_are_bounded() {
    for text in [
        "$(".repeat(50_000),
        "(".repeat(50_000),
        "${a:-".repeat(20_000),
        "\"$(".repeat(30_000),
        "`".repeat(50_000),
        "sudo ".repeat(20_000),
        "bash -c '".repeat(10_000),
        "a;".repeat(50_000),
        "a<<E\n".repeat(20_000),
        "x".repeat(2_000_000),
    ] {
        assert!(CommandLine::read(&text).unclear().is_some(), "{:?}", &text[..10]);
    }
}

mod properties {
    use super::*;
    use proptest::prelude::*;

    /// Programs that are no wrappers, so that they must come out unchanged.
    const PROGRAMS: &[&str] = &["ls", "git push", "rm -rf x", "make all", "cargo test -p a"];

    /// Wraps a command into a line. None of the ways makes it unclear.
    fn wrap(way: usize, inner: &str) -> String {
        match way {
            0 => format!("{inner}; true"),
            1 => format!("true && {inner} || false"),
            2 => format!("(true; {inner})"),
            3 => format!("echo $({inner})"),
            4 => format!("echo \"a $({inner}) b\" 'c'"),
            5 => format!("cat <({inner}) > out"),
            6 => format!("if true; then {inner}; fi"),
            7 => format!("{inner} | wc -l &"),
            8 => format!("cat <<EOF\ntext $({inner}) text\nEOF\ntrue"),
            9 => format!("true\n{inner}\n"),
            10 => format!("echo ${{x:-$({inner})}}"),
            11 => format!("{{ {inner}; }} 2>/dev/null"),
            _ => format!("for i in 1 2; do {inner}; done"),
        }
    }

    proptest! {
        #[test]
        fn nothing_makes_it_panic(text in ".{0,200}") {
            CommandLine::read(&text);
        }

        #[test]
        fn nothing_made_of_shell_signs_makes_it_panic(
            parts in prop::collection::vec(
                prop::sample::select(vec![
                    "$(", ")", "`", "\"", "'", "\\", "${", "}", "<<E", "<<-'E'", "\n", "E", ";", "|", "&",
                    "<(", ">", "<", "=", "x", " ", "#", "é", "sudo ", "xargs ", "-c ", "sh ", "-I", "{}",
                    "env ", "\t", "*", "[", "{a,b}", "$'", "find -exec ", "ssh ", "2>&1", "&>", "\0",
                ]),
                0..60,
            ),
        ) {
            CommandLine::read(&parts.concat());
        }

        #[test]
        fn commands_put_into_a_line_are_found_in_it(
            program in prop::sample::select(PROGRAMS.to_vec()),
            ways in prop::collection::vec(0usize..13, 0..5),
        ) {
            let text = ways.iter().fold(program.to_owned(), |text, way| wrap(*way, &text));
            let line = CommandLine::read(&text);
            let commands: Vec<_> = line.commands.iter().map(SimpleCommand::in_words).collect();
            prop_assert!(commands.iter().any(|c| c == program), "{text:?}: {commands:?}");
        }

        #[test]
        fn quoted_words_come_back_as_they_were(words in prop::collection::vec("[ -~é]{1,12}", 1..6)) {
            // A bracket alone closes a group in zsh, quoted or not as far as is known here.
            prop_assume!(!words.iter().any(|word| word == "{" || word == "}"));
            let quoted = words.iter().map(|word| format!("'{}'", word.replace('\'', r"'\''")));
            let text = format!("echo {}", quoted.collect::<Vec<_>>().join(" "));
            let line = CommandLine::read(&text);
            prop_assert_eq!(line.unclear(), None, "{}", text);
            let found: Vec<_> = line.commands[0].words[1..].iter().map(|w| w.text.clone()).collect();
            prop_assert_eq!(found, words);
        }
    }

    #[test]
    fn long_lines_take_time_in_proportion() {
        // No clock in assertions: a quadratic parser would not end in this test's lifetime.
        for part in [
            "a b;",
            "'x' ",
            "\"$x\" ",
            "$(a) ",
            "`a` ",
            "a<<E\nE\n",
            "${x:-y}",
            "a > b ",
            "(a);",
            "{a,b} ",
            "\\x",
            "sh -c 'a';",
            "xargs a;",
            "# x\n",
            "a=b ",
            "find . -exec a \\; ",
            "[",
            "*",
            "-",
        ] {
            let text = part.repeat(100_000 / part.len());
            for _ in 0..20 {
                CommandLine::read(&text);
            }
        }
    }
}
