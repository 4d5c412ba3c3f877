/* The tools that the configuration defines become registrations.
 *
 * Each is a plugin of its own, with the tool's name and in the host's memory, so that settings,
 * permissions, pins and calls treat it like any plugin. They are registered before any folder is
 * scanned: of two tools with the same name and version the one of the configuration comes first.
 * They are read when the host is opened; a change of the file takes effect when it is opened again.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "config/config.h"
#include "config/definition.h"
#include "life/foreign.h"
#include "life/life.h"
#include "life/parts.h"
#include "registry/registry.h"

/* Plugins under construction; each item is a reference. */
struct batch {
    struct life *life;
    struct plugin **items;
    size_t count;
};

static bool batch_init(struct batch *batch, struct life *life) {
    *batch = (struct batch){.life = life,
                            .items = calloc(config_definition_count(life->options.config) + 1,
                                            sizeof *batch->items)};
    return batch->items != NULL;
}

static void batch_finish(struct batch *batch) {
    for (size_t i = 0; i < batch->count; i++) {
        plugin_unref(batch->items[i]);
    }
    free(batch->items);
}

/* ------------------------------------------------------------------- refused */

/* Listed in place of the name of a definition without a name. */
#define UNNAMED "<unnamed>"

/* Warnings about what a tool does with its definition; advice on style is for `toolrack check`. */
static bool tells_what_is_done(const struct problem *problem) {
    return problem->severity == TOOLRACK_SEVERITY_WARNING &&
           (strncmp(problem->rule, "definition-", strlen("definition-")) == 0 ||
            strcmp(problem->rule, "schema-default") == 0);
}

static void take_problem(void *user, const struct problem *problem, size_t line) {
    struct batch *batch = user;
    struct life *life = batch->life;
    const char *file = life->options.places->config_file;
    const char *tool = problem->tool != NULL ? problem->tool : UNNAMED;
    CLEANUP(buf_finish) struct buf reason = BUF_INIT;
    if (tells_what_is_done(problem)) {
        log_line(life->options.log, LOG_WARNING, "config", "%s, line %zu: tool '%s': %s; %s", file,
                 line, tool, problem->cause, problem->fix);
    }
    if (problem->severity != TOOLRACK_SEVERITY_ERROR) {
        return;
    }
    log_line(life->options.log, LOG_ERROR, "config", "%s, line %zu: tool '%s' is left out: %s; %s",
             file, line, tool, problem->cause, problem->fix);
    if (problem->tool == NULL) {
        buf_printf(&reason, "%s: ", problem->pointer); /* there may be several */
    }
    buf_add_text(&reason, problem->cause);
    registry_refuse(life->options.registry,
                    &(struct toolrack_refusal){.file = file,
                                               .plugin = problem->tool,
                                               .tool = tool,
                                               .rule = problem->rule,
                                               .reason = reason.failed ? "" : reason.data,
                                               .fix = problem->fix});
}

/* ---------------------------------------------------------------- registered */

static int make_here(struct life *life, const struct definition *definition, struct plugin **ret,
                     struct toolrack_error *err) {
    CLEANUP(plugin_unrefp)
    struct plugin *plugin =
            plugin_create(life->options.places->config_file, TRUST_OFFICIAL, ORIGIN_CONFIGURATION,
                          NULL, definition->desc, life->options.images);
    if (plugin == NULL) {
        return error_oom(err);
    }
    plugin->service = definition->service;
    plugin->pin = config_settings(life->options.config)->pin != PIN_UNSTATED
                          ? config_settings(life->options.config)->pin
                          : PIN_WARN;
    int code = plugin_adopt(plugin, definition->desc->plugin, err);
    if (code == 0) {
        *ret = STEAL(plugin);
    }
    return code;
}

/* By the definition; else by the policy of its name; else for all plugins. */
static bool measures_all(const struct life *life, const struct definition *definition) {
    struct config_policy policy;
    config_policy(life->options.config, definition->desc->plugin->id, &policy);
    return (definition->measure != MEASURE_UNSTATED ? definition->measure : policy.measure) ==
           MEASURE_ALL;
}

static int make_plugin(void *user, const struct definition *definition,
                       struct toolrack_error *err) {
    struct batch *batch = user;
    struct plugin *plugin = NULL;
    int code = definition->is_native ? foreign_make(batch->life, &definition->foreign,
                                                    definition->desc, &plugin, err)
                                     : make_here(batch->life, definition, &plugin, err);
    if (code == 0) {
        plugin->priority_stated = definition->priority_stated;
        plugin->measures_all = measures_all(batch->life, definition);
        batch->items[batch->count++] = plugin;
    }
    return code;
}

int life_open_definitions(struct life *life, struct toolrack_error *err) {
    CLEANUP(batch_finish) struct batch batch = {0};
    if (life->options.safe_mode) {
        return 0;
    }
    if (!batch_init(&batch, life)) {
        return error_oom(err);
    }
    const struct config_taker taker = {.user = &batch, .take = make_plugin, .tell = take_problem};
    int code = config_define(life->options.config, NULL, &taker, err);
    return code < 0 || batch.count == 0
                   ? code
                   : registry_add(life->options.registry, batch.items, batch.count, err);
}

/* Register the tools whose definitions wait for the service. Problems of other definitions were
 * reported when the host was opened. */
int life_add_service(struct life *life, const struct toolrack_service *service,
                     struct toolrack_error *err) {
    CLEANUP(batch_finish) struct batch batch = {0};
    int code = config_add_service(life->options.config, service, err);
    if (code < 0 || life->options.safe_mode) {
        return code;
    }
    const struct config_taker taker = {.user = &batch, .take = make_plugin};
    code = batch_init(&batch, life)
                   ? config_define(life->options.config, service->name, &taker, err)
                   : error_oom(err);
    if (code < 0) {
        config_drop_service(life->options.config);
        return code;
    }
    for (size_t i = 0; i < batch.count; i++) { /* they may be refused for another reason now */
        registry_forgive(life->options.registry, life->options.places->config_file,
                         DEFINITION_RULE_SERVICE, batch.items[i]->desc->tools[0].tool->name);
    }
    return batch.count == 0 ? 0
                            : registry_add(life->options.registry, batch.items, batch.count, err);
}
