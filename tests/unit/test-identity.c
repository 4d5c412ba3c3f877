/* Who may use a plugin's id and a tool's name: several files say the same, from one folder and from
 * several, at once and one after the other. */
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "plain-commands.h"
#include "toolrack/plugin.h"
#include "toolrack/toolrack.h"

#include <cmocka.h> /* after plugin.h: it defines a macro named fail */

/* ----------------------------------------------------------------- fixture */

static char dir[64];
static char config_file[96];
static struct toolrack *host;
static struct toolrack_error err;
static char logged[8192];
static const char *state_name; /* of the state folder; "": the host keeps no state */

static int make_folder(void **state) {
    (void)state;
    (void)snprintf(dir, sizeof dir, "%s/toolrack-test-XXXXXX",
                   access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (mkdtemp(dir) == NULL) {
        return -1;
    }
    (void)snprintf(config_file, sizeof config_file, "%s/toolrack.json", dir);
    static const char *const folders[] = {"a", "b", "builtin", "data", "state"};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        char path[96];
        (void)snprintf(path, sizeof path, "%s/%s", dir, folders[i]);
        (void)mkdir(path, 0755);
        if (i == 2) {
            (void)setenv("TOOLRACK_BUILTIN_DIR", path, 1);
        } else if (i == 3) {
            (void)setenv("XDG_DATA_HOME", path, 1);
        }
    }
    host = NULL;
    state_name = "state";
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    char command[96];
    toolrack_close(host);
    host = NULL;
    (void)snprintf(command, sizeof command, "rm -rf '%s'", dir);
    return system(command);
}

/* Put a fixture plugin into a folder, as a new file. */
static void install(const char *folder, const char *name, const char *fixture) {
    char command[1024];
    (void)snprintf(command, sizeof command, "rm -f '%s/%s/%s.so' && cp '%s/%s.so' '%s/%s/%s.so'",
                   dir, folder, name, TEST_PLUGINS, fixture, dir, folder, name);
    assert_int_equal(system(command), 0);
}

static void uninstall(const char *folder, const char *name) {
    char path[128];
    (void)snprintf(path, sizeof path, "%s/%s/%s.so", dir, folder, name);
    assert_int_equal(unlink(path), 0);
}

static void take_log(void *user, enum toolrack_log_level level, const char *source,
                     const char *line) {
    (void)user;
    size_t length = strlen(logged);
    if (level >= TOOLRACK_LOG_WARNING) {
        (void)snprintf(logged + length, sizeof logged - length, "%s: %s\n", source, line);
    }
}

/* Open a host on the folder a, b (of a trust), and builtin. `more` is added to the configuration.
 */
static void open_host(const char *a, const char *b, const char *more) {
    toolrack_close(host);
    host = NULL;
    char state_dir[96];
    (void)snprintf(state_dir, sizeof state_dir, "%s/%s", dir, state_name);
    FILE *file = fopen(config_file, "w");
    assert_non_null(file);
    (void)fprintf(file,
                  "{\"folders\": [{\"path\": \"%s/a\", \"trust\": \"%s\"}, {\"path\": \"%s/b\", "
                  "\"trust\": \"%s\"}]%s}",
                  dir, a, dir, b, more);
    assert_int_equal(fclose(file), 0);
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    options.config_file = config_file;
    options.state_dir = state_name[0] != '\0' ? state_dir : "";
    options.isolation = TOOLRACK_ISOLATION_NONE;
    options.log = take_log;
    logged[0] = '\0';
    if (toolrack_open(&options, &host, &err) < 0) {
        fail_msg("%s", err.message);
    }
}

/* What a call answers, or the name of its error. */
static const char *answer(const char *name) {
    static char text[64];
    struct toolrack_result *result = NULL;
    int code = toolrack_call(host, name, "{}", NULL, &result, &err);
    (void)snprintf(text, sizeof text, "%s",
                   code < 0 ? toolrack_code_name(code) : toolrack_result_text(result, NULL));
    toolrack_result_free(result);
    return text;
}

static void assert_answer(const char *name, const char *expected) {
    const char *text = answer(name);
    if (strcmp(text, expected) != 0) {
        fail_msg("%s: '%s', not '%s' (%s)\n%s", name, text, expected, err.message, logged);
    }
}

/* The number of rows of a rule; each has all parts in its file, reason or fix. */
static size_t count_rows(const char *rule, const char *part, const char *other_part) {
    struct toolrack_refusals *refused = NULL;
    size_t count = 0;
    assert_int_equal(toolrack_refused(host, &refused, &err), 0);
    for (size_t i = 0; i < toolrack_refusals_count(refused); i++) {
        const struct toolrack_refusal *row = toolrack_refusals_get(refused, i);
        if (strcmp(row->rule, rule) != 0) {
            continue;
        }
        char text[2048];
        (void)snprintf(text, sizeof text, "%s: %s; %s", row->file, row->reason, row->fix);
        if (strstr(plain_commands(text), part) == NULL || strstr(text, other_part) == NULL) {
            fail_msg("'%s' does not say '%s' and '%s'", text, part, other_part);
        }
        count++;
    }
    toolrack_refusals_free(refused);
    return count;
}

