/* agent: a model of the fake provider works on a task with the tools. */
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yyjson.h>

#include <cmocka.h>

#include "e2e.h"
#include "patience.h"
#include "provider.h"

/* The task goes first, so that something always follows. */
#define TASK                 "agent", "--endpoint", endpoint, "What is 2 + 3?", "--model"
#define AGENT(...)           RUN(TASK, __VA_ARGS__)
#define AGENT_WITH(how, ...) run_how(how, ARGS(TASK, __VA_ARGS__))
#define CALLS_ADD            "toolrack: calls add {\"a\":2,\"b\":3}\ntoolrack: add: 5.0\n"
#define TRANSCRIPT           "toolrack: transcript: state/transcripts/2*.jsonl\n"

static char *read_kept(const char *path) {
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    char *text = calloc(1, (size_t)status.st_size + 1);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_non_null(text);
    assert_int_equal(read(fd, text, (size_t)status.st_size), status.st_size);
    (void)close(fd);
    return text;
}

/* The one transcript, as text; release with free(). */
static char *transcript(void) {
    DIR *dir = opendir("state/transcripts");
    assert_non_null(dir);
    char path[512] = "";
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (entry->d_name[0] != '.') {
            assert_string_equal(path, "");
            (void)snprintf(path, sizeof path, "state/transcripts/%s", entry->d_name);
        }
    }
    (void)closedir(dir);
    return read_kept(path);
}

/* ------------------------------------------------------------------- turns */

static void five_providers_are_spoken(void **state) {
    (void)state;
    need_provider();
    static const char *const formats[] = {"openai", "openai-responses", "anthropic", "gemini",
                                          "ollama"};
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        EXPECT(AGENT("talks", "--format", formats[i], "--system", "Be brief."), 0,
               "Let me add them: \xc3\xa9 \xe2\x98\x83 \xf0\x9f\x98\x80\nThe sum is 5.\n",
               CALLS_ADD TRANSCRIPT);
    }
    EXPECT_REQUESTS("/0/path", "\"/v1/chat/completions\"", "/0/headers/authorization",
                    "\"Bearer " KEY "\"", "/0/body/messages/0/content", "\"Be brief.\"",
                    "/1/body/messages/2/tool_calls/0/function/name", "\"add\"",
                    "/1/body/messages/3/role", "\"tool\"", "/1/body/messages/3/content", "\"5.0\"");
    EXPECT_REQUESTS("/2/path", "\"/v1/responses\"", "/2/headers/authorization",
                    "\"Bearer " KEY "\"", "/2/body/instructions", "\"Be brief.\"",
                    "/3/body/input/2/type", "\"function_call\"", "/3/body/input/3/type",
                    "\"function_call_output\"");
    EXPECT_REQUESTS("/4/path", "\"/v1/messages\"", "/4/headers/x-api-key", "\"" KEY "\"",
                    "/4/headers/authorization", "", "/4/headers/anthropic-version", "\"20*\"",
                    "/4/body/max_tokens", "8192", "/4/body/system/0/text", "\"Be brief.\"",
                    "/5/body/messages/1/content/1/type", "\"tool_use\"",
                    "/5/body/messages/2/content/0/type", "\"tool_result\"");
    EXPECT_REQUESTS("/6/path", "\"/v1beta/models/talks:streamGenerateContent?alt=sse\"",
                    "/6/headers/x-goog-api-key", "\"" KEY "\"",
                    "/6/body/systemInstruction/parts/0/text", "\"Be brief.\"",
                    "/7/body/contents/1/parts/1/thoughtSignature", "\"c2lnbmVk\"",
                    "/7/body/contents/2/parts/0/functionResponse/name", "\"add\"");
    EXPECT_REQUESTS("/8/path", "\"/api/chat\"", "/8/headers/authorization", "",
                    "/9/body/messages/3/tool_name", "\"add\"", "/10", "");
}

static void tools_are_told_to_the_model(void **state) {
    (void)state;
    need_provider();
    EXPECT(AGENT("text-only"), 0, "Nothing to do.\n", TRANSCRIPT);
    EXPECT(AGENT("text-only", "--format", "gemini"), 0, "Nothing to do.\n", TRANSCRIPT);
    EXPECT(AGENT_WITH(&(struct how){.plugins = "."}, "text-only", "--format", "gemini"), 0,
           "Nothing to do.\n", TRANSCRIPT);
    EXPECT_REQUESTS("/0/body/tools/0/function/name", "\"*\"", "/0/body/tools/0/function/parameters",
                    "{*}", "/1/body/tools/0/functionDeclarations/0/parametersJsonSchema", "{*}",
                    "/2/body/tools", "");
}

static void calls_of_one_message_run_side_by_side(void **state) {
    (void)state;
    need_provider();
    EXPECT(AGENT("parallel"), 0, "The sum is 5 and \"HELLO\" and 9 and 42.\n",
           "toolrack: calls add *toolrack: calls greet *toolrack: calls add *toolrack: calls add "
           "*toolrack: add: 5.0\ntoolrack: greet: HELLO\ntoolrack: add: 9.0\ntoolrack: add: "
           "42.0\n" TRANSCRIPT);
    EXPECT_JSON(AGENT("two-turn", "--json"), 0, "/text", "\"The sum is 5.\"", "/steps", "2",
                "/calls", "1", "/transcript", "\"state/transcripts/*.jsonl\"");
}

static void a_wrong_call_is_told_to_the_model(void **state) {
    (void)state;
    need_provider();
    EXPECT(AGENT("bad-arguments"), 0, "The sum is \"InvalidArguments: *\".\n", NULL);
    EXPECT(AGENT("wrong-tool"), 0, "The sum is \"NotFound: *'subtract'*\".\n", NULL);
}

static void what_was_changed_in_arguments_is_told(void **state) {
    (void)state;
    need_provider();
    EXPECT(AGENT("encodes"), 0, "The sum is {\"o\":{\"s\":\"x\"}}.\n",
           "*toolrack: echo: the argument /o was changed to fit: json-text\n*");
    EXPECT_JSON(AGENT("encodes", "--json"), 0, "/called/0/changed",
                "[{\"field\":\"/o\",\"change\":\"json-text\"}]");
}

static void a_model_that_never_stops_is_stopped(void **state) {
    (void)state;
    need_provider();
    EXPECT(AGENT("endless", "--max-steps", "3"), 1, "",
           "*toolrack: LimitExceeded: the model still calls tools after 3 steps; *\n");
    assert_int_equal(request_count(), 3);
    EXPECT(AGENT("endless"), 1, "", "*after 20 steps; *\n");
    assert_int_equal(request_count(), 23);
}

static void of_many_calls_the_first_are_shown(void **state) {
    (void)state;
    need_provider();
    struct run run = AGENT("calls-many");
    size_t lines = 0;
    for (const char *at = run.err; (at = strchr(at, '\n')) != NULL; at++) {
        lines++;
    }
    EXPECT_MATCH(run.err, "toolrack: calls add *\ntoolrack: calls 9 more\n"
                          "toolrack: add: 5.0\n*\ntoolrack: 9 more results\n" TRANSCRIPT);
    assert_int_equal(lines, 2 * (64 + 1) + 1);
    assert_string_equal(run.out, "73\n");
    run_finish(&run);
}

/* Nothing of it runs, and so none of its calls is shown. */
static void a_message_with_too_many_calls_is_refused(void **state) {
    (void)state;
    need_provider();
    EXPECT(AGENT("floods"), 1, "",
           TRANSCRIPT
           "toolrack: LimitExceeded: the message has more than the 1024 calls allowed\n");
    assert_int_equal(request_count(), 1);
}

static void requests_have_what_was_added(void **state) {
    (void)state;
    need_provider();
    EXPECT(AGENT("text-only", "--header", "X-Team: tools", "--header", "authorization: Bearer mine",
                 "--query", "api-version=1 2", "--parameter", "temperature=0.2", "--parameter",
                 "user=ada", "--verbose"),
           0, "Nothing to do.\n", "*/chat/completions?api-version=1+2\n*");
    EXPECT_REQUESTS("/0/path", "\"/v1/chat/completions?api-version=1+2\"", "/0/headers/x-team",
                    "\"tools\"", "/0/headers/authorization", "\"Bearer mine\"",
                    "/0/body/temperature", "0.2", "/0/body/user", "\"ada\"");
    EXPECT(AGENT("text-only", "--format", "anthropic", "--parameter", "max_tokens=7"), 0,
           "Nothing to do.\n", NULL);
    EXPECT_REQUESTS("/1/body/max_tokens", "7");
    EXPECT(AGENT("text-only", "--header", "name"), 2, "", "toolrack: a header is \"NAME: VALUE\"*");
    EXPECT(AGENT("text-only", "--query", "key=1"), 2, "",
           "toolrack: the query may not have key: *");
    EXPECT(AGENT("text-only", "--parameter", "model=m"), 2, "", "toolrack: the parameter model *");
}

static void a_task_comes_from_standard_input(void **state) {
    (void)state;
    need_provider();
#define FROM(how) run_how(how, ARGS("agent", "--endpoint", endpoint, "--model", "text-only", "-"))
    EXPECT(FROM(&(struct how){.input = "Add 2\nand 3.\n"}), 0, "Nothing to do.\n", NULL);
    EXPECT_REQUESTS("/0/body/messages/0/content", "\"Add 2\\nand 3.\\n\"");
    EXPECT(FROM(&((struct how){.input = "a\0b", .input_length = 3})), 1, "",
           "toolrack: Invalid: the task has a zero byte: *");
    static const char *const blank[] = {"", " \n\t\r\n"};
    for (size_t i = 0; i < sizeof blank / sizeof blank[0]; i++) {
        EXPECT(FROM(&(struct how){.input = blank[i]}), 2, "",
               "toolrack: the task is empty: write it to standard input\n");
        EXPECT(RUN("agent", "--endpoint", endpoint, "--model", "text-only", blank[i]), 2, "",
               "toolrack: the task is empty: say what to do\n");
    }
    assert_int_equal(request_count(), 1);
}

/* ------------------------------------------------------------------ caching */

/* The body of the index-th request without marks of caching; release with free(). */
static char *request_text(size_t index, size_t *ret_marks) {
    static const char mark[] = ",\"cache_control\":{\"type\":\"ephemeral\"}";
    char pointer[32];
    yyjson_doc *doc = requests();
    (void)snprintf(pointer, sizeof pointer, "/%zu/text", index);
    const char *given = yyjson_get_str(yyjson_doc_ptr_get(doc, pointer));
    assert_non_null(given);
    char *text = strdup(given);
    assert_non_null(text);
    yyjson_doc_free(doc);
    *ret_marks = 0;
    for (char *at; (at = strstr(text, mark)) != NULL; (*ret_marks)++) {
        memmove(at, at + sizeof mark - 1, strlen(at + sizeof mark - 1) + 1);
    }
    return text;
}

