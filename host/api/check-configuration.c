/* What is wrong with a configuration, and what it names that is not on this machine. */
#include <string.h>

#include "api/builtin.h"
#include "api/check.h"
#include "api/hosts.h"
#include "api/models.h"
#include "api/mounts.h"
#include "api/plan-tool.h"
#include "api/serving-names.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/name.h"
#include "config/config.h"
#include "files/watch.h"

CLEANUP_DEFINE(struct toolrack_text, toolrack_text_unref)
CLEANUP_DEFINE(struct toolrack_tools, toolrack_tools_free)

/* What the start would say of a configuration. */
struct starting {
    const struct toolrack_check_options *options;
    struct toolrack_findings *findings;
    const struct config *config; /* once there is a host */
    bool failed;
};

static void add_finding(struct starting *starting, const struct toolrack_finding *finding) {
    struct toolrack_findings *findings = starting->findings;
    struct toolrack_finding *grown =
            arena_alloc(&findings->arena, (findings->count + 1) * sizeof *grown);
    if (grown == NULL || finding->cause == NULL || finding->fix == NULL) {
        starting->failed = true;
        return;
    }
    if (findings->count > 0) {
        memcpy(grown, findings->items, findings->count * sizeof *grown);
    }
    grown[findings->count++] = *finding;
    findings->items = grown;
}

/* "what is wrong; what to do", or only what is wrong. */
static void add_words(struct starting *starting, const struct toolrack_finding *about,
                      const char *words) {
    struct arena *arena = &starting->findings->arena;
    struct toolrack_finding finding = *about;
    const char *end = strstr(words, "; ");
    const char *fix = end != NULL ? end + 2 : "correct it, or remove it from the configuration";
    finding.cause = arena_copy(arena, words, end != NULL ? (size_t)(end - words) : strlen(words));
    finding.fix = arena_copy(arena, fix, strlen(fix));
    add_finding(starting, &finding);
}

static void pass_line(const struct starting *starting, enum toolrack_log_level level,
                      const char *source, const char *line) {
    const struct toolrack_check_options *options = starting->options;
    if (options->log != NULL && level >= options->log_level) {
        options->log(options->user, level, source, line);
    }
}

/* A line of the host's log. */
static void take_line(void *user, enum toolrack_log_level level, const char *source,
                      const char *line) {
    struct starting *starting = user;
    bool is_folder = strcmp(source, "scan") == 0;
    if (level < TOOLRACK_LOG_WARNING || (!is_folder && strcmp(source, "permission") != 0)) {
        pass_line(starting, level, source, line);
        return;
    }
    add_words(starting,
              &(struct toolrack_finding){.severity = TOOLRACK_SEVERITY_WARNING,
                                         .rule = is_folder ? "config-folder" : "config-grant"},
              line);
}

/* A toolrack_tell. */
static void take_problem(void *telling, enum toolrack_severity severity, const char *pointer,
                         const char *problem) {
    struct starting *starting = telling;
    struct toolrack_finding finding = {
            .severity = severity,
            .rule = "config-serve",
            .pointer = arena_copy(&starting->findings->arena, pointer, strlen(pointer))};
    config_place(starting->config, pointer, &finding.line, &finding.column);
    add_words(starting, &finding, problem);
}

static bool is_plugin(yyjson_val *plugins, const char *id, struct nearest *nearest) {
    size_t at;
    size_t count;
    yyjson_val *row;
    yyjson_arr_foreach (plugins, at, count, row) {
        const char *other = yyjson_get_str(yyjson_obj_get(row, "id"));
        if (other != NULL && strcmp(other, id) == 0) {
            return true;
        }
        (void)nearest_try(nearest, other != NULL ? other : "");
    }
    return false;
}

