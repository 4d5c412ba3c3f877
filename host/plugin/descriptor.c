/* A descriptor: the plugin's own record, its tools, and the findings.
 *
 *  (1) A descriptor with `plugin` NULL has no tools and at least one finding of severity error;
 *      with `plugin` set, none of its errors is about the file.
 *  (2) All of it is in one arena, which is freed with the last reference.
 *  (3) After descriptor_read() or descriptor_copy() has returned, only the reference count changes.
 */
#include "plugin/descriptor.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/log-sources.h"
#include "base/name.h"
#include "base/semver.h"
#include "base/utf8.h"
#include "plugin/capability.h"
#include "plugin/elf-dynamic.h"
#include "plugin/reader.h"
#include "plugin/run-path.h"

#define PLUGIN_SYMBOL "toolrack_plugin"

/* First memory of a descriptor's arena: enough for a plugin with one tool. */
#define DESCRIPTOR_ROOM 1024u

struct descriptor_memory {
    struct descriptor desc; /* must be first: a pointer to it is cast to this struct */
    struct arena arena;
    struct findings findings;
    _Alignas(max_align_t) char room[DESCRIPTOR_ROOM];
};

#define PLUGIN_FLAGS_KNOWN \
    (TR_THREAD_SAFE | TR_STARTS_THREADS | TR_PLUGIN_RESOURCES | TR_PLUGIN_PROMPTS | TR_NEEDS_WORKER)

#define W(field) RECORD_WORD(struct tr_plugin, field)
static const struct record_shape plugin_shape = {
        .what = "descriptor",
        .size_min = RECORD_SIZE_MIN(struct tr_plugin, get_extension),
        .size = sizeof(struct tr_plugin),
        .pointers = W(id) | W(version) | W(description) | W(vendor) | W(license) | W(homepage) |
                    W(capabilities) | W(tools) | W(open) | W(close) | W(get_extension)};
#undef W
static const struct record_shape head_shape = {.what = "descriptor", .size = 16};
static const struct record_shape capability_shape = {
        .what = "capability",
        .size_min = RECORD_SIZE_MIN(struct tr_capability, value),
        .size = sizeof(struct tr_capability),
        .pointers = RECORD_WORD(struct tr_capability, value)};
static const struct record_shape slot_shape = {
        .what = "table of tools", .size = sizeof(void *), .pointers = 1};

/* Those that must be there are first. */
enum plugin_text { TEXT_ID, TEXT_VERSION, TEXT_LICENSE };
static const struct text_field plugin_texts[] = {
        TEXT_FIELD(struct tr_plugin, id, TEXT_LINE),
        TEXT_FIELD(struct tr_plugin, version, TEXT_LINE),
        TEXT_FIELD(struct tr_plugin, license, TEXT_LINE),
        TEXT_FIELD(struct tr_plugin, description, TEXT_FREE),
        TEXT_FIELD(struct tr_plugin, vendor, TEXT_LINE),
        TEXT_FIELD(struct tr_plugin, homepage, TEXT_LINE),
};
static const struct text_field capability_text = TEXT_FIELD(struct tr_capability, value, TEXT_LINE);

/* ---------------------------------------------------------------- memory */

static void release(struct descriptor *desc) {
    struct descriptor_memory *memory = (struct descriptor_memory *)desc;
    arena_finish(&memory->arena);
    free(memory);
}

static struct descriptor_memory *memory_create(void) {
    struct descriptor_memory *memory = malloc(sizeof *memory);
    if (memory == NULL) {
        return NULL;
    }
    memory->desc = (struct descriptor){.release = release};
    atomic_init(&memory->desc.refs, 1);
    arena_init(&memory->arena, memory->room, sizeof memory->room);
    memory->arena.size_max = DESCRIPTOR_MEMORY_MAX;
    findings_init(&memory->findings, &memory->arena);
    return memory;
}

struct descriptor *descriptor_ref(struct descriptor *desc) {
    (void)atomic_fetch_add_explicit(&desc->refs, 1, memory_order_relaxed);
    return desc;
}

void descriptor_unref(struct descriptor *desc) {
    if (desc != NULL && atomic_fetch_sub_explicit(&desc->refs, 1, memory_order_acq_rel) == 1) {
        desc->release(desc);
    }
}

/* ---------------------------------------------------- the plugin's record */

