/* order.c - orders about packages: what one host has another do.
 *
 * An order is signed by the key of the host that gives it, and carried out only for keys that the
 * other one trusts; its answer is signed too, with the nonce of the order, so that nobody else can
 * say that a package is healthy. The package is in the object store, and its name is its hash. */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json-write.h"
#include "base/thread.h"
#include "remote/nats/parts.h"

CLEANUP_DEFINE(struct objects, objects_close)

static void message_destroy(natsMsg *message) {
    nats.Msg_Destroy(message);
}
CLEANUP_DEFINE(natsMsg, message_destroy)

#define BUCKET "packages"

/* ---------------------------------------------------------------- packages */

int member_put_package(struct member *member, const char *sha256, const void *data, size_t length,
                       struct toolrack_error *err) {
    CLEANUP(objects_closep) struct objects *objects = NULL;
    struct object_info found;
    struct toolrack_error unheard;
    int code = member_open_bucket(member, BUCKET, 0, &objects, err);
    if (code < 0) {
        return code;
    }
    bool is_there = object_find(objects, sha256, &found, &unheard) == 0 && found.size == length;
    return is_there ? 0 : object_put(objects, sha256, data, length, NULL, err);
}

struct listing {
    struct buf *out;
    const char *comma;
};

static bool list_one(void *user, const struct object_info *info) {
    struct listing *listing = user;
    if (strspn(info->name, "0123456789abcdef") == strlen(info->name)) {
        buf_printf(listing->out, "%s{\"package\":\"%s\",\"size\":%llu}", listing->comma, info->name,
                   (unsigned long long)info->size);
        listing->comma = ",";
    }
    return !listing->out->failed;
}

int member_list_packages(struct member *member, struct buf *out, struct toolrack_error *err) {
    CLEANUP(objects_closep) struct objects *objects = NULL;
    struct listing listing = {out, ""};
    int code = member_open_bucket(member, BUCKET, 0, &objects, err);
    buf_add_char(out, '[');
    code = code < 0 ? code : objects_list(objects, list_one, &listing, err);
    buf_add_char(out, ']');
    return code < 0 ? code : out->failed ? error_oom(err) : 0;
}

static int get_package(struct member *member, const struct message_order *order, struct buf *ret,
                       struct toolrack_error *err) {
    CLEANUP(objects_closep) struct objects *objects = NULL;
    struct object_info info;
    char hash[MESSAGE_HASH_LENGTH + 1];
    int code = member_open_bucket(member, BUCKET, 0, &objects, err);
    code = code < 0 ? code
                    : object_get(objects, order->package, (size_t)order->size, ret, &info, err);
    if (code < 0) {
        return code;
    }
    (void)sodium_bin2hex(hash, sizeof hash, info.hash, sizeof info.hash);
    return strcmp(hash, order->package) == 0
                   ? 0
                   : error_set(err, TOOLRACK_E_REFUSED,
                               "the object \"%s\" of NATS is not the package that it is named "
                               "after; its hash is %s",
                               order->package, hash);
}

/* ------------------------------------------------------------------- obey */

/* An order, while a thread carries it out. */
struct obeying {
    struct member *member;
    natsMsg *message;
    char key[KEY_TEXT_ROOM];
};

/* Answer by a signed message, whose signature has the nonce of the order. */
static void send_signed(struct member *member, natsMsg *request, const struct buf *data) {
    const struct key_statement statement = {.purpose = "ordered",
                                            .group = member->group_token,
                                            .instance = member->instance,
                                            .time = "",
                                            .nonce = member_header(request, HEADER_NONCE),
                                            .data = data->data,
                                            .length = data->length};
    char signature[KEY_SIGNATURE_ROOM];
    CLEANUP(message_destroyp) natsMsg *message = NULL;
    key_sign(member->key, &statement, signature);
    if (nats.Msg_Create(&message, nats.Msg_GetReply(request), NULL, data->data,
                        (int)data->length) == NATS_OK &&
        nats.MsgHeader_Set(message, HEADER_KEY, key_public(member->key)) == NATS_OK &&
        nats.MsgHeader_Set(message, HEADER_SIGNATURE, signature) == NATS_OK) {
        (void)nats.Connection_PublishMsg(member->connection, message);
    }
}

static void answer(struct member *member, natsMsg *request, int code, const struct buf *report,
                   struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    if (code == 0) {
        message_write_done(&out, report->data, report->length);
        if (!out.failed && (int64_t)out.length > member->max_payload) {
            code = error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                             "the order is carried out; its report of %zu bytes does not fit into "
                             "a message of the NATS server",
                             out.length);
        }
    }
    if (code < 0) {
        buf_clear(&out);
        message_write_error(&out, err);
    }
    if (!out.failed) {
        send_signed(member, request, &out);
    }
}

