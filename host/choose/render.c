#include "choose/render.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/text.h"
#include "choose/unit.h"
#include "choose/zone.h"

/* ------------------------------------------------------------------ numbers */

/* The most digits of which a double keeps each. */
#define DOUBLE_DIGITS_MAX 15u

static void add_number(struct buf *out, double number, bool whole) {
    if (whole && fabs(number) < VALUE_NUMBER_EXACT && floor(number) == number) {
        buf_add_json_int(out, (int64_t)number);
    } else {
        buf_add_json_double(out, number);
    }
}

/* Whether no number in JSON has all digits of an integer: it is not rounded, but asked for. */
static bool is_too_large(const struct values *values, const struct parameter *parameter,
                         const struct value *value) {
    bool negative;
    uint64_t size;
    size_t digits = value_count_digits(values, value);
    return value_read_integer(values, value, &negative, &size) == INTEGER_LARGE &&
           (parameter->whole || digits == 0 || digits > DOUBLE_DIGITS_MAX);
}

/* The number of a value as it stands. One that no number in JSON has is a string: it keeps its
 * digits, and no schema for a number takes it. */
static void add_own_number(const struct values *values, const struct parameter *parameter,
                           const struct value *value, struct buf *out) {
    bool negative;
    uint64_t size;
    if (value_read_integer(values, value, &negative, &size) == INTEGER_EXACT) {
        buf_printf(out, "%s%" PRIu64, negative ? "-" : "", size);
    } else if (is_too_large(values, parameter, value)) {
        size_t start = values->tokens[value->item_first].start;
        size_t end = values->tokens[value->item_first + value->item_count - 1u].end;
        buf_add_json_string(out, values->text + start, end - start);
    } else {
        bool whole = parameter->whole || value->whole || floor(value->number) == value->number;
        add_number(out, value->number, whole);
    }
}

static void render_number(const struct values *values, const struct parameter *parameter,
                          const struct value *value, enum evidence_form form, struct buf *out) {
    double number = value->number;
    if (value->kind == VALUE_DATE) {
        number = value->time.year;
    } else if (form == FORM_FRACTION) {
        number = floor(number * 1e6 + 0.5) / 1e8;
    } else if (form == FORM_CONVERTED) {
        (void)unit_convert(value, parameter->unit, &number);
    } else {
        add_own_number(values, parameter, value, out);
        return;
    }
    add_number(out, number, true);
}

/* ------------------------------------------------------------ dates, times */

/* The number of times that a letter stands at a place of a pattern. */
static size_t run_length(const char *pattern, size_t length, size_t at) {
    size_t n = 1;
    while (at + n < length && pattern[at + n] == pattern[at]) {
        n++;
    }
    return n;
}

/* Write a time by a pattern in lower case: yyyy-mm-dd hh:mm:ss. "mm" behind "hh" is minutes. */
static void add_pattern(struct buf *out, const char *pattern, size_t length,
                        const struct value_time *time) {
    bool clock = false;
    for (size_t i = 0; i < length;) {
        size_t n = run_length(pattern, length, i);
        switch (pattern[i]) {
        case 'y':
            buf_printf(out, n > 2 ? "%04d" : "%02d", n > 2 ? time->year : time->year % 100);
            break;
        case 'd': buf_printf(out, "%02d", time->day); break;
        case 'h':
            buf_printf(out, "%02d", time->hour);
            clock = true;
            break;
        case 'm': buf_printf(out, "%02d", clock ? time->minute : time->month); break;
        case 's': buf_printf(out, "%02d", time->second); break;
        case 't': buf_add_char(out, 'T'); break;
        default: buf_add(out, pattern + i, n); break;
        }
        i += n;
    }
}

static bool is_date_pattern(const struct parameter *parameter) {
    return parameter->pattern != NULL &&
           memchr(parameter->pattern, 'y', parameter->pattern_length) != NULL;
}

/* "5:00 PM", if the examples are written so. */
static bool wants_half(const struct parameter *parameter) {
    return strstr(parameter->description, " PM") != NULL ||
           strstr(parameter->description, " AM") != NULL;
}

