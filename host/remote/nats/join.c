/* join.c - joining and leaving a group, and the threads of a member.
 *
 * A member that has left keeps its memory until member_destroy(): tools that it registered may
 * still be held, and a call of one fails then as Unavailable. */
#include "remote/nats/member.h"

#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/command.h"
#include "base/error.h"
#include "base/thread.h"
#include "remote/nats/access.h"
#include "remote/nats/nkey.h"
#include "remote/nats/parts.h"

/* How long joining waits for the server. */
#define CONNECT_MS   5000
/* How long leaving waits until what was sent is on its way. */
#define FLUSH_MS     1000
/* Between attempts to reach a server that was lost. */
#define RECONNECT_MS 250
#define NAME_MAX_    63u

/* ---------------------------------------------------------------- subjects */

const char *member_subject(const struct member *member, char ret[SUBJECT_ROOM], const char *format,
                           ...) {
    int length = snprintf(ret, SUBJECT_ROOM, SUBJECT_BEGIN "%d.%s.", SUBJECT_VERSION,
                          member->group_token);
    va_list args;
    va_start(args, format);
    (void)vsnprintf(ret + length, SUBJECT_ROOM - (size_t)length, format, args);
    va_end(args);
    return ret;
}

/* A natsOnCompleteCB: the last message of a subscription was handled. */
static void completed(void *user) {
    struct member *member = user;
    (void)pthread_mutex_lock(&member->lock);
    member->live--;
    (void)pthread_cond_broadcast(&member->changed);
    (void)pthread_mutex_unlock(&member->lock);
}

int member_subscribe(struct member *member, const char *subject, const char *queue,
                     natsMsgHandler handle, void *user, natsSubscription **ret,
                     struct toolrack_error *err) {
    natsStatus status = queue != NULL ? nats.Connection_QueueSubscribe(ret, member->connection,
                                                                       subject, queue, handle, user)
                                      : nats.Connection_Subscribe(ret, member->connection, subject,
                                                                  handle, user);
    if (status != NATS_OK) {
        return error_set(err, TOOLRACK_E_IO, "cannot subscribe to %s at the NATS server: %s",
                         subject, nats.Status_GetText(status));
    }
    (void)pthread_mutex_lock(&member->lock);
    member->live++;
    (void)pthread_mutex_unlock(&member->lock);
    if (nats.Subscription_SetOnCompleteCB(*ret, completed, member) != NATS_OK) {
        completed(member);
    }
    return 0;
}

int member_keep_subscribed(struct member *member, const char *subject, natsMsgHandler handle,
                           struct toolrack_error *err) {
    natsSubscription *made = NULL;
    if (member->subscription_count == ARRAY_LENGTH(member->subscriptions)) {
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED, "too many subscriptions");
    }
    int code = member_subscribe(member, subject, NULL, handle, member, &made, err);
    if (code == 0) {
        member->subscriptions[member->subscription_count++] = made;
    }
    return code;
}

bool member_publish(struct member *member, const char *subject, const char *reply,
                    const struct buf *data) {
    natsStatus status = data->failed ? NATS_NO_MEMORY
                        : reply == NULL
                                ? nats.Connection_Publish(member->connection, subject, data->data,
                                                          (int)data->length)
                                : nats.Connection_PublishRequest(member->connection, subject, reply,
                                                                 data->data, (int)data->length);
    if (status != NATS_OK && !member->stops) {
        log_line(member->options.log, LOG_WARNING, "nats", "cannot publish to %s: %s", subject,
                 nats.Status_GetText(status));
    }
    return status == NATS_OK;
}

bool member_trusts(const struct member *member, const char *public) {
    for (size_t i = 0; i < member->options.trusted_count; i++) {
        if (strcmp(member->options.trusted[i], public) == 0) {
            return true;
        }
    }
    return false;
}

