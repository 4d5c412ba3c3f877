//! Plugins for toolrack in Rust: the types of a tool are those of its function.
//!
//! ```ignore
//! use toolrack::*;
//!
//! tool! {
//!     /// Divide two numbers.
//!     #[flags = READ_ONLY | IDEMPOTENT]
//!     #[example = (r#"{"dividend": 6, "divisor": 3}"#, "2")]
//!     fn divide(
//!         /// What is divided
//!         dividend: f64,
//!         /// By what
//!         #[exclusive_minimum = "0"]
//!         divisor: f64,
//!     ) -> f64 {
//!         dividend / divisor
//!     }
//! }
//!
//! plugin!("math", "1.0.0", [divide], license = "MIT", flags = THREAD_SAFE);
//! ```
//!
//! A layer over `toolrack/plugin.h`, which is the reference: it fills the same constant data, and
//! nothing is linked. No crates, no procedural macros, rustc 1.63 and later; the plugin is a `cdylib`.
//! Comments with `///` are the descriptions that models read; the attributes of a tool are the
//! functions of [`Said`], those of a parameter the functions of [`Param`].
//!
//! A tool that can fail returns [`Result`]; any error of the standard library becomes one with `?`.
//! A panic fails the call, if the plugin is not built with `panic=abort`. Values are copied between C
//! and Rust, so nothing in a result has to outlive the function.
//!
//! | in a function | JSON |
//! |---|---|
//! | `bool`, integers of 8 to 64 bits, `f32`, `f64` | true or false, a number |
//! | `&str`, `String` | string |
//! | [`Json`] | any value |
//! | [`Bytes`] | base64 string |
//! | `Vec<T>`; as a parameter also `&[T]` of numbers | array |
//! | `Option<T>` | absent or null, or a `T` |
//! | a struct of [`object!`], an enumeration of [`choices!`] | object, string |
//!
//! A parameter's array is to be written `Vec<T>`, `&[T]` or `Option<Vec<T>>`, and bytes `Bytes` or
//! `Option<Bytes>`, not by other names of these types: C passes them as two values.
//!
//! Licence: MIT; usable in closed plugins.
#![warn(missing_docs)]

pub mod abi;
mod call;
mod error;
mod said;
#[doc(hidden)]
pub mod value;

pub use call::{Answer, Call, Host};
pub use error::{Error, Result};
pub use said::{About, Param, Said};
pub use value::{Bytes, Json, Reply, Value};

use std::ffi::{c_void, CStr};
use std::os::raw::c_char;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr::null;

/// Codes of failures.
pub mod code {
    /// The caller can correct it; name the field.
    pub const INVALID_ARGUMENTS: i32 = 1;
    /// The tool could not do it.
    pub const FAILED: i32 = 2;
    /// A service refused it.
    pub const PERMISSION_DENIED: i32 = 3;
    /// A service did not answer in time.
    pub const TIMED_OUT: i32 = 4;
    /// The call was cancelled, and the tool ends because of that.
    pub const CANCELLED: i32 = 5;
    /// Something is larger than the tool takes.
    pub const LIMIT_EXCEEDED: i32 = 6;
    /// Nobody can be asked.
    pub const ABSENT: i32 = 7;
}

/// Severity of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// For who looks for a fault.
    Debug = 0,
    /// What happened.
    Info = 1,
    /// What somebody should look at.
    Warning = 2,
    /// What does not work.
    Error = 3,
}

/// A tool is off until an administrator enables it.
pub const DISABLED: u32 = 1 << 0;
/// A tool changes nothing.
pub const READ_ONLY: u32 = 1 << 1;
/// A tool may destroy existing data.
pub const DESTRUCTIVE: u32 = 1 << 2;
/// Repeating a call changes nothing more.
pub const IDEMPOTENT: u32 = 1 << 3;
/// A tool deals with things outside the machine.
pub const OPEN_WORLD: u32 = 1 << 4;
/// A caller waits for the call.
pub const TASK_NEVER: u32 = 1 << 5;
/// A caller does not wait for the call.
pub const TASK_ALWAYS: u32 = 1 << 6;

