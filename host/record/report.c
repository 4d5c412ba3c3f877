/* The log of calls and the statistics, as JSON for the app. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/command.h"
#include "base/error.h"
#include "base/semver.h"
#include "base/traceparent.h"
#include "record/inside.h"
#include "registry/document.h"
#include "registry/selector.h"
#include "registry/snapshot.h"
#include "store/calls.h"
#include "store/feedback.h"

/* Limit of a filter that has none. */
#define LOG_LIMIT_DEFAULT 1000u

CLEANUP_DEFINE(yyjson_mut_doc, yyjson_mut_doc_free)

static void add_number(yyjson_mut_doc *doc, yyjson_mut_val *row, const char *key, bool has,
                       uint64_t number) {
    if (has) {
        (void)yyjson_mut_obj_add_uint(doc, row, key, number);
    } else {
        (void)yyjson_mut_obj_add_null(doc, row, key);
    }
}

/* Add the error as an object, or null. From a damaged file it may be any string. */
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

/* --------------------------------------------------------------------- log */

struct listing {
    yyjson_mut_doc *doc;
    yyjson_mut_val *list;
};

/* What the trace's text says, for programs that gather records of many others: by the names of
 * OpenTelemetry for logs that are JSON. */
static void add_trace(yyjson_mut_doc *doc, yyjson_mut_val *row, const char *text) {
    struct traceparent trace;
    char flags[3];
    if (traceparent_read(text, &trace)) {
        (void)snprintf(flags, sizeof flags, "%02x", trace.flags);
        document_add_text(doc, row, "trace_id", trace.trace);
        document_add_text(doc, row, "span_id", trace.span);
        document_add_text(doc, row, "trace_flags", flags);
    }
}

/* The same facts by the names of OpenTelemetry's semantic conventions for GenAI and MCP; only those
 * that hold. What a plugin offers beside tools has the name of a method, which no tool can have. */
static void add_attributes(yyjson_mut_doc *doc, yyjson_mut_val *row, const struct store_call *call,
                           yyjson_mut_val *error) {
    yyjson_mut_val *attributes = yyjson_mut_obj_add_obj(doc, row, "attributes");
    bool is_tool = call->tool != NULL && strchr(call->tool, '/') == NULL;
    bool is_mcp = call->channel != NULL && strcmp(call->channel, "mcp") == 0;
    bool is_pipe = call->caller != NULL && strncmp(call->caller, "stdio:", strlen("stdio:")) == 0;
    if (is_tool) {
        document_add_text(doc, attributes, "gen_ai.operation.name", "execute_tool");
        document_add_text(doc, attributes, "gen_ai.tool.name", call->tool);
    }
    if (is_mcp) {
        document_add_text(doc, attributes, "mcp.method.name", is_tool ? "tools/call" : call->tool);
    }
    if (call->conversation != NULL && !(is_mcp && is_pipe)) {
        document_add_text(doc, attributes, is_mcp ? "mcp.session.id" : "gen_ai.conversation.id",
                          call->conversation);
    }
    if (error != NULL) {
        document_add_text(doc, attributes, "error.type",
                          yyjson_mut_get_str(yyjson_mut_obj_get(error, "type")));
    }
}

/* What was changed in the arguments; null: nothing, or it is no JSON, as in a damaged file. */
static void add_changed(yyjson_mut_doc *doc, yyjson_mut_val *row, const char *changed) {
    yyjson_doc *read = changed != NULL ? yyjson_read(changed, strlen(changed), 0) : NULL;
    yyjson_mut_val *list = read != NULL ? yyjson_val_mut_copy(doc, yyjson_doc_get_root(read))
                                        : yyjson_mut_null(doc);
    (void)yyjson_mut_obj_add_val(doc, row, "changed", list);
    yyjson_doc_free(read);
}

