/* toolrack/plugin.h - everything that a tool plugin needs.
 *
 * A plugin is one shared object that exports one constant: `toolrack_plugin`,
 * the descriptor. The descriptor identifies the plugin and lists its tools; the
 * host reads it from the file without running any of the plugin's code, so the
 * descriptor is constant data, never built at run time. A complete plugin:
 *
 *     #include <toolrack/plugin.h>
 *     static double add(double a, double b) { return a + b; }
 *     TR_TOOL(add, "Add two numbers", TR_F64,
 *             (TR_F64, a, "first addend"), (TR_F64, b, "second addend"))
 *     TR_PLUGIN("math", "1.0.0", add)
 *
 *     cc -shared -fPIC $(pkg-config --cflags toolrack-sdk) math.c -o math.so
 *
 * Part 1 is the binary interface: plain structs, which any language can fill.
 * Part 2 is what a tool may do while it runs. Part 3 is the macros for C; the
 * macros are optional.
 *
 * Growth. Structs grow at their end only. The side that allocates a struct states its size (or the
 * stride of an array); the reader uses the members that both sides know and reads zero for the
 * rest, so zero always means "not stated". Whatever else is optional is an interface of its own,
 * obtained by get_extension(): toolrack/ext/.
 *
 * Threads. [call-thread] is the thread that runs the tool. [plugin] is the
 * thread that opens or closes the plugin: never two at once, and never while a
 * call runs.
 *
 * Changes, newest first:
 *        2026-11-29  flags in struct tr_capability, which was reserved: TR_MAY_READ() and the like;
 *                    toolrack/ext/paths.h; TR_NEEDS_WORKER. Hosts without them take what they
 *                    know, so the number is the same
 *   1.5  2026-11-28  get_all() in struct tr_call_api, struct tr_argument: tr_get_all()
 *   1.4  2026-11-23  inputs() in struct tr_call_api: tr_inputs(), tr_ask_as(), tr_ask_url(),
 *                    tr_sample(), tr_roots(); reply_content() and reply_link(); icons in struct
 *                    tr_tool, TR_TASK_NEVER, TR_TASK_ALWAYS; TR_PLUGIN_RESOURCES and
 *                    TR_PLUGIN_PROMPTS, with toolrack/ext/resources.h, prompts.h and tools.h
 *   1.3  2026-11-22  fail_at() in struct tr_call_api: tr_fail() also tells its file and line
 *   1.2  2026-11-22  deprecated, purpose and scenarios in struct tr_tool
 *   1.1  2026-11-22  examples in struct tr_tool; ask() in struct tr_call_api, tr_ask()
 *   1.0  2026-11-21  first version
 *
 * Licence: MIT; usable in closed plugins. C11, C++17 and later. */
#ifndef TOOLRACK_PLUGIN_H
#define TOOLRACK_PLUGIN_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ======================================================= 1. the descriptor */

/** "toolrack" as the eight bytes at the start of the descriptor. */
#define TR_MAGIC UINT64_C(0x6b6361726c6f6f74)

/** The interface this header describes. A host loads a plugin of its own major number whose
 * `host_minor_min` is not above the host's minor number. */
#define TR_ABI_MAJOR 1
#define TR_ABI_MINOR 5

#if defined(__GNUC__)
#define TR_EXPORT         __attribute__((visibility("default")))
#define TR_FORMAT_(at, n) __attribute__((__format__(__printf__, at, n)))
#else
#define TR_EXPORT
#define TR_FORMAT_(at, n)
#endif

struct tr_call;
struct tr_host;

/** Result of a plugin's functions: TR_OK or one of the codes. */
typedef int32_t tr_status;

/** Codes of failures, for tr_fail(). */
enum tr_code {
    TR_OK = 0,
    TR_INVALID_ARGUMENTS = 1, /**< the caller can correct it; name the field */
    TR_FAILED = 2,            /**< the tool could not do it */
    TR_PERMISSION_DENIED = 3,
    TR_TIMED_OUT = 4,
    TR_CANCELLED = 5,
    TR_LIMIT_EXCEEDED = 6,
    TR_ABSENT = 7 /**< getters: the argument is absent or null; tr_ask() and its like: nobody can be
                     asked */
};

/** The kind of C value that a type describes, and the JSON it is made from. */
enum tr_kind {
    TR_KIND_NONE = 0, /**< result only: the function returns void, the JSON is null */
    TR_KIND_BOOL = 1,
    TR_KIND_I8 = 2,
    TR_KIND_I16 = 3,
    TR_KIND_I32 = 4,
    TR_KIND_I64 = 5,
    TR_KIND_U8 = 6,
    TR_KIND_U16 = 7,
    TR_KIND_U32 = 8,
    TR_KIND_U64 = 9,
    TR_KIND_F32 = 10,
    TR_KIND_F64 = 11,
    TR_KIND_STRING = 12, /**< const char *, UTF-8, zero-terminated, no zero inside */
    TR_KIND_BYTES = 13,  /**< base64 text in JSON (RFC 4648 section 4, with padding) */
    TR_KIND_JSON = 14,   /**< const char *, the text of any JSON value */
    TR_KIND_ARRAY = 15,  /**< of `item` */
    TR_KIND_STRUCT = 16, /**< a JSON object with the members `fields` */
    TR_KIND_ENUM = 17,   /**< an integer of `width` bytes; the JSON is the choice's name */
    TR_KIND_CALL = 18    /**< struct tr_call *; first parameter only, not in the schema */
};

/* How a value of each kind is passed and stored.
 *
 *   as a parameter          the C type; BYTES and ARRAY are two parameters, a pointer and a size_t
 *   in a struct or array,   the C type; BYTES and ARRAY are struct tr_bytes and struct tr_array
 *   or as a result
 *   nullable, optional or   a pointer to const; NULL is null or absent. STRING, JSON, BYTES and
 *   by pointer              ARRAY are pointers already: their data pointer is NULL
 *
 * Arguments live until the host has copied the result, right after the tool returns. A result must
 * live as long: constant data, memory from tr_alloc(), or what an argument points to (a
 * string, the items of an array, a struct that was passed by pointer). */

/** Bytes in memory. [borrowed] */
struct tr_bytes {
    const void *data;
    uint64_t size;
};

/** Consecutive values in memory. [borrowed] */
struct tr_array {
    const void *items;
    uint64_t count;
};

enum tr_type_flags {
    TR_TYPE_NULLABLE = 1 << 0,  /**< JSON null is allowed */
    TR_TYPE_OPTIONAL = 1 << 1,  /**< may be absent, or null, as models often send */
    TR_TYPE_BY_POINTER = 1 << 2 /**< never NULL, but passed as a pointer to const */
};

struct tr_param;

/** One name of an enumeration. */
struct tr_choice {
    const char *name;
    int64_t value;
};

/** A type. Nested at most 16 deep. */
struct tr_type {
    uint32_t size;                 /**< sizeof(struct tr_type) */
    uint32_t kind;                 /**< enum tr_kind */
    uint32_t flags;                /**< enum tr_type_flags */
    uint32_t width;                /**< STRUCT and ENUM: sizeof the C type */
    const struct tr_type *item;    /**< ARRAY */
    const struct tr_param *fields; /**< STRUCT: `field_count` of them, `field_size` apart */
    uint32_t field_count;
    uint32_t field_size;             /**< sizeof(struct tr_param) */
    const struct tr_choice *choices; /**< ENUM: `choice_count` of them, `choice_size` apart */
    uint32_t choice_count;
    uint32_t choice_size; /**< sizeof(struct tr_choice) */
};

enum tr_param_flags {
    TR_PARAM_UNIQUE_ITEMS = 1 << 0 /**< ARRAY: no two items equal */
};

/** A parameter of a typed tool, or a field of a struct. A member whose name ends in _json is one
 * JSON value as a string, exact for any number; the macros of part 3 write these strings. */
struct tr_param {
    const char *name;           /**< ^[A-Za-z_][A-Za-z0-9_-]{0,63}$, unique in its list */
    const char *description;    /**< for the model; or NULL */
    const struct tr_type *type; /**< required */
    uint64_t offset;            /**< fields: offsetof the C member */
    const char *default_json;   /**< used if the argument is absent, which is then allowed */
    const char *choices_json;   /**< an array: the only values allowed */
    const char *minimum_json;   /**< numbers: inclusive bounds ... */
    const char *maximum_json;
    const char *exclusive_minimum_json; /**< ... and exclusive ones */
    const char *exclusive_maximum_json;
    const char *multiple_of_json;
    uint64_t min_length; /**< STRING: characters; BYTES: bytes */
    uint64_t max_length; /**< 0 is no bound */
    uint64_t min_items;  /**< ARRAY */
    uint64_t max_items;  /**< 0 is no bound */
    const char *pattern; /**< STRING: ECMA-262 regular expression, not anchored */
    const char *format;  /**< STRING: a name such as "date-time", for the reader */
    uint32_t flags;      /**< enum tr_param_flags */
    uint32_t reserved;
};

