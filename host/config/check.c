/* Find all problems of a configuration, for its author. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/semver.h"
#include "config/parts.h"

CLEANUP_DEFINE(struct config, config_destroy)

/* The name and version of a valid definition, to find duplicates. */
struct sound {
    const char *name;
    const char *version;
};

static void tell_duplicate(const struct config *config, const char *pointer,
                           const struct sound *tool, struct problems *problems) {
    bool replace = config->settings.replaces_duplicates;
    CLEANUP(buf_finish) struct buf fix = BUF_INIT;
    buf_printf(&fix, "name it %.60s_v2 or %.59s_alt, or give it another version", tool->name,
               tool->name);
    problems_add(problems,
                 &(struct problem){.severity = replace ? TOOLRACK_SEVERITY_WARNING
                                                       : TOOLRACK_SEVERITY_ERROR,
                                   .rule = "tool-exists",
                                   .pointer = pointer,
                                   .tool = tool->name,
                                   .fix = fix.data},
                 "Tool already exists: %s %s is defined twice, and the %s one is used", tool->name,
                 tool->version, replace ? "last" : "first");
}

static int check_definitions(struct config *config, struct problems *problems, size_t *ret_tools,
                             struct toolrack_error *err) {
    struct definition_context context = config_context(config, problems);
    struct sound *known =
            arena_alloc(&config->arena, (config_definition_count(config) + 1) * sizeof *known);
    size_t count = 0;
    size_t at;
    size_t most;
    yyjson_val *value;
    if (known == NULL) {
        return error_oom(err);
    }
    context.services = NULL; /* the services of the app that will use the file are not known here */
    yyjson_arr_foreach (config_definitions(config), at, most, value) {
        char pointer[JSON_POINTER_MAX] = "/tools";
        struct definition definition;
        json_pointer_add_index(pointer, at);
        int code = definition_read(&context, value, pointer, &definition, err);
        definition_finish(&definition);
        if (code == TOOLRACK_E_INVALID) {
            continue;
        }
        if (code < 0) {
            return code;
        }
        struct sound *sound = &known[count];
        sound->name = definition.name;
        sound->version = definition.version != NULL ? definition.version : DEFINITION_VERSION;
        const struct sound *other = known;
        while (other < sound && (strcmp(other->name, sound->name) != 0 ||
                                 semver_compare(other->version, sound->version) != 0)) {
            other++;
        }
        if (other < sound) {
            tell_duplicate(config, pointer, sound, problems);
        } else {
            count++;
        }
    }
    *ret_tools = count;
    return 0;
}

static int compare_places(const void *a, const void *b) {
    const struct toolrack_finding *x = a;
    const struct toolrack_finding *y = b;
    return x->line != y->line ? (x->line > y->line) - (x->line < y->line)
                              : (x->column > y->column) - (x->column < y->column);
}

int config_check(const struct config_options *options, const char *path, struct arena *arena,
                 struct toolrack_finding **ret, size_t *ret_count, size_t *ret_tools,
                 struct toolrack_error *err) {
    CLEANUP(config_destroyp) struct config *config = config_new(options);
    struct problems problems = {.arena = arena};
    if (config == NULL) {
        return error_oom(err);
    }
    int code = config_read_file(config, path, err);
    if (code == 0) {
        code = config_read_text(config, &problems, err);
    }
    if (code == 0) {
        code = check_definitions(config, &problems, ret_tools, err);
    }
    if (code == 0) {
        config_check_unused(config->root, &problems);
        if (problems.errors == 0) {
            config_check_serving_files(config, CONFIG_FILES | CONFIG_SOCKET, &problems);
        }
    }
    problems_end(&problems);
    if (code < 0 || problems.failed) {
        return code < 0 ? code : error_oom(err);
    }
    struct toolrack_finding *findings = arena_zalloc(arena, problems.count * sizeof *findings + 1);
    if (findings == NULL) {
        return error_oom(err);
    }
    for (size_t i = 0; i < problems.count; i++) {
        const struct problem *problem = &problems.items[i];
        findings[i] = (struct toolrack_finding){.severity = problem->severity,
                                                .rule = problem->rule,
                                                .tool = problem->tool,
                                                .cause = problem->cause,
                                                .fix = problem->fix,
                                                .pointer = problem->pointer};
        problem_line(problem, config->text.data, config->text.length, &findings[i].line,
                     &findings[i].column);
    }
    qsort(findings, problems.count, sizeof findings[0], compare_places);
    *ret = findings;
    *ret_count = problems.count;
    return 0;
}
