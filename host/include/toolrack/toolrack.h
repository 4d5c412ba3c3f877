/* toolrack/toolrack.h - host native tools in a program of your own.
 *
 * A host scans plugin folders, keeps a registry of the tools they offer, and
 * calls them. Small and quiet: nothing here prints, aborts or changes the
 * process; what can fail returns a code and fills an error.
 *
 *     struct toolrack *host = NULL;
 *     struct toolrack_result *result = NULL;
 *     struct toolrack_error *err = toolrack_error_create();
 *     if (toolrack_open(NULL, &host, err) == 0 &&
 *         toolrack_call(host, "calculator", "{\"expression\":\"6*7\"}", NULL, &result, err) == 0) {
 *         puts(toolrack_result_json(result, NULL));
 *     } else {
 *         fprintf(stderr, "%s\n", toolrack_error_message(err));
 *     }
 *     toolrack_result_free(result);
 *     toolrack_close(host);
 *     toolrack_error_free(err);
 *
 * Ownership. What a function gives back through a pointer to a pointer is the
 * caller's, to be released as its comment says; what it returns directly is
 * borrowed from the object it was asked of and lives as long as that. Every
 * release takes NULL. Everything else must not be NULL unless its comment says
 * what NULL means. A _get() function with an index gives NULL from the count on.
 *
 * Errors. `err` comes last, may be NULL, and is set only on failure. A failed
 * call leaves everything as it was.
 *
 * Threads. Every function may be called on any thread at any time
 * between toolrack_open() and toolrack_close(). Readers (get, list, call) take
 * no lock of the registry and never wait for a writer (register, enable ...);
 * writers wait for each other. Callbacks run on the thread that their comment names.
 *
 * Growth. Within one soversion nothing is taken away and nothing changes its
 * meaning; a program that was built with an older header works with a newer
 * library.
 *  - A struct that the program fills or allocates begins with its own size:
 *    start from the _INIT macro. It grows at its end; members that the program
 *    does not know read as zero, and the library writes none behind the size
 *    that it was given. Such a struct has no padding that a new member could
 *    take, so its size tells its members: a yes or no is a number, and 0 is no.
 *  - A struct that the library fills and lends (events, requests, refusals,
 *    findings) grows at its end as well. An event and a request state the size
 *    that the library knows; lists are read through their _get() function, never
 *    by pointer arithmetic.
 *  - Enumerations and codes get new values at their end: treat a value that you
 *    do not know like its neighbours of least consequence (an event is skipped, a
 *    code is a failure).
 *  - JSON that the library gives: objects may get new members, and a member
 *    never goes or changes its type. Readers ignore members that they do not
 *    know, and values of a "kind" or "state" that they do not know. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "toolrack/error.h"
#include "toolrack/format.h"
#include "toolrack/records.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tr_plugin;         /* toolrack/plugin.h */
struct tr_call;           /* likewise */
struct toolrack;          /* a host */
struct toolrack_tool;     /* one version of one tool as it was at one moment */
struct toolrack_tools;    /* a list of them */
struct toolrack_call;     /* a call that was submitted */
struct toolrack_result;   /* what a call gave */
struct toolrack_text;     /* a reference-counted text */
struct toolrack_findings; /* what is wrong with a file */

/** The version of the library, such as "0.1.0". */
TOOLRACK_API const char *toolrack_version(void);

/** Memory that passes between the library and the program: both must not use malloc() and free()
 * for it, which need not be the same ones. toolrack_alloc() gives NULL when out of memory. */
TOOLRACK_API void *toolrack_alloc(size_t size);
TOOLRACK_API void toolrack_free(void *memory);

/* ------------------------------------------------------------- open, close */

enum toolrack_log_level {
    TOOLRACK_LOG_DEBUG,
    TOOLRACK_LOG_INFO,
    TOOLRACK_LOG_WARNING,
    TOOLRACK_LOG_ERROR
};

enum toolrack_event_kind {
    TOOLRACK_EVENT_ADDED,   /**< a tool was registered */
    TOOLRACK_EVENT_REMOVED, /**< a tool was unregistered */
    TOOLRACK_EVENT_CHANGED, /**< a tool was enabled, disabled, given another priority, or its plugin
                             * was reloaded; the message says what it is now: "disabled, priority
                             * 10" */
    TOOLRACK_EVENT_LOADED,  /**< a plugin was loaded, at the first call of one of its tools */
    TOOLRACK_EVENT_FAILED,  /**< a plugin could not be loaded */
    TOOLRACK_EVENT_STUCK,   /**< a call did not return and its thread was given up */
    TOOLRACK_EVENT_RECOVERED,    /**< the last such call of the plugin returned after all */
    TOOLRACK_EVENT_CRASHED,      /**< a worker of the plugin crashed; another takes its place */
    TOOLRACK_EVENT_QUARANTINED,  /**< a plugin crashed too often and runs no more */
    TOOLRACK_EVENT_RELEASED,     /**< it may run again */
    TOOLRACK_EVENT_CHANGED_TEXT, /**< a tool was registered that is not as it was approved */
    TOOLRACK_EVENT_RELOADED, /**< another generation of a plugin serves; the message says which */
    TOOLRACK_EVENT_REFUSED,  /**< a plugin file is new or has changed, and cannot be used, or
                              * crashed in its first minute; what it had before serves. The message
                              * says why */
    TOOLRACK_EVENT_UNLOADED, /**< a generation is not used any more. The message says what became of
                              * it: "gone", "pending: CAUSE" (its image may go later) or
                              * "resident: CAUSE" (its image stays in this process) */
    TOOLRACK_EVENT_STOPPED,  /**< a worker was ended for the CPU time that it used, between calls or
                              * beyond the limit of a call; the next call starts another */
    TOOLRACK_EVENT_TASK,     /**< a task that this host runs was cancelled (serving.h); the message
                              * is its id */
    /* Of what plugins offer beside tools (offer.h); merged and limited, on a thread of the host. */
    TOOLRACK_EVENT_RESOURCES_CHANGED, /**< the list of resources or templates of a plugin */
    TOOLRACK_EVENT_PROMPTS_CHANGED,   /**< the list of its prompts */
    TOOLRACK_EVENT_RESOURCE_UPDATED   /**< the content of a resource; the message is its URI */
};

/** An event. Its strings are valid until the callback returns. */
struct toolrack_event {
    size_t size; /**< of this struct as the host knows it */
    enum toolrack_event_kind kind;
    const char *tool;    /**< its name, or NULL when the event is about a plugin */
    const char *version; /**< the tool's, or NULL */
    const char *plugin;  /**< the plugin's id; NULL for a file whose id could not be read */
    const char *message; /**< one line, or NULL */
};

/** Where a plugin runs when its configuration does not say. */
enum toolrack_isolation {
    TOOLRACK_ISOLATION_DEFAULT, /**< as PROCESS */
    TOOLRACK_ISOLATION_PROCESS, /**< each in worker processes of its own, in a sandbox */
    TOOLRACK_ISOLATION_NONE     /**< in this process, with all its rights */
};

/** The answer to a request for approval. DENY is 0, so that an answer that was not set allows
 * nothing. */
enum toolrack_approval {
    TOOLRACK_APPROVAL_DENY,
    TOOLRACK_APPROVAL_ALLOW_ONCE,         /**< this call */
    TOOLRACK_APPROVAL_ALLOW_CONVERSATION, /**< this version of the tool, for this caller in this
                                           * conversation */
    TOOLRACK_APPROVAL_ALLOW_ALWAYS,       /**< this version of the tool */
    TOOLRACK_APPROVAL_ASK_LATER,   /**< no person is here: keep the call, see toolrack_pending() */
    TOOLRACK_APPROVAL_INPUT_LATER, /**< the answer comes with another call, as TOOLRACK_INPUT_LATER
                                    * says: this one ends with TOOLRACK_E_INPUT_REQUIRED */
    TOOLRACK_APPROVAL_UNWANTED,    /**< nobody wants the call any more: it ends with
                                    * TOOLRACK_E_CANCELLED, and is not kept */
    TOOLRACK_APPROVAL_NOBODY       /**< no person is here, and none comes: it ends with
                                    * TOOLRACK_E_CONFIRMATION_REQUIRED, and is not kept */
};

/** A call that needs approval. Its strings are valid until the callback returns. */
struct toolrack_approval_request {
    size_t size; /**< of this struct as the host knows it */
    const char *tool;
    const char *version;
    const char *plugin;
    int permission;        /**< enum toolrack_permission */
    const char *arguments; /**< the text of a JSON value, as the tool will get it */
    const char *caller;    /**< or NULL */
    const char *channel;
    const char *conversation; /**< or NULL */
    const char *reason;       /**< one line: why approval is needed */
    char *who; /**< the callback may write the name of the person here, for the log; it is
                  "approver" at first */
    size_t who_room;
    const char *trace; /**< or NULL */
    /** Another number after the tool was disabled or revoked (toolrack_revoke()), also by another
     * process: an app that lets an answer count for more than this call lets it count no more when
     * this number, or that of the tool (toolrack_tool_uid()), is another one. */
    uint64_t standing;
    const char *node; /**< the id of the node of a plan that makes the call, or NULL; `reason` says
                       * it too */
    const char *plan; /**< the name of that plan; NULL: it has none */
    const char *run;  /**< the id of that run; NULL: it is not kept */
    /** `arguments` with its secrets masked, for what is kept or may be read by others; NULL: it has
     * no secrets. */
    const char *masked;
};