enum tr_permission {
    TR_SAFE = 0,     /**< runs when called */
    TR_CONFIRM = 1,  /**< runs after a person agreed */
    TR_DANGEROUS = 2 /**< runs after an administrator granted it */
};

/* The default priority of tools by their plugin's origin, and the highest that it may set. */
#define TR_PRIORITY_BUILTIN   100
#define TR_PRIORITY_OFFICIAL  50
#define TR_PRIORITY_COMMUNITY 10

enum tr_tool_flags {
    TR_DISABLED = 1 << 0,    /**< not offered until an administrator enables it */
    TR_READ_ONLY = 1 << 1,   /**< changes nothing */
    TR_DESTRUCTIVE = 1 << 2, /**< may destroy existing data */
    TR_IDEMPOTENT = 1 << 3,  /**< repeating a call changes nothing more */
    TR_OPEN_WORLD = 1 << 4,  /**< deals with things outside the machine */
    /* Since 1.4: a caller that may do something else meanwhile (MCP's tasks) does so by the time
     * that a call is expected to take, unless one of these is set. */
    TR_TASK_NEVER = 1 << 5, /**< waits for the call */
    TR_TASK_ALWAYS = 1 << 6 /**< does not wait for it. An MCP client of revision 2026-07-28 without
                                 the extension for tasks cannot call the tool; earlier ones wait */
};

/** One call of a tool and its result. Examples are shown to people and models, and a host may call
 * them before a new build of the plugin serves: an example must change nothing and must give the
 * same result each time. */
struct tr_example {
    const char *arguments; /**< the text of a JSON object */
    const char *result;    /**< the text of a JSON value; NULL: the call must only succeed */
};

/** One tool: a typed tool if `function` is set, a JSON tool if `run` is set. */
struct tr_tool {
    uint32_t size;           /**< sizeof(struct tr_tool) */
    uint32_t flags;          /**< enum tr_tool_flags */
    const char *name;        /**< ^[A-Za-z_][A-Za-z0-9_-]{0,63}$ */
    const char *description; /**< for the model: what the tool does and when to use it */
    const char *version;     /**< SemVer; NULL means the plugin's version */
    const char *title;       /**< for people; or NULL */
    const char *category;    /**< one word or path such as "math"; or NULL */
    const char *tags;        /**< comma-separated; or NULL */
    uint32_t permission;     /**< enum tr_permission */
    int32_t priority;        /**< higher goes first; 0 means the default of the plugin's origin
                                (TR_PRIORITY_...), which is also the maximum */
    uint32_t deadline_ms;    /**< how long a call may take; 0 means the host's default */

    /* A typed tool: any C function. */
    uint32_t param_count;
    const struct tr_param *params; /**< `param_count` of them, `param_size` apart */
    uint32_t param_size;           /**< sizeof(struct tr_param) */
    uint32_t reserved;
    const struct tr_type *result; /**< NULL means TR_KIND_NONE */
    const char *result_description;
    void (*function)(void); /**< cast from its own type [call-thread] */

    /* A JSON tool: reads its arguments and replies through the call. */
    const char *schema;        /**< JSON Schema 2020-12 of the arguments, root `type: object` */
    const char *result_schema; /**< schema of the JSON reply, which is then required; or NULL */
    tr_status (*run)(struct tr_call *call); /**< [call-thread] */

    /* Since 1.1. */
    const struct tr_example *examples; /**< `example_count` of them, `example_size` apart */
    uint32_t example_count;            /**< at most 16 */
    uint32_t example_size;             /**< sizeof(struct tr_example) */

    /* Since 1.2. */
    const char *deprecated; /**< what to use instead, or how long the tool is kept; or NULL */
    const char *purpose;    /**< one line: the purpose; or NULL */
    const char *scenarios;  /**< the scenarios it is for, comma-separated; or NULL */

    /* Since 1.4. */
    /** The text of a JSON array, as MCP has it, of at most 8 icons and 64 KiB; or NULL. Each is an
     * object with `src`, an https: URL or a data:image/ one, and perhaps `mimeType`, `sizes` (an
     * array such as ["48x48"], or ["any"]) and `theme` ("light" or "dark"). */
    const char *icons;
};

enum tr_capability_kind {
    TR_CAP_READ = 1,    /**< reads below a path; ${workspace}, ${home}, ${data}: folders */
    TR_CAP_WRITE = 2,   /**< writes below a path */
    TR_CAP_NETWORK = 3, /**< TCP: "*:443", one port of every host; "*", every port; "udp": UDP */
    TR_CAP_SPAWN = 4,   /**< starts a program */
    TR_CAP_ENV = 5      /**< reads an environment variable */
};

enum tr_capability_flags {
    TR_CAP_OPTIONAL = 1 << 0 /**< the tools are of use without it */
};

/** A capability that the plugin needs from the system; an administrator grants or refuses it. A
 * host offers models no tool whose plugin lacks one that is not optional; a tool that is read-only
 * does not need to write what it may read. */
struct tr_capability {
    uint32_t kind;  /**< enum tr_capability_kind */
    uint32_t flags; /**< enum tr_capability_flags */
    const char *value;
};

enum tr_plugin_flags {
    TR_THREAD_SAFE = 1 << 0,    /**< its tools may run on several threads at once */
    TR_STARTS_THREADS = 1 << 1, /**< has own threads that outlive a call */
    /* Since 1.4: it has these extensions. The host calls get_extension() once for each after it was
     * loaded, before open(). */
    TR_PLUGIN_RESOURCES = 1 << 2, /**< toolrack/ext/resources.h */
    TR_PLUGIN_PROMPTS = 1 << 3,   /**< toolrack/ext/prompts.h */
    /* Only the sandbox of a worker keeps its tools within what the plugin was granted: a library
     * opens by a path what another process may exchange meanwhile, or it starts programs. The host
     * refuses to run it in its own process, unless the configuration says so for this plugin by its
     * id. A host that does not know the flag ignores it. */
    TR_NEEDS_WORKER = 1 << 4
};

/** The descriptor. Constant data: every pointer in it points to constant data in the same file, or
 * to a function. */
struct tr_plugin {
    uint64_t magic;          /**< TR_MAGIC */
    uint32_t size;           /**< sizeof(struct tr_plugin) */
    uint16_t abi_major;      /**< TR_ABI_MAJOR */
    uint16_t abi_minor;      /**< TR_ABI_MINOR */
    uint16_t host_minor_min; /**< lowest host minor number that is sufficient, mostly 0 */
    uint16_t reserved;
    uint32_t flags;          /**< enum tr_plugin_flags */
    const char *id;          /**< unique, ^[A-Za-z_][A-Za-z0-9_.-]{0,63}$; best is reverse DNS */
    const char *version;     /**< SemVer */
    const char *description; /**< one line for people; this and the next three may be NULL */
    const char *vendor;
    const char *license; /**< SPDX expression */
    const char *homepage;
    const struct tr_capability *capabilities; /**< `capability_count`, `capability_size` apart */
    uint32_t capability_count;
    uint32_t capability_size; /**< sizeof(struct tr_capability) */
    uint32_t tool_count;
    uint32_t tool_size;                 /**< sizeof(struct tr_tool), the same in every tool */
    const struct tr_tool *const *tools; /**< `tool_count` pointers */

    /** Called once before the first call; may be NULL. On failure state the reason with
     * tr_host_fail(). May be called again after close(). [plugin] */
    tr_status (*open)(struct tr_host *host);
    /** Called once after the last call, if open() succeeded. Must end everything that open()
     * started, above all its threads. [plugin] */
    void (*close)(void);
    /** An optional interface of the plugin by id ("toolrack.x/1"), or NULL. [plugin] */
    const void *(*get_extension)(const char *id);
};

/** The symbol that the host looks up in the file. */
extern TR_EXPORT const struct tr_plugin toolrack_plugin;

/* ==================================================== 2. while a tool runs */

/** Severity of a log line. */
enum tr_log_level { TR_LOG_DEBUG = 0, TR_LOG_INFO = 1, TR_LOG_WARNING = 2, TR_LOG_ERROR = 3 };

/** The kind of JSON value of an argument. */
enum tr_json_kind {
    TR_JSON_ABSENT = 0,
    TR_JSON_NULL = 1,
    TR_JSON_BOOL = 2,
    TR_JSON_NUMBER = 3,
    TR_JSON_STRING = 4,
    TR_JSON_ARRAY = 5,
    TR_JSON_OBJECT = 6
};

/** A person's answer to a question. */
enum tr_answer {
    TR_ANSWER_NOBODY = 0,   /**< nobody can be asked */
    TR_ANSWER_ACCEPTED = 1, /**< filled it in */
    TR_ANSWER_DECLINED = 2, /**< said no */
    TR_ANSWER_DISMISSED = 3 /**< closed the question, or cancelled the call */
};

/** What a call can ask for, beside its arguments. */
enum tr_input_kind {
    TR_INPUT_FORM = 0,   /**< a person's answers to a form: see tr_ask() */
    TR_INPUT_URL = 1,    /**< that a person opens an address, and does there what is asked */
    TR_INPUT_SAMPLE = 2, /**< a message of the client's model: see tr_sample() */
    TR_INPUT_ROOTS = 3   /**< the folders that the client works in: see tr_roots() */
};

