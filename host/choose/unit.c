#include "choose/unit.h"

#include <math.h>
#include <string.h>

/* What is converted is rounded to such a part of the unit; nobody means less than that of a degree.
 */
#define PARTS           1e6
#define PARTS_OF_DEGREE 1e2

/* Sorts of units with an exact size, and of sizes on which the world does not agree. */
enum sort { SORT_NONE, SORT_TIME, SORT_LENGTH, SORT_MASS, SORT_VOLUME, SORT_HEAT, SORT_DATA };

static enum sort sort_of(const struct lexeme *unit) {
    static const struct {
        const char *name;
        enum sort sort;
    } units[] = {
            {"millisecond", SORT_TIME},  {"second", SORT_TIME},       {"minute", SORT_TIME},
            {"hour", SORT_TIME},         {"day", SORT_TIME},          {"week", SORT_TIME},
            {"millimeter", SORT_LENGTH}, {"centimeter", SORT_LENGTH}, {"meter", SORT_LENGTH},
            {"kilometer", SORT_LENGTH},  {"inch", SORT_LENGTH},       {"foot", SORT_LENGTH},
            {"yard", SORT_LENGTH},       {"mile", SORT_LENGTH},       {"milligram", SORT_MASS},
            {"gram", SORT_MASS},         {"kilogram", SORT_MASS},     {"jin", SORT_MASS},
            {"ounce", SORT_MASS},        {"pound", SORT_MASS},        {"milliliter", SORT_VOLUME},
            {"liter", SORT_VOLUME},      {"celsius", SORT_HEAT},      {"fahrenheit", SORT_HEAT},
            {"byte", SORT_DATA},         {"kilobyte", SORT_DATA},     {"megabyte", SORT_DATA},
            {"gigabyte", SORT_DATA},     {"terabyte", SORT_DATA}};
    for (size_t i = 0;
         unit != NULL && unit->kind == LEXEME_UNITS && i < sizeof units / sizeof *units; i++) {
        if (strcmp(units[i].name, unit->first) == 0) {
            return units[i].sort;
        }
    }
    return SORT_NONE;
}

/* "degrees" alone are those of the parameter. */
static bool is_named_scale(const struct lexeme *unit) {
    static const char *const plain[] = {"degree", "degrees", "\302\260", "\345\272\246"};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        if (strlen(plain[i]) == unit->length && memcmp(plain[i], unit->text, unit->length) == 0) {
            return false;
        }
    }
    return true;
}

bool unit_is_other(const struct value *value, const struct lexeme *unit) {
    const struct lexeme *own = value->kind == VALUE_QUANTITY ? value->lexeme : NULL;
    return own != NULL && unit != NULL && sort_of(unit) != SORT_NONE && sort_of(own) != SORT_NONE &&
           strcmp(own->first, unit->first) != 0 && is_named_scale(own);
}

bool unit_convert(const struct value *value, const struct lexeme *unit, double *ret) {
    if (unit == NULL || value->lexeme == NULL || !unit_is_other(value, unit) ||
        sort_of(unit) == SORT_DATA || sort_of(value->lexeme) != sort_of(unit)) {
        return false;
    }
    const struct lexeme *own = value->lexeme;
    double number = value->number * own->number / unit->number;
    double parts = PARTS;
    if (sort_of(unit) == SORT_HEAT) {
        number = unit->first[0] == 'c' ? (value->number - 32) * 5 / 9 : value->number * 9 / 5 + 32;
        parts = PARTS_OF_DEGREE;
    }
    *ret = floor(number * parts + 0.5) / parts;
    return true;
}
