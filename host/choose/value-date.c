/* Dates, times of day and spans of time, as they are written or relative to now. */
#include <string.h>

#include "base/ascii.h"
#include "choose/values-parts.h"

#define YEAR_MIN 1000
#define YEAR_MAX 2999

static bool is_word(const struct values *values, size_t at, const char *word) {
    const struct token *token = &values->tokens[at];
    return at < values->token_count && token->end - token->start == strlen(word) &&
           memcmp(values->lower + token->start, word, strlen(word)) == 0;
}

static const struct lexeme *calendar_at(const struct values *values, size_t at,
                                        size_t *ret_length) {
    *ret_length = 0;
    if (at >= values->token_count) {
        return NULL;
    }
    return token_lexeme(values->lower, values->tokens, values->token_count, at, LEXEME_CALENDAR,
                        ret_length);
}

/* The same, of one sort: 今晚 is a day and the half of a day. */
static const struct lexeme *calendar_of(const struct values *values, size_t at, const char *what,
                                        size_t *ret_length) {
    const struct lexeme *first = calendar_at(values, at, ret_length);
    for (const struct lexeme *lexeme = first;
         first != NULL && lexeme < lexemes + lexeme_count && lexeme->length == first->length &&
         memcmp(lexeme->text, first->text, first->length) == 0;
         lexeme++) {
        if (lexeme->kind == LEXEME_CALENDAR && strcmp(lexeme->first, what) == 0) {
            return lexeme;
        }
    }
    *ret_length = 0;
    return NULL;
}

/* --------------------------------------------------------------------- time */

static int two_digits(const char *text) {
    return ascii_is_digit(text[0]) && ascii_is_digit(text[1])
                   ? (text[0] - '0') * 10 + (text[1] - '0')
                   : -1;
}

/* Until this hour a night is that of the day before: "tomorrow at 2 at night". */
#define NIGHT_LAST 4

/* Whether words say that a clock is at night. */
static bool has_night(const struct values *values, size_t first, size_t last) {
    for (size_t at = first; at < last; at++) {
        size_t length;
        const struct lexeme *half = calendar_of(values, at, "half", &length);
        if (half != NULL && strcmp(half->second, "night") == 0) {
            return true;
        }
    }
    return false;
}

/* Apply "pm" and the like to an hour; false: the hour cannot be. */
static bool apply_half(const struct lexeme *half, int *hour) {
    if (half == NULL) {
        return *hour >= 0 && *hour < 24;
    }
    if (strcmp(half->second, "pm") == 0 && *hour < 12) {
        *hour += 12;
    } else if (strcmp(half->second, "night") == 0 && *hour == 12) {
        *hour = 0;
    } else if (strcmp(half->second, "night") == 0 && *hour > NIGHT_LAST && *hour < 12) {
        *hour += 12;
    } else if (strcmp(half->second, "am") == 0 && *hour == 12) {
        *hour = 0;
    } else if (strcmp(half->second, "noon") == 0 && *hour < 4) {
        *hour += 12;
    }
    return *hour >= 0 && *hour < 24;
}

static void set_clock(struct value_time *time, int hour, int minute, int second) {
    time->hour = (int8_t)hour;
    time->minute = (int8_t)minute;
    time->second = (int8_t)second;
    time->has_clock = true;
}

static int small_number(const struct values *values, size_t at, size_t *ret_length) {
    double number;
    bool whole;
    *ret_length = value_read_number(values, at, &number, &whole);
    return *ret_length > 0 && whole && number >= 0 && number < 10000 ? (int)number : -1;
}

/* 3点, 3点半, 3点15分, behind the half of the day. */
static size_t read_chinese_clock(const struct values *values, size_t at, struct value_time *ret) {
    size_t half_length;
    const struct lexeme *half = calendar_of(values, at, "half", &half_length);
    size_t length;
    int hour = small_number(values, at + half_length, &length);
    size_t i = at + half_length + length;
    bool point = value_is_sign(values, i, 0x70b9) || value_is_sign(values, i, 0x9ede);
    if (hour < 0 || !point || !apply_half(half, &hour)) {
        return 0;
    }
    i++;
    i += value_is_sign(values, i, 0x949f) || value_is_sign(values, i, 0x9418) ||
         value_is_sign(values, i, 0x6574);
    int minute = 0;
    if (value_is_sign(values, i, 0x534a)) {
        minute = 30;
        i++;
    } else {
        int number = small_number(values, i, &length);
        if (number >= 0 && number < 60) {
            minute = number;
            i += length;
            if (value_is_sign(values, i, 0x523b)) { /* 刻 */
                minute *= 15;
                i++;
            }
            i += value_is_sign(values, i, 0x5206);
        }
    }
    if (minute > 59) {
        return 0;
    }
    set_clock(ret, hour, minute, 0);
    return i - at;
}