/* Providers cache what begins alike. */
static void a_request_begins_as_the_one_before(void **state) {
    (void)state;
    need_provider();
    static const struct {
        const char *format;
        const char *end;
        bool has_marks;
    } cases[] = {
            {"openai", "],\"stream_options\":{\"include_usage\":true},\"stream\":true}", false},
            {"openai-responses",
             "],\"store\":false,\"include\":[\"reasoning.encrypted_content\"],\"stream\":true}",
             false},
            {"anthropic", "],\"stream\":true}", true},
            {"gemini", "]}", false},
            {"ollama", "],\"stream\":true}", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        forget_requests();
        EXPECT(AGENT("endless", "--format", cases[i].format, "--system", "Be brief.", "--max-steps",
                     "3", "--parameter", "temperature=0.2"),
               1, "", NULL);
        size_t marks = 0;
        char *before = request_text(0, &marks);
        assert_int_equal(marks, cases[i].has_marks ? 3 : 0);
        for (size_t step = 1; step < 3; step++) {
            char *text = request_text(step, &marks);
            size_t end = strlen(before) - strlen(cases[i].end);
            assert_string_equal(before + end, cases[i].end);
            assert_memory_equal(text, before, end);
            assert_int_equal(text[end], ',');
            assert_int_equal(marks, cases[i].has_marks ? 4 : 0);
            free(before);
            before = text;
        }
        free(before);
    }
}

static void what_may_be_cached_is_marked(void **state) {
    (void)state;
    need_provider();
    EXPECT(AGENT("two-turn", "--format", "anthropic", "--system", "Be brief."), 0,
           "The sum is 5.\n", NULL);
#define MARK "{\"type\":\"ephemeral\"}"
    EXPECT_REQUESTS("/0/body/system/0/text", "\"Be brief.\"", "/0/body/system/0/cache_control",
                    MARK, "/0/body/messages/0/content/0/cache_control", MARK,
                    "/1/body/messages/0/content/0/cache_control", MARK,
                    "/1/body/messages/2/content/0/type", "\"tool_result\"",
                    "/1/body/messages/2/content/0/cache_control", MARK);
    char *text = transcript();
    assert_null(strstr(text, "cache_control"));
    free(text);
    /* The provider's own way is a parameter. */
    EXPECT(AGENT("text-only", "--format", "anthropic", "--system", "", "--parameter",
                 "cache_control={\"type\":\"ephemeral\"}", "--transcript", "kept"),
           0, "Nothing to do.\n", NULL);
    EXPECT_REQUESTS("/2/body/cache_control", MARK, "/2/body/system", "\"\"",
                    "/2/body/messages/0/content/0/cache_control", "");
    EXPECT(AGENT("text-only", "--format", "anthropic", "--system", "", "--transcript", "kept"), 0,
           "Nothing to do.\n", NULL);
    EXPECT_REQUESTS("/3/body/system", "\"\"", "/3/body/messages/0/content/0/cache_control", MARK);
}

/* Of OpenAI's Responses nothing is kept there, but by a parameter. */
static void responses_are_not_stored(void **state) {
    (void)state;
    need_provider();
    EXPECT(AGENT("text-only", "--format", "openai-responses"), 0, "Nothing to do.\n", TRANSCRIPT);
    EXPECT(AGENT("text-only", "--format", "openai-responses", "--parameter", "store=true",
                 "--parameter", "include=[]"),
           0, "Nothing to do.\n", TRANSCRIPT);
    EXPECT(AGENT("text-only"), 0, "Nothing to do.\n", TRANSCRIPT);
    EXPECT_REQUESTS("/0/body/store", "false", "/0/body/include",
                    "[\"reasoning.encrypted_content\"]", "/0/body/prompt_cache_key", "",
                    "/1/body/store", "true", "/1/body/include", "[]", "/2/body/store", "",
                    "/2/body/include", "");
    /* What the model thought is sent back as it came. */
    EXPECT(AGENT("thinks", "--format", "openai-responses"), 0, "The sum is 5.\n", NULL);
    EXPECT_REQUESTS("/4/body/input/1",
                    "{\"type\":\"reasoning\",\"id\":\"rs_0\",\"summary\":[],\"encrypted_content\":"
                    "\"thought 0\"}",
                    "/4/body/input/2/type", "\"function_call\"");
}

static void what_a_server_does_not_know_is_left_out(void **state) {
    (void)state;
    need_provider();
    EXPECT(AGENT("knows-less", "--format", "anthropic"), 0, "The sum is 5.\n",
           "toolrack: the provider refuses cache_control; asking without it\n" CALLS_ADD
                   TRANSCRIPT);
    EXPECT_REQUESTS("/1/body/tools/0/cache_control", "", "/3", "");
    /* That nothing is kept there is no provider's to take back. */
    EXPECT(AGENT("knows-less", "--format", "openai-responses"), 7, "",
           TRANSCRIPT
           "toolrack: ExecutionFailed: * answers 400: Unknown parameter: 'store'.; store "
           "is false so that nothing is kept there, and no request is sent without it: "
           "give another --format or provider, or --parameter store=true if the "
           "messages may be kept\n");
    EXPECT_REQUESTS("/3/body/store", "false", "/4", "");
    /* Of the model's messages, of the definitions and of the parameters too. */
    forget_requests();
    EXPECT(AGENT("takes-no-reasoning"), 0, "The sum is 5 and 5.\n",
           CALLS_ADD
           "toolrack: the provider refuses reasoning; asking without it\n" CALLS_ADD TRANSCRIPT);
    EXPECT_REQUESTS("/1/body/messages/1/reasoning", "\"Let me think.\"",
                    "/2/body/messages/1/reasoning", "", "/3/body/messages/3/role", "\"assistant\"",
                    "/3/body/messages/3/reasoning", "", "/4", "");
    forget_requests();
    EXPECT(AGENT("takes-nothing-strict"), 0, "The sum is 5.\n",
           "toolrack: the provider refuses strict; asking without it\n" CALLS_ADD TRANSCRIPT);
    EXPECT_REQUESTS("/0/body/tools", "*\"strict\":true*", "/1/body/tools/0/function/strict", "",
                    "/2/body/tools/0/function/name", "*", "/3", "");
    forget_requests();
    EXPECT(AGENT("knows-no-limit", "--parameter", "max_tokens=10"), 0, "The sum is 5.\n",
           "toolrack: the provider refuses max_tokens; asking with max_completion_tokens\n" //
           CALLS_ADD TRANSCRIPT);
    EXPECT_REQUESTS("/0/body/max_tokens", "10", "/1/body/max_completion_tokens", "10",
                    "/2/body/max_completion_tokens", "10", "/3", "");
    forget_requests();
    /* What the person sends is theirs. */
    EXPECT(AGENT("knows-less", "--format", "openai-responses", "--parameter", "store=false"), 7, "",
           TRANSCRIPT "toolrack: ExecutionFailed: * answers 400: Unknown parameter: 'store'.\n");
    assert_int_equal(request_count(), 1);
}

static void tokens_and_times_are_counted(void **state) {
    (void)state;
    need_provider();
    EXPECT_JSON(AGENT("two-turn", "--json"), 0, "/usage",
                "{\"input\":2400,\"cached\":1024,\"written\":null,\"output\":60,\"reasoning\":20,"
                "\"complete\":true}",
                "/cost", "null", "/latency", "{\"first_byte_ms\":*,\"total_ms\":*,\"tools_ms\":*}",
                "/called",
                "[{\"step\":1,\"tool\":\"add\",\"state\":\"succeeded\",\"duration_ms\":*,"
                "\"error\":null}]");
    EXPECT_REQUESTS("/0/body/stream_options", "{\"include_usage\":true}", "/0/body/stream", "true");
    static const char *const formats[] = {"openai-responses", "anthropic", "gemini", "ollama"};
    static const char *const usages[] = {"null", "{\"input\":2,*\"output\":2,*}",
                                         "{\"input\":2,*\"output\":2,*}",
                                         "{\"input\":null,*\"output\":2,*}"};
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        EXPECT_JSON(AGENT("two-turn", "--json", "--format", formats[i]), 0, "/usage", usages[i]);
    }
    EXPECT_REQUESTS("/2/body/stream_options", "", "/4/body/stream_options", "");
    EXPECT_JSON(AGENT("wrong-tool", "--json"), 0, "/called/0/state", "\"failed\"",
                "/called/0/error", "\"NotFound\"", "/calls", "1");
}

/* What a server does not know is not asked of it again. */
static void a_server_may_count_nothing(void **state) {
    (void)state;
    need_provider();
    EXPECT_JSON(AGENT("counts-nothing", "--json"), 0, "/usage", "null", "/text",
                "\"The sum is 5.\"", "/steps", "2");
    EXPECT_REQUESTS("/0/body/stream_options", "{*}", "/1/body/stream_options", "",
                    "/2/body/stream_options", "", "/3", "");
    EXPECT_JSON(AGENT("two-turn", "--json", "--parameter", "stream_options={\"x\":1}"), 0, "/usage",
                "null");
    EXPECT_REQUESTS("/3/body/stream_options", "{\"x\":1}");
}

/* ------------------------------------------------------------------ endings */

