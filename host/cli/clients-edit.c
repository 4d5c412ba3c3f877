/* clients-edit.c - an entry in a file that a person may have written, with comments: the text is
 * changed only where the entry is. */
#include <stdlib.h>
#include <string.h>

#include "base/command.h"
#include "base/json-equal.h"
#include "base/json-place.h"
#include "base/json-write.h"
#include "base/json.h"
#include "cli/clients.h"
#include "cli/json.h"

#define READ_FLAGS (YYJSON_READ_ALLOW_COMMENTS | YYJSON_READ_ALLOW_TRAILING_COMMAS)

static yyjson_doc *read_json(const char *text, size_t length, yyjson_read_err *ret_why) {
    /* The library reads a constant text only: without YYJSON_READ_INSITU it is not changed. */
    return yyjson_read_opts((char *)(uintptr_t)text, length, READ_FLAGS, NULL, ret_why);
}

/* The JSON of a value, indented as deep as an object of `level` levels above it wants. */
static char *write_at(const yyjson_mut_doc *doc, unsigned level, struct buf *room) {
    char *text = json_write(doc, YYJSON_WRITE_PRETTY_TWO_SPACES, NULL, NULL);
    for (const char *at = text; at != NULL && *at != '\0'; at++) {
        buf_add_char(room, *at);
        for (unsigned i = 0; *at == '\n' && i < level; i++) {
            buf_add_text(room, "  ");
        }
    }
    free(text);
    return text != NULL ? room->data : NULL;
}

/* Insert a member at the beginning of the object whose brace is at `brace`. */
static void insert(const char *old, size_t length, size_t brace, bool is_empty, const char *key,
                   const char *value, unsigned level, struct buf *ret) {
    buf_add(ret, old, brace + 1);
    buf_add_char(ret, '\n');
    for (unsigned i = 0; i < level; i++) {
        buf_add_text(ret, "  ");
    }
    buf_add_json_string(ret, key, strlen(key));
    buf_printf(ret, ": %s%s", value, is_empty ? "\n" : ",");
    for (unsigned i = 1; is_empty && i < level; i++) {
        buf_add_text(ret, "  ");
    }
    buf_add(ret, old + brace + 1, length - brace - 1);
}

/* How long the text of the value is that begins there. */
static size_t length_at(const char *text, size_t length) {
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *doc = yyjson_read_opts((char *)(uintptr_t)text, length,
                                       READ_FLAGS | YYJSON_READ_STOP_WHEN_DONE, NULL, NULL);
    return yyjson_doc_get_read_size(doc);
}

static bool is_equal(yyjson_val *a, yyjson_val *b) {
    struct budget budget = {.steps = INT64_C(100) * 1000 * 1000};
    return a != NULL && b != NULL && json_equal(a, b, &budget);
}

/* Whether the new text says what the old one said, and has the entry: what is changed in a file of
 * somebody else is proven. */
static bool is_right(yyjson_doc *old, const char *servers, yyjson_mut_val *entry,
                     const struct buf *text) {
    CLEANUP(yyjson_doc_freep) yyjson_doc *read = read_json(text->data, text->length, NULL);
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *wanted = yyjson_doc_mut_copy(old, NULL);
    yyjson_mut_val *root = yyjson_mut_doc_get_root(wanted);
    yyjson_mut_val *object = yyjson_mut_obj_get(root, servers);
    if (object == NULL) {
        object = yyjson_mut_obj_add_obj(wanted, root, servers);
    }
    (void)yyjson_mut_obj_put(object, yyjson_mut_str(wanted, CLIENTS_ENTRY),
                             yyjson_mut_val_mut_copy(wanted, entry));
    CLEANUP(yyjson_doc_freep) yyjson_doc *fixed = yyjson_mut_doc_imut_copy(wanted, NULL);
    return is_equal(yyjson_doc_get_root(fixed), yyjson_doc_get_root(read));
}

static int refuse(const struct client *client, const char *what, struct toolrack_error *err) {
    return error_set(err, TOOLRACK_E_INVALID, "%s; correct it, or add the entry by hand: %s", what,
                     COMMAND("mcp --print-config", client->name));
}

/* A member that is there twice: of the two, programs read different ones. */
static const char *find_twice(yyjson_val *root, const char *servers) {
    const char *const keys[] = {servers, CLIENTS_ENTRY};
    yyjson_val *object = root;
    for (size_t i = 0; i < ARRAY_LENGTH(keys) && object != NULL; i++) {
        unsigned count = 0;
        size_t at;
        size_t size;
        yyjson_val *key;
        yyjson_val *value;
        json_obj_foreach (object, at, size, key, value) {
            count += yyjson_equals_str(key, keys[i]);
        }
        if (count > 1) {
            return keys[i];
        }
        object = yyjson_obj_get(object, keys[i]);
    }
    return NULL;
}