/* 17:30, 5:30 pm, 17:30:15, 下午3:30. */
static size_t read_colon_clock(const struct values *values, size_t at, struct value_time *ret) {
    const struct token *tokens = values->tokens;
    size_t before;
    const struct lexeme *half = calendar_of(values, at, "half", &before);
    size_t i = at + before;
    if (i + 2 >= values->token_count || tokens[i].kind != TOKEN_NUMBER ||
        !value_is_sign(values, i + 1, ':') || tokens[i + 2].kind != TOKEN_NUMBER ||
        tokens[i + 1].space || tokens[i + 2].space || tokens[i].end - tokens[i].start > 2) {
        return 0;
    }
    int hour = tokens[i].end - tokens[i].start == 2 ? two_digits(values->text + tokens[i].start)
                                                    : values->text[tokens[i].start] - '0';
    size_t size = tokens[i + 2].end - tokens[i + 2].start;
    int minute = size >= 2 ? two_digits(values->text + tokens[i + 2].start) : -1;
    int second = 0;
    i += 3;
    if (minute > 59 || minute < 0 || (size != 2 && size < 4)) {
        return 0;
    }
    if (value_is_sign(values, i, ':') && i + 1 < values->token_count &&
        tokens[i + 1].kind == TOKEN_NUMBER && !tokens[i].space &&
        tokens[i + 1].end - tokens[i + 1].start >= 2) {
        second = two_digits(values->text + tokens[i + 1].start);
        i += 2;
    }
    size_t length = 0;
    const struct lexeme *after = half == NULL ? calendar_of(values, i, "half", &length) : NULL;
    if (after != NULL && after->text[0] != 'i' && (after->text[0] & 0x80) == 0) {
        half = after;
        i += length;
    }
    if (!apply_half(half, &hour) || second > 59 || second < 0) {
        return 0;
    }
    set_clock(ret, hour, minute, second);
    return i - at;
}

/* 5pm, 5 o'clock, noon. */
static size_t read_hour(const struct values *values, size_t at, struct value_time *ret) {
    size_t length;
    const struct lexeme *clock = calendar_of(values, at, "clock", &length);
    if (clock != NULL) {
        set_clock(ret, two_digits(clock->second), two_digits(clock->second + 3), 0);
        return length;
    }
    int hour = small_number(values, at, &length);
    if (hour < 0 || hour > 24 || length != 1) {
        return 0;
    }
    size_t half_length;
    const struct lexeme *half = calendar_of(values, at + 1, "half", &half_length);
    if (half == NULL || (half->text[0] & 0x80) != 0 || !apply_half(half, &hour)) {
        return 0;
    }
    size_t more;
    if (calendar_of(values, at + 1, "day", &more) != NULL) {
        set_clock(ret, hour, 0, 0);
        return 1; /* "8 tonight" is read as a day too */
    }
    const struct lexeme *after = strcmp(half->second, "oclock") == 0
                                         ? calendar_of(values, at + 1 + half_length, "half", &more)
                                         : NULL;
    if (after != NULL && apply_half(after, &hour)) {
        half_length += more;
    }
    set_clock(ret, hour, 0, 0);
    return 1 + half_length;
}

/* Behind a clock: "pm", "in the evening"; its length. */
static size_t read_half_behind(const struct values *values, size_t at, int *hour) {
    size_t length;
    size_t day;
    const struct lexeme *half = calendar_of(values, at, "half", &length);
    bool own = half != NULL && (half->text[0] & 0x80) == 0 &&
               calendar_of(values, at, "day", &day) == NULL;
    return own && apply_half(half, hour) ? length : 0;
}

/* "half past seven", "a quarter to eight", "ten past seven". */
static size_t read_past_clock(const struct values *values, size_t at, struct value_time *ret) {
    size_t a = is_word(values, at, "a");
    bool half = is_word(values, at + a, "half");
    bool quarter = is_word(values, at + a, "quarter");
    size_t length = a + 1;
    int minute = half ? 30 : quarter ? 15 : -1;
    if (minute < 0) {
        minute = values->tokens[at].kind == TOKEN_WORD ? small_number(values, at, &length) : -1;
    }
    bool past = is_word(values, at + length, "past");
    bool to = quarter && is_word(values, at + length, "to");
    if (minute < 1 || minute > 59 || (!past && !to)) {
        return 0;
    }
    size_t more;
    int hour = small_number(values, at + length + 1, &more);
    length += 1 + more;
    if (hour < 1 || hour > 12) {
        return 0;
    }
    hour -= to;
    minute = to ? 60 - minute : minute;
    hour = hour == 0 ? 12 : hour;
    length += read_half_behind(values, at + length, &hour);
    set_clock(ret, hour, minute, 0);
    return length;
}

/* 19h30. */
static size_t read_letter_clock(const struct values *values, size_t at, struct value_time *ret) {
    const struct token *tokens = values->tokens;
    if (at + 1 >= values->token_count || tokens[at].kind != TOKEN_NUMBER || tokens[at + 1].space ||
        tokens[at].end - tokens[at].start > 2 || tokens[at + 1].end - tokens[at + 1].start != 3 ||
        values->lower[tokens[at + 1].start] != 'h') {
        return 0;
    }
    size_t length;
    int hour = small_number(values, at, &length);
    int minute = two_digits(values->text + tokens[at + 1].start + 1);
    if (hour < 0 || hour > 23 || minute < 0 || minute > 59) {
        return 0;
    }
    set_clock(ret, hour, minute, 0);
    return 2;
}

