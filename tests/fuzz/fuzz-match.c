/* A task and the texts of tools: whatever they are, each fit is a number from 0 to 1, and a tool
 * with no text fits nothing. Texts are separated by zeros: the task, then the fields of one tool
 * after the other. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "choose/match.h"

#define TOOLS_MAX 16u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds) {
        abort();
    }
}

static const char *next_text(const char **at, const char *end) {
    const char *text = *at;
    *at = text < end ? text + strlen(text) + 1 : text;
    return text < end ? text : NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct match_tool tools[TOOLS_MAX + 1] = {0};
    double fits[TOOLS_MAX + 1];
    struct toolrack_error err;
    char *texts = malloc(size + 1);
    require(texts != NULL);
    memcpy(texts, data, size);
    texts[size] = '\0';
    const char *at = texts;
    const char *task = next_text(&at, texts + size);
    for (size_t i = 0; i < TOOLS_MAX; i++) {
        for (size_t field = 0; field < MATCH_FIELDS; field++) {
            tools[i].fields[field] = next_text(&at, texts + size);
        }
    }
    require(match_task(task != NULL ? task : "", tools, TOOLS_MAX + 1, fits, &err) == 0);
    for (size_t i = 0; i < TOOLS_MAX + 1; i++) {
        require(fits[i] >= 0 && fits[i] <= 1);
    }
    require(!(fits[TOOLS_MAX] > 0));
    free(texts);
    return 0;
}
