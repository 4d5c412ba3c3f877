#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "choose/assist.h"
#include "choose/explain.h"
#include "choose/inside.h"
#include "choose/intent.h"
#include "choose/kept-text.h"
#include "choose/narrow.h"
#include "choose/outcome.h"
#include "choose/past.h"
#include "choose/profiles.h"
#include "choose/question.h"
#include "choose/scene.h"
#include "choose/surely.h"
#include "choose/turns.h"
#include "choose/undone.h"
#include "choose/unsaid.h"
#include "choose/values-parts.h"
#include "choose/which.h"
#include "registry/document.h"
#include "store/selections.h"

#define LIMIT_DEFAULT 5u

/* How certain a tool is of which a person said that it is right for a text. */
#define SAID_CONFIDENCE 0.95

CLEANUP_DEFINE(yyjson_mut_doc, yyjson_mut_doc_free)

/* ------------------------------------------------------------------------ 1, 2: what is meant */

static int step_scene(struct selecting *selecting, struct toolrack_error *err) {
    const struct asked *asked = &selecting->asked;
    (void)err;
    selecting->scene_count =
            scene_find(asked->wording.text, asked->wording.length, &selecting->words,
                       selecting->choose->scenes, selecting->scenes, SELECT_LABELS_MAX);
    return 0;
}

static void show_scene(const struct selecting *selecting, yyjson_mut_doc *doc,
                       yyjson_mut_val *object) {
    outcome_add_labels(doc, object, selecting->scenes, selecting->scene_count,
                       &selecting->asked.wording);
    yyjson_mut_val *narrowed = yyjson_mut_obj_add_obj(doc, object, "narrowed");
    const size_t matched = selecting->shortlist.count;
    (void)yyjson_mut_obj_add_uint(doc, narrowed, "from", matched);
    (void)yyjson_mut_obj_add_uint(doc, narrowed, "to", matched - selecting->left_out);
}

static int step_intent(struct selecting *selecting, struct toolrack_error *err) {
    (void)err;
    selecting->intent_count = intent_find(&selecting->words, selecting->intents, SELECT_LABELS_MAX);
    selecting->steps = intent_steps(&selecting->words);
    return 0;
}

static void show_intent(const struct selecting *selecting, yyjson_mut_doc *doc,
                        yyjson_mut_val *object) {
    outcome_add_labels(doc, object, selecting->intents, selecting->intent_count,
                       &selecting->asked.wording);
    (void)yyjson_mut_obj_add_uint(doc, object, "steps", selecting->steps);
}

/* ------------------------------------------------------------------------------------ 3: match */

static int step_match(struct selecting *selecting, struct toolrack_error *err) {
    const struct asked *asked = &selecting->asked;
    return shortlist_find(selecting->choose,
                          &(struct shortlist_query){.text = asked->wording.text,
                                                    .length = asked->wording.length,
                                                    .values = asked->values,
                                                    .said = asked->wording.said,
                                                    .whole = asked->options.text,
                                                    .whole_length = asked->length,
                                                    .tools = asked->options.tools,
                                                    .tells_held = true,
                                                    .keeps_named = true,
                                                    .shows = asked->options.shows,
                                                    .user = asked->options.user,
                                                    .principal = asked->options.principal,
                                                    .limit = SELECT_CANDIDATES_MAX,
                                                    .now_ms = clock_wall_ms()},
                          &selecting->shortlist, err);
}

/* The model is asked with the candidates of the rules. */
static int step_match_and_ask(struct selecting *selecting, struct toolrack_error *err) {
    int code = step_match(selecting, err);
    return code < 0 ? code : assist_ask(selecting, err);
}

static void show_match(const struct selecting *selecting, yyjson_mut_doc *doc,
                       yyjson_mut_val *object) {
    const struct shortlist *shortlist = &selecting->shortlist;
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, object, "tools");
    for (size_t i = 0; i < shortlist->count && i < selecting->asked.limit; i++) {
        const struct shortlisted *found = &shortlist->items[i];
        yyjson_mut_val *row = yyjson_mut_arr_add_obj(doc, list);
        document_add_text(doc, row, "tool", toolrack_tool_name(found->tool));
        outcome_add_number(doc, row, "score", found->hit.score);
        outcome_add_number(doc, row, "coverage", found->hit.coverage);
        outcome_add_match_reasons(doc, row, &found->hit, &selecting->asked.wording);
    }
}

