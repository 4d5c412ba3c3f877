/* Words for several earlier results in one call: "add the two numbers", "both results", "then the
 * average", 把两个结果相加. Digits stand for each of them, as wish-mark.c has them for one. Which
 * results are meant has to be clear: as many calls give a number as the text says, and each of them
 * only one. */
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "choose/wish-making.h"

/* Words of a text for several results, in bytes [start, end). */
struct several {
    size_t start;
    size_t end;
    size_t count;       /* 0: all that there are */
    const char *before; /* what the text needs before the results that go there, and behind them */
    const char *behind;
    bool chinese;
};

/* ------------------------------------------------------------------------------------ English */

/* A number of results; 0: the word is none. */
static size_t number_of(const struct word *word) {
    static const char *const numbers[] = {"two", "three", "four", "five", "six", "seven", "eight"};
    const bool digit = word->text_length == 1 && word->text[0] >= '2' && word->text[0] <= '8';
    size_t at = 0;
    while (at < ARRAY_LENGTH(numbers) && !word_is_one_of(word, &numbers[at], 1)) {
        at++;
    }
    return at < ARRAY_LENGTH(numbers) ? at + 2 : digit ? (size_t)(word->text[0] - '0') : 0;
}

/* "the two numbers", "both results", "all of them", "them", from a word on.
 * @return the word behind them; `at`: there are none */
static size_t read_english(const struct words *words, size_t at, size_t last, size_t *ret_count) {
    static const char *const determiners[] = {"the", "these", "those", "their"};
    static const char *const pronouns[] = {"them", "these", "those"};
    static const char *const both[] = {"both"};
    static const char *const all[] = {"all"};
    static const char *const of[] = {"of"};
    static const char *const nouns[] = {"results", "numbers", "values",  "amounts", "totals",
                                        "sums",    "counts",  "figures", "answers", "outputs"};
    static const char *const behind[] = {"together", "up"};
    const struct word *items = words->items;
    const bool two = WORD_IS_ONE_OF(&items[at], both);
    const bool any = WORD_IS_ONE_OF(&items[at], all);
    size_t end = at + (two || any);
    end += end > at && end < last && WORD_IS_ONE_OF(&items[end], of);
    const bool pronoun = end < last && WORD_IS_ONE_OF(&items[end], pronouns);
    const bool points = end < last && WORD_IS_ONE_OF(&items[end], determiners);
    const bool them = pronoun && !points;
    end += pronoun || points;
    *ret_count = two ? 2 : 0;
    if (end == at || them) {
        return end;
    }
    const size_t number = end < last && points ? number_of(&items[end]) : 0;
    end += number > 0;
    *ret_count = number > 0 ? number : *ret_count;
    const bool noun = end < last && WORD_IS_ONE_OF(&items[end], nouns);
    end += noun;
    const bool alone = end == last || WORD_IS_ONE_OF(&items[end], behind);
    return noun || ((*ret_count > 0 || pronoun) && alone) ? end : at;
}

/* "then the average": what is done with all results, at the end of a clause. */
static bool read_bare(const struct words *words, size_t at, size_t last) {
    static const char *const determiners[] = {"the", "their"};
    static const char *const nouns[] = {"sum", "average", "mean", "product"};
    return at + 2 == last && WORD_IS_ONE_OF(&words->items[at], determiners) &&
           WORD_IS_ONE_OF(&words->items[at + 1], nouns);
}

static bool find_english(const struct words *words, const struct clause *clause,
                         struct several *ret) {
    for (size_t at = clause->first; at < clause->last; at++) {
        size_t count = 0;
        size_t end = words->items[at].quoted ? at : read_english(words, at, clause->last, &count);
        bool bare = end == at && !words->items[at].quoted && read_bare(words, at, clause->last);
        if (end > at || bare) {
            const struct word *last = &words->items[bare ? at + 1 : end - 1];
            *ret = (struct several){.start = bare ? last->end : words->items[at].start,
                                    .end = last->end,
                                    .count = count,
                                    .before = bare ? " of " : " ",
                                    .behind = " "};
            return true;
        }
    }
    return false;
}

/* ------------------------------------------------------------------------------------ Chinese */