/* The ids of "policies" and "plugins" that no plugin of the folders has. */
static void check_ids(struct starting *starting, const struct toolrack *host, yyjson_val *plugins,
                      const char *member) {
    struct arena *arena = &starting->findings->arena;
    struct toolrack_finding finding = {.severity = TOOLRACK_SEVERITY_WARNING,
                                       .rule = "config-plugin"};
    const char *id;
    for (size_t i = 0; (id = config_plugin_named(host->config, member, i, &finding.line,
                                                 &finding.column)) != NULL;
         i++) {
        struct nearest nearest = nearest_to(id);
        if (is_plugin(plugins, id, &nearest)) {
            continue;
        }
        finding.cause = arena_printf(
                arena, "\"%s\" names %s, and no plugin of the folders has this id", member, id);
        finding.fix = nearest.name != NULL
                              ? arena_printf(arena, "did you mean \"%s\"?", nearest.name)
                              : "correct the id, remove it, or install the plugin";
        add_finding(starting, &finding);
    }
}

/* "read:/srv, network:*:443" of lines. */
static const char *list_of(struct arena *arena, const char *lines) {
    CLEANUP(buf_finish) struct buf list = BUF_INIT;
    for (; *lines != '\0'; lines++) {
        buf_add(&list, *lines == '\n' ? ", " : lines, *lines == '\n' ? 2 : 1);
    }
    return list.failed ? NULL : arena_copy(arena, list.data, list.length);
}

/* An item of "allow" that names nothing that a plugin of this id declares. */
static void check_allowance(struct starting *starting, const struct toolrack *host,
                            const struct toolrack_tools *tools, const char *id, const char *item,
                            size_t index) {
    struct arena *arena = &starting->findings->arena;
    struct toolrack_finding finding = {.severity = TOOLRACK_SEVERITY_WARNING,
                                       .rule = "config-allow"};
    const struct plugin *plugin = NULL;
    for (size_t i = 0; i < toolrack_tools_count(tools); i++) {
        const struct plugin *other = toolrack_tools_get(tools, i)->reg->plugin;
        if (strcmp(other->desc->plugin->id, id) != 0) {
            continue;
        }
        if (life_uses_allowance(other, index)) {
            return;
        }
        plugin = other;
    }
    if (plugin == NULL) {
        return;
    }
    bool declares = plugin->capabilities != NULL && plugin->capabilities[0] != '\0';
    const char *list = declares ? list_of(arena, plugin->capabilities) : "nothing";
    finding.line = config_allowance_line(host->config, id, index, &finding.column);
    finding.cause = arena_printf(arena, "\"%s\" allows nothing to %s, which declares %s", item, id,
                                 list != NULL ? list : "");
    finding.fix = declares ? "remove it, or write what the plugin declares" : "remove it";
    starting->failed = starting->failed || list == NULL;
    add_finding(starting, &finding);
}

/* A tool, tag or category of "serve" that no tool has. */
static void take_name(void *user, const struct serving_name *name) {
    struct starting *starting = user;
    struct arena *arena = &starting->findings->arena;
    add_finding(starting, &(struct toolrack_finding){
                                  .severity = TOOLRACK_SEVERITY_WARNING,
                                  .rule = "config-tool",
                                  .line = name->line,
                                  .column = name->column,
                                  .cause = arena_copy(arena, name->cause, strlen(name->cause)),
                                  .fix = arena_copy(arena, name->fix, strlen(name->fix))});
}

/* A model that no conversation can ask. */
static void take_model(void *user, const char *name, const char *why) {
    struct starting *starting = user;
    struct toolrack_finding finding = {.severity = TOOLRACK_SEVERITY_ERROR, .rule = "config-model"};
    char pointer[JSON_POINTER_MAX] = "/models";
    json_pointer_add(pointer, name);
    finding.pointer = arena_copy(&starting->findings->arena, pointer, strlen(pointer));
    config_place(starting->config, pointer, &finding.line, &finding.column);
    add_words(starting, &finding, why);
}

