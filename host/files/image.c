/* The tables below say of each struct where its pointers are and what they lead
 * to. One walk writes by them and another one puts the pointers back, so that
 * the two cannot disagree about what stands where.
 *
 * Invariants of an image, on which the safety of image_fix() rests:
 *
 *  (1) Records stand in the order of the walk: a run of records side by side,
 *      then, record by record and pointer by pointer, what each leads to. So the
 *      place of every run is known before its pointer is looked at, no byte belongs
 *      to two records, and a walk takes no more steps than there are bytes.
 *  (2) In place of a pointer to records stands their place in the image; the first
 *      record has place 0 and nothing leads to it, so 0 stands for NULL.
 *  (3) In place of a pointer to a text stands 1 + its place among the texts; 0 is
 *      NULL. The last byte of the texts is zero, so each place in them begins a
 *      text that ends in them. Texts are never written to and may be shared.
 *  (4) In place of a pointer to a function stands 0.
 *  (5) A plain type, one that has no pointers in use, stands once among the types,
 *      which follow the records; in place of a pointer to the n-th one stands
 *      2 * n + 1, which is odd as no place of a record is. Plain types are never
 *      written to and may be shared. */
#include "files/image.h"

#include <assert.h>
#include <stdalign.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/name.h"

/* ------------------------------------------------------------- the tables */

struct fixer;
struct layout;

enum slot_kind {
    SLOT_TEXT,
    SLOT_ONE,   /* leads to one record */
    SLOT_ARRAY, /* leads to as many records as a member beside it says */
    SLOT_NOTHING
};

struct slot {
    uint16_t offset;
    uint8_t kind;
    bool required;
    uint8_t count_size;     /* ARRAY: the member that counts: 4 or 8 bytes */
    uint16_t count_offset;  /* ARRAY */
    uint16_t stride_offset; /* ARRAY: the uint32_t member that holds the record's size; 0: none */
    const struct layout *layout;
};

struct layout {
    uint16_t size;
    uint16_t gap_offset; /* bytes between members, which may hold anything in memory */
    uint16_t gap_size;
    uint16_t slot_count;
    const struct slot *slots;
    bool (*sound)(const void *record); /* what else readers rely on; may be NULL */
    bool (*fix)(struct fixer *fixer, char *record, unsigned depth); /* depth: of types */
};

#define LAYOUTS(X)     \
    X(index)           \
    X(folder)          \
    X(file)            \
    X(descriptor)      \
    X(descriptor_tool) \
    X(plugin)          \
    X(tool)            \
    X(example)         \
    X(capability)      \
    X(param)           \
    X(type)            \
    X(choice)          \
    X(finding)

#define DECLARE_LAYOUT(name)                  \
    static const struct layout name##_layout; \
    static bool fix_##name(struct fixer *fixer, char *record, unsigned depth);
LAYOUTS(DECLARE_LAYOUT)

#define TEXT(type, member) \
    { .offset = offsetof(type, member), .kind = SLOT_TEXT }
#define MUST_TEXT(type, member) \
    { .offset = offsetof(type, member), .kind = SLOT_TEXT, .required = true }
#define NOTHING(type, member) \
    { .offset = offsetof(type, member), .kind = SLOT_NOTHING }
#define ONE(type, member, to) \
    { .offset = offsetof(type, member), .kind = SLOT_ONE, .layout = &(to) }
#define MUST_ONE(type, member, to) \
    { .offset = offsetof(type, member), .kind = SLOT_ONE, .required = true, .layout = &(to) }
#define ARRAY(type, member, to, count)                                                   \
    {                                                                                    \
        .offset = offsetof(type, member), .kind = SLOT_ARRAY,                            \
        .count_size = sizeof(((type *)0)->count), .count_offset = offsetof(type, count), \
        .layout = &(to)                                                                  \
    }
#define ARRAY_STRIDE(type, member, to, count, stride)                                    \
    {                                                                                    \
        .offset = offsetof(type, member), .kind = SLOT_ARRAY,                            \
        .count_size = sizeof(((type *)0)->count), .count_offset = offsetof(type, count), \
        .stride_offset = offsetof(type, stride), .layout = &(to)                         \
    }

