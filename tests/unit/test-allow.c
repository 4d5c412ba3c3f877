/* What a plugin may use: given and taken by a verb, bound to the plugin and to what it declared;
 * and what a build has to show that asks for more, or for less care, than the one before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "builds.h"
#include "patience.h"
#include "plain-commands.h"

#define DECLARED "read:/etc/passwd"

static struct toolrack_error err;

/* The answer of a call, or the message of its failure. */
static const char *call(struct toolrack *host, const char *tool, const char *arguments) {
    static char text[1024];
    struct toolrack_result *result = NULL;
    int code = toolrack_call(host, tool, arguments, NULL, &result, &err);
    (void)snprintf(text, sizeof text, "%s",
                   code < 0 ? toolrack_error_message(&err) : toolrack_result_json(result, NULL));
    toolrack_result_free(result);
    return text;
}

static void expect_call(struct toolrack *host, const char *tool, const char *arguments,
                        const char *part) {
    const char *is = plain_commands(call(host, tool, arguments));
    if (strstr(is, part) == NULL) {
        fail_msg("%s gave \"%s\", without \"%s\"", tool, is, part);
    }
}

#define PASSWD "{\"path\":\"/etc/passwd\"}"
#define GROUP  "{\"path\":\"/etc/group\"}"

static void expect_code(int code, int wanted, const char *part) {
    if (code != wanted || (part != NULL && strstr(plain_commands(err.message), part) == NULL)) {
        fail_msg("%d (%s) instead of %d with %s", code, code < 0 ? err.message : "", wanted,
                 part != NULL ? part : "anything");
    }
}

static void what_is_allowed_is_in_effect_at_once_and_lasts(void **state) {
    struct builds *builds = *state;
    builds_put(builds, "wants", 1);
    builds_open(builds);
    expect_call(builds->host, "touch", PASSWD, "EACCES");
    expect_code(toolrack_allow(builds->host, "wants", "network:udp", "eve", &err),
                TOOLRACK_E_INVALID,
                "plugin 'wants' does not declare 'network:udp'; it declares " DECLARED);
    expect_code(toolrack_allow(builds->host, "wants", "network:*:80", "eve", &err),
                TOOLRACK_E_INVALID, "does not declare 'network:*:80'; it declares " DECLARED);
    expect_code(toolrack_allow(builds->host, "wants", "network:a.org:80", "eve", &err),
                TOOLRACK_E_INVALID, "a host cannot be held to");
    expect_code(toolrack_allow(builds->host, "wants", DECLARED, "eve", &err), 0, NULL);
    expect_call(builds->host, "touch", PASSWD, "done");
    expect_call(builds->host, "touch", GROUP, "EACCES");
    builds_reopen(builds);
    expect_call(builds->host, "touch", PASSWD, "done");
    expect_code(toolrack_disallow(builds->host, "wants", "read", "eve", &err), 0, NULL);
    expect_call(builds->host, "touch", PASSWD, "EACCES");
    builds_reopen(builds);
    expect_call(builds->host, "touch", PASSWD, "EACCES");
    expect_code(toolrack_allow(builds->host, "touch", "*", NULL, &err), 0, NULL);
    expect_call(builds->host, "touch", PASSWD, "done");
}

static void what_the_configuration_allows_can_be_taken(void **state) {
    struct builds *builds = *state;
    builds_configure(builds, "{\"policies\":{\"wants\":{\"allow\":[\"" DECLARED "\"]}}}");
    builds_put(builds, "wants", 1);
    builds_open(builds);
    expect_call(builds->host, "touch", PASSWD, "done");
    expect_code(toolrack_disallow(builds->host, "wants", DECLARED, "eve", &err), 0, NULL);
    expect_call(builds->host, "touch", PASSWD, "EACCES");
    expect_code(toolrack_allow(builds->host, "wants", DECLARED, "eve", &err), 0, NULL);
    expect_call(builds->host, "touch", PASSWD, "done");
}

static void only_what_is_declared_can_be_allowed(void **state) {
    struct builds *builds = *state;
    builds_put(builds, "wants", 1);
    builds_open(builds);
    expect_code(toolrack_allow(builds->host, "wants", "read:/", "eve", &err), TOOLRACK_E_INVALID,
                "does not declare 'read:/'; it declares " DECLARED);
    expect_code(toolrack_allow(builds->host, "nobody", "read", "eve", &err), TOOLRACK_E_NOT_FOUND,
                NULL);
    builds_close(builds);
    builds->host = builds_another(builds, TOOLRACK_ISOLATION_NONE);
    expect_code(toolrack_allow(builds->host, "wants", "read", "eve", &err), TOOLRACK_E_INVALID,
                "runs in the host's process");
}

static void allowances_are_listed_and_decisions(void **state) {
    struct builds *builds = *state;
    struct toolrack_text *text = NULL;
    builds_put(builds, "wants", 1);
    builds_open(builds);
    assert_int_equal(toolrack_allow(builds->host, "wants", DECLARED, "eve", &err), 0);
    assert_int_equal(toolrack_allowances(builds->host, &text, &err), 0);
    const char *json = toolrack_text_data(text, NULL);
    assert_non_null(strstr(json, "\"plugin\":\"wants\",\"origin\":\"community:/"));
    assert_non_null(strstr(json, "\"capability\":\"" DECLARED "\",\"allowed\":true"));
    assert_non_null(strstr(json, "\"who\":\"eve\""));
    toolrack_text_unref(text);
    assert_int_equal(toolrack_decisions(builds->host, NULL, &text, &err), 0);
    json = toolrack_text_data(text, NULL);
    assert_non_null(strstr(json, "\"allowed capability\""));
    toolrack_text_unref(text);
}

