#include "serve/http/jwt.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/json.h"

/* Largest time that is read: the year 9999. */
#define TIME_S_MAX 253402300799.0

static const struct {
    const char *name;
    const char *key_type;
    const char *curve;
} algorithms[] = {
#define ALGORITHM(name, key_type, curve) {name, key_type, curve},
        JWT_ALGORITHMS(ALGORITHM)
#undef ALGORITHM
};

/* ---------------------------------------------------------------- base64url */

static int value_of(char c) {
    return c >= 'A' && c <= 'Z'   ? c - 'A'
           : c >= 'a' && c <= 'z' ? c - 'a' + 26
           : ascii_is_digit(c)    ? c - '0' + 52
           : c == '-'             ? 62
           : c == '_'             ? 63
                                  : -1;
}

/* Without padding, as RFC 7515 has it; strict, so that one value has one text. False: it is none.
 */
static bool decode(const char *text, size_t length, char *ret, size_t *ret_length) {
    uint32_t bits = 0;
    unsigned count = 0;
    size_t written = 0;
    if (length % 4 == 1) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        int value = value_of(text[i]);
        if (value < 0) {
            return false;
        }
        bits = (bits << 6 | (uint32_t)value) & 0xffffffu;
        count += 6;
        if (count >= 8) {
            count -= 8;
            ret[written++] = (char)(unsigned char)(bits >> count);
        }
    }
    *ret_length = written;
    return (bits & ((1u << count) - 1u)) == 0;
}

/* The library that verifies the signature takes it in more than one form, such as with padding. */
static bool is_encoded(const char *text, size_t length) {
    CLEANUP(freep) char *bytes = malloc(length + 1);
    size_t size;
    return bytes != NULL && decode(text, length, bytes, &size);
}

static yyjson_doc *read_part(const char *text, size_t length) {
    CLEANUP(freep) char *json = malloc(length + YYJSON_PADDING_SIZE + 1);
    size_t size;
    if (json == NULL || !decode(text, length, json, &size)) {
        return NULL;
    }
    yyjson_doc *doc = yyjson_read(json, size, 0);
    if (!yyjson_is_obj(yyjson_doc_get_root(doc))) {
        yyjson_doc_free(doc);
        doc = NULL;
    }
    return doc;
}

/* ---------------------------------------------------------------- members */

static yyjson_val *claim(const struct jwt *jwt, const char *name) {
    return yyjson_obj_get(yyjson_doc_get_root(jwt->claims), name);
}

/* A string without a zero in it, which would end it early elsewhere. */
static const char *string_of(yyjson_val *value) {
    const char *text = yyjson_get_str(value);
    return text != NULL && strlen(text) == yyjson_get_len(value) ? text : NULL;
}

/* Two members of one name may be read in two ways. */
static bool has_twice(yyjson_val *object) {
    yyjson_val *key;
    yyjson_val *value;
    size_t index;
    size_t max;
    json_obj_foreach (object, index, max, key, value) {
        if (yyjson_obj_getn(object, yyjson_get_str(key), yyjson_get_len(key)) != value) {
            return true;
        }
    }
    return false;
}

static const char *read_header(struct jwt *jwt) {
    yyjson_val *root = yyjson_doc_get_root(jwt->header);
    const char *algorithm = string_of(yyjson_obj_get(root, "alg"));
    const char *type = string_of(yyjson_obj_get(root, "typ"));
    yyjson_val *key_id = yyjson_obj_get(root, "kid");
    for (size_t i = 0; algorithm != NULL && i < ARRAY_LENGTH(algorithms); i++) {
        if (strcmp(algorithm, algorithms[i].name) == 0) {
            jwt->algorithm = algorithms[i].name;
            jwt->key_type = algorithms[i].key_type;
            jwt->curve = algorithms[i].curve;
        }
    }
    if (jwt->algorithm == NULL) {
        return "is signed by an algorithm that is not accepted";
    }
    if (yyjson_obj_get(root, "crit") != NULL) {
        return "has a critical header that is not understood";
    }
    if (yyjson_obj_get(root, "typ") != NULL &&
        (type == NULL || (strcasecmp(type, "JWT") != 0 && strcasecmp(type, "at+jwt") != 0 &&
                          strcasecmp(type, "application/at+jwt") != 0))) {
        return "is no access token";
    }
    jwt->key_id = string_of(key_id);
    return key_id != NULL && jwt->key_id == NULL ? "has a wrong key id" : NULL;
}

