#include "choose/explain.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json-write.h"
#include "base/text.h"
#include "choose/author.h"
#include "choose/inside.h"
#include "choose/outcome.h"
#include "choose/secret-form.h"
#include "choose/undone.h"

/* Most characters of a quoted text, tools that are named, and words that are quoted of each. */
#define QUOTE_WIDTH     48u
#define NAMED_TOOLS_MAX 3u
#define WORDS_MAX_SHOWN 4u

/* Bytes of a text in which as many characters as are quoted must stand. */
#define QUOTED_MAX 4096u

/* Bytes in which secrets are masked before the text is cut: a part of one would not be found. */
#define MASKED_MAX (4u * QUOTED_MAX)

static void add_quoted(struct buf *out, const char *text, size_t length) {
    CLEANUP(buf_finish) struct buf line = BUF_INIT;
    size_t masked_length = 0;
    CLEANUP(freep)
    char *masked =
            secret_form_mask(text, length < MASKED_MAX ? length : MASKED_MAX, &masked_length);
    if (masked == NULL) {
        out->failed = true;
        return;
    }
    text_add_line(&line, masked, masked_length < QUOTED_MAX ? masked_length : QUOTED_MAX);
    buf_add_char(out, '"');
    text_add_cut(out, line.data != NULL ? line.data : "", line.length, QUOTE_WIDTH);
    buf_add_char(out, '"');
    out->failed = out->failed || line.failed;
}

/* A part of the text, or what stands for words that were added. */
static void add_part(struct buf *out, const struct wording *wording, size_t start, size_t end) {
    wording_place(wording, &start, &end);
    add_quoted(out, wording->text + start, end - start);
}

/* ------------------------------------------------------------------------- scene and intent */

/* Whether a reason is the same part of the text as one before it. */
static bool is_said_before(const struct wording *wording, const struct label *label, size_t index) {
    size_t start = label->reasons[index].start;
    size_t end = label->reasons[index].end;
    wording_place(wording, &start, &end);
    for (size_t i = 0; i < index; i++) {
        size_t other_start = label->reasons[i].start;
        size_t other_end = label->reasons[i].end;
        wording_place(wording, &other_start, &other_end);
        if (other_start == start && other_end == end) {
            return true;
        }
    }
    return false;
}

static void explain_labels(const struct selecting *selecting, const struct label *labels,
                           size_t count, const char *nothing, struct buf *out) {
    const struct wording *wording = &selecting->asked.wording;
    if (count == 0) {
        buf_printf(out, "   %s\n", nothing);
        return;
    }
    const struct label *best = &labels[0];
    buf_printf(out, "   %s (%s), %.2f", best->id, best->name_zh, outcome_round(best->score));
    const char *before = ", because the text says ";
    for (size_t i = 0; i < best->reason_count; i++) {
        const struct label_reason *reason = &best->reasons[i];
        if (!is_said_before(wording, best, i)) {
            buf_add_text(out, before);
            add_part(out, wording, reason->start, reason->end);
            before = ", ";
        }
    }
    buf_add_text(out, ".\n");
    for (size_t i = 1; i < count; i++) {
        buf_printf(out, "%s%s (%s) %.2f%s", i == 1 ? "   Less so: " : ", ", labels[i].id,
                   labels[i].name_zh, outcome_round(labels[i].score), i + 1 == count ? ".\n" : "");
    }
}

/* The tools that are about something else. */
static void explain_narrowed(const struct selecting *selecting, struct buf *out) {
    const struct shortlist *shortlist = &selecting->shortlist;
    size_t named = 0;
    buf_printf(
            out,
            "   Of %zu tools that match, %zu %s about something else and match%s less than half as "
            "well as the best: left out",
            shortlist->count, selecting->left_out, selecting->left_out == 1 ? "is" : "are",
            selecting->left_out == 1 ? "es" : "");
    for (size_t i = 0; i < shortlist->count && named < NAMED_TOOLS_MAX; i++) {
        if (shortlist->items[i].left_out) {
            buf_printf(out, "%s%s", named == 0 ? " " : ", ",
                       toolrack_tool_name(shortlist->items[i].tool));
            named++;
        }
    }
    buf_add_text(out, named < selecting->left_out ? " and others.\n" : ".\n");
}

