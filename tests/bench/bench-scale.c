/* How costs grow: of the registry with the number of tools. What is measured is what a person
 * or a model waits for; the table has a row for each number, and BENCH_SVG names a file that gets
 * the same as curves. */
#include <string.h>

#include "base/cleanup.h"
#include "bench.h"
#include "toolrack/choose.h"
#include "toolrack/plugin.h"
#include "toolrack/records.h"
#include "toolrack/toolrack.h"

#define NAME_SIZE 64u
#define REPEATED  21u

static const unsigned tool_counts[] = {10, 100, 1000, 4000, 16000, 65000};

static const char *const verbs[] = {"get",  "list", "create",  "delete", "update",
                                    "send", "find", "convert", "read",   "start"};
static const char *const nouns[] = {"user",    "file",   "message",  "report",  "invoice", "order",
                                    "weather", "image",  "calendar", "account", "server",  "route",
                                    "price",   "ticket", "language", "record"};

static void die(const char *what, const struct toolrack_error *err) {
    (void)fprintf(stderr, "bench-scale: %s: %s\n", what, err->message);
    exit(1);
}

/* ------------------------------------------------------------ the tools */

static tr_status run(struct tr_call *call) {
    return call->api->reply_json(call, "true", 4);
}

static void name_tool(unsigned number, char ret[static NAME_SIZE]) {
    (void)snprintf(ret, NAME_SIZE, "%s_%s_of_%s%u", verbs[number % ARRAY_LENGTH(verbs)],
                   nouns[number / 10 % ARRAY_LENGTH(nouns)],
                   nouns[number / 160 % ARRAY_LENGTH(nouns)], number);
}

static struct toolrack *open_host(void) {
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    struct toolrack_error err;
    struct toolrack *host;
    options.config_file = "";
    options.state_dir = "";
    options.no_scan = true;
    if (toolrack_open(&options, &host, &err) < 0) {
        die("open", &err);
    }
    return host;
}

/* A plugin with one tool. */
static void register_one(struct toolrack *host, unsigned number) {
    char name[NAME_SIZE];
    char id[NAME_SIZE];
    struct toolrack_error err;
    name_tool(number, name);
    const struct tr_tool tool = {.size = sizeof tool,
                                 .name = name,
                                 .description = "Does what its name says",
                                 .schema = "{\"type\":\"object\"}",
                                 .run = run};
    const struct tr_tool *const table[] = {&tool};
    (void)snprintf(id, sizeof id, "plugin_%u", number);
    const struct tr_plugin plugin = {.magic = TR_MAGIC,
                                     .size = sizeof plugin,
                                     .abi_major = TR_ABI_MAJOR,
                                     .id = id,
                                     .version = "1.0.0",
                                     .flags = TR_THREAD_SAFE,
                                     .tool_count = 1,
                                     .tool_size = sizeof(struct tr_tool),
                                     .tools = table};
    if (toolrack_register(host, &plugin, NULL, &err) < 0) {
        die("register", &err);
    }
}

/* ------------------------------------------------------------ what is measured */

static unsigned tools_now;

static void set_enabled(struct toolrack *host, unsigned i) {
    char name[NAME_SIZE];
    struct toolrack_error err;
    name_tool(i / 2 * 7919 % tools_now, name);
    if (toolrack_set_enabled(host, name, i % 2 != 0, NULL, &err) < 0) {
        die("set_enabled", &err);
    }
}

static void call_unknown(struct toolrack *host, const char *name) {
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    struct toolrack_result *result = NULL;
    struct toolrack_error err;
    options.deadline_ms = TOOLRACK_NO_DEADLINE;
    if (toolrack_call(host, name, "{}", &options, &result, &err) != TOOLRACK_E_NOT_FOUND) {
        die("a call of an unknown name", &err);
    }
}

/* Two letters are wrong. */
static void call_misspelt(struct toolrack *host, unsigned i) {
    char name[NAME_SIZE];
    name_tool(i * 7919 % tools_now, name);
    name[1] = 'x';
    name[5] = 'q';
    call_unknown(host, name);
}

static void call_nonsense(struct toolrack *host, unsigned i) {
    char name[NAME_SIZE];
    (void)snprintf(name, sizeof name, "zzzz_qqqq_%u", i);
    call_unknown(host, name);
}

static void recommend(struct toolrack *host, unsigned i) {
    struct toolrack_text *text = NULL;
    struct toolrack_error err;
    (void)i;
    if (toolrack_recommend(host, NULL, &text, &err) < 0) {
        die("recommend", &err);
    }
    toolrack_text_unref(text);
}

/* The index of words follows each change from the first search on. */
static void search(struct toolrack *host, unsigned i) {
    struct toolrack_select_options options = TOOLRACK_SELECT_OPTIONS_INIT;
    struct toolrack_text *text = NULL;
    struct toolrack_error err;
    (void)i;
    options.text = "convert the image of the invoice";
    if (toolrack_search(host, &options, &text, &err) < 0) {
        die("search", &err);
    }
    toolrack_text_unref(text);
}

static const struct {
    const char *name;
    void (*run)(struct toolrack *host, unsigned i);
} measures[] = {{"set_enabled", set_enabled},
                {"misspelt name", call_misspelt},
                {"unknown name", call_nonsense},
                {"recommend", recommend},
                {"search", search},
                {"set_enabled, searched", set_enabled}};

static double middle_us(struct toolrack *host, void (*measured)(struct toolrack *, unsigned)) {
    double ns[REPEATED];
    for (unsigned i = 0; i < REPEATED; i++) {
        uint64_t start_ns = clock_now_ns();
        measured(host, i);
        ns[i] = (double)(clock_now_ns() - start_ns);
    }
    qsort(ns, REPEATED, sizeof ns[0], bench_compare);
    return ns[REPEATED / 2] / 1000;
}

int main(void) {
    printf("%-24s", "tools");
    printf("%24s", "register one by one");
    for (size_t i = 0; i < ARRAY_LENGTH(measures); i++) {
        printf("%24s", measures[i].name);
    }
    printf("\n");
    const char *most = getenv("BENCH_MOST");
    for (size_t k = 0; k < ARRAY_LENGTH(tool_counts); k++) {
        tools_now = tool_counts[k];
        if (most != NULL && tools_now > strtoul(most, NULL, 10)) {
            break;
        }
        struct toolrack *host = open_host();
        uint64_t start_ns = clock_now_ns();
        for (unsigned i = 0; i < tools_now; i++) {
            register_one(host, i);
        }
        double s = (double)(clock_now_ns() - start_ns) / CLOCK_NS_PER_S;
        printf("%-24u%21.3f s ", tools_now, s);
        (void)fflush(stdout);
        for (size_t i = 0; i < ARRAY_LENGTH(measures); i++) {
            printf("%21.1f us", middle_us(host, measures[i].run));
            (void)fflush(stdout);
        }
        printf("\n");
        toolrack_close(host);
    }
    return 0;
}
