/* The store: what it keeps, over restarts, upgrades, faults of the disk and the end of processes.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "failing-malloc.h"
#include "own-mounts.h"
#include "patience.h"
#include "rounds.h"
#include "store/approvals.h"
#include "store/calls.h"
#include "store/consent.h"
#include "store/crashes.h"
#include "store/database.h"
#include "store/decisions.h"
#include "store/defaults.h"
#include "store/feedback.h"
#include "store/generations.h"
#include "store/grants.h"
#include "store/health.h"
#include "store/identities.h"
#include "store/libsqlite.h"
#include "store/loading.h"
#include "store/marks.h"
#include "store/pending.h"
#include "store/pins.h"
#include "store/quarantine.h"
#include "store/runs.h"
#include "store/selections.h"
#include "store/standings.h"
#include "store/statistics.h"
#include "store/store.h"
#include "store/tokens.h"
#include "store/vectors.h"

#define NOW 1000000

/* ----------------------------------------------------------------- fixture */

static char dir[64];
static char db_path[96];
static struct store *store;
static struct toolrack_error err;

/* What visitors were given, as text: one row behind the other. */
static struct buf seen;

/* Where there is memory for files it is used: to sync them takes no time there, however busy the
 * disk is. */
static int make_folder(void **state) {
    (void)state;
    (void)snprintf(dir, sizeof dir, "%s/toolrack-test-XXXXXX",
                   access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (mkdtemp(dir) == NULL) {
        return -1;
    }
    (void)snprintf(db_path, sizeof db_path, "%s/toolrack.db", dir);
    store = NULL;
    err = (struct toolrack_error){0};
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    char command[96];
    store_close(store);
    store = NULL;
    buf_finish(&seen);
    (void)snprintf(command, sizeof command, "rm -rf '%s'", dir);
    return system(command);
}

static void open_store(void) {
    store_close(store);
    err = (struct toolrack_error){0};
    store = store_open(dir, &err);
    assert_non_null(store);
}

/* What is asserted after this was read from the file. */
static void reopen(void) {
    open_store();
    assert_int_equal(err.code, 0);
}

static void assert_ok(int code) {
    if (code != 0) {
        fail_msg("%s: %s", toolrack_code_name(code), err.message);
    }
}

static void assert_error(int code, int expected, const char *part) {
    assert_int_equal(code, expected);
    assert_int_equal(err.code, expected);
    if (strstr(err.message, part) == NULL) {
        fail_msg("'%s' does not say '%s'", err.message, part);
    }
}

static void assert_seen(int code, const char *expected) {
    assert_ok(code);
    assert_false(seen.failed);
    assert_string_equal(seen.data != NULL ? seen.data : "", expected);
    buf_finish(&seen);
}

static const char *text_or_dash(const char *text) {
    return text != NULL ? text : "-";
}

static void fill(unsigned char sha256[STORE_SHA256_SIZE], int byte) {
    memset(sha256, byte, STORE_SHA256_SIZE);
}

/* All bytes are the same in these tests; one that is not shows as 999. */
static int byte_of(const unsigned char sha256[STORE_SHA256_SIZE]) {
    for (size_t i = 1; i < STORE_SHA256_SIZE; i++) {
        if (sha256[i] != sha256[0]) {
            return 999;
        }
    }
    return sha256[0];
}

/* Run SQL on the file, as another program would. */
static void run_sql(const char *text) {
    sqlite3 *db = NULL;
    char *message = NULL;
    assert_int_equal(sqlite3_open(db_path, &db), SQLITE_OK);
    if (sqlite3_exec(db, text, NULL, NULL, &message) != SQLITE_OK) {
        fail_msg("%s: %s", text, message);
    }
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* The first value that a statement gives, as text. */
static const char *ask_sql(const char *text) {
    static char answer[256];
    sqlite3 *db = NULL;
    sqlite3_stmt *statement = NULL;
    assert_int_equal(sqlite3_open(db_path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, text, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    (void)snprintf(answer, sizeof answer, "%s", (const char *)sqlite3_column_text(statement, 0));
    (void)sqlite3_finalize(statement);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    return answer;
}

static void see_setting(void *user, const struct store_setting *setting) {
    (void)user;
    buf_printf(&seen, "%s%s%s %s %d;", setting->selector, setting->plugin[0] != '\0' ? " " : "",
               setting->plugin,
               !setting->has_enabled ? "-"
               : setting->enabled    ? "on"
                                     : "off",
               setting->has_priority ? setting->priority : -1);
}

static void see_grant(void *user, const struct store_grant *grant) {
    (void)user;
    buf_printf(&seen, "%s %lld %s %lld;", grant->selector, (long long)grant->expires_s, grant->who,
               (long long)grant->granted_s);
}

static void count_grant(void *user, const struct store_grant *grant) {
    (void)grant;
    ++*(int *)user;
}

static int keep_grant(struct store *into, const struct store_grant *new,
                      struct toolrack_error *ret) {
    return store_consent(into, NULL, 0, new, NULL, ret);
}

static int grant(const char *selector, int64_t expires_s) {
    return keep_grant(
            store,
            &(struct store_grant){
                    .selector = selector, .expires_s = expires_s, .who = "ann", .granted_s = NOW},
            &err);
}

static int read_grants(void) {
    return store_read_grants(store, NOW, see_grant, NULL, &err);
}

static int disable(const char *selector) {
    return store_keep_setting(store,
                              &(struct store_setting){.selector = selector, .has_enabled = true},
                              NULL, 0, &err);
}

static int set(const struct store_setting *setting, const char *plugin) {
    return store_keep_setting(store, setting, &plugin, 1, &err);
}

/* ---------------------------------------------------------------- settings */

static void settings_survive(void **state) {
    (void)state;
    open_store();
    assert_ok(disable("b"));
    assert_ok(disable("a@1.0.0"));
    assert_ok(set(&(struct store_setting){.selector = "b", .has_priority = true, .priority = 7},
                  "mail community:/a"));
    reopen();
    assert_seen(store_read_settings(store, see_setting, NULL, &err),
                "a@1.0.0 off -1;b off -1;b mail community:/a - 7;");
    assert_ok(disable("a"));
    reopen();
    assert_seen(store_read_settings(store, see_setting, NULL, &err),
                "a off -1;b off -1;b mail community:/a - 7;");
}

/* What restricts holds for the name, what favours for who provided it. */
static void settings_are_of_a_name_or_of_a_plugin(void **state) {
    (void)state;
    const struct store_setting on = {.selector = "a", .has_enabled = true, .enabled = true};
    const struct store_setting one_on = {
            .selector = "a@1.0.0", .has_enabled = true, .enabled = true};
    const struct store_setting early = {.selector = "a@1.0.0", .has_priority = true, .priority = 9};
    open_store();
    assert_ok(set(&on, "mail community:/a"));
    assert_ok(set(&early, "mail community:/a"));
    assert_ok(set(&on, "mail community:/b"));
    assert_seen(store_read_settings(store, see_setting, NULL, &err),
                "a mail community:/a on -1;a mail community:/b on -1;"
                "a@1.0.0 mail community:/a - 9;");
    /* To disable it is for all, and ends what enabled it for some. */
    assert_ok(disable("a"));
    assert_seen(store_read_settings(store, see_setting, NULL, &err),
                "a off -1;a@1.0.0 mail community:/a - 9;");
    assert_ok(set(&one_on, "mail community:/b"));
    assert_seen(store_read_settings(store, see_setting, NULL, &err),
                "a off -1;a@1.0.0 mail community:/a - 9;a@1.0.0 mail community:/b on -1;");
    assert_ok(set(&on, "mail community:/b"));
    assert_seen(store_read_settings(store, see_setting, NULL, &err),
                "a mail community:/b on -1;a@1.0.0 mail community:/a - 9;");
}

/* ------------------------------------------------------------------ grants */

static void grants_survive_until_they_expire(void **state) {
    (void)state;
    open_store();
    assert_ok(grant("wipe", 0));
    assert_ok(grant("format@1.0.0", NOW + 60));
    reopen();
    assert_seen(read_grants(), "format@1.0.0 1000060 ann 1000000;wipe 0 ann 1000000;");
    assert_seen(store_read_grants(store, NOW + 60, see_grant, NULL, &err), "wipe 0 ann 1000000;");
    assert_string_equal(ask_sql("SELECT count(*) FROM grants"), "2");
    /* Removed at the next write. */
    assert_ok(keep_grant(
            store, &(struct store_grant){.selector = "x", .who = "bob", .granted_s = NOW + 60},
            &err));
    assert_string_equal(ask_sql("SELECT count(*) FROM grants"), "2");
    assert_seen(read_grants(), "wipe 0 ann 1000000;x 0 bob 1000060;");
}

/* It would hold for longer than was said, or again. */
static void a_grant_for_a_time_ends_where_the_clock_goes_back(void **state) {
    (void)state;
    open_store();
    assert_ok(grant("wipe", 0));
    assert_ok(grant("format", NOW + 60));
    assert_seen(store_read_grants(store, NOW - 60, see_grant, NULL, &err),
                "format 1000060 ann 1000000;wipe 0 ann 1000000;");
    assert_seen(store_read_grants(store, NOW - 61, see_grant, NULL, &err), "wipe 0 ann 1000000;");
}

static void a_grant_by_name_is_that_of_all_versions(void **state) {
    (void)state;
    open_store();
    assert_ok(grant("wipe@1.0.0", 0));
    assert_ok(grant("wipe@2.0.0", 0));
    assert_ok(grant("wiper", 0));
    assert_ok(grant("wipe", NOW + 5));
    assert_seen(read_grants(), "wipe 1000005 ann 1000000;wiper 0 ann 1000000;");
    assert_error(store_withdraw(store, "wipe@1.0.0", false, NOW, NULL, &err), TOOLRACK_E_NOT_FOUND,
                 "all versions of 'wipe' are granted: revoke that");
    assert_ok(grant("wipe@1.0.0", 0));
    assert_ok(store_withdraw(store, "wipe", false, NOW, NULL, &err));
    reopen();
    assert_seen(read_grants(), "wiper 0 ann 1000000;");
}

/* Also of what is not stored: another process has to see that. */
static void what_is_withdrawn_has_another_number(void **state) {
    (void)state;
    uint64_t numbers[4];
    uint64_t other = 1;
    open_store();
    assert_ok(store_withdrawn(store, "wipe", "1.0.0", &numbers[0], &err));
    assert_true(numbers[0] == 0);
    static const char *const selectors[] = {"wipe", "wipe@1.0.0", "wipe"};
    for (size_t i = 0; i < 3; i++) {
        assert_error(store_withdraw(store, selectors[i], false, NOW, NULL, &err),
                     TOOLRACK_E_NOT_FOUND, "there is no grant");
        reopen();
        assert_ok(store_withdrawn(store, "wipe", "1.0.0", &numbers[i + 1], &err));
        for (size_t k = 0; k <= i; k++) {
            assert_true(numbers[k] != numbers[i + 1]);
        }
    }
    assert_ok(store_withdrawn(store, "wiper", "1.0.0", &other, &err));
    assert_true(other == 0);
}

static void revoking_nothing_is_an_error(void **state) {
    (void)state;
    open_store();
    assert_error(store_withdraw(store, "wipe", false, NOW, NULL, &err), TOOLRACK_E_NOT_FOUND,
                 "there is no grant for 'wipe'");
    assert_ok(grant("wipe", NOW + 1));
    assert_error(store_withdraw(store, "wipe", false, NOW + 1, NULL, &err), TOOLRACK_E_NOT_FOUND,
                 "'wipe'");
    assert_ok(store_withdraw(store, "wipe", false, NOW, NULL, &err));
    assert_error(store_withdraw(store, "wipe", false, NOW, NULL, &err), TOOLRACK_E_NOT_FOUND,
                 "'wipe'");
}

static void a_text_that_is_too_long_is_named(void **state) {
    (void)state;
    char who[STORE_TEXT_SIZE_MAX + 2];
    memset(who, 'w', sizeof who - 1);
    who[sizeof who - 1] = '\0';
    open_store();
    struct store_grant large = {.selector = "wipe", .who = who, .granted_s = NOW};
    assert_error(keep_grant(store, &large, &err), TOOLRACK_E_LIMIT_EXCEEDED,
                 "name of who grants is longer than the 4096 bytes");
    assert_int_equal(access(db_path, F_OK), -1);
    who[sizeof who - 2] = '\0';
    assert_ok(keep_grant(store, &large, &err));
}

/* --------------------------------------------------------------- approvals */

static void see_approval(void *user, const struct store_approval *approval) {
    (void)user;
    buf_printf(&seen, "%s@%s %s %s %lld;", approval->tool, approval->version,
               text_or_dash(approval->conversation), approval->who,
               (long long)approval->approved_s);
}

static int approve(const char *tool, const char *conversation, int64_t approved_s) {
    return store_consent(store, NULL, 0, NULL,
                         &(struct store_approval){.tool = tool,
                                                  .version = "1.0.0",
                                                  .conversation = conversation,
                                                  .who = "ann",
                                                  .approved_s = approved_s},
                         &err);
}

static int read_approvals(void) {
    return store_approvals_read(store, see_approval, NULL, &err);
}

static void approvals_survive(void **state) {
    (void)state;
    open_store();
    assert_ok(approve("send", NULL, 1));
    assert_ok(approve("send", NULL, 2));
    assert_ok(approve("send", "c1", 3));
    assert_ok(approve("move", "c1", 4));
    assert_ok(approve("move", "c2", 5));
    reopen();
    assert_seen(read_approvals(), "move@1.0.0 c1 ann 4;move@1.0.0 c2 ann 5;"
                                  "send@1.0.0 - ann 2;send@1.0.0 c1 ann 3;");
    assert_ok(store_withdraw(store, "send@1.0.0", false, NOW, NULL, &err));
    assert_error(store_withdraw(store, "send@1.0.0", false, NOW, NULL, &err), TOOLRACK_E_NOT_FOUND,
                 "there is no grant for 'send@1.0.0'");
    reopen();
    assert_seen(read_approvals(), "move@1.0.0 c1 ann 4;move@1.0.0 c2 ann 5;");
    assert_error(approve("move", "", 6), TOOLRACK_E_INVALID, "no conversation");
}

static void the_oldest_conversations_are_forgotten(void **state) {
    (void)state;
    open_store();
    assert_ok(approve("always", NULL, 0));
    assert_ok(approve("first", "c", 1));
    run_sql("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9999) "
            "INSERT INTO approvals SELECT 'many', '1.0.0', 'c' || i, 'ann', 2, NULL FROM n");
    assert_ok(approve("last", "c", 3));
    assert_string_equal(ask_sql("SELECT count(*) FROM approvals"), "10001");
    assert_string_equal(ask_sql("SELECT group_concat(tool) FROM (SELECT DISTINCT tool FROM "
                                "approvals ORDER BY tool)"),
                        "always,last,many");
}

/* ----------------------------------------------------------------- pending */

static const struct store_pending call_of_send = {.tool = "send",
                                                  .version = "1.0.0",
                                                  .plugin = "mail\ncommunity /plugins",
                                                  .pin = "what it says",
                                                  .arguments = "{\"to\":\"bob\"}",
                                                  .caller = "agent",
                                                  .channel = "rest",
                                                  .conversation = "c1",
                                                  .reason = "it sends mail",
                                                  .created_s = NOW,
                                                  .expires_s = NOW + 60};

static void see_pending(void *user, const struct store_pending *pending) {
    (void)user;
    buf_printf(&seen, "%s@%s %s %s %s %s %s %lld %lld;", pending->tool, pending->version,
               pending->arguments, text_or_dash(pending->caller), text_or_dash(pending->channel),
               text_or_dash(pending->conversation), text_or_dash(pending->reason),
               (long long)pending->created_s, (long long)pending->expires_s);
}

static int read_pending(int64_t now_s) {
    return store_pending_read(store, now_s, see_pending, NULL, &err);
}

static void calls_wait_until_they_expire(void **state) {
    (void)state;
    char id[STORE_PENDING_ID_SIZE];
    char other[STORE_PENDING_ID_SIZE];
    open_store();
    assert_ok(store_pending_add(store, &call_of_send, id, &err));
    struct store_pending bare = {.tool = "t",
                                 .version = "2.0.0",
                                 .arguments = "{}",
                                 .created_s = NOW + 1,
                                 .expires_s = NOW + 9};
    assert_ok(store_pending_add(store, &bare, other, &err));
    assert_int_equal(strlen(id), STORE_PENDING_ID_SIZE - 1);
    assert_int_equal(strspn(id, "0123456789abcdef"), STORE_PENDING_ID_SIZE - 1);
    assert_string_not_equal(id, other);
    reopen();
    assert_seen(read_pending(NOW + 8),
                "send@1.0.0 {\"to\":\"bob\"} agent rest c1 it sends mail 1000000 1000060;"
                "t@2.0.0 {} - - - - 1000001 1000009;");
    assert_seen(read_pending(NOW + 9),
                "send@1.0.0 {\"to\":\"bob\"} agent rest c1 it sends mail 1000000 1000060;");
    assert_error(store_pending_resolve(store, other, STORE_ANSWER_DENY, "ann", NOW + 19, &err),
                 TOOLRACK_E_NOT_FOUND, "expired 10 s ago; let 't' be called again");
    assert_error(store_pending_resolve(store, "0123", STORE_ANSWER_DENY, "ann", NOW, &err),
                 TOOLRACK_E_NOT_FOUND,
                 "there is no approval '0123'; list those that wait: toolrack approvals");
}

/* Add a call, answer it, and what is taken then. */
static enum store_answer answer_and_take(enum store_answer answer) {
    char id[STORE_PENDING_ID_SIZE];
    struct store_taken taken = {.answer = STORE_ANSWER_NONE};
    assert_ok(store_pending_add(store, &call_of_send, id, &err));
    assert_ok(store_pending_resolve(store, id, answer, "ann", NOW, &err));
    assert_seen(read_pending(NOW), "");
    assert_error(store_pending_resolve(store, id, answer, "bob", NOW, &err), TOOLRACK_E_NOT_FOUND,
                 answer == STORE_ANSWER_DENY ? "was denied already, by ann"
                                             : "was allowed already, by ann");
    reopen();
    assert_ok(store_pending_take(store, &call_of_send, NOW, &taken, &err));
    assert_error(store_pending_take(store, &call_of_send, NOW, &taken, &err), TOOLRACK_E_NOT_FOUND,
                 "'send'");
    assert_string_equal(taken.who, "ann");
    assert_string_equal(taken.id, id);
    /* What became of it can still be said. */
    assert_error(store_pending_resolve(store, id, STORE_ANSWER_DENY, "bob", NOW, &err),
                 TOOLRACK_E_NOT_FOUND,
                 answer == STORE_ANSWER_DENY ? "was denied already, by ann"
                                             : "was allowed already, by ann, and is used");
    return taken.answer;
}

static void an_answer_is_taken_once(void **state) {
    (void)state;
    open_store();
    assert_int_equal(answer_and_take(STORE_ANSWER_DENY), STORE_ANSWER_DENY);
    assert_int_equal(answer_and_take(STORE_ANSWER_ALLOW_ONCE), STORE_ANSWER_ALLOW_ONCE);
    assert_seen(read_approvals(), "");
}

/* An answer for more than the call is an approval, and that alone: withdrawn, nothing is left. */
static void an_answer_for_longer_is_an_approval(void **state) {
    (void)state;
    static const char *const of[] = {"c1", NULL};
    static const char *const said[] = {"was allowed already, by ann, for its conversation",
                                       "was allowed already, by ann, always; take that back "
                                       "with: toolrack revoke send"};
    const struct store_pin pin = {.plugin = "mail",
                                  .tool = "send",
                                  .version = "1.0.0",
                                  .texts = {"Send", "{}"},
                                  .approved_s = NOW,
                                  .who = "ann"};
    char id[STORE_PENDING_ID_SIZE];
    struct store_taken taken;
    open_store();
    for (size_t i = 0; i < 2; i++) {
        struct store_approval approval = {.tool = "send",
                                          .version = "1.0.0",
                                          .conversation = of[i],
                                          .who = "ann",
                                          .approved_s = NOW,
                                          .answers = id};
        assert_ok(store_pending_add(store, &call_of_send, id, &err));
        assert_ok(store_consent(store, &pin, 1, NULL, &approval, &err));
        assert_seen(read_pending(NOW), "");
        assert_seen(read_approvals(),
                    i == 0 ? "send@1.0.0 c1 ann 1000000;" : "send@1.0.0 - ann 1000000;");
        assert_error(store_consent(store, &pin, 1, NULL, &approval, &err), TOOLRACK_E_NOT_FOUND,
                     said[i]);
        assert_ok(store_withdraw(store, "send", false, NOW, NULL, &err));
        assert_seen(read_approvals(), "");
        assert_error(store_pending_take(store, &call_of_send, NOW, &taken, &err),
                     TOOLRACK_E_NOT_FOUND, "no approval of this call");
    }
    /* An approval that cannot be stored leaves the call as it was. */
    const struct store_approval nowhere = {
            .tool = "send", .version = "1.0.0", .conversation = "", .who = "ann", .answers = id};
    assert_ok(store_pending_add(store, &call_of_send, id, &err));
    assert_error(store_consent(store, &pin, 1, NULL, &nowhere, &err), TOOLRACK_E_INVALID,
                 "belongs to no conversation");
    assert_ok(store_pending_take(store, &call_of_send, NOW, &taken, &err));
    assert_int_equal(taken.answer, STORE_ANSWER_NONE);
}

static void expect_room(const struct store_pending *call, int code, const char *says) {
    char id[STORE_PENDING_ID_SIZE];
    if (code == 0) {
        assert_ok(store_pending_add(store, call, id, &err));
    } else {
        assert_error(store_pending_add(store, call, id, &err), code, says);
    }
}

/* One caller keeps no other from waiting. */
static void each_caller_has_a_share(void **state) {
    (void)state;
    char id[STORE_PENDING_ID_SIZE];
    char name[32];
    struct store_taken taken;
    struct store_pending call = call_of_send;
    open_store();
    for (int i = 0; i < STORE_PENDING_PARTY_MAX; i++) {
        assert_ok(store_pending_add(store, &call, id, &err));
    }
    expect_room(&call, TOOLRACK_E_LIMIT_EXCEEDED,
                "64 calls of 'agent' wait for approval, which is the most for one caller; answer "
                "some of them, or deny them all: toolrack approvals deny --caller agent");
    call.caller = NULL;
    for (int i = 0; i < STORE_PENDING_PARTY_MAX; i++) {
        expect_room(&call, 0, NULL);
    }
    expect_room(&call, TOOLRACK_E_LIMIT_EXCEEDED, "64 calls without a caller wait");
    /* What is answered does not wait, whoever takes the answer. */
    call.caller = "agent";
    assert_ok(store_pending_resolve(store, id, STORE_ANSWER_DENY, "ann", NOW, &err));
    expect_room(&call, 0, NULL);
    expect_room(&call, TOOLRACK_E_LIMIT_EXCEEDED, "64 calls of 'agent'");
    assert_ok(store_pending_take(store, &call, NOW, &taken, &err));
    assert_int_equal(taken.answer, STORE_ANSWER_DENY);
    /* Those of others are as many as the list takes. */
    call.caller = name;
    for (int i = 0; i < STORE_PENDING_MAX - 2 * STORE_PENDING_PARTY_MAX; i++) {
        (void)snprintf(name, sizeof name, "agent %d", i / STORE_PENDING_PARTY_MAX);
        expect_room(&call, 0, NULL);
    }
    (void)snprintf(name, sizeof name, "another");
    expect_room(&call, TOOLRACK_E_LIMIT_EXCEEDED,
                "1024 calls wait for approval, which is the most; answer some of them: toolrack "
                "approvals");
    call.created_s = call_of_send.expires_s;
    call.expires_s = call.created_s + 1;
    expect_room(&call, 0, NULL);
}

/* Several callers may be one party. */
static void callers_of_a_party_have_one_share(void **state) {
    (void)state;
    char name[32];
    struct store_pending call = call_of_send;
    open_store();
    call.caller = name;
    call.party = "uid:1";
    for (int i = 0; i < STORE_PENDING_PARTY_MAX; i++) {
        (void)snprintf(name, sizeof name, "session:%d", i);
        expect_room(&call, 0, NULL);
    }
    (void)snprintf(name, sizeof name, "session:new");
    expect_room(&call, TOOLRACK_E_LIMIT_EXCEEDED,
                "64 calls of 'uid:1' wait for approval, which is the most for all its callers "
                "together; answer some of them: toolrack approvals");
    call.party = "uid:2";
    expect_room(&call, 0, NULL);
}

/* Until the call is made, an answer can be taken back. */
static void an_answer_can_be_taken_back(void **state) {
    (void)state;
    char id[STORE_PENDING_ID_SIZE];
    char denied[STORE_PENDING_ID_SIZE];
    struct store_taken taken;
    struct store_pending other = call_of_send;
    other.conversation = "c2";
    open_store();
    assert_ok(store_pending_add(store, &call_of_send, id, &err));
    assert_ok(store_pending_resolve(store, id, STORE_ANSWER_ALLOW_ONCE, "ann", NOW, &err));
    assert_error(store_pending_resolve(store, id, STORE_ANSWER_DENY, "ann", NOW + 60, &err),
                 TOOLRACK_E_NOT_FOUND, "expired");
    assert_ok(store_pending_resolve(store, id, STORE_ANSWER_DENY, "eve", NOW, &err));
    assert_ok(store_pending_take(store, &call_of_send, NOW, &taken, &err));
    assert_int_equal(taken.answer, STORE_ANSWER_DENY);
    assert_string_equal(taken.who, "eve");

    /* The tool's name takes back what was allowed; a denial stays, and so does what waits. */
    assert_ok(store_pending_add(store, &call_of_send, id, &err));
    assert_ok(store_pending_resolve(store, id, STORE_ANSWER_ALLOW_ONCE, "ann", NOW, &err));
    assert_ok(store_pending_add(store, &other, denied, &err));
    assert_ok(store_pending_resolve(store, denied, STORE_ANSWER_DENY, "ann", NOW, &err));
    assert_error(store_withdraw(store, "send@2.0.0", false, NOW, NULL, &err), TOOLRACK_E_NOT_FOUND,
                 "");
    assert_ok(store_withdraw(store, "send@1.0.0", false, NOW, NULL, &err));
    assert_ok(store_pending_take(store, &call_of_send, NOW, &taken, &err));
    assert_int_equal(taken.answer, STORE_ANSWER_NONE);
    assert_string_equal(taken.who, "");
    assert_ok(store_pending_take(store, &other, NOW, &taken, &err));
    assert_int_equal(taken.answer, STORE_ANSWER_DENY);
    assert_error(store_withdraw(store, "send", false, NOW, NULL, &err), TOOLRACK_E_NOT_FOUND,
                 "there is no grant for 'send'");
}

static void an_answer_is_for_the_call_that_was_shown(void **state) {
    (void)state;
    char id[STORE_PENDING_ID_SIZE];
    struct store_taken taken = {.answer = STORE_ANSWER_DENY};
    struct store_pending calls[7];
    open_store();
    assert_ok(store_pending_add(store, &call_of_send, id, &err));
    assert_ok(store_pending_take(store, &call_of_send, NOW, &taken, &err));
    assert_int_equal(taken.answer, STORE_ANSWER_NONE);
    assert_string_equal(taken.id, id);
    assert_string_equal(taken.who, "");
    assert_ok(store_pending_resolve(store, id, STORE_ANSWER_ALLOW_ONCE, "ann", NOW, &err));
    for (size_t i = 0; i < 7; i++) {
        calls[i] = call_of_send;
    }
    calls[0].arguments = "{\"to\":\"eve\"}";
    calls[1].version = "1.0.1";
    calls[2].caller = NULL;
    calls[3].conversation = "c2";
    calls[4].id = "0123";
    calls[5].plugin = "mail\ncommunity /other";
    calls[6].pin = "something else";
    for (size_t i = 0; i < 7; i++) {
        assert_error(store_pending_take(store, &calls[i], NOW, &taken, &err), TOOLRACK_E_NOT_FOUND,
                     "no approval of this call");
    }
    assert_error(store_pending_take(store, &call_of_send, NOW + 60, &taken, &err),
                 TOOLRACK_E_NOT_FOUND, "no approval of this call");
    struct store_pending with_id = call_of_send;
    with_id.id = id;
    assert_ok(store_pending_take(store, &with_id, NOW, &taken, &err));
    assert_int_equal(taken.answer, STORE_ANSWER_ALLOW_ONCE);
}

static void a_call_without_conversation_is_not_allowed_for_it(void **state) {
    (void)state;
    char id[STORE_PENDING_ID_SIZE];
    struct store_pending alone = call_of_send;
    const struct store_pin pin = {.plugin = "mail",
                                  .tool = "send",
                                  .version = "1.0.0",
                                  .texts = {"Send", "{}"},
                                  .approved_s = NOW,
                                  .who = "ann"};
    struct store_approval approval = {.tool = "send",
                                      .version = "1.0.0",
                                      .conversation = "",
                                      .who = "ann",
                                      .approved_s = NOW};
    alone.conversation = NULL;
    open_store();
    assert_ok(store_pending_add(store, &alone, id, &err));
    approval.answers = id;
    assert_error(store_consent(store, &pin, 1, NULL, &approval, &err), TOOLRACK_E_INVALID,
                 "belongs to no conversation");
    /* Nothing happened: it can still be answered. */
    approval.conversation = NULL;
    assert_ok(store_consent(store, &pin, 1, NULL, &approval, &err));
}

static void secrets_that_wait_are_a_hash(void **state) {
    (void)state;
    char id[STORE_PENDING_ID_SIZE];
    struct store_taken taken;
    struct store_pending secret = call_of_send;
    secret.arguments = "{\"to\":\"***\"}";
    secret.unmasked = "{\"to\":\"bob\"}";
    struct store_pending other = secret;
    other.unmasked = "{\"to\":\"eve\"}";
    struct store_pending masked = secret;
    masked.unmasked = NULL;
    open_store();
    assert_ok(store_pending_add(store, &secret, id, &err));
    assert_error(store_pending_take(store, &other, NOW, &taken, &err), TOOLRACK_E_NOT_FOUND, "");
    assert_error(store_pending_take(store, &masked, NOW, &taken, &err), TOOLRACK_E_NOT_FOUND, "");
    assert_ok(store_pending_take(store, &secret, NOW, &taken, &err));
    assert_string_equal(taken.id, id);
    assert_string_equal(ask_sql("SELECT count(*) FROM pending WHERE arguments LIKE '%bob%'"), "0");
}

static void make_second_form(void);

/* Earlier files have an approval and, until the call is made, the same answer once more. */
static void an_approval_that_waited_before_is_no_answer(void **state) {
    (void)state;
    struct store_taken taken;
    make_second_form();
    run_sql("INSERT INTO pending (id, tool, version, arguments, caller, conversation, created_s, "
            "expires_s, answer, answered_by) VALUES ('old', 'send', '1.0.0', "
            "'{\"to\":\"bob\"}', 'agent', 'c1', 1000000, 1000060, 3, 'ann')");
    reopen();
    assert_error(store_pending_take(store, &call_of_send, NOW, &taken, &err), TOOLRACK_E_NOT_FOUND,
                 "no approval of this call");
    assert_string_equal(ask_sql("PRAGMA user_version"), "2");
    assert_ok(grant("wipe", 0)); /* the tables are those of this schema now */
    assert_error(store_pending_take(store, &call_of_send, NOW, &taken, &err), TOOLRACK_E_NOT_FOUND,
                 "no approval of this call");
    assert_error(store_pending_resolve(store, "old", STORE_ANSWER_DENY, "bob", NOW, &err),
                 TOOLRACK_E_NOT_FOUND, "was allowed already, by ann, always");
}

/* Rows of earlier files have the arguments themselves. */
static void a_secret_that_waited_before_is_found(void **state) {
    (void)state;
    struct store_taken taken;
    struct store_pending secret = call_of_send;
    secret.arguments = "{\"to\":\"***\"}";
    secret.unmasked = "{\"to\":\"bob\"}";
    make_second_form();
    run_sql("INSERT INTO pending (id, tool, version, arguments, caller, conversation, created_s, "
            "expires_s, answer, answered_by) VALUES ('old', 'send', '1.0.0', "
            "'{\"to\":\"bob\"}', 'agent', 'c1', 1000000, 1000060, 1, 'ann')");
    reopen();
    struct store_pending other = secret;
    other.unmasked = "{\"to\":\"eve\"}";
    assert_error(store_pending_take(store, &other, NOW, &taken, &err), TOOLRACK_E_NOT_FOUND, "");
    assert_string_equal(ask_sql("PRAGMA user_version"), "2");
    assert_ok(store_pending_take(store, &secret, NOW, &taken, &err));
    assert_string_equal(taken.id, "old");
    assert_int_equal(taken.answer, STORE_ANSWER_ALLOW_ONCE);
    assert_string_equal(ask_sql("PRAGMA user_version"), "17");
}

static void what_waits_is_bounded(void **state) {
    (void)state;
    char id[STORE_PENDING_ID_SIZE];
    char *arguments = malloc(STORE_ARGUMENTS_SIZE_MAX + 2);
    assert_non_null(arguments);
    memset(arguments, '1', STORE_ARGUMENTS_SIZE_MAX + 1);
    arguments[STORE_ARGUMENTS_SIZE_MAX + 1] = '\0';
    struct store_pending large = call_of_send;
    large.arguments = arguments;
    open_store();
    assert_error(store_pending_add(store, &large, id, &err), TOOLRACK_E_LIMIT_EXCEEDED,
                 "arguments to be confirmed is longer than the 65536 bytes");
    arguments[STORE_ARGUMENTS_SIZE_MAX] = '\0';
    assert_ok(store_pending_add(store, &large, id, &err));
    free(arguments);
    run_sql("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1023) "
            "INSERT INTO pending (id, tool, version, arguments, caller, channel, conversation, "
            "reason, created_s, expires_s, answer, answered_by) SELECT 'id' || i, 't', '1.0.0', "
            "'{}', NULL, NULL, NULL, NULL, "
            "1000000, 1000060, 0, NULL FROM n");
    assert_error(store_pending_add(store, &call_of_send, id, &err), TOOLRACK_E_LIMIT_EXCEEDED,
                 "1024 calls wait for approval");
    /* When they have expired there is room, and only the last of them are remembered. */
    struct store_pending later = call_of_send;
    later.created_s = NOW + 60;
    later.expires_s = NOW + 120;
    assert_ok(store_pending_add(store, &later, id, &err));
    assert_string_equal(ask_sql("SELECT count(*) FROM pending"), "65");
}

/* -------------------------------------------------------------------- pins */

static void see_pin(void *user, const struct store_pin *pin) {
    (void)user;
    buf_printf(&seen, "%s %s@%s %d %s %s %lld %s;", pin->plugin, pin->tool, pin->version,
               byte_of(pin->sha256), pin->texts[PIN_TEXT_DESCRIPTION], pin->texts[PIN_TEXT_SCHEMA],
               (long long)pin->approved_s, pin->who);
}

static void pins_survive(void **state) {
    (void)state;
    struct store_pin pin = {.plugin = "mail",
                            .tool = "send",
                            .version = "1.0.0",
                            .texts = {"Send a mail", "{}"},
                            .approved_s = NOW,
                            .who = "ann"};
    fill(pin.sha256, 171);
    open_store();
    assert_ok(store_consent(store, &pin, 1, NULL, NULL, &err));
    pin.tool = "read";
    assert_ok(store_consent(store, &pin, 1, NULL, NULL, &err));
    pin.texts[PIN_TEXT_DESCRIPTION] = "Read mails";
    fill(pin.sha256, 0);
    assert_ok(store_consent(store, &pin, 1, NULL, NULL, &err));
    reopen();
    assert_seen(store_pins_read(store, NULL, NULL, see_pin, NULL, &err),
                "mail read@1.0.0 0 Read mails {} 1000000 ann;"
                "mail send@1.0.0 171 Send a mail {} 1000000 ann;");
    assert_seen(store_pins_read(store, "mail", "send", see_pin, NULL, &err),
                "mail send@1.0.0 171 Send a mail {} 1000000 ann;");
    assert_seen(store_pins_read(store, NULL, "send", see_pin, NULL, &err),
                "mail send@1.0.0 171 Send a mail {} 1000000 ann;");
    assert_seen(store_pins_read(store, "post", NULL, see_pin, NULL, &err), "");
}

static void see_caution(void *user, const struct store_caution *caution) {
    (void)user;
    buf_printf(&seen, "%s %s %d;", caution->plugin, caution->tool, caution->permission);
}

/* Pins and cautions of a plugin as they were, and as they are now, change places. */
static void a_standing_is_kept_and_comes_back(void **state) {
    (void)state;
    struct store_pin pin = {.plugin = "mail /p",
                            .tool = "send",
                            .version = "1.0.0",
                            .texts = {"Send", "{}"},
                            .capabilities = "",
                            .approved_s = NOW,
                            .who = "ann"};
    struct store_pin other = pin;
    char name[16];
    other.plugin = "post /p";
    open_store();
    assert_int_equal(store_standing_exchange(store, "mail /p", "one", &err), TOOLRACK_E_NOT_FOUND);
    assert_ok(store_consent(store, &pin, 1, NULL, NULL, &err));
    assert_ok(store_consent(store, &other, 1, NULL, NULL, &err));
    assert_ok(store_standing_keep(store, "mail /p", "one", NOW, &err));
    assert_ok(store_standing_keep(store, "mail /p", "one", NOW, &err)); /* again is the same */
    pin.texts[PIN_TEXT_DESCRIPTION] = "Send all";
    pin.permission = 2;
    assert_ok(store_consent(store, &pin, 1, NULL, NULL, &err));
    pin.tool = "spam";
    assert_ok(store_consent(store, &pin, 1, NULL, NULL, &err));
    reopen();
    for (int round = 0; round < 2; round++) {
        assert_ok(store_standing_exchange(store, "mail /p", "one", &err));
        assert_seen(store_pins_read(store, NULL, NULL, see_pin, NULL, &err),
                    "mail /p send@1.0.0 0 Send {} 1000000 ann;"
                    "post /p send@1.0.0 0 Send {} 1000000 ann;");
        assert_seen(store_cautions_read(store, NULL, see_caution, NULL, &err),
                    "mail /p send 0;post /p send 0;");
        assert_ok(store_standing_exchange(store, "mail /p", "one", &err));
        assert_seen(store_pins_read(store, NULL, NULL, see_pin, NULL, &err),
                    "mail /p send@1.0.0 0 Send all {} 1000000 ann;"
                    "mail /p spam@1.0.0 0 Send all {} 1000000 ann;"
                    "post /p send@1.0.0 0 Send {} 1000000 ann;");
        assert_seen(store_cautions_read(store, NULL, see_caution, NULL, &err),
                    "mail /p send 2;mail /p spam 2;post /p send 0;");
    }
    /* There are so many at most; the oldest goes, with all that it has. */
    for (int i = 0; i < STORE_STANDINGS_MAX; i++) {
        (void)snprintf(name, sizeof name, "v%d", i);
        assert_ok(store_standing_keep(store, "mail /p", name, NOW + 1 + i, &err));
    }
    assert_int_equal(store_standing_exchange(store, "mail /p", "one", &err), TOOLRACK_E_NOT_FOUND);
    assert_string_equal(ask_sql("SELECT count(*) FROM kept_pins WHERE kept_as = 'one'"), "0");
    assert_string_equal(ask_sql("SELECT count(*) FROM kept_cautions WHERE kept_as = 'one'"), "0");
    assert_ok(store_standing_forget(store, "mail /p", "v0", &err));
    assert_int_equal(store_standing_exchange(store, "mail /p", "v0", &err), TOOLRACK_E_NOT_FOUND);
    assert_ok(store_standing_forget(store, "mail /p", NULL, &err));
    assert_string_equal(ask_sql("SELECT (SELECT count(*) FROM kept_pins) + (SELECT count(*) FROM "
                                "kept_cautions) + (SELECT count(*) FROM standings)"),
                        "0");
}

/* An approval is of a version, of a plugin for which it is pinned, and of a conversation or all. */
static void approvals_are_found(void **state) {
    (void)state;
    char found[STORE_WHO_SIZE];
    struct store_approval wanted = {.tool = "send", .version = "1.0.0", .conversation = "c1"};
    const struct store_pin pin = {.plugin = "mail",
                                  .tool = "send",
                                  .version = "1.0.0",
                                  .texts = {"Send", "{}"},
                                  .approved_s = NOW,
                                  .who = "ann"};
    open_store();
    assert_int_equal(store_approval_find(store, &wanted, "mail", found, &err),
                     TOOLRACK_E_NOT_FOUND);
    assert_ok(approve("send", "c1", NOW));
    assert_int_equal(store_approval_find(store, &wanted, "mail", found, &err),
                     TOOLRACK_E_NOT_FOUND);
    assert_ok(store_consent(store, &pin, 1, NULL, NULL, &err));
    assert_ok(store_approval_find(store, &wanted, "mail", found, &err));
    assert_string_equal(found, "ann");
    assert_int_equal(store_approval_find(store, &wanted, "post", found, &err),
                     TOOLRACK_E_NOT_FOUND);
    assert_int_equal(store_approval_find_version(store, "send", found, &err), TOOLRACK_E_NOT_FOUND);
    wanted.caller = "eve";
    assert_ok(store_approval_find(store, &wanted, "mail", found, &err)); /* it was of whoever */
    wanted.caller = wanted.conversation = NULL;
    assert_int_equal(store_approval_find(store, &wanted, "mail", found, &err),
                     TOOLRACK_E_NOT_FOUND);
    static const char *const callers[] = {"bob", ""};
    for (size_t i = 0; i < 2; i++) {
        const char *other = callers[1 - i];
        struct store_approval given = {.tool = "send",
                                       .version = "1.0.0",
                                       .conversation = i == 0 ? "c8" : "c9",
                                       .caller = callers[i],
                                       .who = "ann",
                                       .approved_s = NOW};
        assert_ok(store_consent(store, NULL, 0, NULL, &given, &err));
        assert_ok(store_consent(store, NULL, 0, NULL, &given, &err)); /* once more is the same */
        assert_ok(store_approval_find(store, &given, "mail", found, &err));
        given.caller = other;
        assert_int_equal(store_approval_find(store, &given, "mail", found, &err),
                         TOOLRACK_E_NOT_FOUND);
        given.caller = NULL; /* calls without a caller */
        assert_int_equal(store_approval_find(store, &given, "mail", found, &err),
                         i == 0 ? TOOLRACK_E_NOT_FOUND : 0);
    }
    assert_string_equal(ask_sql("SELECT count(*) FROM approvals"), "3");
    assert_ok(approve("send", NULL, NOW));
    assert_ok(store_approval_find(store, &wanted, "mail", found, &err));
    wanted.conversation = "c2";
    assert_ok(store_approval_find(store, &wanted, "mail", found, &err));
    assert_ok(store_approval_find_version(store, "send", found, &err));
    assert_string_equal(found, "1.0.0");
    wanted.version = "2.0.0";
    assert_int_equal(store_approval_find(store, &wanted, "mail", found, &err),
                     TOOLRACK_E_NOT_FOUND);
}

/* ----------------------------------------------------------------- consent */

static int read_pins(void) {
    return store_pins_read(store, NULL, NULL, see_pin, NULL, &err);
}

static void consent_is_kept_and_withdrawn_as_a_whole(void **state) {
    (void)state;
    struct store_pin pins[] = {
            {.plugin = "mail",
             .tool = "send",
             .version = "1.0.0",
             .texts = {"Send", "{}"},
             .approved_s = NOW,
             .who = "ann"},
            {.plugin = "mail",
             .tool = "send",
             .version = "2.0.0",
             .texts = {"Send", "{}"},
             .approved_s = NOW,
             .who = "ann"},
            {.plugin = "mail",
             .tool = "sender",
             .version = "1.0.0",
             .texts = {"Sends", "{}"},
             .approved_s = NOW,
             .who = "ann"},
    };
    const struct store_grant new_grant = {.selector = "send", .who = "ann", .granted_s = NOW};
    struct store_approval approval = {
            .tool = "sender", .version = "1.0.0", .who = "bob", .approved_s = NOW};
    open_store();
    assert_ok(store_consent(store, pins, 2, &new_grant, NULL, &err));
    assert_ok(store_consent(store, &pins[2], 1, NULL, &approval, &err));

    /* What cannot be kept leaves nothing of what could. */
    approval.conversation = "";
    pins[2].who = "eve";
    assert_error(store_consent(store, &pins[2], 1, NULL, &approval, &err), TOOLRACK_E_INVALID,
                 "no conversation");
    reopen();
    assert_seen(read_grants(), "send 0 ann 1000000;");
    assert_seen(read_approvals(), "sender@1.0.0 - bob 1000000;");
    assert_seen(read_pins(), "mail send@1.0.0 0 Send {} 1000000 ann;"
                             "mail send@2.0.0 0 Send {} 1000000 ann;"
                             "mail sender@1.0.0 0 Sends {} 1000000 ann;");

    /* All versions are granted, and none alone. */
    assert_error(store_withdraw(store, "send@1.0.0", false, NOW, NULL, &err), TOOLRACK_E_NOT_FOUND,
                 "all versions of 'send' are granted");
    assert_ok(store_withdraw(store, "send", false, NOW, NULL, &err));
    assert_seen(read_grants(), "");
    assert_seen(read_pins(), "mail sender@1.0.0 0 Sends {} 1000000 ann;");
    assert_ok(store_withdraw(store, "sender@1.0.0", false, NOW, NULL, &err));
    assert_seen(read_approvals(), "");
    assert_seen(read_pins(), "");
    assert_error(store_withdraw(store, "sender", false, NOW, NULL, &err), TOOLRACK_E_NOT_FOUND,
                 "there is no grant for 'sender'");
}

/* --------------------------------------------------------------- quarantine */

static void see_quarantine(void *user, const struct store_quarantine *quarantine) {
    (void)user;
    buf_printf(&seen, "%s %d %s %lld %u;", quarantine->plugin, byte_of(quarantine->sha256),
               quarantine->reason, (long long)quarantine->since_s, quarantine->crash_count);
}

static void quarantine_survives_until_it_is_released(void **state) {
    (void)state;
    struct store_quarantine quarantine = {
            .plugin = "bad", .reason = "three crashes", .since_s = NOW, .crash_count = 3};
    open_store();
    assert_ok(store_quarantine_set(store, &quarantine, &err));
    quarantine.crash_count = 4;
    fill(quarantine.sha256, 5);
    assert_ok(store_quarantine_set(store, &quarantine, &err));
    quarantine.crash_count = 5;
    fill(quarantine.sha256, 6); /* another content of the same plugin */
    assert_ok(store_quarantine_set(store, &quarantine, &err));
    quarantine.crash_count = 4;
    fill(quarantine.sha256, 5);
    quarantine.plugin = "awful";
    assert_ok(store_quarantine_set(store, &quarantine, &err));
    reopen();
    assert_seen(store_quarantine_read(store, see_quarantine, NULL, &err),
                "awful 5 three crashes 1000000 4;bad 0 three crashes 1000000 3;"
                "bad 5 three crashes 1000000 4;bad 6 three crashes 1000000 5;");
    assert_ok(store_quarantine_remove(store, "bad", quarantine.sha256, &err));
    assert_seen(store_quarantine_read(store, see_quarantine, NULL, &err),
                "awful 5 three crashes 1000000 4;bad 6 three crashes 1000000 5;");
    assert_ok(store_quarantine_remove(store, "bad", NULL, &err));
    assert_error(store_quarantine_remove(store, "bad", NULL, &err), TOOLRACK_E_NOT_FOUND,
                 "plugin 'bad' is not in quarantine");
    reopen();
    assert_seen(store_quarantine_read(store, see_quarantine, NULL, &err),
                "awful 5 three crashes 1000000 4;");
}

/* ----------------------------------------------------------------- crashes */

static void see_crash(void *user, const struct store_crash *crash) {
    (void)user;
    buf_printf(&seen, "%s %s;", crash->plugin, crash->bundle);
}

static int add_crash(const char *plugin, int number) {
    char bundle[32];
    (void)snprintf(bundle, sizeof bundle, "{%d}", number);
    return store_crash_add(store,
                           &(struct store_crash){.plugin = plugin, .time_s = NOW, .bundle = bundle},
                           NULL, &err);
}

static void the_last_crashes_survive(void **state) {
    (void)state;
    open_store();
    assert_seen(store_crashes_read(store, "bad", see_crash, NULL, &err), "");
    assert_ok(add_crash("other", 0));
    for (int i = 1; i <= STORE_CRASHES_PER_PLUGIN_MAX + 2; i++) {
        assert_ok(add_crash("bad", i));
    }
    reopen();
    assert_seen(store_crashes_read(store, "bad", see_crash, NULL, &err),
                "bad {10};bad {9};bad {8};bad {7};bad {6};bad {5};bad {4};bad {3};");
    run_sql("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1024) "
            "INSERT INTO crashes SELECT NULL, 'p' || i, 0, '{}' FROM n");
    assert_ok(add_crash("last", 0));
    assert_string_equal(ask_sql("SELECT count(*) || min(plugin) FROM crashes"), "1024last");
}

static void a_crash_that_is_too_large_is_refused(void **state) {
    (void)state;
    int64_t id = 0;
    CLEANUP(buf_finish) struct buf bundle = BUF_INIT;
    while (bundle.length < STORE_CRASH_SIZE_MAX) {
        buf_add_text(&bundle, "0123456789abcdef");
    }
    struct store_crash crash = {.plugin = "bad", .time_s = NOW, .bundle = bundle.data};
    open_store();
    assert_ok(store_crash_add(store, &crash, &id, &err));
    assert_int_equal(id, 1);
    buf_add_char(&bundle, 'x');
    crash.bundle = bundle.data;
    assert_error(store_crash_add(store, &crash, &id, &err), TOOLRACK_E_LIMIT_EXCEEDED,
                 "bundle of the crash");
    assert_int_equal(id, 1);
}

/* -------------------------------------------------------------- generations */

static void see_generation(void *user, const struct store_generation *generation) {
    (void)user;
    buf_printf(&seen, "%s %d %s %lld;", generation->path, byte_of(generation->sha256),
               generation->staged, (long long)generation->seen_ms);
}

static int64_t add_generation(const char *path, int byte, const char *staged, int64_t seen_ms) {
    int64_t sequence = 0;
    struct store_generation generation = {.path = path, .staged = staged, .seen_ms = seen_ms};
    fill(generation.sha256, byte);
    assert_ok(store_generation_add(store, &generation, &sequence, &err));
    return sequence;
}

static void generations_survive(void **state) {
    (void)state;
    open_store();
    int64_t first = add_generation("/p/a.so", 1, "1-a.so", 10);
    assert_true(add_generation("/p/b\377.so", 1, "1-b.so", 11) > first);
    int64_t second = add_generation("/p/a.so", 2, "2-a.so", 12);
    assert_true(second > first);
    /* The same content once more is no new one; an older content come back is. */
    assert_int_equal(add_generation("/p/a.so", 2, "2b-a.so", 13), second);
    assert_true(add_generation("/p/a.so", 1, "1-a.so", 14) > second);
    reopen();
    assert_seen(store_generations_read(store, "/p/a.so", see_generation, NULL, &err),
                "/p/a.so 1 1-a.so 14;/p/a.so 2 2b-a.so 13;/p/a.so 1 1-a.so 10;");
    assert_seen(store_generations_read(store, "/p/b\377.so", see_generation, NULL, &err),
                "/p/b\377.so 1 1-b.so 11;");
    for (int i = 0; i < STORE_GENERATIONS_PER_FILE_MAX + 3; i++) {
        (void)add_generation("/p/c.so", i, "c.so", i);
    }
    assert_string_equal(ask_sql("SELECT min(seen_ms) || ' ' || count(*) FROM generations "
                                "WHERE path = '/p/c.so'"),
                        "3 16");
    assert_string_equal(ask_sql("SELECT count(*) FROM generations"), "20");
}

static void see_history(void *user, const struct store_history *history) {
    (void)user;
    buf_printf(&seen, "%s %s%s;", history->path, text_or_dash(history->version),
               history->is_removed ? " removed" : "");
}

static void add_content(const char *path, int byte, const char *version) {
    struct store_generation generation = {
            .path = path, .staged = "x", .plugin = "x", .version = version};
    fill(generation.sha256, byte);
    assert_ok(store_generation_add(store, &generation, NULL, &err));
}

/* One without its content is of an earlier toolrack. */
static void files_with_one_content_have_its_version(void **state) {
    (void)state;
    open_store();
    assert_seen(store_histories_read(store, see_history, NULL, &err), "");
    (void)add_generation("/p/c.so", 1, "1-c.so", 10);
    (void)add_generation("/p/c.so", 2, "2-c.so", 11);
    assert_seen(store_histories_read(store, see_history, NULL, &err), "/p/c.so -;");
    add_content("/p/a.so", 1, "1.0.0");
    add_content("/p/d.so", 1, "1.0.0");
    add_content("/p/d.so", 2, "1.0.0");
    add_content("/p/b.so", 1, "2.0.0");
    assert_ok(store_contents_remove(store, "/p/b.so", &err));
    assert_ok(store_contents_remove(store, "/p/d.so", &err));
    assert_seen(store_histories_read(store, see_history, NULL, &err),
                "/p/a.so 1.0.0;/p/b.so 2.0.0 removed;/p/c.so -;/p/d.so - removed;");
    add_content("/p/d.so", 2, "1.0.0");
    assert_seen(store_histories_read(store, see_history, NULL, &err),
                "/p/a.so 1.0.0;/p/b.so 2.0.0 removed;/p/c.so -;/p/d.so -;");
}

static void see_rollback(void *user, const struct store_rollback *rollback) {
    (void)user;
    buf_printf(&seen, "%s %d %d;", rollback->path, byte_of(rollback->bad_sha256),
               byte_of(rollback->use_sha256));
}

static void rollbacks_survive_until_they_are_cleared(void **state) {
    (void)state;
    struct store_rollback rollback = {.path = "/p/a.so"};
    fill(rollback.bad_sha256, 3);
    fill(rollback.use_sha256, 2);
    open_store();
    assert_ok(store_rollback_set(store, &rollback, &err));
    fill(rollback.use_sha256, 1);
    assert_ok(store_rollback_set(store, &rollback, &err));
    reopen();
    assert_seen(store_rollback_read(store, see_rollback, NULL, &err), "/p/a.so 3 1;");
    assert_ok(store_rollback_clear(store, "/p/a.so", &err));
    assert_error(store_rollback_clear(store, "/p/a.so", &err), TOOLRACK_E_NOT_FOUND,
                 "/p/a.so was not rolled back");
    reopen();
    assert_seen(store_rollback_read(store, see_rollback, NULL, &err), "");
}

/* --------------------------------------------------------------- decisions */

static void see_decision(void *user, const struct store_decision *decision) {
    (void)user;
    buf_printf(&seen, "%lld %s@%s %s %s %s %s %s %s %s;", (long long)decision->time_ms,
               text_or_dash(decision->tool), text_or_dash(decision->version),
               text_or_dash(decision->plugin), text_or_dash(decision->caller),
               text_or_dash(decision->channel), text_or_dash(decision->conversation),
               decision->decision, text_or_dash(decision->who), text_or_dash(decision->why));
}

static int read_decisions(const char *tool, int64_t since_ms, uint32_t limit) {
    return store_decisions_read(
            store,
            &(struct store_decisions_filter){.tool = tool, .since_ms = since_ms, .limit = limit},
            see_decision, NULL, &err);
}

/* Processes write their rows when they can. */
static void decisions_are_in_the_order_of_their_times(void **state) {
    (void)state;
    const struct store_decision first[] = {{.time_ms = 20, .tool = "b", .decision = "allowed"},
                                           {.time_ms = 40, .tool = "d", .decision = "allowed"}};
    const struct store_decision second[] = {{.time_ms = 10, .tool = "a", .decision = "allowed"},
                                            {.time_ms = 30, .tool = "c", .decision = "allowed"},
                                            {.time_ms = 40, .tool = "e", .decision = "allowed"}};
    open_store();
    assert_ok(store_decisions_add(store, first, 2, &err));
    assert_ok(store_decisions_add(store, second, 3, &err));
    assert_seen(read_decisions(NULL, 0, 4),
                "40 e@- - - - - allowed - -;40 d@- - - - - allowed - -;"
                "30 c@- - - - - allowed - -;20 b@- - - - - allowed - -;");
}

static void decisions_survive(void **state) {
    (void)state;
    const struct store_decision rows[] = {
            {.time_ms = 1,
             .tool = "send",
             .version = "1.0.0",
             .plugin = "mail",
             .caller = "agent",
             .channel = "mcp",
             .conversation = "c1",
             .decision = "refused",
             .who = "policy",
             .why = "no grant"},
            {.time_ms = 2, .tool = "wipe", .decision = "granted", .who = "ann"},
            {.time_ms = 3, .tool = "send", .decision = "allowed"},
            {.time_ms = 4, .decision = "released"},
    };
    open_store();
    assert_ok(store_decisions_add(store, rows, 3, &err));
    assert_ok(store_decisions_add(store, rows + 3, 1, &err));
    assert_ok(store_decisions_add(store, NULL, 0, &err));
    reopen();
    assert_seen(read_decisions(NULL, 0, 0),
                "4 -@- - - - - released - -;3 send@- - - - - allowed - -;"
                "2 wipe@- - - - - granted ann -;"
                "1 send@1.0.0 mail agent mcp c1 refused policy no grant;");
    assert_seen(read_decisions("send", 2, 0), "3 send@- - - - - allowed - -;");
    assert_seen(read_decisions(NULL, 0, 1), "4 -@- - - - - released - -;");
    assert_seen(read_decisions("none", 0, 0), "");
}

static void see_length_of_why(void *user, const struct store_decision *decision) {
    *(size_t *)user = strlen(decision->why);
}

static void a_long_reason_is_cut_at_a_character(void **state) {
    (void)state;
    char why[STORE_TEXT_SIZE_MAX + 8];
    size_t length = 0;
    memset(why, 'y', sizeof why - 1);
    why[sizeof why - 1] = '\0';
    memcpy(why + STORE_TEXT_SIZE_MAX - 1, "\303\244", 2);
    open_store();
    assert_ok(store_decisions_add(store, &(struct store_decision){.decision = "x", .why = why}, 1,
                                  &err));
    assert_ok(store_decisions_read(store, &(struct store_decisions_filter){0}, see_length_of_why,
                                   &length, &err));
    assert_int_equal(length, STORE_TEXT_SIZE_MAX - 1);
}

static void add_decisions(size_t count, const char *tool, const char *decision) {
    static struct store_decision rows[1000];
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        rows[i] =
                (struct store_decision){.time_ms = (int64_t)i, .tool = tool, .decision = decision};
    }
    for (; count > 0; count -= ARRAY_LENGTH(rows)) {
        assert_ok(store_decisions_add(store, rows, ARRAY_LENGTH(rows), &err));
    }
}

/* Whoever makes calls does not push out what persons decided. */
static void the_oldest_decisions_of_each_kind_go(void **state) {
    (void)state;
    static const char counted[] =
            "SELECT group_concat(decision || ' ' || n || ' ' || first, ', ') FROM (SELECT "
            "decision, count(*) AS n, min(id) AS first FROM decisions GROUP BY decision)";
    open_store();
    add_decisions(1000, "wipe", "granted");
    add_decisions(1000, NULL, "refused"); /* a file */
    add_decisions(STORE_DECISIONS_MAX + STORE_DECISIONS_STEP - 2000, "wipe", "allowed");
    assert_string_equal(ask_sql(counted),
                        "allowed 100000 10001, granted 1000 1, refused 1000 1001");
    add_decisions(STORE_DECISIONS_STEP, "wipe", "denied");
    assert_string_equal(
            ask_sql(counted),
            "allowed 90000 20001, denied 10000 110001, granted 1000 1, refused 1000 1001");
    add_decisions(STORE_DECISIONS_MAX + STORE_DECISIONS_STEP, "wipe", "disabled");
    assert_string_equal(ask_sql(counted),
                        "allowed 90000 20001, denied 10000 110001, disabled 100000 130001");
}

/* ----------------------------------------------------------------- loading */

static void see_unclean(void *user, const struct store_unclean *unclean) {
    (void)user;
    buf_printf(&seen, "%s %lld;", unclean->path, (long long)unclean->since_s);
}

static int read_unclean(void) {
    return store_loading_read(store, see_unclean, NULL, &err);
}

static int wait_for(pid_t child) {
    int status = 0;
    assert_int_equal(patience_child(child, &status), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* A process that dies while it loads; it is not waited for, if `ret_child` is given. */
static void die_while_loading(const char *path, pid_t *ret_child) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        uint64_t mark;
        (void)raise(store_loading_begin(store, path, NOW, &mark, NULL) == 0 ? SIGKILL : SIGTERM);
    }
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(info.si_status, SIGKILL);
    if (ret_child != NULL) {
        *ret_child = child;
    } else {
        assert_int_equal(wait_for(child), 128 + SIGKILL);
    }
}

static void a_load_that_ends_leaves_nothing(void **state) {
    (void)state;
    uint64_t first = 0;
    uint64_t second = 0;
    open_store();
    assert_seen(read_unclean(), "");
    assert_ok(store_loading_begin(store, "/p/a.so", NOW, &first, &err));
    assert_ok(store_loading_begin(store, "/p/a.so", NOW, &second, &err));
    assert_true(first != second);
    /* This process lives. */
    assert_seen(read_unclean(), "");
    assert_ok(store_loading_clear(store, NULL, &err));
    assert_ok(store_loading_end(store, first, &err));
    assert_ok(store_loading_end(store, second, &err));
    assert_error(store_loading_end(store, first, &err), TOOLRACK_E_IO,
                 "cannot remove the loading marker");
    /* No database was made for it. */
    assert_int_equal(access(db_path, F_OK), -1);
}

static void a_load_that_ends_its_process_is_told_until_cleared(void **state) {
    (void)state;
    pid_t zombie;
    open_store();
    die_while_loading("/p/a.so", NULL);
    die_while_loading("/p/b\n.so", &zombie);
    reopen();
    assert_ok(read_unclean());
    assert_non_null(strstr(seen.data, "/p/a.so 1000000;"));
    assert_non_null(strstr(seen.data, "/p/b\n.so 1000000;"));
    buf_finish(&seen);
    assert_ok(store_loading_clear(store, "/p/a.so", &err));
    reopen();
    assert_seen(read_unclean(), "/p/b\n.so 1000000;");
    assert_int_equal(wait_for(zombie), 128 + SIGKILL);
    assert_seen(read_unclean(), "/p/b\n.so 1000000;");
    assert_ok(store_loading_clear(store, NULL, &err));
    assert_seen(read_unclean(), "");
}

static void write_file(const char *name, const char *text) {
    char path[160];
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    (void)fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

/* The start of this process, as loading.c reads it. */
static unsigned long long own_start(void) {
    unsigned long long start = 0;
    FILE *file = fopen("/proc/self/stat", "r");
    assert_non_null(file);
    /* Numbers follow the name, which has no parenthesis here. */
    assert_int_equal(fscanf(file,
                            "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u "
                            "%*u %*d %*d %*d %*d %*d %*d %llu",
                            &start),
                     1);
    (void)fclose(file);
    return start;
}

static void another_process_or_boot_is_not_this_one(void **state) {
    (void)state;
    char name[96];
    char path[160];
    (void)snprintf(path, sizeof path, "%s/loading", dir);
    assert_int_equal(mkdir(path, 0700), 0);
    /* A process with a number that was used again, and this one in another boot. */
    (void)snprintf(name, sizeof name, "loading/%d-%llu-1", getpid(), own_start() + 1);
    write_file(name, "\n5\n/p/reused.so");
    (void)snprintf(name, sizeof name, "loading/%d-%llu-2", getpid(), own_start());
    write_file(name, "not this boot\n6\n/p/boot.so");
    /* Alive. */
    (void)snprintf(name, sizeof name, "loading/%d-%llu-3", getpid(), own_start());
    write_file(name, "\n7\n/p/alive.so");
    /* Not whole: nothing of a plugin had run. Not a mark: not ours to remove. */
    (void)snprintf(name, sizeof name, "loading/%d-1-4", getpid());
    write_file(name, "\n8");
    write_file("loading/notes", "a user's");
    open_store();
    assert_ok(read_unclean());
    assert_non_null(strstr(seen.data, "/p/reused.so 5;"));
    assert_non_null(strstr(seen.data, "/p/boot.so 6;"));
    assert_int_equal(seen.length, strlen("/p/reused.so 5;/p/boot.so 6;"));
    buf_finish(&seen);
    assert_ok(store_loading_clear(store, NULL, &err));
    assert_seen(read_unclean(), "");
    (void)snprintf(name, sizeof name, "%s/loading/%d-1-4", dir, getpid());
    assert_int_equal(access(name, F_OK), -1);
    (void)snprintf(name, sizeof name, "%s/loading/%d-%llu-3", dir, getpid(), own_start());
    assert_int_equal(access(name, F_OK), 0);
    (void)snprintf(name, sizeof name, "%s/loading/notes", dir);
    assert_int_equal(access(name, F_OK), 0);
}

/* --------------------------------------------------------------- the file */

static void count_decision(void *user, const struct store_decision *decision) {
    size_t *count = user;
    (void)decision;
    ++*count;
}

/* Everything there is to read. */
static int read_all(void) {
    int codes[] = {
            store_read_settings(store, see_setting, NULL, &err),
            read_grants(),
            read_approvals(),
            read_pending(NOW),
            store_pins_read(store, NULL, NULL, see_pin, NULL, &err),
            store_quarantine_read(store, see_quarantine, NULL, &err),
            store_crashes_read(store, NULL, see_crash, NULL, &err),
            store_generations_read(store, NULL, see_generation, NULL, &err),
            store_rollback_read(store, see_rollback, NULL, &err),
            read_decisions(NULL, 0, 0),
            read_unclean(),
    };
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        if (codes[i] != 0) {
            return codes[i];
        }
    }
    return 0;
}

static void a_store_that_is_not_there_is_empty(void **state) {
    (void)state;
    open_store();
    assert_int_equal(err.code, 0);
    assert_seen(read_all(), "");
    assert_int_equal(access(db_path, F_OK), -1);
}

/* Without a folder, for as long as the store. */
static void a_store_in_memory_ends_with_itself(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) {
        uint64_t mark = 0;
        store_close(store);
        store = store_open(NULL, &err);
        assert_non_null(store);
        assert_int_equal(err.code, 0);
        assert_seen(read_all(), "");
        assert_ok(store_loading_begin(store, "/p/add.so", NOW, &mark, &err));
        assert_seen(read_unclean(), "");
        assert_ok(store_loading_clear(store, NULL, &err));
        assert_ok(store_loading_end(store, mark, &err));
        assert_ok(disable("off"));
        assert_ok(grant("wipe", 0));
        assert_seen(read_all(), "off off -1;wipe 0 ann 1000000;");
    }
    assert_int_equal(rmdir(dir), 0); /* nothing was put into any folder */
    assert_int_equal(mkdir(dir, 0700), 0);
}

static void a_store_in_memory_keeps_the_newest_decisions(void **state) {
    (void)state;
    store = store_open(NULL, &err);
    add_decisions(10000, "add", "allowed");
    size_t count = 0;
    assert_ok(store_decisions_read(store, &(struct store_decisions_filter){0}, count_decision,
                                   &count, &err));
    assert_in_range(count, STORE_DECISIONS_IN_MEMORY_MAX,
                    STORE_DECISIONS_IN_MEMORY_MAX + STORE_DECISIONS_IN_MEMORY_STEP);
}

/* ------------------------------------------------------------------------- runs of plans */

/* Of the runs that are added; NULL: none was interrupted. */
static const struct store_runs_others *other_runs;

static int add_run_of(const char *owner, const char *party, char ret_id[STORE_RUN_ID_SIZE]) {
    assert_ok(store_run_make_id(ret_id, &err));
    return store_run_add(store,
                         &(struct store_run){.id = ret_id,
                                             .owner = owner,
                                             .party = party,
                                             .runner = "r",
                                             .created_ms = NOW,
                                             .plan = "{}",
                                             .inputs = "{}",
                                             .tools = "{}"},
                         NULL, 0, other_runs, &err);
}

static int add_run(const char *owner, char ret_id[STORE_RUN_ID_SIZE]) {
    return add_run_of(owner, NULL, ret_id);
}

/* Runs of an owner that have ended. */
static void end_runs(size_t count, const char *owner) {
    for (size_t i = 0; i < count; i++) {
        char id[STORE_RUN_ID_SIZE];
        assert_ok(add_run(owner, id));
        assert_ok(store_run_commit(
                store,
                &(struct store_run){
                        .id = id, .runner = "r", .state = STORE_RUN_SUCCEEDED, .updated_ms = NOW},
                NULL, 0, other_runs, &err));
    }
}

static void count_run(void *user, const struct store_run *run) {
    (void)run;
    ++*(size_t *)user;
}

static size_t runs_of(const char *owner) {
    size_t count = 0;
    assert_ok(store_runs_read(store, owner, count_run, &count, &err));
    return count;
}

/* Others begin theirs, and see how theirs have ended. */
static void a_party_does_not_take_all_the_room_for_runs(void **state) {
    (void)state;
    char id[STORE_RUN_ID_SIZE];
    store = store_open(NULL, &err);
    end_runs(STORE_RUNS_ENDED_MAX, "ann");
    assert_int_equal(runs_of("ann"), STORE_RUNS_ENDED_MAX);
    end_runs(3, "bob");
    end_runs(100, "ann");
    end_runs(2, "bob");
    assert_int_equal(runs_of("bob"), 5);
    assert_int_equal(runs_of(NULL), STORE_RUNS_ENDED_MAX);
    for (int i = 0; i < STORE_RUNS_OPEN_PARTY_MAX; i++) {
        assert_ok(add_run("ann", id));
    }
    assert_int_equal(add_run("ann", id), TOOLRACK_E_LIMIT_EXCEEDED);
    assert_non_null(
            strstr(err.message, "100 runs of 'ann' have not ended, which is the most of one"));
    assert_int_equal(add_run_of("session:1", "ann", id), TOOLRACK_E_LIMIT_EXCEEDED);
    assert_ok(add_run("bob", id));
    assert_ok(add_run_of("session:2", "bob", id));
    for (int i = STORE_RUNS_OPEN_PARTY_MAX + 2; i < STORE_RUNS_OPEN_MAX; i++) {
        assert_ok(add_run(NULL, id)); /* of the app */
    }
    assert_int_equal(add_run("bob", id), TOOLRACK_E_LIMIT_EXCEEDED);
    assert_non_null(strstr(err.message, "1000 runs have not ended, which is the most;"));
}

static void see_run_node(void *user, const struct store_run_node *node) {
    (void)user;
    buf_printf(&seen, "%zu %s;", node->result_size, text_or_dash(node->unkept));
}

static void see_no_run(void *user, const struct store_run *run) {
    (void)user;
    (void)run;
}

/* Give node 0 of a run a result, and end the run. */
static void give(const char *id, const char *result, enum store_run_state state) {
    const struct store_run_node node = {
            .state = STORE_NODE_SUCCEEDED, .result = result, .result_size = strlen(result)};
    assert_ok(store_run_commit(
            store, &(struct store_run){.id = id, .runner = "r", .state = state, .updated_ms = NOW},
            &node, 1, other_runs, &err));
}

static int read_nodes_of(const char *id) {
    return store_run_find(store, NULL, id, see_no_run, see_run_node, NULL, &err);
}

/* As if the texts of a run were so long. */
static void weigh(const char *id, unsigned bytes) {
    char sql[160];
    (void)snprintf(sql, sizeof sql, "UPDATE run_bytes SET bytes = %u WHERE run = '%s'", bytes, id);
    run_sql(sql);
}

static const char *bytes_of_runs(void) {
    return ask_sql("SELECT sum(bytes) FROM run_bytes");
}

/* What a toolrack of schema 11 leaves. */
static void make_eleventh_form(void) {
    run_sql("ALTER TABLE runs ADD COLUMN tools TEXT; ALTER TABLE runs ADD COLUMN inputs TEXT; "
            "ALTER TABLE runs ADD COLUMN plan TEXT; UPDATE runs SET (tools, inputs, plan) = "
            "(SELECT tools, inputs, plan FROM run_texts WHERE run = id); DROP TABLE run_texts; "
            "DROP TABLE run_bytes; DROP TABLE keys; DROP TABLE standings; DROP TABLE kept_pins; "
            "DROP TABLE kept_cautions; DROP TABLE shared; DROP TABLE shared_bases; ALTER TABLE "
            "calls DROP COLUMN changed; PRAGMA "
            "user_version = "
            "11");
}

static void see_texts(void *user, const struct store_run *run) {
    (void)user;
    assert_string_equal(run->owner, "ann");
    assert_string_equal(run->plan, "{}");
    assert_string_equal(run->inputs, "{}");
    assert_string_equal(run->tools, "{}");
}

static void the_texts_of_runs_are_counted(void **state) {
    (void)state;
    char id[STORE_RUN_ID_SIZE];
    open_store();
    assert_ok(add_run("ann", id));
    assert_string_equal(bytes_of_runs(), "6");
    give(id, "\"caf\303\251\"", STORE_RUN_RUNNING);
    assert_string_equal(bytes_of_runs(), "13");
    give(id, "1", STORE_RUN_RUNNING); /* in place of the other */
    assert_string_equal(bytes_of_runs(), "7");
    store_close(store);
    store = NULL;
    make_eleventh_form();
    reopen();
    assert_ok(store_run_find(store, NULL, id, see_texts, see_run_node, NULL, &err));
    assert_string_equal(ask_sql("PRAGMA user_version"), "11");
    give(id, "22", STORE_RUN_SUCCEEDED);
    assert_string_equal(ask_sql("PRAGMA user_version"), "17");
    assert_ok(store_run_find(store, NULL, id, see_texts, see_run_node, NULL, &err));
    assert_string_equal(bytes_of_runs(), "8");
    assert_string_equal(ask_sql("SELECT party FROM run_bytes"), "ann");
    assert_ok(store_run_remove(store, id, NULL, NULL, &err));
    assert_string_equal(ask_sql("SELECT count(*) FROM run_bytes"), "0");
    assert_string_equal(ask_sql("SELECT count(*) FROM run_texts"), "0");
}

/* Pages that the connection of the store has looked at, in memory or not. */
static int pages_seen(void) {
    int hits = 0;
    int misses = 0;
    int highest;
    (void)sqlite3_db_status(store->db, SQLITE_DBSTATUS_CACHE_HIT, &hits, &highest, 0);
    (void)sqlite3_db_status(store->db, SQLITE_DBSTATUS_CACHE_MISS, &misses, &highest, 0);
    return hits + misses;
}

/* A commit of a node does not read or write the texts of its run. */
static void what_a_commit_of_a_run_costs_does_not_depend_on_its_plan(void **state) {
    (void)state;
    enum { SIZE = 4 * 1024 * 1024, PAGES_MAX = 100 };
    CLEANUP(freep) char *plan = calloc(SIZE + 1, 1);
    char id[STORE_RUN_ID_SIZE];
    memset(plan, ' ', SIZE);
    open_store();
    assert_ok(store_run_make_id(id, &err));
    assert_ok(store_run_add(store,
                            &(struct store_run){.id = id,
                                                .runner = "r",
                                                .created_ms = NOW,
                                                .plan = plan,
                                                .inputs = "{}",
                                                .tools = "{}"},
                            NULL, 0, NULL, &err));
    give(id, "1", STORE_RUN_RUNNING);
    const int before = pages_seen();
    give(id, "2", STORE_RUN_RUNNING);
    assert_in_range(pages_seen() - before, 1, PAGES_MAX);
    give(id, "3", STORE_RUN_SUCCEEDED);
    assert_in_range(pages_seen() - before, 1, 2 * PAGES_MAX);
}

/* What has ended makes room, the oldest first; what has not goes on without its results. */
static void a_party_does_not_take_all_the_bytes_of_runs(void **state) {
    (void)state;
    char old[STORE_RUN_ID_SIZE];
    char young[STORE_RUN_ID_SIZE];
    char others[STORE_RUN_ID_SIZE];
    char open[STORE_RUN_ID_SIZE];
    char none[STORE_RUN_ID_SIZE];
    open_store();
    assert_ok(add_run("bob", others));
    give(others, "1", STORE_RUN_SUCCEEDED);
    assert_ok(add_run("ann", old));
    give(old, "2", STORE_RUN_SUCCEEDED);
    assert_ok(add_run("ann", young));
    give(young, "3", STORE_RUN_SUCCEEDED);
    assert_ok(add_run_of("session:1", "ann", open));
    weigh(open, STORE_RUNS_BYTES_PARTY_MAX - 18);
    give(open, "4567", STORE_RUN_RUNNING); /* 14 + 4 bytes: just fits */
    assert_int_equal(runs_of(NULL), 4);
    give(open, "45678", STORE_RUN_RUNNING);
    assert_error(read_nodes_of(old), TOOLRACK_E_NOT_FOUND, "there is no run");
    assert_seen(read_nodes_of(young), "1 -;");
    assert_seen(read_nodes_of(others), "1 -;");
    assert_seen(read_nodes_of(open), "5 -;");
    weigh(open, STORE_RUNS_BYTES_PARTY_MAX);
    give(open, "1", STORE_RUN_RUNNING);
    assert_seen(read_nodes_of(open),
                "0 the runs of its party have as many bytes as are kept, 256 MiB;");
    assert_seen(read_nodes_of(young), "1 -;"); /* removed, it would not have been enough */
    assert_error(add_run("ann", none), TOOLRACK_E_LIMIT_EXCEEDED,
                 "the runs of the same party that have not ended have 268435457 bytes, and "
                 "268435456 are the most; resume them, or remove them: ");
    assert_ok(add_run("bob", none));
}

static bool is_dead(void *user, const char *id, const char *runner) {
    (void)user;
    (void)id;
    (void)runner;
    return false;
}

/* Of all, who has most loses the oldest. */
static void all_runs_have_a_limit_of_bytes(void **state) {
    (void)state;
    char ids[3][STORE_RUN_ID_SIZE];
    char open[STORE_RUN_ID_SIZE];
    open_store();
    assert_ok(add_run("bob", ids[0]));
    give(ids[0], "1", STORE_RUN_SUCCEEDED);
    for (int i = 1; i < 3; i++) {
        assert_ok(add_run("ann", ids[i]));
        give(ids[i], "2", STORE_RUN_SUCCEEDED);
    }
    assert_ok(add_run(NULL, open));
    weigh(open, STORE_RUNS_BYTES_MAX - 21);
    give(open, "3", STORE_RUN_RUNNING);
    assert_seen(read_nodes_of(ids[0]), "1 -;");
    assert_error(read_nodes_of(ids[1]), TOOLRACK_E_NOT_FOUND, "there is no run");
    assert_seen(read_nodes_of(ids[2]), "1 -;");
    weigh(open, STORE_RUNS_BYTES_MAX);
    give(open, "44", STORE_RUN_RUNNING);
    assert_seen(read_nodes_of(open), "0 all runs have as many bytes as are kept, 1 GiB;");
    assert_error(add_run("eve", ids[1]), TOOLRACK_E_LIMIT_EXCEEDED,
                 "the runs that have not ended have ");
    assert_ok(store_run_remove(store, open, is_dead, NULL, &err));
    assert_ok(add_run("eve", ids[1]));
}

/* The runner "r" lives, unless the run is this one. */
static const char *interrupted[2];

static bool is_running(void *user, const char *id, const char *runner) {
    (void)user;
    assert_string_equal(runner, "r");
    for (size_t i = 0; i < 2; i++) {
        if (interrupted[i] != NULL && strcmp(interrupted[i], id) == 0) {
            return false;
        }
    }
    return true;
}

static void see_removed(void *user, const char *id) {
    (void)user;
    buf_printf(&seen, "%s;", id);
}

static const struct store_runs_others with_interrupted = {.lives = is_running,
                                                          .removed = see_removed};

static void assert_removed(const char *id) {
    char expected[STORE_RUN_ID_SIZE + 1] = "";
    if (id != NULL) {
        (void)snprintf(expected, sizeof expected, "%s;", id);
    }
    buf_add_char(&seen, '\0');
    assert_string_equal(seen.data, expected);
    buf_clear(&seen);
}

/* Runs that were interrupted make room after those that have ended; what waits for a person, or
 * runs, does not. */
static void interrupted_runs_do_not_keep_their_bytes(void **state) {
    (void)state;
    char left[2][STORE_RUN_ID_SIZE];
    char others_left[STORE_RUN_ID_SIZE];
    char ended[STORE_RUN_ID_SIZE];
    char waits[STORE_RUN_ID_SIZE];
    char open[STORE_RUN_ID_SIZE];
    open_store();
    other_runs = &with_interrupted;
    assert_ok(add_run("bob", others_left));
    assert_ok(add_run("ann", waits));
    give(waits, "1", STORE_RUN_WAITING);
    for (size_t i = 0; i < 2; i++) {
        assert_ok(add_run("ann", left[i]));
        give(left[i], "2", STORE_RUN_RUNNING);
    }
    assert_ok(add_run("ann", ended));
    give(ended, "3", STORE_RUN_SUCCEEDED);
    assert_ok(add_run("ann", open));
    interrupted[0] = left[0];
    interrupted[1] = left[1];
    weigh(open, STORE_RUNS_BYTES_PARTY_MAX - 28);
    buf_clear(&seen);
    give(open, "4", STORE_RUN_RUNNING); /* one byte more than there is room for */
    assert_error(read_nodes_of(ended), TOOLRACK_E_NOT_FOUND, "there is no run");
    assert_removed(NULL);
    weigh(open, STORE_RUNS_BYTES_PARTY_MAX - 21);
    give(open, "55", STORE_RUN_RUNNING);
    assert_removed(left[0]);
    assert_seen(read_nodes_of(left[1]), "1 -;");
    weigh(open, STORE_RUNS_BYTES_PARTY_MAX - 14);
    give(open, "666", STORE_RUN_RUNNING);
    assert_removed(left[1]);
    weigh(open, STORE_RUNS_BYTES_PARTY_MAX - 7);
    give(open, "7777", STORE_RUN_RUNNING);
    assert_seen(read_nodes_of(open),
                "0 the runs of its party have as many bytes as are kept, 256 MiB;");
    assert_seen(read_nodes_of(waits), "1 -;");
    assert_ok(read_nodes_of(others_left));
    /* Of all: one of another party goes, when it is interrupted. */
    interrupted[0] = others_left;
    run_sql("UPDATE run_bytes SET bytes = 20 WHERE party = 'ann'");
    assert_ok(add_run(NULL, ended));
    weigh(ended, STORE_RUNS_BYTES_MAX - 46);
    buf_clear(&seen);
    assert_ok(add_run("eve", left[0]));
    assert_removed(others_left);
    other_runs = NULL;
}

/* One that was interrupted makes room for another one, the oldest of the party first. */
static void interrupted_runs_do_not_keep_their_places(void **state) {
    (void)state;
    char ids[STORE_RUNS_OPEN_PARTY_MAX][STORE_RUN_ID_SIZE];
    char id[STORE_RUN_ID_SIZE];
    char bobs[STORE_RUN_ID_SIZE];
    store = store_open(NULL, &err);
    other_runs = &with_interrupted;
    assert_ok(add_run("bob", bobs));
    for (int i = 0; i < STORE_RUNS_OPEN_PARTY_MAX; i++) {
        assert_ok(add_run("ann", ids[i]));
    }
    interrupted[0] = bobs; /* not of the party that has too many */
    interrupted[1] = NULL;
    assert_error(add_run("ann", id), TOOLRACK_E_LIMIT_EXCEEDED, "100 runs of 'ann'");
    interrupted[0] = ids[4];
    interrupted[1] = ids[7];
    assert_ok(add_run("ann", id));
    assert_removed(ids[4]);
    assert_ok(add_run("ann", id));
    assert_removed(ids[7]);
    assert_error(add_run("ann", id), TOOLRACK_E_LIMIT_EXCEEDED, "100 runs of 'ann'");
    for (int i = STORE_RUNS_OPEN_PARTY_MAX + 1; i < STORE_RUNS_OPEN_MAX; i++) {
        assert_ok(add_run(NULL, id));
    }
    interrupted[0] = bobs;
    assert_ok(add_run("eve", id));
    assert_removed(bobs);
    assert_error(add_run("eve", id), TOOLRACK_E_LIMIT_EXCEEDED, "1000 runs have not ended");
    other_runs = NULL;
}

static void see_default(void *user, const struct store_default *chosen) {
    (void)user;
    buf_printf(&seen, "%s %s;", chosen->tool, chosen->version);
}

static int set_default(const char *tool, const char *version) {
    return store_default_set(store, &(struct store_default){.tool = tool, .version = version},
                             &err);
}

static void a_name_has_one_default(void **state) {
    (void)state;
    char long_text[STORE_TEXT_SIZE_MAX + 2];
    open_store();
    assert_seen(store_defaults_read(store, see_default, NULL, &err), "");
    assert_ok(set_default("b", "1.0.0"));
    assert_ok(set_default("a", "2.0.0-rc.1"));
    assert_ok(set_default("b", "1.1.0"));
    reopen();
    assert_seen(store_defaults_read(store, see_default, NULL, &err), "a 2.0.0-rc.1;b 1.1.0;");
    assert_ok(set_default("a", NULL));
    assert_ok(set_default("a", NULL));
    memset(long_text, 'x', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = '\0';
    assert_error(set_default("b", long_text), TOOLRACK_E_LIMIT_EXCEEDED, "version");
    reopen();
    assert_seen(store_defaults_read(store, see_default, NULL, &err), "b 1.1.0;");
}

static void a_store_is_for_its_user_alone(void **state) {
    (void)state;
    struct stat st;
    open_store();
    assert_ok(grant("wipe", 0));
    assert_int_equal(stat(db_path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
}

/* What the first toolrack made, to the letter. */
static void make_first_form(void) {
    run_sql("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
            "BEGIN IMMEDIATE;"
            "CREATE TABLE IF NOT EXISTS settings ("
            "  selector TEXT PRIMARY KEY NOT NULL,"
            "  enabled INTEGER,"
            "  priority INTEGER"
            ") WITHOUT ROWID, STRICT;"
            "PRAGMA user_version = 1;"
            "COMMIT;"
            "INSERT INTO settings (selector, enabled, priority) VALUES ('tool', 0, NULL)");
}

static void a_file_of_the_first_form_is_upgraded_when_written_to(void **state) {
    (void)state;
    make_first_form();
    reopen();
    assert_seen(read_all(), "tool off -1;");
    assert_string_equal(ask_sql("PRAGMA user_version"), "1");
    /* What fails leaves it as it is. */
    assert_error(store_pending_resolve(store, "none", STORE_ANSWER_DENY, "ann", NOW, &err),
                 TOOLRACK_E_NOT_FOUND, "none");
    assert_string_equal(ask_sql("PRAGMA user_version"), "1");
    assert_ok(grant("wipe", 0));
    assert_string_equal(ask_sql("PRAGMA user_version"), "17");
    assert_seen(read_all(), "tool off -1;wipe 0 ann 1000000;");
    reopen();
    assert_seen(read_all(), "tool off -1;wipe 0 ann 1000000;");
}

/* What toolrack made before it kept a log of calls, to the letter. */
static void make_second_form(void) {
    make_first_form();
    run_sql("BEGIN IMMEDIATE;"
            "CREATE TABLE grants ("
            "  selector TEXT PRIMARY KEY NOT NULL,"
            "  expires_s INTEGER NOT NULL,"
            "  who TEXT NOT NULL,"
            "  granted_s INTEGER NOT NULL"
            ") WITHOUT ROWID, STRICT;"
            "CREATE TABLE approvals ("
            "  tool TEXT NOT NULL,"
            "  version TEXT NOT NULL,"
            "  conversation TEXT NOT NULL,"
            "  who TEXT NOT NULL,"
            "  approved_s INTEGER NOT NULL,"
            "  PRIMARY KEY (tool, version, conversation)"
            ") STRICT;"
            "CREATE TABLE pending ("
            "  id TEXT PRIMARY KEY NOT NULL,"
            "  tool TEXT NOT NULL,"
            "  version TEXT NOT NULL,"
            "  arguments TEXT NOT NULL,"
            "  caller TEXT,"
            "  channel TEXT,"
            "  conversation TEXT,"
            "  reason TEXT,"
            "  created_s INTEGER NOT NULL,"
            "  expires_s INTEGER NOT NULL,"
            "  answer INTEGER NOT NULL,"
            "  answered_by TEXT"
            ") STRICT;"
            "CREATE TABLE pins ("
            "  plugin TEXT NOT NULL,"
            "  tool TEXT NOT NULL,"
            "  version TEXT NOT NULL,"
            "  sha256 BLOB NOT NULL,"
            "  description TEXT NOT NULL,"
            "  schema TEXT NOT NULL,"
            "  approved_s INTEGER NOT NULL,"
            "  who TEXT NOT NULL,"
            "  PRIMARY KEY (plugin, tool, version)"
            ") STRICT;"
            "CREATE TABLE quarantine ("
            "  plugin TEXT PRIMARY KEY NOT NULL,"
            "  sha256 BLOB NOT NULL,"
            "  reason TEXT NOT NULL,"
            "  since_s INTEGER NOT NULL,"
            "  crash_count INTEGER NOT NULL"
            ") WITHOUT ROWID, STRICT;"
            "CREATE TABLE crashes ("
            "  id INTEGER PRIMARY KEY AUTOINCREMENT,"
            "  plugin TEXT NOT NULL,"
            "  time_s INTEGER NOT NULL,"
            "  bundle TEXT NOT NULL"
            ") STRICT;"
            "CREATE INDEX crashes_of_plugin ON crashes (plugin, id);"
            "CREATE TABLE generations ("
            "  sequence INTEGER PRIMARY KEY AUTOINCREMENT,"
            "  path TEXT NOT NULL,"
            "  sha256 BLOB NOT NULL,"
            "  staged TEXT NOT NULL,"
            "  seen_s INTEGER NOT NULL"
            ") STRICT;"
            "CREATE INDEX generations_of_path ON generations (path, sequence);"
            "CREATE TABLE rollbacks ("
            "  path TEXT PRIMARY KEY NOT NULL,"
            "  bad_sha256 BLOB NOT NULL,"
            "  use_sha256 BLOB NOT NULL"
            ") WITHOUT ROWID, STRICT;"
            "CREATE TABLE decisions ("
            "  id INTEGER PRIMARY KEY,"
            "  time_ms INTEGER NOT NULL,"
            "  tool TEXT,"
            "  version TEXT,"
            "  plugin TEXT,"
            "  caller TEXT,"
            "  channel TEXT,"
            "  conversation TEXT,"
            "  decision TEXT NOT NULL,"
            "  who TEXT,"
            "  why TEXT"
            ") STRICT;"
            "PRAGMA user_version = 2;"
            "COMMIT;"
            "INSERT INTO grants VALUES ('wipe', 0, 'ann', 1000000);"
            "INSERT INTO approvals VALUES ('wipe', '1.0.0', '', 'ann', 1000000);"
            "INSERT INTO quarantine VALUES ('bad', zeroblob(32), 'crashes', 1000000, 3);"
            "INSERT INTO decisions (time_ms, tool, decision) VALUES (1000000000, 'wipe', "
            "'granted')");
}

/* What toolrack made before it knew identities, to the letter. */
static void make_third_form(void) {
    make_second_form();
    run_sql("CREATE TABLE defaults ("
            "  tool TEXT PRIMARY KEY NOT NULL,"
            "  version TEXT NOT NULL"
            ") WITHOUT ROWID, STRICT;"
            "CREATE TABLE calls ("
            "  id INTEGER PRIMARY KEY,"
            "  time_ms INTEGER NOT NULL,"
            "  tool TEXT NOT NULL,"
            "  version TEXT NOT NULL,"
            "  plugin TEXT NOT NULL,"
            "  caller TEXT,"
            "  channel TEXT,"
            "  conversation TEXT,"
            "  trace TEXT,"
            "  duration_ns INTEGER NOT NULL,"
            "  arguments TEXT NOT NULL,"
            "  result TEXT,"
            "  bytes_in INTEGER NOT NULL,"
            "  bytes_out INTEGER NOT NULL,"
            "  error TEXT,"
            "  cpu_ns INTEGER,"
            "  memory INTEGER,"
            "  written INTEGER NOT NULL"
            ") STRICT;"
            "CREATE INDEX calls_that_failed ON calls (id) WHERE error IS NOT NULL;"
            "CREATE TABLE usage ("
            "  id INTEGER PRIMARY KEY,"
            "  tool TEXT NOT NULL,"
            "  version TEXT NOT NULL,"
            "  calls INTEGER NOT NULL,"
            "  failures INTEGER NOT NULL,"
            "  unlogged INTEGER NOT NULL,"
            "  total_ns INTEGER NOT NULL,"
            "  max_ns INTEGER NOT NULL,"
            "  cpu_calls INTEGER NOT NULL,"
            "  cpu_ns INTEGER NOT NULL,"
            "  memory_calls INTEGER NOT NULL,"
            "  memory INTEGER NOT NULL,"
            "  bytes_in INTEGER NOT NULL,"
            "  bytes_out INTEGER NOT NULL,"
            "  first_ms INTEGER NOT NULL,"
            "  last_ms INTEGER NOT NULL,"
            "  last_error TEXT,"
            "  last_error_ms INTEGER NOT NULL,"
            "  UNIQUE (tool, version)"
            ") STRICT;"
            "CREATE TABLE usage_times ("
            "  usage INTEGER NOT NULL,"
            "  bucket INTEGER NOT NULL,"
            "  count INTEGER NOT NULL,"
            "  PRIMARY KEY (usage, bucket)"
            ") WITHOUT ROWID, STRICT;");
    run_sql("CREATE TABLE feedback ("
            "  id INTEGER PRIMARY KEY AUTOINCREMENT,"
            "  time_ms INTEGER NOT NULL,"
            "  tool TEXT NOT NULL,"
            "  version TEXT NOT NULL,"
            "  good INTEGER NOT NULL,"
            "  call INTEGER,"
            "  who TEXT NOT NULL"
            ") STRICT;"
            "CREATE INDEX feedback_of_tool ON feedback (tool, version, id);"
            "CREATE TABLE marks ("
            "  selector TEXT PRIMARY KEY NOT NULL,"
            "  list INTEGER NOT NULL,"
            "  since_ms INTEGER NOT NULL,"
            "  who TEXT NOT NULL,"
            "  why TEXT"
            ") WITHOUT ROWID, STRICT;"
            "CREATE TABLE health ("
            "  tool TEXT NOT NULL,"
            "  version TEXT NOT NULL,"
            "  failed_1_ms INTEGER NOT NULL,"
            "  failed_2_ms INTEGER NOT NULL,"
            "  failed_3_ms INTEGER NOT NULL,"
            "  failed_4_ms INTEGER NOT NULL,"
            "  failed_5_ms INTEGER NOT NULL,"
            "  since_ms INTEGER NOT NULL,"
            "  trial_ms INTEGER NOT NULL,"
            "  cool_down_ms INTEGER NOT NULL,"
            "  tried INTEGER NOT NULL,"
            "  PRIMARY KEY (tool, version)"
            ") WITHOUT ROWID, STRICT;"
            "PRAGMA user_version = 3;");
    run_sql("INSERT INTO settings VALUES ('wipe', 1, 7), ('send@1.0.0', 0, 5);"
            "INSERT INTO marks VALUES ('wipe@1.0.0', 1, 1, 'ann', NULL);"
            "INSERT INTO marks VALUES ('send', 0, 1, 'ann', NULL);"
            "INSERT INTO health VALUES ('wipe', '1.0.0', 1, 2, 0, 0, 0, 0, 0, 0, 0);"
            "INSERT INTO feedback (time_ms, tool, version, good, call, who) "
            "VALUES (1, 'wipe', '1.0.0', 1, NULL, 'ann');"
            "INSERT INTO calls (time_ms, tool, version, plugin, duration_ns, arguments, bytes_in, "
            "bytes_out, written) VALUES (1, 'wipe', '1.0.0', 'mail', 1, '{}', 2, 0, 100);"
            "INSERT INTO usage VALUES (4, 'wipe', '1.0.0', 3, 0, 0, 9, 5, 0, 0, 0, 0, 6, 0, 1, 2, "
            "NULL, 0);"
            "INSERT INTO usage_times VALUES (4, 3, 3);");
}

/* A call of a tool, in the log and counted. */
static int add_call(const char *tool, int64_t time_ms, const struct store_calls_limits *limits) {
    const struct store_call call = {.time_ms = time_ms,
                                    .tool = tool,
                                    .version = "1.0.0",
                                    .plugin = "p app",
                                    .arguments = "{}",
                                    .result = "7"};
    const struct store_statistics usage = {.tool = tool,
                                           .version = "1.0.0",
                                           .plugin = "p app",
                                           .calls = 1,
                                           .first_ms = time_ms,
                                           .last_ms = time_ms,
                                           .times = &(struct store_time){.bucket = 3, .count = 1},
                                           .time_count = 1};
    return store_calls_add(store, &call, 1, &usage, 1, limits, &err);
}

static const struct store_calls_limits no_limits;

static void see_marks(void *user, const struct store_mark *mark) {
    (void)user;
    buf_printf(&seen, "%s [%s] %s;", mark->selector, mark->plugin,
               mark->list == STORE_WHITELIST ? "white" : "black");
}

static void see_health(void *user, const char *tool, const char *version, const char *plugin,
                       const struct store_health *health) {
    (void)user;
    buf_printf(&seen, "%s@%s [%s] %lld;", tool, version, plugin, (long long)health->failed_ms[1]);
}

static void see_opinions(void *user, const struct store_opinions *opinions) {
    (void)user;
    buf_printf(&seen, "%s@%s [%s] %llu %llu;", opinions->tool, opinions->version, opinions->plugin,
               (unsigned long long)opinions->good, (unsigned long long)opinions->bad);
}

static void see_counts(void *user, const struct store_statistics *usage) {
    (void)user;
    buf_printf(&seen, "%s@%s [%s] %llu %llu;", usage->tool, usage->version, usage->plugin,
               (unsigned long long)usage->calls,
               usage->time_count > 0 ? (unsigned long long)usage->times[0].count : 0);
}

static void see_caller(void *user, const struct store_call *call) {
    (void)user;
    buf_printf(&seen, "%s [%s];", call->tool, call->plugin);
}

/* What is stored about tools, with the plugins that it is about. */
static void assert_bound(const char *expected) {
    assert_ok(store_read_settings(store, see_setting, NULL, &err));
    buf_printf(&seen, " ");
    assert_ok(store_marks_read(store, see_marks, NULL, &err));
    buf_printf(&seen, " ");
    assert_ok(store_health_read(store, see_health, NULL, &err));
    buf_printf(&seen, " ");
    assert_ok(store_feedback_count(store, see_opinions, NULL, &err));
    buf_printf(&seen, " ");
    assert_ok(store_statistics_read(store, see_counts, NULL, &err));
    buf_printf(&seen, " ");
    assert_seen(store_calls_read(store, &(struct store_calls_filter){0}, see_caller, NULL, &err),
                expected);
}

static void see_call(void *user, const struct store_call *call) {
    (void)user;
    buf_printf(&seen, "%lld %s %lld;", (long long)call->id, call->tool, (long long)call->time_ms);
}

static int read_calls(const struct store_calls_filter *filter) {
    return store_calls_read(store, filter, see_call, NULL, &err);
}

static void see_usage(void *user, const struct store_statistics *usage) {
    (void)user;
    buf_printf(&seen, "%s %llu %u;", usage->tool, (unsigned long long)usage->calls,
               usage->time_count);
}

static const char second_rows[] = "tool off -1;wipe 0 ann 1000000;wipe@1.0.0 - ann 1000000;"
                                  "bad 0 crashes 1000000 3;1000000000 wipe@- - - - - granted - -;";

static void a_file_of_the_second_form_keeps_all_its_rows(void **state) {
    (void)state;
    make_second_form();
    reopen();
    assert_seen(read_all(), second_rows);
    assert_seen(read_calls(&(struct store_calls_filter){0}), "");
    assert_seen(store_statistics_read(store, see_usage, NULL, &err), "");
    assert_string_equal(ask_sql("PRAGMA user_version"), "2");
    assert_ok(add_call("wipe", NOW, &no_limits));
    assert_string_equal(ask_sql("PRAGMA user_version"), "17");
    reopen();
    assert_seen(read_all(), second_rows);
    assert_seen(read_calls(&(struct store_calls_filter){0}), "1 wipe 1000000;");
    assert_seen(store_statistics_read(store, see_usage, NULL, &err), "wipe 1 1;");
}

/* ------------------------------------------------------------------ serving */

static void see_token(void *user, const struct store_token *token) {
    (void)user;
    buf_printf(&seen, "%s %s %s %d;", token->name, token->id, text_or_dash(token->tools),
               byte_of(token->sha256));
}

/* What a toolrack of schema 7 leaves. */
static void make_seventh_form(void) {
    run_sql("DROP TABLE runs; DROP TABLE run_nodes; DROP TABLE selection_key; DROP TABLE vectors; "
            "DROP TABLE run_texts; DROP TABLE keys; DROP TABLE standings; DROP TABLE kept_pins; "
            "DROP TABLE kept_cautions; DROP TABLE shared; DROP TABLE shared_bases; "
            "ALTER TABLE calls DROP COLUMN run; ALTER TABLE calls DROP COLUMN changed; DROP TABLE "
            "run_agreed; DROP TABLE run_bytes; "
            "PRAGMA user_version = 7");
}

/* What a toolrack of schema 6 leaves. */
static void make_sixth_form(void) {
    make_seventh_form();
    run_sql("DROP TABLE selections; PRAGMA user_version = 6");
}

/* What a toolrack of schema 5 leaves. */
static void make_fifth_form(void) {
    make_sixth_form();
    run_sql("DROP TABLE unbound_calls;"
            "CREATE INDEX calls_of_ids ON calls (plugin) WHERE instr(plugin, ' ') = 0;"
            "PRAGMA user_version = 5");
}

/* What a toolrack of schema 4 leaves. */
static void make_fourth_form(void) {
    open_store();
    assert_ok(grant("wipe", 0));
    store_close(store);
    store = NULL;
    make_fifth_form();
    run_sql("DROP TABLE tokens; DROP TABLE tasks; DROP TABLE approvals;"
            "ALTER TABLE pending DROP COLUMN party;"
            "CREATE TABLE approvals ("
            "  tool TEXT NOT NULL,"
            "  version TEXT NOT NULL,"
            "  conversation TEXT NOT NULL,"
            "  who TEXT NOT NULL,"
            "  approved_s INTEGER NOT NULL,"
            "  PRIMARY KEY (tool, version, conversation)"
            ") STRICT;"
            "INSERT INTO approvals VALUES ('send', '1.0.0', 'c1', 'ann', 1),"
            "('move', '1.0.0', '', 'ann', 2);"
            "INSERT INTO pins (plugin, tool, version, sha256, description, schema, approved_s, "
            "who) VALUES ('mail', 'send', '1.0.0', x'00', '', '{}', 1, 'ann');"
            "PRAGMA user_version = 4");
}

static void a_file_of_the_fourth_form_gets_tokens_and_tasks(void **state) {
    (void)state;
    struct store_token token = {
            .name = "ci", .id = "ci-1", .tools = "add\nfile_*", .created_s = NOW, .who = "ann"};
    fill(token.sha256, 7);
    make_fourth_form();
    reopen();
    struct store_approval bobs = {
            .tool = "send", .version = "1.0.0", .conversation = "c1", .caller = "bob"};
    char found[STORE_WHO_SIZE];
    assert_seen(store_tokens_read(store, see_token, NULL, &err), "");
    assert_seen(read_grants(), "wipe 0 ann 1000000;");
    assert_seen(read_approvals(), "move@1.0.0 - ann 2;send@1.0.0 c1 ann 1;");
    assert_ok(store_approval_find(store, &bobs, "mail", found, &err));
    assert_string_equal(ask_sql("PRAGMA user_version"), "4");
    assert_ok(store_token_add(store, &token, &err));
    assert_string_equal(ask_sql("PRAGMA user_version"), "17");
    reopen();
    assert_seen(store_tokens_read(store, see_token, NULL, &err), "ci ci-1 add\nfile_* 7;");
    assert_seen(read_approvals(), "move@1.0.0 - ann 2;send@1.0.0 c1 ann 1;");
    assert_ok(store_approval_find(store, &bobs, "mail", found, &err)); /* of whoever calls */
    assert_seen(read_grants(), "wipe 0 ann 1000000;");
}

/* -------------------------------------------------------------- identities */

static void see_identity(void *user, const struct store_identity *identity) {
    (void)user;
    buf_printf(&seen, "%s %s %d%s;", identity->plugin, identity->origin, identity->trust,
               identity->owns ? " owns" : "");
}

static void see_name(void *user, const struct store_name *name) {
    (void)user;
    buf_printf(&seen, "%s;", name->identity);
}

static int record(const char *plugin, const char *origin, bool owns, const char *tool) {
    const struct store_sighting row = {.plugin = plugin,
                                       .origin = origin,
                                       .trust = 1,
                                       .owns = owns,
                                       .tools = &tool,
                                       .tool_count = 1};
    return store_identities_record(store, &row, 1, NOW, NULL, false, &err);
}

static bool is_bound(const char *identity) {
    bool bound;
    assert_ok(store_identity_is_bound(store, identity, &bound, &err));
    return bound;
}

/* A file of the second form has ids alone: they are those of the first owner of the id. */
static void old_rows_are_bound_to_the_first_owner(void **state) {
    (void)state;
    static const char pinned[] =
            "INSERT INTO pins VALUES ('mail', 'wipe', '1', zeroblob(32), 'Wipe', "
            "'{}', 1000000, 'ann')";
    make_second_form();
    run_sql(pinned);
    reopen();
    assert_seen(store_identities_read(store, NULL, see_identity, NULL, &err), "");
    /* Before anything is written the rows hold for the plugin that has the id. */
    assert_seen(store_pins_read(store, "mail community:/a", NULL, see_pin, NULL, &err),
                "mail wipe@1 0 Wipe {} 1000000 ann;");
    assert_ok(record("mail", "official:/a", true, "wipe"));
    assert_ok(record("mail", "community:/b", false, "wipe"));
    assert_ok(record("bad", "community:/b", true, "fail"));
    assert_string_equal(ask_sql("PRAGMA user_version"), "17");
    reopen();
    assert_seen(store_pins_read(store, "mail official:/a", NULL, see_pin, NULL, &err),
                "mail official:/a wipe@1 0 Wipe {} 1000000 ann;");
    assert_seen(store_pins_read(store, "mail community:/b", NULL, see_pin, NULL, &err), "");
    assert_seen(store_quarantine_read(store, see_quarantine, NULL, &err),
                "bad community:/b 0 crashes 1000000 3;");
    assert_true(is_bound("mail official:/a"));
    assert_false(is_bound("mail community:/b"));
    assert_true(is_bound("bad community:/b"));
}

static const char *indexes_of_calls(void) {
    return ask_sql("SELECT group_concat(name) FROM sqlite_schema "
                   "WHERE type = 'index' AND tbl_name = 'calls'");
}

/* Calls of schema 3 are still found when no index has them, until all are bound. */
static void old_calls_of_a_file_of_the_fifth_form_are_bound(void **state) {
    (void)state;
    make_third_form();
    run_sql("INSERT INTO calls (time_ms, tool, version, plugin, duration_ns, arguments, bytes_in, "
            "bytes_out, written) VALUES (2, 'fail', '1.0.0', 'bad', 1, '{}', 2, 0, 200)");
    reopen();
    assert_ok(record("other", "community:/c", true, "none"));
    store_close(store);
    store = NULL;
    make_fifth_form();
    assert_string_equal(indexes_of_calls(), "calls_that_failed,calls_of_ids");
    reopen();
    assert_ok(add_call("wipe", NOW, &no_limits));
    assert_string_equal(ask_sql("PRAGMA user_version"), "17");
    assert_string_equal(indexes_of_calls(), "calls_that_failed");
    assert_string_equal(ask_sql("SELECT group_concat(plugin) FROM calls"), "mail,bad,p app");
    assert_string_equal(ask_sql("SELECT group_concat(call) FROM unbound_calls"), "1,2");
    assert_ok(record("mail", "official:/a", true, "wipe"));
    assert_string_equal(ask_sql("SELECT group_concat(plugin) FROM calls"),
                        "mail official:/a,bad,p app");
    assert_string_equal(ask_sql("SELECT group_concat(call) FROM unbound_calls"), "2");
    assert_ok(record("bad", "community:/b", true, "fail"));
    assert_string_equal(ask_sql("SELECT group_concat(plugin) FROM calls"),
                        "mail official:/a,bad community:/b,p app");
    assert_string_equal(ask_sql("SELECT count(*) FROM unbound_calls"), "0");
}

/* A file of the third form has names alone: what restricts stays so, what favours a tool, or was
 * measured or said of it, is of the first owner of the name. */
static void records_of_names_are_bound_to_the_first_owner(void **state) {
    (void)state;
    static const char unbound[] = "send@1.0.0 off 5;tool off -1;wipe on 7; send [] black;"
                                  "wipe@1.0.0 [] white; wipe@1.0.0 [] 2; wipe@1.0.0 [] 1 0; "
                                  "wipe@1.0.0 [] 3 3; wipe [mail];";
    static const char bound[] =
            "send@1.0.0 off 5;tool off -1;wipe mail official:/a on 7; send [] black;"
            "wipe@1.0.0 [mail official:/a] white; wipe@1.0.0 [mail official:/a] 2; "
            "wipe@1.0.0 [mail official:/a] 1 0; wipe@1.0.0 [mail official:/a] 3 3; "
            "wipe [mail official:/a];";
    make_third_form();
    reopen();
    assert_bound(unbound);
    assert_string_equal(ask_sql("PRAGMA user_version"), "3");
    /* Written to, and no owner is known yet. */
    assert_ok(grant("wipe", 0));
    assert_string_equal(ask_sql("PRAGMA user_version"), "17");
    assert_bound(unbound);
    assert_ok(record("mail", "official:/a", true, "wipe"));
    assert_bound(bound);
    assert_ok(record("other", "community:/b", true, "wipe"));
    reopen();
    assert_bound(bound);
    /* What disables stays for the name; the priority beside it does not. */
    assert_ok(record("other", "community:/b", true, "send"));
    assert_seen(store_read_settings(store, see_setting, NULL, &err),
                "send@1.0.0 off -1;send@1.0.0 other community:/b - 5;tool off -1;"
                "wipe mail official:/a on 7;");
}

/* Before the owner of the name was recorded, the plugin that is called has the rows. */
static void records_of_names_are_bound_by_use(void **state) {
    (void)state;
    static const struct store_feedback bad = {
            .tool = "wipe", .version = "1.0.0", .plugin = "p app", .who = "ann", .time_ms = NOW};
    make_third_form();
    reopen();
    assert_ok(add_call("wipe", NOW, &no_limits));
    assert_seen(store_statistics_read(store, see_counts, NULL, &err), "wipe@1.0.0 [p app] 4 4;");
    assert_ok(store_feedback_add(store, &bad, &err));
    assert_seen(store_feedback_count(store, see_opinions, NULL, &err), "wipe@1.0.0 [p app] 1 1;");
}

static void records_move_when_they_are_adopted(void **state) {
    (void)state;
    make_third_form();
    reopen();
    assert_ok(record("mail", "community:/a", true, "wipe"));
    assert_ok(record("mail", "community:/b", false, "wipe"));
    run_sql("INSERT INTO usage SELECT 9, tool, version, 'mail community:/b', 10, failures, "
            "unlogged, total_ns, max_ns, cpu_calls, cpu_ns, memory_calls, memory, bytes_in, "
            "bytes_out, first_ms, last_ms, last_error, last_error_ms, 0 FROM usage;"
            "INSERT INTO usage_times VALUES (9, 3, 10);");
    assert_ok(store_identity_adopt(store, "mail community:/a", "mail community:/b", &err));
    reopen();
    assert_bound("send@1.0.0 off 5;tool off -1;wipe mail community:/b on 7; send [] black;"
                 "wipe@1.0.0 [mail community:/b] white; wipe@1.0.0 [mail community:/b] 2; "
                 "wipe@1.0.0 [mail community:/b] 1 0; wipe@1.0.0 [mail community:/b] 13 13; "
                 "wipe [mail community:/b];");
    assert_string_equal(ask_sql("SELECT count(*) FROM usage_times"), "1");
}

static void marks_are_of_a_name_or_of_a_plugin(void **state) {
    (void)state;
    static const char *const a[] = {"mail community:/a"};
    static const char *const b[] = {"mail community:/b", "post community:/b"};
    const struct store_mark white = {.selector = "wipe", .list = STORE_WHITELIST, .who = "ann"};
    const struct store_mark black = {.selector = "wipe", .list = STORE_BLACKLIST, .who = "ann"};
    open_store();
    assert_ok(store_mark(store, &white, a, 1, &err));
    assert_ok(store_mark(store, &white, b, 2, &err));
    assert_seen(store_marks_read(store, see_marks, NULL, &err),
                "wipe [mail community:/a] white;wipe [mail community:/b] white;"
                "wipe [post community:/b] white;");
    assert_ok(store_mark(store, &black, b, 2, &err));
    assert_seen(store_marks_read(store, see_marks, NULL, &err), "wipe [] black;");
    assert_ok(store_mark(store, &white, a, 1, &err));
    assert_seen(store_marks_read(store, see_marks, NULL, &err), "wipe [mail community:/a] white;");
    assert_ok(store_unmark(store, STORE_WHITELIST, "wipe", NULL, &err));
    assert_seen(store_marks_read(store, see_marks, NULL, &err), "");
}

static void identities_and_names_keep_their_order(void **state) {
    (void)state;
    bool recorded;
    unsigned char set[STORE_SHA256_SIZE];
    fill(set, 9);
    open_store();
    assert_ok(record("mail", "community:/b", true, "wipe"));
    assert_ok(record("mail", "builtin", false, "wipe"));
    assert_ok(record("mail", "community:/b", false, "wipe"));
    assert_ok(store_identities_record(store, NULL, 0, NOW, set, false, &err));
    reopen();
    assert_seen(store_identities_read(store, "mail", see_identity, NULL, &err),
                "mail community:/b 1 owns;mail builtin 1;");
    assert_seen(store_names_read(store, "wipe", see_name, NULL, &err),
                "mail community:/b;mail builtin;");
    assert_ok(store_set_is_recorded(store, set, &recorded, &err));
    assert_true(recorded);
    /* Another owner: what was recorded as a whole must be looked at again. */
    assert_ok(record("mail", "builtin", true, "wipe"));
    assert_seen(store_identities_read(store, "mail", see_identity, NULL, &err),
                "mail community:/b 1;mail builtin 1 owns;");
    assert_ok(store_set_is_recorded(store, set, &recorded, &err));
    assert_false(recorded);
}

static void what_is_bound_moves_when_it_is_adopted(void **state) {
    (void)state;
    const struct store_pin pin = {.plugin = "mail community:/a",
                                  .tool = "send",
                                  .version = "1.0.0",
                                  .texts = {"Send", "{}"},
                                  .approved_s = NOW,
                                  .who = "ann"};
    const struct store_quarantine quarantine = {.plugin = pin.plugin, .reason = "three crashes"};
    open_store();
    assert_ok(record("mail", "community:/a", true, "send"));
    assert_ok(record("mail", "community:/b", false, "send"));
    assert_ok(store_consent(store, &pin, 1, NULL, NULL, &err));
    assert_ok(store_quarantine_set(store, &quarantine, &err));
    assert_ok(add_crash(pin.plugin, 1));
    assert_ok(store_identity_adopt(store, pin.plugin, "mail community:/b", &err));
    reopen();
    assert_false(is_bound(pin.plugin));
    assert_true(is_bound("mail community:/b"));
    assert_seen(store_pins_read(store, NULL, NULL, see_pin, NULL, &err),
                "mail community:/b send@1.0.0 0 Send {} 1000000 ann;");
    assert_seen(store_crashes_read(store, "mail community:/b", see_crash, NULL, &err),
                "mail community:/b {1};");
    assert_seen(store_identities_read(store, "mail", see_identity, NULL, &err),
                "mail community:/a 1;mail community:/b 1 owns;");
}

static void the_same_is_told_once(void **state) {
    (void)state;
    bool new;
    open_store();
    assert_ok(store_tell_once(store, "name wipe", "is shadowed", &new, &err));
    assert_true(new);
    reopen();
    assert_ok(store_tell_once(store, "name wipe", "is shadowed", &new, &err));
    assert_false(new);
    assert_ok(store_tell_once(store, "name wipe", "is free", &new, &err));
    assert_true(new);
}

static void a_call_upgrades_a_file_of_the_first_form(void **state) {
    (void)state;
    make_first_form();
    reopen();
    assert_ok(add_call("wipe", NOW, &no_limits));
    assert_string_equal(ask_sql("PRAGMA user_version"), "17");
    assert_seen(read_all(), "tool off -1;");
    assert_seen(read_calls(&(struct store_calls_filter){0}), "1 wipe 1000000;");
}

/* ------------------------------------------------------------- log of calls */

#define MANY_CALLS 1000

static int (*step)(sqlite3_stmt *statement); /* SQLite's */
static unsigned steps;

static int count_step(sqlite3_stmt *statement) {
    steps++;
    return step(statement);
}

/* How many steps of statements it takes to log so many calls and to remove what is too much. */
static unsigned steps_of(size_t count, const struct store_calls_limits *limits) {
    static struct store_call calls[MANY_CALLS];
    static struct store_time times[MANY_CALLS / 10];
    for (size_t i = 0; i < count; i++) {
        calls[i] = (struct store_call){.time_ms = NOW + (int64_t)i,
                                       .tool = "t",
                                       .version = "1.0.0",
                                       .plugin = "p app",
                                       .trace = i % 2 == 0 ? "trace" : NULL,
                                       .arguments = "{}",
                                       .error = i % 100 == 7 ? "{\"type\":\"Failed\"}" : NULL,
                                       .has_memory = i % 2 == 1,
                                       .memory = i};
        times[i / 10] = (struct store_time){.bucket = (uint32_t)(i / 10), .count = 10};
    }
    const struct store_statistics usage = {.tool = "t",
                                           .version = "1.0.0",
                                           .plugin = "p app",
                                           .calls = count,
                                           .times = times,
                                           .time_count = (uint32_t)(count + 9) / 10};
    steps = 0;
    step = sqlite.step;
    sqlite.step = count_step;
    int code = store_calls_add(store, calls, count, &usage, 1, limits, &err);
    sqlite.step = step;
    assert_ok(code);
    return steps;
}

/* Calls are added by one statement, as are their times, and removed by one. */
static void many_calls_cost_no_more_statements_than_one(void **state) {
    (void)state;
    static const struct store_calls_limits few = {.bytes = 120 * MANY_CALLS};
    reopen();
    unsigned first = steps_of(1, &few); /* makes the tables */
    unsigned one = steps_of(1, &few);
    assert_true(one > 1 && one <= first);
    assert_true(steps_of(MANY_CALLS, &few) <= one + 1); /* nothing was removed before */
    assert_true(steps_of(MANY_CALLS, &few) <= one + 1);
    assert_string_equal(ask_sql("PRAGMA page_size"), "8192");
    reopen();
    assert_string_equal(ask_sql("SELECT count(*) BETWEEN 1000 AND 1100 AND min(id) > 900 AND "
                                "max(id) = 2002 FROM calls"),
                        "1");
    assert_string_equal(ask_sql("SELECT count(*) || ' ' || sum(count) FROM usage_times"),
                        "100 2020");
    assert_string_equal(ask_sql("SELECT group_concat(time_ms || coalesce(trace, '-') || "
                                "coalesce(memory, '-') || coalesce(error, '-'), ' ') FROM "
                                "(SELECT * FROM calls ORDER BY id DESC LIMIT 2 OFFSET 991)"),
                        "1000008trace-- 1000007-7{\"type\":\"Failed\"}");
}

static void calls_are_found_by_what_is_asked(void **state) {
    (void)state;
    reopen();
    for (int i = 1; i <= 4; i++) {
        assert_ok(add_call(i % 2 == 0 ? "even" : "odd", NOW + i, &no_limits));
    }
    assert_seen(read_calls(&(struct store_calls_filter){.tool = "even"}),
                "2 even 1000002;4 even 1000004;");
    assert_seen(read_calls(&(struct store_calls_filter){.tool = "even", .version = "2.0.0"}), "");
    assert_seen(read_calls(&(struct store_calls_filter){.id = "2"}), "2 even 1000002;");
    assert_seen(read_calls(&(struct store_calls_filter){.id = "5"}), "");
    /* Where there is no call 1 any more, its digit is the beginning of others. */
    run_sql("UPDATE calls SET id = 10 + id WHERE id < 3");
    assert_seen(read_calls(&(struct store_calls_filter){.id = "1"}),
                "11 odd 1000001;12 even 1000002;");
    run_sql("UPDATE calls SET id = id - 10 WHERE id > 10");
    assert_seen(read_calls(&(struct store_calls_filter){.id = "1"}), "1 odd 1000001;");
    assert_seen(read_calls(&(struct store_calls_filter){.outcomes = "Timeout"}), "");
    assert_seen(read_calls(&(struct store_calls_filter){.since_ms = NOW + 3}),
                "3 odd 1000003;4 even 1000004;");
    assert_seen(read_calls(&(struct store_calls_filter){.limit = 1}), "4 even 1000004;");
    assert_seen(read_calls(&(struct store_calls_filter){.after_id = 3}), "4 even 1000004;");
    assert_seen(read_calls(&(struct store_calls_filter){.errors = true}), "");
}

#define LONG_LOG 60000

static uint64_t work;

static int count_work(sqlite3_stmt *statement) {
    int code = step(statement);
    work += (uint64_t)sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_VM_STEP, 1);
    return code;
}

static void count_seen(void *user, const struct store_call *call) {
    size_t *count = user;
    assert_non_null(call->tool);
    ++*count;
}

/* How many calls are found, and by how much work of SQLite. */
static size_t find_calls(const struct store_calls_filter *filter) {
    size_t count = 0;
    work = 0;
    step = sqlite.step;
    sqlite.step = count_work;
    int code = store_calls_read(store, filter, count_seen, &count, &err);
    sqlite.step = step;
    assert_ok(code);
    return count;
}

/* Calls of long ago are not looked at for what is new, nor any for a tool that was never called. A
 * clock that was set hides no call. */
static void a_log_is_read_as_far_as_is_asked(void **state) {
    static const struct store_calls_filter late = {.since_ms = NOW + LONG_LOG - 9};
    static const struct store_calls_filter half = {.since_ms = NOW + LONG_LOG / 2};
    (void)state;
    reopen();
    assert_ok(add_call("t", NOW, &no_limits));
    run_sql("INSERT INTO calls (time_ms, tool, version, plugin, duration_ns, arguments, bytes_in, "
            "bytes_out, written) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
            "WHERE i < 60000) SELECT 1000000 + i, 't', '1.0.0', 'p app', 1, '{}', 2, 0, 100 * i "
            "FROM n");
    assert_int_equal(find_calls(&(struct store_calls_filter){.tool = "t"}), LONG_LOG + 1);
    const uint64_t all = work;
    assert_int_equal(find_calls(&(struct store_calls_filter){.tool = "none"}), 0);
    assert_true(work < all / 1000);
    assert_int_equal(find_calls(&(struct store_calls_filter){.tool = "t", .version = "2.0.0"}), 0);
    assert_true(work < all / 1000);
    assert_int_equal(find_calls(&late), 10);
    assert_true(work < all / 2);
    assert_int_equal(find_calls(&(struct store_calls_filter){.since_ms = NOW + LONG_LOG + 1}), 0);
    assert_true(work < all / 2);
    run_sql("UPDATE calls SET time_ms = time_ms - 1000000 WHERE id > 50000");
    assert_int_equal(find_calls(&half), 50000 - LONG_LOG / 2);
    run_sql("UPDATE calls SET time_ms = time_ms + 1000000 WHERE id < 10000");
    assert_int_equal(find_calls(&half), 50000 - LONG_LOG / 2 + 9999);
}

/* Processes write their lines when they can; those of one time are in the order of their ids. */
static void calls_are_in_the_order_of_their_times(void **state) {
    (void)state;
    reopen();
    assert_ok(add_call("c", NOW + 3, &no_limits));
    assert_ok(add_call("a", NOW + 1, &no_limits));
    assert_ok(add_call("d", NOW + 3, &no_limits));
    assert_ok(add_call("b", NOW + 2, &no_limits));
    assert_seen(read_calls(&(struct store_calls_filter){.tool = NULL}),
                "2 a 1000001;4 b 1000002;1 c 1000003;3 d 1000003;");
    assert_seen(read_calls(&(struct store_calls_filter){.limit = 2}), "1 c 1000003;3 d 1000003;");
    /* Who asks for what is new gets what was logged since. */
    assert_seen(read_calls(&(struct store_calls_filter){.after_id = 2}),
                "3 d 1000003;4 b 1000002;");
    /* So does who asks for the page before another one. */
    assert_seen(read_calls(&(struct store_calls_filter){.before_id = 4, .limit = 2}),
                "2 a 1000001;3 d 1000003;");
    assert_seen(read_calls(&(struct store_calls_filter){.before_id = 2, .limit = 2}),
                "1 c 1000003;");
}

static size_t count_calls(void) {
    size_t count = 0;
    buf_clear(&seen);
    assert_ok(read_calls(&(struct store_calls_filter){0}));
    for (size_t i = 0; i < seen.length; i++) {
        count += seen.data[i] == ';';
    }
    buf_clear(&seen);
    return count;
}

static int add_call_at(int64_t time_ms, int64_t now_ms) {
    return add_call("t", time_ms, &(struct store_calls_limits){.now_ms = now_ms, .age_ms = 100});
}

/* Ids go on where old calls went. */
static void old_calls_go_and_their_counts_stay(void **state) {
    (void)state;
    reopen();
    for (int i = 1; i <= 3; i++) {
        assert_ok(add_call("t", NOW + i, &no_limits));
    }
    for (int i = 1; i <= STORE_CALLS_CLOCK; i++) {
        assert_ok(add_call_at(NOW + 102 + i, NOW + 102 + i));
    }
    assert_int_equal(count_calls(), 3 + STORE_CALLS_CLOCK); /* too few had the time from which
                                                             * ages count */
    assert_ok(add_call_at(NOW + 300, NOW + 300));
    assert_seen(read_calls(&(struct store_calls_filter){.limit = 2}), "19 t 1000118;20 t 1000300;");
    assert_int_equal(count_calls(), 18); /* two were older than the first of the sixteen by more */
    assert_seen(store_statistics_read(store, see_usage, NULL, &err), "t 20 1;");
}

/* A clock that is wrong for a few calls, by any time, removes nothing; nor where there are few. */
static void a_wrong_clock_removes_no_calls(void **state) {
    (void)state;
    static const int64_t far = (int64_t)1 << 50;
    reopen();
    for (int i = 1; i <= 3; i++) {
        assert_ok(add_call_at(NOW + i, NOW + i));
    }
    assert_ok(add_call_at(far, far));
    assert_int_equal(count_calls(), 4);
    assert_ok(add_call_at(NOW + 500, NOW + 500));
    assert_int_equal(count_calls(), 5);
    for (int i = 1; i <= STORE_CALLS_CLOCK; i++) {
        assert_ok(add_call_at(NOW + 500 + i, NOW + 500 + i));
    }
    assert_int_equal(count_calls(), 18); /* those of the beginning are old now */
    for (int i = 1; i < STORE_CALLS_CLOCK; i++) {
        assert_ok(add_call_at(far + i, far + i));
    }
    assert_int_equal(count_calls(), 18 + STORE_CALLS_CLOCK - 1);
    assert_ok(add_call_at(NOW + 550, NOW + 550));
    assert_int_equal(count_calls(), 18 + STORE_CALLS_CLOCK);
}

static void the_oldest_calls_of_a_large_log_go(void **state) {
    (void)state;
    const struct store_calls_limits limits = {.bytes = 1000};
    reopen();
    for (int i = 1; i <= 50; i++) {
        assert_ok(add_call("t", NOW + i, &limits));
    }
    /* A line is its texts and about a hundred bytes. */
    const long count = strtol(ask_sql("SELECT count(*) FROM calls"), NULL, 10);
    assert_in_range(count, 8, 11);
    assert_string_equal(ask_sql("SELECT max(id) FROM calls"), "50");
    assert_string_equal(ask_sql("SELECT max(id) - min(id) + 1 = count(*) FROM calls"), "1");
}

static void a_newer_file_is_left_alone(void **state) {
    (void)state;
    open_store();
    assert_ok(grant("wipe", 0));
    /* Upgraded by another process under this one's feet. */
    run_sql("PRAGMA user_version = 18");
    assert_error(grant("other", 0), TOOLRACK_E_IO, "was written by a newer toolrack (form 18");
    assert_error(read_grants(), TOOLRACK_E_IO, "was written by a newer toolrack");
    open_store();
    assert_error(err.code, TOOLRACK_E_IO, "was written by a newer toolrack");
    assert_error(grant("other", 0), TOOLRACK_E_IO, "was written by a newer toolrack");
    assert_error(read_grants(), TOOLRACK_E_IO, "was written by a newer toolrack");
    assert_string_equal(ask_sql("SELECT group_concat(selector) FROM grants"), "wipe");
}

static void a_damaged_file_is_left_alone(void **state) {
    (void)state;
    static const char text[] = "this is not a database, and it is somebody's file all the same";
    char after[sizeof text + 1] = "";
    write_file("toolrack.db", text);
    open_store();
    assert_error(err.code, TOOLRACK_E_IO,
                 "it is left as it is, move it away to start with an empty one");
    assert_error(grant("wipe", 0), TOOLRACK_E_IO, db_path);
    assert_error(read_grants(), TOOLRACK_E_IO, db_path);
    FILE *file = fopen(db_path, "r");
    assert_non_null(file);
    assert_int_equal(fread(after, 1, sizeof after, file), sizeof text - 1);
    (void)fclose(file);
    assert_memory_equal(after, text, sizeof text - 1);
}

/* A page in the middle is overwritten: all or nothing is visited. */
static void a_damaged_page_is_an_error(void **state) {
    (void)state;
    char selector[32];
    open_store();
    for (int i = 0; i < 300; i++) {
        (void)snprintf(selector, sizeof selector, "tool_with_a_long_name_%d", i);
        assert_ok(grant(selector, 0));
    }
    store_close(store);
    store = NULL;
    const char *at = ask_sql("SELECT (rootpage - 1) * (SELECT page_size FROM pragma_page_size) "
                             "FROM sqlite_schema WHERE name = 'grants'");
    long offset = strtol(at, NULL, 10);
    int fd = open(db_path, O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(fd, "\377\377\377\377\377\377\377\377", 8, offset), 8);
    assert_int_equal(close(fd), 0);
    open_store();
    assert_error(read_grants(), TOOLRACK_E_IO, "malformed");
    assert_int_equal(seen.length, 0);
    assert_error(grant("other", 0), TOOLRACK_E_IO, "move it away to start with an empty one");
}

static void two_stores_see_each_others_decisions(void **state) {
    (void)state;
    open_store();
    struct store *other = store_open(dir, &err);
    assert_non_null(other);
    assert_ok(grant("wipe", 0));
    assert_seen(store_read_grants(other, NOW, see_grant, NULL, &err), "wipe 0 ann 1000000;");
    assert_ok(store_withdraw(other, "wipe", false, NOW, NULL, &err));
    assert_seen(read_grants(), "");
    assert_ok(grant("a", 0));
    assert_ok(disable("b"));
    assert_seen(store_read_grants(other, NOW, see_grant, NULL, &err), "a 0 ann 1000000;");
    store_close(other);
    assert_ok(grant("c", 0));
    assert_seen(read_grants(), "a 0 ann 1000000;c 0 ann 1000000;");
}

static void revoke_seen(void *user, const struct store_grant *grant) {
    (void)user;
    assert_ok(store_withdraw(store, grant->selector, false, NOW, NULL, &err));
}

static void a_visitor_may_call_the_store(void **state) {
    (void)state;
    open_store();
    assert_ok(grant("a", 0));
    assert_ok(grant("b", 0));
    assert_ok(store_read_grants(store, NOW, revoke_seen, NULL, &err));
    assert_seen(read_grants(), "");
}

/* ----------------------------------------------------------- other threads */

#define THREADS           4
#define GRANTS_PER_THREAD 20

/* Grant, log and read; how often it failed. */
static void *use_from_thread(void *argument) {
    const int *number = argument;
    uintptr_t failures = 0;
    char selector[32];
    for (int i = 0; i < GRANTS_PER_THREAD; i++) {
        int count = 0;
        (void)snprintf(selector, sizeof selector, "tool%d_%d", *number, i);
        const struct store_grant new = {.selector = selector, .who = "ann", .granted_s = NOW};
        const struct store_decision row = {.tool = selector, .decision = "granted"};
        failures += keep_grant(store, &new, NULL) < 0;
        failures += store_decisions_add(store, &row, 1, NULL) < 0;
        failures += store_read_grants(store, NOW, count_grant, &count, NULL) < 0 || count <= i;
    }
    return (void *)failures;
}

static void threads_use_one_store(void **state) {
    (void)state;
    pthread_t threads[THREADS];
    int numbers[THREADS];
    open_store();
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, use_from_thread, &numbers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        void *failures;
        assert_int_equal(pthread_join(threads[i], &failures), 0);
        assert_null(failures);
    }
    assert_string_equal(ask_sql("SELECT (SELECT count(*) FROM grants) || ' ' || "
                                "(SELECT count(*) FROM decisions)"),
                        "80 80");
}

/* --------------------------------------------------------- other processes */

/* In a child: change a file in which nothing is kept in a log, and end in the middle of it. */
static int end_in_the_middle(void) {
    sqlite3 *db = NULL;
    return sqlite3_open(db_path, &db) == SQLITE_OK &&
                           sqlite3_exec(db,
                                        "PRAGMA journal_mode = DELETE; PRAGMA cache_size = 1;"
                                        "PRAGMA cache_spill = 1; BEGIN;"
                                        "CREATE TABLE half (t); WITH RECURSIVE n(i) AS (SELECT 1 "
                                        "UNION ALL SELECT i + 1 FROM n LIMIT 4000) INSERT INTO "
                                        "half SELECT randomblob(100) FROM n;",
                                        NULL, NULL, NULL) == SQLITE_OK
                   ? 0
                   : 1;
}

static void a_change_half_done_is_undone_by_who_reads(void **state) {
    (void)state;
    char journal[112];
    struct stat st;
    open_store();
    assert_ok(disable("one"));
    store_close(store);
    store = NULL;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        _exit(end_in_the_middle());
    }
    assert_int_equal(wait_for(child), 0);
    (void)snprintf(journal, sizeof journal, "%s-journal", db_path);
    assert_int_equal(stat(journal, &st), 0);
    assert_true(st.st_size > 0);
    reopen();
    assert_seen(store_read_settings(store, see_setting, NULL, &err), "one off -1;");
}

#define WRITERS 8

/* In a child: wait for the start, which is the end of the pipe, and grant. Each is the first to
 * write, or thinks so. */
static int grant_at_once(int number, int start) {
    char selector[16];
    char byte;
    (void)snprintf(selector, sizeof selector, "tool%d", number);
    struct store *own = store_open(dir, NULL);
    if (own == NULL || read(start, &byte, 1) != 0) {
        return 1;
    }
    const struct store_grant new = {.selector = selector, .who = "ann", .granted_s = NOW};
    int code = keep_grant(own, &new, &err);
    store_close(own);
    if (code < 0) {
        (void)fprintf(stderr, "%s: %s\n", selector, err.message);
    }
    return code == 0 ? 0 : 2;
}

static void write_at_once(void) {
    int pipe_fds[2];
    pid_t children[WRITERS];
    assert_int_equal(pipe(pipe_fds), 0);
    for (int i = 0; i < WRITERS; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0) {
            (void)close(pipe_fds[1]);
            _exit(grant_at_once(i, pipe_fds[0]));
        }
    }
    (void)close(pipe_fds[0]);
    (void)close(pipe_fds[1]);
    for (int i = 0; i < WRITERS; i++) {
        assert_int_equal(wait_for(children[i]), 0);
    }
    assert_string_equal(ask_sql("SELECT count(*) FROM grants"), "8");
    assert_string_equal(ask_sql("PRAGMA user_version"), "17");
    assert_string_equal(ask_sql("PRAGMA integrity_check"), "ok");
}

static void processes_make_the_file_at_once(void **state) {
    (void)state;
    for (int round = 0; round < 10; round++) {
        char wal[128];
        write_at_once();
        assert_int_equal(unlink(db_path), 0);
        (void)snprintf(wal, sizeof wal, "%s-wal", db_path);
        assert_int_equal(access(wal, F_OK), -1);
    }
}

static void processes_upgrade_the_file_at_once(void **state) {
    (void)state;
    for (int round = 0; round < 10; round++) {
        make_first_form();
        write_at_once();
        assert_int_equal(unlink(db_path), 0);
    }
}

/* Every number is acknowledged on `out` after its decisions, and each tenth after a grant, are
 * kept. Ends by SIGKILL only. */
static void write_until_killed(int out) {
    struct store *own = store_open(dir, NULL);
    char selector[32];
    for (int64_t i = 1; own != NULL; i++) {
        const struct store_decision rows[] = {{.time_ms = i, .tool = "a", .decision = "allowed"},
                                              {.time_ms = i, .tool = "b", .decision = "refused"}};
        (void)snprintf(selector, sizeof selector, "tool%lld", (long long)i);
        const struct store_grant new = {.selector = selector, .who = "ann", .granted_s = NOW};
        if (store_decisions_add(own, rows, 2, NULL) < 0 ||
            (i % 10 == 0 && keep_grant(own, &new, NULL) < 0) ||
            write(out, &i, sizeof i) != (ssize_t)sizeof i) {
            break;
        }
    }
    _exit(1);
}

/* The last number that a writer acknowledged before it was killed, after at least `least`. */
static int64_t kill_writer_after(int64_t least) {
    int pipe_fds[2];
    int64_t number = 0;
    int64_t last = 0;
    assert_int_equal(pipe(pipe_fds), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)close(pipe_fds[0]);
        write_until_killed(pipe_fds[1]);
    }
    (void)close(pipe_fds[1]);
    while (patience_read(pipe_fds[0], &number, sizeof number) == (ssize_t)sizeof number) {
        last = number;
        if (last == least) {
            (void)kill(child, SIGKILL);
        }
    }
    (void)close(pipe_fds[0]);
    assert_int_equal(wait_for(child), 128 + SIGKILL);
    return last;
}

