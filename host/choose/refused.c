#include "choose/refused.h"

#include <string.h>

#include "base/cleanup.h"
#include "choose/intent.h"
#include "choose/opposite.h"
#include "choose/turns.h"

/* How far behind "don't" a verb may stand, in words, "I don't want you to close it"; and in Chinese
 * characters, 不要把牛奶加到购物清单. */
#define REFUSAL_REACH     6u
#define REFUSAL_REACH_HAN 24u

/* ---------------------------------------------------------------------- words */

/* How many words at a place are in lexicon/refusals.txt as what is said; 0: they are not. */
static size_t match(const struct words *words, size_t at, const char *as) {
    const struct lexicon_row *row;
    size_t rows;
    size_t length = at < words->count ? words_match(words, at, &lexicon_refusals, &row, &rows) : 0;
    for (size_t i = 0; length > 0 && i < rows; i++) {
        if (strcmp(lexicon_value(&lexicon_refusals, &row[i]), as) == 0) {
            return length;
        }
    }
    return 0;
}

static bool is_one_of(const struct words *words, size_t at, const char *const *list, size_t count) {
    return at < words->count && word_is_one_of(&words->items[at], list, count);
}

/* -------------------------------------------------------------------------- verbs */

/* What a word wants done, in the lexicon, said clearly; NULL: nothing. */
static const struct lexicon_row *read_verb(const struct words *words, size_t at, size_t *ret_length,
                                           size_t *ret_rows) {
    const struct lexicon_row *row;
    *ret_length = words_match(words, at, &lexicon_intents, &row, ret_rows);
    for (size_t i = 0; *ret_length > 0 && i < *ret_rows; i++) {
        const char *value = lexicon_value(&lexicon_intents, &row[i]);
        if (value[strlen(value) - 1] > '1') {
            return row;
        }
    }
    *ret_length = *ret_length > 0 ? *ret_length : 1;
    return NULL;
}

static bool is_deed(const struct words *words, size_t at) {
    struct deeds deeds = {.count = 0};
    return deeds_at(words, at, &deeds) > 0;
}

static bool is_verb(const struct words *words, size_t at) {
    size_t length;
    size_t rows;
    return at < words->count &&
           (read_verb(words, at, &length, &rows) != NULL || is_deed(words, at));
}

/* ---------------------------------------------------------------------- negators */

static bool begins_part(const struct words *words, size_t at) {
    return at == 0 || words->items[at - 1].part != words->items[at].part;
}

/* The words of "don't" at a word, where a person orders or wishes; 0: it is none. A person says
 * what is so with them too: "it does not open", "I don't know". */
static size_t match_order(const struct words *words, size_t at) {
    static const char *const persons[] = {"i", "we"};
    static const char *const asked[] = {"you"};
    size_t length = match(words, at, "order");
    if (length == 0) {
        return match(words, at, "never");
    }
    if (at > 0 && is_one_of(words, at - 1, persons, ARRAY_LENGTH(persons))) {
        return match(words, at + length, "wish") > 0 ? length : 0;
    }
    bool asks = is_one_of(words, at + length, asked, ARRAY_LENGTH(asked));
    bool begins = begins_part(words, at) || match(words, at - 1, "before") > 0;
    return !asks && begins ? length : 0;
}

static bool is_han_not(const struct words *words, size_t at) {
    bool begins = begins_part(words, at) || match(words, at - 1, "before-not") > 0;
    return begins && match(words, at, "han-not") > 0 && is_verb(words, at + 1);
}

static size_t match_han_order(const struct words *words, size_t at) {
    size_t length = match(words, at, "han");
    const struct word *word = &words->items[at];
    if (length == 0) {
        return is_han_not(words, at) ? 1 : 0;
    }
    const struct word *last = &words->items[at + length - 1];
    /* 要不要 asks. */
    bool asks = length > 1 && at > 0 && word[-1].text_length == last->text_length &&
                memcmp(word[-1].text, last->text, last->text_length) == 0;
    bool other =
            length == 1 && ((at > 0 && word->joined && match(words, at - 1, "other-before") > 0) ||
                            match(words, at + 1, "other-behind") > 0);
    return asks || other ? 0 : length;
}

static bool is_doing(const struct words *words, size_t at) {
    const struct word *word = &words->items[at];
    return at < words->count && word->text_length > 4 &&
           memcmp(word->text + word->text_length - 3, "ing", 3) == 0;
}

