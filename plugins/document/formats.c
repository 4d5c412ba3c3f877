#include "formats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "xml.h"

#define CODE_SIZE     256
/* Formats of the file's own; their numbers begin at 164, and those below are the same everywhere.
 */
#define CUSTOM_MAX    2048u
#define DAY_S         86400
#define UNIX_DAY      25569 /* 1970-01-01 */
#define DAYS_1904     1462
#define DAYS_END      2958466.0 /* 10000-01-01 */
#define FICTIONAL_DAY 60        /* 1900-02-29, which there was not */

enum kind { KIND_NUMBER, KIND_DATE, KIND_TIME, KIND_DATE_TIME, KIND_ELAPSED };

/* -------------------------------------------------------------------- codes */

static enum kind kind_of_number(unsigned long id) {
    if ((id >= 14 && id <= 17) || (id >= 27 && id <= 31) || id == 36 || (id >= 50 && id <= 54) ||
        id == 57 || id == 58) {
        return KIND_DATE;
    }
    return id == 22                                         ? KIND_DATE_TIME
           : (id >= 18 && id <= 21) || id == 45 || id == 47 ? KIND_TIME
           : (id >= 32 && id <= 35) || id == 55 || id == 56 ? KIND_TIME
           : id == 46                                       ? KIND_ELAPSED
                                                            : KIND_NUMBER;
}

/* What is in brackets: "[h]" counts on beyond a day; colours, conditions and currencies say
 * nothing.
 */
static bool is_elapsed(const char *bracket) {
    size_t length = strspn(bracket, "hHmMsS");
    return length > 0 && bracket[length] == ']';
}

/* "yyyy\-mm\-dd", "[$-407]d. mmmm yyyy;@", "h:mm AM/PM", but not "0.00", "General" or "0 \d\a\y\s".
 * Only the first of the sections counts, which is for positive numbers. */
static enum kind kind_of_code(const char *code) {
    bool has_day = false;
    bool has_month = false;
    bool has_time = false;
    if (strncmp(code, "General", 7) == 0) {
        return KIND_NUMBER;
    }
    for (const char *at = code; *at != '\0' && *at != ';'; at++) {
        if (*at == '"') {
            const char *end = strchr(at + 1, '"');
            at = end != NULL ? end : at + strlen(at) - 1;
        } else if ((*at == '\\' || *at == '_' || *at == '*') && at[1] != '\0') {
            at++;
        } else if (*at == '[') {
            if (is_elapsed(at + 1)) {
                return KIND_ELAPSED;
            }
            const char *end = strchr(at, ']');
            at = end != NULL ? end : at;
        } else if (strncmp(at, "AM/PM", 5) == 0) {
            at += 4;
        } else if (*at == '#' || *at == '0' || *at == '?') {
            /* Of a number, or the parts of a second, which come after it. */
            if (!has_time) {
                return KIND_NUMBER;
            }
        } else {
            has_day = has_day || strchr("yYdD", *at) != NULL;
            has_time = has_time || strchr("hHsS", *at) != NULL;
            has_month = has_month || *at == 'm' || *at == 'M';
        }
    }
    return has_day && has_time    ? KIND_DATE_TIME
           : has_time             ? KIND_TIME
           : has_day || has_month ? KIND_DATE
                                  : KIND_NUMBER;
}

/* ------------------------------------------------------------------ reading */

struct custom {
    unsigned long id;
    enum kind kind;
};

struct reading {
    struct formats *formats;
    struct custom *customs; /* owned */
    size_t custom_count;
    bool is_cells; /* within <cellXfs>; other styles have the same elements */
};

static void add_custom(struct reading *reading, struct xml *xml) {
    char id[20];
    char code[CODE_SIZE];
    xml_attribute(xml, "numFmtId", id, sizeof id);
    xml_attribute(xml, "formatCode", code, sizeof code);
    if (reading->custom_count < CUSTOM_MAX) {
        reading->customs[reading->custom_count++] =
                (struct custom){.id = strtoul(id, NULL, 10), .kind = kind_of_code(code)};
    }
}

static void add_style(struct reading *reading, struct xml *xml) {
    struct formats *formats = reading->formats;
    char text[20];
    xml_attribute(xml, "numFmtId", text, sizeof text);
    unsigned long id = strtoul(text, NULL, 10);
    enum kind kind = kind_of_number(id);
    for (size_t i = 0; i < reading->custom_count; i++) {
        if (reading->customs[i].id == id) {
            kind = reading->customs[i].kind;
        }
    }
    if (formats->count < FORMATS_STYLES_MAX) {
        formats->kinds[formats->count++] = (uint8_t)kind;
    }
}

