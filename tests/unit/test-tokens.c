/* Tokens: who has the secret of one is let in, until it expires or is revoked, in whatever process
 * that is decided; nothing that is kept or shown tells the secret. */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
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
#include <time.h>
#include <unistd.h>

#include <yyjson.h>

#include "toolrack/plugin.h" /* before what declares a `host` */

#include "base/cleanup.h"
#include "base/error.h"
#include "host-unit.h"
#include "toolrack/serving.h"

#include <cmocka.h> /* after plugin.h: it defines a macro named fail */

CLEANUP_DEFINE(struct toolrack_text, toolrack_text_unref)

static char logged[8192];
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;

static void take_log(void *user, enum toolrack_log_level level, const char *source,
                     const char *line) {
    (void)user;
    (void)level;
    (void)pthread_mutex_lock(&log_lock);
    size_t used = strlen(logged);
    (void)snprintf(logged + used, sizeof logged - used, "%s: %s\n", source, line);
    (void)pthread_mutex_unlock(&log_lock);
}

static struct toolrack *open_host(bool brief) {
    struct toolrack *opened = NULL;
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    options.config_file = config_file;
    options.state_dir = state_dir;
    options.no_scan = 1;
    options.log = take_log;
    options.brief = brief;
    if (toolrack_open(&options, &opened, &err) < 0) {
        fail_msg("%s", err.message);
    }
    return opened;
}

static int set_up(void **state) {
    (void)state;
    if (host_set_up() != 0) {
        return -1;
    }
    host_configure("{\"serve\": {\"profiles\": {\"readers\": {}}}}");
    logged[0] = '\0';
    host = open_host(false);
    return 0;
}

/* Add a token; its secret, to be released. */
static struct toolrack_text *add(struct toolrack *to, const struct toolrack_token *token) {
    struct toolrack_text *secret = NULL;
    assert_ok(toolrack_token_add(to, token, &secret, "ann", &err));
    return secret;
}

static struct toolrack_text *add_name(struct toolrack *to, const char *name) {
    struct toolrack_token token = TOOLRACK_TOKEN_INIT;
    token.name = name;
    return add(to, &token);
}

/* Whether a host lets the owner of a secret in. */
static bool is_let_in(struct toolrack *by, const struct toolrack_text *secret) {
    struct toolrack_token_grant *grant = NULL;
    int code = toolrack_token_find(by, toolrack_text_data(secret, NULL), &grant, &err);
    assert_true(code == 0 || code == TOOLRACK_E_NOT_FOUND);
    assert_true((code == 0) == (grant != NULL));
    toolrack_token_grant_unref(grant);
    return code == 0;
}

static void a_token_has_what_it_was_given(void **state) {
    (void)state;
    const char *const tools[] = {"calculator", "file_*@^1", NULL};
    struct toolrack_token token = TOOLRACK_TOKEN_INIT;
    token.name = "ci.main_2";
    token.profile = "readers";
    token.tools = tools;
    token.expires_s = (int64_t)time(NULL) + 1000;
    token.rate_per_minute = 30;
    token.admin = 1;
    token.approves = 1;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *secret = add(host, &token);
    size_t length = 0;
    const char *text = toolrack_text_data(secret, &length);
    assert_memory_equal(text, TOOLRACK_TOKEN_PREFIX, strlen(TOOLRACK_TOKEN_PREFIX));
    assert_true(length >= strlen(TOOLRACK_TOKEN_PREFIX) + 32); /* 128 bits as digits */

    struct toolrack_token_grant *grant = NULL;
    assert_ok(toolrack_token_find(host, text, &grant, &err));
    assert_string_equal(toolrack_token_grant_name(grant), "ci.main_2");
    assert_memory_equal(toolrack_token_grant_id(grant), "ci.main_2-", strlen("ci.main_2-"));
    assert_string_equal(toolrack_token_grant_profile(grant), "readers");
    assert_string_equal(toolrack_token_grant_tools(grant)[0], "calculator");
    assert_string_equal(toolrack_token_grant_tools(grant)[1], "file_*@^1");
    assert_null(toolrack_token_grant_tools(grant)[2]);
    assert_int_equal(toolrack_token_grant_rate_per_minute(grant), 30);
    assert_int_equal(toolrack_token_grant_expires_s(grant), token.expires_s);
    assert_true(toolrack_token_grant_is_admin(grant));
    assert_true(toolrack_token_grant_approves(grant));
    assert_true(toolrack_token_grant_holds(grant));
    assert_true(toolrack_tools_have(toolrack_token_grant_tools(grant), "calculator", "1.0.0"));
    assert_true(toolrack_tools_have(toolrack_token_grant_tools(grant), "file_read", "1.2.0"));
    assert_false(toolrack_tools_have(toolrack_token_grant_tools(grant), "file_read", "2.0.0"));
    assert_false(toolrack_tools_have(toolrack_token_grant_tools(grant), "calculator2", "1.0.0"));
    assert_true(toolrack_tools_have(NULL, "anything", "1.0.0"));
    toolrack_token_grant_unref(grant);
}

