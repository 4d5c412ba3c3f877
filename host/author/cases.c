#include "author/cases.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"

/* How often arguments are made until some fit. */
#define TRIES_MAX     40u
/* Calls that shrinking makes at most: each starts a worker. */
#define PROBES_MAX    60u
/* Out of so many, one is an example with one value changed. */
#define MUTATE_ONE_OF 3u

void cases_begin(struct cases *ret, struct bench *bench, size_t tool, enum rule rule) {
    struct toolrack_tool *about = bench->tools[tool];
    const char *schema = about != NULL ? toolrack_tool_schema(about) : "{}";
    size_t count = about != NULL ? toolrack_tool_example_count(about) : 0;
    *ret = (struct cases){.bench = bench, .tool = tool};
    ret->schema = yyjson_read(schema, strlen(schema), 0);
    for (size_t i = 0; i < count && i < CASES_EXAMPLES_MAX; i++) {
        const char *text = toolrack_tool_example_arguments(about, i);
        yyjson_doc *doc = yyjson_read(text, strlen(text), 0);
        if (yyjson_is_obj(yyjson_doc_get_root(doc))) {
            ret->examples[ret->generator.example_count] = yyjson_doc_get_root(doc);
            ret->example_docs[ret->generator.example_count++] = doc;
        } else {
            yyjson_doc_free(doc);
        }
    }
    ret->generator.schema = yyjson_doc_get_root(ret->schema);
    ret->generator.examples = ret->examples;
    ret->generator.doc = yyjson_mut_doc_new(NULL);
    ret->generator.random =
            random_of(bench->session->options->seed, rule, bench->session->tools[tool].name);
}

void cases_end(struct cases *cases) {
    for (size_t i = 0; i < cases->generator.example_count; i++) {
        yyjson_doc_free(cases->example_docs[i]);
    }
    yyjson_doc_free(cases->schema);
    yyjson_mut_doc_free(cases->generator.doc);
}

static char *write_value(yyjson_mut_val *value) {
    return value != NULL ? yyjson_mut_val_write(value, 0, NULL) : NULL;
}

/* An example with one value of typical arguments; those stay in the document. */
static yyjson_mut_val *mutate(struct cases *cases) {
    struct generator *generator = &cases->generator;
    yyjson_mut_val *typical = generate_typical(generator);
    size_t size = yyjson_mut_obj_size(typical);
    if (generator->example_count == 0 || size == 0 ||
        random_below(&generator->random, MUTATE_ONE_OF) != 0) {
        return typical;
    }
    size_t index = random_below(&generator->random, generator->example_count);
    yyjson_mut_val *object = yyjson_val_mut_copy(generator->doc, generator->examples[index]);
    size_t nth = random_below(&generator->random, size);
    yyjson_mut_val *key;
    yyjson_mut_obj_iter iter = yyjson_mut_obj_iter_with(typical);
    while ((key = yyjson_mut_obj_iter_next(&iter)) != NULL && nth-- > 0) {
    }
    if (key != NULL) {
        yyjson_mut_val *value = yyjson_mut_obj_iter_get_val(key);
        (void)yyjson_mut_obj_put(object, yyjson_mut_val_mut_copy(generator->doc, key),
                                 yyjson_mut_val_mut_copy(generator->doc, value));
    }
    return object;
}

char *cases_typical(struct cases *cases) {
    for (unsigned i = 0; i < TRIES_MAX; i++) {
        char *text = write_value(mutate(cases));
        if (text == NULL || bench_fits(cases->bench, cases->tool, text)) {
            return text;
        }
        free(text);
    }
    /* What cannot be made may still be known. */
    for (size_t i = 0; i < cases->generator.example_count; i++) {
        char *text = yyjson_val_write(cases->examples[i], 0, NULL);
        if (text != NULL && bench_fits(cases->bench, cases->tool, text)) {
            return text;
        }
        free(text);
    }
    return NULL;
}

size_t cases_make(struct cases *cases, enum rule rule) {
    cases->list = rule == RULE_FUZZ_BOUNDARY ? generate_bounds(&cases->generator)
                                             : generate_wrong(&cases->generator);
    return yyjson_mut_arr_size(cases->list);
}

char *cases_take(struct cases *cases) {
    size_t count = yyjson_mut_arr_size(cases->list);
    return count > 0 ? write_value(yyjson_mut_arr_remove(
                               cases->list, random_below(&cases->generator.random, count)))
                     : NULL;
}

/* -------------------------------------------------------------------- shrink */

struct shrinking {
    struct bench *bench;
    size_t tool;
    bool fits;
    unsigned probes;
    yyjson_mut_doc *doc;
    yyjson_mut_val *root;
    char *best; /* NULL: nothing smaller was found */
};

