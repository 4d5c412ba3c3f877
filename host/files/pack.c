/* One walk serves both directions. When a pack is written, pack_xxx() gets a copy of each record
 * and replaces its pointers by places; when a pack is opened, it gets the record in the pack and
 * replaces the places by pointers. So the two directions cannot differ.
 *
 * Invariants of a pack, on which the safety of pack_open() rests:
 *
 *  (1) Records lie in the order of the walk: a run of adjacent records, then, record by record and
 *      pointer by pointer, the runs that they point to. So the place of every run is known before
 *      its pointer is read, no byte belongs to two records, and a walk takes no more steps than
 *      there are bytes.
 *  (2) A pointer to records is replaced by RUN_HERE, or 0 for NULL.
 *  (3) A pointer to a string is replaced by 1 + its place among the strings, or 0 for NULL. The
 *      last byte of the strings is zero, so a string at any place ends inside them. Strings are
 *      never written to and may be shared.
 *  (4) A pointer to a function is replaced by 0. */
#include "files/pack.h"

#include <assert.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/name.h"

/* Every run begins at a multiple of this. */
#define RECORD_ALIGN 8u

#define RUN_HERE ((void *)(uintptr_t)1)

/* Many strings occur often: versions, licences, names and ids of rules. Of two strings with the
 * same slot the newer one is remembered. */
#define SEEN_STRINGS 1024u

/* Fails to compile when a struct has a new last member, which pack_xxx() might not handle. */
#define LAST_MEMBER(type, member)                                                       \
    static_assert(sizeof(type) - offsetof(type, member) - sizeof(((type *)0)->member) < \
                          alignof(type),                                                \
                  "there is a member behind this one: pack a pointer below, then name it here")

/* A descriptor of a pack, followed by a pointer to its owner. */
struct packed_descriptor {
    struct descriptor descriptor;
    struct cache *owner;
};

struct pack {
    bool failed;    /* it is no pack; or out of memory, or no room below `limit` */
    bool no_memory; /* then `failed` too */
    size_t at;      /* where the next run begins */
    unsigned depth; /* of types */

    /* For opening; `records` NULL: the pack is being written. */
    char *records;
    char *strings;
    size_t records_size;
    size_t strings_size;
    void (*release)(struct descriptor *desc);
    struct cache *owner;

    /* For writing. */
    struct buf *written;        /* records; for the one being visited, its room */
    struct buf written_strings; /* appended after the records */
    size_t limit;               /* of both together */
    uintptr_t *seen;            /* places of strings; 0: none */
};

/* The walk is part of every start. With constant visit functions the compiler inlines it. */
#define STRAIGHT static inline __attribute__((always_inline))

static const char *write_string(struct pack *pack, const char *string) {
    size_t length = strlen(string);
    struct buf *strings = &pack->written_strings;
    uintptr_t *seen = &pack->seen[name_hash(string, length) % SEEN_STRINGS];
    if (*seen == 0 || strcmp(strings->data + *seen - 1, string) != 0) {
        if (length >= pack->limit - pack->at - strings->length) {
            pack->failed = true;
            return NULL;
        }
        *seen = strings->length + 1;
        buf_add(strings, string, length + 1);
        pack->no_memory |= strings->failed;
        pack->failed |= strings->failed;
    }
    return (const char *)*seen;
}

STRAIGHT const char *string(struct pack *pack, const char *string) {
    if (string == NULL || pack->failed) {
        return NULL;
    }
    if (pack->records == NULL) {
        return write_string(pack, string);
    }
    uintptr_t place = (uintptr_t)string;
    if (place > pack->strings_size) {
        pack->failed = true;
        return NULL;
    }
    return pack->strings + (place - 1);
}

/* A string that must not be NULL. */
STRAIGHT const char *needed_string(struct pack *pack, const char *needed) {
    pack->failed |= needed == NULL;
    return string(pack, needed);
}

