
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "api/builtin.h"
#include "api/host.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/name.h"
#include "config/config.h"
#include "plugin/linkage.h"

struct toolrack_findings {
    struct descriptor *desc; /* of a plugin; it owns its strings; NULL: a configuration */
    size_t tool_count;
    size_t count;
    struct toolrack_finding *items; /* in the arena, like the strings of a configuration */
    struct arena arena;
};
CLEANUP_DEFINE(struct toolrack_findings, toolrack_findings_free)
CLEANUP_DEFINE(struct toolrack_text, toolrack_text_unref)

/* ------------------------------------------------------------------- plugins */

static enum toolrack_severity severity_of(int severity) {
    switch (severity) {
    case FINDING_ERROR: return TOOLRACK_SEVERITY_ERROR;
    case FINDING_WARNING: return TOOLRACK_SEVERITY_WARNING;
    default: return TOOLRACK_SEVERITY_NOTE;
    }
}

static void add(struct toolrack_findings *findings, const struct finding *finding) {
    findings->items[findings->count++] =
            (struct toolrack_finding){.severity = severity_of(finding->severity),
                                      .rule = finding->rule,
                                      .tool = finding->tool,
                                      .cause = finding->cause,
                                      .fix = finding->fix};
}

static int check_plugin(int fd, const char *file, struct toolrack_findings *findings,
                        struct toolrack_error *err) {
    CLEANUP(descriptor_unrefp) struct descriptor *desc = NULL;
    bool no_memory;
    struct descriptor_options options = tool_descriptor_options(&no_memory);
    int code = descriptor_read(fd, &options, &desc, err);
    if (code < 0 || no_memory) {
        return code < 0 ? code : error_oom(err);
    }
    /* Only here and not when folders are scanned: a library may be installed later than its plugin.
     */
    struct findings linkage;
    findings_init(&linkage, &findings->arena);
    if (desc->plugin != NULL && linkage_check(fd, file, &linkage) < 0) {
        return error_oom(err);
    }
    findings->items = arena_alloc(
            &findings->arena,
            (desc->finding_count + (size_t)linkage.count) * sizeof *findings->items + 1);
    if (findings->items == NULL) {
        return error_oom(err);
    }
    for (uint32_t i = 0; i < desc->finding_count; i++) {
        add(findings, &desc->findings[i]);
    }
    for (uint32_t i = 0; i < linkage.count; i++) {
        add(findings, &linkage.items[i]);
    }
    findings->tool_count = desc->tool_count;
    findings->desc = STEAL(desc);
    return 0;
}

/* -------------------------------------------------------------- configurations */

/* What the start would say of a configuration. */
struct starting {
    struct toolrack_findings *findings;
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

/* A line of the host's log, "what is wrong; what to do" or "what is wrong: what to do". */
static void take_line(void *user, enum toolrack_log_level level, const char *source,
                      const char *line) {
    struct starting *starting = user;
    struct arena *arena = &starting->findings->arena;
    bool is_folder = strcmp(source, "scan") == 0;
    if (level < TOOLRACK_LOG_WARNING || (!is_folder && strcmp(source, "permission") != 0)) {
        return;
    }
    const char *end = strstr(line, "; ");
    size_t length = end != NULL ? (size_t)(end - line) : strlen(line);
    const char *fix = end != NULL ? end + 2 : "correct it, or remove it from the configuration";
    add_finding(starting,
                &(struct toolrack_finding){.severity = TOOLRACK_SEVERITY_WARNING,
                                           .rule = is_folder ? "config-folder" : "config-grant",
                                           .cause = arena_copy(arena, line, length),
                                           .fix = arena_copy(arena, fix, strlen(fix))});
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

/* Find the places of what the log has told: the grant that a line quotes, or the folder with which
 * it begins. A folder that the file does not name is not its fault. */
static void place_lines(struct toolrack_findings *findings, const struct config *config) {
    size_t kept = 0;
    for (size_t i = 0; i < findings->count; i++) {
        struct toolrack_finding *finding = &findings->items[i];
        bool is_folder = strcmp(finding->rule, "config-folder") == 0;
        bool is_known = finding->line != 0;
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
        }
    }
    findings->count = kept;
}

/* Whether what the configuration names is there: a host is opened with it, which loads and stores
 * nothing. What only another machine has is a warning. */
static int check_start(const char *file, struct toolrack_findings *findings,
                       struct toolrack_error *err) {
    struct starting starting = {.findings = findings};
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    struct toolrack *host = NULL;
    options.config_file = file;
    options.state_dir = "";
    options.brief = true;
    options.log = take_line;
    options.log_level = TOOLRACK_LOG_WARNING;
    options.user = &starting;
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
        place_lines(findings, host->config);
        check_ids(&starting, host, yyjson_doc_get_root(doc), "policies");
        check_ids(&starting, host, yyjson_doc_get_root(doc), "plugins");
        starting.failed = starting.failed || doc == NULL;
        yyjson_doc_free(doc);
    }
    toolrack_close(host);
    return code < 0 ? code : starting.failed ? error_oom(err) : 0;
}