/* First read the head, which states how to read the rest. */
static bool read_plugin_record(struct reader *reader, const struct elf_symbol *symbol,
                               struct tr_plugin *to, struct record *ret) {
    struct tr_plugin head = {0};
    if (!reader_record(reader, &head_shape, symbol->address, head_shape.size, FINDING_ELF_SYMBOL,
                       &head, ret)) {
        return false;
    }
    if (head.magic != TR_MAGIC) {
        reader_report(reader, FINDING_ABI_MAGIC,
                      PLUGIN_SYMBOL " begins with 0x%016llx, not with the magic number 0x%016llx",
                      (unsigned long long)head.magic, (unsigned long long)TR_MAGIC);
        return false;
    }
    if (head.abi_major != TR_ABI_MAJOR) {
        reader_report(reader, FINDING_ABI_MAJOR,
                      "the plugin is built for version %u.%u of the interface, this host has %d.%d",
                      head.abi_major, head.abi_minor, TR_ABI_MAJOR, TR_ABI_MINOR);
        return false;
    }
    if (!record_size_valid(&plugin_shape, head.size)) {
        reader_report(reader, FINDING_ABI_SIZE,
                      "the descriptor states a size of %u bytes, not a multiple of 8 from %u to %u",
                      head.size, plugin_shape.size_min, DESCRIPTOR_RECORD_SIZE_MAX);
        return false;
    }
    if (symbol->size != 0 && symbol->size < head.size) {
        reader_report(reader, FINDING_ABI_SIZE,
                      "the descriptor states %u bytes, but the symbol " PLUGIN_SYMBOL " has %llu",
                      head.size, (unsigned long long)symbol->size);
        return false;
    }
    return reader_record(reader, &plugin_shape, symbol->address, head.size, FINDING_ELF_SYMBOL, to,
                         ret);
}

static void check_capability(struct reader *reader, const struct tr_capability *capability) {
    struct capability_fault fault;
    struct capability_network network;
    const char *kind = capability_kind_name(capability->kind);
    const char *odd = capability_find_odd(capability->kind, capability->value);
    if (!capability_check(capability->kind, capability->value, &fault)) {
        reader_report(reader,
                      fault.is_harmless ? FINDING_CAPABILITY_VALUE : FINDING_PLUGIN_CAPABILITY,
                      "%s:%.*s cannot be granted: %s; %s", kind, FINDING_SHOWN_MAX,
                      capability->value, fault.cause, fault.fix);
    } else if (capability->kind == TR_CAP_NETWORK &&
               capability_read_network(capability->value, &network, &fault) && network.names_host) {
        reader_report(reader, FINDING_CAPABILITY_HOST,
                      "network:%.*s names a host, which the kernel's rules do not know",
                      FINDING_SHOWN_MAX, capability->value);
    } else if (odd != NULL) {
        reader_report(
                reader, FINDING_CAPABILITY_CHARACTERS,
                "%s:%.*s has the character U+%04X at byte %zu, which shells and patterns read "
                "in their own way",
                kind, FINDING_SHOWN_MAX, capability->value, (unsigned char)*odd,
                (size_t)(odd - capability->value));
    }
}

static bool is_reserved_id(const char *id) {
#define RESERVED(source) source,
    static const char *const sources[] = {LOG_SOURCES(RESERVED)};
#undef RESERVED
    bool found = false;
    for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
        found = found || strcmp(id, sources[i]) == 0;
    }
    return found;
}

static void read_capabilities(struct reader *reader, const struct record *record,
                              struct tr_plugin *plugin) {
    uint64_t address;
    if (!reader_address(reader, record, offsetof(struct tr_plugin, capabilities), "capabilities",
                        &address)) {
        return;
    }
    if (plugin->capability_count == 0) {
        if (address != 0) {
            reader_report(reader, FINDING_COUNT_ZERO,
                          "the plugin's capabilities are not read: .capability_count is 0");
        }
        return;
    }
    uint32_t count = plugin->capability_count;
    uint32_t stride = plugin->capability_size;
    if (address == 0 || count > DESCRIPTOR_CAPABILITIES_MAX ||
        !record_size_valid(&capability_shape, stride)) {
        reader_report(
                reader, FINDING_PLUGIN_TABLE,
                "the plugin has %u capabilities, each of %u bytes: not 1 to %u of at least %u",
                address == 0 ? 0 : count, stride, DESCRIPTOR_CAPABILITIES_MAX,
                capability_shape.size_min);
        return;
    }
    struct tr_capability *list = reader_alloc(reader, count * sizeof *list);
    for (uint32_t i = 0; list != NULL && i < count && reader->failure == 0; i++) {
        struct tr_capability *one = &list[i];
        struct record part;
        if (!reader_record(reader, &capability_shape, address + (uint64_t)i * stride, stride,
                           FINDING_PLUGIN_CAPABILITY, one, &part) ||
            reader_texts(reader, &part, &capability_text, 1) > 0) {
            continue;
        }
        if (one->kind < TR_CAP_READ || one->kind > TR_CAP_ENV) {
            reader_report(reader, FINDING_PLUGIN_CAPABILITY,
                          "a capability is of kind %u, which this host does not know", one->kind);
        } else if (one->value == NULL || one->value[0] == '\0') {
            reader_report(reader, FINDING_PLUGIN_CAPABILITY, "a capability of kind %u has no value",
                          one->kind);
        } else {
            check_capability(reader, one);
        }
    }
    plugin->capabilities = list;
    plugin->capability_size = sizeof *list;
}

