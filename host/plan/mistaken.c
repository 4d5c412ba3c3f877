#include "plan/mistaken.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/name.h"
#include "plan/reference.h"

/* Most parts of a path; of a longer one nothing is said. */
#define PARTS_MAX  32u
/* Longest that is looked at within a string, and how often one is begun there. */
#define INSIDE_MAX (2u * JSON_POINTER_MAX)
#define TRIES_MAX  64u

struct part {
    const char *text;
    size_t length;
};

static bool is_one_of(const struct part *part, const char *const words[], size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (strlen(words[i]) == part->length && memcmp(words[i], part->text, part->length) == 0) {
            return true;
        }
    }
    return false;
}

/* What other programs call these. */
static bool is_nodes(const struct part *part) {
    static const char *const words[] = {"nodes", "node",  "steps", "step",   "tasks",
                                        "task",  "calls", "jobs",  "results"};
    return is_one_of(part, words, ARRAY_LENGTH(words));
}

static bool is_inputs(const struct part *part) {
    static const char *const words[] = {"inputs", "input", "params",    "parameters",
                                        "args",   "vars",  "variables", "env"};
    return is_one_of(part, words, ARRAY_LENGTH(words));
}

static bool is_around_result(const struct part *part) {
    static const char *const words[] = {"outputs", "output", "results", "response", "return"};
    return is_one_of(part, words, ARRAY_LENGTH(words));
}

static bool is_result(const struct part *part) {
    static const char *const words[] = {"result"};
    return is_one_of(part, words, ARRAY_LENGTH(words));
}

static bool is_item(const struct part *part) {
    static const char *const words[] = {"item"};
    return is_one_of(part, words, ARRAY_LENGTH(words));
}

/* The parts of a path; 0: it is none. */
static size_t split(const char *text, size_t length, struct part parts[static PARTS_MAX]) {
    static const char between[] = ".#/[]'\"{}$<>@";
    size_t count = 0;
    bool inside = false;
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '\0' || strchr(" \t\r\n", text[i]) != NULL) {
            return 0;
        }
        bool is_between = strchr(between, text[i]) != NULL;
        if (!is_between && !inside) {
            if (count == PARTS_MAX) {
                return 0;
            }
            parts[count++] = (struct part){.text = text + i};
        }
        inside = !is_between;
        if (inside) {
            parts[count - 1].length++;
        }
    }
    return count;
}

static void add_part(char *pointer, const struct part *part) {
    char text[JSON_POINTER_MAX];
    size_t length = part->length < sizeof text ? part->length : sizeof text - 1;
    memcpy(text, part->text, length);
    text[length] = '\0';
    json_pointer_add(pointer, text);
}

bool mistaken_path(const struct plan *plan, const char *text, size_t length, size_t least,
                   bool has_item, char ret[JSON_POINTER_MAX]) {
    struct part parts[PARTS_MAX];
    const size_t count = split(text, length, parts);
    if (count == 0) {
        return false;
    }
    size_t at = is_nodes(&parts[0]) || is_inputs(&parts[0]) ? 1 : 0;
    const struct part *named = at < count ? &parts[at] : NULL;
    bool is_node = named != NULL && !is_inputs(&parts[0]) && (at > 0 || count >= least) &&
                   plan_find_node(plan, named->text, named->length) < plan->graph.count;
    bool is_input = named != NULL && !is_node && !is_nodes(&parts[0]) &&
                    plan_find_input(plan, named->text, named->length) != NULL;
    if (!is_node && !is_input && !(has_item && is_item(&parts[0]))) {
        return false;
    }
    (void)memcpy(ret, "#", sizeof "#");
    json_pointer_add(ret, is_node ? "nodes" : is_input ? "inputs" : "item");
    if (is_node || is_input) {
        add_part(ret, named);
    } else {
        at = 0;
    }
    at++;
    if (is_node) {
        json_pointer_add(ret, "result");
        while (at < count && is_around_result(&parts[at])) {
            at++;
        }
        at += at < count && is_result(&parts[at]);
    }
    for (; at < count; at++) {
        add_part(ret, &parts[at]);
    }
    return true;
}

