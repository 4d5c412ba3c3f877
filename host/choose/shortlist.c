#include "choose/shortlist.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "choose/fuse.h"
#include "choose/inside.h"
#include "choose/past.h"
#include "plugin/origin.h"
#include "registry/selector.h"
#include "store/health-rules.h"
#include "store/marks.h"

/* So many more are asked for than wanted: some of them are left out. */
#define SPARE_HITS 16u

/* Marks of one list. Their strings are in `memory`. */
struct marks {
    struct mark {
        char *selector;
        char *plugin;
        enum store_list list;
    } * items;
    size_t count;
    size_t room;
    bool no_memory;
};

static void marks_finish(struct marks *marks) {
    for (size_t i = 0; i < marks->count; i++) {
        free(marks->items[i].selector);
        free(marks->items[i].plugin);
    }
    free(marks->items);
}

static void take_mark(void *user, const struct store_mark *mark) {
    struct marks *marks = user;
    if (marks->count == marks->room) {
        size_t room = marks->room == 0 ? SPARE_HITS : 2 * marks->room;
        struct mark *grown = realloc(marks->items, room * sizeof *grown);
        if (grown == NULL) {
            marks->no_memory = true;
            return;
        }
        marks->items = grown;
        marks->room = room;
    }
    struct mark taken = {strdup(mark->selector), strdup(mark->plugin), mark->list};
    marks->no_memory = marks->no_memory || taken.selector == NULL || taken.plugin == NULL;
    if (taken.selector == NULL || taken.plugin == NULL) {
        free(taken.selector);
        free(taken.plugin);
        return;
    }
    marks->items[marks->count++] = taken;
}

/* Whether a tool is on a list; the blacklist is for whoever provides the name. */
static bool is_marked(const struct marks *marks, enum store_list list,
                      const struct toolrack_tool *tool) {
    const char *name = toolrack_tool_name(tool);
    for (size_t i = 0; i < marks->count; i++) {
        const struct mark *mark = &marks->items[i];
        const struct selector of = selector_parse(mark->selector);
        bool is_it = mark->list == list && selector_has_name(&of, name, strlen(name)) &&
                     (of.version == NULL || strcmp(of.version, toolrack_tool_version(tool)) == 0);
        if (is_it && (list == STORE_BLACKLIST || mark->plugin[0] == '\0' ||
                      strcmp(mark->plugin, tool->reg->plugin->identity_text) == 0)) {
            return true;
        }
    }
    return false;
}

static bool has_list(const struct marks *marks, enum store_list list) {
    for (size_t i = 0; i < marks->count; i++) {
        if (marks->items[i].list == list) {
            return true;
        }
    }
    return false;
}

/* -------------------------------------------------------------------- which are found */

struct shortlisting {
    const struct choose *choose;
    const struct shortlist_query *query;
    const struct marks *marks;
    struct match_boost boosts[PAST_LEADS_MAX]; /* by toolrack_tool_uid() */
    size_t boost_count;
    struct match_boost against[PAST_LEADS_MAX]; /* the same, of what texts led away from */
    size_t against_count;
    uint64_t said; /* the tool that was said to be right for this very text; 0: none */
    struct match_hit *hits;
    size_t room;
};

/* The tools that earlier texts led to or away from, as far as the same plugins still provide them.
 */
static int find_boosts(struct shortlisting *listing, bool *ret_none, struct toolrack_error *err) {
    const struct shortlist_query *query = listing->query;
    const struct choose *choose = listing->choose;
    CLEANUP(past_leads_finish) struct past_leads leads = {.count = 0};
    int code = past_find(choose->past, query->whole, query->whole_length, query->principal,
                         query->now_ms, &leads, err);
    *ret_none = leads.none;
    for (size_t i = 0; code == 0 && i < leads.count; i++) {
        const struct past_lead *lead = &leads.items[i];
        CLEANUP(toolrack_tool_unrefp)
        struct toolrack_tool *tool = registry_get(choose->options.registry, lead->tool);
        if (tool != NULL && identity_is_of(lead->plugin, tool->reg->plugin->identity_text)) {
            struct match_boost *boost = lead->away ? &listing->against[listing->against_count++]
                                                   : &listing->boosts[listing->boost_count++];
            *boost = (struct match_boost){.id = tool->reg->uid, .value = lead->value};
            listing->said = lead->same && !lead->away ? tool->reg->uid : listing->said;
        }
    }
    return code;
}

