#include "cli/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/command.h"
#include "base/error.h"
#include "base/name.h"

#define MEMBER(member) offsetof(struct options, member)

const struct option_spec options_global[] = {
        {"config", "FILE", "read this configuration instead of the user's own", OPTION_TEXT,
         MEMBER(config_file)},
        {"state", "DIR", "keep settings in this folder", OPTION_TEXT, MEMBER(state_dir)},
        {"plugins", "DIR", "look for plugins in this folder only; repeatable", OPTION_LIST,
         MEMBER(plugin_dirs)},
        {"require-sandbox", NULL, "refuse calls for which a layer of the sandbox is missing",
         OPTION_FLAG, MEMBER(require_sandbox)},
        {"safe-mode", NULL, "use only the plugins installed with toolrack", OPTION_FLAG,
         MEMBER(safe_mode)},
        {"no-daemon", NULL, "work without the running daemon; 'serve' is none then", OPTION_FLAG,
         MEMBER(no_daemon)},
        {"json", NULL, "print JSON, errors too", OPTION_FLAG, MEMBER(json)},
        {"color", "WHEN", "auto (the default), always or never", OPTION_TEXT, MEMBER(color)},
        {"no-pager", NULL, "print long output at once", OPTION_FLAG, MEMBER(no_pager)},
        {"verbose", NULL, "print log lines on standard error", OPTION_FLAG, MEMBER(verbose)},
        {"help", NULL, "print help", OPTION_FLAG, MEMBER(help)},
        {"version", NULL, "print the version", OPTION_FLAG, MEMBER(version)},
        {0},
};

const struct verb *options_verb(const struct verb *verbs, const char *name) {
    for (const struct verb *verb = verbs; verb->name != NULL; verb++) {
        if (strcmp(verb->name, name) == 0 ||
            (verb->alias != NULL && strcmp(verb->alias, name) == 0)) {
            return verb;
        }
    }
    return NULL;
}

static const struct option_spec *find_in(const struct option_spec *table, const char *name,
                                         size_t length) {
    for (; table != NULL && table->name != NULL; table++) {
        if (strlen(table->name) == length && memcmp(table->name, name, length) == 0) {
            return table;
        }
    }
    return NULL;
}

int options_unknown_verb(const struct verb *verbs, const char *name, struct toolrack_error *err) {
    struct nearest nearest = nearest_to(name);
    for (const struct verb *verb = verbs; verb->name != NULL; verb++) {
        (void)nearest_try(&nearest, verb->name);
    }
    if (nearest.name != NULL) {
        return error_set(err, TOOLRACK_E_INVALID, "there is no verb \"%s\"; did you mean \"%s\"?",
                         name, nearest.name);
    }
    return error_set(err, TOOLRACK_E_INVALID,
                     "there is no verb \"%s\"; 'toolrack help' lists the verbs", name);
}

static int unknown_option(const struct verb *verb, const char *name, size_t length,
                          struct toolrack_error *err) {
    char typed[NAME_LENGTH_MAX + 1];
    size_t typed_length = length < NAME_LENGTH_MAX ? length : NAME_LENGTH_MAX;
    memcpy(typed, name, typed_length);
    typed[typed_length] = '\0';
    struct nearest nearest = nearest_to(typed);
    const struct option_spec *tables[] = {options_global, verb != NULL ? verb->options : NULL};
    for (size_t i = 0; i < 2; i++) {
        for (const struct option_spec *o = tables[i]; o != NULL && o->name != NULL; o++) {
            (void)nearest_try(&nearest, o->name);
        }
    }
    const char *where = verb != NULL ? verb->name : "toolrack before the verb";
    if (nearest.name != NULL) {
        return error_set(err, TOOLRACK_E_INVALID, "%s has no option --%s; did you mean --%s?",
                         where, typed, nearest.name);
    }
    return error_set(err, TOOLRACK_E_INVALID,
                     "%s has no option --%s; 'toolrack help%s%s' lists them", where, typed,
                     verb != NULL ? " " : "", verb != NULL ? verb->name : "");
}

