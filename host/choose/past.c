/* Tools are what is compared with a text, not its earlier texts one by one: a word of the text is
 * explained by a tool if any text that led to it has the word, or one that means the same. A text
 * that nobody has asked before is led to a tool by several that were like it in parts.
 *
 * All sums are integers, so that the order in which rows are read decides nothing. */
#include "choose/past.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/object.h"
#include "choose/query.h"
#include "choose/secret-form.h"

#define FIRST_ROOM 64u

/* An earlier text counts half after so long. */
#define HALF_LIFE_MS (INT64_C(60) * 24 * 60 * 60 * 1000)
#define HALVINGS_MAX 30

/* Shares are in 1/ONE: what a call that worked counts, where a person's word counts 1; what one
 * other principal counts, where the principal's own texts count 1, and all of them. */
#define ONE          65536u
#define WORKED_SHARE (ONE / 5 * 4)
#define OTHER_SHARE  (ONE / 4)
#define OTHERS_SHARE (ONE / 2)

/* So many other principals must have led to a tool by texts with a word, or nothing is known of
 * that word: of fewer, the answers would tell word by word what somebody's texts say. */
#define OTHERS_LEAST 3u

/* A word that no earlier text has says less than one that some have: it is often a value. */
#define UNKNOWN_SHARE (ONE / 2)

/* Words in quotation marks are values, and other ones the next time: "find 'cat'" after "replace
 * 'cat'" is another wish. */
#define QUOTED_PART 32u

/* What says less leads nowhere. */
#define VALUE_LEAST 0.05

/* Voices without texts are forgotten, by reading all again, where there are so many more voices
 * than texts. */
#define SPARE_VOICES  1024u
#define VOICES_OF_ROW 4u

/* No voice: a row says nothing. */
#define SILENT UINT32_MAX

/* One text. */
struct row {
    int64_t change; /* its number in the index */
    char id[STORE_SELECTION_ID_SIZE];
    bool is_said;   /* by a person */
    bool is_none;   /* who said that no tool is right */
    uint32_t voice; /* or SILENT */
};

/* The text of a slot of the index. */
struct text {
    int64_t time_ms;
    uint32_t share;
    uint32_t voice;
};

/* Where a text led. */
struct way {
    const char *tool;
    const char *plugin;
    bool away; /* from the tool */
};

/* What one principal's texts say of one way; of the way itself, which is all principals' lead,
 * the principal is "". */
struct voice {
    char *principal;
    char *tool;
    char *plugin;
    bool away;
    uint32_t lead;  /* the number of the way's voice, which is its own */
    uint32_t count; /* of texts */
};

/* Invariants, with the lock held:
 *
 *  (1) `rows` has all rows of the store up to the last change that was read, one for each id. If
 *      the store has another number of rows, some were removed: those are dropped.
 *  (2) `rows` is sorted by `change`.
 *  (3) `index` has the texts of those rows that say something, and no others; `texts` has them by
 *      slot.
 *  (4) `sorted` has the numbers of all voices, in the order of compare_voice(). */
struct past {
    uint32_t magic; /* PAST_MAGIC */
    struct store *store;
    struct lock lock; /* guards what follows */
    struct index *index;
    struct row *rows;
    size_t count;
    size_t room;
    struct text *texts;
    size_t text_room;
    struct voice *voices;
    uint32_t *sorted;
    size_t voice_count;
    size_t voice_room;
    size_t leading; /* ways that some text led */
    bool has_key;
    unsigned char key[STORE_SELECTION_KEY_SIZE]; /* of the store, for ids */
    bool was_empty;                              /* while rows are read: there was none before */
    bool no_memory;                              /* for one of them */
};
#define PAST_MAGIC 0x74736170u

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
        if (past->rows[i].voice != SILENT) {
            (void)index_remove(past->index, (uint64_t)past->rows[i].change);
        }
    }
    for (size_t i = 0; i < past->voice_count; i++) {
        free(past->voices[i].principal);
        free(past->voices[i].tool);
        free(past->voices[i].plugin);
    }
    past->count = 0;
    past->voice_count = 0;
    past->leading = 0;
}

