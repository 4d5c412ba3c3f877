/* The tools that the configuration defines become registrations.
 *
 * Each is a plugin of its own, of the tool's name and in the host's memory, so that settings,
 * permissions, pins and calls know no difference. They are registered before any folder is scanned:
 * of two tools with one name and version the one of the configuration comes first. They are read
 * when the host is opened; a change of the file takes effect when it is opened again. */
#include "life/life.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "config/config.h"
#include "config/definition.h"
#include "config/services.h"
#include "life/foreign.h"
#include "life/parts.h"
#include "registry/registry.h"

/* Plugins under construction, a reference each. */
struct batch {
    struct plugin **items;
    size_t count;
};

static bool batch_init(struct batch *batch, size_t most) {
    *batch = (struct batch){.items = calloc(most + 1, sizeof *batch->items)};
    return batch->items != NULL;
}

static void batch_finish(struct batch *batch) {
    for (size_t i = 0; i < batch->count; i++) {
        plugin_unref(batch->items[i]);
    }
    free(batch->items);
}

/* ------------------------------------------------------------------- refused */

/* What is listed in place of the name of a definition that has none. */
#define UNNAMED "<unnamed>"

static void refuse(struct life *life, const struct problem *problem) {
    const struct buf *text = &life->options.config->text;
    const char *file = life->options.places->config_file;
    const char *tool = problem->tool != NULL ? problem->tool : UNNAMED;
    CLEANUP(buf_finish) struct buf reason = BUF_INIT;
    size_t line;
    size_t column;
    problem_line(problem, text->data, text->length, &line, &column);
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

static void refuse_all(struct life *life, const struct problems *problems) {
    for (size_t i = 0; i < problems->count; i++) {
        if (problems->items[i].severity == TOOLRACK_SEVERITY_ERROR) {
            refuse(life, &problems->items[i]);
        }
    }
}

/* ---------------------------------------------------------------- registered */

static int make_here(struct life *life, const struct definition *definition, struct plugin **ret,
                     struct toolrack_error *err) {
    CLEANUP(plugin_unrefp)
    struct plugin *plugin = plugin_create(life->options.places->config_file, TRUST_OFFICIAL, NULL,
                                          definition->desc, life->options.images);
    if (plugin == NULL) {
        return error_oom(err);
    }
    plugin->service = definition->service;
    plugin->pin = life->options.config->pin != PIN_UNSTATED ? life->options.config->pin : PIN_WARN;
    int code = plugin_adopt(plugin, definition->desc->plugin, err);
    if (code == 0) {
        *ret = STEAL(plugin);
    }
    return code;
}

static int make_plugin(struct life *life, const struct definition *definition, struct plugin **ret,
                       struct toolrack_error *err) {
    int code = definition->is_native
                       ? foreign_make(life, &definition->foreign, definition->desc, ret, err)
                       : make_here(life, definition, ret, err);
    if (code == 0) {
        (*ret)->priority_stated = definition->priority_stated;
    }
    return code;
}

/* What this one tool cannot have is no reason to go without the others. */
static int make_or_refuse(struct life *life, const struct definition *definition,
                          const char *pointer, struct problems *problems, struct batch *batch,
                          struct toolrack_error *err) {
    struct toolrack_error reason;
    int code = make_plugin(life, definition, &batch->items[batch->count], &reason);
    batch->count += code == 0;
    if (code == TOOLRACK_E_NO_MEMORY) {
        return error_oom(err);
    }
    if (code < 0) {
        problems_add(problems,
                     &(struct problem){.severity = TOOLRACK_SEVERITY_ERROR,
                                       .rule = "definition-unusable",
                                       .pointer = pointer,
                                       .tool = definition->name,
                                       .fix = "correct it as the cause says"},
                     "%s", reason.message);
    }
    return 0;
}

/* Add the plugin of one definition, unless something is wrong with it. Caller holds
 * the lock of the configuration, or nobody else knows the host yet. */
static int add(struct life *life, size_t index, yyjson_val *value, struct problems *problems,
               struct batch *batch, struct toolrack_error *err) {
    char pointer[JSON_POINTER_MAX] = "/tools";
    json_pointer_add_index(pointer, index);
    const struct definition_context context = {.validator = life->options.config->validator,
                                               .arena = &life->options.config->arena,
                                               .problems = problems,
                                               .services = life->options.services,
                                               .builtins = life->options.builtins,
                                               .builtin_count = life->options.builtin_count,
                                               .check_schema = tool_check_schema,
                                               .check_values = tool_check_values,
                                               .host = life->options.host};
    struct definition definition;
    int code = definition_read(&context, value, pointer, &definition, err);
    if (code == 0) {
        code = make_or_refuse(life, &definition, pointer, problems, batch, err);
    } else if (code == TOOLRACK_E_INVALID) {
        code = 0; /* the problems say why */
    }
    definition_finish(&definition);
    return code;
}

static int register_all(struct life *life, struct toolrack_error *err) {
    struct problems problems = {.arena = &life->options.config->arena};
    size_t at;
    size_t count;
    yyjson_val *value;
    CLEANUP(batch_finish) struct batch batch = {0};
    if (!batch_init(&batch, yyjson_arr_size(life->options.config->tools))) {
        return error_oom(err);
    }
    yyjson_arr_foreach (life->options.config->tools, at, count, value) {
        int code = add(life, at, value, &problems, &batch, err);
        if (code < 0) {
            return code;
        }
    }
    problems_end(&problems);
    refuse_all(life, &problems);
    return batch.count == 0 ? 0
                            : registry_add(life->options.registry, batch.items, batch.count, err);
}

int life_open_definitions(struct life *life, struct toolrack_error *err) {
    return life->options.config->tools == NULL || life->options.safe_mode ? 0
                                                                          : register_all(life, err);
}

/* ------------------------------------------------------------------ services */

static bool names_service(yyjson_val *value, const char *service) {
    yyjson_val *implementation = yyjson_obj_get(value, "implementation");
    yyjson_val *handler = yyjson_obj_get(implementation, "handler");
    return yyjson_equals_str(yyjson_obj_get(implementation, "type"), "internal") &&
           yyjson_equals_str(handler != NULL ? handler : yyjson_obj_get(value, "handler"), service);
}

/* Those that wait for a service. Caller holds the lock of the configuration. */
static int add_waiting(struct life *life, const char *service, struct batch *batch,
                       struct toolrack_error *err) {
    /* What is wrong with others was told when the host was opened. */
    struct problems problems = {.arena = &life->options.config->arena};
    size_t at;
    size_t count;
    yyjson_val *value;
    if (!batch_init(batch, yyjson_arr_size(life->options.config->tools))) {
        return error_oom(err);
    }
    yyjson_arr_foreach (life->options.config->tools, at, count, value) {
        int code = !life->options.safe_mode && names_service(value, service)
                           ? add(life, at, value, &problems, batch, err)
                           : 0;
        if (code < 0) {
            return code;
        }
    }
    return 0;
}

static void forgive(struct life *life, const struct batch *batch) {
    for (size_t i = 0; i < batch->count; i++) {
        registry_forgive(life->options.registry, life->options.places->config_file,
                         DEFINITION_RULE_SERVICE, batch->items[i]->desc->tools[0].tool->name);
    }
}

int life_add_service(struct life *life, const struct toolrack_service *service,
                     struct toolrack_error *err) {
    CLEANUP(batch_finish) struct batch batch = {0};
    (void)pthread_mutex_lock(life->options.config_lock);
    int code = services_add(life->options.services, service, err);
    if (code == 0) {
        code = add_waiting(life, service->name, &batch, err);
        if (code < 0) {
            services_drop(life->options.services);
        }
    }
    (void)pthread_mutex_unlock(life->options.config_lock);
    if (code == 0 && batch.count > 0) {
        forgive(life, &batch); /* the registration may refuse them for another reason */
        code = registry_add(life->options.registry, batch.items, batch.count, err);
    }
    return code;
}
