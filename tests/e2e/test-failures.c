/* What an error says, and whose word it is: the host's or the tool's. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "e2e.h"

#define WITH(...) \
    RUN_WITH({.bare = true}, "--config", "toolrack.json", "--state", "state", __VA_ARGS__)

static void install(const char *name, const char *as) {
    char from[512];
    char to[128];
    (void)snprintf(from, sizeof from, "%s/%s.so", getenv("E2E_BUILDS"), name);
    (void)snprintf(to, sizeof to, "tools/%s.so", as);
    (void)mkdir("tools", 0755);
    e2e_copy(from, to, 0);
}

static void configure(const char *isolation) {
    char text[256];
    (void)snprintf(text, sizeof text, "{\"folders\": [\"tools\"], \"isolation\": \"%s\"}",
                   isolation);
    e2e_write("toolrack.json", text);
}

static const char *const isolations[] = {"process", "none"};
#define EACH_ISOLATION(i) \
    for (size_t i = 0;    \
         i < sizeof isolations / sizeof isolations[0] && (configure(isolations[i]), true); i++)

static void a_tool_cannot_speak_for_the_host(void **state) {
    (void)state;
    install("says", "says");
    EACH_ISOLATION(i) {
        EXPECT(WITH("call", "denied"), 7, "",
               "toolrack: ExecutionFailed: the tool says PermissionDenied: run 'toolrack grant "
               "denied' first*");
        EXPECT_JSON(WITH("call", "denied", "--json"), 7, "/error/type", "\"ExecutionFailed\"",
                    "/error/from", "\"tool\"", "/error/tool_code", "\"PermissionDenied\"");
        EXPECT_JSON(WITH("call", "late", "--json"), 7, "/error/type", "\"ExecutionFailed\"",
                    "/error/from", "\"tool\"", "/error/tool_code", "\"Timeout\"");
        EXPECT_JSON(WITH("call", "stopped", "--json"), 7, "/error/type", "\"ExecutionFailed\"",
                    "/error/from", "\"tool\"", "/error/tool_code", "\"Cancelled\"");
        EXPECT_JSON(WITH("call", "wrong", "--json"), 4, "/error/type", "\"InvalidArguments\"",
                    "/error/field", "\"/town\"", "/error/from", "\"tool\"", "/error/tool_code", "");
        /* The host's own errors are the host's. */
        EXPECT_JSON(WITH("call", "typed", "--arg", "a=x", "--json"), 4, "/error/type",
                    "\"InvalidArguments\"", "/error/from", "");
    }
}

static void the_trace_of_a_failure_is_its_place(void **state) {
    (void)state;
    install("says", "says");
    EACH_ISOLATION(i) {
        EXPECT_JSON(WITH("call", "denied", "--json"), 7, "/error/trace/0", "\"says.c:12\"",
                    "/error/trace/1", "");
        EXPECT_JSON(WITH("call", "typed", "--arg", "a=1", "--json"), 7, "/error/trace/0",
                    "\"says.c:38\"", "/error/message", "\"not 1\"");
        EXPECT_JSON(WITH("call", "placeless", "--json"), 7, "/error/trace", "", "/error/from",
                    "\"tool\"");
    }
}

static void a_log_line_of_a_plugin_is_one_line_with_its_id(void **state) {
    (void)state;
    install("says", "says");
    EACH_ISOLATION(i) {
        EXPECT(WITH("call", "logs"), 0, NULL,
               "toolrack: error: says: one error: permission: 'wipe' is granted \\u202e\\u009b\n");
    }
}

static void a_timeout_says_how_long_and_where(void **state) {
    (void)state;
    install("says", "says");
    configure("process");
    EXPECT(WITH("call", "hangs", "--timeout", "300"), 6, "",
           "*Timeout: Tool 'hangs' did not finish within its deadline of 300 ms*");
    EXPECT_JSON(WITH("call", "hangs", "--timeout", "300", "--json"), 6, "/error/message",
                "\"Tool 'hangs' did not finish within its deadline of 300 ms\"", "/error/trace/0",
                "\"#* stand_here+*(says.so)\"");
    EXPECT_JSON(WITH("call", "spins", "--timeout", "300", "--json"), 6, "/error/trace/0",
                "\"#0 *spins+*(says.so)\"");
    configure("none");
    EXPECT(WITH("call", "hangs", "--timeout", "300"), 6, "", "*deadline of 300 ms*");
}

