#include "sheet.h"

#include <stdlib.h>

#include "xml.h"

/* ------------------------------------------------------------------ shared texts */

static bool begin_string(struct sink *sink, struct strings *strings, const struct text *text) {
    if (strings->count == SHEET_STRINGS_MAX) {
        return sink_fail(sink, true, "it has more than %u texts", SHEET_STRINGS_MAX);
    }
    if ((strings->count & (strings->count - 1)) == 0) {
        size_t room = strings->count == 0 ? 1 : strings->count * 2;
        size_t *starts = realloc(strings->starts, room * sizeof *starts);
        if (starts == NULL) {
            return sink_fail(sink, false, "out of memory");
        }
        strings->starts = starts;
    }
    strings->starts[strings->count++] = text->length;
    return true;
}

/* A text <si> has its runs in <t>; <rPh> says how it is pronounced. */
static bool read_strings(struct sink *sink, struct xml *xml, struct strings *strings,
                         struct text *text) {
    bool is_text = false;
    enum xml_event event;
    while ((event = xml_next(xml)) != XML_END) {
        if (event == XML_OPEN && xml_is(xml, "si")) {
            if (!begin_string(sink, strings, text)) {
                return false;
            }
            if (xml->is_empty) {
                text_add(text, "", 1);
            }
        } else if (event == XML_CLOSE && xml_is(xml, "si")) {
            text_add(text, "", 1);
        } else if (event == XML_OPEN && xml_is(xml, "rPh")) {
            xml_skip(xml);
        } else if ((event == XML_OPEN || event == XML_CLOSE) && xml_is(xml, "t")) {
            is_text = event == XML_OPEN && !xml->is_empty;
        } else if (event == XML_TEXT && is_text && strings->count > 0) {
            text_add_string(text, xml_text(xml));
        }
        if (text->failed) {
            return sink_fail(sink, text->too_long, "its texts have more than %zu MiB",
                             TEXT_SIZE_MAX >> 20);
        }
    }
    return sink_goes_on(sink);
}

bool strings_read(struct sink *sink, const struct parts *parts, struct strings *ret) {
    const struct part *part = parts_find(parts, "xl/sharedStrings.xml");
    struct text text = {0};
    struct xml xml;
    *ret = (struct strings){0};
    if (part == NULL) {
        return true; /* numbers only */
    }
    bool is_read = xml_init(&xml, sink, part) && read_strings(sink, &xml, ret, &text);
    xml_finish(&xml);
    ret->text = text.data;
    return is_read;
}

void strings_finish(struct strings *strings) {
    free(strings->text);
    free(strings->starts);
    *strings = (struct strings){0};
}

/* ------------------------------------------------------------------------ cells */

/* Where the reader is in a sheet. */
struct sheet {
    struct sink *sink;
    const struct strings *strings;
    const struct formats *formats;
    unsigned column; /* tabs in this line so far */
    char type[12];   /* of the cell: "s": a shared text, "b": true or false, "n" or "": a number */
    size_t style;
    bool is_value; /* within <v> or <t> */
};

/* The column that a cell such as "AB12" is in, from 0; what it says wrongly is the next one. */
static unsigned column_of(const char *place, unsigned next) {
    unsigned column = 0;
    for (; *place >= 'A' && *place <= 'Z' && column <= SHEET_COLUMNS_MAX; place++) {
        column = column * 26 + (unsigned)(*place - 'A') + 1;
    }
    return column == 0 || column > SHEET_COLUMNS_MAX ? next : column - 1;
}

static bool begin_cell(struct sheet *sheet, struct xml *xml, unsigned next) {
    char place[20];
    char style[12];
    xml_attribute(xml, "r", place, sizeof place);
    xml_attribute(xml, "t", sheet->type, sizeof sheet->type);
    xml_attribute(xml, "s", style, sizeof style);
    sheet->style = strtoul(style, NULL, 10);
    unsigned column = column_of(place, next);
    for (; sheet->column < column; sheet->column++) {
        if (!sink_add(sheet->sink, "\t", 1)) {
            return false;
        }
    }
    return true;
}

/* A cell is one field of its line. */
static bool add_field(struct sink *sink, const char *text) {
    while (*text != '\0') {
        size_t length = strcspn(text, "\t\r\n");
        if (!sink_add(sink, text, length)) {
            return false;
        }
        text += length;
        size_t breaks = strspn(text, "\t\r\n");
        if (breaks > 0 && !sink_add(sink, " ", 1)) {
            return false;
        }
        text += breaks;
    }
    return true;
}

static bool add_value(struct sheet *sheet, const char *value) {
    if (strcmp(sheet->type, "s") == 0) {
        char *end;
        unsigned long number = strtoul(value, &end, 10);
        return end == value || number >= sheet->strings->count || sheet->strings->text == NULL ||
               add_field(sheet->sink, sheet->strings->text + sheet->strings->starts[number]);
    }
    if (strcmp(sheet->type, "b") == 0) {
        return sink_add_string(sheet->sink, strcmp(value, "0") == 0 ? "false" : "true");
    }
    char date[FORMATS_DATE_SIZE];
    bool is_number = sheet->type[0] == '\0' || strcmp(sheet->type, "n") == 0;
    bool is_date = is_number && formats_date(sheet->formats, sheet->style, value, date);
    return add_field(sheet->sink, is_date ? date : value);
}

bool sheet_read(struct sink *sink, const struct part *part, const struct strings *strings,
                const struct formats *formats) {
    struct sheet sheet = {.sink = sink, .strings = strings, .formats = formats};
    struct xml xml;
    enum xml_event event;
    unsigned next = 0; /* column of a cell that does not say its own */
    bool goes_on = xml_init(&xml, sink, part);
    while (goes_on && (event = xml_next(&xml)) != XML_END) {
        bool is_tag = event == XML_OPEN || event == XML_CLOSE;
        if (is_tag && (xml_is(&xml, "v") || xml_is(&xml, "t"))) {
            sheet.is_value = event == XML_OPEN && !xml.is_empty;
        } else if (event == XML_OPEN && xml_is(&xml, "c")) {
            goes_on = begin_cell(&sheet, &xml, next);
            next = sheet.column + 1;
        } else if (event == XML_OPEN && xml_is(&xml, "row")) {
            sheet.column = next = 0;
        } else if (event == XML_CLOSE && xml_is(&xml, "row")) {
            goes_on = sink_add(sink, "\n", 1);
        } else if (event == XML_OPEN && (xml_is(&xml, "f") || xml_is(&xml, "rPh"))) {
            xml_skip(&xml);
        } else if (event == XML_TEXT && sheet.is_value) {
            goes_on = add_value(&sheet, xml_text(&xml));
        }
    }
    xml_finish(&xml);
    return sink_goes_on(sink);
}