static void what_was_acknowledged_survives_a_kill(void **state) {
    (void)state;
    for (int round = 0; round < 20; round++) {
        char question[256];
        int64_t last = kill_writer_after(3 + 7 * round);
        assert_true(last >= 3 + 7 * round);
        assert_string_equal(ask_sql("PRAGMA integrity_check"), "ok");
        /* All up to the last, each batch whole; perhaps one more than was acknowledged. */
        (void)snprintf(question, sizeof question,
                       "SELECT count(*) = 2 * max(time_ms) AND max(time_ms) BETWEEN %lld AND %lld "
                       "FROM decisions",
                       (long long)last, (long long)last + 1);
        assert_string_equal(ask_sql(question), "1");
        (void)snprintf(question, sizeof question,
                       "SELECT count(*) BETWEEN %lld AND %lld FROM grants", (long long)last / 10,
                       (long long)(last + 1) / 10);
        assert_string_equal(ask_sql(question), "1");
        run_sql("DELETE FROM decisions; DELETE FROM grants");
    }
}

static int read_only_child(void) {
    if (geteuid() == 0 && (setgroups(0, NULL) < 0 || setgid(65534) < 0 || setuid(65534) < 0)) {
        return CHILD_SKIPS;
    }
    store = store_open(dir, &err);
    if (store == NULL || err.code != 0) {
        return 1;
    }
    uint64_t mark;
    if (grant("other", 0) != TOOLRACK_E_IO || strstr(err.message, dir) == NULL) {
        return 2;
    }
    if (store_loading_begin(store, "/p/a.so", NOW, &mark, &err) != TOOLRACK_E_IO ||
        strstr(err.message, dir) == NULL) {
        return 3;
    }
    if (read_all() != 0) {
        return 4;
    }
    /* It can be read still, after it could not be written to. */
    return strcmp(seen.data, "tool off -1;wipe 0 ann 1000000;") == 0 ? 0 : 5;
}

