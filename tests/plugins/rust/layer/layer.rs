//! Everything that the crate of plugin-sdk/rust/ makes of Rust, as its cases call it.
use toolrack::*;

object! {
    /// A place.
    pub struct Place {
        /// Its name
        #[min_length = 1]
        pub name: String,
        /// Degrees north
        #[minimum = "-90"]
        #[maximum = "90"]
        pub latitude: f64,
        /// Whether it is a city
        pub is_city: bool,
        /// How many people live there
        pub people: Option<u64>,
        /// What else it is called
        pub names: Vec<String>,
    }
}

choices! {
    /// A unit of length.
    pub enum Unit {
        Kilometre = "km",
        /// Of 1,609.344 metres.
        Mile = "mi",
    }
}

const LARGEST: &str = "[1, 2, 300]";

tool! {
    /// Tell the place
    /// that is farthest north.
    ///
    /// Nothing for no places.
    #[title = "North"]
    #[category = "maps"]
    #[tags = "place,north"]
    #[purpose = "find a place"]
    #[deadline_ms = 2000]
    #[flags = READ_ONLY | IDEMPOTENT]
    #[result = "the place, or null"]
    #[example = (r#"{"places": []}"#, "null")]
    #[example = (r#"{"places": [{"name": "Oslo", "latitude": 59.9, "is_city": true, "names": []}]}"#, "")]
    pub fn layer_northernmost(
        /// Where to look
        #[max_items = 100]
        places: Vec<Place>,
    ) -> Option<Place> {
        places.into_iter().max_by(|a, b| a.latitude.total_cmp(&b.latitude))
    }
}

tool! {
    /// Show what arrives of each kind.
    #[example = (r#"{"place": {"name": "x", "latitude": 0, "is_city": false, "names": []}, "unit": "km", "numbers": [], "data": "", "text": "", "json": 1}"#, "")]
    fn layer_show(
        call: &mut Call,
        /// one
        place: Place,
        /// one of two
        unit: Unit,
        /// whole numbers
        numbers: &[i16],
        /// bytes
        data: Bytes,
        /// a text
        text: &str,
        /// any value
        json: Json,
        /// small numbers
        #[default = "7"]
        #[choices = "[6, 7]"]
        small: u8,
        /// bytes, or nothing
        more_data: Option<Bytes>,
        /// a text, or nothing
        more_text: Option<String>,
        /// a number, or nothing
        more_number: Option<i8>,
        /// texts, or nothing
        #[unique_items = true]
        more_texts: Option<Vec<String>>,
        /// a unit, or nothing
        more_unit: Option<Unit>,
        /// a place, or nothing
        more_place: Option<Place>,
    ) -> Vec<String> {
        call.log(Level::Info, "it arrived");
        call.progress(1.0, 1.0);
        vec![
            format!("{place:?}"),
            format!("{unit:?} {numbers:?} {:?} {text:?} {:?} {small}", data.0, json.0),
            format!("{more_data:?} {more_text:?} {more_number:?} {more_texts:?} {more_unit:?} {more_place:?}"),
        ]
    }
}

tool! {
    /// Give back numbers with gaps.
    #[example = (r#"{"numbers": [1, 1.5]}"#, r#"[1, null]"#)]
    fn layer_gaps(
        /// numbers
        numbers: &[f64],
    ) -> Vec<Option<f64>> {
        numbers.iter().map(|number| if number.fract() == 0.0 { Some(*number) } else { None }).collect()
    }
}

tool! {
    /// Give bytes.
    #[example = (r#"{"count": 1}"#, r#""QQ==""#)]
    fn layer_bytes(
        /// how many
        count: u32,
    ) -> Bytes {
        vec![b'A'; count as usize].into()
    }
}

tool! {
    /// Convert a unit.
    #[example = (r#"{"unit": "km"}"#, r#""mi""#)]
    fn layer_other_unit(
        /// which
        unit: Unit,
    ) -> Unit {
        if unit == Unit::Mile { Unit::Kilometre } else { Unit::Mile }
    }
}

