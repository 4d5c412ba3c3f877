#include "registry/tool.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/command.h"
#include "base/error.h"
#include "base/json-exact.h"
#include "base/name.h"
#include "base/utf8.h"
#include "registry/note.h"
#include "schema/secret.h"

/* ------------------------------------------------------------------- life */

static struct registration *create(struct plugin *plugin, size_t extra, uint64_t uid) {
    /* calloc() does not give the alignment that the statistics need, and aligned_alloc(), which
     * looks for a piece around it, takes 540 instructions, not 210: 2 % of `toolrack list --json`.
     */
    const size_t alignment = _Alignof(struct registration);
    char *block = calloc(1, sizeof(struct registration) + extra + alignment - 1);
    if (block == NULL) {
        return NULL;
    }
    size_t over = (uintptr_t)block % alignment;
    struct registration *reg = (void *)(block + (over == 0 ? 0 : alignment - over));
    reg->block = block;
    atomic_init(&reg->refs, 1);
    reg->uid = uid;
    reg->plugin = plugin_ref(plugin);
    return reg;
}

static void set_spec(struct registration *reg, const struct descriptor_tool *spec) {
    reg->spec = spec;
    atomic_init(&reg->asks, reg->spec->tool->permission != TR_SAFE);
    reg->name_length = (uint32_t)strlen(reg->spec->tool->name);
    reg->name_hash = name_hash(reg->spec->tool->name, reg->name_length);
}

struct registration *registration_create(struct plugin *plugin, uint32_t index, uint64_t uid) {
    struct registration *reg = create(plugin, 0, uid);
    if (reg != NULL) {
        set_spec(reg, &plugin->desc->tools[index]);
        atomic_init(&reg->returns, plugin->service.returns);
    }
    return reg;
}

struct toolrack_tool *tool_create_offer(struct plugin *plugin, enum offer offer) {
    CLEANUP(registration_unrefp)
    struct registration *reg = create(plugin, sizeof(struct descriptor_tool), 0);
    if (reg == NULL) {
        return NULL;
    }
    struct descriptor_tool *spec = (struct descriptor_tool *)(void *)(reg + 1);
    *spec = offer_tool(offer, plugin->desc->plugin->version);
    set_spec(reg, spec);
    atomic_init(&reg->returns, plugin->service.returns);
    return tool_create(reg);
}

static void prepared_destroy(struct prepared *prepared) {
    if (prepared != NULL) {
        schema_destroy(prepared->schema);
        schema_destroy(prepared->result_schema);
        signature_destroy(prepared->signature);
        yyjson_doc_free(prepared->secret_schema);
        free(prepared);
    }
}

static void prepared_destroyp(struct prepared **local) {
    prepared_destroy(*local);
}

