#include "api/agent-results.h"

#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/number.h"
#include "base/text.h"
#include "base/utf8.h"
#include "format/definitions.h"
#include "format/limits.h"
#include "registry/text.h"
#include "run/run.h"
#include "schema/schema.h"

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)

/* The part of a long result that the model is given at once, of the longest that it gets whole. */
#define PARTS    4u
#define PART_MIN 256u

/* --------------------------------------------------------------------- the tool */

/* Names of which the first is taken that no tool of the host has. */
static const char *const names[] = {"read_result", "read_long_result"};

static const char schema[] =
        "{\"type\":\"object\",\"properties\":{"
        "\"id\":{\"type\":\"integer\",\"minimum\":1,\"description\":\"Number of the result\"},"
        "\"offset\":{\"type\":\"integer\",\"minimum\":0,\"default\":0,\"description\":"
        "\"Byte at which to begin\"},"
        "\"length\":{\"type\":\"integer\",\"minimum\":1,\"description\":\"Most bytes to read\"},"
        "\"find\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":256,\"description\":"
        "\"List the places of this text from offset on, instead of reading\"}},"
        "\"required\":[\"id\"],\"additionalProperties\":false}";

static bool is_taken(const struct agent_tools *tools, const char *name) {
    struct toolrack_tool *tool = toolrack_get(tools->host, name);
    toolrack_tool_unref(tool);
    return tool != NULL;
}

static void tell(const struct agent_results *results, const char *line) {
    const struct toolrack_agent_options *app = results->tools->app;
    app->note(app->user, line);
}

/* Decide which name the tool has, once it is needed. */
static void settle(struct agent_results *results) {
    const struct agent_tools *tools = results->tools;
    size_t most = provider_limits[tools->app->format].tools_max;
    size_t offered = tools->app->plan != 0 ? 1 : tools->count;
    if (results->is_settled) {
        return;
    }
    results->is_settled = true;
    if (most > 0 && offered >= most) {
        tell(results, "the model cannot read on in long results: the provider takes no more tools");
        return;
    }
    for (size_t i = 0; i < ARRAY_LENGTH(names) && results->tool == NULL; i++) {
        results->tool = is_taken(tools, names[i]) ? NULL : names[i];
    }
    if (results->tool == NULL) {
        tell(results, "the model cannot read on in long results: there are tools read_result and "
                      "read_long_result");
    } else if (results->tool != names[0]) {
        tell(results, "the model reads on in long results by read_long_result: there is a tool "
                      "read_result");
    }
}

int agent_results_define(struct agent_results *results, struct toolrack_text **ret,
                         struct toolrack_error *err) {
    *ret = NULL;
    if (results->is_offered || results_count(results->store) == 0) {
        return 0;
    }
    settle(results);
    results->is_offered = true;
    if (results->tool == NULL) {
        return 0;
    }
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    const struct format_tool tool = {
            .name = results->tool,
            .title = "Read a long result",
            .description = "Read on in a result of this conversation that was too long to be "
                           "given whole, or search it. What was given of it says its id.",
            .schema = schema,
            .read_only = true,
            .idempotent = true};
    int code =
            format_definitions(results->tools->app->format, &tool, 1, NULL, &out, NULL, NULL, err);
    if (code == 0) {
        *ret = text_create(&out);
        code = *ret != NULL ? 0 : error_oom(err);
    }
    return code;
}

/* --------------------------------------------------------------------- long results */

static void note_kept(const struct agent_results *results, const struct format_call *call,
                      size_t length, size_t given, const struct toolrack_error *why) {
    CLEANUP(buf_finish) struct buf line = BUF_INIT;
    text_add_line(&line, call->name, strlen(call->name));
    buf_printf(&line, ": the result has %zu bytes; the model is given the first %zu", length,
               given);
    if (why != NULL) {
        buf_printf(&line, ", and the rest is lost: %s", why->message);
    } else if (results->tool != NULL) {
        buf_printf(&line, ", and may read the rest");
    }
    if (!line.failed) {
        tell(results, line.data);
    }
}

static bool keep(void *user, const struct format_call *call, char *text, size_t length,
                 struct buf *out) {
    struct agent_results *results = user;
    struct toolrack_error err = {0};
    uint64_t number = 0;
    int code = results_keep(results->store, text, &length, &number, &err);
    if (code == TOOLRACK_E_NO_MEMORY) {
        return false;
    }
    settle(results);
    size_t given = utf8_cut(text, results->part);
    buf_add(out, text, given);
    buf_printf(out, "\n\n[These are the first %zu bytes of a result that has %zu. ", given, length);
    if (code < 0) {
        buf_add_text(out, "The rest could not be kept.]");
    } else if (results->tool == NULL) {
        buf_add_text(out, "The rest cannot be read.]");
    } else {
        buf_printf(out,
                   "Read on: call %s with {\"id\": %" PRIu64 ", \"offset\": %zu}; search it: with "
                   "{\"id\": %" PRIu64 ", \"find\": TEXT}.]",
                   results->tool, number, given, number);
    }
    note_kept(results, call, length, given, code < 0 ? &err : NULL);
    return !out->failed;
}

/* --------------------------------------------------------------------- calls */

bool agent_results_has(const struct agent_results *results, const char *name) {
    return results != NULL && results->tool != NULL && strcmp(results->tool, name) == 0;
}

