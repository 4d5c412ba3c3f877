/* app.c - a program with tools: one of its own, and those of a plugin folder. */
#include <stdio.h>
#include <toolrack/plugin.h>
#include <toolrack/toolrack.h>

static int32_t answer(void) {
    return 42;
}
TR_TOOL(answer, "The answer", TR_I32)
TR_PLUGIN("app", "1.0.0", answer)

static int print(struct toolrack *host, const char *name, const char *arguments) {
    struct toolrack_result *result = NULL;
    struct toolrack_error *err = toolrack_error_create();
    int code = toolrack_call(host, name, arguments, NULL, &result, err);
    if (code < 0) {
        printf("%s: %s\n", toolrack_code_name(code), toolrack_error_message(err));
    } else {
        printf("%s\n", toolrack_result_json(result, NULL));
    }
    toolrack_result_free(result);
    toolrack_error_free(err);
    return code < 0;
}

int main(int argc, char **argv) {
    const char *const folders[] = {argc > 1 ? argv[1] : NULL, NULL};
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    options.config_file = options.state_dir = "";
    options.plugin_dirs = folders;
    struct toolrack *host = NULL;
    struct toolrack_error *err = toolrack_error_create();
    if (toolrack_open(&options, &host, err) < 0 ||
        toolrack_register(host, &toolrack_plugin, NULL, err) < 0) {
        printf("%s\n", toolrack_error_message(err));
        return 1;
    }
    int failures = print(host, "answer", NULL) + print(host, "add", "{\"a\":40,\"b\":2}");
    toolrack_close(host);
    toolrack_error_free(err);
    return failures;
}