/* Four digits, or digits with a point between them: 0700, 17.30; -1: none. */
static int digits_clock(const struct values *values, const struct token *token) {
    const char *text = values->text + token->start;
    size_t size = token->end - token->start;
    bool plain = size == 4 && two_digits(text) >= 0 && two_digits(text + 2) >= 0;
    size_t point = size == 4 || size == 5 ? size - 3 : 0;
    bool pointed = point > 0 && text[point] == '.' && two_digits(text + point + 1) >= 0;
    if (!plain && !pointed) {
        return -1;
    }
    int hour = point == 2 || plain ? two_digits(text) : text[0] - '0';
    int minute = two_digits(text + size - 2);
    return hour >= 0 && hour < 24 && minute < 60 ? hour * 60 + minute : -1;
}

/* What is a clock only because a day stands beside it, or "at" before it: "at 7", "at 0700", "at
 * 17.30", "at seven thirty". */
static size_t read_bare_clock(const struct values *values, size_t at, struct value_time *ret) {
    size_t length;
    size_t more = 0;
    if (at >= values->token_count || values->tokens[at].kind == TOKEN_HAN) {
        return 0;
    }
    int minute = 0;
    int hour = small_number(values, at, &length);
    int digits = values->tokens[at].kind == TOKEN_NUMBER ? digits_clock(values, &values->tokens[at])
                                                         : -1;
    if (digits >= 0) {
        hour = digits / 60;
        minute = digits % 60;
        length = 1;
    } else if (hour > 0 && hour < 13 && length == 1 && values->tokens[at].kind == TOKEN_WORD) {
        int number = small_number(values, at + 1, &more);
        bool minutes = number > 9 && number < 60 && values->tokens[at + 1].kind == TOKEN_WORD;
        minute = minutes ? number : 0;
        length += minutes ? more : 0;
    }
    size_t end = at + length;
    bool goes_on =
            value_unit_at(values, end, &more) != NULL ||
            token_lexeme(values->lower, values->tokens, values->token_count, end, LEXEME_CURRENCIES,
                         &more) != NULL ||
            (end < values->token_count && values->tokens[end].kind == TOKEN_SIGN &&
             !values->tokens[end].space && strchr(".,?!;", (int)values->tokens[end].sign) == NULL);
    if (hour < 0 || hour > 23 || length == 0 || goes_on) {
        return 0;
    }
    length += read_half_behind(values, end, &hour);
    set_clock(ret, hour, minute, 0);
    return length;
}

static size_t read_clock(const struct values *values, size_t at, struct value_time *ret) {
    size_t length = read_colon_clock(values, at, ret);
    if (length == 0) {
        length = read_chinese_clock(values, at, ret);
    }
    if (length == 0) {
        length = read_past_clock(values, at, ret);
    }
    if (length == 0) {
        length = read_letter_clock(values, at, ret);
    }
    return length > 0 ? length : read_hour(values, at, ret);
}

/* --------------------------------------------------------------------- date */

/* No year that is not known has fewer days. */
static int days_of(int year, int month) {
    static const int8_t days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = year == 0 || (year % 4 == 0 && (year % 100 != 0 || year % 400 == 0));
    return month == 2 && !leap ? 28 : days[month - 1];
}

/* It says nothing but what stands in the text. */
static void set_doubt(struct value_time *time, enum value_doubt doubt) {
    *time = (struct value_time){.doubt = (uint8_t)doubt};
}

/* A day that the month does not have is a date all the same: it is asked for. */
static bool set_date(const struct values *values, struct value_time *time, int year, int month,
                     int day) {
    if (month < 1 || month > 12 || day < 1 || day > 99) {
        return false;
    }
    time->has_year = year != 0;
    time->year = year != 0 ? year : values->now.has_year ? values->now.year : 0;
    if (day > days_of(time->year, month)) {
        set_doubt(time, DOUBT_IMPOSSIBLE);
        return true;
    }
    time->month = (int8_t)month;
    time->day = (int8_t)day;
    time->has_day = true;
    return true;
}

static int plain_number(const struct values *values, const struct token *token, size_t digits_max) {
    size_t size = token->end - token->start;
    int number = 0;
    if (token->kind != TOKEN_NUMBER || size > digits_max) {
        return -1;
    }
    for (size_t i = token->start; i < token->end; i++) {
        if (!ascii_is_digit(values->text[i])) {
            return -1;
        }
        number = number * 10 + (values->text[i] - '0');
    }
    return number;
}

/* 2023.10.1 is one token, and so is 1.10.2023, where the day is first everywhere. */
static size_t read_dotted_date(const struct values *values, size_t at, struct value_time *ret) {
    const struct token *token = &values->tokens[at];
    int parts[3] = {0};
    size_t count = 0;
    for (size_t i = token->start; i < token->end; i++) {
        if (values->text[i] == '.') {
            if (++count > 2) {
                return 0;
            }
        } else if (!ascii_is_digit(values->text[i]) || parts[count] > 9999) {
            return 0;
        } else {
            parts[count] = parts[count] * 10 + (values->text[i] - '0');
        }
    }
    if (count != 2) {
        return 0;
    }
    bool year_first = parts[0] >= YEAR_MIN && parts[0] <= YEAR_MAX;
    bool year_last = parts[2] >= YEAR_MIN && parts[2] <= YEAR_MAX && parts[0] > 0;
    return (year_first && set_date(values, ret, parts[0], parts[1], parts[2])) ||
                           (year_last && set_date(values, ret, parts[2], parts[1], parts[0]))
                   ? 1
                   : 0;
}

