/* Invariants:
 *
 *  (1) Rows are made at the first pin or grant: most hosts have many tools and no decision. They
 *      are sorted by name, so that the rows of a pin or a grant are adjacent.
 *  (2) A grant counts only for a tool of which the same plugin (its id from the same origin) has
 * any version pinned; so pins are read first. A grant of the configuration pins the tool that
 * first has the name, as a person's grant would; from then on it counts for that tool only. No
 * grant counts for a tool that states a higher permission than its pin: more was not granted.
 *  (3) A tool is compared with one pin: that of its version, else one that it equals, else the
 *      latest.
 *  (4) No registration is changed before both tables were read. */
#include "permit/standing.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "permit/pin.h"
#include "registry/selector.h"
#include "store/consent.h"
#include "store/grants.h"

/* ----------------------------------------------------------------- compare */

/* A registration, and the pin of those seen so far with which it is compared. */
struct comparison {
    const struct registration *reg;
    struct arena *arena;  /* for that pin */
    struct store_pin now; /* made at the first pin */
    bool failed;          /* out of memory */
    bool is_pinned;
    bool is_exact;   /* the pin is of its version */
    bool is_equal;   /* the tool's texts are those of the pin */
    bool knows_care; /* the pin has a permission */
    bool is_raised;  /* the tool's permission is above that of the pin */
    int64_t approved_s;
    unsigned changed; /* enum registration_change, together */
};

/* Look at one more pin of the tool. Returns whether the tool is compared with this pin from now on.
 */
static bool compare(struct comparison *comparison, const struct store_pin *pin) {
    bool is_exact = strcmp(pin->version, comparison->reg->spec->version) == 0;
    bool is_equal;
    if (!comparison->is_pinned && !pin_make(comparison->reg, comparison->arena, &comparison->now)) {
        comparison->failed = true;
        return false;
    }
    const struct store_pin *now = &comparison->now;
    unsigned changed = pin_compare(pin, now, &is_equal);
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
    comparison->changed = changed;
    comparison->knows_care = pin->permission >= 0;
    comparison->is_raised = comparison->knows_care && now->permission > pin->permission;
    return true;
}

/* -------------------------------------------------------------------- read */

struct row {
    struct toolrack_tool *tool;
    struct comparison comparison;
    bool is_configured; /* the configuration grants its name */
    bool is_known;      /* its permission is the one that is stored */
};

struct reading {
    struct toolrack_tool *const *tools;
    size_t count;
    struct row *rows;    /* owned; NULL before the first pin or grant */
    struct arena *arena; /* for what is compared with pins */
    bool failed;         /* out of memory */
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
        reading->rows[i] = (struct row){.tool = tool,
                                        .comparison = {.reg = tool->reg, .arena = reading->arena}};
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
        struct row *row = &reading->rows[i];
        if (identity_is_of(pin->plugin, row->tool->reg->plugin->identity_text)) {
            (void)compare(&row->comparison, pin);
            reading->failed = reading->failed || row->comparison.failed;
        }
    }
}

/* Whether a grant of the tool may count. */
static bool takes_grants(const struct row *row) {
    return row->comparison.is_pinned && !row->comparison.is_raised;
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
        if (takes_grants(row) && row->tool->granted_until_s < until_s &&
            (of.version == NULL || strcmp(of.version, toolrack_tool_version(row->tool)) == 0)) {
            tool_set_grant(row->tool, until_s, grant->who);
        }
    }
}

/* ---------------------------------------------------------------- cautions */

static int permission_of(const struct row *row) {
    return (int)row->tool->reg->spec->tool->permission;
}

/* A tool that no pin holds to its permission is held to the highest one that it has stated. */
static void take_caution(void *user, const struct store_caution *caution) {
    struct reading *reading = user;
    if (!make_rows(reading)) {
        return;
    }
    for (size_t i = find_first(reading, caution->tool, strlen(caution->tool));
         i < reading->count && strcmp(name_of(&reading->rows[i]), caution->tool) == 0; i++) {
        struct row *row = &reading->rows[i];
        if (strcmp(caution->plugin, row->tool->reg->plugin->identity_text) == 0) {
            row->is_known = permission_of(row) <= caution->permission;
            if (permission_of(row) < caution->permission && !row->comparison.knows_care) {
                row->comparison.changed |= REGISTRATION_PERMISSION;
            }
        }
    }
}

