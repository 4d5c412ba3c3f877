/* A plugin that uses what each version of the plugin interface has brought: with SINCE=2, up
 * to 1.2.
 *
 * With today's header it is what an author of that time would build now; the files beside it are
 * what they built then (see `build`). What a source here says is never changed: new versions add to
 * its end. */
#include <toolrack/plugin.h>

#ifndef SINCE
#define SINCE TR_ABI_MINOR
#endif

/* ----------------------------------------------------------------------------------- 1.0 */

static double corpus_add(double a, double b) {
    return a + b;
}
TR_TOOL(corpus_add, ("Add two numbers", .category = "math", .flags = TR_READ_ONLY), TR_F64,
        (TR_F64, a, "first addend"), (TR_F64, b, "second addend", TR_DEFAULT(1)))

struct point {
    double x, y;
};
TR_DEFINE_STRUCT(point, struct point, (TR_F64, x, "abscissa"), (TR_F64, y, "ordinate"))
enum axis { AXIS_X, AXIS_Y };
TR_DEFINE_ENUM(axis, enum axis, (AXIS_X, "x"), (AXIS_Y, "y"))

static struct point corpus_mirror(struct point point, enum axis axis) {
    struct point result = point;
    *(axis == AXIS_X ? &result.y : &result.x) *= -1;
    return result;
}
TR_TOOL(corpus_mirror, ("Mirror a point at an axis", .flags = TR_READ_ONLY), TR_STRUCT(point),
        (TR_STRUCT(point), point, "what to mirror"), (TR_ENUM(axis), axis, "at which axis"))

#define GREET_SCHEMA                                                                             \
    "{\"type\": \"object\", \"properties\": {\"name\": {\"type\": \"string\", \"description\": " \
    "\"who it is\"}}, \"required\": [\"name\"]}"
static tr_status corpus_greet(struct tr_call *call) {
    const char *name = tr_get_string(call, "name", "");
    if (name[0] == '\0') {
        return tr_fail(call, TR_INVALID_ARGUMENTS, "name", "a name has letters");
    }
    tr_log(call, TR_LOG_DEBUG, "greeting");
    return tr_reply_text(call, name);
}

/* ----------------------------------------------------------------------------------- 1.1 */

#if SINCE >= 1
TR_JSON_TOOL(corpus_greet,
             ("Greet somebody by name", .flags = TR_READ_ONLY,
              TR_EXAMPLES(TR_EXAMPLE("{\"name\": \"Ada\"}", "\"Ada\""))),
             GREET_SCHEMA)

static tr_status corpus_ask(struct tr_call *call) {
    const char *answer = NULL;
    tr_status status = tr_ask(call, "Which one?", "{\"type\": \"object\"}", &answer);
    return tr_reply_text(call, status == TR_OK ? answer : "nobody");
}
TR_JSON_TOOL(corpus_ask, ("Ask the person which one", .flags = TR_READ_ONLY),
             "{\"type\": \"object\"}")
#else
TR_JSON_TOOL(corpus_greet, ("Greet somebody by name", .flags = TR_READ_ONLY), GREET_SCHEMA)
#endif

/* ----------------------------------------------------------------------------------- 1.2 */

#if SINCE >= 2
static int64_t corpus_old(int64_t number) {
    return number;
}
TR_TOOL(corpus_old,
        ("Give a number back", .deprecated = "use corpus_add", .purpose = "to be replaced",
         .scenarios = "numbers, tests"),
        TR_I64, (TR_I64, number, "which one"))
#endif

/* ----------------------------------------------------------------------------------- 1.4 */

#if SINCE >= 4
static tr_status corpus_link(struct tr_call *call) {
    struct tr_link link = {.size = sizeof link, .uri = "https://example.org/a", .name = "a"};
    return tr_reply_link(call, &link);
}
TR_JSON_TOOL(corpus_link,
             ("Give the link of a page", .flags = TR_READ_ONLY | TR_TASK_NEVER,
              .icons = "[{\"src\": \"https://example.org/a.png\"}]"),
             "{\"type\": \"object\"}")
#endif

/* ----------------------------------------------------------------------------------- 1.5 */

#if SINCE >= 5
static tr_status corpus_all(struct tr_call *call) {
    const char *text = "";
    int64_t times = 1;
    TR_GET_ALL(call, TR_GET(text), TR_GET(times));
    return tr_reply_text(call, times == 2 ? text : "once");
}
TR_JSON_TOOL(corpus_all, ("Read all arguments at once", .flags = TR_READ_ONLY),
             "{\"type\": \"object\", \"properties\": {\"text\": {\"type\": \"string\", "
             "\"description\": \"what to give back\"}, \"times\": {\"type\": \"integer\", "
             "\"description\": \"how often\"}}}")
#endif

/* ------------------------------------------------------------------------------ the plugin */

#if SINCE >= 5
#define MORE , corpus_ask, corpus_old, corpus_link, corpus_all
#elif SINCE >= 4
#define MORE , corpus_ask, corpus_old, corpus_link
#elif SINCE >= 2
#define MORE , corpus_ask, corpus_old
#elif SINCE >= 1
#define MORE , corpus_ask
#else
#define MORE
#endif
TR_PLUGIN(("corpus", .license = "MIT", TR_CAPABILITIES(TR_READS("${data}"))), "1.0.0", corpus_add,
          corpus_mirror, corpus_greet MORE)