/* ------------------------------------------------------------- the tools */

/* Whether the tool, whose name has the last of `hashes`, is in `tools` already. */
static bool is_duplicate(struct reader *reader, const struct descriptor_tool *tools,
                         const uint32_t *hashes, uint32_t count,
                         const struct descriptor_tool *tool) {
    for (uint32_t i = 0; i < count; i++) {
        if (hashes[i] == hashes[count] && strcmp(tools[i].tool->name, tool->tool->name) == 0 &&
            semver_compare(tools[i].version, tool->version) == 0) {
            reader_report(reader, FINDING_TOOL_DUPLICATE,
                          "the plugin already has %s %s, at place %u of its table",
                          tool->tool->name, tool->version, tools[i].index + 1);
            return true;
        }
    }
    return false;
}

/* The tool at one place of the table; an invalid tool is left out, an invalid table ends the
 * reading. */
static bool read_slot(struct reader *reader, uint64_t slot, uint32_t index,
                      const struct tr_plugin *plugin, struct descriptor_tool *ret) {
    uint64_t word;
    uint64_t address;
    struct record record;
    if (!reader_record(reader, &slot_shape, slot, slot_shape.size, FINDING_PLUGIN_TABLE, &word,
                       &record) ||
        !reader_address(reader, &record, 0, "an entry", &address)) {
        reader->failure = reader->failure != 0 ? reader->failure : TOOLRACK_E_REFUSED;
        return false;
    }
    if (address == 0) {
        reader_report(reader, FINDING_PLUGIN_TABLE, "place %u of %u in the table of tools is NULL",
                      index + 1, plugin->tool_count);
        reader->failure = TOOLRACK_E_REFUSED;
        return false;
    }
    reader->tool_place = index + 1;
    reader->steps += DESCRIPTOR_TOOL_STEPS_MAX;
    return tool_read(reader, address, plugin->version, ret);
}

static uint32_t read_tools(struct reader *reader, uint64_t table, const struct tr_plugin *plugin,
                           struct descriptor_tool *tools) {
    uint32_t hashes[DESCRIPTOR_TOOLS_MAX]; /* of the names, in the order of `tools` */
    uint32_t count = 0;
    for (uint32_t i = 0; i < plugin->tool_count && reader->failure == 0; i++) {
        struct descriptor_tool *tool = &tools[count];
        if (read_slot(reader, table + i * sizeof(uint64_t), i, plugin, tool)) {
            hashes[count] = name_hash(tool->tool->name, strlen(tool->tool->name));
            tool->index = i;
            count += !is_duplicate(reader, tools, hashes, count, tool);
        }
        reader->tool = NULL;
        reader->tool_place = 0;
    }
    return count;
}

/* ------------------------------------------------------------ the whole */

