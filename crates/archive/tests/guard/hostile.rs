//! A repository whose settings name programs: none of them is started.

use std::fmt::Write as _;

use crate::place::{Place, program, set};

/// Settings that make some command of Git start a program.
const PROGRAMS: &[&str] = &[
    "core.fsmonitor",
    "core.pager",
    "core.editor",
    "core.askPass",
    "core.sshCommand",
    "core.gitProxy",
    "core.alternateRefsCommand",
    "credential.helper",
    "diff.external",
    "diff.hostile.command",
    "diff.hostile.textconv",
    "filter.hostile.clean",
    "filter.hostile.smudge",
    "filter.hostile.process",
    "merge.hostile.driver",
    "gpg.program",
    "gpg.ssh.program",
    "pager.diff",
    "pager.rev-list",
    "sequence.editor",
    "uploadpack.packObjectsHook",
    "remote.promisor.uploadpack",
    "remote.promisor.receivepack",
    "submodule.x.update",
    "trailer.x.command",
];

const ALIASES: &[&str] = &[
    "diff-index",
    "diff-tree",
    "rev-list",
    "rev-parse",
    "cat-file",
    "config",
];

/// Plants a program everywhere; whoever starts it makes a file.
fn planted(place: &Place) {
    let path = place.path("program");
    let canary = place.path("canary").display().to_string();
    program(
        &path,
        &format!("#!/bin/sh\necho \"$0 $*\" >>'{canary}'\nexit 1\n"),
    );
    let trap = path.to_str().unwrap().to_owned();
    let included = place.path("included");
    let mut text =
        String::from("[include]\n\tpath = deeper\n[core]\n\trepositoryFormatVersion = 1\n");
    for setting in PROGRAMS {
        let (section, name) = setting.rsplit_once('.').unwrap();
        let section = match section.split_once('.') {
            Some((section, sub)) => format!("[{section} \"{sub}\"]"),
            None => format!("[{section}]"),
        };
        let value = match *setting {
            "credential.helper" | "submodule.x.update" => format!("!{trap}"),
            _ => trap.clone(),
        };
        write!(text, "{section}\n\t{name} = {value}\n").unwrap();
    }
    for alias in ALIASES {
        write!(text, "[alias]\n\t{alias} = !{trap} alias\n").unwrap();
    }
    write!(
        text,
        "[remote \"promisor\"]\n\turl = \"ext::{trap} ext\"\n\tpromisor = true\n\
         [extensions]\n\tpartialClone = promisor\n\
         [protocol]\n\tallow = always\n[protocol \"ext\"]\n\tallow = always\n\
         [core]\n\thooksPath = {}\n[log]\n\tshowSignature = true\n",
        place.path("planted-hooks").display()
    )
    .unwrap();
    std::fs::write(&included, text).unwrap();
    for hook in [
        "reference-transaction",
        "fsmonitor-watchman",
        "post-index-change",
        "pre-auto-gc",
    ] {
        let text = format!("#!/bin/sh\necho {hook} >>'{canary}'\n");
        program(&place.path("planted-hooks").join(hook), &text);
    }
    let config = place.tree().join(".git/config");
    let mut own = std::fs::read_to_string(&config).unwrap();
    write!(own, "[include]\n\tpath = {}\n", included.display()).unwrap();
    std::fs::write(config, own).unwrap();
}

fn canary(place: &Place) -> String {
    std::fs::read_to_string(place.path("canary")).unwrap_or_default()
}

/// Asks as Git would, in a repository that Git itself is not used on any more.
fn asked(place: &Place, hook: &str, state: &str, input: &str) -> bool {
    use std::io::Write as _;
    let mut probe = std::process::Command::new("strace");
    probe.args(["-f", "-qq", "-e", "trace=execve", "-o"]);
    probe
        .arg(place.path("started"))
        .arg(std::env::current_exe().unwrap());
    probe.args(["--ignored", "--exact", "probe::of_a_hook"]);
    probe.current_dir(place.tree());
    for (name, value) in [
        ("PROBE_HOOK", hook),
        ("PROBE_STATE", state),
        ("GIT_EXTERNAL_DIFF", place.path("program").to_str().unwrap()),
        ("GIT_PAGER", place.path("program").to_str().unwrap()),
        ("GIT_SSH_COMMAND", place.path("program").to_str().unwrap()),
    ] {
        probe.env(name, value);
    }
    probe.env("PROBE_INTO", place.path("found"));
    probe.env("GIT_CONFIG_GLOBAL", place.path("included"));
    probe.env("GIT_CONFIG_COUNT", "1");
    probe.env("GIT_CONFIG_KEY_0", "core.fsmonitor");
    probe.env("GIT_CONFIG_VALUE_0", place.path("program"));
    probe.stdin(std::process::Stdio::piped());
    probe
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null());
    let mut child = probe.spawn().unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    let is_answered = child.wait().unwrap().success();
    only_git_started(place);
    is_answered
}

