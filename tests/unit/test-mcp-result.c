/* Content is copied into answers as the host has written it: that is the same as to parse it and to
 * write each part again, in each revision. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <yyjson.h>

#include "base/cleanup.h"
#include "run/run.h"
#include "serve/mcp/dialect.h"
#include "serve/mcp/result.h"

#include <cmocka.h>

/* The answer to a call whose content is this JSON. */
static yyjson_doc *answer_to(const struct dialect *dialect, const char *json) {
    CLEANUP(buf_finish) struct buf content = BUF_INIT;
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    struct toolrack_result *result = NULL;
    struct toolrack_error err;
    result_begin(&content);
    ((struct toolrack_result *)(void *)content.data)->is_content = true;
    buf_add_text(&content, json);
    assert_int_equal(result_end(&content, NULL, &result, &err), 0);
    buf_add_char(&out, '{');
    result_add(&out, dialect, NULL, result);
    buf_add_char(&out, '}');
    toolrack_result_free(result);
    assert_false(out.failed);
    assert_null(strpbrk(out.data, "\r\n")); /* a message is one line */
    yyjson_doc *doc = yyjson_read(out.data, out.length, 0);
    if (doc == NULL) {
        fail_msg("no JSON: %s", out.data);
    }
    return doc;
}

/* White space between tokens is nothing that the host writes. */
static yyjson_doc *parsed_answer_to(const struct dialect *dialect, const char *json) {
    CLEANUP(buf_finish) struct buf spaced = BUF_INIT;
    buf_add_text(&spaced, "{\n");
    buf_add_text(&spaced, json + 1);
    return answer_to(dialect, spaced.data);
}

static const char *const contents[] = {
        "{\"content\":[]}",
        "{\"content\":[],\"structuredContent\":{\"a\":[1,{\"b\":\"]}\"}]}}",
        "{\"content\":[{\"type\":\"text\",\"text\":\"\"}]}",
        "{\"content\":[{\"type\":\"text\",\"text\":\"\\\"}]}\"}]}",
        "{\"content\":[{\"type\":\"text\",\"text\":\"\\\"],\\\\\\\"}\\\\\"},{\"type\":\"text\","
        "\"text\":\"\\\\\\\\\"}],\"structuredContent\":{\"text\":\"\\\\\\\"\"}}",
        "{\"content\":[{\"type\":\"text\",\"text\":\"a\"}],\"structuredContent\":[1.50,null,\"}\"]"
        "}",
        "{\"content\":[{\"type\":\"text\",\"text\":\"a\"}],\"structuredContent\":-1e5}",
        "{\"content\":[{\"type\":\"text\",\"text\":\"a\",\"_meta\":{\"b\":[]}},"
        "{\"type\":\"image\",\"data\":\"AA==\",\"mimeType\":\"image/png\",\"annotations\":"
        "{\"lastModified\":\"2026-01-01\",\"priority\":0.50}}]}",
        "{\"content\":[{\"type\":\"audio\",\"data\":\"AA==\",\"mimeType\":\"audio/wav\"},"
        "{\"type\":\"resource_link\",\"uri\":\"a:b\",\"name\":\"n\",\"title\":\"t\"},"
        "{\"type\":\"resource\",\"resource\":{\"uri\":\"a:b\",\"text\":\"]\",\"_meta\":{}}}]}",
};

static void expect_same(const struct dialect *dialect, const char *json) {
    yyjson_doc *copied = answer_to(dialect, json);
    yyjson_doc *parsed = parsed_answer_to(dialect, json);
    if (!yyjson_equals(yyjson_doc_get_root(copied), yyjson_doc_get_root(parsed))) {
        char *first = yyjson_write(copied, 0, NULL);
        char *second = yyjson_write(parsed, 0, NULL);
        fail_msg("%s, in %s: %s instead of %s", json, dialect->version, first, second);
    }
    yyjson_doc_free(copied);
    yyjson_doc_free(parsed);
}

static void content_is_copied_as_it_would_be_written(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(contents); i++) {
        expect_same(&dialect_stateless, contents[i]);
        for (unsigned j = 0; j < DIALECTS_HANDSHAKE_COUNT; j++) {
            expect_same(&dialects_handshake[j], contents[i]);
        }
    }
}

/* Of a worker that writes what it likes, as far as it is content. */
static void content_that_is_written_otherwise_is_one_line_too(void **state) {
    (void)state;
    static const char *const odd[] = {
            "{\"content\":[{\"type\":\"text\",\n\"text\":\"a\"}]}",
            "{\"content\":[{\"type\":\"text\",\"text\":\"a\"}\r]}",
            "{\"content\":[{\"type\":\"text\",\"text\":\"a\"}],\"structuredContent\":{\n}}",
            "{\"structuredContent\":{},\"content\":[{\"type\":\"text\",\"text\":\"a\"}]}",
            "{\"content\" : [ {\"type\":\"text\",\"text\":\"a\"} ] , \"structuredContent\": {} }",
            "{\"content\":[ {\"type\":\"text\",\"text\":\"a\"} ],\"structuredContent\":{}}",
    };
    for (size_t i = 0; i < ARRAY_LENGTH(odd); i++) {
        yyjson_doc *doc = answer_to(&dialect_stateless, odd[i]);
        assert_int_equal(yyjson_arr_size(yyjson_doc_ptr_get(doc, "/content")), 1);
        assert_string_equal(yyjson_get_str(yyjson_doc_ptr_get(doc, "/content/0/text")), "a");
        assert_int_equal(yyjson_doc_ptr_get(doc, "/structuredContent") != NULL, i > 1);
        yyjson_doc_free(doc);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(content_is_copied_as_it_would_be_written),
            cmocka_unit_test(content_that_is_written_otherwise_is_one_line_too),
    };
    return cmocka_run_group_tests_name("mcp-result", tests, NULL, NULL);
}
