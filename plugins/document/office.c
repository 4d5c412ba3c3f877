#include "office.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "relations.h"
#include "sheet.h"
#include "xml.h"

/* Most spaces and cells for which one element stands. */
#define REPEAT_MAX 1000u

static const char *const names[] = {
        [OFFICE_NONE] = "none", [OFFICE_DOCX] = "docx", [OFFICE_XLSX] = "xlsx",
        [OFFICE_PPTX] = "pptx", [OFFICE_ODT] = "odt",   [OFFICE_ODS] = "ods",
        [OFFICE_ODP] = "odp",
};

const char *office_name(enum office_kind kind) {
    return names[kind];
}

const char *office_section_name(enum office_kind kind) {
    return kind == OFFICE_XLSX || kind == OFFICE_ODS   ? "sheet"
           : kind == OFFICE_PPTX || kind == OFFICE_ODP ? "slide"
                                                       : NULL;
}

/* Each section begins with a line such as "[sheet 2: Prices]". */
static bool add_heading(struct sink *sink, enum office_kind kind, uint64_t number,
                        const char *title) {
    char line[200];
    (void)snprintf(line, sizeof line, "[%s %llu%s%.128s]\n", office_section_name(kind),
                   (unsigned long long)number, title[0] != '\0' ? ": " : "", title);
    return sink_new_line(sink) && sink_add_string(sink, line);
}

/* ------------------------------------------------------------------ docx and pptx */

/* What an element of Office Open XML adds when it begins or ends. In a cell of a table paragraphs
 * are separated by spaces, and cells by tabs. */
struct flow {
    unsigned cells; /* in which the reader is */
    bool is_text;
};

static bool flow_open(struct sink *sink, struct flow *flow, struct xml *xml) {
    if (xml_is(xml, "Fallback") || xml_is(xml, "del")) {
        xml_skip(xml); /* the same once more; what was deleted */
        return true;
    }
    flow->is_text = flow->is_text || (xml_is(xml, "t") && !xml->is_empty);
    flow->cells += xml_is(xml, "tc") && !xml->is_empty;
    if (xml_is(xml, "tab")) {
        return sink_add(sink, "\t", 1);
    }
    return (!xml_is(xml, "br") && !xml_is(xml, "cr")) || sink_add(sink, "\n", 1);
}

static bool flow_close(struct sink *sink, struct flow *flow, struct xml *xml) {
    if (xml_is(xml, "t")) {
        flow->is_text = false;
    } else if (xml_is(xml, "p")) {
        return sink_add(sink, flow->cells > 0 ? " " : "\n", 1);
    } else if (xml_is(xml, "tc")) {
        flow->cells -= flow->cells > 0;
        return sink_add(sink, "\t", 1);
    } else if (xml_is(xml, "tr")) {
        return sink_add(sink, "\n", 1);
    }
    return true;
}

static bool read_flow(struct sink *sink, const struct part *part) {
    struct flow flow = {0};
    struct xml xml;
    enum xml_event event;
    bool goes_on = xml_init(&xml, sink, part);
    while (goes_on && (event = xml_next(&xml)) != XML_END) {
        goes_on = event == XML_OPEN                   ? flow_open(sink, &flow, &xml)
                  : event == XML_CLOSE                ? flow_close(sink, &flow, &xml)
                  : event == XML_TEXT && flow.is_text ? sink_add_string(sink, xml_text(&xml))
                                                      : true;
    }
    xml_finish(&xml);
    return sink_goes_on(sink);
}

static bool read_docx(struct sink *sink, const struct office *office) {
    static const char *const parts[] = {"word/document.xml", "word/footnotes.xml",
                                        "word/endnotes.xml"};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        const struct part *part = parts_find(&office->parts, parts[i]);
        if (part != NULL && !read_flow(sink, part)) {
            return false;
        }
    }
    return true;
}

/* --------------------------------------------------------------------- xlsx, pptx */

static bool find_sections(struct sink *sink, const struct office *office, struct relations *ret) {
    return office->kind == OFFICE_XLSX
                   ? relations_read(sink, &office->parts, "xl/workbook.xml",
                                    "xl/_rels/workbook.xml.rels", "xl/", "sheet", ret)
                   : relations_read(sink, &office->parts, "ppt/presentation.xml",
                                    "ppt/_rels/presentation.xml.rels", "ppt/", "sldId", ret);
}

