#include "choose/vectors.h"

#include <pthread.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/lock.h"
#include "base/object.h"
#include "base/text.h"
#include "base/utf8.h"
#include "choose/asking.h"
#include "choose/indexed.h"
#include "choose/secret-form.h"
#include "choose/turns.h"
#include "store/vectors.h"

/* Vectors of texts that were searched with; the one not asked for longest gives way. */
#define QUERIES_MAX 64u

/* Texts of the first request, before it is known how long one takes. */
#define FIRST_BATCH 8u

/* How often a text is sent alone that the model does not take. */
#define FAILURES_MAX 3u

/* Failures in a row before the model is left alone: words rank the tools as well. */
#define PATIENCE 1u

/* Products that are summed side by side: processors multiply so many numbers at once. */
#define LANES 16u

#define KEY_SIZE STORE_SHA256_SIZE

/* A tool. */
struct entry {
    uint64_t uid;
    unsigned char key[KEY_SIZE]; /* of its text */
    float *values;               /* owned; NULL: it has no vector yet */
    size_t dimension;
    bool is_blank;     /* it was registered no more when its text was to be read */
    unsigned failures; /* of requests for its text alone */
};

/* A text that was searched with. */
struct query {
    unsigned char key[KEY_SIZE];
    float *values; /* owned; NULL: this place is free */
    size_t dimension;
    uint64_t used; /* grows with each search */
};

/* Invariants:
 *
 *  (1) `entries` is sorted by uid, and has the tools that the index had at snapshot `number`.
 *  (2) A thread that has set `filling` is the only one that asks for vectors of tools.
 *  (3) While a model is asked no lock is held. */
struct vectors {
    uint32_t magic; /* VECTORS_MAGIC */
    struct embed embed;
    struct store *store;
    struct indexed *indexed;
    const struct log *log;

    pthread_rwlock_t lock; /* guards the next three; before those of `indexed` */
    struct entry *entries;
    size_t count;
    uint64_t number;

    struct lock state; /* guards what follows; no other lock is taken while it is held */
    struct query queries[QUERIES_MAX];
    uint64_t searches;
    bool filling;
    size_t batch_max;     /* texts of a request: halved after a failure, doubled after a success */
    uint64_t ns_per_text; /* of the last request; 0: there was none */
    struct rest fill_rest;

    struct asking *asking; /* for vectors of texts that are searched with */
};
#define VECTORS_MAGIC 0x74636576u

static void entries_free(struct entry *entries, size_t count) {
    for (size_t i = 0; i < count; i++) {
        free(entries[i].values);
    }
    free(entries);
}

struct vectors *vectors_create(const struct embed *embed, struct store *store,
                               struct indexed *indexed, const struct log *log) {
    struct vectors *vectors = calloc(1, sizeof *vectors);
    struct asking *asking = asking_create(PATIENCE);
    if (vectors == NULL || asking == NULL || pthread_rwlock_init(&vectors->lock, NULL) != 0) {
        asking_destroy(asking);
        free(vectors);
        return NULL;
    }
    vectors->magic = VECTORS_MAGIC;
    vectors->embed = *embed;
    vectors->store = store;
    vectors->indexed = indexed;
    vectors->log = log;
    vectors->asking = asking;
    vectors->batch_max = EMBED_TEXTS_MAX;
    lock_init(&vectors->state);
    return vectors;
}

void vectors_destroy(struct vectors *vectors) {
    if (vectors == NULL) {
        return;
    }
    OBJECT_WIPE(vectors, VECTORS_MAGIC);
    for (size_t i = 0; i < QUERIES_MAX; i++) {
        free(vectors->queries[i].values);
    }
    entries_free(vectors->entries, vectors->count);
    asking_destroy(vectors->asking);
    lock_finish(&vectors->state);
    (void)pthread_rwlock_destroy(&vectors->lock);
    free(vectors);
}

/* ---------------------------------------------------------------------- what is sent */

/* Add the first bytes of a text, without a part of a character. */
static void add_cut(struct buf *out, const char *text, size_t length, size_t most) {
    text_add_valid(out, text, length > most ? utf8_cut(text, most) : length);
}

