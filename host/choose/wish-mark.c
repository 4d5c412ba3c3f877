/* Words of a clause that stand for the result of a call before, or the place where arithmetic lacks
 * it, and a value there: the
 * five steps understand "add 5 to 740291" and "translate "740291" to French" as they do any other
 * text, and the digits say afterwards where the result goes. */
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "choose/expression-parts.h"
#include "choose/values-parts.h"
#include "choose/wish-making.h"

CLEANUP_DEFINE(struct values, values_destroy)

#define MARK_FIRST 740291u

/* ----------------------------------------------------------------------------------- mentions */

static bool is_same(const struct word *a, const struct word *b) {
    return a->stem_length == b->stem_length && memcmp(a->stem, b->stem, a->stem_length) == 0;
}

/* How many words from `at` on are the name of a part of a result; 0: they are not. */
static size_t count_named(const struct words *words, size_t at, size_t last,
                          const struct output *output) {
    bool tells = false;
    if (output->name.count == 0 || output->name.count > last - at) {
        return 0;
    }
    for (size_t i = 0; i < output->name.count; i++) {
        if (words->items[at + i].quoted ||
            !is_same(&words->items[at + i], &output->name.items[i])) {
            return 0;
        }
        tells = tells || !wish_is_generic(&output->name.items[i]);
    }
    return tells ? output->name.count : 0;
}

/* "the translated text": a call before whose tool does that. */
static bool is_done_by(const struct making *making, const struct word *done, size_t call) {
    const char *name = toolrack_tool_name(called_tool(&making->calls[call]));
    CLEANUP(words_finish) struct words words = {0};
    if (done->text_length < 4 || memcmp(done->text + done->text_length - 2, "ed", 2) != 0 ||
        words_read(name, strlen(name), &words, NULL) < 0) {
        return false;
    }
    for (size_t i = 0; i < words.count; i++) {
        if (is_same(&words.items[i], done)) {
            return true;
        }
    }
    return false;
}

/* What a word such as "the" is followed by: a part of a result, of the latest call that has one. */
static bool find_mention(const struct making *making, const struct clause *clause, size_t at,
                         struct marked *ret) {
    const struct words *words = &making->words;
    size_t most = 0;
    for (size_t i = making->output_count; i-- > 0;) {
        const struct output *output = &making->outputs[i];
        size_t count = count_named(words, at, clause->last, output);
        if (count > most) {
            most = count;
            ret->from = output->from;
            ret->path = output->path;
        }
    }
    for (size_t i = making->count; i-- > 0 && most == 0;) {
        if (at + 1 < clause->last && !words->items[at].quoted &&
            is_done_by(making, &words->items[at], i)) {
            most = 2;
            ret->from = i;
            ret->path = NULL;
        }
    }
    if (most > 0) {
        ret->clause.start = words->items[at - 1].start;
        ret->clause.end = words->items[at + most - 1].end;
    }
    return most > 0;
}

/* --------------------------------------------------------------------------------- references */

bool wish_is_result(const struct values *values, const struct value_reference *reference) {
    static const char *const nouns[] = {"amount", "number", "value", "sum",  "total", "text",
                                        "figure", "result", "price", "data", "output"};
    const struct token *last = &values->tokens[reference->last - 1];
    size_t length;
    const struct lexeme *lexeme = token_lexeme(values->lower, values->tokens, values->token_count,
                                               reference->first, LEXEME_REFERENCES, &length);
    if (lexeme != NULL && strcmp(lexeme->first, "result") == 0) {
        return true;
    }
    for (size_t i = 0; i < ARRAY_LENGTH(nouns); i++) {
        if (strlen(nouns[i]) == last->end - last->start &&
            memcmp(values->lower + last->start, nouns[i], last->end - last->start) == 0) {
            return true;
        }
    }
    return false;
}

/* Whether a word of arithmetic is at a token: "times", "squared", 的两倍, 的一半. */
static bool is_computed(const struct values *values, size_t at) {
    size_t length;
    double number;
    bool whole;
    if (value_is_sign(values, at, 0x7684) && at + 1 < values->token_count) {
        return value_read_number(values, at + 1, &number, &whole) > 0;
    }
    return at < values->token_count && (expression_operator_at(values, at, &length) != NULL ||
                                        expression_ending_at(values, at) != NULL);
}

/* The token behind a word that stands for a result, without what stands behind it in arithmetic:
 * "that" of "that times 3". 0: it is no word for a result. */
static size_t reference_end(const struct values *values, const struct value_reference *reference,
                            bool *ret_computed) {
    size_t length = 0;
    (void)token_lexeme(values->lower, values->tokens, values->token_count, reference->first,
                       LEXEME_REFERENCES, &length);
    *ret_computed = is_computed(values, reference->first + length);
    if (*ret_computed) {
        return reference->first + length;
    }
    *ret_computed = is_computed(values, reference->last);
    return wish_is_result(values, reference) ? reference->last : 0;
}