static void a_folder_that_is_read_only_is_read(void **state) {
    (void)state;
    open_store();
    assert_ok(disable("tool"));
    assert_ok(grant("wipe", 0));
    store_close(store);
    store = NULL;
    assert_int_equal(chmod(db_path, 0444), 0);
    assert_int_equal(chmod(dir, 0555), 0);
    pid_t child = fork();
    if (child == 0) {
        _exit(read_only_child());
    }
    int status = wait_for(child);
    assert_int_equal(chmod(dir, 0700), 0);
    if (status == CHILD_SKIPS) {
        print_message("cannot become a user who may not write to the folder\n");
        skip();
    }
    assert_int_equal(status, 0);
}

/* The same with a file of the first form, which cannot be upgraded there. */
static int read_first_form_child(void) {
    if (geteuid() == 0 && (setgroups(0, NULL) < 0 || setgid(65534) < 0 || setuid(65534) < 0)) {
        return CHILD_SKIPS;
    }
    store = store_open(dir, &err);
    if (store == NULL || err.code != 0 || read_all() != 0) {
        return 1;
    }
    return strcmp(seen.data, "tool off -1;") == 0 ? 0 : 2;
}

static void a_first_form_in_a_read_only_folder_is_read(void **state) {
    (void)state;
    make_first_form();
    assert_int_equal(chmod(db_path, 0444), 0);
    assert_int_equal(chmod(dir, 0555), 0);
    pid_t child = fork();
    if (child == 0) {
        _exit(read_first_form_child());
    }
    int status = wait_for(child);
    assert_int_equal(chmod(dir, 0700), 0);
    if (status == CHILD_SKIPS) {
        print_message("cannot become a user who may not write to the folder\n");
        skip();
    }
    assert_int_equal(status, 0);
}

