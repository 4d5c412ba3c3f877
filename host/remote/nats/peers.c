/* peers.c - the other hosts of a group and their tools.
 *
 * A host is known from its first announcement, and is gone when it says so, when nobody answers at
 * its subject (the server says that at once), or when nothing came from it for MEMBER_BEATS_SILENT
 * beats. Its tools are read when it announces another digest of them.
 *
 * Invariants, under the member's lock:
 *  (1) A peer is in tool->hosts of each tool of peer->tools, and in no other.
 *  (2) A remote tool is registered only while a host has it; the member's thread sees to that a
 *      little after (1) has changed. */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json-string.h"
#include "base/json-write.h"
#include "remote/nats/parts.h"

/* How long a host may take to send a page of its tools. */
#define PAGE_MS 2000

struct peer {
    struct peer *next;
    char instance[INSTANCE_ROOM];
    char name[64];
    char key[KEY_TEXT_ROOM]; /* as it says; proven by the signature of its tools */
    char version[64];
    bool is_proven;
    char announced[ANNOUNCE_DIGEST_ROOM]; /* the digest of its tools */
    char known[ANNOUNCE_DIGEST_ROOM];     /* of those that were read; "": none were */
    bool failed;                          /* they could not be read; tried again at the next beat */
    uint64_t running;                     /* calls, as it said last */
    uint64_t sent;                        /* calls of this host that are under way */
    uint64_t seen_ns;
    uint64_t probed_ns; /* when the probe was sent that was not answered; 0: none */
    int64_t latency_us; /* -1: not measured */
    int64_t clock_ms;
    struct breaker breaker;
    struct remote_tool **tools;
    size_t tool_count;
};

static uint64_t now_ms(void) {
    return clock_now_ns() / CLOCK_NS_PER_MS;
}

/* Caller holds the lock. */
static struct peer *find(const struct member *member, const char *instance) {
    struct peer *peer = member->peers;
    while (peer != NULL && strcmp(peer->instance, instance) != 0) {
        peer = peer->next;
    }
    return peer;
}

/* ------------------------------------------------------------- its tools */

/* Room for one more host of a tool. False: out of memory. */
static bool tool_reserve(struct remote_tool *tool) {
    if (tool->host_count < tool->host_room) {
        return true;
    }
    size_t room = tool->host_room == 0 ? 4 : 2 * tool->host_room;
    struct peer **grown = realloc(tool->hosts, room * sizeof *tool->hosts);
    if (grown != NULL) {
        tool->hosts = grown;
        tool->host_room = room;
    }
    return grown != NULL;
}

static void tool_remove_host(struct remote_tool *tool, const struct peer *peer) {
    for (size_t i = 0; i < tool->host_count; i++) {
        if (tool->hosts[i] == peer) {
            tool->hosts[i] = tool->hosts[--tool->host_count];
            return;
        }
    }
}

/* Give a peer other tools. Caller holds the lock. */
static void set_tools(struct peer *peer, struct remote_tool *const *tools, size_t count) {
    for (size_t i = 0; i < peer->tool_count; i++) {
        tool_remove_host(peer->tools[i], peer);
    }
    free(peer->tools);
    peer->tools = calloc(count + 1, sizeof(struct remote_tool *));
    peer->tool_count = 0;
    for (size_t i = 0; peer->tools != NULL && i < count; i++) {
        if (tool_reserve(tools[i])) { /* else the host is not asked for this tool */
            tools[i]->hosts[tools[i]->host_count++] = peer;
            peer->tools[peer->tool_count++] = tools[i];
        }
    }
}