/** One thing that a call asks for, for tr_inputs(). */
struct tr_input {
    uint32_t size;   /**< sizeof(struct tr_input), the same in all of an array */
    uint32_t kind;   /**< enum tr_input_kind */
    const char *key; /**< ^[A-Za-z_][A-Za-z0-9_.-]{0,63}$, once in a call; NULL: by its number */
    const char *message; /**< FORM, URL: for the person */
    const char *schema;  /**< FORM: JSON Schema of a flat object; NULL: only consent */
    const char *request; /**< URL: the address; SAMPLE: `params` of MCP's sampling/createMessage */
    const char
            *content; /**< out, where ACCEPTED: a JSON object that lives as long as the call. URL:
                         {} */
    int32_t answer;   /**< out: enum tr_answer */
    uint32_t reserved;
};

/** Facts about the call itself, for tr_context(). */
enum tr_context_key {
    TR_CONTEXT_CALLER = 0,       /**< the caller's name */
    TR_CONTEXT_CHANNEL = 1,      /**< how the call came in: "cli", "api", "mcp" ... */
    TR_CONTEXT_CONVERSATION = 2, /**< NULL outside a conversation */
    TR_CONTEXT_TRACE = 3,
    TR_CONTEXT_TOOL = 4 /**< the tool's name, for a function that serves several */
};

/** One argument to read, for tr_get_all(). */
struct tr_argument {
    const char *name; /**< a key of the arguments, without slash and tilde */
    uint32_t kind;    /**< enum tr_kind: BOOL, I64, U64, F64, STRING, BYTES or JSON */
    tr_status status; /**< out: TR_OK; TR_ABSENT, also for null; else TR_INVALID_ARGUMENTS */
    void *value;      /**< a variable of the C type of that kind, which is set only where TR_OK */
};

/** A resource that a reply names without its content, for tr_reply_link(). */
struct tr_link {
    uint64_t size;           /**< sizeof(struct tr_link) */
    const char *uri;         /**< of the resource */
    const char *name;        /**< short, for programs */
    const char *title;       /**< for people; this and the next two may be NULL */
    const char *description; /**< for the model */
    const char *mime_type;
    uint64_t bytes; /**< of the content; 0: not stated */
};

/** The host's side of a call. Use the functions below, which check which members a host has. */
struct tr_call_api {
    uint64_t size; /**< sizeof(struct tr_call_api) as the host has it */
    const char *(*arguments)(struct tr_call *call, uint64_t *ret_length);
    int32_t (*kind)(struct tr_call *call, const char *path);
    uint64_t (*count)(struct tr_call *call, const char *path);
    tr_status (*get_bool)(struct tr_call *call, const char *path, bool *ret);
    tr_status (*get_i64)(struct tr_call *call, const char *path, int64_t *ret);
    tr_status (*get_u64)(struct tr_call *call, const char *path, uint64_t *ret);
    tr_status (*get_f64)(struct tr_call *call, const char *path, double *ret);
    tr_status (*get_string)(struct tr_call *call, const char *path, const char **ret,
                            uint64_t *ret_length);
    tr_status (*get_bytes)(struct tr_call *call, const char *path, struct tr_bytes *ret);
    tr_status (*get_json)(struct tr_call *call, const char *path, const char **ret,
                          uint64_t *ret_length);
    tr_status (*reply_text)(struct tr_call *call, const char *text, uint64_t length);
    tr_status (*reply_json)(struct tr_call *call, const char *json, uint64_t length);
    tr_status (*reply_image)(struct tr_call *call, const void *data, uint64_t size,
                             const char *mime_type);
    tr_status (*reply_audio)(struct tr_call *call, const void *data, uint64_t size,
                             const char *mime_type);
    tr_status (*reply_resource)(struct tr_call *call, const char *uri, const char *mime_type,
                                const char *text, const void *data, uint64_t size);
    tr_status (*fail)(struct tr_call *call, tr_status code, const char *field, const char *message);
    void (*progress)(struct tr_call *call, double done, double total, const char *message);
    void (*log)(struct tr_call *call, int32_t level, const char *message);
    bool (*cancelled)(struct tr_call *call);
    uint64_t (*time_left_ms)(struct tr_call *call);
    const char *(*context)(struct tr_call *call, int32_t key);
    void *(*alloc)(struct tr_call *call, uint64_t size);
    tr_status (*put_begin)(struct tr_call *call, const char *key, int32_t kind);
    tr_status (*put_end)(struct tr_call *call);
    tr_status (*put_string)(struct tr_call *call, const char *key, const char *text,
                            uint64_t length);
    tr_status (*put_bool)(struct tr_call *call, const char *key, bool value);
    tr_status (*put_i64)(struct tr_call *call, const char *key, int64_t value);
    tr_status (*put_u64)(struct tr_call *call, const char *key, uint64_t value);
    tr_status (*put_f64)(struct tr_call *call, const char *key, double value);
    tr_status (*put_json)(struct tr_call *call, const char *key, const char *json, uint64_t length);
    /* Since 1.1. */
    tr_status (*ask)(struct tr_call *call, const char *message, const char *schema,
                     const char **ret_content);
    /* Since 1.3. `file` is a file name or path; the host shows what follows its last slash. */
    tr_status (*fail_at)(struct tr_call *call, tr_status code, const char *field,
                         const char *message, const char *file, int32_t line);
    /* Since 1.4. `count` inputs, inputs[0].size apart; sets content and answer of each. */
    tr_status (*inputs)(struct tr_call *call, struct tr_input *inputs, uint32_t count);
    tr_status (*reply_content)(struct tr_call *call, const char *json, uint64_t length);
    tr_status (*reply_link)(struct tr_call *call, const struct tr_link *link);
    /* Since 1.5. `count` arguments, `size` bytes apart. */
    tr_status (*get_all)(struct tr_call *call, struct tr_argument *arguments, uint32_t count,
                         uint32_t size);
};

/** One call in progress. It and all its data are valid until the tool returns. [call-thread] */
struct tr_call {
    const struct tr_call_api *api;
};

#ifdef __cplusplus
#define TR_CAST_(type, value) static_cast<type>(value)
#else
#define TR_CAST_(type, value) ((type)(value))
#endif

/* Arguments. A path is a key ("limit") or a JSON Pointer with or without its first slash
 * ("filter/0/name", where ~1 stands for a slash and ~0 for a tilde). Before the host calls the
 * tool, it checks the arguments against the schema and fills in its defaults. A getter returns
 * `fallback` if the argument is absent, null or of another type. */

/** All arguments as one JSON object, zero-terminated. */
static inline const char *tr_arguments(struct tr_call *call) {
    return call->api->arguments(call, NULL);
}

/** enum tr_json_kind of an argument; the empty path is the whole object. */
static inline int32_t tr_kind_of(struct tr_call *call, const char *path) {
    return call->api->kind(call, path);
}

/** Items of an array or members of an object; 0 for anything else. */
static inline uint64_t tr_count(struct tr_call *call, const char *path) {
    return call->api->count(call, path);
}

static inline bool tr_get_bool(struct tr_call *call, const char *path, bool fallback) {
    bool value;
    return call->api->get_bool(call, path, &value) == TR_OK ? value : fallback;
}

/** Integers only, or a number without fraction, within the type's range. */
static inline int64_t tr_get_i64(struct tr_call *call, const char *path, int64_t fallback) {
    int64_t value;
    return call->api->get_i64(call, path, &value) == TR_OK ? value : fallback;
}

static inline uint64_t tr_get_u64(struct tr_call *call, const char *path, uint64_t fallback) {
    uint64_t value;
    return call->api->get_u64(call, path, &value) == TR_OK ? value : fallback;
}

static inline double tr_get_f64(struct tr_call *call, const char *path, double fallback) {
    double value;
    return call->api->get_f64(call, path, &value) == TR_OK ? value : fallback;
}

/** Zero-terminated UTF-8; lives as long as the call. A string with a zero inside gives
 * `fallback`. */
static inline const char *tr_get_string(struct tr_call *call, const char *path,
                                        const char *fallback) {
    const char *value;
    return call->api->get_string(call, path, &value, NULL) == TR_OK ? value : fallback;
}

/** A base64 string, decoded; lives as long as the call. Without the argument data is NULL. */
static inline struct tr_bytes tr_get_bytes(struct tr_call *call, const char *path) {
    struct tr_bytes value = {NULL, 0};
    (void)call->api->get_bytes(call, path, &value);
    return value;
}

/** The text of any JSON value; lives as long as the call. */
static inline const char *tr_get_json(struct tr_call *call, const char *path,
                                      const char *fallback) {
    const char *value;
    return call->api->get_json(call, path, &value, NULL) == TR_OK ? value : fallback;
}

