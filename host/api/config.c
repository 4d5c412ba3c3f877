#include "api/config-reading.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/json.h"
#include "base/name.h"

/* -------------------------------------------------------------------- file */

static int cannot_read(const char *path, struct toolrack_error *err) {
    return error_set(err, TOOLRACK_E_IO, "cannot read the configuration %s: %s", path,
                     strerror(errno));
}

static int read_file(const char *path, struct buf *out, struct toolrack_error *err) {
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

static int parse(struct config *config, const char *path, const struct buf *text,
                 struct toolrack_error *err) {
    yyjson_read_err why;
    config->doc = yyjson_read_opts(text->data, text->length,
                                   YYJSON_READ_ALLOW_COMMENTS | YYJSON_READ_ALLOW_TRAILING_COMMAS,
                                   NULL, &why);
    if (config->doc == NULL && why.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION) {
        return error_oom(err);
    }
    if (config->doc == NULL) {
        size_t line = 0;
        size_t column = 0;
        size_t character = 0;
        (void)yyjson_locate_pos(text->data, text->length, why.pos, &line, &column, &character);
        return error_set(err, TOOLRACK_E_INVALID, "%s, line %zu, column %zu: %s", path, line,
                         column, why.msg);
    }
    return 0;
}

/* ----------------------------------------------------------------- members */

int config_wrong(const struct reading *reading, const char *pointer, const char *reason) {
    return error_set_field(reading->err, TOOLRACK_E_INVALID, pointer, "%s: %s %s", reading->path,
                           pointer, reason);
}

static int read_trust(const struct reading *reading, yyjson_val *value, enum trust *ret) {
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
        return config_wrong(reading, "/folders",
                            "have \"trust\" \"community\", \"official\" or "
                            "\"builtin\"");
    }
    return 0;
}

static int read_folder(const struct reading *reading, yyjson_val *value, struct scan_folder *ret) {
    yyjson_val *path = yyjson_is_obj(value) ? yyjson_obj_get(value, "path") : value;
    if (!yyjson_is_str(path) || yyjson_get_len(path) == 0) {
        return config_wrong(reading, "/folders",
                            "must hold paths, or objects with \"path\" and \"trust\"");
    }
    ret->path = yyjson_get_str(path);
    ret->optional = false;
    int code = read_trust(reading, yyjson_obj_get(value, "trust"), &ret->trust);
    if (code == 0) {
        code = config_read_isolation(reading, "/folders", yyjson_obj_get(value, "isolation"),
                                     &ret->isolation);
    }
    return code < 0 ? code
                    : config_read_pin(reading, "/folders", yyjson_obj_get(value, "pin"), &ret->pin);
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
        int code = read_folder(reading, folder, &config->folders[at]);
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
        reading->config->duplicates = REGISTRY_REJECT;
    } else if (yyjson_equals_str(value, "replace")) {
        reading->config->duplicates = REGISTRY_REPLACE;
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
            return config_wrong(reading, "/grants", "must be an array of tool names");
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
        (void)id;
        if (!yyjson_is_obj(settings)) {
            return config_wrong(reading, "/plugins",
                                "must hold an object of settings for each plugin id");
        }
    }
    reading->config->plugins = value;
    return 0;
}

static const struct member {
    const char *key;
    int (*read)(const struct reading *reading, yyjson_val *value);
} members[] = {
        {"folders", read_folders},
        {"deadline_ms", read_deadline},
        {"duplicates", read_duplicates},
        {"grants", read_grants},
        {"plugins", read_plugins},
        {"isolation", config_read_isolation_member},
        {"log", read_log},
        {"require_sandbox", config_read_require_sandbox},
        {"pin", config_read_pin_member},
        {"paths", config_read_paths},
        {"policies", config_read_policies},
};

static int read_member(const struct reading *reading, yyjson_val *key, yyjson_val *value) {
    const char *nearest = NULL;
    unsigned best = 4;
    for (size_t i = 0; i < ARRAY_LENGTH(members); i++) {
        if (yyjson_equals_str(key, members[i].key)) {
            return members[i].read(reading, value);
        }
        unsigned distance = name_distance(yyjson_get_str(key), members[i].key, best);
        if (distance < best) {
            best = distance;
            nearest = members[i].key;
        }
    }
    return error_set(reading->err, TOOLRACK_E_INVALID, "%s: unknown key \"%s\"%s%s%s",
                     reading->path, yyjson_get_str(key), nearest != NULL ? "; did you mean \"" : "",
                     nearest != NULL ? nearest : "", nearest != NULL ? "\"?" : "");
}

static int read_members(struct config *config, const char *path, struct toolrack_error *err) {
    struct reading reading = {.config = config, .path = path, .err = err};
    yyjson_val *root = yyjson_doc_get_root(config->doc);
    if (!yyjson_is_obj(root)) {
        return error_set(err, TOOLRACK_E_INVALID, "%s: must be one JSON object", path);
    }
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    yyjson_obj_foreach (root, at, count, key, value) {
        if (yyjson_obj_getn(root, yyjson_get_str(key), yyjson_get_len(key)) != value) {
            return error_set(err, TOOLRACK_E_INVALID, "%s: the key \"%s\" is given twice", path,
                             yyjson_get_str(key));
        }
        int code = read_member(&reading, key, value);
        if (code < 0) {
            return code;
        }
    }
    return 0;
}

int config_read(struct config *config, const char *path, bool optional,
                struct toolrack_error *err) {
    *config = (struct config){0};
    arena_init(&config->arena, NULL, 0);
    struct stat st;
    if (optional && stat(path, &st) < 0 && (errno == ENOENT || errno == ENOTDIR)) {
        return 0;
    }
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    int code = read_file(path, &text, err);
    if (code == 0) {
        code = parse(config, path, &text, err);
    }
    if (code == 0) {
        code = read_members(config, path, err);
    }
    if (code < 0) {
        config_finish(config);
    }
    return code;
}

void config_finish(struct config *config) {
    yyjson_doc_free(config->doc);
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
