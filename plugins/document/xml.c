#include "xml.h"

#include <limits.h>

/* How many pieces come before the call is looked at again. */
#define PIECES_A_LOOK 1024u

#define OPTIONS (XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING | XML_PARSE_NOCDATA)

bool xml_init(struct xml *xml, struct sink *sink, const struct part *part) {
    *xml = (struct xml){.sink = sink, .name = ""};
    xml->reader = part->size <= INT_MAX
                          ? xmlReaderForMemory(part->data, (int)part->size, NULL, NULL, OPTIONS)
                          : NULL;
    return xml->reader != NULL || sink_fail(sink, false, "out of memory");
}

void xml_finish(struct xml *xml) {
    if (xml->reader != NULL) {
        xmlFreeTextReader(xml->reader);
    }
}

static enum xml_event judge(struct xml *xml, int got) {
    if (got < 0) {
        (void)sink_fail(xml->sink, false, "its XML is damaged at line %d",
                        xmlTextReaderGetParserLineNumber(xml->reader));
    }
    if (got != 1 || (++xml->pieces % PIECES_A_LOOK == 0 && !sink_goes_on(xml->sink))) {
        return XML_END;
    }
    const xmlChar *name = xmlTextReaderConstLocalName(xml->reader);
    xml->name = name != NULL ? (const char *)name : "";
    xml->is_empty = xmlTextReaderIsEmptyElement(xml->reader) == 1;
    switch (xmlTextReaderNodeType(xml->reader)) {
    case XML_READER_TYPE_ELEMENT: return XML_OPEN;
    case XML_READER_TYPE_END_ELEMENT: return XML_CLOSE;
    case XML_READER_TYPE_TEXT:
    case XML_READER_TYPE_CDATA:
    case XML_READER_TYPE_WHITESPACE:
    case XML_READER_TYPE_SIGNIFICANT_WHITESPACE: return XML_TEXT;
    case XML_READER_TYPE_DOCUMENT_TYPE:
    case XML_READER_TYPE_ENTITY_REFERENCE:
        (void)sink_fail(xml->sink, false,
                        "its XML has a document type or entities, which office files have not");
        return XML_END;
    default: return XML_OTHER;
    }
}

enum xml_event xml_next(struct xml *xml) {
    return judge(xml, xmlTextReaderRead(xml->reader));
}

void xml_skip(struct xml *xml) {
    int depth = xmlTextReaderDepth(xml->reader);
    while (!xml->is_empty) {
        enum xml_event event = xml_next(xml);
        if (event == XML_END || (event == XML_CLOSE && xmlTextReaderDepth(xml->reader) == depth)) {
            return;
        }
        xml->is_empty = false;
    }
}

const char *xml_text(struct xml *xml) {
    const xmlChar *text = xmlTextReaderConstValue(xml->reader);
    return text != NULL ? (const char *)text : "";
}

void xml_copy(const char *value, char *ret, size_t size) {
    size_t length = strlen(value);
    length = length < size ? length : size - 1;
    while (length > 0 && ((unsigned char)value[length] & 0xc0) == 0x80) {
        length--;
    }
    memcpy(ret, value, length);
    ret[length] = '\0';
}

static void find_attribute(struct xml *xml, const char *name, bool has_space, char *ret,
                           size_t size) {
    ret[0] = '\0';
    while (xmlTextReaderMoveToNextAttribute(xml->reader) == 1) {
        const xmlChar *found = xmlTextReaderConstLocalName(xml->reader);
        const xmlChar *value = xmlTextReaderConstValue(xml->reader);
        bool is_it = found != NULL && value != NULL && strcmp((const char *)found, name) == 0;
        if (is_it && (!has_space || xmlTextReaderConstNamespaceUri(xml->reader) != NULL)) {
            xml_copy((const char *)value, ret, size);
            break;
        }
    }
    (void)xmlTextReaderMoveToElement(xml->reader);
}

void xml_attribute(struct xml *xml, const char *name, char *ret, size_t size) {
    find_attribute(xml, name, false, ret, size);
}

void xml_relation(struct xml *xml, char *ret, size_t size) {
    find_attribute(xml, "id", true, ret, size);
}