/* Store the permission of the tools that are not safe and were not seen before. If that fails, it
 * is stored when they are registered again. */
static void record_cautions(struct store *store, struct reading *reading) {
    struct toolrack_error unheard;
    size_t count = 0;
    for (size_t i = 0; i < reading->count; i++) {
        count += reading->tools[i]->reg->spec->tool->permission != TR_SAFE;
    }
    CLEANUP(freep) struct store_caution *rows = calloc(count + 1, sizeof *rows);
    if (count == 0 || rows == NULL || !make_rows(reading)) {
        return;
    }
    count = 0;
    for (size_t i = 0; i < reading->count; i++) {
        const struct row *row = &reading->rows[i];
        if (permission_of(row) != TR_SAFE && !row->is_known) {
            rows[count++] = (struct store_caution){.plugin = row->tool->reg->plugin->identity_text,
                                                   .tool = name_of(row),
                                                   .permission = permission_of(row)};
        }
    }
    if (count > 0) {
        (void)store_cautions_record(store, rows, count, &unheard);
    }
}

/* --------------------------------------------- the grants of the configuration */

static void see_any_pin(void *user, const struct store_pin *pin) {
    (void)pin;
    *(bool *)user = true;
}

/* Of the rows with one name, the one that a call by name would most likely run: of the highest
 * trust, then registered first. */
static const struct row *choose_bound(const struct row *rows, size_t count) {
    const struct row *chosen = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct registration *reg = rows[i].tool->reg;
        if (rows[i].is_configured &&
            (chosen == NULL || reg->plugin->trust > chosen->tool->reg->plugin->trust ||
             (reg->plugin->trust == chosen->tool->reg->plugin->trust &&
              reg->uid < chosen->tool->reg->uid))) {
            chosen = &rows[i];
        }
    }
    return chosen;
}

/* Pin the tool that a name has when the configuration first grants the name. If that cannot be
 * stored, the grant holds for this host. */
static int bind_name(struct store *store, struct row *rows, size_t count, struct arena *arena,
                     struct toolrack_error *err) {
    bool is_bound = false;
    struct toolrack_error unheard;
    int code = store_pins_read(store, NULL, name_of(&rows[0]), see_any_pin, &is_bound, err);
    const struct row *chosen = choose_bound(rows, count);
    if (code < 0 || is_bound || chosen == NULL) {
        return code;
    }
    const char *identity = chosen->tool->reg->plugin->identity_text;
    for (size_t i = 0; i < count; i++) {
        struct row *row = &rows[i];
        if (!row->is_configured || strcmp(row->tool->reg->plugin->identity_text, identity) != 0) {
            continue;
        }
        struct store_pin pin;
        if (!pin_make(row->tool->reg, arena, &pin)) {
            return error_oom(err);
        }
        pin.who = "configuration";
        pin.approved_s = clock_wall_s();
        (void)store_consent(store, &pin, 1, NULL, NULL, &unheard);
        row->comparison.is_pinned = true;
        row->is_known = true;
    }
    return 0;
}

static int take_configured(struct store *store, const struct config *config,
                           struct reading *reading, struct toolrack_error *err) {
    bool any = false;
    for (size_t i = 0; !any && i < reading->count; i++) {
        any = config_grants(config, toolrack_tool_name(reading->tools[i]),
                            toolrack_tool_version(reading->tools[i]));
    }
    if (!any || !make_rows(reading)) {
        return 0;
    }
    for (size_t i = 0; i < reading->count; i++) {
        const struct toolrack_tool *tool = reading->rows[i].tool;
        reading->rows[i].is_configured =
                config_grants(config, toolrack_tool_name(tool), toolrack_tool_version(tool));
    }
    size_t first = 0;
    for (size_t i = 1; i <= reading->count; i++) {
        if (i < reading->count &&
            strcmp(name_of(&reading->rows[i]), name_of(&reading->rows[first])) == 0) {
            continue;
        }
        bool is_configured = false;
        bool is_pinned = false;
        for (size_t k = first; k < i; k++) {
            is_configured |= reading->rows[k].is_configured;
            is_pinned |= reading->rows[k].is_configured && reading->rows[k].comparison.is_pinned;
        }
        int code = is_configured && !is_pinned
                           ? bind_name(store, &reading->rows[first], i - first, reading->arena, err)
                           : 0;
        if (code < 0) {
            return code;
        }
        first = i;
    }
    for (size_t i = 0; i < reading->count; i++) {
        const struct row *row = &reading->rows[i];
        if (row->is_configured && takes_grants(row)) {
            tool_set_grant(row->tool, INT64_MAX, "configuration");
        }
    }
    return 0;
}

