/* Resolution of references to schemas.
 *
 * Each document is walked once, when it is added: only at positions where the dialect's keywords
 * contain schemas, so that an `$id` inside an `enum` is no resource. The walk checks the shape of
 * every keyword and registers each schema by its address. A JSON Pointer may still point to a place
 * that the walk did not visit (under an unknown keyword); that place is then walked as a schema
 * too. */
#include "schema/reference.h"

#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/json-pointer.h"
#include "base/json.h"
#include "schema/meta.h"
#include "schema/value.h"

#define PLACE_ROOM_FIRST   256u
#define DRAFT_7_URI        "http://json-schema.org/draft-07/schema"
#define DRAFT_7_URI_SECURE "https://json-schema.org/draft-07/schema"
#define DRAFT_2019_URI     "https://json-schema.org/draft/2019-09/schema"
#define DRAFT_2020_URI     "https://json-schema.org/draft/2020-12/schema"

void library_init(struct library *library, struct arena *arena,
                  const struct schema_options *options, struct toolrack_error *err) {
    *library = (struct library){.arena = arena, .options = options, .err = err};
    arena_init(&library->scratch, NULL, 0);
}

void library_finish(struct library *library) {
    free(library->places);
    arena_finish(&library->scratch);
}

/* ------------------------------------------------------------------------------------- errors */

int library_fail(const struct library *library, int code, yyjson_val *at, const char *format, ...) {
    char pointer[ERROR_FIELD_MAX];
    char message[ERROR_MESSAGE_MAX];
    struct text field = text_in(pointer, sizeof pointer);
    struct text text = text_in(message, sizeof message);
    size_t i = 0;
    while (i < library->document_count && !value_contains(library->documents[i].root, at)) {
        i++;
    }
    if (i < library->document_count) {
        value_locate(library->documents[i].root, at, &field);
        if (i > 0) {
            text_printf(&text, "%s#", library->documents[i].uri);
        }
    }
    text_printf(&text, "%s: ", field.length == 0 && text.length == 0 ? "the schema" : pointer);
    va_list args;
    va_start(args, format);
    text_vprintf(&text, format, args);
    va_end(args);
    return error_set_field(library->err, code, pointer, "%s", message);
}

/* ------------------------------------------------------------------------------------- places */

static size_t slot_of(const struct library *library, const yyjson_val *value) {
    uint64_t hash = (uint64_t)(uintptr_t)value * 0x9e3779b97f4a7c15u;
    size_t slot = (size_t)(hash >> 32) & (library->place_room - 1);
    while (library->places[slot] != NULL && library->places[slot]->value != value) {
        slot = (slot + 1) & (library->place_room - 1);
    }
    return slot;
}

struct place *library_place(const struct library *library, yyjson_val *value) {
    return library->place_room == 0 ? NULL : library->places[slot_of(library, value)];
}

static bool grow_places(struct library *library) {
    size_t old_room = library->place_room;
    struct place **old = library->places;
    size_t room = old_room == 0 ? PLACE_ROOM_FIRST : old_room * 2;
    struct place **grown = calloc(room, sizeof *grown);
    if (grown == NULL) {
        return false;
    }
    library->places = grown;
    library->place_room = room;
    for (size_t i = 0; i < old_room; i++) {
        if (old[i] != NULL) {
            grown[slot_of(library, old[i]->value)] = old[i];
        }
    }
    free(old);
    return true;
}

static int add_place(struct library *library, struct schema_resource *resource, yyjson_val *value,
                     struct place **ret) {
    if (library->place_count == SCHEMA_NODES_MAX) {
        return library_fail(library, TOOLRACK_E_LIMIT_EXCEEDED, value,
                            "there are more than %d subschemas", SCHEMA_NODES_MAX);
    }
    if (library->place_count * 2 >= library->place_room && !grow_places(library)) {
        return error_oom(library->err);
    }
    struct place *place = arena_zalloc(&library->scratch, sizeof *place);
    if (place == NULL) {
        return error_oom(library->err);
    }
    place->value = value;
    place->resource = resource;
    library->places[slot_of(library, value)] = place;
    library->place_count++;
    *ret = place;
    return 0;
}

/* ----------------------------------------------------------------------------------- dialects */

