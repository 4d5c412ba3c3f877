#include "serve/http/settings.h"

#include <grp.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

static const struct {
    const char *name;
    size_t offset;
    uint32_t value;
} limits[] = {
#define LIMIT(name, value) {#name, offsetof(struct limits, name), (value)},
        SETTINGS_LIMITS(LIMIT)
#undef LIMIT
};

static int wrong(struct toolrack_error *err, const char *member, const char *value,
                 const char *instead) {
    return error_set(err, TOOLRACK_E_INVALID, "\"serve\".\"%s\" of the configuration has '%s'; %s",
                     member, value, instead);
}

static void read_limits(yyjson_val *json, struct limits *ret) {
    for (size_t i = 0; i < ARRAY_LENGTH(limits); i++) {
        yyjson_val *value = yyjson_obj_get(json, limits[i].name);
        uint32_t number = limits[i].value;
        if (yyjson_is_uint(value)) {
            uint64_t stated = yyjson_get_uint(value);
            number = stated < UINT32_MAX ? (uint32_t)stated : UINT32_MAX;
        }
        memcpy((char *)ret + limits[i].offset, &number, sizeof number);
    }
}

/* The strings of an array, or one string; NULL-terminated. */
static int read_strings(yyjson_val *json, const char ***ret, size_t *ret_count,
                        struct toolrack_error *err) {
    size_t count = yyjson_is_arr(json) ? yyjson_arr_size(json) : yyjson_is_str(json) ? 1 : 0;
    const char **strings = calloc(count + 1, sizeof *strings);
    if (strings == NULL) {
        return error_oom(err);
    }
    for (size_t i = 0; i < count; i++) {
        yyjson_val *value = yyjson_is_arr(json) ? yyjson_arr_get(json, i) : json;
        strings[i] = yyjson_is_str(value) ? yyjson_get_str(value) : "";
    }
    *ret = strings;
    if (ret_count != NULL) {
        *ret_count = count;
    }
    return 0;
}

/* How the strings of a list are read, each into an element of `size` bytes. */
struct reading {
    const char *member;
    const char *instead; /* advice on a string that cannot be read */
    size_t size;
    bool (*read)(const char *text, void *ret);
};

static bool read_host(const char *text, void *ret) {
    return authority_read(text, strlen(text), ret) && authority_is_named(ret);
}

static bool read_origin(const char *text, void *ret) {
    return origin_read(text, ret);
}

static bool read_network(const char *text, void *ret) {
    return network_read(text, ret);
}

struct list {
    void *elements; /* owned */
    size_t count;
};

static int read_list(yyjson_val *root, const struct reading *reading, struct list *ret,
                     struct toolrack_error *err) {
    CLEANUP(freep) const char **texts = NULL;
    size_t count;
    int code = read_strings(yyjson_obj_get(root, reading->member), &texts, &count, err);
    if (code < 0) {
        return code;
    }
    CLEANUP(freep) char *elements = calloc(count + 1, reading->size);
    if (elements == NULL) {
        return error_oom(err);
    }
    for (size_t i = 0; i < count; i++) {
        if (!reading->read(texts[i], elements + i * reading->size)) {
            return wrong(err, reading->member, texts[i], reading->instead);
        }
    }
    *ret = (struct list){.elements = STEAL(elements), .count = count};
    return 0;
}

static int read_hosts(yyjson_val *root, struct http_settings *settings,
                      struct toolrack_error *err) {
    static const struct reading reading = {.member = "hosts",
                                           .instead = "write a host, such as tools.example.com",
                                           .size = sizeof *settings->hosts,
                                           .read = read_host};
    struct list hosts = {0};
    int code = read_list(root, &reading, &hosts, err);
    settings->hosts = hosts.elements;
    settings->host_count = hosts.count;
    return code;
}

static int read_origins(yyjson_val *root, struct http_settings *settings,
                        struct toolrack_error *err) {
    static const struct reading reading = {.member = "origins",
                                           .instead = "write scheme, host and port alone, such as "
                                                      "https://app.example.org",
                                           .size = sizeof *settings->origins,
                                           .read = read_origin};
    struct list origins = {0};
    int code = read_list(root, &reading, &origins, err);
    settings->origins = origins.elements;
    settings->origin_count = origins.count;
    return code;
}