static void a_token_is_found_by_its_whole_secret_only(void **state) {
    (void)state;
    struct toolrack_token_grant *grant = NULL;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *secret = add_name(host, "one");
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *other = add_name(host, "two");
    assert_string_not_equal(toolrack_text_data(secret, NULL), toolrack_text_data(other, NULL));
    assert_true(is_let_in(host, secret));
    CLEANUP(freep) char *wrong = strdup(toolrack_text_data(secret, NULL));
    assert_non_null(wrong);
    size_t length = strlen(wrong);
    for (size_t i = 0; i < length; i++) {
        char right = wrong[i];
        wrong[i] = right == '0' ? '1' : '0';
        assert_int_equal(toolrack_token_find(host, wrong, &grant, &err), TOOLRACK_E_NOT_FOUND);
        wrong[i] = '\0';
        assert_int_equal(toolrack_token_find(host, wrong, &grant, &err), TOOLRACK_E_NOT_FOUND);
        wrong[i] = right;
    }
    assert_null(grant);
}

static void what_was_not_given_is_all_or_none(void **state) {
    (void)state;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *secret = add_name(host, "plain");
    struct toolrack_token_grant *grant = NULL;
    const char *const none[] = {NULL};
    struct toolrack_token token = TOOLRACK_TOKEN_INIT;
    assert_ok(toolrack_token_find(host, toolrack_text_data(secret, NULL), &grant, &err));
    assert_null(toolrack_token_grant_profile(grant));
    assert_null(toolrack_token_grant_tools(grant));
    assert_false(toolrack_token_grant_is_admin(grant));
    assert_false(toolrack_token_grant_approves(grant));
    assert_int_equal(toolrack_token_grant_expires_s(grant), 0);
    toolrack_token_grant_unref(grant);

    token.name = "none";
    token.tools = none; /* an empty list is not no list */
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *empty = add(host, &token);
    assert_ok(toolrack_token_find(host, toolrack_text_data(empty, NULL), &grant, &err));
    assert_non_null(toolrack_token_grant_tools(grant));
    assert_false(toolrack_tools_have(toolrack_token_grant_tools(grant), "calculator", "1.0.0"));
    toolrack_token_grant_unref(grant);
}

static void a_wrong_token_is_refused(void **state) {
    (void)state;
    const char *const tools[] = {"calculator", "not a name", NULL};
    static const char *const names[] = {"", "-x", ".x", "a b", "a/b", "a\n", "\xc3\xa4", NULL};
    char longest[70];
    struct toolrack_text *secret = NULL;
    struct toolrack_token token = TOOLRACK_TOKEN_INIT;
    assert_error(toolrack_token_add(host, &token, &secret, "ann", &err), TOOLRACK_E_INVALID,
                 "1 to 64");
    for (size_t i = 0; names[i] != NULL; i++) {
        token.name = names[i];
        assert_error(toolrack_token_add(host, &token, &secret, "ann", &err), TOOLRACK_E_INVALID,
                     "1 to 64");
    }
    memset(longest, 'n', 65);
    longest[65] = '\0';
    token.name = longest;
    assert_error(toolrack_token_add(host, &token, &secret, "ann", &err), TOOLRACK_E_INVALID,
                 "1 to 64");
    token.name = "x";
    token.profile = "reader";
    assert_error(toolrack_token_add(host, &token, &secret, "ann", &err), TOOLRACK_E_INVALID,
                 "did you mean 'readers'?");
    token.profile = NULL;
    token.tools = tools;
    assert_error(toolrack_token_add(host, &token, &secret, "ann", &err), TOOLRACK_E_INVALID,
                 "\"not a name\"");
    token.tools = NULL;
    token.expires_s = (int64_t)time(NULL) - 1;
    assert_error(toolrack_token_add(host, &token, &secret, "ann", &err), TOOLRACK_E_INVALID,
                 "expired");
    assert_null(secret);
    assert_error(toolrack_token_revoke(host, "x", "ann", &err), TOOLRACK_E_NOT_FOUND,
                 "toolrack token list");
}

