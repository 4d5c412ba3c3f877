#include "choose/tool-words.h"

#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"

/* Each text ends with a line, so that words of two are not in one clause. */
static void add_text(struct buf *out, const char *text, size_t most) {
    if (text != NULL && text[0] != '\0' && out->length < TOOL_WORDS_SIZE_MAX) {
        size_t room = TOOL_WORDS_SIZE_MAX - out->length;
        buf_add(out, text, strnlen(text, most < room ? most : room));
        buf_add_char(out, '\n');
    }
}

static void add_parameters(struct buf *out, yyjson_val *parameters) {
    yyjson_obj_iter iter = yyjson_obj_iter_with(yyjson_obj_get(parameters, "properties"));
    yyjson_val *key;
    while ((key = yyjson_obj_iter_next(&iter)) != NULL && out->length < TOOL_WORDS_SIZE_MAX) {
        yyjson_val *parameter = yyjson_obj_iter_get_val(key);
        yyjson_arr_iter choices = yyjson_arr_iter_with(yyjson_obj_get(parameter, "enum"));
        yyjson_val *choice;
        add_text(out, yyjson_get_str(key), TOOL_WORDS_PART_MAX);
        add_text(out, yyjson_get_str(yyjson_obj_get(parameter, "description")),
                 TOOL_WORDS_PART_MAX);
        while ((choice = yyjson_arr_iter_next(&choices)) != NULL) {
            add_text(out, yyjson_get_str(choice), TOOL_WORDS_PART_MAX);
        }
    }
}

int tool_words_read(const struct index_document *tool, yyjson_val *parameters,
                    struct tool_words *ret, struct toolrack_error *err) {
    const struct {
        const char *text;
        size_t most;
    } fields[TOOL_PARAMETERS] = {
            [TOOL_NAME] = {tool->name, TOOL_WORDS_PART_MAX},
            [TOOL_TITLE] = {tool->title, TOOL_WORDS_PART_MAX},
            [TOOL_DESCRIPTION] = {tool->description, TOOL_DESCRIPTION_MAX},
            [TOOL_CATEGORY] = {tool->category, TOOL_WORDS_PART_MAX},
            [TOOL_TAGS] = {tool->tags, TOOL_WORDS_PART_MAX},
            [TOOL_SCENARIOS] = {tool->scenarios, TOOL_DESCRIPTION_MAX},
    };
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    struct tool_words words = {0};
    for (size_t i = 0; i < TOOL_PARAMETERS; i++) {
        add_text(&text, fields[i].text, fields[i].most);
        words.ends[i] = text.length;
    }
    add_parameters(&text, parameters);
    words.ends[TOOL_PARAMETERS] = text.length;
    if (text.failed) {
        return error_oom(err);
    }
    int code = words_read(text.data != NULL ? text.data : "", text.length, &words.words, err);
    if (code < 0) {
        return code;
    }
    size_t first = 0;
    while (first < words.words.count && words.words.items[first].start < words.ends[TOOL_TITLE]) {
        first++;
    }
    words.purpose = first < words.words.count ? words.words.items[first].clause : 0;
    *ret = words;
    return 0;
}

void tool_words_finish(struct tool_words *words) {
    words_finish(&words->words);
}

enum tool_field tool_words_field(const struct tool_words *words, const struct word *word) {
    unsigned field = TOOL_NAME;
    while (field < TOOL_PARAMETERS && word->start >= words->ends[field]) {
        field++;
    }
    return (enum tool_field)field;
}

bool tool_words_is_purpose(const struct tool_words *words, const struct word *word) {
    return word->start < words->ends[TOOL_TITLE] ||
           (word->start < words->ends[TOOL_DESCRIPTION] && word->clause == words->purpose);
}