/** One argument, as a host before 1.5 gives it. */
static inline tr_status tr_get_argument_(struct tr_call *call, const struct tr_argument *argument) {
    const struct tr_call_api *api = call->api;
    const char *name = argument->name;
    void *value = argument->value;
    switch (argument->kind) {
    case TR_KIND_BOOL: return api->get_bool(call, name, TR_CAST_(bool *, value));
    case TR_KIND_I64: return api->get_i64(call, name, TR_CAST_(int64_t *, value));
    case TR_KIND_U64: return api->get_u64(call, name, TR_CAST_(uint64_t *, value));
    case TR_KIND_F64: return api->get_f64(call, name, TR_CAST_(double *, value));
    case TR_KIND_STRING: return api->get_string(call, name, TR_CAST_(const char **, value), NULL);
    case TR_KIND_BYTES: return api->get_bytes(call, name, TR_CAST_(struct tr_bytes *, value));
    case TR_KIND_JSON: return api->get_json(call, name, TR_CAST_(const char **, value), NULL);
    default: return TR_INVALID_ARGUMENTS;
    }
}

/** Read many arguments in one walk, in any order: quicker than one by one, most of all in the order
 * of the schema. A variable keeps what it has if its argument is absent, null or of another type;
 * `status` of each tells which. In C, TR_GET_ALL() writes the table:
 *
 *     const char *path = "";
 *     int64_t limit = 10;
 *     TR_GET_ALL(call, TR_GET(path), TR_GET(limit));
 *
 * Returns TR_OK, or the code of a failure, with which the call then fails too. On a host before 1.5
 * it reads one by one. */
static inline tr_status tr_get_all(struct tr_call *call, struct tr_argument *arguments,
                                   uint32_t count) {
    const struct tr_call_api *api = call->api;
    if (api->size >= offsetof(struct tr_call_api, get_all) + sizeof api->get_all &&
        api->get_all != NULL) {
        return api->get_all(call, arguments, count, sizeof *arguments);
    }
    for (uint32_t i = 0; i < count; i++) {
        tr_status status = tr_get_argument_(call, &arguments[i]);
        arguments[i].status = status;
        if (status != TR_OK && status != TR_ABSENT && status != TR_INVALID_ARGUMENTS) {
            return status;
        }
    }
    return TR_OK;
}

/* Replies of JSON tools (the reply of a typed tool is its return value). A call may reply several
 * times; passed data is copied at once. Each function returns TR_OK, or the code of a failure, with
 * which the call then fails too (so `return tr_reply_text(...)` is correct). */

static inline tr_status tr_reply_text(struct tr_call *call, const char *text) {
    return call->api->reply_text(call, text, UINT64_MAX);
}

/** One JSON value: the structured result. At most one such reply a call. */
static inline tr_status tr_reply_json(struct tr_call *call, const char *json) {
    return call->api->reply_json(call, json, UINT64_MAX);
}

static inline tr_status tr_reply_image(struct tr_call *call, const void *data, uint64_t size,
                                       const char *mime_type) {
    return call->api->reply_image(call, data, size, mime_type);
}

static inline tr_status tr_reply_audio(struct tr_call *call, const void *data, uint64_t size,
                                       const char *mime_type) {
    return call->api->reply_audio(call, data, size, mime_type);
}

/** A resource embedded in the reply. `mime_type` may be NULL. */
static inline tr_status tr_reply_resource_text(struct tr_call *call, const char *uri,
                                               const char *mime_type, const char *text) {
    return call->api->reply_resource(call, uri, mime_type, text, NULL, 0);
}

static inline tr_status tr_reply_resource_bytes(struct tr_call *call, const char *uri,
                                                const char *mime_type, const void *data,
                                                uint64_t size) {
    return call->api->reply_resource(call, uri, mime_type, NULL, data, size);
}

/** A link to a resource, such as a file that the tool has written. On a host before 1.4 its URI, as
 * text. */
static inline tr_status tr_reply_link(struct tr_call *call, const struct tr_link *link) {
    const struct tr_call_api *api = call->api;
    bool has_links = api->size >= offsetof(struct tr_call_api, reply_link) + sizeof api->reply_link;
    return has_links && api->reply_link != NULL ? api->reply_link(call, link)
                                                : tr_reply_text(call, link->uri);
}

/** One content block as MCP has it, as JSON: of `type` text, image, audio, resource or
 * resource_link, with what the functions above do not state, above all `annotations` (`audience`,
 * `priority`, `lastModified`):
 *
 *     tr_reply_content(call, TR_SCHEMA({"type": "text", "text": "row 3 was skipped",
 *                                       "annotations": {"audience": ["user"], "priority": 0.2}}));
 *
 * The host checks it. TR_ABSENT on a host before 1.4, which takes no such reply: reply otherwise.
 */
static inline tr_status tr_reply_content(struct tr_call *call, const char *json) {
    const struct tr_call_api *api = call->api;
    bool has_it =
            api->size >= offsetof(struct tr_call_api, reply_content) + sizeof api->reply_content;
    return has_it && api->reply_content != NULL ? api->reply_content(call, json, UINT64_MAX)
                                                : TR_ABSENT;
}

/* Build the JSON reply piece by piece, without a JSON library; instead of tr_reply_json().
 *
 *     tr_put_object(call, NULL);
 *     tr_put_string(call, "city", "Cologne");
 *     tr_put_array(call, "temperatures");
 *     tr_put_f64(call, NULL, 21.5);
 *     tr_put_end(call);
 *     return tr_put_end(call);
 *
 * In an object each piece has a key; in an array and for the whole value the key is NULL. The host
 * checks that the pieces fit together, so it is sufficient to check the last returned status. */

static inline tr_status tr_put_object(struct tr_call *call, const char *key) {
    return call->api->put_begin(call, key, TR_JSON_OBJECT);
}

static inline tr_status tr_put_array(struct tr_call *call, const char *key) {
    return call->api->put_begin(call, key, TR_JSON_ARRAY);
}

/** End the innermost open object or array. */
static inline tr_status tr_put_end(struct tr_call *call) {
    return call->api->put_end(call);
}

static inline tr_status tr_put_string(struct tr_call *call, const char *key, const char *text) {
    return call->api->put_string(call, key, text, UINT64_MAX);
}

static inline tr_status tr_put_bool(struct tr_call *call, const char *key, bool value) {
    return call->api->put_bool(call, key, value);
}

static inline tr_status tr_put_i64(struct tr_call *call, const char *key, int64_t value) {
    return call->api->put_i64(call, key, value);
}

static inline tr_status tr_put_u64(struct tr_call *call, const char *key, uint64_t value) {
    return call->api->put_u64(call, key, value);
}

/** NaN and infinities fail the call: JSON cannot represent them. */
static inline tr_status tr_put_f64(struct tr_call *call, const char *key, double value) {
    return call->api->put_f64(call, key, value);
}

/** The text of any JSON value; tr_put_json(call, "next", "null") puts a null. */
static inline tr_status tr_put_json(struct tr_call *call, const char *key, const char *json) {
    return call->api->put_json(call, key, json, UINT64_MAX);
}

/** Longest message of the printf-like functions below; the rest is cut. */
#define TR_MESSAGE_MAX 1024

/** tr_reply_text() with printf's format; a text of any length. */
TR_FORMAT_(2, 3)
static inline tr_status tr_reply_textf(struct tr_call *call, const char *format, ...) {
    char few[TR_MESSAGE_MAX];
    char *text = few;
    va_list args;
    va_start(args, format);
    int length = vsnprintf(few, sizeof few, format, args);
    va_end(args);
    if (length >= TR_MESSAGE_MAX) {
        text = TR_CAST_(char *, call->api->alloc(call, TR_CAST_(uint64_t, length) + 1));
        if (text == NULL) {
            return TR_LIMIT_EXCEEDED;
        }
        va_start(args, format);
        (void)vsnprintf(text, TR_CAST_(size_t, length) + 1, format, args);
        va_end(args);
    }
    return tr_reply_text(call, text);
}

/** Fail the call: `return tr_fail(call, TR_INVALID_ARGUMENTS, "amount", "must be above 0");`
 * `field` is the path of the argument at fault, or NULL. Returns `code`; a typed tool may return
 * any value after it. The error says that the tool failed the call; one of the host's decisions
 * (TR_PERMISSION_DENIED, TR_TIMED_OUT; TR_CANCELLED of a call that nobody cancelled) becomes
 * ExecutionFailed with a message that names the code. */
TR_FORMAT_(4, 5)
static inline tr_status tr_fail(struct tr_call *call, tr_status code, const char *field,
                                const char *format, ...) {
    char message[TR_MESSAGE_MAX];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return (call->api->fail)(call, code, field, message); /* cmocka has a macro fail() */
}

/** The same, with the place in the source, which the error's trace names on a host since 1.3. */
TR_FORMAT_(6, 7)
static inline tr_status tr_fail_at(struct tr_call *call, tr_status code, const char *field,
                                   const char *file, int32_t line, const char *format, ...) {
    const struct tr_call_api *api = call->api;
    bool can_say = api->size >= offsetof(struct tr_call_api, fail_at) + sizeof api->fail_at;
    char message[TR_MESSAGE_MAX];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return can_say && api->fail_at != NULL ? api->fail_at(call, code, field, message, file, line)
                                           : (api->fail)(call, code, field, message);
}

/** tr_fail() tells where it stands. Define TR_NO_PLACES before this header is included if the names
 * of source files must not be in the plugin. */