#define DEFINED(name) \
    .slots = name##_slots, .slot_count = ARRAY_LENGTH(name##_slots), .fix = fix_##name

/* A struct that grows must not take a pointer into the image unseen. */
#define LAST_MEMBER(type, member)                                                       \
    static_assert(sizeof(type) - offsetof(type, member) - sizeof(((type *)0)->member) < \
                          alignof(type),                                                \
                  "there is a member behind this one: a pointer needs a slot, then name it here")

/* A descriptor of an image ends with what leads back to the memory that it lies in. */
struct image_descriptor {
    struct descriptor descriptor;
    void *owner;
};

LAST_MEMBER(struct tr_choice, value);
static const struct slot choice_slots[] = {
        MUST_TEXT(struct tr_choice, name),
};
static const struct layout choice_layout = {
        .size = sizeof(struct tr_choice),
        DEFINED(choice),
};

LAST_MEMBER(struct tr_type, choice_size);
static const struct slot type_slots[] = {
        ONE(struct tr_type, item, type_layout),
        ARRAY_STRIDE(struct tr_type, fields, param_layout, field_count, field_size),
        ARRAY_STRIDE(struct tr_type, choices, choice_layout, choice_count, choice_size),
};

static bool type_sound(const void *record) {
    const struct tr_type *type = record;
    return type->kind <= TR_KIND_CALL && (type->kind != TR_KIND_ARRAY || type->item != NULL) &&
           type->field_count <= DESCRIPTOR_FIELDS_MAX &&
           type->choice_count <= DESCRIPTOR_CHOICES_MAX;
}

static const struct layout type_layout = {
        .size = sizeof(struct tr_type),
        DEFINED(type),
        .sound = type_sound,
};

LAST_MEMBER(struct tr_param, reserved);
static const struct slot param_slots[] = {
        MUST_TEXT(struct tr_param, name),
        TEXT(struct tr_param, description),
        MUST_ONE(struct tr_param, type, type_layout),
        TEXT(struct tr_param, default_json),
        TEXT(struct tr_param, choices_json),
        TEXT(struct tr_param, minimum_json),
        TEXT(struct tr_param, maximum_json),
        TEXT(struct tr_param, exclusive_minimum_json),
        TEXT(struct tr_param, exclusive_maximum_json),
        TEXT(struct tr_param, multiple_of_json),
        TEXT(struct tr_param, pattern),
        TEXT(struct tr_param, format),
};
static const struct layout param_layout = {
        .size = sizeof(struct tr_param),
        DEFINED(param),
};

LAST_MEMBER(struct tr_example, result);
static const struct slot example_slots[] = {
        MUST_TEXT(struct tr_example, arguments),
        TEXT(struct tr_example, result),
};
static const struct layout example_layout = {
        .size = sizeof(struct tr_example),
        DEFINED(example),
};

LAST_MEMBER(struct tr_tool, scenarios);
static const struct slot tool_slots[] = {
        MUST_TEXT(struct tr_tool, name),
        TEXT(struct tr_tool, description),
        TEXT(struct tr_tool, version),
        TEXT(struct tr_tool, title),
        TEXT(struct tr_tool, category),
        TEXT(struct tr_tool, tags),
        ARRAY_STRIDE(struct tr_tool, params, param_layout, param_count, param_size),
        ONE(struct tr_tool, result, type_layout),
        TEXT(struct tr_tool, result_description),
        NOTHING(struct tr_tool, function),
        TEXT(struct tr_tool, schema),
        TEXT(struct tr_tool, result_schema),
        NOTHING(struct tr_tool, run),
        ARRAY_STRIDE(struct tr_tool, examples, example_layout, example_count, example_size),
        TEXT(struct tr_tool, deprecated),
        TEXT(struct tr_tool, purpose),
        TEXT(struct tr_tool, scenarios),
};

static bool tool_sound(const void *record) {
    const struct tr_tool *tool = record;
    return tool->param_count <= DESCRIPTOR_PARAMS_MAX &&
           tool->example_count <= DESCRIPTOR_EXAMPLES_MAX && tool->permission <= TR_DANGEROUS;
}

