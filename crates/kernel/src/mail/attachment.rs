//! Keeps and hands out the bytes that messages carry.

use std::sync::OnceLock;

use comity_domain::Sha256Hex;
use comity_domain::limits::{ATTACHMENT_BYTES_MAX, STORED_BYTES_MAX};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::table::{box_of, own_box};
use crate::actor::{Actor, Party};
use crate::command::{Command, Stop};
use crate::error::Error;
use crate::params;
use crate::query::Query;
use crate::store::Row;
use crate::tx::{Read, Snapshot, WriteTx};

/// Keeps bytes to attach to messages, and answers their SHA-256.
///
/// The same bytes are kept once. Over HTTP they are the body of the request as they are; on other
/// surfaces they are given in base64.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PutAttachment {
    /// The bytes in base64.
    pub content: Base64,
    /// Their hash, taken before the transaction.
    #[serde(skip)]
    pub sha256: OnceLock<Sha256Hex>,
}

impl PutAttachment {
    /// Asks to keep bytes.
    pub const fn new(content: Base64) -> Self {
        Self {
            content,
            sha256: OnceLock::new(),
        }
    }

    fn hash(&self) -> Sha256Hex {
        let hash = || Sha256Hex::new(Sha256::digest(self.content.bytes()).into());
        *self.sha256.get_or_init(hash)
    }
}

/// What was kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KeptAttachment {
    /// The attachment.
    pub attachment: Kept,
}

/// Bytes that are kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Kept {
    /// The SHA-256 of the bytes.
    pub sha256: Sha256Hex,
    /// How many there are.
    pub bytes: i64,
}

/// Bytes, in base64 on the wire.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(inline, with = "String")]
pub struct Base64(Vec<u8>);

impl Base64 {
    /// Takes bytes.
    pub const fn new(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// Returns the bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl Serialize for Base64 {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use base64::Engine as _;
        serializer.collect_str(&base64::engine::general_purpose::STANDARD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Base64 {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use base64::Engine as _;
        base64::engine::general_purpose::STANDARD
            .decode(String::deserialize(deserializer)?)
            .map(Self)
            .map_err(|_| serde::de::Error::custom("must be base64"))
    }
}

impl Command for PutAttachment {
    const NAME: &'static str = "put_attachment";
    const WHO: &'static [Party] = &[Party::Agent, Party::Operator];
    type Answer = KeptAttachment;

    fn prepare(&self) {
        self.hash();
    }

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<KeptAttachment, Stop> {
        let bytes = self.content.bytes();
        let size = i64::try_from(bytes.len()).unwrap_or(i64::MAX);
        if bytes.is_empty() || bytes.len() > ATTACHMENT_BYTES_MAX {
            let rule = format!("must be 1 to {ATTACHMENT_BYTES_MAX} bytes, not {size}");
            return Err(Error::invalid("content", rule).into());
        }
        let sha256 = self.hash();
        let owner = tx.actor().to_string();
        let (known, stored) = tx.one(
            "select (select count(*) from blob_owner where owner = ?2 and sha256 = ?1),
                (select cast(coalesce(sum(bytes), 0) as bigint) from blob_owner where owner = ?2)",
            params![sha256.bytes(), &owner],
            |row| Ok((row.take::<i64>()? > 0, row.take::<i64>()?)),
        )?;
        let limited = !matches!(tx.actor(), Actor::Operator { .. });
        if !known && limited && stored.saturating_add(size) > STORED_BYTES_MAX {
            return Err(Error::LimitExceeded {
                what: "the bytes of one agent's attachments",
                limit: STORED_BYTES_MAX.unsigned_abs(),
            }
            .into());
        }
        if !known {
            tx.keep_blob(&sha256, bytes, &owner)?;
        }
        let attachment = Kept {
            sha256,
            bytes: size,
        };
        Ok(KeptAttachment { attachment })
    }
}

/// Hands out bytes that a message carries which you sent or got.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetAttachment {
    /// The SHA-256 of the bytes.
    pub sha256: Sha256Hex,
}

/// The bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FetchedAttachment {
    /// The SHA-256 of the bytes.
    pub sha256: Sha256Hex,
    /// The bytes in base64; over HTTP they are the body of the answer as they are.
    pub content: Base64,
}

impl Query for GetAttachment {
    const NAME: &'static str = "get_attachment";
    const WHO: &'static [Party] = &[Party::Agent, Party::Operator];
    type Answer = FetchedAttachment;

    fn run(&self, actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<FetchedAttachment, Error> {
        let own = box_of(own_box(actor));
        let bytes = snapshot.row(
            "select b.bytes from blob b where b.sha256 = ?1 and (cast(?2 as bigint) = 0
                 or exists (select 1 from message_attachment t join message m on m.id = t.message_id
                     where t.sha256 = b.sha256 and (m.sender_id = ?2 or exists (
                         select 1 from recipient r where r.message_id = m.id and r.agent_id = ?2))))",
            params![self.sha256.bytes(), own],
            Row::take::<Vec<u8>>,
        )?;
        let bytes = bytes.ok_or_else(|| Error::not_found("attachment", &self.sha256))?;
        if Sha256::digest(&bytes).as_slice() != self.sha256.bytes() {
            return Err(Error::Damaged {
                what: format!("attachment {} is not what it was", self.sha256),
            });
        }
        Ok(FetchedAttachment {
            sha256: self.sha256,
            content: Base64::new(bytes),
        })
    }
}
