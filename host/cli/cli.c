#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json-write.h"
#include "base/rendering.h"
#include "base/text.h"
#include "cli/ask.h"
#include "cli/opening.h"
#include "cli/output.h"
#include "toolrack/serving.h"
#include "view/failure.h"

/* Bytes read at once. */
#define READ_ROOM 65536u

CLEANUP_DEFINE(yyjson_mut_doc, yyjson_mut_doc_free)

/* ----------------------------------------------------------------- failures */

int cli_error(struct cli *cli, int code, const char *format, ...) {
    va_list args;
    va_start(args, format);
    (void)error_setv(cli->own, code, NULL, format, args);
    va_end(args);
    return code;
}

int cli_oom(struct cli *cli) {
    return error_oom(cli->own);
}

/* Take the library's error, unless the command has one of its own. */
static void take_error(struct cli *cli) {
    if (cli->own->code == 0) {
        view_take_error(cli->own, cli->err);
    }
}

void cli_error_set_tool(struct cli *cli, const char *tool) {
    take_error(cli);
    error_set_tool(cli->own, tool);
}

int cli_error_object(struct cli *cli, yyjson_mut_doc *doc, yyjson_mut_val *object,
                     const char *type) {
    take_error(cli);
    int code = cli_exit_of(cli->own->code);
    (void)yyjson_mut_obj_add_val(doc, object, "error", error_object(doc, cli->own, type));
    cli->own->code = 0; /* the next error may be the library's */
    return code;
}

/* Report the error in JSON, with `type` in place of its code's name, or as `line`. */
static int report(struct cli *cli, const char *type, const struct buf *line) {
    int code = cli_exit_of(cli->own->code);
    opening_drop(cli->own->message);
    opening_release();
    if (!cli->options.json) {
        output_note("%s", line->failed ? cli->own->message : line->data);
        cli->own->code = 0;
        return code;
    }
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    (void)cli_error_object(cli, doc, root, type);
    yyjson_mut_doc_set_root(doc, root);
    CLEANUP(freep) char *text = json_write(doc, 0, NULL, NULL);
    buf_clear(&cli->out);
    style_clear(&cli->styles);
    buf_add_text(&cli->out, text != NULL ? text : "{\"error\":{\"type\":\"OutOfMemory\"}}");
    buf_add_char(&cli->out, '\n');
    return code;
}

void cli_forget_error(struct cli *cli) {
    *cli->own = (struct toolrack_error){.code = 0};
}

int cli_fail(struct cli *cli) {
    CLEANUP(buf_finish) struct buf line = BUF_INIT;
    take_error(cli);
    if (cli->misused && cli->own->code == TOOLRACK_E_INVALID) {
        return cli_fail_usage(cli);
    }
    error_add_text(&line, cli->own);
    return report(cli, NULL, &line);
}

int cli_fail_usage(struct cli *cli) {
    take_error(cli);
    if (cli->own->code != TOOLRACK_E_INVALID) {
        return cli_fail(cli);
    }
    (void)report(cli, "Usage", &(struct buf){.data = cli->own->message});
    return CLI_USAGE;
}

/* ----------------------------------------------------------------- one tool */

void cli_not_found(struct cli *cli, const char *name,
                   char *(*suggest)(struct toolrack *host, const char *name)) {
    view_not_found(cli->host, name, &(struct view_asker){.suggest = suggest}, NULL, cli->own);
}

struct toolrack_tool *cli_find(struct cli *cli, const char *name) {
    struct toolrack_tool *tool = toolrack_get(cli->host, name);
    if (tool == NULL) {
        cli_not_found(cli, name, toolrack_suggest);
    }
    return tool;
}

struct toolrack_tool *cli_find_called(struct cli *cli, const char *name) {
    struct toolrack_tool *tool = toolrack_get(cli->host, name);
    if (tool == NULL) {
        cli_not_found(cli, name, toolrack_suggest_call);
    }
    return tool;
}

