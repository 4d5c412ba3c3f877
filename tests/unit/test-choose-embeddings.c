/* Tools that are found by what they mean: the vectors of an embeddings model count beside words,
 * are asked for once, and words alone rank the tools where the model is wrong, late or not there.
 * The model is a thread of this program. */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <yyjson.h>

#include "answer-schema.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/json.h"
#include "choose/fuse.h"
#include "provider.h"
#include "provider/embeddings.h"
#include "toolrack/choose.h"
#include "toolrack/plugin.h"
#include "toolrack/records.h"
#include "toolrack/toolrack.h"

#include <cmocka.h> /* after plugin.h: it defines a macro named fail */

CLEANUP_DEFINE(struct toolrack_text, toolrack_text_unref)

static double add(double a, double b) {
    return a + b;
}
TR_TOOL(add, "Add two numbers", TR_F64, (TR_F64, a, "the first number"),
        (TR_F64, b, "the second number"))
static double subtract(double a, double b) {
    return a - b;
}
TR_TOOL(subtract, "Subtract two numbers", TR_F64, (TR_F64, a, "the first number"),
        (TR_F64, b, "the second number"))
static double weather(double day) {
    return day;
}
TR_TOOL(weather, "Forecast of rain and sunshine", TR_F64, (TR_F64, day, "a secretparameter"))
TR_PLUGIN(("counts", .flags = TR_THREAD_SAFE), "1.0.0", add, subtract, weather)

/* --------------------------------------------------------------------------- the model */

/* What it knows: words that mean the same lie on one axis. */
static const struct {
    const char *word;
    size_t axis;
} meanings[] = {{"dd", 0},      {"altogether", 0}, {"ubtract", 1}, {"take away", 1},
                {"orecast", 2}, {"umbrella", 2},   {"tool", 3}};
#define AXES 4u

static void embed(const char *text, double scale, struct buf *out) {
    double vector[AXES] = {0.05, 0.05, 0.05, 0.05};
    for (size_t i = 0; i < ARRAY_LENGTH(meanings); i++) {
        vector[meanings[i].axis] += strstr(text, meanings[i].word) != NULL;
    }
    buf_add_char(out, '[');
    for (size_t i = 0; i < AXES; i++) {
        buf_add(out, ",", i > 0);
        buf_add_json_double(out, vector[i] * scale);
    }
    buf_add_char(out, ']');
}

/* As OpenAI's API, the last text first. */
static void answer_well(int fd, const char *body) {
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    yyjson_doc *doc = yyjson_read(body, strlen(body), 0);
    yyjson_val *input = yyjson_obj_get(yyjson_doc_get_root(doc), "input");
    buf_add_text(&out, "{\"object\":\"list\",\"data\":[");
    for (size_t i = yyjson_arr_size(input); i-- > 0;) {
        buf_printf(&out, "{\"object\":\"embedding\",\"index\":%zu,\"embedding\":", i);
        embed(yyjson_get_str(yyjson_arr_get(input, i)), 1 + (double)i, &out);
        buf_add_text(&out, i > 0 ? "}," : "}");
    }
    buf_add_text(&out, "],\"usage\":{\"total_tokens\":5}}");
    provider_write(fd, "200 OK", "Content-Type: application/json\r\n", out.data, out.length);
    yyjson_doc_free(doc);
}

static const char *reply;
static const char *status;

static void answer_with(int fd, const char *body) {
    (void)body;
    provider_write(fd, status, "Location: /elsewhere\r\nRetry-After: 7\r\n", reply, strlen(reply));
}

/* Well to a request for the text, and as told to one for tools, whose texts have several lines. */
static void answer_well_to_text(int fd, const char *body) {
    if (strstr(body, "\\n") == NULL) {
        answer_well(fd, body);
    } else {
        answer_with(fd, body);
    }
}

/* As a slow model: never, where there are several texts. */
static void answer_well_to_one(int fd, const char *body) {
    yyjson_doc *doc = yyjson_read(body, strlen(body), 0);
    bool is_one = yyjson_arr_size(yyjson_obj_get(yyjson_doc_get_root(doc), "input")) == 1;
    char byte;
    yyjson_doc_free(doc);
    if (is_one) {
        answer_well(fd, body);
    } else {
        (void)!read(fd, &byte, 1);
    }
}

