/* image.h - the plugin as it is loaded in this process. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/** The flags of the plugin that is loaded in this process (enum tr_plugin_flags); false: none is.
 */
bool image_flags(uint32_t *ret);

/** Whether rustc compiled the plugin that is loaded in this process, as its file says. */
bool image_is_rust(void);

/** Remember what is loaded now, before the plugin is. */
void image_remember(void);

/** Let the allocations be counted from now on that the plugin makes by the functions of libc, or
 * those of the libraries that were loaded with it, since image_remember().
 * @return false: none are made, or the calls cannot be led elsewhere. */
bool image_count_allocations(bool of_libraries);

/** Begin to count at zero; the nth allocation from here on fails (0: none). */
void image_fail(uint64_t nth);
/** Count and fail no more. @return how many allocations there were. */
uint64_t image_end_fail(void);
