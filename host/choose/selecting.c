#include "choose/selecting.h"

#include <stdlib.h>

const struct shortlisted *selecting_best(const struct selecting *selecting) {
    const struct evaluation *evaluation = &selecting->evaluation;
    return evaluation->count > 0 ? &selecting->shortlist.items[evaluation->items[0].index] : NULL;
}

const struct shortlisted *selecting_chosen(const struct selecting *selecting) {
    return selecting->evaluation.abstained ? NULL : selecting_best(selecting);
}

const struct arguments *selecting_open(const struct selecting *selecting) {
    return selecting->given == NULL ? selecting->arguments : NULL;
}

const char *selecting_question(const struct selecting *selecting) {
    const struct arguments *arguments = selecting_open(selecting);
    if (selecting_chosen(selecting) == NULL) {
        return selecting->evaluation.question;
    }
    if (arguments == NULL) {
        return selecting->doubt;
    }
    return arguments->missing_count > 0   ? arguments->missing[0].question
           : arguments->invalid_count > 0 ? arguments->invalid[0].question
                                          : selecting->doubt;
}

bool selecting_is_sure(const struct selecting *selecting) {
    const struct arguments *arguments = selecting_open(selecting);
    bool complete = selecting->given != NULL || (arguments != NULL && arguments->complete);
    return selecting_chosen(selecting) != NULL && complete && selecting->doubt == NULL;
}

const struct values *selecting_values(const struct selecting *selecting) {
    return selecting->own != NULL ? selecting->own : selecting->asked.values;
}

int selecting_fill(const struct selecting *selecting, const struct shortlisted *found,
                   struct arguments **ret, struct toolrack_error *err) {
    const struct profile *profile = selecting->profiles[found - selecting->shortlist.items];
    const struct arguments_tool tool = {.name = toolrack_tool_name(found->tool),
                                        .description = toolrack_tool_description(found->tool),
                                        .parameters = profile_schema(profile),
                                        .read = profile_parameters(profile)};
    return arguments_fill(selecting_values(selecting), &tool, ret, err);
}

void selecting_finish(struct selecting *selecting) {
    yyjson_doc_free(selecting->assisted.said);
    arguments_destroy(selecting->arguments);
    values_destroy(selecting->own);
    free(selecting->own_text);
    free(selecting->doubt);
    buf_finish(&selecting->unsaid);
    evaluation_finish(&selecting->evaluation);
    for (size_t i = 0; selecting->profiles != NULL && i < selecting->shortlist.count; i++) {
        profile_unref(selecting->profiles[i]);
    }
    free(selecting->profiles);
    shortlist_finish(&selecting->shortlist);
    words_finish(&selecting->words);
    words_finish(&selecting->alone);
    asked_finish(&selecting->asked);
}
