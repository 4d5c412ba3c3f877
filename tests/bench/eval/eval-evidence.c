/* Print the candidates of each parameter with their features, to fit the weights of evidence.h:
 *
 *     eval-evidence TOOLS-FOLDER ITEMS.jsonl >features
 *
 * Lines: "Q id", then for each parameter "P pointer" and for each candidate "C json<TAB>feature
 * ..."; a candidate that leaves the parameter out has no JSON. label-evidence.py marks the right
 * ones. */
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "choose/render.h"
#include "eval.h"

static struct candidate candidates[EVIDENCE_CANDIDATES_MAX];

static void print_parameter(const struct values *values, const struct evidence *evidence,
                            const struct parameters *parameters, size_t p) {
    const struct parameter *parameter = &parameters->list[p];
    size_t count = evidence_candidates(evidence, p, candidates);
    (void)printf("P %s\n", parameter->pointer);
    for (size_t i = 0; i < count; i++) {
        CLEANUP(buf_finish) struct buf json = BUF_INIT;
        if (candidates[i].form != FORM_NONE &&
            !render_candidate(values, parameter, &candidates[i], &json)) {
            continue;
        }
        (void)printf("C %s\t", json.data != NULL ? json.data : "");
        for (size_t k = 0; k < candidates[i].feature_count; k++) {
            (void)printf(" %d", candidates[i].features[k]);
        }
        (void)printf("\n");
    }
}

static int print_item(struct eval *eval, yyjson_val *item) {
    yyjson_val *tool = eval_tool(eval, yyjson_get_str(yyjson_obj_get(item, "tool")));
    const char *text = yyjson_get_str(yyjson_obj_get(item, "query"));
    if (tool == NULL || text == NULL) {
        return 0;
    }
    struct arguments_context context = eval_context(item);
    struct arguments_tool wanted = eval_arguments_tool(tool);
    struct values *values = NULL;
    struct arena arena;
    struct parameters parameters;
    struct evidence *evidence;
    struct toolrack_error err;
    arena_init(&arena, NULL, 0);
    if (values_read(text, strlen(text), &context, &values, &err) != 0 ||
        parameters_read(&wanted, &arena, &parameters, &err) != 0 ||
        evidence_create(values, &parameters, false, &arena, &evidence, &err) != 0) {
        return -1;
    }
    (void)printf("Q %s\n", yyjson_get_str(yyjson_obj_get(item, "id")));
    for (size_t p = 0; p < parameters.count; p++) {
        print_parameter(values, evidence, &parameters, p);
    }
    values_destroy(values);
    arena_finish(&arena);
    return 0;
}

int main(int argc, char **argv) {
    if (argc != 3) {
        (void)fprintf(stderr, "usage: eval-evidence TOOLS-FOLDER ITEMS.jsonl\n");
        return 2;
    }
    return eval_run(argv[1], argv[2], print_item);
}
