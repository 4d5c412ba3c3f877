#include "choose/choose.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/name.h"
#include "choose/asking.h"
#include "choose/indexed.h"
#include "choose/inside.h"
#include "choose/past.h"
#include "choose/profiles.h"
#include "choose/recommend.h"
#include "choose/scene.h"
#include "choose/vectors.h"
#include "registry/document.h"
#include "registry/selector.h"
#include "store/feedback.h"
#include "store/health-rules.h"
#include "store/marks.h"
#include "store/statistics.h"

#define LIMIT_DEFAULT 10u
#define FIRST_ROOM    64u

/* Numbers are rounded to a multiple of 1 / SHOWN_PARTS. */
#define SHOWN_PARTS 10000.0

/* One tool that could be recommended. */
struct candidate {
    struct toolrack_tool *tool; /* a reference */
    struct recommend_tool known;
    bool left_out; /* it is on the blacklist */
    bool tried;    /* it is on the blacklist and gets a retry */
};

/* Who could be recommended: the tools with records, and of the others, whose scores are all the
 * same, so many as are wanted. Among 65,000 tools with few records that takes under 1 ms, and 100
 * ms when each of them was one. */
struct candidates {
    struct registry *registry;
    struct candidate *items;
    size_t count;
    size_t room;
    uint32_t *places; /* open addressing by name: one more than an index into items, 0: empty */
    uint32_t mask;
    size_t wanted; /* without records: no more are added */
    bool no_memory;
    int64_t now_ms;
};

static void candidates_finish(struct candidates *candidates) {
    for (size_t i = 0; i < candidates->count; i++) {
        toolrack_tool_unref(candidates->items[i].tool);
    }
    free(candidates->items);
    free(candidates->places);
}

/* ------------------------------------------------------------- which can be called */

/* Where the candidate of a name is among the places, or belongs. There is an empty place. */
static uint32_t *place_of(const struct candidates *candidates, const char *name, size_t length) {
    uint32_t at = name_hash(name, length) & candidates->mask;
    while (candidates->places[at] != 0 &&
           !tool_has_name(candidates->items[candidates->places[at] - 1].tool, name, length)) {
        at = (at + 1) & candidates->mask;
    }
    return &candidates->places[at];
}

/* Room for one more. */
static bool reserve(struct candidates *candidates) {
    if (candidates->count < candidates->room) {
        return true;
    }
    size_t room = candidates->room == 0 ? FIRST_ROOM : 2 * candidates->room;
    uint32_t *places = calloc(2 * room, sizeof *places);
    struct candidate *items = realloc(candidates->items, room * sizeof *items);
    candidates->items = items != NULL ? items : candidates->items;
    if (places == NULL || items == NULL) {
        free(places);
        return false;
    }
    free(candidates->places);
    candidates->places = places;
    candidates->mask = (uint32_t)(2 * room - 1);
    candidates->room = room;
    for (uint32_t i = 0; i < candidates->count; i++) {
        const struct toolrack_tool *tool = items[i].tool;
        *place_of(candidates, toolrack_tool_name(tool), tool->reg->name_length) = i + 1;
    }
    return true;
}

/* The candidate of a tool that its name calls and that may run; else, or without memory, NULL. */
static struct candidate *take_tool(struct candidates *candidates, struct toolrack_tool *tool) {
    if (tool == NULL || !tool_may_run(tool)) {
        return NULL;
    }
    if (!reserve(candidates)) {
        candidates->no_memory = true;
        return NULL;
    }
    uint32_t *place = place_of(candidates, toolrack_tool_name(tool), tool->reg->name_length);
    if (*place == 0) {
        candidates->items[candidates->count++] =
                (struct candidate){.tool = toolrack_tool_ref(tool)};
        *place = (uint32_t)candidates->count;
    }
    return &candidates->items[*place - 1];
}

static int compare_candidates(const void *left, const void *right) {
    const struct candidate *a = left;
    const struct candidate *b = right;
    return tool_compare_order(a->tool, b->tool);
}

/* Remove the candidates that are left out, and sort the others in registry order; names are not
 * found any more. */
