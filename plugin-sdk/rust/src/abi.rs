//! The binary interface, as `toolrack/plugin.h` has it: that header is the reference.
#![allow(missing_docs)]

use std::ffi::c_void;
use std::os::raw::c_char;

pub const MAGIC: u64 = 0x6b63_6172_6c6f_6f74;
pub const ABI_MAJOR: u16 = 1;
pub const ABI_MINOR: u16 = 5;

pub const OK: i32 = 0;
pub const KIND_NONE: u32 = 0;
pub const KIND_BOOL: u32 = 1;
pub const KIND_I8: u32 = 2;
pub const KIND_I16: u32 = 3;
pub const KIND_I32: u32 = 4;
pub const KIND_I64: u32 = 5;
pub const KIND_U8: u32 = 6;
pub const KIND_U16: u32 = 7;
pub const KIND_U32: u32 = 8;
pub const KIND_U64: u32 = 9;
pub const KIND_F32: u32 = 10;
pub const KIND_F64: u32 = 11;
pub const KIND_STRING: u32 = 12;
pub const KIND_BYTES: u32 = 13;
pub const KIND_JSON: u32 = 14;
pub const KIND_ARRAY: u32 = 15;
pub const KIND_STRUCT: u32 = 16;
pub const KIND_ENUM: u32 = 17;
pub const KIND_CALL: u32 = 18;

pub const TYPE_NULLABLE: u32 = 1 << 0;
pub const TYPE_OPTIONAL: u32 = 1 << 1;