static size_t match_refusal(const struct words *words, size_t at, bool *ret_orders) {
    *ret_orders = true;
    if (words->items[at].quoted) {
        return 0;
    }
    size_t length =
            words->items[at].kind == WORD_HAN ? match_han_order(words, at) : match_order(words, at);
    if (length == 0) {
        *ret_orders = false;
        length = match(words, at, "doing");
        length = length > 0 && is_doing(words, at + length) ? length : 0;
        size_t other = length == 0 ? match(words, at, "verb") : 0;
        length = other > 0 && is_verb(words, at + other) ? other : length;
    }
    return length > 0 && match(words, at + length, "turned") > 0 ? 0 : length;
}

/* ------------------------------------------------------------------- what is not to be done */

static bool is_refused(const struct refused *refused, size_t at) {
    for (size_t i = 0; i < refused->count; i++) {
        if (refused->verbs[i] == at) {
            return true;
        }
    }
    return false;
}

/* The verb behind "don't", and those that "or" adds. */
static void add_verbs(struct refused *refused, const struct words *words, size_t at) {
    static const char *const ors[] = {"or", "或"};
    size_t from = at;
    for (size_t i = at; i < words->count; i++) {
        size_t length;
        size_t rows;
        size_t reach = words->items[i].kind == WORD_HAN ? REFUSAL_REACH_HAN : REFUSAL_REACH;
        if (i >= from + reach) {
            return;
        }
        if (refused->count == REFUSED_MAX || words->items[i].clause != words->items[from].clause ||
            words->items[i].part != words->items[from].part) {
            return;
        }
        bool verb = read_verb(words, i, &length, &rows) != NULL || is_deed(words, i);
        if (words->items[i].quoted || !verb) {
            continue;
        }
        refused->verbs[refused->count++] = i;
        from = i + length + 1;
        if (from >= words->count || !is_one_of(words, from - 1, ors, ARRAY_LENGTH(ors))) {
            return;
        }
        i = from - 1;
    }
}

/* Where there is no such verb, a word that hints at what is not to be done: 不要把6美元换成日元. */
static void add_hint(struct refused *refused, const struct words *words, size_t at) {
    for (size_t i = at; i < words->count && refused->count < REFUSED_MAX &&
                        words->items[i].clause == words->items[at].clause &&
                        words->items[i].part == words->items[at].part;
         i++) {
        const struct lexicon_row *row;
        size_t rows;
        if (!words->items[i].quoted && words->items[i].kind == WORD_HAN &&
            words_match(words, i, &lexicon_intents, &row, &rows) > 1) {
            refused->verbs[refused->count++] = i;
            return;
        }
    }
}

static bool is_question(const struct words *words, size_t at) {
    const struct lexicon_row *row;
    size_t rows;
    return words_match(words, at, &lexicon_questions, &row, &rows) > 0;
}

/* Whether a word says what is not to be done, as the thing before the verb. */
static bool is_of_refusal(const struct refused *refused, const struct words *words, size_t at) {
    for (size_t i = 0; i < refused->count; i++) {
        if (refused->begins[i] <= at && at < refused->says[i] &&
            words->items[at].part == words->items[refused->verbs[i]].part) {
            return true;
        }
    }
    return false;
}

/* Whether a part of a text begins to ask for something: "just tell me the time". */
static bool is_asking_for(const struct words *words, size_t at) {
    static const char *const asking[] = {"tell", "give", "show"};
    static const char *const before[] = {"just", "only", "instead", "but", "please", "rather"};
    return at > 0 && WORD_IS_ONE_OF(&words->items[at], asking) &&
           (begins_part(words, at) || WORD_IS_ONE_OF(&words->items[at - 1], before));
}

/* Whether something else is wanted: another verb, or a question. */
static bool has_wish(const struct refused *refused, const struct words *words) {
    for (size_t at = 0; at < words->count;) {
        size_t length;
        size_t rows;
        bool verb = read_verb(words, at, &length, &rows) != NULL && intent_is_wanted(words, at);
        verb = verb || is_asking_for(words, at);
        if (!is_refused(refused, at) && !is_of_refusal(refused, words, at) &&
            !words->items[at].quoted && (verb || is_question(words, at))) {
            return true;
        }
        at += length;
    }
    return false;
}

/* Whether a text is a refusal as a whole, before which stands nothing that says something. It need
 * have no verb that is known: 不要截图. */
