/* Icons and what else is shown of a tool, the kinds of content that it replies with, and what of a
 * failure is for its caller: in the host's process and in workers. */
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "isolation-unit.h"
#include "plugin/descriptor.h"
#include "toolrack/plugin.h"
#include "toolrack/toolrack.h"

CLEANUP_DEFINE(struct toolrack_text, toolrack_text_unref)
CLEANUP_DEFINE(struct toolrack_tool, toolrack_tool_unref)
CLEANUP_DEFINE(struct toolrack_findings, toolrack_findings_free)

static int in_process(void **state) {
    return isolation_open(state, "content", TOOLRACK_ISOLATION_NONE, false);
}

static int in_workers(void **state) {
    return isolation_open(state, "content", TOOLRACK_ISOLATION_PROCESS, false);
}

/* ------------------------------------------------------------------- replies */

static void every_kind_can_be_replied(void **state) {
    const struct isolation_unit *setup = *state;
    struct toolrack_result *result = NULL;
    struct toolrack_error err;
    if (toolrack_call(setup->host, "everything", NULL, NULL, &result, &err) < 0) {
        fail_msg("%s", err.message);
    }
    assert_string_equal(
            toolrack_result_json(result, NULL),
            "{\"content\":[{\"type\":\"text\",\"text\":\"words\"},"
            "{\"type\":\"image\",\"data\":\"YWJj\",\"mimeType\":\"image/png\"},"
            "{\"type\":\"audio\",\"data\":\"YWJj\",\"mimeType\":\"audio/wav\"},"
            "{\"type\":\"resource\",\"resource\":{\"uri\":\"test://text\",\"mimeType\":"
            "\"text/plain\",\"text\":\"inside\"}},"
            "{\"type\":\"resource\",\"resource\":{\"uri\":\"test://bytes\",\"blob\":\"YWJj\"}},"
            "{\"type\":\"resource_link\",\"uri\":\"file:///srv/report.txt\",\"name\":"
            "\"report.txt\",\"title\":\"The \\\"report\\\"\",\"mimeType\":\"text/plain\","
            "\"size\":12},"
            "{\"type\":\"text\",\"text\":\"for you\",\"annotations\":{\"audience\":[\"user\"],"
            "\"priority\":0.5,\"lastModified\":\"2026-11-23T10:00:00Z\"}}],"
            "\"structuredContent\":{\"n\":1}}");
    assert_true(toolrack_result_is_content(result));
    toolrack_result_free(result);
}

/* Calls `tool` with one string argument; returns the code. */
static int call_with(struct toolrack *host, const char *tool, const char *name, const char *value,
                     struct toolrack_error *err) {
    char json[1024];
    size_t length = (size_t)snprintf(json, sizeof json, "{\"%s\":\"", name);
    for (const char *at = value; *at != '\0'; at++) {
        length += (size_t)snprintf(json + length, sizeof json - length,
                                   *at == '"' || *at == '\\' ? "\\%c" : "%c", *at);
    }
    (void)snprintf(json + length, sizeof json - length, "\"}");
    struct toolrack_result *result = NULL;
    int code = toolrack_call(host, tool, json, NULL, &result, err);
    toolrack_result_free(result);
    return code;
}

