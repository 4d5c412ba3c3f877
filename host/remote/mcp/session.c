#include "remote/mcp/session.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/json-write.h"
#include "base/lock.h"
#include "base/utf8.h"
#include "remote/mcp/rate.h"
#include "remote/mcp/secrets.h"

/* A thread that waits for an answer; on its stack. */
struct waiter {
    struct waiter *next; /* a later one */
    uint64_t number;
    bool is_call;
    bool takes;
    pthread_cond_t changed;
    struct message *first; /* for it */
    struct message *last;
    size_t count;
    size_t length; /* of their texts */
    int code;      /* negative: its request failed, and */
    struct toolrack_error *why;
};

/* Guarded by `lock`, but for the transport's own wait. */
struct session {
    atomic_uint refs;
    atomic_uint_fast64_t numbers;
    const char *name;
    const struct log *log;
    struct secrets *secrets; /* the options' */
    struct session_news *news;
    struct transport *transport;
    struct lock lock;
    struct waiter *waiters;
    bool has_reader;
    uint64_t listens;                    /* the request whose answer is of no interest; 0: none */
    uint64_t given_up[SESSION_LATE_MAX]; /* requests that may be answered yet, the oldest first */
    size_t given_up_count;
    size_t bad; /* messages that were no use */
    struct rate lines;
    struct rate progress;
    struct rate unsent; /* of complaints about it */
    bool has_ended;
    struct toolrack_error end; /* why, if it has ended */
};

/* ------------------------------------------------------------------- life */

int mount_session_start(const struct session_options *options, struct session_news *news,
                        struct session **ret, struct toolrack_error *err) {
    struct session *session = calloc(1, sizeof *session);
    if (session == NULL) {
        return error_oom(err);
    }
    atomic_init(&session->refs, 1);
    session->name = options->name;
    session->log = options->log;
    session->secrets = options->secrets;
    session->news = news;
    lock_init(&session->lock);
    int code = options->open(options->user, &session->transport, err);
    if (code < 0) {
        mount_session_unref(session);
        return code;
    }
    *ret = session;
    return 0;
}

struct session *mount_session_ref(struct session *session) {
    (void)atomic_fetch_add(&session->refs, 1);
    return session;
}

void mount_session_unref(struct session *session) {
    if (session != NULL && atomic_fetch_sub(&session->refs, 1) == 1) {
        if (session->transport != NULL) {
            session->transport->calls->end(session->transport);
        }
        lock_finish(&session->lock);
        free(session);
    }
}

uint64_t mount_session_number(struct session *session) {
    return atomic_fetch_add(&session->numbers, 1) + 1;
}

/* All who wait learn it. Caller holds the lock. */
static void end(struct session *session, const struct toolrack_error *why) {
    if (!session->has_ended) {
        session->has_ended = true;
        session->end = *why;
        for (struct waiter *waiter = session->waiters; waiter != NULL; waiter = waiter->next) {
            (void)pthread_cond_signal(&waiter->changed);
        }
    }
}

bool mount_session_has_ended(struct session *session) {
    LOCK_SCOPE(&session->lock);
    return session->has_ended;
}

static pid_t group_of(const struct session *session) {
    const struct transport_calls *calls = session->transport->calls;
    return calls->group != NULL ? calls->group(session->transport) : 0;
}

pid_t mount_session_group(struct session *session) {
    LOCK_SCOPE(&session->lock);
    return session->has_ended ? 0 : group_of(session);
}

void mount_session_kill(struct session *session, const struct toolrack_error *why) {
    LOCK_SCOPE(&session->lock);
    pid_t group = group_of(session);
    end(session, why);
    if (group > 0) {
        (void)kill(-group, SIGKILL);
    }
}

/* -------------------------------------------------------------------- send */

static void receive(struct session *session);

/* Caller holds the lock. */
static int send_text(struct session *session, const struct outgoing *out,
                     struct toolrack_error *err) {
    return out->text->failed ? error_oom(err)
                             : session->transport->calls->send(session->transport, out, err);
}

/* Caller holds the lock. */
static void tell(struct session *session, const struct outgoing *out) {
    struct toolrack_error why;
    if (session->has_ended) {
        return;
    }
    if (send_text(session, out, &why) < 0) {
        if (rate_judge(&session->unsent, 1) == RATE_PASSES) {
            log_line(session->log, LOG_WARNING, "mcp", "%s: a message is not sent: %s",
                     session->name, why.message);
        }
    } else if (!session->has_reader) {
        receive(session); /* which sends what cannot be sent at once */
    }
}

