/* Commands that the daemon runs: what they print and how they end is as without it, whoever goes
 * away meanwhile, and nobody else is served. */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "e2e.h"
#include "http-client.h"
#include "patience.h"
#include "remove-tree.h"
#include "rounds.h"
#include "serving.h"

#define COMMANDS "state/commands.sock"
#define NOBODY   65534

/* As cli/message.h has them; another build may send others. */
enum { RUN_MESSAGE = 1, ALONE_MESSAGE = 4, END_MESSAGE = 8 };
#define PROTOCOL 3u

static struct serving start(void) {
    return serving_start(ARGS("--listen", "127.0.0.1:0")); /* it takes commands before it says so */
}

/* ------------------------------------------------------------ the same output */

struct line {
    const char *args[8];
    const char *input;
    const char *typed;
    unsigned short columns;
};

/* In this order: what one does the next ones see. What the log of a host says, and which files it
 * has seen, is not the same: those of a daemon are its own. */
static const struct line lines[] = {
        {{"list"}},
        {{"list", "--all", "--json"}},
        {{"list", "g*", "--tag", "none"}},
        {{"list"}, .columns = 60},
        {{"list", "--color", "always"}},
        {{"list", "--in-state", "nonsense"}},
        {{"show", "add"}},
        {{"show", "add", "--schema", "--json"}},
        {{"show", "ad"}},
        {{"show"}},
        {{"plugins"}},
        {{"plugins", "--json"}},
        {{"export", "--format", "openai"}},
        {{"export", "--format", "nonsense"}},
        {{"statistics"}},
        {{"log"}},
        {{"disable", "add"}},
        {{"call", "add", "{\"a\":1,\"b\":2}"}},
        {{"call", "add", "{\"a\":1,\"b\":2}", "--json"}},
        {{"list", "--all"}},
        {{"enable", "add", "--json"}},
        {{"enable", "nonsense"}},
        {{"priority", "add", "70"}},
        {{"priority", "add", "much"}},
        {{"default", "greet", "1.0.0"}},
        {{"default", "greet", "--reset"}},
        {{"blacklist", "add", "fails", "--why", "it fails"}},
        {{"whitelist", "add", "add"}},
        {{"whitelist", "list"}, .columns = 80},
        {{"feedback", "add", "good"}},
        {{"call", "launch"}},
        {{"grant", "launch"}},
        {{"grants", "--json"}},
        {{"revoke", "launch"}},
        {{"revoke", "launch", "--json"}},
        {{"allow"}},
        {{"allow", "kit", "read:/srv/x"}},
        {{"approvals"}},
        {{"token"}},
        {{"token", "revoke", "nobody"}},
        {{"tasks", "show", "0"}},
        {{"why", "nonsense"}},
        {{"release", "kit"}},
        {{"reload", "nonsense"}},
        {{"rollback", "nonsense"}},
        {{"call", "add", "-"}, .input = "{\"a\":1,\n\"b\":2}\n"},
        {{"call", "add", "-"}, .input = "no JSON"},
        {{"call", "add", "-"}, .input = ""},
        {{"call", "add", "--arg", "a=1", "--arg", "b=x"}},
        {{"call", "ad", "{}"}},
        {{"call", "say"}},
        {{"call", "picture"}},
        {{"call", "fails"}},
        {{"call", "fails", "--json"}},
        {{"call", "erase"}},
        {{"call", "erase", "--yes"}},
        {{"call", "erase"}, .typed = "y\n"},
        {{"call", "erase"}, .typed = "n\n"},
        {{"call", "asks"}, .typed = "\nmain\n\n"},
        {{"call", "asks"}, .typed = "main\nn\n"},
        {{"call", "asks"}, .typed = "\x04"},
        {{"call", "asks"}},
};
#define LINE_COUNT (sizeof lines / sizeof lines[0])

static struct run run_line(const struct line *line) {
    const struct how how = {.input = line->input, .typed = line->typed, .columns = line->columns};
    return run_how(&how, line->args);
}

/* Times and ids differ, each of its own length. */
static void hide_numbers(char *text) {
    char *to = text;
    for (const char *at = text; *at != '\0';) {
        size_t digits = strspn(at, "0123456789.");
        *to++ = digits > 0 ? '#' : *at;
        at += digits > 0 ? digits : 1;
    }
    *to = '\0';
}

static bool is_same(const struct line *line, const char *what, char *with, char *without) {
    static const char *const shows_times[] = {"grants", "whitelist"};
    for (size_t i = 0; i < sizeof shows_times / sizeof shows_times[0]; i++) {
        if (strcmp(line->args[0], shows_times[i]) == 0) {
            hide_numbers(with);
            hide_numbers(without);
        }
    }
    if (strcmp(with, without) != 0) {
        (void)fprintf(stderr, "%s %s: %s with the daemon:\n%s\nwithout:\n%s\n", line->args[0],
                      line->args[1] != NULL ? line->args[1] : "", what, with, without);
        return false;
    }
    return true;
}

