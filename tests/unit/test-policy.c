/* What a plugin may do: its declared capabilities against what the administrator allows. */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "life/data.h"
#include "life/policy.h"
#include "remove-tree.h"

static const struct tr_capability declared[] = {
        {TR_CAP_READ, 0, "${workspace}/data"},
        {TR_CAP_READ, 0, "${setting:table}"},
        {TR_CAP_WRITE, 0, "/var/tmp/out"},
        {TR_CAP_NETWORK, 0, "*:443"},
        {TR_CAP_NETWORK, 0, "8080"},
        {TR_CAP_SPAWN, 0, "/bin/true"},
        {TR_CAP_ENV, 0, "TOOLRACK_TEST_VARIABLE"},
        {TR_CAP_READ, 0, "${nowhere}/x"},
};
static const struct tr_plugin plugin = {
        .size = sizeof(struct tr_plugin),
        .id = "subject",
        .capabilities = declared,
        .capability_count = sizeof declared / sizeof declared[0],
        .capability_size = sizeof declared[0],
};

struct subject {
    struct config *config;
    struct descriptor desc;
    struct arena arena;
    struct policy policy;
};

/* The policy that a configuration gives. */
static void make_for(struct subject *subject, const struct tr_plugin *asks, const char *text,
                     enum trust trust, enum isolation folder, enum isolation app) {
    char path[] = "/tmp/toolrack-test-XXXXXX";
    struct toolrack_error err = {0};
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    (void)close(fd);
    *subject = (struct subject){.desc.plugin = asks};
    if (config_create(&(struct config_options){.path = path}, &subject->config, &err) < 0) {
        fail_msg("%s", err.message);
    }
    (void)unlink(path);
    arena_init(&subject->arena, NULL, 0);
    const struct policy_options options = {.config = subject->config,
                                           .desc = &subject->desc,
                                           .trust = trust,
                                           .isolation = folder,
                                           .app_isolation = app};
    assert_int_equal(policy_make(&options, &subject->arena, &subject->policy, &err), 0);
}

static void make(struct subject *subject, const char *text, enum trust trust, enum isolation folder,
                 enum isolation app) {
    make_for(subject, &plugin, text, trust, folder, app);
}

static void finish(struct subject *subject) {
    arena_finish(&subject->arena);
    config_destroy(subject->config);
}

static void nothing_is_allowed_by_default(void **state) {
    (void)state;
    struct subject subject;
    make(&subject, "{}", TRUST_COMMUNITY, ISOLATION_UNSTATED, ISOLATION_UNSTATED);
    const struct sandbox_policy *sandbox = &subject.policy.sandbox;
    assert_int_equal(subject.policy.isolation, ISOLATION_PROCESS);
    assert_int_equal(subject.policy.pin, PIN_ENFORCE);
    assert_int_equal(sandbox->read_path_count + sandbox->write_path_count + sandbox->port_count, 0);
    assert_false(sandbox->network || sandbox->spawn);
    assert_null(subject.policy.environment[0]);
    assert_int_equal(subject.policy.capability_count, 8);
    for (size_t i = 0; i < 8; i++) {
        assert_false(subject.policy.capabilities[i].allowed);
    }
    finish(&subject);
}

static void a_builtin_plugin_may_read_what_it_declares(void **state) {
    (void)state;
    struct subject subject;
    make(&subject, "{\"plugins\": {\"subject\": {\"table\": \"/srv/table.xml\"}}}", TRUST_BUILTIN,
         ISOLATION_UNSTATED, ISOLATION_UNSTATED);
    const struct sandbox_policy *sandbox = &subject.policy.sandbox;
    assert_int_equal(sandbox->read_path_count, 1); /* the others' placeholders stand for nothing */
    assert_string_equal(sandbox->read_paths[0], "/srv/table.xml");
    assert_int_equal(sandbox->write_path_count, 0);
    assert_false(sandbox->network || sandbox->spawn);
    assert_int_equal(subject.policy.pin, PIN_WARN);
    finish(&subject);
}

static void what_is_allowed_and_declared_is_granted(void **state) {
    (void)state;
    struct subject subject;
    assert_int_equal(setenv("TOOLRACK_TEST_VARIABLE", "value", 1), 0);
    make(&subject,
         "{\"paths\": {\"workspace\": \"/srv/work\"}, \"policies\": {\"subject\": {\"allow\": "
         "[\"read:${workspace}/data\", \"read:/etc\", \"network:*:443\", \"spawn\", "
         "\"env\"], \"memory_mb\": 64, \"workers\": 2, \"cpu_s\": 5, \"threads\": 7}}}",
         TRUST_COMMUNITY, ISOLATION_UNSTATED, ISOLATION_UNSTATED);
    const struct sandbox_policy *sandbox = &subject.policy.sandbox;
    assert_int_equal(sandbox->read_path_count, 1);
    assert_string_equal(sandbox->read_paths[0], "/srv/work/data");
    assert_int_equal(sandbox->write_path_count, 0);
    assert_true(sandbox->network);
    assert_int_equal(sandbox->port_count, 1);
    assert_int_equal(sandbox->ports[0], 443);
    assert_true(sandbox->spawn);
    assert_string_equal(subject.policy.environment[0], "TOOLRACK_TEST_VARIABLE=value");
    assert_null(subject.policy.environment[1]);
    assert_int_equal(sandbox->limits.memory_bytes, UINT64_C(64) << 20);
    assert_int_equal(sandbox->limits.cpu_s, 5);
    assert_int_equal(sandbox->limits.threads, 7);
    assert_int_equal(subject.policy.limits.workers_max, 2);
    finish(&subject);
}

