/* A package for all hosts of a group, over a real nats-server: two hosts, and the state folder of
 * whoever orders it. Each is a process of its own. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <yyjson.h>

#include "e2e.h"
#include "nats-server.h"
#include "patience.h"
#include "serving.h"

#define ID             "org.example.parcel"
#define ONE            "one/" ID "-1.0.0.trp"
#define TWO            "two/" ID "-1.2.0.trp"
#define AT(state, ...) RUN_WITH({.bare = true}, "--state", state, __VA_ARGS__)
#define ORDER(state, file) \
    AT(state, "--config", state ".json", "hosts", "rollout", file, "--yes", "--json")

static struct nats_server server;
static struct serving hosts[2];

/* ------------------------------------------------------------ what is there */

static void make(const char *folder, const char *plugin, const char *file) {
    char from[4096];
    char to[256];
    assert_int_equal(mkdir(folder, 0700), 0);
    (void)snprintf(from, sizeof from, "%s/%s.so", getenv("E2E_PACKAGES"), plugin);
    (void)snprintf(to, sizeof to, "%s/parcel.so", folder);
    e2e_copy(from, to, 0);
    (void)snprintf(to, sizeof to, "%s/README.md", folder);
    e2e_write(to, "# Parcels\n");
    (void)snprintf(to, sizeof to, "%s/LICENSE", folder);
    e2e_write(to, "MIT\n");
    EXPECT(AT("author", "pack", folder, "--output", file), 0, NULL, NULL);
    EXPECT(AT("author", "sign", file, "--key", "ours.key"), 0, NULL, NULL);
}

/* The public key of the host of a state folder. */
static void read_key(const char *state, char ret[64]) {
    struct run run = AT(state, "hosts", "--nats", server.url, "--group", "keys", "--json");
    yyjson_doc *doc = yyjson_read(run.out, strlen(run.out), 0);
    const char *key = yyjson_get_str(yyjson_ptr_get(yyjson_doc_get_root(doc), "/0/key"));
    assert_non_null(key);
    (void)snprintf(ret, 64, "%s", key);
    yyjson_doc_free(doc);
    run_finish(&run);
}

/* The configuration of a host, which trusts these. */
static void configure(const char *state, const char *one, const char *two) {
    char path[64];
    char text[512];
    (void)snprintf(path, sizeof path, "%s.json", state);
    (void)snprintf(text, sizeof text,
                   "{\"nats\":{\"url\":\"%s\",\"group\":\"g\",\"name\":\"%s\","
                   "\"trusted_hosts\":[\"%s\",\"%s\"]}}",
                   server.url, state, one, two);
    e2e_write(path, text);
}

static void start_host(size_t at, const char *state) {
    char configuration[64];
    (void)snprintf(configuration, sizeof configuration, "%s.json", state);
    hosts[at] = serving_start_bare(
            ARGS("--listen", "127.0.0.1:0", "--state", state, "--config", configuration));
}

static void trust_packages(const char *state) {
    EXPECT(AT(state, "keys", "add", "ours.pub", "--trust", "community", "--ids", "*"), 0, NULL,
           NULL);
}

/* One group for all tests, which go on from each other. The host `b` does not know the key of the
 * packages at first. */
static int setup(void **state) {
    char a[64];
    char b[64];
    char boss[64];
    if (e2e_setup(state) != 0 || !nats_server_start(&server, true, NULL)) {
        return -1;
    }
    EXPECT(AT("author", "keys", "new", "ours", "--no-password"), 0, NULL, NULL);
    make("one", "parcel-1", ONE);
    make("two", "parcel-2", TWO);
    read_key("a", a);
    read_key("b", b);
    read_key("boss", boss);
    configure("a", boss, boss);
    configure("b", boss, boss);
    configure("boss", a, b);
    configure("stranger", a, b);
    configure("doubter", boss, boss);
    trust_packages("a");
    trust_packages("boss");
    trust_packages("stranger");
    trust_packages("doubter");
    start_host(0, "a");
    start_host(1, "b");
    return 0;
}

static int teardown(void **state) {
    bool ends_well = true;
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
        ends_well = ends_well && hosts[i].pid > 0 && serving_end(&hosts[i], SIGTERM) == 0;
    }
    nats_server_stop(&server);
    return e2e_teardown(state) == 0 && ends_well ? 0 : -1;
}

/* ------------------------------------------------------------------- tests */

/* The second host does not know the key of the package: the first one goes back. */
static void test_refused_by_one(void **state) {
    (void)state;
    struct run run = ORDER("boss", ONE);
    EXPECT_MATCH(run.out, "*is not trusted here*");
    EXPECT_JSON(run, 1, "/done", "false", "/hosts/0/state", "\"rolled-back\"", "/hosts/1/state",
                "\"failed\"");
    EXPECT_JSON(AT("a", "packages", "--json"), 0, "", "[]");
    EXPECT_JSON(AT("b", "packages", "--json"), 0, "", "[]");
}

