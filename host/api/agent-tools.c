#include "api/agent-tools.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/command.h"
#include "base/error.h"
#include "format/definitions.h"
#include "registry/text.h"

CLEANUP_DEFINE(struct toolrack_text, toolrack_text_unref)
CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)

/* Most tools that are left out of which a note each tells why, and most names of those beyond a
 * limit. */
#define NOTES_MAX 8u
#define NAMES_MAX 3u

/* ------------------------------------------------------------ what is left out */

static const char *member(yyjson_val *row, const char *key) {
    const char *text = yyjson_get_str(yyjson_obj_get(row, key));
    return text != NULL ? text : "";
}

static void tell(const struct agent_tools *tools, const struct buf *line) {
    if (!line->failed) {
        tools->app->note(tools->app->user, line->data);
    }
}

/* Those beyond a limit are many: what the limit is, once, and the first of them. */
static void tell_cut(const struct agent_tools *tools, yyjson_val *rows) {
    CLEANUP(buf_finish) struct buf line = BUF_INIT;
    CLEANUP(buf_finish) struct buf names = BUF_INIT;
    const char *what = NULL;
    size_t cut = 0;
    size_t at;
    size_t count;
    yyjson_val *row;
    yyjson_arr_foreach (rows, at, count, row) {
        if (strcmp(member(row, "kind"), "cut") != 0) {
            continue;
        }
        what = what != NULL ? what : member(row, "what");
        if (cut++ < NAMES_MAX) {
            buf_printf(&names, "%s%s", cut > 1 ? ", " : "", member(row, "tool"));
        }
    }
    if (cut > 0) {
        buf_printf(&line, "%zu tool%s left out: %s (%s%s)", cut, cut > 1 ? "s are" : " is", what,
                   names.failed ? "" : names.data, cut > NAMES_MAX ? ", ..." : "");
        tell(tools, &line);
    }
}

/* Why each tool is left out that has no room in the format, and of `allow` that cannot run. */
static void tell_refused(const struct agent_tools *tools, yyjson_val *rows) {
    static const char *const kinds[] = {"refused", "disabled", "changed", "uncallable"};
    size_t told = 0;
    size_t at;
    size_t count;
    yyjson_val *row;
    yyjson_arr_foreach (rows, at, count, row) {
        bool is_told = false;
        for (size_t i = 0; i < ARRAY_LENGTH(kinds); i++) {
            is_told = is_told || strcmp(member(row, "kind"), kinds[i]) == 0;
        }
        if (is_told && told++ < NOTES_MAX) {
            CLEANUP(buf_finish) struct buf line = BUF_INIT;
            buf_printf(&line, "%s: %s: %s", member(row, "tool"), member(row, "kind"),
                       member(row, "what"));
            tell(tools, &line);
        }
    }
    if (told > NOTES_MAX) {
        CLEANUP(buf_finish) struct buf line = BUF_INIT;
        buf_printf(&line, "%zu more tools are left out; list them: %s", told - NOTES_MAX,
                   COMMAND("export --explain --format", toolrack_format_name(tools->app->format)));
        tell(tools, &line);
    }
}

/* Tell what the report says. @return 0; TOOLRACK_E_NOT_FOUND */
static int take_report(const struct agent_tools *tools, const struct toolrack_text *report,
                       struct toolrack_error *err) {
    size_t length;
    const char *text = toolrack_text_data(report, &length);
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = yyjson_read(text, length, 0);
    yyjson_val *rows = yyjson_doc_get_root(doc);
    if (doc == NULL) {
        return error_oom(err);
    }
    size_t at;
    size_t count;
    yyjson_val *row;
    yyjson_arr_foreach (rows, at, count, row) {
        if (strcmp(member(row, "kind"), "unknown") == 0) {
            return error_set(err, TOOLRACK_E_NOT_FOUND, "%s", member(row, "what"));
        }
    }
    tell_cut(tools, rows);
    tell_refused(tools, rows);
    return 0;
}

/* ------------------------------------------------------------------- names */

