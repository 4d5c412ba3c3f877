/* Functions of all parts of the reader: records, pointers, strings, findings, memory.
 *
 *  (1) `failure` is never reset, and ends every loop. It ends the reading, unlike a finding about
 *      one tool.
 *  (2) Nothing in the descriptor points into the source: strings and records are copied, and an
 *      invalid pointer becomes NULL. */
#include "plugin/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hidden.h"
#include "base/utf8.h"

void reader_init(struct reader *reader, struct source source, struct arena *arena,
                 struct findings *findings, const struct descriptor_options *options) {
    memset(reader, 0, offsetof(struct reader, scratch_room)); /* scratch_room needs no clearing */
    reader->source = source;
    reader->arena = arena;
    reader->findings = findings;
    reader->options = options;
    reader->steps = DESCRIPTOR_STEPS_MAX;
    arena_init(&reader->scratch, reader->scratch_room, sizeof reader->scratch_room);
    reader->scratch.size_max = DESCRIPTOR_MEMORY_MAX;
}

void reader_finish(struct reader *reader) {
    arena_finish(&reader->scratch);
    buf_finish(&reader->derived);
}

void reader_scratch_reset(struct reader *reader) {
    arena_finish(&reader->scratch);
    arena_init(&reader->scratch, reader->scratch_room, sizeof reader->scratch_room);
    reader->scratch.size_max = DESCRIPTOR_MEMORY_MAX;
}

/* ------------------------------------------------------------ findings */

void reader_report(struct reader *reader, enum finding_rule rule, const char *cause, ...) {
    char place[256] = "";
    if (reader->place != NULL) {
        size_t length = (size_t)snprintf(place, sizeof place, "%s", reader->place);
        for (uint32_t i = 0; i < reader->depth && length < sizeof place; i++) {
            const char *name = reader->path[i];
            const char *before = name == NULL ? "" : i == 0 ? " " : ".";
            length += (size_t)snprintf(place + length, sizeof place - length, "%s%.*s", before,
                                       FINDING_SHOWN_MAX, name == NULL ? "[]" : name);
        }
    }
    /* Used in place of the tool's name until its name is known to be valid. */
    if (reader->tool == NULL && reader->tool_place != 0) {
        reader->tool = arena_printf(reader->arena, "#%u", reader->tool_place);
        reader->findings->failed = reader->findings->failed || reader->tool == NULL;
    }
    char line[512];
    va_list args;
    va_start(args, cause);
    (void)vsnprintf(line, sizeof line, cause, args);
    va_end(args);
    findings_add(reader->findings, rule, reader->tool, "%s%s%s", place,
                 place[0] == '\0' ? "" : ": ", line);
}

void reader_enter(struct reader *reader, const char *name) {
    if (reader->depth < READER_PATH_MAX) {
        reader->path[reader->depth] = name;
    }
    reader->depth++;
}

void reader_leave(struct reader *reader) {
    reader->depth--;
}

/* -------------------------------------------------------------- memory */

void *reader_alloc(struct reader *reader, size_t size) {
    if (reader->failure != 0) {
        return NULL;
    }
    size_t used = reader->arena->size;
    size_t limit = DESCRIPTOR_MEMORY_MAX - READER_RESERVE;
    if (used > limit || size > limit - used) {
        findings_add(reader->findings, FINDING_PLUGIN_MEMORY, NULL,
                     "the descriptor takes more than %u bytes", DESCRIPTOR_MEMORY_MAX);
        reader->failure = TOOLRACK_E_REFUSED;
        return NULL;
    }
    void *memory = arena_zalloc(reader->arena, size);
    if (memory == NULL) {
        reader->failure = TOOLRACK_E_NO_MEMORY;
    }
    return memory;
}

/* ------------------------------------------------------------- records */

static enum finding_rule pointer_rule(const struct reader *reader) {
    return reader->tool_place != 0 ? FINDING_TOOL_POINTER : FINDING_PLUGIN_POINTER;
}

