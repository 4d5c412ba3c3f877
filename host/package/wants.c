#include "package/wants.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "plugin/capability.h"
#include "schema/compatibility.h"

static const char *or_empty(const char *text) {
    return text != NULL ? text : "";
}

static const char *permission_name(uint32_t permission) {
    return permission == TR_SAFE ? "safe" : permission == TR_CONFIRM ? "confirm" : "dangerous";
}

static void add_text(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key,
                     const char *text) {
    (void)yyjson_mut_obj_add_strcpy(doc, object, key, or_empty(text));
}

/* "read:${home}/notes", on the buffer, which is emptied first. */
static const char *capability_text(struct buf *buf, const struct tr_capability *capability) {
    buf_clear(buf);
    buf_printf(buf, "%s:%s", capability_kind_name(capability->kind), or_empty(capability->value));
    return buf->failed ? "" : buf->data;
}

/* ---------------------------------------------------------------- describe */

static void add_tool(yyjson_mut_doc *doc, yyjson_mut_val *list,
                     const struct descriptor_tool *spec) {
    const struct tr_tool *tool = spec->tool;
    yyjson_mut_val *object = yyjson_mut_arr_add_obj(doc, list);
    add_text(doc, object, "name", tool->name);
    add_text(doc, object, "version", spec->version);
    add_text(doc, object, "permission", permission_name(tool->permission));
    add_text(doc, object, "description", tool->description);
    (void)yyjson_mut_obj_add_bool(doc, object, "destructive", (tool->flags & TR_DESTRUCTIVE) != 0);
    (void)yyjson_mut_obj_add_bool(doc, object, "open_world", (tool->flags & TR_OPEN_WORLD) != 0);
}

void wants_describe(const struct descriptor *desc, yyjson_mut_doc *doc, yyjson_mut_val *root) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    yyjson_mut_val *tools = yyjson_mut_obj_add_arr(doc, root, "tools");
    for (uint32_t i = 0; i < desc->tool_count; i++) {
        add_tool(doc, tools, &desc->tools[i]);
    }
    yyjson_mut_val *capabilities = yyjson_mut_obj_add_arr(doc, root, "capabilities");
    for (uint32_t i = 0; i < desc->plugin->capability_count; i++) {
        (void)yyjson_mut_arr_add_strcpy(doc, capabilities,
                                        capability_text(&text, &desc->plugin->capabilities[i]));
    }
}

/* ----------------------------------------------------------------- compare */

struct comparing {
    yyjson_mut_doc *doc;
    yyjson_mut_val *changes;
    size_t count;
    size_t more;
};

static void TOOLRACK_PRINTF(5, 6)
        add_change(struct comparing *comparing, const char *kind, const char *tool, bool breaks,
                   const char *format, ...) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    va_list args;
    if (comparing->count == WANTS_CHANGES_MAX) {
        comparing->more++;
        return;
    }
    comparing->count++;
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    yyjson_mut_val *object = yyjson_mut_arr_add_obj(comparing->doc, comparing->changes);
    add_text(comparing->doc, object, "kind", kind);
    if (tool != NULL) {
        add_text(comparing->doc, object, "tool", tool);
    }
    add_text(comparing->doc, object, "text", text.failed ? "" : text.data);
    (void)yyjson_mut_obj_add_bool(comparing->doc, object, "breaks", breaks);
}

static const struct descriptor_tool *find_tool(const struct descriptor *desc, const char *name) {
    for (uint32_t i = 0; i < desc->tool_count; i++) {
        if (strcmp(desc->tools[i].tool->name, name) == 0) {
            return &desc->tools[i];
        }
    }
    return NULL;
}

static void add_differences(struct comparing *comparing, const char *kind, const char *tool,
                            const struct compatibility *found) {
    for (size_t i = 0; i < found->count; i++) {
        const struct compatibility_difference *one = &found->items[i];
        add_change(comparing, kind, tool, true, "%s%s%s: %s", one->rule,
                   one->field[0] != '\0' ? " at " : "", one->field, one->text);
    }
    if (found->found > found->count) {
        add_change(comparing, kind, tool, true, "and %zu more", found->found - found->count);
    }
}

/* What callers of a tool could do, or rely on, and no longer can. */
static void compare_schemas(struct comparing *comparing, const struct descriptor_tool *old,
                            const struct descriptor_tool *now) {
    struct compatibility arguments = COMPATIBILITY_INIT;
    struct compatibility results = COMPATIBILITY_INIT;
    compatibility_of_arguments(old->schema, now->schema, &arguments);
    compatibility_of_results(old->result_schema, now->result_schema, &results);
    add_differences(comparing, "tool-arguments", now->tool->name, &arguments);
    add_differences(comparing, "tool-result", now->tool->name, &results);
}

