/* relations.h - the parts that the main part of a workbook or a presentation names, in its order.
 */
#pragma once

#include "parts.h"

struct relation {
    char title[128]; /**< of a sheet; "" for a slide */
    char id[64];
    const struct part *part; /**< borrowed; NULL: the file has none */
};

struct relations {
    struct relation *items; /**< owned */
    size_t count;
};

/** Read from `main` each element `element` and, from the part `links`, where its r:id leads; paths
 * are relative to `folder`. False with the reason in `sink`; relations_finish() is called all the
 * same. */
bool relations_read(struct sink *sink, const struct parts *parts, const char *main,
                    const char *links, const char *folder, const char *element,
                    struct relations *ret);
void relations_finish(struct relations *relations);