/* ------------------------------------------------------------------- whole */

/* `row` is NULL if there is no pin and no grant. */
static void set_standing(struct registration *reg, const struct row *row) {
    unsigned changed = row != NULL ? row->comparison.changed : 0;
    bool is_raised = row != NULL && row->comparison.is_raised;
    enum pin_policy policy = reg->plugin->pin;
    if (reg->plugin->new_capabilities != NULL) {
        changed |= REGISTRATION_CAPABILITIES;
    }
    if (policy == PIN_OFF) { /* that no grant counts is said all the same */
        changed = is_raised ? REGISTRATION_PERMISSION : 0;
    }
    bool held = changed != 0 && policy == PIN_ENFORCE;
    if (atomic_load(&reg->changed) != changed || atomic_load(&reg->held) != held) {
        registration_set_changed(reg, changed, held);
    }
}

int standing_read(struct store *store, const struct config *config,
                  struct toolrack_tool *const *tools, size_t count, bool are_new,
                  struct toolrack_error *err) {
    CLEANUP(arena_finish) struct arena arena;
    arena_init(&arena, NULL, 0);
    struct reading reading = {.tools = tools, .count = count, .arena = &arena};
    /* If all tools are of one plugin, or of one name, only its pins are read. */
    const char *plugin = count > 0 ? tools[0]->reg->plugin->identity_text : NULL;
    const char *name = count > 0 ? toolrack_tool_name(tools[0]) : NULL;
    for (size_t i = 0; i < count; i++) {
        const char *own_name = toolrack_tool_name(tools[i]);
        if (plugin != NULL && strcmp(plugin, tools[i]->reg->plugin->identity_text) != 0) {
            plugin = NULL;
        }
        if (name != NULL && strcmp(name, own_name) != 0) {
            name = NULL;
        }
    }
    int code = count > 0 ? store_pins_read(store, plugin, name, take_pin, &reading, err) : 0;
    if (code == 0 && count > 0) {
        code = store_cautions_read(store, plugin, take_caution, &reading, err);
    }
    if (code == 0) {
        code = take_configured(store, config, &reading, err);
    }
    if (code == 0) {
        code = store_read_grants(store, clock_wall_s(), take_grant, &reading, err);
    }
    if (code == 0 && are_new) {
        record_cautions(store, &reading);
    }
    if (code == 0 && reading.failed) {
        code = error_oom(err);
    }
    /* To which plugins the grants of the configuration are bound is not known either. */
    for (size_t i = 0; code < 0 && i < count; i++) {
        tool_set_grant(tools[i], 0, "");
    }
    for (size_t i = 0; code == 0 && i < count; i++) {
        const struct row *row = reading.rows != NULL ? &reading.rows[i] : NULL;
        set_standing(row != NULL ? row->tool->reg : tools[i]->reg, row);
    }
    free(reading.rows);
    return code;
}

/* ------------------------------------------------------------------ change */

struct finding_change {
    struct comparison comparison;
    struct arena *arena;
    struct permit_approved *ret;
    const struct registration *reg;
    unsigned changed; /* by what is no pin too */
    bool failed;
};

static const char *keep_text(struct finding_change *finding, const char *text) {
    const char *kept = arena_copy(finding->arena, text, strlen(text));
    finding->failed = finding->failed || kept == NULL;
    return kept;
}

static const char *permission_word(int permission) {
    return permission == TR_SAFE ? "safe" : permission == TR_CONFIRM ? "confirm" : "dangerous";
}

