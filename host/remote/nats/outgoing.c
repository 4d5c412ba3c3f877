/* outgoing.c - a call of a tool that another host has.
 *
 * The thread of the call sends one message and waits for what comes to its inbox: progress, log
 * lines, questions and, last, the result or the error. It is in the member's list meanwhile. Each
 * call ends once: by its last message, at its deadline, when its caller cancels it, or when its
 * host is lost. What comes after that is dropped. */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json-write.h"
#include "base/json.h"
#include "remote/nats/parts.h"

/* Hosts that one call is sent to at most, one after the other. */
#define HOSTS_TRIED_MAX 3u
/* How often a call looks whether it was cancelled: no message says that. */
#define LOOK_MS         20u
/* Most messages of one call that wait for its thread; a host that sends more is lost. */
#define QUEUE_MAX       4096u
/* The deadline that the other host gets for a call without one. */
#define LONG_MS         (24u * 3600 * 1000)

struct outgoing {
    struct outgoing *next;
    uint64_t number; /* the last token of its inbox, which nobody can know before */
    char instance[INSTANCE_ROOM];
    pthread_cond_t changed;
    natsMsg **messages; /* that have come: from `taken` on */
    size_t count;
    size_t room;
    size_t taken;
    bool is_lost;
};

/* How a call on one host ended. */
enum ending {
    ENDED,     /* by its last message: the run has the result or the error */
    NOBODY,    /* nobody is at the host's subject: the call did not begin */
    LOST,      /* the host is gone: the call may have begun */
    LATE,      /* the deadline has passed */
    CANCELLED, /* by the caller */
    FAILED     /* here; the run has the error */
};

/* ------------------------------------------------------------------- inbox */

static void outgoing_begin(struct member *member, struct outgoing *outgoing,
                           const struct peer_pick *pick) {
    *outgoing = (struct outgoing){0};
    clock_cond_init(&outgoing->changed);
    memcpy(outgoing->instance, pick->instance, sizeof outgoing->instance);
    randombytes_buf(&outgoing->number, sizeof outgoing->number);
    (void)pthread_mutex_lock(&member->lock);
    outgoing->next = member->outgoing;
    member->outgoing = outgoing;
    outgoing->is_lost = member->stops;
    (void)pthread_mutex_unlock(&member->lock);
}

static void outgoing_end(struct member *member, struct outgoing *outgoing) {
    (void)pthread_mutex_lock(&member->lock);
    struct outgoing **place = &member->outgoing;
    while (*place != outgoing) {
        place = &(*place)->next;
    }
    *place = outgoing->next;
    (void)pthread_cond_broadcast(&member->changed); /* member_leave() may wait for the last */
    (void)pthread_mutex_unlock(&member->lock);
    for (size_t i = outgoing->taken; i < outgoing->count; i++) {
        nats.Msg_Destroy(outgoing->messages[i]);
    }
    free(outgoing->messages);
    (void)pthread_cond_destroy(&outgoing->changed);
}

/* Caller holds the lock. False: there is no room. */
static bool keep(struct outgoing *outgoing, natsMsg *message) {
    if (outgoing->taken == outgoing->count) {
        outgoing->taken = outgoing->count = 0;
    }
    if (outgoing->count == outgoing->room) {
        size_t room = outgoing->room == 0 ? 4 : 2 * outgoing->room;
        natsMsg **grown =
                room <= QUEUE_MAX ? realloc(outgoing->messages, room * sizeof(natsMsg *)) : NULL;
        if (grown == NULL) {
            return false;
        }
        outgoing->messages = grown;
        outgoing->room = room;
    }
    outgoing->messages[outgoing->count++] = message;
    return true;
}

void outgoing_message(natsConnection *connection, natsSubscription *subscription, natsMsg *message,
                      void *user) {
    (void)connection;
    (void)subscription;
    struct member *member = user;
    char *end = NULL;
    uint64_t number = strtoull(strrchr(nats.Msg_GetSubject(message), '.') + 1, &end, 10);
    (void)pthread_mutex_lock(&member->lock);
    struct outgoing *outgoing = *end == '\0' ? member->outgoing : NULL;
    while (outgoing != NULL && outgoing->number != number) {
        outgoing = outgoing->next;
    }
    if (outgoing != NULL) {
        bool is_kept = keep(outgoing, message);
        outgoing->is_lost = outgoing->is_lost || !is_kept;
        message = is_kept ? NULL : message;
        (void)pthread_cond_signal(&outgoing->changed);
    }
    (void)pthread_mutex_unlock(&member->lock);
    nats.Msg_Destroy(message);
}

