/* config.h - the configuration file: JSON with comments.
 *
 *     {
 *         // folders to scan, in this order
 *         "folders": ["/opt/tools", {"path": "/srv/ours", "trust": "official"}],
 *         "deadline_ms": 30000,        // how long a call may take when nobody says
 *         "duplicates": "reject",      // or "replace"
 *         "grants": ["wipe_disk"],     // dangerous tools that may run
 *         "plugins": {"currency": {"rates_file": "/srv/rates.xml"}},  // settings, by plugin id
 *
 *         "isolation": "process",      // or "none"; folders and policies may say otherwise
 *         "log": {"days": 30, "megabytes": 256},  // how much of the log of calls is kept
 *         "require_sandbox": false,    // true: rather no call than one without a layer
 *         "pin": "warn",               // "off", "enforce": when an approved tool's text changes
 *         "paths": {"workspace": "/srv/work"},  // what ${workspace} stands for
 *         "policies": {                // by plugin id
 *             "currency": {
 *                 "isolation": "process",
 *                 "allow": ["read", "network:example.org:443", "env:LANG"], // capabilities
 *                 "workers": 4, "queue": 256, "start_ms": 10000, "idle_ms": 30000,
 *                 "grace_ms": 250, "backoff_ms": 1000, "backoff_max_ms": 60000,
 *                 "crashes": 3, "crashes_window_ms": 60000,
 *                 "memory_mb": 1024, "file_mb": 256, "cpu_s": 60, "files": 64, "processes": 32,
 *                 "network_namespace": false
 *             }
 *         }
 *         },
 *         "tools": [{"name": "weather", ...}]  // see definition.h
 *     }
 *
 * toolrack.schema.json is the description of the file, and what it is checked with (validate.h)
 * before anything is read. */
#pragma once

#include <stdbool.h>
#include <yyjson.h>

#include "base/buf.h"
#include "config/problem.h"
#include "files/scan.h"

/* Largest configuration file. */
#define CONFIG_SIZE_MAX (4u * 1024 * 1024)

struct validator;

/* What a file says that was found sound; all zero without one. */
struct config {
    yyjson_doc *doc; /* NULL without a file, like what follows */
    struct validator *validator;
    struct buf text; /* of which it was made, to tell lines */
    struct arena arena;
    struct scan_folder *folders; /* in the arena */
    size_t folder_count;
    uint32_t deadline_ms;     /* 0: not set */
    bool replaces_duplicates; /* of two tools with one name and version the later one stays */
    yyjson_val *grants;       /* array of names, or NULL */
    yyjson_val *plugins;      /* object, or NULL */
    enum isolation isolation;
    enum pin_policy pin;
    bool require_sandbox;
    uint32_t log_days; /* 0: not set */
    uint32_t log_megabytes;
    yyjson_val *paths;    /* object of absolute paths, or NULL */
    yyjson_val *policies; /* object, read, or NULL */
    yyjson_val *tools;    /* array of definitions, not looked at, or NULL */
};

/** Read a file.
 * @param path      the file
 * @param optional  that it does not exist is no failure, and gives an empty configuration
 * @return 0; TOOLRACK_E_INVALID with the place; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY. On failure
 * there is nothing to finish. */
int config_read(struct config *config, const char *path, bool optional, struct toolrack_error *err);
void config_finish(struct config *config);

/** The parts of it: an empty configuration; a file's text, of at most CONFIG_SIZE_MAX bytes; and
 * reading config->text.
 * @param problems  NULL: the first error is the failure. Otherwise all errors are added to them and
 *                  are no failure; then nothing is taken over but `tools` and `duplicates`. */
void config_init(struct config *config);
int config_read_file(const char *path, struct buf *out, struct toolrack_error *err);
int config_read_text(struct config *config, const char *path, struct problems *problems,
                     struct toolrack_error *err);

bool config_grants(const struct config *config, const char *tool);

/** A plugin's setting at a path (that of json_at()): a string's text, or any other value's
 * JSON, made in `config->arena`. NULL where it is not set. One thread at a time. */
const char *config_plugin_setting(struct config *config, const char *plugin_id, const char *path);

/** What the administrator says of one plugin; 0, NULL and UNSTATED where nothing. */
struct config_policy {
    enum isolation isolation;
    enum pin_policy pin;
    yyjson_val *allow; /* array of texts: "read", "read:PATH", "*" ... */
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
    bool network_namespace;
};
void config_policy(const struct config *config, const char *plugin_id, struct config_policy *ret);

/** What a placeholder stands for ("workspace"), or NULL. "home" is the HOME of the environment
 * where the file does not say. */
const char *config_placeholder(const struct config *config, const char *name, size_t length);
