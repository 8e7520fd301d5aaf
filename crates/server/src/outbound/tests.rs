//! What the client does with strangers.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{RootCertStore, ServerConfig};

use super::names::Names;
use super::tls::Tls;
use super::{Limits, Outbound, OutboundError, Reach, Response, Url};

const LIMITS: Limits = Limits {
    connect: Duration::from_secs(5),
    read: Duration::from_secs(5),
    total: Duration::from_secs(5),
    body_bytes_max: 64 * 1024,
};
const HURRIED: Limits = Limits {
    read: Duration::from_millis(200),
    total: Duration::from_millis(400),
    ..LIMITS
};

/// A server on loopback that does one thing with each connection, once it has read a request.
struct Stranger {
    address: SocketAddr,
    called: Arc<AtomicUsize>,
    heard: Arc<Mutex<String>>,
}

impl Stranger {
    fn who(does: impl Fn(&mut TcpStream) -> std::io::Result<()> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (called, heard) = (Arc::new(AtomicUsize::new(0)), Arc::default());
        let stranger = Self {
            address,
            called: Arc::clone(&called),
            heard: Arc::clone(&heard),
        };
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                called.fetch_add(1, Ordering::SeqCst);
                let mut buffer = [0; 8192];
                let read = stream.read(&mut buffer).unwrap_or(0);
                *heard.lock().unwrap() = String::from_utf8_lossy(&buffer[..read]).into_owned();
                let _ = does(&mut stream);
            }
        });
        stranger
    }

    fn says(answer: &'static str) -> Self {
        Self::who(move |stream| stream.write_all(answer.as_bytes()))
    }

    fn url(&self) -> Url {
        Url::parse(&format!("http://{}/in?secret=s3cret", self.address)).unwrap()
    }
}

fn run<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let done = runtime.block_on(work);
    runtime.shutdown_background();
    done
}

fn post(url: &Url, reach: Reach, limits: Limits) -> Result<Response, OutboundError> {
    let headers = [("Content-Type", "application/json"), ("X-One", "1")];
    run(Outbound::new(reach).post(url, &headers, b"{}".to_vec(), limits))
}

#[test]
fn a_request_is_answered() {
    let stranger = Stranger::says("HTTP/1.1 201 Made\r\nContent-Length: 2\r\n\r\nok");
    let response = post(&stranger.url(), Reach::Everywhere, LIMITS).unwrap();
    assert_eq!((response.status, &*response.body), (201, &b"ok"[..]));
    let heard = stranger.heard.lock().unwrap().to_lowercase();
    let host = format!("host: {}", stranger.address);
    for line in [
        "post /in?secret=s3cret http/1.1",
        &host,
        "content-type: application/json",
        "x-one: 1",
        "content-length: 2",
        "{}",
    ] {
        assert!(heard.lines().any(|found| found == line), "{line}\n{heard}");
    }
}

