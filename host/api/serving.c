/* What servers of the host keep: their configuration, tokens and tasks. */
#include "toolrack/serving.h"

#include <string.h>

#include "api/follow.h"
#include "api/host.h"
#include "api/serving-names.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/json-write.h"
#include "base/json.h"
#include "base/name.h"
#include "permit/tokens.h"
#include "record/tasks.h"
#include "registry/document.h"
#include "registry/selector.h"

/* ----------------------------------------------------------- configuration */

int toolrack_serving(struct toolrack *host, struct toolrack_text **ret,
                     struct toolrack_error *err) {
    HOST_SCOPE(host);
    yyjson_mut_doc *doc = json_doc_create();
    yyjson_val *serve = config_serving(host->config);
    yyjson_mut_doc_set_root(doc, serve != NULL ? yyjson_val_mut_copy(doc, serve) : NULL);
    return document_end(doc, ret, err);
}

static void log_name(void *user, const struct serving_name *name) {
    const struct toolrack *host = user;
    log_line(&host->log, LOG_WARNING, "config", "%s, line %zu, column %zu: %s; %s",
             host->places.config_file, name->line, name->column, name->cause, name->fix);
}

static void log_warning(void *user, const char *line) {
    const struct toolrack *host = user;
    log_line(&host->log, LOG_WARNING, "config", "%s", line);
}

int toolrack_serving_check(struct toolrack *host, uint32_t parts, struct toolrack_error *err) {
    HOST_SCOPE(host);
    unsigned files = ((parts & TOOLRACK_SERVING_FILES) != 0 ? CONFIG_FILES : 0u) |
                     ((parts & TOOLRACK_SERVING_SOCKET) != 0 ? CONFIG_SOCKET : 0u);
    serving_names(host, log_name, host);
    return files == 0 ? 0
                      : config_serving_files(host->config, host->places.config_file,
                                             files | CONFIG_READABLE, log_warning, host, err);
}

int toolrack_serving_refuse(struct toolrack *host, const char *pointer, const char *problem,
                            struct toolrack_error *err) {
    HOST_SCOPE(host);
    struct toolrack_error words = {0}; /* `problem` may be a part of `err` */
    if (host->places.config_file == NULL) {
        (void)error_set_field(&words, TOOLRACK_E_INVALID, pointer, "%s", problem);
    } else {
        (void)config_refuse_value(host->config, host->places.config_file, pointer, problem, &words);
    }
    toolrack_error_copy(err, &words);
    return TOOLRACK_E_INVALID;
}

/* The profiles that there are without a configuration; one of its own of that name is meant. */
static bool is_basic(const char *profile) {
    return strcmp(profile, TOOLRACK_PROFILE_BASIC) == 0;
}

static bool is_built_in(const char *profile) {
    return is_basic(profile) || strcmp(profile, TOOLRACK_PROFILE_FULL) == 0;
}

bool toolrack_has_profile(struct toolrack *host, const char *profile) {
    HOST_SCOPE(host);
    return is_built_in(profile) || config_profile(host->config, profile) != NULL;
}

static bool built_in_has(const char *profile, const struct toolrack_tool *tool) {
    return is_basic(profile) ? !toolrack_tool_has_tag(tool, TOOLRACK_TAG_EXTRA)
                             : is_built_in(profile);
}

/* Whether a list is not given, or has an item that fits. */
static bool list_fits(yyjson_val *list, bool (*fits)(const char *item, const void *user),
                      const void *user) {
    size_t at;
    size_t count;
    yyjson_val *item;
    if (list == NULL) {
        return true;
    }
    yyjson_arr_foreach (list, at, count, item) {
        if (fits(yyjson_get_str(item), user)) {
            return true;
        }
    }
    return false;
}

static bool name_fits(const char *item, const void *user) {
    return selector_pattern_fits(item, toolrack_tool_name(user), toolrack_tool_version(user));
}

static bool tag_fits(const char *item, const void *user) {
    return toolrack_tool_has_tag(user, item);
}

