#include "choose/wishes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/json-pointer.h"
#include "choose/profile.h"
#include "choose/question.h"
#include "choose/told.h"
#include "choose/turns.h"
#include "choose/values-parts.h"
#include "choose/wish-making.h"

CLEANUP_DEFINE(struct arguments, arguments_destroy)
CLEANUP_DEFINE(struct values, values_destroy)
CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)

/* A piece without a verb is a call of a tool of its own if it has so many words that tell
 * something, and that is so certain. */
#define PIECE_WORDS_LEAST 1u
#define PIECE_LEAST       0.8

/* How much less certain a clause may be with a mark, and room for all texts that have one. */
#define MARK_MARGIN 0.05
#define MARKS_ROOM  (CLAUSES_MAX * 4 * MARK_ROOM)

/* Room for the texts with one value of a list. */
#define LISTS_ROOM 16384u

/* Digits of the number of an element of a list. */
#define LIST_DIGITS_MAX 3u

/* Words of a piece that may be an element of a list: "and dark red". */
#define LISTED_MAX 4u

/* ---------------------------------------------------------------------------------- the text */

static void blank(char *text, size_t start, size_t end) {
    for (; start < end; start++) {
        text[start] = text[start] == '\n' ? '\n' : ' ';
    }
}

/* A text that is in quotes as a whole is no quotation. */
static void open_quotes(char *text, size_t length) {
    size_t first = strspn(text, " \t\r\n");
    size_t last = length;
    while (last > first && strchr(" \t\r\n", text[last - 1]) != NULL) {
        last--;
    }
    if (last - first > 1 && text[first] == '"' && text[last - 1] == '"' &&
        memchr(text + first + 1, '"', last - first - 2) == NULL) {
        text[first] = text[last - 1] = ' ';
    }
}

/* Of a conversation only what a person said says what is wanted. */
static void keep_asked(char *text, size_t length) {
    struct turns turns;
    turns_read(text, length, &turns);
    size_t at = 0;
    for (size_t i = 0; i < turns.count; i++) {
        blank(text, at, turns.items[i].asked ? turns.items[i].start : turns.items[i].end);
        at = turns.items[i].end;
    }
}

/* The numbers of a list are no values: "1. read ...". */
static void blank_numbers(char *text, size_t length) {
    for (size_t at = 0; at < length;) {
        size_t start = at;
        while (at < length && (text[at] == ' ' || text[at] == '\t')) {
            at++;
        }
        size_t digits = at;
        while (at < length && at - digits < LIST_DIGITS_MAX && ascii_is_digit(text[at])) {
            at++;
        }
        if (at > digits && at + 1 < length && (text[at] == '.' || text[at] == ')') &&
            text[at + 1] == ' ') {
            blank(text, start, at + 1);
        }
        const char *line = memchr(text + at, '\n', length - at);
        at = line != NULL ? (size_t)(line - text) + 1 : length;
    }
}

static void add_condition(struct making *making, const struct told_condition *condition) {
    const size_t start = making->words.items[condition->first].start;
    const size_t end = making->words.items[condition->last - 1].end;
    making->conditions[making->condition_count++] =
            (struct wish_left){.text = making->asked.options.text + start, .length = end - start};
}

/* Whether a condition is inside of a quotation or the like. */
static bool is_in_value(const struct making *making, const struct values *values,
                        const struct told_condition *condition) {
    const struct word *word = &making->words.items[condition->first];
    return values_hold(values, word->start, word->end);
}

/* What a condition compares is no value of what is wanted: "if the rate is above 100". */
static int blank_conditions(struct making *making) {
    CLEANUP(values_destroyp) struct values *values = NULL;
    struct told_condition condition;
    int code = values_read(making->text, making->length, &making->asked.said, &values, making->err);
    if (code < 0) {
        return code;
    }
    const size_t before = making->condition_count;
    for (size_t from = 0; making->condition_count < CONDITIONS_MAX &&
                          told_condition_find(&making->words, from, &condition);
         from = condition.last) {
        if (condition.compares && !is_in_value(making, values, &condition)) {
            add_condition(making, &condition);
            blank(making->text, making->words.items[condition.first].start,
                  making->words.items[condition.last - 1].end);
        }
    }
    if (making->condition_count == before) {
        return 0;
    }
    words_finish(&making->words);
    return words_read(making->text, making->length, &making->words, making->err);
}

/* What the text says not to do is no wish, and has no value of one: "convert 5 dollars to euros,
 * but don't convert 6 dollars to yen". */
static int blank_refused(struct making *making) {
    struct refused refused;
    size_t first;
    size_t last;
    refused_find(making->text, making->length, &making->words, &refused);
    for (size_t from = 0; making->refused_count < REFUSED_MAX &&
                          refused_next_part(&refused, &making->words, from, &first, &last);
         from = last) {
        const size_t start = making->words.items[first].start;
        const size_t end = making->words.items[last - 1].end;
        making->refused[making->refused_count++] = (struct wish_left){
                .text = making->asked.options.text + start, .length = end - start};
        blank(making->text, start, end);
    }
    if (making->refused_count == 0) {
        return 0;
    }
    words_finish(&making->words);
    return words_read(making->text, making->length, &making->words, making->err);
}

static int read_text(struct making *making) {
    int code = asked_read(making->options, 1, &making->asked, making->err);
    if (code < 0) {
        return code;
    }
    making->length = making->asked.length;
    making->made = making->length;
    making->room = 3 * making->length + MARKS_ROOM + LISTS_ROOM;
    making->text = arena_zalloc(making->arena, making->room);
    if (making->text == NULL) {
        return error_oom(making->err);
    }
    memcpy(making->text, making->asked.options.text, making->length);
    keep_asked(making->text, making->length);
    open_quotes(making->text, making->length);
    blank_numbers(making->text, making->length);
    CLEANUP(values_destroyp) struct values *values = NULL;
    code = words_read(making->text, making->length, &making->words, making->err);
    making->cut = code == 0 && making->words.cut;
    code = code < 0 ? code : blank_conditions(making);
    code = code < 0 ? code : blank_refused(making);
    code = code < 0 ? code
                    : values_read(making->text, making->length, &making->asked.said, &values,
                                  making->err);
    if (code == 0) {
        clauses_read(making->text, making->length, &making->words, values, &making->pieces);
        clauses_join(&making->pieces, &making->clauses);
    }
    return code;
}

