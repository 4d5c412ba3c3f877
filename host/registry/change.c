#include "registry/change.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"

bool change_begin(struct change *change, size_t tools_max, uint64_t uid_old) {
    *change = (struct change){
            .uid_old = uid_old,
            .tools = calloc(tools_max + 1, sizeof(struct toolrack_tool *)),
            .notices = calloc(tools_max + 1, sizeof(struct notice)),
    };
    return change->tools != NULL && change->notices != NULL;
}

void change_finish(struct change *change) {
    for (size_t i = 0; i < change->count; i++) {
        toolrack_tool_unref(change->tools[i]);
    }
    for (size_t i = 0; i < change->notice_count; i++) {
        toolrack_tool_unref(change->notices[i].tool);
    }
    free(change->tools);
    free(change->notices);
    snapshot_destroy(change->replaced);
}

void change_add(struct change *change, struct toolrack_tool *tool) {
    change->tools[change->count++] = toolrack_tool_ref(tool);
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
        if (change_find_name(change->tools, change->count, tried, strlen(tried)) == change->count) {
            memcpy(ret, tried, sizeof tried);
            return;
        }
    }
}

struct snapshot *change_take_snapshot(struct change *change) {
    struct snapshot *next = snapshot_create(change->tools, change->count);
    change->count = 0; /* snapshot_create() took the references over, even if it failed */
    return next;
}