static void test_to_all(void **state) {
    (void)state;
    trust_packages("b");
    EXPECT_JSON(ORDER("boss", ONE), 0, "/done", "true", "/id", "\"" ID "\"", "/reason", "null",
                "/hosts/0/name", "\"a\"", "/hosts/0/state", "\"installed\"", "/hosts/0/from",
                "null", "/hosts/1/name", "\"b\"", "/hosts/1/state", "\"installed\"");
    EXPECT_JSON(AT("a", "packages", "--json"), 0, "/0/version", "\"1.0.0\"");
    EXPECT_JSON(AT("b", "packages", "--json"), 0, "/0/version", "\"1.0.0\"");
    /* It is there already; the update comes to both. */
    EXPECT_JSON(ORDER("boss", ONE), 0, "/done", "true", "/hosts/0/state", "\"unchanged\"",
                "/hosts/1/state", "\"unchanged\"");
    struct run run =
            AT("boss", "--config", "boss.json", "hosts", "rollout", TWO, "--first", "b", "--yes");
    EXPECT_MATCH(run.err, "*b: it is installed*b: it is healthy*a: it is installed*");
    EXPECT(run, 0, NULL, NULL);
    EXPECT_JSON(AT("boss", "--config", "boss.json", "hosts", "packages", "--json"), 0,
                "/hosts/0/packages/0/version", "\"1.1.0\"", "/hosts/1/packages/0/version",
                "\"1.1.0\"", "/hosts/1/packages/0/previous", "\"1.0.0\"", "/store/2/size", "");
}

/* Without a daemon that has joined, the server that the configuration names is asked. */
static void test_hosts_of_configuration(void **state) {
    (void)state;
    EXPECT_JSON(AT("boss", "--config", "boss.json", "hosts", "--json"), 0, "/0/self", "true",
                "/0/tools", "0", "/2/state", "\"here\"");
}

/* An update whose tool is held on the second host is not healthy there: both go back. */
static void test_unhealthy(void **state) {
    (void)state;
    EXPECT(AT("a", "uninstall", ID), 0, NULL, NULL);
    EXPECT(AT("b", "uninstall", ID), 0, NULL, NULL);
    EXPECT_JSON(ORDER("boss", ONE), 0, "/done", "true");
    EXPECT(AT("b", "grant", "parcel"), 0, NULL, NULL);
    struct run run = ORDER("boss", TWO);
    EXPECT_MATCH(run.out, "*parcel is in state changed*");
    EXPECT_JSON(run, 1, "/done", "false", "/hosts/0/state", "\"rolled-back\"", "/hosts/0/from",
                "\"1.0.0\"", "/hosts/1/state", "\"rolled-back\"");
    EXPECT_JSON(AT("a", "packages", "--json"), 0, "/0/version", "\"1.0.0\"");
    EXPECT_JSON(AT("b", "packages", "--json"), 0, "/0/version", "\"1.0.0\"");
}

/* The second host gets it when the first one has answered calls. */
static void test_calls(void **state) {
    (void)state;
    int status = 0;
    EXPECT(AT("b", "revoke", "parcel"), 0, NULL, NULL);
    pid_t pid = fork();
    if (pid == 0) {
        (void)dup2(STDERR_FILENO, STDOUT_FILENO); /* that of the test is its report */
        (void)execl(getenv("E2E_TOOLRACK"), "toolrack", "--state", "boss", "--config", "boss.json",
                    "hosts", "rollout", TWO, "--yes", "--calls", "3", (char *)NULL);
        _exit(127);
    }
    EXPECT_JSON(AT("b", "packages", "--json"), 0, "/0/version", "\"1.0.0\"");
    while (waitpid(pid, &status, WNOHANG) == 0) { /* the program ends when there were three */
        EXPECT(AT("a", "call", "parcel"), 0, NULL, NULL);
    }
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    EXPECT_JSON(AT("b", "packages", "--json"), 0, "/0/version", "\"1.1.0\"");
}

/* Who is not trusted orders nothing; and orders nothing of hosts that it does not trust. */
static void test_strangers(void **state) {
    (void)state;
    struct run run = ORDER("stranger", ONE);
    EXPECT_MATCH(run.out, "*does not trust the one that gives the order*");
    EXPECT_JSON(run, 1, "/done", "false", "/hosts/0/state", "\"failed\"", "/hosts/1/state",
                "\"waiting\"");
    run = ORDER("doubter", ONE);
    EXPECT_MATCH(run.out, "*that this one trusts*");
    EXPECT(run, 1, NULL, NULL);
    EXPECT_JSON(AT("a", "packages", "--json"), 0, "", "[]");
    EXPECT_JSON(AT("b", "packages", "--json"), 0, "", "[]");
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_strangers), cmocka_unit_test(test_refused_by_one),
            cmocka_unit_test(test_to_all),    cmocka_unit_test(test_unhealthy),
            cmocka_unit_test(test_calls),     cmocka_unit_test(test_hosts_of_configuration),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
