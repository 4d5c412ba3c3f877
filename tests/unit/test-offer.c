/* What plugins offer beside tools, and what they report outside of calls: in the host's process and
 * in workers, and of the app itself. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "patience.h"
#include "remove-tree.h"
#include "toolrack/ext/prompts.h"
#include "toolrack/ext/resources.h"
#include "toolrack/offer.h"
#include "toolrack/plugin.h"

CLEANUP_DEFINE(struct toolrack_text, toolrack_text_unref)
CLEANUP_DEFINE(struct toolrack_tool, toolrack_tool_unref)

/* What a host has told. */
struct setup {
    char root[64];
    char state[96];
    char config[96]; /* "": none */
    struct toolrack *host;
    enum toolrack_isolation isolation;
    pthread_mutex_t pause; /* held: an update that is told waits, and all after it */
    pthread_mutex_t lock;  /* guards what follows */
    pthread_cond_t changed;
    unsigned resources, prompts, updates;
    char last_update[64];
    char lines[16384];
};

static void hear(void *user, const struct toolrack_event *event) {
    struct setup *setup = user;
    if (event->kind == TOOLRACK_EVENT_RESOURCE_UPDATED) {
        (void)pthread_mutex_lock(&setup->pause);
        (void)pthread_mutex_unlock(&setup->pause);
    }
    (void)pthread_mutex_lock(&setup->lock);
    setup->resources += event->kind == TOOLRACK_EVENT_RESOURCES_CHANGED;
    setup->prompts += event->kind == TOOLRACK_EVENT_PROMPTS_CHANGED;
    if (event->kind == TOOLRACK_EVENT_RESOURCE_UPDATED) {
        setup->updates++;
        (void)snprintf(setup->last_update, sizeof setup->last_update, "%s", event->message);
    }
    (void)pthread_cond_broadcast(&setup->changed);
    (void)pthread_mutex_unlock(&setup->lock);
}

static void log_it(void *user, enum toolrack_log_level level, const char *source,
                   const char *line) {
    struct setup *setup = user;
    (void)pthread_mutex_lock(&setup->lock);
    size_t length = strlen(setup->lines);
    if (level >= TOOLRACK_LOG_INFO && length < sizeof setup->lines - 1) {
        (void)snprintf(setup->lines + length, sizeof setup->lines - length, "%s: %s\n", source,
                       line);
    }
    (void)pthread_mutex_unlock(&setup->lock);
}

static bool is_logged(struct setup *setup, const char *words) {
    (void)pthread_mutex_lock(&setup->lock);
    bool is = strstr(setup->lines, words) != NULL;
    (void)pthread_mutex_unlock(&setup->lock);
    return is;
}

/* Put a fixture there as the file of that name, by a rename. */
static void put_as(const struct setup *setup, const char *name, const char *fixture) {
    char from[256];
    char aside[192];
    char to[192];
    (void)snprintf(from, sizeof from, "%s/%s.so", TEST_PLUGINS, fixture);
    (void)snprintf(aside, sizeof aside, "%s/aside", setup->root);
    (void)snprintf(to, sizeof to, "%s/%s.so", setup->root, name);
    assert_int_equal(symlink(from, aside), 0);
    assert_int_equal(rename(aside, to), 0);
}

static void put(const struct setup *setup, const char *fixture) {
    put_as(setup, fixture, fixture);
}

static void start(struct setup *setup) {
    const char *const dirs[] = {setup->root, NULL};
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    struct toolrack_error err;
    options.config_file = setup->config;
    options.state_dir = setup->state;
    options.plugin_dirs = dirs;
    options.isolation = setup->isolation;
    options.event = hear;
    options.log = log_it;
    options.log_level = TOOLRACK_LOG_INFO;
    options.user = setup;
    if (toolrack_open(&options, &setup->host, &err) < 0) {
        fail_msg("%s", err.message);
    }
}

static int set_up(void **state, enum toolrack_isolation isolation) {
    struct setup *setup = calloc(1, sizeof *setup);
    *state = setup;
    setup->isolation = isolation;
    strcpy(setup->root, "/tmp/toolrack-offer-XXXXXX");
    (void)pthread_mutex_init(&setup->pause, NULL);
    (void)pthread_mutex_init(&setup->lock, NULL);
    (void)pthread_cond_init(&setup->changed, NULL);
    (void)alarm(PATIENCE_S * 4);
    if (mkdtemp(setup->root) == NULL) {
        return -1;
    }
    (void)snprintf(setup->state, sizeof setup->state, "%s/state", setup->root);
    return 0;
}

static int in_process(void **state) {
    return set_up(state, TOOLRACK_ISOLATION_NONE);
}

static int in_workers(void **state) {
    return set_up(state, TOOLRACK_ISOLATION_PROCESS);
}

static int teardown(void **state) {
    struct setup *setup = *state;
    toolrack_close(setup->host);
    (void)alarm(0);
    int code = remove_tree(setup->root);
    (void)pthread_mutex_destroy(&setup->pause);
    (void)pthread_mutex_destroy(&setup->lock);
    (void)pthread_cond_destroy(&setup->changed);
    free(setup);
    return code;
}

static int ask(const struct setup *setup, enum toolrack_offer what, const char *arguments,
               const struct toolrack_call_options *options, char *json, size_t room,
               struct toolrack_error *err) {
    struct toolrack_result *result = NULL;
    *err = (struct toolrack_error){0};
    int code = toolrack_offer_call(setup->host, what, arguments, options, &result, err);
    (void)snprintf(json, room, "%s", code == 0 ? toolrack_result_json(result, NULL) : "");
    toolrack_result_free(result);
    return code;
}