void mount_session_tell(struct session *session, const struct buf *text) {
    LOCK_SCOPE(&session->lock);
    tell(session, &(struct outgoing){.text = text});
}

void mount_session_listen(struct session *session, uint64_t number, const struct buf *text) {
    LOCK_SCOPE(&session->lock);
    session->listens = number;
    tell(session, &(struct outgoing){.text = text, .number = number, .listens = true});
}

void mount_session_agree(struct session *session, const char *revision) {
    LOCK_SCOPE(&session->lock);
    if (session->transport->calls->agree != NULL) {
        session->transport->calls->agree(session->transport, revision);
    }
}

static void write_answer(struct buf *out, const struct message *request, const char *result,
                         int code, const char *text) {
    buf_add_text(out, "{\"jsonrpc\":\"2.0\",\"id\":");
    json_add_value(out, request->id);
    if (result != NULL) {
        buf_add_text(out, ",\"result\":");
        buf_add_text(out, result);
    } else {
        buf_printf(out, ",\"error\":{\"code\":%d,\"message\":", code);
        buf_add_json_string(out, text, strlen(text));
        buf_add_char(out, '}');
    }
    buf_add_char(out, '}');
}

void mount_session_answer(struct session *session, const struct message *request,
                          const char *result, int code, const char *text) {
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    write_answer(&out, request, result, code, text);
    mount_session_tell(session, &out);
}

/* ----------------------------------------------------------------- receive */

static void complain(struct session *session, const char *what) {
    struct toolrack_error why;
    if (session->bad < 10) {
        log_line(session->log, LOG_WARNING, "mcp", "%s: a message is ignored: %s", session->name,
                 what);
    }
    if (++session->bad == SESSION_BAD_MAX) {
        (void)error_set(&why, TOOLRACK_E_IO,
                        "MCP server '%s' is given up: it sent %u messages that cannot be used, the "
                        "last one because %s",
                        session->name, SESSION_BAD_MAX, what);
        end(session, &why);
    }
}

/* The number of the request whose progress this is; 0: of none. */
static uint64_t progress_of(const struct message *message) {
    bool is_progress = message->kind == MESSAGE_NOTIFICATION &&
                       strcmp(message->method, "notifications/progress") == 0;
    yyjson_val *token = is_progress ? yyjson_obj_get(message->params, "progressToken") : NULL;
    return yyjson_is_uint(token) ? yyjson_get_uint(token) : 0;
}

static struct waiter *waiter_of(struct session *session, const struct message *message) {
    bool is_answer = message->kind == MESSAGE_RESULT || message->kind == MESSAGE_FAILURE;
    uint64_t number = is_answer ? message->number : progress_of(message);
    bool is_progress = number != 0;
    for (struct waiter *waiter = session->waiters; waiter != NULL; waiter = waiter->next) {
        if (is_answer || is_progress ? waiter->number == number : waiter->is_call) {
            return is_answer || waiter->takes ? waiter : NULL;
        }
    }
    return NULL;
}

/* Nobody waits for the answer any more, which a server may be about to send all the same. Caller
 * holds the lock. */
static void give_up(struct session *session, uint64_t number) {
    if (session->given_up_count == SESSION_LATE_MAX) {
        session->given_up_count--;
        memmove(session->given_up, session->given_up + 1,
                session->given_up_count * sizeof *session->given_up);
    }
    session->given_up[session->given_up_count++] = number;
}

/* Whether an answer is late, the first time that it comes. Caller holds the lock. */
static bool is_late(struct session *session, uint64_t number) {
    size_t at = 0;
    while (at < session->given_up_count && session->given_up[at] != number) {
        at++;
    }
    if (at == session->given_up_count) {
        return false;
    }
    session->given_up_count--;
    memmove(session->given_up + at, session->given_up + at + 1,
            (session->given_up_count - at) * sizeof *session->given_up);
    return true;
}

