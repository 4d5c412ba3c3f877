//! A plugin in Rust, without crates: the records of toolrack/plugin.h as `#[repr(C)]` structs, filled in
//! `static` items, which are constant data in the file. They are those of version 1.0: what structs grew
//! by later is not stated, and every later host reads them so.
//!
//! Built with `panic=abort`: a panic must not unwind into the host. Nothing here has thread-local
//! destructors, which would keep the library from being unloaded.
#![crate_type = "cdylib"]

use std::ffi::{c_char, c_void, CStr, CString};
use std::mem::size_of;
use std::ptr::{null, null_mut};

// ---------------------------------------------------------------- toolrack/plugin.h, part 1

const TR_MAGIC: u64 = 0x6b63_6172_6c6f_6f74;
const TR_ABI_MAJOR: u16 = 1;
const TR_ABI_MINOR: u16 = 0;
const TR_OK: i32 = 0;
const TR_FAILED: i32 = 2;
const TR_KIND_F64: u32 = 11;
const TR_READ_ONLY: u32 = 1 << 1;
const TR_IDEMPOTENT: u32 = 1 << 3;
const TR_THREAD_SAFE: u32 = 1 << 0;

#[repr(C)]
pub struct TrType {
    size: u32,
    kind: u32,
    flags: u32,
    width: u32,
    item: *const TrType,
    fields: *const TrParam,
    field_count: u32,
    field_size: u32,
    choices: *const c_void,
    choice_count: u32,
    choice_size: u32,
}

#[repr(C)]
pub struct TrParam {
    name: *const c_char,
    description: *const c_char,
    type_: *const TrType,
    offset: u64,
    default_json: *const c_char,
    choices_json: *const c_char,
    minimum_json: *const c_char,
    maximum_json: *const c_char,
    exclusive_minimum_json: *const c_char,
    exclusive_maximum_json: *const c_char,
    multiple_of_json: *const c_char,
    min_length: u64,
    max_length: u64,
    min_items: u64,
    max_items: u64,
    pattern: *const c_char,
    format: *const c_char,
    flags: u32,
    reserved: u32,
}

#[repr(C)]
pub struct TrTool {
    size: u32,
    flags: u32,
    name: *const c_char,
    description: *const c_char,
    version: *const c_char,
    title: *const c_char,
    category: *const c_char,
    tags: *const c_char,
    permission: u32,
    priority: i32,
    deadline_ms: u32,
    param_count: u32,
    params: *const TrParam,
    param_size: u32,
    reserved: u32,
    result: *const TrType,
    result_description: *const c_char,
    function: Option<extern "C" fn()>,
    schema: *const c_char,
    result_schema: *const c_char,
    run: Option<extern "C" fn(*mut TrCall) -> i32>,
}

#[repr(C)]
pub struct TrPlugin {
    magic: u64,
    size: u32,
    abi_major: u16,
    abi_minor: u16,
    host_minor_min: u16,
    reserved: u16,
    flags: u32,
    id: *const c_char,
    version: *const c_char,
    description: *const c_char,
    vendor: *const c_char,
    license: *const c_char,
    homepage: *const c_char,
    capabilities: *const c_void,
    capability_count: u32,
    capability_size: u32,
    tool_count: u32,
    tool_size: u32,
    tools: *const *const TrTool,
    open: Option<extern "C" fn(*mut c_void) -> i32>,
    close: Option<extern "C" fn()>,
    get_extension: Option<extern "C" fn(*const c_char) -> *const c_void>,
}

/// A table whose pointers all lead to constant data may be shared between threads.
#[repr(transparent)]
pub struct Constant<T>(T);
unsafe impl<T> Sync for Constant<T> {}

// ---------------------------------------------------------------- part 2, as far as it is used

#[repr(C)]
pub struct TrCall {
    api: *const TrCallApi,
}

#[repr(C)]
pub struct TrCallApi {
    size: u64,
    arguments: *const c_void,
    kind: *const c_void,
    count: *const c_void,
    get_bool: *const c_void,
    get_i64: *const c_void,
    get_u64: *const c_void,
    get_f64: *const c_void,
    get_string:
        unsafe extern "C" fn(*mut TrCall, *const c_char, *mut *const c_char, *mut u64) -> i32,
    get_bytes: *const c_void,
    get_json: *const c_void,
    reply_text: unsafe extern "C" fn(*mut TrCall, *const c_char, u64) -> i32,
}

// ---------------------------------------------------------------- the tools

