/* A worker without a plugin, for test-crew: it does at once what a plugin would have to be loaded
 * and broken for. Settings say how it starts ({"start": "crash"}) and where its start waits
 * ({"marks": "/a/folder"}) or another lane ({"lane marks": "/a/folder"}), arguments what a call
 * does ({"do": "echo"}), and which file it creates when it begins ({"mark": "/a/file"}). */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>
#include <yyjson.h>

#include "toolrack/plugin.h"
#include "worker/child.h"
#include "worker/crash.h"
#include "worker/notice.h"
#include "worker/protocol-fd.h"
#include "worker/protocol.h"

static _Noreturn void give_up(void) {
    _exit(WORKER_EXIT_PROTOCOL);
}

static struct frame_in receive(struct channel *channel) {
    struct frame_in frame;
    if (channel_receive(channel, 0, &frame) != CHANNEL_FRAME) {
        give_up();
    }
    return frame;
}

static void receive_type(struct channel *channel, enum frame_type type) {
    if (receive(channel).type != type) {
        give_up();
    }
}

static struct notice_mark own_mark;

static void ring(void) {
    notice_ring(WORKER_NOTICES, &own_mark);
}

static void pause_ms(long ms) {
    struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    (void)nanosleep(&time, NULL);
}

static void await_file(const char *path) {
    while (access(path, F_OK) != 0) {
        pause_ms(1);
    }
}

static void create(const char *path) {
    int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    if (fd < 0) {
        give_up();
    }
    (void)close(fd);
}

static _Noreturn void hang(void) {
    for (;;) {
        (void)pause();
    }
}

/* No sanitizer knows better than the kernel that there is nothing. */
__attribute__((noinline)) static void follow_null(void) {
    volatile int *volatile nowhere = (volatile int *)(uintptr_t)64;
    *nowhere = 1;
}

/* Returns only where `how` is nothing of this. */
static void die_of(const char *how) {
    if (strcmp(how, "crash") == 0) {
        follow_null();
    } else if (strcmp(how, "exit") == 0) {
        _exit(3);
    } else if (strcmp(how, "kill") == 0) {
        (void)raise(SIGKILL);
    } else if (strcmp(how, "hang") == 0) {
        hang();
    } else if (strcmp(how, "burn") == 0) {
        /* A loop that calls nothing is where ThreadSanitizer keeps signals from handlers. */
        (void)signal(SIGXCPU, SIG_DFL);
        for (volatile unsigned i = 0;; i++) {
        }
    }
}

/* -------------------------------------------------------------------- calls */

static void reply(struct channel *channel, const char *json) {
    const struct frame_result result = {.value = json, .length = strlen(json)};
    if (!send_result(channel, &result)) {
        give_up();
    }
}

static void reply_text(struct channel *channel, const char *text) {
    const struct frame_result result = {.value = text, .length = strlen(text), .is_text = true};
    if (!send_result(channel, &result)) {
        give_up();
    }
}

static void fail_call(struct channel *channel, int code, const char *message) {
    if (!send_failure(channel, FRAME_FAILURE,
                      &(struct frame_failure){.code = code,
                                              .field = "/do",
                                              .message = message,
                                              .cpu_ns = PROTOCOL_UNMEASURED,
                                              .memory = PROTOCOL_UNMEASURED})) {
        give_up();
    }
}

static void say(struct channel *channel, const char *message) {
    if (!send_log(channel, &(struct frame_log){.level = 1, .message = message})) {
        give_up();
    }
    receive_type(channel, FRAME_GO_ON);
}

static void ask(struct channel *channel) {
    const struct frame_question question = {.count = 1,
                                            .inputs[0] = {.kind = TR_INPUT_FORM,
                                                          .key = "ask-1",
                                                          .message = "who?",
                                                          .schema = "{\"type\":\"object\"}"}};
    struct frame_answer answer;
    if (!send_question(channel, &question)) {
        give_up();
    }
    struct frame_in frame = receive(channel);
    if (frame.type != FRAME_ANSWER || !read_answer(&frame, &answer) || answer.count != 1) {
        give_up();
    }
    char json[100];
    const struct frame_answered *first = &answer.answers[0];
    (void)snprintf(json, sizeof json, "[%d,%s]", (int)first->action,
                   first->content != NULL ? first->content : "null");
    reply(channel, json);
}

