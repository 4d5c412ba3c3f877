/* input.h - the lines that a client writes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Longest message: the arguments of a call and what is around them. */
#define INPUT_LINE_MAX (66u * 1024 * 1024)

struct input {
    int fd;
    char *data; /* owned */
    size_t room;
    size_t begin; /* of the first line that is not taken */
    size_t end;
    size_t searched; /* no line ends before */
    bool begun;      /* something was taken: no byte order mark can follow */
    bool skipping;   /* a line that is too long */
    bool ended;
};

enum input_state {
    INPUT_LINE,     /* a line */
    INPUT_TOO_LONG, /* a line was longer than INPUT_LINE_MAX; it is left out */
    INPUT_MORE,     /* input_read() is needed for the next */
    INPUT_END       /* there will be none */
};

void input_init(struct input *input, int fd);
void input_finish(struct input *input);

/** Read what is there; waits for the first byte.
 * @return 0, or a negative errno */
int input_read(struct input *input);

/** The next line that is not empty, without its end (LF or CRLF). It may be changed, and what is
 * behind it where that is put back, until the next is taken. */
enum input_state input_take(struct input *input, char **ret_line, size_t *ret_length);