/* What is sent of a tool: what its author says that it is. */
static void write_tool(const struct vectors *vectors, const struct toolrack_tool *tool,
                       struct buf *out) {
    const char *const parts[] = {toolrack_tool_name(tool), toolrack_tool_title(tool),
                                 toolrack_tool_description(tool)};
    size_t left = EMBED_TEXT_MAX;
    buf_add_text(out, vectors->embed.tool_prefix);
    for (size_t i = 0; i < ARRAY_LENGTH(parts) && left > 0; i++) {
        if (parts[i] != NULL && parts[i][0] != '\0') {
            size_t length = strlen(parts[i]);
            buf_add(out, "\n", i > 0);
            add_cut(out, parts[i], length, left);
            left -= length < left ? length : left;
        }
    }
}

/* The text without what looks like a secret; of a conversation what is wanted last, which is what
 * words are looked for in too. */
static void write_query(const struct vectors *vectors, const struct vectors_query *query,
                        struct buf *out) {
    struct turns turns;
    size_t left = EMBED_TEXT_MAX;
    size_t length_all = 0;
    CLEANUP(freep) char *text = secret_form_mask(query->text, query->length, &length_all);
    if (text == NULL) {
        out->failed = true;
        return;
    }
    buf_add_text(out, vectors->embed.query_prefix);
    turns_read(text, length_all, &turns);
    for (size_t i = 0; i < turns.count && left > 0; i++) {
        const struct turn *turn = &turns.items[i];
        size_t length = turn->end - turn->start;
        if (turn->weight == TURNS_ONE) {
            add_cut(out, text + turn->start, length, left);
            left -= length < left ? length : left;
        }
    }
    if (left == EMBED_TEXT_MAX) { /* no conversation, or nobody wants anything in it */
        add_cut(out, text, length_all, left);
    }
}

/* The hash of all that a vector depends on. */
static void make_key(const struct vectors *vectors, const struct buf *text,
                     unsigned char ret[KEY_SIZE]) {
    const struct embed *embed = &vectors->embed;
    crypto_hash_sha256_state state;
    (void)crypto_hash_sha256_init(&state);
    (void)crypto_hash_sha256_update(&state, (const unsigned char *)embed->endpoint,
                                    strlen(embed->endpoint) + 1);
    (void)crypto_hash_sha256_update(&state, (const unsigned char *)embed->model,
                                    strlen(embed->model) + 1);
    (void)crypto_hash_sha256_update(&state, (const unsigned char *)&embed->dimension,
                                    sizeof embed->dimension);
    (void)crypto_hash_sha256_update(&state, (const unsigned char *)text->data, text->length);
    (void)crypto_hash_sha256_final(&state, ret);
}

/* --------------------------------------------------------------- bringing up to date */

static int compare_uids(const void *left, const void *right) {
    const struct entry *a = left;
    const struct entry *b = right;
    return a->uid < b->uid ? -1 : a->uid > b->uid;
}

static struct entry *find_entry(const struct vectors *vectors, uint64_t uid) {
    const struct entry wanted = {.uid = uid};
    return vectors->count == 0 ? NULL
                               : bsearch(&wanted, vectors->entries, vectors->count, sizeof wanted,
                                         compare_uids);
}

/* Entries whose vectors are looked for in the store, by their keys. */
struct sought {
    struct entry **entries;
    size_t count;
    bool no_memory;
};

static int compare_keys(const void *left, const void *right) {
    const struct entry *const *a = left;
    const struct entry *const *b = right;
    return memcmp((*a)->key, (*b)->key, KEY_SIZE);
}

static bool set_values(struct entry *entry, const float *values, size_t dimension) {
    float *copy = malloc(dimension * sizeof *copy);
    if (copy == NULL) {
        return false;
    }
    memcpy(copy, values, dimension * sizeof *copy);
    free(entry->values);
    entry->values = copy;
    entry->dimension = dimension;
    return true;
}