/* What belongs to no call. */
static void take_unasked(struct session *session, const struct message *message) {
    if (message->kind == MESSAGE_NOTIFICATION) {
        const char *said = yyjson_get_str(yyjson_obj_get(message->params, "data"));
        if (strcmp(message->method, "notifications/message") == 0 && said != NULL) {
            char line[LOG_LINE_MAX];
            utf8_copy(line, sizeof line, said);
            mount_secrets_hide(session->secrets, line);
            log_line(session->log, LOG_INFO, "mcp", "%s: %.500s", session->name, line);
        }
    } else if (message->kind == MESSAGE_REQUEST) {
        struct toolrack_error unsent;
        CLEANUP(buf_finish) struct buf out = BUF_INIT;
        bool is_ping = strcmp(message->method, "ping") == 0;
        write_answer(&out, message, is_ping ? "{}" : NULL, -32601,
                     "no call is under way that this could be asked about");
        (void)send_text(session, &(struct outgoing){.text = &out}, &unsent);
    } else if (message->number == 0 ||
               (message->number != session->listens && !is_late(session, message->number))) {
        complain(session, "it answers a request that is not under way");
    }
}

/* Whether a message is about the server's lists; it is told then. */
static bool take_news(struct session *session, const struct message *message) {
    const struct session_news *news = session->news;
    if (message->kind != MESSAGE_NOTIFICATION) {
        return false;
    }
    if (strcmp(message->method, "notifications/tools/list_changed") == 0) {
        atomic_store(&session->news->tools, true);
    } else if (strcmp(message->method, "notifications/resources/list_changed") == 0) {
        news->notice(news->user, NOTICE_RESOURCES, NULL);
    } else if (strcmp(message->method, "notifications/prompts/list_changed") == 0) {
        news->notice(news->user, NOTICE_PROMPTS, NULL);
    } else if (strcmp(message->method, "notifications/resources/updated") == 0) {
        const char *uri = yyjson_get_str(yyjson_obj_get(message->params, "uri"));
        if (uri != NULL) {
            news->notice(news->user, NOTICE_UPDATED, uri);
        }
    } else {
        return false;
    }
    return true;
}

/* Whether it says more than is taken within a second. Caller holds the lock. */
static bool is_too_much(struct session *session, const struct message *message) {
    bool is_line = message->kind == MESSAGE_NOTIFICATION &&
                   strcmp(message->method, "notifications/message") == 0;
    bool is_progress = message->kind == MESSAGE_NOTIFICATION &&
                       strcmp(message->method, "notifications/progress") == 0;
    if (!is_line && !is_progress) {
        return false;
    }
    enum rate_verdict verdict =
            rate_judge(is_line ? &session->lines : &session->progress, RATE_LINES_MAX);
    if (verdict == RATE_FIRST_TOO_MUCH) {
        log_line(session->log, LOG_WARNING, "mcp",
                 "%s: more than %u %s within a second: the others of this second are dropped",
                 session->name, RATE_LINES_MAX, is_line ? "log lines" : "reports of progress");
    }
    return verdict != RATE_PASSES;
}

/* Whether as much waits for this thread as may. */
static bool is_full(const struct waiter *waiter, const struct message *message) {
    bool is_answer = message->kind == MESSAGE_RESULT || message->kind == MESSAGE_FAILURE;
    return !is_answer && (waiter->count == SESSION_WAITING_MAX ||
                          waiter->length + message->length > SESSION_WAITING_BYTES_MAX);
}

/* Caller holds the lock. */
static void route(struct session *session, struct message *message) {
    bool is_news = take_news(session, message);
    bool is_ping = message->kind == MESSAGE_REQUEST && strcmp(message->method, "ping") == 0;
    struct waiter *waiter = is_news || is_ping ? NULL : waiter_of(session, message);
    if (is_news || is_too_much(session, message)) {
        mcp_message_destroy(message);
        return;
    }
    if (waiter == NULL || is_full(waiter, message)) {
        take_unasked(session, message);
        mcp_message_destroy(message);
        return;
    }
    *(waiter->first == NULL ? &waiter->first : &waiter->last->next) = message;
    waiter->last = message;
    waiter->count++;
    waiter->length += message->length;
    (void)pthread_cond_signal(&waiter->changed);
}

/* One request has failed, by no message of its own. Caller holds the lock. */
static void fail_request(struct session *session, const struct incoming *incoming) {
    for (struct waiter *waiter = session->waiters; waiter != NULL; waiter = waiter->next) {
        if (waiter->number == incoming->number && waiter->code == 0) {
            waiter->code = incoming->why.code;
            *waiter->why = incoming->why;
            (void)pthread_cond_signal(&waiter->changed);
        }
    }
}

