/* clients.c - see clients.h. */
#include "serve/mcp/clients.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/object.h"
#include "serve/mcp/request.h"
#include "serve/mcp/shares.h"
#include "serve/principal.h"

/* The bucket of a session's secret. Caller holds mcp->lock. */
static struct client **bucket_of(struct mcp *mcp, const char *secret) {
    uint32_t hash = 2166136261u;
    for (; *secret != '\0'; secret++) {
        hash = (hash ^ (unsigned char)*secret) * 16777619u;
    }
    return &mcp->session_buckets[hash % SERVER_BUCKETS];
}

static void leave_bucket(struct client *client) {
    struct client **at = bucket_of(client->mcp, client->secret);
    while (*at != client) {
        at = &(*at)->bucket_next;
    }
    *at = client->bucket_next;
}

/* Caller holds mcp->lock; the reference of the list is the caller's then. */
static void unlink_client(struct client *client) {
    struct mcp *mcp = client->mcp;
    *(client->prev != NULL ? &client->prev->next : &mcp->clients) = client->next;
    if (client->next != NULL) {
        client->next->prev = client->prev;
    }
    client->listed = false;
    if (!client->is_pipe) {
        leave_bucket(client);
        shares_give(mcp->shares, client->principal.party, SHARE_SESSIONS, 1);
        mcp->session_count--;
    }
}

/* Of the sessions that have nothing open, the one that was not used for the longest time of the
 * party that has most of all: who begins many ends its own. NULL: there is none. Caller holds
 * mcp->lock. */
static struct client *find_idle(struct mcp *mcp) {
    struct client *idle = NULL;
    size_t most = 0;
    const char *last = NULL; /* most sessions are of who begins many of them */
    size_t count = 0;
    for (struct client *at = mcp->clients; at != NULL; at = at->next) {
        if (at->is_pipe || at->used_count != 0) {
            continue;
        }
        if (last == NULL || strcmp(last, at->principal.party) != 0) {
            last = at->principal.party;
            count = shares_taken(mcp->shares, last, SHARE_SESSIONS);
        }
        if (idle == NULL || count > most || (count == most && at->used_ns < idle->used_ns)) {
            idle = at;
            most = count;
        }
    }
    return idle;
}

/* Forget the sessions that were not used for long. Caller holds mcp->lock; the references of the
 * list are the caller's then. */
static struct client *unlink_idle(struct mcp *mcp) {
    struct client *unlinked = NULL;
    uint64_t idle_ns = (uint64_t)mcp->settings.session_idle_s * CLOCK_NS_PER_S;
    uint64_t now = clock_now_ns();
    struct client *next;
    for (struct client *at = mcp->clients; at != NULL; at = next) {
        next = at->next;
        if (!at->is_pipe && at->used_count == 0 && now - at->used_ns > idle_ns) {
            unlink_client(at);
            at->next = unlinked;
            unlinked = at;
        }
    }
    return unlinked;
}

/* Make room for one more session. Caller holds mcp->lock. @return false: each one is in use */
static bool make_room(struct mcp *mcp, struct client **unlinked) {
    *unlinked = unlink_idle(mcp);
    if (mcp->session_count < mcp->settings.sessions_max) {
        return true;
    }
    struct client *idle = find_idle(mcp);
    if (idle != NULL) {
        unlink_client(idle);
        idle->next = *unlinked;
        *unlinked = idle;
    }
    return idle != NULL;
}

bool client_list(struct client *client) {
    struct mcp *mcp = client->mcp;
    struct client *unlinked = NULL;
    lock_take(&mcp->lock);
    bool lists = client->is_pipe ||
                 (make_room(mcp, &unlinked) &&
                  shares_take(mcp->shares, client->principal.party, SHARE_SESSIONS, 1, SIZE_MAX));
    if (lists && !client->is_pipe) {
        struct client **bucket = bucket_of(mcp, client->secret);
        client->bucket_next = *bucket;
        *bucket = client;
    }
    if (lists) {
        client->next = mcp->clients;
        client->prev = NULL;
        if (mcp->clients != NULL) {
            mcp->clients->prev = client;
        }
        mcp->clients = client_ref(client);
        client->listed = true;
        mcp->session_count += !client->is_pipe;
    }
    lock_release(&mcp->lock);
    while (unlinked != NULL) {
        struct client *next = unlinked->next;
        watches_end(mcp, &unlinked->watches);
        client_unref(unlinked);
        unlinked = next;
    }
    return lists;
}

bool client_unlist(struct client *client) {
    lock_take(&client->mcp->lock);
    bool was_listed = client->listed;
    if (was_listed) {
        unlink_client(client);
    }
    lock_release(&client->mcp->lock);
    if (was_listed) {
        watches_end(client->mcp, &client->watches);
        client_unref(client);
    }
    return was_listed;
}

/* Whether a session may be used by who sends a request: where nobody is known, by the user who
 * began it, as the kernel says it of the connection. Who has got hold of the secret is not that
 * user. */
static bool belongs_to(const struct client *client, const struct principal *principal) {
    const struct principal *owner = &client->principal;
    if (principal->id != NULL) {
        return strcmp(owner->id, principal->id) == 0;
    }
    const char *party = principal->party != NULL ? principal->party : PARTY_UNKNOWN;
    return strncmp(owner->id, SESSION_PREFIX, strlen(SESSION_PREFIX)) == 0 &&
           strcmp(owner->party, party) == 0;
}

struct client *client_find(struct mcp *mcp, const char *secret, const struct principal *principal) {
    LOCK_SCOPE(&mcp->lock);
    for (struct client *at = *bucket_of(mcp, secret); at != NULL; at = at->bucket_next) {
        if (strcmp(at->secret, secret) == 0) {
            if (!belongs_to(at, principal)) {
                return NULL;
            }
            at->used_ns = clock_now_ns();
            return client_ref(at);
        }
    }
    return NULL;
}

/* The client of a session is away: it gets the message when it comes back for its stream. */
static void keep(struct client *client, const struct buf *message) {
    lock_take(&client->lock);
    bool keeps = client->streamed && !message->failed;
    lock_release(&client->lock);
    if (keeps) {
        char id[REPLAY_ID_ROOM];
        replay_add(&client->replay, REPLAY_OWN, message->data, message->length, false, id);
    }
}

void client_send(struct client *client, const struct buf *message) {
    lock_take(&client->lock);
    struct request *stream = client->stream != NULL ? request_ref(client->stream) : NULL;
    if (client->way != NULL && !message->failed) {
        client->way->calls->send(client->way, NULL, message->data, message->length);
    }
    lock_release(&client->lock);
    if (stream == NULL || !request_send(stream, message)) {
        keep(client, message);
    }
    request_unref(stream);
}

void clients_each(struct mcp *mcp, void (*function)(struct client *client, void *user),
                  void *user) {
    size_t count = 0;
    lock_take(&mcp->lock);
    size_t room = mcp->session_count + 16;
    CLEANUP(freep) struct client **list = malloc(room * sizeof(struct client *));
    for (struct client *at = mcp->clients; list != NULL && at != NULL && count < room;
         at = at->next) {
        list[count++] = client_ref(at);
    }
    lock_release(&mcp->lock);
    for (size_t i = 0; i < count; i++) {
        lock_take(&list[i]->lock);
        bool is_ready = list[i]->dialect != NULL;
        lock_release(&list[i]->lock);
        if (is_ready) {
            function(list[i], user);
        }
        client_unref(list[i]);
    }
}

void client_gone(struct client *client) {
    atomic_store(&client->gone, true);
    requests_each(client->mcp, client, request_wake);
}
