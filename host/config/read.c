#include "config/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/json.h"
#include "base/name.h"
#include "base/ownership.h"
#include "base/semver.h"
#include "config/validate.h"

/* -------------------------------------------------------------------- file */

static int cannot_read(const char *path, struct toolrack_error *err) {
    return error_set(err, TOOLRACK_E_IO, "cannot read the configuration %s: %s", path,
                     strerror(errno));
}

/* Whoever can write the configuration decides what runs in the host's process, and what is granted:
 * so nobody else may be able to. */
static int check_owner(const char *path, struct toolrack_error *err) {
    struct toolrack_error why;
    int code = ownership_check(path, &why);
    return code == TOOLRACK_E_REFUSED
                   ? error_set(err, code, "the configuration %s is not used: %s", path, why.message)
           : code == TOOLRACK_E_NO_MEMORY ? error_oom(err)
                                          : 0;
}

/* The folder of the file, in the arena, which relative folders are below. */
static int find_folder(struct config *config, const char *path, struct toolrack_error *err) {
    const char *slash = strrchr(path, '/');
    CLEANUP(freep)
    char *above = slash == NULL   ? strdup(".")
                  : slash == path ? strdup("/")
                                  : strndup(path, (size_t)(slash - path));
    CLEANUP(freep) char *real = above != NULL ? realpath(above, NULL) : NULL;
    const char *found = real != NULL ? real : above;
    config->folder = found != NULL ? arena_copy(&config->arena, found, strlen(found)) : NULL;
    return config->folder != NULL ? 0 : error_oom(err);
}