/* Bytes that come for ever, and never an answer. */
static void answer_slowly(int fd, const char *body) {
    (void)body;
    (void)!write(fd, "HTTP/1.1 200 OK\r\n\r\n", 19);
    while (send(fd, " ", 1, MSG_NOSIGNAL) == 1) {
        (void)usleep(20000);
    }
}

static void answer_without_end(int fd, const char *body) {
    static const char spaces[65536] = "                ";
    (void)body;
    (void)!write(fd, "HTTP/1.1 200 OK\r\n\r\n", 19);
    while (send(fd, spaces, sizeof spaces, MSG_NOSIGNAL) > 0) {
    }
}

/* --------------------------------------------------------------------------------- a host */

static char dir[64];
static struct toolrack *host;
static struct toolrack_error err;
static yyjson_doc *answer;
static unsigned short port;

/* With `settings` behind the endpoint of the model; NULL: without a model. */
static void open_host(const char *settings) {
    char path[96];
    char state_dir[96];
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    (void)snprintf(path, sizeof path, "%s/toolrack.json", dir);
    (void)snprintf(state_dir, sizeof state_dir, "%s/state", dir);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    if (settings != NULL) {
        (void)fprintf(file,
                      "{\"choose\": {\"embeddings\": {\"endpoint\": \"http://127.0.0.1:%u\", %s}}}",
                      port, settings);
    } else {
        (void)fprintf(file, "{}");
    }
    (void)fclose(file);
    toolrack_close(host);
    host = NULL;
    options.config_file = path;
    options.state_dir = state_dir;
    options.no_scan = true;
    options.isolation = TOOLRACK_ISOLATION_NONE;
    if (toolrack_open(&options, &host, &err) != 0 ||
        toolrack_register(host, &toolrack_plugin, NULL, &err) != 0) {
        fail_msg("%s", err.message);
    }
}

/* An answer is there in time on any machine. */
#define MODEL "\"timeout_ms\": 20000, \"model\": \"m\""
#define HASTY "\"timeout_ms\": 200, \"model\": \"m\""

static int set_up(void **state) {
    (void)state;
    (void)snprintf(dir, sizeof dir, "/tmp/toolrack-test-XXXXXX");
    (void)unsetenv("OPENAI_API_KEY");
    port = mkdtemp(dir) != NULL ? provider_start() : 0;
    if (port == 0) {
        return -1;
    }
    provider_set(answer_well);
    status = "200 OK";
    open_host(MODEL);
    return 0;
}

static int tear_down(void **state) {
    char command[96];
    (void)state;
    toolrack_close(STEAL(host));
    provider_stop();
    yyjson_doc_free(STEAL(answer));
    (void)snprintf(command, sizeof command, "rm -rf '%s'", dir);
    return system(command);
}

static yyjson_val *choose_of(const char *text, const char *const *tools) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *given = NULL;
    struct toolrack_select_options options = TOOLRACK_SELECT_OPTIONS_INIT;
    size_t length = 0;
    options.text = text;
    options.explain = 1;
    options.tools = tools;
    if (toolrack_select(host, &options, &given, &err) != 0) {
        fail_msg("%s", err.message);
    }
    const char *data = toolrack_text_data(given, &length);
    yyjson_doc_free(answer);
    answer = yyjson_read(data, length, 0);
    assert_answer(yyjson_doc_get_root(answer));
    return yyjson_doc_get_root(answer);
}

static yyjson_val *choose(const char *text) {
    return choose_of(text, NULL);
}

static void assert_at(yyjson_val *root, const char *path, const char *wanted) {
    CLEANUP(freep) char *text = yyjson_val_write(json_at(root, path), 0, NULL);
    if (text == NULL || strcmp(text, wanted) != 0) {
        CLEANUP(freep) char *all = yyjson_val_write(root, YYJSON_WRITE_PRETTY, NULL);
        fail_msg("%s is %s, not %s: %s", path, text != NULL ? text : "missing", wanted, all);
    }
}

static void assert_part(yyjson_val *root, const char *path, const char *part) {
    const char *text = yyjson_get_str(json_at(root, path));
    if (text == NULL || strstr(text, part) == NULL) {
        fail_msg("\"%s\" is not in: %s", part, text != NULL ? text : "nothing");
    }
}

/* --------------------------------------------------------------------------------- tests */