/* --------------------------------------------------------------- full disk */

/* Write until it fails; how many grants were kept. */
static int grant_until_full(char *selector, size_t size) {
    char who[STORE_TEXT_SIZE_MAX + 1];
    memset(who, 'w', sizeof who - 1);
    who[sizeof who - 1] = '\0';
    for (int kept = 0; kept < 1000; kept++) {
        (void)snprintf(selector, size, "tool%03d", kept);
        const struct store_grant large = {.selector = selector, .who = who, .granted_s = NOW};
        if (keep_grant(store, &large, &err) < 0) {
            return kept;
        }
    }
    return -1;
}

static int count_grants(void) {
    int count = 0;
    return store_read_grants(store, NOW, count_grant, &count, NULL) == 0 ? count : -1;
}

/* What was kept is there and can be removed; a number of what is wrong. */
static int fill_disk(const char *message) {
    char selector[32];
    store = store_open(dir, &err);
    int kept = grant_until_full(selector, sizeof selector);
    if (kept < 5 || err.code != TOOLRACK_E_IO || strstr(err.message, message) == NULL) {
        (void)fprintf(stderr, "kept %d: %s\n", kept, err.message);
        return 1;
    }
    if (count_grants() != kept) {
        return 2;
    }
    store_close(store);
    store = store_open(dir, &err);
    if (count_grants() != kept || strcmp(ask_sql("PRAGMA integrity_check"), "ok") != 0) {
        return 3;
    }
    return 0;
}

