/* obey.c - orders of other hosts about packages: installed here, looked after, and gone back from.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "api/host.h"
#include "api/install.h"
#include "api/obey.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/command.h"
#include "base/error.h"
#include "base/json.h"
#include "registry/document.h"
#include "registry/text.h"
#include "toolrack/install.h"

CLEANUP_DEFINE(struct toolrack_text, toolrack_text_unref)
CLEANUP_DEFINE(struct toolrack_tools, toolrack_tools_free)
CLEANUP_DEFINE(struct toolrack_findings, toolrack_findings_free)
CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)

/* How long the call of an example may take. */
#define TEST_MS_MAX       10000u
/* How long its tools may take to be registered: those of hosts that have them already give the
 * names up first. */
#define REGISTERED_MS_MAX 5000u

static void add_text(struct buf *out, const struct toolrack_text *text) {
    size_t length = 0;
    const char *data = toolrack_text_data(text, &length);
    buf_add(out, data, length);
}

/* Who decides, in the log: the person, and the key of the host where they are. */
static void write_who(const struct message_order *order, const char *key, char *ret, size_t room) {
    (void)snprintf(ret, room, "%.100s by the host %.44s",
                   order->who != NULL ? order->who : "somebody", key);
}

/* ----------------------------------------------------------------- install */

static int install(struct toolrack *host, const struct message_order *order,
                   const struct buf *package, const char *key, struct buf *out,
                   struct toolrack_error *err) {
    char who[200];
    char name[LAYOUT_WHERE_ROOM];
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *report = NULL;
    write_who(order, key, who, sizeof who);
    (void)snprintf(name, sizeof name, "%.200s by NATS", order->file);
    const struct source_given given = {.name = name,
                                       .data = package->data,
                                       .length = package->length,
                                       .signature = order->signature};
    int code = install_given(host, &given, false, who, &report, err);
    if (code == 0) {
        add_text(out, report);
    }
    return code;
}

/* The version of a package that is installed, copied; "": none is. */
static int installed_version(struct toolrack *host, const char *id, char *ret, size_t room,
                             struct toolrack_error *err) {
    size_t length = 0;
    size_t at;
    size_t count;
    yyjson_val *row;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    ret[0] = '\0';
    int code = toolrack_packages(host, &text, err);
    if (code < 0) {
        return code;
    }
    const char *json = toolrack_text_data(text, &length);
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = yyjson_read(json, length, 0);
    yyjson_arr_foreach (yyjson_doc_get_root(doc), at, count, row) {
        const char *version = yyjson_get_str(yyjson_obj_get(row, "version"));
        if (yyjson_equals_str(yyjson_obj_get(row, "id"), id) && version != NULL) {
            (void)snprintf(ret, room, "%s", version);
        }
    }
    return 0;
}

/* Go back to what was there before the order to install; nothing happens where that version is not
 * what is installed. */
static int go_back(struct toolrack *host, const struct message_order *order, const char *key,
                   struct buf *out, struct toolrack_error *err) {
    char who[200];
    char version[SEMVER_LENGTH_MAX + 1];
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *report = NULL;
    write_who(order, key, who, sizeof who);
    int code = installed_version(host, order->id, version, sizeof version, err);
    if (code < 0) {
        return code;
    }
    if (strcmp(version, order->version) != 0) {
        buf_add_text(out, "{}");
        return 0;
    }
    code = order->from != NULL ? toolrack_install_rollback(host, order->id, who, &report, err)
                               : toolrack_uninstall(host, order->id, who, &report, err);
    if (code == 0) {
        add_text(out, report);
    }
    return code;
}

/* ------------------------------------------------------------------- check */

/* What is known of the plugin of a package. */
struct health {
    struct toolrack *host;
    const struct message_order *order;
    unsigned tools;
    unsigned tested;
    uint64_t calls;
    uint64_t failures;
    char why[ERROR_MESSAGE_MAX]; /* it is not healthy; "": it is */
};

static bool is_meant(const struct toolrack_tool *tool, const struct message_order *order) {
    const struct plugin *plugin = tool->reg->plugin;
    return !toolrack_tool_is_kept(tool) && strcmp(toolrack_tool_plugin(tool), order->id) == 0 &&
           plugin->desc != NULL && plugin->desc->plugin != NULL &&
           strcmp(plugin->desc->plugin->version, order->version) == 0;
}

static void judge_state(struct health *health, const struct toolrack_tool *tool) {
    char reason[ERROR_MESSAGE_MAX] = "";
    enum toolrack_tool_state state = toolrack_tool_state(tool);
    if (state != TOOLRACK_STATE_LISTED && state != TOOLRACK_STATE_LOADED &&
        state != TOOLRACK_STATE_NEEDS) {
        toolrack_tool_reason(tool, reason, sizeof reason);
        (void)snprintf(health->why, sizeof health->why, "%s is in state %s: %.1000s",
                       toolrack_tool_name(tool), toolrack_tool_state_name(tool), reason);
    }
}