static void a_search_says_what_was_sent(void **state) {
    (void)state;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *given = NULL;
    struct toolrack_select_options options = TOOLRACK_SELECT_OPTIONS_INIT;
    size_t length = 0;
    options.text = "what do they come to; my password is swordfish";
    options.explain = 1;
    if (toolrack_search(host, &options, &given, &err) != 0) {
        fail_msg("%s", err.message);
    }
    const char *data = toolrack_text_data(given, &length);
    yyjson_doc_free(answer);
    answer = yyjson_read(data, length, 0);
    assert_at(yyjson_doc_get_root(answer), "embeddings/texts", "4");
    assert_at(yyjson_doc_get_root(answer), "embeddings/ranked", "3");
    assert_non_null(json_at(yyjson_doc_get_root(answer), "tools/0/tool"));
    /* And no secret: of the text it is again the first request. */
    unsigned before = provider_asked();
    (void)choose("they come to; my password is swordfish");
    assert_int_equal(provider_asked(), before + 1);
    assert_non_null(strstr(provider_request(), "my password is ***"));
}

#define WISH "what do they come to altogether"

static void a_tool_is_found_by_what_it_means(void **state) {
    (void)state;
    yyjson_val *root = choose(WISH);
    assert_at(root, "steps/match/tools/0/tool", "\"add\"");
    assert_at(root, "steps/match/tools/0/reasons/0/relation", "\"vector\"");
    assert_at(root, "steps/match/tools/0/reasons/0/share", "1.0");
    assert_at(root, "embeddings/texts", "4");
    assert_at(root, "embeddings/ranked", "3");
    assert_at(root, "embeddings/complete", "true");
    assert_at(root, "embeddings/model", "\"m\"");
    assert_at(root, "embeddings/problem", "null");
    assert_part(root, "explanation",
                "The text, and names, titles and descriptions of 3 tools, were sent to http://");
    assert_part(root, "explanation", "Vectors ranked 3 tools, beside words.");
    /* One request for the text, one for the tools: what is sent of these is not their parameters.
     */
    assert_int_equal(provider_asked(), 2);
    assert_non_null(strstr(provider_request(), "POST /v1/embeddings "));
    assert_non_null(strstr(provider_request(), "{\"model\":\"m\",\"input\":[\"add\\nAdd two"));
    assert_non_null(strstr(provider_request(), "Forecast of rain"));
    assert_null(strstr(provider_request(), "secretparameter"));
    assert_null(strstr(provider_request(), "altogether"));
    assert_null(strcasestr(provider_request(), "authorization"));
    /* Words count too: both rankings have it first. */
    root = choose("subtract: take away");
    assert_at(root, "steps/match/tools/0/tool", "\"subtract\"");
    assert_at(root, "steps/match/tools/0/reasons/0/relation", "\"same\"");
    assert_at(root, "steps/match/tools/0/reasons/1/relation", "\"vector\"");
    assert_at(root, "steps/match/tools/0/reasons/1/share", "0.5");
    assert_at(root, "embeddings/texts", "1");
    assert_int_equal(provider_asked(), 3);
    /* Of a conversation what is wanted last. */
    root = choose("user: the forecast\nassistant: It rains.\nuser: and altogether?");
    assert_at(root, "steps/match/tools/0/tool", "\"add\"");
    assert_non_null(strstr(provider_request(), "altogether"));
    assert_null(strstr(provider_request(), "orecast"));
    /* The same text again. */
    root = choose(WISH);
    assert_at(root, "embeddings/texts", "0");
    assert_part(root, "explanation", "nothing was sent anywhere");
    assert_int_equal(provider_asked(), 4);
}

static void nothing_is_sent_unless_it_is_configured(void **state) {
    (void)state;
    open_host(NULL);
    yyjson_val *root = choose(WISH);
    assert_at(root, "embeddings", "null");
    assert_at(root, "steps/match/tools", "[]");
    assert_part(root, "explanation", "nothing was sent anywhere");
    assert_int_equal(provider_asked(), 0);
}

static void another_host_sends_no_tool_again(void **state) {
    (void)state;
    assert_at(choose(WISH), "embeddings/texts", "4");
    open_host(MODEL);
    yyjson_val *root = choose(WISH);
    assert_at(root, "embeddings/texts", "1");
    assert_at(root, "steps/match/tools/0/tool", "\"add\"");
    /* What a vector depends on: model, dimension, endpoint, text. */
    open_host("\"timeout_ms\": 20000, \"model\": \"other\"");
    assert_at(choose(WISH), "embeddings/texts", "4");
    open_host(MODEL ", \"dimensions\": 4");
    assert_at(choose(WISH), "embeddings/texts", "4");
    assert_non_null(strstr(provider_request(), "\"dimensions\":4"));
    open_host(MODEL ", \"tool_prefix\": \"tool: \", \"query_prefix\": \"query: \"");
    assert_at(choose(WISH), "embeddings/texts", "4");
    assert_non_null(strstr(provider_request(), "\"tool: subtract\\nSubtract"));
    open_host(MODEL);
    assert_at(choose(WISH), "embeddings/texts", "1");
}

