/* The whole clause for a parameter that takes prose: of "translate see you tomorrow to French" the
 * text is "see you tomorrow". A value that stands inside it, such as the day, is a part of it.
 *
 * A sentence is what is asked (its verb, with whom and what for), what other parameters take, with
 * the words before it, and the rest. The rest is the clause. */
#include <string.h>

#include "base/ascii.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "choose/fill-parts.h"

/* Longest clause, in tokens. */
#define CLAUSE_TOKENS_MAX 240u

/* How far from the beginning the words stand that open a clause. */
#define OPENER_TOKENS_MAX 8u

/* Words, or Chinese characters, that say what is counted of a text: 的单词总数. */
#define COUNT_TOKENS_MAX 6u

/* How sure a clause is for a parameter that had no words before, as a margin. */
#define CLAUSE_MARGIN 100

/* What a parameter takes. */
enum prose { PROSE_NONE, PROSE_TEXT, PROSE_TITLE, PROSE_CODE, PROSE_SQL };

struct clause {
    size_t first; /* tokens [first, last) */
    size_t last;
    bool opened; /* behind "saying" or a colon */
    bool asked;  /* what is asked of it stood behind it: 有多少个字 */
};

struct reading {
    struct fill *fill;
    size_t parameter;
    enum prose prose;
    size_t *taker; /* [tokens]: the parameter that takes it, from 1; 0: none */
    size_t first;  /* the sentence */
    size_t last;
    bool commanded; /* the verb of the sentence was read */
};

/* ------------------------------------------------------------------ parameters */

static bool is_word(const struct parameter *parameter, size_t at, const char *word) {
    const struct token *token = &parameter->tokens[at];
    return token->end - token->start == strlen(word) &&
           memcmp(parameter->lower + token->start, word, strlen(word)) == 0;
}

/* By the last word of the name: a message_id is none. */
static enum prose prose_of(const struct parameter *parameter) {
    static const struct {
        const char *word;
        enum prose prose;
    } words[] = {{"text", PROSE_TEXT},    {"message", PROSE_TEXT},  {"msg", PROSE_TEXT},
                 {"content", PROSE_TEXT}, {"contents", PROSE_TEXT}, {"body", PROSE_TEXT},
                 {"note", PROSE_TEXT},    {"sentence", PROSE_TEXT}, {"comment", PROSE_TEXT},
                 {"command", PROSE_CODE}, {"cmd", PROSE_CODE},      {"sql", PROSE_SQL},
                 {"title", PROSE_TITLE},  {"summary", PROSE_TITLE}, {"subject", PROSE_TITLE},
                 {"task", PROSE_TITLE},   {"todo", PROSE_TITLE},    {"reminder", PROSE_TITLE}};
    static const char *const chinese[] = {"内容", "文本", "消息", "正文"};
    if (parameter->type != PARAMETER_STRING || parameter->regex != REGEX_NONE ||
        parameter->array > 0 || parameter->name_count == 0) {
        return PROSE_NONE;
    }
    size_t last = parameter->name_count - 1;
    if ((is_word(parameter, last, "query") || is_word(parameter, last, "statement")) &&
        strstr(parameter->lower, "sql") != NULL) {
        return PROSE_SQL;
    }
    for (size_t i = 0; i < ARRAY_LENGTH(words); i++) {
        if (is_word(parameter, last, words[i].word)) {
            return words[i].prose;
        }
    }
    for (size_t i = 0; i < ARRAY_LENGTH(chinese); i++) {
        if (strstr(parameter->name, chinese[i]) != NULL) {
            return PROSE_TEXT;
        }
    }
    return PROSE_NONE;
}

/* ---------------------------------------------------------------------- words */

static const struct token *token_at(const struct reading *reading, size_t at) {
    return &reading->fill->values->tokens[at];
}

static bool is_name(const struct reading *reading, size_t at) {
    return evidence_is_name(reading->fill->evidence, reading->parameter, at);
}

static bool is_text(const struct reading *reading, size_t at, const char *word) {
    const struct token *token = token_at(reading, at);
    return token->end - token->start == strlen(word) &&
           memcmp(reading->fill->values->lower + token->start, word, strlen(word)) == 0;
}

/* To whom: "remind me", 提醒我. */
static bool is_whom(const struct reading *reading, size_t at) {
    static const char *const words[] = {"me", "us", "him", "them", "我", "他", "她"};
    for (size_t i = 0; i < ARRAY_LENGTH(words); i++) {
        if (is_text(reading, at, words[i])) {
            return true;
        }
    }
    return false;
}