/* It names the command that would help. */
static void a_failure_says_what_is_not_allowed(void **state) {
    struct builds *builds = *state;
    static const char missing[] = "its plugin declares " DECLARED
                                  ", which is not allowed: toolrack allow wants " DECLARED;
    builds_put(builds, "wants", 1);
    builds_open(builds);
    expect_call(builds->host, "give_up", "{\"with\":\" in /etc/passwd: EACCES\"}",
                "/etc/passwd: EACCES; its plugin");
    assert_non_null(strstr(plain_commands(err.message), missing));
    expect_call(builds->host, "give_up", "{\"with\":\": EACCES\"}", "this may be why: ");
    assert_non_null(strstr(plain_commands(err.message), missing));
    builds_expect_why(builds->host, "give_up", "/missing", missing);
    assert_int_equal(toolrack_allow(builds->host, "wants", DECLARED, "eve", &err), 0);
    expect_call(builds->host, "give_up", "{\"with\":\": EACCES\"}", "no such luck");
    assert_null(strstr(err.message, "not allowed"));
}

/* Of several only what the failure names, or all that may be why. */
static void a_failure_says_what_may_be_missing(void **state) {
    struct builds *builds = *state;
    builds_put_as(builds, "wants", "wants-more", 2);
    builds_open(builds);
    expect_call(builds->host, "give_up", "{\"with\":\": EACCES\"}",
                "one of these may be missing, which its plugin declares and which are not "
                "allowed: " DECLARED ", read:/: toolrack allow wants " DECLARED " read:/");
    assert_int_equal(toolrack_allow(builds->host, "wants", DECLARED, "eve", &err), 0);
    expect_call(builds->host, "give_up", "{\"with\":\" in /root/x: EACCES\"}",
                "its plugin declares read:/, which is not allowed: toolrack allow wants read:/");
}

/* A plugin must not make people allow what a failure has nothing to do with. */
static void other_failures_name_no_command(void **state) {
    struct builds *builds = *state;
    builds_put_as(builds, "wants", "wants-more", 2);
    builds_open(builds);
    expect_call(builds->host, "give_up", NULL, "no such luck");
    assert_null(strstr(plain_commands(err.message), "toolrack allow"));
    expect_call(builds->host, "give_up", "{\"with\":\": Connection refused\"}", "refused");
    assert_null(strstr(plain_commands(err.message), "toolrack allow"));
    expect_call(builds->host, "give_up", "{\"crash\":true,\"with\":\": EACCES\"}", "crashed");
    assert_null(strstr(plain_commands(err.message), "toolrack allow"));
}

/* What the fix of elf-origin and the SDK say: an absolute run path, declared and allowed. */
static void a_library_in_a_folder_of_its_own_is_found(void **state) {
    struct builds *builds = *state;
    struct toolrack_findings *findings = NULL;
    bool is_told = false;
    builds_put(builds, "needs-private", 1);
    assert_int_equal(toolrack_check(builds->file, &findings, &err), 0);
    for (size_t i = 0; i < toolrack_findings_count(findings); i++) {
        const struct toolrack_finding *finding = toolrack_findings_get(findings, i);
        is_told = is_told || (strcmp(finding->rule, "elf-run-path") == 0 &&
                              strstr(finding->fix, "declare TR_READS(\"FOLDER\") and have it "
                                                   "allowed (toolrack allow") != NULL);
    }
    toolrack_findings_free(findings);
    assert_true(is_told);
    builds_open(builds);
    expect_call(builds->host, "answer", NULL,
                "cannot open shared object file: No such file or directory; what else is known "
                "of that file: toolrack check /");
    expect_call(builds->host, "answer", NULL, "; this may be why: its plugin declares read:/");
    expect_call(builds->host, "answer", NULL, ": toolrack allow needs_private read:/");
    expect_code(toolrack_allow(builds->host, "needs_private", "read", "eve", &err), 0, NULL);
    expect_call(builds->host, "answer", NULL, "42");
}

static bool has_written(struct toolrack *host, const char *text) {
    yyjson_doc *doc = builds_why(host, "needs_private");
    char *crashes = yyjson_val_write(yyjson_ptr_get(yyjson_doc_get_root(doc), "/crashes"), 0, NULL);
    bool found = crashes != NULL && strstr(crashes, text) != NULL;
    free(crashes);
    yyjson_doc_free(doc);
    return found;
}

static void a_failed_load_says_where_more_is(void **state) {
    struct builds *builds = *state;
    builds_put(builds, "needs-private-threads", 1);
    builds_open(builds);
    expect_code(toolrack_allow(builds->host, "needs_private", "read", "eve", &err), 0, NULL);
    expect_call(builds->host, "answer", NULL, "cannot allocate memory in static TLS block");
    assert_null(strstr(plain_commands(err.message), "toolrack check"));
    builds_close(builds);
    builds_put(builds, "needs-private-says", 1);
    builds_open(builds);
    expect_call(builds->host, "answer", NULL, "; what it wrote: toolrack why needs_private");
    /* It is stored after the call has failed. */
    AWAIT(has_written(builds->host, "the runtime does not come first"));
}