void explain_scene(const struct selecting *selecting, struct buf *out) {
    explain_labels(selecting, selecting->scenes, selecting->scene_count,
                   "No word says what it is about: tools of each scene are candidates.", out);
    if (selecting->left_out > 0) {
        explain_narrowed(selecting, out);
    }
}

void explain_intent(const struct selecting *selecting, struct buf *out) {
    explain_labels(selecting, selecting->intents, selecting->intent_count,
                   "No word says what is to be done.", out);
    if (selecting->steps > 1) {
        buf_printf(out, "   It wants %u things done; the tool is for the one that fits best.\n",
                   selecting->steps);
    }
}

/* ------------------------------------------------------------------------------------ match */

static void explain_reason(const struct match_reason *reason, const struct wording *wording,
                           struct buf *out) {
    switch (reason->relation) {
    case MATCH_HISTORY: buf_add_text(out, "earlier texts"); return;
    case MATCH_VECTOR: buf_add_text(out, "its vector"); return;
    case MATCH_SAME:
    case MATCH_SYNONYM:
    case MATCH_TRANSLATION: break;
    }
    add_part(out, wording, reason->start, reason->end);
    if (reason->relation != MATCH_SAME) {
        buf_add_text(out, reason->relation == MATCH_SYNONYM ? " (like " : " (translated ");
        add_quoted(out, reason->word, strlen(reason->word));
        buf_add_char(out, ')');
    }
    buf_printf(out, " in its %s", index_field_name(reason->field));
}

void explain_match(const struct selecting *selecting, struct buf *out) {
    const struct shortlist *shortlist = &selecting->shortlist;
    if (shortlist->count == 0) {
        buf_add_text(out, "   No tool that can run has a word of the text.\n");
        return;
    }
    buf_printf(out, "   %zu tool%s ha%s words of the text%s%s.\n", shortlist->count,
               text_plural(shortlist->count), shortlist->count == 1 ? "s" : "ve",
               shortlist->embedded.ranked > 0 ? ", or a vector near its own" : "",
               shortlist->count >= SELECT_CANDIDATES_MAX ? " (the best of them)" : "");
    for (size_t i = 0; i < shortlist->count && i < NAMED_TOOLS_MAX; i++) {
        const struct shortlisted *found = &shortlist->items[i];
        buf_printf(out, "   %s %.2f:", toolrack_tool_name(found->tool),
                   outcome_round(found->hit.score));
        for (size_t j = 0; j < found->hit.reason_count && j < WORDS_MAX_SHOWN; j++) {
            buf_add_text(out, j == 0 ? " " : ", ");
            explain_reason(&found->hit.reasons[j], &selecting->asked.wording, out);
        }
        buf_printf(out, "%s.\n", found->whitelisted ? "; it is on the whitelist" : "");
    }
}

/* --------------------------------------------------------------------------------- evaluate */

/* Why a tool is never chosen. */
static const char *const outs[] = {
        [EVALUATED_IN] = "",
        [EVALUATED_REFUSED] = "; the text says not to do this",
        [EVALUATED_OPPOSITE] = "; it does the opposite of what the text wants",
        [EVALUATED_CHANGES] = "; it changes something, and the text wants nothing changed",
};