/* A child that would outlive its parent. */
static void spawn_forever(struct channel *channel) {
    char json[20];
    pid_t pid = fork();
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, 0);
        hang();
    }
    (void)snprintf(json, sizeof json, "%d", (int)pid);
    reply(channel, json);
}

/* Content that no tool can reply with, or some that one can ("content"). */
static bool send_content(struct channel *channel, const char *which) {
    static const char *const contents[][2] = {
            {"content", "{\"content\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"resource\","
                        "\"resource\":{\"uri\":\"u:b\",\"text\":\"c\"}}]}"},
            {"no blocks", "{\"content\":{}}"},
            {"a block that is null", "{\"content\":[null]}"},
            {"a text that is an array", "{\"content\":[{\"type\":\"text\",\"text\":[0,0,0]}]}"},
            {"no text", "{\"content\":[{\"type\":\"text\"}]}"},
            {"a text twice", "{\"content\":[{\"type\":\"text\",\"text\":\"a\",\"text\":\"b\"}]}"},
            {"another member", "{\"content\":[{\"type\":\"text\",\"text\":\"a\",\"x\":1}]}"},
            {"another type", "{\"content\":[{\"type\":\"video\",\"data\":\"\"}]}"},
            {"a type that is a number", "{\"content\":[{\"type\":7}]}"},
            {"data that is an array",
             "{\"content\":[{\"type\":\"image\",\"data\":[0],\"mimeType\":\"image/png\"}]}"},
            {"no MIME type", "{\"content\":[{\"type\":\"audio\",\"data\":\"\"}]}"},
            {"a resource that is a text",
             "{\"content\":[{\"type\":\"resource\",\"resource\":\"u:b\"}]}"},
            {"a resource of both kinds",
             "{\"content\":[{\"type\":\"resource\",\"resource\":{\"uri\":\"u:b\",\"text\":"
             "\"c\",\"blob\":\"\"}}]}"},
            {"content twice", "{\"content\":[],\"content\":[]}"},
            {"JSON that was not announced", "{\"content\":[],\"structuredContent\":{}}"},
            {"a member beside", "{\"content\":[],\"isError\":false}"},
    };
    for (size_t i = 0; i < sizeof contents / sizeof contents[0]; i++) {
        const struct frame_result result = {
                .value = contents[i][1], .length = strlen(contents[i][1]), .is_content = true};
        if (strcmp(which, contents[i][0]) == 0) {
            return send_result(channel, &result);
        }
    }
    return false;
}

/* A failure whose words are to be taken for the host's. */
static void forge_failure(struct channel *channel) {
    const struct frame_failure failure = {.code = TOOLRACK_E_EXECUTION_FAILED,
                                          .field = "/a\x1b[2J\nb",
                                          .message = "plugin 'other' is in quarantine",
                                          .trace = "",
                                          .tool_code = 77};
    if (!send_failure(channel, FRAME_FAILURE, &failure)) {
        give_up();
    }
}

static void send_nonsense(struct channel *channel, const char *which) {
    if (send_content(channel, which)) {
        return;
    }
    if (strcmp(which, "frame") == 0) {
        send_plain(channel, FRAME_READY);
    } else if (strcmp(which, "json") == 0) {
        reply(channel, "{");
    } else if (strcmp(which, "lines") == 0) {
        reply(channel, "[1,\n2]");
    } else if (strcmp(which, "open string") == 0) {
        reply(channel, "\"");
    } else if (strcmp(which, "two strings") == 0) {
        reply(channel, "\"a\" \"b\"");
    } else if (strcmp(which, "control") == 0) {
        reply(channel, "\"a\x01\"");
    } else if (strcmp(which, "half a pair") == 0) {
        reply(channel, "\"\\ud800\"");
    } else if (strcmp(which, "bytes") == 0) {
        reply(channel, "\"\xff\"");
    } else if (strcmp(which, "text of bytes") == 0) {
        reply_text(channel, "a\xff");
    } else {
        channel_send(channel, (enum frame_type)99, 0);
    }
    hang();
}