static void expect_allowances(struct toolrack *host, const char *json) {
    struct toolrack_text *text = NULL;
    assert_int_equal(toolrack_allowances(host, &text, &err), 0);
    assert_string_equal(toolrack_text_data(text, NULL), json);
    toolrack_text_unref(text);
}

/* No command would help; the one that was given says so, and so does the failed call. */
static void what_is_never_granted_cannot_be_allowed(void **state) {
    struct builds *builds = *state;
    builds_put(builds, "wants-never", 1);
    builds_open(builds);
    expect_code(toolrack_allow(builds->host, "wants", "read:/proc/meminfo", "eve", &err),
                TOOLRACK_E_REFUSED, "'read:/proc/meminfo' cannot be allowed to 'wants': ");
    assert_non_null(strstr(err.message, "/proc, which is never granted; allow a path outside"));
    assert_non_null(strstr(err.message, "; nothing was changed"));
    expect_code(toolrack_allow(builds->host, "wants", "*", "eve", &err), TOOLRACK_E_REFUSED,
                "; of the rest: toolrack allow wants read:/etc read:/tmp");
    expect_allowances(builds->host, "[]");
    expect_call(builds->host, "give_up", "{\"with\":\" in /proc/meminfo: EACCES\"}",
                "its plugin declares read:/proc/meminfo, which is refused: /proc/meminfo is in ");
    assert_null(strstr(plain_commands(err.message), "toolrack allow"));
    expect_call(builds->host, "touch", PASSWD, "EACCES");
    expect_code(toolrack_allow(builds->host, "wants", "read:/etc", "eve", &err), 0, NULL);
    expect_call(builds->host, "touch", PASSWD, "done");
}

/* It is the host's since it was given. */
static void what_was_given_and_is_refused_is_told(void **state) {
    struct builds *builds = *state;
    char item[160];
    (void)snprintf(item, sizeof item, "read:%s/toolrack.json", builds->root);
    builds_put(builds, "wants-never", 1);
    builds_open(builds);
    expect_code(toolrack_allow(builds->host, "wants", item, "eve", &err), 0, NULL);
    builds_close(builds);
    builds_configure(builds, "{}");
    builds_open(builds);
    assert_true(builds_warned(builds, "'read:/tmp' is not granted (by 'toolrack allow'): "));
    expect_call(builds->host, "give_up", "{\"with\":\": EACCES\"}",
                "its plugin declares read:/tmp, which is refused: ");
}

static void a_path_in_what_is_declared_can_be_allowed(void **state) {
    struct builds *builds = *state;
    builds_put(builds, "wants-never", 1);
    builds_open(builds);
    struct toolrack *other = builds_another(builds, TOOLRACK_ISOLATION_PROCESS);
    expect_call(other, "touch", GROUP, "EACCES");
    /* The second time it names what is granted, which is not the whole. */
    expect_code(toolrack_allow(builds->host, "wants", "read:/etc/passwd", "eve", &err), 0, NULL);
    expect_code(toolrack_allow(builds->host, "wants", "read:/etc/passwd", "eve", &err), 0, NULL);
    expect_call(builds->host, "touch", PASSWD, "done");
    expect_call(builds->host, "touch", GROUP, "EACCES");
    AWAIT(strstr(call(other, "touch", PASSWD), "done") != NULL);
    expect_code(toolrack_allow(builds->host, "wants", "read:/etc/group", "eve", &err), 0, NULL);
    AWAIT(strstr(call(other, "touch", GROUP), "done") != NULL);
    toolrack_close(other);
    builds_reopen(builds);
    expect_call(builds->host, "touch", PASSWD, "done");
    expect_call(builds->host, "touch", GROUP, "done");
    expect_code(toolrack_allow(builds->host, "wants", "read:/etcetera", "eve", &err),
                TOOLRACK_E_INVALID, "does not declare 'read:/etcetera'");
    expect_code(toolrack_allow(builds->host, "wants", "read:/etc/../srv", "eve", &err),
                TOOLRACK_E_INVALID, "does not declare");
    expect_code(toolrack_allow(builds->host, "wants", "write:/etc/group", "eve", &err),
                TOOLRACK_E_INVALID, "does not declare");
}

static void a_path_that_was_allowed_can_be_taken(void **state) {
    struct builds *builds = *state;
    builds_put(builds, "wants-never", 1);
    builds_open(builds);
    expect_code(toolrack_allow(builds->host, "wants", "read:/etc/passwd", "eve", &err), 0, NULL);
    expect_code(toolrack_allow(builds->host, "wants", "read:/etc/group", "eve", &err), 0, NULL);
    expect_code(toolrack_disallow(builds->host, "wants", "read:/etc/hosts", "eve", &err),
                TOOLRACK_E_NOT_FOUND, "there is nothing to take");
    expect_code(toolrack_disallow(builds->host, "wants", "read:/etc/passwd", "eve", &err), 0, NULL);
    expect_call(builds->host, "touch", PASSWD, "EACCES");
    expect_call(builds->host, "touch", GROUP, "done");
    /* Of the whole no part can be taken. */
    expect_code(toolrack_allow(builds->host, "wants", "read:/etc", "eve", &err), 0, NULL);
    expect_call(builds->host, "touch", PASSWD, "done");
    expect_code(toolrack_disallow(builds->host, "wants", "read:/etc/group", "eve", &err),
                TOOLRACK_E_INVALID, "of which no part can be taken: take 'read:/etc'");
    /* Who takes the whole takes the parts; who gives a part then gives that. */
    expect_code(toolrack_disallow(builds->host, "wants", "read:/etc", "eve", &err), 0, NULL);
    expect_call(builds->host, "touch", PASSWD, "EACCES");
    expect_call(builds->host, "touch", GROUP, "EACCES");
    expect_code(toolrack_disallow(builds->host, "wants", "read:/etc/group", "eve", &err),
                TOOLRACK_E_NOT_FOUND, "there is nothing to take");
    expect_code(toolrack_allow(builds->host, "wants", "read:/etc/group", "eve", &err), 0, NULL);
    expect_call(builds->host, "touch", GROUP, "done");
    expect_call(builds->host, "touch", PASSWD, "EACCES");
}

