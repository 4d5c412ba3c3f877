/* chat: 'toolrack agent' without a task, at a terminal. */
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <cmocka.h>

#include "e2e.h"
#include "patience.h"
#include "provider.h"

extern char **environ;

/* ------------------------------------------------------------- the terminal */

/* A chat, and what was shown since the last thing that was expected. */
struct chat {
    pid_t pid;
    int screen;
    char shown[65536];
    size_t length;
};

#define PROMPT "> "
#define UP     "\033[A"
#define CTRL_C "\003"
#define CTRL_D "\004"

/* libedit does not free the names of functions that are added to it, which nothing of ours copies
 * as wide characters: LeakSanitizer is to tell of all else. */
static void forgive_libedit(void) {
    char here[512];
    char options[1024];
    e2e_write("lsan.supp", "leak:wcsdup\n");
    assert_non_null(getcwd(here, sizeof here));
    (void)snprintf(options, sizeof options, "suppressions=%s/lsan.supp:print_suppressions=0", here);
    assert_int_equal(setenv("LSAN_OPTIONS", options, 1), 0);
}

/* Its own session, of which the terminal is the controlling one: Ctrl-C is a signal for it alone.
 */
static void begin(struct chat *chat, const char *const *more) {
    const char *argv[32] = {getenv("E2E_TOOLRACK"),
                            "agent",
                            "--config",
                            "",
                            "--state",
                            "state",
                            "--plugins",
                            e2e_plugins(),
                            "--endpoint",
                            endpoint,
                            "--model",
                            "converses"};
    size_t count = 12;
    for (; *more != NULL; more++) {
        argv[count++] = *more;
    }
    memset(chat, 0, sizeof *chat);
    forgive_libedit();
    chat->screen = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(chat->screen >= 0 && grantpt(chat->screen) == 0 && unlockpt(chat->screen) == 0);
    struct winsize size = {.ws_col = 200, .ws_row = 24};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    assert_int_equal(posix_spawn_file_actions_init(&actions), 0);
    assert_int_equal(
            posix_spawn_file_actions_addopen(&actions, 0, ptsname(chat->screen), O_RDWR, 0), 0);
    assert_int_equal(posix_spawn_file_actions_adddup2(&actions, 0, 1), 0);
    assert_int_equal(posix_spawn_file_actions_adddup2(&actions, 0, 2), 0);
    assert_int_equal(posix_spawnattr_init(&attributes), 0);
    assert_int_equal(posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID), 0);
    assert_int_equal(ioctl(chat->screen, TIOCSWINSZ, &size), 0);
    assert_int_equal(posix_spawn(&chat->pid, argv[0], &actions, &attributes,
                                 (char *const *)(uintptr_t)argv, environ),
                     0);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)posix_spawnattr_destroy(&attributes);
}

/* Wait until a text is shown. What came before it, and itself, are forgotten. */
static void see_at(int line, struct chat *chat, const char *text) {
    char *at;
    while ((at = memmem(chat->shown, chat->length, text, strlen(text))) == NULL) {
        assert_true(chat->length < sizeof chat->shown);
        ssize_t n = patience_read(chat->screen, chat->shown + chat->length,
                                  sizeof chat->shown - chat->length);
        if (n <= 0) {
            (void)fprintf(stderr, "line %d: no \"%s\" in: %.*s\n", line, text, (int)chat->length,
                          chat->shown);
            _fail(__FILE__, line);
        }
        chat->length += (size_t)n;
    }
    at += strlen(text);
    chat->length -= (size_t)(at - chat->shown);
    memmove(chat->shown, at, chat->length);
}
#define SEE(chat, text) see_at(__LINE__, chat, text)

static void type(struct chat *chat, const char *text) {
    assert_int_equal(write(chat->screen, text, strlen(text)), strlen(text));
}

/* Type a line at the prompt, and wait until a text and the next prompt are shown. */
static void say_at(int line, struct chat *chat, const char *text, const char *answer) {
    type(chat, text);
    type(chat, "\r");
    see_at(line, chat, answer);
    see_at(line, chat, PROMPT);
}
#define SAY(chat, text, answer) say_at(__LINE__, chat, text, answer)

/* The status with which it ends. */
static int end(struct chat *chat) {
    char piece[512];
    int status = -1;
    while (patience_read(chat->screen, piece, sizeof piece) > 0) {
    }
    assert_int_equal(patience_child(chat->pid, &status), chat->pid);
    (void)close(chat->screen);
    return status;
}