static void read_plugin(struct reader *reader, const struct elf_symbol *symbol,
                        struct descriptor *desc) {
    struct tr_plugin *plugin = reader_alloc(reader, sizeof *plugin);
    struct record record;
    if (plugin == NULL || !read_plugin_record(reader, symbol, plugin, &record)) {
        return;
    }
    uint64_t table = 0;
    unsigned bad = reader_texts(reader, &record, plugin_texts,
                                sizeof plugin_texts / sizeof plugin_texts[0]);
    if ((bad & 1u << TEXT_ID) != 0) {
        /* it has a finding */
    } else if (plugin->id == NULL || !name_valid_id(plugin->id)) {
        reader_report(reader, FINDING_PLUGIN_ID, "\"%.*s\" cannot be the id of a plugin",
                      FINDING_SHOWN_MAX, plugin->id == NULL ? "" : plugin->id);
    } else if (is_reserved_id(plugin->id) &&
               (reader->options == NULL || !reader->options->is_of_configuration)) {
        reader_report(reader, FINDING_PLUGIN_ID_RESERVED,
                      "\"%s\" is the name of a part of the host", plugin->id);
    }
    if ((bad & 1u << TEXT_VERSION) == 0 &&
        (plugin->version == NULL || !semver_valid(plugin->version))) {
        reader_report(reader, FINDING_PLUGIN_VERSION,
                      "version \"%.*s\" of the plugin is not a Semantic Version", FINDING_SHOWN_MAX,
                      plugin->version == NULL ? "" : plugin->version);
    }
    if ((bad & 1u << TEXT_LICENSE) == 0 &&
        (plugin->license == NULL || plugin->license[0] == '\0')) {
        reader_report(reader, FINDING_PLUGIN_LICENSE, "the plugin does not state its licence");
    }
    if (plugin->host_minor_min > TR_ABI_MINOR) {
        reader_report(reader, FINDING_ABI_MINOR,
                      "the plugin needs a host of version %d.%u or later, this is %d.%d",
                      TR_ABI_MAJOR, plugin->host_minor_min, TR_ABI_MAJOR, TR_ABI_MINOR);
    }
    if ((plugin->flags & ~(uint32_t)PLUGIN_FLAGS_KNOWN) != 0) {
        reader_report(reader, FINDING_PLUGIN_FLAGS,
                      "this host does not know the plugin's flags 0x%x",
                      plugin->flags & ~(uint32_t)PLUGIN_FLAGS_KNOWN);
    }
    bool set;
    (void)reader_function(reader, &record, offsetof(struct tr_plugin, open), "open",
                          FINDING_PLUGIN_FUNCTION, &set);
    (void)reader_function(reader, &record, offsetof(struct tr_plugin, close), "close",
                          FINDING_PLUGIN_FUNCTION, &set);
    (void)reader_function(reader, &record, offsetof(struct tr_plugin, get_extension),
                          "get_extension", FINDING_PLUGIN_FUNCTION, &set);
    read_capabilities(reader, &record, plugin);
    (void)reader_address(reader, &record, offsetof(struct tr_plugin, tools), "tools", &table);
    if (plugin->tool_count == 0) {
        reader_report(reader, FINDING_PLUGIN_EMPTY, "the plugin has no tools");
    } else if (table == 0 || plugin->tool_count > DESCRIPTOR_TOOLS_MAX ||
               plugin->tool_size < RECORD_SIZE_MIN(struct tr_tool, run) ||
               plugin->tool_size > DESCRIPTOR_RECORD_SIZE_MAX) {
        reader_report(reader, FINDING_PLUGIN_TABLE,
                      "the plugin has %u tools, each of %u bytes: not 1 to %u of at least %zu",
                      table == 0 ? 0 : plugin->tool_count, plugin->tool_size, DESCRIPTOR_TOOLS_MAX,
                      RECORD_SIZE_MIN(struct tr_tool, run));
        return;
    }
    if (reader->failure != 0 || reader->findings->errors > 0) {
        return; /* the file is refused: its tools are not needed */
    }
    struct descriptor_tool *tools = reader_alloc(reader, plugin->tool_count * sizeof *tools);
    uint32_t count = tools == NULL ? 0 : read_tools(reader, table, plugin, tools);
    if (reader->failure == 0) {
        plugin->size = sizeof *plugin;
        plugin->tool_size = sizeof(struct tr_tool);
        desc->plugin = plugin;
        desc->tools = tools;
        desc->tool_count = count;
    }
}

/* Return the descriptor, or the error. */
static int finish(struct descriptor_memory *memory, int failure, int error_number,
                  struct descriptor **ret, struct toolrack_error *err) {
    findings_close(&memory->findings);
    if (failure == TOOLRACK_E_IO) {
        release(&memory->desc);
        return error_set(err, TOOLRACK_E_IO, "cannot read the file: %s", strerror(error_number));
    }
    if (failure == TOOLRACK_E_NO_MEMORY || memory->findings.failed) {
        release(&memory->desc);
        return error_oom(err);
    }
    memory->desc.findings = memory->findings.items;
    memory->desc.finding_count = memory->findings.count;
    *ret = &memory->desc;
    return 0;
}

static int read_source(struct descriptor_memory *memory, struct source source,
                       const struct elf_symbol *symbol, const struct descriptor_options *options) {
    struct reader reader;
    reader_init(&reader, source, &memory->arena, &memory->findings, options);
    read_plugin(&reader, symbol, &memory->desc);
    reader_finish(&reader);
    return reader.failure;
}

