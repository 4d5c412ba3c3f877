/* announced.c - this host as the others see it: its announcements, its tools, and their pages. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json-string.h"
#include "base/json.h"
#include "remote/nats/parts.h"

CLEANUP_DEFINE(struct toolrack_tools, toolrack_tools_free)

/* A page is not larger than this, whatever the server allows. */
#define PAGE_SIZE_MAX (512 * 1024)
/* Of a message, for the members beside the tools and for headers. */
#define PAGE_EXTRA    2048

void announced_unref(struct announced *catalogue) {
    if (catalogue == NULL || atomic_fetch_sub(&catalogue->refs, 1) != 1) {
        return;
    }
    for (size_t i = 0; i < catalogue->count; i++) {
        toolrack_tool_unref(catalogue->tools[i].tool);
        free(catalogue->tools[i].json);
    }
    free(catalogue->tools);
    free(catalogue);
}

struct announced *announced_get(struct member *member) {
    (void)pthread_mutex_lock(&member->lock);
    struct announced *catalogue = member->catalogue;
    if (catalogue != NULL) {
        (void)atomic_fetch_add(&catalogue->refs, 1);
    }
    (void)pthread_mutex_unlock(&member->lock);
    return catalogue;
}

static int compare(const char *name, const char *version, const struct toolrack_tool *tool) {
    int order = strcmp(name, toolrack_tool_name(tool));
    return order != 0 ? order : strcmp(version, toolrack_tool_version(tool));
}

static int compare_own(const void *left, const void *right) {
    const struct toolrack_tool *a = ((const struct own_tool *)left)->tool;
    return compare(toolrack_tool_name(a), toolrack_tool_version(a),
                   ((const struct own_tool *)right)->tool);
}

const struct own_tool *announced_find(const struct announced *catalogue, const char *name,
                                      const char *version) {
    size_t low = 0;
    size_t high = catalogue->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = compare(name, version, catalogue->tools[middle].tool);
        if (order == 0) {
            return &catalogue->tools[middle];
        }
        low = order > 0 ? middle + 1 : low;
        high = order > 0 ? high : middle;
    }
    return NULL;
}

/* The largest description that fits into a page. */
static size_t tool_size_max(const struct member *member) {
    int64_t page = member->max_payload < PAGE_SIZE_MAX ? member->max_payload : PAGE_SIZE_MAX;
    int64_t room = page - PAGE_EXTRA;
    return room < 0 ? 0 : room < ANNOUNCE_SIZE_MAX ? (size_t)room : ANNOUNCE_SIZE_MAX;
}

/* Describe a tool; one that is too large is left out, and logged. */
static int add(struct member *member, struct announced *catalogue, struct toolrack_tool *tool,
               struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf json = BUF_INIT;
    announce_write(&json, tool);
    if (json.failed) {
        return error_oom(err);
    }
    if (json.length > tool_size_max(member)) {
        log_line(member->options.log, LOG_WARNING, "nats",
                 "%s is not announced to other hosts: its description of %zu bytes is larger than "
                 "the %zu that a message may have",
                 toolrack_tool_name(tool), json.length, tool_size_max(member));
        return 0;
    }
    struct own_tool *own = &catalogue->tools[catalogue->count++];
    own->tool = toolrack_tool_ref(tool);
    own->length = json.length;
    announce_digest(json.data, json.length, own->digest);
    own->json = buf_steal(&json);
    return 0;
}