/* 2023-04-05, 04/05/2023, 5-4-2023; of two readings that of the locale, without one the American,
 * unless the month is too large. */
static size_t read_numeric_date(const struct values *values, size_t at, struct value_time *ret) {
    const struct token *tokens = values->tokens;
    if (at + 4 >= values->token_count || tokens[at].kind != TOKEN_NUMBER) {
        return 0;
    }
    uint32_t sign = tokens[at + 1].kind == TOKEN_SIGN ? tokens[at + 1].sign : 0;
    if ((sign != '-' && sign != '/') || !value_is_sign(values, at + 3, sign) ||
        tokens[at + 1].space || tokens[at + 2].space || tokens[at + 3].space ||
        tokens[at + 4].space) {
        return 0;
    }
    int a = plain_number(values, &tokens[at], 4);
    int b = plain_number(values, &tokens[at + 2], 2);
    int c = plain_number(values, &tokens[at + 4], 4);
    bool good;
    if (a >= YEAR_MIN) {
        good = b > 0 && c > 0 && set_date(values, ret, a, b, c);
    } else if (c >= YEAR_MIN && a > 0 && b > 0) {
        bool day_first = (a > 12 && b <= 12) || (values->locale.day_first && b <= 12);
        good = day_first ? set_date(values, ret, c, b, a) : set_date(values, ret, c, a, b);
    } else {
        return 0;
    }
    return good ? 5 : 0;
}

/* The day of a month with its ending; 0: none. */
static int day_at(const struct values *values, size_t at, size_t *ret_length) {
    size_t length;
    *ret_length = 0;
    if (at >= values->token_count) {
        return 0;
    }
    int day = plain_number(values, &values->tokens[at], 2);
    if (day < 1 || day > 31) {
        const struct lexeme *word = token_lexeme(values->lower, values->tokens, values->token_count,
                                                 at, LEXEME_NUMBERS, &length);
        if (word == NULL || strcmp(word->first, "order") != 0) {
            return 0;
        }
        *ret_length = length;
        return (int)word->number;
    }
    *ret_length = 1;
    bool ending = is_word(values, at + 1, "st") || is_word(values, at + 1, "nd") ||
                  is_word(values, at + 1, "rd") || is_word(values, at + 1, "th");
    *ret_length += at + 1 < values->token_count && ending && !values->tokens[at + 1].space;
    return day;
}

/* A year behind a date, with or without a comma; "next year" too. 0: none. */
static int year_at(const struct values *values, size_t at, size_t *ret_length) {
    *ret_length = 0;
    size_t comma = value_is_sign(values, at, ',') || is_word(values, at, "of") ||
                   is_word(values, at, "in");
    if (at + comma >= values->token_count) {
        return 0;
    }
    int year = plain_number(values, &values->tokens[at + comma], 4);
    if (year >= YEAR_MIN && year <= YEAR_MAX) {
        *ret_length = comma + 1;
        return year;
    }
    size_t length;
    const struct lexeme *years = calendar_of(values, at + comma, "years", &length);
    if (years != NULL && values->now.has_year &&
        (values->text[values->tokens[at].start] & 0x80) == 0) {
        *ret_length = comma + length;
        return values->now.year + (int)years->number;
    }
    return 0;
}

/* Whether "may" or "march" begins a date and is no verb. */
static bool is_month(const struct values *values, size_t at) {
    return values->tokens[at].capital || !is_word(values, at, "may");
}

/* April 5th, 2023; April 5; 5 April 2023; the 5th of April; April 2023. */
static size_t read_month_date(const struct values *values, size_t at, struct value_time *ret) {
    size_t length;
    size_t day_length;
    size_t year_length;
    const struct lexeme *month = calendar_of(values, at, "month", &length);
    if (month != NULL && is_month(values, at)) {
        size_t point = value_is_sign(values, at + length, '.');
        size_t the = is_word(values, at + length + point, "the");
        int day = day_at(values, at + length + point + the, &day_length);
        /* "April 2023": two digits of a year are no day */
        int year = year_at(values, at + length + point + (day > 0 ? the + day_length : 0),
                           &year_length);
        if (day > 0 && set_date(values, ret, year, (int)month->number, day)) {
            return length + point + the + day_length + year_length;
        }
        if (year > 0 && set_date(values, ret, year, (int)month->number, 1)) {
            ret->has_day = false;
            return length + point + year_length;
        }
        return 0;
    }
    int day = day_at(values, at, &day_length);
    size_t of = day > 0 && is_word(values, at + day_length, "of");
    month = day > 0 ? calendar_of(values, at + day_length + of, "month", &length) : NULL;
    if (month == NULL || (month->text[0] & 0x80) != 0) {
        return 0;
    }
    size_t end = at + day_length + of + length;
    int year = year_at(values, end, &year_length);
    return set_date(values, ret, year, (int)month->number, day) ? end + year_length - at : 0;
}