void past_destroy(struct past *past) {
    if (past != NULL) {
        OBJECT_WIPE(past, PAST_MAGIC);
        forget_all(past);
        free(past->rows);
        free(past->texts);
        free(past->voices);
        free(past->sorted);
        index_destroy(past->index);
        lock_finish(&past->lock);
        free(past);
    }
}

/* Read the key of the store once. Caller holds the lock. */
static int read_key(struct past *past, bool makes, struct toolrack_error *err) {
    LOCK_ASSERT_HELD(&past->lock);
    int code = past->has_key ? 0 : store_selections_key(past->store, makes, past->key, err);
    past->has_key = code == 0;
    return code;
}

static int make_id(const unsigned char *key, const char *principal, const char *text, size_t length,
                   char ret[STORE_SELECTION_ID_SIZE], struct toolrack_error *err) {
    unsigned char digest[crypto_generichash_BYTES];
    crypto_generichash_state state;
    size_t kept_length = 0;
    CLEANUP(freep) char *kept = secret_form_mask(text, length, &kept_length);
    if (kept == NULL) {
        return error_oom(err);
    }
    (void)crypto_generichash_init(&state, key, STORE_SELECTION_KEY_SIZE, sizeof digest);
    (void)crypto_generichash_update(&state, (const unsigned char *)principal,
                                    strlen(principal) + 1);
    (void)crypto_generichash_update(&state, (const unsigned char *)kept, kept_length);
    (void)crypto_generichash_final(&state, digest, sizeof digest);
    (void)sodium_bin2hex(ret, STORE_SELECTION_ID_SIZE, digest, STORE_SELECTION_ID_SIZE / 2);
    return 0;
}

int past_id(struct past *past, const char *principal, const char *text, size_t length,
            char ret[STORE_SELECTION_ID_SIZE], struct toolrack_error *err) {
    OBJECT_CHECK(past, PAST_MAGIC);
    LOCK_SCOPE(&past->lock);
    int code = read_key(past, true, err);
    return code < 0 ? code : make_id(past->key, principal, text, length, ret, err);
}

/* ----------------------------------------------------------------------------- voices */

static int compare_voice(const struct voice *a, const struct voice *b) {
    int order = strcmp(a->tool, b->tool);
    order = order != 0 ? order : strcmp(a->plugin, b->plugin);
    order = order != 0 ? order : a->away - b->away;
    return order != 0 ? order : strcmp(a->principal, b->principal);
}

