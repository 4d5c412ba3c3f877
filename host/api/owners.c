/* Which plugin has a tool's name, of several that provide it: what the registry asks, and the
 * administrator's choice. */
#include "api/owners.h"

#include <string.h>

#include "api/defaults.h"
#include "api/host.h"
#include "base/error.h"
#include "base/semver.h"
#include "registry/succession.h"
#include "store/defaults.h"
#include "store/identities.h"

/* ------------------------------------------------------------------ claims */

struct reading {
    const char *tool;
    struct owner_claim *claims;
    size_t count;
};

static void take_name(void *user, const struct store_name *name) {
    const struct reading *reading = user;
    for (size_t i = 0; i < reading->count; i++) {
        if (strcmp(reading->claims[i].identity, name->identity) == 0) {
            reading->claims[i].order = name->order;
        }
    }
}

static void take_choice(void *user, const struct store_default *chosen) {
    const struct reading *reading = user;
    for (size_t i = 0; i < reading->count && strcmp(chosen->tool, reading->tool) == 0; i++) {
        reading->claims[i].chosen = strcmp(reading->claims[i].identity, chosen->identity) == 0;
    }
}

/* If the store cannot be read, trust and arrival decide; the host has reported that. */
void owners_claims(void *user, const char *tool, struct owner_claim *claims, size_t count) {
    const struct toolrack *host = user;
    struct reading reading = {.tool = tool, .claims = claims, .count = count};
    struct toolrack_error unheard;
    if (!atomic_load(&host->settings_unread)) {
        (void)store_names_read(host->store, tool, take_name, &reading, &unheard);
        (void)store_choices_read(host->store, take_choice, &reading, &unheard);
    }
}

void owners_shadowed(void *user, const struct toolrack_tool *owner,
                     const struct toolrack_tool *other, const char *why) {
    const struct toolrack *host = user;
    CLEANUP(buf_finish) struct buf subject = BUF_INIT;
    struct toolrack_error unheard;
    bool is_new = true;
    (void)owner;
    buf_printf(&subject, "%s@%s %s", toolrack_tool_name(other), toolrack_tool_version(other),
               other->reg->plugin->identity_text);
    if (!subject.failed && host->places.state_dir != NULL) {
        (void)store_tell_once(host->store, subject.data, why, &is_new, &unheard);
    }
    if (is_new) {
        permit_note(host->permit, &(struct store_decision){.tool = toolrack_tool_name(other),
                                                           .version = toolrack_tool_version(other),
                                                           .plugin = toolrack_tool_plugin(other),
                                                           .origin = other->reg->plugin->origin,
                                                           .decision = "shadowed",
                                                           .who = "registry",
                                                           .why = why});
    }
}

/* -------------------------------------------------------------- succession */

static bool note_once(const struct toolrack *host, const struct registration *reg,
                      const char *why) {
    CLEANUP(buf_finish) struct buf subject = BUF_INIT;
    struct toolrack_error unheard;
    bool is_new = true;
    buf_printf(&subject, "compatibility of %s@%s %s", reg->spec->tool->name, reg->spec->version,
               reg->plugin->identity_text);
    if (!subject.failed && host->places.state_dir != NULL) {
        (void)store_tell_once(host->store, subject.data, why, &is_new, &unheard);
    }
    if (is_new) {
        permit_note(host->permit, &(struct store_decision){.tool = reg->spec->tool->name,
                                                           .version = reg->spec->version,
                                                           .plugin = reg->plugin->desc->plugin->id,
                                                           .origin = reg->plugin->origin,
                                                           .decision = "incompatible",
                                                           .who = "registry",
                                                           .why = why});
    }
    return is_new;
}

bool owners_incompatible(void *user, const struct registration *reg) {
    const struct succession *succession = reg->succession;
    const struct compatibility *differences = &succession->differences;
    CLEANUP(buf_finish) struct buf why = BUF_INIT;
    buf_printf(&why, "not compatible with %s, although its version promises it", succession->older);
    for (size_t i = 0; i < differences->count; i++) {
        const struct compatibility_difference *one = &differences->items[i];
        buf_printf(&why, "; %s: %s", one->field[0] != '\0' ? one->field : "/", one->text);
    }
    return why.failed || note_once(user, reg, why.data);
}

/* ------------------------------------------------------------------ choose */

struct search {
    const char *plugin;
    struct selector of;
    char *identity; /* on the heap; NULL: no such tool is registered */
    char *version;  /* as the tool writes it */
};

static void search_in(void *user, const struct snapshot *snapshot) {
    struct search *search = user;
    const struct name_group *group =
            snapshot_find(snapshot, search->of.name, search->of.name_length);
    for (uint32_t i = 0; group != NULL && search->identity == NULL && i < group->count; i++) {
        const struct toolrack_tool *tool = group->tools[i];
        if (setting_is_about(&search->of, tool) && !tool->kept &&
            strcmp(toolrack_tool_plugin(tool), search->plugin) == 0) {
            search->identity = strdup(tool->reg->plugin->identity_text);
        }
    }
}

int toolrack_set_default_plugin(struct toolrack *host, const char *name, const char *version,
                                const char *plugin, const char *who, struct toolrack_error *err) {
    HOST_SCOPE(host);
    CLEANUP(buf_finish) struct buf selector = BUF_INIT;
    buf_printf(&selector, "%s@%s", name, version);
    if (selector.failed) {
        return error_oom(err);
    }
    if (strchr(name, '@') != NULL || !semver_valid(version)) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "'%s' does not name one version of a tool; give its name, its version and "
                         "its plugin",
                         selector.data);
    }
    struct search search = {.plugin = plugin, .of = selector_parse(selector.data)};
    registry_look(host->registry, search_in, &search);
    CLEANUP(freep) char *identity = search.identity;
    if (identity == NULL) {
        int code = life_find_provider(host->life, name, version, plugin, &identity, err);
        if (code < 0) {
            return code;
        }
    }
    int code = defaults_set(host, name, version, identity, who, NULL, err);
    if (code == 0) {
        life_settle_name(host->life, name);
    }
    return code;
}
