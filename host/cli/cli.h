/* cli.h - shared by the verbs of the command.
 *
 * A verb gets the parsed command line and, if it needs one, an open host. Its output is collected
 * and written at the end: then it is known whether it is a result or an error, and a closed pipe is
 * noticed once. */
#pragma once

#include <signal.h>
#include <stdbool.h>

#include <yyjson.h>

#include "base/buf.h"
#include "base/command.h"
#include "cli/options.h"
#include "cli/style.h"
#include "toolrack/toolrack.h"

/** X(constant, exit code, meaning). The help prints it; README.md and the man page repeat it. */
#define CLI_EXITS(X)                                                 \
    X(OK, 0, "success")                                              \
    X(FAILED, 1, "failed, or a checked or tested file has problems") \
    X(USAGE, 2, "wrong usage")                                       \
    X(NOT_FOUND, 3, "no such tool, version or file")                 \
    X(ARGUMENTS, 4, "the arguments do not fit the tool's schema")    \
    X(DENIED, 5, "denied, or the tool is disabled")                  \
    X(TIMEOUT, 6, "the tool did not finish in time")                 \
    X(TOOL, 7, "the tool failed or crashed")                         \
    X(CUT_OFF, 8, "the model's answer is cut off")                   \
    X(REFUSED, 9, "the model or its provider refused to answer")     \
    X(UNANSWERED, 10, "the model gave no answer")

enum cli_exit {
#define CLI_EXIT_CONSTANT(constant, code, meaning) CLI_##constant = code,
    CLI_EXITS(CLI_EXIT_CONSTANT)
#undef CLI_EXIT_CONSTANT
};

struct peer;

struct cli {
    struct options options;
    struct command_places stated; /**< those of the options, for the commands of messages */
    struct toolrack *host;        /**< NULL for a verb that needs none */
    struct buf out;               /**< for standard output */
    struct styles styles;         /**< of what is in `out`; used where there is colour */
    bool terminal;                /**< standard output is one */
    size_t width;                 /**< columns of a line of it; 0: any number */
    struct peer *peer;            /**< in the daemon: the command for which it runs; else NULL */
    struct buf input;             /**< what was read from standard input, with `has_input` */
    bool has_input;
    bool misused; /**< the command line names a profile that is not there: a failure is due to it */
    bool daemon_is_silent; /**< there is one, and it did not answer */
    int signal;            /**< the signal that ends the process after all is written; or 0 */

    /** The error for the functions of the library; only the library knows its size. NULL when out
     * of memory. */
    struct toolrack_error *err;
    /** The error of the command, set by cli_error() and by the functions of options.h. It is a
     * struct of this command's base/ and never given to the library: only cli.c and options.c use
     * its members. */
    struct toolrack_error *own;
};

/** The exit code of a failure. */
int cli_exit_of(int code);

extern const struct verb cli_verbs[];

/* The functions of the verbs. Each returns an exit code. */
int verb_list(struct cli *cli);
int verb_show(struct cli *cli);
int verb_call(struct cli *cli);
int verb_answer(struct cli *cli);
int verb_agent(struct cli *cli);
int verb_models(struct cli *cli);
int verb_export(struct cli *cli);
int verb_enable(struct cli *cli);
int verb_disable(struct cli *cli);
int verb_priority(struct cli *cli);
int verb_default(struct cli *cli);
int verb_grant(struct cli *cli);
int verb_revoke(struct cli *cli);
int verb_grants(struct cli *cli);
int verb_allow(struct cli *cli);
int verb_disallow(struct cli *cli);
int verb_approvals(struct cli *cli);
int verb_plan(struct cli *cli);
int verb_run(struct cli *cli);
int verb_select(struct cli *cli);
int verb_search(struct cli *cli);
int verb_recommend(struct cli *cli);
int verb_feedback(struct cli *cli);
int verb_blacklist(struct cli *cli);
int verb_whitelist(struct cli *cli);
int verb_why(struct cli *cli);
int verb_release(struct cli *cli);
int verb_reload(struct cli *cli);
int verb_rollback(struct cli *cli);
int verb_adopt(struct cli *cli);
int verb_install(struct cli *cli);
int verb_update(struct cli *cli);
int verb_uninstall(struct cli *cli);
int verb_packages(struct cli *cli);
int verb_index(struct cli *cli);
int verb_watch(struct cli *cli);
int verb_mcp(struct cli *cli);
int verb_serve(struct cli *cli);
int verb_status(struct cli *cli);
int verb_hosts(struct cli *cli);
int verb_log(struct cli *cli);
int verb_decisions(struct cli *cli);
int verb_plugins(struct cli *cli);
int verb_statistics(struct cli *cli);
int verb_check(struct cli *cli);
int verb_test(struct cli *cli);
int verb_new(struct cli *cli);
int verb_bind(struct cli *cli);
int verb_dev(struct cli *cli);
int verb_token(struct cli *cli);
int verb_tasks(struct cli *cli);
int verb_runs(struct cli *cli);
int verb_pack(struct cli *cli);
int verb_sign(struct cli *cli);
int verb_verify(struct cli *cli);
int verb_keys(struct cli *cli);
int verb_version(struct cli *cli);
int verb_help(struct cli *cli);

