#include "ffi/result.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/json-string.h"
#include "base/json.h"

/* ------------------------------------------------------------ what is wrong */

/* "the result ..." or "the result's /points/3/x ..." */
TOOLRACK_PRINTF(3, 4)
static int wrong(const struct writer *writer, const struct place *place, const char *format, ...) {
    CLEANUP(buf_finish) struct buf message = BUF_INIT;
    buf_add_text(&message, place == NULL ? "the result " : "the result's ");
    if (place != NULL) {
        place_add_pointer(place, &message);
        buf_add_char(&message, ' ');
    }
    va_list args;
    va_start(args, format);
    buf_vprintf(&message, format, args);
    va_end(args);
    return message.failed ? error_oom(writer->err)
                          : error_set(writer->err, TOOLRACK_E_EXECUTION_FAILED, "%s", message.data);
}

static int too_large(const struct writer *writer) {
    return error_set(writer->err, TOOLRACK_E_LIMIT_EXCEEDED,
                     "the result has more than %zu bytes of JSON; return less, or a part at a time",
                     writer->size_max);
}

/* Set the error of a failed allocation in the arena. */
static int no_memory(const struct writer *writer) {
    if (!writer->arena->limited) {
        return error_oom(writer->err);
    }
    return error_set(writer->err, TOOLRACK_E_LIMIT_EXCEEDED,
                     "checking the result takes more than the %zu bytes of memory that a call has",
                     writer->arena->size_max);
}

/* Remaining bytes up to size_max. */
static size_t room(const struct writer *writer) {
    size_t written = writer->out->length - writer->start;
    return written < writer->size_max ? writer->size_max - written : 0;
}

/* ----------------------------------------------------------------- numbers */

static int write_double(const struct writer *writer, double value, const struct place *place) {
    if (!isfinite(value)) {
        return wrong(writer, place, "is not a number in JSON (%s)",
                     isnan(value) ? "NaN"
                     : value > 0  ? "infinity"
                                  : "-infinity");
    }
    buf_add_json_double(writer->out, value);
    return 0;
}

/* 0.1f is written as 0.1 and not as 0.10000000149011612: the shortest decimal that reads back as
 * the same float. The text made here may have the locale's decimal point; it is only parsed
 * again. */
static int write_float(const struct writer *writer, float value, const struct place *place) {
    double shortest = (double)value;
    bool small_whole = fabsf(value) < 0x1p24f && value == truncf(value); /* kept unchanged */
    if (isfinite(value) && !small_whole) {
        char text[32];
        int digits = 6; /* a float always keeps 6 digits; 9 are always enough */
        do {
            (void)snprintf(text, sizeof text, "%.*g", digits, (double)value);
        } while (strtof(text, NULL) != value && ++digits <= 9);
        shortest = strtod(text, NULL);
    }
    return write_double(writer, shortest, place);
}

/* ------------------------------------------------------------------- texts */

static int write_string(const struct writer *writer, const char *text, const struct place *place) {
    size_t most = room(writer);
    size_t length = strnlen(text, most + 1);
    if (length > most) {
        return too_large(writer);
    }
    return buf_add_json_text(writer->out, text, length)
                   ? 0
                   : wrong(writer, place, "is not valid UTF-8; bytes need the type TR_BYTES");
}

static int write_bytes(const struct writer *writer, const struct tr_bytes *bytes,
                       const struct place *place) {
    if (bytes->data == NULL && bytes->size > 0) {
        return wrong(writer, place, "has %" PRIu64 " bytes at NULL", bytes->size);
    }
    if (bytes->size > room(writer) / 4 * 3) {
        return too_large(writer);
    }
    buf_add_char(writer->out, '"');
    base64_encode(writer->out, bytes->data, bytes->size);
    buf_add_char(writer->out, '"');
    return 0;
}

/* Append valid JSON without the white space between tokens. Everything else is unchanged, as
 * numbers may have more digits than a double. */
static void add_compact(struct buf *out, const char *json, size_t length) {
    bool in_string = false;
    size_t done = 0;
    for (size_t i = 0; i < length; i++) {
        if (in_string) {
            in_string = json[i] != '"';
            i += json[i] == '\\'; /* the escaped character may be a quote */
        } else if (json[i] == ' ' || json[i] == '\t' || json[i] == '\n' || json[i] == '\r') {
            buf_add(out, json + done, i - done);
            done = i + 1;
        } else {
            in_string = json[i] == '"';
        }
    }
    buf_add(out, json + done, length - done);
}

