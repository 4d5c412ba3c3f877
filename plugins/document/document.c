/* document - the text of PDF and office files. */
#include <stdio.h>
#include <string.h>
#include <toolrack/plugin.h>

#include "../filesystem/place.h"
#include "../shared/whole.h"
#include "office.h"
#include "pdf.h"

/* Largest file that is read. */
#define FILE_MAX ((size_t)64 << 20)

/* These numbers are repeated in the schemas, which cannot contain macros. */
#define CHARACTERS_DEFAULT 50000
#define SECTION_LAST       1000000

static tr_status open_document(struct tr_host *host) {
    return pdf_start() ? place_open_roots(host)
                       : tr_host_fail(host, "Poppler cannot be kept in memory");
}

/* One file of either sort. */
struct document {
    struct sink sink;
    struct whole whole;
    struct pdf pdf;
    struct office office;
    bool is_pdf;
    uint64_t sections;
};

static bool is_cancelled(void *user) {
    return tr_cancelled(user);
}

/* A reader takes a PDF whose mark is not at the very beginning. */
static bool is_pdf(const struct whole *whole) {
    size_t size = whole->size < 1024 ? whole->size : 1024;
    return memmem(whole->data, size, "%PDF-", 5) != NULL;
}

static tr_status fail_document(struct tr_call *call, const struct document *document) {
    const struct sink *sink = &document->sink;
    if (sink->end == SINK_CANCELLED) {
        return tr_fail(call, TR_CANCELLED, NULL, "cancelled");
    }
    return tr_fail(call, sink->is_limit ? TR_LIMIT_EXCEEDED : TR_INVALID_ARGUMENTS,
                   document->whole.field, "the document cannot be read: %s", sink->message);
}

static bool read_file(struct tr_call *call, struct document *document) {
    *document = (struct document){.sink = {.is_cancelled = is_cancelled, .user = call}};
    const struct whole *whole = &document->whole;
    if (!whole_read(call, FILE_MAX, &document->whole)) {
        return false;
    }
    document->is_pdf = is_pdf(whole);
    bool is_zip = whole->size > 4 && memcmp(whole->data, "PK\3\4", 4) == 0;
    if (!document->is_pdf && !is_zip) {
        (void)tr_fail(
                call, TR_INVALID_ARGUMENTS, whole->field,
                "is neither a PDF nor a docx, xlsx, pptx, odt, ods or odp file; convert older "
                "office files to one of these first");
        return false;
    }
    bool is_open =
            document->is_pdf
                    ? pdf_open(&document->sink, whole->data, whole->size, &document->pdf)
                    : office_open(&document->sink, whole->data, whole->size, &document->office);
    document->sections = document->is_pdf ? document->pdf.pages : document->office.sections;
    if (!is_open) {
        (void)fail_document(call, document);
    }
    return is_open;
}

static void finish(struct document *document) {
    pdf_finish(&document->pdf);
    office_finish(&document->office);
    sink_finish(&document->sink);
    whole_finish(&document->whole);
}

static const char *format_of(const struct document *document) {
    return document->is_pdf ? "pdf" : office_name(document->office.kind);
}

static const char *section_of(const struct document *document) {
    return document->is_pdf ? "page" : office_section_name(document->office.kind);
}

/* Format and sections, in the object that is being made. */
static void put_about(struct tr_call *call, const struct document *document) {
    (void)tr_put_string(call, "format", format_of(document));
    if (section_of(document) != NULL) {
        (void)tr_put_string(call, "section", section_of(document));
        (void)tr_put_u64(call, "sections", document->sections);
    }
}

/* ---------------------------------------------------------------- document_info */

static tr_status tell(struct tr_call *call, struct document *document) {
    char title[256];
    char author[256];
    if (document->is_pdf) {
        pdf_describe(&document->pdf, title, author);
    } else if (!office_describe(&document->sink, &document->office, title, author)) {
        return fail_document(call, document);
    }
    (void)tr_put_object(call, NULL);
    put_about(call, document);
    (void)tr_put_string(call, "title", title);
    (void)tr_put_string(call, "author", author);
    (void)tr_put_u64(call, "bytes", document->whole.size);
    return tr_put_end(call);
}

static tr_status document_info(struct tr_call *call) {
    struct document document;
    tr_status status = read_file(call, &document) ? tell(call, &document) : TR_FAILED;
    finish(&document);
    return status;
}

/* ---------------------------------------------------------------- document_text */

static tr_status reply_text(struct tr_call *call, const struct document *document) {
    const struct sink *sink = &document->sink;
    const char *text = sink->text.length > 0 ? sink->text.data : "";
    (void)tr_put_object(call, NULL);
    put_about(call, document);
    (void)call->api->put_string(call, "text", text, sink->text.length);
    (void)tr_put_bool(call, "truncated", sink->end == SINK_FULL);
    if (sink->end == SINK_FULL) {
        (void)tr_put_u64(call, "next_start", sink->seen);
    }
    return tr_put_end(call);
}

