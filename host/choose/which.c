#include "choose/which.h"

#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"

/* A candidate with less than this share of the best score is not asked for. */
#define RIVAL_SHARE 0.7
/* Nor is one with a score below this: what it does has too little to do with the text. */
#define ASKED_MIN   0.15
/* Candidates that one question names. */
#define ASKED_MAX   3u

static bool is_chinese(const struct words *words) {
    for (size_t i = 0; i < words->count; i++) {
        if (words->items[i].kind == WORD_HAN) {
            return true;
        }
    }
    return false;
}

/* How many of the best are worth a question. */
static size_t count_rivals(const struct which_candidate *candidates, size_t all) {
    size_t count = 0;
    while (count < all && count < WHICH_CANDIDATES_MAX && candidates[count].score >= ASKED_MIN &&
           candidates[count].score >= RIVAL_SHARE * candidates[0].score) {
        count++;
    }
    return count;
}

/* The first sentence of a description, without its full stop, as one line. */
static void add_purpose(struct buf *out, const struct index_document *tool) {
    const char *text = tool->description != NULL && tool->description[0] != '\0' ? tool->description
                       : tool->title != NULL                                     ? tool->title
                                                                                 : "";
    static const char *const ends[] = {". ", ".\n", "\n", "。", "；", "!", "?"};
    size_t length = strlen(text);
    for (size_t i = 0; i < ARRAY_LENGTH(ends); i++) {
        const char *end = memmem(text, length, ends[i], strlen(ends[i]));
        length = end != NULL ? (size_t)(end - text) : length;
    }
    while (length > 0 && (text[length - 1] == '.' || text[length - 1] == ' ')) {
        length--;
    }
    CLEANUP(buf_finish) struct buf line = BUF_INIT;
    text_add_line(&line, text, length);
    if (line.failed) {
        out->failed = true;
    } else if (line.length > 0) {
        text_add_cut(out, line.data, line.length, WHICH_PURPOSE_MAX);
    }
}

/* "NAME (what it does)" */
static void add_tool(struct buf *out, const struct index_document *tool, bool chinese) {
    size_t before = out->length;
    buf_add_text(out, tool->name != NULL ? tool->name : "?");
    buf_add_text(out, chinese ? "（" : " (");
    size_t open = out->length;
    add_purpose(out, tool);
    if (out->length == open) {
        buf_truncate(out, before);
        buf_add_text(out, tool->name != NULL ? tool->name : "?");
    } else {
        buf_add_text(out, chinese ? "）" : ")");
    }
}

/* Nothing is near: ask for what the text does not say. */
static const char *ask_openly(const struct fit_wish *wish, bool chinese) {
    if (wish->words->count == 0) {
        return chinese ? "想做什么？" : "What is to be done?";
    }
    if (wish->intent_count == 0) {
        return chinese ? "没有合适的工具。具体想做什么操作，例如读取、搜索、创建还是计算？"
                       : "No tool fits. What exactly is to be done, for example read, search, "
                         "create or compute?";
    }
    return chinese ? "没有合适的工具。能换一种说法，或者说明对象是什么吗？"
                   : "No tool fits. What is it to be done with, in other words?";
}

int which_ask(const struct fit_wish *wish, const struct which_candidate *candidates, size_t count,
              char **ret, struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    bool chinese = is_chinese(wish->words);
    count = count_rivals(candidates, count);
    if (count == 0) {
        buf_add_text(&out, ask_openly(wish, chinese));
    } else if (count == 1) {
        buf_add_text(&out, chinese ? "是要用 " : "Is this meant: ");
        add_tool(&out, candidates[0].texts, chinese);
        buf_add_text(&out, chinese ? " 吗？" : "?");
    } else {
        buf_add_text(&out, chinese ? "要用哪一个：" : "Which is meant: ");
        for (size_t i = 0; i < count; i++) {
            const char *last = chinese ? "，还是 " : count > 2 ? ", or " : " or ";
            buf_add_text(&out, i == 0 ? "" : i + 1 == count ? last : chinese ? "，" : ", ");
            add_tool(&out, candidates[i].texts, chinese);
        }
        buf_add_text(&out, chinese ? "？" : "?");
    }
    *ret = buf_steal(&out);
    return *ret != NULL ? 0 : error_oom(err);
}
