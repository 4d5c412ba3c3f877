/* Definitions of tools for model providers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/host.h"
#include "base/cleanup.h"
#include "base/command.h"
#include "base/error.h"
#include "format/definitions.h"
#include "format/report.h"
#include "toolrack/serving.h"

CLEANUP_DEFINE(struct toolrack_text, toolrack_text_unref)

/* Estimated bytes per token. */
#define BYTES_PER_TOKEN 4u

static struct format_tool describe(const struct toolrack_tool *tool) {
    return (struct format_tool){.name = toolrack_tool_name(tool),
                                .title = toolrack_tool_title(tool),
                                .description = toolrack_tool_description(tool),
                                .deprecated = toolrack_tool_deprecated(tool),
                                .schema = toolrack_tool_schema(tool),
                                .result_schema = toolrack_tool_result_schema(tool),
                                .icons = toolrack_tool_icons(tool),
                                .read_only = toolrack_tool_read_only(tool),
                                .destructive = toolrack_tool_destructive(tool),
                                .idempotent = toolrack_tool_idempotent(tool),
                                .open_world = toolrack_tool_open_world(tool),
                                .is_told_all = plugin_distance(tool->reg->plugin) == PLUGIN_MOUNTED,
                                .dangerous = toolrack_tool_permission(tool) ==
                                             TOOLRACK_PERMISSION_DANGEROUS};
}

/* ----------------------------------------------------- without options, once */

/* Pins keep from models what nobody agreed to, and what would only fail for want of a capability is
 * no choice for them: such a tool is described only to who asks for it. */
static bool is_offered(const struct snapshot *snapshot, const struct toolrack_tool *tool) {
    return snapshot_is_default(snapshot, tool) && !tool_is_kept_back(tool);
}

static struct toolrack_text *names_text(const struct buf *names) {
    CLEANUP(buf_finish) struct buf all = BUF_INIT;
    buf_printf(&all, "{%s}", names->length > 0 ? names->data : "");
    return names->failed ? NULL : text_create(&all);
}

static bool define(const struct snapshot *snapshot, enum toolrack_format format,
                   struct toolrack_text *ret[SNAPSHOT_TEXT_COUNT]) {
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    CLEANUP(buf_finish) struct buf names = BUF_INIT;
    CLEANUP(freep) struct format_tool *tools = calloc(snapshot->count + 1, sizeof *tools);
    const struct toolrack_tool *tool;
    struct snapshot_place at = {0};
    size_t count = 0;
    while (tools != NULL && (tool = snapshot_next(snapshot, &at)) != NULL) {
        if (is_offered(snapshot, tool)) {
            tools[count++] = describe(tool);
        }
    }
    if (tools == NULL ||
        format_definitions(format, tools, count, NULL, &out, NULL, &names, NULL) < 0) {
        return false;
    }
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *named = names_text(&names);
    struct toolrack_text *definitions = text_create_definitions(&out, format, named);
    if (definitions == NULL) {
        return false;
    }
    ret[SNAPSHOT_DEFINITIONS] = definitions;
    ret[SNAPSHOT_NAMES] = STEAL(named);
    return true;
}

/* ----------------------------------------------------------- with options */

struct selection {
    struct toolrack *host;
    const char *profile;            /* of the configuration; NULL: all */
    const char *const *allow;       /* NULL: all */
    bool disabled;                  /* disabled, held and needy tools too */
    struct toolrack_tool **allowed; /* a reference on each */
    size_t allowed_count;
    struct toolrack_tool **tools; /* a reference on each; in registry order */
    size_t count;
    struct buf report;
    struct buf names;
    bool no_memory;
};

static void selection_finish(struct selection *selection) {
    for (size_t i = 0; i < selection->allowed_count; i++) {
        toolrack_tool_unref(selection->allowed[i]);
    }
    for (size_t i = 0; i < selection->count; i++) {
        toolrack_tool_unref(selection->tools[i]);
    }
    free(selection->allowed);
    free(selection->tools);
    buf_finish(&selection->report);
    buf_finish(&selection->names);
}

static int compare_registrations(const void *a, const void *b) {
    const struct toolrack_tool *x = *(struct toolrack_tool *const *)a;
    const struct toolrack_tool *y = *(struct toolrack_tool *const *)b;
    return x->reg->uid < y->reg->uid ? -1 : x->reg->uid > y->reg->uid;
}

/* Report a requested tool that does not exist; the others are exported. */
static void note(struct selection *selection, const char *kind, const char *name, const char *why) {
    const struct report report = {.out = &selection->report, .tool = name};
    format_report_add(&report, kind, NULL, "%s", why);
}

static void note_not_there(struct selection *selection, const char *name) {
    struct toolrack_error err;
    (void)registry_not_found(selection->host->registry, name, &err);
    note(selection, "unknown", name, err.message);
}