/* Several tools may have the same text. */
static void take_stored(void *user, const struct store_vector *vector) {
    struct sought *sought = user;
    size_t low = 0;
    size_t high = sought->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (memcmp(sought->entries[middle]->key, vector->sha256, KEY_SIZE) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    float square = vectors_product(vector->values, vector->values, vector->dimension);
    if (!(square > 0.99F && square < 1.01F)) {
        return; /* none that this host has stored: as if there were none */
    }
    for (size_t i = low; i < sought->count && !sought->no_memory &&
                         memcmp(sought->entries[i]->key, vector->sha256, KEY_SIZE) == 0;
         i++) {
        sought->no_memory = !set_values(sought->entries[i], vector->values, vector->dimension);
    }
}

/* Give new entries the vectors that the store has. A store that cannot be read has none. */
static int read_stored(struct vectors *vectors, struct sought *sought, struct toolrack_error *err) {
    struct toolrack_error problem;
    CLEANUP(freep) unsigned char *keys = malloc(sought->count * KEY_SIZE + 1);
    if (keys == NULL) {
        return error_oom(err);
    }
    qsort(sought->entries, sought->count, sizeof(struct entry *), compare_keys);
    for (size_t i = 0; i < sought->count; i++) {
        memcpy(keys + i * KEY_SIZE, sought->entries[i]->key, KEY_SIZE);
    }
    int code =
            store_vectors_find(vectors->store, keys, sought->count, take_stored, sought, &problem);
    if (code == TOOLRACK_E_NO_MEMORY || sought->no_memory) {
        return error_oom(err);
    }
    if (code < 0) {
        log_line(vectors->log, LOG_WARNING, "choose", "no vector is read: %s", problem.message);
    }
    return 0;
}

/* The key of a new tool; without one, as it is registered no more, its entry stays empty. */
static int read_tool(const struct vectors *vectors, struct entry *entry,
                     struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    CLEANUP(toolrack_tool_unrefp)
    struct toolrack_tool *tool = indexed_tool(vectors->indexed, entry->uid);
    if (tool == NULL) {
        entry->is_blank = true;
        return 0;
    }
    write_tool(vectors, tool, &text);
    if (text.failed) {
        return error_oom(err);
    }
    make_key(vectors, &text, entry->key);
    return 0;
}

/* Take over what is known of the tools that there are still. Caller holds the lock for writing. */
static int exchange_entries(struct vectors *vectors, const uint64_t *ids, size_t count,
                            struct toolrack_error *err) {
    int code = 0;
    struct entry *entries = calloc(count + 1, sizeof *entries);
    CLEANUP(freep) struct entry **news = calloc(count + 1, sizeof(struct entry *));
    struct sought sought = {.entries = news};
    if (entries == NULL || news == NULL) {
        free(entries);
        return error_oom(err);
    }
    for (size_t i = 0; code == 0 && i < count; i++) {
        entries[i].uid = ids[i];
        const struct entry *before = find_entry(vectors, ids[i]);
        if (before == NULL || before->is_blank) {
            code = read_tool(vectors, &entries[i], err);
            news[sought.count++] = &entries[i];
        }
    }
    if (code == 0 && sought.count > 0) {
        code = read_stored(vectors, &sought, err);
    }
    if (code < 0) {
        entries_free(entries, count);
        return code;
    }
    for (size_t i = 0; i < count; i++) {
        struct entry *before = find_entry(vectors, ids[i]);
        if (before != NULL && !before->is_blank) {
            entries[i] = *before;
            before->values = NULL;
        }
    }
    entries_free(vectors->entries, vectors->count);
    vectors->entries = entries;
    vectors->count = count;
    return 0;
}

static int bring_up_to_date(struct vectors *vectors, struct toolrack_error *err) {
    CLEANUP(freep) uint64_t *ids = NULL;
    size_t count = 0;
    (void)pthread_rwlock_rdlock(&vectors->lock);
    uint64_t number = vectors->number;
    (void)pthread_rwlock_unlock(&vectors->lock);
    int code = indexed_list(vectors->indexed, &number, &ids, &count, err);
    if (code < 0 || ids == NULL) {
        return code;
    }
    (void)pthread_rwlock_wrlock(&vectors->lock);
    if (vectors->number < number) {
        code = exchange_entries(vectors, ids, count, err);
        vectors->number = code == 0 ? number : vectors->number;
    }
    (void)pthread_rwlock_unlock(&vectors->lock);
    return code;
}

/* ------------------------------------------------------------------------ asking it */

static void log_rest(const struct vectors *vectors, const struct toolrack_error *problem,
                     uint64_t ms) {
    if (ms > 0) {
        log_line(vectors->log, LOG_WARNING, "choose", "%s gave no vectors: %s; the next in %llu ms",
                 vectors->embed.endpoint, problem->message, (unsigned long long)ms);
    }
}

static uint32_t time_left(uint64_t until_ns) {
    uint64_t now = clock_now_ns();
    return now < until_ns ? (uint32_t)((until_ns - now) / CLOCK_NS_PER_MS) : 0;
}

/* ------------------------------------------------------------------------ the query */

/* A vector that is borrowed from nobody. */
struct vector {
    float *values;
    size_t dimension;
};

static void vector_finish(struct vector *vector) {
    free(vector->values);
}

static bool copy_vector(struct vector *ret, const float *values, size_t dimension) {
    ret->values = malloc(dimension * sizeof *values);
    ret->dimension = dimension;
    if (ret->values != NULL) {
        memcpy(ret->values, values, dimension * sizeof *values);
    }
    return ret->values != NULL;
}

/* The vector of a text that was searched with before. */
static int recall(struct vectors *vectors, const unsigned char key[KEY_SIZE], struct vector *ret,
                  struct toolrack_error *err) {
    int code = 0;
    lock_take(&vectors->state);
    vectors->searches++;
    for (size_t i = 0; i < QUERIES_MAX; i++) {
        struct query *query = &vectors->queries[i];
        if (query->values != NULL && memcmp(query->key, key, KEY_SIZE) == 0) {
            query->used = vectors->searches;
            code = copy_vector(ret, query->values, query->dimension) ? 0 : error_oom(err);
            break;
        }
    }
    lock_release(&vectors->state);
    return code;
}

/* Keep the vector of a text; without memory it is asked for again. */
static void remember(struct vectors *vectors, const unsigned char key[KEY_SIZE],
                     const struct vector *vector) {
    struct vector copy;
    if (!copy_vector(&copy, vector->values, vector->dimension)) {
        return;
    }
    lock_take(&vectors->state);
    struct query *oldest = &vectors->queries[0];
    for (size_t i = 1; i < QUERIES_MAX; i++) {
        oldest = vectors->queries[i].used < oldest->used ? &vectors->queries[i] : oldest;
    }
    free(oldest->values);
    *oldest = (struct query){
            .values = copy.values, .dimension = copy.dimension, .used = vectors->searches};
    memcpy(oldest->key, key, KEY_SIZE);
    lock_release(&vectors->state);
}

/* The vector of the text; none, if the model fails: the problem is set. */
static int find_query(struct vectors *vectors, const struct vectors_query *query, uint64_t until_ns,
                      struct vector *ret, struct embedded *embedded, struct toolrack_error *err) {
    unsigned char key[KEY_SIZE];
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    write_query(vectors, query, &text);
    if (text.failed) {
        return error_oom(err);
    }
    make_key(vectors, &text, key);
    int code = recall(vectors, key, ret, err);
    if (code < 0 || ret->values != NULL) {
        return code;
    }
    if (asking_begin(vectors->asking, query->principal, &embedded->problem) < 0) {
        return 0;
    }
    const char *const texts[] = {text.data};
    uint32_t wait_ms = 0;
    code = vectors->embed.ask(vectors->embed.user, texts, 1, time_left(until_ns), &ret->values,
                              &ret->dimension, &embedded->query, &wait_ms, &embedded->problem);
    log_rest(vectors, &embedded->problem,
             asking_end(vectors->asking, query->principal, wait_ms,
                        code < 0 ? &embedded->problem : NULL));
    if (code == 0) {
        embedded->problem.code = 0;
        remember(vectors, key, ret);
    }
    return 0;
}

/* -------------------------------------------------------------- what tools lack */

/* Texts of tools, for one request. */
struct batch {
    uint64_t uids[EMBED_TEXTS_MAX];
    unsigned char keys[EMBED_TEXTS_MAX][KEY_SIZE];
    char *texts[EMBED_TEXTS_MAX]; /* owned */
    size_t count;
};

static void batch_finish(struct batch *batch) {
    for (size_t i = 0; i < batch->count; i++) {
        free(batch->texts[i]);
    }
}

static bool may_find(const struct vectors_query *query, const struct toolrack_tool *tool) {
    return tool != NULL && (query->accepts == NULL || query->accepts(query->user, tool));
}

static bool may_find_entry(const struct vectors *vectors, const struct vectors_query *query,
                           const struct entry *entry) {
    CLEANUP(toolrack_tool_unrefp)
    struct toolrack_tool *tool = indexed_tool(vectors->indexed, entry->uid);
    return may_find(query, tool);
}

static int add_to_batch(struct vectors *vectors, const struct vectors_query *query,
                        const struct entry *entry, struct batch *batch,
                        struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    CLEANUP(toolrack_tool_unrefp)
    struct toolrack_tool *tool = indexed_tool(vectors->indexed, entry->uid);
    if (!may_find(query, tool)) {
        return 0;
    }
    write_tool(vectors, tool, &text);
    char *copy = buf_steal(&text);
    if (copy == NULL) {
        return error_oom(err);
    }
    batch->uids[batch->count] = entry->uid;
    memcpy(batch->keys[batch->count], entry->key, KEY_SIZE);
    batch->texts[batch->count++] = copy;
    return 0;
}

/* The next tools that have no vector of the dimension that is wanted. */
static int gather(struct vectors *vectors, const struct vectors_query *query, size_t dimension,
                  size_t most, struct batch *batch, struct toolrack_error *err) {
    int code = 0;
    (void)pthread_rwlock_rdlock(&vectors->lock);
    for (size_t i = 0; code == 0 && i < vectors->count && batch->count < most; i++) {
        const struct entry *entry = &vectors->entries[i];
        bool is_missing = entry->values == NULL || entry->dimension != dimension;
        if (is_missing && !entry->is_blank && entry->failures < FAILURES_MAX) {
            code = add_to_batch(vectors, query, entry, batch, err);
        }
    }
    (void)pthread_rwlock_unlock(&vectors->lock);
    return code;
}

/* Keep what the model gave, in memory and in the store. */
static int keep(struct vectors *vectors, const struct batch *batch, const float *values,
                size_t dimension, struct toolrack_error *err) {
    struct store_vector rows[EMBED_TEXTS_MAX];
    struct toolrack_error problem;
    bool fits = true;
    (void)pthread_rwlock_wrlock(&vectors->lock);
    for (size_t i = 0; i < batch->count; i++) {
        struct entry *entry = find_entry(vectors, batch->uids[i]);
        rows[i] = (struct store_vector){
                .sha256 = batch->keys[i], .values = values + i * dimension, .dimension = dimension};
        fits = (entry == NULL || set_values(entry, rows[i].values, dimension)) && fits;
    }
    (void)pthread_rwlock_unlock(&vectors->lock);
    int code = store_vectors_put(vectors->store, rows, batch->count, &problem);
    if (code < 0) {
        log_line(vectors->log, LOG_WARNING, "choose", "vectors are not stored: %s",
                 problem.message);
    }
    return fits ? 0 : error_oom(err);
}

/* A text that the model does not take, alone, is sent some times and then no more. */
static void count_failure(struct vectors *vectors, uint64_t uid) {
    (void)pthread_rwlock_wrlock(&vectors->lock);
    struct entry *entry = find_entry(vectors, uid);
    if (entry != NULL) {
        entry->failures++;
    }
    (void)pthread_rwlock_unlock(&vectors->lock);
}

/* How many texts to ask for at once, so that half of the time that is left should be enough; 0:
 * not even one would. The first request of a search is made whatever is known. */
static size_t batch_size(struct vectors *vectors, uint32_t left_ms, bool is_first) {
    lock_take(&vectors->state);
    size_t most = vectors->batch_max;
    uint64_t each = vectors->ns_per_text;
    lock_release(&vectors->state);
    uint64_t fit = each == 0 ? FIRST_BATCH : left_ms * CLOCK_NS_PER_MS / 2 / each;
    fit = fit == 0 && is_first ? 1 : fit;
    return left_ms == 0 ? 0 : fit < most ? (size_t)fit : most;
}

/* Learn of a request how many texts the next one may have, and whether to rest. */
static void learn(struct vectors *vectors, size_t count, uint64_t took_ns, int code,
                  uint32_t wait_ms, const struct toolrack_error *problem) {
    uint64_t each = took_ns / count + 1;
    lock_take(&vectors->state);
    if (code == 0) {
        size_t twice = 2 * count < EMBED_TEXTS_MAX ? 2 * count : EMBED_TEXTS_MAX;
        vectors->batch_max = vectors->batch_max > twice ? vectors->batch_max : twice;
        vectors->ns_per_text = each;
        rest_end(&vectors->fill_rest);
    } else {
        vectors->batch_max = count > 1 ? count / 2 : 1;
        vectors->ns_per_text = code == TOOLRACK_E_TIMEOUT ? 2 * each : vectors->ns_per_text;
        if (code != TOOLRACK_E_TIMEOUT || count == 1) {
            log_rest(vectors, problem, rest_after(&vectors->fill_rest, PATIENCE, wait_ms, problem));
        }
    }
    lock_release(&vectors->state);
}

/* Ask for the next vectors that are missing. Sets the problem if the model fails. */
static int fill_some(struct vectors *vectors, const struct vectors_query *query, size_t dimension,
                     uint64_t until_ns, bool *goes_on, struct embedded *embedded,
                     struct toolrack_error *err) {
    CLEANUP(batch_finish) struct batch batch = {.count = 0};
    CLEANUP(freep) float *values = NULL;
    size_t found = 0;
    uint32_t wait_ms = 0;
    size_t most = batch_size(vectors, time_left(until_ns), embedded->tools == 0);
    int code = gather(vectors, query, dimension, most, &batch, err);
    *goes_on = batch.count > 0;
    if (code < 0 || batch.count == 0) {
        return code;
    }
    bool has_sent = false;
    uint64_t began = clock_now_ns();
    code = vectors->embed.ask(vectors->embed.user, (const char *const *)batch.texts, batch.count,
                              time_left(until_ns), &values, &found, &has_sent, &wait_ms,
                              &embedded->problem);
    embedded->tools += has_sent ? batch.count : 0;
    if (code == 0 && found != dimension) {
        code = error_set(&embedded->problem, TOOLRACK_E_INVALID,
                         "its vectors of tools have %zu numbers, that of the text has %zu", found,
                         dimension);
    }
    learn(vectors, batch.count, clock_now_ns() - began, code, wait_ms, &embedded->problem);
    if (code == 0) {
        embedded->problem.code = 0;
        return keep(vectors, &batch, values, dimension, err);
    }
    *goes_on = false;
    if (batch.count == 1 && (code == TOOLRACK_E_INVALID || code == TOOLRACK_E_EXECUTION_FAILED ||
                             code == TOOLRACK_E_LIMIT_EXCEEDED)) {
        count_failure(vectors, batch.uids[0]);
    }
    return 0;
}

/* Ask for vectors of tools until none is missing or the time is over, unless another search does or
 * the model is left alone. */
static int fill(struct vectors *vectors, const struct vectors_query *query, size_t dimension,
                uint64_t until_ns, struct embedded *embedded, struct toolrack_error *err) {
    struct toolrack_error why;
    lock_take(&vectors->state);
    bool is_mine = !vectors->filling && rest_check(&vectors->fill_rest, &why) == 0;
    vectors->filling = vectors->filling || is_mine;
    lock_release(&vectors->state);
    if (!is_mine) {
        return 0;
    }
    int code = 0;
    for (bool goes_on = true; code == 0 && goes_on;) {
        code = fill_some(vectors, query, dimension, until_ns, &goes_on, embedded, err);
    }
    lock_take(&vectors->state);
    vectors->filling = false;
    lock_release(&vectors->state);
    return code;
}

/* ---------------------------------------------------------------------- the nearest */

float vectors_product(const float *a, const float *b, size_t dimension) {
    float sums[LANES] = {0};
    size_t whole = dimension - dimension % LANES;
    for (size_t i = 0; i < whole; i += LANES) {
        for (size_t lane = 0; lane < LANES; lane++) {
            sums[lane] += a[i + lane] * b[i + lane];
        }
    }
    for (size_t i = whole; i < dimension; i++) {
        sums[i - whole] += a[i] * b[i];
    }
    for (size_t step = LANES / 2; step > 0; step /= 2) {
        for (size_t lane = 0; lane < step; lane++) {
            sums[lane] += sums[lane + step];
        }
    }
    return sums[0];
}

/* Put a tool among the nearest, if it is one of them and may be found; of equal ones the first
 * comes first. */
static void take_near(const struct vectors *vectors, const struct vectors_query *query,
                      const struct entry *entry, float cosine, struct vectors_found *ret) {
    size_t at = ret->count;
    while (at > 0 && ret->hits[at - 1].cosine < cosine) {
        at--;
    }
    if (at == VECTORS_FOUND_MAX) {
        return;
    }
    if (!may_find_entry(vectors, query, entry)) {
        return;
    }
    size_t kept = ret->count < VECTORS_FOUND_MAX ? ret->count : VECTORS_FOUND_MAX - 1;
    memmove(&ret->hits[at + 1], &ret->hits[at], (kept - at) * sizeof ret->hits[0]);
    ret->hits[at] = (struct vectors_hit){.id = entry->uid, .cosine = cosine};
    ret->count = kept + 1;
}

static void find_nearest(struct vectors *vectors, const struct vectors_query *query,
                         const struct vector *wanted, struct vectors_found *ret) {
    struct embedded *embedded = &ret->embedded;
    (void)pthread_rwlock_rdlock(&vectors->lock);
    embedded->complete = true;
    for (size_t i = 0; i < vectors->count; i++) {
        const struct entry *entry = &vectors->entries[i];
        if (entry->values != NULL && entry->dimension == wanted->dimension) {
            take_near(vectors, query, entry,
                      vectors_product(wanted->values, entry->values, wanted->dimension), ret);
        } else if (embedded->complete) {
            embedded->complete = !may_find_entry(vectors, query, entry);
        }
    }
    (void)pthread_rwlock_unlock(&vectors->lock);
    embedded->ranked = ret->count;
}

int vectors_find(struct vectors *vectors, const struct vectors_query *query,
                 struct vectors_found *ret, struct toolrack_error *err) {
    OBJECT_CHECK(vectors, VECTORS_MAGIC);
    CLEANUP(vector_finish) struct vector wanted = {NULL, 0};
    uint64_t until_ns = clock_now_ns() + vectors->embed.timeout_ms * CLOCK_NS_PER_MS;
    ret->count = 0;
    ret->embedded = (struct embedded){.asked = true};
    int code = bring_up_to_date(vectors, err);
    if (code == 0) {
        code = find_query(vectors, query, until_ns, &wanted, &ret->embedded, err);
    }
    if (code < 0 || wanted.values == NULL) {
        return code;
    }
    code = fill(vectors, query, wanted.dimension, until_ns, &ret->embedded, err);
    if (code == 0) {
        find_nearest(vectors, query, &wanted, ret);
    }
    return code;
}

bool vectors_lacks(struct vectors *vectors, uint64_t id) {
    (void)pthread_rwlock_rdlock(&vectors->lock);
    const struct entry *entry = find_entry(vectors, id);
    bool lacks = entry == NULL || entry->values == NULL;
    (void)pthread_rwlock_unlock(&vectors->lock);
    return lacks;
}