/* As people write paths, in what they write: a setting is the plugin's to read. */
static void a_folder_may_be_in_the_home_folder(void **state) {
    (void)state;
    struct subject subject;
    const char *was = getenv("HOME");
    char *home = was != NULL ? strdup(was) : NULL;
    static const char text[] =
            "{\"paths\": {\"workspace\": \"~/work\"}, \"plugins\": {\"subject\": "
            "{\"table\": \"~/t\"}}, \"policies\": {\"subject\": {\"allow\": [\"read\"]}}}";
    (void)setenv("HOME", "/srv/ann", 1);
    make(&subject, text, TRUST_COMMUNITY, ISOLATION_UNSTATED, ISOLATION_UNSTATED);
    assert_int_equal(subject.policy.sandbox.read_path_count, 1);
    assert_string_equal(subject.policy.sandbox.read_paths[0], "/srv/ann/work/data");
    assert_non_null(strstr(subject.policy.capabilities[1].refusal, "neither absolute"));
    finish(&subject);
    (void)unsetenv("HOME");
    make(&subject, text, TRUST_COMMUNITY, ISOLATION_UNSTATED, ISOLATION_UNSTATED);
    assert_int_equal(subject.policy.sandbox.read_path_count, 0);
    assert_non_null(strstr(subject.policy.capabilities[0].refusal, "HOME is not set"));
    finish(&subject);
    if (home != NULL) {
        (void)setenv("HOME", home, 1);
    }
    free(home);
}

static void everything_can_be_allowed(void **state) {
    (void)state;
    struct subject subject;
    make(&subject,
         "{\"paths\": {\"workspace\": \"/w\"}, \"plugins\": {\"subject\": {\"table\": \"/t\"}}, "
         "\"policies\": {\"subject\": {\"allow\": [\"*\"]}}}",
         TRUST_COMMUNITY, ISOLATION_UNSTATED, ISOLATION_UNSTATED);
    const struct sandbox_policy *sandbox = &subject.policy.sandbox;
    assert_int_equal(sandbox->read_path_count, 2);
    assert_int_equal(sandbox->write_path_count, 1);
    assert_int_equal(sandbox->port_count, 2);
    const struct policy_capability *nowhere = &subject.policy.capabilities[7];
    assert_false(nowhere->allowed); /* its placeholder has no value, and that is told */
    assert_true(nowhere->is_void);
    assert_non_null(strstr(nowhere->refusal, "${nowhere} has no value"));
    assert_null(nowhere->path);
    finish(&subject);
}

static void is_refused(const char *text, const char *reason) {
    char path[] = "/tmp/toolrack-test-XXXXXX";
    struct config *config = NULL;
    struct toolrack_error err = {0};
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    (void)close(fd);
    assert_int_equal(config_create(&(struct config_options){.path = path}, &config, &err),
                     TOOLRACK_E_INVALID);
    (void)unlink(path);
    if (strstr(err.message, reason) == NULL) {
        fail_msg("'%s' is not in: %s", reason, err.message);
    }
}

/* ------------------------------------------------------------------ network, env */

/* The policy of one capability that a plugin declares. */
static void make_one(struct subject *subject, uint32_t kind, const char *value, const char *allow) {
    static struct tr_capability one;
    static struct tr_plugin asks;
    char text[256];
    one = (struct tr_capability){kind, 0, value};
    asks = plugin;
    asks.capabilities = &one;
    asks.capability_count = 1;
    (void)snprintf(text, sizeof text, "{\"policies\": {\"subject\": {\"allow\": [\"%s\"]}}}",
                   allow);
    make_for(subject, &asks, text, TRUST_COMMUNITY, ISOLATION_UNSTATED, ISOLATION_UNSTATED);
}

static void a_network_grant_says_what_it_gives(void **state) {
    (void)state;
    static const struct {
        const char *declared;
        const char *allow;
        bool tcp;
        bool udp;
        int port; /* 0: all; -1: not granted */
    } rows[] = {
            {"*", "network", true, false, 0},
            {"*", "*", true, false, 0},
            {"*:443", "network", true, false, 443},
            {"443", "network:*:443", true, false, 443},
            {"*:443", "network:443", true, false, 443},
            {"*:443", "network:*", true, false, 443},
            {"*:443", "network:*:80", false, false, -1},
            {"*", "network:*:443", false, false, -1},
            {"udp", "network", false, true, 0},
            {"udp", "network:udp", false, true, 0},
            {"udp", "network:*", false, false, -1},
            {"*", "network:udp", false, false, -1},
            /* A host is granted only by whoever says that it is every host. */
            {"example.org:443", "network", false, false, -1},
            {"example.org:443", "*", false, false, -1},
            {"example.org:443", "network:*:443", true, false, 443},
            {"[::1]:443", "network:443", true, false, 443},
            /* What is no port grants none, as an app may register such a descriptor. */
            {"example.org", "network", false, false, -1},
            {"example.org:https", "network", false, false, -1},
            {"*:0", "network", false, false, -1},
            {"*:65536", "network", false, false, -1},
            {"*:99999999999999999999", "network", false, false, -1},
            {"*: 443", "network", false, false, -1},
            {"*:443x", "network", false, false, -1},
            {"*:+443", "network", false, false, -1},
            {"*:", "network", false, false, -1},
            {":443", "network", false, false, -1},
            {"::1", "network", false, false, -1},
            {"udp:*:53", "network", false, false, -1},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        struct subject subject;
        make_one(&subject, TR_CAP_NETWORK, rows[i].declared, rows[i].allow);
        const struct sandbox_policy *sandbox = &subject.policy.sandbox;
        bool is_right = sandbox->network == rows[i].tcp && sandbox->udp == rows[i].udp &&
                        sandbox->port_count == (rows[i].port > 0) &&
                        (rows[i].port <= 0 || sandbox->ports[0] == rows[i].port);
        if (!is_right) {
            fail_msg("'%s' allowed by '%s': tcp %d, udp %d, %zu ports", rows[i].declared,
                     rows[i].allow, sandbox->network, sandbox->udp, sandbox->port_count);
        }
        finish(&subject);
    }
}

