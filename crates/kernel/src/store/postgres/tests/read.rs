use std::time::Duration;

use super::*;

// L2
#[test]
fn snapshot_stays_where_it_began() {
    let workspace = Workspace::new("snapshot");
    let mut writer = workspace.writer();
    let mut reader = workspace.reader();
    committed_one(&mut writer, 1);
    let head = reader.begin().expect("begin");
    assert_eq!(head.seq, Seq::new(1));
    assert!(head.server_us.is_some());
    committed_one(&mut writer, 2);
    let events = "select seq from event order by seq";
    assert_eq!(all::<i64>(&mut reader, events), [1]);
    reader.end();
    assert_eq!(reader.begin().expect("begin").seq, Seq::new(2));
    assert_eq!(all::<i64>(&mut reader, events), [1, 2]);
    reader.end();
}

// A1
#[test]
fn reader_cannot_write() {
    let workspace = Workspace::new("reader");
    let mut reader = workspace.reader();
    reader.begin().expect("begin");
    let write = reader.write(ADD_PROJECT, &[], Rows::Any);
    assert!(matches!(write, Err(StoreError::Other(_))));
    let insert = try_all::<i64>(&mut reader, "delete from project returning id");
    assert!(
        matches!(insert, Err(StoreError::Unwritable(_))),
        "{insert:?}"
    );
    reader.end();
    reader.begin().expect("the connection is still good");
    reader.end();
}

#[test]
fn visitor_can_end_a_long_result() {
    let workspace = Workspace::new("visitor");
    let mut reader = workspace.reader();
    reader.begin().expect("begin");
    let mut seen = 0;
    let stopped = reader.each("select generate_series(1, 200000)", &[], &mut |_| {
        seen += 1;
        Err(StoreError::Shape("no more"))
    });
    assert!(matches!(stopped, Err(StoreError::Shape("no more"))));
    assert_eq!(seen, 1);
    assert_eq!(all::<i64>(&mut reader, "select 5"), [5]);
    reader.end();
}

// S5: a search may take less than other reads, and the next read is as patient as before
#[test]
fn hurried_read_ends_and_the_next_is_not_hurried() {
    let workspace = Workspace::new("hurry");
    let mut reader = workspace.reader();
    reader.begin().expect("begin");
    reader
        .hurry(Duration::from_millis(20))
        .expect("it can be told");
    let slow = "select cast(1 as bigint) from pg_sleep(0.2)";
    let ended = try_all::<i64>(&mut reader, slow);
    assert!(matches!(ended, Err(StoreError::Timeout(_))), "{ended:?}");
    reader.end();
    reader.begin().expect("begin");
    assert_eq!(all::<i64>(&mut reader, slow), [1]);
    reader.end();
}
