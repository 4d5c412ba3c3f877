//! hello - one line on what the plugin is for.
use toolrack::*;

// @if typed@
// A typed tool: the types are those of the function, and what models read are the comments.
tool! {
    /// Length of the longest side of a right triangle, in the unit of the other two.
    #[category = "math"]
    #[flags = READ_ONLY | IDEMPOTENT]
    #[example = (r#"{"a": 3, "b": 4}"#, "5")]
    fn hello_hypotenuse(
        /// Length of one short side
        #[exclusive_minimum = "0"]
        #[maximum = "1e9"]
        a: f64,
        /// Length of the other short side
        #[exclusive_minimum = "0"]
        #[maximum = "1e9"]
        b: f64,
    ) -> f64 {
        (a * a + b * b).sqrt()
    }
}
// @end@
// @if json@
fn greeting(name: &str) -> Result<String> {
    if name.is_empty() {
        return Err(Error::invalid("name", "must not be empty"));
    }
    Ok(format!("Hello, {name}!"))
}

// A JSON tool: brings its schema, reads arguments by path, and may reply several times.
json_tool! {
    /// Greet somebody by name.
    #[flags = READ_ONLY | IDEMPOTENT]
    #[example = (r#"{"name": "Ada"}"#, r#""Hello, Ada!""#)]
    #[schema = r#"{
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "Whom to greet", "default": "world"}
        },
        "additionalProperties": false
    }"#]
    fn hello_greet(call: &mut Call) -> Result<()> {
        let text = greeting(call.get("name").unwrap_or("world"))?;
        call.reply_text(&text)
    }
}
// @end@
// @if resources@

// Resources: what a person or a model reads by a URI.
struct Offered;

impl Resources for Offered {
    fn list(call: &mut Call) -> Result<()> {
        call.reply_json(
            r#"{"resources": [
                {"uri": "notes://hello/about", "name": "about", "mimeType": "text/plain"}
            ]}"#,
        )
    }
    fn read(call: &mut Call) -> Result<()> {
        match call.get("uri") {
            Some(uri @ "notes://hello/about") => {
                call.reply_resource(uri, "text/plain", "What the plugin is for.")
            }
            _ => Ok(()), // not ours: reply nothing
        }
    }
}
// @end@

plugin!(
    "hello",
    "0.1.0",
    // @if typed@
    [hello_hypotenuse],
    // @else@
    [hello_greet],
    // @end@
    description = "One line on what the plugin is for",
    license = "MIT",
    // @if resources@
    extensions = resources::<Offered>,
    flags = THREAD_SAFE | PLUGIN_RESOURCES,
    // @else@
    flags = THREAD_SAFE,
    // @end@
);

#[cfg(test)]
mod tests {
    use super::*;

    // @if typed@
    #[test]
    fn three_four_five() {
        assert_eq!(hello_hypotenuse(3.0, 4.0), 5.0);
    }
    // @end@
    // @if json@
    #[test]
    fn a_name_is_greeted() {
        assert_eq!(greeting("Ada").unwrap(), "Hello, Ada!");
    }

    #[test]
    fn an_empty_name_is_refused() {
        assert_eq!(greeting("").unwrap_err().field(), Some("name"));
    }
    // @end@
}