static void no_variable_changes_the_loader(void **state) {
    (void)state;
    static const char *const names[] = {
            "LD_PRELOAD",       "LD_LIBRARY_PATH", "LD_AUDIT", "GLIBC_TUNABLES",
            "MALLOC_ARENA_MAX", "GCONV_PATH",      "LOCPATH",  "HOSTALIASES",
            "RES_OPTIONS",      "TZDIR",           "TMPDIR"};
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        struct subject subject;
        char text[128];
        assert_int_equal(setenv(names[i], "1", 1), 0);
        make_one(&subject, TR_CAP_ENV, names[i], "env");
        assert_int_equal(unsetenv(names[i]), 0);
        if (subject.policy.environment[0] != NULL) {
            fail_msg("passed: %s", subject.policy.environment[0]);
        }
        finish(&subject);
        (void)snprintf(text, sizeof text, "{\"policies\": {\"a\": {\"allow\": [\"env:%s\"]}}}",
                       names[i]);
        is_refused(text, "never passed");
    }
}

static void what_cannot_be_allowed_is_refused_with_words(void **state) {
    (void)state;
    static const struct {
        const char *allow;
        const char *says;
    } rows[] = {
            {"network:example.org:443", "network:*:PORT"},
            {"network:example.org", "no port"},
            {"network:*:https", "1 to 65535"},
            {"network:*:0", "1 to 65535"},
            {"network:*:70000", "1 to 65535"},
            {"network:", "nothing follows the colon"},
            {"network:udp:*:53", "write udp"},
            {"read:data", "absolute"},
            {"write:~/data", "${home}"},
            {"spawn:bin/tool", "absolute path"},
            {"env:A=B", "name only"},
            {"env:*", "not the name of one variable"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        char text[256];
        (void)snprintf(text, sizeof text,
                       "{\"policies\": {\n\"a\": {\n\"allow\": [\"env\",\n \"%s\"]}}}",
                       rows[i].allow);
        is_refused(text, rows[i].says);
        is_refused(text, "line 4");
        is_refused(text, "cannot be allowed to a: ");
    }
}

/* ------------------------------------------------------------------ what is the host's */

static char work[64];

static const char *in_work(const char *name, char room[256]) {
    (void)snprintf(room, 256, "%s/%s", work, name);
    return room;
}

static int make_work(void **state) {
    static const char *const folders[] = {"home",        "home/data",    "home/.config",
                                          "home/.state", "home/plugins", "home/plugins/more"};
    char path[256];
    (void)state;
    (void)snprintf(work, sizeof work, "/tmp/toolrack-policy-XXXXXX");
    assert_non_null(mkdtemp(work));
    for (size_t i = 0; i < ARRAY_LENGTH(folders); i++) {
        assert_int_equal(mkdir(in_work(folders[i], path), 0700), 0);
    }
    return 0;
}

static int remove_work(void **state) {
    (void)state;
    return remove_tree(work);
}

/* Make the policy again, of a host whose places are in the work folder. */
static void place(struct subject *subject, bool no_mounts) {
    static char paths[4][256];
    static struct scan_folder folder;
    struct toolrack_error err;
    folder = (struct scan_folder){.path = in_work("home/plugins", paths[0])};
    const struct places places = {.folders = &folder,
                                  .folder_count = 1,
                                  .config_file = in_work("home/.config/toolrack.json", paths[1]),
                                  .config_optional = true,
                                  .state_dir = in_work("home/.state", paths[2]),
                                  .data_dir = in_work("home/share/toolrack", paths[3])};
    const struct policy_options options = {.config = subject->config,
                                           .desc = &subject->desc,
                                           .trust = TRUST_COMMUNITY,
                                           .origin = "community:/somewhere",
                                           .places = &places,
                                           .no_mounts = no_mounts};
    assert_int_equal(policy_make(&options, &subject->arena, &subject->policy, &err), 0);
}

/* The policy of one path. */
static void make_placed(struct subject *subject, const char *value, bool writes, bool no_mounts) {
    static struct tr_capability one;
    static struct tr_plugin asks;
    one = (struct tr_capability){writes ? TR_CAP_WRITE : TR_CAP_READ, 0, value};
    asks = plugin;
    asks.capabilities = &one;
    asks.capability_count = 1;
    make_for(subject, &asks, "{\"policies\": {\"subject\": {\"allow\": [\"*\"]}}}", TRUST_COMMUNITY,
             ISOLATION_UNSTATED, ISOLATION_UNSTATED);
    place(subject, no_mounts);
}

static void what_is_the_hosts_is_never_granted(void **state) {
    static const char *const paths[] = {"home/.config",        "home/.config/toolrack.json",
                                        "home/.state/x",       "home/plugins/more",
                                        "home/share/toolrack", "home/data/../.state"};
    (void)state;
    for (size_t i = 0; i < 2 * ARRAY_LENGTH(paths); i++) {
        struct subject subject;
        char path[256];
        make_placed(&subject, in_work(paths[i / 2], path), i % 2 == 0, false);
        const struct sandbox_policy *sandbox = &subject.policy.sandbox;
        assert_int_equal(sandbox->read_path_count + sandbox->write_path_count, 0);
        assert_false(subject.policy.capabilities[0].allowed);
        assert_non_null(strstr(subject.policy.capabilities[0].refusal, "never granted"));
        finish(&subject);
    }
}

/* Where nothing can be hidden, the refusal says what would do. */
static void without_mounts_a_folder_above_is_refused(void **state) {
    (void)state;
    for (int writes = 0; writes < 2; writes++) {
        struct subject subject;
        char path[256];
        char narrower[300];
        make_placed(&subject, in_work("home", path), writes != 0, true);
        const char *refusal = subject.policy.capabilities[0].refusal;
        assert_non_null(refusal);
        assert_non_null(strstr(refusal, "no mount namespace"));
        (void)snprintf(narrower, sizeof narrower, "\"%s:%s/home/data\"",
                       writes != 0 ? "write" : "read", work);
        assert_non_null(strstr(refusal, narrower));
        assert_int_equal(subject.policy.sandbox.hidden_path_count, 0);
        assert_int_equal(subject.policy.sandbox.read_path_count +
                                 subject.policy.sandbox.write_path_count,
                         0);
        finish(&subject);
        make_placed(&subject, in_work("home/data", path), writes != 0, true);
        assert_true(subject.policy.capabilities[0].allowed);
        finish(&subject);
    }
}

/* The kernel's files are no files: by their paths, by links, and where they are mounted again. */
static void what_is_the_kernels_is_never_granted(void **state) {
    static const char *const paths[] = {"/proc",           "/proc/self", "/proc/self/fd",
                                        "/proc/1/environ", "/proc/sys",  "/sys",
                                        "/sys/kernel",     "/dev",       "/dev/shm",
                                        "/dev/pts",        "/dev/fd",    "home/link"};
    static const char *const devices[] = {"/dev/null", "/dev/full", "/dev/urandom"};
    char path[256];
    (void)state;
    assert_int_equal(symlink("/proc/self", in_work("home/link", path)), 0);
    for (size_t i = 0; i < 2 * ARRAY_LENGTH(paths); i++) {
        struct subject subject;
        const char *name = paths[i / 2][0] == '/' ? paths[i / 2] : in_work(paths[i / 2], path);
        make_placed(&subject, name, i % 2 == 0, false);
        const struct sandbox_policy *sandbox = &subject.policy.sandbox;
        if (subject.policy.capabilities[0].allowed) {
            fail_msg("%s was granted", name);
        }
        assert_int_equal(sandbox->read_path_count + sandbox->write_path_count, 0);
        finish(&subject);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(devices); i++) {
        struct subject subject;
        make_placed(&subject, devices[i], true, false);
        assert_true(subject.policy.capabilities[0].allowed);
        finish(&subject);
    }
    for (int writes = 0; writes < 2; writes++) { /* a shared mapping of it is memory */
        struct subject subject;
        make_placed(&subject, "/dev/zero", writes != 0, false);
        assert_int_equal(subject.policy.capabilities[0].allowed, writes == 0);
        finish(&subject);
    }
}

/* Of the whole machine they are taken out, or it is not granted. */
static void the_root_is_granted_without_what_is_the_kernels(void **state) {
    static const char *const taken[] = {"/proc", "/sys", "/dev"};
    struct subject subject;
    (void)state;
    make_placed(&subject, "/", false, true);
    assert_non_null(strstr(subject.policy.capabilities[0].refusal, "no mount namespace"));
    finish(&subject);
    make_placed(&subject, "/", false, false);
    const struct sandbox_policy *sandbox = &subject.policy.sandbox;
    for (size_t i = 0; subject.policy.capabilities[0].allowed && i < ARRAY_LENGTH(taken); i++) {
        bool found = false;
        for (size_t j = 0; j < sandbox->hidden_path_count; j++) {
            found = found || strcmp(sandbox->hidden_paths[j], taken[i]) == 0;
        }
        assert_true(found);
    }
    finish(&subject);
}

/* A sandbox has room for so many places; what it cannot protect is not granted. */
static void more_than_a_sandbox_can_protect_is_no_grant(void **state) {
    struct subject subject;
    char path[256];
    char to[256];
    char name[64];
    (void)state;
    for (unsigned i = 0; i <= SANDBOX_PATHS_MAX; i++) {
        (void)snprintf(name, sizeof name, "home/build-%u", i);
        assert_int_equal(mkdir(in_work(name, path), 0700), 0);
        (void)snprintf(name, sizeof name, "home/build-%u/x.so", i);
        (void)in_work(name, to);
        (void)snprintf(name, sizeof name, "home/plugins/%u.so", i);
        assert_int_equal(symlink(to, in_work(name, path)), 0);
    }
    make_placed(&subject, in_work("home", path), true, false);
    const char *refusal = subject.policy.capabilities[0].refusal;
    assert_non_null(refusal);
    assert_true(strstr(refusal, "places that a sandbox can protect") != NULL ||
                strstr(refusal, "no mount namespace") != NULL);
    assert_int_equal(subject.policy.sandbox.frozen_path_count, 0);
    finish(&subject);
    make_placed(&subject, in_work("home/data", path), true, false);
    assert_true(subject.policy.capabilities[0].allowed);
    finish(&subject);
}

/* What a refusal suggests is granted as it stands. */
static void no_place_of_the_host_is_suggested(void **state) {
    struct subject subject;
    char path[256];
    (void)state;
    make_placed(&subject, in_work("home", path), true, true);
    const char *refusal = subject.policy.capabilities[0].refusal;
    if (strstr(refusal, "/home/data\"") == NULL) {
        fail_msg("%s", refusal);
    }
    assert_null(strstr(refusal, "/home/plugins\""));
    assert_null(strstr(refusal, "/home/share\""));
    finish(&subject);
}

static bool has(const char *const *paths, size_t count, const char *name) {
    char path[256];
    bool found = false;
    (void)in_work(name, path);
    for (size_t i = 0; i < count; i++) {
        found = found || strcmp(paths[i], path) == 0;
    }
    return found;
}

static void a_folder_above_is_granted_without_it(void **state) {
    struct subject subject;
    char path[256];
    (void)state;
    make_placed(&subject, in_work("home", path), true, false);
    const struct sandbox_policy *sandbox = &subject.policy.sandbox;
    if (!subject.policy.capabilities[0].allowed) {
        assert_non_null(strstr(subject.policy.capabilities[0].refusal, "no mount namespace"));
        finish(&subject);
        skip();
    }
    assert_int_equal(sandbox->write_path_count, 1);
    assert_true(has(sandbox->hidden_paths, sandbox->hidden_path_count, "home/.config"));
    assert_true(has(sandbox->hidden_paths, sandbox->hidden_path_count, "home/.state"));
    assert_true(has(sandbox->hidden_paths, sandbox->hidden_path_count, "home/plugins"));
    assert_true(has(sandbox->hidden_paths, sandbox->hidden_path_count, "home/share/toolrack"));
    assert_true(has(sandbox->kept_paths, sandbox->kept_path_count, "home/share"));
    assert_int_equal(access(in_work("home/share/toolrack", path), F_OK), 0); /* made by the host */
    finish(&subject);
    /* To read, nothing has to be kept in its place. */
    make_placed(&subject, in_work("home", path), false, false);
    assert_int_equal(subject.policy.sandbox.kept_path_count, 0);
    assert_int_equal(subject.policy.sandbox.hidden_path_count, 4);
    finish(&subject);
}

static void a_link_above_is_refused(void **state) {
    struct subject subject;
    char path[256];
    char to[256];
    (void)state;
    assert_int_equal(rename(in_work("home/.state", path), in_work("state", to)), 0);
    assert_int_equal(symlink(to, path), 0);
    make_placed(&subject, in_work("home", path), true, false);
    assert_non_null(subject.policy.capabilities[0].refusal);
    assert_int_equal(subject.policy.sandbox.write_path_count, 0);
    finish(&subject);
    make_placed(&subject, in_work("state", path), true, false); /* where the link leads */
    assert_non_null(strstr(subject.policy.capabilities[0].refusal, "never granted"));
    finish(&subject);
}

static void a_program_needs_what_starts_it(void **state) {
    struct subject subject;
    char path[256];
    (void)state;
    make_one(&subject, TR_CAP_SPAWN, "/bin/sh", "spawn");
    const struct sandbox_policy *sandbox = &subject.policy.sandbox;
    assert_true(sandbox->spawn);
    assert_true(sandbox->program_count >= 1 && sandbox->program_count <= 2); /* with its loader */
    finish(&subject);
    make_one(&subject, TR_CAP_SPAWN, "sh", "spawn:sh");
    assert_true(subject.policy.sandbox.spawn);
    finish(&subject);
    make_one(&subject, TR_CAP_SPAWN, "*", "spawn");
    assert_true(subject.policy.sandbox.spawn && subject.policy.sandbox.program_count == 0);
    finish(&subject);
    make_one(&subject, TR_CAP_SPAWN, "/nonexistent/program", "spawn");
    assert_false(subject.policy.sandbox.spawn);
    assert_non_null(strstr(subject.policy.capabilities[0].refusal, "does not exist"));
    finish(&subject);
    FILE *file = fopen(in_work("script", path), "we");
    assert_non_null(file);
    (void)fputs("#! /bin/sh -e\necho\n", file);
    assert_int_equal(fclose(file), 0);
    make_one(&subject, TR_CAP_SPAWN, path, "spawn");
    assert_non_null(strstr(subject.policy.capabilities[0].refusal, "may not be executed"));
    finish(&subject);
    assert_int_equal(chmod(path, 0700), 0);
    make_one(&subject, TR_CAP_SPAWN, path, "spawn");
    assert_true(subject.policy.sandbox.program_count >= 2);
    assert_string_equal(subject.policy.sandbox.programs[0], path);
    finish(&subject);
}

/* What is allowed and cannot work is not shown as allowed. */
static void what_grants_nothing_is_refused_with_words(void **state) {
    (void)state;
    static const struct {
        uint32_t kind;
        const char *value;
        const char *says;
    } rows[] = {
            {TR_CAP_READ, "etc", "begin it with /"},
            {TR_CAP_READ, "", "begin it with /"},
            {TR_CAP_WRITE, "~/.config", "${home}"},
            {TR_CAP_READ, "$${home}", "begin it with /"},
            {TR_CAP_READ, "${state}", "${state} has no value"},
            {TR_CAP_READ, "${setting:x}", "toolrack set subject"},
            {TR_CAP_WRITE, "${data}/x", "${data} has no value"}, /* of a host without places */
            {TR_CAP_READ, "/nonexistent/a/../b", "without \"..\""},
            {TR_CAP_ENV, "*", "not the name of one variable"},
            {TR_CAP_ENV, "LD_*", "never passed"},
            {TR_CAP_ENV, "", "not the name of one variable"},
            {TR_CAP_NETWORK, "*:0", "1 to 65535"},
            {TR_CAP_SPAWN, "bin/sh", "absolute path"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        struct subject subject;
        make_one(&subject, rows[i].kind, rows[i].value,
                 rows[i].kind == TR_CAP_NETWORK ? "network:*" : "*");
        const struct policy_capability *one = &subject.policy.capabilities[0];
        bool is_network = rows[i].kind == TR_CAP_NETWORK; /* no allowance covers a wrong one */
        if (one->allowed ||
            (!is_network && (one->refusal == NULL || strstr(one->refusal, rows[i].says) == NULL))) {
            fail_msg("'%s': %d, %s", rows[i].value, one->allowed,
                     one->refusal != NULL ? one->refusal : "not refused");
        }
        finish(&subject);
    }
}

/* ------------------------------------------------------------------ what is written decides
 * nothing */

/* The policy of several capabilities, all of which are allowed, of a host whose places are in the
 * work folder. */
static void make_all(struct subject *subject, const struct tr_capability *all, uint32_t count) {
    static struct tr_plugin asks;
    asks = plugin;
    asks.capabilities = all;
    asks.capability_count = count;
    make_for(subject, &asks, "{\"policies\": {\"subject\": {\"allow\": [\"*\"]}}}", TRUST_COMMUNITY,
             ISOLATION_UNSTATED, ISOLATION_UNSTATED);
    place(subject, false);
}

static void make_folder(const char *name) {
    char path[256];
    assert_int_equal(mkdir(in_work(name, path), 0700), 0);
}

static void make_file(const char *name, const char *text) {
    char path[256];
    FILE *file = fopen(in_work(name, path), "we");
    assert_non_null(file);
    (void)fputs(text, file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, 0700), 0);
}

static void make_link(const char *target, const char *name) {
    char path[256];
    assert_int_equal(symlink(target, in_work(name, path)), 0);
}

/* A granted folder below a granted one adds nothing, and as a link to elsewhere is no grant. */
static void a_grant_in_a_writable_folder_leads_nowhere_else(void **state) {
    static const uint32_t kinds[] = {TR_CAP_READ, TR_CAP_WRITE};
    struct subject subject;
    char paths[5][256];
    (void)state;
    make_folder("w");
    make_folder("w/y");
    make_folder("w/z");
    for (size_t i = 0; i < ARRAY_LENGTH(kinds); i++) {
        /* The narrower one first: their order does not matter. */
        const struct tr_capability all[] = {{kinds[i], 0, in_work("w/y", paths[0])},
                                            {TR_CAP_WRITE, 0, in_work("w", paths[1])},
                                            {kinds[i], 0, in_work("w/none/x", paths[2])}};
        make_all(&subject, all, 3);
        const struct sandbox_policy *sandbox = &subject.policy.sandbox;
        assert_true(subject.policy.capabilities[0].allowed);
        assert_true(subject.policy.capabilities[2].allowed);
        assert_int_equal(sandbox->read_path_count, 0);
        assert_int_equal(sandbox->write_path_count, 1);
        assert_string_equal(sandbox->write_paths[0], paths[1]);
        finish(&subject);
        /* What the plugin makes of it. */
        assert_int_equal(rename(paths[0], in_work("w/old", paths[3])), 0);
        make_link(in_work("home", paths[4]), "w/y");
        make_all(&subject, all, 3);
        assert_false(subject.policy.capabilities[0].allowed);
        assert_non_null(strstr(subject.policy.capabilities[0].refusal, "a link to anywhere"));
        assert_non_null(strstr(subject.policy.capabilities[0].refusal, paths[4]));
        assert_string_equal(subject.policy.capabilities[0].path, paths[4]);
        assert_int_equal(subject.policy.sandbox.read_path_count, 0);
        assert_int_equal(subject.policy.sandbox.write_path_count, 1);
        assert_int_equal(subject.policy.sandbox.hidden_path_count, 0);
        finish(&subject);
        /* Twice the same, each of which would contain the other. */
        const struct tr_capability twice[] = {all[1], all[0], all[0]};
        make_all(&subject, twice, 3);
        assert_false(subject.policy.capabilities[1].allowed);
        assert_false(subject.policy.capabilities[2].allowed);
        finish(&subject);
        /* A link that stays in the writable folder. */
        assert_int_equal(unlink(paths[0]), 0);
        make_link("z", "w/y");
        make_all(&subject, all, 3);
        assert_true(subject.policy.capabilities[0].allowed);
        assert_int_equal(subject.policy.sandbox.write_path_count, 1);
        finish(&subject);
        assert_int_equal(unlink(paths[0]), 0);
        assert_int_equal(rename(paths[3], paths[0]), 0);
    }
}

/* A link of a person on the way is followed, where the plugin may not write. */
static void a_link_elsewhere_is_followed(void **state) {
    struct subject subject;
    char paths[3][256];
    (void)state;
    make_folder("w");
    make_link("home/data", "there");
    const struct tr_capability all[] = {{TR_CAP_READ, 0, in_work("there", paths[0])},
                                        {TR_CAP_WRITE, 0, in_work("w", paths[1])}};
    make_all(&subject, all, 2);
    assert_true(subject.policy.capabilities[0].allowed);
    assert_int_equal(subject.policy.sandbox.read_path_count, 1);
    assert_string_equal(subject.policy.sandbox.read_paths[0], in_work("home/data", paths[2]));
    finish(&subject);
}

static void is_no_program(const struct tr_capability *all, uint32_t count, const char *says) {
    struct subject subject;
    make_all(&subject, all, count);
    const struct policy_capability *one = &subject.policy.capabilities[0];
    if (one->allowed || one->refusal == NULL || strstr(one->refusal, says) == NULL ||
        subject.policy.sandbox.spawn || subject.policy.sandbox.program_count != 0) {
        fail_msg("%s: '%s', not '%s'", one->declared->value,
                 one->refusal != NULL ? one->refusal : "", says);
    }
    finish(&subject);
}

/* What a setting names is judged like what a plugin names. */
static void a_program_may_be_that_of_a_setting(void **state) {
    static const struct {
        const char *value;
        const char *refused; /* NULL: granted */
    } rows[] = {{"${setting:programs/0}", NULL},
                {"${setting:programs/1}", "neither an absolute path nor a name"},
                {"${setting:programs/2}", "is not a file"},
                {"${setting:programs/3}", "* "},
                {"${setting:programs/4}", "is no text"},
                {"${setting:programs/5}", "is not set"}};
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        const struct tr_capability asked = {TR_CAP_SPAWN, 0, rows[i].value};
        struct tr_plugin asks = plugin;
        struct subject subject;
        asks.capabilities = &asked;
        asks.capability_count = 1;
        make_for(&subject, &asks,
                 "{\"plugins\": {\"subject\": {\"programs\": [\"/bin/sh\", \"bin/sh\", \"/etc\", "
                 "\"*\", "
                 "7]}}, \"policies\": {\"subject\": {\"allow\": [\"spawn\"]}}}",
                 TRUST_COMMUNITY, ISOLATION_UNSTATED, ISOLATION_UNSTATED);
        place(&subject, false);
        const struct policy_capability *one = &subject.policy.capabilities[0];
        bool is_granted = rows[i].refused == NULL;
        assert_int_equal(one->allowed, is_granted);
        assert_int_equal(subject.policy.sandbox.spawn, is_granted);
        if (!is_granted &&
            (one->refusal == NULL || strstr(one->refusal, rows[i].refused) == NULL)) {
            fail_msg("%s: %s", rows[i].value, one->refusal != NULL ? one->refusal : "no reason");
        }
        finish(&subject);
    }
}