static void wrong_content_fails_the_call(void **state) {
    const struct isolation_unit *setup = *state;
    static const char *const good[] = {
            "{\"type\":\"text\",\"text\":\"a\",\"_meta\":{}}",
            "{\"type\":\"resource_link\",\"uri\":\"a:b\",\"name\":\"c\",\"size\":0}",
            "{\"type\":\"resource\",\"resource\":{\"uri\":\"a:b\",\"text\":\"c\",\"_meta\":{}}}",
            "{\"type\":\"text\",\"text\":\"a\",\"annotations\":{\"priority\":1}}"};
    static const char *const wrong[] = {
            "7",
            "{",
            "{\"type\":\"video\"}",
            "{\"type\":\"text\",\"text\":\"a\",\"x\":1}",
            "{\"type\":\"text\",\"text\":\"a\",\"annotations\":{\"audience\":[\"nobody\"]}}",
            "{\"type\":\"text\",\"text\":\"a\",\"annotations\":{\"audience\":\"user\"}}",
            "{\"type\":\"text\",\"text\":\"a\",\"annotations\":{\"priority\":1.5}}",
            "{\"type\":\"text\",\"text\":\"a\",\"annotations\":{\"priority\":-1}}",
            "{\"type\":\"text\",\"text\":\"a\",\"annotations\":{\"x\":1}}",
            "{\"type\":\"text\",\"text\":\"a\",\"annotations\":[]}",
            "{\"type\":\"text\",\"text\":\"a\",\"_meta\":1}",
            "{\"type\":\"resource_link\",\"uri\":\"no uri\",\"name\":\"c\"}",
            "{\"type\":\"resource_link\",\"uri\":\"a:b\"}",
            "{\"type\":\"resource_link\",\"uri\":\"a:b\",\"name\":\"c\",\"size\":-1}",
            "{\"type\":\"resource\",\"resource\":{\"uri\":\"a:b\",\"text\":\"c\",\"_meta\":1}}"};
    struct toolrack_error err;
    for (size_t i = 0; i < ARRAY_LENGTH(good); i++) {
        if (call_with(setup->host, "block", "block", good[i], &err) < 0) {
            fail_msg("%s: %s", good[i], err.message);
        }
    }
    for (size_t i = 0; i < ARRAY_LENGTH(wrong); i++) {
        if (call_with(setup->host, "block", "block", wrong[i], &err) !=
            TOOLRACK_E_EXECUTION_FAILED) {
            fail_msg("%s is taken", wrong[i]);
        }
        assert_non_null(strstr(err.message, "it is no content block of MCP"));
    }
    static const char *const uris[] = {"", "a", ":b", "1a:b", "a b:c", "a:b c", "a:\"", "a:"};
    assert_int_equal(call_with(setup->host, "plain", "uri", "urn:isbn:1%20", &err), 0);
    for (size_t i = 0; i < ARRAY_LENGTH(uris); i++) {
        if (call_with(setup->host, "plain", "uri", uris[i], &err) != TOOLRACK_E_EXECUTION_FAILED) {
            fail_msg("\"%s\" is a URI", uris[i]);
        }
    }
}

/* --------------------------------------------------------------------- icons */

static void icons_and_modes_are_shown(void **state) {
    const struct isolation_unit *setup = *state;
    CLEANUP(toolrack_tool_unrefp)
    struct toolrack_tool *everything = toolrack_get(setup->host, "everything");
    CLEANUP(toolrack_tool_unrefp) struct toolrack_tool *block = toolrack_get(setup->host, "block");
    CLEANUP(toolrack_tool_unrefp) struct toolrack_tool *plain = toolrack_get(setup->host, "plain");
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    static const char icons[] =
            "[{\"src\":\"https://example.org/a.png\",\"mimeType\":\"image/png\",\"sizes\":"
            "[\"48x48\",\"96x96\"],\"theme\":\"dark\"},"
            "{\"src\":\"data:image/svg+xml;base64,PHN2Zy8+\"}]";
    assert_string_equal(toolrack_tool_icons(everything), icons);
    assert_null(toolrack_tool_icons(block));
    assert_null(toolrack_tool_icons(plain)); /* wrong ones are left out */
    assert_int_equal(toolrack_tool_task(everything), TOOLRACK_TASK_ALWAYS);
    assert_int_equal(toolrack_tool_task(block), TOOLRACK_TASK_NEVER);
    assert_int_equal(toolrack_tool_task(plain), TOOLRACK_TASK_AUTO);
    assert_int_equal(toolrack_definitions(setup->host, &text, NULL), 0);
    char member[sizeof icons + 16];
    (void)snprintf(member, sizeof member, ",\"icons\":%s,", icons);
    assert_non_null(strstr(toolrack_text_data(text, NULL), member));
    CLEANUP(toolrack_findings_freep) struct toolrack_findings *findings = NULL;
    assert_int_equal(toolrack_check(TEST_PLUGINS "/content.so", &findings, NULL), 0);
    unsigned found = 0;
    for (size_t i = 0; i < toolrack_findings_count(findings); i++) {
        const struct toolrack_finding *one = toolrack_findings_get(findings, i);
        if (strcmp(one->rule, "tool-icons") == 0) {
            assert_string_equal(one->tool, "plain");
            assert_int_equal(one->severity, TOOLRACK_SEVERITY_WARNING);
            found++;
        }
    }
    assert_int_equal(found, 1);
}

