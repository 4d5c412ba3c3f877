/* mount.h - an MCP server whose tools are tools of the registry.
 *
 *     "mcpServers": {"files": {"command": "mcp-server-filesystem", "args": ["/srv"],
 *                              "allow": ["write:/srv"]}}
 *
 * mounts it as the plugin `mcp.files` with the tools `files_read_file` and so on. What the tools
 * are is kept in a file, so that to list them the server need not be started; without that file it
 * is started once. */
#pragma once

#include <yyjson.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "plugin/image-host.h"
#include "run/run.h"

struct mount;
struct descriptor;
struct descriptor_options;

/* Before the name of a server, in the id of its plugin. */
#define MOUNT_ID_PREFIX   "mcp."
/* How long a server that is not used runs on. */
#define MOUNT_IDLE_MS     600000u
/* After a failure, how long who opens a host does not ask it again: doubled up to the other. */
#define MOUNT_AGAIN_S     10u
#define MOUNT_AGAIN_S_MAX 3600u
/* How long it may say nothing about a call without a deadline. */
#define MOUNT_CALL_MS     300000u
/* How long it may take to say which tools it has. */
#define MOUNT_LIST_MS_MAX 20000u

/* All borrowed as long as the mount. */
struct mount_options {
    const char *name;
    const char *where;    /* the value is, for a person: "files" in "mcpServers" */
    yyjson_val *value;    /* as the configuration's schema wants it */
    const char *launcher; /* the worker program */
    const char *folder;   /* for the file of its tools; NULL: it is not kept */
    const struct log *log;
    /* What has changed of its resources and prompts: as of struct session_news. */
    void (*notice)(void *user, enum plugin_notice notice, const char *text);
    void (*started)(void *user); /* it runs from now on: mount_tend() is due */
    /* As of struct reach_options. */
    int (*may_use)(void *user, const char *path, bool writes, struct toolrack_error *err);
    void *user;
};

/** @return 0; TOOLRACK_E_INVALID: what is wrong with the value; TOOLRACK_E_NO_MEMORY */
int mount_create(const struct mount_options *options, struct mount **ret,
                 struct toolrack_error *err);
/** No call runs in it. NULL is ignored. */
void mount_destroy(struct mount *mount);
CLEANUP_DEFINE(struct mount, mount_destroy)
const char *mount_name(const struct mount *mount);
/** The priority that the configuration states; 0: none. */
int32_t mount_priority(const struct mount *mount);

/** Describe the tools, by what is kept or, if nothing is or `anew`, by the server.
 * @param ret_same  set if the server was asked and said what was known
 * @return 0 with a reference; TOOLRACK_E_EXECUTION_FAILED: why the server cannot be asked;
 *         TOOLRACK_E_NO_MEMORY. [one thread] */
int mount_describe(struct mount *mount, bool anew, const struct descriptor_options *options,
                   struct descriptor **ret, bool *ret_same, struct toolrack_error *err);
/** Runs a tool of it, by the name in the registry, or what it offers beside tools: `run` of a
 * service whose user is the mount. */
tr_status mount_run(struct tr_call *call, void *mount);

/** Calls a tool of it, by its name at the server. @return as a tool's function returns.
 * [call-thread] */
tr_status mount_call(struct mount *mount, struct run *run, const char *remote);

/** Take what the server says unasked, and end it when it is idle.
 * @param ret_changed  whether its tools may be others now
 * @return whether it runs. [one thread] */
bool mount_tend(struct mount *mount, bool *ret_changed);
