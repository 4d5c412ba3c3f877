/* incoming.c - calls of other hosts, and of any client of NATS.
 *
 * The host that serves decides itself what may run. A call that is signed by a trusted key may say
 * that a person approved it, or that the calling host permits it; then a `confirm` tool runs, and a
 * `dangerous` one if it is granted here. Whoever has no such key gets `safe` tools only.
 *
 * An incoming call is in the member's list from its message to its end; the list has one reference,
 * and so has who uses it meanwhile. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/thread.h"
#include "remote/nats/parts.h"

/* How long a tool waits for the answer to a question. */
#define ASK_MS_MAX   (10u * 60 * 1000)
/* Most calls that are fetched from the object store at a time. */
#define FETCHING_MAX 16u

struct incoming {
    atomic_uint refs;
    struct incoming *next;
    struct member *member;
    char *reply;               /* the subject that its events go to */
    char key[KEY_TEXT_ROOM];   /* of the host that calls, as it says; "": it says none */
    struct endpoint *endpoint; /* of a call of any client; else NULL */
    uint64_t begun_ns;
    struct toolrack_call *call; /* set when it was submitted; guarded by the member's lock, as are
                                   the next */
    bool is_cancelled;
    bool has_ended;
    pthread_cond_t answered;
    uint64_t asked; /* the number of its last question */
    bool is_open;   /* that was not answered */
    int answer;
    char *content; /* from toolrack_alloc(), or NULL */
};

static void incoming_unref(struct incoming *incoming) {
    if (incoming != NULL && atomic_fetch_sub(&incoming->refs, 1) == 1) {
        (void)pthread_cond_destroy(&incoming->answered);
        toolrack_free(incoming->content);
        free(incoming->reply);
        free(incoming);
    }
}
CLEANUP_DEFINE(struct incoming, incoming_unref)

/* --------------------------------------------------------------- answering */

/* Send a message of a call to the host that calls. */
static bool send_event(struct member *member, const char *key, const char *reply,
                       const struct buf *out) {
    return proof_send(member, "event", member->instance, key, reply, out);
}

static void send_error(struct member *member, const char *key, const char *reply,
                       const struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    message_write_error(&out, err);
    (void)send_event(member, key, reply, &out);
}

/* The key that a call names: nobody has to have it; who has it can read the codes of the answers.
 */
static const char *shown_key(natsMsg *message) {
    const char *key = member_header(message, HEADER_KEY);
    return key_is_public(key) ? key : "";
}

/* As a micro service does: the body is empty, and headers say what is wrong. */
static void send_foreign_error(struct member *member, const char *reply,
                               const struct toolrack_error *err) {
    char line[ERROR_MESSAGE_MAX + 64];
    natsMsg *message = NULL;
    (void)snprintf(line, sizeof line, "%s: %s", toolrack_code_name(err->code), err->message);
    /* 4xx: the caller may do something about it; 5xx: the tool or the host failed. */
    bool is_callers =
            err->code == TOOLRACK_E_INVALID_ARGUMENTS || err->code == TOOLRACK_E_NOT_FOUND ||
            err->code == TOOLRACK_E_DISABLED || err->code == TOOLRACK_E_PERMISSION_DENIED ||
            err->code == TOOLRACK_E_CONFIRMATION_REQUIRED || err->code == TOOLRACK_E_LIMIT_EXCEEDED;
    if (nats.Msg_Create(&message, reply, NULL, "", 0) == NATS_OK &&
        nats.MsgHeader_Set(message, "Nats-Service-Error-Code", is_callers ? "400" : "500") ==
                NATS_OK &&
        nats.MsgHeader_Set(message, "Nats-Service-Error", line) == NATS_OK) {
        (void)nats.Connection_PublishMsg(member->connection, message);
    }
    nats.Msg_Destroy(message);
}

/* Write the last message of a call of another host: the result, or where it is. */
static int write_result(const struct member *member, const struct toolrack_result *result,
                        struct buf *out, struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf whole = BUF_INIT;
    message_write_result(&whole, result);
    if (whole.failed) {
        return error_oom(err);
    }
    if ((int64_t)whole.length > member->max_payload) {
        return large_put(member, "the result", &whole, out, err);
    }
    *out = whole;
    whole = BUF_INIT;
    return 0;
}