static bool is_told(const struct reading *reading, size_t at) {
    return at > reading->first &&
           (is_text(reading, at - 1, "醒") || is_text(reading, at - 1, "诉") ||
            is_text(reading, at - 1, "知") || is_text(reading, at - 1, "帮"));
}

static bool is_preposition(const struct reading *reading, size_t at) {
    const uint8_t cue = token_at(reading, at)->cue;
    return cue == CUE_IN || cue == CUE_AT || cue == CUE_ON || cue == CUE_FROM || cue == CUE_TO ||
           cue == CUE_FOR || cue == CUE_BY || cue == CUE_WITH || cue == CUE_AS ||
           cue == CUE_NAMED || cue == CUE_USING || cue == CUE_IS || cue == CUE_BETWEEN ||
           is_text(reading, at, "给") || is_text(reading, at, "把") || is_text(reading, at, "将");
}

static bool is_opener(const struct reading *reading, size_t at) {
    const struct token *token = token_at(reading, at);
    return token->cue == CUE_NAMED || value_is_sign(reading->fill->values, at, ':') ||
           is_text(reading, at, "说");
}

static bool is_comma(const struct reading *reading, size_t at) {
    return value_is_sign(reading->fill->values, at, ',') ||
           value_is_sign(reading->fill->values, at, ':') ||
           value_is_sign(reading->fill->values, at, ';');
}

/* ----------------------------------------------------------------------- trimming */

/* Skip the name of what is asked: "a message", "the text", 一条消息. */
static size_t skip_name(const struct reading *reading, size_t at, size_t last) {
    size_t end = at;
    bool small = token_at(reading, end)->cue == CUE_DETERMINER;
    while (end < last && token_at(reading, end)->cue == CUE_DETERMINER) {
        end++;
    }
    end += small && end + 1 < last && is_text(reading, end, "new");
    size_t name = end;
    while (end < last && is_name(reading, end)) {
        end++;
    }
    return end > name ? end : at;
}

/* Whether a word goes with the verb before it: "note down that ...". */
static bool is_particle(const struct reading *reading, size_t at) {
    return at > reading->first && is_text(reading, at, "down") &&
           (is_text(reading, at - 1, "note") || is_text(reading, at - 1, "write") ||
            is_text(reading, at - 1, "jot") || is_text(reading, at - 1, "take") ||
            is_text(reading, at - 1, "put"));
}

/* Whether a word is the last of the name of the parameter itself. */
static bool is_own_name(const struct reading *reading, size_t at) {
    const struct parameter *parameter = &reading->fill->parameters.list[reading->parameter];
    return token_alike(token_at(reading, at), &parameter->tokens[parameter->name_count - 1]) > 0;
}

/* Behind "with the content", 提交信息为: the name of the parameter before its value. */
static size_t label_end(const struct reading *reading, const struct clause *run) {
    for (size_t t = run->first; t + 1 < run->last; t++) {
        bool with = t > run->first && (token_at(reading, t - 1)->cue == CUE_WITH ||
                                       token_at(reading, t - 1)->cue == CUE_DETERMINER);
        bool starts = t == run->first || is_comma(reading, t - 1) || with;
        size_t end = t + 1 + (token_at(reading, t)->kind == TOKEN_HAN);
        bool is = end < run->last && token_at(reading, end)->cue == CUE_IS;
        if (is_own_name(reading, t) && (is || (starts && reading->first < t && with))) {
            return is ? end + 1 : t + 1;
        }
    }
    return 0;
}

/* Behind the words that say what is made: "a message saying", 发消息说. 0: there are none. */
static size_t opener_end(const struct reading *reading, const struct clause *run) {
    bool named = false;
    size_t label = label_end(reading, run);
    if (label > 0) {
        return label;
    }
    for (size_t t = run->first; t < run->last && t < run->first + OPENER_TOKENS_MAX; t++) {
        if (is_opener(reading, t)) {
            return named && t + 1 < run->last ? t + 1 : 0;
        }
        named = named || is_name(reading, t);
    }
    return 0;
}