static int compare_names(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The array with the definitions: Gemini has it in an object. */
static yyjson_val *list_of(yyjson_val *root) {
    yyjson_val *inner = yyjson_ptr_get(root, "/0/functionDeclarations");
    return inner != NULL ? inner : root;
}

static const char *name_in(yyjson_val *definition) {
    yyjson_val *name = yyjson_ptr_get(definition, "/function/name");
    return yyjson_get_str(name != NULL ? name : yyjson_obj_get(definition, "name"));
}

static int read_names(struct agent_tools *tools, const struct toolrack_text *definitions,
                      struct toolrack_error *err) {
    size_t length;
    const char *text = toolrack_text_data(definitions, &length);
    tools->doc = yyjson_read(text, length, 0);
    yyjson_val *list = list_of(yyjson_doc_get_root(tools->doc));
    tools->names = calloc(yyjson_arr_size(list) + 1, sizeof *tools->names);
    if (tools->doc == NULL || tools->names == NULL) {
        return error_oom(err);
    }
    size_t at;
    size_t count;
    yyjson_val *definition;
    yyjson_arr_foreach (list, at, count, definition) {
        const char *name = name_in(definition);
        if (name != NULL) {
            tools->names[tools->count++] = name;
        }
    }
    if (tools->count > 1) {
        qsort(tools->names, tools->count, sizeof *tools->names, compare_names);
    }
    return 0;
}

/* A profile that a person chose is not meant to be empty; the basic one is that of nobody's choice.
 */
static void tell_empty(const struct agent_tools *tools,
                       const struct toolrack_export_options *which) {
    CLEANUP(buf_finish) struct buf line = BUF_INIT;
    if (tools->count == 0 && which != NULL && which->profile != NULL &&
        strcmp(which->profile, TOOLRACK_PROFILE_BASIC) != 0) {
        buf_printf(&line, "the profile %s has no tool that can run here: the model is offered none",
                   which->profile);
        tell(tools, &line);
    }
}

/* Kept as long as the definitions are sent: what an export would have later does not count. */
static int read_given(struct agent_tools *tools, const struct toolrack_text *names,
                      struct toolrack_error *err) {
    size_t length;
    const char *text = toolrack_text_data(names, &length);
    tools->given = yyjson_read(text, length, 0);
    return tools->given != NULL ? 0 : error_oom(err);
}

/* Which tools the app wants to be offered; NULL: all. */
static const struct toolrack_export_options *wanted(const struct agent_tools *tools) {
    const struct toolrack_call_options *call = tools->app->call;
    return call->size > offsetof(struct toolrack_call_options, offered) ? call->offered : NULL;
}

int agent_tools_read(struct agent_tools *tools, enum toolrack_format format,
                     struct toolrack_text **ret, struct toolrack_error *err) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *report = NULL;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *given = NULL;
    agent_tools_finish(tools);
    tools->format = format;
    int code = export_with_names(tools->host, format, wanted(tools), &text, &report, &given, err);
    if (code == 0) {
        code = take_report(tools, report, err);
    }
    if (code == 0) {
        code = read_names(tools, text, err);
    }
    if (code == 0) {
        tell_empty(tools, wanted(tools));
        code = read_given(tools, given, err);
    }
    if (code == 0 && ret != NULL) {
        *ret = STEAL(text);
    }
    return code;
}

void agent_tools_finish(struct agent_tools *tools) {
    yyjson_doc_free(tools->doc);
    yyjson_doc_free(tools->given);
    free(tools->names);
    tools->doc = NULL;
    tools->given = NULL;
    tools->names = NULL;
    tools->count = 0;
}

bool agent_tools_has(const struct agent_tools *tools, const struct toolrack_tool *tool) {
    char wire[FORMAT_NAME_MAX + 1];
    (void)format_wire_name(tools->format, toolrack_tool_name(tool), wire);
    const char *name = wire;
    return tools->count > 0 &&
           bsearch(&name, tools->names, tools->count, sizeof *tools->names, compare_names) != NULL;
}
