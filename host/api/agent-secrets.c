#include "api/agent-secrets.h"

#include <string.h>

#include "api/agent-results.h"
#include "api/agent-tools.h"
#include "api/answer-names.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/plan-words.h"
#include "schema/secret.h"

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)

/* The tool that a call by this name runs, or would, were it offered: a reference; NULL: none. */
static struct toolrack_tool *find_called(struct answer_names *names, const char *name) {
    struct toolrack_tool *tool = NULL;
    const char *own = name;
    if (!answer_names_find(names, name, &own, &tool) &&
        !answer_names_find_prefixed(names, name, &own, &tool)) {
        own = name;
    }
    return tool != NULL ? tool : toolrack_get(names->host, own);
}

/* Whether a name means a tool of the conversation's own, with a word before it or not. */
static bool is_own(struct answer_names *names, const struct agent_results *results,
                   const char *name) {
    const char *behind = answer_names_behind_word(names, name);
    return agent_results_has(results, name) ||
           (behind != NULL && agent_results_has(results, behind));
}

/* Whether any tool has secrets. */
struct secretive {
    bool found;
    bool no_memory;
};

static bool has_no_secrets(void *user, struct toolrack_tool *tool) {
    struct secretive *secretive = user;
    CLEANUP(yyjson_doc_freep) yyjson_doc *schema = NULL;
    secretive->no_memory = !schema_read_secret(toolrack_tool_schema(tool), &schema);
    secretive->found = schema != NULL;
    return !secretive->found && !secretive->no_memory;
}

/* Whether a name is that of a plan, behind whatever word or server. */
static bool means_plan(const char *name) {
    size_t length = strlen(name);
    size_t before = length - strlen(PLAN_WORDS_TOOL);
    if (length < strlen(PLAN_WORDS_TOOL) || strcmp(name + before, PLAN_WORDS_TOOL) != 0) {
        return false;
    }
    return before == 0 || strchr(".:", name[before - 1]) != NULL ||
           (before > 1 && strncmp(name + before - 2, "__", 2) == 0);
}

bool agent_secrets_look(void *user, const char *name, enum call_secrets *ret_what,
                        yyjson_doc **ret_schema) {
    const struct agent_tools *tools = user;
    CLEANUP(arena_finish) struct arena arena;
    arena_init(&arena, NULL, 0);
    struct answer_names names = {.host = tools->host,
                                 .format = tools->format,
                                 .arena = &arena,
                                 .is_limited = tools->given != NULL,
                                 .known = yyjson_doc_get_root(tools->given)};
    *ret_what = CALL_SECRETS_NONE;
    if (is_own(&names, tools->results, name)) {
        return true;
    }
    if (tools->app->plan != 0 && means_plan(name)) {
        *ret_what = CALL_SECRETS_PLAN;
        return true;
    }
    CLEANUP(toolrack_tool_unrefp) struct toolrack_tool *tool = find_called(&names, name);
    if (names.no_memory) {
        return false;
    }
    if (tool != NULL) {
        bool is_read = schema_read_secret(toolrack_tool_schema(tool), ret_schema);
        *ret_what = *ret_schema != NULL ? CALL_SECRETS_MARKED : CALL_SECRETS_NONE;
        return is_read;
    }
    struct secretive secretive = {false, false};
    registry_visit(tools->host->registry, has_no_secrets, &secretive);
    *ret_what = secretive.found ? CALL_SECRETS_ANY : CALL_SECRETS_NONE;
    return !secretive.no_memory;
}
