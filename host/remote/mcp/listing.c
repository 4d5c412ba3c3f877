/* listing.c - see listing.h. */
#include "remote/mcp/listing.h"

#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/json-write.h"
#include "base/json.h"
#include "base/semver.h"
#include "plugin/descriptor.h"
#include "schema/translate.h"
#include "toolrack/ext/prompts.h"
#include "toolrack/ext/resources.h"

CLEANUP_DEFINE(yyjson_mut_doc, yyjson_mut_doc_free)

static const char *text_of(yyjson_val *object, const char *key) {
    return yyjson_get_str(yyjson_obj_get(object, key));
}

/* What is read from a list for one descriptor. */
struct describing {
    const struct listing_options *options;
    struct names *names;
    struct arena *arena; /* for the rest */
    struct tr_tool *tools;
    const struct tr_tool **pointers;
    uint32_t count;
};

static void ignore_report(void *user, const char *pointer, const char *fix, const char *cause) {
    (void)user;
    (void)pointer;
    (void)fix;
    (void)cause;
}

/* A schema as JSON Schema 2020-12, in the arena; NULL: no memory. */
static const char *write_schema(struct arena *arena, yyjson_val *value) {
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = json_doc_create();
    const yyjson_alc alc = arena_alc(arena);
    yyjson_mut_val *copy = doc != NULL ? yyjson_val_mut_copy(doc, value) : NULL;
    if (copy == NULL) {
        return NULL;
    }
    translate_schema(doc, copy, ignore_report, NULL);
    return json_doc_is_whole(doc)
                   ? yyjson_mut_val_write_opts(copy, YYJSON_WRITE_NOFLAG, &alc, NULL, NULL)
                   : NULL;
}

static bool hint(yyjson_val *tool, const char *name, bool otherwise) {
    yyjson_val *value = yyjson_obj_get(yyjson_obj_get(tool, "annotations"), name);
    return value != NULL ? yyjson_is_true(value) : otherwise;
}

/* Hints are told to models; they never lower the permission. */
static uint32_t flags_of(yyjson_val *tool) {
    bool reads = hint(tool, "readOnlyHint", false);
    return (reads ? (uint32_t)TR_READ_ONLY : 0u) |
           (!reads && hint(tool, "destructiveHint", true) ? (uint32_t)TR_DESTRUCTIVE : 0u) |
           (hint(tool, "idempotentHint", false) ? (uint32_t)TR_IDEMPOTENT : 0u) |
           (hint(tool, "openWorldHint", true) ? (uint32_t)TR_OPEN_WORLD : 0u);
}

/* The host calls the service instead. */
static tr_status run_nothing(struct tr_call *call) {
    return tr_fail(call, TR_FAILED, NULL, "the tool has no function of its own");
}

static bool is_wanted(yyjson_val *wanted, yyjson_val *name) {
    size_t at;
    size_t count;
    yyjson_val *item;
    yyjson_arr_foreach (wanted, at, count, item) {
        if (json_has_text(item, yyjson_get_str(name))) {
            return true;
        }
    }
    return wanted == NULL;
}

/* @return whether there was memory */
static bool add_tool(struct describing *of, yyjson_val *tool, yyjson_val *name) {
    struct arena *arena = of->arena;
    yyjson_val *schema = yyjson_obj_get(tool, "inputSchema");
    yyjson_val *result = yyjson_obj_get(tool, "outputSchema");
    const char *said = text_of(tool, "description");
    const char *title = text_of(tool, "title");
    title = title != NULL ? title : text_of(yyjson_obj_get(tool, "annotations"), "title");
    said = said != NULL && said[0] != '\0' ? said : title;
    const char *description = said != NULL && said[0] != '\0'
                                      ? arena_copy(arena, said, strlen(said))
                                      : arena_printf(arena, "The tool %s of MCP server '%s'",
                                                     yyjson_get_str(name), of->options->server);
    struct tr_tool *made = &of->tools[of->count];
    *made = (struct tr_tool){
            .size = sizeof(struct tr_tool),
            .flags = flags_of(tool),
            .name = names_add(of->names, of->options->prefix, yyjson_get_str(name)),
            .description = description,
            .title = title != NULL ? arena_copy(arena, title, strlen(title)) : NULL,
            .category = "mcp",
            .permission = of->options->permission,
            .priority = of->options->priority,
            .schema = yyjson_is_obj(schema) ? write_schema(arena, schema) : "{\"type\":\"object\"}",
            .result_schema = yyjson_is_obj(result) ? write_schema(arena, result) : NULL,
            .run = run_nothing};
    of->pointers[of->count++] = made;
    return made->name != NULL && description != NULL && made->schema != NULL &&
           (made->title != NULL || title == NULL) &&
           (made->result_schema != NULL || !yyjson_is_obj(result));
}