/* How many decisions there are that have a part in their row. */
static size_t count_decisions(const char *decision, const char *part) {
    struct toolrack_text *text = NULL;
    char word[64];
    size_t count = 0;
    (void)snprintf(word, sizeof word, "\"decision\":\"%s\"", decision);
    assert_int_equal(toolrack_decisions(host, NULL, &text, &err), 0);
    for (const char *at = toolrack_text_data(text, NULL), *end; (end = strchr(at, '}')) != NULL;
         at = end + 1) {
        const char *found = strstr(at, word);
        const char *found_part = strstr(at, part);
        count += found != NULL && found < end && found_part != NULL && found_part < end;
    }
    toolrack_text_unref(text);
    return count;
}

static void assert_logged(const char *part) {
    if (strstr(logged, part) == NULL) {
        fail_msg("'%s' was not logged:\n%s", part, logged);
    }
}

/* --------------------------------------------------------------------- ids */

static void the_higher_trust_has_the_id_whatever_comes_first(void **state) {
    (void)state;
    install("a", "forged", "claim-forged");
    install("b", "claim", "claim");
    open_host("community", "official", "");
    assert_answer("calc", "claim 1");
    assert_int_equal(count_rows("plugin-exists", "/a/forged.so", "/b/claim.so"), 1);
    assert_logged("Plugin already exists: claim");
    assert_int_equal(count_decisions("refused", "/b/claim.so"), 1);
    assert_int_equal(count_decisions("refused", "/a/forged.so: "), 1);
    /* It is told at each start, and decided once. */
    open_host("community", "official", "");
    assert_logged("Plugin already exists: claim");
    assert_int_equal(count_decisions("refused", "/b/claim.so"), 1);
}

static void who_was_seen_first_keeps_the_id(void **state) {
    (void)state;
    install("b", "claim", "claim");
    open_host("community", "community", "");
    install("a", "forged", "claim-forged");
    open_host("community", "community", "");
    assert_answer("calc", "claim 1");
    assert_int_equal(count_rows("plugin-exists", "/a/forged.so", "/b/claim.so"), 1);
}

/* What the configuration says about an id is not for who comes later and says the same id. */
static void an_absent_owner_is_not_replaced_by_anybody(void **state) {
    (void)state;
    static const char policy[] = ", \"policies\": {\"claim\": {\"workers\": 2}}";
    install("a", "claim", "claim");
    open_host("community", "community", policy);
    assert_answer("calc", "claim 1");
    uninstall("a", "claim");
    install("b", "my forged", "claim-forged");
    open_host("community", "community", policy);
    assert_answer("calc", "NotFound");
    assert_int_equal(
            count_rows("plugin-bound", "say so: toolrack adopt '/", "/b/my forged.so'; else"), 1);
    assert_int_equal(toolrack_adopt(host, "claim", "ann", &err), 0);
    assert_answer("calc", "forged");
    assert_int_equal(count_decisions("adopted", "\"who\":\"ann\""), 1);
    open_host("community", "community", policy);
    assert_answer("calc", "forged");
    assert_int_equal(toolrack_adopt(host, "claim", "ann", &err), TOOLRACK_E_INVALID);
}

/* What another process adopts serves in a host that runs. */
static void an_adoption_reaches_running_hosts(void **state) {
    (void)state;
    install("a", "claim", "claim");
    open_host("community", "community", "");
    assert_answer("calc", "claim 1");
    assert_int_equal(toolrack_grant(host, "wipe", 0, "ann", &err), 0);
    uninstall("a", "claim");
    install("b", "forged", "claim-forged");
    open_host("community", "community", "");
    assert_answer("calc", "NotFound");
    struct toolrack *running = host;
    host = NULL;
    open_host("community", "community", "");
    assert_int_equal(toolrack_adopt(host, "claim", "ann", &err), 0);
    struct toolrack_reached reached = TOOLRACK_REACHED_INIT;
    toolrack_reached(host, &reached);
    assert_int_equal(reached.applied, 1);
    toolrack_close(host);
    host = running;
    assert_answer("calc", "forged");
    assert_int_equal(count_rows("plugin-bound", "", ""), 0);
}

static void an_owner_without_decisions_is_replaced_and_nothing_inherited(void **state) {
    (void)state;
    install("a", "claim", "claim");
    open_host("community", "community", "");
    uninstall("a", "claim");
    install("b", "forged", "claim-forged");
    open_host("community", "community", "");
    assert_answer("calc", "forged");
    assert_logged("nothing that was decided about that one applies to it");
    assert_int_equal(count_decisions("moved", "/b/forged.so"), 1);
    open_host("community", "community", "");
    assert_string_equal(logged, "");
}

