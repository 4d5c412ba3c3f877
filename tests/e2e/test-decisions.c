/* What one process decides takes effect in the hosts that run: in this program, which has hosts of
 * its own, and in `toolrack watch`; decided by commands, by apps, and by processes that are killed.
 */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <pwd.h>
#include <setjmp.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "e2e.h"
#include "patience.h"
#include "rounds.h"
#include "toolrack/plugin.h"
#include "toolrack/toolrack.h"

/* A test that would wait for ever ends here. */
#define BLOCKED_AFTER_S 110

/* --------------------------------------------------------------------- hosts */

/* A host of this program, and what it was told. */
struct own {
    struct toolrack *host;
    atomic_uint events[TOOLRACK_EVENT_CHANGED_TEXT + 8];
    atomic_int stored; /* 1: what the last event told was in the store then */
};

static int64_t ask(const char *sql) {
    int64_t answer = -1;
    sqlite3 *db = NULL;
    sqlite3_stmt *statement = NULL;
    if (sqlite3_open("state/toolrack.db", &db) == SQLITE_OK &&
        sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW) {
        answer = sqlite3_column_int64(statement, 0);
    }
    (void)sqlite3_finalize(statement);
    (void)sqlite3_close(db);
    return answer;
}

static void take_event(void *user, const struct toolrack_event *event) {
    struct own *own = user;
    /* What is told is stored. */
    if (event->kind == TOOLRACK_EVENT_FAILED) {
        atomic_store(&own->stored, (int)ask("SELECT count(*) FROM failures"));
    } else if (event->kind == TOOLRACK_EVENT_QUARANTINED) {
        atomic_store(&own->stored, (int)ask("SELECT count(*) FROM quarantine"));
    } else if (event->kind == TOOLRACK_EVENT_RELEASED) {
        atomic_store(&own->stored, (int)ask("SELECT count(*) = 0 FROM quarantine"));
    }
    atomic_fetch_add(&own->events[event->kind], 1);
}

static const char *plugin_folder;
static enum toolrack_isolation isolation;

static void open_as(struct own *own, bool is_brief) {
    const char *const folders[] = {plugin_folder, NULL};
    struct toolrack_error *err = toolrack_error_create();
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    memset(own, 0, sizeof *own);
    options.config_file = access("config.json", F_OK) == 0 ? "config.json" : "";
    options.state_dir = "state";
    options.plugin_dirs = folders;
    options.event = take_event;
    options.user = own;
    options.brief = is_brief;
    options.isolation = isolation;
    if (toolrack_open(&options, &own->host, err) < 0) {
        fail_msg("%s", toolrack_error_message(err));
    }
    toolrack_error_free(err);
}

static void open_own(struct own *own) {
    open_as(own, false);
}

static int call(const struct own *own, const char *tool, const char *arguments) {
    struct toolrack_result *result = NULL;
    int code = toolrack_call(own->host, tool, arguments, NULL, &result, NULL);
    toolrack_result_free(result);
    return code;
}

static bool is_enabled(const struct own *own, const char *name) {
    struct toolrack_tool *tool = toolrack_get(own->host, name);
    bool enabled = tool != NULL && toolrack_tool_enabled(tool);
    toolrack_tool_unref(tool);
    return enabled;
}

static int priority_of(const struct own *own, const char *name) {
    struct toolrack_tool *tool = toolrack_get(own->host, name);
    int priority = tool != NULL ? toolrack_tool_priority(tool) : -1;
    toolrack_tool_unref(tool);
    return priority;
}

static enum toolrack_tool_state state_of(const struct own *own, const char *name) {
    struct toolrack_tool *tool = toolrack_get(own->host, name);
    assert_non_null(tool);
    enum toolrack_tool_state state = toolrack_tool_state(tool);
    toolrack_tool_unref(tool);
    return state;
}

static void expect_version(const struct own *own, const char *name, const char *version) {
    struct toolrack_tool *tool = toolrack_get(own->host, name);
    assert_non_null(tool);
    assert_string_equal(toolrack_tool_version(tool), version);
    toolrack_tool_unref(tool);
}

