/* run.h - one program: started without a shell, fed, read and ended within its limits. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <toolrack/plugin.h>

#include "../filesystem/text.h"

/* What is to be run. Borrowed. */
struct run_order {
    const char *program;      /**< absolute path */
    const char *const *words; /**< its name and arguments; NULL-terminated */
    const char *folder;       /**< where it works */
    const char *input;        /**< what it reads; may have zeros */
    size_t input_length;
    uint64_t time_ms;   /**< then it is ended */
    size_t output_size; /**< bytes kept of each of its two outputs; the rest is counted only */
};

/* One of its outputs. */
struct run_output {
    struct text kept;
    uint64_t size; /**< of all that it wrote */
};

enum run_end {
    RUN_EXITED,
    RUN_KILLED,    /**< by a signal that is not ours */
    RUN_LATE,      /**< ended after `time_ms` */
    RUN_CANCELLED, /**< ended as the call was cancelled, or its deadline has passed */
};

struct run_result {
    enum run_end end;
    int status; /**< exit status, or number of the signal */
    uint64_t duration_ms;
    bool left_running; /**< it left processes that hold its outputs open and do not end by SIGTERM
                        */
    struct run_output outputs[2]; /**< standard output, standard error */
};

/** Run a program to its end, and tell each line of its output as progress. Release the result with
 * run_finish() in any case.
 * @return 0, or the errno with which it could not be started. [call-thread] */
int run_program(struct tr_call *call, const struct run_order *order, struct run_result *ret);
void run_finish(struct run_result *result);
