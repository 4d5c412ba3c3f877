#include "answer-schema.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/cleanup.h"

#include <cmocka.h>

static struct schema *schema;

static void read_schema(void) {
    struct toolrack_error err = {0};
    yyjson_doc *doc = yyjson_read_file(TEST_SELECT_SCHEMA, 0, NULL, NULL);
    int code = doc != NULL ? schema_compile(yyjson_doc_get_root(doc), NULL, &schema, &err) : -1;
    yyjson_doc_free(doc);
    if (code != 0) {
        fail_msg(TEST_SELECT_SCHEMA ": %s", doc != NULL ? err.message : "is no JSON");
    }
}

bool answer_is_described(yyjson_val *answer, struct schema_failure *failure) {
    if (schema == NULL) {
        read_schema();
    }
    return schema_validate(schema, answer, failure);
}

void assert_answer(yyjson_val *answer) {
    struct schema_failure failure;
    if (!answer_is_described(answer, &failure)) {
        char *text = yyjson_val_write(answer, 0, NULL);
        fail_msg("%s: %s in %.4000s", failure.field, failure.reason, text);
    }
}

void answer_schema_finish(void) {
    schema_destroy(STEAL(schema));
}
