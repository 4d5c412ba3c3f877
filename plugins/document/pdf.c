#include "pdf.h"

#include <dlfcn.h>
#include <poppler.h>
#include <stdio.h>
#include <string.h>

/* Types that a library registers with GObject stay for ever, so the library must stay too. Poppler
 * does not say so itself. */
bool pdf_start(void) {
    Dl_info library;
    void *symbol = (void *)(uintptr_t)poppler_document_new_from_bytes;
    return dladdr(symbol, &library) != 0 &&
           dlopen(library.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE) != NULL;
}

static bool fail_open(struct sink *sink, GError *error) {
    if (g_error_matches(error, POPPLER_ERROR, POPPLER_ERROR_ENCRYPTED)) {
        return sink_fail(sink, false, "it is encrypted; save it without a password");
    }
    return sink_fail(sink, false, "it is no PDF, or is damaged: %.200s",
                     error != NULL ? error->message : "no reason given");
}

bool pdf_open(struct sink *sink, const void *data, size_t size, struct pdf *ret) {
    GError *error = NULL;
    GBytes *bytes = g_bytes_new_static(data, size);
    *ret = (struct pdf){.document = poppler_document_new_from_bytes(bytes, NULL, &error)};
    g_bytes_unref(bytes);
    if (ret->document == NULL) {
        (void)fail_open(sink, error);
        g_clear_error(&error);
        return false;
    }
    int pages = poppler_document_get_n_pages(ret->document);
    ret->pages = pages > 0 ? (uint64_t)pages : 0;
    return true;
}

void pdf_finish(struct pdf *pdf) {
    if (pdf->document != NULL) {
        g_object_unref(pdf->document);
    }
    *pdf = (struct pdf){0};
}

/* What Poppler gives is UTF-8, but for what a damaged font says. */
static bool add_page(struct sink *sink, const struct pdf *pdf, uint64_t number) {
    char line[40];
    (void)snprintf(line, sizeof line, "[page %llu]\n", (unsigned long long)number);
    if (!sink_new_line(sink) || !sink_add_string(sink, line)) {
        return false;
    }
    PopplerPage *page = poppler_document_get_page(pdf->document, (int)number - 1);
    char *text = page != NULL ? poppler_page_get_text(page) : NULL;
    struct text valid = {0};
    text_add_utf8(&valid, text != NULL ? text : "", text != NULL ? strlen(text) : 0);
    bool goes_on = !valid.failed ? sink_add(sink, valid.length > 0 ? valid.data : "", valid.length)
                                 : sink_fail(sink, valid.too_long,
                                             "page %llu has more than %zu MiB of text",
                                             (unsigned long long)number, TEXT_SIZE_MAX >> 20);
    text_finish(&valid);
    g_free(text);
    if (page != NULL) {
        g_object_unref(page);
    }
    return goes_on;
}

bool pdf_read(struct sink *sink, const struct pdf *pdf, uint64_t first, uint64_t last) {
    for (uint64_t i = first; i <= last && i <= pdf->pages; i++) {
        if (!sink_goes_on(sink) || !add_page(sink, pdf, i)) {
            return false;
        }
    }
    return true;
}

static void take(char *given, char ret[256]) {
    const char *end = NULL;
    ret[0] = '\0';
    if (given != NULL && g_utf8_validate(given, -1, &end)) {
        size_t length = strlen(given);
        length = length < 255 ? length : 255;
        while (length > 0 && ((unsigned char)given[length] & 0xc0) == 0x80) {
            length--; /* no half of a character */
        }
        memcpy(ret, given, length);
        ret[length] = '\0';
    }
    g_free(given);
}

void pdf_describe(const struct pdf *pdf, char title[256], char author[256]) {
    take(poppler_document_get_title(pdf->document), title);
    take(poppler_document_get_author(pdf->document), author);
}
