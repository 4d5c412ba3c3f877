/* abi - the header has the layout that was released, and plugins in other languages have it too.
 *
 *     abi [plugin.so | NAME=REASON ...]
 *
 * First the sizes, offsets and numbers of abi.def against the header, then each plugin's
 * descriptor, read as the host would: with the sizes that the plugin states. A plugin that could not
 * be built is skipped for its reason. Output is TAP. */
#include <toolrack/plugin.h>

#include <dlfcn.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <yyjson.h>

static unsigned count;
static unsigned failed;

__attribute__((format(printf, 2, 3))) static void check(bool ok, const char *format, ...) {
    va_list args;
    va_start(args, format);
    printf("%sok %u - ", ok ? "" : "not ", ++count);
    (void)vprintf(format, args);
    va_end(args);
    (void)putchar('\n');
    failed += !ok;
}

/* ------------------------------------------------------------ the frozen layout */

enum { IS_STRUCT, IS_FIELD, IS_CONSTANT };

struct record {
    int what;
    const char *name;
    int64_t recorded, actual;           /**< size of a struct, offset of a field, a constant */
    int64_t recorded_size, actual_size; /**< fields only */
};

#define STRUCT(name, size) {IS_STRUCT, #name, size, (int64_t)sizeof(struct name), 0, 0},
#define FIELD(type, name, offset, size)              \
    {IS_FIELD, #type "." #name,                      \
     offset,   (int64_t)offsetof(struct type, name), \
     size,     (int64_t)sizeof(((struct type *)0)->name)},
#define CONSTANT(name, value) {IS_CONSTANT, #name, value, (int64_t)(name), 0, 0},
static const struct record records[] = {
#include "abi.def"
};
#undef STRUCT
#undef FIELD
#undef CONSTANT

static void check_layout(void) {
    static const char *const words[] = {"struct", "field", "constant"};
    unsigned changed = 0;
    for (size_t i = 0; i < sizeof records / sizeof records[0]; i++) {
        const struct record *r = &records[i];
        bool same = r->recorded == r->actual && r->recorded_size == r->actual_size;
        printf("# %s %s %" PRId64 "%s\n", words[r->what], r->name, r->actual,
               same ? "" : "  CHANGED");
        if (!same) {
            changed++;
            printf("# %s: recorded %" PRId64 " (%" PRId64 " bytes), now %" PRId64 " (%" PRId64
                   " bytes): the ABI is append-only\n",
                   r->name, r->recorded, r->recorded_size, r->actual, r->actual_size);
        }
    }
    check(changed == 0, "%zu sizes, offsets and numbers are as released",
          sizeof records / sizeof records[0]);
    check(TR_MAGIC == UINT64_C(0x6b6361726c6f6f74) &&
                  memcmp(&(uint64_t){TR_MAGIC}, "toolrack", 8) == 0,
          "the magic spells toolrack");
}

/* ------------------------------------------------------------ a plugin */

static bool is_json(const char *text) {
    if (text == NULL) {
        return true;
    }
    yyjson_doc *doc = yyjson_read(text, strlen(text), YYJSON_READ_BIGNUM_AS_RAW);
    yyjson_doc_free(doc);
    return doc != NULL;
}

static bool params_are_right(const struct tr_param *params, uint32_t params_count,
                             uint32_t params_size, int depth);

static bool type_is_right(const struct tr_type *type, int depth) {
    if (type == NULL) {
        return true;
    }
    if (depth > 16 || type->size < sizeof *type || type->kind > TR_KIND_CALL) {
        return false;
    }
    switch (type->kind) {
    case TR_KIND_ARRAY: return type->item != NULL && type_is_right(type->item, depth + 1);
    case TR_KIND_STRUCT:
        return type->width > 0 &&
               params_are_right(type->fields, type->field_count, type->field_size, depth + 1);
    case TR_KIND_ENUM:
        return type->width > 0 && type->choice_count > 0 &&
               type->choice_size >= sizeof(struct tr_choice) && type->choices[0].name != NULL;
    default: return true;
    }
}