/* --------------------------------------------------------------------------------- 4: evaluate */

static struct evaluate_tool describe(const struct shortlisted *found,
                                     const struct profile *profile) {
    const struct toolrack_tool *tool = found->tool;
    return (struct evaluate_tool){.texts = indexed_document(tool),
                                  .profile = profile,
                                  .match = &found->hit,
                                  .history = found->history,
                                  .permission = toolrack_tool_permission(tool),
                                  .granted = found->granted,
                                  .deadline_ms = toolrack_tool_deadline_ms(tool),
                                  .mean_ns = found->record.mean_ns,
                                  .calls = found->record.calls,
                                  .failures = found->record.failures,
                                  .good = found->record.good,
                                  .bad = found->record.bad,
                                  .priority = toolrack_tool_priority(tool),
                                  .whitelisted = found->whitelisted,
                                  .reads = toolrack_tool_read_only(tool),
                                  .left_out = found->left_out};
}

static int read_candidates(struct selecting *selecting, struct toolrack_error *err) {
    const struct shortlist *shortlist = &selecting->shortlist;
    int code = 0;
    selecting->profiles = calloc(shortlist->count + 1, sizeof(struct profile *));
    if (selecting->profiles == NULL) {
        return error_oom(err);
    }
    for (size_t i = 0; code == 0 && i < shortlist->count; i++) {
        const struct toolrack_tool *tool = shortlist->items[i].tool;
        const struct index_document texts = indexed_document(tool);
        code = profiles_get(selecting->choose->profiles, tool->reg->uid, &texts,
                            &selecting->profiles[i], err);
    }
    return code;
}

/* What a person said of this very text is certain enough. */
static void take_said(struct selecting *selecting) {
    struct evaluation *evaluation = &selecting->evaluation;
    for (size_t i = 0; i < evaluation->count; i++) {
        struct evaluated said = evaluation->items[i];
        if (selecting->shortlist.items[said.index].said) {
            said.score = said.score > SAID_CONFIDENCE ? said.score : SAID_CONFIDENCE;
            memmove(&evaluation->items[1], &evaluation->items[0], i * sizeof said);
            evaluation->items[0] = said;
            evaluation->confidence = said.score;
            evaluation->abstained = false;
            evaluation->open = false;
            free(STEAL(evaluation->question));
            return;
        }
    }
}

/* Where a tool that cannot run fits far better than the best that can, none is chosen in its place,
 * unless a person said of this text that it is right. */
static void give_way(struct selecting *selecting) {
    struct evaluation *evaluation = &selecting->evaluation;
    const struct evaluated *best = evaluation->count > 0 ? &evaluation->items[0] : NULL;
    if (best != NULL && !best->first && !selecting->shortlist.items[best->index].said) {
        evaluation->confidence = outcome_round(evaluation->confidence / 2);
        evaluation->abstained = true;
    }
}

static int step_evaluate(struct selecting *selecting, struct toolrack_error *err) {
    const struct asked *asked = &selecting->asked;
    const struct shortlist *shortlist = &selecting->shortlist;
    const size_t count = shortlist->count;
    struct label intents[SELECT_LABELS_MAX];
    const struct fit_wish alone = {
            .text = asked->wording.text,
            .length = asked->wording.length,
            .words = &selecting->alone,
            .values = asked->values,
            .scene = selecting->scenes,
            .scene_count = selecting->scene_count,
            .intent = intents,
            .intent_count = intent_find(&selecting->alone, intents, SELECT_LABELS_MAX)};
    const struct fit_wish wish = {.text = asked->wording.text,
                                  .length = asked->wording.length,
                                  .said = asked->wording.said,
                                  .words = &selecting->words,
                                  .none = shortlist->none,
                                  .alone = selecting->alone.count > 0 ? &alone : NULL,
                                  .scene = selecting->scenes,
                                  .scene_count = selecting->scene_count,
                                  .intent = selecting->intents,
                                  .intent_count = selecting->intent_count};
    CLEANUP(freep) struct evaluate_tool *tools = calloc(count + 1, sizeof *tools);
    int code = read_candidates(selecting, err);
    if (code < 0 || tools == NULL) {
        return code < 0 ? code : error_oom(err);
    }
    narrow(selecting);
    for (size_t i = 0; i < count; i++) {
        tools[i] = describe(&shortlist->items[i], selecting->profiles[i]);
    }
    code = evaluate(&wish, asked->values, tools, count, &selecting->evaluation, err);
    if (code == 0) {
        take_said(selecting);
        assist_evaluate(selecting);
    }
    if (code == 0 && shortlist->held != NULL && shortlist->held_clearly) {
        give_way(selecting);
    }
    if (code == 0 && shortlist->held != NULL && selecting_chosen(selecting) == NULL) {
        free(STEAL(selecting->evaluation.question));
        code = which_held(&wish, toolrack_tool_name(shortlist->held), shortlist->held->enabled,
                          &selecting->evaluation.question, err);
    }
    return code;
}

