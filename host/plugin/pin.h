/* pin.h - what is pinned of a tool's texts, and what happens with a tool that has changed since it
 * was approved. */
#pragma once

/* The texts of a tool that a model, or a person who agrees to its calls, may be shown, or by which
 * it is chosen: X(its name, its key and column, in words). What of struct tr_tool is none of them
 * is listed in tests/unit/test-pins.c. The first two are in every pin; a text that is added goes to
 * the end, and is not in the pins that were made before. */
#define PIN_TEXTS(X)                                 \
    X(DESCRIPTION, "description", "its description") \
    X(SCHEMA, "schema", "its schema or plan")        \
    X(TITLE, "title", "its title or icons")          \
    X(DEPRECATED, "deprecated", "its deprecation")   \
    X(RESULT, "result_schema", "its result schema")  \
    X(PURPOSE, "purpose", "its purpose")             \
    X(SCENARIOS, "scenarios", "its scenarios")       \
    X(CATEGORY, "category", "its category")          \
    X(TAGS, "tags", "its tags")                      \
    X(EXAMPLES, "examples", "its examples")

#define PIN_TEXT_NAME_(name, key, words) PIN_TEXT_##name,
enum pin_text { PIN_TEXTS(PIN_TEXT_NAME_) PIN_TEXT_COUNT };

enum pin_policy {
    PIN_UNSTATED, /* stated elsewhere */
    PIN_OFF,      /* it is not compared */
    PIN_WARN,     /* it runs, with a warning */
    PIN_ENFORCE   /* it does not run until it is approved again */
};
