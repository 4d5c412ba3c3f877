/* toolrack/toolrack.h - host native tools in a program of your own.
 *
 * A host scans plugin folders, keeps a registry of the tools they offer, and
 * calls them. Small and quiet: nothing here prints, aborts or changes the
 * process; what can fail returns a code and fills an error.
 *
 *     struct toolrack *host = NULL;
 *     struct toolrack_error err;
 *     if (toolrack_open(NULL, &host, &err) < 0) { fprintf(stderr, "%s\n", err.message); ... }
 *     struct toolrack_result *result = NULL;
 *     if (toolrack_call(host, "calculator", "{\"expression\":\"6*7\"}", NULL, &result, &err) == 0)
 * { puts(toolrack_result_json(result, NULL));
 *     }
 *     toolrack_result_free(result);
 *     toolrack_close(host);
 *
 * Ownership. What a function gives back through a pointer to a pointer is the
 * caller's, to be released as its comment says; what it returns directly is
 * borrowed from the object it was asked of and lives as long as that. Every
 * release takes NULL.
 *
 * Errors. `err` comes last, may be NULL, and is set only on failure. A failed
 * call leaves everything as it was.
 *
 * Threads. Every function may be called on any thread at any time
 * between toolrack_open() and toolrack_close(). Readers (get, list, call) take
 * no lock of the registry and never wait for a writer (register, enable ...);
 * writers wait for each other. Callbacks run on the thread that their comment names.
 *
 * Options structs begin with their own size: start from the _INIT macro, and
 * members added later read as zero. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "toolrack/error.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tr_plugin;         /* toolrack/plugin.h */
struct toolrack;          /* a host */
struct toolrack_tool;     /* one version of one tool as it was at one moment */
struct toolrack_tools;    /* a list of them */
struct toolrack_call;     /* a call that was submitted */
struct toolrack_result;   /* what a call gave */
struct toolrack_text;     /* a text that several hold */
struct toolrack_findings; /* what is wrong with a file */

/** The version of the library, such as "0.1.0". */
TOOLRACK_API const char *toolrack_version(void);

/* ------------------------------------------------------------- open, close */

enum toolrack_log_level {
    TOOLRACK_LOG_DEBUG,
    TOOLRACK_LOG_INFO,
    TOOLRACK_LOG_WARNING,
    TOOLRACK_LOG_ERROR
};

enum toolrack_event_kind {
    TOOLRACK_EVENT_ADDED,    /**< a tool was registered */
    TOOLRACK_EVENT_REMOVED,  /**< a tool was unregistered */
    TOOLRACK_EVENT_CHANGED,  /**< a tool was enabled, disabled or given another priority */
    TOOLRACK_EVENT_LOADED,   /**< a plugin was loaded, at the first call of one of its tools */
    TOOLRACK_EVENT_FAILED,   /**< a plugin could not be loaded */
    TOOLRACK_EVENT_STUCK,    /**< a call did not return and its thread was given up */
    TOOLRACK_EVENT_RECOVERED, /**< the last such call of the plugin returned after all */
    TOOLRACK_EVENT_CRASHED,   /**< a worker of the plugin crashed; another takes its place */
    TOOLRACK_EVENT_QUARANTINED, /**< a plugin crashed too often and runs no more */
    TOOLRACK_EVENT_RELEASED     /**< it may run again */
};

/** Something that happened. Its texts end with the callback. */
struct toolrack_event {
    enum toolrack_event_kind kind;
    const char *tool;    /**< its name, or NULL when the event is about a plugin */
    const char *version; /**< the tool's, or NULL */
    const char *plugin;  /**< the plugin's id */
    const char *message; /**< one line, or NULL */
};

/** Where plugins run whose configuration does not say. */
enum toolrack_isolation {
    TOOLRACK_ISOLATION_DEFAULT, /**< as PROCESS */
    TOOLRACK_ISOLATION_PROCESS, /**< each in worker processes of its own, in a sandbox */
    TOOLRACK_ISOLATION_NONE     /**< in this process, with all its rights */
};