static void sort_out(struct candidates *candidates) {
    size_t kept = 0;
    for (size_t i = 0; i < candidates->count; i++) {
        if (candidates->items[i].left_out) {
            toolrack_tool_unref(candidates->items[i].tool);
        } else {
            candidates->items[kept++] = candidates->items[i];
        }
    }
    candidates->count = kept;
    if (kept > 1) {
        qsort(candidates->items, kept, sizeof candidates->items[0], compare_candidates);
    }
}

/* Add the first ones that have no records. */
static void take_others(void *user, const struct snapshot *snapshot) {
    struct candidates *candidates = user;
    struct snapshot_place at = {0};
    struct toolrack_tool *tool;
    const size_t recorded = candidates->count;
    while (!candidates->no_memory && candidates->count - recorded < candidates->wanted &&
           (tool = snapshot_next(snapshot, &at)) != NULL) {
        if (snapshot_is_default(snapshot, tool)) {
            (void)take_tool(candidates, tool);
        }
    }
}

/* The candidate of a name, and of a version if one is given; or NULL. */
static struct candidate *find(struct candidates *candidates, const char *name, size_t length,
                              const char *version) {
    char text[NAME_LENGTH_MAX + 1];
    if (length > NAME_LENGTH_MAX) {
        return NULL;
    }
    memcpy(text, name, length);
    text[length] = '\0';
    CLEANUP(toolrack_tool_unrefp)
    struct toolrack_tool *tool = registry_get(candidates->registry, text);
    struct candidate *found = take_tool(candidates, tool);
    bool same = found != NULL &&
                (version == NULL || strcmp(version, toolrack_tool_version(found->tool)) == 0);
    return same ? found : NULL;
}

/* ----------------------------------------------------------- what is known of them */

/* Whether records of an identity are about a candidate; "": they are about whoever provides the
 * name. */
static bool is_of(const struct candidate *candidate, const char *plugin) {
    return plugin[0] == '\0' || strcmp(plugin, candidate->tool->reg->plugin->identity_text) == 0;
}

/* The candidate that the records of a tool of a plugin are about, or NULL. */
static struct candidate *find_of(struct candidates *candidates, const char *name,
                                 const char *version, const char *plugin) {
    struct candidate *candidate = find(candidates, name, strlen(name), version);
    return candidate != NULL && is_of(candidate, plugin) ? candidate : NULL;
}

static void take_statistics(void *user, const struct store_statistics *of) {
    struct candidate *candidate = find_of(user, of->tool, of->version, of->plugin);
    if (candidate != NULL) {
        /* In some calls the tool had no chance to fail. */
        uint64_t hindered = of->hindered < of->failures ? of->hindered : of->failures;
        candidate->known.calls = of->calls - hindered;
        candidate->known.failures = of->failures - hindered;
        candidate->known.median_ns = store_time_quantile(of->times, of->time_count, 50);
        candidate->known.last_ms = of->last_ms;
    }
}

static void take_opinions(void *user, const struct store_opinions *opinions) {
    struct candidate *candidate =
            find_of(user, opinions->tool, opinions->version, opinions->plugin);
    if (candidate != NULL) {
        candidate->known.good = opinions->good;
        candidate->known.bad = opinions->bad;
    }
}

static void take_mark(void *user, const struct store_mark *mark) {
    const struct selector of = selector_parse(mark->selector);
    struct candidate *candidate = find(user, of.name, of.name_length, of.version);
    if (candidate != NULL && mark->list == STORE_WHITELIST) {
        candidate->known.first = candidate->known.first || is_of(candidate, mark->plugin);
    } else if (candidate != NULL) {
        candidate->left_out = true;
    }
}

static void take_health(void *user, const char *tool, const char *version, const char *plugin,
                        const struct store_health *health) {
    struct candidates *candidates = user;
    struct candidate *candidate = find_of(candidates, tool, version, plugin);
    if (candidate != NULL && health->since_ms != 0) {
        candidate->tried = !health_rests(health, candidates->now_ms);
        candidate->left_out = candidate->left_out || !candidate->tried;
    }
}

