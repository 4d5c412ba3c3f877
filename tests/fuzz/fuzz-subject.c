/* Tokens of subjects of any bytes: what is read as a name is written as the same token, and any
 * name that fits is read back. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "remote/nats/subject.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void check(bool holds) {
    if (!holds) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    const char *bytes = size > 0 ? (const char *)data : "";
    char name[SUBJECT_NAME_MAX + 1];
    size_t length = 0;
    if (subject_read_token(bytes, size, name, &length)) {
        CLEANUP(buf_finish) struct buf token = BUF_INIT;
        subject_add_token(&token, name, length);
        check(token.length == size && memcmp(token.data, bytes, size) == 0);
    }
    if (size <= SUBJECT_NAME_MAX && memchr(bytes, '\0', size) == NULL) {
        CLEANUP(buf_finish) struct buf token = BUF_INIT;
        subject_add_token(&token, bytes, size);
        check(token.length <= SUBJECT_TOKEN_MAX);
        check(subject_read_token(token.data, token.length, name, &length));
        check(length == size && memcmp(name, bytes, size) == 0);
    }
    return 0;
}
