use super::*;

fn opened(name: &str, more: &str) -> Result<Connection, StoreError> {
    let target = PostgresTarget::parse(&url(name, more)).expect("valid");
    Connection::open(&target, Role::Writer)
}

// A9
#[test]
fn asynchronous_commit_is_refused() {
    assert!(matches!(
        opened("sync", "&options=-c%20synchronous_commit%3Doff"),
        Err(StoreError::Other(_))
    ));
    opened("sync", "&options=-c%20synchronous_commit%3Dlocal")
        .map(drop)
        .expect("on disk");
}

// A9
#[test]
fn what_the_url_sets_does_not_replace_what_we_rely_on() {
    let more = "&options=-c%20statement_timeout%3D0%20-c%20standard_conforming_strings%3Doff";
    opened("ours", more)
        .map(drop)
        .expect("set again and read back");
}

#[test]
fn unix_socket_is_accepted_although_it_has_no_user_timeout() {
    let workspace = Workspace::new("socket");
    let place = workspace.place();
    let more = format!("&host={}&port={}", place.directory, place.port);
    let target = PostgresTarget::parse(&place.url("", &more)).expect("valid");
    let mut writer = PostgresWriter::open(&target).expect("open");
    committed_one(&mut writer, 1);
}

#[test]
fn over_tcp_the_user_timeout_is_set_on_the_server() {
    let workspace = Workspace::new("tcp");
    let found = "select case when inet_client_addr() is null then '10000' \
                 else current_setting('tcp_user_timeout') end";
    assert_eq!(workspace.committed::<String>(found), ["10000"]);
}
