#include "mcp-unit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "gate.h"
#include "toolrack/plugin.h"

#include <cmocka.h> /* after plugin.h: it defines a macro named fail */

static const char *echo(const char *message) {
    return message;
}
TR_TOOL(echo, "Give a message back", TR_STRING, (TR_STRING, message, "message"))

static int64_t twice(struct tr_call *call, int64_t n) {
    if (n == 13) {
        (void)tr_fail(call, TR_FAILED, NULL, "the machine is superstitious");
    }
    if (n == 14) { /* words as the host has them for a crash */
        (void)tr_fail(call, TR_FAILED, NULL, "plugin 'a' is in quarantine; it is, in (worker 3)");
    }
    return n * 2;
}
TR_TOOL(twice, "Double a number", TR_I64, TR_CALL, (TR_I64, n, "number"))

static tr_status stay(struct tr_call *call) {
    return gate_pass(call) ? tr_reply_text(call, "stayed") : TR_CANCELLED;
}
TR_JSON_TOOL(stay, "Wait", "{\"type\":\"object\"}")

static tr_status waits(struct tr_call *call) {
    tr_progress(call, 1, 2, NULL);
    return stay(call);
}
TR_JSON_TOOL(waits, "Report progress and wait", "{\"type\":\"object\"}")

static tr_status speak(struct tr_call *call) {
    tr_log(call, TR_LOG_DEBUG, "a detail");
    tr_log(call, TR_LOG_INFO, "a \"line\"");
    tr_progress(call, 0, 100, NULL);
    tr_progress(call, 50, 100, "half");
    tr_progress(call, 50, 100, "still half");
    tr_progress(call, 20, 100, "back");
    tr_progress(call, 100, 100, NULL);
    return tr_reply_json(call, "{\"sum\":3}");
}
TR_JSON_TOOL(
        speak,
        ("Log and report progress", .title = "Speak",
         .icons = "[{\"src\":\"data:image/png;base64,AAAA\"}]",
         .result_schema = "{\"type\":\"object\",\"properties\":{\"sum\":{\"type\":\"integer\"}}}"),
        "{\"type\":\"object\",\"properties\":{\"region\":{\"type\":\"string\","
        "\"x-mcp-header\":\"Region\"}}}")

static tr_status rush(struct tr_call *call) {
    for (int i = 1; i <= 1000; i++) {
        tr_progress(call, i, 1000, NULL);
    }
    return tr_reply_text(call, "rushed");
}
TR_JSON_TOOL(rush, "Report progress too often", "{\"type\":\"object\"}")

static tr_status parts(struct tr_call *call) {
    (void)tr_reply_text(call, "a text");
    return tr_reply_image(call, "PNG", 3, "image/png");
}
TR_JSON_TOOL(parts, ("Text and image", .permission = TR_DANGEROUS), "{\"type\":\"object\"}")

/* Asks twice: for a name by a form, then for the model and the folders at once. */
static tr_status quiz(struct tr_call *call) {
    const char *form = NULL;
    tr_status status =
            tr_ask_as(call, "user", "Who?",
                      "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"}},"
                      "\"required\":[\"name\"]}",
                      &form);
    if (status != TR_OK) {
        return tr_fail(call, status == TR_CANCELLED ? TR_CANCELLED : TR_FAILED, NULL, "no name");
    }
    const char *said = NULL;
    status = tr_sample(call, "model",
                       "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":"
                       "\"hi\"}}],\"maxTokens\":5}",
                       &said);
    if (status == TR_CANCELLED) {
        return status;
    }
    return tr_reply_textf(call, "%s|%s", form, status == TR_OK ? said : "silence");
}
TR_JSON_TOOL(quiz, "Ask", "{\"type\":\"object\"}")

/* What a plugin gets to know of who calls it. */
static tr_status whose(struct tr_call *call) {
    return tr_reply_textf(call, "%s/%s", tr_context(call, TR_CONTEXT_CALLER),
                          tr_context(call, TR_CONTEXT_CONVERSATION));
}
TR_JSON_TOOL(whose, "Say who calls", "{\"type\":\"object\"}")

TR_PLUGIN(("unit", .flags = TR_THREAD_SAFE), "1.0.0", echo, twice, stay, waits, speak, rush, parts,
          quiz, whose)

struct toolrack *rack;
struct mcp *mcp;
struct mcp_pipe *pipe_;
struct talk way;
const struct principal principal = {.id = "stdio", .permissions = ~0u};

int open_server(void **state) {
    (void)state;
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    options.config_file = options.state_dir = "";
    options.no_scan = 1;
    assert_int_equal(toolrack_open(&options, &rack, NULL), 0);
    assert_int_equal(toolrack_register(rack, &toolrack_plugin, NULL, NULL), 0);
    assert_int_equal(toolrack_grant(rack, "parts", 0, NULL, NULL), 0);
    struct toolrack_error err;
    struct mcp_options serving = {.host = rack};
    assert_int_equal(mcp_create(&serving, &mcp, &err), 0);
    talk_init(&way);
    assert_int_equal(mcp_pipe_open(mcp, &principal, &way.exchange, &pipe_, &err), 0);
    gate_reset();
    return 0;
}

int close_server(void **state) {
    (void)state;
    mcp_pipe_close(pipe_, true);
    talk_finish(&way);
    mcp_destroy(mcp);
    toolrack_close(rack);
    return 0;
}

void check_rows(const struct row *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct talk talk;
        talk_pipe(&talk, pipe_, rows[i].message);
        assert_matches(talk_wait(&talk), rows[i].answer);
        talk_finish(&talk);
    }
}