static void leave(struct chat *chat) {
    type(chat, CTRL_D);
    assert_int_equal(end(chat), 0);
}

/* A chat at its first prompt. */
static void begin_chat(struct chat *chat, const char *const *more) {
    begin(chat, more);
    SEE(chat, PROMPT);
}
#define CHAT(chat) begin_chat(chat, ARGS(NULL))

static int chat_setup(void **state) {
    (void)setenv("TERM", "xterm", 1);
    return set_up(state);
}

/* ----------------------------------------------------------------- messages */

static void messages_are_one_conversation(void **state) {
    (void)state;
    struct chat chat;
    need_provider();
    CHAT(&chat);
    SAY(&chat, "one", "1: one");
    SAY(&chat, "  ", "");
    SAY(&chat, "add \xc3\xa9", "The sum is 5.");
    SAY(&chat, "//three", "3: /three");
    type(&chat, CTRL_D);
    SEE(&chat, "agent --resume 2");
    assert_int_equal(end(&chat), 0);
    assert_int_equal(request_count(), 4);
    EXPECT_REQUESTS("/3/body/messages/0/content", "\"one\"", "/3/body/messages/2/content",
                    "\"add \xc3\xa9\"", "/3/body/messages/4/role", "\"tool\"",
                    "/3/body/messages/6/content", "\"/three\"");
    EXPECT_JSON(RUN("agent", "--list", "--json"), 0, "/0/steps", "4", "/1", "");
    begin_chat(&chat, ARGS("--continue"));
    SAY(&chat, "four", "4: four");
    leave(&chat);
}

static void a_message_may_have_several_lines(void **state) {
    (void)state;
    struct chat chat;
    need_provider();
    CHAT(&chat);
    type(&chat, "one\\\r");
    SEE(&chat, "... ");
    SAY(&chat, "two", "1: one");
    type(&chat, "\033[200~three\rfo\033ur\033[201~");
    SAY(&chat, "", "2: three");
    leave(&chat);
    EXPECT_REQUESTS("/0/body/messages/0/content", "\"one\\ntwo\"", "/1/body/messages/2/content",
                    "\"three\\nfour\"");
}

/* A worker of a chat. */
static pid_t worker_of(const struct chat *chat) {
    DIR *dir = opendir("/proc");
    pid_t found = 0;
    assert_non_null(dir);
    for (struct dirent *entry; found == 0 && (entry = readdir(dir)) != NULL;) {
        char path[300];
        int pid = 0;
        int parent = 0;
        (void)snprintf(path, sizeof path, "/proc/%s/stat", entry->d_name);
        FILE *file = entry->d_name[0] > '0' && entry->d_name[0] <= '9' ? fopen(path, "r") : NULL;
        if (file != NULL && fscanf(file, "%d (toolrack-worker) %*c %d", &pid, &parent) == 2 &&
            parent == chat->pid) {
            found = pid;
        }
        if (file != NULL) {
            (void)fclose(file);
        }
    }
    (void)closedir(dir);
    assert_true(found > 0);
    return found;
}

/* What is typed stays below. */
static void a_note_is_written_above_the_prompt(void **state) {
    (void)state;
    struct chat chat;
    need_provider();
    CHAT(&chat);
    SAY(&chat, "add", "The sum is 5.");
    type(&chat, "half a mess");
    SEE(&chat, "half a mess");
    assert_int_equal(kill(worker_of(&chat), SIGKILL), 0);
    SEE(&chat, "\r\033[J");
    SEE(&chat, "toolrack: warning: kit: ");
    SEE(&chat, "\n> half a mess");
    SAY(&chat, "age", "2: half a message");
    leave(&chat);
}

static void resize(const struct chat *chat, unsigned short columns) {
    struct winsize size = {.ws_col = columns, .ws_row = 24};
    assert_int_equal(ioctl(chat->screen, TIOCSWINSZ, &size), 0);
}

