#include "remote/mcp/reach.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "remote/mcp/oauth.h"
#include "remote/mcp/stdio.h"
#include "remote/mcp/streamable.h"
#include "remote/mcp/usage.h"
#include "worker/launch.h"
#include "worker/spawn.h"

/* Most arguments of the program. */
#define ARGUMENTS_MAX 256u

struct reach {
    struct reach_options options;
    struct arena arena;
    struct secrets *secrets;
    struct oauth *oauth; /* NULL: none is wanted */
    bool is_web;
    struct stdio_options stdio;
    struct streamable_options web;
    struct session_options session;
    const char *hint;
};

static const char *text_of(yyjson_val *object, const char *key) {
    return yyjson_get_str(yyjson_obj_get(object, key));
}

/* A text of the configuration with its secrets, in the arena.
 * @return 0, with NULL if there is none */
static int expand(struct reach *reach, const char *text, const char **ret,
                  struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    *ret = NULL;
    if (text == NULL) {
        return 0;
    }
    int code = mount_secrets_expand(reach->secrets, reach->options.name, text, &out, err);
    if (code == 0) {
        *ret = arena_copy(&reach->arena, out.length > 0 ? out.data : "", out.length);
        code = *ret != NULL ? 0 : error_oom(err);
    }
    return code;
}

/* ----------------------------------------------------------------- a program */

static int add_variable(struct reach *reach, const char **list, size_t *count, const char *name,
                        const char *value, struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    buf_printf(&text, "%s=", name);
    int code = mount_secrets_expand(reach->secrets, reach->options.name, value, &text, err);
    if (code == 0) {
        list[*count] = arena_copy(&reach->arena, text.data, text.length);
        code = list[(*count)++] != NULL ? 0 : error_oom(err);
    }
    return code;
}

static int make_environment(struct reach *reach, struct toolrack_error *err) {
    yyjson_val *env = yyjson_obj_get(reach->options.value, "env");
    const char **list = arena_zalloc(&reach->arena, (yyjson_obj_size(env) + 2) * sizeof *list);
    const char *home = getenv("HOME");
    size_t count = 0;
    int code = list != NULL ? 0 : error_oom(err);
    yyjson_obj_iter variables = yyjson_obj_iter_with(env); /* none without an object */
    yyjson_val *key;
    while (code == 0 && (key = yyjson_obj_iter_next(&variables)) != NULL) {
        const char *value = yyjson_get_str(yyjson_obj_iter_get_val(key));
        code = add_variable(reach, list, &count, yyjson_get_str(key), value, err);
    }
    if (code == 0 && home != NULL && yyjson_obj_get(env, "HOME") == NULL) {
        list[count] = arena_printf(&reach->arena, "HOME=%s", home);
    }
    reach->stdio.environment = code == 0 ? process_environment(&reach->arena, list) : NULL;
    return code == 0 && reach->stdio.environment == NULL ? error_oom(err) : code;
}

struct arguments {
    char *items[ARGUMENTS_MAX + 1];
    size_t count;
    bool failed; /* too many */
};

static void add_argument(struct arguments *list, const char *text) {
    if (list->count < ARGUMENTS_MAX) {
        list->items[list->count++] = (char *)(uintptr_t)text;
    } else {
        list->failed = true;
    }
}

/* "read:/srv", "write:/srv" and "network". */
static int add_allowed(struct reach *reach, struct arguments *list, struct toolrack_error *err) {
    size_t at;
    size_t count;
    yyjson_val *item;
    yyjson_val *allow = yyjson_obj_get(reach->options.value, "allow");
    yyjson_arr_foreach (allow, at, count, item) {
        const char *text = yyjson_get_str(item);
        bool reads = strncmp(text, "read:", 5) == 0;
        bool writes = strncmp(text, "write:", 6) == 0;
        if (strcmp(text, "private") == 0) {
            return error_set(
                    err, TOOLRACK_E_INVALID,
                    "MCP server '%s' is allowed \"private\", which is for one with \"url\"; "
                    "a program is allowed \"network\"",
                    reach->options.name);
        }
        if (!reads && !writes) {
            add_argument(list, "--network");
            continue;
        }
        /* Landlock's rules are of what a path leads to, and refuse links: they are resolved now. */
        CLEANUP(freep) char *real = realpath(strchr(text, ':') + 1, NULL);
        const char *kept = real != NULL ? arena_copy(&reach->arena, real, strlen(real)) : NULL;
        if (kept == NULL) {
            return error_set(err, TOOLRACK_E_INVALID, "MCP server '%s' is allowed \"%s\": %s",
                             reach->options.name, text, strerror(errno));
        }
        struct toolrack_error why;
        int code = reach->options.may_use != NULL
                           ? reach->options.may_use(reach->options.user, kept, writes, &why)
                           : 0;
        if (code < 0) {
            return error_set(err, code, "MCP server '%s' is allowed \"%s\": %s",
                             reach->options.name, text, why.message);
        }
        add_argument(list, reads ? "--read" : "--write");
        add_argument(list, kept);
    }
    return 0;
}