/** A function of the app that tools of the configuration may name as their handler, with
 * `implementation` {"type": "internal", "handler": NAME}. This struct does not grow. */
struct toolrack_service {
    const char *name;
    /** Reads its arguments and replies through the call, as a JSON tool of a plugin does with the
     * functions of toolrack/plugin.h; returns its tr_status. In this process, on several threads at
     * once, on those of the callers or of the host. It must stay until toolrack_close(). */
    int32_t (*run)(struct tr_call *call, void *user);
    void *user;
};

struct toolrack_options {
    size_t size; /**< sizeof(struct toolrack_options) */

    /** Configuration file, JSON with comments. NULL is $XDG_CONFIG_HOME/toolrack/toolrack.json
     * where it exists; "" means no configuration file. */
    const char *config_file;
    /** Folder for what must survive: settings made at run time, the scan cache. NULL is
     * $XDG_STATE_HOME/toolrack; "" means no state folder: nothing is kept. Created when first
     * needed. */
    const char *state_dir;
    /** When given, only these folders are scanned: NULL-terminated. Otherwise those of the
     * configuration, of TOOLRACK_PLUGIN_PATH, $XDG_DATA_HOME/toolrack/plugins and the installed
     * one. */
    const char *const *plugin_dirs;
    /** Not 0: do not scan at all: only tools that the app registers or the configuration defines.
     */
    uint32_t no_scan;
    /** How long a call may take when neither its caller nor the tool says; 0 is 30000. */
    uint32_t deadline_ms;
    /** Threads that run calls with a deadline, at most; 0 is 64. Threads that were given up do not
     * count. */
    uint64_t threads_max;

    /** Passed to the callbacks. */
    void *user;
    /** One log line; `source` is a module or a plugin id. On any thread; must not call back. */
    void (*log)(void *user, enum toolrack_log_level level, const char *source, const char *line);
    enum toolrack_log_level log_level; /**< least level passed on */
    enum toolrack_isolation isolation;
    /** An event, after it took effect. On the thread that caused it; may call back, but not
     * toolrack_close(). */
    void (*event)(void *user, const struct toolrack_event *event);

    /** The program that runs plugins. NULL is that of TOOLRACK_WORKER, or the installed one. One
     * that other users may change or exchange is not started, by the rule for plugin files. */
    const char *worker_program;
    /** Not 0: a call fails when a layer of the sandbox that its policy asks for is missing.
     */
    uint32_t require_sandbox;
    /** Not 0: only plugins of the installed folder and no tools of the configuration, whatever else
     * is set: to start a host that does not start otherwise, and find out why. */
    uint32_t safe_mode;

    /** Not 0: watch the folders, and reload plugins when their files change. */
    uint32_t watch;
    /** For how many milliseconds a file must not have changed before it is read; 0 is 100. */
    uint32_t watch_debounce_ms;
    /** Asks whether a call of a `confirm` tool may run that no grant or approval allows; NULL: such
     * calls are refused. The function may wait for a person: the call's time begins with the
     * answer, and other calls go on. On the thread of toolrack_call() and toolrack_tool_call(), for
     * a submitted call on one of the host; it may call back, but not toolrack_close(), which waits
     * for it.
     * @return enum toolrack_approval */
    int (*approve)(void *user, const struct toolrack_approval_request *request);
    /** Functions for tools of the configuration: `service_count` of them, copied. */
    const struct toolrack_service *services;
    size_t service_count;
    /** Not 0: the host is closed soon. It does not learn of what other processes decide while it is
     * open, and they do not count it (toolrack_reached()). */
    uint64_t brief;
    /** Who decides, for the log of decisions, where a function is not told it: a person or a
     * program. Copied; NULL is "api". */
    const char *who;
};
#define TOOLRACK_OPTIONS_INIT \
    { .size = sizeof(struct toolrack_options) }

/** Open a host: read the configuration and the settings kept, register the tools that the
 * configuration defines, scan the folders. No plugin is loaded. A file or a definition that cannot
 * be used is listed by toolrack_refused(), with a reason; opening does not fail.
 *
 * @param options  borrowed during the call; NULL is all defaults
 * @return 0; TOOLRACK_E_INVALID for a configuration that is wrong (the message says where);
 *         TOOLRACK_E_IO for one that cannot be read; TOOLRACK_E_LIMIT_EXCEEDED for more than 65536
 *         tools; TOOLRACK_E_NO_MEMORY. A child of fork() opens its own host in its place. */
TOOLRACK_API int toolrack_open(const struct toolrack_options *options, struct toolrack **ret,
                               struct toolrack_error *err);

/** Close: cancel what runs, wait for it up to one second, unload the plugins. A call that has not
 * returned by then keeps its plugin and its own memory for the rest of the process. Lists, tools,
 * results and texts that the caller still holds stay valid until they are released.
 *
 * Other threads may be inside functions of the host when this is called, but enter none after that.
 * Their calls are cancelled as well: toolrack_call() and all that wait for calls return with
 * TOOLRACK_E_CANCELLED. While a thread has not returned after that second (its tool does not end,
 * a person is asked, a server does not answer), the host keeps its memory, and the plugins that
 * run in this process stay loaded, for the rest of the process; workers end. */
TOOLRACK_API void toolrack_close(struct toolrack *host);

/** The same for a process that exits next: what is to be stored is stored, calls and workers are
 * ended, plugins that ran are unloaded. If none has run, the memory of the host is not released,
 * which the end of the process does faster. */
TOOLRACK_API void toolrack_close_at_exit(struct toolrack *host);

/** Receives events, after they took effect. On the thread that caused one; it may call back, but
 * not toolrack_close(). */
typedef void toolrack_listener(void *user, const struct toolrack_event *event);

/** Let a function receive all events from now on, beside `event` of the options. Several may; each
 * pair of function and `user` once.
 * @return 0; TOOLRACK_E_EXISTS; TOOLRACK_E_NO_MEMORY. */
TOOLRACK_API int toolrack_add_listener(struct toolrack *host, toolrack_listener *listener,
                                       void *user, struct toolrack_error *err);
/** End that. When the function returns, no callback of the listener runs, except those on this
 * thread, from which it may be called. Nothing happens if there is no such listener. */
TOOLRACK_API void toolrack_remove_listener(struct toolrack *host, toolrack_listener *listener,
                                           void *user);

/** The state folder, from the root; NULL: there is none, and what is set, granted or counted lasts
 * as long as the host. Borrowed from the host. */
TOOLRACK_API const char *toolrack_state_dir(const struct toolrack *host);

/* ---------------------------------------------------------------- registry */

/** Which tools to list. All given conditions hold together. */
struct toolrack_filter {
    size_t size;          /**< sizeof(struct toolrack_filter) */
    const char *name;     /**< only versions of this name */
    const char *tag;      /**< only with this tag */
    const char *category; /**< only of this category */
    const char *purpose;  /**< only with this in its purpose, whatever the case of its letters */
    const char *scenario; /**< only for this scenario */
    uint64_t all;         /**< not 0: disabled ones too */
};
#define TOOLRACK_FILTER_INIT \
    { .size = sizeof(struct toolrack_filter) }

/** List tools, in registry order: priority downwards, then name, then version downwards. The list
 * is a snapshot: later changes do not affect it.
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

/** The registered tools, for people and models, as a JSON array in registry order, disabled tools
 * too: id (the name by which it is called), name, version, description, category (or null),
 * enabled, priority. Tools that are not as they were approved (TOOLRACK_STATE_CHANGED) are left
 * out, as of exports: nobody agreed to their texts; and so are those that lack a capability
 * (TOOLRACK_STATE_NEEDS). toolrack_list() has them.
 *
 * @param filter  as for toolrack_list(), but disabled tools are always listed; NULL is all tools
 * @return 0 with a reference, to be released by toolrack_text_unref(); TOOLRACK_E_NO_MEMORY. */
TOOLRACK_API int toolrack_list_info(struct toolrack *host, const struct toolrack_filter *filter,
                                    struct toolrack_text **ret, struct toolrack_error *err);

/** Find one tool by "name", "name@1.2.0" or "name@RANGE".
 *
 * By name alone it is its default: the version that toolrack_set_default() names, as long as that
 * is registered and enabled; else the highest that is enabled, where any release goes before every
 * pre-release; the highest of all when none is enabled. By a range such as "^1", "~1.2", "1.x",
 * ">=1.2 <2", "1.2 - 1.8" or "^1 || ^2" it is the highest version in it that is enabled, or the
 * highest in it of all; pre-releases are in a range only when it names one of the same version.
 *
 * @return a reference, to be released by toolrack_tool_unref(); NULL for an unknown name, and where
 *         no version fits. */
