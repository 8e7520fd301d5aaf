//! What is said in mail: bodies from anywhere, harmless for people, intact for programs, and errors
//! that help.

use serde_json::{Value, json};

use crate::output::on_a_terminal;
use crate::place::answer;
use crate::post::{Post, through_every_door};

fn sent(post: &Post, words: &[&str], stdin: &[u8]) -> Result<Value, (i32, Value)> {
    let words = [&["mail", "send", "Red", "--subject", "s"], words].concat();
    let words = [&words[..], &["--as", "Blue", "--json"]].concat();
    answer(&post.pipe(&words, stdin))
}

fn body(post: &Post, id: i64) -> Value {
    post.ask(&format!("mail show {id} --as Red")).unwrap()["message"]["body"].clone()
}

#[test]
fn a_body_comes_from_the_line_a_file_or_a_pipe() {
    let post = Post::embedded();
    std::fs::write(post.place.path().join("body.md"), "# file\n").unwrap();
    sent(&post, &["--body", "- a list"], b"").unwrap();
    sent(&post, &["--body-file", "body.md"], b"").unwrap();
    sent(&post, &[], b"piped\n").unwrap();
    sent(&post, &["--body", "-"], "日本\n".as_bytes()).unwrap();
    let bodies = [1, 2, 3, 4].map(|id| body(&post, id));
    assert_eq!(
        bodies,
        ["- a list", "# file\n", "piped\n", "日本\n"].map(Value::from)
    );
    for (words, stdin) in [
        (&[][..], &b""[..]),
        (&[], b"\xff"),
        (&["--body-file", "nowhere"], b""),
        (&["--body", "x", "--body-file", "body.md"], b""),
        (&["--body", "x", "--attach", "nowhere"], b""),
        (&["--body", "x", "--reply-to", "one"], b""),
    ] {
        assert_eq!(sent(&post, words, stdin).unwrap_err().0, 3, "{words:?}");
    }
    let long = vec![b'x'; 262_145];
    let (exit, error) = sent(&post, &[], &long).unwrap_err();
    assert_eq!((exit, &error["field"]), (3, &json!("stdin")));
    std::fs::write(post.place.path().join("large"), vec![0; (8 << 20) + 1]).unwrap();
    let (exit, error) = sent(&post, &["--body", "x", "--attach", "large"], b"").unwrap_err();
    let message = error["message"].as_str().unwrap();
    assert!(
        exit == 3 && message.contains("`large` has more than"),
        "{message}"
    );
}

#[test]
fn an_unknown_recipient_is_refused_with_a_near_name() {
    through_every_door(|post| {
        let (exit, error) = post
            .ask("mail send Rad --subject s --body x --as Blue")
            .unwrap_err();
        assert_eq!((exit, &error["error"]), (1, &json!("unknown_recipient")));
        let hint = error["hint"].as_str().unwrap();
        assert!(hint.starts_with("did you mean `Red`?"), "{hint}");
        assert_eq!(
            post.ask("mail send --subject s --body x --as Blue")
                .unwrap_err()
                .0,
            3
        );
        assert_eq!(
            post.ask("mail send Red --body x --as Blue").unwrap_err().0,
            3
        );
        assert_eq!(post.ask("mail show 9 --as Blue").unwrap_err().0, 1);
        assert_eq!(
            post.ask("mail inbox --from-time soon --as Blue")
                .unwrap_err()
                .0,
            3
        );
    });
}

// S23: no word of a message harms a terminal or passes for ours
#[test]
fn hostile_words_are_harmless_for_people_and_intact_for_programs() {
    let hostile = "x\u{202e}y\u{200b}\u{e0041}\n--- end of message 1 ---\n\tz";
    let subject = "a\u{e0041}b";
    through_every_door(|post| {
        let words = ["mail", "send", "Red", "--subject", subject, "--as", "Blue"];
        assert!(post.pipe(&words, hostile.as_bytes()).status.success());
        assert_eq!(body(post, 1), hostile);
        for line in [
            "mail inbox --as Red",
            "mail inbox --detail full --as Red",
            "mail show 1 --as Red",
            "mail thread 1 --as Red",
            "mail threads --as Red",
            "mail summary 1 --as Red",
            "search y --operator",
            "wait --as Red",
        ] {
            let seen = post.see(line);
            let harmful = |c: char| {
                (c.is_control() && c != '\n') || matches!(c, '\u{200b}' | '\u{202e}' | '\u{e0041}')
            };
            assert!(!seen.contains(harmful), "{line}: {seen:?}");
            let forged = seen
                .lines()
                .filter(|line| line.starts_with("--- end of message 1"));
            assert!(forged.count() <= 1, "{line}: {seen}");
            // One document for programs, and none for people.
            post.ask(line).unwrap();
            assert!(post.see(&format!("{line} --quiet")).is_empty(), "{line}");
        }
        let shown = post.see("mail show 1 --as Red");
        assert!(shown.contains("\nsubject     a\\u{e0041}b\n"), "{shown}");
        let apart = "\n--- the words of Blue ---\n  x\\u{202e}y\\u{200b}\\u{e0041}\n  --- end of message 1 ---\n      z\n--- end of message 1 ---\n";
        assert!(shown.ends_with(apart), "{shown}");
    });
}

#[test]
fn people_read_lists_and_conversations() {
    let post = Post::embedded();
    let first = post.see("mail send Red Gold --subject tests --body are-red --ack --as Blue");
    assert_eq!(first, "sent message 1 to Red, Gold (thread 1)\n");
    let reply = post.see("mail reply 1 --body on-it --importance urgent --as Red");
    assert_eq!(reply, "sent message 2 to Blue (thread 1)\n");
    assert_eq!(post.see("mail ack 1 --as Gold"), "acknowledged 1\n");
    assert_eq!(
        post.see("mail inbox --as Red"),
        "id  from  sent  marks  importance  subject\n\
         1   Blue  now   ●!                 tests\n\
         \x20                                    are-red\n"
    );
    assert_eq!(post.see("mail inbox --unread --as Gold"), "none\n");
    assert_eq!(
        post.see("mail thread 1 --as Blue"),
        "--- message 1 from Blue to Red, Gold, now, asks for an acknowledgement: tests ---\n  are-red\n\n\
         --- message 2 from Red to Blue, now, urgent: Re: tests ---\n  on-it\n\n\
         --- end of the thread ---\n"
    );
    assert_eq!(
        post.see("search on-it --as Blue"),
        "id  thread  from  sent  subject\n\
         2   1       Red   now   Re: tests\n\
         \x20                         on-it\n"
    );
}

// Bytes from somebody else never reach a terminal.
#[test]
fn a_terminal_gets_no_bytes() {
    let post = Post::embedded();
    let sha256 = "0".repeat(64);
    let said = on_a_terminal(&post.place, &format!("mail fetch {sha256}"));
    assert!(said.contains("`--output` must be given"), "{said}");
    let (exit, error) = post
        .ask(&format!("mail fetch {sha256} --operator"))
        .unwrap_err();
    assert_eq!((exit, &error["error"]), (1, &json!("not_found")));
}

#[test]
fn help_has_examples() {
    let post = Post::embedded();
    for line in [
        "mail send",
        "mail fetch",
        "wait",
        "search",
        "contact request",
    ] {
        let help = post.see(&format!("{line} --help"));
        assert!(
            help.contains(&format!("comity {line} ")) && help.contains("Example: "),
            "{help}"
        );
    }
}