/* Folders, pipes, what is the host's and the kernel's, and what is no program: a grant to execute
 * is one to read. */
static void a_program_is_one_file_and_not_the_hosts(void **state) {
    struct subject subject;
    char path[256];
    char text[300];
    static const char *const lines[] = {"home/.config/toolrack.json", "home/.state/toolrack.db",
                                        "home/plugins/tool"};
    static const char *const folders[] = {"/", "/proc", "/usr/bin", "/etc"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(folders); i++) {
        is_no_program(&(struct tr_capability){TR_CAP_SPAWN, 0, folders[i]}, 1, "is not a file");
    }
    for (size_t i = 0; i < ARRAY_LENGTH(lines); i++) {
        make_file(lines[i], "#!/bin/sh\n");
        is_no_program(&(struct tr_capability){TR_CAP_SPAWN, 0, in_work(lines[i], path)}, 1,
                      "never granted");
        (void)snprintf(text, sizeof text, "#! %s -x\n", in_work(lines[i], path));
        make_file("script", text); /* its interpreter is read and executed too */
        is_no_program(&(struct tr_capability){TR_CAP_SPAWN, 0, in_work("script", path)}, 1,
                      "never granted");
    }
    make_file("script", "#!/etc\n");
    is_no_program(&(struct tr_capability){TR_CAP_SPAWN, 0, path}, 1, "/etc is not a file");
    make_file("script", "#!/nonexistent/sh\n");
    is_no_program(&(struct tr_capability){TR_CAP_SPAWN, 0, path}, 1, "does not exist");
    make_file("script", "#!sh\n");
    is_no_program(&(struct tr_capability){TR_CAP_SPAWN, 0, path}, 1, "without an absolute path");
    make_file("script", "secret\n");
    is_no_program(&(struct tr_capability){TR_CAP_SPAWN, 0, path}, 1, "is no program");
    (void)snprintf(text, sizeof text, "#!%s\n", path);
    make_file("script", text);
    is_no_program(&(struct tr_capability){TR_CAP_SPAWN, 0, path}, 1, "one too many");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0700), 0);
    is_no_program(&(struct tr_capability){TR_CAP_SPAWN, 0, path}, 1, "is not a file");
    make_all(&subject, &(struct tr_capability){TR_CAP_SPAWN, 0, "/bin/sh"}, 1);
    assert_true(subject.policy.capabilities[0].allowed);
    assert_non_null(subject.policy.capabilities[0].path);
    finish(&subject);
}

