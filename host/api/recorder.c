/* Invariants:
 *
 *  (1) The rings are made before the first subject is known to a registration, and stay until
 *      recorder_finish(): so who finds a subject may use them.
 *  (2) Subjects are only added; each registration knows its own once it was called.
 *  (3) `sleep` is set to IDLE or GATHERING before the rings are looked at, and a ring's head is
 *      moved before `sleep` is: one of the two sides sees the other. */
#include "api/recorder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/health.h"
#include "api/host.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/rendering.h"
#include "base/thread.h"
#include "base/utf8.h"
#include "schema/secret.h"

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)
CLEANUP_DEFINE(yyjson_mut_doc, yyjson_mut_doc_free)

#define MS_PER_DAY   (INT64_C(24) * 3600 * 1000)
#define BYTES_PER_MB (UINT64_C(1024) * 1024)

/* What a line says in texts. */
enum line_text {
    LINE_CALLER,
    LINE_CHANNEL,
    LINE_CONVERSATION,
    LINE_TRACE,
    LINE_ARGUMENTS,
    LINE_RESULT,
    LINE_FIELD, /* this and the next two of the error */
    LINE_MESSAGE,
    LINE_BACKTRACE,
    LINE_TEXTS
};

/* No text, in place of its length. */
#define NO_TEXT UINT32_MAX

/* One call in a ring; the texts follow, each with a zero at its end. */
struct line {
    struct subject *subject;
    uint64_t started_ns;
    uint64_t duration_ns;
    struct call_cost cost;
    uint64_t bytes_in;
    uint64_t bytes_out;
    int32_t code; /* 0: it has a result */
    int32_t signal;
    uint32_t lengths[LINE_TEXTS];
    uint32_t size; /* of the texts together, with an end each */
};

struct line_texts {
    const char *texts[LINE_TEXTS];
    uint32_t lengths[LINE_TEXTS];
    unsigned count; /* the rest are of an error, which there is not */
    size_t size;
};

void recorder_init(struct recorder *recorder) {
    (void)pthread_mutex_init(&recorder->write_lock, NULL);
    (void)pthread_mutex_init(&recorder->lock, NULL);
    clock_cond_init(&recorder->wake);
}

/* ---------------------------------------------------------------- subjects */

static void subject_free(struct subject *subject) {
    if (subject != NULL) {
        yyjson_doc_free(subject->schema);
        yyjson_doc_free(subject->result_schema);
        free(subject->last_error);
        free(subject->tool);
        free(subject);
    }
}
CLEANUP_DEFINE(struct subject, subject_free)

/* The schema where it has secrets, else NULL. False: out of memory. */
static bool take_secretive(const char *text, yyjson_doc **ret) {
    *ret = NULL;
    /* Most say neither; an escape might say either. */
    if (text == NULL || (strstr(text, "writeOnly") == NULL && strstr(text, "password") == NULL &&
                         strstr(text, "\\u") == NULL)) {
        return true;
    }
    yyjson_doc *doc = yyjson_read(text, strlen(text), YYJSON_READ_NOFLAG);
    if (doc != NULL && schema_has_secrets(yyjson_doc_get_root(doc))) {
        *ret = doc;
    } else {
        yyjson_doc_free(doc);
    }
    return doc != NULL;
}

static bool same_schema(const yyjson_doc *a, const yyjson_doc *b) {
    yyjson_val *left = yyjson_doc_get_root((yyjson_doc *)(uintptr_t)a);
    yyjson_val *right = yyjson_doc_get_root((yyjson_doc *)(uintptr_t)b);
    return left == right || yyjson_equals(left, right);
}

static bool same_subject(const struct subject *a, const struct subject *b) {
    return strcmp(a->tool, b->tool) == 0 && strcmp(a->version, b->version) == 0 &&
           strcmp(a->plugin, b->plugin) == 0 && same_schema(a->schema, b->schema) &&
           same_schema(a->result_schema, b->result_schema);
}

static bool name_subject(struct subject *subject, const struct toolrack_tool *tool) {
    const char *name = toolrack_tool_name(tool);
    const char *version = toolrack_tool_version(tool);
    const char *plugin = toolrack_tool_plugin(tool);
    subject->tool = malloc(strlen(name) + strlen(version) + strlen(plugin) + 3);
    if (subject->tool == NULL) {
        return false;
    }
    char *at = stpcpy(subject->tool, name) + 1;
    subject->version = at;
    at = stpcpy(at, version) + 1;
    subject->plugin = at;
    (void)stpcpy(at, plugin);
    return true;
}

