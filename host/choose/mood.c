#include "choose/mood.h"

#include <string.h>

#include "base/cleanup.h"
#include "choose/deed.h"
#include "choose/intent.h"
#include "choose/refused.h"
#include "choose/turns.h"

/* ------------------------------------------------------------------------- the lexicon */

/* The kinds of words in lexicon/moods.txt, as bits. */
enum {
    MOOD_WISH = 1,
    MOOD_HOW = 2,
    MOOD_ASKS = 4,
    MOOD_WHICH = 8,
    MOOD_WHO = 16,
    MOOD_SINCE = 32,
    MOOD_PAST = 64,
    MOOD_STATE = 128,
    MOOD_NOT = 256,
    MOOD_DONE = 512
};

static unsigned mood_of(const char *value) {
    static const struct {
        const char *value;
        unsigned mood;
    } moods[] = {{"wish", MOOD_WISH},   {"how", MOOD_HOW},     {"asks", MOOD_ASKS},
                 {"which", MOOD_WHICH}, {"who", MOOD_WHO},     {"since", MOOD_SINCE},
                 {"past", MOOD_PAST},   {"state", MOOD_STATE}, {"not", MOOD_NOT},
                 {"done", MOOD_DONE}};
    for (size_t i = 0; i < ARRAY_LENGTH(moods); i++) {
        if (strcmp(moods[i].value, value) == 0) {
            return moods[i].mood;
        }
    }
    return 0;
}

/* The moods at a word, and how many words say so. */
static unsigned read_mood(const struct words *words, size_t at, size_t *ret_length) {
    const struct lexicon_row *row;
    size_t rows;
    unsigned moods = 0;
    size_t length = words_match(words, at, &lexicon_moods, &row, &rows);
    for (size_t i = 0; length > 0 && i < rows; i++) {
        moods |= mood_of(lexicon_value(&lexicon_moods, &row[i]));
    }
    *ret_length = length > 0 ? length : 1;
    return moods;
}

/* -------------------------------------------------------------------------- verbs */

/* Words that are verbs by the lexicon of intents, and what their intents do. */
enum { VERB_READS = 1, VERB_CHANGES = 2, VERB_MAKES = 4 };

static unsigned verb_of_intent(const char *value) {
    static const char *const changing[] = {"book", "buy",  "control", "delete",
                                           "move", "send", "update",  "write"};
    static const char *const reading[] = {"analyze", "compare", "compute",   "convert",
                                          "explain", "extract", "list",      "monitor",
                                          "read",    "search",  "recommend", "summarize"};
    size_t length = strcspn(value, "\t");
    if (value[strlen(value) - 1] < '2') {
        return 0;
    }
    for (size_t i = 0; i < ARRAY_LENGTH(changing); i++) {
        if (strlen(changing[i]) == length && memcmp(changing[i], value, length) == 0) {
            return VERB_CHANGES;
        }
    }
    for (size_t i = 0; i < ARRAY_LENGTH(reading); i++) {
        if (strlen(reading[i]) == length && memcmp(reading[i], value, length) == 0) {
            return VERB_READS;
        }
    }
    return VERB_MAKES;
}

/* What the verb at a word does; 0: it is none. */
static unsigned read_verb(const struct words *words, size_t at, size_t *ret_length) {
    const struct lexicon_row *row;
    size_t rows;
    unsigned verb = 0;
    size_t length = words_match(words, at, &lexicon_intents, &row, &rows);
    for (size_t i = 0; length > 0 && i < rows; i++) {
        verb |= verb_of_intent(lexicon_value(&lexicon_intents, &row[i]));
    }
    struct deeds deeds = {.count = 0};
    size_t of_deed = deeds_at(words, at, &deeds);
    for (size_t i = 0; i < deeds.count; i++) {
        verb |= deed_is_harmless(deeds.items[i]) ? VERB_MAKES : VERB_CHANGES;
    }
    length = of_deed > length ? of_deed : length;
    *ret_length = length > 0 ? length : 1;
    return verb;
}

static bool changes(unsigned verb) {
    return (verb & VERB_CHANGES) != 0 && (verb & VERB_READS) == 0;
}

static bool ends_with(const struct word *word, const char *ending) {
    size_t length = strlen(ending);
    return word->text_length > length &&
           memcmp(word->text + word->text_length - length, ending, length) == 0;
}

