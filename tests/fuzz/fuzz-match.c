/* A text and the texts of tools: whatever they are, each tool that is found has a score and
 * coverages from 0 to 1 and reasons that stand in the text, a tool with no text is not found, and
 * the same is found again. Texts are separated by zeros: the query, then the fields of one tool
 * after the other. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "choose/index.h"
#include "choose/match.h"

#define TOOLS_MAX  16u
#define FIELDS_MAX 9u

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

static void add_tools(struct index *index, const char *at, const char *end) {
    for (uint64_t id = 0; id < TOOLS_MAX; id++) {
        const char *texts[FIELDS_MAX];
        for (size_t i = 0; i < FIELDS_MAX; i++) {
            texts[i] = next_text(&at, end);
        }
        const struct index_document document = {
                .name = texts[0],
                .title = texts[1],
                .description = texts[2],
                .tags = texts[3],
                .category = texts[4],
                .purpose = texts[5],
                .scenarios = texts[6],
                .examples = texts[7],
                .schema_json = texts[8],
        };
        require(index_add(index, id, &document, NULL) == 0);
    }
    require(index_add(index, TOOLS_MAX, &(const struct index_document){0}, NULL) == 0);
}

static void check_hit(const struct match_hit *hit, const char *query) {
    double shares = 0;
    require(hit->id < TOOLS_MAX);
    require(hit->score >= 0 && hit->score <= 1);
    require(hit->coverage >= 0 && hit->coverage <= 1);
    require(hit->coverage_all >= 0 && hit->coverage_all <= 1);
    require(hit->name_coverage >= 0 && hit->name_coverage <= 1);
    require(hit->reason_count > 0 && hit->reason_count <= MATCH_REASONS_MAX);
    for (size_t i = 0; i < hit->reason_count; i++) {
        const struct match_reason *reason = &hit->reasons[i];
        require(reason->start < reason->end && reason->end <= strlen(query));
        require(reason->field < INDEX_FIELDS && reason->word[0] != '\0');
        shares += reason->share;
    }
    require(shares >= 0 && shares <= 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct match_hit hits[TOOLS_MAX + 1];
    struct match_hit again[TOOLS_MAX + 1];
    size_t count = 0;
    size_t count_again = 0;
    struct index *index = index_create();
    char *texts = malloc(size + 1);
    require(texts != NULL && index != NULL);
    memcpy(texts, data, size);
    texts[size] = '\0';
    const char *at = texts;
    const char *query = next_text(&at, texts + size);
    query = query != NULL ? query : "";
    add_tools(index, at, texts + size);
    struct match_query wanted = {.text = query, .length = strlen(query)};
    require(match_find(index, &wanted, hits, TOOLS_MAX + 1, &count, NULL) == 0);
    for (size_t i = 0; i < count; i++) {
        check_hit(&hits[i], query);
    }
    require(match_find(index, &wanted, again, TOOLS_MAX + 1, &count_again, NULL) == 0);
    require(count == count_again);
    for (size_t i = 0; i < count; i++) {
        require(hits[i].id == again[i].id && !(hits[i].score < again[i].score) &&
                !(hits[i].score > again[i].score));
    }
    for (uint64_t id = 0; id <= TOOLS_MAX; id++) {
        require(index_remove(index, id));
    }
    require(index_count(index) == 0);
    index_destroy(index);
    free(texts);
    return 0;
}
