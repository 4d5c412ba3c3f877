/* serve/mcp: what plugins offer beside tools: resources, prompts, completion. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "mcp-server.h"
#include "toolrack/ext/prompts.h"
#include "toolrack/ext/resources.h"
#include "toolrack/plugin.h"

#include <cmocka.h> /* after plugin.h: it defines a macro named fail */

#define MANY 600 /* more than two pages */

static const struct tr_resources_host *resources_host;
static const struct tr_prompts_host *prompts_host;

/* What the plugin was told somebody wants to hear of. */
static pthread_mutex_t told_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t told_changed = PTHREAD_COND_INITIALIZER;
static int subscribed;
static int unsubscribed;

static tr_status list(struct tr_call *call) {
    tr_put_object(call, NULL);
    tr_put_array(call, "resources");
    for (int i = 0; i < MANY; i++) {
        char uri[64];
        (void)snprintf(uri, sizeof uri, "unit://many/%03d", i);
        tr_put_object(call, NULL);
        tr_put_string(call, "uri", uri);
        tr_put_string(call, "name", "one of many");
        tr_put_string(call, "title", "Title");
        tr_put_array(call, "icons");
        tr_put_object(call, NULL);
        tr_put_string(call, "src", "https://example.org/a.png");
        tr_put_end(call);
        tr_put_end(call);
        tr_put_end(call);
    }
    tr_put_end(call);
    return tr_put_end(call);
}

static tr_status templates(struct tr_call *call) {
    return tr_reply_json(call, "{\"resourceTemplates\":[{\"uriTemplate\":\"unit://{name}\","
                               "\"name\":\"by name\"}]}");
}

static tr_status read_one(struct tr_call *call) {
    const char *uri = tr_get_string(call, "uri", "");
    const char *form = NULL;
    if (strcmp(uri, "unit://text") == 0) {
        tr_log(call, TR_LOG_INFO, "reads");
        tr_progress(call, 1, 2, NULL);
        return tr_reply_resource_text(call, uri, "text/plain", "a \u2028 word");
    }
    if (strcmp(uri, "unit://ask") == 0) {
        tr_status status = tr_ask_as(call, "user", "Who?",
                                     "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":"
                                     "\"string\"}}}",
                                     &form);
        return status == TR_OK          ? tr_reply_resource_text(call, uri, NULL, form)
               : status == TR_CANCELLED ? status
                                        : tr_fail(call, TR_FAILED, NULL, "nobody says who");
    }
    if (strcmp(uri, "unit://fire") == 0) {
        return tr_fail(call, TR_FAILED, NULL, "it is on fire");
    }
    return TR_OK;
}

static tr_status count(struct tr_call *call, int *counter) {
    if (strncmp(tr_get_string(call, "uri", ""), "unit://", 7) != 0) {
        return TR_OK;
    }
    if (strcmp(tr_get_string(call, "uri", ""), "unit://refused") == 0) {
        return tr_fail(call, TR_FAILED, NULL, "this one does not change");
    }
    (void)pthread_mutex_lock(&told_lock);
    (*counter)++;
    (void)pthread_cond_broadcast(&told_changed);
    (void)pthread_mutex_unlock(&told_lock);
    return tr_reply_json(call, "{}");
}

static tr_status subscribe(struct tr_call *call) {
    return count(call, &subscribed);
}

static tr_status unsubscribe(struct tr_call *call) {
    return count(call, &unsubscribed);
}

static void wait_for(const int *counter, int wanted) {
    (void)pthread_mutex_lock(&told_lock);
    while (*counter < wanted) {
        (void)pthread_cond_wait(&told_changed, &told_lock);
    }
    (void)pthread_mutex_unlock(&told_lock);
}

static tr_status complete(struct tr_call *call) {
    return strcmp(tr_get_string(call, "ref/uri", tr_get_string(call, "ref/name", "")), "greet") == 0
                   ? tr_reply_json(call, "{\"values\":[\"world\"],\"total\":1}")
                   : TR_OK;
}

