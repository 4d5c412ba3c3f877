#include "text.h"

#include <stdlib.h>
#include <string.h>

void text_finish(struct text *text) {
    free(text->data);
    text->data = NULL;
    text->length = 0;
    text->capacity = 0;
}

void text_add(struct text *text, const char *bytes, size_t length) {
    if (text->failed || length > text->max - text->length) {
        text->failed = true;
        return;
    }
    if (text->length + length + 1 > text->capacity) {
        size_t capacity = (text->length + length + 64) * 2;
        char *data = realloc(text->data, capacity);
        if (data == NULL) {
            text->failed = true;
            return;
        }
        text->data = data;
        text->capacity = capacity;
    }
    if (length > 0) {
        memcpy(text->data + text->length, bytes, length);
    }
    text->length += length;
    text->data[text->length] = '\0';
}

void text_add_string(struct text *text, const char *string) {
    text_add(text, string, strlen(string));
}

void text_cut(struct text *text, size_t length) {
    if (length < text->length) {
        text->length = length;
        text->data[length] = '\0';
    }
}
