/* The weights of host/choose/evaluate.c: calibrate MEASURES
 *
 * MEASURES is what eval-judge prints. One linear score has to do two things: the right tools have
 * the highest one (softmax over the candidates of a text), and that of the best candidate is above
 * 0 if and only if a tool is right (logistic regression, where texts with and without a tool count
 * alike). Prints how that goes for each of five folds, by the hash of the text's id, with weights
 * of the other four; then the weights for all. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_MAX   400000u
#define ITEMS_MAX  40000u
#define COLUMNS    48u
#define FOLDS      5u
#define STEPS      200u
#define MEMORY     12u
#define PENALTY    0.003
#define SURE_COUNT 1.2 /* how much the second thing counts, for the first */
#define FIRST      5u  /* so many candidates count where several tools are right */

/* What the score is made of. X(name, how it is computed of a row's columns) */
#define PARTS(X)                                              \
    X(bias, 1)                                                \
    X(shared, value(row, "shared"))                           \
    X(objects, value(row, "objects"))                         \
    X(name, value(row, "name"))                               \
    X(purpose, value(row, "purpose"))                         \
    X(head, value(row, "head"))                               \
    X(intent, value(row, "intent"))                           \
    X(beside, best > 0 ? value(row, "match") / best - 1 : -1) \
    X(coverage, value(row, "mcover"))                         \
    X(named, value(row, "mname"))                             \
    X(fit, value(row, "fit"))                                 \
    X(required, fmin(8, value(row, "required")))              \
    X(given, fmin(8, value(row, "given")))                    \
    X(kind, fmin(3, value(row, "ofkind")))                    \
    X(spare, fmin(3, value(row, "left")))

enum {
#define PART_INDEX(name, how) PART_##name,
    PARTS(PART_INDEX)
#undef PART_INDEX
            PART_COUNT
};
static const char *const part_names[] = {
#define PART_NAME(name, how) #name,
        PARTS(PART_NAME)
#undef PART_NAME
};

/* The sets of the data, and how much each counts for the order and for the certainty. A set whose
 * texts are far from plain counts less, and one for which most is asked more. */
static const struct family {
    const char *task;
    const char *source; /* as its name begins */
    const char *part;   /* as it has; NULL: any */
    double order;
    double certainty;
} families[] = {
        {"select", "ace", NULL, 0.6, 3.5},         {"select", "bfcl", "live", 0.6, 1},
        {"select", "bfcl", NULL, 0.6, 1},          {"select", "metatool_r", NULL, 0.6, 0.15},
        {"select", "metatool_a", NULL, 0.3, 0.15}, {"retrieval", "seal", NULL, 1.2, 0},
        {"retrieval", "toolbench", NULL, 1, 0},    {"retrieval", "ace", NULL, 1.5, 0},
        {"retrieval", "azure", NULL, 1, 0},        {"retrieval", "metatool", NULL, 1, 0},
        {"retrieval", "ha_en", NULL, 1, 0},        {"retrieval", "ha_zh", NULL, 1, 0},
        {"retrieval", "livemcp", NULL, 0.3, 0},
};
#define FAMILIES (sizeof families / sizeof families[0])

enum kind { RIGHT, WRONG, NONE, ANY };

struct row {
    double parts[PART_COUNT];
    double columns[COLUMNS];
    double score;
    enum kind kind;
};

struct item {
    char id[256];
    size_t family;
    unsigned fold;
    unsigned golds;
    struct row *rows;
    size_t count;
};

static struct row rows[ROWS_MAX];
static size_t row_count;
static struct item items[ITEMS_MAX];
static size_t item_count;
static char *columns[COLUMNS];
static size_t column_count;

static void stop(const char *what) {
    (void)fprintf(stderr, "calibrate: %s\n", what);
    exit(1);
}

/* ----------------------------------------------------------------- reading */

static size_t column(const char *name) {
    for (size_t i = 0; i < column_count; i++) {
        if (strcmp(columns[i], name) == 0) {
            return i;
        }
    }
    stop(name);
    return 0;
}

static double value(const struct row *row, const char *name) {
    return row->columns[column(name)];
}