static bool read_relations(struct sink *sink, const struct office *office, uint64_t first,
                           uint64_t last) {
    struct relations sections;
    struct strings strings = {0};
    struct formats formats = {0};
    bool is_sheet = office->kind == OFFICE_XLSX;
    bool goes_on = find_sections(sink, office, &sections) &&
                   (!is_sheet || (strings_read(sink, &office->parts, &strings) &&
                                  formats_read(sink, &office->parts, &formats)));
    for (uint64_t i = first; goes_on && i <= last && i <= sections.count; i++) {
        const struct relation *one = &sections.items[i - 1];
        goes_on = add_heading(sink, office->kind, i, one->title) &&
                  (one->part == NULL || (is_sheet ? sheet_read(sink, one->part, &strings, &formats)
                                                  : read_flow(sink, one->part)));
    }
    strings_finish(&strings);
    formats_finish(&formats);
    relations_finish(&sections);
    return goes_on;
}

/* ------------------------------------------------------------------- OpenDocument */

struct open_document {
    enum office_kind kind;
    uint64_t first, last;
    uint64_t section;     /* that the reader is in, from 1 */
    unsigned paragraphs;  /* within which it is */
    unsigned cells;       /* likewise */
    unsigned cell_repeat; /* so many cells are this one */
    unsigned empty_cells; /* since the last one that has something */
};

static bool is_in_range(const struct open_document *at) {
    return office_section_name(at->kind) == NULL ||
           (at->section >= at->first && at->section <= at->last);
}

static unsigned repeat_of(struct xml *xml, const char *name) {
    char value[20];
    xml_attribute(xml, name, value, sizeof value);
    unsigned long count = strtoul(value, NULL, 10);
    return count == 0 ? 1 : count > REPEAT_MAX ? REPEAT_MAX : (unsigned)count;
}

static bool add_times(struct sink *sink, const char *what, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        if (!sink_add(sink, what, 1)) {
            return false;
        }
    }
    return true;
}

static bool begins_section(const struct open_document *at, const struct xml *xml) {
    return (at->kind == OFFICE_ODS && at->cells == 0 && xml_is(xml, "table")) ||
           (at->kind == OFFICE_ODP && xml_is(xml, "page"));
}

static bool open_section(struct sink *sink, struct open_document *at, struct xml *xml) {
    char title[128];
    xml_attribute(xml, "name", title, sizeof title);
    at->section++;
    return !is_in_range(at) || add_heading(sink, at->kind, at->section, title);
}

static bool open_element(struct sink *sink, struct open_document *at, struct xml *xml) {
    if (xml_is(xml, "tracked-changes") || xml_is(xml, "notes") ||
        (at->kind != OFFICE_ODT && xml_is(xml, "forms"))) {
        xml_skip(xml);
        return true;
    }
    if (begins_section(at, xml)) {
        return open_section(sink, at, xml);
    }
    if (!is_in_range(at)) {
        return true;
    }
    if (xml_is(xml, "table-cell") || xml_is(xml, "covered-table-cell")) {
        at->cell_repeat = repeat_of(xml, "number-columns-repeated");
        if (xml->is_empty) {
            at->empty_cells += at->empty_cells < REPEAT_MAX ? at->cell_repeat : 0;
            return true;
        }
        at->cells++;
        bool is_added = add_times(sink, "\t", at->empty_cells);
        at->empty_cells = 0;
        return is_added;
    }
    if ((xml_is(xml, "p") || xml_is(xml, "h")) && !xml->is_empty) {
        at->paragraphs++;
    }
    return xml_is(xml, "tab")          ? sink_add(sink, "\t", 1)
           : xml_is(xml, "line-break") ? sink_add(sink, "\n", 1)
           : xml_is(xml, "s")          ? add_times(sink, " ", repeat_of(xml, "c"))
                                       : true;
}

static bool close_element(struct sink *sink, struct open_document *at, struct xml *xml) {
    if (!is_in_range(at)) {
        return true;
    }
    if (xml_is(xml, "p") || xml_is(xml, "h")) {
        at->paragraphs -= at->paragraphs > 0;
        return sink_add(sink, at->cells > 0 ? " " : "\n", 1);
    }
    if (xml_is(xml, "table-cell") || xml_is(xml, "covered-table-cell")) {
        at->cells -= at->cells > 0;
        return sink_add(sink, "\t", 1);
    }
    if (xml_is(xml, "table-row")) {
        at->empty_cells = 0;
        return sink_add(sink, "\n", 1);
    }
    return true;
}

/* White space in the file is one space, as in HTML. */
static bool add_collapsed(struct sink *sink, const char *text) {
    while (*text != '\0') {
        size_t length = strcspn(text, " \t\r\n");
        if (!sink_add(sink, text, length)) {
            return false;
        }
        text += length;
        size_t spaces = strspn(text, " \t\r\n");
        if (spaces > 0 && !sink_add(sink, " ", 1)) {
            return false;
        }
        text += spaces;
    }
    return true;
}