static int full_disk_child(void) {
    return mount_small_disk(dir, "size=768k,mode=0700")
                   ? fill_disk("the disk is full; make room and do it again")
                   : CHILD_SKIPS;
}

static void a_full_disk_is_an_error_and_loses_nothing(void **state) {
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        _exit(full_disk_child());
    }
    int status = wait_for(child);
    if (status == CHILD_SKIPS) {
        print_message("cannot mount a small disk in a namespace of its own\n");
        skip();
    }
    assert_int_equal(status, 0);
}

/* As with a quota: no file may grow beyond 800 KiB. */
static int full_file_child(void) {
    const struct rlimit limit = {.rlim_cur = 800u * 1024u, .rlim_max = 800u * 1024u};
    (void)signal(SIGXFSZ, SIG_IGN);
    return setrlimit(RLIMIT_FSIZE, &limit) == 0 ? fill_disk("a file may not grow so far")
                                                : CHILD_SKIPS;
}

static void a_write_that_fails_is_an_error_and_loses_nothing(void **state) {
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        _exit(full_file_child());
    }
    assert_int_equal(wait_for(child), 0);
}

/* Without room for the files that SQLite keeps beside it, the file is read as one that does not
 * change, until it has changed. A number of what is wrong. */
static int no_room_to_read_child(void) {
    struct rlimit limit;
    (void)signal(SIGXFSZ, SIG_IGN);
    if (getrlimit(RLIMIT_FSIZE, &limit) < 0) {
        return CHILD_SKIPS;
    }
    rlim_t before = limit.rlim_cur;
    limit.rlim_cur = 0;
    if (setrlimit(RLIMIT_FSIZE, &limit) < 0) {
        return CHILD_SKIPS;
    }
    store = store_open(dir, &err);
    if (count_grants() != 1 || grant("b", 0) == 0) {
        return 1;
    }
    limit.rlim_cur = before;
    (void)setrlimit(RLIMIT_FSIZE, &limit);
    struct store *reader = store;
    store = store_open(dir, &err);
    int code = grant("b", 0);
    store_close(store);
    store = reader;
    return code == 0 && count_grants() == 2 && grant("c", 0) == 0 && count_grants() == 3 ? 0 : 2;
}

