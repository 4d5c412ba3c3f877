/* Myers' greedy algorithm (An O(ND) Difference Algorithm and Its Variations, 1986): round by round,
 * each with one edit more, a path on each diagonal is taken as far as it goes, until one reaches
 * the end of both texts. A path is the list of its changes, from the last one back; lists share
 * their beginnings, and are freed all at once. */
#include "diff.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define CONTEXT 4u

struct line {
    const char *data;
    size_t length; /* with its end */
};

struct lines {
    struct line *items; /* owned */
    size_t count;
};

enum kind { KEPT, REMOVED, ADDED };

/* What is done to `count` lines. */
struct change {
    const struct change *before;
    size_t count;
    enum kind kind;
};

static bool split(const char *data, size_t length, struct lines *ret) {
    const char *end = data + length;
    size_t count = length > 0 && end[-1] != '\n';
    for (size_t i = 0; i < length; i++) {
        count += data[i] == '\n';
    }
    *ret = (struct lines){.items = malloc((count + 1) * sizeof *ret->items)};
    while (ret->items != NULL && data < end) {
        const char *line_end = memchr(data, '\n', (size_t)(end - data));
        size_t size = (size_t)((line_end != NULL ? line_end + 1 : end) - data);
        ret->items[ret->count++] = (struct line){data, size};
        data += size;
    }
    return ret->items != NULL;
}

static bool same(const struct line *one, const struct line *two) {
    return one->length == two->length && memcmp(one->data, two->data, one->length) == 0;
}

/* ------------------------------------------------------------------ search */

#define CHANGES_A_BLOCK 1024u

struct block {
    struct block *next;
    size_t used;
    struct change changes[CHANGES_A_BLOCK];
};

struct path {
    int64_t old; /* lines of the old text that it has gone by; NOWHERE: there is no path */
    const struct change *last;
};
#define NOWHERE INT64_MIN

struct search {
    const struct lines *before;
    const struct lines *after;
    struct path *paths;   /* owned; of all diagonals, see path_of() */
    struct block *blocks; /* owned */
    int64_t low_min;      /* diagonals from here to `high_max` can still lead to the end soonest */
    int64_t high_max;
    bool failed; /* no memory */
};

static struct path *path_of(const struct search *search, int64_t diagonal) {
    return &search->paths[diagonal + DIFF_EDITS_MAX + 1];
}

static const struct change *add_change(struct search *search, const struct change *last,
                                       enum kind kind, size_t count) {
    if (search->blocks == NULL || search->blocks->used == CHANGES_A_BLOCK) {
        struct block *block = malloc(sizeof *block);
        if (block == NULL) {
            search->failed = true;
            return last;
        }
        block->next = search->blocks;
        block->used = 0;
        search->blocks = block;
    }
    struct change *change = &search->blocks->changes[search->blocks->used++];
    bool joins = last != NULL && last->kind == kind;
    *change = joins ? (struct change){last->before, last->count + count, kind}
                    : (struct change){last, count, kind};
    return change;
}

/* Go on over equal lines. True: the path has reached the end of both texts. */
static bool follow(struct search *search, struct path *path, int64_t diagonal) {
    int64_t old = path->old;
    int64_t new = old - diagonal;
    size_t count = 0;
    while (old < (int64_t)search->before->count && new < (int64_t)search->after->count &&
           same(&search->before->items[old], &search->after->items[new])) {
        old++;
        new ++;
        count++;
    }
    if (count > 0) {
        path->last = add_change(search, path->last, KEPT, count);
    }
    path->old = old;
    if (old == (int64_t)search->before->count && search->high_max >= diagonal) {
        search->high_max = diagonal - 1;
    }
    if (new == (int64_t)search->after->count && search->low_min <= diagonal) {
        search->low_min = diagonal + 1;
    }
    return old == (int64_t)search->before->count && new == (int64_t)search->after->count;
}

/* One round. True: `ret` is the path to the end. */
static bool extend(struct search *search, int64_t edits, struct path *ret) {
    int64_t low = search->low_min > -edits ? search->low_min : -edits;
    low += (low ^ edits) & 1; /* the diagonals of a round are as odd as its number */
    for (int64_t diagonal = low; diagonal <= edits && diagonal <= search->high_max; diagonal += 2) {
        struct path *from_removed = path_of(search, diagonal - 1);
        const struct path *from_added = path_of(search, diagonal + 1);
        int64_t removed = from_removed->old;
        int64_t added = from_added->old;
        /* With an insertion, added - diagonal lines of the new text have gone by. */
        bool can_add = added != NOWHERE && added > diagonal &&
                       added - diagonal <= (int64_t)search->after->count;
        bool can_remove = removed != NOWHERE && removed < (int64_t)search->before->count;
        struct path *path = path_of(search, diagonal);
        if (!can_remove && !can_add) {
            path->old = NOWHERE;
        } else if (!can_remove || (can_add && removed < added)) {
            *path = (struct path){added, add_change(search, from_added->last, ADDED, 1)};
        } else {
            *path = (struct path){removed + 1, add_change(search, from_removed->last, REMOVED, 1)};
        }
        from_removed->old = NOWHERE; /* no other diagonal of this round needs it */
        if (path->old != NOWHERE && follow(search, path, diagonal)) {
            *ret = *path;
            return true;
        }
    }
    return false;
}

/* The shortest way; where it is longer than DIFF_EDITS_MAX, all lines are removed and others
 * inserted. */
