/* Fit the weights of evidence.h: a conditional logit over the candidates of each parameter, by
 * stochastic gradient descent with a rate for each weight (AdaGrad).
 *
 *     fit-evidence LABELLED [LEFT-OUT-FOLD] >evidence-weights.c
 *
 * It is fitted twice: first with an L1 penalty, which finds the features that matter, then those
 * alone with an L2 penalty. With a fold that is left out it is told how many of its parameters get
 * a right value. The result depends on nothing but the input: there is no random order. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "choose/evidence.h"

#define EPOCHS     24
#define RATE       0.15
/* The L1 penalty is of the sum over all parameters: a feature whose gradient is smaller stays zero.
 * The L2 penalty is of one parameter. */
#define PENALTY_L1 1.0
#define PENALTY_L2 1e-3
/* Weights are printed in hundredths. */
#define SCALE      100.0

/* No fold is left out. */
#define NO_FOLD 99u

struct list {
    uint32_t *data;
    size_t count;
    size_t room;
};

static void push(struct list *list, uint32_t item) {
    if (list->count == list->room) {
        list->room = list->room * 2 + 4096;
        list->data = realloc(list->data, list->room * sizeof *list->data);
        if (list->data == NULL) {
            exit(1);
        }
    }
    list->data[list->count++] = item;
}

/* Offsets: of parameters into candidates, of candidates into features. */
static struct list parameters, candidates, features, labels, folds;

static void read_file(const char *path) {
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t room = 0;
    if (file == NULL) {
        perror(path);
        exit(1);
    }
    while (getline(&line, &room, file) > 0) {
        if (line[0] == 'P') {
            push(&parameters, (uint32_t)candidates.count);
            push(&folds, (uint32_t)atoi(line + 2));
            continue;
        }
        push(&labels, line[0] == '1');
        push(&candidates, (uint32_t)features.count);
        for (char *at = line + 1; *at != '\0';) {
            char *end;
            unsigned long feature = strtoul(at, &end, 10);
            if (end == at) {
                break;
            }
            push(&features, (uint32_t)feature);
            at = end;
        }
    }
    push(&parameters, (uint32_t)candidates.count);
    push(&candidates, (uint32_t)features.count);
    free(line);
    (void)fclose(file);
}

static double score(const double *weights, size_t candidate) {
    double sum = 0;
    for (uint32_t i = candidates.data[candidate]; i < candidates.data[candidate + 1]; i++) {
        sum += weights[features.data[i]];
    }
    return sum;
}

static const char head[] =
        "/* The weights of evidence.h, in hundredths; features that are not listed have none.\n"
        " *\n"
        " * Fitted, not written: by a conditional logit with an L1 penalty, on sentences of "
        "public\n"
        " * benchmarks of tool calls (English and Chinese) of which the right arguments are known. "
        "No\n"
        " * word of them is here: a feature is a kind of value with a kind of parameter, a cue, or "
        "a\n"
        " * distance. To make it anew, with a folder of such data as tests/bench/eval/eval.h reads "
        "it,\n"
        " * and its score.py, after `meson setup -Dbench=enabled`:\n"
        " *\n"
        " *     eval-evidence DATA/tools DATA/args.jsonl >features\n"
        " *     label-evidence.py DATA/score.py DATA/args.jsonl <features >labelled\n"
        " *     fit-evidence labelled | clang-format >host/choose/evidence-weights.c\n"
        " *\n"
        " * Whether a change is better is told by the folds: `fit-evidence labelled 0` to 4 "
        "leaves\n"
        " * one out. */\n"
        "#include \"choose/evidence.h\"\n\n"
        "const int16_t evidence_weights[EVIDENCE_FEATURE_COUNT] = {";

/* What is learnt: a weight for each feature, its mean over the later epochs, and the sum of the
 * squares of its gradients. */
struct model {
    double weights[EVIDENCE_FEATURE_COUNT];
    double means[EVIDENCE_FEATURE_COUNT];
    double squares[EVIDENCE_FEATURE_COUNT];
    bool used[EVIDENCE_FEATURE_COUNT];
};
static struct model model;

static void step(uint32_t feature, double gradient, double penalty) {
    if (model.used[feature]) {
        double g = gradient + penalty * model.weights[feature];
        model.squares[feature] += g * g;
        model.weights[feature] -= RATE * g / sqrt(model.squares[feature] + 1e-8);
    }
}