static enum finding_rule text_rule(const struct reader *reader) {
    return reader->tool_place != 0 ? FINDING_TOOL_TEXT : FINDING_PLUGIN_TEXT;
}

bool record_size_valid(const struct record_shape *shape, uint32_t stated) {
    return stated >= shape->size_min && stated <= DESCRIPTOR_RECORD_SIZE_MAX && stated % 8 == 0;
}

/* A failed read of the file ends the reading; its findings have been added. */
static void stop_reading(struct reader *reader) {
    const struct elf *elf = reader->source.self;
    reader->failure = elf->failure != 0 ? elf->failure : TOOLRACK_E_REFUSED;
}

bool reader_record(struct reader *reader, const struct record_shape *shape, uint64_t address,
                   uint32_t stated, enum finding_rule rule, void *to, struct record *ret) {
    uint32_t known = stated < shape->size ? stated : shape->size;
    memset((char *)to + known, 0, shape->size - known);
    if (address % 8 != 0) {
        reader_report(reader, rule, "the %s at address 0x%llx is not aligned to 8 bytes",
                      shape->what, (unsigned long long)address);
        return false;
    }
    *ret = (struct record){.copy = to, .what = shape->what};
    const struct source *source = &reader->source;
    switch (source->ops->record(source->self, address, to, known, &ret->marks)) {
    case ELF_OK: break;
    case ELF_FAILED: stop_reading(reader); return false;
    case ELF_RELOCATION:
        reader_report(reader, FINDING_ELF_RELOCATION,
                      "the loader would put something unusual into the %s at address 0x%llx",
                      shape->what, (unsigned long long)address);
        return false;
    default:
        reader_report(reader, rule, "the %s at address 0x%llx is not within the file's data",
                      shape->what, (unsigned long long)address);
        return false;
    }
    uint64_t set = ret->marks.pointers | ret->marks.elsewhere;
    if (!source->ops->live && (set & ~shape->pointers) != 0) {
        reader_report(reader, FINDING_ELF_RELOCATION,
                      "the loader would put an address into a number of the %s at address 0x%llx",
                      shape->what, (unsigned long long)address);
        return false;
    }
    return true;
}

bool reader_sized_record(struct reader *reader, const struct record_shape *shape, uint64_t address,
                         enum finding_rule rule, enum finding_rule size_rule, void *to,
                         struct record *ret) {
    uint32_t head[2];
    const struct record_shape head_shape = {.what = shape->what, .size = sizeof head};
    if (!reader_record(reader, &head_shape, address, sizeof head, rule, head, ret)) {
        return false;
    }
    if (!record_size_valid(shape, head[0])) {
        reader_report(reader, size_rule,
                      "the %s states a size of %u bytes, not a multiple of 8 from %u to %u",
                      shape->what, head[0], shape->size_min, DESCRIPTOR_RECORD_SIZE_MAX);
        return false;
    }
    return reader_record(reader, shape, address, head[0], rule, to, ret);
}

static uint64_t word_at(const struct record *record, size_t offset) {
    uint64_t word;
    memcpy(&word, (const char *)record->copy + offset, sizeof word);
    return word;
}

static void set_pointer(const struct record *record, size_t offset, const void *pointer) {
    memcpy((char *)record->copy + offset, &pointer, sizeof pointer);
}

enum pointer record_pointer(const struct record *record, size_t offset, uint64_t *ret_address) {
    uint64_t bit = UINT64_C(1) << (offset / 8);
    *ret_address = word_at(record, offset);
    if ((record->marks.elsewhere & bit) != 0) {
        return POINTER_ELSEWHERE;
    }
    if (*ret_address == 0) {
        return POINTER_NULL;
    }
    return (record->marks.pointers & bit) != 0 ? POINTER_HERE : POINTER_BAD;
}