pub const CAP_READ: u32 = 1;
pub const CAP_WRITE: u32 = 2;
pub const CAP_NETWORK: u32 = 3;
pub const CAP_SPAWN: u32 = 4;
pub const CAP_ENV: u32 = 5;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Bytes {
    pub data: *const u8,
    pub size: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Array {
    pub items: *const c_void,
    pub count: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Choice {
    pub name: *const c_char,
    pub value: i64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Type {
    pub size: u32,
    pub kind: u32,
    pub flags: u32,
    pub width: u32,
    pub item: *const Type,
    pub fields: *const Param,
    pub field_count: u32,
    pub field_size: u32,
    pub choices: *const Choice,
    pub choice_count: u32,
    pub choice_size: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Param {
    pub name: *const c_char,
    pub description: *const c_char,
    pub type_: *const Type,
    pub offset: u64,
    pub default_json: *const c_char,
    pub choices_json: *const c_char,
    pub minimum_json: *const c_char,
    pub maximum_json: *const c_char,
    pub exclusive_minimum_json: *const c_char,
    pub exclusive_maximum_json: *const c_char,
    pub multiple_of_json: *const c_char,
    pub min_length: u64,
    pub max_length: u64,
    pub min_items: u64,
    pub max_items: u64,
    pub pattern: *const c_char,
    pub format: *const c_char,
    pub flags: u32,
    pub reserved: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Example {
    pub arguments: *const c_char,
    pub result: *const c_char,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Tool {
    pub size: u32,
    pub flags: u32,
    pub name: *const c_char,
    pub description: *const c_char,
    pub version: *const c_char,
    pub title: *const c_char,
    pub category: *const c_char,
    pub tags: *const c_char,
    pub permission: u32,
    pub priority: i32,
    pub deadline_ms: u32,
    pub param_count: u32,
    pub params: *const Param,
    pub param_size: u32,
    pub reserved: u32,
    pub result: *const Type,
    pub result_description: *const c_char,
    pub function: Option<unsafe extern "C" fn()>,
    pub schema: *const c_char,
    pub result_schema: *const c_char,
    pub run: Option<unsafe extern "C" fn(*mut Call) -> i32>,
    pub examples: *const Example,
    pub example_count: u32,
    pub example_size: u32,
    pub deprecated: *const c_char,
    pub purpose: *const c_char,
    pub scenarios: *const c_char,
    pub icons: *const c_char,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Capability {
    pub kind: u32,
    pub reserved: u32,
    pub value: *const c_char,
}

pub type Close = unsafe extern "C" fn();
pub type GetExtension = unsafe extern "C" fn(*const c_char) -> *const c_void;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Plugin {
    pub magic: u64,
    pub size: u32,
    pub abi_major: u16,
    pub abi_minor: u16,
    pub host_minor_min: u16,
    pub reserved: u16,
    pub flags: u32,
    pub id: *const c_char,
    pub version: *const c_char,
    pub description: *const c_char,
    pub vendor: *const c_char,
    pub license: *const c_char,
    pub homepage: *const c_char,
    pub capabilities: *const Capability,
    pub capability_count: u32,
    pub capability_size: u32,
    pub tool_count: u32,
    pub tool_size: u32,
    pub tools: *const *const Tool,
    pub open: Option<unsafe extern "C" fn(*mut Host) -> i32>,
    pub close: Option<unsafe extern "C" fn()>,
    pub get_extension: Option<GetExtension>,
}

#[repr(C)]
pub struct Call {
    pub api: *const CallApi,
}

/// `count` inputs are asked for together; this crate asks for one form at a time, by `ask`.
type Opaque = *const c_void;
type PutText = unsafe extern "C" fn(*mut Call, *const c_char, *const c_char, u64) -> i32;

#[repr(C)]
pub struct CallApi {
    pub size: u64,
    pub arguments: unsafe extern "C" fn(*mut Call, *mut u64) -> *const c_char,
    pub kind: unsafe extern "C" fn(*mut Call, *const c_char) -> i32,
    pub count: unsafe extern "C" fn(*mut Call, *const c_char) -> u64,
    pub get_bool: unsafe extern "C" fn(*mut Call, *const c_char, *mut bool) -> i32,
    pub get_i64: unsafe extern "C" fn(*mut Call, *const c_char, *mut i64) -> i32,
    pub get_u64: unsafe extern "C" fn(*mut Call, *const c_char, *mut u64) -> i32,
    pub get_f64: unsafe extern "C" fn(*mut Call, *const c_char, *mut f64) -> i32,
    pub get_string:
        unsafe extern "C" fn(*mut Call, *const c_char, *mut *const c_char, *mut u64) -> i32,
    pub get_bytes: unsafe extern "C" fn(*mut Call, *const c_char, *mut Bytes) -> i32,
    pub get_json:
        unsafe extern "C" fn(*mut Call, *const c_char, *mut *const c_char, *mut u64) -> i32,
    pub reply_text: unsafe extern "C" fn(*mut Call, *const c_char, u64) -> i32,
    pub reply_json: unsafe extern "C" fn(*mut Call, *const c_char, u64) -> i32,
    pub reply_image: unsafe extern "C" fn(*mut Call, *const c_void, u64, *const c_char) -> i32,
    pub reply_audio: unsafe extern "C" fn(*mut Call, *const c_void, u64, *const c_char) -> i32,
    pub reply_resource: unsafe extern "C" fn(
        *mut Call,
        *const c_char,
        *const c_char,
        *const c_char,
        *const c_void,
        u64,
    ) -> i32,
    pub fail: unsafe extern "C" fn(*mut Call, i32, *const c_char, *const c_char) -> i32,
    pub progress: unsafe extern "C" fn(*mut Call, f64, f64, *const c_char),
    pub log: unsafe extern "C" fn(*mut Call, i32, *const c_char),
    pub cancelled: unsafe extern "C" fn(*mut Call) -> bool,
    pub time_left_ms: unsafe extern "C" fn(*mut Call) -> u64,
    pub context: unsafe extern "C" fn(*mut Call, i32) -> *const c_char,
    pub alloc: unsafe extern "C" fn(*mut Call, u64) -> *mut c_void,
    pub put_begin: unsafe extern "C" fn(*mut Call, *const c_char, i32) -> i32,
    pub put_end: unsafe extern "C" fn(*mut Call) -> i32,
    pub put_string: PutText,
    pub put_bool: unsafe extern "C" fn(*mut Call, *const c_char, bool) -> i32,
    pub put_i64: unsafe extern "C" fn(*mut Call, *const c_char, i64) -> i32,
    pub put_u64: unsafe extern "C" fn(*mut Call, *const c_char, u64) -> i32,
    pub put_f64: unsafe extern "C" fn(*mut Call, *const c_char, f64) -> i32,
    pub put_json: PutText,
    // Since 1.1: only where `size` has room for them.
    pub ask: Option<
        unsafe extern "C" fn(*mut Call, *const c_char, *const c_char, *mut *const c_char) -> i32,
    >,
    // Since 1.3.
    pub fail_at: Option<
        unsafe extern "C" fn(
            *mut Call,
            i32,
            *const c_char,
            *const c_char,
            *const c_char,
            i32,
        ) -> i32,
    >,
    // Since 1.4 and 1.5: not used by this crate.
    pub inputs: Opaque,
    pub reply_content: Opaque,
    pub reply_link: Opaque,
    pub get_all: Opaque,
}

#[repr(C)]
pub struct Host {
    pub api: *const HostApi,
}

#[repr(C)]
pub struct HostApi {
    pub size: u64,
    pub config: unsafe extern "C" fn(*mut Host, *const c_char, *mut *const c_char) -> i32,
    pub log: unsafe extern "C" fn(*mut Host, i32, *const c_char),
    pub fail: unsafe extern "C" fn(*mut Host, *const c_char) -> i32,
    pub get_extension: unsafe extern "C" fn(*mut Host, *const c_char) -> *const c_void,
}

type Served = unsafe extern "C" fn(*mut Call) -> i32;

/// `toolrack/ext/resources.h`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Resources {
    pub size: u32,
    pub reserved: u32,
    pub list: Option<Served>,
    pub templates: Option<Served>,
    pub read: Option<Served>,
    pub subscribe: Option<Served>,
    pub unsubscribe: Option<Served>,
    pub complete: Option<Served>,
}

/// A table whose pointers all lead to constant data may be shared between threads.
#[repr(transparent)]
pub struct Constant<T>(pub T);
// Nothing writes to it.
unsafe impl<T> Sync for Constant<T> {}
