/* The evaluation of choosing, through the public API: registers the tools of a data set, asks for
 * each of its texts, and prints predictions for score.py, which is beside the data.
 *
 *     through-api KIND FOLDER [history] > predictions
 *
 * KIND is retrieval, select, args, faulty, plan, wrong-plans or scene; wrong-plans checks the right
 * plans of plan.jsonl, and each with one fault of each sort, and prints how many faults are found.
 * The domains of scene.jsonl are scenes of the configuration, scenes.json, in words that say in
 * general what such a domain is. Not a test: the data is not part of the repository. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <yyjson.h>

#include "toolrack/choose.h"
#include "toolrack/plan.h"
#include "toolrack/plugin.h"
#include "toolrack/toolrack.h"

#define LINE_MAX_BYTES (8u << 20)
#define CHUNK          256u
#define REGISTRIES_MAX 32u
#define TOOLS_MAX      20000u
#define RANKED         10u

/* One tool of the data. */
struct item {
    char id[256];
    char name[80]; /* under which it is registered */
};

struct set {
    char name[64];
    struct toolrack *host;
    struct item *items;
    size_t count;
};

static struct set sets[REGISTRIES_MAX];
static size_t set_count;
static double total_ms;
static double times[200000];
static size_t asked;
static double slowest_ms;
static char slowest[256]; /* id of the item */

