/* One case that is there, one that is not in the list, one that is in it alone. */
#include <cmocka.h>

static void it_is_there(void **state) {
    (void)state;
}

static void it_is_not_run(void **state) {
    (void)state;
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(it_is_there),
            cmocka_unit_test(it_is_not_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