/* To any other client the result goes alone, in one message. */
static int write_foreign_result(const struct member *member, const struct toolrack_result *result,
                                struct buf *out, struct toolrack_error *err) {
    size_t length = 0;
    const char *json = toolrack_result_json(result, &length);
    if ((int64_t)length > member->max_payload) {
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                         "the result of %zu bytes is larger than the %lld that the NATS server "
                         "takes in one message; raise max_payload of the server, or ask for less",
                         length, (long long)member->max_payload);
    }
    buf_add(out, json, length);
    return out->failed ? error_oom(err) : 0;
}

/* Send the last message. */
static void answer(const struct incoming *incoming, const struct toolrack_result *result,
                   const struct toolrack_error *failure) {
    struct member *member = incoming->member;
    bool is_foreign = incoming->endpoint != NULL;
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    struct toolrack_error err;
    if (result != NULL) {
        int code = is_foreign ? write_foreign_result(member, result, &out, &err)
                              : write_result(member, result, &out, &err);
        if (code == 0) {
            (void)send_event(member, incoming->key, incoming->reply, &out);
            return;
        }
        err.begun = true;
        failure = &err;
    }
    if (is_foreign) {
        send_foreign_error(member, incoming->reply, failure);
    } else {
        send_error(member, incoming->key, incoming->reply, failure);
    }
}

/* Take it out of the list, once. */
static void end(struct incoming *incoming) {
    struct member *member = incoming->member;
    (void)pthread_mutex_lock(&member->lock);
    struct incoming **place = &member->incoming;
    while (*place != incoming) {
        place = &(*place)->next;
    }
    *place = incoming->next;
    member->incoming_count--;
    incoming->has_ended = true;
    struct toolrack_call *call = STEAL(incoming->call);
    (void)pthread_cond_broadcast(&member->changed);
    (void)pthread_mutex_unlock(&member->lock);
    if (call != NULL) {
        member->options.let_go(call);
    }
    incoming_unref(incoming);
}

/* A toolrack_done. */
static void done(void *user, struct toolrack_result *result, const struct toolrack_error *err) {
    struct incoming *incoming = user;
    if (incoming->endpoint != NULL) { /* who has the answer finds it counted */
        endpoint_count(incoming->endpoint, clock_now_ns() - incoming->begun_ns, err);
    }
    answer(incoming, result, err);
    toolrack_result_free(result);
    end(incoming);
}

/* ------------------------------------------------------- while the tool runs */

static void tell_progress(void *user, double done_part, double total, const char *text) {
    const struct incoming *incoming = user;
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    message_write_progress(&out, done_part, total, text);
    (void)send_event(incoming->member, incoming->key, incoming->reply, &out);
}

static void tell_log(void *user, enum toolrack_log_level level, const char *line) {
    const struct incoming *incoming = user;
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    message_write_log(&out, (int)level, line);
    (void)send_event(incoming->member, incoming->key, incoming->reply, &out);
}

/* The question goes to the calling host, whose caller is asked. */
static int ask(void *user, const char *text, const char *schema, char **ret_content) {
    struct incoming *incoming = user;
    struct member *member = incoming->member;
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    const struct timespec until =
            clock_timespec(clock_now_ns() + (uint64_t)ASK_MS_MAX * CLOCK_NS_PER_MS);
    (void)pthread_mutex_lock(&member->lock);
    incoming->is_open = true;
    uint64_t id = ++incoming->asked;
    (void)pthread_mutex_unlock(&member->lock);
    message_write_ask(&out, id, text, schema);
    bool is_sent = send_event(member, incoming->key, incoming->reply, &out);

    (void)pthread_mutex_lock(&member->lock);
    int waited = 0;
    while (is_sent && incoming->is_open && !incoming->is_cancelled && waited == 0) {
        waited = pthread_cond_timedwait(&incoming->answered, &member->lock, &until);
    }
    int found = TOOLRACK_ANSWER_NOBODY;
    if (!incoming->is_open) {
        found = incoming->answer;
        *ret_content = STEAL(incoming->content);
    }
    incoming->is_open = false;
    (void)pthread_mutex_unlock(&member->lock);
    return found;
}