static void a_grant_goes_to_nobody_else(void **state) {
    (void)state;
    install("a", "claim", "claim");
    open_host("community", "community", "");
    assert_int_equal(toolrack_grant(host, "wipe", 0, "ann", &err), 0);
    assert_answer("wipe", "claim 1");
    uninstall("a", "claim");
    install("b", "forged", "claim-forged");
    open_host("community", "community", "");
    assert_answer("wipe", "NotFound");
    assert_int_equal(count_rows("plugin-bound", "/b/forged.so", "/a, which is absent"), 1);
    /* Adopted: it was said that it is the same plugin. */
    assert_int_equal(toolrack_adopt(host, "claim", "ann", &err), 0);
    assert_answer("wipe", "forged");
}

/* Whoever can read a file can copy it, and change the copy later. */
static void a_copy_gets_no_grant(void **state) {
    (void)state;
    install("a", "claim", "claim");
    open_host("community", "community", "");
    assert_int_equal(toolrack_grant(host, "wipe", 0, "ann", &err), 0);
    assert_answer("wipe", "claim 1");
    uninstall("a", "claim");
    install("b", "claim", "claim");
    open_host("community", "community", "");
    assert_answer("wipe", "NotFound");
    assert_int_equal(count_rows("plugin-bound", "/b/claim.so", "/a, which is absent"), 1);
    install("a", "claim", "claim");
    open_host("community", "community", "");
    assert_answer("wipe", "claim 1");
    assert_int_equal(count_rows("plugin-exists", "/b/claim.so", "/a/claim.so"), 1);
}

static void trust_does_not_rise_by_a_name(void **state) {
    (void)state;
    install("b", "claim", "claim");
    open_host("community", "community", "");
    assert_int_equal(toolrack_grant(host, "wipe", 0, "ann", &err), 0);
    install("builtin", "claim", "claim-forged");
    open_host("community", "community", "");
    assert_answer("calc", "forged");
    assert_answer("wipe", "PermissionDenied");
    assert_int_equal(count_rows("plugin-exists", "/b/claim.so", "/builtin/claim.so"), 1);
}

static void two_versions_in_one_folder_stay(void **state) {
    (void)state;
    install("a", "claim", "claim");
    install("a", "next", "claim-next");
    open_host("community", "community", "");
    assert_answer("calc", "claim 2");
    assert_answer("calc@1.0.0", "claim 1");
    assert_answer("calc@^1", "claim 1");
    install("a", "again", "claim-forged");
    open_host("community", "community", "");
    assert_int_equal(count_rows("plugin-exists", "/a/claim.so", "/a/again.so"), 1);
    uninstall("a", "again");
    uninstall("a", "next");
    struct toolrack_text *report = NULL;
    assert_int_equal(toolrack_reload(host, NULL, &report, &err), 0);
    toolrack_text_unref(report);
    assert_answer("calc@2.0.0", "NotFound");
    assert_answer("calc", "claim 1");
}

static void reload_all(void) {
    struct toolrack_text *report = NULL;
    assert_int_equal(toolrack_reload(host, NULL, &report, &err), 0);
    toolrack_text_unref(report);
}

/* The newcomer's name sorts first. */
static void of_one_version_the_file_that_served_stays(void **state) {
    (void)state;
    install("a", "claim", "claim");
    open_host("community", "community", "");
    assert_answer("calc", "claim 1");
    install("a", "aaa", "claim-forged");
    for (int round = 0; round < 2; round++) {
        open_host("community", "community", "");
        assert_answer("calc", "claim 1");
        assert_int_equal(count_rows("plugin-exists", "/a/claim.so", "/a/aaa.so"), 1);
    }
    /* Nor does it by way of a higher version that goes again. */
    install("a", "aaa", "claim-next");
    open_host("community", "community", "");
    assert_answer("calc", "claim 2");
    install("a", "aab", "claim-forged");
    open_host("community", "community", "");
    assert_answer("calc@1.0.0", "claim 1");
    uninstall("a", "aab");
    install("a", "aaa", "claim-forged"); /* in its place */
    open_host("community", "community", "");
    assert_answer("calc", "claim 1");
    assert_int_equal(count_rows("plugin-exists", "/a/claim.so", "/a/aaa.so"), 1);
    uninstall("a", "aaa");
    open_host("community", "community", "");
    assert_answer("calc", "claim 1");
    install("a", "aaa", "claim-forged");
    open_host("community", "community", "");
    assert_answer("calc", "claim 1");
    /* A file that got another name is the same plugin. */
    uninstall("a", "aaa");
    uninstall("a", "claim");
    install("a", "renamed", "claim");
    open_host("community", "community", "");
    assert_answer("calc", "claim 1");
    assert_null(strstr(logged, "updated by another file"));
    install("a", "aaa", "claim-forged");
    open_host("community", "community", "");
    assert_answer("calc", "claim 1");
}

