/* Invariants:
 *
 *  (1) rows[0..count) are in the order in which the decisions were made; count is at most
 *      DECISIONS_ROWS_MAX. Their strings are in the arena.
 *  (2) The thread that takes rows out holds write_lock until they are in the store, so that the
 *      store has them in that order too.
 *  (3) While the app's log callback runs, no lock is held except write_lock, which no caller of
 *      decisions_note() waits for. */
#include "permit/decisions.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "registry/document.h"
#include "registry/registry.h"
#include "registry/selector.h"

/* ------------------------------------------------------------------ writing */

static void write_rows(void *user) {
    struct decisions *decisions = user;
    struct toolrack_error err;
    LOCK_SCOPE(&decisions->write_lock);
    lock_take(&decisions->lock);
    struct decision_rows rows = decisions->rows;
    decisions->rows = (struct decision_rows){0};
    lock_release(&decisions->lock);
    const struct store_decision *first = rows.items;
    const char *subject = rows.count == 0       ? NULL
                          : first->tool != NULL ? first->tool
                                                : first->plugin;
    if (rows.count > 0 && store_decisions_add(decisions->store, rows.items, rows.count, &err) < 0) {
        log_line(decisions->log, LOG_ERROR, "store",
                 "%zu decision%s not kept, the first of them '%s' about %s '%s': %s", rows.count,
                 rows.count == 1 ? " is" : "s are", first->decision,
                 first->tool != NULL ? "tool" : "plugin", subject != NULL ? subject : "",
                 err.message);
    }
    if (rows.lost > 0) {
        log_line(decisions->log, LOG_ERROR, "store",
                 "%zu decisions are not kept: they came faster than they could be written",
                 rows.lost);
    }
    free(rows.items);
    arena_finish(&rows.strings);
}

static enum store_writer_rows count_rows(void *user) {
    struct decisions *decisions = user;
    LOCK_SCOPE(&decisions->lock);
    return decisions->rows.count >= DECISIONS_BATCH ? STORE_WRITER_MANY
           : decisions->rows.count > 0              ? STORE_WRITER_SOME
                                                    : STORE_WRITER_NONE;
}

void decisions_init(struct decisions *decisions, const struct log *log, struct store *store,
                    struct store_writer *writer) {
    *decisions = (struct decisions){.log = log,
                                    .store = store,
                                    .source = {.gather_ms = DECISIONS_DELAY_MS,
                                               .write = write_rows,
                                               .rows = count_rows,
                                               .user = decisions}};
    lock_init(&decisions->write_lock);
    lock_init(&decisions->lock);
    store_writer_add(writer, &decisions->source);
}

void decisions_flush(struct decisions *decisions) {
    write_rows(decisions);
}

void decisions_finish(struct decisions *decisions) {
    decisions_flush(decisions);
    lock_finish(&decisions->write_lock);
    lock_finish(&decisions->lock);
}

/* -------------------------------------------------------------------- note */

/* Add a part of the line, unless `text` is NULL. */
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
    add_part(&line, ": ", decision->tool != NULL ? decision->tool : decision->plugin);
    add_part(&line, " ", decision->version);
    add_part(&line, ", by ", decision->who);
    add_part(&line, ", for ", decision->caller);
    add_part(&line, ", through ", decision->channel);
    add_part(&line, ", in ", decision->conversation);
    add_part(&line, ": ", decision->why);
    log_line(decisions->log, LOG_INFO, "permission", "%s",
             line.failed ? "a decision, and no memory to say which" : line.data);
}

/* Add a deep copy. False: out of memory. Caller holds the lock. */
static bool add_row(struct decisions *decisions, const struct store_decision *decision) {
    LOCK_ASSERT_HELD(&decisions->lock);
    struct decision_rows *rows = &decisions->rows;
    if (rows->count == rows->room) {
        size_t room = rows->room == 0 ? DECISIONS_ROWS_FIRST : 2 * rows->room;
        struct store_decision *items =
                room <= DECISIONS_ROWS_MAX ? realloc(rows->items, room * sizeof *items) : NULL;
        if (items == NULL) {
            return false;
        }
        rows->items = items;
        rows->room = room;
    }
    struct store_decision row = *decision;
    const char **const strings[] = {&row.tool,    &row.version,      &row.plugin,   &row.caller,
                                    &row.channel, &row.conversation, &row.decision, &row.who,
                                    &row.why,     &row.origin};
    for (size_t i = 0; i < ARRAY_LENGTH(strings); i++) {
        const char *string = *strings[i];
        if (string != NULL) {
            *strings[i] = arena_copy(&rows->strings, string, strlen(string));
            if (*strings[i] == NULL) {
                return false;
            }
        }
    }
    rows->items[rows->count++] = row;
    return true;
}

void decisions_note(struct decisions *decisions, const struct store_decision *decision) {
    log_decision(decisions, decision);
    struct store_decision timed = *decision;
    timed.time_ms = clock_wall_ms();
    lock_take(&decisions->lock);
    if (!add_row(decisions, &timed)) {
        decisions->rows.lost++;
    }
    bool many = decisions->rows.count >= DECISIONS_BATCH;
    lock_release(&decisions->lock);
    store_writer_note(&decisions->source, many);
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
    document_add_text(listing->doc, row, "origin", decision->origin);
}

int decisions_read(struct decisions *decisions, const struct toolrack_decisions_filter *filter,
                   struct toolrack_text **ret, struct toolrack_error *err) {
    struct toolrack_decisions_filter taken = {0};
    if (filter != NULL) {
        memcpy(&taken, filter, filter->size < sizeof taken ? filter->size : sizeof taken);
    }
    struct selector selector = {0};
    CLEANUP(freep) char *tool = NULL;
    if (taken.tool != NULL) {
        int wrong = registry_check_exact(taken.tool, err);
        if (wrong < 0) {
            return wrong;
        }
        selector = selector_parse(taken.tool);
        tool = strndup(selector.name, selector.name_length);
        if (tool == NULL) {
            return error_oom(err);
        }
    }
    struct listing listing;
    listing.doc = document_begin_list(&listing.list);
    decisions_flush(decisions);
    int code = store_decisions_read(
            decisions->store,
            &(struct store_decisions_filter){
                    .tool = tool,
                    .version = selector.version,
                    .since_ms = taken.since_ms,
                    .limit = taken.limit < UINT32_MAX ? (uint32_t)taken.limit : UINT32_MAX,
                    .plugin = taken.plugin},
            add_decision, &listing, err);
    if (code < 0) {
        yyjson_mut_doc_free(listing.doc);
        return code;
    }
    return document_end(listing.doc, ret, err);
}