int config_read_file(struct config *config, const char *path, struct toolrack_error *err) {
    struct buf *out = &config->text;
    struct stat place;
    bool is_folder = stat(path, &place) == 0 && S_ISDIR(place.st_mode);
    int code = is_folder ? error_set(err, TOOLRACK_E_INVALID,
                                     "the configuration %s is a folder; name a file, such as "
                                     "%s/toolrack.json",
                                     path, path)
                         : check_owner(path, err);
    if (code == 0) {
        code = find_folder(config, path, err);
    }
    if (code < 0) {
        return code;
    }
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

/* Numbers that fit into no C type are kept as written, for the answers of tools. */
#define CONFIG_READ_FLAGS \
    (YYJSON_READ_ALLOW_COMMENTS | YYJSON_READ_ALLOW_TRAILING_COMMAS | YYJSON_READ_BIGNUM_AS_RAW)

static int parse(struct config *config, struct problems *problems, struct toolrack_error *err) {
    yyjson_read_err why;
    config->doc =
            yyjson_read_opts(config->text.data, config->text.length, CONFIG_READ_FLAGS, NULL, &why);
    if (config->doc == NULL && why.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION) {
        return error_oom(err);
    }
    if (config->doc == NULL) {
        problems_add(problems,
                     &(struct problem){.severity = TOOLRACK_SEVERITY_ERROR,
                                       .rule = "config-syntax",
                                       .position = why.pos,
                                       .fix = "write JSON; comments and a last comma are allowed"},
                     "%s", why.msg);
        return 0;
    }
    int code = validator_create(&validator_configuration, &config->validator, err);
    if (code == 0) {
        validator_check_file(config->validator, yyjson_doc_get_root(config->doc), problems);
        config_check_allowances(yyjson_doc_get_root(config->doc), problems);
    }
    return code;
}

/* ----------------------------------------------------------------- members */

/* The index of a value among the names, counted from 1, for enumerations that begin with "not
 * stated"; 0 if it is missing. */
static unsigned which(yyjson_val *object, const char *key, const char *const *names) {
    yyjson_val *value = yyjson_obj_get(object, key);
    unsigned at = 0;
    while (value != NULL && names[at] != NULL) {
        if (yyjson_equals_str(value, names[at++])) {
            return at;
        }
    }
    return 0;
}

static enum isolation isolation_in(yyjson_val *object) {
    static const char *const names[] = {
            [ISOLATION_PROCESS - 1] = "process", [ISOLATION_NONE - 1] = "none", NULL};
    return (enum isolation)which(object, "isolation", names);
}

static enum pin_policy pin_in(yyjson_val *object) {
    static const char *const names[] = {
            [PIN_OFF - 1] = "off", [PIN_WARN - 1] = "warn", [PIN_ENFORCE - 1] = "enforce", NULL};
    return (enum pin_policy)which(object, "pin", names);
}

static unsigned tolerance_in(yyjson_val *object, const char *key) {
    static const char *const names[] = {[TOOLRACK_TOLERANCE_EXACT - 1] = "exact",
                                        [TOOLRACK_TOLERANCE_JSON_TEXT - 1] = "json-text",
                                        [TOOLRACK_TOLERANCE_LAX - 1] = "lax",
                                        NULL};
    return which(object, key, names);
}

unsigned config_tolerance(const struct config *config, const char *member, const char *name) {
    return tolerance_in(yyjson_obj_get(yyjson_obj_get(config->root, "arguments_of"), member), name);
}

const char *config_tolerance_of(const struct config *config, size_t index) {
    yyjson_obj_iter iter =
            yyjson_obj_iter_with(yyjson_ptr_get(config->root, "/arguments_of/tools"));
    yyjson_val *key = yyjson_obj_iter_next(&iter);
    for (size_t i = 0; i < index && key != NULL; i++) {
        key = yyjson_obj_iter_next(&iter);
    }
    return yyjson_get_str(key);
}

static enum trust trust_in(yyjson_val *object) {
    static const char *const names[] = {
            [TRUST_COMMUNITY] = "community", [TRUST_OFFICIAL] = "official", "builtin", NULL};
    unsigned found = which(object, "trust", names);
    return found == 0 ? TRUST_COMMUNITY : (enum trust)(found - 1);
}

static uint32_t number_in(yyjson_val *object, const char *key) {
    return (uint32_t)yyjson_get_uint(yyjson_obj_get(object, key));
}

static uint32_t keep_in(yyjson_val *object, uint32_t otherwise) {
    return yyjson_obj_get(object, "keep") != NULL ? number_in(object, "keep") : otherwise;
}

static bool goes_back_in(yyjson_val *object, bool otherwise) {
    yyjson_val *value = yyjson_obj_get(object, "go_back");
    return value != NULL ? yyjson_is_true(value) : otherwise;
}

const char *config_resolve(struct config *config, const char *path, const char *pointer,
                           struct problems *problems) {
    if (path == NULL || path[0] == '/') { /* the schema has made sure of a string */
        return path;
    }
    if (path[0] != '~') {
        return arena_printf(&config->arena, "%s/%s", config->folder, path);
    }
    const char *home = getenv("HOME");
    if ((path[1] == '\0' || path[1] == '/') && home != NULL && home[0] == '/') {
        return arena_printf(&config->arena, "%s%s", home, path + 1);
    }
    problems_add(problems,
                 &(struct problem){.severity = TOOLRACK_SEVERITY_ERROR,
                                   .rule = "config-path",
                                   .pointer = pointer,
                                   .fix = "write the path from the root, such as \"/srv/tools\""},
                 "%s in \"%.100s\"",
                 path[1] == '\0' || path[1] == '/' ? "HOME is not set, which \"~\" stands for"
                                                   : "the folders of other users are not looked up",
                 path);
    return "";
}

static int take_folders(struct config *config, struct problems *problems,
                        struct toolrack_error *err) {
    yyjson_val *folders = yyjson_obj_get(config->root, "folders");
    struct config_settings *settings = &config->settings;
    size_t at;
    size_t count;
    yyjson_val *folder;
    config->folders =
            arena_zalloc(&config->arena, yyjson_arr_size(folders) * sizeof *config->folders + 1);
    if (config->folders == NULL) {
        return error_oom(err);
    }
    settings->folders = config->folders;
    yyjson_arr_foreach (folders, at, count, folder) {
        char pointer[JSON_POINTER_MAX] = "/folders";
        json_pointer_add_index(pointer, at);
        yyjson_val *value = yyjson_is_obj(folder) ? yyjson_obj_get(folder, "path") : folder;
        const char *path = config_resolve(config, yyjson_get_str(value), pointer, problems);
        if (path == NULL) {
            return error_oom(err);
        }
        config->folders[settings->folder_count++] =
                (struct scan_folder){.path = path,
                                     .trust = trust_in(folder),
                                     .isolation = isolation_in(folder),
                                     .pin = pin_in(folder)};
    }
    return 0;
}

/* A grant that can match no tool would be believed to hold. */
static void check_grants(const struct config *config, struct problems *problems) {
    size_t at;
    size_t count;
    yyjson_val *item;
    yyjson_arr_foreach (yyjson_obj_get(config->root, "grants"), at, count, item) {
        const char *granted = yyjson_get_str(item);
        const char *version = strchr(granted, '@');
        CLEANUP(freep) char *name = strndup(granted, strcspn(granted, "@"));
        char pointer[JSON_POINTER_MAX] = "/grants";
        json_pointer_add_index(pointer, at);
        if (name == NULL) {
            problems->failed = true;
        } else if (!name_valid(name) || (version != NULL && !semver_valid(version + 1))) {
            problems_add(problems,
                         &(struct problem){.severity = TOOLRACK_SEVERITY_ERROR,
                                           .rule = "config-grant",
                                           .pointer = pointer,
                                           .fix = "write \"name\" for all versions, or one version "
                                                  "as \"name@1.0.0\""},
                         "\"%.100s\" is neither the name of a tool nor one version of a tool",
                         granted);
        }
    }
}

/* Take the settings. The root was found valid. */
static int take(struct config *config, struct problems *problems, struct toolrack_error *err) {
    yyjson_val *root = config->root;
    yyjson_val *log = yyjson_obj_get(root, "log");
    struct config_settings *settings = &config->settings;
    int code = take_folders(config, problems, err);
    check_grants(config, problems);
    config_check_serving(config, problems);
    config_check_models(root, problems);
    if (code < 0) {
        return code;
    }
    settings->deadline_ms = number_in(root, "deadline_ms");
    settings->isolation = isolation_in(root);
    settings->pin = pin_in(root);
    settings->tolerance = tolerance_in(root, "arguments");
    settings->require_sandbox = yyjson_is_true(yyjson_obj_get(root, "require_sandbox"));
    settings->keeps_spare_worker = yyjson_is_true(yyjson_obj_get(root, "spare_worker"));
    settings->keep = keep_in(root, CONFIG_KEEP_DEFAULT);
    settings->goes_back = goes_back_in(root, true);
    settings->measure = measure_in(root);
    settings->log_days = number_in(log, "days");
    settings->log_megabytes = number_in(log, "megabytes");
    settings->log_per_second = number_in(log, "per_second");
    return 0;
}

int config_read_text(struct config *config, struct problems *problems, struct toolrack_error *err) {
    int code = parse(config, problems, err);
    if (code == 0 && problems->failed) {
        code = error_oom(err);
    }
    if (code < 0) {
        return code;
    }
    config->root = yyjson_doc_get_root(config->doc);
    /* Needed even when settings are invalid, since definitions are checked in any case. */
    config->settings.replaces_duplicates =
            yyjson_equals_str(yyjson_obj_get(config->root, "duplicates"), "replace");
    return problems->errors == 0 ? take(config, problems, err) : 0;
}

/* -------------------------------------------------------------------- life */

struct config *config_new(const struct config_options *options) {
    struct config *config = calloc(1, sizeof *config);
    if (config != NULL) {
        config->options = *options;
        config->settings.keep = CONFIG_KEEP_DEFAULT;
        config->settings.goes_back = true;
        arena_init(&config->arena, NULL, 0);
        (void)pthread_mutex_init(&config->lock, NULL);
    }
    return config;
}

int config_refuse(const struct config *config, const char *file, const struct problem *problem,
                  struct toolrack_error *err) {
    size_t line = 0;
    size_t column = 0;
    problem_line(problem, config->text.data, config->text.length, &line, &column);
    return error_set_field(err, TOOLRACK_E_INVALID, problem->pointer,
                           "%s, line %zu, column %zu: %s; %s", file, line, column, problem->cause,
                           problem->fix);
}

int config_refuse_value(const struct config *config, const char *file, const char *pointer,
                        const char *problem, struct toolrack_error *err) {
    size_t line = 0;
    size_t column = 0;
    problem_line(&(struct problem){.pointer = pointer}, config->text.data, config->text.length,
                 &line, &column);
    return error_set_field(err, TOOLRACK_E_INVALID, pointer, "%s, line %zu, column %zu: %s", file,
                           line, column, problem);
}

int config_create(const struct config_options *options, struct config **ret,
                  struct toolrack_error *err) {
    struct stat st;
    struct config *config = config_new(options);
    if (config == NULL) {
        return error_oom(err);
    }
    int code = 0;
    if (options->path != NULL && !(options->optional && stat(options->path, &st) < 0 &&
                                   (errno == ENOENT || errno == ENOTDIR))) {
        struct problems problems = {.arena = &config->arena};
        code = config_read_file(config, options->path, err);
        if (code == 0) {
            code = config_read_text(config, &problems, err);
        }
        if (code == 0 && problems.errors > 0) {
            code = config_refuse(config, options->path, &problems.items[0], err);
        }
    }
    config->options.path = NULL;
    if (code < 0) {
        config_destroy(config);
        return code;
    }
    *ret = config;
    return 0;
}

void config_destroy(struct config *config) {
    if (config != NULL) {
        services_finish(&config->services);
        validator_destroy(config->validator);
        yyjson_doc_free(config->serving);
        yyjson_doc_free(config->doc);
        buf_finish(&config->text);
        arena_finish(&config->arena);
        (void)pthread_mutex_destroy(&config->lock);
        free(config);
    }
}

/* ----------------------------------------------------------------- getters */

const struct config_settings *config_settings(const struct config *config) {
    return &config->settings;
}

yyjson_val *config_choosing(const struct config *config) {
    return yyjson_obj_get(config->root, "choose");
}

const char *config_grant(const struct config *config, size_t index) {
    return yyjson_get_str(yyjson_arr_get(yyjson_obj_get(config->root, "grants"), index));
}

bool config_grants(const struct config *config, const char *tool, const char *version) {
    size_t length = strlen(tool);
    size_t at;
    size_t count;
    yyjson_val *item;
    yyjson_arr_foreach (yyjson_obj_get(config->root, "grants"), at, count, item) {
        const char *granted = yyjson_get_str(item);
        if (granted != NULL && strncmp(granted, tool, length) == 0 &&
            (granted[length] == '\0' ||
             (granted[length] == '@' && semver_compare(granted + length + 1, version) == 0))) {
            return true;
        }
    }
    return false;
}

yyjson_val *config_plugin_settings(const struct config *config, const char *plugin_id) {
    return yyjson_obj_get(yyjson_obj_get(config->root, "plugins"), plugin_id);
}

const char *config_plugin_setting(struct config *config, const char *plugin_id, const char *path) {
    (void)pthread_mutex_lock(&config->lock);
    yyjson_alc alc = arena_alc(&config->arena);
    const char *value = json_setting(config_plugin_settings(config, plugin_id), path, &alc);
    (void)pthread_mutex_unlock(&config->lock);
    return value;
}

yyjson_val *config_definitions(const struct config *config) {
    yyjson_val *tools = yyjson_obj_get(config->root, "tools");
    return yyjson_is_arr(tools) ? tools : NULL;
}

size_t config_definition_count(const struct config *config) {
    return yyjson_arr_size(config_definitions(config));
}

void config_place(const struct config *config, const char *pointer, size_t *ret_line,
                  size_t *ret_column) {
    const struct problem there = {.pointer = pointer, .at = JSON_PLACE_VALUE};
    problem_line(&there, config->text.data, config->text.length, ret_line, ret_column);
}

void config_item_place(const struct config *config, const char *member, size_t index,
                       size_t *ret_line, size_t *ret_column) {
    char pointer[JSON_POINTER_MAX] = "";
    json_pointer_add(pointer, member);
    json_pointer_add_index(pointer, index);
    config_place(config, pointer, ret_line, ret_column);
}

const char *config_plugin_named(const struct config *config, const char *member, size_t index,
                                size_t *ret_line, size_t *ret_column) {
    yyjson_obj_iter iter = yyjson_obj_iter_with(yyjson_obj_get(config->root, member));
    yyjson_val *key = yyjson_obj_iter_next(&iter);
    for (size_t i = 0; i < index && key != NULL; i++) {
        key = yyjson_obj_iter_next(&iter);
    }
    if (key == NULL) {
        return NULL;
    }
    char pointer[JSON_POINTER_MAX] = "";
    size_t position = 0;
    json_pointer_add(pointer, member);
    json_pointer_add(pointer, yyjson_get_str(key));
    (void)json_place_find(config->text.data, config->text.length, pointer, JSON_PLACE_KEY,
                          &position);
    json_place_line(config->text.data, config->text.length, position, ret_line, ret_column);
    return yyjson_get_str(key);
}

bool config_mentions(const struct config *config, const char *plugin_id) {
    return yyjson_obj_get(yyjson_obj_get(config->root, "policies"), plugin_id) != NULL ||
           config_plugin_settings(config, plugin_id) != NULL;
}

const char *config_native_name(const struct config *config, size_t index) {
    yyjson_val *definition = yyjson_arr_get(config_definitions(config), index);
    const char *name = yyjson_get_str(yyjson_obj_get(definition, "name"));
    yyjson_val *type = yyjson_obj_get(yyjson_obj_get(definition, "implementation"), "type");
    return definition == NULL                                  ? NULL
           : name != NULL && yyjson_equals_str(type, "native") ? name
                                                               : "";
}

/* The numbers of a policy and their members. */
static const struct {
    const char *key;
    size_t offset;
} policy_numbers[] = {
        {"workers", offsetof(struct config_policy, workers)},
        {"queue", offsetof(struct config_policy, queue)},
        {"start_ms", offsetof(struct config_policy, start_ms)},
        {"idle_ms", offsetof(struct config_policy, idle_ms)},
        {"grace_ms", offsetof(struct config_policy, grace_ms)},
        {"backoff_ms", offsetof(struct config_policy, backoff_ms)},
        {"backoff_max_ms", offsetof(struct config_policy, backoff_max_ms)},
        {"crashes", offsetof(struct config_policy, crashes)},
        {"crashes_window_ms", offsetof(struct config_policy, crashes_window_ms)},
        {"memory_mb", offsetof(struct config_policy, memory_mb)},
        {"file_mb", offsetof(struct config_policy, file_mb)},
        {"cpu_s", offsetof(struct config_policy, cpu_s)},
        {"files", offsetof(struct config_policy, files)},
        {"processes", offsetof(struct config_policy, processes)},
        {"threads", offsetof(struct config_policy, threads)},
        {"idle_cpu_percent", offsetof(struct config_policy, idle_cpu_percent)},
};

void config_policy(const struct config *config, const char *plugin_id, struct config_policy *ret) {
    yyjson_val *policy = yyjson_obj_get(yyjson_obj_get(config->root, "policies"), plugin_id);
    *ret = (struct config_policy){
            .isolation = isolation_in(policy),
            .pin = pin_in(policy),
            .allow = yyjson_obj_get(policy, "allow"),
            .keep = keep_in(policy, config->settings.keep),
            .goes_back = goes_back_in(policy, config->settings.goes_back),
            .measure = measure_in(policy),
            .network_namespace = yyjson_is_true(yyjson_obj_get(policy, "network_namespace"))};
    for (size_t i = 0; policy != NULL && i < ARRAY_LENGTH(policy_numbers); i++) {
        uint32_t *number = (uint32_t *)(void *)((char *)ret + policy_numbers[i].offset);
        *number = number_in(policy, policy_numbers[i].key);
    }
    if (ret->measure == MEASURE_UNSTATED) {
        ret->measure = config->settings.measure != MEASURE_UNSTATED ? config->settings.measure
                                                                    : MEASURE_SAMPLED;
    }
}

const char *config_placeholder(const struct config *config, const char *name, size_t length) {
    yyjson_val *path = yyjson_obj_getn(yyjson_obj_get(config->root, "paths"), name, length);
    if (path != NULL) {
        return yyjson_get_str(path);
    }
    const char *home = getenv("HOME");
    bool is_home = length == strlen("home") && memcmp(name, "home", length) == 0;
    return is_home && home != NULL && home[0] == '/' ? home : NULL;
}
