/* memory - a knowledge graph that outlives conversations: entities, what is known of each, and how
 * they are related.
 *
 * Names, arguments and results of the tools are those of the MCP reference server `memory`; what
 * differs is in tests/reference/differences.json, with its reason. */
#include <stdlib.h>
#include <string.h>

#include <toolrack/ext/paths.h>
#include <toolrack/plugin.h>

#include "graph.h"

static tr_status open_memory(struct tr_host *host) {
    const struct tr_paths_host *paths = tr_host_get_extension(host, TR_EXT_PATHS);
    struct tr_path path;
    graph_set_folder(NULL);
    for (uint64_t i = 0; tr_path_get(paths, i, &path); i++) {
        if ((path.flags & TR_PATH_OWN) != 0 && (path.flags & TR_PATH_WRITES) != 0) {
            graph_set_folder(path.path);
        }
    }
    return TR_OK; /* without one, each call says so */
}

static void close_memory(void) {
    graph_close();
    graph_set_folder(NULL);
}

/* --------------------------------------------------------------------- work */

/* One call: its arguments, and the reply that is made. */
struct work {
    struct tr_call *call;
    yyjson_doc *arguments;
    yyjson_mut_doc *reply;
    yyjson_mut_val *root;
    struct graph_fault fault;
    bool is_good;
};

static struct work begin(struct tr_call *call, bool writes) {
    const char *arguments = tr_arguments(call);
    struct work work = {.call = call,
                        .arguments = yyjson_read(arguments, strlen(arguments), 0),
                        .reply = yyjson_mut_doc_new(NULL)};
    work.root = yyjson_mut_obj(work.reply);
    work.fault = (struct graph_fault){TR_LIMIT_EXCEEDED, "out of memory"};
    work.is_good =
            work.arguments != NULL && work.root != NULL && graph_begin(call, writes, &work.fault);
    return work;
}

static yyjson_val *argument(const struct work *work, const char *name) {
    return yyjson_obj_get(yyjson_doc_get_root(work->arguments), name);
}

/* The text that models read: `done`, or a part of the structured result with line breaks. */
static tr_status reply(struct work *work, const yyjson_mut_val *part, const char *done) {
    size_t length = done != NULL ? strlen(done) : 0;
    char *text = done != NULL ? strdup(done)
                              : yyjson_mut_val_write(part, YYJSON_WRITE_PRETTY_TWO_SPACES, &length);
    char *json = yyjson_mut_val_write(work->root, YYJSON_WRITE_NOFLAG, NULL);
    tr_status status = TR_FAILED;
    if (text == NULL || json == NULL) {
        status = tr_fail(work->call, TR_LIMIT_EXCEEDED, NULL, "out of memory");
    } else {
        status = work->call->api->reply_text(work->call, text, length);
        status = status == TR_OK ? tr_reply_json(work->call, json) : status;
    }
    free(text);
    free(json);
    return status;
}

static tr_status end(struct work *work, const yyjson_mut_val *part, const char *done) {
    bool is_done = graph_end(work->is_good, &work->fault);
    tr_status status =
            is_done ? reply(work, part, done)
                    : tr_fail(work->call, work->fault.code, NULL, "%s", work->fault.message);
    yyjson_doc_free(work->arguments);
    yyjson_mut_doc_free(work->reply);
    return status;
}

/* -------------------------------------------------------------------- tools */

typedef bool make_function(yyjson_val *items, yyjson_mut_doc *doc, yyjson_mut_val *made,
                           struct graph_fault *fault);

static tr_status make(struct tr_call *call, make_function *function, const char *items,
                      const char *made_name) {
    struct work work = begin(call, true);
    yyjson_mut_val *made = yyjson_mut_arr(work.reply);
    (void)yyjson_mut_obj_add(work.root, yyjson_mut_str(work.reply, made_name), made);
    work.is_good = work.is_good && function(argument(&work, items), work.reply, made, &work.fault);
    return end(&work, made, NULL);
}

static tr_status create_entities(struct tr_call *call) {
    return make(call, graph_create_entities, "entities", "entities");
}

static tr_status create_relations(struct tr_call *call) {
    return make(call, graph_create_relations, "relations", "relations");
}

static tr_status add_observations(struct tr_call *call) {
    return make(call, graph_add_observations, "observations", "results");
}

