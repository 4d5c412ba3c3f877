/* A text and a tool: whatever they are, labels stay inside the text, and each measure is a number
 * from 0 to 1. Texts are separated by zeros: the wish, then name, description and schema. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "choose/evaluate.h"
#include "choose/intent.h"
#include "choose/scene.h"

#define LABELS 5u

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

static void check_labels(const struct label *labels, size_t count, size_t length) {
    for (size_t i = 0; i < count; i++) {
        require(labels[i].score > 0 && labels[i].score < 1);
        require(i == 0 || labels[i].score <= labels[i - 1].score);
        for (size_t k = 0; k < labels[i].reason_count; k++) {
            require(labels[i].reasons[k].start < labels[i].reasons[k].end);
            require(labels[i].reasons[k].end <= length);
        }
    }
}

static void check_evaluation(const struct evaluation *evaluation) {
    require(evaluation->count == 1);
    const struct evaluated *item = &evaluation->items[0];
    const double numbers[] = {
#define MEMBER(name) item->fit.name,
            FIT_MEASURES(MEMBER)
#undef MEMBER
                    item->score,
            item->function, item->parameters, item->cost, item->success};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        require(numbers[i] >= 0 && numbers[i] <= 1.000001);
    }
    require(evaluation->abstained == (evaluation->question != NULL));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct words words;
    struct values *values;
    struct evaluation evaluation;
    struct label scenes[LABELS];
    struct label intents[LABELS];
    char *texts = malloc(size + 1);
    require(texts != NULL);
    memcpy(texts, data, size);
    texts[size] = '\0';
    const char *at = texts;
    const char *text = next_text(&at, texts + size);
    text = text != NULL ? text : "";
    size_t length = strlen(text);
    struct evaluate_tool tool = {.texts.name = next_text(&at, texts + size)};
    tool.texts.description = next_text(&at, texts + size);
    tool.texts.schema_json = next_text(&at, texts + size);
    struct profile *profile;
    require(profile_create(&tool.texts, NULL, &profile, NULL) == 0);
    tool.profile = profile;
    require(words_read(text, length, &words, NULL) == 0);
    require(values_read(text, length, NULL, &values, NULL) == 0);
    struct fit_wish wish = {.text = text, .length = length, .words = &words};
    wish.scene = scenes;
    wish.scene_count = scene_find(text, length, &words, NULL, scenes, LABELS);
    wish.intent = intents;
    wish.intent_count = intent_find(&words, intents, LABELS);
    check_labels(scenes, wish.scene_count, length);
    check_labels(intents, wish.intent_count, length);
    require(intent_steps(&words) >= 1);
    require(evaluate(&wish, values, &tool, 1, &evaluation, NULL) == 0);
    check_evaluation(&evaluation);
    evaluation_finish(&evaluation);
    values_destroy(values);
    words_finish(&words);
    profile_unref(profile);
    free(texts);
    return 0;
}