/* --------------------------------------------------------------------------------- the steps */

int wish_try_part(struct making *making, size_t start, size_t end, struct tried **ret) {
    struct tried *tried = making->tried_count < WISH_TRIES_MAX ? calloc(1, sizeof *tried) : NULL;
    *ret = NULL;
    if (making->tried_count == WISH_TRIES_MAX) {
        return 0;
    }
    if (tried == NULL) {
        return error_oom(making->err);
    }
    making->tried[making->tried_count++] = tried;
    tried->start = start;
    tried->end = end;
    tried->text = strndup(making->text + start, end - start);
    if (tried->text == NULL) {
        return error_oom(making->err);
    }
    if (tried->text[strspn(tried->text, " \t\r\n")] == '\0') {
        return 0;
    }
    struct toolrack_select_options options = making->asked.options;
    options.size = sizeof options;
    options.text = tried->text;
    int code = selecting_run(making->choose, &options, &tried->selecting, making->err);
    tried->found = code == 0 ? selecting_chosen(&tried->selecting) : NULL;
    *ret = tried;
    return code;
}

/* ----------------------------------------------------------------------------- the arguments */

int wish_fill_part(struct making *making, const struct called *call, size_t start, size_t end,
                   struct arguments **ret) {
    const struct profile *profile = called_profile(call);
    const struct arguments_tool tool = {.name = toolrack_tool_name(called_tool(call)),
                                        .description = toolrack_tool_description(called_tool(call)),
                                        .parameters = profile_schema(profile),
                                        .read = profile_parameters(profile)};
    CLEANUP(values_destroyp) struct values *values = NULL;
    int code = values_read(making->text + start, end - start, &making->asked.said, &values,
                           making->err);
    *ret = NULL;
    code = code < 0 ? code : arguments_fill(values, &tool, ret, making->err);
    return code == TOOLRACK_E_INVALID ? 0 : code;
}

/* What the text says of them that holds: no defaults, nothing that the schema refuses or that is
 * no value. */
static yyjson_mut_val *said_values(struct making *making, const struct called *call,
                                   const struct wish_part *part,
                                   const struct arguments *arguments) {
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *doc =
            arguments != NULL ? yyjson_read(arguments->json, arguments->json_length, 0) : NULL;
    yyjson_mut_val *said = doc != NULL ? yyjson_val_mut_copy(making->doc, yyjson_doc_get_root(doc))
                                       : yyjson_mut_obj(making->doc);
    for (size_t i = 0; arguments != NULL && i < arguments->value_count; i++) {
        if (arguments->values[i].source == ARGUMENTS_ASSUMED ||
            !wish_is_value(making, call, part, &arguments->values[i])) {
            (void)yyjson_mut_ptr_remove(said, arguments->values[i].pointer);
        }
    }
    for (size_t i = 0; arguments != NULL && i < arguments->invalid_count; i++) {
        (void)yyjson_mut_ptr_remove(said, arguments->invalid[i].pointer);
    }
    return said;
}

/* Add what `more` has beyond `values`. */
static void add_missing(struct making *making, yyjson_mut_val *values, yyjson_mut_val *more) {
    yyjson_mut_obj_iter iter;
    yyjson_mut_val *key;
    (void)yyjson_mut_obj_iter_init(more, &iter);
    while ((key = yyjson_mut_obj_iter_next(&iter)) != NULL) {
        yyjson_mut_val *value = yyjson_mut_obj_iter_get_val(key);
        yyjson_mut_val *own =
                yyjson_mut_obj_getn(values, yyjson_mut_get_str(key), yyjson_mut_get_len(key));
        if (own == NULL) {
            (void)yyjson_mut_obj_add(values, yyjson_mut_val_mut_copy(making->doc, key),
                                     yyjson_mut_val_mut_copy(making->doc, value));
        } else if (yyjson_mut_is_obj(own) && yyjson_mut_is_obj(value)) {
            add_missing(making, own, value);
        }
    }
}

/* ---------------------------------------------------------------------------------- the calls */

static struct called *add_call(struct making *making, const struct tried *by, size_t start,
                               size_t end, bool then) {
    if (making->count == WISHES_MAX) {
        return NULL;
    }
    struct called *call = &making->calls[making->count++];
    *call = (struct called){.by = by, .start = start, .end = end, .then = then};
    return call;
}

/* Whether values of the text from `from` on are among the arguments that a longer part gave. */
static bool takes_from(const struct arguments *arguments, size_t from) {
    for (size_t i = 0; arguments != NULL && i < arguments->value_count; i++) {
        for (size_t k = 0; k < arguments->values[i].span_count; k++) {
            if (arguments->values[i].spans[k].end > from) {
                return true;
            }
        }
    }
    return false;
}

/* Whether a place of the text is behind an opening quotation mark: in a part that says itself what
 * is to be done also a Chinese one. In other parts those stand around words of any kind. */
static bool is_quoted(const char *text, const char *at, bool wish) {
    static const char *const opening[] = {"\"", "'", "“", "‘", "「", "『"};
    for (size_t i = 0; i < ARRAY_LENGTH(opening); i++) {
        size_t length = strlen(opening[i]);
        if ((wish || length == 1) && (size_t)(at - text) >= length &&
            memcmp(at - length, opening[i], length) == 0) {
            return true;
        }
    }
    return false;
}

/* Whether a value says by itself what it is: a number, a name, what stands in quotes. */
static bool is_solid(const struct making *making, yyjson_mut_val *value, bool wish) {
    const char *text = yyjson_mut_get_str(value);
    if (text == NULL) {
        return yyjson_mut_is_num(value);
    }
    for (const char *c = text; *c != '\0'; c++) {
        if (ascii_is_digit(*c) || ascii_is_upper(*c)) {
            return true;
        }
    }
    const char *said = memmem(making->text, making->length, text, strlen(text));
    return said != NULL && is_quoted(making->text, said, wish);
}

