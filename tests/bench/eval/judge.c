/* Steps 1, 2 and 4 on evaluation data, which is elsewhere: eval-judge FOLDER measures|select > FILE
 *
 * measures: a row for each candidate of select.jsonl, separated by tabs, to calibrate with
 * calibrate.py. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "base/cleanup.h"
#include "choose/evaluate.h"
#include "choose/intent.h"
#include "choose/scene.h"

#define TOOLS_MAX 16384u
#define LABELS    5u

struct eval_tool {
    const char *id;
    struct index_document texts;
    struct profile *profile; /* kept until the end */
};

static struct eval_tool tools[TOOLS_MAX];
static size_t tool_count;

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

static void read_tools(const char *folder, const char *registry) {
    char name[256];
    snprintf(name, sizeof name, "tools/%s.jsonl", registry);
    FILE *file = open_file(folder, name);
    yyjson_val *row;
    while ((row = next_row(file)) != NULL) {
        if (tool_count == TOOLS_MAX) {
            stop("too many tools");
        }
        struct eval_tool *tool = &tools[tool_count++];
        *tool = (struct eval_tool){
                .id = text_of(row, "id"),
                .texts = {.name = text_of(row, "name"),
                          .title = text_of(row, "title"),
                          .description = text_of(row, "description"),
                          .category = text_of(row, "category"),
                          .schema_json =
                                  yyjson_val_write(yyjson_obj_get(row, "parameters"), 0, NULL)},
        };
        if (profile_create(&tool->texts, NULL, &tool->profile, NULL) < 0) {
            stop("no memory");
        }
    }
    fclose(file);
}

static int compare_tools(const void *a, const void *b) {
    return strcmp(((const struct eval_tool *)a)->id, ((const struct eval_tool *)b)->id);
}

static const struct eval_tool *find_tool(const char *id) {
    struct eval_tool key = {.id = id};
    const struct eval_tool *tool = bsearch(&key, tools, tool_count, sizeof tools[0], compare_tools);
    if (tool == NULL) {
        stop(id);
    }
    return tool;
}

/* A text as steps 1 and 2 have read it. */
struct question {
    struct words words;
    struct fit_wish wish;
    struct values *values;
    struct label scenes[LABELS];
    struct label intents[LABELS];
};

static void ask(struct question *question, const char *text) {
    size_t length = strlen(text);
    *question = (struct question){0};
    if (words_read(text, length, &question->words, NULL) < 0 ||
        values_read(text, length, NULL, &question->values, NULL) < 0) {
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
}

/* ------------------------------------------------------------------ select */

/* The candidates of an item: those that it names, or a registry. */
static size_t find_candidates(yyjson_val *item, struct evaluate_tool *ret, const char **ret_ids) {
    size_t count = 0;
    yyjson_arr_iter iter = yyjson_arr_iter_with(yyjson_obj_get(item, "candidates"));
    yyjson_val *id;
    while ((id = yyjson_arr_iter_next(&iter)) != NULL) {
        const struct eval_tool *tool = find_tool(yyjson_get_str(id));
        ret_ids[count] = tool->id;
        ret[count++] = (struct evaluate_tool){.texts = tool->texts, .profile = tool->profile};
    }
    const char *registry = text_of(item, "registry");
    for (size_t i = 0; registry != NULL && i < tool_count; i++) {
        if (strncmp(tools[i].id, registry, strlen(registry)) == 0) {
            ret_ids[count] = tools[i].id;
            ret[count++] =
                    (struct evaluate_tool){.texts = tools[i].texts, .profile = tools[i].profile};
        }
    }
    return count;
}

/* What a candidate is: the right tool, another one, any where all are right, or none is. */
static const char *kind_of(yyjson_val *item, const char *id) {
    const char *gold = yyjson_get_str(yyjson_arr_get_first(yyjson_obj_get(item, "gold")));
    return gold == NULL             ? "none"
           : strcmp(gold, "*") == 0 ? "any"
           : strcmp(gold, id) == 0  ? "this"
                                    : "other";
}

static void print_measures(yyjson_val *item, const struct evaluated *evaluated, const char *id) {
    const struct arguments_fit *arguments = &evaluated->arguments;
    printf("%s\t%s\t%s\t%s\t%s", text_of(item, "id"), text_of(item, "src"), text_of(item, "lang"),
           id, kind_of(item, id));
#define PRINT_MEASURE(name) printf("\t%.4f", evaluated->fit.name);
    FIT_MEASURES(PRINT_MEASURE)
#undef PRINT_MEASURE
    printf("\t%.4f\t%u\t%u\t%u\t%u\t%u\t%u\t%u\t%u\n", arguments->fit, arguments->required,
           arguments->found, arguments->named, arguments->values, arguments->used, arguments->sure,
           arguments->taken, arguments->left);
}

static void select_all(const char *folder, bool measures) {
    static struct evaluate_tool candidates[TOOLS_MAX];
    static const char *ids[TOOLS_MAX];
    FILE *file = open_file(folder, "select.jsonl");
    yyjson_val *item;
    if (measures) {
        printf("id\tsrc\tlang\ttool\tkind");
#define PRINT_NAME(name) printf("\t" #name);
        FIT_MEASURES(PRINT_NAME)
#undef PRINT_NAME
        printf("\tfit\trequired\tfound\tgiven\tvalues\tused\tsure\ttaken\tleft\n");
    }
    while ((item = next_row(file)) != NULL) {
        struct question question;
        struct evaluation evaluation;
        size_t count = find_candidates(item, candidates, ids);
        ask(&question, text_of(item, "query"));
        if (evaluate(&question.wish, question.values, candidates, count, &evaluation, NULL) < 0) {
            stop("no memory");
        }
        for (size_t i = 0; measures && i < evaluation.count; i++) {
            print_measures(item, &evaluation.items[i], ids[evaluation.items[i].index]);
        }
        if (!measures) {
            printf("{\"id\": \"%s\", \"score\": %.4f, \"tool\": ", text_of(item, "id"),
                   evaluation.confidence);
            printf(evaluation.abstained ? "null}\n" : "\"%s\"}\n", ids[evaluation.items[0].index]);
        }
        evaluation_finish(&evaluation);
        forget(&question);
    }
    fclose(file);
}

int main(int argc, char **argv) {
    static const char *const registries[] = {"bfcl", "ace_en", "ace_zh", "metatool"};
    if (argc != 3) {
        stop("eval-judge FOLDER measures|select");
    }
    for (size_t i = 0; i < ARRAY_LENGTH(registries); i++) {
        read_tools(argv[1], registries[i]);
    }
    qsort(tools, tool_count, sizeof tools[0], compare_tools);
    select_all(argv[1], strcmp(argv[2], "measures") == 0);
    return 0;
}
