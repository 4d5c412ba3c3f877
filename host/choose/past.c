#include "choose/past.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/lock.h"
#include "base/object.h"
#include "choose/match.h"

#define FIRST_ROOM 64u

/* Earlier texts that are compared with one. */
#define SIMILAR_MAX 48u

/* An earlier text counts half after so long. */
#define HALF_LIFE_MS (INT64_C(60) * 24 * 60 * 60 * 1000)
#define HALVINGS_MAX 30

/* Texts that share less than this count nothing. */
#define SIMILARITY_LEAST 0.25

/* What a call that worked counts, where a person's word counts 1. */
#define WORKED_WEIGHT 0.8

/* What one other principal counts, where the principal's own texts count 1, and all of them. */
#define OTHER_WEIGHT  0.25
#define OTHERS_WEIGHT 0.5

/* One text. */
struct row {
    int64_t change; /* its number in the index */
    char id[STORE_SELECTION_ID_SIZE];
    char *principal; /* NULL, as the next two: it says nothing */
    char *tool;      /* that it led to */
    char *plugin;
    int64_t time_ms;
    double weight;
    bool is_said; /* by a person */
};

/* Invariants, with the lock held:
 *
 *  (1) `rows` has all rows of the store up to the last change that was read, one for each id. If
 *      the store has another number of rows, some were removed: all are read again.
 *  (2) `rows` is sorted by `change`.
 *  (3) `index` has the texts of those rows that say something, and no others. */
struct past {
    uint32_t magic; /* PAST_MAGIC */
    struct store *store;
    struct lock lock; /* guards what follows */
    struct index *index;
    struct row *rows;
    size_t count;
    size_t room;
    bool was_empty; /* while rows are read: there was none before */
    bool no_memory; /* for one of them */
};
#define PAST_MAGIC 0x74736170u

static void row_finish(struct row *row) {
    free(row->principal);
    free(row->tool);
    free(row->plugin);
}

struct past *past_create(struct store *store) {
    struct past *past = calloc(1, sizeof *past);
    struct index *index = index_create();
    if (past == NULL || index == NULL) {
        index_destroy(index);
        free(past);
        return NULL;
    }
    past->magic = PAST_MAGIC;
    past->store = store;
    past->index = index;
    lock_init(&past->lock);
    return past;
}

static void forget_all(struct past *past) {
    for (size_t i = 0; i < past->count; i++) {
        (void)index_remove(past->index, (uint64_t)past->rows[i].change);
        row_finish(&past->rows[i]);
    }
    past->count = 0;
}

void past_destroy(struct past *past) {
    if (past != NULL) {
        OBJECT_WIPE(past, PAST_MAGIC);
        forget_all(past);
        free(past->rows);
        index_destroy(past->index);
        lock_finish(&past->lock);
        free(past);
    }
}

void past_id(const char *principal, const char *text, size_t length,
             char ret[STORE_SELECTION_ID_SIZE]) {
    unsigned char digest[crypto_hash_sha256_BYTES];
    crypto_hash_sha256_state state;
    (void)crypto_hash_sha256_init(&state);
    (void)crypto_hash_sha256_update(&state, (const unsigned char *)principal,
                                    strlen(principal) + 1);
    (void)crypto_hash_sha256_update(&state, (const unsigned char *)text, length);
    (void)crypto_hash_sha256_final(&state, digest);
    (void)sodium_bin2hex(ret, STORE_SELECTION_ID_SIZE, digest, STORE_SELECTION_ID_SIZE / 2);
}

/* ------------------------------------------------------------------- reading what is new */

static void drop_row(struct past *past, const char *id) {
    for (size_t i = 0; i < past->count; i++) {
        if (strcmp(past->rows[i].id, id) == 0) {
            (void)index_remove(past->index, (uint64_t)past->rows[i].change);
            row_finish(&past->rows[i]);
            past->count--;
            memmove(&past->rows[i], &past->rows[i + 1], (past->count - i) * sizeof past->rows[0]);
            return;
        }
    }
}

static bool has_room(struct past *past) {
    if (past->count < past->room) {
        return true;
    }
    size_t room = past->room == 0 ? FIRST_ROOM : 2 * past->room;
    struct row *grown = realloc(past->rows, room * sizeof *grown);
    if (grown != NULL) {
        past->rows = grown;
        past->room = room;
    }
    return grown != NULL;
}