static void each_verb_says_the_same(void **state) {
    (void)state;
    struct run without[LINE_COUNT];
    unsigned differ = 0;
    for (size_t i = 0; i < LINE_COUNT; i++) {
        without[i] = run_line(&lines[i]);
    }
    assert_int_equal(0, remove_tree("state"));
    struct serving serving = start();
    for (size_t i = 0; i < LINE_COUNT; i++) {
        struct run with = run_line(&lines[i]);
        differ += !is_same(&lines[i], "the output", with.out, without[i].out);
        differ += !is_same(&lines[i], "standard error", with.err, without[i].err);
        if (with.exit != without[i].exit) {
            fail_msg("%s: %d instead of %d", lines[i].args[0], with.exit, without[i].exit);
        }
        run_finish(&with);
        run_finish(&without[i]);
    }
    assert_int_equal(0, differ);
    /* The host of the daemon has loaded what they called; one of their own would not have. */
    EXPECT_JSON(RUN("list", "add", "--json"), 0, "/0/state", "\"loaded\"");
    EXPECT_JSON(RUN("list", "add", "--json", "--no-daemon"), 0, "/0/state", "\"listed\"");
    assert_int_equal(0, serving_end(&serving, SIGTERM));
}

/* As an update does it. */
static void install(const char *build) {
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s.so", getenv("E2E_LEASH"), build);
    e2e_copy(path, "p/new", 0);
    assert_int_equal(0, rename("p/new", "p/leash.so"));
}

#define PLACES "--config", "toolrack.json", "--state", "state", "--plugins", "p"

/* A file that is no plugin, a tool that has changed since it was granted, a definition that is left
 * out and a grant of a tool that is not there. */
static void make_problems(void) {
    assert_int_equal(0, mkdir("p", 0700));
    install("leash");
    e2e_write("toolrack.json", "{}");
    assert_int_equal(0, chmod("toolrack.json", 0600));
    EXPECT(RUN_WITH(HOW(.bare = true), PLACES, "grant", "erase", "--for", "1h"), 0, NULL, "");
    install("leash-reworded");
    e2e_write("p/words.so", "no plugin\n");
    e2e_write("toolrack.json",
              "{\"grants\": [\"nobody\"], \"tools\": [{\"name\": \"sum\", \"description\": \"d\", "
              "\"type\": \"function\", \"parameters\": {\"type\": \"object\"}, \"implementation\": "
              "{\"type\": \"builtin\", \"handler\": \"suum\"}}]}");
}

static void problems_are_told_alike(void **state) {
    (void)state;
    static const char *const verbs[][2] = {
            {"list"},           {"list", "--all"},    {"grants"},
            {"show", "erase"},  {"plugins"},          {"statistics"},
            {"list", "--json"}, {"revoke", "nobody"}, {"call", "nothing"}};
    enum { COUNT = sizeof verbs / sizeof verbs[0] };
    const struct how how = {.bare = true};
    struct run without[COUNT];
    make_problems();
    for (size_t i = 0; i < COUNT; i++) {
        without[i] = run_how(&how, ARGS(PLACES, verbs[i][0], verbs[i][1]));
    }
    struct serving serving = serving_start_bare(ARGS(PLACES, "--listen", "127.0.0.1:0"));
    for (size_t i = 0; i < COUNT; i++) {
        const struct line line = {.args = {verbs[i][0], verbs[i][1]}};
        struct run with = run_how(&how, ARGS(PLACES, verbs[i][0], verbs[i][1]));
        assert_true(is_same(&line, "the output", with.out, without[i].out));
        assert_true(is_same(&line, "standard error", with.err, without[i].err));
        assert_int_equal(with.exit, without[i].exit);
        run_finish(&with);
        run_finish(&without[i]);
    }
    EXPECT(RUN_WITH(HOW(.bare = true), PLACES, "statistics"), 0, NULL,
           "toolrack: 3 problems with tools or plugins, and 1 grant without effect; *\n");
    EXPECT(RUN_WITH(HOW(.bare = true), PLACES, "show", "erase"), 0, NULL,
           "toolrack: warning: leash: Tool 'erase@1.0.0' is not what was approved: *\n"
           "toolrack: 2 problems with tools or plugins, *\n");
    /* What has been put right is told no more. */
    assert_int_equal(0, unlink("p/words.so"));
    EXPECT(RUN_WITH(HOW(.bare = true), PLACES, "reload"), 0, NULL, NULL);
    EXPECT(RUN_WITH(HOW(.bare = true), PLACES, "statistics"), 0, NULL, "toolrack: 2 problems *\n");
    assert_int_equal(0, serving_end(&serving, SIGTERM));
}

static bool is_relayed(const struct run *run) {
    return strstr(run->out, "\"loaded\"") != NULL;
}

