#include "choose/mention.h"

#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/utf8.h"

/* What a key is made of. */
enum key_sort {
    KEY_STEM = 1, /* of a token */
    KEY_PAIR,     /* of two characters of a script without spaces */
    KEY_CONCEPT,
    KEY_WHOLE, /* a word, or a choice, without spaces and hyphens */
    KEY_BEGIN, /* the stem of the letters, or the digits, that a token begins with */
    KEY_SAYING /* the same of one that is no mere "of" or "in" */
};

/* Keys of one token of the text. */
#define TOKEN_KEYS_MAX (TOKEN_CONCEPTS_MAX + 5u)

struct slot {
    uint32_t key;  /* 0: empty */
    uint32_t node; /* the last token with the key, in `nodes`; 0: none */
};

struct node {
    uint32_t token;
    uint32_t next; /* the token before with the same key; 0: none */
};

/* All in one piece of memory: the arrays stand behind it. */
struct mentions {
    struct slot *slots;
    size_t slot_count; /* a power of two; at most half are used */
    struct node *nodes;
    size_t node_count; /* the first is none */
};

static uint32_t key_of(enum key_sort sort, uint32_t hash) {
    uint32_t key = (hash ^ (uint32_t)sort * 0x9e3779b9u) * 0x85ebca6bu;
    key ^= key >> 15;
    return key != 0 ? key : 1;
}

static struct slot *find_slot(const struct mentions *mentions, uint32_t key) {
    size_t at = key & (mentions->slot_count - 1);
    while (mentions->slots[at].key != 0 && mentions->slots[at].key != key) {
        at = (at + 1) & (mentions->slot_count - 1);
    }
    return &mentions->slots[at];
}

static bool has_key(const struct mentions *mentions, enum key_sort sort, uint32_t hash) {
    return find_slot(mentions, key_of(sort, hash))->key != 0;
}

/* -------------------------------------------------------------------- runs */

/* What stands at a place of a text: letters and digits of one word, digits, a character of a script
 * without spaces, or a sign. */
struct run {
    size_t length;
    uint32_t hash;
    bool other; /* letters that are not ASCII: nothing is said of them */
};

static bool is_wide_letter(const char *text, size_t length, size_t *ret_size) {
    uint32_t point;
    *ret_size = utf8_decode(text, length, &point);
    bool han = point >= 0x3040 && point <= 0xd7af;
    *ret_size = *ret_size == 0 ? 1 : *ret_size;
    return !han;
}

/* A run of a choice ends where a new word of a name begins: PriorityBased. */
static struct run read_run(const char *text, size_t length, bool humps) {
    char lower[64];
    size_t at = 0;
    bool digits = ascii_is_digit(text[0]);
    if ((text[0] & 0x80) != 0) {
        size_t size;
        bool other = is_wide_letter(text, length, &size);
        return (struct run){size, token_hash(text, size), other};
    }
    while (at < length && at < sizeof lower) {
        char c = text[at];
        bool hump = humps && at > 0 && ascii_is_upper(c) && ascii_is_letter(text[at - 1]) &&
                    !ascii_is_upper(text[at - 1]);
        if (hump || (digits ? !ascii_is_digit(c) : !ascii_is_alnum(c))) {
            break;
        }
        lower[at++] = ascii_lower(c);
    }
    if (at == 0) {
        return (struct run){1, token_hash(text, 1), false};
    }
    return (struct run){at, token_stem(lower, at),
                        at == sizeof lower || (at < length && (text[at] & 0x80) != 0)};
}

/* A name's words are joined by these. */
static bool is_joint(char c) {
    return c == ' ' || c == '-' || c == '_' || c == '/';
}

static uint32_t whole_hash(const char *text, size_t length) {
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < length; i++) {
        hash = is_joint(text[i]) ? hash : (hash ^ (unsigned char)ascii_lower(text[i])) * 16777619u;
    }
    return hash;
}

bool mentions_may_have(const struct mentions *mentions, const char *choice, size_t length,
                       size_t *ret_words) {
    bool found = has_key(mentions, KEY_WHOLE, whole_hash(choice, length));
    bool all = true;
    *ret_words = 0;
    for (size_t at = 0; at < length;) {
        if (is_joint(choice[at])) {
            at++;
            continue;
        }
        struct run run = read_run(choice + at, length - at, true);
        found = found || run.other || has_key(mentions, KEY_SAYING, run.hash);
        all = all && (found || has_key(mentions, KEY_BEGIN, run.hash));
        ++*ret_words;
        at += run.length;
    }
    return found || all;
}

/* ---------------------------------------------------------------- indexing */

static void add_key(struct mentions *mentions, uint32_t key, size_t token) {
    struct slot *slot = find_slot(mentions, key);
    if (slot->key != 0 && slot->node != 0 && mentions->nodes[slot->node].token == token) {
        return;
    }
    mentions->nodes[mentions->node_count] = (struct node){(uint32_t)token, slot->node};
    *slot = (struct slot){key, (uint32_t)mentions->node_count++};
}

static size_t count_words(uint16_t concept) {
    return (size_t)lexeme_concept_starts[concept + 1] - lexeme_concept_starts[concept];
}

