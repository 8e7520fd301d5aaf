//! Host and Origin, on every route there is (S16). The kernel is not asked: SQLite alone.

use comity_testkit::served::{Answer, Call};

use crate::town::{Town, every_door};

/// Sends a request line with exactly these headers.
fn send(town: &Town, line: &str, headers: &[String]) -> Answer {
    let mut request = format!("{line}\r\n");
    for header in headers {
        request.push_str(header);
        request.push_str("\r\n");
    }
    town.served
        .raw(format!("{request}\r\n").as_bytes())
        .expect("an answer")
}

// S16
#[test]
fn a_forged_host_is_refused_on_every_route() {
    let town = Town::small();
    let port = town.served.addr().port();
    let authorized = format!("Authorization: Bearer {}", town.operator);
    let mut forged: Vec<Vec<String>> = [
        "evil.com".to_owned(),
        format!("evil.com:{port}"),
        "localhost".to_owned(),
        "127.0.0.1".to_owned(),
        format!("localhost.:{port}"),
        format!("localhost:{}", port ^ 1),
        format!("localhost:0{port}"),
        format!("localhost:{port}:{port}"),
        format!("localhost:{port}.evil.com"),
        format!("localhost:{port},evil.com"),
        format!("127.1:{port}"),
        format!("0x7f000001:{port}"),
        format!("2130706433:{port}"),
        format!("127.0.0.1.:{port}"),
        format!("127.0.0.2:{port}"),
        format!("[::ffff:127.0.0.1]:{port}"),
        format!("[::1%25lo]:{port}"),
        format!("user@localhost:{port}"),
        format!("http://localhost:{port}"),
        String::new(),
    ]
    .into_iter()
    .map(|host| vec![format!("Host: {host}")])
    .collect();
    let good = format!("Host: localhost:{port}");
    forged.push(vec![]);
    forged.push(vec![good.clone(), good.clone()]);
    forged.push(vec![good.clone(), "Host: evil.com".to_owned()]);
    for (method, path) in every_door() {
        for hosts in &forged {
            for version in ["1.1", "1.0"] {
                let headers = [hosts.as_slice(), std::slice::from_ref(&authorized)].concat();
                let answer = send(&town, &format!("{method} {path} HTTP/{version}"), &headers);
                assert_eq!(answer.status, 421, "{method} {path} {hosts:?}");
                assert_eq!(answer.json()["error"], "wrong_host");
            }
        }
    }
    town.must_be_well();
}

// S16
#[test]
fn the_servers_own_names_are_known_on_every_route() {
    let town = Town::small();
    let port = town.served.addr().port();
    for (method, path) in every_door() {
        for host in ["localhost", "LOCALHOST", "LocalHost", "127.0.0.1", "[::1]"] {
            for target in ["", "http://127.0.0.1:{port}"] {
                let target = target.replace("{port}", &port.to_string());
                let line = format!("{method} {target}{path} HTTP/1.1");
                let answer = send(&town, &line, &[format!("Host: {host}:{port}")]);
                assert!(![421, 403].contains(&answer.status), "{line} {host}");
            }
        }
    }
}

// S16: the URL itself may name a host too
#[test]
fn an_absolute_url_of_another_host_is_refused() {
    let town = Town::small();
    let port = town.served.addr().port();
    let good = [format!("Host: localhost:{port}")];
    for other in [
        "evil.com".to_owned(),
        format!("evil.com:{port}"),
        "localhost".to_owned(),
        format!("user@localhost:{port}"),
        format!("localhost.:{port}"),
    ] {
        let answer = send(&town, &format!("GET http://{other}/health HTTP/1.1"), &good);
        assert_eq!(answer.status, 421, "{other}");
    }
    let answer = send(
        &town,
        &format!("GET http://localhost:{port}/health HTTP/1.1"),
        &["Host: evil.com".to_owned()],
    );
    assert_eq!(answer.status, 421);
    town.must_be_well();
}

// S15 S16
#[test]
fn pages_of_other_origins_are_refused_on_every_route() {
    let town = Town::small();
    let port = town.served.addr().port();
    let origin = |origin: &str| vec![format!("Origin: {origin}")];
    let here = format!("http://localhost:{port}");
    let foreign = [
        origin("null"),
        origin(""),
        origin("http://evil.com"),
        origin(&format!("http://evil.com:{port}")),
        origin("http://localhost"),
        origin(&format!("http://localhost:{}", port ^ 1)),
        origin(&format!("{here}.evil.com")),
        origin(&format!("{here}/")),
        origin(&format!("{here}@evil.com")),
        origin(&format!("http://evil.com@localhost:{port}")),
        origin(&format!("ws://localhost:{port}")),
        origin(&format!("localhost:{port}")),
        origin(&format!("HTTP://localhost:{port}")),
        origin(&format!("{here} {here}")),
        [origin(&here), origin(&here)].concat(),
        [origin(&here), origin("http://evil.com")].concat(),
    ];
    let own = [
        here.clone(),
        format!("https://localhost:{port}"),
        format!("http://LOCALHOST:{port}"),
        format!("http://127.0.0.1:{port}"),
        format!("http://[::1]:{port}"),
    ];
    let host = format!("Host: localhost:{port}");
    let authorized = format!("Authorization: Bearer {}", town.operator);
    let base = [host, authorized];
    for (method, path) in every_door() {
        for foreign in &foreign {
            let line = format!("{method} {path} HTTP/1.1");
            let answer = send(&town, &line, &[&base, foreign.as_slice()].concat());
            assert_eq!(
                answer.refusal(),
                (403, "forbidden".to_owned()),
                "{line} {foreign:?}"
            );
            assert_eq!(answer.header("access-control-allow-origin"), None);
        }
    }
    // Only reads: what is let in takes effect.
    for path in ["/health", "/api/projects", "/api/docs", "/api/tokens"] {
        for own in &own {
            let call = Call::get(path).token(&town.operator).header("Origin", own);
            assert_eq!(town.served.call(&call).status, 200, "{path} {own}");
        }
    }
}

// S16: no page has anything to do at the socket, and it has one name
#[test]
fn the_socket_has_one_name_and_no_pages() {
    let town = Town::small();
    let host = format!("http://{}", town.served.addr());
    let call = Call::get("/api/tokens");
    assert_eq!(town.served.call_unix(&call).status, 200);
    let paged = call.header("Origin", &host);
    assert_eq!(
        town.served.call_unix(&paged).refusal(),
        (403, "forbidden".to_owned())
    );
    let mut stream = town.served.connect_unix();
    let other = Call::get("/health").bytes(&town.served.addr().to_string());
    std::io::Write::write_all(&mut stream, &other).unwrap();
    let answer = comity_testkit::served::read_answer(&mut stream, "GET").unwrap();
    assert_eq!(answer.status, 421);
}

// S16: what an operator allows beside the address
#[test]
fn an_allowed_name_is_taken_with_and_without_the_port() {
    let kit = comity_testkit::Kit::new(comity_testkit::Engine::Sqlite);
    let town = Town::around(kit, |settings, _| {
        settings.allowed_hosts = vec!["Comity.example".to_owned()];
    });
    let port = town.served.addr().port();
    for (host, status) in [
        ("comity.example".to_owned(), 200),
        (format!("COMITY.example:{port}"), 200),
        ("comity.example:1".to_owned(), 421),
        ("comity.example.".to_owned(), 421),
        ("a.comity.example".to_owned(), 421),
    ] {
        let answer = send(&town, "GET /health HTTP/1.1", &[format!("Host: {host}")]);
        assert_eq!(answer.status, status, "{host}");
    }
}
