/* Plugins of each version of the interface in hosts of each version.
 *
 *     test-corpus FILE.so ...
 *
 * A file is named after its version: "1.3-x86-64.so" is what an author built then, "today-1.3.so"
 * the same source with today's header. Each is called by an old host of each version, made here: a
 * host has the functions of its version, and behind them what aborts. And each is called by this
 * host, in a worker and in process. */
#include <dlfcn.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define TR_NO_PLACES
#include <toolrack/plugin.h>
#ifndef WITHOUT_HOST /* which is not built for the other processor */
#include <toolrack/toolrack.h>
#endif

#define MINORS (TR_ABI_MINOR + 1)

static char **files;
static int file_count;

/* The minor version of a file, by its name. */
static unsigned minor_of(const char *file) {
    const char *slash = strrchr(file, '/');
    const char *at = strstr(slash != NULL ? slash : file, "1.");
    assert_non_null(at);
    return (unsigned)strtoul(at + 2, NULL, 10);
}

/* Whether a file was built by the header of its time, and not by today's. */
static bool is_of_its_time(const char *file) {
    return strstr(file, "/today-") == NULL;
}

/* ------------------------------------------------------------------- an old host */

/* What tools of the corpus have done. */
static struct {
    char reply[256];
    bool linked;
    bool located; /* by fail_at() */
    tr_status failed;
    char field[64];
    bool asked;
    bool read_all;
} seen;

/* The arguments of the call. */
static const char *given_text;
static int64_t given_times;

static tr_status get_string(struct tr_call *call, const char *path, const char **ret,
                            uint64_t *ret_length) {
    (void)call;
    if (given_text == NULL || (strcmp(path, "name") != 0 && strcmp(path, "text") != 0)) {
        return TR_ABSENT;
    }
    *ret = given_text;
    if (ret_length != NULL) {
        *ret_length = strlen(given_text);
    }
    return TR_OK;
}

static tr_status get_i64(struct tr_call *call, const char *path, int64_t *ret) {
    (void)call;
    assert_string_equal(path, "times");
    *ret = given_times;
    return TR_OK;
}

static tr_status reply_text(struct tr_call *call, const char *text, uint64_t length) {
    (void)call;
    size_t size = length == UINT64_MAX ? strlen(text) : (size_t)length;
    assert_true(size < sizeof seen.reply);
    memcpy(seen.reply, text, size);
    seen.reply[size] = '\0';
    return TR_OK;
}

static tr_status set_failure(struct tr_call *call, tr_status code, const char *field,
                             const char *message) {
    (void)call;
    assert_string_equal(message, "a name has letters");
    seen.failed = code;
    (void)snprintf(seen.field, sizeof seen.field, "%s", field);
    return code;
}

static tr_status set_failure_at(struct tr_call *call, tr_status code, const char *field,
                                const char *message, const char *file, int32_t line) {
    assert_non_null(strstr(file, "corpus.c"));
    assert_true(line > 0);
    seen.located = true;
    return set_failure(call, code, field, message);
}

static void take_log(struct tr_call *call, int32_t level, const char *message) {
    (void)call;
    (void)level;
    assert_string_equal(message, "greeting");
}

static tr_status ask(struct tr_call *call, const char *message, const char *schema,
                     const char **ret_content) {
    (void)call;
    assert_string_equal(message, "Which one?");
    assert_string_equal(schema, "{\"type\": \"object\"}");
    seen.asked = true;
    *ret_content = "{\"this\": true}";
    return TR_OK;
}

static tr_status reply_link(struct tr_call *call, const struct tr_link *link) {
    seen.linked = true;
    return reply_text(call, link->uri, UINT64_MAX);
}

static tr_status get_all(struct tr_call *call, struct tr_argument *arguments, uint32_t count,
                         uint32_t size) {
    assert_int_equal(count, 2);
    assert_true(size >= sizeof *arguments);
    seen.read_all = true;
    for (uint32_t i = 0; i < count; i++) {
        struct tr_argument *one = (struct tr_argument *)(void *)((char *)arguments + i * size);
        one->status = strcmp(one->name, "text") == 0 ? get_string(call, one->name, one->value, NULL)
                                                     : get_i64(call, one->name, one->value);
    }
    return TR_OK;
}

static void not_of_this_host(void) {
    (void)fputs("# a plugin called a function that its host does not have\n", stderr);
    abort();
}

/* All words but the first are functions. */
union host {
    struct tr_call_api api;
    void (*words[sizeof(struct tr_call_api) / sizeof(void (*)(void))])(void);
};

