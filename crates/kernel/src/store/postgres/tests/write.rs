use std::sync::atomic::Ordering;

use super::*;
use crate::store::Value;

#[test]
fn begin_reads_the_head_and_the_servers_clock() {
    let workspace = Workspace::new("begin");
    let mut writer = workspace.writer();
    let head = writer.begin().expect("begin");
    assert_eq!((head.seq, head.schema), (Seq::ZERO, 1));
    assert_eq!(
        (head.epoch.as_str(), head.anchor_of.as_str()),
        ("epoch", "server")
    );
    assert_eq!(head.hash, [0; 32]);
    assert!(head.server_us.expect("a clock") >= head.lease_us);
    assert!(writer.in_transaction());
    writer.rollback();
    assert!(!writer.in_transaction());
}

// B2
#[test]
fn pipelined_error_is_found_at_settle_and_only_its_command_is_undone() {
    let workspace = Workspace::new("alone");
    let mut writer = workspace.writer();
    writer.begin().expect("begin");
    command(&mut writer, 1, "a").expect("first");
    writer.savepoint().expect("savepoint");
    add_project(&mut writer, 2, "b").expect("sent");
    add_project(&mut writer, 3, "a").expect("sent, not checked");
    assert!(matches!(writer.settle(), Err(StoreError::Constraint(_))));
    assert!(matches!(
        try_all::<i64>(&mut writer, PROJECTS),
        Err(StoreError::Constraint(_))
    ));
    assert!(writer.in_transaction());
    writer.undo().expect("undo");
    command(&mut writer, 4, "d").expect("next");
    append(&mut writer, 1).expect("append");
    writer.commit(Seq::new(1)).expect("commit");
    assert_eq!(workspace.committed::<i64>(PROJECTS), [1, 4]);
}

// B2: the kernel's writer releases first and settles both together.
#[test]
fn error_found_after_the_release_undoes_only_its_command() {
    let workspace = Workspace::new("released");
    let mut writer = workspace.writer();
    writer.begin().expect("begin");
    command(&mut writer, 1, "a").expect("first");
    writer.savepoint().expect("savepoint");
    add_project(&mut writer, 2, "a").expect("sent");
    writer.release().expect("sent");
    assert!(matches!(writer.settle(), Err(StoreError::Constraint(_))));
    assert!(writer.in_transaction());
    writer.undo().expect("undo");
    command(&mut writer, 3, "c").expect("next");
    append(&mut writer, 1).expect("append");
    writer.commit(Seq::new(1)).expect("commit");
    assert_eq!(workspace.committed::<i64>(PROJECTS), [1, 3]);
}

// B3
#[test]
fn error_found_in_the_next_command_ends_the_transaction() {
    let workspace = Workspace::new("late");
    let mut writer = workspace.writer();
    writer.begin().expect("begin");
    command(&mut writer, 1, "a").expect("first");
    writer.savepoint().expect("savepoint");
    add_project(&mut writer, 2, "a").expect("sent");
    writer.release().expect("sent");
    writer.savepoint().expect("sent");
    add_project(&mut writer, 3, "c").expect("sent");
    assert!(matches!(writer.settle(), Err(StoreError::Constraint(_))));
    assert!(!writer.in_transaction());
    assert!(
        writer.undo().is_err(),
        "it would undo another command's savepoint"
    );
    assert!(matches!(
        writer.commit(Seq::ZERO),
        Err(CommitError::RolledBack(_))
    ));
    assert!(workspace.committed::<i64>(PROJECTS).is_empty());
}

#[test]
fn reading_checks_the_writes_before_it() {
    let workspace = Workspace::new("read_checks");
    let mut writer = workspace.writer();
    writer.begin().expect("begin");
    command(&mut writer, 1, "a").expect("first");
    writer.savepoint().expect("savepoint");
    add_project(&mut writer, 2, "b").expect("sent");
    assert_eq!(
        all::<i64>(&mut writer, PROJECTS),
        [1, 2],
        "own writes are seen"
    );
    add_project(&mut writer, 3, "b").expect("sent");
    let first = try_all::<i64>(&mut writer, PROJECTS);
    assert!(
        matches!(first, Err(StoreError::Constraint(_))),
        "the cause, not its consequence"
    );
    writer.undo().expect("undo");
    assert_eq!(all::<i64>(&mut writer, PROJECTS), [1]);
    writer.rollback();
}