static void compare_care(struct comparing *comparing, const struct tr_tool *old,
                         const struct tr_tool *now) {
    if (old->permission != now->permission) {
        add_change(comparing, "permission", now->name, false, "%s, was %s",
                   permission_name(now->permission), permission_name(old->permission));
    }
    static const struct {
        uint32_t flag;
        const char *words;
    } flags[] = {{TR_READ_ONLY, "read only"},
                 {TR_DESTRUCTIVE, "destructive"},
                 {TR_IDEMPOTENT, "idempotent"},
                 {TR_OPEN_WORLD, "reaching the world outside"}};
    for (size_t i = 0; i < ARRAY_LENGTH(flags); i++) {
        if (((old->flags ^ now->flags) & flags[i].flag) != 0) {
            add_change(comparing, "flags", now->name, false, "%s %s",
                       (now->flags & flags[i].flag) != 0 ? "now said to be"
                                                         : "no longer said to be",
                       flags[i].words);
        }
    }
}

static void compare_texts(struct comparing *comparing, const struct descriptor_tool *old,
                          const struct descriptor_tool *now) {
    const struct {
        const char *words;
        const char *old;
        const char *now;
    } texts[] = {{"its description", old->tool->description, now->tool->description},
                 {"its title", old->tool->title, now->tool->title},
                 {"its purpose", old->tool->purpose, now->tool->purpose},
                 {"its scenarios", old->tool->scenarios, now->tool->scenarios},
                 {"its category", old->tool->category, now->tool->category},
                 {"its tags", old->tool->tags, now->tool->tags},
                 {"its deprecation", old->tool->deprecated, now->tool->deprecated}};
    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
        if (strcmp(or_empty(texts[i].old), or_empty(texts[i].now)) != 0) {
            add_change(comparing, "text", now->tool->name, false, "%s is \"%s\", was \"%s\"",
                       texts[i].words, or_empty(texts[i].now), or_empty(texts[i].old));
        }
    }
    if (strcmp(or_empty(old->schema), or_empty(now->schema)) != 0) {
        add_change(comparing, "text", now->tool->name, false, "the schema of its arguments");
    }
    if (strcmp(or_empty(old->result_schema), or_empty(now->result_schema)) != 0) {
        add_change(comparing, "text", now->tool->name, false, "the schema of its result");
    }
}

static bool has_capability(const struct descriptor *desc, const struct tr_capability *wanted) {
    for (uint32_t i = 0; i < desc->plugin->capability_count; i++) {
        const struct tr_capability *one = &desc->plugin->capabilities[i];
        if (one->kind == wanted->kind &&
            strcmp(or_empty(one->value), or_empty(wanted->value)) == 0) {
            return true;
        }
    }
    return false;
}

static void compare_capabilities(struct comparing *comparing, const char *kind,
                                 const struct descriptor *of, const struct descriptor *other) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    for (uint32_t i = 0; i < of->plugin->capability_count; i++) {
        const struct tr_capability *one = &of->plugin->capabilities[i];
        if (!has_capability(other, one)) {
            add_change(comparing, kind, NULL, false, "%s", capability_text(&text, one));
        }
    }
}

static void compare_plugins(struct comparing *comparing, const struct tr_plugin *old,
                            const struct tr_plugin *now) {
    const struct {
        const char *words;
        const char *old;
        const char *now;
    } texts[] = {{"vendor", old->vendor, now->vendor},
                 {"licence", old->license, now->license},
                 {"homepage", old->homepage, now->homepage}};
    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
        if (strcmp(or_empty(texts[i].old), or_empty(texts[i].now)) != 0) {
            add_change(comparing, "plugin", NULL, false, "its %s is \"%s\", was \"%s\"",
                       texts[i].words, or_empty(texts[i].now), or_empty(texts[i].old));
        }
    }
}

void wants_compare(const struct descriptor *old, const struct descriptor *now, yyjson_mut_doc *doc,
                   yyjson_mut_val *root) {
    struct comparing comparing = {.doc = doc,
                                  .changes = yyjson_mut_obj_add_arr(doc, root, "changes")};
    for (uint32_t i = 0; i < old->tool_count; i++) {
        if (find_tool(now, old->tools[i].tool->name) == NULL) {
            add_change(&comparing, "tool-removed", old->tools[i].tool->name, true,
                       "the tool is gone");
        }
    }
    for (uint32_t i = 0; i < now->tool_count; i++) {
        const struct descriptor_tool *before = find_tool(old, now->tools[i].tool->name);
        if (before != NULL) {
            compare_schemas(&comparing, before, &now->tools[i]);
        }
    }
    compare_capabilities(&comparing, "capability-added", now, old);
    for (uint32_t i = 0; i < now->tool_count; i++) {
        const struct descriptor_tool *before = find_tool(old, now->tools[i].tool->name);
        if (before != NULL) {
            compare_care(&comparing, before->tool, now->tools[i].tool);
        }
    }
    for (uint32_t i = 0; i < now->tool_count; i++) {
        const struct tr_tool *tool = now->tools[i].tool;
        if (find_tool(old, tool->name) == NULL) {
            add_change(&comparing, "tool-added", tool->name, false, "%s",
                       permission_name(tool->permission));
        }
    }
    for (uint32_t i = 0; i < now->tool_count; i++) {
        const struct descriptor_tool *before = find_tool(old, now->tools[i].tool->name);
        if (before != NULL) {
            compare_texts(&comparing, before, &now->tools[i]);
        }
    }
    compare_capabilities(&comparing, "capability-removed", old, now);
    compare_plugins(&comparing, old->plugin, now->plugin);
    (void)yyjson_mut_obj_add_uint(doc, root, "more", comparing.more);
}
