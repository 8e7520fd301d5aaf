//! Discoveries: what somebody found, what it is worth, and what became of it.

mod apply;
pub mod decay;
pub mod dismiss;
pub mod event;
pub mod feedback;
pub mod get;
pub mod index;
pub mod keep_vector;
pub mod list;
pub mod profile;
pub mod promote;
pub mod roll_back;
pub mod score;
pub mod score_from_profile;
pub mod search;
pub mod submit;
pub(crate) mod table;
pub(crate) mod unembedded;

pub use decay::Decay;
pub use dismiss::DismissDiscovery;
pub use feedback::GiveFeedback;
pub use get::GetDiscovery;
pub use keep_vector::KeepVector;
pub use list::ListDiscoveries;
pub use profile::{GetInterestProfile, InterestProfile, UpdateInterestProfile};
pub use promote::PromoteDiscovery;
pub use roll_back::RollBackSource;
pub use score::ScoreDiscovery;
pub use score_from_profile::ScoreFromProfile;
pub use search::SearchDiscoveries;
pub use submit::SubmitDiscovery;
pub use table::Discovery;

use comity_domain::limits::LABEL_BYTES_MAX;
use comity_domain::{DiscoveryId, Line};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::tx::Read;

/// Where discoveries come from.
pub type Source = Line<LABEL_BYTES_MAX>;

/// What an interest profile looks for.
pub type Keyword = Line<LABEL_BYTES_MAX>;

/// The discovery as it is now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedDiscovery {
    /// The discovery.
    pub discovery: Discovery,
}

fn changed(read: &mut impl Read, id: DiscoveryId) -> Result<ChangedDiscovery, Error> {
    let discovery = table::changed(read, id)?;
    Ok(ChangedDiscovery { discovery })
}
