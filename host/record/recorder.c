/* Invariants:
 *
 *  (1) The rings are created before the first registration gets its subject, and stay until
 *      record_destroy(): so a thread that finds a subject may use them.
 *  (2) Subjects are only added; each registration has its own after its first call.
 *  (3) Only the holder of write_lock reads the rings, takes from tallies and writes to the store:
 *      so the lines of the log are in the order in which their calls ended.
 *  (4) A call that has ended is in a ring, in a tally or in the store, or the host has logged that
 *      its line is lost; it is counted in any case. */
#include "record/inside.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/thread.h"
#include "record/health.h"
#include "record/line.h"
#include "store/calls.h"

#define MS_PER_DAY   (INT64_C(24) * 3600 * 1000)
#define BYTES_PER_MB (UINT64_C(1024) * 1024)
#define TELL_EACH_NS (60 * (uint64_t)CLOCK_NS_PER_S)

/* ------------------------------------------------------------- path of calls */

/* A power of two, so that a mask gives a CPU its ring; fewer if there is no memory. */
static unsigned make_rings(struct ring *rings) {
    unsigned wanted = 1;
    unsigned made = 0;
    unsigned count = 1;
    while (wanted < thread_cpu_count() && wanted < RECORD_RINGS_MAX) {
        wanted *= 2;
    }
    while (made < wanted && ring_init(&rings[made], RECORD_RING_SIZE)) {
        made++;
    }
    while (2 * count <= made) {
        count *= 2;
    }
    while (made > count) {
        ring_finish(&rings[--made]);
    }
    return made;
}

/* Find or create the meter of a name. Caller holds record->lock. NULL: out of memory. */
static struct meter *find_meter(struct record *record, const char *name) {
    LOCK_ASSERT_HELD(&record->lock);
    bool is_own = record->meter_count < METER_NAMES_MAX;
    for (struct meter *at = record->meters; at != NULL; at = at->next) {
        if (strcmp(at->name, name) == 0) {
            return at;
        }
    }
    if (!is_own && record->shared_meter != NULL) {
        return record->shared_meter;
    }
    struct meter *meter = meter_create(is_own ? name : "");
    if (meter != NULL) {
        meter->next = record->meters;
        record->meters = meter;
        record->meter_count += is_own;
        record->shared_meter = is_own ? NULL : meter;
    }
    return meter;
}

/* Find or create the subject at the first call of a registration. NULL: out of memory; the next
 * call tries again. */
static struct subject *find_subject(struct record *record, struct toolrack_tool *tool) {
    CLEANUP(subject_freep) struct subject *made = subject_create(tool);
    if (made == NULL) {
        return NULL;
    }
    LOCK_SCOPE(&record->lock);
    if (record->ring_count == 0) {
        record->ring_count = make_rings(record->rings);
        if (record->ring_count == 0) {
            return NULL;
        }
    }
    struct subject *subject = record->subjects;
    while (subject != NULL && !subject_is_same(subject, made)) {
        subject = subject->next;
    }
    if (subject == NULL) {
        bool is_tool = !offer_is(tool->reg->spec->index);
        made->meter = is_tool ? find_meter(record, made->tool) : NULL;
        if (is_tool && made->meter == NULL) {
            return NULL;
        }
        subject = STEAL(made);
        subject->next = record->subjects;
        record->subjects = subject;
        if (is_tool) {
            meter_add(subject->meter, &subject->part);
        }
    }
    atomic_store_explicit(&tool->reg->subject, subject, memory_order_release);
    return subject;
}

static bool is_filling(struct ring *ring) {
    return ring_used(ring) > RECORD_RING_FILLING;
}

/* Take a line from those that were counted for this CPU. */
static bool take_counted(struct record_place *place) {
    unsigned left = atomic_load_explicit(&place->lines_left, memory_order_relaxed);
    while (left > 0 &&
           !atomic_compare_exchange_weak_explicit(&place->lines_left, &left, left - 1,
                                                  memory_order_relaxed, memory_order_relaxed)) {
    }
    return left > 0;
}