void registration_unref(struct registration *reg) {
    if (reg == NULL || atomic_fetch_sub_explicit(&reg->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    prepared_destroy(atomic_load(&reg->prepared));
    shards_finish(&reg->shards);
    free(reg->succession);
    plugin_unref(reg->plugin);
    free(reg->block);
}

/* Calls only look at `asks`: it is set first and cleared last. */
void registration_set_changed(struct registration *reg, unsigned changed, bool held) {
    bool asks = held || atomic_load(&reg->unread) || reg->spec->tool->permission != TR_SAFE;
    if (asks) {
        atomic_store(&reg->asks, true);
    }
    atomic_store(&reg->changed, changed);
    atomic_store(&reg->held, held);
    if (!asks) {
        atomic_store(&reg->asks, false);
    }
}

void registration_set_unread(struct registration *reg, bool unread) {
    const struct plugin *plugin = reg->plugin;
    bool is_foreign =
            plugin->trust < TRUST_BUILTIN && strcmp(plugin->origin, ORIGIN_CONFIGURATION) != 0;
    bool asks = unread || atomic_load(&reg->held) || reg->spec->tool->permission != TR_SAFE;
    if (!is_foreign || atomic_load(&reg->unread) == unread) {
        return;
    }
    if (asks) {
        atomic_store(&reg->asks, true);
    }
    atomic_store(&reg->unread, unread);
    if (!asks) {
        atomic_store(&reg->asks, false);
    }
}

#define TEXT_WORDS(name, key, words)  words,
#define TEXT_LENGTH(name, key, words) +sizeof(", " words)
#define OTHER_WORDS                   "its permission", "its flags", "its plugin's capabilities"
#define MOST_WORDS                    ", its permission, its flags and its plugin's capabilities changed"
static_assert((0 PIN_TEXTS(TEXT_LENGTH)) + sizeof MOST_WORDS <= REGISTRATION_WORDS_ROOM,
              "all of them have room");

const char *registration_change_words(unsigned changed, char ret[REGISTRATION_WORDS_ROOM]) {
    static const char *const words[] = {PIN_TEXTS(TEXT_WORDS) OTHER_WORDS};
    size_t length = 0;
    ret[0] = '\0';
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if ((changed >> i & 1) != 0) {
            const char *joint = length == 0 ? "" : (changed >> (i + 1)) == 0 ? " and " : ", ";
            length += (size_t)snprintf(ret + length, REGISTRATION_WORDS_ROOM - length, "%s%s",
                                       joint, words[i]);
        }
    }
    (void)snprintf(ret + length, REGISTRATION_WORDS_ROOM - length, "%s",
                   length == 0 ? "nothing changed" : " changed");
    return ret;
}

struct toolrack_tool *tool_create(struct registration *reg) {
    const struct tr_tool *said = reg->spec->tool;
    struct toolrack_tool *tool =
            calloc(1, sizeof *tool + (said->permission == TR_SAFE ? 0 : TOOL_WHO_SIZE));
    if (tool != NULL) {
        atomic_init(&tool->refs, 1);
        atomic_fetch_add_explicit(&reg->refs, 1, memory_order_relaxed);
        tool->reg = reg;
        tool->enabled = (said->flags & TR_DISABLED) == 0;
        tool->kept = atomic_load(&reg->plugin->kept);
        /* Limited by its trust, unless an administrator stated it. */
        int32_t most = trust_priority(reg->plugin->trust);
        bool is_free = said->priority != 0 && said->priority <= most;
        tool->priority = is_free || reg->plugin->priority_stated ? said->priority : most;
    }
    return tool;
}

struct toolrack_tool *tool_copy(const struct toolrack_tool *tool) {
    struct toolrack_tool *copy = tool_create(tool->reg);
    if (copy != NULL) {
        copy->enabled = tool->enabled;
        copy->is_set_default = tool->is_set_default;
        copy->priority = tool->priority;
        tool_set_grant(copy, tool->granted_until_s, tool->granted_by);
    }
    return copy;
}

void tool_set_grant(struct toolrack_tool *tool, int64_t until_s, const char *who) {
    if (tool->reg->spec->tool->permission != TR_SAFE) {
        utf8_copy(tool->granted_by, TOOL_WHO_SIZE, who);
        tool->granted_until_s = until_s;
    }
}

bool tool_is_withheld(const struct toolrack_tool *tool) {
    const struct registration *reg = tool->reg;
    return atomic_load(&reg->held) || atomic_load(&reg->unread) ||
           (reg->spec->tool->permission == TR_DANGEROUS && tool->granted_until_s <= clock_wall_s());
}

int tool_refuse_disabled(const struct toolrack_tool *tool, struct toolrack_error *err) {
    const char *name = toolrack_tool_name(tool);
    return tool_is_of_app(tool)
                   ? error_set(err, TOOLRACK_E_DISABLED,
                               "Tool '%s' is disabled; it is the app's own, which can enable it "
                               "(toolrack_set_enabled())",
                               name)
                   : error_set(err, TOOLRACK_E_DISABLED, "Tool '%s' is disabled; enable it: %s",
                               name, COMMAND("enable", name));
}

bool tool_has_needs(const struct toolrack_tool *tool) {
    const struct missing *missing = tool->reg->plugin->missing;
    return missing != NULL && missing_is_needed(missing, toolrack_tool_read_only(tool));
}

void toolrack_tool_needs(const struct toolrack_tool *tool, char *needs, size_t room) {
    CLEANUP(buf_finish) struct buf kinds = BUF_INIT;
    missing_needs(tool->reg->plugin->missing, toolrack_tool_read_only(tool), &kinds);
    (void)snprintf(needs, room, "%s", kinds.failed || kinds.data == NULL ? "" : kinds.data);
}

bool tool_may_run(const struct toolrack_tool *tool) {
    switch (toolrack_tool_state(tool)) {
    case TOOLRACK_STATE_FAILED:
    case TOOLRACK_STATE_QUARANTINED:
    case TOOLRACK_STATE_LEFT_OUT:
    case TOOLRACK_STATE_NEEDS: return false;
    default: return tool->enabled && !tool_is_withheld(tool);
    }
}

struct toolrack_tool *toolrack_tool_ref(struct toolrack_tool *tool) {
    atomic_fetch_add_explicit(&tool->refs, 1, memory_order_relaxed);
    return tool;
}

void toolrack_tool_unref(struct toolrack_tool *tool) {
    if (tool == NULL) {
        return;
    }
    unsigned refs = atomic_load_explicit(&tool->refs, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&tool->refs, &refs,
                                                  refs == 1 ? TOOL_ENDS | 1 : refs - 1,
                                                  memory_order_acq_rel, memory_order_relaxed)) {
    }
    if (refs == 1) {
        note_refer(tool, &tool->refs);
        refs = atomic_fetch_sub_explicit(&tool->refs, 1, memory_order_acq_rel);
    }
    if (refs == (TOOL_ENDS | 1)) {
        registration_unref(tool->reg);
        free(tool);
    }
}