/* `count` adjacent records, and what they point to. */
STRAIGHT void *run(struct pack *pack, const void *from, uint64_t count, uint64_t count_max,
                   size_t record_size, void (*visit)(struct pack *pack, void *record)) {
    if (count == 0 || pack->failed) {
        return NULL;
    }
    size_t used = pack->records == NULL ? pack->at + pack->written_strings.length : pack->at;
    size_t limit = pack->records == NULL ? pack->limit : pack->records_size;
    size_t size = (count * record_size + RECORD_ALIGN - 1) & ~(size_t)(RECORD_ALIGN - 1);
    if (from == NULL || count > count_max || size > limit - used) {
        pack->failed = true;
        return NULL;
    }
    size_t at = pack->at;
    pack->at += size;
    if (pack->records != NULL) {
        for (size_t i = 0; i < count && !pack->failed; i++) {
            visit(pack, pack->records + at + i * record_size);
        }
        return pack->records + at;
    }
    CLEANUP(freep) char *copy = calloc(1, size);
    if (copy == NULL || !buf_reserve(pack->written, size)) {
        pack->failed = pack->no_memory = true;
        return NULL;
    }
    memcpy(copy, from, count * record_size);
    buf_add(pack->written, copy, size);
    for (size_t i = 0; i < count && !pack->failed; i++) {
        visit(pack, copy + i * record_size);
    }
    if (!pack->failed) {
        memcpy(pack->written->data + at, copy, size);
    }
    return RUN_HERE;
}

/* One record; NULL stays NULL. */
STRAIGHT void *one(struct pack *pack, const void *from, size_t record_size,
                   void (*visit)(struct pack *pack, void *record)) {
    return run(pack, from, from != NULL, 1, record_size, visit);
}

/* Reading a bool that holds anything but 0 and 1 is undefined behaviour. */
static void check_bool(struct pack *pack, const bool *value) {
    unsigned char byte;
    memcpy(&byte, value, 1);
    pack->failed |= byte > 1;
}

/* ------------------------------------------------------------- the records */

static void pack_param(struct pack *pack, void *record);

LAST_MEMBER(struct tr_choice, value);
static void pack_choice(struct pack *pack, void *record) {
    struct tr_choice *choice = record;
    choice->name = needed_string(pack, choice->name);
}

LAST_MEMBER(struct tr_type, choice_size);
static void pack_type(struct pack *pack, void *record) {
    struct tr_type *type = record;
    pack->depth++;
    pack->failed |= type->kind > TR_KIND_CALL || pack->depth > DESCRIPTOR_TYPE_DEPTH_MAX ||
                    (type->kind == TR_KIND_ARRAY && type->item == NULL);
    type->item = one(pack, type->item, sizeof *type->item, pack_type);
    type->fields = run(pack, type->fields, type->field_count, DESCRIPTOR_FIELDS_MAX,
                       sizeof *type->fields, pack_param);
    type->choices = run(pack, type->choices, type->choice_count, DESCRIPTOR_CHOICES_MAX,
                        sizeof *type->choices, pack_choice);
    type->field_size = sizeof *type->fields;
    type->choice_size = sizeof *type->choices;
    pack->depth--;
}

LAST_MEMBER(struct tr_param, reserved);
static void pack_param(struct pack *pack, void *record) {
    struct tr_param *param = record;
    param->name = needed_string(pack, param->name);
    param->description = string(pack, param->description);
    pack->failed |= param->type == NULL;
    param->type = one(pack, param->type, sizeof *param->type, pack_type);
    param->default_json = string(pack, param->default_json);
    param->choices_json = string(pack, param->choices_json);
    param->minimum_json = string(pack, param->minimum_json);
    param->maximum_json = string(pack, param->maximum_json);
    param->exclusive_minimum_json = string(pack, param->exclusive_minimum_json);
    param->exclusive_maximum_json = string(pack, param->exclusive_maximum_json);
    param->multiple_of_json = string(pack, param->multiple_of_json);
    param->pattern = string(pack, param->pattern);
    param->format = string(pack, param->format);
}

LAST_MEMBER(struct tr_example, result);
static void pack_example(struct pack *pack, void *record) {
    struct tr_example *example = record;
    example->arguments = needed_string(pack, example->arguments);
    example->result = string(pack, example->result);
}

