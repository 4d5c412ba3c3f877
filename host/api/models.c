#include "api/models.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/json.h"
#include "base/name.h"
#include "net/libcurl.h"
#include "provider/endpoint.h"
#include "provider/headers.h"
#include "provider/keys.h"
#include "provider/parameters.h"
#include "provider/secret-name.h"
#include "registry/document.h"

/* Most names that a message lists. */
#define NAMES_MAX        16u
#define CURRENCY_DEFAULT "USD"

/* -------------------------------------------------------------- one of them */

/* The lists of a conversation that a model has as objects. */
struct list_kind {
    const char *member;
    const char *between; /* name and value */
    bool is_json;        /* the value; else it is a string */
    bool ignores_case;   /* of names */
};

static const struct list_kind headers_kind = {"headers", ": ", .ignores_case = true};
static const struct list_kind query_kind = {"query", "="};
static const struct list_kind parameters_kind = {"parameters", "=", .is_json = true};

static bool has_line(const char *const *lines, const struct list_kind *kind, const char *name) {
    size_t length = strlen(name);
    bool is_there = false;
    for (size_t i = 0; lines != NULL && lines[i] != NULL && !is_there; i++) {
        is_there = (kind->ignores_case ? strncasecmp : strncmp)(lines[i], name, length) == 0 &&
                   lines[i][length] == kind->between[0];
    }
    return is_there;
}

/* What the model has under names that the app has not, and behind it the app's. NULL: no memory. */
static const char *const *join(struct arena *arena, const struct list_kind *kind, yyjson_val *model,
                               const char *const *app) {
    yyjson_val *object = yyjson_obj_get(model, kind->member);
    size_t given = 0;
    while (app != NULL && app[given] != NULL) {
        given++;
    }
    const char **lines = arena_alloc(arena, (yyjson_obj_size(object) + given + 1) * sizeof *lines);
    size_t length = 0;
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    if (lines == NULL) {
        return NULL;
    }
    json_obj_foreach (object, at, count, key, value) {
        const char *name = yyjson_get_str(key);
        CLEANUP(freep) char *json = kind->is_json ? yyjson_val_write(value, 0, NULL) : NULL;
        const char *text = kind->is_json ? json : yyjson_get_str(value);
        if (has_line(app, kind, name)) {
            continue;
        }
        lines[length] =
                text != NULL ? arena_printf(arena, "%s%s%s", name, kind->between, text) : NULL;
        if (lines[length++] == NULL) {
            return NULL;
        }
    }
    for (size_t i = 0; i < given; i++) {
        lines[length++] = app[i];
    }
    lines[length] = NULL;
    return lines;
}

static void read_prices(yyjson_val *prices, struct prices *ret) {
    yyjson_val *cached = yyjson_obj_get(prices, "cached");
    yyjson_val *written = yyjson_obj_get(prices, "written");
    const char *currency = yyjson_get_str(yyjson_obj_get(prices, "currency"));
    ret->input = yyjson_get_num(yyjson_obj_get(prices, "input"));
    ret->cached = cached != NULL ? yyjson_get_num(cached) : ret->input;
    ret->written = written != NULL ? yyjson_get_num(written) : ret->input;
    ret->output = yyjson_get_num(yyjson_obj_get(prices, "output"));
    ret->currency = prices == NULL ? NULL : currency != NULL ? currency : CURRENCY_DEFAULT;
}

static const char *format_of(yyjson_val *model) {
    const char *format = yyjson_get_str(yyjson_obj_get(model, "format"));
    return format != NULL ? format : "openai";
}

static int take(const char *name, yyjson_val *model, struct toolrack_agent_options *app,
                struct arena *arena, struct named_model *ret, struct toolrack_error *err) {
    int code = toolrack_format_find(format_of(model), &app->format, err);
    app->endpoint = yyjson_get_str(yyjson_obj_get(model, "endpoint"));
    app->model = yyjson_get_str(yyjson_obj_get(model, "model"));
    app->headers = join(arena, &headers_kind, model, app->headers);
    app->query = join(arena, &query_kind, model, app->query);
    app->parameters = join(arena, &parameters_kind, model, app->parameters);
    ret->name = name;
    ret->key_variable = yyjson_get_str(yyjson_obj_get(model, "key_env"));
    ret->place = arena_printf(arena, "as \"endpoint\" of the model %s", name);
    read_prices(yyjson_obj_get(model, "prices"), &ret->prices);
    return app->headers == NULL || app->query == NULL || app->parameters == NULL ||
                           ret->place == NULL
                   ? error_oom(err)
                   : code;
}