static int setup(void **state) {
    (void)alarm(BLOCKED_AFTER_S);
    plugin_folder = e2e_plugins();
    isolation = TOOLRACK_ISOLATION_DEFAULT;
    return e2e_setup(state) | mkdir("plugins", 0700);
}

static int teardown(void **state) {
    (void)alarm(0);
    return e2e_teardown(state);
}

/* `toolrack watch` as another process. */
struct watch {
    pid_t child;
    int out;
    char text[8192];
};

static bool has_said(struct watch *watch, const char *text) {
    size_t length = strlen(watch->text);
    ssize_t got = read(watch->out, watch->text + length, sizeof watch->text - 1 - length);
    if (got > 0) {
        watch->text[length + (size_t)got] = '\0';
    }
    return strstr(watch->text, text) != NULL;
}

static void start_watch(struct watch *watch) {
    int ends[2];
    *watch = (struct watch){0};
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    watch->child = fork();
    assert_true(watch->child >= 0);
    if (watch->child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)dup2(ends[1], STDOUT_FILENO);
        (void)dup2(ends[1], STDERR_FILENO);
        (void)execl(getenv("E2E_TOOLRACK"), "toolrack", "watch", "--config", "", "--state", "state",
                    "--plugins", plugin_folder, NULL);
        _exit(127);
    }
    (void)close(ends[1]);
    watch->out = ends[0];
    assert_int_equal(fcntl(watch->out, F_SETFL, O_NONBLOCK), 0);
    AWAIT(has_said(watch, "watching the plugin folders"));
}

static void end_watch(struct watch *watch) {
    int status;
    (void)kill(watch->child, SIGKILL);
    (void)kill(watch->child, SIGCONT);
    assert_int_equal(patience_child(watch->child, &status), watch->child);
    (void)close(watch->out);
}

/* ----------------------------------------------------------- each decision */

static void what_is_disabled_is_refused_by_the_next_call(void **state) {
    (void)state;
    struct own own;
    open_own(&own);
    assert_int_equal(call(&own, "add", "{\"a\":1,\"b\":2}"), 0);
    EXPECT(RUN("disable", "add"), 0, "add is disabled; 1 running host applies it\n", "");
    assert_int_equal(call(&own, "add", "{\"a\":1,\"b\":2}"), TOOLRACK_E_DISABLED);
    assert_int_equal(atomic_load(&own.events[TOOLRACK_EVENT_CHANGED]), 1);
    EXPECT_JSON(RUN("enable", "add", "--json"), 0, "",
                "{\"name\":\"add\",\"enabled\":true,\"hosts\":1,\"silent\":0}");
    assert_int_equal(call(&own, "add", "{\"a\":1,\"b\":2}"), 0);
    assert_int_equal(atomic_load(&own.events[TOOLRACK_EVENT_CHANGED]), 2);
    toolrack_close(own.host);
    EXPECT(RUN("disable", "add"), 0, "add is disabled\n", "");
}

static void a_priority_orders_the_list(void **state) {
    (void)state;
    struct own own;
    struct toolrack_tools *tools = NULL;
    open_own(&own);
    EXPECT(RUN("priority", "total", "500"), 0, "*; 1 running host applies it\n", "");
    assert_int_equal(toolrack_list(own.host, NULL, &tools, NULL), 0);
    assert_string_equal(toolrack_tool_name(toolrack_tools_get(tools, 0)), "total");
    assert_int_equal(toolrack_tool_priority(toolrack_tools_get(tools, 0)), 500);
    toolrack_tools_free(tools);
    toolrack_close(own.host);
}

static void a_default_is_called(void **state) {
    (void)state;
    struct own own;
    open_own(&own);
    expect_version(&own, "greet", "2.0.0");
    EXPECT_JSON(RUN("default", "greet", "1.0.0", "--json"), 0, "/hosts", "1", "/silent", "0");
    expect_version(&own, "greet", "1.0.0");
    EXPECT(RUN("default", "greet", "--reset"), 0, "*; 1 running host applies it\n", "");
    expect_version(&own, "greet", "2.0.0");
    toolrack_close(own.host);
}