/* Whether a value stands last before a part of the text, but for what joins both: "red and ". */
static bool stands_before(const struct making *making, yyjson_mut_val *value, size_t at) {
    const char *text = yyjson_mut_get_str(value);
    size_t length = text != NULL ? strlen(text) : 0;
    while (at > 0 && strchr(" ,\t\n", making->text[at - 1]) != NULL) {
        at--;
    }
    return length > 0 && at >= length && strncasecmp(making->text + at - length, text, length) == 0;
}

/* Whether the result of a tool says that it has a word. */
static bool gives(const struct words *result, const struct word *word) {
    for (size_t i = 0; i < result->count; i++) {
        if (result->items[i].stem_length == word->stem_length &&
            memcmp(result->items[i].stem, word->stem, word->stem_length) == 0) {
            return true;
        }
    }
    return false;
}

/* How many words of a piece say something that the tool of a call has nothing of.
 * @param ret_given  how many its result has; may be NULL */
static int count_strange(struct making *making, const struct called *call,
                         const struct clause *piece, size_t *ret, size_t *ret_given) {
    const char *schema = toolrack_tool_result_schema(called_tool(call));
    const struct fit_tool *fit = profile_fit(called_profile(call));
    CLEANUP(words_finish) struct words result = {0};
    int code = words_read(schema != NULL ? schema : "", schema != NULL ? strlen(schema) : 0,
                          &result, making->err);
    size_t strange = 0;
    size_t given = 0;
    for (size_t at = piece->first; code == 0 && at < piece->last; at++) {
        const struct word *word = &making->words.items[at];
        const bool tells = !word->stop && !word->quoted && word->kind != WORD_NUMBER;
        given += tells && gives(&result, word);
        strange += tells && !gives(&result, word) && !fit_tool_explains(fit, &making->words, at, 1);
    }
    *ret = strange;
    if (ret_given != NULL) {
        *ret_given = given;
    }
    return code;
}

/* How what a piece says differs from what was said before. */
enum difference {
    SAME,
    BETTER, /* what was said before were only words */
    OTHER,  /* a value of the same kind */
};

/* A piece beside what a call has. */
struct comparing {
    struct making *making;
    const struct called *call;
    const struct clause *piece;
    bool strange; /* it has words that the tool has nothing of */
};

/* Whether words of the text have all of the name of a parameter. */
static bool is_named(const struct making *making, const char *name, size_t first, size_t last) {
    CLEANUP(words_finish) struct words words = {0};
    if (words_read(name, strlen(name), &words, NULL) < 0) {
        return false;
    }
    for (size_t i = 0; i < words.count; i++) {
        size_t at = first;
        while (at < last && !(making->words.items[at].stem_length == words.items[i].stem_length &&
                              memcmp(making->words.items[at].stem, words.items[i].stem,
                                     words.items[i].stem_length) == 0)) {
            at++;
        }
        if (at == last) {
            return false;
        }
    }
    return words.count > 0;
}

/* Whether the piece names the parameter where the call has not, or names another one: then one of
 * both values is no value of this parameter. */
static bool is_of_other(const struct comparing *comparing, const char *name) {
    const struct clause *piece = comparing->piece;
    const struct making *making = comparing->making;
    size_t first = piece->first;
    while (first > 0 && making->words.items[first - 1].start >= comparing->call->start) {
        first--;
    }
    if (is_named(making, name, piece->first, piece->last)) {
        return !is_named(making, name, first, piece->first);
    }
    yyjson_val *properties =
            yyjson_obj_get(profile_schema(called_profile(comparing->call)), "properties");
    yyjson_obj_iter iter = yyjson_obj_iter_with(properties);
    yyjson_val *key;
    while ((key = yyjson_obj_iter_next(&iter)) != NULL) {
        if (is_named(making, yyjson_get_str(key), piece->first, piece->last)) {
            return true;
        }
    }
    return false;
}

static size_t count_words(const char *text) {
    size_t count = 0;
    for (; text != NULL && *text != '\0'; text++) {
        count += *text != ' ' && (text[1] == ' ' || text[1] == '\0');
    }
    return count;
}

static enum difference compare(const struct comparing *comparing, const char *name,
                               yyjson_mut_val *before, yyjson_mut_val *value) {
    const struct making *making = comparing->making;
    const struct clause *piece = comparing->piece;
    yyjson_mut_obj_iter iter;
    yyjson_mut_val *key;
    enum difference most = SAME;
    if (yyjson_mut_equals(before, value)) {
        return SAME;
    }
    if (!yyjson_mut_is_obj(before) || !yyjson_mut_is_obj(value)) {
        bool listed = piece->last - piece->first <= LISTED_MAX && comparing->strange &&
                      count_words(yyjson_mut_get_str(before)) < LISTED_MAX &&
                      stands_before(making, before, piece->start);
        bool kind = yyjson_mut_is_num(before) == yyjson_mut_is_num(value);
        bool solid = is_solid(making, value, piece->wish);
        bool both = solid && is_solid(making, before, piece->wish);
        if (kind && (listed || both)) {
            return is_of_other(comparing, name) ? BETTER : OTHER;
        }
        return solid && !both ? BETTER : SAME;
    }
    (void)yyjson_mut_obj_iter_init(before, &iter);
    while ((key = yyjson_mut_obj_iter_next(&iter)) != NULL) {
        yyjson_mut_val *other =
                yyjson_mut_obj_getn(value, yyjson_mut_get_str(key), yyjson_mut_get_len(key));
        enum difference one = other != NULL ? compare(comparing, yyjson_mut_get_str(key),
                                                      yyjson_mut_obj_iter_get_val(key), other)
                                            : SAME;
        most = one > most ? one : most;
    }
    return most;
}

static size_t count_leaves(yyjson_mut_val *value) {
    yyjson_mut_obj_iter iter;
    yyjson_mut_val *key;
    size_t count = 0;
    if (!yyjson_mut_is_obj(value)) {
        return yyjson_mut_is_arr(value) ? yyjson_mut_arr_size(value) : 1;
    }
    (void)yyjson_mut_obj_iter_init(value, &iter);
    while ((key = yyjson_mut_obj_iter_next(&iter)) != NULL) {
        count += count_leaves(yyjson_mut_obj_iter_get_val(key));
    }
    return count;
}

/* Whether an argument is the marked result, or is computed with it: an expression of numbers and
 * signs. */
