/* Which of the capabilities that a plugin has not are told with a failed call. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "plugin/missing.h"
#include "toolrack/plugin.h"

#define READ    "read:${setting:file}"
#define NETWORK "network:api.example.com:443"
#define SPAWN   "spawn:/usr/bin/git"
#define ENV     "env:API_KEY"

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
    "its plugin declares " what ", which is not allowed: toolrack allow wants '" allowance "'"
#define ALL                                                                           \
    "one of these may be missing, which its plugin declares and which are not "       \
    "allowed: " READ ", " NETWORK ", " SPAWN ", " ENV ": toolrack allow wants '" READ \
    "' 'network:*:443' '" SPAWN "' '" ENV "'"

static void what_a_message_names_is_told_alone(void **state) {
    (void)state;
    expect("cannot open /srv/rates: Permission denied", ONLY(READ, READ));
    expect("cannot open '/srv/rates/today.xml'", ONLY(READ, READ));
    expect("no answer of https://api.example.com/v1/rates", ONLY(NETWORK, "network:*:443"));
    expect("/usr/bin/git: Permission denied", ONLY(SPAWN, SPAWN));
    expect("there is no git.", ONLY(SPAWN, SPAWN));
    expect("API_KEY is not set", ONLY(ENV, ENV));
}

static void a_part_of_a_name_names_nothing(void **state) {
    (void)state;
    expect("nothing at /srv/rates2", ALL);
    expect("nothing at /mnt/srv/rates", ALL);
    expect("bad digits", ALL);
    expect("MY_API_KEY2", ALL);
}

static void words_of_a_kind_leave_that_kind(void **state) {
    (void)state;
    expect("Could not connect to the server", ONLY(NETWORK, "network:*:443"));
    expect("could not resolve the name", ONLY(NETWORK, "network:*:443"));
    expect("cannot open the database", ONLY(READ, READ));
    expect("cannot open a socket",
           "one of these may be missing, which its plugin declares and which are not allowed: " READ
           ", " NETWORK ": toolrack allow wants '" READ "' 'network:*:443'");
}

static void otherwise_all_may_be_why(void **state) {
    (void)state;
    expect("no such luck", ALL);
    expect_of(items, 1, "no such luck", ONLY(READ, READ));
}

static void the_root_is_named_by_any_path(void **state) {
    (void)state;
    static const struct missing_capability both[] = {
            {.kind = TR_CAP_READ, .value = "/", .path = "/", .allowance = "read:/"},
            {.kind = TR_CAP_ENV, .value = "HOME", .allowance = "env:HOME"}};
    expect_of(both, 2, "cannot open /etc/passwd", ONLY("read:/", "read:/"));
}

static void all_are_told_of_the_plugin(void **state) {
    (void)state;
    CLEANUP(missing_freep) struct missing *missing = missing_create("wants", items, 2);
    assert_string_equal(missing_text(missing),
                        "its plugin declares " READ ", " NETWORK
                        ", which are not allowed: toolrack allow wants '" READ "' 'network:*:443'");
    assert_null(missing_text(NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(what_a_message_names_is_told_alone),
            cmocka_unit_test(a_part_of_a_name_names_nothing),
            cmocka_unit_test(words_of_a_kind_leave_that_kind),
            cmocka_unit_test(otherwise_all_may_be_why),
            cmocka_unit_test(the_root_is_named_by_any_path),
            cmocka_unit_test(all_are_told_of_the_plugin),
    };
    return cmocka_run_group_tests_name("missing", tests, NULL, NULL);
}