static void a_grant_holds_until_it_is_withdrawn(void **state) {
    (void)state;
    struct own own;
    open_own(&own);
    assert_int_equal(call(&own, "launch", NULL), TOOLRACK_E_PERMISSION_DENIED);
    EXPECT(RUN("grant", "launch"), 0,
           "launch is granted until it is revoked; 1 running host applies it\n", "");
    assert_int_equal(call(&own, "launch", NULL), 0);
    EXPECT_JSON(RUN("revoke", "launch", "--json"), 0, "/hosts", "1");
    assert_int_equal(call(&own, "launch", NULL), TOOLRACK_E_PERMISSION_DENIED);
    toolrack_close(own.host);
}

static void a_mark_is_in_the_next_recommendation(void **state) {
    (void)state;
    struct own own;
    struct toolrack_text *text = NULL;
    open_own(&own);
    EXPECT(RUN("blacklist", "add", "total"), 0, "*; 1 running host applies it\n", "");
    assert_int_equal(toolrack_recommend(own.host, NULL, &text, NULL), 0);
    assert_null(strstr(toolrack_text_data(text, NULL), "\"total\""));
    toolrack_text_unref(text);
    EXPECT_JSON(RUN("whitelist", "add", "total", "--json"), 0, "/hosts", "1");
    assert_int_equal(toolrack_recommend(own.host, NULL, &text, NULL), 0);
    assert_non_null(strstr(toolrack_text_data(text, NULL), "\"total\""));
    toolrack_text_unref(text);
    toolrack_close(own.host);
}

/* Put a build there, as one should. */
static void put(const char *name) {
    char from[256];
    (void)snprintf(from, sizeof from, "%s/%s.so", getenv("E2E_BUILDS"), name);
    e2e_copy(from, "plugins/new", 0);
    assert_int_equal(rename("plugins/new", "plugins/test.so"), 0);
    plugin_folder = "plugins";
}

/* One host puts the plugin in quarantine, the other learns of it; a command releases it in both. */
static void a_quarantine_and_its_end_are_everywhere(void **state) {
    (void)state;
    struct own a;
    struct own b;
    put("granted");
    e2e_write("config.json", "{\"policies\": {\"granted\": {\"backoff_ms\": 1, "
                             "\"backoff_max_ms\": 1}}}");
    open_own(&a);
    open_own(&b);
    assert_int_equal(call(&b, "granted_pid", NULL), 0);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(call(&a, "granted_crash", NULL), TOOLRACK_E_EXECUTION_FAILED);
    }
    AWAIT(state_of(&a, "granted_pid") == TOOLRACK_STATE_QUARANTINED);
    AWAIT(state_of(&b, "granted_pid") == TOOLRACK_STATE_QUARANTINED);
    /* The host that begins it sends its own event after it told the others. */
    AWAIT(atomic_load(&a.events[TOOLRACK_EVENT_QUARANTINED]) == 1);
    AWAIT(atomic_load(&b.events[TOOLRACK_EVENT_QUARANTINED]) == 1);
    assert_int_equal(atomic_load(&a.stored), 1);
    assert_int_equal(call(&b, "granted_pid", NULL), TOOLRACK_E_EXECUTION_FAILED);
    EXPECT(RUN_WITH({.bare = true}, "release", "granted", "--config", "config.json", "--state",
                    "state", "--plugins", "plugins"),
           0, "granted released; 2 running hosts apply it\n", "");
    assert_int_equal(call(&a, "granted_pid", NULL), 0);
    assert_int_equal(call(&b, "granted_pid", NULL), 0);
    assert_int_equal(atomic_load(&a.events[TOOLRACK_EVENT_RELEASED]), 1);
    assert_int_equal(atomic_load(&b.events[TOOLRACK_EVENT_RELEASED]), 1);
    assert_int_equal(atomic_load(&b.stored), 1);
    /* The crashes before it do not count any more. */
    assert_int_equal(call(&b, "granted_crash", NULL), TOOLRACK_E_EXECUTION_FAILED);
    assert_int_equal(call(&b, "granted_pid", NULL), 0);
    toolrack_close(a.host);
    toolrack_close(b.host);
}

static const char refusing[] = "zoo_open_refuses";