static void expect(const struct setup *setup, enum toolrack_offer what, const char *arguments,
                   const char *json) {
    char got[8192];
    struct toolrack_error err;
    if (ask(setup, what, arguments, NULL, got, sizeof got, &err) < 0) {
        fail_msg("%s: %s", arguments, err.message);
    }
    assert_string_equal(got, json);
}

static void expect_error(const struct setup *setup, enum toolrack_offer what, const char *arguments,
                         int code, const char *words) {
    char got[8192];
    struct toolrack_error err;
    int failed = ask(setup, what, arguments, NULL, got, sizeof got, &err);
    if (failed != code || strstr(err.message, words) == NULL) {
        fail_msg("%s: %d \"%s\" %s", arguments, failed, err.message, got);
    }
}

/* ---------------------------------------------------------------- one plugin */

#define TEXT_RESOURCE(id)                                                                         \
    "{\"uri\":\"test://" id "/text\",\"size\":5,\"name\":\"text\",\"mimeType\":\"text/plain\","   \
    "\"annotations\":{\"priority\":0.5},\"description\":\"hid\\\\u200bden\",\"icons\":[{\"src\":" \
    "\"https://example.org/a.png\"}]}"
#define SHARED_RESOURCE(id) \
    "{\"uri\":\"test://shared\",\"name\":\"shared\",\"title\":\"The one of " id "\"}"

static void resources_are_listed_and_read(void **state) {
    struct setup *setup = *state;
    put(setup, "offers");
    start(setup);
    assert_true(toolrack_offers(setup->host, TOOLRACK_OFFER_RESOURCES));
    assert_true(toolrack_offers(setup->host, TOOLRACK_OFFER_COMPLETE));
    expect(setup, TOOLRACK_OFFER_RESOURCES, NULL,
           "{\"resources\":[" SHARED_RESOURCE("offers") "," TEXT_RESOURCE("offers") "]}");
    assert_true(is_logged(setup, "offers: 3 of its resources are left out: one has no URI"));
    expect(setup, TOOLRACK_OFFER_TEMPLATES, "{}",
           "{\"resourceTemplates\":[{\"uriTemplate\":\"test://offers/{name}/{?part}\",\"name\":"
           "\"by name\"}]}");
    expect(setup, TOOLRACK_OFFER_READ, "{\"uri\":\"test://offers/text\"}",
           "{\"contents\":[{\"uri\":\"test://offers/text\",\"mimeType\":\"text/plain\",\"text\":"
           "\"words\"},{\"uri\":\"test://offers/text\",\"blob\":\"YWJj\"}]}");
    expect(setup, TOOLRACK_OFFER_READ, "{\"uri\":\"test://offers/json\"}",
           "{\"contents\":[{\"uri\":\"test://j\",\"text\":\"t\"}]}");
    expect_error(setup, TOOLRACK_OFFER_READ, "{\"uri\":\"test://unknown\"}", TOOLRACK_E_NOT_FOUND,
                 "no plugin offers this resource");
    expect_error(setup, TOOLRACK_OFFER_READ, "{\"uri\":\"test://offers/wrong\"}",
                 TOOLRACK_E_EXECUTION_FAILED, "the reply of plugin 'offers' cannot be used");
    expect_error(setup, TOOLRACK_OFFER_READ, "{\"uri\":\"test://offers/fail\"}",
                 TOOLRACK_E_EXECUTION_FAILED, "it is on fire");
    expect_error(setup, TOOLRACK_OFFER_READ, "{}", TOOLRACK_E_INVALID_ARGUMENTS, "must be a text");
    expect_error(setup, TOOLRACK_OFFER_READ, "[", TOOLRACK_E_INVALID_ARGUMENTS, "one JSON object");
    expect_error(setup, (enum toolrack_offer)99, "{}", TOOLRACK_E_INVALID_ARGUMENTS,
                 "does not know");
}

static void prompts_are_listed_and_filled_in(void **state) {
    struct setup *setup = *state;
    put(setup, "offers");
    start(setup);
    assert_true(toolrack_offers(setup->host, TOOLRACK_OFFER_PROMPT));
    expect(setup, TOOLRACK_OFFER_PROMPTS, NULL,
           "{\"prompts\":[{\"name\":\"shared\"},{\"name\":\"greet_offers\",\"arguments\":[{"
           "\"name\":\"who\",\"required\":true}],\"description\":\"Greets\"}]}");
    expect(setup, TOOLRACK_OFFER_PROMPT,
           "{\"name\":\"greet_offers\",\"arguments\":{\"who\":\"Ann\"}}",
           "{\"description\":\"A greeting\",\"messages\":[{\"role\":\"assistant\",\"content\":{"
           "\"type\":\"text\",\"text\":\"Ann\"}}]}");
    expect(setup, TOOLRACK_OFFER_PROMPT, "{\"name\":\"shared\"}",
           "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"from "
           "offers\"}}]}");
    expect(setup, TOOLRACK_OFFER_PROMPT, "{\"name\":\"picture_offers\"}",
           "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"look\"}},"
           "{\"role\":\"user\",\"content\":{\"type\":\"image\",\"data\":\"YWJj\",\"mimeType\":"
           "\"image/png\"}}]}");
    expect_error(setup, TOOLRACK_OFFER_PROMPT, "{\"name\":\"wrong_offers\"}",
                 TOOLRACK_E_EXECUTION_FAILED, "a message of the prompt is none");
    expect_error(setup, TOOLRACK_OFFER_PROMPT, "{\"name\":\"unknown\"}", TOOLRACK_E_NOT_FOUND,
                 "no plugin offers this prompt");
}

