/* config.h - the configuration file: JSON with comments.
 *
 *     {
 *         // folders to scan, in this order
 *         "folders": ["/opt/tools", {"path": "/srv/ours", "trust": "official"}],
 *         "deadline_ms": 30000,        // deadline of calls that have no other
 *         "duplicates": "reject",      // or "replace"
 *         "grants": ["wipe_disk"],     // dangerous tools that may run
 *         "plugins": {"currency": {"rates_file": "/srv/rates.xml"}},  // settings, by plugin id
 *
 *         "isolation": "process",      // or "none"; folders and policies may override it
 *         "log": {"days": 30, "megabytes": 256},  // how much of the log of calls is kept
 *         "require_sandbox": false,    // true: no call runs if a layer is missing
 *         "spare_worker": false,       // true: a worker process is started ahead
 *         "pin": "warn",               // "off", "enforce": when an approved tool's text changes
 *         "keep": 1,                   // how many earlier versions of a plugin stay callable
 *         "go_back": true,             // from a new content that crashes in its first minute
 *         "measure": "sampled",        // or "all": which calls' CPU time and memory are measured
 *         "paths": {"workspace": "/srv/work"},  // what ${workspace} stands for
 *         "policies": {                // by plugin id
 *             "currency": {
 *                 "isolation": "process",
 *                 "allow": ["read", "network:example.org:443", "env:LANG"], // capabilities
 *                 "workers": 4, "queue": 256, "start_ms": 10000, "idle_ms": 30000,
 *                 "grace_ms": 250, "backoff_ms": 1000, "backoff_max_ms": 60000,
 *                 "crashes": 3, "crashes_window_ms": 60000,
 *                 "memory_mb": 1024, "file_mb": 256, "cpu_s": 60, "files": 64, "processes": 32,
 *                 "threads": 64, "idle_cpu_percent": 5, "network_namespace": false, "keep": 1,
 *                 "go_back": true, "measure": "all"
 *             }
 *         },
 *         "tools": [{"name": "weather", ...}],  // see definition.h
 *         "models": {"fast": {"endpoint": "https://api.example.com", "model": "m"}},
 *         "agent": {"model": "fast"},           // which of them toolrack agent asks
 *         "choose": {"scenes": {"fleet": {"words": ["truck"]}}},  // how tools are chosen
 *         "nats": {"url": "nats://127.0.0.1:4222"},  // other hosts that this one joins
 *         "serve": {"listen": "127.0.0.1:8137"}  // how clients are served; see serving.c
 *     }
 *
 * toolrack.schema.json describes the file; the file is checked with it (validate.h) before anything
 * is read. */
#pragma once

#include <stdbool.h>
#include <yyjson.h>

#include "config/definition.h"
#include "config/problem.h"
#include "files/scan.h"
#include "toolrack/toolrack.h"

/* Largest configuration file. */
#define CONFIG_SIZE_MAX (4u * 1024 * 1024)

/* How many earlier versions of a plugin stay callable after an update, unless the file says
 * otherwise; and the most that it may say. */
#define CONFIG_KEEP_DEFAULT 1u
#define CONFIG_KEEP_MAX     8u

/* Longest result that a model is given whole, unless the file says otherwise. */
#define CONFIG_RESULT_BYTES_DEFAULT 65536u

struct config;

/* All pointers but the path are borrowed as long as the configuration exists. */
struct config_options {
    const char *path;      /* NULL: an empty configuration */
    bool optional;         /* a file that does not exist is an empty configuration too */
    struct toolrack *host; /* passed to builtin functions */
    const struct builtin *builtins;
    size_t builtin_count;
    descriptor_schema_check *check_schema; /* as in struct descriptor_options */
    descriptor_values_check *check_values;
    definition_make_plan *make_plan;
    definition_make_remote *make_remote;
};

/** Read a configuration, to be released with config_destroy().
 * @return 0; TOOLRACK_E_INVALID with the place and the fix; TOOLRACK_E_REFUSED if other users could
 *         change it (base/ownership.h); TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY.
 * [one thread] */
int config_create(const struct config_options *options, struct config **ret,
                  struct toolrack_error *err);
/** NULL is ignored. Everything borrowed from it becomes invalid. */
void config_destroy(struct config *config);

