/* An installed library that knows nothing of tools: functions of many shapes, and a constructor
 * that shows in which process it ran. */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

int64_t loaded_in(void);
double sum(const double *items, size_t count);
uint32_t count_letters(const void *data, uint16_t size);
int64_t weigh(int8_t a, uint8_t b, int16_t c, uint16_t d, int32_t e, uint32_t f, int64_t g,
              uint64_t h, bool i, const void *data, unsigned size, float j);
const char *choose(const char *text, const int32_t *number);
void nothing(void);
uint8_t narrow(int8_t number);
const char *latin1(void);
int end_by_signal(int number);
void *give_bytes(int count, int *ret_count);
int give_pointer(unsigned char **bytes, size_t *size);
void cry_out(void *memory);
void let_go(void *memory);
int turn(void *bytes, unsigned size);
int lie(char *out, int16_t size);
int needs(int number);
struct trio {
    int64_t one;
    int64_t two;
    int64_t three;
};
struct trio three(int64_t first, int *out);
int64_t many(int64_t a, int64_t b, int64_t c, int64_t d, int64_t e, int64_t f, int8_t g,
             const char *text, int *out, double h);

EXPORT int variable = 1;

static pid_t constructed_in;

__attribute__((constructor)) static void construct(void) {
    constructed_in = getpid();
}

EXPORT int64_t loaded_in(void) {
    return constructed_in;
}

EXPORT double sum(const double *items, size_t count) {
    double all = 0;
    for (size_t i = 0; i < count; i++) {
        all += items[i];
    }
    return all;
}

EXPORT uint32_t count_letters(const void *data, uint16_t size) {
    const char *at = data;
    uint32_t count = 0;
    for (uint16_t i = 0; i < size; i++) {
        count += at[i] >= 'a' && at[i] <= 'z';
    }
    return count;
}

/* More arguments than there are registers: each has a weight of its own. */
EXPORT int64_t weigh(int8_t a, uint8_t b, int16_t c, uint16_t d, int32_t e, uint32_t f, int64_t g,
                     uint64_t h, bool i, const void *data, unsigned size, float j) {
    const unsigned char *bytes = data;
    return a + 10 * b + 100 * c + 1000 * d + 10000 * e + 100000 * (int64_t)f + 1000000 * g +
           10000000 * (int64_t)h + 100000000 * (int64_t)i + 1000000000 * (int64_t)size +
           10000000000 * (int64_t)bytes[size - 1] + (int64_t)(j * 2) * 10000000000000;
}

EXPORT const char *choose(const char *text, const int32_t *number) {
    static char said[64];
    if (text == NULL) {
        return NULL;
    }
    (void)snprintf(said, sizeof said, "%s %d", text, number != NULL ? *number : -1);
    return said;
}

EXPORT void nothing(void) {
}

EXPORT uint8_t narrow(int8_t number) {
    return (uint8_t)number;
}

EXPORT const char *latin1(void) {
    return "caf\xe9";
}

EXPORT int end_by_signal(int number) {
    return raise(number);
}

EXPORT void let_go(void *memory) {
    free(memory);
}

/* What releases, where it shows. */
EXPORT void cry_out(void *memory) {
    if (memory != NULL) {
        abort();
    }
}

/* A result of which another argument says how long it is; less than none is a fault. */
EXPORT void *give_bytes(int count, int *ret_count) {
    char *bytes = count == 0 ? NULL : calloc(1, 16);
    *ret_count = count;
    return bytes != NULL ? memset(bytes, 'z', count > 0 ? (size_t)count : 0) : NULL;
}

EXPORT int give_pointer(unsigned char **bytes, size_t *size) {
    *bytes = calloc(1, 3);
    *size = *bytes == NULL ? 0 : 3;
    return 1;
}

/* Turns bytes round, where they are. */
EXPORT int turn(void *bytes, unsigned size) {
    unsigned char *at = bytes;
    for (unsigned i = 0; i < size / 2; i++) {
        unsigned char first = at[i];
        at[i] = at[size - 1 - i];
        at[size - 1 - i] = first;
    }
    return 0;
}

/* Says that it wrote more than there is room for. */
EXPORT int lie(char *out, int16_t size) {
    memset(out, 'a', (size_t)size);
    return size + 1;
}

EXPORT int needs(int number) {
    errno = number == 1 ? 0 : EDOM;
    return number;
}

/* More words than there are registers, and what is written behind them. */
EXPORT int64_t many(int64_t a, int64_t b, int64_t c, int64_t d, int64_t e, int64_t f, int8_t g,
                    const char *text, int *out, double h) {
    *out += (int)(g + h);
    return a + 10 * b + 100 * c + 1000 * d + 10000 * e + 100000 * f + (int64_t)strlen(text);
}

/* A struct as result, and something that is written beside it. */
EXPORT struct trio three(int64_t first, int *out) {
    *out = (int)first + 3;
    return (struct trio){first, first + 1, first + 2};
}
