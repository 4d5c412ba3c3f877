/* Input: a schema, a zero byte, an instance. Compiles, validates and fills, and checks what must
 * hold of any schema and any instance. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "schema/schema.h"
#include "schema/tolerate.h"

#define SLOTS     16
#define STEPS_MAX 100000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int holds) {
    if (!holds) {
        abort();
    }
}

static void check_failure(const struct schema_failure *failure) {
    must(failure->code < 0);
    must(failure->keyword != NULL);
    must(failure->reason[0] != '\0');
    must(failure->field[0] == '\0' || failure->field[0] == '/');
    must(strchr(failure->reason, '\n') == NULL);
}

static void check_slots(const struct schema *schema, yyjson_val *instance, yyjson_val **slots) {
    for (size_t i = 0; i < SLOTS; i++) {
        const char *name = schema_property_name(schema, i);
        must(name != NULL || slots[i] == NULL);
        /* Names with a zero inside cannot be asked for this way. */
        if (name != NULL && slots[i] != NULL &&
            unsafe_yyjson_get_len(slots[i] - 1) == strlen(name)) {
            must(yyjson_obj_get(instance, name) == slots[i]);
        }
    }
}

static void check_mistakes(const struct schema *schema, yyjson_val *instance) {
    struct schema_mistakes mistakes;
    schema_explain(schema, instance, NULL, &mistakes);
    must(mistakes.code < 0);
    must(mistakes.told >= 1 && mistakes.told <= SCHEMA_MISTAKES_MAX);
    must(mistakes.count >= mistakes.told);
    for (uint32_t i = 0; i < mistakes.told; i++) {
        const struct schema_mistake *mistake = &mistakes.list[i];
        must(mistake->keyword != NULL && mistake->reason[0] != '\0');
        must(mistake->field[0] == '\0' || mistake->field[0] == '/');
        must(i == 0 || mistakes.list[i - 1].depth <= mistake->depth);
        must(strchr(mistake->reason, '\n') == NULL);
    }
}

/* What becomes valid was changed, and stays JSON. */
static void check_tolerance(const struct schema *schema, yyjson_val *instance) {
    static char memory[1 << 20];
    yyjson_alc alc;
    yyjson_val *taken = NULL;
    struct schema_changes changes;
    (void)yyjson_alc_pool_init(&alc, memory, sizeof memory);
    if (schema_tolerate(schema, instance, SCHEMA_LAX, &alc, &taken, &changes)) {
        must(changes.count > 0 && changes.count <= SCHEMA_CHANGES_MAX);
        must(schema_validate(schema, taken, NULL));
        must(!yyjson_equals(taken, instance));
        char *text = yyjson_val_write(taken, YYJSON_WRITE_ALLOW_INVALID_UNICODE, NULL);
        must(text != NULL);
        free(text);
    }
}

static void check_instance(const struct schema *schema, yyjson_val *instance) {
    struct schema_failure failure;
    yyjson_val *slots[SLOTS];
    bool valid = schema_validate(schema, instance, &failure);
    must(valid == schema_validate(schema, instance, NULL));
    if (!valid) {
        check_failure(&failure);
        check_mistakes(schema, instance);
        check_tolerance(schema, instance);
    }
    bool valid_object = schema_validate_object(schema, instance, slots, SLOTS, &failure);
    must(valid_object == (valid && yyjson_is_obj(instance)));
    if (valid_object) {
        check_slots(schema, instance, slots);
    } else {
        check_failure(&failure);
    }
    if (schema_validate_quickly(schema, instance, slots, SLOTS)) {
        must(valid_object);
        check_slots(schema, instance, slots);
    }
}

static void check_filling(const struct schema *schema, yyjson_val *instance) {
    yyjson_val *filled = NULL;
    yyjson_val *again = NULL;
    if (schema_fill_defaults(schema, instance, NULL, &filled, NULL) < 0) {
        return;
    }
    must(schema_has_defaults(schema) || filled == instance);
    if (filled != instance) {
        char *text = yyjson_val_write(filled, YYJSON_WRITE_ALLOW_INVALID_UNICODE, NULL);
        must(text != NULL);
        free(text);
        /* What has been filled needs no more. */
        must(schema_fill_defaults(schema, filled, NULL, &again, NULL) < 0 || again == filled);
        free(filled);
    }
}

static yyjson_val *lookup(void *user, const char *uri) {
    return strcmp(uri, "other") == 0 ? user : NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const uint8_t *zero = size == 0 ? NULL : memchr(data, 0, size);
    if (zero == NULL) {
        return 0;
    }
    size_t schema_size = (size_t)(zero - data);
    yyjson_doc *schema_doc = yyjson_read((const char *)data, schema_size, 0);
    yyjson_doc *doc = yyjson_read((const char *)zero + 1, size - schema_size - 1, 0);
    yyjson_val *instance = yyjson_doc_get_root(doc);
    for (unsigned flags = 0; schema_doc != NULL && flags < 4; flags++) {
        struct schema_options options = {.dialect = flags & 1 ? SCHEMA_DRAFT_7 : SCHEMA_2020_12,
                                         .assert_format = flags & 1,
                                         .check_defaults = flags & 2,
                                         .lookup = lookup,
                                         .lookup_user = instance,
                                         .steps_max = STEPS_MAX};
        struct schema *schema = NULL;
        struct toolrack_error err = {0};
        int code = schema_compile(yyjson_doc_get_root(schema_doc), &options, &schema, &err);
        must(code == 0 || (err.code == code && err.message[0] != '\0'));
        if (code == 0 && instance != NULL) {
            check_instance(schema, instance);
            check_filling(schema, instance);
        }
        schema_destroy(schema);
    }
    yyjson_doc_free(doc);
    yyjson_doc_free(schema_doc);
    return 0;
}
