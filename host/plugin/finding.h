/* finding.h - what is wrong with a plugin file, in words that lead to the fix.
 *
 * Every rule that a file can break stands once in the table below. A finding is
 * one broken rule at one place: its id is for programs and for looking it up,
 * the cause says what was found where, the fix what to do about it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

enum finding_severity {
    FINDING_NOTE,    /* worth knowing */
    FINDING_WARNING, /* works, but will trouble somebody */
    FINDING_ERROR    /* the tool, or the whole file, is refused */
};

struct finding {
    const char *rule; /* id, such as "elf-truncated"; static text */
    int severity;
    const char *tool; /* the tool concerned, or NULL when it is the file */
    const char *cause;
    const char *fix;
};

/* Most findings kept for one file; what comes after is counted only. */
#define FINDINGS_MAX 64

/* A list under construction; all texts live in the arena it was begun with. */
struct findings {
    struct arena *arena; /* borrowed */
    struct finding *items;
    uint32_t count;
    uint32_t left_out;
    uint32_t errors; /* of severity FINDING_ERROR, with those left out */
};
