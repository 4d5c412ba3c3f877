#include "config/config-reading.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/json.h"
#include "base/name.h"

/* -------------------------------------------------------------------- file */

static int cannot_read(const char *path, struct toolrack_error *err) {
    return error_set(err, TOOLRACK_E_IO, "cannot read the configuration %s: %s", path,
                     strerror(errno));
}

int config_read_file(const char *path, struct buf *out, struct toolrack_error *err) {
    CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0) {
        return cannot_read(path, err);
    }
    if (!S_ISREG(st.st_mode) || st.st_size > (off_t)CONFIG_SIZE_MAX) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "the configuration %s must be a file of at most %u bytes", path,
                         CONFIG_SIZE_MAX);
    }
    for (;;) {
        if (!buf_reserve(out, 4096)) {
            return error_oom(err);
        }
        ssize_t got = read(fd, out->data + out->length, 4096);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return cannot_read(path, err);
        }
        out->length += (size_t)got;
        if (got == 0 || out->length > CONFIG_SIZE_MAX) {
            return 0;
        }
    }
}

/* Numbers that no type of C holds stay as they are written, for the answers of tools. */
#define CONFIG_READ_FLAGS \
    (YYJSON_READ_ALLOW_COMMENTS | YYJSON_READ_ALLOW_TRAILING_COMMAS | YYJSON_READ_BIGNUM_AS_RAW)

static int parse(const struct reading *reading) {
    struct config *config = reading->config;
    const struct buf *text = &config->text;
    yyjson_read_err why;
    config->doc = yyjson_read_opts(text->data, text->length, CONFIG_READ_FLAGS, NULL, &why);
    if (config->doc != NULL) {
        return 0;
    }
    if (why.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION) {
        return error_oom(reading->err);
    }
    if (reading->problems != NULL) {
        problems_add(reading->problems,
                     &(struct problem){.severity = TOOLRACK_SEVERITY_ERROR,
                                       .rule = "config-syntax",
                                       .position = why.pos,
                                       .fix = "write JSON; comments and a last comma are allowed"},
                     "%s", why.msg);
        return 0;
    }
    size_t line;
    size_t column;
    json_place_line(text->data, text->length, why.pos, &line, &column);
    return error_set(reading->err, TOOLRACK_E_INVALID, "%s, line %zu, column %zu: %s",
                     reading->path, line, column, why.msg);
}

/* ----------------------------------------------------------------- members */

/* The error of one thing that is wrong; or one of the problems, and it goes on. */
static int tell(const struct reading *reading, const struct problem *what) {
    if (reading->problems != NULL) {
        problems_add(reading->problems, what, "%s", what->cause);
        return 0;
    }
    size_t line = 0;
    size_t column = 0;
    const struct buf *text = &reading->config->text;
    problem_line(what, text->data, text->length, &line, &column);
    return error_set_field(reading->err, TOOLRACK_E_INVALID, what->pointer,
                           "%s, line %zu, column %zu: %s", reading->path, line, column,
                           what->cause);
}

int config_wrong_at(const struct reading *reading, const char *reason, const char *pointer, ...) {
    char place[JSON_POINTER_MAX];
    va_list args;
    va_start(args, pointer);
    (void)vsnprintf(place, sizeof place, pointer, args);
    va_end(args);
    CLEANUP(buf_finish) struct buf cause = BUF_INIT;
    CLEANUP(buf_finish) struct buf fix = BUF_INIT;
    buf_printf(&cause, "%s %s", place[0] != '\0' ? place : "the file", reason);
    buf_printf(&fix, "write for example %s",
               reading->example != NULL ? reading->example : "{\"folders\": [\"/opt/tools\"]}");
    if (cause.failed || fix.failed) {
        return error_oom(reading->err);
    }
    return tell(reading, &(struct problem){.severity = TOOLRACK_SEVERITY_ERROR,
                                           .rule = "config-value",
                                           .pointer = place,
                                           .cause = cause.data,
                                           .fix = fix.data});
}

int config_wrong(const struct reading *reading, const char *pointer, const char *reason) {
    return config_wrong_at(reading, reason, "%s", pointer);
}