/** Open the host with the options of the command line. With `event`, it watches its folders and
 * calls `event` with `cli` as user; NULL: no watch.
 * @return 0; or the code of the failure, which `err` of `cli` describes. */
int cli_open(struct cli *cli, void (*event)(void *user, const struct toolrack_event *event));

/** Look whether the host has what the command line names, as cli_open() does. */
void cli_check_profile(struct cli *cli);

/** Say of the daemon's host what cli_open() says of one that it has opened: how many problems with
 * tools and grants there are. */
void cli_tell_problems(struct cli *cli);

/* Set for the command that the debugger runs. */
#define CLI_UNDER_DEBUGGER "TOOLRACK_UNDER_DEBUGGER"

/** Whether this process is the one that the debugger runs for --debug: the plugin is loaded into
 * it, and the call has no deadline. */
bool cli_is_debugged(const struct cli *cli);

/** An event for cli_open() where only the log says what happens. */
void cli_ignore_event(void *user, const struct toolrack_event *event);

/** Close the host before the verb ends. */
void cli_close(struct cli *cli);

/** Block SIGINT, SIGTERM and SIGHUP, for a verb that waits for them. Call this before cli_open(): a
 * signal that another thread took would be lost. */
void cli_block_signals(sigset_t *ret_signals, sigset_t *ret_before);

/** Set the error of the command itself. Returns `code`. */
int cli_error(struct cli *cli, int code, const char *format, ...) TOOLRACK_PRINTF(3, 4);

/** The same: out of memory. */
int cli_oom(struct cli *cli);

/** Forget the error of the command, for one that goes on after a failure. */
void cli_forget_error(struct cli *cli);

/** Name the tool that the error is about. */
void cli_error_set_tool(struct cli *cli, const char *tool);

/** The format that --format names; `otherwise` when it is not given, NULL: then that is an error.
 * @return 0; or the code of the failure, a usage error. */
int cli_format(struct cli *cli, const char *otherwise, enum toolrack_format *ret);

/** Whether a change outlasts this command: false, with the error set, without a state folder. */
bool cli_keeps(struct cli *cli);

/** End a line about a decision: which running hosts apply it. */
void cli_end_decision(struct cli *cli);

/** The same as members of a JSON object: `hosts`, which apply it, and `silent`, which did not
 * answer; `at_start` when each applies it from its next start on. */
void cli_add_reached(struct cli *cli, yyjson_mut_doc *doc, yyjson_mut_val *root);

/** Read --since into milliseconds since 1970; 0 without the option. @return 0; or the code of the
 * failure, a usage error. (since.c) */
int cli_since(struct cli *cli, int64_t *ret_ms);

/** Read --expires into seconds since 1970; 0 without the option. @return as cli_since(). (since.c)
 */
int cli_expires(struct cli *cli, int64_t *ret_s);

/** Report the error that the command has set; without such an error, the error of the library.
 * With --json, what was printed so far is dropped and the output is the error alone.
 * @return the exit code for it. */
int cli_fail(struct cli *cli);

/** The same for a wrong command line. */
int cli_fail_usage(struct cli *cli);

/** The same as the member "error" of a JSON object, as part of a longer output; `type` takes the
 * place of the name of its code; NULL: that name. @return the exit code for it. */
int cli_error_object(struct cli *cli, yyjson_mut_doc *doc, yyjson_mut_val *object,
                     const char *type);

/** The tool that `name` or `name@version` means.
 * @return a reference to be released with toolrack_tool_unref(); or NULL and an error with the
 *         nearest name, the existing versions, or why the tool was refused. */
struct toolrack_tool *cli_find(struct cli *cli, const char *name);

/** The same for a tool that is to be called: only names that may be called are suggested. */
struct toolrack_tool *cli_find_called(struct cli *cli, const char *name);

/** Set the error for a name that no tool has: `suggest` finds the nearest. */
void cli_not_found(struct cli *cli, const char *name,
                   char *(*suggest)(struct toolrack *host, const char *name));

/** Append what a file holds, until its end or until there are at least `max` bytes; a zero follows.
 * Errors call the file `name`. @return 0; or the code of the failure. */
int cli_read(struct cli *cli, int fd, const char *name, size_t max, struct buf *text);

/** The same of the file of that name, or of standard input for "-". Nothing is waited for but what
 * the user gives as a descriptor (/dev/stdin, /dev/fd/N): other names that are no regular files are
 * refused. */
int cli_read_file(struct cli *cli, const char *name, size_t max, struct buf *text);

/* Room for the name of a user, with its final zero. */
#define CLI_WHO_ROOM 128u

/** The name under which decisions are recorded: the user's login name, or "uid N". */
void cli_who(char *who, size_t room);

/** Ask the person at the terminal, while a call runs, whether a tool that needs a confirmation may
 * run. The host calls this. (person.c) */
int cli_approve(void *user, const struct toolrack_approval_request *request);

/** Let what is added to the output from now on have this style. */
void cli_style(struct cli *cli, enum style style);

/** Print the help of one verb, or the overview for NULL. @return an exit code. */
int help_print(struct cli *cli, const struct verb *verb);

/** Append the overview. `styles` may be NULL. */
void help_overview(struct buf *out, struct styles *styles);
