#include "remote/nats/decision.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json-string.h"
#include "base/json.h"
#include "base/semver.h"
#include "remote/nats/message.h"

#define DIGEST_LENGTH (ANNOUNCE_DIGEST_ROOM - 1)
/* Longest value: a version and a digest. */
#define VALUE_MAX     (SEMVER_LENGTH_MAX + 1 + DIGEST_LENGTH)

/* ------------------------------------------------------------------- kinds */

static const char *const kinds[STORE_SHARED_KINDS] = {[STORE_SHARED_ENABLED] = "enabled",
                                                      [STORE_SHARED_PRIORITY] = "priority",
                                                      [STORE_SHARED_DEFAULT] = "default",
                                                      [STORE_SHARED_GRANT] = "grant",
                                                      [STORE_SHARED_LIST] = "list"};

const char *decision_kind_name(enum store_shared_kind kind) {
    return kinds[kind];
}

bool decision_kind_find(const char *name, enum store_shared_kind *ret) {
    for (int i = 0; i < STORE_SHARED_KINDS; i++) {
        if (strcmp(kinds[i], name) == 0) {
            *ret = (enum store_shared_kind)i;
            return true;
        }
    }
    return false;
}

static bool is_digest(const char *text) {
    return strlen(text) == DIGEST_LENGTH && strspn(text, "0123456789abcdef") == DIGEST_LENGTH;
}

/* A number written as this program writes it. */
static bool read_number(const char *text, int64_t min, int64_t max, int64_t *ret) {
    char again[24];
    char *end = NULL;
    errno = 0;
    *ret = strtoll(text, &end, 10);
    (void)snprintf(again, sizeof again, "%lld", (long long)*ret);
    return errno == 0 && *ret >= min && *ret <= max && strcmp(again, text) == 0;
}

static bool is_version_with_digest(const char *value) {
    char version[SEMVER_LENGTH_MAX + 1];
    size_t length = strcspn(value, " ");
    if (value[length] != ' ' || length >= sizeof version) {
        return false;
    }
    memcpy(version, value, length);
    version[length] = '\0';
    return semver_valid(version) && is_digest(value + length + 1);
}

static bool is_value(enum store_shared_kind kind, const char *value) {
    int64_t number;
    switch (kind) {
    case STORE_SHARED_ENABLED: return strcmp(value, "true") == 0 || strcmp(value, "false") == 0;
    case STORE_SHARED_PRIORITY: return read_number(value, INT32_MIN, INT32_MAX, &number);
    case STORE_SHARED_DEFAULT: return is_version_with_digest(value);
    case STORE_SHARED_GRANT: return read_number(value, 0, DECISION_STAMP_MAX, &number);
    case STORE_SHARED_LIST:
        return strcmp(value, "blacklist") == 0 || strcmp(value, "whitelist") == 0;
    case STORE_SHARED_KINDS: break;
    }
    return false;
}

/* See host/README.md, "Decisions of the group". */
static int64_t care_of(enum store_shared_kind kind, const char *value) {
    int64_t number = 0;
    switch (kind) {
    case STORE_SHARED_ENABLED: return value == NULL ? 1 : value[0] == 'f' ? 2 : 0;
    case STORE_SHARED_LIST: return value == NULL ? 1 : value[0] == 'b' ? 2 : 0;
    case STORE_SHARED_DEFAULT: return value == NULL;
    case STORE_SHARED_PRIORITY:
        return value != NULL && read_number(value, INT32_MIN, INT32_MAX, &number) ? -number
                                                                                  : INT64_MIN;
    case STORE_SHARED_GRANT:
        return value == NULL                                        ? INT64_MAX
               : read_number(value, 1, DECISION_STAMP_MAX, &number) ? -number
                                                                    : INT64_MIN;
    case STORE_SHARED_KINDS: break;
    }
    return 0;
}

/* ------------------------------------------------------------------- write */

static void add_token(struct buf *out, const char *text) {
    size_t length = strlen(text);
    if (length > SUBJECT_NAME_MAX) {
        out->failed = true;
        return;
    }
    subject_add_token(out, text, length);
}

void decision_add_thing(struct buf *out, enum store_shared_kind kind, const char *selector,
                        const char *digest) {
    buf_printf(out, "%s.", decision_kind_name(kind));
    add_token(out, selector);
    buf_printf(out, ".%s", digest);
}

