//! A consumer that is killed at any moment, and started again (I7).
//!
//! `COMITY_CONSUMER_KILLS` says how often.

use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::json;

use crate::place::{COMITY, Place};

/// Takes the consumer over, and then polls, keeps what came, and acknowledges, for ever.
///
/// `seen` is what was handed over, as often as it was; `done` is the effect, which is kept together
/// with the place up to which it is done.
const CONSUMER: &str = r#"
comity() { "$COMITY" --data data --operator --json "$@"; }
number() { sqlite3 :memory: "select json_extract(readfile('$1'), '$2')"; }
while comity events consumer add mirror --since 0 --kind 'custom.*' > "$TMP.added"; do
    generation=$(number "$TMP.added" $.consumer.generation) || exit 1
    while comity events consumer poll mirror --generation "$generation" --limit 4 --wait 1s > "$TMP.page"; do
        through=$(number "$TMP.page" $.through) || exit 1
        sqlite3 -bail -cmd '.timeout 10000' effects.db "
            begin immediate;
            insert into seen (instance, seq) select '$$.$generation', json_extract(value, '\$.seq')
                from json_each(readfile('$TMP.page'), '\$.items');
            insert into done (seq) select json_extract(value, '\$.seq')
                from json_each(readfile('$TMP.page'), '\$.items')
                where json_extract(value, '\$.seq') > (select seq from place);
            update place set seq = max(seq, $through);
            commit;" || exit 1
        comity events consumer ack mirror "$through" --generation "$generation" > "$TMP.acked" || break
    done
done
"#;

struct Dice(u64);

impl Dice {
    /// A number below `end`, another one each time.
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

fn start(place: &Place, number: usize) -> Child {
    Command::new("bash")
        .args(["-c", CONSUMER])
        .env("COMITY", COMITY)
        .env("TMP", format!("instance-{number}"))
        .current_dir(place.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .unwrap()
}

fn kill(mut consumer: Child) {
    kill_process_group(Pid::from_child(&consumer), Signal::KILL).unwrap();
    consumer.wait().unwrap();
}

fn effects(place: &Place, sql: &str) -> Vec<i64> {
    let output = Command::new("sqlite3")
        .args(["-bail", "-cmd", ".timeout 10000", "effects.db", sql])
        .current_dir(place.path())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout).unwrap();
    let numbers = text.lines().filter_map(|line| line.parse().ok());
    numbers.collect()
}

// I7: at least once and in order; exactly once if the cursor is kept with the effect
#[test]
fn a_consumer_killed_at_any_moment_misses_nothing() {
    let kills = std::env::var("COMITY_CONSUMER_KILLS").map_or(8, |text| text.parse().unwrap());
    let place = Place::new();
    place
        .call("ensure_project", &json!({ "key": "/srv/web" }))
        .unwrap();
    effects(
        &place,
        "pragma journal_mode = wal; create table seen (instance, seq); create table done (seq); create table place (seq); insert into place values (0)",
    );
    let _server = place.serve();
    let append = json!({ "project": "web", "stream": "s", "kind": "custom.said" });
    let (mut dice, mut said) = (Dice(7), Vec::new());
    for number in 0..kills {
        let consumer = start(&place, number);
        for _ in 0..2 {
            let answer = place.call("append_event", &append).unwrap();
            said.push(answer["seq"].as_i64().unwrap());
        }
        std::thread::sleep(Duration::from_millis(dice.below(300)));
        kill(consumer);
    }
    let last = start(&place, kills);
    let end = *said.last().unwrap();
    while effects(&place, "select seq from place") < vec![end] {
        std::thread::sleep(Duration::from_millis(20));
    }
    kill(last);
    assert_eq!(
        effects(&place, "select seq from done order by rowid"),
        said,
        "exactly once"
    );
    assert_eq!(
        effects(&place, "select distinct seq from seen order by seq"),
        said,
        "at least once"
    );
    let unordered = "select 1 from seen a join seen b on a.instance = b.instance and a.rowid < b.rowid and a.seq > b.seq";
    assert_eq!(effects(&place, unordered), [0; 0], "in order");
    let times = effects(&place, "select count(*) from seen")[0];
    eprintln!(
        "consumer: killed {kills} times, {} events, handed over {times} times",
        said.len()
    );
}
