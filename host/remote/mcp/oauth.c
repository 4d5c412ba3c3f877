#include "remote/mcp/oauth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <yyjson.h>

#include "base/base64.h"
#include "base/clock.h"
#include "base/new-file.h"
#include "remote/mcp/oauth-parts.h"

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)
CLEANUP_DEFINE(yyjson_mut_doc, yyjson_mut_doc_free)

struct oauth *oauth_create(const struct oauth_options *options) {
    struct oauth *oauth = calloc(1, sizeof *oauth);
    if (oauth != NULL) {
        oauth->options = *options;
        lock_init(&oauth->renewal);
        lock_init(&oauth->lock);
    }
    return oauth;
}

void oauth_destroy(struct oauth *oauth) {
    if (oauth != NULL) {
        free(oauth->token);
        lock_finish(&oauth->lock);
        lock_finish(&oauth->renewal);
        free(oauth);
    }
}

int oauth_refuse(const struct oauth *oauth, struct toolrack_error *err, const char *what,
                 const char *detail) {
    int code =
            error_set(err, TOOLRACK_E_PERMISSION_DENIED, "no token for MCP server '%s': %s%.500s",
                      oauth->options.rules.name, what, detail);
    mount_secrets_hide(oauth->options.secrets, err->message);
    return code;
}

bool oauth_is_over(void *user) {
    const struct session_wait *wait = ((const struct oauth_waiting *)user)->wait;
    uint64_t until_ns = wait->until_ns(wait->user);
    return (wait->is_cancelled != NULL && wait->is_cancelled(wait->user)) ||
           (until_ns != 0 && clock_now_ns() >= until_ns);
}

/* ----------------------------------------------------------------- challenge */

static bool is_token_char(char c) {
    return c > ' ' && c < 0x7f && strchr("()<>@,;:\\\"/[]?={}", c) == NULL;
}

/* Copy a value, quoted or not. @return what follows it */
static const char *copy_value(const char *at, char *ret, size_t room, bool *ret_fits) {
    bool is_quoted = *at == '"';
    size_t length = 0;
    at += is_quoted;
    *ret_fits = true;
    while (*at != '\0' && (is_quoted ? *at != '"' : is_token_char(*at))) {
        at += is_quoted && at[0] == '\\' && at[1] != '\0';
        *ret_fits = *ret_fits && length + 1 < room;
        if (*ret_fits) {
            ret[length++] = *at;
        }
        at++;
    }
    ret[*ret_fits ? length : 0] = '\0';
    return is_quoted && *at == '"' ? at + 1 : at;
}

bool oauth_challenge_value(const char *challenge, const char *name, char *ret, size_t room) {
    bool is_bearer = false;
    char ignored[OAUTH_CHALLENGE_MAX];
    ret[0] = '\0';
    for (const char *at = challenge; *at != '\0';) {
        size_t length = 0;
        while (is_token_char(at[length])) {
            length++;
        }
        const char *after = at + length + strspn(at + length, " \t");
        bool is_parameter = length > 0 && *after == '=';
        if (length == 0) {
            at++;
        } else if (!is_parameter) { /* the name of a scheme */
            is_bearer = length == 6 && strncasecmp(at, "Bearer", 6) == 0;
            at = after;
        } else {
            bool fits;
            bool is_it = is_bearer && length == strlen(name) && strncasecmp(at, name, length) == 0;
            after += 1 + strspn(after + 1, " \t");
            at = copy_value(after, is_it ? ret : ignored, is_it ? room : sizeof ignored, &fits);
            if (is_it) {
                return fits;
            }
        }
    }
    return false;
}

/* ---------------------------------------------------------------------- file */

/* Put another token in the place of the one that there is. @param text  NULL: none */
static void set_token(struct oauth *oauth, const char *text, uint64_t expires_ns) {
    char *copy = text != NULL ? strdup(text) : NULL;
    if (text != NULL) {
        mount_secrets_add(oauth->options.secrets, text, strlen(text));
    }
    LOCK_SCOPE(&oauth->lock);
    free(oauth->token);
    oauth->token = copy;
    oauth->expires_ns = expires_ns;
    oauth->number++;
}

