/* asked.h - what is asked of a choice: the options of toolrack/choose.h, checked. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <yyjson.h>

#include "choose/arguments.h"
#include "choose/wording.h"
#include "toolrack/choose.h"

/** Strings are borrowed from the options of the caller, or from `context`. */
struct asked {
    struct toolrack_select_options options;
    size_t length;          /**< of the text, in bytes */
    struct values *values;  /**< of the text */
    struct wording wording; /**< the text as words are looked for in it */
    size_t limit;
    yyjson_doc *context;           /**< NULL: none */
    struct arguments_context said; /**< what the context says; has always a now */
};

/** Check the options.
 * @param limit  that of options without one
 * @param ret    to be released with asked_finish(), also after a failure
 * @return 0; TOOLRACK_E_INVALID; TOOLRACK_E_LIMIT_EXCEEDED; TOOLRACK_E_NO_MEMORY. [any-thread] */
int asked_read(const struct toolrack_select_options *options, size_t limit, struct asked *ret,
               struct toolrack_error *err);

/** An empty one is ignored. */
void asked_finish(struct asked *asked);