const char *jwt_read(const char *text, size_t length, struct jwt *ret) {
    *ret = (struct jwt){0};
    const char *claims = memchr(text, '.', length);
    const char *signature =
            claims == NULL ? NULL : memchr(claims + 1, '.', length - (size_t)(claims + 1 - text));
    if (length > JWT_LENGTH_MAX || signature == NULL ||
        !is_encoded(signature + 1, length - (size_t)(signature + 1 - text))) {
        return "is no JSON Web Token";
    }
    ret->header = read_part(text, (size_t)(claims - text));
    ret->claims = read_part(claims + 1, (size_t)(signature - claims) - 1);
    if (ret->header == NULL || ret->claims == NULL || has_twice(yyjson_doc_get_root(ret->header)) ||
        has_twice(yyjson_doc_get_root(ret->claims))) {
        return "is no JSON Web Token";
    }
    return read_header(ret);
}

void jwt_finish(struct jwt *jwt) {
    yyjson_doc_free(jwt->header);
    yyjson_doc_free(jwt->claims);
    *jwt = (struct jwt){0};
}

/* ---------------------------------------------------------------- checks */

/* Seconds since 1970, perhaps with a fraction. False: there is no such time. */
static bool time_of(yyjson_val *value, double *ret) {
    *ret = yyjson_get_num(value);
    return yyjson_is_num(value) && *ret >= 0 && *ret <= TIME_S_MAX;
}

const char *jwt_check(const struct jwt *jwt, const struct jwt_rules *rules) {
    double expires;
    double begins;
    yyjson_val *not_before = claim(jwt, "nbf");
    if (!json_has_text(claim(jwt, "iss"), rules->issuer) || yyjson_is_arr(claim(jwt, "iss"))) {
        return "is of another issuer";
    }
    if (!json_has_text(claim(jwt, "aud"), rules->audience) &&
        (rules->audience_2 == NULL || !json_has_text(claim(jwt, "aud"), rules->audience_2))) {
        return "is for another audience";
    }
    if (!time_of(claim(jwt, "exp"), &expires)) {
        return "does not state when it expires";
    }
    if (expires + (double)rules->skew_s <= (double)rules->now_s) {
        return "has expired";
    }
    if (not_before != NULL &&
        (!time_of(not_before, &begins) || begins - (double)rules->skew_s > (double)rules->now_s)) {
        return "is not valid yet";
    }
    const char *subject = jwt_subject(jwt);
    return subject == NULL || subject[0] == '\0' ? "does not state its subject" : NULL;
}

/* Whether a list of words has one. */
static bool has_word(const char *list, const char *word) {
    size_t length = strlen(word);
    for (const char *at = list; at != NULL && *at != '\0';) {
        size_t span = strcspn(at, " ");
        if (span == length && memcmp(at, word, length) == 0) {
            return true;
        }
        at += span + (at[span] == ' ');
    }
    return false;
}

bool jwt_has_scope(const struct jwt *jwt, const char *scope) {
    yyjson_val *scp = claim(jwt, "scp");
    return has_word(string_of(claim(jwt, "scope")), scope) || has_word(string_of(scp), scope) ||
           (yyjson_is_arr(scp) && json_has_text(scp, scope));
}

const char *jwt_subject(const struct jwt *jwt) {
    return string_of(claim(jwt, "sub"));
}

int64_t jwt_expires_s(const struct jwt *jwt) {
    double expires;
    return time_of(claim(jwt, "exp"), &expires) ? (int64_t)expires : 0;
}