static const char *flag_words(struct finding_change *finding, uint32_t flags) {
    const char *words =
            arena_printf(finding->arena, "%s, %s, %s, %s",
                         (flags & TR_READ_ONLY) != 0 ? "read-only" : "not read-only",
                         (flags & TR_DESTRUCTIVE) != 0 ? "destructive" : "not destructive",
                         (flags & TR_IDEMPOTENT) != 0 ? "idempotent" : "not idempotent",
                         (flags & TR_OPEN_WORLD) != 0 ? "open world" : "not open world");
    finding->failed = finding->failed || words == NULL;
    return words;
}

static void set_permission(struct finding_change *finding, int approved) {
    finding->ret->permission = permission_word(approved);
    finding->ret->now_permission = permission_word((int)finding->reg->spec->tool->permission);
}

static void take_approved(void *user, const struct store_pin *pin) {
    struct finding_change *finding = user;
    if (!compare(&finding->comparison, pin)) {
        finding->failed = finding->failed || finding->comparison.failed;
        return;
    }
    unsigned changed = finding->comparison.changed;
    *finding->ret = (struct permit_approved){0};
    for (size_t i = 0; i < PIN_TEXT_COUNT; i++) {
        if ((changed & REGISTRATION_TEXT(i)) != 0) {
            finding->ret->texts[i] = keep_text(finding, pin->texts[i]);
            finding->ret->now_texts[i] = finding->comparison.now.texts[i];
        }
    }
    if ((changed & REGISTRATION_PERMISSION) != 0) {
        set_permission(finding, pin->permission);
    }
    if ((changed & REGISTRATION_FLAGS) != 0) {
        finding->ret->flags = flag_words(finding, pin->flags);
        finding->ret->now_flags = flag_words(finding, finding->reg->spec->tool->flags & PIN_FLAGS);
    }
    if ((changed & REGISTRATION_CAPABILITIES) != 0) {
        finding->ret->capabilities = keep_text(finding, pin->capabilities);
        finding->ret->now_capabilities = finding->reg->plugin->capabilities;
    }
}

static void take_first_seen(void *user, const struct store_caution *caution) {
    struct finding_change *finding = user;
    const struct tr_tool *tool = finding->reg->spec->tool;
    if (!finding->comparison.knows_care && caution->permission > (int)tool->permission &&
        strcmp(caution->tool, tool->name) == 0 &&
        strcmp(caution->plugin, finding->reg->plugin->identity_text) == 0) {
        finding->changed |= REGISTRATION_PERMISSION;
        set_permission(finding, caution->permission);
    }
}

/* The lines of the capabilities that are not new. */
static void add_covered(struct finding_change *finding) {
    const struct plugin *plugin = finding->reg->plugin;
    CLEANUP(buf_finish) struct buf covered = BUF_INIT;
    buf_add_text(&covered, "");
    for (const char *at = plugin->capabilities; *at != '\0';) {
        size_t length = strcspn(at, "\n");
        if (!pin_has_line(plugin->new_capabilities, at, length)) {
            buf_printf(&covered, "%s%.*s", covered.length > 0 ? "\n" : "", (int)length, at);
        }
        at += length + (at[length] == '\n');
    }
    finding->changed |= REGISTRATION_CAPABILITIES;
    finding->ret->capabilities =
            keep_text(finding, covered.failed || covered.data == NULL ? "" : covered.data);
    finding->ret->now_capabilities = plugin->capabilities;
}

int standing_find_change(struct store *store, const struct registration *reg, struct arena *arena,
                         struct permit_approved *ret, struct toolrack_error *err) {
    struct finding_change finding = {
            .comparison = {.reg = reg, .arena = arena}, .arena = arena, .ret = ret, .reg = reg};
    *ret = (struct permit_approved){0};
    int code = store_pins_read(store, reg->plugin->identity_text, reg->spec->tool->name,
                               take_approved, &finding, err);
    finding.changed = finding.comparison.changed;
    if (code == 0) {
        code = store_cautions_read(store, reg->plugin->identity_text, take_first_seen, &finding,
                                   err);
    }
    if (code == 0 && ret->capabilities == NULL && reg->plugin->new_capabilities != NULL) {
        add_covered(&finding);
    }
    if (code == 0 && finding.failed) {
        code = error_oom(err);
    }
    return code < 0 ? code : finding.changed != 0 ? 0 : TOOLRACK_E_NOT_FOUND;
}
