/* input.c - see input.h. */
#include "serve/stdio/input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yyjson.h>

#define ROOM_FIRST (64u * 1024)
/* A reader may write so many bytes behind a line. */
#define BEHIND     YYJSON_PADDING_SIZE

void input_init(struct input *input, int fd) {
    *input = (struct input){.fd = fd};
}

void input_finish(struct input *input) {
    free(input->data);
}

/* Make room for more at the end. */
static int make_room(struct input *input) {
    if (input->begin > 0) {
        memmove(input->data, input->data + input->begin, input->end - input->begin);
        input->searched -= input->begin;
        input->end -= input->begin;
        input->begin = 0;
    }
    if (input->room - input->end > BEHIND && input->end < input->room / 2) {
        return 0;
    }
    size_t room = input->room == 0 ? ROOM_FIRST : input->room * 2;
    char *data = realloc(input->data, room);
    if (data == NULL) {
        return -ENOMEM;
    }
    input->data = data;
    input->room = room;
    return 0;
}

int input_read(struct input *input) {
    int failure = make_room(input);
    if (failure < 0) {
        return failure;
    }
    ssize_t length;
    do {
        length = read(input->fd, input->data + input->end, input->room - input->end - BEHIND);
    } while (length < 0 && errno == EINTR);
    if (length < 0) {
        return -errno;
    }
    input->ended = length == 0;
    input->end += (size_t)length;
    return 0;
}

/* The end of the first line that is not taken; NULL: it is not there yet. */
static char *find_end(struct input *input) {
    char *from = input->data + input->searched;
    char *found =
            input->end > input->searched ? memchr(from, '\n', input->end - input->searched) : NULL;
    input->searched = input->end;
    return found;
}

/* A line that is too long is dropped as it comes. */
static enum input_state skip(struct input *input) {
    input->skipping = true;
    input->begin = input->searched = input->end;
    return INPUT_TOO_LONG;
}

static bool is_blank(const char *line, size_t length) {
    return strspn(line, " \t\r") >= length;
}

enum input_state input_take(struct input *input, char **ret_line, size_t *ret_length) {
    for (;;) {
        if (input->data == NULL) {
            return input->ended ? INPUT_END : INPUT_MORE;
        }
        char *end = find_end(input);
        if (end == NULL && !input->ended) {
            if (input->skipping) {
                input->begin = input->searched = input->end;
            } else if (input->end - input->begin > INPUT_LINE_MAX) {
                return skip(input);
            }
            return INPUT_MORE;
        }
        char *line = input->data + input->begin;
        /* At the end, what no line feed ends is a line too. */
        size_t length = end != NULL ? (size_t)(end - line) : input->end - input->begin;
        input->begin = input->searched = input->begin + length + (end != NULL);
        bool was_skipped = input->skipping;
        input->skipping = false;
        if (!input->begun && length >= 3 && memcmp(line, "\xef\xbb\xbf", 3) == 0) {
            line += 3; /* a byte order mark */
            length -= 3;
        }
        input->begun = true;
        line[length] = '\0'; /* there is room behind all that was read */
        if (!was_skipped && !is_blank(line, length)) {
            length -= length > 0 && line[length - 1] == '\r';
            *ret_line = line;
            *ret_length = length;
            return length > INPUT_LINE_MAX ? INPUT_TOO_LONG : INPUT_LINE;
        }
        if (end == NULL) {
            return INPUT_END;
        }
    }
}
