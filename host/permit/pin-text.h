/* pin-text.h - what a tool says of itself, as a short text: a call that waits for an answer keeps
 * it, since the answer is for the tool that the call found. */
#pragma once

#include "registry/tool.h"

/* A hash of each text and of the capabilities, a permission and flags. */
#define PIN_TEXT_ROOM 1024u

/** Write the text of a registration, which has all that a pin compares. [any-thread] */
void pin_text_make(const struct registration *reg, char ret[PIN_TEXT_ROOM]);

/** What differs between two texts: enum registration_change, together. A text that is not of this
 * form differs in all. [any-thread] */
unsigned pin_text_compare(const char *then, const char *now);
