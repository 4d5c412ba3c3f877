/* References to names, written as pointers.
 *
 * The schema is walked twice, with the URI on which references depend: first to note the pointer of
 * each name, then to replace the references. A URI names a resource, a URI with a fragment an
 * anchor in it; the root is named by "" too. */
#include "format/schema-resource.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/json-pointer.h"
#include "format/schema-keyword.h"
#include "schema/uri.h"

/* Most bytes of a name that are shown. */
#define SHOWN_MAX 60

struct name {
    const char *uri;
    const char *pointer; /* with percent-encoding */
    const char *dynamic; /* the name of a dynamic anchor, or NULL */
    struct name *next;
};

struct resources {
    struct rewrite *rewrite;
    struct arena arena;
    struct name *names;
    bool is_draft_7;
    void (*visit)(struct resources *resources, const char *base, yyjson_mut_val *schema);
    char pointer[JSON_POINTER_MAX]; /* of the current schema */
};

static const char *text_of(yyjson_mut_val *schema, const char *key) {
    return yyjson_mut_get_str(yyjson_mut_obj_get(schema, key));
}

/* ---------------------------------------------------------------------- URIs */

/* A pointer as the fragment of a URI; NULL: no memory. */
static char *encode(struct arena *arena, const char *pointer) {
    char *text = arena_alloc(arena, strlen(pointer) * 3 + 1);
    char *end = text;
    for (; text != NULL && *pointer != '\0'; pointer++) {
        bool is_plain = ascii_is_alnum(*pointer) || strchr("-._~!$&'()*+,;=:@/?", *pointer) != NULL;
        if (is_plain) {
            *end++ = *pointer;
        } else {
            (void)snprintf(end, sizeof "%00", "%%%02X", (unsigned)(unsigned char)*pointer);
            end += 3;
        }
    }
    if (text != NULL) {
        *end = '\0';
    }
    return text;
}

/* The URI of a reference without its fragment; NULL: no memory. */
static char *resolve(struct resources *resources, const char *base, const char *reference,
                     struct uri_part *ret_fragment) {
    struct uri uri = uri_split(reference, strlen(reference));
    char *absolute = uri_resolve(&resources->arena, base, &uri);
    rewrite_check(resources->rewrite, absolute != NULL);
    *ret_fragment = uri.fragment.data != NULL ? uri.fragment : (struct uri_part){"", 0};
    return absolute;
}

/* The `$id` of a schema; "": it has none that counts. */
static const char *id_of(const struct resources *resources, yyjson_mut_val *schema) {
    const char *id = text_of(schema, "$id");
    bool is_ignored = resources->is_draft_7 && text_of(schema, "$ref") != NULL;
    return id != NULL && !is_ignored ? id : "";
}

/* The URI on which the references in a schema depend; NULL: no memory. */
static const char *base_of(struct resources *resources, const char *base, yyjson_mut_val *schema) {
    const char *id = id_of(resources, schema);
    struct uri_part fragment;
    return id[0] == '\0' || id[0] == '#' ? base : resolve(resources, base, id, &fragment);
}

/* --------------------------------------------------------------------- names */

static void add_name(struct resources *resources, const char *uri, const char *anchor,
                     bool is_dynamic) {
    struct arena *arena = &resources->arena;
    struct name *name = arena_zalloc(arena, sizeof *name);
    char *pointer = encode(arena, resources->pointer);
    char *whole = anchor != NULL ? arena_printf(arena, "%s#%s", uri, anchor)
                                 : arena_copy(arena, uri, strlen(uri));
    char *dynamic = is_dynamic ? arena_copy(arena, anchor, strlen(anchor)) : NULL;
    if (name == NULL || pointer == NULL || whole == NULL || (is_dynamic && dynamic == NULL)) {
        rewrite_check(resources->rewrite, false);
        return;
    }
    *name = (struct name){whole, pointer, dynamic, resources->names};
    resources->names = name;
}

