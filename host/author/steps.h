/* steps.h - the steps of a test, each a function that a child runs. */
#pragma once

#include "author/child.h"

/* In workers. */
step_function step_list;     /* which tools there are */
step_function step_load;     /* the plugin is loaded */
step_function step_examples; /* examples: the first samples */
step_function step_valid;    /* fuzz-valid, result: more samples */
step_function step_boundary;
step_function step_invalid;
step_function step_repeat; /* repeatable, idempotent, read-only; which samples are loose */

/* In the host's process, confined. */
step_function step_isolation;
step_function step_memory; /* leak-memory */
step_function step_descriptors;
step_function step_threads;
step_function step_processes;
step_function step_files;
step_function step_handlers;
step_function step_mask;
step_function step_folder;
step_function step_umask;
step_function step_locale;
step_function step_environment;
step_function step_reload;
step_function step_parallel;
step_function step_race; /* parallel, of a build with ThreadSanitizer */
step_function step_late; /* deadline, cancel */
step_function step_out_of_memory;
step_function step_out_of_memory_libraries; /* the same rule: its libraries */

/* A call that takes longer is asked to end before it does. */
#define LATE_NS 30000000u

/* What is told of an example that is late: by the step of deadline and cancel, which knows more, or
 * by that of the examples where these two are not both looked at. */
#define EXAMPLE_IS_LATE "the example did not end in the time that --timeout gives a call"

static inline bool late_is_told(const struct session *session) {
    return session->selected[RULE_DEADLINE] && session->selected[RULE_CANCEL];
}
