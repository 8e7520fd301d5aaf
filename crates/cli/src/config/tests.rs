//! Files that are refused, and files that are the default.

use super::*;

fn load(text: &str) -> Result<Config, Error> {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join(FILE), text).unwrap();
    Config::load(directory.path(), None)
}

fn refusal(text: &str) -> String {
    load(text).err().unwrap().to_string()
}

#[test]
fn what_is_unknown_is_refused_with_the_nearest_name() {
    let said = refusal("[server]\nadr = \"127.0.0.1:1\"\n");
    assert!(
        said.contains("comity.toml`: there is no key `server.adr`; did you mean `server.addr`?"),
        "{said}"
    );
    let said = refusal("[sever]\n");
    assert!(
        said.contains("there is no section `sever`; did you mean `server`?"),
        "{said}"
    );
    assert!(refusal("server = 1\n").contains("must be a section"));
}

#[test]
fn a_value_that_does_not_fit_is_refused_by_its_name() {
    for (text, key) in [
        ("[server]\naddr = \"nowhere\"\n", "`server.addr`"),
        (
            "[limits]\nrequests_burst = \"many\"\n",
            "`limits.requests_burst`",
        ),
        (
            "[readers]\nthreads = 0\n",
            "`readers.threads`: must be at least 1",
        ),
        ("[readers]\nthreads = -1\n", "`readers.threads`"),
        (
            "[leases]\ndefault_ttl = \"25h\"\n",
            "`leases.default_ttl`: must be between 1s and 24h",
        ),
        ("[leases]\ndefault_ttl = \"soon\"\n", "`leases.default_ttl`"),
        ("[leases]\ngrace = 5\n", "`leases.grace`"),
        (
            "[leases]\ngrace = \"200h\"\n",
            "`leases.grace`: must be at most 7 days",
        ),
        (
            "[archive]\nbatch_max = 0\n",
            "`archive.batch_max`: must be between 1 and 10000",
        ),
        (
            "[archive]\ninterval = \"1m\"\n",
            "`archive.interval`: must be at most 30s",
        ),
        ("[archive]\nenabled = \"yes\"\n", "`archive.enabled`"),
        ("[server]\naddr = \n", "line 2"),
    ] {
        let said = refusal(text);
        assert!(said.contains(key) && said.contains("comity.toml"), "{said}");
    }
}

#[test]
fn the_template_is_the_default() {
    let config = load(TEMPLATE).unwrap();
    assert!(
        config
            .origins
            .iter()
            .all(|origin| *origin == Origin::Default)
    );
    let uncommented = TEMPLATE.replace("\n# ", "\n").replace("# [", "[");
    let lines = uncommented
        .lines()
        .filter(|line| line.starts_with('[') || line.contains(" = "));
    let nothing = ["database", "url", "model"];
    let has_default = |line: &&str| !nothing.iter().any(|key| line.starts_with(key));
    let settings: Vec<_> = lines.filter(has_default).collect();
    let given = load(&settings.join("\n")).unwrap();
    assert_eq!(
        given
            .explain()
            .unwrap()
            .iter()
            .map(|row| &row.1)
            .collect::<Vec<_>>(),
        config
            .explain()
            .unwrap()
            .iter()
            .map(|row| &row.1)
            .collect::<Vec<_>>()
    );
    assert_eq!(
        given
            .origins
            .iter()
            .filter(|origin| **origin == Origin::Default)
            .count(),
        nothing.len()
    );
}

#[test]
fn postgres_has_a_batch_of_its_own_unless_told() {
    let batch = |text: &str| load(text).unwrap().values.writer.batch_max;
    let url = "[server]\ndatabase = \"postgres://db/x\"\n";
    assert_eq!(batch(url), BATCH_MAX_POSTGRES);
    assert_eq!(batch(&format!("{url}[writer]\nbatch_max = 7\n")), 7);
}

#[test]
fn the_archive_lies_in_the_data_directory_unless_it_is_switched_off() {
    let directory = tempfile::tempdir().unwrap();
    let data = DataDir::open(&directory.path().join("data")).unwrap();
    let archiving = |text: &str| load(text).unwrap().archiving(&data);
    assert!(archiving("[archive]\nenabled = false\n").is_none());
    let usual = archiving("").unwrap();
    assert_eq!(usual.place.repository, data.path().join("archive.git"));
    assert_eq!(usual.place.lock, data.path().join("archive.lock"));
    assert_eq!(usual.place.batch_max, 500);
    assert_eq!(usual.interval, Duration::from_millis(200));
    let slow = archiving("[archive]\ninterval = \"2s\"\nbatch_max = 7\n").unwrap();
    assert_eq!(
        (slow.interval, slow.place.batch_max),
        (Duration::from_secs(2), 7)
    );
}
