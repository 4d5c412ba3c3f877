/* The list of what is accepted: its items, and how it is read.
 *
 *     {"allow": [{"rule": "elf-exports", "reason": "...", "file": "math.so", "tool": "add"}]} */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/check.h"

#define LIST_ITEMS_MAX 4096u
/* Most characters of a name that are shown. */
#define SHOWN_MAX      64u

bool check_rule(const char *id, struct toolrack_rule *ret) {
    for (size_t i = 0; i < toolrack_rule_count(); i++) {
        *ret = (struct toolrack_rule){.size = sizeof *ret};
        if (toolrack_rule_get(i, ret) == 0 && strcmp(ret->id, id) == 0) {
            return true;
        }
    }
    return false;
}

/* ---------------------------------------------------------------------- items */

struct check_allowance *check_list_add(struct check_allowances *list) {
    if (list->count == list->room) {
        size_t room = list->room == 0 ? 8 : list->room * 2;
        struct check_allowance *items = realloc(list->items, room * sizeof *items);
        if (items == NULL) {
            return NULL;
        }
        list->items = items;
        list->room = room;
    }
    list->items[list->count] = (struct check_allowance){0};
    return &list->items[list->count++];
}

const char *check_list_keep(struct check_allowances *list, const char *text, size_t length) {
    char **memory = realloc(list->memory, (list->memory_count + 1) * sizeof *memory);
    if (memory == NULL) {
        return NULL;
    }
    list->memory = memory;
    char *copy = strndup(text, length);
    if (copy != NULL) {
        memory[list->memory_count++] = copy;
    }
    return copy;
}

void check_list_finish(struct check_allowances *list) {
    for (size_t i = 0; i < list->memory_count; i++) {
        free(list->memory[i]);
    }
    for (size_t i = 0; i < list->folder_count; i++) {
        free(list->folders[i]);
    }
    free(list->memory);
    free(list->folders);
    free(list->items);
}

bool check_list_is_blank(const char *text) {
    return text[strspn(text, " \t\r\n")] == '\0';
}

/* ---------------------------------------------------------------------- lists */

static void wrong(struct buf *out, size_t at, const char *what, const char *text, const char *fix) {
    buf_printf(out, "item %zu of \"allow\" %s", at + 1, what);
    if (text != NULL) {
        buf_add_char(out, ' ');
        text_add_in_quotes(out, text, SHOWN_MAX);
    }
    buf_printf(out, "\t%s\n", fix);
}

/* The member that is none of an item's; NULL: all are. */
static const char *find_unknown(yyjson_val *value) {
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *member;
    json_obj_foreach (value, at, count, key, member) {
        const char *name = yyjson_get_str(key);
        if (strcmp(name, "rule") != 0 && strcmp(name, "reason") != 0 && strcmp(name, "file") != 0 &&
            strcmp(name, "tool") != 0) {
            return name;
        }
    }
    return NULL;
}

static bool take_text(struct check_allowances *list, yyjson_val *value, const char *key,
                      const char **ret) {
    const char *text = yyjson_get_str(yyjson_obj_get(value, key));
    *ret = text != NULL ? check_list_keep(list, text, strlen(text)) : NULL;
    return text == NULL || *ret != NULL;
}

static void read_item(struct check_allowances *list, const char *path, yyjson_val *value, size_t at,
                      struct buf *out) {
    const char *rule = yyjson_get_str(yyjson_obj_get(value, "rule"));
    const char *reason = yyjson_get_str(yyjson_obj_get(value, "reason"));
    const char *unknown = find_unknown(value);
    struct toolrack_rule known;
    if (rule == NULL) {
        wrong(out, at, "has no rule", NULL, "give it the \"rule\" that is accepted");
    } else if (!check_rule(rule, &known)) {
        wrong(out, at, "names no rule:", rule, "see toolrack help check, --explain");
    } else if (known.severity == TOOLRACK_SEVERITY_ERROR) {
        wrong(out, at, "is about an error:", rule, "correct it: hosts refuse what it is about");
    } else if (reason == NULL || check_list_is_blank(reason)) {
        wrong(out, at, "has no reason for", rule, "say in \"reason\" why it is accepted");
    } else if (unknown != NULL) {
        wrong(out, at, "has the unknown member", unknown, "use rule, reason, file and tool");
    } else {
        struct check_allowance *item = check_list_add(list);
        if (item == NULL || !take_text(list, value, "rule", &item->rule) ||
            !take_text(list, value, "reason", &item->reason) ||
            !take_text(list, value, "file", &item->file) ||
            !take_text(list, value, "tool", &item->tool)) {
            out->failed = true;
            return;
        }
        item->list = path;
    }
}

void check_list_read(struct check_allowances *list, const char *path, const char *text,
                     size_t length, struct buf *ret_wrong) {
    yyjson_read_err err;
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *doc = yyjson_read_opts(
            (char *)(uintptr_t)text, length,
            YYJSON_READ_ALLOW_COMMENTS | YYJSON_READ_ALLOW_TRAILING_COMMAS, NULL, &err);
    yyjson_val *root = yyjson_doc_get_root(doc);
    yyjson_val *items = yyjson_obj_get(root, "allow");
    size_t at;
    size_t count;
    yyjson_val *value;
    if (doc == NULL) {
        buf_printf(ret_wrong, "it is not JSON: %s at byte %zu\tcorrect it\n", err.msg, err.pos);
    } else if (!yyjson_is_arr(items) || yyjson_obj_size(root) != 1 ||
               yyjson_arr_size(items) > LIST_ITEMS_MAX) {
        buf_printf(ret_wrong,
                   "it is not an object with the one member \"allow\", an array of at most %u "
                   "items\twrite {\"allow\": [{\"rule\": \"...\", \"reason\": \"...\"}]}\n",
                   LIST_ITEMS_MAX);
    } else {
        yyjson_arr_foreach (items, at, count, value) {
            read_item(list, path, value, at, ret_wrong);
        }
    }
}