struct tool_hold tool_hold(struct toolrack_tool *tool, unsigned here) {
    struct note *noted = note_begin(tool, here);
    return (struct tool_hold){noted != NULL ? tool : toolrack_tool_ref(tool), noted};
}

void tool_let_go(struct tool_hold *hold) {
    if (hold->tool != NULL && (hold->note == NULL || !note_end(hold->note, hold->tool))) {
        toolrack_tool_unref(hold->tool);
    }
}

/* ---------------------------------------------------------------- prepare */

/* Compile a schema; temporary memory is released on return. */
static int compile_text(const char *text, size_t length, const struct schema_options *options,
                        struct schema **ret, struct toolrack_error *err) {
    yyjson_read_err why;
    CLEANUP(buf_finish) struct buf exact = BUF_INIT;
    bool is_rounded = json_add_exact(&exact, text, length);
    if (exact.failed) {
        return error_oom(err);
    }
    if (is_rounded) {
        text = exact.data;
        length = exact.length;
    }
    yyjson_doc *doc = yyjson_read_opts((char *)(uintptr_t)text, length, YYJSON_READ_BIGNUM_AS_RAW,
                                       NULL, &why);
    if (doc == NULL) {
        return why.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION
                       ? error_oom(err)
                       : error_set(err, TOOLRACK_E_INVALID, "it is not JSON");
    }
    int code = schema_compile(yyjson_doc_get_root(doc), options, ret, err);
    yyjson_doc_free(doc);
    return code;
}

bool tool_check_schema(void *user, const char *schema, size_t length, bool is_result,
                       int64_t *steps, char *reason, size_t room) {
    bool *no_memory = user;
    struct schema *compiled = NULL;
    struct toolrack_error err;
    struct schema_options options = is_result ? SCHEMA_OPTIONS_RESULT : SCHEMA_OPTIONS_TOOL;
    options.steps = steps;
    options.ignored = reason; /* beside true it is a warning */
    options.ignored_room = room;
    if (compile_text(schema, length, &options, &compiled, &err) < 0) {
        (void)snprintf(reason, room, "%s", err.message);
        if (no_memory != NULL && err.code == TOOLRACK_E_NO_MEMORY) {
            *no_memory = true;
        }
        return false;
    }
    schema_destroy(compiled);
    return true;
}

/* Steps that the check of one example may take, of SCHEMA_STEPS_MAX for a call: a folder full of
 * costly examples must not keep the host from starting. */
#define EXAMPLE_STEPS_MAX 100000

/* False: out of memory. */
static bool check_value(const struct schema *schema, int64_t *steps,
                        struct descriptor_value *value) {
    yyjson_read_err why;
    yyjson_doc *doc = yyjson_read_opts((char *)(uintptr_t)value->json, strlen(value->json),
                                       YYJSON_READ_BIGNUM_AS_RAW, NULL, &why);
    if (doc == NULL) {
        /* The descriptor reader has checked that it is JSON: memory ran out. */
        return false;
    }
    struct schema_failure failure = {.code = 0};
    value->fits = schema_validate_within(schema, yyjson_doc_get_root(doc), steps, &failure);
    if (!value->fits && *steps == 0) {
        (void)snprintf(value->reason, sizeof value->reason,
                       "the defaults and examples of one plugin may take %d steps to check, and "
                       "%d more for each tool: simplify the schemas",
                       DESCRIPTOR_STEPS_MAX, DESCRIPTOR_TOOL_STEPS_MAX);
    } else if (!value->fits) {
        (void)snprintf(value->reason, sizeof value->reason, "%s%s%s", failure.field,
                       failure.field[0] != '\0' ? " " : "", failure.reason);
    }
    yyjson_doc_free(doc);
    return value->fits || failure.code != TOOLRACK_E_NO_MEMORY;
}

