/* text.h - a text that grows; a growth that fails is noted and ends it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct text {
    char *data; /* with a zero at its end; NULL while empty */
    size_t length;
    size_t capacity;
    size_t max; /**< bytes it may have */
    bool failed;
};

void text_finish(struct text *text);
void text_add(struct text *text, const char *bytes, size_t length);
void text_add_string(struct text *text, const char *string);
void text_cut(struct text *text, size_t length);