int cli_read(struct cli *cli, int fd, const char *name, size_t max, struct buf *text) {
    ssize_t n = 1;
    while (n != 0 && text->length < max) {
        if (!buf_reserve(text, READ_ROOM)) {
            return cli_oom(cli);
        }
        n = read(fd, text->data + text->length, READ_ROOM);
        if (n < 0 && errno != EINTR) {
            return cli_error(cli, TOOLRACK_E_IO, "cannot read %s: %s", name, strerror(errno));
        }
        text->length += n > 0 ? (size_t)n : 0;
    }
    text->data[text->length] = '\0';
    return 0;
}

int cli_read_file(struct cli *cli, const char *name, size_t max, struct buf *text) {
    struct stat status;
    if (strcmp(name, "-") == 0) {
        return cli_read(cli, STDIN_FILENO, "standard input", max, text);
    }
    bool is_given = strcmp(name, "/dev/stdin") == 0 || strncmp(name, "/dev/fd/", 8) == 0;
    CLEANUP(closep)
    int fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY | (is_given ? 0 : O_NONBLOCK));
    if (fd < 0 || fstat(fd, &status) < 0) {
        return cli_error(cli, errno == ENOENT ? TOOLRACK_E_NOT_FOUND : TOOLRACK_E_IO,
                         "cannot open %s: %s", name, strerror(errno));
    }
    if (!is_given && !S_ISREG(status.st_mode)) {
        return cli_error(cli, TOOLRACK_E_INVALID,
                         "%s is no regular file; give a file, or - for standard input", name);
    }
    return cli_read(cli, fd, name, max, text);
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

int cli_format(struct cli *cli, const char *otherwise, enum toolrack_format *ret) {
    const char *name = cli->options.format != NULL ? cli->options.format : otherwise;
    const char *verb = cli->options.verb->name;
    if (name == NULL) {
        return cli_error(cli, TOOLRACK_E_INVALID,
                         "%s needs --format F; 'toolrack help %s' lists the formats", verb, verb);
    }
    return toolrack_format_find(name, ret, cli->err) == 0
                   ? 0
                   : cli_error(cli, TOOLRACK_E_INVALID, "%s", toolrack_error_message(cli->err));
}

bool cli_keeps(struct cli *cli) {
    if (toolrack_state_dir(cli->host) != NULL) {
        return true;
    }
    (void)cli_error(cli, TOOLRACK_E_IO,
                    "there is no state folder, so the change would end with this command; name one "
                    "with --state DIR, or set HOME");
    return false;
}

/* ------------------------------------------------------------- other hosts */

void cli_end_decision(struct cli *cli) {
    struct toolrack_reached reached = TOOLRACK_REACHED_INIT;
    toolrack_reached(cli->host, &reached);
    unsigned long long applied = reached.applied;
    unsigned long long all = applied + reached.silent;
    if (reached.at_start != 0) {
        buf_add_text(&cli->out, ", from the next start of each host on");
    } else if (reached.silent > 0) {
        buf_printf(&cli->out, "; %llu of %llu running host%s did not answer within 1 s",
                   all - applied, all, text_plural(all));
    } else if (applied > 0) {
        buf_printf(&cli->out, "; %llu running host%s it", applied,
                   applied == 1 ? " applies" : "s apply");
    }
    if (reached.unreachable > 0) {
        buf_printf(&cli->out,
                   "; %llu running host%s could not be told, having no socket (see %s): "
                   "restart %s",
                   (unsigned long long)reached.unreachable, text_plural(reached.unreachable),
                   reached.unreachable == 1 ? "its log" : "their logs",
                   reached.unreachable == 1 ? "it" : "them");
    }
    buf_add_char(&cli->out, '\n');
}

void cli_add_reached(struct cli *cli, yyjson_mut_doc *doc, yyjson_mut_val *root) {
    view_add_reached(cli->host, doc, root);
}

/* --------------------------------------------------------- the whole command */

/* Whether refused tools and definitions are what the person asks about. */
static bool tells_all(const struct cli *cli) {
    const struct options *options = &cli->options;
    bool is_for_client = options->install != NULL || options->print_config != NULL;
    return options->verbose ||
           (options->verb != NULL && options->verb->tells_all && !is_for_client);
}