void tool_check_values(void *user, const char *schema, size_t length, bool is_result,
                       int64_t *steps, struct descriptor_value *values, size_t count) {
    struct schema *compiled = NULL;
    struct toolrack_error err;
    struct schema_options options = is_result ? SCHEMA_OPTIONS_RESULT : SCHEMA_OPTIONS_TOOL;
    options.steps_max = EXAMPLE_STEPS_MAX;
    /* It was compiled before: only memory can be missing. */
    bool known = compile_text(schema, length, &options, &compiled, &err) == 0;
    for (size_t i = 0; known && i < count; i++) {
        known = check_value(compiled, steps, &values[i]);
    }
    schema_destroy(compiled);
    bool *no_memory = user;
    if (no_memory != NULL && !known) {
        *no_memory = true;
    }
}

/* Why a tool is not prepared, as its caller is told. */
static int refuse_prepared(int code, const struct toolrack_error *reason,
                           struct toolrack_error *err) {
    return code == TOOLRACK_E_NO_MEMORY
                   ? error_oom(err)
                   : error_set(err, TOOLRACK_E_EXECUTION_FAILED, "the tool cannot be prepared: %s",
                               reason->message);
}

int registration_compile(const struct registration *reg, struct schema **ret,
                         struct toolrack_error *err) {
    const char *text = reg->spec->schema;
    struct toolrack_error reason;
    struct schema_options options = SCHEMA_OPTIONS_TOOL; /* ignores what the reader warned of */
    int code = compile_text(text, strlen(text), &options, ret, &reason);
    return code < 0 ? refuse_prepared(code, &reason, err) : 0;
}

static int prepare_locked(struct registration *reg, const struct prepared **ret, bool *ret_loaded,
                          struct toolrack_error *err) {
    struct prepared *known = atomic_load_explicit(&reg->prepared, memory_order_acquire);
    if (known != NULL) {
        *ret = known;
        return 0;
    }
    int code = plugin_load(reg->plugin, ret_loaded, err);
    if (code < 0) {
        return code;
    }
    CLEANUP(prepared_destroyp) struct prepared *prepared = calloc(1, sizeof *prepared);
    if (prepared == NULL) {
        return error_oom(err);
    }
    struct image *image = atomic_load(&reg->plugin->image);
    if (image != NULL) {
        image_entry(image, reg->spec, &prepared->function, &prepared->run);
    }
    const struct descriptor_tool *spec = reg->spec;
    struct toolrack_error reason;
    struct schema_options options = SCHEMA_OPTIONS_TOOL; /* ignores what the reader warned of */
    code = compile_text(spec->schema, strlen(spec->schema), &options, &prepared->schema, &reason);
    if (code == 0 && !schema_read_secret(spec->schema, &prepared->secret_schema)) {
        code = TOOLRACK_E_NO_MEMORY;
    }
    /* The result of a typed tool always has the right form. */
    if (code == 0 && !spec->typed && spec->result_schema != NULL) {
        options = SCHEMA_OPTIONS_RESULT;
        code = compile_text(spec->result_schema, strlen(spec->result_schema), &options,
                            &prepared->result_schema, &reason);
    }
    /* For an isolated plugin, function and signature are in the worker. */
    if (code == 0 && image != NULL && spec->typed) {
        code = signature_create(spec->tool, &prepared->signature, &reason);
        if (code == 0) {
            prepared->slot_count = signature_value_count(prepared->signature);
        }
    }
    if (code < 0) {
        return refuse_prepared(code, &reason, err);
    }
    *ret = prepared;
    atomic_store_explicit(&reg->prepared, STEAL(prepared), memory_order_release);
    return 0;
}

int registration_prepare(struct registration *reg, const struct prepared **ret, bool *ret_loaded,
                         struct toolrack_error *err) {
    *ret_loaded = false;
    (void)pthread_mutex_lock(&reg->plugin->lock);
    int code = prepare_locked(reg, ret, ret_loaded, err);
    (void)pthread_mutex_unlock(&reg->plugin->lock);
    return code;
}

/* -------------------------------------------------------------- accessors */

const char *toolrack_tool_name(const struct toolrack_tool *tool) {
    return tool->reg->spec->tool->name;
}