static bool uses_mark(const struct arguments *arguments, const char *digits) {
    for (size_t i = 0; arguments != NULL && i < arguments->value_count; i++) {
        const char *json = arguments->values[i].json;
        size_t letters = 0;
        for (const char *c = json; *c != '\0'; c++) {
            letters += ascii_is_letter(*c) || *c == '$' || (unsigned char)*c >= 0x80;
        }
        if (strstr(json, digits) != NULL && letters == 0) {
            return true;
        }
    }
    return false;
}

/* The arguments of a call whose piece has a word for a result, with the result in its place. Where
 * no argument takes it, the call has only what the piece says. */
static int fill_marked(struct making *making, const struct clause *piece,
                       const struct marked *marked, struct called *call) {
    for (unsigned quoted = 0; quoted < 2; quoted++) {
        struct marked written = *marked;
        CLEANUP(arguments_destroyp) struct arguments *filled = NULL;
        int code = wish_mark_write(making, piece, quoted > 0, &written);
        const struct wish_part part = {.start = written.clause.start, .piece = &written.clause};
        code = code < 0 ? code
                        : wish_fill_part(making, call, written.clause.start, written.clause.end,
                                         &filled);
        if (code < 0) {
            return code;
        }
        if (uses_mark(filled, written.digits)) {
            call->has_mark = true;
            call->mark = written;
            call->said = said_values(making, call, &part, filled);
            call->values = yyjson_mut_val_mut_copy(making->doc, call->said);
            arguments_destroy(call->arguments);
            call->arguments = STEAL(filled);
            call->filled = written.clause.start;
            return 0;
        }
    }
    return 0;
}

/* A call of the same tool as the one before, with other values. What is not said is as before,
 * unless the piece speaks of a result: "then the result to yen" has not the amount of before. */
static int call_again(struct making *making, const struct clause *piece, yyjson_mut_val *said,
                      struct arguments **own) {
    struct marked marked;
    bool found = false;
    int code = wish_outputs_find(making);
    code = code < 0 ? code : wish_mark_find(making, piece, &marked, &found);
    const struct called *before = &making->calls[making->count - 1];
    /* Not a part of a result that is asked for once more, nor a thing ("sold it for 5") where the
     * piece says all values itself. */
    const bool refers =
            found && marked.path == NULL && count_leaves(said) < count_leaves(before->values);
    struct called *next =
            code == 0 ? add_call(making, before->by, piece->start, piece->end, false) : NULL;
    if (next == NULL) {
        return code;
    }
    next->again = true;
    next->said = said;
    next->values = yyjson_mut_val_mut_copy(making->doc, said);
    next->arguments = STEAL(*own);
    next->filled = piece->start;
    if (refers) {
        next->refers = true;
        return fill_marked(making, piece, &marked, next);
    }
    add_missing(making, next->values, before->values);
    next->has_mark = before->has_mark; /* its digits are among these values */
    next->mark = before->mark;
    next->refers = before->refers;
    return 0;
}

/* Note a piece that gives a call nothing; whether it is told is known when all calls are linked. */
static void add_spare(struct making *making, const struct clause *piece, size_t call) {
    struct spare *last = making->spare_count > 0 ? &making->spares[making->spare_count - 1] : NULL;
    const bool joins = last != NULL && last->call == call && last->clause.end == piece->start &&
                       !piece->wish && piece->begin != CLAUSE_THEN;
    if (joins) {
        last->clause.end = piece->end;
        last->clause.last = piece->last;
    } else if (making->spare_count < CLAUSES_MAX) {
        making->spares[making->spare_count++] = (struct spare){.clause = *piece, .call = call};
    }
}

/* Whether a piece wants the same of what it does not say: "and the other one", 其余的. */
static bool is_of_others(const struct making *making, const struct clause *piece) {
    static const char *const others[] = {"other", "others", "another", "rest", "remaining"};
    static const char *const chinese[] = {"另一", "其他", "其余", "剩下"};
    for (size_t at = piece->first; at < piece->last; at++) {
        const struct word *word = &making->words.items[at];
        bool other = WORD_IS_ONE_OF(word, others);
        for (size_t i = 0; i < ARRAY_LENGTH(chinese) && word->kind == WORD_HAN; i++) {
            other = other ||
                    strncmp(making->text + word->start, chinese[i], strlen(chinese[i])) == 0;
        }
        if (other && !word->quoted) {
            return true;
        }
    }
    return false;
}

/* A piece without a tool of its own says more of the call before it, or wants the same once more
 * with other values: then it is a call of its own, which has the other values of that one. */
static int add_piece(struct making *making, const struct clause *piece) {
    struct called *call = &making->calls[making->count - 1];
    CLEANUP(arguments_destroyp) struct arguments *both = NULL;
    CLEANUP(arguments_destroyp) struct arguments *own = NULL;
    int code = wish_fill_part(making, call, call->start, piece->end, &both);
    code = code < 0 ? code : wish_fill_part(making, call, piece->start, piece->end, &own);
    if (code < 0) {
        return code;
    }
    const struct wish_part from = {.start = call->start, .piece = piece, .own = true};
    const struct wish_part only = {.start = piece->start, .piece = piece, .own = true};
    yyjson_mut_val *more = said_values(making, call, &from, both);
    yyjson_mut_val *alone = said_values(making, call, &only, own);
    /* The text from the beginning has all values of a list again. */
    bool takes = !call->listed && takes_from(both, piece->start - call->start);
    bool grows = takes && count_leaves(more) > count_leaves(call->said);
    bool lacks = call->arguments != NULL && call->arguments->missing_count > 0;
    size_t strange;
    size_t given = 0;
    code = count_strange(making, call, piece, &strange, &given);
    const struct comparing comparing = {
            .making = making, .call = call, .piece = piece, .strange = strange > 0};
    enum difference difference = compare(&comparing, "", call->said, alone);
    bool full = count_leaves(alone) >= count_leaves(call->said);
    if (code < 0) {
        return code;
    }
    if (difference == OTHER && !piece->or_else && (full ? !(grows && lacks) : !grows)) {
        return call_again(making, piece, alone, &own);
    }
    const size_t leaves = count_leaves(call->said);
    call->end = piece->end;
    if (grows || (takes && difference != OTHER)) {
        call->said = more;
        arguments_destroy(call->arguments);
        call->arguments = STEAL(both);
        call->filled = call->start;
    } else if (difference == BETTER) {
        add_missing(making, alone, call->said);
        call->said = alone;
    } else {
        add_missing(making, call->said, alone);
    }
    yyjson_mut_val *values = yyjson_mut_val_mut_copy(making->doc, call->said);
    add_missing(making, values, call->values);
    call->values = values;
    /* "Then those" has no strange word, and wants something all the same; "then the date" is a part
     * of the result. */
    const bool wants = strange > 0 || is_of_others(making, piece) ||
                       (piece->begin == CLAUSE_THEN && given == 0);
    if (wants && !takes && difference != BETTER && count_leaves(call->said) == leaves) {
        add_spare(making, piece, making->count - 1);
    }
    return 0;
}