struct toolrack_options {
    size_t size; /**< sizeof(struct toolrack_options) */

    /** Configuration file, JSON with comments. NULL is $XDG_CONFIG_HOME/toolrack/toolrack.json
     * where it exists; "" is none. */
    const char *config_file;
    /** Folder for what must survive: settings made at run time, the scan cache. NULL is
     * $XDG_STATE_HOME/toolrack; "" is none: nothing is kept. Created when first needed. */
    const char *state_dir;
    /** When given, only these folders are scanned: NULL-terminated. Otherwise those of the
     * configuration, of TOOLRACK_PLUGIN_PATH, $XDG_DATA_HOME/toolrack/plugins and the installed
     * one. */
    const char *const *plugin_dirs;
    /** Do not scan at all: only tools that the app registers. */
    bool no_scan;
    /** How long a call may take when neither its caller nor the tool says; 0 is 30000. */
    uint32_t deadline_ms;
    /** Threads that run calls with a deadline, at most; 0 is 64. Given-up ones do not count. */
    uint32_t threads_max;

    /** Passed to the callbacks. */
    void *user;
    /** One log line; `source` is a module or a plugin id. On any thread; must not call back. */
    void (*log)(void *user, enum toolrack_log_level level, const char *source, const char *line);
    enum toolrack_log_level log_level; /**< least level passed on */
    /** An event, after it took effect. On the thread that caused it; may call back, but not
     * toolrack_close(). */
    void (*event)(void *user, const struct toolrack_event *event);

    enum toolrack_isolation isolation;
    /** Rather fail a call than run it without a layer of the sandbox that its policy wants. */
    bool require_sandbox;
    /** The program that runs plugins. NULL is that of TOOLRACK_WORKER, or the installed one. */
    const char *worker_program;
};
#define TOOLRACK_OPTIONS_INIT \
    { .size = sizeof(struct toolrack_options) }

/** Open a host: read the configuration and the settings kept, scan the folders. No plugin is
 * loaded. A file that cannot be used is a row with a reason, never a failure.
 *
 * @param options  borrowed during the call; NULL is all defaults
 * @return 0; TOOLRACK_E_INVALID for a configuration that is wrong (the message says where);
 *         TOOLRACK_E_IO for one that cannot be read; TOOLRACK_E_LIMIT_EXCEEDED for more than 65536
 *         tools; TOOLRACK_E_NO_MEMORY. A host does not survive fork(): open it in the child. */
TOOLRACK_API int toolrack_open(const struct toolrack_options *options, struct toolrack **ret,
                               struct toolrack_error *err);

/** Close: cancel what runs, wait for it up to one second, unload the plugins. A call that does not
 * even return then keeps its plugin and its own memory for the rest of the process. Lists, tools,
 * results and texts that the caller still holds stay valid until they are released. */
TOOLRACK_API void toolrack_close(struct toolrack *host);

/* ---------------------------------------------------------------- registry */

/** Which tools to list. All given conditions hold together. */
struct toolrack_filter {
    size_t size;          /**< sizeof(struct toolrack_filter) */
    bool all;             /**< disabled ones too */
    const char *name;     /**< only versions of this name */
    const char *tag;      /**< only with this tag */
    const char *category; /**< only of this category */
};
#define TOOLRACK_FILTER_INIT \
    { .size = sizeof(struct toolrack_filter) }

/** List tools, in registry order: priority downwards, then name, then version downwards. The list
 * is of one moment: later changes do not touch it.
 *
 * @param filter  NULL is all enabled tools
 * @return 0 with a list to be released by toolrack_tools_free(); TOOLRACK_E_NO_MEMORY. */
TOOLRACK_API int toolrack_list(struct toolrack *host, const struct toolrack_filter *filter,
                               struct toolrack_tools **ret, struct toolrack_error *err);