/* The head of a program of ELF, and the loader that it names. */
static void make_elf(const char *name, const char *loader) {
    char path[256];
    Elf64_Ehdr head = {.e_phoff = sizeof head, .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 1};
    Elf64_Phdr part = {.p_type = PT_INTERP,
                       .p_offset = sizeof head + sizeof part,
                       .p_filesz = strlen(loader) + 1};
    memcpy(head.e_ident, ELFMAG, SELFMAG);
    FILE *file = fopen(in_work(name, path), "we");
    assert_non_null(file);
    assert_int_equal(fwrite(&head, sizeof head, 1, file), 1);
    assert_int_equal(fwrite(&part, sizeof part, 1, file), 1);
    assert_int_equal(fwrite(loader, strlen(loader) + 1, 1, file), 1);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, 0700), 0);
}

static void the_loader_of_a_program_is_judged_like_it(void **state) {
    char loader[256];
    char path[256];
    (void)state;
    make_elf("program", in_work("home/.state", loader));
    const struct tr_capability one = {TR_CAP_SPAWN, 0, in_work("program", path)};
    is_no_program(&one, 1, "is not a file");
    make_file("home/.state/toolrack.db", "#!/bin/sh\n");
    make_elf("program", in_work("home/.state/toolrack.db", loader));
    is_no_program(&one, 1, "is a script");
    make_elf("home/.state/toolrack.db", "/bin/sh");
    is_no_program(&one, 1, "never granted");
    make_elf("program", "ld.so");
    is_no_program(&one, 1, "without an absolute path");
}