static void paths_of_the_configuration_can_be_taken(void **state) {
    struct builds *builds = *state;
    builds_configure(
            builds,
            "{\"policies\":{\"wants\":{\"allow\":[\"read:/etc/passwd\",\"read:/etc/group\"]}}}");
    builds_put(builds, "wants-never", 1);
    builds_open(builds);
    expect_call(builds->host, "touch", PASSWD, "done");
    expect_call(builds->host, "touch", GROUP, "done");
    expect_code(toolrack_disallow(builds->host, "wants", "read:/etc/passwd", "eve", &err), 0, NULL);
    expect_call(builds->host, "touch", PASSWD, "EACCES");
    expect_call(builds->host, "touch", GROUP, "done");
    expect_code(toolrack_allow(builds->host, "wants", "read:/etc/passwd", "eve", &err), 0, NULL);
    expect_call(builds->host, "touch", PASSWD, "done");
    expect_code(toolrack_disallow(builds->host, "wants", "read:/etc", "eve", &err), 0, NULL);
    expect_call(builds->host, "touch", PASSWD, "EACCES");
    expect_call(builds->host, "touch", GROUP, "EACCES");
}

/* Decisions that have a part in their text. */
static unsigned count_decisions(struct builds *builds, const char *part) {
    struct toolrack_text *text = NULL;
    unsigned count = 0;
    assert_int_equal(toolrack_decisions(builds->host, NULL, &text, &err), 0);
    for (const char *at = toolrack_text_data(text, NULL); (at = strstr(at, part)) != NULL; at++) {
        count++;
    }
    toolrack_text_unref(text);
    return count;
}

static void to_take_what_is_not_given_is_no_decision(void **state) {
    struct builds *builds = *state;
    builds_put(builds, "wants", 1);
    builds_open(builds);
    expect_code(toolrack_disallow(builds->host, "wants", DECLARED, "eve", &err),
                TOOLRACK_E_NOT_FOUND, "there is nothing to take");
    assert_int_equal(toolrack_allow(builds->host, "wants", DECLARED, "eve", &err), 0);
    assert_int_equal(toolrack_disallow(builds->host, "wants", DECLARED, "eve", &err), 0);
    expect_code(toolrack_disallow(builds->host, "wants", DECLARED, "eve", &err),
                TOOLRACK_E_NOT_FOUND, "there is nothing to take");
    assert_int_equal(count_decisions(builds, "\"disallowed capability\""), 1);
}

/* What hosts of one state folder find each is one row. */
static void what_happens_to_a_file_is_one_decision(void **state) {
    struct builds *builds = *state;
    builds_put(builds, "wants", 1);
    builds_open(builds);
    struct toolrack *other = builds_another(builds, TOOLRACK_ISOLATION_PROCESS);
    builds_put(builds, "wants-care", 2);
    builds_reload(builds->host, NULL, "reloaded");
    assert_int_equal(toolrack_reload(other, NULL, NULL, &err), 0); /* unless it has followed */
    assert_int_equal(unlink(builds->file), 0);
    builds_reload(builds->host, NULL, "removed");
    assert_int_equal(toolrack_reload(other, NULL, NULL, &err), 0);
    toolrack_close(other);
    assert_int_equal(count_decisions(builds, "\"decision\":\"reloaded\""), 1);
    assert_int_equal(count_decisions(builds, "\"decision\":\"removed\""), 1);
}

static void another_host_follows(void **state) {
    struct builds *builds = *state;
    builds_put(builds, "wants", 1);
    builds_open(builds);
    struct toolrack *other = builds_another(builds, TOOLRACK_ISOLATION_PROCESS);
    expect_call(other, "touch", PASSWD, "EACCES");
    assert_int_equal(toolrack_allow(builds->host, "wants", DECLARED, "eve", &err), 0);
    AWAIT(strstr(call(other, "touch", PASSWD), "done") != NULL);
    assert_int_equal(toolrack_disallow(builds->host, "wants", DECLARED, "eve", &err), 0);
    AWAIT(strstr(call(other, "touch", PASSWD), "EACCES") != NULL);
    toolrack_close(other);
}

/* The word covers what was declared when it first applied. */
static void a_word_does_not_cover_what_is_declared_later(void **state) {
    struct builds *builds = *state;
    builds_configure(builds, "{\"policies\":{\"wants\":{\"allow\":[\"read\"]}}}");
    builds_put(builds, "wants", 1);
    builds_open(builds);
    expect_call(builds->host, "touch", PASSWD, "done");
    builds_put(builds, "wants-more", 2);
    builds_reload(builds->host, NULL, "reloaded");
    expect_call(builds->host, "touch", GROUP,
                "is not what was approved: its plugin's capabilities changed");
    builds_expect_why(builds->host, "touch", "/state", "changed");
    builds_expect_why(builds->host, "touch", "/changed/capabilities/approved", DECLARED "\"");
    builds_expect_why(builds->host, "touch", "/changed/capabilities/now", "read:/\"");
    builds_reopen(builds);
    expect_call(builds->host, "touch", GROUP, "is not what was approved");
    /* A grant of a tool is for its plugin as it is now. */
    assert_int_equal(toolrack_grant(builds->host, "touch", 0, "eve", &err), 0);
    expect_call(builds->host, "touch", GROUP, "done");
    builds_reopen(builds);
    expect_call(builds->host, "touch", GROUP, "done");
}

