//! What a tool may do while it runs.

use crate::{abi, code, Error, Level, Result};
use std::any::Any;
use std::ffi::{c_void, CStr, CString};
use std::mem::size_of;
use std::os::raw::c_char;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr::null;
use std::time::Duration;

pub(crate) fn no_memory() -> Error {
    Error::new(
        code::LIMIT_EXCEEDED,
        "the result takes more memory than a call may use",
    )
}

/// A text with a zero behind it. What is behind a zero of its own, C would not see.
pub(crate) fn c_text(text: &str) -> CString {
    let seen = text.split('\0').next().unwrap_or("");
    CString::new(seen).unwrap_or_default()
}

/// A person's answer to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A JSON object with what was filled in.
    Accepted(String),
    /// The person said no.
    Declined,
    /// The question was closed, or the call was cancelled: return at once.
    Dismissed,
    /// Nobody can be asked.
    Nobody,
}

/// One call in progress. It may be used only on the thread that runs the tool, and until that
/// returns.
pub struct Call {
    raw: *mut abi::Call,
}

/// An argument that is read by its path: see [`Call::get`].
pub trait Argument<'a>: Sized {
    /// Read it. `None`: it is absent, null or of another type.
    fn get(call: &'a Call, path: &CStr) -> Option<Self>;
}

macro_rules! arguments {
    ($($type:ty: $function:ident, $empty:expr);*) => {$(
        impl<'a> Argument<'a> for $type {
            fn get(call: &'a Call, path: &CStr) -> Option<Self> {
                let mut value = $empty;
                let status = unsafe { ((*call.api()).$function)(call.raw, path.as_ptr(), &mut value) };
                if status == abi::OK { Some(value) } else { None }
            }
        }
    )*};
}
arguments!(bool: get_bool, false; i64: get_i64, 0; u64: get_u64, 0; f64: get_f64, 0.0);

impl<'a> Argument<'a> for &'a str {
    fn get(call: &'a Call, path: &CStr) -> Option<Self> {
        let (mut text, mut length) = (null(), 0);
        let status =
            unsafe { ((*call.api()).get_string)(call.raw, path.as_ptr(), &mut text, &mut length) };
        call.text_of(status, text, length)
    }
}

impl<'a> Argument<'a> for &'a [u8] {
    fn get(call: &'a Call, path: &CStr) -> Option<Self> {
        let mut bytes = abi::Bytes {
            data: null(),
            size: 0,
        };
        let status = unsafe { ((*call.api()).get_bytes)(call.raw, path.as_ptr(), &mut bytes) };
        match (status, bytes.data.is_null()) {
            (abi::OK, false) => {
                Some(unsafe { std::slice::from_raw_parts(bytes.data, bytes.size as usize) })
            }
            (abi::OK, true) => Some(&[]),
            _ => None,
        }
    }
}

impl Call {
    /// # Safety
    /// `raw` is a call of the host that lives as long as this.
    pub unsafe fn from_raw(raw: *mut abi::Call) -> Call {
        Call { raw }
    }
    /// The call as C has it.
    pub fn as_raw(&self) -> *mut abi::Call {
        self.raw
    }
    fn api(&self) -> *const abi::CallApi {
        unsafe { (*self.raw).api }
    }
    fn text_of(&self, status: i32, text: *const c_char, length: u64) -> Option<&str> {
        if status != abi::OK || text.is_null() {
            return None;
        }
        let bytes = unsafe { std::slice::from_raw_parts(text as *const u8, length as usize) };
        std::str::from_utf8(bytes).ok()
    }
    /// A function of the host that fails has failed the call, with a message of its own.
    fn check(&self, status: i32) -> Result<()> {
        if status == abi::OK {
            Ok(())
        } else {
            Err(Error::told(status))
        }
    }