static void show_evaluate(const struct selecting *selecting, yyjson_mut_doc *doc,
                          yyjson_mut_val *object) {
    const struct evaluation *evaluation = &selecting->evaluation;
    yyjson_mut_val *reasons;
    CLEANUP(buf_finish) struct buf lines = BUF_INIT;
    outcome_add_number(doc, object, "confidence", evaluation->confidence);
    outcome_add_number(doc, object, "threshold", EVALUATE_THRESHOLD);
    reasons = yyjson_mut_obj_add_arr(doc, object, "reasons");
    explain_evaluate(selecting, &lines);
    for (const char *line = lines.data; line != NULL && *line != '\0';) {
        size_t length = strcspn(line, "\n");
        size_t indent = strspn(line, " ");
        (void)yyjson_mut_arr_add_strncpy(doc, reasons, line + indent, length - indent);
        line += length + (line[length] == '\n');
    }
}

/* --------------------------------------------------------------------------------- 5: arguments */

/* What a model guessed is asked about, the first of it. */
static int ask_about_unsaid(struct selecting *selecting, yyjson_val *schema,
                            struct toolrack_error *err) {
    int code = unsaid_find(selecting, selecting->given, schema, &selecting->unsaid, err);
    if (code < 0 || selecting->unsaid.length == 0) {
        return code;
    }
    const char *pointer = selecting->unsaid.data;
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    CLEANUP(freep)
    char *value = yyjson_val_write(yyjson_ptr_get(selecting->given, pointer), 0, NULL);
    question_guessed(&out, outcome_parameter(pointer), value != NULL ? value : "",
                     selecting->asked.values->chinese);
    selecting->doubt = buf_steal(&out);
    return selecting->doubt != NULL ? 0 : error_oom(err);
}

/* The registry took the schema: what is not understood of it gives no arguments. */
static int fill(struct selecting *selecting, const struct shortlisted *best,
                struct toolrack_error *err) {
    struct toolrack_error problem;
    arguments_destroy(STEAL(selecting->arguments));
    int code = selecting_fill(selecting, best, &selecting->arguments, &problem);
    if (code < 0 && code != TOOLRACK_E_INVALID) {
        toolrack_error_copy(err, &problem);
        return code;
    }
    return 0;
}

/* From the wishes that the tool is for; from the whole text, if they lack what others have. */
static int fill_own(struct selecting *selecting, const struct shortlisted *best,
                    struct toolrack_error *err) {
    int code = undone_find(selecting, best, err);
    code = code < 0 ? code : fill(selecting, best, err);
    const struct arguments *arguments = selecting->arguments;
    if (code < 0 || selecting->own == NULL ||
        (arguments != NULL && arguments->missing_count == 0)) {
        return code;
    }
    undone_forget(selecting);
    return fill(selecting, best, err);
}

/* Ask about another wish that may come before the call, or belong to it. */
static int ask_about_other(struct selecting *selecting, const struct shortlisted *best,
                           struct toolrack_error *err) {
    const struct order *wish = undone_asked(selecting, best);
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    size_t start;
    size_t end;
    if (wish == NULL || selecting->doubt != NULL) {
        return 0;
    }
    undone_place(selecting, wish, &start, &end);
    question_other_wish(&out, selecting->asked.options.text + start, end - start,
                        selecting->asked.values->chinese);
    selecting->doubt = buf_steal(&out);
    return selecting->doubt != NULL ? 0 : error_oom(err);
}

static int step_arguments(struct selecting *selecting, struct toolrack_error *err) {
    const struct shortlisted *best = selecting_best(selecting);
    if (best == NULL) {
        return 0;
    }
    int code = fill_own(selecting, best, err);
    if (code < 0) {
        return code;
    }
    yyjson_val *schema = profile_schema(selecting->profiles[best - selecting->shortlist.items]);
    selecting->given = assist_arguments(selecting, schema);
    if (selecting->given != NULL) {
        return ask_about_unsaid(selecting, schema, err);
    }
    const struct arguments *arguments = selecting->arguments;
    if (arguments == NULL || !arguments->complete || best->said) {
        return 0;
    }
    code = surely_ask(selecting, best, &selecting->doubt, err);
    return code < 0 ? code : ask_about_other(selecting, best, err);
}