/* An answer that is none, or not whole, has a word, an exit code and a mark. */
static void each_ending_has_an_exit_code(void **state) {
    (void)state;
    need_provider();
    static const struct {
        const char *model;
        const char *format;
        int exit;
        const char *out;
        const char *err;
    } cases[] = {
            {"length", "openai", 8, "It is fo\n[cut off: length]\n", "LimitExceeded: *(length): *"},
            {"length", "openai-responses", 8, "It is fo\n[cut off: length]\n",
             "LimitExceeded: *(max_output_tokens): *"},
            {"length", "anthropic", 8, "It is fo\n[cut off: length]\n",
             "LimitExceeded: *(max_tokens): *"},
            {"length", "gemini", 8, "It is fo\n[cut off: length]\n",
             "LimitExceeded: *(MAX_TOKENS): *"},
            {"length", "ollama", 8, "It is fo\n[cut off: length]\n", "LimitExceeded: *(length): *"},
            {"refusal", "openai", 9, "I will not.\n", "Refused: the model refuses the task*"},
            {"refusal", "openai-responses", 9, "I will not.\n",
             "Refused: the model refuses the task: *"},
            {"refusal", "anthropic", 9, "I will not.\n", "Refused: the model refuses the task: *"},
            {"filtered", "openai", 9, "It is\n[cut off: content-filter]\n",
             "Refused: the provider's content filter *(content_filter): *"},
            {"filtered", "openai-responses", 9, "It is\n[cut off: content-filter]\n",
             "Refused: the provider's content filter *(content_filter): *"},
            {"prompt-filtered", "openai", 9, "",
             "Refused: * 400: the prompt is filtered; change the task, or ask another model"},
            {"unsafe", "gemini", 9, "It is\n[cut off: safety]\n",
             "Refused: the provider's safety filter *(SAFETY): *"},
            {"blocked", "gemini", 9, "",
             "Refused: the provider's safety filter *(PROHIBITED_CONTENT): *"},
            {"malformed", "gemini", 10, "",
             "ExecutionFailed: *cannot be read (MALFORMED_FUNCTION_CALL): *"},
            {"empty", "openai", 10, " \n",
             "ExecutionFailed: the model's answer is empty (stop): *"},
            {"empty", "ollama", 10, " \n", "ExecutionFailed: the model's answer is empty*"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char err[256];
        (void)snprintf(err, sizeof err, TRANSCRIPT "toolrack: %s\n", cases[i].err);
        EXPECT(AGENT(cases[i].model, "--format", cases[i].format), cases[i].exit, cases[i].out,
               err);
    }
    /* None of their calls has run, and nothing was asked again. */
    assert_int_equal(request_count(), sizeof cases / sizeof cases[0]);
}

static void an_ending_is_told_in_json(void **state) {
    (void)state;
    need_provider();
    EXPECT_JSON(AGENT("length", "--json"), 8, "/text", "\"It is fo\"", "/ending", "\"length\"",
                "/reason", "\"length\"", "/error/type", "\"LimitExceeded\"", "/steps", "1");
    EXPECT_JSON(AGENT("broken-stream", "--json"), 1, "/ending", "\"none\"", "/error/type",
                "\"InputOutput\"", "/reason", "null");
    EXPECT_JSON(AGENT("two-turn", "--json"), 0, "/ending", "\"done\"", "/reason", "\"stop\"",
                "/error", "");
    EXPECT(AGENT("new-reason"), 0, "Fine.\n",
           "toolrack: *not known here (a_new_word)\n" TRANSCRIPT);
    EXPECT(AGENT("odd-reason", "--format", "gemini"), 10, "Fine.\n[cut off: stopped]\n",
           TRANSCRIPT "toolrack: ExecutionFailed: the provider stopped the answer (LANGUAGE): *\n");
    EXPECT_JSON(AGENT("stops-calls", "--format", "gemini", "--json"), 10, "/ending", "\"stopped\"",
                "/reason", "\"OTHER\"", "/calls", "0");
    EXPECT(AGENT("broken-stream"), 1, "*\n[cut off]\n", NULL);
}

/* What a server refused is kept, so that the next conversation is not refused first. */
static void what_a_server_does_not_know_is_remembered(void **state) {
    (void)state;
    need_provider();
    EXPECT(AGENT("knows-less", "--format", "anthropic"), 0, "The sum is 5.\n",
           "toolrack: the provider refuses cache_control; asking without it\n" CALLS_ADD
                   TRANSCRIPT);
    EXPECT(AGENT("knows-less", "--format", "anthropic"), 0, "The sum is 5.\n",
           CALLS_ADD TRANSCRIPT);
    EXPECT(AGENT("takes-nothing-strict"), 0, "The sum is 5.\n", NULL);
    EXPECT(AGENT("takes-nothing-strict"), 0, "The sum is 5.\n", CALLS_ADD TRANSCRIPT);
    EXPECT(AGENT("knows-no-limit", "--parameter", "max_tokens=9"), 0, "The sum is 5.\n", NULL);
    EXPECT(AGENT("knows-no-limit", "--parameter", "max_tokens=9"), 0, "The sum is 5.\n",
           CALLS_ADD TRANSCRIPT);
    EXPECT(AGENT("takes-no-reasoning"), 0, "The sum is 5 and 5.\n", NULL);
    EXPECT(AGENT("takes-no-reasoning"), 0, "The sum is 5 and 5.\n", CALLS_ADD CALLS_ADD TRANSCRIPT);
    /* Another model may know it; and what others may write to is not believed. */
    EXPECT(AGENT("two-turn", "--format", "anthropic"), 0, "The sum is 5.\n", NULL);
    EXPECT_REQUESTS("/3/body/tools/0/cache_control", "");
    assert_int_equal(chmod("state/refused.json", 0666), 0);
    EXPECT(AGENT("knows-less", "--format", "anthropic"), 0, "The sum is 5.\n",
           "toolrack: the provider refuses cache_control; *");
    struct stat st;
    assert_int_equal(stat("state/refused.json", &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
}

/* What is whole in a message that is cut off runs. */
static void calls_of_a_message_that_is_cut_off_are_answered(void **state) {
    (void)state;
    need_provider();
    EXPECT(AGENT("length-in-calls"), 0, "The sum is 5 and \"InvalidArguments: *\".\n",
           "*toolrack: the model's message is cut off at a limit of tokens (length): *");
}

/* -------------------------------------------------------------- which tools */

static void only_tools_that_are_offered_run(void **state) {
    (void)state;
    need_provider();
    EXPECT(AGENT("two-turn", "--allow", "add"), 0, "The sum is 5.\n", CALLS_ADD TRANSCRIPT);
    EXPECT(AGENT("two-turn", "--allow", "greet,erase"), 0,
           "The sum is \"NotFound: *Tool 'add' not found; it was not offered\".\n", NULL);
    EXPECT_REQUESTS("/0/body/tools/0/function/name", "\"add\"", "/0/body/tools/1", "",
                    "/2/body/tools/1/function/name", "\"*\"", "/2/body/tools/2", "");
    EXPECT(AGENT("plans", "--plan", "--allow", "greet"), 0, "Last: {\"error\":\"Invalid\"*add*\n",
           NULL);
    EXPECT(AGENT("two-turn", "--allow", "ad"), 3, "", "toolrack: NotFound: *\n");
    e2e_write("profiles.json", "{\"serve\":{\"profiles\":{\"sums\":{\"tools\":[\"add\"]}}}}");
#define WITH_PROFILE(name, ...) \
    AGENT("two-turn", "--config", "profiles.json", "--profile", name, __VA_ARGS__)
    EXPECT(WITH_PROFILE("sums", "--format", "anthropic"), 0, "The sum is 5.\n", NULL);
    EXPECT_REQUESTS("/6/body/tools/0/name", "\"add\"", "/6/body/tools/1", "");
    e2e_write("empty.json", "{\"serve\":{\"profiles\":{\"none\":{\"tools\":[]}}}}");
    EXPECT(RUN(TASK, "text-only", "--config", "empty.json", "--profile", "none"), 0,
           "Nothing to do.\n",
           "toolrack: the profile none has no tool that can run here: the model is offered "
           "none\n" TRANSCRIPT);
    EXPECT(WITH_PROFILE("sum", "--verbose"), 2, "", "*no profile 'sum'; did you mean 'sums'?*");
    EXPECT_JSON(RUN("export", "--format", "mcp", "--config", "profiles.json", "--profile", "sums"),
                0, "/0/name", "\"add\"", "/1", "");
}

static void what_is_left_out_is_told(void **state) {
    (void)state;
    need_provider();
    EXPECT(AGENT("text-only", "--limit", "1"), 0, "Nothing to do.\n",
           "toolrack: * tools are left out: it is beyond the limit of 1 tool (*, *, *, ...)\n" //
           TRANSCRIPT);
    EXPECT_REQUESTS("/0/body/tools/0/function/name", "\"*\"", "/0/body/tools/1", "");
    EXPECT(AGENT("text-only", "--budget", "1"), 0, "Nothing to do.\n",
           "toolrack: * tools are left out: with this tool the definitions have more than 4 bytes "
           "(*)\n" TRANSCRIPT);
}

/* ------------------------------------------------------------------ failures */

static void a_stream_may_be_cut_anywhere(void **state) {
    (void)state;
    need_provider();
    static const char *const formats[] = {"openai", "openai-responses", "anthropic", "gemini",
                                          "ollama"};
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        EXPECT(AGENT("odd-cuts", "--format", formats[i]), 0,
               "Let me add them: \xc3\xa9 \xe2\x98\x83 \xf0\x9f\x98\x80\nThe sum is 5.\n",
               CALLS_ADD TRANSCRIPT);
        EXPECT(AGENT("broken-stream", "--format", formats[i]), 1, NULL,
               "*toolrack: InputOutput: the response broke off: *; send the request again\n");
        EXPECT(AGENT("late-break", "--format", formats[i]), 0, "The sum is 5.\n",
               CALLS_ADD TRANSCRIPT);
        EXPECT(AGENT("no-end", "--format", formats[i]), 1, NULL,
               "*toolrack: Invalid: the response ended too early, *\n");
        EXPECT(AGENT("no-stream", "--format", formats[i]), 1, "",
               "*toolrack: Invalid: *a page of HTML*\n");
    }
}

static void a_busy_provider_is_asked_again(void **state) {
    (void)state;
    need_provider();
#define BUSY(status, wait)                   \
    "toolrack: the provider answers " status \
    ": no answer for \"Bearer *\" today; asking again in " wait "\n"
#define AT_ONCE(status)                      \
    "toolrack: the provider answers " status \
    ": no answer for \"Bearer *\" today; asking again at once\n"
    EXPECT(AGENT("busy"), 0, "The sum is 5.\n", BUSY("429", "1 s") CALLS_ADD TRANSCRIPT);
    EXPECT(AGENT("busy-until"), 0, "The sum is 5.\n", AT_ONCE("429") CALLS_ADD TRANSCRIPT);
    EXPECT(AGENT("busy-ms"), 0, "The sum is 5.\n",
           BUSY("429", "20 ms") BUSY("408", "2 ms") AT_ONCE("504") CALLS_ADD TRANSCRIPT);
    EXPECT(AGENT("busy-info", "--format", "openai-responses"), 0, "The sum is 5.\n",
           BUSY("429", "30 ms") CALLS_ADD TRANSCRIPT);
    EXPECT(AGENT("hopeful"), 0, "The sum is 5.\n", AT_ONCE("409") CALLS_ADD TRANSCRIPT);
    EXPECT(AGENT("stumbles"), 0, "The sum is 5.\n",
           BUSY("500", "500 ms") BUSY("529", "1 s") CALLS_ADD TRANSCRIPT);
    EXPECT(AGENT("resets"), 0, "The sum is 5.\n",
           "toolrack: the provider closed the connection without an answer; asking again in 500 "
           "ms\n"
           "toolrack: the provider closed the connection without an answer; asking again in 1 s\n" //
           CALLS_ADD TRANSCRIPT);
    size_t before = request_count();
    EXPECT(AGENT("down"), 1, "",
           "*toolrack: InputOutput: http://* answers 503, 5 times: *; try again later\n");
    assert_int_equal(request_count(), before + 5);
}

/* A stream that begins with success may say so too. */
static void an_overload_within_a_stream_is_asked_again(void **state) {
    (void)state;
    need_provider();
#define ENDED(why) \
    "toolrack: the provider ended the response with an error: " why "; asking again in "
    EXPECT(AGENT("overloaded", "--format", "anthropic"), 0, "The sum is 5.\n",
           ENDED("Overloaded") "500 ms\n" CALLS_ADD TRANSCRIPT);
    forget_requests();
    EXPECT(AGENT("overloaded"), 0, "The sum is 5.\n",
           ENDED("Overloaded") "500 ms\n" CALLS_ADD TRANSCRIPT);
    forget_requests();
    EXPECT(AGENT("overloaded-later"), 1, "Let me\n[cut off]\n",
           "*InputOutput: the provider ended the response with an error: Overloaded\n");
    assert_int_equal(request_count(), 1);
}

/* None is asked for, and some send it. */
static void a_compressed_answer_is_read(void **state) {
    (void)state;
    need_provider();
    EXPECT(AGENT("compresses"), 0, "The sum is 5.\n", CALLS_ADD TRANSCRIPT);
    EXPECT_REQUESTS("/0/headers/accept-encoding", "\"identity\"");
    EXPECT(AGENT("compresses-oddly"), 1, "",
           "*InputOutput: *: http://127.0.0.1:*: Unrecognized or bad HTTP Content*Encoding\n");
}

static void a_long_wait_is_for_the_person_to_decide(void **state) {
    (void)state;
    need_provider();
    EXPECT(AGENT("busy-long"), 1, "",
           TRANSCRIPT "toolrack: LimitExceeded: * 429: *; it wants to be asked again in 10 min: "
                      "--max-wait 600s waits for it\n");
    EXPECT(AGENT("busy", "--max-wait", "30s"), 0, "The sum is 5.\n", NULL);
    EXPECT(AGENT_WITH(&(struct how){.typed = "n\n"}, "used-up"), 1, "",
           "*LimitExceeded: * 429:*; no wait helps: see to*account of the key*\n");
    EXPECT_JSON(AGENT("used-up", "--json"), 1, "/error/is_recoverable", "false", "/steps", "1");
    EXPECT(AGENT("hopeless"), 1, "", "*InputOutput: * 503: *");
    assert_int_equal(request_count(), 7);
    EXPECT(AGENT("two-turn", "--max-wait", "long"), 2, "", "*--max-wait takes a duration *");
    EXPECT(AGENT("two-turn", "--max-wait", "2d"), 2, "", "*of a day at most, not \"2d\"*");
}

static void a_long_wait_is_asked_about(void **state) {
    (void)state;
    need_provider();
    EXPECT(AGENT_WITH(&(struct how){.typed = "n\n"}, "busy-long"), 1, "",
           "*answers 429: *wait 10 min?*[y]es, [N]o: *LimitExceeded: *");
    EXPECT(AGENT_WITH(&(struct how){.typed = ""}, "busy"), 0, "The sum is 5.\n",
           "*answers 429: *\r\033[Kasking again in 1 s \r\033[K*");
    assert_int_equal(request_count(), 4);
}

static void other_failures_are_final(void **state) {
    (void)state;
    need_provider();
    EXPECT(AGENT("moved"), 1, "", "*toolrack: Invalid: * answers 307, a redirect, *\n");
    EXPECT(AGENT("nobody"), 3, "",
           "*toolrack: NotFound: * answers 404: there is no model nobody\n");
    assert_int_equal(request_count(), 2);
    EXPECT(RUN("agent", "--endpoint", "http://127.0.0.1:1", "--model", "m", "task"), 1, "",
           "*toolrack: InputOutput: the provider cannot be reached: http://127.0.0.1:1/*\n");
    assert_int_equal(setenv("http_proxy", "http://user:secret@127.0.0.3:1/", 1), 0);
    EXPECT(RUN("agent", "--endpoint", "http://127.0.0.2:80", "--model", "m", "task"), 1, "",
           "*toolrack: InputOutput: http://127.0.0.2*/v1/chat/completions cannot be reached "
           "through "
           "the proxy 127.0.0.3:1, which the environment variable http_proxy names: *\n");
    assert_int_equal(unsetenv("http_proxy"), 0);
}

static void a_key_is_shown_nowhere(void **state) {
    (void)state;
    need_provider();
    struct run run = AGENT("refuses", "--verbose");
    assert_int_equal(run.exit, 5);
    EXPECT_MATCH(run.err, "*PermissionDenied: * answers 401: no answer for \"Bearer *\" today; "
                          "check the key in the "
                          "environment variable OPENAI_API_KEY\n");
    assert_non_null(strstr(run.err, "Bearer *****"));
    assert_null(strstr(run.err, KEY));
    run_finish(&run);
    char *text = transcript();
    EXPECT_MATCH(text, "{\"kind\":\"beginning\",*\"kind\":\"end\",*PermissionDenied*}\n");
    assert_null(strstr(text, KEY));
    free(text);
    set_keys("");
    EXPECT(AGENT("refuses", "--transcript", "here.jsonl"), 5, "",
           "toolrack: transcript: here.jsonl\n* answers 401: *; set the environment variable "
           "OPENAI_API_KEY\n");
    set_keys("two\nlines");
    EXPECT(AGENT("refuses"), 2, "",
           "toolrack: OPENAI_API_KEY must hold at most *visible characters *: set it to the key "
           "alone*\n");
}

/* Nobody sees the key that a model says: not the terminal, the transcript, the tool or the log. */
static void a_key_that_the_model_says_goes_nowhere(void **state) {
    (void)state;
    need_provider();
    static const char *const formats[] = {"openai", "openai-responses", "anthropic", "gemini"};
    EXPECT(RUN("grant", "echo"), 0, NULL, NULL);
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        struct run run =
                AGENT("tells-key", "--format", formats[i], "--verbose", "--transcript", "kept");
        assert_int_equal(run.exit, 0);
        EXPECT_MATCH(run.out, "The key is *.\n* {\"text\":\"*\"}\n");
        assert_non_null(strstr(run.out, "is **********"));
        assert_null(strstr(run.out, KEY));
        assert_null(strstr(run.err, KEY));
        run_finish(&run);
    }
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i += 3) {
        struct run run = AGENT("ends-with-key", "--format", formats[i], "--json");
        assert_int_equal(run.exit, i == 3 ? 10 : 0); /* no word of Gemini's */
        assert_non_null(strstr(run.out, "\"reason\":\"***"));
        assert_null(strstr(run.out, KEY));
        assert_null(strstr(run.err, KEY));
        run_finish(&run);
    }
    struct run log = RUN("log", "--json");
    assert_non_null(strstr(log.out, "\"echo\""));
    assert_non_null(strstr(log.out, "**********"));
    assert_null(strstr(log.out, KEY));
    run_finish(&log);
    char *text = read_kept("kept");
    assert_null(strstr(text, KEY));
    free(text);
    struct run run = AGENT("tells-key", "--header", "authorization: Bearer " KEY "-other");
    assert_int_equal(run.exit, 0);
    assert_non_null(strstr(run.out, "The key is **********"));
    assert_null(strstr(run.out, "other"));
    assert_null(strstr(run.err, "other"));
    run_finish(&run);
}