/// A zero-terminated text. (Newer compilers know c"text" as well.)
macro_rules! c {
    ($text:expr) => {
        concat!($text, "\0").as_ptr() as *const c_char
    };
}

extern "C" fn add(a: f64, b: f64) -> f64 {
    a + b
}

extern "C" fn greet(call: *mut TrCall) -> i32 {
    // The host passes a call that lives until this returns, and so does the text it hands out.
    unsafe {
        let api = &*(*call).api;
        let mut name: *const c_char = null();
        let status = (api.get_string)(call, c!("name"), &mut name, null_mut());
        let name = CStr::from_ptr(if status == TR_OK { name } else { c!("world") });
        match CString::new(format!("Hello, {}!", name.to_string_lossy())) {
            Ok(text) => (api.reply_text)(call, text.as_ptr(), u64::MAX),
            Err(_) => TR_FAILED,
        }
    }
}

// ---------------------------------------------------------------- the table

const NO_PARAM: TrParam = TrParam {
    name: null(),
    description: null(),
    type_: null(),
    offset: 0,
    default_json: null(),
    choices_json: null(),
    minimum_json: null(),
    maximum_json: null(),
    exclusive_minimum_json: null(),
    exclusive_maximum_json: null(),
    multiple_of_json: null(),
    min_length: 0,
    max_length: 0,
    min_items: 0,
    max_items: 0,
    pattern: null(),
    format: null(),
    flags: 0,
    reserved: 0,
};

const NO_TOOL: TrTool = TrTool {
    size: size_of::<TrTool>() as u32,
    flags: TR_READ_ONLY | TR_IDEMPOTENT,
    name: null(),
    description: null(),
    version: null(),
    title: null(),
    category: null(),
    tags: null(),
    permission: 0,
    priority: 0,
    deadline_ms: 0,
    param_count: 0,
    params: null(),
    param_size: size_of::<TrParam>() as u32,
    reserved: 0,
    result: null(),
    result_description: null(),
    function: None,
    schema: null(),
    result_schema: null(),
    run: None,
};

static F64: Constant<TrType> = Constant(TrType {
    size: size_of::<TrType>() as u32,
    kind: TR_KIND_F64,
    flags: 0,
    width: 8,
    item: null(),
    fields: null(),
    field_count: 0,
    field_size: 0,
    choices: null(),
    choice_count: 0,
    choice_size: 0,
});

static ADD_PARAMS: Constant<[TrParam; 2]> = Constant([
    TrParam {
        name: c!("a"),
        description: c!("first addend"),
        type_: &F64.0,
        ..NO_PARAM
    },
    TrParam {
        name: c!("b"),
        description: c!("second addend"),
        type_: &F64.0,
        ..NO_PARAM
    },
]);

static ADD: Constant<TrTool> = Constant(TrTool {
    name: c!("rust_add"),
    description: c!("Add two numbers"),
    param_count: 2,
    params: ADD_PARAMS.0.as_ptr(),
    result: &F64.0,
    // The host calls it by the types above, which must be those of the function.
    function: Some(unsafe {
        std::mem::transmute::<extern "C" fn(f64, f64) -> f64, extern "C" fn()>(add)
    }),
    ..NO_TOOL
});

static GREET: Constant<TrTool> = Constant(TrTool {
    name: c!("rust_greet"),
    description: c!("Greet somebody by name"),
    schema: c!(r#"{"type": "object", "properties": {"name": {"type": "string"}}}"#),
    run: Some(greet),
    ..NO_TOOL
});

static TOOLS: Constant<[*const TrTool; 2]> = Constant([&ADD.0, &GREET.0]);

#[no_mangle]
#[allow(non_upper_case_globals)]
pub static toolrack_plugin: Constant<TrPlugin> = Constant(TrPlugin {
    magic: TR_MAGIC,
    size: size_of::<TrPlugin>() as u32,
    abi_major: TR_ABI_MAJOR,
    abi_minor: TR_ABI_MINOR,
    host_minor_min: 0,
    reserved: 0,
    flags: TR_THREAD_SAFE,
    id: c!("test.rust"),
    version: c!("1.0.0"),
    description: c!("A plugin written in Rust"),
    vendor: null(),
    license: null(),
    homepage: null(),
    capabilities: null(),
    capability_count: 0,
    capability_size: 0,
    tool_count: 2,
    tool_size: size_of::<TrTool>() as u32,
    tools: TOOLS.0.as_ptr(),
    open: None,
    close: None,
    get_extension: None,
});
