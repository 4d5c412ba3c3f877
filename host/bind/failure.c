/* failure.c - by which result a function says that it failed, and which one explains a code. */
#include "bind/failure.h"

#include <string.h>

#include "base/cleanup.h"
#include "bind/comment.h"
#include "bind/parts.h"

static bool says_any(const char *comment, const char *const *words, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (comment_says(comment, words[i])) {
            return true;
        }
    }
    return false;
}

static yyjson_mut_val *add_failure(struct choosing *choosing, const char *name, const char *when,
                                   bool has_errno, const char *explain) {
    yyjson_mut_doc *doc = choosing->work->doc;
    yyjson_mut_val *choice = choosing_add(choosing, name);
    (void)yyjson_mut_obj_add_str(doc, choice, "when", when);
    if (has_errno) {
        (void)yyjson_mut_obj_add_bool(doc, choice, "errno", true);
    }
    if (explain != NULL) {
        (void)yyjson_mut_obj_add_str(doc, choice, "message", explain);
    }
    return choice;
}

static bool has_word(const char *name, const char *const *words, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (strcasestr(name, words[i]) != NULL) {
            return true;
        }
    }
    return false;
}

/* What the names of an enumeration say of the codes that it has. */
enum codes {
    CODES_NONE,  /**< they are no codes of errors */
    CODES_SOME,  /**< some are; a person knows of the others, such as STREAM_END */
    CODES_ERRORS /**< 0 is good, and all others are errors */
};

static enum codes codes_of(const struct model_type *type) {
    static const char *const good[] = {"ok", "success", "no_err", "noerr", "none"};
    static const char *const bad[] = {"err",    "fail",  "invalid", "denied",
                                      "no_mem", "nomem", "bad_",    "timeout"};
    bool has_good = false;
    uint32_t errors = 0;
    uint32_t others = 0;
    for (uint32_t i = 0; i < type->choice_count; i++) {
        const struct model_choice *choice = &type->choices[i];
        bool is_good = choice->value == 0 && has_word(choice->name, good, ARRAY_LENGTH(good));
        bool is_bad = choice->value != 0 && has_word(choice->name, bad, ARRAY_LENGTH(bad));
        has_good = has_good || is_good;
        errors += is_bad;
        others += !is_bad && choice->value != 0;
    }
    return !has_good || errors == 0 ? CODES_NONE : others > 0 ? CODES_SOME : CODES_ERRORS;
}

/* The function that gives the text of a code: the library's only one whose name says so, or another
 * that was decided. */
static const char *choose_explain(struct work *work) {
    const struct model *model = work->concluding->model;
    yyjson_mut_val *object = yyjson_mut_obj(work->doc);
    struct choosing choosing = choosing_begin(work, "message", object);
    (void)choosing_add(&choosing, "none");
    for (size_t i = 0; i < model->symbol_count; i++) {
        const struct model_function *function = &model->symbols[i].function;
        if (failure_gives_text(function)) {
            yyjson_mut_val *choice = choosing_add(&choosing, function->name);
            (void)yyjson_mut_obj_add_str(work->doc, choice, "message", function->name);
        }
    }
    choosing.certain = work->concluding->explain != NULL ? work->concluding->explain : "none";
    choosing_end(&choosing, "which function explains a code");
    return yyjson_mut_get_str(yyjson_mut_obj_get(object, "message"));
}

/* What a code that is an int says, where the comment tells. */
static const char *certain_of_int(const struct work *work, const char *comment) {
    static const char *const good_zero[] = {"ok if success",   "ok on success", "0 on success",
                                            "zero on success", "0 if success",  "0 for success",
                                            "ok or an error"};
    static const char *const bad_minus[] = {"-1 on error", "-1 on failure", "returns -1",
                                            "-1 is returned", "return -1"};
    return says_any(comment, good_zero, ARRAY_LENGTH(good_zero))   ? "nonzero"
           : says_any(comment, bad_minus, ARRAY_LENGTH(bad_minus)) ? "minus_one"
           : !work->writes                                         ? "never"
                                                                   : NULL;
}

static const char *certain_of_enum(const struct model_type *type) {
    enum codes codes = codes_of(type);
    return codes == CODES_ERRORS ? "nonzero" : codes == CODES_NONE ? "never" : NULL;
}

void failure_conclude(struct work *work, yyjson_mut_val *implementation) {
    static const char *const bad_null[] = {
            "null on error",    "null on failure",         "null if", "returns null", "return null",
            "null is returned", "null pointer is returned"};
    const struct model_type *type = work->function->result;
    const char *comment = work->function->comment != NULL ? work->function->comment : "";
    bool is_enum = type != NULL && type->kind == MODEL_ENUM;
    bool is_code = is_enum || (type != NULL && type->kind == MODEL_INTEGER && type->size == 4 &&
                               type->is_signed);
    bool is_pointer = type != NULL && model_is_address(type);
    if (!is_code && !is_pointer) {
        return;
    }
    yyjson_mut_val *object = yyjson_mut_obj(work->doc);
    struct choosing choosing = choosing_begin(work, "error", object);
    bool has_errno = comment_says(comment, "errno");
    (void)add_failure(&choosing, "never", "never", false, NULL);
    if (is_pointer) {
        (void)add_failure(&choosing, "null", "zero", has_errno, NULL);
        choosing.certain = says_any(comment, bad_null, ARRAY_LENGTH(bad_null)) ? "null" : "never";
    } else {
        const char *explain = choose_explain(work);
        (void)add_failure(&choosing, "nonzero", "nonzero", has_errno, explain);
        (void)add_failure(&choosing, "negative", "negative", has_errno, explain);
        (void)add_failure(&choosing, "zero", "zero", has_errno, NULL);
        (void)yyjson_mut_obj_add_int(
                work->doc, add_failure(&choosing, "minus_one", "equals", true, NULL), "value", -1);
        choosing.certain = is_enum ? certain_of_enum(type) : certain_of_int(work, comment);
    }
    choosing_end(&choosing,
                 is_enum ? "some names of the codes that it returns are of errors, others are not: "
                           "which say that the function failed"
                         : "which result says that the function failed");
    if (!yyjson_mut_equals_str(yyjson_mut_obj_get(object, "when"), "never")) {
        (void)yyjson_mut_obj_add_val(work->doc, implementation, "error", object);
    }
}

bool failure_may_explain(const char *name) {
    return strcasestr(name, "error") != NULL || strcasestr(name, "errstr") != NULL;
}

bool failure_gives_text(const struct model_function *function) {
    const struct model_type *result = function->result;
    const struct model_type *code = function->param_count == 1 ? function->params[0].type : NULL;
    return function->rank > 0 && !function->is_variadic && code != NULL && result != NULL &&
           model_is_address(result) && result->target->is_character && result->target->is_const &&
           (code->kind == MODEL_INTEGER || code->kind == MODEL_ENUM) && code->size == 4;
}

bool failure_explains(const struct model_function *function) {
    return failure_gives_text(function) && failure_may_explain(function->name);
}
