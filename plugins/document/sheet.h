/* sheet.h - the sheets of an xlsx file: a line for each row, its cells with tabs between. */
#pragma once

#include "formats.h"
#include "parts.h"
#include "relations.h"

/* Most texts that the cells of a workbook share. */
#define SHEET_STRINGS_MAX 1000000u
/* Columns of a sheet; empty cells in between are tabs. */
#define SHEET_COLUMNS_MAX 16384u

/** The texts that cells name by number. */
struct strings {
    char *text;     /**< owned: all of them, each with a zero behind it */
    size_t *starts; /**< owned */
    size_t count;
};

bool strings_read(struct sink *sink, const struct parts *parts, struct strings *ret);
void strings_finish(struct strings *strings);
/** False: it ended, as `sink` says. */
bool sheet_read(struct sink *sink, const struct part *part, const struct strings *strings,
                const struct formats *formats);
