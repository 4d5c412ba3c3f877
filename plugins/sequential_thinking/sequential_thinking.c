/* sequential_thinking - a place for a model to think aloud, step by step: it says how many thoughts
 * there were, and in which branches.
 *
 * Name, arguments and result are those of the MCP reference server `sequential-thinking`. What is
 * counted belongs to the process: a worker that ends after a while without calls begins anew. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <toolrack/plugin.h>

/* Most branches that are remembered; further ones are not listed. */
#define BRANCHES_MAX    1000u
/* Longest name of a branch that is remembered. */
#define BRANCH_SIZE_MAX 1000u

static char *branches[BRANCHES_MAX]; /* owned; in the order in which they were first named */
static size_t branch_count;
static uint64_t thought_count;

static void close_thinking(void) {
    while (branch_count > 0) {
        free(branches[--branch_count]);
    }
    thought_count = 0;
}

/* A whole number from 1, also as text. False: the call has failed, unless it may be left out. */
static bool read_number(struct tr_call *call, const char *field, bool is_needed, uint64_t *ret) {
    const char *text = tr_get_string(call, field, NULL);
    double value = 0;
    *ret = 0;
    if (text != NULL) {
        char *end;
        value = strtod(text, &end);
        value = end != text && end[strspn(end, " \t\n")] == '\0' ? value : 0;
    } else if (tr_kind_of(call, field) == TR_JSON_NUMBER) {
        value = tr_get_f64(call, field, 0);
    } else if (!is_needed) {
        return true;
    }
    if (!(value >= 1) || value > 9007199254740991.0 || value != floor(value)) {
        (void)tr_fail(call, TR_INVALID_ARGUMENTS, field, "must be a whole number from 1");
        return false;
    }
    *ret = (uint64_t)value;
    return true;
}

/* True or false, also as text in any capitals. */
static bool read_truth(struct tr_call *call, const char *field, bool *ret) {
    const char *text = tr_get_string(call, field, NULL);
    *ret = text != NULL ? strcasecmp(text, "true") == 0 : tr_get_bool(call, field, false);
    if (text != NULL && !*ret && strcasecmp(text, "false") != 0) {
        (void)tr_fail(call, TR_INVALID_ARGUMENTS, field, "must be true or false");
        return false;
    }
    return true;
}

static tr_status remember_branch(struct tr_call *call, const char *name) {
    for (size_t i = 0; i < branch_count; i++) {
        if (strcmp(branches[i], name) == 0) {
            return TR_OK;
        }
    }
    if (branch_count == BRANCHES_MAX || strlen(name) > BRANCH_SIZE_MAX) {
        return tr_fail(
                call, TR_LIMIT_EXCEEDED, "branchId",
                "there are at most %u branches, with names of at most %u bytes; go on in one "
                "that is there",
                BRANCHES_MAX, BRANCH_SIZE_MAX);
    }
    branches[branch_count] = strdup(name);
    if (branches[branch_count] == NULL) {
        return tr_fail(call, TR_FAILED, NULL, "out of memory");
    }
    branch_count++;
    return TR_OK;
}

/* The result as text with line breaks. */
static tr_status reply_text(struct tr_call *call, uint64_t number, uint64_t total, bool needed) {
    size_t room = 400;
    for (size_t i = 0; i < branch_count; i++) {
        room += 6 * strlen(branches[i]) + 8;
    }
    char *text = tr_alloc(call, room);
    if (text == NULL) {
        return TR_LIMIT_EXCEEDED;
    }
    char *to = text + sprintf(text,
                              "{\n  \"thoughtNumber\": %llu,\n  \"totalThoughts\": %llu,\n"
                              "  \"nextThoughtNeeded\": %s,\n  \"branches\": [",
                              (unsigned long long)number, (unsigned long long)total,
                              needed ? "true" : "false");
    for (size_t i = 0; i < branch_count; i++) {
        to = stpcpy(to, i > 0 ? ",\n    \"" : "\n    \"");
        for (const char *at = branches[i]; *at != '\0'; at++) {
            static const char named[] = "\"\\\b\f\n\r\t";
            const char *place = strchr(named, *at);
            if (place != NULL) {
                *to++ = '\\';
                *to++ = "\"\\bfnrt"[place - named];
            } else if ((unsigned char)*at < 0x20) {
                to += sprintf(to, "\\u%04x", (unsigned char)*at);
            } else {
                *to++ = *at;
            }
        }
        *to++ = '"';
    }
    (void)sprintf(to, "%s],\n  \"thoughtHistoryLength\": %llu\n}", branch_count > 0 ? "\n  " : "",
                  (unsigned long long)thought_count);
    return tr_reply_text(call, text);
}