static int write_json(const struct writer *writer, const char *json, const struct place *place) {
    size_t most = room(writer);
    size_t length = strnlen(json, most + 1);
    if (length > most) {
        return too_large(writer);
    }
    yyjson_alc alc = arena_alc(writer->arena);
    yyjson_read_err read_err;
    /* Without the in-situ flag yyjson does not change the text. */
    yyjson_doc *doc =
            yyjson_read_opts((char *)(uintptr_t)json, length, YYJSON_READ_NOFLAG, &alc, &read_err);
    if (doc == NULL) {
        return read_err.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION
                       ? no_memory(writer)
                       : wrong(writer, place, "is not JSON: %s at byte %zu", read_err.msg,
                               read_err.pos);
    }
    if (json_is_deeper(yyjson_doc_get_root(doc), JSON_REPLY_DEPTH_MAX)) {
        return error_set(writer->err, TOOLRACK_E_LIMIT_EXCEEDED, JSON_TOO_DEEP,
                         JSON_REPLY_DEPTH_MAX);
    }
    add_compact(writer->out, json, length);
    return 0;
}

/* ------------------------------------------------------------ enumerations */

static int write_enum(const struct writer *writer, const struct shape *shape, const void *from,
                      const struct place *place) {
    uint64_t bits = 0;
    memcpy(&bits, from, shape->size);
    unsigned unused = 64 - 8 * shape->size;
    int64_t value = shape->is_signed ? (int64_t)(bits << unused) >> unused : (int64_t)bits;
    for (uint32_t i = 0; i < shape->choice_count; i++) {
        const struct shape_choice *choice = &shape->choices[i];
        if (choice->value == value) {
            buf_add_json_string(writer->out, choice->name, choice->name_length);
            return 0;
        }
    }
    return wrong(writer, place, "is %" PRId64 ", which is not a choice of its enumeration", value);
}

/* ------------------------------------------------------ arrays and structs */

static int write_array(const struct writer *writer, const struct shape *shape,
                       const struct tr_array *array, const struct place *place) {
    if (array->items == NULL && array->count > 0) {
        return wrong(writer, place, "has %" PRIu64 " items at NULL", array->count);
    }
    /* An item takes at least a character and a comma. So this check also rejects an uninitialized
     * count before it is used in a loop or overflows in a multiplication. */
    if (array->count > room(writer) / 2) {
        return too_large(writer);
    }
    const char *item = array->items;
    size_t item_size = shape_stored_size(shape->item);
    struct place here = {.up = place};
    buf_add_char(writer->out, '[');
    for (; here.index < array->count; here.index++, item += item_size) {
        if (here.index > 0) {
            buf_add_char(writer->out, ',');
        }
        int code = result_write(writer, shape->item, item, &here);
        if (code < 0) {
            return code;
        }
    }
    buf_add_char(writer->out, ']');
    return 0;
}

/* Whether the stored value is null. */
static bool is_null(const struct shape *shape, const void *stored) {
    switch (shape->pointed ? TR_KIND_STRING : shape->kind) {
    case TR_KIND_STRING:
    case TR_KIND_JSON: return *(const void *const *)stored == NULL;
    case TR_KIND_BYTES: {
        const struct tr_bytes *bytes = stored;
        return bytes->data == NULL && bytes->size == 0 && (shape->nullable || shape->optional);
    }
    case TR_KIND_ARRAY: {
        const struct tr_array *array = stored;
        return array->items == NULL && array->count == 0 && (shape->nullable || shape->optional);
    }
    default: return false;
    }
}

/* A separator and the key of a member. Keys in steps, the most common values without a place for
 * messages and without the checks that the struct's end makes again, and numbers without a copy of
 * any length: with that and bind_params() the call of a typed tool with five parameters and three
 * members takes 261 instructions less, 5 %. */
static inline void add_key(struct buf *out, char separator, const struct shape_member *member) {
    if (buf_reserve(out, 1 + SHAPE_KEY_ROOM(member->key_length))) {
        char *to = out->data + out->length;
        *to++ = separator;
        for (uint32_t i = 0; i < member->key_length; i += SHAPE_KEY_STEP) {
            memcpy(to + i, member->key + i, SHAPE_KEY_STEP);
        }
        out->length += 1 + member->key_length;
        out->data[out->length] = '\0';
    }
}