/* Nobody is here to be asked: the calling host has asked already. */
static int approve(void *user, const struct toolrack_approval_request *request) {
    (void)user;
    (void)request;
    return TOOLRACK_APPROVAL_NOBODY;
}

/* -------------------------------------------------------------- permission */

/* Only who has a trusted key may call more than safe tools, granted or not. */
static int check_permission(const struct member *member, const struct toolrack_tool *tool,
                            bool is_trusted, const char *key, struct toolrack_error *err) {
    if (toolrack_tool_permission(tool) == TOOLRACK_PERMISSION_SAFE || is_trusted) {
        return 0;
    }
    return key[0] == '\0' || member_obeys(member, key)
                   ? error_set(err, TOOLRACK_E_PERMISSION_DENIED,
                               "%s is not safe, and the call by NATS is not signed by a host that "
                               "this one trusts",
                               toolrack_tool_name(tool))
                   : error_set(
                             err, TOOLRACK_E_PERMISSION_DENIED,
                             "%s is not safe, and this host does not trust the calling host; add "
                             "its key %.44s to \"trusted_hosts\" of \"nats\" in the configuration",
                             toolrack_tool_name(tool), key);
}

/* The tool as it is now. NULL: err is set. */
static struct toolrack_tool *get_tool(struct member *member, const struct message_call *call,
                                      struct toolrack_error *err) {
    char selector[2 * SUBJECT_NAME_MAX + 2];
    CLEANUP(announced_unrefp) struct announced *catalogue = announced_get(member);
    const struct own_tool *own =
            catalogue != NULL ? announced_find(catalogue, call->tool, call->version) : NULL;
    if (own == NULL || strcmp(own->digest, call->digest) != 0) {
        (void)error_set(err, TOOLRACK_E_NOT_FOUND,
                        own == NULL ? "this host does not serve %s@%s to others"
                                    : "%s@%s of this host is not as the caller knows it",
                        call->tool, call->version);
        return NULL;
    }
    (void)snprintf(selector, sizeof selector, "%s@%s", call->tool, call->version);
    struct toolrack_tool *tool = member->options.get(member->options.user, selector);
    if (tool == NULL || toolrack_tool_uid(tool) != toolrack_tool_uid(own->tool)) {
        toolrack_tool_unref(tool);
        (void)error_set(err, TOOLRACK_E_NOT_FOUND,
                        "%s@%s of this host is not as the caller knows it", call->tool,
                        call->version);
        return NULL;
    }
    if (!toolrack_tool_enabled(tool)) {
        toolrack_tool_unref(tool);
        (void)error_set(err, TOOLRACK_E_DISABLED, "%s is disabled on the host that has it",
                        call->tool);
        return NULL;
    }
    return tool;
}

/* ------------------------------------------------------------------ begin */

/* Put a call into the list; the caller gets a reference beside that of the list. */
static int begin(struct member *member, const char *reply, const char *key,
                 struct endpoint *endpoint, struct incoming **ret, struct toolrack_error *err) {
    CLEANUP(incoming_unrefp) struct incoming *incoming = calloc(1, sizeof *incoming);
    if (incoming == NULL) {
        return error_oom(err);
    }
    atomic_init(&incoming->refs, 1);
    clock_cond_init(&incoming->answered);
    incoming->member = member;
    incoming->endpoint = endpoint;
    incoming->begun_ns = clock_now_ns();
    incoming->reply = strdup(reply);
    (void)snprintf(incoming->key, sizeof incoming->key, "%s", key);
    if (incoming->reply == NULL) {
        return error_oom(err);
    }
    (void)pthread_mutex_lock(&member->lock);
    bool has_room = member->incoming_count < MEMBER_CALLS_MAX && !member->stops;
    if (has_room) {
        (void)atomic_fetch_add(&incoming->refs, 1);
        incoming->next = member->incoming;
        member->incoming = incoming;
        member->incoming_count++;
        (void)callers_take(member->callers, reply);
    }
    (void)pthread_mutex_unlock(&member->lock);
    if (!has_room) {
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                         "%u calls of other hosts are under way here, or this host is leaving; try "
                         "again later",
                         MEMBER_CALLS_MAX);
    }
    *ret = STEAL(incoming);
    return 0;
}

