/* What a policy says that has no effect beside another of its members. */
#include "base/json.h"
#include "config/parts.h"

static void add(struct problems *problems, const char *id, const char *key, const char *fix,
                const char *why) {
    char pointer[JSON_POINTER_MAX] = "/policies";
    json_pointer_add(pointer, id);
    json_pointer_add(pointer, key);
    problems_add(problems,
                 &(struct problem){.severity = TOOLRACK_SEVERITY_WARNING,
                                   .rule = "config-unused",
                                   .pointer = pointer,
                                   .at = JSON_PLACE_KEY,
                                   .fix = fix},
                 "\"%s\" of the policy of %s has no effect: %s", key, id, why);
}

/* What limits workers, and a plugin in the host's process has none. */
static void check_in_process(yyjson_val *policy, const char *id, struct problems *problems) {
    static const char *const keys[] = {"allow",
                                       "workers",
                                       "queue",
                                       "start_ms",
                                       "idle_ms",
                                       "grace_ms",
                                       "backoff_ms",
                                       "crashes",
                                       "crashes_window_ms",
                                       "memory_mb",
                                       "file_mb",
                                       "cpu_s",
                                       "files",
                                       "processes",
                                       "threads",
                                       "go_back",
                                       "backoff_max_ms",
                                       "idle_cpu_percent",
                                       "network_namespace"};
    if (!yyjson_equals_str(yyjson_obj_get(policy, "isolation"), "none")) {
        return;
    }
    for (size_t i = 0; i < ARRAY_LENGTH(keys); i++) {
        if (yyjson_obj_get(policy, keys[i]) != NULL) {
            add(problems, id, keys[i],
                "remove it, or let the plugin run in workers (\"isolation\": \"process\")",
                "with isolation none the plugin runs in the host's process, with all its rights");
        }
    }
}

static void check_pauses(yyjson_val *policy, const char *id, struct problems *problems) {
    yyjson_val *most = yyjson_obj_get(policy, "backoff_max_ms");
    if (most != NULL &&
        yyjson_get_uint(yyjson_obj_get(policy, "backoff_ms")) > yyjson_get_uint(most)) {
        add(problems, id, "backoff_ms", "write a smaller one, or a larger \"backoff_max_ms\"",
            "\"backoff_max_ms\" is less");
    }
}

void config_check_unused(yyjson_val *root, struct problems *problems) {
    size_t at;
    size_t count;
    yyjson_val *id;
    yyjson_val *policy;
    json_obj_foreach (yyjson_obj_get(root, "policies"), at, count, id, policy) {
        check_in_process(policy, yyjson_get_str(id), problems);
        check_pauses(policy, yyjson_get_str(id), problems);
    }
}