static const struct {
    const char *text;
    size_t count;
    bool bare; /* what is done with the results */
} phrases[] = {
        {"这两个结果", 2, false}, {"这两个数字", 2, false}, {"这两个数", 2, false},
        {"两个结果", 2, false},   {"两个数字", 2, false},   {"两个数值", 2, false},
        {"两个金额", 2, false},   {"两个数", 2, false},     {"两个值", 2, false},
        {"两次结果", 2, false},   {"两次的结果", 2, false}, {"两者", 2, false},
        {"二者", 2, false},       {"三个结果", 3, false},   {"三个数字", 3, false},
        {"三个数", 3, false},     {"它们", 0, false},       {"这些结果", 0, false},
        {"这些数字", 0, false},   {"这些数", 0, false},     {"所有结果", 0, false},
        {"平均值", 0, true},      {"平均数", 0, true},      {"总和", 0, true},
        {"乘积", 0, true},
};

/* Whether a word that is not in quotes begins at a byte. */
static bool is_said(const struct words *words, const struct clause *clause, size_t start) {
    for (size_t at = clause->first; at < clause->last; at++) {
        if (words->items[at].start == start) {
            return !words->items[at].quoted;
        }
    }
    return false;
}

static bool find_chinese(const struct making *making, const struct clause *clause,
                         struct several *ret) {
    const char *text = making->text + clause->start;
    for (size_t i = 0; i < ARRAY_LENGTH(phrases); i++) {
        const size_t length = strlen(phrases[i].text);
        const char *found = memmem(text, clause->end - clause->start, phrases[i].text, length);
        const size_t start = found != NULL ? (size_t)(found - making->text) : 0;
        const bool bare = phrases[i].bare;
        if (found == NULL || !is_said(&making->words, clause, start) ||
            (bare && making->words.items[clause->last - 1].end != start + length)) {
            continue;
        }
        *ret = (struct several){.start = start,
                                .end = bare ? start : start + length,
                                .count = phrases[i].count,
                                .before = "",
                                .behind = bare ? "的" : "",
                                .chinese = true};
        return true;
    }
    return false;
}

/* ------------------------------------------------------------------------------------ results */

/* The calls that give a number, with the part of the result that it is.
 * @return how many; 0: of one of them it is not clear which part is meant, or there are too many */
static size_t find_numbers(const struct making *making, const struct clause *clause,
                           const struct output *ret[MARKS_MAX]) {
    size_t count = 0;
    for (size_t i = 0; i < making->count; i++) {
        bool open;
        const struct output *output = wish_output_number(making, i, clause, &open);
        if (output != NULL && (open || count == MARKS_MAX)) {
            return 0;
        }
        if (output != NULL) {
            ret[count++] = output;
        }
    }
    return count;
}

/* Digits in place of the words, for each result its own. */
static int write_results(struct making *making, const struct clause *clause,
                         const struct several *several, const struct output *const *outputs,
                         size_t count, struct marked *ret) {
    CLEANUP(buf_finish) struct buf made = BUF_INIT;
    unsigned number = 0;
    *ret = (struct marked){.clause = {.start = several->start, .end = several->end},
                           .from = outputs[0]->from,
                           .path = outputs[0]->path,
                           .more_count = count - 1};
    buf_add_text(&made, several->before);
    for (size_t i = 0; i < count; i++) {
        struct standing *more = i > 0 ? &ret->more[i - 1] : NULL;
        char *digits = more != NULL ? more->digits : ret->digits;
        wish_mark_digits(making, &number, digits);
        if (more != NULL) {
            more->from = outputs[i]->from;
            more->path = outputs[i]->path;
        }
        const char *join = several->chinese ? (i + 1 == count ? "和" : "、")
                                            : (i + 1 == count ? " and " : ", ");
        buf_printf(&made, "%s%s", i > 0 ? join : "", digits);
    }
    buf_add_text(&made, several->behind);
    return made.failed ? error_oom(making->err) : wish_mark_put(making, clause, made.data, ret);
}

int wish_several_find(struct making *making, const struct clause *clause, struct marked *ret,
                      bool *ret_found) {
    const struct output *outputs[MARKS_MAX];
    struct several several;
    *ret_found = false;
    if (clause->first >= clause->last || (!find_english(&making->words, clause, &several) &&
                                          !find_chinese(making, clause, &several))) {
        return 0;
    }
    const size_t count = find_numbers(making, clause, outputs);
    if (count < 2 || (several.count > 0 && several.count != count)) {
        return 0;
    }
    *ret_found = true;
    return write_results(making, clause, &several, outputs, count, ret);
}