TOOLRACK_API struct toolrack_tool *toolrack_get(struct toolrack *host, const char *name);
TOOLRACK_API struct toolrack_tool *toolrack_tool_ref(struct toolrack_tool *tool);
TOOLRACK_API void toolrack_tool_unref(struct toolrack_tool *tool);

/** The registered name nearest to `name`, when one is near enough to be what was meant; else NULL.
 * To be released by toolrack_free(). */
TOOLRACK_API char *toolrack_suggest(struct toolrack *host, const char *name);
/** The same among the names by which a call may run a tool: enabled, neither held nor in
 * quarantine, granted if dangerous. For who calls, such as a model. */
TOOLRACK_API char *toolrack_suggest_call(struct toolrack *host, const char *name);

/* The priority that tools have by the origin of their plugin, when nothing else is stated. */
#define TOOLRACK_PRIORITY_BUILTIN   100
#define TOOLRACK_PRIORITY_OFFICIAL  50
#define TOOLRACK_PRIORITY_COMMUNITY 10

/** The profiles that need no configuration; one of that name in it is meant instead. What is given
 * to a model without stating a profile is the basic one. */
#define TOOLRACK_PROFILE_BASIC "basic" /* all tools but those with the tag TOOLRACK_TAG_EXTRA */
#define TOOLRACK_PROFILE_FULL  "full"
/** The tag of tools that few conversations need. */
#define TOOLRACK_TAG_EXTRA     "extra"

enum toolrack_permission {
    TOOLRACK_PERMISSION_SAFE,     /**< runs when called */
    TOOLRACK_PERMISSION_CONFIRM,  /**< runs when a person approves the call, or has approved it
                                     before */
    TOOLRACK_PERMISSION_DANGEROUS /**< runs while an administrator grants it */
};

enum toolrack_tool_state {
    TOOLRACK_STATE_LISTED, /**< known, its plugin not loaded yet */
    TOOLRACK_STATE_LOADED, /**< its plugin is loaded */
    TOOLRACK_STATE_FAILED, /**< its plugin could not be loaded; toolrack_tool_reason() says why */
    TOOLRACK_STATE_STUCK,  /**< a call of its plugin was given up and still runs */
    TOOLRACK_STATE_QUARANTINED, /**< its plugin crashed too often; toolrack_release() ends the
                                 * quarantine
                                 */
    TOOLRACK_STATE_CHANGED,     /**< what it says of itself is not what was approved;
                                   toolrack_grant() approves the new one */
    TOOLRACK_STATE_LEFT_OUT, /**< its plugin was being loaded when the host last ended uncleanly */
    TOOLRACK_STATE_NEEDS /**< its plugin has not the capabilities without which the tool is of no
                            use: models are not offered it, a call of it runs. toolrack_allow()
                            gives them */
};

/* The properties of a tool. Strings are borrowed from the tool; NULL where the plugin states
 * nothing. */
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
/** For a deprecated tool: what to use instead, or until when it remains; NULL: it is not
 * deprecated. It can still be called; the first call logs a warning. */
TOOLRACK_API const char *toolrack_tool_deprecated(const struct toolrack_tool *tool);
/** One line: what it is for. */
TOOLRACK_API const char *toolrack_tool_purpose(const struct toolrack_tool *tool);
/** When it applies: comma-separated, as the plugin wrote them. */
TOOLRACK_API const char *toolrack_tool_scenarios(const struct toolrack_tool *tool);
TOOLRACK_API bool toolrack_tool_has_scenario(const struct toolrack_tool *tool,
                                             const char *scenario);
/** Whether toolrack_set_default() made it the default of its name. */
TOOLRACK_API bool toolrack_tool_is_set_default(const struct toolrack_tool *tool);
/** Whether it is an earlier version that is kept beside the version that its plugin's file has now.
 * It is called by its version or by a range only, never by its name alone, and is not exported. */
TOOLRACK_API bool toolrack_tool_is_kept(const struct toolrack_tool *tool);
/** JSON Schema of the arguments. */
TOOLRACK_API const char *toolrack_tool_schema(const struct toolrack_tool *tool);
/** JSON Schema of the result; NULL when the plugin states none. */
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
/** Whether a caller that can do something else meanwhile waits for a call. */
enum toolrack_task_mode {
    TOOLRACK_TASK_AUTO,  /**< by the time that the call is expected to take */
    TOOLRACK_TASK_NEVER, /**< it waits */
    TOOLRACK_TASK_ALWAYS /**< it does not */
};
TOOLRACK_API enum toolrack_task_mode toolrack_tool_task(const struct toolrack_tool *tool);
/** Its icons, as MCP has them: the text of a JSON array on one line, of objects with `src` (an
 * https: URL, or a data:image/ one) and perhaps `mimeType`, `sizes` and `theme`. */
TOOLRACK_API const char *toolrack_tool_icons(const struct toolrack_tool *tool);
/** The tool's own deadline, in milliseconds; 0 is the host's default. */
TOOLRACK_API uint32_t toolrack_tool_deadline_ms(const struct toolrack_tool *tool);
/** The id of its plugin, and the file it came from (NULL for one that the app registered). A tool
 * of the configuration belongs to a plugin of the tool's name, whose file is the configuration. */
TOOLRACK_API const char *toolrack_tool_plugin(const struct toolrack_tool *tool);
TOOLRACK_API const char *toolrack_tool_file(const struct toolrack_tool *tool);
/** "builtin", "official" or "community". */
TOOLRACK_API const char *toolrack_tool_trust(const struct toolrack_tool *tool);
TOOLRACK_API enum toolrack_tool_state toolrack_tool_state(const struct toolrack_tool *tool);
/** "listed", "loaded", "failed", "stuck", "quarantined", "changed", "left-out" or "needs". */
TOOLRACK_API const char *toolrack_tool_state_name(const struct toolrack_tool *tool);
/** Why it is in that state, copied into `reason` (of `room` bytes); "" when there is no reason. */
TOOLRACK_API void toolrack_tool_reason(const struct toolrack_tool *tool, char *reason, size_t room);
/** The kinds of the capabilities without which it is of no use and that its plugin has not, copied
 * into `needs` (of `room` bytes): "read, network"; "" when there are none, or it runs in the host's
 * process. [any-thread] */
TOOLRACK_API void toolrack_tool_needs(const struct toolrack_tool *tool, char *needs, size_t room);

/** The C function of a typed tool as its author declares it, such as "double add(double a, double
 * b)", under the tool's name; the members of structs are shown, since their names are not known.
 * @return 0 with a reference, to be released by toolrack_text_unref(); TOOLRACK_E_NOT_FOUND for a
 *         tool that is not typed; TOOLRACK_E_NO_MEMORY. */
TOOLRACK_API int toolrack_tool_prototype(const struct toolrack_tool *tool,
                                         struct toolrack_text **ret, struct toolrack_error *err);

/** What was measured of one registration's calls since it was registered. */
struct toolrack_tool_statistics {
    size_t size;       /**< sizeof(struct toolrack_tool_statistics) */
    uint64_t calls;    /**< finished ones */
    uint64_t failures; /**< those of them that did not give a result */
    uint64_t total_ns; /**< time in all of them together */
    uint64_t max_ns;   /**< the longest */
};
#define TOOLRACK_TOOL_STATISTICS_INIT \
    { .size = sizeof(struct toolrack_tool_statistics) }

/** @param statistics  with its size; receives the rest */
TOOLRACK_API void toolrack_tool_statistics(const struct toolrack_tool *tool,
                                           struct toolrack_tool_statistics *statistics);

/** Enable or disable a tool, by "name" (all its versions, those that come later too) or
 * "name@version"; not by a range, which could mean another version later. Disabled means the name,
 * whoever provides it; enabled the plugin that provides it now: one from another folder that has
 * the name later is as it says itself. Kept in the state folder, durable when the function returns.
 * @param who  the person who decides, such as a client of a server; NULL: that of the options
 * @return 0, also when it was so already; TOOLRACK_E_NOT_FOUND (the message names the nearest);
 *         TOOLRACK_E_INVALID for a range; TOOLRACK_E_IO when it could not be kept: then nothing
 * changed; TOOLRACK_E_NO_MEMORY. */
TOOLRACK_API int toolrack_set_enabled(struct toolrack *host, const char *name, bool enabled,
                                      const char *who, struct toolrack_error *err);
/** Set a tool's priority, likewise; any number. It is for the plugin that provides the tool now. */
TOOLRACK_API int toolrack_set_priority(struct toolrack *host, const char *name, int priority,
                                       const char *who, struct toolrack_error *err);