/* Count a line of the log. False: there were as many in this second as are wanted, and more at once
 * than may be: `logged_ns` is ahead of the clock by what was logged too early. Of this line of the
 * cache, which all CPUs write, a CPU takes RECORD_LINES_TAKEN lines of the log at once. */
static bool count_line(struct record *record, struct record_place *place, uint64_t now_ns) {
    if (take_counted(place)) {
        return true;
    }
    uint_fast64_t logged_ns = atomic_load_explicit(&record->logged_ns, memory_order_relaxed);
    uint64_t next_ns;
    do {
        next_ns = (logged_ns > now_ns ? logged_ns : now_ns) + RECORD_LINES_TAKEN * record->line_ns;
        if (next_ns > now_ns + RECORD_AT_ONCE * record->line_ns) {
            return false;
        }
    } while (!atomic_compare_exchange_weak_explicit(&record->logged_ns, &logged_ns, next_ns,
                                                    memory_order_relaxed, memory_order_relaxed));
    (void)atomic_fetch_add_explicit(&place->lines_left, RECORD_LINES_TAKEN - 1,
                                    memory_order_relaxed);
    return true;
}

/* Whether a call gets a line: all that fail do, and the first one that succeeds after that, by
 * which health sees that the tool does not fail again and again. */
static bool is_logged(struct record *record, struct subject *subject,
                      const struct call_ending *ending) {
    bool has_failed = atomic_load_explicit(&subject->has_failed, memory_order_relaxed);
    if (ending->result == NULL) {
        if (!has_failed) { /* else its line would go from CPU to CPU */
            atomic_store_explicit(&subject->has_failed, true, memory_order_relaxed);
        }
        return true;
    }
    bool ends_failures = has_failed && atomic_exchange(&subject->has_failed, false);
    return count_line(record, &record->places[ending->here],
                      ending->started_ns + ending->duration_ns) ||
           ends_failures;
}

static void end_unlogged(struct subject *subject, const struct call_ending *ending,
                         enum subject_loss why) {
    struct figures figures;
    line_measure(ending, &figures);
    subject_end_unlogged(subject, ending, &figures, why);
}

void record_note(struct record *record, const struct call_ending *ending) {
    OBJECT_CHECK(record, RECORD_MAGIC);
    struct subject *subject =
            atomic_load_explicit(&ending->tool->reg->subject, memory_order_acquire);
    if (subject == NULL && (subject = find_subject(record, ending->tool)) == NULL) {
        return;
    }
    if (!is_logged(record, subject, ending)) {
        end_unlogged(subject, ending, LOST_LIMIT);
        return;
    }
    struct line_strings strings;
    line_collect(subject, ending, &strings);
    /* Use the CPU's own ring, or the next ring with room: so a burst of one thread can fill all
     * rings. */
    unsigned count = atomic_load_explicit(&record->ring_count, memory_order_relaxed);
    struct ring *ring = NULL;
    struct line *line = NULL;
    for (unsigned i = 0; line == NULL && i < count; i++) {
        ring = &record->rings[(ending->here + i) & (count - 1)];
        line = ring_reserve(ring, sizeof *line + strings.size);
    }
    if (line == NULL) {
        end_unlogged(subject, ending, LOST_FULL);
        return;
    }
    line_fill(line, subject, ending, &strings);
    ring_commit(line, sizeof *line + strings.size);
    subject_end(subject, ending);
    int state = atomic_load(&record->source.state);
    if (state == STORE_WRITER_EMPTY || (state == STORE_WRITER_GATHERING && is_filling(ring))) {
        store_writer_wake(&record->source, state == STORE_WRITER_GATHERING);
    }
}

/* ------------------------------------------------------------------- batch */

/* Lines and statistics that are being written to the store. */
struct batch {
    struct store_call *calls;
    size_t count;
    struct health_outcome *outcomes; /* of the calls that say something about their tool */
    size_t outcome_count;
    struct store_statistics *statistics;
    struct subject **subjects; /* of each of the statistics */
    size_t statistics_count;
    struct arena arena;
    int64_t wall_ns; /* the wall-clock time at zero of the monotonic clock */
    bool no_memory;  /* memory ran out for a part of the batch */
};