LAST_MEMBER(struct tr_tool, icons);
static void pack_tool(struct pack *pack, void *record) {
    struct tr_tool *tool = record;
    tool->name = needed_string(pack, tool->name);
    tool->description = string(pack, tool->description);
    tool->version = string(pack, tool->version);
    tool->title = string(pack, tool->title);
    tool->category = string(pack, tool->category);
    tool->tags = string(pack, tool->tags);
    tool->params = run(pack, tool->params, tool->param_count, DESCRIPTOR_PARAMS_MAX,
                       sizeof *tool->params, pack_param);
    tool->param_size = sizeof *tool->params;
    tool->result = one(pack, tool->result, sizeof *tool->result, pack_type);
    tool->result_description = string(pack, tool->result_description);
    tool->function = NULL;
    tool->schema = string(pack, tool->schema);
    tool->result_schema = string(pack, tool->result_schema);
    tool->run = NULL;
    tool->examples = run(pack, tool->examples, tool->example_count, DESCRIPTOR_EXAMPLES_MAX,
                         sizeof *tool->examples, pack_example);
    tool->example_size = sizeof *tool->examples;
    tool->deprecated = string(pack, tool->deprecated);
    tool->purpose = string(pack, tool->purpose);
    tool->scenarios = string(pack, tool->scenarios);
    tool->icons = string(pack, tool->icons);
    pack->failed |= tool->permission > TR_DANGEROUS;
}

LAST_MEMBER(struct tr_capability, value);
static void pack_capability(struct pack *pack, void *record) {
    struct tr_capability *capability = record;
    capability->value = needed_string(pack, capability->value);
}

LAST_MEMBER(struct tr_plugin, get_extension);
static void pack_plugin(struct pack *pack, void *record) {
    struct tr_plugin *plugin = record;
    plugin->id = needed_string(pack, plugin->id);
    plugin->version = needed_string(pack, plugin->version);
    plugin->description = string(pack, plugin->description);
    plugin->vendor = string(pack, plugin->vendor);
    plugin->license = string(pack, plugin->license);
    plugin->homepage = string(pack, plugin->homepage);
    plugin->capabilities =
            run(pack, plugin->capabilities, plugin->capability_count, DESCRIPTOR_CAPABILITIES_MAX,
                sizeof *plugin->capabilities, pack_capability);
    plugin->capability_size = sizeof *plugin->capabilities;
    plugin->tools = NULL;
    plugin->open = NULL;
    plugin->close = NULL;
    plugin->get_extension = NULL;
}

LAST_MEMBER(struct descriptor_tool, typed);
static void pack_descriptor_tool(struct pack *pack, void *record) {
    struct descriptor_tool *tool = record;
    pack->failed |= tool->tool == NULL;
    tool->tool = one(pack, tool->tool, sizeof *tool->tool, pack_tool);
    tool->version = needed_string(pack, tool->version);
    tool->schema = needed_string(pack, tool->schema);
    tool->result_schema = string(pack, tool->result_schema);
    check_bool(pack, &tool->typed);
    /* The bytes after the last member may hold anything. */
    size_t end = offsetof(struct descriptor_tool, typed) + sizeof tool->typed;
    memset((char *)tool + end, 0, sizeof *tool - end);
}

LAST_MEMBER(struct finding, fix);
static void pack_finding(struct pack *pack, void *record) {
    struct finding *finding = record;
    finding->rule = needed_string(pack, finding->rule);
    finding->tool = string(pack, finding->tool);
    finding->cause = needed_string(pack, finding->cause);
    finding->fix = needed_string(pack, finding->fix);
    pack->failed |= finding->severity < FINDING_NOTE || finding->severity > FINDING_ERROR;
    size_t end = offsetof(struct finding, severity) + sizeof finding->severity;
    memset((char *)finding + end, 0, offsetof(struct finding, tool) - end);
}

LAST_MEMBER(struct descriptor, release);
static void pack_descriptor(struct pack *pack, void *record) {
    struct packed_descriptor *packed = record;
    struct descriptor *desc = &packed->descriptor;
    /* Users of a tool need its plugin. */
    pack->failed |= desc->plugin == NULL && desc->tool_count > 0;
    desc->plugin = one(pack, desc->plugin, sizeof *desc->plugin, pack_plugin);
    desc->tools = run(pack, desc->tools, desc->tool_count, DESCRIPTOR_TOOLS_MAX,
                      sizeof *desc->tools, pack_descriptor_tool);
    desc->findings = run(pack, desc->findings, desc->finding_count, FINDINGS_MAX,
                         sizeof *desc->findings, pack_finding);
    desc->needed = NULL;
    desc->needed_count = 0;
    check_bool(pack, &desc->has_thread_locals);
    desc->resident_reason = string(pack, desc->resident_reason);
    desc->release = pack->release;
    packed->owner = pack->owner;
    atomic_init(&desc->refs, 0);
}

