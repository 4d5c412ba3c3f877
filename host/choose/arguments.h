/* arguments.h - the arguments of a tool, from a sentence and its context.
 *
 *   values_read()      finds the values in a text, once: numbers, dates, names, paths, lists...
 *   arguments_fit()    how well they fit the parameters of one tool; cheap, for each candidate
 *   arguments_fill()   the arguments of the one tool that was chosen, with reasons and questions
 *
 * All is by rules and lexicons, in English and Chinese; the same text, context and schema give the
 * same bytes. A text may be a dialogue whose lines begin with "user:", "assistant:" or "system:":
 * then values come from what the user says, the last turn first.
 *
 * Texts and schemas come from outside. Only the first VALUES_TEXT_MAX bytes of a text are read, and
 * of a schema the first ARGUMENTS_PARAMETERS_MAX parameters. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yyjson.h>

#include "base/error.h"

struct parameters;
struct schema;
struct values;

/* What is read of a text: bytes, words and signs, and values that are found in it. */
#define VALUES_TEXT_MAX   65536u
#define VALUES_TOKENS_MAX 2048u
#define VALUES_FOUND_MAX  1024u

/* Parameters of one tool, nested ones included, and how deep they are nested. */
#define ARGUMENTS_PARAMETERS_MAX 96u
#define ARGUMENTS_NESTING_MAX    8u

/* Choices of one enumeration that are compared with a text. */
#define ARGUMENTS_CHOICES_MAX 65535u

/* Longest JSON Pointer of a parameter, with its final zero. */
#define ARGUMENTS_POINTER_MAX 256u

/** What surrounds a text. Zero is a context of which nothing is known. */
struct arguments_context {
    bool has_now;
    int64_t now_ms;         /**< UTC, since 1970; used only with has_now */
    int32_t offset_minutes; /**< of local time from UTC at `now_ms`, such as 480 for China */
    const char *time_zone;  /**< IANA name; NULL: not known. Borrowed, as all below */
    const char *locale;     /**< such as "zh-CN"; NULL: not known */
    const char *folder;     /**< working folder, absolute; NULL: not known */
    yyjson_val *results;    /**< array or object of earlier results, the last is the newest; NULL:
                               none */
};

/** Read a context from the JSON object of `--context`: `now` (RFC 3339, or milliseconds since
 * 1970), `time_zone` (IANA name), `locale` (such as "en-GB"), `folder` (an absolute path),
 * `results` (array, or object by name; the last is the newest). A member that is null is as one
 * that is not there. Dates are of the time zone, and without one of the offset in `now`.
 * @param context  borrowed, and so are the strings of `ret`; NULL: nothing is known
 * @return 0; TOOLRACK_E_INVALID for a member that there is not, or of the wrong type or form, and
 *         for a time zone that this machine does not know. [any-thread] */
int arguments_context_read(yyjson_val *context, struct arguments_context *ret,
                           struct toolrack_error *err);

/** Set the moment, with the offset that the time zone of the context has then; without a time zone
 * the offset stays. For a context that was read without `now`.
 * @return 0; TOOLRACK_E_INVALID for a time zone that this machine does not know. [any-thread] */
int arguments_context_set_now(struct arguments_context *context, int64_t now_ms,
                              struct toolrack_error *err);

/** Find the values in a text.
 * @param text     borrowed until values_destroy(); need not be UTF-8 or end with zero
 * @param context  NULL: nothing is known; its strings and results are borrowed until
 *                 values_destroy()
 * @param ret      receives the values, to be released with values_destroy()
 * @return 0; TOOLRACK_E_NO_MEMORY. [any-thread] */
int values_read(const char *text, size_t length, const struct arguments_context *context,
                struct values **ret, struct toolrack_error *err);

/** Whether bytes of the text are of a value that says itself what it is, such as a date, a place or
 * an address, and not only words. [any-thread] */
bool values_hold(const struct values *values, uint32_t start, uint32_t end);

/** Release; NULL is ignored. [any-thread] */
void values_destroy(struct values *values);