uint64_t toolrack_tool_uid(const struct toolrack_tool *tool) {
    return tool->reg->uid;
}

const char *toolrack_tool_version(const struct toolrack_tool *tool) {
    return tool->reg->spec->version;
}

const char *toolrack_tool_title(const struct toolrack_tool *tool) {
    return tool->reg->spec->tool->title;
}

const char *toolrack_tool_description(const struct toolrack_tool *tool) {
    return tool->reg->spec->tool->description;
}

const char *toolrack_tool_category(const struct toolrack_tool *tool) {
    return tool->reg->spec->tool->category;
}

const char *toolrack_tool_tags(const struct toolrack_tool *tool) {
    return tool->reg->spec->tool->tags;
}

/* Whether a comma-separated list has an item, whatever the case of its letters. */
static bool has_item(const char *at, const char *item) {
    size_t length = strlen(item);
    while (at != NULL && *at != '\0') {
        at += strspn(at, " ,");
        size_t word = strcspn(at, ",");
        size_t end = word;
        while (end > 0 && at[end - 1] == ' ') {
            end--;
        }
        if (end == length && length > 0 && strncasecmp(at, item, length) == 0) {
            return true;
        }
        at += word;
    }
    return false;
}

bool toolrack_tool_has_tag(const struct toolrack_tool *tool, const char *tag) {
    return has_item(toolrack_tool_tags(tool), tag);
}

const char *toolrack_tool_deprecated(const struct toolrack_tool *tool) {
    return tool->reg->spec->tool->deprecated;
}

const char *toolrack_tool_purpose(const struct toolrack_tool *tool) {
    return tool->reg->spec->tool->purpose;
}

const char *toolrack_tool_icons(const struct toolrack_tool *tool) {
    return tool->reg->spec->tool->icons;
}

enum toolrack_task_mode toolrack_tool_task(const struct toolrack_tool *tool) {
    uint32_t flags = tool->reg->spec->tool->flags;
    return (flags & TR_TASK_NEVER) != 0    ? TOOLRACK_TASK_NEVER
           : (flags & TR_TASK_ALWAYS) != 0 ? TOOLRACK_TASK_ALWAYS
                                           : TOOLRACK_TASK_AUTO;
}

const char *toolrack_tool_scenarios(const struct toolrack_tool *tool) {
    return tool->reg->spec->tool->scenarios;
}

bool toolrack_tool_has_scenario(const struct toolrack_tool *tool, const char *scenario) {
    return has_item(toolrack_tool_scenarios(tool), scenario);
}

bool toolrack_tool_is_set_default(const struct toolrack_tool *tool) {
    return tool->is_set_default;
}

bool tool_is_of_app(const struct toolrack_tool *tool) {
    return strcmp(tool->reg->plugin->origin, ORIGIN_APP) == 0;
}

bool toolrack_tool_is_kept(const struct toolrack_tool *tool) {
    return tool->kept;
}

const char *toolrack_tool_schema(const struct toolrack_tool *tool) {
    return tool->reg->spec->schema;
}

const char *toolrack_tool_result_schema(const struct toolrack_tool *tool) {
    return tool->reg->spec->result_schema;
}

size_t toolrack_tool_example_count(const struct toolrack_tool *tool) {
    return tool->reg->spec->tool->example_count;
}

/* The examples of a descriptor are adjacent and have the host's struct size. */
const char *toolrack_tool_example_arguments(const struct toolrack_tool *tool, size_t index) {
    const struct tr_tool *said = tool->reg->spec->tool;
    return index < said->example_count ? said->examples[index].arguments : NULL;
}

const char *toolrack_tool_example_result(const struct toolrack_tool *tool, size_t index) {
    const struct tr_tool *said = tool->reg->spec->tool;
    return index < said->example_count ? said->examples[index].result : NULL;
}

bool toolrack_tool_enabled(const struct toolrack_tool *tool) {
    return tool->enabled;
}

int toolrack_tool_priority(const struct toolrack_tool *tool) {
    return tool->priority;
}

enum toolrack_permission toolrack_tool_permission(const struct toolrack_tool *tool) {
    return (enum toolrack_permission)tool->reg->spec->tool->permission;
}

static bool has_flag(const struct toolrack_tool *tool, enum tr_tool_flags flag) {
    return (tool->reg->spec->tool->flags & (uint32_t)flag) != 0;
}

bool toolrack_tool_read_only(const struct toolrack_tool *tool) {
    return has_flag(tool, TR_READ_ONLY);
}

