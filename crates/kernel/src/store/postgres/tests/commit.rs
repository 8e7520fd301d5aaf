use super::*;

/// Makes a trigger that runs at COMMIT whenever a project was added.
pub(super) fn at_commit(workspace: &Workspace, body: &str) {
    workspace.behind(&format!(
        "create function at_commit() returns trigger language plpgsql as \
         $$ begin {body}; return null; end $$; \
         create constraint trigger at_commit after insert on project \
         deferrable initially deferred for each row execute function at_commit()"
    ));
}

fn commit_project(workspace: &Workspace) -> (PostgresWriter, Result<(), CommitError>) {
    commit_project_by(workspace.writer())
}

pub(super) fn commit_project_by(
    mut writer: PostgresWriter,
) -> (PostgresWriter, Result<(), CommitError>) {
    writer.begin().expect("begin");
    command(&mut writer, 1, "a").expect("command");
    append(&mut writer, 1).expect("append");
    let committed = writer.commit(Seq::new(1));
    (writer, committed)
}

#[test]
fn committed_transaction_is_seen_by_others() {
    let workspace = Workspace::new("commit");
    let (writer, committed) = commit_project(&workspace);
    committed.expect("commit");
    assert!(!writer.in_transaction());
    assert_eq!(workspace.committed::<i64>(PROJECTS), [1]);
    assert_eq!(workspace.committed::<i64>("select seq from log_head"), [1]);
}

// L4: the server answers ROLLBACK to this COMMIT, and the driver says Ok.
#[test]
fn commit_of_a_transaction_that_failed_unseen_is_rolled_back() {
    let workspace = Workspace::new("unseen");
    let mut writer = workspace.writer();
    writer.begin().expect("begin");
    command(&mut writer, 1, "a").expect("command");
    append(&mut writer, 1).expect("append");
    writer.settle().expect("all is well so far");
    let session = writer.connection();
    let client = session.client().expect("connected");
    let failed = session.wait(client.batch_execute("select 1 / 0"));
    assert!(failed.expect("answered").is_err());
    assert!(writer.in_transaction(), "the engine cannot know");
    assert!(matches!(
        writer.commit(Seq::new(1)),
        Err(CommitError::RolledBack(_))
    ));
    assert!(workspace.committed::<i64>(PROJECTS).is_empty());
    committed_one(&mut writer, 1);
}

// L4
#[test]
fn commit_after_a_swallowed_error_is_rolled_back() {
    let workspace = Workspace::new("swallowed");
    let mut writer = workspace.writer();
    for is_settled in [true, false] {
        writer.begin().expect("begin");
        command(&mut writer, 1, "a").expect("command");
        add_project(&mut writer, 2, "a").expect("sent");
        if is_settled {
            writer.settle().expect_err("found and swallowed");
            assert!(!writer.in_transaction());
        }
        let committed = writer.commit(Seq::ZERO);
        assert!(
            matches!(
                committed,
                Err(CommitError::RolledBack(StoreError::Constraint(_)))
            ),
            "{committed:?}"
        );
        assert!(workspace.committed::<i64>(PROJECTS).is_empty());
    }
}

// A6
#[test]
fn wrong_row_count_found_at_commit_is_rolled_back() {
    let workspace = Workspace::new("miscounted");
    let mut writer = workspace.writer();
    writer.begin().expect("begin");
    command(&mut writer, 1, "a").expect("command");
    let nobody = "update project set revision = 2 where id = 99";
    writer.write(nobody, &[], Rows::Exactly(1)).expect("sent");
    let still = "update log_head set lease_us = lease_us";
    writer
        .write(still, &[], Rows::Exactly(1))
        .expect_err("preparing it checked the first");
    writer.rollback();
    writer.begin().expect("begin");
    writer.write(still, &[], Rows::Exactly(1)).expect("sent");
    writer.write(nobody, &[], Rows::Exactly(1)).expect("sent");
    writer.write(still, &[], Rows::Exactly(1)).expect("sent");
    let committed = writer.commit(Seq::ZERO);
    assert!(matches!(
        committed,
        Err(CommitError::RolledBack(StoreError::RowCount {
            expected: 1,
            counted: 0
        }))
    ));
    assert!(workspace.committed::<i64>(PROJECTS).is_empty());
}

// I1
#[test]
fn commit_that_did_not_move_the_head_where_it_says_is_rolled_back() {
    let workspace = Workspace::new("unmoved");
    let mut writer = workspace.writer();
    writer.begin().expect("begin");
    command(&mut writer, 1, "a").expect("command");
    assert!(matches!(
        writer.commit(Seq::new(1)),
        Err(CommitError::RolledBack(_))
    ));
    assert!(workspace.committed::<i64>(PROJECTS).is_empty());
}

// L2
#[test]
fn commit_refused_by_the_server_is_rolled_back() {
    let workspace = Workspace::new("refused");
    at_commit(
        &workspace,
        "raise exception using errcode = 'serialization_failure'",
    );
    let (mut writer, committed) = commit_project(&workspace);
    assert!(
        matches!(
            committed,
            Err(CommitError::RolledBack(StoreError::Conflict(_)))
        ),
        "{committed:?}"
    );
    committed_one(&mut writer, 1);
}

// L9
#[test]
fn connection_that_ends_at_commit_leaves_the_outcome_unknown() {
    let workspace = Workspace::new("unknown");
    at_commit(&workspace, "perform pg_terminate_backend(pg_backend_pid())");
    let (mut writer, committed) = commit_project(&workspace);
    assert!(
        matches!(
            committed,
            Err(CommitError::Indeterminate(StoreError::Lost(_)))
        ),
        "{committed:?}"
    );
    assert!(!writer.in_transaction());
    committed_one(&mut writer, 1);
}
