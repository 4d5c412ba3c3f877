/* peers.c - which other hosts there are.
 *
 * A host is known from its first announcement, and is gone when it says so, when nobody answers at
 * its subject (the server says that at once), or when nothing came from it for MEMBER_BEATS_SILENT
 * beats. Its tools are read when it announces another digest of them (reading.c). */
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/json-string.h"
#include "remote/nats/peer.h"

/* So many hosts are probed in each beat, in turn: a killed one is known by its missing beat. */
#define PROBES_A_BEAT 64u

static int compare_instances(const void *left, const void *right) {
    return strcmp(left, right); /* the first member of a peer */
}

struct peer *peer_find(const struct member *member, const char *instance) {
    struct peer **place = tfind(instance, &member->peers_by_instance, compare_instances);
    return place != NULL ? *place : NULL;
}

void peer_forget(struct member *member, struct peer *peer) {
    (void)tdelete(peer, &member->peers_by_instance, compare_instances);
    *(peer->previous != NULL ? &peer->previous->next : &member->peers) = peer->next;
    if (peer->next != NULL) {
        peer->next->previous = peer->previous;
    }
    member->peer_count--;
    outgoing_lose(member, peer->instance);
    peer_set_tools(peer, NULL, 0);
    free(peer->tools);
    free(peer);
    member->wants = true;
    member_wake(member);
}

/* ------------------------------------------------------------ announcements */

static void copy_text(yyjson_val *object, const char *name, char *ret, size_t room) {
    const char *text = yyjson_get_str(yyjson_obj_get(object, name));
    (void)snprintf(ret, room, "%s", text != NULL ? text : "");
    for (char *c = ret; *c != '\0'; c++) {
        *c = (unsigned char)*c < ' ' ? '?' : *c; /* it is logged */
    }
}

static bool is_instance(const char *text) {
    return text != NULL && strlen(text) == INSTANCE_ROOM - 1 &&
           strspn(text, "0123456789abcdef") == INSTANCE_ROOM - 1;
}

/* Where there are too many, one that no trusted key has announced makes room for one that such a
 * key has: whoever may publish can announce as many as he likes. Caller holds the lock. */
static void make_room(struct member *member) {
    struct peer *peer = member->peers;
    while (peer != NULL && peer->is_signed) {
        peer = peer->next;
    }
    if (peer != NULL) {
        peer_forget(member, peer);
    }
}

/* Caller holds the lock. NULL: no memory, or too many. */
static struct peer *add(struct member *member, const char *instance, bool is_signed) {
    if (member->peer_count == MEMBER_HOSTS_MAX && is_signed) {
        make_room(member);
    }
    struct peer *peer = member->peer_count < MEMBER_HOSTS_MAX ? calloc(1, sizeof *peer) : NULL;
    if (peer == NULL) {
        return NULL;
    }
    (void)snprintf(peer->instance, sizeof peer->instance, "%s", instance);
    peer->latency_us = -1;
    if (tsearch(peer, &member->peers_by_instance, compare_instances) == NULL) {
        free(peer);
        return NULL;
    }
    peer->next = member->peers;
    if (peer->next != NULL) {
        peer->next->previous = peer;
    }
    member->peers = peer;
    member->peer_count++;
    return peer;
}

/* Whose announcement it is: a trusted key has to have signed it, and what such a key has announced
 * nobody else may change. A host that is not trusted may say what it likes of itself.
 * @param ret_number  of one by a trusted key, its number; else 0 */
static bool is_genuine(const struct member *member, yyjson_val *root, natsMsg *message,
                       uint64_t *ret_number) {
    const char *key = yyjson_get_str(yyjson_obj_get(root, "key"));
    const char *number = member_header(message, HEADER_NONCE);
    const struct key_statement statement = {
            .purpose = "announcement",
            .group = member->group_token,
            .instance = yyjson_get_str(yyjson_obj_get(root, "instance")),
            .time = "",
            .nonce = number,
            .data = nats.Msg_GetData(message),
            .length = (size_t)nats.Msg_GetDataLength(message)};
    *ret_number = 0;
    if (key == NULL || !member_trusts(member, key)) {
        return true;
    }
    *ret_number = strtoull(number, NULL, 10);
    return *ret_number > 0 && key_verify(key, member_header(message, HEADER_SIGNATURE), &statement);
}

/* Caller holds the lock. */
static bool may_follow(const struct peer *peer, yyjson_val *root, uint64_t number) {
    const char *key = yyjson_get_str(yyjson_obj_get(root, "key"));
    return peer == NULL || !peer->is_signed ||
           (number > peer->announced_number && key != NULL && strcmp(key, peer->key) == 0);
}

