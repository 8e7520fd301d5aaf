//! Revokes a token.

use comity_domain::TokenId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::TokenRevoked;
use super::table::{self, Token};
use crate::actor::Party;
use crate::command::{Command, Stop};
use crate::error::{Error, Impossible};
use crate::tx::WriteTx;

/// Revokes a token for good; one that is revoked already stays as it is.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RevokeToken {
    /// The token's number.
    pub id: TokenId,
}

/// The token as it is now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RevokedToken {
    /// The token.
    pub token: Token,
}

impl Command for RevokeToken {
    const NAME: &'static str = "revoke_token";
    const WHO: &'static [Party] = &[Party::Operator];
    type Answer = RevokedToken;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<RevokedToken, Stop> {
        let token =
            table::by_id(tx, self.id)?.ok_or_else(|| Error::not_found("token", &self.id))?;
        if token.revoked_at.is_some() {
            return Ok(RevokedToken { token });
        }
        tx.emit(TokenRevoked {
            id: token.id,
            project: token.project_id,
        })?;
        let token = table::by_id(tx, self.id)?
            .ok_or_else(|| Error::internal(Impossible("a token vanished as it was revoked")))?;
        Ok(RevokedToken { token })
    }
}
