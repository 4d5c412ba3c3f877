/* Conversations of the agent that go on, are listed and are removed. */
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

#include <cmocka.h>

#include "e2e.h"
#include "provider.h"
#include "remove-tree.h"

#define BEGIN(model, ...) \
    RUN("agent", "--endpoint", endpoint, "--model", model, "--no-daemon", __VA_ARGS__)
#define GO_ON(...) RUN("agent", "--continue", __VA_ARGS__)

/* ------------------------------------------------------------- the transcript */

/* The path of the one transcript; the id is its name. */
static const char *transcript(void) {
    static char path[512];
    DIR *dir = opendir("state/transcripts");
    assert_non_null(dir);
    path[0] = '\0';
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (entry->d_name[0] != '.') {
            assert_string_equal(path, "");
            (void)snprintf(path, sizeof path, "state/transcripts/%s", entry->d_name);
        }
    }
    (void)closedir(dir);
    return path;
}

static char *read_file(const char *path) {
    FILE *file = fopen(path, "re");
    static char text[1 << 20];
    assert_non_null(file);
    size_t length = fread(text, 1, sizeof text - 1, file);
    text[length] = '\0';
    assert_int_equal(fclose(file), 0);
    return text;
}

static char *read_kept(void) {
    return read_file(transcript());
}

/* End it after the first line that has `last` in it, as a host that is killed does. */
static void cut_after(const char *last) {
    const char *text = read_kept();
    const char *at = strstr(text, last);
    assert_non_null(at);
    assert_int_equal(truncate(transcript(), strchr(at, '\n') + 1 - text), 0);
}

/* ----------------------------------------------------------------- the requests */

static const char *const formats[] = {"openai", "openai-responses", "anthropic", "gemini",
                                      "ollama"};
static const char *const members[] = {"messages", "input", "messages", "contents", "messages"};

/* Without the marks of what may be cached, which move. */
static void remove_marks(yyjson_mut_val *message) {
    size_t at;
    size_t count;
    yyjson_mut_val *block;
    yyjson_mut_arr_foreach(yyjson_mut_obj_get(message, "content"), at, count, block) {
        (void)yyjson_mut_obj_remove_key(block, "cache_control");
    }
}

static char *write_message(yyjson_val *messages, size_t at) {
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *message = yyjson_val_mut_copy(doc, yyjson_arr_get(messages, at));
    remove_marks(message);
    char *text = yyjson_mut_val_write(message, 0, NULL);
    yyjson_mut_doc_free(doc);
    assert_non_null(text);
    return text;
}

/* Fail unless the request `after` begins with all messages of the request `before`, as they were.
 */
static void expect_same(size_t before, size_t after, const char *member) {
    yyjson_doc *doc = requests();
    yyjson_val *root = yyjson_doc_get_root(doc);
    yyjson_val *old = yyjson_obj_get(yyjson_obj_get(yyjson_arr_get(root, before), "body"), member);
    yyjson_val *new = yyjson_obj_get(yyjson_obj_get(yyjson_arr_get(root, after), "body"), member);
    assert_true(yyjson_arr_size(old) > 0);
    assert_true(yyjson_arr_size(new) > yyjson_arr_size(old));
    for (size_t i = 0; i < yyjson_arr_size(old); i++) {
        char *was = write_message(old, i);
        char *is = write_message(new, i);
        assert_string_equal(was, is);
        free(was);
        free(is);
    }
    yyjson_doc_free(doc);
}

