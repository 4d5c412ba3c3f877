
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "api/builtin.h"
#include "api/host.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/semver.h"
#include "config/definition.h"

struct toolrack_findings {
    struct descriptor *desc; /* of a plugin, whose texts are its own */
    struct arena arena;      /* of a configuration, likewise */
    bool is_configuration;
    size_t tool_count;
    size_t count;
    struct toolrack_finding items[];
};

static struct toolrack_findings *findings_create(size_t count) {
    struct toolrack_findings *findings =
            calloc(1, sizeof *findings + count * sizeof findings->items[0]);
    if (findings != NULL) {
        arena_init(&findings->arena, NULL, 0);
        findings->count = count;
    }
    return findings;
}

/* ------------------------------------------------------------------- plugins */

static enum toolrack_severity severity_of(int severity) {
    switch (severity) {
    case FINDING_ERROR: return TOOLRACK_SEVERITY_ERROR;
    case FINDING_WARNING: return TOOLRACK_SEVERITY_WARNING;
    default: return TOOLRACK_SEVERITY_NOTE;
    }
}

static int check_plugin(int fd, struct toolrack_findings **ret, struct toolrack_error *err) {
    CLEANUP(descriptor_unrefp) struct descriptor *desc = NULL;
    bool no_memory;
    struct descriptor_options options = tool_descriptor_options(&no_memory);
    int code = descriptor_read(fd, &options, &desc, err);
    if (code < 0 || no_memory) {
        return code < 0 ? code : error_oom(err);
    }
    struct toolrack_findings *findings = findings_create(desc->finding_count);
    if (findings == NULL) {
        return error_oom(err);
    }
    for (uint32_t i = 0; i < desc->finding_count; i++) {
        const struct finding *finding = &desc->findings[i];
        findings->items[i] = (struct toolrack_finding){.severity = severity_of(finding->severity),
                                                       .rule = finding->rule,
                                                       .tool = finding->tool,
                                                       .cause = finding->cause,
                                                       .fix = finding->fix};
    }
    findings->tool_count = desc->tool_count;
    findings->desc = STEAL(desc);
    *ret = findings;
    return 0;
}

/* ------------------------------------------------------------ configurations */

/* A configuration while it is checked. */
struct checking {
    struct config config;
    struct problems problems; /* in config.arena */
    size_t tool_count;
};

static void checking_finish(struct checking *checking) {
    config_finish(&checking->config);
}

/* A definition that is sound, as far as two of them can be compared. */
struct sound {
    const char *name;
    const char *version;
};

static void tell_duplicate(struct checking *checking, const char *pointer,
                           const struct sound *tool) {
    bool replace = checking->config.replaces_duplicates;
    CLEANUP(buf_finish) struct buf fix = BUF_INIT;
    buf_printf(&fix, "name it %.60s_v2 or %.59s_alt, or give it another version", tool->name,
               tool->name);
    problems_add(&checking->problems,
                 &(struct problem){.severity = replace ? TOOLRACK_SEVERITY_WARNING
                                                       : TOOLRACK_SEVERITY_ERROR,
                                   .rule = "tool-exists",
                                   .pointer = pointer,
                                   .tool = tool->name,
                                   .fix = fix.data},
                 "Tool already exists: %s %s is defined twice, and the %s one is used", tool->name,
                 tool->version, replace ? "last" : "first");
}

static int check_definition(struct checking *checking, size_t at, yyjson_val *value,
                            struct sound *known, struct toolrack_error *err) {
    char pointer[JSON_POINTER_MAX] = "/tools";
    json_pointer_add_index(pointer, at);
    const struct definition_context context = {.validator = checking->config.validator,
                                               .arena = &checking->config.arena,
                                               .problems = &checking->problems,
                                               .builtins = builtins,
                                               .builtin_count = builtin_count,
                                               .check_schema = tool_check_schema,
                                               .check_values = tool_check_values};
    struct definition definition;
    int code = definition_read(&context, value, pointer, &definition, err);
    definition_finish(&definition);
    if (code < 0) {
        return code == TOOLRACK_E_INVALID ? 0 : code;
    }
    struct sound *sound = &known[checking->tool_count++];
    sound->name = definition.name;
    sound->version = definition.version != NULL ? definition.version : DEFINITION_VERSION;
    for (const struct sound *other = known; other < sound; other++) {
        if (strcmp(other->name, sound->name) == 0 &&
            semver_compare(other->version, sound->version) == 0) {
            tell_duplicate(checking, pointer, sound);
            checking->tool_count--;
            break;
        }
    }
    return 0;
}