/* A plan_tools_problem. */
static void take_plan(void *user, const char *name, const char *pointer, const char *cause,
                      const char *fix) {
    struct starting *starting = user;
    struct arena *arena = &starting->findings->arena;
    struct toolrack_finding finding = {.severity = TOOLRACK_SEVERITY_ERROR,
                                       .rule = "definition-plan",
                                       .tool = arena_copy(arena, name, strlen(name)),
                                       .cause = arena_copy(arena, cause, strlen(cause)),
                                       .fix = arena_copy(arena, fix, strlen(fix)),
                                       .pointer = arena_copy(arena, pointer, strlen(pointer))};
    config_place(starting->config, pointer, &finding.line, &finding.column);
    add_finding(starting, &finding);
}

/* A server of "mcpServers" that would be refused. */
static void take_mount(void *user, const char *name, const char *why) {
    struct starting *starting = user;
    struct toolrack_finding finding = {.severity = TOOLRACK_SEVERITY_ERROR, .rule = "config-mcp"};
    char pointer[JSON_POINTER_MAX] = "/mcpServers";
    json_pointer_add(pointer, name);
    finding.pointer = arena_copy(&starting->findings->arena, pointer, strlen(pointer));
    config_place(starting->config, pointer, &finding.line, &finding.column);
    add_words(starting, &finding, why);
}

/* "nats" with which no server can be joined. */
static int check_hosts(struct starting *starting, struct toolrack *host,
                       struct toolrack_error *err) {
    struct toolrack_error why;
    struct toolrack_finding finding = {
            .severity = TOOLRACK_SEVERITY_ERROR, .rule = "config-nats", .pointer = "/nats"};
    int code = hosts_check(host, &why);
    if (code < 0 && code != TOOLRACK_E_NO_MEMORY) {
        config_place(starting->config, finding.pointer, &finding.line, &finding.column);
        add_words(starting, &finding, why.message);
        code = 0;
    }
    return code < 0 ? error_oom(err) : 0;
}

static int check_allowances(struct starting *starting, struct toolrack *host,
                            struct toolrack_error *err) {
    CLEANUP(toolrack_tools_freep) struct toolrack_tools *tools = NULL;
    struct toolrack_filter all = TOOLRACK_FILTER_INIT;
    all.all = true;
    int code = toolrack_list(host, &all, &tools, err);
    const char *id;
    size_t line;
    size_t column;
    for (size_t i = 0; code == 0 && (id = config_plugin_named(host->config, "policies", i, &line,
                                                              &column)) != NULL;
         i++) {
        struct config_policy policy;
        size_t at;
        size_t count;
        yyjson_val *item;
        config_policy(host->config, id, &policy);
        yyjson_arr_foreach (policy.allow, at, count, item) {
            check_allowance(starting, host, tools, id, yyjson_get_str(item), at);
        }
    }
    return code;
}

/* The tools of "arguments_of" that no plugin and no definition has. */
static int check_tolerances(struct starting *starting, struct toolrack *host,
                            struct toolrack_error *err) {
    struct arena *arena = &starting->findings->arena;
    CLEANUP(toolrack_tools_freep) struct toolrack_tools *tools = NULL;
    struct toolrack_filter all = TOOLRACK_FILTER_INIT;
    all.all = true;
    int code = toolrack_list(host, &all, &tools, err);
    const char *name;
    for (size_t i = 0; code == 0 && (name = config_tolerance_of(host->config, i)) != NULL; i++) {
        struct toolrack_finding finding = {.severity = TOOLRACK_SEVERITY_WARNING,
                                           .rule = "config-tool"};
        struct nearest nearest = nearest_to(name);
        char pointer[JSON_POINTER_MAX] = "/arguments_of/tools";
        bool is_known = false;
        for (size_t at = 0; at < toolrack_tools_count(tools); at++) {
            const char *other = toolrack_tool_name(toolrack_tools_get(tools, at));
            is_known = is_known || strcmp(other, name) == 0;
            (void)nearest_try(&nearest, other);
        }
        if (is_known) {
            continue;
        }
        json_pointer_add(pointer, name);
        config_place(host->config, pointer, &finding.line, &finding.column);
        finding.cause =
                arena_printf(arena, "\"arguments_of\" names '%s', and there is no such tool", name);
        finding.fix = nearest.name != NULL
                              ? arena_printf(arena, "did you mean \"%s\"?", nearest.name)
                              : "correct the name, remove it, or install the plugin that has it";
        add_finding(starting, &finding);
    }
    return code;
}