/** A tool whose arguments are wanted; all is borrowed during the call. */
struct arguments_tool {
    const char *name;              /**< NULL: none */
    const char *description;       /**< NULL: none */
    yyjson_val *parameters;        /**< its JSON Schema; NULL: takes no arguments */
    const struct schema *schema;   /**< the same, compiled; NULL: it is compiled here */
    const struct parameters *read; /**< the same, read (parameter.h); NULL: they are read here */
};

/** How well the values in a text fit the parameters of a tool. */
struct arguments_fit {
    double fit;        /**< 0: a required one is not in the text at all; 1: all are there */
    unsigned required; /**< required parameters */
    unsigned found;    /**< of them: those whose value the text says */
    unsigned named;    /**< parameters that the text gives by name or by choice */
    unsigned of_kind;  /**< parameters that get just what they are about: a time zone a city */
    unsigned sure;     /**< required parameters whose value is surely theirs */
    unsigned taken;    /**< words of values that say something, numbers or dates, that they take */
    unsigned left;     /**< runs of words of such values that none takes */
    bool open;         /**< a parameter gets just what it is about from the wish that is open */
    bool past;         /**< that wish has values, and no parameter takes one of them */
};

/** Compare without assigning: a rough and cheap answer; `values` may be used by many threads at
 * once.
 * @return 0; TOOLRACK_E_NO_MEMORY. [any-thread] */
int arguments_fit(const struct values *values, const struct arguments_tool *tool,
                  struct arguments_fit *ret, struct toolrack_error *err);

/** Bytes of the text: [start, end). */
struct arguments_span {
    size_t start;
    size_t end;
};

/** Where a value comes from. */
enum arguments_source {
    ARGUMENTS_FROM_TEXT,
    ARGUMENTS_FROM_FOLDER, /**< the working folder, or a path of the text in it */
    ARGUMENTS_FROM_ZONE,   /**< the time zone of the context */
    ARGUMENTS_FROM_LOCALE,
    ARGUMENTS_FROM_RESULT, /**< an earlier result */
    ARGUMENTS_ASSUMED,     /**< nothing says it: the default of the schema, or the only choice */
};

/** Its name in JSON: "text", "folder", "time_zone", "locale", "result", "assumed". [any-thread] */
const char *arguments_source_name(enum arguments_source source);

/** One value that was filled in. */
struct arguments_value {
    const char *pointer; /**< JSON Pointer in the arguments, such as "/filter/from" */
    const char *json;    /**< the value */
    const char *reason;  /**< one line: why it is the value of this parameter */
    enum arguments_source source;
    const char *origin; /**< of a result: its JSON Pointer in the results; else NULL */
    const struct arguments_span *spans; /**< where the text says or refers to it; may be none */
    size_t span_count;
};

/** A required parameter for which the text has no value. */
struct arguments_missing {
    const char *pointer;
    const char *question; /**< in the language of the text */
};

/** A value of the text that the schema refuses; it is among the arguments all the same. */
struct arguments_invalid {
    const char *pointer;
    const char *json;     /**< the value */
    const char *reason;   /**< of schema_validate() */
    const char *question; /**< in the language of the text */
};

/** What the text gives a tool. All strings are owned by the struct. */
struct arguments {
    const char *json; /**< the arguments: a JSON object */
    size_t json_length;
    const struct arguments_value *values; /**< in the order of the schema */
    size_t value_count;
    const struct arguments_missing *missing;
    size_t missing_count;
    const struct arguments_invalid *invalid;
    size_t invalid_count;
    bool complete; /**< nothing is missing or invalid */
};

/** Fill the parameters of a tool.
 * @param ret  receives the arguments, to be released with arguments_destroy()
 * @return 0; TOOLRACK_E_INVALID for parameters that are no valid JSON Schema; TOOLRACK_E_NO_MEMORY.
 *         [any-thread] */
int arguments_fill(const struct values *values, const struct arguments_tool *tool,
                   struct arguments **ret, struct toolrack_error *err);

/** Release; NULL is ignored. [any-thread] */
void arguments_destroy(struct arguments *arguments);
