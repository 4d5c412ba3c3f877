/* What the match finds for the queries of a tool-selection evaluation, as its score.py wants it:
 *
 *     eval-retrieval FOLDER OUT.jsonl [history] [NAME=VALUE|no=FIELD...]
 *
 * FOLDER has retrieval.jsonl, tools/REGISTRY.jsonl for each registry that it names and, for
 * "history", history.jsonl with earlier texts that led to tools. NAME=VALUE is another value of a
 * weight of match.h, no=FIELD a field of struct index_document that is left out: an ablation tells
 * what each gives. The data is not part of this repository. The mean and the longest time of a
 * query, and the memory of a tool, go to stderr. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "base/clock.h"
#include "choose/index.h"
#include "choose/match.h"

#define RANKED_MAX     10u
#define BOOSTS_MAX     32u
#define REGISTRIES_MAX 64u
#define TOOLS_MAX      100000u
#define NAME_MAX_SIZE  64u
#define PATH_MAX_SIZE  4096u

struct registry {
    char name[NAME_MAX_SIZE];
    struct index *index;
    char **tools; /* ids, by number from 1 */
    size_t count;
    struct index *past; /* the earlier texts of each tool, or NULL */
    char **texts;       /* the same as one text, by number */
};

/* The fields that are left out. */
#define FIELD_TABLE(X) \
    X(name)            \
    X(title)           \
    X(description)     \
    X(tags)            \
    X(category)        \
    X(group)           \
    X(schema_json)
static struct {
#define FIELD_MEMBER(name) bool name;
    FIELD_TABLE(FIELD_MEMBER)
#undef FIELD_MEMBER
} left_out;

/* The weights of match.h. */
#define WEIGHT_TABLE(X) \
    X(stop)             \
    X(number)           \
    X(quoted)           \
    X(joined)           \
    X(crossing)         \
    X(synonym)          \
    X(translation)      \
    X(translation_too)  \
    X(clauses)          \
    X(turns)            \
    X(name)             \
    X(other_action)     \
    X(unasked_action)   \
    X(called_before)    \
    X(called_again)     \
    X(group)            \
    X(whole)            \
    X(clause)           \
    X(clause_sure)      \
    X(base)             \
    X(history)
static struct match_weights weights;

static struct registry registries[REGISTRIES_MAX];
static size_t registry_count;

static void die(const char *what) {
    (void)fprintf(stderr, "eval-retrieval: %s\n", what);
    exit(1);
}

static FILE *open_in(const char *folder, const char *name) {
    char path[PATH_MAX_SIZE];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        die(path);
    }
    return file;
}

/* The next line as JSON, or NULL at the end. */
static yyjson_doc *read_row(FILE *file) {
    static char *line;
    static size_t room;
    ssize_t length = getline(&line, &room, file);
    return length > 0 ? yyjson_read(line, (size_t)length, 0) : NULL;
}

static const char *text(yyjson_doc *row, const char *key) {
    return yyjson_get_str(yyjson_obj_get(yyjson_doc_get_root(row), key));
}

static void add_tool(struct registry *registry, yyjson_doc *row) {
    char *schema =
            yyjson_val_write(yyjson_obj_get(yyjson_doc_get_root(row), "parameters"), 0, NULL);
    struct index_document document = {
            .name = text(row, "name"),
            .title = text(row, "title"),
            .description = text(row, "description"),
            .category = text(row, "category"),
            .tags = text(row, "group"),
            .group = text(row, "group"),
            .schema_json = schema,
    };
#define LEAVE_OUT(name) document.name = left_out.name ? NULL : document.name;
    FIELD_TABLE(LEAVE_OUT)
#undef LEAVE_OUT
    registry->tools[++registry->count] = strdup(text(row, "id"));
    if (registry->count + 1 == TOOLS_MAX ||
        index_add(registry->index, registry->count, &document, NULL) < 0) {
        die("too many tools");
    }
    free(schema);
}

static struct registry *registry_of(const char *folder, const char *name) {
    for (size_t i = 0; i < registry_count; i++) {
        if (strcmp(registries[i].name, name) == 0) {
            return &registries[i];
        }
    }
    struct registry *registry = &registries[registry_count++];
    char path[2 * NAME_MAX_SIZE];
    (void)snprintf(registry->name, sizeof registry->name, "%s", name);
    (void)snprintf(path, sizeof path, "tools/%.63s.jsonl", registry->name);
    registry->index = index_create();
    registry->tools = calloc(TOOLS_MAX, sizeof(char *));
    registry->texts = calloc(TOOLS_MAX, sizeof(char *));
    FILE *file = open_in(folder, path);
    for (yyjson_doc *row; (row = read_row(file)) != NULL; yyjson_doc_free(row)) {
        add_tool(registry, row);
    }
    (void)fclose(file);
    (void)fprintf(stderr, "%s: %zu tools of %zu bytes\n", registry->name, registry->count,
                  index_memory(registry->index) / registry->count);
    return registry;
}

/* ----------------------------------------------------------------- history */

static size_t number_of(const struct registry *registry, const char *id) {
    for (size_t i = 1; i <= registry->count; i++) {
        if (strcmp(registry->tools[i], id) == 0) {
            return i;
        }
    }
    return 0;
}

