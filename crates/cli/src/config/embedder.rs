//! Makes the embedder that the settings name.

use std::sync::Arc;

use comity_domain::vector::{ModelId, hashed};
use comity_kernel::Error;
use comity_kernel::embedder::{Embedder, Hashed};
use comity_server::embedder::HttpEmbedder;

use super::values::{self, Kind};

/// The variable with the key of a service. It is in no file, so that no file holds a secret.
const KEY: &str = "COMITY_EMBEDDER_KEY";

/// Makes the embedder, or says which setting is wrong.
pub(super) fn of(settings: &values::Embedder) -> Result<Option<Arc<dyn Embedder>>, Error> {
    let values::Embedder {
        kind,
        url,
        model,
        dimension,
    } = settings;
    match kind {
        Kind::None => Ok(None),
        Kind::Hashed => {
            let is_other = model.as_deref().is_some_and(|model| model != hashed::MODEL);
            if is_other || url.is_some() || *dimension != hashed::DIMENSION {
                return Err(wrong(
                    "kind",
                    "`hashed` has no `url`, its `model` is `hashed-1` and its `dimension` 384",
                ));
            }
            Ok(Some(Arc::new(Hashed::default())))
        }
        Kind::Http => {
            let url = url.as_deref().ok_or_else(|| missing("url"))?;
            let model = named(model.as_deref())?;
            let key = std::env::var(KEY).ok().filter(|key| !key.is_empty());
            let embedder = HttpEmbedder::new(url, key.as_deref(), model, *dimension);
            let embedder = embedder.map_err(|bad| wrong("url", bad.0))?;
            Ok(Some(Arc::new(embedder)))
        }
        Kind::Model => local(url.as_deref(), named(model.as_deref())?, *dimension),
    }
}

#[cfg(feature = "model")]
fn local(
    folder: Option<&str>,
    model: ModelId,
    dimension: usize,
) -> Result<Option<Arc<dyn Embedder>>, Error> {
    let folder = folder.ok_or_else(|| missing("url"))?;
    let embedder = comity_server::embedder::LocalEmbedder::open(folder, model, dimension);
    Ok(Some(Arc::new(
        embedder.map_err(|error| wrong("url", &error.0))?,
    )))
}

#[cfg(not(feature = "model"))]
fn local(
    _folder: Option<&str>,
    _model: ModelId,
    _dimension: usize,
) -> Result<Option<Arc<dyn Embedder>>, Error> {
    let rule = "this program was built without local models; build it with `--features model`";
    Err(wrong("kind", rule))
}

fn named(model: Option<&str>) -> Result<ModelId, Error> {
    let model = model.ok_or_else(|| missing("model"))?;
    ModelId::parse(model).map_err(|rule| wrong("model", &rule))
}

fn missing(name: &str) -> Error {
    wrong(name, "is missing for this `kind`")
}

fn wrong(name: &str, rule: &str) -> Error {
    Error::Unusable {
        what: format!("`embedder.{name}`: {rule}"),
    }
}
