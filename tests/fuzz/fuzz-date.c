/* A time as somebody writes it (plugins/git): read or not, and what was read is written in a form
 * that is read as the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "date.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NOW       1700000000
#define YEAR_9999 253402300799

static void require(bool holds) {
    if (!holds) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char text[101];
    char written[DATE_SIZE];
    int64_t time = 0;
    int64_t again = 0;
    size_t length = size < sizeof text ? size : sizeof text - 1;
    memcpy(text, data, length);
    text[length] = '\0';
    if (date_read(text, NOW, &time) && time >= 0 && time <= YEAR_9999 - 86400) {
        date_write(time, 90, written);
        require(date_read(written, NOW, &again) && again == time);
        date_write_git(time, -30, written);
        require(date_read(written, NOW, &again) && again == time);
    }
    return 0;
}
