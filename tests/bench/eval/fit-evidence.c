/* Fit the weights of evidence.h: a conditional logit over the candidates of each parameter, by
 * stochastic gradient descent with a rate for each weight (AdaGrad) and an L2 penalty.
 *
 *     fit-evidence LABELLED FEATURES [LEFT-OUT-FOLD] >evidence-weights.c
 *
 * With a fold that is left out it is told how many of its parameters get a right value. The result
 * depends on nothing but the input: there is no random order. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EPOCHS  24
#define RATE    0.15
#define PENALTY 3e-5
/* Weights are printed in hundredths. */
#define SCALE   100.0

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

static void learn(double *weights, double *squares, size_t p, double *scores) {
    size_t from = parameters.data[p];
    size_t to = parameters.data[p + 1];
    double highest = -INFINITY;
    double all = 0;
    double good = 0;
    for (size_t c = from; c < to; c++) {
        scores[c - from] = score(weights, c);
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
            double *weight = &weights[features.data[i]];
            double g = gradient + PENALTY * *weight;
            squares[features.data[i]] += g * g;
            *weight -= RATE * g / sqrt(squares[features.data[i]] + 1e-8);
        }
    }
}

int main(int argc, char **argv) {
    if (argc < 3) {
        (void)fprintf(stderr, "usage: fit-evidence LABELLED FEATURES [LEFT-OUT-FOLD]\n");
        return 2;
    }
    read_file(argv[1]);
    size_t count = strtoul(argv[2], NULL, 10);
    uint32_t left_out = argc > 3 ? (uint32_t)atoi(argv[3]) : 99;
    double *weights = calloc(count, sizeof *weights);
    double *squares = calloc(count, sizeof *squares);
    double *scores = calloc(4096, sizeof *scores);
    double *mean = calloc(count, sizeof *mean);
    if (weights == NULL || squares == NULL || scores == NULL || mean == NULL) {
        return 1;
    }
    size_t n = parameters.count - 1;
    /* A stride that has no factor in common with n goes through all in a mixed order. */
    size_t stride = 7919;
    while (n % stride == 0) {
        stride++;
    }
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        for (size_t i = 0; i < n; i++) {
            size_t p = (i * stride + (size_t)epoch) % n;
            if (folds.data[p] != left_out) {
                learn(weights, squares, p, scores);
            }
        }
        for (size_t i = 0; epoch >= EPOCHS / 2 && i < count; i++) {
            mean[i] += weights[i] / (EPOCHS - EPOCHS / 2);
        }
    }
    size_t right = 0;
    size_t all = 0;
    for (size_t p = 0; p < n; p++) {
        size_t best = parameters.data[p];
        for (size_t c = best; c < parameters.data[p + 1]; c++) {
            best = score(mean, c) > score(mean, best) ? c : best;
        }
        if (folds.data[p] == left_out || left_out == 99) {
            all++;
            right += labels.data[best];
        }
    }
    (void)fprintf(stderr, "%zu of %zu\n", right, all);
    (void)printf("/* Fitted by tests/bench/eval/fit-evidence.c, in hundredths; see evidence.h. */\n"
                 "#include \"choose/evidence.h\"\n\nconst int16_t evidence_weights[] = {");
    for (size_t i = 0; i < count; i++) {
        double weight = mean[i] * SCALE;
        weight = weight > 3000 ? 3000 : weight < -3000 ? -3000 : weight;
        (void)printf("%s%d,", i % 20 == 0 ? "\n" : "", (int)lround(weight));
    }
    (void)printf("\n};\nconst size_t evidence_weight_count = sizeof evidence_weights / sizeof "
                 "*evidence_weights;\n");
    return 0;
}
