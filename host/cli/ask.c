#include "cli/ask.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <yyjson.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "base/utf8.h"

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)
CLEANUP_DEFINE(yyjson_mut_doc, yyjson_mut_doc_free)

/* ---------------------------------------------------------------- the terminal */

bool ask_possible(void) {
    return isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1;
}

bool ask_init(struct ask *ask, int in, int out) {
    *ask = (struct ask){.in = in, .out = out, .stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    return ask->stop >= 0;
}

void ask_finish(struct ask *ask) {
    if (ask->stop >= 0) {
        (void)close(ask->stop);
        ask->stop = -1;
    }
}

void ask_stop(const struct ask *ask) {
    if (ask->stop >= 0) {
        (void)eventfd_write(ask->stop, 1); /* fails only if it is readable already */
    }
}

static void show(const struct ask *ask, const struct buf *text) {
    if (!text->failed) {
        /* On failure the person sees nothing, and will not answer either. */
        (void)write_all(ask->out, text->data, text->length);
    }
}

/* Milliseconds to wait for the next byte: -1 is without limit, 0 after the deadline. */
static int patience_ms(const struct ask *ask) {
    if (ask->deadline_ns == 0) {
        return -1;
    }
    uint64_t now = clock_now_ns();
    if (now >= ask->deadline_ns) {
        return 0;
    }
    uint64_t left_ms = (ask->deadline_ns - now) / CLOCK_NS_PER_MS + 1;
    return left_ms > INT32_MAX ? INT32_MAX : (int)left_ms;
}

/* Wait for input; false: the question has ended. */
static bool wait_for_input(const struct ask *ask) {
    for (;;) {
        struct pollfd fds[] = {{.fd = ask->in, .events = POLLIN},
                               {.fd = ask->stop, .events = POLLIN}};
        int patience = patience_ms(ask);
        int ready = patience == 0 ? 0 : poll(fds, 2, patience);
        if (ready < 0 && errno == EINTR) {
            continue;
        }
        if (ready <= 0 || fds[1].revents != 0) {
            return false;
        }
        if (fds[0].revents != 0) {
            return true;
        }
    }
}

/* Read a line, without its end. Byte by byte, since input typed ahead is for the next question.
 * False: end of input, the question has ended, or the line is too long. */
static bool read_line(const struct ask *ask, struct buf *line) {
    buf_clear(line);
    while (line->length <= ASK_LINE_LENGTH_MAX) {
        char c;
        ssize_t got = wait_for_input(ask) ? read(ask->in, &c, 1) : 0;
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return false;
        }
        if (c == '\n') {
            buf_add(line, "", 0); /* an empty line is a string too */
            return !line->failed;
        }
        buf_add_char(line, c);
    }
    return false;
}

/* Show a prompt and read the answer, without surrounding white space. */
static bool prompt(const struct ask *ask, const struct buf *text, struct buf *line) {
    show(ask, text);
    if (!read_line(ask, line)) {
        return false;
    }
    while (line->length > 0 && strchr(" \t\r", line->data[line->length - 1]) != NULL) {
        buf_truncate(line, line->length - 1);
    }
    size_t skip = strspn(line->data, " \t");
    memmove(line->data, line->data + skip, line->length - skip + 1);
    line->length -= skip;
    return true;
}

/* ------------------------------------------------------------------- choices */

/* One property of the answer. */
struct property {
    yyjson_val *name;
    yyjson_val *schema;
    yyjson_val *choices; /* of `enum`, `oneOf` or `anyOf`; NULL: none are stated */
    bool required;
    bool several; /* an array of choices */
};

/* The value of a choice: the choice itself or, with a title, its `const`. */
static yyjson_val *choice_value(yyjson_val *choice) {
    yyjson_val *value = yyjson_obj_get(choice, "const");
    return value != NULL ? value : choice;
}

