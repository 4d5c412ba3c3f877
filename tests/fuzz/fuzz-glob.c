/* A glob of any bytes, and a path: the first line is the pattern, the second the path. Patterns
 * come from models, and paths from whoever may make files.
 *
 * A pattern that is negated once more says the opposite, and matching says the same each time. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "glob.h"
#include "text.h"

#define LINE_ROOM 600

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void check(bool holds) {
    if (!holds) {
        abort();
    }
}

/* A line as valid UTF-8 without U+0000, as the tools give it. */
static void take(const unsigned char **data, size_t *size, char ret[LINE_ROOM * 3]) {
    struct text text = {0};
    const unsigned char *end = memchr(*data, '\n', *size);
    size_t length = end != NULL ? (size_t)(end - *data) : *size;
    text_add_utf8(&text, (const char *)*data, length < LINE_ROOM ? length : LINE_ROOM - 1);
    check(!text.failed);
    (void)memcpy(ret, text.length > 0 ? text.data : "", text.length);
    ret[text.length] = '\0';
    text_finish(&text);
    length += end != NULL;
    *data += length;
    *size -= length;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    static char pattern[LINE_ROOM * 3 + 1];
    static char path[LINE_ROOM * 3];
    char message[GLOB_MESSAGE_MAX];
    struct glob glob;
    struct glob opposite;
    pattern[0] = '!';
    take(&data, &size, pattern + 1);
    take(&data, &size, path);
    bool is_good = glob_compile(pattern + 1, &glob, message);
    check(is_good || message[0] != '\0');
    if (is_good) {
        bool does = glob_matches(&glob, path);
        check(does == glob_matches(&glob, path));
        bool is_plain = pattern[1] != '\0' && pattern[1] != '#';
        if (is_plain && glob_compile(pattern, &opposite, message)) {
            check(glob_matches(&opposite, path) == !does);
            glob_finish(&opposite);
        }
    }
    glob_finish(&glob);
    return 0;
}