static void a_name_is_of_one_token_at_a_time(void **state) {
    (void)state;
    struct toolrack_text *none = NULL;
    struct toolrack_token token = TOOLRACK_TOKEN_INIT;
    token.name = "ci";
    token.expires_s = (int64_t)time(NULL) + 100;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *first = add(host, &token);
    assert_error(toolrack_token_add(host, &token, &none, "ann", &err), TOOLRACK_E_EXISTS,
                 "revoke it first");
    assert_null(none);
    assert_true(is_let_in(host, first));

    atomic_store(&later_s, 101);
    assert_false(is_let_in(host, first));
    token.expires_s += 1000;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *second = add(host, &token);
    assert_true(is_let_in(host, second));
    assert_false(is_let_in(host, first));
}

static void the_id_is_unlike_that_of_an_earlier_token(void **state) {
    (void)state;
    struct toolrack_token_grant *old = NULL;
    struct toolrack_token_grant *new = NULL;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *first = add_name(host, "ci");
    assert_ok(toolrack_token_find(host, toolrack_text_data(first, NULL), &old, &err));
    assert_ok(toolrack_token_revoke(host, "ci", "ann", &err));
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *second = add_name(host, "ci");
    assert_ok(toolrack_token_find(host, toolrack_text_data(second, NULL), &new, &err));
    assert_string_not_equal(toolrack_token_grant_id(old), toolrack_token_grant_id(new));
    toolrack_token_grant_unref(old);
    toolrack_token_grant_unref(new);
}

static void an_expired_token_is_unknown(void **state) {
    (void)state;
    struct toolrack_token_grant *grant = NULL;
    struct toolrack_token token = TOOLRACK_TOKEN_INIT;
    token.name = "short";
    token.expires_s = (int64_t)time(NULL) + 100;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *secret = add(host, &token);
    assert_ok(toolrack_token_find(host, toolrack_text_data(secret, NULL), &grant, &err));
    assert_true(toolrack_token_grant_holds(grant));
    atomic_store(&later_s, 101);
    assert_false(toolrack_token_grant_holds(grant));
    assert_false(is_let_in(host, secret));
    atomic_store(&later_s, -50); /* the clock is corrected */
    assert_true(is_let_in(host, secret));
    atomic_store(&later_s, -100); /* set back to before there was the token */
    assert_false(toolrack_token_grant_holds(grant));
    assert_false(is_let_in(host, secret));
    toolrack_token_grant_unref(grant);
}

/* Two hosts of the same state folder; what one of them holds in memory must not outlive what the
 * other one decides. */
static void a_revocation_holds_in_all_hosts_on_return(void **state) {
    (void)state;
    struct toolrack_token_grant *grant = NULL;
    struct toolrack_reached reached = TOOLRACK_REACHED_INIT;
    struct toolrack *other = open_host(false);
    struct toolrack *brief = open_host(true);
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *kept = add_name(host, "kept");
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *gone = add_name(host, "gone");
    struct toolrack *const hosts[] = {host, other, brief};
    for (size_t i = 0; i < ARRAY_LENGTH(hosts); i++) {
        assert_true(is_let_in(hosts[i], kept));
        assert_true(is_let_in(hosts[i], gone));
    }
    assert_ok(toolrack_token_find(other, toolrack_text_data(gone, NULL), &grant, &err));
    assert_ok(toolrack_token_revoke(host, "gone", "ann", &err));
    toolrack_reached(host, &reached);
    assert_int_equal(reached.applied, 1);
    assert_false(toolrack_token_grant_holds(grant));
    for (size_t i = 0; i < ARRAY_LENGTH(hosts); i++) {
        assert_true(is_let_in(hosts[i], kept));
        assert_false(is_let_in(hosts[i], gone));
    }
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *new = add_name(other, "new");
    for (size_t i = 0; i < ARRAY_LENGTH(hosts); i++) {
        assert_true(is_let_in(hosts[i], new));
    }
    toolrack_token_grant_unref(grant);
    toolrack_close(brief);
    toolrack_close(other);
}