int wish_begin_call(struct making *making, const struct tried *by, const struct clause *piece,
                    bool then) {
    struct called *call = add_call(making, by, piece->start, piece->end, then);
    if (call == NULL) {
        return 0;
    }
    int code = wish_fill_part(making, call, piece->start, piece->end, &call->arguments);
    const struct wish_part part = {.start = piece->start, .piece = piece};
    call->filled = piece->start;
    call->said = said_values(making, call, &part, call->arguments);
    call->values = yyjson_mut_val_mut_copy(making->doc, call->said);
    return code;
}

/* Whether a call of the same tool says nothing else than the one before: it only says it again. */
static bool says_again(struct making *making, const struct tried *by) {
    struct called *call = making->count > 0 ? &making->calls[making->count - 1] : NULL;
    return call != NULL &&
           strcmp(toolrack_tool_name(called_tool(call)), toolrack_tool_name(by->found->tool)) == 0;
}

static bool is_called(const struct making *making, const char *name) {
    for (size_t i = 0; i < making->count; i++) {
        if (strcmp(toolrack_tool_name(called_tool(&making->calls[i])), name) == 0) {
            return true;
        }
    }
    return false;
}

/* A piece that names another tool by itself: "the details and benefits of employee 7".
 * @param ret  NULL: it does not */
static int try_piece(struct making *making, const struct clause *piece, struct tried **ret) {
    struct tried *tried = NULL;
    size_t strange;
    *ret = NULL;
    int code = count_strange(making, &making->calls[making->count - 1], piece, &strange, NULL);
    if (code < 0 || strange < PIECE_WORDS_LEAST) {
        return code;
    }
    code = wish_try_part(making, piece->start, piece->end, &tried);
    if (code == 0 && tried != NULL && tried->found != NULL &&
        tried->selecting.evaluation.confidence >= PIECE_LEAST &&
        !is_called(making, toolrack_tool_name(tried->found->tool))) {
        *ret = tried;
    }
    return code;
}

/* What a clause says anywhere holds for each of its calls: "Paris and London in celsius". */
static int share_clause(struct making *making, const struct clause *clause, size_t first) {
    int code = 0;
    for (size_t i = first; code == 0 && making->count > first + 1 && i < making->count; i++) {
        struct called *call = &making->calls[i];
        CLEANUP(arguments_destroyp) struct arguments *all = NULL;
        if (call->refers) {
            continue;
        }
        code = wish_fill_part(making, call, clause->start, clause->end, &all);
        if (code == 0) {
            const struct wish_part part = {.start = clause->start, .piece = clause};
            add_missing(making, call->values, said_values(making, call, &part, all));
        }
    }
    return code;
}

bool wish_lacks_arguments(const struct making *making, const struct clause *clause,
                          const struct tried *tried) {
    const struct arguments *arguments = tried->selecting.arguments;
    const struct called call = {.by = tried};
    const struct wish_part part = {.start = clause->start, .piece = clause};
    bool lacks = tried->found == NULL || (arguments != NULL && arguments->missing_count > 0);
    for (size_t i = 0; !lacks && arguments != NULL && i < arguments->value_count; i++) {
        lacks = !wish_is_value(making, &call, &part, &arguments->values[i]);
    }
    return lacks;
}

/* A clause with a word for what came before is understood better where that is a value. */
static int try_marked(struct making *making, const struct clause *clause, const struct tried *plain,
                      bool *ret_refers, bool *ret_taken) {
    struct marked marked;
    bool found = false;
    *ret_refers = false;
    *ret_taken = false;
    int code = making->count > 0 ? wish_outputs_find(making) : 0;
    if (code == 0 && making->count > 0) {
        code = wish_mark_find(making, clause, &marked, &found);
    }
    *ret_refers = found;
    for (unsigned quoted = 0; code == 0 && found && quoted < 2 && !*ret_taken; quoted++) {
        struct marked written = marked;
        struct tried *tried = NULL;
        code = wish_mark_write(making, clause, quoted > 0, &written);
        code = code < 0 ? code
                        : wish_try_part(making, written.clause.start, written.clause.end, &tried);
        if (code < 0 || tried == NULL || tried->found == NULL ||
            !uses_mark(tried->selecting.arguments, written.digits) ||
            (!wish_lacks_arguments(making, clause, plain) &&
             plain->selecting.evaluation.confidence - MARK_MARGIN >
                     tried->selecting.evaluation.confidence)) {
            continue;
        }
        size_t listed;
        *ret_taken = true;
        code = wish_add_listed(making, clause, tried, &written, &listed);
        if (code < 0 || listed > 0) {
            continue;
        }
        code = wish_begin_call(making, tried, &written.clause, clause->begin == CLAUSE_THEN);
        struct called *call = &making->calls[making->count - 1];
        call->has_mark = true;
        call->mark = written;
        call->start = clause->start;
        call->end = clause->end;
    }
    return code;
}

/* Whether a clause only wants the result told, which a plan does anyway: "and show me the result",
 * 并告诉我结果. */
