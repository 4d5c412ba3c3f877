/* pin.h - what is pinned of a tool, and how a pin differs from the tool. */
#pragma once

#include "base/arena.h"
#include "registry/tool.h"
#include "store/pins.h"

/** Fill in the pin of a registration. Strings are borrowed from it, or in the arena.
 * @return whether there was memory */
bool pin_make(const struct registration *reg, struct arena *arena, struct store_pin *ret);

/** The hash in the pin of a tool of a plugin file, without a registration.
 * @return whether there was memory. [any-thread] */
bool pin_hash(const struct descriptor_tool *spec, struct arena *arena,
              unsigned char ret[STORE_SHA256_SIZE]);

/** Compare a tool as it is now, all of whose texts are given, with a pin.
 * @param ret_equal  set to whether its texts are those of the pin
 * @return enum registration_change, together. What was not stored with a pin of an earlier release
 *         has not changed. */
unsigned pin_compare(const struct store_pin *pin, const struct store_pin *now, bool *ret_equal);

/** Of enum tr_tool_flags: those that are pinned. */
#define PIN_FLAGS (TR_READ_ONLY | TR_IDEMPOTENT | TR_DESTRUCTIVE | TR_OPEN_WORLD)

/** Whether a text has a line. */
bool pin_has_line(const char *lines, const char *line, size_t length);