/* What is asked, at the beginning of a run: verb, for whom, and the name of what is made. */
static void trim_front(struct reading *reading, struct clause *run) {
    bool named = false;
    bool verb = false;
    size_t opened = opener_end(reading, run);
    if (opened > 0) {
        run->first = opened;
        run->opened = true;
        return;
    }
    while (run->first < run->last) {
        size_t at = run->first;
        const struct token *token = token_at(reading, at);
        size_t name =
                reading->commanded && (verb || named) ? skip_name(reading, at, run->last) : at;
        bool begins =
                !reading->commanded && (token->cue == CUE_VERB || is_text(reading, at, "say") ||
                                        (at + 1 < run->last && is_particle(reading, at + 1)) ||
                                        (at == reading->first && is_name(reading, at)));
        if (!reading->commanded && (is_text(reading, at, "把") || is_text(reading, at, "将"))) {
            run->first++; /* its verb is behind it */
            reading->commanded = true;
        } else if (begins) {
            run->first += token->cue == CUE_VERB && token->cue_length > 1 ? token->cue_length : 1u;
            reading->commanded = verb = true;
        } else if (name > at) {
            run->first = name;
            named = true;
        } else if (is_opener(reading, at)) {
            run->first++;
            run->opened = true;
            return;
        } else if (!reading->commanded && (token->cue == CUE_POLITE || token->cue == CUE_PRONOUN ||
                                           token->cue == CUE_TO || is_preposition(reading, at))) {
            run->first++;
        } else if (is_comma(reading, at) || (token->cue == CUE_TO && token->kind == TOKEN_WORD) ||
                   ((verb || named) && is_particle(reading, at)) ||
                   (verb && is_whom(reading, at) &&
                    (token->kind == TOKEN_WORD || is_told(reading, at))) ||
                   (named &&
                    (token->cue == CUE_IS || token->cue == CUE_ABOUT || token->cue == CUE_OF ||
                     token->cue == CUE_WITH || is_text(reading, at, "that"))) ||
                   (is_text(reading, at, "that") && is_particle(reading, at - 1)) ||
                   (token->cue == CUE_AND && at > reading->first) ||
                   (reading->prose == PROSE_TITLE && token->kind == TOKEN_WORD &&
                    (token->cue == CUE_DETERMINER || token->cue == CUE_ABOUT ||
                     token->cue == CUE_FOR))) {
            run->first++;
        } else {
            return;
        }
    }
}

/* Whether a word says what is counted of a text. */
static bool is_counted(const struct reading *reading, size_t at) {
    static const char *const words[] = {"word",     "words",     "character", "characters",
                                        "chars",    "letter",    "letters",   "line",
                                        "lines",    "byte",      "bytes",     "vowels",
                                        "sentence", "sentences", "digits",    "consonants"};
    for (size_t i = 0; i < ARRAY_LENGTH(words); i++) {
        if (is_text(reading, at, words[i])) {
            return true;
        }
    }
    return false;
}

/* What is counted, before the text: "words in hello world", "how many words are in hello world",
 * "how many letters does banana have". */
static void trim_counted(const struct reading *reading, struct clause *run) {
    size_t from = run->first > COUNT_TOKENS_MAX / 2 ? run->first - COUNT_TOKENS_MAX / 2 : 0;
    bool counted = false;
    if (reading->prose != PROSE_TEXT || run->opened) {
        return;
    }
    for (size_t t = from; t + 1 < run->last && t < run->first + COUNT_TOKENS_MAX; t++) {
        const struct token *token = token_at(reading, t);
        bool in = token->kind == TOKEN_WORD && (token->cue == CUE_IN || token->cue == CUE_OF);
        bool does = is_text(reading, t, "does") || is_text(reading, t, "do");
        if (counted && (in || does) && t >= run->first) {
            bool has = does && (is_text(reading, run->last - 1, "have") ||
                                is_text(reading, run->last - 1, "contain"));
            run->last -= has && t + 2 < run->last;
            run->first = in || has ? t + 1 : run->first;
            run->asked = in || has;
            return;
        }
        counted = counted || is_counted(reading, t);
    }
}

/* Whether a word is the name of a parameter, which `taker` counts from 1. */
static bool is_name_of(const struct reading *reading, size_t taker, size_t at) {
    return taker > 0 && taker <= reading->fill->parameters.count &&
           evidence_is_name(reading->fill->evidence, taker - 1, at);
}

/* Before what another parameter takes: "to the channel general", "with the subject Lunch",
 * 翻译成法语. */