static size_t family_of(const char *task, const char *source) {
    for (size_t i = 0; i < FAMILIES; i++) {
        const struct family *family = &families[i];
        if (strcmp(task, family->task) == 0 &&
            strncmp(source, family->source, strlen(family->source)) == 0 &&
            (family->part == NULL || strstr(source, family->part) != NULL)) {
            return i;
        }
    }
    stop(source);
    return 0;
}

static unsigned fold_of(const char *id) {
    uint64_t hash = 14695981039346656037u;
    for (; *id != '\0'; id++) {
        hash = (hash ^ (unsigned char)*id) * 1099511628211u;
    }
    return (unsigned)(hash >> 32) % FOLDS;
}

static size_t split(char *line, char *ret[COLUMNS]) {
    size_t count = 0;
    line[strcspn(line, "\n")] = '\0';
    for (char *cell; count < COLUMNS && (cell = strsep(&line, "\t")) != NULL;) {
        ret[count++] = cell;
    }
    return count;
}

static void take_row(char *const cells[COLUMNS]) {
    static char last[512];
    char key[512];
    (void)snprintf(key, sizeof key, "%s %s", cells[column("task")], cells[column("id")]);
    if (strcmp(key, last) != 0 && item_count < ITEMS_MAX) {
        struct item *item = &items[item_count++];
        *item = (struct item){.family = family_of(cells[column("task")], cells[column("src")]),
                              .fold = fold_of(cells[column("id")]),
                              .golds = (unsigned)atoi(cells[column("golds")]),
                              .rows = &rows[row_count]};
        (void)snprintf(last, sizeof last, "%s", key);
    }
    if (row_count == ROWS_MAX || item_count == ITEMS_MAX) {
        stop("too many rows");
    }
    struct row *row = &rows[row_count++];
    const char *kind = cells[column("kind")];
    row->kind = strcmp(kind, "this") == 0    ? RIGHT
                : strcmp(kind, "other") == 0 ? WRONG
                : strcmp(kind, "none") == 0  ? NONE
                                             : ANY;
    for (size_t i = column("kind") + 1; i < column_count; i++) {
        row->columns[i] = atof(cells[i]);
    }
    items[item_count - 1].count++;
}

static void set_parts(const struct item *item) {
    double best = 0;
    for (size_t i = 0; i < item->count; i++) {
        best = fmax(best, value(&item->rows[i], "match"));
    }
    for (size_t i = 0; i < item->count; i++) {
        struct row *row = &item->rows[i];
#define SET_PART(name, how) row->parts[PART_##name] = how;
        PARTS(SET_PART)
#undef SET_PART
    }
}

static void read_all(const char *path) {
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t room = 0;
    char *cells[COLUMNS];
    if (file == NULL || getline(&line, &room, file) <= 0) {
        stop(path);
    }
    column_count = split(strdup(line), columns);
    while (getline(&line, &room, file) > 0) {
        if (split(line, cells) != column_count) {
            stop("a row has another number of columns");
        }
        take_row(cells);
    }
    free(line);
    (void)fclose(file);
    for (size_t i = 0; i < item_count; i++) {
        set_parts(&items[i]);
    }
}

/* ----------------------------------------------------------------- fitting */

