/* What a whole call costs through the embedding API, against the same work put together by hand.
 *
 * The work: find the tool among 1,000 by its name, parse about 100 bytes of arguments, check them
 * against a schema of five parameters, run the tool, write about 190 bytes of JSON. The floor does
 * it with code written for this one tool; ours with statistics on, for any tool. */
#include <ffi.h>
#include <string.h>
#include <yyjson.h>

#include "bench.h"
#include "toolrack/plugin.h"
#include "toolrack/toolrack.h"

static const char arguments[] =
        "{\"path\":\"/srv/data/projects/report-2026.txt\",\"mode\":\"regex\",\"limit\":25,"
        "\"ratio\":0.75,\"recursive\":true}";
static const char result_text[] =
        "report-2026.txt: 25 matches in 3 files, first at line 118: "
        "\"replace the hand-made parser\"; the other two files hold one each, in their "
        "last lines";

#define TOOLS     1000
#define TOOL_NAME "search_file_500"

/* ------------------------------------------------------------ the tools */

struct answer {
    const char *text;
    int64_t matches;
    bool is_error;
};
TR_DEFINE_STRUCT(answer, struct answer, (TR_STRING, text, "text"), (TR_I64, matches, "matches"),
                 (TR_BOOL, is_error, "whether it failed"))

static int64_t work(const char *path, const char *mode, int64_t limit, double ratio,
                    bool recursive) {
    return (int64_t)path[0] + mode[0] + limit + (int64_t)ratio + recursive;
}

static struct answer typed(const char *path, const char *mode, int64_t limit, double ratio,
                           bool recursive) {
    return (struct answer){result_text, work(path, mode, limit, ratio, recursive), false};
}
TR_TOOL(typed, "Search", TR_STRUCT(answer),
        (TR_STRING, path, "where", .min_length = 1, .max_length = 4096),
        (TR_STRING, mode, "how", TR_CHOICES("literal", "regex", "glob")),
        (TR_I64, limit, "most", TR_MINIMUM(1), TR_MAXIMUM(1000), TR_DEFAULT(10)),
        (TR_F64, ratio, "share", TR_MINIMUM(0), TR_MAXIMUM(1), TR_DEFAULT(0)),
        (TR_BOOL, recursive, "below", TR_DEFAULT(false)))

static const char json_schema[] = TR_SCHEMA({
    "type" : "object",
    "properties" : {
        "path" : {"type" : "string", "minLength" : 1, "maxLength" : 4096},
        "mode" : {"type" : "string", "enum" : [ "literal", "regex", "glob" ]},
        "limit" : {"type" : "integer", "minimum" : 1, "maximum" : 1000},
        "ratio" : {"type" : "number", "minimum" : 0, "maximum" : 1},
        "recursive" : {"type" : "boolean"}
    },
    "required" : [ "path", "mode" ],
    "additionalProperties" : false
});

/* The same answer as JSON, built with yyjson as a plugin would. */
static size_t build(yyjson_alc *alc, int64_t matches, char **ret) {
    yyjson_mut_doc *doc = yyjson_mut_doc_new(alc);
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    size_t length = 0;
    yyjson_mut_doc_set_root(doc, root);
    (void)yyjson_mut_obj_add_strn(doc, root, "text", result_text, sizeof result_text - 1);
    (void)yyjson_mut_obj_add_int(doc, root, "matches", matches);
    (void)yyjson_mut_obj_add_bool(doc, root, "is_error", false);
    *ret = yyjson_mut_write_opts(doc, 0, alc, &length, NULL);
    return length;
}

static tr_status json(struct tr_call *call) {
    char memory[4096];
    yyjson_alc alc;
    char *text = NULL;
    (void)yyjson_alc_pool_init(&alc, memory, sizeof memory);
    size_t length = build(&alc,
                          work(tr_get_string(call, "path", ""), tr_get_string(call, "mode", ""),
                               tr_get_i64(call, "limit", 10), tr_get_f64(call, "ratio", 0),
                               tr_get_bool(call, "recursive", false)),
                          &text);
    return call->api->reply_json(call, text, length);
}