TOOLRACK_API size_t toolrack_tools_count(const struct toolrack_tools *tools);
/** The i-th tool, borrowed from the list. */
TOOLRACK_API struct toolrack_tool *toolrack_tools_get(const struct toolrack_tools *tools,
                                                      size_t index);
TOOLRACK_API void toolrack_tools_free(struct toolrack_tools *tools);

/** Find one tool by "name" or "name@version". By name alone it is the highest version that is
 * enabled, or the highest of all when none is.
 *
 * @return a reference, to be released by toolrack_tool_unref(); NULL for an unknown name. */
TOOLRACK_API struct toolrack_tool *toolrack_get(struct toolrack *host, const char *name);
TOOLRACK_API struct toolrack_tool *toolrack_tool_ref(struct toolrack_tool *tool);
TOOLRACK_API void toolrack_tool_unref(struct toolrack_tool *tool);

/** The registered name nearest to `name`, when one is near enough to be what was meant; else NULL.
 * To be released by free(). */
TOOLRACK_API char *toolrack_suggest(struct toolrack *host, const char *name);

enum toolrack_permission {
    TOOLRACK_SAFE,     /**< runs when called */
    TOOLRACK_CONFIRM,  /**< runs when the caller says that a person agreed */
    TOOLRACK_DANGEROUS /**< runs when the configuration grants it */
};

enum toolrack_tool_state {
    TOOLRACK_LISTED, /**< known, its plugin not loaded yet */
    TOOLRACK_LOADED, /**< its plugin is loaded */
    TOOLRACK_FAILED, /**< its plugin could not be loaded; toolrack_tool_reason() says why */
    TOOLRACK_STUCK,  /**< a call of its plugin was given up and still runs */
    TOOLRACK_QUARANTINED, /**< its plugin crashed too often; toolrack_release() lets it go on */
    TOOLRACK_CHANGED,     /**< its text is not the one that was approved */
    TOOLRACK_LEFT_OUT     /**< its plugin was being loaded when the host last ended uncleanly */
};

/* What a tool says. Texts are borrowed from the tool; NULL where it says nothing. */
TOOLRACK_API const char *toolrack_tool_name(const struct toolrack_tool *tool);
/** A number unique to this registration in this host; another registration gets another one. */
TOOLRACK_API uint64_t toolrack_tool_uid(const struct toolrack_tool *tool);
TOOLRACK_API const char *toolrack_tool_version(const struct toolrack_tool *tool);
TOOLRACK_API const char *toolrack_tool_title(const struct toolrack_tool *tool);
TOOLRACK_API const char *toolrack_tool_description(const struct toolrack_tool *tool);
TOOLRACK_API const char *toolrack_tool_category(const struct toolrack_tool *tool);
/** Comma-separated, as the plugin wrote them. */
TOOLRACK_API const char *toolrack_tool_tags(const struct toolrack_tool *tool);
TOOLRACK_API bool toolrack_tool_has_tag(const struct toolrack_tool *tool, const char *tag);
/** JSON Schema of the arguments. */
TOOLRACK_API const char *toolrack_tool_schema(const struct toolrack_tool *tool);
/** JSON Schema of the result; NULL when nothing is said about it. */
TOOLRACK_API const char *toolrack_tool_result_schema(const struct toolrack_tool *tool);
/** Calls that show the tool: the text of a JSON object that it accepts, and the text of the JSON
 * value that it then gives, or NULL where any result will do. NULL too for an index that is not
 * below the count. */
TOOLRACK_API size_t toolrack_tool_example_count(const struct toolrack_tool *tool);
TOOLRACK_API const char *toolrack_tool_example_arguments(const struct toolrack_tool *tool,
                                                         size_t index);
TOOLRACK_API const char *toolrack_tool_example_result(const struct toolrack_tool *tool,
                                                      size_t index);