/* The texts that led to a tool are one document of another index. */
static void add_past(struct registry *registry, yyjson_doc *row) {
    size_t number = number_of(registry, text(row, "tool"));
    const char *before = registry->texts[number] != NULL ? registry->texts[number] : "";
    char *joined;
    if (registry->past == NULL) {
        registry->past = index_create();
    }
    if (asprintf(&joined, "%s%s\n", before, text(row, "query")) < 0 ||
        index_add(registry->past, number, &(const struct index_document){.examples = joined},
                  NULL) < 0) {
        die("no memory");
    }
    free(registry->texts[number]);
    registry->texts[number] = joined;
}

static void load_history(const char *folder) {
    FILE *file = open_in(folder, "history.jsonl");
    for (yyjson_doc *row; (row = read_row(file)) != NULL; yyjson_doc_free(row)) {
        add_past(registry_of(folder, text(row, "registry")), row);
    }
    (void)fclose(file);
}

/* What earlier texts say: how much of this one they cover, less for those that fit less well. */
static size_t find_boosts(const struct registry *registry, const char *query,
                          struct match_boost boosts[BOOSTS_MAX]) {
    static struct match_hit hits[BOOSTS_MAX];
    const struct match_query past = {.text = query, .length = strlen(query)};
    size_t count = 0;
    if (registry->past == NULL ||
        match_find(registry->past, &past, hits, BOOSTS_MAX, &count, NULL) < 0) {
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        boosts[i].id = hits[i].id;
        boosts[i].value = hits[i].coverage_all * hits[i].score / hits[0].score;
    }
    return count;
}

/* ----------------------------------------------------------------- weights */

/* Take NAME=VALUE: whether there is such a name. */
static bool take_weight(const char *argument) {
#define TAKE_WEIGHT(name)                                                               \
    if (strncmp(argument, #name "=", sizeof #name) == 0) {                              \
        weights.name = (__typeof__(weights.name))strtod(argument + sizeof #name, NULL); \
        return true;                                                                    \
    }
    WEIGHT_TABLE(TAKE_WEIGHT)
#undef TAKE_WEIGHT
#define TAKE_FIELD(name)                      \
    if (strcmp(argument, "no=" #name) == 0) { \
        left_out.name = true;                 \
        return true;                          \
    }
    FIELD_TABLE(TAKE_FIELD)
#undef TAKE_FIELD
    return false;
}

/* ----------------------------------------------------------------- queries */

static void write_ranked(FILE *out, const struct registry *registry, const char *id,
                         const struct match_hit *hits, size_t count) {
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    yyjson_mut_doc_set_root(doc, root);
    (void)yyjson_mut_obj_add_str(doc, root, "id", id);
    yyjson_mut_val *ranked = yyjson_mut_obj_add_arr(doc, root, "ranked");
    for (size_t i = 0; i < count; i++) {
        (void)yyjson_mut_arr_add_str(doc, ranked, registry->tools[hits[i].id]);
    }
    char *json = yyjson_mut_write(doc, 0, NULL);
    (void)fprintf(out, "%s\n", json);
    free(json);
    yyjson_mut_doc_free(doc);
}

/* Returns how long it took. */
static uint64_t answer(const char *folder, yyjson_doc *row, FILE *out) {
    static struct match_hit hits[RANKED_MAX];
    struct match_boost boosts[BOOSTS_MAX];
    struct registry *registry = registry_of(folder, text(row, "registry"));
    const char *query = text(row, "query");
    size_t count = 0;
    uint64_t begin = clock_now_ns();
    struct match_query wanted = {
            .text = query, .length = strlen(query), .boosts = boosts, .weights = &weights};
    wanted.boost_count = find_boosts(registry, query, boosts);
    if (match_find(registry->index, &wanted, hits, RANKED_MAX, &count, NULL) < 0) {
        die("no memory");
    }
    uint64_t ns = clock_now_ns() - begin;
    write_ranked(out, registry, text(row, "id"), hits, count);
    return ns;
}

int main(int argc, char **argv) {
    bool history = false;
    if (argc < 3) {
        die("usage: eval-retrieval FOLDER OUT.jsonl [history] [NAME=VALUE|no=FIELD...]");
    }
    weights = match_weights;
    for (int i = 3; i < argc; i++) {
        if (strcmp(argv[i], "history") == 0) {
            history = true;
        } else if (!take_weight(argv[i])) {
            die(argv[i]);
        }
    }
    if (history) {
        load_history(argv[1]);
    }
    FILE *file = open_in(argv[1], "retrieval.jsonl");
    FILE *out = fopen(argv[2], "w");
    uint64_t sum = 0;
    uint64_t longest = 0;
    uint64_t count = 0;
    if (out == NULL) {
        die(argv[2]);
    }
    for (yyjson_doc *row; (row = read_row(file)) != NULL; yyjson_doc_free(row)) {
        uint64_t ns = answer(argv[1], row, out);
        longest = ns > longest ? ns : longest;
        sum += ns;
        count++;
    }
    (void)fclose(file);
    (void)fprintf(stderr, "mean %.3f ms, longest %.3f ms\n",
                  (double)sum / (double)(count > 0 ? count : 1) / 1e6, (double)longest / 1e6);
    return fclose(out) == 0 ? 0 : 1;
}