/// Reads the trace: beside the probe itself, every program that was started is `git`.
fn only_git_started(place: &Place) {
    let trace = std::fs::read_to_string(place.path("started")).unwrap();
    let started = trace.lines().filter(|line| line.ends_with(" = 0"));
    let mut programs = started
        .filter_map(|line| line.split('"').nth(1))
        .skip(1)
        .peekable();
    assert!(programs.peek().is_some(), "{trace}");
    for program in programs {
        assert_eq!(program.rsplit('/').next(), Some("git"), "{trace}");
    }
}

// S12
#[test]
fn nothing_that_a_repository_names_is_started() {
    let place = Place::new();
    place.write(
        ".gitattributes",
        "* diff=hostile filter=hostile merge=hostile text\n",
    );
    place.write("a", "one\n");
    place.git(&["add", "-A"]);
    place.git(&["commit", "-q", "-m", "first"]);
    place.write("a", "two\n");
    place.write("b", "new\n");
    place.git(&["add", "-A"]);
    let tree = place.git(&["write-tree"]);
    let second = place.git(&["commit-tree", "-p", "HEAD", "-m", "second", &tree]);
    let none = "0".repeat(40);
    let strange = "1234567890".repeat(4);
    planted(&place);
    assert!(asked(&place, "pre-commit", "", ""));
    assert_eq!(place.found("pre-commit"), set(["a", "b"]));
    let line = format!("refs/heads/main {second} refs/heads/main {strange}\n");
    assert!(asked(&place, "pre-push", "origin", &line));
    assert_eq!(place.found("pre-push"), set([".gitattributes", "a", "b"]));
    let line = format!("{none} {second} refs/heads/main\n{none} ref:refs/heads/main HEAD\n");
    assert!(asked(&place, "reference-transaction", "prepared", &line));
    assert_eq!(place.found("reference-transaction"), set(["a", "b"]));
    for state in ["committed", "aborted"] {
        assert!(asked(&place, "reference-transaction", state, &line));
        assert!(place.found("reference-transaction").is_empty());
    }
    // An object that is not here is not fetched either: that cannot be answered.
    let line = format!("{none} {strange} refs/heads/main\n");
    assert!(!asked(&place, "reference-transaction", "prepared", &line));
    let input = "refs/heads/main --output=x refs/heads/main x\n";
    assert!(!asked(&place, "pre-push", "origin", input));
    let repository = comity_archive::Repository::around(&place.tree()).unwrap();
    comity_archive::guard::Folder::effective(&repository).unwrap_err();
    assert_eq!(canary(&place), "");
    // The trap works: Git itself walks into it.
    let _ = place.command("tree", &["status"]).output().unwrap();
    assert!(canary(&place).contains("program"), "no trap, no proof");
}

// S12: the objects of a partial clone are not fetched on the way
#[test]
fn a_missing_object_of_a_partial_clone_starts_no_program() {
    let place = Place::new();
    place.write("a", "one\n");
    place.git(&["add", "-A"]);
    place.git(&["commit", "-q", "-m", "first"]);
    let tree = place.git(&["rev-parse", "HEAD^{tree}"]);
    let (folder, file) = tree.split_at(2);
    let object = place.tree().join(".git/objects").join(folder).join(file);
    planted(&place);
    std::fs::remove_file(object).unwrap();
    assert!(!asked(&place, "pre-commit", "", ""));
    assert_eq!(canary(&place), "");
    let _ = place
        .command("tree", &["cat-file", "-p", &tree])
        .output()
        .unwrap();
    assert!(canary(&place).contains("program ext"), "no trap, no proof");
}
