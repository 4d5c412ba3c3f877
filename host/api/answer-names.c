#include "api/answer-names.h"

#include <stdlib.h>
#include <string.h>

#include "api/host.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/json.h"
#include "base/name.h"
#include "format/definitions.h"
#include "registry/text.h"

CLEANUP_DEFINE(struct toolrack_text, toolrack_text_unref)

void answer_names_finish(struct answer_names *names) {
    yyjson_doc_free(names->own);
}

/* The names of the definitions that the model was given, else of an export now: a reference. */
static int take(const struct answer_names *names, struct toolrack_text **ret,
                struct toolrack_error *err) {
    const struct toolrack_text *given = names->definitions;
    if (given == NULL) {
        return export_names(names->host, names->format, names->offered, ret, err);
    }
    if (given->names == NULL || given->format != names->format) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "the definitions are none of the format '%s': give the text that "
                         "toolrack_export() gave for the model",
                         toolrack_format_name(names->format));
    }
    *ret = text_ref(given->names);
    return 0;
}

yyjson_val *answer_names_read(struct answer_names *names, struct toolrack_error *err) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    if (names->known == NULL && take(names, &text, err) == 0) {
        size_t length = 0;
        const char *json = toolrack_text_data(text, &length);
        names->own = yyjson_read(json, length, 0);
        names->known = yyjson_doc_get_root(names->own);
        if (names->known == NULL) {
            (void)error_oom(err);
        }
    }
    names->no_memory = names->no_memory || names->known == NULL;
    return names->known;
}

yyjson_val *answer_names_definition(struct answer_names *names, const char *name) {
    char wire[FORMAT_NAME_MAX + 1];
    yyjson_val *known = answer_names_read(names, NULL);
    yyjson_val *found = yyjson_obj_get(known, name);
    if (found == NULL) {
        (void)format_wire_name(names->format, name, wire);
        found = yyjson_obj_get(known, wire);
    }
    return found;
}

/* ------------------------------------------------------------------- a name */

/* A search for the tool that has another name in a format, among all tools. */
struct search {
    struct answer_names *names;
    const char *wanted;
    const char *found; /* in the arena of the message */
};

static bool is_not_it(void *user, struct toolrack_tool *tool) {
    struct search *search = user;
    const char *name = toolrack_tool_name(tool);
    char wire[FORMAT_NAME_MAX + 1];
    if (format_wire_name(search->names->format, name, wire) && strcmp(wire, search->wanted) == 0) {
        search->found = arena_copy(search->names->arena, name, strlen(name));
        search->names->no_memory = search->found == NULL;
        return false;
    }
    return true;
}

bool answer_names_find(struct answer_names *names, const char *name, const char **ret_own,
                       struct toolrack_tool **ret_tool) {
    if (names->is_limited) {
        yyjson_val *found = answer_names_definition(names, name);
        yyjson_val *own = yyjson_obj_get(found, "name");
        *ret_own = own != NULL ? yyjson_get_str(own) : name;
        return found != NULL;
    }
    *ret_tool = registry_get(names->host->registry, name);
    if (*ret_tool != NULL) {
        *ret_own = name;
        return true;
    }
    if (!format_looks_made(name, strlen(name))) {
        return false;
    }
    yyjson_val *own = yyjson_obj_get(yyjson_obj_get(answer_names_read(names, NULL), name), "name");
    struct search search = {.names = names, .wanted = name};
    if (own == NULL) {
        /* Of a tool that is not exported the call says why it is refused. */
        registry_visit(names->host->registry, is_not_it, &search);
    }
    *ret_own = own != NULL ? yyjson_get_str(own) : search.found;
    return *ret_own != NULL;
}

/* ---------------------------------------------------------------- prefixes
 *
 * Models write prefixes before names: words that mean any tool ("functions.add"), and the server
 * that a tool is of ("mcp__server__add"). What is behind one is called only where that is the one
 * thing that it can mean: whoever gets a model to say mcp__safe__delete must not reach the tool
 * `delete` of somebody else. */

/* Longest name that is looked at for a prefix. */
#define PREFIXED_MAX 256u

static const char server_prefix[] = "mcp__";

/* What a name with prefixes can mean. */
struct readings {
    struct answer_names *names;
    size_t count;
    const char *name;           /* of the last: the tool's own */
    struct toolrack_tool *tool; /* of the last: a reference, or NULL */
};

/* A plugin that is looked for. */
struct owner {
    const char *id;
    size_t length; /* 0: anybody */
    bool found;
};

static bool is_of(const struct toolrack_tool *tool, const struct owner *owner) {
    const char *id = toolrack_tool_plugin(tool);
    return owner->length == 0 ||
           (strlen(id) == owner->length && memcmp(id, owner->id, owner->length) == 0);
}