/* Whether the arguments as they are now crash the tool too; then they are the best. */
static bool probe(struct shrinking *shrinking) {
    struct answer answer;
    char *text = write_value(shrinking->root);
    if (text == NULL || shrinking->probes == PROBES_MAX ||
        bench_fits(shrinking->bench, shrinking->tool, text) != shrinking->fits) {
        free(text);
        return false;
    }
    shrinking->probes++;
    bench_call(shrinking->bench, shrinking->tool, text, shrinking->bench->session->timeout_ms,
               &answer);
    bool crashes = answer.is_dead;
    answer_finish(&answer);
    if (crashes) {
        free(shrinking->best);
        shrinking->best = text;
    } else {
        free(text);
    }
    return crashes;
}

/* Values to put in the place of one: the simplest first. */
static yyjson_mut_val *simpler(yyjson_mut_doc *doc, yyjson_mut_val *value, unsigned nth) {
    if (yyjson_mut_is_str(value)) {
        size_t length = yyjson_mut_get_len(value);
        size_t shorter = nth == 0 ? 0 : nth == 1 ? 1 : nth == 2 ? length / 2 : length;
        return shorter < length ? yyjson_mut_strncpy(doc, yyjson_mut_get_str(value), shorter)
                                : NULL;
    }
    if (yyjson_mut_is_num(value)) {
        bool is_simple = yyjson_mut_is_int(value) && yyjson_mut_get_sint(value) >= 0 &&
                         yyjson_mut_get_sint(value) <= (int64_t)nth;
        if (nth == 2 && yyjson_mut_is_int(value)) {
            int64_t half = yyjson_mut_get_sint(value) / 2;
            return half != 0 ? yyjson_mut_sint(doc, half) : NULL;
        }
        return nth < 2 && !is_simple ? yyjson_mut_sint(doc, (int64_t)nth) : NULL;
    }
    if (yyjson_mut_is_bool(value)) {
        return nth == 0 && yyjson_mut_get_bool(value) ? yyjson_mut_false(doc) : NULL;
    }
    return NULL;
}
#define SIMPLER_COUNT 3u

static bool shrink_array(struct shrinking *shrinking, yyjson_mut_val *array) {
    size_t count = yyjson_mut_arr_size(array);
    for (size_t i = count; i-- > 0;) {
        yyjson_mut_val *item = yyjson_mut_arr_remove(array, i);
        if (probe(shrinking)) {
            return true;
        }
        (void)yyjson_mut_arr_insert(array, item, i);
    }
    return false;
}

/* Try to remove or simplify one member. @return whether that was possible */
static bool shrink_member(struct shrinking *shrinking, const char *name) {
    yyjson_mut_doc *doc = shrinking->doc;
    yyjson_mut_val *root = shrinking->root;
    yyjson_mut_val *value = yyjson_mut_obj_remove_key(root, name);
    if (probe(shrinking)) {
        return true;
    }
    for (unsigned nth = 0; nth < SIMPLER_COUNT; nth++) {
        yyjson_mut_val *other = simpler(doc, value, nth);
        if (other != NULL) {
            (void)yyjson_mut_obj_put(root, yyjson_mut_strcpy(doc, name), other);
            if (probe(shrinking)) {
                return true;
            }
        }
    }
    (void)yyjson_mut_obj_put(root, yyjson_mut_strcpy(doc, name), value);
    return yyjson_mut_is_arr(value) && shrink_array(shrinking, value);
}

/* One member after the other; a member that became simpler is tried again. */
static void shrink_object(struct shrinking *shrinking) {
    yyjson_doc *names = yyjson_mut_val_imut_copy(shrinking->root, NULL);
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    json_obj_foreach (yyjson_doc_get_root(names), at, count, key, value) {
        while (shrinking->probes < PROBES_MAX &&
               yyjson_mut_obj_get(shrinking->root, yyjson_get_str(key)) != NULL &&
               shrink_member(shrinking, yyjson_get_str(key))) {
        }
    }
    (void)value;
    yyjson_doc_free(names);
}

char *cases_shrink(struct bench *bench, size_t tool, const char *arguments) {
    yyjson_doc *read = yyjson_read(arguments, strlen(arguments), 0);
    struct shrinking shrinking = {.bench = bench,
                                  .tool = tool,
                                  .fits = bench_fits(bench, tool, arguments),
                                  .doc = yyjson_mut_doc_new(NULL)};
    if (shrinking.doc != NULL && yyjson_is_obj(yyjson_doc_get_root(read))) {
        shrinking.root = yyjson_val_mut_copy(shrinking.doc, yyjson_doc_get_root(read));
        shrink_object(&shrinking);
    }
    yyjson_doc_free(read);
    yyjson_mut_doc_free(shrinking.doc);
    return shrinking.best;
}