/** Make one version of a tool the default of its name: the version that a call by the name alone
 * means, whatever versions are registered later. While that version is not registered, or is
 * disabled, the default is chosen as if none had been set, and toolrack_why() says so. Kept in the
 * state folder, durable when the function returns.
 *
 * @param name     without a version
 * @param version  of a registered tool; NULL: let the highest be the default again
 * @param who      the person who decides; NULL: that of the options
 * @return 0, also when it was so already; TOOLRACK_E_NOT_FOUND; TOOLRACK_E_INVALID for a range or
 *         what is no version; TOOLRACK_E_REFUSED for a kept version; TOOLRACK_E_IO: then nothing
 *         changed; TOOLRACK_E_NO_MEMORY. */
TOOLRACK_API int toolrack_set_default(struct toolrack *host, const char *name, const char *version,
                                      const char *who, struct toolrack_error *err);

/** The other hosts of the state folder that a decision reached. */
struct toolrack_reached {
    size_t size;       /**< sizeof(struct toolrack_reached) */
    uint64_t applied;  /**< where it was in effect before the function returned */
    uint64_t silent;   /**< that did not answer within a second, or could not read the state folder;
                        * they apply it when they can */
    uint64_t at_start; /**< 1: no running host applies it, this one included, but each from its next
                        * start on: what is allowed to a function of an installed library */
    uint64_t unreachable; /**< that have no socket in the state folder, as their logs say: they
                           * apply it from their next start on */
};
#define TOOLRACK_REACHED_INIT \
    { .size = sizeof(struct toolrack_reached) }

/** Which other hosts the last decision made with this host reached. What is set, granted, revoked,
 * released, marked or rolled back takes effect in every open host of the state folder, in other
 * processes too, except those opened as `brief`. A host that learns of it sends the events that it
 * would send if it had been told itself.
 * @param reached  with its size; receives the rest */
TOOLRACK_API void toolrack_reached(struct toolrack *host, struct toolrack_reached *reached);

/** Give a tool's name to one of several plugins from different origins that provide it, and make
 * that version the default. Without this the name belongs to the plugin of the highest trust, then
 * to the one that provided it first; the tools of the others are refused (toolrack_refused()).
 * toolrack_set_default() with the version NULL takes the choice back. Kept in the state folder,
 * durable when the function returns.
 *
 * @param version  one version, no range
 * @param plugin   the id of the plugin
 * @param who      the person who decides; NULL: that of the options
 * @return 0; TOOLRACK_E_NOT_FOUND if that plugin has no such tool; TOOLRACK_E_INVALID;
 *         TOOLRACK_E_REFUSED for a kept version; TOOLRACK_E_IO: then nothing changed;
 *         TOOLRACK_E_NO_MEMORY. */
TOOLRACK_API int toolrack_set_default_plugin(struct toolrack *host, const char *name,
                                             const char *version, const char *plugin,
                                             const char *who, struct toolrack_error *err);

/** Say that a plugin file is the plugin about which something was decided while it came from
 * another folder, which is refused otherwise (rule "plugin-bound" of toolrack_refused()): its
 * policy and settings in the configuration, grants, pins, approvals and quarantine are then those
 * of this file. Durable when the function returns.
 *
 * @param name  the path of the file, or the id of the plugin
 * @param who   the person who decides; NULL: that of the options
 * @return 0; TOOLRACK_E_NOT_FOUND; TOOLRACK_E_INVALID if there is nothing to adopt, or another file
 *         has the id; TOOLRACK_E_IO: then nothing changed; TOOLRACK_E_NO_MEMORY. */
TOOLRACK_API int toolrack_adopt(struct toolrack *host, const char *name, const char *who,
                                struct toolrack_error *err);

/** Register the tools of a descriptor in the app's own memory: the same struct that a plugin
 * exports, with real functions. Copied, except for the functions, which must stay. Its open()
 * runs at the first call of one of its tools; if it fails, that call fails, and the state of its
 * tools is `failed`. A tool that states no priority has TOOLRACK_PRIORITY_BUILTIN. All tools are
 * registered, or none.
 *
 * @param ret_uids  receives the number of each tool in the descriptor's order; room for
 *                  plugin->tool_count numbers; may be NULL
 * @return 0; TOOLRACK_E_REFUSED (the message says what is wrong with it); TOOLRACK_E_EXISTS
 *         ("Tool already exists", with a free name) when name and version are taken, or the name
 *         belongs to a plugin from elsewhere that is not less trusted; TOOLRACK_E_LIMIT_EXCEEDED
 * when the registry would hold more than 65536 tools; TOOLRACK_E_NO_MEMORY. */
TOOLRACK_API int toolrack_register(struct toolrack *host, const struct tr_plugin *plugin,
                                   uint64_t *ret_uids, struct toolrack_error *err);

/** Promise that a tool of toolrack_register() always returns by itself, and soon, or take that
 * back.
 *
 * Nothing can stop a function that does not return. So a call with a deadline runs on a thread of
 * the host, which is given up at the deadline, and the two hand-overs take several times as long as
 * most calls. A tool that waits for nothing needs neither: with this promise its calls run on their
 * callers' threads, like those with TOOLRACK_NO_DEADLINE, and the deadline only says how long a
 * call waits for its turn, and what the tool reads as its deadline. If the promise is broken, the
 * caller waits for as long as the tool runs. The plugin's open() is part of it. Submitted calls run
 * on threads of the host as before. The types `mock` and `builtin` of the configuration make this
 * promise themselves.
 *
 * @param uid  the number of the tool, as toolrack_register() gave it
 * @return 0; TOOLRACK_E_NOT_FOUND; TOOLRACK_E_INVALID if the app did not register the tool. */
TOOLRACK_API int toolrack_set_returns(struct toolrack *host, uint64_t uid, bool returns,
                                      struct toolrack_error *err);

/** Register a service after the host was opened: the tools of the configuration that name it as
 * their handler, refused until now, come with it. It cannot be taken back; its tools can, by
 * toolrack_unregister_name().
 * @return 0; TOOLRACK_E_EXISTS when there is one of that name; TOOLRACK_E_INVALID without a name or
 *         a function; TOOLRACK_E_LIMIT_EXCEEDED; TOOLRACK_E_NO_MEMORY. */
TOOLRACK_API int toolrack_add_service(struct toolrack *host, const struct toolrack_service *service,
                                      struct toolrack_error *err);

/** Unregister a tool by its number, or all versions of a name ("name" or "name@version",
 * no range). Calls that are running go on.
 * @return 0; TOOLRACK_E_NOT_FOUND; TOOLRACK_E_INVALID for a range; TOOLRACK_E_NO_MEMORY. */
TOOLRACK_API int toolrack_unregister(struct toolrack *host, uint64_t uid,
                                     struct toolrack_error *err);
TOOLRACK_API int toolrack_unregister_name(struct toolrack *host, const char *name,
                                          struct toolrack_error *err);

/** What was not registered: a file as a whole, or one tool of it. Strings are valid as long as the
 * list.
 */
struct toolrack_refusal {
    const char *file;    /**< the plugin file or the configuration; NULL for something the app
                            registered */
    const char *plugin;  /**< the plugin's id as far as it could be read, or NULL */
    const char *tool;    /**< the tool's name, or NULL when the whole file was refused */
    const char *rule;    /**< the rule's id, such as "elf-truncated" */
    const char *reason;  /**< one line: what is wrong */
    const char *fix;     /**< one line: what to do */
    const char *version; /**< the tool's version, or NULL: that is not what was refused */
    bool kept; /**< of an earlier content of the file, as toolrack_tool_is_kept(): another row is of
                    the file's own version */
};
struct toolrack_refusals;
/** @return 0 with a list to be released by toolrack_refusals_free(); TOOLRACK_E_NO_MEMORY. */
TOOLRACK_API int toolrack_refused(struct toolrack *host, struct toolrack_refusals **ret,
                                  struct toolrack_error *err);
TOOLRACK_API size_t toolrack_refusals_count(const struct toolrack_refusals *refusals);
TOOLRACK_API const struct toolrack_refusal *toolrack_refusals_get(
        const struct toolrack_refusals *refusals, size_t index);
TOOLRACK_API void toolrack_refusals_free(struct toolrack_refusals *refusals);

/** What the log says of tools and grants when they are registered, beside what was refused, as far
 * as it holds now: a JSON array of objects: kind ("changed": a tool is not what was approved;
 * "header": MCP does not allow a header that its schema asks for, "grant": a grant of the
 * configuration has no effect), source (of the line of the log: the
 * plugin's id, or "permission"), text (of the line).
 * @return 0 with a reference, to be released by toolrack_text_unref(); TOOLRACK_E_NO_MEMORY. */
TOOLRACK_API int toolrack_warnings(struct toolrack *host, struct toolrack_text **ret,
                                   struct toolrack_error *err);

/** The plugins that have registered tools, in the order of these, and then the files and
 * definitions of which nothing was registered, as a JSON array of objects: id (null: it could not
 * be read), version, trust, file (null: registered by the app), state (as
 * toolrack_tool_state_name(), or "refused"), reason (or null), tools (their number), isolation
 * ("process" or "none"), generation, kept (whether its tools are earlier versions: see
 * toolrack_tool_is_kept()). A refused one has no version, trust, isolation and generation: null.
 * @return 0 with a reference, to be released by toolrack_text_unref(); TOOLRACK_E_NO_MEMORY. */
