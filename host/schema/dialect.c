#include "schema/dialect.h"

#include <string.h>
#include <strings.h>

#include "base/cleanup.h"

static const char *const types[] = {"string", "integer", "number", "boolean",
                                    "object", "array",   "null"};

static const struct {
    const char *said;
    const char *meant;
} dialects[] = {
        {"str", "string"},
        {"char", "string"},
        {"text", "string"},
        {"varchar", "string"},
        {"date", "string"},
        {"datetime", "string"},
        {"time", "string"},
        {"uuid", "string"},
        {"bytes", "string"},
        {"enum", "string"},
        {"file", "string"},
        {"binary", "string"},
        {"int", "integer"},
        {"int8", "integer"},
        {"int16", "integer"},
        {"int32", "integer"},
        {"int64", "integer"},
        {"long", "integer"},
        {"short", "integer"},
        {"byte", "integer"},
        {"bigint", "integer"},
        {"uint", "integer"},
        {"uint8", "integer"},
        {"uint16", "integer"},
        {"uint32", "integer"},
        {"uint64", "integer"},
        {"float", "number"},
        {"double", "number"},
        {"decimal", "number"},
        {"real", "number"},
        {"float32", "number"},
        {"float64", "number"},
        {"num", "number"},
        {"bool", "boolean"},
        {"dict", "object"},
        {"map", "object"},
        {"hashmap", "object"},
        {"hash", "object"},
        {"record", "object"},
        {"struct", "object"},
        {"json", "object"},
        {"obj", "object"},
        {"dictionary", "object"},
        {"list", "array"},
        {"tuple", "array"},
        {"set", "array"},
        {"arraylist", "array"},
        {"vector", "array"},
        {"sequence", "array"},
        {"none", "null"},
        {"nil", "null"},
        {"void", "null"},
        {"undefined", "null"},
        {"any", ""},
        {"mixed", ""},
        {"unknown", ""},
};

/* Of "varchar(9)" and "array of strings" the first word counts. A text with "|" means several
 * types, which no single name says; type-text.h reads it. */
const char *dialect_type(const char *said) {
    size_t length = strcspn(said, "[<( ");
    if (strchr(said, '|') != NULL) {
        return NULL;
    }
    if (strcmp(said + length, "[]") == 0) {
        return "array";
    }
    for (size_t i = 0; i < ARRAY_LENGTH(types); i++) {
        if (strlen(types[i]) == length && strncasecmp(types[i], said, length) == 0) {
            return types[i];
        }
    }
    for (size_t i = 0; i < ARRAY_LENGTH(dialects); i++) {
        if (strlen(dialects[i].said) == length &&
            strncasecmp(dialects[i].said, said, length) == 0) {
            return dialects[i].meant;
        }
    }
    return NULL;
}

bool dialect_is_unsigned(const char *said) {
    const char *meant = strncasecmp(said, "uint", strlen("uint")) == 0 ? dialect_type(said) : NULL;
    return meant != NULL && strcmp(meant, "integer") == 0;
}
