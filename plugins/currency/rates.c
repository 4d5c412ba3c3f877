#include "rates.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

bool rates_is_code(const char *text) {
    for (int i = 0; i < 3; i++) {
        if (text[i] < 'A' || text[i] > 'Z') {
            return false;
        }
    }
    return text[3] == '\0';
}

bool rates_is_date(const char *text) {
    static const char shape[] = "dddd-dd-dd";
    for (size_t i = 0; i < sizeof shape - 1; i++) {
        bool fits = shape[i] == '-' ? text[i] == '-' : text[i] >= '0' && text[i] <= '9';
        if (!fits) {
            return false;
        }
    }
    return text[sizeof shape - 1] == '\0';
}

void rates_init(struct rates *rates, const char *base) {
    *rates = (struct rates){.base = base};
    (void)rates_add(rates, base, 1.0);
}

const char *rates_add(struct rates *rates, const char *currency, double rate) {
    if (!rates_is_code(currency)) {
        return "is no currency code of three capital letters";
    }
    if (!isfinite(rate) || rate <= 0) {
        return "has no rate above 0";
    }
    if (rates_find(rates, currency) != NULL) {
        return "is there twice";
    }
    if (rates->count == RATES_COUNT_MAX) {
        return "is one currency too many";
    }
    char *code = rates->codes[rates->count];
    memcpy(code, currency, RATES_CODE_SIZE);
    rates->rates[rates->count++] = (struct rate){.currency = code, .rate = rate};
    return NULL;
}

const struct rate *rates_find(const struct rates *rates, const char *currency) {
    for (uint64_t i = 0; i < rates->count; i++) {
        if (strcmp(rates->rates[i].currency, currency) == 0) {
            return &rates->rates[i];
        }
    }
    return NULL;
}

const char *rates_list(const struct rates *rates, char *text, size_t size) {
    size_t used = 0;
    text[0] = '\0';
    for (uint64_t i = 0; i < rates->count && used < size; i++) {
        int more = snprintf(text + used, size - used, "%s%s", i == 0 ? "" : ", ",
                            rates->rates[i].currency);
        used += more < 0 ? 0 : (size_t)more;
    }
    return text;
}