static void take_announcement(struct member *member, yyjson_val *root, natsMsg *message) {
    const char *instance = yyjson_get_str(yyjson_obj_get(root, "instance"));
    uint64_t number = 0;
    if (!is_instance(instance) || strcmp(instance, member->instance) == 0 ||
        !is_genuine(member, root, message, &number)) {
        return;
    }
    (void)pthread_mutex_lock(&member->lock);
    struct peer *peer = peer_find(member, instance);
    if (!may_follow(peer, root, number)) {
        (void)pthread_mutex_unlock(&member->lock);
        return;
    }
    if (yyjson_is_true(yyjson_obj_get(root, "leaving"))) {
        if (peer != NULL) {
            peer_forget(member, peer);
        }
        (void)pthread_mutex_unlock(&member->lock);
        return;
    }
    peer = peer != NULL ? peer : add(member, instance, number > 0);
    if (peer != NULL) {
        copy_text(root, "name", peer->name, sizeof peer->name);
        copy_text(root, "version", peer->version, sizeof peer->version);
        copy_text(root, "digest", peer->announced, sizeof peer->announced);
        if (!peer->is_proven || number > 0) {
            copy_text(root, "key", peer->key, sizeof peer->key);
        }
        peer->is_signed = number > 0;
        peer->announced_number = number;
        peer->running = yyjson_get_uint(yyjson_obj_get(root, "running"));
        peer->seen_ns = clock_now_ns();
        if (strcmp(peer->announced, peer->known) != 0 && peer->seen_ns >= peer->retry_ns) {
            member->wants = true;
            member_wake(member);
        }
    }
    (void)pthread_mutex_unlock(&member->lock);
}

void peers_announced(natsConnection *connection, natsSubscription *subscription, natsMsg *message,
                     void *user) {
    (void)connection;
    (void)subscription;
    CLEANUP(arena_finish) struct arena arena;
    arena_init(&arena, NULL, 0);
    yyjson_val *root =
            message_read(nats.Msg_GetData(message), (size_t)nats.Msg_GetDataLength(message), &arena,
                         "an announcement", NULL);
    if (root != NULL) {
        take_announcement(user, root, message);
    }
    nats.Msg_Destroy(message);
}

/* ------------------------------------------------------------------ probes */

void peers_probed(natsConnection *connection, natsSubscription *subscription, natsMsg *message,
                  void *user) {
    (void)connection;
    (void)subscription;
    struct member *member = user;
    CLEANUP(arena_finish) struct arena arena;
    const char *instance = strrchr(nats.Msg_GetSubject(message), '.') + 1;
    arena_init(&arena, NULL, 0);
    bool is_gone = nats.Msg_IsNoResponders(message);
    yyjson_val *root = is_gone ? NULL
                               : message_read(nats.Msg_GetData(message),
                                              (size_t)nats.Msg_GetDataLength(message), &arena,
                                              "an answer to a probe", NULL);
    (void)pthread_mutex_lock(&member->lock);
    struct peer *peer = peer_find(member, instance);
    if (peer != NULL && is_gone) {
        peer_forget(member, peer);
    } else if (peer != NULL && root != NULL && peer->probed_ns != 0) {
        uint64_t now_ns = clock_now_ns();
        int64_t took_ms = (int64_t)((now_ns - peer->probed_ns) / CLOCK_NS_PER_MS);
        peer->latency_us = (int64_t)((now_ns - peer->probed_ns) / 1000);
        peer->clock_ms =
                yyjson_get_sint(yyjson_obj_get(root, "time_ms")) - (clock_wall_ms() - took_ms / 2);
        peer->seen_ns = now_ns;
        peer->probed_ns = 0;
        (void)pthread_cond_broadcast(&member->changed);
    }
    (void)pthread_mutex_unlock(&member->lock);
    nats.Msg_Destroy(message);
}

/* Whether a host is to be probed in this beat: all of them in turn, and at once those whose
 * announcement is missing. Who only sees who is there wants to know all of them soon. */
static bool is_turn(const struct member *member, const struct peer *peer, size_t at,
                    uint64_t now_ns) {
    uint64_t missing_ns = (uint64_t)member->beat_ms * CLOCK_NS_PER_MS * 3 / 2;
    size_t turns = (member->peer_count + PROBES_A_BEAT - 1) / PROBES_A_BEAT;
    return !member->options.uses || now_ns - peer->seen_ns > missing_ns ||
           at % turns == member->beats % turns;
}

/* The numbers of the hosts that are to be probed, each with its zero; those that are silent are
 * forgotten. Without a server all are silent, and nothing is known of them. */
