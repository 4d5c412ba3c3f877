/* tool.h - what the tools have in common: arguments and replies. */
#pragma once

#include <toolrack/plugin.h>

#include "place.h"
#include "text.h"

/** The place that an argument names; fails the call if there is none. */
bool tool_place(struct tr_call *call, const char *field, struct place *ret);
/** A string of any characters, into a text. False: it is absent; the call has not failed. */
bool tool_text(struct tr_call *call, const char *field, struct text *ret);

/** Fail the call with a fault of a field, or of none. */
tr_status tool_fail(struct tr_call *call, const char *field, const struct place_fault *fault);
/** Fail the call because a text could not be made, saying what to do about its length. */
tr_status tool_fail_text(struct tr_call *call, const struct text *text, const char *advice);

/** Reply with a text, and with it as `content` of the structured result. Releases it; fails the
 * call if it is not whole. */
tr_status tool_reply(struct tr_call *call, struct text *text, const char *advice);

/* The tools of listing.c. */
tr_status list_directory(struct tr_call *call);
tr_status list_directory_with_sizes(struct tr_call *call);
tr_status directory_tree(struct tr_call *call);
tr_status search_files(struct tr_call *call);