static tr_status list_prompts(struct tr_call *call) {
    return tr_reply_json(call, "{\"prompts\":[{\"name\":\"greet\",\"title\":\"Greet\","
                               "\"arguments\":[{\"name\":\"who\",\"required\":true},"
                               "{\"name\":\"how\",\"title\":\"How\"}]}]}");
}

static tr_status get_prompt(struct tr_call *call) {
    const char *name = tr_get_string(call, "name", "");
    if (strcmp(name, "greet") == 0) {
        return tr_reply_textf(call, "hello %s", tr_get_string(call, "arguments/who", "?"));
    }
    if (strcmp(name, "link") == 0) {
        return tr_reply_json(call, "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":"
                                   "\"resource_link\",\"uri\":\"unit://text\",\"name\":\"n\"}}]}");
    }
    return TR_OK;
}

static const struct tr_resources resources = {.size = sizeof resources,
                                              .list = list,
                                              .templates = templates,
                                              .read = read_one,
                                              .subscribe = subscribe,
                                              .unsubscribe = unsubscribe,
                                              .complete = complete};
static const struct tr_prompts prompts = {
        .size = sizeof prompts, .list = list_prompts, .get = get_prompt, .complete = complete};

static const void *extension(const char *id) {
    return strcmp(id, TR_EXT_RESOURCES) == 0 ? (const void *)&resources
           : strcmp(id, TR_EXT_PROMPTS) == 0 ? (const void *)&prompts
                                             : NULL;
}

static tr_status open_it(struct tr_host *host) {
    resources_host =
            (const struct tr_resources_host *)tr_host_get_extension(host, TR_EXT_RESOURCES);
    prompts_host = (const struct tr_prompts_host *)tr_host_get_extension(host, TR_EXT_PROMPTS);
    return TR_OK;
}

/* Reports what its argument names. */
static tr_status report(struct tr_call *call) {
    const char *uri = tr_get_string(call, "uri", NULL);
    if (uri != NULL) {
        tr_resource_updated(resources_host, uri);
    } else {
        tr_resources_changed(resources_host);
        tr_prompts_changed(prompts_host);
    }
    return tr_reply_text(call, "said");
}
TR_JSON_TOOL(report, "Report", "{\"type\":\"object\"}")

TR_PLUGIN(("unit", .flags = TR_THREAD_SAFE | TR_PLUGIN_RESOURCES | TR_PLUGIN_PROMPTS,
           .open = open_it, .get_extension = extension),
          "1.0.0", report)

static void open_offers(const char *config, const char *profile) {
    subscribed = unsubscribed = 0;
    server_open(config, &toolrack_plugin, profile);
}

#define READ(uri)       REQUEST("1", "resources/read", "\"uri\":\"" uri "\"," META_NONE)
#define GET(name, rest) REQUEST("1", "prompts/get", "\"name\":\"" name "\"," rest META_NONE)
#define SAY(id, argument) \
    REQUEST(id, "tools/call", "\"name\":\"report\",\"arguments\":{" argument "}")