/* A higher version in another file is an update like one in place, and is told once. */
static void an_update_by_another_file_is_told(void **state) {
    (void)state;
    for (int is_running = 0; is_running < 2; is_running++) {
        install("a", "claim", "claim");
        open_host("community", "community", "");
        assert_int_equal(toolrack_grant(host, "wipe", 0, "ann", &err), 0);
        assert_answer("wipe", "claim 1");
        install("a", "aaa", "claim-next");
        logged[0] = '\0';
        if (is_running) {
            reload_all();
        } else {
            open_host("community", "community", "");
        }
        assert_answer("wipe", "claim 2"); /* it asks for no more */
        assert_logged("updated by another file: ");
        assert_logged("/a/claim.so, version 1.0.0");
        assert_int_equal(count_decisions("updated", "/a/aaa.so"), (size_t)is_running + 1);
        open_host("community", "community", "");
        assert_null(strstr(logged, "updated by another file"));
        assert_int_equal(count_decisions("updated", "/a/claim.so"), (size_t)is_running + 1);
        /* What asks for more is held, as in place. */
        install("a", "aaa", "claim-next-wider");
        open_host("community", "community", "");
        assert_answer("wipe", "PermissionDenied");
        uninstall("a", "aaa");
        open_host("community", "community", "");
        assert_answer("wipe", "claim 1");
    }
}

static void a_running_host_follows_the_same_rules(void **state) {
    (void)state;
    install("a", "forged", "claim-forged");
    open_host("community", "official", "");
    assert_answer("calc", "forged");
    install("b", "claim", "claim");
    reload_all();
    assert_answer("calc", "claim 1");
    assert_int_equal(count_rows("plugin-exists", "/a/forged.so", "/b/claim.so"), 1);
    uninstall("b", "claim");
    reload_all();
    assert_answer("calc", "forged");
    assert_int_equal(count_rows("plugin-exists", "", ""), 0);
    install("a", "next", "claim-next");
    reload_all();
    assert_answer("calc", "claim 2");
    assert_answer("calc@1.0.0", "forged");
    uninstall("a", "next");
    reload_all();
    assert_answer("calc", "forged");
}

/* ------------------------------------------------------------------- names */

static void a_name_is_not_taken_by_a_higher_version(void **state) {
    (void)state;
    install("a", "other", "claim-other");
    install("builtin", "claim", "claim");
    open_host("community", "community", "");
    assert_answer("calc", "claim 1");
    assert_answer("calc@99.0.0", "NotFound");
    assert_answer("calc@>=2", "NotFound");
    assert_int_equal(count_rows("tool-exists", "/a/other.so", "/builtin/claim.so"), 2);
    assert_logged("Tool already exists: calc 1.0.0, from plugin claim");
    assert_int_equal(count_decisions("shadowed", "\"tool\":\"calc\""), 1);
    open_host("community", "community", "");
    assert_int_equal(count_decisions("shadowed", "\"tool\":\"calc\""), 1);
}

static void of_equal_trust_the_first_owner_keeps_the_name(void **state) {
    (void)state;
    install("b", "claim", "claim");
    open_host("community", "community", "");
    install("a", "other", "claim-other");
    open_host("community", "community", "");
    assert_answer("calc", "claim 1");
    assert_int_equal(count_rows("tool-exists", "/a/other.so", "/b/claim.so"), 2);
    /* In a running host too, and the name comes free with its owner. */
    uninstall("b", "claim");
    reload_all();
    assert_answer("calc", "other");
    install("b", "claim", "claim");
    reload_all();
    assert_answer("calc", "claim 1");
}

static void an_administrator_chooses_the_owner(void **state) {
    (void)state;
    install("a", "other", "claim-other");
    install("builtin", "claim", "claim");
    open_host("community", "community", "");
    assert_int_equal(toolrack_set_default_plugin(host, "calc", "99.0.0", "other", NULL, &err), 0);
    assert_answer("calc", "other");
    assert_answer("calc@1.0.0", "NotFound");
    assert_answer("wipe@1.0.0", "PermissionDenied");
    open_host("community", "community", "");
    assert_answer("calc", "other");
    /* A grant that was given before the choice is for the plugin that had the name. */
    assert_int_equal(toolrack_grant(host, "wipe", 0, "ann", &err), 0);
    assert_int_equal(toolrack_set_default_plugin(host, "wipe", "99.0.0", "other", "ann", &err), 0);
    assert_int_equal(count_decisions("chosen", "\"who\":\"ann\""), 1);
    assert_answer("wipe", "PermissionDenied");
    assert_int_equal(toolrack_set_default(host, "wipe", NULL, "ben", &err), 0);
    assert_int_equal(count_decisions("chosen", "\"who\":\"ben\""), 1);
    assert_answer("wipe", "claim 1");
    assert_int_equal(toolrack_set_default(host, "calc", NULL, NULL, &err), 0);
    assert_answer("calc", "claim 1");
    assert_int_equal(toolrack_set_default_plugin(host, "calc", "98.0.0", "other", NULL, &err),
                     TOOLRACK_E_NOT_FOUND);
    assert_int_equal(toolrack_set_default_plugin(host, "calc", "^99", "other", NULL, &err),
                     TOOLRACK_E_INVALID);
}

