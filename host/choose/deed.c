#include "choose/deed.h"

#include "choose/intent.h"
#include "choose/refused.h"
#include "choose/turns.h"

/* ----------------------------------------------------------------------------- a text */

/* Whether a word may say what is to be done: it stands in a wish that is open, as a verb. */
static bool is_wanted(const struct words *words, const struct turns *turns,
                      const struct refused *refused, size_t at) {
    const struct word *word = &words->items[at];
    return !word->quoted && !word->literal && turns_weight(turns, word->start) == TURNS_ONE &&
           !refused_is_said(refused, words, at) && intent_is_wanted(words, at);
}

void deeds_of_text(const struct words *words, const struct turns *turns,
                   const struct refused *refused, struct deeds_wanted *ret) {
    bool begun = false; /* a verb was read */
    *ret = (struct deeds_wanted){.at = 0};
    for (size_t at = 0; at < words->count;) {
        struct deeds_reading reading = deeds_read(words, at);
        if (is_wanted(words, turns, refused, at) &&
            (reading.rows > 0 || intent_is_verb(words, at))) {
            if (!begun) {
                deeds_add(&ret->first, reading.row, reading.rows);
                ret->at = at;
                ret->last = reading.last;
            }
            begun = true;
            deeds_add(&ret->all, reading.row, reading.rows);
        }
        at += reading.length;
    }
}

/* ----------------------------------------------------------------------------- a tool */

void deeds_of_tool(const struct tool_words *tool, struct deeds_done *ret) {
    const struct words *words = &tool->words;
    enum tool_field field = TOOL_FIELD_COUNT;
    bool leads = false; /* nothing but deeds stands before it in its text */
    *ret = (struct deeds_done){.first = {.count = 0}};
    for (size_t at = 0; at < words->count;) {
        const struct word *word = &words->items[at];
        struct deeds_reading reading = deeds_read(words, at);
        leads = leads || tool_words_field(tool, word) != field;
        field = tool_words_field(tool, word);
        if (!tool_words_is_purpose(tool, word)) {
            break;
        }
        if (reading.rows > 0) {
            bool named = field == TOOL_NAME && ret->first.count == 0;
            if (named || leads) {
                deeds_add(&ret->first, reading.row, reading.rows);
            }
            deeds_add(&ret->all, reading.row, reading.rows);
        }
        leads = leads && (reading.rows > 0 || word->stop);
        at += reading.length;
    }
}

/* --------------------------------------------------------------------------- together */

bool deeds_exclude(const struct deeds_wanted *wanted, const struct deeds_done *done) {
    bool excludes = false;
    for (size_t i = 0; i < done->all.count; i++) {
        for (size_t k = 0; k < wanted->all.count; k++) {
            if (deed_is_same(done->all.items[i], wanted->all.items[k])) {
                return false;
            }
        }
    }
    for (size_t i = 0; i < done->first.count; i++) {
        for (size_t k = 0; k < wanted->first.count; k++) {
            excludes = excludes || deed_is_opposite(wanted->first.items[k], done->first.items[i]);
        }
    }
    return excludes;
}