static tr_status run_nothing(struct tr_call *call) {
    (void)call;
    return TR_OK;
}

static const char *icons_of(const char *icons, char *finding, size_t room) {
    static char kept[70 * 1024];
    struct tr_tool tool = {.size = sizeof tool,
                           .name = "a",
                           .description = "A",
                           .schema = "{\"type\":\"object\"}",
                           .run = run_nothing,
                           .icons = icons};
    const struct tr_tool *const tools[] = {&tool};
    const struct tr_plugin plugin = {.magic = TR_MAGIC,
                                     .size = sizeof plugin,
                                     .abi_major = TR_ABI_MAJOR,
                                     .abi_minor = TR_ABI_MINOR,
                                     .id = "a",
                                     .version = "1.0.0",
                                     .tool_count = 1,
                                     .tool_size = sizeof tool,
                                     .tools = tools};
    struct descriptor *desc = NULL;
    assert_int_equal(descriptor_copy(&plugin, &(struct descriptor_options){0}, &desc, NULL), 0);
    assert_int_equal(desc->tool_count, 1);
    const char *read = desc->tools[0].tool->icons;
    finding[0] = '\0';
    for (uint32_t i = 0; i < desc->finding_count; i++) {
        if (strcmp(desc->findings[i].rule, "tool-icons") == 0) {
            (void)snprintf(finding, room, "%s", desc->findings[i].cause);
        }
    }
    (void)snprintf(kept, sizeof kept, "%s", read != NULL ? read : "none");
    descriptor_unref(desc);
    return kept;
}

static void wrong_icons_are_left_out(void **state) {
    (void)state;
    static const char *const wrong[][2] = {
            {"[", "no JSON array of at most 8: it is not JSON"},
            {"{}", "no JSON array of at most 8"},
            {"[{},{},{},{},{},{},{},{},{}]", "no JSON array of at most 8"},
            {"[7]", "icon 1 is no object"},
            {"[{\"src\":\"https://a.b/c\"},{}]", "icon 2 has no src"},
            {"[{\"src\":7}]", "icon 1 has no src"},
            {"[{\"src\":\"http://a.b/c\"}]", "icon 1 has no src"},
            {"[{\"src\":\"javascript:alert(1)\"}]", "icon 1 has no src"},
            {"[{\"src\":\"data:text/html,x\"}]", "icon 1 has no src"},
            {"[{\"src\":\"https://\"}]", "icon 1 has no src"},
            {"[{\"src\":\"https://a.b/\\u202e\"}]", "icon 1 has no src"},
            {"[{\"src\":\"https://a.b/\\n\"}]", "icon 1 has no src"},
            {"[{\"src\":\"https://a.b/\",\"mimeType\":\"\"}]", "icon 1 has a mimeType"},
            {"[{\"src\":\"https://a.b/\",\"sizes\":\"any\"}]", "icon 1 has sizes"},
            {"[{\"src\":\"https://a.b/\",\"sizes\":[7]}]", "icon 1 has sizes"},
            {"[{\"src\":\"https://a.b/\",\"theme\":\"red\"}]", "icon 1 has a theme"},
    };
    char finding[512];
    for (size_t i = 0; i < ARRAY_LENGTH(wrong); i++) {
        const char *read = icons_of(wrong[i][0], finding, sizeof finding);
        if (strcmp(read, "none") != 0 || strstr(finding, wrong[i][1]) == NULL) {
            fail_msg("%s: %s, \"%s\"", wrong[i][0], read, finding);
        }
    }
    assert_string_equal(icons_of("[]", finding, sizeof finding), "none");
    assert_string_equal(finding, "");
    static char large[65 * 1024 + 1];
    memset(large, ' ', sizeof large - 1);
    memcpy(large, "[]", 2);
    assert_string_equal(icons_of(large, finding, sizeof finding), "none");
    assert_non_null(strstr(finding, "the icons have more than 65536 bytes"));
}