static void what_is_stored_is_in_effect_on_a_full_disk(void **state) {
    (void)state;
    open_store();
    assert_ok(grant("a", 0));
    store_close(store);
    store = NULL;
    pid_t child = fork();
    if (child == 0) {
        _exit(no_room_to_read_child());
    }
    assert_int_equal(wait_for(child), 0);
}

static void a_path_that_is_too_long_is_told(void **state) {
    (void)state;
    char path[1024];
    char folder[180];
    memset(folder, 'd', sizeof folder - 1);
    folder[sizeof folder - 1] = '\0';
    (void)snprintf(path, sizeof path, "%s/%s/%s/%s", dir, folder, folder, folder);
    store = store_open(path, &err);
    assert_error(grant("a", 0), TOOLRACK_E_IO,
                 "the path is longer than SQLite takes; choose a state folder with a shorter one");
}

/* ----------------------------------------------------------- out of memory */

/* SQLite takes its memory from here, so that it fails as the host's does. */
static void *take_memory(int size) {
    return malloc((size_t)size);
}

static void *grow_memory(void *memory, int size) {
    return realloc(memory, (size_t)size);
}

static int size_of_memory(void *memory) {
    return memory != NULL ? (int)malloc_usable_size(memory) : 0;
}

static int round_size(int size) {
    return (size + 7) & ~7;
}