static void arguments_are_completed(void **state) {
    struct setup *setup = *state;
    put(setup, "offers");
    start(setup);
    expect(setup, TOOLRACK_OFFER_COMPLETE,
           "{\"ref\":{\"type\":\"ref/resource\",\"uri\":\"test://offers/{name}\"},\"argument\":{"
           "\"name\":\"name\",\"value\":\"\"}}",
           "{\"completion\":{\"values\":[\"a\",\"b\"],\"total\":3}}");
    expect(setup, TOOLRACK_OFFER_COMPLETE,
           "{\"ref\":{\"type\":\"ref/resource\",\"uri\":\"test://else\"},\"argument\":{\"name\":"
           "\"name\",\"value\":\"\"}}",
           "{\"completion\":{\"values\":[]}}");
    char got[8192];
    struct toolrack_error err;
    assert_int_equal(ask(setup, TOOLRACK_OFFER_COMPLETE,
                         "{\"ref\":{\"type\":\"ref/prompt\",\"name\":\"greet_offers\"},"
                         "\"argument\":{\"name\":\"who\",\"value\":\"v\"}}",
                         NULL, got, sizeof got, &err),
                     0);
    assert_non_null(strstr(got, "\"v99\"],\"total\":150,\"hasMore\":true}}")); /* 100 at most */
    expect_error(setup, TOOLRACK_OFFER_COMPLETE, "{\"ref\":{\"type\":\"ref/tool\"}}",
                 TOOLRACK_E_INVALID_ARGUMENTS, "ref/prompt or ref/resource");
}

/* ------------------------------------------------------------ like a tool's call */

static int answer(void *user, struct toolrack_input *inputs, size_t count) {
    bool *is_later = user;
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(inputs[i].key, "ask-1");
        inputs[i].answer = TOOLRACK_ANSWER_ACCEPTED;
    }
    return *is_later ? TOOLRACK_INPUT_LATER : 0;
}

static void a_resource_may_ask(void **state) {
    struct setup *setup = *state;
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    struct toolrack_error err;
    bool is_later = true;
    char got[512];
    put(setup, "offers");
    start(setup);
    options.user = &is_later;
    options.input = answer;
    assert_int_equal(ask(setup, TOOLRACK_OFFER_READ, "{\"uri\":\"test://offers/ask\"}", &options,
                         got, sizeof got, &err),
                     TOOLRACK_E_INPUT_REQUIRED);
    is_later = false;
    assert_int_equal(ask(setup, TOOLRACK_OFFER_READ, "{\"uri\":\"test://offers/ask\"}", &options,
                         got, sizeof got, &err),
                     0);
    assert_non_null(strstr(got, "\"text\":\"yes\""));
}

static void requests_are_logged_and_counted_nowhere(void **state) {
    struct setup *setup = *state;
    struct toolrack_error err;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *log = NULL;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *statistics = NULL;
    struct toolrack_log_filter filter = TOOLRACK_LOG_FILTER_INIT;
    put(setup, "offers");
    start(setup);
    expect(setup, TOOLRACK_OFFER_READ, "{\"uri\":\"test://shared\"}",
           "{\"contents\":[{\"uri\":\"test://shared\",\"text\":\"of offers\"}]}");
    for (int i = 0; i < 6; i++) {
        expect_error(setup, TOOLRACK_OFFER_READ, "{\"uri\":\"test://offers/fail\"}",
                     TOOLRACK_E_EXECUTION_FAILED, "it is on fire");
    }
    assert_int_equal(toolrack_log(setup->host, &filter, &log, &err), 0);
    assert_non_null(strstr(toolrack_text_data(log, NULL), "\"resources/read\""));
    assert_non_null(strstr(toolrack_text_data(log, NULL), "\"plugin\":\"offers\""));
    assert_int_equal(toolrack_statistics(setup->host, NULL, &statistics, &err), 0);
    assert_null(strstr(toolrack_text_data(statistics, NULL), "resources/read"));
    assert_false(is_logged(setup, "blacklist"));
}

struct submitted {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct toolrack_call *call;
    bool is_over;
    int code;
};

static void on_done(void *user, struct toolrack_result *result, const struct toolrack_error *err) {
    struct submitted *submitted = user;
    toolrack_result_free(result);
    (void)pthread_mutex_lock(&submitted->lock);
    submitted->code = err != NULL ? err->code : 0;
    submitted->is_over = true;
    (void)pthread_cond_broadcast(&submitted->changed);
    (void)pthread_mutex_unlock(&submitted->lock);
}

/* The resource waits until it is cancelled, which its progress leads to. */
static void cancel_it(void *user, double done, double total, const char *message) {
    struct submitted *submitted = user;
    (void)done;
    (void)total;
    assert_string_equal(message, "waiting");
    (void)pthread_mutex_lock(&submitted->lock);
    AWAIT_SIGNALLED(submitted->call != NULL, &submitted->changed, &submitted->lock);
    (void)pthread_mutex_unlock(&submitted->lock);
    toolrack_cancel(submitted->call);
}

