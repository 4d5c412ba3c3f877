/* The parts of host/remote/nats that need no server: names in subjects, keys and nonces, and when a
 * slow host is left out. */
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
#include "remote/nats/breaker.h"
#include "remote/nats/key.h"
#include "remote/nats/subject.h"

/* ---------------------------------------------------------------- subjects */

static void check_token(const char *name, const char *token) {
    CLEANUP(buf_finish) struct buf buf = BUF_INIT;
    char read[SUBJECT_NAME_MAX + 1];
    size_t length = 0;
    subject_add_token(&buf, name, strlen(name));
    assert_string_equal(buf.data, token);
    assert_true(subject_read_token(token, strlen(token), read, &length));
    assert_string_equal(read, name);
    assert_int_equal(length, strlen(name));
}

static void test_tokens(void **state) {
    (void)state;
    static const char *const wrong[] = {"",    "1.2", "a b", "*",  ">",     "=2",   "=2e",  "=2G",
                                        "=41", "=00", "a=",  "==", "a\xc3", "=2E=", "a.=2E"};
    check_token("add", "add");
    check_token("read_file-2", "read_file-2");
    check_token("1.2.0-rc.1+x", "1=2E2=2E0-rc=2E1=2Bx");
    check_token("", "=");
    check_token("=", "=3D");
    check_token("\xc3\xa4", "=C3=A4");
    for (size_t i = 0; i < ARRAY_LENGTH(wrong); i++) {
        char read[SUBJECT_NAME_MAX + 1];
        size_t length = 0;
        assert_false(subject_read_token(wrong[i], strlen(wrong[i]), read, &length));
    }
}

/* -------------------------------------------------------------------- keys */

static struct key_statement statement(void) {
    return (struct key_statement){.purpose = "call",
                                  .group = "g",
                                  .instance = "0123456789abcdef",
                                  .time = "1000",
                                  .nonce = "00112233445566778899aabbccddeeff",
                                  .data = "{}",
                                  .length = 2};
}

static void test_signatures(void **state) {
    (void)state;
    CLEANUP(key_destroyp) struct key *key = NULL;
    CLEANUP(key_destroyp) struct key *other = NULL;
    char signature[KEY_SIGNATURE_ROOM];
    assert_int_equal(key_open(NULL, &key, NULL), 0);
    assert_int_equal(key_open(NULL, &other, NULL), 0);
    assert_true(key_is_public(key_public(key)));
    assert_false(key_is_public("AAAA"));
    struct key_statement said = statement();
    key_sign(key, &said, signature);
    assert_true(key_verify(key_public(key), signature, &said));
    assert_false(key_verify(key_public(other), signature, &said));
    assert_false(key_verify(key_public(key), "", &said));
    assert_false(key_verify("", signature, &said));

    /* Each part counts, and so does where one ends and the next begins. */
    struct key_statement changed[8];
    for (size_t i = 0; i < ARRAY_LENGTH(changed); i++) {
        changed[i] = said;
    }
    changed[0].purpose = "tools";
    changed[1].group = "h";
    changed[2].instance = "1123456789abcdef";
    changed[3].time = "1001";
    changed[4].nonce = "10112233445566778899aabbccddeeff";
    changed[5].data = "[]";
    changed[6].length = 1;
    changed[7].purpose = "callg";
    changed[7].group = "";
    for (size_t i = 0; i < ARRAY_LENGTH(changed); i++) {
        assert_false(key_verify(key_public(key), signature, &changed[i]));
    }
}

/* The code of a statement: the other one of the two checks it, and nobody else can make it. */
static void test_code(void **state) {
    (void)state;
    CLEANUP(key_destroyp) struct key *front = NULL;
    CLEANUP(key_destroyp) struct key *back = NULL;
    CLEANUP(key_destroyp) struct key *third = NULL;
    struct key_secret secret;
    struct key_secret same;
    struct key_secret other;
    char code[KEY_TEXT_ROOM];
    assert_int_equal(key_open(NULL, &front, NULL), 0);
    assert_int_equal(key_open(NULL, &back, NULL), 0);
    assert_int_equal(key_open(NULL, &third, NULL), 0);
    assert_true(key_agree(front, key_public(back), &secret));
    assert_true(key_agree(back, key_public(front), &same));
    assert_memory_equal(&secret, &same, sizeof secret);
    assert_true(key_agree(third, key_public(back), &other));
    assert_memory_not_equal(&secret, &other, sizeof secret);
    /* What is no key, and points whose secret anybody knows. */
    assert_false(key_agree(front, "", &other));
    assert_false(key_agree(front, "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", &other));
    assert_false(key_agree(front, "AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", &other));

    struct key_statement said = statement();
    said.reply = "_INBOX.toolrack.1";
    key_code(&secret, key_public(front), &said, code);
    assert_true(key_code_fits(&same, key_public(front), &said, code));
    assert_false(key_code_fits(&same, key_public(back), &said, code)); /* sent back */
    assert_false(key_code_fits(&other, key_public(front), &said, code));
    assert_false(key_code_fits(&same, key_public(front), &said, ""));
    struct key_statement changed = said;
    changed.reply = "_INBOX.toolrack.2";
    assert_false(key_code_fits(&same, key_public(front), &changed, code));
    changed.reply = NULL;
    assert_false(key_code_fits(&same, key_public(front), &changed, code));
    changed = said;
    changed.purpose = "event";
    assert_false(key_code_fits(&same, key_public(front), &changed, code));
    changed = said;
    changed.length--;
    assert_false(key_code_fits(&same, key_public(front), &changed, code));
}