/* Submit it; it ends by done(). On failure it is not begun. */
static int submit(struct incoming *incoming, struct toolrack_tool *tool,
                  const struct message_call *call, const char *key, struct toolrack_error *err) {
    struct member *member = incoming->member;
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    struct toolrack_call *submitted = NULL;
    bool is_foreign = incoming->endpoint != NULL;
    options.deadline_ms = call->deadline_ms;
    options.confirmed = key != NULL && call->confirmed;
    options.confirmed_by = key != NULL ? call->confirmed_by : NULL;
    options.caller = call->caller;
    options.channel = "nats";
    options.conversation = call->conversation;
    options.trace = call->trace;
    options.party = key != NULL ? key : "nats";
    options.user = incoming;
    options.approve = approve;
    options.progress = is_foreign ? NULL : tell_progress;
    options.log = is_foreign ? NULL : tell_log;
    options.ask = is_foreign ? NULL : ask;
    int code = member->options.submit(member->options.user, tool, call->arguments, call->length,
                                      &options, done, incoming, &submitted, err);
    if (code < 0) {
        return code;
    }
    (void)pthread_mutex_lock(&member->lock);
    bool has_ended = incoming->has_ended;
    if (!has_ended && !incoming->is_cancelled) {
        incoming->call = STEAL(submitted);
    }
    (void)pthread_mutex_unlock(&member->lock);
    if (submitted != NULL) {
        if (!has_ended) {
            member->options.cancel(submitted);
        }
        member->options.let_go(submitted);
    }
    return 0;
}

/* Find the tool of a call that is in the list, and begin it.
 * @param key    that signed the call; NULL: no trusted one
 * @param shown  the key that the call has, trusted or not; "": none */
static int start(struct incoming *incoming, const struct message_call *call, const char *key,
                 const char *shown, struct toolrack_error *err) {
    CLEANUP(toolrack_tool_unrefp)
    struct toolrack_tool *tool = get_tool(incoming->member, call, err);
    if (tool == NULL) {
        return TOOLRACK_E_NOT_FOUND;
    }
    int code = check_permission(incoming->member, tool, key != NULL, shown, err);
    return code < 0 ? code : submit(incoming, tool, call, key, err);
}

/* A call that is an object, while a thread fetches it. */
struct fetch {
    struct incoming *incoming; /* a reference beside that of the list */
    struct message_object object;
    bool is_trusted;
    char name[OBJECT_NAME_MAX + 1];
    char key[KEY_TEXT_ROOM];
};

static int fetch_and_start(const struct fetch *fetch, struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    CLEANUP(arena_finish) struct arena arena;
    struct message_call call;
    arena_init(&arena, NULL, 0);
    int code = large_take(fetch->incoming->member, &fetch->object, &text, err);
    code = code < 0 ? code : message_read_call(text.data, text.length, &arena, &call, err);
    if (code == 0 && call.object.name != NULL) {
        code = error_set(err, TOOLRACK_E_INVALID, "a call that is an object is another object");
    }
    return code < 0 ? code
                    : start(fetch->incoming, &call, fetch->is_trusted ? fetch->key : NULL,
                            fetch->key, err);
}

static void *run_fetch(void *user) {
    struct fetch *fetch = user;
    struct incoming *incoming = fetch->incoming;
    struct member *member = incoming->member;
    struct toolrack_error err;
    if (fetch_and_start(fetch, &err) < 0) {
        send_error(member, incoming->key, incoming->reply, &err);
        end(incoming);
    }
    incoming_unref(incoming);
    free(fetch);
    (void)pthread_mutex_lock(&member->lock);
    member->fetching--; /* the last that the thread does with the member */
    (void)pthread_cond_broadcast(&member->changed);
    (void)pthread_mutex_unlock(&member->lock);
    return NULL;
}

