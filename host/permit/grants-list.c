/* What is granted and approved, whose tool it is, and whether it counts: the list, and the log of
 * grants of the configuration that do not. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/command.h"
#include "base/error.h"
#include "base/object.h"
#include "base/semver.h"
#include "permit/consent.h"
#include "registry/document.h"
#include "registry/selector.h"
#include "store/identities.h"

/* ------------------------------------------------------------------- state */

enum grant_state {
    GRANT_ABSENT,  /* no tool has the name and version */
    GRANT_OTHER,   /* another plugin's tool is */
    GRANT_RAISED,  /* the tool states a higher permission than it was granted with */
    GRANT_CHANGED, /* it is held */
    GRANT_IN_FORCE
};

static const char *const state_words[] = {"absent", "other-plugin", "changed", "changed",
                                          "in-force"};

/* A grant or an approval of a tool, and what is found about it. */
struct judging {
    const char *name;
    size_t name_length;
    const char *version;  /* NULL: all */
    const char *identity; /* of the plugin to which it is bound; NULL: not bound yet */
    bool is_grant;
    enum grant_state state;
    struct toolrack_tool *tool; /* the one that decides the state; a reference */
};

static enum grant_state judge(const struct judging *judging, const struct toolrack_tool *tool) {
    const struct registration *reg = tool->reg;
    if (judging->identity != NULL &&
        !identity_is_of(judging->identity, reg->plugin->identity_text)) {
        return GRANT_OTHER;
    }
    return atomic_load(&reg->held)                                        ? GRANT_CHANGED
           : !judging->is_grant || reg->spec->tool->permission == TR_SAFE ? GRANT_IN_FORCE
           : tool->granted_until_s > clock_wall_s()                       ? GRANT_IN_FORCE
           : judging->identity == NULL                                    ? GRANT_OTHER
                                                                          : GRANT_RAISED;
}

/* What is granted in all versions is in force if a call by the name alone may run. If such a call
 * runs another plugin's tool, or all versions are kept ones, the best version counts. */
static void judge_versions(void *user, const struct snapshot *snapshot) {
    struct judging *judging = user;
    const struct name_group *group = snapshot_find(snapshot, judging->name, judging->name_length);
    const struct toolrack_tool *only =
            group != NULL && judging->version == NULL ? group->call : NULL;
    if (only != NULL && judge(judging, only) == GRANT_OTHER) {
        only = NULL;
    }
    for (uint32_t i = 0; group != NULL && i < group->count; i++) {
        struct toolrack_tool *tool = group->tools[i];
        if ((only != NULL && tool != only) ||
            (judging->version != NULL &&
             semver_compare(judging->version, toolrack_tool_version(tool)) != 0)) {
            continue;
        }
        enum grant_state state = judge(judging, tool);
        if (judging->tool == NULL || state > judging->state) {
            toolrack_tool_unref(judging->tool);
            judging->tool = toolrack_tool_ref(tool);
            judging->state = state;
        }
    }
}

struct provider {
    char *text; /* ERROR_MESSAGE_MAX bytes */
};

static void take_provider(void *user, const struct store_name *name) {
    const struct provider *provider = user;
    size_t length = identity_id_length(name->identity);
    CLEANUP(freep) char *id = strndup(name->identity, length);
    if (provider->text[0] == '\0' && id != NULL) {
        (void)snprintf(provider->text, ERROR_MESSAGE_MAX,
                       "no tool has this name now; plugin '%s' (%s) had it, and is not here or "
                       "is refused; see why: %s",
                       id, name->identity[length] != '\0' ? name->identity + length + 1 : "",
                       COMMAND("why", id));
    }
}

/* Why the name of a grant has no tool. */
static void explain_absent(struct permit *permit, const char *name, char ret[ERROR_MESSAGE_MAX]) {
    CLEANUP(toolrack_tool_unrefp)
    struct toolrack_tool *other = registry_get(permit->options.registry, name);
    const struct provider provider = {.text = ret};
    struct toolrack_error err;
    if (other != NULL) {
        (void)snprintf(ret, ERROR_MESSAGE_MAX,
                       "no tool of this name has this version; correct it, or remove it");
        return;
    }
    (void)registry_not_found(permit->options.registry, name, &err);
    const char *hint = strstr(err.message, "did you mean");
    if (hint == NULL) {
        (void)store_names_read(permit->options.store, name, take_provider,
                               (void *)(uintptr_t)&provider, &err);
    }
    if (ret[0] == '\0') {
        (void)snprintf(ret, ERROR_MESSAGE_MAX, "no tool has this name; %s",
                       hint != NULL ? hint : "correct the name, or remove it");
    }
}