    /// All arguments as one JSON object.
    pub fn arguments(&self) -> &str {
        let mut length = 0;
        let text = unsafe { ((*self.api()).arguments)(self.raw, &mut length) };
        self.text_of(abi::OK, text, length).unwrap_or("{}")
    }
    /// The argument at a path, a key (`"limit"`) or a JSON Pointer (`"filter/0/name"`): a `bool`,
    /// `i64`, `u64`, `f64`, `&str` or, from base64, `&[u8]`.
    pub fn get<'a, T: Argument<'a>>(&'a self, path: &str) -> Option<T> {
        T::get(self, &c_text(path))
    }
    /// The text of any JSON value at a path.
    pub fn get_json(&self, path: &str) -> Option<&str> {
        let path = c_text(path);
        let (mut text, mut length) = (null(), 0);
        let status =
            unsafe { ((*self.api()).get_json)(self.raw, path.as_ptr(), &mut text, &mut length) };
        self.text_of(status, text, length)
    }
    /// Items of an array or members of an object; 0 for anything else.
    pub fn count(&self, path: &str) -> u64 {
        unsafe { ((*self.api()).count)(self.raw, c_text(path).as_ptr()) }
    }

    /// Reply with a text. Replies are of JSON tools; a typed tool's is what it returns.
    pub fn reply_text(&self, text: &str) -> Result<()> {
        let text_at = text.as_ptr() as *const c_char;
        self.check(unsafe { ((*self.api()).reply_text)(self.raw, text_at, text.len() as u64) })
    }
    /// Reply with one JSON value, the structured result; at most once a call.
    pub fn reply_json(&self, json: &str) -> Result<()> {
        let json_at = json.as_ptr() as *const c_char;
        self.check(unsafe { ((*self.api()).reply_json)(self.raw, json_at, json.len() as u64) })
    }
    /// Reply with an image.
    pub fn reply_image(&self, data: &[u8], mime_type: &str) -> Result<()> {
        let mime_type = c_text(mime_type);
        self.check(unsafe {
            ((*self.api()).reply_image)(
                self.raw,
                data.as_ptr() as *const c_void,
                data.len() as u64,
                mime_type.as_ptr(),
            )
        })
    }
    /// Reply with a sound.
    pub fn reply_audio(&self, data: &[u8], mime_type: &str) -> Result<()> {
        let mime_type = c_text(mime_type);
        self.check(unsafe {
            ((*self.api()).reply_audio)(
                self.raw,
                data.as_ptr() as *const c_void,
                data.len() as u64,
                mime_type.as_ptr(),
            )
        })
    }
    /// Reply with a resource that is a text.
    pub fn reply_resource(&self, uri: &str, mime_type: &str, text: &str) -> Result<()> {
        let (uri, mime_type, text) = (c_text(uri), c_text(mime_type), c_text(text));
        self.check(unsafe {
            ((*self.api()).reply_resource)(
                self.raw,
                uri.as_ptr(),
                mime_type.as_ptr(),
                text.as_ptr(),
                null(),
                0,
            )
        })
    }