static void note_names(struct resources *resources, const char *base, yyjson_mut_val *schema) {
    const char *id = id_of(resources, schema);
    const char *anchor = text_of(schema, "$anchor");
    const char *dynamic = text_of(schema, "$dynamicAnchor");
    if (id[0] == '#' && id[1] != '\0') {
        add_name(resources, base, id + 1, false);
    } else if (id[0] != '#' && id[0] != '\0') {
        add_name(resources, base, NULL, false);
    }
    if (anchor != NULL) {
        add_name(resources, base, anchor, false);
    }
    if (dynamic != NULL) {
        add_name(resources, base, dynamic, true);
    }
}

static const struct name *find_name(const struct resources *resources, const char *uri) {
    const struct name *name = resources->names;
    while (name != NULL && strcmp(name->uri, uri) != 0) {
        name = name->next;
    }
    return name;
}

/* ---------------------------------------------------------------- references */

/* A reference as a pointer from the root; NULL: it finds nothing, or there is no memory. */
static char *point(struct resources *resources, const char *base, const char *reference,
                   const struct name **ret_name) {
    struct arena *arena = &resources->arena;
    struct uri_part fragment;
    size_t length = 0;
    const char *uri = resolve(resources, base, reference, &fragment);
    char *decoded = uri != NULL ? uri_decode(arena, fragment, &length) : NULL;
    bool is_pointer = decoded == NULL || length == 0 || decoded[0] == '/';
    const char *wanted = is_pointer ? uri : arena_printf(arena, "%s#%s", uri, decoded);
    const struct name *name = wanted != NULL ? find_name(resources, wanted) : NULL;
    char *pointer = name == NULL
                            ? NULL
                            : arena_printf(arena, "#%s%.*s", name->pointer,
                                           is_pointer ? (int)fragment.length : 0, fragment.data);
    rewrite_check(resources->rewrite,
                  decoded != NULL && wanted != NULL && (name == NULL || pointer != NULL));
    *ret_name = name;
    return pointer;
}

/* Whether several dynamic anchors have a name: which one is meant is known in a check alone. */
static bool is_ambiguous(const struct resources *resources, const char *dynamic) {
    size_t count = 0;
    for (const struct name *name = resources->names; name != NULL; name = name->next) {
        count += name->dynamic != NULL && strcmp(name->dynamic, dynamic) == 0;
    }
    return count > 1;
}

static void replace_dynamic(struct resources *resources, const char *base, yyjson_mut_val *schema) {
    struct rewrite *rewrite = resources->rewrite;
    const char *reference = text_of(schema, "$dynamicRef");
    const struct name *name = NULL;
    const char *pointer = reference != NULL ? point(resources, base, reference, &name) : NULL;
    if (pointer == NULL) {
        return;
    }
    bool is_one = (name->dynamic == NULL || !is_ambiguous(resources, name->dynamic)) &&
                  yyjson_mut_obj_get(schema, "$ref") == NULL;
    format_report_add(rewrite->report, "rewritten", NULL, "the reference \"%.*s\" %s", SHOWN_MAX,
                      reference,
                      is_one ? "has one target, and is written $ref"
                             : "has several targets: any value is allowed here");
    (void)yyjson_mut_obj_remove_key(schema, "$dynamicRef");
    if (is_one) {
        rewrite_put(rewrite, schema, "$ref", yyjson_mut_strcpy(rewrite->doc, pointer));
    }
}

static void replace_references(struct resources *resources, const char *base,
                               yyjson_mut_val *schema) {
    static const char *const own[] = {"$id", "$anchor", "$dynamicAnchor"};
    struct rewrite *rewrite = resources->rewrite;
    yyjson_mut_val *value = yyjson_mut_obj_get(schema, "$ref");
    const char *reference = yyjson_mut_get_str(value);
    const struct name *name = NULL;
    const char *pointer = reference != NULL ? point(resources, base, reference, &name) : NULL;
    if (pointer != NULL && strcmp(pointer, reference) != 0) {
        format_report_add(rewrite->report, "rewritten", NULL,
                          "the reference \"%.*s\" is written \"%.*s\"", SHOWN_MAX, reference,
                          SHOWN_MAX, pointer);
        yyjson_mut_val *copy = yyjson_mut_strcpy(rewrite->doc, pointer);
        rewrite_check(rewrite, copy != NULL && yyjson_mut_set_str(value, yyjson_mut_get_str(copy)));
    }
    replace_dynamic(resources, base, schema);
    for (size_t i = 0; i < ARRAY_LENGTH(own); i++) {
        yyjson_mut_val *removed = yyjson_mut_obj_remove_key(schema, own[i]);
        if (removed != NULL) {
            format_report_add(rewrite->report, "rewritten", NULL,
                              "%s \"%.*s\" is left out: references are pointers", own[i], SHOWN_MAX,
                              yyjson_mut_is_str(removed) ? yyjson_mut_get_str(removed) : "");
        }
    }
}

