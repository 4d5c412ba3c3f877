#include "store/statistics.h"

#include <stdlib.h>

#include "store/database.h"

/* ----------------------------------------------------------------- buckets */

/* Each power of two has 2^4 buckets; below that a bucket is one nanosecond. */
#define PARTS_LOG 4u
#define PARTS     (1u << PARTS_LOG)

uint32_t store_time_bucket(uint64_t ns) {
    if (ns < PARTS) {
        return (uint32_t)ns;
    }
    uint32_t shift = 63u - (uint32_t)__builtin_clzll(ns) - PARTS_LOG;
    uint32_t bucket = PARTS + shift * PARTS + (uint32_t)((ns >> shift) & (PARTS - 1));
    return bucket < STORE_TIME_BUCKETS ? bucket : STORE_TIME_BUCKETS - 1;
}

uint64_t store_time_middle(uint32_t bucket) {
    if (bucket < PARTS) {
        return bucket;
    }
    uint32_t shift = (bucket - PARTS) / PARTS;
    uint64_t first = (uint64_t)(PARTS + bucket % PARTS) << shift;
    return first + ((UINT64_C(1) << shift) >> 1);
}

uint64_t store_time_quantile(const struct store_time *times, uint32_t count, unsigned of_100) {
    uint64_t all = 0;
    uint64_t seen = 0;
    for (uint32_t i = 0; i < count; i++) {
        all += times[i].count;
    }
    for (uint32_t i = 0; i < count; i++) {
        seen += times[i].count;
        if (seen * 100 >= all * of_100) {
            return store_time_middle(times[i].bucket);
        }
    }
    return 0;
}

/* --------------------------------------------------------------------- add */

static const char add_counts[] =
        "INSERT INTO usage (tool, version, calls, failures, unlogged, total_ns, max_ns, cpu_calls, "
        "cpu_ns, memory_calls, memory, bytes_in, bytes_out, first_ms, last_ms, last_error, "
        "last_error_ms, plugin, hindered) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, "
        "?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19) ON CONFLICT (tool, version, plugin) DO UPDATE SET "
        "calls = calls + ?3, failures = failures + ?4, hindered = hindered + ?19, "
        "unlogged = unlogged + ?5, total_ns = total_ns + ?6, max_ns = max(max_ns, ?7), "
        "cpu_calls = cpu_calls + ?8, cpu_ns = cpu_ns + ?9, memory_calls = memory_calls + ?10, "
        "memory = memory + ?11, bytes_in = bytes_in + ?12, bytes_out = bytes_out + ?13, "
        "first_ms = min(first_ms, ?14), last_ms = max(last_ms, ?15), "
        "last_error = iif(?17 >= last_error_ms, coalesce(?16, last_error), last_error), "
        "last_error_ms = max(last_error_ms, ?17)";

static const char find_id[] =
        "SELECT id FROM usage WHERE tool = ?1 AND version = ?2 AND plugin = ?3";

/* Without a condition, SQLite would take ON CONFLICT for one of a join. */
static const char add_times[] =
        "INSERT INTO usage_times (usage, bucket, count) SELECT ?2, c1, c2 FROM given(?1) "
        "WHERE true ON CONFLICT (usage, bucket) DO UPDATE SET count = count + excluded.count";

/* A row that was not bound to an owner of the name yet. */
static const char bind_old[] = "UPDATE OR IGNORE usage SET plugin = ?3 "
                               "WHERE tool = ?1 AND version = ?2 AND plugin = ''";

static struct value number(uint64_t number) {
    return value_number((int64_t)number);
}

static void read_time(void *user, size_t row, struct value *ret_columns) {
    const struct store_time *times = user;
    ret_columns[0] = value_number(times[row].bucket);
    ret_columns[1] = number(times[row].count);
}

static int add_all_times(struct store *store, const struct store_statistics *row,
                         struct toolrack_error *err) {
    CLEANUP(rows_finish) struct rows ids = ROWS_INIT;
    const struct given_rows times = {
            .count = row->time_count, .read = read_time, .user = (void *)(uintptr_t)row->times};
    int code = database_run_kept(
            store, find_id,
            VALUES(value_text(row->tool), value_text(row->version), value_text(row->plugin)), &ids,
            err);
    return code < 0 || ids.count == 0
                   ? code
                   : database_run(store, add_times, VALUES(value_rows(&times), rows_at(&ids, 0)[0]),
                                  err);
}

