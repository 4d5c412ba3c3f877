#include "choose/outcome.h"

#include <math.h>
#include <string.h>

#include "registry/document.h"

double outcome_round(double value) {
    double within = value > 0 ? (value < 1 ? value : 1) : 0;
    return floor(within * OUTCOME_PARTS + 0.5) / OUTCOME_PARTS;
}

void outcome_add_number(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key,
                        double value) {
    (void)yyjson_mut_obj_add_real(doc, object, key, outcome_round(value));
}

const char *outcome_parameter(const char *pointer) {
    return pointer[0] == '/' ? pointer + 1 : pointer;
}

/* A part of the text, and where it stands. */
static void add_span(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *text, size_t start,
                     size_t end) {
    (void)yyjson_mut_obj_add_strncpy(doc, object, "text", text + start, end - start);
    (void)yyjson_mut_obj_add_uint(doc, object, "start", start);
    (void)yyjson_mut_obj_add_uint(doc, object, "end", end);
}

/* The same of a part that may be of the words that were added. */
static void add_part(yyjson_mut_doc *doc, yyjson_mut_val *object, const struct wording *wording,
                     size_t start, size_t end) {
    wording_place(wording, &start, &end);
    add_span(doc, object, wording->text, start, end);
}

void outcome_add_permission(yyjson_mut_doc *doc, yyjson_mut_val *object,
                            const struct shortlisted *found) {
    static const char *const names[] = {[TOOLRACK_PERMISSION_SAFE] = "safe",
                                        [TOOLRACK_PERMISSION_CONFIRM] = "confirm",
                                        [TOOLRACK_PERMISSION_DANGEROUS] = "dangerous"};
    document_add_text(doc, object, "permission", names[toolrack_tool_permission(found->tool)]);
    (void)yyjson_mut_obj_add_bool(doc, object, "granted", found->granted);
    (void)yyjson_mut_obj_add_bool(doc, object, "whitelisted", found->whitelisted);
}

static const char *relation_name(enum match_relation relation) {
    switch (relation) {
    case MATCH_SAME: return "same";
    case MATCH_SYNONYM: return "synonym";
    case MATCH_TRANSLATION: return "translation";
    case MATCH_VECTOR: return "vector";
    case MATCH_HISTORY: break;
    }
    return "history";
}

void outcome_add_match_reasons(yyjson_mut_doc *doc, yyjson_mut_val *object,
                               const struct match_hit *hit, const struct wording *wording) {
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, object, "reasons");
    for (size_t i = 0; i < hit->reason_count; i++) {
        const struct match_reason *reason = &hit->reasons[i];
        yyjson_mut_val *row = yyjson_mut_arr_add_obj(doc, list);
        (void)yyjson_mut_obj_add_str(doc, row, "relation", relation_name(reason->relation));
        if (reason->relation != MATCH_HISTORY && reason->relation != MATCH_VECTOR) {
            add_part(doc, row, wording, reason->start, reason->end);
            document_add_text(doc, row, "word", reason->word);
            (void)yyjson_mut_obj_add_str(doc, row, "field", index_field_name(reason->field));
        }
        outcome_add_number(doc, row, "share", reason->share);
    }
}

static void add_label(yyjson_mut_doc *doc, yyjson_mut_val *object, const struct label *label,
                      const struct wording *wording) {
    document_add_text(doc, object, "id", label->id);
    document_add_text(doc, object, "name_zh", label->name_zh);
    outcome_add_number(doc, object, "score", label->score);
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, object, "reasons");
    for (size_t i = 0; i < label->reason_count; i++) {
        yyjson_mut_val *row = yyjson_mut_arr_add_obj(doc, list);
        add_part(doc, row, wording, label->reasons[i].start, label->reasons[i].end);
    }
}

void outcome_add_labels(yyjson_mut_doc *doc, yyjson_mut_val *object, const struct label *labels,
                        size_t count, const struct wording *wording) {
    static const struct label none = {0};
    add_label(doc, object, count > 0 ? &labels[0] : &none, wording);
    yyjson_mut_val *others = yyjson_mut_obj_add_arr(doc, object, "others");
    for (size_t i = 1; i < count; i++) {
        add_label(doc, yyjson_mut_arr_add_obj(doc, others), &labels[i], wording);
    }
}

/* A value of the arguments; the text of it was written by this host. */
static void add_value(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *json) {
    yyjson_doc *read = yyjson_read(json, strlen(json), 0);
    yyjson_mut_val *copy = yyjson_val_mut_copy(doc, yyjson_doc_get_root(read));
    (void)yyjson_mut_obj_add_val(doc, object, "value", copy != NULL ? copy : yyjson_mut_null(doc));
    yyjson_doc_free(read);
}