/* The most common values, as in bind_at_once(); false: nothing is written. */
static inline bool write_at_once(struct buf *out, const struct shape *shape, const void *stored) {
    if (shape->pointed) {
        return false;
    }
    if (shape->kind == TR_KIND_BOOL) {
        /* Read as a byte, as in write_plain(). */
        buf_add_text(out, *(const uint8_t *)stored != 0 ? "true" : "false");
    } else if (shape->kind == TR_KIND_I64) {
        buf_add_json_int(out, *(const int64_t *)stored);
    }
    return shape->kind == TR_KIND_BOOL || shape->kind == TR_KIND_I64;
}

static int write_struct(const struct writer *writer, const struct shape *shape, const char *from,
                        const struct place *place) {
    char separator = '{';
    for (uint32_t i = 0; i < shape->member_count; i++) {
        const struct shape_member *member = &shape->members[i];
        const void *stored = from + member->offset;
        /* A NULL field is left out if it is optional and null is not allowed. */
        if (member->shape->optional && !member->shape->nullable && is_null(member->shape, stored)) {
            continue;
        }
        add_key(writer->out, separator, member);
        separator = ',';
        if (write_at_once(writer->out, member->shape, stored)) {
            continue;
        }
        struct place here = {.up = place, .key = member->param->name};
        int code = result_write(writer, member->shape, stored, &here);
        if (code < 0) {
            return code;
        }
    }
    buf_add_text(writer->out, separator == '{' ? "{}" : "}");
    return 0;
}

/* -------------------------------------------------------------- any value */

static int write_plain(const struct writer *writer, const struct shape *shape, const void *from,
                       const struct place *place) {
    struct buf *out = writer->out;
    switch (shape->kind) {
    case TR_KIND_BOOL: /* read as a byte: reading a bool that is neither 0 nor 1 is undefined */
        buf_add_text(out, *(const uint8_t *)from != 0 ? "true" : "false");
        return 0;
    case TR_KIND_I8: buf_add_json_int(out, *(const int8_t *)from); return 0;
    case TR_KIND_I16: buf_add_json_int(out, *(const int16_t *)from); return 0;
    case TR_KIND_I32: buf_add_json_int(out, *(const int32_t *)from); return 0;
    case TR_KIND_I64: buf_add_json_int(out, *(const int64_t *)from); return 0;
    case TR_KIND_U8: buf_add_json_uint(out, *(const uint8_t *)from); return 0;
    case TR_KIND_U16: buf_add_json_uint(out, *(const uint16_t *)from); return 0;
    case TR_KIND_U32: buf_add_json_uint(out, *(const uint32_t *)from); return 0;
    case TR_KIND_U64: buf_add_json_uint(out, *(const uint64_t *)from); return 0;
    case TR_KIND_F32: return write_float(writer, *(const float *)from, place);
    case TR_KIND_F64: return write_double(writer, *(const double *)from, place);
    case TR_KIND_STRING: return write_string(writer, *(const char *const *)from, place);
    case TR_KIND_BYTES: return write_bytes(writer, from, place);
    case TR_KIND_JSON: return write_json(writer, *(const char *const *)from, place);
    case TR_KIND_ARRAY: return write_array(writer, shape, from, place);
    case TR_KIND_STRUCT: return write_struct(writer, shape, from, place);
    case TR_KIND_ENUM: return write_enum(writer, shape, from, place);
    case TR_KIND_NONE:
    case TR_KIND_CALL: break;
    }
    assert(false); /* kinds without JSON have no shape */
    return TOOLRACK_E_EXECUTION_FAILED;
}

int result_write(const struct writer *writer, const struct shape *shape, const void *stored,
                 const struct place *place) {
    int code = 0;
    if (!is_null(shape, stored)) {
        const void *from = shape->pointed ? *(const void *const *)stored : stored;
        code = write_plain(writer, shape, from, place);
    } else if (shape->nullable || shape->optional) {
        buf_add_text(writer->out, "null");
    } else {
        return wrong(writer, place, "is NULL, and its type does not allow null");
    }
    if (code == 0 && writer->out->failed) {
        return error_oom(writer->err);
    }
    return code == 0 && writer->out->length - writer->start > writer->size_max ? too_large(writer)
                                                                               : code;
}