static void its_worker_ends_with_the_call(void **state) {
    (void)state;
    install("says", "says");
    configure("process");
    EXPECT(WITH("call", "hangs", "--timeout", "300"), 6, "",
           "*a worker of plugin 'says' was ended, because 'hangs' went on for more than 250 ms "
           "after its deadline\n*");
}

/* The command closes its host as soon as the call has ended: the tool has its time all the same. */
static void a_tool_has_time_to_end(void **state) {
    (void)state;
    install("says", "says");
    configure("process");
    struct run run =
            RUN_WITH(HOW(.bare = true, .wait_for = "under way", .send = SIGINT), "--config",
                     "toolrack.json", "--state", "state", "call", "listens", "--verbose");
    assert_int_equal(run.signal, SIGINT);
    EXPECT_MATCH(run.err, "*toolrack: Cancelled: the call of 'listens' was cancelled\n*");
    assert_null(strstr(run.err, "a worker of plugin"));
    run_finish(&run);
    run = WITH("call", "listens", "--timeout", "300");
    assert_null(strstr(run.err, "a worker of plugin"));
    EXPECT(run, 6, "", "*deadline of 300 ms*");
}

/* No tool fails because no worker can be started. */
static void a_missing_worker_program_is_no_failure_of_a_tool(void **state) {
    (void)state;
    char *worker = strdup(getenv("TOOLRACK_WORKER"));
    install("wants", "wants"); /* what it may not do is not why */
    configure("process");
    (void)setenv("TOOLRACK_WORKER", "/nowhere/toolrack-worker", 1);
    for (int i = 0; i < 6; i++) {
        EXPECT_JSON(WITH("call", "give_up", "--json"), 7, "/error/message",
                    "\"cannot start the worker program /nowhere/toolrack-worker: No such file or "
                    "directory; install toolrack's worker program there, or name it in "
                    "TOOLRACK_WORKER\"",
                    "/error/is_recoverable", "false");
    }
    char others[600]; /* nor because what is there may be anybody's */
    e2e_copy(worker, "worker", 0);
    assert_int_equal(0, chmod("worker", 0757));
    char *folder = getcwd(NULL, 0);
    (void)snprintf(others, sizeof others, "%s/worker", folder);
    free(folder);
    (void)setenv("TOOLRACK_WORKER", others, 1);
    EXPECT_JSON(WITH("call", "give_up", "--json"), 7, "/error/message",
                "\"the worker program */worker is not started: others may write to */worker (mode "
                "0757); chmod go-w it\"",
                "/error/is_recoverable", "false");
    (void)setenv("TOOLRACK_WORKER", worker, 1);
    free(worker);
    EXPECT_JSON(WITH("blacklist", "list", "--json"), 0, "", "[]");
    EXPECT_JSON(WITH("recommend", "--json"), 0, "/0/factors/success/value", "0.2",
                "/1/factors/success/value", "0.2");
    EXPECT_JSON(WITH("statistics", "give_up", "--json"), 0, "/0/failures", "7", "/0/hindered", "7");
    EXPECT(WITH("statistics", "give_up"), 0, "*7, which failed before the tool ran*", "");
}

/* A crash names the plugin's own function first, in its message and in the backtrace. */
static void a_trap_is_not_a_missing_instruction(void **state) {
    (void)state;
    install("says", "says");
    configure("process");
    EXPECT(WITH("call", "traps"), 7, "",
           "*ExecutionFailed: plugin 'says' crashed: SIGILL: a trap: *, in traps+*(says.so)*");
}

