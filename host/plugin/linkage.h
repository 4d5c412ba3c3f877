/* linkage.h - what a plugin file wants of other files: whether the loader will find it. */
#pragma once

#include "plugin/finding.h"

/** Add findings for libraries that are not installed, for symbols that nothing defines, and for
 * entries that lead the loader elsewhere. Symbols are looked for in the file, the libraries that it
 * needs, those that these need, and the C library, which every process of the host has; versions
 * are ignored. If one of these cannot be read, nothing is said about symbols. All are foreign
 * bytes, read by elf.h. Of a file for another machine that is said, and nothing is looked for. A
 * file that is no shared object has no findings.
 *
 * @param file  its name, for the findings
 * @return 0; TOOLRACK_E_NO_MEMORY. [any-thread] */
int linkage_check(int fd, const char *file, struct findings *findings);