/* Whether words are about a folder itself, not about a file in it. */
static bool is_of_folder(const char *words, const char *folder) {
    size_t length = strlen(folder);
    return strncmp(words, folder, length) == 0 && words[length] == ':';
}

/* Whether they are about a folder with which the caller checks. */
static bool is_given(const struct starting *starting, const struct toolrack *host,
                     const char *words) {
    bool is_found = false;
    for (size_t i = 0; starting->options->plugin_dirs != NULL && i < host->places.folder_count;
         i++) {
        is_found = is_found || is_of_folder(words, host->places.folders[i].path);
    }
    return is_found;
}

/* Find the places of what the log has told: the grant that a line quotes, or the folder with which
 * it begins. One that the caller gives has no place. A folder that neither names is not their
 * fault, and stays a line. */
static void place_lines(const struct starting *starting, const struct toolrack *host) {
    struct toolrack_findings *findings = starting->findings;
    const struct config *config = starting->config;
    size_t kept = 0;
    for (size_t i = 0; i < findings->count; i++) {
        struct toolrack_finding *finding = &findings->items[i];
        bool is_folder = strcmp(finding->rule, "config-folder") == 0;
        bool is_known =
                finding->line != 0 || (is_folder && is_given(starting, host, finding->cause));
        const struct config_settings *settings = config_settings(config);
        for (size_t j = 0; !is_known && is_folder && j < settings->folder_count; j++) {
            const char *path = settings->folders[j].path;
            is_known = strncmp(finding->cause, path, strlen(path)) == 0;
            config_item_place(config, "folders", j, &finding->line, &finding->column);
        }
        const char *granted;
        for (size_t j = 0; !is_known && !is_folder && (granted = config_grant(config, j)) != NULL;
             j++) {
            const char *quoted = strstr(finding->cause, granted);
            is_known = quoted != NULL && quoted > finding->cause && quoted[-1] == '\'' &&
                       quoted[strlen(granted)] == '\'';
            config_item_place(config, "grants", j, &finding->line, &finding->column);
        }
        if (is_known) {
            findings->items[kept++] = *finding;
        } else {
            CLEANUP(buf_finish) struct buf line = BUF_INIT;
            buf_printf(&line, "%s; %s", finding->cause, finding->fix);
            pass_line(starting, TOOLRACK_LOG_WARNING, is_folder ? "scan" : "permission",
                      line.failed ? finding->cause : line.data);
        }
    }
    findings->count = kept;
}

/* What a server cannot watch, it does not start with. */
static int check_watch(struct starting *starting, const struct toolrack *host,
                       struct toolrack_error *err) {
    struct watch *watch = NULL;
    int code = watch_create(&watch, err);
    if (code < 0) { /* too many watches of the user are not the fault of the file */
        return code == TOOLRACK_E_NO_MEMORY ? code : 0;
    }
    for (size_t i = 0; code == 0 && i < host->places.folder_count; i++) {
        const char *folder = host->places.folders[i].path;
        struct toolrack_error why = {0};
        bool is_told = false;
        int refused = watch_add(watch, folder, NULL, &why);
        for (size_t j = 0; refused == TOOLRACK_E_IO && j < starting->findings->count; j++) {
            struct toolrack_finding *finding = &starting->findings->items[j];
            if (strcmp(finding->rule, "config-folder") == 0 &&
                is_of_folder(finding->cause, folder)) {
                finding->severity = TOOLRACK_SEVERITY_ERROR;
                is_told = true;
            }
        }
        if (refused == TOOLRACK_E_IO && !is_told) {
            add_words(starting,
                      &(struct toolrack_finding){.severity = TOOLRACK_SEVERITY_ERROR,
                                                 .rule = "config-folder"},
                      why.message);
        }
        code = refused == TOOLRACK_E_NO_MEMORY ? error_oom(err) : 0;
    }
    watch_destroy(watch);
    return code;
}