static int read_proxies(yyjson_val *root, struct http_settings *settings,
                        struct toolrack_error *err) {
    static const struct reading reading = {
            .member = "trusted_proxies",
            .instead = "write an address or a network, such as 127.0.0.1 or 10.0.0.0/8",
            .size = sizeof *settings->proxies,
            .read = read_network};
    struct list proxies = {0};
    int code = read_list(root, &reading, &proxies, err);
    settings->proxies = proxies.elements;
    settings->proxy_count = proxies.count;
    return code;
}

static int read_public_url(yyjson_val *json, struct http_settings *settings,
                           struct toolrack_error *err) {
    const char *url = yyjson_get_str(json);
    if (url == NULL) {
        return 0;
    }
    if (!authority_read_base(url, &settings->public_host)) {
        return wrong(err, "public_url", url,
                     "write the address that clients use, without a slash at "
                     "its end, such as https://tools.example.com");
    }
    settings->public_url = url;
    return 0;
}

static int make_audience(struct http_settings *settings, struct toolrack_error *err) {
    struct oauth *oauth = &settings->oauth;
    if (settings->public_url == NULL) {
        return error_set(
                err, TOOLRACK_E_INVALID,
                "\"serve\".\"oauth\" of the configuration does not say for whom tokens are; "
                "set its \"audience\", or \"public_url\"");
    }
    if (asprintf(&oauth->audience_made, "%s/mcp", settings->public_url) < 0) {
        oauth->audience_made = NULL;
        return error_oom(err);
    }
    oauth->audience = oauth->audience_made;
    return 0;
}

static int read_oauth(yyjson_val *json, struct http_settings *settings,
                      struct toolrack_error *err) {
    static const char *const names[] = {"safe", "confirm", "dangerous"};
    static const char *const otherwise[] = {"toolrack:safe", "toolrack:confirm",
                                            "toolrack:dangerous"};
    struct oauth *oauth = &settings->oauth;
    yyjson_val *skew = yyjson_obj_get(json, "clock_skew_s");
    oauth->issuer = yyjson_get_str(yyjson_obj_get(json, "issuer"));
    if (oauth->issuer == NULL) {
        return 0;
    }
    oauth->audience = yyjson_get_str(yyjson_obj_get(json, "audience"));
    oauth->jwks_url = yyjson_get_str(yyjson_obj_get(json, "jwks_url"));
    oauth->jwks_file = yyjson_get_str(yyjson_obj_get(json, "jwks_file"));
    oauth->clock_skew_s = yyjson_is_uint(skew) ? (uint32_t)yyjson_get_uint(skew) : 60;
    for (size_t i = 0; i < ARRAY_LENGTH(oauth->scopes); i++) {
        const char *scope =
                yyjson_get_str(yyjson_obj_get(yyjson_obj_get(json, "scopes"), names[i]));
        oauth->scopes[i] = scope != NULL ? scope : otherwise[i];
    }
    if (oauth->jwks_url == NULL && oauth->jwks_file == NULL) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "\"serve\".\"oauth\" of the configuration has neither \"jwks_url\" nor "
                         "\"jwks_file\"; set one");
    }
    int code = read_strings(yyjson_obj_get(json, "algorithms"), &oauth->algorithms,
                            &oauth->algorithm_count, err);
    return code < 0 || oauth->audience != NULL ? code : make_audience(settings, err);
}

static int read_tls(yyjson_val *json, struct http_settings *settings, struct toolrack_error *err) {
    settings->certificate = yyjson_get_str(yyjson_obj_get(json, "certificate"));
    settings->key = yyjson_get_str(yyjson_obj_get(json, "key"));
    if ((settings->certificate == NULL) != (settings->key == NULL)) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "\"serve\".\"tls\" of the configuration has only one of \"certificate\" "
                         "and \"key\"; name both files");
    }
    return 0;
}

static int read_admin_group(yyjson_val *json, struct http_settings *settings,
                            struct toolrack_error *err) {
    const char *name = yyjson_get_str(json);
    char memory[16384];
    struct group entry;
    struct group *found = NULL;
    if (name == NULL) {
        return 0;
    }
    if (getgrnam_r(name, &entry, memory, sizeof memory, &found) != 0 || found == NULL) {
        return error_set_field(
                err, TOOLRACK_E_INVALID, "/serve/admin_group",
                "there is no group '%.64s' on this machine; create it or name another", name);
    }
    settings->has_admin_group = true;
    settings->admin_group = found->gr_gid;
    return 0;
}