static void a_command_with_a_host_of_its_own_works_by_itself(void **state) {
    (void)state;
    const struct {
        const char *const *args;
        bool is_relayed;
    } rows[] = {
            {ARGS("list", "add", "--json"), true},
            {ARGS("--config", "", "list", "add", "--json"), true},
            {ARGS("--no-daemon", "list", "add", "--json"), false},
            {ARGS("--verbose", "list", "add", "--json"), false},
            {ARGS("--require-sandbox", "list", "add", "--json"), false},
            {ARGS("--config", "other.json", "list", "add", "--json"), false},
            {ARGS("--plugins", "other", "list", "add", "--json"), false},
            {ARGS("--state", "elsewhere", "list", "add", "--json"), false},
    };
    e2e_write("other.json", "{}");
    assert_int_equal(0, chmod("other.json", 0600));
    assert_int_equal(0, mkdir("other", 0700));
    struct serving serving = start();
    EXPECT(RUN("call", "add", "{\"a\":1,\"b\":2}"), 0, "3.0\n", "");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct run run = run_how(&(struct how){0}, rows[i].args);
        if (run.exit != 0 || is_relayed(&run) != rows[i].is_relayed) {
            fail_msg("row %zu: %s%s", i, run.out, run.err);
        }
        run_finish(&run);
    }
    (void)setenv("TZ", "Asia/Tokyo", 1); /* times would be those of the daemon */
    struct run run = RUN("list", "add", "--json");
    (void)unsetenv("TZ");
    assert_false(is_relayed(&run));
    run_finish(&run);
    assert_int_equal(0, serving_end(&serving, SIGTERM));
}

static void a_command_with_other_places_works_by_itself(void **state) {
    (void)state;
    static const char *const variables[] = {"TOOLRACK_PLUGIN_PATH", "XDG_DATA_HOME",
                                            "XDG_CONFIG_HOME", "HOME"};
    static const char *const list[] = {"--state", "state", "list", "add", "--json", NULL};
    const struct how bare = {.bare = true};
    char other[256];
    assert_int_equal(0, mkdir("other", 0700));
    assert_non_null(realpath("other", other));
    (void)setenv("TOOLRACK_PLUGIN_PATH", e2e_plugins(), 1);
    struct serving serving =
            serving_start_bare(ARGS("--state", "state", "--listen", "127.0.0.1:0"));
    EXPECT(RUN_WITH(HOW(.bare = true), "--state", "state", "call", "add", "{\"a\":1,\"b\":2}"), 0,
           "3.0\n", "");
    EXPECT_JSON(run_how(&bare, list), 0, "/0/state", "\"loaded\"");
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        const char *was = getenv(variables[i]);
        char *before = strdup(was != NULL ? was : "");
        (void)setenv(variables[i], other, 1);
        struct run run = run_how(&bare, list);
        if (is_relayed(&run)) {
            fail_msg("%s: %s%s", variables[i], run.out, run.err);
        }
        run_finish(&run);
        (void)setenv(variables[i], before, 1);
        free(before);
    }
    EXPECT_JSON(run_how(&bare, list), 0, "/0/state", "\"loaded\"");
    (void)setenv("TOOLRACK_PLUGIN_PATH", "", 1);
    assert_int_equal(0, serving_end(&serving, SIGTERM));
}

/* Reloaded in a host of the command, it would be as before in the daemon. */
static void a_file_is_reloaded_in_the_daemon(void **state) {
    (void)state;
    char file[256];
    char again[300];
    (void)snprintf(file, sizeof file, "%s/kit.so", e2e_plugins());
    assert_int_equal(0, mkdir("p", 0700));
    e2e_copy(file, "p/kit.so", 0);
    struct serving serving = serving_start_bare(
            ARGS("--config", "", "--state", "state", "--plugins", "p", "--listen", "127.0.0.1:0"));
    const char *const reload[] = {"--config", "", "--state", "state", "reload", NULL, NULL};
    const char *const paths[] = {"p/kit.so", "./p/kit.so", "p/../p/kit.so", "kit.so"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        const char *args[sizeof reload / sizeof reload[0]];
        memcpy(args, reload, sizeof reload);
        args[5] = paths[i];
        (void)snprintf(again, sizeof again, "*/p/kit.so: reloaded, kit, generation %zu*", i + 2);
        EXPECT(run_how(&(struct how){.bare = true}, args), 0, again, "");
        args[4] = "why";
        EXPECT(run_how(&(struct how){.bare = true}, args), 0, "*", "");
    }
    assert_int_equal(0, serving_end(&serving, SIGTERM));
}

/* ----------------------------------------------------------------- a pipe */

#define INITIALIZE                                                                             \
    "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":" \
    "\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}\n"
#define CALL(name, arguments)                                                                    \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"" name "\"," \
    "\"arguments\":" arguments "}}\n"