/* A requested tool that is left out, or is exported although no call of it can run. */
static void note_state(struct selection *selection, const char *name,
                       const struct toolrack_tool *tool) {
    char words[REGISTRATION_WORDS_ROOM];
    char why[2 * ERROR_MESSAGE_MAX];
    char fix[ERROR_MESSAGE_MAX];
    char reason[ERROR_MESSAGE_MAX];
    const char *own_name = toolrack_tool_name(tool);
    if (!toolrack_tool_enabled(tool)) {
        (void)snprintf(fix, sizeof fix, "%s%s",
                       tool_is_of_app(tool) ? "the app can enable it (toolrack_set_enabled())"
                                            : "enable it: ",
                       tool_is_of_app(tool) ? "" : COMMAND("enable", own_name));
        (void)snprintf(why, sizeof why, "%s; %s",
                       selection->disabled ? "it is exported, but disabled: a call of it is refused"
                                           : "it is disabled",
                       fix);
        note(selection, "disabled", name, why);
    }
    if (tool_is_held(tool)) {
        if (tool_is_of_app(tool)) {
            (void)snprintf(fix, sizeof fix,
                           "the app can show the difference (toolrack_why()) and approve it "
                           "(toolrack_grant())");
        } else {
            (void)snprintf(fix, sizeof fix, "see the difference: %s; approve it: %s",
                           COMMAND("why", own_name), COMMAND("grant", own_name));
        }
        (void)snprintf(why, sizeof why, "%sit is not what was approved: %s; %s",
                       selection->disabled ? "it is exported, but a call of it is refused: " : "",
                       registration_change_words(atomic_load(&tool->reg->changed), words), fix);
        note(selection, "changed", name, why);
        return;
    }
    switch (toolrack_tool_state(tool)) {
    case TOOLRACK_STATE_FAILED:
    case TOOLRACK_STATE_QUARANTINED:
    case TOOLRACK_STATE_LEFT_OUT:
        plugin_reason(tool->reg->plugin, reason, sizeof reason);
        (void)snprintf(why, sizeof why,
                       "it is exported, but its plugin is %s, and a call of it is refused: %s",
                       tool_state_name(toolrack_tool_state(tool)), reason);
        note(selection, "uncallable", name, why);
        break;
    case TOOLRACK_STATE_NEEDS:
        toolrack_tool_reason(tool, reason, sizeof reason);
        (void)snprintf(why, sizeof why, "%s%s",
                       selection->allow != NULL || selection->disabled
                               ? "it is exported, and a call of it will probably fail: "
                               : "",
                       reason);
        note(selection, "needs", name, why);
        break;
    default: break;
    }
}

static void find_allowed(struct selection *selection) {
    size_t room = 0;
    while (selection->allow[room] != NULL) {
        room++;
    }
    selection->allowed = calloc(room + 1, sizeof(struct toolrack_tool *));
    selection->no_memory = selection->allowed == NULL;
    for (size_t i = 0; i < room && !selection->no_memory; i++) {
        struct toolrack_tool *tool = registry_get(selection->host->registry, selection->allow[i]);
        if (tool == NULL) {
            note_not_there(selection, selection->allow[i]);
        } else {
            selection->allowed[selection->allowed_count++] = tool;
            note_state(selection, selection->allow[i], tool);
        }
    }
    if (selection->allowed_count > 1) {
        qsort(selection->allowed, selection->allowed_count, sizeof(struct toolrack_tool *),
              compare_registrations);
    }
}

static bool is_selected(const struct selection *selection, const struct snapshot *snapshot,
                        struct toolrack_tool *tool) {
    if (!toolrack_profile_has(selection->host, selection->profile, tool)) {
        return false;
    }
    if (selection->allow == NULL) {
        return selection->disabled ? snapshot_is_first(snapshot, tool) : is_offered(snapshot, tool);
    }
    return (selection->disabled || (toolrack_tool_enabled(tool) && !tool_is_held(tool))) &&
           selection->allowed_count > 0 &&
           bsearch(&tool, selection->allowed, selection->allowed_count,
                   sizeof(struct toolrack_tool *), compare_registrations) != NULL;
}

static void select_tools(void *user, const struct snapshot *snapshot) {
    struct selection *selection = user;
    selection->tools = calloc(snapshot->count + 1, sizeof(struct toolrack_tool *));
    selection->no_memory = selection->no_memory || selection->tools == NULL;
    struct toolrack_tool *tool;
    struct snapshot_place at = {0};
    while (!selection->no_memory && (tool = snapshot_next(snapshot, &at)) != NULL) {
        if (selection->allow == NULL && tool_is_kept_back(tool) &&
            snapshot_is_default(snapshot, tool)) {
            note_state(selection, toolrack_tool_name(tool), tool);
        }
        if (is_selected(selection, snapshot, tool)) {
            selection->tools[selection->count++] = toolrack_tool_ref(tool);
        }
    }
}

static int write_selected(struct selection *selection, enum toolrack_format format,
                          const struct format_limits *limits, struct buf *out,
                          struct toolrack_error *err) {
    CLEANUP(freep) struct format_tool *tools = calloc(selection->count + 1, sizeof *tools);
    if (tools == NULL) {
        return error_oom(err);
    }
    for (size_t i = 0; i < selection->count; i++) {
        tools[i] = describe(selection->tools[i]);
    }
    return format_definitions(format, tools, selection->count, limits, out, &selection->report,
                              &selection->names, err);
}

