/* unit-test - the functions of the plugin, with the fake host of toolrack/test.h. */
#include "hello.c"

#include <toolrack/test.h>

int main(void) {
    struct tr_test test;
    tr_test_init(&test, &toolrack_plugin);
    /* @if typed@ */
    TR_TEST(&test, fabs(hello_hypotenuse(3, 4) - 5) < 1e-9);
    /* @end@ */
    /* @if json@ */
    TR_TEST(&test, tr_test_call(&test, "hello_greet", "{\"name\": \"Ada\"}"));
    TR_TEST(&test, tr_test_replied(&test, "\"Hello, Ada!\""));
    TR_TEST(&test, !tr_test_call(&test, "hello_greet", "{\"name\": \"\"}"));
    TR_TEST(&test, tr_test_failed(&test, "InvalidArguments", "/name"));
    /* @end@ */
    /* @if resources@ */
    TR_TEST(&test, tr_test_run(&test, hello_list, "{}"));
    TR_TEST(&test, tr_test_run(&test, hello_read, "{\"uri\": \"notes://hello/about\"}"));
    TR_TEST(&test, strstr(test.result.data, "What the plugin is for.") != NULL);
    /* @end@ */
    return tr_test_finish(&test);
}