static struct schema_resource *find_resource(const struct library *library, const char *uri) {
    struct schema_resource *resource = library->resources;
    while (resource != NULL && strcmp(resource->uri, uri) != 0 &&
           (resource->uri_asked == NULL || strcmp(resource->uri_asked, uri) != 0)) {
        resource = resource->next;
    }
    return resource;
}

static int load(struct library *library, const char *uri, yyjson_val *referrer,
                struct schema_resource **ret);

/* The dialect that `$schema` names: a built-in one, or one that a document defines. */
static int find_dialect(struct library *library, yyjson_val *declared, struct dialect *ret) {
    static const struct {
        const char *uri;
        enum draft draft;
    } known[] = {{DRAFT_2020_URI, DRAFT_2020},
                 {DRAFT_2019_URI, DRAFT_2019},
                 {DRAFT_7_URI, DRAFT_7},
                 {DRAFT_7_URI_SECURE, DRAFT_7}};
    struct uri uri = uri_split(yyjson_get_str(declared), yyjson_get_len(declared));
    char *name = uri_resolve(&library->scratch, "", &uri);
    if (name == NULL) {
        return error_oom(library->err);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(known); i++) {
        if (strcmp(name, known[i].uri) == 0) {
            *ret = (struct dialect){known[i].draft, VOCABULARY_DEFAULT};
            return 0;
        }
    }
    struct schema_resource *resource = NULL;
    int code = load(library, name, declared, &resource);
    if (code == TOOLRACK_E_INVALID && resource == NULL) {
        return library_refuse(library, declared,
                              "the dialect \"%s\" is not known; use \"%s\" or \"%s#\"", name,
                              DRAFT_2020_URI, DRAFT_7_URI);
    }
    if (code < 0) {
        return code;
    }
    *ret = resource->dialect;
    yyjson_val *vocabulary = yyjson_obj_get(resource->root, "$vocabulary");
    if (!yyjson_is_obj(vocabulary)) {
        return 0;
    }
    /* The vocabularies that a metaschema names. A required one must be known. */
    ret->vocabularies = VOCABULARY_CORE;
    size_t i = 0;
    size_t count = 0;
    yyjson_val *key = NULL;
    yyjson_val *required = NULL;
    json_obj_foreach (vocabulary, i, count, key, required) {
        uint32_t bit = keyword_vocabulary(yyjson_get_str(key), yyjson_get_len(key));
        ret->vocabularies |= bit;
        if (bit == 0 && yyjson_is_true(required)) {
            return library_refuse(library, required,
                                  "this vocabulary is required and not supported");
        }
    }
    return 0;
}

/* --------------------------------------------------------------------------------------- walk */

struct walk {
    struct library *library;
    struct schema_resource *resource;
    unsigned depth;
};

static int walk_schema(struct walk walk, yyjson_val *schema);

static int add_anchor(struct walk *walk, struct place *place, const char *name, size_t length,
                      bool dynamic, yyjson_val *at) {
    for (struct anchor *anchor = walk->resource->anchors; anchor != NULL; anchor = anchor->next) {
        if (anchor->length == length && memcmp(anchor->name, name, length) == 0 &&
            anchor->place != place) {
            return library_refuse(walk->library, at, "the anchor is already used at another place");
        }
    }
    if (walk->library->anchor_count++ == SCHEMA_ANCHORS_MAX) {
        return library_fail(walk->library, TOOLRACK_E_LIMIT_EXCEEDED, at,
                            "there are more than %d anchors", SCHEMA_ANCHORS_MAX);
    }
    struct anchor *anchor = arena_alloc(&walk->library->scratch, sizeof *anchor);
    if (anchor == NULL) {
        return error_oom(walk->library->err);
    }
    *anchor = (struct anchor){.name = name,
                              .length = length,
                              .dynamic = dynamic,
                              .place = place,
                              .next = walk->resource->anchors};
    walk->resource->anchors = anchor;
    return 0;
}

static int new_resource(struct library *library, const char *uri, yyjson_val *root,
                        struct dialect dialect, struct schema_resource **ret) {
    if (library->resource_count++ == SCHEMA_RESOURCES_MAX) {
        return library_fail(library, TOOLRACK_E_LIMIT_EXCEEDED, root,
                            "there are more than %d schemas with an $id", SCHEMA_RESOURCES_MAX);
    }
    struct schema_resource *resource = arena_alloc(library->arena, sizeof *resource);
    if (resource == NULL) {
        return error_oom(library->err);
    }
    *resource = (struct schema_resource){
            .uri = uri, .root = root, .dialect = dialect, .next = library->resources};
    library->resources = resource;
    *ret = resource;
    return 0;
}