/* The members of the file that are not about one plugin or tool. */
struct config_settings {
    const struct scan_folder *folders; /* borrowed, as long as the configuration */
    size_t folder_count;
    uint32_t deadline_ms;     /* 0: not set */
    bool replaces_duplicates; /* of two tools with the same name and version the later one stays */
    bool require_sandbox;
    bool keeps_spare_worker;
    enum isolation isolation;
    enum pin_policy pin;
    unsigned tolerance; /* enum toolrack_tolerance, as the next functions give it; 0: not set */
    uint32_t keep;      /* how many earlier versions of a plugin stay callable */
    bool goes_back;     /* from a new content of a plugin that crashes in its first minute */
    enum measure measure;
    uint32_t log_days; /* 0: not set */
    uint32_t log_megabytes;
    uint32_t log_per_second;
};
/** Borrowed, as long as the configuration. [any-thread] */
const struct config_settings *config_settings(const struct config *config);

/** How exactly arguments must fit, of one of the "tools" or the "formats"; 0: nothing is said.
 * [any-thread] */
unsigned config_tolerance(const struct config *config, const char *member, const char *name);

/** The index-th tool of "arguments_of", or NULL after the last. [any-thread] */
const char *config_tolerance_of(const struct config *config, size_t index);

/** The index-th plugin id of a member, "policies" or "plugins", and where it stands; NULL after the
 * last. [any-thread] */
const char *config_plugin_named(const struct config *config, const char *member, size_t index,
                                size_t *ret_line, size_t *ret_column);

/** Where a value of the file stands, by its JSON Pointer; one that is not there: its object.
 * [any-thread] */
void config_place(const struct config *config, const char *pointer, size_t *ret_line,
                  size_t *ret_column);
/** Where the index-th item of a member stands, "grants" or "folders". [any-thread] */
void config_item_place(const struct config *config, const char *member, size_t index,
                       size_t *ret_line, size_t *ret_column);

/** The index-th tool that the file grants, "name" or "name@version"; NULL after the last.
 * [any-thread] */
const char *config_grant(const struct config *config, size_t index);
/** Whether it grants this version of a tool. [any-thread] */
bool config_grants(const struct config *config, const char *tool, const char *version);

/** A plugin's setting at a path (that of json_at()): the string itself, or the JSON of any other
 * value; valid as long as the configuration. NULL: not set. [any-thread] */
const char *config_plugin_setting(struct config *config, const char *plugin_id, const char *path);
/** All settings of a plugin, an object, or NULL. [any-thread] */
yyjson_val *config_plugin_settings(const struct config *config, const char *plugin_id);

/** The administrator's settings for one plugin; 0, NULL and UNSTATED: not set. */
struct config_policy {
    enum isolation isolation;
    enum pin_policy pin;
    yyjson_val *allow; /* array of strings: "read", "read:PATH", "*" ... */
    uint32_t workers;
    uint32_t queue;
    uint32_t start_ms;
    uint32_t idle_ms;
    uint32_t grace_ms;
    uint32_t backoff_ms;
    uint32_t backoff_max_ms;
    uint32_t crashes;
    uint32_t crashes_window_ms;
    uint32_t memory_mb;
    uint32_t file_mb;
    uint32_t cpu_s;
    uint32_t files;
    uint32_t processes;
    uint32_t threads;
    uint32_t idle_cpu_percent;
    uint32_t keep; /* this one is set: from the policy, else for all plugins, else the default */
    enum measure measure; /* likewise; MEASURE_SAMPLED is the default */
    bool goes_back;       /* likewise; true is the default */
    bool network_namespace;
};
void config_policy(const struct config *config, const char *plugin_id, struct config_policy *ret);

/** Whether the file has settings or a policy for a plugin. [any-thread] */
bool config_mentions(const struct config *config, const char *plugin_id);
/** The name of the index-th definition if it is a function of a library (which has the policy of
 * its name), "" if it is not; NULL after the last. [any-thread] */
const char *config_native_name(const struct config *config, size_t index);
/** The line of the index-th item of a plugin's "allow", and its column if `ret_column` is not NULL;
 * 0: it is not known. [any-thread] */
size_t config_allowance_line(const struct config *config, const char *plugin_id, size_t index,
                             size_t *ret_column);

/** The value of a placeholder ("workspace"), or NULL. "home" is HOME of the environment, unless the
 * file sets it. */
const char *config_placeholder(const struct config *config, const char *name, size_t length);

/** The member "mcpServers", borrowed as long as the configuration; NULL: the file has none.
 * [any-thread] */
yyjson_val *config_mcp_servers(const struct config *config);

/** The member "choose", borrowed as long as the configuration; NULL: the file has none. */
yyjson_val *config_choosing(const struct config *config);