/* ------------------------------------------------------------ by hand */

struct hand_tool {
    char name[32];
    uint32_t hash;
    ffi_cif cif;
};
static struct hand_tool hand_tools[TOOLS];
static struct hand_tool *hand_slots[2 * 1024];
static ffi_type *answer_elements[] = {&ffi_type_pointer, &ffi_type_sint64, &ffi_type_uint8, NULL};
static ffi_type answer_type = {.type = FFI_TYPE_STRUCT, .elements = answer_elements};
static ffi_type *hand_arguments[] = {&ffi_type_pointer, &ffi_type_pointer, &ffi_type_sint64,
                                     &ffi_type_double, &ffi_type_uint8};

static uint32_t hash_of(const char *name) {
    uint32_t hash = 2166136261u;
    while (*name != '\0') {
        hash = (hash ^ (unsigned char)*name++) * 16777619u;
    }
    return hash;
}

static struct hand_tool *look_up(const char *name) {
    uint32_t hash = hash_of(name);
    for (uint32_t i = hash & 2047; hand_slots[i] != NULL; i = (i + 1) & 2047) {
        if (hand_slots[i]->hash == hash && strcmp(hand_slots[i]->name, name) == 0) {
            return hand_slots[i];
        }
    }
    return NULL;
}

static bool is_key(yyjson_val *key, const char *name, size_t length) {
    return yyjson_get_len(key) == length && memcmp(yyjson_get_str(key), name, length) == 0;
}

/* The values by position, when they fit the schema. */
static bool check(yyjson_val *object, yyjson_val *values[5]) {
    size_t i;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    memset(values, 0, 5 * sizeof *values);
    yyjson_obj_foreach (object, i, count, key, value) {
        if (is_key(key, "path", 4)) {
            values[0] = value;
            if (!yyjson_is_str(value) || yyjson_get_len(value) < 1 ||
                yyjson_get_len(value) > 4096) {
                return false;
            }
        } else if (is_key(key, "mode", 4)) {
            values[1] = value;
            if (!yyjson_equals_str(value, "literal") && !yyjson_equals_str(value, "regex") &&
                !yyjson_equals_str(value, "glob")) {
                return false;
            }
        } else if (is_key(key, "limit", 5)) {
            values[2] = value;
            if (!yyjson_is_int(value) || yyjson_get_sint(value) < 1 ||
                yyjson_get_sint(value) > 1000) {
                return false;
            }
        } else if (is_key(key, "ratio", 5)) {
            values[3] = value;
            if (!yyjson_is_num(value) || yyjson_get_num(value) < 0 || yyjson_get_num(value) > 1) {
                return false;
            }
        } else if (is_key(key, "recursive", 9)) {
            values[4] = value;
            if (!yyjson_is_bool(value)) {
                return false;
            }
        } else {
            return false;
        }
    }
    return values[0] != NULL && values[1] != NULL;
}

static size_t call_by_hand(const char *name, bool through_ffi, char *out) {
    static _Alignas(64) char memory[16384];
    yyjson_alc alc;
    yyjson_val *values[5];
    (void)yyjson_alc_pool_init(&alc, memory, sizeof memory);
    struct hand_tool *tool = look_up(name);
    yyjson_doc *doc =
            yyjson_read_opts((char *)(uintptr_t)arguments, sizeof arguments - 1, 0, &alc, NULL);
    if (tool == NULL || !check(yyjson_doc_get_root(doc), values)) {
        return 0;
    }
    const char *path = yyjson_get_str(values[0]);
    const char *mode = yyjson_get_str(values[1]);
    int64_t limit = values[2] != NULL ? yyjson_get_sint(values[2]) : 10;
    double ratio = values[3] != NULL ? yyjson_get_num(values[3]) : 0;
    uint8_t recursive = values[4] != NULL && yyjson_get_bool(values[4]);
    struct answer answer;
    if (through_ffi) {
        void *pointers[] = {&path, &mode, &limit, &ratio, &recursive};
        ffi_call(&tool->cif, (void (*)(void))typed, &answer, pointers);
    } else {
        answer = typed(path, mode, limit, ratio, recursive);
    }
    char *text = NULL;
    size_t length = build(&alc, answer.matches, &text);
    memcpy(out, text, length);
    return length;
}

