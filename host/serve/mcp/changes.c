/* changes.c - see changes.h. */
#include "serve/mcp/changes.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/lock.h"
#include "serve/mcp/change.h"
#include "serve/mcp/clients.h"
#include "serve/mcp/listen.h"
#include "serve/mcp/scope.h"
#include "serve/mcp/server.h"

/* Most resources that wait to be told; beyond that the lists are told as changed. */
#define UPDATES_MAX 1024u

/* The content of a resource has changed. */
struct update {
    struct update *next;
    const char *plugin; /* behind `uri` */
    char uri[];
};

struct changes {
    struct mcp *mcp;
    struct timer timer;
    struct lock lock; /* guards what follows: what is told when the timer runs */
    unsigned waiting; /* bits of enum change */
    struct update *updates;
    struct update **last;
    size_t update_count;
};

static const enum change all_changes[] = {CHANGE_TOOLS, CHANGE_PROMPTS, CHANGE_RESOURCES};

/* -------------------------------------------------------------------- telling */

static void tell_client(struct client *client, void *user) {
    unsigned changes = scope_changes(client->mcp, &client->principal, *(const unsigned *)user);
    lock_take(&client->lock);
    changes &= client->offered | (unsigned)CHANGE_TOOLS;
    lock_release(&client->lock);
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

static void tell_update(struct client *client, void *user) {
    const struct update *update = user;
    if (watches_has(client->mcp, &client->watches, update->uri) &&
        scope_has(client->mcp, &client->principal, update->plugin)) {
        CLEANUP(buf_finish) struct buf out = BUF_INIT;
        buf_add_text(&out, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/updated\","
                           "\"params\":{");
        rpc_add_string(&out, "uri", update->uri);
        buf_add_text(&out, "}}");
        client_send(client, &out);
    }
}

static void tell_updates(struct changes *changes, struct update *updates) {
    while (updates != NULL) {
        CLEANUP(freep) struct update *update = updates;
        updates = update->next;
        clients_each(changes->mcp, tell_update, update);
        listen_tell_resource(changes->mcp, update->plugin, update->uri);
    }
}

static void tell(struct timer *timer) {
    struct changes *changes = (struct changes *)((char *)timer - offsetof(struct changes, timer));
    lock_take(&changes->lock);
    unsigned told = changes->waiting;
    struct update *updates = STEAL(changes->updates);
    changes->waiting = 0;
    changes->last = &changes->updates;
    changes->update_count = 0;
    lock_release(&changes->lock);
    if (told != 0) {
        clients_each(changes->mcp, tell_client, &told);
        listen_tell(changes->mcp, told);
    }
    tell_updates(changes, updates);
}

/* --------------------------------------------------------------------- noting */

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
    case TOOLRACK_EVENT_RESOURCES_CHANGED: return CHANGE_RESOURCES;
    case TOOLRACK_EVENT_PROMPTS_CHANGED: return CHANGE_PROMPTS;
    default: return 0;
    }
}

static struct update *make_update(const char *plugin, const char *uri) {
    size_t length = strlen(uri) + 1;
    size_t own = strlen(plugin) + 1;
    struct update *update = malloc(sizeof *update + length + own);
    if (update != NULL) {
        update->next = NULL;
        memcpy(update->uri, uri, length);
        update->plugin = memcpy(update->uri + length, plugin, own);
    }
    return update;
}

/* Caller holds the lock. */
static void note_update(struct changes *changes, const char *plugin, const char *uri) {
    struct update *at = changes->updates;
    while (at != NULL && (strcmp(at->uri, uri) != 0 || strcmp(at->plugin, plugin) != 0)) {
        at = at->next;
    }
    struct update *update =
            at == NULL && changes->update_count < UPDATES_MAX ? make_update(plugin, uri) : NULL;
    if (update != NULL) {
        *changes->last = update;
        changes->last = &update->next;
        changes->update_count++;
    } else if (at == NULL) {
        changes->waiting |= CHANGE_RESOURCES;
    }
}

static void note(void *user, const struct toolrack_event *event) {
    struct changes *changes = user;
    bool is_update = event->kind == TOOLRACK_EVENT_RESOURCE_UPDATED && event->message != NULL;
    unsigned more = changes_of(event->kind);
    if (more == 0 && !is_update) {
        return;
    }
    lock_take(&changes->lock);
    changes->waiting |= more;
    if (is_update) {
        note_update(changes, event->plugin != NULL ? event->plugin : "", event->message);
    }
    lock_release(&changes->lock);
    (void)timer_set(&changes->mcp->timers, TIMER_CHANGES, &changes->timer);
}

/* ------------------------------------------------------------------ begin, end */

struct changes *changes_create(struct mcp *mcp) {
    struct changes *changes = calloc(1, sizeof *changes);
    if (changes != NULL) {
        changes->mcp = mcp;
        changes->timer.run = tell;
        changes->last = &changes->updates;
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
        while (changes->updates != NULL) {
            struct update *next = changes->updates->next;
            free(changes->updates);
            changes->updates = next;
        }
        lock_finish(&changes->lock);
        free(changes);
    }
}
