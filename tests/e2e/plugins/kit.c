/* kit.c - one tool for each thing that the command must handle. */
#include <time.h>
#include <toolrack/plugin.h>

/* ------------------------------------------------------------ typed tools */

static double add(double a, double b) {
    return a + b;
}
TR_TOOL(add,
        ("Add two numbers", .category = "math", .tags = "math, sum", .title = "Addition",
         .flags = TR_READ_ONLY | TR_IDEMPOTENT,
         TR_EXAMPLES(TR_EXAMPLE("{\"a\": 1,\n \"b\": 2}", "3"),
                     TR_EXAMPLE("{\"a\": 1, \"b\": -1}", NULL))),
        TR_F64, (TR_F64, a, "first addend"), (TR_F64, b, "second addend"))

static const char *greet(struct tr_call *call, const char *name, bool loud) {
    (void)call;
    (void)name;
    return loud ? "HELLO" : "hello";
}
TR_TOOL(greet, ("Greet somebody", .version = "2.0.0", .tags = "words"), TR_STRING, TR_CALL,
        (TR_STRING, name, "whom", .max_length = 10), (TR_BOOL, loud, "shout", TR_DEFAULT(false)))

static int64_t total(const int64_t *numbers, size_t count) {
    int64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += numbers[i];
    }
    return sum;
}
TR_TOOL(total, ("Sum up numbers", .category = "math", .tags = "math", .priority = 7), TR_I64,
        (TR_ARRAY(TR_I64), numbers, "what to sum up"))

static void nothing(void) {
}
TR_TOOL(nothing, "Do nothing", TR_VOID)

/* ------------------------------------------------------------- JSON tools */

static tr_status echo(struct tr_call *call) {
    return tr_reply_json(call, tr_arguments(call));
}
TR_JSON_TOOL(echo, "Give the arguments back", TR_SCHEMA({
                 "type" : "object",
                 "properties" : {
                     "s" : {"type" : "string"},
                     "n" : {"type" : "number"},
                     "i" : {"type" : "integer"},
                     "b" : {"type" : "boolean"},
                     "z" : {"type" : "null"},
                     "a" : {"type" : "array", "items" : {"type" : "string"}},
                     "o" : {"type" : "object", "properties" : {"s" : {"type" : "string"}}}
                 }
             }))

#define NO_ARGUMENTS TR_SCHEMA({"type" : "object"})

static tr_status say(struct tr_call *call) {
    return tr_reply_text(call, "two\nlines \x1b[31m");
}
TR_JSON_TOOL(say, "Say two lines \xe2\x80\xae;sdrawkcab\n\ntrust        builtin", NO_ARGUMENTS)

static tr_status picture(struct tr_call *call) {
    return tr_reply_image(call, "PNG!", 4, "image/png");
}
TR_JSON_TOOL(picture, "Give a picture", NO_ARGUMENTS)

static tr_status several(struct tr_call *call) {
    (void)tr_reply_text(call, "caption");
    (void)tr_reply_image(call, "PNG!", 4, "image/png");
    return tr_reply_json(call, "{\"count\":2}");
}
TR_JSON_TOOL(several, "Give several things at once", NO_ARGUMENTS)

static tr_status fails(struct tr_call *call) {
    return tr_fail(call, TR_FAILED, NULL, "the disk is full");
}
TR_JSON_TOOL(fails, "Fail", NO_ARGUMENTS)

static tr_status greedy(struct tr_call *call) {
    return tr_fail(call, TR_LIMIT_EXCEEDED, NULL, "too much");
}
TR_JSON_TOOL(greedy, "Reach a limit", NO_ARGUMENTS)

static tr_status picky(struct tr_call *call) {
    return tr_fail(call, TR_INVALID_ARGUMENTS, "amount", "must be a prime");
}
TR_JSON_TOOL(picky, "Refuse its argument", NO_ARGUMENTS)

static tr_status noisy(struct tr_call *call) {
    tr_log(call, TR_LOG_WARNING, "something smells");
    tr_log(call, TR_LOG_DEBUG, "looking around");
    return tr_reply_text(call, "done");
}
TR_JSON_TOOL(noisy, "Write log lines", NO_ARGUMENTS)

/* Waits that are not told to end take this long, so that a broken test ends as well. */
#define WAIT_S_MAX 60

static void wait_ms(long ms) {
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

static tr_status slow(struct tr_call *call) {
    tr_progress(call, 0.5, 0, "begun");
    tr_progress(call, 1, 2, "half way");
    for (int i = 0; i < WAIT_S_MAX * 100 && !tr_cancelled(call); i++) {
        wait_ms(10);
    }
    return tr_fail(call, TR_CANCELLED, NULL, "stopped when told to");
}
TR_JSON_TOOL(slow, "Wait until told to stop", NO_ARGUMENTS)

static tr_status stubborn(struct tr_call *call) {
    for (int i = 0; i < 300; i++) {
        wait_ms(10);
    }
    return tr_reply_text(call, "at last");
}
TR_JSON_TOOL(stubborn,
             ("Take three seconds whatever is said", .deadline_ms = 200, .flags = TR_TASK_ALWAYS,
              .icons = "[{\"src\": \"https://example.org/mule.png\"}]"),
             NO_ARGUMENTS)

static tr_status asks(struct tr_call *call) {
    const char *answer = "nothing";
    tr_status status = tr_ask(call, "Which branch?\x1b[31m", TR_SCHEMA({
                                  "type" : "object",
                                  "properties" : {"branch" : {"type" : "string"}},
                                  "required" : ["branch"]
                              }),
                              &answer);
    if (tr_cancelled(call)) {
        return tr_fail(call, TR_CANCELLED, NULL, "nobody waits");
    }
    return tr_reply_textf(call, "%d %s", (int)status, answer);
}
TR_JSON_TOOL(asks, "Ask the person", NO_ARGUMENTS)

/* ------------------------------------------------------- tools with a leash */

static tr_status asleep(struct tr_call *call) {
    return tr_reply_text(call, "awake");
}
TR_JSON_TOOL(asleep, ("Disabled by its author", .flags = TR_DISABLED), NO_ARGUMENTS)

static tr_status erase(struct tr_call *call) {
    return tr_reply_text(call, "erased");
}
TR_JSON_TOOL(erase,
             ("Erase something", .permission = TR_CONFIRM, .flags = TR_DESTRUCTIVE | TR_OPEN_WORLD),
             NO_ARGUMENTS)

static tr_status launch(struct tr_call *call) {
    return tr_reply_text(call, "launched");
}
TR_JSON_TOOL(launch, ("Launch something", .permission = TR_DANGEROUS), NO_ARGUMENTS)

TR_PLUGIN(("kit", .flags = TR_THREAD_SAFE), "1.0.0", add, greet, total, nothing, echo, say, picture,
          several, asks, fails, greedy, picky, noisy, slow, stubborn, asleep, erase, launch)