/* The row of a shadowed version of claim's calc says how the plugin gets the name. */
static void expect_shadowed(const char *version, bool kept) {
    struct toolrack_refusals *refused = NULL;
    size_t count = 0;
    assert_int_equal(toolrack_refused(host, &refused, &err), 0);
    for (size_t i = 0; i < toolrack_refusals_count(refused); i++) {
        const struct toolrack_refusal *row = toolrack_refusals_get(refused, i);
        if (strcmp(row->tool, "calc") != 0 || strcmp(row->version, version) != 0) {
            continue;
        }
        count++;
        assert_string_equal(row->rule, "tool-exists");
        assert_int_equal(row->kept, kept);
        assert_non_null(
                strstr(plain_commands(row->fix), ": toolrack default --plugin claim calc 2.0.0"));
    }
    toolrack_refusals_free(refused);
    assert_int_equal(count, 1);
}

/* Also the kept ones, and those of an update while another plugin has the name. */
static void every_shadowed_version_has_its_row(void **state) {
    (void)state;
    install("a", "claim", "claim");
    install("b", "other", "claim-other");
    open_host("community", "community", "");
    assert_answer("calc", "claim 1");
    assert_int_equal(toolrack_set_default_plugin(host, "calc", "99.0.0", "other", NULL, &err), 0);
    assert_answer("calc", "other");
    install("a", "claim", "claim-next");
    reload_all();
    for (int round = 0; round < 2; round++) { /* and after a restart */
        assert_answer("calc", "other");
        assert_answer("calc@1.0.0", "NotFound");
        expect_shadowed("2.0.0", false);
        expect_shadowed("1.0.0", true);
        assert_int_equal(count_rows("tool-exists", "", ""), 3); /* and wipe of other */
        open_host("community", "community", "");
    }
    assert_int_equal(toolrack_set_default_plugin(host, "calc", "1.0.0", "claim", NULL, &err),
                     TOOLRACK_E_REFUSED);
    assert_non_null(strstr(err.message, "2.0.0"));
    /* The kept version comes back with the name, in the host that runs. */
    assert_int_equal(toolrack_set_default_plugin(host, "calc", "2.0.0", "claim", NULL, &err), 0);
    assert_answer("calc", "claim 2");
    assert_answer("calc@1.0.0", "claim 1");
    assert_int_equal(toolrack_set_default_plugin(host, "calc", "99.0.0", "other", NULL, &err), 0);
    expect_shadowed("2.0.0", false);
    expect_shadowed("1.0.0", true);
    uninstall("b", "other");
    reload_all();
    assert_answer("calc", "claim 2");
    assert_answer("calc@1.0.0", "claim 1");
    assert_int_equal(count_rows("tool-exists", "", ""), 0);
}

static void plugins_of_one_folder_share_a_name(void **state) {
    (void)state;
    install("a", "claim", "claim");
    install("a", "other", "claim-other");
    open_host("community", "community", "");
    assert_answer("calc", "other");
    assert_answer("calc@1.0.0", "claim 1");
    assert_int_equal(count_rows("tool-shared", "/a/claim.so", "/a/other.so"), 2);
    assert_int_equal(count_decisions("shadowed", "\"tool\":\"calc\""), 1);
    uninstall("a", "other");
    reload_all();
    assert_int_equal(count_rows("tool-shared", "", ""), 0);
}

/* ---------------------------------------------------- what is known of a tool */

/* Another plugin of the same id and names comes, in a running host. */
static void replace_owner(const char *fixture) {
    uninstall("a", "claim");
    install("b", "forged", fixture);
    reload_all();
}

/* What a report says; `part` must be in it, or (with '!' before it) must not. */
static void assert_report(int code, struct toolrack_text *text, const char *part) {
    assert_int_equal(code, 0);
    bool absent = part[0] == '!';
    if ((strstr(toolrack_text_data(text, NULL), part + absent) == NULL) != absent) {
        fail_msg("'%s': %s", part, toolrack_text_data(text, NULL));
    }
    toolrack_text_unref(text);
}

static void assert_statistics(const char *part) {
    struct toolrack_text *text = NULL;
    int code = toolrack_statistics(host, "calc", &text, &err);
    assert_report(code, text, part);
}

static void assert_recommended(const char *part) {
    struct toolrack_text *text = NULL;
    int code = toolrack_recommend(host, NULL, &text, &err);
    assert_report(code, text, part);
}

static void assert_log(const char *part) {
    struct toolrack_text *text = NULL;
    int code = toolrack_log(host, NULL, &text, &err);
    assert_report(code, text, part);
}