static void what_is_new_is_withheld_where_it_is_a_warning(void **state) {
    struct builds *builds = *state;
    builds_configure(builds, "{\"policies\":{\"wants\":{\"allow\":[\"*\"],\"pin\":\"warn\"}}}");
    builds_put(builds, "wants", 1);
    builds_open(builds);
    builds_close(builds);
    builds_put(builds, "wants-more", 2);
    builds_open(builds);
    expect_call(builds->host, "touch", PASSWD, "done");
    expect_call(builds->host, "touch", GROUP, "EACCES");
    assert_int_equal(toolrack_allow(builds->host, "wants", "read:/", "eve", &err), 0);
    expect_call(builds->host, "touch", GROUP, "done");
}

/* The word applied before the plugin declared anything of its kind. */
static void a_word_that_covered_nothing_covers_nothing_later(void **state) {
    struct builds *builds = *state;
    builds_configure(builds, "{\"policies\":{\"wants\":{\"allow\":[\"read\"]}}}");
    builds_put_as(builds, "wants", "wants", 1);
    builds_open(builds);
    builds_close(builds);
    builds_put_as(builds, "wants", "wants-more", 2);
    builds_open(builds);
    expect_call(builds->host, "touch", GROUP, "is not what was approved");
}

static void a_dangerous_tool_that_calls_itself_safe_is_held(void **state) {
    struct builds *builds = *state;
    builds_put(builds, "wants", 1);
    builds_open(builds);
    expect_call(builds->host, "wipe", NULL, "is dangerous");
    builds_put(builds, "wants-trust", 2);
    builds_reload(builds->host, NULL, "reloaded");
    expect_call(builds->host, "wipe", NULL, "is not what was approved: its permission changed");
    builds_expect_why(builds->host, "wipe", "/changed/permission/approved", "dangerous");
    builds_expect_why(builds->host, "wipe", "/changed/permission/now", "safe");
    builds_reopen(builds);
    expect_call(builds->host, "wipe", NULL, "is not what was approved");
    assert_int_equal(toolrack_grant(builds->host, "wipe", 0, "eve", &err), 0);
    expect_call(builds->host, "wipe", NULL, "wiped");
}

/* What was granted was less dangerous, whatever the policy of pins. */
static void expect_raised(struct builds *builds, const char *configuration, const char *refusal) {
    builds_configure(builds, configuration);
    builds_put(builds, "wants-care", 1);
    builds_open(builds);
    assert_int_equal(toolrack_revoke(builds->host, "wipe", "eve", &err) < 0 &&
                             err.code != TOOLRACK_E_NOT_FOUND,
                     false);
    assert_int_equal(toolrack_grant(builds->host, "wipe", 0, "eve", &err), 0);
    expect_call(builds->host, "wipe", NULL, "wiped");
    builds_put(builds, "wants", 2);
    builds_reload(builds->host, NULL, "reloaded");
    expect_call(builds->host, "wipe", NULL, refusal);
    builds_expect_why(builds->host, "wipe", "/changed/permission/approved", "confirm");
    builds_expect_why(builds->host, "wipe", "/changed/permission/now", "dangerous");
    builds_reopen(builds);
    expect_call(builds->host, "wipe", NULL, refusal);
    assert_int_equal(toolrack_grant(builds->host, "wipe", 0, "eve", &err), 0);
    expect_call(builds->host, "wipe", NULL, "wiped");
    builds_close(builds);
}

static void a_grant_ends_where_the_permission_rises(void **state) {
    struct builds *builds = *state;
    expect_raised(builds, "{}", "is not what was approved: its permission changed");
    expect_raised(builds, "{\"pin\":\"warn\"}", "is dangerous and was not when it was approved");
    expect_raised(builds, "{\"pin\":\"off\"}", "is dangerous and was not when it was approved");
}

/* A grant of a safe tool is no agreement to a call that needs one. */
static void a_safe_tool_that_needs_consent_is_asked_about(void **state) {
    struct builds *builds = *state;
    builds_configure(builds, "{\"pin\":\"warn\"}");
    builds_put(builds, "wants-trust", 1);
    builds_open(builds);
    assert_int_equal(toolrack_grant(builds->host, "wipe", 0, "eve", &err), 0);
    builds_put(builds, "wants-care", 2);
    builds_reload(builds->host, NULL, "reloaded");
    expect_call(builds->host, "wipe", NULL, "runs only after a person agreed");
}

static void a_configured_grant_ends_where_the_permission_rises(void **state) {
    struct builds *builds = *state;
    builds_configure(builds, "{\"pin\":\"warn\",\"grants\":[\"wipe\"]}");
    builds_put(builds, "wants-care", 1);
    builds_open(builds);
    expect_call(builds->host, "wipe", NULL, "wiped");
    builds_put(builds, "wants", 2);
    builds_reopen(builds);
    expect_call(builds->host, "wipe", NULL, "is dangerous and was not when it was approved");
    assert_true(builds_warned(builds, "grants 'wipe', but it had another permission"));
}