static bool is_named(const char *const *names, const char *name) {
    for (; *names != NULL; names++) {
        if (strcmp(*names, name) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_wanted(const struct shortlist_query *query, const struct toolrack_tool *tool) {
    return (query->tools == NULL || is_named(query->tools, toolrack_tool_name(tool))) &&
           (query->shows == NULL || query->shows(query->user, tool));
}

static bool accept_wanted(void *user, const struct toolrack_tool *tool) {
    const struct shortlisting *listing = user;
    return is_wanted(listing->query, tool);
}

static bool accept_whitelisted(void *user, const struct toolrack_tool *tool) {
    const struct shortlisting *listing = user;
    return is_marked(listing->marks, STORE_WHITELIST, tool) && is_wanted(listing->query, tool);
}

static int find_hits(const struct shortlisting *listing,
                     bool (*accepts)(void *user, const struct toolrack_tool *tool),
                     size_t *ret_count, struct toolrack_error *err) {
    return indexed_find(listing->choose->indexed,
                        &(struct indexed_query){.text = listing->query->text,
                                                .length = listing->query->length,
                                                .values = listing->query->values,
                                                .names = listing->query->tools,
                                                .accepts = accepts,
                                                .user = (void *)(uintptr_t)listing,
                                                .boosts = listing->boosts,
                                                .boost_count = listing->boost_count},
                        listing->hits, listing->room, ret_count, err);
}

static bool can_run(const struct toolrack_tool *tool) {
    switch (toolrack_tool_state(tool)) {
    case TOOLRACK_STATE_FAILED:
    case TOOLRACK_STATE_QUARANTINED:
    case TOOLRACK_STATE_LEFT_OUT:
    case TOOLRACK_STATE_NEEDS: return false;
    default: return tool->enabled && !tool_is_held(tool);
    }
}

static bool has(const struct shortlist *shortlist, uint64_t uid) {
    for (size_t i = 0; i < shortlist->count; i++) {
        if (shortlist->items[i].hit.id == uid) {
            return true;
        }
    }
    return false;
}

static double value_of(const struct match_boost *boosts, size_t count, uint64_t uid) {
    for (size_t i = 0; i < count; i++) {
        if (boosts[i].id == uid) {
            return boosts[i].value;
        }
    }
    return 0;
}

static double history_of(const struct shortlisting *listing, uint64_t uid) {
    return value_of(listing->boosts, listing->boost_count, uid) -
           value_of(listing->against, listing->against_count, uid);
}

/* Less than this says too little of what the text wants. */
#define HELD_MIN  0.5
/* Of a tool that was not granted what it needs: nobody has said that it is not to be found. */
#define NEEDS_MIN 0.4

/* With this share of the match of the tool that cannot run or less, the best that can run is
 * another one than is meant. */
#define HELD_CLEARLY 0.85

/* Remember a tool that cannot run, if it is the best match. The next best takes the place of one
 * that rests or was said to be wrong, but not of one that only was not granted what it needs: who
 * reads a file does not mean a table. */
static void hold(struct shortlist *shortlist, struct toolrack_tool *tool,
                 const struct match_hit *hit) {
    bool needs = toolrack_tool_state(tool) == TOOLRACK_STATE_NEEDS;
    double least = needs ? NEEDS_MIN : HELD_MIN;
    if (shortlist->count == 0 && shortlist->held == NULL && hit->score >= least) {
        shortlist->held = toolrack_tool_ref(tool);
        shortlist->held_score = needs ? hit->score : 0;
    }
}

static double best_score(const struct shortlist *shortlist) {
    double best = 0;
    for (size_t i = 0; i < shortlist->count; i++) {
        double score = shortlist->items[i].hit.score;
        best = score > best ? score : best;
    }
    return best;
}

/* Add a hit, unless it is left out. */
static int add_hit(const struct shortlisting *listing, const struct match_hit *hit,
                   struct shortlist *shortlist, struct toolrack_error *err) {
    struct store *store = listing->choose->options.store;
    struct store_health health;
    CLEANUP(toolrack_tool_unrefp)
    struct toolrack_tool *tool = indexed_tool(listing->choose->indexed, hit->id);
    if (tool == NULL || has(shortlist, hit->id)) {
        return 0;
    }
    if (!can_run(tool) || is_marked(listing->marks, STORE_BLACKLIST, tool)) {
        hold(shortlist, tool, hit);
        return 0;
    }
    const char *name = toolrack_tool_name(tool);
    const char *version = toolrack_tool_version(tool);
    const char *plugin = tool->reg->plugin->identity_text;
    struct shortlisted *item = &shortlist->items[shortlist->count];
    *item = (struct shortlisted){.hit = *hit,
                                 .history = history_of(listing, hit->id),
                                 .said = hit->id == listing->said,
                                 .whitelisted = is_marked(listing->marks, STORE_WHITELIST, tool),
                                 .granted = !tool_is_withheld(tool)};
    int code = store_health_find(store, name, version, plugin, &health, err);
    if (code == 0 && health_rests(&health, listing->query->now_ms)) {
        hold(shortlist, tool, hit);
        return 0;
    }
    if (code < 0) {
        return code;
    }
    code = store_record_find(store, name, version, plugin, &item->record, err);
    if (code == 0) {
        item->tool = STEAL(tool);
        shortlist->count++;
    }
    return code;
}

static int add_hits(const struct shortlisting *listing, size_t count, size_t limit,
                    struct shortlist *shortlist, struct toolrack_error *err) {
    int code = 0;
    for (size_t i = 0; code == 0 && i < count && shortlist->count < limit; i++) {
        code = add_hit(listing, &listing->hits[i], shortlist, err);
    }
    return code;
}

/* The tools that were named, where the index did not find them. */
static int add_named(const struct shortlisting *listing, size_t limit, struct shortlist *shortlist,
                     struct toolrack_error *err) {
    const struct shortlist_query *query = listing->query;
    int code = 0;
    for (size_t i = 0; code == 0 && query->tools[i] != NULL && shortlist->count < limit; i++) {
        CLEANUP(toolrack_tool_unrefp)
        struct toolrack_tool *tool =
                registry_get(listing->choose->options.registry, query->tools[i]);
        if (tool != NULL && (query->shows == NULL || query->shows(query->user, tool))) {
            const struct match_hit none = {.id = tool->reg->uid};
            code = add_hit(listing, &none, shortlist, err);
        }
    }
    return code;
}

/* The tool that was said to be right, where no word of it matches. */
static int add_said(const struct shortlisting *listing, struct shortlist *shortlist,
                    struct toolrack_error *err) {
    const struct match_hit none = {.id = listing->said};
    CLEANUP(toolrack_tool_unrefp)
    struct toolrack_tool *tool =
            listing->said != 0 ? indexed_tool(listing->choose->indexed, listing->said) : NULL;
    return tool != NULL && is_wanted(listing->query, tool) ? add_hit(listing, &none, shortlist, err)
                                                           : 0;
}

/* The tool that is disabled and matches better than all that can run. */
static int find_disabled(const struct shortlisting *listing, struct shortlist *shortlist,
                         struct toolrack_error *err) {
    struct match_hit hit;
    size_t count = 0;
    double best = best_score(shortlist);
    int code = indexed_find(listing->choose->indexed,
                            &(struct indexed_query){.text = listing->query->text,
                                                    .length = listing->query->length,
                                                    .names = listing->query->tools,
                                                    .accepts = accept_wanted,
                                                    .user = (void *)(uintptr_t)listing,
                                                    .disabled = true},
                            &hit, 1, &count, err);
    if (code == 0 && count > 0 && hit.score > HELD_MIN && hit.score > best) {
        toolrack_tool_unref(shortlist->held);
        shortlist->held_score = hit.score;
        shortlist->held = indexed_tool(listing->choose->indexed, hit.id);
    }
    shortlist->held_clearly =
            shortlist->held_score > 0 && best <= HELD_CLEARLY * shortlist->held_score;
    return code;
}

/* ------------------------------------------------------------------------- the whole */

void shortlist_finish(struct shortlist *shortlist) {
    for (size_t i = 0; i < shortlist->count; i++) {
        toolrack_tool_unref(shortlist->items[i].tool);
    }
    toolrack_tool_unref(shortlist->held);
    free(shortlist->items);
    *shortlist = (struct shortlist){0};
}

static int compare_items(const void *left, const void *right) {
    const struct shortlisted *a = left;
    const struct shortlisted *b = right;
    if (a->whitelisted != b->whitelisted) {
        return a->whitelisted ? -1 : 1;
    }
    if (a->hit.score > b->hit.score || a->hit.score < b->hit.score) {
        return a->hit.score > b->hit.score ? -1 : 1;
    }
    int order = strcmp(toolrack_tool_name(a->tool), toolrack_tool_name(b->tool));
    return toolrack_tool_priority(a->tool) != toolrack_tool_priority(b->tool)
                   ? (toolrack_tool_priority(a->tool) > toolrack_tool_priority(b->tool) ? -1 : 1)
                   : order;
}

/* A tool that can be found by what it means: no other one's text is sent. */
static bool accept_meant(void *user, const struct toolrack_tool *tool) {
    const struct shortlisting *listing = user;
    return tool->enabled && !is_marked(listing->marks, STORE_BLACKLIST, tool) &&
           is_wanted(listing->query, tool);
}

static bool has_no_vector(void *user, uint64_t id) {
    return vectors_lacks(user, id);
}

/* The best of those that are wanted. Where many are left out, more are asked for. */
static int find_wanted(struct shortlisting *listing, size_t limit, struct shortlist *shortlist,
                       struct toolrack_error *err) {
    const struct shortlist_query *query = listing->query;
    struct vectors *vectors = listing->choose->vectors;
    size_t count = 0;
    size_t most = listing->room;
    struct vectors_found near = {.count = 0};
    if (vectors != NULL) {
        const struct vectors_query meant = {.text = query->text,
                                            .length = query->said,
                                            .principal = query->principal,
                                            .accepts = accept_meant,
                                            .user = listing};
        int code = vectors_find(vectors, &meant, &near, err);
        shortlist->embedded = near.embedded;
        if (code < 0) {
            return code;
        }
    }
    listing->room = limit + SPARE_HITS < most ? limit + SPARE_HITS : most;
    if (near.count > 0 && listing->room < VECTORS_FOUND_MAX) {
        listing->room = VECTORS_FOUND_MAX; /* as many as are ranked by their vectors */
    }
    for (;;) {
        int code = find_hits(listing, query->shows == NULL ? NULL : accept_wanted, &count, err);
        size_t both = count;
        if (code == 0 && near.count > 0) {
            code = fuse(listing->hits, &both, most + VECTORS_FOUND_MAX, &near, has_no_vector,
                        vectors, err);
        }
        code = code < 0 ? code : add_hits(listing, both, limit, shortlist, err);
        if (code < 0 || shortlist->count >= limit || count < listing->room ||
            listing->room == most) {
            listing->room = most;
            return code;
        }
        listing->room = most;
    }
}

int shortlist_find(const struct choose *choose, const struct shortlist_query *query,
                   struct shortlist *ret, struct toolrack_error *err) {
    size_t limit = query->limit < MATCH_HITS_MAX ? query->limit : MATCH_HITS_MAX;
    CLEANUP(marks_finish) struct marks marks = {0};
    CLEANUP(freep)
    struct match_hit *hits = malloc((MATCH_HITS_MAX + VECTORS_FOUND_MAX) * sizeof *hits);
    ret->items = malloc(2 * (size_t)MATCH_HITS_MAX * sizeof *ret->items);
    if (hits == NULL || ret->items == NULL) {
        return error_oom(err);
    }
    struct shortlisting listing = {.choose = choose,
                                   .query = query,
                                   .marks = &marks,
                                   .hits = hits,
                                   .room = MATCH_HITS_MAX};
    int code = store_marks_read(choose->options.store, take_mark, &marks, err);
    if (code == 0 && marks.no_memory) {
        code = error_oom(err);
    }
    if (code == 0) {
        code = find_boosts(&listing, &ret->none, err);
    }
    if (code == 0) {
        code = find_wanted(&listing, limit, ret, err);
    }
    if (code == 0) {
        code = add_said(&listing, ret, err);
    }
    if (code == 0 && query->tools != NULL && query->keeps_named) {
        code = add_named(&listing, limit, ret, err);
    }
    if (code == 0 && has_list(&marks, STORE_WHITELIST)) {
        size_t count = 0;
        code = find_hits(&listing, accept_whitelisted, &count, err);
        code = code < 0 ? code : add_hits(&listing, count, 2 * (size_t)MATCH_HITS_MAX, ret, err);
    }
    if (code == 0 && query->tells_held) {
        code = find_disabled(&listing, ret, err);
    }
    if (code == 0 && ret->count > 1) {
        qsort(ret->items, ret->count, sizeof ret->items[0], compare_items);
    }
    return code;
}
