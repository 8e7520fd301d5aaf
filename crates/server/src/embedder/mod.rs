//! Embedders that are somebody else's: a service that speaks as `OpenAI` does, or a local model.

pub(crate) mod follow;
mod http;
#[cfg(feature = "model")]
mod local;

#[cfg(test)]
mod tests;

pub use http::HttpEmbedder;
#[cfg(feature = "model")]
pub use local::LocalEmbedder;