static void batch_init(struct batch *batch) {
    *batch = (struct batch){.wall_ns = clock_wall_ns() - (int64_t)clock_now_ns()};
}

static void batch_finish(struct batch *batch) {
    free(batch->calls);
    free(batch->outcomes);
    arena_finish(&batch->arena);
}

/* Copy a line out of its ring, and count it. */
static void take_line(struct batch *batch, const struct line *line) {
    struct subject *subject = line->subject;
    struct store_call *call = &batch->calls[batch->count++];
    subject_count(subject, shard_here(), &line->figures);
    *call = line_read(line, batch->wall_ns, &batch->arena, &batch->no_memory);
    if (!line->figures.hindered && !line->figures.is_uncounted) {
        batch->outcomes[batch->outcome_count++] = (struct health_outcome){
                .tool = call->tool,
                .version = call->version,
                .plugin = call->plugin,
                .code = call->code,
                .ended_ms = call->time_ms + (int64_t)(call->duration_ns / CLOCK_NS_PER_MS)};
    }
    bool is_failure = call->error != NULL && !line->figures.is_uncounted;
    char *error = is_failure ? strdup(call->error) : NULL;
    if (error != NULL) {
        free(subject->last_error);
        subject->last_error = error;
        subject->last_error_ms = call->time_ms;
    }
}

/* The ring whose next line ended first, or -1. */
static int earliest(const struct line *const *next, unsigned count) {
    int best = -1;
    uint64_t best_ns = UINT64_MAX;
    for (unsigned i = 0; i < count; i++) {
        if (next[i] != NULL) {
            uint64_t ended_ns = next[i]->figures.started_ns + next[i]->figures.duration_ns;
            if (ended_ns < best_ns) {
                best = (int)i;
                best_ns = ended_ns;
            }
        }
    }
    return best;
}

/* Move lines from the rings, in the order in which their calls ended. Returns whether there may be
 * more. Caller holds write_lock. */
static bool take_lines(struct record *record, struct batch *batch) {
    LOCK_ASSERT_HELD(&record->write_lock);
    const struct line *next[RECORD_RINGS_MAX];
    size_t at[RECORD_RINGS_MAX];
    size_t done[RECORD_RINGS_MAX];
    unsigned count = record->ring_count;
    for (unsigned i = 0; i < count; i++) {
        done[i] = at[i] = ring_start(&record->rings[i]);
        next[i] = ring_next(&record->rings[i], &at[i]);
    }
    int from;
    while (batch->count < RECORD_BATCH_MAX && (from = earliest(next, count)) >= 0) {
        take_line(batch, next[from]);
        done[from] = at[from];
        next[from] = ring_next(&record->rings[from], &at[from]);
    }
    for (unsigned i = 0; i < count; i++) {
        ring_release(&record->rings[i], done[i]);
    }
    return batch->count == RECORD_BATCH_MAX;
}

/* Take the statistics of all subjects. Caller holds write_lock. */
static void take_statistics(struct record *record, struct batch *batch) {
    LOCK_ASSERT_HELD(&record->write_lock);
    lock_take(&record->lock);
    struct subject *first = record->subjects; /* those added later come before it */
    lock_release(&record->lock);
    size_t count = 0;
    for (struct subject *at = first; at != NULL; at = at->next) {
        count += subject_has_calls(at);
    }
    batch->statistics = arena_alloc(&batch->arena, (count + 1) * sizeof *batch->statistics);
    batch->subjects = arena_alloc(&batch->arena, (count + 1) * sizeof *batch->subjects);
    if (batch->statistics == NULL || batch->subjects == NULL) {
        batch->no_memory = true;
        return;
    }
    for (struct subject *at = first; at != NULL && batch->statistics_count < count; at = at->next) {
        if (subject_has_calls(at)) {
            batch->statistics[batch->statistics_count] =
                    subject_take(at, &batch->arena, batch->wall_ns);
            batch->subjects[batch->statistics_count++] = at;
        }
    }
}

static void give_statistics_back(const struct batch *batch) {
    for (size_t i = 0; i < batch->statistics_count; i++) {
        subject_give_back(batch->subjects[i], &batch->statistics[i], batch->wall_ns);
    }
}

