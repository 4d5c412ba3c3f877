#include "record/meter.h"

#include <stdlib.h>
#include <string.h>

#include "registry/document.h"

static const uint64_t bounds_ns[METER_BOUNDS] = {
        10000,     100000,    500000,     1000000,    5000000,     10000000,    50000000,
        100000000, 500000000, 1000000000, 5000000000, 10000000000, 30000000000, 60000000000};

struct meter *meter_create(const char *name) {
    struct meter *meter = calloc(1, sizeof *meter);
    if (meter == NULL) {
        return NULL;
    }
    meter->name = strdup(name);
    if (meter->name == NULL) {
        free(meter);
        return NULL;
    }
    return meter;
}

void meter_free(struct meter *meter) {
    if (meter != NULL) {
        free(meter->name);
        free(meter);
    }
}

void meter_add(struct meter *meter, struct meter_part *part) {
    part->next = atomic_load_explicit(&meter->parts, memory_order_relaxed);
    atomic_store_explicit(&meter->parts, part, memory_order_release);
}

void meter_count(struct meter_counts *counts, const struct call_ending *ending) {
    unsigned class = 0;
    if (ending->result == NULL && ending->err->code == TOOLRACK_E_INPUT_REQUIRED) {
        return;
    }
    while (class < METER_BOUNDS && ending->duration_ns > bounds_ns[class]) {
        class ++;
    }
    shard_add(&counts->total_ns, ending->duration_ns);
    shard_add(&counts->times[class], 1);
    if (ending->result == NULL) {
        int code = -(int)ending->err->code;
        unsigned index = code > 0 && code < (int)METER_CODES ? (unsigned)code : 0;
        uint64_t before = atomic_load_explicit(&counts->errors[index], memory_order_relaxed);
        /* After the call itself: who reads errors first never sees more of them than calls. */
        atomic_store_explicit(&counts->errors[index], before + 1, memory_order_release);
    }
}

/* What all CPUs have counted of the errors with a code, or of the calls of a class. */
static uint64_t sum(const struct meter *meter, size_t offset) {
    const struct meter_part *part = atomic_load_explicit(&meter->parts, memory_order_acquire);
    uint64_t all = 0;
    for (; part != NULL; part = part->next) {
        const char *shard;
        for (unsigned at = 0; (shard = shards_next(part->shards, part->first, &at)) != NULL;) {
            const void *count = shard + part->offset + offset;
            all += atomic_load_explicit((const atomic_uint_fast64_t *)count, memory_order_acquire);
        }
    }
    return all;
}

static void describe(const struct meter *meter, yyjson_mut_doc *doc, yyjson_mut_val *list) {
    yyjson_mut_val *row = yyjson_mut_arr_add_obj(doc, list);
    document_add_text(doc, row, "tool", meter->name[0] != '\0' ? meter->name : NULL);
    yyjson_mut_val *errors = yyjson_mut_obj_add_obj(doc, row, "errors");
    for (unsigned i = 0; i < METER_CODES; i++) {
        uint64_t count = sum(meter, offsetof(struct meter_counts, errors) +
                                            i * sizeof(atomic_uint_fast64_t));
        if (count > 0) {
            const char *name = i > 0 ? toolrack_code_name(-(int)i) : "Unknown";
            (void)yyjson_mut_obj_add_uint(doc, errors, name, count);
        }
    }
    yyjson_mut_val *times = yyjson_mut_obj_add_arr(doc, row, "times");
    uint64_t calls = 0;
    for (unsigned i = 0; i <= METER_BOUNDS; i++) {
        uint64_t count =
                sum(meter, offsetof(struct meter_counts, times) + i * sizeof(atomic_uint_fast64_t));
        (void)yyjson_mut_arr_add_uint(doc, times, count);
        calls += count;
    }
    (void)yyjson_mut_obj_add_uint(doc, row, "calls", calls);
    (void)yyjson_mut_obj_add_uint(doc, row, "total_ns",
                                  sum(meter, offsetof(struct meter_counts, total_ns)));
}

void meters_describe(const struct meter *first, yyjson_mut_doc *doc, yyjson_mut_val *root) {
    yyjson_mut_val *bounds = yyjson_mut_obj_add_arr(doc, root, "bounds_ns");
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, root, "tools");
    for (unsigned i = 0; i < METER_BOUNDS; i++) {
        (void)yyjson_mut_arr_add_uint(doc, bounds, bounds_ns[i]);
    }
    for (const struct meter *meter = first; meter != NULL; meter = meter->next) {
        describe(meter, doc, list);
    }
}