static int begin_memory(void *user) {
    (void)user;
    return SQLITE_OK;
}

static void end_memory(void *user) {
    (void)user;
}

static int use_our_memory(void **state) {
    (void)state;
    static const sqlite3_mem_methods methods = {.xMalloc = take_memory,
                                                .xFree = free,
                                                .xRealloc = grow_memory,
                                                .xSize = size_of_memory,
                                                .xRoundup = round_size,
                                                .xInit = begin_memory,
                                                .xShutdown = end_memory};
    return sqlite3_config(SQLITE_CONFIG_MALLOC, &methods) == SQLITE_OK ? 0 : -1;
}

/* Open, grant, read, close. Where memory ends, the first code that was not 0. */
static int grant_and_read(int *ret_seen) {
    err = (struct toolrack_error){0};
    *ret_seen = 0;
    store = store_open(dir, &err);
    int code = store == NULL ? error_oom(&err) : err.code;
    if (code == 0) {
        code = grant("wipe", 0);
    }
    if (code == 0) {
        code = store_read_grants(store, NOW, count_grant, ret_seen, &err);
    }
    store_close(store);
    store = NULL;
    return code;
}

/* A file of the first form, without the time that making one takes. */
struct copy {
    char bytes[16384];
    size_t size;
};

static void keep_first_form(struct copy *copy) {
    make_first_form();
    FILE *file = fopen(db_path, "r");
    assert_non_null(file);
    copy->size = fread(copy->bytes, 1, sizeof copy->bytes, file);
    assert_true(feof(file));
    (void)fclose(file);
}

static void put_first_form(const struct copy *copy) {
    FILE *file = fopen(db_path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(copy->bytes, 1, copy->size, file), copy->size);
    assert_int_equal(fclose(file), 0);
}

/* Most are SQLite's, for reading the text of the tables: of those one in a few will do. */
#define EACH_OF_FIRST   150u
#define STRIDE          test_rounds(37, 97)
/* Above this the loop never ends, which is a fault of its own. */
#define ALLOCATIONS_MAX 100000u

static void every_allocation_may_fail(void **state) {
    (void)state;
    struct copy copy;
    keep_first_form(&copy);
    unsigned n = 1;
    for (bool hit = true; hit; n += n < EACH_OF_FIRST ? 1 : STRIDE) {
        int visited = 0;
        assert_true(n < ALLOCATIONS_MAX);
        put_first_form(&copy);
        failing_malloc_set(n);
        int code = grant_and_read(&visited);
        hit = failing_malloc_hit();
        failing_malloc_set(0);
        if (code != 0 && (code != TOOLRACK_E_NO_MEMORY || !hit)) {
            fail_msg("allocation %u: %s: %s", n, toolrack_code_name(code), err.message);
        }
        assert_int_equal(visited, code == 0 ? 1 : 0);
        /* Old or new, and nothing between. */
        assert_string_equal(ask_sql("SELECT group_concat(integrity_check) || "
                                    "((SELECT user_version FROM pragma_user_version) = 1 + 16 * "
                                    "(SELECT count(*) FROM sqlite_schema WHERE name = 'grants')) "
                                    "FROM pragma_integrity_check"),
                            "ok1");
        reopen();
        assert_ok(read_all());
        assert_int_equal(strncmp(seen.data, "tool off -1;", 12), 0);
        buf_finish(&seen);
        store_close(store);
        store = NULL;
    }
    assert_true(n > EACH_OF_FIRST);
}

static void count_call(void *user, const struct store_call *call) {
    unsigned *count = user;
    (void)call;
    (*count)++;
}

static unsigned write_batches(void) {
    unsigned written = 1;
    bool hit = true;
    assert_ok(add_call("add", NOW, &no_limits)); /* makes the tables */
    for (unsigned n = 1; hit; n++) {
        assert_true(n < ALLOCATIONS_MAX);
        failing_malloc_set(n);
        int code = add_call("add", NOW, &no_limits);
        hit = failing_malloc_hit();
        failing_malloc_set(0);
        if (code != 0 && (code != TOOLRACK_E_NO_MEMORY || !hit)) {
            fail_msg("allocation %u: %s: %s", n, toolrack_code_name(code), err.message);
        }
        written += code == 0;
    }
    return written;
}

