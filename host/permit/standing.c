/* Invariants:
 *
 *  (1) Rows are made at the first pin or grant: most hosts have many tools and no decision. They
 *      are sorted by name, so that the rows of a pin or a grant are adjacent.
 *  (2) A grant counts only for a tool of which the same plugin (its id from the same origin) has
 * any version pinned; so pins are read first. The grants of the configuration count without a pin.
 *  (3) A tool is compared with one pin: that of its version, else one that it equals, else the
 *      latest.
 *  (4) No registration is changed before both tables were read. */
#include "permit/standing.h"

#include <assert.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "registry/selector.h"
#include "store/grants.h"

/* -------------------------------------------------------------------- pins */

static_assert(STORE_SHA256_SIZE == crypto_hash_sha256_BYTES, "what libsodium makes");

/* With the terminating zero, so that no two different triples give the same bytes. */
static void add_string(crypto_hash_sha256_state *hash, const char *string) {
    (void)crypto_hash_sha256_update(hash, (const unsigned char *)string, strlen(string) + 1);
}

void pin_make(const struct registration *reg, struct store_pin *ret) {
    const char *description = reg->spec->tool->description;
    *ret = (struct store_pin){.plugin = reg->plugin->identity_text,
                              .tool = reg->spec->tool->name,
                              .version = reg->spec->version,
                              .description = description != NULL ? description : "",
                              .schema = reg->spec->schema};
    crypto_hash_sha256_state hash;
    (void)crypto_hash_sha256_init(&hash);
    add_string(&hash, ret->tool);
    add_string(&hash, ret->description);
    add_string(&hash, ret->schema);
    (void)crypto_hash_sha256_final(&hash, ret->sha256);
}

/* A registration, and the pin of those seen so far with which it is compared. */
struct comparison {
    const struct registration *reg;
    struct store_pin now; /* made at the first pin */
    bool is_pinned;
    bool is_exact; /* the pin is of its version */
    bool is_equal; /* the tool looks like the pin */
    int64_t approved_s;
    unsigned changed; /* enum registration_change, together */
};

/* Look at one more pin of the tool. Returns whether the tool is compared with this pin from now on.
 */
static bool compare(struct comparison *comparison, const struct store_pin *pin) {
    bool is_exact = strcmp(pin->version, comparison->reg->spec->version) == 0;
    if (!comparison->is_pinned) {
        pin_make(comparison->reg, &comparison->now);
    }
    const struct store_pin *now = &comparison->now;
    bool is_equal = memcmp(pin->sha256, now->sha256, sizeof now->sha256) == 0;
    bool is_better =
            !comparison->is_pinned || is_exact ||
            (!comparison->is_exact &&
             (is_equal != comparison->is_equal ? is_equal
                                               : pin->approved_s > comparison->approved_s));
    comparison->is_pinned = true;
    if (!is_better) {
        return false;
    }
    comparison->is_exact = is_exact;
    comparison->is_equal = is_equal;
    comparison->approved_s = pin->approved_s;
    unsigned changed =
            (strcmp(pin->description, now->description) != 0 ? REGISTRATION_DESCRIPTION : 0u) |
            (strcmp(pin->schema, now->schema) != 0 ? REGISTRATION_SCHEMA : 0u);
    /* The hash differs, but the pin's texts do not show how: report both as changed. */
    comparison->changed = is_equal       ? 0
                          : changed != 0 ? changed
                                         : REGISTRATION_DESCRIPTION | REGISTRATION_SCHEMA;
    return true;
}

/* -------------------------------------------------------------------- read */

struct row {
    struct toolrack_tool *tool;
    struct comparison comparison;
};

struct reading {
    struct toolrack_tool *const *tools;
    size_t count;
    struct row *rows; /* owned; NULL before the first pin or grant */
    bool failed;      /* out of memory */
};

static const char *name_of(const struct row *row) {
    return toolrack_tool_name(row->tool);
}

static int compare_rows(const void *a, const void *b) {
    const struct row *x = a;
    const struct row *y = b;
    return strcmp(name_of(x), name_of(y));
}

static bool make_rows(struct reading *reading) {
    if (reading->rows != NULL || reading->failed) {
        return !reading->failed;
    }
    reading->rows = calloc(reading->count + 1, sizeof *reading->rows);
    reading->failed = reading->rows == NULL;
    for (size_t i = 0; !reading->failed && i < reading->count; i++) {
        struct toolrack_tool *tool = reading->tools[i];
        reading->rows[i] = (struct row){.tool = tool, .comparison = {.reg = tool->reg}};
    }
    if (!reading->failed) {
        qsort(reading->rows, reading->count, sizeof *reading->rows, compare_rows);
    }
    return !reading->failed;
}

