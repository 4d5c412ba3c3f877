/* The file is nested elements all called Cube:
 *
 *     <Cube>
 *       <Cube time="2025-01-31">
 *         <Cube currency="USD" rate="1.0393"/>
 *
 * so an element is recognized by its attributes. A file with several days (the history files have
 * the same format) is refused, since its rates would be mixed. */
#include "ecb.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <expat.h>

struct reader {
    XML_Parser parser;
    locale_t locale; /**< C: a decimal point in any locale of the process */
    struct rates *rates;
    char *message; /**< ECB_MESSAGE_SIZE; "" without an error */
};

__attribute__((format(printf, 2, 3))) static void fail(struct reader *reader, const char *format,
                                                       ...) {
    if (reader->message[0] == '\0') {
        va_list args;
        va_start(args, format);
        (void)vsnprintf(reader->message, ECB_MESSAGE_SIZE, format, args);
        va_end(args);
    }
    if (reader->parser != NULL) {
        (void)XML_StopParser(reader->parser, XML_FALSE);
    }
}

static unsigned long line_of(const struct reader *reader) {
    return (unsigned long)XML_GetCurrentLineNumber(reader->parser);
}

static const char *attribute(const XML_Char **attributes, const char *name) {
    for (; attributes[0] != NULL; attributes += 2) {
        if (strcmp(attributes[0], name) == 0) {
            return attributes[1];
        }
    }
    return NULL;
}

static void read_rate(struct reader *reader, const char *currency, const char *text) {
    char *end = NULL;
    double rate = strtod_l(text, &end, reader->locale);
    const char *wrong = end == text || *end != '\0' ? "has a rate that is no number"
                                                    : rates_add(reader->rates, currency, rate);
    if (wrong != NULL) {
        fail(reader, "line %lu: %.8s %s", line_of(reader), currency, wrong);
    }
}

static void on_element(void *data, const XML_Char *name, const XML_Char **attributes) {
    struct reader *reader = data;
    if (strcmp(name, "Cube") != 0) {
        return;
    }
    const char *time = attribute(attributes, "time");
    const char *currency = attribute(attributes, "currency");
    const char *rate = attribute(attributes, "rate");
    if (time != NULL) {
        if (!rates_is_date(time)) {
            fail(reader, "line %lu: the time is no date YYYY-MM-DD", line_of(reader));
        } else if (reader->rates->date[0] != '\0') {
            fail(reader, "line %lu: the file has several days; use the daily file",
                 line_of(reader));
        } else {
            memcpy(reader->rates->date, time, RATES_DATE_SIZE);
        }
    } else if (currency != NULL && rate != NULL) {
        read_rate(reader, currency, rate);
    } else if (currency != NULL || rate != NULL) {
        fail(reader, "line %lu: a rate needs both currency and rate", line_of(reader));
    }
}

/* Refuse a doctype: the bank's file has none, and it could only define entities. */
static void on_doctype(void *data, const XML_Char *name, const XML_Char *system_id,
                       const XML_Char *public_id, int has_internal_subset) {
    (void)name;
    (void)system_id;
    (void)public_id;
    (void)has_internal_subset;
    fail(data, "a document type declaration is not allowed");
}

/* Read the whole file; NULL with the message set. Release with free(). */
static char *read_file(struct reader *reader, const char *path, size_t *ret_size) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0) {
        fail(reader, "%s", strerror(errno));
        return NULL;
    }
    char *text = malloc(ECB_FILE_SIZE_MAX + 1);
    size_t size = 0;
    ssize_t got = text == NULL ? -1 : 1;
    while (got > 0 && size <= ECB_FILE_SIZE_MAX) {
        got = read(fd, text + size, ECB_FILE_SIZE_MAX + 1 - size);
        size += got > 0 ? (size_t)got : 0;
    }
    if (got < 0) {
        fail(reader, "%s", strerror(errno));
    } else if (size > ECB_FILE_SIZE_MAX) {
        fail(reader, "is larger than %d bytes", ECB_FILE_SIZE_MAX);
    }
    (void)close(fd);
    if (reader->message[0] != '\0') {
        free(text);
        return NULL;
    }
    *ret_size = size;
    return text;
}

static void parse(struct reader *reader, const char *text, size_t size) {
    XML_SetUserData(reader->parser, reader);
    XML_SetStartElementHandler(reader->parser, on_element);
    XML_SetStartDoctypeDeclHandler(reader->parser, on_doctype);
    if (XML_Parse(reader->parser, text, (int)size, XML_TRUE) != XML_STATUS_OK) {
        fail(reader, "line %lu: %s", line_of(reader),
             XML_ErrorString(XML_GetErrorCode(reader->parser)));
    } else if (reader->rates->date[0] == '\0' || reader->rates->count < 2) {
        fail(reader, "has no dated exchange rates; expected the bank's eurofxref-daily.xml");
    }
}

bool ecb_read(const char *path, struct rates *rates, char message[ECB_MESSAGE_SIZE]) {
    struct reader reader = {.rates = rates, .message = message};
    message[0] = '\0';
    size_t size = 0;
    char *text = read_file(&reader, path, &size);
    if (text == NULL) {
        return false;
    }
    rates_init(rates, "EUR");
    reader.locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    reader.parser = XML_ParserCreate(NULL);
    if (reader.parser == NULL || reader.locale == (locale_t)0) {
        fail(&reader, "out of memory");
    } else {
        parse(&reader, text, size);
    }
    XML_ParserFree(reader.parser);
    if (reader.locale != (locale_t)0) {
        freelocale(reader.locale);
    }
    free(text);
    return message[0] == '\0';
}