/// A tool runs when called.
pub const SAFE: u32 = 0;
/// A tool runs after a person agreed.
pub const CONFIRM: u32 = 1;
/// A tool runs after an administrator granted it.
pub const DANGEROUS: u32 = 2;

/// The tools may run on several threads at once.
pub const THREAD_SAFE: u32 = 1 << 0;
/// The plugin has own threads that outlive a call.
pub const STARTS_THREADS: u32 = 1 << 1;
/// It has resources: see [`resources`].
pub const PLUGIN_RESOURCES: u32 = 1 << 2;
/// It has prompts, by a function of its own for [`About::extensions`].
pub const PLUGIN_PROMPTS: u32 = 1 << 3;

/// A tool, which [`tool!`] or [`json_tool!`] makes.
pub trait Tool {
    /// The constant record.
    const RECORD: &'static abi::Tool;
}

#[doc(hidden)]
pub mod made {
    pub use crate::call::run;
    pub use crate::said::*;
    pub use crate::value::{plain, take_bytes, take_items, take_slice};
}

#[doc(hidden)]
/// # Safety
/// `raw` is the call of the host.
pub unsafe fn run_typed<T: Reply>(
    raw: *mut abi::Call,
    tool: impl FnOnce(&mut Call) -> T,
) -> T::Raw {
    match call::run(raw, |call| {
        let reply = tool(call);
        reply.reply(call)
    }) {
        Ok(reply) => reply,
        // The call has failed; what is returned is not looked at.
        Err(_) => std::mem::zeroed(),
    }
}

#[doc(hidden)]
/// # Safety
/// `raw` is the call of the host.
pub unsafe fn run_json(raw: *mut abi::Call, tool: impl FnOnce(&mut Call) -> Result<()>) -> i32 {
    match call::run(raw, tool) {
        Ok(()) => abi::OK,
        Err(code) => code,
    }
}

/// What happens when a plugin is opened, before the first call, and closed, after the last one.
pub trait Lifecycle {
    /// Read the settings; an error refuses to open.
    fn open(_host: &Host) -> Result<()> {
        Ok(())
    }
    /// Undo what open() did; the plugin may be opened again.
    fn close() {}
}

/// For `open = toolrack::open::<T>` in [`plugin!`].
///
/// # Safety
/// The host calls it.
pub unsafe extern "C" fn open<T: Lifecycle>(raw: *mut abi::Host) -> i32 {
    let host = Host::from_raw(raw);
    match catch_unwind(AssertUnwindSafe(|| T::open(&host))) {
        Ok(Ok(())) => abi::OK,
        Ok(Err(error)) => host.fail(&error),
        Err(panic) => host.fail(&call::panic_error(&*panic)),
    }
}

/// For `close = toolrack::close::<T>` in [`plugin!`].
///
/// # Safety
/// The host calls it.
pub unsafe extern "C" fn close<T: Lifecycle>() {
    let _ = catch_unwind(T::close);
}

/// Resources: what a person or a model reads by a URI. `toolrack/ext/resources.h` is the reference.
pub trait Resources {
    /// Reply the JSON `{"resources": [...]}`.
    fn list(call: &mut Call) -> Result<()>;
    /// Reply the resource of the argument `uri`, or nothing for one that is not the plugin's.
    fn read(call: &mut Call) -> Result<()>;
    /// Reply the JSON `{"resourceTemplates": [...]}`.
    fn templates(call: &mut Call) -> Result<()> {
        call.reply_json(r#"{"resourceTemplates": []}"#)
    }
}

unsafe extern "C" fn list_resources<T: Resources>(raw: *mut abi::Call) -> i32 {
    run_json(raw, T::list)
}
unsafe extern "C" fn read_resource<T: Resources>(raw: *mut abi::Call) -> i32 {
    run_json(raw, T::read)
}
unsafe extern "C" fn list_templates<T: Resources>(raw: *mut abi::Call) -> i32 {
    run_json(raw, T::templates)
}

struct ResourcesTable<T>(T);
impl<T: Resources> ResourcesTable<T> {
    const TABLE: &'static abi::Resources = &abi::Resources {
        size: std::mem::size_of::<abi::Resources>() as u32,
        reserved: 0,
        list: Some(list_resources::<T>),
        templates: Some(list_templates::<T>),
        read: Some(read_resource::<T>),
        subscribe: None,
        unsubscribe: None,
        complete: None,
    };
}