static void add_call(void *user, const struct store_call *call) {
    const struct listing *listing = user;
    yyjson_mut_doc *doc = listing->doc;
    yyjson_mut_val *row = yyjson_mut_arr_add_obj(doc, listing->list);
    (void)yyjson_mut_obj_add_sint(doc, row, "id", call->id);
    document_add_text(doc, row, "tool", call->tool);
    document_add_text(doc, row, "version", call->version);
    document_add_identity(doc, row, call->plugin);
    document_add_text(doc, row, "caller", call->caller);
    document_add_text(doc, row, "channel", call->channel);
    document_add_text(doc, row, "conversation", call->conversation);
    document_add_text(doc, row, "trace", call->trace);
    document_add_text(doc, row, "run", call->run);
    (void)yyjson_mut_obj_add_sint(doc, row, "time_ms", call->time_ms);
    (void)yyjson_mut_obj_add_uint(doc, row, "duration_ns", call->duration_ns);
    (void)yyjson_mut_obj_add_bool(doc, row, "ok", call->error == NULL);
    document_add_text(doc, row, "arguments", call->arguments);
    add_changed(doc, row, call->changed);
    document_add_text(doc, row, "result", call->result);
    (void)yyjson_mut_obj_add_uint(doc, row, "bytes_in", call->bytes_in);
    (void)yyjson_mut_obj_add_uint(doc, row, "bytes_out", call->bytes_out);
    yyjson_mut_val *error = add_error(doc, row, "error", call->error);
    add_number(doc, row, "cpu_ns", call->has_cpu, call->cpu_ns);
    add_number(doc, row, "memory", call->has_memory, call->memory);
    add_trace(doc, row, call->trace);
    add_attributes(doc, row, call, error);
}

/* A copy of a selector's name; NULL for NULL, or when out of memory. */
static char *copy_name(const struct selector *selector) {
    return selector->name != NULL ? strndup(selector->name, selector->name_length) : NULL;
}

/* Parse a selector of one version or of all; NULL gives an empty selector. */
static int read_selector(const char *string, struct selector *ret, struct toolrack_error *err) {
    *ret = string != NULL ? selector_parse(string) : (struct selector){0};
    return string != NULL ? registry_check_exact(string, err) : 0;
}

int record_log(struct record *record, const struct toolrack_log_filter *filter,
               struct toolrack_text **ret, struct toolrack_error *err) {
    OBJECT_CHECK(record, RECORD_MAGIC);
    struct toolrack_log_filter taken = {0};
    struct selector selector;
    if (filter != NULL) {
        memcpy(&taken, filter, filter->size < sizeof taken ? filter->size : sizeof taken);
    }
    int code = read_selector(taken.tool, &selector, err);
    if (code < 0) {
        return code;
    }
    if (taken.id != NULL &&
        (taken.id[0] == '\0' || taken.id[strspn(taken.id, "0123456789")] != '\0')) {
        return error_set(
                err, TOOLRACK_E_INVALID,
                "the id of a call is a number, not \"%s\"; see the calls and their ids: %s",
                taken.id, COMMAND("log"));
    }
    CLEANUP(freep) char *name = copy_name(&selector);
    if (selector.name != NULL && name == NULL) {
        return error_oom(err);
    }
    struct listing listing;
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = document_begin_list(&listing.list);
    listing.doc = doc;
    (void)record_flush(record, NULL); /* lines that cannot be written are missing in the list */
    code = store_calls_read(
            record->options.store,
            &(struct store_calls_filter){
                    .tool = name,
                    .version = selector.version,
                    .errors = taken.errors,
                    .since_ms = taken.since_ms,
                    .after_id = taken.after_id > INT64_MAX ? INT64_MAX : (int64_t)taken.after_id,
                    .before_id = taken.before_id > INT64_MAX ? INT64_MAX : (int64_t)taken.before_id,
                    .limit = taken.limit != 0 ? taken.limit : LOG_LIMIT_DEFAULT,
                    .caller = taken.caller,
                    .conversation = taken.conversation,
                    .outcomes = taken.outcomes,
                    .id = taken.id,
                    .trace = taken.trace},
            add_call, &listing, err);
    return code < 0 ? code : document_end(STEAL(doc), ret, err);
}

