#include "cli/relay.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/command.h"
#include "base/error.h"
#include "base/thread.h"
#include "cli/ask.h"
#include "cli/daemon-places.h"
#include "cli/daemon-reach.h"
#include "cli/message.h"
#include "cli/output.h"
#include "cli/person.h"

/* A shorter time says nothing of a daemon: the machine may be busy. */
#define PATIENCE_MS_MIN 1000u

/* ------------------------------------------------------- whether it is relayed */

bool relay_fits(const struct options *options) {
    const struct verb *verb = options->verb;
    return verb != NULL && verb->relayed != RELAYED_NEVER && !options->packages && !options->help &&
           !options->version && !options->no_daemon && !options->verbose && !options->follow &&
           !options->require_sandbox && !options->safe_mode && !options->debug &&
           options->nats == NULL && !(verb->run == verb_hosts && options->words.count > 0) &&
           options->install == NULL && options->print_config == NULL;
}

/* ----------------------------------------------------------------- Ctrl-C */

static volatile sig_atomic_t came;

static void interrupt(int number) {
    (void)number;
    came = 1;
}

/* Those that end `mcp` in order; of other verbs only the first is waited for. */
static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};

struct signals {
    sigset_t before; /* also while messages are waited for */
    size_t count;
    struct sigaction actions[ARRAY_LENGTH(numbers)];
};

/* They come only while messages are waited for; one that is ignored stays so. */
static void signals_begin(struct signals *signals, bool all) {
    sigset_t blocked;
    (void)sigemptyset(&blocked);
    signals->count = all ? ARRAY_LENGTH(numbers) : 1;
    for (size_t i = 0; i < signals->count; i++) {
        (void)sigaddset(&blocked, numbers[i]);
    }
    (void)pthread_sigmask(SIG_BLOCK, &blocked, &signals->before);
    for (size_t i = 0; i < signals->count; i++) {
        (void)sigaction(numbers[i], NULL, &signals->actions[i]);
        if (signals->actions[i].sa_handler != SIG_IGN) {
            struct sigaction action = {.sa_handler = interrupt, .sa_flags = (int)SA_RESETHAND};
            (void)sigaction(numbers[i], &action, NULL);
        }
    }
}

static void signals_end(const struct signals *signals) {
    for (size_t i = 0; i < signals->count; i++) {
        (void)sigaction(numbers[i], &signals->actions[i], NULL);
    }
    (void)pthread_sigmask(SIG_SETMASK, &signals->before, NULL);
}

/* ---------------------------------------------------------------- questions */

/* A question is asked on a thread of its own: meanwhile Ctrl-C and the daemon's end are seen. */
struct question {
    int fd;
    bool runs;
    pthread_t thread;
    struct message message;
};

static void answer(int fd, int32_t value, const char *content) {
    CLEANUP(buf_finish) struct buf bytes = BUF_INIT;
    buf_add(&bytes, &value, sizeof value);
    buf_add_text(&bytes, content != NULL ? content : "");
    if (!bytes.failed) {
        (void)message_send(fd, MESSAGE_ANSWER, bytes.data, bytes.length);
    }
}

static void *ask(void *argument) {
    struct question *question = argument;
    const struct buf *bytes = &question->message.bytes;
    uint32_t left_ms = 0;
    size_t at = sizeof left_ms;
    int32_t value = TOOLRACK_ANSWER_NOBODY;
    char *content = NULL;
    if (bytes->length > at) {
        memcpy(&left_ms, bytes->data, sizeof left_ms);
        const char *tool = message_next(bytes, &at);
        const char *text = message_next(bytes, &at);
        const char *schema = message_next(bytes, &at);
        if (schema != NULL) {
            person_set_deadline(left_ms);
            value = person_ask((void *)(uintptr_t)tool, text, schema, &content);
        }
    }
    answer(question->fd, value, content);
    toolrack_free(content);
    return NULL;
}

static void *approve(void *argument) {
    struct question *question = argument;
    const struct buf *bytes = &question->message.bytes;
    const char *texts[6] = {NULL};
    size_t at = 0;
    char who[CLI_WHO_ROOM];
    int32_t value = TOOLRACK_APPROVAL_DENY;
    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
        texts[i] = message_next(bytes, &at);
    }
    if (texts[ARRAY_LENGTH(texts) - 1] != NULL) {
        const struct toolrack_approval_request request = {.size = sizeof request,
                                                          .tool = texts[0],
                                                          .version = texts[1],
                                                          .plugin = texts[2],
                                                          .permission = texts[5][0] - '0',
                                                          .reason = texts[3],
                                                          .arguments = texts[4],
                                                          .who = who,
                                                          .who_room = sizeof who};
        person_set_deadline(0);
        value = cli_approve(NULL, &request);
    }
    answer(question->fd, value, NULL);
    return NULL;
}