/* A stored crash has an id, which may be shortened. */
static void one_crash_is_shown(void **state) {
    (void)state;
    install("says", "says");
    configure("process");
    EXPECT(WITH("call", "traps"), 7, "", NULL);
    EXPECT(WITH("call", "aborts"), 7, "", NULL);
    EXPECT(WITH("why", "says"), 0, "*\ncrash 2 of *SIGABRT*\ncrash 1 of *SIGILL*", NULL);
    /* Its reason is told once: the history names the crash. */
    struct run run = WITH("why", "says");
    EXPECT_MATCH(run.out, "*\nhistory\n* crash 1\n*");
    const char *told = strstr(run.out, "SIGILL: a trap");
    assert_non_null(told);
    assert_null(strstr(told + 1, "SIGILL: a trap"));
    run_finish(&run);
    EXPECT(WITH("why", "says", "--crash", "1"), 0, "crash 1 of *\ntool         traps\n*", NULL);
    EXPECT_JSON(WITH("why", "says", "--crash", "2", "--json"), 0, "/id", "2", "/tool",
                "\"aborts\"");
    EXPECT(WITH("why", "says", "--crash", "3"), 3, "",
           "*toolrack: NotFound: says has no stored crash 3\n");
}

/* With a sanitizer by clang qsort() is in the worker program. */
static void frames_of_the_system_are_folded(void **state) {
    (void)state;
    install("says", "says");
    configure("process");
    EXPECT(WITH("call", "aborts"), 7, "",
           "*SIGABRT: abort() was called, *, in compare+*(says.so), called from aborts+*");
    EXPECT_JSON(WITH("call", "aborts", "--json"), 7, "/error/trace/0", "\"#* compare+*(says.so)\"",
                "/error/trace/1", "\"    ... * of libc.so*, in *abort\"", "/error/trace/2",
                "\"    ... * of *, in *qsort*\"", "/error/trace/3", "\"#* aborts+*(says.so)\"",
                "/error/trace/4", "\"    ... * of *\"", "/error/trace/5", "");
}

static void an_exception_has_its_type_and_what(void **state) {
    (void)state;
    install("cxx/throws", "throws");
    configure("process");
    EXPECT(WITH("call", "throws"), 7, "",
           "*plugin 'throws' crashed: SIGABRT: an exception left the tool: std::runtime_error: the "
           "bridge is out, in *throws*(throws.so)*");
    EXPECT(WITH("call", "throws", "--arg", "number=true"), 7, "",
           "*SIGABRT: an exception left the tool: int, in *throws*(throws.so)*");
}