static void expect_failed(const struct own *own, const char *reason) {
    char text[1024] = "";
    struct toolrack_tool *tool = toolrack_get(own->host, refusing);
    assert_non_null(tool);
    assert_int_equal(toolrack_tool_state(tool), TOOLRACK_STATE_FAILED);
    toolrack_tool_reason(tool, text, sizeof text);
    toolrack_tool_unref(tool);
    assert_non_null(strstr(text, reason));
}

static void put_refusing(void) {
    char from[256];
    (void)snprintf(from, sizeof from, "%s/%s.so", getenv("E2E_ZOO"), refusing);
    e2e_copy(from, "plugins/test.so", 0);
    plugin_folder = "plugins";
}

/* Before its first call, with the reason; as long as nobody lets it be loaded again. */
static void check_failure(void) {
    struct own own;
    struct own other;
    put_refusing();
    open_own(&own);
    assert_int_equal(state_of(&own, refusing), TOOLRACK_STATE_LISTED);
    assert_int_equal(call(&own, refusing, NULL), TOOLRACK_E_EXECUTION_FAILED);
    AWAIT(atomic_load(&own.events[TOOLRACK_EVENT_FAILED]) == 1);
    assert_int_equal(atomic_load(&own.stored), 1);
    toolrack_close(own.host);
    for (int i = 0; i < 2; i++) {
        open_own(&own);
        expect_failed(&own, "open");
        toolrack_close(own.host);
    }
    /* Released in this process and in others. */
    open_own(&own);
    open_own(&other);
    expect_failed(&other, "open");
    assert_int_equal(toolrack_release(other.host, refusing, NULL, NULL), 0);
    assert_int_equal(state_of(&other, refusing), TOOLRACK_STATE_LISTED);
    assert_int_equal(state_of(&own, refusing), TOOLRACK_STATE_LISTED);
    assert_int_equal(atomic_load(&own.events[TOOLRACK_EVENT_RELEASED]), 1);
    toolrack_close(other.host);
    toolrack_close(own.host);
    open_own(&own);
    assert_int_equal(state_of(&own, refusing), TOOLRACK_STATE_LISTED);
    assert_int_equal(call(&own, refusing, NULL), TOOLRACK_E_EXECUTION_FAILED); /* it was tried */
    AWAIT(atomic_load(&own.events[TOOLRACK_EVENT_FAILED]) == 1);
    toolrack_close(own.host);
    /* Under other conditions it may work. */
    e2e_write("config.json", "{\"plugins\": {\"zoo_open_refuses\": {\"mood\": \"better\"}}, "
                             "\"policies\": {\"zoo_open_refuses\": {\"memory_mb\": 2048}}}");
    open_own(&own);
    assert_int_equal(state_of(&own, refusing), TOOLRACK_STATE_LISTED);
    toolrack_close(own.host);
}

static void a_failed_load_is_known_after_a_restart(void **state) {
    (void)state;
    check_failure();
}

static void a_failed_load_in_process_is_known_after_a_restart(void **state) {
    (void)state;
    isolation = TOOLRACK_ISOLATION_NONE;
    check_failure();
}

/* Another content has another chance, and success ends it. */
static void a_failure_is_that_of_a_content(void **state) {
    (void)state;
    struct own own;
    put_refusing();
    open_own(&own);
    assert_int_equal(call(&own, refusing, NULL), TOOLRACK_E_EXECUTION_FAILED);
    AWAIT(ask("SELECT count(*) FROM failures") == 1);
    toolrack_close(own.host);
    put("build");
    open_own(&own);
    assert_int_equal(state_of(&own, "build"), TOOLRACK_STATE_LISTED);
    assert_int_equal(call(&own, "build", NULL), 0);
    toolrack_close(own.host);
}

static void a_rollback_exchanges_the_generation(void **state) {
    (void)state;
    struct own own;
    put("build");
    open_own(&own);
    assert_int_equal(call(&own, "build", NULL), 0);
    put("build-other");
    assert_int_equal(toolrack_reload(own.host, NULL, NULL, NULL), 0);
    expect_version(&own, "hold", "2.0.0");
    EXPECT(RUN_WITH({.plugins = "plugins"}, "rollback", "test.build"), 0,
           "*version 1.0.0 of test.build serves *; 1 running host applies it\n", "");
    expect_version(&own, "hold", "1.0.0");
    assert_int_equal(atomic_load(&own.events[TOOLRACK_EVENT_RELOADED]), 2);
    toolrack_close(own.host);
}