static struct subject *subject_create(const struct toolrack_tool *tool) {
    CLEANUP(subject_freep) struct subject *subject = calloc(1, sizeof *subject);
    if (subject == NULL || !name_subject(subject, tool) ||
        !take_secretive(tool->reg->spec->schema, &subject->schema) ||
        !take_secretive(tool->reg->spec->result_schema, &subject->result_schema)) {
        return NULL;
    }
    atomic_init(&subject->tally.first_ns, UINT64_MAX);
    return STEAL(subject);
}

/* A registration that comes again, after a reload, is the same subject. Caller holds the lock. */
static struct subject *add_subject(struct recorder *recorder, struct subject *made) {
    for (struct subject *at = recorder->subjects; at != NULL; at = at->next) {
        if (same_subject(at, made)) {
            subject_free(made);
            return at;
        }
    }
    made->next = recorder->subjects;
    recorder->subjects = made;
    return made;
}

static void *recorder_main(void *argument);

/* Of those for which there is memory a power of two, so that a thread finds its own at once. */
static unsigned make_rings(struct ring *rings) {
    unsigned wanted = thread_cpu_count();
    unsigned made = 0;
    unsigned count = 1;
    wanted = wanted < RECORDER_RINGS_MAX ? wanted : RECORDER_RINGS_MAX;
    while (made < wanted && ring_init(&rings[made], RECORDER_RING_SIZE)) {
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

/* Make the rings and start the thread, where that is not done. Caller holds the lock. */
static bool begin(struct toolrack *host) {
    struct recorder *recorder = &host->recorder;
    if (recorder->ring_count == 0) {
        recorder->ring_count = make_rings(recorder->rings);
    }
    if (!recorder->started && !recorder->closing) {
        recorder->started = thread_start(&recorder->thread, recorder_main, host) == 0;
    }
    return recorder->ring_count > 0;
}

/* At the first call of a registration. NULL: out of memory; the next call tries again. */
static struct subject *find_subject(struct toolrack *host, struct toolrack_tool *tool) {
    struct recorder *recorder = &host->recorder;
    struct subject *subject = subject_create(tool);
    if (subject == NULL) {
        return NULL;
    }
    (void)pthread_mutex_lock(&recorder->lock);
    bool begun = begin(host);
    if (begun) {
        subject = add_subject(recorder, subject);
        atomic_store_explicit(&tool->reg->subject, subject, memory_order_release);
    }
    (void)pthread_mutex_unlock(&recorder->lock);
    if (!begun) {
        subject_free(subject);
        return NULL;
    }
    return subject;
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

static void count_line(const struct line *line, bool logged) {
    struct tally *tally = &line->subject->tally;
    add(&tally->failures, line->code < 0);
    add(&tally->unlogged, !logged);
    add(&tally->total_ns, line->duration_ns);
    raise(&tally->max_ns, line->duration_ns);
    if (line->cost.cpu_ns != CALL_UNMEASURED) {
        add(&tally->cpu_calls, 1);
        add(&tally->cpu_ns, line->cost.cpu_ns);
    }
    if (line->cost.memory != CALL_UNMEASURED) {
        add(&tally->memory_calls, 1);
        add(&tally->memory, line->cost.memory);
    }
    add(&tally->bytes_in, line->bytes_in);
    add(&tally->bytes_out, line->bytes_out);
    lower(&tally->first_ns, line->started_ns);
    raise(&tally->last_ns, line->started_ns);
    add(&tally->times[store_usage_bucket(line->duration_ns)], 1);
    /* Last: who takes so many calls finds what was added for them. */
    (void)atomic_fetch_add_explicit(&tally->calls, 1, memory_order_release);
}

/* -------------------------------------------------------------------- note */

static void put_text(struct line_texts *texts, enum line_text which, const char *text,
                     size_t length, size_t length_max) {
    if (length > length_max) {
        length = utf8_cut(text, length_max);
    }
    texts->texts[which] = text;
    texts->lengths[which] = (uint32_t)length;
    texts->size += length + 1;
}

static void put_short(struct line_texts *texts, enum line_text which, const char *text) {
    texts->lengths[which] = NO_TEXT;
    if (text != NULL) {
        put_text(texts, which, text, strnlen(text, RECORDER_TEXT_MAX + 1), RECORDER_TEXT_MAX);
    }
}

/* Secrets are found in the whole only: what is too long for that is not logged at all. */
static void put_long(struct line_texts *texts, enum line_text which, const char *text,
                     size_t length, bool secretive, size_t length_max) {
    if (secretive && length > RECORDER_SECRETIVE_MAX) {
        put_text(texts, which, SECRET_MASK, strlen(SECRET_MASK), length_max);
    } else {
        put_text(texts, which, text, length, secretive ? RECORDER_SECRETIVE_MAX : length_max);
    }
}

static void put_error(struct line_texts *texts, const struct toolrack_error *err) {
    put_text(texts, LINE_FIELD, err->field, strlen(err->field), sizeof err->field);
    put_text(texts, LINE_MESSAGE, err->message, strlen(err->message), sizeof err->message);
    put_text(texts, LINE_BACKTRACE, err->trace, strlen(err->trace), sizeof err->trace);
}

static void collect(const struct subject *subject, const struct call_ending *ending,
                    struct line_texts *ret) {
    const struct toolrack_call_options *options = ending->options;
    ret->size = 0;
    ret->count = ending->result != NULL ? LINE_FIELD : LINE_TEXTS;
    put_short(ret, LINE_CALLER, options->caller);
    put_short(ret, LINE_CHANNEL, options->channel);
    put_short(ret, LINE_CONVERSATION, options->conversation);
    put_short(ret, LINE_TRACE, options->trace);
    put_long(ret, LINE_ARGUMENTS, ending->arguments, ending->length, subject->schema != NULL,
             TOOLRACK_LOG_ARGUMENTS_MAX);
    if (ending->result == NULL) {
        ret->lengths[LINE_RESULT] = NO_TEXT;
        put_error(ret, ending->err);
        return;
    }
    put_long(ret, LINE_RESULT, ending->result->json, ending->result->json_length,
             subject->result_schema != NULL, TOOLRACK_LOG_RESULT_MAX);
}

/* All but the texts. */
static void make_line(struct line *line, struct subject *subject,
                      const struct call_ending *ending) {
    bool failed = ending->result == NULL;
    line->subject = subject;
    line->started_ns = ending->started_ns;
    line->duration_ns = ending->duration_ns;
    line->cost = ending->cost;
    line->bytes_in = ending->length;
    line->bytes_out = failed ? 0 : ending->result->json_length;
    line->code = failed ? ending->err->code : 0;
    line->signal = failed ? ending->err->signal : 0;
}

static void count_unlogged(struct subject *subject, const struct call_ending *ending) {
    struct line line;
    make_line(&line, subject, ending);
    count_line(&line, false);
}

static void fill_line(struct line *line, const struct line_texts *texts) {
    char *at = (char *)(line + 1);
    line->size = (uint32_t)texts->size;
    for (unsigned i = 0; i < texts->count; i++) {
        uint32_t length = texts->lengths[i];
        line->lengths[i] = length;
        if (length != NO_TEXT) {
            if (length != 0) { /* where there is none it may be NULL */
                memcpy(at, texts->texts[i], length);
            }
            at[length] = '\0';
            at += length + 1;
        }
    }
}

/* Threads take the rings in turn. */
static unsigned number_of_thread(void) {
    static atomic_uint threads;
    static _Thread_local unsigned number; /* from 1 */
    if (number == 0) {
        number = atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed) + 1;
    }
    return number;
}

/* Room for a line in the thread's own ring, or else in the next that has some: so the burst of one
 * thread has the room of all. */
static struct line *reserve_line(struct recorder *recorder, size_t size, struct ring **ret_ring) {
    unsigned count = atomic_load_explicit(&recorder->ring_count, memory_order_relaxed);
    unsigned first = number_of_thread();
    struct line *line = NULL;
    for (unsigned i = 0; line == NULL && i < count; i++) {
        *ret_ring = &recorder->rings[(first + i) & (count - 1)];
        line = ring_reserve(*ret_ring, size);
    }
    return line;
}

static bool is_filling(struct ring *ring) {
    return ring_used(ring) > RECORDER_RING_FILLING;
}

static void wake_up(struct recorder *recorder) {
    if (atomic_exchange(&recorder->sleep, RECORDER_AWAKE) != RECORDER_AWAKE) {
        (void)pthread_mutex_lock(&recorder->lock);
        (void)pthread_cond_signal(&recorder->wake);
        (void)pthread_mutex_unlock(&recorder->lock);
    }
}

void recorder_note(void *user, const struct call_ending *ending) {
    struct toolrack *host = user;
    struct recorder *recorder = &host->recorder;
    struct subject *subject =
            atomic_load_explicit(&ending->tool->reg->subject, memory_order_acquire);
    if (subject == NULL && (subject = find_subject(host, ending->tool)) == NULL) {
        return;
    }
    struct line_texts texts;
    collect(subject, ending, &texts);
    struct ring *ring;
    struct line *line = reserve_line(recorder, sizeof *line + texts.size, &ring);
    if (line == NULL) {
        count_unlogged(subject, ending);
        return;
    }
    make_line(line, subject, ending);
    fill_line(line, &texts);
    ring_commit(line, sizeof *line + texts.size);
    int sleep = atomic_load(&recorder->sleep);
    if (sleep == RECORDER_IDLE || (sleep == RECORDER_GATHERING && is_filling(ring))) {
        wake_up(recorder);
    }
}

/* ------------------------------------------------------------------- batch */

/* Lines on their way to the store. */
struct batch {
    struct store_call *calls;
    size_t count;
    struct store_usage *usage;
    size_t usage_count;
    struct subject **subjects; /* of each usage */
    struct arena arena;
    int64_t since_ns; /* the monotonic clock's zero in the time since 1970 */
    bool no_memory;   /* for some of it */
};

static void batch_finish(struct batch *batch) {
    free(batch->calls);
    arena_finish(&batch->arena);
}

static int64_t time_ms(const struct batch *batch, uint64_t monotonic_ns) {
    return (batch->since_ns + (int64_t)monotonic_ns) / CLOCK_NS_PER_MS;
}

/* Copy the texts of a line, and make UTF-8 of what is not; all NULL: no memory. */
static void copy_texts(struct batch *batch, const struct line *line, const char **texts) {
    char *at = arena_copy(&batch->arena, (const char *)(line + 1), line->size);
    batch->no_memory = batch->no_memory || at == NULL;
    for (unsigned i = 0; i < LINE_TEXTS; i++) {
        bool given =
                at != NULL && (i < LINE_FIELD || line->code < 0) && line->lengths[i] != NO_TEXT;
        texts[i] = given ? at : NULL;
        if (given) {
            if (!utf8_valid(at, line->lengths[i])) {
                utf8_make_line(at);
            }
            at += line->lengths[i] + 1;
        }
    }
}

/* What a schema of a result is about: the JSON reply, alone or beside blocks, which may say the
 * same in words. */
static yyjson_mut_val *mask_reply(yyjson_val *schema, yyjson_mut_doc *doc, yyjson_mut_val *root) {
    yyjson_mut_val *reply = yyjson_mut_obj_get(root, "structuredContent");
    if (!yyjson_mut_is_arr(yyjson_mut_obj_get(root, "content")) || reply == NULL) {
        return schema_mask(schema, doc, root);
    }
    (void)yyjson_mut_obj_replace(root, yyjson_mut_str(doc, "content"),
                                 yyjson_mut_str(doc, SECRET_MASK));
    (void)yyjson_mut_obj_replace(root, yyjson_mut_str(doc, "structuredContent"),
                                 schema_mask(schema, doc, reply));
    return root;
}

static const char *mask_text(struct batch *batch, yyjson_doc *schema_doc, bool is_result,
                             const char *text) {
    yyjson_val *schema = yyjson_doc_get_root(schema_doc);
    yyjson_alc alc = arena_alc(&batch->arena);
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = yyjson_read(text, strlen(text), YYJSON_READ_NOFLAG);
    CLEANUP(yyjson_mut_doc_freep)
    yyjson_mut_doc *changed = doc != NULL ? yyjson_doc_mut_copy(doc, NULL) : NULL;
    yyjson_mut_val *root = yyjson_mut_doc_get_root(changed);
    if (root == NULL) {
        return SECRET_MASK; /* what it is nobody knows */
    }
    yyjson_mut_doc_set_root(changed, is_result ? mask_reply(schema, changed, root)
                                               : schema_mask(schema, changed, root));
    char *masked = yyjson_mut_write_opts(changed, YYJSON_WRITE_NOFLAG, &alc, NULL, NULL);
    return masked != NULL ? masked : SECRET_MASK;
}

/* Whether what lies at a place of the arguments was masked, itself or as a part. Where that cannot
 * be told, it was. */
static bool is_masked(const char *arguments, const char *field) {
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *doc = yyjson_read(arguments, strlen(arguments), YYJSON_READ_NOFLAG);
    bool masked = field[0] != '\0' && (doc == NULL || field[0] != '/');
    for (size_t end = 1; !masked && field[0] != '\0'; end++) {
        if (field[end] == '/' || field[end] == '\0') {
            masked = yyjson_equals_str(yyjson_doc_ptr_getn(doc, field, end), SECRET_MASK);
        }
        if (field[end] == '\0') {
            break;
        }
    }
    return masked;
}

static const char *cut(const char *text, size_t length_max) {
    if (text != NULL && strlen(text) > length_max) {
        /* Made in the arena: it is ours to cut. */
        ((char *)(uintptr_t)text)[utf8_cut(text, length_max)] = '\0';
    }
    return text;
}

static void copy_into(char *room, size_t size, const char *text) {
    size_t length = text != NULL ? strnlen(text, size - 1) : 0;
    memcpy(room, text != NULL ? text : "", length);
    room[length] = '\0';
}

static const char *error_text(struct batch *batch, const struct line *line,
                              const char *const *texts) {
    struct toolrack_error err = {.code = line->code, .signal = line->signal};
    copy_into(err.tool, sizeof err.tool, line->subject->tool);
    copy_into(err.field, sizeof err.field, texts[LINE_FIELD]);
    copy_into(err.message, sizeof err.message, texts[LINE_MESSAGE]);
    copy_into(err.trace, sizeof err.trace, texts[LINE_BACKTRACE]);
    yyjson_alc alc = arena_alc(&batch->arena);
    yyjson_mut_doc *doc = yyjson_mut_doc_new(&alc);
    yyjson_mut_val *object = doc != NULL ? error_object(doc, &err, NULL) : NULL;
    yyjson_mut_doc_set_root(doc, object);
    char *text = object != NULL ? yyjson_mut_write_opts(doc, YYJSON_WRITE_NOFLAG, &alc, NULL, NULL)
                                : NULL;
    batch->no_memory = batch->no_memory || text == NULL;
    return text;
}

static void note_error(struct batch *batch, const struct line *line, const char *error) {
    struct subject *subject = line->subject;
    char *copy = error != NULL ? strdup(error) : NULL;
    if (copy != NULL) {
        free(subject->last_error);
        subject->last_error = copy;
        subject->last_error_ms = time_ms(batch, line->started_ns);
    }
}

/* Copy a line out of its ring. */
static void take_line(struct batch *batch, const struct line *line) {
    const struct subject *subject = line->subject;
    const char *texts[LINE_TEXTS];
    copy_texts(batch, line, texts);
    if (subject->schema != NULL && texts[LINE_ARGUMENTS] != NULL) {
        texts[LINE_ARGUMENTS] = mask_text(batch, subject->schema, false, texts[LINE_ARGUMENTS]);
        /* It quotes the value that it refuses. */
        if (texts[LINE_FIELD] != NULL && texts[LINE_MESSAGE] != NULL &&
            is_masked(texts[LINE_ARGUMENTS], texts[LINE_FIELD])) {
            texts[LINE_MESSAGE] = SECRET_MASK;
        }
    }
    if (subject->result_schema != NULL && texts[LINE_RESULT] != NULL) {
        texts[LINE_RESULT] = mask_text(batch, subject->result_schema, true, texts[LINE_RESULT]);
    }
    const char *error = line->code < 0 ? error_text(batch, line, texts) : NULL;
    batch->calls[batch->count++] = (struct store_call){
            .time_ms = time_ms(batch, line->started_ns),
            .tool = subject->tool,
            .version = subject->version,
            .plugin = subject->plugin,
            .caller = texts[LINE_CALLER],
            .channel = texts[LINE_CHANNEL] != NULL ? texts[LINE_CHANNEL] : "api",
            .conversation = texts[LINE_CONVERSATION],
            .trace = texts[LINE_TRACE],
            .duration_ns = line->duration_ns,
            .arguments = cut(texts[LINE_ARGUMENTS], TOOLRACK_LOG_ARGUMENTS_MAX),
            .result = cut(texts[LINE_RESULT], TOOLRACK_LOG_RESULT_MAX),
            .bytes_in = line->bytes_in,
            .bytes_out = line->bytes_out,
            .error = error,
            .code = line->code,
            .has_cpu = line->cost.cpu_ns != CALL_UNMEASURED,
            .cpu_ns = line->cost.cpu_ns,
            .has_memory = line->cost.memory != CALL_UNMEASURED,
            .memory = line->cost.memory};
    note_error(batch, line, error);
}

/* The ring whose next line ended first, or -1. */
static int earliest(const struct line *const *next, unsigned count) {
    int best = -1;
    uint64_t best_ns = UINT64_MAX;
    for (unsigned i = 0; i < count; i++) {
        if (next[i] != NULL && next[i]->started_ns + next[i]->duration_ns < best_ns) {
            best = (int)i;
            best_ns = next[i]->started_ns + next[i]->duration_ns;
        }
    }
    return best;
}

/* Move lines from the rings, in the order in which their calls ended. Returns whether there may be
 * more. Caller holds write_lock. */
static bool take_lines(struct recorder *recorder, struct batch *batch) {
    const struct line *next[RECORDER_RINGS_MAX];
    size_t at[RECORDER_RINGS_MAX];
    size_t done[RECORDER_RINGS_MAX];
    for (unsigned i = 0; i < recorder->ring_count; i++) {
        done[i] = at[i] = ring_start(&recorder->rings[i]);
        next[i] = ring_next(&recorder->rings[i], &at[i]);
    }
    int from;
    while (batch->count < RECORDER_BATCH_MAX &&
           (from = earliest(next, recorder->ring_count)) >= 0) {
        count_line(next[from], true);
        take_line(batch, next[from]);
        done[from] = at[from];
        next[from] = ring_next(&recorder->rings[from], &at[from]);
    }
    for (unsigned i = 0; i < recorder->ring_count; i++) {
        ring_release(&recorder->rings[i], done[i]);
    }
    return batch->count == RECORDER_BATCH_MAX;
}

/* ------------------------------------------------------------------- usage */

static uint64_t take(atomic_uint_fast64_t *sum) {
    return atomic_exchange_explicit(sum, 0, memory_order_acquire);
}

/* The times of a tally, taken out of it; NULL: out of memory, and they stay. */
static struct store_usage_time *take_times(struct batch *batch, struct tally *tally,
                                           uint32_t *ret_count) {
    struct store_usage_time *times =
            arena_alloc(&batch->arena, STORE_USAGE_BUCKETS * sizeof *times);
    uint32_t count = 0;
    for (uint32_t i = 0; times != NULL && i < STORE_USAGE_BUCKETS; i++) {
        if (atomic_load_explicit(&tally->times[i], memory_order_relaxed) != 0) {
            times[count] = (struct store_usage_time){.bucket = i, .count = take(&tally->times[i])};
            count++;
        }
    }
    *ret_count = count;
    return times;
}

static void take_tally(struct batch *batch, struct subject *subject, struct store_usage *ret) {
    struct tally *tally = &subject->tally;
    *ret = (struct store_usage){.tool = subject->tool,
                                .version = subject->version,
                                .calls = take(&tally->calls),
                                .failures = take(&tally->failures),
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
    ret->last_ms = time_ms(batch, last_ns);
    ret->first_ms = time_ms(batch, first_ns < last_ns ? first_ns : last_ns);
    ret->times = take_times(batch, tally, &ret->time_count);
}

/* The store did not take it: it is counted on. */
static void give_back(const struct batch *batch, struct subject *subject,
                      const struct store_usage *usage) {
    struct tally *tally = &subject->tally;
    add(&tally->failures, usage->failures);
    add(&tally->unlogged, usage->unlogged);
    add(&tally->total_ns, usage->total_ns);
    raise(&tally->max_ns, usage->max_ns);
    add(&tally->cpu_calls, usage->cpu_calls);
    add(&tally->cpu_ns, usage->cpu_ns);
    add(&tally->memory_calls, usage->memory_calls);
    add(&tally->memory, usage->memory);
    add(&tally->bytes_in, usage->bytes_in);
    add(&tally->bytes_out, usage->bytes_out);
    lower(&tally->first_ns, (uint64_t)(usage->first_ms * CLOCK_NS_PER_MS - batch->since_ns));
    raise(&tally->last_ns, (uint64_t)(usage->last_ms * CLOCK_NS_PER_MS - batch->since_ns));
    for (uint32_t i = 0; i < usage->time_count; i++) {
        add(&tally->times[usage->times[i].bucket], usage->times[i].count);
    }
    add(&tally->calls, usage->calls);
}

static struct subject *first_subject(struct recorder *recorder) {
    (void)pthread_mutex_lock(&recorder->lock);
    struct subject *first = recorder->subjects; /* those added later come before it */
    (void)pthread_mutex_unlock(&recorder->lock);
    return first;
}

/* Take what was counted. Caller holds write_lock. */
static void take_usage(struct recorder *recorder, struct batch *batch) {
    struct subject *first = first_subject(recorder);
    size_t count = 0;
    for (struct subject *at = first; at != NULL; at = at->next) {
        count += atomic_load_explicit(&at->tally.calls, memory_order_relaxed) > 0;
    }
    batch->usage = arena_alloc(&batch->arena, (count + 1) * sizeof *batch->usage);
    batch->subjects = arena_alloc(&batch->arena, (count + 1) * sizeof *batch->subjects);
    if (batch->usage == NULL || batch->subjects == NULL) {
        batch->no_memory = true;
        return;
    }
    for (struct subject *at = first; at != NULL && batch->usage_count < count; at = at->next) {
        if (atomic_load_explicit(&at->tally.calls, memory_order_relaxed) > 0) {
            take_tally(batch, at, &batch->usage[batch->usage_count]);
            batch->subjects[batch->usage_count++] = at;
        }
    }
}

/* ------------------------------------------------------------------- write */

static int write_rows(struct toolrack *host, const struct batch *batch,
                      struct toolrack_error *err) {
    uint32_t days = host->config.log_days != 0 ? host->config.log_days : RECORDER_DAYS_DEFAULT;
    uint32_t megabytes = host->config.log_megabytes != 0 ? host->config.log_megabytes
                                                         : RECORDER_MEGABYTES_DEFAULT;
    const struct store_calls_limits limits = {.since_ms = clock_wall_ms() - days * MS_PER_DAY,
                                              .bytes = megabytes * BYTES_PER_MB};
    if (batch->no_memory) {
        return error_oom(err);
    }
    /* Without a state folder the host keeps statistics and no lines: memory stays bounded. */
    size_t count = host->places.state_dir != NULL ? batch->count : 0;
    return store_calls_add(host->store, batch->calls, count, batch->usage, batch->usage_count,
                           &limits, err);
}

/* Said once, and once more when it is over. */
static void tell_unwritten(struct toolrack *host, size_t lines, int code,
                           const struct toolrack_error *err) {
    struct recorder *recorder = &host->recorder;
    if (code < 0 && recorder->unwritten == 0) {
        log_line(&host->log, LOG_ERROR, "store",
                 "calls are not logged, and counted in memory only: %s", err->message);
    } else if (code == 0 && recorder->unwritten > 0) {
        log_line(&host->log, LOG_WARNING, "store",
                 "calls are logged again; %llu of them are not in the log",
                 (unsigned long long)recorder->unwritten);
    }
    recorder->unwritten = code == 0 ? 0 : recorder->unwritten + lines;
}

static void tell_unlogged(const struct toolrack *host, const struct batch *batch) {
    uint64_t unlogged = 0;
    for (size_t i = 0; i < batch->usage_count; i++) {
        unlogged += batch->usage[i].unlogged;
    }
    if (unlogged > 0) {
        log_line(&host->log, LOG_WARNING, "store",
                 "%llu calls are counted and not logged: they came faster than they could be "
                 "written",
                 (unsigned long long)unlogged);
    }
}

static void settle_usage(const struct batch *batch, bool written) {
    for (size_t i = 0; i < batch->usage_count; i++) {
        struct subject *subject = batch->subjects[i];
        if (!written) {
            give_back(batch, subject, &batch->usage[i]);
        } else {
            free(subject->last_error);
            subject->last_error = NULL;
            subject->last_error_ms = 0;
        }
    }
}

/* What the calls of a batch say of how fit their tools are. */
static void note_health(struct toolrack *host, const struct batch *batch) {
    CLEANUP(freep)
    struct health_outcome *outcomes = calloc(batch->count + 1, sizeof *outcomes);
    for (size_t i = 0; outcomes != NULL && i < batch->count; i++) {
        const struct store_call *call = &batch->calls[i];
        outcomes[i] = (struct health_outcome){
                .tool = call->tool,
                .version = call->version,
                .code = call->code,
                .ended_ms = call->time_ms + (int64_t)(call->duration_ns / CLOCK_NS_PER_MS)};
    }
    healths_note(host, outcomes, outcomes != NULL ? batch->count : 0);
}

/* One batch. Caller holds write_lock. */
static int write_batch(struct toolrack *host, bool *ret_more, struct toolrack_error *err) {
    CLEANUP(batch_finish)
    struct batch batch = {.since_ns = clock_wall_ns() - (int64_t)clock_now_ns()};
    *ret_more = false;
    batch.calls = malloc(RECORDER_BATCH_MAX * sizeof *batch.calls);
    if (batch.calls == NULL) {
        return error_oom(err);
    }
    *ret_more = take_lines(&host->recorder, &batch);
    take_usage(&host->recorder, &batch);
    if (batch.count == 0 && batch.usage_count == 0) {
        return 0;
    }
    int code = write_rows(host, &batch, err);
    tell_unwritten(host, batch.count, code, err);
    tell_unlogged(host, &batch);
    settle_usage(&batch, code == 0);
    if (code == 0) {
        note_health(host, &batch);
    }
    return code;
}

int recorder_flush(struct toolrack *host, struct toolrack_error *err) {
    struct recorder *recorder = &host->recorder;
    struct toolrack_error why;
    int code = 0;
    bool more = true;
    (void)pthread_mutex_lock(&recorder->write_lock);
    while (more) {
        int failed = write_batch(host, &more, &why);
        code = failed < 0 ? failed : code;
    }
    (void)pthread_mutex_unlock(&recorder->write_lock);
    return code < 0 ? error_set(err, code, "%s", why.message) : 0;
}

void recorder_read(struct toolrack *host,
                   void (*visit)(void *user, const struct store_usage *usage), void *user) {
    CLEANUP(batch_finish)
    struct batch batch = {.since_ns = clock_wall_ns() - (int64_t)clock_now_ns()};
    (void)pthread_mutex_lock(&host->recorder.write_lock);
    take_usage(&host->recorder, &batch);
    for (size_t i = 0; i < batch.usage_count; i++) {
        visit(user, &batch.usage[i]);
    }
    settle_usage(&batch, false);
    (void)pthread_mutex_unlock(&host->recorder.write_lock);
}

/* ------------------------------------------------------------------ thread */

static bool any_ring(struct recorder *recorder, bool filling) {
    for (unsigned i = 0; i < recorder->ring_count; i++) {
        if (filling ? is_filling(&recorder->rings[i]) : ring_used(&recorder->rings[i]) > 0) {
            return true;
        }
    }
    return false;
}

/* Wait until there is something to write, and then for more of it to be written with. Returns
 * whether it goes on. */
static bool wait_for_lines(struct recorder *recorder) {
    (void)pthread_mutex_lock(&recorder->lock);
    atomic_store(&recorder->sleep, RECORDER_IDLE);
    while (!recorder->closing && atomic_load(&recorder->sleep) == RECORDER_IDLE &&
           !any_ring(recorder, false)) {
        (void)pthread_cond_wait(&recorder->wake, &recorder->lock);
    }
    struct timespec until =
            clock_timespec(clock_now_ns() + (uint64_t)RECORDER_GATHER_MS * CLOCK_NS_PER_MS);
    int late = 0;
    atomic_store(&recorder->sleep, RECORDER_GATHERING);
    while (!recorder->closing && late != ETIMEDOUT &&
           atomic_load(&recorder->sleep) == RECORDER_GATHERING && !any_ring(recorder, true)) {
        late = pthread_cond_timedwait(&recorder->wake, &recorder->lock, &until);
    }
    atomic_store(&recorder->sleep, RECORDER_AWAKE);
    bool goes_on = !recorder->closing;
    (void)pthread_mutex_unlock(&recorder->lock);
    return goes_on;
}

static void *recorder_main(void *argument) {
    struct toolrack *host = argument;
    struct toolrack_error told;
    while (wait_for_lines(&host->recorder)) {
        (void)recorder_flush(host, &told);
    }
    return NULL;
}

void recorder_stop(struct toolrack *host) {
    struct recorder *recorder = &host->recorder;
    struct toolrack_error told;
    (void)pthread_mutex_lock(&recorder->lock);
    recorder->closing = true;
    bool started = recorder->started;
    (void)pthread_cond_signal(&recorder->wake);
    (void)pthread_mutex_unlock(&recorder->lock);
    if (started) {
        (void)pthread_join(recorder->thread, NULL);
    }
    if (recorder->ring_count > 0 && host->places.state_dir != NULL) {
        (void)recorder_flush(host, &told);
    }
}

void recorder_finish(struct recorder *recorder) {
    while (recorder->subjects != NULL) {
        struct subject *next = recorder->subjects->next;
        subject_free(recorder->subjects);
        recorder->subjects = next;
    }
    for (unsigned i = 0; i < recorder->ring_count; i++) {
        ring_finish(&recorder->rings[i]);
    }
    (void)pthread_cond_destroy(&recorder->wake);
    (void)pthread_mutex_destroy(&recorder->lock);
    (void)pthread_mutex_destroy(&recorder->write_lock);
}
