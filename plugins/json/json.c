/* json - querying, changing, comparing and checking JSON.
 *
 * The arguments come as one JSON text, which yyjson reads again here; the host has checked them, so
 * what is required is there. Queries are libjq's (query.h), the schemas are checked by the same
 * code that the host checks arguments with, which is compiled in. */
#include <toolrack/plugin.h>

#include <stdlib.h>
#include <string.h>

#include <yyjson.h>

#include "base/json.h"
#include "patch.h"
#include "query.h"
#include "schema/schema.h"

/* The same as in the schemas below. */
#define RESULTS_MAX 10000
#define TIME_MS_MAX 20000

/* ------------------------------------------------------------ arguments */

/* The arguments of a call; with `doc` NULL the call has been failed. */
struct arguments {
    yyjson_doc *doc;
    yyjson_val *root;
};

static struct arguments read_arguments(struct tr_call *call) {
    const char *text = tr_arguments(call);
    yyjson_doc *doc = yyjson_read(text, strlen(text), 0);
    if (doc == NULL) {
        (void)tr_fail(call, TR_FAILED, NULL, "out of memory");
    }
    return (struct arguments){doc, yyjson_doc_get_root(doc)};
}

/* A member that is not too deep for functions that walk it recursively. NULL: the call has been
 * failed. */
static yyjson_val *take(struct tr_call *call, const struct arguments *arguments, const char *name) {
    yyjson_val *value = yyjson_obj_get(arguments->root, name);
    if (value == NULL) {
        (void)tr_fail(call, TR_INVALID_ARGUMENTS, name, "must be given");
    } else if (json_is_deeper(value, PATCH_DEPTH_MAX)) {
        (void)tr_fail(call, TR_LIMIT_EXCEEDED, name, "is nested deeper than the %u levels allowed",
                      PATCH_DEPTH_MAX);
        value = NULL;
    }
    return value;
}

static tr_status fail_memory(struct tr_call *call) {
    return tr_fail(call, TR_LIMIT_EXCEEDED, NULL, "out of memory");
}

/* Reply with the root of a document. */
static tr_status reply_document(struct tr_call *call, const yyjson_mut_doc *doc) {
    char *text = yyjson_mut_write(doc, 0, NULL);
    tr_status status = text == NULL ? fail_memory(call) : tr_reply_json(call, text);
    free(text);
    return status;
}

/* ------------------------------------------------------------ json_query */

static bool call_cancelled(void *user) {
    return tr_cancelled(user);
}

static tr_status fail_query(struct tr_call *call, const struct query *query,
                            const struct query_result *result) {
    switch (result->end) {
    case QUERY_BAD_DOCUMENT:
        return tr_fail(call, TR_INVALID_ARGUMENTS, "document", "jq cannot read it: %s",
                       result->message);
    case QUERY_BAD_PROGRAM:
        return tr_fail(call, TR_INVALID_ARGUMENTS, "filter", "is no jq program: %s",
                       result->message);
    case QUERY_FAILED:
        return tr_fail(call, TR_FAILED, "filter", "the filter failed: %s", result->message);
    case QUERY_TOO_LONG:
        return tr_fail(call, TR_LIMIT_EXCEEDED, "filter",
                       "the filter ran longer than %llu ms; look at fewer values, end its loop, or "
                       "give it a larger timeout_ms",
                       (unsigned long long)query->time_ms_max);
    case QUERY_TOO_LARGE:
        return tr_fail(call, TR_LIMIT_EXCEEDED, "filter",
                       "the filter took more memory than the %zu MiB allowed; it must not build "
                       "such large values",
                       QUERY_MEMORY_MAX >> 20);
    case QUERY_TOO_MUCH:
        return tr_fail(call, TR_LIMIT_EXCEEDED, "filter",
                       "the results are larger than %zu bytes; select less", QUERY_OUTPUT_MAX);
    case QUERY_TOO_DEEP:
        return tr_fail(call, TR_LIMIT_EXCEEDED, "filter",
                       "a result has more than %d levels of arrays and objects, which jq does not "
                       "write; select a part of it",
                       QUERY_DEPTH_MAX);
    case QUERY_CANCELLED: return tr_fail(call, TR_CANCELLED, NULL, "cancelled");
    default: return tr_fail(call, TR_FAILED, NULL, "no memory or no thread for the query");
    }
}