static bool is_token(const char *text) {
    size_t length = text != NULL ? strlen(text) : 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] <= ' ' || text[i] >= 0x7f) {
            return false;
        }
    }
    return length > 0 && length <= OAUTH_TOKEN_MAX;
}

static uint64_t expiry_of(uint64_t at_s) {
    uint64_t now_s = (uint64_t)clock_wall_s();
    return at_s == 0 ? 0
           : at_s <= now_s
                   ? 1
                   : clock_now_ns() + (at_s - now_s < 1000000000 ? at_s - now_s : 1000000000) *
                                              CLOCK_NS_PER_S;
}

/* @return 0 with the whole of the file; TOOLRACK_E_PERMISSION_DENIED: why it cannot be used */
static int read_file(struct oauth *oauth, yyjson_doc **ret, struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    CLEANUP(buf_finish) struct buf name = BUF_INIT;
    buf_printf(&name, "${file:%s}", oauth->options.file);
    int code = name.failed ? error_oom(err)
                           : mount_secrets_expand(NULL, oauth->options.rules.name, name.data, &text,
                                                  err);
    if (code < 0) {
        err->code = TOOLRACK_E_PERMISSION_DENIED;
        return err->code;
    }
    yyjson_doc *doc = yyjson_read(text.data, text.length, 0);
    const char *token = yyjson_get_str(yyjson_obj_get(yyjson_doc_get_root(doc), "access_token"));
    if (!is_token(token)) {
        yyjson_doc_free(doc);
        return oauth_refuse(oauth, err,
                            "it must have {\"access_token\": ..., \"refresh_token\": ...}: ",
                            oauth->options.file);
    }
    *ret = doc;
    return 0;
}

static void load_file(struct oauth *oauth) {
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = NULL;
    struct toolrack_error why;
    if (read_file(oauth, &doc, &why) == 0) {
        yyjson_val *root = yyjson_doc_get_root(doc);
        set_token(oauth, yyjson_get_str(yyjson_obj_get(root, "access_token")),
                  expiry_of(yyjson_get_uint(yyjson_obj_get(root, "expires_at"))));
    }
}

/* Keep the new tokens beside what else the file has. */
static int write_file(struct oauth *oauth, yyjson_val *before, const char *token,
                      const char *refresh, uint64_t expires_s, struct toolrack_error *err) {
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_val_mut_copy(doc, before);
    yyjson_mut_doc_set_root(doc, root);
    (void)yyjson_mut_obj_remove_key(root, "access_token");
    (void)yyjson_mut_obj_remove_key(root, "expires_at");
    (void)yyjson_mut_obj_add_str(doc, root, "access_token", token);
    if (refresh != NULL) {
        (void)yyjson_mut_obj_remove_key(root, "refresh_token");
        (void)yyjson_mut_obj_add_str(doc, root, "refresh_token", refresh);
    }
    if (expires_s != 0) {
        (void)yyjson_mut_obj_add_uint(doc, root, "expires_at", expires_s);
    }
    size_t length;
    CLEANUP(freep) char *text = yyjson_mut_write(doc, YYJSON_WRITE_PRETTY, &length);
    return text == NULL ? error_oom(err)
                        : new_file_write(oauth->options.file, text, length, 0600, true, err);
}

/* -------------------------------------------------------------------- header */

unsigned oauth_add_header(struct oauth *oauth, struct buf *out) {
    lock_take(&oauth->lock);
    bool must_load = oauth->options.file != NULL && !oauth->has_loaded;
    oauth->has_loaded = true;
    lock_release(&oauth->lock);
    if (must_load) {
        load_file(oauth);
    }
    LOCK_SCOPE(&oauth->lock);
    bool is_valid = oauth->expires_ns == 0 || clock_now_ns() < oauth->expires_ns;
    if (oauth->token != NULL && is_valid) {
        buf_printf(out, "Authorization: Bearer %s", oauth->token);
    }
    return oauth->number;
}

void oauth_note_refusal(struct oauth *oauth, unsigned token, long status, const char *challenge) {
    LOCK_SCOPE(&oauth->lock);
    oauth->refused = token;
    oauth->status = status;
    (void)snprintf(oauth->challenge, sizeof oauth->challenge, "%s",
                   challenge != NULL ? challenge : "");
}

/* ---------------------------------------------------------------------- token */