static void only_tools_that_may_be_found_are_sent(void **state) {
    (void)state;
    static const char *const names[] = {"add", "subtract", NULL};
    assert_int_equal(toolrack_mark(host, TOOLRACK_MARK_BLACKLIST, "subtract", true, "", "me", &err),
                     0);
    yyjson_val *root = choose_of(WISH, names);
    assert_at(root, "embeddings/texts", "2");
    assert_at(root, "embeddings/ranked", "1");
    assert_null(strstr(provider_request(), "weather"));
    assert_null(strstr(provider_request(), "ubtract"));
    assert_at(root, "steps/match/tools/0/tool", "\"add\"");
    /* A tool that is found by its vector alone is one of those that may be found. */
    (void)choose("umbrella");
    root = choose_of("umbrella", names);
    assert_at(root, "steps/match/tools/0/tool", "\"add\"");
    /* What is gone is not found. */
    assert_at(choose("umbrella"), "steps/match/tools/0/tool", "\"weather\"");
    assert_int_equal(toolrack_unregister_name(host, "weather", &err), 0);
    root = choose("umbrella");
    assert_at(root, "steps/match/tools/0/tool", "\"add\"");
    assert_at(root, "embeddings/ranked", "1");
}

/* Answers that are none. */
#define ONE(vector) "{\"data\":[{\"index\":0,\"embedding\":" vector "}]}"
#define LONG_VECTOR "[1,1,1,1]"

static const struct {
    const char *status;
    const char *reply;
    const char *problem;
} wrong[] = {
        {"200 OK", "", "its answer is not JSON"},
        {"200 OK", "<html>", "its answer is not JSON"},
        {"200 OK", "{}", "its answer has no list \"data\""},
        {"200 OK", "[1]", "its answer has no list \"data\""},
        {"200 OK", "{\"error\":{\"message\":\"no\"}}", "its answer has no list \"data\""},
        {"200 OK", "{\"data\":[]}", "its answer has 0 vectors for 1 texts"},
        {"200 OK", "{\"data\":[{\"embedding\":[1]},{\"embedding\":[1]}]}", "2 vectors for 1 texts"},
        {"200 OK", "{\"data\":[7]}", "vectors of 0 numbers"},
        {"200 OK", ONE("[]"), "its answer has vectors of 0 numbers; they must have from 1 to 4096"},
        {"200 OK", ONE("\"AACAPw==\""), "vectors of 0 numbers"},
        {"200 OK", ONE("[1,\"2\"]"), "something that is no number"},
        {"200 OK", ONE("[1,null]"), "something that is no number"},
        {"200 OK", ONE("[1,[2]]"), "something that is no number"},
        {"200 OK", ONE("[NaN,1]"), "its answer is not JSON"},
        {"200 OK", ONE("[1e39,1]"), "too large"},
        {"200 OK", ONE("[0,0.0,-0]"), "its answer has a vector of zeros"},
        {"200 OK", "{\"data\":[{\"index\":1,\"embedding\":[1]}]}", "a vector for no text"},
        {"200 OK", "{\"data\":[{\"index\":-1,\"embedding\":[1]}]}", "a vector for no text"},
        {"200 OK", "{\"data\":[{\"index\":\"0\",\"embedding\":[1]}]}", "a vector for no text"},
        {"500 Internal Server Error", "{\"error\":{\"message\":\"it broke\"}}",
         "answers 500: it broke"},
        {"401 Unauthorized", "no", "answers 401: no; set the environment variable OPENAI_API_KEY"},
        {"302 Found", "", "answers 302, a redirect, which is not followed"},
        {"404 Not Found", "gone", "answers 404: gone"},
};