static yyjson_val *choices_of(yyjson_val *schema) {
    static const char *const keywords[] = {"enum", "oneOf", "anyOf"};
    yyjson_val *found = NULL;
    for (size_t i = 0; i < ARRAY_LENGTH(keywords) && found == NULL; i++) {
        yyjson_val *list = yyjson_obj_get(schema, keywords[i]);
        found = yyjson_is_arr(list) && yyjson_arr_size(list) > 0 ? list : NULL;
    }
    size_t i, max;
    yyjson_val *choice;
    yyjson_arr_foreach (found, i, max, choice) {
        if (!yyjson_is_str(choice_value(choice))) {
            return NULL; /* alternatives, not choices */
        }
    }
    return found;
}

/* The choice with this value or title; NULL when there is no such choice. */
static yyjson_val *choice_of(const struct property *property, const char *text, size_t length) {
    yyjson_val *names = yyjson_obj_get(property->schema, "enumNames");
    size_t i, max;
    yyjson_val *choice;
    yyjson_arr_foreach (property->choices, i, max, choice) {
        yyjson_val *value = choice_value(choice);
        if (yyjson_equals_strn(value, text, length) ||
            yyjson_equals_strn(yyjson_obj_get(choice, "title"), text, length) ||
            yyjson_equals_strn(yyjson_arr_get(names, i), text, length)) {
            return value;
        }
    }
    return NULL;
}

/* ----------------------------------------------------------------- one property */

static bool has_type(const struct property *property, const char *name) {
    return yyjson_equals_str(yyjson_obj_get(property->schema, "type"), name);
}

/* Whether its value can be typed on one line. */
static bool can_be_asked(const struct property *property) {
    return property->choices != NULL || has_type(property, "string") ||
           has_type(property, "boolean") || has_type(property, "integer") ||
           has_type(property, "number");
}

static struct property property_of(yyjson_val *root, yyjson_val *name, yyjson_val *schema) {
    struct property property = {.name = name, .schema = schema};
    size_t i, max;
    yyjson_val *required;
    yyjson_arr_foreach (yyjson_obj_get(root, "required"), i, max, required) {
        property.required = property.required || yyjson_equals(required, name);
    }
    property.several = has_type(&property, "array");
    property.choices = choices_of(property.several ? yyjson_obj_get(schema, "items") : schema);
    return property;
}

static void add_value(struct buf *text, yyjson_val *value) {
    if (yyjson_is_str(value)) {
        text_add_line(text, yyjson_get_str(value), yyjson_get_len(value));
        return;
    }
    size_t length = 0;
    CLEANUP(freep) char *json = yyjson_val_write(value, 0, &length);
    if (json != NULL) {
        text_add_line(text, json, length);
    }
}

static void add_choices(struct buf *text, const struct property *property) {
    size_t i, max;
    yyjson_val *choice;
    yyjson_arr_foreach (property->choices, i, max, choice) {
        buf_add_text(text, i == 0 ? "" : ", ");
        add_value(text, choice_value(choice));
        yyjson_val *title = yyjson_obj_get(choice, "title");
        title = title != NULL ? title
                              : yyjson_arr_get(yyjson_obj_get(property->schema, "enumNames"), i);
        if (yyjson_is_str(title)) {
            buf_add_text(text, " (");
            add_value(text, title);
            buf_add_char(text, ')');
        }
    }
}

/* Append what may be typed, in brackets after the name. */
static void add_hint(struct buf *text, const struct property *property) {
    buf_add_text(text, " [");
    if (property->choices != NULL) {
        buf_add_text(text, property->several ? "some of " : "one of ");
        add_choices(text, property);
    } else if (has_type(property, "boolean")) {
        buf_add_text(text, "yes or no");
    } else if (has_type(property, "string")) {
        yyjson_val *format = yyjson_obj_get(property->schema, "format");
        buf_add_text(text, yyjson_is_str(format) ? "" : "text");
        add_value(text, format);
    } else {
        buf_add_text(text, has_type(property, "integer") ? "integer" : "number");
    }
    yyjson_val *fallback = yyjson_obj_get(property->schema, "default");
    if (fallback != NULL) {
        buf_add_text(text, "; default ");
        add_value(text, fallback);
    } else if (!property->required) {
        buf_add_text(text, "; may be left empty");
    }
    buf_add_text(text, "]: ");
}