/* Why it does not count, as a sentence; "" if it counts. */
static void explain(struct permit *permit, const struct judging *judging,
                    char ret[ERROR_MESSAGE_MAX]) {
    CLEANUP(freep) char *name = strndup(judging->name, judging->name_length);
    char words[REGISTRATION_WORDS_ROOM];
    ret[0] = '\0';
    if (name == NULL) {
        return;
    }
    switch (judging->state) {
    case GRANT_ABSENT: explain_absent(permit, name, ret); return;
    case GRANT_OTHER:
        (void)snprintf(ret, ERROR_MESSAGE_MAX,
                       "it was a tool of another plugin when it was first granted; the tool of "
                       "plugin '%s' from %s is not granted%s%s",
                       toolrack_tool_plugin(judging->tool), judging->tool->reg->plugin->origin,
                       tool_is_of_app(judging->tool) ? "; the app can grant it (toolrack_grant())"
                                                     : "; grant it: ",
                       tool_is_of_app(judging->tool) ? "" : COMMAND("grant", name));
        return;
    case GRANT_RAISED:
        (void)snprintf(
                ret, ERROR_MESSAGE_MAX,
                "it had another permission when it was first granted; see the change: %s; grant "
                "it as it is now: %s",
                COMMAND("why", name), COMMAND("grant", name));
        return;
    case GRANT_CHANGED:
        (void)snprintf(ret, ERROR_MESSAGE_MAX,
                       "it is not what was approved: %s; see the change: %s",
                       registration_change_words(atomic_load(&judging->tool->reg->changed), words),
                       COMMAND("why", name));
        return;
    case GRANT_IN_FORCE: return;
    }
}

/* -------------------------------------------------------------------- bound */

/* The plugins of which a tool is pinned. */
struct bound {
    struct arena arena;
    const char *version;       /* NULL: any */
    const char *identities[8]; /* more are not listed */
    size_t count;
};

static void bound_finish(struct bound *bound) {
    arena_finish(&bound->arena);
}

static void take_bound(void *user, const struct store_pin *pin) {
    struct bound *bound = user;
    bool is_known = bound->version != NULL && strcmp(bound->version, pin->version) != 0;
    for (size_t i = 0; i < bound->count; i++) {
        is_known = is_known || strcmp(bound->identities[i], pin->plugin) == 0;
    }
    if (!is_known && bound->count < ARRAY_LENGTH(bound->identities)) {
        const char *copy = arena_copy(&bound->arena, pin->plugin, strlen(pin->plugin));
        bound->identities[bound->count] = copy;
        bound->count += copy != NULL;
    }
}

static int read_bound(struct permit *permit, const struct judging *judging, struct bound *ret,
                      struct toolrack_error *err) {
    CLEANUP(freep) char *name = strndup(judging->name, judging->name_length);
    arena_init(&ret->arena, NULL, 0);
    ret->version = judging->is_grant ? NULL : judging->version;
    return name != NULL ? store_pins_read(permit->options.store, NULL, name, take_bound, ret, err)
                        : error_oom(err);
}

/* ------------------------------------------------------------ configuration */

static struct judging judging_of(const char *selector) {
    const struct selector of = selector_parse(selector);
    return (struct judging){.name = of.name,
                            .name_length = of.name_length,
                            .version = of.version,
                            .is_grant = true};
}

/* The best of its states for the plugins to which it is bound. */
static void judge_best(struct permit *permit, const struct bound *bound, struct judging *judging) {
    for (size_t i = 0; i < bound->count || i == 0; i++) {
        judging->identity = bound->count > 0 ? bound->identities[i] : NULL;
        registry_look(permit->options.registry, judge_versions, judging);
    }
}

void permit_visit_idle(struct permit *permit, permit_take_idle *take, void *user) {
    OBJECT_CHECK(permit, PERMIT_MAGIC);
    const char *granted;
    for (size_t at = 0; (granted = config_grant(permit->options.config, at)) != NULL; at++) {
        CLEANUP(bound_finish) struct bound bound = {0};
        struct judging judging = judging_of(granted);
        struct toolrack_error unheard; /* the host has reported that its store cannot be read */
        char why[ERROR_MESSAGE_MAX];
        bool is_read = read_bound(permit, &judging, &bound, &unheard) == 0;
        judge_best(permit, &bound, &judging);
        explain(permit, &judging, why);
        /* That a tool has changed is logged for the tool. */
        if (judging.state < GRANT_CHANGED && (is_read || judging.state == GRANT_ABSENT)) {
            struct toolrack_error line; /* cuts between characters, makes it one line */
            (void)error_set(&line, TOOLRACK_E_NOT_FOUND, "the configuration grants '%s', but %s",
                            granted, why);
            take(user, granted, line.message);
        }
        toolrack_tool_unref(judging.tool);
    }
}