/* ------------------------------------------------------------ who has decided */

/* A decision is kept with the person who typed the command. The values are JSON. */
static void expect_decided(const char *decision, const char *tool, const char *version,
                           const char *plugin) {
    char row[512];
    const struct passwd *entry = getpwuid(getuid());
    assert_non_null(entry);
    (void)snprintf(row, sizeof row,
                   "*\"tool\":%s,\"version\":%s,\"plugin\":%s,\"caller\":null,\"channel\":null,"
                   "\"conversation\":null,\"decision\":\"%s\",\"who\":\"%s\"*",
                   tool, version, plugin, decision, entry->pw_name);
    EXPECT(RUN_WITH({.plugins = plugin_folder}, "decisions", "--json"), 0, row, "");
}

static void a_setting_has_its_person(void **state) {
    (void)state;
    EXPECT(RUN("disable", "add"), 0, NULL, "");
    expect_decided("disabled", "\"add\"", "null", "\"kit\"");
    EXPECT(RUN("enable", "add@1.0.0"), 0, NULL, "");
    expect_decided("enabled", "\"add\"", "\"1.0.0\"", "\"kit\"");
    EXPECT(RUN("priority", "add", "70"), 0, NULL, "");
    expect_decided("prioritized", "\"add\"", "null", "\"kit\"");
    EXPECT(RUN("default", "greet", "1.0.0"), 0, NULL, "");
    expect_decided("chosen", "\"greet\"", "\"1.0.0\"", "\"kit.old\"");
    EXPECT(RUN("default", "greet", "--reset"), 0, NULL, "");
    expect_decided("chosen", "\"greet\"", "null", "\"kit\"");
    EXPECT(RUN("blacklist", "add", "add@1.0.0"), 0, NULL, "");
    expect_decided("blacklisted", "\"add\"", "\"1.0.0\"", "\"kit\"");
    EXPECT_JSON(RUN("decisions", "--tool", "add@1.0.0", "--json"), 0, "/0/decision",
                "\"blacklisted\"", "/0/version", "\"1.0.0\"");
    EXPECT_JSON(RUN("decisions", "--tool", "add@2.0.0", "--json"), 0, "", "[]");
}

static void a_rollback_has_its_person(void **state) {
    (void)state;
    struct own own;
    put("build");
    open_own(&own);
    assert_int_equal(call(&own, "build", NULL), 0);
    put("build-other");
    assert_int_equal(toolrack_reload(own.host, NULL, NULL, NULL), 0);
    EXPECT(RUN_WITH({.plugins = "plugins"}, "rollback", "test.build"), 0, NULL, "");
    expect_decided("rolled-back", "null", "\"1.0.0\"", "\"test.build\"");
    toolrack_close(own.host);
}

static void a_release_has_its_person(void **state) {
    (void)state;
    struct own own;
    put_refusing();
    open_own(&own);
    assert_int_equal(call(&own, refusing, NULL), TOOLRACK_E_EXECUTION_FAILED);
    AWAIT(atomic_load(&own.events[TOOLRACK_EVENT_FAILED]) == 1);
    EXPECT(RUN_WITH({.plugins = "plugins"}, "release", refusing), 0, NULL, "");
    expect_decided("released", "null", "\"1.0.0\"", "\"zoo_open_refuses\"");
    /* What is about a plugin has the plugin's version, and no tool's. */
    EXPECT(RUN_WITH({.plugins = "plugins"}, "decisions"), 0, "*  -  *zoo_open_refuses@1.0.0 *", "");
    toolrack_close(own.host);
}

/* --------------------------------------------------------------- who is told */

static int visit_entries(const char *folder, bool removes) {
    DIR *entries = opendir(folder);
    const struct dirent *entry;
    int count = 0;
    while (entries != NULL && (entry = readdir(entries)) != NULL) {
        bool is_one = entry->d_name[0] != '.';
        count += is_one;
        if (is_one && removes) {
            assert_int_equal(unlinkat(dirfd(entries), entry->d_name, 0), 0);
        }
    }
    if (entries != NULL) {
        (void)closedir(entries);
    }
    return count;
}