/* It could become anything: the program, a link or a folder on its way, its interpreter, its
 * loader, by whatever name. */
static void a_program_that_the_plugin_may_write_is_no_grant(void **state) {
    struct subject subject;
    char paths[4][256];
    char text[300];
    (void)state;
    make_folder("w");
    make_folder("w/bin");
    make_folder("x");
    make_file("w/bin/prog", "#!/bin/sh\n");
    make_link("w/bin/prog", "link");
    make_link("/bin/sh", "w/shell");
    struct tr_capability all[] = {{TR_CAP_SPAWN, 0, in_work("w/bin/prog", paths[0])},
                                  {TR_CAP_WRITE, 0, in_work("w", paths[1])}};
    is_no_program(all, 2, "could become anything");
    all[0].value = in_work("link", paths[0]);
    is_no_program(all, 2, "could become anything");
    all[0].value = in_work("w/shell", paths[0]);
    is_no_program(all, 2, "by way of");
    (void)snprintf(text, sizeof text, "#!%s\n", in_work("w/shell", paths[0]));
    make_file("x/prog", text);
    all[0].value = in_work("x/prog", paths[0]);
    is_no_program(all, 2, "by way of");
    make_elf("w/loader", "/bin/sh");
    make_elf("x/prog", in_work("w/loader", paths[2]));
    is_no_program(all, 2, "could become anything");
    make_file("x/prog", "#!/bin/sh\n");
    all[1].value = paths[0]; /* the file alone */
    is_no_program(all, 2, "could become anything");
    all[1].value = in_work("w", paths[1]);
    assert_int_equal(link(paths[0], in_work("w/second", paths[3])), 0);
    is_no_program(all, 2, "several names");
    assert_int_equal(unlink(paths[3]), 0);
    make_all(&subject, all, 2); /* elsewhere */
    assert_true(subject.policy.capabilities[0].allowed);
    assert_string_equal(subject.policy.sandbox.programs[0], paths[0]);
    finish(&subject);
    all[1].kind = TR_CAP_READ;
    all[1].value = in_work("x", paths[1]);
    make_all(&subject, all, 2); /* reading is no writing */
    assert_true(subject.policy.capabilities[0].allowed);
    finish(&subject);
}

