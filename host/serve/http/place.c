/* Which connections have a place, where there may be no more of them.
 *
 * Who comes when there are too many takes the place of the oldest connection of which no whole
 * request has come, and none that says by a token who sends it: to send half a request costs
 * nothing, so such ones keep nobody out. Only where there is none is a connection refused, which is
 * an answer, too: it is accepted beside those that have places (CONN_CROWDED), and of these again
 * the oldest ends when there are too many. So each connection is answered or closed, and none is
 * left to wait in the queue of the kernel. */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "serve/http/parts.h"

/* Between two lines about connections that were refused or given up. */
#define NOTES_MS 60000u

/* Whether they count together: those of one user of this machine, else those of one address. */
static bool is_same(const struct conn *a, const struct conn *b) {
    return a->counted && b->counted && a->has_user == b->has_user &&
           (a->has_user ? a->user == b->user : memcmp(a->key, b->key, sizeof a->key) == 0);
}

/* What is there beside a connection that begins. */
struct crowd {
    unsigned same; /* that count together with it */
    /* The oldest that may be given up, or NULL: */
    struct conn *oldest_same;    /* of those */
    struct conn *oldest;         /* of all that have a place */
    struct conn *oldest_crowded; /* of all that have none */
};

/* Caller holds the lock of the server, as of what follows. */
static struct crowd look_around(const struct conn *conn) {
    struct crowd crowd = {0};
    for (struct conn *other = conn->server->conns; other != NULL; other = other->next) {
        bool is_newcomer_s = !other->given_up && is_same(other, conn);
        bool may_go = !other->given_up && !atomic_load(&other->proven);
        crowd.same += is_newcomer_s && other->kind != CONN_CROWDED;
        /* The list begins with the newest. */
        if (may_go && other->kind == CONN_CROWDED) {
            crowd.oldest_crowded = other;
        } else if (may_go && other->kind == CONN_REMOTE) {
            crowd.oldest = other;
            crowd.oldest_same = is_newcomer_s ? other : crowd.oldest_same;
        }
    }
    return crowd;
}

/* End a connection, and free its place at once. */
static void give_up(struct conn *conn) {
    conn->given_up = true;
    conn->server->kind_counts[conn->kind]--;
    LOCK_SCOPE(&conn->lock);
    conn_shut_down(conn, conn->suspended);
}

/* Count what was refused, and whether it is time to say so: into a line, "" if it is not. */
static void count_refusal(struct conn *conn, bool is_refused, bool is_of_one,
                          char ret_line[static PLACE_LINE_ROOM]) {
    struct server *server = conn->server;
    const struct limits *limits = &server->settings.limits;
    uint64_t now_ms = server_now_ms();
    server->refused_count += is_refused;
    server->given_up_count += !is_refused;
    if (server->refusal_note_ms != 0 && now_ms - server->refusal_note_ms < NOTES_MS) {
        return;
    }
    char whose[ADDRESS_TEXT_ROOM + 16] = "all clients";
    char address[ADDRESS_TEXT_ROOM];
    if (is_of_one && conn->has_user) {
        (void)snprintf(whose, sizeof whose, "user %u", (unsigned)conn->user);
    } else if (is_of_one) {
        address_text(&conn->peer, address);
        (void)snprintf(whose, sizeof whose, "the address of %s", address);
    }
    (void)snprintf(ret_line, PLACE_LINE_ROOM,
                   "%s: too many connections of %s, which may have %u (\"%s\" in \"limits\"); %u "
                   "refused, and %u closed that had sent no whole request, since the last such "
                   "line",
                   conn->listener->where, whose,
                   (unsigned)(is_of_one ? limits->connections_per_address : limits->connections),
                   is_of_one ? "connections_per_address" : "connections", server->refused_count,
                   server->given_up_count);
    server->refused_count = server->given_up_count = 0;
    server->refusal_note_ms = now_ms;
}

void place_take(struct conn *conn, char ret_line[static PLACE_LINE_ROOM]) {
    struct server *server = conn->server;
    const struct limits *limits = &server->settings.limits;
    unsigned *counts = server->kind_counts;
    bool is_local = conn->listener->path != NULL;
    ret_line[0] = '\0';
    conn->counted = !is_local && !http_settings_trusts(&server->settings, &conn->peer);
    if (conn->counted) {
        address_key(&conn->peer, conn->key);
    }
    struct crowd crowd = look_around(conn);
    bool is_of_one = conn->counted && crowd.same >= limits->connections_per_address;
    bool is_full = counts[CONN_REMOTE] + counts[CONN_LOCAL] >= limits->connections &&
                   (!is_local || counts[CONN_LOCAL] >= SERVER_LOCAL_KEPT);
    struct conn *goes = is_of_one ? crowd.oldest_same : is_full ? crowd.oldest : NULL;
    bool is_refused = (is_of_one || is_full) && goes == NULL;
    if (is_refused && counts[CONN_CROWDED] >= SERVER_CONNECTIONS_MORE) {
        goes = crowd.oldest_crowded;
    }
    if (goes != NULL) {
        give_up(goes);
    }
    if (is_refused || goes != NULL) {
        count_refusal(conn, is_refused, is_of_one, ret_line);
    }
    conn->kind = is_refused ? CONN_CROWDED : is_local ? CONN_LOCAL : CONN_REMOTE;
    counts[conn->kind]++;
}

void place_leave(struct conn *conn) {
    if (!conn->given_up) {
        conn->server->kind_counts[conn->kind]--;
    }
}