static bool only_shows(const struct words *words, const struct clause *clause) {
    static const char *const results[] = {"result", "results", "answer", "结", "果", "答", "案"};
    static const char *const pointing[] = {"it", "them", "它"};
    static const char *const showing[] = {"show", "print", "display", "return", "report", "output"};
    bool result = false;
    bool points = false;
    bool shows = false; /* "then it" does not */
    for (size_t at = clause->first; at < clause->last;) {
        const struct word *word = &words->items[at];
        const struct lexicon_row *row;
        size_t rows;
        size_t length = words_match(words, at, &lexicon_openers, &row, &rows);
        const bool lead = length > 0 && strcmp(lexicon_value(&lexicon_openers, row), "lead") == 0;
        const bool named = WORD_IS_ONE_OF(word, results);
        const bool pointed = WORD_IS_ONE_OF(word, pointing);
        const bool shown = WORD_IS_ONE_OF(word, showing);
        if (length == 0 && !named && !pointed && !word->stop && !shown) {
            return false;
        }
        result = result || named;
        points = points || pointed;
        shows = shows || shown || (length > 0 && !lead);
        at += length > 0 ? length : 1;
    }
    return result || (points && shows);
}

/* Nothing is called for a clause: whoever reads the plan is told. */
static void leave(struct making *making, const struct clause *clause) {
    if (making->left_count == CLAUSES_MAX ||
        (making->count > 0 && only_shows(&making->words, clause))) {
        return;
    }
    const char *text = making->text + clause->start;
    size_t length = clause->end - clause->start;
    while (length > 0 && strchr(" \t\r\n,", text[length - 1]) != NULL) {
        length--;
    }
    making->left[making->left_count++] = (struct wish_left){.text = text, .length = length};
}

/* A part of the text that computes with several results is a call, if one tool takes all of them:
 * "then add the two numbers". */
static int try_several(struct making *making, const struct clause *clause, bool *ret_taken) {
    struct marked marked;
    struct tried *tried = NULL;
    bool found = false;
    *ret_taken = false;
    int code = making->count > 1 ? wish_outputs_find(making) : 0;
    if (code == 0 && making->count > 1) {
        code = wish_several_find(making, clause, &marked, &found);
    }
    if (code < 0 || !found) {
        return code;
    }
    code = wish_try_part(making, marked.clause.start, marked.clause.end, &tried);
    const struct arguments *arguments = tried != NULL ? tried->selecting.arguments : NULL;
    *ret_taken = code == 0 && tried != NULL && tried->found != NULL && making->count < WISHES_MAX &&
                 uses_mark(arguments, marked.digits);
    for (size_t i = 0; i < marked.more_count; i++) {
        *ret_taken = *ret_taken && uses_mark(arguments, marked.more[i].digits);
    }
    if (!*ret_taken) {
        return code;
    }
    code = wish_begin_call(making, tried, &marked.clause, clause->begin == CLAUSE_THEN);
    struct called *call = &making->calls[making->count - 1];
    call->has_mark = true;
    call->mark = marked;
    call->start = clause->start;
    call->end = clause->end;
    return code;
}

/* A piece that computes with the result of a call before is a call of its own: "and that times 3".
 * @param ret_taken  false: it is none */
static int try_computed(struct making *making, const struct clause *piece, bool *ret_taken) {
    static const struct tried none = {0};
    struct marked marked;
    bool found = false;
    bool refers;
    int code = try_several(making, piece, ret_taken);
    if (code < 0 || *ret_taken) {
        return code;
    }
    code = making->count > 0 ? wish_outputs_find(making) : 0;
    if (code == 0 && making->count > 0) {
        code = wish_mark_find(making, piece, &marked, &found);
    }
    return code == 0 && found && marked.computed
                   ? try_marked(making, piece, &none, &refers, ret_taken)
                   : code;
}

static int read_clause(struct making *making, const struct clause *clause) {
    struct tried *by;
    int code = wish_try_part(making, clause->start, clause->end, &by);
    if (code < 0 || by == NULL) {
        if (code == 0 && clause->first < clause->last) { /* no more parts are tried */
            leave(making, clause);
        }
        return code;
    }
    bool refers = false;
    bool taken;
    code = try_several(making, clause, &taken);
    code = code < 0 || taken ? code : try_marked(making, clause, by, &refers, &taken);
    if (code < 0 || taken) {
        return code;
    }
    bool begun = by->found == NULL || says_again(making, by);
    size_t first = making->count;
    size_t listed;
    code = wish_add_listed(making, clause, by, NULL, &listed);
    if (code < 0) {
        return code;
    }
    if (listed == 0 && by->found == NULL && (making->count == 0 || (refers && clause->wish))) {
        leave(making, clause);
        return 0;
    }
    begun = begun || listed > 0;
    for (size_t i = 0; code == 0 && i < making->pieces.count; i++) {
        const struct clause *piece = &making->pieces.items[i];
        struct tried *other = NULL;
        if (piece->start < clause->start || piece->end > clause->end || piece->start < listed) {
            continue;
        }
        if (!begun) {
            code = wish_begin_call(making, by, piece, clause->begin == CLAUSE_THEN);
            begun = true;
            continue;
        }
        code = try_computed(making, piece, &taken);
        code = code < 0 || taken ? code : try_piece(making, piece, &other);
        if (code == 0 && !taken) {
            code = other != NULL
                           ? wish_begin_call(making, other, piece, piece->begin == CLAUSE_THEN)
                           : add_piece(making, piece);
        }
    }
    return code < 0 ? code : share_clause(making, clause, first);
}

/* --------------------------------------------------------------------------------- the result */

static bool is_linked(const struct called *call, const char *pointer) {
    for (size_t i = 0; i < call->link_count; i++) {
        size_t length = strlen(call->links[i].pointer);
        if (strncmp(call->links[i].pointer, pointer, length) == 0 &&
            (pointer[length] == '\0' || pointer[length] == '/')) {
            return true;
        }
    }
    return false;
}

/* What has to be asked of a call, while it is found. */
struct asking_for {
    struct making *making;
    const struct called *call;
    struct wish_ask *asks;
    size_t count;
    bool failed;
};

static const struct arguments_invalid *invalid_at(const struct called *call, const char *pointer) {
    const struct arguments *arguments = call->arguments;
    for (size_t i = 0; arguments != NULL && i < arguments->invalid_count; i++) {
        if (strcmp(arguments->invalid[i].pointer, pointer) == 0) {
            return &arguments->invalid[i];
        }
    }
    return NULL;
}

static const char *missing_question(const struct called *call, const char *pointer) {
    const struct arguments *arguments = call->arguments;
    for (size_t i = 0; arguments != NULL && i < arguments->missing_count; i++) {
        if (strcmp(arguments->missing[i].pointer, pointer) == 0) {
            return arguments->missing[i].question;
        }
    }
    return NULL;
}

