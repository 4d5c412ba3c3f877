//! A plugin in Rust, with the crate of plugin-sdk/rust/, built as most are: with `panic=abort`, which a
//! tool that never panics may be.
use toolrack::*;

tool! {
    /// Add two numbers
    #[flags = READ_ONLY | IDEMPOTENT]
    fn rust_add(
        /// first addend
        a: f64,
        /// second addend
        b: f64,
    ) -> f64 {
        a + b
    }
}

json_tool! {
    /// Greet somebody by name
    #[flags = READ_ONLY | IDEMPOTENT]
    #[schema = r#"{"type": "object", "properties": {"name": {"type": "string"}}}"#]
    fn rust_greet(call: &mut Call) -> Result<()> {
        let name = call.get("name").unwrap_or("world");
        call.reply_text(&format!("Hello, {name}!"))
    }
}

plugin!(
    "test.rust",
    "1.0.0",
    [rust_add, rust_greet],
    description = "A plugin written in Rust",
    flags = THREAD_SAFE,
);