static unsigned count_changed(struct builds *builds) {
    struct toolrack_text *text = NULL;
    unsigned count = 0;
    assert_int_equal(toolrack_decisions(builds->host, NULL, &text, &err), 0);
    for (const char *at = toolrack_text_data(text, NULL);
         (at = strstr(at, "\"decision\":\"changed\"")) != NULL; at++) {
        count++;
    }
    toolrack_text_unref(text);
    return count;
}

static void a_change_is_one_decision(void **state) {
    struct builds *builds = *state;
    builds_put(builds, "wants", 1);
    builds_open(builds);
    assert_int_equal(toolrack_grant(builds->host, "wipe", 0, "eve", &err), 0);
    builds_put(builds, "wants-trust", 2);
    builds_reload(builds->host, NULL, "reloaded");
    for (int i = 0; i < 3; i++) {
        assert_int_equal(count_changed(builds), 1);
        builds_reopen(builds);
    }
    /* Approved as it is, it is no change; the next change is another one. */
    assert_int_equal(toolrack_grant(builds->host, "wipe", 0, "eve", &err), 0);
    builds_reopen(builds);
    assert_int_equal(count_changed(builds), 1);
    assert_int_equal(toolrack_revoke(builds->host, "wipe", "eve", &err), 0);
    builds_put(builds, "wants", 1);
    builds_reload(builds->host, NULL, "reloaded");
    assert_int_equal(toolrack_grant(builds->host, "wipe", 0, "eve", &err), 0);
    builds_put(builds, "wants-trust", 2);
    builds_reload(builds->host, NULL, "reloaded");
    assert_int_equal(count_changed(builds), 2);
    builds_reopen(builds);
    assert_int_equal(count_changed(builds), 2);
}

static void flags_are_part_of_the_pin(void **state) {
    struct builds *builds = *state;
    builds_put(builds, "wants", 1);
    builds_open(builds);
    assert_int_equal(toolrack_grant(builds->host, "wipe", 0, "eve", &err), 0);
    expect_call(builds->host, "wipe", NULL, "wiped");
    builds_put(builds, "wants-trust", 2);
    builds_reload(builds->host, NULL, "reloaded");
    expect_call(builds->host, "wipe", NULL, "its permission and its flags changed");
    builds_expect_why(builds->host, "wipe", "/changed/flags/approved",
                      "not read-only, destructive");
    builds_expect_why(builds->host, "wipe", "/changed/flags/now", "read-only, not destructive");
    /* Back to what asks for more care: nothing to hold. */
    builds_put(builds, "wants", 1);
    builds_reload(builds->host, NULL, "reloaded");
    expect_call(builds->host, "wipe", NULL, "wiped");
}

/* Its example is wrong: a trial that called it would refuse the build. */
static void the_examples_of_a_changed_tool_are_not_called(void **state) {
    struct builds *builds = *state;
    builds_put(builds, "wants", 1);
    builds_open(builds);
    expect_call(builds->host, "look", NULL, "1");
    builds_put(builds, "wants-more", 2);
    builds_reload(builds->host, NULL, "refused"); /* never approved: it is tried */
    builds_put(builds, "wants", 1);
    builds_reload(builds->host, NULL, "unchanged");
    assert_int_equal(toolrack_grant(builds->host, "look", 0, "eve", &err), 0);
    builds_put(builds, "wants-more", 2);
    builds_reload(builds->host, NULL, "reloaded");
    expect_call(builds->host, "look", NULL, "its description");
}

static void a_configured_grant_is_for_the_plugin_that_had_the_name(void **state) {
    struct builds *builds = *state;
    builds_configure(builds, "{\"grants\":[\"wipe\"]}");
    builds_put(builds, "wants", 1);
    builds_open(builds);
    expect_call(builds->host, "wipe", NULL, "wiped");
    builds_reopen(builds);
    expect_call(builds->host, "wipe", NULL, "wiped");
    /* The same name in a build that is another tool, and then in another plugin. */
    builds_put(builds, "wants-trust", 2);
    builds_reload(builds->host, NULL, "reloaded");
    expect_call(builds->host, "wipe", NULL, "is not what was approved");
    builds_close(builds);
    assert_int_equal(unlink(builds->file), 0);
    builds_put_as(builds, "others", "wants-other", 1);
    builds_open(builds);
    expect_call(builds->host, "wipe", NULL, "is dangerous");
    assert_true(builds_warned(builds, "'wipe'"));
}

/* To revoke what a person has granted approves nothing. */
static void to_revoke_does_not_bind_a_configured_grant_anew(void **state) {
    struct builds *builds = *state;
    builds_configure(builds, "{\"grants\":[\"wipe\"]}");
    builds_put(builds, "wants", 1);
    builds_open(builds);
    assert_int_equal(toolrack_grant(builds->host, "wipe", 0, "eve", &err), 0);
    builds_put(builds, "wants-trust", 2);
    builds_reload(builds->host, NULL, "reloaded");
    expect_call(builds->host, "wipe", NULL, "is not what was approved");
    assert_int_equal(toolrack_revoke(builds->host, "wipe", "eve", &err), 0);
    expect_call(builds->host, "wipe", NULL, "is not what was approved");
    builds_reopen(builds);
    expect_call(builds->host, "wipe", NULL, "is not what was approved");
}

