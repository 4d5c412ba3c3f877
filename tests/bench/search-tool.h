/* search-tool.h - the tool that whole calls are measured with: five parameters of as many kinds,
 * about 100 bytes of arguments, about 190 bytes of result. */
#pragma once

#include "toolrack/plugin.h"

static const char result_text[] =
        "report-2026.txt: 25 matches in 3 files, first at line 118: "
        "\"replace the hand-made parser\"; the other two files hold one each, in their "
        "last lines";

struct answer {
    const char *text;
    int64_t matches;
    bool is_error;
};
TR_DEFINE_STRUCT(answer, struct answer, (TR_STRING, text, "text"), (TR_I64, matches, "matches"),
                 (TR_BOOL, is_error, "whether it failed"))

static int64_t work(const char *path, const char *mode, int64_t limit, double ratio,
                    bool recursive) {
    return (int64_t)path[0] + mode[0] + limit + (int64_t)ratio + recursive;
}

static struct answer typed(const char *path, const char *mode, int64_t limit, double ratio,
                           bool recursive) {
    return (struct answer){result_text, work(path, mode, limit, ratio, recursive), false};
}
TR_TOOL(typed, "Search", TR_STRUCT(answer),
        (TR_STRING, path, "where", .min_length = 1, .max_length = 4096),
        (TR_STRING, mode, "how", TR_CHOICES("literal", "regex", "glob")),
        (TR_I64, limit, "most", TR_MINIMUM(1), TR_MAXIMUM(1000), TR_DEFAULT(10)),
        (TR_F64, ratio, "share", TR_MINIMUM(0), TR_MAXIMUM(1), TR_DEFAULT(0)),
        (TR_BOOL, recursive, "below", TR_DEFAULT(false)))