static void add_clock(const struct parameter *parameter, const struct value_time *time,
                      struct buf *out) {
    const char *pattern = parameter->pattern;
    const char *clock = pattern != NULL ? strstr(pattern, "hh:mm") : NULL;
    if (clock == NULL && wants_half(parameter)) {
        int hour = time->hour % 12 == 0 ? 12 : time->hour % 12;
        buf_printf(out, "%d:%02d %s", hour, time->minute, time->hour < 12 ? "AM" : "PM");
    } else if (clock != NULL && strncmp(clock, "hh:mm:ss", 8) == 0) {
        buf_printf(out, "%02d:%02d:%02d", time->hour, time->minute, time->second);
    } else {
        buf_printf(out, "%02d:%02d", time->hour, time->minute);
    }
}

/* The offset of a local time from UTC, as RFC 3339 wants it: that of the time zone then. */
static void add_offset(const struct values *values, const struct value_time *time,
                       struct buf *out) {
    const struct arguments_context *context = &values->context;
    int32_t offset = context->has_now ? context->offset_minutes : 0;
    int64_t seconds = value_days(time) * 86400 + time->hour * 3600 + time->minute * 60;
    if (context->time_zone != NULL) {
        (void)zone_offset(context->time_zone, (seconds - offset * 60) * 1000, &offset, NULL);
    }
    if (offset == 0) {
        buf_add_char(out, 'Z');
    } else {
        int32_t size = offset < 0 ? -offset : offset;
        buf_printf(out, "%c%02d:%02d", offset < 0 ? '-' : '+', (int)(size / 60), (int)(size % 60));
    }
}

static bool wants_offset(const struct parameter *parameter) {
    const char *format = yyjson_get_str(yyjson_obj_get(parameter->schema, "format"));
    return format != NULL && strcmp(format, "date-time") == 0;
}

static void add_moment(const struct values *values, const struct parameter *parameter,
                       const struct value_time *time, struct buf *out) {
    bool space = is_date_pattern(parameter) &&
                 memchr(parameter->pattern, ' ', parameter->pattern_length) != NULL;
    if (is_date_pattern(parameter) &&
        memchr(parameter->pattern, 'h', parameter->pattern_length) != NULL) {
        add_pattern(out, parameter->pattern, parameter->pattern_length, time);
    } else {
        buf_printf(out, "%04d-%02d-%02d%c%02d:%02d:%02d", time->year, time->month, time->day,
                   space ? ' ' : 'T', time->hour, time->minute, time->second);
        if (wants_offset(parameter)) {
            add_offset(values, time, out);
        }
    }
}

static void add_date(const struct parameter *parameter, const struct value_time *time,
                     struct buf *out) {
    if (is_date_pattern(parameter)) {
        size_t length = parameter->pattern_length;
        const char *clock = memchr(parameter->pattern, 'h', length);
        if (clock != NULL && !time->has_clock) {
            length = (size_t)(clock - parameter->pattern);
            while (length > 0 && strchr(" t", parameter->pattern[length - 1]) != NULL) {
                length--;
            }
        }
        add_pattern(out, parameter->pattern, length, time);
    } else {
        buf_printf(out, "%04d-%02d-%02d", time->year, time->month, time->day);
    }
}

/* A date or time as its parameter wants it; false: as it stands in the text. */
static bool add_time(const struct values *values, const struct parameter *parameter,
                     const struct value *value, struct buf *out) {
    bool dated = value->time.year > 0 && value->time.has_day;
    switch (parameter->hint) {
    case HINT_TIME:
        if (value->kind == VALUE_TIME ||
            (value->kind == VALUE_MOMENT && !is_date_pattern(parameter))) {
            add_clock(parameter, &value->time, out);
            return true;
        }
        break;
    case HINT_MOMENT:
        if (dated && value->time.has_clock) {
            add_moment(values, parameter, &value->time, out);
            return true;
        }
        if (dated) {
            add_date(parameter, &value->time, out);
            return true;
        }
        break;
    case HINT_DATE:
        if (dated && value->kind != VALUE_TIME) {
            add_date(parameter, &value->time, out);
            return true;
        }
        break;
    default: break;
    }
    return false;
}

/* The first or the last day of a range of days, as the role of its parameter wants it. */
static bool add_end_of_range(const struct values *values, const struct parameter *parameter,
                             const struct value *value, struct buf *out) {
    struct value day = *value;
    if (!value->time.has_day || parameter->role == ROLE_NONE) {
        return false;
    }
    bool end = parameter->role == ROLE_END;
    day.kind = VALUE_DATE;
    day.time.hour = end ? 23 : 0;
    day.time.minute = end ? 59 : 0;
    day.time.second = end ? 59 : 0;
    day.time.has_clock = true;
    value_add_days(&day.time, end ? (int64_t)value->number : 0);
    return add_time(values, parameter, &day, out);
}

