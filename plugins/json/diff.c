/* The operations that make one document of another. Objects are compared by key. Of arrays, what is
 * equal at both ends is left as it is, and the items between are aligned by a longest common
 * subsequence; an item that went beside one that came is compared in turn. */
#include "patch.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/json-equal.h"
#include "base/json.h"

/* Cells of the table of an alignment; larger arrays are compared item by item. */
#define ALIGN_CELLS_MAX 1000000u

struct diffing {
    yyjson_mut_doc *doc;
    yyjson_mut_val *patch;
    struct buf path;
    struct budget budget;
};

static bool compare(struct diffing *with, yyjson_val *from, yyjson_val *to);

static bool add_operation(struct diffing *with, const char *name, yyjson_val *value) {
    yyjson_mut_doc *doc = with->doc;
    yyjson_mut_val *operation = yyjson_mut_arr_add_obj(doc, with->patch);
    const char *path = with->path.data == NULL ? "" : with->path.data;
    return operation != NULL && !with->path.failed &&
           yyjson_mut_obj_add_str(doc, operation, "op", name) &&
           yyjson_mut_obj_add_strncpy(doc, operation, "path", path, with->path.length) &&
           (value == NULL ||
            yyjson_mut_obj_add_val(doc, operation, "value", yyjson_val_mut_copy(doc, value)));
}

static void enter_index(struct diffing *with, size_t index) {
    buf_printf(&with->path, "/%zu", index);
}

/* ------------------------------------------------------------ objects */