static tr_status send_mail(struct tr_call *call) {
    return tr_reply_text(call, "sent");
}
TR_JSON_TOOL(send_mail, ("Send mail", .permission = TR_CONFIRM), "{\"type\":\"object\"}")
TR_PLUGIN("mail", "1.0.0", send_mail)

static int answer_later(void *user, const struct toolrack_approval_request *request) {
    (void)user;
    (void)request;
    return TOOLRACK_APPROVAL_ASK_LATER;
}

static char *waiting_calls(void) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    assert_ok(toolrack_pending(host, &text, &err));
    return strdup(toolrack_text_data(text, NULL));
}

static void a_revocation_ends_the_calls_that_wait(void **state) {
    (void)state;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *kept = add_name(host, "kept");
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *gone = add_name(host, "gone");
    struct toolrack_text *const secrets[] = {kept, gone};
    char callers[2][80];
    assert_ok(toolrack_register(host, &toolrack_plugin, NULL, &err));
    for (size_t i = 0; i < ARRAY_LENGTH(secrets); i++) {
        struct toolrack_token_grant *grant = NULL;
        struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
        struct toolrack_result *result = NULL;
        assert_ok(toolrack_token_find(host, toolrack_text_data(secrets[i], NULL), &grant, &err));
        (void)snprintf(callers[i], sizeof callers[i], "token:%s", toolrack_token_grant_id(grant));
        toolrack_token_grant_unref(grant);
        options.caller = callers[i];
        options.approve = answer_later;
        assert_int_equal(toolrack_call(host, "send_mail", "{}", &options, &result, &err),
                         TOOLRACK_E_CONFIRMATION_REQUIRED);
    }
    CLEANUP(freep) char *before = waiting_calls();
    assert_non_null(strstr(before, callers[0]));
    assert_non_null(strstr(before, callers[1]));
    assert_ok(toolrack_token_revoke(host, "gone", "ann", &err));
    CLEANUP(freep) char *after = waiting_calls();
    assert_non_null(strstr(after, callers[0]));
    assert_null(strstr(after, callers[1]));
}

static void a_grant_that_stays_is_not_revoked_by_another_decision(void **state) {
    (void)state;
    struct toolrack_token_grant *grant = NULL;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *kept = add_name(host, "kept");
    assert_ok(toolrack_token_find(host, toolrack_text_data(kept, NULL), &grant, &err));
    toolrack_text_unref(add_name(host, "other"));
    assert_ok(toolrack_token_revoke(host, "other", "ann", &err));
    assert_true(toolrack_token_grant_holds(grant));
    assert_ok(toolrack_token_revoke(host, "kept", "ann", &err));
    assert_false(toolrack_token_grant_holds(grant));
    toolrack_token_grant_unref(grant);
}

static void a_decision_outlives_its_host(void **state) {
    (void)state;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *kept = add_name(host, "kept");
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *gone = add_name(host, "gone");
    assert_ok(toolrack_token_revoke(host, "gone", "ann", &err));
    toolrack_close(host);
    host = open_host(false);
    assert_true(is_let_in(host, kept));
    assert_false(is_let_in(host, gone));
}

/* Nobody is let in by what was read before the store went bad. */
static void nobody_is_let_in_when_the_store_cannot_be_read(void **state) {
    (void)state;
    char path[96];
    struct toolrack_token_grant *grant = NULL;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *secret = add_name(host, "ci");
    toolrack_close(host);
    (void)snprintf(path, sizeof path, "%s/toolrack.db", state_dir);
    FILE *file = fopen(path, "r+");
    assert_non_null(file);
    assert_int_equal(fputs("this is no database of any kind", file) >= 0, 1);
    assert_int_equal(fclose(file), 0);
    host = open_host(false);
    assert_int_equal(toolrack_token_find(host, toolrack_text_data(secret, NULL), &grant, &err),
                     TOOLRACK_E_IO);
    assert_null(grant);
}

/* A member of the index-th token of the list. */
static yyjson_val *member(yyjson_doc *doc, size_t index, const char *key) {
    return yyjson_obj_get(yyjson_arr_get(yyjson_doc_get_root(doc), index), key);
}

