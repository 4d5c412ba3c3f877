/* font.h - the font that charts are written in.
 *
 * DejaVu Sans is a part of the plugin: charts look the same everywhere, and need no font to be
 * installed and none to be read. An administrator may name another file. */
#pragma once

#include <stdbool.h>

#include <cairo.h>

/** Open the font. @param path  of a file; NULL: the one of the plugin.
 * @return NULL, or why it cannot be opened, static. [plugin] */
const char *font_open(const char *path);
void font_close(void);

/** Write with it from now on, in one size for whatever a surface is. [call-thread] */
void font_use(cairo_t *cr);

/** Whether it has each character of a text; if not, *ret_missing is the first one.
 * [call-thread] */
bool font_has(const char *text, unsigned *ret_missing);