static void data_belongs_to_an_identity(void **state) {
    (void)state;
    const struct places places = {.data_dir = "/data"};
    struct arena arena;
    arena_init(&arena, NULL, 0);
    const char *one = data_folder(&arena, &places, "subject", "community:/a");
    const char *other = data_folder(&arena, &places, "subject", "community:/b");
    const char *same = data_folder(&arena, &places, "subject", "community:/a");
    assert_true(one != NULL && other != NULL && same != NULL);
    assert_string_equal(one, same);
    assert_string_not_equal(one, other);
    assert_int_equal(strncmp(one, "/data/data/subject-", 19), 0);
    arena_finish(&arena);
}

static void data_is_for_this_user_alone(void **state) {
    char path[256];
    struct stat st;
    struct arena arena;
    (void)state;
    arena_init(&arena, NULL, 0);
    assert_null(data_make(&arena, in_work("share/data/a", path)));
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    assert_int_equal(chmod(path, 0755), 0);
    assert_non_null(strstr(data_make(&arena, path), "0700"));
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(symlink("/tmp", path), 0);
    assert_non_null(data_make(&arena, path));
    arena_finish(&arena);
}

static enum isolation isolation_of(const char *text, enum isolation folder, enum isolation app) {
    struct subject subject;
    make(&subject, text, TRUST_COMMUNITY, folder, app);
    enum isolation isolation = subject.policy.isolation;
    finish(&subject);
    return isolation;
}

