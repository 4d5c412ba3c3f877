#include "remote/mcp/client.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/json-write.h"
#include "base/json.h"
#include "base/lock.h"
#include "base/utf8.h"
#include "toolrack/plugin.h"

#define REVISION_STATELESS "2026-07-28"
#define REVISION_SESSIONS  "2025-11-25"
/* The code of a failure over the revision of a request. */
#define REVISION_REFUSED   (-32022)
#define METHOD_UNKNOWN     (-32601)

static const char *const earlier_revisions[] = {REVISION_SESSIONS, "2025-06-18", "2025-03-26",
                                                "2024-11-05"};

/* What this client can be asked for. */
#define CAPABILITIES "{\"elicitation\":{\"form\":{},\"url\":{}},\"sampling\":{}}"
#define CLIENT_INFO  "{\"name\":\"toolrack\",\"version\":\"" TOOLRACK_VERSION "\"}"

enum era { ERA_UNKNOWN, ERA_SESSIONS, ERA_STATELESS };

struct mcp_client {
    struct mcp_client_options options;
    struct session_news news;
    atomic_int era;   /* enum era */
    struct lock lock; /* guards what follows */
    pthread_cond_t started;
    bool starts;                   /* on some thread */
    struct session *session;       /* a reference, or NULL */
    unsigned failures;             /* of starts, in a row */
    uint64_t next_ns;              /* no start before it */
    struct toolrack_error failure; /* of the last one */
    uint64_t used_ns;
    char version[64];
    uint32_t offers;
};

struct mcp_client *mcp_client_create(const struct mcp_client_options *options) {
    struct mcp_client *client = calloc(1, sizeof *client);
    if (client != NULL) {
        client->options = *options;
        client->news.notice = options->notice;
        client->news.user = options->user;
        lock_init(&client->lock);
        clock_cond_init(&client->started);
    }
    return client;
}

void mcp_client_destroy(struct mcp_client *client) {
    if (client != NULL) {
        mount_session_unref(client->session);
        (void)pthread_cond_destroy(&client->started);
        lock_finish(&client->lock);
        free(client);
    }
}

const char *mcp_client_name(const struct mcp_client *client) {
    return client->options.session.name;
}

uint32_t mcp_client_call_ms(const struct mcp_client *client) {
    return client->options.call_ms;
}

void mcp_client_hide(const struct mcp_client *client, char *text) {
    mount_secrets_hide(client->options.secrets, text);
}

void mcp_client_forgive(struct mcp_client *client) {
    LOCK_SCOPE(&client->lock);
    client->failures = 0;
    client->next_ns = 0;
}

void mcp_client_version(struct mcp_client *client, char *ret, size_t room) {
    LOCK_SCOPE(&client->lock);
    utf8_copy(ret, room, client->version);
}

uint32_t mcp_client_offers(struct mcp_client *client) {
    LOCK_SCOPE(&client->lock);
    return client->offers;
}

/* --------------------------------------------------------------- requests */

void mcp_client_begin(const struct mcp_client *client, struct buf *out, uint64_t number,
                      const char *method) {
    buf_printf(out,
               "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"method\":\"%s\",\"params\":{\"_meta\":{"
               "\"progressToken\":%llu",
               (unsigned long long)number, method, (unsigned long long)number);
    if (atomic_load(&client->era) == ERA_STATELESS) {
        buf_add_text(out, ",\"io.modelcontextprotocol/protocolVersion\":\"" REVISION_STATELESS
                          "\",\"io.modelcontextprotocol/clientInfo\":" CLIENT_INFO
                          ",\"io.modelcontextprotocol/clientCapabilities\":" CAPABILITIES
                          ",\"io.modelcontextprotocol/logLevel\":\"info\"");
    }
    buf_add_char(out, '}');
}

/* A wait that ends earlier than that of the call. */
struct limited {
    const struct session_wait *wait;
    uint64_t until_ns;
};

static uint64_t limited_until(void *user) {
    const struct limited *limited = user;
    uint64_t until_ns = limited->wait->until_ns(limited->wait->user);
    return until_ns != 0 && until_ns < limited->until_ns ? until_ns : limited->until_ns;
}

