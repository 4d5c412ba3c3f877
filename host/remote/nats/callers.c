#include "remote/nats/callers.h"

#include <search.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* What the subjects of hosts begin with. */
#define BEGIN      "_INBOX.toolrack."
/* Longest rest of a subject, without the number. */
#define INBOX_ROOM 64u
#define WORD_BITS  64u

struct caller {
    char inbox[INBOX_ROOM];                     /* first: the table compares it */
    uint64_t highest;                           /* number that was taken */
    uint64_t used;                              /* when it called last, in calls */
    uint64_t taken[CALLERS_WINDOW / WORD_BITS]; /* a bit for each number, modulo the window */
};

struct callers {
    void *table; /* of tsearch() */
    struct caller *all[CALLERS_MAX];
    size_t count;
    uint64_t calls;
};

/* A subject as its parts. */
struct reply {
    char inbox[INBOX_ROOM];
    uint64_t number;
};

static int compare(const void *left, const void *right) {
    return strcmp(left, right);
}

/* False: it is none of a host. */
static bool parse(const char *text, struct reply *ret) {
    const char *dot = strrchr(text, '.');
    size_t length = dot != NULL ? (size_t)(dot - text) : 0;
    if (strncmp(text, BEGIN, strlen(BEGIN)) != 0 || length < strlen(BEGIN) ||
        length >= INBOX_ROOM || dot[1] == '\0' || strspn(dot + 1, "0123456789") > 19 ||
        dot[1 + strspn(dot + 1, "0123456789")] != '\0') {
        return false;
    }
    memcpy(ret->inbox, text, length);
    ret->inbox[length] = '\0';
    ret->number = strtoull(dot + 1, NULL, 10);
    return true;
}

static uint64_t *word_of(struct caller *caller, uint64_t number) {
    return &caller->taken[number % CALLERS_WINDOW / WORD_BITS];
}

static uint64_t bit_of(uint64_t number) {
    return UINT64_C(1) << (number % WORD_BITS);
}

static bool has_taken(struct caller *caller, uint64_t number) {
    if (number > caller->highest) {
        return false;
    }
    return caller->highest - number >= CALLERS_WINDOW ||
           (*word_of(caller, number) & bit_of(number)) != 0;
}

/* The numbers between the highest and a higher one are free, in the places of older ones. */
static void advance(struct caller *caller, uint64_t number) {
    if (number - caller->highest >= CALLERS_WINDOW) {
        memset(caller->taken, 0, sizeof caller->taken);
    } else {
        for (uint64_t i = caller->highest + 1; i < number; i++) {
            *word_of(caller, i) &= ~bit_of(i);
        }
    }
    caller->highest = number;
}

static struct caller *find(const struct callers *callers, const struct reply *reply) {
    struct caller **place = tfind(reply->inbox, &callers->table, compare);
    return place != NULL ? *place : NULL;
}

/* The place of the one that called longest ago, which is forgotten. */
static size_t evict(struct callers *callers) {
    size_t oldest = 0;
    for (size_t i = 1; i < callers->count; i++) {
        oldest = callers->all[i]->used < callers->all[oldest]->used ? i : oldest;
    }
    (void)tdelete(callers->all[oldest], &callers->table, compare);
    free(callers->all[oldest]);
    return oldest;
}

static struct caller *add(struct callers *callers, const struct reply *reply) {
    struct caller *caller = calloc(1, sizeof *caller);
    if (caller == NULL) {
        return NULL;
    }
    memcpy(caller->inbox, reply->inbox, sizeof caller->inbox);
    if (tsearch(caller, &callers->table, compare) == NULL) {
        free(caller);
        return NULL;
    }
    bool is_full = callers->count == CALLERS_MAX;
    callers->all[is_full ? evict(callers) : callers->count++] = caller;
    return caller;
}

struct callers *callers_create(void) {
    return calloc(1, sizeof(struct callers));
}

void callers_destroy(struct callers *callers) {
    for (size_t i = 0; callers != NULL && i < callers->count; i++) {
        (void)tdelete(callers->all[i], &callers->table, compare);
        free(callers->all[i]);
    }
    free(callers);
}

bool callers_have(const struct callers *callers, const char *reply) {
    struct reply parsed;
    struct caller *caller = parse(reply, &parsed) ? find(callers, &parsed) : NULL;
    return caller != NULL && has_taken(caller, parsed.number);
}

bool callers_take(struct callers *callers, const char *reply) {
    struct reply parsed;
    if (!parse(reply, &parsed)) {
        return true;
    }
    struct caller *caller = find(callers, &parsed);
    if (caller != NULL && has_taken(caller, parsed.number)) {
        return false;
    }
    caller = caller != NULL ? caller : add(callers, &parsed);
    if (caller != NULL) {
        if (parsed.number > caller->highest) {
            advance(caller, parsed.number);
        }
        *word_of(caller, parsed.number) |= bit_of(parsed.number);
        caller->used = ++callers->calls;
    }
    return true;
}