/* Of a batch of calls all is written or nothing. */
static void every_allocation_of_a_batch_may_fail(void **state) {
    (void)state;
    reopen();
    unsigned written = write_batches();
    assert_int_equal(written, atoi(ask_sql("SELECT count(*) FROM calls")));
    assert_int_equal(written, atoi(ask_sql("SELECT sum(count) FROM usage_times")));
    store_close(store);
    store = store_open(NULL, &err); /* in memory */
    assert_non_null(store);
    written = write_batches();
    unsigned read = 0;
    assert_ok(store_calls_read(store, &(struct store_calls_filter){0}, count_call, &read, &err));
    assert_int_equal(written, read);
}

/* ------------------------------------------------------------------ selections */

static void see_selection(void *user, const struct store_selection *selection) {
    int64_t *last = user;
    *last = selection->change;
    buf_printf(&seen, "%s %s '%s' %s %d-%d %s;", selection->id, selection->principal,
               selection->text, selection->tool[0] != '\0' ? selection->tool : "-",
               (int)selection->worked, (int)selection->failed, text_or_dash(selection->right));
}

static int64_t last_change;
static uint64_t selection_count;

static int read_selections(int64_t after) {
    return store_selections_read(store, after, see_selection, &last_change, &selection_count, &err);
}

static int put_selection(const char *id, const char *principal, const char *tool) {
    return store_selection_put(store,
                               &(struct store_selection){.id = id,
                                                         .principal = principal,
                                                         .text = "add 1 and 2",
                                                         .tool = tool,
                                                         .plugin = "p app",
                                                         .time_ms = NOW},
                               &err);
}

static void a_selection_has_the_calls_of_its_tool(void **state) {
    (void)state;
    open_store();
    assert_seen(read_selections(0), "");
    assert_int_equal(selection_count, 0);
    assert_ok(put_selection("a1", "ann", "add"));
    assert_ok(put_selection("b1", "bob", ""));
    assert_ok(store_selection_called(store, NULL, "a1", true, &err));
    assert_ok(store_selection_called(store, NULL, "a1", true, &err));
    assert_ok(store_selection_called(store, NULL, "a1", false, &err));
    assert_seen(read_selections(0), "b1 bob 'add 1 and 2' - 0-0 -;a1 ann 'add 1 and 2' add 2-1 -;");
    /* Chosen again it keeps them; another tool has none. */
    assert_ok(put_selection("a1", "ann", "add"));
    assert_seen(read_selections(0), "b1 bob 'add 1 and 2' - 0-0 -;a1 ann 'add 1 and 2' add 2-1 -;");
    assert_ok(put_selection("a1", "ann", "sum"));
    assert_seen(read_selections(0), "b1 bob 'add 1 and 2' - 0-0 -;a1 ann 'add 1 and 2' sum 0-0 -;");
    reopen();
    assert_seen(read_selections(0), "b1 bob 'add 1 and 2' - 0-0 -;a1 ann 'add 1 and 2' sum 0-0 -;");
    assert_error(store_selection_called(store, NULL, "none", true, &err), TOOLRACK_E_NOT_FOUND,
                 "there is no choice none");
}

static void a_correction_outlives_later_selections(void **state) {
    (void)state;
    open_store();
    assert_ok(put_selection("a1", "ann", "add"));
    assert_ok(store_selection_correct(store, NULL, "a1", "sum", "p app", NOW, &err));
    assert_ok(put_selection("a1", "ann", "add"));
    assert_ok(store_selection_called(store, NULL, "a1", true, &err));
    assert_seen(read_selections(0), "a1 ann 'add 1 and 2' add 1-0 sum;");
    /* It is of whom it is. */
    assert_error(store_selection_correct(store, "bob", "a1", "", "", NOW, &err),
                 TOOLRACK_E_NOT_FOUND, "there is no choice a1");
    assert_ok(store_selection_correct(store, "ann", "a1", "", "", NOW, &err));
    assert_seen(read_selections(0), "a1 ann 'add 1 and 2' add 1-0 ;");
    /* The one that was wrong stays, until another is chosen. */
    assert_ok(put_selection("a1", "ann", ""));
    assert_seen(read_selections(0), "a1 ann 'add 1 and 2' add 1-0 ;");
    assert_ok(put_selection("a1", "ann", "sum"));
    assert_seen(read_selections(0), "a1 ann 'add 1 and 2' sum 0-0 ;");
    assert_error(store_selection_correct(store, NULL, "none", "sum", "p app", NOW, &err),
                 TOOLRACK_E_NOT_FOUND, "there is no choice none");
}

static void who_keeps_selections_reads_what_changed(void **state) {
    (void)state;
    open_store();
    assert_ok(put_selection("a1", "ann", "add"));
    assert_ok(put_selection("a2", "ann", "add"));
    assert_ok(put_selection("b1", "bob", "add"));
    assert_seen(read_selections(0), "a1 ann 'add 1 and 2' add 0-0 -;a2 ann 'add 1 and 2' add 0-0 -;"
                                    "b1 bob 'add 1 and 2' add 0-0 -;");
    int64_t known = last_change;
    assert_seen(read_selections(known), "");
    assert_ok(store_selection_called(store, NULL, "a1", false, &err));
    assert_seen(read_selections(known), "a1 ann 'add 1 and 2' add 0-1 -;");
    assert_int_equal(selection_count, 3);
    /* What is forgotten shows in the number, also where as many come. */
    uint64_t removed = 0;
    known = last_change;
    assert_ok(store_selections_forget(store, "ann", &removed, &err));
    assert_int_equal(removed, 2);
    assert_seen(read_selections(known), "");
    assert_int_equal(selection_count, 1);
    assert_ok(store_selections_forget(store, NULL, &removed, &err));
    assert_int_equal(removed, 1);
    assert_ok(put_selection("a3", "ann", "add"));
    assert_seen(read_selections(known), "a3 ann 'add 1 and 2' add 0-0 -;");
}

static void the_oldest_selections_of_a_principal_go_first(void **state) {
    (void)state;
    char id[STORE_SELECTION_ID_SIZE];
    open_store();
    assert_ok(put_selection("said", "ann", "add"));
    assert_ok(store_selection_correct(store, NULL, "said", "", "", NOW, &err));
    assert_ok(put_selection("first", "ann", "add"));
    assert_ok(put_selection("worked", "ann", "add"));
    assert_ok(store_selection_called(store, NULL, "worked", true, &err));
    assert_ok(put_selection("bobs", "bob", "add"));
    run_sql("INSERT INTO selections (id, principal, text, tool, plugin, time_ms, worked, failed, "
            "right_plugin) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
            "WHERE i < 9997) SELECT 'n' || i, 'ann', '', '', '', 1, 0, 0, '' FROM n");
    (void)snprintf(id, sizeof id, "last");
    assert_ok(put_selection(id, "ann", "add"));
    assert_string_equal(ask_sql("SELECT count(*) FROM selections WHERE principal = 'ann'"), "9900");
    assert_string_equal(ask_sql("SELECT group_concat(id) FROM (SELECT id FROM selections WHERE id "
                                "IN ('said', 'first', 'worked', 'bobs', 'last', 'n100', 'n101') "
                                "ORDER BY change)"),
                        "said,worked,bobs,n101,last");
}

static size_t seen_left;

static void see_left(void *user, int64_t change) {
    seen_left += change > *(int64_t *)user;
    *(int64_t *)user = change;
}

/* Some who put very many texts push out their own, not what others taught long ago. */
static void who_has_most_selections_loses_some(void **state) {
    (void)state;
    int64_t last = 0;
    open_store();
    assert_ok(put_selection("a1", "ann", "add"));
    assert_ok(put_selection("a2", "ann", "add"));
    assert_ok(store_selection_correct(store, NULL, "a1", "sum", "p app", NOW, &err));
    run_sql("INSERT INTO selections (id, principal, text, tool, plugin, time_ms, worked, failed, "
            "right_tool, right_plugin) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 "
            "FROM n WHERE i < 19997) SELECT 'n' || i, 'eve' || (i % 3), '', '', '', 1, 0, 0, "
            "'add', '' FROM n");
    assert_ok(put_selection("b1", "bob", "add"));
    assert_string_equal(ask_sql("SELECT count(*) FROM selections"), "20000");
    assert_ok(put_selection("e1", "eve1", "add"));
    assert_string_equal(ask_sql("SELECT count(*) FROM selections"), "19900");
    assert_string_equal(ask_sql("SELECT group_concat(id) FROM (SELECT id FROM selections WHERE id "
                                "IN ('a1', 'a2', 'b1', 'e1', 'n1', 'n90', 'n19997') "
                                "ORDER BY id)"),
                        "a1,a2,b1,e1,n19997");
    assert_ok(store_selections_left(store, see_left, &last, &err));
    assert_int_equal(seen_left, 19900);
}

static void a_file_of_the_sixth_form_gets_selections(void **state) {
    (void)state;
    open_store();
    assert_ok(grant("wipe", 0));
    store_close(store);
    store = NULL;
    make_sixth_form();
    reopen();
    assert_seen(read_selections(0), "");
    assert_ok(put_selection("a1", "ann", "add"));
    assert_string_equal(ask_sql("PRAGMA user_version"), "17");
    assert_seen(read_selections(0), "a1 ann 'add 1 and 2' add 0-0 -;");
    assert_seen(read_grants(), "wipe 0 ann 1000000;");
}

/* ------------------------------------------------------------------ vectors */

static void see_vector(void *user, const struct store_vector *vector) {
    (void)user;
    buf_printf(&seen, "%d:", byte_of(vector->sha256));
    for (size_t i = 0; i < vector->dimension; i++) {
        buf_printf(&seen, " %g", (double)vector->values[i]);
    }
    buf_add_char(&seen, ';');
}

/* The vectors of hashes that are the byte `first` and those after it. */
static int find_vectors(int first, size_t count) {
    unsigned char hashes[8 * STORE_SHA256_SIZE];
    for (size_t i = 0; i < count; i++) {
        memset(hashes + i * STORE_SHA256_SIZE, first + (int)i, STORE_SHA256_SIZE);
    }
    return store_vectors_find(store, hashes, count, see_vector, NULL, &err);
}

static int put_vector(int byte, const float *values, size_t dimension) {
    unsigned char sha256[STORE_SHA256_SIZE];
    memset(sha256, byte, sizeof sha256);
    return store_vectors_put(
            store,
            &(struct store_vector){.sha256 = sha256, .values = values, .dimension = dimension}, 1,
            &err);
}

static void vectors_are_found_by_their_hashes(void **state) {
    (void)state;
    static const float three[] = {0.5F, -2, 0.25F};
    static const float two[] = {1, 3};
    static float long_one[STORE_VECTOR_DIMENSION_MAX + 1];
    open_store();
    assert_seen(find_vectors(1, 8), "");
    assert_ok(put_vector(1, three, 3));
    assert_ok(put_vector(2, two, 2));
    reopen();
    assert_seen(find_vectors(1, 1), "1: 0.5 -2 0.25;");
    assert_seen(find_vectors(2, 3), "2: 1 3;");
    assert_seen(find_vectors(3, 0), "");
    assert_ok(put_vector(1, two, 1));
    assert_seen(find_vectors(1, 1), "1: 1;");
    assert_error(put_vector(3, long_one, ARRAY_LENGTH(long_one)), TOOLRACK_E_LIMIT_EXCEEDED,
                 "a vector has 4097 numbers");
    assert_error(put_vector(3, two, 0), TOOLRACK_E_LIMIT_EXCEEDED, "a vector has 0 numbers");
    /* What is no vector, as in a damaged file, is none. */
    run_sql("UPDATE vectors SET vector = x'010203' WHERE vector = x'0000803f'");
    assert_seen(find_vectors(1, 2), "2: 1 3;");
}

/* The bytes count as if each vector was as long as the last one. */
static void vectors_are_bounded(void **state) {
    (void)state;
    static const float one[] = {1};
    static float long_one[STORE_VECTOR_DIMENSION_MAX] = {1};
    open_store();
    assert_ok(put_vector(1, one, 1));
    run_sql("INSERT INTO vectors (sha256, vector) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL "
            "SELECT i + 1 FROM n WHERE i < 65536) SELECT CAST(i AS BLOB), x'0000803f' FROM n");
    assert_ok(put_vector(2, one, 1));
    assert_string_equal(ask_sql("SELECT count(*) FROM vectors"), "65536");
    assert_seen(find_vectors(1, 2), "2: 1;");
    assert_ok(put_vector(3, long_one, STORE_VECTOR_DIMENSION_MAX));
    assert_string_equal(ask_sql("SELECT count(*) FROM vectors"), "16384");
    assert_seen(find_vectors(2, 1), "2: 1;");
}

static void count_vector(void *user, const struct store_vector *vector) {
    unsigned *count = user;
    *count += vector->dimension == 2 && vector->values[1] > 2;
}

/* Where memory ends, a vector is kept or not, and found or told not to be. */
static void every_allocation_of_a_vector_may_fail(void **state) {
    (void)state;
    static const float two[] = {1, 3};
    static const unsigned char hash[STORE_SHA256_SIZE];
    const struct store_vector vector = {.sha256 = hash, .values = two, .dimension = 2};
    reopen();
    assert_ok(store_vectors_put(store, &vector, 1, &err)); /* makes the tables */
    bool hit = true;
    for (unsigned n = 1; hit; n++) {
        unsigned found = 0;
        assert_true(n < ALLOCATIONS_MAX);
        failing_malloc_set(n);
        int code = store_vectors_put(store, &vector, 1, &err);
        if (code == 0) {
            code = store_vectors_find(store, hash, 1, count_vector, &found, &err);
        }
        hit = failing_malloc_hit();
        failing_malloc_set(0);
        if (code != 0 && (code != TOOLRACK_E_NO_MEMORY || !hit)) {
            fail_msg("allocation %u: %s: %s", n, toolrack_code_name(code), err.message);
        }
        assert_int_equal(found, code == 0);
    }
    assert_string_equal(ask_sql("SELECT count(*) FROM vectors"), "1");
}

static void a_file_of_the_seventh_form_gets_vectors(void **state) {
    (void)state;
    static const float one[] = {1};
    open_store();
    assert_ok(put_selection("a1", "ann", "add"));
    store_close(store);
    store = NULL;
    make_seventh_form();
    reopen();
    assert_seen(find_vectors(1, 1), "");
    assert_ok(put_vector(1, one, 1));
    assert_string_equal(ask_sql("PRAGMA user_version"), "17");
    assert_seen(find_vectors(1, 1), "1: 1;");
    /* Its id was made without a key. */
    assert_string_equal(ask_sql("SELECT principal || ' ' || text || ' ' || tool FROM selections "
                                "WHERE id <> 'a1' AND length(id) = 16"),
                        "ann add 1 and 2 add");
    assert_string_equal(ask_sql("SELECT length(key) FROM selection_key"), "32");
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void) {
    const struct CMUnitTest tests[] = {
            WITH_FOLDER(settings_survive),
            WITH_FOLDER(settings_are_of_a_name_or_of_a_plugin),
            WITH_FOLDER(grants_survive_until_they_expire),
            WITH_FOLDER(a_grant_by_name_is_that_of_all_versions),
            WITH_FOLDER(a_grant_for_a_time_ends_where_the_clock_goes_back),
            WITH_FOLDER(revoking_nothing_is_an_error),
            WITH_FOLDER(what_is_withdrawn_has_another_number),
            WITH_FOLDER(a_text_that_is_too_long_is_named),
            WITH_FOLDER(approvals_survive),
            WITH_FOLDER(the_oldest_conversations_are_forgotten),
            WITH_FOLDER(calls_wait_until_they_expire),
            WITH_FOLDER(an_answer_is_taken_once),
            WITH_FOLDER(an_answer_for_longer_is_an_approval),
            WITH_FOLDER(each_caller_has_a_share),
            WITH_FOLDER(callers_of_a_party_have_one_share),
            WITH_FOLDER(an_answer_can_be_taken_back),
            WITH_FOLDER(an_approval_that_waited_before_is_no_answer),
            WITH_FOLDER(an_answer_is_for_the_call_that_was_shown),
            WITH_FOLDER(a_call_without_conversation_is_not_allowed_for_it),
            WITH_FOLDER(what_waits_is_bounded),
            WITH_FOLDER(secrets_that_wait_are_a_hash),
            WITH_FOLDER(a_secret_that_waited_before_is_found),
            WITH_FOLDER(a_change_half_done_is_undone_by_who_reads),
            WITH_FOLDER(pins_survive),
            WITH_FOLDER(a_standing_is_kept_and_comes_back),
            WITH_FOLDER(approvals_are_found),
            WITH_FOLDER(consent_is_kept_and_withdrawn_as_a_whole),
            WITH_FOLDER(quarantine_survives_until_it_is_released),
            WITH_FOLDER(the_last_crashes_survive),
            WITH_FOLDER(a_crash_that_is_too_large_is_refused),
            WITH_FOLDER(generations_survive),
            WITH_FOLDER(files_with_one_content_have_its_version),
            WITH_FOLDER(rollbacks_survive_until_they_are_cleared),
            WITH_FOLDER(decisions_survive),
            WITH_FOLDER(decisions_are_in_the_order_of_their_times),
            WITH_FOLDER(a_long_reason_is_cut_at_a_character),
            WITH_FOLDER(the_oldest_decisions_of_each_kind_go),
            WITH_FOLDER(a_load_that_ends_leaves_nothing),
            WITH_FOLDER(a_load_that_ends_its_process_is_told_until_cleared),
            WITH_FOLDER(another_process_or_boot_is_not_this_one),
            WITH_FOLDER(a_store_that_is_not_there_is_empty),
            WITH_FOLDER(a_store_in_memory_ends_with_itself),
            WITH_FOLDER(a_store_in_memory_keeps_the_newest_decisions),
            WITH_FOLDER(a_store_is_for_its_user_alone),
            WITH_FOLDER(a_name_has_one_default),
            WITH_FOLDER(a_file_of_the_first_form_is_upgraded_when_written_to),
            WITH_FOLDER(a_file_of_the_second_form_keeps_all_its_rows),
            WITH_FOLDER(a_file_of_the_fourth_form_gets_tokens_and_tasks),
            WITH_FOLDER(old_rows_are_bound_to_the_first_owner),
            WITH_FOLDER(old_calls_of_a_file_of_the_fifth_form_are_bound),
            WITH_FOLDER(identities_and_names_keep_their_order),
            WITH_FOLDER(what_is_bound_moves_when_it_is_adopted),
            WITH_FOLDER(records_of_names_are_bound_to_the_first_owner),
            WITH_FOLDER(records_of_names_are_bound_by_use),
            WITH_FOLDER(records_move_when_they_are_adopted),
            WITH_FOLDER(marks_are_of_a_name_or_of_a_plugin),
            WITH_FOLDER(the_same_is_told_once),
            WITH_FOLDER(a_call_upgrades_a_file_of_the_first_form),
            WITH_FOLDER(many_calls_cost_no_more_statements_than_one),
            WITH_FOLDER(calls_are_found_by_what_is_asked),
            WITH_FOLDER(a_log_is_read_as_far_as_is_asked),
            WITH_FOLDER(calls_are_in_the_order_of_their_times),
            WITH_FOLDER(old_calls_go_and_their_counts_stay),
            WITH_FOLDER(a_wrong_clock_removes_no_calls),
            WITH_FOLDER(the_oldest_calls_of_a_large_log_go),
            WITH_FOLDER(a_selection_has_the_calls_of_its_tool),
            WITH_FOLDER(a_correction_outlives_later_selections),
            WITH_FOLDER(who_keeps_selections_reads_what_changed),
            WITH_FOLDER(the_oldest_selections_of_a_principal_go_first),
            WITH_FOLDER(who_has_most_selections_loses_some),
            WITH_FOLDER(a_file_of_the_sixth_form_gets_selections),
            WITH_FOLDER(a_party_does_not_take_all_the_room_for_runs),
            WITH_FOLDER(the_texts_of_runs_are_counted),
            WITH_FOLDER(what_a_commit_of_a_run_costs_does_not_depend_on_its_plan),
            WITH_FOLDER(a_party_does_not_take_all_the_bytes_of_runs),
            WITH_FOLDER(all_runs_have_a_limit_of_bytes),
            WITH_FOLDER(interrupted_runs_do_not_keep_their_bytes),
            WITH_FOLDER(interrupted_runs_do_not_keep_their_places),
            WITH_FOLDER(vectors_are_found_by_their_hashes),
            WITH_FOLDER(vectors_are_bounded),
            WITH_FOLDER(a_file_of_the_seventh_form_gets_vectors),
            WITH_FOLDER(every_allocation_of_a_vector_may_fail),
            WITH_FOLDER(a_newer_file_is_left_alone),
            WITH_FOLDER(a_damaged_file_is_left_alone),
            WITH_FOLDER(a_damaged_page_is_an_error),
            WITH_FOLDER(two_stores_see_each_others_decisions),
            WITH_FOLDER(a_visitor_may_call_the_store),
            WITH_FOLDER(threads_use_one_store),
            WITH_FOLDER(processes_make_the_file_at_once),
            WITH_FOLDER(processes_upgrade_the_file_at_once),
            WITH_FOLDER(what_was_acknowledged_survives_a_kill),
            WITH_FOLDER(a_folder_that_is_read_only_is_read),
            WITH_FOLDER(a_first_form_in_a_read_only_folder_is_read),
            WITH_FOLDER(a_full_disk_is_an_error_and_loses_nothing),
            WITH_FOLDER(a_write_that_fails_is_an_error_and_loses_nothing),
            WITH_FOLDER(what_is_stored_is_in_effect_on_a_full_disk),
            WITH_FOLDER(a_path_that_is_too_long_is_told),
            WITH_FOLDER(every_allocation_may_fail),
            WITH_FOLDER(every_allocation_of_a_batch_may_fail),
    };
    return cmocka_run_group_tests(tests, use_our_memory, NULL);
}
