/* plan-words.h - how a model is told to write a plan, the same wherever it is offered run_plan: by
 * a server, and in the agent loop. Texts of this file have nothing that JSON would escape but
 * quotes. */
#pragma once

#define PLAN_WORDS_TOOL "run_plan"

/* How values flow, and an example. */
#define PLAN_WORDS_REFERENCES                                                                     \
    "Where a value is the result of another node, write {\"$ref\":\"#/nodes/ID/result\"} in its " \
    "place, with /MEMBER or /0 behind it for a part, or ${nodes.ID.result} inside a string; the " \
    "order follows, and nodes that do not need each other run at the same time. The plan is "     \
    "checked before anything runs: all that is wrong comes back at once. Example: {\"nodes\":[{"  \
    "\"id\":\"a\",\"tool\":\"read_file\",\"arguments\":{\"path\":\"x.txt\"}},{\"id\":\"b\","      \
    "\"tool\":\"count_words\",\"arguments\":{\"text\":{\"$ref\":\"#/nodes/a/result\"}}}]}"

/* Of the JSON Schema of a plan, more than its type: what most plans have of
 * toolrack-plan.schema.json, which is several times as long. */
#define PLAN_WORDS_MEMBERS                                                                         \
    "\"properties\":{\"nodes\":{\"type\":\"array\",\"minItems\":1,\"items\":{\"type\":"            \
    "\"object\",\"properties\":{\"id\":{\"type\":\"string\"},\"tool\":{\"type\":\"string\"},"      \
    "\"arguments\":{\"type\":\"object\"},\"depends_on\":{\"type\":\"array\",\"items\":{\"type\":"  \
    "\"string\"},\"description\":\"Nodes that must end first, beside those it refers to\"},"       \
    "\"when\":{\"type\":\"object\",\"description\":\"It runs only if the reference is true, or "   \
    "{value, is}: the value matches a JSON Schema\"},\"for_each\":{\"description\":\"A reference " \
    "to an array: one call for each, and {\\\"$ref\\\":\\\"#/item\\\"} is the "                    \
    "item\"},\"on_error\":{"                                                                       \
    "\"description\":\"stop (as without it), skip, retry, or {fallback: {value}}\"},"              \
    "\"deadline_ms\":{\"type\":\"integer\"}},\"required\":[\"id\",\"tool\"]}},\"result\":{"        \
    "\"description\":\"What is given back, with references; without it the last results\"}},"      \
    "\"required\":[\"nodes\"],"

/* Of the parameter for the inputs of a plan; inside a string of JSON. */
#define PLAN_WORDS_INPUTS \
    "Values for {\\\"$ref\\\":\\\"#/inputs/NAME\\\"}, if the plan has inputs: {NAME: JSON Schema}"
