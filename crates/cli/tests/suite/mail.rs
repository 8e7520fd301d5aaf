//! Mail with the real binary, the same through every door.

use serde_json::{Value, json};

use crate::post::{NOTHING, ids, through_every_door};

#[test]
fn a_message_is_sent_listed_shown_and_answered() {
    through_every_door(|post| {
        let sent = "mail send Red --cc Gold --bcc operator --subject tests --body are-red
            --importance high --ack --topic t --as Blue";
        let sent = post.ask(sent).unwrap();
        let message = &sent["message"];
        assert_eq!(
            (&message["id"], &message["thread_id"]),
            (&json!(1), &json!(1))
        );
        assert_eq!(message["bcc"], json!(["operator"]));
        assert_eq!(sent["skipped"], json!([]));
        // Nobody's own box needs a name.
        let filters = "--unread --ack-pending --from Blue --topic t --importance high --oldest";
        let listed = post.ask(&format!("mail inbox {filters} --as Red")).unwrap();
        assert_eq!(ids(&listed), [1]);
        assert_eq!(listed["items"][0]["preview"], "are-red");
        assert_eq!(ids(&post.ask("mail inbox --operator").unwrap()), [1]);
        assert_eq!(ids(&post.ask("mail inbox Gold --operator").unwrap()), [1]);
        assert_eq!(post.ask("mail inbox Gold --as Red").unwrap_err().0, 1);
        let shown = post.ask("mail show 1 --as Red").unwrap();
        assert_eq!(shown["message"]["body"], "are-red");
        assert_eq!(shown["message"]["bcc"], Value::Null);
        let reply = post.ask("mail reply 1 --body on-it --as Red").unwrap();
        assert_eq!(reply["message"]["subject"], "Re: tests");
        assert_eq!(reply["message"]["to"], json!(["Blue"]));
        let again = post.send("--reply-to 2 --subject more --body x --operator");
        assert_eq!(
            ids(&post.ask("mail thread 2 --operator").unwrap()),
            [1, 2, again]
        );
        let passed = post
            .ask("mail forward 1 Gold --note look --as Red")
            .unwrap();
        assert_eq!(passed["message"]["subject"], "Fwd: tests");
    });
}

#[test]
fn marks_and_threads_tell_how_things_stand() {
    through_every_door(|post| {
        post.send("Red Gold --subject tests --body x --ack --as Blue");
        post.send("Red --subject other --body y --operator");
        let read = post.ask("mail read 1 2 --as Red").unwrap();
        assert_eq!(read["messages"][1]["id"], 2);
        assert_eq!(
            ids(&post.ask("mail inbox --unread --as Red").unwrap()),
            NOTHING
        );
        let acked = post.ask("mail ack 1 --note yes --as Red").unwrap();
        assert!(acked["messages"][0]["acked_at"].is_string());
        let marks = post.ask("mail show 1 --as Blue").unwrap()["marks"].clone();
        assert_eq!(
            (&marks[0]["agent"], &marks[0]["note"]),
            (&json!("Red"), &json!("yes"))
        );
        let overdue = post.ask("mail overdue --operator").unwrap()["items"].clone();
        assert_eq!(overdue[0]["waiting_for"], json!(["Gold"]));
        let later = post.ask("mail overdue --older-than 1h --as Blue").unwrap();
        assert_eq!(later["items"], json!([]));
        let summed = post.ask("mail summary 1 --as Gold").unwrap();
        assert_eq!(
            summed["open_acks"],
            json!([{ "message_id": 1, "agent": "Gold" }])
        );
        assert_eq!(ids(&post.ask("mail threads --as Red").unwrap()), [2, 1]);
        assert_eq!(ids(&post.ask("mail threads Gold --operator").unwrap()), [1]);
        let foreign = post.ask("mail ack 2 --as Gold").unwrap_err();
        assert_eq!((foreign.0, &foreign.1["error"]), (1, &json!("not_found")));
    });
}