static void a_pipe_of_mcp_is_served_alike(void **state) {
    (void)state;
    static const char *const inputs[] = {
            INITIALIZE CALL("add", "{\"a\":1,\"b\":2}"),
            INITIALIZE CALL("fails", "{}"),
            INITIALIZE "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\n",
            "{\n",
            "",
    };
    struct serving serving = start();
    for (size_t i = 0; i < sizeof inputs / sizeof inputs[0]; i++) {
        const struct how how = {.input = inputs[i]};
        struct run with = run_how(&how, ARGS("mcp"));
        struct run without = run_how(&how, ARGS("mcp", "--no-daemon"));
        assert_string_equal(with.out, without.out);
        assert_string_equal(with.err, without.err);
        assert_int_equal(with.exit, without.exit);
        run_finish(&with);
        run_finish(&without);
    }
    EXPECT_JSON(RUN("list", "add", "--json"), 0, "/0/state", "\"loaded\"");
    EXPECT(RUN("mcp", "--profile", "nobody"), 2, "", "*nobody*");
    assert_int_equal(0, serving_end(&serving, SIGTERM));
}

#define PIPE_OUT "pipe.out"
#define PIPE_ERR "pipe.err"

static int create(const char *path) {
    return open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
}

/* A client that keeps its side open; `ret_in` is the end that it writes to. */
static pid_t begin_pipe(int *ret_in) {
    int in[2];
    assert_int_equal(0, pipe2(in, O_CLOEXEC));
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)dup2(in[0], STDIN_FILENO);
        (void)dup2(create(PIPE_OUT), STDOUT_FILENO);
        (void)dup2(create(PIPE_ERR), STDERR_FILENO);
        (void)execl(getenv("E2E_TOOLRACK"), "toolrack", "--config", "", "--state", "state", "mcp",
                    (char *)NULL);
        _exit(127);
    }
    (void)close(in[0]);
    *ret_in = in[1];
    return pid;
}

static bool runs(const char *calls);

static void a_pipe_of_mcp_ends_as_it_should(void **state) {
    (void)state;
    static const char slow[] = INITIALIZE CALL("slow", "{}");
    int status = 0;
    int in = -1;
    struct serving serving = start();
    /* By a signal, which cancels the call, and when the command is killed. */
    const int ends[] = {SIGTERM, SIGINT, SIGKILL};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        pid_t pid = begin_pipe(&in);
        assert_int_equal(sizeof slow - 1, write(in, slow, sizeof slow - 1));
        AWAIT(runs("1"));
        assert_int_equal(0, kill(pid, ends[i]));
        assert_int_equal(pid, patience_child(pid, &status));
        assert_true(ends[i] == SIGKILL ? WIFSIGNALED(status)
                                       : WIFEXITED(status) && WEXITSTATUS(status) == 0);
        AWAIT(runs("0"));
        (void)close(in);
    }
    assert_int_equal(0, serving_end(&serving, SIGTERM));
}

/* Whether the file has this text by now. */
static bool has(const char *path, const char *text) {
    char content[16384];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, content, sizeof content - 1) : 0;
    (void)close(fd);
    content[got > 0 ? got : 0] = '\0';
    return strstr(content, text) != NULL;
}

static void a_daemon_that_ends_answers_its_pipes(void **state) {
    (void)state;
    static const char asks[] =
            "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
            "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"elicitation\":{}},"
            "\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}\n" CALL("asks", "{}");
    char pattern[128];
    int status = 0;
    int in = -1;
    struct serving serving = start();
    pid_t pid = begin_pipe(&in);
    assert_int_equal(sizeof asks - 1, write(in, asks, sizeof asks - 1));
    AWAIT(has(PIPE_OUT, "elicitation/create"));
    assert_int_equal(0, serving_end(&serving, SIGTERM));
    assert_int_equal(pid, patience_child(pid, &status));
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    assert_true(has(PIPE_OUT, "\"id\":1,\"result\":"));
    (void)snprintf(pattern, sizeof pattern,
                   "toolrack: InputOutput: the daemon, process %d, is ending, so ",
                   (int)serving.pid);
    assert_true(has(PIPE_ERR, pattern));
    (void)close(in);
    /* What is cancelled by a second signal is no reason to say nothing: neither to the client, who
     * would wait for its answer, nor at the end. */
    serving = start();
    pid = begin_pipe(&in);
    static const char slow[] = INITIALIZE CALL("slow", "{}");
    assert_int_equal(sizeof slow - 1, write(in, slow, sizeof slow - 1));
    AWAIT(runs("1"));
    assert_int_equal(0, kill(serving.pid, SIGTERM));
    AWAIT(access(COMMANDS, F_OK) != 0);
    assert_int_equal(0, serving_end(&serving, SIGTERM));
    assert_int_equal(pid, patience_child(pid, &status));
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    assert_true(has(PIPE_OUT, "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32603,"
                              "\"message\":\"the server ended before it answered the request, "));
    assert_true(has(PIPE_ERR, ", is ending, so "));
    (void)close(in);
}

/* ------------------------------------------------------------- who goes away */