static tr_status reply_query(struct tr_call *call, const struct query_result *result) {
    struct buf reply = BUF_INIT;
    buf_add_text(&reply, "{\"results\":[");
    buf_add(&reply, result->output.data, result->output.length);
    buf_printf(&reply, "],\"count\":%llu,\"truncated\":%s}", (unsigned long long)result->count,
               result->end == QUERY_TRUNCATED ? "true" : "false");
    tr_status status = reply.failed ? fail_memory(call) : tr_reply_json(call, reply.data);
    buf_finish(&reply);
    return status;
}

static tr_status json_query(struct tr_call *call) {
    struct query query = {.document = tr_get_json(call, "document", "null"),
                          .program = tr_get_string(call, "filter", NULL),
                          .variables = tr_get_json(call, "variables", NULL),
                          .results_max = tr_get_u64(call, "max_results", 1000),
                          .time_ms_max = tr_get_u64(call, "timeout_ms", 5000),
                          .cancelled = call_cancelled,
                          .user = call};
    if (query.program == NULL) {
        return tr_fail(call, TR_INVALID_ARGUMENTS, "filter", "must not contain U+0000");
    }
    if (query.results_max < 1 || query.results_max > RESULTS_MAX) {
        return tr_fail(call, TR_INVALID_ARGUMENTS, "max_results", "must be from 1 to %d",
                       RESULTS_MAX);
    }
    if (query.time_ms_max < 1 || query.time_ms_max > TIME_MS_MAX) {
        return tr_fail(call, TR_INVALID_ARGUMENTS, "timeout_ms", "must be from 1 to %d",
                       TIME_MS_MAX);
    }
    query.document_length = strlen(query.document);
    struct query_result result;
    query_run(&query, &result);
    tr_status status = result.end == QUERY_OK || result.end == QUERY_TRUNCATED
                               ? reply_query(call, &result)
                               : fail_query(call, &query, &result);
    query_result_finish(&result);
    return status;
}

/* ------------------------------------------------------------ json_patch, json_merge_patch */

static tr_status json_patch(struct tr_call *call) {
    struct arguments arguments = read_arguments(call);
    yyjson_val *document = arguments.doc == NULL ? NULL : take(call, &arguments, "document");
    yyjson_val *patch = document == NULL ? NULL : take(call, &arguments, "patch");
    yyjson_mut_doc *doc = patch == NULL ? NULL : yyjson_mut_doc_new(NULL);
    tr_status status = TR_FAILED;
    if (doc != NULL) {
        yyjson_mut_doc_set_root(doc, yyjson_val_mut_copy(doc, document));
        char message[PATCH_MESSAGE_MAX];
        char field[32];
        size_t at;
        enum patch_end end = yyjson_mut_doc_get_root(doc) == NULL
                                     ? PATCH_TOO_LARGE
                                     : patch_apply(doc, patch, &at, message);
        if (end == PATCH_OK) {
            status = reply_document(call, doc);
        } else if (yyjson_mut_doc_get_root(doc) == NULL) {
            status = fail_memory(call);
        } else {
            (void)snprintf(field, sizeof field, "patch/%zu", at);
            status = tr_fail(call, end == PATCH_REFUSED ? TR_INVALID_ARGUMENTS : TR_LIMIT_EXCEEDED,
                             field, "%s", message);
        }
    } else if (patch != NULL) {
        status = fail_memory(call);
    }
    yyjson_mut_doc_free(doc);
    yyjson_doc_free(arguments.doc);
    return status;
}

