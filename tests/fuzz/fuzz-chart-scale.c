/* The axes of the chart plugin: any text is a time or none, and any bounds get ticks that are in
 * order, on the axis and labelled. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "scale.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds) {
        abort();
    }
}

static void check(const struct scale *scale, double low, double high) {
    double more = (scale->high - scale->low) * 1e-6;
    require(scale->high > scale->low && scale->count <= TICKS_MAX);
    require(scale->low <= low + more && scale->high >= high - more);
    for (size_t i = 0; i < scale->count; i++) {
        require(scale->ticks[i].value >= scale->low - more);
        require(scale->ticks[i].value <= scale->high + more);
        require(i == 0 || scale->ticks[i].value > scale->ticks[i - 1].value);
        require(scale->ticks[i].label[0] != '\0');
    }
}

static double a_number(const uint8_t *data) {
    double number;
    memcpy(&number, data, sizeof number);
    return isfinite(number) && fabs(number) <= SCALE_VALUE_MAX ? number : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct scale scale;
    char *text = malloc(size + 1);
    double from;
    double to;
    if (text == NULL) {
        return 0;
    }
    if (size > 0) {
        memcpy(text, data, size);
    }
    text[size] = '\0';
    char *second = strchr(text, '\n');
    if (second != NULL) {
        *second++ = '\0';
    }
    if (scale_read_time(text, &from)) {
        require(from > -1e11 && from < 1e12);
        bool both = second != NULL && scale_read_time(second, &to);
        to = both ? fmax(from, to) : from;
        scale_times(from, to, 8, &scale);
        check(&scale, from, to);
    }
    if (size >= 16) {
        from = a_number(data);
        to = a_number(data + 8);
        scale_numbers(fmin(from, to), fmax(from, to), 1 + data[0] % 40, true, &scale);
        check(&scale, fmin(from, to), fmax(from, to));
        require(scale.count >= 2);
    }
    free(text);
    return 0;
}
