/* bind: definitions of the functions of a shared library. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sanitizer.h"
#include "base/text.h"
#include "bind/bind.h"
#include "cli/json.h"
#include "cli/output.h"
#include "cli/rows.h"

/* Functions that are named among those left out. */
#define LEFT_OUT_SHOWN 5u
/* Most that the reading of a library may take. */
#define MEMORY_GIB_MAX 4u
#define CPU_S_MAX      120u

/* With --verbose all of those left out are named. */
static void tell(const struct cli *cli, const struct bind_summary *summary,
                 yyjson_mut_val *left_out) {
    output_note("%zu function%s bound, %zu of them for a person to decide, %zu left out",
                summary->bound, text_plural(summary->bound), summary->undecided, summary->left_out);
    size_t index;
    size_t count;
    yyjson_mut_val *row;
    yyjson_mut_arr_foreach(left_out, index, count, row) {
        if (index == LEFT_OUT_SHOWN && !cli->options.verbose) {
            output_note("%zu more left out; --verbose names them", count - index);
            break;
        }
        output_note("%s is left out: %s", yyjson_mut_get_str(yyjson_mut_obj_get(row, "name")),
                    yyjson_mut_get_str(yyjson_mut_obj_get(row, "reason")));
    }
}

static int write_file(struct cli *cli, const char *path, const char *text, size_t length) {
    FILE *file = fopen(path, "wxe");
    bool is_written = file != NULL && fwrite(text, 1, length, file) == length;
    is_written = file != NULL && fclose(file) == 0 && is_written;
    return is_written ? CLI_OK
                      : (cli_error(cli, TOOLRACK_E_IO,
                                   "cannot write %s: %s; a file that is there is "
                                   "left as it is",
                                   path, strerror(errno)),
                         cli_fail(cli));
}

/* A configuration, for a person to look at. */
static int print(struct cli *cli, yyjson_mut_doc *doc, yyjson_mut_val *root) {
    size_t length = 0;
    yyjson_mut_doc_set_root(doc, root);
    CLEANUP(freep)
    char *text = yyjson_mut_write(doc, YYJSON_WRITE_PRETTY_TWO_SPACES | YYJSON_WRITE_NEWLINE_AT_END,
                                  &length);
    if (text == NULL) {
        (void)cli_oom(cli);
        return cli_fail(cli);
    }
    if (cli->options.output != NULL) {
        return write_file(cli, cli->options.output, text, length);
    }
    buf_add(&cli->out, text, length);
    return CLI_OK;
}

static int bind(struct cli *cli) {
    const struct options *options = &cli->options;
    const struct bind_options bind = {.library = options->words.items[0],
                                      .header = options->header,
                                      .patterns = options->functions.items,
                                      .pattern_count = options->functions.count,
                                      .decisions = options->decisions.items,
                                      .decision_count = options->decisions.count,
                                      .includes = options->includes.items,
                                      .include_count = options->includes.count,
                                      .asks_debuginfod = options->debuginfod};
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = json_begin();
    yyjson_mut_val *tools = NULL;
    yyjson_mut_val *left_out = NULL;
    struct bind_summary summary = {0};
    if (bind_library(&bind, doc, &tools, &left_out, &summary, cli->own) < 0) {
        return cli_fail(cli);
    }
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    (void)yyjson_mut_obj_add_val(doc, root, "tools", tools);
    if (options->json) {
        (void)yyjson_mut_obj_add_val(doc, root, "left_out", left_out);
        (void)yyjson_mut_obj_add_uint(doc, root, "undecided", summary.undecided);
        return json_print(cli, doc, root);
    }
    tell(cli, &summary, left_out);
    return print(cli, doc, root);
}

/* ------------------------------------------------------------------ process */

static void limit(pid_t parent) {
    const struct rlimit cpu = {CPU_S_MAX, CPU_S_MAX};
    const struct rlimit memory = {(rlim_t)MEMORY_GIB_MAX << 30, (rlim_t)MEMORY_GIB_MAX << 30};
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(CLI_FAILED);
    }
    (void)setrlimit(RLIMIT_CPU, &cpu);
    if (!SANITIZER_ADDRESS && !SANITIZER_THREAD) { /* whose shadow memory is larger */
        (void)setrlimit(RLIMIT_AS, &memory);
    }
}

static int tell_end(struct cli *cli, int number) {
    const char *library = cli->options.words.items[0];
    const char *header = cli->options.header;
    const char *file = header != NULL ? header : library;
    if (number == SIGXCPU || number == SIGKILL) {
        (void)cli_error(cli, TOOLRACK_E_LIMIT_EXCEEDED,
                        "reading %s took more than %u s of CPU time, or was killed; give a header "
                        "with just the functions that you want by --header",
                        file, CPU_S_MAX);
    } else {
        (void)cli_error(cli, TOOLRACK_E_INVALID,
                        "%s cannot be read: %s ended by a signal (%s) or needed more than %u GiB; "
                        "give a header with just the functions that you want by --header",
                        file, header != NULL ? "libclang" : "libdw", strsignal(number),
                        MEMORY_GIB_MAX);
    }
    return cli_fail(cli);
}

/* libdw and libclang read what strangers wrote, and end their process where they meet something
 * that they do not expect: it is one of its own. It prints the result and ends as the verb would.
 */
int verb_bind(struct cli *cli) {
    int status = 0;
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid == 0) {
        limit(parent);
        return bind(cli);
    }
    if (pid < 0) {
        (void)cli_error(cli, TOOLRACK_E_IO, "no process can be started: %s", strerror(errno));
        return cli_fail(cli);
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFSIGNALED(status) ? tell_end(cli, WTERMSIG(status)) : WEXITSTATUS(status);
}