void outgoing_lose(struct member *member, const char *instance) {
    for (struct outgoing *outgoing = member->outgoing; outgoing != NULL;
         outgoing = outgoing->next) {
        if (instance == NULL || strcmp(outgoing->instance, instance) == 0) {
            outgoing->is_lost = true;
            (void)pthread_cond_signal(&outgoing->changed);
        }
    }
}

/* -------------------------------------------------------------------- send */

static uint32_t time_left_ms(const struct run *run) {
    uint64_t deadline_ns = atomic_load(&run->deadline_ns);
    uint64_t now_ns = clock_now_ns();
    uint64_t left_ms = deadline_ns <= now_ns ? 1 : (deadline_ns - now_ns) / CLOCK_NS_PER_MS + 1;
    return deadline_ns == 0 || left_ms > LONG_MS ? LONG_MS : (uint32_t)left_ms;
}

static bool send_call(struct run *run, const struct remote_tool *tool, const struct peer_pick *pick,
                      const char *inbox) {
    struct member *member = tool->member;
    CLEANUP(buf_finish) struct buf data = BUF_INIT;
    struct message_call call = {.tool = tool->name,
                                .version = tool->version,
                                .digest = tool->identity.digest,
                                .deadline_ms = time_left_ms(run),
                                .caller = run->context.caller,
                                .channel = run->context.channel,
                                .conversation = run->context.conversation,
                                .trace = run->context.trace,
                                .confirmed = !tool->is_safe,
                                .confirmed_by = run->context.confirmed_by};
    call.arguments = run_arguments(run, &call.length);
    if (call.arguments == NULL) {
        return false;
    }
    message_write_call(&data, &call);
    if (data.failed) {
        (void)run_no_memory(run);
        return false;
    }
    if ((int64_t)data.length > member->max_payload) {
        CLEANUP(buf_finish) struct buf whole = data;
        struct toolrack_error err;
        data = BUF_INIT;
        int code = large_put(member, "the call", &whole, &data, &err);
        if (code < 0) {
            (void)run_fail(run, code, TR_LIMIT_EXCEEDED, NULL, "%s", err.message);
            return false;
        }
    }
    /* By the code of one that is not safe this host says that it has permitted it. */
    if (!proof_send_call(member, pick->instance, pick->key, !tool->is_safe, inbox, &data)) {
        (void)run_fail(run, TOOLRACK_E_UNAVAILABLE, TR_FAILED, NULL,
                       "the call cannot be sent to the host %s by NATS", pick->name);
        return false;
    }
    return true;
}

static void send_control(const struct remote_tool *tool, const struct peer_pick *pick,
                         const struct message_control *control) {
    CLEANUP(buf_finish) struct buf data = BUF_INIT;
    message_write_control(&data, control);
    (void)proof_send(tool->member, "control", pick->instance, pick->key, control->call, &data);
}

/* ----------------------------------------------------------------- receive */

static void reply_content(struct tr_call *call, yyjson_val *result, struct arena *arena) {
    yyjson_alc alc = arena_alc(arena);
    size_t at;
    size_t count;
    yyjson_val *block;
    yyjson_arr_foreach (yyjson_obj_get(result, "content"), at, count, block) {
        const char *json = yyjson_val_write_opts(block, YYJSON_WRITE_NOFLAG, &alc, NULL, NULL);
        if (json == NULL) {
            (void)run_no_memory(run_of(call));
            return;
        }
        if (tr_reply_content(call, json) != TR_OK) {
            return;
        }
    }
    yyjson_val *structured = yyjson_obj_get(result, "structuredContent");
    if (structured != NULL) {
        const char *json = yyjson_val_write_opts(structured, YYJSON_WRITE_NOFLAG, &alc, NULL, NULL);
        (void)(json != NULL ? tr_reply_json(call, json) : run_no_memory(run_of(call)));
    }
}

static void reply(struct tr_call *call, const struct message_event *event, struct arena *arena) {
    const char *text = yyjson_get_str(event->result);
    if (event->form == MESSAGE_CONTENT) {
        reply_content(call, event->result, arena);
    } else if (event->form == MESSAGE_TEXT && strlen(text) == yyjson_get_len(event->result)) {
        (void)tr_reply_text(call, text);
    } else {
        yyjson_alc alc = arena_alc(arena);
        const char *json =
                yyjson_val_write_opts(event->result, YYJSON_WRITE_NOFLAG, &alc, NULL, NULL);
        (void)(json != NULL ? tr_reply_json(call, json) : run_no_memory(run_of(call)));
    }
}

