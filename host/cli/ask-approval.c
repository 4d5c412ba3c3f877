/* ask-approval.c - whether a call may run. */
#include <signal.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cli/ask.h"
#include "cli/pager.h"
#include "cli/width.h"
#include "view/arguments.h"
#include "view/tool.h"

/* Its name is plan "NAME", and its version a hash. */
static bool is_plan(const struct toolrack_approval_request *request) {
    return strchr(request->tool, ' ') != NULL;
}

/* Append lines of what a caller wrote. Where the terminal breaks one, it goes on further to the
 * right: no part of a value looks like an argument, or like a line of the host's. */
static void add_lines(const struct ask *ask, struct buf *text, const struct buf *lines,
                      size_t length) {
    CLEANUP(buf_finish) struct buf escaped = BUF_INIT;
    if (!lines->failed) {
        text_add_escaped(&escaped, lines->data, length);
    }
    text->failed = text->failed || lines->failed || escaped.failed;
    for (size_t at = 0; !text->failed && at < escaped.length;) {
        const char *end = memchr(escaped.data + at, '\n', escaped.length - at);
        size_t next = end != NULL ? (size_t)(end - escaped.data) : escaped.length;
        /* White space in a string matters. */
        width_wrap(text, "  ", "        ", escaped.data + at, next - at, ask_columns(ask), true);
        at = next + 1;
    }
}

/* Bytes of the first rows of a text, which has an end of line at each row's end. */
static size_t length_of_rows(const struct buf *text, size_t rows) {
    size_t at = 0;
    for (; rows > 0 && at < text->length; rows--) {
        const char *end = memchr(text->data + at, '\n', text->length - at);
        at = end != NULL ? (size_t)(end - text->data) + 1 : text->length;
    }
    return at;
}

static size_t rows_of(const struct buf *text) {
    size_t rows = 0;
    for (size_t i = 0; i < text->length; i++) {
        rows += text->data[i] == '\n';
    }
    return rows;
}

/* Leave out what does not fit on the screen together with the prompt, which the terminal breaks:
 * the tool and the first arguments would scroll away. @return whether all of it fits */
static bool fit_on_screen(const struct ask *ask, struct buf *text) {
    static const char note[] = "and more that does not fit on the screen; v shows all";
    CLEANUP(buf_finish) struct buf more = BUF_INIT;
    size_t rows = ask_rows(ask);
    size_t columns = ask_columns(ask);
    size_t left = 2 + (columns > 0 ? ASK_PROMPT_COLUMNS_MAX / columns : 0);
    if (text->failed || rows == 0 || rows_of(text) + left <= rows) {
        return true;
    }
    width_wrap(&more, "  ", "  ", note, sizeof note - 1, columns, false);
    left += rows_of(&more);
    buf_truncate(text, length_of_rows(text, rows > left ? rows - left : 1));
    buf_add(text, more.data, more.length);
    text->failed = text->failed || more.failed;
    return false;
}

/* Secrets are masked: whoever looks over a person's shoulder reads the screen too, and what is to
 * be decided does not depend on them. */
static const char *shown_arguments(const struct toolrack_approval_request *request) {
    return request->masked != NULL ? request->masked : request->arguments;
}

/* @return whether all of the arguments is shown */
static bool add_request(const struct ask *ask, struct buf *text,
                        const struct toolrack_approval_request *request) {
    CLEANUP(buf_finish) struct buf line = BUF_INIT;
    CLEANUP(buf_finish) struct buf lines = BUF_INIT;
    text_add_line(&line, request->tool, strlen(request->tool));
    if (!is_plan(request)) {
        buf_add_char(&line, ' ');
        text_add_line(&line, request->version, strlen(request->version));
        buf_printf(&line, " (%s), of plugin ",
                   view_permission((enum toolrack_permission)request->permission));
        text_add_line(&line, request->plugin, strlen(request->plugin));
    }
    buf_add_text(&line, ": ");
    text_add_line(&line, request->reason, strlen(request->reason));
    text->failed = text->failed || line.failed;
    if (!text->failed) {
        width_wrap(text, "", "  ", line.data, line.length, ask_columns(ask), false);
    }
    bool is_whole = view_add_arguments(&lines, shown_arguments(request), ASK_VALUE_SHOWN_MAX);
    if (lines.failed || lines.length <= ASK_ARGUMENTS_SHOWN_MAX) {
        add_lines(ask, text, &lines, lines.length);
        return fit_on_screen(ask, text) && is_whole;
    }
    size_t shown = utf8_cut(lines.data, ASK_ARGUMENTS_SHOWN_MAX);
    add_lines(ask, text, &lines, shown);
    buf_printf(text, "  and %zu bytes more that are not shown; v shows all\n",
               lines.length - shown);
    (void)fit_on_screen(ask, text);
    return false;
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
    CLEANUP(buf_finish) struct buf lines = BUF_INIT;
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    int number = 0;
    (void)view_add_arguments(&lines, arguments, SIZE_MAX);
    add_lines(ask, &text, &lines, lines.length);
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
    if (ask_is_stopped(ask)) {
        return TOOLRACK_APPROVAL_UNWANTED;
    }
    ask_forget_typed(ask);
    bool seen = add_request(ask, &text, request);
    const bool is_long = !seen;
    for (unsigned i = 0; i < ASK_TRIES_MAX && !text.failed; i++) {
        buf_printf(&text, "Let it run? [y]es, [a]lways for %s, %s[N]o: ",
                   is_plan(request) ? "its tools and any caller" : "any caller",
                   is_long ? "[v]iew all, " : "");
        if (!ask_line(ask, &text, &line)) {
            ask_show(ask, &(struct buf){.data = (char[]){"\n"}, .length = 1});
            return ask_is_stopped(ask) ? TOOLRACK_APPROVAL_UNWANTED : TOOLRACK_APPROVAL_DENY;
        }
        buf_clear(&text);
        int answer = take_approval(&line);
        if (is_long && wants_all(&line)) {
            seen = show_arguments(ask, shown_arguments(request)) || seen;
        } else if (answer == TOOLRACK_APPROVAL_DENY ||
                   (seen && answer != TOOLRACK_APPROVAL_ASK_LATER)) {
            return answer;
        } else if (answer != TOOLRACK_APPROVAL_ASK_LATER) {
            buf_add_text(&text, "  not all of the arguments were shown; v shows them\n");
        }
    }
    return TOOLRACK_APPROVAL_DENY;
}
