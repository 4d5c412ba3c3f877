/* reading.c - the tools of other hosts are read from them, page by page.
 *
 * A host whose tools cannot be read is asked again later and later; meanwhile those of others are
 * read. All that one host may send is limited: in time, in bytes and in tools. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/json-write.h"
#include "remote/nats/peer.h"

/* How long a host may take to send a page of its tools, and all of them. */
#define PAGE_MS          2000
#define READING_MS       10000
/* Most bytes of all pages of a host. */
#define READING_SIZE_MAX (64u * 1024 * 1024)
/* How long until a host is asked again, doubled with each failure. */
#define RETRY_MS         500u
#define RETRY_MS_MAX     60000u

/* The tools of a host while they are read. */
struct reading {
    struct member *member;
    char instance[INSTANCE_ROOM];
    char announced[ANNOUNCE_DIGEST_ROOM];
    char key[KEY_TEXT_ROOM]; /* that signed the pages; "": none did */
    struct host_terms terms;
    struct arena arena; /* has the pages */
    struct remote_tool **tools;
    yyjson_val **described; /* the same, as the host describes them */
    size_t count;
    size_t room;
    uint64_t next; /* the first tool of the next page */
    uint64_t until_ns;
    size_t size; /* of the pages so far */
    bool is_whole;
    char digest[ANNOUNCE_DIGEST_ROOM]; /* that the pages have */
};

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
    int code = announce_read(described, reading->terms.permission, &tool, err);
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
    struct remote_tool *remote = NULL;
    code = remote_tool_get(member, &tool, digest, json.length, &reading->terms, &remote, err);
    if (code < 0) {
        return code;
    }
    return keep_tool(reading, remote, described) ? 0 : error_oom(err);
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
    reading->terms = member_terms(member, key);
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

static int check_limits(struct reading *reading, natsMsg *page, struct toolrack_error *err) {
    reading->size += (size_t)nats.Msg_GetDataLength(page);
    if (reading->size > READING_SIZE_MAX || clock_now_ns() > reading->until_ns) {
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                         "its tools have more than %u bytes, or it takes more than %u ms to send "
                         "them",
                         READING_SIZE_MAX, READING_MS);
    }
    return 0;
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
        int code = check_limits(reading, page, err);
        code = code < 0 ? code : check_page(reading, page, err);
        code = code < 0 ? code : read_page(reading, page, err);
        nats.Msg_Destroy(page);
        if (code < 0) {
            return code;
        }
    }
    return 0;
}

/* The first host whose tools are to be read, of those that a trusted key has announced or of the
 * others. NULL: there is none now. Caller holds the lock. */
static struct peer *first_unread(const struct member *member, bool is_signed, uint64_t now_ns) {
    struct peer *peer = member->peers;
    while (peer != NULL && (peer->is_signed != is_signed || now_ns < peer->retry_ns ||
                            strcmp(peer->announced, peer->known) == 0)) {
        peer = peer->next;
    }
    return peer;
}

/* A host whose tools are to be read: many that nobody knows keep none waiting that is trusted.
 * False: there is none now. */
static bool next_reading(struct member *member, struct reading *ret) {
    uint64_t now_ns = clock_now_ns();
    (void)pthread_mutex_lock(&member->lock);
    struct peer *peer = first_unread(member, true, now_ns);
    peer = peer != NULL ? peer : first_unread(member, false, now_ns);
    if (peer != NULL) {
        *ret = (struct reading){.member = member,
                                .until_ns = now_ns + (uint64_t)READING_MS * CLOCK_NS_PER_MS};
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
        if (announce_read(reading->described[i], reading->terms.permission, &described, &err) ==
            0) {
            remote_tool_register(reading->member, reading->tools[i], &described);
        }
    }
}

static void note_failure(struct peer *peer) {
    uint64_t pause_ms = RETRY_MS << (peer->failures < 8 ? peer->failures : 8);
    peer->failures++;
    peer->retry_ns =
            clock_now_ns() + (pause_ms < RETRY_MS_MAX ? pause_ms : RETRY_MS_MAX) * CLOCK_NS_PER_MS;
}

/* What was read. Caller holds the lock. */
static void take_tools(const struct reading *reading, struct peer *peer) {
    peer->failures = 0;
    peer->retry_ns = 0;
    peer_set_tools(peer, reading->tools, reading->count);
    memcpy(peer->known, reading->digest, sizeof peer->known);
    memcpy(peer->key, reading->key, sizeof peer->key);
    peer->is_proven = reading->key[0] != '\0';
    /* What it announces now may be newer; that is read next. */
    if (strcmp(peer->announced, reading->announced) == 0) {
        memcpy(peer->announced, reading->digest, sizeof peer->announced);
    }
}

/* The tools of a host were read, or not (code and err). Tools that another key has signed than the
 * trusted one that announces the host, or none, are not its own.
 * @return 0, or the code */
static int take_reading(const struct reading *reading, int code, bool *ret_there, char name[64],
                        struct toolrack_error *err) {
    struct member *member = reading->member;
    (void)pthread_mutex_lock(&member->lock);
    struct peer *peer = peer_find(member, reading->instance);
    if (peer != NULL) {
        memcpy(name, peer->name, sizeof peer->name);
        if (code == 0 && peer->is_signed && strcmp(peer->key, reading->key) != 0) {
            code = error_set(err, TOOLRACK_E_PERMISSION_DENIED,
                             "its tools are not signed by the key that it announces, %.44s; "
                             "somebody else may have sent them",
                             peer->key);
        }
        if (code < 0) {
            note_failure(peer);
        } else {
            take_tools(reading, peer);
        }
    }
    (void)pthread_mutex_unlock(&member->lock);
    *ret_there = peer != NULL;
    return code;
}

static void end_reading(struct reading *reading, int code, struct toolrack_error *err) {
    char name[64] = "";
    bool is_there = false;
    code = take_reading(reading, code, &is_there, name, err);
    if (is_there && code < 0) {
        if (reading->terms.trusted || member_may_warn(reading->member)) {
            log_line(reading->member->options.log, LOG_WARNING, "nats", "the host %s: %s", name,
                     err->message);
        }
    } else if (is_there) {
        register_tools(reading);
    }
    free(reading->tools);
    free(reading->described);
    arena_finish(&reading->arena);
}

void peers_update(struct member *member) {
    struct reading reading;
    while (next_reading(member, &reading)) {
        struct toolrack_error err;
        int code = read_pages(&reading, &err);
        end_reading(&reading, code, &err);
    }
    if (remote_tools_clean(member)) {
        remote_tools_retry(member);
    }
}