/* `$id` begins a resource, unless it is draft 7's way to write an anchor. */
static int enter_resource(struct walk *walk, yyjson_val *schema, yyjson_val *id) {
    struct library *library = walk->library;
    struct uri uri = uri_split(yyjson_get_str(id), yyjson_get_len(id));
    if (uri.fragment.length > 0 && walk->resource->dialect.draft != DRAFT_7) {
        return library_refuse(library, id, "must not have a fragment; use $anchor for a name");
    }
    bool only_fragment = uri.scheme.data == NULL && uri.authority.data == NULL &&
                         uri.path.length == 0 && uri.query.data == NULL;
    if (only_fragment) {
        return 0;
    }
    const char *absolute = uri_resolve(library->arena, walk->resource->uri, &uri);
    if (absolute == NULL) {
        return error_oom(library->err);
    }
    if (walk->resource->root == schema) { /* the document's own URI */
        if (strcmp(walk->resource->uri, absolute) != 0) {
            walk->resource->uri_asked = walk->resource->uri;
            walk->resource->uri = absolute;
        }
        return 0;
    }
    struct schema_resource *other = find_resource(library, absolute);
    if (other != NULL && other->root != schema) {
        return library_refuse(library, id, "the URI \"%s\" is already used at another place",
                              absolute);
    }
    struct dialect dialect = walk->resource->dialect;
    yyjson_val *declared = yyjson_obj_get(schema, "$schema");
    int code = yyjson_is_str(declared) ? find_dialect(library, declared, &dialect) : 0;
    return code < 0 ? code : new_resource(library, absolute, schema, dialect, &walk->resource);
}

static int walk_each(struct walk walk, yyjson_val *container) {
    yyjson_val *at = unsafe_yyjson_get_first(container);
    size_t count = unsafe_yyjson_get_len(container);
    bool is_object = unsafe_yyjson_is_obj(container);
    for (size_t i = 0; i < count; i++) {
        at += is_object;
        /* Among keywords with schemas only `dependencies` has arrays, which contain names. */
        int code = yyjson_is_arr(at) ? 0 : walk_schema(walk, at);
        if (code < 0) {
            return code;
        }
        at = unsafe_yyjson_get_next(at);
    }
    return 0;
}

static int walk_keywords(struct walk walk, yyjson_val *schema) {
    size_t i = 0;
    size_t count = 0;
    yyjson_val *key = NULL;
    yyjson_val *value = NULL;
    json_obj_foreach (schema, i, count, key, value) {
        enum keyword keyword = keyword_find(&walk.resource->dialect, key);
        if (keyword == KEYWORD_COUNT) {
            continue;
        }
        char reason[256];
        struct text text = text_in(reason, sizeof reason);
        yyjson_val *at = value;
        enum shape shape = keyword_rows[keyword].shape;
        int code = 0;
        if (!keyword_check(shape, value, &at, &text)) {
            return library_refuse(walk.library, at, "%s", reason);
        }
        if (shape == SHAPE_SCHEMA || (shape == SHAPE_ITEMS && !yyjson_is_arr(value))) {
            code = walk_schema(walk, value);
        } else if (shape == SHAPE_ITEMS || shape == SHAPE_SCHEMAS || shape == SHAPE_SCHEMA_MAP ||
                   shape == SHAPE_DEPENDENCIES) {
            code = walk_each(walk, value);
        }
        if (code < 0) {
            return code;
        }
    }
    return 0;
}

/* Anchors, in the forms of all drafts. */
static int walk_anchors(struct walk *walk, struct place *place) {
    yyjson_val *schema = place->value;
    struct dialect dialect = walk->resource->dialect;
    yyjson_val *anchor = yyjson_obj_get(schema, "$anchor");
    yyjson_val *dynamic = yyjson_obj_get(schema, "$dynamicAnchor");
    yyjson_val *recursive = yyjson_obj_get(schema, "$recursiveAnchor");
    yyjson_val *id = yyjson_obj_get(schema, "$id");
    int code = 0;
    if ((dialect.draft & DRAFT_NEW) && yyjson_is_str(anchor)) {
        code = add_anchor(walk, place, yyjson_get_str(anchor), yyjson_get_len(anchor), false,
                          anchor);
    }
    if (code == 0 && (dialect.draft & DRAFT_2020) && yyjson_is_str(dynamic)) {
        code = add_anchor(walk, place, yyjson_get_str(dynamic), yyjson_get_len(dynamic), true,
                          dynamic);
    }
    if (code == 0 && (dialect.draft & DRAFT_2019) && yyjson_is_true(recursive)) {
        code = add_anchor(walk, place, "", 0, true, recursive);
    }
    if (code == 0 && dialect.draft == DRAFT_7 && yyjson_is_str(id)) {
        struct uri uri = uri_split(yyjson_get_str(id), yyjson_get_len(id));
        if (uri.fragment.length > 0) {
            code = add_anchor(walk, place, uri.fragment.data, uri.fragment.length, false, id);
        }
    }
    return code;
}