/* What was broken into several rows is erased as such, and nothing above it. */
static void a_narrower_terminal_has_no_old_rows(void **state) {
    (void)state;
    static const char two_rows[] = "\033[A\033[2K\033[A\033[2K";
    char text[151];
    struct chat chat;
    need_provider();
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    assert_int_equal(setenv("TMUX", "/tmp/tmux,1,0", 1), 0); /* which breaks lines anew */
    CHAT(&chat);
    type(&chat, text);
    SEE(&chat, text);
    resize(&chat, 60);
    SEE(&chat, "\r\033[J");
    SEE(&chat, two_rows);
    SEE(&chat, "> xxx");
    resize(&chat, 200);
    SEE(&chat, "\r\033[J");
    SEE(&chat, "> xxx");
    type(&chat, CTRL_C);
    SEE(&chat, PROMPT);
    type(&chat, "slow\r");
    SEE(&chat, "1 of 2 half way\r\n");
    resize(&chat, 30);
    SEE(&chat, two_rows);
    SEE(&chat, "\xe2\x80\xa6\r\n");
    type(&chat, CTRL_C);
    SEE(&chat, "/retry");
    SEE(&chat, PROMPT);
    leave(&chat);
    assert_int_equal(unsetenv("TMUX"), 0);
}

/* ----------------------------------------------------------------- commands */

static void commands_are_not_sent(void **state) {
    (void)state;
    struct chat chat;
    need_provider();
    CHAT(&chat);
    SAY(&chat, "/help", "list the commands");
    SAY(&chat, "/undo", "there is nothing to take back");
    SAY(&chat, "/retry", "there is no message to go on with");
    SAY(&chat, "/udno", "there is no command /udno; did you mean /undo?");
    SAY(&chat, "/usr/bin", "to send it write //usr/bin");
    SAY(&chat, "/undo it", "/undo takes nothing more");
    SAY(&chat, "/tools two numb", "add   safe        Add two numbers");
    SAY(&chat, "/tools quux", "no tool that is offered has \"quux\"");
    type(&chat, "/quit\r");
    assert_int_equal(end(&chat), 0);
    assert_int_equal(request_count(), 0);
}

static void tools_are_offered_as_allowed(void **state) {
    (void)state;
    struct chat chat;
    need_provider();
    CHAT(&chat);
    SAY(&chat, "/allow greet, erase", "offered these tools only");
    SAY(&chat, "/allow", "/allow takes the names of tools, or all");
    SAY(&chat, "/allow gret", "did you mean 'greet'?");
    SAY(&chat, "/tools", "erase");
    SAY(&chat, "add", "NotFound: ");
    SAY(&chat, "/allow all", "offered all tools again");
    SAY(&chat, "add", "The sum is 5.");
    leave(&chat);
    EXPECT_REQUESTS("/0/body/tools/1/function/name", "\"*\"", "/0/body/tools/2", "",
                    "/2/body/tools/2/function/name", "\"*\"");
}

static void the_last_exchange_is_taken_back(void **state) {
    (void)state;
    struct chat chat;
    need_provider();
    CHAT(&chat);
    SAY(&chat, "one", "1: one");
    SAY(&chat, "add", "The sum is 5.");
    SAY(&chat, "/undo", "taken back: add; what was called is not undone: add");
    SAY(&chat, "two", "2: two");
    SAY(&chat, "/undo", "taken back: two");
    SAY(&chat, "/undo", "taken back: one");
    SAY(&chat, "/undo", "the conversation has nothing to take back");
    SAY(&chat, "/retry", "no message that could be sent");
    SAY(&chat, "three", "1: three");
    leave(&chat);
    EXPECT_REQUESTS("/3/body/messages/2/content", "\"two\"", "/4/body/messages/0/content",
                    "\"three\"", "/4/body/messages/1", "");
}

static void a_plan_that_is_taken_back_is_named_by_its_tools(void **state) {
    (void)state;
    struct chat chat;
    need_provider();
    begin_chat(&chat, ARGS("--plan", "--transcript", "here"));
    SAY(&chat, "plan", "1: plan");
    leave(&chat);
    EXPECT(RUN("agent", "--endpoint", endpoint, "--model", "plans", "--plan", "go"), 0, NULL, NULL);
    begin_chat(&chat, ARGS("--continue"));
    SAY(&chat, "/undo", "taken back: go; what was called is not undone: run_plan, add");
    leave(&chat);
}