static pid_t begin(const char *tool, const char *timeout_ms) {
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
        (void)dup2(nowhere, STDOUT_FILENO);
        (void)dup2(nowhere, STDERR_FILENO);
        (void)execl(getenv("E2E_TOOLRACK"), "toolrack", "--config", "", "--state", "state", "call",
                    tool, "--timeout", timeout_ms, (char *)NULL);
        _exit(127);
    }
    return pid;
}

static bool runs(const char *calls) {
    struct run run = RUN("status", "--json");
    char member[32];
    (void)snprintf(member, sizeof member, "\"running\":%s}", calls);
    bool found = run.exit == 0 && strstr(run.out, member) != NULL;
    run_finish(&run);
    return found;
}

static void ctrl_c_cancels_the_call(void **state) {
    (void)state;
    int status = 0;
    struct serving serving = start();
    pid_t pid = begin("slow", "60000");
    AWAIT(runs("1"));
    assert_int_equal(0, kill(pid, SIGINT));
    assert_int_equal(pid, patience_child(pid, &status));
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
    AWAIT(runs("0"));
    EXPECT_JSON(RUN("log", "--json", "--tool", "slow"), 0, "/0/error/type", "\"Cancelled\"");
    struct run run =
            RUN_WITH(HOW(.typed = "", .wait_for = "[text]: ", .send = SIGINT), "call", "asks");
    assert_int_equal(run.signal, SIGINT);
    run_finish(&run);
    AWAIT(runs("0"));
    assert_int_equal(0, serving_end(&serving, SIGTERM));
}

static void a_command_that_is_killed_wants_no_result(void **state) {
    (void)state;
    int status = 0;
    struct serving serving = start();
    pid_t pid = begin("slow", "60000");
    AWAIT(runs("1"));
    assert_int_equal(0, kill(pid, SIGKILL));
    assert_int_equal(pid, patience_child(pid, &status));
    AWAIT(runs("0"));
    assert_int_equal(0, serving_end(&serving, SIGTERM));
}

static void a_daemon_that_ends_lets_commands_end(void **state) {
    (void)state;
    int status = 0;
    struct serving serving = start();
    pid_t pid = begin("stubborn", "60000"); /* three seconds */
    AWAIT(runs("1"));
    assert_int_equal(0, serving_end(&serving, SIGTERM));
    assert_int_equal(pid, patience_child(pid, &status));
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    EXPECT(RUN("call", "add", "{\"a\":1,\"b\":2}"), 0, "3.0\n", "");
}

static void a_daemon_in_a_hurry_cancels_commands(void **state) {
    (void)state;
    int status = 0;
    struct serving serving = start();
    pid_t pid = begin("slow", "60000");
    AWAIT(runs("1"));
    assert_int_equal(0, kill(serving.pid, SIGTERM));
    AWAIT(access(COMMANDS, F_OK) != 0); /* it waits for the command */
    assert_int_equal(0, waitpid(pid, &status, WNOHANG));
    EXPECT(RUN("serve", "--listen", "127.0.0.1:0"), 1, "",
           "toolrack: AlreadyExists: the daemon of the state folder */state, process *, is "
           "starting or ending; try again in a moment, or use --no-daemon\n");
    assert_int_equal(0, serving_end(&serving, SIGTERM));
    assert_int_equal(pid, patience_child(pid, &status));
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    EXPECT_JSON(RUN("log", "--json", "--tool", "slow"), 0, "/0/error/type", "\"Cancelled\"");
}

static void a_daemon_that_is_killed_is_told(void **state) {
    (void)state;
    int status = 0;
    struct serving serving = start();
    pid_t pid = begin("slow", "60000");
    AWAIT(runs("1"));
    assert_int_equal(-1, serving_end(&serving, SIGKILL));
    assert_int_equal(pid, patience_child(pid, &status));
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    EXPECT(RUN("list", "add", "--json"), 0, "*\"listed\"*", "");
}

/* Begin a command whose output, both kinds, is in the file `to`. */
static pid_t begin_into(const char *to, const char *const *args) {
    const char *line[12] = {"toolrack", "--config",  "",           "--state",
                            "state",    "--plugins", e2e_plugins()};
    for (size_t i = 0; args[i] != NULL; i++) {
        line[7 + i] = args[i];
    }
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        (void)dup2(out, STDOUT_FILENO);
        (void)dup2(out, STDERR_FILENO);
        (void)execv(getenv("E2E_TOOLRACK"), (char **)(uintptr_t)line);
        _exit(127);
    }
    return pid;
}

static void expect_end(pid_t pid, int exit, const char *path, const char *pattern) {
    int status = 0;
    char text[8192] = "";
    assert_int_equal(pid, patience_child(pid, &status));
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0 && read(fd, text, sizeof text - 1) >= 0);
    (void)close(fd);
    EXPECT_MATCH(text, pattern);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == exit);
}