/* A word that points, where no noun follows: "add 5 to that", "convert that to yen". */
static bool find_pointing(const struct making *making, const struct clause *clause,
                          struct marked *ret) {
    static const char *const pointing[] = {"that", "this", "these", "those"};
    static const char *const behind[] = {"to", "into", "in", "from", "by", "with"};
    const struct words *words = &making->words;
    for (size_t at = clause->first + 1; at < clause->last; at++) {
        const struct word *word = &words->items[at];
        if (!word->quoted && WORD_IS_ONE_OF(word, pointing) &&
            (at + 1 == clause->last || WORD_IS_ONE_OF(word + 1, behind))) {
            ret->clause.start = word->start;
            ret->clause.end = word->end;
            return true;
        }
    }
    return false;
}

/* Where a clause says something: behind "then" and the like. */
static size_t skip_lead(const struct words *words, const struct clause *clause) {
    size_t at = clause->first;
    while (at < clause->last) {
        const struct lexicon_row *row;
        size_t rows;
        size_t length = words_match(words, at, &lexicon_connectives, &row, &rows);
        if (length == 0) {
            length = words_match(words, at, &lexicon_openers, &row, &rows);
            length = length > 0 && strcmp(lexicon_value(&lexicon_openers, row), "lead") == 0
                             ? length
                             : 0;
        }
        if (length == 0) {
            return at;
        }
        at += length;
    }
    return clause->last;
}

/* Arithmetic without its first operand is done with the result: "then times 3", "then divide by 3",
 * 然后除以3. */
static bool find_operator(const struct making *making, const struct clause *clause,
                          const struct values *values, struct marked *ret) {
    static const char *const verbs[] = {"divide", "multiply"};
    const struct words *words = &making->words;
    size_t at = skip_lead(words, clause);
    if (at == clause->last || words->items[at].quoted) {
        return false;
    }
    bool verb = WORD_IS_ONE_OF(&words->items[at], verbs);
    const size_t place = verb ? words->items[at].end : words->items[at].start;
    size_t t = 0;
    while (t < values->token_count &&
           clause->start + value_origin(values, values->tokens[t].start) < place) {
        t++;
    }
    size_t length = 1;
    bool does =
            verb ? expression_is_word(values, t, "by")
                 : t < values->token_count && expression_operator_at(values, t, &length) != NULL;
    double number;
    bool whole;
    if (!does || t + length >= values->token_count ||
        value_read_number(values, t + length, &number, &whole) == 0) {
        return false;
    }
    ret->clause.start = ret->clause.end = place;
    ret->computed = true;
    return true;
}

int wish_mark_find(struct making *making, const struct clause *clause, struct marked *ret,
                   bool *ret_found) {
    static const char *const pointing[] = {"the", "that", "this", "its", "their"};
    const struct words *words = &making->words;
    CLEANUP(values_destroyp) struct values *values = NULL;
    *ret = (struct marked){.from = making->count - 1};
    *ret_found = false;
    for (size_t at = clause->first + 1; at < clause->last && !*ret_found; at++) {
        const struct word *before = &words->items[at - 1];
        *ret_found = !before->quoted && WORD_IS_ONE_OF(before, pointing) &&
                     find_mention(making, clause, at, ret);
    }
    if (*ret_found) {
        return 0;
    }
    int code = values_read(making->text + clause->start, clause->end - clause->start,
                           &making->asked.said, &values, making->err);
    for (size_t i = 0; code == 0 && i < values->reference_count && !*ret_found; i++) {
        const struct value_reference *reference = &values->references[i];
        size_t end = reference_end(values, reference, &ret->computed);
        if (end > 0) {
            *ret_found = true;
            ret->clause.start =
                    clause->start + value_origin(values, values->tokens[reference->first].start);
            ret->clause.end = clause->start + value_origin(values, values->tokens[end - 1].end);
        }
    }
    if (code == 0 && !*ret_found) {
        *ret_found =
                find_pointing(making, clause, ret) || find_operator(making, clause, values, ret);
    }
    return code;
}

void wish_mark_digits(const struct making *making, unsigned *number, char ret[MARK_ROOM]) {
    *number = *number > 0 ? *number : MARK_FIRST;
    do {
        (void)snprintf(ret, MARK_ROOM, "%u", (*number)++);
    } while (memmem(making->text, making->made, ret, strlen(ret)) != NULL);
}

int wish_mark_put(struct making *making, const struct clause *clause, const char *text,
                  struct marked *marked) {
    CLEANUP(buf_finish) struct buf made = BUF_INIT;
    buf_add(&made, making->text + clause->start, marked->clause.start - clause->start);
    buf_add_text(&made, text);
    buf_add(&made, making->text + marked->clause.end, clause->end - marked->clause.end);
    if (made.failed) {
        return error_oom(making->err);
    }
    if (made.length > making->room - making->made) { /* the texts of many clauses that are tried */
        made.length = 0;
    }
    memcpy(making->text + making->made, made.data, made.length);
    marked->clause = *clause;
    marked->clause.start = making->made;
    marked->clause.end = making->made + made.length;
    making->made += made.length;
    return 0;
}

int wish_mark_write(struct making *making, const struct clause *clause, bool quoted,
                    struct marked *marked) {
    char text[MARK_ROOM + 8];
    const char *quote = quoted ? "\"" : "";
    unsigned number = 0;
    wish_mark_digits(making, &number, marked->digits);
    (void)snprintf(text, sizeof text, " %s%s%s ", quote, marked->digits, quote);
    return wish_mark_put(making, clause, text, marked);
}