/* -------------------------------------------------------------- statistics */

/* One version of one tool of one plugin: its statistics in the store, and those not yet in the
 * store. */
struct row {
    struct store_statistics sum; /* its strings are owned */
    uint64_t times[STORE_TIME_BUCKETS];
    uint64_t good; /* opinions */
    uint64_t bad;
};

struct table {
    struct registry *registry;
    struct selector selector;
    struct row **rows; /* ordered by tool, version and plugin as strings, until they are shown */
    size_t count;
    size_t room;
    bool no_memory;
};

static void row_free(struct row *row) {
    if (row != NULL) {
        free((char *)(uintptr_t)row->sum.tool);
        free((char *)(uintptr_t)row->sum.version);
        free((char *)(uintptr_t)row->sum.plugin);
        free((char *)(uintptr_t)row->sum.last_error);
        free(row);
    }
}
CLEANUP_DEFINE(struct row, row_free)

static void table_finish(struct table *table) {
    for (size_t i = 0; i < table->count; i++) {
        row_free(table->rows[i]);
    }
    free(table->rows);
}

/* The index of a row, or where to insert it. */
static size_t find_place(const struct table *table, const char *tool, const char *version,
                         const char *plugin, bool *ret_there) {
    size_t low = 0;
    size_t high = table->count;
    *ret_there = false;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct store_statistics *sum = &table->rows[middle]->sum;
        int order = strcmp(sum->tool, tool);
        order = order != 0 ? order : strcmp(sum->version, version);
        order = order != 0 ? order : strcmp(sum->plugin, plugin);
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

/* The row of a version of a tool of a plugin, created if missing; NULL: out of memory. */
static struct row *find_row(struct table *table, const char *tool, const char *version,
                            const char *plugin) {
    bool there;
    size_t place = find_place(table, tool, version, plugin, &there);
    if (there) {
        return table->rows[place];
    }
    if (table->count == table->room) {
        size_t room = table->room == 0 ? 16 : table->room * 2;
        struct row **rows = realloc(table->rows, room * sizeof(struct row *));
        if (rows == NULL) {
            return NULL;
        }
        table->rows = rows;
        table->room = room;
    }
    CLEANUP(row_freep) struct row *row = calloc(1, sizeof *row);
    if (row == NULL || (row->sum.tool = strdup(tool)) == NULL ||
        (row->sum.version = strdup(version)) == NULL ||
        (row->sum.plugin = strdup(plugin)) == NULL) {
        return NULL;
    }
    row->sum.first_ms = INT64_MAX;
    struct row **at = &table->rows[place];
    memmove(at + 1, at, (table->count++ - place) * sizeof(struct row *));
    return *at = STEAL(row);
}

/* Whose numbers are shown: those of the plugin that provides the version; else, of a version that
 * is not registered, those of the plugins that provide the name; else of a name that nobody
 * provides, all. Rows of schema 3 without an identity are shown as those of who provides the name.
 */
struct provider {
    const char *tool;
    const char *version;
    const char *plugin; /* identity, or "" */
    bool shown;
    char *found; /* the identity to show for "", or NULL: nobody provides the name. On the heap */
    bool no_memory;
};

static void look_for_provider(void *user, const struct snapshot *snapshot) {
    struct provider *provider = user;
    const struct name_group *group =
            snapshot_find(snapshot, provider->tool, strlen(provider->tool));
    uint32_t count = group != NULL ? group->count : 0;
    const struct toolrack_tool *of_version = NULL;
    bool of_name = false;
    for (uint32_t i = 0; i < count; i++) {
        const struct toolrack_tool *tool = group->tools[i];
        if (strcmp(toolrack_tool_version(tool), provider->version) == 0) {
            of_version = tool;
        }
        of_name = of_name || strcmp(tool->reg->plugin->identity_text, provider->plugin) == 0;
    }
    if (provider->plugin[0] == '\0' && count > 0) {
        const struct toolrack_tool *tool = of_version != NULL ? of_version : group->tools[0];
        provider->found = strdup(tool->reg->plugin->identity_text);
        provider->no_memory = provider->found == NULL;
    }
    provider->shown = provider->plugin[0] == '\0' || count == 0 ||
                      (of_version != NULL ? strcmp(of_version->reg->plugin->identity_text,
                                                   provider->plugin) == 0
                                          : of_name);
}

static void merge(void *user, const struct store_statistics *more) {
    struct table *table = user;
    const struct selector *selector = &table->selector;
    if ((selector->name != NULL && !selector_has_name(selector, more->tool, strlen(more->tool))) ||
        (selector->version != NULL && strcmp(selector->version, more->version) != 0)) {
        return;
    }
    struct provider provider = {
            .tool = more->tool, .version = more->version, .plugin = more->plugin};
    registry_look(table->registry, look_for_provider, &provider);
    CLEANUP(freep) char *found = provider.found;
    if (!provider.shown) {
        return;
    }
    struct row *row = provider.no_memory ? NULL
                                         : find_row(table, more->tool, more->version,
                                                    found != NULL ? found : more->plugin);
    if (row == NULL) {
        table->no_memory = true;
        return;
    }
    struct store_statistics *sum = &row->sum;
    sum->calls += more->calls;
    sum->failures += more->failures;
    sum->hindered += more->hindered;
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
    if (more->last_error != NULL && more->last_error_ms >= sum->last_error_ms) {
        char *copy = strdup(more->last_error);
        table->no_memory = table->no_memory || copy == NULL;
        free((char *)(uintptr_t)sum->last_error);
        sum->last_error = copy;
        sum->last_error_ms = more->last_error_ms;
    }
}

/* Only for tools that were called: an opinion alone adds no row. */
static void merge_opinions(void *user, const struct store_opinions *opinions) {
    const struct table *table = user;
    bool there;
    struct provider provider = {
            .tool = opinions->tool, .version = opinions->version, .plugin = opinions->plugin};
    registry_look(table->registry, look_for_provider, &provider);
    CLEANUP(freep) char *found = provider.found;
    size_t place = find_place(table, opinions->tool, opinions->version,
                              found != NULL ? found : opinions->plugin, &there);
    if (there) {
        table->rows[place]->good += opinions->good;
        table->rows[place]->bad += opinions->bad;
    }
}

/* By name, the highest version first, then by plugin. */
static int compare_rows(const void *left, const void *right) {
    const struct store_statistics *a = &(*(struct row *const *)left)->sum;
    const struct store_statistics *b = &(*(struct row *const *)right)->sum;
    int order = strcmp(a->tool, b->tool);
    if (order == 0 && semver_valid(a->version) && semver_valid(b->version)) {
        order = semver_compare(b->version, a->version);
    }
    order = order != 0 ? order : strcmp(b->version, a->version);
    return order != 0 ? order : strcmp(a->plugin, b->plugin);
}

static void add_row(yyjson_mut_doc *doc, yyjson_mut_val *list, const struct row *from) {
    static const struct {
        const char *key;
        unsigned of_100;
    } quantiles[] = {{"p50_ns", 50}, {"p95_ns", 95}, {"p99_ns", 99}};
    const struct store_statistics *sum = &from->sum;
    uint64_t calls = sum->calls > 0 ? sum->calls : 1;
    yyjson_mut_val *row = yyjson_mut_arr_add_obj(doc, list);
    if (row == NULL) {
        return; /* out of memory: document_end() reports it */
    }
    struct store_time times[STORE_TIME_BUCKETS];
    uint32_t time_count = 0;
    for (uint32_t i = 0; i < STORE_TIME_BUCKETS; i++) {
        if (from->times[i] > 0) {
            times[time_count++] = (struct store_time){.bucket = i, .count = from->times[i]};
        }
    }
    document_add_text(doc, row, "tool", sum->tool);
    document_add_text(doc, row, "version", sum->version);
    document_add_identity(doc, row, sum->plugin);
    (void)yyjson_mut_obj_add_uint(doc, row, "calls", sum->calls);
    (void)yyjson_mut_obj_add_uint(doc, row, "failures", sum->failures);
    (void)yyjson_mut_obj_add_uint(doc, row, "hindered", sum->hindered);
    (void)yyjson_mut_obj_add_uint(doc, row, "unlogged", sum->unlogged);
    (void)yyjson_mut_obj_add_real(doc, row, "success_rate",
                                  1.0 - (double)sum->failures / (double)calls);
    (void)yyjson_mut_obj_add_uint(doc, row, "mean_ns", sum->total_ns / calls);
    for (size_t i = 0; i < ARRAY_LENGTH(quantiles); i++) {
        /* The middle of a bucket may be above the longest call. */
        uint64_t ns = store_time_quantile(times, time_count, quantiles[i].of_100);
        (void)yyjson_mut_obj_add_uint(doc, row, quantiles[i].key,
                                      ns < sum->max_ns ? ns : sum->max_ns);
    }
    (void)yyjson_mut_obj_add_uint(doc, row, "max_ns", sum->max_ns);
    add_number(doc, row, "cpu_ns", sum->cpu_calls > 0,
               sum->cpu_ns / (sum->cpu_calls > 0 ? sum->cpu_calls : 1));
    add_number(doc, row, "memory", sum->memory_calls > 0,
               sum->memory / (sum->memory_calls > 0 ? sum->memory_calls : 1));
    (void)yyjson_mut_obj_add_uint(doc, row, "cpu_calls", sum->cpu_calls);
    (void)yyjson_mut_obj_add_uint(doc, row, "memory_calls", sum->memory_calls);
    (void)yyjson_mut_obj_add_uint(doc, row, "bytes_in", sum->bytes_in);
    (void)yyjson_mut_obj_add_uint(doc, row, "bytes_out", sum->bytes_out);
    (void)yyjson_mut_obj_add_sint(doc, row, "first_ms", sum->first_ms);
    (void)yyjson_mut_obj_add_sint(doc, row, "last_ms", sum->last_ms);
    yyjson_mut_val *error = add_error(doc, row, "last_error", sum->last_error);
    if (error != NULL) {
        (void)yyjson_mut_obj_add_sint(doc, error, "time_ms", sum->last_error_ms);
    }
    (void)yyjson_mut_obj_add_uint(doc, row, "feedback_good", from->good);
    (void)yyjson_mut_obj_add_uint(doc, row, "feedback_bad", from->bad);
}

int record_statistics(struct record *record, const char *name, struct toolrack_text **ret,
                      struct toolrack_error *err) {
    OBJECT_CHECK(record, RECORD_MAGIC);
    const struct record_options *options = &record->options;
    CLEANUP(table_finish) struct table table = {.registry = options->registry};
    int code = read_selector(name, &table.selector, err);
    if (code < 0) {
        return code;
    }
    (void)record_flush(record, NULL); /* what could not be written is read from memory */
    code = store_statistics_read(options->store, merge, &table, err);
    if (code == 0) {
        record_read_unwritten(record, merge, &table);
        code = store_feedback_count(options->store, merge_opinions, &table, err);
    }
    if (code == 0 && table.no_memory) {
        code = error_oom(err);
    }
    if (code == 0 && table.count == 0 && name != NULL) {
        /* No statistics: check that the tool exists. */
        struct toolrack_tool *tool = registry_get(options->registry, name);
        code = tool != NULL ? 0 : registry_not_found(options->registry, name, err);
        toolrack_tool_unref(tool);
    }
    if (code < 0) {
        return code;
    }
    yyjson_mut_val *list;
    yyjson_mut_doc *doc = document_begin_list(&list);
    if (table.count > 0) {
        qsort(table.rows, table.count, sizeof(struct row *), compare_rows);
    }
    for (size_t i = 0; i < table.count; i++) {
        add_row(doc, list, table.rows[i]);
    }
    return document_end(doc, ret, err);
}
