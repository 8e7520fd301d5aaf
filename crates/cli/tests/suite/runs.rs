//! Runs, gates and portfolios with the real binary, the same through every door.

use serde_json::{Value, json};

use crate::post::{Post, ids, through_every_door};

const GATES: &str = r#"{"plan->build":[{"check":"artifact_exists","phase":"plan"},{"check":"verdict_exists","tier":"soft"}],"build->done":[{"check":"approval","role":"operator"}]}"#;

fn begin(post: &Post) {
    let create = format!("run create ship --phase plan --phase build,done --gates {GATES}");
    let made = post.ask(&format!("{create} --operator")).unwrap();
    assert_eq!(made["run"]["phases"], json!(["plan", "build", "done"]));
}

/// What a timeline tells, without when it was and where in the log.
fn story(timeline: &str) -> Vec<String> {
    let lines = timeline.lines();
    lines.map(|line| line.chars().skip(26).collect()).collect()
}

fn refused(post: &Post, line: &str) -> (i32, String, String) {
    let words: Vec<_> = line.split_whitespace().collect();
    let output = post.pipe(&words, b"");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (
        output.status.code().unwrap(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

// G4: every check is shown, whoever asks, and the refusal is remembered
#[test]
fn a_run_moves_on_evidence_and_tells_how() {
    through_every_door(|post| {
        begin(post);
        let shown = [
            "plan → build refuses",
            "  ✗ artifact_exists: no artifact in `plan`",
            "  ✗ verdict_exists (soft): no verdict in `plan`\n",
        ];
        let (exit, stdout, stderr) = refused(post, "gate check 1 --as Blue");
        assert_eq!((exit, stdout), (1, shown.join("\n")));
        let first = "error: the gate from `plan` to `build` refuses\nhint: supply what the failed checks name, look again with `comity gate check 1`";
        assert!(stderr.starts_with(first), "{stderr}");
        let (exit, stdout, stderr) = refused(post, "run advance 1 --operator");
        assert_eq!((exit, stdout.as_str()), (1, ""));
        assert!(
            stderr.contains("\n  ✗ artifact_exists: no artifact in `plan`\n"),
            "{stderr}"
        );
        post.ask("run artifact add 1 plan notes notes.md --as Blue")
            .unwrap();
        let (exit, stale) = post
            .ask("run advance 1 --expect build --operator")
            .unwrap_err();
        assert_eq!((exit, &stale["present"]), (1, &json!("plan")));
        let moved = [
            "run 1 moved from plan to build",
            "  ✓ artifact_exists: 1 artifact in `plan`",
            "  ✗ verdict_exists (soft): no verdict in `plan`\n",
        ];
        let advance = "run advance 1 --expect plan --note agreed --operator";
        assert_eq!(post.see(advance), moved.join("\n"));
        post.ask("gate override 1 --reason trust --operator")
            .unwrap();
        let told = [
            "who       what",
            "operator  began: ship",
            "operator  refused from plan to build: artifact_exists (no artifact in `plan`)",
            "            ✗ artifact_exists: no artifact in `plan`",
            "            ✗ verdict_exists (soft): no verdict in `plan`",
            "Blue      artifact 1 (notes) in plan: notes.md",
            "operator  moved from plan to build: agreed",
            "            ✗ verdict_exists (soft): no verdict in `plan`",
            "operator  overridden, moved from build to done, completed, against approval (no approval of `build` by the operator): trust",
            "            ✗ approval: no approval of `build` by the operator",
        ];
        assert_eq!(story(&post.see("run timeline 1 --as Blue")), told);
        let (exit, over) = post.ask("run advance 1 --operator").unwrap_err();
        assert_eq!(
            (exit, &over["error"]),
            (1, &json!("illegal_transition")),
            "{over}"
        );
    });
}

#[test]
fn a_run_shows_how_it_stands_and_how_it_stood() {
    through_every_door(|post| {
        begin(post);
        post.ask("run agent add 1 Blue --role author --as Blue")
            .unwrap();
        post.ask("run skip 1 build --reason small --operator")
            .unwrap();
        let update = r#"run update 1 --token-budget 500 --metadata {"k":1} --operator"#;
        let updated = post.ask(update).unwrap();
        assert_eq!(updated["run"]["metadata"], json!({ "k": 1 }));
        let shown = [
            "run 1 active in plan: ship",
            "phases      [plan] → (build) → done",
            "gate        plan → done refuses",
            "              ✗ artifact_exists: no artifact in `plan`",
            "              ✗ verdict_exists (soft): no verdict in `plan`",
            "              ✗ approval: no approval of `build` by the operator",
            "agents      1 at work",
            "dispatches  none",
            "tokens      0 of 500\n",
        ];
        assert_eq!(post.see("run status 1 --as Red"), shown.join("\n"));
        assert_eq!(post.see("run current --as Red"), shown.join("\n"));
        let timeline = post.ask("run timeline 1 --limit 1 --as Red").unwrap();
        let began = &timeline["items"][0]["seq"];
        let then = post.see(&format!("run status 1 --at {began} --as Red"));
        let shown = [
            &format!("as of {began}: run 1 active in plan: ship"),
            "phases      [plan] → build → done",
            "agents      0 at work",
            "dispatches  none",
            "tokens      0\n",
        ];
        assert_eq!(then, shown.join("\n"));
        let none = post.ask("run update 1 --token-budget none --operator");
        assert_eq!(none.unwrap()["run"]["token_budget"], Value::Null);
        let stale = post.ask("run update 1 --goal x --expected-revision 1 --operator");
        assert_eq!(stale.unwrap_err().1["error"], "version_conflict");
        assert_eq!(
            ids(&post.ask("run list --state active --as Red").unwrap()),
            [1]
        );
    });
}

#[test]
fn evidence_is_added_listed_and_withdrawn() {
    let post = Post::embedded();
    begin(&post);
    post.ask("run artifact add 1 plan notes notes.md --as Blue")
        .unwrap();
    let link = "run artifact add 1 plan page --link https://example.org/x --as Blue";
    assert_eq!(post.ask(link).unwrap()["artifact"]["id"], 2);
    post.ask("run artifact withdraw 1 2 --reason old --as Blue")
        .unwrap();
    let listed = post.see("run artifact list 1 --as Red");
    assert!(
        listed.contains("2         plan   page   https://example.org/x"),
        "{listed}"
    );
    assert!(listed.ends_with("withdrawn\n"), "{listed}");
    let nothing = post.pipe(&["run", "artifact", "add", "1", "plan", "notes"], b"");
    assert_eq!(nothing.status.code(), Some(3));
    let early = post.ask("run artifact add 1 build notes notes.md --as Blue");
    assert_eq!(early.unwrap_err().1["error"], "stale_phase");
    post.ask("run verdict 1 warn --summary slow --as Red")
        .unwrap();
    assert!(post.see("run verdicts 1 --as Blue").ends_with("slow\n"));
    post.ask("run approve 1 plan --note fine --operator")
        .unwrap();
    let approvals = post.ask("run approvals 1 --as Blue").unwrap();
    assert_eq!(approvals["items"][0]["role"], "operator");
    let refused = post.ask("run approve 1 plan --as Blue").unwrap_err();
    assert_eq!((refused.0, &refused.1["error"]), (1, &json!("forbidden")));
    post.ask("run agent add 1 Blue --as Blue").unwrap();
    post.ask("run agent finish 1 Blue completed --as Blue")
        .unwrap();
    let agents = post.see("run agent list 1 --as Red");
    assert!(agents.contains("Blue         completed"), "{agents}");
}

#[test]
fn a_run_rests_goes_back_and_ends() {
    let post = Post::embedded();
    begin(&post);
    post.ask("run artifact add 1 plan notes notes.md --as Blue")
        .unwrap();
    post.ask("run advance 1 --operator").unwrap();
    post.ask("run verdict 1 pass --as Blue").unwrap();
    let back = post.see("run roll-back 1 --to plan --reason wrong --operator");
    let shown = ["run 1 active in plan: ship", "withdrew verdicts 1\n"];
    assert_eq!(back, shown.join("\n"));
    assert_eq!(
        post.see("run pause 1 --operator"),
        "run 1 paused in plan: ship\n"
    );
    let (exit, rests) = post.ask("run advance 1 --operator").unwrap_err();
    assert_eq!((exit, &rests["state"]), (1, &json!("paused")));
    assert!(
        rests["hint"]
            .as_str()
            .unwrap()
            .contains("comity run resume 1")
    );
    post.ask("run resume 1 --operator").unwrap();
    post.ask("reserve src --run 1 --as Blue").unwrap();
    let ended = post.see("run cancel 1 --reason enough --operator");
    let shown = [
        "run 1 cancelled in plan: ship",
        "cancelled runs 1",
        "ended leases 1\n",
    ];
    assert_eq!(ended, shown.join("\n"));
    assert_eq!(
        post.see("run cancel 1 --operator"),
        "run 1 cancelled in plan: ship\n"
    );
    begin(&post);
    assert_eq!(
        post.see("run fail 2 --operator"),
        "run 2 failed in plan: ship\n"
    );
}

#[test]
fn a_portfolio_is_linked_ordered_and_shown() {
    let post = Post::embedded();
    let children = r#"[{"goal":"b"},{"goal":"a","token_budget":9}]"#;
    let words = ["run", "create", "whole", "--children", "-", "--operator"];
    let made = post.pipe(&words, children.as_bytes());
    let shown = [
        "run 1 active in brainstorm: whole",
        "run 2 active in brainstorm: b",
        "run 3 active in brainstorm: a\n",
    ];
    assert_eq!(String::from_utf8_lossy(&made.stdout), shown.join("\n"));
    let link = "portfolio link 2 --on 3 --operator";
    assert_eq!(post.see(link), "run 2 waits for run 3\n");
    let (exit, again) = post.ask(link).unwrap_err();
    assert_eq!((exit, &again["error"]), (4, &json!("already_exists")));
    let (exit, circle) = post.ask("portfolio link 3 --on 2 --operator").unwrap_err();
    assert_eq!((exit, &circle["error"]), (1, &json!("cycle")));
    assert_eq!(post.see("portfolio order 1 --operator"), "3, 2\n");
    let project = post.ask("run list --operator").unwrap()["items"][0]["project"].clone();
    let project = project.as_str().unwrap();
    let pad = " ".repeat(project.len());
    let title = format!("{:width$}", "project", width = project.len());
    let status = post.see("portfolio status 1 --operator");
    let lack = "✗ no artifact in `brainstorm`";
    let shown = [
        format!("run  {title}  state   phase       waits for  tokens  goal"),
        format!("1    {project}  active  brainstorm             0       whole"),
        format!("     {pad}                                           {lack}"),
        format!("  3  {project}  active  brainstorm             0 of 9  a"),
        format!("     {pad}                                           {lack}"),
        format!("  2  {project}  active  brainstorm  3          0       b"),
        format!("     {pad}                                           {lack}\n"),
    ];
    assert_eq!(status, shown.join("\n"));
    let unlink = "portfolio unlink 2 --on 3 --operator";
    assert_eq!(post.see(unlink), "run 2 waits for run 3 no more\n");
    assert_eq!(post.ask(unlink).unwrap_err().0, 1);
}

#[test]
fn gates_come_from_a_file_and_a_fault_in_them_is_named() {
    let post = Post::embedded();
    let file = post.place.path().join("gates.json");
    std::fs::write(&file, r#"{"a->b":[]}"#).unwrap();
    let file = file.to_str().unwrap();
    let made = post.ask(&format!(
        "run create x --phase a,b --gates {file} --operator"
    ));
    assert_eq!(made.unwrap()["run"]["gates"], json!({ "a->b": [] }));
    for (gates, said) in [
        ("{\"a->b\":[{\"check\":\"always\"}]}", "--gates"),
        ("{\"a->b\":[]", "--gates"),
        ("nowhere.json", "--gates"),
    ] {
        let line = format!("run create x --phase a,b --gates {gates} --operator");
        let (exit, error) = post.ask(&line).unwrap_err();
        assert_eq!((exit, error["field"].as_str()), (3, Some(said)), "{error}");
    }
    let (exit, error) = post.ask("run create x --phase a,b --operator").unwrap_err();
    assert_eq!((exit, &error["field"]), (3, &json!("gates")));
}