/* The tool that a text led to; NULL: it says nothing. */
static const char *led_to(const struct store_selection *selection) {
    const char *tool = selection->right != NULL                ? selection->right
                       : selection->worked > selection->failed ? selection->tool
                                                               : "";
    return tool[0] != '\0' ? tool : NULL;
}

/* Fill a row that says something, and put its text into the index. */
static bool keep_text(struct past *past, const struct store_selection *selection, const char *tool,
                      struct row *row) {
    const struct index_document document = {.description = selection->text};
    bool is_said = selection->right != NULL;
    row->principal = strdup(selection->principal);
    row->tool = strdup(tool);
    row->plugin = strdup(is_said ? selection->right_plugin : selection->plugin);
    row->weight = is_said ? 1 : WORKED_WEIGHT;
    row->is_said = is_said;
    return row->principal != NULL && row->tool != NULL && row->plugin != NULL &&
           index_add(past->index, (uint64_t)row->change, &document, NULL) == 0;
}

static void take_row(void *user, const struct store_selection *selection) {
    struct past *past = user;
    const char *tool = led_to(selection);
    struct row row = {.change = selection->change, .time_ms = selection->time_ms};
    (void)snprintf(row.id, sizeof row.id, "%s", selection->id);
    if (!past->was_empty) {
        drop_row(past, selection->id);
    }
    if (past->no_memory || !has_room(past) ||
        (tool != NULL && !keep_text(past, selection, tool, &row))) {
        row_finish(&row);
        past->no_memory = true;
        return;
    }
    past->rows[past->count++] = row;
}

/* Read the rows that are new. Caller holds the lock. */
static int read_new(struct past *past, struct toolrack_error *err) {
    uint64_t stored = 0;
    past->no_memory = false;
    past->was_empty = past->count == 0;
    int64_t last = past->count > 0 ? past->rows[past->count - 1].change : 0;
    int code = store_selections_read(past->store, last, take_row, past, &stored, err);
    if (code == 0 && past->no_memory) {
        code = error_oom(err);
    }
    if (code == 0 && stored != past->count) {
        return 1; /* some were removed */
    }
    return code;
}

static int refresh(struct past *past, struct toolrack_error *err) {
    LOCK_ASSERT_HELD(&past->lock);
    int code = read_new(past, err);
    if (code > 0) {
        forget_all(past);
        code = read_new(past, err);
    }
    if (code < 0) {
        forget_all(past); /* all is read the next time */
    }
    return code < 0 ? code : 0;
}

/* ------------------------------------------------------------------------- what it says */

static int compare_changes(const void *left, const void *right) {
    const struct row *a = left;
    const struct row *b = right;
    return a->change < b->change ? -1 : a->change > b->change;
}

static const struct row *find_row(const struct past *past, uint64_t change) {
    const struct row wanted = {.change = (int64_t)change};
    return past->count == 0 ? NULL
                            : bsearch(&wanted, past->rows, past->count, sizeof past->rows[0],
                                      compare_changes);
}

/* Halved for each half-life: a division is the same on every machine. */
static double freshness(int64_t time_ms, int64_t now_ms) {
    double value = 1;
    int halvings = 0;
    for (int64_t age = now_ms - time_ms; age >= HALF_LIFE_MS && halvings < HALVINGS_MAX;
         age -= HALF_LIFE_MS) {
        value /= 2;
        halvings++;
    }
    return value;
}

/* The same text has 1, one that shares few words little. */
static double similarity(const struct match_hit *hit) {
    double shared = hit->coverage_all < hit->score ? hit->score : hit->coverage_all;
    return shared < SIMILARITY_LEAST ? 0 : shared * shared;
}

/* What one principal's texts say of one tool: the strongest of them counts. */
struct voice {
    const struct row *row;
    double value;
    bool own;
    bool same; /* the text is that of the row, and a person said so of it */
    unsigned count;
};

struct voices {
    struct voice items[SIMILAR_MAX];
    size_t count;
};

static void add_voice(struct voices *voices, const struct row *row, double value, bool own,
                      bool same) {
    for (size_t i = 0; i < voices->count; i++) {
        struct voice *voice = &voices->items[i];
        if (strcmp(voice->row->principal, row->principal) == 0 &&
            strcmp(voice->row->tool, row->tool) == 0 &&
            strcmp(voice->row->plugin, row->plugin) == 0) {
            voice->count++;
            voice->same = voice->same || same;
            voice->value = value > voice->value ? value : voice->value;
            return;
        }
    }
    voices->items[voices->count++] = (struct voice){row, value, own, same, 1};
}