static bool read_styles(struct sink *sink, const struct part *part, struct reading *reading) {
    struct xml xml;
    enum xml_event event;
    if (xml_init(&xml, sink, part)) {
        while ((event = xml_next(&xml)) != XML_END) {
            if ((event == XML_OPEN || event == XML_CLOSE) && xml_is(&xml, "cellXfs")) {
                reading->is_cells = event == XML_OPEN && !xml.is_empty;
            } else if (event == XML_OPEN && xml_is(&xml, "numFmt")) {
                add_custom(reading, &xml);
            } else if (event == XML_OPEN && reading->is_cells && xml_is(&xml, "xf")) {
                add_style(reading, &xml);
            }
        }
    }
    xml_finish(&xml);
    return sink_goes_on(sink);
}

static bool read_begin(struct sink *sink, const struct part *part, bool *ret_from_1904) {
    struct xml xml;
    enum xml_event event;
    if (xml_init(&xml, sink, part)) {
        while ((event = xml_next(&xml)) != XML_END) {
            if (event == XML_OPEN && xml_is(&xml, "workbookPr")) {
                char text[8];
                xml_attribute(&xml, "date1904", text, sizeof text);
                *ret_from_1904 = strcmp(text, "1") == 0 || strcmp(text, "true") == 0;
            }
        }
    }
    xml_finish(&xml);
    return sink_goes_on(sink);
}

bool formats_read(struct sink *sink, const struct parts *parts, struct formats *ret) {
    const struct part *styles = parts_find(parts, "xl/styles.xml");
    const struct part *book = parts_find(parts, "xl/workbook.xml");
    *ret = (struct formats){0};
    if (styles == NULL || book == NULL) {
        return true;
    }
    struct reading reading = {.formats = ret,
                              .customs = calloc(CUSTOM_MAX, sizeof *reading.customs)};
    ret->kinds = calloc(FORMATS_STYLES_MAX, sizeof *ret->kinds);
    bool is_read =
            reading.customs != NULL && ret->kinds != NULL
                    ? read_styles(sink, styles, &reading) && read_begin(sink, book, &ret->from_1904)
                    : sink_fail(sink, false, "out of memory");
    free(reading.customs);
    return is_read;
}

void formats_finish(struct formats *formats) {
    free(formats->kinds);
    *formats = (struct formats){0};
}

/* ------------------------------------------------------------------ writing */

/* "45306.604166666664" in seconds; strtod() would read it by the locale. False: of another form. */
static bool read_seconds(const char *value, int64_t *ret) {
    double days = 0;
    double unit = 1;
    const char *at = value;
    for (; *at >= '0' && *at <= '9' && days < DAYS_END; at++) {
        days = days * 10 + (*at - '0');
    }
    if (*at == '.') {
        for (at++; *at >= '0' && *at <= '9'; at++) {
            unit /= 10;
            days += unit * (*at - '0');
        }
    }
    if (at == value || *at != '\0' || days >= DAYS_END) {
        return false;
    }
    *ret = (int64_t)(days * DAY_S + 0.5);
    return true;
}

static bool write_day(int64_t seconds, bool has_time, char ret[FORMATS_DATE_SIZE]) {
    time_t moment = (time_t)(seconds - (int64_t)UNIX_DAY * DAY_S);
    struct tm parts;
    if (gmtime_r(&moment, &parts) == NULL) {
        return false;
    }
    return has_time ? strftime(ret, FORMATS_DATE_SIZE, "%Y-%m-%d %H:%M:%S", &parts) > 0
                    : strftime(ret, FORMATS_DATE_SIZE, "%Y-%m-%d", &parts) > 0;
}

bool formats_date(const struct formats *formats, size_t style, const char *value,
                  char ret[FORMATS_DATE_SIZE]) {
    int64_t seconds;
    if (style >= formats->count || formats->kinds[style] == KIND_NUMBER ||
        !read_seconds(value, &seconds)) {
        return false;
    }
    long of_day = (long)(seconds % DAY_S);
    if (formats->kinds[style] == KIND_TIME || formats->kinds[style] == KIND_ELAPSED) {
        long hours = formats->kinds[style] == KIND_TIME ? of_day / 3600 : (long)(seconds / 3600);
        (void)snprintf(ret, FORMATS_DATE_SIZE, "%02ld:%02ld:%02ld", hours, of_day / 60 % 60,
                       of_day % 60);
        return true;
    }
    if (formats->from_1904) {
        seconds += (int64_t)DAYS_1904 * DAY_S;
    } else if (seconds < (int64_t)FICTIONAL_DAY * DAY_S) {
        seconds += DAY_S; /* days before it are counted as if it had been */
    } else if (seconds < (int64_t)(FICTIONAL_DAY + 1) * DAY_S) {
        return false;
    }
    return write_day(seconds, formats->kinds[style] == KIND_DATE_TIME, ret);
}