static tr_status tell_text(struct tr_call *call, struct document *document) {
    uint64_t first = tr_get_u64(call, "first", 1);
    uint64_t last = tr_get_u64(call, "last", SECTION_LAST);
    struct sink *sink = &document->sink;
    if (first > last) {
        return tr_fail(call, TR_INVALID_ARGUMENTS, "last", "must not be less than first");
    }
    if (first > document->sections) {
        return tr_fail(call, TR_INVALID_ARGUMENTS, "first", "the %s has %llu %ss",
                       format_of(document), (unsigned long long)document->sections,
                       section_of(document) != NULL ? section_of(document) : "section");
    }
    sink->skip = tr_get_u64(call, "start", 0);
    sink->keep = tr_get_u64(call, "max_characters", CHARACTERS_DEFAULT);
    bool is_read = document->is_pdf ? pdf_read(sink, &document->pdf, first, last)
                                    : office_read(sink, &document->office, first, last);
    return is_read || sink->end == SINK_FULL ? reply_text(call, document)
                                             : fail_document(call, document);
}

static tr_status document_text(struct tr_call *call) {
    struct document document;
    tr_status status = read_file(call, &document) ? tell_text(call, &document) : TR_FAILED;
    finish(&document);
    return status;
}

/* -------------------------------------------------------------------- the table */

/* clang-format off */
/* A docx file with one word. */
#define HELLO "UEsDBBQAAAAIAAAAIQBrgYfOMQAAAEAAAAARAAAAd29yZC9kb2N1bWVudC54bWyzKbdKyU8uzU3NK1GoyM3JK7Yqt1UqV7KzKbcqABEldh6pOTn5NvogJogsAJMwPXYAUEsBAhQDFAAAAAgAAAAhAGuBh84xAAAAQAAAABEAAAAAAAAAAAAAAIABAAAAAHdvcmQvZG9jdW1lbnQueG1sUEsFBgAAAAABAAEAPwAAAGAAAAAAAA=="

#define TAGS "document,pdf,word,excel,powerpoint,docx,xlsx,pptx,odt,ods,odp"
#define READS (TR_READ_ONLY | TR_IDEMPOTENT)

TR_JSON_TOOL(document_info,
    ("Tell the format, how many pages, slides or sheets it has, the title and the author of a PDF or "
     "office file (docx, xlsx, pptx, odt, ods, odp).",
     .title = "About a document", .category = "documents", .tags = TAGS ",pages", .flags = READS,
     .result_schema = TR_SCHEMA({"type": "object", "properties": {
         "format": {"type": "string", "enum": ["pdf", "docx", "xlsx", "pptx", "odt", "ods", "odp"]},
         "section": {"type": "string", "enum": ["page", "slide", "sheet"], "description": "What it is divided into; missing: nothing"},
         "sections": {"type": "integer", "description": "How many of these it has"},
         "title": {"type": "string"}, "author": {"type": "string"},
         "bytes": {"type": "integer", "description": "Length of the file"}
     }, "required": ["format", "title", "author", "bytes"]}),
     TR_EXAMPLES(TR_EXAMPLE("{\"data\": \"" HELLO "\"}", TR_SCHEMA({"format": "docx", "title": "", "author": "", "bytes": 181})))),
    TR_SCHEMA({"type": "object", "properties": {
        "path": {"type": "string", "description": "The file: absolute, or relative to a granted folder"},
        "data": {"type": "string", "contentEncoding": "base64", "maxLength": 16777216, "description": "Instead of path: the file as base64"}
    }, "additionalProperties": false}))

TR_JSON_TOOL(document_text,
    ("Read or extract the text of a PDF or office file (docx, xlsx, pptx, odt, ods, odp). Each page, slide or "
     "sheet begins with a line such as [page 3]; cells of a row are separated by tabs. A PDF of "
     "scanned pages has no text.",
     .title = "Text of a document", .category = "documents", .tags = TAGS ",text,read,extract", .flags = READS,
     .result_schema = TR_SCHEMA({"type": "object", "properties": {
         "format": {"type": "string", "enum": ["pdf", "docx", "xlsx", "pptx", "odt", "ods", "odp"]},
         "section": {"type": "string", "enum": ["page", "slide", "sheet"]},
         "sections": {"type": "integer", "description": "How many the document has"},
         "text": {"type": "string"},
         "truncated": {"type": "boolean", "description": "There is more: call again with start, or for other sections"},
         "next_start": {"type": "integer", "description": "If truncated: start of what follows, for the same first and last"}
     }, "required": ["format", "text", "truncated"]}),
     TR_EXAMPLES(TR_EXAMPLE("{\"data\": \"" HELLO "\"}", TR_SCHEMA({"format": "docx", "text": "Hello\n", "truncated": false})))),
    TR_SCHEMA({"type": "object", "properties": {
        "path": {"type": "string", "description": "The file: absolute, or relative to a granted folder"},
        "data": {"type": "string", "contentEncoding": "base64", "maxLength": 16777216, "description": "Instead of path: the file as base64"},
        "first": {"type": "integer", "minimum": 1, "maximum": 1000000, "default": 1, "description": "First page, slide or sheet, from 1"},
        "last": {"type": "integer", "minimum": 1, "maximum": 1000000, "default": 1000000, "description": "Last page, slide or sheet"},
        "start": {"type": "integer", "minimum": 0, "maximum": 100000000, "default": 0, "description": "Characters that are left out at the beginning: next_start of the call before"},
        "max_characters": {"type": "integer", "minimum": 1, "maximum": 1000000, "default": 50000, "description": "Characters of the result"}
    }, "additionalProperties": false}))
/* clang-format on */

TR_PLUGIN(("document", .description = "Reads the text of PDF and office files",
           .vendor = "toolrack", .license = "MIT AND GPL-2.0-or-later", .open = open_document,
           .close = place_close_roots, TR_CAPABILITIES(TR_MAY_READ("${workspace}"))),
          "1.0.0", document_info, document_text)
