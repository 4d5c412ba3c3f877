#include "cli/cli.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/rendering.h"
#include "base/semver.h"
#include "cli/ask.h"
#include "cli/output.h"

CLEANUP_DEFINE(yyjson_mut_doc, yyjson_mut_doc_free)
CLEANUP_DEFINE(char, toolrack_free)
CLEANUP_DEFINE(struct toolrack_tools, toolrack_tools_free)
CLEANUP_DEFINE(struct toolrack_refusals, toolrack_refusals_free)

/* ----------------------------------------------------------------- failures */

static void print_error(struct cli *cli, const struct toolrack_error *err, const char *type) {
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    (void)yyjson_mut_obj_add_val(doc, root, "error", error_object(doc, err, type));
    yyjson_mut_doc_set_root(doc, root);
    CLEANUP(freep) char *text = yyjson_mut_write(doc, 0, NULL);
    buf_clear(&cli->out);
    buf_add_text(&cli->out, text != NULL ? text : "{\"error\":{\"type\":\"OutOfMemory\"}}");
    buf_add_char(&cli->out, '\n');
}

int cli_fail(struct cli *cli, const struct toolrack_error *err) {
    if (cli->options.json) {
        print_error(cli, err, NULL);
    } else {
        CLEANUP(buf_finish) struct buf line = BUF_INIT;
        error_add_text(&line, err);
        output_note("%s", line.failed ? err->message : line.data);
    }
    return cli_exit_of(err->code);
}

int cli_fail_usage(struct cli *cli, const struct toolrack_error *err) {
    if (err->code != TOOLRACK_E_INVALID) {
        return cli_fail(cli, err);
    }
    if (cli->options.json) {
        print_error(cli, err, "Usage");
    } else {
        output_note("%s", err->message);
    }
    return CLI_USAGE;
}

/* ----------------------------------------------------------------- one tool */

/* "1.2.0, 1.0.0", or NULL when nothing has that name. */
static char *versions_of(struct cli *cli, const char *name) {
    struct toolrack_filter filter = TOOLRACK_FILTER_INIT;
    filter.all = true;
    filter.name = name;
    CLEANUP(toolrack_tools_freep) struct toolrack_tools *tools = NULL;
    if (toolrack_list(cli->host, &filter, &tools, NULL) < 0 || toolrack_tools_count(tools) == 0) {
        return NULL;
    }
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    for (size_t i = 0; i < toolrack_tools_count(tools); i++) {
        buf_printf(&text, "%s%s", i > 0 ? ", " : "",
                   toolrack_tool_version(toolrack_tools_get(tools, i)));
    }
    return buf_steal(&text);
}