TOOLRACK_API int toolrack_plugins_info(struct toolrack *host, struct toolrack_text **ret,
                                       struct toolrack_error *err);

/** The definitions of all enabled tools as one JSON array in registry order: name, title,
 * description, icons, inputSchema, outputSchema, annotations. Made once for each state of the
 * registry, then cached. The same as toolrack_export() in TOOLRACK_FORMAT_MCP.
 * @return 0 with a reference, to be released by toolrack_text_unref(); TOOLRACK_E_NO_MEMORY. */
TOOLRACK_API int toolrack_definitions(struct toolrack *host, struct toolrack_text **ret,
                                      struct toolrack_error *err);
/** The text, zero-terminated; `ret_length` may be NULL. */
TOOLRACK_API const char *toolrack_text_data(const struct toolrack_text *text, size_t *ret_length);
TOOLRACK_API void toolrack_text_unref(struct toolrack_text *text);

/* --------------------------------------------------------------- isolation */

/** How the plugin of a tool is isolated, as one JSON object: isolation, capabilities (kind, value,
 * allowed, path, refused: why one is not granted though it is allowed); and of one that runs in
 * workers sandbox (wanted, in_force, missing: arrays of layers), limits, workers, busy, waiting,
 * crashes.
 * @param name  of a tool
 * @return 0 with a reference, to be released by toolrack_text_unref(); TOOLRACK_E_NOT_FOUND;
 *         TOOLRACK_E_NO_MEMORY. */
TOOLRACK_API int toolrack_describe_isolation(struct toolrack *host, const char *name,
                                             struct toolrack_text **ret,
                                             struct toolrack_error *err);

/** End a plugin's quarantine, or let it be loaded again after it was left out or has failed.
 * Durable on return.
 * @param name  of the plugin, or of one of its tools
 * @param who   the person who decides; NULL: that of the options
 * @return 0; TOOLRACK_E_NOT_FOUND when there is no such plugin, or it is neither in quarantine nor
 * left out, and has not failed; TOOLRACK_E_IO: then nothing changed; TOOLRACK_E_NO_MEMORY. */
TOOLRACK_API int toolrack_release(struct toolrack *host, const char *name, const char *who,
                                  struct toolrack_error *err);

/** Explain a plugin's state, as one JSON object: plugin, version, file, state, reason, generation,
 * sha256 (of the content that serves), rolled_back, refused (what is wrong with the file: reason,
 * fix), retired (earlier generations: generation, state, cause), crashes (the bundles kept, the
 * newest first: id, time, tool, signal, exit_status, reason, backtrace, lines ...), history (what
 * happened, the oldest first: time, time_ms, event - "content", "crash" or a decision - and text).
 * What was only refused is described too: its version is null, and its state "refused".
 * Asked about a tool: also tool, tool_version, permission, deprecated; default (an object: version,
 * what a call by its name alone means; set, the version that toolrack_set_default() named, or null;
 * reason, why it is not that one, or null); when it was registered in place of or beside an older
 * version that it should be compatible with and is not, compatibility (an object: older, the
 * version; and differences, an array of objects: rule, field, text); and, when it is not as it was
 * approved, changed: an object with one member for each thing that differs ("description",
 * "schema", "title", "deprecated", "result_schema", "purpose", "scenarios", "category", "tags",
 * "examples", "permission", "flags", "capabilities"), an object of the texts "approved" and "now".
 * @param name  of the plugin, of one of its tools, or of its file, or the path of that
 * @return as above; TOOLRACK_E_INVALID if several files have the name. */
TOOLRACK_API int toolrack_why(struct toolrack *host, const char *name, struct toolrack_text **ret,
                              struct toolrack_error *err);

/* ------------------------------------------------------------------ reload */

/** Look at the plugin files again, also without `watch`, and reload what has changed: the next
 * generation of a plugin is copied, checked, loaded and tried out (the examples of its safe tools
 * are called), and then takes the place of the last one as one change. Calls that are running end
 * on the old one. When a new file cannot be used, the old generation goes on serving.
 *
 * A tool that is in both generations gets a new registration, with another number and new
 * statistics.
 *
 * @param name        NULL: all files of all folders. Otherwise a plugin, one of its tools, or the
 *                    path of a file: that file alone, and also when it is the same; a plugin that
 * was left out is tried again
 * @param ret_report  receives a reference, to be released by toolrack_text_unref(): a JSON array
 *                    with an object for each file: file, plugin, outcome ("unchanged", "added",
 *                    "reloaded", "removed" or "refused"), reason, generation, sha256, and what
 * became of the generation before, as `old`: "gone", "pending", "resident", or "draining" while
 * calls of it run; with `cause`
 * @return 0, whatever the outcomes; TOOLRACK_E_NOT_FOUND; TOOLRACK_E_INVALID for a plugin that the
 *         app registered; TOOLRACK_E_NO_MEMORY. */
TOOLRACK_API int toolrack_reload(struct toolrack *host, const char *name,
                                 struct toolrack_text **ret_report, struct toolrack_error *err);

/** Go back to the content that a plugin's file had before: reloaded like a change. It is
 * remembered, over restarts, for as long as the file has the content that was gone back from;
 * durable on return.
 * @param name  of the plugin, one of its tools, or the path of its file
 * @param who   the person who decides; NULL: that of the options
 * @return 0; TOOLRACK_E_NOT_FOUND, also when there is nothing to go back to; TOOLRACK_E_REFUSED
 * when the earlier content does not work any more; TOOLRACK_E_INVALID, TOOLRACK_E_IO,
 *         TOOLRACK_E_NO_MEMORY. On failure nothing changes. */
TOOLRACK_API int toolrack_rollback(struct toolrack *host, const char *name, const char *who,
                                   struct toolrack_error *err);

/* ------------------------------------------------------------- permissions */

/** Grant a tool: a `dangerous` or a `confirm` one runs without being asked about. The grant is for
 * the tool of the plugin that has it now, with its present description and schema: when these
 * change, the tool's state is `changed`, where the configuration wants that, until it is granted
 * again. Durable when the function returns.
 *
 * @param name     "name" (all versions, those to come too) or "name@version"
 * @param seconds  how long; 0 is until it is revoked
 * @param who      for the log; NULL: that of the options
 * @return 0; TOOLRACK_E_NOT_FOUND (the message names the nearest); TOOLRACK_E_INVALID for a range
 *         of versions, or more than a hundred years; TOOLRACK_E_IO, TOOLRACK_E_LIMIT_EXCEEDED:
 * nothing changed; TOOLRACK_E_NO_MEMORY. */
TOOLRACK_API int toolrack_grant(struct toolrack *host, const char *name, uint64_t seconds,
                                const char *who, struct toolrack_error *err);

/** Revoke all grants and approvals of a tool, also of one that is not registered any more, and
 * forget how it was when it was granted or approved. Its calls that were allowed once and were not
 * made since wait for an answer again. What the configuration grants stays, and stays
 * bound to the tool that it was for.
 * @return 0; TOOLRACK_E_NOT_FOUND when there is nothing to take back, with a message that says so
 *         if the configuration grants it; TOOLRACK_E_IO: nothing changed; TOOLRACK_E_NO_MEMORY. */
TOOLRACK_API int toolrack_revoke(struct toolrack *host, const char *name, const char *who,
                                 struct toolrack_error *err);

/** The grants and approvals that have not expired, as a JSON array of objects: kind ("grant" or
 * "approval"), tool, version (null: all), conversation (null: all), who ("configuration" without
 * since_s: the configuration), since_s, expires_s (null: never), plugin and origin (of the tool
 * that it is for; null: of none yet), state ("in-force"; "changed": the tool is not what was
 * approved; "other-plugin": the name is another plugin's now; "absent": no tool has it) and reason
 * (null: it is in force). One that is for tools of several plugins has a row for each.
 * @return 0 with a reference, to be released by toolrack_text_unref(); TOOLRACK_E_IO;
 *         TOOLRACK_E_NO_MEMORY. */
TOOLRACK_API int toolrack_grants(struct toolrack *host, struct toolrack_text **ret,
                                 struct toolrack_error *err);

/** Allow a plugin what it declares: it takes effect at once, for the plugin of this id and origin;
 * calls that run end with what they had. Durable when the function returns. What is allowed is
 * bound to the plugin: another one with the same id does not get it.
 *
 * @param plugin      its id, or one of its tools
 * @param capability  an item of "allow" in the configuration: "read:/srv/rates.xml", as declared or
 *                    with the real path, or a path in it; "read" and "*" stand for all that is
 *                    declared now
 * @param who         for the log; NULL: that of the options
 * @return 0; TOOLRACK_E_NOT_FOUND; TOOLRACK_E_INVALID when it declares no such thing or runs in the
 *         host's process; TOOLRACK_E_REFUSED when it would not be granted (the message says why;
 *         nothing changed), or when it is stored, and new workers could not be made;
 *         TOOLRACK_E_IO: nothing changed; TOOLRACK_E_NO_MEMORY. */