static bool compare_objects(struct diffing *with, yyjson_val *from, yyjson_val *to) {
    size_t i;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    size_t length = with->path.length;
    json_obj_foreach (from, i, count, key, value) {
        if (yyjson_obj_getn(from, yyjson_get_str(key), yyjson_get_len(key)) != value) {
            continue; /* a key that was there before: only the first one is seen */
        }
        yyjson_val *other = yyjson_obj_getn(to, yyjson_get_str(key), yyjson_get_len(key));
        buf_add_pointer(&with->path, yyjson_get_str(key), yyjson_get_len(key));
        bool fine =
                budget_spend(&with->budget, yyjson_obj_size(to) + 1) &&
                (other == NULL ? add_operation(with, "remove", NULL) : compare(with, value, other));
        buf_truncate(&with->path, length);
        if (!fine) {
            return false;
        }
    }
    json_obj_foreach (to, i, count, key, value) {
        if (yyjson_obj_getn(from, yyjson_get_str(key), yyjson_get_len(key)) != NULL) {
            continue;
        }
        buf_add_pointer(&with->path, yyjson_get_str(key), yyjson_get_len(key));
        bool fine = budget_spend(&with->budget, yyjson_obj_size(from) + 1) &&
                    add_operation(with, "add", value);
        buf_truncate(&with->path, length);
        if (!fine) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------ arrays */

/* The items of both arrays that are not equal at the beginning or at the end. */
struct middle {
    yyjson_val **from;
    yyjson_val **to;
    size_t from_count;
    size_t to_count;
    size_t start;     /* index of the first one in both */
    uint32_t *common; /* (from_count + 1) * (to_count + 1): longest from there on; NULL: too many */
};

static uint32_t common_at(const struct middle *middle, size_t i, size_t j) {
    return middle->common[i * (middle->to_count + 1) + j];
}

static bool align(struct diffing *with, struct middle *middle) {
    size_t width = middle->to_count + 1;
    size_t cells = (middle->from_count + 1) * width;
    if (middle->from_count >= ALIGN_CELLS_MAX || width >= ALIGN_CELLS_MAX ||
        cells > ALIGN_CELLS_MAX) {
        return true;
    }
    uint64_t *hashes = malloc((middle->from_count + middle->to_count + 1) * sizeof *hashes);
    middle->common = calloc(cells, sizeof *middle->common);
    if (hashes == NULL || middle->common == NULL) {
        free(hashes);
        return false;
    }
    for (size_t i = 0; i < middle->from_count; i++) {
        hashes[i] = json_hash(middle->from[i], &with->budget);
    }
    for (size_t j = 0; j < middle->to_count; j++) {
        hashes[middle->from_count + j] = json_hash(middle->to[j], &with->budget);
    }
    bool fine = budget_spend(&with->budget, cells);
    for (size_t i = middle->from_count; fine && i-- > 0;) {
        for (size_t j = middle->to_count; j-- > 0;) {
            bool same = hashes[i] == hashes[middle->from_count + j] &&
                        json_equal(middle->from[i], middle->to[j], &with->budget);
            uint32_t down = common_at(middle, i + 1, j);
            uint32_t right = common_at(middle, i, j + 1);
            middle->common[i * width + j] = same           ? common_at(middle, i + 1, j + 1) + 1
                                            : down > right ? down
                                                           : right;
        }
    }
    free(hashes);
    return fine && !budget_ended(&with->budget);
}

enum step { STEP_KEEP, STEP_REMOVE, STEP_ADD, STEP_CHANGE };

/* What is done at (i, j). Without a table items are compared one by one. */
static enum step next_step(const struct middle *middle, size_t i, size_t j) {
    bool from_left = i < middle->from_count;
    bool to_left = j < middle->to_count;
    if (!from_left || !to_left) {
        return from_left ? STEP_REMOVE : STEP_ADD;
    }
    if (middle->common == NULL) {
        return STEP_CHANGE;
    }
    uint32_t here = common_at(middle, i, j);
    bool without_from = common_at(middle, i + 1, j) == here;
    bool without_to = common_at(middle, i, j + 1) == here;
    if (!without_from && !without_to) {
        return STEP_KEEP;
    }
    if (without_from && without_to && common_at(middle, i + 1, j + 1) == here) {
        return STEP_CHANGE;
    }
    return without_from ? STEP_REMOVE : STEP_ADD;
}

static bool write_middle(struct diffing *with, const struct middle *middle) {
    size_t length = with->path.length;
    size_t at = middle->start;
    bool fine = true;
    for (size_t i = 0, j = 0; fine && (i < middle->from_count || j < middle->to_count);) {
        enum step step = next_step(middle, i, j);
        enter_index(with, at);
        switch (step) {
        case STEP_KEEP: break;
        case STEP_REMOVE: fine = add_operation(with, "remove", NULL); break;
        case STEP_ADD: fine = add_operation(with, "add", middle->to[j]); break;
        case STEP_CHANGE: fine = compare(with, middle->from[i], middle->to[j]); break;
        }
        buf_truncate(&with->path, length);
        i += step != STEP_ADD;
        j += step != STEP_REMOVE;
        at += step != STEP_REMOVE;
    }
    return fine;
}

static void list_items(yyjson_val *array, yyjson_val **ret) {
    size_t i;
    size_t count;
    yyjson_val *item;
    yyjson_arr_foreach (array, i, count, item) {
        ret[i] = item;
    }
}

static bool compare_arrays(struct diffing *with, yyjson_val *from, yyjson_val *to) {
    size_t from_count = yyjson_arr_size(from);
    size_t to_count = yyjson_arr_size(to);
    yyjson_val **items = malloc((from_count + to_count + 1) * sizeof *items);
    if (items == NULL) {
        return false;
    }
    list_items(from, items);
    list_items(to, items + from_count);
    struct middle middle = {items, items + from_count, from_count, to_count, 0, NULL};
    while (middle.from_count > 0 && middle.to_count > 0 &&
           json_equal(middle.from[0], middle.to[0], &with->budget)) {
        middle.from++;
        middle.to++;
        middle.from_count--;
        middle.to_count--;
        middle.start++;
    }
    while (middle.from_count > 0 && middle.to_count > 0 &&
           json_equal(middle.from[middle.from_count - 1], middle.to[middle.to_count - 1],
                      &with->budget)) {
        middle.from_count--;
        middle.to_count--;
    }
    bool fine = !budget_ended(&with->budget) && align(with, &middle) && write_middle(with, &middle);
    free(middle.common);
    free(items);
    return fine;
}

/* ------------------------------------------------------------ values */

static bool compare(struct diffing *with, yyjson_val *from, yyjson_val *to) {
    if (yyjson_is_obj(from) && yyjson_is_obj(to)) {
        return compare_objects(with, from, to);
    }
    if (yyjson_is_arr(from) && yyjson_is_arr(to)) {
        return compare_arrays(with, from, to);
    }
    bool same = json_equal(from, to, &with->budget);
    return !budget_ended(&with->budget) && (same || add_operation(with, "replace", to));
}

yyjson_mut_val *patch_diff(yyjson_mut_doc *doc, yyjson_val *from, yyjson_val *to) {
    struct diffing with = {.doc = doc,
                           .patch = yyjson_mut_arr(doc),
                           .path = BUF_INIT,
                           .budget = {.steps = DIFF_STEPS_MAX}};
    bool fine = with.patch != NULL && compare(&with, from, to) && !budget_ended(&with.budget);
    buf_finish(&with.path);
    return fine ? with.patch : NULL;
}