/* What the score of a candidate is made of. */
static void explain_candidate(const struct selecting *selecting, const struct evaluated *evaluated,
                              struct buf *out) {
    const struct shortlisted *found = &selecting->shortlist.items[evaluated->index];
    const struct store_record *record = &found->record;
    buf_printf(out, "   %s %.2f: function %.2f, parameters %.2f", toolrack_tool_name(found->tool),
               evaluated->score, outcome_round(evaluated->function),
               outcome_round(evaluated->parameters));
    if (evaluated->arguments.required > 0) {
        buf_printf(out, " (the text has %u of %u that are required)", evaluated->arguments.found,
                   evaluated->arguments.required);
    }
    buf_printf(out, ", cost %.2f, success %.2f", outcome_round(evaluated->cost),
               outcome_round(evaluated->success));
    if (record->calls > 0) {
        buf_printf(out, " (%llu of %llu calls gave a result)",
                   (unsigned long long)(record->calls - record->failures),
                   (unsigned long long)record->calls);
    }
    if (found->said) {
        buf_add_text(out, "; it was said to be right for this text");
    } else if (found->history < 0) {
        buf_printf(out, "; of earlier texts like it was said that it is not right (%.2f)",
                   outcome_round(-found->history));
    } else if (found->history > 0) {
        buf_printf(out, "; earlier texts like it led there (%.2f)", outcome_round(found->history));
    }
    switch (toolrack_tool_permission(found->tool)) {
    case TOOLRACK_PERMISSION_SAFE: break;
    case TOOLRACK_PERMISSION_CONFIRM: buf_add_text(out, "; a call of it asks first"); break;
    case TOOLRACK_PERMISSION_DANGEROUS:
        buf_add_text(out, found->granted ? "; it is dangerous, and granted"
                                         : "; it is dangerous and not granted: a call is refused");
    }
    buf_add_text(out, outs[evaluated->out]);
    buf_printf(out, "%s.\n", evaluated->first ? "; it is on the whitelist, so it comes first" : "");
}

static void explain_refused(const struct selecting *selecting, struct buf *out) {
    const struct refused *refused = &selecting->evaluation.refused;
    for (size_t i = 0; i < refused->count; i++) {
        const struct word *word = &selecting->words.items[refused->verbs[i]];
        buf_add_text(out, i == 0 ? "   The text says not to do " : ", ");
        add_part(out, &selecting->asked.wording, word->start, word->end);
    }
    if (refused->count > 0) {
        buf_add_text(out, ": a tool that does this is not chosen.\n");
    }
    if (refused->all) {
        buf_add_text(out, refused->count > 0 ? "   It wants nothing else done.\n"
                                             : "   The last answer takes the wish back.\n");
    }
}

void explain_evaluate(const struct selecting *selecting, struct buf *out) {
    const struct evaluation *evaluation = &selecting->evaluation;
    if (selecting->shortlist.none) {
        buf_add_text(out, "   A person said that no tool is right for this text.\n");
    }
    if (evaluation->count == 0) {
        buf_add_text(out, "   There is no candidate.\n");
        return;
    }
    for (size_t i = 0; i < evaluation->count && i < NAMED_TOOLS_MAX; i++) {
        explain_candidate(selecting, &evaluation->items[i], out);
    }
    explain_refused(selecting, out);
    if (evaluation->asks) {
        buf_add_text(out, "   It asks or tells, and wants nothing changed.\n");
    }
    if (evaluation->open) {
        const struct shortlisted *second = &selecting->shortlist.items[evaluation->items[1].index];
        buf_printf(out, "   The text does not say what is to be done, and %s fits as well.\n",
                   toolrack_tool_name(second->tool));
    }
    const char *best = toolrack_tool_name(selecting_best(selecting)->tool);
    double confidence = outcome_round(evaluation->confidence);
    if (evaluation->abstained) {
        buf_printf(out,
                   "   That it is %s is %.2f certain. A tool is chosen from %.2f on: none is.\n",
                   best, confidence, EVALUATE_THRESHOLD);
    } else {
        buf_printf(out, "   That it is %s is %.2f certain, and %.2f is enough.\n", best, confidence,
                   EVALUATE_THRESHOLD);
    }
}

/* -------------------------------------------------------------------------------- arguments */