static bool limited_cancelled(void *user) {
    const struct limited *limited = user;
    const struct session_wait *wait = limited->wait;
    return wait->is_cancelled != NULL && wait->is_cancelled(wait->user);
}

static struct session_wait wait_of(struct limited *limited) {
    return (struct session_wait){
            .until_ns = limited_until, .is_cancelled = limited_cancelled, .user = limited};
}

/* -------------------------------------------------------------- handshake */

static void note_server(struct mcp_client *client, yyjson_val *info, yyjson_val *result) {
    const char *version = yyjson_get_str(yyjson_obj_get(info, "version"));
    yyjson_val *capabilities = yyjson_obj_get(result, "capabilities");
    bool has_resources = yyjson_is_obj(yyjson_obj_get(capabilities, "resources"));
    bool has_prompts = yyjson_is_obj(yyjson_obj_get(capabilities, "prompts"));
    LOCK_SCOPE(&client->lock);
    client->offers = (has_resources ? (uint32_t)TR_PLUGIN_RESOURCES : 0u) |
                     (has_prompts ? (uint32_t)TR_PLUGIN_PROMPTS : 0u);
    utf8_copy(client->version, sizeof client->version, version != NULL ? version : "");
}

/* In the stateless era changes are told to whoever asks for them. */
static void listen_to_changes(const struct mcp_client *client, struct session *session,
                              yyjson_val *result) {
    static const char *const lists[] = {"tools", "resources", "prompts"};
    yyjson_val *capabilities = yyjson_obj_get(result, "capabilities");
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    uint64_t number = mount_session_number(session);
    unsigned count = 0;
    mcp_client_begin(client, &text, number, "subscriptions/listen");
    buf_add_text(&text, ",\"notifications\":{");
    for (size_t i = 0; i < ARRAY_LENGTH(lists); i++) {
        yyjson_val *one = yyjson_obj_get(capabilities, lists[i]);
        if (yyjson_is_true(yyjson_obj_get(one, "listChanged"))) {
            buf_printf(&text, "%s\"%sListChanged\":true", count++ > 0 ? "," : "", lists[i]);
        }
    }
    buf_add_text(&text, "}}}");
    if (count > 0) {
        mount_session_listen(session, number, &text);
    }
}

/* A server may refuse the revision of a request, and name it among those that it knows. */
static bool wants_again(const struct message *answer) {
    yyjson_val *error = yyjson_obj_get(yyjson_doc_get_root(answer->doc), "error");
    yyjson_val *known = yyjson_obj_get(yyjson_obj_get(error, "data"), "supported");
    return answer->kind == MESSAGE_FAILURE && answer->code == REVISION_REFUSED &&
           json_has_text(known, REVISION_STATELESS);
}

/* Ask what the server is, as one of the stateless era is asked. */
static int ask_what_it_is(struct mcp_client *client, struct session *session,
                          const struct session_wait *wait, struct message **ret,
                          struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    uint64_t number = mount_session_number(session);
    mcp_client_begin(client, &text, number, "server/discover");
    buf_add_text(&text, "}}");
    return mount_session_ask(session, number, &text, wait, ret, err);
}

/* Whether the server knows the stateless era. One of the other era may answer with any failure, or
 * not at all.
 * @return 0, and the era is set if it does; TOOLRACK_E_IO: it has ended, over the question maybe */
static int discover(struct mcp_client *client, struct session *session,
                    const struct session_wait *wait, struct toolrack_error *err) {
    struct limited limited = {.wait = wait,
                              .until_ns = clock_now_ns() +
                                          (uint64_t)CLIENT_DISCOVER_MS_MAX * CLOCK_NS_PER_MS};
    const struct session_wait shorter = wait_of(&limited);
    CLEANUP(mcp_message_destroyp) struct message *answer = NULL;
    atomic_store(&client->era, ERA_STATELESS);
    int code = ask_what_it_is(client, session, &shorter, &answer, err);
    if (code == 0 && wants_again(answer)) {
        mcp_message_destroy(answer);
        answer = NULL;
        code = ask_what_it_is(client, session, &shorter, &answer, err);
    }
    bool is_known =
            code == 0 && answer->kind == MESSAGE_RESULT &&
            json_has_text(yyjson_obj_get(answer->result, "supportedVersions"), REVISION_STATELESS);
    if (!is_known) {
        bool is_unknown = code == TOOLRACK_E_EXECUTION_FAILED ||
                          (code == TOOLRACK_E_CANCELLED && !limited_cancelled(&limited));
        atomic_store(&client->era, ERA_UNKNOWN);
        return is_unknown ? 0 : code;
    }
    mount_session_agree(session, REVISION_STATELESS);
    listen_to_changes(client, session, answer->result);
    yyjson_val *meta = yyjson_obj_get(answer->result, "_meta");
    note_server(client, yyjson_obj_get(meta, "io.modelcontextprotocol/serverInfo"), answer->result);
    return 0;
}

