//! Dispatches with the real binary, the same through every door.

use serde_json::json;

use crate::post::{ids, through_every_door};

fn ended(output: &std::process::Output) -> (i32, String) {
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    (output.status.code().unwrap(), stdout)
}

// F9, H1: the whole life of a dispatch
#[test]
fn work_is_handed_out_claimed_reported_and_settled() {
    through_every_door(|post| {
        let claim = [
            "dispatch",
            "claim",
            "--kind",
            "writer,reviewer",
            "--as",
            "Blue",
        ];
        let nothing = post.pipe(&claim, b"");
        assert_eq!(ended(&nothing), (1, "nothing to claim\n".to_owned()));
        let words = [
            "dispatch",
            "create",
            "reviewer",
            "-",
            "--group",
            "crew",
            "--operator",
        ];
        let made = post.pipe(&words, b"look at\nthe parser\n");
        let line = "dispatch 1 for reviewer is queued\n".to_owned();
        assert_eq!(ended(&made), (0, line));
        let claimed = post.pipe(&claim, b"");
        let (exit, shown) = ended(&claimed);
        assert_eq!(exit, 0);
        let fence = shown.lines().find(|line| line.starts_with("fence"));
        let fence = fence.unwrap().split_whitespace().nth(1).unwrap();
        let shown: Vec<_> = shown.lines().collect();
        assert_eq!(shown[0], "dispatch 1 for reviewer is spawned, with Blue");
        let end = [
            "--- the prompt ---",
            "  look at",
            "  the parser",
            "--- end of dispatch 1 ---",
        ];
        assert_eq!(shown[shown.len() - 4..], end);
        let unfenced = post.ask("dispatch start 1 --as Blue").unwrap_err();
        assert_eq!(unfenced.1["field"], "fence");
        let others = post.ask(&format!("dispatch start 1 --fence {fence} --as Red"));
        assert_eq!(others.unwrap_err().1["error"], "not_holder");
        let as_blue = |line: &str| post.ask(&format!("{line} --fence {fence} --as Blue"));
        let started = as_blue("dispatch start 1").unwrap();
        assert_eq!(started["dispatch"]["state"], "running");
        as_blue("dispatch extend 1 --lease 10m").unwrap();
        let reported = as_blue("dispatch report 1 --tokens 12 --progress half").unwrap();
        assert_eq!(reported["dispatch"]["tokens"], 12);
        let listed = post.see("dispatch list --state running --as Red");
        assert!(
            listed.contains("1              reviewer  running  Blue"),
            "{listed}"
        );
        let finish =
            r#"dispatch finish 1 completed --verdict pass --summary fine --result {"a":1}"#;
        as_blue(finish).unwrap();
        as_blue(finish).unwrap();
        let other = as_blue("dispatch finish 1 failed").unwrap_err();
        assert_eq!((other.0, &other.1["error"]), (1, &json!("already_settled")));
        assert!(
            post.see("dispatch wait 1 --as Red")
                .contains("summary     fine\n")
        );
        let group = "crew: 1 completed; settled, completed\n";
        assert_eq!(post.see("dispatch group crew --operator"), group);
    });
}

#[test]
fn what_failed_is_tried_again_and_the_rest_is_given_up() {
    through_every_door(|post| {
        post.ask("dispatch create any p --priority -5 --operator")
            .unwrap();
        post.ask("dispatch create any q --depends-on 1 --operator")
            .unwrap();
        let claimed = post.ask("dispatch claim --kind any --as Blue").unwrap();
        assert_eq!(claimed["dispatch"]["id"], 1, "the other one waits for it");
        let fence = &claimed["dispatch"]["fence"];
        post.ask(&format!(
            "dispatch finish 1 failed --fence {fence} --as Blue"
        ))
        .unwrap();
        let waited = post.pipe(&["dispatch", "wait", "1", "--operator"], b"");
        let told = String::from_utf8_lossy(&waited.stderr).into_owned();
        assert_eq!(waited.status.code(), Some(1));
        let said = "error: dispatch 1 is failed\nhint: try again with `comity dispatch retry 1`\n";
        assert_eq!(told, said);
        let again = post.see("dispatch retry 1 --operator");
        assert_eq!(again, "dispatch 3 for any is queued, attempt 2\n");
        let stale = post.ask("dispatch cancel 2 --revision 7 --operator");
        assert_eq!(stale.unwrap_err().1["error"], "version_conflict");
        post.ask("dispatch cancel 2 --reason enough --operator")
            .unwrap();
        let short = ["dispatch", "wait", "3", "--for", "10ms", "--operator"];
        assert_eq!(post.pipe(&short, b"").status.code(), Some(1));
        let cancelled = post
            .ask("dispatch list --state cancelled --as Red")
            .unwrap();
        assert_eq!(ids(&cancelled), [2]);
    });
}