static int count_entries(const char *folder) {
    return visit_entries(folder, false);
}

static int remove_entries(const char *folder) {
    return visit_entries(folder, true);
}

static void all_hosts_of_the_folder_are_counted(void **state) {
    (void)state;
    struct own own[3];
    struct own brief;
    struct watch watch;
    for (size_t i = 0; i < 3; i++) {
        open_own(&own[i]);
    }
    open_as(&brief, true);
    start_watch(&watch);
    EXPECT(RUN("disable", "add"), 0, "add is disabled; 4 running hosts apply it\n", "");
    for (size_t i = 0; i < 3; i++) {
        assert_false(is_enabled(&own[i], "add"));
    }
    assert_true(is_enabled(&brief, "add"));
    AWAIT(has_said(&watch, "changed kit add"));
    EXPECT(RUN("enable", "add", "--state", "other"), 0, "add is enabled\n", "");
    assert_false(is_enabled(&own[0], "add"));
    end_watch(&watch);
    EXPECT_JSON(RUN("enable", "add", "--json"), 0, "/hosts", "3", "/silent", "0");
    for (size_t i = 0; i < 3; i++) {
        toolrack_close(own[i].host);
    }
    toolrack_close(brief.host);
}

/* The folder of sockets, or what is in it, may be removed at any time. */
static void a_host_whose_socket_is_gone_is_reached(void **state) {
    (void)state;
    struct own own;
    open_own(&own);
    for (int round = 0; round < 2; round++) {
        char before[64];
        (void)snprintf(before, sizeof before, "state/before-%d", round);
        assert_int_equal(rename("state/hosts", before), 0);
        AWAIT(count_entries("state/hosts") == 1);
        EXPECT(RUN("disable", "add"), 0, "add is disabled; 1 running host applies it\n", "");
        assert_false(is_enabled(&own, "add"));
        assert_int_equal(remove_entries("state/hosts"), 1);
        AWAIT(count_entries("state/hosts") == 1);
        EXPECT(RUN("enable", "add"), 0, "add is enabled; 1 running host applies it\n", "");
        assert_true(is_enabled(&own, "add"));
    }
    toolrack_close(own.host);
    assert_int_equal(rmdir("state/hosts"), 0);
}

static void a_host_without_a_socket_is_told_of(void **state) {
    (void)state;
    struct own own;
    EXPECT(RUN("disable", "add"), 0, "add is disabled\n", ""); /* the state folder is made */
    e2e_write("state/hosts", "no folder\n");
    open_own(&own);
    EXPECT(RUN("enable", "add"), 0,
           "add is enabled; 1 running host could not be told, having no socket (see its log): "
           "restart it\n",
           "");
    EXPECT_JSON(RUN("disable", "add", "--json"), 0, "/hosts", "0", "/unreachable", "1");
    toolrack_close(own.host);
    EXPECT(RUN("enable", "add"), 0, "add is enabled\n", "");
    assert_int_equal(unlink("state/hosts"), 0);
}

/* Without a watch, which copies files after the start: a host that is stopped while it writes keeps
 * the others from deciding. */
static void a_suspended_host_is_said_to_be_silent(void **state) {
    (void)state;
    int ends[2];
    int status;
    char byte = 0;
    EXPECT(RUN("disable", "total"), 0, "total is disabled\n", ""); /* the state folder is made */
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        static struct own own;
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        open_own(&own);
        (void)!write(ends[1], "o", 1);
        while (atomic_load(&own.events[TOOLRACK_EVENT_CHANGED]) == 0) {
            (void)usleep(1000);
        }
        (void)!write(ends[1], is_enabled(&own, "add") ? "e" : "d", 1);
        (void)pause();
    }
    assert_int_equal(read(ends[0], &byte, 1), 1);
    assert_int_equal(kill(child, SIGSTOP), 0);
    assert_int_equal(waitpid(child, &status, WUNTRACED), child);
    EXPECT(RUN("disable", "add"), 0,
           "add is disabled; 1 of 1 running host did not answer within 1 s\n", "");
    assert_int_equal(kill(child, SIGCONT), 0);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    assert_int_equal(byte, 'd');
    (void)kill(child, SIGKILL);
    assert_int_equal(patience_child(child, &status), child);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