bool options_has_values(const struct options *options) {
    return options->tag != NULL || options->category != NULL || options->purpose != NULL ||
           options->scenario != NULL;
}

bool options_number(const char *text, long long min, long long max, long long *ret) {
    const char *digits = text + (text[0] == '-' || text[0] == '+');
    if (!ascii_is_digit(digits[0])) {
        return false;
    }
    char *end = NULL;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (errno != 0 || *end != '\0' || number < min || number > max) {
        return false;
    }
    *ret = number;
    return true;
}

bool options_duration(const char *text, uint32_t *ret_s) {
    static const struct {
        const char *unit;
        uint32_t seconds;
    } units[] = {{"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}};
    char digits[16];
    size_t length = strspn(text, "0123456789");
    long long number = 0;
    if (length == 0 || length >= sizeof digits) {
        return false;
    }
    memcpy(digits, text, length);
    digits[length] = '\0';
    for (size_t i = 0; i < ARRAY_LENGTH(units); i++) {
        if (strcmp(text + length, units[i].unit) == 0 &&
            options_number(digits, 1, OPTIONS_FOR_S_MAX / units[i].seconds, &number)) {
            *ret_s = (uint32_t)number * units[i].seconds;
            return true;
        }
    }
    return false;
}

static int set_option(struct options *options, const struct option_spec *spec, const char *value,
                      struct toolrack_error *err) {
    void *member = (char *)options + spec->offset;
    long long number = 0;
    switch (spec->kind) {
    case OPTION_FLAG: *(bool *)member = true; return 0;
    case OPTION_TEXT: *(const char **)member = value; return 0;
    case OPTION_LIST: {
        struct texts *texts = member;
        texts->items[texts->count++] = value;
        return 0;
    }
    case OPTION_TIMEOUT:
        if (!options_number(value, 1, OPTIONS_TIMEOUT_MS_MAX, &number)) {
            return error_set(err, TOOLRACK_E_INVALID,
                             "--timeout takes milliseconds from 1 to %u (one day), not \"%s\"",
                             OPTIONS_TIMEOUT_MS_MAX, value);
        }
        *(uint32_t *)member = (uint32_t)number;
        return 0;
    case OPTION_DURATION:
        if (!options_duration(value, member)) {
            return error_set(err, TOOLRACK_E_INVALID,
                             "--%s takes a duration such as 30s, 10m, 2h or 7d, of ten years at "
                             "most, not \"%s\"",
                             spec->name, value);
        }
        return 0;
    case OPTION_WAIT:
        if (!options_duration(value, member) || *(uint32_t *)member > OPTIONS_WAIT_S_MAX) {
            return error_set(err, TOOLRACK_E_INVALID,
                             "--%s takes a duration such as 30s, 10m or 2h, of a day at most, not "
                             "\"%s\"",
                             spec->name, value);
        }
        return 0;
    case OPTION_COUNT:
        if (!options_number(value, 1, OPTIONS_COUNT_MAX, &number)) {
            return error_set(err, TOOLRACK_E_INVALID,
                             "--%s takes a number from 1 to %u, not \"%s\"", spec->name,
                             OPTIONS_COUNT_MAX, value);
        }
        *(uint32_t *)member = (uint32_t)number;
        return 0;
    case OPTION_ID:
        if (!options_number(value, 1, INT64_MAX, &number)) {
            return error_set(err, TOOLRACK_E_INVALID, "--%s takes a number, 1 or more, not \"%s\"",
                             spec->name, value);
        }
        *(uint64_t *)member = (uint64_t)number;
        return 0;
    }
    return 0;
}

/* The rest of the command line. */
struct reader {
    char **argv;
    int at;
    int end;
    struct texts given; /* the options with one value; of two, one would be dropped */
};

static int note_given(struct reader *reader, const struct option_spec *spec,
                      struct toolrack_error *err) {
    struct texts *given = &reader->given;
    if (spec->kind == OPTION_FLAG || spec->kind == OPTION_LIST) {
        return 0;
    }
    for (size_t i = 0; i < given->count; i++) {
        if (strcmp(given->items[i], spec->name) == 0) {
            return error_set(err, TOOLRACK_E_INVALID, "--%s is given twice, and takes one value",
                             spec->name);
        }
    }
    given->items[given->count++] = spec->name;
    return 0;
}

static int read_option(struct reader *reader, struct options *options, struct toolrack_error *err) {
    const char *name = reader->argv[reader->at++] + 2;
    const char *equals = strchr(name, '=');
    size_t length = equals != NULL ? (size_t)(equals - name) : strlen(name);
    const struct option_spec *spec = find_in(options_global, name, length);
    if (spec == NULL && options->verb != NULL) {
        spec = find_in(options->verb->options, name, length);
    }
    if (spec == NULL) {
        return unknown_option(options->verb, name, length, err);
    }
    const char *value = equals != NULL ? equals + 1 : NULL;
    if (spec->kind == OPTION_FLAG && value != NULL) {
        return error_set(err, TOOLRACK_E_INVALID, "--%s takes no value", spec->name);
    }
    if (spec->kind != OPTION_FLAG && value == NULL) {
        if (reader->at == reader->end) {
            return error_set(err, TOOLRACK_E_INVALID, "--%s needs a value: --%s %s", spec->name,
                             spec->name, spec->value);
        }
        value = reader->argv[reader->at++];
    }
    int code = note_given(reader, spec, err);
    return code < 0 ? code : set_option(options, spec, value, err);
}

/* -x for any x but a digit: there are no short options but -h, and "-" and -5 are words. */
static bool is_short(const char *word) {
    return word[0] == '-' && word[1] != '\0' && word[1] != '-' && !ascii_is_digit(word[1]);
}

static int read_all(const struct verb *verbs, struct reader *reader, struct options *options,
                    struct toolrack_error *err) {
    int code = 0;
    bool only_words = false;
    while (code == 0 && reader->at < reader->end) {
        const char *word = reader->argv[reader->at];
        if (!only_words && strcmp(word, "--") == 0) {
            only_words = true;
            reader->at++;
        } else if (!only_words && strncmp(word, "--", 2) == 0) {
            code = read_option(reader, options, err);
        } else if (!only_words && strcmp(word, "-h") == 0) {
            options->help = true;
            reader->at++;
        } else if (!only_words && is_short(word)) {
            code = error_set(err, TOOLRACK_E_INVALID,
                             "there is no option %s; options begin with two dashes", word);
        } else if (options->verb == NULL) {
            options->verb = options_verb(verbs, word);
            code = options->verb != NULL ? 0 : options_unknown_verb(verbs, word, err);
            reader->at++;
        } else {
            options->words.items[options->words.count++] = word;
            reader->at++;
        }
    }
    return code;
}

/* NAME=VALUE, which begins no JSON. */
static bool is_assignment(const char *word) {
    size_t length = strcspn(word, "={}[]\",: \t\n");
    return length > 0 && word[length] == '=';
}

/* An argument that is given as a word, though the verb has --arg for it. */
static int check_assignments(const struct options *options, struct toolrack_error *err) {
    const char *found = NULL;
    if (find_in(options->verb->options, "arg", strlen("arg")) == NULL) {
        return 0;
    }
    for (size_t i = 1; i < options->words.count && found == NULL; i++) {
        found = is_assignment(options->words.items[i]) ? options->words.items[i] : NULL;
    }
    if (found == NULL) {
        return 0;
    }
    CLEANUP(buf_finish) struct buf option = BUF_INIT;
    buf_add_text(&option, "--arg");
    if (!command_add_word(&option, found)) {
        buf_add_text(&option, " NAME=VALUE");
    }
    return option.failed
                   ? error_oom(err)
                   : error_set(err, TOOLRACK_E_INVALID,
                               "\"%s\" is no JSON; give one argument with: %s", found, option.data);
}

static int check_words(const struct options *options, struct toolrack_error *err) {
    const struct verb *verb = options->verb;
    if (verb == NULL || options->help || options->version) {
        return 0;
    }
    int code = check_assignments(options, err);
    if (code < 0) {
        return code;
    }
    if (options->words.count < verb->words_min) {
        return error_set(err, TOOLRACK_E_INVALID, "an argument is missing; usage: toolrack %s %s",
                         verb->name, verb->arguments);
    }
    if (options->words.count > verb->words_max) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "\"%s\" is one argument too many; usage: toolrack %s%s%s",
                         options->words.items[verb->words_max], verb->name,
                         verb->arguments[0] != '\0' ? " " : "", verb->arguments);
    }
    return 0;
}

