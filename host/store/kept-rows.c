#include "store/kept-rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* Most columns of a statement. */
#define COLUMNS_MAX 64u

struct entry {
    uint32_t key_size;
    uint32_t rows_size;
};

static void add_value(struct buf *out, const struct value *value) {
    bool has_data = value->kind == VALUE_TEXT || value->kind == VALUE_BYTES;
    uint64_t words[3] = {value->kind, value->kind == VALUE_NUMBER ? (uint64_t)value->number : 0,
                         has_data ? value->size : 0};
    buf_add(out, words, sizeof words);
    buf_add(out, value->data, has_data ? value->size : 0);
}

/* The statement and its parameters. */
static void add_key(struct buf *out, const char *sql, const struct value *values) {
    buf_add(out, sql, strlen(sql) + 1);
    for (; values->kind != VALUE_END; values++) {
        add_value(out, values);
    }
}

/* What is read in order. */
struct reader {
    const char *at;
    size_t left;
};

static const char *take(struct reader *reader, size_t size) {
    if (reader->left < size) {
        return NULL;
    }
    const char *taken = reader->at;
    reader->at += size;
    reader->left -= size;
    return taken;
}

static bool take_value(struct reader *reader, struct arena *arena, struct value *ret) {
    uint64_t words[3];
    const char *from = take(reader, sizeof words);
    if (from == NULL) {
        return false;
    }
    memcpy(words, from, sizeof words);
    *ret = (struct value){.kind = VALUE_NULL};
    switch (words[0]) {
    case VALUE_NUMBER: *ret = value_number((int64_t)words[1]); return true;
    case VALUE_TEXT:
    case VALUE_BYTES: break;
    default: return words[0] == VALUE_NULL;
    }
    from = take(reader, words[2]);
    ret->kind = words[0] == VALUE_TEXT ? VALUE_TEXT : VALUE_BYTES;
    ret->size = words[2];
    ret->data = from != NULL ? arena_copy(arena, from, ret->size) : NULL;
    return ret->data != NULL;
}

static bool take_rows(struct reader *reader, struct rows *ret) {
    uint64_t counts[2];
    const char *from = take(reader, sizeof counts);
    if (from == NULL) {
        return false;
    }
    memcpy(counts, from, sizeof counts);
    uint64_t count = counts[0] * counts[1];
    if (counts[0] < 1 || counts[0] > COLUMNS_MAX || counts[1] > KEPT_ROWS_SIZE_MAX ||
        count > reader->left / sizeof(uint64_t)) {
        return false;
    }
    ret->columns = counts[0];
    /* Who reads the last row knows its columns by the statement, not by what is said here. */
    ret->values = calloc(count + COLUMNS_MAX, sizeof *ret->values);
    for (uint64_t i = 0; i < count; i++) {
        if (ret->values == NULL || !take_value(reader, &ret->arena, &ret->values[i])) {
            return false;
        }
    }
    ret->count = counts[1];
    ret->room = counts[1];
    return ret->values != NULL;
}

/* The rows of a key, to be read; false: they are not there. */
static bool find_entry(const char *bytes, size_t length, const struct buf *key,
                       struct reader *ret_rows) {
    struct reader reader = {.at = bytes, .left = length};
    const char *from;
    while ((from = take(&reader, sizeof(struct entry))) != NULL) {
        struct entry entry;
        memcpy(&entry, from, sizeof entry);
        const char *own_key = take(&reader, entry.key_size);
        const char *rows = take(&reader, entry.rows_size);
        if (own_key == NULL || rows == NULL) {
            return false;
        }
        if (entry.key_size == key->length && memcmp(own_key, key->data, key->length) == 0) {
            *ret_rows = (struct reader){.at = rows, .left = entry.rows_size};
            return true;
        }
    }
    return false;
}

bool kept_rows_find(const char *bytes, size_t length, const char *sql, const struct value *values,
                    struct rows *ret_rows) {
    CLEANUP(buf_finish) struct buf key = BUF_INIT;
    struct reader reader;
    add_key(&key, sql, values);
    if (key.failed || !find_entry(bytes, length, &key, &reader)) {
        return false;
    }
    bool is_whole = take_rows(&reader, ret_rows);
    if (!is_whole) {
        rows_finish(ret_rows);
    }
    return is_whole;
}

bool kept_rows_add(struct buf *bytes, const char *sql, const struct value *values,
                   const struct rows *rows) {
    CLEANUP(buf_finish) struct buf key = BUF_INIT;
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    uint64_t counts[2] = {rows->columns, rows->count};
    struct reader known;
    add_key(&key, sql, values);
    if (rows->columns > COLUMNS_MAX) {
        return false;
    }
    if (!key.failed && find_entry(bytes->data, bytes->length, &key, &known)) {
        return false; /* read twice, or known before something else was missing */
    }
    buf_add(&text, counts, sizeof counts);
    for (size_t i = 0; i < rows->count * rows->columns; i++) {
        add_value(&text, &rows->values[i]);
    }
    struct entry entry = {.key_size = (uint32_t)key.length, .rows_size = (uint32_t)text.length};
    buf_add(bytes, &entry, sizeof entry);
    buf_add(bytes, key.data, key.length);
    buf_add(bytes, text.data, text.length);
    bytes->failed = bytes->failed || key.failed || text.failed || text.length > KEPT_ROWS_SIZE_MAX;
    return true;
}
