/* name.h - the name of a member, as an archive has it, made a path that is safe to create. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define NAME_SIZE_MAX 4096 /* with the zero */

enum name_fault {
    NAME_OK,
    NAME_CHANGED,  /**< safe, and another one than the archive has */
    NAME_EMPTY,    /**< the folder itself: nothing to create */
    NAME_ABSOLUTE, /**< begins with a slash, a backslash or a drive */
    NAME_UPWARDS,  /**< a name in it is ".." */
    NAME_TOO_LONG, /**< more than 4,095 bytes, or a name in it more than 255 */
    NAME_TOO_DEEP, /**< more than 64 folders */
};

/** Make a relative path of names that are neither empty nor "." nor "..", separated by single
 * slashes. Backslashes count as slashes, as other systems take them. Control characters and bytes
 * that are no UTF-8 become "_". `ret` is undefined if the result is neither NAME_OK nor
 * NAME_CHANGED. */
enum name_fault name_clean(const char *name, char ret[NAME_SIZE_MAX]);

/** Why a member of such a name is refused. */
const char *name_explain(enum name_fault fault);
