/* The daemon: one for a state folder, found by its lock, whatever became of the one before. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "e2e.h"
#include "http-client.h"
#include "patience.h"
#include "serving.h"

#define SOCKET "state/toolrack.sock"

/* The line for the port comes before the socket is told. */
static void wait_for_socket(const char *path) {
    uint64_t since = 0;
    int fd;
    do {
        fd = client_connect_path(path);
    } while (fd < 0 && patience_yield(&since));
    assert_true(fd >= 0);
    (void)close(fd);
}

static struct serving start(void) {
    struct serving serving = serving_start(ARGS("--listen", "127.0.0.1:0"));
    wait_for_socket(SOCKET);
    return serving;
}

/* ---------------------------------------------------------------- the lock */

static void a_second_daemon_is_told_who_is_first(void **state) {
    (void)state;
    struct serving serving = start();
    char pattern[256];
    (void)snprintf(pattern, sizeof pattern,
                   "toolrack: AlreadyExists: a daemon serves the state folder */state already: "
                   "process %d, since 20*, at */" SOCKET "; end it (kill %d), use another state "
                   "folder (--state DIR), or serve beside it with --no-daemon\n",
                   (int)serving.pid, (int)serving.pid);
    EXPECT(RUN("serve", "--listen", "127.0.0.1:0"), 1, "", pattern);
    EXPECT_JSON(RUN("serve", "--listen", "127.0.0.1:0", "--json"), 1, "/error/type",
                "\"AlreadyExists\"");
    assert_int_equal(0, serving_end(&serving, SIGTERM));
    serving = start();
    assert_int_equal(0, serving_end(&serving, SIGTERM));
}

static void one_without_the_lock_serves_beside_it(void **state) {
    (void)state;
    struct serving serving = start();
    struct serving beside = serving_start(ARGS("--listen", "127.0.0.1:0", "--no-daemon"));
    assert_int_not_equal(serving_port(&serving), serving_port(&beside));
    assert_int_equal(0, serving_end(&beside, SIGTERM));
    wait_for_socket(SOCKET); /* that of the daemon is not taken away */
    assert_int_equal(0, serving_end(&serving, SIGTERM));
    assert_int_equal(-1, access(SOCKET, F_OK));
}

static void the_place_of_a_killed_daemon_is_taken(void **state) {
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct serving serving = start();
        EXPECT(RUN("status"), 0, "daemon       process *", "");
        assert_int_equal(-1, serving_end(&serving, SIGKILL));
        assert_int_equal(0, access(SOCKET, F_OK)); /* left over, as is the text of the lock */
        EXPECT(RUN("status"), 0, "daemon       none; *", "");
    }
    e2e_write("state/daemon.lock", "no JSON");
    struct serving serving = start();
    assert_int_equal(0, serving_end(&serving, SIGTERM));
}

static void a_lock_file_that_is_none_is_refused(void **state) {
    (void)state;
    assert_int_equal(0, mkdir("state", 0700));
    assert_int_equal(0, symlink("elsewhere", "state/daemon.lock"));
    EXPECT(RUN("serve", "--listen", "127.0.0.1:0"), 1, "",
           "*cannot open */state/daemon.lock: it must be a file and no symbolic link; move it "
           "away\n");
    assert_int_equal(-1, access("elsewhere", F_OK));
    assert_int_equal(0, unlink("state/daemon.lock"));
    assert_int_equal(0, mkfifo("state/daemon.lock", 0600));
    EXPECT(RUN("serve", "--listen", "127.0.0.1:0"), 1, "", "*cannot open */daemon.lock: *\n");
    EXPECT(RUN("status"), 1, "", "*cannot look for a daemon in */state: *\n");
}

/* --------------------------------------------------------------- the socket */

static void set(const char *name, const char *below) {
    char here[256];
    char path[300];
    assert_non_null(getcwd(here, sizeof here));
    (void)snprintf(path, sizeof path, "%s/%s", here, below);
    assert_int_equal(0, setenv(name, path, 1));
}

