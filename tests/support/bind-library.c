/* What bind-library.h declares. */
#include "bind-library.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

EXPORTED int8_t own_i8(int8_t a) {
    return (int8_t)~a;
}
EXPORTED int16_t own_i16(int16_t a) {
    return (int16_t)~a;
}
EXPORTED int32_t own_i32(int32_t a) {
    return ~a;
}
EXPORTED int64_t own_i64(int64_t a) {
    return ~a;
}
EXPORTED uint8_t own_u8(uint8_t a) {
    return (uint8_t)~a;
}
EXPORTED uint16_t own_u16(uint16_t a) {
    return (uint16_t)~a;
}
EXPORTED uint32_t own_u32(uint32_t a) {
    return ~a;
}
EXPORTED uint64_t own_u64(uint64_t a) {
    return ~a;
}
EXPORTED float own_f32(float a) {
    return -a;
}
EXPORTED double own_f64(double a) {
    return -a;
}
EXPORTED bool own_bool(bool a) {
    return !a;
}

EXPORTED enum colour own_colour(enum colour colour) {
    return colour == RED ? GREEN : colour == GREEN ? BLUE : RED;
}

EXPORTED struct point own_mirror(struct point point) {
    return (struct point){point.y, point.x};
}

EXPORTED double own_square(const struct segment *segment) {
    double x = segment->to.x - segment->from.x;
    double y = segment->to.y - segment->from.y;
    return x * x + y * y;
}

EXPORTED void own_segment(struct segment *segment, struct point from, struct point to) {
    *segment = (struct segment){from, to, BLUE, {1, 2, 3}, "segment"};
}

EXPORTED void own_move(struct segment *segment, struct point by) {
    segment->from.x += by.x;
    segment->from.y += by.y;
    segment->to.x += by.x;
    segment->to.y += by.y;
}

EXPORTED int32_t own_divide(int32_t dividend, int32_t divisor, int32_t *rest) {
    if (divisor == 0 || (dividend == INT32_MIN && divisor == -1)) {
        *rest = dividend;
        return 0;
    }
    *rest = dividend % divisor;
    return dividend / divisor;
}

EXPORTED size_t own_letters(const char *text) {
    size_t count = 0;
    for (; *text != '\0'; text++) {
        count += *text != ' ';
    }
    return count;
}

EXPORTED const char *own_colour_name(int number) {
    return number == RED ? "red" : number == GREEN ? "green" : NULL;
}

EXPORTED char *own_join(const char *first, const char *second) {
    size_t length = strlen(first);
    char *joined = malloc(length + strlen(second) + 1);
    if (joined != NULL) {
        memcpy(joined, first, length);
        strcpy(joined + length, second);
    }
    return joined;
}

EXPORTED void own_free(void *memory) {
    free(memory);
}

EXPORTED uint32_t own_sum(const uint8_t *data, size_t data_len) {
    uint32_t sum = 0;
    for (size_t i = 0; i < data_len; i++) {
        sum += data[i];
    }
    return sum;
}

EXPORTED double own_mean(const double *values, unsigned int count) {
    double sum = 0;
    for (unsigned int i = 0; i < count; i++) {
        sum += values[i];
    }
    return count == 0 ? 0 : sum / count;
}

EXPORTED int64_t own_total(int n, const int32_t *items) {
    int64_t total = 0;
    for (int i = 0; i < n; i++) {
        total += items[i];
    }
    return total;
}

EXPORTED void own_fill(uint8_t *out, size_t out_size, uint8_t byte) {
    memset(out, byte, out_size);
}

EXPORTED int own_fibonacci(uint32_t *numbers, size_t *numbers_count, unsigned int wanted) {
    uint32_t one = 0;
    uint32_t next = 1;
    if (wanted > *numbers_count) {
        return 4;
    }
    for (unsigned int i = 0; i < wanted; i++) {
        uint32_t sum = one + next;
        numbers[i] = one;
        one = next;
        next = sum;
    }
    *numbers_count = wanted;
    return 0;
}

EXPORTED int own_capitals(char *out, size_t out_size, const char *text) {
    size_t length = strlen(text);
    if (length > out_size) {
        errno = ENAMETOOLONG;
        return -1;
    }
    for (size_t i = 0; i < length; i++) {
        out[i] = (char)toupper((unsigned char)text[i]);
    }
    return (int)length;
}

EXPORTED int own_say(int number, char **text) {
    *text = number == 7 ? strdup("seven") : NULL;
    return number == 7 ? 0 : 4;
}

EXPORTED const char *own_error(int code) {
    return code == 4 ? "there is not enough of it" : "all is well";
}

EXPORTED void own_overrun(uint8_t *out, size_t out_size) {
    volatile uint8_t *to = out;
    for (size_t i = 0; i <= out_size; i++) {
        to[i] = 'x';
    }
}

EXPORTED void own_make_id(struct id *id, uint8_t number) {
    memset(id->id, number, sizeof id->id);
}

EXPORTED int own_last_of_id(const struct id *id) {
    return id->id[sizeof id->id - 1];
}

EXPORTED int own_sixteen(unsigned char key[16]) {
    return key[15];
}

EXPORTED struct handle *own_open(const char *name) {
    return name[0] == '\0' ? NULL : (struct handle *)(uintptr_t)name;
}

EXPORTED void own_close(struct handle *handle) {
    (void)handle;
}

EXPORTED int own_each(int (*call)(int), int count) {
    return call == NULL ? count : call(count);
}

EXPORTED int own_print(const char *format, ...) {
    return (int)strlen(format);
}

EXPORTED union word own_union(union word word) {
    return word;
}

EXPORTED int64_t own_wide(enum wide wide) {
    return wide;
}

EXPORTED enum wide own_narrow(int64_t number) {
    return (enum wide)number;
}

EXPORTED enum unsigned_wide own_most(enum unsigned_wide wide) {
    return wide == ZERO ? MOST : ZERO;
}

EXPORTED int32_t own_bits(struct bits bits) {
    return (int32_t)bits.five;
}

EXPORTED enum status own_check(int32_t number) {
    return number < 0 ? STATUS_INVALID_NUMBER : number > 9 ? STATUS_RANGE_ERROR : STATUS_OK;
}

EXPORTED enum state own_state(int32_t number) {
    return number < 0 ? STATE_ERROR : number == 0 ? STATE_OK : STATE_END;
}

EXPORTED const char *own_status_text(enum status status) {
    return status == STATUS_OK               ? "no fault"
           : status == STATUS_INVALID_NUMBER ? "a number below zero"
                                             : "a number above nine";
}

EXPORTED int32_t own_append(const char *text, unsigned char *out, size_t *out_pos,
                            size_t out_size) {
    size_t length = strlen(text);
    if (length > out_size - *out_pos) {
        return 1;
    }
    memcpy(out + *out_pos, text, length);
    *out_pos += length;
    return 0;
}

EXPORTED int32_t own_packed(struct packed packed) {
    return packed.number;
}

EXPORTED int own_first(const key_of_eight key, const int32_t *ignored) {
    return ignored == NULL ? key[0] : -1;
}