int announced_make(struct member *member, struct announced **ret, struct toolrack_error *err) {
    CLEANUP(toolrack_tools_freep) struct toolrack_tools *tools = NULL;
    CLEANUP(announced_unrefp) struct announced *catalogue = calloc(1, sizeof *catalogue);
    int code = catalogue == NULL ? error_oom(err)
                                 : member->options.list(member->options.user, &tools, err);
    if (code < 0) {
        return code;
    }
    size_t count = toolrack_tools_count(tools);
    atomic_init(&catalogue->refs, 1);
    catalogue->tools = calloc(count + 1, sizeof *catalogue->tools);
    if (catalogue->tools == NULL) {
        return error_oom(err);
    }
    for (size_t i = 0; i < count && code == 0; i++) {
        code = add(member, catalogue, toolrack_tools_get(tools, i), err);
    }
    if (code < 0) {
        return code;
    }
    qsort(catalogue->tools, catalogue->count, sizeof *catalogue->tools, compare_own);
    CLEANUP(buf_finish) struct buf digests = BUF_INIT;
    for (size_t i = 0; i < catalogue->count; i++) {
        buf_add_text(&digests, catalogue->tools[i].digest);
    }
    if (digests.failed) {
        return error_oom(err);
    }
    announce_digest(digests.data != NULL ? digests.data : "", digests.length, catalogue->digest);
    *ret = STEAL(catalogue);
    return 0;
}

/* {"v":1, "digest", "from", "next" (null: that was all), "tools": [...]} */
static void write_page(const struct member *member, const struct announced *catalogue,
                       uint64_t from, struct buf *out) {
    size_t max = tool_size_max(member) + PAGE_EXTRA / 2;
    size_t at = from < catalogue->count ? (size_t)from : catalogue->count;
    buf_printf(out, "{\"v\":%d,\"digest\":\"%s\",\"from\":%llu,\"tools\":[", SUBJECT_VERSION,
               catalogue->digest, (unsigned long long)from);
    const char *comma = "";
    for (; at < catalogue->count &&
           (comma[0] == '\0' || out->length + catalogue->tools[at].length < max);
         at++) {
        buf_add_text(out, comma);
        buf_add(out, catalogue->tools[at].json, catalogue->tools[at].length);
        comma = ",";
    }
    if (at < catalogue->count) {
        buf_printf(out, "],\"next\":%zu}", at);
    } else {
        buf_add_text(out, "],\"next\":null}");
    }
}

/* The page is signed for this start of the host: no other host can give it for its own. */
static void send_page(struct member *member, const char *reply, const struct buf *page) {
    const struct key_statement statement = {.purpose = "tools",
                                            .group = member->group_token,
                                            .instance = member->instance,
                                            .time = "",
                                            .nonce = "",
                                            .data = page->data,
                                            .length = page->length};
    char signature[KEY_SIGNATURE_ROOM];
    natsMsg *message = NULL;
    key_sign(member->key, &statement, signature);
    if (nats.Msg_Create(&message, reply, NULL, page->data, (int)page->length) == NATS_OK &&
        nats.MsgHeader_Set(message, HEADER_KEY, key_public(member->key)) == NATS_OK &&
        nats.MsgHeader_Set(message, HEADER_SIGNATURE, signature) == NATS_OK) {
        (void)nats.Connection_PublishMsg(member->connection, message);
    }
    nats.Msg_Destroy(message);
}

static void answer(struct member *member, natsMsg *message) {
    CLEANUP(arena_finish) struct arena arena;
    CLEANUP(buf_finish) struct buf page = BUF_INIT;
    CLEANUP(announced_unrefp) struct announced *catalogue = announced_get(member);
    arena_init(&arena, NULL, 0);
    yyjson_val *root =
            message_read(nats.Msg_GetData(message), (size_t)nats.Msg_GetDataLength(message), &arena,
                         "a request for tools", NULL);
    const char *reply = member_reply(message);
    if (root == NULL || reply == NULL || catalogue == NULL) {
        return;
    }
    write_page(member, catalogue, yyjson_get_uint(yyjson_obj_get(root, "from")), &page);
    if (!page.failed) {
        send_page(member, reply, &page);
    }
}

void announced_asked(natsConnection *connection, natsSubscription *subscription, natsMsg *message,
                     void *user) {
    (void)connection;
    (void)subscription;
    answer(user, message);
    nats.Msg_Destroy(message);
}

/* ------------------------------------------------------------ announcements */

