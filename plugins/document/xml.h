/* xml.h - one part of an office file, piece by piece. */
#pragma once

#include <libxml/xmlreader.h>
#include <string.h>

#include "parts.h"

enum xml_event { XML_END, XML_OPEN, XML_CLOSE, XML_TEXT, XML_OTHER };

struct xml {
    struct sink *sink;
    xmlTextReaderPtr reader;
    const char *name; /**< of the element, without its prefix; constant until the next one */
    bool is_empty;    /**< OPEN: of an element that has no CLOSE */
    unsigned pieces;
};

/** Begin; xml_finish() is called in any case. */
bool xml_init(struct xml *xml, struct sink *sink, const struct part *part);
void xml_finish(struct xml *xml);
/** The next piece; END also if the part cannot be read on, with the reason in the sink. */
enum xml_event xml_next(struct xml *xml);
/** Leave out the element that was opened, with all in it; the next piece is what follows. */
void xml_skip(struct xml *xml);
/** The text of a piece TEXT; lives until the next one. */
const char *xml_text(struct xml *xml);
/** An attribute by its name without prefix; "" if there is none. */
void xml_attribute(struct xml *xml, const char *name, char *ret, size_t size);

/** The attribute r:id: the name of a relation. An id without namespace is another one. */
void xml_relation(struct xml *xml, char *ret, size_t size);

/** Copy what fits, with no half of a character. */
void xml_copy(const char *value, char *ret, size_t size);

static inline bool xml_is(const struct xml *xml, const char *name) {
    return strcmp(xml->name, name) == 0;
}