static void add_prompt(struct buf *text, const struct property *property) {
    yyjson_val *title = yyjson_obj_get(property->schema, "title");
    yyjson_val *description = yyjson_obj_get(property->schema, "description");
    buf_add_text(text, "  ");
    add_value(text, yyjson_is_str(title) ? title : property->name);
    if (yyjson_is_str(description)) {
        buf_add_text(text, ", ");
        add_value(text, description);
    }
    add_hint(text, property);
}

/* --------------------------------------------------------------------- values */

/* A typed value, or what is wrong with it. */
struct typed {
    yyjson_mut_val *value; /* NULL without `wrong`: nothing was typed and nothing is required */
    const char *wrong;
};

static bool is_yes(const char *text) {
    return strcasecmp(text, "y") == 0 || strcasecmp(text, "yes") == 0 ||
           strcasecmp(text, "true") == 0;
}

static bool is_no(const char *text) {
    return strcasecmp(text, "n") == 0 || strcasecmp(text, "no") == 0 ||
           strcasecmp(text, "false") == 0;
}

static struct typed take_number(yyjson_mut_doc *doc, const struct property *property,
                                const struct buf *line) {
    CLEANUP(yyjson_doc_freep) yyjson_doc *read = yyjson_read(line->data, line->length, 0);
    yyjson_val *number = yyjson_doc_get_root(read);
    yyjson_val *minimum = yyjson_obj_get(property->schema, "minimum");
    yyjson_val *maximum = yyjson_obj_get(property->schema, "maximum");
    if (!yyjson_is_num(number)) {
        return (struct typed){.wrong = "must be a number"};
    }
    if (has_type(property, "integer") && !yyjson_is_int(number)) {
        return (struct typed){.wrong = "must be an integer"};
    }
    if (yyjson_is_num(minimum) && yyjson_get_num(number) < yyjson_get_num(minimum)) {
        return (struct typed){.wrong = "is too small"};
    }
    if (yyjson_is_num(maximum) && yyjson_get_num(number) > yyjson_get_num(maximum)) {
        return (struct typed){.wrong = "is too large"};
    }
    return (struct typed){.value = yyjson_val_mut_copy(doc, number)};
}

static struct typed take_string(yyjson_mut_doc *doc, const struct property *property,
                                const struct buf *line) {
    size_t count = utf8_count(line->data, line->length);
    yyjson_val *longest = yyjson_obj_get(property->schema, "maxLength");
    if (count < yyjson_get_uint(yyjson_obj_get(property->schema, "minLength"))) {
        return (struct typed){.wrong = "is too short"};
    }
    if (yyjson_is_uint(longest) && count > yyjson_get_uint(longest)) {
        return (struct typed){.wrong = "is too long"};
    }
    return (struct typed){.value = yyjson_mut_strncpy(doc, line->data, line->length)};
}

static struct typed take_choice(yyjson_mut_doc *doc, const struct property *property,
                                const char *text, size_t length) {
    yyjson_val *choice = choice_of(property, text, length);
    if (choice == NULL) {
        return (struct typed){.wrong = "must be one of the choices"};
    }
    return (struct typed){.value = yyjson_val_mut_copy(doc, choice)};
}

/* Read choices separated by commas. */
static struct typed take_choices(yyjson_mut_doc *doc, const struct property *property,
                                 const struct buf *line) {
    struct typed all = {.value = yyjson_mut_arr(doc)};
    for (const char *at = line->data; *at != '\0';) {
        size_t length = strcspn(at, ",");
        size_t begin = strspn(at, " \t");
        size_t end = length;
        while (end > begin && strchr(" \t", at[end - 1]) != NULL) {
            end--;
        }
        struct typed one = begin < end ? take_choice(doc, property, at + begin, end - begin)
                                       : (struct typed){.wrong = "has one comma too many"};
        if (one.wrong != NULL) {
            return one;
        }
        (void)yyjson_mut_arr_append(all.value, one.value);
        at += length + (at[length] == ',');
    }
    return all;
}

