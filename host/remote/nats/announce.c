#include "remote/nats/announce.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json-write.h"

CLEANUP_DEFINE(yyjson_mut_doc, yyjson_mut_doc_free)

/* The names of permissions, by their number. */
static const char *const permissions[] = {
        [TR_SAFE] = "safe", [TR_CONFIRM] = "confirm", [TR_DANGEROUS] = "dangerous"};

/* The flags that a description has, in the order in which it is written. */
static const struct {
    const char *name;
    uint32_t flag;
} flags[] = {{"read_only", TR_READ_ONLY},   {"destructive", TR_DESTRUCTIVE},
             {"idempotent", TR_IDEMPOTENT}, {"open_world", TR_OPEN_WORLD},
             {"task_never", TR_TASK_NEVER}, {"task_always", TR_TASK_ALWAYS}};

/* The texts of a tool that may be absent, and where they stand in it. */
static const struct {
    const char *name;
    size_t at;
} texts[] = {{"title", offsetof(struct tr_tool, title)},
             {"category", offsetof(struct tr_tool, category)},
             {"tags", offsetof(struct tr_tool, tags)},
             {"result_schema", offsetof(struct tr_tool, result_schema)},
             {"deprecated", offsetof(struct tr_tool, deprecated)},
             {"purpose", offsetof(struct tr_tool, purpose)},
             {"scenarios", offsetof(struct tr_tool, scenarios)}};

static void add_text(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *name,
                     const char *text) {
    if (text != NULL) {
        (void)yyjson_mut_obj_add_str(doc, object, name, text);
    }
}

void announce_write(struct buf *out, const struct toolrack_tool *tool) {
    const struct descriptor_tool *spec = tool->reg->spec;
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = json_doc_create();
    yyjson_mut_val *object = yyjson_mut_obj(doc);
    yyjson_mut_doc_set_root(doc, object);
    add_text(doc, object, "name", spec->tool->name);
    add_text(doc, object, "version", spec->version);
    add_text(doc, object, "description", spec->tool->description);
    add_text(doc, object, "schema", spec->schema);
    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
        const char *text = NULL;
        memcpy(&text, (const char *)spec->tool + texts[i].at, sizeof text);
        add_text(doc, object, texts[i].name,
                 texts[i].at == offsetof(struct tr_tool, result_schema) ? spec->result_schema
                                                                        : text);
    }
    add_text(doc, object, "permission", permissions[spec->tool->permission]);
    for (size_t i = 0; i < ARRAY_LENGTH(flags); i++) {
        if ((spec->tool->flags & flags[i].flag) != 0) {
            (void)yyjson_mut_obj_add_bool(doc, object, flags[i].name, true);
        }
    }
    if (spec->tool->deadline_ms != 0) {
        (void)yyjson_mut_obj_add_uint(doc, object, "deadline_ms", spec->tool->deadline_ms);
    }
    size_t length = 0;
    char *text = json_write(doc, YYJSON_WRITE_NOFLAG, NULL, &length);
    if (text == NULL) {
        out->failed = true;
        return;
    }
    buf_add(out, text, length);
    free(text);
}

void announce_digest(const char *json, size_t length, char ret[static ANNOUNCE_DIGEST_ROOM]) {
    unsigned char hash[16];
    (void)crypto_generichash(hash, sizeof hash, (const unsigned char *)json, length, NULL, 0);
    (void)sodium_bin2hex(ret, ANNOUNCE_DIGEST_ROOM, hash, sizeof hash);
}

/* A text without U+0000, of which a C string would be a part only. NULL: it is none. */
static const char *text_of(yyjson_val *value) {
    const char *text = yyjson_get_str(value);
    return text != NULL && strlen(text) == yyjson_get_len(value) ? text : NULL;
}

static int refuse(const char *member, struct toolrack_error *err) {
    return error_set(err, TOOLRACK_E_INVALID, "the description of a tool has no usable \"%s\"",
                     member);
}

int announce_read(yyjson_val *described, uint32_t permission_min, struct tr_tool *ret,
                  struct toolrack_error *err) {
    *ret = (struct tr_tool){.size = sizeof *ret,
                            .name = text_of(yyjson_obj_get(described, "name")),
                            .version = text_of(yyjson_obj_get(described, "version")),
                            .description = text_of(yyjson_obj_get(described, "description")),
                            .schema = text_of(yyjson_obj_get(described, "schema"))};
    if (ret->name == NULL || ret->version == NULL || ret->description == NULL ||
        ret->schema == NULL) {
        return refuse(ret->name == NULL          ? "name"
                      : ret->version == NULL     ? "version"
                      : ret->description == NULL ? "description"
                                                 : "schema",
                      err);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
        yyjson_val *value = yyjson_obj_get(described, texts[i].name);
        const char *text = text_of(value);
        if (value != NULL && text == NULL) {
            return refuse(texts[i].name, err);
        }
        memcpy((char *)ret + texts[i].at, &text, sizeof text);
    }
    const char *permission = text_of(yyjson_obj_get(described, "permission"));
    ret->permission = TR_DANGEROUS + 1;
    for (uint32_t i = 0; i < ARRAY_LENGTH(permissions) && permission != NULL; i++) {
        ret->permission = strcmp(permission, permissions[i]) == 0 ? i : ret->permission;
    }
    yyjson_val *deadline = yyjson_obj_get(described, "deadline_ms");
    if (ret->permission > TR_DANGEROUS) {
        return refuse("permission", err);
    }
    if (deadline != NULL &&
        (!yyjson_is_uint(deadline) || yyjson_get_uint(deadline) >= UINT32_MAX)) {
        return refuse("deadline_ms", err);
    }
    ret->deadline_ms = (uint32_t)yyjson_get_uint(deadline);
    for (size_t i = 0; i < ARRAY_LENGTH(flags); i++) {
        if (yyjson_is_true(yyjson_obj_get(described, flags[i].name))) {
            ret->flags |= flags[i].flag;
        }
    }
    if (ret->permission < permission_min) {
        ret->permission = permission_min; /* nobody vouches for what a host says of itself */
    }
    return 0;
}