static void statistics_and_feedback_are_not_inherited(void **state) {
    (void)state;
    install("a", "claim", "claim");
    open_host("community", "community", "");
    for (int i = 0; i < 3; i++) {
        assert_answer("calc", "claim 1");
    }
    assert_int_equal(toolrack_feedback(host, "calc", true, 1, "ann", &err), 0);
    assert_statistics("\"calls\":3,");
    assert_statistics("\"feedback_good\":1,");
    assert_recommended("!\"success\":{\"value\":0.2,");
    assert_recommended("!\"feedback\":{\"value\":0.2,");
    replace_owner("claim-forged");
    /* The values of a tool without data. */
    assert_recommended("\"success\":{\"value\":0.2,");
    assert_recommended("\"feedback\":{\"value\":0.2,");
    assert_statistics("[]");
    assert_answer("calc", "forged");
    assert_statistics("\"calls\":1,");
    assert_statistics("\"feedback_good\":0,");
    assert_statistics("/b\",");
    assert_statistics("!/a\",");
    /* A call of the old one is in the log, as such, and no call of the new one. */
    assert_log("/a\",");
    assert_log("/b\",");
    assert_int_equal(toolrack_feedback(host, "calc", true, 1, "ann", &err), TOOLRACK_E_NOT_FOUND);
    assert_non_null(strstr(err.message, "which does not provide it any more"));
    /* They are those of the owner when it returns. */
    uninstall("b", "forged");
    install("a", "claim", "claim");
    open_host("community", "community", "");
    assert_statistics("\"calls\":3,");
    assert_statistics("\"feedback_good\":1,");
    /* Nobody provides the name: whose they are is said of each. */
    uninstall("a", "claim");
    open_host("community", "community", "");
    assert_statistics("/a\",");
    assert_statistics("/b\",");
}

static void the_whitelist_is_not_inherited(void **state) {
    (void)state;
    install("a", "claim", "claim");
    open_host("community", "community", "");
    assert_int_equal(toolrack_mark(host, TOOLRACK_MARK_WHITELIST, "calc", true, NULL, "ann", &err),
                     0);
    assert_recommended("\"whitelisted\":true");
    replace_owner("claim-forged");
    assert_recommended("\"tool\":\"calc\"");
    assert_recommended("!\"whitelisted\":true");
    open_host("community", "community", "");
    assert_recommended("!\"whitelisted\":true");
}

static void the_blacklist_is_for_the_name(void **state) {
    (void)state;
    install("a", "claim", "claim");
    open_host("community", "community", "");
    assert_int_equal(toolrack_mark(host, TOOLRACK_MARK_BLACKLIST, "calc", true, NULL, "ann", &err),
                     0);
    replace_owner("claim-forged");
    assert_recommended("!\"tool\":\"calc\"");
}

static int priority_of(const char *name) {
    struct toolrack_tool *tool = toolrack_get(host, name);
    assert_non_null(tool);
    int priority = toolrack_tool_priority(tool);
    toolrack_tool_unref(tool);
    return priority;
}

static void a_priority_is_not_inherited(void **state) {
    (void)state;
    install("a", "claim", "claim");
    open_host("community", "community", "");
    int usual = priority_of("calc");
    assert_int_equal(toolrack_set_priority(host, "calc", 777, NULL, &err), 0);
    assert_int_equal(priority_of("calc"), 777);
    replace_owner("claim-forged");
    assert_int_equal(priority_of("calc"), usual);
    open_host("community", "community", "");
    assert_int_equal(priority_of("calc"), usual);
    uninstall("b", "forged");
    install("a", "claim", "claim");
    open_host("community", "community", "");
    assert_int_equal(priority_of("calc"), 777);
}

static void what_enables_a_tool_is_not_inherited(void **state) {
    (void)state;
    install("a", "claim", "claim-off");
    open_host("community", "community", "");
    assert_answer("calc", "Disabled");
    assert_int_equal(toolrack_set_enabled(host, "calc", true, NULL, &err), 0);
    assert_answer("calc", "claim 1");
    replace_owner("claim-forged-off");
    assert_answer("calc", "Disabled");
    open_host("community", "community", "");
    assert_answer("calc", "Disabled");
}

static void what_disables_a_tool_is_for_the_name(void **state) {
    (void)state;
    install("a", "claim", "claim");
    open_host("community", "community", "");
    assert_int_equal(toolrack_set_enabled(host, "calc", false, NULL, &err), 0);
    replace_owner("claim-forged");
    assert_answer("calc", "Disabled");
    open_host("community", "community", "");
    assert_answer("calc", "Disabled");
    assert_int_equal(toolrack_set_enabled(host, "calc", true, NULL, &err), 0);
    assert_answer("calc", "forged");
}