int config_unknown(const struct reading *reading, const char *parent, const char *key,
                   const char *nearest) {
    char place[JSON_POINTER_MAX] = "";
    strncat(place, parent, sizeof place - 1);
    json_pointer_add(place, key);
    CLEANUP(buf_finish) struct buf cause = BUF_INIT;
    CLEANUP(buf_finish) struct buf fix = BUF_INIT;
    buf_printf(&cause, "unknown key \"%s\"", key);
    buf_printf(&fix, nearest != NULL ? "did you mean \"%s\"?" : "remove it", nearest);
    if (cause.failed || fix.failed) {
        return error_oom(reading->err);
    }
    if (reading->problems == NULL && nearest != NULL) {
        buf_printf(&cause, "; did you mean \"%s\"?", nearest);
    }
    return tell(reading, &(struct problem){.severity = TOOLRACK_SEVERITY_ERROR,
                                           .rule = "config-key",
                                           .pointer = place,
                                           .at = JSON_PLACE_KEY,
                                           .cause = cause.failed ? "unknown key" : cause.data,
                                           .fix = fix.data});
}

static int twice(const struct reading *reading, const char *key) {
    char place[JSON_POINTER_MAX] = "";
    json_pointer_add(place, key);
    CLEANUP(buf_finish) struct buf cause = BUF_INIT;
    buf_printf(&cause, "the key \"%s\" is given twice", key);
    return cause.failed ? error_oom(reading->err)
                        : tell(reading, &(struct problem){.severity = TOOLRACK_SEVERITY_ERROR,
                                                          .rule = "config-key",
                                                          .pointer = place,
                                                          .at = JSON_PLACE_LAST_KEY,
                                                          .cause = cause.data,
                                                          .fix = "put both into one"});
}

static int read_trust(const struct reading *reading, size_t at, yyjson_val *value,
                      enum trust *ret) {
    if (value == NULL) {
        *ret = TRUST_COMMUNITY;
        return 0;
    }
    if (yyjson_equals_str(value, "community")) {
        *ret = TRUST_COMMUNITY;
    } else if (yyjson_equals_str(value, "official")) {
        *ret = TRUST_OFFICIAL;
    } else if (yyjson_equals_str(value, "builtin")) {
        *ret = TRUST_BUILTIN;
    } else {
        return config_wrong_at(reading, "must be \"community\", \"official\" or \"builtin\"",
                               "/folders/%zu/trust", at);
    }
    return 0;
}

/* The one of the known keys that was probably meant, or NULL. */
static const char *nearest_of(const char *const *known, const char *key) {
    struct nearest nearest = nearest_to(key);
    for (; *known != NULL; known++) {
        (void)nearest_try(&nearest, *known);
    }
    return nearest.name;
}

static bool is_known(const char *const *known, const char *key) {
    while (*known != NULL && strcmp(*known, key) != 0) {
        known++;
    }
    return *known != NULL;
}

int config_check_keys(const struct reading *reading, const char *parent, yyjson_val *value,
                      const char *const *known) {
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *member;
    int code = 0;
    yyjson_obj_foreach (value, at, count, key, member) {
        const char *text = yyjson_get_str(key);
        if (code == 0 && !is_known(known, text)) {
            code = config_unknown(reading, parent, text, nearest_of(known, text));
        }
    }
    return code;
}

static const char *const folder_keys[] = {"path", "trust", "isolation", "pin", NULL};

static int read_folder(const struct reading *reading, size_t at, yyjson_val *value,
                       struct scan_folder *ret) {
    char place[JSON_POINTER_MAX];
    (void)snprintf(place, sizeof place, "/folders/%zu", at);
    yyjson_val *path = yyjson_is_obj(value) ? yyjson_obj_get(value, "path") : value;
    if (!yyjson_is_str(path) || yyjson_get_len(path) == 0) {
        return config_wrong_at(reading, "must be a path, or an object with \"path\" and \"trust\"",
                               "%s", place);
    }
    ret->path = yyjson_get_str(path);
    ret->optional = false;
    int code = config_check_keys(reading, place, value, folder_keys);
    if (code == 0) {
        code = read_trust(reading, at, yyjson_obj_get(value, "trust"), &ret->trust);
    }
    if (code == 0) {
        code = config_read_isolation(reading, place, yyjson_obj_get(value, "isolation"),
                                     &ret->isolation);
    }
    return code < 0 ? code
                    : config_read_pin(reading, place, yyjson_obj_get(value, "pin"), &ret->pin);
}