static const struct layout tool_layout = {
        .size = sizeof(struct tr_tool),
        DEFINED(tool),
        .sound = tool_sound,
};

LAST_MEMBER(struct tr_capability, value);
static const struct slot capability_slots[] = {
        MUST_TEXT(struct tr_capability, value),
};
static const struct layout capability_layout = {
        .size = sizeof(struct tr_capability),
        DEFINED(capability),
};

LAST_MEMBER(struct tr_plugin, get_extension);
static const struct slot plugin_slots[] = {
        MUST_TEXT(struct tr_plugin, id),
        MUST_TEXT(struct tr_plugin, version),
        TEXT(struct tr_plugin, description),
        TEXT(struct tr_plugin, vendor),
        TEXT(struct tr_plugin, license),
        TEXT(struct tr_plugin, homepage),
        ARRAY_STRIDE(struct tr_plugin, capabilities, capability_layout, capability_count,
                     capability_size),
        NOTHING(struct tr_plugin, tools),
        NOTHING(struct tr_plugin, open),
        NOTHING(struct tr_plugin, close),
        NOTHING(struct tr_plugin, get_extension),
};

static bool plugin_sound(const void *record) {
    const struct tr_plugin *plugin = record;
    return plugin->capability_count <= DESCRIPTOR_CAPABILITIES_MAX;
}

static const struct layout plugin_layout = {
        .size = sizeof(struct tr_plugin),
        DEFINED(plugin),
        .sound = plugin_sound,
};

LAST_MEMBER(struct descriptor_tool, typed);
static const struct slot descriptor_tool_slots[] = {
        MUST_ONE(struct descriptor_tool, tool, tool_layout),
        MUST_TEXT(struct descriptor_tool, version),
        MUST_TEXT(struct descriptor_tool, schema),
        TEXT(struct descriptor_tool, result_schema),
};

/* A bool that holds anything but 0 and 1 may not even be looked at. */
static bool bool_sound(const void *record, size_t offset) {
    unsigned char value;
    memcpy(&value, (const char *)record + offset, 1);
    return value <= 1;
}

static bool descriptor_tool_sound(const void *record) {
    return bool_sound(record, offsetof(struct descriptor_tool, typed));
}

static const struct layout descriptor_tool_layout = {
        .size = sizeof(struct descriptor_tool),
        .gap_offset = offsetof(struct descriptor_tool, typed) + sizeof(bool),
        .gap_size = sizeof(struct descriptor_tool) -
                    (offsetof(struct descriptor_tool, typed) + sizeof(bool)),
        DEFINED(descriptor_tool),
        .sound = descriptor_tool_sound,
};

LAST_MEMBER(struct finding, fix);
static const struct slot finding_slots[] = {
        MUST_TEXT(struct finding, rule),
        TEXT(struct finding, tool),
        MUST_TEXT(struct finding, cause),
        MUST_TEXT(struct finding, fix),
};

static bool finding_sound(const void *record) {
    const struct finding *finding = record;
    return finding->severity >= FINDING_NOTE && finding->severity <= FINDING_ERROR;
}

static const struct layout finding_layout = {
        .size = sizeof(struct finding),
        .gap_offset = offsetof(struct finding, severity) + sizeof(int),
        .gap_size =
                offsetof(struct finding, tool) - (offsetof(struct finding, severity) + sizeof(int)),
        DEFINED(finding),
        .sound = finding_sound,
};

LAST_MEMBER(struct descriptor, release);
static const struct slot descriptor_slots[] = {
        ONE(struct image_descriptor, descriptor.plugin, plugin_layout),
        ARRAY(struct image_descriptor, descriptor.tools, descriptor_tool_layout,
              descriptor.tool_count),
        ARRAY(struct image_descriptor, descriptor.findings, finding_layout,
              descriptor.finding_count),
        NOTHING(struct image_descriptor, descriptor.needed),
        TEXT(struct image_descriptor, descriptor.resident_reason),
        NOTHING(struct image_descriptor, descriptor.release),
        NOTHING(struct image_descriptor, owner),
};