static bool is_id(const struct part *part) {
    static const char first[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
    static const char all[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789-";
    if (part->length > NAME_LENGTH_MAX || strchr(first, part->text[0]) == NULL) {
        return false;
    }
    for (size_t i = 0; i < part->length; i++) {
        if (strchr(all, part->text[i]) == NULL) {
            return false;
        }
    }
    return true;
}

static bool is_about_result(const struct part *part) {
    return is_result(part) || is_around_result(part);
}

/* A path that says that it means the result of a node, or an input, and the plan has none of that
 * name: "nodes.b", "steps.b.outputs.x", "inputs.x".
 * @param is_marked  "b.result" is one too: the text has brackets, or is a "$ref" */
static bool unknown_path(const struct plan *plan, const char *text, size_t length, bool is_marked,
                         struct mistaken *ret) {
    static const char *const own[] = {"nodes", "inputs"};
    struct part parts[PARTS_MAX];
    const size_t count = split(text, length, parts);
    if (count < 2) {
        return false;
    }
    bool is_own = is_one_of(&parts[0], own, ARRAY_LENGTH(own));
    bool is_bare = !is_nodes(&parts[0]) && !is_inputs(&parts[0]);
    const struct part *named = &parts[is_bare ? 0 : 1];
    bool says_result = is_bare ? is_about_result(&parts[1])
                               : is_nodes(&parts[0]) && count > 2 && is_about_result(&parts[2]);
    if (!is_id(named) || (!is_own && !says_result) ||
        (is_bare && (!is_marked || is_item(named) || memchr(text, '/', length) != NULL))) {
        return false;
    }
    ret->is_input = is_inputs(&parts[0]);
    ret->unknown = named->text;
    ret->unknown_length = named->length;
    return ret->is_input ? plan_find_input(plan, named->text, named->length) == NULL
                         : plan_find_node(plan, named->text, named->length) == plan->graph.count;
}

/* What a path is meant to be: a reference, or one to what the plan has not. */
static bool take_path(const struct plan *plan, const char *text, size_t length, size_t least,
                      bool has_item, bool is_marked, struct mistaken *ret) {
    ret->unknown = NULL;
    return mistaken_path(plan, text, length, least, has_item, ret->meant) ||
           unknown_path(plan, text, length, is_marked, ret);
}

/* --------------------------------------------------------------------------------------- texts */

/* What stands in the brackets at the begin of a text, and the length of all; 0: there are none. Of
 * brackets that are not closed it is the path behind them. */
static size_t take_brackets(const char *text, size_t length, struct part *ret, bool *ret_closed) {
    size_t from = 0;
    from += from < length && text[from] == '$';
    size_t open = 0;
    while (open < 2 && from + open < length && text[from + open] == '{') {
        open++;
    }
    if (open == 0 || (open == 1 && from == 0)) {
        return 0; /* one bracket alone is JSON, or Python's */
    }
    from += open;
    while (from < length && text[from] == ' ') {
        from++;
    }
    *ret = (struct part){.text = text + from};
    while (from < length && text[from] != '}' && text[from] != ' ' && text[from] != '|') {
        ret->length++;
        from++;
    }
    const size_t path = from;
    while (from < length && text[from] != '}') { /* such as a filter */
        from++;
    }
    *ret_closed = true;
    for (; open > 0; open--, from++) {
        if (from == length || text[from] != '}') {
            *ret_closed = false;
            return path;
        }
    }
    return from;
}

/* A string that is nothing else: without brackets it begins as a path does. */
static bool is_whole(const struct plan *plan, const char *text, size_t length, bool has_item,
                     struct mistaken *ret) {
    bool is_certain = length > 2 && (memcmp(text, "#/", 2) == 0 || memcmp(text, "$.", 2) == 0);
    bool is_marked = length > 1 && text[0] != '\0' && strchr("$#@<", text[0]) != NULL;
    bool has_result = memmem(text, length, ".result", strlen(".result")) != NULL ||
                      memmem(text, length, ".output", strlen(".output")) != NULL;
    if ((!is_marked && !has_result) || memchr(text, '{', length) != NULL ||
        !take_path(plan, text, length, is_marked && !is_certain ? 1 : 2, has_item, false, ret)) {
        return false;
    }
    ret->kind = is_certain ? MISTAKEN_WHOLE : MISTAKEN_LIKELY;
    ret->text = text;
    ret->length = length;
    return true;
}

/* "$a.result" or "#a.text" at the begin of a text, as some write without brackets; its length, or
 * 0. */
static size_t take_marked(const char *text, size_t length, struct part *ret) {
    static const char path_bytes[] =
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.[]/";
    size_t taken = 1;
    while (taken < length && text[taken] != '\0' && strchr(path_bytes, text[taken]) != NULL) {
        taken++;
    }
    while (taken > 1 && (text[taken - 1] == '.' || text[taken - 1] == '/')) {
        taken--; /* it ends the sentence */
    }
    *ret = (struct part){text + 1, taken - 1};
    return taken;
}

static bool find_in_string(const struct plan *plan, const char *text, size_t length, bool has_item,
                           struct mistaken *ret) {
    size_t tries = 0;
    for (size_t i = 0; i + 2 < length && tries < TRIES_MAX; i++) {
        const size_t left = length - i < INSIDE_MAX ? length - i : INSIDE_MAX;
        bool is_open = (text[i] == '$' || text[i] == '{') && text[i + 1] == '{';
        struct part inside;
        bool is_closed = true;
        size_t taken = is_open ? take_brackets(text + i, left, &inside, &is_closed) : 0;
        if (!is_open && (text[i] == '$' || text[i] == '#')) {
            taken = take_marked(text + i, left, &inside);
            taken = taken < length ? taken : 0; /* see is_whole() */
        }
        tries += is_open || taken > 1;
        if (taken > 0 && !(is_closed && reference_begins(text + i, taken)) &&
            take_path(plan, inside.text, inside.length, 2, has_item, is_open, ret)) {
            ret->kind = taken == length ? MISTAKEN_WHOLE : MISTAKEN_INSIDE;
            ret->text = text + i;
            ret->length = taken;
            return true;
        }
    }
    return is_whole(plan, text, length, has_item, ret);
}

void mistaken_each(const struct plan *plan, yyjson_val *template, bool has_item, char *pointer,
                   mistaken_visit *visit, void *user) {
    struct mistaken mistaken;
    size_t length = strlen(pointer);
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    yyjson_val *target = yyjson_obj_get(template, "$ref");
    if (yyjson_is_str(template) && find_in_string(plan, yyjson_get_str(template),
                                                  yyjson_get_len(template), has_item, &mistaken)) {
        visit(user, &mistaken, pointer);
    }
    if (reference_is(template) || reference_literal(template) != NULL) {
        return;
    }
    if (yyjson_is_str(target) && take_path(plan, yyjson_get_str(target), yyjson_get_len(target), 1,
                                           has_item, true, &mistaken)) {
        mistaken.kind = yyjson_obj_size(template) == 1 ? MISTAKEN_OBJECT : MISTAKEN_MORE;
        mistaken.text = yyjson_get_str(target);
        mistaken.length = yyjson_get_len(target);
        visit(user, &mistaken, pointer);
        return;
    }
    json_obj_foreach (template, at, count, key, value) {
        json_pointer_add(pointer, yyjson_get_str(key));
        mistaken_each(plan, value, has_item, pointer, visit, user);
        pointer[length] = '\0';
    }
    yyjson_arr_foreach (template, at, count, value) {
        json_pointer_add_index(pointer, at);
        mistaken_each(plan, value, has_item, pointer, visit, user);
        pointer[length] = '\0';
    }
}