static int check_configuration(const char *file, struct toolrack_findings *findings,
                               struct toolrack_error *err) {
    const struct config_options options = {.builtins = builtins,
                                           .builtin_count = builtin_count,
                                           .check_schema = tool_check_schema,
                                           .check_values = tool_check_values};
    int code = config_check(&options, file, &findings->arena, &findings->items, &findings->count,
                            &findings->tool_count, err);
    for (size_t i = 0; i < findings->count && code == 0; i++) {
        if (findings->items[i].severity == TOOLRACK_SEVERITY_ERROR) {
            return 0; /* no host starts with it as it is */
        }
    }
    return code < 0 ? code : check_start(file, findings, err);
}

/* ----------------------------------------------------------------- which one */

static bool ends_in_json(const char *file) {
    static const char ending[] = ".json";
    size_t length = strlen(file);
    return length >= sizeof ending - 1 && strcmp(file + length - (sizeof ending - 1), ending) == 0;
}

/* Whether the file begins with an object, an array or a comment, after white space. */
static bool begins_as_json(int fd) {
    char head[64];
    ssize_t length = pread(fd, head, sizeof head - 1, 0);
    head[length > 0 ? length : 0] = '\0';
    return strchr("{[/", head[strspn(head, " \t\r\n")]) != NULL &&
           head[strspn(head, " \t\r\n")] != '\0';
}

int toolrack_check(const char *file, struct toolrack_findings **ret, struct toolrack_error *err) {
    CLEANUP(closep) int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return error_set(err, errno == ENOENT ? TOOLRACK_E_NOT_FOUND : TOOLRACK_E_IO,
                         "cannot read %s: %s", file, strerror(errno));
    }
    CLEANUP(toolrack_findings_freep)
    struct toolrack_findings *findings = calloc(1, sizeof *findings);
    if (findings == NULL) {
        return error_oom(err);
    }
    arena_init(&findings->arena, NULL, 0);
    int code = ends_in_json(file) || begins_as_json(fd) ? check_configuration(file, findings, err)
                                                        : check_plugin(fd, file, findings, err);
    if (code == 0) {
        *ret = STEAL(findings);
    }
    return code;
}

/* --------------------------------------------------------------- the findings */

size_t toolrack_findings_count(const struct toolrack_findings *findings) {
    return findings->count;
}

const struct toolrack_finding *toolrack_findings_get(const struct toolrack_findings *findings,
                                                     size_t index) {
    return index < toolrack_findings_count(findings) ? &findings->items[index] : NULL;
}

bool toolrack_findings_is_configuration(const struct toolrack_findings *findings) {
    return findings->desc == NULL;
}

static const struct tr_plugin *plugin_of(const struct toolrack_findings *findings) {
    return findings->desc != NULL ? findings->desc->plugin : NULL;
}

const char *toolrack_findings_plugin(const struct toolrack_findings *findings) {
    return plugin_of(findings) != NULL ? plugin_of(findings)->id : NULL;
}

const char *toolrack_findings_version(const struct toolrack_findings *findings) {
    return plugin_of(findings) != NULL ? plugin_of(findings)->version : NULL;
}

size_t toolrack_findings_tool_count(const struct toolrack_findings *findings) {
    return findings->tool_count;
}

void toolrack_findings_free(struct toolrack_findings *findings) {
    if (findings != NULL) {
        descriptor_unref(findings->desc);
        arena_finish(&findings->arena);
        free(findings);
    }
}