bool reader_address(struct reader *reader, const struct record *record, size_t offset,
                    const char *field, uint64_t *ret) {
    enum pointer pointer = record_pointer(record, offset, ret);
    set_pointer(record, offset, NULL);
    switch (pointer) {
    case POINTER_NULL:
    case POINTER_HERE: return true;
    case POINTER_ELSEWHERE:
        reader_report(reader, pointer_rule(reader),
                      "%s of the %s points into another library; only a function may", field,
                      record->what);
        return false;
    case POINTER_BAD:
    default:
        reader_report(reader, pointer_rule(reader),
                      "%s of the %s is the number 0x%llx, not a pointer", field, record->what,
                      (unsigned long long)*ret);
        return false;
    }
}

bool reader_function(struct reader *reader, const struct record *record, size_t offset,
                     const char *field, enum finding_rule rule, bool *ret_set) {
    uint64_t address;
    enum pointer pointer = record_pointer(record, offset, &address);
    const struct source *source = &reader->source;
    *ret_set = pointer != POINTER_NULL;
    if (!source->ops->live) {
        set_pointer(record, offset, NULL);
    }
    if (pointer == POINTER_NULL || pointer == POINTER_ELSEWHERE ||
        (pointer == POINTER_HERE && source->ops->executable(source->self, address))) {
        return true;
    }
    reader_report(reader, rule, "%s of the %s is 0x%llx, where the file has no code", field,
                  record->what, (unsigned long long)address);
    return false;
}

/* --------------------------------------------------------------- texts */

/* Length of the beginning that is printable ASCII, in steps of eight bytes: most strings are only
 * that. A byte below 0x20 borrows into its top bit when 0x20 is subtracted; 0x7f carries into it
 * when 1 is added. A wrong mark by the borrow or carry of a neighbour only costs time. */
static size_t skip_plain(const char *text, size_t length) {
    size_t i = 0;
    for (uint64_t word; length - i >= sizeof word; i += sizeof word) {
        memcpy(&word, text + i, sizeof word);
        uint64_t marked = (word - 0x2020202020202020u) | (word + 0x0101010101010101u) | word;
        if ((marked & 0x8080808080808080u) != 0) {
            break;
        }
    }
    return i;
}

/* The offset of the first control character that the text may not have; `length` if there is none.
 */
static size_t find_control(const char *text, size_t length, enum text_kind kind) {
    for (size_t i = skip_plain(text, length); i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        bool control = c < 0x20 || c == 0x7f ||
                       /* U+0080 to U+009F; the text is well-formed */
                       (c == 0xc2 && (unsigned char)text[i + 1] < 0xa0);
        if (control && (kind == TEXT_LINE || (c != '\n' && c != '\t' && c != '\r'))) {
            return i;
        }
    }
    return length;
}

static bool read_text(struct reader *reader, const struct record *record,
                      const struct text_field *field) {
    uint64_t address;
    if (!reader_address(reader, record, field->offset, field->name, &address)) {
        return false;
    }
    if (address == 0) {
        return true;
    }
    const struct source *source = &reader->source;
    const char *text;
    size_t length;
    switch (source->ops->text(source->self, address, DESCRIPTOR_TEXT_MAX, &text, &length)) {
    case ELF_OK: break;
    case ELF_FAILED: stop_reading(reader); return false;
    case ELF_NO_END:
        reader_report(reader, text_rule(reader),
                      "%s of the %s does not end within the file's data and the limit of %u bytes",
                      field->name, record->what, DESCRIPTOR_TEXT_MAX);
        return false;
    default:
        reader_report(reader, pointer_rule(reader),
                      "%s of the %s points to 0x%llx, outside the file's data", field->name,
                      record->what, (unsigned long long)address);
        return false;
    }
    uint32_t point = 0;
    if (!utf8_valid(text, length)) {
        reader_report(reader, text_rule(reader), "%s of the %s is not UTF-8", field->name,
                      record->what);
        return false;
    }
    size_t at = find_control(text, length, field->kind);
    if (at < length) {
        (void)utf8_decode(text + at, length - at, &point);
        reader_report(reader, text_rule(reader),
                      "%s of the %s has the control character U+%04X at byte %zu", field->name,
                      record->what, point, at);
        return false;
    }
    at = hidden_find(text, length, NULL, &point);
    if (at < length) {
        reader_report(reader, FINDING_TEXT_HIDDEN,
                      "%s of the %s has the hidden character U+%04X at byte %zu", field->name,
                      record->what, point, at);
    }
    char *copy = reader_alloc(reader, length + 1);
    if (copy != NULL) {
        memcpy(copy, text, length);
        set_pointer(record, field->offset, copy);
    }
    return copy != NULL;
}

