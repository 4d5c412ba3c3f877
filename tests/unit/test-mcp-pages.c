/* A list of many tools comes in pages: each tool once, in the order of the registry. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "mcp-server.h"
#include "toolrack/plugin.h"

#include <cmocka.h> /* after plugin.h: it defines a macro named fail */

/* More than two pages of 250. */
#define TOOLS 600u

static tr_status first(struct tr_call *call) {
    return tr_reply_text(call, "first");
}
TR_JSON_TOOL(first, "Be first", "{\"type\":\"object\"}")
TR_PLUGIN("unit", "1.0.0", first)

static void open_many(void) {
    CLEANUP(buf_finish) struct buf config = BUF_INIT;
    buf_add_text(&config, "{\"tools\":[");
    for (unsigned i = 0; i < TOOLS; i++) {
        buf_printf(&config,
                   "%s{\"name\":\"tool_%03u\",\"description\":\"Do it\",\"type\":\"function\","
                   "\"parameters\":{\"type\":\"object\"},\"implementation\":{\"type\":\"mock\","
                   "\"mock_response\":%u}}",
                   i > 0 ? "," : "", i, i);
    }
    buf_add_text(&config, "]}");
    assert_false(config.failed);
    server_open(config.data, &toolrack_plugin, NULL);
}

/* Add the names of a page to those that were seen, after a line feed each. @return the cursor of
 * the next page, or NULL */
static char *read_page(const char *cursor, const char *meta, struct buf *seen, size_t *ret_count) {
    CLEANUP(buf_finish) struct buf message = BUF_INIT;
    struct talk talk;
    buf_printf(&message, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{%s",
               meta);
    if (cursor != NULL) {
        buf_printf(&message, "%s\"cursor\":\"%s\"", meta[0] != '\0' ? "," : "", cursor);
    }
    buf_add_text(&message, "}}");
    talk_pipe(&talk, server_pipe, message.data);
    const char *answer = talk_wait(&talk);
    yyjson_doc *doc = yyjson_read(answer, strlen(answer), 0);
    yyjson_val *result = yyjson_obj_get(yyjson_doc_get_root(doc), "result");
    size_t at;
    yyjson_val *tool;
    *ret_count = 0;
    yyjson_arr_foreach (yyjson_obj_get(result, "tools"), at, *ret_count, tool) {
        buf_printf(seen, "\n%s", yyjson_get_str(yyjson_obj_get(tool, "name")));
    }
    const char *next = yyjson_get_str(yyjson_obj_get(result, "nextCursor"));
    char *copy = next != NULL ? strdup(next) : NULL;
    yyjson_doc_free(doc);
    talk_finish(&talk);
    return copy;
}

/* Go through all pages. */
static void read_all(const char *meta) {
    CLEANUP(buf_finish) struct buf seen = BUF_INIT;
    char *cursor = NULL;
    size_t pages = 0;
    size_t total = 0;
    do {
        size_t count = 0;
        char *next = read_page(cursor, meta, &seen, &count);
        free(cursor);
        cursor = next;
        total += count;
        pages++;
        assert_in_range(count, 1, 250);
        assert_true(pages <= 3);
    } while (cursor != NULL);
    assert_int_equal(pages, 3);
    assert_int_equal(total, TOOLS + 1);
    for (unsigned i = 0; i < TOOLS; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "\ntool_%03u", i);
        assert_non_null(strstr(seen.data, name)); /* so each of them is there once */
    }
    assert_non_null(strstr(seen.data, "\nfirst"));
}

static void each_tool_is_listed_once(void **state) {
    (void)state;
    open_many();
    read_all(META_NONE);
    server_check(INITIALIZE_WITH("2025-11-25", "{}"), "*");
    read_all("");
    /* Those of a revision with a list of its own. */
    server_check(INITIALIZE_WITH("2025-03-26", "{}"), "*");
    read_all("");
    server_close();
}

/* A page goes on after the tool that its cursor names, though one before it has gone. */
static void a_page_goes_on_when_the_list_changes(void **state) {
    (void)state;
    open_many();
    CLEANUP(buf_finish) struct buf before = BUF_INIT;
    CLEANUP(buf_finish) struct buf after = BUF_INIT;
    size_t count = 0;
    server_check(INITIALIZE_WITH("2025-11-25", "{}"), "*");
    CLEANUP(freep) char *cursor = read_page(NULL, "", &before, &count);
    assert_non_null(cursor);
    CLEANUP(freep) char *same = read_page(cursor, "", &before, &count);
    assert_non_null(same);
    CLEANUP(buf_finish) struct buf whole = BUF_INIT;
    CLEANUP(freep) char *gone = read_page(NULL, "", &whole, &count);
    assert_non_null(gone);
    assert_int_equal(toolrack_set_enabled(server_host, "tool_000", false, NULL, NULL), 0);
    CLEANUP(freep) char *other = read_page(cursor, "", &after, &count);
    assert_non_null(other);
    assert_int_equal(count, 250);
    assert_memory_equal(before.data + whole.length, after.data, after.length);
    server_close();
}

static void an_unknown_cursor_is_refused(void **state) {
    (void)state;
    open_many();
    CLEANUP(buf_finish) struct buf seen = BUF_INIT;
    CLEANUP(buf_finish) struct buf message = BUF_INIT;
    size_t count = 0;
    server_check(INITIALIZE_WITH("2025-11-25", "{}"), "*");
    CLEANUP(freep) char *cursor = read_page(NULL, "", &seen, &count);
    assert_non_null(cursor);
    /* One character is another. */
    cursor[strlen(cursor) / 2] = cursor[strlen(cursor) / 2] == 'A' ? 'B' : 'A';
    buf_printf(&message,
               "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"
               "list\",\"params\":{\"cursor\":\"%s\"}}",
               cursor);
    server_check(message.data, "*\"code\":-32602*cursor*");
    server_check(REQUEST("1", "tools/list", "\"cursor\":\"2\""), "*\"code\":-32602*cursor*");
    server_check(REQUEST("1", "tools/list", "\"cursor\":[]"), "*\"code\":-32602*cursor*");
    /* That of another list. */
    server_check(REQUEST("1", "prompts/list", "\"cursor\":\"2\""), "*\"code\":-32602*cursor*");
    server_close();
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(each_tool_is_listed_once),
            cmocka_unit_test(a_page_goes_on_when_the_list_changes),
            cmocka_unit_test(an_unknown_cursor_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