/* Nor where each of two blocks, or of two arguments, has a half of it. */
static void halves_of_a_key_go_nowhere(void **state) {
    (void)state;
    need_provider();
    static const char *const formats[] = {"openai", "openai-responses", "anthropic", "gemini"};
    const size_t half = (strlen(KEY) + 1) / 2;
    char first[sizeof KEY] = KEY;
    first[half] = '\0';
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        struct run run = AGENT("tells-halves", "--format", formats[i], "--transcript", "kept");
        assert_int_equal(run.exit, 0);
        assert_non_null(strstr(run.out, "It is **********"));
        assert_null(strstr(run.out, first));
        assert_null(strstr(run.out, &KEY[half]));
        assert_null(strstr(run.err, first));
        assert_null(strstr(run.err, &KEY[half]));
        run_finish(&run);
        char *text = read_kept("kept");
        assert_non_null(strstr(text, "It is **********"));
        assert_non_null(strstr(text, "\"results\""));
        assert_null(strstr(text, first));
        assert_null(strstr(text, &KEY[half]));
        free(text);
        assert_int_equal(unlink("kept"), 0);
    }
    struct run log = RUN("log", "--json");
    assert_non_null(strstr(log.out, "\"echo\""));
    assert_null(strstr(log.out, first));
    assert_null(strstr(log.out, &KEY[half]));
    run_finish(&log);
}

/* Nor where the text has a half, and the call behind it the other. */
static void a_key_in_a_text_and_a_call_goes_nowhere(void **state) {
    (void)state;
    need_provider();
    static const char *const formats[] = {"openai", "openai-responses", "anthropic", "gemini",
                                          "ollama"};
    const size_t half = (strlen(KEY) + 1) / 2;
    char first[sizeof KEY] = KEY;
    first[half] = '\0';
    EXPECT(RUN("grant", "echo"), 0, NULL, NULL);
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        struct run run = AGENT("parts-key", "--format", formats[i], "--transcript", "kept",
                               "--header", "Authorization: Bearer " KEY);
        char *text = read_kept("kept");
        assert_int_equal(run.exit, i == 3 ? 10 : 0); /* no word of Gemini's */
        assert_non_null(strstr(run.out, "It is **********"));
        assert_non_null(strstr(text, "\"results\""));
        const char *const shown[] = {run.out, run.err, text};
        for (size_t j = 0; j < sizeof shown / sizeof shown[0]; j++) {
            assert_null(strstr(shown[j], first));
            assert_null(strstr(shown[j], &KEY[half]));
        }
        run_finish(&run);
        free(text);
        assert_int_equal(unlink("kept"), 0);
    }
    struct run log = RUN("log", "--json");
    assert_non_null(strstr(log.out, "\"echo\""));
    assert_null(strstr(log.out, &KEY[half]));
    run_finish(&log);
}

/* Neither a part of it, at the place where an error is cut off, nor as the name of a member. */
static void no_error_has_a_key(void **state) {
    (void)state;
    need_provider();
    static const char *const models[] = {"cuts-key", "names-key"};
    char part[sizeof KEY] = KEY;
    part[8] = '\0';
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        struct run run = AGENT(models[i], "--json", "--transcript", "kept");
        char *text = read_kept("kept");
        const char *const shown[] = {run.out, run.err, text};
        assert_int_equal(run.exit, 1);
        assert_non_null(strstr(text, "\"Invalid\""));
        for (size_t j = 0; j < sizeof shown / sizeof shown[0]; j++) {
            assert_null(strstr(shown[j], part));
        }
        run_finish(&run);
        free(text);
        assert_int_equal(unlink("kept"), 0);
    }
}

static void a_transcript_is_kept(void **state) {
    (void)state;
    need_provider();
    EXPECT(AGENT("two-turn"), 0, "The sum is 5.\n", NULL);
    char *text = transcript();
    EXPECT_MATCH(text,
                 "{\"kind\":\"beginning\",\"time\":\"20*Z\",\"beginning\":{\"url\":\"http://*\","
                 "\"format\":\"openai\",*\"task\":\"What is 2 + 3?\",\"body\":{\"model\":"
                 "\"two-turn\",*What is 2 + 3?*}}\n"
                 "{\"kind\":\"request\",*\"request\":{\"step\":1,\"try\":1,\"messages\":1}}\n"
                 "{\"kind\":\"message\",*\"tool_calls\"*}\n"
                 "{\"kind\":\"results\",*\"5.0\"*}\n"
                 "{\"kind\":\"request\",*\"request\":{\"step\":2,\"try\":1,\"messages\":3}}\n"
                 "{\"kind\":\"message\",*The sum is 5.*}\n"
                 "{\"kind\":\"end\",*\"end\":{\"steps\":2,\"calls\":1,\"ending\":\"done\"}}\n");
    free(text);
    EXPECT(AGENT("two-turn", "--transcript", "nowhere/file"), 1, "",
           "toolrack: InputOutput: cannot write the transcript nowhere/file: *\n");
}