/* Whoever holds a tool relies on its plugin. */
static bool descriptor_sound(const void *record) {
    const struct image_descriptor *image = record;
    return bool_sound(record, offsetof(struct image_descriptor, descriptor.has_thread_locals)) &&
           image->descriptor.needed_count == 0 &&
           image->descriptor.tool_count <= DESCRIPTOR_TOOLS_MAX &&
           image->descriptor.finding_count <= FINDINGS_MAX &&
           (image->descriptor.plugin != NULL || image->descriptor.tool_count == 0);
}

static const struct layout descriptor_layout = {
        .size = sizeof(struct image_descriptor),
        DEFINED(descriptor),
        .sound = descriptor_sound,
};

LAST_MEMBER(struct cache_file, descriptor);
static const struct slot file_slots[] = {
        MUST_TEXT(struct cache_file, name),
        ONE(struct cache_file, descriptor, descriptor_layout),
};
static const struct layout file_layout = {
        .size = sizeof(struct cache_file),
        DEFINED(file),
};

LAST_MEMBER(struct cache_folder, file_count);
static const struct slot folder_slots[] = {
        MUST_TEXT(struct cache_folder, path),
        ARRAY(struct cache_folder, files, file_layout, file_count),
};
static const struct layout folder_layout = {
        .size = sizeof(struct cache_folder),
        DEFINED(folder),
};

LAST_MEMBER(struct cache_index, folder_count);
static const struct slot index_slots[] = {
        ARRAY(struct cache_index, folders, folder_layout, folder_count),
};
static const struct layout index_layout = {
        .size = sizeof(struct cache_index),
        DEFINED(index),
};

#define SIZE_OF_LAYOUT(name) name##_layout.size,
void image_struct_sizes(uint16_t ret_sizes[IMAGE_STRUCTS_MAX]) {
    const uint16_t sizes[] = {LAYOUTS(SIZE_OF_LAYOUT)};
    static_assert(sizeof sizes <= IMAGE_STRUCTS_MAX * sizeof sizes[0], "room for all");
    memset(ret_sizes, 0, IMAGE_STRUCTS_MAX * sizeof sizes[0]);
    memcpy(ret_sizes, sizes, sizeof sizes);
}

/* Every run begins at a multiple of this. */
#define RECORD_ALIGN 8u

static size_t round_up(size_t size) {
    return (size + RECORD_ALIGN - 1) & ~(size_t)(RECORD_ALIGN - 1);
}