static void end_question(struct question *question) {
    if (question->runs) {
        (void)pthread_join(question->thread, NULL);
        question->runs = false;
    }
}

static void begin_question(struct question *question, struct message *message) {
    end_question(question); /* the daemon puts one at a time */
    struct buf taken = question->message.bytes;
    question->message = *message;
    message->bytes = taken;
    void *(*function)(void *) = question->message.kind == MESSAGE_QUESTION ? ask : approve;
    question->runs = thread_start(&question->thread, function, question) == 0;
    if (!question->runs) {
        answer(question->fd, 0, NULL); /* no person can be asked; an approval is denied */
    }
}

/* ------------------------------------------------------------------- the end */

static bool take_end(struct cli *cli, const struct buf *bytes, int *ret_code) {
    struct message_end end;
    if (bytes->length < sizeof end) {
        return false;
    }
    memcpy(&end, bytes->data, sizeof end);
    size_t room = bytes->length - sizeof end;
    if (end.style_count > room / (2 * sizeof(uint64_t))) {
        return false;
    }
    size_t length = room - end.style_count * 2 * sizeof(uint64_t);
    const char *marks = bytes->data + sizeof end + length;
    for (uint32_t i = 0; i < end.style_count; i++) {
        uint64_t mark[2];
        memcpy(mark, marks + i * sizeof mark, sizeof mark);
        size_t before = i > 0 && cli->styles.count > 0 ? cli->styles.marks[i - 1].at : 0;
        if (mark[0] > length || mark[0] < before || mark[1] > STYLE_FAINT) {
            style_clear(&cli->styles);
            return false;
        }
        style_begin(&cli->styles, (size_t)mark[0], (enum style)mark[1]);
    }
    buf_add(&cli->out, bytes->data + sizeof end, length);
    cli->out.failed = cli->out.failed || end.failed != 0;
    cli->signal = end.signal == SIGINT ? SIGINT : 0;
    *ret_code = end.code;
    return true;
}

/* ------------------------------------------------------------------ messages */

struct relay {
    struct cli *cli;
    const struct daemon_found *found;
    int fd;
    unsigned patience_ms; /* for the acknowledgement */
    struct question question;
    struct signals signals;
    bool is_pipe; /* `mcp`: silent for as long as its client is */
    bool sent;    /* all of it */
    bool begun;   /* the daemon has acknowledged the command */
    bool stopped; /* the daemon was told of Ctrl-C */
};

static void stop(struct relay *relay) {
    relay->stopped = true;
    (void)message_send(relay->fd, MESSAGE_STOP, NULL, 0);
    person_stop();
}

/* The daemon has not acknowledged the command in time. Once nothing can be received, the daemon
 * cannot acknowledge it, and then does not run it; it may have done so just before.
 * @return as next() */
static int withdraw(const struct relay *relay, struct message *ret) {
    (void)shutdown(relay->fd, SHUT_RD);
    return message_receive(relay->fd, ret) == 0 ? 0 : -ETIMEDOUT;
}

/* The next message. @return 0; -ETIMEDOUT: the daemon does not answer; another negative errno: it
 * is gone */
static int next(struct relay *relay, struct message *ret) {
    struct pollfd wait = {.fd = relay->fd, .events = POLLIN};
    const struct timespec limit = clock_timespec(
            (uint64_t)(relay->begun ? DAEMON_PATIENCE_MS : relay->patience_ms) * CLOCK_NS_PER_MS);
    bool is_limited = !relay->begun || !relay->is_pipe;
    for (;;) {
        int ready = ppoll(&wait, 1, is_limited ? &limit : NULL, &relay->signals.before);
        if (ready > 0) {
            int failed = message_receive(relay->fd, ret);
            return failed == -EAGAIN ? -ETIMEDOUT : failed;
        }
        if (ready == 0 && !relay->begun) {
            return withdraw(relay, ret);
        }
        if (ready == 0 && !daemon_answers(relay->found)) {
            return -ETIMEDOUT;
        }
        if (ready < 0 && errno != EINTR) {
            return -errno;
        }
        if (came && !relay->stopped) {
            stop(relay);
        }
    }
}