#define BOTH(test)                                                      \
    {#test " (in process)", test, in_process, isolation_close, NULL}, { \
#test " (in workers)", test, in_workers, isolation_close, NULL  \
    }

static int with_secrets(void **state) {
    return isolation_open(state, "says", TOOLRACK_ISOLATION_PROCESS, false);
}

/* Where it crashed is not for its caller, however much of the message before that is a secret. */
static void what_is_hidden_moves_nothing_into_the_brief(void **state) {
    const struct isolation_unit *setup = *state;
    struct toolrack_result *result = NULL;
    struct toolrack_error err;
    assert_int_equal(
            toolrack_call(setup->host, "leaks",
                          "{\"how\":\"crash\",\"key\":\"abort() was called, as by a failed\"}",
                          NULL, &result, &err),
            TOOLRACK_E_EXECUTION_FAILED);
    static const char brief[] =
            "plugin 'says' crashed: SIGABRT: *** assertion or for a broken heap";
    assert_int_equal(strncmp(err.message, brief, strlen(brief)), 0);
    assert_true(strlen(err.message) > strlen(brief));
    assert_int_equal(toolrack_error_brief_length(&err), strlen(brief));
}

/* A thread of the app that waits for a call in a worker while the host is closed. */
struct waiting_call {
    struct toolrack *host;
    sem_t begun;
    int code;
};

static void note_begun(void *user, double done, double total, const char *message) {
    (void)done;
    (void)total;
    (void)message;
    (void)sem_post(&((struct waiting_call *)user)->begun);
}

static void *call_and_wait(void *argument) {
    struct waiting_call *call = argument;
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    struct toolrack_result *result = NULL;
    options.deadline_ms = TOOLRACK_NO_DEADLINE;
    options.progress = note_begun;
    options.user = call;
    call->code = toolrack_call(call->host, "listens", NULL, &options, &result, NULL);
    toolrack_result_free(result);
    return NULL;
}

static void closing_ends_a_call_in_a_worker(void **state) {
    struct isolation_unit *setup = *state;
    struct waiting_call call = {.host = setup->host};
    pthread_t thread;
    assert_int_equal(sem_init(&call.begun, 0, 0), 0);
    assert_int_equal(pthread_create(&thread, NULL, call_and_wait, &call), 0);
    assert_int_equal(sem_wait(&call.begun), 0);
    toolrack_close(setup->host);
    setup->host = NULL;
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(call.code, TOOLRACK_E_CANCELLED);
    (void)sem_destroy(&call.begun);
}

int main(void) {
    const struct CMUnitTest tests[] = {
            BOTH(every_kind_can_be_replied),
            BOTH(wrong_content_fails_the_call),
            BOTH(icons_and_modes_are_shown),
            cmocka_unit_test(wrong_icons_are_left_out),
            cmocka_unit_test_setup_teardown(what_is_hidden_moves_nothing_into_the_brief,
                                            with_secrets, isolation_close),
            cmocka_unit_test_setup_teardown(closing_ends_a_call_in_a_worker, with_secrets,
                                            isolation_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