struct host_terms member_terms(const struct member *member, const char *public) {
    bool is_trusted = public[0] != '\0' && member_trusts(member, public);
    struct host_terms terms = {.trusted = is_trusted,
                               .trust = TRUST_COMMUNITY,
                               .permission = is_trusted ? TR_SAFE : TR_CONFIRM};
    for (size_t i = 0; public[0] != '\0' && i < member->options.host_count; i++) {
        const struct member_host *host = &member->options.hosts[i];
        if (strcmp(host->key, public) == 0) {
            terms.trust = host->trust;
            terms.permission = host->permission < 0 ? terms.permission : (uint32_t)host->permission;
        }
    }
    return terms;
}

bool member_may_warn(struct member *member) {
    uint64_t minute = clock_now_ns() / (60 * CLOCK_NS_PER_S);
    uint64_t left_out = 0;
    (void)pthread_mutex_lock(&member->warn_lock);
    if (member->warn_minute != minute) {
        left_out = member->warnings > MEMBER_LINES_MAX ? member->warnings - MEMBER_LINES_MAX : 0;
        member->warn_minute = minute;
        member->warnings = 0;
    }
    bool may = ++member->warnings <= MEMBER_LINES_MAX;
    (void)pthread_mutex_unlock(&member->warn_lock);
    if (left_out > 0) {
        log_line(member->options.log, LOG_WARNING, "nats",
                 "%llu more warnings about other hosts were left out; somebody may send many wrong "
                 "messages to the subjects of the group %s",
                 (unsigned long long)left_out, member->options.group);
    }
    return may;
}

const char *member_header(natsMsg *message, const char *name) {
    const char *value = NULL;
    return nats.MsgHeader_Get(message, name, &value) == NATS_OK && value != NULL ? value : "";
}

const char *member_reply(natsMsg *message) {
    const char *reply = nats.Msg_GetReply(message);
    return reply == NULL || reply[0] == '$' ||
                           strncmp(reply, SUBJECT_BEGIN, strlen(SUBJECT_BEGIN)) == 0
                   ? NULL
                   : reply;
}

bool member_obeys(const struct member *member, const char *public) {
    return member_trusts(member, public) || strcmp(public, key_public(member->key)) == 0;
}

void member_wake(struct member *member) {
    (void)pthread_cond_broadcast(&member->changed);
}

/* ------------------------------------------------------------------ greeting */

static void was_probed(natsConnection *connection, natsSubscription *subscription, natsMsg *message,
                       void *user) {
    (void)connection;
    (void)subscription;
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    const char *reply = member_reply(message);
    buf_printf(&out, "{\"v\":%d,\"time_ms\":%lld}", SUBJECT_VERSION, (long long)clock_wall_ms());
    if (reply != NULL) {
        (void)member_publish(user, reply, NULL, &out);
    }
    nats.Msg_Destroy(message);
}

static void greet(struct member *member) {
    char subject[SUBJECT_ROOM];
    CLEANUP(buf_finish) struct buf hello = BUF_INIT;
    buf_printf(&hello, "{\"v\":%d}", SUBJECT_VERSION);
    (void)member_publish(member, member_subject(member, subject, "hello"), NULL, &hello);
}

/* ------------------------------------------------------------------ thread */

/* Announces this host and probes the others at each beat, whatever the other thread waits for. */
static void *beat(void *user) {
    struct member *member = user;
    const uint64_t beat_ns = (uint64_t)member->beat_ms * CLOCK_NS_PER_MS;
    uint64_t beat_at_ns = clock_now_ns() + beat_ns;
    (void)pthread_mutex_lock(&member->lock);
    while (!member->stops) {
        const struct timespec until = clock_timespec(beat_at_ns);
        if (clock_now_ns() < beat_at_ns) {
            (void)pthread_cond_timedwait(&member->changed, &member->lock, &until);
            continue;
        }
        (void)pthread_mutex_unlock(&member->lock);
        announced_tell(member, false);
        peers_watch(member);
        beat_at_ns = clock_now_ns() + beat_ns;
        (void)pthread_mutex_lock(&member->lock);
    }
    (void)pthread_mutex_unlock(&member->lock);
    return NULL;
}