static void to_adopt_hands_records_and_settings_over(void **state) {
    (void)state;
    static const char policy[] = ", \"policies\": {\"claim\": {\"workers\": 2}}";
    install("a", "claim", "claim");
    open_host("community", "community", policy);
    assert_answer("calc", "claim 1");
    assert_int_equal(toolrack_feedback(host, "calc", true, 1, "ann", &err), 0);
    assert_int_equal(toolrack_set_priority(host, "calc", 777, NULL, &err), 0);
    assert_int_equal(toolrack_mark(host, TOOLRACK_MARK_WHITELIST, "calc", true, NULL, "ann", &err),
                     0);
    uninstall("a", "claim");
    install("b", "forged", "claim-forged");
    open_host("community", "community", policy);
    assert_answer("calc", "NotFound");
    assert_int_equal(toolrack_adopt(host, "claim", "ann", &err), 0);
    assert_int_equal(priority_of("calc"), 777);
    assert_statistics("\"calls\":1,");
    assert_statistics("\"feedback_good\":1,");
    assert_recommended("\"whitelisted\":true");
    assert_int_equal(toolrack_feedback(host, "calc", false, 1, "ann", &err), 0);
}

static tr_status calc(struct tr_call *call) {
    return tr_reply_text(call, "app");
}
TR_JSON_TOOL(calc, ("Calculate", .version = "1.0.0"), TR_SCHEMA({"type" : "object"}))
TR_PLUGIN("embedder", "1.0.0", calc)

static void to_replace_is_within_one_origin(void **state) {
    (void)state;
    install("a", "other", "claim-same");
    install("builtin", "claim", "claim");
    open_host("community", "community", ", \"duplicates\": \"replace\"");
    assert_answer("calc", "claim 1");
    assert_int_equal(count_rows("tool-exists", "/a/other.so", "/builtin/claim.so"), 2);
    assert_int_equal(toolrack_register(host, &toolrack_plugin, NULL, &err), TOOLRACK_E_EXISTS);
    assert_non_null(strstr(err.message, "/builtin/claim.so"));
    assert_answer("calc", "claim 1");
    /* Within one folder the later one replaces the first. */
    uninstall("builtin", "claim");
    install("a", "claim", "claim");
    open_host("community", "community", ", \"duplicates\": \"replace\"");
    assert_answer("calc", "same");
    assert_logged("replaces the one of plugin claim");
}

/* ------------------------------------------------------- an unreadable store */

/* A database that others may write is not read. */
static void set_readable(bool is_readable) {
    char path[96];
    (void)snprintf(path, sizeof path, "%s/state/toolrack.db", dir);
    assert_int_equal(chmod(path, is_readable ? 0600 : 0666), 0);
}

static void assert_refused(const char *name, const char *part) {
    assert_answer(name, "PermissionDenied");
    if (strstr(err.message, part) == NULL) {
        fail_msg("'%s' does not say '%s'", err.message, part);
    }
}

static void a_configured_grant_needs_the_store(void **state) {
    (void)state;
    static const char grants[] = ", \"grants\": [\"wipe\"]";
    install("a", "claim", "claim");
    open_host("community", "community", grants);
    assert_answer("wipe", "claim 1");
    set_readable(false);
    open_host("community", "community", grants);
    assert_refused("wipe", "toolrack.db");
    /* Nor for who comes in its place. */
    uninstall("a", "claim");
    install("b", "forged", "claim-forged");
    open_host("community", "community", grants);
    assert_refused("wipe", "toolrack.db");
    set_readable(true);
    open_host("community", "community", grants);
    assert_answer("wipe", "NotFound");
    uninstall("b", "forged");
    install("a", "claim", "claim");
    open_host("community", "community", grants);
    assert_answer("wipe", "claim 1");
}

static void a_policy_needs_the_store(void **state) {
    (void)state;
    static const char policy[] = ", \"policies\": {\"claim\": {\"isolation\": \"none\"}}";
    install("a", "claim", "claim");
    open_host("community", "community", policy);
    assert_answer("calc", "claim 1");
    uninstall("a", "claim");
    install("b", "forged", "claim-forged");
    set_readable(false);
    open_host("community", "official", policy);
    assert_answer("calc", "NotFound");
    assert_int_equal(count_rows("plugin-unread", "/b/forged.so", "toolrack.db"), 1);
    install("builtin", "claim", "claim"); /* comes before all others in any case */
    uninstall("b", "forged");
    open_host("community", "community", policy);
    assert_answer("calc", "claim 1");
}

/* A tool that is disabled, held or in quarantine looks like any other one. */
static void without_the_store_nothing_foreign_runs(void **state) {
    (void)state;
    install("a", "claim", "claim");
    open_host("community", "community", "");
    assert_int_equal(toolrack_set_enabled(host, "calc", false, NULL, &err), 0);
    set_readable(false);
    open_host("community", "community", "");
    assert_refused("calc", "Tool 'calc' is refused, since what was decided cannot be read: ");
    assert_refused("wipe", "toolrack.db");
    assert_logged("only builtin plugins, the configuration's and the app's serve: ");
    char reason[128];
    struct toolrack_tool *tool = toolrack_get(host, "calc@1.0.0");
    assert_non_null(tool);
    toolrack_tool_reason(tool, reason, sizeof reason);
    assert_string_equal(reason, "what was decided about it cannot be read; it does not run");
    toolrack_tool_unref(tool);
    install("builtin", "other", "claim-other");
    open_host("community", "community", "");
    assert_answer("calc", "other");
}