static void messages_are_sent_again_as_they_were(void **state) {
    (void)state;
    need_provider();
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        size_t first = request_count();
        EXPECT(BEGIN("converses", "--format", formats[i], "--system", "Be \"brief\".",
                     "add \xc3\xa9 \x7f /"),
               0, "Let me do it. \nThe sum is 5.\n", NULL);
        EXPECT(GO_ON("and now"), 0, "2: and now\n", NULL);
        EXPECT(GO_ON("add again"), 0, "Let me do it. \nThe sum is 5.\n", NULL);
        assert_int_equal(request_count(), first + 5);
        for (size_t at = 0; at < 4; at++) {
            expect_same(first + at, first + at + 1, members[i]);
        }
    }
    EXPECT_REQUESTS("/2/body/messages/0/content", "\"Be \\\"brief\\\".\"", //
                    "/2/body/messages/2/tool_calls/0/function/name", "\"add\"",
                    "/2/body/messages/3/role", "\"tool\"", "/2/body/messages/5/content",
                    "\"and now\"", "/2/body/model", "\"converses\"", "/2/headers/authorization",
                    "\"Bearer " KEY "\"");
    EXPECT_REQUESTS("/7/body/instructions", "\"Be \\\"brief\\\".\"", //
                    "/7/body/input/1/type", "\"*\"", "/7/body/input/2/encrypted_content",
                    "\"thought 0\"", "/7/body/input/7/content", "\"and now\"");
    EXPECT_REQUESTS("/12/body/system/0/text", "\"Be \\\"brief\\\".\"", //
                    "/12/body/messages/2/content/0/cache_control", "{*}",
                    "/12/body/messages/4/content/0/cache_control", "{*}",
                    "/12/body/messages/0/content/0/cache_control", "",
                    "/12/body/messages/1/content/0/signature", "\"sig-0\"",
                    "/12/body/messages/3/content/0/signature", "\"sig-1\"",
                    "/12/body/messages/4/content/0/text", "\"and now\"");
    EXPECT_REQUESTS("/17/body/systemInstruction/parts/0/text", "\"Be \\\"brief\\\".\"", //
                    "/17/body/contents/1/parts/2/thoughtSignature", "\"c2lnbmVk\"",
                    "/17/body/contents/4/parts/0/text", "\"and now\"");
    EXPECT_REQUESTS("/22/body/messages/0/role", "\"system\"", //
                    "/22/body/messages/2/thinking", "\"Let me think.\"",
                    "/22/body/messages/5/content", "\"and now\"", "/25", "");
}

static void settings_are_those_of_the_conversation(void **state) {
    (void)state;
    need_provider();
    EXPECT(BEGIN("converses", "--system", "Be brief.", "--query", "v=1", "--parameter",
                 "temperature=0.5", "--header", "X-Team: tools", "one"),
           0, "1: one\n", NULL);
    EXPECT(GO_ON("two"), 0, "2: two\n", NULL);
    EXPECT(GO_ON("--system", "Be long.", "--model", "text-only", "--parameter", "seed=7", "three"),
           0, "Nothing to do.\n", NULL);
    EXPECT(GO_ON("four"), 0, "Nothing to do.\n", NULL);
    /* Headers are not kept: they may have keys. */
    EXPECT_REQUESTS("/1/path", "\"/v1/chat/completions?v=1\"", "/1/body/temperature", "0.5",
                    "/0/headers/x-team", "\"tools\"", "/1/headers/x-team", "",
                    "/1/body/messages/0/content", "\"Be brief.\"", "/1/body/messages/3/content",
                    "\"two\"", "/2/body/temperature", "", "/2/body/seed", "7",
                    "/3/body/messages/0/content", "\"Be long.\"", "/3/body/seed", "7",
                    "/3/body/model", "\"text-only\"", "/3/body/messages/7/content", "\"four\"");
    EXPECT(GO_ON("--format", "anthropic", "five"), 2, "",
           "toolrack: the conversation is in the format openai, *begin another one\n");
    EXPECT(GO_ON("--endpoint", "http://127.0.0.1:1", "five"), 1, "",
           "*cannot be reached: http://127.0.0.1:1/*");
    EXPECT(GO_ON("--plan", "five"), 1, "", "*cannot be reached: http://127.0.0.1:1/*");
    assert_int_equal(request_count(), 4);
}

static void a_model_of_the_configuration_stays_one(void **state) {
    (void)state;
    char text[512];
    need_provider();
    (void)snprintf(text, sizeof text,
                   "{\"models\": {\"fast\": {\"endpoint\": \"%s\", \"format\": \"anthropic\", "
                   "\"model\": \"converses\", \"key_env\": \"FAST_KEY\", \"parameters\": "
                   "{\"temperature\": 1}}}, \"agent\": {\"model\": \"fast\"}}",
                   endpoint);
    e2e_write("toolrack.json", text);
    assert_int_equal(setenv("FAST_KEY", "fast-key-0123456789", 1), 0);
    EXPECT(RUN("agent", "--config", "toolrack.json", "one"), 0, "1: one\n", NULL);
    EXPECT(GO_ON("--config", "toolrack.json", "two"), 0, "2: two\n", NULL);
    EXPECT_REQUESTS("/1/headers/x-api-key", "\"fast-key-0123456789\"", "/1/body/temperature", "1",
                    "/1/body/model", "\"converses\"");
    EXPECT(GO_ON("three"), 2, "", "toolrack: there is no model \"fast\" in the configuration *\n");
    assert_null(strstr(read_kept(), "fast-key-"));
    assert_int_equal(unsetenv("FAST_KEY"), 0);
}