static void log_idle(void *user, const char *granted, const char *text) {
    const struct permit *permit = user;
    (void)granted;
    log_line(permit->options.log, LOG_WARNING, "permission", "%s", text);
}

void permit_check_configured(struct permit *permit) {
    permit_visit_idle(permit, log_idle, permit);
}

/* -------------------------------------------------------------------- list */

struct listing {
    struct permit *permit;
    yyjson_mut_doc *doc;
    yyjson_mut_val *list;
    struct toolrack_error *err;
    int code;
};

/* A row of the store. */
struct given {
    const char *kind;
    const char *conversation;
    const char *caller;
    const char *who;
    int64_t since_s;
    int64_t expires_s;
};

static void add_moment(const struct listing *listing, yyjson_mut_val *row, const char *key,
                       int64_t time_s) {
    if (time_s != 0) {
        (void)yyjson_mut_obj_add_sint(listing->doc, row, key, time_s);
    } else {
        (void)yyjson_mut_obj_add_null(listing->doc, row, key);
    }
}

static void add_row(const struct listing *listing, const struct given *given,
                    const struct judging *judging) {
    yyjson_mut_doc *doc = listing->doc;
    yyjson_mut_val *row = yyjson_mut_arr_add_obj(doc, listing->list);
    const char *identity = judging->identity;
    char why[ERROR_MESSAGE_MAX];
    explain(listing->permit, judging, why);
    document_add_text(doc, row, "kind", given->kind);
    (void)yyjson_mut_obj_add_strncpy(doc, row, "tool", judging->name, judging->name_length);
    document_add_text(doc, row, "version", judging->version);
    document_add_text(doc, row, "conversation", given->conversation);
    document_add_text(doc, row, "caller", given->caller);
    document_add_text(doc, row, "who", given->who);
    add_moment(listing, row, "since_s", given->since_s);
    add_moment(listing, row, "expires_s", given->expires_s);
    document_add_identity(doc, row, identity != NULL ? identity : "");
    document_add_text(doc, row, "state", state_words[judging->state]);
    document_add_text(doc, row, "reason", why[0] != '\0' ? why : NULL);
}

/* A row for each plugin to which it is bound. */
static void add_rows(struct listing *listing, const struct given *given, const struct judging *of) {
    CLEANUP(bound_finish) struct bound bound = {0};
    if (listing->code == 0) {
        listing->code = read_bound(listing->permit, of, &bound, listing->err);
    }
    for (size_t i = 0; listing->code == 0 && (i < bound.count || i == 0); i++) {
        struct judging judging = *of;
        judging.identity = bound.count > 0 ? bound.identities[i] : NULL;
        registry_look(listing->permit->options.registry, judge_versions, &judging);
        add_row(listing, given, &judging);
        toolrack_tool_unref(judging.tool);
    }
}

static void add_grant(void *user, const struct store_grant *grant) {
    const struct judging judging = judging_of(grant->selector);
    add_rows(user,
             &(struct given){.kind = "grant",
                             .who = grant->who,
                             .since_s = grant->granted_s,
                             .expires_s = grant->expires_s},
             &judging);
}

static void add_approval(void *user, const struct store_approval *approval) {
    add_rows(user,
             &(struct given){.kind = "approval",
                             .conversation = approval->conversation,
                             .caller = approval->caller,
                             .who = approval->who,
                             .since_s = approval->approved_s},
             &(struct judging){.name = approval->tool,
                               .name_length = strlen(approval->tool),
                               .version = approval->version});
}

static void add_configured(struct listing *listing, const struct config *config) {
    const char *name;
    for (size_t at = 0; (name = config_grant(config, at)) != NULL; at++) {
        const struct judging judging = judging_of(name);
        add_rows(listing, &(struct given){.kind = "grant", .who = "configuration"}, &judging);
    }
}

int permit_grants(struct permit *permit, struct toolrack_text **ret, struct toolrack_error *err) {
    OBJECT_CHECK(permit, PERMIT_MAGIC);
    struct store *store = permit->options.store;
    struct listing listing = {.permit = permit, .err = err};
    listing.doc = document_begin_list(&listing.list);
    add_configured(&listing, permit->options.config);
    int code = listing.code;
    if (code == 0) {
        code = store_read_grants(store, clock_wall_s(), add_grant, &listing, err);
    }
    if (code == 0) {
        code = store_approvals_read(store, add_approval, &listing, err);
    }
    code = code < 0 ? code : listing.code;
    if (code < 0) {
        yyjson_mut_doc_free(listing.doc);
        return code;
    }
    return document_end(listing.doc, ret, err);
}