static void expect_grant(struct builds *builds, const char *plugin, const char *grant_state,
                         const char *reason) {
    struct toolrack_text *text = NULL;
    char wanted[128];
    (void)snprintf(wanted, sizeof wanted, "\"plugin\":%s%s%s,", plugin != NULL ? "\"" : "",
                   plugin != NULL ? plugin : "null", plugin != NULL ? "\"" : "");
    assert_int_equal(toolrack_grants(builds->host, &text, &err), 0);
    const char *row = toolrack_text_data(text, NULL);
    if (strstr(row, wanted) == NULL || strstr(row, grant_state) == NULL ||
        strstr(row, reason) == NULL) {
        fail_msg("%s, %s, %s: %s", wanted, grant_state, reason, row);
    }
    toolrack_text_unref(text);
}

/* Whose tool it is, and whether it counts. */
static void grants_are_listed_as_they_are(void **state) {
    struct builds *builds = *state;
    builds_configure(builds, "{\"grants\":[\"wipe\"]}");
    builds_open(builds);
    expect_grant(builds, NULL, "\"state\":\"absent\"", "\"no tool has this name; correct the name");
    builds_put(builds, "wants", 1);
    builds_reopen(builds);
    expect_grant(builds, "wants", "\"state\":\"in-force\",\"reason\":null",
                 "\"origin\":\"community:/");
    builds_put(builds, "wants-trust", 2);
    builds_reload(builds->host, NULL, "reloaded");
    expect_grant(builds, "wants", "\"state\":\"changed\"",
                 "is not what was approved: its permission");
    builds_close(builds);
    assert_int_equal(unlink(builds->file), 0);
    builds_open(builds);
    expect_grant(builds, "wants", "\"state\":\"absent\"", "plugin 'wants' (community:/");
    assert_false(builds_warned(builds, "correct the name"));
    builds_put_as(builds, "others", "wants-other", 1);
    builds_reopen(builds);
    expect_grant(builds, "wants", "\"state\":\"other-plugin\"", "of another plugin");
}

static void a_configured_grant_of_one_version_is_for_that_version(void **state) {
    struct builds *builds = *state;
    builds_configure(builds, "{\"grants\":[\"wipe@1.0.0\", \"wype\", \"wipe@3.0.0\"]}");
    builds_put(builds, "wants", 1);
    builds_open(builds);
    expect_call(builds->host, "wipe", NULL, "wiped");
    assert_true(builds_warned(builds, "grants 'wype', but no tool has this name; did you mean "
                                      "'wipe'?"));
    assert_true(builds_warned(builds, "grants 'wipe@3.0.0', but no tool of this name has this "
                                      "version"));
    builds_configure(builds, "{\"grants\":[\"wipe@^1\"]}");
    builds_close(builds);
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    options.config_file = builds->config;
    options.state_dir = builds->state;
    expect_code(toolrack_open(&options, &builds->host, &err), TOOLRACK_E_INVALID,
                "neither the name of a tool nor one version of a tool; write \"name\"");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, builds_setup, builds_teardown)

/* ------------------------------------------------------------------ shown to models */

static void expect_export(struct toolrack *host, const struct toolrack_export_options *options,
                          enum toolrack_format format, bool is_shown, const char *noted) {
    struct toolrack_text *text = NULL;
    struct toolrack_text *report = NULL;
    assert_int_equal(
            toolrack_export(host, format, options, &text, noted != NULL ? &report : NULL, &err), 0);
    assert_int_equal(strstr(toolrack_text_data(text, NULL), "\"name\":\"touch\"") != NULL,
                     is_shown);
    if (noted != NULL) {
        assert_non_null(strstr(toolrack_text_data(report, NULL), noted));
    }
    toolrack_text_unref(report);
    toolrack_text_unref(text);
}

/* A tool of the configuration, a host function that a model may call. */
#define LISTS                                                                              \
    "\"tools\":[{\"name\":\"tools\",\"description\":\"List tools\",\"type\":\"function\"," \
    "\"parameters\":{\"type\":\"object\"},"                                                \
    "\"implementation\":{\"type\":\"builtin\",\"handler\":\"list_tools\"}}]"

static void expect_answer(struct toolrack *host, const char *call, const char *name,
                          bool is_shown) {
    struct toolrack_text *text = NULL;
    char message[256];
    (void)snprintf(message, sizeof message,
                   "{\"message\":{\"tool_calls\":[{\"function\":{\"name\":\"%s\",\"arguments\":{}}}"
                   "]}}",
                   call);
    assert_int_equal(toolrack_answer(host, TOOLRACK_FORMAT_OLLAMA, message, strlen(message), NULL,
                                     &text, &err),
                     0);
    if ((strstr(toolrack_text_data(text, NULL), name) != NULL) != is_shown) {
        fail_msg("%s", toolrack_text_data(text, NULL));
    }
    toolrack_text_unref(text);
}