/* Whether what the configuration names is there: a host is opened with it, which loads and stores
 * nothing. What only another machine has is a warning. */
static int check_start(const char *file, const struct toolrack_check_options *checking,
                       struct toolrack_findings *findings, struct toolrack_error *err) {
    struct starting starting = {.options = checking, .findings = findings};
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    struct toolrack *host = NULL;
    options.config_file = file;
    options.state_dir = "";
    options.brief = true;
    options.log = take_line;
    options.log_level = checking->log != NULL && checking->log_level < TOOLRACK_LOG_WARNING
                                ? checking->log_level
                                : TOOLRACK_LOG_WARNING;
    options.user = &starting;
    options.plugin_dirs = checking->plugin_dirs;
    options.safe_mode = checking->safe_mode != 0;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    int code = toolrack_open(&options, &host, err);
    if (code < 0 && code != TOOLRACK_E_NO_MEMORY) {
        const char *cause = err != NULL ? err->message : toolrack_code_name(code);
        add_finding(&starting, &(struct toolrack_finding){
                                       .severity = TOOLRACK_SEVERITY_ERROR,
                                       .rule = "config-start",
                                       .line = 1,
                                       .column = 1,
                                       .cause = arena_copy(&findings->arena, cause, strlen(cause)),
                                       .fix = "correct this: no host starts with the file here"});
        return starting.failed ? error_oom(err) : 0;
    }
    code = code < 0 ? code : toolrack_plugins_info(host, &text, err);
    if (code == 0) {
        yyjson_doc *doc = yyjson_read(toolrack_text_data(text, NULL),
                                      strlen(toolrack_text_data(text, NULL)), 0);
        starting.config = host->config;
        place_lines(&starting, host);
        check_ids(&starting, host, yyjson_doc_get_root(doc), "policies");
        check_ids(&starting, host, yyjson_doc_get_root(doc), "plugins");
        starting.failed = starting.failed || doc == NULL;
        yyjson_doc_free(doc);
        code = check_watch(&starting, host, err);
        code = code < 0 ? code : check_allowances(&starting, host, err);
        code = code < 0 ? code : check_tolerances(&starting, host, err);
        code = code < 0 ? code : models_check(host, take_model, &starting, err);
        code = code < 0 ? code : mounts_check(host, take_mount, &starting, err);
        code = code < 0 ? code : check_hosts(&starting, host, err);
        code = code < 0 ? code : plan_tools_check(host, take_plan, &starting, err);
        serving_names(host, take_name, &starting);
        if (checking->more != NULL) {
            checking->more(checking->user, host, take_problem, &starting);
        }
    }
    toolrack_close(host);
    return code < 0 ? code : starting.failed ? error_oom(err) : 0;
}

int check_configuration(const char *file, const struct toolrack_check_options *checking,
                        struct toolrack_findings *findings, struct toolrack_error *err) {
    const struct config_options options = {.builtins = builtins,
                                           .builtin_count = builtin_count,
                                           .check_schema = tool_check_schema,
                                           .check_values = tool_check_values,
                                           .make_plan = plan_tool_make,
                                           .make_remote = mounts_make_tool};
    int code = config_check(&options, file, &findings->arena, &findings->items, &findings->count,
                            &findings->tool_count, err);
    for (size_t i = 0; i < findings->count && code == 0; i++) {
        if (findings->items[i].severity == TOOLRACK_SEVERITY_ERROR &&
            strcmp(findings->items[i].rule, CONFIG_RULE_FILE) != 0) {
            return 0; /* no host starts with it as it is */
        }
    }
    return code < 0 ? code : check_start(file, checking, findings, err);
}