static void collect_probed(struct member *member, struct buf *instances) {
    uint64_t now_ns = clock_now_ns();
    uint64_t silent_ns = (uint64_t)member->beat_ms * MEMBER_BEATS_SILENT * CLOCK_NS_PER_MS;
    size_t at = 0;
    (void)pthread_mutex_lock(&member->lock);
    member->beats++;
    for (struct peer *peer = member->peers, *next; peer != NULL; peer = next) {
        next = peer->next;
        if (now_ns - peer->seen_ns > silent_ns) {
            if (member_trusts(member, peer->key) || member_may_warn(member)) {
                log_line(member->options.log, LOG_WARNING, "nats",
                         "the host %s has been silent for %u ms; its tools are not called any more",
                         peer->name, member->beat_ms * MEMBER_BEATS_SILENT);
            }
            peer_forget(member, peer);
        } else if (is_turn(member, peer, at++, now_ns)) {
            peer->probed_ns = peer->probed_ns != 0 ? peer->probed_ns : now_ns;
            buf_add(instances, peer->instance, INSTANCE_ROOM);
        }
    }
    (void)pthread_mutex_unlock(&member->lock);
}

void peers_watch(struct member *member) {
    CLEANUP(buf_finish) struct buf instances = BUF_INIT;
    CLEANUP(buf_finish) struct buf probe = BUF_INIT;
    if (!atomic_load(&member->connected)) {
        return;
    }
    collect_probed(member, &instances);
    buf_printf(&probe, "{\"v\":%d}", SUBJECT_VERSION);
    for (size_t at = 0; at + INSTANCE_ROOM <= instances.length; at += INSTANCE_ROOM) {
        char subject[SUBJECT_ROOM];
        char reply[SUBJECT_ROOM];
        (void)snprintf(reply, sizeof reply, "%s.probe.%s", member->inbox, instances.data + at);
        (void)member_publish(member,
                             member_subject(member, subject, "host.%s.probe", instances.data + at),
                             reply, &probe);
    }
}

void peers_greeted(struct member *member) {
    (void)pthread_mutex_lock(&member->lock);
    for (struct peer *peer = member->peers; peer != NULL; peer = peer->next) {
        peer->seen_ns = clock_now_ns();
        peer->probed_ns = 0;
    }
    (void)pthread_mutex_unlock(&member->lock);
}

void peers_destroy(struct member *member) {
    while (member->peers != NULL) {
        struct peer *peer = member->peers;
        (void)tdelete(peer, &member->peers_by_instance, compare_instances);
        member->peers = peer->next;
        free(peer->tools);
        free(peer);
    }
}

/* ---------------------------------------------------------------- describe */

static void add_text(struct buf *out, const char *name, const char *text) {
    buf_printf(out, ",\"%s\":", name);
    if (text[0] == '\0' || !buf_add_json_text(out, text, strlen(text))) {
        buf_add_text(out, "null");
    }
}

/* It did not answer a probe for two beats. */
static bool is_silent(const struct member *member, const struct peer *peer) {
    return peer->probed_ns != 0 &&
           clock_now_ns() - peer->probed_ns > 2ull * member->beat_ms * CLOCK_NS_PER_MS;
}

void peers_describe(struct member *member, struct buf *out) {
    (void)pthread_mutex_lock(&member->lock);
    for (const struct peer *peer = member->peers; peer != NULL; peer = peer->next) {
        bool is_trusted = peer->is_proven && member_trusts(member, peer->key);
        buf_printf(out, ",{\"self\":false,\"instance\":\"%s\"", peer->instance);
        add_text(out, "name", peer->name);
        add_text(out, "key", peer->key);
        add_text(out, "version", peer->version);
        buf_printf(out, ",\"trusted\":%s,\"state\":\"%s\",\"running\":%llu,\"tools\":%zu",
                   is_trusted ? "true" : "false",
                   is_silent(member, peer)           ? "silent"
                   : breaker_is_open(&peer->breaker) ? "slow"
                                                     : "here",
                   (unsigned long long)peer->running, peer->tool_count);
        buf_printf(out, ",\"calls\":%llu,\"failed\":%llu", (unsigned long long)peer->calls,
                   (unsigned long long)peer->failed);
        if (peer->latency_us >= 0) {
            buf_printf(out, ",\"latency_us\":%lld,\"clock_ms\":%lld}", (long long)peer->latency_us,
                       (long long)peer->clock_ms);
        } else {
            buf_add_text(out, ",\"latency_us\":null,\"clock_ms\":null}");
        }
    }
    (void)pthread_mutex_unlock(&member->lock);
}

void member_count(struct member *member, struct member_counts *ret) {
    (void)pthread_mutex_lock(&member->lock);
    *ret = member->counts;
    ret->hosts = member->peer_count;
    for (const struct peer *peer = member->peers; peer != NULL; peer = peer->next) {
        ret->trusted += peer->is_proven && member_trusts(member, peer->key);
        ret->slow += breaker_is_open(&peer->breaker);
        ret->silent += is_silent(member, peer);
        ret->running += peer->running;
        ret->tools += peer->tool_count;
    }
    (void)pthread_mutex_unlock(&member->lock);
}