static void the_socket_is_the_users_alone(void **state) {
    (void)state;
    struct stat status;
    set("XDG_RUNTIME_DIR", "run");
    set("XDG_STATE_HOME", "home");
    assert_int_equal(0, mkdir("run", 0700));
    struct serving serving = serving_start_bare(ARGS("--listen", "127.0.0.1:0"));
    wait_for_socket("run/toolrack/toolrack.sock");
    assert_int_equal(0, stat("run/toolrack/toolrack.sock", &status));
    assert_int_equal(S_IFSOCK | 0600, status.st_mode);
    assert_int_equal(0, stat("run/toolrack", &status));
    assert_int_equal(S_IFDIR | 0700, status.st_mode);
    EXPECT_JSON(RUN_WITH(HOW(.bare = true), "status", "--json"), 0, "/daemon/socket",
                "*/run/toolrack/toolrack.sock\"");
    assert_int_equal(0, serving_end(&serving, SIGTERM));
    assert_int_equal(0, chmod("run/toolrack", 0707));
    EXPECT(RUN_WITH(HOW(.bare = true), "serve", "--listen", "127.0.0.1:0"), 1, "",
           "*/run/toolrack, the folder of the sockets, may be written by others (mode 0707); make "
           "it yours alone (chown, chmod go-w), or remove it\n");
    assert_int_equal(0, rmdir("run/toolrack"));
    e2e_write("run/toolrack", "");
    EXPECT(RUN_WITH(HOW(.bare = true), "serve", "--listen", "127.0.0.1:0"), 1, "",
           "*/run/toolrack, the folder of the sockets, is not a folder; *\n");
    (void)setenv("XDG_RUNTIME_DIR", "", 1);
    (void)setenv("XDG_STATE_HOME", "", 1);
}

/* Whoever owns the folder, or may write it, could put sockets of his own in their place. */
static void a_folder_of_others_gets_no_sockets(void **state) {
    (void)state;
    static const struct {
        mode_t mode;
        uid_t owner;
        gid_t group;
        const char *what;
    } rows[] = {{0770, 0, 65534, "may be written by others (mode 0770)"},
                {0707, 0, 0, "may be written by others (mode 0707)"},
                {01777, 0, 0, "may be written by others (mode 1777)"},
                {0700, 65534, 0, "belongs to user 65534"}};
    assert_int_equal(0, mkdir("state", 0700));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char pattern[256];
        if ((rows[i].owner != 0 || rows[i].group != 0) && geteuid() != 0) {
            continue; /* who else cannot give it away */
        }
        uid_t owner = rows[i].owner != 0 ? rows[i].owner : geteuid();
        gid_t group = rows[i].group != 0 ? rows[i].group : getegid();
        assert_int_equal(0, chown("state", owner, group));
        assert_int_equal(0, chmod("state", rows[i].mode));
        (void)snprintf(pattern, sizeof pattern,
                       "toolrack: Refused: */state, the folder of the sockets, %s; make it yours "
                       "alone (chown, chmod go-w), name another state folder (--state DIR), or use "
                       "--no-daemon\n",
                       rows[i].what);
        EXPECT(RUN("serve", "--listen", "127.0.0.1:0"), 1, "", pattern);
        assert_int_equal(-1, access("state/daemon.lock", F_OK));
    }
    assert_int_equal(0, chown("state", geteuid(), (gid_t)-1));
    assert_int_equal(0, chmod("state", 0755));
    if (geteuid() == 0) { /* nor does one below such a folder, which could be renamed */
        assert_int_equal(0, mkdir("of", 0755) | mkdir("of/state", 0700) | chown("of", 65534, 0));
        EXPECT(RUN_WITH({.bare = true}, "--state", "of/state", "serve", "--listen", "127.0.0.1:0"),
               1, "",
               "toolrack: Refused: */of/state, the folder of the sockets, is not used: */of "
               "belongs to user 65534*\n");
    }
    assert_int_equal(0, rename("state", "elsewhere"));
    assert_int_equal(0, symlink("elsewhere", "state"));
    struct serving serving = start();
    assert_int_equal(0, serving_end(&serving, SIGTERM));
}

/* Of a umask of 002, and of a volume that is given to the user's group: the daemon, its sockets and
 * the store judge the folder by one rule, whether or not this user's group is private. */