static void trim_before_taken(const struct reading *reading, struct clause *run) {
    size_t taker = reading->taker[run->last];
    for (bool changed = true; changed && run->last > run->first;) {
        size_t end = run->last;
        while (end > run->first &&
               (is_name(reading, end - 1) || is_name_of(reading, taker, end - 1) ||
                token_at(reading, end - 1)->cue == CUE_DETERMINER)) {
            end--;
        }
        bool before = end > run->first && is_preposition(reading, end - 1);
        const struct token *last = token_at(reading, run->last - 1);
        bool verb = last->kind == TOKEN_HAN && last->cue == CUE_VERB;
        bool mark = last->sign == '#' || last->sign == '@';
        changed = before || verb || mark || is_comma(reading, run->last - 1);
        run->last = before ? end - 1 : changed ? run->last - 1 : run->last;
    }
}

static void trim_back(const struct reading *reading, struct clause *run) {
    while (run->last > run->first) {
        const struct token *token = token_at(reading, run->last - 1);
        bool thanks = is_text(reading, run->last - 1, "please") ||
                      is_text(reading, run->last - 1, "thanks") ||
                      is_text(reading, run->last - 1, "吧");
        bool sign = token->kind == TOKEN_SIGN &&
                    (is_comma(reading, run->last - 1) || token->sign == '.');
        if (!thanks && !sign && token->cue != CUE_AND) {
            return;
        }
        run->last--;
    }
}

/* What is asked of a text behind it: 春眠不觉晓|有多少个字, 春眠不觉晓|的字数. */
static void trim_asked(const struct reading *reading, struct clause *run) {
    static const char *const counts[] = {"数", "长度", "个数"};
    size_t end = run->last;
    for (size_t t = run->first + 1; t + 1 < run->last && end == run->last; t++) {
        bool many = is_text(reading, t + 1, "几") ||
                    (t + 2 < run->last && is_text(reading, t + 1, "多") &&
                     is_text(reading, t + 2, "少"));
        end = many && is_text(reading, t, "有") ? t : end;
    }
    const struct token *last = token_at(reading, run->last - 1);
    const char *lower = reading->fill->values->lower;
    for (size_t i = 0; end == run->last && i < ARRAY_LENGTH(counts); i++) {
        const size_t length = strlen(counts[i]);
        bool ends =
                last->end >= length && memcmp(lower + last->end - length, counts[i], length) == 0;
        for (size_t t = run->last - 1; ends && t > run->first && run->last - t <= COUNT_TOKENS_MAX;
             t--) {
            end = is_text(reading, t, "的") ? t : end;
        }
    }
    bool asked = reading->prose == PROSE_TEXT && !run->opened && end < run->last;
    run->asked = run->asked || asked;
    run->last = asked ? end : run->last;
}

/* Whether words only point at a text that is somewhere else: 这句话, 下面的文字, "the file". */
static bool points(const struct reading *reading, const struct clause *run) {
    static const char *const words[] = {"这", "那", "此", "该", "下", "上", "以", "本"};
    for (size_t i = 0; i < ARRAY_LENGTH(words); i++) {
        if (is_text(reading, run->first, words[i])) {
            return true;
        }
    }
    const struct token *first = token_at(reading, run->first);
    const size_t length = run->last - run->first;
    return first->kind == TOKEN_WORD && ((first->cue == CUE_DETERMINER && length <= 2) ||
                                         (first->cue == CUE_PRONOUN && length == 1) ||
                                         (is_text(reading, run->first, "it") && length == 1));
}

/* ---------------------------------------------------------------------- finding */

static void mark_takers(const struct reading *reading) {
    const struct fill *fill = reading->fill;
    /* To whom is no part of what is said, even if nothing takes it. */
    for (size_t v = 0; v < fill->values->solid_count; v++) {
        const struct value *value = &fill->values->list[v];
        for (size_t t = value->first; value->kind == VALUE_EMAIL && t < value->last; t++) {
            reading->taker[t] = fill->parameters.count + 1;
        }
    }
    for (size_t p = 0; p < fill->parameters.count; p++) {
        const struct choice_state *state = &fill->states[p];
        const struct kept *kept = &state->kept[state->at];
        if (p == reading->parameter || !state->filled || kept->last <= kept->first) {
            continue;
        }
        const struct value *value = fill_is_value(kept) ? &fill->values->list[kept->index] : NULL;
        size_t first = value != NULL ? value->first : kept->first;
        size_t last = value != NULL ? value->last : kept->last;
        for (size_t t = first; t < last; t++) {
            reading->taker[t] = p + 1;
        }
    }
}