static void a_request_is_cancelled(void **state) {
    struct setup *setup = *state;
    struct submitted submitted = {.lock = PTHREAD_MUTEX_INITIALIZER,
                                  .changed = PTHREAD_COND_INITIALIZER};
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    struct toolrack_call *call = NULL;
    put(setup, "offers");
    start(setup);
    options.user = &submitted;
    options.progress = cancel_it;
    options.deadline_ms = PATIENCE_S * 1000;
    assert_int_equal(toolrack_offer_submit(setup->host, TOOLRACK_OFFER_READ,
                                           "{\"uri\":\"test://offers/wait\"}", &options, on_done,
                                           &submitted, &call, NULL),
                     0);
    (void)pthread_mutex_lock(&submitted.lock);
    submitted.call = call;
    (void)pthread_cond_broadcast(&submitted.changed);
    AWAIT_SIGNALLED(submitted.is_over, &submitted.changed, &submitted.lock);
    (void)pthread_mutex_unlock(&submitted.lock);
    assert_int_equal(submitted.code, TOOLRACK_E_CANCELLED);
    toolrack_cancel(call); /* nothing happens */
    toolrack_call_unref(call);
}

/* ----------------------------------------------------------- several plugins */

static void of_two_plugins_the_first_has_a_name(void **state) {
    struct setup *setup = *state;
    put(setup, "offers");
    put(setup, "offers2");
    start(setup);
    expect(setup, TOOLRACK_OFFER_RESOURCES, NULL,
           "{\"resources\":[" SHARED_RESOURCE("offers") "," TEXT_RESOURCE("offers") "," //
           TEXT_RESOURCE("offers2") "]}");
    assert_true(is_logged(
            setup,
            "offers2: 'test://shared' of its resources is left out: plugin 'offers' has it"));
    expect(setup, TOOLRACK_OFFER_READ, "{\"uri\":\"test://shared\"}",
           "{\"contents\":[{\"uri\":\"test://shared\",\"text\":\"of offers\"}]}");
    expect(setup, TOOLRACK_OFFER_READ, "{\"uri\":\"test://offers2/json\"}",
           "{\"contents\":[{\"uri\":\"test://j\",\"text\":\"t\"}]}");
    expect(setup, TOOLRACK_OFFER_PROMPT, "{\"name\":\"greet_offers2\"}",
           "{\"description\":\"A greeting\",\"messages\":[{\"role\":\"assistant\",\"content\":{"
           "\"type\":\"text\",\"text\":\"nobody\"}}]}");
}

static void a_choice_of_plugins_is_asked(void **state) {
    struct setup *setup = *state;
    put(setup, "offers");
    put(setup, "offers2");
    start(setup);
    static const char *const second[] = {"offers2", NULL};
    static const char *const none[] = {NULL};
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    struct toolrack_error err;
    char json[4096];
    options.plugins = second;
    assert_int_equal(ask(setup, TOOLRACK_OFFER_READ, "{\"uri\":\"test://shared\"}", &options, json,
                         sizeof json, &err),
                     0);
    assert_non_null(strstr(json, "of offers2"));
    assert_int_equal(ask(setup, TOOLRACK_OFFER_READ, "{\"uri\":\"test://offers/text\"}", &options,
                         json, sizeof json, &err),
                     TOOLRACK_E_NOT_FOUND);
    options.plugins = none;
    assert_int_equal(ask(setup, TOOLRACK_OFFER_PROMPTS, NULL, &options, json, sizeof json, &err),
                     0);
    assert_string_equal(json, "{\"prompts\":[]}");
}

static tr_status app_list(struct tr_call *call) {
    return tr_reply_json(call, "{\"resources\":[{\"uri\":\"test://shared\",\"name\":\"app's\"}]}");
}

static tr_status app_read(struct tr_call *call) {
    const char *uri = tr_get_string(call, "uri", "");
    return strcmp(uri, "test://shared") == 0 ? tr_reply_resource_text(call, uri, NULL, "of the app")
                                             : TR_OK;
}

static const void *app_extension(const char *id) {
    static const struct tr_resources resources = {
            .size = sizeof resources, .list = app_list, .read = app_read};
    return strcmp(id, TR_EXT_RESOURCES) == 0 ? &resources : NULL;
}

static tr_status nothing(struct tr_call *call) {
    (void)call;
    return TR_OK;
}

static int register_as(struct toolrack *host, const char *id, const char *description,
                       uint32_t permission, const void *(*get_extension)(const char *),
                       struct toolrack_error *err) {
    char name[32];
    (void)snprintf(name, sizeof name, "%s_tool", id);
    const struct tr_tool tool = {.size = sizeof tool,
                                 .name = name,
                                 .description = description,
                                 .permission = permission,
                                 .schema = "{\"type\":\"object\"}",
                                 .run = nothing};
    const struct tr_tool *const tools[] = {&tool};
    const struct tr_plugin plugin = {.magic = TR_MAGIC,
                                     .size = sizeof plugin,
                                     .abi_major = TR_ABI_MAJOR,
                                     .abi_minor = TR_ABI_MINOR,
                                     .flags = TR_THREAD_SAFE | TR_PLUGIN_RESOURCES,
                                     .id = id,
                                     .version = "1.0.0",
                                     .tool_count = 1,
                                     .tool_size = sizeof tool,
                                     .tools = tools,
                                     .get_extension = get_extension};
    return toolrack_register(host, &plugin, NULL, err);
}