/* -------------------------------------------------------------------- texts */

static void add_raw(const struct values *values, size_t start, size_t end, struct buf *out) {
    text_add_valid(out, values->text + start, end - start);
}

/* Words as they stand, and of what has a form of its own the text as it is read: １２３ is 123. */
static void add_said(const struct values *values, const struct value *value, struct buf *out) {
    const uint32_t words = VALUE_BIT(VALUE_QUOTED) | VALUE_BIT(VALUE_PATH) | VALUE_BIT(VALUE_NAME) |
                           VALUE_BIT(VALUE_CHUNK) | VALUE_BIT(VALUE_PART);
    if ((VALUE_BIT(value->kind) & words) == 0) {
        add_raw(values, value->start, value->end, out);
        return;
    }
    size_t start = value_origin(values, value->start);
    text_add_valid(out, values->said + start, value_origin(values, value->end) - start);
}

static bool wants_code(const struct parameter *parameter, size_t size) {
    if (strstr(parameter->lower, "iso") != NULL || strstr(parameter->lower, "code") != NULL ||
        strstr(parameter->lower, "代码") != NULL) {
        return true;
    }
    const char *pattern = yyjson_get_str(yyjson_obj_get(parameter->schema, "pattern"));
    if (pattern != NULL && strstr(pattern, "[A-Z]{") != NULL) {
        return true;
    }
    const struct parameter_text *example = &parameter->examples[0];
    return parameter->example_count > 0 && example->length == size &&
           ascii_is_letter(example->text[0]);
}

/* What the words of a value stand for, from the context. */
static void add_context(const struct values *values, const struct parameter *parameter,
                        const struct value *value, struct buf *out) {
    const struct lexeme *lexeme = value->lexeme;
    if (value->source == ARGUMENTS_FROM_FOLDER) {
        buf_add_text(out, values->context.folder != NULL ? values->context.folder : ".");
    } else if (value->source == ARGUMENTS_FROM_ZONE) {
        buf_add_text(out, values->context.time_zone);
    } else if (value->kind == VALUE_LANGUAGE && !wants_code(parameter, 2)) {
        buf_add_char(out, ascii_is_letter(lexeme->text[0]) ? (char)(lexeme->text[0] - 32)
                                                           : lexeme->text[0]);
        buf_add(out, lexeme->text + 1, lexeme->length - 1u);
    } else {
        buf_add_text(out, lexeme->first);
    }
}

/* Whether a parameter takes absolute paths only. */
static bool wants_absolute(const struct parameter *parameter) {
    return strstr(parameter->lower, "absolute") != NULL ||
           strstr(parameter->lower, "绝对路径") != NULL ||
           strstr(parameter->lower, "full path") != NULL;
}

/* A relative path in the working folder, without "./" and "../" at its beginning. */
static void add_absolute(const struct values *values, const struct value *value, struct buf *out) {
    const char *folder = values->context.folder;
    size_t length = strlen(folder);
    size_t start = value->start;
    const char *text = values->text;
    while (value->end - start > 2 && text[start] == '.') {
        if (text[start + 1] == '/') {
            start += 2;
        } else if (value->end - start > 3 && text[start + 1] == '.' && text[start + 2] == '/') {
            start += 3;
            while (length > 1 && folder[--length] != '/') {
            }
        } else {
            break;
        }
    }
    buf_add(out, folder, length);
    buf_add_text(out, length > 0 && folder[length - 1] == '/' ? "" : "/");
    add_raw(values, start, value->end, out);
}

/* Whether the text says that what it names is in the working folder: "remove report.txt here". */
static bool names_folder(const struct values *values) {
    for (size_t i = 0; i < values->solid_count; i++) {
        const struct value *value = &values->list[i];
        if (value->kind == VALUE_PATH && value->source == ARGUMENTS_FROM_FOLDER) {
            return true;
        }
    }
    return false;
}

bool render_is_absolute(const struct values *values, const struct parameter *parameter,
                        const struct value *value) {
    char first = values->text[value->start];
    return value->kind == VALUE_PATH && value->source == ARGUMENTS_FROM_TEXT &&
           values->context.folder != NULL && (wants_absolute(parameter) || names_folder(values)) &&
           first != '/' && first != '~' && first != '\\' && values->text[value->start + 1] != ':';
}