/* A period, but for that of a number or of a path. */
static bool ends_sentence(const struct values *values, size_t at) {
    const struct token *token = &values->tokens[at];
    bool end = token->kind == TOKEN_SIGN &&
               (token->sign == '.' || token->sign == '!' || token->sign == '?');
    return end && (at + 1 == values->token_count || values->tokens[at + 1].space ||
                   token->end - token->start > 1);
}

static bool is_mine(const struct values *values, size_t at) {
    const struct token *token = &values->tokens[at];
    return token->user && token->open && token->turn == 0;
}

/* The sentence that begins at a token of the wish that is open. */
static void set_sentence(struct reading *reading, size_t first) {
    const struct values *values = reading->fill->values;
    size_t last = first;
    while (last < values->token_count && is_mine(values, last) && !ends_sentence(values, last)) {
        last++;
    }
    reading->first = first;
    reading->last = last;
    reading->commanded = false;
}

static size_t size_of(const struct reading *reading, const struct clause *run) {
    return run->last > run->first
                   ? token_at(reading, run->last - 1)->end - token_at(reading, run->first)->start
                   : 0;
}

static bool says_something(const struct reading *reading, const struct clause *run) {
    for (size_t t = run->first; t < run->last; t++) {
        const struct token *token = token_at(reading, t);
        if (token->kind != TOKEN_SIGN && !is_name(reading, t) && token->cue != CUE_DETERMINER &&
            (token->cue != CUE_POLITE || run->opened || reading->prose == PROSE_TEXT)) {
            return true;
        }
    }
    return false;
}

/* The clause of a sentence: behind an opener, else with the words that the parameter had, else the
 * longest. */
static struct clause find_clause(struct reading *reading, const struct kept *had) {
    struct clause best = {0};
    for (size_t at = reading->first; at < reading->last;) {
        struct clause run = {.first = at, .last = at};
        while (run.last < reading->last && reading->taker[run.last] == 0) {
            run.last++;
        }
        bool taken = run.last < reading->last;
        at = run.last + 1;
        trim_front(reading, &run);
        trim_counted(reading, &run);
        if (taken) {
            trim_before_taken(reading, &run);
        }
        trim_back(reading, &run);
        if (run.first < run.last) {
            trim_asked(reading, &run);
        }
        bool behind = run.first < run.last && is_preposition(reading, run.first) && !run.opened;
        bool mine = had != NULL && run.first < had->last && had->first < run.last;
        bool better = best.last == best.first || (run.opened && !best.opened) ||
                      (run.opened == best.opened && !behind &&
                       (mine || size_of(reading, &run) > size_of(reading, &best)));
        if (says_something(reading, &run) && better && run.last - run.first < CLAUSE_TOKENS_MAX) {
            best = run;
        }
    }
    return best;
}

/* Whether a text in quotes, or JSON, is in a sentence: what is written so is meant as it is. */
static bool has_quotes(const struct reading *reading) {
    const struct values *values = reading->fill->values;
    for (size_t v = 0; v < values->solid_count; v++) {
        const struct value *value = &values->list[v];
        if ((value->kind == VALUE_QUOTED || value->kind == VALUE_JSON) && !value_is_class(value) &&
            reading->first <= value->first && value->first < reading->last) {
            return true;
        }
    }
    return false;
}

static void take_clause(struct reading *reading, const struct clause *clause) {
    struct fill *fill = reading->fill;
    struct choice_state *state = &fill->states[reading->parameter];
    const char *text = fill->values->text + token_at(reading, clause->first)->start;
    CLEANUP(buf_finish) struct buf json = BUF_INIT;
    buf_add_json_string(&json, text, size_of(reading, clause));
    const char *copy = json.failed ? NULL : arena_copy(&fill->arena, json.data, json.length);
    if (copy == NULL || !fill_is_valid(&fill->parameters.list[reading->parameter], copy, NULL)) {
        return;
    }
    int32_t margin = state->filled ? state->kept[state->at].margin : CLAUSE_MARGIN;
    fill_take(state, ARGUMENTS_FROM_TEXT, copy, NULL, NULL);
    state->kept[0].first = (uint16_t)clause->first;
    state->kept[0].last = (uint16_t)clause->last;
    state->kept[0].margin = margin;
}