/* The thread that delivers messages does not wait for the store. */
static int fetch_later(struct incoming *incoming, const struct message_object *object,
                       const char *key, const char *shown, struct toolrack_error *err) {
    struct member *member = incoming->member;
    CLEANUP(freep) struct fetch *fetch = calloc(1, sizeof *fetch);
    pthread_t thread;
    if (fetch == NULL) {
        return error_oom(err);
    }
    (void)snprintf(fetch->name, sizeof fetch->name, "%s", object->name);
    (void)snprintf(fetch->key, sizeof fetch->key, "%s", shown);
    fetch->object = *object;
    fetch->object.name = fetch->name;
    fetch->is_trusted = key != NULL;
    fetch->incoming = incoming;
    (void)pthread_mutex_lock(&member->lock);
    bool has_room = member->fetching < FETCHING_MAX;
    member->fetching += has_room;
    (void)pthread_mutex_unlock(&member->lock);
    if (!has_room) {
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                         "this host fetches %u large calls already; try again later", FETCHING_MAX);
    }
    (void)atomic_fetch_add(&incoming->refs, 1);
    int failed = thread_start(&thread, run_fetch, fetch);
    if (failed != 0) {
        (void)pthread_mutex_lock(&member->lock);
        member->fetching--;
        (void)pthread_mutex_unlock(&member->lock);
        (void)atomic_fetch_sub(&incoming->refs, 1);
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED, "cannot start a thread: %s",
                         strerror(failed));
    }
    (void)STEAL(fetch);
    (void)pthread_detach(thread);
    return 0;
}

/* What can fail before the tool runs. */
static int take_call(struct member *member, natsMsg *message, struct arena *arena,
                     struct toolrack_error *err) {
    struct message_call call;
    const char *key = NULL;
    const char *shown = shown_key(message);
    CLEANUP(incoming_unrefp) struct incoming *incoming = NULL;
    int code = message_read_call(nats.Msg_GetData(message), (size_t)nats.Msg_GetDataLength(message),
                                 arena, &call, err);
    code = code < 0 ? code : proof_check_call(member, message, &key, err);
    code = code < 0 ? code : begin(member, member_reply(message), shown, NULL, &incoming, err);
    if (code < 0) {
        return code;
    }
    code = call.object.name != NULL ? fetch_later(incoming, &call.object, key, shown, err)
                                    : start(incoming, &call, key, shown, err);
    if (code < 0) {
        end(incoming);
    }
    return code;
}

/* Whether a request was taken before: it came twice, and who sent it gets one answer. Requests come
 * one after the other, so none is taken between this and begin(). */
static bool was_taken(struct member *member, const char *reply) {
    (void)pthread_mutex_lock(&member->lock);
    bool was = callers_have(member->callers, reply);
    (void)pthread_mutex_unlock(&member->lock);
    return was;
}

void incoming_call(natsConnection *connection, natsSubscription *subscription, natsMsg *message,
                   void *user) {
    (void)connection;
    (void)subscription;
    struct member *member = user;
    CLEANUP(arena_finish) struct arena arena;
    struct toolrack_error err;
    arena_init(&arena, NULL, 0);
    const char *reply = member_reply(message);
    if (reply != NULL && !was_taken(member, reply) &&
        take_call(member, message, &arena, &err) < 0) {
        send_error(member, shown_key(message), reply, &err);
    }
    nats.Msg_Destroy(message);
}

void incoming_foreign(struct member *member, struct endpoint *endpoint, const struct own_tool *own,
                      natsMsg *message) {
    const char *reply = member_reply(message);
    const struct message_call call = {
            .tool = toolrack_tool_name(own->tool),
            .version = toolrack_tool_version(own->tool),
            .digest = own->digest,
            .caller = "nats",
            .arguments = nats.Msg_GetDataLength(message) > 0 ? nats.Msg_GetData(message) : "{}",
            .length = nats.Msg_GetDataLength(message) > 0 ? (size_t)nats.Msg_GetDataLength(message)
                                                          : 2};
    struct toolrack_error err;
    CLEANUP(incoming_unrefp) struct incoming *incoming = NULL;
    if (reply == NULL) {
        return; /* a result that nobody would get */
    }
    CLEANUP(toolrack_tool_unrefp) struct toolrack_tool *tool = get_tool(member, &call, &err);
    int code = tool == NULL ? err.code : check_permission(member, tool, false, "", &err);
    code = code < 0 ? code : begin(member, reply, "", endpoint, &incoming, &err);
    code = code < 0 ? code : submit(incoming, tool, &call, NULL, &err);
    if (code < 0) {
        endpoint_count(endpoint, 0, &err);
        send_foreign_error(member, reply, &err);
        if (incoming != NULL) {
            end(incoming);
        }
    }
}

