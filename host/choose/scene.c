#include "choose/scene.h"

#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"

/* What a path, a URL and an e-mail address weigh, and how many of a text are looked at. */
#define PATH_WEIGHT  2.0
#define URL_WEIGHT   3.0
#define EMAIL_WEIGHT 2.0
#define SHAPES_MAX   4u

/* How much the fields of a tool say about what it is for. */
static const double field_factors[TOOL_FIELD_COUNT] = {
        [TOOL_NAME] = 1.5,     [TOOL_TITLE] = 1.5, [TOOL_DESCRIPTION] = 1,
        [TOOL_CATEGORY] = 2.0, [TOOL_TAGS] = 1.5,  [TOOL_SCENARIOS] = 1,
};

static const struct label_name builtin_items[SCENE_COUNT] = {
#define SCENE_NAME(constant, id, name_zh) {id, name_zh},
        SCENES(SCENE_NAME)
#undef SCENE_NAME
};
static const struct label_names builtin = {.items = builtin_items, .count = SCENE_COUNT};

/* The scenes of the host and of an administrator, whose words are a lexicon like the others. */
struct scenes {
    struct label_names names;
    struct label_name items[LABELS_MAX];
    struct lexicon lexicon;
    struct lexicon_row rows[SCENES_ADDED_WORDS_MAX]; /* sorted by key when all are there */
    struct buf text;                                 /* what rows point into */
    char *ids[SCENES_ADDED_MAX];                     /* owned, as names_zh: what items point to */
    char *names_zh[SCENES_ADDED_MAX];
    size_t added;
};

_Static_assert(SCENE_COUNT + SCENES_ADDED_MAX <= LABELS_MAX, "a tally has room for all scenes");

/* ---------------------------------------------------------- added scenes */

void scenes_destroy(struct scenes *scenes) {
    if (scenes != NULL) {
        for (size_t i = 0; i < scenes->added; i++) {
            free(scenes->ids[i]);
            free(scenes->names_zh[i]);
        }
        buf_finish(&scenes->text);
        free(scenes);
    }
}
CLEANUP_DEFINE(struct scenes, scenes_destroy)

static bool is_id(const char *id) {
    size_t length = strlen(id);
    for (size_t i = 0; i < length; i++) {
        if (!ascii_is_word(id[i]) || ascii_is_upper(id[i])) {
            return false;
        }
    }
    return length > 0 && length < SCENE_ID_MAX;
}

/* Make the scene of a row known, unless it is. */
static int add_scene(struct scenes *scenes, const struct scene_row *row,
                     struct toolrack_error *err) {
    if (!is_id(row->id)) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "'%s' is no id of a scene; use lower-case letters, digits and '_'",
                         row->id);
    }
    if (label_place(&scenes->names, row->id, strlen(row->id)) < scenes->names.count) {
        return 0;
    }
    if (scenes->added == SCENES_ADDED_MAX) {
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                         "more than %u scenes were added; remove some", SCENES_ADDED_MAX);
    }
    size_t at = scenes->added++;
    scenes->ids[at] = strdup(row->id);
    scenes->names_zh[at] = strdup(row->name_zh != NULL ? row->name_zh : row->id);
    if (scenes->ids[at] == NULL || scenes->names_zh[at] == NULL) {
        return error_oom(err);
    }
    scenes->items[scenes->names.count++] =
            (struct label_name){scenes->ids[at], scenes->names_zh[at]};
    return 0;
}

/* Add a row of the lexicon, in order; rows of one key keep theirs. */
static int add_row(struct scenes *scenes, const char *key, size_t length, uint32_t value,
                   struct toolrack_error *err) {
    if (scenes->lexicon.count == SCENES_ADDED_WORDS_MAX) {
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                         "more than %u words were added to scenes; remove some",
                         SCENES_ADDED_WORDS_MAX);
    }
    struct lexicon_row row = {.key = (uint32_t)scenes->text.length, .value = value};
    buf_add(&scenes->text, key, length);
    buf_add_char(&scenes->text, '\0');
    if (scenes->text.failed) {
        return error_oom(err);
    }
    size_t at = scenes->lexicon.count++;
    for (; at > 0 &&
           strcmp(scenes->text.data + scenes->rows[at - 1].key, scenes->text.data + row.key) > 0;
         at--) {
        scenes->rows[at] = scenes->rows[at - 1];
    }
    scenes->rows[at] = row;
    return 0;
}

/* Add the words of a row: "one, two words". */
static int add_words(struct scenes *scenes, const struct scene_row *row,
                     struct toolrack_error *err) {
    uint32_t value = (uint32_t)scenes->text.length;
    size_t before = scenes->lexicon.count;
    buf_printf(&scenes->text, "%s\t%u", row->id, LABEL_WEIGHT_MAX);
    buf_add_char(&scenes->text, '\0');
    const char *at = row->words != NULL ? row->words : "";
    while (*at != '\0') {
        char key[LEXICON_KEY_MAX];
        CLEANUP(words_finish) struct words words = {0};
        size_t length = strcspn(at, ",");
        int code = words_read(at, length, &words, err);
        size_t key_length = code < 0 ? 0 : words_key(&words, 0, words.count, key, sizeof key);
        if (key_length > 0) {
            code = add_row(scenes, key, key_length, value, err);
            scenes->lexicon.words_max = words.count > scenes->lexicon.words_max
                                                ? words.count
                                                : scenes->lexicon.words_max;
        }
        if (code < 0) {
            return code;
        }
        at += length + (at[length] == ',');
    }
    return scenes->lexicon.count > before
                   ? 0
                   : error_set(err, TOOLRACK_E_INVALID, "scene '%s' has no words; list some",
                               row->id);
}