/* @return 1: it is done; 0: the command works by itself; a negative errno: the daemon is gone */
static int follow(struct relay *relay, struct message *message, int *ret_code) {
    for (;;) {
        int failed = next(relay, message);
        if (failed < 0) {
            return failed;
        }
        switch (message->kind) {
        case MESSAGE_BEGUN: relay->begun = true; break;
        case MESSAGE_ALONE:
            if (message->bytes.length > 0) {
                output_note("%s; the command works by itself", message->bytes.data);
            }
            return 0;
        case MESSAGE_NOTE: output_note("%s", message->bytes.data); break;
        case MESSAGE_QUESTION:
        case MESSAGE_APPROVAL: begin_question(&relay->question, message); break;
        case MESSAGE_END: return take_end(relay->cli, &message->bytes, ret_code) ? 1 : -EBADMSG;
        default: return -EBADMSG;
        }
    }
}

/* What the verb reads from standard input. @return 0; or the code of the failure */
static int read_input(struct cli *cli, struct buf *input, bool *ret_reads) {
    const struct texts *words = &cli->options.words;
    *ret_reads = cli->options.verb->run == verb_call && words->count > 1 &&
                 strcmp(words->items[1], "-") == 0;
    return *ret_reads ? cli_read(cli, STDIN_FILENO, "the arguments from standard input",
                                 TOOLRACK_ARGUMENTS_MAX + 1, input)
                      : 0;
}

/* The word of the command line that is a path in the folder of the command, which is not that of
 * the daemon; NULL: none. Without a slash it is the name of a plugin, a tool or a known file. */
static const char *path_here(const struct options *options) {
    const char *word =
            options->verb->takes_file && options->words.count > 0 ? options->words.items[0] : NULL;
    return word != NULL && word[0] != '/' && strchr(word, '/') != NULL ? word : NULL;
}

/* The command line with that path from the root, to be released with free(), as `ret_path`. The
 * path is not resolved further: a link in a folder of plugins is a plugin by its own name. NULL: no
 * memory, or no such folder. */
static char **words_for_daemon(const struct options *options, int argc, char **argv,
                               char **ret_path) {
    const char *path = path_here(options);
    const char *below = path;
    while (below != NULL && below[0] == '.' && below[1] == '/') {
        below += 1 + strspn(below + 1, "/");
    }
    *ret_path = daemon_absolute(below);
    if (path != NULL && *ret_path == NULL) {
        return NULL;
    }
    char **words = calloc((size_t)argc + 1, sizeof *words);
    for (int i = 0; words != NULL && i < argc; i++) {
        words[i] = path != NULL && argv[i] == path ? *ret_path : argv[i];
    }
    return words;
}

static int send_run(const struct relay *relay, int argc, char **argv, const struct buf *input,
                    bool reads) {
    CLEANUP(buf_finish) struct buf bytes = BUF_INIT;
    CLEANUP(freep) char *path = NULL;
    CLEANUP(freep) char **words = words_for_daemon(&relay->cli->options, argc, argv, &path);
    const struct message_run run = {.version = toolrack_version(),
                                    .terminal = relay->cli->terminal,
                                    .asks = !relay->cli->options.json && ask_possible(),
                                    .columns = (uint32_t)relay->cli->width,
                                    .words = words,
                                    .count = argc,
                                    .input = reads ? input->data : NULL,
                                    .input_length = input->length};
    if (words == NULL) {
        return -ENOMEM;
    }
    message_write_run(&bytes, &run);
    return bytes.failed ? -ENOMEM : message_send(relay->fd, MESSAGE_RUN, bytes.data, bytes.length);
}

/* What follows when the daemon is gone: what only shows something is shown by the command. */
static bool lose(struct cli *cli, const struct daemon_found *found, int *ret_code) {
    if (cli->options.verb->relayed == RELAYED_SHOWS) {
        return false;
    }
    (void)cli_error(cli, TOOLRACK_E_IO,
                    "the daemon, process %d, ended before the command did; a call that still ran "
                    "is in no log, and may have taken effect; the calls that had ended: %s; the "
                    "decisions: %s",
                    (int)found->pid, COMMAND("log"), COMMAND("decisions"));
    *ret_code = cli_fail(cli);
    return true;
}

/* Likewise when it does not answer: it may go on, or never. */
static bool give_up(struct cli *cli, const struct daemon_found *found, bool begun,
                    unsigned waited_ms, int *ret_code) {
    int pid = (int)found->pid;
    cli->daemon_is_silent = true;
    if (cli->options.verb->relayed == RELAYED_SHOWS) {
        output_note("the daemon, process %d, has not answered for %g s; the command works by "
                    "itself, as with --no-daemon",
                    pid, waited_ms / 1000.0);
        return false;
    }
    bool is_own_limit = cli->options.timeout_ms != 0 && waited_ms < DAEMON_PATIENCE_MS;
    (void)cli_error(cli, is_own_limit ? TOOLRACK_E_TIMEOUT : TOOLRACK_E_IO,
                    "the daemon, process %d, has not answered for %g s, %s; if it is stopped, let "
                    "it go on (kill -CONT %d), else end it and start it again; --no-daemon lets "
                    "the command work by itself",
                    pid, waited_ms / 1000.0,
                    begun ? "after it began the command, which may have taken effect"
                          : "so the command was not run",
                    pid);
    *ret_code = cli_fail(cli);
    return true;
}