TOOLRACK_API bool toolrack_tool_enabled(const struct toolrack_tool *tool);
TOOLRACK_API int toolrack_tool_priority(const struct toolrack_tool *tool);
TOOLRACK_API enum toolrack_permission toolrack_tool_permission(const struct toolrack_tool *tool);
TOOLRACK_API bool toolrack_tool_read_only(const struct toolrack_tool *tool);
TOOLRACK_API bool toolrack_tool_destructive(const struct toolrack_tool *tool);
TOOLRACK_API bool toolrack_tool_idempotent(const struct toolrack_tool *tool);
TOOLRACK_API bool toolrack_tool_open_world(const struct toolrack_tool *tool);
/** How long a call may take by the tool's own word, in milliseconds; 0 is the host's default. */
TOOLRACK_API uint32_t toolrack_tool_deadline_ms(const struct toolrack_tool *tool);
/** The id of its plugin, and the file it came from (NULL for one that the app registered). */
TOOLRACK_API const char *toolrack_tool_plugin(const struct toolrack_tool *tool);
TOOLRACK_API const char *toolrack_tool_file(const struct toolrack_tool *tool);
/** "builtin", "official" or "community". */
TOOLRACK_API const char *toolrack_tool_trust(const struct toolrack_tool *tool);
TOOLRACK_API enum toolrack_tool_state toolrack_tool_state(const struct toolrack_tool *tool);
/** "listed", "loaded", "failed", "stuck", "quarantined", "changed" or "left-out". */
TOOLRACK_API const char *toolrack_tool_state_name(const struct toolrack_tool *tool);
/** Why it is in that state, copied into `reason` (of `room` bytes); "" when there is no reason. */
TOOLRACK_API void toolrack_tool_reason(const struct toolrack_tool *tool, char *reason, size_t room);

/** What was measured of one registration's calls since it was registered. */
struct toolrack_statistics {
    uint64_t calls;    /**< finished ones */
    uint64_t failures; /**< those of them that did not give a result */
    uint64_t total_ns; /**< time in all of them together */
    uint64_t max_ns;   /**< the longest */
};
TOOLRACK_API struct toolrack_statistics toolrack_tool_statistics(const struct toolrack_tool *tool);

/** Enable or disable a tool, by "name" (all its versions, those that come later too) or
 * "name@version". Kept in the state folder, durable when the function returns.
 * @return 0, also when it was so already; TOOLRACK_E_NOT_FOUND (the message names the nearest);
 *         TOOLRACK_E_IO when it could not be kept: then nothing changed; TOOLRACK_E_NO_MEMORY. */
TOOLRACK_API int toolrack_set_enabled(struct toolrack *host, const char *name, bool enabled,
                                      struct toolrack_error *err);
/** Set a tool's priority, likewise; any number. */
TOOLRACK_API int toolrack_set_priority(struct toolrack *host, const char *name, int priority,
                                       struct toolrack_error *err);

/** Register the tools of a descriptor in the app's own memory: the same struct that a plugin
 * exports, with real functions. Copied, except for the functions, which must stay. Its priority
 * default is that of a builtin plugin. All tools are registered, or none.
 *
 * @param ret_uids  receives the number of each tool in the descriptor's order; room for
 *                  plugin->tool_count numbers; may be NULL
 * @return 0; TOOLRACK_E_REFUSED (the message says what is wrong with it); TOOLRACK_E_EXISTS
 *         ("Tool already exists", with a free name) when name and version are taken;
 *         TOOLRACK_E_EXECUTION_FAILED when its open() failed; TOOLRACK_E_LIMIT_EXCEEDED when the
 *         registry would hold more than 65536 tools; TOOLRACK_E_NO_MEMORY. */
TOOLRACK_API int toolrack_register(struct toolrack *host, const struct tr_plugin *plugin,
                                   uint64_t *ret_uids, struct toolrack_error *err);

