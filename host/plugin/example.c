/* The examples of a tool: calls that show how it is used, and that a host may try.
 *
 * A wrong table refuses the tool, like any wrong table. A wrong example is left out with a warning:
 * the tool works without it, and users of the others need not check them again. The arguments of
 * each remaining example are a JSON object and its result is JSON; the caller checks that they fit
 * the tool's schemas (see descriptor_values_check). */
#include <stdio.h>
#include <string.h>

#include "plugin/reader.h"

#define W(field) RECORD_WORD(struct tr_example, field)
static const struct record_shape example_shape = {
        .what = "example",
        .size_min = RECORD_SIZE_MIN(struct tr_example, result),
        .size = sizeof(struct tr_example),
        .pointers = W(arguments) | W(result)};
#undef W

static const struct text_field example_texts[] = {
        TEXT_FIELD(struct tr_example, arguments, TEXT_FREE),
        TEXT_FIELD(struct tr_example, result, TEXT_FREE),
};

/* The examples of one tool while they are checked. */
struct examples {
    struct tr_example *list; /* in the descriptor's memory */
    uint32_t count;
    bool wrong[DESCRIPTOR_EXAMPLES_MAX];
};

/* Findings about an example have its index, from 1. */
static void report(struct reader *reader, struct examples *examples, uint32_t index,
                   enum finding_rule rule, const char *what, const char *reason) {
    char number[16];
    (void)snprintf(number, sizeof number, "%u", index + 1);
    reader->place = "example";
    reader_enter(reader, number);
    reader_report(reader, rule, "%s %s", what, reason);
    reader_leave(reader);
    reader->place = NULL;
    examples->wrong[index] = true;
}

/* ----------------------------------------------------------------- table */

static bool read_table(struct reader *reader, uint64_t address, const struct tr_tool *tool,
                       struct examples *examples) {
    uint32_t count = tool->example_count;
    uint32_t stride = tool->example_size;
    if (address == 0 || count > DESCRIPTOR_EXAMPLES_MAX ||
        !record_size_valid(&example_shape, stride)) {
        reader_report(reader, FINDING_EXAMPLE_TABLE,
                      "the tool has %u examples, each of %u bytes: not 1 to %u of at least %u",
                      address == 0 ? 0 : count, stride, DESCRIPTOR_EXAMPLES_MAX,
                      example_shape.size_min);
        return false;
    }
    examples->count = count;
    examples->list = reader_alloc(reader, count * sizeof *examples->list);
    bool sound = examples->list != NULL;
    for (uint32_t i = 0; sound && i < count; i++) {
        struct record record;
        sound = reader_record(reader, &example_shape, address + (uint64_t)i * stride, stride,
                              FINDING_EXAMPLE_TABLE, &examples->list[i], &record) &&
                reader_texts(reader, &record, example_texts,
                             sizeof example_texts / sizeof example_texts[0]) == 0;
    }
    return sound && reader->failure == 0;
}

/* ---------------------------------------------------------------- values */

/* Pass the arguments, or the results, of the examples without errors so far to the caller's check:
 * all at once, so that it compiles the schema only once. */
static void check_values(struct reader *reader, struct examples *examples, const char *schema,
                         bool is_result) {
    const struct descriptor_options *options = reader->options;
    if (options == NULL || options->check_values == NULL || schema == NULL) {
        return;
    }
    struct descriptor_value values[DESCRIPTOR_EXAMPLES_MAX];
    uint32_t places[DESCRIPTOR_EXAMPLES_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < examples->count; i++) {
        const struct tr_example *example = &examples->list[i];
        const char *json = is_result ? example->result : example->arguments;
        if (json != NULL && !examples->wrong[i]) {
            values[count] = (struct descriptor_value){.json = json, .fits = true};
            places[count++] = i;
        }
    }
    if (count == 0) {
        return;
    }
    options->check_values(options->user, schema, strlen(schema), is_result, &reader->steps, values,
                          count);
    for (uint32_t i = 0; i < count; i++) {
        if (!values[i].fits) {
            report(reader, examples, places[i],
                   is_result ? FINDING_EXAMPLE_RESULT : FINDING_EXAMPLE_ARGUMENTS,
                   is_result ? "its result does not fit the tool's schema:"
                             : "its arguments do not fit the tool's schema:",
                   values[i].reason);
        }
    }
}

/* ----------------------------------------------------------------- whole */

bool examples_read(struct reader *reader, uint64_t address, struct tr_tool *tool,
                   const struct descriptor_tool *spec) {
    struct examples examples = {0};
    if (tool->example_count == 0 && address != 0) {
        reader_report(reader, FINDING_COUNT_ZERO,
                      "the tool's examples are not read: .example_count is 0");
    }
    if (tool->example_count > 0 && !read_table(reader, address, tool, &examples)) {
        return false;
    }
    for (uint32_t i = 0; i < examples.count && reader->failure == 0; i++) {
        const struct tr_example *example = &examples.list[i];
        char reason[READER_REASON_MAX];
        if (example->arguments == NULL) {
            report(reader, &examples, i, FINDING_EXAMPLE_ARGUMENTS, "its arguments", "are missing");
        } else {
            yyjson_doc *doc = reader_json(reader, example->arguments, reason, sizeof reason);
            if (doc == NULL) {
                report(reader, &examples, i, FINDING_EXAMPLE_ARGUMENTS,
                       "its arguments cannot be read:", reason);
            } else if (!yyjson_is_obj(yyjson_doc_get_root(doc))) {
                report(reader, &examples, i, FINDING_EXAMPLE_ARGUMENTS, "its arguments",
                       "are not a JSON object");
            }
            reader_scratch_reset(reader);
        }
        if (example->result != NULL &&
            reader_json(reader, example->result, reason, sizeof reason) == NULL) {
            report(reader, &examples, i, FINDING_EXAMPLE_RESULT,
                   "its result cannot be read:", reason);
        }
        reader_scratch_reset(reader);
    }
    if (reader->failure == 0) {
        check_values(reader, &examples, spec->schema, false);
        check_values(reader, &examples, spec->result_schema, true);
    }
    /* Keep the examples without errors, in their order. */
    uint32_t count = 0;
    for (uint32_t i = 0; i < examples.count; i++) {
        if (!examples.wrong[i]) {
            examples.list[count++] = examples.list[i];
        }
    }
    tool->examples = count > 0 ? examples.list : NULL;
    tool->example_count = count;
    tool->example_size = count > 0 ? sizeof(struct tr_example) : 0;
    return reader->failure == 0;
}