static bool is_whole(const struct words *words, size_t at) {
    for (size_t i = 0; i < at; i++) {
        if (!words->items[i].stop) {
            return false;
        }
    }
    return words->items[0].part == words->items[words->count - 1].part;
}

/* ----------------------------------------------------------------- no as an answer */

/* What a reply says, in bits. */
enum { REPLY_BACK = 1, REPLY_NO = 2, REPLY_THANKS = 4, REPLY_SURE = 8, REPLY_YES = 16 };

static unsigned reply_of(const char *value) {
    return strcmp(value, "back") == 0     ? REPLY_BACK
           : strcmp(value, "no") == 0     ? REPLY_NO
           : strcmp(value, "thanks") == 0 ? REPLY_THANKS
           : strcmp(value, "yes") == 0    ? REPLY_YES
                                          : REPLY_SURE;
}

/* The replies in a turn; `ret_all`: it has no other words. */
static unsigned find_replies(const struct words *words, const struct turn *turn, bool *ret_all) {
    unsigned found = 0;
    *ret_all = true;
    for (size_t at = 0; at < words->count;) {
        const struct lexicon_row *row;
        size_t rows;
        size_t length = 0;
        if (words->items[at].start >= turn->start && words->items[at].end <= turn->end) {
            length = words_match(words, at, &lexicon_replies, &row, &rows);
            found |= length > 0 ? reply_of(lexicon_value(&lexicon_replies, row)) : 0;
            *ret_all = *ret_all && length > 0;
        }
        at += length > 0 ? length : 1;
    }
    return found;
}

static bool asks(const char *text, const struct turn *turn) {
    size_t size = turn->end - turn->start;
    return memchr(text + turn->start, '?', size) != NULL ||
           memmem(text + turn->start, size, "？", strlen("？")) != NULL;
}

/* The last that a person says takes the wish back, is a no to a question whether it is meant, or
 * says that all is done. */
static bool is_taken_back(const char *text, size_t length, const struct words *words) {
    struct turns turns;
    bool all;
    bool whole;
    turns_read(text, length, &turns);
    if (turns.count < 2 || !turns.items[turns.count - 1].asked) {
        return false;
    }
    const struct turn *last = &turns.items[turns.count - 1];
    unsigned said = find_replies(words, last, &all);
    unsigned before = find_replies(words, &last[-1], &whole);
    if ((said & (REPLY_SURE | REPLY_YES)) != 0) {
        return false;
    }
    bool no = (said & REPLY_NO) != 0;
    bool meant = !last[-1].asked && (before & REPLY_SURE) != 0;
    /* Whether it is meant was asked: a no stays one with more words, and a question is no yes. */
    if (meant && asks(text, &last[-1]) && (said == 0 ? asks(text, last) : no)) {
        return true;
    }
    if (!all || said == 0) {
        return false;
    }
    bool done = (said & REPLY_THANKS) != 0 && (no || !asks(text, &last[-1]));
    return (said & REPLY_BACK) != 0 || (no && meant) || done;
}

/* Where a part of a text begins that has word `at`. */
static size_t part_begin(const struct words *words, size_t at) {
    while (at > 0 && words->items[at - 1].part == words->items[at].part &&
           words->items[at - 1].clause == words->items[at].clause) {
        at--;
    }
    return at;
}

/* The first word that a refusal is of: "mail 6 must not be deleted", 邮件6不要删除. */
static size_t refusal_begin(const struct words *words, size_t at, size_t length) {
    static const char *const passive[] = {"be", "get"};
    const size_t begin = part_begin(words, at);
    if (words->items[at].kind != WORD_HAN) {
        return is_one_of(words, at + length, passive, ARRAY_LENGTH(passive)) ? begin : at;
    }
    for (size_t i = begin; i < at; i++) {
        if (is_verb(words, i) && intent_is_wanted(words, i)) {
            return at;
        }
    }
    return begin;
}

