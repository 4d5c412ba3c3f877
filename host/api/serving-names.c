#include "api/serving-names.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json-pointer.h"
#include "base/json.h"
#include "base/name.h"
#include "registry/selector.h"

/* What a name is of. */
enum named { NAMED_TOOL, NAMED_TAG, NAMED_CATEGORY };

static const char *const words[] = {
        [NAMED_TOOL] = "name", [NAMED_TAG] = "tag", [NAMED_CATEGORY] = "category"};

struct looking {
    enum named named;
    const char *text;
    struct nearest nearest;
    char near[NAME_LENGTH_MAX + 1]; /* what `nearest` found, which may be released */
    bool is_there;
};

static void try_near(struct looking *looking, const char *name) {
    if (nearest_try(&looking->nearest, name)) {
        (void)snprintf(looking->near, sizeof looking->near, "%.*s", NAME_LENGTH_MAX, name);
        looking->nearest.name = looking->near;
    }
}

/* "read, disk" */
static void try_tags(struct looking *looking, const char *tags) {
    while (tags != NULL && *tags != '\0') {
        size_t length = strcspn(tags, ",");
        char tag[NAME_LENGTH_MAX + 1] = "";
        size_t spaces = strspn(tags, " ");
        if (spaces < length && length - spaces < sizeof tag) {
            memcpy(tag, tags + spaces, length - spaces);
            try_near(looking, tag);
        }
        tags += length + (tags[length] == ',');
    }
}

static bool look_at(void *user, struct toolrack_tool *tool) {
    struct looking *looking = user;
    const char *name = toolrack_tool_name(tool);
    const char *category = toolrack_tool_category(tool);
    switch (looking->named) {
    case NAMED_TOOL:
        looking->is_there = selector_pattern_fits(looking->text, name, toolrack_tool_version(tool));
        try_near(looking, name);
        break;
    case NAMED_TAG:
        looking->is_there = toolrack_tool_has_tag(tool, looking->text);
        try_tags(looking, toolrack_tool_tags(tool));
        break;
    case NAMED_CATEGORY:
        looking->is_there = category != NULL && strcmp(category, looking->text) == 0;
        try_near(looking, category != NULL ? category : "");
        break;
    }
    return !looking->is_there;
}

/* Whether there is one; else what to do. */
static bool has(struct toolrack *host, enum named named, const char *text, struct buf *ret_fix) {
    CLEANUP(freep) char *plain = strndup(text, strcspn(text, "@"));
    struct looking looking = {.named = named, .text = text, .nearest = nearest_to("")};
    if (plain == NULL) {
        ret_fix->failed = true;
        return true;
    }
    looking.nearest = nearest_to(named == NAMED_TOOL ? plain : text);
    registry_visit(host->registry, look_at, &looking);
    bool is_near = looking.near[0] != '\0';
    if (looking.is_there) {
        return true;
    }
    if (is_near && named == NAMED_TOOL && strcmp(looking.near, plain) == 0) {
        buf_add_text(ret_fix, "no version of the tool fits; correct the version, or remove it");
    } else if (is_near) {
        buf_printf(ret_fix, "did you mean \"%s\"?", looking.near);
    } else {
        buf_printf(ret_fix, "correct the %s, remove it, or install the plugin that has it",
                   words[named]);
    }
    return false;
}

bool serving_has_tool(struct toolrack *host, const char *pattern, struct buf *ret_fix) {
    return has(host, NAMED_TOOL, pattern, ret_fix);
}

/* ------------------------------------------------------------- configuration */

struct naming {
    struct toolrack *host;
    void (*take)(void *user, const struct serving_name *name);
    void *user;
};

static void check(const struct naming *naming, const char *pointer, enum named named,
                  const char *text) {
    CLEANUP(buf_finish) struct buf fix = BUF_INIT;
    CLEANUP(buf_finish) struct buf cause = BUF_INIT;
    struct serving_name name = {0};
    if (has(naming->host, named, text, &fix)) {
        return;
    }
    buf_printf(&cause, "\"serve\" names '%s', and no tool has this %s", text, words[named]);
    config_place(naming->host->config, pointer, &name.line, &name.column);
    name.cause = cause.data;
    name.fix = fix.data;
    if (!cause.failed && !fix.failed) {
        naming->take(naming->user, &name);
    }
}

static void check_list(const struct naming *naming, yyjson_val *list, char *pointer,
                       enum named named) {
    size_t length = strlen(pointer);
    size_t at;
    size_t count;
    yyjson_val *item;
    yyjson_arr_foreach (list, at, count, item) {
        json_pointer_add_index(pointer, at);
        check(naming, pointer, named, yyjson_get_str(item));
        pointer[length] = '\0';
    }
}

static void check_profile(const struct naming *naming, const char *name, yyjson_val *profile) {
    static const char *const members[] = {
            [NAMED_TOOL] = "tools", [NAMED_TAG] = "tags", [NAMED_CATEGORY] = "categories"};
    for (unsigned i = 0; i < ARRAY_LENGTH(members); i++) {
        char pointer[JSON_POINTER_MAX] = "/serve/profiles";
        json_pointer_add(pointer, name);
        json_pointer_add(pointer, members[i]);
        check_list(naming, yyjson_obj_get(profile, members[i]), pointer, (enum named)i);
    }
}

void serving_names(struct toolrack *host, void (*take)(void *user, const struct serving_name *name),
                   void *user) {
    const struct naming naming = {.host = host, .take = take, .user = user};
    yyjson_val *serve = config_serving(host->config);
    char pointer[JSON_POINTER_MAX] = "/serve/pinned";
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    check_list(&naming, yyjson_obj_get(serve, "pinned"), pointer, NAMED_TOOL);
    json_obj_foreach (yyjson_obj_get(serve, "profiles"), at, count, key, value) {
        check_profile(&naming, yyjson_get_str(key), value);
    }
    json_obj_foreach (yyjson_obj_get(yyjson_obj_get(serve, "tasks"), "tools"), at, count, key,
                      value) {
        char of_tool[JSON_POINTER_MAX] = "/serve/tasks/tools";
        json_pointer_add(of_tool, yyjson_get_str(key));
        check(&naming, of_tool, NAMED_TOOL, yyjson_get_str(key));
    }
}