static void make_host(union host *host, unsigned minor) {
    static const size_t sizes[MINORS] = {
            offsetof(struct tr_call_api, ask),     offsetof(struct tr_call_api, fail_at),
            offsetof(struct tr_call_api, fail_at), offsetof(struct tr_call_api, inputs),
            offsetof(struct tr_call_api, get_all), sizeof(struct tr_call_api)};
    for (size_t i = 0; i < sizeof host->words / sizeof host->words[0]; i++) {
        host->words[i] = not_of_this_host;
    }
    host->api.size = sizes[minor];
    host->api.get_string = get_string;
    host->api.get_i64 = get_i64;
    host->api.reply_text = reply_text;
    host->api.fail = set_failure;
    host->api.log = take_log;
    if (minor >= 1) {
        host->api.ask = ask;
    }
    if (minor >= 3) {
        host->api.fail_at = set_failure_at;
    }
    if (minor >= 4) {
        host->api.reply_link = reply_link;
    }
    if (minor >= 5) {
        host->api.get_all = get_all;
    }
}

/* The tool of a plugin; NULL: it has none of this name. An old host reads as much of a record as it
 * knows, which the record must have. */
static const struct tr_tool *find_tool(const struct tr_plugin *plugin, unsigned host_minor,
                                       const char *name) {
    static const size_t sizes[MINORS] = {offsetof(struct tr_tool, examples),
                                         offsetof(struct tr_tool, deprecated),
                                         offsetof(struct tr_tool, icons),
                                         offsetof(struct tr_tool, icons),
                                         sizeof(struct tr_tool),
                                         sizeof(struct tr_tool)};
    unsigned own = plugin->abi_minor;
    size_t both = sizes[own < host_minor ? own : host_minor];
    for (uint32_t i = 0; i < plugin->tool_count; i++) {
        const struct tr_tool *tool = plugin->tools[i];
        assert_true(tool->size >= both && plugin->tool_size >= both);
        if (strcmp(tool->name, name) == 0) {
            return tool;
        }
    }
    return NULL;
}

/* The same of a tool that each version has. */
static const struct tr_tool *get_tool(const struct tr_plugin *plugin, unsigned host_minor,
                                      const char *name) {
    const struct tr_tool *tool = find_tool(plugin, host_minor, name);
    if (tool == NULL) {
        fail_msg("no tool %s", name);
        abort(); /* which cmocka does in its way; compilers do not know it */
    }
    return tool;
}

static tr_status run(const struct tr_tool *tool, unsigned host_minor, const char *text) {
    union host host;
    struct tr_call call = {.api = &host.api};
    make_host(&host, host_minor);
    memset(&seen, 0, sizeof seen);
    given_text = text;
    given_times = 2;
    return tool->run(&call);
}

static void call_tools(const struct tr_plugin *plugin, unsigned minor, unsigned host_minor) {
    const struct tr_tool *add = get_tool(plugin, host_minor, "corpus_add");
    assert_true(((double (*)(double, double))add->function)(40, 2) == 42);
    assert_int_equal(add->param_count, 2);
    assert_string_equal(add->params[1].default_json, "1");

    const struct tr_tool *greet = get_tool(plugin, host_minor, "corpus_greet");
    assert_int_equal(run(greet, host_minor, "Ada"), TR_OK);
    assert_string_equal(seen.reply, "Ada");
    assert_int_equal(run(greet, host_minor, ""), TR_INVALID_ARGUMENTS);
    assert_int_equal(seen.failed, TR_INVALID_ARGUMENTS);
    assert_string_equal(seen.field, "name");
    assert_int_equal(seen.located, plugin->abi_minor >= 3 && host_minor >= 3);

    const struct tr_tool *asks = find_tool(plugin, host_minor, "corpus_ask");
    assert_int_equal(asks != NULL, minor >= 1);
    if (asks != NULL) {
        assert_int_equal(run(asks, host_minor, NULL), TR_OK);
        assert_string_equal(seen.reply, host_minor >= 1 ? "{\"this\": true}" : "nobody");
    }
    const struct tr_tool *links = find_tool(plugin, host_minor, "corpus_link");
    assert_int_equal(links != NULL, minor >= 4);
    if (links != NULL) {
        assert_int_equal(run(links, host_minor, NULL), TR_OK);
        assert_string_equal(seen.reply, "https://example.org/a");
        assert_int_equal(seen.linked, host_minor >= 4);
    }
    const struct tr_tool *all = find_tool(plugin, host_minor, "corpus_all");
    assert_int_equal(all != NULL, minor >= 5);
    if (all != NULL) {
        assert_int_equal(run(all, host_minor, "abc"), TR_OK);
        assert_string_equal(seen.reply, "abc");
        assert_int_equal(seen.read_all, host_minor >= 5);
    }
}

static void each_plugin_works_in_each_host_of_the_past(void **state) {
    (void)state;
    for (int i = 0; i < file_count; i++) {
        void *library = dlopen(files[i], RTLD_NOW | RTLD_LOCAL);
        if (library == NULL) {
            fail_msg("%s: %s", files[i], dlerror());
        }
        const struct tr_plugin *plugin = dlsym(library, "toolrack_plugin");
        assert_non_null(plugin);
        assert_true(plugin->magic == TR_MAGIC && plugin->abi_major == TR_ABI_MAJOR);
        assert_int_equal(plugin->abi_minor,
                         is_of_its_time(files[i]) ? minor_of(files[i]) : TR_ABI_MINOR);
        for (unsigned minor = 0; minor < MINORS; minor++) {
            assert_true(plugin->host_minor_min <= minor);
            call_tools(plugin, minor_of(files[i]), minor);
        }
        assert_int_equal(dlclose(library), 0);
    }
}