#ifndef TR_NO_PLACES
#ifdef __FILE_NAME__
#define TR_FILE_ __FILE_NAME__
#else
#define TR_FILE_ __FILE__
#endif
#define tr_fail(call, code, field, ...) \
    tr_fail_at(call, code, field, TR_FILE_, __LINE__, __VA_ARGS__)
#endif

/** Report progress: `done` of `total` (0: unknown); `done` only grows. `message` may be NULL. */
static inline void tr_progress(struct tr_call *call, double done, double total,
                               const char *message) {
    call->api->progress(call, done, total, message);
}

/** One line for the operator; `level` is enum tr_log_level. An empty one is left out. */
TR_FORMAT_(3, 4)
static inline void tr_log(struct tr_call *call, int32_t level, const char *format, ...) {
    char message[TR_MESSAGE_MAX];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(message, sizeof message, format, args);
    va_end(args);
    call->api->log(call, level, message);
}

/** Ask the person for whom the call is made, and wait for the answer.
 *
 *     const char *answer;
 *     switch (tr_ask(call, "Which branch?",
 *                    TR_SCHEMA({"type": "object", "properties": {"branch": {"type": "string"}}}),
 *                    &answer)) { ... }
 *
 * `message` is one or a few lines for the person. `schema` is the JSON Schema of an object whose
 * properties are flat, as elicitation in MCP allows: strings (with enum, format or lengths),
 * numbers, integers, booleans and arrays of strings of an enum, nothing nested. A schema without
 * properties, or NULL, asks for consent only; `ret_content` may then be NULL too. Message and
 * schema have at most 64 KiB each. Never ask for a secret: others may see the answer.
 *
 * Returns TR_OK if the person accepted: `*ret_content` is then the JSON object with the person's
 * answers, zero-terminated, which lives as long as the call. The host has checked that it is an
 * object, but not that it matches the schema: check its values like any argument. Returns
 * TR_PERMISSION_DENIED if the person declined, TR_CANCELLED if the person dismissed the question or
 * the call was cancelled or timed out, and TR_ABSENT if nobody can be asked, as on any host before
 * 1.1: continue in the safest way, or fail and name the argument that makes the question
 * unnecessary. With any other code the call fails.
 *
 * A call may be run twice. Some callers cannot wait: then this function returns TR_CANCELLED,
 * tr_cancelled() is true from then on, the call ends whatever the tool returns, and when the answer
 * is there the tool runs again, from its beginning and with the same arguments; this time the
 * function returns the answer. So ask first and act then: what a tool did before it asked, it does
 * twice. Answers are found again by the number of the question in the call; a tool whose questions
 * may come in another order names them, with tr_ask_as(). */
static inline tr_status tr_ask(struct tr_call *call, const char *message, const char *schema,
                               const char **ret_content) {
    const struct tr_call_api *api = call->api;
    bool can_ask = api->size >= offsetof(struct tr_call_api, ask) + sizeof api->ask;
    return can_ask && api->ask != NULL ? api->ask(call, message, schema, ret_content) : TR_ABSENT;
}

/** Ask for several things at once, none of which depends on the answer to another: the person sees
 * them together, and a call that is run again is run again once for all of them. At most 16.
 *
 * Returns TR_OK when they were asked: each has its `answer` then, and its `content` where that is
 * TR_ANSWER_ACCEPTED. Returns TR_CANCELLED as tr_ask() does, also where the tool will run again,
 * and TR_ABSENT if nobody can be asked at all, as on any host before 1.4. With any other code the
 * call fails. */
static inline tr_status tr_inputs(struct tr_call *call, struct tr_input *inputs, uint32_t count) {
    const struct tr_call_api *api = call->api;
    bool can_ask = api->size >= offsetof(struct tr_call_api, inputs) + sizeof api->inputs;
    return can_ask && api->inputs != NULL ? api->inputs(call, inputs, count) : TR_ABSENT;
}

/** One input; returns what tr_ask() returns. */
static inline tr_status tr_input_one(struct tr_call *call, struct tr_input *input,
                                     const char **ret_content) {
    input->size = sizeof *input;
    tr_status status = tr_inputs(call, input, 1);
    if (status != TR_OK) {
        return status;
    }
    if (input->answer == TR_ANSWER_ACCEPTED && ret_content != NULL) {
        *ret_content = input->content;
    }
    return input->answer == TR_ANSWER_ACCEPTED   ? TR_OK
           : input->answer == TR_ANSWER_DECLINED ? TR_PERMISSION_DENIED
           : input->answer == TR_ANSWER_NOBODY   ? TR_ABSENT
                                                 : TR_CANCELLED;
}

/** tr_ask() by a name: `key` is as in struct tr_input, and each question of a call has another. */
static inline tr_status tr_ask_as(struct tr_call *call, const char *key, const char *message,
                                  const char *schema, const char **ret_content) {
    const struct tr_call_api *api = call->api;
    bool has_keys = api->size >= offsetof(struct tr_call_api, inputs) + sizeof api->inputs;
    struct tr_input input = {0, TR_INPUT_FORM, key, message, schema, NULL, NULL, 0, 0};
    return has_keys && api->inputs != NULL ? tr_input_one(call, &input, ret_content)
                                           : tr_ask(call, message, schema, ret_content);
}

/** Ask the person to open an address, an https: or http: URL, and to do there what `message` says,
 * such as to log in; for what must not pass through the client, above all secrets. TR_OK says that
 * the person agreed, not that it is done: the plugin's own server knows that. Otherwise as
 * tr_ask(). */
static inline tr_status tr_ask_url(struct tr_call *call, const char *key, const char *message,
                                   const char *url) {
    struct tr_input input = {0, TR_INPUT_URL, key, message, NULL, url, NULL, 0, 0};
    return tr_input_one(call, &input, NULL);
}

/** Let the client's model answer, and wait for it. `request_json` is a JSON object, the `params` of
 * MCP's sampling/createMessage (`messages` and `maxTokens` are required), of at most 4 MiB;
 * `*ret_json` is then MCP's CreateMessageResult (`role`, `content`, `model` ...), which the host
 * has checked to be an object. The person may see, change or refuse both. `key` as in struct
 * tr_input, or NULL. Returns what tr_ask() returns: TR_ABSENT where the client has no model to
 * offer, which most have not. */
static inline tr_status tr_sample(struct tr_call *call, const char *key, const char *request_json,
                                  const char **ret_json) {
    struct tr_input input = {0, TR_INPUT_SAMPLE, key, NULL, NULL, request_json, NULL, 0, 0};
    return tr_input_one(call, &input, ret_json);
}

/** The folders that the client works in: `*ret_json` is MCP's ListRootsResult, such as {"roots":
 * [{"uri": "file:///srv/work", "name": "work"}]}. What the client says, no right to use them: the
 * sandbox grants what the administrator allows. Otherwise as tr_sample(). */
static inline tr_status tr_roots(struct tr_call *call, const char *key, const char **ret_json) {
    struct tr_input input = {0, TR_INPUT_ROOTS, key, NULL, NULL, NULL, NULL, 0, 0};
    return tr_input_one(call, &input, ret_json);
}

/** Whether the call was cancelled or its deadline has passed. A tool that runs long checks this
 * from time to time, at least every 100 ms, and returns when it is true: it has 250 ms for that
 * (`grace_ms` of its policy says otherwise). Then its worker is ended: at once, or, while other
 * calls of a thread-safe plugin run in it, when those have ended; it gets no new ones meanwhile. */
static inline bool tr_cancelled(struct tr_call *call) {
    return call->api->cancelled(call);
}

/** Milliseconds until the deadline; UINT64_MAX without one. */
static inline uint64_t tr_time_left_ms(struct tr_call *call) {
    return call->api->time_left_ms(call);
}

/** A fact about the call: `key` is enum tr_context_key. NULL if it is not known. */
static inline const char *tr_context(struct tr_call *call, int32_t key) {
    return call->api->context(call, key);
}

/** Memory for results, freed after the call; aligned for any type, not cleared. NULL if the limit
 * is reached; the call then fails with LimitExceeded when the tool returns. */
static inline void *tr_alloc(struct tr_call *call, uint64_t size) {
    return call->api->alloc(call, size);
}

/** The host's side of a plugin, in open(). Use the functions below. */
struct tr_host_api {
    uint64_t size; /**< sizeof(struct tr_host_api) as the host has it */
    tr_status (*config)(struct tr_host *host, const char *path, const char **ret);
    void (*log)(struct tr_host *host, int32_t level, const char *message);
    tr_status (*fail)(struct tr_host *host, const char *message);
    const void *(*get_extension)(struct tr_host *host, const char *id);
};

/** The argument of open(); valid until open() returns, except where an extension says otherwise. */
struct tr_host {
    const struct tr_host_api *api;
};

/** A setting of this plugin from the host's configuration, by path as above: a string unchanged,
 * any other value as JSON. `fallback` if it is not set. Valid until open() returns. [plugin] */
static inline const char *tr_host_config(struct tr_host *host, const char *path,
                                         const char *fallback) {
    const char *value;
    return host->api->config(host, path, &value) == TR_OK ? value : fallback;
}

