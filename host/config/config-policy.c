#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "config/config-reading.h"

int config_read_isolation(const struct reading *reading, const char *parent, yyjson_val *value,
                          enum isolation *ret) {
    if (value == NULL) {
        *ret = ISOLATION_UNSTATED;
    } else if (yyjson_equals_str(value, "process")) {
        *ret = ISOLATION_PROCESS;
    } else if (yyjson_equals_str(value, "none")) {
        *ret = ISOLATION_NONE;
    } else {
        return config_wrong_at(reading, "must be \"process\" or \"none\"", "%s/isolation", parent);
    }
    return 0;
}

int config_read_pin(const struct reading *reading, const char *parent, yyjson_val *value,
                    enum pin_policy *ret) {
    if (value == NULL) {
        *ret = PIN_UNSTATED;
    } else if (yyjson_equals_str(value, "off")) {
        *ret = PIN_OFF;
    } else if (yyjson_equals_str(value, "warn")) {
        *ret = PIN_WARN;
    } else if (yyjson_equals_str(value, "enforce")) {
        *ret = PIN_ENFORCE;
    } else {
        return config_wrong_at(reading, "must be \"off\", \"warn\" or \"enforce\"", "%s/pin",
                               parent);
    }
    return 0;
}

int config_read_isolation_member(const struct reading *reading, yyjson_val *value) {
    return config_read_isolation(reading, "", value, &reading->config->isolation);
}

int config_read_pin_member(const struct reading *reading, yyjson_val *value) {
    return config_read_pin(reading, "", value, &reading->config->pin);
}

int config_read_require_sandbox(const struct reading *reading, yyjson_val *value) {
    if (!yyjson_is_bool(value)) {
        return config_wrong(reading, "/require_sandbox", "must be true or false");
    }
    reading->config->require_sandbox = yyjson_get_bool(value);
    return 0;
}

int config_read_paths(const struct reading *reading, yyjson_val *value) {
    size_t at;
    size_t count;
    yyjson_val *name;
    yyjson_val *path;
    if (!yyjson_is_obj(value)) {
        return config_wrong(reading, "/paths",
                            "must be an object of absolute paths by placeholder");
    }
    yyjson_obj_foreach (value, at, count, name, path) {
        if (!yyjson_is_str(path) || yyjson_get_str(path)[0] != '/') {
            char place[JSON_POINTER_MAX] = "/paths";
            json_pointer_add(place, yyjson_get_str(name));
            return config_wrong_at(reading, "must be an absolute path", "%s", place);
        }
    }
    reading->config->paths = value;
    return 0;
}

/* ---------------------------------------------------------------- policies */

/* Numbers of a policy, and how large they may be. */
static const struct number {
    const char *key;
    size_t offset;
    uint32_t max;
} numbers[] = {
        {"workers", offsetof(struct config_policy, workers), 256},
        {"queue", offsetof(struct config_policy, queue), 65536},
        {"start_ms", offsetof(struct config_policy, start_ms), 3600000},
        {"idle_ms", offsetof(struct config_policy, idle_ms), 86400000},
        {"grace_ms", offsetof(struct config_policy, grace_ms), 3600000},
        {"backoff_ms", offsetof(struct config_policy, backoff_ms), CONFIG_BACKOFF_MS_MAX},
        {"backoff_max_ms", offsetof(struct config_policy, backoff_max_ms), CONFIG_BACKOFF_MS_MAX},
        {"crashes", offsetof(struct config_policy, crashes), CONFIG_CRASHES_MAX},
        {"crashes_window_ms", offsetof(struct config_policy, crashes_window_ms), 86400000},
        {"memory_mb", offsetof(struct config_policy, memory_mb), 1u << 24},
        {"file_mb", offsetof(struct config_policy, file_mb), 1u << 24},
        {"cpu_s", offsetof(struct config_policy, cpu_s), 86400},
        {"files", offsetof(struct config_policy, files), 65536},
        {"processes", offsetof(struct config_policy, processes), 65536},
};

static const struct number *find_number(const char *key) {
    for (size_t i = 0; i < ARRAY_LENGTH(numbers); i++) {
        if (strcmp(numbers[i].key, key) == 0) {
            return &numbers[i];
        }
    }
    return NULL;
}

static int read_number(const struct reading *reading, const char *place,
                       const struct number *number, yyjson_val *value,
                       struct config_policy *policy) {
    uint64_t given = yyjson_get_uint(value);
    if (!yyjson_is_uint(value) || given == 0 || given > number->max) {
        char reason[64];
        (void)snprintf(reason, sizeof reason, "must be a number from 1 to %u", number->max);
        return config_wrong_at(reading, reason, "%s/%s", place, number->key);
    }
    uint32_t *field = (uint32_t *)(void *)((char *)policy + number->offset);
    *field = (uint32_t)given;
    return 0;
}