/* Words that mean what the text says: a choice may begin with them. They have no place. */
static void add_meanings(struct mentions *mentions, uint16_t concept) {
    for (size_t i = lexeme_concept_starts[concept]; i < lexeme_concept_starts[concept + 1]; i++) {
        const struct lexeme *lexeme = &lexemes[lexeme_concepts[i]];
        uint32_t key = key_of(KEY_SAYING, read_run(lexeme->text, lexeme->length, false).hash);
        find_slot(mentions, key)->key = key;
    }
}

static void add_token(struct mentions *mentions, const char *lower, const struct token *token,
                      size_t at) {
    const char *text = lower + token->start;
    size_t length = token->end - token->start;
    add_key(mentions, key_of(KEY_STEM, token->stem), at);
    uint32_t begin = read_run(text, length, false).hash;
    add_key(mentions, key_of(KEY_BEGIN, begin), at);
    if (token->cue == CUE_NONE || token->cue == CUE_VERB || token->kind != TOKEN_WORD) {
        add_key(mentions, key_of(KEY_SAYING, begin), at);
    }
    if (token->kind == TOKEN_WORD) {
        add_key(mentions, key_of(KEY_WHOLE, whole_hash(text, length)), at);
    }
    if (token->pair != 0) {
        add_key(mentions, key_of(KEY_PAIR, token->pair), at);
    }
    for (size_t i = 0; i < TOKEN_CONCEPTS_MAX && token->concepts[i] != 0; i++) {
        uint16_t concept = token->concepts[i];
        if (!has_key(mentions, KEY_CONCEPT, concept)) {
            add_meanings(mentions, concept);
        }
        add_key(mentions, key_of(KEY_CONCEPT, concept), at);
    }
}

/* No fewer than the keys of a text. */
static size_t count_keys(const struct token *tokens, size_t count) {
    size_t keys = count * TOKEN_KEYS_MAX;
    for (size_t t = 0; t < count; t++) {
        for (size_t i = 0; i < TOKEN_CONCEPTS_MAX && tokens[t].concepts[i] != 0; i++) {
            keys += count_words(tokens[t].concepts[i]);
        }
    }
    return keys;
}

struct mentions *mentions_create(const char *lower, const struct token *tokens, size_t count) {
    size_t nodes = count * TOKEN_KEYS_MAX + 1;
    size_t slots = 64;
    while (slots < 2 * count_keys(tokens, count)) {
        slots *= 2;
    }
    struct mentions *mentions =
            calloc(1, sizeof *mentions + slots * sizeof(struct slot) + nodes * sizeof(struct node));
    if (mentions == NULL) {
        return NULL;
    }
    mentions->slots = (struct slot *)(mentions + 1);
    mentions->slot_count = slots;
    mentions->nodes = (struct node *)(mentions->slots + slots);
    mentions->node_count = 1;
    for (size_t i = 0; i < count; i++) {
        add_token(mentions, lower, &tokens[i], i);
    }
    return mentions;
}

void mentions_destroy(struct mentions *mentions) {
    free(mentions);
}

/* ----------------------------------------------------------------- walking */

static void add_walk(struct mention_walk *walk, enum key_sort sort, uint32_t hash) {
    const struct slot *slot = find_slot(walk->mentions, key_of(sort, hash));
    if (slot->node != 0) {
        walk->nodes[walk->count++] = slot->node;
    }
}

static void add_concepts(struct mention_walk *walk, const struct token *token) {
    for (size_t i = 0; i < TOKEN_CONCEPTS_MAX && token->concepts[i] != 0; i++) {
        add_walk(walk, KEY_CONCEPT, token->concepts[i]);
    }
}

void mention_begin_alike(const struct mentions *mentions, const struct token *token,
                         struct mention_walk *ret) {
    *ret = (struct mention_walk){.mentions = mentions};
    if (token->kind != TOKEN_HAN) {
        add_walk(ret, KEY_STEM, token->stem);
    } else if (token->pair != 0) {
        add_walk(ret, KEY_PAIR, token->pair);
    }
    add_concepts(ret, token);
}

void mention_begin_spelled(const struct mentions *mentions, const char *choice, size_t length,
                           struct mention_walk *ret) {
    *ret = (struct mention_walk){.mentions = mentions};
    add_walk(ret, KEY_BEGIN, read_run(choice, length, false).hash);
}

void mention_begin_choice(const struct mentions *mentions, const char *choice, size_t length,
                          const struct token *token, struct mention_walk *ret) {
    *ret = (struct mention_walk){.mentions = mentions};
    add_walk(ret, KEY_STEM, token->stem);
    add_walk(ret, KEY_WHOLE, whole_hash(choice, length));
    add_concepts(ret, token);
}

bool mention_next(struct mention_walk *walk, size_t *ret_at) {
    const struct node *nodes = walk->mentions->nodes;
    bool found = false;
    for (size_t i = 0; i < walk->count; i++) {
        bool later = walk->nodes[i] != 0 && (!found || nodes[walk->nodes[i]].token > *ret_at);
        *ret_at = later ? nodes[walk->nodes[i]].token : *ret_at;
        found = found || later;
    }
    for (size_t i = 0; found && i < walk->count; i++) {
        if (walk->nodes[i] != 0 && nodes[walk->nodes[i]].token == *ret_at) {
            walk->nodes[i] = nodes[walk->nodes[i]].next;
        }
    }
    return found;
}
