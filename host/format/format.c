/* format.c - what the formats are called. */
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "toolrack/format.h"

static const char *const names[] = {
#define TOOLRACK_FORMAT(constant, name, whose) [TOOLRACK_FORMAT_##constant] = (name),
        TOOLRACK_FORMATS(TOOLRACK_FORMAT)
#undef TOOLRACK_FORMAT
};

const char *toolrack_format_name(enum toolrack_format format) {
    return (unsigned)format < TOOLRACK_FORMAT_COUNT ? names[format] : NULL;
}

int toolrack_format_find(const char *name, enum toolrack_format *ret, struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf known = BUF_INIT;
    for (unsigned i = 0; i < TOOLRACK_FORMAT_COUNT; i++) {
        if (strcmp(names[i], name) == 0) {
            *ret = (enum toolrack_format)i;
            return 0;
        }
        buf_printf(&known, "%s%s", i > 0 ? ", " : "", names[i]);
    }
    return error_set(err, TOOLRACK_E_NOT_FOUND, "there is no format '%s'; there are %s", name,
                     known.failed ? "others" : known.data);
}