static void show_arguments(const struct selecting *selecting, yyjson_mut_doc *doc,
                           yyjson_mut_val *object) {
    const struct shortlisted *best = selecting_best(selecting);
    document_add_text(doc, object, "tool", best != NULL ? toolrack_tool_name(best->tool) : NULL);
    outcome_add_arguments(doc, object, selecting->arguments, selecting->given);
    outcome_add_values(doc, object, selecting->arguments, selecting->asked.options.text);
    outcome_add_questions(doc, object, selecting_open(selecting));
}

/* ----------------------------------------------------------------------------------- the whole */

/* One step. */
struct step {
    const char *name;
    const char *title; /* for people */
    unsigned assist;   /* its bit, ASSIST_...; 0: no model is asked */
    int (*run)(struct selecting *selecting, struct toolrack_error *err);
    /* Add what came of it to an object, and as lines for people. */
    void (*show)(const struct selecting *selecting, yyjson_mut_doc *doc, yyjson_mut_val *object);
    void (*explain)(const struct selecting *selecting, struct buf *out);
};

static const struct step steps[] = {
        {"scene", "What it is about", ASSIST_SCENE, step_scene, show_scene, explain_scene},
        {"intent", "What is to be done", ASSIST_INTENT, step_intent, show_intent, explain_intent},
        {"match", "Which tools say that they do this", 0, step_match_and_ask, show_match,
         explain_match},
        {"evaluate", "Which of them fits best", ASSIST_EVALUATE, step_evaluate, show_evaluate,
         explain_evaluate},
        {"arguments", "With which arguments", ASSIST_ARGUMENTS, step_arguments, show_arguments,
         explain_arguments},
};

static void add_arguments(yyjson_mut_doc *doc, yyjson_mut_val *root,
                          const struct selecting *selecting) {
    bool is_chosen = selecting_chosen(selecting) != NULL;
    const struct arguments *arguments = is_chosen ? selecting_open(selecting) : NULL;
    yyjson_val *given = is_chosen ? selecting->given : NULL;
    outcome_add_arguments(doc, root, arguments, given);
    outcome_add_assumed(doc, root, arguments, given != NULL ? &selecting->unsaid : NULL);
    (void)yyjson_mut_obj_add_bool(doc, root, "ready",
                                  selecting_is_sure(selecting) &&
                                          selecting_chosen(selecting)->granted);
}

static void add_candidates(yyjson_mut_doc *doc, yyjson_mut_val *root,
                           const struct selecting *selecting) {
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, root, "candidates");
    const struct evaluation *evaluation = &selecting->evaluation;
    for (size_t i = 0; i < evaluation->count && i < selecting->asked.limit; i++) {
        const struct evaluated *evaluated = &evaluation->items[i];
        const struct shortlisted *found = &selecting->shortlist.items[evaluated->index];
        yyjson_mut_val *row = yyjson_mut_arr_add_obj(doc, list);
        document_add_text(doc, row, "tool", toolrack_tool_name(found->tool));
        document_add_text(doc, row, "version", toolrack_tool_version(found->tool));
        outcome_add_number(doc, row, "score", evaluated->score);
        yyjson_mut_val *scores = yyjson_mut_obj_add_obj(doc, row, "scores");
        outcome_add_number(doc, scores, "function", evaluated->function);
        outcome_add_number(doc, scores, "parameters", evaluated->parameters);
        outcome_add_number(doc, scores, "cost", evaluated->cost);
        outcome_add_number(doc, scores, "success", evaluated->success);
        outcome_add_permission(doc, row, found);
        outcome_add_match_reasons(doc, row, &found->hit, &selecting->asked.wording);
    }
}

static bool is_by_model(const struct selecting *selecting, const struct step *step) {
    return (selecting->assisted.taken & step->assist) != 0;
}

static const char *decided_by(const struct selecting *selecting, const struct step *step) {
    return is_by_model(selecting, step) ? "model" : "rules";
}