/* Whether words are a regular expression as they stand: they have signs that no other text has. A
 * repetition alone is none: C++, "what?". */
static bool is_pattern(const char *text, size_t length) {
    bool other = false;
    bool repeated = false;
    bool word = false;
    for (size_t i = 0; i < length; i++) {
        word = word || ascii_is_alnum(text[i]) || (text[i] & 0x80) != 0;
        other = other || (text[i] != '\0' && strchr("\\[]|{}", text[i]) != NULL) ||
                (text[i] == '^' && i == 0) || (text[i] == '$' && i > 0 && i + 1 == length);
        repeated = repeated ||
                   (i > 0 && strchr("*+?", text[i]) != NULL && strchr(".)", text[i - 1]) != NULL);
    }
    return repeated || (other && word);
}

/* Words that are meant as they stand, where a regular expression is wanted. */
static void add_escaped(const struct values *values, const struct value *value, struct buf *out) {
    const char *text = values->text + value->start;
    size_t length = value->end - value->start;
    if (is_pattern(text, length)) {
        add_raw(values, value->start, value->end, out);
        return;
    }
    CLEANUP(buf_finish) struct buf escaped = BUF_INIT;
    for (size_t i = 0; i < length; i++) {
        if (strchr("\\.^$|?*+()[]{}", text[i]) != NULL && text[i] != '\0') {
            buf_add_char(&escaped, '\\');
        }
        buf_add_char(&escaped, text[i]);
    }
    text_add_valid(out, escaped.data != NULL ? escaped.data : "", escaped.length);
    out->failed = out->failed || escaped.failed;
}

static void add_text(const struct values *values, const struct parameter *parameter,
                     const struct value *value, struct buf *out) {
    const struct lexeme *lexeme = value->lexeme;
    if (value_is_class(value)) {
        buf_add_text(out, parameter->regex == REGEX_PATTERN ? lexeme->first : lexeme->second);
        return;
    }
    if (parameter->regex == REGEX_PATTERN && value->kind != VALUE_QUOTED) {
        add_escaped(values, value, out);
        return;
    }
    if (value->source != ARGUMENTS_FROM_TEXT) {
        add_context(values, parameter, value, out);
        return;
    }
    if (render_is_absolute(values, parameter, value)) {
        add_absolute(values, value, out);
        return;
    }
    switch (value->kind) {
    case VALUE_DATE:
    case VALUE_TIME:
    case VALUE_MOMENT:
        if (add_time(values, parameter, value, out)) {
            return;
        }
        break;
    case VALUE_DURATION:
        if (add_end_of_range(values, parameter, value, out)) {
            return;
        }
        break;
    case VALUE_COLOR:
    case VALUE_STATE:
        if (values->text[value->start] & 0x80 || value->kind == VALUE_STATE) {
            buf_add_text(out, lexeme->second);
            return;
        }
        break;
    case VALUE_COUNTRY:
    case VALUE_PLACE:
        if (parameter->hint == HINT_ZONE) {
            buf_add_text(out, lexeme->first);
            return;
        }
        if (parameter->hint == HINT_COUNTRY && wants_code(parameter, 2)) {
            buf_add_text(out, lexeme->second);
            return;
        }
        break;
    case VALUE_CURRENCY:
    case VALUE_MONEY:
        if (parameter->hint == HINT_CURRENCY &&
            (value->kind == VALUE_MONEY || wants_code(parameter, 3))) {
            buf_add_text(out, lexeme->first);
            return;
        }
        break;
    case VALUE_LANGUAGE:
        if (parameter->hint == HINT_LANGUAGE && wants_code(parameter, 2)) {
            buf_add_text(out, lexeme->first);
            return;
        }
        break;
    case VALUE_EXPRESSION: value_write_expression(values, value, out); return;
    default: break;
    }
    add_said(values, value, out);
}

static void render_text(const struct values *values, const struct parameter *parameter,
                        const struct candidate *candidate, const struct value *value,
                        struct buf *out) {
    struct buf text = BUF_INIT;
    if (candidate->form == FORM_NUMBER) {
        size_t first = value->item_first;
        add_raw(values, values->tokens[first].start,
                values->tokens[first + value->item_count - 1u].end, &text);
    } else {
        add_text(values, parameter, value, &text);
        if (candidate->form == FORM_REGION) {
            buf_printf(&text, ", %s", value->lexeme->third);
        }
    }
    buf_add_json_string(out, text.data != NULL ? text.data : "", text.length);
    out->failed = out->failed || text.failed;
    buf_finish(&text);
}

