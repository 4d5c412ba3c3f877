/* What bench-worker calls in workers: the tool of the other benchmarks, tools with a large argument
 * and a large result, and two that end their process. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "search-tool.h"

#define LARGE (1024u * 1024)

static int64_t count(const char *text) {
    return (int64_t)strlen(text);
}
TR_TOOL(count, "Length of a text", TR_I64, (TR_STRING, text, "any"))

static const char *fill(void) {
    static char text[LARGE + 1];
    if (text[0] == '\0') {
        memset(text, 'x', LARGE);
    }
    return text;
}
TR_TOOL(fill, "A megabyte", TR_STRING)

static bool crash(void) {
    volatile char *volatile nowhere = NULL;
    *nowhere = 0;
    return true;
}
TR_TOOL(crash, "Writes where nothing is", TR_BOOL)

static bool vanish(void) {
    return raise(SIGKILL) != 0;
}
TR_TOOL(vanish, "Ends its process at once", TR_BOOL)

TR_PLUGIN(("bench_worker", .flags = BENCH_FLAGS), "1.0.0", typed, count, fill, crash, vanish)