/* Keeps what this host has, and what others have, up to date. Many changes that come while it works
 * are one for it. */
static void *work(void *user) {
    struct member *member = user;
    (void)pthread_mutex_lock(&member->lock);
    while (!member->stops) {
        bool is_dirty = member->is_dirty;
        bool wants = member->wants;
        if (!is_dirty && !wants) {
            (void)pthread_cond_wait(&member->changed, &member->lock);
            continue;
        }
        member->is_dirty = false;
        member->wants = false;
        (void)pthread_mutex_unlock(&member->lock);
        if (is_dirty && member->options.serves) {
            announced_renew(member);
            remote_tools_retry(member);
        }
        if (wants) {
            peers_update(member);
        }
        (void)pthread_mutex_lock(&member->lock);
    }
    (void)pthread_mutex_unlock(&member->lock);
    return NULL;
}

void member_changed(struct member *member) {
    (void)pthread_mutex_lock(&member->lock);
    if (member->runs && pthread_equal(pthread_self(), member->thread)) {
        (void)pthread_mutex_unlock(&member->lock);
        return; /* the tools of others are none of this host */
    }
    member->is_dirty = true;
    member_wake(member);
    (void)pthread_mutex_unlock(&member->lock);
    agreement_wake(member->agreement, true);
}

void member_decided(struct member *member) {
    agreement_wake(member->agreement, false);
}

/* -------------------------------------------------------------- connection */

/* The connection to the server was lost: what was sent to this member meanwhile is lost too. */
static void disconnected(natsConnection *connection, void *user) {
    (void)connection;
    struct member *member = user;
    atomic_store(&member->connected, false);
    (void)pthread_mutex_lock(&member->lock);
    outgoing_lose(member, NULL);
    bool stops = member->stops;
    (void)pthread_mutex_unlock(&member->lock);
    if (!stops) {
        log_line(
                member->options.log, LOG_WARNING, "nats",
                "the connection to the NATS server was lost; it is made again as soon as possible");
    }
}

static void reconnected(natsConnection *connection, void *user) {
    (void)connection;
    struct member *member = user;
    peers_greeted(member);
    atomic_store(&member->connected, true);
    log_line(member->options.log, LOG_INFO, "nats", "connected to the NATS server again");
    greet(member);
    announced_tell(member, false);
    agreement_reread(member->agreement);
}

/* The last that libnats tells of a connection, on a thread of its own: after that the member may be
 * released. */
static void closed(natsConnection *connection, void *user) {
    (void)connection;
    struct member *member = user;
    (void)pthread_mutex_lock(&member->lock);
    member->is_closed = true;
    (void)pthread_cond_broadcast(&member->changed);
    (void)pthread_mutex_unlock(&member->lock);
}

