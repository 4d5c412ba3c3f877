#include "choose/label.h"

#include <string.h>

#include "base/ascii.h"

/* Keys of one lexicon that are remembered, so that each counts once; later ones count as often as
 * they stand. */
#define ROWS_MAX 8192u

#define AGREEMENT_UNKNOWN 0.5

size_t label_place(const struct label_names *names, const char *id, size_t length) {
    size_t at = 0;
    while (at < names->count &&
           (strncmp(names->items[at].id, id, length) != 0 || names->items[at].id[length] != '\0')) {
        at++;
    }
    return at;
}

void label_begin(struct label_tally *tally, const struct label_names *names) {
    tally->names = names;
    for (size_t i = 0; i < names->count; i++) {
        tally->sums[i].weight = 0;
        tally->sums[i].reason_count = 0;
    }
}

void label_add(struct label_tally *tally, size_t label, const struct label_reason *reason) {
    struct label_sum *sum = &tally->sums[label];
    if (sum->reason_count == 0 || reason->start < sum->first) {
        sum->first = reason->start;
    }
    sum->weight += reason->weight;
    if (sum->reason_count < LABEL_REASONS_MAX) {
        sum->reasons[sum->reason_count++] = *reason;
    }
}

/* Read "ID TAB WEIGHT". False: the label is not in the table. */
static bool read_value(const struct label_names *names, const char *value, size_t *ret_label,
                       double *ret_weight) {
    const char *tab = strchr(value, '\t');
    if (tab == NULL || !ascii_is_digit(tab[1])) {
        return false;
    }
    *ret_label = label_place(names, value, (size_t)(tab - value));
    *ret_weight = (double)(tab[1] - '0');
    return *ret_label < names->count;
}

void label_count(struct label_tally *tally, const struct lexicon *lexicon,
                 const struct words *words, label_weigh *weigh, const void *user) {
    uint8_t seen[ROWS_MAX / 8] = {0};
    size_t step;
    for (size_t at = 0; at < words->count; at += step) {
        const struct lexicon_row *first;
        size_t row_count;
        size_t length = words_match(words, at, lexicon, &first, &row_count);
        step = length > 0 ? length : 1;
        double here = length == 0 ? 0 : weigh != NULL ? weigh(user, words, at, length) : 1;
        if (!(here > 0)) {
            continue;
        }
        size_t row = (size_t)(first - lexicon->rows);
        if (row < ROWS_MAX) {
            if ((seen[row / 8] >> (row % 8) & 1) != 0) {
                continue;
            }
            seen[row / 8] = (uint8_t)(seen[row / 8] | 1u << (row % 8));
        }
        for (size_t i = 0; i < row_count; i++) {
            size_t label;
            double weight;
            if (read_value(tally->names, lexicon_value(lexicon, &first[i]), &label, &weight)) {
                label_add(tally, label,
                          &(struct label_reason){.start = words->items[at].start,
                                                 .end = words->items[at + length - 1].end,
                                                 .weight = here * weight});
            }
        }
    }
}

static bool is_before(const struct label_tally *tally, size_t a, size_t b) {
    const struct label_sum *left = &tally->sums[a];
    const struct label_sum *right = &tally->sums[b];
    if (left->weight > right->weight || left->weight < right->weight) {
        return left->weight > right->weight;
    }
    return left->first != right->first ? left->first < right->first : a < b;
}

size_t label_rank(const struct label_tally *tally, struct label *ret, size_t room) {
    size_t order[LABELS_MAX] = {0};
    size_t count = 0;
    for (size_t i = 0; i < tally->names->count; i++) {
        if (tally->sums[i].weight > 0) {
            size_t at = count++;
            for (; at > 0 && is_before(tally, i, order[at - 1]); at--) {
                order[at] = order[at - 1];
            }
            order[at] = i;
        }
    }
    count = count < room ? count : room;
    for (size_t i = 0; i < count; i++) {
        const struct label_sum *sum = &tally->sums[order[i]];
        const struct label_name *name = &tally->names->items[order[i]];
        ret[i] = (struct label){.id = name->id,
                                .name_zh = name->name_zh,
                                .score = sum->weight / (sum->weight + LABEL_HALF_WEIGHT),
                                .reason_count = sum->reason_count};
        memcpy(ret[i].reasons, sum->reasons, sizeof sum->reasons);
    }
    return count;
}

double label_agreement(const struct label *a, size_t a_count, const struct label *b,
                       size_t b_count) {
    double most = 0;
    if (a_count == 0 || b_count == 0) {
        return AGREEMENT_UNKNOWN;
    }
    for (size_t i = 0; i < a_count; i++) {
        for (size_t j = 0; j < b_count; j++) {
            if (strcmp(a[i].id, b[j].id) == 0) {
                double shared = a[i].score / a[0].score * (b[j].score / b[0].score);
                most = shared > most ? shared : most;
            }
        }
    }
    return most;
}