/* 2023年4月5日, 4月5号, 2023年4月, 明年4月5日. */
static size_t read_chinese_date(const struct values *values, size_t at, struct value_time *ret) {
    size_t length;
    size_t i = at;
    int year = 0;
    const struct lexeme *years = calendar_of(values, at, "years", &length);
    if (years != NULL && values->now.has_year) {
        year = values->now.year + (int)years->number;
        i += length;
    } else {
        int number = small_number(values, at, &length);
        if (number >= YEAR_MIN && number <= YEAR_MAX &&
            value_is_sign(values, at + length, 0x5e74)) {
            year = number;
            i += length + 1;
        }
    }
    i += year > 0 && value_is_sign(values, i, 0x7684);
    int month = small_number(values, i, &length);
    if (month < 1 || month > 12 || !value_is_sign(values, i + length, 0x6708)) {
        return 0;
    }
    i += length + 1;
    int day = small_number(values, i, &length);
    bool has_day = day >= 1 && day <= 31 &&
                   (value_is_sign(values, i + length, 0x65e5) ||
                    value_is_sign(values, i + length, 0x53f7) ||
                    value_is_sign(values, i + length, 0x865f));
    if (!has_day && year == 0) {
        return 0;
    }
    if (!set_date(values, ret, year, month, has_day ? day : 1)) {
        return 0;
    }
    ret->has_day = has_day && ret->doubt == DOUBT_NONE;
    return has_day ? i + length + 1 - at : i - at;
}

/* The weekday of a date, from 1 for Monday. */
static int weekday_of(const struct value_time *time) {
    int64_t day = (value_days(time) + 3) % 7;
    return (int)(day < 0 ? day + 7 : day) + 1;
}

static void set_relative(const struct values *values, struct value_time *ret, int64_t days) {
    *ret = values->now;
    ret->has_clock = false;
    value_add_days(ret, days);
}

/* The numeral of a weekday behind 下周: 三. 0: none. */
static int weekday_numeral(const struct values *values, size_t at) {
    static const uint32_t numerals[] = {0x4e00, 0x4e8c, 0x4e09, 0x56db,
                                        0x4e94, 0x516d, 0x65e5, 0x5929};
    for (size_t i = 0; i < sizeof numerals / sizeof *numerals; i++) {
        if (value_is_sign(values, at, numerals[i])) {
            return i < 7 ? (int)i + 1 : 7;
        }
    }
    return 0;
}

/* How far away in which direction: ago, 三天后. Behind a span 后 is no beginning of 后天. 0:
 * neither. */
static int away_at(const struct values *values, size_t at, size_t *ret_length) {
    const struct lexeme *away = calendar_of(values, at, "away", ret_length);
    if (away != NULL) {
        return (int)away->number;
    }
    bool after = value_is_sign(values, at, 0x540e) || value_is_sign(values, at, 0x5f8c);
    bool before = value_is_sign(values, at, 0x524d);
    *ret_length = after || before;
    return after ? 1 : before ? -1 : 0;
}

/* tomorrow, next Friday, Friday, 下周三, in 3 days, 三天后, 2 weeks ago. */
static size_t read_relative_date(const struct values *values, size_t at, struct value_time *ret) {
    if (!values->now.has_year) {
        return 0;
    }
    size_t length;
    size_t more;
    const struct lexeme *lexeme = calendar_at(values, at, &length);
    if (lexeme != NULL && strcmp(lexeme->first, "day") == 0) {
        set_relative(values, ret, (int64_t)lexeme->number);
        return length;
    }
    int today = weekday_of(&values->now);
    if (lexeme != NULL && strcmp(lexeme->first, "weekday") == 0) {
        int64_t days = (int64_t)lexeme->number - today;
        set_relative(values, ret, days < 0 ? days + 7 : days);
        return length;
    }
    if (lexeme != NULL && strcmp(lexeme->first, "week") == 0) {
        int day = weekday_numeral(values, at + length);
        if (day > 0) {
            set_relative(values, ret, day - today + 7 * (int64_t)lexeme->number);
            return length + 1;
        }
        return 0;
    }
    if (lexeme != NULL && strcmp(lexeme->first, "shift") == 0) {
        const struct lexeme *day = calendar_of(values, at + length, "weekday", &more);
        if (day != NULL) {
            int64_t days = (int64_t)day->number - today + 7 * (int64_t)lexeme->number;
            set_relative(values, ret, lexeme->number == 0 && days < 0 ? days + 7 : days);
            return length + more;
        }
        return 0;
    }
    size_t in = is_word(values, at, "in");
    double number;
    bool whole;
    size_t number_length = value_read_number(values, at + in, &number, &whole);
    if (number_length == 0 || number > 100000) {
        return 0;
    }
    const struct lexeme *unit = value_unit_at(values, at + in + number_length, &more);
    if (unit == NULL || unit->number < 86400 || unit->number > 31536000 || unit->first[0] == 'k') {
        return 0;
    }
    size_t end = at + in + number_length + more;
    int away = away_at(values, end, &length);
    if ((away == 0) == (in == 0)) {
        return 0;
    }
    int64_t sign = away != 0 ? away : 1;
    *ret = values->now;
    ret->has_clock = false;
    if (strcmp(unit->first, "month") == 0 || strcmp(unit->first, "year") == 0) {
        int64_t months = ret->year * INT64_C(12) + ret->month - 1 +
                         sign * (int64_t)number * (unit->first[0] == 'y' ? 12 : 1);
        if (months < 12 || months > YEAR_MAX * 12) {
            return 0;
        }
        ret->year = (int32_t)(months / 12);
        ret->month = (int8_t)(months % 12 + 1);
        ret->day = ret->day > 28 ? 28 : ret->day;
    } else {
        value_add_days(ret, sign * (int64_t)number * (strcmp(unit->first, "week") == 0 ? 7 : 1));
    }
    return end + length - at;
}