static void die(const char *what, const char *why) {
    (void)fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

static tr_status run(struct tr_call *call) {
    return tr_reply_text(call, "");
}

static const char *text_of(yyjson_val *object, const char *key) {
    const char *text = yyjson_get_str(yyjson_obj_get(object, key));
    return text != NULL ? text : "";
}

/* --------------------------------------------------------------------------- registering */

static bool is_name(const struct set *set, const char *name) {
    for (size_t i = 0; i < set->count; i++) {
        if (strcmp(set->items[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* A name that the registry takes. */
static void make_name(const struct set *set, const char *from, struct item *item) {
    char base[72];
    size_t length = 0;
    for (; from[length] != '\0' && length < 60; length++) {
        char c = from[length];
        bool fine = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                    c == '_' || c == '-';
        base[length] = fine ? c : '_';
    }
    base[length] = '\0';
    bool begins = (base[0] >= 'a' && base[0] <= 'z') || (base[0] >= 'A' && base[0] <= 'Z') ||
                  base[0] == '_';
    (void)snprintf(item->name, sizeof item->name, "%s%s", begins ? "" : "_", base);
    for (int n = 2; is_name(set, item->name); n++) {
        (void)snprintf(item->name, sizeof item->name, "%s%.60s_%d", begins ? "" : "_", base, n);
    }
}

static unsigned refused;

/* A schema without the defaults that do not fit it. */
static yyjson_mut_val *without_defaults(yyjson_mut_doc *doc, yyjson_mut_val *value) {
    yyjson_mut_obj_iter iter;
    yyjson_mut_val *key;
    if (yyjson_mut_is_obj(value)) {
        (void)yyjson_mut_obj_remove_key(value, "default");
        (void)yyjson_mut_obj_iter_init(value, &iter);
        while ((key = yyjson_mut_obj_iter_next(&iter)) != NULL) {
            (void)without_defaults(doc, yyjson_mut_obj_iter_get_val(key));
        }
    }
    return value;
}

static char *repair(const char *schema) {
    yyjson_doc *read = yyjson_read(schema, strlen(schema), 0);
    yyjson_mut_doc *doc = yyjson_doc_mut_copy(read, NULL);
    (void)without_defaults(doc, yyjson_mut_doc_get_root(doc));
    char *text = yyjson_mut_write(doc, 0, NULL);
    yyjson_mut_doc_free(doc);
    yyjson_doc_free(read);
    return text;
}

/* What a tool of the data gives, as a schema; NULL: the data does not say. Each member has its
 * name, and what is said of it. */
static char *result_schema(yyjson_val *root) {
    yyjson_val *returns = yyjson_obj_get(root, "returns");
    yyjson_val *types = yyjson_obj_get(root, "output_types");
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *schema = yyjson_mut_obj(doc);
    yyjson_mut_val *members = yyjson_mut_obj(doc);
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    yyjson_mut_doc_set_root(doc, schema);
    yyjson_obj_foreach (returns, at, count, key, value) {
        yyjson_mut_val *member = yyjson_mut_obj(doc);
        (void)yyjson_mut_obj_add_strcpy(doc, member, "description",
                                        yyjson_is_str(value) ? yyjson_get_str(value)
                                                             : yyjson_get_str(key));
        (void)yyjson_mut_obj_add(members, yyjson_val_mut_copy(doc, key), member);
    }
    yyjson_arr_foreach (returns, at, count, value) {
        (void)yyjson_mut_obj_add(members, yyjson_val_mut_copy(doc, value), yyjson_mut_obj(doc));
    }
    yyjson_val *type = yyjson_arr_get_first(types);
    if (type != NULL) {
        (void)yyjson_mut_obj_add_val(doc, schema, "title", yyjson_val_mut_copy(doc, type));
    }
    bool any = yyjson_mut_obj_size(members) > 0;
    if (any) {
        (void)yyjson_mut_obj_add_str(doc, schema, "type", "object");
        (void)yyjson_mut_obj_add_val(doc, schema, "properties", members);
    }
    char *text = any || type != NULL ? yyjson_mut_write(doc, 0, NULL) : NULL;
    yyjson_mut_doc_free(doc);
    return text;
}

static void register_tools(struct set *set, const struct tr_tool *const *tools, size_t count) {
    static unsigned number;
    char id[32];
    struct toolrack_error *err = toolrack_error_create();
    (void)snprintf(id, sizeof id, "set%u", ++number);
    struct tr_plugin plugin = {.magic = TR_MAGIC,
                               .size = sizeof plugin,
                               .abi_major = TR_ABI_MAJOR,
                               .abi_minor = TR_ABI_MINOR,
                               .id = id,
                               .version = "1.0.0",
                               .tool_count = (uint32_t)count,
                               .tool_size = sizeof(struct tr_tool),
                               .tools = tools,
                               .flags = TR_THREAD_SAFE};
    if (toolrack_register(set->host, &plugin, NULL, err) < 0) {
        static const char any[] = "{\"type\":\"object\"}";
        if (count == 1 && strcmp(tools[0]->schema, any) != 0) {
            struct tr_tool repaired = *tools[0];
            const struct tr_tool *list = &repaired;
            char *schema = repair(repaired.schema);
            repaired.schema =
                    schema != NULL && strcmp(schema, tools[0]->schema) != 0 ? schema : any;
            register_tools(set, &list, 1);
        } else if (count == 1) {
            refused++;
            (void)fprintf(stderr, "%s: %s\n", tools[0]->name, toolrack_error_message(err));
        } else {
            register_tools(set, tools, count / 2);
            register_tools(set, tools + count / 2, count - count / 2);
        }
    }
    toolrack_error_free(err);
}

static const char *config = ""; /* of each host */

static struct set *open_set(const char *folder, const char *name) {
    for (size_t i = 0; i < set_count; i++) {
        if (strcmp(sets[i].name, name) == 0) {
            return &sets[i];
        }
    }
    struct set *set = &sets[set_count++];
    (void)snprintf(set->name, sizeof set->name, "%s", name);
    set->items = calloc(TOOLS_MAX, sizeof *set->items);
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    options.config_file = config;
    options.state_dir = "";
    options.no_scan = 1;
    options.isolation = TOOLRACK_ISOLATION_NONE;
    if (toolrack_open(&options, &set->host, NULL) < 0) {
        die(name, "no host");
    }
    char path[512];
    (void)snprintf(path, sizeof path, "%s/tools/%s.jsonl", folder, name);
    FILE *file = fopen(path, "r");
    char *line = malloc(LINE_MAX_BYTES);
    struct tr_tool *tools = calloc(TOOLS_MAX, sizeof *tools);
    const struct tr_tool **list = calloc(TOOLS_MAX, sizeof *list);
    if (file == NULL || line == NULL || tools == NULL || list == NULL) {
        die(path, "cannot be read");
    }
    while (fgets(line, LINE_MAX_BYTES, file) != NULL) {
        yyjson_doc *doc = yyjson_read(line, strlen(line), 0);
        yyjson_val *root = yyjson_doc_get_root(doc);
        struct item *item = &set->items[set->count];
        struct tr_tool *tool = &tools[set->count];
        yyjson_val *parameters = yyjson_obj_get(root, "parameters");
        char *schema = parameters != NULL ? yyjson_val_write(parameters, 0, NULL) : NULL;
        (void)snprintf(item->id, sizeof item->id, "%s", text_of(root, "id"));
        make_name(set, text_of(root, "name"), item);
        tool->size = sizeof *tool;
        tool->name = item->name;
        tool->description =
                strdup(text_of(root, "description")[0] != '\0' ? text_of(root, "description")
                                                               : item->name);
        tool->title = text_of(root, "title")[0] != '\0' ? strdup(text_of(root, "title")) : NULL;
        tool->category = text_of(root, "category")[0] != '\0' ? strdup(text_of(root, "category"))
                         : text_of(root, "group")[0] != '\0'  ? strdup(text_of(root, "group"))
                                                              : NULL;
        tool->schema = schema != NULL ? schema : "{\"type\":\"object\"}";
        tool->result_schema = result_schema(root);
        tool->run = run;
        list[set->count++] = tool;
        yyjson_doc_free(doc);
    }
    (void)fclose(file);
    free(line);
    for (size_t at = 0; at < set->count; at += CHUNK) {
        register_tools(set, list + at, set->count - at < CHUNK ? set->count - at : CHUNK);
    }
    (void)fprintf(stderr, "%s: %zu tools, %u refused so far\n", name, set->count, refused);
    if (toolrack_search_prepare(set->host, NULL) < 0) { /* no text pays for the index */
        die(name, "no index");
    }
    return set;
}

static const char *name_of(const struct set *set, const char *id) {
    for (size_t i = 0; i < set->count; i++) {
        if (strcmp(set->items[i].id, id) == 0) {
            return set->items[i].name;
        }
    }
    return NULL;
}

static const char *id_of(const struct set *set, const char *name) {
    for (size_t i = 0; i < set->count; i++) {
        if (strcmp(set->items[i].name, name) == 0) {
            return set->items[i].id;
        }
    }
    return name;
}

/* ---------------------------------------------------------------------------------- asking */

static double now_ms(void) {
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

/* Which function is asked. */
enum asked_for { CHOICE, SEARCH, PLAN };

static yyjson_doc *ask_for(struct set *set, yyjson_val *item, enum asked_for what,
                           const char *principal, const char *const *tools) {
    struct toolrack_select_options options = TOOLRACK_SELECT_OPTIONS_INIT;
    struct toolrack_text *text = NULL;
    struct toolrack_error *err = toolrack_error_create();
    size_t length = 0;
    options.text = text_of(item, "query");
    options.principal = principal;
    options.limit = RANKED;
    options.tools = tools;
    double begin = now_ms();
    int code = what == SEARCH ? toolrack_search(set->host, &options, &text, err)
               : what == PLAN ? toolrack_plan_make(set->host, &options, &text, err)
                              : toolrack_select(set->host, &options, &text, err);
    times[asked] = now_ms() - begin;
    total_ms += times[asked];
    if (times[asked] > slowest_ms) {
        slowest_ms = times[asked];
        (void)snprintf(slowest, sizeof slowest, "%s", text_of(item, "id"));
    }
    asked += asked + 1 < sizeof times / sizeof times[0];
    if (code < 0) {
        (void)fprintf(stderr, "%s: %s\n", text_of(item, "id"), toolrack_error_message(err));
        toolrack_error_free(err);
        return NULL;
    }
    const char *data = toolrack_text_data(text, &length);
    yyjson_doc *doc = yyjson_read(data, length, 0);
    toolrack_text_unref(text);
    toolrack_error_free(err);
    return doc;
}

/* What search or select answers. */
static yyjson_doc *ask(struct set *set, yyjson_val *item, bool searches, const char *principal,
                       const char *const *tools) {
    return ask_for(set, item, searches ? SEARCH : CHOICE, principal, tools);
}

static unsigned refused_plans;

static yyjson_doc *make_plan(struct set *set, yyjson_val *item, const char *const *tools) {
    return ask_for(set, item, PLAN, NULL, tools);
}

/* The candidates of an item, by the names under which they are registered. */
static const char **candidates_of(const struct set *set, yyjson_val *array) {
    size_t at;
    size_t count;
    yyjson_val *id;
    if (array == NULL) {
        return NULL;
    }
    const char **names = calloc(yyjson_arr_size(array) + 1, sizeof *names);
    size_t taken = 0;
    yyjson_arr_foreach (array, at, count, id) {
        const char *name = name_of(set, yyjson_get_str(id));
        if (names != NULL && name != NULL) {
            names[taken++] = name;
        }
    }
    return names;
}

static struct set *set_of(const char *folder, const char *tool_id) {
    char name[64];
    (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(tool_id, "/"), tool_id);
    return open_set(folder, name);
}

static void print_prediction(yyjson_mut_doc *doc) {
    char *text = yyjson_mut_write(doc, 0, NULL);
    (void)puts(text != NULL ? text : "{}");
    free(text);
    yyjson_mut_doc_free(doc);
}

static yyjson_mut_doc *begin_prediction(yyjson_val *item) {
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    yyjson_mut_doc_set_root(doc, root);
    (void)yyjson_mut_obj_add_strcpy(doc, root, "id", text_of(item, "id"));
    return doc;
}

static void predict_retrieval(const char *folder, yyjson_val *item, const char *principal,
                              bool searches) {
    struct set *set = open_set(folder, text_of(item, "registry"));
    yyjson_doc *answer = ask(set, item, searches, principal, NULL);
    yyjson_val *root = yyjson_doc_get_root(answer);
    yyjson_mut_doc *doc = begin_prediction(item);
    yyjson_mut_val *ranked = yyjson_mut_obj_add_arr(doc, doc->root, "ranked");
    size_t at;
    size_t count;
    yyjson_val *row;
    yyjson_arr_foreach (searches ? root : yyjson_obj_get(root, "candidates"), at, count, row) {
        (void)yyjson_mut_arr_add_strcpy(doc, ranked, id_of(set, text_of(row, "tool")));
    }
    print_prediction(doc);
    yyjson_doc_free(answer);
}

static void predict_select(const char *folder, yyjson_val *item) {
    yyjson_val *candidates = yyjson_obj_get(item, "candidates");
    struct set *set = candidates != NULL
                              ? set_of(folder, yyjson_get_str(yyjson_arr_get_first(candidates)))
                              : open_set(folder, text_of(item, "registry"));
    const char **names = candidates_of(set, candidates);
    yyjson_doc *answer = ask(set, item, false, NULL, names);
    yyjson_val *root = yyjson_doc_get_root(answer);
    const char *tool = yyjson_get_str(yyjson_obj_get(root, "tool"));
    yyjson_mut_doc *doc = begin_prediction(item);
    if (tool != NULL) {
        (void)yyjson_mut_obj_add_strcpy(doc, doc->root, "tool", id_of(set, tool));
    } else {
        (void)yyjson_mut_obj_add_null(doc, doc->root, "tool");
    }
    (void)yyjson_mut_obj_add_real(doc, doc->root, "score",
                                  yyjson_get_num(yyjson_obj_get(root, "confidence")));
    print_prediction(doc);
    yyjson_doc_free(answer);
    free(names);
}

static void add_parameters(yyjson_mut_doc *doc, const char *key, yyjson_val *list) {
    yyjson_mut_val *array = yyjson_mut_obj_add_arr(doc, doc->root, key);
    size_t at;
    size_t count;
    yyjson_val *row;
    yyjson_arr_foreach (list, at, count, row) {
        (void)yyjson_mut_arr_add_strcpy(doc, array, text_of(row, "parameter"));
    }
}

/* The arguments of the best candidate: of a tool that is given, it is that one. */
static void add_values(yyjson_mut_doc *doc, yyjson_val *step) {
    yyjson_mut_val *args = yyjson_mut_obj_add_obj(doc, doc->root, "args");
    size_t at;
    size_t count;
    yyjson_val *row;
    yyjson_arr_foreach (yyjson_obj_get(step, "values"), at, count, row) {
        const char *parameter = text_of(row, "parameter");
        if (strchr(parameter, '/') == NULL) {
            yyjson_mut_val *key = yyjson_mut_strcpy(doc, parameter);
            (void)yyjson_mut_obj_put(args, key,
                                     yyjson_val_mut_copy(doc, yyjson_obj_get(row, "value")));
        }
    }
}

static void predict_arguments(const char *folder, yyjson_val *item, bool is_faulty) {
    const char *tool = text_of(item, "tool");
    yyjson_val *candidates = yyjson_obj_get(item, "candidates");
    const char *first = yyjson_get_str(yyjson_arr_get_first(candidates));
    struct set *set = set_of(folder, tool[0] == '\0' && first != NULL ? first : tool);
    const char *only[] = {name_of(set, tool), NULL};
    const char **names = is_faulty ? candidates_of(set, candidates) : NULL;
    yyjson_doc *answer = ask(set, item, false, NULL, is_faulty ? names : only);
    yyjson_val *root = yyjson_doc_get_root(answer);
    yyjson_val *step = yyjson_obj_get(yyjson_obj_get(root, "steps"), "arguments");
    yyjson_mut_doc *doc = begin_prediction(item);
    if (is_faulty) {
        (void)yyjson_mut_obj_add_strcpy(doc, doc->root, "tool", id_of(set, text_of(step, "tool")));
        add_parameters(doc, "missing", yyjson_obj_get(step, "missing"));
        add_parameters(doc, "invalid", yyjson_obj_get(step, "invalid"));
    } else if (yyjson_is_obj(yyjson_obj_get(step, "arguments"))) {
        (void)yyjson_mut_obj_add_val(doc, doc->root, "args",
                                     yyjson_val_mut_copy(doc, yyjson_obj_get(step, "arguments")));
    } else {
        add_values(doc, step);
    }
    print_prediction(doc);
    yyjson_doc_free(answer);
    free(names);
}

/* ----------------------------------------------------------------------------------- plans */

/* The node and the path of a reference to a result: "#/nodes/ID/result/PATH". */
static bool read_reference(yyjson_val *value, char *ret_node, size_t room, const char **ret_path) {
    static const char begin[] = "#/nodes/";
    const char *text = yyjson_get_str(yyjson_obj_get(value, "$ref"));
    if (text == NULL || strncmp(text, begin, sizeof begin - 1) != 0) {
        return false;
    }
    text += sizeof begin - 1;
    (void)snprintf(ret_node, room, "%.*s", (int)strcspn(text, "/"), text);
    text += strcspn(text, "/");
    *ret_path = strncmp(text, "/result", 7) == 0 ? text + 7 : text;
    return true;
}

static void add_edge(yyjson_mut_doc *doc, yyjson_mut_val *edges, const char *from, const char *to) {
    yyjson_mut_arr_iter iter;
    yyjson_mut_val *edge;
    (void)yyjson_mut_arr_iter_init(edges, &iter);
    while ((edge = yyjson_mut_arr_iter_next(&iter)) != NULL) {
        if (yyjson_mut_equals_str(yyjson_mut_arr_get_first(edge), from) &&
            yyjson_mut_equals_str(yyjson_mut_arr_get_last(edge), to)) {
            return;
        }
    }
    edge = yyjson_mut_arr_add_arr(doc, edges);
    (void)yyjson_mut_arr_add_strcpy(doc, edge, from);
    (void)yyjson_mut_arr_add_strcpy(doc, edge, to);
}

/* The arguments as score.py has them; NULL for what is an input of the plan. */
static yyjson_mut_val *convert(yyjson_mut_doc *doc, yyjson_mut_val *edges, yyjson_val *value,
                               const char *node) {
    char from[128];
    const char *path;
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *item;
    if (read_reference(value, from, sizeof from, &path)) {
        yyjson_mut_val *object = yyjson_mut_obj(doc);
        yyjson_mut_val *pair = yyjson_mut_obj_add_arr(doc, object, "$ref");
        (void)yyjson_mut_arr_add_strcpy(doc, pair, from);
        if (path[0] != '\0') {
            (void)yyjson_mut_arr_add_strcpy(doc, pair, path + 1);
        }
        add_edge(doc, edges, from, node);
        return object;
    }
    if (yyjson_obj_get(value, "$ref") != NULL) {
        return NULL;
    }
    if (yyjson_is_obj(value)) {
        yyjson_mut_val *object = yyjson_mut_obj(doc);
        yyjson_obj_foreach (value, at, count, key, item) {
            yyjson_mut_val *member = convert(doc, edges, item, node);
            if (member != NULL) {
                (void)yyjson_mut_obj_add(object, yyjson_val_mut_copy(doc, key), member);
            }
        }
        return object;
    }
    return yyjson_val_mut_copy(doc, value);
}

/* A plan that is made must be one that the host takes. */
static void check_plan(struct set *set, yyjson_val *item, yyjson_val *plan) {
    struct toolrack_findings *findings = NULL;
    struct toolrack_plan *opened = NULL;
    char *text = yyjson_val_write(plan, 0, NULL);
    if (toolrack_plan_open(set->host, text, strlen(text), &findings, &opened, NULL) < 0 ||
        opened == NULL) {
        refused_plans++;
        const struct toolrack_finding *first = toolrack_findings_get(findings, 0);
        (void)fprintf(stderr, "%s: the plan is refused: %s: %s\n", text_of(item, "id"),
                      first != NULL ? first->cause : "", text);
    }
    toolrack_findings_free(findings);
    toolrack_plan_close(opened);
    free(text);
}

static void predict_plan(const char *folder, yyjson_val *item) {
    yyjson_val *candidates = yyjson_obj_get(item, "candidates");
    struct set *set = candidates != NULL
                              ? set_of(folder, yyjson_get_str(yyjson_arr_get_first(candidates)))
                              : open_set(folder, text_of(item, "registry"));
    const char **names = candidates_of(set, candidates);
    yyjson_doc *answer = make_plan(set, item, names);
    yyjson_val *plan = yyjson_obj_get(yyjson_doc_get_root(answer), "plan");
    yyjson_mut_doc *doc = begin_prediction(item);
    yyjson_mut_val *nodes = yyjson_mut_obj_add_arr(doc, doc->root, "nodes");
    yyjson_mut_val *edges = yyjson_mut_obj_add_arr(doc, doc->root, "edges");
    size_t at;
    size_t count;
    size_t i;
    size_t most;
    yyjson_val *node;
    yyjson_val *before;
    if (yyjson_is_obj(plan)) {
        check_plan(set, item, plan);
    }
    yyjson_arr_foreach (yyjson_obj_get(plan, "nodes"), at, count, node) {
        yyjson_mut_val *row = yyjson_mut_arr_add_obj(doc, nodes);
        const char *id = text_of(node, "id");
        (void)yyjson_mut_obj_add_strcpy(doc, row, "id", id);
        (void)yyjson_mut_obj_add_strcpy(doc, row, "tool", id_of(set, text_of(node, "tool")));
        (void)yyjson_mut_obj_add_val(doc, row, "args",
                                     convert(doc, edges, yyjson_obj_get(node, "arguments"), id));
        yyjson_arr_foreach (yyjson_obj_get(node, "depends_on"), i, most, before) {
            add_edge(doc, edges, yyjson_get_str(before), id);
        }
    }
    print_prediction(doc);
    yyjson_doc_free(answer);
    free(names);
}

/* ------------------------------------------------------------------------------ wrong plans */

/* The faults of plans. */
enum fault {
    FAULT_NONE,
    FAULT_TOOL,      /* a tool that there is not */
    FAULT_OTHER,     /* another tool with the same arguments */
    FAULT_CYCLE,     /* nodes that wait for each other */
    FAULT_REFERENCE, /* a reference to no node */
    FAULT_NODE,      /* a node is gone that another needs */
    FAULT_TYPE,      /* an argument of another type */
    FAULT_MISSING,   /* a required argument is gone */
    FAULTS
};
static const char *const fault_names[FAULTS] = {"right",           "no such tool", "another tool",
                                                "cycle",           "dangling",     "node missing",
                                                "type of a value", "value missing"};
static unsigned made_wrong[FAULTS];
static unsigned found_wrong[FAULTS];

/* A right value, of those that are accepted: {"$ref": [node, ...]} is a reference. */
static yyjson_mut_val *right_value(yyjson_mut_doc *doc, yyjson_val *value) {
    yyjson_val *node = yyjson_arr_get_first(yyjson_obj_get(value, "$ref"));
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *member;
    if (node != NULL) {
        char text[128];
        yyjson_mut_val *reference = yyjson_mut_obj(doc);
        const char *id = yyjson_get_str(node);
        (void)snprintf(text, sizeof text, "#/nodes/%s/result", id != NULL ? id : "");
        (void)yyjson_mut_obj_add_strcpy(doc, reference, "$ref", text);
        return reference;
    }
    if (yyjson_is_arr(value)) {
        yyjson_mut_val *list = yyjson_mut_arr(doc);
        yyjson_arr_foreach (value, at, count, member) {
            (void)yyjson_mut_arr_append(list, right_value(doc, member));
        }
        return list;
    }
    if (!yyjson_is_obj(value)) {
        return yyjson_val_mut_copy(doc, value);
    }
    yyjson_mut_val *object = yyjson_mut_obj(doc);
    yyjson_obj_foreach (value, at, count, key, member) {
        yyjson_val *first = yyjson_is_arr(member) ? yyjson_arr_get_first(member) : member;
        if (first != NULL && !yyjson_equals_str(first, "") && !yyjson_is_null(first)) {
            (void)yyjson_mut_obj_add(object, yyjson_val_mut_copy(doc, key),
                                     right_value(doc, first));
        }
    }
    return object;
}

/* Add a fault. @return false: the plan has no place for it */
static bool add_fault(struct set *set, yyjson_mut_doc *doc, enum fault fault) {
    yyjson_mut_val *nodes = yyjson_mut_obj_get(doc->root, "nodes");
    yyjson_mut_val *first = yyjson_mut_arr_get_first(nodes);
    yyjson_mut_val *last = yyjson_mut_arr_get_last(nodes);
    yyjson_mut_val *arguments = yyjson_mut_obj_get(first, "arguments");
    yyjson_mut_obj_iter iter;
    (void)yyjson_mut_obj_iter_init(arguments, &iter);
    yyjson_mut_val *key = yyjson_mut_obj_iter_next(&iter);
    const char *tool = yyjson_mut_get_str(yyjson_mut_obj_get(first, "tool"));
    const char *first_id = yyjson_mut_get_str(yyjson_mut_obj_get(first, "id"));
    yyjson_mut_val *wrong = yyjson_mut_obj(doc);
    if (tool == NULL || first_id == NULL) {
        return false;
    }
    switch (fault) {
    case FAULT_NONE: return true;
    case FAULT_TOOL:
        return yyjson_mut_obj_put(first, yyjson_mut_str(doc, "tool"),
                                  yyjson_mut_str(doc, "tool_that_is_not_there"));
    case FAULT_OTHER:
        for (size_t i = 0; i < set->count; i++) {
            if (strcmp(set->items[i].name, tool) == 0) {
                const char *other = set->items[(i + 1) % set->count].name;
                return yyjson_mut_obj_put(first, yyjson_mut_str(doc, "tool"),
                                          yyjson_mut_strcpy(doc, other));
            }
        }
        return false;
    case FAULT_CYCLE: {
        yyjson_mut_val *one = yyjson_mut_arr(doc);
        yyjson_mut_val *two = yyjson_mut_arr(doc);
        (void)yyjson_mut_arr_add_strcpy(doc, one,
                                        yyjson_mut_get_str(yyjson_mut_obj_get(last, "id")));
        (void)yyjson_mut_arr_add_strcpy(doc, two, first_id);
        return yyjson_mut_obj_add_val(doc, first, "depends_on", one) &&
               (first == last || yyjson_mut_obj_add_val(doc, last, "depends_on", two));
    }
    case FAULT_REFERENCE:
        (void)yyjson_mut_obj_add_str(doc, wrong, "$ref", "#/nodes/not_there/result");
        return key != NULL &&
               yyjson_mut_obj_put(arguments, yyjson_mut_val_mut_copy(doc, key), wrong);
    case FAULT_NODE:
        /* The id of the first one is a name that any other argument may refer to. */
        if (first == last || key == NULL) {
            return false;
        }
        {
            char text[128];
            (void)snprintf(text, sizeof text, "#/nodes/%s/result", first_id);
            char *all = yyjson_mut_write(doc, 0, NULL);
            bool needed = all != NULL && strstr(all, text) != NULL;
            free(all);
            return needed && yyjson_mut_arr_remove_first(nodes) != NULL;
        }
    case FAULT_TYPE:
        (void)yyjson_mut_obj_add_bool(doc, wrong, "wrong", true);
        return key != NULL &&
               yyjson_mut_obj_put(arguments, yyjson_mut_val_mut_copy(doc, key), wrong);
    case FAULT_MISSING: return key != NULL && yyjson_mut_obj_remove(arguments, key) != NULL;
    default: return false;
    }
}

/* Whether a plan is refused. */
static bool is_found(struct set *set, const yyjson_mut_doc *doc) {
    struct toolrack_findings *findings = NULL;
    struct toolrack_plan *plan = NULL;
    char *text = yyjson_mut_write(doc, 0, NULL);
    if (text != NULL) {
        (void)toolrack_plan_open(set->host, text, strlen(text), &findings, &plan, NULL);
    }
    bool found = plan == NULL;
    toolrack_findings_free(findings);
    toolrack_plan_close(plan);
    free(text);
    return found;
}

/* The right plan of an item, and one with each fault; those that are found are counted. */
static void check_wrong_plans(const char *folder, yyjson_val *item) {
    yyjson_val *gold = yyjson_obj_get(yyjson_obj_get(item, "gold"), "nodes");
    const char *id = text_of(yyjson_arr_get_first(gold), "tool");
    if (yyjson_obj_get(yyjson_arr_get_first(gold), "args") == NULL) {
        return;
    }
    struct set *set = set_of(folder, id);
    for (int fault = 0; fault < FAULTS; fault++) {
        yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
        if (doc == NULL) {
            die("a plan", "out of memory");
            return;
        }
        size_t at;
        size_t count;
        yyjson_val *node;
        yyjson_mut_doc_set_root(doc, yyjson_mut_obj(doc));
        yyjson_mut_val *nodes = yyjson_mut_obj_add_arr(doc, doc->root, "nodes");
        yyjson_arr_foreach (gold, at, count, node) {
            yyjson_mut_val *row = yyjson_mut_arr_add_obj(doc, nodes);
            const char *name = name_of(set, text_of(node, "tool"));
            (void)yyjson_mut_obj_add_strcpy(doc, row, "id", text_of(node, "id"));
            (void)yyjson_mut_obj_add_strcpy(doc, row, "tool", name != NULL ? name : "none");
            (void)yyjson_mut_obj_add_val(doc, row, "arguments",
                                         right_value(doc, yyjson_obj_get(node, "args")));
        }
        if (add_fault(set, doc, (enum fault)fault)) {
            made_wrong[fault]++;
            found_wrong[fault] += is_found(set, doc);
        }
        yyjson_mut_doc_free(doc);
    }
}

static void print_wrong_plans(void) {
    unsigned wrong = 0;
    unsigned found = 0;
    for (int fault = 0; fault < FAULTS; fault++) {
        (void)printf("%-16s %u of %u found\n", fault_names[fault], found_wrong[fault],
                     made_wrong[fault]);
        wrong += fault == FAULT_NONE ? 0 : made_wrong[fault];
        found += fault == FAULT_NONE ? 0 : found_wrong[fault];
    }
    double precision = (double)found / (double)(found + found_wrong[FAULT_NONE]);
    double recall = (double)found / (double)wrong;
    (void)printf("over all plans: precision %.3f recall %.3f F1 %.3f\n", precision, recall,
                 2 * precision * recall / (precision + recall));
}

/* The host that is asked about scenes, which has no tools. */
static struct set *open_scenes(void) {
    if (set_count == 0) {
        struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
        struct toolrack_error *err = toolrack_error_create();
        options.config_file = config;
        options.state_dir = "";
        options.no_scan = 1;
        if (toolrack_open(&options, &sets[set_count].host, err) < 0) {
            die(config, toolrack_error_message(err));
        }
        toolrack_error_free(err);
        set_count++;
    }
    return &sets[0];
}

/* The first scene of the configuration among those of a text; the host knows others, too. */
static const char *domain_of(yyjson_val *scene, yyjson_val *configured) {
    const char *id = text_of(scene, "id");
    size_t at;
    size_t count;
    yyjson_val *other;
    yyjson_arr_foreach (yyjson_obj_get(scene, "others"), at, count, other) {
        id = yyjson_obj_get(configured, id) == NULL ? text_of(other, "id") : id;
    }
    return yyjson_obj_get(configured, id) != NULL ? id : NULL;
}

static void predict_scene(yyjson_val *item, yyjson_val *configured) {
    yyjson_doc *answer = ask(open_scenes(), item, false, NULL, NULL);
    yyjson_val *steps = yyjson_obj_get(yyjson_doc_get_root(answer), "steps");
    const char *domain = domain_of(yyjson_obj_get(steps, "scene"), configured);
    int64_t wishes = yyjson_get_sint(yyjson_obj_get(yyjson_obj_get(steps, "intent"), "steps"));
    yyjson_mut_doc *doc = begin_prediction(item);
    (void)yyjson_mut_obj_add_strcpy(doc, doc->root, "structure", wishes > 1 ? "multi" : "single");
    if (domain != NULL) {
        (void)yyjson_mut_obj_add_strcpy(doc, doc->root, "domain", domain);
    }
    print_prediction(doc);
    yyjson_doc_free(answer);
}

/* --------------------------------------------------------------------------------- the whole */

static void feed_history(const char *folder, const char *principal) {
    char path[512];
    (void)snprintf(path, sizeof path, "%s/history.jsonl", folder);
    FILE *file = fopen(path, "r");
    static char line[1 << 16];
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        yyjson_doc *doc = yyjson_read(line, strlen(line), 0);
        yyjson_val *root = yyjson_doc_get_root(doc);
        struct set *set = open_set(folder, text_of(root, "registry"));
        yyjson_doc *answer = ask(set, root, false, principal, NULL);
        const char *id = text_of(yyjson_doc_get_root(answer), "id");
        const char *right = name_of(set, text_of(root, "tool"));
        if (toolrack_select_feedback(set->host, principal, id, right, NULL) < 0) {
            die("history", text_of(root, "query"));
        }
        yyjson_doc_free(answer);
        yyjson_doc_free(doc);
    }
    if (file != NULL) {
        (void)fclose(file);
    }
}

static int compare_times(const void *left, const void *right) {
    double a = *(const double *)left;
    double b = *(const double *)right;
    return a < b ? -1 : a > b;
}

int main(int argc, char **argv) {
    if (argc < 3) {
        die("usage", "through-api KIND FOLDER [history] [search]");
    }
    const char *kind = argv[1];
    const char *folder = argv[2];
    const char *principal = NULL;
    bool searches = false;
    for (int i = 3; i < argc; i++) {
        searches = searches || strcmp(argv[i], "search") == 0;
        principal = strcmp(argv[i], "history") == 0 ? "eval" : principal;
    }
    char path[512];
    char *line = malloc(LINE_MAX_BYTES);
    bool wrong_plans = strcmp(kind, "wrong-plans") == 0;
    (void)snprintf(path, sizeof path, "%s/%s.jsonl", folder, wrong_plans ? "plan" : kind);
    FILE *file = fopen(path, "r");
    if (file == NULL || line == NULL) {
        die(path, "cannot be read");
    }
    yyjson_doc *scenes = NULL;
    if (strcmp(kind, "scene") == 0) {
        config = SCENES;
        scenes = yyjson_read_file(config, 0, NULL, NULL);
    }
    yyjson_val *configured = yyjson_ptr_get(yyjson_doc_get_root(scenes), "/choose/scenes");
    if (principal != NULL) {
        feed_history(folder, principal);
    }
    asked = 0;
    total_ms = 0;
    while (fgets(line, LINE_MAX_BYTES, file) != NULL) {
        yyjson_doc *doc = yyjson_read(line, strlen(line), 0);
        yyjson_val *item = yyjson_doc_get_root(doc);
        if (strcmp(kind, "retrieval") == 0) {
            bool has_past = strcmp(text_of(item, "registry"), "metatool") == 0;
            if (principal == NULL || has_past) {
                predict_retrieval(folder, item, NULL == principal ? NULL : "eval", searches);
            }
        } else if (strcmp(kind, "select") == 0) {
            predict_select(folder, item);
        } else if (wrong_plans) {
            check_wrong_plans(folder, item);
        } else if (strcmp(kind, "plan") == 0) {
            predict_plan(folder, item);
        } else if (scenes != NULL) {
            predict_scene(item, configured);
        } else {
            predict_arguments(folder, item, strcmp(kind, "faulty") == 0);
        }
        yyjson_doc_free(doc);
    }
    (void)fclose(file);
    free(line);
    yyjson_doc_free(scenes);
    if (wrong_plans) {
        print_wrong_plans();
    }
    qsort(times, asked, sizeof times[0], compare_times);
    (void)fprintf(stderr, "%zu asked, mean %.3f ms, p50 %.3f ms, p99 %.3f ms, %s %.3f ms\n", asked,
                  total_ms / (double)asked, times[asked / 2], times[asked * 99 / 100], slowest,
                  slowest_ms);
    for (size_t i = 0; i < set_count; i++) {
        toolrack_close(sets[i].host);
    }
    return 0;
}