/** Take a registration out by its number, or all versions of a name ("name" or "name@version").
 * Calls that run go on.
 * @return 0; TOOLRACK_E_NOT_FOUND; TOOLRACK_E_NO_MEMORY. */
TOOLRACK_API int toolrack_unregister(struct toolrack *host, uint64_t uid,
                                     struct toolrack_error *err);
TOOLRACK_API int toolrack_unregister_name(struct toolrack *host, const char *name,
                                          struct toolrack_error *err);

/** What was not registered: a file as a whole, or one tool of it. Texts live as long as the list.
 */
struct toolrack_refusal {
    const char *file;   /**< where it stands; NULL for something the app registered */
    const char *plugin; /**< the plugin's id as far as it could be read, or NULL */
    const char *tool;   /**< the tool's name, or NULL when the whole file was refused */
    const char *rule;   /**< the rule's id, such as "elf-truncated" */
    const char *reason; /**< one line: what is wrong */
    const char *fix;    /**< one line: what to do */
};
struct toolrack_refusals;
/** @return 0 with a list to be released by toolrack_refusals_free(); TOOLRACK_E_NO_MEMORY. */
TOOLRACK_API int toolrack_refused(struct toolrack *host, struct toolrack_refusals **ret,
                                  struct toolrack_error *err);
TOOLRACK_API size_t toolrack_refusals_count(const struct toolrack_refusals *refusals);
TOOLRACK_API const struct toolrack_refusal *toolrack_refusals_get(
        const struct toolrack_refusals *refusals, size_t index);
TOOLRACK_API void toolrack_refusals_free(struct toolrack_refusals *refusals);

/** The definitions of all enabled tools as one JSON array in registry order: name, title,
 * description, inputSchema, outputSchema, annotations. Made once for each state of the registry.
 * @return 0 with a reference, to be released by toolrack_text_unref(); TOOLRACK_E_NO_MEMORY. */
TOOLRACK_API int toolrack_definitions(struct toolrack *host, struct toolrack_text **ret,
                                      struct toolrack_error *err);
/** The text, zero-terminated; `ret_length` may be NULL. */
TOOLRACK_API const char *toolrack_text_data(const struct toolrack_text *text, size_t *ret_length);
TOOLRACK_API void toolrack_text_unref(struct toolrack_text *text);

/* --------------------------------------------------------------- isolation */

/** How the plugin of a tool is isolated, as one JSON object: isolation, capabilities (kind, value,
 * allowed, path); and of one that runs in workers sandbox (wanted, in_force, missing: arrays of
 * layers), limits, workers, busy, waiting, crashes.
 * @param name  of a tool
 * @return 0 with a reference, to be released by toolrack_text_unref(); TOOLRACK_E_NOT_FOUND;
 *         TOOLRACK_E_NO_MEMORY. */
TOOLRACK_API int toolrack_describe_isolation(struct toolrack *host, const char *name,
                                             struct toolrack_text **ret,
                                             struct toolrack_error *err);

/** Let a plugin that is in quarantine run again: durable on return.
 * @param name  of the plugin, or of one of its tools
 * @return 0; TOOLRACK_E_NOT_FOUND when there is no such plugin or it is not in quarantine;
 *         TOOLRACK_E_IO: then nothing changed; TOOLRACK_E_NO_MEMORY. */
TOOLRACK_API int toolrack_release(struct toolrack *host, const char *name,
                                  struct toolrack_error *err);

/** Why a plugin is as it is, as one JSON object: plugin, version, file, state, reason, crashes (the
 * bundles kept, the newest first: time, tool, signal, exit_status, reason, backtrace, lines ...).
 * @param name  of the plugin, or of one of its tools
 * @return as above. */
TOOLRACK_API int toolrack_why(struct toolrack *host, const char *name, struct toolrack_text **ret,
                              struct toolrack_error *err);

/* ------------------------------------------------------------------- calls */

