#include "cli/filter.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/command.h"
#include "base/name.h"
#include "base/semver.h"

CLEANUP_DEFINE(struct toolrack_tools, toolrack_tools_free)
CLEANUP_DEFINE(struct toolrack_refusals, toolrack_refusals_free)

static const char *last_part(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

const char *filter_row_name(const struct toolrack_refusal *refusal) {
    return refusal->tool != NULL   ? refusal->tool
           : refusal->file != NULL ? last_part(refusal->file)
                                   : "the app";
}

bool filter_matches(const char *word, const char *name, const char *version) {
    struct semver_range range;
    size_t length = strcspn(word, "@");
    if (fnmatch(word, name, FNM_NOESCAPE) == 0) {
        return true; /* the name of a file may have an '@' */
    }
    CLEANUP(freep) char *pattern = word[length] == '@' ? strndup(word, length) : NULL;
    return pattern != NULL && version != NULL && semver_valid(version) &&
           semver_range_parse(word + length + 1, &range) && semver_range_has(&range, version) &&
           fnmatch(pattern, name, FNM_NOESCAPE) == 0;
}

/* All that there is, whatever the filters say. */
struct everything {
    struct toolrack_tools *tools;
    struct toolrack_refusals *refusals;
};

static bool is_name(const struct everything *all, const char *word) {
    for (size_t i = 0; i < toolrack_tools_count(all->tools); i++) {
        const struct toolrack_tool *tool = toolrack_tools_get(all->tools, i);
        if (filter_matches(word, toolrack_tool_name(tool), toolrack_tool_version(tool))) {
            return true;
        }
    }
    for (size_t i = 0; i < toolrack_refusals_count(all->refusals); i++) {
        const struct toolrack_refusal *refusal = toolrack_refusals_get(all->refusals, i);
        if (filter_matches(word, filter_row_name(refusal), refusal->version)) {
            return true;
        }
    }
    return false;
}

/* A name that nothing has is an error; a pattern may match nothing. */
static int check_names(struct cli *cli, const struct everything *all) {
    const struct texts *words = &cli->options.words;
    for (size_t i = 0; i < words->count; i++) {
        if (strpbrk(words->items[i], "*?[") == NULL && !is_name(all, words->items[i])) {
            cli_not_found(cli, words->items[i], toolrack_suggest);
            return TOOLRACK_E_NOT_FOUND;
        }
    }
    return 0;
}

static int check_plugin(struct cli *cli, const struct everything *all) {
    const char *wanted = cli->options.plugin;
    struct nearest nearest = nearest_to(wanted != NULL ? wanted : "");
    size_t tools = wanted != NULL ? toolrack_tools_count(all->tools) : 0;
    size_t refusals = wanted != NULL ? toolrack_refusals_count(all->refusals) : 0;
    for (size_t i = 0; i < tools + refusals; i++) {
        const char *id = i < tools ? toolrack_tool_plugin(toolrack_tools_get(all->tools, i))
                                   : toolrack_refusals_get(all->refusals, i - tools)->plugin;
        if (id != NULL && strcmp(id, wanted) == 0) {
            return 0;
        }
        (void)nearest_try(&nearest, id != NULL ? id : "");
    }
    if (wanted == NULL) {
        return 0;
    }
    return nearest.name != NULL
                   ? cli_error(cli, TOOLRACK_E_NOT_FOUND,
                               "Plugin '%s' not found; did you mean '%s'?", wanted, nearest.name)
                   : cli_error(cli, TOOLRACK_E_NOT_FOUND,
                               "Plugin '%s' not found; see which there are: %s", wanted,
                               COMMAND("plugins"));
}

/* A tag, category or scenario that no tool has, disabled tools included. */
static int check_value(struct cli *cli, const char *what, const char *value,
                       struct toolrack_filter filter) {
    CLEANUP(toolrack_tools_freep) struct toolrack_tools *tools = NULL;
    filter.all = true;
    if (value == NULL) {
        return 0;
    }
    int code = toolrack_list(cli->host, &filter, &tools, cli->err);
    return code < 0 || toolrack_tools_count(tools) > 0
                   ? code
                   : cli_error(cli, TOOLRACK_E_NOT_FOUND, "no tool has the %s '%s'", what, value);
}

static int check_values(struct cli *cli) {
    const struct options *options = &cli->options;
    struct toolrack_filter filter = TOOLRACK_FILTER_INIT;
    filter.tag = options->tag;
    int code = check_value(cli, "tag", options->tag, filter);
    filter.tag = NULL;
    filter.category = options->category;
    code = code < 0 ? code : check_value(cli, "category", options->category, filter);
    filter.category = NULL;
    filter.scenario = options->scenario;
    return code < 0 ? code : check_value(cli, "scenario", options->scenario, filter);
}

int filter_check(struct cli *cli) {
    struct toolrack_filter filter = TOOLRACK_FILTER_INIT;
    CLEANUP(toolrack_tools_freep) struct toolrack_tools *tools = NULL;
    CLEANUP(toolrack_refusals_freep) struct toolrack_refusals *refusals = NULL;
    if (cli->options.words.count == 0 && cli->options.plugin == NULL) {
        return check_values(cli);
    }
    filter.all = true;
    int code = toolrack_list(cli->host, &filter, &tools, cli->err);
    code = code < 0 ? code : toolrack_refused(cli->host, &refusals, cli->err);
    if (code < 0) {
        return code;
    }
    const struct everything all = {.tools = tools, .refusals = refusals};
    code = check_names(cli, &all);
    code = code < 0 ? code : check_plugin(cli, &all);
    return code < 0 ? code : check_values(cli);
}
