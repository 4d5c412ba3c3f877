#include "choose/told.h"

#include <string.h>

#include "base/cleanup.h"
#include "choose/intent.h"

/* Who asks, or is asked: what these want is wanted. */
static const char *const own[] = {"i",    "we",  "you", "user", "customer", "client", "please",
                                  "that", "let", "我",  "你",   "您",       "们",     "请",
                                  "帮",   "能",  "会",  "可",   "以",       "来",     "想",
                                  "要",   "不",  "再",  "就",   "别",       "先",     "快"};
/* Behind these a person is named to whom something is to be said: 跟小明说. */
static const char *const to_whom[] = {"跟", "对", "给", "和", "向", "to"};
/* Behind these 说 is part of a noun: 小说. */
static const char *const nouns[] = {"小", "传", "解", "论", "学", "劝", "据", "听"};
/* "When I get home", but not "when is the game". */
static const char *const persons[] = {"i",   "he",  "she",     "it",       "we",      "they",
                                      "you", "the", "my",      "a",        "an",      "this",
                                      "our", "his", "someone", "somebody", "everyone"};

/* What a word of the lexicon is; "" if it is not in it. */
static const char *report_at(const struct words *words, size_t at, size_t *ret_length) {
    const struct lexicon_row *row;
    size_t rows;
    *ret_length = words_match(words, at, &lexicon_reports, &row, &rows);
    return *ret_length > 0 ? lexicon_value(&lexicon_reports, row) : "";
}

/* Whether somebody else stands before a word of saying, and no verb and no question. */
static bool has_teller(const struct words *words, size_t at, bool han) {
    const struct word *word = &words->items[at];
    bool any = false;
    for (size_t i = at; i > 0 && words->items[i - 1].clause == word->clause; i--) {
        const struct word *before = &words->items[i - 1];
        const struct lexicon_row *row;
        size_t rows;
        bool asks = words_match(words, i - 1, &lexicon_questions, &row, &rows) > 0;
        if (asks || before->quoted || WORD_IS_ONE_OF(before, to_whom) ||
            (i == at && WORD_IS_ONE_OF(before, own)) ||
            (!han && intent_is_verb(words, i - 1) && intent_is_wanted(words, i - 1))) {
            return false;
        }
        any = true;
    }
    return any;
}

static bool is_base(const struct word *word) {
    return word->text_length == word->stem_length &&
           memcmp(word->text, word->stem, word->text_length) == 0;
}

/* Whether a part of a text goes on behind a word. */
static bool goes_on(const struct words *words, size_t at) {
    return at < words->count && words->items[at].clause == words->items[at - 1].clause;
}

static bool tells(const struct words *words, size_t at) {
    const struct word *word = &words->items[at];
    size_t length;
    const char *report = report_at(words, at, &length);
    if (word->quoted || !goes_on(words, at + (length > 0 ? length : 1))) {
        return false;
    }
    if (strcmp(report, "told") == 0) {
        return !is_base(word) && has_teller(words, at, false);
    }
    if (strcmp(report, "said") == 0) {
        bool noun = at > 0 && WORD_IS_ONE_OF(&words->items[at - 1], nouns);
        return !noun && has_teller(words, at, true);
    }
    bool begins = at == 0 || word[-1].clause != word->clause;
    return strcmp(report, "if") == 0 || (strcmp(report, "when") == 0 && begins &&
                                         WORD_IS_ONE_OF(&words->items[at + length], persons));
}

/* Whether a word stands in a line that is quoted: "> turn on the light". */
static bool is_quoted_line(const char *text, const struct word *word) {
    size_t at = word->start;
    while (at > 0 && text[at - 1] != '\n') {
        at--;
    }
    while (at < word->start && (text[at] == ' ' || text[at] == '\t')) {
        at++;
    }
    return text[at] == '>';
}

bool told_find(const char *text, const struct words *words,
               bool (*is_value)(const void *user, const struct word *word), const void *user,
               size_t *ret) {
    for (size_t at = 0; at < words->count; at++) {
        bool line = at == 0 && is_quoted_line(text, &words->items[at]);
        if (line || (tells(words, at) && !is_value(user, &words->items[at]))) {
            *ret = at;
            return true;
        }
    }
    return false;
}

/* Behind a condition, what is wanted under it. */
static const char *const thens[] = {"就", "则", "那", "then"};

bool told_condition_find(const struct words *words, size_t from, struct told_condition *ret) {
    for (size_t at = from; at < words->count; at++) {
        size_t length;
        if (words->items[at].quoted || strcmp(report_at(words, at, &length), "if") != 0) {
            continue;
        }
        *ret = (struct told_condition){.first = at, .last = at + length, .begin = at + length};
        while (ret->last < words->count && words->items[ret->last].part == words->items[at].part &&
               !WORD_IS_ONE_OF(&words->items[ret->last], thens)) {
            ret->compares =
                    ret->compares || strcmp(report_at(words, ret->last, &length), "compares") == 0;
            ret->last++;
        }
        return true;
    }
    return false;
}
