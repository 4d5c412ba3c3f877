/* The host object: its configuration, and opening and closing it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "config/config.h"

/* Read `text` as a configuration. */
static int read_text(const char *text, size_t length, struct config **config,
                     struct toolrack_error *err) {
    char path[] = "/tmp/toolrack-test-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, length), length);
    (void)close(fd);
    int code = config_create(&(struct config_options){.path = path}, config, err);
    (void)unlink(path);
    return code;
}

static void is_read(const char *text, struct config **config) {
    struct toolrack_error err = {0};
    if (read_text(text, strlen(text), config, &err) < 0) {
        fail_msg("%s: %s", text, err.message);
    }
}

static void is_refused(const char *text, const char *reason) {
    struct config *config = NULL;
    struct toolrack_error err = {0};
    assert_int_equal(read_text(text, strlen(text), &config, &err), TOOLRACK_E_INVALID);
    if (strstr(err.message, reason) == NULL) {
        fail_msg("'%s' is not in: %s", reason, err.message);
    }
}

static void a_configuration_is_read(void **state) {
    (void)state;
    struct config *config = NULL;
    is_read("// a comment\n{\"folders\": [\"/a\", {\"path\": \"/b\", \"trust\": \"official\"}], "
            "/**/\n"
            "\"deadline_ms\": 5, \"duplicates\": \"replace\", \"grants\": [\"wipe\"],}",
            &config);
    assert_int_equal(config_settings(config)->folder_count, 2);
    assert_string_equal(config_settings(config)->folders[1].path, "/b");
    assert_int_equal(config_settings(config)->folders[1].trust, TRUST_OFFICIAL);
    assert_int_equal(config_settings(config)->deadline_ms, 5);
    assert_true(config_settings(config)->replaces_duplicates);
    assert_true(config_grants(config, "wipe", "1.0.0"));
    assert_false(config_grants(config, "wip", "1.0.0"));
    config_destroy(config);
    is_read("{}", &config);
    assert_int_equal(config_settings(config)->folder_count, 0);
    assert_false(config_grants(config, "", "1.0.0"));
    assert_null(config_plugin_setting(config, "p", "key"));
    config_destroy(config);
}

static void a_wrong_configuration_is_refused(void **state) {
    (void)state;
    is_refused("", "line 1");
    is_refused("{\"folders\": [\n", "line 2");
    is_refused("[]", "the file must be an object");
    is_refused("{\"folder\": []}", "did you mean \"folders\"?");
    is_refused("{\"folders\": \"/a\"}", "/folders");
    is_refused("{\"folders\": [3]}", "/folders");
    is_refused("{\"folders\": [{\"path\": \"/a\", \"trust\": \"mine\"}]}", "/folders/0/trust");
    is_refused("{\"deadline_ms\": 0}", "/deadline_ms");
    is_refused("{\"deadline_ms\": 4294967295}", "/deadline_ms");
    is_refused("{\"duplicates\": true}", "/duplicates");
    is_refused("{\"grants\": [1]}", "/grants");
    is_refused("{\"plugins\": {\"p\": 1}}", "/plugins");
    is_refused("{\"folders\": [\"/a\", \"/b\"], \"folders\": [\"/c\"]}", "twice");
    is_refused("{\"grants\": [\"a\"], \"grants\": []}", "twice");
    char *deep = malloc(200001);
    assert_non_null(deep);
    memset(deep, '[', 200000);
    deep[200000] = '\0';
    is_refused(deep, "line 1");
    free(deep);
    char *large = malloc(CONFIG_SIZE_MAX + 2);
    assert_non_null(large);
    memset(large, ' ', CONFIG_SIZE_MAX + 1);
    large[CONFIG_SIZE_MAX + 1] = '\0';
    is_refused(large, "at most");
    free(large);
}

/* Paths are those of the getters in toolrack/plugin.h. */
static void settings_of_a_plugin_go_by_path(void **state) {
    (void)state;
    struct config *config = NULL;
    is_read("{\"plugins\": {\"p\": {\"file\": \"/x\", \"n\": 3, \"none\": null, \"a/b\": true,"
            "\"deep\": {\"list\": [1, {\"name\": \"two\"}]}}}}",
            &config);
    static const char *const cases[][2] = {
            {"file", "/x"},
            {"/file", "/x"},
            {"n", "3"},
            {"none", NULL},
            {"other", NULL},
            {"deep/list/1/name", "two"},
            {"/deep/list/1/name", "two"},
            {"deep/list", "[1,{\"name\":\"two\"}]"},
            {"a~1b", "true"},
            {"deep/", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *got = config_plugin_setting(config, "p", cases[i][0]);
        if (cases[i][1] == NULL || got == NULL) {
            assert_ptr_equal(got, cases[i][1]);
        } else {
            assert_string_equal(got, cases[i][1]);
        }
    }
    assert_non_null(config_plugin_setting(config, "p", ""));
    assert_null(config_plugin_setting(config, "q", "file"));
    config_destroy(config);
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(a_configuration_is_read),
            cmocka_unit_test(a_wrong_configuration_is_refused),
            cmocka_unit_test(settings_of_a_plugin_go_by_path),
    };
    return cmocka_run_group_tests_name("api", tests, NULL, NULL);
}
