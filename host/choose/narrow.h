/* narrow.h - the candidates that the scene of a text leaves out: what step 1 does for step 4.
 *
 * Left out is a tool that is certainly about something else than the text and that matches less
 * than half as well as the best: words that it has by chance made it a candidate. Never to nothing:
 * none is, unless a candidate is about what the text is about, and the best always stays. */
#pragma once

#include "choose/selecting.h"

/** Mark the candidates that are left out, and count them. None is where the caller names the tools,
 * and where the text wants several things done, as each may be about something else. A tool stays
 * that is on the whitelist, that earlier texts or its vector led to, or that a model names. */
void narrow(struct selecting *selecting);