static int obey(struct obeying *obeying, struct buf *report, struct toolrack_error *err) {
    struct member *member = obeying->member;
    CLEANUP(arena_finish) struct arena arena;
    CLEANUP(buf_finish) struct buf package = BUF_INIT;
    struct message_order order;
    arena_init(&arena, NULL, 0);
    int code = message_read_order(nats.Msg_GetData(obeying->message),
                                  (size_t)nats.Msg_GetDataLength(obeying->message), &arena, &order,
                                  err);
    if (code == 0 && order.package != NULL) {
        code = get_package(member, &order, &package, err);
    }
    code = code < 0 ? code
                    : member->options.obey(member->options.user, &order, &package, obeying->key,
                                           report, err);
    return code == 0 && report->failed ? error_oom(err) : code;
}

static void *run_obeying(void *user) {
    struct obeying *obeying = user;
    struct member *member = obeying->member;
    CLEANUP(buf_finish) struct buf report = BUF_INIT;
    struct toolrack_error err;
    int code = obey(obeying, &report, &err);
    (void)pthread_mutex_lock(&member->lock);
    member->is_obeying = false; /* who has the answer may give the next order */
    (void)pthread_mutex_unlock(&member->lock);
    answer(member, obeying->message, code, &report, &err);
    nats.Msg_Destroy(obeying->message);
    free(obeying);
    (void)pthread_mutex_lock(&member->lock);
    member->obeying--; /* the last that the thread does with the member */
    (void)pthread_cond_broadcast(&member->changed);
    (void)pthread_mutex_unlock(&member->lock);
    return NULL;
}

/* Who has signed an order. A signature that does not fit is an error: its sender believes that it
 * has the right to order.
 * @param ret_key  NULL: it is not signed, or by a key that this host does not obey */
static int check_order(struct member *member, natsMsg *message, const char **ret_key,
                       struct toolrack_error *err) {
    const char *key = member_header(message, HEADER_KEY);
    const struct key_statement statement = {.purpose = "order",
                                            .group = member->group_token,
                                            .instance = member->instance,
                                            .time = member_header(message, HEADER_TIME),
                                            .nonce = member_header(message, HEADER_NONCE),
                                            .data = nats.Msg_GetData(message),
                                            .length = (size_t)nats.Msg_GetDataLength(message)};
    *ret_key = NULL;
    if (key[0] == '\0' || !member_obeys(member, key)) {
        return 0; /* as without a key */
    }
    if (!key_verify(key, member_header(message, HEADER_SIGNATURE), &statement)) {
        return error_set(err, TOOLRACK_E_PERMISSION_DENIED,
                         "the signature of the order does not fit; it is not by the key %s, or is "
                         "of another order",
                         key);
    }
    *ret_key = key;
    return nonces_take(member->nonces, statement.time, statement.nonce, clock_wall_ms(), err);
}

static int refuse_key(const char *key, struct toolrack_error *err) {
    return key[0] == '\0'
                   ? error_set(err, TOOLRACK_E_PERMISSION_DENIED, "the order is not signed")
                   : error_set(err, TOOLRACK_E_PERMISSION_DENIED,
                               "this host does not trust the one that gives the order; add its key "
                               "%.44s to \"trusted_hosts\" of \"nats\" in the configuration",
                               key);
}

/* What can fail before a thread has it, which takes the message then. */
static int take(struct member *member, natsMsg *message, struct toolrack_error *err) {
    const char *key = NULL;
    pthread_t thread;
    int code = check_order(member, message, &key, err);
    code = code == 0 && key == NULL ? refuse_key(member_header(message, HEADER_KEY), err) : code;
    if (code < 0) {
        return code;
    }
    CLEANUP(freep) struct obeying *obeying = calloc(1, sizeof *obeying);
    if (obeying == NULL) {
        return error_oom(err);
    }
    obeying->member = member;
    obeying->message = message;
    (void)snprintf(obeying->key, sizeof obeying->key, "%s", key);
    (void)pthread_mutex_lock(&member->lock);
    bool is_free = !member->is_obeying && !member->stops;
    member->is_obeying = member->is_obeying || is_free;
    member->obeying += is_free;
    (void)pthread_mutex_unlock(&member->lock);
    if (!is_free) {
        return error_set(err, TOOLRACK_E_EXISTS,
                         "this host carries out another order, or is leaving; try again later");
    }
    int failed = thread_start(&thread, run_obeying, obeying);
    if (failed != 0) {
        (void)pthread_mutex_lock(&member->lock);
        member->is_obeying = false;
        member->obeying--;
        (void)pthread_mutex_unlock(&member->lock);
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED, "cannot start a thread: %s",
                         strerror(failed));
    }
    (void)STEAL(obeying);
    (void)pthread_detach(thread);
    return 0;
}

void order_received(natsConnection *connection, natsSubscription *subscription, natsMsg *message,
                    void *user) {
    (void)connection;
    (void)subscription;
    struct member *member = user;
    struct toolrack_error err;
    bool has_reply = member_reply(message) != NULL;
    int code = has_reply ? take(member, message, &err) : TOOLRACK_E_INVALID;
    if (code < 0) {
        if (has_reply) {
            if (member_may_warn(member)) {
                log_line(member->options.log, LOG_WARNING, "nats", "an order was refused: %s",
                         err.message);
            }
            answer(member, message, code, NULL, &err);
        }
        nats.Msg_Destroy(message);
    }
}

