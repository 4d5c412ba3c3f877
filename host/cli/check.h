/* check.h - the parts of `toolrack check`: what is accepted, and the forms of its output. */
#pragma once

#include "cli/json.h"

/* The list of what is accepted, in the folder of the files that are checked. */
#define CHECK_LIST_NAME "toolrack-check.json"

/** A rule that is not to count, with the reason; and where it is said. */
struct check_allowance {
    const char *rule;
    const char *reason;
    const char *file; /**< the name of the file, without its folder; NULL: each */
    const char *tool; /**< NULL: each */
    const char *list; /**< the path of the list; NULL: --allow */
    bool is_used;
    bool is_asked; /**< a file was checked of which it speaks */
};

struct check_allowances {
    struct check_allowance *items;
    size_t count;
    size_t room;
    char **memory; /**< texts that the items borrow */
    size_t memory_count;
    char **folders; /**< whose lists were read */
    size_t folder_count;
};

/** What was found of one file, or of one list of what is accepted. */
struct check_result {
    const char *file;
    const struct toolrack_findings *findings; /**< NULL: of a list */
    const struct toolrack_finding *items;
    const char **reasons; /**< for each: why it is accepted; NULL: it counts */
    size_t count;
    size_t accepted;
};

const char *check_severity_name(enum toolrack_severity severity);
/** The name of a severity. False: it is none. */
bool check_severity_find(const char *name, enum toolrack_severity *ret);

/* check-allow.c */

/** Read the --allow options. @return 0; or a code with the error set: a usage error. */
int check_allow_options(struct cli *cli, struct check_allowances *list);
/** Read the list in the folder of a file, unless it was read. What is wrong with it is added to
 * `ret_wrong`, each a line with a tab before what to do.
 * @param ret_path  the path of a list that was read now; NULL: there is none, or it was read before
 * @return 0; TOOLRACK_E_NO_MEMORY */
int check_allow_folder(struct cli *cli, struct check_allowances *list, const char *file,
                       const char **ret_path, struct buf *ret_wrong);
/** Why a finding about a file is accepted; NULL: it is not. */
const char *check_allow_find(struct check_allowances *list, const char *file,
                             const struct toolrack_finding *finding);

/* check-list.c */

/** The rule with this id. False: there is none. */
bool check_rule(const char *id, struct toolrack_rule *ret);
/** A new item, all zero; NULL: no memory. */
struct check_allowance *check_list_add(struct check_allowances *list);
/** A copy of a text that lives as long as the list; NULL: no memory. */
const char *check_list_keep(struct check_allowances *list, const char *text, size_t length);
bool check_list_is_blank(const char *text);
/** Read the text of a list, foreign bytes, and add its items. What is wrong is added to
 * `ret_wrong`, each a line with a tab before what to do; without memory it is failed.
 * @param path  where the text is from; borrowed by the items */
void check_list_read(struct check_allowances *list, const char *path, const char *text,
                     size_t length, struct buf *ret_wrong);
void check_list_finish(struct check_allowances *list);

/* check-explain.c */

/** Explain the rules that the command line names, or list all. @return an exit code. */
int check_explain(struct cli *cli);
/** The rule with this id. False: there is none. */
bool check_rule(const char *id, struct toolrack_rule *ret);

/** Append the first sentence of what a rule is about. */
void check_add_summary(struct buf *out, const char *about);

/* check-sarif.c */

struct check_sarif {
    yyjson_mut_doc *doc;
    yyjson_mut_val *root;
    yyjson_mut_val *rules;
    yyjson_mut_val *results;
    yyjson_mut_val *artifacts;
    yyjson_mut_val *invocation;
};

void check_sarif_begin(struct check_sarif *sarif);
void check_sarif_add(struct check_sarif *sarif, const struct check_result *result);
/** A file that could not be read, with the message. */
void check_sarif_add_failure(struct check_sarif *sarif, const char *file, const char *message);
/** Print it all. @return an exit code. */
int check_sarif_print(struct cli *cli, struct check_sarif *sarif);