static void assert_words_alone(yyjson_val *root, const char *problem) {
    assert_at(root, "embeddings/ranked", "0");
    assert_part(root, "embeddings/problem", problem);
    assert_part(root, "explanation", "Words alone ranked the tools. Not all vectors came: ");
    assert_at(root, "tool", "\"add\"");
    assert_at(root, "steps/match/tools/0/reasons/0/relation", "\"same\"");
    CLEANUP(freep) char *text = yyjson_val_write(root, 0, NULL);
    assert_null(strstr(text, "\"vector\""));
}

static void words_decide_where_an_answer_is_wrong(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(wrong); i++) {
        unsigned before = provider_asked();
        open_host(MODEL);
        status = wrong[i].status;
        reply = wrong[i].reply;
        provider_set(answer_with);
        assert_words_alone(choose("add the numbers 40 and 2"), wrong[i].problem);
        assert_int_equal(provider_asked(), before + 1); /* a redirect is not followed */
    }
}

static void words_decide_where_no_answer_comes(void **state) {
    (void)state;
    static const struct {
        provider_answer how;
        const char *settings;
        const char *problem;
    } rows[] = {
            {NULL, HASTY, "it did not answer within "},
            {answer_slowly, HASTY, "it did not answer within "},
            {answer_without_end, MODEL, "the provider's response is longer than 7340032 bytes"}};
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        open_host(rows[i].settings);
        provider_set(rows[i].how);
        assert_words_alone(choose("add the numbers 40 and 2"), rows[i].problem);
    }
    /* It is left alone for a while. */
    unsigned before = provider_asked();
    yyjson_val *root = choose("add the numbers 40 and 2");
    assert_words_alone(root, "it is left alone for ");
    assert_part(root, "embeddings/problem", "response is longer");
    assert_at(root, "embeddings/texts", "0");
    assert_int_equal(provider_asked(), before);
    /* It is not there. */
    provider_stop();
    open_host(MODEL);
    root = choose("add the numbers 40 and 2");
    assert_words_alone(root, "cannot be reached");
    assert_at(root, "embeddings/texts", "0");
    assert_part(root, "explanation", "nothing was sent anywhere");
    assert_int_not_equal(provider_start(), 0); /* to be stopped */
}

/* The text has a vector, the tools have none: what is known is ranked, and no more is asked for. */
static void tools_without_vectors_are_ranked_by_words(void **state) {
    (void)state;
    static const struct {
        const char *reply;
        const char *problem;
    } rows[] = {{"{\"data\":[]}", "its answer has 0 vectors for 3 texts"},
                {"{\"data\":[{\"embedding\":[1,2]},{\"embedding\":[1,2]},{\"embedding\":[1]}]}",
                 "vectors of different dimensions"},
                {"{\"data\":[{\"embedding\":[1,2]},{\"embedding\":[1,2]},{\"embedding\":[1,2]}]}",
                 "its vectors of tools have 2 numbers, that of the text has 4"},
                {"{\"data\":[{\"index\":0,\"embedding\":" LONG_VECTOR
                 "},{\"index\":0,\"embedding\":" LONG_VECTOR
                 "},{\"index\":1,\"embedding\":" LONG_VECTOR "}]}",
                 "two for one"}};
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        open_host(MODEL);
        reply = rows[i].reply;
        provider_set(answer_well_to_text);
        assert_words_alone(choose("add the numbers 40 and 2"), rows[i].problem);
        unsigned before = provider_asked();
        yyjson_val *root = choose("add the numbers 40 and 3");
        assert_at(root, "embeddings/texts", "1");
        assert_at(root, "embeddings/ranked", "0");
        assert_int_equal(provider_asked(), before + 1);
    }
    /* One tool has a vector, and comes before none that has words of the text. */
    provider_set(answer_well);
    open_host(MODEL);
    static const char *const names[] = {"weather", NULL};
    (void)choose_of("umbrella", names);
    provider_set(answer_well_to_text);
    yyjson_val *root = choose("add the numbers 40 and 2");
    assert_at(root, "embeddings/ranked", "1");
    assert_at(root, "steps/match/tools/0/tool", "\"add\"");
    assert_at(root, "tool", "\"add\"");
}

/* What a slow model does not manage at once is asked for in smaller parts, search by search. */
static void a_slow_model_gets_fewer_texts(void **state) {
    (void)state;
    open_host(HASTY);
    provider_set(answer_well_to_one);
    yyjson_val *root = choose(WISH);
    assert_at(root, "embeddings/texts", "4");
    assert_at(root, "embeddings/ranked", "0");
    assert_part(root, "embeddings/problem", "it did not answer within ");
    for (size_t i = 0; i < 100 && yyjson_is_false(json_at(root, "embeddings/complete")); i++) {
        root = choose(WISH);
    }
    assert_at(root, "embeddings/complete", "true");
    assert_at(root, "embeddings/problem", "null");
    assert_at(root, "steps/match/tools/0/tool", "\"add\"");
}