static void a_folder_of_the_users_group_is_judged_alike(void **state) {
    (void)state;
    EXPECT(RUN("list"), 0, NULL, NULL);
    struct serving serving = start(); /* makes what is in the folder */
    assert_int_equal(0, serving_end(&serving, SIGTERM));
    assert_int_equal(0, system("chmod -R g+rwX state && chmod g+s state"));
    struct run run = RUN("list", "--verbose");
    bool is_private = strstr(run.err, "the state folder") == NULL;
    bool is_cache_told = strstr(run.err, "plugin cache") != NULL; /* that it is written again */
    run_finish(&run);
    if (!is_private) {
        EXPECT(RUN("serve", "--listen", "127.0.0.1:0"), 1, "", "*may be written by others*");
        return;
    }
    assert_false(is_cache_told);
    serving = start();
    EXPECT(RUN("--no-daemon", "grant", "launch"), 0, NULL, ""); /* tells the daemon */
    EXPECT(RUN("status"), 0, "daemon       process *", "");
    assert_int_equal(0, serving_end(&serving, SIGTERM));
}

static void a_path_that_no_socket_can_have_is_told(void **state) {
    (void)state;
    char folder[128];
    memset(folder, 'd', sizeof folder - 1);
    folder[sizeof folder - 1] = '\0';
    EXPECT(RUN("--state", folder, "serve", "--listen", "127.0.0.1:0"), 1, "",
           "*/toolrack.sock is too long for the path of a socket, which has 107 bytes at most; use "
           "a state folder with a shorter path (--state DIR), or --no-daemon\n");
}

static void one_that_takes_no_commands_serves(void **state) {
    (void)state;
    assert_int_equal(0, mkdir("state", 0700));
    assert_int_equal(0, mkdir("state/commands.sock", 0700));
    struct serving serving = start();
    EXPECT(RUN("status"), 0, "daemon       process *", "");
    EXPECT(RUN("call", "add", "{\"a\":1,\"b\":2}"), 0, "3.0\n", "");
    assert_int_equal(0, serving_end(&serving, SIGTERM));
}