static int initialize(struct mcp_client *client, struct session *session,
                      const struct session_wait *wait, struct toolrack_error *err) {
    CLEANUP(mcp_message_destroyp) struct message *answer = NULL;
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    CLEANUP(buf_finish) struct buf done = BUF_INIT;
    uint64_t number = mount_session_number(session);
    buf_printf(&text,
               "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"method\":\"initialize\",\"params\":{"
               "\"protocolVersion\":\"" REVISION_SESSIONS "\",\"capabilities\":" CAPABILITIES
               ",\"clientInfo\":" CLIENT_INFO "}}",
               (unsigned long long)number);
    int code = mount_session_ask(session, number, &text, wait, &answer, err);
    if (code < 0) {
        return code;
    }
    if (answer->kind == MESSAGE_FAILURE) {
        return error_set(err, TOOLRACK_E_EXECUTION_FAILED,
                         "MCP server '%s' refuses to begin: %.500s (%lld)", mcp_client_name(client),
                         answer->text, (long long)answer->code);
    }
    const char *revision = yyjson_get_str(yyjson_obj_get(answer->result, "protocolVersion"));
    bool is_known = false;
    for (size_t i = 0; i < ARRAY_LENGTH(earlier_revisions); i++) {
        is_known = is_known || (revision != NULL && strcmp(revision, earlier_revisions[i]) == 0);
    }
    if (!is_known) {
        return error_set(
                err, TOOLRACK_E_EXECUTION_FAILED,
                "MCP server '%s' speaks revision \"%.40s\" of MCP, which is not known here",
                mcp_client_name(client), revision != NULL ? revision : "");
    }
    note_server(client, yyjson_obj_get(answer->result, "serverInfo"), answer->result);
    atomic_store(&client->era, ERA_SESSIONS);
    mount_session_agree(session, revision);
    buf_add_text(&done, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
    mount_session_tell(session, &done);
    return mount_session_settle(session, wait, err);
}

/* ------------------------------------------------------------------- start */

static int start_session(struct mcp_client *client, const struct session_wait *wait,
                         struct session **ret, struct toolrack_error *err) {
    CLEANUP(mount_session_unrefp) struct session *session = NULL;
    int code = mount_session_start(&client->options.session, &client->news, &session, err);
    if (code == 0 && atomic_load(&client->era) != ERA_SESSIONS) {
        code = discover(client, session, wait, err);
        if (code == TOOLRACK_E_IO) { /* some of the other era end at a question before the first */
            mount_session_unref(session);
            session = NULL;
            code = mount_session_start(&client->options.session, &client->news, &session, err);
        }
    }
    if (code == 0 && atomic_load(&client->era) != ERA_STATELESS) {
        code = initialize(client, session, wait, err);
    }
    if (code == 0) {
        *ret = STEAL(session);
    }
    return code;
}

/* The server of another program may be another one at its next start. */
static int start(struct mcp_client *client, const struct session_wait *wait, struct session **ret,
                 struct toolrack_error *err) {
    uint32_t ms =
            client->options.start_ms != 0 ? client->options.start_ms : CLIENT_START_MS_DEFAULT;
    struct limited limited = {.wait = wait,
                              .until_ns = clock_now_ns() + (uint64_t)ms * CLOCK_NS_PER_MS};
    const struct session_wait shorter = wait_of(&limited);
    int code = start_session(client, &shorter, ret, err);
    uint64_t until_ns = wait->until_ns(wait->user);
    bool is_callers = limited_cancelled(&limited) || (until_ns != 0 && clock_now_ns() >= until_ns);
    if (code < 0 && code != TOOLRACK_E_NO_MEMORY && !(code == TOOLRACK_E_CANCELLED && is_callers)) {
        atomic_store(&client->era, ERA_UNKNOWN);
        if (code == TOOLRACK_E_CANCELLED) {
            (void)error_set(err, code, "MCP server '%s' did not say within %u ms what it is",
                            mcp_client_name(client), ms);
        }
        code = err->code = TOOLRACK_E_EXECUTION_FAILED;
        mcp_client_hide(client, err->message);
        if (client->options.hint != NULL) {
            error_append(err, client->options.hint);
        }
    }
    return code;
}

/* Caller holds the lock. */
static void note_failure(struct mcp_client *client, const struct toolrack_error *why) {
    unsigned doublings = client->failures < 6 ? client->failures : 6;
    uint64_t ms = (uint64_t)CLIENT_BACKOFF_MS << doublings;
    client->failures++;
    client->failure = *why;
    client->next_ns = clock_now_ns() +
                      (ms < CLIENT_BACKOFF_MS_MAX ? ms : CLIENT_BACKOFF_MS_MAX) * CLOCK_NS_PER_MS;
}

/* Start it on this thread. Caller holds the lock, which is released meanwhile. */
static int start_here(struct mcp_client *client, const struct session_wait *wait,
                      struct toolrack_error *err) {
    struct session *session = NULL;
    struct session *ended = STEAL(client->session);
    client->starts = true;
    lock_release(&client->lock);
    mount_session_unref(ended);
    int code = start(client, wait, &session, err);
    lock_take(&client->lock);
    client->starts = false;
    if (code == 0) {
        client->session = session;
        client->failures = 0;
        client->options.started(client->options.user);
    } else if (code == TOOLRACK_E_EXECUTION_FAILED) {
        note_failure(client, err);
    }
    (void)pthread_cond_broadcast(&client->started);
    return code;
}

static bool is_over(const struct session_wait *wait) {
    uint64_t until_ns = wait->until_ns(wait->user);
    return (wait->is_cancelled != NULL && wait->is_cancelled(wait->user)) ||
           (until_ns != 0 && clock_now_ns() >= until_ns);
}

/* Caller holds the lock. */
static int have_session(struct mcp_client *client, const struct session_wait *wait,
                        struct toolrack_error *err) {
    while (client->starts) {
        const struct timespec look =
                clock_timespec(clock_now_ns() + (uint64_t)SESSION_LOOK_MS_MAX * CLOCK_NS_PER_MS);
        (void)lock_wait_until(&client->lock, &client->started, &look);
        if (client->starts && is_over(wait)) {
            return error_set(err, TOOLRACK_E_CANCELLED, "MCP server '%s' is being started",
                             mcp_client_name(client));
        }
    }
    if (client->session != NULL && !mount_session_has_ended(client->session)) {
        return 0;
    }
    uint64_t now_ns = clock_now_ns();
    if (client->failures > 0 && now_ns < client->next_ns) {
        if (err != NULL) {
            char again[64];
            *err = client->failure;
            (void)snprintf(again, sizeof again, "it is started again in %llu s at the earliest",
                           (unsigned long long)((client->next_ns - now_ns) / CLOCK_NS_PER_S + 1));
            error_append(err, again);
        }
        return client->failure.code;
    }
    return start_here(client, wait, err);
}

int mcp_client_hold(struct mcp_client *client, const struct session_wait *wait,
                    struct session **ret, struct toolrack_error *err) {
    LOCK_SCOPE(&client->lock);
    int code = have_session(client, wait, err);
    if (code == 0) {
        client->used_ns = clock_coarse_ns();
        *ret = mount_session_ref(client->session);
    }
    return code;
}

bool mcp_client_tend(struct mcp_client *client, uint32_t idle_ms, bool *ret_changed) {
    CLEANUP(mount_session_unrefp) struct session *session = NULL;
    CLEANUP(mount_session_unrefp) struct session *idle = NULL;
    lock_take(&client->lock);
    bool is_idle = idle_ms != 0 && !client->starts &&
                   clock_coarse_ns() - client->used_ns > (uint64_t)idle_ms * CLOCK_NS_PER_MS;
    if (client->session != NULL && is_idle) {
        idle = STEAL(client->session); /* calls that still use it have their references */
    } else if (client->session != NULL) {
        session = mount_session_ref(client->session);
    }
    lock_release(&client->lock);
    if (session != NULL) {
        struct toolrack_error why;
        mount_session_tend(session);
        if (usage_exceeds(&client->options.limits, mcp_client_name(client),
                          mount_session_group(session), &why)) {
            mount_session_kill(session, &why);
            log_line(client->options.session.log, LOG_WARNING, "mcp", "%s: %s",
                     mcp_client_name(client), why.message);
        }
    }
    *ret_changed = atomic_exchange(&client->news.tools, false);
    return session != NULL && !mount_session_has_ended(session);
}

/* -------------------------------------------------------------------- list */

static int refuse_list(const struct mcp_client *client, struct toolrack_error *err,
                       const char *what) {
    return error_set(err, TOOLRACK_E_EXECUTION_FAILED,
                     "the list of tools of MCP server '%s' cannot be used: %s",
                     mcp_client_name(client), what);
}

/* Take one page. @param ret_cursor  of the next, of the page; NULL: it was the last */
static int take_page(const struct mcp_client *client, const struct message *answer, size_t *count,
                     struct buf *out, const char **ret_cursor, struct toolrack_error *err) {
    if (answer->kind == MESSAGE_FAILURE && answer->code == METHOD_UNKNOWN) {
        return refuse_list(client, err,
                           "it has no tools, and resources and prompts are offered only of "
                           "servers that have one");
    }
    if (answer->kind == MESSAGE_FAILURE) {
        return refuse_list(client, err, answer->text);
    }
    yyjson_val *tools = yyjson_obj_get(answer->result, "tools");
    if (!yyjson_is_arr(tools)) {
        return refuse_list(client, err, "it has no array \"tools\"");
    }
    size_t at;
    size_t all;
    yyjson_val *tool;
    yyjson_arr_foreach (tools, at, all, tool) {
        if (++*count > CLIENT_TOOLS_MAX) {
            return refuse_list(client, err, "it has more than 4096 tools");
        }
        buf_add_text(out, *count > 1 ? "," : "");
        json_add_value(out, tool);
    }
    *ret_cursor = yyjson_get_str(yyjson_obj_get(answer->result, "nextCursor"));
    return 0;
}

int mcp_client_list(struct mcp_client *client, const struct session_wait *wait,
                    struct buf *ret_tools, struct toolrack_error *err) {
    CLEANUP(mount_session_unrefp) struct session *session = NULL;
    CLEANUP(mcp_message_destroyp) struct message *answer = NULL;
    const char *cursor = NULL;
    size_t count = 0;
    int code = mcp_client_hold(client, wait, &session, err);
    buf_add_char(ret_tools, '[');
    for (unsigned page = 0; code == 0 && (page == 0 || cursor != NULL); page++) {
        if (page == CLIENT_PAGES_MAX) {
            return refuse_list(client, err, "it has more than 100 pages");
        }
        CLEANUP(buf_finish) struct buf text = BUF_INIT;
        uint64_t number = mount_session_number(session);
        mcp_client_begin(client, &text, number, "tools/list");
        if (cursor != NULL) {
            buf_add_text(&text, ",\"cursor\":");
            buf_add_json_string(&text, cursor, strlen(cursor));
        }
        buf_add_text(&text, "}}");
        mcp_message_destroy(answer);
        answer = NULL;
        code = mount_session_ask(session, number, &text, wait, &answer, err);
        code = code == 0 ? take_page(client, answer, &count, ret_tools, &cursor, err) : code;
    }
    buf_add_char(ret_tools, ']');
    if (code == TOOLRACK_E_CANCELLED) {
        code = refuse_list(client, err, "it did not come within \"start_ms\"");
        if (client->options.hint != NULL) {
            error_append(err, client->options.hint);
        }
    } else if (code == TOOLRACK_E_IO) {
        code = err->code = TOOLRACK_E_EXECUTION_FAILED;
    }
    return code == 0 && ret_tools->failed ? error_oom(err) : code;
}
