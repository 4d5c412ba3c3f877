// unit-test - the functions of the plugin, with the fake host of toolrack/test.h.
#include "hello.cpp"

#include <toolrack/test.h>

int main() {
    tr_test test;
    tr_test_init(&test, &toolrack_plugin);
    // @if typed@
    TR_TEST(&test, std::abs(hello_hypotenuse(3, 4) - 5) < 1e-9);
    // @end@
    // @if json@
    TR_TEST(&test, tr_test_call(&test, "hello_greet", R"({"name": "Ada"})"));
    TR_TEST(&test, tr_test_replied(&test, R"("Hello, Ada!")"));
    TR_TEST(&test, !tr_test_call(&test, "hello_greet", R"({"name": ""})"));
    TR_TEST(&test, tr_test_failed(&test, "InvalidArguments", "/name"));
    // @end@
    // @if resources@
    TR_TEST(&test, tr_test_run(&test, hello_list, "{}"));
    TR_TEST(&test, tr_test_run(&test, hello_read, R"({"uri": "notes://hello/about"})"));
    TR_TEST(&test, std::strstr(test.result.data, "What the plugin is for.") != nullptr);
    // @end@
    return tr_test_finish(&test);
}