void decision_add_key(struct buf *out, const struct decision *decision) {
    decision_add_thing(out, decision->kind, decision->selector, decision->digest);
    buf_add_char(out, '.');
    add_token(out, decision->host);
}

/* NULL is left out. */
static void add_member(struct buf *out, const char *name, const char *text, size_t size_max) {
    if (text != NULL) {
        size_t length = strlen(text);
        length = length <= size_max ? length : size_max;
        while (length > 0 && ((unsigned char)text[length] & 0xc0u) == 0x80u) {
            length--; /* not within a character */
        }
        buf_printf(out, ",\"%s\":", name);
        out->failed = !buf_add_json_text(out, text, length) || out->failed;
    }
}

static void write_text(const struct decision *decision, struct buf *out) {
    buf_printf(out, "{\"v\":%d", SUBJECT_VERSION);
    add_member(out, "kind", decision_kind_name(decision->kind), SIZE_MAX);
    add_member(out, "selector", decision->selector, SIZE_MAX);
    add_member(out, "digest", decision->digest, SIZE_MAX);
    add_member(out, "host", decision->host, SIZE_MAX);
    buf_printf(out, ",\"stamp\":%lld", (long long)decision->stamp);
    add_member(out, "value", decision->value, SIZE_MAX);
    add_member(out, "name", decision->name, SIZE_MAX);
    add_member(out, "who", decision->who, DECISION_WHO_MAX);
    add_member(out, "why", decision->why, DECISION_WHY_MAX);
    buf_add_text(out, ",\"seen\":{");
    for (size_t i = 0; i < decision->seen_count; i++) {
        buf_printf(out, "%s\"%s\":%lld", i == 0 ? "" : ",", decision->seen[i].host,
                   (long long)decision->seen[i].stamp);
    }
    buf_add_text(out, "}}");
}

static struct key_statement statement_of(const char *group, const char *text, size_t length) {
    return (struct key_statement){.purpose = "decision",
                                  .group = group,
                                  .instance = "", /* it outlives a start of its host */
                                  .time = "",
                                  .nonce = "",
                                  .data = text,
                                  .length = length};
}

void decision_seal(const struct decision *decision, const char *group, const struct key *key,
                   struct buf *out) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    char signature[KEY_SIGNATURE_ROOM];
    write_text(decision, &text);
    if (text.failed) {
        out->failed = true;
        return;
    }
    const struct key_statement statement = statement_of(group, text.data, text.length);
    key_sign(key, &statement, signature);
    buf_printf(out, "{\"v\":%d,\"signature\":\"%s\",\"decision\":", SUBJECT_VERSION, signature);
    out->failed = !buf_add_json_text(out, text.data, text.length) || out->failed;
    buf_add_char(out, '}');
    out->failed = out->failed || out->length > DECISION_SIZE_MAX;
}

/* -------------------------------------------------------------------- read */

/* A text of at most so many bytes, without U+0000; NULL: it is none. */
static const char *text_of(yyjson_val *object, const char *name, size_t size_max) {
    yyjson_val *value = yyjson_obj_get(object, name);
    const char *text = yyjson_get_str(value);
    return text != NULL && yyjson_get_len(value) <= size_max &&
                           strlen(text) == yyjson_get_len(value)
                   ? text
                   : NULL;
}

static int refuse(const char *member, struct toolrack_error *err) {
    return error_set(err, TOOLRACK_E_INVALID, "it has no usable \"%s\"", member);
}

static bool read_stamp(yyjson_val *value, int64_t *ret) {
    *ret = yyjson_get_sint(value);
    return yyjson_is_int(value) && *ret > 0 && *ret <= DECISION_STAMP_MAX;
}

static int read_seen(yyjson_val *seen, struct arena *arena, struct decision *ret,
                     struct toolrack_error *err) {
    size_t at;
    size_t count;
    yyjson_val *host;
    yyjson_val *stamp;
    if (!yyjson_is_obj(seen) || yyjson_obj_size(seen) > DECISION_SEEN_MAX) {
        return refuse("seen", err);
    }
    struct merge_seen *all = arena_zalloc(arena, (yyjson_obj_size(seen) + 1) * sizeof *all);
    if (all == NULL) {
        return error_oom(err);
    }
    ret->seen = all;
    json_obj_foreach (seen, at, count, host, stamp) {
        all[at].host = yyjson_get_str(host);
        if (strlen(all[at].host) != yyjson_get_len(host) || !key_is_public(all[at].host) ||
            !read_stamp(stamp, &all[at].stamp)) {
            return refuse("seen", err);
        }
    }
    ret->seen_count = yyjson_obj_size(seen);
    return 0;
}