TOOLRACK_API int toolrack_allow(struct toolrack *host, const char *plugin, const char *capability,
                                const char *who, struct toolrack_error *err);

/** Take what toolrack_allow() or the configuration allows a plugin, until it is allowed again.
 * Otherwise like toolrack_allow(). */
TOOLRACK_API int toolrack_disallow(struct toolrack *host, const char *plugin,
                                   const char *capability, const char *who,
                                   struct toolrack_error *err);

/** What was allowed or taken with these functions, as a JSON array of objects: plugin, origin,
 * capability, allowed (false: taken), since_s, who.
 * @return 0 with a reference, to be released by toolrack_text_unref(); TOOLRACK_E_IO;
 *         TOOLRACK_E_NO_MEMORY. */
TOOLRACK_API int toolrack_allowances(struct toolrack *host, struct toolrack_text **ret,
                                     struct toolrack_error *err);

/** The calls that wait for approval, the oldest first, as a JSON array of objects:
 * id, tool, version, arguments, arguments_text (the same as a string, in which each number is as
 * the tool gets it: for who shows it to a person), caller, channel, conversation, reason, since_s,
 * expires_s. Each waits for an hour.
 * @return as above; TOOLRACK_E_IO. */
TOOLRACK_API int toolrack_pending(struct toolrack *host, struct toolrack_text **ret,
                                  struct toolrack_error *err);

/** Which of them. */
struct toolrack_pending_filter {
    size_t size;        /**< sizeof(struct toolrack_pending_filter) */
    const char *caller; /**< only calls of this caller; "": without one; NULL: of all */
};
#define TOOLRACK_PENDING_FILTER_INIT \
    { .size = sizeof(struct toolrack_pending_filter) }

/** The same for some of them: a caller that is no administrator sees its own.
 * @param filter  NULL is all */
TOOLRACK_API int toolrack_pending_of(struct toolrack *host,
                                     const struct toolrack_pending_filter *filter,
                                     struct toolrack_text **ret, struct toolrack_error *err);

/** Approve or deny a pending call: when it is made again, with the same arguments by the same
 * caller in the same conversation, it runs once, or always. Durable when the function returns. The
 * answer is for the tool as the call found it: its plugin, description, schema, permission, flags
 * and capabilities. What was allowed once can be denied until the call is made.
 *
 * @param approval  allows or denies: one of the first four
 * @return 0; TOOLRACK_E_NOT_FOUND when it expired, was answered already or is unknown, which the
 *         message tells apart; TOOLRACK_E_INVALID for an answer it cannot be given, and when the
 *         tool has changed since, with a message that says in what; TOOLRACK_E_IO;
 *         TOOLRACK_E_NO_MEMORY. */
TOOLRACK_API int toolrack_resolve(struct toolrack *host, const char *id,
                                  enum toolrack_approval approval, const char *who,
                                  struct toolrack_error *err);

/** Which decisions to read. */
struct toolrack_decisions_filter {
    size_t size;        /**< sizeof(struct toolrack_decisions_filter) */
    const char *tool;   /**< only about this tool: NAME or NAME@VERSION */
    int64_t since_ms;   /**< not older than this, in milliseconds since 1970 */
    uint64_t limit;     /**< at most so many, the newest; 0 is all that are kept */
    const char *plugin; /**< only about this plugin and its tools */
};
#define TOOLRACK_DECISIONS_FILTER_INIT \
    { .size = sizeof(struct toolrack_decisions_filter) }

/** What was decided about calls and tools, the newest first, as a JSON array of objects: time_ms,
 * tool, version, plugin, caller, channel, conversation, decision, who, why. Calls of `safe` tools
 * need no decision. Decisions are written in batches: a host that is killed loses those of the last
 * second.
 * @param filter  NULL is all
 * @return as above; TOOLRACK_E_IO. */
TOOLRACK_API int toolrack_decisions(struct toolrack *host,
                                    const struct toolrack_decisions_filter *filter,
                                    struct toolrack_text **ret, struct toolrack_error *err);

/* ------------------------------------------------------------------- calls */

/** For `deadline_ms`: no deadline. In this process such a call runs on the caller's own
 * thread, which is the fastest way and the right one for tools that are known to return; any other
 * runs on a thread of the host, which can be given up: the caller then gets its Timeout on time,
 * whatever the tool does. A call to a worker waits on the caller's thread, with a deadline or
 * without. */
#define TOOLRACK_NO_DEADLINE UINT32_MAX

/** How a person answered a question. */
enum toolrack_answer {
    TOOLRACK_ANSWER_NOBODY,   /**< no person can be asked */
    TOOLRACK_ANSWER_ACCEPTED, /**< the form was filled in */
    TOOLRACK_ANSWER_DECLINED, /**< the person declined */
    TOOLRACK_ANSWER_DISMISSED /**< the person closed it without an answer */
};

/** What a tool asks for. */
enum toolrack_input_kind {
    TOOLRACK_INPUT_FORM,   /**< a person's answers to a form */
    TOOLRACK_INPUT_URL,    /**< that a person opens an address, and does there what is asked */
    TOOLRACK_INPUT_SAMPLE, /**< a message of the client's model */
    TOOLRACK_INPUT_ROOTS   /**< the folders that the client works in */
};

/** One of the things that a tool asks for. Lent by the library until the callback returns. */
struct toolrack_input {
    size_t size; /**< of this struct as the library knows it */
    /** The tool's name for it, or "ask-1", "sample-2" ...: no other of the call has it, and it is
     * the same when the call is made again. */
    const char *key;
    enum toolrack_input_kind kind;
    int answer; /**< out: enum toolrack_answer, NOBODY at first. Of a SAMPLE or ROOTS: ACCEPTED, the
                   client gave it; NOBODY, it cannot */
    const char *message; /**< FORM, URL: the text for the person; else NULL */
    const char *schema;  /**< FORM: the JSON Schema of a flat object, without properties where
                            consent is all that is asked for; else NULL */
    const char *request; /**< URL: the address; SAMPLE: `params` of sampling/createMessage, as in
                            MCP; else NULL */
    /** Out, where ACCEPTED: from toolrack_alloc(); the library frees it. FORM: a JSON object; left
     * NULL it is {}. SAMPLE: the CreateMessageResult, ROOTS: the ListRootsResult of MCP. */
    char *content;
    const char *tool; /**< the name of the tool that asks */
};

/** What the callback `input` returns if the answers come with another call. */
#define TOOLRACK_INPUT_LATER 1

struct toolrack_export_options;

