#include "view/failure.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/command.h"
#include "base/semver.h"

CLEANUP_DEFINE(char, toolrack_free)
CLEANUP_DEFINE(struct toolrack_tools, toolrack_tools_free)
CLEANUP_DEFINE(struct toolrack_refusals, toolrack_refusals_free)

void view_take_error(struct toolrack_error *own, const struct toolrack_error *from) {
    (void)error_set_field(own, toolrack_error_code(from), toolrack_error_field(from), "%s",
                          toolrack_error_message(from));
    if (toolrack_error_tool(from)[0] != '\0') {
        error_set_tool(own, toolrack_error_tool(from));
    }
    const char *message = NULL;
    for (size_t i = 0; toolrack_error_mistake(from, i, &message) != NULL; i++) {
        (void)error_keep_mistake(own, toolrack_error_mistake(from, i, &message), message);
    }
    error_set_trace(own, toolrack_error_trace(from));
    own->signal = toolrack_error_signal(from);
    own->from_tool = toolrack_error_is_from_tool(from);
    own->begun = toolrack_error_has_begun(from);
    own->tool_code = toolrack_error_tool_code(from);
    own->lasting = !toolrack_error_is_recoverable(from) &&
                   toolrack_code_is_recoverable(toolrack_error_code(from));
}

/* ----------------------------------------------------------- an unknown tool */

/* "1.2.0, 1.0.0", or NULL when no tool that is shown has that name. */
static char *versions_of(struct toolrack *host, const char *name, const struct view_asker *asker) {
    struct toolrack_filter filter = TOOLRACK_FILTER_INIT;
    filter.all = true;
    filter.name = name;
    CLEANUP(toolrack_tools_freep) struct toolrack_tools *tools = NULL;
    if (toolrack_list(host, &filter, &tools, NULL) < 0) {
        return NULL;
    }
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    for (size_t i = 0; i < toolrack_tools_count(tools); i++) {
        const struct toolrack_tool *tool = toolrack_tools_get(tools, i);
        if (asker->shows == NULL || asker->shows(asker->user, tool)) {
            buf_printf(&text, "%s%s", text.length > 0 ? ", " : "", toolrack_tool_version(tool));
        }
    }
    return text.length > 0 ? buf_steal(&text) : NULL;
}

/* Whether a tool of that name was refused; then the error says why. */
static bool was_refused(struct toolrack *host, const char *name, struct toolrack_error *err) {
    CLEANUP(toolrack_refusals_freep) struct toolrack_refusals *refusals = NULL;
    if (toolrack_refused(host, &refusals, NULL) < 0) {
        return false;
    }
    for (size_t i = 0; i < toolrack_refusals_count(refusals); i++) {
        const struct toolrack_refusal *refusal = toolrack_refusals_get(refusals, i);
        if (refusal->tool != NULL && strcmp(refusal->tool, name) == 0) {
            (void)error_set(err, TOOLRACK_E_NOT_FOUND, "Tool '%s' of %s was refused: %s; %s", name,
                            refusal->file != NULL ? refusal->file : "the app", refusal->reason,
                            refusal->fix);
            return true;
        }
    }
    return false;
}

/* `wanted`: what follows the '@' of the name, or NULL: it has none. */
static void say_no_version(const char *name, const char *wanted, const char *versions,
                           struct toolrack_error *err) {
    struct semver_range range;
    if (wanted == NULL) {
        (void)error_set(err, TOOLRACK_E_NOT_FOUND,
                        "Tool '%s' not found by its name alone; name one of its versions: %s", name,
                        versions);
        return;
    }
    bool is_version = semver_valid(wanted);
    bool is_range = !is_version && semver_range_parse(wanted, &range);
    (void)error_set(err, TOOLRACK_E_NOT_FOUND, "Tool '%s' has no version %s'%s'%s; it has %s", name,
                    is_range ? "in the range " : "", wanted,
                    is_version || is_range
                            ? ""
                            : ", which is neither a version such as 1.2.0 nor a range such as ^1",
                    versions);
}

void view_not_found(struct toolrack *host, const char *name, const struct view_asker *asker,
                    char **ret_near, struct toolrack_error *err) {
    size_t length = strcspn(name, "@");
    CLEANUP(freep) char *bare = strndup(name, length);
    if (bare == NULL) {
        (void)error_oom(err);
        return;
    }
    CLEANUP(freep) char *versions = versions_of(host, bare, asker);
    CLEANUP(toolrack_freep)
    char *near = versions == NULL && asker->suggest != NULL ? asker->suggest(host, bare) : NULL;
    if (versions != NULL) {
        say_no_version(bare, name[length] == '@' ? name + length + 1 : NULL, versions, err);
    } else if (bare[strspn(bare, " \t\r\n")] == '\0') {
        (void)error_set(err, TOOLRACK_E_NOT_FOUND,
                        "Tool '<unnamed>' not found; see what there is: %s", COMMAND("list"));
    } else if (!asker->hides_refused && was_refused(host, bare, err)) {
        /* was_refused() has set the error */
    } else if (near != NULL) {
        (void)error_set(err, TOOLRACK_E_NOT_FOUND, "Tool '%s' not found; did you mean '%s'?", bare,
                        near);
    } else if (asker->list != NULL) {
        (void)error_set(err, TOOLRACK_E_NOT_FOUND, "Tool '%s' not found; %s shows what there is",
                        bare, asker->list);
    } else {
        (void)error_set(err, TOOLRACK_E_NOT_FOUND, "Tool '%s' not found; see what there is: %s",
                        bare, COMMAND("list --all"));
    }
    error_set_tool(err, bare);
    if (ret_near != NULL && near != NULL) {
        *ret_near = strdup(near);
    }
}

/* ------------------------------------------------------------- other hosts */

void view_add_reached(struct toolrack *host, yyjson_mut_doc *doc, yyjson_mut_val *root) {
    struct toolrack_reached reached = TOOLRACK_REACHED_INIT;
    toolrack_reached(host, &reached);
    (void)yyjson_mut_obj_add_uint(doc, root, "hosts", reached.applied);
    (void)yyjson_mut_obj_add_uint(doc, root, "silent", reached.silent);
    if (reached.unreachable > 0) {
        (void)yyjson_mut_obj_add_uint(doc, root, "unreachable", reached.unreachable);
    }
    if (reached.at_start != 0) {
        (void)yyjson_mut_obj_add_bool(doc, root, "at_start", true);
    }
}