static void the_list_has_all_but_the_secrets(void **state) {
    (void)state;
    const char *const tools[] = {"calculator", NULL};
    struct toolrack_text *list = NULL;
    struct toolrack_token token = TOOLRACK_TOKEN_INIT;
    assert_ok(toolrack_tokens(host, &list, &err));
    assert_string_equal(toolrack_text_data(list, NULL), "[]");
    toolrack_text_unref(list);
    token.name = "b";
    token.tools = tools;
    token.profile = "readers";
    token.expires_s = (int64_t)time(NULL) + 100;
    toolrack_text_unref(add(host, &token));
    toolrack_text_unref(add_name(host, "a"));
    atomic_store(&later_s, 101);
    assert_ok(toolrack_tokens(host, &list, &err));
    size_t length = 0;
    const char *text = toolrack_text_data(list, &length);
    assert_null(strstr(text, TOOLRACK_TOKEN_PREFIX));
    yyjson_doc *doc = yyjson_read(text, length, 0);
    assert_int_equal(yyjson_arr_size(yyjson_doc_get_root(doc)), 2);
    assert_string_equal(yyjson_get_str(member(doc, 0, "name")), "a");
    assert_true(yyjson_is_null(member(doc, 0, "tools")));
    assert_true(yyjson_is_null(member(doc, 0, "expires_s")));
    assert_true(yyjson_is_false(member(doc, 0, "expired")));
    assert_string_equal(yyjson_get_str(member(doc, 1, "name")), "b");
    assert_string_equal(yyjson_get_str(member(doc, 1, "profile")), "readers");
    assert_string_equal(yyjson_get_str(yyjson_arr_get(member(doc, 1, "tools"), 0)), "calculator");
    assert_true(yyjson_is_true(member(doc, 1, "expired")));
    assert_string_equal(yyjson_get_str(member(doc, 1, "who")), "ann");
    yyjson_doc_free(doc);
    toolrack_text_unref(list);
}

/* Whether any file of a folder has a text. */
static bool folder_has(const char *folder, const char *text) {
    DIR *stream = opendir(folder);
    assert_non_null(stream);
    bool found = false;
    const struct dirent *entry;
    while (!found && (entry = readdir(stream)) != NULL) {
        char path[512];
        struct stat st;
        (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (stat(path, &st) < 0 || !S_ISREG(st.st_mode)) {
            continue;
        }
        CLEANUP(freep) char *content = malloc((size_t)st.st_size + 1);
        FILE *file = fopen(path, "r");
        if (file == NULL) { /* one for a moment, such as SQLite's journal */
            assert_int_equal(errno, ENOENT);
            continue;
        }
        size_t size = fread(content, 1, (size_t)st.st_size, file);
        (void)fclose(file);
        found = memmem(content, size, text, strlen(text)) != NULL;
    }
    (void)closedir(stream);
    return found;
}

static void decisions_are_logged_without_the_secret(void **state) {
    (void)state;
    struct toolrack_text *text = NULL;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *secret = add_name(host, "ci");
    assert_true(is_let_in(host, secret));
    assert_ok(toolrack_token_revoke(host, "ci", "bob", &err));
    assert_ok(toolrack_decisions(host, NULL, &text, &err));
    const char *decisions = toolrack_text_data(text, NULL);
    const char *revoked = strstr(decisions, "\"decision\":\"revoked token\",\"who\":\"bob\"");
    const char *added = strstr(decisions, "\"decision\":\"added token\",\"who\":\"ann\"");
    assert_non_null(revoked);
    assert_non_null(added);
    assert_true(revoked < added); /* the newest first */
    assert_non_null(strstr(decisions, "token 'ci'"));
    const char *digits = toolrack_text_data(secret, NULL) + strlen(TOOLRACK_TOKEN_PREFIX);
    assert_null(strstr(decisions, digits));
    assert_non_null(strstr(logged, "token 'ci'"));
    assert_null(strstr(logged, digits));
    assert_true(folder_has(state_dir, "revoked token")); /* what is there is found */
    assert_false(folder_has(state_dir, digits));
    toolrack_text_unref(text);
}

/* Threads look for tokens while these are added and revoked: each gets what held at some moment. */
static atomic_bool stops;

/* A file with a text, which the host takes as the token of its administrator. */
static int take_file(const char *path, const char *text, mode_t mode) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file) | chmod(path, mode), 0);
    return toolrack_token_file(host, path, &err);
}

#define FILE_SECRET "trk_0123456789abcdef0123456789abcdef"
#define FILE_OTHER  "trk_fedcba9876543210fedcba9876543210"