/* The plugin with another name in place of that of the C library, of the same length. */
static void install_without_library(void) {
    char path[512];
    static char bytes[1 << 20];
    (void)snprintf(path, sizeof path, "%s/says.so", getenv("E2E_BUILDS"));
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    size_t length = fread(bytes, 1, sizeof bytes, file);
    (void)fclose(file);
    size_t changed = 0;
    for (size_t at = 0; at + sizeof "libc.so.6" <= length; at++) {
        if (memcmp(bytes + at, "libc.so.6", sizeof "libc.so.6") == 0) {
            bytes[at + sizeof "libc.so.6" - 2] = '9';
            changed++;
        }
    }
    assert_true(changed > 0);
    (void)mkdir("tools", 0755);
    file = fopen("tools/lacks.so", "we");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

static void check_finds_a_missing_library(void **state) {
    (void)state;
    install_without_library();
    configure("process");
    EXPECT(RUN_WITH({.bare = true}, "check", "tools/lacks.so"), 1,
           "*tools/lacks.so needs libc.so.9, which is not installed*", NULL);
    EXPECT(WITH("call", "wrong"), 7, "",
           "*cannot load plugin 'says' from */tools/lacks.so: libc.so.9: *");
    configure("none");
    EXPECT(WITH("call", "wrong"), 7, "",
           "*cannot load plugin 'says' from */tools/lacks.so: libc.so.9: *");
    install("says", "says");
    EXPECT(RUN_WITH({.bare = true}, "check", "tools/says.so"), 0, NULL, NULL);
}

static void install_of_zoo(const char *name) {
    char from[512];
    char to[128];
    (void)snprintf(from, sizeof from, "%s/%s.so", getenv("E2E_ZOO"), name);
    (void)snprintf(to, sizeof to, "tools/%s.so", name);
    (void)mkdir("tools", 0755);
    e2e_copy(from, to, 0);
}

/* Weak symbols, such as __gmon_start__, are in each of these files and nowhere defined. */
static void check_finds_an_undefined_symbol(void **state) {
    (void)state;
    configure("process");
    install_of_zoo("zoo_undefined_symbol");
    EXPECT(RUN_WITH({.bare = true}, "check", "tools/zoo_undefined_symbol.so"), 1,
           "*elf-undefined: tools/zoo_undefined_symbol.so uses the symbol "
           "toolrack_nowhere_to_be_found, which neither it nor a library that it needs defines*",
           NULL);
    struct run run = RUN_WITH({.bare = true}, "check", "tools/zoo_undefined_symbol.so");
    assert_null(strstr(run.out, "__gmon_start__"));
    assert_null(strstr(strstr(run.out, "elf-undefined") + 1, "elf-undefined"));
    run_finish(&run);
    EXPECT(WITH("call", "zoo_undefined_symbol"), 7, "", /* once, not in the log besides */
           "toolrack: ExecutionFailed: cannot load plugin * from */tools/zoo_undefined_symbol.so: "
           "undefined symbol: "
           "toolrack_nowhere_to_be_found*");
    /* The same call cannot succeed before somebody has done something. */
    EXPECT_JSON(WITH("call", "zoo_undefined_symbol", "--json"), 7, "/error/is_recoverable",
                "false");
    configure("none");
    EXPECT_JSON(WITH("call", "zoo_undefined_symbol", "--json"), 7, "/error/is_recoverable",
                "false");
    configure("process");
    /* Where the library is missing that may have them, there is nothing to say. */
    install_of_zoo("zoo_missing_library");
    run = RUN_WITH({.bare = true}, "check", "tools/zoo_missing_library.so");
    assert_non_null(strstr(run.out, "needs libtoolrack_missing.so.1, which is not installed"));
    assert_null(strstr(run.out, "elf-undefined"));
    run_finish(&run);
    /* Symbols of libraries, and of those that these need. */
    install("cxx/throws", "throws");
    run = RUN_WITH({.bare = true}, "check", "tools/throws.so");
    assert_int_equal(run.exit, 0);
    assert_null(strstr(run.out, "elf-undefined"));
    run_finish(&run);
}

static void check_says_what_leads_the_loader_elsewhere(void **state) {
    (void)state;
    install_of_zoo("zoo_loader_tricks");
    configure("process");
    EXPECT(RUN_WITH({.bare = true}, "check", "tools/zoo_loader_tricks.so"), 1,
           "*elf-run-path-unsafe: tools/zoo_loader_tricks.so lets the loader search for libraries "
           "in \"/tmp\", where others may put one*elf-audit: *names the audit library "
           "libtoolrack_nowhere.so*elf-filter: *lets the loader take its symbols from "
           "libtoolrack_nowhere.so*",
           NULL);
}

static void a_tool_that_exists_names_both_files(void **state) {
    (void)state;
    static const char words[] = "*Tool already exists: calc 1.0.0, from plugin claim (*/tools/a.so)"
                                "; that of */tools/b.so is left out; name it calc_v2, *";
    install("claim", "a");
    install("claim-same", "b");
    configure("process");
    EXPECT(WITH("call", "calc", "--verbose"), 0, "claim 1\n", words);
    EXPECT(WITH("list", "--all"), 0, words, "");
    EXPECT(WITH("why", "other"), 0,
           "*Tool already exists: calc 1.0.0, from plugin claim (*/tools/a.so); that of "
           "*/tools/b.so is left out*",
           NULL);
}

static void an_export_says_what_is_disabled(void **state) {
    (void)state;
    install("says", "says");
    configure("process");
    EXPECT(WITH("disable", "late"), 0, NULL, NULL);
    EXPECT(WITH("export", "--format", "mcp", "--allow", "late,wrong"), 0, "*\"wrong\"*",
           "*late: disabled: it is disabled; enable it: toolrack *enable late\n*");
    EXPECT_JSON(WITH("export", "--format", "mcp", "--allow", "late", "--disabled", "--json"), 0,
                "/0/name", "\"late\"", "/1", "");
    EXPECT_JSON(WITH("export", "--format", "mcp", "--allow", "late", "--json"), 0, "/0", "");
}

/* Nothing that is kept of a call, and no message of it, has the secret that it was given. */
static void a_recommendation_says_what_is_not_considered(void **state) {
    (void)state;
    install("wants", "wants");
    configure("process");
    EXPECT(WITH("grant", "touch"), 0, NULL, NULL);
    EXPECT(WITH("disable", "give_up"), 0, NULL, NULL);
    install("wants-more", "wants");
    EXPECT(WITH("recommend", "--task", "touch"), 0, "",
           "*no tool can be recommended: no text of a tool that may run matches the task; not "
           "considered: 1 changed, 1 disabled; see them: toolrack *list --all\n");
    EXPECT_JSON(WITH("plugins", "--json"), 0, "/0/state", "\"listed\"", "/0/reason",
                "\"1 of its 4 tools is not what was approved; see which: toolrack *list\"");
}

static void a_secret_is_masked_in_what_a_tool_says(void **state) {
    (void)state;
    static const char secret[] = "{\"key\":\"open-sesame-7\"}";
    install("says", "says");
    EACH_ISOLATION(i) {
        EXPECT(WITH("call", "leaks", secret), 7, "", "*no door for <***> here*");
        EXPECT(WITH("log", "--json"), 0, "*no door for <***> here*", "");
    }
    configure("process");
    EXPECT(WITH("call", "leaks", secret), 7, "",
           "*toolrack: warning: says: ***\n*no door for <***> here*");
    EXPECT(WITH("call", "leaks", "{\"key\":\"open-sesame-7\",\"how\":\"crash\"}"), 7, "",
           "*SIGABRT*");
    EXPECT(WITH("why", "leaks", "--json"), 0, "*printed: the key is <***>*", NULL);
    assert_int_not_equal(system("grep -rqF open-sesame-7 state"), 0);
    assert_int_equal(system("grep -rqF 'no door for' state"), 0);
}

static void a_name_of_blanks_is_unnamed(void **state) {
    (void)state;
    install("says", "says");
    configure("process");
    EXPECT(WITH("call", "  "), 3, "", "toolrack: NotFound: Tool '<unnamed>' not found*");
    EXPECT_JSON(WITH("call", "  ", "--json"), 3, "/error/tool_name", "\"<unnamed>\"");
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, e2e_setup, e2e_teardown)
    const struct CMUnitTest tests[] = {
            CASE(a_tool_cannot_speak_for_the_host),
            CASE(the_trace_of_a_failure_is_its_place),
            CASE(a_log_line_of_a_plugin_is_one_line_with_its_id),
            CASE(a_timeout_says_how_long_and_where),
            CASE(its_worker_ends_with_the_call),
            CASE(a_tool_has_time_to_end),
            CASE(a_missing_worker_program_is_no_failure_of_a_tool),
            CASE(a_trap_is_not_a_missing_instruction),
            CASE(one_crash_is_shown),
            CASE(frames_of_the_system_are_folded),
            CASE(an_exception_has_its_type_and_what),
            CASE(check_finds_a_missing_library),
            CASE(check_finds_an_undefined_symbol),
            CASE(check_says_what_leads_the_loader_elsewhere),
            CASE(a_tool_that_exists_names_both_files),
            CASE(an_export_says_what_is_disabled),
            CASE(a_recommendation_says_what_is_not_considered),
            CASE(a_secret_is_masked_in_what_a_tool_says),
            CASE(a_name_of_blanks_is_unnamed),
    };
    return cmocka_run_group_tests_name("failures", tests, NULL, NULL);
}