/* The first row of a name; if there is none, the row that would follow. */
static size_t find_first(const struct reading *reading, const char *name, size_t length) {
    size_t low = 0;
    size_t high = reading->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const char *other = name_of(&reading->rows[middle]);
        int order = strncmp(other, name, length);
        order = order != 0 ? order : other[length] != '\0';
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void take_pin(void *user, const struct store_pin *pin) {
    struct reading *reading = user;
    if (!make_rows(reading)) {
        return;
    }
    for (size_t i = find_first(reading, pin->tool, strlen(pin->tool));
         i < reading->count && strcmp(name_of(&reading->rows[i]), pin->tool) == 0; i++) {
        const struct row *row = &reading->rows[i];
        if (identity_is_of(pin->plugin, row->tool->reg->plugin->identity_text)) {
            (void)compare(&reading->rows[i].comparison, pin);
        }
    }
}

/* The grant that holds longest counts. */
static void take_grant(void *user, const struct store_grant *grant) {
    struct reading *reading = user;
    const struct selector of = selector_parse(grant->selector);
    int64_t until_s = grant->expires_s != 0 ? grant->expires_s : INT64_MAX;
    if (!make_rows(reading)) {
        return;
    }
    for (size_t i = find_first(reading, of.name, of.name_length); i < reading->count; i++) {
        const struct row *row = &reading->rows[i];
        if (!selector_has_name(&of, name_of(row), row->tool->reg->name_length)) {
            break;
        }
        if (row->comparison.is_pinned && row->tool->granted_until_s < until_s &&
            (of.version == NULL || strcmp(of.version, toolrack_tool_version(row->tool)) == 0)) {
            tool_set_grant(row->tool, until_s, grant->who);
        }
    }
}

int standing_read(struct store *store, const struct config *config,
                  struct toolrack_tool *const *tools, size_t count, struct toolrack_error *err) {
    struct reading reading = {.tools = tools, .count = count};
    /* If all tools are of one plugin, or of one name, only its pins are read. */
    const char *plugin = count > 0 ? tools[0]->reg->plugin->identity_text : NULL;
    const char *name = count > 0 ? toolrack_tool_name(tools[0]) : NULL;
    for (size_t i = 0; i < count; i++) {
        const char *own_name = toolrack_tool_name(tools[i]);
        if (config_grants(config, own_name)) {
            tool_set_grant(tools[i], INT64_MAX, "configuration");
        }
        if (plugin != NULL && strcmp(plugin, tools[i]->reg->plugin->identity_text) != 0) {
            plugin = NULL;
        }
        if (name != NULL && strcmp(name, own_name) != 0) {
            name = NULL;
        }
    }
    int code = count > 0 ? store_pins_read(store, plugin, name, take_pin, &reading, err) : 0;
    if (code == 0) {
        code = store_read_grants(store, clock_wall_s(), take_grant, &reading, err);
    }
    if (code == 0 && reading.failed) {
        code = error_oom(err);
    }
    for (size_t i = 0; code == 0 && i < count; i++) {
        const struct row *row = reading.rows != NULL ? &reading.rows[i] : NULL;
        struct registration *reg = row != NULL ? row->tool->reg : tools[i]->reg;
        enum pin_policy policy = reg->plugin->pin;
        unsigned changed = row != NULL && policy != PIN_OFF ? row->comparison.changed : 0;
        bool held = changed != 0 && policy == PIN_ENFORCE;
        if (atomic_load(&reg->changed) != changed || atomic_load(&reg->held) != held) {
            registration_set_changed(reg, changed, held);
        }
    }
    free(reading.rows);
    return code;
}

/* ------------------------------------------------------------------ change */

struct finding_change {
    struct comparison comparison;
    struct arena *arena;
    struct permit_approved *ret;
    bool failed;
};

static void take_approved(void *user, const struct store_pin *pin) {
    struct finding_change *finding = user;
    if (!compare(&finding->comparison, pin)) {
        return;
    }
    unsigned changed = finding->comparison.changed;
    *finding->ret = (struct permit_approved){0};
    if ((changed & REGISTRATION_DESCRIPTION) != 0) {
        finding->ret->description =
                arena_copy(finding->arena, pin->description, strlen(pin->description));
    }
    if ((changed & REGISTRATION_SCHEMA) != 0) {
        finding->ret->schema = arena_copy(finding->arena, pin->schema, strlen(pin->schema));
    }
    finding->failed =
            ((changed & REGISTRATION_DESCRIPTION) != 0 && finding->ret->description == NULL) ||
            ((changed & REGISTRATION_SCHEMA) != 0 && finding->ret->schema == NULL);
}

int standing_find_change(struct store *store, const struct registration *reg, struct arena *arena,
                         struct permit_approved *ret, struct toolrack_error *err) {
    struct finding_change finding = {.comparison = {.reg = reg}, .arena = arena, .ret = ret};
    *ret = (struct permit_approved){0};
    int code = store_pins_read(store, reg->plugin->identity_text, reg->spec->tool->name,
                               take_approved, &finding, err);
    if (code == 0 && finding.failed) {
        code = error_oom(err);
    }
    return code < 0 ? code : finding.comparison.changed != 0 ? 0 : TOOLRACK_E_NOT_FOUND;
}