bool mood_is_past(const struct word *word) {
    const struct lexicon_row *row;
    bool other = word->text_length != word->stem_length ||
                 memcmp(word->text, word->stem, word->stem_length) != 0;
    return word->kind == WORD_LETTERS && other &&
           (ends_with(word, "ed") ||
            (!ends_with(word, "ing") && !ends_with(word, "s") &&
             lexicon_find(&lexicon_forms, word->text, word->text_length, &row) > 0));
}

/* ------------------------------------------------------------------- a part of a text */

struct part {
    size_t first;
    size_t end;
    bool asks;
    bool wants;
    bool any; /* a verb of the past need not be in a lexicon */
};

/* Where a part begins to say something: behind "and", "so", "hey". */
static size_t skip_fillers(const struct words *words, const struct part *part) {
    size_t at = part->first;
    size_t length;
    while (at < part->end && words->items[at].stop && read_mood(words, at, &length) == 0) {
        at++;
    }
    return at < part->end ? at : part->first;
}

static bool is_past_verb(const struct words *words, const struct part *part, size_t at) {
    size_t length;
    return mood_is_past(&words->items[at]) && (part->any || read_verb(words, at, &length) != 0);
}

/* Whether "when" is followed by "did", or "who" by "turned". */
static bool goes_on(const struct words *words, const struct part *part, size_t at) {
    for (; at < part->end; at++) {
        size_t length;
        if ((read_mood(words, at, &length) & MOOD_ASKS) != 0 || is_past_verb(words, part, at)) {
            return true;
        }
    }
    return false;
}

/* Whether "I" is followed by "turned", perhaps behind "have already". */
static bool tells(const struct words *words, const struct part *part, size_t at) {
    size_t length;
    while (at < part->end && (read_mood(words, at, &length) & MOOD_SINCE) != 0) {
        at += length;
    }
    return at < part->end &&
           ((read_mood(words, at, &length) & MOOD_PAST) != 0 || is_past_verb(words, part, at));
}

/* Whether a Chinese verb is followed by 了. */
static bool is_done(const struct words *words, const struct part *part, size_t at) {
    bool verb = false;
    while (at < part->end) {
        size_t length;
        size_t size;
        if (verb && (read_mood(words, at, &size) & MOOD_DONE) != 0) {
            return true;
        }
        verb = read_verb(words, at, &length) != 0 || verb;
        at += length;
    }
    return false;
}

/* Whether how a part begins makes it ask or tell. */
static bool begins_asking(const struct words *words, const struct part *part, size_t at) {
    size_t length;
    unsigned mood = read_mood(words, at, &length);
    bool han = words->items[at].kind == WORD_HAN;
    if ((mood & MOOD_WISH) != 0) {
        return false;
    }
    return (mood & MOOD_ASKS) != 0 ||
           ((mood & MOOD_WHICH) != 0 && goes_on(words, part, at + length)) ||
           ((mood & MOOD_WHO) != 0 &&
            (han ? is_done(words, part, at + length) : tells(words, part, at + length)));
}

/* "The plants were watered": told of them, whatever was done. */
static bool is_passive(const struct words *words, const struct part *part, size_t at) {
    static const char *const forms[] = {"was", "were", "been", "is", "are"};
    const struct word *word = &words->items[at];
    for (size_t i = 0; part->any && at + 1 < part->end && i < ARRAY_LENGTH(forms); i++) {
        if (word->text_length == strlen(forms[i]) &&
            memcmp(word->text, forms[i], word->text_length) == 0) {
            return mood_is_past(&words->items[at + 1]);
        }
    }
    return false;
}

