/* Secrets that are found by their form alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "choose/secret-form.h"

#include <cmocka.h>

static void assert_masked(const char *text, const char *wanted) {
    size_t length = 0;
    CLEANUP(freep) char *masked = secret_form_mask(text, strlen(text), &length);
    assert_non_null(masked);
    assert_string_equal(masked, wanted);
    assert_int_equal(length, strlen(wanted));
}

static void secrets_are_found(void **state) {
    (void)state;
    static const struct {
        const char *text;
        const char *masked;
    } rows[] = {
            {"call it with sk-proj-a1B2c3D4e5F6 now", "call it with *** now"},
            {"token ghp_16C7e42F292c6912E7710c838347Ae178B4a", "token ***"},
            {"aws AKIAIOSFODNN7EXAMPLE in us-east-1", "aws *** in us-east-1"},
            {"post to slack as xoxb-123456789012-abcdef", "post to slack as ***"},
            {"Authorization: Bearer abc.def-123456", "Authorization: Bearer ***"},
            {"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln", "***"},
            {"fetch https://me:hunter2@example.com/a", "fetch https://me:***@example.com/a"},
            {"my password is swordfish, log in", "my password is ***, log in"},
            {"Password: \"open sesame\"", "Password: \"***\""},
            {"set the password to Tr0ub4dor", "set the password to ***"},
            {"log in with password hunter2", "log in with password ***"},
            {"--password=x --user bob", "--password=*** --user bob"},
            {"{\"api_key\": \"a-b-c\"}", "{\"api_key\": \"***\"}"},
            {"my PIN is 1234", "my PIN is ***"},
            {"用户名是王芳，密码是芝麻开门。登录", "用户名是王芳，密码是***。登录"},
            {"密码hunter2", "密码***"},
            {"把口令设置为 abc", "把口令设置为 ***"},
            {"验证码：482913", "验证码：***"},
            {"密码是X", "密码是***"},
            {"use passcode hunter2x", "use passcode ***"},
            {"Bearer a1", "Bearer ***"},
            {"Authorization: Bearer abcdefg", "Authorization: Bearer ***"},
            {"with Authorization: Basic abcdefghijk==", "with Authorization: Basic ***"},
            {"read https://a.b/x?sig=abc&key=def", "read https://a.b/x?sig=***&key=***"},
            {"read https://a.b/x?access_token=abc&y=z", "read https://a.b/x?access_token=***&y=z"},
            {"with cookie session=abcdef", "with cookie session=***"},
            {"mysql -u bob -phunter and read", "mysql -u bob -p*** and read"},
            {"contraseña hunter2", "contraseña ***"},
            {"with password hunter2;x,y!z and go", "with password *** and go"},
            {"use -----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----",
             "use ***-----END RSA PRIVATE KEY-----"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        assert_masked(rows[i].text, rows[i].masked);
    }
}

static void other_texts_stay_as_they_are(void **state) {
    (void)state;
    static const char *const texts[] = {"",
                                        "generate a password of 16 characters",
                                        "how long is the password?",
                                        "生成一个密码长度为16",
                                        "重置我的密码",
                                        "a basic search for bearers and cookies",
                                        "bake a cookie with chocolate",
                                        "open https://example.com/a?page=2&sort=key",
                                        "the token is expired",
                                        "count the tokens of this text: 12 words",
                                        "install sk-learn-contrib",
                                        "pin this message to the top",
                                        "a spinning wheel costs 12 dollars",
                                        "open https://example.com:8080/a@b",
                                        "\xff\xfe password"};
    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
        assert_masked(texts[i], texts[i]);
    }
}

/* What begins again and again is read once: else this takes hours. */
static void long_texts_take_no_longer(void **state) {
    (void)state;
    static const char *const parts[] = {"sk-",          "密码",   "-----BEGIN PRIVATE KEY",
                                        "password is ", "://a:",  "eyJ1",
                                        "pin:",         "?key=",  "bearer ",
                                        "cookie ",      "mysql ", "a;"};
    for (size_t i = 0; i < ARRAY_LENGTH(parts); i++) {
        CLEANUP(buf_finish) struct buf text = BUF_INIT;
        while (text.length < 1024 * 1024) {
            buf_add_text(&text, parts[i]);
        }
        size_t length = 0;
        CLEANUP(freep) char *masked = secret_form_mask(text.data, text.length, &length);
        assert_non_null(masked);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(secrets_are_found),
                                       cmocka_unit_test(other_texts_stay_as_they_are),
                                       cmocka_unit_test(long_texts_take_no_longer)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