static int write_rows(const struct record_options *options, const struct batch *batch,
                      struct toolrack_error *err) {
    uint32_t days = options->days != 0 ? options->days : RECORD_DAYS_DEFAULT;
    uint32_t megabytes = options->megabytes != 0 ? options->megabytes : RECORD_MEGABYTES_DEFAULT;
    const struct store_calls_limits limits = {.now_ms = clock_wall_ms(),
                                              .age_ms = days * MS_PER_DAY,
                                              .bytes = megabytes * BYTES_PER_MB};
    if (batch->no_memory) {
        return error_oom(err);
    }
    return store_calls_add(options->store, batch->calls, options->keeps_lines ? batch->count : 0,
                           batch->statistics, batch->statistics_count, &limits, err);
}

/* Log once when lines cannot be written, and once when they can be again; log each minute that
 * calls were not logged because there were too many. Caller holds write_lock. */
static void tell(struct record *record, const struct batch *batch, int code,
                 const struct toolrack_error *err) {
    LOCK_ASSERT_HELD(&record->write_lock);
    const struct log *log = record->options.log;
    if (code < 0 && record->unwritten == 0) {
        log_line(log, LOG_ERROR, "store", "calls are not logged, and counted in memory only: %s",
                 err->message);
    } else if (code == 0 && record->unwritten > 0) {
        log_line(log, LOG_WARNING, "store",
                 "calls are logged again; %llu of them are not in the log",
                 (unsigned long long)record->unwritten);
    }
    record->unwritten = code == 0 ? 0 : record->unwritten + batch->count;
    for (size_t i = 0; code == 0 && i < batch->statistics_count; i++) {
        record->unlogged += batch->statistics[i].unlogged;
    }
    uint64_t now_ns = clock_now_ns();
    if (record->unlogged > 0 && now_ns >= record->tell_ns) {
        log_line(log, LOG_WARNING, "store",
                 "%llu call%s counted in the statistics and not logged: there were more than "
                 "\"log\": {\"per_second\": %u} allows, or than could be written",
                 (unsigned long long)record->unlogged, record->unlogged == 1 ? " is" : "s are",
                 (unsigned)(CLOCK_NS_PER_S / record->line_ns));
        record->unlogged = 0;
        record->tell_ns = now_ns + TELL_EACH_NS;
    }
}

static bool has_lines(struct record *record) {
    bool has = false;
    for (unsigned i = 0; i < record->ring_count && !has; i++) {
        has = ring_used(&record->rings[i]) > 0;
    }
    return has;
}

/* Write one batch. Who reads the log writes it first, and mostly finds nothing to write: so there
 * is room for lines only if there are some. Caller holds write_lock. */
static int write_batch(struct record *record, bool *ret_more, struct toolrack_error *err) {
    CLEANUP(batch_finish) struct batch batch;
    batch_init(&batch);
    *ret_more = false;
    if (has_lines(record)) {
        batch.calls = malloc(RECORD_BATCH_MAX * sizeof *batch.calls);
        batch.outcomes = malloc(RECORD_BATCH_MAX * sizeof *batch.outcomes);
        if (batch.calls == NULL || batch.outcomes == NULL) {
            return error_oom(err);
        }
        *ret_more = take_lines(record, &batch);
    }
    take_statistics(record, &batch);
    if (batch.count == 0 && batch.statistics_count == 0) {
        return 0;
    }
    int code = write_rows(&record->options, &batch, err);
    tell(record, &batch, code, err);
    if (code < 0) {
        (void)atomic_fetch_add(&record->lost_unwritten,
                               record->options.keeps_lines ? batch.count : 0);
        give_statistics_back(&batch);
        return code;
    }
    for (size_t i = 0; i < batch.statistics_count; i++) {
        subject_is_written(batch.subjects[i]);
    }
    health_note_outcomes(&record->options, batch.outcomes, batch.outcome_count);
    return 0;
}

int record_flush(struct record *record, struct toolrack_error *err) {
    OBJECT_CHECK(record, RECORD_MAGIC);
    int code = 0;
    bool more = true;
    LOCK_SCOPE(&record->write_lock);
    while (more) {
        struct toolrack_error why;
        int failed = write_batch(record, &more, &why);
        code = failed < 0 ? error_set(err, failed, "%s", why.message) : code;
    }
    return code;
}