static int check_definitions(struct checking *checking, struct toolrack_error *err) {
    yyjson_val *tools = checking->config.tools;
    size_t at;
    size_t count;
    yyjson_val *value;
    struct sound *known =
            arena_alloc(&checking->config.arena, (yyjson_arr_size(tools) + 1) * sizeof *known);
    int code = known == NULL ? error_oom(err) : 0;
    yyjson_arr_foreach (tools, at, count, value) {
        if (code == 0) {
            code = check_definition(checking, at, value, known, err);
        }
    }
    return code;
}

static int check_text(struct checking *checking, const char *file, struct toolrack_error *err) {
    int code = config_read_text(&checking->config, file, &checking->problems, err);
    if (code == 0) {
        code = check_definitions(checking, err);
    }
    problems_end(&checking->problems);
    return code == 0 && checking->problems.failed ? error_oom(err) : code;
}

static int compare_places(const void *a, const void *b) {
    const struct toolrack_finding *x = a;
    const struct toolrack_finding *y = b;
    return x->line != y->line ? (x->line > y->line) - (x->line < y->line)
                              : (x->column > y->column) - (x->column < y->column);
}

static struct toolrack_findings *findings_of(struct checking *checking) {
    const struct problems *problems = &checking->problems;
    const struct buf *text = &checking->config.text;
    struct toolrack_findings *findings = findings_create(problems->count);
    for (size_t i = 0; findings != NULL && i < problems->count; i++) {
        const struct problem *problem = &problems->items[i];
        struct toolrack_finding *finding = &findings->items[i];
        *finding = (struct toolrack_finding){.severity = problem->severity,
                                             .rule = problem->rule,
                                             .tool = problem->tool,
                                             .cause = problem->cause,
                                             .fix = problem->fix};
        problem_line(problem, text->data, text->length, &finding->line, &finding->column);
    }
    if (findings != NULL) {
        qsort(findings->items, findings->count, sizeof findings->items[0], compare_places);
        findings->is_configuration = true;
        findings->tool_count = checking->tool_count;
        /* The texts move over. */
        findings->arena = checking->config.arena;
        arena_init(&checking->config.arena, NULL, 0);
    }
    return findings;
}

static int check_configuration(const char *file, struct toolrack_findings **ret,
                               struct toolrack_error *err) {
    CLEANUP(checking_finish) struct checking checking = {0};
    config_init(&checking.config);
    checking.problems.arena = &checking.config.arena;
    int code = config_read_file(file, &checking.config.text, err);
    if (code == 0) {
        code = check_text(&checking, file, err);
    }
    if (code < 0) {
        return code;
    }
    *ret = findings_of(&checking);
    return *ret != NULL ? 0 : error_oom(err);
}

/* ----------------------------------------------------------------- which one */

static bool ends_in_json(const char *file) {
    static const char ending[] = ".json";
    size_t length = strlen(file);
    return length >= sizeof ending - 1 && strcmp(file + length - (sizeof ending - 1), ending) == 0;
}

/* Whether it begins with an object, an array or a comment, after blanks. */
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
    return ends_in_json(file) || begins_as_json(fd) ? check_configuration(file, ret, err)
                                                    : check_plugin(fd, ret, err);
}

/* --------------------------------------------------------------- the findings */

size_t toolrack_findings_count(const struct toolrack_findings *findings) {
    return findings->count;
}

const struct toolrack_finding *toolrack_findings_get(const struct toolrack_findings *findings,
                                                     size_t index) {
    return &findings->items[index];
}

bool toolrack_findings_is_configuration(const struct toolrack_findings *findings) {
    return findings->is_configuration;
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
