/* look.h - whether a reader of a page sees an element. What is hidden may be there for a model
 * only. */
#pragma once

#include <gumbo.h>
#include <stdbool.h>

/** Whether the element itself says that nobody sees it: by an attribute, or by a style that takes
 * it away, makes it transparent or too small, moves it off the page, or gives it the colour of the
 * background that it, or an element around it, states. What the page's sheets say is not known. */
bool look_hides(const GumboNode *node);
