//! The serializer that turns any serialisable value into an ordered tree.
//!
//! serde_json's own serializer writes NaN as `null`; this one refuses it.

use serde::ser::{self, Serialize, Serializer};

use super::tree::Json;
use crate::error::CanonicalError;

/// Serializer whose output is a [`Json`] tree.
pub(super) struct TreeSerializer;

/// Collects the items of a list, under the name of its variant where it has one.
pub(super) struct ListBuilder {
    items: Vec<Json>,
    variant: Option<&'static str>,
}

/// Collects the members of an object, under the name of its variant where it has one.
pub(super) struct ObjectBuilder {
    members: Vec<(String, Json)>,
    key: Option<String>,
    variant: Option<&'static str>,
}

fn tagged(variant: Option<&'static str>, value: Json) -> Json {
    match variant {
        Some(name) => Json::Object(vec![(name.to_owned(), value)]),
        None => value,
    }
}

impl ListBuilder {
    fn new(variant: Option<&'static str>, length: Option<usize>) -> Self {
        Self { items: Vec::with_capacity(length.unwrap_or(0)), variant }
    }

    fn push<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), CanonicalError> {
        self.items.push(value.serialize(TreeSerializer)?);
        Ok(())
    }

    fn finish(self) -> Json {
        tagged(self.variant, Json::Array(self.items))
    }
}

impl ObjectBuilder {
    fn new(variant: Option<&'static str>) -> Self {
        Self { members: Vec::new(), key: None, variant }
    }

    fn push<T: Serialize + ?Sized>(&mut self, key: &str, value: &T) -> Result<(), CanonicalError> {
        self.members.push((key.to_owned(), value.serialize(TreeSerializer)?));
        Ok(())
    }

    fn finish(self) -> Json {
        tagged(self.variant, Json::Object(self.members))
    }
}

impl Serializer for TreeSerializer {
    type Ok = Json;
    type Error = CanonicalError;
    type SerializeSeq = ListBuilder;
    type SerializeTuple = ListBuilder;
    type SerializeTupleStruct = ListBuilder;
    type SerializeTupleVariant = ListBuilder;
    type SerializeMap = ObjectBuilder;
    type SerializeStruct = ObjectBuilder;
    type SerializeStructVariant = ObjectBuilder;

    fn serialize_bool(self, v: bool) -> Result<Json, CanonicalError> {
        Ok(Json::Bool(v))
    }

    fn serialize_i8(self, v: i8) -> Result<Json, CanonicalError> {
        self.serialize_i64(v.into())
    }

    fn serialize_i16(self, v: i16) -> Result<Json, CanonicalError> {
        self.serialize_i64(v.into())
    }

    fn serialize_i32(self, v: i32) -> Result<Json, CanonicalError> {
        self.serialize_i64(v.into())
    }

    fn serialize_i64(self, v: i64) -> Result<Json, CanonicalError> {
        Ok(u64::try_from(v).map_or(Json::Int(v), Json::Uint))
    }

    fn serialize_u8(self, v: u8) -> Result<Json, CanonicalError> {
        self.serialize_u64(v.into())
    }

    fn serialize_u16(self, v: u16) -> Result<Json, CanonicalError> {
        self.serialize_u64(v.into())
    }

    fn serialize_u32(self, v: u32) -> Result<Json, CanonicalError> {
        self.serialize_u64(v.into())
    }

    fn serialize_u64(self, v: u64) -> Result<Json, CanonicalError> {
        Ok(Json::Uint(v))
    }

    fn serialize_f32(self, v: f32) -> Result<Json, CanonicalError> {
        self.serialize_f64(v.into())
    }

    fn serialize_f64(self, v: f64) -> Result<Json, CanonicalError> {
        if v.is_finite() { Ok(Json::Float(v)) } else { Err(CanonicalError::NotFinite { value: v }) }
    }

    fn serialize_char(self, v: char) -> Result<Json, CanonicalError> {
        Ok(Json::String(v.to_string()))
    }

    fn serialize_str(self, v: &str) -> Result<Json, CanonicalError> {
        Ok(Json::from(v))
    }

    fn serialize_bytes(self, v: &[u8]) -> Result<Json, CanonicalError> {
        Ok(Json::Array(v.iter().map(|&byte| Json::Uint(byte.into())).collect()))
    }

    fn serialize_none(self) -> Result<Json, CanonicalError> {
        Ok(Json::Null)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Json, CanonicalError> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<Json, CanonicalError> {
        Ok(Json::Null)
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<Json, CanonicalError> {
        Ok(Json::Null)
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<Json, CanonicalError> {
        Ok(Json::from(variant))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<Json, CanonicalError> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<Json, CanonicalError> {
        Ok(tagged(Some(variant), value.serialize(self)?))
    }

    fn serialize_seq(self, len: Option<usize>) -> Result<ListBuilder, CanonicalError> {
        Ok(ListBuilder::new(None, len))
    }

    fn serialize_tuple(self, len: usize) -> Result<ListBuilder, CanonicalError> {
        Ok(ListBuilder::new(None, Some(len)))
    }

    fn serialize_tuple_struct(
        self,
        _: &'static str,
        len: usize,
    ) -> Result<ListBuilder, CanonicalError> {
        Ok(ListBuilder::new(None, Some(len)))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        len: usize,
    ) -> Result<ListBuilder, CanonicalError> {
        Ok(ListBuilder::new(Some(variant), Some(len)))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<ObjectBuilder, CanonicalError> {
        Ok(ObjectBuilder::new(None))
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<ObjectBuilder, CanonicalError> {
        Ok(ObjectBuilder::new(None))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<ObjectBuilder, CanonicalError> {
        Ok(ObjectBuilder::new(Some(variant)))
    }
}

/// serde has one trait for each kind of list; all of them do the same here.
macro_rules! lists {
    ($($kind:ident: $item:ident,)+) => {
        $(impl ser::$kind for ListBuilder {
            type Ok = Json;
            type Error = CanonicalError;

            fn $item<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), CanonicalError> {
                self.push(value)
            }

            fn end(self) -> Result<Json, CanonicalError> {
                Ok(self.finish())
            }
        })+
    };
}

/// And one for each kind of object with known members.
macro_rules! objects {
    ($($kind:ident,)+) => {
        $(impl ser::$kind for ObjectBuilder {
            type Ok = Json;
            type Error = CanonicalError;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                key: &'static str,
                value: &T,
            ) -> Result<(), CanonicalError> {
                self.push(key, value)
            }

            fn end(self) -> Result<Json, CanonicalError> {
                Ok(self.finish())
            }
        })+
    };
}

lists! {
    SerializeSeq: serialize_element,
    SerializeTuple: serialize_element,
    SerializeTupleStruct: serialize_field,
    SerializeTupleVariant: serialize_field,
}

objects! {
    SerializeStruct,
    SerializeStructVariant,
}

impl ser::SerializeMap for ObjectBuilder {
    type Ok = Json;
    type Error = CanonicalError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), CanonicalError> {
        self.key = Some(match key.serialize(TreeSerializer)? {
            Json::String(text) => text,
            Json::Int(number) => number.to_string(),
            Json::Uint(number) => number.to_string(),
            _ => return Err(CanonicalError::KeyNotText),
        });
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, v: &T) -> Result<(), CanonicalError> {
        let key = self.key.take().ok_or(CanonicalError::KeyNotText)?;
        self.push(&key, v)
    }

    fn end(self) -> Result<Json, CanonicalError> {
        Ok(self.finish())
    }
}