/* The libraries that the file needs; a name that cannot be read is left out. */
static int read_needed(struct descriptor_memory *memory, struct elf *elf) {
    uint32_t count = elf->dynamic.needed_count;
    const char **list = count == 0 ? NULL : arena_alloc(&memory->arena, count * sizeof *list);
    if (count > 0 && list == NULL) {
        return TOOLRACK_E_NO_MEMORY;
    }
    for (uint32_t i = 0; i < count; i++) {
        const char *name = elf_needed(elf, i);
        if (name != NULL) {
            name = arena_copy(&memory->arena, name, strlen(name));
            if (name == NULL) {
                return TOOLRACK_E_NO_MEMORY;
            }
            list[memory->desc.needed_count++] = name;
        }
    }
    memory->desc.needed = list;
    return 0;
}

static int read_elf(struct descriptor_memory *memory, struct elf *elf,
                    const struct descriptor_options *options) {
    struct elf_symbol symbol;
    int code = elf_read_dynamic(elf);
    if (code == 0 && (elf->dynamic.flags_1 & DF_1_PIE) != 0) {
        code = TOOLRACK_E_REFUSED; /* what else a program lacks as a plugin does not matter */
    }
    if (code == 0) {
        code = elf_find_symbol(elf, PLUGIN_SYMBOL, &symbol);
    }
    if (code == 0 && !run_path_check(elf, elf->findings)) {
        code = elf->failure != 0 ? elf->failure : TOOLRACK_E_REFUSED;
    }
    if (code == 0) {
        code = elf_order_relocations(elf);
    }
    if (code == 0) {
        elf_remark_exports(elf, PLUGIN_SYMBOL);
        code = read_needed(memory, elf);
    }
    if (code < 0) {
        return code;
    }
    /* What the file shows about unloading it, found by elf_remark_exports(). */
    struct descriptor *desc = &memory->desc;
    desc->machine = elf_machine_name(elf);
    desc->is_foreign = elf_is_foreign(elf);
    desc->has_thread_locals = elf->thread_locals;
    if ((elf->dynamic.flags_1 & DF_1_NODELETE) != 0) {
        desc->resident_reason = "NODELETE";
    } else if (elf->unique_name[0] != '\0') {
        char *reason = arena_printf(&memory->arena, "GNU_UNIQUE symbol %s", elf->unique_name);
        if (reason == NULL) {
            return TOOLRACK_E_NO_MEMORY;
        }
        utf8_make_line(reason);
        desc->resident_reason = reason;
    }
    return read_source(memory, source_elf(elf), &symbol, options);
}

int descriptor_read(int fd, const struct descriptor_options *options, struct descriptor **ret,
                    struct toolrack_error *err) {
    struct descriptor_memory *memory = memory_create();
    if (memory == NULL) {
        return error_oom(err);
    }
    struct elf elf;
    bool takes_foreign = options != NULL && options->takes_foreign;
    int code = (takes_foreign ? elf_init_any : elf_init)(&elf, fd, &memory->findings);
    if (code == 0) {
        code = read_elf(memory, &elf, options);
    }
    int failure = elf.failure != 0 ? elf.failure : code;
    int error_number = elf.error_number;
    elf_finish(&elf);
    return finish(memory, failure, error_number, ret, err);
}

int descriptor_copy(const struct tr_plugin *plugin, const struct descriptor_options *options,
                    struct descriptor **ret, struct toolrack_error *err) {
    struct descriptor_memory *memory = memory_create();
    if (memory == NULL) {
        return error_oom(err);
    }
    struct elf_symbol symbol = {.address = (uint64_t)(uintptr_t)plugin};
    int failure = read_source(memory, source_memory(), &symbol, options);
    return finish(memory, failure, 0, ret, err);
}

/* ------------------------------------------------------------- comparing */

static bool same_text(const char *a, const char *b) {
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool says_the_same(const struct descriptor_tool *a, const struct descriptor_tool *b) {
    return a->index == b->index && a->typed == b->typed &&
           a->tool->permission == b->tool->permission && same_text(a->tool->name, b->tool->name) &&
           same_text(a->version, b->version) &&
           same_text(a->tool->description, b->tool->description) &&
           same_text(a->schema, b->schema) && same_text(a->result_schema, b->result_schema);
}

/* Both are in the plugin's order. */
bool descriptor_same(const struct descriptor *read, const struct descriptor *loaded) {
    if (read->plugin == NULL || loaded->plugin == NULL ||
        !same_text(read->plugin->id, loaded->plugin->id) ||
        !same_text(read->plugin->version, loaded->plugin->version)) {
        return false;
    }
    uint32_t at = 0;
    for (uint32_t i = 0; i < read->tool_count; i++) {
        while (at < loaded->tool_count && loaded->tools[at].index < read->tools[i].index) {
            at++;
        }
        if (at == loaded->tool_count || !says_the_same(&read->tools[i], &loaded->tools[at])) {
            return false;
        }
    }
    return true;
}
