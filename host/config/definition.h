/* definition.h - a tool that the configuration defines.
 *
 *     {
 *         "name": "weather",
 *         "description": "Say what the weather is like in a town",
 *         "type": "function",
 *         "parameters": {"type": "object", "properties": {"town": {"type": "string"}}},
 *         "implementation": {"type": "mock", "mock_response": {"sky": "clear"}},
 *
 *         "handler": "weather",            // everything below is optional; see definition.c
 *         "version": "1.0.0", "title": "Weather", "category": "travel", "tags": ["demo"],
 *         "permission": "safe", "priority": 60, "deadline_ms": 500, "measure": "all",
 *         "purpose": "...", "scenarios": ["..."], "deprecated": "use forecast"
 *     }
 *
 * Implementations: "mock" answers with `mock_response`; "builtin" runs a function of the host and
 * "internal" one of the embedding app, both named by `handler`; "native" calls a function of an
 * installed library, and states its C types instead of `parameters`: see plugin/foreign.h; "plan"
 * runs the plan in `file`, whose inputs are the parameters; "mcp" calls a tool of an MCP server. */
#pragma once

#include <yyjson.h>

#include "config/problem.h"
#include "plugin/foreign.h"
#include "run/run.h"

/* Version of a tool whose definition has none. */
#define DEFINITION_VERSION "1.0.0"

/* Rules that are used outside definition.c. */
#define DEFINITION_RULE_SERVICE "definition-service" /* its handler may be registered later */
#define DEFINITION_RULE_HANDLER "definition-handler"

struct buf;
struct config;
struct toolrack;
struct services;
struct validator;

/* Which calls' CPU time and memory are measured. */
enum measure {
    MEASURE_UNSTATED, /* stated elsewhere */
    MEASURE_SAMPLED,  /* some short ones, and those that take long */
    MEASURE_ALL
};

/** "measure" of an object of the configuration. [any-thread] */
enum measure measure_in(yyjson_val *object);

/* A function of the host itself, which a definition may name as its handler. */
struct builtin {
    const char *name;
    /* Runs on its caller's thread whatever the deadline: it waits for nothing. */
    tr_status (*run)(struct tr_call *call, void *host);
};

/* A plan that is a tool. In the arena. */
struct definition_plan {
    const char *parameters; /* JSON Schema */
    struct run_service service;
};

/* Make a tool of the text of a plan, by code above this room.
 * @param host        NULL while checking: the service is not called
 * @param permission  enum tr_permission, of the definition
 * @param pointer     the place of the definition in the configuration; copied
 * @return 0; TOOLRACK_E_INVALID: what is wrong with it; TOOLRACK_E_NO_MEMORY */
typedef int definition_make_plan(struct toolrack *host, const char *name, uint32_t permission,
                                 const char *pointer, const char *text, size_t length,
                                 struct arena *arena, struct definition_plan *ret,
                                 struct toolrack_error *err);

/* Make a tool of an MCP server, by code above this room.
 * @param host   NULL while checking: the service is not called
 * @param name   of the tool; as long as the configuration, as the value is
 * @param value  the implementation
 * @return 0; TOOLRACK_E_INVALID: what is wrong with it; TOOLRACK_E_NO_MEMORY */
typedef int definition_make_remote(struct toolrack *host, const struct config *config,
                                   const char *name, yyjson_val *value, struct arena *arena,
                                   struct run_service *ret, struct toolrack_error *err);

/* Everything that reading a definition needs. */
struct definition_context {
    struct validator *validator;
    struct arena *arena; /* for everything that the definition points to */
    struct problems *problems;
    const struct services *services; /* NULL: the services are not known */
    const struct builtin *builtins;  /* static */
    size_t builtin_count;
    struct toolrack *host; /* passed to the builtin functions; NULL while checking */
    descriptor_schema_check *check_schema; /* as in struct descriptor_options */
    descriptor_values_check *check_values;
    definition_make_plan *make_plan;
    definition_make_remote *make_remote;
    /* Read a file that a definition names, below the folder of the configuration.
     * @return 0; TOOLRACK_E_INVALID and the like; TOOLRACK_E_NO_MEMORY */
    int (*read_file)(const struct config *config, const char *path, struct buf *ret,
                     struct toolrack_error *err);
    const struct config *config;
};

/* A valid definition. Strings live as long as the arena; NULL: not given. */
struct definition {
    const char *name;
    const char *description;
    const char *version;
    const char *title;
    const char *category;
    const char *tags;    /* comma-separated */
    const char *handler; /* of a mock: its own name if it states none */
    const char *purpose;
    const char *scenarios; /* comma-separated */
    const char *deprecated;
    const char *parameters; /* JSON Schema */
    uint32_t permission;    /* enum tr_permission */
    int32_t priority;
    bool priority_stated;
    uint32_t deadline_ms; /* 0: the host's default */
    enum measure measure;
    struct run_service service; /* except for a native tool, which has: */
    bool is_native;
    struct foreign foreign;
    struct descriptor *desc; /* owned */
};

/** Read and check a definition.
 *
 * @param pointer  the place of `value` in the file
 * @param ret      to be released by definition_finish(), also on failure
 * @return 0; TOOLRACK_E_INVALID: the problems say why, and `err` is not set; TOOLRACK_E_NO_MEMORY.
 * [any-thread] */
int definition_read(const struct definition_context *context, yyjson_val *value,
                    const char *pointer, struct definition *ret, struct toolrack_error *err);
void definition_finish(struct definition *definition);