static void an_app_tells_the_others(void **state) {
    (void)state;
    struct own a;
    struct own b;
    struct toolrack_reached reached = TOOLRACK_REACHED_INIT;
    open_own(&a);
    open_own(&b);
    assert_int_equal(toolrack_set_enabled(a.host, "add", false, NULL, NULL), 0);
    toolrack_reached(a.host, &reached);
    assert_int_equal(reached.applied, 1);
    assert_int_equal(reached.silent, 0);
    assert_false(is_enabled(&b, "add"));
    assert_int_equal(atomic_load(&a.events[TOOLRACK_EVENT_CHANGED]), 1); /* not twice */
    assert_int_equal(atomic_load(&b.events[TOOLRACK_EVENT_CHANGED]), 1);
    assert_int_equal(toolrack_grant(b.host, "launch", 0, "me", NULL), 0);
    assert_int_equal(call(&a, "launch", NULL), 0);
    assert_int_equal(toolrack_revoke(a.host, "launch", "me", NULL), 0);
    assert_int_equal(call(&b, "launch", NULL), TOOLRACK_E_PERMISSION_DENIED);
    /* What failed changes and tells nothing. */
    assert_int_equal(toolrack_revoke(a.host, "launch", "me", NULL), TOOLRACK_E_NOT_FOUND);
    toolrack_close(a.host);
    toolrack_close(b.host);
}

/* ----------------------------------------------------------------- many, killed */

static void a_thousand_decisions_in_a_row(void **state) {
    (void)state;
    struct own a;
    struct own b;
    open_own(&a);
    open_own(&b);
    for (int i = 0; i < (int)test_rounds(1000, 100); i++) {
        assert_int_equal(toolrack_set_priority(a.host, "add", i, NULL, NULL), 0);
    }
    AWAIT(priority_of(&b, "add") == priority_of(&a, "add"));
    toolrack_close(a.host);
    toolrack_close(b.host);
}

static void *toggle(void *argument) {
    struct own *own = argument;
    for (int i = 0; i < 50; i++) {
        (void)toolrack_set_enabled(own->host, "add", i % 2 == 0, NULL, NULL);
        (void)toolrack_set_priority(own->host, "total", i, NULL, NULL);
    }
    return NULL;
}

/* The last one stored is in effect in both. */
static void two_hosts_decide_at_once(void **state) {
    (void)state;
    struct own a;
    struct own b;
    pthread_t threads[2];
    open_own(&a);
    open_own(&b);
    assert_int_equal(pthread_create(&threads[0], NULL, toggle, &a), 0);
    assert_int_equal(pthread_create(&threads[1], NULL, toggle, &b), 0);
    assert_int_equal(pthread_join(threads[0], NULL), 0);
    assert_int_equal(pthread_join(threads[1], NULL), 0);
    AWAIT(is_enabled(&a, "add") == is_enabled(&b, "add"));
    AWAIT(priority_of(&a, "total") == 49 && priority_of(&b, "total") == 49);
    toolrack_close(a.host);
    toolrack_close(b.host);
}

/* What it has stored is in effect, told or not. */
/* The argument that makes this program one that decides until it is killed. */
#define DECIDE "decide"

static void decide(void) {
    plugin_folder = e2e_plugins();
    struct own deciding;
    open_as(&deciding, true);
    for (int i = 0;; i++) {
        (void)toolrack_set_priority(deciding.host, "add", i, NULL, NULL);
    }
}

static void a_process_is_killed_while_it_decides(void **state) {
    (void)state;
    struct own own;
    open_own(&own);
    for (unsigned round = 0; round < (unsigned)test_rounds(20, 5); round++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) { /* a program anew: a lock may be held by a thread that a fork has not */
            (void)execl("/proc/self/exe", "test-decisions", DECIDE, (char *)NULL);
            _exit(127);
        }
        int before = priority_of(&own, "add");
        AWAIT(priority_of(&own, "add") != before);
        (void)kill(child, SIGKILL);
        int status;
        assert_int_equal(patience_child(child, &status), child);
        struct own later;
        open_as(&later, true);
        int stored = priority_of(&later, "add");
        toolrack_close(later.host);
        AWAIT(priority_of(&own, "add") == stored);
    }
    toolrack_close(own.host);
}