/* A daemon that is stopped holds no command; what was said not to be run is not run later. */
static void a_daemon_that_stands_still_is_told(void **state) {
    (void)state;
    struct serving serving = start();
    assert_int_equal(0, kill(serving.pid, SIGSTOP));
    pid_t status = begin_into("status", ARGS("status"));
    pid_t json = begin_into("json", ARGS("status", "--json", "--no-daemon"));
    pid_t list = begin_into("list", ARGS("list", "add", "--json"));
    pid_t disable = begin_into("disable", ARGS("disable", "add"));
    EXPECT(RUN("call", "slow", "--timeout", "10"), 6, "",
           "toolrack: Timeout: the daemon, process *, has not answered for 1 s, so the command was "
           "not run; if it is stopped, let it go on (kill -CONT *), else end it and start it "
           "again; "
           "--no-daemon lets the command work by itself\n");
    EXPECT(RUN("call", "add", "{\"a\":1,\"b\":2}", "--no-daemon"), 0, "3.0\n", "");
    expect_end(status, 0, "status",
               "toolrack: the daemon, process *, has not answered for 5 s; the command works by "
               "itself, as with --no-daemon\ndaemon       process *\n             does not answer; "
               "*\nversion *");
    expect_end(json, 0, "json", "*\"answers\":false,*");
    expect_end(list, 0, "list",
               "toolrack: the daemon, process *, has not answered for 5 s; *\"listed\"*");
    expect_end(disable, 1, "disable",
               "toolrack: InputOutput: the daemon, process *, has not answered for 5 s, so the "
               "command was not run; *");
    assert_int_equal(0, kill(serving.pid, SIGCONT));
    EXPECT_JSON(RUN("status", "--json"), 0, "/daemon/answers", "true");
    EXPECT_JSON(RUN("show", "add", "--json"), 0, "/enabled", "true");
    EXPECT_JSON(RUN("log", "--json", "--tool", "slow"), 0, "/0", "");
    if (test_rounds(1, 0) > 0) { /* it takes ten seconds until a daemon is given up that began */
        pid_t call = begin_into("call", ARGS("call", "slow", "--timeout", "60000"));
        AWAIT(runs("1"));
        assert_int_equal(0, kill(serving.pid, SIGSTOP));
        expect_end(call, 1, "call",
                   "*the daemon, process *, has not answered for 5 s, after it began the command, "
                   "which may have taken effect; *");
        assert_int_equal(0, kill(serving.pid, SIGCONT));
        AWAIT(runs("0"));
    }
    assert_int_equal(0, serving_end(&serving, SIGTERM));
}

/* Each decision that was said to be made is in effect after the daemon was killed at any moment,
 * and each command says how it ended. */
static void no_decision_is_lost_with_the_daemon(void **state) {
    (void)state;
    unsigned rounds = test_rounds(100, 4);
    for (unsigned i = 0; i < rounds; i++) {
        struct serving serving = start();
        pid_t killer = fork();
        assert_true(killer >= 0);
        if (killer == 0) {
            (void)usleep(i * 37 % 40 * 1000);
            (void)kill(serving.pid, SIGKILL);
            _exit(0);
        }
        const char *wanted = NULL; /* what was decided last; NULL: that is not known */
        for (unsigned n = 0; n < 8; n++) {
            struct run run = RUN(n % 2 == 0 ? "disable" : "enable", "add");
            if (run.exit != 0) {
                assert_int_equal(1, run.exit);
                EXPECT_MATCH(run.err,
                             "*the daemon, process *, ended before the command did; a call "
                             "that still ran is in no log, and may have taken effect; the "
                             "calls that had ended: toolrack *log; the decisions: "
                             "toolrack *decisions\n");
            }
            wanted = run.exit != 0 ? NULL : n % 2 == 0 ? "false" : "true";
            run_finish(&run);
        }
        int status = 0;
        assert_int_equal(killer, patience_child(killer, &status));
        (void)serving_end(&serving, SIGKILL);
        if (wanted != NULL) {
            EXPECT_JSON(RUN("show", "add", "--json"), 0, "/enabled", wanted);
        }
    }
}

static void a_toggle_is_seen_everywhere(void **state) {
    (void)state;
    struct serving serving = start();
    struct serving app = serving_start(ARGS("--listen", "127.0.0.1:0", "--no-daemon"));
    static const char *const toggles[] = {"disable", "enable"};
    for (int i = 0; i < 4; i++) {
        /* By a command of the daemon, and by one of its own; seen by both hosts and by commands. */
        bool alone = i >= 2;
        EXPECT(RUN(toggles[i % 2], "add", alone ? "--no-daemon" : "--color=never"), 0,
               alone ? "*; 2 running hosts apply it\n" : "*; 1 running host applies it\n", "");
        const struct serving *servers[] = {&serving, &app};
        for (int n = 0; n < 2; n++) {
            struct client_left left = {0};
            int fd = client_connect(serving_port(servers[n]));
            assert_true(client_request(fd, "GET", "/api/tools/add", "", NULL));
            struct client_response response = client_read(fd, &left);
            assert_non_null(
                    strstr(response.body, i % 2 == 0 ? "\"enabled\":false" : "\"enabled\":true"));
            client_response_finish(&response);
            client_left_finish(&left);
            (void)close(fd);
        }
        EXPECT(RUN("call", "add", "{\"a\":1,\"b\":2}"), i % 2 == 0 ? 5 : 0, NULL, NULL);
    }
    assert_int_equal(0, serving_end(&app, SIGTERM));
    assert_int_equal(0, serving_end(&serving, SIGTERM));
}