static tr_status delete_items(struct tr_call *call,
                              bool (*function)(yyjson_val *, struct graph_fault *),
                              const char *items, const char *done) {
    struct work work = begin(call, true);
    (void)yyjson_mut_obj_add_true(work.reply, work.root, "success");
    (void)yyjson_mut_obj_add_str(work.reply, work.root, "message", done);
    work.is_good = work.is_good && function(argument(&work, items), &work.fault);
    return end(&work, NULL, done);
}

static tr_status delete_entities(struct tr_call *call) {
    return delete_items(call, graph_delete_entities, "entityNames",
                        "Entities deleted successfully");
}

static tr_status delete_observations(struct tr_call *call) {
    return delete_items(call, graph_delete_observations, "deletions",
                        "Observations deleted successfully");
}

static tr_status delete_relations(struct tr_call *call) {
    return delete_items(call, graph_delete_relations, "relations",
                        "Relations deleted successfully");
}

static tr_status read_chosen(struct tr_call *call, enum graph_choice choice, const char *name) {
    struct work work = begin(call, false);
    yyjson_val *value = name != NULL ? argument(&work, name) : NULL;
    size_t length = yyjson_get_len(value);
    char *json = yyjson_is_arr(value) ? yyjson_val_write(value, 0, &length) : NULL;
    const char *text = yyjson_is_str(value) ? yyjson_get_str(value) : json != NULL ? json : "";
    work.is_good =
            work.is_good && graph_read(choice, text, length, work.reply, work.root, &work.fault);
    tr_status status = end(&work, work.root, NULL);
    free(json);
    return status;
}

static tr_status read_graph(struct tr_call *call) {
    return read_chosen(call, GRAPH_ALL, NULL);
}

static tr_status search_nodes(struct tr_call *call) {
    return read_chosen(call, GRAPH_SEARCH, "query");
}

static tr_status open_nodes(struct tr_call *call) {
    return read_chosen(call, GRAPH_NAMED, "names");
}

/* clang-format off */
#define ENTITIES TR_SCHEMA({"type": "array", "description": "What to remember, each with its name", "items": {"type": "object", "properties": {             \
    "name": {"type": "string", "description": "Its name, by which it is known: once in the graph"},  \
    "entityType": {"type": "string", "description": "What it is, such as person or project"},        \
    "observations": {"type": "array", "items": {"type": "string"},                                   \
                     "description": "What is known of it, a fact each"}                              \
    }, "required": ["name", "entityType", "observations"]}})
#define RELATIONS TR_SCHEMA({"type": "array", "description": "How entities are related, a pair each", "items": {"type": "object", "properties": {            \
    "from": {"type": "string", "description": "Name of the entity that it goes out from"},           \
    "to": {"type": "string", "description": "Name of the entity that it leads to"},                  \
    "relationType": {"type": "string",                                                               \
                     "description": "What the one does or is to the other, such as works_at"}        \
    }, "required": ["from", "to", "relationType"]}})
#define OBJECT_OF(name, schema) \
    "{\"type\": \"object\", \"properties\": {\"" name "\": " schema "}, \"required\": [\"" name "\"]}"
#define GRAPH                                                                                        \
    "{\"type\": \"object\", \"properties\": {\"entities\": " ENTITIES ", \"relations\": " RELATIONS  \
    "}, \"required\": [\"entities\", \"relations\"]}"
#define DONE TR_SCHEMA({"type": "object", "properties": {                                            \
    "success": {"type": "boolean"}, "message": {"type": "string"}}, "required": ["success", "message"]})

TR_JSON_TOOL(create_entities,
    ("Remember something: new people, things or ideas, as entities of the knowledge graph, each with a name, a type "
     "and what is known of it. One whose name is there already stays as it is; add_observations adds "
     "to it. Returns those that are new.",
     .title = "Create Entities", .category = "memory", .tags = "memory,remember,entity,person,thing,knowledge,graph",
     .result_schema = OBJECT_OF("entities", ENTITIES)),
    OBJECT_OF("entities", ENTITIES))

TR_JSON_TOOL(create_relations,
    ("Remember how entities are related, in active voice: Ada works_at Acme. A relation that is there "
     "already stays one. Returns those that are new.",
     .title = "Create Relations", .category = "memory", .tags = "memory,remember,relation,knowledge,graph",
     .result_schema = OBJECT_OF("relations", RELATIONS)),
    OBJECT_OF("relations", RELATIONS))