#[test]
fn a_redirect_is_not_followed() {
    let elsewhere = Stranger::says("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    let to = elsewhere.address;
    let stranger = Stranger::who(move |stream| {
        write!(
            stream,
            "HTTP/1.1 307 Go\r\nLocation: http://{to}/\r\nContent-Length: 0\r\n\r\n"
        )
    });
    let response = post(&stranger.url(), Reach::Everywhere, LIMITS).unwrap();
    assert_eq!(response.status, 307);
    assert_eq!(elsewhere.called.load(Ordering::SeqCst), 0);
}

#[test]
fn this_machine_cannot_be_called_by_any_of_its_names() {
    let stranger = Stranger::says("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    let port = stranger.address.port();
    for host in [
        "127.0.0.1",
        "127.1",
        "0x7f.0.0.1",
        "0177.0.0.1",
        "2130706433",
        "0",
        "0.0.0.0",
        "localhost",
        "LOCALHOST",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[64:ff9b::7f00:1]",
        "169.254.169.254",
    ] {
        let url = Url::parse(&format!("http://{host}:{port}/")).unwrap();
        let refused = post(&url, Reach::Public, LIMITS).unwrap_err();
        assert!(
            matches!(
                refused,
                OutboundError::Private { .. } | OutboundError::Name { .. }
            ),
            "{host}: {refused}"
        );
    }
    assert_eq!(stranger.called.load(Ordering::SeqCst), 0);
}

// S16
#[test]
fn a_name_is_asked_once_and_one_private_address_refuses_it() {
    let stranger = Stranger::says("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    let url = Url::parse(&format!("http://two.example:{}/", stranger.address.port())).unwrap();
    let public = IpAddr::V4(Ipv4Addr::new(192, 88, 100, 1));
    let private = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let asked = Arc::new(AtomicUsize::new(0));
    // The name is public when it is judged, and private for whoever would ask again.
    let names = |first: Vec<IpAddr>| {
        let asked = Arc::clone(&asked);
        asked.store(0, Ordering::SeqCst);
        Names::told_by(move |_| match asked.fetch_add(1, Ordering::SeqCst) {
            0 => Ok(first.clone()),
            _ => Ok(vec![private]),
        })
    };
    let ask = |reach, names| {
        let client = Outbound::with(reach, names, Tls::default());
        run(async { client.tell(&url, &[], Vec::new(), HURRIED).await })
    };
    let rebound = ask(Reach::Public, names(vec![public]));
    assert!(rebound.is_err() && asked.load(Ordering::SeqCst) == 1);
    let mixed = ask(Reach::Public, names(vec![public, private]));
    assert!(
        matches!(mixed, Err(OutboundError::Private { .. })),
        "{mixed:?}"
    );
    assert_eq!(stranger.called.load(Ordering::SeqCst), 0);
    let allowed = ask(Reach::Everywhere, names(vec![private]));
    assert_eq!((allowed.unwrap(), asked.load(Ordering::SeqCst)), (200, 1));
}

#[test]
fn whoever_does_not_answer_is_left() {
    let silent = Stranger::who(|stream| stream.read(&mut [0; 1]).map(drop));
    let slow = post(&silent.url(), Reach::Everywhere, HURRIED).unwrap_err();
    assert!(matches!(slow, OutboundError::Slow { .. }), "{slow}");
    let dripping = Stranger::who(|stream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")?;
        loop {
            stream.write_all(b"x")?;
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    let slow = post(&dripping.url(), Reach::Everywhere, HURRIED).unwrap_err();
    assert!(matches!(slow, OutboundError::Slow { .. }), "{slow}");
    assert!(!slow.to_string().contains("s3cret"), "{slow}");
}

#[test]
fn an_endless_answer_is_cut_off() {
    let endless = || {
        Stranger::who(|stream| {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n")?;
            loop {
                stream.write_all(&[b'x'; 8192])?;
            }
        })
    };
    let cut = post(&endless().url(), Reach::Everywhere, LIMITS).unwrap_err();
    assert!(matches!(cut, OutboundError::TooLong { .. }), "{cut}");
    let stranger = endless();
    let client = Outbound::new(Reach::Everywhere);
    let told = run(async { client.tell(&stranger.url(), &[], Vec::new(), LIMITS).await });
    assert_eq!(told.unwrap(), 200);
    let head = Stranger::who(|stream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\nX: ")?;
        loop {
            stream.write_all(&[b'x'; 8192])?;
        }
    });
    let cut = post(&head.url(), Reach::Everywhere, LIMITS).unwrap_err();
    assert!(matches!(cut, OutboundError::Connection { .. }), "{cut}");
}

#[test]
fn a_header_cannot_carry_another() {
    let stranger = Stranger::says("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    let client = Outbound::new(Reach::Everywhere);
    let header = [("X-One", "1\r\nX-Two: 2")];
    let refused = run(client.post(&stranger.url(), &header, Vec::new(), LIMITS)).unwrap_err();
    assert!(matches!(refused, OutboundError::Header { .. }), "{refused}");
}

/// Stands a secured server that answers once, and posts to it by a name.
fn secured(host: &str, trusted: bool) -> Result<Response, OutboundError> {
    let pem = |text: &[u8]| CertificateDer::from_pem_slice(text).unwrap();
    let key = PrivateKeyDer::from_pem_slice(include_bytes!("testdata/hooks.key")).unwrap();
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![pem(include_bytes!("testdata/hooks.pem"))], key)
        .unwrap();
    let mut roots = RootCertStore::empty();
    if trusted {
        let authority = pem(include_bytes!("testdata/ca.pem"));
        roots.add(authority).unwrap();
    }
    run(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            use tokio::io::{AsyncReadExt, AsyncWriteExt};
            let (stream, _) = listener.accept().await.unwrap();
            if let Ok(mut stream) = TlsAcceptor::from(Arc::new(config)).accept(stream).await {
                let _ = stream.read(&mut [0; 4096]).await;
                let _ = stream
                    .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
                    .await;
                let _ = stream.flush().await;
            }
        });
        let names = Names::told_by(|_| Ok(vec![IpAddr::V4(Ipv4Addr::LOCALHOST)]));
        let client = Outbound::with(Reach::Everywhere, names, Tls::trusting(roots));
        let url = Url::parse(&format!("https://{host}:{port}/")).unwrap();
        client.post(&url, &[], b"{}".to_vec(), LIMITS).await
    })
}

#[test]
fn a_secured_server_must_prove_its_name() {
    let response = secured("hooks.example", true).unwrap();
    assert_eq!((response.status, &*response.body), (200, &b"ok"[..]));
    for (host, trusted) in [("other.example", true), ("hooks.example", false)] {
        let refused = secured(host, trusted).unwrap_err();
        assert!(
            matches!(&refused, OutboundError::Connection { reason, .. } if reason.contains("certificate")),
            "{host}: {refused}"
        );
    }
}
