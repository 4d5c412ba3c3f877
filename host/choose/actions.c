#include "choose/actions.h"

#include <string.h>

#include "base/cleanup.h"

static const char *const names[] = {
#define ACTION_NAME(constant, name) [ACTION_##constant] = name,
        ACTION_TABLE(ACTION_NAME)
#undef ACTION_NAME
};

uint32_t actions_at(const struct words *words, size_t at) {
    const struct lexicon_row *row;
    size_t rows = 0;
    uint32_t found = 0;
    if (words_match(words, at, &lexicon_actions, &row, &rows) == 0) {
        return 0;
    }
    for (size_t r = 0; r < rows; r++) {
        for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
            if (strcmp(lexicon_value(&lexicon_actions, &row[r]), names[i]) == 0) {
                found |= 1u << i;
            }
        }
    }
    return found;
}