static void a_transcript_is_for_its_owner(void **state) {
    (void)state;
    struct stat st;
    need_provider();
    e2e_write("here", "");
    assert_int_equal(chmod("here", 0644), 0);
    EXPECT(AGENT("two-turn", "--transcript", "here"), 0, "The sum is 5.\n", NULL);
    assert_int_equal(stat("here", &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_true(st.st_size > 0);
    assert_int_equal(symlink("elsewhere", "link") | mkfifo("pipe", 0600), 0);
    EXPECT(AGENT("two-turn", "--transcript", "link"), 1, "", "*transcript link: it is a symbolic*");
    assert_int_equal(access("elsewhere", F_OK), -1);
    EXPECT(AGENT("two-turn", "--transcript", "pipe"), 1, "", "*pipe: it is not a regular file\n");
    assert_int_equal(chmod("here", 0666), 0);
    EXPECT(AGENT("two-turn", "--transcript", "here"), 1, "",
           "toolrack: Refused: others may write to the transcript here (mode 0666), and the model "
           "would be told what they wrote; look at what is in it, then: chmod go-rw here\n");
    assert_int_equal(chmod("here", 0600), 0);
    if (geteuid() == 0) {
        assert_int_equal(chown("here", 12345, 0), 0);
        EXPECT(AGENT("two-turn", "--transcript", "here"), 1, "", "*belongs to user 12345*");
    }
}

/* -------------------------------------------------------------- secrets */

/* The configuration of a tool whose parameter is a secret, which its result repeats. */
static void write_login(const char *result) {
    char text[4096];
    (void)snprintf(
            text, sizeof text,
            "{\"tools\": [{\"name\": \"login\", \"description\": \"Log in\", \"type\": "
            "\"function\", \"parameters\": {\"type\": \"object\", \"properties\": {\"user\": "
            "{\"type\": \"string\"}, \"password\": {\"type\": \"string\", \"writeOnly\": "
            "true}}}, \"implementation\": {\"type\": \"mock\", \"mock_response\": \"%s\"}}]}",
            result);
    e2e_write("login.json", text);
}

/* The definitions go to the provider and into the transcript, and so do the tools of plans. */
static void the_default_of_a_secret_stays_here(void **state) {
    (void)state;
    need_provider();
    e2e_write("default.json",
              "{\"tools\": [{\"name\": \"login\", \"description\": \"Log in\", \"type\": "
              "\"function\", \"parameters\": {\"type\": \"object\", \"properties\": {\"pass\": "
              "{\"type\": \"string\", \"writeOnly\": true, \"default\": \"hunter2\"}}}, "
              "\"implementation\": {\"type\": \"mock\", \"mock_response\": 1}}]}");
    for (size_t i = 0; i < 2; i++) {
        EXPECT(AGENT("text-only", "--config", "default.json", "--transcript", "kept",
                     i == 0 ? "--quiet" : "--plan"),
               0, "Nothing to do.\n", NULL);
        char *text = read_kept("kept");
        assert_non_null(strstr(text, "writeOnly"));
        assert_null(strstr(text, "hunter2"));
        free(text);
        assert_int_equal(unlink("kept"), 0);
    }
}

static void a_secret_argument_is_shown_and_kept_nowhere(void **state) {
    (void)state;
    need_provider();
    write_login("hunter2 is right");
    static const char *const formats[] = {"openai", "openai-responses", "anthropic", "gemini",
                                          "ollama"};
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        char path[32];
        (void)snprintf(path, sizeof path, "login-%s.jsonl", formats[i]);
        struct run run = AGENT("logs-in", "--format", formats[i], "--config", "login.json",
                               "--transcript", path);
        assert_int_equal(run.exit, 0);
        assert_string_equal(run.out, "The sum is \"hunter2 is right\".\n");
        assert_non_null(strstr(run.err,
                               "toolrack: calls login {\"user\":\"ada\",\"password\":\"***\"}\n"
                               "toolrack: login: *** is right\n"));
        run_finish(&run);
        char *kept = read_kept(path);
        assert_null(strstr(kept, "hunter2 is right"));
        assert_null(strstr(kept, "\"hunter2"));
        assert_non_null(strstr(kept, "***"));
        free(kept);
    }
    /* The model gets its message and the result as they are. */
    EXPECT_REQUESTS("/1/body/messages/1/tool_calls/0/function/arguments", "*hunter2*",
                    "/1/body/messages/2/content", "\"hunter2 is right\"");
}

/* By whatever name a tool is called, and wherever a secret is: what runs is masked as it is, and
 * what does not run is masked since nobody knows what is in it. */
static void a_secret_in_an_odd_call_is_shown_and_kept_nowhere(void **state) {
    (void)state;
    need_provider();
    write_login("hunter2 is right");
    static const struct {
        const char *model;
        const char *plan;
        const char *shown;
    } rows[] = {
            {"logs-in-oddly", NULL,
             "toolrack: calls functions.login {\"password\":\"***\"}\n"
             "toolrack: calls mcp__login__login {\"password\":\"***\"}\n"
             "toolrack: calls log_in {\"password\":\"***\"}\n"
             "toolrack: calls login {\"input\":{\"password\":\"***\"}}\n"
             "toolrack: calls login {\"pasword\":\"***\"}\n"},
            {"plans-to-log-in", "--plan",
             "\"k\":\"***\"}}\n*password\\\":\\\"****calls functions.run_plan "
             "*\"password\":\"***\"}"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char pattern[512];
        (void)snprintf(pattern, sizeof pattern, "*%s*", rows[i].shown);
        (void)unlink("odd.jsonl");
        struct run run = AGENT(rows[i].model, "--config", "login.json", "--transcript", "odd.jsonl",
                               rows[i].plan);
        assert_int_equal(run.exit, 0);
        EXPECT_MATCH(run.err, pattern);
        assert_null(strstr(run.err, "hunter"));
        run_finish(&run);
        char *kept = read_kept("odd.jsonl");
        assert_null(strstr(kept, "hunter2 is right"));
        assert_null(strstr(kept, "\"hunter"));
        free(kept);
    }
}

/* The model is given the first 256 bytes of the result: the secret would be half in it. */
static void a_secret_at_the_cut_of_a_long_result_is_kept_nowhere(void **state) {
    (void)state;
    need_provider();
    char text[2048];
    int length = snprintf(text, sizeof text, "%0*dhunter2", 253, 0);
    memset(text + length, '1', sizeof text - 1 - (size_t)length);
    text[sizeof text - 1] = '\0';
    write_login(text);
    EXPECT(AGENT("logs-in", "--config", "login.json", "--transcript", "cut.jsonl", "--max-result",
                 "1024"),
           0, "The sum is *", NULL);
    char *kept = read_kept("cut.jsonl");
    assert_non_null(
            strstr(kept, "0***\\n\\n[These are the first 256 bytes of a result that has 2043."));
    assert_null(strstr(kept, "0hun"));
    free(kept);
}

/* -------------------------------------------------------------- long results */

/* A configuration with the tool `book`, whose result has 6,000 bytes: some letters, then characters
 * of two bytes, and in the middle a word to find. `more` are definitions of more tools. */
static void write_book(const char *more) {
    static char text[8192];
    size_t length = (size_t)snprintf(
            text, sizeof text,
            "{\"agent\": {\"result_bytes\": 1024}, \"tools\": [%s{\"name\": \"book\", "
            "\"description\": \"A book\", \"type\": \"function\", \"parameters\": {\"type\": "
            "\"object\"}, \"implementation\": {\"type\": \"mock\", \"mock_response\": \"",
            more);
    for (size_t i = 0; i < 255; i++) {
        text[length++] = (char)('a' + i % 26);
    }
    for (size_t i = 0; i < 2870; i++) {
        const char *piece = i == 1435 ? "needle" : "\xc3\xa9";
        memcpy(text + length, piece, strlen(piece));
        length += strlen(piece);
    }
    (void)snprintf(text + length, sizeof text - length, "z\"}}]}");
    e2e_write("book.json", text);
}
#define BOOK(...) AGENT(__VA_ARGS__, "--config", "book.json")
#define LETTERS   "abcdefghijklmnopqrstuvwxyz*abcdefghijklmnopqrstu"

static void a_long_result_is_read_in_parts(void **state) {
    (void)state;
    need_provider();
    write_book("");
    static const char *const formats[] = {"openai", "openai-responses", "anthropic", "gemini",
                                          "ollama"};
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        forget_requests();
        EXPECT(BOOK("reads-on", "--format", formats[i]), 0,
               "Last: \"[1 place from byte 0 to 6000 of 6000]\\nbyte 3125: *needle*\\n\"\n",
               "toolrack: calls book {}\n"
               "toolrack: book: the result has 6000 bytes; the model is given the first 255, and "
               "may "
               "read the rest\n*calls read_result *calls read_result *");
        assert_int_equal(request_count(), 5);
    }
    /* In the last format: what it was given. The second character is not cut, and the third part
     * begins behind a half. */
    EXPECT_REQUESTS(
            "/1/body/messages/2/content",
            "\"" LETTERS "\\n\\n[These are the first 255 bytes of a result that has 6000. Read "
            "on: call read_result with {\\\"id\\\": 1, \\\"offset\\\": 255}; *",
            "/2/body/messages/4/content", "\"[Bytes 257 to 513 of 6000; *offset\\\": 513]\\n*\"",
            "/3/body/messages/6/content",
            "\"[Bytes 257 to 259 of 6000; go on with \\\"offset\\\": 259]\\n\xc3\xa9\"");
}

static void what_reads_is_offered_once_there_is_a_long_result(void **state) {
    (void)state;
    need_provider();
    write_book("");
    static const char *const formats[] = {"openai", "gemini"};
    static const char *const pointers[][2] = {{"/0/body/tools/1", "/1/body/tools/1/function/name"},
                                              {"/0/body/tools/0/functionDeclarations/1",
                                               "/1/body/tools/0/functionDeclarations/1/name"}};
    for (size_t i = 0; i < 2; i++) {
        forget_requests();
        EXPECT(BOOK("reads-on", "--allow", "book", "--format", formats[i]), 0, NULL, NULL);
        EXPECT_REQUESTS(pointers[i][0], "", pointers[i][1], "\"read_result\"");
    }
    forget_requests();
    EXPECT(BOOK("reads-on", "--allow", "book", "--max-result", "6000"), 0,
           "Last: \"NotFound: *read_result' not found; it was not offered\"\n", NULL);
    EXPECT_REQUESTS("/4/body/tools/1", "");
    EXPECT(BOOK("reads-on", "--max-result", "12"), 2, "",
           "toolrack: --max-result takes bytes from *\n");
}

/* The name of a tool that there is, is that tool's. */
static void what_reads_has_a_name_of_its_own(void **state) {
    (void)state;
    need_provider();
#define MINE(name)                                                                                 \
    "{\"name\": \"" name "\", \"description\": \"Mine\", \"type\": \"function\", \"parameters\": " \
    "{\"type\": \"object\"}, \"implementation\": {\"type\": \"mock\", \"mock_response\": "         \
    "\"mine\"}}, "
    write_book(MINE("read_result"));
    EXPECT(BOOK("reads-other-name", "--allow", "book"), 0, "Last: \"[Bytes 257 to *\n",
           "*toolrack: the model reads on in long results by read_long_result: *");
    write_book(MINE("read_result") MINE("read_long_result"));
    EXPECT(BOOK("reads-other-name"), 0, "Last: \"mine\"\n",
           "*toolrack: the model cannot read on in long results: *");
    EXPECT_REQUESTS("/4/body/messages/2/content", "*The rest cannot be read.]\"");
}

static void what_cannot_be_read_is_told_to_the_model(void **state) {
    (void)state;
    need_provider();
    write_book("");
    EXPECT(BOOK("reads-wrongly"), 0,
           "Last: \"InvalidArguments: /id: required property *id* is missing\"\n", NULL);
    EXPECT_REQUESTS(
            "/9/body/messages/4/content", "\"NotFound: *no result 2; 1 *\"",
            "/9/body/messages/6/content",
            "\"InvalidArguments: *offset*9300000000000000000 is behind the end *6000 bytes*\"",
            "/9/body/messages/8/content", "\"InvalidArguments: *offset*is behind the end*\"",
            "/9/body/messages/10/content", "\"InvalidArguments: /offset: must be at least 0*\"",
            "/9/body/messages/12/content", "\"InvalidArguments: /id: must be an integer*\"",
            "/9/body/messages/14/content", "\"InvalidArguments: /path: unknown property*\"",
            "/9/body/messages/16/content", "\"InvalidArguments: /id: is given twice*\"",
            "/9/body/messages/18/content", "\"[Bytes 250 to 253 of 6000;*\"");
    /* What another conversation keeps is not there. */
    EXPECT(BOOK("reads-old"), 0, "Last: \"NotFound: *'read_result'*\"\n", NULL);
}

static void chmod_results(mode_t mode) {
    DIR *dir = opendir("state/results");
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (entry->d_name[0] != '.') {
            assert_int_equal(fchmodat(dirfd(dir), entry->d_name, mode, 0), 0);
        }
    }
    (void)closedir(dir);
}