/* --------------------------------------------------------------------- JSON */

static bool add_json(const char *text, size_t length, yyjson_type type, struct buf *out) {
    yyjson_doc *doc = yyjson_read(text, length, YYJSON_READ_NOFLAG);
    yyjson_val *root = yyjson_doc_get_root(doc);
    bool good = root != NULL && yyjson_get_type(root) == type && !json_is_deeper(root, 32);
    char *json = good ? yyjson_val_write(root, YYJSON_WRITE_NOFLAG, NULL) : NULL;
    if (json != NULL) {
        buf_add_text(out, json);
    }
    free(json);
    yyjson_doc_free(doc);
    return json != NULL;
}

/* Brackets with JSON, or with what Python writes: single quotes. */
static bool render_json(const struct values *values, const struct parameter *parameter,
                        const struct value *value, struct buf *out) {
    const char *text = values->text + value->start;
    size_t length = value->end - value->start;
    const char *wanted = yyjson_get_str(yyjson_obj_get(parameter->schema, "type"));
    bool object = wanted != NULL && strcmp(wanted, "object") == 0;
    if (parameter->type == PARAMETER_STRING) {
        buf_add_json_string(out, text, length);
        return true;
    }
    yyjson_type type = object ? YYJSON_TYPE_OBJ : YYJSON_TYPE_ARR;
    if (add_json(text, length, type, out)) {
        return true;
    }
    struct buf copy = BUF_INIT;
    for (size_t i = 0; i < length; i++) {
        buf_add_char(&copy, text[i] == '\'' ? '"' : text[i]);
    }
    bool good = !copy.failed && add_json(copy.data, copy.length, type, out);
    buf_finish(&copy);
    return good;
}

static void render_list(const struct values *values, const struct parameter *parameter,
                        const struct value *value, struct buf *out) {
    buf_add_char(out, '[');
    for (size_t i = 0; i < value->item_count; i++) {
        const struct value *item = &values->list[values->items[value->item_first + i]];
        buf_add_text(out, i > 0 ? ", " : "");
        if (parameter->numbers) {
            add_own_number(values, parameter, item, out);
        } else {
            struct candidate plain = {.form = FORM_PLAIN};
            render_text(values, parameter, &plain, item, out);
        }
    }
    buf_add_char(out, ']');
}

/* ------------------------------------------------------------------- choices */

static void add_choice(const struct parameter *parameter, size_t index, struct buf *out) {
    buf_add_json_string(out, parameter->choices[index].text, parameter->choices[index].length);
}

static void render_choices(const struct values *values, const struct parameter *parameter,
                           size_t level, struct buf *out) {
    CLEANUP(freep)
    struct choice_match *matches = malloc((parameter->choice_count + 1) * sizeof *matches);
    bool first = true;
    out->failed = out->failed || matches == NULL;
    if (matches == NULL) {
        return;
    }
    (void)choice_find_all(values, parameter, parameter->choice_count, matches);
    buf_add_char(out, '[');
    for (size_t i = 0; i < parameter->choice_count; i++) {
        if (matches[i].level >= level) {
            buf_add_text(out, first ? "" : ", ");
            add_choice(parameter, i, out);
            first = false;
        }
    }
    buf_add_char(out, ']');
}

static void add_truth(const struct parameter *parameter, bool truth, struct buf *out) {
    if (parameter->choice_count == 2) {
        add_choice(parameter, truth == parameter->yes_first ? 0 : 1, out);
    } else {
        buf_add_text(out, truth ? "true" : "false");
    }
}

/* ------------------------------------------------------------------ together */

