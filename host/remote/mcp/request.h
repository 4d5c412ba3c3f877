/* request.h - one request of a run to an MCP server: what the server asks meanwhile is asked of the
 * run's caller, with the server's name; progress and log lines are the run's. */
#pragma once

#include "remote/mcp/client.h"
#include "run/run.h"

/* How often a server may ask for more before it answers. */
#define REQUEST_ROUNDS_MAX 16u

struct mount_request {
    struct mcp_client *client;
    struct session *session; /* a reference */
    struct run *run;
    const char *mirrored; /* of struct outgoing; NULL */
};

/** Begin requests of a run: the server is started unless it runs.
 * @return TR_OK; else the run has failed. mount_request_finish() in any case. [call-thread] */
tr_status mount_request_begin(struct mount_request *request, struct mcp_client *client,
                              struct run *run);
void mount_request_finish(struct mount_request *request);

/** Ask, and wait for the answer.
 * @param members  of `params`, each with its comma before it
 * @param ret      receives a result that is complete, or a failure; the caller's
 * @return TR_OK; else the run has failed. [call-thread] */
tr_status mount_request_ask(struct mount_request *request, const char *method,
                            const struct buf *members, struct message **ret);

/** Fail the run: the server's answer cannot be used. */
tr_status mount_request_refuse(const struct mount_request *request, const char *what);
/** Fail the run with a failure that the server answered. */
tr_status mount_request_fail(const struct mount_request *request, const struct message *answer);
/** A value as JSON in the run's arena; NULL: no memory, or there is no value. */
const char *mount_request_text(struct run *run, yyjson_val *value);
