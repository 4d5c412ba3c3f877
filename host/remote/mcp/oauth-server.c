#include <stdio.h>
#include <string.h>
#include <yyjson.h>

#include "base/json.h"
#include "remote/mcp/oauth-parts.h"
#include "remote/mcp/oauth.h"

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)

/* Get a JSON object. @return 0; 1: there is none; a negative code */
static int get_json(const struct oauth *oauth, const char *url, const struct session_wait *wait,
                    yyjson_doc **ret, struct toolrack_error *err) {
    CLEANUP(web_response_finish) struct web_response response = {0};
    struct oauth_waiting waiting = {.wait = wait};
    int code = web_fetch(&(struct web_request){.url = url}, &oauth->options.rules, oauth_is_over,
                         &waiting, &response, err);
    if (code < 0) {
        return code;
    }
    yyjson_doc *doc = response.status == 200
                              ? yyjson_read(response.body.data, response.body.length - 1, 0)
                              : NULL;
    if (!yyjson_is_obj(yyjson_doc_get_root(doc))) {
        yyjson_doc_free(doc);
        return 1;
    }
    *ret = doc;
    return 0;
}

/* Try well-known places: BEGIN/.well-known/NAMEPATH each; names end with NULL. */
static int get_well_known(const struct oauth *oauth, const char *url, const char *const *names,
                          const struct session_wait *wait, yyjson_doc **ret,
                          struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf origin = BUF_INIT;
    CLEANUP(buf_finish) struct buf path = BUF_INIT;
    int code = 1;
    if (!web_origin(url, &origin) || !web_path(url, &path)) {
        return oauth_refuse(oauth, err, "this is no address of http or https: ", url);
    }
    for (size_t i = 0; code == 1 && names[i] != NULL; i++) {
        CLEANUP(buf_finish) struct buf at = BUF_INIT;
        const char *name = names[i] + 1;
        const char *own = path.length > 0 ? path.data : "";
        switch (names[i][0]) {
        case '>': buf_printf(&at, "%s/.well-known/%s%s", origin.data, name, own); break;
        case '<': buf_printf(&at, "%s%s/.well-known/%s", origin.data, own, name); break;
        default: buf_printf(&at, "%s/.well-known/%s", origin.data, name); break;
        }
        bool is_twice = own[0] == '\0' && names[i][0] != '>';
        if (!is_twice) {
            code = at.failed ? error_oom(err) : get_json(oauth, at.data, wait, ret, err);
        }
    }
    return code;
}

/* Copy a text member; "" if it has none that fits. */
static void copy_member(yyjson_val *object, const char *name, char *ret, size_t room) {
    const char *text = yyjson_get_str(yyjson_obj_get(object, name));
    (void)snprintf(ret, room, "%s", text != NULL && strlen(text) < room ? text : "");
}

static bool is_same_url(const char *a, const char *b) {
    size_t one = strlen(a);
    size_t other = strlen(b);
    one -= one > 0 && a[one - 1] == '/';
    other -= other > 0 && b[other - 1] == '/';
    return one == other && memcmp(a, b, one) == 0;
}

/* Whether a resource is the server, or has it below it. */
static bool has_server(const char *resource, const char *url) {
    CLEANUP(buf_finish) struct buf one = BUF_INIT;
    CLEANUP(buf_finish) struct buf other = BUF_INIT;
    return web_is_same_origin(resource, url) && web_path(resource, &one) && web_path(url, &other) &&
           one.length <= other.length &&
           (one.length == 0 || memcmp(one.data, other.data, one.length) == 0) &&
           (other.length == one.length || other.data[one.length] == '/');
}

static void join_texts(yyjson_val *list, char *ret, size_t room) {
    size_t at;
    size_t count;
    yyjson_val *item;
    size_t length = 0;
    ret[0] = '\0';
    yyjson_arr_foreach (list, at, count, item) {
        const char *text = yyjson_get_str(item);
        if (text != NULL && length + strlen(text) + 2 < room) {
            length += (size_t)snprintf(ret + length, room - length, "%s%s", length > 0 ? " " : "",
                                       text);
        }
    }
}

/* Choose the authorization server: the configured one, or else the first. */
static int choose_issuer(const struct oauth *oauth, yyjson_val *servers, struct endpoint *found,
                         struct toolrack_error *err) {
    const char *wanted = oauth->options.issuer;
    size_t at;
    size_t count;
    yyjson_val *item;
    yyjson_arr_foreach (servers, at, count, item) {
        const char *text = yyjson_get_str(item);
        if (text != NULL && strlen(text) < sizeof found->issuer &&
            (wanted == NULL || is_same_url(text, wanted))) {
            (void)snprintf(found->issuer, sizeof found->issuer, "%s", text);
            return 0;
        }
    }
    return oauth_refuse(oauth, err,
                        wanted != NULL ? "its metadata do not name the \"issuer\" of its \"auth\": "
                                       : "its metadata name no authorization server",
                        wanted != NULL ? wanted : "");
}