static struct typed take(yyjson_mut_doc *doc, const struct property *property,
                         const struct buf *line) {
    if (line->length == 0) {
        yyjson_val *fallback = yyjson_obj_get(property->schema, "default");
        if (fallback != NULL) {
            return (struct typed){.value = yyjson_val_mut_copy(doc, fallback)};
        }
        return (struct typed){.wrong = property->required ? "is required" : NULL};
    }
    if (!utf8_valid(line->data, line->length) || strlen(line->data) != line->length) {
        return (struct typed){.wrong = "must be a string"};
    }
    if (property->choices != NULL) {
        return property->several ? take_choices(doc, property, line)
                                 : take_choice(doc, property, line->data, line->length);
    }
    if (has_type(property, "boolean")) {
        if (!is_yes(line->data) && !is_no(line->data)) {
            return (struct typed){.wrong = "must be yes or no"};
        }
        return (struct typed){.value = yyjson_mut_bool(doc, is_yes(line->data))};
    }
    return has_type(property, "string") ? take_string(doc, property, line)
                                        : take_number(doc, property, line);
}

/* --------------------------------------------------------------------- the whole */

/* Ask until the line is valid. False: dismissed. */
static bool ask_property(const struct ask *ask, const struct property *property,
                         yyjson_mut_doc *doc, yyjson_mut_val *answer) {
    CLEANUP(buf_finish) struct buf line = BUF_INIT;
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    add_prompt(&text, property);
    for (unsigned i = 0; i < ASK_TRIES_MAX; i++) {
        if (!prompt(ask, &text, &line)) {
            return false;
        }
        struct typed typed = take(doc, property, &line);
        if (typed.wrong == NULL) {
            yyjson_mut_val *name = yyjson_val_mut_copy(doc, property->name);
            return typed.value == NULL || yyjson_mut_obj_add(answer, name, typed.value);
        }
        buf_clear(&text);
        buf_printf(&text, "  it %s\n", typed.wrong);
        add_prompt(&text, property);
    }
    return false;
}

/* Ask whether to send the answer. An empty line means yes if something was filled in; if only
 * consent is asked for, it means no. */
static int ask_consent(const struct ask *ask, bool filled) {
    CLEANUP(buf_finish) struct buf line = BUF_INIT;
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    buf_add_text(&text, filled ? "Send this answer? [Y/n] " : "Do you agree? [y/N] ");
    if (!prompt(ask, &text, &line)) {
        return TOOLRACK_ANSWER_DISMISSED;
    }
    bool yes = line.length == 0 ? filled : is_yes(line.data);
    return yes ? TOOLRACK_ANSWER_ACCEPTED : TOOLRACK_ANSWER_DECLINED;
}

/* Whether each required property can be asked for. */
static bool is_flat(yyjson_val *root) {
    size_t i, max;
    yyjson_val *name, *schema;
    yyjson_obj_foreach (yyjson_obj_get(root, "properties"), i, max, name, schema) {
        struct property property = property_of(root, name, schema);
        if (property.required && !can_be_asked(&property)) {
            return false;
        }
    }
    return yyjson_is_obj(root);
}

static int ask_properties(const struct ask *ask, yyjson_val *root, yyjson_mut_doc *doc) {
    yyjson_mut_val *answer = yyjson_mut_obj(doc);
    yyjson_mut_doc_set_root(doc, answer);
    bool filled = false;
    size_t i, max;
    yyjson_val *name, *schema;
    yyjson_obj_foreach (yyjson_obj_get(root, "properties"), i, max, name, schema) {
        struct property property = property_of(root, name, schema);
        if (!can_be_asked(&property)) {
            continue;
        }
        if (!ask_property(ask, &property, doc, answer)) {
            return TOOLRACK_ANSWER_DISMISSED;
        }
        filled = true;
    }
    return ask_consent(ask, filled);
}