/* The name of a parameter, which an author gave. */
static void add_parameter(struct buf *out, const char *pointer) {
    const char *name = outcome_parameter(pointer);
    buf_add_text(out, "   ");
    author_add_name(out, name, strlen(name), false);
}

static void explain_value(const struct selecting *selecting, const struct arguments_value *value,
                          struct buf *out) {
    add_parameter(out, value->pointer);
    buf_add_text(out, " = ");
    text_add_line(out, value->json, strlen(value->json));
    for (size_t i = 0; i < value->span_count; i++) {
        const struct arguments_span *span = &value->spans[i];
        buf_add_text(out, i == 0 ? ", from " : " and ");
        add_quoted(out, selecting->asked.options.text + span->start, span->end - span->start);
    }
    if (value->origin != NULL) {
        buf_add_text(out, ", at ");
        text_add_line(out, value->origin, strlen(value->origin));
        buf_add_text(out, " of the results");
    }
    if (value->reason != NULL && value->reason[0] != '\0') {
        buf_add_text(out, ": ");
        text_add_line(out, value->reason, strlen(value->reason));
    }
    buf_add_text(out, ".\n");
}

void explain_arguments(const struct selecting *selecting, struct buf *out) {
    const struct arguments *arguments = selecting->arguments;
    if (selecting->given != NULL) {
        buf_add_text(out, "   ");
        json_add_value(out, selecting->given);
        buf_add_text(out, "\n");
        return;
    }
    if (arguments == NULL) {
        buf_add_text(out, "   There is no tool whose arguments could be found.\n");
        return;
    }
    if (arguments->value_count + arguments->missing_count + arguments->invalid_count == 0) {
        buf_add_text(out, "   The call needs none, and the text gives none.\n");
    }
    for (size_t i = 0; i < arguments->value_count; i++) {
        explain_value(selecting, &arguments->values[i], out);
    }
    for (size_t i = 0; i < arguments->missing_count; i++) {
        const struct arguments_missing *missing = &arguments->missing[i];
        add_parameter(out, missing->pointer);
        buf_add_text(out, " is missing: ");
        text_add_line(out, missing->question, strlen(missing->question));
        buf_add_char(out, '\n');
    }
    for (size_t i = 0; i < arguments->invalid_count; i++) {
        const struct arguments_invalid *invalid = &arguments->invalid[i];
        add_parameter(out, invalid->pointer);
        buf_add_text(out, " cannot be ");
        text_add_line(out, invalid->json, strlen(invalid->json));
        buf_add_text(out, ": ");
        text_add_line(out, invalid->reason, strlen(invalid->reason));
        buf_add_char(out, '\n');
    }
}

/* What the text wants besides, and one call does not do. */
static void explain_undone(const struct selecting *selecting, struct buf *out) {
    bool any = false;
    for (size_t w = 0; w < selecting->orders.count; w++) {
        size_t start;
        size_t end;
        if (!selecting->done[w]) {
            undone_place(selecting, &selecting->orders.items[w], &start, &end);
            buf_add_text(out, any ? ", " : " Left undone: ");
            add_quoted(out, selecting->asked.options.text + start, end - start);
            any = true;
        }
    }
    buf_add_text(out, any ? "." : "");
}

/* --------------------------------------------------------------------------- first and last */

void explain_begin(const struct selecting *selecting, struct buf *out) {
    const struct asked *asked = &selecting->asked;
    add_quoted(out, asked->options.text, asked->length);
    buf_add_text(out, "\n\n");
}