static int add_text(const struct reach *reach, struct arguments *list, yyjson_val *value,
                    struct toolrack_error *err) {
    add_argument(list, yyjson_get_str(value));
    return mount_secrets_refuse(reach->options.name, yyjson_get_str(value), err);
}

/* A text, or an array of texts. */
static int add_texts(const struct reach *reach, struct arguments *list, yyjson_val *value,
                     struct toolrack_error *err) {
    size_t at;
    size_t count;
    yyjson_val *item;
    int code = yyjson_is_str(value) ? add_text(reach, list, value, err) : 0;
    yyjson_arr_foreach (value, at, count, item) {
        code = code == 0 ? add_text(reach, list, item, err) : code;
    }
    return code;
}

static void add_limit(struct reach *reach, struct arguments *list, const char *option,
                      const char *key, uint32_t otherwise) {
    yyjson_val *value = yyjson_obj_get(reach->options.value, key);
    uint32_t limit = value != NULL ? (uint32_t)yyjson_get_uint(value) : otherwise;
    if (limit != 0) {
        add_argument(list, option);
        add_argument(list, arena_printf(&reach->arena, "%u", limit));
    }
}

static int make_arguments(struct reach *reach, struct toolrack_error *err) {
    yyjson_val *value = reach->options.value;
    struct arguments list = {.count = 0};
    const char *folder = text_of(value, "cwd");
    add_argument(&list, "toolrack-worker");
    add_argument(&list, LAUNCH_WORD);
    if (folder != NULL) {
        add_argument(&list, "--folder");
        add_argument(&list, folder);
    }
    add_limit(reach, &list, "--file", "file_mb", 0);
    add_limit(reach, &list, "--memory", "memory_mb", USAGE_MEMORY_MB_DEFAULT);
    int code = add_allowed(reach, &list, err);
    add_argument(&list, "--");
    code = code == 0 ? add_texts(reach, &list, yyjson_obj_get(value, "command"), err) : code;
    code = code == 0 ? add_texts(reach, &list, yyjson_obj_get(value, "args"), err) : code;
    if (code == 0 && list.failed) {
        code = error_set(err, TOOLRACK_E_INVALID, "MCP server '%s' has more than %u arguments",
                         reach->options.name, ARGUMENTS_MAX);
    }
    char **kept = arena_alloc(&reach->arena, (list.count + 1) * sizeof *kept);
    if (code == 0 && kept == NULL) {
        code = error_oom(err);
    }
    if (code == 0) {
        memcpy(kept, list.items, list.count * sizeof *kept);
        kept[list.count] = NULL;
        reach->stdio.arguments = kept;
    }
    return code;
}

static int open_program(const void *user, struct transport **ret, struct toolrack_error *err) {
    return stdio_start(user, ret, err);
}

static int reach_program(struct reach *reach, struct toolrack_error *err) {
    const struct reach_options *options = &reach->options;
    reach->stdio = (struct stdio_options){.name = options->name,
                                          .launcher = options->launcher,
                                          .log = options->log,
                                          .secrets = reach->secrets};
    int code = make_environment(reach, err);
    code = code == 0 ? make_arguments(reach, err) : code;
    reach->hint = arena_printf(
            &reach->arena,
            "it may use the system's programs and libraries only, and what \"allow\" of %s names: "
            "\"read:PATH\", \"write:PATH\", \"network\"",
            options->where);
    reach->session.open = open_program;
    reach->session.user = &reach->stdio;
    return code == 0 && reach->hint == NULL ? error_oom(err) : code;
}