    /// Report progress: `done` of `total` (0: unknown); `done` only grows.
    pub fn progress(&self, done: f64, total: f64) {
        unsafe { ((*self.api()).progress)(self.raw, done, total, null()) }
    }
    /// One line for the operator.
    pub fn log(&self, level: Level, line: &str) {
        unsafe { ((*self.api()).log)(self.raw, level as i32, c_text(line).as_ptr()) }
    }
    /// Whether the call was cancelled or its deadline has passed; look at it at least every 100 ms.
    pub fn cancelled(&self) -> bool {
        unsafe { ((*self.api()).cancelled)(self.raw) }
    }
    /// The time until the deadline; `None` without one.
    pub fn time_left(&self) -> Option<Duration> {
        match unsafe { ((*self.api()).time_left_ms)(self.raw) } {
            u64::MAX => None,
            left => Some(Duration::from_millis(left)),
        }
    }
    /// Ask the person for whom the call is made, and wait for the answer: `tr_ask()` of plugin.h
    /// says when the tool is run twice. `schema` is the JSON Schema of a flat object.
    pub fn ask(&self, message: &str, schema: &str) -> Result<Answer> {
        let end = size_of::<abi::CallApi>() - 5 * size_of::<*const c_void>();
        let ask = match unsafe { (*self.api()).size } {
            size if size < end as u64 => None,
            _ => unsafe { (*self.api()).ask },
        };
        let (message, schema) = (c_text(message), c_text(schema));
        let mut content = null();
        let status = match ask {
            Some(ask) => unsafe { ask(self.raw, message.as_ptr(), schema.as_ptr(), &mut content) },
            None => code::ABSENT,
        };
        match status {
            abi::OK if content.is_null() => Ok(Answer::Accepted("{}".into())),
            abi::OK => Ok(Answer::Accepted(
                unsafe { CStr::from_ptr(content) }.to_string_lossy().into(),
            )),
            code::PERMISSION_DENIED => Ok(Answer::Declined),
            code::CANCELLED => Ok(Answer::Dismissed),
            code::ABSENT => Ok(Answer::Nobody),
            failed => Err(Error::told(failed)),
        }
    }

    pub(crate) fn alloc(&self, size: usize) -> Result<*mut c_void> {
        let memory = unsafe { ((*self.api()).alloc)(self.raw, size as u64) };
        if memory.is_null() {
            Err(no_memory())
        } else {
            Ok(memory)
        }
    }
    fn fail(&self, error: &Error) -> i32 {
        if error.is_told() {
            return error.code();
        }
        let (field, message) = (error.field().map(c_text), c_text(error.message()));
        let field_at = field.as_ref().map_or(null(), |field| field.as_ptr());
        unsafe { ((*self.api()).fail)(self.raw, error.code(), field_at, message.as_ptr()) }
    }
}

pub(crate) fn panic_error(panic: &(dyn Any + Send)) -> Error {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    Error::failed(format!(
        "the tool panicked: {}",
        text.unwrap_or("without a message")
    ))
}

/// Run a tool; no panic leaves it. `Err` is what the call has failed with.
///
/// # Safety
/// `raw` is the call of the host.
pub unsafe fn run<T>(
    raw: *mut abi::Call,
    tool: impl FnOnce(&mut Call) -> Result<T>,
) -> std::result::Result<T, i32> {
    let mut call = Call::from_raw(raw);
    let done = catch_unwind(AssertUnwindSafe(|| tool(&mut call)));
    match done {
        Ok(Ok(reply)) => Ok(reply),
        Ok(Err(error)) => Err(call.fail(&error)),
        Err(panic) => Err(call.fail(&panic_error(&*panic))),
    }
}

/// The host's side of a plugin while it opens.
pub struct Host {
    raw: *mut abi::Host,
}

impl Host {
    /// # Safety
    /// `raw` is what open() got, and lives as long as this.
    pub unsafe fn from_raw(raw: *mut abi::Host) -> Host {
        Host { raw }
    }
    /// The host as C has it.
    pub fn as_raw(&self) -> *mut abi::Host {
        self.raw
    }
    /// A setting of this plugin, by path: a string unchanged, any other value as JSON.
    pub fn config(&self, path: &str) -> Option<String> {
        let mut text = null();
        let status =
            unsafe { ((*(*self.raw).api).config)(self.raw, c_text(path).as_ptr(), &mut text) };
        if status != abi::OK || text.is_null() {
            return None;
        }
        Some(unsafe { CStr::from_ptr(text) }.to_string_lossy().into())
    }
    /// One line for the operator.
    pub fn log(&self, level: Level, line: &str) {
        unsafe { ((*(*self.raw).api).log)(self.raw, level as i32, c_text(line).as_ptr()) }
    }
    pub(crate) fn fail(&self, error: &Error) -> i32 {
        let message = c_text(error.message());
        unsafe { ((*(*self.raw).api).fail)(self.raw, message.as_ptr()) }
    }
}