/** The index-th index of packages: a URL or a path, borrowed as long as the configuration; NULL: the
 * file has no more. [any-thread] */
const char *config_package_index(const struct config *config, size_t index);

/** The member "models", borrowed as long as the configuration; NULL: the file has none.
 * [any-thread] */
yyjson_val *config_models(const struct config *config);
/** The one of them that "agent" names; NULL: none. [any-thread] */
const char *config_agent_model(const struct config *config);
/** How long a result may be that it gives a model whole, in bytes: that of "agent", or the default.
 * [any-thread] */
uint64_t config_agent_result_bytes(const struct config *config);

/* ----------------------------------------------------------------- serving */

/** The member "serve", with all defaults, borrowed as long as the configuration; NULL when out of
 * memory. [any-thread] */
yyjson_val *config_serving(struct config *config);

/* Of the files that "serve" names: those of TLS and OAuth, the folder of the socket; and whether
 * this process must be able to read them. */
#define CONFIG_FILES     1u
#define CONFIG_SOCKET    2u
#define CONFIG_READABLE  4u
/* The rule of a file that is not there: other than with other errors, hosts start. */
#define CONFIG_RULE_FILE "config-file"
/** Gets a line on what a server can start with, and should not. */
typedef void config_warn(void *user, const char *line);
/** Check that they are there, and who may write and read those of TLS.
 * @param file  the name of the configuration, for the error
 * @return 0; TOOLRACK_E_INVALID with the place and the fix; TOOLRACK_E_NO_MEMORY. [any-thread] */
int config_serving_files(struct config *config, const char *file, unsigned parts, config_warn *warn,
                         void *user, struct toolrack_error *err);

/** What is found wrong of a value when it is used: an error that names its file, line and column.
 * @param problem  what is wrong, and what to do
 * @return TOOLRACK_E_INVALID. [any-thread] */
int config_refuse_value(const struct config *config, const char *file, const char *pointer,
                        const char *problem, struct toolrack_error *err);

/** A profile as the file has it, which gives it no list that it has not; NULL: there is none.
 * [any-thread] */
yyjson_val *config_profile(const struct config *config, const char *name);

/** The member "nats" as the file has it; NULL: it has none. Borrowed. [any-thread] */
yyjson_val *config_nats(const struct config *config);

/* ------------------------------------------------------ services, definitions */

/** Add a function of the app that definitions may name. The name is copied.
 * @return 0; TOOLRACK_E_INVALID; TOOLRACK_E_EXISTS; TOOLRACK_E_LIMIT_EXCEEDED;
 *         TOOLRACK_E_NO_MEMORY. [any-thread] */
int config_add_service(struct config *config, const struct toolrack_service *service,
                       struct toolrack_error *err);
/** Remove the service that was added last. [the thread that added it] */
void config_drop_service(struct config *config);

/* Callbacks for definitions. */
struct config_taker {
    void *user;
    /* A valid definition, borrowed. @return 0, or a code with err set, which is reported as a
     * problem of the definition; TOOLRACK_E_NO_MEMORY ends config_define(). */
    int (*take)(void *user, const struct definition *definition, struct toolrack_error *err);
    /* A problem of a definition and its line; may be NULL. */
    void (*tell)(void *user, const struct problem *problem, size_t line);
};

/** Call `taker` for the definitions, in the order of the file: all, or only those that name a
 * service. What they point to is valid as long as the configuration. Takes the configuration's
 * lock, as does config_plugin_setting().
 * @return 0; TOOLRACK_E_NO_MEMORY. [any-thread] */
int config_define(struct config *config, const char *service, const struct config_taker *taker,
                  struct toolrack_error *err);
/** The number of definitions in the file, valid or not. [any-thread] */
size_t config_definition_count(const struct config *config);
/** The library that a definition names by its path; NULL: it names none, or not by a path.
 * [any-thread] */
const char *config_definition_library(const struct config *config, size_t index);

/** All problems of a file, sorted by place, in the arena; and how many of its definitions are
 * valid. Only the checks and the functions of the host are used from the options.
 * @return 0; TOOLRACK_E_IO; TOOLRACK_E_INVALID when the path is no file; TOOLRACK_E_NO_MEMORY.
 * [any-thread] */
int config_check(const struct config_options *options, const char *path, struct arena *arena,
                 struct toolrack_finding **ret, size_t *ret_count, size_t *ret_tools,
                 struct toolrack_error *err);
