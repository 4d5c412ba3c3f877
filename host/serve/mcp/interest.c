/* interest.c - see interest.h.
 *
 * One call at a time, so that a client with many subscriptions does not fill the queue of calls
 * when it leaves. */
#include "serve/mcp/interest.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "serve/mcp/rpc.h"
#include "serve/mcp/server.h"

/* A call ends before or after the function that submits it returns: whoever comes second goes on,
 * so that calls that end at once need no deeper stack. */
enum turn { TURN_NOBODY, TURN_SUBMITTED, TURN_ENDED };

struct interest {
    struct toolrack *host;
    enum toolrack_offer what;
    const char **arguments; /* JSON, of each URI */
    size_t count;
    size_t next;
    const char **plugins; /* or NULL */
    atomic_int turn;      /* enum turn */
    bool stops;           /* the host takes no more */
    struct arena arena;
};

static void destroy(struct interest *interest) {
    arena_finish(&interest->arena);
    free(interest);
}

static bool is_second(struct interest *interest, enum turn own) {
    return atomic_exchange(&interest->turn, (int)own) != (int)TURN_NOBODY;
}

static void go_on(struct interest *interest);

static void end(void *user, struct toolrack_result *result, const struct toolrack_error *err) {
    struct interest *interest = user;
    interest->stops = err != NULL && (toolrack_error_code(err) == TOOLRACK_E_CANCELLED ||
                                      toolrack_error_code(err) == TOOLRACK_E_LIMIT_EXCEEDED);
    toolrack_result_free(result);
    if (is_second(interest, TURN_ENDED)) {
        go_on(interest);
    }
}

static void go_on(struct interest *interest) {
    do {
        if (interest->next == interest->count || interest->stops) {
            destroy(interest);
            return;
        }
        struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
        options.channel = "mcp";
        options.plugins = interest->plugins;
        atomic_store(&interest->turn, (int)TURN_NOBODY);
        if (toolrack_offer_submit(interest->host, interest->what,
                                  interest->arguments[interest->next++], &options, end, interest,
                                  NULL, NULL) < 0) {
            destroy(interest);
            return;
        }
    } while (is_second(interest, TURN_SUBMITTED));
}

static bool copy_plugins(struct interest *interest, const char *const *plugins) {
    size_t count = 0;
    while (plugins != NULL && plugins[count] != NULL) {
        count++;
    }
    if (plugins == NULL) {
        return true;
    }
    interest->plugins = arena_zalloc(&interest->arena, (count + 1) * sizeof *plugins);
    bool copied = interest->plugins != NULL;
    for (size_t i = 0; copied && i < count; i++) {
        interest->plugins[i] = arena_copy(&interest->arena, plugins[i], strlen(plugins[i]));
        copied = interest->plugins[i] != NULL;
    }
    return copied;
}

static bool copy_uris(struct interest *interest, const char *const *uris, size_t count) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    interest->arguments = arena_zalloc(&interest->arena, (count + 1) * sizeof *uris);
    bool copied = interest->arguments != NULL;
    for (size_t i = 0; copied && i < count; i++) {
        buf_clear(&text);
        buf_add_char(&text, '{');
        rpc_add_string(&text, "uri", uris[i]);
        buf_add_char(&text, '}');
        interest->arguments[i] =
                text.failed ? NULL : arena_copy(&interest->arena, text.data, text.length);
        copied = interest->arguments[i] != NULL;
    }
    interest->count = count;
    return copied;
}

void interest_tell(struct mcp *mcp, enum toolrack_offer what, const char *const *uris, size_t count,
                   const char *const *plugins) {
    lock_take(&mcp->lock);
    bool ends = mcp->draining;
    lock_release(&mcp->lock);
    struct interest *interest = count > 0 && !ends ? calloc(1, sizeof *interest) : NULL;
    if (interest == NULL) {
        return;
    }
    interest->host = mcp->host;
    interest->what = what;
    arena_init(&interest->arena, NULL, 0);
    if (copy_plugins(interest, plugins) && copy_uris(interest, uris, count)) {
        go_on(interest);
    } else {
        destroy(interest);
    }
}