static void show_question(const struct ask *ask, const char *tool, const char *message) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    text_add_line(&text, tool, strlen(tool));
    buf_add_text(&text, " asks: ");
    text_add_escaped(&text, message, strlen(message));
    buf_add_char(&text, '\n');
    show(ask, &text);
}

int ask_person(const struct ask *ask, const char *tool, const char *message, const char *schema,
               char **ret_content) {
    CLEANUP(yyjson_doc_freep) yyjson_doc *read = yyjson_read(schema, strlen(schema), 0);
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_val *root = yyjson_doc_get_root(read);
    if (doc == NULL || !is_flat(root)) {
        return TOOLRACK_ANSWER_NOBODY;
    }
    show_question(ask, tool, message);
    int answer = ask_properties(ask, root, doc);
    char *content = answer == TOOLRACK_ANSWER_ACCEPTED ? yyjson_mut_write(doc, 0, NULL) : NULL;
    if (answer == TOOLRACK_ANSWER_DISMISSED) {
        show(ask, &(struct buf){.data = (char[]){"\n"}, .length = 1});
    }
    if (answer == TOOLRACK_ANSWER_ACCEPTED && content == NULL) {
        return TOOLRACK_ANSWER_DISMISSED; /* out of memory: what was filled in is lost */
    }
    *ret_content = content;
    return answer;
}

/* ------------------------------------------------------------------- approval */

static void add_request(struct buf *text, const struct toolrack_approval_request *request) {
    size_t length = strlen(request->arguments);
    size_t shown = length <= ASK_ARGUMENTS_SHOWN_MAX
                           ? length
                           : utf8_cut(request->arguments, ASK_ARGUMENTS_SHOWN_MAX);
    text_add_line(text, request->tool, strlen(request->tool));
    buf_add_char(text, ' ');
    text_add_line(text, request->version, strlen(request->version));
    buf_add_text(text, ", of plugin ");
    text_add_line(text, request->plugin, strlen(request->plugin));
    buf_add_text(text, ": ");
    text_add_line(text, request->reason, strlen(request->reason));
    buf_add_text(text, "\n  ");
    /* Unchanged, since white space in a string matters. */
    text_add_escaped(text, request->arguments, shown);
    if (shown < length) {
        buf_printf(text, "\n  and %zu bytes more that are not shown", length - shown);
    }
    buf_add_char(text, '\n');
}

/* TOOLRACK_APPROVAL_ASK_LATER when the line is not an answer. */
static int take_approval(const struct buf *line) {
    if (is_yes(line->data)) {
        return TOOLRACK_APPROVAL_ALLOW_ONCE;
    }
    if (strcasecmp(line->data, "a") == 0 || strcasecmp(line->data, "always") == 0) {
        return TOOLRACK_APPROVAL_ALLOW_ALWAYS;
    }
    return line->length == 0 || is_no(line->data) ? TOOLRACK_APPROVAL_DENY
                                                  : TOOLRACK_APPROVAL_ASK_LATER;
}

int ask_approval(const struct ask *ask, const struct toolrack_approval_request *request) {
    static const char question[] = "Let it run? [y]es, [a]lways, [N]o: ";
    CLEANUP(buf_finish) struct buf line = BUF_INIT;
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    add_request(&text, request);
    buf_add_text(&text, question);
    for (unsigned i = 0; i < ASK_TRIES_MAX && !text.failed; i++) {
        if (!prompt(ask, &text, &line)) {
            show(ask, &(struct buf){.data = (char[]){"\n"}, .length = 1});
            return TOOLRACK_APPROVAL_DENY;
        }
        int answer = take_approval(&line);
        if (answer != TOOLRACK_APPROVAL_ASK_LATER) {
            return answer;
        }
        buf_clear(&text);
        buf_add_text(&text, question);
    }
    return TOOLRACK_APPROVAL_DENY;
}
