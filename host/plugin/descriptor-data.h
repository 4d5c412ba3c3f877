/* descriptor-data.h - the structs of a descriptor, its limits, and the options to read it.
 * descriptor.h reads one. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "plugin/finding.h"
#include "toolrack/plugin.h"

/* One tool of a descriptor, without errors. */
struct descriptor_tool {
    const struct tr_tool *tool; /* its members as stated; `function` and `run` are valid only in a
                                   descriptor from memory, else NULL */
    const char *version;        /* of the tool, else of the plugin */
    const char *schema;         /* JSON Schema of the arguments: stated, or derived when typed */
    const char *result_schema;  /* of the result; NULL: none */
    uint32_t index;             /* index in the plugin's own table */
    bool typed;
};

struct descriptor {
    atomic_uint refs;
    const struct tr_plugin *plugin;      /* its `tools` is NULL: use the next member */
    const struct descriptor_tool *tools; /* the tools without errors, in the plugin's order */
    uint32_t tool_count;
    const struct finding *findings; /* also those of tools that were left out */
    uint32_t finding_count;
    const char *const *needed; /* libraries that the file needs (DT_NEEDED), for information; none
                                  in a descriptor from memory or from a cache */
    uint32_t needed_count;
    const char *machine; /* the processor that the file is for, such as "AArch64"; NULL: it has no
                            name here, or as above. Static text */
    bool is_foreign;     /* that is another one than this machine's */
    bool has_thread_locals; /* registered destructors of thread-local data keep the image mapped */
    const char *resident_reason; /* why an image of the file cannot be unloaded, if the file shows
                                    it: "NODELETE" or "GNU_UNIQUE symbol NAME"; else NULL */
    void (*release)(struct descriptor *desc); /* frees it, with all its memory */
};

/* Whether a string is a usable JSON Schema for a tool's arguments (or result): a callback, because
 * this room does not include the schema room. Returns true, or false with one line in `reason` (of
 * `room` bytes, "" at first); beside true the line is a warning: a default that is ignored. A scan
 * calls it on several threads at once. */
typedef bool descriptor_schema_check(void *user, const char *schema, size_t length, bool is_result,
                                     int64_t *steps, char *reason, size_t room);

/* Longest reason why a value does not fit, with the terminating zero; the rest is cut. */
#define DESCRIPTOR_REASON_MAX 768u

/* A JSON text for the next check. */
struct descriptor_value {
    const char *json;
    bool fits;                          /* the caller sets it to true */
    char reason[DESCRIPTOR_REASON_MAX]; /* one line, if it does not fit */
};

/* Check which of `count` values fit a schema that the check above has accepted. The values are from
 * the examples of one tool. Likewise a callback, and called on several threads at once. */
typedef void descriptor_values_check(void *user, const char *schema, size_t length, bool is_result,
                                     int64_t *steps, struct descriptor_value *values, size_t count);

struct descriptor_options {
    descriptor_schema_check *check_schema; /* may be NULL: not checked */
    descriptor_values_check *check_values; /* may be NULL: not checked */
    void *user;
    bool is_of_configuration; /* its id is the name that the administrator gave to its tool, so it
                                 may be one of the host's log sources */
    bool takes_foreign;       /* a file for another machine is read too: nobody will load it */
};

/* Limits of what is read; stated in the refusals. */
#define DESCRIPTOR_FILE_SIZE_MAX    (1024u * 1024u * 1024u)
/* Bytes of a file that were never written: they cost its author nothing, and who reads or copies
 * the file much. A linker leaves small ones between segments. */
#define DESCRIPTOR_HOLES_MAX        (16u * 1024u * 1024u)
#define DESCRIPTOR_TOOLS_MAX        1024u
/* Steps of validation that the defaults and examples of one descriptor may take, all together, and
 * for each of its tools: a folder full of costly ones must not keep the host from starting. 20
 * steps are about a microsecond. */
#define DESCRIPTOR_STEPS_MAX        1000000
#define DESCRIPTOR_TOOL_STEPS_MAX   1000
#define DESCRIPTOR_PARAMS_MAX       128u
#define DESCRIPTOR_FIELDS_MAX       256u
#define DESCRIPTOR_CHOICES_MAX      1024u
#define DESCRIPTOR_EXAMPLES_MAX     16u
#define DESCRIPTOR_CAPABILITIES_MAX 256u
#define DESCRIPTOR_TYPE_DEPTH_MAX   16u
#define DESCRIPTOR_TEXT_MAX         (1024u * 1024u)       /* longest string, usually a schema */
#define DESCRIPTOR_RECORD_SIZE_MAX  65536u                /* largest stated size of any struct */
#define DESCRIPTOR_MEMORY_MAX       (64u * 1024u * 1024u) /* of one descriptor, in all */
