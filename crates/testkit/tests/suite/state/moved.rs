//! Large values travel with the log: by the archive, and to another database.

use comity_archive::store::{Archiver, Settings, restore};
use comity_kernel::Actor;
use comity_kernel::archive::Archivist as _;
use comity_kernel::transfer::replay_log;
use comity_testkit::{Engine, Kit, both_engines};
use serde_json::{Value, json};

use super::{load, save};
use crate::team::Team;

/// Everything that is kept in the scope, loaded from a database.
fn loaded(kit: &Kit, keys: &[&str]) -> Vec<Value> {
    let one = |key: &&str| {
        let request = json!({ "project": "web", "scope": "s", "key": key });
        kit.call(Actor::OPERATOR, "load_state", &request).unwrap()["value"].clone()
    };
    keys.iter().map(one).collect()
}

both_engines! {
    // D11 D12: with every version, the last ones of which are loaded
    fn large_values_come_back_from_the_archive_and_move(engine) {
        let team = Team::new(engine);
        let large = |word: &str| json!({ "text": word.repeat(2_000), "half": 0.1 });
        save(&team, &team.blue, Some("s"), "once", &large("é'"));
        save(&team, &team.blue, Some("s"), "twice", &large("old"));
        save(&team, &team.blue, Some("s"), "twice", &large("new"));
        save(&team, &team.blue, Some("s"), "small", &json!([1, null]));
        let keys = ["once", "twice", "small"];
        let before = (team.kit.doctor().state_hash, loaded(&team.kit, &keys));
        let directory = team.kit.directory();
        let archiver = Archiver::new(team.kit.share(), team.kit.options().ambient.clone(), Settings {
            repository: directory.join("archive.git"),
            lock: directory.join("archive.lock"),
            batch_max: 500,
        });
        archiver.drain().unwrap();
        let verified = archiver.verify().unwrap();
        assert!(verified.ok, "{verified:#?}");
        let mut restored = Kit::new(engine);
        restored.stop();
        restore(&directory.join("archive.git"), restored.options(), |_, _| {}).unwrap();
        restored.restart();
        assert_eq!((restored.doctor().state_hash, loaded(&restored, &keys)), before, "restored");
        assert_eq!(restored.shell("select count(*) from blob").unwrap(), "3", "the old version too");
        let there = match engine {
            Engine::Sqlite => Engine::Postgres,
            Engine::Postgres => Engine::Sqlite,
        };
        let mut moved = Kit::new(there);
        moved.stop();
        restored.stop();
        replay_log(restored.options(), moved.options(), |_, _| {}).unwrap();
        moved.restart();
        restored.restart();
        assert_eq!((moved.doctor().state_hash, loaded(&moved, &keys)), before, "moved");
        // And it goes on there.
        let next = json!({ "project": "web", "scope": "s", "key": "twice", "value": 3, "expected_version": 2 });
        assert_eq!(moved.call(Actor::OPERATOR, "save_state", &next).unwrap()["state"]["version"], 3);
        assert_eq!(load(&team, &team.blue, Some("s"), "twice").unwrap().1, 2);
    }
}
