/* ask-approval.c - whether a call may run. */
#include <signal.h>
#include <string.h>
#include <strings.h>
#include <yyjson.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cli/ask.h"
#include "cli/pager.h"
#include "cli/width.h"

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)

/* Bytes of the arguments that are shown with the question. */
static size_t shown_of(const char *arguments) {
    size_t length = strlen(arguments);
    return length <= ASK_ARGUMENTS_SHOWN_MAX ? length
                                             : utf8_cut(arguments, ASK_ARGUMENTS_SHOWN_MAX);
}

/* The calls of a plan, a line for each. False: they are no list. */
static bool add_calls(const struct ask *ask, struct buf *text, const char *calls) {
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *doc = yyjson_read(calls, strlen(calls), YYJSON_READ_NUMBER_AS_RAW);
    yyjson_val *root = yyjson_doc_get_root(doc);
    size_t at;
    size_t count;
    yyjson_val *call;
    if (!yyjson_is_arr(root)) {
        return false;
    }
    yyjson_arr_foreach (root, at, count, call) {
        CLEANUP(freep) char *line = yyjson_val_write(call, YYJSON_WRITE_NOFLAG, NULL);
        text->failed = text->failed || line == NULL;
        if (line != NULL) {
            ask_add_text(ask, text, "  ", line, strlen(line), true);
        }
    }
    return true;
}

/* Its name is plan "NAME", and its version a hash. */
static bool is_plan(const struct toolrack_approval_request *request) {
    return strchr(request->tool, ' ') != NULL;
}

static void add_request(const struct ask *ask, struct buf *text,
                        const struct toolrack_approval_request *request) {
    size_t length = strlen(request->arguments);
    size_t shown = shown_of(request->arguments);
    CLEANUP(buf_finish) struct buf line = BUF_INIT;
    text_add_line(&line, request->tool, strlen(request->tool));
    if (!is_plan(request)) {
        buf_add_char(&line, ' ');
        text_add_line(&line, request->version, strlen(request->version));
        buf_add_text(&line, ", of plugin ");
        text_add_line(&line, request->plugin, strlen(request->plugin));
    }
    buf_add_text(&line, ": ");
    text_add_line(&line, request->reason, strlen(request->reason));
    text->failed = text->failed || line.failed;
    if (!text->failed) {
        width_wrap(text, "", "  ", line.data, line.length, ask_columns(ask), false);
    }
    if (is_plan(request) && shown == length && add_calls(ask, text, request->arguments)) {
        return;
    }
    /* White space in a string matters. */
    ask_add_text(ask, text, "  ", request->arguments, shown, true);
    if (shown < length) {
        buf_printf(text, "  and %zu bytes more that are not shown, of %zu; v shows all\n",
                   length - shown, length);
    }
}

/* TOOLRACK_APPROVAL_ASK_LATER when the line is not an answer. */
static int take_approval(const struct buf *line) {
    if (ask_is_yes(line->data)) {
        return TOOLRACK_APPROVAL_ALLOW_ONCE;
    }
    if (strcasecmp(line->data, "a") == 0 || strcasecmp(line->data, "always") == 0) {
        return TOOLRACK_APPROVAL_ALLOW_ALWAYS;
    }
    return line->length == 0 || ask_is_no(line->data) ? TOOLRACK_APPROVAL_DENY
                                                      : TOOLRACK_APPROVAL_ASK_LATER;
}

static bool wants_all(const struct buf *line) {
    return strcasecmp(line->data, "v") == 0 || strcasecmp(line->data, "view") == 0;
}

/* Show all of the arguments, in the pager if there is one. False: it was shown to nobody. */
static bool show_arguments(const struct ask *ask, const char *arguments) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    int number = 0;
    ask_add_text(ask, &text, "  ", arguments, strlen(arguments), true);
    if (text.failed) {
        return false;
    }
    if (ask->pager == NULL || !pager_show(ask->pager, text.data, text.length, &number)) {
        ask_show(ask, &text);
    }
    if (number != 0) {
        (void)raise(number); /* it came for this process */
    }
    ask_forget_typed(ask);
    return number == 0;
}

int ask_approval(const struct ask *ask, const struct toolrack_approval_request *request) {
    CLEANUP(buf_finish) struct buf line = BUF_INIT;
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    bool is_long = request->arguments[shown_of(request->arguments)] != '\0';
    bool seen = !is_long;
    ask_forget_typed(ask);
    add_request(ask, &text, request);
    for (unsigned i = 0; i < ASK_TRIES_MAX && !text.failed; i++) {
        buf_printf(&text, "Let it run? [y]es, [a]lways for %s, %s[N]o: ",
                   is_plan(request) ? "its tools and any caller" : "any caller",
                   is_long ? "[v]iew all, " : "");
        if (!ask_line(ask, &text, &line)) {
            ask_show(ask, &(struct buf){.data = (char[]){"\n"}, .length = 1});
            return TOOLRACK_APPROVAL_DENY;
        }
        buf_clear(&text);
        int answer = take_approval(&line);
        if (is_long && wants_all(&line)) {
            seen = show_arguments(ask, request->arguments) || seen;
        } else if (answer == TOOLRACK_APPROVAL_DENY ||
                   (seen && answer != TOOLRACK_APPROVAL_ASK_LATER)) {
            return answer;
        } else if (answer != TOOLRACK_APPROVAL_ASK_LATER) {
            buf_add_text(&text, "  not all of the arguments were shown; v shows them\n");
        }
    }
    return TOOLRACK_APPROVAL_DENY;
}