/* After a descriptor that fails, the pack is as before it; out of memory fails the whole pack. */
static struct descriptor *write_descriptor(struct pack *pack, const struct descriptor *desc) {
    struct packed_descriptor packed; /* not copied whole: its reference count may change */
    memset(&packed, 0, sizeof packed);
    packed.descriptor.plugin = desc->plugin;
    packed.descriptor.tools = desc->tools;
    packed.descriptor.tool_count = desc->tool_count;
    packed.descriptor.findings = desc->findings;
    packed.descriptor.finding_count = desc->finding_count;
    packed.descriptor.has_thread_locals = desc->has_thread_locals;
    packed.descriptor.resident_reason = desc->resident_reason;

    size_t at = pack->at;
    size_t strings_length = pack->written_strings.length;
    size_t limit = at + strings_length + PACK_DESCRIPTOR_SIZE_MAX;
    pack->limit = limit < PACK_SIZE_MAX ? limit : PACK_SIZE_MAX;
    struct descriptor *ret = one(pack, &packed, sizeof packed, pack_descriptor);
    pack->limit = PACK_SIZE_MAX;
    if (pack->failed) {
        pack->failed = pack->no_memory;
        pack->at = at;
        buf_truncate(pack->written, at);
        buf_truncate(&pack->written_strings, strings_length);
        memset(pack->seen, 0, SEEN_STRINGS * sizeof *pack->seen);
        return NULL;
    }
    return ret;
}

LAST_MEMBER(struct cache_file, descriptor);
static void pack_file(struct pack *pack, void *record) {
    struct cache_file *file = record;
    file->name = needed_string(pack, file->name);
    if (pack->records == NULL && file->descriptor != NULL) {
        file->descriptor = write_descriptor(pack, file->descriptor);
    } else {
        file->descriptor =
                one(pack, file->descriptor, sizeof(struct packed_descriptor), pack_descriptor);
    }
}

LAST_MEMBER(struct cache_folder, file_count);
static void pack_folder(struct pack *pack, void *record) {
    struct cache_folder *folder = record;
    folder->path = needed_string(pack, folder->path);
    folder->files = run(pack, folder->files, folder->file_count, FOLDER_FILES_MAX,
                        sizeof *folder->files, pack_file);
}

LAST_MEMBER(struct cache_index, folder_count);
static void pack_index(struct pack *pack, void *record) {
    struct cache_index *index = record;
    index->folders = run(pack, index->folders, index->folder_count, CACHE_FOLDERS_MAX,
                         sizeof *index->folders, pack_folder);
}

/* ------------------------------------------------------------ the whole pack */

size_t pack_write(const struct cache_index *index, struct buf *bytes) {
    uintptr_t seen[SEEN_STRINGS] = {0};
    struct pack pack = {.written = bytes, .limit = PACK_SIZE_MAX, .seen = seen};
    buf_add_char(&pack.written_strings, '\0'); /* so that (3) holds without other strings */
    (void)one(&pack, index, sizeof *index, pack_index);
    size_t records_size = bytes->length;
    buf_add(bytes, pack.written_strings.data, pack.written_strings.length);
    bool written = !pack.failed && !pack.written_strings.failed && !bytes->failed;
    buf_finish(&pack.written_strings);
    return written ? records_size : 0;
}

const struct cache_index *pack_open(char *bytes, size_t size, size_t records_size,
                                    void (*release)(struct descriptor *desc), struct cache *owner) {
    assert((uintptr_t)bytes % RECORD_ALIGN == 0);
    if (records_size >= size || records_size % RECORD_ALIGN != 0 || bytes[size - 1] != '\0') {
        return NULL;
    }
    struct pack pack = {
            .records = bytes,
            .records_size = records_size,
            .strings = bytes + records_size,
            .strings_size = size - records_size,
            .release = release,
            .owner = owner,
    };
    const struct cache_index *index = one(&pack, bytes, sizeof *index, pack_index);
    /* pack_write() writes no bytes to which nothing points. */
    return pack.failed || pack.at != records_size ? NULL : index;
}

struct cache *pack_owner(struct descriptor *desc) {
    return ((struct packed_descriptor *)desc)->owner;
}