static void learn(size_t p, double penalty) {
    static double scores[EVIDENCE_CANDIDATES_MAX];
    size_t from = parameters.data[p];
    size_t to = parameters.data[p + 1];
    double highest = -INFINITY;
    double all = 0;
    double good = 0;
    for (size_t c = from; c < to; c++) {
        scores[c - from] = score(model.weights, c);
        highest = fmax(highest, scores[c - from]);
    }
    for (size_t c = from; c < to; c++) {
        scores[c - from] = exp(scores[c - from] - highest);
        all += scores[c - from];
        good += labels.data[c] ? scores[c - from] : 0;
    }
    for (size_t c = from; c < to; c++) {
        double share = scores[c - from] / all;
        double gradient = share - (labels.data[c] ? scores[c - from] / fmax(good, 1e-300) : 0);
        if (fabs(gradient) < 1e-5) {
            continue;
        }
        for (uint32_t i = candidates.data[c]; i < candidates.data[c + 1]; i++) {
            step(features.data[i], gradient, penalty);
        }
    }
}

/* The L1 penalty of one epoch. */
static void shrink(double penalty) {
    for (size_t i = 0; i < EVIDENCE_FEATURE_COUNT; i++) {
        double by = RATE * penalty / sqrt(model.squares[i] + 1e-8);
        double size = fmax(fabs(model.weights[i]) - by, 0);
        model.weights[i] = copysign(size, model.weights[i]);
    }
}

/* Weights of the features that are used; all others are zero. */
static void fit(uint32_t left_out, double l1, double l2) {
    size_t n = parameters.count - 1;
    /* A stride that has no factor in common with n goes through all in a mixed order. */
    size_t stride = 7919;
    while (n % stride == 0) {
        stride++;
    }
    memset(model.weights, 0, sizeof model.weights);
    memset(model.means, 0, sizeof model.means);
    memset(model.squares, 0, sizeof model.squares);
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        for (size_t i = 0; i < n; i++) {
            size_t p = (i * stride + (size_t)epoch) % n;
            if (folds.data[p] != left_out) {
                learn(p, l2);
            }
        }
        shrink(l1);
        for (size_t i = 0; epoch >= EPOCHS / 2 && i < EVIDENCE_FEATURE_COUNT; i++) {
            model.means[i] += model.weights[i] / (EPOCHS - EPOCHS / 2);
        }
    }
}

static void tell(uint32_t left_out, size_t used) {
    size_t right = 0;
    size_t all = 0;
    for (size_t p = 0; p + 1 < parameters.count; p++) {
        size_t best = parameters.data[p];
        for (size_t c = best; c < parameters.data[p + 1]; c++) {
            best = score(model.means, c) > score(model.means, best) ? c : best;
        }
        if (folds.data[p] == left_out || left_out == NO_FOLD) {
            all++;
            right += labels.data[best];
        }
    }
    (void)fprintf(stderr, "%zu of %zu with %zu weights\n", right, all, used);
}

static void print_weights(void) {
    size_t printed = 0;
    (void)printf("%s", head);
    for (size_t i = 0; i < EVIDENCE_FEATURE_COUNT; i++) {
        double weight = fmin(fmax(model.means[i] * SCALE, -3000), 3000);
        int rounded = (int)lround(weight);
        if (rounded != 0) {
            (void)printf("%s[%zu] = %d,", printed++ % 7 == 0 ? "\n        " : " ", i, rounded);
        }
    }
    (void)printf("\n};\n");
}

int main(int argc, char **argv) {
    if (argc < 2) {
        (void)fprintf(stderr, "usage: fit-evidence LABELLED [LEFT-OUT-FOLD]\n");
        return 2;
    }
    read_file(argv[1]);
    uint32_t left_out = argc > 2 ? (uint32_t)atoi(argv[2]) : NO_FOLD;
    memset(model.used, true, sizeof model.used);
    fit(left_out, PENALTY_L1, 0);
    size_t used = 0;
    for (size_t i = 0; i < EVIDENCE_FEATURE_COUNT; i++) {
        model.used[i] = fabs(model.weights[i]) > 0;
        used += model.used[i];
    }
    fit(left_out, 0, PENALTY_L2);
    tell(left_out, used);
    print_weights();
    return 0;
}