/* Pointers in records are of many types; as bytes they are all alike. */
static uintptr_t load_slot(const char *at) {
    uintptr_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static void store_slot(char *at, uintptr_t value) {
    memcpy(at, &value, sizeof value);
}

static uint64_t load_count(const struct slot *slot, const char *record) {
    uint64_t wide;
    uint32_t narrow;
    if (slot->count_size == sizeof wide) {
        memcpy(&wide, record + slot->count_offset, sizeof wide);
        return wide;
    }
    memcpy(&narrow, record + slot->count_offset, sizeof narrow);
    return narrow;
}

/* ----------------------------------------------------------------- writing */

/* Many texts are found again and again: versions, licences, names and ids of rules. Of two that
 * fall together, the newer one is remembered. */
#define SEEN_TEXTS 1024u

/* Plain types are few: kinds, flags and widths. Older ones are not looked for. */
#define SEEN_TYPES 64u

struct writer {
    struct buf *records;
    struct buf types;
    struct buf texts;
    size_t size_max;            /* of all together, for what is being written now */
    uintptr_t seen[SEEN_TEXTS]; /* places of texts; 0: none */
};

static bool writer_failed(const struct writer *writer) {
    return writer->records->failed || writer->types.failed || writer->texts.failed;
}

static size_t written_size(const struct writer *writer) {
    return writer->records->length + writer->types.length + writer->texts.length;
}

static bool has_room(const struct writer *writer, size_t more) {
    size_t used = written_size(writer);
    return used <= writer->size_max && more <= writer->size_max - used;
}

static bool write_text(struct writer *writer, const char *text, uintptr_t *ret_slot) {
    size_t length = strlen(text);
    uintptr_t *seen = &writer->seen[name_hash(text, length) % SEEN_TEXTS];
    if (*seen == 0 || strcmp(writer->texts.data + *seen - 1, text) != 0) {
        if (!has_room(writer, length + 1)) {
            return false;
        }
        *seen = writer->texts.length + 1;
        buf_add(&writer->texts, text, length + 1);
    }
    *ret_slot = *seen;
    return !writer->texts.failed;
}

static bool is_plain(const struct tr_type *type) {
    return type->item == NULL && type->field_count == 0 && type->choice_count == 0;
}

static bool write_plain_type(struct writer *writer, const struct tr_type *type,
                             uintptr_t *ret_slot) {
    struct tr_type plain = *type;
    plain.fields = NULL;
    plain.field_size = sizeof *plain.fields;
    plain.choices = NULL;
    plain.choice_size = sizeof *plain.choices;
    if (!type_sound(type) || !has_room(writer, sizeof plain)) {
        return false;
    }
    size_t count = writer->types.length / sizeof plain;
    for (size_t i = count > SEEN_TYPES ? count - SEEN_TYPES : 0; i < count; i++) {
        if (memcmp(writer->types.data + i * sizeof plain, &plain, sizeof plain) == 0) {
            *ret_slot = 2 * i + 1;
            return true;
        }
    }
    buf_add(&writer->types, &plain, sizeof plain);
    *ret_slot = 2 * count + 1;
    return !writer->types.failed;
}

static bool write_run(struct writer *writer, const struct layout *layout, const void *from,
                      uint64_t count, unsigned depth, uintptr_t *ret_slot);

/* The members of a live descriptor one by one: its count of references changes at any time. */
static bool write_descriptor(struct writer *writer, const struct descriptor *desc, unsigned depth,
                             uintptr_t *ret_slot) {
    struct image_descriptor image;
    memset(&image, 0, sizeof image);
    image.descriptor.plugin = desc->plugin;
    image.descriptor.tools = desc->tools;
    image.descriptor.tool_count = desc->tool_count;
    image.descriptor.findings = desc->findings;
    image.descriptor.finding_count = desc->finding_count;
    image.descriptor.has_thread_locals = desc->has_thread_locals;
    image.descriptor.resident_reason = desc->resident_reason;

    size_t records_length = writer->records->length;
    size_t texts_length = writer->texts.length;
    size_t room = written_size(writer) + IMAGE_DESCRIPTOR_SIZE_MAX;
    writer->size_max = room < IMAGE_SIZE_MAX ? room : IMAGE_SIZE_MAX;
    bool written = write_run(writer, &descriptor_layout, &image, 1, depth, ret_slot);
    writer->size_max = IMAGE_SIZE_MAX;
    if (!written) { /* as if it had not been begun; plain types may stay */
        writer->records->length = records_length;
        writer->texts.length = texts_length;
        memset(writer->seen, 0, sizeof writer->seen);
        *ret_slot = 0;
    }
    return !writer_failed(writer);
}

/* Write what a pointer leads to. False when out of memory or room, or when it is not sound. */
static bool write_target(struct writer *writer, const struct slot *slot, const char *record,
                         unsigned depth, uintptr_t *ret_slot) {
    const void *target = (const void *)load_slot(record + slot->offset);
    uint64_t count = slot->kind == SLOT_ARRAY ? load_count(slot, record) : 1;
    *ret_slot = 0;
    if (slot->kind == SLOT_NOTHING || (count == 0 && slot->kind == SLOT_ARRAY)) {
        return true;
    }
    if (target == NULL) {
        return !slot->required && slot->kind != SLOT_ARRAY;
    }
    if (slot->kind == SLOT_TEXT) {
        return write_text(writer, target, ret_slot);
    }
    if (slot->layout == &descriptor_layout) {
        return write_descriptor(writer, target, depth, ret_slot);
    }
    if (slot->layout == &type_layout && is_plain(target)) {
        return write_plain_type(writer, target, ret_slot);
    }
    return write_run(writer, slot->layout, target, count, depth, ret_slot);
}

static bool write_record(struct writer *writer, const struct layout *layout, const char *record,
                         size_t at, unsigned depth) {
    for (size_t i = 0; i < layout->slot_count; i++) {
        const struct slot *slot = &layout->slots[i];
        uintptr_t value;
        if (!write_target(writer, slot, record, depth, &value)) {
            return false;
        }
        char *written = writer->records->data + at; /* the buffer may have moved */
        store_slot(written + slot->offset, value);
        if (slot->stride_offset != 0) {
            uint32_t stride = slot->layout->size;
            memcpy(written + slot->stride_offset, &stride, sizeof stride);
        }
    }
    memset(writer->records->data + at + layout->gap_offset, 0, layout->gap_size);
    return true;
}

static bool write_run(struct writer *writer, const struct layout *layout, const void *from,
                      uint64_t count, unsigned depth, uintptr_t *ret_slot) {
    depth += layout == &type_layout;
    if (depth > DESCRIPTOR_TYPE_DEPTH_MAX || count > IMAGE_SIZE_MAX / layout->size ||
        !has_room(writer, round_up(count * layout->size))) {
        return false;
    }
    static const char padding[RECORD_ALIGN];
    size_t size = count * layout->size;
    size_t at = writer->records->length;
    buf_add(writer->records, from, size);
    buf_add(writer->records, padding, round_up(size) - size);
    if (writer->records->failed) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        const char *record = (const char *)from + i * layout->size;
        if ((layout->sound != NULL && !layout->sound(record)) ||
            !write_record(writer, layout, record, at + i * layout->size, depth)) {
            return false;
        }
    }
    *ret_slot = at;
    return true;
}