static int read_folders(const struct reading *reading, yyjson_val *value) {
    struct config *config = reading->config;
    if (!yyjson_is_arr(value)) {
        return config_wrong(reading, "/folders", "must be an array");
    }
    config->folders =
            arena_zalloc(&config->arena, yyjson_arr_size(value) * sizeof *config->folders);
    if (config->folders == NULL) {
        return error_oom(reading->err);
    }
    size_t at;
    size_t count;
    yyjson_val *folder;
    yyjson_arr_foreach (value, at, count, folder) {
        int code = read_folder(reading, at, folder, &config->folders[at]);
        if (code < 0) {
            return code;
        }
        config->folder_count++;
    }
    return 0;
}

static int read_deadline(const struct reading *reading, yyjson_val *value) {
    if (!yyjson_is_uint(value) || yyjson_get_uint(value) == 0 ||
        yyjson_get_uint(value) >= UINT32_MAX) {
        return config_wrong(reading, "/deadline_ms", "must be a positive number of milliseconds");
    }
    reading->config->deadline_ms = (uint32_t)yyjson_get_uint(value);
    return 0;
}

static int read_duplicates(const struct reading *reading, yyjson_val *value) {
    if (yyjson_equals_str(value, "reject")) {
        reading->config->replaces_duplicates = false;
    } else if (yyjson_equals_str(value, "replace")) {
        reading->config->replaces_duplicates = true;
    } else {
        return config_wrong(reading, "/duplicates", "must be \"reject\" or \"replace\"");
    }
    return 0;
}

static int read_grants(const struct reading *reading, yyjson_val *value) {
    size_t at;
    size_t count;
    yyjson_val *name;
    if (!yyjson_is_arr(value)) {
        return config_wrong(reading, "/grants", "must be an array of tool names");
    }
    yyjson_arr_foreach (value, at, count, name) {
        if (!yyjson_is_str(name)) {
            return config_wrong_at(reading, "must be the name of a tool", "/grants/%zu", at);
        }
    }
    reading->config->grants = value;
    return 0;
}

static int read_limit(const struct reading *reading, yyjson_val *value, uint32_t max,
                      const char *pointer, uint32_t *ret) {
    if (value != NULL &&
        (!yyjson_is_uint(value) || yyjson_get_uint(value) == 0 || yyjson_get_uint(value) > max)) {
        char reason[64];
        (void)snprintf(reason, sizeof reason, "must be a whole number from 1 to %u", max);
        return config_wrong(reading, pointer, reason);
    }
    *ret = (uint32_t)yyjson_get_uint(value);
    return 0;
}

static int read_log(const struct reading *reading, yyjson_val *value) {
    yyjson_val *days = yyjson_obj_get(value, "days");
    yyjson_val *megabytes = yyjson_obj_get(value, "megabytes");
    if (!yyjson_is_obj(value) ||
        yyjson_obj_size(value) != (size_t)(days != NULL) + (size_t)(megabytes != NULL)) {
        return config_wrong(reading, "/log", "must be an object of \"days\" and \"megabytes\"");
    }
    int code =
            read_limit(reading, days, CONFIG_LOG_DAYS_MAX, "/log/days", &reading->config->log_days);
    return code < 0 ? code
                    : read_limit(reading, megabytes, CONFIG_LOG_MEGABYTES_MAX, "/log/megabytes",
                                 &reading->config->log_megabytes);
}

static int read_plugins(const struct reading *reading, yyjson_val *value) {
    size_t at;
    size_t count;
    yyjson_val *id;
    yyjson_val *settings;
    if (!yyjson_is_obj(value)) {
        return config_wrong(reading, "/plugins", "must be an object of plugin ids");
    }
    yyjson_obj_foreach (value, at, count, id, settings) {
        if (!yyjson_is_obj(settings)) {
            char place[JSON_POINTER_MAX] = "/plugins";
            json_pointer_add(place, yyjson_get_str(id));
            return config_wrong_at(reading, "must be an object of settings", "%s", place);
        }
    }
    reading->config->plugins = value;
    return 0;
}

/* What is wrong with one of them is no reason not to start: see configured.c. */
static int read_tools(const struct reading *reading, yyjson_val *value) {
    if (!yyjson_is_arr(value)) {
        return config_wrong(reading, "/tools", "must be an array of definitions");
    }
    reading->config->tools = value;
    return 0;
}

/* For editors. */
static int read_schema(const struct reading *reading, yyjson_val *value) {
    return yyjson_is_str(value) ? 0 : config_wrong(reading, "/$schema", "must be a text");
}

