//! Turns a JSON value into a request and classifies faults by serde's typed hooks.

use serde::Deserializer;
use serde::de::{DeserializeOwned, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::{Map, Number, Value};

use super::access::{Choice, Entries, Items};
use super::echo;
use super::error::FieldError;

/// Decodes a parsed request into its type, and says which field is at fault if it cannot.
///
/// Objects are taken for structs and arrays for sequences, never one for the other, and whole
/// numbers only if written without a point or exponent. `null` is taken for an absent optional
/// value. The depth of the value is not checked; [`parse`](super::parse) does that.
pub fn decode<T: DeserializeOwned>(value: Value) -> Result<T, FieldError> {
    T::deserialize(Decoder(value))
}

/// Hands one value to serde.
pub(super) struct Decoder(pub(super) Value);

/// Any double from here on up is above every whole number that JSON numbers hold here.
const ABOVE_U64: f64 = 18_446_744_073_709_551_616.0;

/// Any double from here on down is below every whole number that JSON numbers hold here.
const BELOW_I64: f64 = -9_223_372_036_854_775_808.0;

/// Takes a whole number between two bounds.
fn whole(value: &Value, least: i128, most: i128) -> Result<i128, FieldError> {
    let Value::Number(number) = value else {
        return Err(FieldError::mismatch(value, "a whole number"));
    };
    let wanted = match (number.as_u64(), number.as_i64(), number.as_f64()) {
        (Some(number), _, _) if i128::from(number) > most => format!("at most {most}"),
        (Some(number), _, _) => return Ok(number.into()),
        (_, Some(number), _) if i128::from(number) < least => format!("at least {least}"),
        (_, Some(number), _) => return Ok(number.into()),
        (_, _, Some(number)) if number >= ABOVE_U64 => format!("at most {most}"),
        (_, _, Some(number)) if number <= BELOW_I64 => format!("at least {least}"),
        _ => "a whole number without a point or exponent".to_owned(),
    };
    Err(FieldError::mismatch(value, &wanted))
}

/// Takes a number whose size a double or, with `most`, a smaller type holds.
fn double(value: &Value, most: f64) -> Result<f64, FieldError> {
    match value {
        Value::Number(number) => match number.as_f64() {
            Some(number) if number > most => {
                let wanted = format!("at most {most:?}");
                Err(FieldError::mismatch(value, &wanted))
            }
            Some(number) if number < -most => {
                let wanted = format!("at least {:?}", -most);
                Err(FieldError::mismatch(value, &wanted))
            }
            Some(number) => Ok(number),
            None => Err(FieldError::mismatch(value, "a number that a double holds")),
        },
        other => Err(FieldError::mismatch(other, "a number")),
    }
}

fn visit_number<'de, V: Visitor<'de>>(number: &Number, visitor: V) -> Result<V::Value, FieldError> {
    match (number.as_u64(), number.as_i64()) {
        (Some(number), _) => visitor.visit_u64(number),
        (_, Some(number)) => visitor.visit_i64(number),
        _ => visitor.visit_f64(double(&Value::Number(number.clone()), f64::MAX)?),
    }
}

/// Refuses NUL, for values that did not come through [`parse`](super::parse).
pub(super) fn without_nul<T: AsRef<str>>(text: T) -> Result<T, FieldError> {
    if text.as_ref().contains('\0') {
        return Err(FieldError::here("must not hold NUL".to_owned()));
    }
    Ok(text)
}

fn visit_array<'de, V: Visitor<'de>>(
    array: Vec<Value>,
    visitor: V,
) -> Result<V::Value, FieldError> {
    let length = array.len();
    let mut items = Items::new(array);
    let value = visitor.visit_seq(&mut items)?;
    match items.taken() {
        taken if taken == length => Ok(value),
        taken => Err(FieldError::here(format!(
            "must be an array of length at most {taken}, not of length {length}"
        ))),
    }
}

fn visit_object<'de, V: Visitor<'de>>(
    object: Map<String, Value>,
    visitor: V,
) -> Result<V::Value, FieldError> {
    let size = object.len();
    let mut entries = Entries::new(object);
    let value = visitor.visit_map(&mut entries)?;
    match entries.taken() {
        taken if taken == size => Ok(value),
        taken => Err(FieldError::here(format!(
            "must be an object of size at most {taken}, not of size {size}"
        ))),
    }
}

macro_rules! whole_numbers {
    ($($deserialize:ident $visit:ident $number:ident;)*) => {$(
        fn $deserialize<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
            let (least, most) = ($number::MIN.into(), $number::MAX.into());
            let number = whole(&self.0, least, most)?;
            match $number::try_from(number) {
                Ok(number) => visitor.$visit(number),
                Err(_) => Err(FieldError::mismatch(&self.0, "a smaller number")),
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for Decoder {
    type Error = FieldError;

    whole_numbers! {
        deserialize_i8 visit_i8 i8;
        deserialize_i16 visit_i16 i16;
        deserialize_i32 visit_i32 i32;
        deserialize_i64 visit_i64 i64;
        deserialize_u8 visit_u8 u8;
        deserialize_u16 visit_u16 u16;
        deserialize_u32 visit_u32 u32;
        deserialize_u64 visit_u64 u64;
    }

    forward_to_deserialize_any! { i128 u128 bytes byte_buf }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(value),
            Value::Number(number) => visit_number(&number, visitor),
            Value::String(text) => visitor.visit_string(without_nul(text)?),
            Value::Array(array) => visit_array(array, visitor),
            Value::Object(object) => visit_object(object, visitor),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        match self.0 {
            Value::Bool(value) => visitor.visit_bool(value),
            other => Err(FieldError::mismatch(&other, "true or false")),
        }
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        visitor.visit_f64(double(&self.0, f32::MAX.into())?)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        visitor.visit_f64(double(&self.0, f64::MAX)?)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        match self.0 {
            Value::String(text) => visitor.visit_string(without_nul(text)?),
            other => Err(FieldError::mismatch(&other, "a string")),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        self.deserialize_string(visitor)
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        self.deserialize_string(visitor)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        self.deserialize_string(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        match self.0 {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            other => Err(FieldError::mismatch(&other, "null")),
        }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, FieldError> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, FieldError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        match self.0 {
            Value::Array(array) => visit_array(array, visitor),
            other => Err(FieldError::mismatch(&other, "an array")),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, FieldError> {
        let wanted = format!("an array of length {length}");
        match self.0 {
            Value::Array(array) if array.len() == length => visit_array(array, visitor),
            Value::Array(array) => {
                let found = array.len();
                let rule = format!("must be {wanted}, not of length {found}");
                Err(FieldError::here(rule))
            }
            other => Err(FieldError::mismatch(&other, &wanted)),
        }
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, FieldError> {
        self.deserialize_tuple(length, visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        match self.0 {
            Value::Object(object) => visit_object(object, visitor),
            other => Err(FieldError::mismatch(&other, "an object")),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, FieldError> {
        self.deserialize_map(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, FieldError> {
        match self.0 {
            Value::String(variant) => visitor.visit_enum(Choice::new(variant, None)),
            Value::Object(object) => {
                let size = object.len();
                let mut entries = object.into_iter();
                match (entries.next(), entries.next()) {
                    (Some((variant, value)), None) => {
                        visitor.visit_enum(Choice::new(variant, Some(value)))
                    }
                    _ => Err(FieldError::here(format!(
                        "must be an object whose only key is {}, not one of size {size}",
                        echo::one_of(variants)
                    ))),
                }
            }
            other => Err(FieldError::mismatch(&other, &echo::one_of(variants))),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        visitor.visit_unit()
    }
}

#[cfg(test)]
mod tests;
