/* key-pieces.c - of all strings those are kept that may have a part of a secret, with a number from
 * 1. A part [from, to) of a secret is overwritten if those before it are in earlier strings, and
 * those behind it in later ones. Of a message the members have an order that is not the one in
 * which they were sent, and whoever puts parts together may take them in any: longer parts are
 * overwritten wherever the others are.
 *
 * The words that messages are built of are no parts: without them the message is none. Of another
 * name only what is long enough, or the whole name, is one: many names end with the first character
 * of a key. */
#include "provider/key-pieces.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"

/* Levels of strings that are JSON and stand in strings: as many as a key has forms for. */
#define LEVELS_MAX (KEY_FORMS_MAX / 2)

/* Least bytes of a part that counts in any order, or in a name: shorter ones begin and end many
 * words. */
#define UNORDERED_PART_MIN 4u

struct string {
    char *text;
    size_t length;
    bool is_name; /* of a member */
};

struct search {
    const struct key *key;
    const struct key_secret *secret;
    struct string *strings; /* in their order */
    size_t count;
    size_t room;
    bool failed;
    bool is_part;     /* of the string that is looked at */
    bool is_ordered;  /* parts count in the order of the strings only */
    bool has_changed; /* one of the following has */
    size_t *earliest; /* the first string behind which so many bytes of the secret have come */
    size_t *latest;   /* the last string from which on all behind so many bytes comes */
};

/* The string with the number `at` has the bytes [from, to) of the secret, at `text`. */
typedef void take_part(struct search *search, size_t at, size_t from, size_t to, char *text);

/* All parts of the secret, but for the whole, with which a string ends or begins, or which it is.
 */
static void find_parts(struct search *search, const struct string *string, size_t at,
                       take_part *take) {
    const char *secret = search->secret->text;
    const size_t whole = search->secret->length;
    const size_t length = string->length;
    const size_t least = !string->is_name              ? 1
                         : length < UNORDERED_PART_MIN ? length
                                                       : UNORDERED_PART_MIN;
    for (size_t n = least; n > 0 && n < whole && n <= length; n++) {
        if (memcmp(string->text + length - n, secret, n) == 0) {
            take(search, at, 0, n, string->text + length - n);
        }
        if (memcmp(string->text, secret + whole - n, n) == 0) {
            take(search, at, whole - n, whole, string->text);
        }
    }
    for (size_t from = 1; length > 0 && from + length < whole; from++) {
        if (memcmp(secret + from, string->text, length) == 0) {
            take(search, at, from, from + length, string->text);
        }
    }
}

/* ----------------------------------------------------------------- strings */

static void mark_part(struct search *search, size_t at, size_t from, size_t to, char *text) {
    (void)at;
    (void)from;
    (void)to;
    (void)text;
    search->is_part = true;
}

/* Whether it is a word that messages are built of, in one of the formats: a name of a member, or
 * the value of `type`, `role`, `status`, or of the reason why a message ended. */
static bool is_structure(const struct string *string) {
    static const char words[] =
            "args arguments assistant call_id choices completed content contents finish_reason "
            "finishReason function function_call function_call_output functionCall "
            "functionResponse id index input is_error kind message messages model name output "
            "output_text parts reasoning reasoning_content reasoning_details redacted_thinking "
            "refusal response results role signature status stop stop_reason summary "
            "summary_text text thinking thought thoughtSignature time tool tool_call_id "
            "tool_calls tool_name tool_result tool_use tool_use_id type user";
    for (const char *word = words; *word != '\0';) {
        const size_t length = strcspn(word, " ");
        if (length == string->length && memcmp(word, string->text, length) == 0) {
            return true;
        }
        word += length + (word[length] == ' ');
    }
    return false;
}

static void keep_string(struct search *search, const struct string *string) {
    search->is_part = false;
    for (size_t i = 0; i < search->key->secret_count && !search->is_part; i++) {
        search->secret = &search->key->secrets[i];
        find_parts(search, string, 0, mark_part);
    }
    if (!search->is_part || search->failed || is_structure(string)) {
        return;
    }
    if (search->count == search->room) {
        size_t room = search->room > 0 ? 2 * search->room : 16;
        struct string *grown = reallocarray(search->strings, room, sizeof *grown);
        if (grown == NULL) {
            search->failed = true;
            return;
        }
        search->strings = grown;
        search->room = room;
    }
    search->strings[search->count++] = *string;
}