static int set_options(struct member *member, natsOptions *made, struct toolrack_error *err) {
    const struct member_options *options = &member->options;
    const struct access_options access = {.url = options->url,
                                          .credentials = options->credentials,
                                          .nkey = options->nkey,
                                          .ca = options->ca,
                                          .certificate = options->certificate,
                                          .key = options->key};
    char nkey[NKEY_ROOM];
    CLEANUP(freep) char *urls = strdup(options->url);
    const char *servers[ACCESS_SERVERS_MAX];
    int count = 0;
    char *rest = NULL;
    if (urls == NULL) {
        return error_oom(err);
    }
    int code = access_check(&access, err);
    code = code == 0 && options->nkey != NULL ? nkey_read(options->nkey, nkey, err) : code;
    if (code < 0) {
        return code;
    }
    for (char *url = strtok_r(urls, ",", &rest); url != NULL; url = strtok_r(NULL, ",", &rest)) {
        servers[count++] = url;
    }
    natsStatus status = nats.Options_SetServers(made, servers, count);
    status = status != NATS_OK ? status : nats.Options_SetName(made, options->name);
    status = status != NATS_OK ? status : nats.Options_SetTimeout(made, CONNECT_MS);
    status = status != NATS_OK ? status : nats.Options_SetMaxReconnect(made, -1);
    status = status != NATS_OK ? status : nats.Options_SetReconnectWait(made, RECONNECT_MS);
    status = status != NATS_OK ? status : nats.Options_SetSendAsap(made, true);
    status = status != NATS_OK ? status : nats.Options_UseGlobalMessageDelivery(made, true);
    status =
            status != NATS_OK ? status : nats.Options_SetDisconnectedCB(made, disconnected, member);
    status = status != NATS_OK ? status : nats.Options_SetReconnectedCB(made, reconnected, member);
    status = status != NATS_OK ? status : nats.Options_SetClosedCB(made, closed, member);
    if (status == NATS_OK && options->credentials != NULL) {
        status = nats.Options_SetUserCredentialsFromFiles(made, options->credentials, NULL);
    }
    if (status == NATS_OK && options->nkey != NULL) {
        status = nats.Options_SetNKeyFromSeed(made, nkey, options->nkey);
    }
    if (status == NATS_OK && options->ca != NULL) {
        status = nats.Options_LoadCATrustedCertificates(made, options->ca);
    }
    if (status == NATS_OK && access_is_secure(&access)) {
        status = nats.Options_SetSecure(made, true);
    }
    if (status == NATS_OK && options->certificate != NULL) {
        status = nats.Options_LoadCertificatesChain(made, options->certificate, options->key);
    }
    return status == NATS_OK
                   ? 0
                   : error_set(err, TOOLRACK_E_INVALID,
                               "the options of NATS cannot be used: %s; correct \"ca\", "
                               "\"certificate\" and \"key\" of \"nats\", which are files in PEM",
                               nats.Status_GetText(status));
}

/* The address without a user's name and password, for errors: up to the "@" of each. */
static const char *shown_url(const char *url) {
    return strchr(url, '@') != NULL ? "the NATS server of the configuration" : url;
}

/* What to do where a connection cannot be made. */
static const char *advice_for(natsStatus status) {
    switch (status) {
    case NATS_CONNECTION_AUTH_FAILED:
        return "the server wants other \"credentials\", another \"nkey\", or a user and a password "
               "in \"url\" of \"nats\"";
    case NATS_SSL_ERROR:
    case NATS_SECURE_CONNECTION_REQUIRED:
        return "its certificate must be for the name in \"url\" of \"nats\" and signed by \"ca\" "
               "or the system's certificates; where it wants one too, name \"certificate\" and "
               "\"key\"";
    case NATS_SECURE_CONNECTION_WANTED:
        return "it has no TLS: configure it there, or write nats:// in \"url\" of \"nats\" and no "
               "\"ca\", whereby all is sent openly";
    default: return "start it with nats-server, or correct \"url\" of \"nats\"";
    }
}

static int connect_to(struct member *member, struct toolrack_error *err) {
    natsOptions *made = NULL;
    if (nats.Options_Create(&made) != NATS_OK) {
        return error_oom(err);
    }
    int code = set_options(member, made, err);
    if (code == 0) {
        natsStatus status = nats.Connection_Connect(&member->connection, made);
        if (status != NATS_OK) {
            code = error_set(err, TOOLRACK_E_IO, "cannot connect to %s: %s; %s",
                             shown_url(member->options.url), nats.Status_GetText(status),
                             advice_for(status));
        }
    }
    nats.Options_Destroy(made);
    if (code == 0) {
        atomic_store(&member->connected, true);
        member->max_payload = nats.Connection_GetMaxPayload(member->connection);
    }
    return code;
}