static void wait_for_cancel(struct channel *channel) {
    while (!channel_is_cancelled(channel)) {
        pause_ms(1);
    }
    say(channel, "I was asked to end");
    fail_call(channel, TOOLRACK_E_CANCELLED, "cancelled");
}

static void wait_for_file(struct channel *channel, const char *path) {
    await_file(path);
    reply_text(channel, "held");
}

static void print_lines(struct channel *channel, int count) {
    for (int i = 0; i < count; i++) {
        printf("line %d\n", i);
    }
    (void)fflush(stdout); /* both are one pipe */
    (void)fputs("half \xff a line", stderr);
    reply(channel, "null");
}

/* More than a pipe holds, and notices within a line, the last one of a worker that is another. */
static void print_notices(struct channel *channel) {
    struct notice_mark other = own_mark;
    other.bytes[NOTICE_MARK_SIZE - 1] ^= 1;
    for (int i = 0; i < 20000; i++) {
        (void)fputs("much ", stdout);
    }
    (void)fputs("\na line", stdout);
    (void)fflush(stdout);
    notice_send(WORKER_NOTICES, &own_mark, NOTICE_UPDATED, "first");
    notice_send(WORKER_NOTICES, &own_mark, NOTICE_PROMPTS, NULL);
    (void)fwrite(" of\0 zeros\0", 1, 11, stderr);
    (void)fwrite(own_mark.bytes, 1, 3, stderr);
    notice_send(WORKER_NOTICES, &own_mark, NOTICE_UPDATED, "second");
    (void)fputs(" and", stderr);
    notice_send(WORKER_NOTICES, &other, NOTICE_UPDATED, "forged");
    reply(channel, "null");
}

static void talk(struct channel *channel, int count) {
    for (int i = 0; count == 0 || i < count; i++) {
        const struct frame_progress progress = {.done = i, .total = count, .message = "on"};
        say(channel, "said");
        if (!send_progress(channel, &progress)) {
            give_up();
        }
        receive_type(channel, FRAME_GO_ON);
    }
    reply(channel, "true");
}

static void run(struct channel *channel, const struct frame_call *call) {
    yyjson_doc *doc = yyjson_read(call->arguments, call->arguments_length, 0);
    yyjson_val *root = yyjson_doc_get_root(doc);
    const char *what = yyjson_get_str(yyjson_obj_get(root, "do"));
    const char *with = yyjson_get_str(yyjson_obj_get(root, "with"));
    const char *mark = yyjson_get_str(yyjson_obj_get(root, "mark"));
    int count = yyjson_get_int(yyjson_obj_get(root, "count"));
    what = what != NULL ? what : "echo";
    if (mark != NULL) {
        create(mark);
    }
    die_of(what);
    if (strcmp(what, "text") == 0) {
        reply_text(channel, "a \xc3\xa9");
    } else if (strcmp(what, "fail") == 0) {
        fail_call(channel, TOOLRACK_E_INVALID_ARGUMENTS, "I do not want to");
    } else if (strcmp(what, "ask") == 0) {
        ask(channel);
    } else if (strcmp(what, "pid") == 0) {
        char json[20];
        (void)snprintf(json, sizeof json, "%d", (int)getpid());
        reply(channel, json);
    } else if (strcmp(what, "spawn") == 0) {
        spawn_forever(channel);
    } else if (strcmp(what, "nonsense") == 0) {
        send_nonsense(channel, with);
    } else if (strcmp(what, "forge") == 0) {
        forge_failure(channel);
    } else if (strcmp(what, "listen") == 0) {
        wait_for_cancel(channel);
    } else if (strcmp(what, "hold") == 0) {
        wait_for_file(channel, with);
    } else if (strcmp(what, "print") == 0) {
        print_lines(channel, count);
    } else if (strcmp(what, "notices") == 0) {
        print_notices(channel);
    } else if (strcmp(what, "talk") == 0) {
        talk(channel, count);
    } else if (strcmp(what, "environment") == 0) {
        const char *value = getenv(with);
        char json[200];
        (void)snprintf(json, sizeof json, "\"%s\"", value != NULL ? value : "");
        reply(channel, json);
    } else {
        reply(channel, call->arguments);
    }
    yyjson_doc_free(doc);
}

