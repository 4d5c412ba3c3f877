/* Which of the capabilities that a plugin has not are told with a failed call. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "plugin/missing.h"
#include "toolrack/plugin.h"

#define READ           "read:${setting:file}"
#define QUOTED_READ    "'" READ "'"
#define NETWORK        "network:api.example.com:443"
#define QUOTED_NETWORK "'network:*:443'"
#define SPAWN          "spawn:/usr/bin/git"
#define ENV            "env:API_KEY"

static const struct missing_capability items[] = {
        {.kind = TR_CAP_READ, .value = "${setting:file}", .path = "/srv/rates", .allowance = READ},
        {.kind = TR_CAP_NETWORK, .value = "api.example.com:443", .allowance = "network:*:443"},
        {.kind = TR_CAP_SPAWN, .value = "/usr/bin/git", .allowance = SPAWN},
        {.kind = TR_CAP_ENV, .value = "API_KEY", .allowance = ENV},
};

static void expect_of(const struct missing_capability *from, size_t count, const char *message,
                      const char *expected) {
    CLEANUP(missing_freep) struct missing *missing = missing_create("wants", from, count);
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    assert_non_null(missing);
    missing_explain(missing, message, &text);
    buf_add_char(&text, '\0');
    assert_string_equal(text.data, expected);
}

static void expect(const char *message, const char *expected) {
    expect_of(items, 4, message, expected);
}

#define ONLY(what, allowance) \
    "its plugin declares " what ", which is not allowed: toolrack allow wants " allowance
#define MAYBE(what, allowance) "this may be why: " ONLY(what, allowance)
#define ONE_OF(what, allowances)                                                       \
    "one of these may be missing, which its plugin declares and which are not allowed" \
    ": " what ": toolrack allow wants" allowances

static void what_a_message_names_is_told_alone(void **state) {
    (void)state;
    expect("cannot open /srv/rates: Permission denied", ONLY(READ, QUOTED_READ));
    expect("/srv/rates/today.xml: ENOENT", ONLY(READ, QUOTED_READ));
    expect("/usr/bin/git: Permission denied", ONLY(SPAWN, SPAWN));
    expect("api.example.com: Temporary failure in name resolution", ONLY(NETWORK, QUOTED_NETWORK));
}

static void without_a_cause_it_is_a_guess(void **state) {
    (void)state;
    expect("cannot open '/srv/rates/today.xml'", MAYBE(READ, QUOTED_READ));
    expect("no answer of https://api.example.com/v1/rates", MAYBE(NETWORK, QUOTED_NETWORK));
    expect("there is no git.", MAYBE(SPAWN, SPAWN));
    expect("API_KEY is not set", MAYBE(ENV, ENV));
}

static void a_part_of_a_name_names_nothing(void **state) {
    (void)state;
    expect("nothing at /srv/rates2", "");
    expect("nothing at /mnt/srv/rates", "");
    expect("bad digits", "");
    expect("MY_API_KEY2", "");
}

static void words_of_a_kind_leave_that_kind(void **state) {
    (void)state;
    expect("Could not connect to the server", MAYBE(NETWORK, QUOTED_NETWORK));
    expect("connection failed: Network is unreachable", MAYBE(NETWORK, QUOTED_NETWORK));
    expect("could not resolve the name", MAYBE(NETWORK, QUOTED_NETWORK));
    expect("cannot open the database", MAYBE(READ, QUOTED_READ));
    expect("cannot open a socket", ONE_OF(READ ", " NETWORK, " " QUOTED_READ " 'network:*:443'"));
    expect("fork: Operation not permitted; cannot start it", MAYBE(SPAWN, SPAWN));
}

static void a_cause_alone_leaves_what_has_it(void **state) {
    (void)state;
    expect("EACCES",
           ONE_OF(READ ", " NETWORK ", " SPAWN, " " QUOTED_READ " 'network:*:443' " SPAWN));
    expect("rates: No such file or directory", ONE_OF(READ ", " SPAWN, " " QUOTED_READ " " SPAWN));
    expect("Network is unreachable", MAYBE(NETWORK, QUOTED_NETWORK));
    expect_of(items, 1, "it was: Permission denied", MAYBE(READ, QUOTED_READ));
}

/* What a plugin declares and never needs must not be what a person is told after each failure. */
static void other_failures_have_no_advice(void **state) {
    (void)state;
    static const char *const others[] = {
            "no such luck",
            "1 divided by 0: Numerical argument out of domain",
            "failed to connect to api.example.com port 443: Connection refused",
            "cannot read /srv/rates: Input/output error",
            "cannot open /srv/rates: EMFILE",
            "cannot open /etc/shadow2: Is a directory",
            "https://api.example.com: connection timed out",
            "the profile says nothing of an opening, rewrite it",
            "negative numbers are not allowed",
            "bad line 3 in the file",
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        expect(others[i], "");
        expect_of(items, 1, others[i], "");
    }
    expect_of(items, 1, "cannot open /etc/passwd: Permission denied", "");
}