bool image_write(const struct cache_index *index, struct buf *image,
                 struct image_sizes *ret_sizes) {
    struct writer writer = {.records = image, .size_max = IMAGE_SIZE_MAX};
    uintptr_t place;
    buf_add_char(&writer.texts, '\0'); /* so that (3) holds when there is no text at all */
    bool written = write_run(&writer, &index_layout, index, 1, 0, &place);
    *ret_sizes = (struct image_sizes){image->length, writer.types.length, writer.texts.length};
    buf_add(image, writer.types.data, writer.types.length);
    buf_add(image, writer.texts.data, writer.texts.length);
    written = written && !writer_failed(&writer);
    buf_finish(&writer.types);
    buf_finish(&writer.texts);
    return written;
}

/* ------------------------------------------------------------ putting back */

struct fixer {
    char *records;
    size_t records_size;
    size_t at; /* where the next run begins */
    char *types;
    size_t type_count;
    char *texts;
    size_t texts_size;
    void (*release)(struct descriptor *desc);
    void *owner;
};

/* The walk is the price of every start. With each table known where it is used, the compiler makes
 * straight code of it, of a third of the time. */
#define STRAIGHT static inline __attribute__((always_inline))

STRAIGHT char *fix_run(struct fixer *fixer, const struct layout *layout, uintptr_t place,
                       uint64_t count, unsigned depth) {
    depth += layout == &type_layout;
    if (depth > DESCRIPTOR_TYPE_DEPTH_MAX || place != fixer->at ||
        count > (fixer->records_size - fixer->at) / layout->size) {
        return NULL;
    }
    size_t size = round_up(count * layout->size);
    if (size > fixer->records_size - fixer->at) {
        return NULL;
    }
    char *run = fixer->records + fixer->at;
    fixer->at += size;
    for (size_t i = 0; i < count; i++) {
        if (!layout->fix(fixer, run + i * layout->size, depth)) {
            return NULL;
        }
    }
    return run;
}

/* Where nothing stands in place of a pointer, it may have to be so. A zero is NULL already. */
STRAIGHT bool null_sound(const struct slot *slot, const char *record) {
    return !slot->required && (slot->kind != SLOT_ARRAY || load_count(slot, record) == 0);
}