/* "fast, slow", or "none". */
static void add_names(struct buf *out, yyjson_val *models) {
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *model;
    json_obj_foreach (models, at, count, key, model) {
        if (at < NAMES_MAX) {
            buf_printf(out, "%s%s", at > 0 ? ", " : "", yyjson_get_str(key));
        }
    }
    buf_add_text(out, yyjson_obj_size(models) == 0          ? "none"
                      : yyjson_obj_size(models) > NAMES_MAX ? ", ..."
                                                            : "");
}

static int refuse(yyjson_val *models, const char *name, struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf names = BUF_INIT;
    add_names(&names, models);
    if (names.failed) {
        return error_oom(err);
    }
    return name == NULL
                   ? error_set(err, TOOLRACK_E_INVALID,
                               "no model is named: give --model NAME of one of the configuration "
                               "(%s), or --endpoint URL and --model NAME",
                               names.data)
                   : error_set(err, TOOLRACK_E_INVALID,
                               "there is no model \"%.64s\" in the configuration (%s): correct "
                               "the name, add it to \"models\", or give --endpoint URL",
                               name, names.data);
}

bool models_has(const struct toolrack *host, const char *name) {
    return yyjson_obj_get(config_models(host->config), name) != NULL;
}

int models_complete(const struct toolrack *host, struct toolrack_agent_options *app,
                    struct arena *arena, struct named_model *ret, struct toolrack_error *err) {
    yyjson_val *models = config_models(host->config);
    const char *name = app->model != NULL ? app->model : config_agent_model(host->config);
    *ret = (struct named_model){.place = "with --endpoint"};
    if (app->endpoint != NULL) {
        return 0;
    }
    yyjson_val *model = name != NULL ? yyjson_obj_get(models, name) : NULL;
    return model != NULL ? take(name, model, app, arena, ret, err) : refuse(models, name, err);
}

/* -------------------------------------------------------------- all of them */

/* What a conversation would refuse. */
static int check(const struct toolrack_agent_options *app, struct toolrack_error *err) {
    CLEANUP(freep) char *url = NULL;
    CLEANUP(buf_finish) struct buf parameters = BUF_INIT;
    int code = endpoint_url(app->format, app->endpoint, app->model, &url, err);
    code = code < 0 ? code : endpoint_add_query(&url, app->query, err);
    code = code < 0 ? code : headers_check(app->headers, err);
    return code < 0 ? code : parameters_write(app->format, url, app->parameters, &parameters, err);
}

int models_check(const struct toolrack *host,
                 void (*take_one)(void *user, const char *name, const char *why), void *user,
                 struct toolrack_error *err) {
    yyjson_val *models = config_models(host->config);
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    if (models == NULL || libcurl_load(NULL) < 0) { /* no fault of the file */
        return 0;
    }
    json_obj_foreach (models, at, count, key, value) {
        struct toolrack_agent_options app = TOOLRACK_AGENT_OPTIONS_INIT;
        struct named_model model = {0};
        struct toolrack_error why = {0};
        struct arena arena;
        arena_init(&arena, NULL, 0);
        int code = take(yyjson_get_str(key), value, &app, &arena, &model, &why);
        code = code < 0 ? code : check(&app, &why);
        arena_finish(&arena);
        if (code == TOOLRACK_E_NO_MEMORY) {
            return error_oom(err);
        }
        if (code < 0) {
            take_one(user, yyjson_get_str(key), why.message);
        }
    }
    return 0;
}

/* The names alone: a value may be a key. */
static void add_header_names(yyjson_mut_doc *doc, yyjson_mut_val *object, yyjson_val *headers) {
    yyjson_mut_val *names = yyjson_mut_obj_add_arr(doc, object, "headers");
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    json_obj_foreach (headers, at, count, key, value) {
        (void)yyjson_mut_arr_add_strcpy(doc, names, yyjson_get_str(key));
    }
}

/* A copy of a member; an empty object where there is none. A key in it, which a conversation would
 * refuse, is not shown. */