/** One line for the operator. [plugin] */
TR_FORMAT_(3, 4)
static inline void tr_host_log(struct tr_host *host, int32_t level, const char *format, ...) {
    char message[TR_MESSAGE_MAX];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(message, sizeof message, format, args);
    va_end(args);
    host->api->log(host, level, message);
}

/** Refuse to open: `return tr_host_fail(host, "cannot read %s: %s", path, strerror(errno));`
 * [plugin] */
TR_FORMAT_(2, 3)
static inline tr_status tr_host_fail(struct tr_host *host, const char *format, ...) {
    char message[TR_MESSAGE_MAX];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return (host->api->fail)(host, message);
}

/** An optional interface of the host by id, or NULL. [plugin] */
static inline const void *tr_host_get_extension(struct tr_host *host, const char *id) {
    return host->api->get_extension(host, id);
}

#ifdef __cplusplus
}
#endif

/* ========================================================= 3. macros for C */

#ifndef __cplusplus

/* clang-format off */

/* Types. Each is (C parameters), C value, (initialisers of struct tr_type), and the first two once
 * more for the nullable form. */
#define TR_VALUE_TYPE_(type, kind_)                                                                \
    ((type), type, (.kind = (kind_), .width = sizeof(type)), (type const *), type const *)
#define TR_TEXT_TYPE_(kind_)                                                                       \
    ((const char *), const char *, (.kind = (kind_)), (const char *), const char *)

#define TR_VOID   ((void), void, (.kind = TR_KIND_NONE), (void), void)
#define TR_BOOL   TR_VALUE_TYPE_(bool, TR_KIND_BOOL)
#define TR_I8     TR_VALUE_TYPE_(int8_t, TR_KIND_I8)
#define TR_I16    TR_VALUE_TYPE_(int16_t, TR_KIND_I16)
#define TR_I32    TR_VALUE_TYPE_(int32_t, TR_KIND_I32)
#define TR_I64    TR_VALUE_TYPE_(int64_t, TR_KIND_I64)
#define TR_U8     TR_VALUE_TYPE_(uint8_t, TR_KIND_U8)
#define TR_U16    TR_VALUE_TYPE_(uint16_t, TR_KIND_U16)
#define TR_U32    TR_VALUE_TYPE_(uint32_t, TR_KIND_U32)
#define TR_U64    TR_VALUE_TYPE_(uint64_t, TR_KIND_U64)
#define TR_F32    TR_VALUE_TYPE_(float, TR_KIND_F32)
#define TR_F64    TR_VALUE_TYPE_(double, TR_KIND_F64)
#define TR_STRING TR_TEXT_TYPE_(TR_KIND_STRING)
#define TR_JSON   TR_TEXT_TYPE_(TR_KIND_JSON)
#define TR_BYTES                                                                                   \
    ((const void *, size_t), struct tr_bytes, (.kind = TR_KIND_BYTES), (const void *, size_t),     \
     struct tr_bytes)

/** An array of any type here: `const T *items, size_t count`. */
#define TR_ARRAY(type_)                                                                            \
    ((TR_STORED_(type_) const *, size_t), struct tr_array,                                         \
     (.kind = TR_KIND_ARRAY, .item = TR_TYPE_(type_)), (TR_STORED_(type_) const *, size_t),        \
     struct tr_array)

