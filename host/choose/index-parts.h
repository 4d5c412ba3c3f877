/* index-parts.h - the index, for those who change it and those who search in it. */
#pragma once

#include <pthread.h>

#include "choose/index.h"

/** Most bytes of a term: a stem, two or three parts of a name as one, two Chinese characters. */
#define INDEX_TERM_MAX 48u

/* A number of fixed point: so many are 1. */
#define INDEX_IMPACT_ONE 65535u

/** One tool that has a term. */
struct index_posting {
    uint32_t slot;
    uint16_t impact; /**< how much the tool is about it: nothing to INDEX_IMPACT_ONE */
    uint16_t fields; /**< a bit for each enum index_field */
};

/* Invariants:
 *
 *  (1) postings[0..count) is sorted by slot, each once.
 *  (2) A term that no tool has is in no chain, except between the first and the last step of
 *      index_add(). */
struct index_term {
    struct index_term *next; /**< in the chain of its hash */
    uint64_t hash;
    struct index_posting *postings;
    uint32_t count;
    uint32_t room;
    uint32_t gathered; /**< while a tool is added: its place among the tool's terms, from 1 */
    uint8_t length;
    char text[]; /**< not zero-terminated */
};

/** One term that a tool has. */
struct index_entry {
    struct index_term *term;
    uint16_t impact; /**< as in its posting */
    uint16_t fields;
};

/** A tool; all zero: the slot is free. */
struct index_tool {
    uint64_t id;
    struct index_entry *entries; /**< those of name and title first */
    uint32_t count;
    uint32_t named;   /**< how many are words of its name or its title */
    uint32_t actions; /**< what its name says that it does: bits as of actions_at() */
    uint64_t name;    /**< index_hash() of its name; 0: it has none */
    uint64_t group;   /**< and of its group */
};

struct index_place {
    uint64_t id;
    uint32_t slot;
};

struct index {
    uint32_t magic; /* INDEX_MAGIC */
    pthread_rwlock_t lock;
    struct index_term **chains;
    size_t chain_count; /* a power of two */
    size_t term_count;
    struct index_tool *tools; /* by slot */
    uint32_t slot_count;      /* used ones and free ones */
    uint32_t slot_room;
    struct index_place *places; /* of the tools, sorted by id */
    size_t count;
    uint32_t *free_slots;
    size_t free_count;
    size_t bytes; /* that all this takes, without this struct */
};
#define INDEX_MAGIC 0x78646e69u

/** A hash of a text; the same everywhere. */
uint64_t index_hash(const char *text, size_t length);

/** The term with a text, or NULL. The caller holds the lock. */
struct index_term *index_find_term(const struct index *index, const char *text, size_t length);

/** The slot of a tool; false: there is none with this id. The caller holds the lock. */
bool index_find_slot(const struct index *index, uint64_t id, uint32_t *ret);
