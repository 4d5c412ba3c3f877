/* What steps 1 to 4 measure on evaluation data, which is elsewhere: eval-judge FOLDER > FILE
 *
 * A row for each candidate that the host would evaluate for the texts of select.jsonl and
 * retrieval.jsonl, separated by tabs: calibrate.c finds weights by it. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "base/cleanup.h"
#include "choose/evaluate.h"
#include "choose/index.h"
#include "choose/intent.h"
#include "choose/match.h"
#include "choose/scene.h"
#include "choose/wording.h"

#define TOOLS_MAX  32768u
#define SETS_MAX   16u
#define LABELS     4u
#define CANDIDATES 24u

struct eval_tool {
    const char *id;
    struct index_document texts;
    struct profile *profile; /* kept until the end */
    bool wanted;             /* among the candidates of the item */
};

struct eval_set {
    char name[64];
    struct index *index; /* by number in tools[], and 1 more */
    size_t first;
    size_t count;
};

static struct eval_tool tools[TOOLS_MAX];
static size_t tool_count;
static struct eval_set sets[SETS_MAX];
static size_t set_count;

static void stop(const char *what) {
    fprintf(stderr, "eval-judge: %s\n", what);
    exit(1);
}

static FILE *open_file(const char *folder, const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        stop(path);
    }
    return file;
}

static yyjson_val *next_row(FILE *file) {
    static char *line;
    static size_t room;
    if (getline(&line, &room, file) <= 0) {
        return NULL;
    }
    yyjson_doc *doc = yyjson_read(line, strlen(line), 0); /* kept until the end */
    if (doc == NULL) {
        stop("a line is no JSON");
    }
    return yyjson_doc_get_root(doc);
}

static const char *text_of(yyjson_val *row, const char *key) {
    return yyjson_get_str(yyjson_obj_get(row, key));
}

static void read_tool(struct eval_set *set, yyjson_val *row) {
    const char *category = text_of(row, "category");
    struct eval_tool *tool = &tools[tool_count++];
    if (tool_count == TOOLS_MAX) {
        stop("too many tools");
    }
    *tool = (struct eval_tool){
            .id = text_of(row, "id"),
            .texts = {.name = text_of(row, "name"),
                      .title = text_of(row, "title"),
                      .description = text_of(row, "description"),
                      .category = category != NULL ? category : text_of(row, "group"),
                      .schema_json = yyjson_val_write(yyjson_obj_get(row, "parameters"), 0, NULL)},
    };
    if (profile_create(&tool->texts, NULL, &tool->profile, NULL) < 0 ||
        index_add(set->index, tool_count, &tool->texts, NULL) < 0) {
        stop("no memory");
    }
    set->count++;
}

static struct eval_set *find_set(const char *folder, const char *name, size_t length) {
    for (size_t i = 0; i < set_count; i++) {
        if (strncmp(sets[i].name, name, length) == 0 && sets[i].name[length] == '\0') {
            return &sets[i];
        }
    }
    struct eval_set *set = &sets[set_count++];
    char path[256];
    snprintf(set->name, sizeof set->name, "%.*s", (int)length, name);
    snprintf(path, sizeof path, "tools/%.63s.jsonl", set->name);
    set->index = index_create();
    set->first = tool_count;
    FILE *file = open_file(folder, path);
    yyjson_val *row;
    while ((row = next_row(file)) != NULL) {
        read_tool(set, row);
    }
    fclose(file);
    return set;
}

/* A text as steps 1 and 2 have read it. */
struct question {
    struct wording wording;
    struct words words;
    struct fit_wish wish;
    struct values *values;
    struct label scenes[LABELS];
    struct label intents[LABELS];
};

static void ask(struct question *question, const char *text) {
    size_t length = strlen(text);
    *question = (struct question){0};
    if (values_read(text, length, NULL, &question->values, NULL) < 0 ||
        wording_make(text, length, question->values, &question->wording, NULL) < 0) {
        stop("no memory");
    }
    text = question->wording.text;
    length = question->wording.length;
    if (words_read(text, length, &question->words, NULL) < 0) {
        stop("no memory");
    }
    question->wish = (struct fit_wish){
            .text = text,
            .length = length,
            .words = &question->words,
            .scene = question->scenes,
            .scene_count =
                    scene_find(text, length, &question->words, NULL, question->scenes, LABELS),
            .intent = question->intents,
            .intent_count = intent_find(&question->words, question->intents, LABELS),
    };
}

static void forget(struct question *question) {
    values_destroy(question->values);
    words_finish(&question->words);
    wording_finish(&question->wording);
}

/* ------------------------------------------------------------------ select */

static bool is_wanted(void *user, uint64_t id) {
    (void)user;
    return tools[id - 1].wanted;
}

