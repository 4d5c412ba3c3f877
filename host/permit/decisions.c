/* Invariants:
 *
 *  (1) rows[0..count) are in the order in which the decisions were made; count is at most
 *      DECISIONS_ROWS_MAX.
 *  (2) Who takes rows out holds write_lock until they are in the store: so the store has them in
 *      that order too.
 *  (3) No lock is held while the app's log is called but write_lock, which no caller of
 *      decisions_note() waits for. */
#include "permit/decisions.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/thread.h"
#include "registry/document.h"

void decisions_init(struct decisions *decisions, const struct log *log, struct store *store) {
    *decisions = (struct decisions){.log = log, .store = store};
    lock_init(&decisions->write_lock);
    lock_init(&decisions->lock);
    clock_cond_init(&decisions->changed);
}

/* -------------------------------------------------------------------- rows */

static size_t size_of(const char *text) {
    return text != NULL ? strlen(text) + 1 : 0;
}

static const char *move_text(char **at, const char *text) {
    if (text == NULL) {
        return NULL;
    }
    const char *start = *at;
    *at = stpcpy(*at, text) + 1;
    return start;
}

/* One block, to be released by free(). NULL: out of memory. */
static struct store_decision *copy_row(const struct store_decision *row) {
    const char *const texts[] = {row->tool,     row->version, row->plugin,
                                 row->caller,   row->channel, row->conversation,
                                 row->decision, row->who,     row->why};
    size_t size = 0;
    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
        size += size_of(texts[i]);
    }
    struct store_decision *copy = malloc(sizeof *copy + size);
    if (copy == NULL) {
        return NULL;
    }
    char *at = (char *)(copy + 1);
    *copy = (struct store_decision){.time_ms = row->time_ms,
                                    .tool = move_text(&at, row->tool),
                                    .version = move_text(&at, row->version),
                                    .plugin = move_text(&at, row->plugin),
                                    .caller = move_text(&at, row->caller),
                                    .channel = move_text(&at, row->channel),
                                    .conversation = move_text(&at, row->conversation),
                                    .decision = move_text(&at, row->decision),
                                    .who = move_text(&at, row->who),
                                    .why = move_text(&at, row->why)};
    return copy;
}

/* ------------------------------------------------------------------ writing */

/* A batch that was taken out. */
struct batch {
    struct store_decision **rows;
    size_t count;
    size_t lost;
};

static struct batch take_batch(struct decisions *decisions) {
    lock_take(&decisions->lock);
    struct batch batch = {
            .rows = decisions->rows, .count = decisions->count, .lost = decisions->lost};
    decisions->rows = NULL;
    decisions->count = 0;
    decisions->lost = 0;
    lock_release(&decisions->lock);
    return batch;
}

/* In the store they stand side by side. */
static int write_rows(struct decisions *decisions, const struct batch *batch,
                      struct toolrack_error *err) {
    CLEANUP(freep) struct store_decision *rows = calloc(batch->count, sizeof *rows);
    if (rows == NULL) {
        return error_oom(err);
    }
    for (size_t i = 0; i < batch->count; i++) {
        rows[i] = *batch->rows[i];
    }
    return store_decisions_add(decisions->store, rows, batch->count, err);
}

static void write_batch(struct decisions *decisions, struct batch *batch) {
    struct toolrack_error err;
    if (batch->count > 0 && write_rows(decisions, batch, &err) < 0) {
        const struct store_decision *first = batch->rows[0];
        log_line(decisions->log, LOG_ERROR, "store",
                 "%zu decisions are not kept, the first of them '%s' on '%s': %s", batch->count,
                 first->decision, first->tool, err.message);
    }
    if (batch->lost > 0) {
        log_line(decisions->log, LOG_ERROR, "store",
                 "%zu decisions are not kept: they came faster than they could be written",
                 batch->lost);
    }
    for (size_t i = 0; i < batch->count; i++) {
        free(batch->rows[i]);
    }
    free(batch->rows);
}

static void flush(struct decisions *decisions) {
    lock_take(&decisions->write_lock);
    struct batch batch = take_batch(decisions);
    write_batch(decisions, &batch);
    lock_release(&decisions->write_lock);
}

/* Wait until there is something to write, or it is over. Returns whether it goes on. */
static bool wait_for_rows(struct decisions *decisions) {
    lock_take(&decisions->lock);
    while (!decisions->closing && decisions->count < DECISIONS_BATCH) {
        uint64_t until_ns = decisions->first_ns + (uint64_t)DECISIONS_DELAY_MS * CLOCK_NS_PER_MS;
        struct timespec until = clock_timespec(until_ns);
        if (decisions->count == 0) {
            lock_wait(&decisions->lock, &decisions->changed);
        } else if (clock_now_ns() >= until_ns) {
            break;
        } else {
            (void)lock_wait_until(&decisions->lock, &decisions->changed, &until);
        }
    }
    bool goes_on = !decisions->closing;
    lock_release(&decisions->lock);
    return goes_on;
}

