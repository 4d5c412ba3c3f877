/* The tools that fit a text, ranked: step 3 alone. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "choose/asked.h"
#include "choose/indexed.h"
#include "choose/inside.h"
#include "choose/outcome.h"
#include "choose/shortlist.h"
#include "registry/document.h"

#define LIMIT_DEFAULT 10u

static void add_row(yyjson_mut_doc *doc, yyjson_mut_val *list, const struct shortlisted *found,
                    const struct wording *wording) {
    const struct toolrack_tool *tool = found->tool;
    yyjson_mut_val *row = yyjson_mut_arr_add_obj(doc, list);
    document_add_text(doc, row, "tool", toolrack_tool_name(tool));
    document_add_text(doc, row, "version", toolrack_tool_version(tool));
    outcome_add_number(doc, row, "score", found->hit.score);
    document_add_text(doc, row, "title", toolrack_tool_title(tool));
    document_add_text(doc, row, "description", toolrack_tool_description(tool));
    document_add_text(doc, row, "category", toolrack_tool_category(tool));
    outcome_add_permission(doc, row, found);
    outcome_add_match_reasons(doc, row, &found->hit, wording);
}

int choose_prepare(const struct choose *choose, struct toolrack_error *err) {
    OBJECT_CHECK(choose, CHOOSE_MAGIC);
    return indexed_prepare(choose->indexed, err);
}

int choose_search(const struct choose *choose, const struct toolrack_select_options *options,
                  struct toolrack_text **ret, struct toolrack_error *err) {
    OBJECT_CHECK(choose, CHOOSE_MAGIC);
    CLEANUP(asked_finish) struct asked asked = {0};
    CLEANUP(shortlist_finish) struct shortlist shortlist = {0};
    int code = asked_read(options, LIMIT_DEFAULT, &asked, err);
    if (code < 0) {
        return code;
    }
    code = shortlist_find(choose,
                          &(struct shortlist_query){.text = asked.wording.text,
                                                    .length = asked.wording.length,
                                                    .said = asked.wording.said,
                                                    .whole = asked.options.text,
                                                    .whole_length = asked.length,
                                                    .tools = asked.options.tools,
                                                    .shows = asked.options.shows,
                                                    .user = asked.options.user,
                                                    .principal = asked.options.principal,
                                                    .limit = asked.limit,
                                                    .now_ms = clock_wall_ms()},
                          &shortlist, err);
    if (code < 0) {
        return code;
    }
    yyjson_mut_val *root;
    bool explains = asked.options.explain != 0;
    yyjson_mut_doc *doc = explains ? document_begin(&root) : document_begin_list(&root);
    yyjson_mut_val *list = explains ? yyjson_mut_obj_add_arr(doc, root, "tools") : root;
    for (size_t i = 0; i < shortlist.count && i < asked.limit; i++) {
        add_row(doc, list, &shortlist.items[i], &asked.wording);
    }
    if (explains) {
        outcome_add_embeddings(doc, root, &shortlist.embedded, &choose->options.embed);
    }
    return document_end(doc, ret, err);
}