static void the_root_is_named_by_any_path(void **state) {
    (void)state;
    static const struct missing_capability both[] = {
            {.kind = TR_CAP_READ, .value = "/", .path = "/", .allowance = "read:/"},
            {.kind = TR_CAP_ENV, .value = "HOME", .allowance = "env:HOME"}};
    expect_of(both, 2, "cannot open /etc/passwd", MAYBE("read:/", "read:/"));
    expect_of(both, 2, "cannot open /etc/passwd: EPERM", ONLY("read:/", "read:/"));
}

/* No command would help. */
static void of_what_is_refused_the_reason_is_told(void **state) {
    (void)state;
    static const struct missing_capability both[] = {
            {.kind = TR_CAP_READ,
             .value = "/dev",
             .path = "/dev",
             .allowance = "read:/dev",
             .refusal = "it is the kernel's"},
            {.kind = TR_CAP_READ, .value = "/srv", .path = "/srv", .allowance = "read:/srv"}};
#define REFUSED "its plugin declares read:/dev, which is refused: it is the kernel's"
    expect_of(both, 2, "/dev/dri: Permission denied", REFUSED);
    expect_of(both, 1, "Permission denied", "this may be why: " REFUSED);
    expect_of(both, 2, "Permission denied", ONE_OF("read:/srv", " read:/srv") "; " REFUSED);
    CLEANUP(missing_freep) struct missing *missing = missing_create("wants", both, 2);
    assert_string_equal(missing_text(missing), ONLY("read:/srv", "read:/srv") "; " REFUSED);
}

static void all_are_told_of_the_plugin(void **state) {
    (void)state;
    CLEANUP(missing_freep) struct missing *missing = missing_create("wants", items, 2);
    assert_string_equal(missing_text(missing),
                        "its plugin declares " READ ", " NETWORK
                        ", which are not allowed: toolrack allow wants " QUOTED_READ
                        " 'network:*:443'");
    assert_null(missing_text(NULL));
}

/* What a plugin declares is data in the command that is recommended, or not in it. */
static void a_value_is_no_code(void **state) {
    (void)state;
    static const struct missing_capability code[] = {
            {.kind = TR_CAP_READ, .value = "/x'; id; : '", .allowance = "read:/x'; id; : '"},
            {.kind = TR_CAP_READ, .value = "/a b", .allowance = "read:/a b"},
            {.kind = TR_CAP_READ, .value = "/x\n", .allowance = "read:/x\n"},
            {.kind = TR_CAP_READ, .value = "/x\xe2\x80\x8b", .allowance = "read:/x\xe2\x80\x8b"}};
    expect_of(code, 1, "EACCES", MAYBE("read:/x'; id; : '", "'read:/x'\\''; id; : '\\'''"));
    expect_of(&code[1], 1, "EACCES", MAYBE("read:/a b", "'read:/a b'"));
    expect_of(&code[2], 1, "EACCES",
              "this may be why: its plugin declares read:/x\n, which is not allowed: toolrack help "
              "allow");
    expect_of(&code[3], 1, "EACCES",
              "this may be why: its plugin declares read:/x\xe2\x80\x8b, which is not allowed: "
              "toolrack help allow");
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(what_a_message_names_is_told_alone),
            cmocka_unit_test(without_a_cause_it_is_a_guess),
            cmocka_unit_test(a_part_of_a_name_names_nothing),
            cmocka_unit_test(words_of_a_kind_leave_that_kind),
            cmocka_unit_test(a_cause_alone_leaves_what_has_it),
            cmocka_unit_test(other_failures_have_no_advice),
            cmocka_unit_test(the_root_is_named_by_any_path),
            cmocka_unit_test(of_what_is_refused_the_reason_is_told),
            cmocka_unit_test(all_are_told_of_the_plugin),
            cmocka_unit_test(a_value_is_no_code),
    };
    return cmocka_run_group_tests_name("missing", tests, NULL, NULL);
}