/** For `deadline_ms`: no deadline. In this process such a call runs on the caller's own
 * thread, which is the fastest way and the right one for tools that are known to return; any other
 * runs on a thread of the host, which can be given up: the caller then gets its Timeout on time,
 * whatever the tool does. A call to a worker waits on the caller's thread, with a deadline or
 * without. */
#define TOOLRACK_NO_DEADLINE UINT32_MAX

/** What a person did with a question. */
enum toolrack_answer {
    TOOLRACK_NOBODY,   /**< nobody can be asked */
    TOOLRACK_ACCEPTED, /**< filled it in */
    TOOLRACK_DECLINED, /**< said no */
    TOOLRACK_DISMISSED /**< did neither */
};

struct toolrack_call_options {
    size_t size;          /**< sizeof(struct toolrack_call_options) */
    uint32_t deadline_ms; /**< 0 is the tool's own, or the host's default */
    bool confirmed;       /**< a person agreed to this call: `confirm` tools run */
    const char *caller;   /**< who calls; for the tool and the log. This and the next may be NULL */
    const char *channel;  /**< through what; NULL is "api" */
    const char *conversation; /**< NULL outside a conversation */
    const char *trace;        /**< an id that ties records together */
    /** Progress that the tool reports, on the thread that runs it; may call back, but not
     * toolrack_close(). `total` 0 is unknown, `message` may be NULL. */
    void (*progress)(void *user, double done, double total, const char *message);
    void *user;
    /** A question of the tool to the person, on the thread that runs it; NULL: nobody can be asked.
     * `schema` is the JSON Schema of a flat object, without properties where consent is all that is
     * asked for. It may call back, but not toolrack_close(). The call cannot end before this
     * returns, and submitted calls that are overdue may have to wait as well: who waits for a
     * person stops waiting at the deadline and when the call is cancelled.
     *
     * @param ret_content  on TOOLRACK_ACCEPTED, a JSON object from malloc(), which the host frees;
     *                     left NULL it is {}
     * @return enum toolrack_answer */
    int (*ask)(void *user, const char *message, const char *schema, char **ret_content);
};
#define TOOLRACK_CALL_OPTIONS_INIT \
    { .size = sizeof(struct toolrack_call_options) }

/** Most bytes of arguments, and of a result. */
#define TOOLRACK_ARGUMENTS_MAX (64u * 1024 * 1024)
#define TOOLRACK_RESULT_MAX    (64u * 1024 * 1024)
/** Most calls that wait for a thread at once. */
#define TOOLRACK_QUEUE_MAX     4096

/** Call a tool and wait for its result.
 *
 * @param name       "name" or "name@version"
 * @param arguments  the text of a JSON object; NULL or "" is {}
 * @param options    borrowed during the call; NULL is all defaults
 * @param ret        receives the result, to be released by toolrack_result_free()
 * @return 0, or a code with err->tool set and, for a wrong argument, err->field:
 *         TOOLRACK_E_NOT_FOUND, _DISABLED, _INVALID_ARGUMENTS, _PERMISSION_DENIED,
 *         _CONFIRMATION_REQUIRED, _EXECUTION_FAILED, _TIMEOUT, _CANCELLED, _LIMIT_EXCEEDED,
 *         _NO_MEMORY. */
TOOLRACK_API int toolrack_call(struct toolrack *host, const char *name, const char *arguments,
                               const struct toolrack_call_options *options,
                               struct toolrack_result **ret, struct toolrack_error *err);

/** The same with a tool in hand and the length of the arguments known: no lookup, no strlen. A tool
 * that was unregistered or disabled meanwhile still runs: what is in hand is as it was. */
TOOLRACK_API int toolrack_tool_call(struct toolrack *host, struct toolrack_tool *tool,
                                    const char *arguments, size_t length,
                                    const struct toolrack_call_options *options,
                                    struct toolrack_result **ret, struct toolrack_error *err);

/** How a submitted call ended: `result` is NULL on failure and is the callback's to release;
 * `err` is NULL on success and ends with the callback. */