static void a_file_has_the_token_of_an_administrator(void **state) {
    (void)state;
    struct toolrack_token_grant *grant = NULL;
    struct toolrack_token_grant *other = NULL;
    char path[256];
    (void)snprintf(path, sizeof path, "%s/token", dir);
    assert_ok(take_file(path, FILE_SECRET "\n", 0600));
    assert_ok(toolrack_token_find(host, FILE_SECRET, &grant, &err));
    assert_string_equal(toolrack_token_grant_name(grant), "file");
    assert_true(toolrack_token_grant_is_admin(grant));
    assert_int_equal(toolrack_token_find(host, FILE_OTHER, &other, &err), TOOLRACK_E_NOT_FOUND);
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *list = NULL;
    assert_ok(toolrack_tokens(host, &list, &err));
    assert_non_null(strstr(toolrack_text_data(list, NULL), "\"name\":\"file\""));
    assert_null(strstr(toolrack_text_data(list, NULL), FILE_SECRET));
    assert_error(toolrack_token_revoke(host, "file", "ann", &err), TOOLRACK_E_NOT_FOUND,
                 "is that in /");
    /* The same again changes nothing; another one ends what the first was good for. */
    assert_ok(take_file(path, FILE_SECRET, 0600));
    assert_true(toolrack_token_grant_holds(grant));
    assert_ok(take_file(path, FILE_OTHER "\n", 0600));
    assert_false(toolrack_token_grant_holds(grant));
    assert_int_equal(toolrack_token_find(host, FILE_SECRET, &other, &err), TOOLRACK_E_NOT_FOUND);
    assert_ok(toolrack_token_find(host, FILE_OTHER, &other, &err));
    assert_string_not_equal(toolrack_token_grant_id(grant), toolrack_token_grant_id(other));
    toolrack_token_grant_unref(other);
    toolrack_token_grant_unref(grant);
    assert_ok(toolrack_token_file(host, NULL, &err));
    assert_int_equal(toolrack_token_find(host, FILE_OTHER, &other, &err), TOOLRACK_E_NOT_FOUND);
    (void)unlink(path);
}

static void a_file_that_is_no_good_changes_nothing(void **state) {
    (void)state;
    static const struct {
        const char *text;
        mode_t mode;
        int code;
        const char *words;
    } rows[] = {{"", 0600, TOOLRACK_E_INVALID, "has no token; write one line there: trk_"},
                {"trk_0123456789abcdef0123456789abcde", 0600, TOOLRACK_E_INVALID, "at least 32"},
                {"0123456789abcdef0123456789abcdef0123\n", 0600, TOOLRACK_E_INVALID, "no token"},
                {FILE_SECRET "\n" FILE_SECRET "\n", 0600, TOOLRACK_E_INVALID, "one line"},
                {FILE_SECRET " \n", 0600, TOOLRACK_E_INVALID, "no token"},
                {FILE_OTHER, 0666, TOOLRACK_E_REFUSED, "chmod"}};
    struct toolrack_token_grant *grant = NULL;
    char path[256];
    char longest[512];
    (void)snprintf(path, sizeof path, "%s/token", dir);
    assert_ok(take_file(path, FILE_SECRET, 0600));
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        assert_error(take_file(path, rows[i].text, rows[i].mode), rows[i].code, rows[i].words);
    }
    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    memcpy(longest, "trk_", 4);
    assert_error(take_file(path, longest, 0600), TOOLRACK_E_INVALID, "no token");
    longest[255] = '\0';
    (void)unlink(path);
    assert_error(toolrack_token_file(host, path, &err), TOOLRACK_E_IO, "make the file, or");
    assert_error(toolrack_token_file(host, "token", &err), TOOLRACK_E_IO, "token");
    assert_error(toolrack_token_file(host, "/", &err), TOOLRACK_E_INVALID, "no regular file");
    assert_ok(toolrack_token_find(host, FILE_SECRET, &grant, &err));
    toolrack_token_grant_unref(grant);
    assert_ok(take_file(path, longest, 0604)); /* with a warning */
    assert_ok(toolrack_token_find(host, longest, &grant, &err));
    toolrack_token_grant_unref(grant);
    (void)pthread_mutex_lock(&log_lock);
    assert_non_null(strstr(logged, "every user of the machine may read the token in /"));
    (void)pthread_mutex_unlock(&log_lock);
    (void)unlink(path);
}