static int register_app(struct toolrack *host, const char *id,
                        const void *(*get_extension)(const char *), struct toolrack_error *err) {
    return register_as(host, id, "Does nothing", TR_SAFE, get_extension, err);
}

static void the_app_offers_too_and_goes_first(void **state) {
    struct setup *setup = *state;
    struct toolrack_error err;
    put(setup, "offers");
    start(setup);
    assert_int_equal(register_app(setup->host, "zapp", app_extension, &err), 0);
    (void)pthread_mutex_lock(&setup->lock);
    AWAIT_SIGNALLED(setup->resources > 0, &setup->changed, &setup->lock);
    (void)pthread_mutex_unlock(&setup->lock);
    expect(setup, TOOLRACK_OFFER_RESOURCES, NULL,
           "{\"resources\":[" TEXT_RESOURCE("offers") ",{\"uri\":\"test://shared\",\"name\":"
                                                      "\"app's\"}]}");
    expect(setup, TOOLRACK_OFFER_READ, "{\"uri\":\"test://shared\"}",
           "{\"contents\":[{\"uri\":\"test://shared\",\"text\":\"of the app\"}]}");
    expect(setup, TOOLRACK_OFFER_SUBSCRIBE, "{\"uri\":\"test://shared\"}", "{}");
}

/* Nobody agreed to what it is now. */
static void a_plugin_with_a_held_tool_offers_nothing(void **state) {
    struct setup *setup = *state;
    struct toolrack_error err;
    (void)snprintf(setup->config, sizeof setup->config, "%s/toolrack.json", setup->root);
    FILE *file = fopen(setup->config, "w");
    assert_non_null(file);
    assert_true(fputs("{\"pin\": \"enforce\"}", file) >= 0);
    assert_int_equal(fclose(file), 0);
    start(setup);
    assert_int_equal(
            register_as(setup->host, "app", "Does nothing", TR_DANGEROUS, app_extension, &err), 0);
    assert_int_equal(toolrack_grant(setup->host, "app_tool", 0, "eve", &err), 0);
    assert_true(toolrack_offers(setup->host, TOOLRACK_OFFER_READ));
    assert_int_equal(toolrack_unregister_name(setup->host, "app_tool", &err), 0);
    assert_false(toolrack_offers(setup->host, TOOLRACK_OFFER_READ));
    assert_int_equal(
            register_as(setup->host, "app", "Does evil", TR_DANGEROUS, app_extension, &err), 0);
    assert_false(toolrack_offers(setup->host, TOOLRACK_OFFER_READ));
    expect_error(setup, TOOLRACK_OFFER_READ, "{\"uri\":\"test://shared\"}", TOOLRACK_E_NOT_FOUND,
                 "no plugin offers this resource");
    assert_int_equal(toolrack_grant(setup->host, "app_tool", 0, "eve", &err), 0);
    expect(setup, TOOLRACK_OFFER_READ, "{\"uri\":\"test://shared\"}",
           "{\"contents\":[{\"uri\":\"test://shared\",\"text\":\"of the app\"}]}");
}

static const void *no_extension(const char *id) {
    (void)id;
    return NULL;
}

static void what_the_flags_state_must_be_there(void **state) {
    struct setup *setup = *state;
    struct toolrack_error err;
    put(setup, "offers-lack");
    start(setup);
    assert_int_equal(register_app(setup->host, "lacking", no_extension, &err), 0);
    assert_int_equal(register_app(setup->host, "without", NULL, &err), 0);
    static const char *const tools[] = {"say_lack", "lacking_tool", "without_tool"};
    for (size_t i = 0; i < ARRAY_LENGTH(tools); i++) {
        struct toolrack_result *result = NULL;
        assert_int_equal(toolrack_call(setup->host, tools[i], NULL, NULL, &result, &err),
                         TOOLRACK_E_EXECUTION_FAILED);
        assert_non_null(strstr(err.message, "says in its flags that it has resources"));
    }
    /* A list of those that have failed is that of the others: of none. */
    expect(setup, TOOLRACK_OFFER_RESOURCES, NULL, "{\"resources\":[]}");
    assert_false(toolrack_offers(setup->host, TOOLRACK_OFFER_RESOURCES));
}

/* In workers only: the host survives, and a plugin in quarantine offers nothing. */
static void a_plugin_in_quarantine_offers_nothing(void **state) {
    struct setup *setup = *state;
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    struct toolrack_error err;
    char got[512];
    put(setup, "offers");
    start(setup);
    options.deadline_ms = PATIENCE_S * 1000;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(ask(setup, TOOLRACK_OFFER_READ, "{\"uri\":\"test://offers/die\"}",
                             &options, got, sizeof got, &err),
                         TOOLRACK_E_EXECUTION_FAILED);
        assert_int_equal(err.signal, 6);
    }
    AWAIT(!toolrack_offers(setup->host, TOOLRACK_OFFER_RESOURCES));
    expect(setup, TOOLRACK_OFFER_RESOURCES, NULL, "{\"resources\":[]}");
    assert_int_equal(toolrack_release(setup->host, "offers", NULL, &err), 0);
    expect(setup, TOOLRACK_OFFER_TEMPLATES, NULL,
           "{\"resourceTemplates\":[{\"uriTemplate\":\"test://offers/{name}/{?part}\",\"name\":"
           "\"by name\"}]}");
}

