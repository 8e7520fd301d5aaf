//! Our values in PostgreSQL's types, and back.

use std::error::Error;
use std::fmt;

// The driver's own name for it, so that one signature does not cost us a dependency on `bytes`.
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

use crate::store::{Param, Row, StoreError, Value};

/// A bound value that outlives its caller: a pipelined statement is sent after `write` returned.
pub(super) struct Bound(Value);

impl Bound {
    /// Copies the values of one statement.
    pub(super) fn all(params: &[Param<'_>]) -> Vec<Self> {
        params
            .iter()
            .map(|param| {
                Self(match *param {
                    Param::Null => Value::Null,
                    Param::Int(int) => Value::Int(int),
                    Param::Real(real) => Value::Real(real),
                    Param::Text(text) => Value::Text(text.to_owned()),
                    Param::Blob(blob) => Value::Blob(blob.to_owned()),
                })
            })
            .collect()
    }

    /// Returns how much memory the value holds until it is sent.
    pub(super) fn bytes(&self) -> usize {
        match &self.0 {
            Value::Text(text) => text.len(),
            Value::Blob(blob) => blob.len(),
            Value::Null | Value::Int(_) | Value::Real(_) => size_of::<Value>(),
        }
    }

    fn kind(&self) -> &'static str {
        match self.0 {
            Value::Null => "null",
            Value::Int(_) => "a bigint",
            Value::Real(_) => "a double",
            Value::Text(_) => "a text",
            Value::Blob(_) => "a blob",
        }
    }
}

// The driver logs parameters at its debug level, and they hold people's mail: kinds only.
impl fmt::Debug for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind())
    }
}

impl ToSql for Bound {
    fn to_sql(
        &self,
        ty: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match &self.0 {
            Value::Null => Ok(IsNull::Yes),
            Value::Int(int) if *ty == Type::INT8 => int.to_sql(ty, out),
            Value::Real(real) if *ty == Type::FLOAT8 => real.to_sql(ty, out),
            Value::Text(text) if [Type::TEXT, Type::VARCHAR, Type::NAME].contains(ty) => {
                text.to_sql(ty, out)
            }
            Value::Blob(blob) if *ty == Type::BYTEA => blob.to_sql(ty, out),
            _ => Err(format!(
                "{} cannot be bound to a parameter of type {ty}",
                self.kind()
            )
            .into()),
        }
    }

    // The value decides, not the Rust type, so `to_sql` does.
    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// Reads the columns of a row.
pub(super) fn row(from: &tokio_postgres::Row) -> Result<Row, StoreError> {
    let mut values = Vec::with_capacity(from.len());
    for (nth, column) in from.columns().iter().enumerate() {
        values.push(value(from, nth, column.type_())?);
    }
    Ok(Row::new(values))
}

fn value(row: &tokio_postgres::Row, nth: usize, ty: &Type) -> Result<Value, StoreError> {
    let read = match *ty {
        Type::INT8 => row.try_get(nth).map(|int: Option<i64>| int.map(Value::Int)),
        Type::INT4 => row
            .try_get(nth)
            .map(|int: Option<i32>| int.map(|int| Value::Int(int.into()))),
        Type::TEXT | Type::VARCHAR | Type::NAME => row
            .try_get(nth)
            .map(|text: Option<String>| text.map(Value::Text)),
        Type::BYTEA => row
            .try_get(nth)
            .map(|blob: Option<Vec<u8>>| blob.map(Value::Blob)),
        Type::FLOAT8 => row
            .try_get(nth)
            .map(|real: Option<f64>| real.map(Value::Real)),
        _ => return Err(StoreError::Shape("a bigint, text, bytea or double column")),
    };
    match read {
        Ok(value) => Ok(value.unwrap_or(Value::Null)),
        Err(error) => Err(super::fault::classify(error)),
    }
}