static tr_status sequentialthinking(struct tr_call *call) {
    uint64_t number;
    uint64_t total;
    uint64_t revised;
    uint64_t branched;
    bool needed;
    bool other;
    if (!read_number(call, "thoughtNumber", true, &number) ||
        !read_number(call, "totalThoughts", true, &total) ||
        !read_number(call, "revisesThought", false, &revised) ||
        !read_number(call, "branchFromThought", false, &branched) ||
        !read_truth(call, "nextThoughtNeeded", &needed) ||
        !read_truth(call, "isRevision", &other) || !read_truth(call, "needsMoreThoughts", &other)) {
        return TR_INVALID_ARGUMENTS;
    }
    const char *branch = tr_get_string(call, "branchId", "");
    if (branched != 0 && *branch != '\0' && remember_branch(call, branch) != TR_OK) {
        return TR_LIMIT_EXCEEDED;
    }
    total = number > total ? number : total;
    thought_count++;
    if (reply_text(call, number, total, needed) != TR_OK) {
        return TR_LIMIT_EXCEEDED;
    }
    (void)tr_put_object(call, NULL);
    (void)tr_put_u64(call, "thoughtNumber", number);
    (void)tr_put_u64(call, "totalThoughts", total);
    (void)tr_put_bool(call, "nextThoughtNeeded", needed);
    (void)tr_put_array(call, "branches");
    for (size_t i = 0; i < branch_count; i++) {
        (void)tr_put_string(call, NULL, branches[i]);
    }
    (void)tr_put_end(call);
    (void)tr_put_u64(call, "thoughtHistoryLength", thought_count);
    return tr_put_end(call);
}

/* clang-format off */
TR_JSON_TOOL(sequentialthinking,
    ("Think about a hard problem step by step, in a sequence of numbered thoughts, one a call: plan, analyse, doubt, revise an earlier "
     "thought (isRevision, revisesThought), or try another way from one (branchFromThought, branchId). "
     "totalThoughts is an estimate that may change at any time. Go on while nextThoughtNeeded is true; "
     "state a hypothesis, check it against the steps, and end with one answer. Returns how many thoughts "
     "there were and the branches.",
     .title = "Sequential Thinking", .category = "thinking", .tags = "think,thought,problem,reason,plan,step,sequence,reflect",
     TR_EXAMPLES(TR_EXAMPLE(TR_SCHEMA({"thought": "First find out what is asked.", "nextThoughtNeeded": true,
                                       "thoughtNumber": 1, "totalThoughts": 3}), NULL)),
     .result_schema = TR_SCHEMA({"type": "object", "properties": {
         "thoughtNumber": {"type": "integer"}, "totalThoughts": {"type": "integer"},
         "nextThoughtNeeded": {"type": "boolean"}, "branches": {"type": "array", "items": {"type": "string"}},
         "thoughtHistoryLength": {"type": "integer"}
     }, "required": ["thoughtNumber", "totalThoughts", "nextThoughtNeeded", "branches", "thoughtHistoryLength"]})),
    TR_SCHEMA({"type": "object", "properties": {
        "thought": {"type": "string", "description": "This step of thinking"},
        "nextThoughtNeeded": {"anyOf": [{"type": "boolean"}, {"type": "string"}], "description": "Whether another step follows"},
        "thoughtNumber": {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "string"}], "description": "Its number, from 1; may go beyond the estimate"},
        "totalThoughts": {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "string"}], "description": "How many steps it will take, as far as is known"},
        "isRevision": {"anyOf": [{"type": "boolean"}, {"type": "string"}], "description": "Whether it revises an earlier thought"},
        "revisesThought": {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "string"}], "description": "The number of the thought that it revises"},
        "branchFromThought": {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "string"}], "description": "The number of the thought that another way begins at"},
        "branchId": {"type": "string", "description": "A name of that way"},
        "needsMoreThoughts": {"anyOf": [{"type": "boolean"}, {"type": "string"}], "description": "Whether there are more thoughts needed than were estimated"}
    }, "required": ["thought", "nextThoughtNeeded", "thoughtNumber", "totalThoughts"]}))

TR_PLUGIN(("sequential_thinking", .description = "Counts the thoughts of a model that thinks step by step",
           .vendor = "toolrack", .license = "MIT", .close = close_thinking),
          "1.0.0", sequentialthinking)