/* ------------------------------------------------------------------- reports */

static void say(const struct setup *setup, const char *what, const char *text, bool aside) {
    char arguments[256];
    struct toolrack_result *result = NULL;
    struct toolrack_error err;
    (void)snprintf(arguments, sizeof arguments, "{\"what\":\"%s\",\"text\":\"%s\",\"aside\":%s}",
                   what, text, aside ? "true" : "false");
    if (toolrack_call(setup->host, "say_offers", arguments, NULL, &result, &err) < 0) {
        fail_msg("%s", err.message);
    }
    toolrack_result_free(result);
}

#define AWAIT_EVENT(setup, condition)                                  \
    do {                                                               \
        (void)pthread_mutex_lock(&(setup)->lock);                      \
        AWAIT_SIGNALLED(condition, &(setup)->changed, &(setup)->lock); \
        (void)pthread_mutex_unlock(&(setup)->lock);                    \
    } while (0)

static unsigned now(struct setup *setup, const unsigned *count) {
    (void)pthread_mutex_lock(&setup->lock);
    unsigned number = *count;
    (void)pthread_mutex_unlock(&setup->lock);
    return number;
}

#define OF(uri)   "{\"uri\":\"" uri "\"}"
#define CALLED(n) "{\"name\":\"" n "\",\"arguments\":{\"who\":\"Ann\"}}"
#define GREETING                                                                          \
    "{\"description\":\"A greeting\",\"messages\":[{\"role\":\"assistant\",\"content\":{" \
    "\"type\":\"text\",\"text\":\"Ann\"}}]}"
#define COMPLETION(uri)                                                                \
    "{\"ref\":{\"type\":\"ref/resource\",\"uri\":\"" uri "\"},\"argument\":{\"name\":" \
    "\"name\",\"value\":\"\"}}"

/* What a plugin lists is asked of it alone, by a URI, by a template, by a name. */
static void expect_owned(struct setup *setup) {
    expect(setup, TOOLRACK_OFFER_READ, OF("test://shared"),
           "{\"contents\":[{\"uri\":\"test://shared\",\"text\":\"of offers\"}]}");
    expect_error(setup, TOOLRACK_OFFER_READ, OF("test://offers/unknown/"), TOOLRACK_E_NOT_FOUND,
                 "no plugin offers this resource");
    expect(setup, TOOLRACK_OFFER_PROMPT, CALLED("greet_offers"), GREETING);
    expect(setup, TOOLRACK_OFFER_COMPLETE, COMPLETION("test://offers/{name}/{?part}"),
           "{\"completion\":{\"values\":[\"a\",\"b\"],\"total\":3}}");
    unsigned updates = now(setup, &setup->updates);
    expect(setup, TOOLRACK_OFFER_SUBSCRIBE, OF("test://offers/text"), "{}");
    AWAIT_EVENT(setup, setup->updates > updates);
}

static void what_is_listed_is_asked_of_its_plugin_alone(void **state) {
    struct setup *setup = *state;
    put(setup, "hijack-answers");
    put(setup, "offers");
    start(setup);
    expect_owned(setup);
    expect(setup, TOOLRACK_OFFER_READ, OF("test://offers/json"), /* which nobody lists */
           "{\"contents\":[{\"uri\":\"test://hijack\",\"text\":\"hijacked\"}]}");
}

/* What nobody lists is asked of the next plugin when one has failed. */
static void a_plugin_that_fails_harms_no_other(void **state) {
    struct setup *setup = *state;
    put(setup, "hijack-fails");
    put(setup, "offers");
    start(setup);
    expect_owned(setup);
    expect(setup, TOOLRACK_OFFER_READ, OF("test://offers/json"),
           "{\"contents\":[{\"uri\":\"test://j\",\"text\":\"t\"}]}");
    expect_error(setup, TOOLRACK_OFFER_READ, OF("test://unknown"), TOOLRACK_E_EXECUTION_FAILED,
                 "the hijacker fails");
}

static void a_plugin_that_crashes_harms_no_other(void **state) {
    struct setup *setup = *state;
    put(setup, "hijack-crashes");
    put(setup, "offers");
    start(setup);
    expect_owned(setup);
    expect(setup, TOOLRACK_OFFER_READ, OF("test://offers/json"),
           "{\"contents\":[{\"uri\":\"test://j\",\"text\":\"t\"}]}");
}

static void a_plugin_that_hangs_harms_no_other(void **state) {
    struct setup *setup = *state;
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    struct toolrack_error err;
    char got[512];
    put(setup, "hijack-hangs");
    put(setup, "offers");
    start(setup);
    expect_owned(setup);
    options.deadline_ms = 1000;
    assert_int_equal(ask(setup, TOOLRACK_OFFER_READ, OF("test://offers/json"), &options, got,
                         sizeof got, &err),
                     0);
    assert_non_null(strstr(got, "\"test://j\""));
}