/* --------------------------------------------------------- what is not served */

/* What the daemon answers: the kind of the message, with its text; 0: it closes. */
static uint32_t answer_of(int fd, char *text, size_t room) {
    struct {
        uint32_t kind;
        uint32_t length;
    } head = {0};
    assert_true(fd >= 0);
    size_t have = 0;
    text[0] = '\0';
    while (have < sizeof head) {
        ssize_t got = patience_read(fd, (char *)&head + have, sizeof head - have);
        if (got <= 0) {
            return 0;
        }
        have += (size_t)got;
    }
    have = 0;
    while (have < head.length && have + 1 < room) {
        ssize_t got = patience_read(fd, text + have, head.length - have);
        assert_true(got > 0);
        have += (size_t)got;
    }
    text[have] = '\0';
    return head.kind;
}

static void expect_refused(const void *bytes, size_t length, const char *pattern) {
    char text[256];
    int fd = client_connect_path(COMMANDS);
    assert_true(client_send(fd, bytes, length));
    (void)shutdown(fd, SHUT_WR);
    assert_int_equal(ALONE_MESSAGE, answer_of(fd, text, sizeof text));
    EXPECT_MATCH(text, pattern);
    (void)close(fd);
}

static void messages_that_are_none_are_refused(void **state) {
    (void)state;
    static const char http[] = "GET /api/tools HTTP/1.1\r\nHost: localhost\r\n\r\n";
    struct {
        uint32_t kind;
        uint32_t length;
        uint32_t protocol;
        uint32_t facts[5];
        char texts[16];
    } run = {.kind = RUN_MESSAGE, .length = 24 + 16, .protocol = PROTOCOL};
    struct serving serving = start();
    expect_refused(http, sizeof http - 1, "the daemon does not understand the command");
    expect_refused("\1\0\0\0", 4, "the daemon does not understand the command");
    expect_refused(&run, sizeof run, "the daemon does not understand the command"); /* no words */
    run.facts[3] = 1000;
    expect_refused(&run, sizeof run, "the daemon does not understand the command");
    run.facts[3] = 1;
    memcpy(run.texts, "9.9.9\0toolracks", 16);
    expect_refused(&run, sizeof run, "the daemon is of another version");
    expect_refused(&run, sizeof run - 5, "the daemon does not understand the command");
    run.length = UINT32_MAX;
    expect_refused(&run, sizeof run, "the daemon does not understand the command");
    run.length = 24 + 16;
    run.protocol = PROTOCOL + 1;
    expect_refused(&run, sizeof run, "the daemon is of another version");
    int fd = client_connect_path(COMMANDS); /* one that says nothing delays nobody */
    EXPECT(RUN("call", "add", "{\"a\":1,\"b\":2}"), 0, "3.0\n", "");
    (void)close(fd);
    assert_int_equal(0, serving_end(&serving, SIGTERM));
}

/* What the daemon says to a process that changed itself so. */
static void expect_unwelcome(void (*change)(void), const char *pattern) {
    int ends[2];
    char text[256] = "";
    assert_int_equal(0, pipe(ends));
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        change();
        int fd = client_connect_path(COMMANDS);
        uint32_t kind = fd >= 0 ? answer_of(fd, text, sizeof text) : 0;
        (void)!write(ends[1], text, strlen(text) + 1);
        _exit(kind == ALONE_MESSAGE ? 0 : 1);
    }
    (void)close(ends[1]);
    int status = -1;
    assert_true(patience_read(ends[0], text, sizeof text - 1) > 0);
    assert_int_equal(pid, patience_child(pid, &status));
    assert_int_equal(0, status);
    EXPECT_MATCH(text, pattern);
    (void)close(ends[0]);
}

static void be_somebody_else(void) {
    if (setgid(NOBODY) != 0 || setuid(NOBODY) != 0) {
        _exit(2);
    }
}

/* As a worker and all that it starts. */
static void be_confined(void) {
    struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    const struct sock_fprog filter = {.len = 1, .filter = &allow};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
        _exit(2);
    }
}

