#include "bind/bind.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "bind/conclude.h"
#include "bind/decisions.h"
#include "bind/elfutils.h"
#include "bind/failure.h"
#include "bind/model.h"

static bool is_wanted(const struct bind_options *options, const char *name) {
    /* Names with an underscore in front are the library's own, unless they are asked for. */
    bool wanted = options->pattern_count == 0 && name[0] != '_';
    for (size_t i = 0; i < options->pattern_count && !wanted; i++) {
        wanted = fnmatch(options->patterns[i], name, 0) == 0;
    }
    return wanted;
}

/* Of the others those that may free or explain what a function gives are read. */
static void choose_read(const struct bind_options *options, const struct decisions *decisions,
                        struct model *model) {
    for (size_t i = 0; i < model->symbol_count; i++) {
        const char *name = model->symbols[i].name;
        model->symbols[i].is_read = is_wanted(options, name) || strstr(name, "free") != NULL ||
                                    failure_may_explain(name) || decisions_choose(decisions, name);
    }
}

/* The function that explains a code, if there is just one. */
static const char *find_explain(const struct model *model) {
    const char *found = NULL;
    for (size_t i = 0; i < model->symbol_count; i++) {
        if (failure_explains(&model->symbols[i].function)) {
            if (found != NULL) {
                return NULL;
            }
            found = model->symbols[i].name;
        }
    }
    return found;
}

static bool leave_out(yyjson_mut_doc *doc, yyjson_mut_val *left_out, const char *name,
                      const char *reason) {
    yyjson_mut_val *row = yyjson_mut_arr_add_obj(doc, left_out);
    return yyjson_mut_obj_add_strcpy(doc, row, "name", name) &&
           yyjson_mut_obj_add_strcpy(doc, row, "reason", reason);
}

static int conclude_all(const struct bind_options *options, const struct concluding *concluding,
                        yyjson_mut_val *tools, yyjson_mut_val *left_out,
                        struct bind_summary *summary, struct toolrack_error *err) {
    const struct model *model = concluding->model;
    for (size_t i = 0; i < model->symbol_count; i++) {
        yyjson_mut_val *tool = NULL;
        const char *reason = NULL;
        size_t undecided = 0;
        bool is_again = i > 0 && strcmp(model->symbols[i].name, model->symbols[i - 1].name) == 0;
        if (is_again || !is_wanted(options, model->symbols[i].name)) {
            continue;
        }
        int code =
                conclude(concluding, &model->symbols[i].function, &tool, &reason, &undecided, err);
        if (code < 0) {
            return code;
        }
        bool is_added =
                tool != NULL ? yyjson_mut_arr_append(tools, tool)
                             : leave_out(concluding->doc, left_out, model->symbols[i].name, reason);
        if (!is_added) {
            return error_oom(err);
        }
        if (summary->bound == BIND_FUNCTIONS_MAX) {
            return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                             "%s exports more than %u functions that fit; name those that you want "
                             "with --function",
                             model->file, BIND_FUNCTIONS_MAX);
        }
        summary->bound += tool != NULL;
        summary->left_out += tool == NULL;
        summary->undecided += undecided > 0;
    }
    return 0;
}

static int check_used(const struct decisions *decisions, struct toolrack_error *err) {
    for (size_t i = 0; i < decisions->count; i++) {
        if (!decisions->used[i]) {
            return error_set(err, TOOLRACK_E_INVALID,
                             "the decision '%s' fits no argument that can be decided",
                             decisions->texts[i]);
        }
    }
    return 0;
}

static int bind(const struct bind_options *options, struct model *model, yyjson_mut_doc *doc,
                yyjson_mut_val *tools, yyjson_mut_val *left_out, struct bind_summary *summary,
                struct toolrack_error *err) {
    struct decisions decisions = {.texts = options->decisions, .count = options->decision_count};
    decisions.used = arena_zalloc(model->arena, decisions.count + 1);
    int code = decisions.used == NULL ? error_oom(err) : decisions_check(&decisions, err);
    if (code == 0) {
        code = elfutils_load(err);
    }
    if (code == 0) {
        code = library_file_read(model, options->library, err);
    }
    if (code < 0) {
        return code;
    }
    choose_read(options, &decisions, model);
    if (!options->asks_debuginfod) {
        (void)unsetenv("DEBUGINFOD_URLS"); /* libdw would ask the servers that it names */
    }
    code = options->header != NULL ? header_read(model, options->header, options->includes,
                                                 options->include_count, err)
                                   : dwarf_read(model, err);
    if (code == 0) {
        const struct concluding concluding = {.model = model,
                                              .decisions = &decisions,
                                              .doc = doc,
                                              .explain = find_explain(model)};
        code = conclude_all(options, &concluding, tools, left_out, summary, err);
    }
    if (code == 0 && summary->bound + summary->left_out == 0) {
        code = error_set(err, TOOLRACK_E_NOT_FOUND,
                         options->pattern_count > 0
                                 ? "%s exports no function of such a name"
                                 : "all functions that %s exports have an underscore in front, as "
                                   "those of the library's own use do; name those that you want "
                                   "with --function",
                         model->file);
    }
    return code < 0 ? code : check_used(&decisions, err);
}

int bind_library(const struct bind_options *options, yyjson_mut_doc *doc,
                 yyjson_mut_val **ret_tools, yyjson_mut_val **ret_left_out,
                 struct bind_summary *ret_summary, struct toolrack_error *err) {
    struct arena arena;
    struct bind_summary summary = {0};
    /* Its texts are in the arena: what is given back is copied. */
    yyjson_mut_doc *own = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *tools = yyjson_mut_arr(own);
    yyjson_mut_val *left_out = yyjson_mut_arr(own);
    arena_init(&arena, NULL, 0);
    arena.size_max = MODEL_MEMORY_MAX;
    struct model model = {.arena = &arena};
    int code = tools == NULL || left_out == NULL
                       ? error_oom(err)
                       : bind(options, &model, own, tools, left_out, &summary, err);
    if (code == 0) {
        *ret_tools = yyjson_mut_val_mut_copy(doc, tools);
        *ret_left_out = yyjson_mut_val_mut_copy(doc, left_out);
        *ret_summary = summary;
        code = *ret_tools == NULL || *ret_left_out == NULL ? error_oom(err) : 0;
    }
    if (code == TOOLRACK_E_NO_MEMORY && arena.limited) {
        code = error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                         "what the functions of %s take unfolds to more than %u bytes; name those "
                         "that you want with --function",
                         options->library, MODEL_MEMORY_MAX);
    }
    yyjson_mut_doc_free(own);
    arena_finish(&arena);
    return code;
}
