//! One request, one answer, one connection, within limits.

use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{HOST, HeaderName, HeaderValue, USER_AGENT};
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use super::names::Names;
use super::tls::Tls;
use super::{OutboundError, Url, is_public};

/// The longest head of an answer.
const HEAD_BYTES_MAX: usize = 64 * 1024;

/// Addresses of one name that are tried.
const TRIES: usize = 4;

/// Who the requests say they come from.
const AGENT: &str = concat!("comity/", env!("CARGO_PKG_VERSION"));

/// How long a request may take, and how much it may be answered.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Until one address has taken the connection.
    pub connect: Duration,
    /// Between two pieces of the answer, and until its first.
    pub read: Duration,
    /// From the first step to the last byte.
    pub total: Duration,
    /// The body of the answer.
    pub body_bytes_max: usize,
}

/// Where requests may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// To addresses of the public Internet.
    Public,
    /// To every address, those of this machine and its networks included.
    Everywhere,
}

/// What came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// The status.
    pub status: u16,
    /// The whole body.
    pub body: Vec<u8>,
}

/// Makes requests. Clones share what they know of names and certificates.
#[derive(Clone)]
pub struct Outbound {
    reach: Reach,
    names: Names,
    tls: Tls,
}

impl Outbound {
    /// A client that may go so far.
    pub fn new(reach: Reach) -> Self {
        Self {
            reach,
            names: Names::of_the_machine(),
            tls: Tls::default(),
        }
    }

    /// A client whose names somebody else tells.
    #[cfg(test)]
    pub(super) fn with(reach: Reach, names: Names, tls: Tls) -> Self {
        Self { reach, names, tls }
    }

    /// Posts a body and takes the whole answer, whatever its status; a redirect is an answer too.
    pub async fn post(
        &self,
        url: &Url,
        headers: &[(&str, &str)],
        body: Vec<u8>,
        limits: Limits,
    ) -> Result<Response, OutboundError> {
        let whole = async {
            let mut taken = self.exchange(url, headers, body, limits).await?;
            let status = taken.response.status().as_u16();
            let body = gather(url, taken.response.body_mut(), limits).await?;
            Ok(Response { status, body })
        };
        within(limits.total, url, "answer", whole).await
    }

    /// Posts a body and takes the status alone: what follows it is neither waited for nor read.
    pub async fn tell(
        &self,
        url: &Url,
        headers: &[(&str, &str)],
        body: Vec<u8>,
        limits: Limits,
    ) -> Result<u16, OutboundError> {
        let told = async {
            let taken = self.exchange(url, headers, body, limits).await?;
            Ok(taken.response.status().as_u16())
        };
        within(limits.total, url, "answer", told).await
    }

    async fn exchange(
        &self,
        url: &Url,
        headers: &[(&str, &str)],
        body: Vec<u8>,
        limits: Limits,
    ) -> Result<Taken, OutboundError> {
        let request = request(url, headers, body)?;
        let stream = self.connect(url, limits).await?;
        if url.secure {
            let secured = async {
                let secured = self.tls.secure(&url.host, stream).await;
                secured.map_err(|reason| broken(url, reason))
            };
            let stream = within(limits.connect, url, "agree on encryption", secured).await?;
            return speak(url, stream, request, limits).await;
        }
        speak(url, stream, request, limits).await
    }

    /// Connects to one of the addresses that were judged, and to no other.
    async fn connect(&self, url: &Url, limits: Limits) -> Result<TcpStream, OutboundError> {
        let addresses = within(limits.connect, url, "resolve", self.judged(url)).await?;
        let mut last = None;
        for address in addresses.into_iter().take(TRIES) {
            let connecting = async {
                let stream = TcpStream::connect(SocketAddr::new(address, url.port)).await;
                stream.map_err(|error| broken(url, error.to_string()))
            };
            match within(limits.connect, url, "take the connection", connecting).await {
                Ok(stream) => return Ok(stream),
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| broken(url, "it has no address".to_owned())))
    }

