#include "provider/endpoint.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "net/libcurl.h"
#include "provider/secret-name.h"

/* Release a URL handle, or a string that curl allocated. */
static void url_cleanup(CURLU **url) {
    curl.url_cleanup(*url);
}

static void curl_freep(char **text) {
    curl.free(*text);
}

/* The base of OpenAI's and Google's clients ends with the version, so a base with a path has it, as
 * whatever it is called there. That of the others ends before it: behind their path it may be
 * missing. */
struct paths {
    const char *version; /* that a base may omit */
    bool has_version;    /* a base with any path has it */
    const char *method;
};

static const struct paths paths[TOOLRACK_FORMAT_COUNT] = {
        [TOOLRACK_FORMAT_OPENAI] = {"/v1", true, "/chat/completions"},
        [TOOLRACK_FORMAT_OPENAI_RESPONSES] = {"/v1", true, "/responses"},
        [TOOLRACK_FORMAT_ANTHROPIC] = {"/v1", false, "/messages"},
        [TOOLRACK_FORMAT_GEMINI] = {"/v1beta", true, ""}, /* the method has the model */
        [TOOLRACK_FORMAT_OLLAMA] = {"/api", false, "/chat"},
};

static bool ends_with(const struct buf *text, const char *end) {
    size_t length = strlen(end);
    return text->length >= length && memcmp(text->data + text->length - length, end, length) == 0;
}

/* "/models/NAME:streamGenerateContent". Some names include their collection: "tunedModels/mine". */
static int gemini_method(const char *model, struct buf *out, struct toolrack_error *err) {
    const char *slash = strchr(model, '/');
    const char *name = slash != NULL ? slash + 1 : model;
    CLEANUP(curl_freep) char *escaped = curl.easy_escape(NULL, name, 0);
    CLEANUP(curl_freep)
    char *collection = slash != NULL ? curl.easy_escape(NULL, model, (int)(slash - model)) : NULL;
    if (escaped == NULL || (slash != NULL && collection == NULL)) {
        return error_oom(err);
    }
    buf_printf(out, "/%s/%s:streamGenerateContent", slash != NULL ? collection : "models", escaped);
    return 0;
}

/* Whether the last step of a path is the version, or another: "/v2", "/v1beta". */
static bool has_version(const struct paths *paths_of, const struct buf *path) {
    const char *last = path->length > 0 ? strrchr(path->data, '/') : NULL;
    return (paths_of->has_version && path->length > 0) || ends_with(path, paths_of->version) ||
           (last != NULL && last[1] == 'v' && last[2] >= '0' && last[2] <= '9');
}

/* @param model  part of Gemini's method; else NULL */
static int add_method(const struct paths *paths_of, const char *model, struct buf *path,
                      struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf method = BUF_INIT;
    buf_add_text(&method, paths_of->method);
    if (model != NULL && gemini_method(model, &method, err) < 0) {
        return TOOLRACK_E_NO_MEMORY;
    }
    while (path->length > 0 && path->data[path->length - 1] == '/') {
        buf_truncate(path, path->length - 1);
    }
    if (!method.failed && !ends_with(path, method.data)) {
        if (!has_version(paths_of, path)) {
            buf_add_text(path, paths_of->version);
        }
        buf_add(path, method.data, method.length);
    }
    return method.failed || path->failed ? error_oom(err) : 0;
}

static bool has_part(CURLU *url, CURLUPart part) {
    CLEANUP(curl_freep) char *text = NULL;
    return curl.url_get(url, part, &text, 0) == CURLUE_OK;
}

/* Refuse a URL with a key: every proxy and server could log it. */
static int check(CURLU *url, const char *base, struct toolrack_error *err) {
    CLEANUP(curl_freep) char *scheme = NULL;
    if (has_part(url, CURLUPART_USER) || has_part(url, CURLUPART_PASSWORD) ||
        has_part(url, CURLUPART_QUERY) || has_part(url, CURLUPART_FRAGMENT)) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "the endpoint may have only a scheme, a host and a path: put the key "
                         "into the environment, not into the URL");
    }
    if (curl.url_get(url, CURLUPART_SCHEME, &scheme, 0) != CURLUE_OK ||
        (strcmp(scheme, "https") != 0 && strcmp(scheme, "http") != 0)) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "the endpoint \"%s\" must begin with https:// or http://", base);
    }
    return 0;
}

/* What libcurl would tell less plainly. The text is not shown: it may be a key. */
static int check_beginning(const char *base, struct toolrack_error *err) {
    const char *host = strstr(base, "://");
    if (host == NULL) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "the endpoint is not a URL: begin with http:// or https://, such as "
                         "http://127.0.0.1:8000/v1");
    }
    return host[3] != '\0' && strchr("/?#", host[3]) == NULL
                   ? 0
                   : error_set(err, TOOLRACK_E_INVALID,
                               "the endpoint has no host: write it behind \"://\", such as "
                               "http://127.0.0.1:8000/v1");
}

