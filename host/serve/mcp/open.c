/* open.c - begin, drain and end of the serving side. */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/object.h"
#include "serve/mcp/approve.h"
#include "serve/mcp/catalogue.h"
#include "serve/mcp/changes.h"
#include "serve/mcp/clients.h"
#include "serve/mcp/listen.h"
#include "serve/mcp/request.h"
#include "serve/mcp/shares.h"
#include "serve/mcp/task.h"
#include "serve/mcp/watches.h"
#include "toolrack/serving.h"

static void destroy(struct mcp *mcp) {
    if (mcp == NULL) {
        return;
    }
    task_close(mcp);
    if (mcp->changes != NULL) {
        changes_stop(mcp->changes);
    }
    timers_finish(&mcp->timers);
    timers_finish(&mcp->later);
    workers_finish(&mcp->choices);
    changes_destroy(mcp->changes);
    requests_free(mcp);
    approve_close(mcp->approvals);
    watches_destroy(mcp->watches);
    shares_destroy(mcp->shares);
    catalogues_destroy(mcp->catalogues);
    settings_finish(&mcp->settings);
    free(mcp->profile);
    (void)pthread_cond_destroy(&mcp->quiet);
    lock_finish(&mcp->lock);
    sodium_memzero(mcp->key, sizeof mcp->key);
    OBJECT_WIPE(mcp, MCP_MAGIC);
    free(mcp);
}
CLEANUP_DEFINE(struct mcp, destroy)

static int refuse_profile(const struct settings *settings, const char *profile,
                          struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf names = BUF_INIT;
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *lists;
    json_obj_foreach (settings->profiles, at, count, key, lists) {
        (void)lists;
        buf_printf(&names, "%s%s", at > 0 ? ", " : "", yyjson_get_str(key));
    }
    return count > 0 ? error_set(err, TOOLRACK_E_INVALID,
                                 "the configuration has no profile '%.64s'; it has: %.200s",
                                 profile, names.failed ? "" : names.data)
                     : error_set(err, TOOLRACK_E_INVALID,
                                 "the configuration has no profile '%.64s'; add it to \"profiles\" "
                                 "in \"serve\"",
                                 profile);
}

int mcp_create(const struct mcp_options *options, struct mcp **ret, struct toolrack_error *err) {
    CLEANUP(destroyp) struct mcp *mcp = sodium_init() >= 0 ? calloc(1, sizeof *mcp) : NULL;
    if (mcp == NULL) {
        return error_oom(err);
    }
    mcp->magic = MCP_MAGIC;
    mcp->host = options->host;
    lock_init(&mcp->lock);
    (void)pthread_cond_init(&mcp->quiet, NULL);
    timers_init(&mcp->timers);
    timers_init(&mcp->later);
    bool made = workers_init(&mcp->choices, WORK_CHOICE_THREADS);
    randombytes_buf(mcp->key, sizeof mcp->key);
    int code = settings_read(options->host, &mcp->settings, err);
    if (code < 0) {
        return code;
    }
    if (options->profile != NULL && !toolrack_has_profile(options->host, options->profile)) {
        return refuse_profile(&mcp->settings, options->profile, err);
    }
    mcp->profile = options->profile != NULL ? strdup(options->profile) : NULL;
    mcp->catalogues = catalogues_create();
    mcp->watches = watches_create();
    mcp->shares = shares_create();
    mcp->changes = changes_create(mcp);
    mcp->approvals = approve_open(mcp->shares);
    if (!made || mcp->approvals == NULL || mcp->watches == NULL || mcp->shares == NULL ||
        !task_open(mcp) || mcp->catalogues == NULL || mcp->changes == NULL ||
        (options->profile != NULL && mcp->profile == NULL)) {
        return error_oom(err);
    }
    *ret = STEAL(mcp);
    return 0;
}

size_t mcp_exchanges(struct mcp *mcp) {
    LOCK_SCOPE(&mcp->lock);
    return mcp->live_count;
}

/* A stream has no call that answers it. */
static void end_stream(struct request *request) {
    if (request->id == NULL) {
        request_end(request, 200);
    } else {
        listen_end(request);
    }
}

void mcp_drain(struct mcp *mcp) {
    OBJECT_CHECK(mcp, MCP_MAGIC);
    lock_take(&mcp->lock);
    mcp->draining = true;
    lock_release(&mcp->lock);
    requests_each(mcp, NULL, end_stream);
}

void mcp_cut(struct mcp *mcp) {
    OBJECT_CHECK(mcp, MCP_MAGIC);
    requests_each(mcp, NULL, request_cut);
}

void mcp_cancel(struct mcp *mcp) {
    OBJECT_CHECK(mcp, MCP_MAGIC);
    requests_cancel(mcp, NULL);
}

/* Nobody has a request any more. */
static void wait_until_quiet(struct mcp *mcp) {
    LOCK_SCOPE(&mcp->lock);
    mcp->waiting++;
    while (mcp->used_count > 0) {
        lock_wait(&mcp->lock, &mcp->quiet);
    }
    mcp->waiting--;
}

void mcp_destroy(struct mcp *mcp) {
    if (mcp == NULL) {
        return;
    }
    mcp_drain(mcp);
    requests_cancel(mcp, NULL);
    task_stop(mcp, NULL);
    wait_until_quiet(mcp);
    while (mcp->clients != NULL) {
        (void)client_unlist(mcp->clients);
    }
    destroy(mcp);
}

/* ------------------------------------------------------------------- a pipe */

int mcp_pipe_open(struct mcp *mcp, const struct principal *principal, struct exchange *way,
                  struct mcp_pipe **ret, struct toolrack_error *err) {
    OBJECT_CHECK(mcp, MCP_MAGIC);
    struct client *client = client_create(mcp, principal, true);
    if (client == NULL) {
        return error_oom(err);
    }
    client->way = way;
    (void)client_list(client);
    *ret = (struct mcp_pipe *)client;
    return 0;
}

void mcp_pipe_close(struct mcp_pipe *pipe, bool cancel) {
    struct client *client = (struct client *)pipe;
    OBJECT_CHECK(client, CLIENT_MAGIC);
    struct mcp *mcp = client->mcp;
    client_gone(client);
    requests_each(mcp, client, cancel ? request_cancel : end_stream);
    task_stop(mcp, client);
    lock_take(&mcp->lock);
    mcp->waiting++;
    while (client->used_count > 0) {
        lock_wait(&mcp->lock, &mcp->quiet);
    }
    mcp->waiting--;
    lock_release(&mcp->lock);
    (void)client_unlist(client);
    lock_take(&client->lock);
    struct exchange *way = STEAL(client->way);
    lock_release(&client->lock);
    way->calls->finish(way, &(struct exchange_answer){.status = 200});
    client_unref(client);
}

/* ------------------------------------------------------------- a client leaves */

void mcp_gone(struct exchange *exchange) {
    struct mcp *mcp = exchange->own;
    struct request *request = mcp != NULL ? request_of_exchange(mcp, exchange) : NULL;
    if (request != NULL) {
        request_gone(request, exchange);
        request_unref(request);
    }
}
