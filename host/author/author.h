/* author.h - what the command sees of this room: a plugin is put to the test for its author. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yyjson.h>

#include "base/buf.h"
#include "toolrack/toolrack.h"

/* Calls with random arguments of each tool, and how long each may take, where nothing is said. */
#define AUTHOR_RUNS       50u
#define AUTHOR_TIMEOUT_MS 2000u

/** How a plugin is tested. */
struct author_test {
    const char *file;
    uint64_t seed;
    uint32_t runs;           /* 0: AUTHOR_RUNS */
    uint32_t timeout_ms;     /* 0: AUTHOR_TIMEOUT_MS */
    const char *const *only; /* ids of rules, and their number; 0: all */
    size_t only_count;
    const char *const *grants; /* capabilities that the plugin is allowed, as "allow" in the
                                  configuration has them, and their number */
    size_t grant_count;
    const char *settings;      /* of the plugin, the text of a JSON object; NULL: none */
    const char *settings_word; /* as the command was given them */
    bool allows_dangerous;     /* tools that need a person's consent or a grant are called too */
};

/** What was found. */
struct author_report;

/** Test a plugin by all rules, each in a process of its own. No host may be open in this process,
 * and no other thread may run. Processes, folders and files that this makes are gone when it
 * returns.
 *
 * @param err  of the caller's base/, never given to the library
 * @return 0, whatever was found; TOOLRACK_E_NOT_FOUND for a file that is not there, and
 *         TOOLRACK_E_INVALID for an unknown rule; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY. */
int author_test(const struct author_test *options, struct author_report **ret,
                struct toolrack_error *err);
void author_report_free(struct author_report *report);

/** Have this process as a test needs it, before anything else is done: it starts again without the
 * caches of freed memory that threads have, and with the runtime that a plugin built with
 * ThreadSanitizer needs.
 *
 * @return 0: the file may be tested; TOOLRACK_E_IO: the runtime is not on this machine;
 *         TOOLRACK_E_INVALID: it needs one that no program can have; TOOLRACK_E_NO_MEMORY. */
int author_have_runtime(const char *file, struct toolrack_error *err);

/** Whether a rule failed; a warning is no failure. */
bool author_report_failed(const struct author_report *report);

/** Append the report: for people, for programs, or as JUnit XML. The first has a line for each
 * rule, and a function for what is before each word of a verdict: `verdict` is "passed",
 * "warning", "failed" or "skipped", NULL: the word has ended. */
void author_report_write(const struct author_report *report, struct buf *out,
                         void (*mark)(void *user, const char *verdict), void *user);
void author_report_add_json(const struct author_report *report, yyjson_mut_doc *doc,
                            yyjson_mut_val *root);
void author_report_write_junit(const struct author_report *report, struct buf *out);

/** The rules: id and what holds where it passes. False: there is no rule of that index. */
bool author_rule(size_t index, const char **ret_id, const char **ret_summary);

/** How a folder is worked on. */
struct author_dev {
    const char *folder;
    const char *build; /* a command for the shell, in the folder; NULL: by what is in the folder */
    const char *into;  /* the plugin folder; NULL: none */
    bool installs;     /* put each build there; otherwise only in the place of one that is there */
    uint32_t timeout_ms; /* of each example; 0: AUTHOR_TIMEOUT_MS */
    bool json;           /* tell an object a line */
    /** Something to tell: whole lines of UTF-8, with their ends. False: nobody reads it any more,
     * and it ends. */
    bool (*tell)(void *user, const char *text, size_t length);
    void *user;
};

/** Build a plugin whenever its sources change, run its examples, and tell what they give that they
 * did not give before, until SIGINT, SIGTERM or SIGHUP. As author_test() otherwise.
 *
 * @return 0; TOOLRACK_E_NOT_FOUND for a folder that is not there; TOOLRACK_E_INVALID where it is
 * not known how to build it; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY. */
int author_dev(const struct author_dev *options, struct toolrack_error *err);