/* Nobody agreed to the texts of a held tool. */
static void a_held_tool_is_not_shown_to_models(void **state) {
    struct builds *builds = *state;
    static const char *const named[] = {"touch", NULL};
    struct toolrack_export_options options = TOOLRACK_EXPORT_OPTIONS_INIT;
    builds_configure(builds, "{\"policies\":{\"wants\":{\"pin\":\"enforce\"}}," LISTS "}");
    builds_put(builds, "wants", 1);
    builds_open(builds);
    expect_export(builds->host, NULL, TOOLRACK_FORMAT_OPENAI, true, NULL);
    expect_answer(builds->host, "tools", "\\\"touch\\\"", true);
    expect_answer(builds->host, "touc", "'touch'", true);
    assert_int_equal(toolrack_grant(builds->host, "touch", 0, "eve", &err), 0);
    assert_int_equal(toolrack_grant(builds->host, "look", 0, "eve", &err), 0);
    builds_put(builds, "wants-more", 1);
    builds_reload(builds->host, NULL, "reloaded");
    struct toolrack_tool *tool = toolrack_get(builds->host, "touch");
    assert_int_equal(toolrack_tool_state(tool), TOOLRACK_STATE_CHANGED);
    toolrack_tool_unref(tool);
    for (int format = 0; toolrack_format_name((enum toolrack_format)format) != NULL; format++) {
        expect_export(builds->host, NULL, (enum toolrack_format)format, false, NULL);
    }
    expect_answer(builds->host, "tools", "\\\"touch\\\"", false);
    expect_answer(builds->host, "tools", "\\\"wipe\\\"", true);
    expect_answer(builds->host, "touc", "'touch'", false);
    expect_export(builds->host, NULL, TOOLRACK_FORMAT_OPENAI, false, "\"kind\":\"changed\"");
    options.allow = named;
    expect_export(builds->host, &options, TOOLRACK_FORMAT_OPENAI, false,
                  "\"kind\":\"changed\",\"at\":null,\"what\":\"it is not what was approved");
    options.disabled = 1;
    expect_export(builds->host, &options, TOOLRACK_FORMAT_OPENAI, true,
                  "it is exported, but a call of it is refused");
    options.allow = NULL;
    expect_export(builds->host, &options, TOOLRACK_FORMAT_OPENAI, true, NULL);
    /* Approved, it is shown again: the text that is kept for the registry is made anew. */
    assert_int_equal(toolrack_grant(builds->host, "touch", 0, "eve", &err), 0);
    expect_export(builds->host, NULL, TOOLRACK_FORMAT_OPENAI, true, NULL);
    expect_answer(builds->host, "tools", "\\\"touch\\\"", true);
}

/* Its definition stays in the list, which a release must not change; who names it is told. */
static void an_export_says_what_cannot_be_called(void **state) {
    struct builds *builds = *state;
    static const char *const named[] = {"build", NULL};
    struct toolrack_export_options options = TOOLRACK_EXPORT_OPTIONS_INIT;
    struct toolrack_text *text = NULL;
    struct toolrack_text *report = NULL;
    builds_put(builds, "build", BUILD_OPEN_FAILS);
    builds_open(builds);
    builds_close(builds);
    builds->host = builds_another(builds, TOOLRACK_ISOLATION_NONE);
    (void)call(builds->host, "build", NULL);
    options.allow = named;
    assert_int_equal(
            toolrack_export(builds->host, TOOLRACK_FORMAT_MCP, &options, &text, &report, &err), 0);
    assert_non_null(strstr(toolrack_text_data(text, NULL), "\"name\":\"build\""));
    assert_non_null(strstr(toolrack_text_data(report, NULL), "\"kind\":\"uncallable\""));
    assert_non_null(strstr(toolrack_text_data(report, NULL), "its plugin is failed"));
    toolrack_text_unref(report);
    toolrack_text_unref(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
            TEST(what_is_allowed_is_in_effect_at_once_and_lasts),
            TEST(what_the_configuration_allows_can_be_taken),
            TEST(only_what_is_declared_can_be_allowed),
            TEST(allowances_are_listed_and_decisions),
            TEST(a_failure_says_what_is_not_allowed),
            TEST(a_failure_says_what_may_be_missing),
            TEST(other_failures_name_no_command),
            TEST(a_library_in_a_folder_of_its_own_is_found),
            TEST(a_failed_load_says_where_more_is),
            TEST(what_is_never_granted_cannot_be_allowed),
            TEST(what_was_given_and_is_refused_is_told),
            TEST(a_path_in_what_is_declared_can_be_allowed),
            TEST(a_path_that_was_allowed_can_be_taken),
            TEST(paths_of_the_configuration_can_be_taken),
            TEST(to_take_what_is_not_given_is_no_decision),
            TEST(what_happens_to_a_file_is_one_decision),
            TEST(another_host_follows),
            TEST(a_word_does_not_cover_what_is_declared_later),
            TEST(what_is_new_is_withheld_where_it_is_a_warning),
            TEST(a_word_that_covered_nothing_covers_nothing_later),
            TEST(a_dangerous_tool_that_calls_itself_safe_is_held),
            TEST(a_held_tool_is_not_shown_to_models),
            TEST(an_export_says_what_cannot_be_called),
            TEST(a_grant_ends_where_the_permission_rises),
            TEST(a_safe_tool_that_needs_consent_is_asked_about),
            TEST(a_configured_grant_ends_where_the_permission_rises),
            TEST(a_change_is_one_decision),
            TEST(flags_are_part_of_the_pin),
            TEST(the_examples_of_a_changed_tool_are_not_called),
            TEST(a_configured_grant_is_for_the_plugin_that_had_the_name),
            TEST(to_revoke_does_not_bind_a_configured_grant_anew),
            TEST(grants_are_listed_as_they_are),
            TEST(a_configured_grant_of_one_version_is_for_that_version),
    };
    return cmocka_run_group_tests_name("allow", tests, NULL, NULL);
}