static const char *const kinds[] = {"read", "write", "network", "spawn", "env"};

/* "*", a kind, or a kind, a colon and the value as the plugin declares it. */
static bool is_allowance(yyjson_val *value) {
    const char *text = yyjson_get_str(value);
    if (text == NULL || strcmp(text, "*") == 0) {
        return text != NULL;
    }
    size_t length = strcspn(text, ":");
    for (size_t i = 0; i < ARRAY_LENGTH(kinds); i++) {
        if (strlen(kinds[i]) == length && memcmp(kinds[i], text, length) == 0) {
            return true;
        }
    }
    return false;
}

static int read_allow(const struct reading *reading, const char *place, yyjson_val *value,
                      struct config_policy *policy) {
    size_t at;
    size_t count;
    yyjson_val *item;
    bool sound = yyjson_is_arr(value);
    yyjson_arr_foreach (value, at, count, item) {
        sound = sound && is_allowance(item);
    }
    policy->allow = value;
    return sound ? 0
                 : config_wrong_at(reading,
                                   "must be an array of \"*\", \"read\", \"write\", \"network\", "
                                   "\"spawn\", \"env\", or one of these with a value, as in "
                                   "\"read:/srv/data\"",
                                   "%s/allow", place);
}

/* The numbers' keys and the others, up to NULL. */
static void known_keys(const char **ret) {
    size_t count = 0;
    for (size_t i = 0; i < ARRAY_LENGTH(numbers); i++) {
        ret[count++] = numbers[i].key;
    }
    ret[count++] = "isolation";
    ret[count++] = "pin";
    ret[count++] = "allow";
    ret[count++] = "network_namespace";
    ret[count] = NULL;
}

static int read_policy_member(const struct reading *reading, const char *place, const char *key,
                              yyjson_val *value, struct config_policy *policy) {
    const struct number *number = find_number(key);
    if (number != NULL) {
        return read_number(reading, place, number, value, policy);
    }
    if (strcmp(key, "isolation") == 0) {
        return config_read_isolation(reading, place, value, &policy->isolation);
    }
    if (strcmp(key, "pin") == 0) {
        return config_read_pin(reading, place, value, &policy->pin);
    }
    if (strcmp(key, "allow") == 0) {
        return read_allow(reading, place, value, policy);
    }
    if (strcmp(key, "network_namespace") == 0) {
        policy->network_namespace = yyjson_get_bool(value);
        return yyjson_is_bool(value) ? 0
                                     : config_wrong_at(reading, "must be true or false",
                                                       "%s/network_namespace", place);
    }
    return 0; /* config_check_keys() has told of it */
}

static int read_policy(const struct reading *reading, const char *place, yyjson_val *value,
                       struct config_policy *policy) {
    const char *known[ARRAY_LENGTH(numbers) + 5];
    *policy = (struct config_policy){0};
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *member;
    if (!yyjson_is_obj(value)) {
        return config_wrong_at(reading, "must be an object", "%s", place);
    }
    known_keys(known);
    int code = config_check_keys(reading, place, value, known);
    yyjson_obj_foreach (value, at, count, key, member) {
        if (code == 0) {
            code = read_policy_member(reading, place, yyjson_get_str(key), member, policy);
        }
    }
    return code;
}

int config_read_policies(const struct reading *reading, yyjson_val *value) {
    size_t at;
    size_t count;
    yyjson_val *id;
    yyjson_val *policy;
    if (!yyjson_is_obj(value)) {
        return config_wrong(reading, "/policies", "must be an object of plugin ids");
    }
    yyjson_obj_foreach (value, at, count, id, policy) {
        struct config_policy unused;
        char place[JSON_POINTER_MAX] = "/policies";
        json_pointer_add(place, yyjson_get_str(id));
        int code = read_policy(reading, place, policy, &unused);
        if (code < 0) {
            return code;
        }
    }
    reading->config->policies = value;
    return 0;
}

/* --------------------------------------------------------------- questions */

void config_policy(const struct config *config, const char *plugin_id, struct config_policy *ret) {
    struct toolrack_error err;
    const struct reading reading = {.path = "", .err = &err};
    yyjson_val *value = yyjson_obj_get(config->policies, plugin_id);
    /* It was read before, when the file was. */
    if (value == NULL || read_policy(&reading, "", value, ret) < 0) {
        *ret = (struct config_policy){0};
    }
}

const char *config_placeholder(const struct config *config, const char *name, size_t length) {
    yyjson_val *path = yyjson_obj_getn(config->paths, name, length);
    if (path != NULL) {
        return yyjson_get_str(path);
    }
    const char *home = getenv("HOME");
    bool is_home = length == strlen("home") && memcmp(name, "home", length) == 0;
    return is_home && home != NULL && home[0] == '/' ? home : NULL;
}