/* A provider may say how long it wants to be left alone. */
static void what_a_provider_asks_for_is_waited_for(void **state) {
    (void)state;
    status = "429 Too Many Requests";
    reply = "busy";
    provider_set(answer_with);
    assert_words_alone(choose("add the numbers 40 and 2"), "answers 429: busy");
    yyjson_val *root = choose("add the numbers 40 and 2");
    assert_words_alone(root, "it is left alone for ");
    const char *problem = yyjson_get_str(json_at(root, "embeddings/problem"));
    assert_in_range(atoi(problem + strlen("it is left alone for ")), 2, 7);
    assert_int_equal(provider_asked(), 1);
}

/* The key goes into one header, and out of what is shown. */
static void the_key_is_sent_and_not_shown(void **state) {
    (void)state;
    (void)setenv("OPENAI_API_KEY", "secret-of-mine-7", 1);
    status = "403 Forbidden";
    reply = "the key secret-of-mine-7 is wrong";
    provider_set(answer_with);
    yyjson_val *root = choose("add the numbers 40 and 2");
    assert_non_null(strstr(provider_request(), "Authorization: Bearer secret-of-mine-7\r\n"));
    assert_words_alone(root, "the key **************** is wrong");
    (void)setenv("OPENAI_API_KEY", "two\nlines", 1);
    open_host(MODEL);
    assert_words_alone(choose("add the numbers 40 and 2"), "OPENAI_API_KEY must hold");
    (void)unsetenv("OPENAI_API_KEY");
}

static atomic_bool failed;

static void *search_many(void *user) {
    for (size_t i = 0; i < 10; i++) {
        CLEANUP(toolrack_text_unrefp) struct toolrack_text *given = NULL;
        struct toolrack_select_options options = TOOLRACK_SELECT_OPTIONS_INIT;
        char text[32];
        (void)snprintf(text, sizeof text, "altogether %zu", i % 4);
        options.text = text;
        if (toolrack_search(host, &options, &given, NULL) != 0) {
            atomic_store(&failed, true);
        }
    }
    return user;
}

static void threads_search_at_once(void **state) {
    (void)state;
    pthread_t threads[4];
    for (size_t i = 0; i < ARRAY_LENGTH(threads); i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, search_many, NULL), 0);
    }
    assert_int_equal(toolrack_unregister_name(host, "subtract", &err), 0);
    for (size_t i = 0; i < ARRAY_LENGTH(threads); i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_false(atomic_load(&failed));
    yyjson_val *root = choose("altogether 1");
    assert_at(root, "embeddings/ranked", "2");
    assert_at(root, "embeddings/texts", "0");
}

/* Many tools: several requests, and as many in one as fit. */
static void many_tools_are_sent_in_batches(void **state) {
    (void)state;
    enum { COUNT = 150 };
    static struct tr_tool tools[COUNT];
    static const struct tr_tool *table[COUNT];
    static char names[COUNT][16];
    struct tr_plugin plugin = toolrack_plugin;
    for (size_t i = 0; i < COUNT; i++) {
        (void)snprintf(names[i], sizeof names[i], "tool_%zu", i);
        tools[i] = *toolrack_plugin.tools[0];
        tools[i].name = names[i];
        table[i] = &tools[i];
    }
    plugin.id = "many";
    plugin.tool_count = COUNT;
    plugin.tools = table;
    if (toolrack_register(host, &plugin, NULL, &err) != 0) {
        fail_msg("%s", err.message);
    }
    yyjson_val *root = choose("umbrella");
    assert_at(root, "embeddings/texts", "154");
    assert_at(root, "embeddings/complete", "true");
    assert_at(root, "steps/match/tools/0/tool", "\"weather\"");
    assert_in_range(provider_asked(), 5, 14); /* the text; 8, 64, 64 and 17 tools, if it is fast */
}

/* ----------------------------------------------------------------------- pure functions */