/* Behind 之 or not: 周五前两天. */
static bool has_han_span(const struct values *values, size_t at) {
    size_t of = value_is_sign(values, at, 0x4e4b) || value_is_sign(values, at, 0x4ee5);
    double number;
    const struct lexeme *unit;
    bool away = value_is_sign(values, at + of, 0x524d) || value_is_sign(values, at + of, 0x540e);
    return away && value_read_span(values, at + of + 1, &number, &unit) > 0;
}

/* Words before a day that say which one is meant: the second Friday, the day before Friday, two
 * weeks from Friday, 第二个周五. */
static bool is_narrowed_before(const struct values *values, size_t at) {
    size_t length;
    size_t before = at > 0 && is_word(values, at - 1, "the") ? at - 1 : at;
    if (before == 0) {
        return false;
    }
    const struct token *token = &values->tokens[before - 1];
    const struct lexeme *order = token_lexeme(values->lower, values->tokens, values->token_count,
                                              before - 1, LEXEME_NUMBERS, &length);
    bool ordinal = (order != NULL && length == 1 && strcmp(order->first, "order") == 0) ||
                   (!token->space &&
                    (is_word(values, before - 1, "st") || is_word(values, before - 1, "nd") ||
                     is_word(values, before - 1, "rd") || is_word(values, before - 1, "th")));
    bool han = value_is_sign(values, at - 1, 0x4e2a) && at > 2 &&
               value_is_sign(values, at - 3, 0x7b2c);
    bool away = is_word(values, before - 1, "before") || is_word(values, before - 1, "after") ||
                is_word(values, before - 1, "from") || is_word(values, before - 1, "following");
    const struct lexeme *unit =
            away && before > 1 ? value_unit_at(values, before - 2, &length) : NULL;
    return ordinal || han || value_is_time(unit);
}

/* Words behind it: of December, of the month, after Easter, the 31st. */
static bool is_narrowed_behind(const struct values *values, size_t end,
                               const struct value_time *time) {
    size_t length;
    size_t the = end + 1 + is_word(values, end + 1, "the");
    if (is_word(values, end, "of") || is_word(values, end, "in")) {
        return calendar_of(values, the, "month", &length) != NULL ||
               is_word(values, the, "month") ||
               calendar_of(values, end + 1, "months", &length) != NULL;
    }
    if (is_word(values, end, "after") || is_word(values, end, "before") ||
        is_word(values, end, "following")) {
        return the < values->token_count && values->tokens[the].kind == TOKEN_WORD &&
               values->tokens[the].capital && calendar_at(values, the, &length) == NULL;
    }
    int day = is_word(values, end, "the") ? day_at(values, end + 1, &length) : 0;
    return (day > 0 && day != time->day) || has_han_span(values, end);
}

/* A day by its name, of which the text says more than is understood, is no day. */
static size_t read_day(const struct values *values, size_t at, struct value_time *ret) {
    size_t name;
    size_t length = read_relative_date(values, at, ret);
    bool named = length > 0 && calendar_at(values, at, &name) != NULL;
    if (named && (is_narrowed_before(values, at) || is_narrowed_behind(values, at + length, ret))) {
        set_doubt(ret, DOUBT_NARROWED);
    }
    return length;
}

static size_t read_date(const struct values *values, size_t at, struct value_time *ret) {
    size_t length = read_numeric_date(values, at, ret);
    if (length == 0) {
        length = read_dotted_date(values, at, ret);
    }
    if (length == 0) {
        length = read_month_date(values, at, ret);
    }
    if (length == 0) {
        length = read_chinese_date(values, at, ret);
    }
    return length > 0 ? length : read_day(values, at, ret);
}

/* in 2 hours, in 1 hour 30 minutes, 30分钟后: a moment. */
static size_t read_relative_moment(const struct values *values, size_t at, struct value_time *ret) {
    if (!values->now.has_year) {
        return 0;
    }
    size_t in = is_word(values, at, "in");
    size_t end = at + in;
    double span = 0;
    for (size_t parts = 0; parts < 3; parts++) {
        double number;
        const struct lexeme *unit;
        size_t joint =
                parts > 0 && (is_word(values, end, "and") || value_is_sign(values, end, ','));
        size_t length = value_read_span(values, end + joint, &number, &unit);
        if (length == 0 || number > 100000 || unit->number > 3600) {
            break;
        }
        span += number * unit->number;
        end += joint + length;
    }
    size_t length;
    int away = away_at(values, end, &length);
    if (span <= 0 || (away == 0) == (in == 0)) {
        return 0;
    }
    int64_t seconds = (int64_t)span * (away != 0 ? away : 1) + values->now.hour * 3600 +
                      values->now.minute * 60 + values->now.second;
    int64_t days = (seconds >= 0 ? seconds : seconds - 86399) / 86400;
    seconds -= days * 86400;
    set_relative(values, ret, days);
    set_clock(ret, (int)(seconds / 3600), (int)(seconds / 60 % 60), (int)(seconds % 60));
    return end + length - at;
}