static void read_part(const struct words *words, const struct refused *refused, struct part *part) {
    size_t begin = skip_fillers(words, part);
    bool how = false;
    bool wish = false;
    bool verb = false;
    const bool before = part->asks; /* the part that it is joined with asks */
    part->asks = begins_asking(words, part, begin);
    for (size_t at = begin; at < part->end;) {
        const struct word *word = &words->items[at];
        size_t length;
        size_t size;
        unsigned mood = word->quoted ? 0 : read_mood(words, at, &length);
        unsigned kind = word->quoted ? 0 : read_verb(words, at, &size);
        bool negated = (mood & MOOD_NOT) != 0 && at + length < part->end &&
                       read_verb(words, at + length, &size) != 0;
        how = how || (mood & MOOD_HOW) != 0 || negated;
        wish = wish || (mood & MOOD_WISH) != 0;
        part->asks = part->asks || how || (mood & MOOD_STATE) != 0 ||
                     (!verb && !word->quoted && is_passive(words, part, at));
        verb = verb || (!how && changes(kind) && !mood_is_past(word) &&
                        intent_is_wanted(words, at) && !refused_is_said(refused, words, at));
        at += mood != 0 ? length : kind != 0 ? size : 1;
    }
    part->asks = part->asks || (before && !wish);
    /* A wish may have a verb that no lexicon knows. */
    part->wants = part->asks ? verb && wish : verb || wish;
    part->asks = part->asks && !part->wants;
}

/* ---------------------------------------------------------------------------- a text */

static bool is_joined(const struct words *words, size_t at) {
    const struct lexicon_row *row;
    size_t rows;
    return words_match(words, at, &lexicon_connectives, &row, &rows) > 0 &&
           strcmp(lexicon_value(&lexicon_connectives, row), "part") == 0;
}

bool mood_only_asks(const struct words *words, const struct turns *turns,
                    const struct refused *refused, bool any) {
    bool asks = false;
    struct part part = {.end = 0};
    while (part.end < words->count) {
        bool before = part.asks;
        const struct word *first = &words->items[part.end];
        bool goes_on =
                part.end > 0 && first[-1].clause == first->clause && is_joined(words, part.end);
        part = (struct part){
                .first = part.end, .end = part.end + 1, .asks = before && goes_on, .any = any};
        while (part.end < words->count && words->items[part.end].part == first->part) {
            part.end++;
        }
        if (turns_weight(turns, first->start) < TURNS_ONE) {
            part.asks = false;
            continue;
        }
        read_part(words, refused, &part);
        if (part.wants) {
            return false;
        }
        asks = asks || part.asks;
    }
    return asks;
}

/* ------------------------------------------------------------------------ what was done */

/* How far before a verb "was" and 已经 may stand, in words: "was already deleted", 已经把邮件5删了.
 */
#define DONE_REACH     3u
#define DONE_REACH_HAN 16u

/* Words that say of the verb behind them that it was done, and that it is wanted. */
static const char *const been[] = {"was", "were", "been",    "being", "is",   "are", "got",  "gets",
                                   "had", "isnt", "already", "just",  "will", "ll",  "might"};
static const char *const wanting[] = {"be", "wants", "needs", "requires"};
/* Verbs that want something done: "get mail 5 deleted". */
static const char *const causing[] = {"get", "have", "make", "want", "need", "ensure", "see"};
static const char *const han_done[] = {"了", "过"};
static const char *const han_behind[] = {"完", "好", "掉", "过", "成"};
static const char *const han_already[] = {"已", "经"};
static const char *const han_wanting[] = {"请", "帮", "吧", "要", "想",
                                          "让", "给", "该", "把", "将"};

static bool stands_before(const struct words *words, size_t at, const char *const *list,
                          size_t count) {
    const size_t reach = words->items[at].kind == WORD_HAN ? DONE_REACH_HAN : DONE_REACH;
    for (size_t back = 1; back <= reach && back <= at; back++) {
        const struct word *before = &words->items[at - back];
        if (before->clause != words->items[at].clause) {
            return false;
        }
        if (word_is_one_of(before, list, count)) {
            return true;
        }
    }
    return false;
}

static bool is_han_done(const struct words *words, size_t at, size_t length) {
    size_t next = at + length;
    bool behind = next < words->count && WORD_IS_ONE_OF(&words->items[next], han_behind) &&
                  !WORD_IS_ONE_OF(&words->items[next], han_done);
    next += behind;
    return stands_before(words, at, han_already, ARRAY_LENGTH(han_already)) ||
           (length > 1 && WORD_IS_ONE_OF(&words->items[at + length - 1], han_done)) || /* 删了 */
           (next < words->count && words->items[next].clause == words->items[at].clause &&
            WORD_IS_ONE_OF(&words->items[next], han_done));
}

