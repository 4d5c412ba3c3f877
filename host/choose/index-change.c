/* A tool is added in four steps, of which only the first two can fail: gather its terms and how
 * much it is about each; make room for them; remove what the tool had before, except what it keeps;
 * enter the terms. So a tool that exists already is exchanged, or stays as it was. */
#include "choose/index.h"

#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/json.h"
#include "base/object.h"
#include "choose/actions.h"
#include "choose/index-parts.h"
#include "choose/index-text.h"
#include "choose/words.h"

#define CHAINS_FIRST     64u
#define ROOM_FIRST       4u
#define SCHEMA_DEPTH_MAX 12u

/* Parameters of BM25, in 1/256: how soon a repeated word adds nothing more, how much a long text
 * is penalized, and how often a word of one field counts. */
#define ONE          256u
#define SATURATION   256u
#define REPEATED_MAX 2u

/* Of each field: what a word counts, and how much its length matters, in 1/256; the length that is
 * usual, in words. */
static const struct field {
    const char *name;
    unsigned weight;
    unsigned influence;
    unsigned usual;
} fields[INDEX_FIELDS] = {
        [INDEX_NAME] = {"name", 640, 128, 4},
        [INDEX_TITLE] = {"title", 384, 128, 4},
        [INDEX_DESCRIPTION] = {"description", 384, 200, 12},
        [INDEX_TAGS] = {"tags", 128, 128, 4},
        [INDEX_CATEGORY] = {"category", 128, 128, 2},
        [INDEX_SCENARIOS] = {"scenarios", 256, 128, 12},
        [INDEX_EXAMPLES] = {"examples", 256, 128, 24},
        [INDEX_PARAMETER] = {"parameter", 128, 128, 8},
        [INDEX_PARAMETER_TEXT] = {"parameter description", 100, 128, 40},
        [INDEX_CHOICE] = {"choice", 64, 128, 8},
};

const char *index_field_name(enum index_field field) {
    return fields[field].name;
}

/* ------------------------------------------------------------------- terms */

/* FNV-1a. */
uint64_t index_hash(const char *text, size_t length) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < length; i++) {
        hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3u;
    }
    return hash ^ hash >> 32;
}

static struct index_term **chain_of(const struct index *index, uint64_t hash) {
    return &index->chains[hash & (index->chain_count - 1)];
}

struct index_term *index_find_term(const struct index *index, const char *text, size_t length) {
    uint64_t hash = index_hash(text, length);
    struct index_term *term = *chain_of(index, hash);
    while (term != NULL && (term->hash != hash || term->length != length ||
                            memcmp(term->text, text, length) != 0)) {
        term = term->next;
    }
    return term;
}

/* More chains, so that each has one term as a rule. Without memory for them the chains get longer.
 */
static void lengthen_chains(struct index *index) {
    size_t count = 2 * index->chain_count;
    struct index_term **chains = calloc(count, sizeof(struct index_term *));
    if (chains == NULL) {
        return;
    }
    for (size_t i = 0; i < index->chain_count; i++) {
        for (struct index_term *term = index->chains[i], *next; term != NULL; term = next) {
            next = term->next;
            struct index_term **chain = &chains[term->hash & (count - 1)];
            term->next = *chain;
            *chain = term;
        }
    }
    free(index->chains);
    index->chains = chains;
    index->bytes += (count - index->chain_count) * sizeof(struct index_term *);
    index->chain_count = count;
}

static struct index_term *add_term(struct index *index, const char *text, size_t length) {
    struct index_term *term = calloc(1, sizeof *term + length);
    if (term == NULL) {
        return NULL;
    }
    if (index->term_count >= index->chain_count) {
        lengthen_chains(index);
    }
    term->hash = index_hash(text, length);
    term->length = (uint8_t)length;
    memcpy(term->text, text, length);
    struct index_term **chain = chain_of(index, term->hash);
    term->next = *chain;
    *chain = term;
    index->term_count++;
    index->bytes += sizeof *term + length;
    return term;
}

