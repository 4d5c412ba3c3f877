/* inside.h - one test of one plugin: its rules, its tools, the calls that are known to be sound,
 * and what was found.
 *
 * The parent decides the order of the steps and keeps everything. Each step runs in a child
 * (child.h), which has a copy of the session as it was, opens its own host, and tells the parent
 * what it learns. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "author/author.h"

/* X(constant, id, what holds where it passes) */
#define RULES(X)                                                                               \
    X(LOAD, "load", "the file is usable, and the plugin is loaded and opens")                  \
    X(EXAMPLES, "examples", "each example gives the result that it states")                    \
    X(FUZZ_VALID, "fuzz-valid", "no arguments that fit the schema crash it")                   \
    X(FUZZ_BOUNDARY, "fuzz-boundary", "no arguments at the bounds of the schema crash it")     \
    X(FUZZ_INVALID, "fuzz-invalid", "no arguments outside of the schema reach it or crash it") \
    X(RESULT, "result", "each result is JSON, within the limits, and fits its schema")         \
    X(REPEATABLE, "repeatable", "an example that states its result gives it each time")        \
    X(IDEMPOTENT, "idempotent", "a repeated call of an idempotent tool gives the same result") \
    X(READ_ONLY, "read-only", "a call of a read-only tool changes no later result")            \
    X(ISOLATION, "isolation", "results are the same in a worker and in the host's process")    \
    X(MEMORY, "leak-memory", "calls leave no memory behind")                                   \
    X(DESCRIPTORS, "leak-descriptors", "calls leave no open descriptors behind")               \
    X(THREADS, "leak-threads", "calls leave no threads behind")                                \
    X(PROCESSES, "leak-processes", "calls leave no processes behind")                          \
    X(FILES, "leak-files", "calls leave no files behind in the working and temporary folders") \
    X(HANDLERS, "signal-handlers", "calls leave signal handlers and timers as they were")      \
    X(MASK, "signal-mask", "calls leave the thread's signal mask as it was")                   \
    X(FOLDER, "working-folder", "calls leave the working folder as it was")                    \
    X(UMASK, "umask", "calls leave the umask as it was")                                       \
    X(LOCALE, "locale", "calls leave the locale as it was")                                    \
    X(ENVIRONMENT, "environment", "calls leave the environment variables as they were")        \
    X(RELOAD, "reload", "it is reloaded a hundred times, and nothing of it stays")             \
    X(PARALLEL, "parallel", "a thread-safe plugin gives the same results on several threads")  \
    X(DEADLINE, "deadline", "a call that takes long ends soon after its deadline")             \
    X(CANCEL, "cancel", "a call that takes long ends soon after it is cancelled")              \
    X(OUT_OF_MEMORY, "out-of-memory", "no allocation that fails crashes it")

enum rule {
#define RULE_CONSTANT(constant, id, summary) RULE_##constant,
    RULES(RULE_CONSTANT)
#undef RULE_CONSTANT
            RULE_COUNT
};

/* Findings of one rule that are told; more are counted. One of each tool, for each reason. */
#define FINDINGS_MAX      10u
/* Calls of one tool that later rules make again. */
#define SAMPLES_MAX       8u
/* A call that takes longer is not made again but to be ended. */
#define QUICK_NS          100000000u
/* Larger files are no plugins for a host either, and the copy of a file with holes could fill the
 * disk. */
#define FILE_SIZE_MAX     ((off_t)1 << 30)
/* Longest arguments and results that are shown or sent between the processes. */
#define SHOWN_LENGTH_MAX  400u
#define SAMPLE_LENGTH_MAX 65536u

struct finding {
    bool is_warning;
    char *tool; /* or NULL */
    char *sent; /* or NULL */
    char *came;
};

/* What became of one rule. */
struct outcome {
    struct finding findings[FINDINGS_MAX];
    size_t finding_count;
    uint64_t more;   /* findings that are not among these */
    uint64_t checks; /* calls, reloads */
    char *skipped;   /* why it did not run, or NULL */
    char *notes;     /* what of it did not run, a line for each tool; or NULL */
    bool failed;
};

struct tested_tool {
    char *name;
    char *skipped; /* why it is not called, or NULL */
    bool is_idempotent;
    bool is_read_only;
    bool is_disabled;
    bool is_slow;     /* no call of it is quick enough to be made again and again */
    bool is_given_up; /* a call of it crashed or did not end: no later fuzzing */
};

/* A call that was made, and is made again by later rules. */
struct sample {
    size_t tool;
    char *arguments;
    char *result;    /* JSON, or NULL: the tool failed the call */
    uint64_t ns;     /* that it took */
    bool is_example; /* with a stated result: see below */
    bool is_stated;
    bool is_loose; /* gives other results at other times */
    bool is_late;  /* did not end in time */
    bool is_bad;   /* crashes, is slow or gives something else in the host's process */
};

struct session {
    const struct author_test *options;
    uint32_t runs;
    uint32_t timeout_ms;
    bool selected[RULE_COUNT];
    char *folder; /* temporary; all is in it */
    char *plugin; /* id, or NULL */
    char *version;
    struct tested_tool *tools;
    size_t tool_count;
    struct sample *samples;
    size_t sample_count;
    struct outcome outcomes[RULE_COUNT];
    bool is_dead; /* the plugin cannot be loaded: nothing else is tested */
};

const char *rule_id(enum rule rule);
const char *rule_summary(enum rule rule);

/** Record a finding. `tool` and `sent` may be NULL. Of one tool the first of each rule is kept. */
void session_find(struct session *session, enum rule rule, bool is_warning, const char *tool,
                  const char *sent, const char *came);

/** Say why a rule does not run, or, with a tool, what of it does not. */
void session_skip(struct session *session, enum rule rule, const char *tool, const char *why);