static int read_records(const struct choose *choose, struct candidates *candidates,
                        struct toolrack_error *err) {
    struct store *store = choose->options.store;
    (void)choose->options.flush(choose->options.record, NULL); /* failures are logged */
    int code = store_statistics_read(store, take_statistics, candidates, err);
    if (code == 0) {
        code = store_feedback_count(store, take_opinions, candidates, err);
    }
    if (code == 0) {
        code = store_marks_read(store, take_mark, candidates, err);
    }
    code = code < 0 ? code : store_health_read(store, take_health, candidates, err);
    return code == 0 && candidates->no_memory ? error_oom(err) : code;
}

/* Add the tools that fit a task, and set how well; the others' is 0. */
static int match_all(const struct choose *choose, struct candidates *candidates, const char *task,
                     struct toolrack_error *err) {
    size_t count = 0;
    CLEANUP(freep) struct match_hit *hits = calloc(MATCH_HITS_MAX, sizeof *hits);
    if (hits == NULL) {
        return error_oom(err);
    }
    int code = indexed_find(choose->indexed,
                            &(struct indexed_query){.text = task, .length = strlen(task)}, hits,
                            MATCH_HITS_MAX, &count, err);
    if (code < 0 || count == 0) {
        return code;
    }
    for (size_t i = 0; i < count; i++) {
        CLEANUP(toolrack_tool_unrefp)
        struct toolrack_tool *tool = indexed_tool(choose->indexed, hits[i].id);
        struct candidate *candidate = take_tool(candidates, tool);
        if (candidate != NULL) {
            candidate->known.task = hits[i].score;
        }
    }
    return candidates->no_memory ? error_oom(err) : 0;
}

/* ------------------------------------------------------------------- answer */

static void add_number(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key, double value) {
    (void)yyjson_mut_obj_add_real(doc, object, key, round(value * SHOWN_PARTS) / SHOWN_PARTS);
}

static void add_factors(yyjson_mut_doc *doc, yyjson_mut_val *row,
                        const struct recommend_row *recommended, bool has_task) {
    yyjson_mut_val *factors = yyjson_mut_obj_add_obj(doc, row, "factors");
    for (size_t i = 0; i < RECOMMEND_FACTOR_COUNT; i++) {
        enum recommend_factor factor = (enum recommend_factor)i;
        yyjson_mut_val *one = yyjson_mut_obj_add_obj(doc, factors, recommend_factor_name(factor));
        add_number(doc, one, "value", recommended->values[i]);
        add_number(doc, one, "weight", recommend_weight(factor, has_task));
    }
}

static void add_row(yyjson_mut_doc *doc, yyjson_mut_val *list, const struct candidate *candidate,
                    const struct recommend_row *recommended, bool has_task) {
    yyjson_mut_val *row = yyjson_mut_arr_add_obj(doc, list);
    document_add_text(doc, row, "tool", toolrack_tool_name(candidate->tool));
    document_add_text(doc, row, "version", toolrack_tool_version(candidate->tool));
    add_number(doc, row, "score", recommended->score);
    (void)yyjson_mut_obj_add_bool(doc, row, "whitelisted", recommended->first);
    (void)yyjson_mut_obj_add_bool(doc, row, "retry", candidate->tried);
    add_factors(doc, row, recommended, has_task);
    document_add_text(doc, row, "description", toolrack_tool_description(candidate->tool));
}

static bool offer(void *user, struct store_health *health) {
    return health_offer(health, *(const int64_t *)user);
}

/* Store that the retry begins. If that fails, the tool gets another retry: that is better than to
 * recommend nothing. */
static void begin_retry(const struct choose *choose, const struct candidate *candidate,
                        int64_t now_ms) {
    struct toolrack_error err;
    const struct toolrack_tool *tool = candidate->tool;
    if (store_health_change(choose->options.store, toolrack_tool_name(tool),
                            toolrack_tool_version(tool), tool->reg->plugin->identity_text, offer,
                            &now_ms, &err) < 0) {
        log_line(choose->options.log, LOG_ERROR, "recommend", "the retry of '%s' is not kept: %s",
                 toolrack_tool_name(tool), err.message);
    }
}