static int check_color(const struct options *options, struct toolrack_error *err) {
    const char *color = options->color;
    if (color == NULL || strcmp(color, "auto") == 0 || strcmp(color, "always") == 0 ||
        strcmp(color, "never") == 0) {
        return 0;
    }
    return error_set(err, TOOLRACK_E_INVALID, "--color takes auto, always or never, not \"%s\"",
                     color);
}

/* A wrong command line is reported as JSON too when it asks for JSON anywhere. */
static bool asks_for_json(int argc, char **argv) {
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--json") == 0) {
            return true;
        }
    }
    return false;
}

/* The memory of the lists: a part for each that is asked for. */
struct parts {
    const char **next;
    size_t room; /* of one */
};

static void give_part(struct parts *parts, struct texts *texts) {
    if (texts->items == NULL) { /* two verbs may have the same list */
        texts->items = parts->next;
        parts->next += parts->room;
    }
}

/* Give each list of a table its part, or without `parts` only count them. */
static size_t give_parts(const struct option_spec *table, struct options *options,
                         struct parts *parts) {
    size_t count = 0;
    for (; table != NULL && table->name != NULL; table++) {
        if (table->kind == OPTION_LIST) {
            count++;
            if (parts != NULL) {
                give_part(parts, (void *)((char *)options + table->offset));
            }
        }
    }
    return count;
}