/// For `extensions = toolrack::resources::<T>` in [`plugin!`], beside the flag `PLUGIN_RESOURCES`.
///
/// # Safety
/// The host calls it.
pub unsafe extern "C" fn resources<T: Resources>(id: *const c_char) -> *const c_void {
    if CStr::from_ptr(id).to_bytes() == b"toolrack.resources/1" {
        ResourcesTable::<T>::TABLE as *const abi::Resources as *const c_void
    } else {
        null()
    }
}

/// A typed tool: a function, with what models read of it and of its parameters. The function may also
/// be called by others, such as tests. A first parameter `call: &mut Call` gets the call.
#[macro_export]
macro_rules! tool {
    ($(#[$key:ident = $value:expr])* $vis:vis fn $name:ident ($($params:tt)*) $body:block) => {
        $crate::tool! { $(#[$key = $value])* $vis fn $name($($params)*) -> () $body }
    };
    ($(#[$key:ident = $value:expr])* $vis:vis fn $name:ident ($call:ident: &mut Call $(, $($params:tt)*)?)
     -> $result:ty $body:block) => {
        $crate::tool_params! {
            [[$(#[$key = $value])*] [$vis] $name [$result] $body]
            [$call: &mut $crate::Call,] [call] [] [] [] $($($params)*)?
        }
    };
    ($(#[$key:ident = $value:expr])* $vis:vis fn $name:ident ($($params:tt)*) -> $result:ty $body:block) => {
        $crate::tool_params! {
            [[$(#[$key = $value])*] [$vis] $name [$result] $body] [] [] [] [] [] $($params)*
        }
    };
}

// Takes one parameter after the other: what is fixed, the parameters in Rust, the call where it is
// wanted, the parameters in C, the arguments made of these, what is said of them; and the rest.
#[doc(hidden)]
#[macro_export]
macro_rules! tool_params {
    ($fixed:tt [$($rust:tt)*] $call:tt [$($c:tt)*] [$($taken:tt)*] [$($said:tt)*]
     $(#[$key:ident = $value:expr])* $name:ident: Vec<$type:ty> $(, $($rest:tt)*)?) => {
        $crate::tool_params! {
            $fixed [$($rust)* $name: Vec<$type>,] $call
            [$($c)* $name: *const <$type as $crate::Value>::Raw, count: usize,]
            [$($taken)* [$crate::made::take_items::<$type>($name, count as u64).unwrap_or_default()]]
            [$($said)* [$name [Vec<$type>] $(#[$key = $value])*]] $($($rest)*)?
        }
    };
    ($fixed:tt [$($rust:tt)*] $call:tt [$($c:tt)*] [$($taken:tt)*] [$($said:tt)*]
     $(#[$key:ident = $value:expr])* $name:ident: Option<Vec<$type:ty>> $(, $($rest:tt)*)?) => {
        $crate::tool_params! {
            $fixed [$($rust)* $name: Option<Vec<$type>>,] $call
            [$($c)* $name: *const <$type as $crate::Value>::Raw, count: usize,]
            [$($taken)* [$crate::made::take_items::<$type>($name, count as u64)]]
            [$($said)* [$name [Option<Vec<$type>>] $(#[$key = $value])*]] $($($rest)*)?
        }
    };
    ($fixed:tt [$($rust:tt)*] $call:tt [$($c:tt)*] [$($taken:tt)*] [$($said:tt)*]
     $(#[$key:ident = $value:expr])* $name:ident: &[$type:ty] $(, $($rest:tt)*)?) => {
        $crate::tool_params! {
            $fixed [$($rust)* $name: &[$type],] $call
            [$($c)* $name: *const $type, count: usize,]
            [$($taken)* [$crate::made::take_slice::<$type>($name, count as u64)]]
            [$($said)* [$name [Vec<$type>] $(#[$key = $value])*]] $($($rest)*)?
        }
    };
    ($fixed:tt [$($rust:tt)*] $call:tt [$($c:tt)*] [$($taken:tt)*] [$($said:tt)*]
     $(#[$key:ident = $value:expr])* $name:ident: Bytes $(, $($rest:tt)*)?) => {
        $crate::tool_params! {
            $fixed [$($rust)* $name: $crate::Bytes,] $call [$($c)* $name: *const u8, size: usize,]
            [$($taken)* [$crate::made::take_bytes($name, size as u64).unwrap_or_default()]]
            [$($said)* [$name [$crate::Bytes] $(#[$key = $value])*]] $($($rest)*)?
        }
    };
    ($fixed:tt [$($rust:tt)*] $call:tt [$($c:tt)*] [$($taken:tt)*] [$($said:tt)*]
     $(#[$key:ident = $value:expr])* $name:ident: Option<Bytes> $(, $($rest:tt)*)?) => {
        $crate::tool_params! {
            $fixed [$($rust)* $name: Option<$crate::Bytes>,] $call
            [$($c)* $name: *const u8, size: usize,]
            [$($taken)* [$crate::made::take_bytes($name, size as u64)]]
            [$($said)* [$name [Option<$crate::Bytes>] $(#[$key = $value])*]] $($($rest)*)?
        }
    };
    ($fixed:tt [$($rust:tt)*] $call:tt [$($c:tt)*] [$($taken:tt)*] [$($said:tt)*]
     $(#[$key:ident = $value:expr])* $name:ident: $type:ty $(, $($rest:tt)*)?) => {
        $crate::tool_params! {
            $fixed [$($rust)* $name: $type,] $call
            [$($c)* $name: <$type as $crate::Value>::Raw,]
            [$($taken)* [<$type as $crate::Value>::take($name)]]
            [$($said)* [$name [$type] $(#[$key = $value])*]] $($($rest)*)?
        }
    };
    ([[$(#[$key:ident = $value:expr])*] [$vis:vis] $name:ident [$result:ty] $body:block]
     [$($rust:tt)*] [$($call:ident)?] [$($c:tt)*] [$([$($taken:tt)*])*]
     [$([$param:ident [$type:ty] $(#[$param_key:ident = $param_value:expr])*])*]) => {
        $vis fn $name($($rust)*) -> $result $body

        #[allow(non_camel_case_types)]
        $vis enum $name {}

        #[allow(unused_imports)]
        impl $crate::Tool for $name {
            const RECORD: &'static $crate::abi::Tool = {
                const SAID: $crate::Said = $crate::Said::new(stringify!($name))$(.$key($value))*;
                const CALL: &$crate::abi::Type = &$crate::made::plain($crate::abi::KIND_CALL, 0);
                const PARAMS: &[$crate::Param] = &[
                    $crate::Param::new("call", CALL),
                    $($crate::Param::new(stringify!($param), &<$type as $crate::Value>::TYPE)
                        $(.$param_key($param_value))*,)*
                ];
                const COUNT: usize = PARAMS.len();
                const LENGTH: usize = $crate::made::tool_length(&SAID, PARAMS);
                const TEXTS: &[u8; LENGTH] = &$crate::made::tool_texts(&SAID, PARAMS);
                const RECORDS: &[$crate::abi::Param; COUNT] =
                    &$crate::made::params(PARAMS, TEXTS, $crate::made::tool_own_length(&SAID));
                const EXAMPLES: &[$crate::abi::Example; $crate::made::example_count(&SAID)] =
                    &$crate::made::examples(&SAID, TEXTS);
                unsafe extern "C" fn entry(
                    raw: *mut $crate::abi::Call, $($c)*
                ) -> <$result as $crate::Reply>::Raw {
                    $crate::run_typed(raw, |_call| {
                        $crate::tool_call!($name _call [$($call)?] $([$($taken)*])*)
                    })
                }
                const ENTRY: *const () = entry as *const ();
                // The host calls it by the types in its record, which are those of the function.
                &$crate::made::tool(&SAID, TEXTS, EXAMPLES, $crate::made::Entry::Typed(
                    unsafe { std::mem::transmute::<*const (), unsafe extern "C" fn()>(ENTRY) },
                    &<$result as $crate::Reply>::TYPE,
                    RECORDS,
                ))
            };
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! tool_call {
    ($name:ident $call:ident [] $([$($taken:tt)*])*) => { $name($($($taken)*),*) };
    ($name:ident $call:ident [$is_wanted:ident] $([$($taken:tt)*])*) => {
        $name($call, $($($taken)*),*)
    };
}

/// A JSON tool, which states the JSON Schema of its arguments, `#[schema = "..."]`, reads them by
/// path and may reply several times.
#[macro_export]
macro_rules! json_tool {
    ($(#[$key:ident = $value:expr])* $vis:vis fn $name:ident ($call:ident: &mut Call) -> $result:ty $body:block) => {
        $vis fn $name($call: &mut $crate::Call) -> $result $body

        #[allow(non_camel_case_types)]
        $vis enum $name {}

        impl $crate::Tool for $name {
            const RECORD: &'static $crate::abi::Tool = {
                const SAID: $crate::Said = $crate::Said::new(stringify!($name))$(.$key($value))*;
                const LENGTH: usize = $crate::made::tool_length(&SAID, &[]);
                const TEXTS: &[u8; LENGTH] = &$crate::made::tool_texts(&SAID, &[]);
                const EXAMPLES: &[$crate::abi::Example; $crate::made::example_count(&SAID)] =
                    &$crate::made::examples(&SAID, TEXTS);
                unsafe extern "C" fn entry(raw: *mut $crate::abi::Call) -> i32 {
                    $crate::run_json(raw, $name)
                }
                &$crate::made::tool(&SAID, TEXTS, EXAMPLES, $crate::made::Entry::Json(entry))
            };
        }
    };
}

/// The plugin: its id, its version, its tools, and options, which are the functions of [`About`].
/// Used once in a plugin.
#[macro_export]
macro_rules! plugin {
    ($id:expr, $version:expr, [$($tool:ident),+ $(,)?] $(, $key:ident = $value:expr)* $(,)?) => {
        #[doc(hidden)]
        #[no_mangle]
        #[allow(non_upper_case_globals)]
        pub static toolrack_plugin: $crate::abi::Constant<$crate::abi::Plugin> = {
            const ABOUT: $crate::About = $crate::About::new($id, $version)$(.$key($value))*;
            const LENGTH: usize = $crate::made::plugin_length(&ABOUT);
            const TEXTS: &[u8; LENGTH] = &$crate::made::plugin_texts(&ABOUT);
            const COUNT: usize = $crate::made::capability_count(&ABOUT);
            const CAPABILITIES: &[$crate::abi::Capability; COUNT] =
                &$crate::made::capabilities(&ABOUT, TEXTS);
            const TOOLS: &[*const $crate::abi::Tool] =
                &[$(<$tool as $crate::Tool>::RECORD as *const $crate::abi::Tool),+];
            $crate::abi::Constant($crate::made::plugin(&ABOUT, TEXTS, CAPABILITIES, TOOLS))
        };
    };
}

/// A struct that is an object in JSON: each field has what a parameter has.
#[macro_export]
macro_rules! object {
    ($(#[$($about:tt)*])* $vis:vis struct $name:ident {
        $($(#[$key:ident = $value:expr])* $field_vis:vis $field:ident: $type:ty),+ $(,)?
    }) => {
        #[derive(Clone, Debug, PartialEq)]
        $(#[$($about)*])*
        $vis struct $name { $($field_vis $field: $type),+ }

        const _: () = {
            #[repr(C)]
            #[derive(Clone, Copy)]
            pub struct Raw { $($field: <$type as $crate::Value>::Raw),+ }

            const SIZES: &[(usize, usize)] = &[$((
                std::mem::size_of::<<$type as $crate::Value>::Raw>(),
                std::mem::align_of::<<$type as $crate::Value>::Raw>(),
            )),+];
            const SAID: &[$crate::Param] = &[
                $($crate::Param::new(stringify!($field), &<$type as $crate::Value>::TYPE)
                    $(.$key($value))*),+
            ];
            const COUNT: usize = SAID.len();
            const PLACED: [$crate::Param; COUNT] = {
                let mut placed = [SAID[0]; COUNT];
                let mut i = 0;
                while i < COUNT {
                    placed[i] = SAID[i].at($crate::made::offset(SIZES, i));
                    i += 1;
                }
                placed
            };
            const TEXTS: &[u8; $crate::made::params_length(&PLACED)] =
                &$crate::made::params_texts(&PLACED);
            const FIELDS: &[$crate::abi::Param; COUNT] = &$crate::made::params(&PLACED, TEXTS, 0);

            impl $crate::Value for $name {
                type Raw = Raw;
                type RawOption = *const Raw;
                const TYPE: $crate::abi::Type = $crate::abi::Type {
                    fields: FIELDS.as_ptr(),
                    field_count: COUNT as u32,
                    field_size: std::mem::size_of::<$crate::abi::Param>() as u32,
                    ..$crate::made::plain($crate::abi::KIND_STRUCT, std::mem::size_of::<Raw>())
                };
                unsafe fn take(raw: Raw) -> Self {
                    $name { $($field: $crate::Value::take(raw.$field)),+ }
                }
                unsafe fn take_option(raw: *const Raw) -> Option<Self> {
                    if raw.is_null() { None } else { Some(Self::take(*raw)) }
                }
                fn give(self, call: &$crate::Call) -> $crate::Result<Raw> {
                    Ok(Raw { $($field: $crate::Value::give(self.$field, call)?),+ })
                }
                fn give_option(value: Option<Self>, call: &$crate::Call) -> $crate::Result<*const Raw> {
                    match value {
                        Some(value) => $crate::value::keep(call, value.give(call)?),
                        None => Ok(std::ptr::null()),
                    }
                }
            }
        };
    };
}

/// An enumeration that is a string in JSON: each variant with its name there.
#[macro_export]
macro_rules! choices {
    ($(#[$($about:tt)*])* $vis:vis enum $name:ident {
        $($(#[$($about_variant:tt)*])* $variant:ident = $text:expr),+ $(,)?
    }) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $(#[$($about)*])*
        $vis enum $name { $($(#[$($about_variant)*])* $variant),+ }

        const _: () = {
            const NAMES: &[&str] = &[$($text),+];
            const COUNT: usize = NAMES.len();
            const TEXTS: &[u8; $crate::made::choices_length(NAMES)] =
                &$crate::made::choices_texts(NAMES);
            const CHOICES: &[$crate::abi::Choice; COUNT] = &$crate::made::choices(NAMES, TEXTS);

            impl $crate::Value for $name {
                type Raw = i32;
                type RawOption = *const i32;
                const TYPE: $crate::abi::Type = $crate::abi::Type {
                    choices: CHOICES.as_ptr(),
                    choice_count: COUNT as u32,
                    choice_size: std::mem::size_of::<$crate::abi::Choice>() as u32,
                    ..$crate::made::plain($crate::abi::KIND_ENUM, std::mem::size_of::<i32>())
                };
                unsafe fn take(raw: i32) -> Self {
                    // The host passes only values of the table.
                    [$($name::$variant),+][raw as usize]
                }
                unsafe fn take_option(raw: *const i32) -> Option<Self> {
                    if raw.is_null() { None } else { Some(Self::take(*raw)) }
                }
                fn give(self, _: &$crate::Call) -> $crate::Result<i32> {
                    Ok(self as i32)
                }
                fn give_option(value: Option<Self>, call: &$crate::Call) -> $crate::Result<*const i32> {
                    match value {
                        Some(value) => $crate::value::keep(call, value.give(call)?),
                        None => Ok(std::ptr::null()),
                    }
                }
            }
        };
    };
}
