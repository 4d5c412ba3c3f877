use crate::code;

/// Why a tool fails its call, as `tr_fail()` in C. Any other error becomes one with `?`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    code: i32,
    field: Option<String>,
    message: String,
    is_told: bool,
}

/// The result of a tool that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// The tool could not do it.
    pub fn failed(message: impl Into<String>) -> Self {
        Error::new(code::FAILED, message)
    }
    /// The caller can correct it; `field` is the path of the argument at fault.
    pub fn invalid(field: impl Into<String>, message: impl Into<String>) -> Self {
        Error {
            field: Some(field.into()),
            ..Error::new(code::INVALID_ARGUMENTS, message)
        }
    }
    /// With one of the codes of [`code`].
    pub fn new(code: i32, message: impl Into<String>) -> Self {
        Error {
            code,
            field: None,
            message: message.into(),
            is_told: false,
        }
    }
    /// The host knows it already, in words of its own.
    pub(crate) fn told(code: i32) -> Self {
        Error {
            is_told: true,
            ..Error::new(code, "the host refused it and says why")
        }
    }
    pub(crate) fn is_told(&self) -> bool {
        self.is_told
    }
    /// One of the codes of [`code`].
    pub fn code(&self) -> i32 {
        self.code
    }
    /// The path of the argument at fault.
    pub fn field(&self) -> Option<&str> {
        self.field.as_deref()
    }
    /// What is wrong and what to do instead.
    pub fn message(&self) -> &str {
        &self.message
    }
}

/// Not for `Error` itself, which is therefore no `std::error::Error`.
impl<E: std::error::Error> From<E> for Error {
    fn from(error: E) -> Self {
        Error::failed(error.to_string())
    }
}