/* Memory for all lists, none of which shares it with another. */
static bool give_memory(const struct verb *verbs, int argc, struct options *options,
                        struct texts *given) {
    size_t count = 2 + give_parts(options_global, NULL, NULL);
    for (const struct verb *verb = verbs; verb->name != NULL; verb++) {
        count += give_parts(verb->options, NULL, NULL);
    }
    /* Each could hold every argument, and ends with NULL. */
    struct parts parts = {.room = (size_t)argc + 1};
    options->memory = parts.next = calloc(count * parts.room, sizeof options->memory[0]);
    if (options->memory == NULL) {
        return false;
    }
    give_part(&parts, given);
    give_part(&parts, &options->words);
    (void)give_parts(options_global, options, &parts);
    for (const struct verb *verb = verbs; verb->name != NULL; verb++) {
        (void)give_parts(verb->options, options, &parts);
    }
    return true;
}

int options_parse(const struct verb *verbs, int argc, char **argv, struct options *ret,
                  struct toolrack_error *err) {
    *ret = (struct options){0};
    struct reader reader = {.argv = argv, .at = argc > 0 ? 1 : 0, .end = argc};
    if (!give_memory(verbs, argc, ret, &reader.given)) {
        return error_oom(err);
    }
    int code = read_all(verbs, &reader, ret, err);
    code = code < 0 ? code : check_words(ret, err);
    code = code < 0 ? code : check_color(ret, err);
    ret->json = ret->json || (code < 0 && asks_for_json(argc, argv));
    return code;
}

void options_finish(struct options *options) {
    free(options->memory);
    *options = (struct options){0};
}