/* Whether there is a row for each of them. */
static bool shows_refused(const struct cli *cli) {
    const struct options *options = &cli->options;
    return options->all && options->words.count == 0 && options->plugin == NULL &&
           options->in_state == NULL && !options_has_values(options);
}

/* On any thread. */
static void print_log(void *user, enum toolrack_log_level level, const char *source,
                      const char *line) {
    (void)user;
    if (!opening_keep(level, source, line)) {
        opening_print(level, source, line);
    }
}

/* A configuration that is missing is like any other file that is missing. */
static int missing_file(struct cli *cli) {
    const char *file = cli->options.config_file;
    if (file == NULL || file[0] == '\0' || access(file, F_OK) == 0 || errno != ENOENT) {
        return TOOLRACK_E_IO;
    }
    return cli_error(cli, TOOLRACK_E_NOT_FOUND, "%s", toolrack_error_message(cli->err));
}

void cli_check_profile(struct cli *cli) {
    const char *profile = cli->options.profile;
    cli->misused = profile != NULL && !toolrack_has_profile(cli->host, profile);
}

static struct opening_view view_of(const struct cli *cli) {
    return (struct opening_view){.shows_refused = shows_refused(cli),
                                 .lists_some = cli->options.all && !shows_refused(cli),
                                 .shows_grants = cli->options.verb->run == verb_grants,
                                 .words = cli->options.words.items,
                                 .word_count = cli->options.words.count};
}

void cli_tell_problems(struct cli *cli) {
    const struct opening_view view = view_of(cli);
    if (!tells_all(cli)) {
        opening_tell(cli->host, &view);
    }
}

bool cli_is_debugged(const struct cli *cli) {
    return cli->options.debug && getenv(CLI_UNDER_DEBUGGER) != NULL;
}

int cli_open(struct cli *cli, void (*event)(void *user, const struct toolrack_event *event)) {
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    char who[CLI_WHO_ROOM];
    cli_who(who, sizeof who);
    options.config_file = cli->options.config_file;
    options.state_dir = cli->options.state_dir;
    options.plugin_dirs =
            cli->options.plugin_dirs.count > 0 ? cli->options.plugin_dirs.items : NULL;
    options.require_sandbox = cli->options.require_sandbox;
    options.safe_mode = cli->options.safe_mode;
    options.isolation = cli_is_debugged(cli) ? TOOLRACK_ISOLATION_NONE : TOOLRACK_ISOLATION_DEFAULT;
    options.watch = event != NULL;
    options.brief = event == NULL && !cli->options.verb->runs_tools;
    options.event = event;
    options.user = cli;
    options.who = who;
    /* A daemon asks nobody at its own terminal: its clients are elsewhere. */
    options.approve = cli->options.json || cli->options.verb->run == verb_serve || !ask_possible()
                              ? NULL
                              : cli_approve;
    options.log = print_log;
    options.log_level = cli->options.verbose ? TOOLRACK_LOG_DEBUG : TOOLRACK_LOG_WARNING;
    if (!tells_all(cli)) {
        opening_begin();
    }
    int code = toolrack_open(&options, &cli->host, cli->err);
    const struct opening_view view = view_of(cli);
    opening_end(cli->host, &view);
    if (code == 0) {
        cli_check_profile(cli);
    }
    return code == TOOLRACK_E_IO ? missing_file(cli) : code;
}

void cli_ignore_event(void *user, const struct toolrack_event *event) {
    (void)user;
    (void)event;
}

void cli_close(struct cli *cli) {
    toolrack_close(cli->host);
    cli->host = NULL;
}

void cli_block_signals(sigset_t *ret_signals, sigset_t *ret_before) {
    (void)sigemptyset(ret_signals);
    (void)sigaddset(ret_signals, SIGINT);
    (void)sigaddset(ret_signals, SIGTERM);
    (void)sigaddset(ret_signals, SIGHUP);
    (void)pthread_sigmask(SIG_BLOCK, ret_signals, ret_before);
}
