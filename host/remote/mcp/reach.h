/* reach.h - how an MCP server is reached, as its configuration says: the program that is started,
 * or the address that is asked, with its secrets put in. */
#pragma once

#include <stdbool.h>
#include <yyjson.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "remote/mcp/secrets.h"
#include "remote/mcp/session.h"

struct reach;

/* All borrowed as long as the object. */
struct reach_options {
    const char *name;
    const char *where;    /* the value is, for a person: "files" in "mcpServers" */
    yyjson_val *value;    /* as the configuration's schema wants it */
    const char *launcher; /* the worker program */
    const char *folder;   /* of what is kept; NULL: nothing is */
    const struct log *log;
    /* Whether its program may be granted a path, which is real. NULL: any.
     * @return 0; TOOLRACK_E_REFUSED with why not; TOOLRACK_E_NO_MEMORY */
    int (*may_use)(void *user, const char *path, bool writes, struct toolrack_error *err);
    void *user;
};

/** @return 0; TOOLRACK_E_INVALID: what is wrong with the value; TOOLRACK_E_NO_MEMORY */
int reach_create(const struct reach_options *options, struct reach **ret,
                 struct toolrack_error *err);
void reach_destroy(struct reach *reach);
CLEANUP_DEFINE(struct reach, reach_destroy)

/** All borrowed. */
const struct session_options *reach_session(const struct reach *reach);
struct secrets *reach_secrets(const struct reach *reach);
/** What to do where it cannot be reached; NULL: what it says itself. */
const char *reach_hint(const struct reach *reach);
bool reach_is_web(const struct reach *reach);
