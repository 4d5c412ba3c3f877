/* What a plugin may do: its declared capabilities against what the administrator allows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "life/policy.h"

static const struct tr_capability declared[] = {
        {TR_CAP_READ, 0, "${workspace}/data"},     {TR_CAP_READ, 0, "${setting:table}"},
        {TR_CAP_WRITE, 0, "/var/tmp/out"},         {TR_CAP_NETWORK, 0, "example.org:443"},
        {TR_CAP_NETWORK, 0, "example.org:8080"},   {TR_CAP_SPAWN, 0, "/bin/true"},
        {TR_CAP_ENV, 0, "TOOLRACK_TEST_VARIABLE"}, {TR_CAP_READ, 0, "${nowhere}/x"},
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
static void make(struct subject *subject, const char *text, enum trust trust, enum isolation folder,
                 enum isolation app) {
    char path[] = "/tmp/toolrack-test-XXXXXX";
    struct toolrack_error err = {0};
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    (void)close(fd);
    *subject = (struct subject){.desc.plugin = &plugin};
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
         "[\"read:${workspace}/data\", \"read:/etc\", \"network:example.org:443\", \"spawn\", "
         "\"env\"], \"memory_mb\": 64, \"workers\": 2, \"cpu_s\": 5}}}",
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
    assert_int_equal(subject.policy.limits.workers_max, 2);
    finish(&subject);
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
    assert_true(nowhere->allowed);
    assert_null(nowhere->path);
    finish(&subject);
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

static void a_wrong_policy_is_refused(void **state) {
    (void)state;
    is_refused("{\"isolation\": \"thread\"}", "must be one of \"process\", \"none\"");
    is_refused("{\"pin\": \"always\"}", "\"enforce\"");
    is_refused("{\"require_sandbox\": 1}", "must be a boolean");
    is_refused("{\"paths\": {\"workspace\": \"work\"}}", "absolute");
    is_refused("{\"policies\": []}", "by plugin id");
    is_refused("{\"policies\": {\"a\": {\"allow\": [\"reads\"]}}}", "\"read\"");
    is_refused("{\"policies\": {\"a\": {\"memory_mb\": 0}}}", "/policies/a/memory_mb");
    is_refused("{\"policies\": {\"a\": {\"memory\": 5}}}",
               "unknown key \"memory\"; did you mean \"memory_mb\"?");
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

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(nothing_is_allowed_by_default),
            cmocka_unit_test(a_builtin_plugin_may_read_what_it_declares),
            cmocka_unit_test(what_is_allowed_and_declared_is_granted),
            cmocka_unit_test(everything_can_be_allowed),
            cmocka_unit_test(who_says_more_exactly_decides_on_isolation),
            cmocka_unit_test(a_wrong_policy_is_refused),
            cmocka_unit_test(a_policy_asks_for_no_more_than_a_crew_takes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
