/* The log of calls and the statistics, as the app reads them. */
#include <stdlib.h>
#include <string.h>

#include "api/host.h"
#include "base/error.h"
#include "base/semver.h"
#include "registry/document.h"
#include "store/feedback.h"
#include "toolrack/records.h"

/* Where a filter does not say. */
#define LOG_LIMIT_DEFAULT 1000u

int toolrack_flush(struct toolrack *host, struct toolrack_error *err) {
    return recorder_flush(host, err);
}

/* "name" or "name@version" taken apart; all NULL for NULL. */
struct owned_selector {
    char *name; /* owned */
    const char *version;
};

static void selector_finish(struct owned_selector *selector) {
    free(selector->name);
}

static int selector_read(struct owned_selector *ret, const char *text, struct toolrack_error *err) {
    *ret = (struct owned_selector){.name = text != NULL ? strdup(text) : NULL};
    char *at = ret->name != NULL ? strchr(ret->name, '@') : NULL;
    if (at != NULL) {
        *at = '\0';
        ret->version = at + 1;
    }
    if (text == NULL) {
        return 0;
    }
    return ret->name != NULL ? registry_check_exact(text, err) : error_oom(err);
}

/* --------------------------------------------------------------------- log */

struct listing {
    yyjson_mut_doc *doc;
    yyjson_mut_val *list;
};

static void add_number(yyjson_mut_doc *doc, yyjson_mut_val *row, const char *key, bool has,
                       uint64_t number) {
    if (has) {
        (void)yyjson_mut_obj_add_uint(doc, row, key, number);
    } else {
        (void)yyjson_mut_obj_add_null(doc, row, key);
    }
}

/* The error as an object of the list, or null. Of a damaged file it may be anything. */
static yyjson_mut_val *add_error(yyjson_mut_doc *doc, yyjson_mut_val *row, const char *key,
                                 const char *error) {
    yyjson_doc *read = error != NULL ? yyjson_read(error, strlen(error), YYJSON_READ_NOFLAG) : NULL;
    yyjson_mut_val *copy =
            read != NULL ? yyjson_val_mut_copy(doc, yyjson_doc_get_root(read)) : NULL;
    yyjson_doc_free(read);
    if (!yyjson_mut_is_obj(copy)) {
        (void)yyjson_mut_obj_add_null(doc, row, key);
        return NULL;
    }
    (void)yyjson_mut_obj_add_val(doc, row, key, copy);
    return copy;
}

static void add_call(void *user, const struct store_call *call) {
    const struct listing *listing = user;
    yyjson_mut_doc *doc = listing->doc;
    yyjson_mut_val *row = yyjson_mut_arr_add_obj(doc, listing->list);
    (void)yyjson_mut_obj_add_sint(doc, row, "id", call->id);
    document_add_text(doc, row, "tool", call->tool);
    document_add_text(doc, row, "version", call->version);
    document_add_text(doc, row, "plugin", call->plugin);
    document_add_text(doc, row, "caller", call->caller);
    document_add_text(doc, row, "channel", call->channel);
    document_add_text(doc, row, "conversation", call->conversation);
    document_add_text(doc, row, "trace", call->trace);
    (void)yyjson_mut_obj_add_sint(doc, row, "time_ms", call->time_ms);
    (void)yyjson_mut_obj_add_uint(doc, row, "duration_ns", call->duration_ns);
    (void)yyjson_mut_obj_add_bool(doc, row, "ok", call->error == NULL);
    document_add_text(doc, row, "arguments", call->arguments);
    document_add_text(doc, row, "result", call->result);
    (void)yyjson_mut_obj_add_uint(doc, row, "bytes_in", call->bytes_in);
    (void)yyjson_mut_obj_add_uint(doc, row, "bytes_out", call->bytes_out);
    (void)add_error(doc, row, "error", call->error);
    add_number(doc, row, "cpu_ns", call->has_cpu, call->cpu_ns);
    add_number(doc, row, "memory", call->has_memory, call->memory);
}