/* What may be between a date and its time: nothing, "at", "from", a comma, "T", 的. */
static size_t join_length(const struct values *values, size_t at) {
    return is_word(values, at, "at") || is_word(values, at, "on") || is_word(values, at, "from") ||
                           value_is_sign(values, at, ',') || value_is_sign(values, at, 0x7684)
                   ? 1
                   : 0;
}

/* "2023-04-01T12:30:00Z": the clock behind a T is one word with the digits. */
static size_t read_iso_clock(const struct values *values, size_t at, struct value_time *ret) {
    const struct token *token = &values->tokens[at];
    if (at >= values->token_count || token->space || values->lower[token->start] != 't' ||
        token->end - token->start != 3 || !value_is_sign(values, at + 1, ':') ||
        at + 2 >= values->token_count ||
        values->tokens[at + 2].end - values->tokens[at + 2].start < 2) {
        return 0;
    }
    int hour = two_digits(values->text + token->start + 1);
    int minute = two_digits(values->text + values->tokens[at + 2].start);
    int second = 0;
    size_t length = 3;
    if (value_is_sign(values, at + 3, ':') && at + 4 < values->token_count &&
        values->tokens[at + 4].end - values->tokens[at + 4].start >= 2) {
        second = two_digits(values->text + values->tokens[at + 4].start);
        length = 5;
    }
    if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59) {
        return 0;
    }
    set_clock(ret, hour, minute, second);
    if (at + length < values->token_count && !values->tokens[at + length].space &&
        is_word(values, at + length, "z")) {
        length++;
    }
    return length;
}

/* The clock behind a date, to the half of the day that its words name: "tonight at 8", 今晚8点. */
static size_t read_clock_of_day(const struct values *values, size_t at, size_t day_length,
                                struct value_time *ret) {
    size_t end = at + day_length;
    size_t length;
    const struct lexeme *half = calendar_of(values, at, "half", &length);
    half = length == day_length ? half : NULL;
    size_t join = join_length(values, end);
    size_t clock = read_iso_clock(values, end, ret);
    if (clock > 0 || end + join >= values->token_count) {
        return clock;
    }
    clock = half != NULL && join == 0 ? read_clock(values, at, ret) : 0;
    if (clock > day_length) {
        if (ret->hour <= NIGHT_LAST && has_night(values, at, at + clock)) {
            value_add_days(ret, 1);
        }
        return clock - day_length;
    }
    clock = read_clock(values, end + join, ret);
    if (clock == 0 && is_word(values, end, "at")) {
        clock = read_bare_clock(values, end + join, ret);
    }
    int hour = ret->hour;
    if (clock > 0 && half != NULL && apply_half(half, &hour)) {
        ret->hour = (int8_t)hour;
    }
    if (clock > 0 && ret->hour <= NIGHT_LAST && has_night(values, at, end + join + clock)) {
        value_add_days(ret, 1);
    }
    return clock > 0 ? join + clock : 0;
}

/* The date behind a clock, whose own words may name the half of the day: "8 tonight". */
static size_t read_day_of_clock(const struct values *values, size_t first, size_t at,
                                struct value_time *ret) {
    struct value_time day = {0};
    size_t join = join_length(values, at);
    size_t length = at + join < values->token_count ? read_date(values, at + join, &day) : 0;
    if (length == 0) {
        return 0;
    }
    size_t half_length;
    int hour = ret->hour;
    const struct lexeme *half = calendar_of(values, at + join, "half", &half_length);
    (void)(half != NULL && half_length == length && apply_half(half, &hour));
    set_clock(&day, hour, ret->minute, ret->second);
    if (hour <= NIGHT_LAST &&
        (half != NULL ? has_night(values, at, at + join + length) : has_night(values, first, at))) {
        value_add_days(&day, 1);
    }
    *ret = day;
    return join + length;
}

/* A date, a time, or both beside each other. */
static size_t read_moment(const struct values *values, size_t at, struct value_time *ret,
                          enum value_kind *ret_kind) {
    *ret = (struct value_time){0};
    *ret_kind = VALUE_DATE;
    size_t length = read_date(values, at, ret);
    if (length > 0) {
        bool day = ret->has_day || ret->doubt != DOUBT_NONE;
        size_t clock = day ? read_clock_of_day(values, at, length, ret) : 0;
        *ret_kind = clock > 0 ? VALUE_MOMENT : VALUE_DATE;
        return length + clock;
    }
    bool behind_at = at > 0 && is_word(values, at - 1, "at");
    length = read_clock(values, at, ret);
    bool bare = length == 0 && behind_at;
    length = bare ? read_bare_clock(values, at, ret) : length;
    if (length > 0) {
        size_t day = read_day_of_clock(values, at, at + length, ret);
        *ret_kind = day > 0 ? VALUE_MOMENT : VALUE_TIME;
        ret->bare = bare && day == 0;
        return length + day;
    }
    *ret_kind = VALUE_MOMENT;
    return read_relative_moment(values, at, ret);
}

/* ---------------------------------------------------------------- durations */

