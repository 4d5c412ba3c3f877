/* What the calls of a text give: the parts of their results, by their schemas. */
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/json-pointer.h"
#include "choose/profile.h"
#include "choose/wish-making.h"

/* How much of a word counts that many results have. */
#define GENERIC_SHARE 0.3

/* -------------------------------------------------------------------------------------- words */

bool wish_is_generic(const struct word *word) {
    static const char *const generic[] = {
            "result", "valu",   "output",  "data", "total",  "number", "id",   "name", "statu",
            "status", "messag", "success", "info", "inform", "detail", "list", "type", "code"};
    for (size_t i = 0; i < ARRAY_LENGTH(generic); i++) {
        if (strlen(generic[i]) == word->stem_length &&
            memcmp(generic[i], word->stem, word->stem_length) == 0) {
            return true;
        }
    }
    return false;
}

bool wish_has_word(const struct words *words, const struct word *word) {
    for (size_t i = 0; i < words->count; i++) {
        const struct word *other = &words->items[i];
        if (!other->quoted && other->stem_length == word->stem_length &&
            memcmp(other->stem, word->stem, word->stem_length) == 0) {
            return true;
        }
    }
    return false;
}

double wish_share(const struct words *name, const struct words *others) {
    double all = 0;
    double found = 0;
    for (size_t i = 0; i < name->count; i++) {
        if (!name->items[i].stop) {
            double weight = wish_is_generic(&name->items[i]) ? GENERIC_SHARE : 1;
            all += weight;
            found += wish_has_word(others, &name->items[i]) ? weight : 0;
        }
    }
    return all >= 1 ? found / all : 0;
}

/* ------------------------------------------------------------------------------------ outputs */

static int add_output(struct making *making, const struct words *source, const char *name,
                      const char *text, yyjson_val *schema, bool whole) {
    if (making->output_count == OUTPUTS_ALL_MAX) {
        return 0;
    }
    struct output *output = &making->outputs[making->output_count];
    char path[JSON_POINTER_MAX] = "";
    if (!whole) {
        json_pointer_add(path, name);
    }
    *output = (struct output){.from = making->known,
                              .path = arena_copy(making->arena, path, strlen(path)),
                              .schema = schema};
    if (output->path == NULL) {
        return error_oom(making->err);
    }
    int code = words_read(name, strlen(name), &output->name, making->err);
    code = code < 0 ? code : words_read(text, strlen(text), &output->text, making->err);
    output->sought = wish_share(&output->name, source);
    yyjson_val *parameters = yyjson_obj_get(
            profile_schema(called_profile(&making->calls[making->known])), "properties");
    output->echo = !whole && yyjson_obj_get(parameters, name) != NULL;
    making->output_count++;
    return code;
}

/* The words of a part of the text, and behind them what the Chinese ones are in English: results
 * have English names. */
static int read_source(const struct making *making, const struct called *call, struct words *ret) {
    const char *text = making->text + call->start;
    CLEANUP(words_finish) struct words own = {0};
    CLEANUP(buf_finish) struct buf all = BUF_INIT;
    int code = words_read(text, call->end - call->start, &own, making->err);
    buf_add(&all, text, call->end - call->start);
    for (size_t at = 0; at < own.count; at++) {
        const struct lexicon_row *row;
        size_t rows = 0;
        bool han = own.items[at].kind == WORD_HAN && !own.items[at].quoted;
        size_t length = han ? words_match(&own, at, &lexicon_glossary, &row, &rows) : 0;
        for (size_t i = 0; length > 1 && i < rows; i++) {
            buf_printf(&all, "\n%s", lexicon_value(&lexicon_glossary, &row[i]));
        }
        at += length > 1 ? length - 1 : 0;
    }
    code = code == 0 && all.failed ? error_oom(making->err) : code;
    return code < 0 ? code : words_read(all.data, all.length, ret, making->err);
}

/* The members of the result of a call by its schema; without one, the result as a whole, which is
 * what its tool is named after. */
static int add_outputs(struct making *making) {
    const struct called *call = &making->calls[making->known];
    const struct toolrack_tool *tool = called_tool(call);
    CLEANUP(words_finish) struct words source = {0};
    int code = read_source(making, call, &source);
    if (code < 0) {
        return code;
    }
    const char *schema = toolrack_tool_result_schema(tool);
    const yyjson_alc alc = arena_alc(making->arena);
    yyjson_doc *doc = schema != NULL ? yyjson_read_opts((char *)(uintptr_t)schema, strlen(schema),
                                                        0, &alc, NULL)
                                     : NULL;
    yyjson_val *root = yyjson_doc_get_root(doc);
    yyjson_val *members = yyjson_obj_get(root, "properties");
    yyjson_obj_iter iter = yyjson_obj_iter_with(members);
    yyjson_val *key;
    for (size_t i = 0; code == 0 && i < OUTPUTS_MAX && (key = yyjson_obj_iter_next(&iter)) != NULL;
         i++) {
        yyjson_val *member = yyjson_obj_iter_get_val(key);
        const char *text = yyjson_get_str(yyjson_obj_get(member, "description"));
        code = add_output(making, &source, yyjson_get_str(key), text != NULL ? text : "", member,
                          false);
    }
    if (code == 0 && yyjson_obj_size(members) == 0) {
        const char *title = yyjson_get_str(yyjson_obj_get(root, "title"));
        const char *name = title != NULL ? title : toolrack_tool_name(tool);
        code = add_output(making, &source, name, toolrack_tool_description(tool), root, true);
    }
    return code;
}

/* ---------------------------------------------------------------------------------- the whole */

int wish_outputs_find(struct making *making) {
    int code = 0;
    if (making->outputs == NULL) {
        making->outputs = arena_alloc(making->arena, OUTPUTS_ALL_MAX * sizeof *making->outputs);
    }
    if (making->outputs == NULL) {
        return error_oom(making->err);
    }
    for (; code == 0 && making->known < making->count; making->known++) {
        code = add_outputs(making);
    }
    return code;
}

void wish_outputs_finish(struct making *making) {
    for (size_t i = 0; i < making->output_count; i++) {
        words_finish(&making->outputs[i].name);
        words_finish(&making->outputs[i].text);
    }
}