static void answer_question(struct tr_call *call, const struct remote_tool *tool,
                            const struct peer_pick *pick, const char *inbox,
                            const struct message_event *event) {
    const char *content = NULL;
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    int found = TOOLRACK_ANSWER_NOBODY;
    struct tr_input input = {.size = sizeof input,
                             .kind = TR_INPUT_FORM,
                             .message = event->text,
                             .schema = event->schema};
    /* The person sees which host asks: it is not the one that they use. */
    buf_printf(&text, "[%s on the host %s] %s", tool->name, pick->name, event->text);
    input.message = text.failed ? event->text : text.data;
    if (tr_inputs(call, &input, 1) == TR_OK) {
        found = input.answer == TR_ANSWER_ACCEPTED    ? TOOLRACK_ANSWER_ACCEPTED
                : input.answer == TR_ANSWER_DECLINED  ? TOOLRACK_ANSWER_DECLINED
                : input.answer == TR_ANSWER_DISMISSED ? TOOLRACK_ANSWER_DISMISSED
                                                      : TOOLRACK_ANSWER_NOBODY;
        content = input.content;
    }
    send_control(tool, pick,
                 &(struct message_control){.call = inbox,
                                           .ask = event->id,
                                           .answer = found,
                                           .content = found == TOOLRACK_ANSWER_ACCEPTED ? content
                                                                                        : NULL});
}

static void take_error(struct run *run, const struct toolrack_error *error,
                       const struct peer_pick *pick) {
    if (!run->failed) {
        char where[96];
        run->failed = true;
        run->error = *error;
        (void)snprintf(where, sizeof where, "on the host %s", pick->name);
        error_append(&run->error, where);
    }
}

static void fail_read(struct run *run, const struct peer_pick *pick,
                      const struct toolrack_error *err) {
    (void)run_fail(run, TOOLRACK_E_EXECUTION_FAILED, TR_FAILED, NULL, "%s; the host %s sent it",
                   err->message, pick->name);
}

/* The last message, which was too large to be sent. */
static void take_large(struct tr_call *call, const struct remote_tool *tool,
                       const struct peer_pick *pick, const struct message_object *object) {
    struct run *run = run_of(call);
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    CLEANUP(arena_finish) struct arena arena;
    struct message_event event;
    struct toolrack_error error;
    struct toolrack_error err;
    arena_init(&arena, NULL, 0);
    int code = large_take(tool->member, object, &text, &err);
    code = code < 0 ? code
                    : message_read_event(text.data, text.length, &arena, &event, &error, &err);
    if (code == 0 && event.kind != MESSAGE_RESULT) {
        code = error_set(&err, TOOLRACK_E_INVALID,
                         "what came by the object store of NATS is no result");
    }
    if (code < 0) {
        fail_read(run, pick, &err);
    } else {
        reply(call, &event, &arena);
    }
}

/* Handle one message. @return whether it was the last one. */
static bool take(struct tr_call *call, const struct remote_tool *tool, const struct peer_pick *pick,
                 const char *inbox, natsMsg *message) {
    struct run *run = run_of(call);
    CLEANUP(arena_finish) struct arena arena;
    struct message_event event;
    struct toolrack_error error;
    struct toolrack_error err;
    arena_init(&arena, NULL, 0);
    if (message_read_event(nats.Msg_GetData(message), (size_t)nats.Msg_GetDataLength(message),
                           &arena, &event, &error, &err) < 0) {
        fail_read(run, pick, &err);
        return true;
    }
    switch (event.kind) {
    case MESSAGE_PROGRESS: tr_progress(call, event.done, event.total, event.text); return false;
    case MESSAGE_LOG: tr_log(call, event.level, "%s", event.text); return false;
    case MESSAGE_ASK: answer_question(call, tool, pick, inbox, &event); return false;
    case MESSAGE_RESULT: reply(call, &event, &arena); return true;
    case MESSAGE_OBJECT: take_large(call, tool, pick, &event.object); return true;
    case MESSAGE_ERROR: break;
    }
    take_error(run, &error, pick);
    return true;
}

/* The next message, or NULL and why there is none. */
static natsMsg *next_message(struct member *member, struct outgoing *outgoing,
                             const struct run *run, enum ending *ret) {
    natsMsg *message = NULL;
    (void)pthread_mutex_lock(&member->lock);
    for (;;) {
        uint64_t deadline_ns = atomic_load(&run->deadline_ns);
        uint64_t now_ns = clock_now_ns();
        if (outgoing->taken < outgoing->count) {
            message = outgoing->messages[outgoing->taken++];
            break;
        }
        if (outgoing->is_lost || run->host->cancelled(run) ||
            (deadline_ns != 0 && now_ns >= deadline_ns)) {
            *ret = outgoing->is_lost ? LOST : run->host->cancelled(run) ? CANCELLED : LATE;
            break;
        }
        uint64_t look_ns = now_ns + LOOK_MS * CLOCK_NS_PER_MS;
        const struct timespec until =
                clock_timespec(deadline_ns != 0 && deadline_ns < look_ns ? deadline_ns : look_ns);
        (void)pthread_cond_timedwait(&outgoing->changed, &member->lock, &until);
    }
    (void)pthread_mutex_unlock(&member->lock);
    return message;
}