tool! {
    /// Fail in one of many ways.
    #[example = (r#"{"how": "not"}"#, r#"{"fine": true}"#)]
    fn layer_fail(
        /// which way
        how: &str,
        /// a number
        #[choices = LARGEST]
        #[default = "1"]
        number: u32,
    ) -> Result<Json> {
        match how {
            "field" => Err(Error::invalid("how", "must be another way")),
            "failed" => Err(Error::failed("it is broken")),
            "limit" => Err(Error::new(code::LIMIT_EXCEEDED, "too much")),
            "io" => Ok(Json(std::fs::read_to_string("/nowhere/at/all")?)),
            "number" => Ok(Json(u8::try_from(number)?.to_string())),
            "panic" => panic!("no {how} today"),
            "bounds" => Ok(Json([0; 2][number as usize + how.len()].to_string())),
            "zero" => Ok(Json("\"a\0b\"".into())),
            "not-json" => Ok(Json("{".into())),
            _ => Ok(Json(r#"{"fine": true}"#.into())),
        }
    }
}

tool! {
    /// Do nothing.
    #[example = (r#"{}"#, r#"null"#)]
    fn layer_nothing() {}
}

json_tool! {
    /// Show what arrives by its path.
    #[schema = r#"{"type": "object", "properties": {
        "flag": {"type": "boolean", "description": "a flag"},
        "list": {"type": "array", "description": "a list", "items": {"type": "integer"}},
        "object": {"type": "object", "description": "an object"},
        "text": {"type": "string", "description": "a text"}}}"#]
    #[example = (r#"{}"#, "")]
    fn layer_paths(call: &mut Call) -> Result<()> {
        let flag: Option<bool> = call.get("flag");
        let second: Option<i64> = call.get("list/1");
        let text: Option<&str> = call.get("text");
        let bytes: Option<&[u8]> = call.get("text");
        let json = call.get_json("object");
        let missing: Option<u64> = call.get("missing");
        let wrong: Option<f64> = call.get("flag");
        let count = call.count("list");
        let has_time = call.time_left().is_some();
        call.reply_text(&format!("{flag:?} {second:?} {text:?} {bytes:?} {json:?} {missing:?} {wrong:?} {count} {has_time}"))?;
        let reply = if text == Some("wrong") { "{" } else { call.arguments() };
        call.reply_json(reply)
    }
}

json_tool! {
    /// Ask somebody.
    #[schema = r#"{"type": "object"}"#]
    #[example = (r#"{}"#, "")]
    fn layer_ask(call: &mut Call) -> Result<()> {
        match call.ask("Is it right?", r#"{"type": "object", "properties": {}}"#)? {
            Answer::Accepted(answer) => call.reply_text(&answer),
            Answer::Declined => call.reply_text("declined"),
            Answer::Dismissed => call.reply_text("dismissed"),
            Answer::Nobody => call.reply_text("nobody"),
        }
    }
}

struct Layer;

static GREETING: std::sync::Mutex<String> = std::sync::Mutex::new(String::new());

impl Lifecycle for Layer {
    fn open(host: &Host) -> Result<()> {
        let greeting = host.config("greeting").unwrap_or_else(|| "hello".into());
        if greeting.is_empty() {
            return Err(Error::failed("greeting is empty"));
        }
        *GREETING.lock().unwrap() = greeting;
        Ok(())
    }
    fn close() {
        GREETING.lock().unwrap().clear();
    }
}

impl Resources for Layer {
    fn list(call: &mut Call) -> Result<()> {
        call.reply_json(r#"{"resources": [{"uri": "layer://one", "name": "one"}]}"#)
    }
    fn read(call: &mut Call) -> Result<()> {
        match call.get("uri") {
            Some(uri @ "layer://one") => call.reply_resource(uri, "text/plain", "the first"),
            _ => Ok(()),
        }
    }
}

tool! {
    /// Tell the setting.
    #[example = (r#"{}"#, "")]
    fn layer_greeting() -> String {
        GREETING.lock().unwrap().clone()
    }
}

plugin!(
    "test.rust-layer",
    "1.2.3",
    [
        layer_northernmost,
        layer_show,
        layer_gaps,
        layer_bytes,
        layer_other_unit,
        layer_fail,
        layer_nothing,
        layer_paths,
        layer_ask,
        layer_greeting,
    ],
    description = "All that the crate makes",
    vendor = "toolrack",
    license = "MIT",
    homepage = "https://example.org",
    flags = THREAD_SAFE | PLUGIN_RESOURCES,
    reads = "${data}",
    writes = "${data}",
    open = open::<Layer>,
    close = close::<Layer>,
    extensions = resources::<Layer>,
);