static void test_key_file(void **state) {
    (void)state;
    char folder[] = "/tmp/toolrack-key-XXXXXX";
    char path[64];
    struct toolrack_error err;
    CLEANUP(key_destroyp) struct key *first = NULL;
    CLEANUP(key_destroyp) struct key *second = NULL;
    struct key *third = NULL;
    assert_non_null(mkdtemp(folder));
    assert_int_equal(key_open(folder, &first, NULL), 0);
    assert_int_equal(key_open(folder, &second, NULL), 0);
    assert_string_equal(key_public(first), key_public(second));

    (void)snprintf(path, sizeof path, "%s/host.key", folder);
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(key_open(folder, &third, &err), TOOLRACK_E_REFUSED);
    assert_non_null(strstr(err.message, "chmod 600"));
    assert_int_equal(chmod(path, 0600), 0);
    assert_int_equal(truncate(path, 10), 0);
    assert_int_equal(key_open(folder, &third, &err), TOOLRACK_E_INVALID);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

/* ------------------------------------------------------------------ nonces */

static void nonce_of(unsigned number, char ret[KEY_NONCE_ROOM]) {
    (void)snprintf(ret, KEY_NONCE_ROOM, "%08x%024x", number, 0);
}

static void test_replay(void **state) {
    (void)state;
    struct nonces *nonces = nonces_create();
    struct toolrack_error err;
    char nonce[KEY_NONCE_ROOM];
    assert_non_null(nonces);
    nonce_of(1, nonce);
    assert_int_equal(nonces_take(nonces, "100000", nonce, 100000, &err), 0);
    assert_int_equal(nonces_take(nonces, "100000", nonce, 100001, &err),
                     TOOLRACK_E_PERMISSION_DENIED);
    assert_non_null(strstr(err.message, "taken before"));
    nonce_of(2, nonce);
    assert_int_equal(nonces_take(nonces, "100000", nonce, 100000 + KEY_SKEW_MS_MAX + 1, &err),
                     TOOLRACK_E_PERMISSION_DENIED);
    assert_non_null(strstr(err.message, "set the clocks"));
    assert_int_equal(nonces_take(nonces, "100000", nonce, 100000 - KEY_SKEW_MS_MAX - 1, &err),
                     TOOLRACK_E_PERMISSION_DENIED);
    assert_int_equal(nonces_take(nonces, "", nonce, 0, &err), TOOLRACK_E_PERMISSION_DENIED);
    assert_int_equal(nonces_take(nonces, "0", "zz", 0, &err), TOOLRACK_E_PERMISSION_DENIED);
    nonces_destroy(nonces);
}

/* A full table refuses, and has room again when what it has is too old to be taken anyway. */
static void test_full_nonces(void **state) {
    (void)state;
    struct nonces *nonces = nonces_create();
    struct toolrack_error err;
    char nonce[KEY_NONCE_ROOM];
    assert_non_null(nonces);
    for (unsigned i = 0; i < KEY_NONCES_MAX; i++) {
        nonce_of(i, nonce);
        assert_int_equal(nonces_take(nonces, "100000", nonce, 100000, &err), 0);
    }
    nonce_of(KEY_NONCES_MAX, nonce);
    assert_int_equal(nonces_take(nonces, "100000", nonce, 100000, &err), TOOLRACK_E_LIMIT_EXCEEDED);
    nonce_of(0, nonce);
    assert_int_equal(nonces_take(nonces, "100000", nonce, 100000, &err),
                     TOOLRACK_E_PERMISSION_DENIED);
    nonce_of(KEY_NONCES_MAX, nonce);
    assert_int_equal(nonces_take(nonces, "200000", nonce, 200000, &err), 0);
    nonces_destroy(nonces);
}

/* ----------------------------------------------------------------- breaker */

static void test_breaker(void **state) {
    (void)state;
    struct breaker breaker = {0};
    for (unsigned i = 0; i + 1 < BREAKER_FAILURES; i++) {
        breaker_fail(&breaker, 0);
        assert_true(breaker_allows(&breaker, 0));
    }
    breaker_succeed(&breaker); /* only failures in a row count */
    for (unsigned i = 0; i < BREAKER_FAILURES; i++) {
        breaker_begin(&breaker);
        breaker_fail(&breaker, 100);
    }
    assert_true(breaker_is_open(&breaker));
    assert_false(breaker_allows(&breaker, 100 + BREAKER_PAUSE_MS - 1));
    assert_true(breaker_allows(&breaker, 100 + BREAKER_PAUSE_MS));

    breaker_begin(&breaker); /* one call at a time is the try */
    assert_false(breaker_allows(&breaker, 100 + BREAKER_PAUSE_MS));
    breaker_forget(&breaker);
    assert_true(breaker_allows(&breaker, 100 + BREAKER_PAUSE_MS));
    breaker_begin(&breaker);
    breaker_fail(&breaker, 10000);
    assert_false(breaker_allows(&breaker, 10000 + 2 * BREAKER_PAUSE_MS - 1));
    assert_true(breaker_allows(&breaker, 10000 + 2 * BREAKER_PAUSE_MS));
    for (unsigned i = 0; i < 10; i++) {
        breaker_fail(&breaker, 0);
    }
    assert_int_equal(breaker.until_ms, BREAKER_PAUSE_MS_MAX);
    breaker_succeed(&breaker);
    assert_false(breaker_is_open(&breaker));
    assert_true(breaker_allows(&breaker, 0));
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_tokens),  cmocka_unit_test(test_signatures),
            cmocka_unit_test(test_code),    cmocka_unit_test(test_key_file),
            cmocka_unit_test(test_replay),  cmocka_unit_test(test_full_nonces),
            cmocka_unit_test(test_breaker),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