/* -------------------------------------------------------------------- lanes */

static void serve(struct channel *channel);

static void *lane_main(void *channel) {
    serve(channel);
    return NULL;
}

static void leave_mark(const char *folder, const char *name) {
    char path[200];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    create(path);
}

static void await_mark(const char *folder, const char *name) {
    char path[200];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    await_file(path);
}

/* With a folder for marks: leaves the file `waits` there, and opens the lane once the file `go`
 * exists. */
static const char *lane_marks = "";

static void start_lane(void) {
    pthread_t thread;
    struct channel *lane = channel_join(protocol_receive_fd(WORKER_SOCKET), NULL);
    if (lane == NULL || pthread_create(&thread, NULL, lane_main, lane) != 0) {
        give_up();
    }
    (void)pthread_detach(thread);
}

static void open_lane(struct channel *channel) {
    if (lane_marks[0] != '\0') {
        leave_mark(lane_marks, "waits");
        await_mark(lane_marks, "go");
    }
    start_lane();
    send_plain(channel, FRAME_READY);
    ring();
}

static const char *when_ended = "";

static void serve(struct channel *channel) {
    for (;;) {
        struct frame_in frame = receive(channel);
        struct frame_call call;
        if (frame.type == FRAME_CALL && read_call(&frame, &call)) {
            run(channel, &call);
        } else if (frame.type == FRAME_OPEN) {
            open_lane(channel);
        } else if (frame.type == FRAME_END) {
            die_of(when_ended);
            _exit(WORKER_EXIT_DONE);
        } else {
            give_up();
        }
    }
}

/* With a folder for marks: leaves the file `waits` there, says that it is ready once the file `go`
 * exists, and then leaves `said`. */
static void begin(struct channel *channel, const char *how, const char *marks, bool opens_lane) {
    if (!protocol_describe(WORKER_SOCKET, SANDBOX_LIMITS, -1)) {
        give_up();
    }
    ring();
    die_of(how);
    if (strcmp(how, "refuse") == 0) {
        (void)send_failure(channel, FRAME_REFUSED,
                           &(struct frame_failure){.code = TOOLRACK_E_REFUSED,
                                                   .message = "it needs libmissing.so"});
        _exit(WORKER_EXIT_REFUSED); /* so fast that its end is seen first */
    } else if (strcmp(how, "nonsense") == 0) {
        reply(channel, "1");
        ring();
        hang();
    } else if (strcmp(how, "log") == 0) {
        if (!send_log(channel, &(struct frame_log){.level = 2, .message = "opening"})) {
            give_up();
        }
        ring();
        receive_type(channel, FRAME_GO_ON);
    }
    if (marks[0] != '\0') {
        leave_mark(marks, "waits");
        await_mark(marks, "go");
    }
    if (opens_lane) {
        start_lane();
    }
    send_plain(channel, FRAME_READY);
    ring();
    if (marks[0] != '\0') {
        leave_mark(marks, "said");
    }
}

static const char *setting(yyjson_val *settings, const char *key) {
    const char *value = yyjson_get_str(yyjson_obj_get(settings, key));
    return value != NULL ? value : "";
}

int main(void) {
    struct arena arena;
    struct frame_start start;
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0) {
        give_up();
    }
    arena_init(&arena, NULL, 0);
    struct channel *channel = channel_join(protocol_receive_fd(WORKER_SOCKET), NULL);
    if (channel == NULL || !crash_install(channel_crash_area(channel)) || !crash_thread_begin()) {
        give_up();
    }
    struct frame_in frame = receive(channel);
    if (frame.type != FRAME_START || !read_start(&frame, &arena, &start)) {
        give_up();
    }
    yyjson_doc *doc = yyjson_read(start.settings, strlen(start.settings), 0);
    yyjson_val *settings = yyjson_doc_get_root(doc);
    own_mark = notice_mark(start.notice_mark);
    when_ended = setting(settings, "end");
    lane_marks = setting(settings, "lane marks");
    begin(channel, setting(settings, "start"), setting(settings, "marks"), start.opens_lane);
    serve(channel);
}
