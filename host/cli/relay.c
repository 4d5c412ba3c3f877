#include "cli/relay.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/command.h"
#include "base/error.h"
#include "base/thread.h"
#include "cli/ask.h"
#include "cli/daemon-places.h"
#include "cli/daemon-socket.h"
#include "cli/message.h"
#include "cli/output.h"
#include "cli/person.h"

/* ------------------------------------------------------- whether it is relayed */

bool relay_fits(const struct options *options) {
    const struct verb *verb = options->verb;
    return verb != NULL && verb->relayed != RELAYED_NEVER && !options->help && !options->version &&
           !options->no_daemon && !options->verbose && !options->follow &&
           !options->require_sandbox && !options->safe_mode && options->install == NULL &&
           options->print_config == NULL;
}

/* Connect to the daemon, and to nobody who stands in its place: a command may hold secrets.
 * @return a descriptor, or -1: the command works by itself */
static int reach(const struct daemon_found *found) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct toolrack_error err;
    struct ucred peer;
    socklen_t size = sizeof peer;
    if (found->commands == NULL || strlen(found->commands) >= sizeof address.sun_path) {
        return -1;
    }
    int code = daemon_check_commands(found->commands, &err);
    if (code < 0) {
        if (code == TOOLRACK_E_REFUSED) {
            output_note("%s; the command works by itself", err.message);
        }
        return -1;
    }
    memcpy(address.sun_path, found->commands, strlen(found->commands) + 1);
    CLEANUP(closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof address) < 0 ||
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0) {
        return -1;
    }
    if (peer.uid != geteuid()) {
        output_note("user %u, not the daemon, listens at %s; the command works by itself",
                    (unsigned)peer.uid, found->commands);
        return -1;
    }
    int reached = fd;
    fd = -1;
    return reached;
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
    int fd;
    struct question question;
    struct signals signals;
    bool stopped; /* the daemon was told of Ctrl-C */
};

static void stop(struct relay *relay) {
    relay->stopped = true;
    (void)message_send(relay->fd, MESSAGE_STOP, NULL, 0);
    person_stop();
}

/* The next message. @return 0, or a negative errno: the daemon is gone */
static int next(struct relay *relay, struct message *ret) {
    struct pollfd wait = {.fd = relay->fd, .events = POLLIN};
    while (ppoll(&wait, 1, NULL, &relay->signals.before) < 0) {
        if (errno != EINTR) {
            return -errno;
        }
        if (came && !relay->stopped) {
            stop(relay);
        }
    }
    return message_receive(relay->fd, ret);
}

/* @return 1: it is done; 0: the command works by itself; a negative errno: the daemon is gone */
static int follow(struct relay *relay, struct message *message, int *ret_code) {
    for (;;) {
        int failed = next(relay, message);
        if (failed < 0) {
            return failed;
        }
        switch (message->kind) {
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

static bool relay(struct cli *cli, const struct daemon_found *found, int fd, int argc, char **argv,
                  int *ret_code) {
    struct relay relay = {.cli = cli, .fd = fd, .question = {.fd = fd}};
    struct message message = {0};
    CLEANUP(buf_finish) struct buf input = BUF_INIT;
    bool reads = false;
    if (read_input(cli, &input, &reads) < 0) {
        *ret_code = cli_fail_usage(cli);
        return true;
    }
    bool is_pipe = cli->options.verb->run == verb_mcp;
    signals_begin(&relay.signals, is_pipe);
    if (!is_pipe) {
        (void)person_begin(cli);
    }
    int done = send_run(&relay, argc, argv, &input, reads);
    if (done == 0 && is_pipe) {
        done = message_send_descriptors(fd, (const int[]){STDIN_FILENO, STDOUT_FILENO});
    }
    bool began = done == 0;
    done = done < 0 ? done : follow(&relay, &message, ret_code);
    person_stop();
    end_question(&relay.question);
    person_finish();
    signals_end(&relay.signals);
    buf_finish(&message.bytes);
    buf_finish(&relay.question.message.bytes);
    if (done == 0 && reads) {
        cli->input = input; /* standard input is read, and not again */
        cli->has_input = true;
        input = BUF_INIT;
    }
    return done > 0 || (done < 0 && began && lose(cli, found, ret_code));
}

bool relay_run(struct cli *cli, int argc, char **argv, int *ret_code) {
    struct daemon_found found = {0};
    if (!relay_fits(&cli->options) || argc > (int)MESSAGE_WORDS_MAX) {
        return false;
    }
    CLEANUP(freep) char *folder = daemon_folder(&cli->options);
    bool is_run = false;
    if (daemon_find(folder, &found) > 0 && daemon_is_same(&found, &cli->options)) {
        if (found.version != NULL && strcmp(found.version, toolrack_version()) != 0) {
            output_note("the daemon is toolrack %s, this command %s, so the command works by "
                        "itself; restart the daemon",
                        found.version, toolrack_version());
        } else {
            CLEANUP(closep) int fd = reach(&found);
            is_run = fd >= 0 && relay(cli, &found, fd, argc, argv, ret_code);
        }
    }
    daemon_found_finish(&found);
    return is_run;
}