/* What was sent where, and what held of the answer. */
static void add_model(yyjson_mut_doc *doc, yyjson_mut_val *root,
                      const struct selecting *selecting) {
    const struct assisted *assisted = &selecting->assisted;
    if (!assisted->asked) {
        (void)yyjson_mut_obj_add_null(doc, root, "model");
        return;
    }
    yyjson_mut_val *model = yyjson_mut_obj_add_obj(doc, root, "model");
    document_add_text(doc, model, "endpoint", selecting->choose->options.assist.endpoint);
    document_add_text(doc, model, "name", selecting->choose->options.assist.model);
    (void)yyjson_mut_obj_add_uint(doc, model, "candidates", assisted->candidates);
    document_add_text(doc, model, "problem",
                      assisted->problem.code != 0 ? assisted->problem.message : NULL);
}

static int add_explanation(yyjson_mut_doc *doc, yyjson_mut_val *root,
                           const struct selecting *selecting, struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    CLEANUP(buf_finish) struct buf safe = BUF_INIT;
    explain_begin(selecting, &out);
    for (size_t i = 0; i < ARRAY_LENGTH(steps); i++) {
        buf_printf(&out, "%zu. %s (%s)\n", i + 1, steps[i].title, steps[i].name);
        steps[i].explain(selecting, &out);
        if (is_by_model(selecting, &steps[i])) {
            buf_add_text(&out, "   A model said so.\n");
        }
    }
    explain_end(selecting, &out);
    kept_text_mask(selecting, &out);
    if (!out.failed) { /* whatever a tool or a model calls its parts */
        text_add_escaped(&safe, out.data, strlen(out.data));
    }
    if (out.failed || safe.failed) {
        return error_oom(err);
    }
    document_add_text(doc, root, "explanation", safe.data);
    return 0;
}

static int answer(const struct selecting *selecting, const char *id, struct toolrack_text **ret,
                  struct toolrack_error *err) {
    const struct shortlisted *chosen = selecting_chosen(selecting);
    yyjson_mut_val *root;
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = document_begin(&root);
    document_add_text(doc, root, "id", id);
    document_add_text(doc, root, "tool", chosen != NULL ? toolrack_tool_name(chosen->tool) : NULL);
    document_add_text(doc, root, "version",
                      chosen != NULL ? toolrack_tool_version(chosen->tool) : NULL);
    add_arguments(doc, root, selecting);
    outcome_add_number(doc, root, "confidence", selecting->evaluation.confidence);
    outcome_add_number(doc, root, "threshold", EVALUATE_THRESHOLD);
    (void)yyjson_mut_obj_add_bool(doc, root, "abstained", chosen == NULL);
    outcome_add_questions(doc, root, chosen != NULL ? selecting_open(selecting) : NULL);
    undone_add(doc, root, selecting, chosen != NULL);
    document_add_text(doc, root, "question", selecting_question(selecting));
    add_candidates(doc, root, selecting);
    yyjson_mut_val *shown = yyjson_mut_obj_add_obj(doc, root, "steps");
    for (size_t i = 0; i < ARRAY_LENGTH(steps); i++) {
        yyjson_mut_val *object = yyjson_mut_obj_add_obj(doc, shown, steps[i].name);
        steps[i].show(selecting, doc, object);
        (void)yyjson_mut_obj_add_str(doc, object, "by", decided_by(selecting, &steps[i]));
    }
    add_model(doc, root, selecting);
    outcome_add_embeddings(doc, root, &selecting->shortlist.embedded,
                           &selecting->choose->options.embed);
    if (selecting->asked.options.explain != 0) {
        int code = add_explanation(doc, root, selecting, err);
        if (code < 0) {
            return code;
        }
    }
    return document_end(STEAL(doc), ret, err);
}

/* Keep what was chosen. Without that the answer has no id, and is no worse; a secret is not kept.
 */
static bool keep(const struct selecting *selecting, char ret_id[STORE_SELECTION_ID_SIZE]) {
    const struct toolrack_select_options *options = &selecting->asked.options;
    const struct choose *choose = selecting->choose;
    const struct shortlisted *chosen = selecting_chosen(selecting);
    struct toolrack_error problem;
    if (options->principal == NULL) {
        return false;
    }
    CLEANUP(freep) char *text = kept_text(selecting);
    if (text == NULL) {
        return false;
    }
    const struct store_selection selection = {
            .id = ret_id,
            .principal = options->principal,
            .text = text,
            .tool = chosen != NULL ? toolrack_tool_name(chosen->tool) : "",
            .plugin = chosen != NULL ? chosen->tool->reg->plugin->identity_text : "",
            .time_ms = clock_wall_ms()};
    if (past_id(choose->past, options->principal, options->text, selecting->asked.length, ret_id,
                &problem) < 0 ||
        store_selection_put(choose->options.store, &selection, &problem) < 0) {
        log_line(choose->options.log, LOG_WARNING, "choose", "the choice is not kept: %s",
                 problem.message);
        return false;
    }
    return true;
}

