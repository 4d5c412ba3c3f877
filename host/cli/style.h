/* style.h - which parts of the output are emphasized.
 *
 * The output itself is text without escape sequences: what comes from a plugin is escaped before
 * the sequences of the styles are put between its parts, so no text can pass for one. */
#pragma once

#include <stddef.h>

enum style {
    STYLE_PLAIN,
    STYLE_HEADING,
    STYLE_GOOD,
    STYLE_CAUTION,
    STYLE_BAD,
    STYLE_FAINT,
    STYLE_EMPHASIS,
    STYLE_CODE
};

/** From `at` on the text has this style. */
struct style_mark {
    size_t at;
    enum style style;
};

struct styles {
    struct style_mark *marks; /**< in the order of the text */
    size_t count;
};

/** Let a style begin at byte `at` of the text, not before the last one. Without memory the text
 * is less emphasized, and nothing else. `styles` may be NULL. */
void style_begin(struct styles *styles, size_t at, enum style style);
void style_clear(struct styles *styles);

/** The escape sequence that begins a style. */
const char *style_sequence(enum style style);

/** The style for the name of a tool's or a plugin's state. */
enum style style_of_state(const char *state);
