#include "provider/parameters.h"

#include <string.h>
#include <yyjson.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "provider/endpoint.h"
#include "provider/secret-name.h"

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)
CLEANUP_DEFINE(yyjson_mut_doc, yyjson_mut_doc_free)

/* Where each format has a parameter. */
static const struct {
    const char *name;
    const char *places[TOOLRACK_FORMAT_MCP];
} known[] = {
        {"temperature",
         {"temperature", "temperature", "temperature", "generationConfig.temperature",
          "options.temperature"}},
        {"top_p", {"top_p", "top_p", "top_p", "generationConfig.topP", "options.top_p"}},
        {"top_k", {"top_k", "top_k", "top_k", "generationConfig.topK", "options.top_k"}},
        {"max_tokens",
         {"max_tokens", "max_output_tokens", "max_tokens", "generationConfig.maxOutputTokens",
          "options.num_predict"}},
        {"seed", {"seed", "seed", "seed", "generationConfig.seed", "options.seed"}},
        {"stop",
         {"stop", "stop", "stop_sequences", "generationConfig.stopSequences", "options.stop"}},
};
_Static_assert(TOOLRACK_FORMAT_OPENAI == 0 && TOOLRACK_FORMAT_OPENAI_RESPONSES == 1 &&
                       TOOLRACK_FORMAT_ANTHROPIC == 2 && TOOLRACK_FORMAT_GEMINI == 3 &&
                       TOOLRACK_FORMAT_OLLAMA == 4,
               "the places are in the order of the formats");

/* What the conversation sets itself. */
static const char *const own[] = {"model",  "messages", "input",        "contents",         "tools",
                                  "stream", "system",   "instructions", "systemInstruction"};

static const char *place_of(enum toolrack_format format, const char *url, const char *name,
                            size_t length) {
    static const char limit[] = "max_tokens";
    if (format == TOOLRACK_FORMAT_OPENAI && length == sizeof limit - 1 &&
        memcmp(name, limit, length) == 0 && (endpoint_is_openai(url) || endpoint_is_azure(url))) {
        return "max_completion_tokens"; /* its models that think refuse the older name */
    }
    for (size_t i = 0; i < ARRAY_LENGTH(known); i++) {
        if (strlen(known[i].name) == length && memcmp(known[i].name, name, length) == 0) {
            return known[i].places[format];
        }
    }
    return NULL;
}

static bool is_own(const char *name, size_t length) {
    for (size_t i = 0; i < ARRAY_LENGTH(own); i++) {
        if (strlen(own[i]) == length && memcmp(own[i], name, length) == 0) {
            return true;
        }
    }
    return false;
}

/* The value as JSON, or else as a string; NULL: no memory. */
static yyjson_mut_val *read_value(yyjson_mut_doc *doc, const char *text) {
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *read = yyjson_read(text, strlen(text), YYJSON_READ_NUMBER_AS_RAW);
    return read != NULL ? yyjson_val_mut_copy(doc, yyjson_doc_get_root(read))
                        : yyjson_mut_strcpy(doc, text);
}

/* Put a value at "a.b.c". @return whether it was put: memory ran out, or a step is no object */
static bool put(yyjson_mut_doc *doc, yyjson_mut_val *root, const char *place, size_t length,
                yyjson_mut_val *value) {
    yyjson_mut_val *object = root;
    for (;;) {
        const char *dot = memchr(place, '.', length);
        size_t step = dot != NULL ? (size_t)(dot - place) : length;
        yyjson_mut_val *key = yyjson_mut_strncpy(doc, place, step);
        if (step == 0 || key == NULL || value == NULL) {
            return false;
        }
        if (dot == NULL) {
            return yyjson_mut_obj_put(object, key, value);
        }
        yyjson_mut_val *inner = yyjson_mut_obj_getn(object, place, step);
        if (inner == NULL) {
            inner = yyjson_mut_obj(doc);
            (void)yyjson_mut_obj_put(object, key, inner);
        }
        if (!yyjson_mut_is_obj(inner)) {
            return false;
        }
        object = inner;
        place += step + 1;
        length -= step + 1;
    }
}

/* Refuse a key: the transcript keeps the body of a request. */
static int check_secret(const char *name, size_t length, const char *value,
                        struct toolrack_error *err) {
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *read = yyjson_read(value, strlen(value), YYJSON_READ_NUMBER_AS_RAW);
    yyjson_val *root = yyjson_doc_get_root(read);
    const char *dot = memrchr(name, '.', length);
    const size_t last = dot != NULL ? (size_t)(dot + 1 - name) : 0;
    const char *inside = secret_name_in(root);
    if (inside == NULL && (yyjson_is_ctn(root) || !secret_name(name + last, length - last))) {
        return 0;
    }
    return error_set(err, TOOLRACK_E_INVALID,
                     "the parameter %.*s%s%.64s looks like a key, which would be kept in the "
                     "transcript: put it into the environment (\"key_env\" of a model names the "
                     "variable), or into a header",
                     (int)length, name, inside != NULL ? ", member " : "",
                     inside != NULL ? inside : "");
}

static int take(enum toolrack_format format, const char *url, yyjson_mut_doc *doc,
                yyjson_mut_val *root, const char *parameter, struct toolrack_error *err) {
    const char *equals = strchr(parameter, '=');
    size_t length = equals != NULL ? (size_t)(equals - parameter) : 0;
    if (length == 0 || !utf8_valid(parameter, strlen(parameter))) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "a parameter is NAME=VALUE, such as temperature=0.2, and not \"%s\"",
                         parameter);
    }
    int code = check_secret(parameter, length, equals + 1, err);
    if (code < 0) {
        return code;
    }
    const char *place = place_of(format, url, parameter, length);
    size_t place_length = place != NULL ? strlen(place) : length;
    place = place != NULL ? place : parameter;
    size_t depth = 1;
    for (size_t i = 0; i < place_length; i++) {
        depth += place[i] == '.';
    }
    const char *dot = memchr(place, '.', place_length);
    if (is_own(place, dot != NULL ? (size_t)(dot - place) : place_length)) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "the parameter %.*s is set by the conversation itself: leave it out",
                         (int)length, parameter);
    }
    if (depth > PARAMETERS_DEPTH_MAX ||
        !put(doc, root, place, place_length, read_value(doc, equals + 1))) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "the parameter %.*s has no place: a name has at most %u steps, none of "
                         "them empty, and goes through objects only",
                         (int)length, parameter, PARAMETERS_DEPTH_MAX);
    }
    return 0;
}

int parameters_write(enum toolrack_format format, const char *url, const char *const *parameters,
                     struct buf *out, struct toolrack_error *err) {
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    if (root == NULL) {
        return error_oom(err);
    }
    for (size_t i = 0; parameters != NULL && parameters[i] != NULL; i++) {
        if (i == PARAMETERS_MAX) {
            return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED, "there are more than %u parameters",
                             PARAMETERS_MAX);
        }
        int code = take(format, url, doc, root, parameters[i], err);
        if (code < 0) {
            return code;
        }
    }
    CLEANUP(freep) char *text = yyjson_mut_val_write(root, 0, NULL);
    if (text == NULL) {
        return error_oom(err);
    }
    size_t length = strlen(text);
    if (length > 2) { /* "{}" */
        buf_add(out, text + 1, length - 2);
        buf_add_char(out, ',');
    }
    return out->failed ? error_oom(err) : 0;
}