/* What was taken for a value and is none: "times 3". NULL: nothing was. */
static const char *no_value_at(const struct called *call, const char *pointer) {
    const struct arguments *arguments = call->arguments;
    for (size_t i = 0; arguments != NULL && !call->has_mark && i < arguments->value_count; i++) {
        const struct arguments_value *value = &arguments->values[i];
        if (strcmp(value->pointer, pointer) == 0 && value->source == ARGUMENTS_FROM_TEXT &&
            value->json[0] == '"' && yyjson_mut_ptr_get(call->values, pointer) == NULL) {
            return value->json;
        }
    }
    return NULL;
}

static void ask_for(struct asking_for *asking, const char *pointer, const char *name,
                    yyjson_val *schema, bool required) {
    struct arena *arena = asking->making->arena;
    const struct arguments_invalid *invalid = invalid_at(asking->call, pointer);
    const char *question =
            invalid != NULL ? invalid->question : missing_question(asking->call, pointer);
    const char *reason = invalid != NULL ? invalid->reason : NULL;
    const char *none = invalid == NULL ? no_value_at(asking->call, pointer) : NULL;
    CLEANUP(buf_finish) struct buf made = BUF_INIT;
    if (none != NULL) {
        reason = arena_printf(arena, "%s is no value of it", none);
    }
    if (asking->count == ARGUMENTS_PARAMETERS_MAX) {
        return;
    }
    if (question == NULL) {
        question_missing(&made, NULL, name, yyjson_get_str(yyjson_obj_get(schema, "description")),
                         asking->making->asked.values->chinese);
        question = made.data != NULL ? made.data : "";
    }
    struct wish_ask *ask = &asking->asks[asking->count++];
    *ask = (struct wish_ask){.pointer = arena_copy(arena, pointer, strlen(pointer)),
                             .question = arena_copy(arena, question, strlen(question)),
                             .reason = reason != NULL ? arena_copy(arena, reason, strlen(reason))
                                                      : NULL,
                             .schema = schema,
                             .required = required};
    asking->failed = asking->failed || ask->pointer == NULL || ask->question == NULL || made.failed;
}

/* Ask for what the schema requires of a value and its members, and is not there. */
static void ask_missing(struct asking_for *asking, yyjson_val *schema, yyjson_mut_val *value,
                        const char *base, unsigned depth) {
    size_t at;
    size_t count;
    yyjson_val *required;
    yyjson_val *properties = yyjson_obj_get(schema, "properties");
    char pointer[JSON_POINTER_MAX];
    if (depth == ARGUMENTS_NESTING_MAX) {
        return;
    }
    for (size_t i = 0; i < yyjson_mut_arr_size(value); i++) {
        (void)snprintf(pointer, sizeof pointer, "%s", base);
        json_pointer_add_index(pointer, i);
        ask_missing(asking, yyjson_obj_get(schema, "items"), yyjson_mut_arr_get(value, i), pointer,
                    depth + 1);
    }
    if (!yyjson_mut_is_obj(value)) {
        return;
    }
    yyjson_arr_foreach (yyjson_obj_get(schema, "required"), at, count, required) {
        const char *name = yyjson_get_str(required);
        if (name != NULL && yyjson_mut_obj_get(value, name) == NULL) {
            (void)snprintf(pointer, sizeof pointer, "%s", base);
            json_pointer_add(pointer, name);
            if (!is_linked(asking->call, pointer)) {
                ask_for(asking, pointer, name, yyjson_obj_get(properties, name), true);
            }
        }
    }
    yyjson_mut_obj_iter iter;
    yyjson_mut_val *key;
    (void)yyjson_mut_obj_iter_init(value, &iter);
    while ((key = yyjson_mut_obj_iter_next(&iter)) != NULL) {
        (void)snprintf(pointer, sizeof pointer, "%s", base);
        json_pointer_add(pointer, yyjson_mut_get_str(key));
        ask_missing(asking, yyjson_obj_get(properties, yyjson_mut_get_str(key)),
                    yyjson_mut_obj_iter_get_val(key), pointer, depth + 1);
    }
}

/* What the text says for a parameter that may be left out, and cannot be. */
static void ask_unread(struct asking_for *asking) {
    const struct arguments *arguments = asking->call->arguments;
    for (size_t i = 0; arguments != NULL && i < arguments->invalid_count; i++) {
        const char *pointer = arguments->invalid[i].pointer;
        bool asked = yyjson_mut_ptr_get(asking->call->values, pointer) != NULL ||
                     is_linked(asking->call, pointer);
        for (size_t k = 0; k < asking->count && !asked; k++) {
            asked = strcmp(asking->asks[k].pointer, pointer) == 0;
        }
        if (!asked) {
            ask_for(asking, pointer, pointer, NULL, false);
        }
    }
}

static bool finish_asks(struct making *making, struct called *call, struct wish *wish) {
    struct asking_for asking = {.making = making, .call = call};
    asking.asks = arena_zalloc(making->arena, ARGUMENTS_PARAMETERS_MAX * sizeof *asking.asks);
    if (asking.asks == NULL) {
        return false;
    }
    ask_missing(&asking, profile_schema(called_profile(call)), call->values, "", 0);
    ask_unread(&asking);
    wish->asks = asking.asks;
    wish->ask_count = asking.count;
    return !asking.failed;
}

/* The defaults that the call has for what nothing says. */
static void add_assumed(struct making *making, struct called *call) {
    for (size_t i = 0; call->arguments != NULL && i < call->arguments->value_count; i++) {
        const struct arguments_value *value = &call->arguments->values[i];
        if (value->source == ARGUMENTS_ASSUMED &&
            yyjson_mut_ptr_get(call->values, value->pointer) == NULL &&
            !is_linked(call, value->pointer)) {
            CLEANUP(yyjson_doc_freep)
            yyjson_doc *doc = yyjson_read(value->json, strlen(value->json), 0);
            (void)yyjson_mut_ptr_setx(call->values, value->pointer, strlen(value->pointer),
                                      yyjson_val_mut_copy(making->doc, yyjson_doc_get_root(doc)),
                                      making->doc, true, NULL, NULL);
        }
    }
}