/* Whether somebody is named before 把: 张三把邮件5删除了 tells, 把邮件5删除了 orders. */
static bool is_behind_somebody(const struct words *words, size_t at) {
    return at > 0 && words->items[at - 1].clause == words->items[at].clause &&
           !words->items[at - 1].stop;
}

static bool is_wish_word(const struct words *words, size_t at) {
    const struct word *word = &words->items[at];
    size_t length;
    bool first = at == 0 || word[-1].part != word->part;
    bool ba = word->kind == WORD_HAN && WORD_IS_ONE_OF(word, han_wanting);
    return (read_mood(words, at, &length) & MOOD_WISH) != 0 ||
           (first && WORD_IS_ONE_OF(word, causing)) || (ba && !is_behind_somebody(words, at));
}

bool mood_tells_done(const struct words *words, mood_is_act *is_act, const void *user) {
    bool told = false;
    for (size_t at = 0; at < words->count;) {
        const struct word *word = &words->items[at];
        if (word->quoted || word->literal) {
            at++;
            continue;
        }
        if (is_wish_word(words, at)) {
            return false;
        }
        const size_t length = is_act(user, words, at);
        if (length > 0 && word->kind == WORD_HAN) {
            bool done = is_han_done(words, at, length);
            if (!done && intent_is_wanted(words, at)) {
                return false;
            }
            told = told || done;
        } else if (length > 0) {
            bool is = stands_before(words, at, been, ARRAY_LENGTH(been));
            bool past = mood_is_past(word);
            if (past && at > 0 && WORD_IS_ONE_OF(&word[-1], wanting)) {
                return false;
            }
            if (!past && !is && intent_is_wanted(words, at)) {
                return false;
            }
            told = told || past || is;
        }
        at += length > 0 ? length : 1;
    }
    return told;
}

/* ---------------------------------------------------------------------------- a tool */

/* The list of "shopping_list_add". */
static bool is_thing(const struct words *words, size_t at) {
    const struct lexicon_row *row;
    struct deeds deeds = {.count = 0};
    return lexicon_find(&lexicon_opposites, words->items[at].stem, words->items[at].stem_length,
                        &row) > 0 &&
           deeds_at(words, at, &deeds) == 0;
}

/* What a tool does by its name and title, else by the first word of its description. */
static unsigned read_tool(const struct tool_words *tool, unsigned *ret_described) {
    const struct words *words = &tool->words;
    unsigned named = 0;
    unsigned described = 0;
    bool first = true;
    for (size_t at = 0; at < words->count && tool_words_is_purpose(tool, &words->items[at]);) {
        size_t length = 1;
        enum tool_field field = tool_words_field(tool, &words->items[at]);
        unsigned verb = is_thing(words, at) ? 0 : read_verb(words, at, &length);
        if (field == TOOL_DESCRIPTION) {
            described |= first ? verb : 0;
            first = false;
        } else {
            named |= verb;
        }
        at += verb != 0 ? length : 1;
    }
    *ret_described = described;
    return named != 0 ? named : described;
}

bool mood_changes(const struct tool_words *tool) {
    unsigned described;
    unsigned verb = read_tool(tool, &described);
    return changes(verb) && (described & VERB_READS) == 0;
}

/* Whether a description begins with what can only be a verb: "Frobnicate the widget". */
static bool begins_with_verb(const struct tool_words *tool) {
    static const char *const articles[] = {"a", "an", "the", "all", "any", "one", "your", "some"};
    const struct words *words = &tool->words;
    size_t at = 0;
    while (at < words->count && tool_words_field(tool, &words->items[at]) != TOOL_DESCRIPTION) {
        at++;
    }
    for (size_t i = 0; at + 1 < words->count && i < ARRAY_LENGTH(articles); i++) {
        const struct word *next = &words->items[at + 1];
        if (next->text_length == strlen(articles[i]) &&
            memcmp(next->text, articles[i], next->text_length) == 0) {
            return words->items[at].kind == WORD_LETTERS && !words->items[at].stop;
        }
    }
    return false;
}

bool mood_acts(const struct tool_words *tool) {
    unsigned described;
    unsigned verb = read_tool(tool, &described);
    bool reads = ((verb | described) & VERB_READS) != 0;
    return !reads && (verb != 0 || begins_with_verb(tool));
}