static void a_product_is_that_of_all_numbers(void **state) {
    (void)state;
    float a[50];
    float b[50];
    for (size_t i = 0; i < ARRAY_LENGTH(a); i++) {
        a[i] = (float)i;
        b[i] = 2;
    }
    float sum = 0;
    for (size_t n = 0; n <= ARRAY_LENGTH(a); n++) {
        assert_true(vectors_product(a, b, n) == sum);
        sum += n < ARRAY_LENGTH(a) ? 2 * (float)n : 0;
    }
}

static void an_answer_is_read(void **state) {
    (void)state;
    static const char json[] = "{\"data\":[{\"index\":1,\"embedding\":[0,-2]},"
                               "{\"index\":0,\"embedding\":[3e30,4e30]}]}";
    struct embeddings found;
    assert_int_equal(embeddings_read(json, strlen(json), 2, 0, &found, &err), 0);
    assert_int_equal(found.dimension, 2);
    assert_true(fabsf(found.values[0] - 0.6F) < 1e-6F && fabsf(found.values[1] - 0.8F) < 1e-6F);
    assert_true(found.values[2] == 0 && found.values[3] == -1);
    embeddings_finish(&found);
    assert_int_equal(embeddings_read(json, strlen(json), 2, 3, &found, &err), TOOLRACK_E_INVALID);
    assert_string_equal(err.message, "its answer has vectors of 2 numbers; they must have 3");
    assert_null(found.values);
}

static bool lacks_seven(void *user, uint64_t id) {
    (void)user;
    return id == 7;
}

static void places_are_fused(void **state) {
    (void)state;
    /* By words 5, 6, 7 (which has no vector), 8; by vectors 9, 8, 5. */
    struct match_hit hits[8] = {{.id = 5, .score = 0.8}, {.id = 6}, {.id = 7}, {.id = 8}};
    static struct vectors_found found = {.hits = {{9, 0.9F}, {8, 0.8F}, {5, 0.7F}}, .count = 3};
    static const uint64_t order[] = {5, 8, 7, 9, 6};
    size_t count = 4;
    hits[0].reason_count = 1;
    hits[0].reasons[0].share = 0.5;
    assert_int_equal(fuse(hits, &count, 8, &found, lacks_seven, NULL, &err), 0);
    assert_int_equal(count, 5);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(hits[i].id, order[i]);
        assert_true(hits[i].score <= (i > 0 ? hits[i - 1].score : 0.8));
    }
    double sum = 1.0 / 61 + 1.0 / 63;
    assert_true(fabs(hits[0].score - 0.8) < 1e-12);
    assert_true(fabs(hits[4].score - 0.8 * (1.0 / 62) / sum) < 1e-12);
    assert_int_equal(hits[0].reason_count, 2);
    assert_int_equal(hits[0].reasons[0].relation, MATCH_VECTOR);
    assert_true(fabs(hits[0].reasons[0].share - 1.0 / 63 / sum) < 1e-4);
    assert_true(fabs(hits[0].reasons[1].share - 0.5 * (1.0 / 61 / sum)) < 1e-12);
    assert_int_equal(hits[2].reason_count, 0); /* no vector: no reason by one */
    /* By vectors alone; the last are left out where there is no room. */
    count = 0;
    assert_int_equal(fuse(hits, &count, 2, &found, lacks_seven, NULL, &err), 0);
    assert_int_equal(count, 2);
    assert_int_equal(hits[0].id, 9);
    assert_true(fabs(hits[0].score - (double)0.9F) < 1e-12);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
            TEST(a_search_says_what_was_sent),
            TEST(a_tool_is_found_by_what_it_means),
            TEST(nothing_is_sent_unless_it_is_configured),
            TEST(another_host_sends_no_tool_again),
            TEST(only_tools_that_may_be_found_are_sent),
            TEST(words_decide_where_an_answer_is_wrong),
            TEST(words_decide_where_no_answer_comes),
            TEST(tools_without_vectors_are_ranked_by_words),
            TEST(a_slow_model_gets_fewer_texts),
            TEST(what_a_provider_asks_for_is_waited_for),
            TEST(the_key_is_sent_and_not_shown),
            TEST(threads_search_at_once),
            TEST(many_tools_are_sent_in_batches),
            cmocka_unit_test(a_product_is_that_of_all_numbers),
            cmocka_unit_test(an_answer_is_read),
            cmocka_unit_test(places_are_fused),
    };
    int count = cmocka_run_group_tests_name("choose-embeddings", tests, NULL, NULL);
    answer_schema_finish();
    return count;
}