static void add_object(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key,
                       yyjson_val *model) {
    yyjson_val *value = yyjson_obj_get(model, key);
    yyjson_mut_val *copy = value != NULL ? yyjson_val_mut_copy(doc, value) : yyjson_mut_obj(doc);
    (void)yyjson_mut_obj_add_val(doc, object, key, secret_names_mask(copy) ? copy : NULL);
}

static void add_prices(yyjson_mut_doc *doc, yyjson_mut_val *object, yyjson_val *model) {
    struct prices prices;
    read_prices(yyjson_obj_get(model, "prices"), &prices);
    if (prices.currency == NULL) {
        (void)yyjson_mut_obj_add_null(doc, object, "prices");
        return;
    }
    yyjson_mut_val *made = yyjson_mut_obj_add_obj(doc, object, "prices");
    (void)yyjson_mut_obj_add_real(doc, made, "input", prices.input);
    (void)yyjson_mut_obj_add_real(doc, made, "cached", prices.cached);
    (void)yyjson_mut_obj_add_real(doc, made, "written", prices.written);
    (void)yyjson_mut_obj_add_real(doc, made, "output", prices.output);
    document_add_text(doc, made, "currency", prices.currency);
}

int toolrack_models(struct toolrack *host, struct toolrack_text **ret, struct toolrack_error *err) {
    HOST_SCOPE(host);
    yyjson_mut_val *root;
    yyjson_mut_doc *doc = document_begin_list(&root);
    const char *chosen = config_agent_model(host->config);
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *model;
    json_obj_foreach (config_models(host->config), at, count, key, model) {
        const char *name = yyjson_get_str(key);
        yyjson_mut_val *object = yyjson_mut_arr_add_obj(doc, root);
        document_add_text(doc, object, "name", name);
        document_add_text(doc, object, "endpoint",
                          yyjson_get_str(yyjson_obj_get(model, "endpoint")));
        document_add_text(doc, object, "format", format_of(model));
        document_add_text(doc, object, "model", yyjson_get_str(yyjson_obj_get(model, "model")));
        document_add_text(doc, object, "key_env", yyjson_get_str(yyjson_obj_get(model, "key_env")));
        add_header_names(doc, object, yyjson_obj_get(model, "headers"));
        add_object(doc, object, "query", model);
        add_object(doc, object, "parameters", model);
        add_prices(doc, object, model);
        (void)yyjson_mut_obj_add_bool(doc, object, "is_default",
                                      chosen != NULL && strcmp(chosen, name) == 0);
    }
    return document_end(doc, ret, err);
}

/* Overwrite the key of a variable, and those in headers. */
static int mask(enum toolrack_format format, const char *variable, const char *const *headers,
                char *text, struct toolrack_error *err) {
    struct key key = {0};
    if (variable != NULL && (getenv(variable) == NULL || getenv(variable)[0] == '\0')) {
        return 0;
    }
    int code = key_read(format, variable, &key, err);
    if (code == 0) {
        code = key_add_headers(&key, headers, err);
    }
    if (code == 0) {
        key_redact(&key, text, strlen(text));
    }
    key_finish(&key);
    return code;
}

int toolrack_mask_keys(struct toolrack *host, const char *const *headers, char *text,
                       struct toolrack_error *err) {
    HOST_SCOPE(host);
    static const enum toolrack_format formats[] = {
            TOOLRACK_FORMAT_OPENAI, TOOLRACK_FORMAT_ANTHROPIC, TOOLRACK_FORMAT_GEMINI};
    size_t at;
    size_t count;
    yyjson_val *name;
    yyjson_val *model;
    int code = 0;
    for (size_t i = 0; code == 0 && i < ARRAY_LENGTH(formats); i++) {
        code = mask(formats[i], NULL, headers, text, err);
    }
    json_obj_foreach (config_models(host->config), at, count, name, model) {
        CLEANUP(arena_finish) struct arena arena;
        arena_init(&arena, NULL, 0);
        const char *variable = yyjson_get_str(yyjson_obj_get(model, "key_env"));
        const char *const *own = join(&arena, &headers_kind, model, NULL);
        if (code == 0) {
            code = own != NULL ? mask(TOOLRACK_FORMAT_OPENAI, variable, own, text, err)
                               : error_oom(err);
        }
    }
    return code;
}