/* Send and receive what can be at once. Caller holds the lock and is the reader. */
static void receive(struct session *session) {
    struct toolrack_error why;
    struct incoming incoming;
    const struct transport_calls *calls = session->transport->calls;
    int code = calls->receive(session->transport, &why);
    while (!session->has_ended && calls->next(session->transport, &incoming)) {
        if (incoming.message != NULL) {
            route(session, incoming.message);
        } else if (incoming.number != 0) {
            fail_request(session, &incoming);
        } else {
            complain(session, incoming.why.message);
        }
    }
    if (code < 0) {
        end(session, &why);
    }
}

void mount_session_tend(struct session *session) {
    LOCK_SCOPE(&session->lock);
    if (!session->has_reader && !session->has_ended) {
        receive(session);
    }
}

/* --------------------------------------------------------------------- ask */

static void add_waiter(struct session *session, struct waiter *waiter) {
    struct waiter **at = &session->waiters;
    while (*at != NULL) {
        at = &(*at)->next;
    }
    *at = waiter;
}

/* Another one than `but` reads from now on, if nobody does. */
static void wake_reader(struct session *session, const struct waiter *but) {
    struct waiter *waiter = session->waiters;
    waiter = waiter == but && waiter != NULL ? waiter->next : waiter;
    if (!session->has_reader && waiter != NULL) {
        (void)pthread_cond_signal(&waiter->changed);
    }
}

static void remove_waiter(struct session *session, struct waiter *waiter) {
    struct waiter **at = &session->waiters;
    while (*at != NULL && *at != waiter) {
        at = &(*at)->next;
    }
    *at = waiter->next;
    wake_reader(session, NULL);
}

/* Wait for a message, as the reader if there is none. Caller holds the lock. */
static void await(struct session *session, struct waiter *waiter, uint64_t until_ns) {
    uint64_t now_ns = clock_now_ns();
    uint64_t look_ns = now_ns + (uint64_t)SESSION_LOOK_MS_MAX * CLOCK_NS_PER_MS;
    look_ns = until_ns != 0 && until_ns < look_ns ? until_ns : look_ns;
    if (session->has_reader) {
        const struct timespec look = clock_timespec(look_ns);
        (void)lock_wait_until(&session->lock, &waiter->changed, &look);
        return;
    }
    session->has_reader = true;
    lock_release(&session->lock);
    int ms = look_ns > now_ns ? (int)((look_ns - now_ns + CLOCK_NS_PER_MS - 1) / CLOCK_NS_PER_MS)
                              : 0;
    session->transport->calls->wait(session->transport, ms);
    lock_take(&session->lock);
    receive(session);
    session->has_reader = false;
}

static bool is_over(const struct session_wait *wait, uint64_t until_ns) {
    return (wait->is_cancelled != NULL && wait->is_cancelled(wait->user)) ||
           (until_ns != 0 && clock_now_ns() >= until_ns);
}

static bool is_settled(const struct session *session) {
    const struct transport_calls *calls = session->transport->calls;
    return session->has_ended || calls->is_settled == NULL || calls->is_settled(session->transport);
}

/* Wait until all notifications have arrived. Caller holds the lock. */
static int settle(struct session *session, const struct session_wait *wait, uint64_t until_ns,
                  struct toolrack_error *err) {
    int code = 0;
    struct waiter waiter = {.number = 0};
    clock_cond_init(&waiter.changed);
    add_waiter(session, &waiter);
    while (code == 0 && !is_settled(session)) {
        uint64_t wanted_ns = wait != NULL ? wait->until_ns(wait->user) : until_ns;
        if (wait != NULL ? is_over(wait, wanted_ns) : clock_now_ns() >= until_ns) {
            code = error_set(err, TOOLRACK_E_CANCELLED, "MCP server '%s' did not answer in time",
                             session->name);
        } else {
            await(session, &waiter, wanted_ns);
        }
    }
    remove_waiter(session, &waiter);
    (void)pthread_cond_destroy(&waiter.changed);
    return code;
}

int mount_session_settle(struct session *session, const struct session_wait *wait,
                         struct toolrack_error *err) {
    LOCK_SCOPE(&session->lock);
    int code = settle(session, wait, 0, err);
    if (session->has_ended) {
        *err = session->end;
        return err->code;
    }
    if (code == 0 && session->transport->calls->listen != NULL) {
        session->transport->calls->listen(session->transport);
    }
    return code;
}

