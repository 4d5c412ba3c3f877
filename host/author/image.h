/* image.h - the plugin as it is loaded in this process. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/** The flags of the plugin that is loaded in this process (enum tr_plugin_flags); false: none is.
 */
bool image_flags(uint32_t *ret);

/** Let the allocations that the plugin itself makes, by the functions of libc, be counted from now
 * on. @return false: it makes none, or its calls cannot be led elsewhere. */
bool image_count_allocations(void);

/** Begin to count at zero; the nth allocation from here on fails (0: none). */
void image_fail(uint64_t nth);
/** Count and fail no more. @return how many allocations there were. */
uint64_t image_end_fail(void);
