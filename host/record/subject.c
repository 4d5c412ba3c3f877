#include "record/subject.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "schema/secret.h"

struct subject *subject_create(const struct toolrack_tool *tool) {
    CLEANUP(subject_freep) struct subject *subject = calloc(1, sizeof *subject);
    const char *name = toolrack_tool_name(tool);
    const char *version = toolrack_tool_version(tool);
    const char *plugin = tool->reg->plugin->identity_text;
    if (subject == NULL ||
        (subject->tool = malloc(strlen(name) + strlen(version) + strlen(plugin) + 3)) == NULL ||
        !schema_read_secret(tool->reg->spec->schema, &subject->schema) ||
        !schema_read_secret(tool->reg->spec->result_schema, &subject->result_schema)) {
        return NULL;
    }
    char *at = stpcpy(subject->tool, name) + 1;
    subject->version = at;
    at = stpcpy(at, version) + 1;
    subject->plugin = at;
    (void)stpcpy(at, plugin);
    atomic_init(&subject->tally.first_ns, UINT64_MAX);
    atomic_init(&subject->has_failed, true); /* perhaps in another process */
    return STEAL(subject);
}

void subject_free(struct subject *subject) {
    if (subject != NULL) {
        yyjson_doc_free(subject->schema);
        yyjson_doc_free(subject->result_schema);
        free(subject->last_error);
        free(subject->tool);
        free(subject);
    }
}

static bool same_schema(yyjson_doc *a, yyjson_doc *b) {
    yyjson_val *left = yyjson_doc_get_root(a);
    yyjson_val *right = yyjson_doc_get_root(b);
    return left == right || yyjson_equals(left, right);
}

bool subject_is_same(const struct subject *a, const struct subject *b) {
    return strcmp(a->tool, b->tool) == 0 && strcmp(a->version, b->version) == 0 &&
           strcmp(a->plugin, b->plugin) == 0 && same_schema(a->schema, b->schema) &&
           same_schema(a->result_schema, b->result_schema);
}

/* ------------------------------------------------------------------- count */

static void add(atomic_uint_fast64_t *sum, uint64_t more) {
    if (more != 0) {
        (void)atomic_fetch_add_explicit(sum, more, memory_order_relaxed);
    }
}

static void raise(atomic_uint_fast64_t *largest, uint64_t value) {
    uint_fast64_t now = atomic_load_explicit(largest, memory_order_relaxed);
    while (value > now &&
           !atomic_compare_exchange_weak_explicit(largest, &now, value, memory_order_relaxed,
                                                  memory_order_relaxed)) {
    }
}

static void lower(atomic_uint_fast64_t *smallest, uint64_t value) {
    uint_fast64_t now = atomic_load_explicit(smallest, memory_order_relaxed);
    while (value < now &&
           !atomic_compare_exchange_weak_explicit(smallest, &now, value, memory_order_relaxed,
                                                  memory_order_relaxed)) {
    }
}

void subject_count(struct subject *subject, const struct figures *figures, bool logged) {
    struct tally *tally = &subject->tally;
    if (figures->is_uncounted) {
        return;
    }
    add(&tally->failures, figures->code < 0);
    add(&tally->hindered, figures->hindered);
    add(&tally->unlogged, !logged);
    add(&tally->total_ns, figures->duration_ns);
    raise(&tally->max_ns, figures->duration_ns);
    if (figures->cost.cpu_ns != CALL_UNMEASURED) {
        add(&tally->cpu_calls, 1);
        add(&tally->cpu_ns, figures->cost.cpu_ns);
    }
    if (figures->cost.memory != CALL_UNMEASURED) {
        add(&tally->memory_calls, 1);
        add(&tally->memory, figures->cost.memory);
    }
    add(&tally->bytes_in, figures->bytes_in);
    add(&tally->bytes_out, figures->bytes_out);
    lower(&tally->first_ns, figures->started_ns);
    raise(&tally->last_ns, figures->started_ns);
    add(&tally->times[store_time_bucket(figures->duration_ns)], 1);
    /* Last: a thread that takes this count also sees everything that was added for it. */
    (void)atomic_fetch_add_explicit(&tally->calls, 1, memory_order_release);
}

static uint64_t take(atomic_uint_fast64_t *sum) {
    return atomic_exchange_explicit(sum, 0, memory_order_acquire);
}

struct store_statistics subject_take(struct subject *subject, struct arena *arena,
                                     int64_t wall_ns) {
    struct tally *tally = &subject->tally;
    uint64_t calls = take(&tally->calls); /* first, as subject_count() adds it last */
    struct store_statistics taken = {.tool = subject->tool,
                                     .version = subject->version,
                                     .plugin = subject->plugin,
                                     .calls = calls,
                                     .failures = take(&tally->failures),
                                     .hindered = take(&tally->hindered),
                                     .unlogged = take(&tally->unlogged),
                                     .total_ns = take(&tally->total_ns),
                                     .max_ns = take(&tally->max_ns),
                                     .cpu_calls = take(&tally->cpu_calls),
                                     .cpu_ns = take(&tally->cpu_ns),
                                     .memory_calls = take(&tally->memory_calls),
                                     .memory = take(&tally->memory),
                                     .bytes_in = take(&tally->bytes_in),
                                     .bytes_out = take(&tally->bytes_out),
                                     .last_error = subject->last_error,
                                     .last_error_ms = subject->last_error_ms};
    uint64_t last_ns = take(&tally->last_ns);
    uint64_t first_ns = atomic_exchange(&tally->first_ns, UINT64_MAX);
    first_ns = first_ns < last_ns ? first_ns : last_ns;
    taken.last_ms = (wall_ns + (int64_t)last_ns) / CLOCK_NS_PER_MS;
    taken.first_ms = (wall_ns + (int64_t)first_ns) / CLOCK_NS_PER_MS;
    /* Without memory, the times stay for the next write. */
    struct store_time *times = arena_alloc(arena, STORE_TIME_BUCKETS * sizeof *times);
    for (uint32_t i = 0; times != NULL && i < STORE_TIME_BUCKETS; i++) {
        if (atomic_load_explicit(&tally->times[i], memory_order_relaxed) != 0) {
            times[taken.time_count++] =
                    (struct store_time){.bucket = i, .count = take(&tally->times[i])};
        }
    }
    taken.times = times;
    return taken;
}

void subject_give_back(struct subject *subject, const struct store_statistics *taken,
                       int64_t wall_ns) {
    struct tally *tally = &subject->tally;
    add(&tally->failures, taken->failures);
    add(&tally->hindered, taken->hindered);
    add(&tally->unlogged, taken->unlogged);
    add(&tally->total_ns, taken->total_ns);
    raise(&tally->max_ns, taken->max_ns);
    add(&tally->cpu_calls, taken->cpu_calls);
    add(&tally->cpu_ns, taken->cpu_ns);
    add(&tally->memory_calls, taken->memory_calls);
    add(&tally->memory, taken->memory);
    add(&tally->bytes_in, taken->bytes_in);
    add(&tally->bytes_out, taken->bytes_out);
    lower(&tally->first_ns, (uint64_t)(taken->first_ms * CLOCK_NS_PER_MS - wall_ns));
    raise(&tally->last_ns, (uint64_t)(taken->last_ms * CLOCK_NS_PER_MS - wall_ns));
    for (uint32_t i = 0; i < taken->time_count; i++) {
        add(&tally->times[taken->times[i].bucket], taken->times[i].count);
    }
    add(&tally->calls, taken->calls);
}

void subject_is_written(struct subject *subject) {
    free(subject->last_error);
    subject->last_error = NULL;
    subject->last_error_ms = 0;
}
