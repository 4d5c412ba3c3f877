/* `uniqueItems`: short arrays by pairs, longer ones by a hash table of hashes. The table is on the
 * stack up to UNIQUE_STACK_ITEMS items, from malloc above. Items are only compared when their whole
 * hashes agree, and each comparison takes steps, so hostile items end the run instead of stalling
 * it. */
#include <stdlib.h>
#include <string.h>

#include "schema/explain.h"
#include "schema/run.h"

#define UNIQUE_PAIR_ITEMS  8u
#define UNIQUE_STACK_ITEMS 128u

struct slot {
    uint64_t hash;
    yyjson_val *item; /* NULL: free */
    size_t index;
};

static bool ended(struct run *run) {
    if (run->budget.steps < 0) {
        (void)run_stop(run, LIMIT_STEPS);
    } else if (run->budget.too_deep) {
        (void)run_stop(run, LIMIT_COMPARE);
    }
    return run->limit != LIMIT_NONE;
}

static bool repeated(struct run *run, size_t first, size_t second) {
    return explain(run, "uniqueItems", "must not repeat a value: items %zu and %zu are equal",
                   first, second);
}

static bool check_pairs(struct run *run, yyjson_val *array) {
    yyjson_val *items[UNIQUE_PAIR_ITEMS];
    size_t count = unsafe_yyjson_get_len(array);
    yyjson_val *item = unsafe_yyjson_get_first(array);
    for (size_t i = 0; i < count; i++) {
        items[i] = item;
        for (size_t j = 0; j < i; j++) {
            if (value_equal(items[j], item, &run->budget)) {
                return repeated(run, j, i);
            }
        }
        item = unsafe_yyjson_get_next(item);
    }
    return !ended(run);
}

static bool fill_table(struct run *run, yyjson_val *array, struct slot *table, size_t mask) {
    size_t count = unsafe_yyjson_get_len(array);
    yyjson_val *item = unsafe_yyjson_get_first(array);
    for (size_t i = 0; i < count; i++) {
        uint64_t hash = value_hash(item, &run->budget);
        size_t at = (size_t)hash & mask;
        for (; table[at].item != NULL; at = (at + 1) & mask) {
            (void)budget_spend(&run->budget, 1);
            if (ended(run)) {
                return false;
            }
            if (table[at].hash == hash && value_equal(table[at].item, item, &run->budget)) {
                return repeated(run, table[at].index, i);
            }
        }
        table[at] = (struct slot){hash, item, i};
        item = unsafe_yyjson_get_next(item);
    }
    return !ended(run);
}

static bool check_on_stack(struct run *run, yyjson_val *array) {
    struct slot table[UNIQUE_STACK_ITEMS * 2] = {0};
    return fill_table(run, array, table, UNIQUE_STACK_ITEMS * 2 - 1);
}

static bool check_on_heap(struct run *run, yyjson_val *array) {
    size_t room = UNIQUE_STACK_ITEMS * 4;
    while (room / 2 < unsafe_yyjson_get_len(array)) {
        room *= 2;
    }
    struct slot *table = calloc(room, sizeof *table);
    if (table == NULL) {
        return run_stop(run, LIMIT_MEMORY);
    }
    bool unique = fill_table(run, array, table, room - 1);
    free(table);
    return unique;
}

bool run_check_unique(struct run *run, yyjson_val *array) {
    size_t count = unsafe_yyjson_get_len(array);
    if (!budget_spend(&run->budget, count)) {
        return run_stop(run, LIMIT_STEPS);
    }
    if (count <= UNIQUE_PAIR_ITEMS) {
        return check_pairs(run, array);
    }
    return count <= UNIQUE_STACK_ITEMS ? check_on_stack(run, array) : check_on_heap(run, array);
}