static void drop_term_if_unused(struct index *index, struct index_term *term) {
    if (term->count > 0) {
        return;
    }
    struct index_term **at = chain_of(index, term->hash);
    while (*at != term) {
        at = &(*at)->next;
    }
    *at = term->next;
    index->term_count--;
    index->bytes -= sizeof *term + term->length + term->room * sizeof *term->postings;
    free(term->postings);
    free(term);
}

/* ---------------------------------------------------------------- postings */

/* Where the posting of a slot is, or belongs. */
static uint32_t posting_place(const struct index_term *term, uint32_t slot) {
    uint32_t low = 0;
    uint32_t high = term->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (term->postings[middle].slot < slot) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool reserve_posting(struct index *index, struct index_term *term) {
    if (term->count < term->room) {
        return true;
    }
    uint32_t room = term->room == 0 ? ROOM_FIRST : term->room + term->room / 2;
    struct index_posting *grown = realloc(term->postings, room * sizeof *grown);
    if (grown == NULL) {
        return false;
    }
    index->bytes += (room - term->room) * sizeof *grown;
    term->postings = grown;
    term->room = room;
    return true;
}

/* Enter a posting, or exchange that of the slot; there is room. */
static void put_posting(const struct index_entry *entry, uint32_t slot) {
    struct index_term *term = entry->term;
    uint32_t at = posting_place(term, slot);
    if (at == term->count || term->postings[at].slot != slot) {
        memmove(&term->postings[at + 1], &term->postings[at],
                (term->count - at) * sizeof term->postings[0]);
        term->count++;
    }
    term->postings[at] = (struct index_posting){slot, entry->impact, entry->fields};
}

static void remove_posting(struct index_term *term, uint32_t slot) {
    uint32_t at = posting_place(term, slot);
    term->count--;
    memmove(&term->postings[at], &term->postings[at + 1],
            (term->count - at) * sizeof term->postings[0]);
}

/* ------------------------------------------------------------------ gather */

/* A term of the tool that is added, and how often each of its fields has it. */
struct gathered {
    struct index_term *term;
    uint8_t counts[INDEX_FIELDS];
    bool word; /* not parts of a name as one */
};

struct gathering {
    struct index *index;
    struct gathered *items;
    size_t count;
    size_t room;
    unsigned lengths[INDEX_FIELDS]; /* in words that say something */
    unsigned words[INDEX_FIELDS];   /* of all kinds, for the limit */
    enum index_field field;         /* the one that is read */
    uint32_t actions;               /* that its name names */
    bool no_memory;
};

static struct gathered *gathered_of(struct gathering *gathering, struct index_term *term) {
    if (term->gathered > 0) {
        return &gathering->items[term->gathered - 1];
    }
    if (gathering->count == gathering->room) {
        size_t room = gathering->room == 0 ? INDEX_WORDS_MAX : 2 * gathering->room;
        struct gathered *grown = realloc(gathering->items, room * sizeof *grown);
        if (grown == NULL) {
            return NULL;
        }
        gathering->items = grown;
        gathering->room = room;
    }
    gathering->items[gathering->count] = (struct gathered){.term = term};
    term->gathered = (uint32_t)++gathering->count;
    return &gathering->items[gathering->count - 1];
}

static bool take_term(void *user, const char *text, size_t length, enum index_kind kind) {
    struct gathering *gathering = user;
    struct index *index = gathering->index;
    struct index_term *term = index_find_term(index, text, length);
    if (term == NULL) {
        term = add_term(index, text, length);
    }
    struct gathered *item = term != NULL ? gathered_of(gathering, term) : NULL;
    if (item == NULL) {
        if (term != NULL) {
            drop_term_if_unused(index, term);
        }
        gathering->no_memory = true;
        return false;
    }
    uint8_t *count = &item->counts[gathering->field];
    *count = (uint8_t)(*count + (*count < REPEATED_MAX));
    item->word = item->word || kind != INDEX_JOINED;
    gathering->lengths[gathering->field] += kind == INDEX_WORD;
    return true;
}

static void gather_text(struct gathering *gathering, enum index_field field, const char *text,
                        size_t length) {
    CLEANUP(words_finish) struct words words = {0};
    if (text == NULL || gathering->no_memory || gathering->words[field] >= INDEX_WORDS_MAX) {
        return;
    }
    if (words_read(text, length, &words, NULL) < 0) {
        gathering->no_memory = true;
        return;
    }
    gathering->field = field;
    for (size_t i = 0; i < words.count && gathering->words[field] < INDEX_WORDS_MAX; i++) {
        gathering->words[field]++;
        if (field == INDEX_NAME) {
            gathering->actions |= actions_at(&words, i) & ~(1u << ACTION_AGAIN);
        }
        if (!index_terms_at(&words, i, take_term, gathering)) {
            return;
        }
    }
}

static void gather_value(struct gathering *gathering, enum index_field field, yyjson_val *value) {
    gather_text(gathering, field, yyjson_get_str(value), yyjson_get_len(value));
}

/* Parameters in parameters too. */
static void gather_schema(struct gathering *gathering, yyjson_val *schema, unsigned depth) {
    static const char *const inside[] = {"items", "anyOf", "oneOf", "allOf"};
    size_t i;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    if (depth == SCHEMA_DEPTH_MAX) {
        return;
    }
    yyjson_arr_foreach (schema, i, count, value) {
        gather_schema(gathering, value, depth + 1);
    }
    yyjson_val *properties = yyjson_obj_get(schema, "properties");
    json_obj_foreach (properties, i, count, key, value) {
        gather_value(gathering, INDEX_PARAMETER, key);
        gather_value(gathering, INDEX_PARAMETER_TEXT, yyjson_obj_get(value, "description"));
        gather_schema(gathering, value, depth + 1);
    }
    yyjson_arr_foreach (yyjson_obj_get(schema, "enum"), i, count, value) {
        gather_value(gathering, INDEX_CHOICE, value);
    }
    for (size_t k = 0; k < ARRAY_LENGTH(inside); k++) {
        yyjson_val *found = yyjson_obj_get(schema, inside[k]);
        if (found != NULL) {
            gather_schema(gathering, found, depth + 1);
        }
    }
}

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)