/* Whether an SQL statement begins at a word: "delete from", "select ... from". */
static bool begins_statement(const struct reading *reading, size_t at) {
    static const char *const words[][2] = {
            {"select", "from"},  {"insert", "into"}, {"update", "set"},  {"delete", "from"},
            {"create", "table"}, {"drop", "table"},  {"alter", "table"}, {"with", "select"}};
    const struct token *token = token_at(reading, at);
    bool behind_colon = at > 0 && value_is_sign(reading->fill->values, at - 1, ':');
    for (size_t i = 0; i < ARRAY_LENGTH(words); i++) {
        bool near = i != 0 && i != 2 && i != 7;
        for (size_t t = at + 1; is_text(reading, at, words[i][0]) && t < reading->last; t++) {
            const struct token *next = token_at(reading, t);
            if (is_text(reading, t, words[i][1]) && (token->capitals || !next->capital)) {
                return token->capitals || near || behind_colon ||
                       token_at(reading, at + 1)->kind == TOKEN_SIGN;
            }
            if (near) {
                break;
            }
        }
    }
    return false;
}

/* An SQL statement goes to the end of the text, with what it has in quotes. */
static struct clause find_statement(struct reading *reading) {
    const struct values *values = reading->fill->values;
    struct clause clause = {0};
    reading->last = values->token_count;
    for (size_t at = 0; at < values->token_count; at++) {
        bool quoted = value_covering(values, at, VALUE_BIT(VALUE_QUOTED)) != NULL;
        if (is_mine(values, at) && !quoted && begins_statement(reading, at)) {
            clause.first = at;
            clause.last = at;
            while (clause.last < values->token_count && is_mine(values, clause.last)) {
                clause.last++;
            }
            return clause;
        }
    }
    return clause;
}

/* Whether a parameter has words of the text as its value, or is to be asked for. */
static bool may_be_longer(const struct fill *fill, size_t p) {
    const struct choice_state *state = &fill->states[p];
    const struct kept *kept = &state->kept[state->at];
    if (!state->filled) {
        return fill->parameters.list[p].must;
    }
    return state->source == ARGUMENTS_FROM_TEXT && kept->form == FORM_PLAIN && fill_is_value(kept);
}

/* Whether words are not marked off by quotes or a colon. */
static bool is_words(const struct fill *fill, const struct kept *kept) {
    const struct value *value = &fill->values->list[kept->index];
    return value->kind != VALUE_QUOTED && value->kind != VALUE_JSON && !value->wrapped;
}

static void read_clause(struct reading *reading) {
    struct fill *fill = reading->fill;
    const struct choice_state *state = &fill->states[reading->parameter];
    const struct kept *had = state->filled ? &state->kept[state->at] : NULL;
    if (reading->prose == PROSE_SQL) {
        struct clause statement = find_statement(reading);
        if (statement.last > statement.first) {
            take_clause(reading, &statement);
            return;
        }
    }
    if (had != NULL && !is_words(fill, had)) {
        return;
    }
    if (reading->prose == PROSE_SQL) {
        /* Words are no statement. */
        fill->states[reading->parameter].filled = false;
        fill->states[reading->parameter].json = NULL;
        return;
    }
    mark_takers(reading);
    for (size_t at = 0; at < fill->values->token_count; at++) {
        if (!is_mine(fill->values, at)) {
            continue;
        }
        set_sentence(reading, at);
        at = reading->last;
        bool here = had == NULL || (reading->first <= had->first && had->first < reading->last);
        struct clause clause =
                here && !has_quotes(reading) ? find_clause(reading, had) : (struct clause){0};
        if (clause.last > clause.first && clause.asked && points(reading, &clause)) {
            fill->states[reading->parameter].filled = false;
            fill->states[reading->parameter].json = NULL;
            return;
        }
        if (clause.last > clause.first) {
            take_clause(reading, &clause);
            return;
        }
    }
}

bool fill_clauses(struct fill *fill) {
    for (size_t p = 0; p < fill->parameters.count; p++) {
        struct reading reading = {
                .fill = fill, .parameter = p, .prose = prose_of(&fill->parameters.list[p])};
        if (reading.prose == PROSE_NONE || !may_be_longer(fill, p)) {
            continue;
        }
        reading.taker =
                arena_zalloc(&fill->arena, (fill->values->token_count + 1) * sizeof *reading.taker);
        if (reading.taker == NULL) {
            return false;
        }
        read_clause(&reading);
    }
    return true;
}