static int make_url(const struct paths *paths_of, const char *base, const char *model, char **ret,
                    struct toolrack_error *err) {
    CLEANUP(url_cleanup) CURLU *url = curl.url();
    if (url == NULL) {
        return error_oom(err);
    }
    if (check_beginning(base, err) < 0) {
        return TOOLRACK_E_INVALID;
    }
    CURLUcode parsed = curl.url_set(url, CURLUPART_URL, base, CURLU_NON_SUPPORT_SCHEME);
    if (parsed != CURLUE_OK) {
        return error_set(err, TOOLRACK_E_INVALID, "the endpoint is not a URL: %s",
                         curl.url_strerror(parsed));
    }
    int code = check(url, base, err);
    if (code < 0) {
        return code;
    }
    CLEANUP(curl_freep) char *before = NULL;
    CLEANUP(buf_finish) struct buf path = BUF_INIT;
    if (curl.url_get(url, CURLUPART_PATH, &before, 0) != CURLUE_OK) {
        return error_oom(err);
    }
    buf_add_text(&path, before);
    code = add_method(paths_of, model, &path, err);
    if (code < 0) {
        return code;
    }
    CLEANUP(curl_freep) char *whole = NULL;
    if (curl.url_set(url, CURLUPART_PATH, path.data, 0) != CURLUE_OK ||
        (model != NULL && curl.url_set(url, CURLUPART_QUERY, "alt=sse", 0) != CURLUE_OK) ||
        curl.url_get(url, CURLUPART_URL, &whole, 0) != CURLUE_OK) {
        return error_oom(err);
    }
    char *copy = strdup(whole);
    if (copy == NULL) {
        return error_oom(err);
    }
    *ret = copy;
    return 0;
}

int endpoint_url(enum toolrack_format format, const char *base, const char *model, char **ret,
                 struct toolrack_error *err) {
    if ((unsigned)format >= TOOLRACK_FORMAT_COUNT || paths[format].version == NULL) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "no model provider uses the format \"%s\"; use " ENDPOINT_FORMATS,
                         toolrack_format_name(format));
    }
    return make_url(&paths[format], base, format == TOOLRACK_FORMAT_GEMINI ? model : NULL, ret,
                    err);
}

int endpoint_embeddings_url(const char *base, char **ret, struct toolrack_error *err) {
    static const struct paths embeddings = {"/v1", true, "/embeddings"};
    return make_url(&embeddings, base, NULL, ret, err);
}

/* Whether the host of a URL is a name, or one below it. */
static bool is_below(const char *url, const char *name) {
    const char *host = url != NULL ? strstr(url, "://") : NULL;
    host = host != NULL ? host + 3 : "";
    size_t length = strcspn(host, ":/?#");
    size_t size = strlen(name);
    return length >= size && strncasecmp(host + length - size, name, size) == 0 &&
           (length == size || host[length - size - 1] == '.');
}

bool endpoint_is_openai(const char *url) {
    return is_below(url, "api.openai.com");
}

bool endpoint_is_azure(const char *url) {
    return is_below(url, "openai.azure.com") || is_below(url, "cognitiveservices.azure.com") ||
           is_below(url, "services.ai.azure.com");
}

static int add_query(CURLU *url, const char *query, struct toolrack_error *err) {
    const char *equals = strchr(query, '=');
    if (equals == NULL || equals == query) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "a part of the query is NAME=VALUE, such as api-version=2024-10-21, and "
                         "not \"%s\"",
                         query);
    }
    if (secret_name(query, (size_t)(equals - query))) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "the query may not have %.*s: put the key into the environment, not into "
                         "the URL",
                         (int)(equals - query), query);
    }
    return curl.url_set(url, CURLUPART_QUERY, query, CURLU_APPENDQUERY | CURLU_URLENCODE) ==
                           CURLUE_OK
                   ? 0
                   : error_oom(err);
}

int endpoint_add_query(char **url, const char *const *query, struct toolrack_error *err) {
    CLEANUP(url_cleanup) CURLU *parts = curl.url();
    CLEANUP(curl_freep) char *whole = NULL;
    if (parts == NULL || curl.url_set(parts, CURLUPART_URL, *url, 0) != CURLUE_OK) {
        return error_oom(err);
    }
    for (size_t i = 0; query != NULL && query[i] != NULL; i++) {
        int code = i < ENDPOINT_QUERY_MAX
                           ? add_query(parts, query[i], err)
                           : error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                                       "the query has more than %u parts", ENDPOINT_QUERY_MAX);
        if (code < 0) {
            return code;
        }
    }
    char *copy = curl.url_get(parts, CURLUPART_URL, &whole, 0) == CURLUE_OK ? strdup(whole) : NULL;
    if (copy == NULL) {
        return error_oom(err);
    }
    free(*url);
    *url = copy;
    return 0;
}
