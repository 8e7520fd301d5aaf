//! Rules about migrations.

use comity_kernel::store::MIGRATIONS;

use super::root;

fn numbers(dialect: &str) -> Vec<(i64, String)> {
    let folder = root().join("crates/kernel/migrations").join(dialect);
    let mut found: Vec<_> = std::fs::read_dir(folder)
        .expect("a folder")
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .map(|name| {
            let (number, _) = name.split_once('_').expect("0001_name.sql");
            (number.parse().expect("a number"), name)
        })
        .collect();
    found.sort();
    found
}

// K1
#[test]
fn both_dialects_have_the_same_migrations() {
    let sqlite = numbers("sqlite");
    assert_eq!(sqlite, numbers("postgres"));
    let known: Vec<_> = MIGRATIONS
        .iter()
        .map(|migration| migration.number)
        .collect();
    let files: Vec<_> = sqlite.iter().map(|(number, _)| *number).collect();
    assert_eq!(files, known);
    assert!(files.iter().copied().eq((1..).take(files.len())));
}

// B4: nothing in the schema ends a transaction or replaces a row
#[test]
fn no_trigger_rolls_back_and_nothing_replaces() {
    for migration in MIGRATIONS {
        for text in [migration.sqlite, migration.postgres] {
            // A function of PostgreSQL that is written anew replaces no row.
            let text = text.to_lowercase();
            let text = text.replace("create or replace function", "");
            for refused in [
                "raise(rollback",
                "on conflict rollback",
                "on conflict replace",
                "or replace",
                "autoincrement",
                "default current",
            ] {
                assert!(!text.contains(refused), "{}: {refused}", migration.number);
            }
        }
    }
}