static int finish_report(struct selection *selection, struct toolrack_text **ret,
                         struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf all = BUF_INIT;
    buf_add_char(&all, '[');
    buf_add(&all, selection->report.data, selection->report.length);
    buf_add_char(&all, ']');
    *ret = selection->report.failed ? NULL : text_create(&all);
    return *ret != NULL ? 0 : error_oom(err);
}

/* What an export comes to; NULL: it is not wanted. */
struct exported {
    struct toolrack_text **text;
    struct toolrack_text **report;
    struct toolrack_text **names;
};

static int export_selected(struct toolrack *host, enum toolrack_format format,
                           const struct toolrack_export_options *options,
                           const struct exported *ret, struct toolrack_error *err) {
    CLEANUP(selection_finish)
    struct selection selection = {.host = host,
                                  .profile = options->profile,
                                  .allow = options->allow,
                                  .disabled = options->disabled != 0};
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    struct format_limits limits = {.count = options->limit,
                                   .bytes = (size_t)options->budget * BYTES_PER_TOKEN};
    if (options->profile != NULL && serving_check_profile(host, options->profile, err) < 0) {
        return TOOLRACK_E_INVALID;
    }
    if (options->allow != NULL) {
        find_allowed(&selection);
    }
    registry_look(host->registry, select_tools, &selection);
    int code = selection.no_memory ? error_oom(err)
                                   : write_selected(&selection, format, &limits, &out, err);
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *report = NULL;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *names = NULL;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    if (code == 0 && ret->report != NULL) {
        code = finish_report(&selection, &report, err);
    }
    if (code == 0) {
        names = names_text(&selection.names);
        text = ret->text != NULL ? text_create_definitions(&out, format, names) : NULL;
        code = names != NULL && (text != NULL || ret->text == NULL) ? 0 : error_oom(err);
    }
    if (code < 0) {
        return code;
    }
    if (ret->names != NULL) {
        *ret->names = STEAL(names);
    }
    if (ret->text != NULL) {
        *ret->text = STEAL(text);
    }
    if (ret->report != NULL) {
        *ret->report = STEAL(report);
    }
    return 0;
}

/* Take the options of an app, which may be older. @return whether they select tools. */
static bool take_options(const struct toolrack_export_options *options,
                         struct toolrack_export_options *ret) {
    *ret = (struct toolrack_export_options)TOOLRACK_EXPORT_OPTIONS_INIT;
    if (options != NULL) {
        memcpy(ret, options, options->size < sizeof *ret ? options->size : sizeof *ret);
    }
    return ret->allow != NULL || ret->limit != 0 || ret->budget != 0 || ret->disabled != 0 ||
           ret->profile != NULL;
}

int toolrack_export(struct toolrack *host, enum toolrack_format format,
                    const struct toolrack_export_options *options, struct toolrack_text **ret,
                    struct toolrack_text **ret_report, struct toolrack_error *err) {
    HOST_SCOPE(host);
    struct toolrack_export_options asked;
    if (toolrack_format_name(format) == NULL) {
        return error_set(err, TOOLRACK_E_INVALID, "there is no format number %d", (int)format);
    }
    if (take_options(options, &asked) || ret_report != NULL) {
        return export_selected(host, format, &asked,
                               &(struct exported){.text = ret, .report = ret_report}, err);
    }
    struct toolrack_text *text =
            registry_snapshot_text(host->registry, format, SNAPSHOT_DEFINITIONS, define);
    if (text == NULL) {
        return error_oom(err);
    }
    *ret = text;
    return 0;
}

int export_with_names(struct toolrack *host, enum toolrack_format format,
                      const struct toolrack_export_options *options, struct toolrack_text **ret,
                      struct toolrack_text **ret_report, struct toolrack_text **ret_names,
                      struct toolrack_error *err) {
    struct toolrack_export_options asked;
    (void)take_options(options, &asked);
    return export_selected(
            host, format, &asked,
            &(struct exported){.text = ret, .report = ret_report, .names = ret_names}, err);
}

int export_names(struct toolrack *host, enum toolrack_format format,
                 const struct toolrack_export_options *options, struct toolrack_text **ret,
                 struct toolrack_error *err) {
    struct toolrack_export_options asked;
    if (take_options(options, &asked)) {
        return export_selected(host, format, &asked, &(struct exported){.names = ret}, err);
    }
    struct toolrack_text *names =
            registry_snapshot_text(host->registry, format, SNAPSHOT_NAMES, define);
    if (names == NULL) {
        return error_oom(err);
    }
    *ret = names;
    return 0;
}

int toolrack_definitions(struct toolrack *host, struct toolrack_text **ret,
                         struct toolrack_error *err) {
    HOST_SCOPE(host);
    return toolrack_export(host, TOOLRACK_FORMAT_MCP, NULL, ret, NULL, err);
}
