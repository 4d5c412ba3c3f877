//! How a Rust type is in C and in JSON.

use crate::{abi, Call, Error, Result};
use std::ffi::{c_void, CStr};
use std::mem::size_of;
use std::ops::Deref;
use std::os::raw::c_char;
use std::ptr::null;

/// A type that a parameter, a field or a result may have. The list at the top of the crate has those
/// that are; [`object!`](crate::object) and [`choices!`](crate::choices) add to them.
pub trait Value: Sized {
    /// As it stands in a struct, in an array or as result.
    type Raw: Copy;
    /// The same where it may be absent or null.
    type RawOption: Copy;
    /// What the host knows of it.
    const TYPE: abi::Type;

    /// # Safety
    /// `raw` comes from the host, and its pointers live as long as the call.
    unsafe fn take(raw: Self::Raw) -> Self;
    /// # Safety
    /// As of `take()`.
    unsafe fn take_option(raw: Self::RawOption) -> Option<Self>;
    /// Put the value into the memory of the call.
    fn give(self, call: &Call) -> Result<Self::Raw>;
    /// The same where it may be absent.
    fn give_option(value: Option<Self>, call: &Call) -> Result<Self::RawOption>;
}

/// Base64 in JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bytes(pub Vec<u8>);

impl Deref for Bytes {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        Bytes(bytes)
    }
}

/// Any JSON value, as text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Json(pub String);

impl Deref for Json {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl From<String> for Json {
    fn from(text: String) -> Self {
        Json(text)
    }
}

/// A type without anything but its kind and size.
pub const fn plain(kind: u32, width: usize) -> abi::Type {
    abi::Type {
        size: size_of::<abi::Type>() as u32,
        kind,
        flags: 0,
        width: width as u32,
        item: null(),
        fields: null(),
        field_count: 0,
        field_size: 0,
        choices: null(),
        choice_count: 0,
        choice_size: 0,
    }
}

/// A result and an item may be null, and not be left out.
const fn nullable(type_: abi::Type) -> abi::Type {
    let flags = if type_.flags == abi::TYPE_OPTIONAL {
        abi::TYPE_NULLABLE
    } else {
        type_.flags
    };
    abi::Type { flags, ..type_ }
}

/// Copy a value into the memory of the call.
pub fn keep<T: Copy>(call: &Call, value: T) -> Result<*const T> {
    let place = call.alloc(size_of::<T>())? as *mut T;
    unsafe { place.write(value) };
    Ok(place)
}

macro_rules! by_pointer {
    () => {
        type RawOption = *const Self::Raw;
        unsafe fn take_option(raw: Self::RawOption) -> Option<Self> {
            if raw.is_null() {
                None
            } else {
                Some(Self::take(*raw))
            }
        }
        fn give_option(value: Option<Self>, call: &Call) -> Result<Self::RawOption> {
            match value {
                Some(value) => $crate::value::keep(call, value.give(call)?),
                None => Ok(null()),
            }
        }
    };
}

macro_rules! plain_values {
    ($($type:ty: $kind:ident),*) => {$(
        impl Value for $type {
            type Raw = $type;
            const TYPE: abi::Type = plain(abi::$kind, size_of::<$type>());
            unsafe fn take(raw: $type) -> $type {
                raw
            }
            fn give(self, _: &Call) -> Result<$type> {
                Ok(self)
            }
            by_pointer!();
        }
    )*};
}
plain_values!(
    bool: KIND_BOOL, i8: KIND_I8, i16: KIND_I16, i32: KIND_I32, i64: KIND_I64, u8: KIND_U8,
    u16: KIND_U16, u32: KIND_U32, u64: KIND_U64, f32: KIND_F32, f64: KIND_F64
);

fn json_text(json: &Json) -> &str {
    &json.0
}

/// A text of the host, which is always UTF-8.
unsafe fn text<'a>(raw: *const c_char) -> &'a str {
    std::str::from_utf8_unchecked(CStr::from_ptr(raw).to_bytes())
}

/// A text with a zero behind it, in the memory of the call.
fn give_text(text: &str, call: &Call) -> Result<*const c_char> {
    if text.as_bytes().contains(&0) {
        return Err(Error::failed(
            "a text of the result has a zero character in it, which C takes for its end; leave it \
             out, or return Bytes",
        ));
    }
    let place = call.alloc(text.len() + 1)? as *mut u8;
    unsafe {
        place.copy_from_nonoverlapping(text.as_ptr(), text.len());
        place.add(text.len()).write(0);
    }
    Ok(place as *const c_char)
}

macro_rules! text_values {
    ($($type:ty: $kind:ident, $make:expr, $read:expr, [$($life:lifetime)?]);*) => {$(
        impl$(<$life>)? Value for $type {
            type Raw = *const c_char;
            type RawOption = *const c_char;
            const TYPE: abi::Type = plain(abi::$kind, 0);
            unsafe fn take(raw: *const c_char) -> Self {
                $make(text(raw))
            }
            unsafe fn take_option(raw: *const c_char) -> Option<Self> {
                if raw.is_null() {
                    None
                } else {
                    Some(Self::take(raw))
                }
            }
            fn give(self, call: &Call) -> Result<*const c_char> {
                give_text($read(&self), call)
            }
            fn give_option(value: Option<Self>, call: &Call) -> Result<*const c_char> {
                match value {
                    Some(value) => value.give(call),
                    None => Ok(null()),
                }
            }
        }
    )*};
}
text_values!(
    &'a str: KIND_STRING, |text| text, |text: &Self| -> &str { *text }, ['a];
    String: KIND_STRING, str::to_owned, String::as_str, [];
    Json: KIND_JSON, |text| Json(str::to_owned(text)), json_text, []
);

