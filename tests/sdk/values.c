/* values - what the macros make of a list, text by text: stringified options must come out as they
 * were written (true, and not the 1 that <stdbool.h> makes of it), in any order of options. */
#include "good/everything.c"

#include <string.h>

static unsigned count;
static unsigned failed;

static void check(bool ok, const char *what) {
    printf("%sok %u - %s\n", ok ? "" : "not ", ++count, what);
    failed += !ok;
}

static void check_text(const char *actual, const char *expected, const char *what) {
    bool same = expected == NULL ? actual == NULL : actual != NULL && strcmp(actual, expected) == 0;
    check(same, what);
    if (!same) {
        printf("# %s instead of %s\n", actual == NULL ? "NULL" : actual,
               expected == NULL ? "NULL" : expected);
    }
}

static const struct tr_param *param(const struct tr_tool *tool, const char *name) {
    for (uint32_t i = 0; i < tool->param_count; i++) {
        if (strcmp(tool->params[i].name, name) == 0) {
            return &tool->params[i];
        }
    }
    static const struct tr_param none;
    return &none;
}

static const struct tr_param *field(const struct tr_type *type, const char *name) {
    struct tr_tool fields = {.params = type->fields, .param_count = type->field_count};
    return param(&fields, name);
}

static void check_options(void) {
    const struct tr_tool *tool = &tr_tool_many;
    check_text(param(tool, "flag")->default_json, "true", "true stays true");
    check_text(param(tool, "i8")->minimum_json, "-10", "minimum");
    check_text(param(tool, "i8")->maximum_json, "10", "maximum");
    check_text(param(tool, "i16")->exclusive_minimum_json, "-10", "exclusive minimum");
    check_text(param(tool, "i16")->exclusive_maximum_json, "10", "exclusive maximum");
    check_text(param(tool, "i32")->multiple_of_json, "5", "multiple");
    check_text(param(tool, "i32")->default_json, NULL, "no default");
    check_text(param(tool, "i64")->default_json, "-9223372036854775808", "least integer");
    check_text(param(tool, "u64")->maximum_json, "18446744073709551615", "largest integer");
    check_text(param(tool, "f64")->choices_json, "[0.5, 1, 2]", "choices of numbers");
    check_text(param(tool, "text")->choices_json, "[\"a\", \"b\"]", "choices of texts");
    check_text(param(tool, "text")->default_json, "\"a\"", "default of a text");
    check_text(param(tool, "text")->pattern, "^[a-z]+$", "pattern");
    check_text(param(tool, "text")->format, "hostname", "format");
    check(param(tool, "text")->min_length == 1 && param(tool, "text")->max_length == 10, "lengths");
    check_text(param(tool, "json")->default_json, "{\"a\": [1, 2, {\"b\": null}]}",
               "default with commas");
    check_text(param(tool, "numbers")->default_json, "[1, 2, 3]", "default of an array");
    check(param(tool, "numbers")->min_items == 1 && param(tool, "numbers")->max_items == 9 &&
                  param(tool, "numbers")->flags == TR_PARAM_UNIQUE_ITEMS,
          "items");
    check_text(param(tool, "u8")->description, "number", "description");
}

static void check_types(void) {
    const struct tr_type *shape = tr_tool_echo.result;
    check(shape->kind == TR_KIND_STRUCT && shape->width == sizeof(struct shape) &&
                  shape->field_count == 24,
          "a struct with all its fields");
    check(field(shape, "origin")->offset == offsetof(struct shape, origin) &&
                  field(shape, "maybe_bytes")->offset == offsetof(struct shape, maybe_bytes),
          "offsets");
    const struct tr_type *table = field(shape, "table")->type;
    check(table->kind == TR_KIND_ARRAY && table->item->kind == TR_KIND_ARRAY &&
                  table->item->item->kind == TR_KIND_F64,
          "an array of arrays");
    const struct tr_type *points = field(shape, "maybe_points")->type;
    check(points->flags == TR_TYPE_NULLABLE && points->item->kind == TR_KIND_STRUCT &&
                  points->item->fields == tr_fields_point && points->item->flags == 0,
          "a nullable array of structs");
    check(field(shape, "maybe_text")->type->flags == TR_TYPE_OPTIONAL &&
                  field(shape, "maybe_text")->type->kind == TR_KIND_STRING,
          "an optional text");
    const struct tr_type *big = param(&tr_tool_many, "big")->type;
    check(big->kind == TR_KIND_ENUM && big->width == 8 && big->choice_count == 2 &&
                  big->choices[0].value == INT64_C(5000000000) && big->choices[1].value == -1,
          "an enumeration of 8 bytes");
    check(tr_tool_echo.params[0].type->kind == TR_KIND_CALL, "the call comes first");
    check(tr_tool_echo.params[1].type->flags == TR_TYPE_BY_POINTER, "a struct by pointer");
    check(tr_tool_nothing.result->kind == TR_KIND_NONE && tr_tool_nothing.param_count == 0,
          "no result and no parameters");
    check(tr_tool_sum32.param_count == 32 && strcmp(tr_tool_sum32.params[31].name, "p32") == 0,
          "32 parameters in their order");
}