/* Of what is there, only a socket that a daemon left is replaced. */
static void a_file_in_the_place_of_its_socket_stays(void **state) {
    (void)state;
    char text[8] = "";
    struct stat status;
    assert_int_equal(0, mkdir("state", 0700));
    e2e_write("kept", "mine");
    for (int linked = 0; linked < 2; linked++) {
        assert_int_equal(0, linked ? symlink("../kept", "state/commands.sock")
                                   : link("kept", "state/commands.sock"));
        int standard = dup(STDERR_FILENO);
        int file = open("said", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        assert_true(dup2(file, STDERR_FILENO) >= 0);
        struct serving serving = start();
        assert_true(dup2(standard, STDERR_FILENO) >= 0);
        EXPECT(RUN("call", "add", "{\"a\":1,\"b\":2}"), 0, "3.0\n", "");
        assert_int_equal(0, serving_end(&serving, SIGTERM));
        char said[4096] = "";
        assert_true(pread(file, said, sizeof said - 1, 0) > 0);
        assert_non_null(strstr(said, "commands.sock exists and is no socket; remove it"));
        assert_int_equal(0, lstat("state/commands.sock", &status));
        assert_true(linked ? S_ISLNK(status.st_mode) : S_ISREG(status.st_mode));
        assert_int_equal(0, unlink("state/commands.sock") | close(file) | close(standard));
    }
    int kept = open("kept", O_RDONLY | O_CLOEXEC);
    assert_int_equal(4, read(kept, text, sizeof text - 1));
    assert_string_equal("mine", text);
    assert_int_equal(0, close(kept));
}

/* ------------------------------------------------------------------- status */

static void status_says_who_serves(void **state) {
    (void)state;
    EXPECT(RUN("status"), 0,
           "daemon       none; each command works by itself\nstate        */state\n"
           "plugins      *\ntools        * enabled\n",
           "");
    EXPECT_JSON(RUN("status", "--json"), 0, "/daemon", "null", "/state", "*/state\"", "/version",
                "\"*\"");
    struct serving serving = start();
    char pid[16];
    (void)snprintf(pid, sizeof pid, "%d", (int)serving.pid);
    EXPECT(RUN("status"), 0,
           "daemon       process *, since 20*\nversion      *\nlistens      http://127.0.0.1:*\n"
           "             unix:*/" SOCKET "\nstate        */state\nplugins *",
           "");
    EXPECT_JSON(RUN("status", "--json"), 0, "/daemon/pid", pid, "/daemon/version", "\"*\"",
                "/daemon/listens/0", "\"http://127.0.0.1:*", "/daemon/listens/1", "\"unix:*");
    assert_int_equal(0, serving_end(&serving, SIGTERM));
    EXPECT(RUN("--state", "", "status"), 0, "daemon       none; *", "");
}

static void status_says_that_the_configuration_has_changed(void **state) {
    (void)state;
    e2e_write("config.json", "{}");
    assert_int_equal(0, chmod("config.json", 0600));
    int kept = dup(STDERR_FILENO);
    int file = open("said", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(dup2(file, STDERR_FILENO) >= 0);
    struct serving serving = serving_start_bare(
            ARGS("--config", "config.json", "--state", "state", "--listen", "127.0.0.1:0"));
    assert_true(dup2(kept, STDERR_FILENO) >= 0);
    assert_int_equal(0, close(kept) | close(file));
    static const char *const status[] = {"--state", "state", "status", NULL};
    static const char *const json[] = {"--state", "state", "status", "--json", NULL};
    const struct how bare = {.bare = true};
    EXPECT_JSON(run_how(&bare, json), 0, "/daemon/config_changed", "false");
    EXPECT(run_how(&bare, status), 0, "daemon       process *\nversion      *\nlistens *", "");
    e2e_write("config.json", "{ }");
    EXPECT_JSON(run_how(&bare, json), 0, "/daemon/config_changed", "true");
    EXPECT(run_how(&bare, status), 0,
           "*\nconfig       */config.json has changed since the daemon started; restart the "
           "daemon\n*",
           "");
    /* As a service manager does that is told to reload the service. */
    assert_int_equal(0, kill(serving.pid, SIGHUP));
    AWAIT(system("grep -q '/config.json has changed since this server started, and SIGHUP does "
                 "not read it again; restart the server$' said") == 0);
    assert_int_equal(0, unlink("config.json"));
    EXPECT_JSON(run_how(&bare, json), 0, "/daemon/config_changed", "true");
    assert_int_equal(0, serving_end(&serving, SIGTERM));
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test_setup_teardown(a_second_daemon_is_told_who_is_first, e2e_setup,
                                            e2e_teardown),
            cmocka_unit_test_setup_teardown(one_without_the_lock_serves_beside_it, e2e_setup,
                                            e2e_teardown),
            cmocka_unit_test_setup_teardown(the_place_of_a_killed_daemon_is_taken, e2e_setup,
                                            e2e_teardown),
            cmocka_unit_test_setup_teardown(a_lock_file_that_is_none_is_refused, e2e_setup,
                                            e2e_teardown),
            cmocka_unit_test_setup_teardown(the_socket_is_the_users_alone, e2e_setup, e2e_teardown),
            cmocka_unit_test_setup_teardown(a_folder_of_others_gets_no_sockets, e2e_setup,
                                            e2e_teardown),
            cmocka_unit_test_setup_teardown(a_folder_of_the_users_group_is_judged_alike, e2e_setup,
                                            e2e_teardown),
            cmocka_unit_test_setup_teardown(a_path_that_no_socket_can_have_is_told, e2e_setup,
                                            e2e_teardown),
            cmocka_unit_test_setup_teardown(one_that_takes_no_commands_serves, e2e_setup,
                                            e2e_teardown),
            cmocka_unit_test_setup_teardown(a_file_in_the_place_of_its_socket_stays, e2e_setup,
                                            e2e_teardown),
            cmocka_unit_test_setup_teardown(status_says_who_serves, e2e_setup, e2e_teardown),
            cmocka_unit_test_setup_teardown(status_says_that_the_configuration_has_changed,
                                            e2e_setup, e2e_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