/* How long the daemon may take to acknowledge the command: not longer than the person waits for the
 * call, but long enough for a machine that is busy. */
static unsigned patience(const struct options *options) {
    return options->timeout_ms == 0 || options->timeout_ms > DAEMON_PATIENCE_MS ? DAEMON_PATIENCE_MS
           : options->timeout_ms < PATIENCE_MS_MIN                              ? PATIENCE_MS_MIN
                                                   : options->timeout_ms;
}

/* Let the daemon run the command line, and see to its end. @return as follow() */
static int run(struct relay *relay, int argc, char **argv, const struct buf *input, bool reads,
               int *ret_code) {
    struct message message = {0};
    signals_begin(&relay->signals, relay->is_pipe);
    if (!relay->is_pipe) {
        (void)person_begin(relay->cli);
    }
    int done = send_run(relay, argc, argv, input, reads);
    if (done == 0 && relay->is_pipe) {
        done = message_send_descriptors(relay->fd, (const int[]){STDIN_FILENO, STDOUT_FILENO});
    }
    relay->sent = done == 0;
    done = done == -EAGAIN ? -ETIMEDOUT : done < 0 ? done : follow(relay, &message, ret_code);
    person_stop();
    end_question(&relay->question);
    person_finish();
    signals_end(&relay->signals);
    buf_finish(&message.bytes);
    buf_finish(&relay->question.message.bytes);
    return done;
}

static bool relay(struct cli *cli, const struct daemon_found *found, int fd, int argc, char **argv,
                  int *ret_code) {
    struct relay relay = {.cli = cli,
                          .found = found,
                          .fd = fd,
                          .patience_ms = patience(&cli->options),
                          .question = {.fd = fd},
                          .is_pipe = cli->options.verb->run == verb_mcp};
    CLEANUP(buf_finish) struct buf input = BUF_INIT;
    bool reads = false;
    if (read_input(cli, &input, &reads) < 0) {
        *ret_code = cli_fail_usage(cli);
        return true;
    }
    int done = run(&relay, argc, argv, &input, reads, ret_code);
    bool is_over = done > 0;
    if (done == -ETIMEDOUT) {
        unsigned waited_ms = relay.begun ? DAEMON_PATIENCE_MS : relay.patience_ms;
        is_over = give_up(cli, found, relay.begun, waited_ms, ret_code);
    } else if (done < 0 && relay.sent) {
        is_over = lose(cli, found, ret_code);
    }
    if (!is_over && reads) {
        cli->input = input; /* standard input is read, and not again */
        cli->has_input = true;
        input = BUF_INIT;
    }
    return is_over;
}

/* @return as relay_run() */
static bool try(struct cli *cli, const struct daemon_found *found, int argc, char **argv,
                int *ret_code) {
    struct toolrack_error why;
    if (found->version != NULL && strcmp(found->version, toolrack_version()) != 0) {
        output_note("the daemon is toolrack %s, this command %s, so the command works by itself; "
                    "restart the daemon",
                    found->version, toolrack_version());
        return false;
    }
    unsigned patience_ms = patience(&cli->options);
    int reached = daemon_reach(found, patience_ms, &why);
    if (reached == -ETIMEDOUT) {
        return give_up(cli, found, false, patience_ms, ret_code);
    }
    if (reached < 0) {
        if (why.code < 0) {
            output_note("%s; the command works by itself", why.message);
        }
        return false;
    }
    CLEANUP(closep) int fd = reached;
    return relay(cli, found, fd, argc, argv, ret_code);
}

bool relay_run(struct cli *cli, int argc, char **argv, int *ret_code) {
    struct daemon_found found = {0};
    if (!relay_fits(&cli->options) || argc > (int)MESSAGE_WORDS_MAX) {
        return false;
    }
    CLEANUP(freep) char *folder = daemon_folder(&cli->options);
    bool is_run = false;
    if (daemon_find(folder, &found) > 0 && daemon_is_same(&found, &cli->options)) {
        is_run = try(cli, &found, argc, argv, ret_code);
    }
    daemon_found_finish(&found);
    return is_run;
}