static void add_encoded(struct buf *out, const char *text) {
    for (; *text != '\0'; text++) {
        bool is_plain = (*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z') ||
                        (*text >= '0' && *text <= '9') || strchr("-._~", *text) != NULL;
        if (is_plain) {
            buf_add_char(out, *text);
        } else {
            buf_printf(out, "%%%02X", (unsigned char)*text);
        }
    }
}

static void add_field(struct buf *form, const char *name, const char *value) {
    if (value != NULL && value[0] != '\0') {
        buf_printf(form, "%s%s=", form->length > 0 ? "&" : "", name);
        add_encoded(form, value);
    }
}

/* Say who asks: in a header, or in the form. */
static void add_client(const struct oauth *oauth, struct buf *form, struct buf *header) {
    const struct oauth_options *options = &oauth->options;
    bool is_basic = options->method != NULL ? strcmp(options->method, "client_secret_basic") == 0
                                            : oauth->endpoint.takes_basic;
    if (options->client_secret != NULL && is_basic) {
        CLEANUP(buf_finish) struct buf pair = BUF_INIT;
        add_encoded(&pair, options->client_id);
        buf_add_char(&pair, ':');
        add_encoded(&pair, options->client_secret);
        buf_add_text(header, "Authorization: Basic ");
        size_t before = header->length;
        base64_encode(header, pair.data, pair.length);
        if (!header->failed) {
            mount_secrets_add(options->secrets, header->data + before, header->length - before);
        }
    } else {
        add_field(form, "client_id", options->client_id);
        add_field(form, "client_secret", options->client_secret);
    }
}

static int explain_refusal(const struct oauth *oauth, const struct web_response *response,
                           yyjson_val *root, struct toolrack_error *err) {
    char words[512];
    const char *error = yyjson_get_str(yyjson_obj_get(root, "error"));
    const char *said = yyjson_get_str(yyjson_obj_get(root, "error_description"));
    (void)snprintf(words, sizeof words, "%.150s answers with HTTP status %ld%s%.100s%s%.200s",
                   oauth->endpoint.token_url, response->status, error != NULL ? ", " : "",
                   error != NULL ? error : "", said != NULL ? ": " : "", said != NULL ? said : "");
    return oauth_refuse(oauth, err, "", words);
}

/* Ask the token endpoint. @param before  of the file with tokens; NULL: client credentials */
static int ask_for_token(struct oauth *oauth, yyjson_val *before, const char *scope,
                         const struct session_wait *wait, struct toolrack_error *err) {
    struct oauth_waiting waiting = {.wait = wait};
    const char *refresh = yyjson_get_str(yyjson_obj_get(before, "refresh_token"));
    CLEANUP(buf_finish) struct buf form = BUF_INIT;
    CLEANUP(buf_finish) struct buf header = BUF_INIT;
    CLEANUP(web_response_finish) struct web_response response = {0};
    add_field(&form, "grant_type", before != NULL ? "refresh_token" : "client_credentials");
    add_field(&form, "refresh_token", refresh);
    add_field(&form, "scope", scope);
    add_field(&form, "resource", oauth->endpoint.resource);
    add_client(oauth, &form, &header);
    if (form.failed || header.failed) {
        return error_oom(err);
    }
    int code = web_fetch(
            &(struct web_request){.url = oauth->endpoint.token_url,
                                  .form = form.data,
                                  .authorization = header.length > 0 ? header.data : NULL},
            &oauth->options.rules, oauth_is_over, &waiting, &response, err);
    if (code < 0) {
        return code;
    }
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *doc = yyjson_read(response.body.data, response.body.length - 1, 0);
    yyjson_val *root = yyjson_doc_get_root(doc);
    const char *token = yyjson_get_str(yyjson_obj_get(root, "access_token"));
    const char *type = yyjson_get_str(yyjson_obj_get(root, "token_type"));
    if (response.status != 200 || !is_token(token) ||
        (type != NULL && strcasecmp(type, "Bearer") != 0)) {
        return explain_refusal(oauth, &response, root, err);
    }
    uint64_t lasts_s = yyjson_get_uint(yyjson_obj_get(root, "expires_in"));
    uint64_t until_s = lasts_s != 0 ? (uint64_t)clock_wall_s() + lasts_s : 0;
    set_token(oauth, token, expiry_of(until_s));
    (void)snprintf(oauth->asked, sizeof oauth->asked, "%s", scope);
    return before != NULL
                   ? write_file(oauth, before, token,
                                yyjson_get_str(yyjson_obj_get(root, "refresh_token")), until_s, err)
                   : 0;
}

/* --------------------------------------------------------------------- renewal */

static bool has_scope(const char *scopes, const char *scope, size_t length) {
    for (const char *at = scopes; *at != '\0'; at += strspn(at, " ")) {
        size_t one = strcspn(at, " ");
        if (one == length && memcmp(at, scope, length) == 0) {
            return true;
        }
        at += one;
    }
    return false;
}

/* Add what is not among them yet. @return whether something was added */
static bool add_scopes(char *scopes, size_t room, const char *more) {
    bool has_added = false;
    for (const char *at = more + strspn(more, " "); *at != '\0'; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        size_t before = strlen(scopes);
        if (!has_scope(scopes, at, length) && before + length + 2 < room) {
            (void)snprintf(scopes + before, room - before, "%s%.*s", before > 0 ? " " : "",
                           (int)length, at);
            has_added = true;
        }
        at += length;
    }
    return has_added;
}

/* The scope to ask for. Caller holds the renewal.
 * @return 0; TOOLRACK_E_PERMISSION_DENIED: the last token had all that is wanted */
static int choose_scope(const struct oauth *oauth, const char *challenge, long status, char *ret,
                        size_t room, struct toolrack_error *err) {
    char wanted[SCOPE_MAX_LENGTH];
    const char *given = oauth->options.scope;
    (void)oauth_challenge_value(challenge, "scope", wanted, sizeof wanted);
    if (status == 403) {
        (void)snprintf(ret, room, "%s", oauth->asked);
        return add_scopes(ret, room, wanted)
                       ? 0
                       : oauth_refuse(oauth, err,
                                      "the scope that it wants is refused, or not told: ", wanted);
    }
    (void)snprintf(ret, room, "%s",
                   given != NULL             ? given
                   : wanted[0] != '\0'       ? wanted
                   : oauth->asked[0] != '\0' ? oauth->asked
                                             : oauth->endpoint.scope);
    return 0;
}

/* Caller holds the renewal. */
static int renew_stored(struct oauth *oauth, const char *scope, const struct session_wait *wait,
                        struct toolrack_error *err) {
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = NULL;
    int code = read_file(oauth, &doc, err);
    yyjson_val *root = yyjson_doc_get_root(doc);
    const char *token = yyjson_get_str(yyjson_obj_get(root, "access_token"));
    if (code < 0) {
        return code;
    }
    lock_take(&oauth->lock);
    bool is_other = oauth->token == NULL || strcmp(oauth->token, token) != 0;
    lock_release(&oauth->lock);
    if (is_other) { /* somebody has written another one */
        set_token(oauth, token, expiry_of(yyjson_get_uint(yyjson_obj_get(root, "expires_at"))));
        return 0;
    }
    if (!is_token(yyjson_get_str(yyjson_obj_get(root, "refresh_token")))) {
        return oauth_refuse(oauth, err,
                            "its token is refused, and there is no \"refresh_token\" in ",
                            oauth->options.file);
    }
    return ask_for_token(oauth, root, scope, wait, err);
}

int oauth_renew(struct oauth *oauth, const struct session_wait *wait, struct toolrack_error *err) {
    char challenge[OAUTH_CHALLENGE_MAX];
    char scope[SCOPE_MAX_LENGTH];
    LOCK_SCOPE(&oauth->renewal);
    lock_take(&oauth->lock);
    bool is_new = oauth->number != oauth->refused;
    long status = oauth->status;
    memcpy(challenge, oauth->challenge, sizeof challenge);
    lock_release(&oauth->lock);
    if (is_new) {
        return 0;
    }
    int code = oauth_find_endpoint(oauth, challenge, wait, err);
    code = code == 0 ? choose_scope(oauth, challenge, status, scope, sizeof scope, err) : code;
    if (code < 0) {
        return code;
    }
    return oauth->options.file != NULL ? renew_stored(oauth, scope, wait, err)
                                       : ask_for_token(oauth, NULL, scope, wait, err);
}
