/* The context of a sentence, from JSON. */
#include <string.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "choose/arguments.h"
#include "choose/locale.h"
#include "choose/zone.h"

/* Read `count` digits; -1: there is something else. */
static int digits(const char *text, size_t count) {
    int number = 0;
    for (size_t i = 0; i < count; i++) {
        if (!ascii_is_digit(text[i])) {
            return -1;
        }
        number = number * 10 + (text[i] - '0');
    }
    return number;
}

/* Days since 1970-01-01 by the proleptic Gregorian calendar. */
static int64_t days_of(int year, int month, int day) {
    static const int before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
    int64_t past = year - 1;
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    int64_t days = past * 365 + past / 4 - past / 100 + past / 400 + before[month - 1] + day - 1;
    return days + (leap && month > 2) - 719162;
}

/* "Z" or "+08:00"; false: neither. */
static bool read_offset(const char *text, int32_t *ret) {
    if ((text[0] == 'Z' || text[0] == 'z') && text[1] == '\0') {
        *ret = 0;
        return true;
    }
    if ((text[0] != '+' && text[0] != '-') || strlen(text) != 6 || text[3] != ':') {
        return false;
    }
    int hours = digits(text + 1, 2);
    int minutes = digits(text + 4, 2);
    *ret = (hours * 60 + minutes) * (text[0] == '-' ? -1 : 1);
    return hours >= 0 && hours < 24 && minutes >= 0 && minutes < 60;
}

/* RFC 3339; a fraction of a second is not used. */
static bool read_moment(const char *text, struct arguments_context *ret) {
    static const char form[] = "0000-00-00T00:00:00";
    if (strlen(text) <= strlen(form)) {
        return false;
    }
    for (size_t i = 0; i < strlen(form); i++) {
        bool space = form[i] == 'T' && (text[i] == ' ' || text[i] == 't');
        if (form[i] == '0' ? !ascii_is_digit(text[i]) : text[i] != form[i] && !space) {
            return false;
        }
    }
    const char *rest = text + strlen(form);
    if (*rest == '.') {
        rest++;
        while (ascii_is_digit(*rest)) {
            rest++;
        }
    }
    int year = digits(text, 4);
    int month = digits(text + 5, 2);
    int day = digits(text + 8, 2);
    int hour = digits(text + 11, 2);
    int minute = digits(text + 14, 2);
    int second = digits(text + 17, 2);
    if (year < 1 || month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 ||
        second > 60 || !read_offset(rest, &ret->offset_minutes)) {
        return false;
    }
    int64_t seconds = days_of(year, month, day) * 86400 + hour * 3600 + minute * 60 + second;
    ret->now_ms = (seconds - ret->offset_minutes * 60) * 1000;
    ret->has_now = true;
    return true;
}

static int read_text(yyjson_val *context, const char *key, bool (*is_right)(const char *),
                     const char *wanted, const char **ret, struct toolrack_error *err) {
    yyjson_val *value = yyjson_obj_get(context, key);
    const char *text = yyjson_get_str(value);
    if (value == NULL || yyjson_is_null(value)) {
        return 0;
    }
    if (text == NULL || strlen(text) != yyjson_get_len(value) || !is_right(text)) {
        return error_set(err, TOOLRACK_E_INVALID, "%s in the context must be %s", key, wanted);
    }
    *ret = text;
    return 0;
}

static bool is_some(const char *text) {
    return *text != '\0';
}

static bool is_absolute(const char *text) {
    return *text == '/';
}

static int read_results(yyjson_val *context, yyjson_val **ret, struct toolrack_error *err) {
    yyjson_val *results = yyjson_obj_get(context, "results");
    if (results == NULL || yyjson_is_null(results)) {
        return 0;
    }
    if (!yyjson_is_obj(results) && !yyjson_is_arr(results)) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "results in the context must be an array of earlier results, or an object "
                         "with their names; the last is the newest");
    }
    *ret = results;
    return 0;
}

/* A member that nobody reads is a mistake in its name. */
static int check_members(yyjson_val *context, struct toolrack_error *err) {
    static const char *const known[] = {"now", "time_zone", "locale", "folder", "results"};
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    json_obj_foreach (context, at, count, key, value) {
        bool found = false;
        for (size_t i = 0; i < ARRAY_LENGTH(known); i++) {
            found = found || yyjson_equals_str(key, known[i]);
        }
        if (!found) {
            return error_set(err, TOOLRACK_E_INVALID,
                             "the context has a member \"%.40s\"; it may have now, time_zone, "
                             "locale, folder and results",
                             yyjson_get_str(key));
        }
    }
    return 0;
}

int arguments_context_set_now(struct arguments_context *context, int64_t now_ms,
                              struct toolrack_error *err) {
    int code = 0;
    if (context->time_zone != NULL) {
        code = zone_offset(context->time_zone, now_ms, &context->offset_minutes, err);
    }
    if (code == 0) {
        context->has_now = true;
        context->now_ms = now_ms;
    }
    return code;
}

static int read_now(yyjson_val *context, struct arguments_context *ret,
                    struct toolrack_error *err) {
    yyjson_val *now = yyjson_obj_get(context, "now");
    if (yyjson_is_int(now)) {
        ret->has_now = true;
        ret->now_ms = yyjson_get_sint(now);
    } else if (now != NULL && !yyjson_is_null(now) &&
               (!yyjson_is_str(now) || !read_moment(yyjson_get_str(now), ret))) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "now in the context must be milliseconds since 1970 or a moment such as "
                         "2026-01-31T18:00:00+08:00");
    }
    return 0;
}

int arguments_context_read(yyjson_val *context, struct arguments_context *ret,
                           struct toolrack_error *err) {
    struct arguments_context read = {0};
    if (context != NULL && !yyjson_is_obj(context)) {
        return error_set(err, TOOLRACK_E_INVALID, "the context must be an object");
    }
    int code = check_members(context, err);
    code = code == 0 ? read_now(context, &read, err) : code;
    code = code == 0 ? read_text(context, "time_zone", is_some,
                                 "the IANA name of a time zone, such as \"Asia/Shanghai\"",
                                 &read.time_zone, err)
                     : code;
    code = code == 0 ? read_text(context, "locale", locale_is,
                                 "a language with or without a region, such as \"en-GB\"",
                                 &read.locale, err)
                     : code;
    code = code == 0 ? read_text(context, "folder", is_absolute,
                                 "an absolute path, such as \"/home/ann\"", &read.folder, err)
                     : code;
    code = code == 0 ? read_results(context, &read.results, err) : code;
    if (code == 0 && read.has_now && read.time_zone != NULL) {
        code = arguments_context_set_now(&read, read.now_ms, err);
    }
    if (code == 0) {
        *ret = read;
    }
    return code;
}