/* What the server says of itself (RFC 9728). One that says nothing is its own authorization server,
 * as in revision 2025-03-26. */
static int read_resource(const struct oauth *oauth, const char *challenge,
                         const struct session_wait *wait, struct endpoint *found,
                         struct toolrack_error *err) {
    static const char *const places[] = {">oauth-protected-resource", "/oauth-protected-resource",
                                         NULL};
    char url[URL_MAX_LENGTH];
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = NULL;
    bool is_told = oauth_challenge_value(challenge, "resource_metadata", url, sizeof url);
    if (is_told && !web_is_same_origin(url, oauth->options.url) && !web_is_secret(url)) {
        return oauth_refuse(oauth, err, "its metadata are at an address without TLS: ", url);
    }
    int code = is_told ? get_json(oauth, url, wait, &doc, err)
                       : get_well_known(oauth, oauth->options.url, places, wait, &doc, err);
    if (code < 0) {
        return code;
    }
    yyjson_val *root = yyjson_doc_get_root(doc);
    copy_member(root, "resource", found->resource, sizeof found->resource);
    join_texts(yyjson_obj_get(root, "scopes_supported"), found->scope, sizeof found->scope);
    if (root != NULL && !has_server(found->resource, oauth->options.url)) {
        return oauth_refuse(oauth, err, "its metadata are of another resource: ", found->resource);
    }
    if (root != NULL) {
        return choose_issuer(oauth, yyjson_obj_get(root, "authorization_servers"), found, err);
    }
    CLEANUP(buf_finish) struct buf origin = BUF_INIT;
    if (!web_origin(oauth->options.url, &origin)) {
        return error_oom(err);
    }
    (void)snprintf(found->resource, sizeof found->resource, "%s", oauth->options.url);
    (void)snprintf(found->issuer, sizeof found->issuer, "%.*s", (int)(sizeof found->issuer - 1),
                   oauth->options.issuer != NULL ? oauth->options.issuer : origin.data);
    return 0;
}

/* What the authorization server says of itself. */
static int read_issuer(const struct oauth *oauth, const struct session_wait *wait,
                       struct endpoint *found, struct toolrack_error *err) {
    static const char *const places[] = {">oauth-authorization-server", ">openid-configuration",
                                         "<openid-configuration", NULL};
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = NULL;
    int code = get_well_known(oauth, found->issuer, places, wait, &doc, err);
    if (code != 0) {
        return code < 0 ? code
                        : oauth_refuse(oauth, err,
                                       "there are no metadata of its authorization server ",
                                       found->issuer);
    }
    yyjson_val *root = yyjson_doc_get_root(doc);
    yyjson_val *methods = yyjson_obj_get(root, "token_endpoint_auth_methods_supported");
    const char *issuer = yyjson_get_str(yyjson_obj_get(root, "issuer"));
    CLEANUP(buf_finish) struct buf origin = BUF_INIT;
    (void)web_origin(found->issuer, &origin); /* as it was made where the server named none */
    if (issuer == NULL ||
        (!is_same_url(issuer, found->issuer) && !web_is_same_origin(issuer, found->issuer))) {
        return oauth_refuse(oauth, err,
                            "the metadata of its authorization server are of another one: ",
                            issuer != NULL ? issuer : "none");
    }
    copy_member(root, "token_endpoint", found->token_url, sizeof found->token_url);
    found->takes_basic = methods == NULL || json_has_text(methods, "client_secret_basic");
    if (!web_is_secret(found->token_url)) {
        return oauth_refuse(oauth, err, "its authorization server has no token endpoint with TLS: ",
                            found->token_url);
    }
    return 0;
}

/* Caller holds the renewal. */
int oauth_find_endpoint(struct oauth *oauth, const char *challenge, const struct session_wait *wait,
                        struct toolrack_error *err) {
    const struct oauth_options *options = &oauth->options;
    struct endpoint found = {.is_known = true, .takes_basic = true};
    if (oauth->endpoint.is_known) {
        return 0;
    }
    if (!web_is_secret(options->url)) {
        return oauth_refuse(oauth, err, "a token is sent by https or to this machine only, not to ",
                            options->url);
    }
    if (options->token_url != NULL) {
        (void)snprintf(found.token_url, sizeof found.token_url, "%s", options->token_url);
        (void)snprintf(found.resource, sizeof found.resource, "%s", options->url);
        oauth->endpoint = found;
        return 0;
    }
    int code = read_resource(oauth, challenge, wait, &found, err);
    code = code == 0 ? read_issuer(oauth, wait, &found, err) : code;
    if (code == 0) {
        oauth->endpoint = found;
    }
    return code;
}