static const struct member {
    const char *key;
    int (*read)(const struct reading *reading, yyjson_val *value);
    const char *example; /* for who wrote it otherwise */
} members[] = {
        {"$schema", read_schema, "\"$schema\": \"/usr/share/toolrack/toolrack.schema.json\""},
        {"folders", read_folders,
         "\"folders\": [{\"path\": \"/srv/ours\", \"trust\": \"official\"}]"},
        {"deadline_ms", read_deadline, "\"deadline_ms\": 30000"},
        {"duplicates", read_duplicates, "\"duplicates\": \"reject\""},
        {"grants", read_grants, "\"grants\": [\"wipe_disk\"]"},
        {"plugins", read_plugins,
         "\"plugins\": {\"currency\": {\"rates_file\": \"/srv/rates.xml\"}}"},
        {"isolation", config_read_isolation_member, "\"isolation\": \"process\""},
        {"log", read_log, "\"log\": {\"days\": 30, \"megabytes\": 256}"},
        {"require_sandbox", config_read_require_sandbox, "\"require_sandbox\": false"},
        {"pin", config_read_pin_member, "\"pin\": \"warn\""},
        {"paths", config_read_paths, "\"paths\": {\"workspace\": \"/srv/work\"}"},
        {"policies", config_read_policies,
         "\"policies\": {\"currency\": {\"allow\": [\"read\"], \"workers\": 4}}"},
        {"tools", read_tools, "\"tools\": [{\"name\": \"weather\", ...}]"},
};

static int read_member(struct reading *reading, yyjson_val *key, yyjson_val *value) {
    const char *text = yyjson_get_str(key);
    const char *known[ARRAY_LENGTH(members) + 1] = {NULL};
    for (size_t i = 0; i < ARRAY_LENGTH(members); i++) {
        if (yyjson_equals_str(key, members[i].key)) {
            reading->example = members[i].example;
            return members[i].read(reading, value);
        }
        known[i] = members[i].key;
    }
    return config_unknown(reading, "", text, nearest_of(known, text));
}

/* More members are not looked at one by one: each of them takes a look at all others. */
#define MEMBERS_MAX 64u
_Static_assert(MEMBERS_MAX >= ARRAY_LENGTH(members), "a file may have all of them");

static int read_members(struct reading *reading) {
    yyjson_val *root = yyjson_doc_get_root(reading->config->doc);
    if (!yyjson_is_obj(root)) {
        return config_wrong(reading, "", "must be one JSON object");
    }
    if (yyjson_obj_size(root) > MEMBERS_MAX) {
        return config_wrong(reading, "", "has more members than any configuration");
    }
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    yyjson_obj_foreach (root, at, count, key, value) {
        int code = yyjson_obj_getn(root, yyjson_get_str(key), yyjson_get_len(key)) != value
                           ? twice(reading, yyjson_get_str(key))
                           : read_member(reading, key, value);
        if (code < 0) {
            return code;
        }
    }
    return 0;
}

int config_read_text(struct config *config, const char *path, struct problems *problems,
                     struct toolrack_error *err) {
    struct reading reading = {.config = config, .path = path, .problems = problems, .err = err};
    int code = parse(&reading);
    if (code == 0 && config->doc != NULL) {
        code = read_members(&reading);
    }
    return code == 0 && problems != NULL && problems->failed ? error_oom(err) : code;
}

void config_init(struct config *config) {
    *config = (struct config){0};
    arena_init(&config->arena, NULL, 0);
}

int config_read(struct config *config, const char *path, bool optional,
                struct toolrack_error *err) {
    config_init(config);
    struct stat st;
    if (optional && stat(path, &st) < 0 && (errno == ENOENT || errno == ENOTDIR)) {
        return 0;
    }
    int code = config_read_file(path, &config->text, err);
    if (code == 0) {
        code = config_read_text(config, path, NULL, err);
    }
    if (code < 0) {
        config_finish(config);
    }
    return code;
}

void config_finish(struct config *config) {
    yyjson_doc_free(config->doc);
    buf_finish(&config->text);
    arena_finish(&config->arena);
    *config = (struct config){0};
}

/* --------------------------------------------------------------- questions */

bool config_grants(const struct config *config, const char *tool) {
    size_t at;
    size_t count;
    yyjson_val *name;
    yyjson_arr_foreach (config->grants, at, count, name) {
        if (yyjson_equals_str(name, tool)) {
            return true;
        }
    }
    return false;
}

const char *config_plugin_setting(struct config *config, const char *plugin_id, const char *path) {
    yyjson_val *settings = yyjson_obj_get(config->plugins, plugin_id);
    yyjson_alc alc = arena_alc(&config->arena);
    return json_setting(settings, path, &alc);
}