/* -------------------------------------------------------------------- the web */

static int make_headers(struct reach *reach, struct toolrack_error *err) {
    yyjson_val *headers = yyjson_obj_get(reach->options.value, "headers");
    const char **lines =
            arena_zalloc(&reach->arena, (yyjson_obj_size(headers) + 1) * sizeof *lines);
    size_t count = 0;
    int code = lines != NULL ? 0 : error_oom(err);
    yyjson_obj_iter each = yyjson_obj_iter_with(headers); /* none without an object */
    yyjson_val *key;
    while (code == 0 && (key = yyjson_obj_iter_next(&each)) != NULL) {
        const char *value;
        const char *name = yyjson_get_str(key);
        code = expand(reach, yyjson_get_str(yyjson_obj_iter_get_val(key)), &value, err);
        if (code == 0 && (value[0] == '\0' || strpbrk(value, "\r\n") != NULL)) {
            code = error_set(err, TOOLRACK_E_INVALID,
                             "the header %s of MCP server '%s' is empty, or has more than one line",
                             name, reach->options.name);
        } else if (code == 0) {
            lines[count] = arena_printf(&reach->arena, "%s: %s", name, value);
            code = lines[count++] != NULL ? 0 : error_oom(err);
        }
    }
    reach->web.headers = lines;
    return code;
}

/* What it may do but reach public addresses. */
static int read_allowed(struct reach *reach, struct toolrack_error *err) {
    size_t at;
    size_t count;
    yyjson_val *item;
    yyjson_val *allow = yyjson_obj_get(reach->options.value, "allow");
    reach->web.rules.allows_private = web_is_private(reach->web.url);
    yyjson_arr_foreach (allow, at, count, item) {
        if (!yyjson_equals_str(item, "private")) {
            return error_set(err, TOOLRACK_E_INVALID,
                             "MCP server '%s' is allowed \"%s\", which is for a program; one with "
                             "\"url\" can be allowed \"private\"",
                             reach->options.name, yyjson_get_str(item));
        }
        reach->web.rules.allows_private = true;
    }
    return 0;
}

/* The file of stored tokens: the named one, or that of the state folder. */
static int find_tokens(struct reach *reach, yyjson_val *auth, const char **ret,
                       struct toolrack_error *err) {
    const char *file = text_of(auth, "file");
    if (file == NULL && reach->options.folder == NULL) {
        return error_set(
                err, TOOLRACK_E_INVALID,
                "MCP server '%s' has stored tokens, and there is no state folder for them; "
                "name their \"file\"",
                reach->options.name);
    }
    *ret = file != NULL ? file
                        : arena_printf(&reach->arena, "%s/mcp/%s.tokens.json",
                                       reach->options.folder, reach->options.name);
    return *ret != NULL ? 0 : error_oom(err);
}

static int make_auth(struct reach *reach, struct toolrack_error *err) {
    yyjson_val *auth = yyjson_obj_get(reach->options.value, "auth");
    struct oauth_options options = {.url = reach->web.url,
                                    .scope = text_of(auth, "scope"),
                                    .method = text_of(auth, "method"),
                                    .issuer = text_of(auth, "issuer"),
                                    .token_url = text_of(auth, "token_url"),
                                    .rules = reach->web.rules,
                                    .secrets = reach->secrets,
                                    .log = reach->options.log};
    if (auth == NULL) {
        return 0;
    }
    bool is_stored = yyjson_equals_str(yyjson_obj_get(auth, "type"), "stored");
    int code = expand(reach, text_of(auth, "client_id"), &options.client_id, err);
    code = code == 0 ? expand(reach, text_of(auth, "client_secret"), &options.client_secret, err)
                     : code;
    code = code == 0 && is_stored ? find_tokens(reach, auth, &options.file, err) : code;
    if (code == 0 && !is_stored && (options.client_id == NULL || options.client_secret == NULL)) {
        code = error_set(err, TOOLRACK_E_INVALID,
                         "the \"auth\" of MCP server '%s' has no \"client_id\" or "
                         "\"client_secret\"",
                         reach->options.name);
    }
    if (code == 0 && options.client_secret != NULL) {
        mount_secrets_add(reach->secrets, options.client_secret, strlen(options.client_secret));
    }
    reach->oauth = code == 0 ? oauth_create(&options) : NULL;
    reach->web.oauth = reach->oauth;
    return code == 0 && reach->oauth == NULL ? error_oom(err) : code;
}

