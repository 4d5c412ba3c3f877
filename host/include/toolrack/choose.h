/* toolrack/choose.h - from a sentence to the tool that does it, with its arguments.
 *
 * What is wanted is said in English or Chinese. The host looks at it in five steps: scene, intent,
 * match (which tools say that they do this), evaluate (which of them fits best, or none well
 * enough), arguments. Each step gives reasons and numbers. Rules and word lists decide, without a
 * model: the same text, tools, history and context give the same answer, byte for byte.
 *
 * What was chosen is kept by principal, to help with later texts: toolrack_select_worked() and
 * toolrack_select_feedback() say how it went, toolrack_select_forget() removes it. See toolrack.h
 * for ownership, errors and threads. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "toolrack/error.h"

#ifdef __cplusplus
extern "C" {
#endif

struct toolrack;
struct toolrack_text;
struct toolrack_tool;

/** Most bytes of a text; of a context. */
#define TOOLRACK_SELECT_TEXT_MAX    1048576u
#define TOOLRACK_SELECT_CONTEXT_MAX 1048576u

struct toolrack_select_options {
    size_t size;      /**< sizeof(struct toolrack_select_options) */
    const char *text; /**< what is wanted; what is not UTF-8 in it is ignored; required */
    /** What the text is said in, as a JSON object; NULL is {}. Its members, each optional: now (in
     * milliseconds since 1970, or a text as in RFC 3339; without it the time of the call),
     * time_zone (an IANA name such as "Asia/Shanghai"; without it UTC, and no zone is filled in),
     * locale (such as "en-GB": the order of day and month, the decimal sign, "my currency"),
     * folder (the absolute path of "here" and "this folder"; a relative path stays relative unless
     * the parameter asks for an absolute one), results (what earlier calls gave, the newest last:
     * an array, or an object with a name for each; "that file", "the result", and a required
     * parameter with the name of a member of the last are taken from there). */
    const char *context;
    /** Whose earlier texts count, and for whom this one is kept; NULL: nothing is kept of it, and
     * only what others' texts say in sum counts. */
    const char *principal;
    uint64_t limit; /**< at most so many candidates; 0 is 5 for a choice, 10 for a search */
    /** Not 0: with the member "explanation", a text for people. */
    uint64_t explain;
    /** Only these tools, by name: NULL-terminated; NULL is all. Names that nobody has are ignored.
     */
    const char *const *tools;
    /** Whether a tool may be a candidate, beside what the host knows; NULL: each may. On the
     * caller's thread, before the function returns; must neither change tools nor search. */
    bool (*shows)(void *user, const struct toolrack_tool *tool);
    void *user;
};
#define TOOLRACK_SELECT_OPTIONS_INIT \
    { .size = sizeof(struct toolrack_select_options) }

/** Rank the tools by how well their texts (name, title, description, parameters, choices, tags,
 * category, scenarios, examples) fit a text, the best first, as a JSON array of objects: tool,
 * version, score (0 to 1), title, description, category (or null), permission ("safe", "confirm" or
 * "dangerous"), granted (whether a dangerous one may run), whitelisted, and reasons (an array of
 * objects: text, the words of the text, start and end of them in it, word and field that the tool
 * has, relation, share). Enabled tools only, of each name its default version, and
 * none that is on the blacklist, is not as it was approved, has failed or is in quarantine. A tool
 * that fits no word is left out. Whitelisted tools that fit come first. With `explain` an object
 * instead: tools, the array, and embeddings, what was sent to an embeddings model and what came of
 * it, as toolrack_select() has it; null: nothing is sent to one.
 * @return 0 with a reference, to be released by toolrack_text_unref(); TOOLRACK_E_INVALID for no
 *         text and one that is too long; TOOLRACK_E_LIMIT_EXCEEDED; TOOLRACK_E_IO;
 *         TOOLRACK_E_NO_MEMORY. [any-thread] */
TOOLRACK_API int toolrack_search(struct toolrack *host,
                                 const struct toolrack_select_options *options,
                                 struct toolrack_text **ret, struct toolrack_error *err);

/** Choose a tool and fill its arguments, as a JSON object: id (of this choice, for the functions
 * below; null when it is not kept), tool (null when none fits well enough: that is no error),
 * version, arguments (an object; {} without a tool), assumed (an array: the required parameters
 * that nothing says, which have the default of the schema or their only choice; or what a model
 * guessed), ready (whether the
 * call can be made as it is: false also for a dangerous tool that is not granted), confidence (0 to
 * 1), threshold (below which no tool is chosen), abstained, missing (an array: parameter,
 * question), invalid (an array: parameter, reason, question), undone (an array: what the text wants
 * besides, in its words, and the call does not do), question (what would decide, or be asked first;
 * null: nothing), candidates (an array, the best first: tool, version, score, scores with function,
 * parameters, cost and success, permission, granted, whitelisted, reasons), steps (scene, intent,
 * match, evaluate, arguments: each with its reasons). The installed schema
 * toolrack-select.schema.json says it in full. The text of the explanation is the member
 * "explanation".
 *
 * The tool is not called. A dangerous tool that is not granted may be chosen, and the call of it is
 * refused.
 * @return as above; TOOLRACK_E_INVALID also for a context that is too long, is no JSON object or
 * has a member of another type. [any-thread] */
TOOLRACK_API int toolrack_select(struct toolrack *host,
                                 const struct toolrack_select_options *options,
                                 struct toolrack_text **ret, struct toolrack_error *err);

/** Room for the id of a choice, with its final zero. */
#define TOOLRACK_SELECT_ID_ROOM 17u

/** Say whether the call that followed a choice gave a result.
 * @param id         that toolrack_select() gave
 * @param principal  whose choice it must be; NULL: anybody's
 * @return 0; TOOLRACK_E_NOT_FOUND for an id that is not known (any more); TOOLRACK_E_IO;
 *         TOOLRACK_E_INVALID for no id; TOOLRACK_E_NO_MEMORY. [any-thread] */
TOOLRACK_API int toolrack_select_worked(struct toolrack *host, const char *principal,
                                        const char *id, bool worked, struct toolrack_error *err);

/** Say which tool was right for the text of a choice: the same one, or another. Texts like it lead
 * to that tool then, first of all for the principal whose choice it was. Durable on return.
 * @param tool  by name; NULL: none, it was right (or would have been) to choose nothing
 * @return as above; TOOLRACK_E_NOT_FOUND also for a tool that is not registered. [any-thread] */
TOOLRACK_API int toolrack_select_feedback(struct toolrack *host, const char *principal,
                                          const char *id, const char *tool,
                                          struct toolrack_error *err);

/** Remove what was kept of the texts of a principal. Durable on return.
 * @param principal  NULL: of all
 * @param ret_count  receives how many choices were removed; may be NULL
 * @return 0; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY. [any-thread] */
TOOLRACK_API int toolrack_select_forget(struct toolrack *host, const char *principal,
                                        uint64_t *ret_count, struct toolrack_error *err);

/** Make the index that texts are looked up in, which else the first search makes and waits for:
 * some 50 us for each tool. Nothing is sent anywhere. A search meanwhile waits for it, calls do
 * not.
 * @return 0; TOOLRACK_E_NO_MEMORY. [any-thread] */
TOOLRACK_API int toolrack_search_prepare(struct toolrack *host, struct toolrack_error *err);

#ifdef __cplusplus
}
#endif