static void others_are_not_served(void **state) {
    (void)state;
    struct serving serving = start();
    expect_unwelcome(be_confined,
                     "the process at the other end of the socket is confined as plugins are");
    if (geteuid() == 0) { /* who else cannot become another user */
        char here[256];
        assert_non_null(getcwd(here, sizeof here));
        assert_int_equal(0, chmod(here, 0755) | chmod("state", 0755) | chmod(COMMANDS, 0666));
        expect_unwelcome(be_somebody_else, "the daemon belongs to another user");
    }
    assert_int_equal(0, serving_end(&serving, SIGTERM));
    assert_int_equal(-1, access(COMMANDS, F_OK));
}

/* ------------------------------------------------------ who is no daemon */

static void expect_own_host(const char *note) {
    EXPECT(RUN("list", "add", "--json"), 0, "*\"listed\"*", note);
}

/* Listen as another user at open/it, and say at `ready` that it does.
 * @return the process; it exits with 0 if a client came and sent nothing */
static pid_t begin_stranger(int *ret_ready) {
    int ends[2];
    assert_int_equal(0, pipe2(ends, O_CLOEXEC));
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "open/it"};
        char byte;
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        be_somebody_else();
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (bind(fd, (const struct sockaddr *)&address, sizeof address) != 0 ||
            listen(fd, 1) != 0 || write(ends[1], "", 1) != 1) {
            _exit(3);
        }
        int client = accept(fd, NULL, NULL);
        _exit(client >= 0 && read(client, &byte, 1) == 0 ? 0 : 4);
    }
    (void)close(ends[1]);
    *ret_ready = ends[0];
    return pid;
}

static void a_stranger_in_its_place_hears_nothing(void) {
    char here[256];
    char byte;
    int ready = -1;
    int status = -1;
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(0, chmod(here, 0755) | mkdir("open", 0700) | chmod("open", 0777));
    pid_t stranger = begin_stranger(&ready);
    assert_int_equal(1, patience_read(ready, &byte, 1));
    (void)close(ready);
    assert_int_equal(0, rename(COMMANDS, "aside") | rename("open/it", COMMANDS));
    expect_own_host("toolrack: */commands.sock, where the daemon takes commands, belongs to user "
                    "65534; restart the daemon; the command works by itself\n");
    assert_int_equal(0, chown(COMMANDS, 0, 0));
    expect_own_host("toolrack: user 65534, not the daemon, listens at */commands.sock; the command "
                    "works by itself\n");
    assert_int_equal(stranger, patience_child(stranger, &status));
    assert_int_equal(0, status);
    assert_int_equal(0, rename("aside", COMMANDS));
}

static void a_place_of_others_gets_no_command(void **state) {
    (void)state;
    struct serving serving = start();
    EXPECT(RUN("call", "add", "{\"a\":1,\"b\":2}"), 0, "3.0\n", "");
    assert_int_equal(0, chmod("state", 0702));
    expect_own_host("toolrack: */state, the folder of the sockets, may be written by others (mode "
                    "0702); *; the command works by itself\n*");
    assert_int_equal(0, chmod("state", 0700) | rename(COMMANDS, "aside"));
    expect_own_host("");
    e2e_write(COMMANDS, "");
    expect_own_host("toolrack: */commands.sock, where the daemon takes commands, is no socket; "
                    "restart the daemon; the command works by itself\n");
    assert_int_equal(0, rename("aside", COMMANDS));
    if (geteuid() == 0) { /* who else can give nothing away */
        /* Its own host does not use the folder either, and says so. */
        assert_int_equal(0, chown("state", NOBODY, NOBODY));
        expect_own_host("toolrack: */state, the folder of the sockets, belongs to user 65534; *; "
                        "the command works by itself\n*");
        assert_int_equal(0, chown("state", 0, 0));
        a_stranger_in_its_place_hears_nothing();
    }
    EXPECT_JSON(RUN("list", "add", "--json"), 0, "/0/state", "\"loaded\"");
    assert_int_equal(0, serving_end(&serving, SIGTERM));
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define CASE(function) cmocka_unit_test_setup_teardown(function, e2e_setup, e2e_teardown)
            CASE(each_verb_says_the_same),
            CASE(problems_are_told_alike),
            CASE(a_command_with_a_host_of_its_own_works_by_itself),
            CASE(a_command_with_other_places_works_by_itself),
            CASE(a_file_is_reloaded_in_the_daemon),
            CASE(a_pipe_of_mcp_is_served_alike),
            CASE(a_pipe_of_mcp_ends_as_it_should),
            CASE(a_daemon_that_ends_answers_its_pipes),
            CASE(ctrl_c_cancels_the_call),
            CASE(a_command_that_is_killed_wants_no_result),
            CASE(a_daemon_that_ends_lets_commands_end),
            CASE(a_daemon_in_a_hurry_cancels_commands),
            CASE(a_daemon_that_is_killed_is_told),
            CASE(a_daemon_that_stands_still_is_told),
            CASE(no_decision_is_lost_with_the_daemon),
            CASE(a_toggle_is_seen_everywhere),
            CASE(messages_that_are_none_are_refused),
            CASE(others_are_not_served),
            CASE(a_place_of_others_gets_no_command),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
