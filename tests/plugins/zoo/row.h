/* row.h - one row of zoo.def: what a fixture is called with, and what that is to come to. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* For `signal`: of which signal a process dies is the compiler's and the C library's to say. */
#define ZOO_ANY_SIGNAL (-1)
/* For `alone`: without a host there is nothing to see. */
#define ZOO_NOT_ALONE  ""

/** What happens after the call. */
enum zoo_then {
    ZOO_ANSWERS, /* the sound tool beside it gives 42 again */
    ZOO_DEAD,    /* the plugin cannot be used at all, so its sound tool cannot either */
    ZOO_CLOSES   /* the fault shows when the plugin is closed: it is unregistered now */
};

/** What of the kernel holds a fault; where the kernel lacks it the row is skipped. */
enum zoo_need {
    ZOO_NEEDS_NOTHING,
    ZOO_NEEDS_LANDLOCK,
    ZOO_NEEDS_SCOPE,
    ZOO_NEEDS_SECCOMP,
    ZOO_NEEDS_LISTENERS
};

struct zoo_row {
    const char *plugin; /* its id, and the name of its file without .so */
    const char *tool;
    /* A JSON object; NULL is {}. ${secret}, ${store}, ${new}, ${port} and ${host} stand for a file
     * that may not be read, one that may not be written, one that is not there yet, a port
     * that listens, and the process of the host. */
    const char *arguments;
    uint32_t deadline_ms; /* 0: long enough */
    int code;             /* enum toolrack_code; 0 is a result */
    int or_code;          /* another failure that is as good; 0: none */
    bool or_result;       /* a result is as good as the failure */
    int signal;           /* of the error */
    /* What the result's JSON or the error's message must contain: one of these, with | between. */
    const char *says;
    enum zoo_then then;
    enum zoo_need needs;
    const char *logs; /* what must stand in a log line of the plugin; NULL: nothing */
    bool cxx;         /* there only with a C++ compiler */
    /* What a process without a host does at this fault, as alone.c words it: a part of it, or
     * alternatives with | between. NULL follows from the rest: the signal, "hangs" for a
     * Timeout, or the result. */
    const char *alone;
};

/** What the arguments of a row are about. */
struct zoo_aims {
    char secret[64];
    char store[64];
    char new_file[64];
    uint16_t port;
    pid_t host;
};

extern const struct zoo_row zoo_rows[];
extern const size_t zoo_row_count;

/** Whether one of the texts in `alternatives`, with | between them, stands in `text`. */
bool zoo_says(const char *text, const char *alternatives);

/** The arguments of a row with its aims put in; in `room`. */
const char *zoo_arguments(const struct zoo_row *row, const struct zoo_aims *aims, char room[512]);