/* What the store does not take is not in the log, and was said to the app's. */
static int read_log(struct toolrack *host, const struct toolrack_log_filter *filter,
                    const struct owned_selector *selector, struct listing *listing,
                    struct toolrack_error *err) {
    struct toolrack_error told;
    (void)recorder_flush(host, &told);
    return store_calls_read(
            host->store,
            &(struct store_calls_filter){
                    .tool = selector->name,
                    .version = selector->version,
                    .errors = filter->errors,
                    .since_ms = filter->since_ms,
                    .after_id =
                            filter->after_id > INT64_MAX ? INT64_MAX : (int64_t)filter->after_id,
                    .limit = filter->limit != 0 ? filter->limit : LOG_LIMIT_DEFAULT},
            add_call, listing, err);
}

int toolrack_log(struct toolrack *host, const struct toolrack_log_filter *filter,
                 struct toolrack_text **ret, struct toolrack_error *err) {
    struct toolrack_log_filter taken = {0};
    if (filter != NULL) {
        memcpy(&taken, filter, filter->size < sizeof taken ? filter->size : sizeof taken);
    }
    CLEANUP(selector_finish) struct owned_selector selector;
    int code = selector_read(&selector, taken.tool, err);
    if (code < 0) {
        return code;
    }
    struct listing listing;
    listing.doc = document_begin_list(&listing.list);
    code = read_log(host, &taken, &selector, &listing, err);
    if (code < 0) {
        yyjson_mut_doc_free(listing.doc);
        return code;
    }
    return document_end(listing.doc, ret, err);
}

/* ------------------------------------------------------------------- usage */

/* One tool and version, of the store and of what is not there yet. */
struct usage_row {
    struct store_usage sum; /* its texts are owned */
    uint64_t times[STORE_USAGE_BUCKETS];
    uint64_t good; /* opinions */
    uint64_t bad;
};

struct usage_table {
    const struct owned_selector *selector;
    struct usage_row **rows; /* by tool and version as texts, until they are shown */
    size_t count;
    size_t room;
    bool no_memory;
};

static void usage_row_free(struct usage_row *row) {
    if (row != NULL) {
        free((char *)(uintptr_t)row->sum.tool);
        free((char *)(uintptr_t)row->sum.version);
        free((char *)(uintptr_t)row->sum.last_error);
        free(row);
    }
}
CLEANUP_DEFINE(struct usage_row, usage_row_free)

static void usage_table_finish(struct usage_table *table) {
    for (size_t i = 0; i < table->count; i++) {
        usage_row_free(table->rows[i]);
    }
    free(table->rows);
}

static bool reserve_row(struct usage_table *table) {
    if (table->count < table->room) {
        return true;
    }
    size_t room = table->room == 0 ? 16 : table->room * 2;
    struct usage_row **rows = realloc(table->rows, room * sizeof(struct usage_row *));
    if (rows != NULL) {
        table->rows = rows;
        table->room = room;
    }
    return rows != NULL;
}

