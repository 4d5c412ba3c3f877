#include "life/policy-target.h"

#include <limits.h>
#include <string.h>

#include "base/buf.h"
#include "base/command.h"
#include "base/json.h"
#include "plugin/capability.h"
#include "toolrack/plugin.h"

/* ------------------------------------------------------------- placeholders */

#define SETTING_PREFIX "setting:"

/* A folder that the administrator set, in whose value ~ is the home folder. NULL: it has no value,
 * or out of memory. */
static const char *folder(const struct policy_values *values, const char *name, size_t length) {
    const char *path = config_placeholder(values->config, name, length);
    if (path == NULL || path[0] != '~') {
        return path;
    }
    const char *home = config_placeholder(values->config, "home", strlen("home"));
    return home != NULL && home[0] == '/' ? arena_printf(values->arena, "%s%s", home, path + 1)
                                          : NULL;
}

/* ${workspace}, ${home}: folders that the administrator set. ${data}: the plugin's own.
 * ${setting:rates_file}: the value of the plugin's own setting, also written by the administrator.
 */
static const char *placeholder(const struct policy_values *values, const char *name,
                               size_t length) {
    const struct config *config = values->config;
    size_t prefix = strlen(SETTING_PREFIX);
    if (length == strlen("data") && memcmp(name, "data", length) == 0 &&
        config_placeholder(config, name, length) == NULL) {
        return values->own_folder;
    }
    if (length <= prefix || memcmp(name, SETTING_PREFIX, prefix) != 0) {
        return folder(values, name, length);
    }
    const char *key = arena_copy(values->arena, name + prefix, length - prefix);
    yyjson_val *settings = config_plugin_settings(config, values->plugin_id);
    return yyjson_get_str(json_at(settings, key));
}

/* Why a placeholder has no value. NULL: no memory. */
static const char *explain_placeholder(const struct policy_values *values, const char *name,
                                       size_t length) {
    size_t prefix = strlen(SETTING_PREFIX);
    const char *id = values->plugin_id;
    if (length > prefix && memcmp(name, SETTING_PREFIX, prefix) == 0) {
        return arena_printf(values->arena,
                            "${%.*s} has no value: the plugin's setting is not set, or is no text; "
                            "set it: %s",
                            (int)length, name, COMMAND("set", id));
    }
    const char *path = config_placeholder(values->config, name, length);
    if (path != NULL) {
        return arena_printf(values->arena,
                            "${%.*s} is %s, and it is not known where ~ is, as HOME is not set; "
                            "write an absolute path in \"paths\" of the configuration",
                            (int)length, name, path);
    }
    return arena_printf(values->arena,
                        "${%.*s} has no value; give it one in \"paths\" of the configuration, or "
                        "have the plugin declare ${home}, ${data} or a setting of it",
                        (int)length, name);
}

/* False, with the reason: a placeholder has no value. */
static bool expand(const struct policy_values *values, const char *text, struct buf *out,
                   const char **ret_reason) {
    while (*text != '\0') {
        const char *end = strncmp(text, "${", 2) == 0 ? strchr(text, '}') : NULL;
        if (end == NULL) {
            buf_add(out, text++, 1);
            continue;
        }
        const char *path = placeholder(values, text + 2, (size_t)(end - text) - 2);
        if (path == NULL) {
            *ret_reason = explain_placeholder(values, text + 2, (size_t)(end - text) - 2);
            out->failed = out->failed || *ret_reason == NULL;
            return false;
        }
        buf_add_text(out, path);
        text = end + 1;
    }
    return true;
}

bool policy_target_expand(const struct policy_values *values, const char *text,
                          const char **ret_text, const char **ret_nowhere) {
    CLEANUP(buf_finish) struct buf whole = BUF_INIT;
    *ret_nowhere = NULL;
    bool is_whole = expand(values, text, &whole, ret_nowhere);
    *ret_text =
            is_whole && !whole.failed
                    ? arena_copy(values->arena, whole.length > 0 ? whole.data : "", whole.length)
                    : NULL;
    return *ret_text != NULL || (*ret_nowhere != NULL && !whole.failed);
}

/* Symbolic links are resolved: otherwise a user who may change a link would
 * decide what is granted. A path that does not exist grants nothing. False: out of memory. */
bool policy_target_find(const struct policy_values *values, const char *text,
                        struct policy_target *ret) {
    CLEANUP(buf_finish) struct buf path = BUF_INIT;
    *ret = (struct policy_target){0};
    if (!expand(values, text, &path, &ret->nowhere) || path.failed) {
        return !path.failed;
    }
    struct capability_fault fault;
    const char *whole = path.length > 0 ? path.data : "";
    struct guard_way *way = &ret->way;
    if (whole[0] != '/') {
        (void)capability_check(TR_CAP_READ, whole, &fault);
        ret->nowhere = arena_printf(values->arena, "%s; %s", fault.cause, fault.fix);
        return ret->nowhere != NULL;
    }
    if (strlen(whole) >= PATH_MAX || !guard_walk(values->ways, whole, way)) {
        ret->nowhere =
                arena_printf(values->arena, "the way to %s is too long or does not end", whole);
        return ret->nowhere != NULL;
    }
    if (way->is_open) {
        ret->nowhere = arena_printf(values->arena,
                                    "%s does not exist, so where %s leads is not known; write the "
                                    "path without \"..\"",
                                    way->missing, whole);
        return ret->nowhere != NULL;
    }
    way->end = arena_copy(values->arena, way->end, strlen(way->end));
    return way->end != NULL;
}

bool policy_target_find_narrower(const struct policy_values *values, const char *item,
                                 uint32_t kind, const char *declared_path,
                                 struct policy_target *ret) {
    const char *name = capability_kind_name(kind);
    size_t length = strlen(name);
    *ret = (struct policy_target){0};
    if (declared_path == NULL || (kind != TR_CAP_READ && kind != TR_CAP_WRITE) ||
        strncmp(item, name, length) != 0 || item[length] != ':') {
        return true;
    }
    if (!policy_target_find(values, item + length + 1, ret)) {
        return false;
    }
    const char *end = ret->nowhere == NULL ? ret->way.end : NULL;
    const char *below = end != NULL ? guard_below(end, declared_path) : NULL;
    ret->way.end = below != NULL && below[0] != '\0' ? end : NULL;
    return true;
}