static void add_string(struct buf *out, const char *name, const char *text) {
    buf_printf(out, ",\"%s\":", name);
    if (!buf_add_json_text(out, text, strlen(text))) {
        buf_add_text(out, "\"\"");
    }
}

/* An announcement is signed, with a number: an older one is none. */
static void publish_signed(struct member *member, const char *subject, const struct buf *data) {
    char number[24];
    char signature[KEY_SIGNATURE_ROOM];
    natsMsg *message = NULL;
    (void)snprintf(number, sizeof number, "%llu",
                   (unsigned long long)atomic_fetch_add(&member->announcements, 1) + 1);
    const struct key_statement statement = {.purpose = "announcement",
                                            .group = member->group_token,
                                            .instance = member->instance,
                                            .time = "",
                                            .nonce = number,
                                            .data = data->data,
                                            .length = data->length};
    if (!data->failed &&
        nats.Msg_Create(&message, subject, NULL, data->data, (int)data->length) == NATS_OK) {
        key_sign(member->key, &statement, signature);
        if (nats.MsgHeader_Set(message, HEADER_NONCE, number) == NATS_OK &&
            nats.MsgHeader_Set(message, HEADER_SIGNATURE, signature) == NATS_OK) {
            (void)nats.Connection_PublishMsg(member->connection, message);
        }
    }
    nats.Msg_Destroy(message);
}

void announced_tell(struct member *member, bool leaving) {
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    CLEANUP(announced_unrefp) struct announced *catalogue = announced_get(member);
    char subject[SUBJECT_ROOM];
    if (!member->options.serves || catalogue == NULL) {
        return;
    }
    buf_printf(&out, "{\"v\":%d,\"instance\":\"%s\"", SUBJECT_VERSION, member->instance);
    add_string(&out, "name", member->options.name);
    add_string(&out, "key", key_public(member->key));
    add_string(&out, "version", toolrack_version());
    add_string(&out, "digest", catalogue->digest);
    buf_printf(&out, ",\"running\":%u,\"tools\":%zu,\"time_ms\":%lld%s}",
               member->options.running(member->options.user), catalogue->count,
               (long long)clock_wall_ms(), leaving ? ",\"leaving\":true" : "");
    publish_signed(member, member_subject(member, subject, "announce.%s", member->instance), &out);
}

void announced_greeted(natsConnection *connection, natsSubscription *subscription, natsMsg *message,
                       void *user) {
    (void)connection;
    (void)subscription;
    announced_tell(user, false);
    nats.Msg_Destroy(message);
}

void announced_renew(struct member *member) {
    struct announced *made = NULL;
    struct toolrack_error err;
    if (announced_make(member, &made, &err) < 0) {
        log_line(member->options.log, LOG_WARNING, "nats",
                 "the tools of this host cannot be announced: %s", err.message);
        return;
    }
    (void)pthread_mutex_lock(&member->lock);
    struct announced *old = member->catalogue;
    member->catalogue = made;
    (void)pthread_mutex_unlock(&member->lock);
    bool is_same = old != NULL && strcmp(old->digest, made->digest) == 0;
    announced_unref(old);
    micro_update(member, made);
    if (!is_same) {
        announced_tell(member, false);
    }
}

void member_describe(struct member *member, struct buf *out) {
    buf_printf(out, "[{\"self\":true,\"instance\":\"%s\"", member->instance);
    add_string(out, "name", member->options.name);
    add_string(out, "key", key_public(member->key));
    add_string(out, "version", toolrack_version());
    CLEANUP(announced_unrefp) struct announced *catalogue = announced_get(member);
    buf_printf(out,
               ",\"trusted\":true,\"state\":\"%s\",\"running\":%u,\"tools\":%zu,\"latency_us\":0,"
               "\"clock_ms\":0}",
               atomic_load(&member->connected) ? "here" : "silent",
               member->options.running(member->options.user),
               catalogue != NULL ? catalogue->count : 0);
    peers_describe(member, out);
    buf_add_char(out, ']');
}