static int walk_schema(struct walk walk, yyjson_val *schema) {
    struct library *library = walk.library;
    if (walk.depth++ == SCHEMA_DEPTH_MAX) {
        return library_fail(library, TOOLRACK_E_LIMIT_EXCEEDED, schema,
                            "is nested deeper than %d levels", SCHEMA_DEPTH_MAX);
    }
    if (library_place(library, schema) != NULL) {
        return 0;
    }
    /* In draft 7 all keywords beside `$ref` are ignored; schemas in them are still places. */
    bool hidden = walk.resource->dialect.draft == DRAFT_7 &&
                  yyjson_is_str(yyjson_obj_get(schema, "$ref"));
    yyjson_val *id = hidden ? NULL : yyjson_obj_get(schema, "$id");
    int code = yyjson_is_str(id) ? enter_resource(&walk, schema, id) : 0;
    struct place *place = NULL;
    if (code == 0) {
        code = add_place(library, walk.resource, schema, &place);
    }
    if (code == 0 && !hidden && yyjson_is_obj(schema)) {
        code = walk_anchors(&walk, place);
    }
    return code < 0 || !yyjson_is_obj(schema) ? code : walk_keywords(walk, schema);
}

/* ---------------------------------------------------------------------------------- documents */

int library_add(struct library *library, const char *uri, yyjson_val *root,
                struct place **ret_root) {
    if (library->document_count == SCHEMA_DOCUMENTS_MAX) {
        return error_set(library->err, TOOLRACK_E_LIMIT_EXCEEDED,
                         "the schema refers to more than %d documents", SCHEMA_DOCUMENTS_MAX);
    }
    size_t cells = value_cells(root);
    if (cells > SCHEMA_VALUES_MAX - library->value_count) {
        return error_set(library->err, TOOLRACK_E_LIMIT_EXCEEDED,
                         "the schema has more than %d values", SCHEMA_VALUES_MAX);
    }
    yyjson_val *copy = value_copy(library->arena, root);
    if (copy == NULL) {
        return error_oom(library->err);
    }
    library->value_count += cells;
    library->documents[library->document_count++] = (struct document){uri, copy};
    if (!yyjson_is_obj(copy) && !yyjson_is_bool(copy)) {
        return library_refuse(library, copy, "must be an object or a boolean, not %s",
                              keyword_kind(copy));
    }
    struct schema_resource *resource = NULL;
    bool old = library->options->dialect == SCHEMA_DRAFT_7;
    struct dialect dialect = {old ? DRAFT_7 : DRAFT_2020, VOCABULARY_DEFAULT};
    int code = new_resource(library, uri, copy, dialect, &resource);
    yyjson_val *declared = yyjson_obj_get(copy, "$schema");
    if (code == 0 && yyjson_is_str(declared)) {
        code = find_dialect(library, declared, &resource->dialect);
    }
    if (code == 0) {
        code = walk_schema((struct walk){.library = library, .resource = resource}, copy);
    }
    if (code == 0) {
        *ret_root = library_place(library, copy);
    }
    return code;
}

/* The resource with this URI: a known one, a bundled one, or from the caller. If it is not found:
 * TOOLRACK_E_INVALID, and *ret is unchanged. */
