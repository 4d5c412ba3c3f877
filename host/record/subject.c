#include "record/subject.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "schema/secret.h"

struct subject *subject_create(const struct toolrack_tool *tool) {
    CLEANUP(subject_freep)
    struct subject *subject = aligned_alloc(_Alignof(struct subject), sizeof *subject);
    if (subject != NULL) {
        memset(subject, 0, sizeof *subject);
    }
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
    subject->part = (struct meter_part){.shards = &subject->shards,
                                        .first = &subject->tally,
                                        .offset = offsetof(struct tally, counts)};
    atomic_init(&subject->has_failed, true); /* perhaps in another process */
    return STEAL(subject);
}

void subject_free(struct subject *subject) {
    if (subject != NULL) {
        yyjson_doc_free(subject->schema);
        yyjson_doc_free(subject->result_schema);
        shards_finish(&subject->shards);
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

static struct tally *hold_any(struct subject *subject, unsigned here) {
    return shards_hold(&subject->shards, here, &subject->tally, sizeof subject->tally);
}

static void add_figures(struct tally *tally, const struct figures *figures) {
    if (figures->is_uncounted) {
        return;
    }
    shard_add(&tally->failures, figures->code < 0);
    shard_add(&tally->hindered, figures->hindered);
    shard_add(&tally->total_ns, figures->duration_ns);
    shard_raise(&tally->max_ns, figures->duration_ns);
    if (figures->cost.cpu_ns != CALL_UNMEASURED) {
        shard_add(&tally->cpu_calls, 1);
        shard_add(&tally->cpu_ns, figures->cost.cpu_ns);
    }
    if (figures->cost.memory != CALL_UNMEASURED) {
        shard_add(&tally->memory_calls, 1);
        shard_add(&tally->memory, figures->cost.memory);
    }
    shard_add(&tally->bytes_in, figures->bytes_in);
    shard_add(&tally->bytes_out, figures->bytes_out);
    shard_raise(&tally->first_ns, ~figures->started_ns);
    shard_raise(&tally->last_ns, figures->started_ns);
    shard_add(&tally->times[store_time_bucket(figures->duration_ns)], 1);
    shard_add(&tally->calls, 1);
}

void subject_count(struct subject *subject, unsigned here, const struct figures *figures) {
    struct tally *tally = hold_any(subject, here);
    add_figures(tally, figures);
    shard_release(&tally->hold);
}

void subject_end(struct subject *subject, const struct call_ending *ending) {
    struct tally *tally = hold_any(subject, ending->here);
    if (subject->meter != NULL) {
        meter_count(&tally->counts, ending);
    }
    shard_release(&tally->hold);
}

void subject_end_unlogged(struct subject *subject, const struct call_ending *ending,
                          const struct figures *figures, enum subject_loss why) {
    struct tally *tally = hold_any(subject, ending->here);
    if (subject->meter != NULL) {
        meter_count(&tally->counts, ending);
    }
    add_figures(tally, figures);
    shard_add(&tally->unlogged, !figures->is_uncounted);
    shard_add(&tally->lost[why], 1);
    shard_release(&tally->hold);
}

uint64_t subjects_lost(struct subject *first, enum subject_loss why) {
    uint64_t sum = 0;
    for (struct subject *subject = first; subject != NULL; subject = subject->next) {
        struct tally *tally;
        for (unsigned at = 0;
             (tally = shards_next(&subject->shards, &subject->tally, &at)) != NULL;) {
            sum += atomic_load_explicit(&tally->lost[why], memory_order_relaxed);
        }
    }
    return sum;
}

static uint64_t take(atomic_uint_fast64_t *sum) {
    uint64_t taken = atomic_load_explicit(sum, memory_order_relaxed);
    atomic_store_explicit(sum, 0, memory_order_relaxed);
    return taken;
}

/* Take what one CPU has counted, of a tally that is held.
 * @param ret_times  NULL: the times stay for the next write */
static void take_tally(struct tally *tally, struct store_statistics *ret, uint64_t *ret_times,
                       uint64_t *ret_first_ns, uint64_t *ret_last_ns) {
    uint64_t calls = take(&tally->calls);
    uint64_t max_ns = take(&tally->max_ns);
    uint64_t last_ns = take(&tally->last_ns);
    uint64_t first_ns = ~take(&tally->first_ns);
    ret->calls += calls;
    ret->failures += take(&tally->failures);
    ret->hindered += take(&tally->hindered);
    ret->unlogged += take(&tally->unlogged);
    ret->total_ns += take(&tally->total_ns);
    ret->max_ns = max_ns > ret->max_ns ? max_ns : ret->max_ns;
    ret->cpu_calls += take(&tally->cpu_calls);
    ret->cpu_ns += take(&tally->cpu_ns);
    ret->memory_calls += take(&tally->memory_calls);
    ret->memory += take(&tally->memory);
    ret->bytes_in += take(&tally->bytes_in);
    ret->bytes_out += take(&tally->bytes_out);
    *ret_first_ns = first_ns < *ret_first_ns ? first_ns : *ret_first_ns;
    *ret_last_ns = last_ns > *ret_last_ns ? last_ns : *ret_last_ns;
    for (uint32_t i = 0; ret_times != NULL && i < STORE_TIME_BUCKETS; i++) {
        if (atomic_load_explicit(&tally->times[i], memory_order_relaxed) != 0) {
            ret_times[i] += take(&tally->times[i]);
        }
    }
}

static struct tally *next_tally(struct subject *subject, unsigned *at) {
    return shards_next(&subject->shards, &subject->tally, at);
}

bool subject_has_calls(struct subject *subject) {
    struct tally *tally;
    bool has = false;
    for (unsigned at = 0; !has && (tally = next_tally(subject, &at)) != NULL;) {
        has = atomic_load_explicit(&tally->calls, memory_order_relaxed) > 0;
    }
    return has;
}

struct store_statistics subject_take(struct subject *subject, struct arena *arena,
                                     int64_t wall_ns) {
    struct store_statistics taken = {.tool = subject->tool,
                                     .version = subject->version,
                                     .plugin = subject->plugin,
                                     .last_error = subject->last_error,
                                     .last_error_ms = subject->last_error_ms};
    uint64_t counts[STORE_TIME_BUCKETS] = {0};
    uint64_t first_ns = UINT64_MAX;
    uint64_t last_ns = 0;
    struct tally *tally;
    struct store_time *times = arena_alloc(arena, STORE_TIME_BUCKETS * sizeof *times);
    for (unsigned at = 0; (tally = next_tally(subject, &at)) != NULL;) {
        shard_wait_hold(&tally->hold);
        take_tally(tally, &taken, times != NULL ? counts : NULL, &first_ns, &last_ns);
        shard_release(&tally->hold);
    }
    first_ns = first_ns < last_ns ? first_ns : last_ns;
    taken.last_ms = (wall_ns + (int64_t)last_ns) / CLOCK_NS_PER_MS;
    taken.first_ms = (wall_ns + (int64_t)first_ns) / CLOCK_NS_PER_MS;
    for (uint32_t i = 0; times != NULL && i < STORE_TIME_BUCKETS; i++) {
        if (counts[i] != 0) {
            times[taken.time_count++] = (struct store_time){.bucket = i, .count = counts[i]};
        }
    }
    taken.times = times;
    return taken;
}

void subject_give_back(struct subject *subject, const struct store_statistics *taken,
                       int64_t wall_ns) {
    struct tally *tally = &subject->tally;
    shard_wait_hold(&tally->hold);
    shard_add(&tally->failures, taken->failures);
    shard_add(&tally->hindered, taken->hindered);
    shard_add(&tally->unlogged, taken->unlogged);
    shard_add(&tally->total_ns, taken->total_ns);
    shard_raise(&tally->max_ns, taken->max_ns);
    shard_add(&tally->cpu_calls, taken->cpu_calls);
    shard_add(&tally->cpu_ns, taken->cpu_ns);
    shard_add(&tally->memory_calls, taken->memory_calls);
    shard_add(&tally->memory, taken->memory);
    shard_add(&tally->bytes_in, taken->bytes_in);
    shard_add(&tally->bytes_out, taken->bytes_out);
    shard_raise(&tally->first_ns, ~(uint64_t)(taken->first_ms * CLOCK_NS_PER_MS - wall_ns));
    shard_raise(&tally->last_ns, (uint64_t)(taken->last_ms * CLOCK_NS_PER_MS - wall_ns));
    for (uint32_t i = 0; i < taken->time_count; i++) {
        shard_add(&tally->times[taken->times[i].bucket], taken->times[i].count);
    }
    shard_add(&tally->calls, taken->calls);
    shard_release(&tally->hold);
}

void subject_is_written(struct subject *subject) {
    free(subject->last_error);
    subject->last_error = NULL;
    subject->last_error_ms = 0;
}