/* What people read has no control characters. */
static bool is_plain(const char *text) {
    for (; text != NULL && *text != '\0'; text++) {
        if ((unsigned char)*text < ' ' || *text == 0x7f) {
            return false;
        }
    }
    return true;
}

int decision_read(const char *text, size_t length, struct arena *arena, struct decision *ret,
                  struct toolrack_error *err) {
    yyjson_val *root = message_read(text, length, arena, "a decision", err);
    if (root == NULL) {
        return err->code;
    }
    const char *kind = text_of(root, "kind", 32);
    *ret = (struct decision){.selector = text_of(root, "selector", SUBJECT_NAME_MAX),
                             .digest = text_of(root, "digest", DIGEST_LENGTH),
                             .host = text_of(root, "host", KEY_TEXT_ROOM - 1),
                             .value = text_of(root, "value", VALUE_MAX),
                             .name = text_of(root, "name", 63),
                             .who = text_of(root, "who", DECISION_WHO_MAX),
                             .why = text_of(root, "why", DECISION_WHY_MAX)};
    if (kind == NULL || !decision_kind_find(kind, &ret->kind)) {
        return refuse("kind", err);
    }
    if (ret->selector == NULL || ret->selector[0] == '\0' || !is_plain(ret->selector)) {
        return refuse("selector", err);
    }
    if (ret->digest == NULL || !is_digest(ret->digest)) {
        return refuse("digest", err);
    }
    if (ret->host == NULL || !key_is_public(ret->host)) {
        return refuse("host", err);
    }
    if (!read_stamp(yyjson_obj_get(root, "stamp"), &ret->stamp)) {
        return refuse("stamp", err);
    }
    if ((yyjson_obj_get(root, "value") != NULL && ret->value == NULL) ||
        (ret->value != NULL && !is_value(ret->kind, ret->value))) {
        return refuse("value", err);
    }
    if (ret->name == NULL || !is_plain(ret->name)) {
        return refuse("name", err);
    }
    if (!is_plain(ret->who) || !is_plain(ret->why)) {
        return refuse(is_plain(ret->who) ? "why" : "who", err);
    }
    return read_seen(yyjson_obj_get(root, "seen"), arena, ret, err);
}

static int check_key(const struct decision *decision, const char *key, struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf own = BUF_INIT;
    decision_add_key(&own, decision);
    return own.failed                   ? error_oom(err)
           : strcmp(own.data, key) == 0 ? 0
                                        : error_set(err, TOOLRACK_E_INVALID,
                                                    "it is one of another key, %.200s", own.data);
}

int decision_open(const char *value, size_t length, const char *group, const char *key,
                  struct arena *arena, struct decision *ret, struct toolrack_error *err) {
    if (length > DECISION_SIZE_MAX) {
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED, "it has %zu bytes, at most %u may be",
                         length, DECISION_SIZE_MAX);
    }
    yyjson_val *root = message_read(value, length, arena, "a decision", err);
    if (root == NULL) {
        return err->code;
    }
    const char *signature = text_of(root, "signature", KEY_SIGNATURE_ROOM - 1);
    const char *text = text_of(root, "decision", DECISION_SIZE_MAX);
    if (signature == NULL || text == NULL) {
        return refuse(signature == NULL ? "signature" : "decision", err);
    }
    int code = decision_read(text, strlen(text), arena, ret, err);
    code = code < 0 ? code : check_key(ret, key, err);
    if (code < 0) {
        return code;
    }
    const struct key_statement statement = statement_of(group, text, strlen(text));
    return key_verify(ret->host, signature, &statement)
                   ? 0
                   : error_set(err, TOOLRACK_E_PERMISSION_DENIED,
                               "its signature is not that of its host for this group");
}

/* ------------------------------------------------------------------- weigh */

void decision_weigh(const struct decision *decision, const char *text, struct merge_decision *ret) {
    *ret = (struct merge_decision){.host = decision->host,
                                   .stamp = decision->stamp,
                                   .care = care_of(decision->kind, decision->value),
                                   .seen = decision->seen,
                                   .seen_count = decision->seen_count,
                                   .text = text};
}
