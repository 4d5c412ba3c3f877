#include "store/vectors.h"

#include <endian.h>
#include <stdlib.h>

#include "store/database.h"

/* Hashes that one statement looks for: their vectors are copied before they are visited. */
#define FOUND_AT_ONCE 1024u

/* In the file a number is four bytes, the lowest first, whatever the machine: the same in both
 * directions. */
static void copy_numbers(float *to, const void *from, size_t count) {
    _Static_assert(sizeof *to == sizeof(uint32_t), "a number is a float of four bytes");
    for (size_t i = 0; i < count; i++) {
        uint32_t number;
        memcpy(&number, (const char *)from + i * sizeof number, sizeof number);
        number = le32toh(number);
        memcpy(&to[i], &number, sizeof number);
    }
}

static int put(struct store *store, const struct store_vector *vector, float *room,
               struct toolrack_error *err) {
    size_t size = vector->dimension * sizeof *room;
    copy_numbers(room, vector->values, vector->dimension);
    return database_run(
            store, "INSERT OR REPLACE INTO vectors (sha256, vector) VALUES (?1, ?2)",
            VALUES(value_bytes(vector->sha256, STORE_SHA256_SIZE), value_bytes(room, size)), err);
}

static int remove_oldest(struct store *store, size_t dimension, struct toolrack_error *err) {
    int64_t fit = STORE_VECTORS_BYTES_MAX / (int64_t)(dimension * sizeof(float));
    return database_run(store,
                        "DELETE FROM vectors WHERE id IN "
                        "(SELECT id FROM vectors ORDER BY id DESC LIMIT -1 OFFSET ?1)",
                        VALUES(value_number(fit < STORE_VECTORS_MAX ? fit : STORE_VECTORS_MAX)),
                        err);
}

int store_vectors_put(struct store *store, const struct store_vector *vectors, size_t count,
                      struct toolrack_error *err) {
    for (size_t i = 0; i < count; i++) {
        if (vectors[i].dimension == 0 || vectors[i].dimension > STORE_VECTOR_DIMENSION_MAX) {
            return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                             "a vector has %zu numbers; from 1 to %u can be stored",
                             vectors[i].dimension, STORE_VECTOR_DIMENSION_MAX);
        }
    }
    CLEANUP(freep) float *room = malloc(STORE_VECTOR_DIMENSION_MAX * sizeof *room);
    if (room == NULL) {
        return error_oom(err);
    }
    int code = database_begin(store, DATABASE_SOON, NO_LIMITS, err);
    for (size_t i = 0; code == 0 && i < count; i++) {
        code = put(store, &vectors[i], room, err);
    }
    if (code == 0 && count > 0) {
        code = remove_oldest(store, vectors[count - 1].dimension, err);
    }
    return database_end(store, code, err);
}

static void read_hash(void *user, size_t row, struct value *ret_columns) {
    const unsigned char *hashes = user;
    ret_columns[0] = value_bytes(hashes + row * STORE_SHA256_SIZE, STORE_SHA256_SIZE);
}

static void visit_row(const struct value *row, float *room,
                      void (*visit)(void *user, const struct store_vector *vector), void *user) {
    size_t dimension = row[1].size / sizeof *room;
    if (row[0].kind != VALUE_BYTES || row[0].size != STORE_SHA256_SIZE ||
        row[1].kind != VALUE_BYTES || row[1].size % sizeof *room != 0 || dimension == 0 ||
        dimension > STORE_VECTOR_DIMENSION_MAX) {
        return;
    }
    copy_numbers(room, row[1].data, dimension);
    visit(user,
          &(struct store_vector){.sha256 = row[0].data, .values = room, .dimension = dimension});
}

int store_vectors_find(struct store *store, const unsigned char *hashes, size_t count,
                       void (*visit)(void *user, const struct store_vector *vector), void *user,
                       struct toolrack_error *err) {
    CLEANUP(freep) float *room = malloc(STORE_VECTOR_DIMENSION_MAX * sizeof *room);
    if (room == NULL) {
        return error_oom(err);
    }
    for (size_t at = 0; at < count; at += FOUND_AT_ONCE) {
        CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
        const struct given_rows given = {
                .count = count - at < FOUND_AT_ONCE ? count - at : FOUND_AT_ONCE,
                .read = read_hash,
                .user = (void *)(uintptr_t)(hashes + at * STORE_SHA256_SIZE)};
        int code = database_read_kept(store, SCHEMA_VECTORS,
                                      "SELECT vectors.sha256, vectors.vector FROM given(?1) "
                                      "JOIN vectors ON vectors.sha256 = c1",
                                      VALUES(value_rows(&given)), &rows, err);
        if (code < 0) {
            return code;
        }
        for (size_t i = 0; i < rows.count; i++) {
            visit_row(rows_at(&rows, i), room, visit, user);
        }
    }
    return 0;
}