/* Where the number of a voice is in `sorted`, or belongs. */
static size_t place_of(const struct past *past, const struct voice *wanted) {
    size_t low = 0;
    size_t high = past->voice_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_voice(&past->voices[past->sorted[middle]], wanted) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool has_room_for_voice(struct past *past) {
    if (past->voice_count < past->voice_room) {
        return true;
    }
    size_t room = past->voice_room == 0 ? FIRST_ROOM : 2 * past->voice_room;
    struct voice *voices = realloc(past->voices, room * sizeof *voices);
    past->voices = voices != NULL ? voices : past->voices;
    uint32_t *sorted = realloc(past->sorted, room * sizeof *sorted);
    past->sorted = sorted != NULL ? sorted : past->sorted;
    past->voice_room = voices != NULL && sorted != NULL ? room : past->voice_room;
    return past->voice_count < past->voice_room;
}

/* The number of a voice, which is made if there is none; SILENT when out of memory. */
static uint32_t voice_of(struct past *past, const char *principal, const struct way *way) {
    const struct voice wanted = {.principal = (char *)(uintptr_t)principal,
                                 .tool = (char *)(uintptr_t)way->tool,
                                 .plugin = (char *)(uintptr_t)way->plugin,
                                 .away = way->away};
    size_t at = place_of(past, &wanted);
    if (at < past->voice_count && compare_voice(&past->voices[past->sorted[at]], &wanted) == 0) {
        return past->sorted[at];
    }
    struct voice made = {.principal = strdup(principal),
                         .tool = strdup(way->tool),
                         .plugin = strdup(way->plugin),
                         .away = way->away};
    if (made.principal == NULL || made.tool == NULL || made.plugin == NULL ||
        !has_room_for_voice(past)) {
        free(made.principal);
        free(made.tool);
        free(made.plugin);
        return SILENT;
    }
    uint32_t number = (uint32_t)past->voice_count++;
    memmove(&past->sorted[at + 1], &past->sorted[at], (number - at) * sizeof past->sorted[0]);
    past->sorted[at] = number;
    past->voices[number] = made;
    return number;
}

/* A text more, or one less. */
static void count_text(struct past *past, uint32_t voice, bool more) {
    struct voice *own = &past->voices[voice];
    struct voice *lead = &past->voices[own->lead];
    own->count += more ? 1 : UINT32_MAX;
    past->leading += more && lead->count == 0;
    lead->count += more ? 1 : UINT32_MAX;
    past->leading -= !more && lead->count == 0;
}

/* ------------------------------------------------------------------- reading what is new */

/* What a row says counts no more. */
static void silence(struct past *past, const struct row *row) {
    if (row->voice != SILENT) {
        (void)index_remove(past->index, (uint64_t)row->change);
        count_text(past, row->voice, false);
    }
}

static void drop_row(struct past *past, const char *id) {
    for (size_t i = 0; i < past->count; i++) {
        if (strcmp(past->rows[i].id, id) == 0) {
            silence(past, &past->rows[i]);
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

/* Whether a person said that no tool is right for a text. */
static bool is_for_none(const struct store_selection *selection) {
    return selection->right != NULL && selection->right[0] == '\0';
}

/* The way that a text led; without a tool it says nothing of other texts. */
static struct way led(const struct store_selection *selection) {
    if (selection->right != NULL && !is_for_none(selection)) {
        return (struct way){selection->right, selection->right_plugin, false};
    }
    bool says = is_for_none(selection) || selection->worked > selection->failed;
    return (struct way){says ? selection->tool : "", selection->plugin, is_for_none(selection)};
}

static struct text *text_at(struct past *past, uint32_t slot) {
    if (slot >= past->text_room) {
        size_t room = slot < FIRST_ROOM / 2 ? FIRST_ROOM : 2 * (size_t)slot;
        struct text *grown = realloc(past->texts, room * sizeof *grown);
        if (grown == NULL) {
            return NULL;
        }
        past->texts = grown;
        past->text_room = room;
    }
    return &past->texts[slot];
}

/* Put the text of a row that says something into the index. */
static bool keep_text(struct past *past, const struct store_selection *selection,
                      const struct way *way, struct row *row) {
    const struct index_document document = {.description = selection->text};
    uint64_t id = (uint64_t)row->change;
    uint32_t slot;
    uint32_t lead = voice_of(past, "", way);
    uint32_t voice = lead != SILENT ? voice_of(past, selection->principal, way) : SILENT;
    if (voice == SILENT || index_add(past->index, id, &document, NULL) < 0) {
        return false;
    }
    struct text *text = index_find_slot(past->index, id, &slot) ? text_at(past, slot) : NULL;
    if (text == NULL) {
        (void)index_remove(past->index, id);
        return false;
    }
    *text = (struct text){selection->time_ms, row->is_said ? ONE : WORKED_SHARE, voice};
    past->voices[lead].lead = lead;
    past->voices[voice].lead = lead;
    row->voice = voice;
    count_text(past, voice, true);
    return true;
}

static void take_row(void *user, const struct store_selection *selection) {
    struct past *past = user;
    const struct way way = led(selection);
    struct row row = {.change = selection->change,
                      .is_said = selection->right != NULL,
                      .is_none = is_for_none(selection),
                      .voice = SILENT};
    (void)snprintf(row.id, sizeof row.id, "%s", selection->id);
    if (!past->was_empty) {
        drop_row(past, selection->id);
    }
    if (past->no_memory || !has_room(past) ||
        (way.tool[0] != '\0' && !keep_text(past, selection, &way, &row))) {
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

/* The rows that the store still has. */
struct staying {
    struct past *past;
    size_t looked_at;
    size_t count; /* of those before, so many stay */
};

static void stay_from(void *user, int64_t change) {
    struct staying *staying = user;
    struct past *past = staying->past;
    for (; staying->looked_at < past->count && past->rows[staying->looked_at].change < change;
         staying->looked_at++) {
        silence(past, &past->rows[staying->looked_at]);
    }
    if (staying->looked_at < past->count && past->rows[staying->looked_at].change == change) {
        past->rows[staying->count++] = past->rows[staying->looked_at++];
    }
}

/* Drop the rows that the store has no more. */
static int drop_removed(struct past *past, struct toolrack_error *err) {
    struct staying staying = {.past = past};
    int code = store_selections_left(past->store, stay_from, &staying, err);
    if (code == 0) {
        stay_from(&staying, INT64_MAX);
        past->count = staying.count;
    }
    return code;
}

static int refresh(struct past *past, struct toolrack_error *err) {
    LOCK_ASSERT_HELD(&past->lock);
    if (past->voice_count > SPARE_VOICES + VOICES_OF_ROW * past->count) {
        forget_all(past);
    }
    int code = read_new(past, err);
    if (code > 0) {
        code = drop_removed(past, err);
        code = code < 0 ? code : read_new(past, err);
    }
    if (code > 0) { /* the two differ in more than rows that were removed */
        forget_all(past);
        code = read_new(past, err);
    }
    if (code < 0) {
        forget_all(past); /* all is read the next time */
    }
    return code < 0 ? code : 0;
}

/* ------------------------------------------------------------------------- what it says */

/* Halved for each half-life. */
static uint32_t fresh_share(const struct text *text, int64_t now_ms) {
    int64_t halvings = now_ms > text->time_ms ? (now_ms - text->time_ms) / HALF_LIFE_MS : 0;
    return halvings < HALVINGS_MAX ? text->share >> halvings : 0;
}

/* Numbers of things that have a value, so that all others need no look. */
struct touched {
    uint32_t *values; /* by number; 0: not touched */
    uint32_t *numbers;
    size_t count;
};

static bool touched_create(struct touched *touched, size_t most) {
    touched->values = calloc(most + 1, sizeof *touched->values);
    touched->numbers = calloc(most + 1, sizeof *touched->numbers);
    return touched->values != NULL && touched->numbers != NULL;
}

static void touched_finish(struct touched *touched) {
    free(touched->values);
    free(touched->numbers);
}

/* Set the value that a number has, which is more than 0. */
static void touch(struct touched *touched, uint32_t number, uint32_t value) {
    if (touched->values[number] == 0) {
        touched->numbers[touched->count++] = number;
    }
    touched->values[number] = value;
}

/* What the texts say of a unit after the other. All shares are of the unit. */
struct hearing {
    struct past *past;
    const char *principal;
    int64_t now_ms;
    struct query *query;
    size_t leading;        /* tools that texts led to, as far as they are heard */
    size_t total;          /* texts: each of the principal, of the others one for each voice */
    bool *is_own;          /* by voice */
    bool *has;             /* by voice of another: has the term that is looked at */
    uint32_t *having;      /* by lead: how many others' voices have it */
    struct touched texts;  /* by slot: how much a text has of it */
    struct touched voices; /* of the texts of a voice the most, with its age */
    struct touched own;    /* by lead: what the principal says, and 1 more */
    uint32_t *others;      /* by lead: what the others say together */
    uint64_t *sums;        /* by lead: of all units, in 1/ONE of their weights */
    uint64_t all;          /* the weights of the units */
};

static void hearing_finish(struct hearing *hearing) {
    free(hearing->query);
    free(hearing->is_own);
    free(hearing->has);
    free(hearing->having);
    touched_finish(&hearing->texts);
    touched_finish(&hearing->voices);
    touched_finish(&hearing->own);
    free(hearing->others);
    free(hearing->sums);
}

/* Count what is heard of the tools that texts led to, and of the texts. */
static void count_audible(struct hearing *hearing) {
    const struct past *past = hearing->past;
    uint32_t *others = hearing->having;
    for (size_t i = 0; i < past->voice_count; i++) {
        const struct voice *voice = &past->voices[i];
        hearing->is_own[i] = voice->lead != i && hearing->principal != NULL &&
                             strcmp(hearing->principal, voice->principal) == 0;
        others[voice->lead] += voice->lead != i && !hearing->is_own[i] && voice->count > 0;
    }
    for (size_t i = 0; i < past->voice_count; i++) {
        const struct voice *voice = &past->voices[i];
        bool is_own = hearing->is_own[i] && voice->count > 0;
        bool is_common = others[voice->lead] >= OTHERS_LEAST;
        hearing->total += is_own                                 ? voice->count
                          : voice->lead != i && voice->count > 0 ? is_common
                                                                 : 0;
        /* A tool counts once: by its own voice if others are heard, else by the principal's. */
        hearing->leading += voice->lead == i ? is_common : is_own && !is_common;
    }
    memset(others, 0, past->voice_count * sizeof *others);
}

static int hearing_create(struct hearing *hearing, struct toolrack_error *err) {
    size_t voices = hearing->past->voice_count;
    hearing->query = malloc(sizeof *hearing->query);
    hearing->is_own = calloc(voices + 1, sizeof *hearing->is_own);
    hearing->has = calloc(voices + 1, sizeof *hearing->has);
    hearing->having = calloc(voices + 1, sizeof *hearing->having);
    hearing->others = calloc(voices + 1, sizeof *hearing->others);
    hearing->sums = calloc(voices + 1, sizeof *hearing->sums);
    bool ready = touched_create(&hearing->texts, hearing->past->index->slot_count) &&
                 touched_create(&hearing->voices, voices) &&
                 touched_create(&hearing->own, voices) && hearing->query != NULL &&
                 hearing->is_own != NULL && hearing->has != NULL && hearing->having != NULL &&
                 hearing->others != NULL && hearing->sums != NULL;
    if (!ready) {
        return error_oom(err);
    }
    count_audible(hearing);
    return 0;
}

/* ----------------------------------------------------------------------- what may be known */

/* Note which others have a term. */
static void mark_term(struct hearing *hearing, const struct index_term *term) {
    for (uint32_t p = 0; p < term->count; p++) {
        uint32_t voice = hearing->past->texts[term->postings[p].slot].voice;
        if (!hearing->is_own[voice] && !hearing->has[voice]) {
            hearing->has[voice] = true;
            hearing->having[hearing->past->voices[voice].lead]++;
        }
    }
}

static void unmark_term(struct hearing *hearing, const struct index_term *term) {
    for (uint32_t p = 0; p < term->count; p++) {
        uint32_t voice = hearing->past->texts[term->postings[p].slot].voice;
        hearing->has[voice] = false;
        hearing->having[hearing->past->voices[voice].lead] = 0;
    }
}

/* Whether a voice counts that has the marked term. */
static bool is_heard(const struct hearing *hearing, uint32_t voice) {
    return hearing->is_own[voice] ||
           hearing->having[hearing->past->voices[voice].lead] >= OTHERS_LEAST;
}

/* How many have a term that are heard, counted as in `total`; of struct query_view. */
static uint32_t count_heard(void *user, const struct index_term *term) {
    struct hearing *hearing = user;
    uint32_t count = 0;
    mark_term(hearing, term);
    for (uint32_t p = 0; p < term->count; p++) {
        uint32_t voice = hearing->past->texts[term->postings[p].slot].voice;
        count += is_heard(hearing, voice) && (hearing->is_own[voice] || hearing->has[voice]);
        hearing->has[voice] = false;
    }
    unmark_term(hearing, term);
    return count;
}

static uint32_t share_of(uint64_t share, uint32_t of) {
    return (uint32_t)(share * of / ONE);
}

/* The texts that have a unit: by the word itself, or by what counts most of what may stand for it.
 */
static void hear_texts(struct hearing *hearing, const struct query_unit *unit) {
    for (uint32_t a = unit->first; a < unit->first + unit->count; a++) {
        const struct query_alternative *alternative = &hearing->query->alternatives[a];
        for (uint32_t k = 0; k < alternative->count; k++) {
            const struct index_term *term = alternative->terms[k];
            uint32_t share = (uint32_t)((uint64_t)alternative->weights[k] * ONE / unit->weight) + 1;
            mark_term(hearing, term);
            for (uint32_t p = 0; p < term->count; p++) {
                uint32_t slot = term->postings[p].slot;
                if (!is_heard(hearing, hearing->past->texts[slot].voice)) {
                    continue;
                }
                uint32_t before = hearing->texts.values[slot];
                uint32_t value = k > 0 ? before + share : before > share ? before : share;
                touch(&hearing->texts, slot, value < ONE ? value : ONE);
            }
            unmark_term(hearing, term);
        }
    }
}

/* Of a voice the strongest text counts. */
static void hear_voices(struct hearing *hearing) {
    for (size_t i = 0; i < hearing->texts.count; i++) {
        uint32_t slot = hearing->texts.numbers[i];
        const struct text *text = &hearing->past->texts[slot];
        uint32_t share = share_of(hearing->texts.values[slot], fresh_share(text, hearing->now_ms));
        if (share > hearing->voices.values[text->voice]) {
            touch(&hearing->voices, text->voice, share);
        }
        hearing->texts.values[slot] = 0;
    }
    hearing->texts.count = 0;
}

/* Of a tool the principal's own voice counts in full, each of the others once. */
static void hear_leads(struct hearing *hearing) {
    for (size_t i = 0; i < hearing->voices.count; i++) {
        uint32_t number = hearing->voices.numbers[i];
        const struct voice *voice = &hearing->past->voices[number];
        uint32_t share = hearing->voices.values[number];
        if (hearing->own.values[voice->lead] == 0) {
            touch(&hearing->own, voice->lead, 1);
        }
        if (hearing->is_own[number]) {
            hearing->own.values[voice->lead] += share;
        } else {
            uint32_t *others = &hearing->others[voice->lead];
            *others += share_of(OTHER_SHARE, share);
            *others = *others < OTHERS_SHARE ? *others : OTHERS_SHARE;
        }
        hearing->voices.values[number] = 0;
    }
    hearing->voices.count = 0;
}

/* A unit that texts of few tools have says more than one that all have. */
static void hear_unit(struct hearing *hearing, const struct query_unit *unit) {
    hear_texts(hearing, unit);
    hear_voices(hearing);
    hear_leads(hearing);
    uint64_t rare = rareness(hearing->own.count, hearing->leading);
    uint64_t weight = rare * unit->part;
    hearing->all += hearing->own.count > 0 ? weight : share_of(weight, UNKNOWN_SHARE);
    for (size_t i = 0; i < hearing->own.count; i++) {
        uint32_t lead = hearing->own.numbers[i];
        uint32_t own = hearing->own.values[lead] - 1;
        uint32_t all = own + share_of(ONE - own, hearing->others[lead]);
        hearing->sums[lead] += weight * all;
        hearing->own.values[lead] = 0;
        hearing->others[lead] = 0;
    }
    hearing->own.count = 0;
}

/* A word that says nothing by itself is in most texts: such are heard only where there are no
 * others. */
static uint32_t least_part(const struct query *query) {
    for (size_t u = 0; u < query->unit_count; u++) {
        if (query->units[u].part > match_weights.stop) {
            return match_weights.stop;
        }
    }
    return 0;
}

/* Hear what the texts say of all of a text. */
static int hear(struct hearing *hearing, const char *text, size_t length,
                struct toolrack_error *err) {
    const struct past *past = hearing->past;
    const struct query_view view = {count_heard, hearing, hearing->total};
    struct match_weights weights = match_weights;
    weights.quoted = QUOTED_PART;
    int code = query_read(past->index, &weights, &view, text, length, hearing->query, err);
    if (code < 0) {
        return code;
    }
    uint32_t least = least_part(hearing->query);
    for (size_t u = 0; u < hearing->query->unit_count; u++) {
        const struct query_unit *unit = &hearing->query->units[u];
        if (unit->weight > 0 && unit->part > least) {
            hear_unit(hearing, unit);
        }
    }
    uint64_t weight = (uint64_t)rareness(0, hearing->leading) * hearing->query->unknown;
    hearing->all += share_of(weight, UNKNOWN_SHARE);
    return 0;
}

/* What the principal said of this very text; NULL: nothing. */
static const struct row *said_of(struct past *past, const char *principal, const char *text,
                                 size_t length) {
    char id[STORE_SELECTION_ID_SIZE];
    struct toolrack_error problem;
    if (principal == NULL || past->count == 0 || read_key(past, false, &problem) < 0 ||
        make_id(past->key, principal, text, length, id, &problem) < 0) {
        return NULL;
    }
    for (size_t i = 0; i < past->count; i++) {
        const struct row *row = &past->rows[i];
        if (strcmp(row->id, id) == 0) {
            return row->is_said ? row : NULL;
        }
    }
    return NULL;
}

static double explained(const struct hearing *hearing, uint32_t lead) {
    return hearing->all > 0 ? (double)hearing->sums[lead] / ONE / (double)hearing->all : 0;
}

/* Keep the strongest; of equal ones those whose names come first. */
static bool add_lead(const struct voice *voice, double value, bool same, struct past_leads *leads) {
    size_t at = leads->count;
    for (; at > 0; at--) {
        const struct past_lead *before = &leads->items[at - 1];
        if (before->value > value ||
            (before->value >= value && strcmp(before->tool, voice->tool) <= 0)) {
            break;
        }
    }
    if (at == PAST_LEADS_MAX) {
        return true;
    }
    struct past_lead lead = {strdup(voice->tool), strdup(voice->plugin), value, voice->away, same};
    if (lead.tool == NULL || lead.plugin == NULL) {
        free(lead.tool);
        free(lead.plugin);
        return false;
    }
    if (leads->count == PAST_LEADS_MAX) {
        free(leads->items[--leads->count].tool);
        free(leads->items[leads->count].plugin);
    }
    memmove(&leads->items[at + 1], &leads->items[at], (leads->count - at) * sizeof lead);
    leads->items[at] = lead;
    leads->count++;
    return true;
}

static int write_leads(const struct hearing *hearing, uint32_t said, struct past_leads *ret,
                       struct toolrack_error *err) {
    for (uint32_t i = 0; i < hearing->past->voice_count; i++) {
        double value = i == said ? 1 : explained(hearing, i);
        if (value >= VALUE_LEAST && !add_lead(&hearing->past->voices[i], value, i == said, ret)) {
            return error_oom(err);
        }
    }
    return 0;
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
    LOCK_SCOPE(&past->lock);
    CLEANUP(hearing_finish)
    struct hearing hearing = {.past = past, .principal = principal, .now_ms = now_ms};
    int code = refresh(past, err);
    const struct row *row = code == 0 ? said_of(past, principal, text, length) : NULL;
    ret->none = row != NULL && row->is_none;
    if (code < 0 || past->leading == 0) {
        return code;
    }
    code = hearing_create(&hearing, err);
    code = code < 0 ? code : hear(&hearing, text, length, err);
    bool leads = row != NULL && row->voice != SILENT;
    uint32_t said = leads ? past->voices[row->voice].lead : SILENT;
    return code < 0 ? code : write_leads(&hearing, said, ret, err);
}