static tr_status json_merge_patch(struct tr_call *call) {
    struct arguments arguments = read_arguments(call);
    yyjson_val *document = arguments.doc == NULL ? NULL : take(call, &arguments, "document");
    yyjson_val *patch = document == NULL ? NULL : take(call, &arguments, "patch");
    tr_status status = TR_FAILED;
    if (patch != NULL) {
        yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
        yyjson_mut_val *merged = doc == NULL ? NULL : yyjson_merge_patch(doc, document, patch);
        yyjson_mut_doc_set_root(doc, merged);
        status = merged == NULL ? fail_memory(call) : reply_document(call, doc);
        yyjson_mut_doc_free(doc);
    }
    yyjson_doc_free(arguments.doc);
    return status;
}

/* ------------------------------------------------------------ json_diff */

static tr_status json_diff(struct tr_call *call) {
    struct arguments arguments = read_arguments(call);
    yyjson_val *from = arguments.doc == NULL ? NULL : take(call, &arguments, "from");
    yyjson_val *to = from == NULL ? NULL : take(call, &arguments, "to");
    tr_status status = TR_FAILED;
    if (to != NULL) {
        yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
        yyjson_mut_val *patch = doc == NULL ? NULL : patch_diff(doc, from, to);
        yyjson_mut_doc_set_root(doc, patch);
        status = patch == NULL ? tr_fail(call, TR_LIMIT_EXCEEDED, NULL,
                                         "the documents are too large to be compared; compare "
                                         "parts of them")
                               : reply_document(call, doc);
        yyjson_mut_doc_free(doc);
    }
    yyjson_doc_free(arguments.doc);
    return status;
}

/* ------------------------------------------------------------ json_validate */

static tr_status reply_mistakes(struct tr_call *call, const struct schema_mistakes *mistakes) {
    (void)tr_put_object(call, NULL);
    (void)tr_put_bool(call, "valid", mistakes->count == 0);
    (void)tr_put_u64(call, "count", mistakes->count);
    (void)tr_put_array(call, "mistakes");
    for (uint32_t i = 0; i < mistakes->told; i++) {
        (void)tr_put_object(call, NULL);
        (void)tr_put_string(call, "field", mistakes->list[i].field);
        (void)tr_put_string(call, "message", mistakes->list[i].reason);
        (void)tr_put_string(call, "keyword", mistakes->list[i].keyword);
        (void)tr_put_end(call);
    }
    (void)tr_put_end(call);
    return tr_put_end(call);
}

static tr_status validate(struct tr_call *call, yyjson_val *document, yyjson_val *schema) {
    struct schema_options options = {.assert_format = tr_get_bool(call, "formats", true)};
    struct toolrack_error error = {0};
    struct schema *compiled;
    if (schema_compile(schema, &options, &compiled, &error) != 0) {
        return tr_fail(call, TR_INVALID_ARGUMENTS, "schema", "%s", error.message);
    }
    struct schema_mistakes mistakes = {0};
    if (!schema_validate(compiled, document, NULL)) {
        schema_explain(compiled, document, NULL, &mistakes);
    }
    schema_destroy(compiled);
    if (mistakes.count > 0 && mistakes.code != TOOLRACK_E_INVALID_ARGUMENTS) {
        return tr_fail(call, TR_LIMIT_EXCEEDED, "document", "%s", mistakes.list[0].reason);
    }
    return reply_mistakes(call, &mistakes);
}

static tr_status json_validate(struct tr_call *call) {
    struct arguments arguments = read_arguments(call);
    yyjson_val *document = arguments.doc == NULL ? NULL : take(call, &arguments, "document");
    yyjson_val *schema = document == NULL ? NULL : take(call, &arguments, "schema");
    tr_status status = schema == NULL ? TR_FAILED : validate(call, document, schema);
    yyjson_doc_free(arguments.doc);
    return status;
}