/* ----------------------------------------------------------------- control */

/* Caller holds the lock. */
static struct incoming *find(struct member *member, const char *reply) {
    struct incoming *incoming = member->incoming;
    while (incoming != NULL && strcmp(incoming->reply, reply) != 0) {
        incoming = incoming->next;
    }
    return incoming;
}

/* A copy in memory that the host frees. */
static char *copy_content(const char *content) {
    size_t size = content != NULL ? strlen(content) + 1 : 0;
    char *copy = size > 0 ? toolrack_alloc(size) : NULL;
    if (copy != NULL) {
        memcpy(copy, content, size);
    }
    return copy;
}

/* Cancel it. Not under the lock: a call that has not begun ends at once, on this thread. */
static void cancel(struct incoming *incoming) {
    struct member *member = incoming->member;
    (void)pthread_mutex_lock(&member->lock);
    incoming->is_cancelled = true;
    struct toolrack_call *call = STEAL(incoming->call);
    (void)pthread_cond_broadcast(&incoming->answered);
    (void)pthread_mutex_unlock(&member->lock);
    if (call != NULL) {
        member->options.cancel(call);
        member->options.let_go(call);
    }
}

void incoming_control(natsConnection *connection, natsSubscription *subscription, natsMsg *message,
                      void *user) {
    (void)connection;
    (void)subscription;
    struct member *member = user;
    CLEANUP(arena_finish) struct arena arena;
    CLEANUP(incoming_unrefp) struct incoming *incoming = NULL;
    struct message_control control;
    arena_init(&arena, NULL, 0);
    if (message_read_control(nats.Msg_GetData(message), (size_t)nats.Msg_GetDataLength(message),
                             &arena, &control, NULL) < 0) {
        nats.Msg_Destroy(message);
        return;
    }
    (void)pthread_mutex_lock(&member->lock);
    incoming = find(member, control.call);
    if (incoming != NULL &&
        !proof_check(member, "control", member->instance, incoming->key, control.call, message)) {
        incoming = NULL;
    }
    if (incoming != NULL) {
        (void)atomic_fetch_add(&incoming->refs, 1);
        if (incoming->is_open && control.ask == incoming->asked) {
            incoming->answer = control.answer;
            incoming->content = copy_content(control.content);
            incoming->is_open = false;
            (void)pthread_cond_broadcast(&incoming->answered);
        }
    }
    (void)pthread_mutex_unlock(&member->lock);
    if (incoming != NULL && control.cancel) {
        cancel(incoming);
    }
    nats.Msg_Destroy(message);
}

/* One that is not cancelled yet, a reference; NULL: all are. Caller holds the lock. */
static struct incoming *next_running(struct member *member) {
    struct incoming *incoming = member->incoming;
    while (incoming != NULL && incoming->is_cancelled) {
        incoming = incoming->next;
    }
    if (incoming != NULL) {
        (void)atomic_fetch_add(&incoming->refs, 1);
    }
    return incoming;
}

void incoming_stop(struct member *member) {
    (void)pthread_mutex_lock(&member->lock);
    for (;;) {
        CLEANUP(incoming_unrefp) struct incoming *incoming = next_running(member);
        if (incoming == NULL) {
            break;
        }
        (void)pthread_mutex_unlock(&member->lock);
        cancel(incoming);
        (void)pthread_mutex_lock(&member->lock);
    }
    while (member->incoming != NULL || member->fetching > 0) {
        (void)pthread_cond_wait(&member->changed, &member->lock);
    }
    (void)pthread_mutex_unlock(&member->lock);
}