static struct past_lead *lead_of(struct past_leads *leads, const struct row *row) {
    for (size_t i = 0; i < leads->count; i++) {
        struct past_lead *lead = &leads->items[i];
        if (strcmp(lead->tool, row->tool) == 0 && strcmp(lead->plugin, row->plugin) == 0) {
            return lead;
        }
    }
    return leads->count < PAST_LEADS_MAX ? &leads->items[leads->count] : NULL;
}

/* The principal's own texts count in full, each of the others once. */
static bool add_lead(struct past_leads *leads, const struct voice *voice) {
    struct past_lead *lead = lead_of(leads, voice->row);
    if (lead == NULL) {
        return true; /* stronger ones have the room */
    }
    if (lead->tool == NULL) {
        lead->tool = strdup(voice->row->tool);
        lead->plugin = strdup(voice->row->plugin);
        leads->count++;
    }
    if (voice->own) {
        lead->value = voice->same ? 1 : voice->value;
        lead->same = voice->same;
        lead->own += voice->count;
    } else {
        lead->shared += voice->value * OTHER_WEIGHT;
        lead->others++;
    }
    return lead->tool != NULL && lead->plugin != NULL;
}

static int compare_voices(const void *left, const void *right) {
    const struct voice *a = left;
    const struct voice *b = right;
    if (a->own != b->own) {
        return a->own ? -1 : 1;
    }
    if (a->value > b->value || a->value < b->value) {
        return a->value > b->value ? -1 : 1;
    }
    return compare_changes(a->row, b->row);
}

static int compare_leads(const void *left, const void *right) {
    const struct past_lead *a = left;
    const struct past_lead *b = right;
    if (a->value > b->value || a->value < b->value) {
        return a->value > b->value ? -1 : 1;
    }
    return strcmp(a->tool, b->tool);
}

void past_leads_finish(struct past_leads *leads) {
    for (size_t i = 0; i < leads->count; i++) {
        free(leads->items[i].tool);
        free(leads->items[i].plugin);
    }
    *leads = (struct past_leads){0};
}

int past_find(struct past *past, const char *text, size_t length, const char *principal,
              int64_t now_ms, struct past_leads *ret, struct toolrack_error *err) {
    OBJECT_CHECK(past, PAST_MAGIC);
    struct voices voices = {.count = 0};
    size_t count = 0;
    CLEANUP(freep) struct match_hit *hits = calloc(SIMILAR_MAX, sizeof *hits);
    if (hits == NULL) {
        return error_oom(err);
    }
    char id[STORE_SELECTION_ID_SIZE] = "";
    if (principal != NULL) {
        past_id(principal, text, length, id);
    }
    LOCK_SCOPE(&past->lock);
    int code = refresh(past, err);
    if (code == 0 && past->count > 0) {
        code = match_find(past->index, &(struct match_query){.text = text, .length = length}, hits,
                          SIMILAR_MAX, &count, err);
    }
    for (size_t i = 0; code == 0 && i < count; i++) {
        const struct row *row = find_row(past, hits[i].id);
        double value =
                row == NULL ? 0
                            : similarity(&hits[i]) * row->weight * freshness(row->time_ms, now_ms);
        if (value > 0) {
            bool own = principal != NULL && strcmp(principal, row->principal) == 0;
            add_voice(&voices, row, value, own, row->is_said && strcmp(row->id, id) == 0);
        }
    }
    if (voices.count > 1) {
        qsort(voices.items, voices.count, sizeof voices.items[0], compare_voices);
    }
    for (size_t i = 0; code == 0 && i < voices.count; i++) {
        if (!add_lead(ret, &voices.items[i])) {
            code = error_oom(err);
        }
    }
    for (size_t i = 0; i < ret->count; i++) {
        struct past_lead *lead = &ret->items[i];
        double shared = lead->shared < OTHERS_WEIGHT ? lead->shared : OTHERS_WEIGHT;
        lead->value += (1 - lead->value) * shared;
    }
    if (ret->count > 1) {
        qsort(ret->items, ret->count, sizeof ret->items[0], compare_leads);
    }
    return code;
}
