#include "remote/nats/object-info.h"

#include <sodium.h>
#include <string.h>
#include <yyjson.h>

#include "base/cleanup.h"
#include "base/json-string.h"

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)

#define DIGEST_PREFIX "SHA-256="

void object_digest_write(const unsigned char hash[static OBJECT_HASH_SIZE],
                         char ret[static OBJECT_DIGEST_ROOM]) {
    memcpy(ret, DIGEST_PREFIX, sizeof DIGEST_PREFIX);
    (void)sodium_bin2base64(ret + strlen(DIGEST_PREFIX), OBJECT_DIGEST_ROOM - strlen(DIGEST_PREFIX),
                            hash, OBJECT_HASH_SIZE, sodium_base64_VARIANT_URLSAFE);
}

/* Some clients leave the padding out. */
bool object_digest_read(const char *text, unsigned char ret[static OBJECT_HASH_SIZE]) {
    static const int variants[] = {sodium_base64_VARIANT_URLSAFE,
                                   sodium_base64_VARIANT_URLSAFE_NO_PADDING};
    if (strncmp(text, DIGEST_PREFIX, strlen(DIGEST_PREFIX)) != 0) {
        return false;
    }
    text += strlen(DIGEST_PREFIX);
    for (size_t i = 0; i < ARRAY_LENGTH(variants); i++) {
        unsigned char hash[OBJECT_HASH_SIZE];
        size_t size = 0;
        if (sodium_base642bin(hash, sizeof hash, text, strlen(text), NULL, &size, NULL,
                              variants[i]) == 0 &&
            size == sizeof hash) {
            memcpy(ret, hash, sizeof hash);
            return true;
        }
    }
    return false;
}

void object_info_write(struct buf *out, const struct object_info *info, const char *bucket,
                       size_t chunk_size) {
    char digest[OBJECT_DIGEST_ROOM];
    object_digest_write(info->hash, digest);
    buf_add_text(out, "{\"name\":");
    if (!buf_add_json_text(out, info->name, strlen(info->name))) {
        buf_add_text(out, "\"\"");
    }
    buf_printf(out, ",\"bucket\":\"%s\",\"nuid\":\"%s\"", bucket, info->nuid);
    if (info->deleted) {
        buf_add_text(out, ",\"size\":0,\"chunks\":0,\"deleted\":true}");
    } else {
        buf_printf(out,
                   ",\"options\":{\"max_chunk_size\":%zu},\"size\":%llu,\"chunks\":%llu,"
                   "\"digest\":\"%s\"}",
                   chunk_size, (unsigned long long)info->size, (unsigned long long)info->chunks,
                   digest);
    }
}

static int refuse(struct toolrack_error *err, const char *name, const char *what) {
    return error_set(err, TOOLRACK_E_INVALID,
                     "what the object store of NATS says of the object \"%.80s\" is not usable: %s",
                     name != NULL ? name : "", what);
}

/* A text without U+0000 that fits, or "". */
static bool read_text(yyjson_val *root, const char *member, char *ret, size_t room) {
    yyjson_val *value = yyjson_obj_get(root, member);
    const char *text = yyjson_get_str(value);
    size_t length = yyjson_get_len(value);
    ret[0] = '\0';
    if (text == NULL || length >= room || strlen(text) != length) {
        return false;
    }
    memcpy(ret, text, length + 1);
    return true;
}

static bool is_token(const char *text) {
    return text[0] != '\0' &&
           strspn(text, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_") ==
                   strlen(text);
}

static int read_size(yyjson_val *root, struct object_info *ret, struct toolrack_error *err) {
    yyjson_val *size = yyjson_obj_get(root, "size");
    yyjson_val *chunks = yyjson_obj_get(root, "chunks");
    if (!yyjson_is_uint(size) || !yyjson_is_uint(chunks)) {
        return refuse(err, ret->name, "\"size\" and \"chunks\" are no numbers");
    }
    ret->size = yyjson_get_uint(size);
    ret->chunks = yyjson_get_uint(chunks);
    if (ret->size > OBJECT_SIZE_MAX) {
        return refuse(err, ret->name, "it is larger than 512 MiB");
    }
    return ret->chunks > ret->size || (ret->chunks == 0) != (ret->size == 0)
                   ? refuse(err, ret->name, "so many chunks cannot have so many bytes")
                   : 0;
}

int object_info_read(const char *text, size_t length, const char *name, struct object_info *ret,
                     struct toolrack_error *err) {
    char digest[OBJECT_DIGEST_ROOM];
    struct object_info found = {.size = 0};
    yyjson_read_err why = {.code = YYJSON_READ_SUCCESS};
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *doc = length <= OBJECT_INFO_MAX ? yyjson_read_opts((char *)(uintptr_t)text, length,
                                                                   YYJSON_READ_NOFLAG, NULL, &why)
                                                : NULL;
    yyjson_val *root = yyjson_doc_get_root(doc);
    if (why.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION) {
        return error_oom(err);
    }
    if (!yyjson_is_obj(root)) {
        return refuse(err, name, "it is no JSON object of at most 64 KiB");
    }
    if (!read_text(root, "name", found.name, sizeof found.name) || found.name[0] == '\0') {
        return refuse(err, name, "\"name\" is no text of at most 255 bytes");
    }
    if (name != NULL && strcmp(name, found.name) != 0) {
        return refuse(err, name, "it is of an object of another name");
    }
    found.deleted = yyjson_is_true(yyjson_obj_get(root, "deleted"));
    bool has_nuid = read_text(root, "nuid", found.nuid, sizeof found.nuid) && is_token(found.nuid);
    if (found.deleted) {
        found.nuid[0] = has_nuid ? found.nuid[0] : '\0';
        *ret = found;
        return 0;
    }
    if (!has_nuid) {
        return refuse(err, found.name,
                      "\"nuid\" is no name of chunks (a link to another object has none)");
    }
    if (!read_text(root, "digest", digest, sizeof digest) ||
        !object_digest_read(digest, found.hash)) {
        return refuse(err, found.name, "\"digest\" is no \"SHA-256=\" with a hash");
    }
    int code = read_size(root, &found, err);
    if (code == 0) {
        *ret = found;
    }
    return code;
}