static bool is_not_of(void *user, struct toolrack_tool *tool) {
    struct owner *owner = user;
    owner->found = owner->found || is_of(tool, owner);
    return !owner->found;
}

static void try_reading(struct readings *readings, const char *name, const struct owner *owner) {
    CLEANUP(toolrack_tool_unrefp) struct toolrack_tool *tool = NULL;
    const char *own;
    if (!answer_names_find(readings->names, name, &own, &tool)) {
        return;
    }
    tool = tool != NULL ? tool : registry_get(readings->names->host->registry, own);
    if (tool != NULL && is_of(tool, owner)) {
        readings->count++;
        readings->name = own;
        toolrack_tool_unref(readings->tool);
        readings->tool = STEAL(tool);
    }
}

/* The length of the word before a name that means any tool; 0: there is none. */
static size_t any_word(const char *name) {
    static const char *const words[] = {"functions", "function", "default_api", "tools"};
    size_t length = strcspn(name, ".:");
    bool is_short = strnlen(name, PREFIXED_MAX + 1) <= PREFIXED_MAX;
    for (size_t i = 0; is_short && i < ARRAY_LENGTH(words); i++) {
        if (strlen(words[i]) == length && strncmp(words[i], name, length) == 0 &&
            name[length] != '\0' && name[length + 1] != '\0') {
            return length;
        }
    }
    return 0;
}

/* Whether a tool is called as the name with "_" behind its word: that may be what was meant. */
static bool is_with_underscore(struct answer_names *names, const char *name, size_t word) {
    char joined[PREFIXED_MAX + 1];
    CLEANUP(toolrack_tool_unrefp) struct toolrack_tool *tool = NULL;
    const char *own;
    (void)strcpy(joined, name);
    joined[word] = '_';
    return answer_names_find(names, joined, &own, &tool);
}

/* "functions.add": a word that is also the name of a plugin means tools of this plugin only. */
static void read_word(struct readings *readings, const char *name, size_t word) {
    struct owner owner = {.id = name, .length = word};
    registry_visit(readings->names->host->registry, is_not_of, &owner);
    owner.length = owner.found ? word : 0;
    if (!is_with_underscore(readings->names, name, word)) {
        try_reading(readings, name + word + 1, &owner);
    }
}

/* "mcp__server__add", as clients of MCP call tools: the server is the plugin of the tool. */
static void read_server(struct readings *readings, const char *name) {
    const char *server = name + strlen(server_prefix);
    for (const char *end = strstr(server, "__"); end != NULL; end = strstr(end + 1, "__")) {
        const struct owner owner = {.id = server, .length = (size_t)(end - server)};
        if (owner.length > 0 && end[2] != '\0') {
            try_reading(readings, end + 2, &owner);
        }
    }
}

bool answer_names_find_prefixed(struct answer_names *names, const char *name, const char **ret_own,
                                struct toolrack_tool **ret_tool) {
    struct readings readings = {.names = names};
    size_t word = any_word(name);
    while (word > 0 && readings.count == 0) {
        read_word(&readings, name, word);
        name += word + 1;
        word = any_word(name);
    }
    if (readings.count == 0 && strnlen(name, PREFIXED_MAX + 1) <= PREFIXED_MAX &&
        strncmp(name, server_prefix, strlen(server_prefix)) == 0) {
        read_server(&readings, name);
    }
    if (readings.count != 1) {
        toolrack_tool_unref(readings.tool);
        return false;
    }
    *ret_own = readings.name;
    *ret_tool = readings.tool;
    return true;
}

const char *answer_names_behind_word(struct answer_names *names, const char *name) {
    CLEANUP(toolrack_tool_unrefp) struct toolrack_tool *tool = NULL;
    const char *unused;
    size_t word = any_word(name);
    return word > 0 && !answer_names_find(names, name, &unused, &tool) &&
                           !is_with_underscore(names, name, word)
                   ? name + word + 1
                   : NULL;
}

const char *answer_names_bare(const char *name) {
    for (size_t word; (word = any_word(name)) > 0; name += word + 1) {
    }
    return name;
}

/* ------------------------------------------------------------------ not found */

void answer_names_refuse(const struct answer_names *names, const char *name,
                         struct toolrack_error *err) {
    struct nearest nearest = nearest_to(name);
    size_t at;
    size_t count;
    yyjson_val *known;
    yyjson_val *said;
    json_obj_foreach (names->known, at, count, known, said) {
        (void)nearest_try_tool(&nearest, yyjson_get_str(known));
    }
    (void)(nearest.name != NULL
                   ? error_set(err, TOOLRACK_E_NOT_FOUND, "Tool '%s' not found; did you mean '%s'?",
                               name, nearest.name)
                   : error_set(err, TOOLRACK_E_NOT_FOUND, "Tool '%s' not found; it was not offered",
                               name));
    error_set_tool(err, name);
}
