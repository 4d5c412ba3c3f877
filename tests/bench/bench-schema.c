/* What validating one tool call's arguments costs: five parameters, a valid object, already parsed.
 *
 * Three rows from one run, each the median of several rounds, taken in turns so that a slow moment
 * of the machine hits all: a validator written by hand for this one schema (the floor), ours, and
 * ajv's compiled code when node is there and NODE_MODULES names a folder that has it. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "base/clock.h"
#include "base/error.h"
#include "schema/schema.h"

#define ROUNDS       15
#define CALLS        400000u
#define COMMAND_ROOM 4096

static const char schema_text[] =
        "{\"type\":\"object\",\"properties\":{"
        "\"path\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":4096},"
        "\"mode\":{\"type\":\"string\",\"enum\":[\"literal\",\"regex\",\"glob\"]},"
        "\"limit\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":1000},"
        "\"ratio\":{\"type\":\"number\",\"minimum\":0,\"maximum\":1},"
        "\"recursive\":{\"type\":\"boolean\"}},"
        "\"required\":[\"path\",\"mode\"],\"additionalProperties\":false}";
static const char instance_text[] =
        "{\"path\":\"/srv/data/projects/report-2026.txt\",\"mode\":\"regex\",\"limit\":25,"
        "\"ratio\":0.75,\"recursive\":true}";

#define PARAMETERS 5u

/* Lengths are constants, so that the compiler turns each comparison into a load or two. */
#define IS(value, text)                                 \
    (unsafe_yyjson_get_len(value) == sizeof text - 1 && \
     memcmp(unsafe_yyjson_get_str(value), text, sizeof text - 1) == 0)

/* What one would write who knows the schema and nothing else. */
static inline bool check_parameter(yyjson_val *key, yyjson_val *value, yyjson_val **slots,
                                   unsigned *seen) {
    if (IS(key, "path")) {
        slots[0] = value;
        *seen |= 1;
        return yyjson_is_str(value) && unsafe_yyjson_get_len(value) >= 1 &&
               unsafe_yyjson_get_len(value) <= 4096;
    }
    if (IS(key, "mode")) {
        slots[1] = value;
        *seen |= 2;
        return yyjson_is_str(value) &&
               (IS(value, "literal") || IS(value, "regex") || IS(value, "glob"));
    }
    if (IS(key, "limit")) {
        slots[2] = value;
        return yyjson_is_int(value) && unsafe_yyjson_get_sint(value) >= 1 &&
               unsafe_yyjson_get_sint(value) <= 1000;
    }
    if (IS(key, "ratio")) {
        slots[3] = value;
        return yyjson_is_num(value) && yyjson_get_num(value) >= 0 && yyjson_get_num(value) <= 1;
    }
    slots[4] = value;
    return IS(key, "recursive") && yyjson_is_bool(value);
}

static __attribute__((noinline)) bool check_by_hand(yyjson_val *object, yyjson_val **slots) {
    unsigned seen = 0;
    size_t i = 0;
    size_t count = 0;
    yyjson_val *key = NULL;
    yyjson_val *value = NULL;
    memset(slots, 0, PARAMETERS * sizeof *slots);
    if (!yyjson_is_obj(object)) {
        return false;
    }
    yyjson_obj_foreach (object, i, count, key, value) {
        if (!check_parameter(key, value, slots, &seen)) {
            return false;
        }
    }
    return seen == 3;
}

/* The second floor: the same schema as a table, walked by the least code that does it. What is
 * general about a general validator comes on top of this. */
struct row {
    const char *name;
    size_t length;
    yyjson_type type;
    double low, high;
    const char *const *choices;
};

static const char *const mode_choices[] = {"literal", "regex", "glob", NULL};
static const struct row table[PARAMETERS] = {
        {"path", 4, YYJSON_TYPE_STR, 1, 4096, NULL},
        {"mode", 4, YYJSON_TYPE_STR, 0, 4096, mode_choices},
        {"limit", 5, YYJSON_TYPE_NUM, 1, 1000, NULL},
        {"ratio", 5, YYJSON_TYPE_NUM, 0, 1, NULL},
        {"recursive", 9, YYJSON_TYPE_BOOL, 0, 0, NULL},
};

static bool check_row(const struct row *row, yyjson_val *value) {
    if (yyjson_get_type(value) != row->type) {
        return false;
    }
    const char *const *choice = row->choices;
    while (choice != NULL && *choice != NULL && !yyjson_equals_str(value, *choice)) {
        choice++;
    }
    double size = row->type == YYJSON_TYPE_STR   ? (double)yyjson_get_len(value)
                  : row->type == YYJSON_TYPE_NUM ? yyjson_get_num(value)
                                                 : 0;
    return size >= row->low && size <= row->high && (choice == NULL || *choice != NULL);
}