/* clang-format off */
TR_JSON_TOOL(json_query,
    ("Select, reshape and compute from a JSON document by a jq filter, such as `.items[] | select(.price > 10) | "
     ".name` or `map(.price) | add`. Gives all results of the filter, in order. Use it instead of reading a "
     "large document yourself.",
     .title = "Query JSON", .category = "data", .tags = "json,jq,query,filter,transform",
     .flags = TR_READ_ONLY | TR_IDEMPOTENT, .deadline_ms = 25000,
     .result_schema = TR_SCHEMA({
         "type": "object",
         "properties": {
             "results": {"type": "array", "description": "All results of the filter"},
             "count": {"type": "integer", "description": "How many they are"},
             "truncated": {"type": "boolean", "description": "There are more, which max_results cut off"}
         },
         "required": ["results", "count", "truncated"]
     }),
     TR_EXAMPLES(
         TR_EXAMPLE(TR_SCHEMA({"document": {"items": [{"name": "pen", "price": 2}, {"name": "lamp", "price": 30}]},
                               "filter": ".items[] | select(.price > 10) | .name"}),
                    TR_SCHEMA({"results": ["lamp"], "count": 1, "truncated": false})))),
    TR_SCHEMA({
        "type": "object",
        "properties": {
            "document": {"description": "The JSON document"},
            "filter": {"type": "string", "minLength": 1, "maxLength": 16384,
                       "description": "A jq filter, as of jq 1.6; there are no modules, files, inputs and environment"},
            "variables": {"type": "object", "description": "Values that the filter has as $NAME, by name",
                          "propertyNames": {"pattern": "^[A-Za-z_][A-Za-z0-9_]*$"}},
            "max_results": {"type": "integer", "minimum": 1, "maximum": 10000, "default": 1000,
                            "description": "How many results at most"},
            "timeout_ms": {"type": "integer", "minimum": 1, "maximum": 20000, "default": 5000,
                           "description": "How long the filter may run, in milliseconds"}
        },
        "required": ["document", "filter"],
        "additionalProperties": false
    }))

TR_JSON_TOOL(json_patch,
    ("Change a JSON document by a JSON Patch (RFC 6902): a list of add, remove, replace, move, copy and test. "
     "Gives the changed document; if one operation fails, none is done.",
     .title = "Patch JSON", .category = "data", .tags = "json,patch,rfc6902,edit,change,extra",
     .flags = TR_READ_ONLY | TR_IDEMPOTENT,
     TR_EXAMPLES(
         TR_EXAMPLE(TR_SCHEMA({"document": {"a": 1, "b": [1, 2]},
                               "patch": [{"op": "replace", "path": "/a", "value": 5},
                                         {"op": "add", "path": "/b/-", "value": 3}]}),
                    TR_SCHEMA({"a": 5, "b": [1, 2, 3]})))),
    TR_SCHEMA({
        "type": "object",
        "properties": {
            "document": {"description": "The JSON document"},
            "patch": {"type": "array", "maxItems": 10000, "description": "The operations, done in order",
                "items": {
                    "type": "object",
                    "properties": {
                        "op": {"enum": ["add", "remove", "replace", "move", "copy", "test"],
                               "description": "What is done"},
                        "path": {"type": "string", "description": "Where: a JSON Pointer such as /items/0/name"},
                        "from": {"type": "string", "description": "JSON Pointer of what move and copy take"},
                        "value": {"description": "The value for add, replace and test"}
                    },
                    "required": ["op", "path"]
                }}
        },
        "required": ["document", "patch"],
        "additionalProperties": false
    }))