typedef void toolrack_done(void *user, struct toolrack_result *result,
                           const struct toolrack_error *err);

/** Submit a call: it runs on a thread of the host. `done` is called exactly once, unless this
 * function fails, on a thread of the host, perhaps before this function returns; it may call
 * anything but toolrack_close(). TOOLRACK_NO_DEADLINE is allowed: it then waits for ever.
 *
 * @param done       NULL: nobody wants to know
 * @param arguments  copied
 * @param ret        receives a handle, to be released by toolrack_call_unref(); may be NULL
 * @return 0; TOOLRACK_E_NOT_FOUND, TOOLRACK_E_LIMIT_EXCEEDED when TOOLRACK_QUEUE_MAX wait;
 *         TOOLRACK_E_CANCELLED while the host is closing; TOOLRACK_E_NO_MEMORY. Everything else
 * reaches `done`. */
TOOLRACK_API int toolrack_submit(struct toolrack *host, const char *name, const char *arguments,
                                 const struct toolrack_call_options *options, toolrack_done *done,
                                 void *user, struct toolrack_call **ret,
                                 struct toolrack_error *err);

/** Ask a submitted call to end. One that has not begun ends at once with Cancelled; a running tool
 * is told, and given up when it has not returned after one second. Nothing happens to a call that
 * has ended. */
TOOLRACK_API void toolrack_cancel(struct toolrack_call *call);
TOOLRACK_API void toolrack_call_unref(struct toolrack_call *call);

/** The result as one JSON value, zero-terminated: the tool's JSON where it gave that alone, a
 * string where it gave one text alone, null where it gave nothing, and otherwise
 * {"content":[...], "structuredContent":...} with content blocks as in MCP. */
TOOLRACK_API const char *toolrack_result_json(const struct toolrack_result *result,
                                              size_t *ret_length);
/** The text of a result that is one text alone; else NULL. */
TOOLRACK_API const char *toolrack_result_text(const struct toolrack_result *result,
                                              size_t *ret_length);
/** How long the call took, in nanoseconds. */
TOOLRACK_API uint64_t toolrack_result_duration_ns(const struct toolrack_result *result);
TOOLRACK_API void toolrack_result_free(struct toolrack_result *result);

/* ------------------------------------------------------------------- check */

enum toolrack_severity { TOOLRACK_NOTE, TOOLRACK_WARNING, TOOLRACK_ERROR };

/** One thing about a plugin file. Texts live as long as the findings. */
struct toolrack_finding {
    enum toolrack_severity severity;
    const char *rule;  /**< the rule's id */
    const char *tool;  /**< the tool concerned, or NULL */
    const char *cause; /**< one line: what and where */
    const char *fix;   /**< one line: what to do */
};

/** Check a plugin file by all rules, without loading it.
 * @return 0 with what was found, perhaps nothing, to be released by toolrack_findings_free();
 *         TOOLRACK_E_NOT_FOUND or TOOLRACK_E_IO when the file cannot be read;
 *         TOOLRACK_E_NO_MEMORY. */
TOOLRACK_API int toolrack_check(const char *file, struct toolrack_findings **ret,
                                struct toolrack_error *err);
TOOLRACK_API size_t toolrack_findings_count(const struct toolrack_findings *findings);
TOOLRACK_API const struct toolrack_finding *toolrack_findings_get(
        const struct toolrack_findings *findings, size_t index);
/** Id, version and number of sound tools of the plugin that was checked; NULL and 0 when it could
 * not be read. */
TOOLRACK_API const char *toolrack_findings_plugin(const struct toolrack_findings *findings);
TOOLRACK_API const char *toolrack_findings_version(const struct toolrack_findings *findings);
TOOLRACK_API size_t toolrack_findings_tool_count(const struct toolrack_findings *findings);
TOOLRACK_API void toolrack_findings_free(struct toolrack_findings *findings);

#ifdef __cplusplus
}
#endif