// A6
#[test]
fn wrong_row_count_is_an_error_of_the_command() {
    let workspace = Workspace::new("count");
    let mut writer = workspace.writer();
    writer.begin().expect("begin");
    writer.savepoint().expect("savepoint");
    let nobody = "update project set revision = 2 where id = 99";
    writer.write(nobody, &[], Rows::Exactly(1)).expect("sent");
    assert!(matches!(
        writer.settle(),
        Err(StoreError::RowCount {
            expected: 1,
            counted: 0
        })
    ));
    writer.undo().expect("undo");
    writer.write(nobody, &[], Rows::Any).expect("sent");
    writer.settle().expect("any count");
    writer.rollback();
}

#[test]
fn value_of_the_wrong_type_is_refused_at_once() {
    let workspace = Workspace::new("bind");
    let mut writer = workspace.writer();
    writer.begin().expect("begin");
    writer.savepoint().expect("savepoint");
    let bound = writer.write(ADD_PROJECT, &[1.into(), 2.into()], Rows::Exactly(1));
    assert!(matches!(bound, Err(StoreError::Other(_))));
    let missing = writer.write(ADD_PROJECT, &[1.into()], Rows::Exactly(1));
    assert!(
        missing.is_err(),
        "the first error stands until it is undone"
    );
    writer.undo().expect("undo");
    command(&mut writer, 1, "a").expect("the transaction lives");
    writer.rollback();
}

#[test]
fn every_kind_of_value_comes_back_as_it_went() {
    let workspace = Workspace::new("values");
    let mut writer = workspace.writer();
    writer.begin().expect("begin");
    let sql = "select cast(?1 as bigint), cast(?2 as text), cast(?3 as bytea), \
               cast(?4 as double precision), cast(?5 as bigint), 7, '?1'";
    let params = [
        i64::MIN.into(),
        "né\u{1F980}".into(),
        Param::Blob(&[0, 255]),
        0.1.into(),
        Param::Null,
    ];
    let mut found = Vec::new();
    let read = writer.each(sql, &params, &mut |row| {
        found = row.rest();
        Ok(())
    });
    read.expect("read");
    let expected = [
        Value::Int(i64::MIN),
        Value::Text("né\u{1F980}".to_owned()),
        Value::Blob(vec![0, 255]),
        Value::Real(0.1),
        Value::Null,
        Value::Int(7),
        Value::Text("?1".to_owned()),
    ];
    assert_eq!(found, expected);
    let numeric = try_all::<i64>(&mut writer, "select 1.5");
    assert!(matches!(numeric, Err(StoreError::Shape(_))));
    assert!(writer.in_transaction(), "the server knows nothing of that");
    writer.rollback();
}

#[test]
fn batch_waits_once_per_command_and_once_to_commit() {
    let workspace = Workspace::new("trips");
    let mut writer = workspace.writer();
    let trips = writer.round_trips();
    writer.begin().expect("begin");
    command(&mut writer, 1, "warm").expect("first");
    append(&mut writer, 1).expect("append");
    writer.commit(Seq::new(1)).expect("commit");
    let before = (
        trips.writing.load(Ordering::Relaxed),
        trips.preparing.load(Ordering::Relaxed),
    );
    writer.begin().expect("begin");
    for id in 2..10 {
        writer.savepoint().expect("savepoint");
        for nth in 0..50 {
            let project = id * 100 + nth;
            add_project(&mut writer, project, &project.to_string()).expect("sent");
        }
        writer.settle().expect("settle");
        writer.release().expect("release");
    }
    writer
        .write("update log_head set seq = seq", &[], Rows::Exactly(1))
        .expect("sent");
    writer.commit(Seq::new(1)).expect("commit");
    assert_eq!(trips.writing.load(Ordering::Relaxed) - before.0, 8 + 1);
    // The last statement is new, and is prepared after what was outstanding was checked.
    assert_eq!(trips.preparing.load(Ordering::Relaxed) - before.1, 1);
    assert_eq!(
        workspace.committed::<i64>("select count(*) from project"),
        [401]
    );
}

#[test]
fn more_writes_than_may_be_outstanding_are_all_checked() {
    let workspace = Workspace::new("many");
    let mut writer = workspace.writer();
    writer.begin().expect("begin");
    writer.savepoint().expect("savepoint");
    for id in 0..2_500 {
        add_project(&mut writer, id, &id.to_string()).expect("sent");
    }
    let blob = vec![b'x'; 3 << 20];
    for _ in 0..4 {
        let sql = "update project set name = cast(length(cast(?1 as bytea)) as text) where id = 0";
        writer
            .write(sql, &[Param::Blob(&blob)], Rows::Exactly(1))
            .expect("sent");
    }
    writer.settle().expect("settle");
    assert_eq!(
        all::<i64>(&mut writer, "select count(*) from project"),
        [2_500]
    );
    writer.rollback();
}
