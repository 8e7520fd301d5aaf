use std::sync::Barrier;
use std::thread;

use super::super::MigrateError;
use super::*;

const TWO_STEPS: &[Migration] = &[
    MIGRATIONS[0],
    Migration {
        number: 2,
        sqlite: "",
        postgres: "create table added (id bigint)",
    },
];

fn schema_of(workspace: &Workspace) -> i64 {
    workspace.committed::<i64>("select schema from log_head")[0]
}

#[test]
fn only_missing_steps_are_run_and_a_newer_schema_is_refused() {
    let workspace = Workspace::new("steps");
    migrate(&workspace.target, MIGRATIONS, &fresh()).expect("nothing to do");
    assert_eq!(schema_of(&workspace), 1);
    migrate(&workspace.target, TWO_STEPS, &fresh()).expect("one step");
    assert_eq!(schema_of(&workspace), 2);
    let older = migrate(&workspace.target, MIGRATIONS, &fresh());
    assert!(matches!(
        older,
        Err(MigrateError::Newer { found: 2, known: 1 })
    ));
    assert_eq!(schema_of(&workspace), 2);
}

// K1
#[test]
fn failed_step_leaves_nothing() {
    let workspace = Workspace::new("failed_step");
    let broken = [
        MIGRATIONS[0],
        TWO_STEPS[1],
        Migration {
            number: 3,
            sqlite: "",
            postgres: "create table added (id bigint)",
        },
    ];
    let failed = migrate(&workspace.target, &broken, &fresh());
    assert!(matches!(failed, Err(MigrateError::Store(_))));
    assert_eq!(schema_of(&workspace), 1);
    migrate(&workspace.target, TWO_STEPS, &fresh()).expect("the first of them is not there");
}

// 3.2
#[test]
fn lease_clock_starts_where_it_is_told() {
    let workspace = Workspace::empty("lease");
    let fixed = Fresh {
        lease_us: Some(42),
        ..fresh()
    };
    migrate(&workspace.target, MIGRATIONS, &fixed).expect("migrate");
    let mut reader = workspace.reader();
    let head = reader.begin().expect("begin");
    assert_eq!((head.lease_us, head.anchor_us), (42, 42));
    reader.end();
}

#[test]
fn servers_that_open_a_new_workspace_at_once_all_succeed() {
    let workspace = Workspace::empty("at_once");
    let barrier = Barrier::new(4);
    thread::scope(|scope| {
        for nth in 0..4 {
            let (barrier, target) = (&barrier, &workspace.target);
            scope.spawn(move || {
                let mine = Fresh {
                    epoch: nth.to_string(),
                    lease_us: None,
                };
                barrier.wait();
                migrate(target, MIGRATIONS, &mine).expect("migrate");
            });
        }
    });
    assert_eq!(
        workspace
            .committed::<String>("select epoch from log_head")
            .len(),
        1
    );
}

#[test]
fn schema_may_be_a_word_of_sql_and_as_long_as_a_name_can_be() {
    let server = url("x", "");
    let (server, _) = server.split_once("schema=").expect("a schema");
    for schema in ["user", &format!("comity_{:0>56}", std::process::id())] {
        let target = PostgresTarget::parse(&format!("{server}schema={schema}")).expect("valid");
        drop_schema(&target).expect("drop");
        let workspace = Workspace { target };
        migrate(&workspace.target, MIGRATIONS, &fresh()).expect("migrate");
        committed_one(&mut workspace.writer(), 1);
    }
}
