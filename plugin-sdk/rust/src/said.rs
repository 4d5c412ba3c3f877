//! What is said of a tool, a parameter and a plugin, and the constant records that are made of it.
//! The host reads them from the file, so all of this is computed by the compiler.
//!
//! The texts of a tool, with a zero behind each, are one array of bytes; `Texts` goes through them
//! twice in the same order, first for their length and then to write them, and records point into it.

use crate::abi;
use std::mem::size_of;
use std::os::raw::c_char;
use std::ptr::null;

/// Most lines of a description, examples of a tool, and capabilities of a plugin.
pub const LINES_MAX: usize = 64;
/// Most examples of a tool.
pub const EXAMPLES_MAX: usize = 16;
/// Most capabilities of a plugin.
pub const CAPABILITIES_MAX: usize = 16;

type Text = Option<&'static str>;

/// The lines of `///` comments.
#[derive(Clone, Copy)]
pub struct Doc {
    lines: [&'static str; LINES_MAX],
    count: usize,
}

impl Doc {
    const fn new() -> Doc {
        Doc {
            lines: [""; LINES_MAX],
            count: 0,
        }
    }
    const fn with(self, line: &'static str) -> Doc {
        assert!(self.count < LINES_MAX, "a description has too many lines");
        let mut doc = self;
        doc.lines[doc.count] = line;
        doc.count += 1;
        doc
    }
}

macro_rules! setters {
    ($($(#[$about:meta])* $name:ident: $type:ty => $value:expr),* $(,)?) => {$(
        $(#[$about])*
        pub const fn $name(self, $name: $type) -> Self {
            let mut said = self;
            said.$name = $value;
            said
        }
    )*};
}

/// A parameter or a field; its options are attributes, as in `#[minimum = "0.5"]`.
#[derive(Clone, Copy)]
pub struct Param {
    name: &'static str,
    info: *const abi::Type,
    offset: usize,
    doc: Doc,
    default: Text,
    choices: Text,
    minimum: Text,
    maximum: Text,
    exclusive_minimum: Text,
    exclusive_maximum: Text,
    multiple_of: Text,
    min_length: u64,
    max_length: u64,
    min_items: u64,
    max_items: u64,
    pattern: Text,
    format: Text,
    unique_items: bool,
}

impl Param {
    #[doc(hidden)]
    pub const fn new(name: &'static str, info: *const abi::Type) -> Param {
        Param {
            name,
            info,
            offset: 0,
            doc: Doc::new(),
            default: None,
            choices: None,
            minimum: None,
            maximum: None,
            exclusive_minimum: None,
            exclusive_maximum: None,
            multiple_of: None,
            min_length: 0,
            max_length: 0,
            min_items: 0,
            max_items: 0,
            pattern: None,
            format: None,
            unique_items: false,
        }
    }
    /// A line of what it means.
    pub const fn doc(self, line: &'static str) -> Self {
        let mut said = self;
        said.doc = said.doc.with(line);
        said
    }
    setters! {
        /// JSON: the value of an argument that is absent.
        default: &'static str => Some(default),
        /// A JSON array: the only values allowed.
        choices: &'static str => Some(choices),
        /// JSON: inclusive bounds ...
        minimum: &'static str => Some(minimum),
        /// ... of a number.
        maximum: &'static str => Some(maximum),
        /// JSON: exclusive bounds ...
        exclusive_minimum: &'static str => Some(exclusive_minimum),
        /// ... of a number.
        exclusive_maximum: &'static str => Some(exclusive_maximum),
        /// JSON: a number.
        multiple_of: &'static str => Some(multiple_of),
        /// Characters of a string, bytes of `Bytes`.
        min_length: u64 => min_length,
        /// Likewise.
        max_length: u64 => max_length,
        /// Items of an array.
        min_items: u64 => min_items,
        /// Likewise.
        max_items: u64 => max_items,
        /// A regular expression of a string, not anchored.
        pattern: &'static str => Some(pattern),
        /// A name such as "date", for the reader.
        format: &'static str => Some(format),
        /// No two items of an array are equal.
        unique_items: bool => unique_items,
    }
    #[doc(hidden)]
    pub const fn at(self, offset: usize) -> Self {
        let mut said = self;
        said.offset = offset;
        said
    }
}

/// A tool; its options are attributes, as in `#[category = "math"]`.
#[derive(Clone, Copy)]
pub struct Said {
    name: &'static str,
    doc: Doc,
    flags: u32,
    version: Text,
    title: Text,
    category: Text,
    tags: Text,
    permission: u32,
    priority: i32,
    deadline_ms: u32,
    result: Text,
    schema: Text,
    result_schema: Text,
    examples: [(&'static str, &'static str); EXAMPLES_MAX],
    example_count: usize,
    deprecated: Text,
    purpose: Text,
    scenarios: Text,
    icons: Text,
}

impl Said {
    #[doc(hidden)]
    pub const fn new(name: &'static str) -> Said {
        Said {
            name,
            doc: Doc::new(),
            flags: 0,
            version: None,
            title: None,
            category: None,
            tags: None,
            permission: 0,
            priority: 0,
            deadline_ms: 0,
            result: None,
            schema: None,
            result_schema: None,
            examples: [("", ""); EXAMPLES_MAX],
            example_count: 0,
            deprecated: None,
            purpose: None,
            scenarios: None,
            icons: None,
        }
    }
    /// A line of the description, for the model: what the tool does and when to use it.
    pub const fn doc(self, line: &'static str) -> Self {
        let mut said = self;
        said.doc = said.doc.with(line);
        said
    }
    /// One call, as arguments and result in JSON. An empty result: the call must only succeed.
    pub const fn example(self, example: (&'static str, &'static str)) -> Self {
        assert!(
            self.example_count < EXAMPLES_MAX,
            "a tool has at most 16 examples"
        );
        let mut said = self;
        said.examples[said.example_count] = example;
        said.example_count += 1;
        said
    }
    setters! {
        /// `READ_ONLY`, `DESTRUCTIVE`, `IDEMPOTENT`, `OPEN_WORLD`, `DISABLED`, `TASK_NEVER`,
        /// `TASK_ALWAYS`, joined by `|`.
        flags: u32 => flags,
        /// SemVer, if it differs from the plugin's.
        version: &'static str => Some(version),
        /// For people.
        title: &'static str => Some(title),
        /// One word or path such as "math".
        category: &'static str => Some(category),
        /// Comma-separated.
        tags: &'static str => Some(tags),
        /// `SAFE`, `CONFIRM` or `DANGEROUS`.
        permission: u32 => permission,
        /// Higher goes first; 0 means the default of the plugin's origin.
        priority: i32 => priority,
        /// How long a call may take.
        deadline_ms: u32 => deadline_ms,
        /// What the result means.
        result: &'static str => Some(result),
        /// A JSON tool: JSON Schema of the arguments.
        schema: &'static str => Some(schema),
        /// A JSON tool: JSON Schema of its JSON reply, which is then required.
        result_schema: &'static str => Some(result_schema),
        /// What to use instead.
        deprecated: &'static str => Some(deprecated),
        /// One line: the purpose.
        purpose: &'static str => Some(purpose),
        /// Comma-separated.
        scenarios: &'static str => Some(scenarios),
        /// A JSON array of icons, as MCP has them.
        icons: &'static str => Some(icons),
    }
}

/// A plugin; its options are written `NAME = VALUE` in [`plugin!`](crate::plugin).
#[derive(Clone, Copy)]
pub struct About {
    id: &'static str,
    version: &'static str,
    flags: u32,
    host_minor_min: u16,
    description: Text,
    vendor: Text,
    license: Text,
    homepage: Text,
    capabilities: [(u32, &'static str); CAPABILITIES_MAX],
    capability_count: usize,
    open: Option<unsafe extern "C" fn(*mut abi::Host) -> i32>,
    close: Option<abi::Close>,
    extensions: Option<abi::GetExtension>,
}

impl About {
    #[doc(hidden)]
    pub const fn new(id: &'static str, version: &'static str) -> About {
        About {
            id,
            version,
            flags: 0,
            host_minor_min: 0,
            description: None,
            vendor: None,
            license: None,
            homepage: None,
            capabilities: [(0, ""); CAPABILITIES_MAX],
            capability_count: 0,
            open: None,
            close: None,
            extensions: None,
        }
    }
    const fn needs(self, kind: u32, value: &'static str) -> Self {
        assert!(
            self.capability_count < CAPABILITIES_MAX,
            "a plugin has at most 16 capabilities"
        );
        let mut said = self;
        said.capabilities[said.capability_count] = (kind, value);
        said.capability_count += 1;
        said
    }
    /// Files at and below a path.
    pub const fn reads(self, path: &'static str) -> Self {
        self.needs(abi::CAP_READ, path)
    }
    /// Likewise, to write them.
    pub const fn writes(self, path: &'static str) -> Self {
        self.needs(abi::CAP_WRITE, path)
    }
    /// TCP connections to a port: "*:443".
    pub const fn connects(self, ports: &'static str) -> Self {
        self.needs(abi::CAP_NETWORK, ports)
    }
    /// A program that it starts.
    pub const fn spawns(self, program: &'static str) -> Self {
        self.needs(abi::CAP_SPAWN, program)
    }
    /// An environment variable.
    pub const fn reads_env(self, name: &'static str) -> Self {
        self.needs(abi::CAP_ENV, name)
    }
    setters! {
        /// `THREAD_SAFE`, `STARTS_THREADS`, `PLUGIN_RESOURCES`, `PLUGIN_PROMPTS`, joined by `|`.
        flags: u32 => flags,
        /// Lowest minor number of a host that is sufficient.
        host_minor_min: u16 => host_minor_min,
        /// One line for people.
        description: &'static str => Some(description),
        /// Who makes it.
        vendor: &'static str => Some(vendor),
        /// SPDX expression.
        license: &'static str => Some(license),
        /// A URL.
        homepage: &'static str => Some(homepage),
        /// `toolrack::open::<T>`.
        open: unsafe extern "C" fn(*mut abi::Host) -> i32 => Some(open),
        /// `toolrack::close::<T>`.
        close: abi::Close => Some(close),
        /// `toolrack::resources::<T>`, or a function as C has it.
        extensions: abi::GetExtension => Some(extensions),
    }
}

// ------------------------------------------------------------------------------ texts

/// A place in the texts: the bytes so far, and how many. With `N` of 0 they are only counted.
#[derive(Clone, Copy)]
struct Texts<const N: usize> {
    bytes: [u8; N],
    at: usize,
}

impl<const N: usize> Texts<N> {
    const fn new() -> Texts<N> {
        Texts {
            bytes: [0; N],
            at: 0,
        }
    }
    const fn byte(self, byte: u8) -> Self {
        let mut texts = self;
        if N > 0 {
            texts.bytes[texts.at] = byte;
        }
        texts.at += 1;
        texts
    }
    const fn part(self, part: &str, from: usize) -> Self {
        let mut texts = self;
        let bytes = part.as_bytes();
        let mut i = from;
        while i < bytes.len() {
            assert!(bytes[i] != 0, "a text has a zero character in it");
            texts = texts.byte(bytes[i]);
            i += 1;
        }
        texts
    }
    const fn text(self, text: Text) -> Self {
        match text {
            Some(text) => self.part(text, 0).byte(0),
            None => self,
        }
    }
    /// The lines without the space that follows `///`, with spaces between them.
    const fn doc(self, doc: &Doc) -> Self {
        let mut texts = self;
        let mut i = 0;
        while i < doc.count {
            let line = doc.lines[i].as_bytes();
            if i > 0 && line.len() > 0 {
                texts = texts.byte(b' ');
            }
            texts = texts.part(doc.lines[i], (line.len() > 0 && line[0] == b' ') as usize);
            i += 1;
        }
        if doc.count > 0 {
            texts.byte(0)
        } else {
            texts
        }
    }
    const fn param(self, param: &Param) -> Self {
        self.text(Some(param.name))
            .doc(&param.doc)
            .text(param.default)
            .text(param.choices)
            .text(param.minimum)
            .text(param.maximum)
            .text(param.exclusive_minimum)
            .text(param.exclusive_maximum)
            .text(param.multiple_of)
            .text(param.pattern)
            .text(param.format)
    }
    const fn params(self, params: &[Param]) -> Self {
        let mut texts = self;
        let mut i = 0;
        while i < params.len() {
            texts = texts.param(&params[i]);
            i += 1;
        }
        texts
    }
    const fn tool(self, said: &Said) -> Self {
        let mut texts = self
            .text(Some(said.name))
            .doc(&said.doc)
            .text(said.version)
            .text(said.title)
            .text(said.category)
            .text(said.tags)
            .text(said.result)
            .text(said.schema)
            .text(said.result_schema)
            .text(said.deprecated)
            .text(said.purpose)
            .text(said.scenarios)
            .text(said.icons);
        let mut i = 0;
        while i < said.example_count {
            texts = texts
                .text(Some(said.examples[i].0))
                .text(Some(said.examples[i].1));
            i += 1;
        }
        texts
    }
    const fn plugin(self, about: &About) -> Self {
        let mut texts = self
            .text(Some(about.id))
            .text(Some(about.version))
            .text(about.description)
            .text(about.vendor)
            .text(about.license)
            .text(about.homepage);
        let mut i = 0;
        while i < about.capability_count {
            texts = texts.text(Some(about.capabilities[i].1));
            i += 1;
        }
        texts
    }
}

/// A place in written texts, from which pointers are taken in the order of writing.
#[derive(Clone, Copy)]
struct Reader {
    next: *const u8,
}

impl Reader {
    /// The pointer to a text, and the place behind it.
    const fn text(self, text: Text) -> (*const c_char, Reader) {
        match text {
            Some(text) => (
                self.next as *const c_char,
                Reader {
                    next: unsafe { self.next.add(text.len() + 1) },
                },
            ),
            None => (null(), self),
        }
    }
    const fn doc(self, doc: &Doc) -> (*const c_char, Reader) {
        let length = Texts::<0>::new().doc(doc).at;
        if length == 0 {
            return (null(), self);
        }
        (
            self.next as *const c_char,
            Reader {
                next: unsafe { self.next.add(length) },
            },
        )
    }
}

/// The bytes that the texts of a tool and its parameters take.
#[doc(hidden)]
pub const fn tool_length(said: &Said, params: &[Param]) -> usize {
    Texts::<0>::new().tool(said).params(params).at
}

#[doc(hidden)]
pub const fn tool_texts<const N: usize>(said: &Said, params: &[Param]) -> [u8; N] {
    Texts::<N>::new().tool(said).params(params).bytes
}

#[doc(hidden)]
pub const fn plugin_length(about: &About) -> usize {
    Texts::<0>::new().plugin(about).at
}

#[doc(hidden)]
pub const fn plugin_texts<const N: usize>(about: &About) -> [u8; N] {
    Texts::<N>::new().plugin(about).bytes
}

#[doc(hidden)]
pub const fn params_length(params: &[Param]) -> usize {
    Texts::<0>::new().params(params).at
}

#[doc(hidden)]
pub const fn params_texts<const N: usize>(params: &[Param]) -> [u8; N] {
    Texts::<N>::new().params(params).bytes
}

// ---------------------------------------------------------------------------- records

const NO_PARAM: abi::Param = abi::Param {
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

/// The records of parameters, whose texts begin `skipped` bytes behind `texts`.
#[doc(hidden)]
pub const fn params<const N: usize>(
    params: &[Param],
    texts: &'static [u8],
    skipped: usize,
) -> [abi::Param; N] {
    let mut records = [NO_PARAM; N];
    let mut reader = Reader {
        next: unsafe { texts.as_ptr().add(skipped) },
    };
    let mut i = 0;
    while i < N {
        let param = &params[i];
        let (name, next) = reader.text(Some(param.name));
        let (description, next) = next.doc(&param.doc);
        let (default_json, next) = next.text(param.default);
        let (choices_json, next) = next.text(param.choices);
        let (minimum_json, next) = next.text(param.minimum);
        let (maximum_json, next) = next.text(param.maximum);
        let (exclusive_minimum_json, next) = next.text(param.exclusive_minimum);
        let (exclusive_maximum_json, next) = next.text(param.exclusive_maximum);
        let (multiple_of_json, next) = next.text(param.multiple_of);
        let (pattern, next) = next.text(param.pattern);
        let (format, next) = next.text(param.format);
        reader = next;
        records[i] = abi::Param {
            name,
            description,
            type_: param.info,
            offset: param.offset as u64,
            default_json,
            choices_json,
            minimum_json,
            maximum_json,
            exclusive_minimum_json,
            exclusive_maximum_json,
            multiple_of_json,
            min_length: param.min_length,
            max_length: param.max_length,
            min_items: param.min_items,
            max_items: param.max_items,
            pattern,
            format,
            flags: param.unique_items as u32,
            reserved: 0,
        };
        i += 1;
    }
    records
}

/// The bytes of a tool's own texts, before those of its parameters.
#[doc(hidden)]
pub const fn tool_own_length(said: &Said) -> usize {
    Texts::<0>::new().tool(said).at
}

#[doc(hidden)]
pub const fn example_count(said: &Said) -> usize {
    said.example_count
}

#[doc(hidden)]
pub const fn examples<const N: usize>(said: &Said, texts: &'static [u8]) -> [abi::Example; N] {
    let mut records = [abi::Example {
        arguments: null(),
        result: null(),
    }; N];
    // They are the last of the tool's own.
    let mut length = 0;
    let mut i = 0;
    while i < N {
        length += said.examples[i].0.len() + said.examples[i].1.len() + 2;
        i += 1;
    }
    let mut reader = Reader {
        next: unsafe { texts.as_ptr().add(tool_own_length(said) - length) },
    };
    i = 0;
    while i < N {
        let (arguments, next) = reader.text(Some(said.examples[i].0));
        let (result, next) = next.text(Some(said.examples[i].1));
        reader = next;
        let has_result = said.examples[i].1.len() > 0;
        records[i] = abi::Example {
            arguments,
            result: if has_result { result } else { null() },
        };
        i += 1;
    }
    records
}

/// What a tool is called by.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub enum Entry {
    Typed(
        unsafe extern "C" fn(),
        *const abi::Type,
        &'static [abi::Param],
    ),
    Json(unsafe extern "C" fn(*mut abi::Call) -> i32),
}

#[doc(hidden)]
pub const fn tool(
    said: &Said,
    texts: &'static [u8],
    examples: &'static [abi::Example],
    entry: Entry,
) -> abi::Tool {
    let (name, next) = Reader {
        next: texts.as_ptr(),
    }
    .text(Some(said.name));
    let (description, next) = next.doc(&said.doc);
    let (version, next) = next.text(said.version);
    let (title, next) = next.text(said.title);
    let (category, next) = next.text(said.category);
    let (tags, next) = next.text(said.tags);
    let (result_description, next) = next.text(said.result);
    let (schema, next) = next.text(said.schema);
    let (result_schema, next) = next.text(said.result_schema);
    let (deprecated, next) = next.text(said.deprecated);
    let (purpose, next) = next.text(said.purpose);
    let (scenarios, next) = next.text(said.scenarios);
    let (icons, _) = next.text(said.icons);
    let (function, result, params): (_, _, &'static [abi::Param]) = match entry {
        Entry::Typed(function, result, params) => (Some(function), result, params),
        Entry::Json(_) => (None, null(), &[]),
    };
    abi::Tool {
        size: size_of::<abi::Tool>() as u32,
        flags: said.flags,
        name,
        description,
        version,
        title,
        category,
        tags,
        permission: said.permission,
        priority: said.priority,
        deadline_ms: said.deadline_ms,
        param_count: params.len() as u32,
        params: if params.len() > 0 {
            params.as_ptr()
        } else {
            null()
        },
        param_size: size_of::<abi::Param>() as u32,
        reserved: 0,
        result,
        result_description,
        function,
        schema,
        result_schema,
        run: match entry {
            Entry::Typed(..) => None,
            Entry::Json(run) => Some(run),
        },
        examples: if examples.len() > 0 {
            examples.as_ptr()
        } else {
            null()
        },
        example_count: examples.len() as u32,
        example_size: size_of::<abi::Example>() as u32,
        deprecated,
        purpose,
        scenarios,
        icons,
    }
}

#[doc(hidden)]
pub const fn capability_count(about: &About) -> usize {
    about.capability_count
}

#[doc(hidden)]
pub const fn capabilities<const N: usize>(
    about: &About,
    texts: &'static [u8],
) -> [abi::Capability; N] {
    let mut records = [abi::Capability {
        kind: 0,
        reserved: 0,
        value: null(),
    }; N];
    let none = About {
        capability_count: 0,
        ..*about
    };
    let mut reader = Reader {
        next: unsafe { texts.as_ptr().add(plugin_length(&none)) },
    };
    let mut i = 0;
    while i < N {
        let (value, next) = reader.text(Some(about.capabilities[i].1));
        reader = next;
        records[i] = abi::Capability {
            kind: about.capabilities[i].0,
            reserved: 0,
            value,
        };
        i += 1;
    }
    records
}

#[doc(hidden)]
pub const fn plugin(
    about: &About,
    texts: &'static [u8],
    capabilities: &'static [abi::Capability],
    tools: &'static [*const abi::Tool],
) -> abi::Plugin {
    let (id, next) = Reader {
        next: texts.as_ptr(),
    }
    .text(Some(about.id));
    let (version, next) = next.text(Some(about.version));
    let (description, next) = next.text(about.description);
    let (vendor, next) = next.text(about.vendor);
    let (license, next) = next.text(about.license);
    let (homepage, _) = next.text(about.homepage);
    abi::Plugin {
        magic: abi::MAGIC,
        size: size_of::<abi::Plugin>() as u32,
        abi_major: abi::ABI_MAJOR,
        abi_minor: abi::ABI_MINOR,
        host_minor_min: about.host_minor_min,
        reserved: 0,
        flags: about.flags,
        id,
        version,
        description,
        vendor,
        license,
        homepage,
        capabilities: if capabilities.len() > 0 {
            capabilities.as_ptr()
        } else {
            null()
        },
        capability_count: capabilities.len() as u32,
        capability_size: size_of::<abi::Capability>() as u32,
        tool_count: tools.len() as u32,
        tool_size: size_of::<abi::Tool>() as u32,
        tools: tools.as_ptr(),
        open: about.open,
        close: about.close,
        get_extension: about.extensions,
    }
}

/// Where the fields of a `#[repr(C)]` struct are: a size and an alignment for each.
#[doc(hidden)]
pub const fn offset(fields: &[(usize, usize)], index: usize) -> usize {
    let mut end = 0;
    let mut i = 0;
    loop {
        let at = (end + fields[i].1 - 1) / fields[i].1 * fields[i].1;
        if i == index {
            return at;
        }
        end = at + fields[i].0;
        i += 1;
    }
}

/// The choices of an enumeration, with the value of each.
#[doc(hidden)]
pub const fn choices_length(names: &[&str]) -> usize {
    let mut length = 0;
    let mut i = 0;
    while i < names.len() {
        length += names[i].len() + 1;
        i += 1;
    }
    length
}

#[doc(hidden)]
pub const fn choices_texts<const N: usize>(names: &[&'static str]) -> [u8; N] {
    let mut texts = Texts::<N>::new();
    let mut i = 0;
    while i < names.len() {
        texts = texts.text(Some(names[i]));
        i += 1;
    }
    texts.bytes
}

#[doc(hidden)]
pub const fn choices<const N: usize>(
    names: &[&'static str],
    texts: &'static [u8],
) -> [abi::Choice; N] {
    let mut records = [abi::Choice {
        name: null(),
        value: 0,
    }; N];
    let mut reader = Reader {
        next: texts.as_ptr(),
    };
    let mut i = 0;
    while i < N {
        let (name, next) = reader.text(Some(names[i]));
        reader = next;
        records[i] = abi::Choice {
            name,
            value: i as i64,
        };
        i += 1;
    }
    records
}