/* ---------------------------------------------------------------------- walk */

static void walk(struct resources *resources, const char *around, yyjson_mut_val *schema);

static void walk_part(struct resources *resources, const char *base, const char *key, size_t index,
                      yyjson_mut_val *schema) {
    size_t end = strlen(resources->pointer);
    if (key != NULL) {
        json_pointer_add(resources->pointer, key);
    } else {
        json_pointer_add_index(resources->pointer, index);
    }
    if (resources->pointer[end] != '\0') { /* else it has no room: nothing names it */
        walk(resources, base, schema);
    }
    resources->pointer[end] = '\0';
}

static void walk_keyword(struct resources *resources, const char *base,
                         const struct keyword_row *row, yyjson_mut_val *value) {
    size_t end = strlen(resources->pointer);
    size_t at;
    size_t count;
    yyjson_mut_val *key;
    yyjson_mut_val *schema;
    if (yyjson_mut_is_obj(value) && row->holds == HOLDS_SCHEMA) {
        walk_part(resources, base, row->name, 0, value);
        return;
    }
    json_pointer_add(resources->pointer, row->name);
    yyjson_mut_arr_foreach(value, at, count, schema) {
        walk_part(resources, base, NULL, at, schema);
    }
    yyjson_mut_obj_foreach(value, at, count, key, schema) {
        walk_part(resources, base, yyjson_mut_get_str(key), 0, schema);
    }
    resources->pointer[end] = '\0';
}

static void walk(struct resources *resources, const char *around, yyjson_mut_val *schema) {
    size_t at;
    size_t count;
    yyjson_mut_val *key;
    yyjson_mut_val *value;
    const char *base = yyjson_mut_is_obj(schema) ? base_of(resources, around, schema) : NULL;
    if (base == NULL) {
        return;
    }
    resources->visit(resources, base, schema);
    yyjson_mut_obj_foreach(schema, at, count, key, value) {
        enum format_keyword keyword =
                format_keyword_find(yyjson_mut_get_str(key), yyjson_mut_get_len(key));
        const struct keyword_row *row = &format_keywords[keyword];
        if (row->holds == HOLDS_SCHEMA || row->holds == HOLDS_SCHEMAS || row->holds == HOLDS_MAP ||
            keyword == KEYWORD_DEPENDENCIES) {
            walk_keyword(resources, base, row, value);
        }
    }
}

/* Whether a value may have names, at any depth. */
static bool has_names(yyjson_mut_val *value) {
    size_t at;
    size_t count;
    yyjson_mut_val *key;
    yyjson_mut_val *child;
    yyjson_mut_arr_foreach(value, at, count, child) {
        if (yyjson_mut_is_ctn(child) && has_names(child)) {
            return true;
        }
    }
    yyjson_mut_obj_foreach(value, at, count, key, child) {
        if (yyjson_mut_equals_str(key, "$id") || yyjson_mut_equals_str(key, "$anchor") ||
            yyjson_mut_equals_str(key, "$dynamicAnchor") ||
            (yyjson_mut_is_ctn(child) && has_names(child))) {
            return true;
        }
    }
    return false;
}

void rewrite_resources(struct rewrite *rewrite, bool is_draft_7) {
    struct resources resources = {.rewrite = rewrite, .is_draft_7 = is_draft_7};
    if (!yyjson_mut_is_obj(rewrite->root) || !has_names(rewrite->root)) {
        return;
    }
    arena_init(&resources.arena, NULL, 0);
    add_name(&resources, "", NULL, false);
    resources.visit = note_names;
    walk(&resources, "", rewrite->root);
    resources.visit = replace_references;
    if (!rewrite->no_memory) {
        walk(&resources, "", rewrite->root);
    }
    arena_finish(&resources.arena);
}