/* ------------------------------------------------------------------- endings */

/* As after a host that was killed while calls ran. */
static void a_call_that_had_not_ended_is_told_as_such(void **state) {
    (void)state;
    need_provider();
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        size_t first = request_count();
        EXPECT(BEGIN("converses", "--format", formats[i], "add"), 0, NULL, NULL);
        cut_after("\"kind\":\"message\"");
        EXPECT(GO_ON("and now"), 0, "2: and now\n",
               "toolrack: add: had not ended *not known whether it took effect\n"
               "toolrack: transcript: *");
        expect_same(first, first + 2, members[i]);
        EXPECT_JSON(RUN("log", "--json"), 0, "/0/tool", "\"add\"", "/1", "");
        assert_int_equal(remove_tree("state"), 0);
    }
    EXPECT_REQUESTS("/2/body/messages/2/content", "\"*ExecutionFailed*took effect*\"", //
                    "/5/body/input/4/output", "\"*took effect*\"",                     //
                    "/8/body/messages/2/content/0/is_error", "true",                   //
                    "/11/body/contents/2/parts/0/functionResponse/response/error*", "",
                    "/14/body/messages/2/content", "\"*took effect*\"");
}

/* A line that was not written to its end is taken off, and nothing is glued to it. */
static void half_a_line_is_left_out(void **state) {
    (void)state;
    need_provider();
    EXPECT(BEGIN("converses", "add"), 0, NULL, NULL);
    cut_after("\"kind\":\"results\"");
    const char *text = read_kept();
    assert_int_equal(truncate(transcript(), (off_t)strlen(text) - 20), 0);
    EXPECT(GO_ON("and now"), 0, "2: and now\n", "toolrack: add: *took effect*");
    EXPECT(GO_ON("and then"), 0, "3: and then\n", NULL);
}

static void it_goes_on_without_a_task_where_it_was_interrupted(void **state) {
    (void)state;
    need_provider();
    EXPECT(BEGIN("converses", "add"), 0, NULL, NULL);
    EXPECT(GO_ON("--json"), 2, "*the conversation has ended with an answer; give a task*", NULL);
    cut_after("\"kind\":\"results\"");
    EXPECT(GO_ON("--format", "openai"), 0, "The sum is 5.\n", NULL);
    EXPECT_REQUESTS("/2/body/messages/2/role", "\"tool\"", "/2/body/messages/3", "");
    EXPECT(GO_ON("--max-steps", "1", "add"), 1, NULL, "*LimitExceeded: *after 1 steps*");
    EXPECT(GO_ON("--max-steps", "1"), 0, "The sum is 5.\n", NULL);
    EXPECT_REQUESTS("/4/body/messages/6/role", "\"tool\"", "/4/body/messages/7", "");
}

/* What was refused is not sent again; what was cut off is, unless it is asked for again. */
static void an_answer_that_is_none_is_not_sent_again(void **state) {
    (void)state;
    need_provider();
    EXPECT(BEGIN("converses", "refuse"), 9, NULL, NULL);
    EXPECT(GO_ON("and now"), 0, "2: and now\n", NULL);
    EXPECT(GO_ON("cut"), 8, NULL, NULL);
    EXPECT(GO_ON(NULL), 8, NULL, NULL);
    EXPECT(GO_ON("and then"), 0, "4: and then\n", NULL);
    EXPECT_REQUESTS("/1/body/messages/0/content", "\"refuse\"", "/1/body/messages/1/content",
                    "\"and now\"", "/3/body/messages/3/content", "\"cut\"", "/3/body/messages/4",
                    "", "/4/body/messages/4/content", "\"It is fo\"", "/4/body/messages/5/content",
                    "\"and then\"");
}

/* ------------------------------------------------------------- other transcripts */

