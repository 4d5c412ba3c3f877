/* Predictions for args.jsonl and faulty.jsonl of the evaluation data, one JSON object a line:
 *
 *     eval-arguments TOOLS-FOLDER ITEMS.jsonl >predictions
 *
 * An item without a tool takes the candidate whose parameters fit best. */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "eval.h"

static yyjson_val *pick_tool(struct eval *eval, yyjson_val *item, const struct values *values) {
    const char *id = yyjson_get_str(yyjson_obj_get(item, "tool"));
    yyjson_val *best = eval_tool(eval, id);
    double best_fit = -1;
    size_t at;
    size_t count;
    yyjson_val *candidate;
    if (best != NULL) {
        return best;
    }
    yyjson_arr_foreach (yyjson_obj_get(item, "candidates"), at, count, candidate) {
        yyjson_val *tool = eval_tool(eval, yyjson_get_str(candidate));
        struct arguments_tool wanted = eval_arguments_tool(tool);
        struct arguments_fit fit;
        if (tool == NULL || arguments_fit(values, &wanted, &fit, NULL) != 0) {
            continue;
        }
        double score = fit.fit + 0.3 * fit.named + 0.1 * fit.of_kind;
        if (score > best_fit) {
            best_fit = score;
            best = tool;
        }
    }
    return best;
}

static void add_names(struct buf *out, const char *key, size_t count,
                      const char *(*name)(const struct arguments *, size_t),
                      const struct arguments *arguments) {
    buf_printf(out, ",\"%s\":[", key);
    for (size_t i = 0; i < count; i++) {
        const char *last = strrchr(name(arguments, i), '/') + 1;
        buf_add_text(out, i > 0 ? "," : "");
        buf_add_json_string(out, last, strlen(last));
    }
    buf_add_char(out, ']');
}

static const char *missing_at(const struct arguments *arguments, size_t i) {
    return arguments->missing[i].pointer;
}

static const char *invalid_at(const struct arguments *arguments, size_t i) {
    return arguments->invalid[i].pointer;
}

static int print_item(struct eval *eval, yyjson_val *item) {
    const char *text = yyjson_get_str(yyjson_obj_get(item, "query"));
    struct arguments_context context = eval_context(item);
    struct values *values = NULL;
    struct arguments *arguments = NULL;
    if (values_read(text, strlen(text), &context, &values, NULL) != 0) {
        return -1;
    }
    yyjson_val *tool = pick_tool(eval, item, values);
    struct arguments_tool wanted = eval_arguments_tool(tool);
    if (tool != NULL && arguments_fill(values, &wanted, &arguments, NULL) == 0) {
        CLEANUP(buf_finish) struct buf out = BUF_INIT;
        const char *id = yyjson_get_str(yyjson_obj_get(tool, "id"));
        buf_add_text(&out, "{\"id\":");
        buf_add_json_string(&out, yyjson_get_str(yyjson_obj_get(item, "id")),
                            yyjson_get_len(yyjson_obj_get(item, "id")));
        buf_add_text(&out, ",\"tool\":");
        buf_add_json_string(&out, id, strlen(id));
        buf_printf(&out, ",\"args\":%s", arguments->json);
        add_names(&out, "missing", arguments->missing_count, missing_at, arguments);
        add_names(&out, "invalid", arguments->invalid_count, invalid_at, arguments);
        (void)printf("%s}\n", out.data);
    }
    arguments_destroy(arguments);
    values_destroy(values);
    return 0;
}

int main(int argc, char **argv) {
    if (argc != 3) {
        (void)fprintf(stderr, "usage: eval-arguments TOOLS-FOLDER ITEMS.jsonl\n");
        return 2;
    }
    return eval_run(argv[1], argv[2], print_item);
}
