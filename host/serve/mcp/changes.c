/* changes.c - see changes.h. */
#include "serve/mcp/changes.h"

#include <stddef.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/lock.h"
#include "serve/mcp/change.h"
#include "serve/mcp/clients.h"
#include "serve/mcp/listen.h"
#include "serve/mcp/server.h"

struct changes {
    struct mcp *mcp;
    struct timer timer;
    struct lock lock;
    unsigned waiting; /* bits of enum change, to be told when the timer runs */
};

static const enum change all_changes[] = {CHANGE_TOOLS, CHANGE_PROMPTS, CHANGE_RESOURCES};

/* What an event changes in the lists that clients are shown. */
static unsigned changes_of(enum toolrack_event_kind kind) {
    switch (kind) {
    case TOOLRACK_EVENT_ADDED:
    case TOOLRACK_EVENT_REMOVED:
    case TOOLRACK_EVENT_CHANGED:
    case TOOLRACK_EVENT_CHANGED_TEXT:
    case TOOLRACK_EVENT_QUARANTINED:
    case TOOLRACK_EVENT_RELEASED:
    case TOOLRACK_EVENT_RELOADED: return CHANGE_TOOLS;
    default: return 0;
    }
}

static void tell_client(struct client *client, void *user) {
    unsigned changes = *(const unsigned *)user;
    for (size_t i = 0; i < ARRAY_LENGTH(all_changes); i++) {
        if ((changes & all_changes[i]) != 0) {
            CLEANUP(buf_finish) struct buf out = BUF_INIT;
            buf_add_text(&out, "{\"jsonrpc\":\"2.0\"");
            rpc_add_string(&out, "method", change_method(all_changes[i]));
            buf_add_char(&out, '}');
            client_send(client, &out);
        }
    }
}

static void tell(struct timer *timer) {
    struct changes *changes = (struct changes *)((char *)timer - offsetof(struct changes, timer));
    lock_take(&changes->lock);
    unsigned told = changes->waiting;
    changes->waiting = 0;
    lock_release(&changes->lock);
    clients_each(changes->mcp, tell_client, &told);
    listen_tell(changes->mcp, told);
}

static void note(void *user, const struct toolrack_event *event) {
    struct changes *changes = user;
    unsigned more = changes_of(event->kind);
    if (more != 0) {
        lock_take(&changes->lock);
        changes->waiting |= more;
        lock_release(&changes->lock);
        (void)timer_set(&changes->mcp->timers, TIMER_CHANGES, &changes->timer);
    }
}

struct changes *changes_create(struct mcp *mcp) {
    struct changes *changes = calloc(1, sizeof *changes);
    if (changes != NULL) {
        changes->mcp = mcp;
        changes->timer.run = tell;
        lock_init(&changes->lock);
        if (toolrack_add_listener(mcp->host, note, changes, NULL) < 0) {
            lock_finish(&changes->lock);
            free(STEAL(changes));
        }
    }
    return changes;
}

void changes_stop(struct changes *changes) {
    toolrack_remove_listener(changes->mcp->host, note, changes);
    (void)timer_clear(&changes->mcp->timers, TIMER_CHANGES, &changes->timer);
}

void changes_destroy(struct changes *changes) {
    if (changes != NULL) {
        lock_finish(&changes->lock);
        free(changes);
    }
}
