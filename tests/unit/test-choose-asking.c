/* Who may ask an endpoint now: a share for each principal, and none while it rests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "choose/asking.h"

#include <cmocka.h>

static struct toolrack_error err;

static void assert_says(const char *part) {
    if (strstr(err.message, part) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", err.message, part);
    }
}

static void nobody_takes_all(void **state) {
    (void)state;
    static const char a[] = "token:a";
    static const char b[] = "token:b";
    struct asking *asking = asking_create(1);
    unsigned of_a = 0;
    unsigned of_b = 0;
    while (asking_begin(asking, a, &err) == 0) {
        of_a++;
    }
    assert_int_equal(of_a, ASKING_MAX / 2);
    assert_int_equal(err.code, TOOLRACK_E_LIMIT_EXCEEDED);
    assert_says("8 choices wait for it, 8 of the same caller; at most 16 may");
    while (asking_begin(asking, b, &err) == 0) {
        of_b++;
    }
    assert_int_equal(of_b, ASKING_MAX / 4);
    assert_int_equal(asking_begin(asking, NULL, &err), 0); /* who names nobody is another one */
    (void)asking_end(asking, NULL, 0, NULL);
    for (; of_a > 0; of_a--) {
        assert_int_equal(asking_end(asking, a, 0, NULL), 0);
    }
    assert_int_equal(asking_begin(asking, b, &err), 0);
    for (of_b++; of_b > 0; of_b--) {
        (void)asking_end(asking, b, 0, NULL);
    }
    asking_destroy(asking);
}

static void fail_once(struct asking *asking, uint32_t wait_ms, uint64_t rest_ms) {
    struct toolrack_error problem;
    (void)error_set(&problem, TOOLRACK_E_TIMEOUT, "it is late");
    assert_int_equal(asking_begin(asking, NULL, &err), 0);
    assert_int_equal(asking_end(asking, NULL, wait_ms, &problem), rest_ms);
}

static void it_rests_after_failures(void **state) {
    (void)state;
    struct asking *asking = asking_create(3);
    fail_once(asking, 0, 0);
    fail_once(asking, 0, 0);
    assert_int_equal(asking_begin(asking, NULL, &err), 0);
    assert_int_equal(asking_end(asking, NULL, 0, NULL), 0); /* it answers: counted anew */
    fail_once(asking, 0, 0);
    fail_once(asking, 0, 0);
    fail_once(asking, 0, ASKING_REST_MS_FIRST);
    assert_int_equal(asking_begin(asking, NULL, &err), TOOLRACK_E_TIMEOUT);
    assert_says("it is left alone for 1 s after: it is late");
    asking_destroy(asking);

    asking = asking_create(3);
    fail_once(asking, 40000, 40000); /* the provider says how long, at its first failure */
    assert_int_equal(asking_begin(asking, NULL, &err), TOOLRACK_E_TIMEOUT);
    asking_destroy(asking);
}

/* Those that waited together fail together: that is one failure of the endpoint. */
static void one_rest_is_not_made_longer(void **state) {
    (void)state;
    struct toolrack_error problem;
    struct asking *asking = asking_create(1);
    (void)error_set(&problem, TOOLRACK_E_IO, "it is gone");
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(asking_begin(asking, NULL, &err), 0);
    }
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(asking_end(asking, NULL, 0, &problem), ASKING_REST_MS_FIRST);
    }
    asking_destroy(asking);
}

static void rests_grow_to_a_bound(void **state) {
    (void)state;
    struct rest rest = {0};
    struct toolrack_error problem;
    uint64_t wanted = ASKING_REST_MS_FIRST;
    (void)error_set(&problem, TOOLRACK_E_IO, "it is gone");
    for (size_t i = 0; i < 70; i++) {
        assert_int_equal(rest_after(&rest, 1, 0, &problem), wanted);
        wanted = 2 * wanted < ASKING_REST_MS_MAX ? 2 * wanted : ASKING_REST_MS_MAX;
        rest.until_ns = 1; /* it is over */
    }
    rest_end(&rest);
    assert_int_equal(rest_check(&rest, &err), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(nobody_takes_all), cmocka_unit_test(it_rests_after_failures),
            cmocka_unit_test(one_rest_is_not_made_longer), cmocka_unit_test(rests_grow_to_a_bound)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
