#include "cli/ask.h"

#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json-write.h"
#include "base/json.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cli/width.h"

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)
CLEANUP_DEFINE(yyjson_mut_doc, yyjson_mut_doc_free)

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

/* The name, the title, the description and the choices are the plugin's words. */
static void add_prompt(const struct ask *ask, struct buf *text, const struct buf *prefix,
                       const struct property *property) {
    CLEANUP(buf_finish) struct buf line = BUF_INIT;
    yyjson_val *title = yyjson_obj_get(property->schema, "title");
    yyjson_val *description = yyjson_obj_get(property->schema, "description");
    add_value(&line, yyjson_is_str(title) ? title : property->name);
    if (yyjson_is_str(description)) {
        buf_add_text(&line, ", ");
        add_value(&line, description);
    }
    add_hint(&line, property);
    text->failed = text->failed || line.failed || prefix->failed;
    if (!text->failed) {
        width_wrap(text, prefix->data, prefix->data, line.data, line.length, ask_columns(ask),
                   false);
    }
    if (!text->failed) {
        buf_truncate(text, text->length - 1); /* the answer stands behind it */
    }
}

/* --------------------------------------------------------------------- values */

/* A typed value, or what is wrong with it. */
struct typed {
    yyjson_mut_val *value; /* NULL without `wrong`: nothing was typed and nothing is required */
    const char *wrong;
};

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
        if (!ask_is_yes(line->data) && !ask_is_no(line->data)) {
            return (struct typed){.wrong = "must be yes or no"};
        }
        return (struct typed){.value = yyjson_mut_bool(doc, ask_is_yes(line->data))};
    }
    return has_type(property, "string") ? take_string(doc, property, line)
                                        : take_number(doc, property, line);
}

/* --------------------------------------------------------------------- the whole */

/* Ask until the line is valid. False: dismissed. */
static bool ask_property(const struct ask *ask, const struct buf *prefix,
                         const struct property *property, yyjson_mut_doc *doc,
                         yyjson_mut_val *answer) {
    CLEANUP(buf_finish) struct buf line = BUF_INIT;
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    add_prompt(ask, &text, prefix, property);
    for (unsigned i = 0; i < ASK_TRIES_MAX; i++) {
        if (!ask_line(ask, &text, &line)) {
            return false;
        }
        struct typed typed = take(doc, property, &line);
        if (typed.wrong == NULL) {
            yyjson_mut_val *name = yyjson_val_mut_copy(doc, property->name);
            return typed.value == NULL || yyjson_mut_obj_add(answer, name, typed.value);
        }
        buf_clear(&text);
        buf_printf(&text, "  it %s\n", typed.wrong);
        add_prompt(ask, &text, prefix, property);
    }
    return false;
}

/* Ask whether to send the answer. An empty line means yes if something was filled in; if only
 * consent is asked for, it means no. */
static int ask_consent(const struct ask *ask, bool filled) {
    CLEANUP(buf_finish) struct buf line = BUF_INIT;
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    buf_add_text(&text, filled ? "Send this answer? [Y/n] " : "Do you agree? [y/N] ");
    if (!ask_line(ask, &text, &line)) {
        return TOOLRACK_ANSWER_DISMISSED;
    }
    bool yes = line.length == 0 ? filled : ask_is_yes(line.data);
    return yes ? TOOLRACK_ANSWER_ACCEPTED : TOOLRACK_ANSWER_DECLINED;
}

/* Whether each required property can be asked for. */
static bool is_flat(yyjson_val *root) {
    size_t i, max;
    yyjson_val *name, *schema;
    json_obj_foreach (yyjson_obj_get(root, "properties"), i, max, name, schema) {
        struct property property = property_of(root, name, schema);
        if (property.required && !can_be_asked(&property)) {
            return false;
        }
    }
    return yyjson_is_obj(root);
}

static int ask_properties(const struct ask *ask, const struct buf *prefix, yyjson_val *root,
                          yyjson_mut_doc *doc) {
    yyjson_mut_val *answer = yyjson_mut_obj(doc);
    yyjson_mut_doc_set_root(doc, answer);
    bool filled = false;
    size_t i, max;
    yyjson_val *name, *schema;
    json_obj_foreach (yyjson_obj_get(root, "properties"), i, max, name, schema) {
        struct property property = property_of(root, name, schema);
        if (!can_be_asked(&property)) {
            continue;
        }
        if (!ask_property(ask, prefix, &property, doc, answer)) {
            return TOOLRACK_ANSWER_DISMISSED;
        }
        filled = true;
    }
    return ask_consent(ask, filled);
}

static void show_question(const struct ask *ask, const struct buf *prefix, const char *message) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    text.failed = prefix->failed;
    if (!text.failed) {
        ask_add_text(ask, &text, prefix->data, message, strlen(message), false);
    }
    ask_show(ask, &text);
}

int ask_person(const struct ask *ask, const char *tool, const char *message, const char *schema,
               char **ret_content) {
    CLEANUP(yyjson_doc_freep) yyjson_doc *read = yyjson_read(schema, strlen(schema), 0);
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_val *root = yyjson_doc_get_root(read);
    if (doc == NULL || !is_flat(root)) {
        return TOOLRACK_ANSWER_NOBODY;
    }
    CLEANUP(buf_finish) struct buf prefix = BUF_INIT;
    text_add_line(&prefix, tool, strlen(tool));
    buf_add_text(&prefix, " asks: ");
    if (ask_is_stopped(ask)) {
        return TOOLRACK_ANSWER_DISMISSED;
    }
    ask_forget_typed(ask);
    show_question(ask, &prefix, message);
    int answer = ask_properties(ask, &prefix, root, doc);
    char *content = answer == TOOLRACK_ANSWER_ACCEPTED ? json_write(doc, 0, NULL, NULL) : NULL;
    if (answer == TOOLRACK_ANSWER_DISMISSED) {
        ask_show(ask, &(struct buf){.data = (char[]){"\n"}, .length = 1});
    }
    if (answer == TOOLRACK_ANSWER_ACCEPTED && content == NULL) {
        return TOOLRACK_ANSWER_DISMISSED; /* out of memory: what was filled in is lost */
    }
    *ret_content = content;
    return answer;
}