static void other_files_are_refused(void **state) {
    (void)state;
    need_provider();
    static const struct {
        const char *text;
        const char *why;
    } cases[] = {
            {"", "*here is no transcript of a conversation*"},
            {"hello\n", "*transcript here cannot be used, line 1: it is not JSON; *"},
            {"{\"kind\":\"message\",\"message\":{}}\n", "*line 1: a conversation begins with *"},
            {"[]\n", "*line 1: it is no line of a conversation; *"},
            {"{\"kind\":\"beginning\",\"beginning\":{}}\n", "*line 1: it does not say in which *"},
            {"{\"kind\":\"beginning\",\"beginning\":{\"format\":\"mcp\",\"body\":{}}}\n",
             "*line 1: *not valid in the format mcp*"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        e2e_write("here", cases[i].text);
        EXPECT(RUN("agent", "--resume", "x", "--transcript", "here", "task"), 2, "", cases[i].why);
    }
    assert_int_equal(symlink("here", "link"), 0);
    EXPECT(RUN("agent", "--resume", "x", "--transcript", "link", "task"), 1, "",
           "*link: it is a symbolic link\n");
    EXPECT(RUN("agent", "--resume", "x", "--transcript", "nowhere", "task"), 3, "",
           "*no conversation is kept in nowhere; *agent --list\n");
    assert_int_equal(request_count(), 0);
}

static void an_edited_line_is_named(void **state) {
    (void)state;
    need_provider();
    EXPECT(BEGIN("converses", "add"), 0, NULL, NULL);
    char *text = read_kept();
    char *at = strstr(text, "\"kind\":\"results\"");
    memcpy(at, "\"kind\":\"resultx\"", strlen("\"kind\":\"resultx\""));
    e2e_write(transcript(), text);
    EXPECT(GO_ON("and now"), 2, "",
           "*line 6: the calls of the message before it have no results; *");
    memcpy(at, "\"kind\":\"undo\",\"y\"", strlen("\"kind\":\"undo\",\"y\""));
    e2e_write(transcript(), text);
    EXPECT(GO_ON("and now"), 2, "", "*jsonl cannot be used, line 4: *; undo what was changed *");
    assert_int_equal(request_count(), 2);
}

/* As large as the limit, without what that would take on the disk. */
static void too_long_a_transcript_is_refused(void **state) {
    (void)state;
    need_provider();
    EXPECT(BEGIN("converses", "one"), 0, NULL, NULL);
    assert_int_equal(truncate(transcript(), (64 << 20) + 1), 0);
    EXPECT(GO_ON("two"), 1, "", "*LimitExceeded: the transcript * more than the 64 MiB *");
    assert_int_equal(request_count(), 1);
}

static void one_process_has_it(void **state) {
    (void)state;
    need_provider();
    EXPECT(BEGIN("converses", "one"), 0, NULL, NULL);
    int fd = open(transcript(), O_RDWR | O_CLOEXEC);
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    assert_true(fd >= 0 && fcntl(fd, F_OFD_SETLK, &whole) == 0);
    EXPECT(GO_ON("two"), 1, "", "toolrack: Refused: the conversation in *goes on in another *\n");
    EXPECT(RUN("agent", "--forget", "2"), 1, "", "toolrack: Refused: *");
    EXPECT_JSON(RUN("agent", "--list", "--json"), 0, "/0/in_use", "true");
    (void)close(fd);
    EXPECT(GO_ON("two"), 0, "2: two\n", NULL);
}

static void a_named_file_keeps_one_too(void **state) {
    (void)state;
    need_provider();
    EXPECT(BEGIN("converses", "--transcript", "here", "one"), 0, NULL, NULL);
    EXPECT(BEGIN("converses", "--transcript", "here", "two"), 0, NULL, NULL);
    char *text = read_file("here");
    char id[64] = "";
    const char *last = strstr(strstr(text, "\"kind\":\"end\""), "\"id\":\"");
    assert_int_equal(sscanf(last, "\"id\":\"%63[^\"]", id), 1);
    EXPECT(BEGIN("converses", "--resume", id, "--transcript", "here", "three"), 0, "2: three\n",
           NULL);
    EXPECT(BEGIN("converses", "--resume", "x", "--transcript", "here", "four"), 2, "",
           "*the transcript here is of the conversation 2*, not x\n");
    /* Whoever wrote the file is not sent the key. */
    EXPECT(RUN("agent", "--resume", id, "--transcript", "here", "four"), 2, "",
           "*its word for where to go on is not taken: http://127.0.0.1:*; give --endpoint URL*");
    assert_int_equal(request_count(), 3);
    e2e_write("notes", "buy milk\n");
    EXPECT(BEGIN("converses", "--transcript", "notes", "one"), 2, "",
           "*notes is no transcript of a conversation; choose another file\n");
    EXPECT(RUN("agent", "--continue", "--transcript", "here", "three"), 2, "",
           "toolrack: --continue is the last conversation of the state folder; *\n");
}

/* ----------------------------------------------------------------- which there are */

static void they_are_listed_and_removed(void **state) {
    (void)state;
    need_provider();
    EXPECT(RUN("agent", "--list"), 0, "", "toolrack: no conversation is kept\n");
    EXPECT(RUN("agent", "--list", "--json"), 0, "[]\n", "");
    EXPECT(GO_ON("task"), 3, "", "toolrack: NotFound: no conversation is kept*\n");
    EXPECT(BEGIN("converses", "add"), 0, NULL, NULL);
    EXPECT(BEGIN("converses", "--format", "gemini", "a \x1b[31mtask\nof two lines"), 0, NULL, NULL);
    EXPECT(RUN("agent", "--list"), 0,
           "ID *LAST *MODEL *STEPS *TASK\n"
           "2*  20*  converses  1      a \\u001b[31mtask of two lines\n"
           "2*  20*  converses  2      add\n",
           "");
    EXPECT_JSON(RUN("agent", "--list", "--json"), 0, "/0/format", "\"gemini\"", "/0/steps", "1",
                "/1/endpoint", "\"http://127*\"", "/1/steps", "2", "/1/in_use", "false", "/2", "");
    EXPECT(RUN("agent", "--forget", "2"), 2, "", "toolrack: *\n");
    EXPECT(RUN("agent", "--forget", "../x"), 3, "", "*no conversation is kept with the id *");
    EXPECT(RUN("agent", "--resume", "none", "task"), 3, "", "*agent --list\n");
    /* Others' files in the folder are none of them. */
    e2e_write("state/transcripts/notes.jsonl", "hello\n");
    e2e_write("state/transcripts/other.txt", "hello\n");
    EXPECT_JSON(RUN("agent", "--list", "--json"), 0, "/1/task", "\"add\"", "/2", "");
    assert_int_equal(unlink("state/transcripts/notes.jsonl"), 0);
    assert_int_equal(unlink("state/transcripts/other.txt"), 0);
    struct run run = RUN("agent", "--list", "--json");
    yyjson_doc *doc = yyjson_read(run.out, strlen(run.out), 0);
    const char *id = yyjson_get_str(yyjson_doc_ptr_get(doc, "/1/id"));
    EXPECT(RUN("agent", "--resume", id, "and now"), 0, "2: and now\n", NULL);
    char result[128];
    (void)snprintf(result, sizeof result, "state/results/%s.1", id);
    assert_int_equal(mkdir("state/results", 0700), 0);
    e2e_write(result, "a long result");
    e2e_write("state/results/other.1", "of another one");
    EXPECT_JSON(RUN("agent", "--forget", id, "--json"), 0, "/removed", "true");
    assert_int_equal(access(result, F_OK), -1);
    assert_int_equal(access("state/results/other.1", F_OK), 0);
    EXPECT(RUN("agent", "--resume", id, "and now"), 3, "", NULL);
    yyjson_doc_free(doc);
    run_finish(&run);
    EXPECT(GO_ON("last"), 0, "2: last\n", NULL);
}

/* A key that a person writes into a task goes to nobody later. */
static void a_key_is_not_kept(void **state) {
    (void)state;
    need_provider();
    EXPECT(BEGIN("converses", "my key is " KEY), 0, NULL, NULL);
    EXPECT(GO_ON("it is still " KEY), 0, NULL, NULL);
    EXPECT(GO_ON("what is it?"), 0, NULL, NULL);
    assert_null(strstr(read_kept(), KEY));
    EXPECT_REQUESTS("/2/body/messages/0/content", "\"my key is ****\"");
    struct run run = RUN("agent", "--list", "--json");
    assert_null(strstr(run.out, KEY));
    run_finish(&run);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, e2e_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
            TEST(messages_are_sent_again_as_they_were),
            TEST(settings_are_those_of_the_conversation),
            TEST(a_model_of_the_configuration_stays_one),
            TEST(a_call_that_had_not_ended_is_told_as_such),
            TEST(half_a_line_is_left_out),
            TEST(it_goes_on_without_a_task_where_it_was_interrupted),
            TEST(an_answer_that_is_none_is_not_sent_again),
            TEST(other_files_are_refused),
            TEST(an_edited_line_is_named),
            TEST(too_long_a_transcript_is_refused),
            TEST(one_process_has_it),
            TEST(a_named_file_keeps_one_too),
            TEST(they_are_listed_and_removed),
            TEST(a_key_is_not_kept),
    };
    return cmocka_run_group_tests_name("conversations", tests, start_provider, stop_provider);
}