static void check_records(void) {
    const struct tr_tool *tool = &tr_tool_echo;
    check_text(tool->description, "Give back what came in", "a description with options");
    check(tool->permission == TR_CONFIRM && tool->priority == -5 && tool->deadline_ms == 1000,
          "options of a tool");
    check(tool->function == (void (*)(void))echo && tool->run == NULL, "a typed entry");
    check(tr_tool_whole_call.function == NULL && tr_tool_whole_call.run == whole_call,
          "a JSON entry");
    check_text(tr_tool_whole_call.schema, "{\"type\": \"object\", \"additionalProperties\": true}",
               "true in a schema stays true");
    check(toolrack_plugin.capability_count == 5 &&
                  toolrack_plugin.capabilities[2].kind == TR_CAP_NETWORK &&
                  strcmp(toolrack_plugin.capabilities[2].value, "example.org:443") == 0,
          "capabilities with their count");
    check(toolrack_plugin.tool_count == 10 && toolrack_plugin.tools[9] == &tr_tool_whole_call,
          "the tools in their order");
}

static void check_examples(void) {
    const struct tr_tool *tool = &tr_tool_sum32;
    check(tool->example_count == 2 && tool->example_size == sizeof(struct tr_example),
          "examples with their count");
    check_text(tool->examples[0].arguments, "{\"p1\": 1, \"p2\": true}", "arguments of an example");
    check_text(tool->examples[0].result, "3", "result of an example");
    check_text(tool->examples[1].arguments, "{}", "the next one");
    check_text(tool->tags, "many", "an option behind the examples");
    check(tr_tool_echo.example_count == 1 && tr_tool_echo.examples[0].result == NULL,
          "an example without a result");
    check(tr_tool_whole_call.example_count == 1, "an example of a JSON tool");
    check(tr_tool_nothing.example_count == 0 && tr_tool_nothing.examples == NULL, "no examples");
}

/* Hands the schema back, so that one sees it was reached with what was asked. */
static tr_status answer(struct tr_call *call, const char *message, const char *schema,
                        const char **ret_content) {
    (void)call;
    *ret_content = schema;
    return strcmp(message, "Why?") == 0 ? TR_PERMISSION_DENIED : TR_OK;
}

static void check_ask(void) {
    struct tr_call_api api = {.size = sizeof api, .ask = answer};
    struct tr_call call = {&api};
    const char *content = NULL;
    check(tr_ask(&call, "What?", "{}", &content) == TR_OK, "a question is asked");
    check_text(content, "{}", "its schema arrives");
    check(tr_ask(&call, "Why?", "{}", &content) == TR_PERMISSION_DENIED, "a question is declined");
    content = NULL;
    api.size = offsetof(struct tr_call_api, ask);
    check(tr_ask(&call, "What?", "{}", &content) == TR_ABSENT, "a host of 1.0 asks nobody");
    api = (struct tr_call_api){.size = sizeof api};
    check(tr_ask(&call, "What?", "{}", &content) == TR_ABSENT, "a host that cannot ask says so");
    check_text(content, NULL, "nothing is answered then");
}

/* Answers what has a key, and hands back what was asked. */
static tr_status take_inputs(struct tr_call *call, struct tr_input *inputs, uint32_t asked) {
    (void)call;
    for (uint32_t i = 0; i < asked; i++) {
        inputs[i].answer = inputs[i].key != NULL ? TR_ANSWER_ACCEPTED : TR_ANSWER_DECLINED;
        inputs[i].content = inputs[i].kind == TR_INPUT_SAMPLE ? inputs[i].request
                            : inputs[i].kind == TR_INPUT_FORM ? inputs[i].schema
                                                              : "{}";
    }
    return TR_OK;
}

