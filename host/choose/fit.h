/* fit.h - how well the texts of one tool fit a text, word by word: a part of step 4.
 *
 * Step 3 ranks tools by words that few tools have; these measures need no other tools, so that they
 * mean the same in a registry of three tools and of sixty thousand. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yyjson.h>

#include "base/error.h"
#include "choose/deed.h"
#include "choose/label.h"
#include "choose/orders.h"
#include "choose/refused.h"
#include "choose/tool-words.h"

/* Words of a text that are compared, and words for each that mean the same. */
#define FIT_TERMS_MAX  96u
#define FIT_OTHERS_MAX 24u

/* Scenes and intents of a text and of a tool that are compared. */
#define FIT_LABELS_MAX 5u

struct fit_text;
struct scenes;
struct values;

/** What is compared with tools; all is borrowed until fit_text_destroy(). */
struct fit_wish {
    const char *text;
    size_t length;
    size_t said;               /**< how many bytes of it were said (wording.h); 0: all */
    const struct words *words; /**< of the text */
    const struct label *scene; /**< what scene_find() found */
    size_t scene_count;
    const struct label *intent; /**< what intent_find() found */
    size_t intent_count;
    /** The wish that is open, where it stands for itself in a conversation; else NULL. A tool is
     * compared with that too, and what fits better counts. */
    const struct fit_wish *alone;
    const struct values *values;   /**< of the text; NULL: not known */
    bool none;                     /**< a person said of the text that no tool is right */
    const struct refused *refused; /**< set by evaluate(); NULL: nothing is refused */
};

/** Prepare a text for fit_measure().
 * @param ret  to be released with fit_text_destroy()
 * @return 0; TOOLRACK_E_NO_MEMORY. [any-thread] */
int fit_text_create(const struct fit_wish *wish, struct fit_text **ret, struct toolrack_error *err);
/** NULL is ignored. [any-thread] */
void fit_text_destroy(struct fit_text *fit);

/** The measures. X(member), each from 0 to 1:
 *
 *   shared    the weight of the text's words that the tool has: x / (x + 2)
 *   objects   of the text's words that are no verbs, by weight: those that the tool has
 *   name      of the words of the tool's name and title: those that the text has
 *   purpose   of the words of the tool's first sentence: those that the text has
 *   scene     the agreement of the scenes
 *   intent    the agreement of the intents
 *   head      whether the tool has the first thing that the text names behind a verb */
#define FIT_MEASURES(X) \
    X(shared)           \
    X(objects)          \
    X(name)             \
    X(purpose)          \
    X(scene)            \
    X(intent)           \
    X(head)

struct fit {
#define FIT_MEMBER(name) double name;
    FIT_MEASURES(FIT_MEMBER)
#undef FIT_MEMBER
};

/** Weight at which `shared` is one half. */
#define FIT_HALF_WEIGHT 2.0

/** What is measured of a tool: its words, what it is about, and what it does. Nothing of it
 * changes, and nothing of it is borrowed except the ids of added scenes. */
struct fit_tool;

/** Read the texts of a tool, borrowed during the call.
 * @param parameters  its JSON Schema; NULL: it takes none
 * @param scenes      NULL: only those of the host; borrowed until fit_tool_destroy()
 * @param ret         to be released with fit_tool_destroy()
 * @return 0; TOOLRACK_E_NO_MEMORY. [any-thread] */
int fit_tool_create(const struct index_document *texts, yyjson_val *parameters,
                    const struct scenes *scenes, struct fit_tool **ret, struct toolrack_error *err);
/** NULL is ignored. [any-thread] */
void fit_tool_destroy(struct fit_tool *tool);
/** The bytes that it takes. [any-thread] */
size_t fit_tool_size(const struct fit_tool *tool);

/** The id of what it does most certainly; NULL: that is not known. [any-thread] */
const char *fit_tool_intent(const struct fit_tool *tool);

/** The verbs by which it says what it does, of its description and of its name; 0 to 2 of them.
 * [any-thread] */
size_t fit_tool_verbs(const struct fit_tool *tool, const struct orders_verb **ret);

/** Whether the name or the title of a tool has a word. `tool` is a struct fit_tool. [any-thread] */
bool fit_tool_is_named(const void *tool, const char *stem, size_t length);

/** What it does where that has an opposite, and whether it changes something. [any-thread] */
const struct deeds_done *fit_tool_deeds(const struct fit_tool *tool);
bool fit_tool_changes(const struct fit_tool *tool);

/** Whether the texts of a tool have these words of a text, or what the lexicons say means the same.
 * [any-thread] */
bool fit_tool_explains(const struct fit_tool *tool, const struct words *words, size_t at,
                       size_t count);

/** Whether a tool is about one of these scenes, which were read with the same table; if not,
 * whether it is certain that it is about something else. */
enum fit_about { FIT_ABOUT_IT, FIT_ABOUT_ANYTHING, FIT_ABOUT_ELSE };
enum fit_about fit_tool_about(const struct fit_tool *tool, const struct label *scenes,
                              size_t count);

/** Measure one tool, whose scenes were read with those of the wish. [any-thread] */
void fit_measure(const struct fit_text *fit, const struct fit_tool *tool, struct fit *ret);