/* A tool that changes nothing is called as its first example says: that loads the plugin. */
static void test(struct health *health, struct toolrack_tool *tool) {
    const char *arguments = toolrack_tool_example_arguments(tool, 0);
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    struct toolrack_result *result = NULL;
    struct toolrack_error err;
    char selector[512];
    if (arguments == NULL || !toolrack_tool_read_only(tool) || toolrack_tool_open_world(tool) ||
        !toolrack_tool_enabled(tool) ||
        toolrack_tool_permission(tool) != TOOLRACK_PERMISSION_SAFE ||
        toolrack_tool_state(tool) == TOOLRACK_STATE_NEEDS) {
        return;
    }
    options.deadline_ms = TEST_MS_MAX;
    options.caller = "rollout";
    health->tested++;
    (void)snprintf(selector, sizeof selector, "%s@%s", toolrack_tool_name(tool),
                   toolrack_tool_version(tool));
    if (toolrack_call(health->host, selector, arguments, &options, &result, &err) < 0) {
        (void)snprintf(health->why, sizeof health->why,
                       "a call of %.64s as its example says failed: %.1400s",
                       toolrack_tool_name(tool), err.message);
    }
    toolrack_result_free(result);
}

static void judge(struct health *health, struct toolrack_tool *tool) {
    struct toolrack_tool_statistics counted = TOOLRACK_TOOL_STATISTICS_INIT;
    health->tools++;
    judge_state(health, tool);
    if (health->why[0] == '\0' && health->order->tests) {
        test(health, tool);
    }
    toolrack_tool_statistics(tool, &counted);
    health->calls += counted.calls;
    health->failures += counted.failures;
}

/* What `toolrack check` finds wrong with the file. */
static void judge_file(struct health *health, const char *file) {
    CLEANUP(toolrack_findings_freep) struct toolrack_findings *findings = NULL;
    struct toolrack_error err;
    if (toolrack_check(file, &findings, &err) < 0) {
        (void)snprintf(health->why, sizeof health->why, "%s", err.message);
    }
    for (size_t i = 0; findings != NULL && i < toolrack_findings_count(findings); i++) {
        const struct toolrack_finding *finding = toolrack_findings_get(findings, i);
        if (finding->severity == TOOLRACK_SEVERITY_ERROR && health->why[0] == '\0') {
            (void)snprintf(health->why, sizeof health->why, "%.600s; %.600s", finding->cause,
                           finding->fix);
        }
    }
}

/* Judge all of its tools. */
static int look(struct health *health, struct toolrack_error *err) {
    CLEANUP(toolrack_tools_freep) struct toolrack_tools *tools = NULL;
    int code = toolrack_list(health->host, NULL, &tools, err);
    if (code < 0) {
        return code;
    }
    for (size_t i = 0; i < toolrack_tools_count(tools) && health->why[0] == '\0'; i++) {
        struct toolrack_tool *tool = toolrack_tools_get(tools, i);
        if (is_meant(tool, health->order)) {
            if (health->tools == 0 && health->order->tests && toolrack_tool_file(tool) != NULL) {
                judge_file(health, toolrack_tool_file(tool));
            }
            judge(health, tool);
        }
    }
    return 0;
}

static int check(struct toolrack *host, const struct message_order *order, struct buf *out,
                 struct toolrack_error *err) {
    struct health health = {.host = host, .order = order};
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    const uint64_t until_ns = clock_now_ns() + REGISTERED_MS_MAX * CLOCK_NS_PER_MS;
    yyjson_mut_val *root;
    int code = look(&health, err);
    while (code == 0 && health.tools == 0 && health.why[0] == '\0' && clock_now_ns() < until_ns) {
        (void)nanosleep(&(struct timespec){.tv_nsec = 20L * 1000 * 1000}, NULL);
        code = look(&health, err);
    }
    if (code < 0) {
        return code;
    }
    if (health.tools == 0 && health.why[0] == '\0') {
        (void)snprintf(health.why, sizeof health.why,
                       "none of its tools is registered in version %s; see there: %s",
                       order->version, COMMAND("plugins"));
    }
    yyjson_mut_doc *doc = document_begin(&root);
    (void)yyjson_mut_obj_add_bool(doc, root, "healthy", health.why[0] == '\0');
    (void)yyjson_mut_obj_add_uint(doc, root, "tools", health.tools);
    (void)yyjson_mut_obj_add_uint(doc, root, "tested", health.tested);
    (void)yyjson_mut_obj_add_uint(doc, root, "calls", health.calls);
    (void)yyjson_mut_obj_add_uint(doc, root, "failures", health.failures);
    document_add_text(doc, root, "reason", health.why[0] != '\0' ? health.why : NULL);
    code = document_end(doc, &text, err);
    if (code == 0) {
        add_text(out, text);
    }
    return code;
}

static int list(struct toolrack *host, struct buf *out, struct toolrack_error *err) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    int code = toolrack_packages(host, &text, err);
    if (code == 0) {
        add_text(out, text);
    }
    return code;
}

int obey_order(struct toolrack *host, const struct message_order *order, const struct buf *package,
               const char *key, struct buf *out, struct toolrack_error *err) {
    HOST_SCOPE(host);
    return strcmp(order->what, "install") == 0 ? install(host, order, package, key, out, err)
           : strcmp(order->what, "back") == 0  ? go_back(host, order, key, out, err)
           : strcmp(order->what, "check") == 0 ? check(host, order, out, err)
                                               : list(host, out, err);
}