    /// Resolves the host. One address out of reach is enough to refuse it: an honest name has none.
    async fn judged(&self, url: &Url) -> Result<Vec<IpAddr>, OutboundError> {
        let host = url.host.clone();
        let addresses = self.names.addresses(&host).await;
        let addresses = addresses.map_err(|reason| OutboundError::Name {
            host: host.clone(),
            reason,
        })?;
        match addresses.iter().find(|address| !self.reaches(**address)) {
            Some(address) => Err(OutboundError::Private {
                host,
                address: *address,
            }),
            None => Ok(addresses),
        }
    }

    fn reaches(&self, address: IpAddr) -> bool {
        match self.reach {
            Reach::Everywhere => true,
            Reach::Public => is_public(address),
        }
    }
}

/// An answer whose connection lives as long as it does.
struct Taken {
    response: hyper::Response<Incoming>,
    _connection: Driven,
}

/// A connection that ends when it is dropped.
struct Driven(JoinHandle<()>);

impl Drop for Driven {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn speak(
    url: &Url,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    request: Request<Full<Bytes>>,
    limits: Limits,
) -> Result<Taken, OutboundError> {
    let failed = |error: hyper::Error| broken(url, error.to_string());
    let (mut sender, connection) = hyper::client::conn::http1::Builder::new()
        .max_buf_size(HEAD_BYTES_MAX)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(failed)?;
    let connection = Driven(tokio::spawn(async move {
        // What goes wrong is told to the sender.
        let _ = connection.await;
    }));
    let answered = async { sender.send_request(request).await.map_err(failed) };
    Ok(Taken {
        response: within(limits.read, url, "answer", answered).await?,
        _connection: connection,
    })
}

async fn gather(url: &Url, body: &mut Incoming, limits: Limits) -> Result<Vec<u8>, OutboundError> {
    let mut whole = Vec::new();
    loop {
        let frame = async { Ok(body.frame().await) };
        let Some(frame) = within(limits.read, url, "go on", frame).await? else {
            return Ok(whole);
        };
        let frame = frame.map_err(|error| broken(url, error.to_string()))?;
        let Some(piece) = frame.data_ref() else {
            continue;
        };
        if whole.len() + piece.len() > limits.body_bytes_max {
            return Err(OutboundError::TooLong {
                host: url.host.clone(),
                bytes_max: limits.body_bytes_max,
            });
        }
        whole.extend_from_slice(piece);
    }
}

fn request(
    url: &Url,
    headers: &[(&str, &str)],
    body: Vec<u8>,
) -> Result<Request<Full<Bytes>>, OutboundError> {
    let path = url.uri.path_and_query().map_or("/", |path| path.as_str());
    let host = url.uri.authority().map_or("", |host| host.as_str());
    let mut request = Request::new(Full::new(Bytes::from(body)));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = path.parse().map_err(|_| super::BadUrl("is not a URL"))?;
    for (name, value) in [(HOST.as_str(), host), (USER_AGENT.as_str(), AGENT)]
        .iter()
        .chain(headers)
    {
        let unfit = || OutboundError::Header {
            name: (*name).to_owned(),
        };
        let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| unfit())?;
        let value = HeaderValue::from_str(value).map_err(|_| unfit())?;
        request.headers_mut().insert(key, value);
    }
    Ok(request)
}

async fn within<T>(
    limit: Duration,
    url: &Url,
    what: &'static str,
    work: impl Future<Output = Result<T, OutboundError>>,
) -> Result<T, OutboundError> {
    match tokio::time::timeout(limit, work).await {
        Ok(done) => done,
        Err(_) => Err(OutboundError::Slow {
            host: url.host.clone(),
            what,
        }),
    }
}

fn broken(url: &Url, reason: String) -> OutboundError {
    OutboundError::Connection {
        host: url.host.clone(),
        reason,
    }
}