TR_JSON_TOOL(add_observations,
    ("Remember more about an entity that the knowledge graph has already: note observations, facts "
     "that it does not have yet. Returns what is new of each.",
     .title = "Add Observations", .category = "memory", .tags = "memory,remember,observation,fact,note,knowledge,graph",
     .result_schema = TR_SCHEMA({"type": "object", "properties": {"results": {"type": "array", "items": {
         "type": "object", "properties": {
             "entityName": {"type": "string"},
             "addedObservations": {"type": "array", "items": {"type": "string"}}
         }, "required": ["entityName", "addedObservations"]}}}, "required": ["results"]})),
    TR_SCHEMA({"type": "object", "properties": {"observations": {"type": "array", "description": "What is new of which entity", "items": {
        "type": "object", "properties": {
            "entityName": {"type": "string", "description": "The entity"},
            "contents": {"type": "array", "items": {"type": "string"}, "description": "What is known of it, a fact each"}
        }, "required": ["entityName", "contents"]}}}, "required": ["observations"]}))

TR_JSON_TOOL(delete_entities,
    ("Forget (delete) entities and all that is known about them. A name that is not there is no error.",
     .title = "Delete Entities", .category = "memory", .tags = "memory,forget,delete,remove,entity,knowledge,graph",
     .flags = TR_DESTRUCTIVE | TR_IDEMPOTENT, .permission = TR_CONFIRM, .result_schema = DONE),
    TR_SCHEMA({"type": "object", "properties": {
        "entityNames": {"type": "array", "items": {"type": "string"}, "description": "Their names"}
    }, "required": ["entityNames"]}))

TR_JSON_TOOL(delete_observations,
    ("Forget (delete) observations: some of what is known of entities. What is not there is no error.",
     .title = "Delete Observations", .category = "memory", .tags = "memory,forget,delete,remove,observation,fact,knowledge,graph",
     .flags = TR_DESTRUCTIVE | TR_IDEMPOTENT, .permission = TR_CONFIRM, .result_schema = DONE),
    TR_SCHEMA({"type": "object", "properties": {"deletions": {"type": "array", "description": "What to forget of which entity", "items": {
        "type": "object", "properties": {
            "entityName": {"type": "string", "description": "The entity"},
            "observations": {"type": "array", "items": {"type": "string"}, "description": "The facts, as they are there"}
        }, "required": ["entityName", "observations"]}}}, "required": ["deletions"]}))

TR_JSON_TOOL(delete_relations,
    ("Forget (delete) relations between entities, which stay. What is not there is no error.",
     .title = "Delete Relations", .category = "memory", .tags = "memory,forget,delete,remove,relation,knowledge,graph",
     .flags = TR_DESTRUCTIVE | TR_IDEMPOTENT, .permission = TR_CONFIRM, .result_schema = DONE),
    OBJECT_OF("relations", RELATIONS))

TR_JSON_TOOL(read_graph,
    ("Recall all that was remembered: the whole knowledge graph. Of a large one, search_nodes gives "
     "a part.",
     .title = "Read Graph", .category = "memory", .tags = "memory,recall,everything,whole,graph",
     .flags = TR_READ_ONLY | TR_IDEMPOTENT, .result_schema = GRAPH),
    TR_SCHEMA({"type": "object"}))

TR_JSON_TOOL(search_nodes,
    ("Search the knowledge graph: recall the entities whose name, type or facts have a text, in "
     "capitals or not, and the relations with them.",
     .title = "Search Nodes", .category = "memory", .tags = "memory,recall,search,find,entity,knowledge,graph",
     .flags = TR_READ_ONLY | TR_IDEMPOTENT, .result_schema = GRAPH),
    TR_SCHEMA({"type": "object", "properties": {
        "query": {"type": "string", "description": "The text; an empty one is in all of them"}
    }, "required": ["query"]}))

TR_JSON_TOOL(open_nodes,
    ("Read entities of the knowledge graph by their names, and the relations with them. A name that is "
     "not there is no error.",
     .title = "Open Nodes", .category = "memory", .tags = "memory,recall,open,entity,name,knowledge,graph",
     .flags = TR_READ_ONLY | TR_IDEMPOTENT, .result_schema = GRAPH),
    TR_SCHEMA({"type": "object", "properties": {
        "names": {"type": "array", "items": {"type": "string"}, "description": "Their names"}
    }, "required": ["names"]}))

TR_PLUGIN(("memory", .description = "Remembers a knowledge graph beyond conversations", .vendor = "toolrack",
           .license = "MIT", .open = open_memory, .close = close_memory,
           TR_CAPABILITIES(TR_WRITES("${data}"))),
          "1.0.0", create_entities, create_relations, add_observations, delete_entities,
          delete_observations, delete_relations, read_graph, search_nodes, open_nodes)