int http_settings_read(const char *text, struct http_settings *ret, struct toolrack_error *err) {
    *ret = (struct http_settings){.json = yyjson_read(text, strlen(text), 0)};
    if (ret->json == NULL) {
        return error_oom(err);
    }
    yyjson_val *root = yyjson_doc_get_root(ret->json);
    read_limits(yyjson_obj_get(root, "limits"), &ret->limits);
    int code = read_strings(yyjson_obj_get(root, "listen"), &ret->listen, NULL, err);
    code = code < 0 ? code : read_hosts(root, ret, err);
    code = code < 0 ? code : read_origins(root, ret, err);
    code = code < 0 ? code : read_public_url(yyjson_obj_get(root, "public_url"), ret, err);
    code = code < 0 ? code : read_proxies(root, ret, err);
    code = code < 0 ? code : read_oauth(yyjson_obj_get(root, "oauth"), ret, err);
    yyjson_val *access = yyjson_obj_get(root, "access_log");
    ret->access = yyjson_equals_str(access, "all")      ? SETTINGS_ACCESS_ALL
                  : yyjson_equals_str(access, "errors") ? SETTINGS_ACCESS_ERRORS
                                                        : SETTINGS_ACCESS_OFF;
    ret->socket = yyjson_get_str(yyjson_obj_get(root, "socket"));
    code = code < 0 ? code : read_admin_group(yyjson_obj_get(root, "admin_group"), ret, err);
    return code < 0 ? code : read_tls(yyjson_obj_get(root, "tls"), ret, err);
}

void http_settings_finish(struct http_settings *settings) {
    free(settings->listen);
    free(settings->hosts);
    free(settings->origins);
    free(settings->proxies);
    free(settings->oauth.algorithms);
    free(settings->oauth.audience_made);
    yyjson_doc_free(settings->json);
    *settings = (struct http_settings){0};
}

bool http_settings_trusts(const struct http_settings *settings,
                          const struct sockaddr_storage *address) {
    for (size_t i = 0; i < settings->proxy_count; i++) {
        if (network_has(&settings->proxies[i], address)) {
            return true;
        }
    }
    return false;
}

/* A client leaves the port of its scheme out, and Host has no scheme. */
static bool is_same(const struct authority *stated, const struct authority *host) {
    return strcmp(stated->host, host->host) == 0 &&
           (stated->port == 0 || stated->port == host->port ||
            (host->port == 0 && (stated->port == 80 || stated->port == 443)));
}

bool http_settings_names_host(const struct http_settings *settings, const struct authority *host) {
    for (size_t i = 0; i < settings->host_count; i++) {
        if (is_same(&settings->hosts[i], host)) {
            return true;
        }
    }
    return settings->public_url != NULL && strcmp(settings->public_host.host, host->host) == 0;
}

bool http_settings_has_host(const struct http_settings *settings, const struct authority *host,
                            bool loopback) {
    /* An address cannot be made to point elsewhere, as a name can. */
    return http_settings_names_host(settings, host) || authority_is_loopback(host) ||
           (!loopback && host->kind != HOST_NAME);
}

bool http_settings_names_origin(const struct http_settings *settings, const char *origin) {
    struct origin page;
    bool is_read = settings->origin_count > 0 && origin_read(origin, &page);
    for (size_t i = 0; is_read && i < settings->origin_count; i++) {
        if (origin_is_same(&settings->origins[i], &page)) {
            return true;
        }
    }
    return false;
}

bool http_settings_has_origin(const struct http_settings *settings, const char *origin,
                              const struct authority *host) {
    struct authority from;
    bool https;
    if (http_settings_names_origin(settings, origin)) {
        return true;
    }
    if (!heads_origin(origin, &from, &https)) {
        return false;
    }
    bool is_of_host = strcmp(from.host, host->host) == 0 && from.port == host->port;
    from.port = from.port != 0 ? from.port : https ? 443 : 80;
    return is_of_host || http_settings_names_host(settings, &from) || authority_is_loopback(&from);
}

bool http_settings_is_open(const struct http_settings *settings, bool loopback) {
    /* Whoever can reach a loopback address is a user of this machine, unless a proxy lets others
     * in. */
    return loopback && settings->proxy_count == 0 && settings->oauth.issuer == NULL &&
           (settings->public_url == NULL || authority_is_loopback(&settings->public_host));
}