static void the_stateless_era_reads(void **state) {
    (void)state;
    open_offers("{}", NULL);
    static const struct server_row rows[] = {
            {REQUEST("1", "server/discover", META_NONE),
             "*\"resources\":{\"listChanged\":true,\"subscribe\":true},\"prompts\":{"
             "\"listChanged\":true},\"completions\":{}*"},
            {REQUEST("1", "resources/templates/list", META_NONE),
             "{*\"resultType\":\"complete\",\"resourceTemplates\":[{\"uriTemplate\":"
             "\"unit://{name}\",\"name\":\"by "
             "name\"}],\"ttlMs\":60000,\"cacheScope\":\"public\",*"},
            {READ("unit://text"),
             "*\"resultType\":\"complete\",\"contents\":[{\"uri\":\"unit://text\",\"mimeType\":"
             "\"text/plain\",\"text\":\"a \u2028 "
             "word\"}],\"ttlMs\":0,\"cacheScope\":\"private\",*"},
            {READ("unit://none"), "*\"code\":-32602*\"data\":{\"uri\":\"unit://none\"}}}"},
            {READ("unit://fire"), "*\"code\":-32603*it is on fire*"},
            {READ(""), "*\"code\":-32602*params.uri*"},
            {REQUEST("1", "resources/read", META_NONE), "*\"code\":-32602*params.uri*"},
            {REQUEST("1", "resources/subscribe", "\"uri\":\"unit://text\"," META_NONE),
             "*\"code\":-32601*"},
            {REQUEST("1", "prompts/list", META_NONE),
             "*\"prompts\":[{\"name\":\"greet\",*\"title\":\"Greet\"*}],\"ttlMs\":60000,*"},
            {GET("greet", "\"arguments\":{\"who\":\"you\"},"),
             "*\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":"
             "\"hello you\"}}],\"_meta\"*"},
            {GET("greet", ""), "*\"code\":-32602*the prompt greet needs the argument who*"},
            {GET("greet", "\"arguments\":{\"who\":1},"), "*\"code\":-32602*who must be a string*"},
            {GET("greet", "\"arguments\":[],"), "*\"code\":-32602*must be an object*"},
            {GET("none", ""), "*\"code\":-32602*unknown prompt: none; prompts/list has*"},
            {GET("gret", ""), "*\"code\":-32602*unknown prompt: gret; did you mean greet?*"},
            {REQUEST("1", "prompts/get", META_NONE),
             "*\"code\":-32602*params.name must be a string*"},
            {GET("gr\\u0000eet", ""), "*\"code\":-32602*params.name has a zero character*"},
            {REQUEST("1", "completion/complete",
                     "\"ref\":{\"type\":\"ref/prompt\",\"name\":\"greet\"},\"argument\":{\"name\":"
                     "\"who\",\"value\":\"w\"}," META_NONE),
             "*\"completion\":{\"values\":[\"world\"],\"total\":1},\"_meta\"*"},
            {REQUEST("1", "completion/complete",
                     "\"ref\":{\"type\":\"ref/prompt\",\"name\":\"none\"},\"argument\":{\"name\":"
                     "\"who\",\"value\":\"w\"}," META_NONE),
             "*\"completion\":{\"values\":[]}*"},
            {REQUEST("1", "completion/complete", "\"ref\":{\"type\":\"ref/tool\"}," META_NONE),
             "*\"code\":-32602*/ref/type*"},
    };
    server_check_rows(rows, ARRAY_LENGTH(rows));
    server_close();
}

static void the_handshake_era_reads(void **state) {
    (void)state;
    open_offers("{}", NULL);
    static const struct server_row rows[] = {
            {INITIALIZE_WITH("2024-11-05", "{}"),
             "*\"prompts\":{\"listChanged\":true}},\"serverInfo\":{\"name\":\"toolrack\","
             "\"version\":*"},
            {INITIALIZE_WITH("2025-06-18", "{}"),
             "*\"prompts\":{\"listChanged\":true},\"completions\":{}},\"serverInfo\":{\"name\":"
             "\"toolrack\",\"title\":\"toolrack\",\"version\":*"},
            {INITIALIZE_WITH("2025-03-26", "{}"),
             "*\"resources\":{\"listChanged\":true,\"subscribe\":true},\"prompts\":*"},
            {REQUEST("2", "resources/read", "\"uri\":\"unit://text\""),
             "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"contents\":[{\"uri\":\"unit://text\","
             "\"mimeType\":\"text/plain\",\"text\":\"a \u2028 word\"}]}}"},
            {REQUEST("2", "resources/read", "\"uri\":\"unit://none\""),
             "*\"code\":-32002*\"data\":{\"uri\":\"unit://none\"}}}"},
            /* The first revision has no titles, icons and links. */
            {REQUEST("3", "prompts/list", ""),
             "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"prompts\":[{\"name\":\"greet\","
             "\"arguments\":[{\"name\":\"who\",\"required\":true},{\"name\":\"how\"}]}]}}"},
            {REQUEST("4", "prompts/get", "\"name\":\"link\""),
             "*\"content\":{\"type\":\"text\",\"text\":\"n: unit://text\"}}]}}"},
            {REQUEST("5", "completion/complete",
                     "\"ref\":{\"type\":\"ref/resource\",\"uri\":\"greet\"},\"argument\":{"
                     "\"name\":\"who\",\"value\":\"\"}"),
             "{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{\"completion\":{\"values\":[\"world\"],"
             "\"total\":1}}}"},
            {REQUEST("6", "resources/list", "\"cursor\":\"\""),
             "{*{\"uri\":\"unit://many/000\",\"name\":\"one of many\"},*"},
    };
    server_check_rows(rows, ARRAY_LENGTH(rows));
    server_close();
}