/** A struct or an enumeration described by TR_DEFINE_STRUCT or TR_DEFINE_ENUM. */
#define TR_STRUCT(name)                                                                            \
    ((tr_struct_##name), tr_struct_##name,                                                         \
     (.kind = TR_KIND_STRUCT, .width = sizeof(tr_struct_##name), .fields = tr_fields_##name,       \
      .field_count = sizeof tr_fields_##name / sizeof(struct tr_param),                            \
      .field_size = sizeof(struct tr_param)),                                                      \
     (tr_struct_##name const *), tr_struct_##name const *)
#define TR_ENUM(name)                                                                              \
    ((tr_enum_##name), tr_enum_##name,                                                             \
     (.kind = TR_KIND_ENUM, .width = sizeof(tr_enum_##name), .choices = tr_choices_##name,         \
      .choice_count = sizeof tr_choices_##name / sizeof(struct tr_choice),                         \
      .choice_size = sizeof(struct tr_choice)),                                                    \
     (tr_enum_##name const *), tr_enum_##name const *)

/** NULL for JSON null; NULL also if absent; never NULL, for functions that take a pointer. */
#define TR_NULLABLE(type_) TR_POINTED_(type_, TR_TYPE_NULLABLE)
#define TR_OPTIONAL(type_) TR_POINTED_(type_, TR_TYPE_OPTIONAL)
#define TR_POINTER(type_)  TR_POINTED_(type_, TR_TYPE_BY_POINTER)
#define TR_POINTED_(type_, flag_)                                                                  \
    (TR_T_NULLABLE_PARAMS_ type_, TR_T_NULLABLE_STORED_ type_,                                     \
     (TR_UNPAREN_(TR_T_INIT_ type_), .flags = (flag_)), TR_T_NULLABLE_PARAMS_ type_,               \
     TR_T_NULLABLE_STORED_ type_)

/** The call as the first parameter: `TR_CALL` in place of a group. */
#define TR_CALL                                                                                    \
    (((struct tr_call *), struct tr_call *, (.kind = TR_KIND_CALL), (struct tr_call *),            \
      struct tr_call *),                                                                           \
     call, NULL)

/* Options of a parameter whose value is JSON. The others are designated initialisers of struct
 * tr_param, such as `.max_length = 100`. A bound may be a macro that is one number; in a default
 * and in choices, where `true` may be a macro, none is expanded. */
#define TR_NUMBER_TEXT_(n)       #n
#define TR_DEFAULT(...)          .default_json = #__VA_ARGS__
#define TR_CHOICES(...)          .choices_json = "[" #__VA_ARGS__ "]"
#define TR_MINIMUM(n)            .minimum_json = TR_NUMBER_TEXT_(n)
#define TR_MAXIMUM(n)            .maximum_json = TR_NUMBER_TEXT_(n)
#define TR_EXCLUSIVE_MINIMUM(n)  .exclusive_minimum_json = TR_NUMBER_TEXT_(n)
#define TR_EXCLUSIVE_MAXIMUM(n)  .exclusive_maximum_json = TR_NUMBER_TEXT_(n)
#define TR_MULTIPLE_OF(n)        .multiple_of_json = TR_NUMBER_TEXT_(n)

/** Any JSON written as C tokens, as a string: TR_SCHEMA({"type": "object"}). */
#define TR_SCHEMA(...) #__VA_ARGS__

/** Describe a struct: a name of your choice, the C type, then a group for each field.
 *
 *     struct point { double x, y; };
 *     TR_DEFINE_STRUCT(point, struct point, (TR_F64, x, "abscissa"), (TR_F64, y, "ordinate"))
 */
#define TR_DEFINE_STRUCT(name_, type_, ...)                                                        \
    typedef type_ tr_struct_##name_;                                                               \
    TR_MAP_NONE_(TR_FIELD_CHECK_, tr_struct_##name_, __VA_ARGS__)                                  \
    static const struct tr_param tr_fields_##name_[] = {                                           \
            TR_MAP_COMMA_(TR_FIELD_, tr_struct_##name_, __VA_ARGS__)};

/** Describe an enumeration: a name of your choice, the C type, then (constant, "name") groups. */
#define TR_DEFINE_ENUM(name_, type_, ...)                                                          \
    typedef type_ tr_enum_##name_;                                                                 \
    static const struct tr_choice tr_choices_##name_[] = {                                         \
            TR_MAP_COMMA_(TR_CHOICE_, ~, __VA_ARGS__)};

/** A typed tool. `function_` is a C function and the tool's name; `text_` its description, or a
 * group of the description and options of struct tr_tool; then the result's type; then a group
 * for each parameter, at most 32: (type, name, description, options ...).
 *
 *     TR_TOOL(divide, ("Divide two numbers", .priority = 5, .tags = "math"), TR_F64,
 *             (TR_F64, dividend, "what is divided"),
 *             (TR_F64, divisor, "by what", TR_EXCLUSIVE_MINIMUM(0), TR_DEFAULT(1)))
 *
 * The list is checked against the function at compile time. */
#define TR_TOOL(function_, text_, ...)                                                             \
    TR_CAT_(TR_TOOL_, TR_SEVERAL_(__VA_ARGS__))(function_, text_, __VA_ARGS__)

/** A JSON tool: `tr_status function_(struct tr_call *call)`, its description as above, and the
 * JSON Schema of its arguments as a string. */
#define TR_JSON_TOOL(function_, text_, schema_)                                                    \
    _Static_assert(_Generic(&(function_), tr_status(*)(struct tr_call *): 1, default: 0),          \
                   "toolrack: " #function_ " must be: tr_status " #function_                       \
                   "(struct tr_call *call)");                                                      \
    static const struct tr_tool tr_tool_##function_ = {.size = sizeof(struct tr_tool),             \
                                                       .name = #function_,                         \
                                                       .schema = schema_,                          \
                                                       .run = function_,                           \
                                                       .description = TR_OPEN_(text_)};

/** The plugin: its id (or a group of the id and options of struct tr_plugin), its version, and the
 * functions of its tools, at most 32. Used once in a plugin, after the tools. */
#define TR_PLUGIN(id_, version_, ...)                                                              \
    static const struct tr_tool *const tr_tools_[] = {                                             \
            TR_MAP_COMMA_(TR_TOOL_ADDRESS_, ~, __VA_ARGS__)};                                      \
    TR_EXPORT const struct tr_plugin toolrack_plugin = {                                           \
            .magic = TR_MAGIC,                                                                     \
            .size = sizeof(struct tr_plugin),                                                      \
            .abi_major = TR_ABI_MAJOR,                                                             \
            .abi_minor = TR_ABI_MINOR,                                                             \
            .version = version_,                                                                   \
            .tool_count = sizeof tr_tools_ / sizeof tr_tools_[0],                                  \
            .tool_size = sizeof(struct tr_tool),                                                   \
            .tools = tr_tools_,                                                                    \
            .id = TR_OPEN_(id_)};

/** Options of a plugin: `.capabilities = TR_CAPABILITIES(TR_READS("${workspace}"))` needs its
 * count as well, so this sets both. */
#define TR_CAPABILITIES(...)                                                                       \
    .capabilities = (const struct tr_capability[]){__VA_ARGS__},                                   \
    .capability_count =                                                                            \
            sizeof((const struct tr_capability[]){__VA_ARGS__}) / sizeof(struct tr_capability),    \
    .capability_size = sizeof(struct tr_capability)
#define TR_READS(path)    {TR_CAP_READ, 0, path}
#define TR_WRITES(path)   {TR_CAP_WRITE, 0, path}
#define TR_CONNECTS(host) {TR_CAP_NETWORK, 0, host}
#define TR_SPAWNS(name)   {TR_CAP_SPAWN, 0, name}
#define TR_READS_ENV(name) {TR_CAP_ENV, 0, name}
/** The same, of which the tools make use, and without which they are of use too. */
#define TR_MAY_READ(path)      {TR_CAP_READ, TR_CAP_OPTIONAL, path}
#define TR_MAY_WRITE(path)     {TR_CAP_WRITE, TR_CAP_OPTIONAL, path}
#define TR_MAY_CONNECT(host)   {TR_CAP_NETWORK, TR_CAP_OPTIONAL, host}
#define TR_MAY_SPAWN(name)     {TR_CAP_SPAWN, TR_CAP_OPTIONAL, name}
#define TR_MAY_READ_ENV(name)  {TR_CAP_ENV, TR_CAP_OPTIONAL, name}

/** Examples of a tool, as an option beside its description; they set their count as well:
 *
 *     TR_TOOL(divide,
 *             ("Divide two numbers",
 *              TR_EXAMPLES(TR_EXAMPLE("{\"dividend\": 6, \"divisor\": 3}", "2"),
 *                          TR_EXAMPLE(TR_SCHEMA({"dividend": 1}), NULL))), ...
 *
 * The arguments and the result are JSON strings; TR_SCHEMA() makes backslashes unnecessary. */
#define TR_EXAMPLES(...)                                                                           \
    .examples = (const struct tr_example[]){__VA_ARGS__},                                          \
    .example_count =                                                                               \
            sizeof((const struct tr_example[]){__VA_ARGS__}) / sizeof(struct tr_example),          \
    .example_size = sizeof(struct tr_example)
#define TR_EXAMPLE(arguments_, result_) {arguments_, result_}

/** Read arguments into variables of their names: a bool, an int64_t, a uint64_t, a double, a const
 * char * (a string) or a struct tr_bytes each. See tr_get_all(). */
#define TR_GET_ALL(call_, ...)                                                                     \
    tr_get_all(call_, (struct tr_argument[]){__VA_ARGS__},                                         \
               sizeof((struct tr_argument[]){__VA_ARGS__}) / sizeof(struct tr_argument))
#define TR_GET(variable_)                                                                          \
    {#variable_,                                                                                   \
     _Generic(&(variable_), bool *: TR_KIND_BOOL, int64_t *: TR_KIND_I64,                          \
              uint64_t *: TR_KIND_U64, double *: TR_KIND_F64, const char **: TR_KIND_STRING,       \
              struct tr_bytes *: TR_KIND_BYTES),                                                   \
     TR_OK, &(variable_)}

/* ---- how the macros above work; names that end in _ are not for use */

#define TR_TOOL_0(function_, text_, result_)                                                       \
    TR_CHECK_(function_, TR_RESULT_(result_), void)                                                \
    static const struct tr_tool tr_tool_##function_ = {.size = sizeof(struct tr_tool),             \
                                                       .name = #function_,                         \
                                                       .param_size = sizeof(struct tr_param),      \
                                                       .result = TR_TYPE_(result_),                \
                                                       .function = (void (*)(void))function_,      \
                                                       .description = TR_OPEN_(text_)};

#define TR_TOOL_1(function_, text_, result_, ...)                                                  \
    TR_CHECK_(function_, TR_RESULT_(result_), TR_MAP_COMMA_(TR_PARAM_C_, ~, __VA_ARGS__))          \
    static const struct tr_param tr_params_##function_[] = {                                       \
            TR_MAP_COMMA_(TR_PARAM_, ~, __VA_ARGS__)};                                             \
    static const struct tr_tool tr_tool_##function_ = {                                            \
            .size = sizeof(struct tr_tool),                                                        \
            .name = #function_,                                                                    \
            .params = tr_params_##function_,                                                       \
            .param_count = sizeof tr_params_##function_ / sizeof(struct tr_param),                 \
            .param_size = sizeof(struct tr_param),                                                 \
            .result = TR_TYPE_(result_),                                                           \
            .function = (void (*)(void))function_,                                                 \
            .description = TR_OPEN_(text_)};

#define TR_CHECK_(function_, result_, ...)                                                         \
    _Static_assert(_Generic(&(function_), result_(*)(__VA_ARGS__): 1, default: 0),                 \
                   "toolrack: the C function " #function_                                          \
                   " and its TR_TOOL list differ in a type or in the number of parameters");

#define TR_PARAM_(unused_, group_)   TR_PARAM_OF_ group_
#define TR_PARAM_C_(unused_, group_) TR_PARAM_C_OF_ group_
#define TR_PARAM_OF_(type_, name_, ...)                                                            \
    {.name = #name_, .type = TR_TYPE_(type_), .description = __VA_ARGS__}
#define TR_PARAM_C_OF_(type_, name_, ...) TR_UNPAREN_(TR_T_PARAMS_ type_)

#define TR_FIELD_(struct_, group_)       TR_FIELD_OF_(struct_, TR_UNPAREN_(group_))
#define TR_FIELD_CHECK_(struct_, group_) TR_FIELD_CHECK_OF_(struct_, TR_UNPAREN_(group_))
#define TR_FIELD_OF_(...)                TR_FIELD_OF__(__VA_ARGS__)
#define TR_FIELD_CHECK_OF_(...)          TR_FIELD_CHECK_OF__(__VA_ARGS__)
#define TR_FIELD_OF__(struct_, type_, name_, ...)                                                  \
    {.name = #name_,                                                                               \
     .type = TR_TYPE_(type_),                                                                      \
     .offset = offsetof(struct_, name_),                                                           \
     .description = __VA_ARGS__}
#define TR_FIELD_CHECK_OF__(struct_, type_, name_, ...)                                            \
    _Static_assert(_Generic(&((struct_ *)0)->name_, TR_STORED_(type_) *: 1, default: 0),           \
                   "toolrack: the field " #name_ " has another C type than its group says");

#define TR_CHOICE_(unused_, group_) TR_CHOICE_OF_ group_
#define TR_CHOICE_OF_(constant_, name_)                                                            \
    {.name = name_, .value = constant_}

#define TR_TOOL_ADDRESS_(unused_, function_) &tr_tool_##function_

/* Parts of a type. */
#define TR_T_PARAMS_(params, stored, init, nullable_params, nullable_stored)          params
#define TR_T_STORED_(params, stored, init, nullable_params, nullable_stored)          stored
#define TR_T_INIT_(params, stored, init, nullable_params, nullable_stored)            init
#define TR_T_NULLABLE_PARAMS_(params, stored, init, nullable_params, nullable_stored) nullable_params
#define TR_T_NULLABLE_STORED_(params, stored, init, nullable_params, nullable_stored) nullable_stored
#define TR_STORED_(type_) TR_T_STORED_ type_
#define TR_RESULT_(type_) TR_T_STORED_ type_
#define TR_TYPE_(type_)                                                                            \
    &(const struct tr_type) {                                                                      \
        .size = sizeof(struct tr_type), TR_UNPAREN_(TR_T_INIT_ type_)                              \
    }

/* (a, b) or a, b: the same. */
#define TR_UNPAREN_(x)     TR_UNPAREN_OF_ x
#define TR_UNPAREN_OF_(...) __VA_ARGS__
#define TR_CAT_(a, b)      TR_CAT_OF_(a, b)
#define TR_CAT_OF_(a, b)   a##b
#define TR_OPEN_(x)        TR_CAT_(TR_OPEN_, TR_IS_PAREN_(x))(x)
#define TR_OPEN_0(x)       x
#define TR_OPEN_1(x)       TR_UNPAREN_(x)
#define TR_IS_PAREN_(x)    TR_SECOND_(TR_PROBE_ x, 0, ~)
#define TR_PROBE_(...)     ~, 1
#define TR_SECOND_(...)    TR_SECOND_OF_(__VA_ARGS__)
#define TR_SECOND_OF_(a, b, ...) b

/* How many arguments: 0 for one, 1 for more; the number itself, up to 32. */
#define TR_SEVERAL_(...) TR_COUNT_OF_(__VA_ARGS__, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, \
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, ~)
#define TR_COUNT_(...) TR_COUNT_OF_(__VA_ARGS__, 33, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22,   \
    21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, ~)
#define TR_COUNT_OF_(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17,   \
    a18, a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32, a33, n, ...) n

/* macro(extra, each argument), with commas between or with nothing. */
#define TR_MAP_COMMA_(m, x, ...) TR_CAT_(TR_MC_, TR_COUNT_(__VA_ARGS__))(m, x, __VA_ARGS__)
#define TR_MAP_NONE_(m, x, ...)  TR_CAT_(TR_MN_, TR_COUNT_(__VA_ARGS__))(m, x, __VA_ARGS__)
#define TR_MC_1(m, x, a) m(x, a)
#define TR_MC_2(m, x, a, ...) m(x, a), TR_MC_1(m, x, __VA_ARGS__)
#define TR_MC_3(m, x, a, ...) m(x, a), TR_MC_2(m, x, __VA_ARGS__)
#define TR_MC_4(m, x, a, ...) m(x, a), TR_MC_3(m, x, __VA_ARGS__)
#define TR_MC_5(m, x, a, ...) m(x, a), TR_MC_4(m, x, __VA_ARGS__)
#define TR_MC_6(m, x, a, ...) m(x, a), TR_MC_5(m, x, __VA_ARGS__)
#define TR_MC_7(m, x, a, ...) m(x, a), TR_MC_6(m, x, __VA_ARGS__)
#define TR_MC_8(m, x, a, ...) m(x, a), TR_MC_7(m, x, __VA_ARGS__)
#define TR_MC_9(m, x, a, ...) m(x, a), TR_MC_8(m, x, __VA_ARGS__)
#define TR_MC_10(m, x, a, ...) m(x, a), TR_MC_9(m, x, __VA_ARGS__)
#define TR_MC_11(m, x, a, ...) m(x, a), TR_MC_10(m, x, __VA_ARGS__)
#define TR_MC_12(m, x, a, ...) m(x, a), TR_MC_11(m, x, __VA_ARGS__)
#define TR_MC_13(m, x, a, ...) m(x, a), TR_MC_12(m, x, __VA_ARGS__)
#define TR_MC_14(m, x, a, ...) m(x, a), TR_MC_13(m, x, __VA_ARGS__)
#define TR_MC_15(m, x, a, ...) m(x, a), TR_MC_14(m, x, __VA_ARGS__)
#define TR_MC_16(m, x, a, ...) m(x, a), TR_MC_15(m, x, __VA_ARGS__)
#define TR_MC_17(m, x, a, ...) m(x, a), TR_MC_16(m, x, __VA_ARGS__)
#define TR_MC_18(m, x, a, ...) m(x, a), TR_MC_17(m, x, __VA_ARGS__)
#define TR_MC_19(m, x, a, ...) m(x, a), TR_MC_18(m, x, __VA_ARGS__)
#define TR_MC_20(m, x, a, ...) m(x, a), TR_MC_19(m, x, __VA_ARGS__)
#define TR_MC_21(m, x, a, ...) m(x, a), TR_MC_20(m, x, __VA_ARGS__)
#define TR_MC_22(m, x, a, ...) m(x, a), TR_MC_21(m, x, __VA_ARGS__)
#define TR_MC_23(m, x, a, ...) m(x, a), TR_MC_22(m, x, __VA_ARGS__)
#define TR_MC_24(m, x, a, ...) m(x, a), TR_MC_23(m, x, __VA_ARGS__)
#define TR_MC_25(m, x, a, ...) m(x, a), TR_MC_24(m, x, __VA_ARGS__)
#define TR_MC_26(m, x, a, ...) m(x, a), TR_MC_25(m, x, __VA_ARGS__)
#define TR_MC_27(m, x, a, ...) m(x, a), TR_MC_26(m, x, __VA_ARGS__)
#define TR_MC_28(m, x, a, ...) m(x, a), TR_MC_27(m, x, __VA_ARGS__)
#define TR_MC_29(m, x, a, ...) m(x, a), TR_MC_28(m, x, __VA_ARGS__)
#define TR_MC_30(m, x, a, ...) m(x, a), TR_MC_29(m, x, __VA_ARGS__)
#define TR_MC_31(m, x, a, ...) m(x, a), TR_MC_30(m, x, __VA_ARGS__)
#define TR_MC_32(m, x, a, ...) m(x, a), TR_MC_31(m, x, __VA_ARGS__)
#define TR_MN_1(m, x, a) m(x, a)
#define TR_MN_2(m, x, a, ...) m(x, a) TR_MN_1(m, x, __VA_ARGS__)
#define TR_MN_3(m, x, a, ...) m(x, a) TR_MN_2(m, x, __VA_ARGS__)
#define TR_MN_4(m, x, a, ...) m(x, a) TR_MN_3(m, x, __VA_ARGS__)
#define TR_MN_5(m, x, a, ...) m(x, a) TR_MN_4(m, x, __VA_ARGS__)
#define TR_MN_6(m, x, a, ...) m(x, a) TR_MN_5(m, x, __VA_ARGS__)
#define TR_MN_7(m, x, a, ...) m(x, a) TR_MN_6(m, x, __VA_ARGS__)
#define TR_MN_8(m, x, a, ...) m(x, a) TR_MN_7(m, x, __VA_ARGS__)
#define TR_MN_9(m, x, a, ...) m(x, a) TR_MN_8(m, x, __VA_ARGS__)
#define TR_MN_10(m, x, a, ...) m(x, a) TR_MN_9(m, x, __VA_ARGS__)
#define TR_MN_11(m, x, a, ...) m(x, a) TR_MN_10(m, x, __VA_ARGS__)
#define TR_MN_12(m, x, a, ...) m(x, a) TR_MN_11(m, x, __VA_ARGS__)
#define TR_MN_13(m, x, a, ...) m(x, a) TR_MN_12(m, x, __VA_ARGS__)
#define TR_MN_14(m, x, a, ...) m(x, a) TR_MN_13(m, x, __VA_ARGS__)
#define TR_MN_15(m, x, a, ...) m(x, a) TR_MN_14(m, x, __VA_ARGS__)
#define TR_MN_16(m, x, a, ...) m(x, a) TR_MN_15(m, x, __VA_ARGS__)
#define TR_MN_17(m, x, a, ...) m(x, a) TR_MN_16(m, x, __VA_ARGS__)
#define TR_MN_18(m, x, a, ...) m(x, a) TR_MN_17(m, x, __VA_ARGS__)
#define TR_MN_19(m, x, a, ...) m(x, a) TR_MN_18(m, x, __VA_ARGS__)
#define TR_MN_20(m, x, a, ...) m(x, a) TR_MN_19(m, x, __VA_ARGS__)
#define TR_MN_21(m, x, a, ...) m(x, a) TR_MN_20(m, x, __VA_ARGS__)
#define TR_MN_22(m, x, a, ...) m(x, a) TR_MN_21(m, x, __VA_ARGS__)
#define TR_MN_23(m, x, a, ...) m(x, a) TR_MN_22(m, x, __VA_ARGS__)
#define TR_MN_24(m, x, a, ...) m(x, a) TR_MN_23(m, x, __VA_ARGS__)
#define TR_MN_25(m, x, a, ...) m(x, a) TR_MN_24(m, x, __VA_ARGS__)
#define TR_MN_26(m, x, a, ...) m(x, a) TR_MN_25(m, x, __VA_ARGS__)
#define TR_MN_27(m, x, a, ...) m(x, a) TR_MN_26(m, x, __VA_ARGS__)
#define TR_MN_28(m, x, a, ...) m(x, a) TR_MN_27(m, x, __VA_ARGS__)
#define TR_MN_29(m, x, a, ...) m(x, a) TR_MN_28(m, x, __VA_ARGS__)
#define TR_MN_30(m, x, a, ...) m(x, a) TR_MN_29(m, x, __VA_ARGS__)
#define TR_MN_31(m, x, a, ...) m(x, a) TR_MN_30(m, x, __VA_ARGS__)
#define TR_MN_32(m, x, a, ...) m(x, a) TR_MN_31(m, x, __VA_ARGS__)

/* clang-format on */

#endif /* not C++ */

#endif /* TOOLRACK_PLUGIN_H */