void record_read_unwritten(struct record *record,
                           void (*visit)(void *user, const struct store_statistics *statistics),
                           void *user) {
    CLEANUP(batch_finish) struct batch batch;
    batch_init(&batch);
    LOCK_SCOPE(&record->write_lock);
    take_statistics(record, &batch);
    for (size_t i = 0; i < batch.statistics_count; i++) {
        visit(user, &batch.statistics[i]);
    }
    give_statistics_back(&batch);
}

void record_describe(struct record *record, yyjson_mut_doc *doc, yyjson_mut_val *root) {
    OBJECT_CHECK(record, RECORD_MAGIC);
    lock_take(&record->lock);
    const struct meter *first = record->meters; /* those added later come before it */
    struct subject *subjects = record->subjects;
    lock_release(&record->lock);
    meters_describe(first, doc, root);
    yyjson_mut_val *lost = yyjson_mut_obj_add_obj(doc, root, "unlogged");
    (void)yyjson_mut_obj_add_uint(doc, lost, "limit", subjects_lost(subjects, LOST_LIMIT));
    (void)yyjson_mut_obj_add_uint(doc, lost, "full", subjects_lost(subjects, LOST_FULL));
    (void)yyjson_mut_obj_add_uint(doc, lost, "unwritten", atomic_load(&record->lost_unwritten));
}

/* -------------------------------------------------------------------- life */

static enum store_writer_rows count_waiting(void *user) {
    struct record *record = user;
    enum store_writer_rows rows = STORE_WRITER_NONE;
    for (unsigned i = 0; i < record->ring_count; i++) {
        if (is_filling(&record->rings[i])) {
            return STORE_WRITER_MANY;
        }
        if (ring_used(&record->rings[i]) > 0) {
            rows = STORE_WRITER_SOME;
        }
    }
    return rows;
}

/* After a write that was not urgent there is a pause: memory that a burst has left in the rings is
 * given back. */
static void write_waiting(void *user) {
    struct record *record = user;
    bool is_urgent = count_waiting(record) == STORE_WRITER_MANY;
    (void)record_flush(record, NULL); /* failures are logged there */
    LOCK_SCOPE(&record->write_lock);
    for (unsigned i = 0; !is_urgent && i < record->ring_count; i++) {
        ring_give_back(&record->rings[i], RECORD_RING_FILLING);
    }
}

struct record *record_create(const struct record_options *options) {
    struct record *record = aligned_alloc(_Alignof(struct record), sizeof *record);
    if (record == NULL) {
        return NULL;
    }
    memset(record, 0, sizeof *record);
    record->magic = RECORD_MAGIC;
    record->options = *options;
    record->line_ns =
            CLOCK_NS_PER_S / (options->per_second != 0 ? options->per_second : RECORD_PER_SECOND);
    lock_init(&record->write_lock);
    lock_init(&record->lock);
    record->source = (struct store_writer_source){.gather_ms = RECORD_GATHER_MS,
                                                  .write = write_waiting,
                                                  .rows = count_waiting,
                                                  .user = record};
    store_writer_add(options->writer, &record->source);
    return record;
}

void record_stop(struct record *record) {
    /* Without a state folder, nothing remains after the host is closed. */
    if (record != NULL && record->ring_count > 0 && record->options.keeps_lines) {
        (void)record_flush(record, NULL);
    }
}

void record_destroy(struct record *record) {
    if (record == NULL) {
        return;
    }
    OBJECT_WIPE(record, RECORD_MAGIC);
    while (record->subjects != NULL) {
        struct subject *next = record->subjects->next;
        subject_free(record->subjects);
        record->subjects = next;
    }
    while (record->meters != NULL) {
        struct meter *next = record->meters->next;
        meter_free(record->meters);
        record->meters = next;
    }
    for (unsigned i = 0; i < record->ring_count; i++) {
        ring_finish(&record->rings[i]);
    }
    lock_finish(&record->lock);
    lock_finish(&record->write_lock);
    free(record);
}