/// # Safety
/// `data` has `size` bytes, or is null.
pub unsafe fn take_bytes(data: *const u8, size: u64) -> Option<Bytes> {
    if data.is_null() {
        None
    } else {
        Some(Bytes(
            std::slice::from_raw_parts(data, size as usize).to_vec(),
        ))
    }
}

/// # Safety
/// `items` has `count` items, or is null.
pub unsafe fn take_items<T: Value>(items: *const T::Raw, count: u64) -> Option<Vec<T>> {
    if items.is_null() {
        return None;
    }
    let raws = std::slice::from_raw_parts(items, count as usize);
    Some(raws.iter().map(|raw| T::take(*raw)).collect())
}

/// # Safety
/// As of `take_items()`; the slice lives as long as the call.
pub unsafe fn take_slice<'a, T: Value<Raw = T>>(items: *const T, count: u64) -> &'a [T] {
    if items.is_null() {
        &[]
    } else {
        std::slice::from_raw_parts(items, count as usize)
    }
}

impl Value for Bytes {
    type Raw = abi::Bytes;
    type RawOption = abi::Bytes;
    const TYPE: abi::Type = plain(abi::KIND_BYTES, 0);
    unsafe fn take(raw: abi::Bytes) -> Self {
        take_bytes(raw.data, raw.size).unwrap_or_default()
    }
    unsafe fn take_option(raw: abi::Bytes) -> Option<Self> {
        take_bytes(raw.data, raw.size)
    }
    fn give(self, call: &Call) -> Result<abi::Bytes> {
        let data = call.alloc(self.0.len().max(1))? as *mut u8;
        unsafe { data.copy_from_nonoverlapping(self.0.as_ptr(), self.0.len()) };
        Ok(abi::Bytes {
            data,
            size: self.0.len() as u64,
        })
    }
    fn give_option(value: Option<Self>, call: &Call) -> Result<abi::Bytes> {
        match value {
            Some(value) => value.give(call),
            None => Ok(abi::Bytes {
                data: null(),
                size: 0,
            }),
        }
    }
}

impl<T: Value> Value for Vec<T> {
    type Raw = abi::Array;
    type RawOption = abi::Array;
    const TYPE: abi::Type = abi::Type {
        item: &nullable(T::TYPE),
        ..plain(abi::KIND_ARRAY, 0)
    };
    unsafe fn take(raw: abi::Array) -> Self {
        take_items(raw.items as *const T::Raw, raw.count).unwrap_or_default()
    }
    unsafe fn take_option(raw: abi::Array) -> Option<Self> {
        take_items(raw.items as *const T::Raw, raw.count)
    }
    fn give(self, call: &Call) -> Result<abi::Array> {
        let count = self.len();
        let size = size_of::<T::Raw>()
            .checked_mul(count)
            .ok_or_else(crate::call::no_memory)?;
        let items = call.alloc(size.max(1))? as *mut T::Raw;
        for (at, item) in self.into_iter().enumerate() {
            unsafe { items.add(at).write(item.give(call)?) };
        }
        Ok(abi::Array {
            items: items as *const c_void,
            count: count as u64,
        })
    }
    fn give_option(value: Option<Self>, call: &Call) -> Result<abi::Array> {
        match value {
            Some(value) => value.give(call),
            None => Ok(abi::Array {
                items: null(),
                count: 0,
            }),
        }
    }
}

impl<T: Value> Value for Option<T> {
    type Raw = T::RawOption;
    type RawOption = T::RawOption;
    const TYPE: abi::Type = abi::Type {
        flags: abi::TYPE_OPTIONAL,
        ..T::TYPE
    };
    unsafe fn take(raw: T::RawOption) -> Self {
        T::take_option(raw)
    }
    unsafe fn take_option(raw: T::RawOption) -> Option<Self> {
        Some(T::take_option(raw))
    }
    fn give(self, call: &Call) -> Result<T::RawOption> {
        T::give_option(self, call)
    }
    fn give_option(value: Option<Self>, call: &Call) -> Result<T::RawOption> {
        T::give_option(value.flatten(), call)
    }
}

/// What a tool may return: a value, nothing, or a `Result` of these.
pub trait Reply {
    /// As C returns it.
    type Raw: Copy;
    /// What the host knows of it.
    const TYPE: abi::Type;
    /// Hand it over.
    fn reply(self, call: &Call) -> Result<Self::Raw>;
}

impl<T: Value> Reply for T {
    type Raw = T::Raw;
    const TYPE: abi::Type = nullable(T::TYPE);
    fn reply(self, call: &Call) -> Result<T::Raw> {
        self.give(call)
    }
}

impl Reply for () {
    type Raw = ();
    const TYPE: abi::Type = plain(abi::KIND_NONE, 0);
    fn reply(self, _: &Call) -> Result<()> {
        Ok(())
    }
}

impl<T: Reply> Reply for Result<T, Error> {
    type Raw = T::Raw;
    const TYPE: abi::Type = T::TYPE;
    fn reply(self, call: &Call) -> Result<T::Raw> {
        self?.reply(call)
    }
}