unsigned reader_texts(struct reader *reader, const struct record *record,
                      const struct text_field *fields, size_t count) {
    unsigned bad = 0;
    for (size_t i = 0; i < count; i++) {
        if (word_at(record, fields[i].offset) != 0 || record->marks.elsewhere != 0) {
            bad |= read_text(reader, record, &fields[i]) ? 0 : 1u << i;
        }
    }
    return bad;
}

static int compare_names(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Up to this number, names are compared in pairs; more names are sorted first. */
#define NAMES_FEW 16u

const char *reader_duplicate(struct reader *reader, const char *const *names, uint32_t count) {
    if (count <= NAMES_FEW) {
        for (uint32_t i = 1; i < count; i++) {
            for (uint32_t j = 0; j < i; j++) {
                if (strcmp(names[i], names[j]) == 0) {
                    return names[i];
                }
            }
        }
        return NULL;
    }
    const char **sorted = arena_alloc(&reader->scratch, count * sizeof *sorted);
    if (sorted == NULL) {
        reader->failure = TOOLRACK_E_NO_MEMORY;
        return NULL;
    }
    memcpy(sorted, names, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare_names);
    const char *found = NULL;
    for (uint32_t i = 1; i < count && found == NULL; i++) {
        found = strcmp(sorted[i - 1], sorted[i]) == 0 ? sorted[i] : NULL;
    }
    reader_scratch_reset(reader);
    return found;
}

/* ---------------------------------------------------------------- JSON */

/* The parser has no depth limit, but functions that walk over its result recurse. */
static bool too_deep(const char *text) {
    unsigned depth = 0;
    bool quoted = false;
    for (; *text != '\0'; text++) {
        if (quoted) {
            quoted = *text != '"';
            text += *text == '\\' && text[1] != '\0';
        } else if (*text == '"') {
            quoted = true;
        } else if (*text == '[' || *text == '{') {
            if (++depth > READER_JSON_DEPTH_MAX) {
                return true;
            }
        } else if (*text == ']' || *text == '}') {
            depth -= depth > 0;
        }
    }
    return false;
}

yyjson_doc *reader_json(struct reader *reader, const char *text, char *reason, size_t room) {
    size_t length = strlen(text);
    if (length > READER_JSON_DEPTH_MAX && too_deep(text)) {
        (void)snprintf(reason, room, "it is nested deeper than %u", READER_JSON_DEPTH_MAX);
        return NULL;
    }
    yyjson_alc alc = arena_alc(&reader->scratch);
    yyjson_read_err error;
    /* Without the in-situ flag yyjson does not write to the text. */
    yyjson_doc *doc =
            yyjson_read_opts((char *)(uintptr_t)text, length, YYJSON_READ_NOFLAG, &alc, &error);
    if (doc == NULL && error.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION) {
        reader->failure = TOOLRACK_E_NO_MEMORY;
    }
    if (doc == NULL) {
        (void)snprintf(reason, room, "it is not JSON: %s at byte %zu", error.msg, error.pos);
    }
    return doc;
}
