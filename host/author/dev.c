/* Building a plugin whenever its sources change. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <yyjson.h>

#include "author/bench.h"
#include "author/report.h"
#include "author/sources.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/new-file.h"
#include "base/text.h"
#include "view/json.h"

CLEANUP_DEFINE(struct author_report, author_report_free)

/* For how long nothing must have changed before it is built: editors write a file in steps. */
#define QUIET_MS          100
/* Most of what a build prints that is shown. */
#define OUTPUT_LENGTH_MAX (256u * 1024)
/* How often something is read of the pipe of a build that has ended: more than a pipe holds. */
#define RESTS_MAX         64u
/* How long a build may take to end. */
#define END_MS            1000

struct dev {
    const struct author_dev *options;
    const char *command;
    int watch;
    uint64_t built_from; /* sources_look() before the last build */
    bool has_built;
    struct author_report *before; /* of the last build that could be loaded; owned */
};

static int end_fd = -1; /* an eventfd, for take_end() */

static void take_end(int number) {
    (void)number;
    (void)eventfd_write(end_fd, 1);
}

/* Wait for a descriptor, at most `ms` milliseconds (-1: for ever).
 * @return 1: it can be read; 0: the time is over; -1: a signal ends it all */
static int await(int fd, int ms) {
    for (;;) {
        struct pollfd waits[] = {{.fd = end_fd, .events = POLLIN}, {.fd = fd, .events = POLLIN}};
        int count = poll(waits, ARRAY_LENGTH(waits), ms);
        if (waits[0].revents != 0 && count > 0) {
            return -1;
        }
        if (count >= 0 || errno != EINTR) {
            return count > 0;
        }
    }
}

static bool tell(const struct dev *dev, const struct buf *text) {
    return !text->failed && dev->options->tell(dev->options->user, text->data, text->length);
}

/* --------------------------------------------------------------------- build */

static bool has_file(const char *folder, const char *name) {
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return access(path, R_OK) == 0;
}

/* The folder's own way to be built. */
static const char *command_of(const struct author_dev *options) {
    const char *folder = options->folder;
    return options->build != NULL ? options->build
           : has_file(folder, "meson.build")
                   ? "{ test -f build/build.ninja || meson setup build; } && ninja -C build"
           : has_file(folder, "Cargo.toml") ? "cargo build"
           : has_file(folder, "Makefile") || has_file(folder, "makefile") ||
                           has_file(folder, "GNUmakefile")
                   ? "make"
                   : NULL;
}

static void run_command(const struct dev *dev, int output) {
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < ARRAY_LENGTH(ends); i++) {
        (void)signal(ends[i], SIG_DFL);
    }
    (void)setpgid(0, 0);
    int input = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (input >= 0 && dup2(input, STDIN_FILENO) >= 0 && dup2(output, STDOUT_FILENO) >= 0 &&
        dup2(output, STDERR_FILENO) >= 0 && chdir(dev->options->folder) == 0) {
        (void)execl("/bin/sh", "sh", "-c", dev->command, (char *)NULL);
    }
    _exit(127);
}

/* Take some of what the build has printed; beyond the limit it is dropped. False: there is no more.
 */
static bool take_output(int fd, struct buf *output) {
    char some[16384];
    ssize_t length = read(fd, some, sizeof some);
    if (length > 0 && output->length < OUTPUT_LENGTH_MAX) {
        buf_add(output, some, (size_t)length);
    }
    return length > 0 || (length < 0 && errno == EINTR);
}

/* Follow a build until its process has ended. Others that it has left, such as a compiler's server,
 * may hold the pipe for longer. False: a signal ends it all. */
static bool follow(int process, int fd, struct buf *output) {
    bool has_output = true;
    for (;;) {
        struct pollfd waits[] = {{.fd = end_fd, .events = POLLIN},
                                 {.fd = process, .events = POLLIN},
                                 {.fd = has_output ? fd : -1, .events = POLLIN}};
        if (poll(waits, ARRAY_LENGTH(waits), -1) < 0) {
            continue; /* the handler of a signal has written what ends it */
        }
        if (waits[0].revents != 0) {
            return false;
        }
        if (waits[2].revents != 0) {
            has_output = take_output(fd, output);
        }
        if (waits[1].revents != 0) {
            break;
        }
    }
    struct pollfd rest = {.fd = fd, .events = POLLIN};
    for (unsigned i = 0; i < RESTS_MAX && poll(&rest, 1, 0) > 0 && take_output(fd, output); i++) {
    }
    return true;
}

