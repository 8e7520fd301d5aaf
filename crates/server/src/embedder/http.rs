//! Asks a service for vectors: `POST {url}/embeddings`, as `OpenAI` does.

use std::time::Duration;

use comity_domain::limits::EMBED_PAGE;
use comity_domain::vector::{Embedding, ModelId};
use comity_kernel::embedder::{EmbedError, Embedder, Pace};
use serde::Deserialize;
use serde_json::json;

use crate::outbound::{BadUrl, Limits, Outbound, OutboundError, Reach, Response, Url};

/// How long the service may take for one request.
const LONGEST: Duration = Duration::from_secs(15);

/// How long connecting, and a pause in the answer, may take.
const PAUSE_MAX: Duration = Duration::from_secs(10);

/// Bytes that one number of an answer may take, with its comma.
const NUMBER_BYTES_MAX: usize = 32;

/// Bytes of an answer beside the numbers, for each text.
const BESIDE_BYTES_MAX: usize = 1_024;

/// Characters that are shown of what the service said.
const SAID_CHARS_MAX: usize = 200;

/// A service that makes vectors of texts.
pub struct HttpEmbedder {
    url: Url,
    /// As the header has it; it is shown to nobody.
    authorization: Option<String>,
    model: ModelId,
    dimension: usize,
    outbound: Outbound,
    longest: Duration,
}

/// What the service answers.
#[derive(Deserialize)]
struct Answer {
    data: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    index: usize,
    embedding: Embedding,
}

impl HttpEmbedder {
    /// Names a service by its address, such as `https://api.openai.com/v1`. It may lie on any
    /// machine: the operator chose it.
    pub fn new(
        url: &str,
        key: Option<&str>,
        model: ModelId,
        dimension: usize,
    ) -> Result<Self, BadUrl> {
        Ok(Self {
            url: Url::parse(&format!("{}/embeddings", url.trim_end_matches('/')))?,
            authorization: key.map(|key| format!("Bearer {key}")),
            model,
            dimension,
            outbound: Outbound::new(Reach::Everywhere),
            longest: LONGEST,
        })
    }

    /// Waits for the service as long as it is told.
    #[cfg(test)]
    pub(super) fn within(mut self, longest: Duration) -> Self {
        self.longest = longest;
        self
    }

    fn post(&self, texts: &[&str]) -> Result<Response, EmbedError> {
        let body = json!({ "model": self.model, "input": texts, "encoding_format": "float" });
        let mut headers = vec![("content-type", "application/json")];
        if let Some(authorization) = &self.authorization {
            headers.push(("authorization", authorization));
        }
        let each = self.dimension * NUMBER_BYTES_MAX + BESIDE_BYTES_MAX;
        let limits = Limits {
            connect: self.longest.min(PAUSE_MAX),
            read: self.longest,
            total: self.longest,
            body_bytes_max: texts.len() * each,
        };
        // Whoever calls is on a thread of its own and may wait; the embedded command line has no
        // runtime that could be used.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| EmbedError::Away(error.to_string()))?;
        let asked = self
            .outbound
            .post(&self.url, &headers, body.to_string().into_bytes(), limits);
        let answered = runtime.block_on(asked);
        // A name that is still being looked up is not waited for.
        runtime.shutdown_background();
        answered.map_err(|error| match error {
            // It is there, and did not manage so much.
            OutboundError::Slow {
                what: "answer" | "go on",
                ..
            }
            | OutboundError::TooLong { .. } => EmbedError::Refused(error.to_string()),
            error => EmbedError::Away(error.to_string()),
        })
    }

    fn read(&self, response: &Response, texts: usize) -> Result<Vec<Embedding>, EmbedError> {
        let host = self.url.host();
        let status = response.status;
        if status != 200 {
            let said = self.harmless(&String::from_utf8_lossy(&response.body));
            let reason = format!("`{host}` answered {status}: {said}");
            return Err(match status {
                // It lets nobody in, is elsewhere, or is not well.
                300..=399 | 401..=405 | 407 | 429 | 502..=504 => EmbedError::Away(reason),
                _ => EmbedError::Refused(reason),
            });
        }
        let answer: Answer = serde_json::from_slice(&response.body).map_err(|error| {
            EmbedError::Refused(format!("`{host}` answered no vectors: {error}"))
        })?;
        let mut items = answer.data;
        items.sort_by_key(|item| item.index);
        let in_order = items.iter().map(|item| item.index).eq(0..texts);
        if !in_order {
            return Err(EmbedError::Refused(format!(
                "`{host}` answered {} vectors to {texts} texts, or numbered them wrongly",
                items.len()
            )));
        }
        Ok(items.into_iter().map(|item| item.embedding).collect())
    }

    /// Shortens what the service said, without the key should it repeat it.
    fn harmless(&self, said: &str) -> String {
        let key = self.authorization.as_deref();
        let key = key.and_then(|header| header.strip_prefix("Bearer "));
        let said = match key {
            Some(key) if !key.is_empty() => said.replace(key, "…"),
            _ => said.to_owned(),
        };
        let plain = said.chars().map(|c| if c.is_control() { ' ' } else { c });
        plain.take(SAID_CHARS_MAX).collect()
    }
}

impl Embedder for HttpEmbedder {
    fn model(&self) -> &ModelId {
        &self.model
    }

    fn dimension(&self) -> usize {
        self.dimension
    }

    fn pace(&self) -> Pace {
        Pace::Slow
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Result<Embedding, String>>, EmbedError> {
        let page = usize::try_from(EMBED_PAGE).unwrap_or(usize::MAX);
        let mut vectors = Vec::with_capacity(texts.len());
        for some in texts.chunks(page) {
            let response = self.post(some)?;
            vectors.extend(self.read(&response, some.len())?.into_iter().map(Ok));
        }
        Ok(vectors)
    }
}