STRAIGHT char *find_target(struct fixer *fixer, const struct slot *slot, uintptr_t place,
                           const char *record, unsigned depth) {
    switch ((enum slot_kind)slot->kind) {
    case SLOT_TEXT: return place > fixer->texts_size ? NULL : fixer->texts + (place - 1);
    case SLOT_ONE:
        if (slot->layout == &type_layout && place % 2 != 0) {
            return place / 2 >= fixer->type_count
                           ? NULL
                           : fixer->types + place / 2 * sizeof(struct tr_type);
        }
        return fix_run(fixer, slot->layout, place, 1, depth);
    case SLOT_ARRAY: {
        uint64_t count = load_count(slot, record);
        return count == 0 ? NULL : fix_run(fixer, slot->layout, place, count, depth);
    }
    case SLOT_NOTHING: break;
    }
    return NULL;
}

STRAIGHT bool stride_right(const struct slot *slot, const char *record) {
    uint32_t stride;
    memcpy(&stride, record + slot->stride_offset, sizeof stride);
    return stride == slot->layout->size;
}

STRAIGHT bool fix_slot(struct fixer *fixer, const struct slot *slot, char *record, unsigned depth) {
    if (slot->stride_offset != 0 && !stride_right(slot, record)) {
        return false;
    }
    uintptr_t place = load_slot(record + slot->offset);
    if (place == 0) {
        return null_sound(slot, record);
    }
    char *target = find_target(fixer, slot, place, record, depth);
    store_slot(record + slot->offset, (uintptr_t)target);
    return target != NULL;
}

static void adopt_descriptor(const struct fixer *fixer, void *record) {
    struct image_descriptor *image = record;
    atomic_init(&image->descriptor.refs, 0);
    image->descriptor.release = fixer->release;
    image->owner = fixer->owner;
}

STRAIGHT bool fix_record(struct fixer *fixer, const struct layout *layout, char *record,
                         unsigned depth) {
#pragma GCC unroll 16
    for (size_t i = 0; i < layout->slot_count; i++) {
        if (!fix_slot(fixer, &layout->slots[i], record, depth)) {
            return false;
        }
    }
    if (layout == &descriptor_layout) {
        adopt_descriptor(fixer, record);
    }
    return layout->sound == NULL || layout->sound(record);
}

#define DEFINE_FIX(name)                                                        \
    static bool fix_##name(struct fixer *fixer, char *record, unsigned depth) { \
        return fix_record(fixer, &name##_layout, record, depth);                \
    }
LAYOUTS(DEFINE_FIX)

static bool plain_types_sound(const struct fixer *fixer) {
    for (size_t i = 0; i < fixer->type_count; i++) {
        struct tr_type type;
        memcpy(&type, fixer->types + i * sizeof type, sizeof type);
        bool plain = type.item == NULL && type.fields == NULL && type.choices == NULL &&
                     type.field_count == 0 && type.choice_count == 0;
        if (!plain || !type_sound(&type)) {
            return false;
        }
    }
    return true;
}

const struct cache_index *image_fix(char *image, const struct image_sizes *sizes,
                                    void (*release)(struct descriptor *desc), void *owner) {
    assert((uintptr_t)image % RECORD_ALIGN == 0);
    struct fixer fixer = {
            .records = image,
            .records_size = sizes->records,
            .types = image + sizes->records,
            .type_count = sizes->types / sizeof(struct tr_type),
            .texts = image + sizes->records + sizes->types,
            .texts_size = sizes->texts,
            .release = release,
            .owner = owner,
    };
    if (sizes->records % RECORD_ALIGN != 0 || sizes->types % sizeof(struct tr_type) != 0 ||
        sizes->texts == 0 || fixer.texts[sizes->texts - 1] != '\0' || !plain_types_sound(&fixer)) {
        return NULL;
    }
    const void *index = fix_run(&fixer, &index_layout, 0, 1, 0);
    /* Bytes that nothing leads to were not written by image_write(). */
    return fixer.at == fixer.records_size ? index : NULL;
}

void *image_owner(struct descriptor *desc) {
    return ((struct image_descriptor *)desc)->owner;
}