static __attribute__((noinline)) bool check_by_table(const struct row *rows, yyjson_val *object,
                                                     yyjson_val **slots) {
    unsigned seen = 0;
    size_t i = 0;
    size_t count = 0;
    yyjson_val *key = NULL;
    yyjson_val *value = NULL;
    memset(slots, 0, PARAMETERS * sizeof *slots);
    yyjson_obj_foreach (object, i, count, key, value) {
        size_t row = 0;
        while (row < PARAMETERS && !yyjson_equals_strn(key, rows[row].name, rows[row].length)) {
            row++;
        }
        if (row == PARAMETERS || !check_row(&rows[row], value)) {
            return false;
        }
        slots[row] = value;
        seen |= 1u << row;
    }
    return (seen & 3) == 3;
}

static double round_by_table(yyjson_val *object) {
    yyjson_val *slots[PARAMETERS];
    const struct row *volatile rows = table;
    unsigned valid = 0;
    uint64_t start = clock_now_ns();
    for (unsigned i = 0; i < CALLS; i++) {
        valid += check_by_table(rows, object, slots);
    }
    double ns = (double)(clock_now_ns() - start) / CALLS;
    return valid == CALLS ? ns : -1;
}

static double round_by_hand(yyjson_val *object) {
    yyjson_val *slots[PARAMETERS];
    unsigned valid = 0;
    uint64_t start = clock_now_ns();
    for (unsigned i = 0; i < CALLS; i++) {
        valid += check_by_hand(object, slots);
    }
    double ns = (double)(clock_now_ns() - start) / CALLS;
    return valid == CALLS ? ns : -1;
}

/* As a call does it. */
static double round_compiled(const struct schema *schema, yyjson_val *object) {
    yyjson_val *slots[PARAMETERS];
    unsigned valid = 0;
    uint64_t start = clock_now_ns();
    for (unsigned i = 0; i < CALLS; i++) {
        valid += schema_validate_quickly(schema, object, slots, PARAMETERS) ||
                 schema_validate_object(schema, object, slots, PARAMETERS, NULL);
    }
    double ns = (double)(clock_now_ns() - start) / CALLS;
    return valid == CALLS ? ns : -1;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *rounds) {
    qsort(rounds, ROUNDS, sizeof *rounds, by_size);
    return rounds[ROUNDS / 2];
}

/* The median that ajv.mjs prints, or 0. */
static double measure_ajv(const char *folder) {
    const char *modules = getenv("NODE_MODULES");
    if (modules == NULL) {
        return 0;
    }
    char command[COMMAND_ROOM];
    (void)snprintf(command, sizeof command, "node '%s/ajv.mjs' '%s' '%s' '%s'", folder, modules,
                   schema_text, instance_text);
    FILE *node = popen(command, "r");
    double ns = 0;
    if (node != NULL) {
        if (fscanf(node, "%lf", &ns) != 1) {
            ns = 0;
        }
        (void)pclose(node);
    }
    return ns;
}

static double measure_compile(yyjson_val *root) {
    uint64_t start = clock_now_ns();
    struct schema_options options = SCHEMA_OPTIONS_TOOL;
    for (unsigned i = 0; i < 2000; i++) {
        struct schema *schema = NULL;
        if (schema_compile(root, &options, &schema, NULL) < 0) {
            return -1;
        }
        schema_destroy(schema);
    }
    return (double)(clock_now_ns() - start) / 2000;
}

int main(void) {
    yyjson_doc *schema_doc = yyjson_read(schema_text, strlen(schema_text), 0);
    yyjson_doc *doc = yyjson_read(instance_text, strlen(instance_text), 0);
    yyjson_val *object = yyjson_doc_get_root(doc);
    struct schema *schema = NULL;
    struct toolrack_error err;
    if (schema_compile(yyjson_doc_get_root(schema_doc), NULL, &schema, &err) < 0) {
        (void)fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    double hand[ROUNDS];
    double walk[ROUNDS];
    double ours[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        hand[i] = round_by_hand(object);
        walk[i] = round_by_table(object);
        ours[i] = round_compiled(schema, object);
    }
    double hand_ns = median(hand);
    double walk_ns = median(walk);
    double ours_ns = median(ours);
    double ajv_ns = measure_ajv(AJV_FOLDER);
    (void)printf("%-28s %8.1f ns  [%.1f..%.1f]\n", "unrolled by hand", hand_ns, hand[0],
                 hand[ROUNDS - 1]);
    (void)printf("%-28s %8.1f ns  [%.1f..%.1f]\n", "table walk (floor)", walk_ns, walk[0],
                 walk[ROUNDS - 1]);
    (void)printf("%-28s %8.1f ns  [%.1f..%.1f]  %.2f x floor\n", "ours", ours_ns, ours[0],
                 ours[ROUNDS - 1], ours_ns / walk_ns);
    if (ajv_ns > 0) {
        (void)printf("%-28s %8.1f ns  ours is %.2f x ajv\n", "ajv, compiled", ajv_ns,
                     ours_ns / ajv_ns);
    } else {
        (void)puts("ajv: skipped; set NODE_MODULES to a node_modules folder that has ajv 8");
    }
    (void)printf("%-28s %8.0f ns\n", "compiling the schema",
                 measure_compile(yyjson_doc_get_root(schema_doc)));
    schema_destroy(schema);
    yyjson_doc_free(doc);
    yyjson_doc_free(schema_doc);
    return 0;
}