/* The member nextCursor of an answer; "" without one. */
static void take_cursor(const char *answer, char *ret, size_t room) {
    const char *at = strstr(answer, "\"nextCursor\":\"");
    ret[0] = '\0';
    if (at != NULL) {
        at += strlen("\"nextCursor\":\"");
        (void)snprintf(ret, room, "%.*s", (int)strcspn(at, "\""), at);
    }
}

static void lists_have_pages(void **state) {
    (void)state;
    open_offers("{}", NULL);
    char cursor[512] = "";
    char first[512] = "";
    char message[1024];
    size_t found = 0;
    int pages = 0;
    do {
        struct talk talk;
        (void)snprintf(message, sizeof message,
                       REQUEST("1", "resources/list", "\"cursor\":\"%s\"," META_NONE), cursor);
        talk_pipe(&talk, server_pipe, message);
        const char *answer = talk_wait(&talk);
        for (const char *at = answer; (at = strstr(at, "\"uri\":")) != NULL; at++, found++) {
            char uri[64];
            (void)snprintf(uri, sizeof uri, "\"uri\":\"unit://many/%03zu\"", found);
            assert_memory_equal(at, uri, strlen(uri));
        }
        take_cursor(answer, cursor, sizeof cursor);
        if (pages == 0) {
            memcpy(first, cursor, sizeof first);
        }
        talk_finish(&talk);
        pages++;
    } while (cursor[0] != '\0');
    assert_int_equal(found, MANY);
    assert_int_equal(pages, 3);
    /* A cursor is one of its list. */
    (void)snprintf(message, sizeof message,
                   REQUEST("1", "prompts/list", "\"cursor\":\"%s\"," META_NONE), first);
    server_check(message, "*\"code\":-32602*cursor*");
    (void)snprintf(message, sizeof message,
                   REQUEST("1", "tools/list", "\"cursor\":\"%s\"," META_NONE), first);
    server_check(message, "*\"code\":-32602*cursor*");
    server_check(REQUEST("1", "resources/list", "\"cursor\":\"zebra\"," META_NONE),
                 "*\"code\":-32602*cursor*");
    server_check(REQUEST("1", "resources/list", "\"cursor\":7," META_NONE),
                 "*\"code\":-32602*cursor*");
    server_close();
}