/* As a mount into a container has it: of a user that only the machine outside knows. */
static void a_file_may_be_of_who_named_it(void **state) {
    (void)state;
    char folder[200];
    char path[256];
    (void)snprintf(folder, sizeof folder, "%s/shared", dir);
    (void)snprintf(path, sizeof path, "%s/token", folder);
    if (geteuid() != 0) {
        print_message("# skipped: only root gives files away\n");
        skip();
    }
    assert_int_equal(mkdir(folder, 0755), 0);
    assert_ok(take_file(path, FILE_SECRET "\n", 0644));
    assert_int_equal(chown(path, 12345, 12345), 0);
    (void)pthread_mutex_lock(&log_lock);
    logged[0] = '\0';
    (void)pthread_mutex_unlock(&log_lock);
    assert_ok(toolrack_token_file(host, path, &err));
    (void)pthread_mutex_lock(&log_lock);
    assert_non_null(strstr(logged, "(mode 0644); give it to user 0, with mode 0600, and make"));
    (void)pthread_mutex_unlock(&log_lock);
    assert_int_equal(chown(folder, 12345, 12345), 0);
    assert_ok(toolrack_token_file(host, path, &err));
    assert_int_equal(chmod(path, 0664), 0); /* a group that is no group here */
    assert_error(toolrack_token_file(host, path, &err), TOOLRACK_E_REFUSED, "(mode 0664); chmod");
    assert_int_equal(chmod(path, 0644), 0);
    /* Where anybody makes files, nobody has chosen whose it is. */
    assert_int_equal(chown(folder, 0, 0) | chmod(folder, 01777), 0);
    assert_error(toolrack_token_file(host, path, &err), TOOLRACK_E_REFUSED,
                 "token belongs to user 12345, and others may make files in its folder; use");
    assert_int_equal(chown(path, 0, 0), 0);
    assert_ok(toolrack_token_file(host, path, &err));
    assert_ok(toolrack_token_file(host, NULL, &err));
    assert_int_equal(unlink(path) | rmdir(folder), 0);
}

static void *find_again(void *argument) {
    const struct toolrack_text *kept = argument;
    struct toolrack_error own;
    size_t found = 0;
    do { /* at least once, however late it starts */
        struct toolrack_token_grant *grant = NULL;
        found += toolrack_token_find(host, toolrack_text_data(kept, NULL), &grant, &own) == 0 &&
                 toolrack_token_grant_holds(grant);
        if (grant == NULL) {
            return NULL;
        }
        toolrack_token_grant_unref(grant);
    } while (!atomic_load(&stops));
    return found > 0 ? argument : NULL;
}

static void threads_find_tokens_while_others_change(void **state) {
    (void)state;
    pthread_t threads[3];
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *kept = add_name(host, "kept");
    atomic_store(&stops, false);
    for (size_t i = 0; i < ARRAY_LENGTH(threads); i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, find_again, kept), 0);
    }
    for (int i = 0; i < 20; i++) {
        CLEANUP(toolrack_text_unrefp) struct toolrack_text *other = add_name(host, "other");
        assert_true(is_let_in(host, other));
        assert_ok(toolrack_token_revoke(host, "other", "ann", &err));
        assert_false(is_let_in(host, other));
    }
    atomic_store(&stops, true);
    for (size_t i = 0; i < ARRAY_LENGTH(threads); i++) {
        void *result = NULL;
        assert_int_equal(pthread_join(threads[i], &result), 0);
        assert_non_null(result);
    }
}

int main(void) {
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, host_tear_down)
    const struct CMUnitTest tests[] = {
            TEST(a_token_has_what_it_was_given),
            TEST(a_token_is_found_by_its_whole_secret_only),
            TEST(what_was_not_given_is_all_or_none),
            TEST(a_wrong_token_is_refused),
            TEST(a_name_is_of_one_token_at_a_time),
            TEST(the_id_is_unlike_that_of_an_earlier_token),
            TEST(an_expired_token_is_unknown),
            TEST(a_revocation_holds_in_all_hosts_on_return),
            TEST(a_revocation_ends_the_calls_that_wait),
            TEST(a_grant_that_stays_is_not_revoked_by_another_decision),
            TEST(a_decision_outlives_its_host),
            TEST(nobody_is_let_in_when_the_store_cannot_be_read),
            TEST(the_list_has_all_but_the_secrets),
            TEST(decisions_are_logged_without_the_secret),
            TEST(a_file_has_the_token_of_an_administrator),
            TEST(a_file_that_is_no_good_changes_nothing),
            TEST(a_file_may_be_of_who_named_it),
            TEST(threads_find_tokens_while_others_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