static void add_months(struct value_time *time, int64_t months) {
    int64_t all = time->year * INT64_C(12) + time->month - 1 + months;
    time->year = (int32_t)(all / 12);
    time->month = (int8_t)(all % 12 + 1);
    time->day = time->day > 28 ? 28 : time->day;
}

/* The days of a week, month or year from now: Monday to Sunday, the first to the last. */
static void set_days_of(const struct values *values, const struct lexeme *lexeme,
                        struct value *value) {
    struct value_time last;
    set_relative(values, &value->time, 0);
    if (strcmp(lexeme->first, "week") == 0) {
        value_add_days(&value->time, 1 - weekday_of(&values->now) + 7 * (int64_t)lexeme->number);
        value->number = 6;
        return;
    }
    bool year = strcmp(lexeme->first, "years") == 0;
    value->time.day = 1;
    value->time.month = year ? 1 : value->time.month;
    add_months(&value->time, (int64_t)lexeme->number * (year ? 12 : 1));
    last = value->time;
    add_months(&last, year ? 12 : 1);
    value->number = (double)(value_days(&last) - value_days(&value->time) - 1);
}

/* "the last 7 days" end today, "the next 7 days" begin today. */
static void set_days_from(const struct values *values, double number, const struct lexeme *unit,
                          bool back, struct value *value) {
    struct value_time other = values->now;
    bool months = strcmp(unit->first, "month") == 0 || strcmp(unit->first, "year") == 0;
    int64_t sign = back ? -1 : 1;
    if (number > 36500 || unit->number < 86400 || unit->first[0] == 'k' ||
        (months && number > 1200)) {
        return;
    }
    if (months) {
        add_months(&other, sign * (int64_t)number * (unit->first[0] == 'y' ? 12 : 1));
    } else {
        value_add_days(&other, sign * (int64_t)(number * unit->number / 86400));
    }
    set_relative(values, &value->time, 0);
    int64_t days = value_days(&other) - value_days(&values->now);
    value_add_days(&value->time, days < 0 ? days : 0);
    value->number = (double)(days < 0 ? -days : days);
}

/* last week, next 3 months, past 5 years, 过去三年: with their first day, and how many follow it.
 */
static void find_spans(struct values *values) {
    for (size_t at = 0; at < values->token_count; at++) {
        size_t length;
        const struct lexeme *lexeme = calendar_at(values, at, &length);
        if (lexeme != NULL &&
            (strcmp(lexeme->first, "week") == 0 || strcmp(lexeme->first, "months") == 0 ||
             strcmp(lexeme->first, "years") == 0)) {
            struct value *value = value_add(values, VALUE_DURATION, at, at + length);
            if (value != NULL && values->now.has_year) {
                set_days_of(values, lexeme, value);
            }
            at += length - 1;
        } else if (lexeme != NULL && strcmp(lexeme->first, "shift") == 0) {
            double number;
            bool whole;
            size_t more;
            size_t number_length = value_read_number(values, at + length, &number, &whole);
            const struct lexeme *unit = value_unit_at(values, at + length + number_length, &more);
            struct value *value = number_length > 0 && value_is_time(unit)
                                          ? value_add(values, VALUE_DURATION, at,
                                                      at + length + number_length + more)
                                          : NULL;
            if (value != NULL && values->now.has_year) {
                set_days_from(values, number, unit, lexeme->number < 0, value);
            }
        }
    }
}

/* "today is 2023.10.1" says what now is, if the context does not. */
static void find_now(struct values *values) {
    for (size_t at = 0; !values->now.has_year && at + 2 < values->token_count; at++) {
        size_t length;
        const struct lexeme *day = calendar_of(values, at, "day", &length);
        if (day == NULL || day->number != 0 || values->tokens[at + length].cue != CUE_IS) {
            continue;
        }
        struct value_time time = {0};
        if (read_date(values, at + length + 1, &time) > 0 && time.has_day && time.has_year) {
            values->now = time;
        }
    }
}

/* "August 15th to August 17th, 2023": a date without year has that of the next. */
static void share_years(struct values *values) {
    int32_t year = 0;
    for (size_t i = values->count; i-- > 0;) {
        struct value *value = &values->list[i];
        if ((value->kind != VALUE_DATE && value->kind != VALUE_MOMENT) ||
            value->time.doubt != DOUBT_NONE) {
            continue;
        }
        if (value->time.has_year) {
            year = value->time.year;
        } else if (year != 0) {
            value->time.year = year;
            value->time.has_year = true;
        }
    }
}

void value_find_times(struct values *values) {
    const uint32_t taken = VALUE_BIT(VALUE_URL) | VALUE_BIT(VALUE_EMAIL) | VALUE_BIT(VALUE_PATH) |
                           VALUE_BIT(VALUE_PHONE) | VALUE_BIT(VALUE_IP);
    find_now(values);
    for (size_t at = 0; at < values->token_count; at++) {
        struct value_time time;
        enum value_kind kind;
        if (values->tokens[at].kind == TOKEN_SIGN || value_covering(values, at, taken) != NULL) {
            continue;
        }
        size_t length = read_moment(values, at, &time, &kind);
        struct value *value = length > 0 ? value_add(values, kind, at, at + length) : NULL;
        if (value != NULL) {
            value->time = time;
        }
        at += length > 0 ? length - 1 : 0;
    }
    share_years(values);
    value_join_hours(values);
    find_spans(values);
}