static int answer(const struct choose *choose, const struct candidates *candidates,
                  const struct recommend_options *options, struct toolrack_text **ret,
                  struct toolrack_error *err) {
    size_t room = candidates->count + 1;
    size_t count = 0;
    CLEANUP(freep) struct recommend_tool *tools = calloc(room, sizeof *tools);
    CLEANUP(freep) struct recommend_row *rows = calloc(room, sizeof *rows);
    if (tools == NULL || rows == NULL) {
        return error_oom(err);
    }
    for (size_t i = 0; i < candidates->count; i++) {
        tools[i] = candidates->items[i].known;
    }
    recommend_rank(tools, candidates->count, options, rows, &count);
    yyjson_mut_val *list;
    yyjson_mut_doc *doc = document_begin_list(&list);
    for (size_t i = 0; i < count; i++) {
        const struct candidate *candidate = &candidates->items[rows[i].index];
        add_row(doc, list, candidate, &rows[i], options->has_task);
    }
    int code = document_end(doc, ret, err);
    for (size_t i = 0; code == 0 && i < count; i++) {
        if (candidates->items[rows[i].index].tried) {
            begin_retry(choose, &candidates->items[rows[i].index], options->now_ms);
        }
    }
    return code;
}

int choose_recommend(const struct choose *choose, const struct toolrack_recommend_options *options,
                     struct toolrack_text **ret, struct toolrack_error *err) {
    OBJECT_CHECK(choose, CHOOSE_MAGIC);
    struct toolrack_recommend_options taken = {0};
    if (options != NULL) {
        memcpy(&taken, options, options->size < sizeof taken ? options->size : sizeof taken);
    }
    const size_t limit = taken.limit != 0 ? taken.limit : LIMIT_DEFAULT;
    CLEANUP(candidates_finish)
    struct candidates candidates = {
            .registry = choose->options.registry, .wanted = limit, .now_ms = clock_wall_ms()};
    bool has_task = taken.task != NULL && taken.task[0] != '\0';
    int code = read_records(choose, &candidates, err);
    if (code == 0 && has_task) {
        code = match_all(choose, &candidates, taken.task, err);
    } else if (code == 0) {
        registry_look(choose->options.registry, take_others, &candidates);
        code = candidates.no_memory ? error_oom(err) : 0;
    }
    sort_out(&candidates);
    return code < 0 ? code
                    : answer(choose, &candidates,
                             &(struct recommend_options){.now_ms = candidates.now_ms,
                                                         .has_task = has_task,
                                                         .limit = limit},
                             ret, err);
}

/* -------------------------------------------------------------------- life */

struct choose *choose_create(const struct choose_options *options) {
    struct choose *choose = calloc(1, sizeof *choose);
    if (choose == NULL) {
        scenes_destroy(options->scenes);
        return NULL;
    }
    *choose = (struct choose){.magic = CHOOSE_MAGIC,
                              .options = *options,
                              .scenes = options->scenes,
                              .profiles = profiles_create(options->scenes, PROFILES_SIZE_MAX),
                              .past = past_create(options->store),
                              .asking = asking_create(ASSIST_PATIENCE)};
    if (choose->profiles != NULL) {
        choose->indexed = indexed_create(options->registry, choose->profiles);
    }
    if (options->embed.endpoint != NULL && choose->indexed != NULL) {
        choose->vectors =
                vectors_create(&options->embed, options->store, choose->indexed, options->log);
    }
    if (choose->indexed == NULL || choose->past == NULL || choose->asking == NULL ||
        (options->embed.endpoint != NULL && choose->vectors == NULL)) {
        choose_destroy(choose);
        return NULL;
    }
    return choose;
}

void choose_follow(const struct choose *choose) {
    OBJECT_CHECK(choose, CHOOSE_MAGIC);
    indexed_follow(choose->indexed);
}

void choose_destroy(struct choose *choose) {
    if (choose != NULL) {
        OBJECT_WIPE(choose, CHOOSE_MAGIC);
        past_destroy(choose->past);
        vectors_destroy(choose->vectors);
        indexed_destroy(choose->indexed);
        profiles_destroy(choose->profiles);
        scenes_destroy(choose->scenes);
        asking_destroy(choose->asking);
        free(choose);
    }
}