static bool category_fits(const char *item, const void *user) {
    const char *category = toolrack_tool_category(user);
    return category != NULL && strcmp(category, item) == 0;
}

static bool permission_fits(const char *item, const void *user) {
    static const char *const names[] = {[TOOLRACK_PERMISSION_SAFE] = "safe",
                                        [TOOLRACK_PERMISSION_CONFIRM] = "confirm",
                                        [TOOLRACK_PERMISSION_DANGEROUS] = "dangerous"};
    return strcmp(item, names[toolrack_tool_permission(user)]) == 0;
}

bool toolrack_profile_has(struct toolrack *host, const char *profile,
                          const struct toolrack_tool *tool) {
    HOST_SCOPE(host);
    yyjson_val *lists = profile != NULL ? config_profile(host->config, profile) : NULL;
    if (profile == NULL || lists == NULL) {
        return profile == NULL || built_in_has(profile, tool);
    }
    return list_fits(yyjson_obj_get(lists, "tools"), name_fits, tool) &&
           list_fits(yyjson_obj_get(lists, "tags"), tag_fits, tool) &&
           list_fits(yyjson_obj_get(lists, "categories"), category_fits, tool) &&
           list_fits(yyjson_obj_get(lists, "permissions"), permission_fits, tool);
}

/* ------------------------------------------------------------------ tokens */

int serving_check_profile(struct toolrack *host, const char *profile, struct toolrack_error *err) {
    yyjson_val *serve = config_serving(host->config);
    struct nearest meant = nearest_to(profile);
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    if (toolrack_has_profile(host, profile)) {
        return 0;
    }
    json_obj_foreach (yyjson_obj_get(serve, "profiles"), at, count, key, value) {
        (void)nearest_try(&meant, yyjson_get_str(key));
    }
    return meant.name != NULL
                   ? error_set(err, TOOLRACK_E_INVALID,
                               "the configuration has no profile '%.64s'; did you mean '%.64s'?",
                               profile, meant.name)
                   : error_set(err, TOOLRACK_E_INVALID,
                               "the configuration has no profile '%.64s'; add it to \"profiles\" "
                               "in \"serve\"",
                               profile);
}

int toolrack_token_add(struct toolrack *host, const struct toolrack_token *token,
                       struct toolrack_text **ret_secret, const char *who,
                       struct toolrack_error *err) {
    HOST_SCOPE(host);
    struct hosts_telling telling;
    int code = token->profile != NULL ? serving_check_profile(host, token->profile, err) : 0;
    if (code < 0) {
        return code;
    }
    follow_begin(host, &telling);
    code = follow_end(host, &telling, HOSTS_DECISION,
                      tokens_add(host->tokens, token, ret_secret, host_who(host, who), err));
    for (size_t i = 0; code == 0 && token->tools != NULL && token->tools[i] != NULL; i++) {
        CLEANUP(buf_finish) struct buf fix = BUF_INIT;
        if (!serving_has_tool(host, token->tools[i], &fix)) {
            log_line(&host->log, LOG_WARNING, "permission",
                     "the token '%s' is for '%s', and no tool has this name; %s", token->name,
                     token->tools[i], fix.failed ? "" : fix.data);
        }
    }
    return code;
}

int toolrack_token_file(struct toolrack *host, const char *path, struct toolrack_error *err) {
    HOST_SCOPE(host);
    return tokens_file(host->tokens, path, err);
}

int toolrack_tokens(struct toolrack *host, struct toolrack_text **ret, struct toolrack_error *err) {
    HOST_SCOPE(host);
    return tokens_list(host->tokens, ret, err);
}

int toolrack_token_revoke(struct toolrack *host, const char *name, const char *who,
                          struct toolrack_error *err) {
    HOST_SCOPE(host);
    struct hosts_telling telling;
    follow_begin(host, &telling);
    return follow_end(host, &telling, HOSTS_DECISION,
                      tokens_revoke(host->tokens, name, host_who(host, who), err));
}