static int refuse_text(const struct client *client, const char *text, size_t length,
                       const yyjson_read_err *why, struct toolrack_error *err) {
    char what[256];
    size_t line = 0;
    size_t column = 0;
    json_place_line(text, length, why->pos, &line, &column);
    (void)snprintf(what, sizeof what, "it is not JSON: %s at line %zu, column %zu", why->msg, line,
                   column);
    return refuse(client, what, err);
}

/* The edit itself, of a text whose root is an object. */
static int edit(const struct client *client, yyjson_doc *doc, yyjson_mut_doc *entry,
                const char *old, size_t length, struct buf *ret, struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf value = BUF_INIT;
    char pointer[JSON_POINTER_MAX] = "";
    yyjson_val *root = yyjson_doc_get_root(doc);
    yyjson_val *servers = yyjson_obj_get(root, client->servers);
    size_t at = 0;
    if (servers != NULL) {
        json_pointer_add(pointer, client->servers);
    }
    if (yyjson_obj_get(servers, CLIENTS_ENTRY) != NULL) {
        json_pointer_add(pointer, CLIENTS_ENTRY);
    }
    if (!json_place_find(old, length, pointer, JSON_PLACE_VALUE, &at)) {
        return refuse(client, "the place for the entry was not found in it", err);
    }
    if (yyjson_obj_get(servers, CLIENTS_ENTRY) != NULL) {
        buf_add(ret, old, at);
        buf_add_text(ret, write_at(entry, 2, &value));
        at += length_at(old + at, length - at);
        buf_add(ret, old + at, length - at);
    } else if (servers != NULL) {
        insert(old, length, at, yyjson_obj_size(servers) == 0, CLIENTS_ENTRY,
               write_at(entry, 2, &value), 2, ret);
    } else {
        CLEANUP(buf_finish) struct buf object = BUF_INIT;
        buf_printf(&object, "{\n    \"" CLIENTS_ENTRY "\": %s\n  }", write_at(entry, 2, &value));
        insert(old, length, at, yyjson_obj_size(root) == 0, client->servers,
               object.failed ? "" : object.data, 1, ret);
    }
    return ret->failed || value.failed ? error_oom(err) : 0;
}

int clients_edit(const struct client *client, const struct client_command *command, const char *old,
                 size_t length, struct buf *ret, struct toolrack_error *err) {
    static const char mark[] = "\xef\xbb\xbf"; /* of byte order, as some editors write it */
    size_t skipped = length >= 3 && memcmp(old, mark, 3) == 0 ? 3 : 0;
    if (strspn(old + skipped, " \t\r\n") == length - skipped) {
        return clients_document(client, command, ret, err);
    }
    yyjson_read_err why = {0};
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = read_json(old + skipped, length - skipped, &why);
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *entry = yyjson_mut_doc_new(NULL);
    yyjson_mut_doc_set_root(entry, clients_entry(client, command, entry));
    if (doc == NULL && why.code != YYJSON_READ_ERROR_MEMORY_ALLOCATION) {
        return refuse_text(client, old + skipped, length - skipped, &why, err);
    }
    if (doc == NULL || entry == NULL) {
        return error_oom(err);
    }
    yyjson_val *root = yyjson_doc_get_root(doc);
    if (json_is_deeper(root,
                       JSON_EQUAL_DEPTH_MAX - 8)) { /* is_right() compares it, with an entry */
        return refuse(client, "it is nested too deep to be changed", err);
    }
    yyjson_val *servers = yyjson_obj_get(root, client->servers);
    if (!yyjson_is_obj(root) || (servers != NULL && !yyjson_is_obj(servers))) {
        char what[128];
        (void)snprintf(what, sizeof what, "%s%s%s is not an object in it",
                       yyjson_is_obj(root) ? "\"" : "",
                       yyjson_is_obj(root) ? client->servers : "the whole",
                       yyjson_is_obj(root) ? "\"" : "");
        return refuse(client, what, err);
    }
    const char *twice = find_twice(root, client->servers);
    if (twice != NULL) {
        char what[128];
        (void)snprintf(what, sizeof what, "\"%s\" is there twice in it, and only one counts",
                       twice);
        return refuse(client, what, err);
    }
    CLEANUP(yyjson_doc_freep) yyjson_doc *wanted = yyjson_mut_doc_imut_copy(entry, NULL);
    if (is_equal(yyjson_obj_get(servers, CLIENTS_ENTRY), yyjson_doc_get_root(wanted))) {
        return 1;
    }
    buf_add(ret, old, skipped);
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    int code = edit(client, doc, entry, old + skipped, length - skipped, &text, err);
    if (code < 0) {
        return code;
    }
    if (!is_right(doc, client->servers, yyjson_mut_doc_get_root(entry), &text)) {
        return refuse(client, "the entry could not be added to it without changing the rest", err);
    }
    buf_add(ret, text.data, text.length);
    return ret->failed ? error_oom(err) : 0;
}