int scenes_create(const struct scene_row *rows, size_t count, struct scenes **ret,
                  struct toolrack_error *err) {
    CLEANUP(scenes_destroyp) struct scenes *scenes = calloc(1, sizeof *scenes);
    if (scenes == NULL) {
        return error_oom(err);
    }
    memcpy(scenes->items, builtin_items, sizeof builtin_items);
    scenes->names = (struct label_names){.items = scenes->items, .count = SCENE_COUNT};
    for (size_t i = 0; i < count; i++) {
        int code = add_scene(scenes, &rows[i], err);
        code = code < 0 ? code : add_words(scenes, &rows[i], err);
        if (code < 0) {
            return code;
        }
    }
    scenes->lexicon.text = scenes->text.data;
    scenes->lexicon.rows = scenes->rows;
    *ret = STEAL(scenes);
    return 0;
}

/* ------------------------------------------------------ paths, URLs, e-mail */

static bool is_name_part(char c) {
    return ascii_is_word(c) || c == '-' || c == '.' || (c & 0x80) != 0;
}

/* Whether a path begins here: "/tmp", "~/x", "./x", "C:\x"; `before` is the byte before it. */
static bool is_path(const char *text, size_t length, size_t at, char before) {
    if (is_name_part(before) && (before & 0x80) == 0) {
        return false;
    }
    const char *from = text + at;
    size_t left = length - at;
    bool is_root =
            left > 1 && from[0] == '/' && is_name_part(from[1]) && before != '/' && before != ':';
    bool is_relative = left > 2 && (from[0] == '~' || from[0] == '.') && from[1] == '/' &&
                       is_name_part(from[2]);
    bool is_drive = left > 3 && ascii_is_letter(from[0]) && from[1] == ':' && from[2] == '\\' &&
                    is_name_part(from[3]);
    return is_root || is_relative || is_drive;
}

/* Count what can be told by its form, without words. */
static void count_shapes(struct label_tally *tally, const char *text, size_t length) {
    size_t found = 0;
    for (size_t i = 0; i < length && found < SHAPES_MAX; i++) {
        char before = i > 0 ? text[i - 1] : ' ';
        size_t scene = SCENE_COUNT;
        double weight = 0;
        if (i + 3 < length && memcmp(text + i, "://", 3) == 0 && ascii_is_letter(before)) {
            scene = SCENE_NETWORK_REQUESTS;
            weight = URL_WEIGHT;
        } else if (text[i] == '@' && is_name_part(before) && i + 1 < length &&
                   ascii_is_alnum(text[i + 1])) {
            scene = SCENE_COMMUNICATION;
            weight = EMAIL_WEIGHT;
        } else if (is_path(text, length, i, before)) {
            scene = SCENE_FILE_OPERATIONS;
            weight = PATH_WEIGHT;
        }
        if (scene < SCENE_COUNT) {
            size_t end = i + 1;
            while (end < length && (is_name_part(text[end]) || strchr("/:@\\", text[end])) &&
                   (text[end] & 0x80) == 0 && text[end] != '\0') {
                end++;
            }
            label_add(tally, scene,
                      &(struct label_reason){
                              .start = (uint32_t)i, .end = (uint32_t)end, .weight = weight});
            found++;
            i = end - 1;
        }
    }
}

/* ------------------------------------------------------------------ scenes */

static void count_all(struct label_tally *tally, const struct words *words, label_weigh *weigh,
                      const void *user, const struct scenes *scenes) {
    label_begin(tally, scenes != NULL ? &scenes->names : &builtin);
    label_count(tally, &lexicon_scenes, words, weigh, user);
    if (scenes != NULL) {
        label_count(tally, &scenes->lexicon, words, weigh, user);
    }
}

size_t scene_find(const char *text, size_t length, const struct words *words,
                  const struct scenes *scenes, struct label *ret, size_t room) {
    struct label_tally tally;
    count_all(&tally, words, NULL, NULL, scenes);
    count_shapes(&tally, text, length);
    return label_rank(&tally, ret, room);
}

static double weigh_field(const void *user, const struct words *words, size_t at, size_t count) {
    (void)count;
    return field_factors[tool_words_field(user, &words->items[at])];
}

size_t scene_of_tool(const struct tool_words *tool, const struct scenes *scenes, struct label *ret,
                     size_t room) {
    struct label_tally tally;
    count_all(&tally, &tool->words, weigh_field, tool, scenes);
    return label_rank(&tally, ret, room);
}
