//! Values bound to statements and read from rows, the same for both engines.

use comity_domain::{
    AgentId, ApprovalId, ArtifactId, ConsumerId, ContactId, DiscoveryId, DispatchId, HookId,
    LeaseTime, MessageId, ProjectId, ReleaseRequestId, ReservationId, RunId, SentinelId, Seq,
    StateEntryId, StateScopeId, StreamId, Timestamp, TokenId, VerdictId,
};

use super::StoreError;

/// A value bound to a statement.
#[derive(Clone, Copy, Debug)]
pub enum Param<'a> {
    /// SQL null.
    Null,
    /// A bigint.
    Int(i64),
    /// A double.
    Real(f64),
    /// A text.
    Text(&'a str),
    /// A blob or bytea.
    Blob(&'a [u8]),
}

/// A value read from a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// SQL null.
    Null,
    /// A bigint.
    Int(i64),
    /// A double.
    Real(f64),
    /// A text.
    Text(String),
    /// A blob or bytea.
    Blob(Vec<u8>),
}

/// One row, read column by column from left to right.
#[derive(Debug)]
pub struct Row {
    values: std::vec::IntoIter<Value>,
}

impl Row {
    /// Takes the values of one row, in the order of the statement's columns.
    pub fn new(values: Vec<Value>) -> Self {
        Self {
            values: values.into_iter(),
        }
    }

    /// Reads the next column.
    pub fn take<T: FromValue>(&mut self) -> Result<T, StoreError> {
        let value = self.values.next().ok_or(StoreError::Shape("a column"))?;
        T::from_value(value)
    }

    /// Reads the next column as one of a closed set of words.
    pub fn word<T>(&mut self, read: impl Fn(&str) -> Option<T>) -> Result<T, StoreError> {
        read(&self.take::<String>()?).ok_or(StoreError::Shape("a known word"))
    }

    /// Reads all columns that are left.
    pub fn rest(self) -> Vec<Value> {
        self.values.collect()
    }
}

/// What a column can be read as.
pub trait FromValue: Sized {
    /// Converts, or says what was expected.
    fn from_value(value: Value) -> Result<Self, StoreError>;
}

macro_rules! from_value {
    ($($type:ty, $variant:ident, $expected:literal);+ $(;)?) => {$(
        impl FromValue for $type {
            fn from_value(value: Value) -> Result<Self, StoreError> {
                match value {
                    Value::$variant(inner) => Ok(inner),
                    _ => Err(StoreError::Shape($expected)),
                }
            }
        }
    )+};
}

from_value! {
    i64, Int, "a bigint";
    f64, Real, "a double";
    String, Text, "a text";
    Vec<u8>, Blob, "a blob";
}

impl FromValue for bool {
    fn from_value(value: Value) -> Result<Self, StoreError> {
        match value {
            Value::Int(0) => Ok(false),
            Value::Int(1) => Ok(true),
            _ => Err(StoreError::Shape("0 or 1")),
        }
    }
}

impl FromValue for [u8; 32] {
    fn from_value(value: Value) -> Result<Self, StoreError> {
        let bytes = Vec::<u8>::from_value(value)?;
        bytes.try_into().map_err(|_| StoreError::Shape("32 bytes"))
    }
}

impl<T: FromValue> FromValue for Option<T> {
    fn from_value(value: Value) -> Result<Self, StoreError> {
        match value {
            Value::Null => Ok(None),
            value => T::from_value(value).map(Some),
        }
    }
}

macro_rules! integer_types {
    ($($type:ty, $new:path, $get:path);+ $(;)?) => {$(
        impl FromValue for $type {
            fn from_value(value: Value) -> Result<Self, StoreError> {
                i64::from_value(value).map($new)
            }
        }

        impl From<$type> for Param<'_> {
            fn from(value: $type) -> Self {
                Self::Int($get(value))
            }
        }
    )+};
}

integer_types! {
    ProjectId, ProjectId::new, ProjectId::get;
    AgentId, AgentId::new, AgentId::get;
    TokenId, TokenId::new, TokenId::get;
    MessageId, MessageId::new, MessageId::get;
    ContactId, ContactId::new, ContactId::get;
    ReservationId, ReservationId::new, ReservationId::get;
    ReleaseRequestId, ReleaseRequestId::new, ReleaseRequestId::get;
    SentinelId, SentinelId::new, SentinelId::get;
    StateScopeId, StateScopeId::new, StateScopeId::get;
    StateEntryId, StateEntryId::new, StateEntryId::get;
    HookId, HookId::new, HookId::get;
    RunId, RunId::new, RunId::get;
    ArtifactId, ArtifactId::new, ArtifactId::get;
    VerdictId, VerdictId::new, VerdictId::get;
    ApprovalId, ApprovalId::new, ApprovalId::get;
    DispatchId, DispatchId::new, DispatchId::get;
    DiscoveryId, DiscoveryId::new, DiscoveryId::get;
    StreamId, StreamId::new, StreamId::get;
    ConsumerId, ConsumerId::new, ConsumerId::get;
    Seq, Seq::new, Seq::get;
    Timestamp, Timestamp::from_micros, Timestamp::micros;
    LeaseTime, LeaseTime::from_micros, LeaseTime::micros;
}

impl From<i64> for Param<'_> {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<bool> for Param<'_> {
    fn from(value: bool) -> Self {
        Self::Int(i64::from(value))
    }
}

impl From<f64> for Param<'_> {
    fn from(value: f64) -> Self {
        Self::Real(value)
    }
}

impl<'a> From<&'a str> for Param<'a> {
    fn from(value: &'a str) -> Self {
        Self::Text(value)
    }
}

impl<'a> From<&'a String> for Param<'a> {
    fn from(value: &'a String) -> Self {
        Self::Text(value)
    }
}

impl<'a> From<&'a [u8]> for Param<'a> {
    fn from(value: &'a [u8]) -> Self {
        Self::Blob(value)
    }
}

impl<'a> From<&'a [u8; 32]> for Param<'a> {
    fn from(value: &'a [u8; 32]) -> Self {
        Self::Blob(value)
    }
}

impl<'a, T: Into<Param<'a>>> From<Option<T>> for Param<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// Binds values to a statement in order: `params![id, name]`.
#[macro_export]
macro_rules! params {
    ($($value:expr),* $(,)?) => {
        &[$($crate::store::Param::from($value)),*] as &[$crate::store::Param<'_>]
    };
}