/* The host that was opened then follows when it can be read again. */
static void what_can_be_read_again_counts(void **state) {
    (void)state;
    install("a", "claim", "claim");
    open_host("community", "community", "");
    assert_int_equal(toolrack_set_enabled(host, "calc", false, NULL, &err), 0);
    set_readable(false);
    open_host("community", "community", "");
    assert_refused("calc", "toolrack.db");
    set_readable(true);
    assert_refused("calc", "is read again with the next decision");
    struct toolrack *first = host;
    host = NULL;
    open_host("community", "community", "");
    assert_int_equal(toolrack_grant(host, "wipe", 0, "ann", &err), 0); /* waits for the first */
    toolrack_close(host);
    host = first;
    assert_answer("wipe", "claim 1");
    assert_answer("calc", "Disabled");
}

/* So is it when a part is damaged that calls do not read. */
static void a_damaged_table_is_an_unreadable_store(void **state) {
    (void)state;
    static const char *const tables[] = {"quarantine", "pins", "settings", "grants"};
    char path[96];
    char text[64];
    (void)snprintf(path, sizeof path, "%s/state/toolrack.db", dir);
    install("a", "claim", "claim");
    open_host("community", "community", "");
    assert_int_equal(toolrack_grant(host, "wipe", 0, "ann", &err), 0);
    assert_answer("calc", "claim 1");
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        sqlite3 *db;
        toolrack_close(host);
        host = NULL;
        assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
        for (int back = 0; back < 2; back++) {
            (void)snprintf(text, sizeof text, "ALTER TABLE %s%s RENAME TO %s%s", tables[i],
                           back ? "_away" : "", tables[i], back ? "" : "_away");
            assert_int_equal(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
            open_host("community", "community", "");
            assert_answer("calc", back ? "claim 1" : "PermissionDenied");
            assert_answer("wipe", back ? "claim 1" : "PermissionDenied");
        }
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
    }
}

static void a_host_without_state_goes_by_the_configuration(void **state) {
    (void)state;
    state_name = "";
    install("a", "claim", "claim");
    open_host("community", "community",
              ", \"grants\": [\"wipe\"], \"policies\": {\"claim\": {\"isolation\": \"none\"}}");
    assert_answer("calc", "claim 1");
    assert_answer("wipe", "claim 1");
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void) {
    const struct CMUnitTest tests[] = {
            WITH_FOLDER(the_higher_trust_has_the_id_whatever_comes_first),
            WITH_FOLDER(who_was_seen_first_keeps_the_id),
            WITH_FOLDER(an_absent_owner_is_not_replaced_by_anybody),
            WITH_FOLDER(an_adoption_reaches_running_hosts),
            WITH_FOLDER(an_owner_without_decisions_is_replaced_and_nothing_inherited),
            WITH_FOLDER(a_grant_goes_to_nobody_else),
            WITH_FOLDER(a_copy_gets_no_grant),
            WITH_FOLDER(trust_does_not_rise_by_a_name),
            WITH_FOLDER(two_versions_in_one_folder_stay),
            WITH_FOLDER(of_one_version_the_file_that_served_stays),
            WITH_FOLDER(an_update_by_another_file_is_told),
            WITH_FOLDER(a_running_host_follows_the_same_rules),
            WITH_FOLDER(a_name_is_not_taken_by_a_higher_version),
            WITH_FOLDER(of_equal_trust_the_first_owner_keeps_the_name),
            WITH_FOLDER(an_administrator_chooses_the_owner),
            WITH_FOLDER(every_shadowed_version_has_its_row),
            WITH_FOLDER(plugins_of_one_folder_share_a_name),
            WITH_FOLDER(to_replace_is_within_one_origin),
            WITH_FOLDER(statistics_and_feedback_are_not_inherited),
            WITH_FOLDER(the_whitelist_is_not_inherited),
            WITH_FOLDER(the_blacklist_is_for_the_name),
            WITH_FOLDER(a_priority_is_not_inherited),
            WITH_FOLDER(what_enables_a_tool_is_not_inherited),
            WITH_FOLDER(what_disables_a_tool_is_for_the_name),
            WITH_FOLDER(to_adopt_hands_records_and_settings_over),
            WITH_FOLDER(a_configured_grant_needs_the_store),
            WITH_FOLDER(a_policy_needs_the_store),
            WITH_FOLDER(without_the_store_nothing_foreign_runs),
            WITH_FOLDER(what_can_be_read_again_counts),
            WITH_FOLDER(a_damaged_table_is_an_unreadable_store),
            WITH_FOLDER(a_host_without_state_goes_by_the_configuration),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