void outcome_add_questions(yyjson_mut_doc *doc, yyjson_mut_val *object,
                           const struct arguments *arguments) {
    yyjson_mut_val *missing = yyjson_mut_obj_add_arr(doc, object, "missing");
    yyjson_mut_val *invalid = yyjson_mut_obj_add_arr(doc, object, "invalid");
    for (size_t i = 0; arguments != NULL && i < arguments->missing_count; i++) {
        const struct arguments_missing *one = &arguments->missing[i];
        yyjson_mut_val *row = yyjson_mut_arr_add_obj(doc, missing);
        document_add_text(doc, row, "parameter", outcome_parameter(one->pointer));
        document_add_text(doc, row, "question", one->question);
    }
    for (size_t i = 0; arguments != NULL && i < arguments->invalid_count; i++) {
        const struct arguments_invalid *one = &arguments->invalid[i];
        yyjson_mut_val *row = yyjson_mut_arr_add_obj(doc, invalid);
        document_add_text(doc, row, "parameter", outcome_parameter(one->pointer));
        add_value(doc, row, one->json);
        document_add_text(doc, row, "reason", one->reason);
        document_add_text(doc, row, "question", one->question);
    }
}

void outcome_add_arguments(yyjson_mut_doc *doc, yyjson_mut_val *object,
                           const struct arguments *arguments, yyjson_val *given) {
    yyjson_doc *read =
            arguments != NULL ? yyjson_read(arguments->json, arguments->json_length, 0) : NULL;
    yyjson_mut_val *copy =
            yyjson_val_mut_copy(doc, given != NULL ? given : yyjson_doc_get_root(read));
    (void)yyjson_mut_obj_add_val(doc, object, "arguments",
                                 copy != NULL ? copy : yyjson_mut_obj(doc));
    yyjson_doc_free(read);
}

void outcome_add_assumed(yyjson_mut_doc *doc, yyjson_mut_val *object,
                         const struct arguments *arguments, const struct buf *unsaid) {
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, object, "assumed");
    for (size_t at = 0; unsaid != NULL && at < unsaid->length;) {
        (void)yyjson_mut_arr_add_strcpy(doc, list, outcome_parameter(unsaid->data + at));
        at += strlen(unsaid->data + at) + 1;
    }
    for (size_t i = 0; arguments != NULL && i < arguments->value_count; i++) {
        const struct arguments_value *value = &arguments->values[i];
        if (value->source == ARGUMENTS_ASSUMED) {
            (void)yyjson_mut_arr_add_strcpy(doc, list, outcome_parameter(value->pointer));
        }
    }
}

void outcome_add_values(yyjson_mut_doc *doc, yyjson_mut_val *object,
                        const struct arguments *arguments, const char *text) {
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, object, "values");
    for (size_t i = 0; arguments != NULL && i < arguments->value_count; i++) {
        const struct arguments_value *value = &arguments->values[i];
        yyjson_mut_val *row = yyjson_mut_arr_add_obj(doc, list);
        document_add_text(doc, row, "parameter", outcome_parameter(value->pointer));
        add_value(doc, row, value->json);
        document_add_text(doc, row, "reason", value->reason);
        document_add_text(doc, row, "source", arguments_source_name(value->source));
        document_add_text(doc, row, "pointer", value->origin);
        yyjson_mut_val *spans = yyjson_mut_obj_add_arr(doc, row, "spans");
        for (size_t j = 0; j < value->span_count; j++) {
            add_span(doc, yyjson_mut_arr_add_obj(doc, spans), text, value->spans[j].start,
                     value->spans[j].end);
        }
    }
}

void outcome_add_embeddings(yyjson_mut_doc *doc, yyjson_mut_val *root,
                            const struct embedded *embedded, const struct embed *embed) {
    if (!embedded->asked) {
        (void)yyjson_mut_obj_add_null(doc, root, "embeddings");
        return;
    }
    yyjson_mut_val *object = yyjson_mut_obj_add_obj(doc, root, "embeddings");
    document_add_text(doc, object, "endpoint", embed->endpoint);
    document_add_text(doc, object, "model", embed->model);
    (void)yyjson_mut_obj_add_uint(doc, object, "texts", embedded->query + embedded->tools);
    (void)yyjson_mut_obj_add_uint(doc, object, "ranked", embedded->ranked);
    (void)yyjson_mut_obj_add_bool(doc, object, "complete", embedded->complete);
    document_add_text(doc, object, "problem",
                      embedded->problem.code != 0 ? embedded->problem.message : NULL);
}