static void changes_are_told(void **state) {
    struct setup *setup = *state;
    put(setup, "offers");
    start(setup);
    AWAIT_EVENT(setup, setup->resources > 0 && setup->prompts > 0); /* its tools are new */
    for (int aside = 0; aside < 2; aside++) {
        unsigned resources = now(setup, &setup->resources);
        unsigned prompts = now(setup, &setup->prompts);
        say(setup, "resources", "", aside != 0);
        AWAIT_EVENT(setup, setup->resources > resources);
        say(setup, "prompts", "", aside != 0);
        AWAIT_EVENT(setup, setup->prompts > prompts);
        say(setup, "updated", aside != 0 ? "test://aside" : "test://here", aside != 0);
        AWAIT_EVENT(setup,
                    strcmp(setup->last_update, aside != 0 ? "test://aside" : "test://here") == 0);
    }
    unsigned updates = now(setup, &setup->updates);
    say(setup, "updated", "no uri", false); /* dropped */
    say(setup, "updated", "test://last", false);
    AWAIT_EVENT(setup, strcmp(setup->last_update, "test://last") == 0);
    assert_int_equal(now(setup, &setup->updates), updates + 1);
    expect(setup, TOOLRACK_OFFER_SUBSCRIBE, "{\"uri\":\"test://offers/mine\"}", "{}");
    AWAIT_EVENT(setup, strcmp(setup->last_update, "test://offers/mine") == 0);
    expect(setup, TOOLRACK_OFFER_UNSUBSCRIBE, "{\"uri\":\"test://offers/mine\"}", "{}");
}

/* Its tools are switched and put first, and what it offers stays. */
static void a_changed_tool_changes_no_offer(void **state) {
    struct setup *setup = *state;
    struct toolrack_error err;
    put(setup, "offers");
    start(setup);
    AWAIT_EVENT(setup, setup->resources > 0 && setup->prompts > 0);
    unsigned resources = now(setup, &setup->resources);
    unsigned prompts = now(setup, &setup->prompts);
    assert_int_equal(toolrack_set_enabled(setup->host, "off_offers", true, NULL, &err), 0);
    assert_int_equal(toolrack_set_priority(setup->host, "off_offers", 3, NULL, &err), 0);
    assert_int_equal(toolrack_set_enabled(setup->host, "off_offers", false, NULL, &err), 0);
    say(setup, "updated", "test://after", false); /* is told after them */
    AWAIT_EVENT(setup, strcmp(setup->last_update, "test://after") == 0);
    assert_int_equal(now(setup, &setup->resources), resources);
    assert_int_equal(now(setup, &setup->prompts), prompts);
}

/* Of thousands of updates at once some are told, and then that the list has changed. */
static void a_flood_becomes_one_change(void **state) {
    struct setup *setup = *state;
    put(setup, "offers");
    start(setup);
    AWAIT_EVENT(setup, setup->resources > 0);
    unsigned resources = now(setup, &setup->resources);
    (void)pthread_mutex_lock(&setup->pause);
    say(setup, "flood", "", false);
    (void)pthread_mutex_unlock(&setup->pause);
    AWAIT_EVENT(setup, setup->resources > resources);
    assert_true(now(setup, &setup->updates) < 5000);
}

static bool is_enabled(const struct setup *setup, const char *name) {
    CLEANUP(toolrack_tool_unrefp) struct toolrack_tool *tool = toolrack_get(setup->host, name);
    return toolrack_tool_enabled(tool);
}

static void a_plugin_switches_its_own_tools(void **state) {
    struct setup *setup = *state;
    struct toolrack_error err;
    put(setup, "offers");
    put(setup, "offers2");
    start(setup);
    assert_false(is_enabled(setup, "off_offers"));
    say(setup, "enable", "off_offers", false);
    AWAIT(is_enabled(setup, "off_offers"));
    say(setup, "disable", "off_offers", true);
    AWAIT(!is_enabled(setup, "off_offers"));
    /* What an administrator has set stays, and so do the tools of others. */
    assert_int_equal(toolrack_set_enabled(setup->host, "off_offers", false, NULL, &err), 0);
    say(setup, "enable", "off_offers", false);
    say(setup, "enable", "off_offers2", false);
    say(setup, "enable", "no_such_tool", false);
    say(setup, "enable", "!", false);
    unsigned resources = now(setup, &setup->resources);
    say(setup, "resources", "", false); /* is told after them */
    AWAIT_EVENT(setup, setup->resources > resources);
    assert_false(is_enabled(setup, "off_offers"));
    assert_false(is_enabled(setup, "off_offers2"));
    /* The next host begins with what the tools state. */
    toolrack_close(setup->host);
    start(setup);
    assert_false(is_enabled(setup, "off_offers"));
}

/* ------------------------------------------------------- a file is exchanged */

#define NEW_READ "{\"contents\":[{\"uri\":\"test://shared\",\"text\":\"of the new file\"}]}"
#define NEW_PROMPT                                                                              \
    "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"from the new " \
    "file\"}}]}"

/* Open a host whose plugin is exchanged before anything of it is used; `beside` is another one, or
 * NULL; so is `fixture`: the file is removed. */
static void start_exchanged(struct setup *setup, const char *beside, const char *fixture) {
    toolrack_close(setup->host);
    put(setup, "offers");
    if (beside != NULL) {
        put(setup, beside);
    }
    start(setup);
    if (fixture != NULL) {
        put_as(setup, "offers", fixture);
    } else {
        char file[192];
        (void)snprintf(file, sizeof file, "%s/offers.so", setup->root);
        assert_int_equal(unlink(file), 0);
    }
}