/* Whether a tool of that name was refused; then `err` says why. */
static bool was_refused(struct cli *cli, const char *name, struct toolrack_error *err) {
    CLEANUP(toolrack_refusals_freep) struct toolrack_refusals *refusals = NULL;
    if (toolrack_refused(cli->host, &refusals, NULL) < 0) {
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

static void say_no_version(const char *name, const char *wanted, const char *versions,
                           struct toolrack_error *err) {
    struct semver_range range;
    bool is_version = semver_valid(wanted);
    bool is_range = !is_version && semver_range_parse(wanted, &range);
    (void)error_set(err, TOOLRACK_E_NOT_FOUND, "Tool '%s' has no version %s'%s'%s; there are %s",
                    name, is_range ? "in the range " : "", wanted,
                    is_version || is_range
                            ? ""
                            : ", which is neither a version such as 1.2.0 nor a range such as ^1",
                    versions);
}

static void say_not_found(struct cli *cli, const char *name, struct toolrack_error *err) {
    size_t length = strcspn(name, "@");
    CLEANUP(freep) char *bare = strndup(name, length);
    if (bare == NULL) {
        (void)error_oom(err);
        return;
    }
    CLEANUP(freep) char *versions = versions_of(cli, bare);
    CLEANUP(toolrack_freep)
    char *near = versions == NULL ? toolrack_suggest(cli->host, bare) : NULL;
    if (versions != NULL) {
        say_no_version(bare, name[length] == '@' ? name + length + 1 : "", versions, err);
    } else if (bare[0] == '\0') {
        (void)error_set(err, TOOLRACK_E_NOT_FOUND,
                        "Tool '<unnamed>' not found; 'toolrack list' shows what there is");
    } else if (was_refused(cli, bare, err)) {
        /* said */
    } else if (near != NULL) {
        (void)error_set(err, TOOLRACK_E_NOT_FOUND, "Tool '%s' not found; did you mean '%s'?", bare,
                        near);
    } else {
        (void)error_set(err, TOOLRACK_E_NOT_FOUND,
                        "Tool '%s' not found; 'toolrack list --all' shows what there is", bare);
    }
    error_set_tool(err, bare);
}

struct toolrack_tool *cli_find(struct cli *cli, const char *name, struct toolrack_error *err) {
    struct toolrack_tool *tool = toolrack_get(cli->host, name);
    if (tool == NULL) {
        say_not_found(cli, name, err);
    }
    return tool;
}

void cli_who(char *who, size_t room) {
    char memory[4096];
    struct passwd entry;
    struct passwd *found = NULL;
    if (getpwuid_r(getuid(), &entry, memory, sizeof memory, &found) == 0 && found != NULL) {
        (void)snprintf(who, room, "%s", found->pw_name);
    } else {
        (void)snprintf(who, room, "uid %u", (unsigned)getuid());
    }
}

/* --------------------------------------------------------- the whole command */

/* On any thread. */
static void print_log(void *user, enum toolrack_log_level level, const char *source,
                      const char *line) {
    static const char *const names[] = {"debug", "info", "warning", "error"};
    (void)user;
    output_note("%s: %s: %s", names[level], source, line);
}

int cli_open(struct cli *cli, void (*event)(void *user, const struct toolrack_event *event),
             struct toolrack_error *err) {
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    options.config_file = cli->options.config_file;
    options.state_dir = cli->options.state_dir;
    options.plugin_dirs =
            cli->options.plugin_dirs.count > 0 ? cli->options.plugin_dirs.items : NULL;
    options.require_sandbox = cli->options.require_sandbox;
    options.safe_mode = cli->options.safe_mode;
    options.watch = event != NULL;
    options.event = event;
    options.user = cli;
    options.approve = cli->options.json || !ask_possible() ? NULL : cli_approve;
    options.log = print_log;
    options.log_level = cli->options.verbose ? TOOLRACK_LOG_DEBUG : TOOLRACK_LOG_WARNING;
    return toolrack_open(&options, &cli->host, err);
}

static int run_verb(struct cli *cli) {
    const struct verb *verb = cli->options.verb;
    struct toolrack_error err;
    if (verb->host && cli_open(cli, NULL, &err) < 0) {
        return cli_fail(cli, &err);
    }
    return verb->run(cli);
}

/* Without a verb: the overview, which is an answer only to who asked for it. */
static int run_bare(struct cli *cli) {
    if (cli->options.help) {
        return help_print(cli, NULL);
    }
    if (cli->options.json) {
        struct toolrack_error err;
        (void)error_set(&err, TOOLRACK_E_INVALID,
                        "a verb is missing; 'toolrack help' lists the verbs");
        return cli_fail_usage(cli, &err);
    }
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    help_overview(&text);
    (void)output_write(STDERR_FILENO, text.data, text.length);
    return CLI_USAGE;
}

static int run(struct cli *cli, int argc, char **argv) {
    struct toolrack_error err;
    if (options_parse(cli_verbs, argc, argv, &cli->options, &err) < 0) {
        return cli_fail_usage(cli, &err);
    }
    if (cli->options.verb == NULL) {
        return run_bare(cli);
    }
    if (cli->options.help) {
        return help_print(cli, cli->options.verb);
    }
    return run_verb(cli);
}

int cli_main(int argc, char **argv, int *ret_signal) {
    struct cli cli = {.terminal = isatty(STDOUT_FILENO) == 1};
    int code = run(&cli, argc, argv);
    int written =
            cli.out.failed ? -ENOMEM : output_write(STDOUT_FILENO, cli.out.data, cli.out.length);
    if (written < 0) {
        output_note("cannot write to standard output: %s", strerror(-written));
        code = code == CLI_OK ? CLI_FAILED : code;
    }
    *ret_signal = cli.signal;
    toolrack_close(cli.host);
    buf_finish(&cli.out);
    options_finish(&cli.options);
    return code;
}