TR_JSON_TOOL(json_merge_patch,
    ("Change a JSON document by a JSON Merge Patch (RFC 7386): an object with the members to set, and null for "
     "those to remove. Gives the changed document. Arrays are replaced as a whole; json_patch changes their items.",
     .title = "Merge into JSON", .category = "data", .tags = "json,merge,patch,rfc7386,edit,change,extra",
     .flags = TR_READ_ONLY | TR_IDEMPOTENT,
     TR_EXAMPLES(
         TR_EXAMPLE(TR_SCHEMA({"document": {"a": 1, "b": {"c": 2, "d": 3}}, "patch": {"a": null, "b": {"c": 5}}}),
                    TR_SCHEMA({"b": {"c": 5, "d": 3}})))),
    TR_SCHEMA({
        "type": "object",
        "properties": {
            "document": {"description": "The JSON document"},
            "patch": {"description": "The merge patch"}
        },
        "required": ["document", "patch"],
        "additionalProperties": false
    }))

TR_JSON_TOOL(json_diff,
    ("Compare two JSON documents. Gives a JSON Patch (RFC 6902) that makes the second of the first; it is empty "
     "if they are equal. 1 and 1.0 are equal, and the order of members does not matter.",
     .title = "Compare JSON", .category = "data", .tags = "json,diff,compare,patch,rfc6902,extra",
     .flags = TR_READ_ONLY | TR_IDEMPOTENT,
     TR_EXAMPLES(
         TR_EXAMPLE(TR_SCHEMA({"from": {"a": 1, "b": [1, 2, 3]}, "to": {"b": [1, 3], "c": true}}),
                    TR_SCHEMA([{"op": "remove", "path": "/a"}, {"op": "remove", "path": "/b/1"},
                               {"op": "add", "path": "/c", "value": true}])))),
    TR_SCHEMA({
        "type": "object",
        "properties": {
            "from": {"description": "The document as it was"},
            "to": {"description": "The document as it is"}
        },
        "required": ["from", "to"],
        "additionalProperties": false
    }))

TR_JSON_TOOL(json_validate,
    ("Check a JSON document against a JSON Schema (draft 2020-12 or 7). Says whether it is valid, and what is "
     "wrong where.",
     .title = "Validate JSON", .category = "data", .tags = "json,schema,validate,check,extra",
     .flags = TR_READ_ONLY | TR_IDEMPOTENT,
     .result_schema = TR_SCHEMA({
         "type": "object",
         "properties": {
             "valid": {"type": "boolean", "description": "Whether the document fits the schema"},
             "count": {"type": "integer", "description": "How many mistakes were found"},
             "mistakes": {"type": "array", "description": "The first of them", "items": {
                 "type": "object",
                 "properties": {
                     "field": {"type": "string", "description": "JSON Pointer of the place; empty: the whole document"},
                     "message": {"type": "string", "description": "What is wrong there"},
                     "keyword": {"type": "string", "description": "The keyword of the schema"}
                 },
                 "required": ["field", "message", "keyword"]
             }}
         },
         "required": ["valid", "count", "mistakes"]
     }),
     TR_EXAMPLES(
         TR_EXAMPLE(TR_SCHEMA({"document": {"age": "7"},
                               "schema": {"properties": {"age": {"type": "integer"}}}}),
                    TR_SCHEMA({"valid": false, "count": 1,
                               "mistakes": [{"field": "/age", "message": "must be an integer, not a string; write 7 without quotes",
                                             "keyword": "type"}]})))),
    TR_SCHEMA({
        "type": "object",
        "properties": {
            "document": {"description": "The JSON document"},
            "schema": {"type": ["object", "boolean"],
                       "description": "The JSON Schema; references to other documents are not followed"},
            "formats": {"type": "boolean", "default": true,
                        "description": "Whether format (date, email, uri ...) is checked"}
        },
        "required": ["document", "schema"],
        "additionalProperties": false
    }))

TR_PLUGIN(("json", .description = "Queries, changes, compares and checks JSON", .vendor = "toolrack",
           .license = "MIT", .close = query_forget),
          "1.0.0", json_query, json_patch, json_merge_patch, json_diff, json_validate)
