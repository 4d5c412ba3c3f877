/* bind-library.h - a library with what functions of C take and give, for `toolrack bind`. */
#ifndef BIND_LIBRARY_H
#define BIND_LIBRARY_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum colour { RED = 1, GREEN = 2, BLUE = -4 };

/* Numbers that debug information states in as few bytes as they fit. */
enum wide { NONE = -1, BYTE = 200, WORD = 40000 };
enum unsigned_wide { ZERO, MOST = 65535 };

struct point {
    double x;
    double y;
};

struct segment {
    struct point from;
    struct point to;
    enum colour colour;
    int32_t weights[3];
    const char *label;
};

struct handle;

union word {
    int32_t number;
    float real;
};

/** Negate each, one after the other. */
int8_t own_i8(int8_t a);
int16_t own_i16(int16_t a);
int32_t own_i32(int32_t a);
int64_t own_i64(int64_t a);
uint8_t own_u8(uint8_t a);
uint16_t own_u16(uint16_t a);
uint32_t own_u32(uint32_t a);
uint64_t own_u64(uint64_t a);
float own_f32(float a);
double own_f64(double a);
bool own_bool(bool a);

/** The colour that follows.
 *
 * @param colour  the one before
 * @return the next */
enum colour own_colour(enum colour colour);

/** Exchange the coordinates of a point. */
struct point own_mirror(struct point point);

/** The square of the length of a segment.
 * @param segment  of which */
double own_square(const struct segment *segment);

/** Make a segment of its ends.
 * @param[out] segment  the segment
 * @param from          where it begins
 * @param to            where it ends */
void own_segment(struct segment *segment, struct point from, struct point to);

/** Move a segment.
 * @param[in,out] segment  what is moved
 * @param by               how far */
void own_move(struct segment *segment, struct point by);

/** Divide, with a rest.
 * @param dividend   what is divided
 * @param divisor    by what
 * @param[out] rest  what is left
 * @return the quotient */
int32_t own_divide(int32_t dividend, int32_t divisor, int32_t *rest);

/** Count what is not a blank. */
size_t own_letters(const char *text);

/* The name of a colour; NULL is returned for none. */
const char *own_colour_name(int number);

char *own_join(const char *first, const char *second);
void own_free(void *memory);

/** Add the bytes. */
uint32_t own_sum(const uint8_t *data, size_t data_len);

/** The mean of numbers. */
double own_mean(const double *values, unsigned int count);

int64_t own_total(int n, const int32_t *items);

/** Repeat a byte.
 * @param[out] out   the bytes
 * @param out_size   how many fit
 * @param byte       which */
void own_fill(uint8_t *out, size_t out_size, uint8_t byte);

/** Write the first numbers of Fibonacci.
 * @return 0 on success, else a code of own_error() */
int own_fibonacci(uint32_t *numbers, size_t *numbers_count, unsigned int wanted);

/** Copy a text in capitals. Returns how many bytes there are, or -1 on error, with errno. */
int own_capitals(char *out, size_t out_size, const char *text);

/** Says 7 as text in *text, which own_free() frees. */
int own_say(int number, char **text);

/** What a code means. */
const char *own_error(int code);

/** Write one more byte than there is room for.
 * @param[out] out  where
 * @param out_size  the room */
void own_overrun(uint8_t *out, size_t out_size);

struct id {
    unsigned char id[20];
};

/** Make an id of a number.
 * @param[out] id  the id
 * @param number   of which */
void own_make_id(struct id *id, uint8_t number);
int own_last_of_id(const struct id *id);

int own_sixteen(unsigned char key[16]);
struct handle *own_open(const char *name);
void own_close(struct handle *handle);
typedef unsigned char key_of_eight[8];
int own_first(const key_of_eight key, const int32_t *ignored);
int own_each(int (*call)(int), int count);
int own_print(const char *format, ...);
union word own_union(union word word);
int64_t own_wide(enum wide wide);
enum wide own_narrow(int64_t number);
enum unsigned_wide own_most(enum unsigned_wide wide);

struct bits {
    unsigned three : 3;
    unsigned five : 5;
};
int32_t own_bits(struct bits bits);

/* Codes of errors, and codes of which some are. */
enum status { STATUS_OK, STATUS_RANGE_ERROR, STATUS_INVALID_NUMBER };
enum state { STATE_OK, STATE_END, STATE_ERROR };
enum status own_check(int32_t number);
enum state own_state(int32_t number);
const char *own_status_text(enum status status);

/* Adds a text behind what is there, and moves the place. */
int32_t own_append(const char *text, unsigned char *out, size_t *out_pos, size_t out_size);

struct packed {
    char tag;
    int32_t number;
} __attribute__((packed));
int32_t own_packed(struct packed packed);

#endif
