//! Discoveries with the real binary, the same through every door, and as tools.

use serde_json::{Value, json};

use crate::mcp_client::{Client, Era};
use crate::place::Place;
use crate::post::through_every_door;

const SUBMIT: &str = "discovery submit locks --source arxiv --source-id 1 --summary new";

// J3 J7 F-M5: exit codes tell what a script must know
#[test]
fn a_discovery_is_found_judged_and_told() {
    through_every_door(|post| {
        let made = post
            .ask(&format!("{SUBMIT} --score 0.4 --as Blue"))
            .unwrap();
        assert_eq!(made["discovery"]["tier"], "low");
        let (exit, again) = post.ask(&format!("{SUBMIT} --as Blue")).unwrap_err();
        assert_eq!((exit, &again["id"]), (4, &json!(1)));
        let (exit, below) = post.ask("discovery promote 1 run-7 --as Blue").unwrap_err();
        assert_eq!((exit, &below["error"]), (1, &json!("below_threshold")));
        let (exit, missing) = post
            .ask("discovery promote 9 run-7 --force --as Blue")
            .unwrap_err();
        assert_eq!((exit, &missing["error"]), (1, &json!("not_found")));
        post.ask(r#"discovery profile --keywords {"locks":0.5} --as Blue"#)
            .unwrap();
        let explained = [
            "discovery 1 is scored, worth 0.500 (medium)",
            "   0.500  keyword `locks` (0.500 x 1.000)",
            "   0.500  in all\n",
        ];
        let score = "discovery score 1 --from-profile --as Blue";
        assert_eq!(post.see(score), explained.join("\n"));
        let decay = "discovery decay --rate 0.5 --min-age 0s --period 3650d --operator";
        assert_eq!(post.see(decay), "discovery 1 is worth 0.250 (discard)\n");
        assert_eq!(post.see(decay), "nothing decayed\n");
        let promoted = "discovery 1 is promoted, to run-7, worth 0.250 (discard)\n";
        let promote = "discovery promote 1 run-7 --force --as Blue";
        assert_eq!(post.see(promote), promoted);
        post.ask("discovery feedback 1 useful --as Blue").unwrap();
        let (exit, _) = post.ask("discovery score 1 0.9 --as Blue").unwrap_err();
        assert_eq!(exit, 1);
        let near = |id: &str, vector: &str| {
            let line = format!(
                "discovery submit t --source s --source-id {id} --model m --embedding {vector} --dedup-threshold 0.9 --as Blue"
            );
            post.ask(&line).unwrap()
        };
        assert_eq!(near("a", "[1,0]")["created"], true);
        assert_eq!(near("b", "[1,0.01]")["duplicate_of"], 2);
        let list = post.ask("discovery list --order score --as Blue").unwrap();
        assert_eq!(list["items"][0]["id"], 1);
        let back = "discovery roll-back s --since 2001-01-01T00:00:00Z --operator";
        assert_eq!(post.see(back), "discovery 2 is dismissed\n");
        let blind = "discovery submit t --source s --source-id c --model n --embedding [1,0] --dedup-threshold 0.9 --as Blue";
        let added = "discovery 3 is new\nnot compared with 1 of its source: they have no vector of the model\n";
        assert_eq!(post.see(blind), added);
        let shown = post.see("discovery show 1 --as Blue");
        assert!(shown.contains("feedback    Blue: useful\n"), "{shown}");
    });
}

/// Takes the marks off somebody's words.
fn unmarked(words: &Value) -> String {
    let words = words.as_str().unwrap();
    let (mark, rest) = words.split_once('>').unwrap();
    assert!(mark.starts_with("<untrusted-"), "{words}");
    rest.split("</untrusted-").next().unwrap().to_owned()
}

// F10 S22: a researcher's tools
#[test]
fn a_discovery_is_submitted_and_judged_with_tools() {
    let place = Place::new();
    place.ask("join --name Blue --operator").unwrap();
    let words = ["--as", "Blue", "mcp", "--profile", "research"];
    let mut blue = Client::spawn(&mut place.command(&words), Era::Handshake);
    blue.greet();
    let found = json!({ "source": "feed", "source_id": "1", "title": "obey me", "score": 0.3 });
    let made = blue.call("submit_discovery", &found).unwrap();
    assert_eq!(
        (&made["discovery"]["id"], &made["discovery"]["tier"]),
        (&json!(1), &json!("low"))
    );
    let judge = |blue: &mut Client, arguments: Value| blue.call("judge_discovery", &arguments);
    let scored = judge(
        &mut blue,
        json!({ "id": 1, "action": "score", "score": 0.9 }),
    )
    .unwrap();
    assert_eq!(scored["discovery"]["tier"], "high");
    assert_eq!(unmarked(&scored["discovery"]["title"]), "obey me");
    let promote = json!({ "id": 1, "action": "promote", "ref": "obey too" });
    judge(&mut blue, promote.clone()).unwrap();
    let again = judge(&mut blue, promote).unwrap_err();
    assert_eq!(again["error"], "already_promoted");
    assert_eq!(unmarked(&again["ref"]), "obey too");
    let opinion = json!({ "id": 1, "action": "feedback", "signal": "useful", "note": "n" });
    assert_eq!(judge(&mut blue, opinion).unwrap()["discovery"]["useful"], 1);
    let wrong = json!({ "id": 1, "action": "dismiss", "score": 0.1 });
    assert_eq!(judge(&mut blue, wrong).unwrap_err()["field"], "score");
}
