/* descriptor-data.h - what a descriptor is made of, what it may not exceed, and what a reading of
 * it is given. descriptor.h reads one. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "plugin/finding.h"
#include "toolrack/plugin.h"

/* One sound tool of a descriptor. */
struct descriptor_tool {
    const struct tr_tool *tool; /* version and so on as stated; `function` and `run` are the real
                                 * pointers only in a descriptor from memory, else NULL */
    const char *version;        /* the tool's, or else the plugin's */
    const char *schema;         /* JSON Schema of the arguments: stated, or derived when typed */
    const char *result_schema;  /* of the result; NULL when nothing is said about it */
    uint32_t index;             /* place in the plugin's own table */
    bool typed;
};

struct descriptor {
    atomic_uint refs;
    const struct tr_plugin *plugin;      /* its `tools` is NULL: use the next member */
    const struct descriptor_tool *tools; /* those without an error, in the plugin's order */
    uint32_t tool_count;
    const struct finding *findings; /* also of the tools left out */
    uint32_t finding_count;
    const char *const *needed; /* libraries that the file names (DT_NEEDED), for the curious; none
                                * in a descriptor from memory or from a cache */
    uint32_t needed_count;
    bool has_thread_locals;      /* whose destructors, while registered, keep the image mapped */
    const char *resident_reason; /* why an image of the file cannot be unloaded, as far as the file
                                  * shows: "NODELETE" or "GNU_UNIQUE symbol NAME"; else NULL */
    void (*release)(struct descriptor *desc); /* frees it with the memory all this lives in */
};

/* Whether a text is a usable JSON Schema for a tool's arguments (or result): given by the caller,
 * because the schema module is none of this module's business. Returns true, or false with one
 * line of reason in `reason` (of `room` bytes). A scan asks on several threads at once. */
typedef bool descriptor_schema_check(void *user, const char *schema, size_t length, bool is_result,
                                     char *reason, size_t room);

/* Longest reason why a value does not fit, with its final zero; more is cut. */
#define DESCRIPTOR_REASON_MAX 768u

/* A JSON text on its way through the next check. */
struct descriptor_value {
    const char *json;
    bool fits;                          /* true before */
    char reason[DESCRIPTOR_REASON_MAX]; /* one line, where it does not fit */
};

/* Which of `count` values fit a schema that the check above has accepted: those of the examples of
 * one tool. Likewise given by the caller, and asked on several threads at once. */
typedef void descriptor_values_check(void *user, const char *schema, size_t length, bool is_result,
                                     struct descriptor_value *values, size_t count);

struct descriptor_options {
    descriptor_schema_check *check_schema; /* may be NULL: not checked */
    descriptor_values_check *check_values; /* may be NULL: not checked */
    void *user;
};

/* Limits of what is read; stated in the refusals. */
#define DESCRIPTOR_FILE_SIZE_MAX    (1024u * 1024u * 1024u)
#define DESCRIPTOR_TOOLS_MAX        1024u
#define DESCRIPTOR_PARAMS_MAX       128u
#define DESCRIPTOR_FIELDS_MAX       256u
#define DESCRIPTOR_CHOICES_MAX      1024u
#define DESCRIPTOR_EXAMPLES_MAX     16u
#define DESCRIPTOR_CAPABILITIES_MAX 256u
#define DESCRIPTOR_TYPE_DEPTH_MAX   16u
#define DESCRIPTOR_TEXT_MAX         (1024u * 1024u)       /* longest single text, a schema mostly */
#define DESCRIPTOR_RECORD_SIZE_MAX  65536u                /* largest stated size of any struct */
#define DESCRIPTOR_MEMORY_MAX       (64u * 1024u * 1024u) /* of one descriptor, in all */