int toolrack_token_find(struct toolrack *host, const char *secret,
                        struct toolrack_token_grant **ret, struct toolrack_error *err) {
    HOST_SCOPE(host);
    return tokens_find(host->tokens, secret, ret, err);
}

bool toolrack_tools_have(const char *const *tools, const char *name, const char *version) {
    for (size_t i = 0; tools != NULL && tools[i] != NULL; i++) {
        if (selector_pattern_fits(tools[i], name, version)) {
            return true;
        }
    }
    return tools == NULL;
}

/* ------------------------------------------------------------------- tasks */

/* A number of "tasks" of the configuration. */
static uint64_t number_of(yyjson_val *tasks, const char *key) {
    return yyjson_get_uint(yyjson_obj_get(tasks, key));
}

static struct store_task_room room_of(yyjson_val *tasks) {
    return (struct store_task_room){.tasks = (size_t)number_of(tasks, "max"),
                                    .bytes = number_of(tasks, "bytes"),
                                    .all_bytes = number_of(tasks, "all_bytes")};
}

int toolrack_task_create(struct toolrack *host, const struct toolrack_task *given,
                         char ret_id[TOOLRACK_TASK_ID_ROOM], struct toolrack_error *err) {
    HOST_SCOPE(host);
    struct toolrack_task task = {0};
    yyjson_val *serve = config_serving(host->config);
    yyjson_val *configured = yyjson_obj_get(serve, "tasks");
    memcpy(&task, given, given->size < sizeof task ? given->size : sizeof task);
    if (serve == NULL) {
        return error_oom(err);
    }
    if (task.owner == NULL || task.tool == NULL || task.version == NULL || task.method == NULL) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "a task needs an owner, a tool, its version and a method");
    }
    if (task.ttl_ms == 0) {
        task.ttl_ms = number_of(configured, "ttl_ms");
    } else if (task.ttl_ms == TOOLRACK_TASK_FOR_EVER) {
        task.ttl_ms = 0;
    }
    if (task.poll_ms == 0) {
        task.poll_ms = number_of(configured, "poll_ms");
    }
    const struct store_task_room room = room_of(configured);
    return tasks_add(host->tasks, &task, &room, ret_id, err);
}

int toolrack_task_set(struct toolrack *host, const char *id, const char *status,
                      const char *message, const char *result, const char *failure,
                      const char *input_requests, struct toolrack_error *err) {
    HOST_SCOPE(host);
    yyjson_val *serve = config_serving(host->config);
    if (serve == NULL) {
        return error_oom(err);
    }
    const struct store_task_room room = room_of(yyjson_obj_get(serve, "tasks"));
    return tasks_set(host->tasks, id, status, message, result, failure, input_requests, &room, err);
}

int toolrack_task_get(struct toolrack *host, const char *owner, const char *id,
                      struct toolrack_text **ret, struct toolrack_error *err) {
    HOST_SCOPE(host);
    return tasks_get(host->tasks, owner, id, ret, err);
}

int toolrack_tasks(struct toolrack *host, const char *owner, struct toolrack_text **ret,
                   struct toolrack_error *err) {
    HOST_SCOPE(host);
    return tasks_list(host->tasks, owner, ret, err);
}

int toolrack_task_cancel(struct toolrack *host, const char *owner, const char *id,
                         struct toolrack_error *err) {
    HOST_SCOPE(host);
    struct hosts_telling telling;
    follow_begin(host, &telling);
    return follow_end(host, &telling, HOSTS_DECISION, tasks_cancel(host->tasks, owner, id, err));
}

int toolrack_task_remove(struct toolrack *host, const char *owner, const char *id,
                         struct toolrack_error *err) {
    HOST_SCOPE(host);
    return tasks_remove(host->tasks, owner, id, err);
}

bool serving_learns(void *user) {
    const struct toolrack *host = user;
    return hosts_learns(host->hosts);
}

void serving_cancelled(void *user, const char *id) {
    host_tell(user, &(struct toolrack_event){.size = sizeof(struct toolrack_event),
                                             .kind = TOOLRACK_EVENT_TASK,
                                             .message = id});
}