static int load(struct library *library, const char *uri, yyjson_val *referrer,
                struct schema_resource **ret) {
    struct schema_resource *found = find_resource(library, uri);
    if (found != NULL) {
        *ret = found;
        return 0;
    }
    const char *name = arena_copy(library->arena, uri, strlen(uri));
    if (name == NULL) {
        return error_oom(library->err);
    }
    const char *bundled = meta_find(name);
    yyjson_val *root = NULL;
    if (bundled == NULL && library->options->lookup != NULL) {
        root = library->options->lookup(library->options->lookup_user, name);
    }
    struct place *place = NULL;
    int code = 0;
    if (bundled != NULL) {
        yyjson_doc *doc = yyjson_read(bundled, strlen(bundled), 0);
        if (doc == NULL) {
            return error_oom(library->err); /* the bundled JSON always parses */
        }
        code = library_add(library, name, yyjson_doc_get_root(doc), &place);
        yyjson_doc_free(doc);
    } else if (root != NULL) {
        code = library_add(library, name, root, &place);
    } else {
        return library_refuse(
                library, referrer,
                "no schema with the URI \"%s\" was given, and references are never fetched; "
                "put it under $defs and refer to it there",
                name);
    }
    if (code == 0) {
        *ret = place->resource;
    }
    return code;
}

/* ------------------------------------------------------------------------------------ resolve */

/* The value at a pointer; `*resource` becomes the innermost resource on the path. Unescapes the
 * pointer in place. */
static yyjson_val *follow_pointer(const struct library *library, char *pointer, size_t length,
                                  struct schema_resource **resource) {
    yyjson_val *at = (*resource)->root;
    char *end = pointer + length;
    while (at != NULL && pointer < end) {
        char *token = pointer + 1; /* after the slash */
        char *stop = memchr(token, '/', (size_t)(end - token));
        pointer = stop == NULL ? end : stop;
        size_t token_length = json_pointer_unescape(token, (size_t)(pointer - token), token);
        if (yyjson_is_arr(at)) {
            bool is_index = token_length > 0 && (token_length == 1 || token[0] != '0');
            size_t index = 0;
            for (size_t i = 0; is_index && i < token_length; i++) {
                is_index = ascii_is_digit(token[i]) && index <= SCHEMA_VALUES_MAX;
                index = index * 10 + (size_t)(token[i] - '0');
            }
            at = is_index ? yyjson_arr_get(at, index) : NULL;
        } else {
            at = yyjson_obj_getn(at, token, token_length);
        }
        struct place *place = at == NULL ? NULL : library_place(library, at);
        if (place != NULL) {
            *resource = place->resource;
        }
    }
    return at;
}

int library_resolve(struct library *library, const struct schema_resource *base,
                    yyjson_val *reference, struct place **ret, const struct anchor **ret_anchor) {
    struct uri uri = uri_split(yyjson_get_str(reference), yyjson_get_len(reference));
    char *absolute = uri_resolve(&library->scratch, base->uri, &uri);
    size_t length = 0;
    struct uri_part encoded = uri.fragment.data != NULL ? uri.fragment : (struct uri_part){"", 0};
    char *fragment = uri_decode(&library->scratch, encoded, &length);
    if (absolute == NULL || fragment == NULL) {
        return error_oom(library->err);
    }
    struct schema_resource *resource = NULL;
    int code = load(library, absolute, reference, &resource);
    *ret_anchor = NULL;
    if (code < 0) {
        return code;
    }
    const char *text = yyjson_get_str(reference);
    if (length == 0 || fragment[0] == '/') {
        yyjson_val *target = follow_pointer(library, fragment, length, &resource);
        if (target == NULL) {
            return library_refuse(library, reference, "there is nothing at \"%s\" in the schema",
                                  text);
        }
        if (!yyjson_is_obj(target) && !yyjson_is_bool(target)) {
            return library_refuse(library, reference,
                                  "at \"%s\" there is %s; a schema is an object or a boolean", text,
                                  keyword_kind(target));
        }
        struct walk walk = {.library = library, .resource = resource};
        code = walk_schema(walk, target); /* does nothing for a place that is known */
        if (code == 0) {
            *ret = library_place(library, target);
        }
        return code;
    }
    for (struct anchor *anchor = resource->anchors; anchor != NULL; anchor = anchor->next) {
        if (anchor->length == length && memcmp(anchor->name, fragment, length) == 0) {
            *ret = anchor->place;
            /* A place may have the same name as plain and as dynamic anchor; the dynamic one is
             * used. */
            if (*ret_anchor == NULL || anchor->dynamic) {
                *ret_anchor = anchor;
            }
        }
    }
    return *ret_anchor != NULL ? 0
                               : library_refuse(library, reference,
                                                "no schema has the anchor \"%s\"", fragment);
}