struct toolrack_call_options {
    size_t size; /**< sizeof(struct toolrack_call_options) */
    /** From the beginning of the call, the copy of its plugin's file at the first call included;
     * the time in which a person is asked does not count. 0 is the tool's own, or the host's
     * default */
    uint32_t deadline_ms;
    uint32_t confirmed;  /**< not 0: a person approved this call: `confirm` tools run */
    const char *caller;  /**< who calls; for the tool and the log. This and the next may be NULL */
    const char *channel; /**< through what; NULL is "api" */
    const char *conversation; /**< NULL outside a conversation */
    const char *trace;        /**< an id that ties records together */
    /** Progress that the tool reports, on the thread that runs it; may call back, but not
     * toolrack_close(). `total` 0 is unknown, `message` may be NULL. */
    void (*progress)(void *user, double done, double total, const char *message);
    void *user;
    /** A question of the tool to the person, on the thread that runs it; NULL: no person can be
     * asked. `schema` is the JSON Schema of a flat object, without properties where consent is all
     * that is asked for. It may call back, but not toolrack_close(). The call cannot end before
     * this returns, and submitted calls that are overdue may have to wait as well: who waits for a
     * person stops waiting at the deadline and when the call is cancelled.
     *
     * @param ret_content  on TOOLRACK_ANSWER_ACCEPTED, a JSON object from toolrack_alloc(), which
     * the host frees; left NULL it is {}
     * @return enum toolrack_answer */
    int (*ask)(void *user, const char *message, const char *schema, char **ret_content);
    /** A log line of the tool, beside the host's log and whatever its least level. On the thread
     * that runs the tool; may call back, but not toolrack_close(). */
    void (*log)(void *user, enum toolrack_log_level level, const char *line);
    /** As `approve` of struct toolrack_options, for this call and with its `user`; NULL: the
     * host's. */
    int (*approve)(void *user, const struct toolrack_approval_request *request);
    /** What the tool asks for: `count` things at once, none of which depends on the answer to
     * another. Takes the place of `ask`, and sets each answer. The time in it does not count
     * against the deadline, so it must return when the call is cancelled, and when the host is
     * closed. On the thread that runs the tool; may call back, but not toolrack_close().
     *
     * TOOLRACK_INPUT_LATER: nobody answers during this call. The tool is asked to end, and the call
     * ends with TOOLRACK_E_INPUT_REQUIRED whatever the tool then says. Call it again with the same
     * arguments, and let this function give the answers by their keys.
     * @return 0, or TOOLRACK_INPUT_LATER */
    int (*input)(void *user, struct toolrack_input *inputs, size_t count);
    /** For toolrack_offer_submit() and toolrack_offer_call(): the ids of the plugins that may be
     * asked, NULL-terminated, borrowed until the function returns. NULL: all. */
    const char *const *plugins;
    /** For toolrack_tool_call() and toolrack_submit_tool(): the file of the tool's plugin was
     * exchanged after it was read, and before any tool of it was called. What was read cannot be
     * called any more; what the file has now is registered. Returns the tool to call instead, a
     * reference, or NULL: the call fails with TOOLRACK_E_NOT_FOUND. With `user`, on the thread that
     * makes the call; may call back, but not toolrack_close(). Without this function such a call
     * fails with TOOLRACK_E_EXECUTION_FAILED. */
    struct toolrack_tool *(*renewed)(void *user);
    /** Whose share of the calls that wait for approval it takes, where several callers are one
     * party, such as the sessions of one user; NULL: the caller's. */
    const char *party;
    /** For toolrack_answer() and toolrack_agent(): the tools that the model was offered, by the
     * options of the export that it was given (see toolrack/format.h); only these can be called.
     * toolrack_answer() exports them anew: where tools may come and go, see `definitions`.
     * NULL: toolrack_answer() calls any tool, toolrack_agent() offers all. */
    const struct toolrack_export_options *offered;
    /** The run of a plan that it is a call of, for the log; NULL: of none. A run sets it. */
    const char *run;
    /** With `confirmed`: who the person is that approved, for the log of decisions; NULL: the
     * caller. */
    const char *confirmed_by;
    /** A person, `who`, has approved this call and no other: told before it begins, on the thread
     * that asked, with `agreed_user`; not for a call that is granted, approved for longer, or
     * `confirmed`. So the app can keep that, where a call may have to be made again after its
     * process has ended. NULL: not told. */
    void (*agreed)(void *agreed_user, const char *who);
    void *agreed_user;
    /** enum toolrack_tolerance: how exactly the arguments must fit the schema. What the
     * configuration says of the tool goes before it. TOOLRACK_TOLERANCE_UNSET: what the
     * configuration says of all tools, else exactly. */
    uint64_t tolerance;
    /** Texts that are secret wherever they stand in this call, marked by a schema or not, each
     * with a zero behind it: they are masked in the log of calls, in a call that waits for
     * approval, and in its failure, as they are or with JSON escapes. Its result and a person who
     * approves it see them. One of 3 bytes is masked where it stands by itself, a shorter one
     * nowhere; beyond 8192 bytes in all, or with an empty one first, all is. A run of a plan adds
     * those that it knows. Copied; NULL: none. */
    const char *secrets;
    size_t secrets_length; /**< in bytes, the zeros included */
    /** For toolrack_answer(): the model that gets the results, by the provider's name. Gemini takes
     * images in results since its third generation, and refuses requests with them before; other
     * formats do not depend on the model. NULL: what the message has as `modelVersion`; without
     * that, images are described in words. */
    const char *model;
    /** The node of a plan that makes the call, by its id, and the name of the plan (NULL: it has
     * none), for who is asked to approve it. A run sets them. Copied; NULL: of none. */
    const char *node;
    const char *plan;
    /** For toolrack_answer(): the definitions that the model was given, as toolrack_export() gave
     * them in the format of the message. Only tools in them can be called, by the names that they
     * have, whatever was registered since; goes before `offered`, which is exported anew. Borrowed
     * until the function returns; NULL: none. */
    const struct toolrack_text *definitions;
};
#define TOOLRACK_CALL_OPTIONS_INIT \
    { .size = sizeof(struct toolrack_call_options) }

/** What is done with arguments that do not fit the schema of their tool but nearly so, as models
 * write them. What fits is never changed, and nothing is unless all fits then. */
enum toolrack_tolerance {
    TOOLRACK_TOLERANCE_UNSET,
    TOOLRACK_TOLERANCE_EXACT,     /**< the call is refused */
    TOOLRACK_TOLERANCE_JSON_TEXT, /**< where an object or array is wanted, and no text, a text is
                                       read as JSON: nothing is lost by that */
    TOOLRACK_TOLERANCE_LAX /**< also numbers and booleans in text, one value where an array is
                                wanted, choices in another case */
};

/** Most bytes of arguments, and of a result. */
#define TOOLRACK_ARGUMENTS_MAX (64u * 1024 * 1024)
#define TOOLRACK_RESULT_MAX    (64u * 1024 * 1024)
/** Most calls that wait for a thread at once. */
#define TOOLRACK_QUEUE_MAX     4096

/** Call a tool and wait for its result.
 *
 * @param name       as toolrack_get() takes it
 * @param arguments  the text of a JSON object; NULL or "" is {}
 * @param options    borrowed during the call; NULL is all defaults
 * @param ret        receives the result, to be released by toolrack_result_free()
 * @return 0, or a code with err->tool set and, for a wrong argument, err->field:
 *         TOOLRACK_E_NOT_FOUND, _DISABLED, _INVALID_ARGUMENTS, _PERMISSION_DENIED,
 *         _CONFIRMATION_REQUIRED, _EXECUTION_FAILED, _TIMEOUT, _CANCELLED, _LIMIT_EXCEEDED,
 *         _INPUT_REQUIRED, _NO_MEMORY. */
TOOLRACK_API int toolrack_call(struct toolrack *host, const char *name, const char *arguments,
                               const struct toolrack_call_options *options,
                               struct toolrack_result **ret, struct toolrack_error *err);

/** The same with a reference to the tool and the length of the arguments: no lookup, no strlen. A
 * tool that was unregistered or disabled after the reference was taken still runs. */
TOOLRACK_API int toolrack_tool_call(struct toolrack *host, struct toolrack_tool *tool,
                                    const char *arguments, size_t length,
                                    const struct toolrack_call_options *options,
                                    struct toolrack_result **ret, struct toolrack_error *err);

/** The arguments of a call from texts such as "amount=5", as a person types them: the tool's schema
 * gives the types. A string property keeps the text as it is, any other reads it as JSON; what does
 * not fit stays a string, which the call refuses with its reason.
 *
 * "name=value" sets a property, "a.b=value" one inside the object a. Given once more, an array
 * property gets one more item; a JSON array adds its items.
 *
 * @param json    the text of the object to begin with; values take the place of its properties.
 *                NULL or "" is {}
 * @param values  `count` of them, borrowed
 * @param ret     receives a reference, to be released by toolrack_text_unref(): the text of the
 *                object, for toolrack_call()
 * @return 0; TOOLRACK_E_INVALID for a value that is not name=value; TOOLRACK_E_INVALID_ARGUMENTS,
 *         with the field, for one that cannot be set, and for a wrong `json`;
 *         TOOLRACK_E_NO_MEMORY. */
TOOLRACK_API int toolrack_arguments(const struct toolrack_tool *tool, const char *json,
                                    const char *const *values, size_t count,
                                    struct toolrack_text **ret, struct toolrack_error *err);

/** Whether a tool takes the arguments of a call, without a call: by its schema, as the host lists
 * it. The plugin is not loaded, and nothing is recorded. A call is checked anyway; this is for who
 * answers before the call ends.
 *
 * @param arguments  `length` bytes: the text of a JSON object; none are {}
 * @return 0; TOOLRACK_E_INVALID_ARGUMENTS, with the tool and the field, in the words of the call;
 *         TOOLRACK_E_LIMIT_EXCEEDED; TOOLRACK_E_NO_MEMORY. [any-thread] */
TOOLRACK_API int toolrack_arguments_check(const struct toolrack_tool *tool, const char *arguments,
                                          size_t length, struct toolrack_error *err);

/** How a submitted call ended: `result` is NULL on failure and is the callback's to release;
 * `err` is NULL on success and valid until the callback returns. */
typedef void toolrack_done(void *user, struct toolrack_result *result,
                           const struct toolrack_error *err);

/** Submit a call: it runs on a thread of the host. `done` is called exactly once, unless this
 * function fails, on a thread of the host, perhaps before this function returns; it may call
 * anything but toolrack_close(). TOOLRACK_NO_DEADLINE is allowed: it then waits for ever.
 *
 * @param done       NULL: the outcome is not reported
 * @param arguments  copied
 * @param ret        receives a handle, to be released by toolrack_call_unref(); may be NULL
 * @return 0; TOOLRACK_E_NOT_FOUND, TOOLRACK_E_LIMIT_EXCEEDED when TOOLRACK_QUEUE_MAX wait;
 *         TOOLRACK_E_CANCELLED while the host is closing; TOOLRACK_E_NO_MEMORY. Everything else
 * reaches `done`. */