/* --------------------------------------------------------------------- run */

static enum ending run_on(struct tr_call *call, const struct remote_tool *tool,
                          const struct peer_pick *pick) {
    struct member *member = tool->member;
    struct run *run = run_of(call);
    struct outgoing outgoing;
    char inbox[SUBJECT_ROOM];
    enum ending ending = FAILED;
    outgoing_begin(member, &outgoing, pick);
    (void)snprintf(inbox, sizeof inbox, "%s.call.%llu", member->inbox,
                   (unsigned long long)outgoing.number);
    if (send_call(run, tool, pick, inbox)) {
        natsMsg *message;
        bool is_last = false;
        while (!is_last && (message = next_message(member, &outgoing, run, &ending)) != NULL) {
            if (nats.Msg_IsNoResponders(message)) {
                is_last = true;
                ending = NOBODY;
            } else if (proof_check(member, "event", pick->instance, pick->key, inbox, message)) {
                is_last = take(call, tool, pick, inbox, message);
                ending = is_last ? ENDED : ending;
            } else if (member_may_warn(member)) {
                log_line(member->options.log, LOG_WARNING, "nats",
                         "a message about a call of %s was not sent by the host %s that runs it; "
                         "it is ignored",
                         tool->name, pick->name);
            }
            nats.Msg_Destroy(message);
        }
        if (ending == LATE || ending == CANCELLED) {
            send_control(tool, pick, &(struct message_control){.call = inbox, .cancel = true});
        }
    }
    outgoing_end(member, &outgoing);
    return ending;
}

static tr_status fail_lost(struct run *run, const struct remote_tool *tool,
                           const struct peer_pick *pick) {
    (void)run_fail(run, TOOLRACK_E_EXECUTION_FAILED, TR_FAILED, NULL,
                   "the host %s, which ran %s, is gone; the tool may have done its work, or a part "
                   "of it",
                   pick->name, tool->name);
    run->error.cause = TOOLRACK_CAUSE_DEATH;
    return TR_FAILED;
}

tr_status outgoing_run(struct tr_call *call, void *user) {
    const struct remote_tool *tool = user;
    struct member *member = tool->member;
    struct run *run = run_of(call);
    struct peer_pick tried[HOSTS_TRIED_MAX];
    bool was_lost = false;
    for (size_t i = 0; i < HOSTS_TRIED_MAX; i++) {
        struct toolrack_error err;
        int code = peers_pick(member, tool, tried, i, &tried[i], &err);
        if (code < 0) {
            return was_lost ? fail_lost(run, tool, &tried[i - 1])
                            : run_fail(run, code, TR_FAILED, NULL, "%s", err.message);
        }
        enum ending ending = run_on(call, tool, &tried[i]);
        switch (ending) {
        case ENDED:
            peers_ended(member, &tried[i], PEER_ANSWERED);
            return run->failed ? TR_FAILED : TR_OK;
        case LATE:
            peers_ended(member, &tried[i], PEER_LATE);
            return run_fail(run, TOOLRACK_E_TIMEOUT, TR_TIMED_OUT, NULL,
                            "the host %s did not answer until the deadline", tried[i].name);
        case CANCELLED:
            peers_ended(member, &tried[i], PEER_CANCELLED);
            return run_fail(run, TOOLRACK_E_CANCELLED, TR_CANCELLED, NULL, "cancelled");
        case FAILED: peers_ended(member, &tried[i], PEER_CANCELLED); return TR_FAILED;
        case NOBODY: peers_ended(member, &tried[i], PEER_GONE); break;
        case LOST:
            peers_ended(member, &tried[i], PEER_GONE);
            was_lost = true;
            if (!tool->idempotent) { /* it may have done its work */
                return fail_lost(run, tool, &tried[i]);
            }
            break;
        }
    }
    return was_lost ? fail_lost(run, tool, &tried[HOSTS_TRIED_MAX - 1])
                    : run_fail(run, TOOLRACK_E_UNAVAILABLE, TR_FAILED, NULL,
                               "none of %u hosts that have %s can be reached; try again later",
                               HOSTS_TRIED_MAX, tool->name);
}