void refused_find(const char *text, size_t length, const struct words *words, struct refused *ret) {
    *ret = (struct refused){0};
    for (size_t at = 0; at < words->count;) {
        bool orders;
        size_t size = match_refusal(words, at, &orders);
        if (size > 0) {
            size_t before = ret->count;
            add_verbs(ret, words, at + size);
            if (ret->count == before && before < REFUSED_MAX && at + size < words->count &&
                is_whole(words, at)) {
                ret->verbs[ret->count++] = at + size;
            }
            if (ret->count == before && orders) {
                add_hint(ret, words, at + size);
            }
            for (size_t i = before; i < ret->count; i++) {
                ret->begins[i] = refusal_begin(words, at, size);
                ret->says[i] = at;
                ret->orders[i] = orders;
            }
        }
        at += size > 0 ? size : 1;
    }
    /* Parts before it may want what no lexicon knows. */
    bool is_first = ret->count > 0 && words->items[ret->verbs[0]].part == words->items[0].part;
    ret->all = is_taken_back(text, length, words) || (is_first && !has_wish(ret, words));
}

bool refused_is_said(const struct refused *refused, const struct words *words, size_t at) {
    for (size_t i = 0; !refused->all && i < refused->count; i++) {
        size_t verb = refused->verbs[i];
        bool before = refused->begins[i] <= at && at < refused->says[i];
        if ((at >= verb || before) && words->items[at].part == words->items[verb].part &&
            words->items[at].clause == words->items[verb].clause) {
            return true;
        }
    }
    return false;
}

/* Whether a refusal is what another verb says: "remind me not to call", or text that is passed on.
 */
static bool is_said_by_other(const struct words *words, size_t begin, size_t says) {
    for (size_t at = part_begin(words, says); at < begin; at++) {
        if (is_verb(words, at) && intent_is_wanted(words, at)) {
            return true;
        }
    }
    return words->items[says].literal;
}

/* Whether a part of a text that begins with a word wants something itself. */
static bool wants(const struct words *words, size_t at) {
    static const char *const buts[] = {"but", "just", "only", "instead", "但", "而", "只"};
    for (size_t i = at; i < words->count && words->items[i].part == words->items[at].part; i++) {
        if (WORD_IS_ONE_OF(&words->items[i], buts) || is_question(words, i) ||
            (is_verb(words, i) && intent_is_wanted(words, i))) {
            return true;
        }
    }
    return false;
}

bool refused_next_part(const struct refused *refused, const struct words *words, size_t from,
                       size_t *ret_first, size_t *ret_last) {
    for (size_t i = 0; !refused->all && i < refused->count; i++) {
        if (!refused->orders[i] || refused->begins[i] < from ||
            is_said_by_other(words, refused->begins[i], refused->says[i])) {
            continue;
        }
        const struct word *verb = &words->items[refused->verbs[i]];
        size_t last = refused->verbs[i] + 1;
        while (last < words->count && words->items[last].clause == verb->clause &&
               (words->items[last].part == words->items[last - 1].part || !wants(words, last))) {
            last++;
        }
        *ret_first = refused->begins[i];
        *ret_last = last;
        return true;
    }
    return false;
}

/* --------------------------------------------------------------------------- tools */

/* Whether a verb is for an intent. */
static bool is_for(const struct words *words, size_t at, const char *intent) {
    size_t length;
    size_t rows;
    const struct lexicon_row *row = read_verb(words, at, &length, &rows);
    for (size_t i = 0; row != NULL && intent != NULL && i < rows; i++) {
        const char *value = lexicon_value(&lexicon_intents, &row[i]);
        size_t size = strlen(intent);
        if (strncmp(value, intent, size) == 0 && (value[size] == '\t' || value[size] == ' ') &&
            value[strlen(value) - 1] > '1') {
            return true;
        }
    }
    return false;
}

bool refused_is_done(const struct refused *refused, const struct words *words, const char *intent,
                     refused_is_named *is_named, const void *tool) {
    bool done = false;
    bool meant = false; /* by what it does, not only by a word of its name */
    for (size_t i = 0; i < refused->count; i++) {
        const struct word *word = &words->items[refused->verbs[i]];
        meant = meant || is_for(words, refused->verbs[i], intent);
        done = done || meant || is_named(tool, word->stem, word->stem_length);
    }
    for (size_t at = 0; done && at < words->count;) {
        size_t length;
        size_t rows;
        const struct word *word = &words->items[at];
        bool wanted = read_verb(words, at, &length, &rows) != NULL && !is_refused(refused, at) &&
                      !word->quoted && intent_is_wanted(words, at);
        /* The mail of delete_mail is a verb too: it wants no deleting. */
        if (wanted && (is_for(words, at, intent) ||
                       (!meant && is_named(tool, word->stem, word->stem_length)))) {
            return false;
        }
        at += length;
    }
    return done;
}