TOOLRACK_API int toolrack_submit(struct toolrack *host, const char *name, const char *arguments,
                                 const struct toolrack_call_options *options, toolrack_done *done,
                                 void *user, struct toolrack_call **ret,
                                 struct toolrack_error *err);

/** The same with a reference to the tool and the length of the arguments, as toolrack_tool_call()
 * has them: that tool is called, and no other that has its name by then, but for `renewed`.
 * @return as toolrack_submit(), without TOOLRACK_E_NOT_FOUND */
TOOLRACK_API int toolrack_submit_tool(struct toolrack *host, struct toolrack_tool *tool,
                                      const char *arguments, size_t length,
                                      const struct toolrack_call_options *options,
                                      toolrack_done *done, void *user, struct toolrack_call **ret,
                                      struct toolrack_error *err);

/** A source of calls: a socket, a pipe, a queue from which an app takes messages and submits calls
 * for them. */
struct toolrack_source;

/** Wait for messages of a source and submit calls for those that are there. It is called again and
 * again, by one thread of the host at a time, not always the same one. The calls that it submits
 * run on the same thread after it has returned, one after the other, so that a short call is handed
 * to no other thread; while one takes long, another thread calls it. So answers to calls may come
 * on several threads at once, and it should return when it has taken what is there: some hundred
 * messages at most.
 * @return false: the source has ended, and it is not called any more */
typedef bool toolrack_take(void *user);

/** Have the host serve a source from now on. Each source may have a thread of its own, beside those
 * that run calls.
 * @param ret  receives the source, which is to be stopped before toolrack_close()
 * @return 0; TOOLRACK_E_LIMIT_EXCEEDED when no thread can be started; TOOLRACK_E_NO_MEMORY.
 *         [any-thread] */
TOOLRACK_API int toolrack_source_start(struct toolrack *host, toolrack_take *take, void *user,
                                       struct toolrack_source **ret, struct toolrack_error *err);

/** Wait until `take` has returned false. [a thread that the host does not own] */
TOOLRACK_API void toolrack_source_wait(struct toolrack_source *source);

/** Wait until `take` is not being called, call it no more, and release the source; NULL is ignored.
 * The caller makes a `take` return that waits for messages. Calls that were submitted go on. [a
 * thread that the host does not own] */
TOOLRACK_API void toolrack_source_stop(struct toolrack_source *source);

/** Ask a submitted call to end. One that has not begun ends at once with Cancelled; a running tool
 * is told, and given up when it has not returned after one second. Nothing happens to a call that
 * has ended. */
TOOLRACK_API void toolrack_cancel(struct toolrack_call *call);
TOOLRACK_API void toolrack_call_unref(struct toolrack_call *call);

/** The same for all calls with this `conversation` that run on threads of the host: those
 * submitted, and those of toolrack_answer(). Later calls of that conversation are not affected. */
TOOLRACK_API void toolrack_cancel_conversation(struct toolrack *host, const char *conversation);

/** The result as one JSON value, zero-terminated: the tool's JSON where it gave that alone, a
 * string where it gave one text alone, null where it gave nothing, and otherwise
 * {"content":[...], "structuredContent":...} with content blocks as in MCP. */
TOOLRACK_API const char *toolrack_result_json(const struct toolrack_result *result,
                                              size_t *ret_length);
/** The text of a result that is one text alone; else NULL. */
TOOLRACK_API const char *toolrack_result_text(const struct toolrack_result *result,
                                              size_t *ret_length);
/** Whether the JSON is the last of these: {"content":[...]}. A tool's own JSON may look the same.
 */
TOOLRACK_API bool toolrack_result_is_content(const struct toolrack_result *result);
/** What was changed in the arguments because they fit nearly, as a JSON array of objects of `field`
 * (a JSON Pointer) and `change` ("json-text", "number-text", "boolean-text", "one-item",
 * "choice-case"); NULL: nothing. Zero-terminated; borrowed from the result. */
TOOLRACK_API const char *toolrack_result_changed(const struct toolrack_result *result,
                                                 size_t *ret_length);
/** How long the call took, in nanoseconds. */
TOOLRACK_API uint64_t toolrack_result_duration_ns(const struct toolrack_result *result);
TOOLRACK_API void toolrack_result_free(struct toolrack_result *result);

/* ------------------------------------------------------------------- check */

enum toolrack_severity {
    TOOLRACK_SEVERITY_NOTE,
    TOOLRACK_SEVERITY_WARNING,
    TOOLRACK_SEVERITY_ERROR
};

/** One thing about a plugin file or a configuration. Texts live as long as the findings. */
struct toolrack_finding {
    enum toolrack_severity severity;
    const char *rule;  /**< the rule's id */
    const char *tool;  /**< the tool concerned, or NULL */
    const char *cause; /**< one line: what and where */
    const char *fix;   /**< one line: what to do */
    size_t line;       /**< of a configuration, from 1, with the column; of a plugin 0 */
    size_t column;
    const char *pointer; /**< JSON Pointer of the member concerned, of a plan or a
                             configuration; else NULL */
};

/** Check a plugin file by all rules, without loading it; or a configuration, which is a file whose
 * name ends in ".json" or that begins as JSON does, with the tools it defines.
 * @return 0 with what was found, perhaps nothing, to be released by toolrack_findings_free();
 *         TOOLRACK_E_NOT_FOUND or TOOLRACK_E_IO when the file cannot be read;
 *         TOOLRACK_E_NO_MEMORY. */
TOOLRACK_API int toolrack_check(const char *file, struct toolrack_findings **ret,
                                struct toolrack_error *err);

/** Add a finding about a configuration that is being checked.
 * @param pointer  JSON Pointer of the member
 * @param problem  "what is wrong; what to do" */
typedef void toolrack_tell(void *telling, enum toolrack_severity severity, const char *pointer,
                           const char *problem);

/** With what a configuration is checked; members mean the same as in struct toolrack_options. A
 * plugin is checked without them. */
struct toolrack_check_options {
    size_t size; /**< sizeof(struct toolrack_check_options) */
    const char *const *plugin_dirs;
    uint64_t safe_mode;
    void *user;
    /** What becomes a finding is not logged. */
    void (*log)(void *user, enum toolrack_log_level level, const char *source, const char *line);
    enum toolrack_log_level log_level;
    /** What the app finds besides, if hosts open with the configuration: `host` is such a one, of
     * which tools are listed and none is called. It may call `tell` until it returns. NULL:
     * nothing. */
    void (*more)(void *user, struct toolrack *host, toolrack_tell *tell, void *telling);
};
#define TOOLRACK_CHECK_OPTIONS_INIT \
    { .size = sizeof(struct toolrack_check_options) }

/** The same for a host that is opened with options. NULL is all defaults. */
TOOLRACK_API int toolrack_check_with(const char *file, const struct toolrack_check_options *options,
                                     struct toolrack_findings **ret, struct toolrack_error *err);
TOOLRACK_API size_t toolrack_findings_count(const struct toolrack_findings *findings);
TOOLRACK_API const struct toolrack_finding *toolrack_findings_get(
        const struct toolrack_findings *findings, size_t index);
/** Whether a configuration was checked. */
TOOLRACK_API bool toolrack_findings_is_configuration(const struct toolrack_findings *findings);
/** Id, version and number of sound tools of the plugin that was checked; NULL and 0 when it could
 * not be read. Of a configuration NULL, NULL and the number of sound definitions. */
TOOLRACK_API const char *toolrack_findings_plugin(const struct toolrack_findings *findings);
TOOLRACK_API const char *toolrack_findings_version(const struct toolrack_findings *findings);
TOOLRACK_API size_t toolrack_findings_tool_count(const struct toolrack_findings *findings);
/** The processor that the plugin is for, such as "x86-64" or "AArch64"; NULL as above. */
TOOLRACK_API const char *toolrack_findings_machine(const struct toolrack_findings *findings);
/** Whether that is another processor than this machine's: no host here loads the plugin, and what
 * other files it needs was not looked for. */
TOOLRACK_API bool toolrack_findings_is_foreign(const struct toolrack_findings *findings);
TOOLRACK_API void toolrack_findings_free(struct toolrack_findings *findings);

/** A rule by which files are checked. Static texts. */
struct toolrack_rule {
    size_t size;                     /**< sizeof(struct toolrack_rule), set by the caller */
    enum toolrack_severity severity; /**< of a few rules of configurations the usual one */
    const char *id;                  /**< the `rule` of findings */
    const char *fix;                 /**< one line: what to do */
    const char *about;               /**< why it matters: sentences, the first one a summary */
    const char *example;             /**< lines; or NULL */
};

/** How many rules there are. [any-thread] */
TOOLRACK_API size_t toolrack_rule_count(void);
/** One of them.
 * @param ret  its `size` says which members it has
 * @return 0; TOOLRACK_E_NOT_FOUND for an index that is not below toolrack_rule_count().
 * [any-thread] */
TOOLRACK_API int toolrack_rule_get(size_t index, struct toolrack_rule *ret);

#ifdef __cplusplus
}
#endif