static void make_hand_tools(void) {
    for (int i = 0; i < TOOLS; i++) {
        struct hand_tool *tool = &hand_tools[i];
        (void)snprintf(tool->name, sizeof tool->name, "search_file_%03d", i);
        tool->hash = hash_of(tool->name);
        (void)ffi_prep_cif(&tool->cif, FFI_DEFAULT_ABI, 5, &answer_type, hand_arguments);
        uint32_t at = tool->hash & 2047;
        while (hand_slots[at] != NULL) {
            at = (at + 1) & 2047;
        }
        hand_slots[at] = tool;
    }
}

/* ------------------------------------------------------------ the host */

static struct toolrack *host;

static void die(const char *what, const struct toolrack_error *err) {
    (void)fprintf(stderr, "bench-call: %s: %s\n", what, err->message);
    exit(1);
}

static void register_tools(void) {
    static struct tr_tool tools[2 * TOOLS];
    static const struct tr_tool *table[2 * TOOLS];
    static char names[2 * TOOLS][32];
    struct tr_plugin plugin = {.magic = TR_MAGIC,
                               .size = sizeof plugin,
                               .abi_major = TR_ABI_MAJOR,
                               .id = "bench",
                               .version = "1.0.0",
                               .flags = TR_THREAD_SAFE,
                               .tool_count = TOOLS,
                               .tool_size = sizeof(struct tr_tool)};
    struct toolrack_error err;
    for (int i = 0; i < TOOLS; i++) {
        (void)snprintf(names[i], sizeof names[i], "search_file_%03d", i);
        tools[i] = tr_tool_typed;
        tools[i].name = names[i];
        table[i] = &tools[i];
    }
    plugin.tools = table;
    if (toolrack_register(host, &plugin, NULL, &err) < 0) {
        die("register", &err);
    }
    static const struct tr_tool json_tool = {.size = sizeof(struct tr_tool),
                                             .name = "json",
                                             .description = "Search",
                                             .schema = json_schema,
                                             .run = json};
    static const struct tr_tool *const json_table[] = {&json_tool};
    plugin.id = "bench_json";
    plugin.tools = json_table;
    plugin.tool_count = 1;
    if (toolrack_register(host, &plugin, NULL, &err) < 0) {
        die("register", &err);
    }
}

static void call_host(const char *name, uint32_t deadline_ms) {
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    struct toolrack_result *result = NULL;
    struct toolrack_error err;
    options.deadline_ms = deadline_ms;
    if (toolrack_call(host, name, arguments, &options, &result, &err) < 0) {
        die(name, &err);
    }
    BENCH_KEEP(toolrack_result_json(result, NULL));
    toolrack_result_free(result);
}

/* ------------------------------------------------------------ hand-over floor */

static pthread_mutex_t hand_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t hand_there = PTHREAD_COND_INITIALIZER;
static pthread_cond_t hand_back = PTHREAD_COND_INITIALIZER;
static long asked;
static long answered;

static void *answer_for_ever(void *unused) {
    char out[4096];
    (void)unused;
    (void)pthread_mutex_lock(&hand_lock);
    for (;;) {
        while (asked == answered) {
            (void)pthread_cond_wait(&hand_there, &hand_lock);
        }
        (void)pthread_mutex_unlock(&hand_lock);
        BENCH_KEEP(call_by_hand(TOOL_NAME, true, out));
        (void)pthread_mutex_lock(&hand_lock);
        answered = asked;
        (void)pthread_cond_signal(&hand_back);
    }
    return NULL;
}