#[test]
fn messages_are_found_by_their_words() {
    through_every_door(|post| {
        post.send("Red --subject parser --body TKT-123-fails --as Blue");
        post.send("Red --subject lexer --body fails-too --as Gold");
        let found = |words: &str| ids(&post.ask(&format!("search {words}")).unwrap());
        assert_eq!(found("fails --newest --as Red"), [2, 1]);
        assert_eq!(found("fails --newest --limit 1 --after 2 --as Red"), [1]);
        assert_eq!(found("subject:parser fails --as Red"), [1]);
        assert_eq!(found("fails --from Gold --as Red"), [2]);
        assert_eq!(found("--as Red -- fails -too"), [1]);
        assert_eq!(found("fails --agent Blue --operator"), [1]);
        assert_eq!(found("fails --newest --operator"), [2, 1]);
        assert_eq!(
            found("fails --as Blue --until-time 2001-01-01T00:00:00Z"),
            NOTHING
        );
        let bad = post.ask("search f* --as Red").unwrap_err();
        assert_eq!((bad.0, &bad.1["field"]), (3, &json!("query")));
    });
}

#[test]
fn files_go_with_messages_and_come_back_as_they_were() {
    through_every_door(|post| {
        let bytes: Vec<u8> = (0..=255).cycle().take(70_000).collect();
        let file = |name: &str| post.place.path().join(name);
        std::fs::write(file("a.bin"), &bytes).unwrap();
        std::fs::write(file("b.bin"), b"other").unwrap();
        // One key goes with any number of files.
        let send = "Red --subject s --body x --attach a.bin --attach b.bin --key k --as Blue";
        assert_eq!(post.send(send), post.send(send));
        let shown = post.ask("mail show 1 --as Red").unwrap();
        let carried = &shown["message"]["attachments"];
        assert_eq!(
            (&carried[0]["name"], &carried[0]["bytes"]),
            (&json!("a.bin"), &json!(70_000))
        );
        assert_eq!(carried[1]["name"], "b.bin");
        let sha256 = carried[0]["sha256"].as_str().unwrap();
        assert_eq!(post.see("mail attach a.bin --as Gold").trim(), sha256);
        let piped = post.pipe(&["mail", "fetch", sha256, "--as", "Red"], b"");
        assert!(piped.status.success() && piped.stdout == bytes);
        let fetch = format!("mail fetch {sha256} --as Red");
        let fetched = post.ask(&fetch).unwrap();
        let fields: Vec<_> = fetched.as_object().unwrap().keys().collect();
        assert_eq!(fields, ["bytes", "content", "sha256"]);
        assert_eq!(
            post.ask(&format!("{fetch} -o new.bin")).unwrap()["bytes"],
            70_000
        );
        assert_eq!(std::fs::read(file("new.bin")).unwrap(), bytes);
        assert_eq!(post.ask(&format!("{fetch} -o b.bin")).unwrap_err().0, 3);
        assert_eq!(std::fs::read(file("b.bin")).unwrap(), b"other");
        // Not a party to the message, whether or not one had the same bytes once.
        let foreign = format!("mail fetch {sha256} --as Gold");
        assert_eq!(post.ask(&foreign).unwrap_err().0, 1);
    });
}

#[test]
fn contacts_are_asked_for_and_answered() {
    through_every_door(|post| {
        post.ask("agent update Red --contact-policy contacts --as Red")
            .unwrap();
        let send = "mail send Red --subject s --body x --as Blue";
        let (exit, refused) = post.ask(send).unwrap_err();
        assert_eq!((exit, &refused["error"]), (1, &json!("delivery_refused")));
        let some = post.see("mail send Gold Red --subject s --body x --as Blue");
        assert_eq!(
            some,
            "sent message 1 to Gold (thread 1)\nskipped Red: not a contact\n"
        );
        let asked = post
            .ask("contact request Red --reason please --as Blue")
            .unwrap();
        assert_eq!(asked["contact"]["state"], "requested");
        let listed = post.ask("contact list --as Red").unwrap();
        assert_eq!(listed["items"][0]["reason"], "please");
        let past = "contact answer 1 approve --until 2001-01-01T00:00:00Z --as Red";
        assert_eq!(post.ask(past).unwrap_err().0, 3);
        post.ask("contact answer 1 approve --as Red").unwrap();
        post.ask(send).unwrap();
        post.ask("contact answer 1 refuse --operator").unwrap();
        assert_eq!(post.ask(send).unwrap_err().0, 1);
    });
}