static double dot(const double *a, const double *b) {
    double sum = 0;
    for (size_t i = 0; i < PART_COUNT; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

static void add(double *sum, double count, const double *parts) {
    for (size_t i = 0; i < PART_COUNT; i++) {
        sum[i] += count * parts[i];
    }
}

/* Returns the best. */
static const struct row *score(const struct item *item, const double *weights) {
    const struct row *best = item->rows; /* there is one */
    for (size_t i = 0; i < item->count; i++) {
        item->rows[i].score = dot(item->rows[i].parts, weights);
        best = item->rows[i].score > best->score ? &item->rows[i] : best;
    }
    return best;
}

/* The likelihood that each right tool comes before the wrong ones. */
static double order_gain(const struct item *item, double most, double count, double *slope) {
    double gain = 0;
    double wrong = 0;
    unsigned right = 0;
    for (size_t i = 0; i < item->count; i++) {
        right += item->rows[i].kind == RIGHT;
        wrong += item->rows[i].kind == RIGHT ? 0 : exp(item->rows[i].score - most);
    }
    for (size_t i = 0; i < item->count; i++) {
        const struct row *row = &item->rows[i];
        double all = wrong + exp(row->score - most);
        if (row->kind != RIGHT) {
            continue;
        }
        gain += count / right * (row->score - most - log(all));
        add(slope, count / right * wrong / all, row->parts);
        for (size_t k = 0; k < item->count; k++) {
            const struct row *other = &item->rows[k];
            if (other->kind != RIGHT) {
                add(slope, -count / right * exp(other->score - most) / all, other->parts);
            }
        }
    }
    return gain;
}

/* The likelihood of what the best candidate, or the right one, says. */
static double certainty_gain(const struct item *item, const struct row *best, double count,
                             double *slope) {
    const struct row *row = best;
    for (size_t i = 0; i < item->count; i++) {
        row = item->rows[i].kind == RIGHT ? &item->rows[i] : row;
    }
    double target = item->golds > 0;
    double chance = 1 / (1 + exp(-row->score));
    add(slope, count * (target - chance), row->parts);
    return count * log(fmax(1e-300, item->golds > 0 ? chance : 1 - chance));
}

/* How many items of each family are learned from: without and with a right tool. */
static void count_items(unsigned left_out, double ret[FAMILIES][2]) {
    memset(ret, 0, FAMILIES * sizeof ret[0]);
    for (size_t i = 0; i < item_count; i++) {
        ret[items[i].family][items[i].golds > 0] += items[i].fold != left_out;
    }
}

/* What is to be made as large as possible, and its slope. */
static double gain_of(const double *weights, unsigned left_out, double *slope) {
    double counts[FAMILIES][2];
    double gain = 0;
    count_items(left_out, counts);
    memset(slope, 0, PART_COUNT * sizeof *slope);
    for (size_t i = 0; i < item_count; i++) {
        const struct item *item = &items[i];
        const struct family *family = &families[item->family];
        const double *count = counts[item->family];
        if (item->fold != left_out) {
            const struct row *best = score(item, weights);
            gain += order_gain(item, best->score, family->order / (count[0] + count[1]), slope);
            if (family->certainty > 0) {
                gain += certainty_gain(
                        item, best, SURE_COUNT * family->certainty / count[item->golds > 0], slope);
            }
        }
    }
    for (size_t i = 1; i < PART_COUNT; i++) {
        gain -= PENALTY / 2 * weights[i] * weights[i];
        slope[i] -= PENALTY * weights[i];
    }
    return gain;
}

/* L-BFGS: where the last steps and the changes of the slope say that it goes up. */
struct memory {
    double steps[MEMORY][PART_COUNT];
    double changes[MEMORY][PART_COUNT];
    size_t count;
};

static void direction(const struct memory *memory, const double *slope, double *ret) {
    double shares[MEMORY];
    size_t kept = memory->count < MEMORY ? memory->count : MEMORY;
    memcpy(ret, slope, PART_COUNT * sizeof *ret);
    for (size_t i = 0; i < kept; i++) {
        size_t at = (memory->count - 1 - i) % MEMORY;
        const double *step = memory->steps[at];
        const double *change = memory->changes[at];
        shares[i] = dot(step, ret) / dot(step, change);
        add(ret, -shares[i], change);
    }
    for (size_t i = 0; i < PART_COUNT && kept > 0; i++) {
        size_t at = (memory->count - 1) % MEMORY;
        ret[i] *= dot(memory->steps[at], memory->changes[at]) /
                  dot(memory->changes[at], memory->changes[at]);
    }
    for (size_t i = kept; i-- > 0;) {
        size_t at = (memory->count - 1 - i) % MEMORY;
        double share = dot(memory->changes[at], ret) / dot(memory->steps[at], memory->changes[at]);
        add(ret, shares[i] - share, memory->steps[at]);
    }
}

static void fit(unsigned left_out, double *weights) {
    struct memory memory = {.count = 0};
    double slope[PART_COUNT];
    memset(weights, 0, PART_COUNT * sizeof *weights);
    double gain = gain_of(weights, left_out, slope);
    for (unsigned step = 0; step < STEPS; step++) {
        double way[PART_COUNT];
        double there[PART_COUNT];
        double slope_there[PART_COUNT];
        double gain_there = gain;
        direction(&memory, slope, way);
        double length = 1;
        for (; length > 1e-6; length /= 2) {
            memcpy(there, weights, sizeof there);
            add(there, length, way);
            gain_there = gain_of(there, left_out, slope_there);
            if (gain_there > gain) {
                break;
            }
        }
        if (gain_there <= gain) {
            return;
        }
        double *moved = memory.steps[memory.count % MEMORY];
        double *changed = memory.changes[memory.count % MEMORY];
        for (size_t i = 0; i < PART_COUNT; i++) {
            moved[i] = there[i] - weights[i];
            changed[i] = slope[i] - slope_there[i];
        }
        memory.count += dot(moved, changed) > 1e-12;
        memcpy(weights, there, sizeof there);
        memcpy(slope, slope_there, sizeof slope);
        gain = gain_there;
    }
}

/* ----------------------------------------------------------------- judging */

/* How many of the best candidates are right. */
static unsigned right_of(const struct item *item, unsigned most) {
    unsigned right = 0;
    for (size_t i = 0; i < item->count; i++) {
        unsigned before = 0;
        for (size_t k = 0; k < item->count; k++) {
            before += item->rows[k].score > item->rows[i].score ||
                      (k < i && item->rows[k].score >= item->rows[i].score);
        }
        right += item->rows[i].kind == RIGHT && before < most;
    }
    return right;
}

/* By family: what is found of the right tools; how often it is right to choose, and not to. */
struct result {
    double found[2]; /* the sum, and of how many */
    double chosen[2];
    double declined[2];
};

static void judge(unsigned fold, const double *weights, struct result ret[FAMILIES]) {
    for (size_t i = 0; i < item_count; i++) {
        const struct item *item = &items[i];
        struct result *result = &ret[item->family];
        if (item->fold == fold) {
            double certainty = score(item, weights)->score;
            unsigned most = item->golds > 1 ? FIRST : 1;
            double *chosen = item->golds > 0 ? result->chosen : result->declined;
            result->found[0] += item->golds > 0 ? (double)right_of(item, most) / item->golds : 0;
            result->found[1] += item->golds > 0 && item->rows[0].kind != ANY;
            chosen[0] += (certainty >= 0) == (item->golds > 0);
            chosen[1]++;
        }
    }
}

static void print_results(struct result results[FOLDS][FAMILIES]) {
    for (size_t f = 0; f < FAMILIES; f++) {
        const struct family *family = &families[f];
        printf("%s %s %s: found", family->task, family->source,
               family->part != NULL ? family->part : "");
        for (unsigned fold = 0; fold < FOLDS; fold++) {
            printf(" %.3f", results[fold][f].found[0] / fmax(1, results[fold][f].found[1]));
        }
        printf(family->certainty > 0 ? "; chosen or declined" : "");
        for (unsigned fold = 0; fold < FOLDS && family->certainty > 0; fold++) {
            const struct result *result = &results[fold][f];
            printf(" %.3f", (result->chosen[0] / result->chosen[1] +
                             result->declined[0] / result->declined[1]) /
                                    2);
        }
        printf("\n");
    }
}

int main(int argc, char **argv) {
    static struct result results[FOLDS][FAMILIES];
    double weights[PART_COUNT];
    if (argc != 2) {
        stop("calibrate MEASURES");
    }
    read_all(argv[1]);
    for (unsigned fold = 0; fold < FOLDS; fold++) {
        fit(fold, weights);
        judge(fold, weights, results[fold]);
    }
    print_results(results);
    fit(FOLDS, weights);
    for (size_t i = 0; i < PART_COUNT; i++) {
        printf("%s %.2f\n", part_names[i], weights[i]);
    }
    return 0;
}
