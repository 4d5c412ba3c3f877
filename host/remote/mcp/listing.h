/* listing.h - what an MCP server lists, as the descriptor of a plugin. */
#pragma once

#include <yyjson.h>

#include "base/error.h"
#include "base/log.h"
#include "remote/mcp/names.h"

struct descriptor;
struct descriptor_options;

struct listing_options {
    const char *server;  /* its name */
    const char *prefix;  /* of the names here */
    const char *id;      /* of the plugin */
    yyjson_val *wanted;  /* an array of names at the server; NULL: all */
    uint32_t permission; /* enum tr_permission */
    int32_t priority;
    bool is_web;    /* arguments can go into headers */
    uint32_t flags; /* TR_PLUGIN_RESOURCES and TR_PLUGIN_PROMPTS, if it offers these */
    const struct log *log;
};

/** Describe what is listed. What the descriptor says is a copy.
 * @param root   {"version": ..., "tools": [...]}
 * @param names  empty; receives those of the tools, sorted
 * @return 0 with a reference; TOOLRACK_E_NO_MEMORY. [any-thread] */
int listing_describe(const struct listing_options *options, yyjson_val *root, struct names *names,
                     const struct descriptor_options *descriptor_options, struct descriptor **ret,
                     struct toolrack_error *err);
