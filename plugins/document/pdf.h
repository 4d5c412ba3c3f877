/* pdf.h - the text of a PDF, page by page, by Poppler. Nothing of a page is drawn, and scripts,
 * links, attachments and forms are not looked at. */
#pragma once

#include <stddef.h>

#include "sink.h"

struct pdf {
    void *document; /**< owned */
    uint64_t pages;
};

/** Once before all else. [plugin] */
bool pdf_start(void);

/** `data` is borrowed until pdf_finish(), which is called in any case. False with the reason in
 * `sink`. */
bool pdf_open(struct sink *sink, const void *data, size_t size, struct pdf *ret);
void pdf_finish(struct pdf *pdf);
/** The pages from `first` to `last`, counted from 1; each begins with a line that names it. */
bool pdf_read(struct sink *sink, const struct pdf *pdf, uint64_t first, uint64_t last);
/** Title and author, "" where there is none. */
void pdf_describe(const struct pdf *pdf, char title[256], char author[256]);