static int refuse_keys(struct reach *reach, const char *const *keys, const char *with,
                       struct toolrack_error *err) {
    for (size_t i = 0; keys[i] != NULL; i++) {
        if (yyjson_obj_get(reach->options.value, keys[i]) != NULL) {
            return error_set(err, TOOLRACK_E_INVALID,
                             "\"%s\" of MCP server '%s' has no meaning beside \"%s\"", keys[i],
                             reach->options.name, with);
        }
    }
    return 0;
}

static int reach_web(struct reach *reach, struct toolrack_error *err) {
    const struct reach_options *options = &reach->options;
    struct streamable_options *web = &reach->web;
    const char *ca = text_of(options->value, "ca");
    if (yyjson_equals_str(yyjson_obj_get(options->value, "type"), "sse")) {
        return error_set(
                err, TOOLRACK_E_INVALID,
                "MCP server '%s' is configured for the transport of 2024-11-05 (\"sse\"), "
                "which is not spoken here; if it has an address for Streamable HTTP, write "
                "that as \"url\", and \"type\": \"http\"",
                options->name);
    }
    *web = (struct streamable_options){.name = options->name,
                                       .shown_url = text_of(options->value, "url"),
                                       .rules = {.name = options->name, .ca = ca},
                                       .log = options->log};
    int code = libcurl_load(err);
    code = code == 0 ? expand(reach, web->shown_url, &web->url, err) : code;
    code = code == 0 ? read_allowed(reach, err) : code;
    code = code == 0 ? make_headers(reach, err) : code;
    code = code == 0 ? make_auth(reach, err) : code;
    if (code == 0 && ca != NULL && access(ca, R_OK) < 0) {
        code = error_set(err, TOOLRACK_E_INVALID, "the \"ca\" of MCP server '%s' is %s: %s",
                         options->name, ca, strerror(errno));
    }
    reach->session.open = streamable_open;
    reach->session.user = web;
    return code;
}

/* ---------------------------------------------------------------------- whole */

int reach_create(const struct reach_options *options, struct reach **ret,
                 struct toolrack_error *err) {
    static const char *const of_programs[] = {"command",   "args",  "env",     "cwd", "memory_mb",
                                              "processes", "cpu_s", "file_mb", NULL};
    static const char *const of_web[] = {"headers", "auth", "ca", NULL};
    CLEANUP(reach_destroyp) struct reach *reach = calloc(1, sizeof *reach);
    if (reach == NULL) {
        return error_oom(err);
    }
    reach->options = *options;
    arena_init(&reach->arena, NULL, 0);
    reach->secrets = mount_secrets_create();
    reach->session = (struct session_options){.name = options->name, .log = options->log};
    reach->is_web = yyjson_obj_get(options->value, "url") != NULL;
    reach->session.secrets = reach->secrets;
    if (reach->secrets == NULL) {
        return error_oom(err);
    }
    if (!reach->is_web && yyjson_obj_get(options->value, "command") == NULL) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "MCP server '%s' has neither \"command\" nor \"url\"", options->name);
    }
    int code = refuse_keys(reach, reach->is_web ? of_programs : of_web,
                           reach->is_web ? "url" : "command", err);
    code = code < 0 ? code : reach->is_web ? reach_web(reach, err) : reach_program(reach, err);
    if (code == 0) {
        *ret = STEAL(reach);
    }
    return code;
}

void reach_destroy(struct reach *reach) {
    if (reach != NULL) {
        oauth_destroy(reach->oauth);
        mount_secrets_destroy(reach->secrets);
        arena_finish(&reach->arena);
        free(reach);
    }
}

const struct session_options *reach_session(const struct reach *reach) {
    return &reach->session;
}

struct secrets *reach_secrets(const struct reach *reach) {
    return reach->secrets;
}

const char *reach_hint(const struct reach *reach) {
    return reach->hint;
}

bool reach_is_web(const struct reach *reach) {
    return reach->is_web;
}