static const struct change *find_changes(struct search *search) {
    struct path found = {0, NULL};
    search->low_min = INT64_MIN / 2;
    search->high_max = INT64_MAX / 2;
    for (size_t i = 0; i < 2 * (DIFF_EDITS_MAX + 1) + 1; i++) {
        search->paths[i].old = NOWHERE;
    }
    *path_of(search, 0) = found;
    bool is_found = follow(search, path_of(search, 0), 0);
    found = *path_of(search, 0);
    for (int64_t edits = 1; !is_found && !search->failed && edits <= (int64_t)DIFF_EDITS_MAX;
         edits++) {
        is_found = extend(search, edits, &found);
    }
    if (!is_found) {
        found.last = NULL;
        if (search->before->count > 0) {
            found.last = add_change(search, found.last, REMOVED, search->before->count);
        }
        if (search->after->count > 0) {
            found.last = add_change(search, found.last, ADDED, search->after->count);
        }
    }
    return found.last;
}

/* ------------------------------------------------------------------- hunks */

/* A list from its end, turned round: from the beginning, in an array. */
static struct change *in_order(const struct change *last, size_t *ret_count) {
    size_t count = 0;
    for (const struct change *at = last; at != NULL; at = at->before) {
        count++;
    }
    struct change *items = malloc((count + 1) * sizeof *items);
    *ret_count = count;
    for (const struct change *at = last; items != NULL && at != NULL; at = at->before) {
        items[--count] = *at;
    }
    return items;
}

static void add_lines(struct text *out, char sign, const struct line *lines, size_t count) {
    for (size_t i = 0; i < count; i++) {
        text_add(out, &sign, 1);
        text_add(out, lines[i].data, lines[i].length);
        if (lines[i].length == 0 || lines[i].data[lines[i].length - 1] != '\n') {
            text_add_string(out, "\n\\ No newline at end of file\n");
        }
    }
}

/* Where a hunk is: of an empty part the line before it is named. */
struct range {
    size_t begin; /* from 0 */
    size_t end;
};

static size_t first_line(const struct range *range) {
    return range->begin + (range->end > range->begin);
}

/* Changes from `from` on as one hunk: up to unchanged lines that are more than the context of two.
 * Returns the change after it; `old` and `new` are the lines before `from` and, then, after it. */
static size_t add_hunk(struct text *out, const struct search *search, const struct change *changes,
                       size_t count, size_t from, size_t *old, size_t *new) {
    size_t lead = from > 0 && changes[from - 1].kind == KEPT ? changes[from - 1].count : 0;
    lead = lead < CONTEXT ? lead : CONTEXT;
    struct range olds = {*old - lead, *old};
    struct range news = {*new - lead, *new};
    size_t to = from;
    for (; to < count; to++) {
        bool is_kept = changes[to].kind == KEPT;
        if (is_kept && (changes[to].count > 2 * CONTEXT || to + 1 == count)) {
            size_t trail = changes[to].count < CONTEXT ? changes[to].count : CONTEXT;
            olds.end += trail;
            news.end += trail;
            break;
        }
        olds.end += changes[to].kind != ADDED ? changes[to].count : 0;
        news.end += changes[to].kind != REMOVED ? changes[to].count : 0;
    }
    text_add_format(out, "@@ -%zu,%zu +%zu,%zu @@\n", first_line(&olds), olds.end - olds.begin,
                    first_line(&news), news.end - news.begin);
    add_lines(out, ' ', search->before->items + olds.begin, lead);
    for (size_t i = from; i < to; i++) {
        if (changes[i].kind == ADDED) {
            add_lines(out, '+', search->after->items + *new, changes[i].count);
        } else {
            add_lines(out, changes[i].kind == KEPT ? ' ' : '-', search->before->items + *old,
                      changes[i].count);
        }
        *old += changes[i].kind != ADDED ? changes[i].count : 0;
        *new += changes[i].kind != REMOVED ? changes[i].count : 0;
    }
    add_lines(out, ' ', search->before->items + *old, olds.end - *old);
    return to;
}

static bool add_hunks(struct text *out, struct search *search) {
    size_t count;
    struct change *changes = in_order(find_changes(search), &count);
    size_t old = 0;
    size_t new = 0;
    for (size_t i = 0; changes != NULL && i < count;) {
        if (changes[i].kind != KEPT) {
            i = add_hunk(out, search, changes, count, i, &old, &new);
        } else {
            old += changes[i].count;
            new += changes[i].count;
            i++;
        }
    }
    bool is_made = changes != NULL && !search->failed;
    free(changes);
    return is_made;
}

bool diff_add(struct text *out, const char *name, const char *before, size_t before_length,
              const char *after, size_t after_length) {
    struct lines old = {0};
    struct lines new = {0};
    struct search search = {.before = &old, .after = &new};
    text_add_string(out, "Index: ");
    text_add_string(out, name);
    text_add_string(out,
                    "\n===================================================================\n--- ");
    text_add_string(out, name);
    text_add_string(out, "\toriginal\n+++ ");
    text_add_string(out, name);
    text_add_string(out, "\tmodified\n");
    search.paths = malloc((2 * (DIFF_EDITS_MAX + 1) + 1) * sizeof *search.paths);
    bool is_made = search.paths != NULL && split(before, before_length, &old) &&
                   split(after, after_length, &new) && add_hunks(out, &search);
    while (search.blocks != NULL) {
        struct block *next = search.blocks->next;
        free(search.blocks);
        search.blocks = next;
    }
    free(search.paths);
    free(old.items);
    free(new.items);
    return is_made;
}