static int subscribe_all(struct member *member, struct toolrack_error *err) {
    const struct {
        const char *subject;
        natsMsgHandler handle;
        bool is_server; /* only of one that serves */
    } wanted[] = {
            {"hello", announced_greeted, true},     {"host.%s.tools", announced_asked, true},
            {"host.%s.call", incoming_call, true},  {"host.%s.control", incoming_control, true},
            {"host.%s.probe", was_probed, true},    {"host.%s.order", order_received, true},
            {"announce.*", peers_announced, false},
    };
    char subject[SUBJECT_ROOM];
    int code = 0;
    (void)snprintf(subject, sizeof subject, "%s.call.*", member->inbox);
    code = member_keep_subscribed(member, subject, outgoing_message, err);
    (void)snprintf(subject, sizeof subject, "%s.probe.*", member->inbox);
    code = code < 0 ? code : member_keep_subscribed(member, subject, peers_probed, err);
    for (size_t i = 0; i < ARRAY_LENGTH(wanted) && code == 0; i++) {
        char rest[64];
        const char *end = strstr(wanted[i].subject, "%s");
        (void)snprintf(rest, sizeof rest, "%.*s%s%s",
                       end != NULL ? (int)(end - wanted[i].subject) : 63, wanted[i].subject,
                       end != NULL ? member->instance : "", end != NULL ? end + 2 : "");
        if (member->options.serves || !wanted[i].is_server) {
            code = member_keep_subscribed(member, member_subject(member, subject, "%s", rest),
                                          wanted[i].handle, err);
        }
    }
    return code == 0 && member->options.serves ? micro_start(member, err) : code;
}

/* ----------------------------------------------------------- join and leave */

static int check_names(const struct member_options *options, struct toolrack_error *err) {
    const char *const names[] = {options->group, options->name};
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        if (names[i][0] == '\0' || strlen(names[i]) > NAME_MAX_) {
            return error_set(err, TOOLRACK_E_INVALID,
                             "the %s of hosts \"%.80s\" has %zu bytes; a name has 1 to %u",
                             i == 0 ? "group" : "name", names[i], strlen(names[i]), NAME_MAX_);
        }
    }
    for (size_t i = 0; i < options->trusted_count; i++) {
        if (!key_is_public(options->trusted[i])) {
            return error_set(err, TOOLRACK_E_INVALID,
                             "\"%.80s\" of the trusted hosts is no public key; see those of "
                             "hosts: %s",
                             options->trusted[i], COMMAND("hosts"));
        }
    }
    return 0;
}

static int fill(struct member *member, struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf token = BUF_INIT;
    CLEANUP(buf_finish) struct buf inbox = BUF_INIT;
    unsigned char number[(INSTANCE_ROOM - 1) / 2];
    randombytes_buf(number, sizeof number);
    (void)sodium_bin2hex(member->instance, sizeof member->instance, number, sizeof number);
    subject_add_token(&token, member->options.group, strlen(member->options.group));
    buf_printf(&inbox, "_INBOX.toolrack.%s", member->instance);
    member->group_token = buf_steal(&token);
    member->inbox = buf_steal(&inbox);
    member->nonces = nonces_create();
    member->callers = callers_create();
    member->secrets = secrets_create();
    if (member->options.serves && member->options.store != NULL) {
        member->agreement = agreement_create(member);
        if (member->agreement == NULL) {
            return error_oom(err);
        }
    }
    member->beat_ms = member->options.beat_ms == 0                   ? MEMBER_BEAT_MS
                      : member->options.beat_ms < MEMBER_BEAT_MS_MIN ? MEMBER_BEAT_MS_MIN
                                                                     : member->options.beat_ms;
    return member->group_token != NULL && member->inbox != NULL && member->nonces != NULL &&
                           member->callers != NULL && member->secrets != NULL
                   ? 0
                   : error_oom(err);
}

static int start(struct member *member, struct toolrack_error *err) {
    int code = connect_to(member, err);
    code = code < 0 ? code : subscribe_all(member, err);
    if (code < 0) {
        return code;
    }
    if (member->options.serves) {
        announced_renew(member);
    }
    /* It sees itself which thread it is as soon as it registers a tool. */
    (void)pthread_mutex_lock(&member->lock);
    int failed = thread_start(&member->thread, work, member);
    member->runs = failed == 0;
    (void)pthread_mutex_unlock(&member->lock);
    failed = failed != 0 ? failed : thread_start(&member->beat_thread, beat, member);
    member->beats_run = failed == 0;
    if (failed != 0) {
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED, "cannot start a thread: %s",
                         strerror(failed));
    }
    greet(member);
    return member->agreement != NULL ? agreement_start(member->agreement, err) : 0;
}