static void check_inputs(void) {
    struct tr_call_api api = {.size = sizeof api, .ask = answer, .inputs = take_inputs};
    struct tr_call call = {&api};
    const char *content = NULL;
    check(tr_ask_as(&call, "a", "Why?", "{\"a\":1}", &content) == TR_OK, "a named question");
    check_text(content, "{\"a\":1}", "its schema arrives");
    check(tr_sample(&call, "b", "{\"b\":1}", &content) == TR_OK, "the model is asked");
    check_text(content, "{\"b\":1}", "its request arrives");
    check(tr_sample(&call, NULL, "{}", &content) == TR_PERMISSION_DENIED, "it is declined");
    check(tr_roots(&call, "c", &content) == TR_OK, "the folders are asked for");
    check_text(content, "{}", "and given");
    check(tr_ask_url(&call, "d", "Log in", "https://example.org") == TR_OK, "an address");
    api.size = offsetof(struct tr_call_api, inputs);
    check(tr_ask_as(&call, "a", "Why?", "{}", &content) == TR_PERMISSION_DENIED,
          "a host of 1.1 asks without the name");
    content = NULL;
    check(tr_sample(&call, "b", "{}", &content) == TR_ABSENT, "and has no model");
    check(tr_roots(&call, "c", &content) == TR_ABSENT, "and no folders");
    check_text(content, NULL, "nothing is answered then");
}

/* A host's getters of 1.0: "n" is a number, "s" a string, all else is absent. */
static tr_status give_i64(struct tr_call *call, const char *path, int64_t *ret) {
    (void)call;
    *ret = strcmp(path, "n") == 0 ? 7 : *ret;
    return strcmp(path, "n") == 0 ? TR_OK : strcmp(path, "s") == 0 ? TR_INVALID_ARGUMENTS : TR_ABSENT;
}

static tr_status give_string(struct tr_call *call, const char *path, const char **ret,
                             uint64_t *ret_length) {
    (void)call;
    (void)ret_length;
    *ret = strcmp(path, "s") == 0 ? "text" : *ret;
    return strcmp(path, "s") == 0 ? TR_OK : TR_ABSENT;
}

static tr_status give_nothing(struct tr_call *call, const char *path, struct tr_bytes *ret) {
    (void)call;
    (void)path;
    (void)ret;
    return TR_LIMIT_EXCEEDED;
}

/* Notes what it was asked for. */
static uint32_t asked_count;
static uint32_t asked_kinds[8];
static tr_status give_all(struct tr_call *call, struct tr_argument *arguments, uint32_t n,
                          uint32_t size) {
    (void)call;
    check(size == sizeof(struct tr_argument), "the size of an argument is stated");
    asked_count = n;
    for (uint32_t i = 0; i < n && i < 8; i++) {
        asked_kinds[i] = arguments[i].kind;
    }
    return TR_OK;
}

static void check_get_all(void) {
    struct tr_call_api api = {.size = sizeof api, .get_all = give_all};
    struct tr_call call = {&api};
    bool b = true;
    int64_t n = 1;
    uint64_t u = 2;
    double d = 3;
    const char *s = "none";
    struct tr_bytes bytes = {NULL, 0};
    check(TR_GET_ALL(&call, TR_GET(b), TR_GET(n), TR_GET(u), TR_GET(d), TR_GET(s), TR_GET(bytes)) ==
                  TR_OK,
          "all at once");
    static const uint32_t kinds[] = {TR_KIND_BOOL, TR_KIND_I64,    TR_KIND_U64,
                                     TR_KIND_F64,  TR_KIND_STRING, TR_KIND_BYTES};
    check(asked_count == 6 && memcmp(asked_kinds, kinds, sizeof kinds) == 0,
          "each by the type of its variable");
    api.size = offsetof(struct tr_call_api, get_all);
    api.get_i64 = give_i64;
    api.get_string = give_string;
    api.get_bytes = give_nothing;
    struct tr_argument arguments[] = {{"n", TR_KIND_I64, TR_OK, &n},
                                      {"s", TR_KIND_STRING, TR_FAILED, &s},
                                      {"s", TR_KIND_I64, TR_OK, &u},
                                      {"other", TR_KIND_STRING, TR_OK, &s},
                                      {"n", TR_KIND_CALL, TR_OK, &d},
                                      {"bytes", TR_KIND_BYTES, TR_OK, &bytes}};
    check(tr_get_all(&call, arguments, 5) == TR_OK, "a host of 1.4 gives them one by one");
    check(n == 7 && arguments[0].status == TR_OK, "a number");
    check(arguments[1].status == TR_OK, "a string");
    check_text(s, "text", "which one that is absent leaves");
    check(arguments[2].status == TR_INVALID_ARGUMENTS && u == 2, "one of another type");
    check(arguments[3].status == TR_ABSENT, "an absent one");
    check(arguments[4].status == TR_INVALID_ARGUMENTS, "a kind that cannot be read");
    check(tr_get_all(&call, arguments, 6) == TR_LIMIT_EXCEEDED, "a failure ends it");
}

int main(void) {
    check_options();
    check_types();
    check_records();
    check_examples();
    check_ask();
    check_inputs();
    check_get_all();
    printf("1..%u\n", count);
    return failed == 0 ? 0 : 1;
}
