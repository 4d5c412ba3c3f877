/* pins.h - how a tool looks, to be compared with how it looked when it was approved. */
#pragma once

#include "registry/tool.h"
#include "store/pins.h"

/** Fill in what a registration says of itself, and its hash; strings are borrowed from it. */
void pin_make(const struct registration *reg, struct store_pin *ret);

/** The pin with which a registration is compared: that of its version, else one that it equals,
 * else the latest; NULL for a tool that was never approved. */
const struct store_pin *pin_find(const struct store_pin *pins, size_t count,
                                 const struct registration *reg);

/** Whether a pin is of a registration's tool, whatever the version, and of its plugin. */
bool pin_is_of(const struct store_pin *pin, const struct registration *reg);

/** What a registration says otherwise than a pin: enum registration_change, together. */
unsigned pin_compare(const struct store_pin *pin, const struct registration *reg);