/* ------------------------------------------------------------ rows */

static void row_floor_typed(long times) {
    char out[4096];
    for (long i = 0; i < times; i++) {
        BENCH_KEEP(call_by_hand(TOOL_NAME, true, out));
    }
}

static void row_floor_json(long times) {
    char out[4096];
    for (long i = 0; i < times; i++) {
        BENCH_KEEP(call_by_hand(TOOL_NAME, false, out));
    }
}

static void row_typed(long times) {
    for (long i = 0; i < times; i++) {
        call_host(TOOL_NAME, TOOLRACK_NO_DEADLINE);
    }
}

static void row_json(long times) {
    for (long i = 0; i < times; i++) {
        call_host("json", TOOLRACK_NO_DEADLINE);
    }
}

static void row_floor_handed(long times) {
    for (long i = 0; i < times; i++) {
        (void)pthread_mutex_lock(&hand_lock);
        asked++;
        (void)pthread_cond_signal(&hand_there);
        while (answered != asked) {
            (void)pthread_cond_wait(&hand_back, &hand_lock);
        }
        (void)pthread_mutex_unlock(&hand_lock);
    }
}

static void row_handed(long times) {
    for (long i = 0; i < times; i++) {
        call_host(TOOL_NAME, 0);
    }
}

static void show_the_work_is_the_same(void) {
    char out[4096];
    size_t length = call_by_hand(TOOL_NAME, true, out);
    struct toolrack_error err;
    for (int i = 0; i < 2; i++) {
        struct toolrack_result *result = NULL;
        if (toolrack_call(host, i == 0 ? TOOL_NAME : "json", arguments, NULL, &result, &err) < 0) {
            die("call", &err);
        }
        const char *json = toolrack_result_json(result, NULL);
        if (strlen(json) != length || memcmp(json, out, length) != 0) {
            (void)fprintf(stderr, "bench-call: not the same work:\n%.*s\n%s\n", (int)length, out,
                          json);
            exit(1);
        }
        toolrack_result_free(result);
    }
    printf("%zu bytes of arguments, %zu bytes of result, one of %d tools\n", sizeof arguments - 1,
           length, TOOLS);
}

/* With a number the row of that number runs alone, for a profiler; with another one, so often. */
int main(int count, char **values) {
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    struct toolrack_error err;
    pthread_t thread;
    options.config_file = "";
    options.state_dir = "";
    options.no_scan = true;
    make_hand_tools();
    if (toolrack_open(&options, &host, &err) < 0) {
        die("open", &err);
    }
    register_tools();
    show_the_work_is_the_same();
    (void)pthread_create(&thread, NULL, answer_for_ever, NULL);

    struct bench_row rows[] = {
            {.name = "by hand, typed through libffi", .run = row_floor_typed, .times = 100000},
            {.name = "typed tool, caller's thread", .run = row_typed, .times = 100000},
            {.name = "by hand, parsed object", .run = row_floor_json, .times = 100000},
            {.name = "JSON tool, caller's thread", .run = row_json, .times = 100000},
            {.name = "by hand, on another thread", .run = row_floor_handed, .times = 2000},
            {.name = "typed tool, with a deadline", .run = row_handed, .times = 2000},
    };
    if (count > 1) {
        rows[(size_t)atoi(values[1]) % (sizeof rows / sizeof rows[0])].run(
                count > 2 ? atol(values[2]) : 3000000);
        return 0;
    }
    bench_run(rows, sizeof rows / sizeof rows[0]);
    bench_print(&rows[0], NULL, NULL);
    bench_print(&rows[1], &rows[0], "1.6");
    bench_print(&rows[2], NULL, NULL);
    bench_print(&rows[3], &rows[2], "1.5");
    bench_print(&rows[4], NULL, NULL);
    bench_print(&rows[5], &rows[4], NULL);
    toolrack_close(host);
    return 0;
}