/* Nobody waits any longer. Caller holds the lock. */
static void cancel(struct session *session, uint64_t number, bool is_told) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    struct toolrack_error late;
    if (is_told || session->has_ended) {
        return;
    }
    buf_printf(&text,
               "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
               "\"requestId\":%llu,\"reason\":\"the caller does not wait any longer\"}}",
               (unsigned long long)number);
    tell(session, &(struct outgoing){.text = &text});
    (void)settle(session, NULL, clock_now_ns() + (uint64_t)SESSION_TELL_MS_MAX * CLOCK_NS_PER_MS,
                 &late);
}

/* The next message for the waiter. Caller holds the lock.
 * @return as mount_session_ask() */
static int next_message(struct session *session, struct waiter *waiter,
                        const struct session_wait *wait, uint64_t silent_ns, struct message **ret,
                        struct toolrack_error *err) {
    for (;;) {
        if (waiter->first != NULL) {
            *ret = waiter->first;
            waiter->first = (*ret)->next;
            (*ret)->next = NULL;
            waiter->count--;
            waiter->length -= (*ret)->length;
            return 0;
        }
        if (waiter->code < 0) {
            return waiter->code;
        }
        if (session->has_ended) {
            *err = session->end;
            return session->end.code;
        }
        uint64_t until_ns = wait->until_ns(wait->user);
        if (is_over(wait, until_ns)) {
            return error_set(err, TOOLRACK_E_CANCELLED, "MCP server '%s' did not answer in time",
                             session->name);
        }
        if (until_ns == 0 && silent_ns != 0 && clock_now_ns() >= silent_ns) {
            return error_set(err, TOOLRACK_E_TIMEOUT,
                             "MCP server '%s' said nothing about the call for %u ms; give the call "
                             "a deadline, or set \"call_ms\" of the server",
                             session->name, wait->silence_ms);
        }
        await(session, waiter, until_ns != 0 ? until_ns : silent_ns);
    }
}

static uint64_t silent_from_now(const struct session_wait *wait) {
    return wait->silence_ms != 0 ? clock_now_ns() + (uint64_t)wait->silence_ms * CLOCK_NS_PER_MS
                                 : 0;
}

static int ask_once(struct session *session, uint64_t number, const struct buf *text,
                    const struct session_wait *wait, struct message **ret,
                    struct toolrack_error *err) {
    struct waiter waiter = {
            .number = number, .is_call = wait->is_call, .takes = wait->take != NULL, .why = err};
    const struct outgoing out = {.text = text, .number = number, .mirrored = wait->mirrored};
    struct message *message = NULL;
    clock_cond_init(&waiter.changed);
    lock_take(&session->lock);
    add_waiter(session, &waiter);
    int code = session->has_ended ? 0 : send_text(session, &out, err);
    while (code == 0 && message == NULL) {
        code = next_message(session, &waiter, wait, silent_from_now(wait), &message, err);
        if (message != NULL && message->kind != MESSAGE_RESULT &&
            message->kind != MESSAGE_FAILURE) {
            wake_reader(session, &waiter);
            lock_release(&session->lock);
            wait->take(wait->user, message);
            message = NULL;
            lock_take(&session->lock);
        }
    }
    remove_waiter(session, &waiter);
    bool is_told = session->transport->calls->drop(session->transport, number);
    if (code == TOOLRACK_E_CANCELLED || code == TOOLRACK_E_TIMEOUT) {
        give_up(session, number);
        cancel(session, number, is_told);
    }
    lock_release(&session->lock);
    while (waiter.first != NULL) {
        struct message *left = waiter.first;
        waiter.first = left->next;
        mcp_message_destroy(left);
    }
    (void)pthread_cond_destroy(&waiter.changed);
    *ret = message;
    return code;
}

int mount_session_ask(struct session *session, uint64_t number, const struct buf *text,
                      const struct session_wait *wait, struct message **ret,
                      struct toolrack_error *err) {
    struct transport *transport = session->transport;
    struct toolrack_error unheard;
    err = err != NULL ? err : &unheard;
    int code = ask_once(session, number, text, wait, ret, err);
    for (unsigned i = 0; code == TOOLRACK_E_PERMISSION_DENIED &&
                         transport->calls->authorize != NULL && i < SESSION_REFUSED_MAX;
         i++) {
        int permitted = transport->calls->authorize(transport, number, wait, err);
        if (permitted < 0) {
            return permitted;
        }
        code = ask_once(session, number, text, wait, ret, err);
    }
    return code;
}