/* A host is gone. Caller holds the lock. */
static void forget(struct member *member, struct peer *peer) {
    struct peer **place = &member->peers;
    while (*place != peer) {
        place = &(*place)->next;
    }
    *place = peer->next;
    member->peer_count--;
    outgoing_lose(member, peer->instance);
    set_tools(peer, NULL, 0);
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

/* Caller holds the lock. NULL: no memory, or too many. */
static struct peer *add(struct member *member, const char *instance) {
    struct peer *peer = member->peer_count < MEMBER_HOSTS_MAX ? calloc(1, sizeof *peer) : NULL;
    if (peer != NULL) {
        (void)snprintf(peer->instance, sizeof peer->instance, "%s", instance);
        peer->latency_us = -1;
        peer->next = member->peers;
        member->peers = peer;
        member->peer_count++;
    }
    return peer;
}

static void take_announcement(struct member *member, yyjson_val *root) {
    const char *instance = yyjson_get_str(yyjson_obj_get(root, "instance"));
    if (!is_instance(instance) || strcmp(instance, member->instance) == 0) {
        return;
    }
    (void)pthread_mutex_lock(&member->lock);
    struct peer *peer = find(member, instance);
    if (yyjson_is_true(yyjson_obj_get(root, "leaving"))) {
        if (peer != NULL) {
            forget(member, peer);
        }
        (void)pthread_mutex_unlock(&member->lock);
        return;
    }
    peer = peer != NULL ? peer : add(member, instance);
    if (peer != NULL) {
        copy_text(root, "name", peer->name, sizeof peer->name);
        copy_text(root, "version", peer->version, sizeof peer->version);
        copy_text(root, "digest", peer->announced, sizeof peer->announced);
        if (!peer->is_proven) {
            copy_text(root, "key", peer->key, sizeof peer->key);
        }
        peer->running = yyjson_get_uint(yyjson_obj_get(root, "running"));
        peer->seen_ns = clock_now_ns();
        peer->failed = false;
        if (strcmp(peer->announced, peer->known) != 0) {
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
        take_announcement(user, root);
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
    struct peer *peer = find(member, instance);
    if (peer != NULL && is_gone) {
        forget(member, peer);
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

/* The numbers of all hosts that are to be probed, each with its zero; those that are silent are
 * forgotten. */
static void collect_probed(struct member *member, struct buf *instances) {
    uint64_t now_ns = clock_now_ns();
    uint64_t silent_ns = (uint64_t)member->beat_ms * MEMBER_BEATS_SILENT * CLOCK_NS_PER_MS;
    (void)pthread_mutex_lock(&member->lock);
    for (struct peer *peer = member->peers, *next; peer != NULL; peer = next) {
        next = peer->next;
        if (now_ns - peer->seen_ns > silent_ns) {
            log_line(member->options.log, LOG_WARNING, "nats",
                     "the host %s has been silent for %u ms; its tools are not called any more",
                     peer->name, member->beat_ms * MEMBER_BEATS_SILENT);
            forget(member, peer);
        } else {
            peer->probed_ns = peer->probed_ns != 0 ? peer->probed_ns : now_ns;
            buf_add(instances, peer->instance, INSTANCE_ROOM);
        }
    }
    (void)pthread_mutex_unlock(&member->lock);
}

void peers_watch(struct member *member) {
    CLEANUP(buf_finish) struct buf instances = BUF_INIT;
    CLEANUP(buf_finish) struct buf probe = BUF_INIT;
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

/* ----------------------------------------------------------- reading tools */

/* The tools of a host while they are read. */
struct reading {
    struct member *member;
    char instance[INSTANCE_ROOM];
    char announced[ANNOUNCE_DIGEST_ROOM];
    char key[KEY_TEXT_ROOM]; /* that signed the pages; "": none did */
    bool is_trusted;
    struct arena arena; /* has the pages */
    struct remote_tool **tools;
    yyjson_val **described; /* the same, as the host describes them */
    size_t count;
    size_t room;
    uint64_t next; /* the first tool of the next page */
    bool is_whole;
    char digest[ANNOUNCE_DIGEST_ROOM]; /* that the pages have */
};

/* A remote tool, the one that there is or a new one. Only this thread adds any. NULL: no memory. */
static struct remote_tool *get_tool(struct member *member, const struct tr_tool *described,
                                    const char *digest, bool trusted) {
    for (struct remote_tool *tool = member->remote_tools; tool != NULL; tool = tool->next) {
        if (tool->trusted == trusted && strcmp(tool->digest, digest) == 0) {
            return tool;
        }
    }
    struct remote_tool *tool = calloc(1, sizeof *tool);
    if (tool != NULL) {
        tool->member = member;
        tool->trusted = trusted;
        tool->idempotent = (described->flags & (TR_IDEMPOTENT | TR_READ_ONLY)) != 0;
        tool->is_safe = described->permission == TR_SAFE;
        (void)snprintf(tool->name, sizeof tool->name, "%s", described->name);
        (void)snprintf(tool->version, sizeof tool->version, "%s", described->version);
        (void)snprintf(tool->digest, sizeof tool->digest, "%s", digest);
        (void)pthread_mutex_lock(&member->lock);
        tool->next = member->remote_tools;
        member->remote_tools = tool;
        (void)pthread_mutex_unlock(&member->lock);
    }
    return tool;
}

static void say_refused(const struct member *member, const struct remote_tool *tool, int code,
                        const char *why) {
    /* That this host has the tool itself is as it should be. */
    log_line(member->options.log, code == TOOLRACK_E_EXISTS ? LOG_INFO : LOG_WARNING, "nats",
             "the tool %s@%s of other hosts is not registered: %s", tool->name, tool->version, why);
}

/* Register a tool. The description is needed for that only, so it is not kept. */
static void register_tool(struct member *member, struct remote_tool *tool,
                          const struct tr_tool *described) {
    struct toolrack_error err;
    if (tool->is_registered || tool->is_refused || !member->options.uses) {
        return;
    }
    /* A host that nobody vouches for does not keep the name from one with a trusted key. */
    for (struct remote_tool *other = member->remote_tools; tool->trusted && other != NULL;
         other = other->next) {
        if (other->is_registered && !other->trusted && strcmp(other->name, tool->name) == 0) {
            member->options.remove(member->options.user, other->uid);
            other->is_registered = false;
            other->is_refused = true;
        }
    }
    const struct run_service service = {.run = outgoing_run, .user = tool};
    int code = member->options.add(member->options.user, described, &service, &tool->uid, &err);
    tool->is_registered = code == 0;
    tool->is_refused = code < 0;
    if (code < 0) {
        say_refused(member, tool, code, err.message);
    }
}

static bool keep_tool(struct reading *reading, struct remote_tool *tool, yyjson_val *described) {
    if (reading->count == reading->room) {
        size_t room = reading->room == 0 ? 64 : 2 * reading->room;
        struct remote_tool **grown = realloc(reading->tools, room * sizeof(struct remote_tool *));
        reading->tools = grown != NULL ? grown : reading->tools;
        yyjson_val **wider = realloc(reading->described, room * sizeof(yyjson_val *));
        reading->described = wider != NULL ? wider : reading->described;
        if (grown == NULL || wider == NULL) {
            return false;
        }
        reading->room = room;
    }
    reading->described[reading->count] = described;
    reading->tools[reading->count++] = tool;
    return true;
}

static int take_tool(struct reading *reading, yyjson_val *described, struct toolrack_error *err) {
    struct member *member = reading->member;
    struct tr_tool tool;
    char digest[ANNOUNCE_DIGEST_ROOM];
    CLEANUP(buf_finish) struct buf json = BUF_INIT;
    int code = announce_read(described, reading->is_trusted, &tool, err);
    if (code < 0) {
        return code;
    }
    json_add_value(&json, described);
    if (json.failed || reading->count == MEMBER_TOOLS_MAX || strlen(tool.name) > SUBJECT_NAME_MAX ||
        strlen(tool.version) > SUBJECT_NAME_MAX) {
        return json.failed ? error_oom(err)
                           : error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                                       "it has more than %u tools, or a name or version of more "
                                       "than %u bytes",
                                       MEMBER_TOOLS_MAX, SUBJECT_NAME_MAX);
    }
    announce_digest(json.data, json.length, digest);
    struct remote_tool *remote = get_tool(member, &tool, digest, reading->is_trusted);
    return remote != NULL && keep_tool(reading, remote, described) ? 0 : error_oom(err);
}

/* Who has signed a page. A signature that does not fit is an error, also by a key that is not
 * trusted. */
static int check_page(struct reading *reading, natsMsg *page, struct toolrack_error *err) {
    struct member *member = reading->member;
    const char *key = NULL;
    const char *signature = NULL;
    const struct key_statement statement = {.purpose = "tools",
                                            .group = member->group_token,
                                            .instance = reading->instance,
                                            .time = "",
                                            .nonce = "",
                                            .data = nats.Msg_GetData(page),
                                            .length = (size_t)nats.Msg_GetDataLength(page)};
    if (nats.MsgHeader_Get(page, HEADER_KEY, &key) != NATS_OK ||
        nats.MsgHeader_Get(page, HEADER_SIGNATURE, &signature) != NATS_OK) {
        key = "";
    } else if (strlen(key) >= sizeof reading->key || !key_verify(key, signature, &statement)) {
        return error_set(err, TOOLRACK_E_PERMISSION_DENIED, "the signature of its tools is wrong");
    }
    if (reading->next > 0 && strcmp(reading->key, key) != 0) {
        return error_set(err, TOOLRACK_E_PERMISSION_DENIED,
                         "its tools are signed by different keys");
    }
    (void)snprintf(reading->key, sizeof reading->key, "%s", key);
    reading->is_trusted = key[0] != '\0' && member_trusts(member, key);
    return 0;
}

static int read_page(struct reading *reading, natsMsg *page, struct toolrack_error *err) {
    yyjson_val *root = message_read(nats.Msg_GetData(page), (size_t)nats.Msg_GetDataLength(page),
                                    &reading->arena, "a page of tools", err);
    if (root == NULL) {
        return err->code;
    }
    const char *digest = yyjson_get_str(yyjson_obj_get(root, "digest"));
    if (digest == NULL || strlen(digest) >= sizeof reading->digest ||
        yyjson_get_uint(yyjson_obj_get(root, "from")) != reading->next ||
        (reading->next > 0 && strcmp(digest, reading->digest) != 0)) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "its tools have changed while they were read, or the page is another one");
    }
    (void)snprintf(reading->digest, sizeof reading->digest, "%s", digest);
    size_t at;
    size_t count;
    yyjson_val *described;
    int code = 0;
    yyjson_arr_foreach (yyjson_obj_get(root, "tools"), at, count, described) {
        code = code < 0 ? code : take_tool(reading, described, err);
    }
    yyjson_val *next = yyjson_obj_get(root, "next");
    reading->is_whole = !yyjson_is_uint(next);
    if (code == 0 && !reading->is_whole && yyjson_get_uint(next) <= reading->next) {
        return error_set(err, TOOLRACK_E_INVALID, "its pages of tools do not end");
    }
    reading->next = yyjson_get_uint(next);
    return code;
}

static int read_pages(struct reading *reading, struct toolrack_error *err) {
    struct member *member = reading->member;
    char subject[SUBJECT_ROOM];
    (void)member_subject(member, subject, "host.%s.tools", reading->instance);
    while (!reading->is_whole) {
        char request[64];
        natsMsg *message = NULL;
        natsMsg *page = NULL;
        int length = snprintf(request, sizeof request, "{\"v\":%d,\"from\":%llu}", SUBJECT_VERSION,
                              (unsigned long long)reading->next);
        if (nats.Msg_Create(&message, subject, NULL, request, length) != NATS_OK) {
            return error_oom(err);
        }
        natsStatus status = nats.Connection_RequestMsg(&page, member->connection, message, PAGE_MS);
        nats.Msg_Destroy(message);
        if (status != NATS_OK) {
            return error_set(err, TOOLRACK_E_IO, "its tools cannot be read: %s",
                             nats.Status_GetText(status));
        }
        int code = check_page(reading, page, err);
        code = code < 0 ? code : read_page(reading, page, err);
        nats.Msg_Destroy(page);
        if (code < 0) {
            return code;
        }
    }
    return 0;
}

/* A host whose tools are to be read. */
static bool next_reading(struct member *member, struct reading *ret) {
    (void)pthread_mutex_lock(&member->lock);
    struct peer *peer = member->peers;
    while (peer != NULL && (peer->failed || strcmp(peer->announced, peer->known) == 0)) {
        peer = peer->next;
    }
    if (peer != NULL) {
        *ret = (struct reading){.member = member};
        arena_init(&ret->arena, NULL, 0);
        memcpy(ret->instance, peer->instance, sizeof ret->instance);
        memcpy(ret->announced, peer->announced, sizeof ret->announced);
    }
    bool stops = member->stops;
    (void)pthread_mutex_unlock(&member->lock);
    return peer != NULL && !stops;
}

/* Register what is new, now that calls find the host. */
static void register_tools(struct reading *reading) {
    struct toolrack_error err;
    struct tr_tool described;
    for (size_t i = 0; i < reading->count; i++) {
        if (announce_read(reading->described[i], reading->is_trusted, &described, &err) == 0) {
            register_tool(reading->member, reading->tools[i], &described);
        }
    }
}

/* The tools of a host were read. @return whether the host is still there */
static bool take_reading(struct reading *reading, int code, char name[64]) {
    struct member *member = reading->member;
    (void)pthread_mutex_lock(&member->lock);
    struct peer *peer = find(member, reading->instance);
    if (peer != NULL) {
        memcpy(name, peer->name, sizeof peer->name);
        peer->failed = code < 0;
    }
    if (peer != NULL && code == 0) {
        set_tools(peer, reading->tools, reading->count);
        memcpy(peer->known, reading->digest, sizeof peer->known);
        memcpy(peer->key, reading->key, sizeof peer->key);
        peer->is_proven = reading->key[0] != '\0';
        /* What it announces now may be newer; that is read next. */
        if (strcmp(peer->announced, reading->announced) == 0) {
            memcpy(peer->announced, reading->digest, sizeof peer->announced);
        }
    }
    (void)pthread_mutex_unlock(&member->lock);
    return peer != NULL;
}

static void end_reading(struct reading *reading, int code, const struct toolrack_error *err) {
    char name[64] = "";
    bool is_there = take_reading(reading, code, name);
    if (is_there && code < 0) {
        log_line(reading->member->options.log, LOG_WARNING, "nats", "the host %s: %s", name,
                 err->message);
    } else if (is_there) {
        register_tools(reading);
    }
    free(reading->tools);
    free(reading->described);
    arena_finish(&reading->arena);
}

/* Remove tools that no host has any more. Then what they kept from being registered may be: the
 * tools of all hosts are read again, since descriptions are not kept. */
static void remove_tools(struct member *member) {
    bool has_removed = false;
    bool has_refused = false;
    for (struct remote_tool *tool = member->remote_tools; tool != NULL; tool = tool->next) {
        (void)pthread_mutex_lock(&member->lock);
        size_t hosts = tool->host_count;
        (void)pthread_mutex_unlock(&member->lock);
        if (hosts == 0 && tool->is_registered) {
            member->options.remove(member->options.user, tool->uid);
            tool->is_registered = false;
            has_removed = true;
        }
        has_refused = has_refused || (hosts > 0 && tool->is_refused);
    }
    if (has_removed && has_refused) {
        (void)pthread_mutex_lock(&member->lock);
        for (struct remote_tool *tool = member->remote_tools; tool != NULL; tool = tool->next) {
            tool->is_refused = false;
        }
        for (struct peer *peer = member->peers; peer != NULL; peer = peer->next) {
            peer->known[0] = '\0';
        }
        member->wants = true;
        (void)pthread_mutex_unlock(&member->lock);
    }
}

void peers_update(struct member *member) {
    struct reading reading;
    while (next_reading(member, &reading)) {
        struct toolrack_error err;
        int code = read_pages(&reading, &err);
        end_reading(&reading, code, &err);
    }
    remove_tools(member);
    (void)pthread_mutex_lock(&member->lock);
    (void)pthread_cond_broadcast(&member->changed);
    (void)pthread_mutex_unlock(&member->lock);
}

bool peers_are_known(const struct member *member) {
    for (const struct peer *peer = member->peers; peer != NULL; peer = peer->next) {
        if (!peer->failed && strcmp(peer->announced, peer->known) != 0) {
            return false;
        }
    }
    return true;
}

void peers_stop(struct member *member) {
    for (struct remote_tool *tool = member->remote_tools; tool != NULL; tool = tool->next) {
        if (tool->is_registered) {
            member->options.remove(member->options.user, tool->uid);
            tool->is_registered = false;
        }
    }
}

void peers_destroy(struct member *member) {
    while (member->peers != NULL) {
        struct peer *peer = member->peers;
        member->peers = peer->next;
        free(peer->tools);
        free(peer);
    }
    while (member->remote_tools != NULL) {
        struct remote_tool *tool = member->remote_tools;
        member->remote_tools = tool->next;
        free(tool->hosts);
        free(tool);
    }
}

/* ------------------------------------------------------------------ choice */

static bool is_left_out(const struct peer *peer, const struct peer_pick *not_this, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (strcmp(peer->instance, not_this[i].instance) == 0) {
            return true;
        }
    }
    return false;
}

/* The nth of the hosts that may be asked, and how many there are; a slow one only with `slow`. */
static struct peer *candidate(const struct remote_tool *tool, const struct peer_pick *not_this,
                              size_t count, bool slow, size_t nth, size_t *ret_count) {
    struct peer *found = NULL;
    uint64_t now = now_ms();
    *ret_count = 0;
    for (size_t i = 0; i < tool->host_count; i++) {
        struct peer *peer = tool->hosts[i];
        if (!is_left_out(peer, not_this, count) && (slow || breaker_allows(&peer->breaker, now))) {
            found = *ret_count == nth ? peer : found;
            (*ret_count)++;
        }
    }
    return found;
}

static uint64_t load_of(const struct peer *peer) {
    return peer->running > peer->sent ? peer->running : peer->sent;
}

/* Caller holds the lock. Slow hosts are asked where all are slow. */
static struct peer *choose(const struct remote_tool *tool, const struct peer_pick *not_this,
                           size_t count) {
    size_t there;
    bool slow = false;
    (void)candidate(tool, not_this, count, false, 0, &there);
    if (there == 0) {
        slow = true;
        (void)candidate(tool, not_this, count, true, 0, &there);
    }
    if (there == 0) {
        return NULL;
    }
    size_t first = randombytes_uniform((uint32_t)there);
    struct peer *a = candidate(tool, not_this, count, slow, first, &there);
    if (there == 1) {
        return a;
    }
    size_t second = (first + 1 + randombytes_uniform((uint32_t)there - 1)) % there;
    struct peer *b = candidate(tool, not_this, count, slow, second, &there);
    return load_of(b) < load_of(a) ? b : a;
}

int peers_pick(struct member *member, const struct remote_tool *tool,
               const struct peer_pick *not_this, size_t count, struct peer_pick *ret,
               struct toolrack_error *err) {
    (void)pthread_mutex_lock(&member->lock);
    struct peer *peer = member->stops || !atomic_load(&member->connected)
                                ? NULL
                                : choose(tool, not_this, count);
    if (peer != NULL) {
        memcpy(ret->instance, peer->instance, sizeof ret->instance);
        memcpy(ret->name, peer->name, sizeof ret->name);
        peer->sent++;
        breaker_begin(&peer->breaker);
    }
    (void)pthread_mutex_unlock(&member->lock);
    if (peer != NULL) {
        return 0;
    }
    return !atomic_load(&member->connected)
                   ? error_set(err, TOOLRACK_E_UNAVAILABLE,
                               "%s runs on other hosts, and the NATS server is not reached; try "
                               "again later",
                               tool->name)
                   : error_set(err, TOOLRACK_E_UNAVAILABLE,
                               "no host that has %s can be reached; try again later", tool->name);
}

void peers_ended(struct member *member, const struct peer_pick *pick, enum peer_outcome outcome) {
    (void)pthread_mutex_lock(&member->lock);
    struct peer *peer = find(member, pick->instance);
    if (peer != NULL) {
        peer->sent--;
        switch (outcome) {
        case PEER_ANSWERED: breaker_succeed(&peer->breaker); break;
        case PEER_CANCELLED: breaker_forget(&peer->breaker); break;
        case PEER_LATE:
            breaker_fail(&peer->breaker, now_ms());
            if (breaker_is_open(&peer->breaker)) {
                log_line(member->options.log, LOG_WARNING, "nats",
                         "the host %s did not answer %u calls in time; it gets none for %llu ms",
                         peer->name, peer->breaker.failures,
                         (unsigned long long)peer->breaker.pause_ms);
            }
            break;
        case PEER_GONE: forget(member, peer); break;
        }
    }
    (void)pthread_mutex_unlock(&member->lock);
}

/* ---------------------------------------------------------------- describe */

static void add_text(struct buf *out, const char *name, const char *text) {
    buf_printf(out, ",\"%s\":", name);
    if (text[0] == '\0' || !buf_add_json_text(out, text, strlen(text))) {
        buf_add_text(out, "null");
    }
}

void peers_describe(struct member *member, struct buf *out) {
    (void)pthread_mutex_lock(&member->lock);
    for (const struct peer *peer = member->peers; peer != NULL; peer = peer->next) {
        bool is_silent = peer->probed_ns != 0 && clock_now_ns() - peer->probed_ns >
                                                         2ull * member->beat_ms * CLOCK_NS_PER_MS;
        bool is_trusted = peer->is_proven && member_trusts(member, peer->key);
        buf_printf(out, ",{\"self\":false,\"instance\":\"%s\"", peer->instance);
        add_text(out, "name", peer->name);
        add_text(out, "key", peer->key);
        add_text(out, "version", peer->version);
        buf_printf(out, ",\"trusted\":%s,\"state\":\"%s\",\"running\":%llu,\"tools\":%zu",
                   is_trusted ? "true" : "false",
                   is_silent                         ? "silent"
                   : breaker_is_open(&peer->breaker) ? "slow"
                                                     : "here",
                   (unsigned long long)peer->running, peer->tool_count);
        if (peer->latency_us >= 0) {
            buf_printf(out, ",\"latency_us\":%lld,\"clock_ms\":%lld}", (long long)peer->latency_us,
                       (long long)peer->clock_ms);
        } else {
            buf_add_text(out, ",\"latency_us\":null,\"clock_ms\":null}");
        }
    }
    (void)pthread_mutex_unlock(&member->lock);
}
