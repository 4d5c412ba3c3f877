/* status: whether a daemon serves the state folder, and what the host has. */
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "cli/daemon-places.h"
#include "cli/daemon-reach.h"
#include "cli/json.h"
#include "cli/output.h"
#include "cli/rows.h"
#include "toolrack/records.h"

CLEANUP_DEFINE(struct toolrack_tools, toolrack_tools_free)

/* What the host of this state folder has. */
struct counts {
    uint64_t plugins;
    uint64_t tools;
    uint64_t enabled;
    uint64_t workers;
    uint64_t running; /* calls */
};

static int count(struct cli *cli, struct counts *ret) {
    struct toolrack_filter filter = TOOLRACK_FILTER_INIT;
    CLEANUP(toolrack_tools_freep) struct toolrack_tools *tools = NULL;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *counted = NULL;
    filter.all = true;
    int code = toolrack_list(cli->host, &filter, &tools, cli->err);
    code = code < 0 ? code : toolrack_plugins_info(cli->host, &text, cli->err);
    code = code < 0 ? code : toolrack_metrics(cli->host, &counted, cli->err);
    if (code < 0) {
        return code;
    }
    CLEANUP(yyjson_doc_freep) yyjson_doc *plugins = json_read(text);
    CLEANUP(yyjson_doc_freep) yyjson_doc *now = json_read(counted);
    yyjson_val *root = yyjson_doc_get_root(now);
    *ret = (struct counts){.plugins = yyjson_arr_size(yyjson_doc_get_root(plugins)),
                           .tools = toolrack_tools_count(tools),
                           .workers = rows_number(yyjson_obj_get(root, "workers"), "there"),
                           .running = rows_number(yyjson_obj_get(root, "calls"), "running")};
    for (size_t i = 0; i < ret->tools; i++) {
        ret->enabled += toolrack_tool_enabled(toolrack_tools_get(tools, i)) ? 1 : 0;
    }
    return 0;
}

static bool is_other_version(const struct daemon_found *found) {
    return found->version != NULL && strcmp(found->version, toolrack_version()) != 0;
}

/* -------------------------------------------------------------------- text */

static void add_number(struct buf *out, const char *label, uint64_t number) {
    rows_add_label(out, label);
    buf_printf(out, "%llu\n", (unsigned long long)number);
}

static void add_daemon(struct buf *out, const struct daemon_found *found, bool answers) {
    char since[ROWS_TIME_ROOM];
    size_t at;
    size_t size;
    yyjson_val *where;
    rows_add_label(out, "daemon");
    if (found->pid == 0) {
        buf_add_text(out, "starting or ending\n");
        return;
    }
    buf_printf(out, "process %d, since %s\n", (int)found->pid, rows_time(found->since_s, since));
    if (!answers) {
        rows_add_label(out, " ");
        buf_printf(out,
                   "does not answer; if it is stopped, let it go on (kill -CONT %d), else end it "
                   "and start it again\n",
                   (int)found->pid);
    }
    rows_add_line(out, "version", found->version);
    const char *config = daemon_changed_config(found);
    if (config != NULL) {
        rows_add_label(out, "config");
        text_add_line(out, config, strlen(config));
        buf_add_text(out, " has changed since the daemon started; restart the daemon\n");
    }
    yyjson_arr_foreach (found->listens, at, size, where) {
        rows_add_line(out, at == 0 ? "listens" : " ", yyjson_get_str(where));
    }
}

static void add_text(struct cli *cli, const struct daemon_found *found, bool is_there, bool answers,
                     const char *folder, const struct counts *counts) {
    struct buf *out = &cli->out;
    if (is_there) {
        add_daemon(out, found, answers);
    } else {
        rows_add_line(out, "daemon", "none; each command works by itself");
    }
    rows_add_line(out, "state", folder);
    add_number(out, "plugins", counts->plugins);
    rows_add_label(out, "tools");
    buf_printf(out, "%llu, %llu enabled\n", (unsigned long long)counts->tools,
               (unsigned long long)counts->enabled);
    if (is_there && answers) {
        add_number(out, "workers", counts->workers);
        add_number(out, "calls", counts->running);
    }
}

/* -------------------------------------------------------------------- JSON */

static void add_json(yyjson_mut_doc *doc, yyjson_mut_val *root, const struct daemon_found *found,
                     bool is_there, bool answers) {
    if (!is_there) {
        (void)yyjson_mut_obj_add_null(doc, root, "daemon");
        return;
    }
    yyjson_mut_val *daemon = yyjson_mut_obj_add_obj(doc, root, "daemon");
    if (found->pid == 0) {
        return; /* it is starting or ending */
    }
    (void)yyjson_mut_obj_add_sint(doc, daemon, "pid", found->pid);
    (void)yyjson_mut_obj_add_sint(doc, daemon, "since_s", found->since_s);
    json_add_text(doc, daemon, "version", found->version);
    json_add_text(doc, daemon, "socket", found->socket);
    (void)yyjson_mut_obj_add_bool(doc, daemon, "answers", answers);
    (void)yyjson_mut_obj_add_bool(doc, daemon, "config_changed",
                                  daemon_changed_config(found) != NULL);
    (void)yyjson_mut_obj_add_val(doc, daemon, "listens", yyjson_val_mut_copy(doc, found->listens));
}

int verb_status(struct cli *cli) {
    struct daemon_found found;
    struct counts counts;
    CLEANUP(freep) char *folder = daemon_absolute(toolrack_state_dir(cli->host));
    int is_there = daemon_find(folder, &found);
    if (is_there < 0) {
        (void)cli_error(cli, TOOLRACK_E_IO, "cannot look for a daemon in %s: %s", folder,
                        strerror(-is_there));
        return cli_fail(cli);
    }
    if (count(cli, &counts) < 0) {
        daemon_found_finish(&found);
        return cli_fail(cli);
    }
    /* This may be run in the daemon. */
    bool answers = cli->peer != NULL || is_there == 0 ||
                   (!cli->daemon_is_silent && daemon_answers(&found));
    int code = CLI_OK;
    if (cli->options.json) {
        CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = json_begin();
        yyjson_mut_val *root = yyjson_mut_obj(doc);
        json_add_text(doc, root, "version", toolrack_version());
        json_add_text(doc, root, "state", folder);
        add_json(doc, root, &found, is_there > 0, answers);
        (void)yyjson_mut_obj_add_uint(doc, root, "plugins", counts.plugins);
        (void)yyjson_mut_obj_add_uint(doc, root, "tools", counts.tools);
        (void)yyjson_mut_obj_add_uint(doc, root, "enabled", counts.enabled);
        (void)yyjson_mut_obj_add_uint(doc, root, "workers", counts.workers);
        (void)yyjson_mut_obj_add_uint(doc, root, "running", counts.running);
        code = json_print(cli, doc, root);
    } else {
        add_text(cli, &found, is_there > 0, answers, folder, &counts);
    }
    if (is_other_version(&found)) {
        output_note("the daemon is toolrack %s, this command %s; restart the daemon", found.version,
                    toolrack_version());
    }
    daemon_found_finish(&found);
    return code;
}