void order_stop(struct member *member) {
    (void)pthread_mutex_lock(&member->lock);
    while (member->obeying > 0) {
        (void)pthread_cond_wait(&member->changed, &member->lock);
    }
    (void)pthread_mutex_unlock(&member->lock);
}

/* ------------------------------------------------------------------- order */

bool member_serves(const struct member *member) {
    return member->options.serves;
}

bool member_takes(const struct member *member, const char *key) {
    return member_obeys(member, key);
}

static int make_request(const struct member *member, const char *instance, const struct buf *data,
                        char nonce[static KEY_NONCE_ROOM], natsMsg **ret,
                        struct toolrack_error *err) {
    char subject[SUBJECT_ROOM];
    char time[24];
    char signature[KEY_SIGNATURE_ROOM];
    (void)snprintf(time, sizeof time, "%lld", (long long)clock_wall_ms());
    key_nonce(nonce);
    const struct key_statement statement = {.purpose = "order",
                                            .group = member->group_token,
                                            .instance = instance,
                                            .time = time,
                                            .nonce = nonce,
                                            .data = data->data,
                                            .length = data->length};
    key_sign(member->key, &statement, signature);
    (void)member_subject(member, subject, "host.%s.order", instance);
    return nats.Msg_Create(ret, subject, NULL, data->data, (int)data->length) == NATS_OK &&
                           nats.MsgHeader_Set(*ret, HEADER_KEY, key_public(member->key)) ==
                                   NATS_OK &&
                           nats.MsgHeader_Set(*ret, HEADER_TIME, time) == NATS_OK &&
                           nats.MsgHeader_Set(*ret, HEADER_NONCE, nonce) == NATS_OK &&
                           nats.MsgHeader_Set(*ret, HEADER_SIGNATURE, signature) == NATS_OK
                   ? 0
                   : error_oom(err);
}

static int check_answer(const struct member *member, const char *instance, const char *key,
                        const char *nonce, natsMsg *message, struct toolrack_error *err) {
    const struct key_statement statement = {.purpose = "ordered",
                                            .group = member->group_token,
                                            .instance = instance,
                                            .time = "",
                                            .nonce = nonce,
                                            .data = nats.Msg_GetData(message),
                                            .length = (size_t)nats.Msg_GetDataLength(message)};
    return strcmp(member_header(message, HEADER_KEY), key) == 0 &&
                           key_verify(key, member_header(message, HEADER_SIGNATURE), &statement)
                   ? 0
                   : error_set(err, TOOLRACK_E_PERMISSION_DENIED,
                               "the answer to the order is not signed by the key that the host "
                               "announces, %.44s; somebody else may have sent it",
                               key);
}

/* Send it, and wait for the answer. */
static int ask(const struct member *member, natsMsg *request, unsigned wait_ms, natsMsg **ret,
               struct toolrack_error *err) {
    natsStatus status =
            nats.Connection_RequestMsg(ret, member->connection, request, (int64_t)wait_ms);
    return status == NATS_OK ? 0
           : status == NATS_NO_RESPONDERS
                   ? error_set(err, TOOLRACK_E_UNAVAILABLE, "the host is not there any more")
           : status == NATS_TIMEOUT
                   ? error_set(err, TOOLRACK_E_TIMEOUT,
                               "the host did not answer the order within %u s; it may have "
                               "carried it out",
                               wait_ms / 1000)
                   : error_set(err, TOOLRACK_E_UNAVAILABLE, "the order cannot be sent by NATS: %s",
                               nats.Status_GetText(status));
}

int member_order(struct member *member, const char *instance, const char *key,
                 const struct message_order *order, unsigned wait_ms, struct buf *ret,
                 struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf data = BUF_INIT;
    CLEANUP(message_destroyp) natsMsg *request = NULL;
    CLEANUP(message_destroyp) natsMsg *message = NULL;
    CLEANUP(arena_finish) struct arena arena;
    char nonce[KEY_NONCE_ROOM];
    yyjson_val *report = NULL;
    arena_init(&arena, NULL, 0);
    if (!member_obeys(member, key)) {
        return error_set(err, TOOLRACK_E_PERMISSION_DENIED,
                         "this host does not trust the other one; add its key %.44s to "
                         "\"trusted_hosts\" of \"nats\" in the configuration",
                         key);
    }
    message_write_order(&data, order);
    int code = data.failed ? error_oom(err)
                           : make_request(member, instance, &data, nonce, &request, err);
    code = code < 0 ? code : ask(member, request, wait_ms, &message, err);
    code = code < 0 ? code : check_answer(member, instance, key, nonce, message, err);
    code = code < 0 ? code
                    : message_read_done(nats.Msg_GetData(message),
                                        (size_t)nats.Msg_GetDataLength(message), &arena, &report,
                                        err);
    if (code < 0) {
        return code;
    }
    yyjson_alc alc = arena_alc(&arena);
    const char *json = yyjson_val_write_opts(report, YYJSON_WRITE_NOFLAG, &alc, NULL, NULL);
    if (json == NULL) {
        return error_oom(err);
    }
    buf_add_text(ret, json);
    return ret->failed ? error_oom(err) : 0;
}
