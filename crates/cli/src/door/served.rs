//! A server, spoken to in HTTP.

use comity_domain::ScopeName;
use comity_kernel::Error;
use comity_kernel::operation::{self, Operation, Route};
use http_body_util::Full;
use hyper::Request;
use hyper::body::Bytes;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue};
use serde_json::{Map, Value};
use tokio::net::{TcpStream, UnixStream};

use super::address::Address;
use super::carry::send;
use super::content::{self, Content};
use super::request::{Wire, route_of, write};
use super::tags::Tags;
use crate::failure::Failure;
use crate::token_file;
use crate::who::Who;

/// A server at an address.
pub(super) struct Served(pub(super) Address);

impl Served {
    /// Calls an operation; what the path needs and an agent left out is asked first.
    pub(super) async fn call(
        &self,
        who: &Who,
        tags: &Tags,
        operation: &'static Operation,
        request: Value,
    ) -> Result<Value, Failure> {
        let Value::Object(mut request) = request else {
            return Err(Error::invalid("request", "must be an object").into());
        };
        let route = route_of(operation)?;
        if let Who::Token(_) = who {
            self.fill_in(who, route, &mut request).await?;
        }
        let bytes = Content::of_bytes(operation, &request)?;
        let asked = content::asked(operation, &request);
        let mut wire = write(route, request)?;
        wire.body = bytes.unwrap_or(wire.body);
        match self.exchange(Some(who), tags, wire).await? {
            (200..300, answer) => Ok(content::answer(operation, asked, answer)),
            (_, error) => Err(Failure::answered(error)),
        }
    }

    /// Asks `/health`; a failing server answers too.
    pub(super) async fn health(&self, who: Option<&Who>) -> Result<Value, Failure> {
        let wire = Wire {
            method: "GET",
            target: "/health".to_owned(),
            body: Content::Nothing,
        };
        let (_, answer) = self.exchange(who, &Tags::default(), wire).await?;
        match answer.get("status") {
            Some(_) => Ok(answer),
            None => Err(Failure::answered(answer)),
        }
    }

    /// Puts the caller's own name and project where the path needs them.
    async fn fill_in(
        &self,
        who: &Who,
        route: &Route,
        request: &mut Map<String, Value>,
    ) -> Result<(), Failure> {
        let missing = |field: &&&str| request.get(**field).is_none_or(Value::is_null);
        let missing: Vec<_> = route.fields.iter().filter(missing).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let wire = write(route_of(operation::find("orient")?)?, Map::new())?;
        let (200..300, me) = self.exchange(Some(who), &Tags::default(), wire).await? else {
            // Not an agent: the path stays incomplete, which is said where it is written.
            return Ok(());
        };
        for field in missing {
            let own = match *field {
                "agent" => me.get("name").cloned(),
                "project" => me.get("project").cloned(),
                "scope" => me.get("name").and_then(Value::as_str).map(own_scope),
                _ => None,
            };
            if let Some(own) = own {
                request.insert((*field).to_owned(), own);
            }
        }
        Ok(())
    }

    async fn exchange(
        &self,
        who: Option<&Who>,
        tags: &Tags,
        wire: Wire,
    ) -> Result<(u16, Value), Failure> {
        let request = self.request(who, tags, wire)?;
        let away = |error| self.0.away(&error);
        match &self.0 {
            Address::Socket(path) => {
                let stream = UnixStream::connect(path).await.map_err(away)?;
                send(stream, request, &self.0).await
            }
            Address::Url { authority, .. } => {
                let stream = TcpStream::connect(authority).await.map_err(away)?;
                send(stream, request, &self.0).await
            }
        }
    }

    fn request(
        &self,
        who: Option<&Who>,
        tags: &Tags,
        wire: Wire,
    ) -> Result<Request<Full<Bytes>>, Failure> {
        let (host, prefix) = match &self.0 {
            Address::Socket(_) => ("localhost", ""),
            Address::Url {
                authority, prefix, ..
            } => (authority.as_str(), prefix.as_str()),
        };
        let mut request = Request::builder()
            .method(wire.method)
            .uri(format!("{prefix}{}", wire.target))
            .header(HOST, host)
            .header(CONTENT_TYPE, wire.body.kind());
        if let Some(key) = &tags.key {
            request = request.header("Idempotency-Key", &**key);
        }
        if let Some(trace) = &tags.correlation {
            request = request.header("traceparent", &**trace);
        }
        if let Some(bearer) = self.bearer(who)? {
            request = request.header(AUTHORIZATION, bearer);
        }
        let body = Full::from(wire.body.into_bytes());
        request
            .body(body)
            .map_err(|error| Failure::unusable(format!("the request cannot be sent: {error}")))
    }

    /// The socket is the operator's credential; a stranger has none.
    fn bearer(&self, who: Option<&Who>) -> Result<Option<HeaderValue>, Failure> {
        let token = match (who, &self.0) {
            (None, _) | (Some(Who::Operator), Address::Socket(_)) => return Ok(None),
            (Some(Who::Token(token)), _) => token.clone(),
            (Some(Who::Operator), Address::Url { operator_token, .. }) => {
                token_file::read(operator_token)?
            }
        };
        let mut bearer =
            HeaderValue::try_from(format!("Bearer {}", token.reveal())).map_err(Error::internal)?;
        bearer.set_sensitive(true);
        Ok(Some(bearer))
    }
}

fn own_scope(name: &str) -> Value {
    ScopeName::of(name).to_string().into()
}