/* A tool whose arguments cannot be put into headers as it wants is left out. */
static bool add_tool_of(struct describing *of, yyjson_val *tool, yyjson_val *name) {
    struct mirrors mirrors = {0};
    const char *wrong = of->options->is_web ? mirrors_read(yyjson_obj_get(tool, "inputSchema"),
                                                           &of->names->arena, &mirrors)
                                            : NULL;
    if (wrong != NULL) {
        log_line(of->options->log, LOG_WARNING, "mcp",
                 "%s: the tool %.100s is left out: an \"x-mcp-header\" of its schema %s",
                 of->options->server, yyjson_get_str(name), wrong);
        return true;
    }
    bool has_memory = add_tool(of, tool, name);
    if (has_memory) {
        names_set_mirrors(of->names, &mirrors);
    }
    return has_memory;
}

static bool add_tools(struct describing *of, yyjson_val *tools) {
    size_t at;
    size_t count;
    yyjson_val *tool;
    bool has_memory = true;
    yyjson_arr_foreach (tools, at, count, tool) {
        yyjson_val *name = yyjson_obj_get(tool, "name");
        bool is_named = yyjson_is_str(name) && yyjson_get_len(name) > 0 &&
                        strlen(yyjson_get_str(name)) == yyjson_get_len(name);
        if (!is_named) {
            log_line(of->options->log, LOG_WARNING, "mcp", "%s: a tool without a name is left out",
                     of->options->server);
        } else if (yyjson_equals_str(
                           yyjson_obj_get(yyjson_obj_get(tool, "execution"), "taskSupport"),
                           "required")) {
            log_line(of->options->log, LOG_WARNING, "mcp",
                     "%s: the tool %.128s is left out: it is called as a task only, which is not "
                     "done here",
                     of->options->server, yyjson_get_str(name));
        } else if (has_memory && is_wanted(of->options->wanted, name)) {
            has_memory = add_tool_of(of, tool, name);
        }
    }
    return has_memory;
}

/* The functions are not called: the service of the plugin is. */
static const void *get_extension(const char *id) {
    static const struct tr_resources resources = {
            .size = sizeof resources, .list = run_nothing, .read = run_nothing};
    static const struct tr_prompts prompts = {
            .size = sizeof prompts, .list = run_nothing, .get = run_nothing};
    return strcmp(id, TR_EXT_RESOURCES) == 0 ? (const void *)&resources
           : strcmp(id, TR_EXT_PROMPTS) == 0 ? (const void *)&prompts
                                             : NULL;
}

int listing_describe(const struct listing_options *options, yyjson_val *root, struct names *names,
                     const struct descriptor_options *descriptor_options, struct descriptor **ret,
                     struct toolrack_error *err) {
    struct arena arena;
    yyjson_val *tools = yyjson_obj_get(root, "tools");
    size_t room = yyjson_arr_size(tools) + 1;
    const char *version = text_of(root, "version");
    bool is_known = version != NULL && semver_valid(version);
    arena_init(&arena, NULL, 0);
    struct describing of = {.options = options,
                            .names = names,
                            .arena = &arena,
                            .tools = arena_alloc(&arena, room * sizeof *of.tools),
                            .pointers = arena_alloc(&arena, room * sizeof *of.pointers)};
    int code =
            of.tools != NULL && of.pointers != NULL && add_tools(&of, tools) ? 0 : error_oom(err);
    if (code == 0) {
        const struct tr_plugin plugin = {.magic = TR_MAGIC,
                                         .size = sizeof plugin,
                                         .abi_major = TR_ABI_MAJOR,
                                         .abi_minor = TR_ABI_MINOR,
                                         .flags = TR_THREAD_SAFE | options->flags,
                                         .id = options->id,
                                         .version = is_known ? version : "0.0.0",
                                         .tool_count = of.count,
                                         .tool_size = sizeof(struct tr_tool),
                                         .tools = of.pointers,
                                         .get_extension = get_extension};
        code = descriptor_copy(&plugin, descriptor_options, ret, err);
    }
    arena_finish(&arena);
    names_sort(names);
    return code;
}