static void gather_document(struct gathering *gathering, const struct index_document *document) {
    const struct {
        enum index_field field;
        const char *text;
    } texts[] = {
            {INDEX_NAME, document->name},
            {INDEX_TITLE, document->title},
            {INDEX_DESCRIPTION, document->description},
            {INDEX_DESCRIPTION, document->purpose},
            {INDEX_TAGS, document->tags},
            {INDEX_CATEGORY, document->category},
            {INDEX_SCENARIOS, document->scenarios},
            {INDEX_EXAMPLES, document->examples},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
        const char *text = texts[i].text != NULL ? texts[i].text : "";
        gather_text(gathering, texts[i].field, text, strlen(text));
    }
    if (document->schema_json != NULL) {
        CLEANUP(yyjson_doc_freep)
        yyjson_doc *doc = yyjson_read(document->schema_json, strlen(document->schema_json), 0);
        gather_schema(gathering, yyjson_doc_get_root(doc), 0);
    }
}

/* Forget what was gathered; terms that no other tool has go with it. */
static void gathering_finish(struct gathering *gathering) {
    for (size_t i = 0; i < gathering->count; i++) {
        gathering->items[i].term->gathered = 0;
        drop_term_if_unused(gathering->index, gathering->items[i].term);
    }
    free(gathering->items);
}

/* ----------------------------------------------------------------- entries */

/* BM25F: each field adds the more, the shorter it is; the sum approaches a limit. */
static struct index_entry weigh(const struct gathering *gathering, const struct gathered *item) {
    struct index_entry entry = {.term = item->term};
    uint64_t sum = 0;
    for (size_t f = 0; f < INDEX_FIELDS; f++) {
        if (item->counts[f] > 0) {
            unsigned norm = ONE - fields[f].influence +
                            fields[f].influence * gathering->lengths[f] / fields[f].usual;
            sum += (uint64_t)fields[f].weight * item->counts[f] * ONE / (norm > 0 ? norm : 1);
            entry.fields = (uint16_t)(entry.fields | 1u << f);
        }
    }
    entry.impact = (uint16_t)(INDEX_IMPACT_ONE * sum / (sum + SATURATION));
    return entry;
}