/* What does not end when it is asked to is ended. */
static void end_build(pid_t pid, int process) {
    struct pollfd wait = {.fd = process, .events = POLLIN};
    (void)kill(-pid, SIGTERM);
    if (poll(&wait, 1, END_MS) <= 0) {
        (void)kill(-pid, SIGKILL);
    }
}

/* @return 0: built; 1: that failed; -1: a signal ends it all, and the build */
static int build(const struct dev *dev, struct buf *output) {
    int fds[2];
    int status = 0;
    if (pipe2(fds, O_CLOEXEC) < 0) {
        return 1;
    }
    CLEANUP(closep) int from = fds[0];
    CLEANUP(closep) int to = fds[1];
    pid_t pid = fork();
    if (pid == 0) {
        run_command(dev, to);
    }
    closep(&to);
    if (pid < 0) {
        return 1;
    }
    (void)setpgid(pid, pid);
    CLEANUP(closep) int process = pidfd_open(pid, 0);
    bool goes_on = process >= 0 && follow(process, from, output);
    if (!goes_on) {
        end_build(pid, process);
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return !goes_on ? -1 : WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : 1;
}

/* ------------------------------------------------------------------- install */

/* Exchange the file at once: who watches the folder sees a whole one. What is built is anybody's,
 * and may be a pipe by now. */
static int copy_into(const char *from, const char *path, struct toolrack_error *err) {
    struct stat st;
    struct stat there;
    char some[65536];
    ssize_t length;
    CLEANUP(new_file_finish) struct new_file out = NEW_FILE_INIT;
    CLEANUP(closep) int in = open(from, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (in < 0 || fstat(in, &st) < 0 || !S_ISREG(st.st_mode)) {
        return error_set(err, TOOLRACK_E_IO, "%s cannot be read, or is no regular file", from);
    }
    if (stat(path, &there) == 0 && there.st_dev == st.st_dev && there.st_ino == st.st_ino) {
        return 0; /* a link to what is built */
    }
    int code = new_file_begin(&out, path, err);
    while (code == 0 && (length = read(in, some, sizeof some)) != 0) {
        int failed = length < 0 ? -errno : write_all(out.fd, some, (size_t)length);
        code = failed < 0 ? error_set(err, TOOLRACK_E_IO, "%s cannot be written: %s", path,
                                      strerror(-failed))
                          : 0;
    }
    return code == 0 ? new_file_end(&out, 0644, true, err) : code;
}

/* @param ret_path  receives where it is, to be freed, or NULL: it is not to be installed
 * @return 0; TOOLRACK_E_REFUSED; TOOLRACK_E_IO */
static int install(const struct dev *dev, const char *file, char **ret_path,
                   struct toolrack_error *err) {
    const struct author_dev *options = dev->options;
    const char *name = strrchr(file, '/') + 1;
    CLEANUP(buf_finish) struct buf path = BUF_INIT;
    *ret_path = NULL;
    if (options->into == NULL) {
        return 0;
    }
    buf_printf(&path, "%s/%s", options->into, name);
    if (path.failed || (!options->installs && access(path.data, F_OK) < 0)) {
        return 0;
    }
    CLEANUP(freep) char *folder = strdup(options->into);
    int failed = folder != NULL ? make_folders(folder) : -ENOMEM;
    int code = failed < 0 ? error_set(err, TOOLRACK_E_IO, "the folder %s cannot be made: %s",
                                      options->into, strerror(-failed))
                          : copy_into(file, path.data, err);
    *ret_path = buf_steal(&path);
    return code;
}

/* ---------------------------------------------------------------- difference */

static const struct sample *find_before(const struct dev *dev, const struct session *session,
                                        const struct sample *sample) {
    const struct session *before = dev->before != NULL ? &dev->before->session : NULL;
    for (size_t i = 0; before != NULL && i < before->sample_count; i++) {
        const struct sample *other = &before->samples[i];
        if (strcmp(other->arguments, sample->arguments) == 0 &&
            strcmp(before->tools[other->tool].name, session->tools[sample->tool].name) == 0) {
            return other;
        }
    }
    return NULL;
}

static void add_value(struct buf *out, const struct sample *sample) {
    const char *text = sample->result != NULL ? sample->result
                       : sample->is_late      ? "no result in time"
                                              : "a failure";
    text_add_line(out, text, strlen(text) < SHOWN_LENGTH_MAX ? strlen(text) : SHOWN_LENGTH_MAX);
}

/* The results of examples that differ from those of the build before. */
static void add_differences(const struct dev *dev, const struct session *session, struct buf *out) {
    for (size_t i = 0; i < session->sample_count; i++) {
        const struct sample *sample = &session->samples[i];
        const struct sample *before = find_before(dev, session, sample);
        if (!sample->is_example) {
            continue;
        }
        if (before != NULL && !bench_same(before->result, sample->result)) {
            buf_printf(out, "  changed: %s ", session->tools[sample->tool].name);
            text_add_line(out, sample->arguments, strlen(sample->arguments));
            buf_add_text(out, ": ");
            add_value(out, sample);
            buf_add_text(out, ", was ");
            add_value(out, before);
            buf_add_char(out, '\n');
        }
    }
}

static void add_findings(const struct session *session, enum rule rule, struct buf *out) {
    const struct outcome *outcome = &session->outcomes[rule];
    for (size_t i = 0; i < outcome->finding_count; i++) {
        const struct finding *finding = &outcome->findings[i];
        buf_printf(out, "  failed: %s: %s", rule_id(rule),
                   finding->tool != NULL ? finding->tool : session->plugin);
        if (finding->sent != NULL) {
            buf_add_char(out, ' ');
            text_add_line(out, finding->sent, strlen(finding->sent));
        }
        buf_add_text(out, ": ");
        text_add_line(out, finding->came, strlen(finding->came));
        buf_add_char(out, '\n');
    }
}

static void add_json(const struct dev *dev, const struct session *session, yyjson_mut_doc *doc,
                     yyjson_mut_val *root) {
    yyjson_mut_val *rows = yyjson_mut_obj_add_arr(doc, root, "examples");
    for (size_t i = 0; i < session->sample_count; i++) {
        const struct sample *sample = &session->samples[i];
        const struct sample *before = find_before(dev, session, sample);
        if (!sample->is_example) {
            continue;
        }
        yyjson_mut_val *row = yyjson_mut_arr_add_obj(doc, rows);
        json_add_text(doc, row, "tool", session->tools[sample->tool].name);
        json_add_text(doc, row, "arguments", sample->arguments);
        json_add_text(doc, row, "result", sample->result);
        json_add_text(doc, row, "before", before != NULL ? before->result : NULL);
        (void)yyjson_mut_obj_add_bool(
                doc, row, "changed", before != NULL && !bench_same(before->result, sample->result));
    }
}

/* ---------------------------------------------------------------------- tell */

/* What one build came to. */
struct built {
    bool failed;
    const struct buf *output;
    const char *file;             /* or NULL */
    struct author_report *report; /* or NULL */
    const char *installed;        /* or NULL */
    const char *not_installed;    /* why, or NULL */
};

static bool tell_json(const struct dev *dev, const struct built *built) {
    bool incomplete = false;
    CLEANUP(buf_finish) struct buf line = BUF_INIT;
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = json_new(&incomplete);
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    (void)yyjson_mut_obj_add_bool(doc, root, "built", !built->failed);
    json_add_text(doc, root, "output", built->output->data);
    json_add_text(doc, root, "file", built->file);
    json_add_text(doc, root, "installed", built->not_installed == NULL ? built->installed : NULL);
    json_add_text(doc, root, "not_installed", built->not_installed);
    if (built->report != NULL) {
        add_json(dev, &built->report->session, doc, root);
        author_report_add_json(built->report, doc, yyjson_mut_obj_add_obj(doc, root, "report"));
    }
    yyjson_mut_doc_set_root(doc, root);
    CLEANUP(freep) char *text = incomplete ? NULL : yyjson_mut_write(doc, 0, NULL);
    buf_add_text(&line, text != NULL ? text : "{}");
    buf_add_char(&line, '\n');
    return tell(dev, &line);
}

/* A build names its files as it likes. */
static void add_name(struct buf *text, const char *before, const char *name) {
    buf_add_text(text, before);
    text_add_line(text, name, strlen(name));
}

static bool tell_text(const struct dev *dev, const struct built *built) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    bool warns = built->output->data != NULL && strstr(built->output->data, "warning:") != NULL;
    if (built->failed || warns) {
        text_add_escaped(&text, built->output->data != NULL ? built->output->data : "",
                         built->output->length);
    }
    if (built->failed) {
        buf_printf(&text, "build failed: %s\n", dev->command);
    } else if (built->report == NULL) {
        add_name(&text, "built, but no plugin file is there: ", dev->options->folder);
        buf_add_char(&text, '\n');
    } else {
        const struct session *session = &built->report->session;
        CLEANUP(buf_finish) struct buf changes = BUF_INIT;
        /* Those that crashed are among them. */
        uint64_t count = session->outcomes[RULE_EXAMPLES].checks;
        add_differences(dev, session, &changes);
        add_name(&text, "built: ", built->file);
        buf_printf(&text, ": %s %s, %zu tool%s, %llu example%s\n", session->plugin,
                   session->version, session->tool_count, text_plural(session->tool_count),
                   (unsigned long long)count, text_plural((size_t)count));
        buf_add(&text, changes.data, changes.length);
        add_findings(session, RULE_LOAD, &text);
        add_findings(session, RULE_EXAMPLES, &text);
    }
    if (built->not_installed != NULL) {
        buf_printf(&text, "  not installed: %s\n", built->not_installed);
    } else if (built->installed != NULL) {
        add_name(&text, "  installed: ", built->installed);
        buf_add_char(&text, '\n');
    }
    return tell(dev, &text);
}

/* ---------------------------------------------------------------------- loop */

/* @return 0; 1: it is over; a code of a failure */
static int build_once(struct dev *dev, struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf output = BUF_INIT;
    CLEANUP(freep) char *file = NULL;
    CLEANUP(freep) char *installed = NULL;
    CLEANUP(author_report_freep) struct author_report *report = NULL;
    static const char *const rules[] = {"load", "examples"};
    struct toolrack_error why;
    struct built built = {.output = &output};
    dev->built_from = sources_look(dev->options->folder, dev->watch);
    int outcome = build(dev, &output);
    if (outcome < 0) {
        return 1;
    }
    built.failed = outcome > 0;
    file = built.failed ? NULL : sources_plugin(dev->options->folder);
    built.file = file;
    const struct author_test test = {.file = file,
                                     .seed = 1,
                                     .runs = 1,
                                     .timeout_ms = dev->options->timeout_ms,
                                     .only = rules,
                                     .only_count = ARRAY_LENGTH(rules)};
    if (file != NULL) {
        int code = author_test(&test, &report, err);
        if (code < 0) {
            return code == TOOLRACK_E_CANCELLED ? 1 : code;
        }
        built.report = report;
        if (!author_report_failed(report)) {
            built.not_installed = install(dev, file, &installed, &why) < 0 ? why.message : NULL;
            built.installed = installed;
        }
    }
    bool is_read = dev->options->json ? tell_json(dev, &built) : tell_text(dev, &built);
    if (report != NULL && !report->session.is_dead) {
        report->session.options = NULL; /* what it points to ends here */
        author_report_free(dev->before);
        dev->before = STEAL(report);
    }
    return is_read ? 0 : 1;
}

/* Wait until the sources are others than those of the last build, and rest. False: it is over. */
static bool await_change(struct dev *dev) {
    char events[4096];
    for (;;) {
        if (await(dev->watch, -1) < 0) {
            return false;
        }
        int more = 1;
        while (more > 0) {
            (void)read(dev->watch, events, sizeof events);
            more = await(dev->watch, QUIET_MS);
        }
        if (more < 0) {
            return false;
        }
        if (sources_look(dev->options->folder, dev->watch) != dev->built_from) {
            return true;
        }
    }
}

static int run(struct dev *dev, struct toolrack_error *err) {
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction before[ARRAY_LENGTH(ends)];
    struct sigaction action = {.sa_handler = take_end};
    for (size_t i = 0; i < ARRAY_LENGTH(ends); i++) {
        (void)sigaction(ends[i], &action, &before[i]);
    }
    int code;
    do {
        code = build_once(dev, err);
    } while (code == 0 && await_change(dev));
    for (size_t i = 0; i < ARRAY_LENGTH(ends); i++) {
        (void)sigaction(ends[i], &before[i], NULL);
    }
    return code < 0 ? code : 0;
}

int author_dev(const struct author_dev *options, struct toolrack_error *err) {
    struct dev dev = {.options = options, .command = command_of(options)};
    struct stat status;
    if (stat(options->folder, &status) < 0 || !S_ISDIR(status.st_mode)) {
        return error_set(err, TOOLRACK_E_NOT_FOUND, "%s is no folder", options->folder);
    }
    if (dev.command == NULL) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "%s has no meson.build, Cargo.toml or Makefile; say how to build it with "
                         "--build COMMAND",
                         options->folder);
    }
    dev.watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    end_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int code = dev.watch >= 0 && end_fd >= 0 ? run(&dev, err)
                                             : error_set(err, TOOLRACK_E_IO, "cannot watch %s: %s",
                                                         options->folder, strerror(errno));
    author_report_free(dev.before);
    closep(&dev.watch);
    closep(&end_fd);
    return code;
}