static void a_resource_asks_in_rounds(void **state) {
    (void)state;
    open_offers("{}", NULL);
    struct talk talk;
    talk_pipe(&talk, server_pipe,
              REQUEST("1", "resources/read",
                      "\"uri\":\"unit://ask\"," META_OF("{\"elicitation\":{}}")));
    assert_matches(talk_wait(&talk), "*\"resultType\":\"input_required\",\"inputRequests\":{"
                                     "\"user\":{\"method\":\"elicitation/create\",*");
    assert_null(strstr(talk.answer, "ttlMs"));
    const char *at = strstr(talk.answer, "\"requestState\":\"");
    assert_non_null(at);
    at += strlen("\"requestState\":\"");
    char message[4096];
    (void)snprintf(message, sizeof message,
                   REQUEST("2", "resources/read",
                           "\"uri\":\"%s\",\"inputResponses\":{\"user\":{\"action\":\"accept\","
                           "\"content\":{\"name\":\"me\"}}},\"requestState\":\"%.*s\"," META_OF(
                                   "{\"elicitation\":{}}")),
                   "unit://ask", (int)strcspn(at, "\""), at);
    server_check(message, "*\"resultType\":\"complete\",\"contents\":*\\\"name\\\":\\\"me\\\"*");
    (void)snprintf(
            message, sizeof message,
            REQUEST("3", "resources/read", "\"uri\":\"%s\",\"requestState\":\"%.*s\"," META_NONE),
            "unit://text", (int)strcspn(at, "\""), at);
    server_check(message, "*\"code\":-32602*requestState*");
    talk_finish(&talk);
    server_check(READ("unit://ask"), "*\"code\":-32021*the request needs*\"elicitation\"*");
    server_close();
}

/* ------------------------------------------------------------ subscriptions */

/* Wait until a message like this was sent after the first `count`; its number. Lists may be told as
 * changed before, since the plugin was registered only now. */
static size_t wait_for_message(struct talk *talk, size_t count, const char *pattern) {
    do {
        (void)talk_wait_sent(talk, ++count);
    } while (!matches(talk->sent[count - 1], pattern));
    return count;
}

static void clients_hear_of_what_they_subscribed_to(void **state) {
    (void)state;
    open_offers("{}", NULL);
    static const struct server_row rows[] = {
            {INITIALIZE_WITH("2025-11-25", "{}"), "*\"protocolVersion\":\"2025-11-25\"*"},
            {REQUEST("2", "resources/subscribe", "\"uri\":\"unit://text\""),
             "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}"},
            {REQUEST("2", "resources/subscribe", "\"uri\":\"unit://text\""),
             "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}"},
            {REQUEST("3", "resources/subscribe", "\"uri\":\"unit://refused\""),
             "*\"code\":-32603*does not change*"},
            {REQUEST("4", "resources/subscribe", ""), "*\"code\":-32602*params.uri*"},
            {SAY("5", "\"uri\":\"unit://refused\""), "*said*"},
            {SAY("6", "\"uri\":\"unit://text\""), "*said*"},
    };
    server_check_rows(rows, ARRAY_LENGTH(rows));
    size_t sent =
            wait_for_message(&server_way, 0,
                             "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/updated\","
                             "\"params\":{\"uri\":\"unit://*");
    assert_matches(server_way.sent[sent - 1], "*unit://text\"}}"); /* not the one refused */
    /* Nothing of what it has left; the plugin hears that nobody listens. */
    assert_int_equal(unsubscribed, 0);
    server_check(REQUEST("7", "resources/unsubscribe", "\"uri\":\"unit://text\""),
                 "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}");
    assert_int_equal(unsubscribed, 1);
    server_check(REQUEST("8", "resources/unsubscribe", "\"uri\":\"unit://text\""),
                 "{\"jsonrpc\":\"2.0\",\"id\":8,\"result\":{}}");
    assert_int_equal(unsubscribed, 1);
    server_check(SAY("9", "\"uri\":\"unit://text\""), "*said*");
    server_check(SAY("10", ""), "*said*");
    sent = wait_for_message(&server_way, sent, "*\"notifications/prompts/list_changed\"}");
    (void)wait_for_message(&server_way, sent, "*\"notifications/resources/list_changed\"}");
    for (size_t i = 0, updates = 0; i < server_way.sent_count; i++) {
        updates += matches(server_way.sent[i], "*resources/updated*");
        assert_true(updates <= 1);
    }
    server_close();
}