static void a_chat_goes_on_after_a_failure(void **state) {
    (void)state;
    struct chat chat;
    need_provider();
    CHAT(&chat);
    SAY(&chat, "refuse", "/retry goes on with this message, /undo takes it back");
    SAY(&chat, "/retry", "Refused: the model refuses the task");
    SAY(&chat, "/undo", "taken back: refuse");
    SAY(&chat, "cut", "[cut off: length]");
    SAY(&chat, "and now", "2: and now");
    SAY(&chat, "/retry", "the conversation has ended with an answer; give a task");
    leave(&chat);
    assert_int_equal(request_count(), 4);
    EXPECT_REQUESTS("/1/body/messages/0/content", "\"refuse\"", "/1/body/messages/1", "",
                    "/2/body/messages/0/content", "\"cut\"", "/3/body/messages/1/content",
                    "\"It is fo\"");
}

/* -------------------------------------------------------------------- keys */

static void ctrl_c_clears_a_line_and_stops_an_answer(void **state) {
    (void)state;
    struct chat chat;
    need_provider();
    CHAT(&chat);
    static const char *const typed[] = {"not to be sent", "", "\022not to be searched", "one\\\r"};
    for (size_t i = 0; i < sizeof typed / sizeof typed[0]; i++) {
        type(&chat, typed[i]);
        type(&chat, CTRL_C);
        SEE(&chat, "^C");
        SEE(&chat, PROMPT);
    }
    for (size_t i = 0; i < 2; i++) {
        type(&chat, "slow\r");
        SEE(&chat, "slow");
        SEE(&chat, "Let me do it.");
        SEE(&chat, "slow");
        type(&chat, CTRL_C);
        SEE(&chat, "Cancelled: the conversation was interrupted");
        SEE(&chat, PROMPT);
    }
    SAY(&chat, "three", "3: three");
    type(&chat, "erase\r");
    SEE(&chat, "[N]o: ");
    type(&chat, "n\n");
    SEE(&chat, "The sum is ");
    SEE(&chat, PROMPT);
    leave(&chat);
}

static bool is_echoed(const struct chat *chat) {
    struct termios now;
    assert_int_equal(tcgetattr(chat->screen, &now), 0);
    return (now.c_lflag & ECHO) != 0;
}

