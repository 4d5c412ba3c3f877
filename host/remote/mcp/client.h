/* client.h - an MCP server as it is configured: started when it is needed, stopped when it is not.
 *
 *     stopped --> starting --> running --> ended --> (back-off) --> starting
 *        ^                        |
 *        '------- idle -----------'
 *
 * The era of its protocol is found out once: server/discover of 2026-07-28, or else initialize of
 * 2025-11-25, at which the server may choose an earlier revision. */
#pragma once

#include "remote/mcp/secrets.h"
#include "remote/mcp/session.h"
#include "remote/mcp/usage.h"

/* How long a server may take to start and to say what it is, and to answer the first question,
 * which those of the earlier era may not know. */
#define CLIENT_START_MS_DEFAULT 20000u
#define CLIENT_DISCOVER_MS_MAX  3000u
/* After a start that failed the next one waits for the first of these, doubled up to the other. */
#define CLIENT_BACKOFF_MS       1000u
#define CLIENT_BACKOFF_MS_MAX   60000u
/* Most pages and tools of a list. */
#define CLIENT_PAGES_MAX        100u
#define CLIENT_TOOLS_MAX        4096u

struct mcp_client;

/* All borrowed as long as the client. */
struct mcp_client_options {
    struct session_options session;
    struct secrets *secrets; /* hidden in what it says */
    /* As of struct session_news. */
    void (*notice)(void *user, enum plugin_notice notice, const char *text);
    void *user;
    void (*started)(void *user); /* a server runs from now on: mcp_client_tend() is due */
    struct usage_limits limits;
    uint32_t start_ms; /* 0: CLIENT_START_MS_DEFAULT */
    uint32_t call_ms;  /* how long it may be silent about a call; 0: for ever */
    const char *hint;  /* what to do where it cannot start, in words */
};

/** NULL: no memory. */
struct mcp_client *mcp_client_create(const struct mcp_client_options *options);
/** End the server; no thread uses it. NULL is ignored. */
void mcp_client_destroy(struct mcp_client *client);
CLEANUP_DEFINE(struct mcp_client, mcp_client_destroy)

/** A session with the server, which is started unless it runs.
 * @param wait  of the call that needs it
 * @return 0 with a reference; TOOLRACK_E_CANCELLED; TOOLRACK_E_EXECUTION_FAILED: why it could not
 * be started, and when that is tried again; TOOLRACK_E_NO_MEMORY. [any-thread] */
int mcp_client_hold(struct mcp_client *client, const struct session_wait *wait,
                    struct session **ret, struct toolrack_error *err);
/** Begin a request: `{"jsonrpc":"2.0","id":N,"method":M,"params":{"_meta":{...}`. Add members, each
 * with its comma before it, and `}}`. [any-thread] */
void mcp_client_begin(const struct mcp_client *client, struct buf *out, uint64_t number,
                      const char *method);

/** Ask for the tools.
 * @param ret_tools  receives a JSON array, as the server has them
 * @return as mcp_client_hold(), and TOOLRACK_E_EXECUTION_FAILED with what is wrong with the list.
 * [any-thread] */
int mcp_client_list(struct mcp_client *client, const struct session_wait *wait,
                    struct buf *ret_tools, struct toolrack_error *err);
/** What the server says of its version, "" if nothing; copied. [any-thread] */
void mcp_client_version(struct mcp_client *client, char *ret, size_t room);
/** What it says that it offers beside tools: TR_PLUGIN_RESOURCES, TR_PLUGIN_PROMPTS. [any-thread]
 */
uint32_t mcp_client_offers(struct mcp_client *client);
const char *mcp_client_name(const struct mcp_client *client);
/** How long it may be silent about a call; 0: for ever. [any-thread] */
uint32_t mcp_client_call_ms(const struct mcp_client *client);
/** Hide in a text what the configuration keeps secret. [any-thread] */
void mcp_client_hide(const struct mcp_client *client, char *text);
/** Forget that starts have failed: the next one is tried at once. [any-thread] */
void mcp_client_forgive(struct mcp_client *client);

/** Read what the server says unasked, and end it if it was not used for `idle_ms` milliseconds (0:
 * never), or uses more than it may.
 * @param ret_changed  whether its list of tools has changed, since this was asked
 * @return whether it runs. [one thread] */
bool mcp_client_tend(struct mcp_client *client, uint32_t idle_ms, bool *ret_changed);