static bool render_value(const struct values *values, const struct parameter *parameter,
                         const struct candidate *candidate, struct buf *out) {
    const struct value *value = &values->list[candidate->index];
    if (value->kind == VALUE_JSON) {
        return render_json(values, parameter, value, out);
    }
    if (parameter->type == PARAMETER_NUMBER) {
        render_number(values, parameter, value, (enum evidence_form)candidate->form, out);
        return true;
    }
    if (value->kind == VALUE_LIST && parameter->type == PARAMETER_ARRAY) {
        render_list(values, parameter, value, out);
    } else if (candidate->form == FORM_SINGLE && parameter->numbers) {
        buf_add_char(out, '[');
        add_own_number(values, parameter, value, out);
        buf_add_char(out, ']');
    } else if (candidate->form == FORM_SINGLE) {
        buf_add_char(out, '[');
        render_text(values, parameter, candidate, value, out);
        buf_add_char(out, ']');
    } else {
        render_text(values, parameter, candidate, value, out);
    }
    return true;
}

bool render_day(const struct values *values, const struct parameter *parameter,
                const struct value *day, struct buf *out) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    struct value range = *day;
    range.number = 0;
    bool good = add_end_of_range(values, parameter, &range, &text);
    if (good) {
        buf_add_json_string(out, text.data, text.length);
    }
    return good && !text.failed;
}

bool render_candidate(const struct values *values, const struct parameter *parameter,
                      const struct candidate *candidate, struct buf *out) {
    switch (candidate->form) {
    case FORM_NONE: return false;
    case FORM_TRUE:
    case FORM_FALSE: add_truth(parameter, candidate->form == FORM_TRUE, out); return true;
    case FORM_CHOICE: add_choice(parameter, candidate->index, out); return true;
    case FORM_CHOICES: render_choices(values, parameter, candidate->index, out); return true;
    default: return render_value(values, parameter, candidate, out);
    }
}

/* ------------------------------------------------------------------ refusing */

/* Bytes of a value that are shown. */
#define REFUSED_SHOWN_MAX 60u

static bool is_refused_number(const struct values *values, const struct parameter *parameter,
                              const struct value *value, struct buf *reason) {
    bool numbers = parameter->type == PARAMETER_NUMBER ||
                   (parameter->type == PARAMETER_ARRAY && parameter->numbers);
    if (!numbers || !is_too_large(values, parameter, value)) {
        return false;
    }
    buf_add_text(reason, values->chinese ? "“" : "\"");
    text_add_cut(reason, values->text + value->start, value->end - value->start, REFUSED_SHOWN_MAX);
    buf_add_text(reason, values->chinese ? "”超过64位，无法精确传递"
                                         : "\" has more than 64 bits and cannot be passed exactly");
    return true;
}

/* A date that no calendar has, or of which more is said than is understood; and other words where a
 * date of a stated form is wanted: a holiday. */
static bool is_refused_date(const struct values *values, const struct parameter *parameter,
                            const struct value *value, struct buf *reason) {
    const uint32_t times = VALUE_BIT(VALUE_DATE) | VALUE_BIT(VALUE_MOMENT) | VALUE_BIT(VALUE_TIME) |
                           VALUE_BIT(VALUE_DURATION) | VALUE_BIT(VALUE_QUOTED);
    bool dated = parameter->hint == HINT_DATE || parameter->hint == HINT_MOMENT;
    bool other = is_date_pattern(parameter) && (VALUE_BIT(value->kind) & times) == 0;
    if (!dated || parameter->type != PARAMETER_STRING ||
        (value->time.doubt == DOUBT_NONE && !other)) {
        return false;
    }
    bool impossible = value->time.doubt == DOUBT_IMPOSSIBLE;
    buf_add_text(reason, values->chinese ? "“" : "\"");
    text_add_cut(reason, values->text + value->start, value->end - value->start, REFUSED_SHOWN_MAX);
    buf_add_text(reason, values->chinese && impossible ? "”不是日历上的日期"
                         : values->chinese             ? "”不能确定是哪一天"
                         : impossible                  ? "\" is no day of the calendar"
                                                       : "\" does not say which day it is");
    return true;
}

bool render_is_refused(const struct values *values, const struct parameter *parameter,
                       const struct candidate *candidate, struct buf *reason) {
    if (candidate->form != FORM_PLAIN && candidate->form != FORM_SINGLE) {
        return false;
    }
    const struct value *value = &values->list[candidate->index];
    if (value->kind != VALUE_LIST) {
        return is_refused_number(values, parameter, value, reason) ||
               is_refused_date(values, parameter, value, reason);
    }
    for (size_t i = 0; i < value->item_count; i++) {
        const struct value *item = &values->list[values->items[value->item_first + i]];
        if (is_refused_number(values, parameter, item, reason)) {
            return true;
        }
    }
    return false;
}