static bool param_is_right(const struct tr_param *param, int depth) {
    const char *const texts[] = {param->default_json,           param->choices_json,
                                 param->minimum_json,           param->maximum_json,
                                 param->exclusive_minimum_json, param->exclusive_maximum_json,
                                 param->multiple_of_json};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (!is_json(texts[i])) {
            printf("# %s: not JSON: %s\n", param->name, texts[i]);
            return false;
        }
    }
    return param->name != NULL && param->type != NULL && type_is_right(param->type, depth);
}

static bool params_are_right(const struct tr_param *params, uint32_t params_count,
                             uint32_t params_size, int depth) {
    if (params_count > 0 && (params == NULL || params_size < sizeof *params)) {
        return false;
    }
    for (uint32_t i = 0; i < params_count; i++) {
        const char *at = (const char *)params + (size_t)i * params_size;
        if (!param_is_right((const struct tr_param *)(const void *)at, depth)) {
            return false;
        }
    }
    return true;
}

/* What a plugin of a minor version states as the size of its tools. */
static uint32_t tool_size(unsigned minor) {
    return minor == 0   ? offsetof(struct tr_tool, examples)
           : minor == 1 ? offsetof(struct tr_tool, deprecated)
           : minor < 4  ? offsetof(struct tr_tool, icons)
                        : sizeof(struct tr_tool);
}

static bool examples_are_right(const struct tr_tool *tool) {
    if (tool->example_count > 0 &&
        (tool->examples == NULL || tool->example_size < sizeof(struct tr_example))) {
        return false;
    }
    for (uint32_t i = 0; i < tool->example_count; i++) {
        const char *at = (const char *)tool->examples + (size_t)i * tool->example_size;
        const struct tr_example *example = (const struct tr_example *)(const void *)at;
        if (example->arguments == NULL || !is_json(example->arguments) ||
            !is_json(example->result)) {
            return false;
        }
    }
    return true;
}

static void check_tool(const struct tr_tool *tool, unsigned minor) {
    check(tool->size == tool_size(minor) && tool->name != NULL && tool->description != NULL,
          "%s: size, name and description", tool->name == NULL ? "?" : tool->name);
    check((tool->function != NULL) != (tool->run != NULL), "%s: one entry", tool->name);
    check(params_are_right(tool->params, tool->param_count, tool->param_size, 0) &&
                  type_is_right(tool->result, 0),
          "%s: parameters and result", tool->name);
    check(is_json(tool->schema) && is_json(tool->result_schema) &&
                  (tool->run == NULL || tool->schema != NULL),
          "%s: schemas", tool->name);
    check(minor == 0 || examples_are_right(tool), "%s: examples", tool->name);
}

static void check_plugin(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    check(library != NULL, "%s loads", path);
    if (library == NULL) {
        printf("# %s\n", dlerror());
        return;
    }
    const struct tr_plugin *plugin = dlsym(library, "toolrack_plugin");
    check(plugin != NULL, "it exports toolrack_plugin");
    if (plugin != NULL) {
        check(plugin->magic == TR_MAGIC && plugin->size == sizeof *plugin, "magic and size");
        check(plugin->abi_major == TR_ABI_MAJOR && plugin->host_minor_min <= TR_ABI_MINOR,
              "ABI version");
        check(plugin->id != NULL && plugin->version != NULL, "id and version");
        check(plugin->tool_count > 0 && plugin->tool_size == tool_size(plugin->abi_minor),
              "%u tools of a known size", plugin->tool_count);
        check(plugin->capability_count == 0 ||
                      plugin->capability_size == sizeof(struct tr_capability),
              "capabilities");
        for (uint32_t i = 0; i < plugin->tool_count; i++) {
            check_tool(plugin->tools[i], plugin->abi_minor);
        }
    }
    /* It stays open: leaks are looked for at the end, and what its data hold must be seen then. */
}

int main(int argc, char **argv) {
    check_layout();
    for (int i = 1; i < argc; i++) {
        const char *reason = strchr(argv[i], '=');
        if (reason != NULL && argv[i][0] != '/') {
            printf("ok %u - %.*s # SKIP %s\n", ++count, (int)(reason - argv[i]), argv[i],
                   reason + 1);
        } else {
            check_plugin(argv[i]);
        }
    }
    printf("1..%u\n", count);
    return failed == 0 ? 0 : 1;
}