static void who_says_more_exactly_decides_on_isolation(void **state) {
    (void)state;
    static const char none[] = "{\"isolation\": \"none\"}";
    static const char plugin_none[] = "{\"policies\": {\"subject\": {\"isolation\": \"none\"}}}";
    assert_int_equal(isolation_of("{}", ISOLATION_UNSTATED, ISOLATION_NONE), ISOLATION_NONE);
    assert_int_equal(isolation_of(none, ISOLATION_UNSTATED, ISOLATION_PROCESS), ISOLATION_NONE);
    assert_int_equal(isolation_of(none, ISOLATION_PROCESS, ISOLATION_NONE), ISOLATION_PROCESS);
    assert_int_equal(isolation_of(plugin_none, ISOLATION_PROCESS, ISOLATION_PROCESS),
                     ISOLATION_NONE);
}

static void a_wrong_policy_is_refused(void **state) {
    (void)state;
    is_refused("{\"isolation\": \"thread\"}", "must be one of \"process\", \"none\"");
    is_refused("{\"pin\": \"always\"}", "\"enforce\"");
    is_refused("{\"require_sandbox\": 1}", "must be a boolean");
    is_refused("{\"spare_worker\": \"yes\"}", "must be a boolean");
    is_refused("{\"paths\": {\"workspace\": \"work\"}}", "absolute path, or begin with ~/");
    is_refused("{\"paths\": {\"workspace\": \"~ann/work\"}}", "absolute");
    is_refused("{\"policies\": []}", "by plugin id");
    is_refused("{\"policies\": {\"a\": {\"allow\": [\"reads\"]}}}", "\"read\"");
    is_refused("{\"policies\": {\"a\": {\"memory_mb\": 0}}}", "/policies/a/memory_mb");
    is_refused("{\"policies\": {\"a\": {\"memory\": 5}}}",
               "unknown key \"memory\"; did you mean \"memory_mb\"?");
    is_refused("{\"pin\\u0000s\": \"warn\"}",
               "the key that begins with \"pin\" has a zero character (\\u0000) in it; remove");
    is_refused("{\"folders\": [{\"path\": \"/a\", \"isolation\": 1}]}", "\"process\"");
}

/* What the schema of configurations allows, a crew takes. */
static void a_policy_asks_for_no_more_than_a_crew_takes(void **state) {
    (void)state;
    static const struct {
        const char *key;
        unsigned max;
    } limits[] = {{"crashes", CREW_CRASHES_KEPT},
                  {"backoff_ms", CREW_BACKOFF_MS_MAX},
                  {"backoff_max_ms", CREW_BACKOFF_MS_MAX}};
    for (size_t i = 0; i < ARRAY_LENGTH(limits); i++) {
        char text[128];
        struct subject subject;
        (void)snprintf(text, sizeof text, "{\"policies\": {\"subject\": {\"%s\": %u}}}",
                       limits[i].key, limits[i].max);
        make(&subject, text, TRUST_COMMUNITY, ISOLATION_UNSTATED, ISOLATION_UNSTATED);
        const struct crew_limits *taken = &subject.policy.limits;
        assert_int_equal(taken->crashes_max + taken->backoff_ms + taken->backoff_ms_max,
                         limits[i].max);
        finish(&subject);
        (void)snprintf(text, sizeof text, "{\"policies\": {\"subject\": {\"%s\": %u}}}",
                       limits[i].key, limits[i].max + 1);
        is_refused(text, limits[i].key);
    }
}

#define WITH_WORK(name) cmocka_unit_test_setup_teardown(name, make_work, remove_work)
int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(nothing_is_allowed_by_default),
            cmocka_unit_test(a_builtin_plugin_may_read_what_it_declares),
            cmocka_unit_test(what_is_allowed_and_declared_is_granted),
            cmocka_unit_test(a_folder_may_be_in_the_home_folder),
            cmocka_unit_test(everything_can_be_allowed),
            cmocka_unit_test(a_network_grant_says_what_it_gives),
            cmocka_unit_test(no_variable_changes_the_loader),
            cmocka_unit_test(what_cannot_be_allowed_is_refused_with_words),
            WITH_WORK(what_is_the_hosts_is_never_granted),
            WITH_WORK(without_mounts_a_folder_above_is_refused),
            WITH_WORK(what_is_the_kernels_is_never_granted),
            WITH_WORK(the_root_is_granted_without_what_is_the_kernels),
            WITH_WORK(no_place_of_the_host_is_suggested),
            WITH_WORK(more_than_a_sandbox_can_protect_is_no_grant),
            WITH_WORK(a_folder_above_is_granted_without_it),
            WITH_WORK(a_link_above_is_refused),
            WITH_WORK(a_program_needs_what_starts_it),
            WITH_WORK(a_program_is_one_file_and_not_the_hosts),
            WITH_WORK(a_program_may_be_that_of_a_setting),
            WITH_WORK(the_loader_of_a_program_is_judged_like_it),
            WITH_WORK(a_program_that_the_plugin_may_write_is_no_grant),
            WITH_WORK(a_grant_in_a_writable_folder_leads_nowhere_else),
            WITH_WORK(a_link_elsewhere_is_followed),
            cmocka_unit_test(what_grants_nothing_is_refused_with_words),
            WITH_WORK(data_is_for_this_user_alone),
            cmocka_unit_test(data_belongs_to_an_identity),
            cmocka_unit_test(who_says_more_exactly_decides_on_isolation),
            cmocka_unit_test(a_wrong_policy_is_refused),
            cmocka_unit_test(a_policy_asks_for_no_more_than_a_crew_takes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