/* Find the strings of a JSON text that stands in `level` strings: there a quote of its own has
 * 2^level - 1 backslashes before it, and a backslash at the end of a string 2^(level + 1) more. */
static void find_strings(struct search *search, char *text, size_t length, unsigned level) {
    const size_t escapes = ((size_t)1 << level) - 1;
    char *begin = NULL; /* of the string that is open */
    char *quote = text;
    while ((quote = memchr(quote, '"', (size_t)(text + length - quote))) != NULL) {
        size_t backslashes = 0;
        while (quote - backslashes > text && quote[-1 - (ptrdiff_t)backslashes] == '\\') {
            backslashes++;
        }
        quote++;
        if (backslashes % (2 * (escapes + 1)) != escapes) {
            continue;
        }
        if (begin == NULL) {
            begin = quote;
            continue;
        }
        const char *behind = quote;
        while (behind < text + length && strchr(" \t\r\n", *behind) != NULL) {
            behind++;
        }
        const struct string string = {begin, (size_t)(quote - 1 - escapes - begin),
                                      behind < text + length && *behind == ':'};
        keep_string(search, &string);
        if (level + 1 < LEVELS_MAX && string.length > 0 && strchr("{[", begin[0]) != NULL) {
            find_strings(search, begin, string.length, level + 1);
        }
        begin = NULL;
    }
}

/* ------------------------------------------------------------------- parts */

static bool is_counted(const struct search *search, size_t from, size_t to) {
    return search->is_ordered || to - from >= UNORDERED_PART_MIN;
}

static void come(struct search *search, size_t at, size_t from, size_t to, char *text) {
    (void)text;
    size_t come = search->is_ordered ? at : 0;
    if (is_counted(search, from, to) && search->earliest[from] < at &&
        search->earliest[to] > come) {
        search->earliest[to] = come;
        search->has_changed = true;
    }
}

static void go_on(struct search *search, size_t at, size_t from, size_t to, char *text) {
    (void)text;
    size_t coming = search->is_ordered ? at : SIZE_MAX;
    if (is_counted(search, from, to) && search->latest[to] > at && search->latest[from] < coming) {
        search->latest[from] = coming;
        search->has_changed = true;
    }
}

static void overwrite(struct search *search, size_t at, size_t from, size_t to, char *text) {
    if (is_counted(search, from, to) && search->earliest[from] < at && search->latest[to] > at) {
        memset(text, '*', to - from);
    }
}

/* Overwrite the parts of one secret. In any order the strings are passed through until no part
 * joins another any more: each time one does at least, and a secret has few. */
static void redact(struct search *search, bool is_ordered) {
    search->is_ordered = is_ordered;
    const size_t whole = search->secret->length;
    for (size_t n = 0; n <= whole; n++) {
        search->earliest[n] = n == 0 ? 0 : SIZE_MAX;
        search->latest[n] = n == whole ? SIZE_MAX : 0;
    }
    do {
        search->has_changed = false;
        for (size_t i = 0; i < search->count; i++) {
            find_parts(search, &search->strings[i], i + 1, come);
        }
    } while (search->has_changed && !is_ordered);
    if (search->earliest[whole] == SIZE_MAX) {
        return;
    }
    do {
        search->has_changed = false;
        for (size_t i = search->count; i > 0; i--) {
            find_parts(search, &search->strings[i - 1], i, go_on);
        }
    } while (search->has_changed && !is_ordered);
    for (size_t i = 0; i < search->count; i++) {
        find_parts(search, &search->strings[i], i + 1, overwrite);
    }
}

int key_redact_json(const struct key *key, char *json, size_t length, struct toolrack_error *err) {
    struct search search = {.key = key};
    key_redact(key, json, length);
    if (key->secret_count == 0 || json == NULL) {
        return 0;
    }
    find_strings(&search, json, length, 0);
    if (search.count > 1 && !search.failed) {
        const size_t longest = key->secrets[0].length;
        CLEANUP(freep) size_t *earliest = calloc(longest + 1, sizeof *earliest);
        CLEANUP(freep) size_t *latest = calloc(longest + 1, sizeof *latest);
        search.failed = earliest == NULL || latest == NULL;
        search.earliest = earliest;
        search.latest = latest;
        for (size_t i = 0; i < key->secret_count && !search.failed; i++) {
            search.secret = &key->secrets[i];
            redact(&search, true);
            redact(&search, false);
        }
    }
    free(search.strings);
    return search.failed ? error_oom(err) : 0;
}