static void long_results_are_private_files(void **state) {
    (void)state;
    need_provider();
    write_book("");
    EXPECT(BOOK("reads-on"), 0, NULL, NULL);
    DIR *dir = opendir("state/results");
    struct stat st;
    size_t count = 0;
    assert_non_null(dir);
    assert_int_equal(stat("state/results", &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (entry->d_name[0] != '.') {
            assert_int_equal(fstatat(dirfd(dir), entry->d_name, &st, 0), 0);
            assert_int_equal(st.st_mode & 0777, 0600);
            assert_int_equal(st.st_size, 6000);
            count++;
        }
    }
    (void)closedir(dir);
    assert_int_equal(count, 1);
    /* They are there when the conversation goes on, and go with it. */
    EXPECT(RUN("agent", "--endpoint", endpoint, "--model", "converses", "book", "--config",
               "book.json"),
           0, NULL, "*book: the result has 6000 bytes; *");
    chmod_results(0666);
    EXPECT(RUN("agent", "--continue", "--config", "book.json", "read"), 0,
           "*cannot read result 1, */results/*: it must be a regular file of this user that no "
           "other may write to; look at what is in it*",
           NULL);
    chmod_results(0600);
    EXPECT(RUN("agent", "--continue", "--config", "book.json", "read"), 0,
           "*[Bytes 255 to 257 of 6000; *\\n\xc3\xa9*", NULL);
    struct run run = RUN("agent", "--list", "--json");
    yyjson_doc *doc = yyjson_read(run.out, strlen(run.out), 0);
    for (size_t i = 0; i < 2; i++) {
        char pointer[16];
        (void)snprintf(pointer, sizeof pointer, "/%zu/id", i);
        const char *id = yyjson_get_str(yyjson_doc_ptr_get(doc, pointer));
        assert_non_null(id);
        EXPECT(RUN("agent", "--forget", id), 0, NULL, NULL);
    }
    yyjson_doc_free(doc);
    run_finish(&run);
    assert_int_equal(rmdir("state/results"), 0);
    /* Without a state folder they are in memory. */
    EXPECT(BOOK("reads-on", "--state", ""), 0, "Last: \"[1 place *\n", NULL);
}

/* A link, and a folder that others may write to, would give them what is kept. */
static void folders_of_others_are_not_used(void **state) {
    (void)state;
    need_provider();
    write_book("");
    assert_int_equal(mkdir("state", 0700) | mkdir("theirs", 0777), 0);
    assert_int_equal(symlink("../theirs", "state/transcripts"), 0);
    EXPECT(AGENT("two-turn"), 1, "",
           "toolrack: InputOutput: cannot keep the transcript in state/transcripts: it must be a "
           "folder and no symbolic link; move it away; or choose another place with "
           "--transcript\n");
    EXPECT(RUN("agent", "--list"), 1, "",
           "*cannot list state/transcripts: it must be a folder and no symbolic link*");
    EXPECT(RUN("agent", "--continue", "Go on"), 1, "", "*no symbolic link*");
    assert_int_equal(unlink("state/transcripts"), 0);
    assert_int_equal(mkdir("state/results", 0700) | chmod("state/results", 0777), 0);
    EXPECT(BOOK("reads-on"), 0, NULL,
           "*the rest is lost: cannot keep a long result in state/results: it must belong to this "
           "user, and no other may write to it (chmod go-w)*");
    assert_int_equal(rmdir("state/results") | symlink("../theirs", "state/results"), 0);
    EXPECT(BOOK("reads-on"), 0, NULL,
           "*cannot keep a long result in state/results: it must be a folder and no symbolic "
           "link*");
    assert_int_equal(rmdir("theirs"), 0);
}

static void the_result_of_a_plan_is_read_in_parts(void **state) {
    (void)state;
    need_provider();
    write_book("");
    EXPECT(BOOK("reads-a-plan", "--plan"), 0, "Last: \"[1 place *needle*\n",
           "*run_plan: the result has *");
    EXPECT_REQUESTS("/1/body/tools/1/function/name", "\"read_result\"");
}

/* ---------------------------------------------- models of the configuration */

#define MODELS_KEY "sk-models-9876543210"

/* `more` is what the file has beside its models, which are at the address of the provider. */
static void write_models(const char *more) {
    char text[2048];
    (void)snprintf(
            text, sizeof text,
            "{\"models\": {\"fast\": {\"endpoint\": \"%s\", \"model\": \"two-turn\", \"prices\": {"
            "\"input\": 1000000, \"cached\": 500000, \"output\": 2000000, \"currency\": "
            "\"EUR\"}},\n"
            "\"claude\": {\"endpoint\": \"%s\", \"format\": \"anthropic\", \"model\": "
            "\"text-only\", \"key_env\": \"MODELS_KEY\", \"headers\": {\"X-Team\": \"tools\", "
            "\"X-Other-Key\": \"other-9876543210\"}, \"query\": {\"v\": \"1\"}, \"parameters\": "
            "{\"temperature\": 0.2, \"a\": {\"b\": [\"1\"]}, \"c\": \"5\"}},\n"
            "\"teller\": {\"endpoint\": \"%s\", \"model\": \"tells-key\", \"key_env\": "
            "\"MODELS_KEY\"},\n"
            "\"text-only\": {\"endpoint\": \"%s\", \"model\": \"fast\"}}%s}",
            endpoint, endpoint, endpoint, endpoint, more);
    e2e_write("models.json", text);
    assert_int_equal(setenv("MODELS_KEY", MODELS_KEY, 1), 0);
}
#define NAMED(...) RUN("agent", "--config", "models.json", "Add 2 and 3.", __VA_ARGS__)

static void a_model_has_a_name(void **state) {
    (void)state;
    need_provider();
    write_models("");
    EXPECT(NAMED("--model", "fast"), 0, "The sum is 5.\n", CALLS_ADD TRANSCRIPT);
    EXPECT(NAMED("--model", "claude"), 0, "Nothing to do.\n", TRANSCRIPT);
    EXPECT_REQUESTS("/0/path", "\"/v1/chat/completions\"", "/0/headers/authorization",
                    "\"Bearer " KEY "\"", "/0/body/model", "\"two-turn\"", "/2/path",
                    "\"/v1/messages?v=1\"", "/2/headers/x-api-key", "\"" MODELS_KEY "\"",
                    "/2/headers/x-team", "\"tools\"", "/2/headers/x-other-key",
                    "\"other-9876543210\"", "/2/body/temperature", "0.2", "/2/body/a",
                    "{\"b\":[\"1\"]}", "/2/body/c", "\"5\"");
    /* What the command line has comes first. */
    EXPECT(NAMED("--model", "claude", "--header", "x-team: mine", "--query", "v=2", "--parameter",
                 "temperature=1", "--parameter", "a.b=2"),
           0, "Nothing to do.\n", NULL);
    EXPECT_REQUESTS("/3/path", "\"/v1/messages?v=2\"", "/3/headers/x-team", "\"mine\"",
                    "/3/body/temperature", "1", "/3/body/a", "{\"b\":2}");
    /* With an endpoint no name is looked up: a model may be called as another one is there. */
    EXPECT(NAMED("--model", "text-only", "--endpoint", endpoint), 0, "Nothing to do.\n", NULL);
    EXPECT(NAMED("--model", "text-only"), 3, "", "*answers 404: there is no model fast\n");
}

/* 1,376 tokens at 1, 1,024 of a cache at a half, and 60 that the model wrote at 2. */
static void a_conversation_costs_what_its_model_does(void **state) {
    (void)state;
    need_provider();
    write_models("");
    EXPECT_JSON(NAMED("--model", "fast", "--json"), 0, "/usage/input", "2400", "/usage/cached",
                "1024", "/usage/output", "60", "/cost", "{\"amount\":2008.0,\"currency\":\"EUR\"}");
}

/* What is known of some requests is no sum and no cost. */
static void a_request_without_usage_has_no_known_cost(void **state) {
    (void)state;
    need_provider();
    char text[512];
    (void)snprintf(text, sizeof text,
                   "{\"models\": {\"last\": {\"endpoint\": \"%s\", \"model\": \"counts-last\", "
                   "\"prices\": {\"input\": 1, \"output\": 1, \"currency\": \"EUR\"}}}}",
                   endpoint);
    e2e_write("models.json", text);
    EXPECT_JSON(NAMED("--model", "last", "--json"), 0, "/usage/input", "1200", "/usage/complete",
                "false", "/cost", "null", "/steps", "2");
}

static void a_model_may_be_the_default(void **state) {
    (void)state;
    need_provider();
    write_models(", \"agent\": {\"model\": \"fast\"}");
    EXPECT(RUN("agent", "--config", "models.json", "Add 2 and 3."), 0, "The sum is 5.\n", NULL);
    EXPECT(NAMED("--model", "claude"), 0, "Nothing to do.\n", NULL);
    EXPECT(RUN("models", "--config", "models.json"), 0,
           "NAME * ENDPOINT\nfast *yes*\nclaude *MODELS_KEY*\nteller *\ntext-only *\n", "");
    EXPECT_JSON(RUN("models", "--config", "models.json", "--json"), 0, "/0/is_default", "true",
                "/1/format", "\"anthropic\"", "/1/headers", "[\"X-Team\",\"X-Other-Key\"]",
                "/1/prices", "null", "/1/is_default", "false");
    EXPECT(RUN("models"), 0, "", "toolrack: the configuration names no models: *\n");
}

static void a_model_without_a_name_is_explained(void **state) {
    (void)state;
    need_provider();
    write_models("");
    EXPECT(NAMED("--model", "quick"), 2, "",
           "toolrack: there is no model \"quick\" in the configuration (fast, claude, teller, "
           "text-only): *\n");
    EXPECT(RUN("agent", "--config", "models.json", "Add."), 2, "",
           "toolrack: no model is named: give --model NAME of one of the configuration (fast, *\n");
    EXPECT(NAMED("--model", "fast", "--format", "ollama"), 2, "",
           "toolrack: --format is that of an --endpoint: *\n");
    assert_int_equal(unsetenv("MODELS_KEY"), 0);
    EXPECT(NAMED("--model", "claude"), 2, "",
           "toolrack: the environment variable MODELS_KEY is not set, *\n");
    assert_int_equal(setenv("MODELS_KEY", "two\nlines", 1), 0);
    EXPECT(NAMED("--model", "claude"), 2, "", "toolrack: MODELS_KEY must hold at most *\n");
    assert_int_equal(request_count(), 0);
}

/* Neither the key of its variable nor that of a header is shown. */
static void the_key_of_a_named_model_is_shown_nowhere(void **state) {
    (void)state;
    need_provider();
    write_models("");
    EXPECT(RUN("grant", "echo"), 0, NULL, NULL);
    struct run run = NAMED("--model", "teller", "--verbose", "--transcript", "kept");
    assert_int_equal(run.exit, 0);
    EXPECT_MATCH(run.out, "The key is ****.\n*");
    assert_null(strstr(run.out, MODELS_KEY));
    assert_null(strstr(run.err, MODELS_KEY));
    run_finish(&run);
    char *text = read_kept("kept");
    assert_null(strstr(text, MODELS_KEY));
    free(text);
    run = RUN("models", "--config", "models.json", "--json");
    assert_null(strstr(run.out, MODELS_KEY));
    assert_null(strstr(run.out, "other-9876543210"));
    run_finish(&run);
}

/* `toolrack check` finds what a conversation would refuse, and no finding has a secret. */
static void wrong_models_are_found(void **state) {
    (void)state;
    static const struct {
        const char *model;
        const char *finding;
    } cases[] = {
            {"\"endpoint\": \"http://me:secret@x\"", "config-value: */models/a/endpoint must be *"},
            {"\"endpoint\": \"http://x?key=secret\"",
             "config-value: */models/a/endpoint must be *"},
            {"\"endpoint\": \"http://x\", \"api_key\": \"secret\"", "config-key: *\"key_env\"*"},
            {"\"endpoint\": \"http://x\", \"key_env\": \"sk-secret\"",
             "config-value: *not the key itself*"},
            {"\"endpoint\": \"http://x\", \"headers\": {\"X\": \"secret\\n\"}",
             "config-value: *control characters*"},
            {"\"endpoint\": \"http://x\", \"headers\": {\"Host\": \"secret\"}",
             "config-model: *the header Host *"},
            {"\"endpoint\": \"http://x\", \"query\": {\"key\": \"secret\"}",
             "config-model: *not have key: *"},
            {"\"endpoint\": \"http://x\", \"parameters\": {\"messages\": []}",
             "config-model: *the parameter messages *"},
            {"\"endpoint\": \"http://x\", \"parameters\": {\"api_key\": \"secret\"}",
             "config-model: *the parameter api_key looks like a key*"},
            {"\"endpoint\": \"http://x\", \"parameters\": {\"a\": {\"b\": {\"token\": "
             "\"secret\"}}}",
             "config-model: *the parameter a, member token looks like a key*"},
            {"\"endpoint\": \"http://x\", \"prices\": {\"input\": -1, \"output\": 1}",
             "config-value: */prices/input must be a number from 0 *"},
            {"\"endpoint\": \"http://x\", \"prices\": {\"input\": 1e999, \"output\": 1}",
             "config-value: */prices/input must be a number from 0 *"},
            {"\"endpoint\": \"http://x\", \"prices\": {\"input\": NaN, \"output\": 1}",
             "config-syntax: *"},
            {"\"endpoint\": \"http://x\", \"prices\": {\"input\": 1}",
             "config-missing: *no \"output\"*"},
            {"\"endpoint\": \"fast\"", "config-value: */models/a/endpoint must be *"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[512];
        char pattern[256];
        (void)snprintf(text, sizeof text, "{\"models\": {\"a\": {%s, \"model\": \"a\"}}}",
                       cases[i].model);
        (void)snprintf(pattern, sizeof pattern, "wrong.json: *error %s", cases[i].finding);
        e2e_write("wrong.json", text);
        struct run run = RUN_WITH({.bare = true}, "check", "wrong.json");
        assert_int_equal(run.exit, 1);
        EXPECT_MATCH(run.out, pattern);
        assert_null(strstr(run.out, "secret"));
        assert_string_equal(run.err, "");
        run_finish(&run);
    }
    /* Nor does the list show what should not be there. */
    e2e_write("wrong.json",
              "{\"models\": {\"a\": {\"endpoint\": \"http://x\", \"model\": \"m\", \"query\": "
              "{\"key\": \"secret\"}, \"parameters\": {\"api_key\": \"secret\", \"a\": "
              "[{\"password\": \"secret\"}]}}}}");
    struct run run = RUN("models", "--config", "wrong.json", "--json");
    assert_int_equal(run.exit, 0);
    assert_null(strstr(run.out, "secret"));
    assert_non_null(strstr(run.out, "\"api_key\":\"***\""));
    run_finish(&run);
    e2e_write("wrong.json",
              "{\"models\": {\"fast\": {\"endpoint\": \"http://x\", \"model\": \"m\"}}, "
              "\"agent\": {\"model\": \"fats\"}, \"choose\": {\"model\": \"qwen\"}}");
    EXPECT(RUN_WITH({.bare = true}, "check", "wrong.json"), 1,
           "*error config-model: *has no \"fats\"\n    fix: did you mean \"fast\"?\n*error "
           "config-model: *has no \"qwen\"\n    fix: *\"endpoint\" of its provider\n",
           "");
}

/* ----------------------------------------------------------------- the person */

static void the_person_is_asked_once_for_each_call(void **state) {
    (void)state;
    need_provider();
    EXPECT(AGENT_WITH(&(struct how){.typed = "y\nn\n"}, "erases"), 0,
           "The sum is \"*\" and \"*\".\n",
           "*(question 1 of 2)*Let it run? *[N]o: *(question 2 of 2)*Let it run? *[N]o: "
           "*PermissionDenied*");
    /* After "always" the other call of the same message runs unasked, as the next one would. */
    struct run run = AGENT_WITH(&(struct how){.typed = "a\n"}, "erases");
    assert_int_equal(run.exit, 0);
    EXPECT_MATCH(run.out, "The sum is \"erased\" and \"erased\".\n");
    assert_null(strstr(run.err, "question 2"));
    run_finish(&run);
    EXPECT(RUN("revoke", "erase"), 0, NULL, NULL);
    /* Without a terminal the model and the person are told what to do, in full. */
    run = AGENT("erases");
    assert_int_equal(run.exit, 0);
    EXPECT_MATCH(run.out, "The sum is \"ConfirmationRequired: *toolrack*grant erase*\" and "
                          "\"ConfirmationRequired: *\".\n");
    EXPECT_MATCH(run.err,
                 "*toolrack: erase: ConfirmationRequired: Tool 'erase' runs only after a person "
                 "agreed to this call; nobody can be asked here; allow all its calls: toolrack * "
                 "grant erase\n*");
    run_finish(&run);
}

/* -------------------------------------------------------------------- plans */

#define PLANS(...) RUN(TASK, __VA_ARGS__, "--plan")

static void a_plan_is_run(void **state) {
    (void)state;
    need_provider();
    static const char *const formats[] = {"openai", "openai-responses", "anthropic", "gemini",
                                          "ollama"};
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        EXPECT(PLANS("plans", "--format", formats[i], "--system", "Be brief."), 0,
               "Last: {\"run\":\"*\",\"result\":{\"b\":9*}}\n",
               "toolrack: calls run_plan {*}\ntoolrack: run_plan: *\n" TRANSCRIPT);
    }
    EXPECT_REQUESTS("/0/body/tools/0/function/name", "\"run_plan\"", "/0/body/tools/1", "",
                    "/0/body/messages/0/content",
                    "\"Be brief.*Tools that a plan may call:*- add: *parameters: {*\"",
                    "/4/body/tools/0/name", "\"run_plan\"", "/5/body/messages/2/content/0/is_error",
                    "");
    EXPECT_JSON(PLANS("plans", "--json"), 0, "/text", "\"Last: *\"", "/steps", "2", "/calls", "1");
    EXPECT(PLANS("plans", "--transcript", "kept"), 0, NULL, NULL);
    char *text = read_kept("kept");
    EXPECT_MATCH(text, "*\"kind\":\"message\",*run_plan*\"kind\":\"results\",*");
    free(text);
}

static void findings_go_back_to_the_model(void **state) {
    (void)state;
    need_provider();
    EXPECT(PLANS("plans-wrongly", "--format", "anthropic"), 0,
           "Last: {\"run\":\"*\",\"result\":9*}\n",
           "*run_plan: {\"error\":\"Invalid\",*calls run_plan *run_plan: {\"run\":*");
    EXPECT_REQUESTS("/1/body/messages/2/content/0/is_error", "true",
                    "/1/body/messages/2/content/0/content",
                    "\"*plan-*\\\"node\\\":\\\"b\\\"*subtract*\"",
                    "/2/body/messages/4/content/0/is_error", "", "/3", "");
    /* What runs all the same is told with its result. */
    EXPECT(PLANS("plans-a-text"), 0,
           "Last: {\"run\":\"*\",\"result\":\"got "
           "{{a.result}}\",\"findings\":[{\"id\":\"plan-reference\","
           "*${nodes.a.result};*}]}\n",
           NULL);
}

static void a_wrong_call_of_a_plan_is_told_to_the_model(void **state) {
    (void)state;
    need_provider();
    EXPECT(PLANS("plans-nothing"), 0, "Last: \"NotFound: *there is only run_plan*\"\n",
           "*run_plan: InvalidArguments: *run_plan: InvalidArguments: plan: run_plan takes *add: "
           "NotFound: *");
    EXPECT(PLANS("plans-failing"), 0,
           "Last: {\"error\":\"*\",*\"nodes\":{\"a\":\"succeeded\",\"b\":\"failed: *\"}}\n", NULL);
    EXPECT(PLANS("plans-nothing", "--max-steps", "2"), 1, "", "*LimitExceeded: *after 2 steps*");
}

static void the_person_is_asked_once_for_a_plan(void **state) {
    (void)state;
    need_provider();
    EXPECT(run_how(&(struct how){.typed = "n\n"}, ARGS(TASK, "plans-erasing", "--plan")), 0,
           "Last: {\"error\":\"PermissionDenied\",*\"nodes\":{}}\n", "*[N]o: *");
    EXPECT(run_how(&(struct how){.typed = "y\n"}, ARGS(TASK, "plans-erasing", "--plan")), 0,
           "Last: {\"run\":*}\n", "*[N]o: *");
    EXPECT(PLANS("plans-erasing"), 0,
           "Last: {\"error\":\"ConfirmationRequired\",*grant erase*\"nodes\":{}}\n", NULL);
}

static void ctrl_c_ends_a_plan(void **state) {
    (void)state;
    need_provider();
    struct how how = {.wait_for = "calls run_plan", .send = SIGINT};
    struct run run = run_how(&how, ARGS(TASK, "plans-slowly", "--plan"));
    assert_int_equal(run.signal, SIGINT);
    EXPECT_MATCH(run.err, "*toolrack: Cancelled: the conversation was interrupted\n*");
    run_finish(&run);
    assert_int_equal(request_count(), 1);
}

static void ctrl_c_ends_calls_and_requests(void **state) {
    (void)state;
    need_provider();
    struct how how = {.wait_for = "calls slow", .send = SIGINT};
    struct run run = AGENT_WITH(&how, "slow-tool");
    assert_int_equal(run.signal, SIGINT);
    EXPECT_MATCH(run.err, "*toolrack: Cancelled: the conversation was interrupted\n*");
    run_finish(&run);
    assert_int_equal(request_count(), 1);
    static const char *const models[] = {"hangs", "silent"};
    how.wait_for = "step 1: asks";
    for (size_t i = 0; i < 2; i++) {
        run = AGENT_WITH(&how, models[i], "--verbose");
        assert_int_equal(run.signal, SIGINT);
        EXPECT_MATCH(run.err, "*toolrack: Cancelled: the conversation was interrupted\n");
        run_finish(&run);
    }
    how.typed = "";
    how.wait_for = "[N]o: ";
    run = AGENT_WITH(&how, "erases");
    assert_int_equal(run.signal, SIGINT);
    assert_null(strstr(run.err, "question 2")); /* nobody is asked any more */
    run_finish(&run);
}

/* --------------------------------------------------------------- a terminal */

static int terminal_set_up(void **state) {
    (void)setenv("TERM", "xterm", 1);
    return set_up(state);
}

static int terminal_teardown(void **state) {
    (void)setenv("TERM", "", 1);
    (void)unsetenv("NO_COLOR");
    return e2e_teardown(state);
}

#define SCREEN(width, keys, ...) \
    (&(struct how){.is_one = true, .columns = width, .typed = (keys), __VA_ARGS__})

/* The model's text, and what it may not do there. */
static void the_text_is_shown_as_markdown(void **state) {
    (void)state;
    need_provider();
    struct run run = AGENT_WITH(SCREEN(80, "", .input = NULL), "writes");
    assert_int_equal(run.exit, 0);
    /* A status may stand between two blocks; none is within one. */
    EXPECT_MATCH(
            run.err,
            "*\x1b[0;1mTitle\x1b[0m\n*\nA \x1b[0;3mfirst\x1b[0m and \x1b[0;1mstrong\x1b[0m text "
            "with \x1b[0;36mcode\x1b[0m, a link (https://example.com/a) and\n"
            "https://example.com. The paragraph goes on: \\u001b[31mred\\u001b[0m &#27;[2J &\n"
            "\\u200b \\u009b1m.\n*\n    \x1b[0;36mint main(void) {\x1b[0m\n*"
            "1. One\n*2. Two, *\n   terminal\n   \xe2\x80\xa2 nested\n*\n"
            "\xe2\x94\x82 A quote of two lines.\n*apples      3\n*The end\n"
            "1 request, 1,200 tokens in (512 cached), 30 out, * s\n*transcript: *");
    assert_null(strstr(run.err, "\x1b[31m"));
    assert_null(strstr(run.err, "\x1b[2J"));
    run_finish(&run);
    /* Neither without colour, nor where nothing can be drawn, nor in a pipe. */
    (void)setenv("NO_COLOR", "1", 1);
    run = AGENT_WITH(SCREEN(40, "", .input = NULL), "writes");
    EXPECT_MATCH(run.err, "*# Title\n*\nA *first* and **strong** text with*`code`*a link *");
    assert_null(strstr(run.err, "\x1b[0"));
    run_finish(&run);
    (void)setenv("TERM", "dumb", 1);
    EXPECT(AGENT_WITH(SCREEN(80, "", .input = NULL), "writes"), 0, "", "# Title\n\nA *first* *");
    EXPECT(AGENT("writes"), 0, "# Title\n\nA *first* and *\x1b[31mred*The end\n", TRANSCRIPT);
}

static void calls_are_shown_in_groups(void **state) {
    (void)state;
    need_provider();
    EXPECT(AGENT_WITH(SCREEN(80, "", .input = NULL), "parallel", "--color", "never"), 0, "",
           "*4 calls\n"
           "  succeeded *s  add {\"a\":2,\"b\":3}: 5.0\n"
           "  succeeded *s  greet {\"name\":\"Ada\",\"loud\":true}: HELLO\n"
           "  succeeded *s  add {\"a\":4,\"b\":5}: 9.0\n"
           "  succeeded *s  add {\"a\":40,\"b\":2}: 42.0\n*"
           "The sum is 5 and \"HELLO\" and 9 and 42.\n"
           "2 requests, 4 calls, 2,400 tokens in (1,024 cached), 60 out, * s (tools * s)\n*");
    /* Of a single call there is no group; why it failed is not cut. */
    /* A path can be copied: only the terminal breaks it. */
    EXPECT(AGENT_WITH(SCREEN(40, "", .input = NULL), "text-only"), 0, "",
           "*toolrack: transcript: state/transcripts/*.jsonl\n*");
    EXPECT(AGENT_WITH(SCREEN(40, "", .input = NULL), "wrong-tool"), 0, "",
           "*\x1b[0;31mfailed\x1b[0m           -  subtract\n    {\"a\":2,\"b\":3}: NotFound: "
           "Tool\n    "
           "'subtract' not found; it was not\n    offered\n*");
}

/* What is waited for is shown, and goes without a trace: the line above is not touched. */
static void what_is_waited_for_is_shown(void **state) {
    (void)state;
    need_provider();
    struct run run = AGENT_WITH(SCREEN(60, "", .wait_for = "thinking, ", .send = SIGINT), "silent");
    assert_int_equal(run.signal, SIGINT);
    EXPECT_MATCH(run.err, "\x1b[0;2mthinking, * s\x1b[0m\n*\r\x1b[A\x1b[2K"
                          "1 request, * s\n*Cancelled: *");
    run_finish(&run);
    run = AGENT_WITH(SCREEN(60, "", .wait_for = "Let me think", .send = SIGINT), "hangs");
    assert_int_equal(run.signal, SIGINT);
    EXPECT_MATCH(run.err, "*writing, * s: \xe2\x80\xa6Let me think*\r\x1b[A\x1b[2KLet me think\n"
                          "[cut off]\n1 request, * s\n*");
    run_finish(&run);
    run = AGENT_WITH(SCREEN(80, "", .wait_for = "1 of 2 half way", .send = SIGINT), "groups",
                     "--color", "never");
    assert_int_equal(run.signal, SIGINT);
    EXPECT_MATCH(run.err,
                 "*running *s  slow {}: 1 of 2 half way\n*\x1b[2K3 calls\n"
                 "  succeeded *add *: 5.0\n  failed *fails {}: ExecutionFailed: the disk is "
                 "full\n  cancelled *slow {}: Cancelled: *\n1 request, 3 calls, *");
    run_finish(&run);
    EXPECT(AGENT_WITH(SCREEN(80, "", .input = NULL), "busy"), 0, "",
           "*asking again in 1 s\n*asking again in 1 s*\r\x1b[A\x1b[2K*The sum is 5.\n*");
}

static void a_tool_asks_the_person(void **state) {
    (void)state;
    need_provider();
    EXPECT(AGENT_WITH(SCREEN(80, "main\n\n", .input = NULL), "asks", "--color", "never"), 0, "",
           "*asks asks: Which branch?\\u001b[31m\nasks asks: branch [text]: Send this answer? "
           "[Y/n] "
           "*2 calls\n  succeeded *asks {}: 0 {\"branch\":\"main\"}\n  succeeded *add *"
           "The sum is \"0 {\"branch\":\"main\"}\" and 5.\n*");
    /* Where lines are printed, too; and in a run of a plan. */
    EXPECT(AGENT_WITH(&(struct how){.typed = "main\nn\n"}, "asks"), 0,
           "The sum is \"3 nothing\" and 5.\n", "*asks asks: branch [text]: *");
    EXPECT(AGENT_WITH(&(struct how){.typed = "dev\n\n"}, "plans-asking", "--plan"), 0,
           "Last: *{\\\"branch\\\":\\\"dev\\\"}*\n", "*asks asks: branch [text]: *");
    EXPECT(AGENT("asks"), 0, "The sum is \"* nothing\" and 5.\n", NULL);
    /* Nothing is drawn over a question. */
    EXPECT(AGENT_WITH(SCREEN(80, "y\nn\n", .input = NULL), "erases", "--color", "never"), 0, "",
           "*Let it run? *[N]o: erase *Let it run? *[N]o: *2 calls\n*erase {}*\n*erase {}*\n*");
    struct run run =
            AGENT_WITH(SCREEN(80, "", .wait_for = "branch [text]: ", .send = SIGINT), "asks");
    assert_int_equal(run.signal, SIGINT);
    run_finish(&run);
}

static void what_it_cost_is_told(void **state) {
    (void)state;
    need_provider();
    char text[512];
    (void)snprintf(
            text, sizeof text,
            "{\"models\": {\"dear\": {\"endpoint\": \"%s\", \"model\": \"two-turn\", \"prices\": "
            "{\"input\": 1000, \"cached\": 100, \"output\": 2000, \"currency\": \"EUR\"}}}}",
            endpoint);
    e2e_write("models.json", text);
#define DEAR "agent", "--config", "models.json", "Add 2 and 3.", "--model", "dear"
    /* 2,400 tokens, of which 1,024 were cached, and 60. */
    EXPECT_JSON(RUN(DEAR, "--json"), 0, "/cost", "{\"amount\":1.598*,\"currency\":\"EUR\"}");
    EXPECT(run_how(SCREEN(100, "", .input = NULL), ARGS(DEAR)), 0, "",
           "*2 requests, 1 call, 2,400 tokens in (1,024 cached), 60 out, * s (tools * s), 1.60 "
           "EUR\n*");
}

static void quiet_is_the_answer_alone(void **state) {
    (void)state;
    need_provider();
    EXPECT(AGENT("talks", "--quiet"), 0, "The sum is 5.\n", "");
    EXPECT(AGENT("length", "--quiet"), 8, "It is fo\n[cut off: length]\n",
           "toolrack: LimitExceeded: *\n");
    EXPECT(AGENT_WITH(SCREEN(80, "", .input = NULL), "writes", "--quiet"), 0, "",
           "\x1b[0;1mTitle\x1b[0m\n*The end\n");
    EXPECT_JSON(AGENT("talks", "--quiet", "--json"), 0, "/calls", "1");
}

static void nothing_is_asked_of_a_closed_pipe(void **state) {
    (void)state;
    need_provider();
    EXPECT(AGENT_WITH(&(struct how){.no_output = true}, "hangs"), 1, "",
           "*toolrack: cannot write to standard output: *\n");
}

static void a_wrong_command_line_is_explained(void **state) {
    (void)state;
    EXPECT(RUN("agent", "--model", "m", "task"), 2, "",
           "toolrack: there is no model \"m\" in the configuration (none): *--endpoint URL\n");
    EXPECT(RUN("agent", "--endpoint", "http://x", "task"), 2, "",
           "toolrack: --endpoint needs --model NAME: *\n");
#define WRONG(...) RUN("agent", "--model", "m", "task", "--endpoint", __VA_ARGS__)
    EXPECT(WRONG("http://x", "--format", "smoke"), 2, "",
           "toolrack: there is no format \"smoke\"; --format takes openai, *gemini or "
           "ollama\n");
    EXPECT(WRONG("http://x", "--format", "mcp"), 2, "", "toolrack: no model provider uses *\n");
    EXPECT(WRONG("http://x", "--max-steps", "0"), 2, "",
           "toolrack: --max-steps takes a number *\n");
    EXPECT(WRONG("ftp://x"), 2, "",
           "toolrack: the endpoint \"ftp://x\" must begin with https:// *\n");
    EXPECT(WRONG("http://me:secret@x"), 2, "",
           "toolrack: the endpoint may have only a scheme, *: put the key into the "
           "environment*\n");
    EXPECT(WRONG("http://x?key=secret"), 2, "",
           "toolrack: the endpoint may have only a scheme, *: put the key into the "
           "environment*\n");
    EXPECT(WRONG("no url"), 2, "", "toolrack: the endpoint is not a URL: *\n");
    EXPECT(WRONG("127.0.0.1:8000/v1"), 2, "",
           "toolrack: the endpoint is not a URL: begin with http:// or https://, *\n");
    EXPECT(WRONG("http:///v1"), 2, "", "toolrack: the endpoint has no host: *\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, e2e_teardown)

#define SCREEN_TEST(name) cmocka_unit_test_setup_teardown(name, terminal_set_up, terminal_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
            TEST(five_providers_are_spoken),
            TEST(tools_are_told_to_the_model),
            TEST(calls_of_one_message_run_side_by_side),
            TEST(a_wrong_call_is_told_to_the_model),
            TEST(what_was_changed_in_arguments_is_told),
            TEST(a_model_that_never_stops_is_stopped),
            TEST(of_many_calls_the_first_are_shown),
            TEST(a_message_with_too_many_calls_is_refused),
            TEST(requests_have_what_was_added),
            TEST(a_task_comes_from_standard_input),
            TEST(a_request_begins_as_the_one_before),
            TEST(what_may_be_cached_is_marked),
            TEST(responses_are_not_stored),
            TEST(what_a_server_does_not_know_is_left_out),
            TEST(tokens_and_times_are_counted),
            TEST(a_server_may_count_nothing),
            TEST(each_ending_has_an_exit_code),
            TEST(an_ending_is_told_in_json),
            TEST(what_a_server_does_not_know_is_remembered),
            TEST(calls_of_a_message_that_is_cut_off_are_answered),
            TEST(the_default_of_a_secret_stays_here),
            TEST(a_secret_argument_is_shown_and_kept_nowhere),
            TEST(a_secret_in_an_odd_call_is_shown_and_kept_nowhere),
            TEST(a_secret_at_the_cut_of_a_long_result_is_kept_nowhere),
            TEST(only_tools_that_are_offered_run),
            TEST(what_is_left_out_is_told),
            TEST(a_stream_may_be_cut_anywhere),
            TEST(a_busy_provider_is_asked_again),
            TEST(an_overload_within_a_stream_is_asked_again),
            TEST(a_compressed_answer_is_read),
            TEST(a_long_wait_is_for_the_person_to_decide),
            TEST(a_long_wait_is_asked_about),
            TEST(other_failures_are_final),
            TEST(a_key_is_shown_nowhere),
            TEST(a_key_that_the_model_says_goes_nowhere),
            TEST(halves_of_a_key_go_nowhere),
            TEST(a_key_in_a_text_and_a_call_goes_nowhere),
            TEST(no_error_has_a_key),
            TEST(a_transcript_is_kept),
            TEST(a_transcript_is_for_its_owner),
            TEST(a_long_result_is_read_in_parts),
            TEST(what_reads_is_offered_once_there_is_a_long_result),
            TEST(what_reads_has_a_name_of_its_own),
            TEST(what_cannot_be_read_is_told_to_the_model),
            TEST(long_results_are_private_files),
            TEST(folders_of_others_are_not_used),
            TEST(the_result_of_a_plan_is_read_in_parts),
            TEST(a_model_has_a_name),
            TEST(a_conversation_costs_what_its_model_does),
            TEST(a_request_without_usage_has_no_known_cost),
            TEST(a_model_may_be_the_default),
            TEST(a_model_without_a_name_is_explained),
            TEST(the_key_of_a_named_model_is_shown_nowhere),
            TEST(wrong_models_are_found),
            TEST(the_person_is_asked_once_for_each_call),
            TEST(a_plan_is_run),
            TEST(findings_go_back_to_the_model),
            TEST(a_wrong_call_of_a_plan_is_told_to_the_model),
            TEST(the_person_is_asked_once_for_a_plan),
            TEST(ctrl_c_ends_a_plan),
            TEST(ctrl_c_ends_calls_and_requests),
            SCREEN_TEST(the_text_is_shown_as_markdown),
            SCREEN_TEST(calls_are_shown_in_groups),
            SCREEN_TEST(what_is_waited_for_is_shown),
            SCREEN_TEST(a_tool_asks_the_person),
            SCREEN_TEST(what_it_cost_is_told),
            SCREEN_TEST(quiet_is_the_answer_alone),
            TEST(nothing_is_asked_of_a_closed_pipe),
            TEST(a_wrong_command_line_is_explained),
    };
    return cmocka_run_group_tests_name("agent", tests, start_provider, stop_provider);
}