#ifndef WITHOUT_HOST
/* --------------------------------------------------------------------- this host */

static void expect_call(struct toolrack *host, const char *name, const char *arguments,
                        const char *expected) {
    struct toolrack_error *err = toolrack_error_create();
    struct toolrack_result *result = NULL;
    int code = toolrack_call(host, name, arguments, NULL, &result, err);
    if (code < 0) {
        assert_string_equal(toolrack_error_message(err), expected);
    } else {
        assert_string_equal(toolrack_result_json(result, NULL), expected);
    }
    toolrack_result_free(result);
    toolrack_error_free(err);
}

static void call_all(struct toolrack *host, unsigned minor) {
    expect_call(host, "corpus_add", "{\"a\": 40, \"b\": 2}", "42.0");
    expect_call(host, "corpus_add", "{\"a\": 40}", "41.0");
    expect_call(host, "corpus_mirror", "{\"point\": {\"x\": 1, \"y\": 2}, \"axis\": \"x\"}",
                "{\"x\":1.0,\"y\":-2.0}");
    expect_call(host, "corpus_greet", "{\"name\": \"Ada\"}", "\"Ada\"");
    expect_call(host, "corpus_greet", "{\"name\": \"\"}", "a name has letters");
    if (minor >= 1) {
        expect_call(host, "corpus_ask", "{}", "\"nobody\"");
    }
    if (minor >= 2) {
        expect_call(host, "corpus_old", "{\"number\": 7}", "7");
    }
    if (minor >= 5) {
        expect_call(host, "corpus_all", "{\"text\": \"abc\", \"times\": 2}", "\"abc\"");
    }
}

/* A folder with a link to the file. */
static void serve(const char *file, enum toolrack_isolation isolation) {
    char folder[] = "/tmp/toolrack-corpus-XXXXXX";
    char link[sizeof folder + 16];
    char target[PATH_MAX];
    assert_non_null(mkdtemp(folder));
    assert_non_null(realpath(file, target));
    (void)snprintf(link, sizeof link, "%s/plugin.so", folder);
    assert_int_equal(symlink(target, link), 0);
    const char *const folders[] = {folder, NULL};
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    options.config_file = options.state_dir = "";
    options.plugin_dirs = folders;
    options.isolation = isolation;
    struct toolrack *host = NULL;
    struct toolrack_error *err = toolrack_error_create();
    if (toolrack_open(&options, &host, err) < 0) {
        fail_msg("%s: %s", file, toolrack_error_message(err));
    }
    call_all(host, minor_of(file));
    toolrack_close(host);
    toolrack_error_free(err);
    assert_int_equal(unlink(link), 0);
    assert_int_equal(rmdir(folder), 0);
}

static void each_plugin_works_in_this_host(void **state) {
    (void)state;
    for (int i = 0; i < file_count; i++) {
        serve(files[i], TOOLRACK_ISOLATION_NONE);
        serve(files[i], TOOLRACK_ISOLATION_PROCESS);
    }
}

/* ------------------------------------------------------------------------- check */

/* Of both processors. */
static void check_finds_nothing_in_what_was_released(void **state) {
    (void)state;
    for (unsigned minor = 0; minor < MINORS; minor++) {
        static const char *const machines[] = {"x86-64", "AArch64"};
        for (unsigned i = 0; i < 2; i++) {
            char path[PATH_MAX];
            (void)snprintf(path, sizeof path, "%s/1.%u-%s.so", getenv("CORPUS"), minor,
                           machines[i]);
            struct toolrack_error *err = toolrack_error_create();
            struct toolrack_findings *findings = NULL;
            if (toolrack_check(path, &findings, err) < 0) {
                fail_msg("%s: %s; a version that is released needs its files: "
                         "tests/abi/corpus/build %u",
                         path, toolrack_error_message(err), minor);
            }
            assert_string_equal(toolrack_findings_machine(findings), machines[i]);
            static const unsigned tools[MINORS] = {3, 4, 5, 5, 6, 7};
            assert_int_equal(toolrack_findings_tool_count(findings), tools[minor]);
            for (size_t j = 0; j < toolrack_findings_count(findings); j++) {
                const struct toolrack_finding *one = toolrack_findings_get(findings, j);
                if (one->severity != TOOLRACK_SEVERITY_NOTE) {
                    fail_msg("%s: %s: %s", path, one->rule, one->cause);
                }
            }
            toolrack_findings_free(findings);
            toolrack_error_free(err);
        }
    }
}

#endif

int main(int argc, char **argv) {
    files = argv + 1;
    file_count = argc - 1;
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(each_plugin_works_in_each_host_of_the_past),
#ifndef WITHOUT_HOST
            cmocka_unit_test(each_plugin_works_in_this_host),
            cmocka_unit_test(check_finds_nothing_in_what_was_released),
#endif
    };
    return cmocka_run_group_tests_name("corpus", tests, NULL, NULL);
}