static int add_row(struct store *store, const struct store_statistics *row,
                   struct toolrack_error *err) {
    int code = database_run(
            store, bind_old,
            VALUES(value_text(row->tool), value_text(row->version), value_text(row->plugin)), err);
    if (code < 0) {
        return code;
    }
    code = database_run(store, add_counts,
                        VALUES(value_text(row->tool), value_text(row->version), number(row->calls),
                               number(row->failures), number(row->unlogged), number(row->total_ns),
                               number(row->max_ns), number(row->cpu_calls), number(row->cpu_ns),
                               number(row->memory_calls), number(row->memory),
                               number(row->bytes_in), number(row->bytes_out),
                               value_number(row->first_ms), value_number(row->last_ms),
                               value_text(row->last_error), value_number(row->last_error_ms),
                               value_text(row->plugin), number(row->hindered)),
                        err);
    return code < 0 || row->time_count == 0 ? code : add_all_times(store, row, err);
}

int statistics_add(struct store *store, const struct store_statistics *rows, size_t count,
                   struct toolrack_error *err) {
    int code = 0;
    for (size_t i = 0; code == 0 && i < count; i++) {
        code = add_row(store, &rows[i], err);
    }
    return code;
}

/* -------------------------------------------------------------------- move */

int statistics_move(struct store *store, const char *from, const char *to,
                    struct toolrack_error *err) {
    static const char *const steps[] = {
            "INSERT INTO usage (tool, version, plugin, calls, failures, unlogged, total_ns, "
            "max_ns, cpu_calls, cpu_ns, memory_calls, memory, bytes_in, bytes_out, first_ms, "
            "last_ms, last_error, last_error_ms, hindered) SELECT tool, version, ?2, calls, "
            "failures, unlogged, total_ns, max_ns, cpu_calls, cpu_ns, memory_calls, memory, "
            "bytes_in, bytes_out, first_ms, last_ms, last_error, last_error_ms, hindered FROM "
            "usage "
            "WHERE plugin = ?1 ON CONFLICT (tool, version, plugin) DO UPDATE SET "
            "calls = calls + excluded.calls, failures = failures + excluded.failures, "
            "hindered = hindered + excluded.hindered, "
            "unlogged = unlogged + excluded.unlogged, total_ns = total_ns + excluded.total_ns, "
            "max_ns = max(max_ns, excluded.max_ns), cpu_calls = cpu_calls + excluded.cpu_calls, "
            "cpu_ns = cpu_ns + excluded.cpu_ns, "
            "memory_calls = memory_calls + excluded.memory_calls, "
            "memory = memory + excluded.memory, bytes_in = bytes_in + excluded.bytes_in, "
            "bytes_out = bytes_out + excluded.bytes_out, "
            "first_ms = min(first_ms, excluded.first_ms), "
            "last_ms = max(last_ms, excluded.last_ms), "
            "last_error = iif(excluded.last_error_ms >= last_error_ms, "
            "coalesce(excluded.last_error, last_error), last_error), "
            "last_error_ms = max(last_error_ms, excluded.last_error_ms)",
            "INSERT INTO usage_times (usage, bucket, count) SELECT new.id, bucket, count "
            "FROM usage AS old JOIN usage_times ON usage_times.usage = old.id "
            "JOIN usage AS new ON new.tool = old.tool AND new.version = old.version "
            "AND new.plugin = ?2 WHERE old.plugin = ?1 "
            "ON CONFLICT (usage, bucket) DO UPDATE SET count = count + excluded.count",
    };
    static const char *const removals[] = {
            "DELETE FROM usage_times WHERE usage IN (SELECT id FROM usage WHERE plugin = ?1)",
            "DELETE FROM usage WHERE plugin = ?1",
    };
    int code = 0;
    for (size_t i = 0; code == 0 && i < ARRAY_LENGTH(steps); i++) {
        code = database_run(store, steps[i], VALUES(value_text(from), value_text(to)), err);
    }
    for (size_t i = 0; code == 0 && i < ARRAY_LENGTH(removals); i++) {
        code = database_run(store, removals[i], VALUES(value_text(from)), err);
    }
    return code;
}

/* -------------------------------------------------------------------- read */

/* The times of one id, among rows ordered by id and bucket. Even from a damaged file, the result
 * has valid buckets only, rising and each once. */