bool toolrack_tool_destructive(const struct toolrack_tool *tool) {
    return has_flag(tool, TR_DESTRUCTIVE);
}

bool toolrack_tool_idempotent(const struct toolrack_tool *tool) {
    return has_flag(tool, TR_IDEMPOTENT);
}

bool toolrack_tool_open_world(const struct toolrack_tool *tool) {
    return has_flag(tool, TR_OPEN_WORLD);
}

uint32_t toolrack_tool_deadline_ms(const struct toolrack_tool *tool) {
    return tool->reg->spec->tool->deadline_ms;
}

const char *toolrack_tool_plugin(const struct toolrack_tool *tool) {
    return tool->reg->plugin->desc->plugin->id;
}

const char *toolrack_tool_file(const struct toolrack_tool *tool) {
    return tool->reg->plugin->path;
}

const char *toolrack_tool_trust(const struct toolrack_tool *tool) {
    return trust_name(tool->reg->plugin->trust);
}

enum toolrack_tool_state toolrack_tool_state(const struct toolrack_tool *tool) {
    if (atomic_load(&tool->reg->held)) {
        return TOOLRACK_STATE_CHANGED;
    }
    enum toolrack_tool_state state = plugin_state(tool->reg->plugin);
    bool is_fine = state == TOOLRACK_STATE_LISTED || state == TOOLRACK_STATE_LOADED;
    return is_fine && tool_has_needs(tool) ? TOOLRACK_STATE_NEEDS : state;
}

const char *tool_state_name(enum toolrack_tool_state state) {
    switch (state) {
    case TOOLRACK_STATE_LISTED: return "listed";
    case TOOLRACK_STATE_LOADED: return "loaded";
    case TOOLRACK_STATE_FAILED: return "failed";
    case TOOLRACK_STATE_STUCK: return "stuck";
    case TOOLRACK_STATE_QUARANTINED: return "quarantined";
    case TOOLRACK_STATE_CHANGED: return "changed";
    case TOOLRACK_STATE_LEFT_OUT: return "left-out";
    case TOOLRACK_STATE_NEEDS: return "needs";
    }
    return "unknown";
}

const char *toolrack_tool_state_name(const struct toolrack_tool *tool) {
    return tool_state_name(toolrack_tool_state(tool));
}

void toolrack_tool_reason(const struct toolrack_tool *tool, char *reason, size_t room) {
    if (atomic_load(&tool->reg->unread)) {
        (void)snprintf(reason, room, "what was decided about it cannot be read; it does not run");
        return;
    }
    if (atomic_load(&tool->reg->held)) {
        char words[REGISTRATION_WORDS_ROOM];
        (void)snprintf(reason, room, "%s since it was approved",
                       registration_change_words(atomic_load(&tool->reg->changed), words));
        return;
    }
    if (toolrack_tool_state(tool) == TOOLRACK_STATE_NEEDS) {
        CLEANUP(buf_finish) struct buf text = BUF_INIT;
        missing_explain_needs(tool->reg->plugin->missing, toolrack_tool_read_only(tool), &text);
        (void)snprintf(reason, room, "%s", text.failed || text.data == NULL ? "" : text.data);
        return;
    }
    plugin_reason(tool->reg->plugin, reason, room);
}

void toolrack_tool_statistics(const struct toolrack_tool *tool,
                              struct toolrack_tool_statistics *statistics) {
    struct registration *reg = tool->reg;
    struct toolrack_tool_statistics known = {.size = statistics->size};
    const struct registration_counts *counts;
    for (unsigned at = 0; (counts = shards_next(&reg->shards, &reg->counts, &at)) != NULL;) {
        uint64_t max_ns = atomic_load_explicit(&counts->max_ns, memory_order_relaxed);
        known.calls += atomic_load_explicit(&counts->calls, memory_order_relaxed);
        known.failures += atomic_load_explicit(&counts->failures, memory_order_relaxed);
        known.total_ns += atomic_load_explicit(&counts->total_ns, memory_order_relaxed);
        known.max_ns = max_ns > known.max_ns ? max_ns : known.max_ns;
    }
    memcpy(statistics, &known, known.size < sizeof known ? known.size : sizeof known);
}

struct descriptor_options tool_descriptor_options(bool *no_memory) {
    *no_memory = false;
    return (struct descriptor_options){.check_schema = tool_check_schema,
                                       .check_values = tool_check_values,
                                       .user = no_memory};
}