static void *writer_main(void *argument) {
    struct decisions *decisions = argument;
    while (wait_for_rows(decisions)) {
        flush(decisions);
    }
    return NULL;
}

void decisions_stop(struct decisions *decisions) {
    lock_take(&decisions->lock);
    decisions->closing = true;
    bool started = decisions->started;
    (void)pthread_cond_signal(&decisions->changed);
    lock_release(&decisions->lock);
    if (started) {
        (void)pthread_join(decisions->thread, NULL);
    }
    flush(decisions);
}

/* -------------------------------------------------------------------- note */

/* A part of the line where there is something to say. */
static void add_part(struct buf *line, const char *before, const char *text) {
    if (text != NULL) {
        buf_printf(line, "%s%s", before, text);
    }
}

static void log_decision(const struct decisions *decisions, const struct store_decision *decision) {
    if (decisions->log->write == NULL || LOG_INFO < decisions->log->level_min) {
        return;
    }
    CLEANUP(buf_finish) struct buf line = BUF_INIT;
    buf_add_text(&line, decision->decision);
    add_part(&line, ": ", decision->tool);
    add_part(&line, " ", decision->version);
    add_part(&line, ", by ", decision->who);
    add_part(&line, ", for ", decision->caller);
    add_part(&line, ", through ", decision->channel);
    add_part(&line, ", in ", decision->conversation);
    add_part(&line, ": ", decision->why);
    log_line(decisions->log, LOG_INFO, "permission", "%s",
             line.failed ? "a decision, and no memory to say which" : line.data);
}

/* Takes the row over. Caller holds the lock. */
static void add_row(struct decisions *decisions, struct store_decision *row) {
    if (decisions->rows == NULL) {
        decisions->rows = calloc(DECISIONS_ROWS_MAX, sizeof(struct store_decision *));
    }
    if (row == NULL || decisions->rows == NULL || decisions->count == DECISIONS_ROWS_MAX) {
        decisions->lost++;
        free(row);
        return;
    }
    if (decisions->count == 0) {
        decisions->first_ns = clock_now_ns();
    }
    decisions->rows[decisions->count++] = row;
    if (!decisions->started && !decisions->closing) {
        decisions->started = thread_start(&decisions->thread, writer_main, decisions) == 0;
    }
    if (decisions->count == 1 || decisions->count == DECISIONS_BATCH) {
        (void)pthread_cond_signal(&decisions->changed);
    }
}

void decisions_note(struct decisions *decisions, const struct store_decision *decision) {
    log_decision(decisions, decision);
    struct store_decision timed = *decision;
    timed.time_ms = clock_wall_ms();
    struct store_decision *row = copy_row(&timed);
    lock_take(&decisions->lock);
    add_row(decisions, row);
    lock_release(&decisions->lock);
}

/* -------------------------------------------------------------------- read */

struct listing {
    yyjson_mut_doc *doc;
    yyjson_mut_val *list;
};

static void add_decision(void *user, const struct store_decision *decision) {
    const struct listing *listing = user;
    yyjson_mut_val *row = yyjson_mut_arr_add_obj(listing->doc, listing->list);
    (void)yyjson_mut_obj_add_sint(listing->doc, row, "time_ms", decision->time_ms);
    document_add_text(listing->doc, row, "tool", decision->tool);
    document_add_text(listing->doc, row, "version", decision->version);
    document_add_text(listing->doc, row, "plugin", decision->plugin);
    document_add_text(listing->doc, row, "caller", decision->caller);
    document_add_text(listing->doc, row, "channel", decision->channel);
    document_add_text(listing->doc, row, "conversation", decision->conversation);
    document_add_text(listing->doc, row, "decision", decision->decision);
    document_add_text(listing->doc, row, "who", decision->who);
    document_add_text(listing->doc, row, "why", decision->why);
}

int decisions_read(struct decisions *decisions, const struct toolrack_decisions_filter *filter,
                   struct toolrack_text **ret, struct toolrack_error *err) {
    struct toolrack_decisions_filter taken = {0};
    if (filter != NULL) {
        memcpy(&taken, filter, filter->size < sizeof taken ? filter->size : sizeof taken);
    }
    struct listing listing;
    listing.doc = document_begin_list(&listing.list);
    flush(decisions);
    int code = store_decisions_read(
            decisions->store,
            &(struct store_decisions_filter){
                    .tool = taken.tool,
                    .since_ms = taken.since_ms,
                    .limit = taken.limit < UINT32_MAX ? (uint32_t)taken.limit : UINT32_MAX},
            add_decision, &listing, err);
    if (code < 0) {
        yyjson_mut_doc_free(listing.doc);
        return code;
    }
    return document_end(listing.doc, ret, err);
}