static uint32_t take_times(const struct rows *rows, int64_t id, struct store_time *ret) {
    size_t low = 0;
    size_t high = rows->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (rows_at(rows, middle)[0].number < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    uint32_t taken = 0;
    for (size_t i = low; i < rows->count && rows_at(rows, i)[0].number == id; i++) {
        const struct value *row = rows_at(rows, i);
        if (row[1].number >= 0 && row[1].number < STORE_TIME_BUCKETS && row[2].number > 0 &&
            taken < STORE_TIME_BUCKETS) {
            ret[taken++] = (struct store_time){.bucket = (uint32_t)row[1].number,
                                               .count = (uint64_t)row[2].number};
        }
    }
    return taken;
}

#define STATISTICS(plugin, hindered)                                                             \
    "SELECT id, tool, version, calls, failures, unlogged, total_ns, max_ns, cpu_calls, cpu_ns, " \
    "memory_calls, memory, bytes_in, bytes_out, first_ms, last_ms, last_error, "                 \
    "last_error_ms, " plugin ", " hindered " FROM usage ORDER BY tool, version, " plugin

int store_statistics_read(struct store *store,
                          void (*visit)(void *user, const struct store_statistics *statistics),
                          void *user, struct toolrack_error *err) {
    CLEANUP(rows_finish) struct rows times = ROWS_INIT;
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    /* Calls that another process adds between the two reads are missing in the times only. */
    int code = database_read(store, SCHEMA_CALLS,
                             "SELECT usage, bucket, count FROM usage_times ORDER BY usage, bucket",
                             NO_VALUES, &times, err);
    if (code == 0) {
        code = database_read_bound(store, SCHEMA_CALLS, STATISTICS("''", "0"),
                                   STATISTICS("plugin", "hindered"), &rows, err);
    }
    for (size_t i = 0; i < rows.count; i++) {
        const struct value *row = rows_at(&rows, i);
        struct store_time taken[STORE_TIME_BUCKETS];
        uint32_t count = take_times(&times, row[0].number, taken);
        visit(user, &(struct store_statistics){.tool = value_as_text(&row[1]),
                                               .version = value_as_text(&row[2]),
                                               .plugin = value_as_text(&row[18]),
                                               .calls = (uint64_t)row[3].number,
                                               .failures = (uint64_t)row[4].number,
                                               .hindered = (uint64_t)row[19].number,
                                               .unlogged = (uint64_t)row[5].number,
                                               .total_ns = (uint64_t)row[6].number,
                                               .max_ns = (uint64_t)row[7].number,
                                               .cpu_calls = (uint64_t)row[8].number,
                                               .cpu_ns = (uint64_t)row[9].number,
                                               .memory_calls = (uint64_t)row[10].number,
                                               .memory = (uint64_t)row[11].number,
                                               .bytes_in = (uint64_t)row[12].number,
                                               .bytes_out = (uint64_t)row[13].number,
                                               .first_ms = row[14].number,
                                               .last_ms = row[15].number,
                                               .last_error = value_as_optional_text(&row[16]),
                                               .last_error_ms = row[17].number,
                                               .times = taken,
                                               .time_count = count});
    }
    return code;
}

/* A name whose rows are not bound yet has those of whoever provides it. */
int store_record_find(struct store *store, const char *tool, const char *version,
                      const char *plugin, struct store_record *ret, struct toolrack_error *err) {
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    int code = database_read_kept(
            store, SCHEMA_BOUND,
            "SELECT calls, failures, hindered, total_ns, last_ms, "
            "(SELECT count(*) FROM feedback WHERE tool = ?1 AND version = ?2 AND plugin IN (?3, "
            "'') "
            "AND good), "
            "(SELECT count(*) FROM feedback WHERE tool = ?1 AND version = ?2 AND plugin IN (?3, "
            "'') "
            "AND NOT good) "
            "FROM (SELECT 1) LEFT JOIN usage ON tool = ?1 AND version = ?2 AND plugin IN (?3, '') "
            "ORDER BY plugin DESC LIMIT 1",
            VALUES(value_text(tool), value_text(version), value_text(plugin)), &rows, err);
    *ret = (struct store_record){0};
    if (code < 0 || rows.count == 0) {
        return code;
    }
    const struct value *row = rows_at(&rows, 0);
    uint64_t calls = (uint64_t)row[0].number;
    uint64_t failures = (uint64_t)row[1].number;
    uint64_t hindered = (uint64_t)row[2].number < failures ? (uint64_t)row[2].number : failures;
    *ret = (struct store_record){.calls = calls - hindered,
                                 .failures = failures - hindered,
                                 .mean_ns = calls > 0 ? (uint64_t)row[3].number / calls : 0,
                                 .last_ms = row[4].number,
                                 .good = (uint64_t)row[5].number,
                                 .bad = (uint64_t)row[6].number};
    return code;
}