/* Where a row is, or belongs. */
static size_t find_place(const struct usage_table *table, const char *tool, const char *version,
                         bool *ret_there) {
    size_t low = 0;
    size_t high = table->count;
    *ret_there = false;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct store_usage *sum = &table->rows[middle]->sum;
        int order = strcmp(sum->tool, tool);
        order = order != 0 ? order : strcmp(sum->version, version);
        if (order == 0) {
            *ret_there = true;
            return middle;
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static struct usage_row *add_row(struct usage_table *table, size_t place, const char *tool,
                                 const char *version) {
    CLEANUP(usage_row_freep) struct usage_row *row = calloc(1, sizeof *row);
    if (row == NULL || !reserve_row(table)) {
        return NULL;
    }
    row->sum.tool = strdup(tool);
    row->sum.version = strdup(version);
    row->sum.first_ms = INT64_MAX;
    if (row->sum.tool == NULL || row->sum.version == NULL) {
        return NULL;
    }
    struct usage_row **at = &table->rows[place];
    memmove(at + 1, at, (table->count++ - place) * sizeof(struct usage_row *));
    return *at = STEAL(row);
}

static struct usage_row *find_row(struct usage_table *table, const char *tool,
                                  const char *version) {
    bool there;
    size_t place = find_place(table, tool, version, &there);
    return there ? table->rows[place] : add_row(table, place, tool, version);
}

static void merge_error(struct usage_table *table, struct store_usage *sum,
                        const struct store_usage *more) {
    if (more->last_error != NULL && more->last_error_ms >= sum->last_error_ms) {
        char *copy = strdup(more->last_error);
        table->no_memory = table->no_memory || copy == NULL;
        free((char *)(uintptr_t)sum->last_error);
        sum->last_error = copy;
        sum->last_error_ms = more->last_error_ms;
    }
}

static void merge_row(struct usage_table *table, struct usage_row *row,
                      const struct store_usage *more) {
    struct store_usage *sum = &row->sum;
    sum->calls += more->calls;
    sum->failures += more->failures;
    sum->unlogged += more->unlogged;
    sum->total_ns += more->total_ns;
    sum->max_ns = more->max_ns > sum->max_ns ? more->max_ns : sum->max_ns;
    sum->cpu_calls += more->cpu_calls;
    sum->cpu_ns += more->cpu_ns;
    sum->memory_calls += more->memory_calls;
    sum->memory += more->memory;
    sum->bytes_in += more->bytes_in;
    sum->bytes_out += more->bytes_out;
    sum->first_ms = more->first_ms < sum->first_ms ? more->first_ms : sum->first_ms;
    sum->last_ms = more->last_ms > sum->last_ms ? more->last_ms : sum->last_ms;
    for (uint32_t i = 0; i < more->time_count; i++) {
        row->times[more->times[i].bucket] += more->times[i].count;
    }
    merge_error(table, sum, more);
}

static void merge(void *user, const struct store_usage *usage) {
    struct usage_table *table = user;
    const struct owned_selector *selector = table->selector;
    if ((selector->name != NULL && strcmp(selector->name, usage->tool) != 0) ||
        (selector->version != NULL && strcmp(selector->version, usage->version) != 0)) {
        return;
    }
    struct usage_row *row = find_row(table, usage->tool, usage->version);
    if (row != NULL) {
        merge_row(table, row, usage);
    } else {
        table->no_memory = true;
    }
}

/* Of tools that were called: an opinion alone is no statistic. */
static void merge_opinions(void *user, const struct store_opinions *opinions) {
    const struct usage_table *table = user;
    bool there;
    size_t place = find_place(table, opinions->tool, opinions->version, &there);
    if (there) {
        table->rows[place]->good = opinions->good;
        table->rows[place]->bad = opinions->bad;
    }
}

static int compare_rows(const void *left, const void *right) {
    const struct store_usage *a = &(*(struct usage_row *const *)left)->sum;
    const struct store_usage *b = &(*(struct usage_row *const *)right)->sum;
    int order = strcmp(a->tool, b->tool);
    if (order == 0 && semver_valid(a->version) && semver_valid(b->version)) {
        order = semver_compare(b->version, a->version);
    }
    return order != 0 ? order : strcmp(b->version, a->version);
}

static void find_quantiles(struct usage_row *row) {
    struct store_usage_time times[STORE_USAGE_BUCKETS];
    uint32_t count = 0;
    for (uint32_t i = 0; i < STORE_USAGE_BUCKETS; i++) {
        if (row->times[i] > 0) {
            times[count] = (struct store_usage_time){.bucket = i, .count = row->times[i]};
            count++;
        }
    }
    row->sum.p50_ns = store_usage_quantile(times, count, 50);
    row->sum.p95_ns = store_usage_quantile(times, count, 95);
    row->sum.p99_ns = store_usage_quantile(times, count, 99);
}

/* The middle of a bucket may lie above the longest of its calls. */
static void add_time(yyjson_mut_doc *doc, yyjson_mut_val *row, const char *key,
                     const struct store_usage *sum, uint64_t ns) {
    (void)yyjson_mut_obj_add_uint(doc, row, key, ns < sum->max_ns ? ns : sum->max_ns);
}

static void add_usage(yyjson_mut_doc *doc, yyjson_mut_val *row, const struct store_usage *sum) {
    uint64_t calls = sum->calls > 0 ? sum->calls : 1;
    if (row == NULL) {
        return; /* no memory, which document_end() says */
    }
    document_add_text(doc, row, "tool", sum->tool);
    document_add_text(doc, row, "version", sum->version);
    (void)yyjson_mut_obj_add_uint(doc, row, "calls", sum->calls);
    (void)yyjson_mut_obj_add_uint(doc, row, "failures", sum->failures);
    (void)yyjson_mut_obj_add_uint(doc, row, "unlogged", sum->unlogged);
    (void)yyjson_mut_obj_add_real(doc, row, "success_rate",
                                  1.0 - (double)sum->failures / (double)calls);
    (void)yyjson_mut_obj_add_uint(doc, row, "mean_ns", sum->total_ns / calls);
    add_time(doc, row, "p50_ns", sum, sum->p50_ns);
    add_time(doc, row, "p95_ns", sum, sum->p95_ns);
    add_time(doc, row, "p99_ns", sum, sum->p99_ns);
    (void)yyjson_mut_obj_add_uint(doc, row, "max_ns", sum->max_ns);
    add_number(doc, row, "cpu_ns", sum->cpu_calls > 0,
               sum->cpu_ns / (sum->cpu_calls > 0 ? sum->cpu_calls : 1));
    add_number(doc, row, "memory", sum->memory_calls > 0,
               sum->memory / (sum->memory_calls > 0 ? sum->memory_calls : 1));
    (void)yyjson_mut_obj_add_uint(doc, row, "bytes_in", sum->bytes_in);
    (void)yyjson_mut_obj_add_uint(doc, row, "bytes_out", sum->bytes_out);
    (void)yyjson_mut_obj_add_sint(doc, row, "first_ms", sum->first_ms);
    (void)yyjson_mut_obj_add_sint(doc, row, "last_ms", sum->last_ms);
    yyjson_mut_val *error = add_error(doc, row, "last_error", sum->last_error);
    if (error != NULL) {
        (void)yyjson_mut_obj_add_sint(doc, error, "time_ms", sum->last_error_ms);
    }
}

static int read_usage(struct toolrack *host, struct usage_table *table,
                      struct toolrack_error *err) {
    struct toolrack_error told;
    (void)recorder_flush(host, &told);
    int code = store_read_usage(host->store, merge, table, err);
    if (code == 0) {
        recorder_read(host, merge, table);
    }
    if (code == 0) {
        code = store_feedback_count(host->store, merge_opinions, table, err);
    }
    return code == 0 && table->no_memory ? error_oom(err) : code;
}

/* Nothing is known of it: is there such a tool at all? */
static int check_name(struct toolrack *host, const char *name, struct toolrack_error *err) {
    struct toolrack_tool *tool = registry_get(host->registry, name);
    toolrack_tool_unref(tool);
    return tool != NULL ? 0 : registry_not_found(host->registry, name, err);
}

int toolrack_statistics(struct toolrack *host, const char *name, struct toolrack_text **ret,
                        struct toolrack_error *err) {
    CLEANUP(selector_finish) struct owned_selector selector;
    CLEANUP(usage_table_finish) struct usage_table table = {.selector = &selector};
    int code = selector_read(&selector, name, err);
    if (code == 0) {
        code = read_usage(host, &table, err);
    }
    if (code == 0 && table.count == 0 && name != NULL) {
        code = check_name(host, name, err);
    }
    if (code < 0) {
        return code;
    }
    yyjson_mut_val *list;
    yyjson_mut_doc *doc = document_begin_list(&list);
    if (table.count > 0) {
        qsort(table.rows, table.count, sizeof(struct usage_row *), compare_rows);
    }
    for (size_t i = 0; i < table.count; i++) {
        find_quantiles(table.rows[i]);
        yyjson_mut_val *row = yyjson_mut_arr_add_obj(doc, list);
        add_usage(doc, row, &table.rows[i]->sum);
        (void)yyjson_mut_obj_add_uint(doc, row, "feedback_good", table.rows[i]->good);
        (void)yyjson_mut_obj_add_uint(doc, row, "feedback_bad", table.rows[i]->bad);
    }
    return document_end(doc, ret, err);
}
