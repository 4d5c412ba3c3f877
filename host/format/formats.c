/* The formats by name. */
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "toolrack/format.h"

static const char *const names[] = {
#define FORMAT_NAME(constant, name, whose) [TOOLRACK_FORMAT_##constant] = (name),
        TOOLRACK_FORMATS(FORMAT_NAME)
#undef FORMAT_NAME
};

const char *toolrack_format_name(enum toolrack_format format) {
    return (unsigned)format < ARRAY_LENGTH(names) ? names[format] : NULL;
}

/* Most bytes of an unknown name that are shown. */
#define NAME_SHOWN_MAX 64

int toolrack_format_find(const char *name, enum toolrack_format *ret, struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf known = BUF_INIT;
    for (unsigned i = 0; i < ARRAY_LENGTH(names); i++) {
        if (strcmp(names[i], name) == 0) {
            *ret = (enum toolrack_format)i;
            return 0;
        }
        buf_printf(&known, "%s%s", i > 0 ? ", " : "", names[i]);
    }
    return known.failed ? error_oom(err)
                        : error_set(err, TOOLRACK_E_NOT_FOUND,
                                    "there is no format '%.*s'; the formats are: %s",
                                    NAME_SHOWN_MAX, name, known.data);
}
