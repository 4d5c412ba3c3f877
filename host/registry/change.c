#include "registry/change.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"

bool change_begin(struct change *change, const struct snapshot *old, uint64_t uid_old,
                  size_t names) {
    *change = (struct change){
            .old = old,
            .uid_old = uid_old,
            .groups = calloc(names + 1, sizeof(struct name_group *)),
    };
    return change->groups != NULL;
}

void change_concern(struct change *change, const char *name, size_t length) {
    const struct name_group *group = snapshot_find(change->old, name, length);
    if (group != NULL) {
        change->groups[change->group_count++] = group;
    }
}

static int compare_groups(const void *a, const void *b) {
    const struct name_group *x = *(const struct name_group *const *)a;
    const struct name_group *y = *(const struct name_group *const *)b;
    return strcmp(x->name, y->name);
}

bool change_open(struct change *change, size_t more) {
    size_t count = 0;
    if (change->group_count > 1) {
        sort(change->groups, change->group_count, sizeof(struct name_group *), compare_groups);
    }
    for (size_t i = 0; i < change->group_count; i++) {
        count += change->groups[i]->count;
    }
    change->before = calloc(count + 1, sizeof(struct toolrack_tool *));
    change->tools = calloc(count + more + 1, sizeof(struct toolrack_tool *));
    change->notices = calloc(2 * (count + more) + 1, sizeof(struct notice));
    if (change->before == NULL || change->tools == NULL || change->notices == NULL) {
        return false;
    }
    for (size_t i = 0; i < change->group_count; i++) {
        const struct name_group *group = change->groups[i];
        if (i == 0 || group != change->groups[i - 1]) {
            memcpy(&change->before[change->before_count], group->tools,
                   group->count * sizeof(struct toolrack_tool *));
            change->before_count += group->count;
        }
    }
    return true;
}

/* Of a change that was published the old snapshot's references to the tools before are released,
 * else those to the tools after it. */
void change_finish(struct change *change) {
    bool published = change->replaced != NULL;
    struct toolrack_tool **left = published ? change->before : change->tools;
    size_t count = published ? change->before_count : change->count;
    for (size_t i = 0; i < count; i++) {
        toolrack_tool_unref(left[i]);
    }
    for (size_t i = 0; i < change->notice_count; i++) {
        toolrack_tool_unref(change->notices[i].tool);
    }
    if (published) {
        snapshot_step_finish(&change->step, change->replaced);
    } else {
        snapshot_step_drop(&change->step);
    }
    free(change->groups);
    free(change->before);
    free(change->tools);
    free(change->notices);
}

void change_add(struct change *change, struct toolrack_tool *tool) {
    change->tools[change->count++] = toolrack_tool_ref(tool);
}

bool change_take(struct change *change, struct toolrack_tool *view) {
    if (view != NULL) {
        change->tools[change->count++] = view;
    }
    return view != NULL;
}

void change_add_all(struct change *change) {
    for (size_t i = 0; i < change->before_count; i++) {
        change_add(change, change->before[i]);
    }
}

void change_note(struct change *change, enum toolrack_event_kind kind, struct toolrack_tool *tool) {
    change->notices[change->notice_count++] =
            (struct notice){.kind = kind, .tool = toolrack_tool_ref(tool)};
}

static int compare_arrival(const void *a, const void *b) {
    const struct toolrack_tool *x = *(struct toolrack_tool *const *)a;
    const struct toolrack_tool *y = *(struct toolrack_tool *const *)b;
    int order = tool_compare_names(x, y);
    return order != 0 ? order : (x->reg->uid > y->reg->uid) - (x->reg->uid < y->reg->uid);
}

void change_sort(struct change *change, size_t first) {
    if (change->count > first) {
        sort(&change->tools[first], change->count - first, sizeof *change->tools, compare_arrival);
    }
}

size_t change_find_name(struct toolrack_tool *const *tools, size_t count, const char *name,
                        size_t length) {
    size_t low = 0;
    size_t high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const char *other = toolrack_tool_name(tools[middle]);
        int order = strncmp(other, name, length);
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < count && tool_has_name(tools[low], name, length) ? low : count;
}

struct toolrack_tool *change_find_same(struct toolrack_tool *const *tools, size_t count,
                                       const struct toolrack_tool *wanted) {
    size_t at = change_find_name(tools, count, toolrack_tool_name(wanted),
                                 strlen(toolrack_tool_name(wanted)));
    for (int order = -1; at < count && order < 0; at++) {
        order = tool_compare_names(tools[at], wanted);
        if (order == 0) {
            return tools[at];
        }
    }
    return NULL;
}

static bool has_name(struct toolrack_tool *const *tools, size_t count, const char *name) {
    return change_find_name(tools, count, name, strlen(name)) < count;
}

bool change_is_about(const struct change *change, const char *name) {
    return has_name(change->before, change->before_count, name) ||
           has_name(change->tools, change->count, name);
}

static bool is_free(const struct change *change, const char *name) {
    return !has_name(change->tools, change->count, name) &&
           (has_name(change->before, change->before_count, name) ||
            snapshot_find(change->old, name, strlen(name)) == NULL);
}

/* Most suffixes tried. */
#define FREE_NAME_TRIES_MAX 100

void change_free_name(const struct change *change, const char *name,
                      char ret[NAME_LENGTH_MAX + 1]) {
    (void)snprintf(ret, NAME_LENGTH_MAX + 1, "another name");
    for (int i = 2; i < FREE_NAME_TRIES_MAX; i++) {
        char tail[16];
        char tried[NAME_LENGTH_MAX + 1];
        (void)snprintf(tail, sizeof tail, i == 3 ? "_alt" : "_v%d", i < 3 ? i : i - 1);
        (void)snprintf(tried, sizeof tried, "%.*s%s", (int)(NAME_LENGTH_MAX - strlen(tail)), name,
                       tail);
        if (is_free(change, tried)) {
            memcpy(ret, tried, sizeof tried);
            return;
        }
    }
}