static void a_subscription_hears_of_resources(void **state) {
    (void)state;
    open_offers("{}", NULL);
    struct talk talk;
    talk_pipe(&talk, server_pipe,
              REQUEST("\"s\"", "subscriptions/listen",
                      "\"notifications\":{\"resourcesListChanged\":true,"
                      "\"resourceSubscriptions\":[\"unit://text\"]}," META_NONE));
    assert_matches(talk_wait_sent(&talk, 1),
                   "*acknowledged*\"resourceSubscriptions\":[\"unit://text\"]*");
    wait_for(&subscribed, 1);
    static const struct server_row rows[] = {
            {REQUEST("1", "tools/call",
                     "\"name\":\"report\",\"arguments\":{\"uri\":\"unit://other\"}," META_NONE),
             "*said*"},
            {REQUEST("2", "tools/call",
                     "\"name\":\"report\",\"arguments\":{\"uri\":\"unit://text\"}," META_NONE),
             "*said*"},
    };
    server_check_rows(rows, ARRAY_LENGTH(rows));
    size_t sent = wait_for_message(&talk, 1, "*\"notifications/resources/updated\"*");
    assert_matches(talk.sent[sent - 1],
                   "*\"params\":{\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":\"s\"},"
                   "\"uri\":\"unit://text\"}}");
    server_check(REQUEST("3", "tools/call", "\"name\":\"report\"," META_NONE), "*said*");
    (void)wait_for_message(&talk, sent, "*\"notifications/resources/list_changed\"*");
    struct talk cancel;
    talk_pipe(&cancel, server_pipe,
              "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
              "\"requestId\":\"s\"}}");
    (void)talk_wait(&talk);
    wait_for(&unsubscribed, 1);
    talk_finish(&cancel);
    talk_finish(&talk);
    server_close();
}

/* A subscription to `count` resources, each with a URI of `length` bytes. */
static void listen_to(struct talk *talk, const struct principal *who, size_t count, size_t length) {
    static const struct mcp_headers headers = {.version = "2026-07-28",
                                               .method = "subscriptions/listen"};
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    buf_add_text(&text, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"subscriptions/listen\","
                        "\"params\":{" META_NONE ",\"notifications\":{\"resourceSubscriptions\":[");
    for (size_t i = 0; i < count; i++) {
        buf_printf(&text, "%s\"unit://%0*zu\"", i > 0 ? "," : "", (int)(length - 7), i);
    }
    buf_add_text(&text, "]}}}");
    assert_false(text.failed);
    talk_post(talk, server_mcp, who, &headers, text.data);
}

static void the_memory_of_subscriptions_is_bounded(void **state) {
    (void)state;
    enum { SUBSCRIPTIONS = 400 };
    static const struct principal greedy = {.id = "token:greedy", .permissions = ~0u};
    static const struct principal modest = {.id = "token:modest", .permissions = ~0u};
    open_offers("{}", NULL);
    struct talk talk;
    listen_to(&talk, &greedy, 17, 4000);
    assert_matches(talk_wait(&talk), "*\"code\":-32602,*at most 65536 bytes together*");
    talk_finish(&talk);
    struct talk *talks = calloc(SUBSCRIPTIONS, sizeof *talks);
    size_t count = 0;
    do {
        listen_to(&talks[count], &greedy, 16, 4000);
    } while (!talks[count++].finished && count < SUBSCRIPTIONS);
    assert_true(talks[count - 1].finished);
    assert_matches(talks[count - 1].answer, "*take as much memory as they may*");
    assert_true(count > 8);
    /* It leaves room for others, and gives back what it ends. */
    listen_to(&talk, &modest, 16, 4000);
    assert_matches(talk_wait_sent(&talk, 1), "*acknowledged*unit://*");
    mcp_gone(&talk.exchange);
    (void)talk_wait(&talk);
    talk_finish(&talk);
    for (size_t i = 0; i < count; i++) {
        mcp_gone(&talks[i].exchange);
        (void)talk_wait(&talks[i]);
        talk_finish(&talks[i]);
    }
    free(talks);
    listen_to(&talk, &greedy, 16, 4000);
    assert_matches(talk_wait_sent(&talk, 1), "*acknowledged*unit://*");
    mcp_gone(&talk.exchange);
    (void)talk_wait(&talk);
    talk_finish(&talk);
    server_close();
}