static bool changes(const struct called *call) {
    return !toolrack_tool_read_only(called_tool(call)) &&
           fit_tool_changes(profile_fit(called_profile(call)));
}

/* "Then" mostly lists; of two calls that change something it is an order. */
static bool is_ordered(const struct making *making, size_t at) {
    return at > 0 && making->calls[at].then && changes(&making->calls[at]) &&
           changes(&making->calls[at - 1]);
}

/* What the five steps ask about the text of a call; of a text of several calls each knows what
 * another does not, and what a link stands for is no question. */
static const char *question_of(const struct making *making, const struct called *call) {
    size_t calls = 0;
    for (size_t i = 0; i < making->count; i++) {
        const struct called *other = &making->calls[i];
        calls += other->start >= call->by->start && other->start < call->by->end;
    }
    return calls == 1 && call->link_count == 0 ? call->by->selecting.doubt : NULL;
}

/* Conditions of which no call has a word: "if it rains", but not "if I have 5 dollars". */
static int find_conditions(struct making *making, struct wishes *ret) {
    struct told_condition condition;
    CLEANUP(values_destroyp) struct values *values = NULL;
    int code = values_read(making->text, making->length, &making->asked.said, &values, making->err);
    for (size_t from = 0; code == 0 && making->condition_count < CONDITIONS_MAX &&
                          told_condition_find(&making->words, from, &condition);
         from = condition.last) {
        const struct clause said = {.first = condition.begin, .last = condition.last};
        bool told = !is_in_value(making, values, &condition);
        for (size_t i = 0; code == 0 && i < making->count; i++) {
            size_t strange;
            code = count_strange(making, &making->calls[i], &said, &strange, NULL);
            told = told && strange > 0;
        }
        if (told) {
            add_condition(making, &condition);
        }
    }
    ret->conditions = making->conditions;
    ret->condition_count = making->condition_count;
    return code;
}

/* Whether a condition that is told has a part of a clause. */
static bool has_condition(const struct making *making, const struct clause *clause) {
    const char *text = making->asked.options.text;
    for (size_t i = 0; i < making->condition_count; i++) {
        const struct wish_left *condition = &making->conditions[i];
        if (condition->text < text + clause->end &&
            text + clause->start < condition->text + condition->length) {
            return true;
        }
    }
    return false;
}

static int compare_left(const void *a, const void *b) {
    const struct wish_left *left = a;
    const struct wish_left *right = b;
    return (left->text > right->text) - (left->text < right->text);
}

/* The spare pieces are left, but for those that gave their call a result of one before, and
 * conditions. */
static int leave_spares(struct making *making) {
    for (size_t i = 0; i < making->spare_count; i++) {
        const struct spare *spare = &making->spares[i];
        struct marked marked;
        bool found = false;
        int code = making->calls[spare->call].link_count > 0
                           ? wish_mark_find(making, &spare->clause, &marked, &found)
                           : 0;
        if (code < 0) {
            return code;
        }
        if (!found && !has_condition(making, &spare->clause)) {
            leave(making, &spare->clause);
        }
    }
    qsort(making->left, making->left_count, sizeof *making->left, compare_left);
    return 0;
}

static int finish(struct making *making, struct wishes *ret) {
    ret->items = arena_zalloc(making->arena, (making->count + 1) * sizeof *ret->items);
    if (ret->items == NULL) {
        return error_oom(making->err);
    }
    for (size_t i = 0; i < making->count; i++) {
        struct called *call = &making->calls[i];
        struct wish *wish = &ret->items[ret->count++];
        const struct selecting *selecting = &call->by->selecting;
        add_assumed(making, call);
        *wish = (struct wish){.tool = toolrack_tool_name(called_tool(call)),
                              .title = toolrack_tool_title(called_tool(call)),
                              .start = call->start,
                              .end = call->end,
                              .confidence = selecting->evaluation.confidence,
                              .question = question_of(making, call),
                              .arguments = call->values,
                              .links = call->links,
                              .link_count = call->link_count,
                              .after = is_ordered(making, i)};
        if (!finish_asks(making, call, wish)) {
            return error_oom(making->err);
        }
    }
    if (ret->count == 0 && making->tried_count > 0) {
        ret->question = selecting_question(&making->tried[0]->selecting);
    }
    int code = ret->count > 0 ? find_conditions(making, ret) : 0;
    code = code < 0 ? code : leave_spares(making);
    ret->left = making->left;
    ret->left_count = making->left_count;
    ret->refused = making->refused;
    ret->refused_count = making->refused_count;
    ret->cut = making->cut;
    return code == 0 && ret->count > 0 ? wish_find_unused(making, ret) : code;
}

void wishes_finish(struct wishes *wishes) {
    struct making *making = wishes->inner;
    if (making != NULL) {
        for (size_t i = 0; i < making->count; i++) {
            arguments_destroy(making->calls[i].arguments);
        }
        for (size_t i = 0; i < making->tried_count; i++) {
            selecting_finish(&making->tried[i]->selecting);
            free(making->tried[i]->text);
            free(making->tried[i]);
        }
        wish_outputs_finish(making);
        words_finish(&making->words);
        asked_finish(&making->asked);
        free(making);
        arena_finish(&wishes->arena);
        yyjson_mut_doc_free(wishes->doc);
    }
    *wishes = (struct wishes){0};
}

int choose_wishes(const struct choose *choose, const struct toolrack_select_options *options,
                  struct wishes *ret, struct toolrack_error *err) {
    OBJECT_CHECK(choose, CHOOSE_MAGIC);
    struct making *making = calloc(1, sizeof *making);
    *ret = (struct wishes){.inner = making};
    if (making == NULL) {
        return error_oom(err);
    }
    arena_init(&ret->arena, NULL, 0);
    ret->doc = yyjson_mut_doc_new(NULL);
    making->choose = choose;
    making->options = options;
    making->arena = &ret->arena;
    making->doc = ret->doc;
    making->err = err;
    int code = ret->doc != NULL ? read_text(making) : error_oom(err);
    for (size_t i = 0; code == 0 && i < making->clauses.count; i++) {
        code = read_clause(making, &making->clauses.items[i]);
    }
    code = code < 0 ? code : wish_link_all(making);
    return code < 0 ? code : finish(making, ret);
}