/* Whatever is asked for first. */
static void what_is_asked_goes_to_the_new_file(void **state) {
    struct setup *setup = *state;
    static const struct {
        enum toolrack_offer what;
        const char *arguments;
        const char *json;
    } rows[] = {{TOOLRACK_OFFER_READ, OF("test://shared"), NEW_READ},
                {TOOLRACK_OFFER_PROMPT, CALLED("shared"), NEW_PROMPT},
                {TOOLRACK_OFFER_COMPLETE, COMPLETION("test://offers/{name}/{?part}"),
                 "{\"completion\":{\"values\":[\"a\",\"b\"],\"total\":3}}"},
                {TOOLRACK_OFFER_SUBSCRIBE, OF("test://offers/text"), "{}"},
                {TOOLRACK_OFFER_TEMPLATES, NULL, NULL},
                {TOOLRACK_OFFER_RESOURCES, NULL, NULL}};
    for (size_t i = 0; i < 2 * ARRAY_LENGTH(rows); i++) {
        size_t at = i / 2;
        start_exchanged(setup, i % 2 == 0 ? NULL : "offers2", "offers-again");
        if (rows[at].json != NULL) {
            expect(setup, rows[at].what, rows[at].arguments, rows[at].json);
        }
        char got[8192];
        struct toolrack_error err;
        assert_int_equal(ask(setup, TOOLRACK_OFFER_RESOURCES, NULL, NULL, got, sizeof got, &err),
                         0);
        assert_non_null(strstr(got, "The one of the new file"));
        expect(setup, TOOLRACK_OFFER_READ, OF("test://shared"), NEW_READ);
    }
    assert_false(is_logged(setup, "changed since it was read"));
}

/* A tool that the app would call instead has nothing to do with what a plugin offers. */
static struct toolrack_tool *no_tool(void *user) {
    (void)user;
    fail_msg("the app was asked for a tool");
    return NULL;
}

static void an_app_is_not_asked_for_another_tool(void **state) {
    struct setup *setup = *state;
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    struct toolrack_error err;
    char got[512];
    start_exchanged(setup, NULL, "offers-again");
    options.renewed = no_tool;
    assert_int_equal(
            ask(setup, TOOLRACK_OFFER_READ, OF("test://shared"), &options, got, sizeof got, &err),
            0);
    assert_string_equal(got, NEW_READ);
}

static void what_the_new_file_does_not_offer_is_not_there(void **state) {
    struct setup *setup = *state;
    start_exchanged(setup, NULL, "offers-nothing");
    expect_error(setup, TOOLRACK_OFFER_READ, OF("test://shared"), TOOLRACK_E_NOT_FOUND,
                 "no plugin offers this resource");
    start_exchanged(setup, NULL, "offers-nothing");
    expect_error(setup, TOOLRACK_OFFER_PROMPT, CALLED("shared"), TOOLRACK_E_NOT_FOUND,
                 "no plugin offers this prompt");
    start_exchanged(setup, NULL, "offers-nothing");
    expect(setup, TOOLRACK_OFFER_RESOURCES, NULL, "{\"resources\":[]}");
    start_exchanged(setup, NULL, "offers-nothing");
    expect(setup, TOOLRACK_OFFER_COMPLETE, COMPLETION("test://offers/{name}/{?part}"),
           "{\"completion\":{\"values\":[]}}");
    /* Another plugin has it then; also if the file is gone. */
    static const char *const fixtures[] = {"offers-nothing", NULL};
    for (size_t i = 0; i < ARRAY_LENGTH(fixtures); i++) {
        start_exchanged(setup, "offers2", fixtures[i]);
        expect(setup, TOOLRACK_OFFER_READ, OF("test://shared"),
               "{\"contents\":[{\"uri\":\"test://shared\",\"text\":\"of offers2\"}]}");
    }
}

#define BOTH(test)                                               \
    {#test " (in process)", test, in_process, teardown, NULL}, { \
#test " (in workers)", test, in_workers, teardown, NULL  \
    }

int main(void) {
    const struct CMUnitTest tests[] = {
            BOTH(resources_are_listed_and_read),
            BOTH(prompts_are_listed_and_filled_in),
            BOTH(arguments_are_completed),
            BOTH(a_resource_may_ask),
            BOTH(requests_are_logged_and_counted_nowhere),
            BOTH(a_request_is_cancelled),
            BOTH(a_changed_tool_changes_no_offer),
            BOTH(of_two_plugins_the_first_has_a_name),
            BOTH(a_choice_of_plugins_is_asked),
            BOTH(the_app_offers_too_and_goes_first),
            cmocka_unit_test_setup_teardown(a_plugin_with_a_held_tool_offers_nothing, in_process,
                                            teardown),
            BOTH(what_the_flags_state_must_be_there),
            cmocka_unit_test_setup_teardown(a_plugin_in_quarantine_offers_nothing, in_workers,
                                            teardown),
            BOTH(what_is_listed_is_asked_of_its_plugin_alone),
            BOTH(a_plugin_that_fails_harms_no_other),
            cmocka_unit_test_setup_teardown(a_plugin_that_crashes_harms_no_other, in_workers,
                                            teardown),
            cmocka_unit_test_setup_teardown(a_plugin_that_hangs_harms_no_other, in_workers,
                                            teardown),
            BOTH(changes_are_told),
            BOTH(a_flood_becomes_one_change),
            BOTH(a_plugin_switches_its_own_tools),
            BOTH(what_is_asked_goes_to_the_new_file),
            BOTH(an_app_is_not_asked_for_another_tool),
            BOTH(what_the_new_file_does_not_offer_is_not_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