/* The set of an item, with the tools that it names marked as wanted; or all of it. */
static struct eval_set *set_of(const char *folder, yyjson_val *item) {
    const char *registry = text_of(item, "registry");
    yyjson_val *named = yyjson_obj_get(item, "candidates");
    const char *name = named != NULL ? yyjson_get_str(yyjson_arr_get_first(named)) : registry;
    struct eval_set *set = find_set(folder, name, strcspn(name, "/"));
    for (size_t i = set->first; i < set->first + set->count; i++) {
        tools[i].wanted = named == NULL;
    }
    yyjson_arr_iter iter = yyjson_arr_iter_with(named);
    yyjson_val *id;
    while ((id = yyjson_arr_iter_next(&iter)) != NULL) {
        for (size_t i = set->first; i < set->first + set->count; i++) {
            tools[i].wanted = tools[i].wanted || strcmp(tools[i].id, yyjson_get_str(id)) == 0;
        }
    }
    return set;
}

/* The best matches, as the shortlist of the host; where tools are named, also those that no word
 * finds. */
static size_t find_candidates(const struct eval_set *set, yyjson_val *item,
                              const struct question *question, struct match_hit hits[CANDIDATES]) {
    size_t count = 0;
    const struct match_query query = {.text = question->wording.text,
                                      .length = question->wording.length,
                                      .values = question->values,
                                      .accept = is_wanted};
    if (match_find(set->index, &query, hits, CANDIDATES, &count, NULL) < 0) {
        stop("no memory");
    }
    bool named = yyjson_obj_get(item, "candidates") != NULL;
    for (size_t i = set->first; named && i < set->first + set->count && count < CANDIDATES; i++) {
        bool found = !tools[i].wanted;
        for (size_t k = 0; k < count; k++) {
            found = found || hits[k].id == i + 1;
        }
        if (!found) {
            hits[count++] = (struct match_hit){.id = i + 1};
        }
    }
    return count;
}

/* What a candidate is: a right tool, another one, any where all are right, or none is. */
static const char *kind_of(yyjson_val *item, const char *id) {
    yyjson_val *gold = yyjson_obj_get(item, "gold");
    yyjson_arr_iter iter = yyjson_arr_iter_with(gold);
    yyjson_val *right;
    while ((right = yyjson_arr_iter_next(&iter)) != NULL) {
        if (yyjson_equals_str(right, "*")) {
            return "any";
        }
        if (yyjson_equals_str(right, id)) {
            return "this";
        }
    }
    return yyjson_arr_size(gold) > 0 ? "other" : "none";
}

static void print_names(void) {
    printf("task\tid\tsrc\tlang\tgolds\ttool\tkind\tmatch\tmcover\tmall\tmname\tclause");
#define PRINT_NAME(name) printf("\t" #name);
    FIT_MEASURES(PRINT_NAME)
#undef PRINT_NAME
    printf("\tfit\trequired\tfound\tgiven\tsure\ttaken\tleft\tofkind\n");
}

static void print_measures(const char *task, yyjson_val *item, const struct match_hit *hit,
                           const struct evaluated *evaluated) {
    const struct arguments_fit *arguments = &evaluated->arguments;
    const char *id = tools[hit->id - 1].id;
    printf("%s\t%s\t%s\t%s\t%zu\t%s\t%s", task, text_of(item, "id"), text_of(item, "src"),
           text_of(item, "lang"), yyjson_arr_size(yyjson_obj_get(item, "gold")), id,
           kind_of(item, id));
    printf("\t%.5f\t%.4f\t%.4f\t%.4f\t%u", hit->score, hit->coverage, hit->coverage_all,
           hit->name_coverage, hit->clause);
#define PRINT_MEASURE(name) printf("\t%.4f", evaluated->fit.name);
    FIT_MEASURES(PRINT_MEASURE)
#undef PRINT_MEASURE
    printf("\t%.4f\t%u\t%u\t%u\t%u\t%u\t%u\t%u\n", arguments->fit, arguments->required,
           arguments->found, arguments->named, arguments->sure, arguments->taken, arguments->left,
           arguments->of_kind);
}

static void measure_all(const char *folder, const char *task) {
    static struct evaluate_tool candidates[CANDIDATES];
    static struct match_hit hits[CANDIDATES];
    char name[64];
    snprintf(name, sizeof name, "%s.jsonl", task);
    FILE *file = open_file(folder, name);
    yyjson_val *item;
    while ((item = next_row(file)) != NULL) {
        struct question question;
        struct evaluation evaluation;
        ask(&question, text_of(item, "query"));
        size_t count = find_candidates(set_of(folder, item), item, &question, hits);
        for (size_t i = 0; i < count; i++) {
            const struct eval_tool *tool = &tools[hits[i].id - 1];
            candidates[i] = (struct evaluate_tool){
                    .texts = tool->texts, .profile = tool->profile, .match = &hits[i]};
        }
        if (evaluate(&question.wish, question.values, candidates, count, &evaluation, NULL) < 0) {
            stop("no memory");
        }
        for (size_t i = 0; i < evaluation.count; i++) {
            print_measures(task, item, &hits[evaluation.items[i].index], &evaluation.items[i]);
        }
        evaluation_finish(&evaluation);
        forget(&question);
    }
    fclose(file);
}

int main(int argc, char **argv) {
    if (argc != 2) {
        stop("eval-judge FOLDER");
    }
    print_names();
    measure_all(argv[1], "select");
    measure_all(argv[1], "retrieval");
    return 0;
}