int member_join(const struct member_options *options, struct member **ret,
                struct toolrack_error *err) {
    int code = check_names(options, err);
    code = code < 0 ? code : libnats_load(err);
    if (code < 0) {
        return code;
    }
    struct member *member = calloc(1, sizeof *member);
    if (member == NULL) {
        return error_oom(err);
    }
    member->options = *options;
    (void)pthread_mutex_init(&member->lock, NULL);
    (void)pthread_mutex_init(&member->warn_lock, NULL);
    clock_cond_init(&member->changed);
    code = key_open(options->key_folder, &member->key, err);
    code = code < 0 ? code : fill(member, err);
    code = code < 0 ? code : start(member, err);
    if (code < 0) {
        member_leave(member);
        member_destroy(member);
        return code;
    }
    *ret = member;
    return 0;
}

/* Wait until no function of the member runs on a thread of libnats, or of a call. */
static void await_quiet(struct member *member) {
    (void)pthread_mutex_lock(&member->lock);
    while (!member->is_closed || member->live > 0 || member->outgoing != NULL) {
        (void)pthread_cond_wait(&member->changed, &member->lock);
    }
    (void)pthread_mutex_unlock(&member->lock);
}

void member_leave(struct member *member) {
    if (member == NULL || member->is_left) {
        return;
    }
    (void)pthread_mutex_lock(&member->lock);
    member->stops = true;
    member->is_left = true;
    outgoing_lose(member, NULL);
    member_wake(member);
    (void)pthread_mutex_unlock(&member->lock);
    agreement_stop(member->agreement);
    if (member->beats_run) {
        (void)pthread_join(member->beat_thread, NULL);
    }
    if (member->runs) {
        (void)pthread_join(member->thread, NULL);
        announced_tell(member, true);
    }
    remote_tools_stop(member);
    incoming_stop(member);
    order_stop(member);
    if (member->connection != NULL) {
        (void)nats.Connection_FlushTimeout(member->connection, FLUSH_MS);
        micro_stop(member);
        for (size_t i = 0; i < member->subscription_count; i++) {
            (void)nats.Subscription_Unsubscribe(member->subscriptions[i]);
            nats.Subscription_Destroy(member->subscriptions[i]);
        }
        nats.Connection_Close(member->connection);
        await_quiet(member);
        nats.Connection_Destroy(STEAL(member->connection));
    }
}

void member_destroy(struct member *member) {
    if (member == NULL) {
        return;
    }
    agreement_destroy(member->agreement);
    peers_destroy(member);
    remote_tools_destroy(member);
    micro_destroy(member);
    announced_unref(member->catalogue);
    nonces_destroy(member->nonces);
    callers_destroy(member->callers);
    secrets_destroy(member->secrets);
    key_destroy(member->key);
    free(member->group_token);
    free(member->inbox);
    (void)pthread_cond_destroy(&member->changed);
    (void)pthread_mutex_destroy(&member->lock);
    (void)pthread_mutex_destroy(&member->warn_lock);
    free(member);
}

/* ------------------------------------------------------------------ gather */

void member_gather(struct member *member, unsigned wait_ms) {
    const struct timespec until =
            clock_timespec(clock_now_ns() + (uint64_t)wait_ms * CLOCK_NS_PER_MS);
    greet(member);
    (void)nats.Connection_FlushTimeout(member->connection, (int64_t)wait_ms);
    (void)pthread_mutex_lock(&member->lock);
    int waited = 0;
    while (waited == 0) { /* nobody knows how many there are */
        waited = pthread_cond_timedwait(&member->changed, &member->lock, &until);
    }
    (void)pthread_mutex_unlock(&member->lock);
}