/* ---------------------------------------------------------------- principals */

#define PROFILES                                                                       \
    "{\"serve\":{\"profiles\":{\"none\":{\"tools\":[\"other\"]},\"some\":{\"tools\":[" \
    "\"report\"]}}}}"

static void a_part_is_shown_what_its_plugins_offer(void **state) {
    (void)state;
    open_offers(PROFILES, "some");
    server_check(REQUEST("1", "prompts/list", META_NONE),
                 "*\"prompts\":[{\"name\":\"greet\"*\"cacheScope\":\"private\"*");
    server_check(READ("unit://text"), "*\"contents\":*");
    server_close();
    open_offers(PROFILES, "none");
    static const struct server_row rows[] = {
            {REQUEST("1", "prompts/list", META_NONE), "*\"prompts\":[],*"},
            {REQUEST("1", "resources/list", META_NONE), "*\"resources\":[],*"},
            {READ("unit://text"), "*\"code\":-32602*unknown resource*"},
            {GET("greet", "\"arguments\":{\"who\":\"you\"},"), "*unknown prompt*"},
    };
    server_check_rows(rows, ARRAY_LENGTH(rows));
    server_close();
}

static void a_list_of_tools_is_one_of_plugins(void **state) {
    (void)state;
    open_offers("{}", NULL);
    static const char *const own[] = {"report", NULL};
    static const char *const other[] = {"other", NULL};
    const struct principal has = {.id = "token:1", .permissions = ~0u, .allow = own};
    const struct principal has_not = {.id = "token:2", .permissions = ~0u, .allow = other};
    server_check_post(&has, "resources/read", "unit://text", READ("unit://text"), "*\"contents\"*");
    server_check_post(&has_not, "resources/read", "unit://text", READ("unit://text"),
                      "*unknown resource*");
    server_check_post(&has_not, "prompts/list", NULL, REQUEST("1", "prompts/list", META_NONE),
                      "*\"prompts\":[],*\"private\"*");
    server_close();
}

static void without_the_permission_nothing_is_read(void **state) {
    (void)state;
    open_offers("{}", NULL);
    const struct principal nobody = {.id = "token:1", .permissions = 0};
    server_check_post(&nobody, "resources/read", "unit://text", READ("unit://text"),
                      "*\"error\"*the scope that the resource needs*");
    server_check_post(&nobody, "prompts/get", "greet",
                      GET("greet", "\"arguments\":{\"who\":\"you\"},"),
                      "*\"error\"*the scope that the prompt needs*");
    server_check_post(&server_principal, "resources/read", "unit://text", READ("unit://text"),
                      "*\"contents\"*");
    /* The header repeats the address. */
    server_check_post(&server_principal, "resources/read", "unit://other", READ("unit://text"),
                      "*\"code\":-32020*");
    server_close();
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(the_stateless_era_reads),
            cmocka_unit_test(the_handshake_era_reads),
            cmocka_unit_test(lists_have_pages),
            cmocka_unit_test(a_resource_asks_in_rounds),
            cmocka_unit_test(clients_hear_of_what_they_subscribed_to),
            cmocka_unit_test(a_subscription_hears_of_resources),
            cmocka_unit_test(the_memory_of_subscriptions_is_bounded),
            cmocka_unit_test(a_part_is_shown_what_its_plugins_offer),
            cmocka_unit_test(a_list_of_tools_is_one_of_plugins),
            cmocka_unit_test(without_the_permission_nothing_is_read),
    };
    return cmocka_run_group_tests_name("mcp-offers", tests, NULL, NULL);
}
