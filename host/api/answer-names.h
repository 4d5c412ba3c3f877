/* answer-names.h - which tool a model means by a name that it wrote. */
#pragma once

#include <stdbool.h>
#include <yyjson.h>

#include "base/arena.h"
#include "toolrack/toolrack.h"

/** The names that the tools of a message may be called by. Zero but for what is set. */
struct answer_names {
    struct toolrack *host;
    enum toolrack_format format;
    struct arena *arena;                           /**< of the message, for names of tools */
    const struct toolrack_text *definitions;       /**< that the model was given; or NULL */
    const struct toolrack_export_options *offered; /**< of an export now, otherwise; NULL: all */
    bool is_limited;                               /**< only what is in `known` is found */
    yyjson_val *known;                             /**< see export_names(); NULL: not read yet */
    yyjson_doc *own;                               /**< has `known`, if that was read here */
    /** Memory was short since this was set to false: what was found, or not, may be wrong. */
    bool no_memory;
};

void answer_names_finish(struct answer_names *names);

/** How the definitions call tools and properties, read at the first time; NULL: no memory, or they
 * are not to be had. */
yyjson_val *answer_names_read(struct answer_names *names, struct toolrack_error *err);

/** What a definition says of a tool, by the definition's name or the tool's own; NULL: nothing. */
yyjson_val *answer_names_definition(struct answer_names *names, const char *name);

/** Whether there is a tool for a name that a model wrote: by this name, or by that of its
 * definition.
 * @param ret_own   its own name then, which lives as long as `name`, `names` and the arena
 * @param ret_tool  a reference, if it was looked up; else it stays */
bool answer_names_find(struct answer_names *names, const char *name, const char **ret_own,
                       struct toolrack_tool **ret_tool);

/** The same for the tool behind prefixes: whether the name means one tool. */
bool answer_names_find_prefixed(struct answer_names *names, const char *name, const char **ret_own,
                                struct toolrack_tool **ret_tool);

/** What is behind a word that means any tool; NULL: there is no such word, or it belongs to the
 * name of a tool. */
const char *answer_names_behind_word(struct answer_names *names, const char *name);

/** What is behind all words that mean any tool, for a name among few that no tool has. */
const char *answer_names_bare(const char *name);

/** Set the error of a call of a tool that was not offered. */
void answer_names_refuse(const struct answer_names *names, const char *name,
                         struct toolrack_error *err);
