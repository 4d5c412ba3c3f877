/* What the conformance suite of MCP leaves out: tools for the tests in tests/mcp. */
#include <stdlib.h>
#include <string.h>
#include <toolrack/plugin.h>

struct pair {
    double sum, product;
};
TR_DEFINE_STRUCT(pair, struct pair, (TR_F64, sum, "a + b"), (TR_F64, product, "a * b"))

static struct pair pair(double a, double b) {
    return (struct pair){a + b, a * b};
}
TR_TOOL(pair,
        ("Sum and product of two numbers", .title = "Pair", .category = "math", .tags = "pair,math",
         .flags = TR_READ_ONLY | TR_IDEMPOTENT),
        TR_STRUCT(pair), (TR_F64, a, "one number"), (TR_F64, b, "the other number"))

static const char *letters(struct tr_call *call, uint32_t count) {
    char *text = tr_alloc(call, (uint64_t)count + 1);
    if (text != NULL) {
        memset(text, 'x', count);
        text[count] = '\0';
    }
    return text;
}
TR_TOOL(letters, ("A text of a length", .flags = TR_READ_ONLY), TR_STRING, TR_CALL,
        (TR_U32, count, "how many letters", TR_MAXIMUM(16777216)))

static uint64_t measure(const char *text) {
    return strlen(text);
}
TR_TOOL(measure, ("The length of a text in bytes", .flags = TR_READ_ONLY), TR_U64,
        (TR_STRING, text, "the text"))

/* A protocol on standard output must survive this. */
static bool print(const char *text) {
    return puts(text) >= 0 && fflush(stdout) == 0;
}
TR_TOOL(print, "Print a line on standard output", TR_BOOL, (TR_STRING, text, "the line"))

static void crash(void) {
    abort();
}
TR_TOOL(crash, "End the process that runs this", TR_VOID)

TR_PLUGIN(("beyond", .description = "For tests of MCP beside those of its suite",
           .flags = TR_THREAD_SAFE),
          "1.0.0", pair, letters, measure, print, crash)
