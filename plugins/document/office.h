/* office.h - the text of office files: docx, xlsx, pptx, odt, ods, odp.
 *
 * Their parts are XML, read by libxml2 piece by piece. A part with a document type is refused:
 * none of these formats has one, and it is what entities, and with them files of others and bombs,
 * come from. Nothing is fetched and nothing is included. */
#pragma once

#include "parts.h"

enum office_kind {
    OFFICE_NONE,
    OFFICE_DOCX,
    OFFICE_XLSX,
    OFFICE_PPTX,
    OFFICE_ODT,
    OFFICE_ODS,
    OFFICE_ODP
};

struct office {
    struct parts parts;
    enum office_kind kind;
    uint64_t sections; /**< slides or sheets; 1 for a text */
};

/** "docx" and so on. */
const char *office_name(enum office_kind kind);
/** "slide", "sheet", or NULL for what has no such sections. */
const char *office_section_name(enum office_kind kind);

/** Look at a file. `data` need not live longer. False with the reason in `sink`; office_finish()
 * is called all the same. */
bool office_open(struct sink *sink, const void *data, size_t size, struct office *ret);
void office_finish(struct office *office);
/** The text of the sections from `first` to `last`, counted from 1; each begins with a line that
 * names it. Ends early as `sink` says. */
bool office_read(struct sink *sink, const struct office *office, uint64_t first, uint64_t last);
/** Title and author, each "" where there is none. */
bool office_describe(struct sink *sink, const struct office *office, char title[256],
                     char author[256]);