/* What an embeddings model was sent, and whether its vectors counted. */
static void explain_embedded(const struct selecting *selecting, struct buf *out) {
    const struct embedded *embedded = &selecting->shortlist.embedded;
    const struct embed *embed = &selecting->choose->options.embed;
    if (embedded->query || embedded->tools > 0) {
        buf_printf(out, "\n%s", embedded->query ? "The text" : "");
        if (embedded->tools > 0) {
            buf_printf(out, "%sames, titles and descriptions of %zu tool%s",
                       embedded->query ? ", and n" : "N", embedded->tools,
                       text_plural(embedded->tools));
        }
        buf_printf(out, "%s sent to ", embedded->query && embedded->tools == 0 ? " was" : ", were");
        text_add_line(out, embed->endpoint, strlen(embed->endpoint));
        buf_add_text(out, " (embeddings of the model ");
        text_add_line(out, embed->model, strlen(embed->model));
        buf_add_text(out, ").");
    }
    if (embedded->ranked > 0) {
        buf_printf(out, "\nVectors ranked %zu tool%s, beside words%s.", embedded->ranked,
                   text_plural(embedded->ranked),
                   embedded->complete ? "" : "; other tools have no vector yet");
    } else if (embedded->asked) {
        buf_add_text(out, "\nWords alone ranked the tools.");
    }
    if (embedded->problem.code != 0) {
        buf_add_text(out, " Not all vectors came: ");
        text_add_line(out, embedded->problem.message, strlen(embedded->problem.message));
    }
}

static void explain_sent(const struct selecting *selecting, struct buf *out) {
    const struct assisted *assisted = &selecting->assisted;
    const struct assist *assist = &selecting->choose->options.assist;
    const struct embedded *embedded = &selecting->shortlist.embedded;
    explain_embedded(selecting, out);
    if (!assisted->asked) {
        buf_add_text(out, embedded->query || embedded->tools > 0
                                  ? "\nRules decided; nothing else was sent anywhere.\n"
                                  : "\nRules decided; nothing was sent anywhere.\n");
        return;
    }
    if (!assisted->has_sent) {
        buf_add_text(out, "\nRules decided; nothing was sent: ");
        text_add_line(out, assisted->problem.message, strlen(assisted->problem.message));
        buf_add_text(out, "\n");
        return;
    }
    buf_printf(out,
               "\nThe text, and names, descriptions and schemas of %zu candidate%s, were sent to ",
               assisted->candidates, text_plural(assisted->candidates));
    text_add_line(out, assist->endpoint, strlen(assist->endpoint));
    buf_add_text(out, " (model ");
    text_add_line(out, assist->model, strlen(assist->model));
    buf_add_text(out, assisted->taken != 0          ? "). What it decided is said above."
                      : assisted->problem.code != 0 ? "). The rules decided:"
                                                    : "). Nothing of its answer could be used: "
                                                      "the rules decided.");
    if (assisted->problem.code != 0) {
        buf_add_text(out, assisted->taken != 0 ? " But " : " ");
        text_add_line(out, assisted->problem.message, strlen(assisted->problem.message));
    }
    buf_add_text(out, "\n");
}

void explain_end(const struct selecting *selecting, struct buf *out) {
    const struct shortlisted *chosen = selecting_chosen(selecting);
    const struct arguments *arguments = selecting->arguments;
    if (chosen == NULL) {
        buf_add_text(out, "\nSo no tool is chosen.");
    } else {
        buf_printf(out, "\nSo it is %s", toolrack_tool_name(chosen->tool));
        if (selecting->given != NULL) {
            buf_add_text(out, " with ");
            json_add_value(out, selecting->given);
        } else if (arguments != NULL) {
            buf_add_text(out, " with ");
            text_add_line(out, arguments->json, arguments->json_length);
        }
        buf_add_text(out, selecting->doubt != NULL ? ", which is not sure enough for a call."
                          : selecting->given != NULL || arguments == NULL || arguments->complete
                                  ? "."
                                  : ", which is not enough for a call.");
    }
    if (chosen != NULL) {
        explain_undone(selecting, out);
    }
    const char *question = selecting_question(selecting);
    if (question != NULL) {
        buf_add_text(out, " To be asked: ");
        text_add_line(out, question, strlen(question));
    }
    explain_sent(selecting, out);
}