/* What a call asks for. */
struct asked {
    uint64_t id;
    uint64_t offset;
    uint64_t length;
    const char *find; /* NULL: to read */
};

/* The schema has bounds: what is beyond 64 bits is beyond each result too. */
static uint64_t read_number(yyjson_val *value, uint64_t otherwise) {
    if (value == NULL) {
        return otherwise;
    }
    const struct number number = number_of(value);
    return number.is_integer && number.integer <= UINT64_MAX ? (uint64_t)number.integer
                                                             : UINT64_MAX;
}

/* As the arguments of each tool are read. */
static int read_arguments(const struct agent_results *results, const struct format_call *call,
                          struct run *run, struct asked *ret, struct toolrack_error *err) {
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = yyjson_read(schema, sizeof schema - 1, 0);
    struct schema *compiled = NULL;
    int code = doc != NULL ? schema_compile(yyjson_doc_get_root(doc), NULL, &compiled, err)
                           : error_oom(err);
    if (code == 0) {
        enum toolrack_tolerance tolerance = (enum toolrack_tolerance)toolrack_format_tolerance(
                results->tools->host, results->tools->app->format);
        code = call_take_arguments(run, compiled, tolerance, call->arguments,
                                   call->arguments_length, err);
    }
    schema_destroy(compiled);
    yyjson_val *find = code == 0 ? yyjson_obj_get(run->arguments, "find") : NULL;
    if (find != NULL && strlen(yyjson_get_str(find)) != yyjson_get_len(find)) {
        return error_set_field(err, TOOLRACK_E_INVALID_ARGUMENTS, "/find",
                               "must be a string without the character U+0000");
    }
    if (code == 0) {
        ret->id = read_number(yyjson_obj_get(run->arguments, "id"), 0);
        ret->offset = read_number(yyjson_obj_get(run->arguments, "offset"), 0);
        ret->length = read_number(yyjson_obj_get(run->arguments, "length"), results->part);
        ret->find = yyjson_get_str(find);
    }
    return code;
}

static int read_part(const struct agent_results *results, const struct asked *asked,
                     struct buf *out, struct toolrack_error *err) {
    struct results_part part = {.number = asked->id, .begin = asked->offset};
    size_t most = results->keeping.length_max;
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    int code = results_read(results->store, &part,
                            asked->length < most ? (size_t)asked->length : most, &text, err);
    if (code < 0) {
        return code;
    }
    buf_printf(out, "[Bytes %" PRIu64 " to %" PRIu64 " of %" PRIu64, part.begin, part.end,
               part.size);
    if (part.end < part.size) {
        buf_printf(out, "; go on with \"offset\": %" PRIu64, part.end);
    }
    buf_add_text(out, "]\n");
    text_add_valid(out, text.data != NULL ? text.data : "", text.length);
    return 0;
}

static int find_text(const struct agent_results *results, const struct asked *asked,
                     struct buf *out, struct toolrack_error *err) {
    struct results_part part = {.number = asked->id, .begin = asked->offset};
    CLEANUP(buf_finish) struct buf places = BUF_INIT;
    size_t count = 0;
    int code = results_find(results->store, &part, asked->find, &places, &count, err);
    if (code < 0) {
        return code;
    }
    buf_printf(out, "[%zu place%s from byte %" PRIu64 " to %" PRIu64 " of %" PRIu64, count,
               text_plural(count), part.begin, part.end, part.size);
    if (part.end < part.size) {
        buf_printf(out, "; go on with \"offset\": %" PRIu64, part.end);
    }
    buf_add_text(out, "]\n");
    text_add_valid(out, places.data != NULL ? places.data : "", places.length);
    return places.failed ? error_oom(err) : 0;
}

int agent_results_call(const struct agent_results *results, const struct format_call *call,
                       struct buf *out, struct toolrack_error *err) {
    _Alignas(16) char memory[RUN_FIRST_MEMORY];
    struct asked asked = {0};
    struct run run;
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    run_init(&run, NULL, memory, sizeof memory);
    int code = read_arguments(results, call, &run, &asked, err);
    if (code == 0) {
        code = asked.find != NULL ? find_text(results, &asked, &text, err)
                                  : read_part(results, &asked, &text, err);
    }
    if (code == 0) {
        buf_add_json_string(out, text.data, text.length);
        code = text.failed || out->failed ? error_oom(err) : 0;
    }
    run_finish(&run);
    error_set_tool(err, call->name);
    return code;
}

/* --------------------------------------------------------------------- life */

int agent_results_init(struct agent_results *ret, const struct agent_tools *tools,
                       struct toolrack_error *err) {
    uint64_t most = tools->app->result_bytes_max;
    *ret = (struct agent_results){.tools = tools, .part = most / PARTS};
    ret->part = ret->part < PART_MIN ? PART_MIN : ret->part;
    ret->keeping = (struct format_keeping){.length_max = most, .user = ret, .keep = keep};
    /* A file that was named may say any id: it leads to nothing that is kept. */
    return results_create(tools->app->transcript == NULL ? tools->host->places.kept_dir : NULL,
                          tools->app->call->conversation, &ret->store, err);
}

void agent_results_finish(struct agent_results *results) {
    results_destroy(results->store);
    *results = (struct agent_results){0};
}