/* The text from section to section; with a range of 1 to 0 only counted. */
static bool read_open_document(struct sink *sink, const struct office *office, uint64_t first,
                               uint64_t last, uint64_t *ret_sections) {
    struct open_document at = {.kind = office->kind, .first = first, .last = last};
    const struct part *part = parts_find(&office->parts, "content.xml");
    struct xml xml = {0};
    enum xml_event event;
    if (part == NULL) {
        return sink_fail(sink, false, "it is damaged: it has no part content.xml");
    }
    bool goes_on = xml_init(&xml, sink, part);
    while (goes_on && (event = xml_next(&xml)) != XML_END) {
        bool is_text = event == XML_TEXT && at.paragraphs > 0 && is_in_range(&at);
        goes_on = event == XML_OPEN    ? open_element(sink, &at, &xml)
                  : event == XML_CLOSE ? close_element(sink, &at, &xml)
                  : is_text            ? add_collapsed(sink, xml_text(&xml))
                                       : true;
    }
    xml_finish(&xml);
    *ret_sections = at.section;
    return sink_goes_on(sink);
}

/* ------------------------------------------------------------------------ opening */

static bool has(const struct office *office, const char *name) {
    return parts_find(&office->parts, name) != NULL;
}

static enum office_kind recognize(const struct office *office) {
    static const struct {
        const char *type;
        enum office_kind kind;
    } types[] = {{"application/vnd.oasis.opendocument.text", OFFICE_ODT},
                 {"application/vnd.oasis.opendocument.spreadsheet", OFFICE_ODS},
                 {"application/vnd.oasis.opendocument.presentation", OFFICE_ODP}};
    const struct part *type = parts_find(&office->parts, "mimetype");
    for (size_t i = 0; type != NULL && i < sizeof types / sizeof types[0]; i++) {
        if (type->size == strlen(types[i].type) &&
            memcmp(type->data, types[i].type, type->size) == 0) {
            return types[i].kind;
        }
    }
    return has(office, "word/document.xml")      ? OFFICE_DOCX
           : has(office, "xl/workbook.xml")      ? OFFICE_XLSX
           : has(office, "ppt/presentation.xml") ? OFFICE_PPTX
                                                 : OFFICE_NONE;
}

static bool count_sections(struct sink *sink, struct office *office) {
    struct relations sections;
    office->sections = 1;
    if (office_section_name(office->kind) == NULL) {
        return true;
    }
    if (office->kind == OFFICE_ODS || office->kind == OFFICE_ODP) {
        return read_open_document(sink, office, 1, 0, &office->sections);
    }
    bool is_read = find_sections(sink, office, &sections);
    office->sections = sections.count;
    relations_finish(&sections);
    return is_read;
}

bool office_open(struct sink *sink, const void *data, size_t size, struct office *ret) {
    *ret = (struct office){0};
    if (!parts_read(sink, data, size, &ret->parts)) {
        return false;
    }
    ret->kind = recognize(ret);
    if (ret->kind == OFFICE_NONE) {
        return sink_fail(sink, false,
                         "it is an archive, and no docx, xlsx, pptx, odt, ods or odp file");
    }
    return count_sections(sink, ret);
}

void office_finish(struct office *office) {
    parts_finish(&office->parts);
}

bool office_read(struct sink *sink, const struct office *office, uint64_t first, uint64_t last) {
    uint64_t unused;
    switch (office->kind) {
    case OFFICE_DOCX: return read_docx(sink, office);
    case OFFICE_XLSX:
    case OFFICE_PPTX: return read_relations(sink, office, first, last);
    default: return read_open_document(sink, office, first, last, &unused);
    }
}

/* ---------------------------------------------------------------------- describing */

bool office_describe(struct sink *sink, const struct office *office, char title[256],
                     char author[256]) {
    const struct part *part = parts_find(&office->parts, "docProps/core.xml");
    struct xml xml;
    enum xml_event event;
    char *to = NULL;
    title[0] = author[0] = '\0';
    part = part != NULL ? part : parts_find(&office->parts, "meta.xml");
    if (part == NULL) {
        return true;
    }
    if (xml_init(&xml, sink, part)) {
        while ((event = xml_next(&xml)) != XML_END) {
            if (event == XML_OPEN) {
                to = xml_is(&xml, "title") ? title : xml_is(&xml, "creator") ? author : NULL;
            } else if (event == XML_TEXT && to != NULL) {
                xml_copy(xml_text(&xml), to, 256);
            } else if (event == XML_CLOSE) {
                to = NULL;
            }
        }
    }
    xml_finish(&xml);
    return sink_goes_on(sink);
}
