//! Hands the parts of arrays, objects and enums to serde, and keeps their paths.

use serde::Deserializer;
use serde::de::{
    self, DeserializeSeed, EnumAccess, IntoDeserializer, MapAccess, SeqAccess, VariantAccess,
    Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::{Map, Value, map};

use super::decode::{Decoder, without_nul};
use super::echo;
use super::error::FieldError;

/// The items of an array, one by one.
pub(super) struct Items {
    rest: std::vec::IntoIter<Value>,
    taken: usize,
}

impl Items {
    /// Starts at the first item.
    pub(super) fn new(array: Vec<Value>) -> Self {
        let rest = array.into_iter();
        Self { rest, taken: 0 }
    }

    /// Counts the items handed out.
    pub(super) fn taken(&self) -> usize {
        self.taken
    }
}

impl<'de> SeqAccess<'de> for Items {
    type Error = FieldError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, FieldError> {
        let Some(item) = self.rest.next() else {
            return Ok(None);
        };
        let index = self.taken;
        self.taken += 1;
        let value = seed.deserialize(Decoder(item));
        value.map(Some).map_err(|fault| fault.under_item(index))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

/// The entries of an object, one by one.
pub(super) struct Entries {
    rest: map::IntoIter,
    entry: Option<(String, Value)>,
    taken: usize,
}

impl Entries {
    /// Starts at the first entry.
    pub(super) fn new(object: Map<String, Value>) -> Self {
        let rest = object.into_iter();
        Self {
            rest,
            entry: None,
            taken: 0,
        }
    }

    /// Counts the entries handed out.
    pub(super) fn taken(&self) -> usize {
        self.taken
    }
}

impl<'de> MapAccess<'de> for Entries {
    type Error = FieldError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, FieldError> {
        self.entry = self.rest.next();
        let Some((key, _)) = &self.entry else {
            return Ok(None);
        };
        self.taken += 1;
        let value = without_nul(key).and_then(|key| seed.deserialize(Key(key)));
        value.map(Some).map_err(|fault| fault.about_key(key))
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<S::Value, FieldError> {
        let Some((key, value)) = self.entry.take() else {
            return Err(de::Error::custom("was read out of order"));
        };
        let value = seed.deserialize(Decoder(value));
        value.map_err(|fault| fault.under_key(&key))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

/// A key of an object, which is a string in JSON whatever its type here.
struct Key<'k>(&'k str);

impl Key<'_> {
    /// Reads the key as a value: a whole number in its one usual spelling is that number.
    fn value(&self) -> Value {
        let usual = |number: &dyn ToString| number.to_string() == self.0;
        match (self.0.parse::<u64>(), self.0.parse::<i64>()) {
            (Ok(number), _) if usual(&number) => number.into(),
            (_, Ok(number)) if usual(&number) => number.into(),
            _ => self.0.into(),
        }
    }
}

macro_rules! number_keys {
    ($($deserialize:ident)*) => {$(
        fn $deserialize<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
            Decoder(self.value()).$deserialize(visitor)
        }
    )*};
}

impl<'de> Deserializer<'de> for Key<'_> {
    type Error = FieldError;

    number_keys! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64
    }

    forward_to_deserialize_any! {
        bool i128 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        visitor.visit_str(self.0)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, FieldError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, FieldError> {
        visitor.visit_enum(self.0.into_deserializer())
    }
}

/// The variant that a string, or the only key of an object, chooses.
pub(super) struct Choice {
    variant: String,
    value: Option<Value>,
}

impl Choice {
    /// Makes a choice, with the value under its key if it has one.
    pub(super) fn new(variant: String, value: Option<Value>) -> Self {
        Self { variant, value }
    }

    /// Decodes the value that the variant carries.
    fn with<T>(
        self,
        decode: impl FnOnce(Decoder) -> Result<T, FieldError>,
    ) -> Result<T, FieldError> {
        match self.value {
            Some(value) => decode(Decoder(value)).map_err(|fault| fault.under_key(&self.variant)),
            None => Err(FieldError::mismatch(
                &Value::String(self.variant.clone()),
                &format!("an object whose only key is {}", echo::named(&self.variant)),
            )),
        }
    }
}

impl<'de> EnumAccess<'de> for Choice {
    type Error = FieldError;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<(S::Value, Self), FieldError> {
        let variant = seed.deserialize(Key(&self.variant))?;
        Ok((variant, self))
    }
}

impl<'de> VariantAccess<'de> for Choice {
    type Error = FieldError;

    fn unit_variant(self) -> Result<(), FieldError> {
        match self.value {
            None => Ok(()),
            Some(_) => self.with(de::Deserialize::deserialize),
        }
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<S::Value, FieldError> {
        self.with(|decoder| seed.deserialize(decoder))
    }

    fn tuple_variant<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, FieldError> {
        self.with(|decoder| decoder.deserialize_tuple(length, visitor))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, FieldError> {
        self.with(|decoder| decoder.deserialize_map(visitor))
    }
}
