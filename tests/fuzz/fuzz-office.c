/* fuzz-office - office files and their parts: any bytes end in a text or a reason.
 *
 * What begins with "PK" is a file. Else the first byte chooses a format, and the rest is the XML of
 * its main part, since a fuzzer does not make archives. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "office.h"

/* A text that is longer than its sources is one that something repeats. */
#define KEEP_MAX 100000

static void read_all(struct sink *sink, const struct office *office) {
    char title[256];
    char author[256];
    sink->keep = KEEP_MAX;
    (void)office_read(sink, office, 1, 3);
    (void)office_describe(sink, office, title, author);
}

static void read_file(const uint8_t *data, size_t size) {
    struct sink sink = {0};
    struct office office;
    if (office_open(&sink, data, size, &office)) {
        read_all(&sink, &office);
    }
    office_finish(&office);
    sink_finish(&sink);
}

static void read_part(uint8_t which, const uint8_t *data, size_t size) {
    static const struct {
        enum office_kind kind;
        const char *name;
    } forms[] = {{OFFICE_DOCX, "word/document.xml"}, {OFFICE_ODT, "content.xml"},
                 {OFFICE_ODS, "content.xml"},        {OFFICE_ODP, "content.xml"},
                 {OFFICE_XLSX, "xl/workbook.xml"},   {OFFICE_PPTX, "ppt/presentation.xml"}};
    size_t form = which % (sizeof forms / sizeof forms[0]);
    /* Every part that a workbook or a presentation has is this one. */
    static const char *const names[] = {
            "xl/_rels/workbook.xml.rels", "ppt/_rels/presentation.xml.rels",
            "xl/sharedStrings.xml",       "xl/styles.xml",
            "xl/worksheets/sheet1.xml",   "ppt/slides/slide1.xml",
            "docProps/core.xml"};
    struct part items[1 + sizeof names / sizeof names[0]];
    size_t count = sizeof items / sizeof items[0];
    for (size_t i = 0; i < count; i++) {
        const char *name = i == 0 ? forms[form].name : names[i - 1];
        items[i] = (struct part){
                .name = (char *)(uintptr_t)name, .data = (char *)(uintptr_t)data, .size = size};
    }
    const struct office office = {.parts = {.items = items, .count = count},
                                  .kind = forms[form].kind};
    struct sink sink = {0};
    read_all(&sink, &office);
    sink_finish(&sink);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size >= 2 && memcmp(data, "PK", 2) == 0) {
        read_file(data, size);
    } else if (size > 0) {
        read_part(data[0], data + 1, size - 1);
    }
    return 0;
}
