#include "package/seen.h"

#include <stdio.h>
#include <string.h>

#include <sodium.h>

#include "base/cleanup.h"
#include "base/clock.h"

#define SEEN_SIZE_MAX 8192u

/* How much the clocks of two machines may differ. */
#define SEEN_SKEW_S 600

static bool name_of(const char *location, char ret[LAYOUT_PATH_MAX]) {
    unsigned char hash[crypto_hash_sha256_BYTES];
    char digits[2 * crypto_hash_sha256_BYTES + 1];
    (void)crypto_hash_sha256(hash, (const unsigned char *)location, strlen(location));
    (void)sodium_bin2hex(digits, sizeof digits, hash, sizeof hash);
    return snprintf(ret, LAYOUT_PATH_MAX, "indexes/%.32s.json", digits) > 0;
}

/* What was seen is compared. */
static int judge_before(yyjson_val *before, const struct seen_index *seen,
                        struct toolrack_error *err) {
    uint64_t number = yyjson_get_uint(yyjson_obj_get(before, "number"));
    const char *key = yyjson_get_str(yyjson_obj_get(before, "key"));
    const char *sha256 = yyjson_get_str(yyjson_obj_get(before, "sha256"));
    if (key == NULL || sha256 == NULL) {
        return error_set(
                err, TOOLRACK_E_IO,
                "what was seen of %s before is damaged; remove the folder packages/indexes "
                "of the state folder to begin anew",
                seen->location);
    }
    if (!keyring_key_follows(seen->key, key)) {
        return error_set(err, TOOLRACK_E_PERMISSION_DENIED,
                         "%s is signed by the key %s, and was signed by %s before, which has not "
                         "signed over to it",
                         seen->location, seen->key->id, key);
    }
    if (seen->index->number < number) {
        return error_set(
                err, TOOLRACK_E_REFUSED,
                "%s has the number %llu, and %llu was seen before: somebody shows an older "
                "index (a downgrade)",
                seen->location, (unsigned long long)seen->index->number,
                (unsigned long long)number);
    }
    if (seen->index->number == number && strcmp(sha256, seen->sha256) != 0) {
        return error_set(err, TOOLRACK_E_REFUSED,
                         "%s has the number %llu as before, and other contents: each change of an "
                         "index needs a higher number",
                         seen->location, (unsigned long long)number);
    }
    return 0;
}

/* Whoever makes an index of tomorrow today has a clock that is wrong, or wants it to outlive its
 * time. */
static int judge_time(const struct seen_index *seen, int64_t now_s, struct toolrack_error *err) {
    char created[CLOCK_TEXT_ROOM];
    char expires[CLOCK_TEXT_ROOM];
    const struct package_index *index = seen->index;
    if (index->created_s > now_s + SEEN_SKEW_S) {
        return error_set(err, TOOLRACK_E_REFUSED,
                         "%s was made on %s, which is in the future: the clock of this machine is "
                         "wrong, or that of its publisher, who has to make it again then",
                         seen->location, clock_wall_text(index->created_s, created));
    }
    if (index->expires_s <= now_s) {
        return error_set(err, TOOLRACK_E_REFUSED,
                         "%s has expired on %s: somebody shows an old index (a freeze), or its "
                         "publisher has to make it again, or the clock of this machine is wrong",
                         seen->location, clock_wall_text(index->expires_s, expires));
    }
    return 0;
}

int seen_judge(const struct layout *layout, const struct seen_index *seen, int64_t now_s,
               bool *ret_new, struct toolrack_error *err) {
    char name[LAYOUT_PATH_MAX];
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    *ret_new = true;
    int code = judge_time(seen, now_s, err);
    if (code < 0) {
        return code;
    }
    code = name_of(seen->location, name) ? layout_read(layout, name, SEEN_SIZE_MAX, &text, err)
                                         : error_oom(err);
    if (code == TOOLRACK_E_NOT_FOUND) {
        return 0;
    }
    if (code < 0) {
        return code;
    }
    yyjson_doc *doc = yyjson_read(text.data, text.length, 0);
    yyjson_val *before = yyjson_doc_get_root(doc);
    code = judge_before(before, seen, err);
    *ret_new = code == 0 &&
               !(yyjson_get_uint(yyjson_obj_get(before, "number")) == seen->index->number &&
                 yyjson_equals_str(yyjson_obj_get(before, "key"), seen->key->id));
    yyjson_doc_free(doc);
    return code;
}

int seen_note(const struct layout *layout, const struct seen_index *seen,
              struct toolrack_error *err) {
    char name[LAYOUT_PATH_MAX];
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    buf_printf(&text, "{\"number\": %llu, \"sha256\": \"%s\", \"key\": \"%s\"}\n",
               (unsigned long long)seen->index->number, seen->sha256, seen->key->id);
    return name_of(seen->location, name) ? layout_write(layout, name, &text, err) : error_oom(err);
}