/* The words of the text, and of a conversation those of a wish that stands for itself. */
static int read_words(struct selecting *selecting, struct toolrack_error *err) {
    const struct wording *wording = &selecting->asked.wording;
    struct words *alone = &selecting->alone;
    struct turns turns;
    size_t kept = 0;
    int code = words_read(wording->text, wording->length, &selecting->words, err);
    turns_read(wording->text, wording->length, &turns);
    if (code < 0 || turns.count == 0 || wording->least < TURNS_ONE) {
        return code;
    }
    code = words_read(wording->text, wording->length, alone, err);
    for (size_t i = 0; i < alone->count; i++) {
        alone->items[kept] = alone->items[i];
        kept += turns_weight(&turns, alone->items[i].start) >= wording->least;
    }
    alone->count = kept;
    return code;
}

int choose_select(const struct choose *choose, const struct toolrack_select_options *options,
                  struct toolrack_text **ret, struct toolrack_error *err) {
    OBJECT_CHECK(choose, CHOOSE_MAGIC);
    CLEANUP(selecting_finish) struct selecting selecting = {.choose = choose};
    char id[STORE_SELECTION_ID_SIZE];
    int code = asked_read(options, LIMIT_DEFAULT, &selecting.asked, err);
    if (code == 0) {
        code = read_words(&selecting, err);
    }
    for (size_t i = 0; code == 0 && i < ARRAY_LENGTH(steps); i++) {
        code = steps[i].run(&selecting, err);
    }
    return code < 0 ? code : answer(&selecting, keep(&selecting, id) ? id : NULL, ret, err);
}

int selecting_run(const struct choose *choose, const struct toolrack_select_options *options,
                  struct selecting *ret, struct toolrack_error *err) {
    static int (*const run[])(struct selecting * selecting, struct toolrack_error * err) = {
            step_scene, step_intent, step_match, step_evaluate, step_arguments};
    ret->choose = choose;
    int code = asked_read(options, LIMIT_DEFAULT, &ret->asked, err);
    if (code == 0) {
        code = read_words(ret, err);
    }
    for (size_t i = 0; code == 0 && i < ARRAY_LENGTH(run); i++) {
        code = run[i](ret, err);
    }
    return code;
}

/* ------------------------------------------------------------------------------- how it went */

static int check_id(const char *id, struct toolrack_error *err) {
    return id != NULL ? 0
                      : error_set(err, TOOLRACK_E_INVALID,
                                  "there is no id: give that of the choice, as toolrack_select() "
                                  "told it");
}

int choose_select_worked(const struct choose *choose, const char *principal, const char *id,
                         bool worked, struct toolrack_error *err) {
    OBJECT_CHECK(choose, CHOOSE_MAGIC);
    if (check_id(id, err) < 0) {
        return TOOLRACK_E_INVALID;
    }
    return store_selection_called(choose->options.store, principal, id, worked, err);
}

int choose_select_feedback(const struct choose *choose, const char *principal, const char *id,
                           const char *tool, struct toolrack_error *err) {
    OBJECT_CHECK(choose, CHOOSE_MAGIC);
    if (check_id(id, err) < 0) {
        return TOOLRACK_E_INVALID;
    }
    CLEANUP(toolrack_tool_unrefp)
    struct toolrack_tool *right =
            tool != NULL ? registry_get(choose->options.registry, tool) : NULL;
    if (tool != NULL && right == NULL) {
        return registry_not_found(choose->options.registry, tool, err);
    }
    return store_selection_correct(
            choose->options.store, principal, id, right != NULL ? toolrack_tool_name(right) : "",
            right != NULL ? right->reg->plugin->identity_text : "", clock_wall_ms(), err);
}

int choose_select_forget(const struct choose *choose, const char *principal, uint64_t *ret_count,
                         struct toolrack_error *err) {
    OBJECT_CHECK(choose, CHOOSE_MAGIC);
    return store_selections_forget(choose->options.store, principal, ret_count, err);
}
