#include "cache-walk.h"

#include <stdlib.h>
#include <string.h>

/* Lengths are summed up so that no compiler leaves reading them out. */
static size_t walk_text(const char *text) {
    return text == NULL ? 0 : 1 + strlen(text);
}

static size_t walk_needed_text(const char *text) {
    if (text == NULL) {
        abort();
    }
    return walk_text(text);
}

static size_t walk_type(const struct tr_type *type, unsigned depth);

static size_t walk_param(const struct tr_param *param, unsigned depth) {
    const char *const texts[] = {
            param->description,
            param->default_json,
            param->choices_json,
            param->minimum_json,
            param->maximum_json,
            param->exclusive_minimum_json,
            param->exclusive_maximum_json,
            param->multiple_of_json,
            param->pattern,
            param->format,
    };
    size_t count = walk_needed_text(param->name);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        count += walk_text(texts[i]);
    }
    return count + walk_type(param->type, depth);
}

static size_t walk_type(const struct tr_type *type, unsigned depth) {
    if (type->kind > TR_KIND_CALL || depth > DESCRIPTOR_TYPE_DEPTH_MAX) {
        abort();
    }
    size_t count = 1;
    if (type->kind == TR_KIND_ARRAY || type->item != NULL) {
        count += walk_type(type->item, depth + 1);
    }
    for (uint32_t i = 0; i < type->field_count; i++) {
        count += walk_param(&type->fields[i], depth + 1);
    }
    for (uint32_t i = 0; i < type->choice_count; i++) {
        count += walk_needed_text(type->choices[i].name);
    }
    return count;
}

static size_t walk_tool(const struct descriptor_tool *tool) {
    const struct tr_tool *said = tool->tool;
    if (said->function != NULL || said->run != NULL) {
        abort();
    }
    size_t count = walk_needed_text(tool->version) + walk_needed_text(tool->schema) +
                   walk_text(tool->result_schema) + tool->typed;
    count += walk_needed_text(said->name) + walk_text(said->description) +
             walk_text(said->version) + walk_text(said->title) + walk_text(said->category) +
             walk_text(said->tags) + walk_text(said->result_description) + walk_text(said->schema) +
             walk_text(said->result_schema);
    for (uint32_t i = 0; i < said->param_count; i++) {
        count += walk_param(&said->params[i], 1);
    }
    for (uint32_t i = 0; i < said->example_count; i++) {
        count +=
                walk_needed_text(said->examples[i].arguments) + walk_text(said->examples[i].result);
    }
    return said->result == NULL ? count : count + walk_type(said->result, 1);
}

static size_t walk_plugin(const struct tr_plugin *plugin) {
    if (plugin->open != NULL || plugin->close != NULL || plugin->get_extension != NULL ||
        plugin->tools != NULL) {
        abort();
    }
    size_t count = walk_needed_text(plugin->id) + walk_needed_text(plugin->version) +
                   walk_text(plugin->description) + walk_text(plugin->vendor) +
                   walk_text(plugin->license) + walk_text(plugin->homepage);
    for (uint32_t i = 0; i < plugin->capability_count; i++) {
        count += walk_needed_text(plugin->capabilities[i].value);
    }
    return count;
}

static size_t walk_descriptor(const struct descriptor *desc) {
    if (desc->needed_count != 0 || desc->needed != NULL || desc->release == NULL ||
        (desc->plugin == NULL && desc->tool_count > 0)) {
        abort();
    }
    size_t count = desc->plugin == NULL ? 0 : walk_plugin(desc->plugin);
    count += walk_text(desc->resident_reason) + desc->has_thread_locals;
    for (uint32_t i = 0; i < desc->tool_count; i++) {
        count += walk_tool(&desc->tools[i]);
    }
    for (uint32_t i = 0; i < desc->finding_count; i++) {
        const struct finding *finding = &desc->findings[i];
        count += walk_needed_text(finding->rule) + walk_text(finding->tool) +
                 walk_needed_text(finding->cause) + walk_needed_text(finding->fix);
        if (finding->severity < FINDING_NOTE || finding->severity > FINDING_ERROR) {
            abort();
        }
    }
    return count;
}

size_t cache_walk(const struct cache_index *index) {
    size_t count = 0;
    for (uint64_t i = 0; i < index->folder_count; i++) {
        const struct cache_folder *folder = &index->folders[i];
        count += walk_needed_text(folder->path);
        for (uint64_t j = 0; j < folder->file_count; j++) {
            count += walk_needed_text(folder->files[j].name);
            if (folder->files[j].descriptor != NULL) {
                count += walk_descriptor(folder->files[j].descriptor);
            }
        }
    }
    return count;
}