static bool is_named(const struct gathered *item) {
    return item->word && (item->counts[INDEX_NAME] > 0 || item->counts[INDEX_TITLE] > 0);
}

/* The entries of the tool, named ones first; false: no memory. */
static bool make_entries(const struct gathering *gathering, struct index_tool *ret) {
    ret->actions = gathering->actions;
    ret->entries = calloc(gathering->count + 1, sizeof *ret->entries);
    if (ret->entries == NULL) {
        return false;
    }
    for (int named = 1; named >= 0; named--) {
        for (size_t i = 0; i < gathering->count; i++) {
            struct index_entry entry = weigh(gathering, &gathering->items[i]);
            if (is_named(&gathering->items[i]) == (named == 1)) {
                ret->entries[ret->count++] = entry;
            }
        }
        ret->named = named == 1 ? ret->count : ret->named;
    }
    return true;
}

/* ------------------------------------------------------------------- tools */

/* Where the place of an id is, or belongs. */
static size_t find_place(const struct index *index, uint64_t id) {
    size_t low = 0;
    size_t high = index->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (index->places[middle].id < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool has(const struct index *index, size_t place, uint64_t id) {
    return place < index->count && index->places[place].id == id;
}

bool index_find_slot(const struct index *index, uint64_t id, uint32_t *ret) {
    size_t place = find_place(index, id);
    bool found = has(index, place, id);
    *ret = found ? index->places[place].slot : 0;
    return found;
}

/* Room for one more tool, in all arrays that have one item for each. */
static bool reserve_tool(struct index *index) {
    if (index->free_count > 0) {
        return true; /* its place is free too */
    }
    if (index->slot_count < index->slot_room) {
        return true;
    }
    uint32_t room = index->slot_room == 0 ? CHAINS_FIRST : 2 * index->slot_room;
    struct index_tool *tools = realloc(index->tools, room * sizeof *tools);
    index->tools = tools != NULL ? tools : index->tools;
    struct index_place *places = realloc(index->places, room * sizeof *places);
    index->places = places != NULL ? places : index->places;
    uint32_t *free_slots = realloc(index->free_slots, room * sizeof *free_slots);
    index->free_slots = free_slots != NULL ? free_slots : index->free_slots;
    if (tools == NULL || places == NULL || free_slots == NULL) {
        return false;
    }
    index->bytes +=
            (room - index->slot_room) * (sizeof *tools + sizeof *places + sizeof *free_slots);
    index->slot_room = room;
    return true;
}

/* Remove what a slot has: the entries, and the postings of those terms that no tool which is added
 * has too. */
static void clear_slot(struct index *index, uint32_t slot) {
    struct index_tool *tool = &index->tools[slot];
    for (uint32_t i = 0; i < tool->count; i++) {
        struct index_term *term = tool->entries[i].term;
        if (term->gathered == 0) {
            remove_posting(term, slot);
            drop_term_if_unused(index, term);
        }
    }
    index->bytes -= tool->count * sizeof *tool->entries;
    free(tool->entries);
    *tool = (struct index_tool){0};
}

/* All can be entered: nothing fails. */
static void enter(struct index *index, const struct index_tool *tool) {
    size_t place = find_place(index, tool->id);
    uint32_t slot;
    if (has(index, place, tool->id)) {
        slot = index->places[place].slot;
        clear_slot(index, slot);
    } else {
        slot = index->free_count > 0 ? index->free_slots[--index->free_count] : index->slot_count++;
        memmove(&index->places[place + 1], &index->places[place],
                (index->count - place) * sizeof index->places[0]);
        index->places[place] = (struct index_place){tool->id, slot};
        index->count++;
    }
    for (uint32_t i = 0; i < tool->count; i++) {
        put_posting(&tool->entries[i], slot);
    }
    index->tools[slot] = *tool;
    index->bytes += tool->count * sizeof *tool->entries;
}

static uint64_t hash_or_none(const char *text) {
    return text != NULL && text[0] != '\0' ? index_hash(text, strlen(text)) : 0;
}

static int add_locked(struct index *index, uint64_t id, const struct index_document *document,
                      struct toolrack_error *err) {
    if (index->count >= INDEX_TOOLS_MAX && !has(index, find_place(index, id), id)) {
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED, "the index of tools is full (%u)",
                         INDEX_TOOLS_MAX);
    }
    CLEANUP(gathering_finish) struct gathering gathering = {.index = index};
    struct index_tool tool = {
            .id = id,
            .name = hash_or_none(document->name),
            .group = hash_or_none(document->group),
    };
    gather_document(&gathering, document);
    bool ready = !gathering.no_memory && reserve_tool(index) && make_entries(&gathering, &tool);
    for (size_t i = 0; ready && i < gathering.count; i++) {
        ready = reserve_posting(index, gathering.items[i].term);
    }
    if (!ready) {
        free(tool.entries);
        return error_oom(err);
    }
    enter(index, &tool);
    return 0;
}

int index_add(struct index *index, uint64_t id, const struct index_document *document,
              struct toolrack_error *err) {
    OBJECT_CHECK(index, INDEX_MAGIC);
    (void)pthread_rwlock_wrlock(&index->lock);
    int code = add_locked(index, id, document, err);
    (void)pthread_rwlock_unlock(&index->lock);
    return code;
}

bool index_remove(struct index *index, uint64_t id) {
    OBJECT_CHECK(index, INDEX_MAGIC);
    (void)pthread_rwlock_wrlock(&index->lock);
    size_t place = find_place(index, id);
    bool found = has(index, place, id);
    if (found) {
        uint32_t slot = index->places[place].slot;
        clear_slot(index, slot);
        index->free_slots[index->free_count++] = slot;
        index->count--;
        memmove(&index->places[place], &index->places[place + 1],
                (index->count - place) * sizeof index->places[0]);
    }
    (void)pthread_rwlock_unlock(&index->lock);
    return found;
}

size_t index_count(struct index *index) {
    OBJECT_CHECK(index, INDEX_MAGIC);
    (void)pthread_rwlock_rdlock(&index->lock);
    size_t count = index->count;
    (void)pthread_rwlock_unlock(&index->lock);
    return count;
}

size_t index_memory(struct index *index) {
    OBJECT_CHECK(index, INDEX_MAGIC);
    (void)pthread_rwlock_rdlock(&index->lock);
    size_t bytes = index->bytes + sizeof *index;
    (void)pthread_rwlock_unlock(&index->lock);
    return bytes;
}

/* -------------------------------------------------------------------- life */

struct index *index_create(void) {
    struct index *index = calloc(1, sizeof *index);
    if (index == NULL) {
        return NULL;
    }
    index->magic = INDEX_MAGIC;
    index->chain_count = CHAINS_FIRST;
    index->chains = calloc(index->chain_count, sizeof(struct index_term *));
    index->bytes = index->chain_count * sizeof(struct index_term *);
    if (index->chains == NULL || pthread_rwlock_init(&index->lock, NULL) != 0) {
        free(index->chains);
        free(index);
        return NULL;
    }
    return index;
}

void index_destroy(struct index *index) {
    if (index == NULL) {
        return;
    }
    OBJECT_CHECK(index, INDEX_MAGIC);
    for (size_t i = 0; i < index->chain_count; i++) {
        for (struct index_term *term = index->chains[i], *next; term != NULL; term = next) {
            next = term->next;
            free(term->postings);
            free(term);
        }
    }
    for (uint32_t i = 0; i < index->slot_count; i++) {
        free(index->tools[i].entries);
    }
    (void)pthread_rwlock_destroy(&index->lock);
    free(index->chains);
    free(index->tools);
    free(index->places);
    free(index->free_slots);
    OBJECT_WIPE(index, INDEX_MAGIC);
    free(index);
}