/* An Enter would move the cursor away from what is drawn. Who ends it gets the terminal back. */
static void what_is_typed_while_it_works_is_not_shown(void **state) {
    (void)state;
    struct chat chat;
    need_provider();
    CHAT(&chat);
    type(&chat, "slow\r");
    SEE(&chat, "half way");
    assert_false(is_echoed(&chat));
    type(&chat, CTRL_C);
    SEE(&chat, "Cancelled: the conversation was interrupted");
    SEE(&chat, PROMPT);
    type(&chat, "erase\r");
    SEE(&chat, "[N]o: ");
    assert_true(is_echoed(&chat));
    type(&chat, "n\n");
    SEE(&chat, PROMPT);
    type(&chat, "slow\r");
    SEE(&chat, "half way");
    assert_false(is_echoed(&chat));
    int inside = open(ptsname(chat.screen), O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(inside >= 0);
    int status = -1;
    assert_int_equal(kill(chat.pid, SIGTERM), 0);
    assert_int_equal(patience_child(chat.pid, &status), chat.pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    assert_true(is_echoed(&chat));
    (void)close(inside);
    (void)close(chat.screen);
}

static void sigterm_ends_it_with_the_terminal_as_it_was(void **state) {
    (void)state;
    struct chat chat;
    struct termios before;
    struct termios after;
    need_provider();
    CHAT(&chat);
    assert_int_equal(tcgetattr(chat.screen, &before), 0);
    assert_int_equal(before.c_lflag & ICANON, 0);
    int inside = open(ptsname(chat.screen), O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(inside >= 0);
    assert_int_equal(kill(chat.pid, SIGTERM), 0);
    SEE(&chat, "\033[?2004l");
    int status = -1;
    assert_int_equal(patience_child(chat.pid, &status), chat.pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    assert_int_equal(tcgetattr(inside, &after), 0);
    assert_int_not_equal(after.c_lflag & ICANON, 0);
    assert_int_not_equal(after.c_lflag & ECHO, 0);
    (void)close(inside);
    (void)close(chat.screen);
}

static void words_are_completed(void **state) {
    (void)state;
    struct chat chat;
    need_provider();
    CHAT(&chat);
    SAY(&chat, "/qu\t\033[D\033[D\033[D\033[D\033[D\033[D\013/he\t", "list the commands");
    SAY(&chat, "/allow ad\tera\t", "offered these tools only");
    SAY(&chat, "/tools", "erase");
    type(&chat, "/\t");
    SEE(&chat, "  /allow\r\n");
    SEE(&chat, "  /quit\r\n");
    SAY(&chat, "undo", "there is nothing to take back");
    leave(&chat);
}

/* ----------------------------------------------------------------- history */

static char *read_history(void) {
    static char text[1 << 16];
    struct stat st;
    FILE *file = fopen("state/chat-history", "re");
    assert_non_null(file);
    assert_int_equal(fstat(fileno(file), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    assert_int_equal(fclose(file), 0);
    return text;
}

static void what_was_typed_is_remembered(void **state) {
    (void)state;
    struct chat chat;
    need_provider();
    CHAT(&chat);
    SAY(&chat, "one \xe2\x98\x83", "1: one");
    SAY(&chat, " two", "2:  two");
    SAY(&chat, "my key is " KEY, "3: my key is ***");
    leave(&chat);
    EXPECT_MATCH(read_history(), "\"one \xe2\x98\x83\"\n\"my key is ****\"\n");
    assert_null(strstr(read_history(), KEY));
    CHAT(&chat);
    SAY(&chat, UP UP, "1: one \xe2\x98\x83");
    leave(&chat);
    EXPECT_REQUESTS("/3/body/messages/0/content", "\"one \xe2\x98\x83\"");
}

static void the_history_is_bounded(void **state) {
    (void)state;
    struct chat chat;
    need_provider();
    CHAT(&chat);
    leave(&chat);
    FILE *file = fopen("state/chat-history", "we");
    assert_non_null(file);
    for (int i = 0; i < 40000; i++) {
        assert_true(fprintf(file, "\"line number %020d\"\n", i) > 0);
    }
    assert_true(fputs("no JSON\n\"half a li", file) >= 0);
    assert_int_equal(fclose(file), 0);
    CHAT(&chat);
    SAY(&chat, UP, "1: line number 00000000000000039999");
    leave(&chat);
    char *text = read_history();
    assert_int_equal(strncmp(text, "\"line number 00000000000000039000\"\n", 35), 0);
    assert_true(strlen(text) < 36 * 1002);
}

static void a_history_of_others_is_left_alone(void **state) {
    (void)state;
    struct chat chat;
    need_provider();
    assert_int_equal(mkdir("state", 0700), 0);
    assert_int_equal(symlink("../elsewhere", "state/chat-history"), 0);
    begin(&chat, ARGS("--verbose"));
    SEE(&chat, "what is typed is not remembered: ");
    SEE(&chat, PROMPT);
    SAY(&chat, "one", "1: one");
    SAY(&chat, UP, "2: one");
    leave(&chat);
    assert_int_equal(access("elsewhere", F_OK), -1);
}

/* --------------------------------------------------------- where there is none */

static void a_chat_needs_a_terminal(void **state) {
    (void)state;
    need_provider();
#define NO_TASK(...) RUN("agent", "--endpoint", endpoint, "--model", "converses", __VA_ARGS__)
    EXPECT(NO_TASK(NULL), 2, "", "toolrack: an argument is missing; usage: toolrack agent *\n");
    EXPECT(NO_TASK("--json"), 2, "*an argument is missing*", "");
    struct chat chat;
    begin(&chat, ARGS("--json"));
    SEE(&chat, "an argument is missing");
    assert_int_equal(WEXITSTATUS(end(&chat)), 2);
    assert_int_equal(request_count(), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, chat_setup, e2e_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
            TEST(messages_are_one_conversation),
            TEST(a_message_may_have_several_lines),
            TEST(a_note_is_written_above_the_prompt),
            TEST(a_narrower_terminal_has_no_old_rows),
            TEST(commands_are_not_sent),
            TEST(tools_are_offered_as_allowed),
            TEST(the_last_exchange_is_taken_back),
            TEST(a_plan_that_is_taken_back_is_named_by_its_tools),
            TEST(a_chat_goes_on_after_a_failure),
            TEST(ctrl_c_clears_a_line_and_stops_an_answer),
            TEST(what_is_typed_while_it_works_is_not_shown),
            TEST(sigterm_ends_it_with_the_terminal_as_it_was),
            TEST(words_are_completed),
            TEST(what_was_typed_is_remembered),
            TEST(the_history_is_bounded),
            TEST(a_history_of_others_is_left_alone),
            TEST(a_chat_needs_a_terminal),
    };
    return cmocka_run_group_tests_name("chat", tests, start_provider, stop_provider);
}