/* Hosts come and are killed while others decide; none waits for a dead one, and its socket goes. */
static void hosts_are_killed_while_others_decide(void **state) {
    (void)state;
    struct own own;
    open_own(&own);
    for (int round = 0; round < (int)test_rounds(5, 2); round++) {
        struct watch watch;
        start_watch(&watch);
        assert_int_equal(toolrack_set_priority(own.host, "add", round, NULL, NULL), 0);
        (void)kill(watch.child, SIGKILL);
        assert_int_equal(toolrack_set_priority(own.host, "add", round + 100, NULL, NULL), 0);
        end_watch(&watch);
        struct toolrack_reached reached = TOOLRACK_REACHED_INIT;
        assert_int_equal(toolrack_set_priority(own.host, "add", round + 200, NULL, NULL), 0);
        toolrack_reached(own.host, &reached);
        assert_int_equal(reached.applied + reached.silent, 0);
    }
    toolrack_close(own.host);
    assert_int_equal(rmdir("state/hosts"), 0); /* nothing is left in it */
}

/* ------------------------------------------------------------------ an app's own */

static tr_status run_own(struct tr_call *tr_call) {
    return tr_reply_json(tr_call, "1");
}
TR_JSON_TOOL(run_own, "A tool of the app", TR_SCHEMA({"type" : "object"}))
TR_PLUGIN(("app.own", .license = "MIT"), "1.0.0", run_own)

/* No other process has its texts: the command says who decides. */
static void an_app_decides_about_its_own_tools(void **state) {
    (void)state;
    static const char only[] = "*'run_own'*only that app can decide about it*";
    struct own own;
    open_own(&own);
    assert_int_equal(toolrack_register(own.host, &toolrack_plugin, NULL, NULL), 0);
    EXPECT(RUN("disable", "run_own"), 3, "", only);
    EXPECT(RUN("priority", "run_own", "7"), 3, "", only);
    EXPECT(RUN("grant", "run_own"), 3, "", only);
    EXPECT(RUN("revoke", "run_own"), 3, "", "*only that app can decide about it*");
    EXPECT(RUN("default", "run_own", "1.0.0"), 3, "", only);
    EXPECT(RUN("blacklist", "add", "run_own"), 3, "", only);
    assert_int_equal(toolrack_set_enabled(own.host, "run_own", false, NULL, NULL), 0);
    assert_int_equal(call(&own, "run_own", NULL), TOOLRACK_E_DISABLED);
    toolrack_close(own.host);
    EXPECT(RUN("grant", "run_own"), 3, "", "toolrack: NotFound: Tool 'run_own' not found\n");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], DECIDE) == 0) {
        decide();
    }
    const struct CMUnitTest tests[] = {
            CASE(what_is_disabled_is_refused_by_the_next_call),
            CASE(a_priority_orders_the_list),
            CASE(a_default_is_called),
            CASE(a_grant_holds_until_it_is_withdrawn),
            CASE(a_mark_is_in_the_next_recommendation),
            CASE(a_quarantine_and_its_end_are_everywhere),
            CASE(a_failed_load_is_known_after_a_restart),
            CASE(a_failed_load_in_process_is_known_after_a_restart),
            CASE(a_failure_is_that_of_a_content),
            CASE(a_rollback_exchanges_the_generation),
            CASE(a_setting_has_its_person),
            CASE(a_rollback_has_its_person),
            CASE(a_release_has_its_person),
            CASE(all_hosts_of_the_folder_are_counted),
            CASE(a_host_whose_socket_is_gone_is_reached),
            CASE(a_host_without_a_socket_is_told_of),
            CASE(a_suspended_host_is_said_to_be_silent),
            CASE(an_app_tells_the_others),
            CASE(a_thousand_decisions_in_a_row),
            CASE(two_hosts_decide_at_once),
            CASE(a_process_is_killed_while_it_decides),
            CASE(an_app_decides_about_its_own_tools),
            CASE(hosts_are_killed_while_others_decide),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
