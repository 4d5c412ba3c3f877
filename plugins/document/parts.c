#include "parts.h"

#include <archive.h>
#include <archive_entry.h>
#include <stdlib.h>
#include <string.h>

static bool begins(const char *name, const char *with) {
    return strncmp(name, with, strlen(with)) == 0;
}

static bool ends(const char *name, const char *with) {
    size_t length = strlen(name);
    size_t least = strlen(with);
    return length >= least && strcmp(name + length - least, with) == 0;
}

/* What is not among these is not unpacked: pictures, fonts, programs, documents in documents. */
static bool is_wanted(const char *name) {
    static const char *const whole[] = {"mimetype",
                                        "content.xml",
                                        "meta.xml",
                                        "docProps/core.xml",
                                        "word/document.xml",
                                        "word/footnotes.xml",
                                        "word/endnotes.xml",
                                        "xl/workbook.xml",
                                        "xl/_rels/workbook.xml.rels",
                                        "xl/sharedStrings.xml",
                                        "xl/styles.xml",
                                        "ppt/presentation.xml",
                                        "ppt/_rels/presentation.xml.rels"};
    for (size_t i = 0; i < sizeof whole / sizeof whole[0]; i++) {
        if (strcmp(name, whole[i]) == 0) {
            return true;
        }
    }
    return (begins(name, "xl/worksheets/") || begins(name, "ppt/slides/")) && ends(name, ".xml");
}

/* The whole of the member that is next. What its header says of its size is not believed. */
static bool unpack(struct sink *sink, struct archive *archive, struct parts *parts,
                   struct part *part) {
    size_t room = 0;
    for (;;) {
        if (part->size == room) {
            room = room == 0 ? 65536 : room * 2;
            char *data = realloc(part->data, room);
            if (data == NULL) {
                return sink_fail(sink, false, "out of memory");
            }
            part->data = data;
        }
        la_ssize_t got = archive_read_data(archive, part->data + part->size, room - part->size);
        if (got == 0) {
            return true;
        }
        if (got < 0) {
            return sink_fail(sink, false, "the part %.100s cannot be unpacked: %.150s", part->name,
                             archive_error_string(archive));
        }
        part->size += (size_t)got;
        if (parts->size + part->size > PARTS_SIZE_MAX) {
            return sink_fail(sink, true, "its parts unpack to more than %zu MiB",
                             PARTS_SIZE_MAX >> 20);
        }
        if (!sink_goes_on(sink)) {
            return false;
        }
    }
}

static bool add(struct sink *sink, struct archive *archive, const char *name, struct parts *parts) {
    if (parts->count == PARTS_COUNT_MAX) {
        return sink_fail(sink, true, "it has more than %u slides or sheets", PARTS_COUNT_MAX);
    }
    if (parts->count == parts->room) {
        size_t room = parts->room == 0 ? 16 : parts->room * 2;
        struct part *items = realloc(parts->items, room * sizeof *items);
        if (items == NULL) {
            return sink_fail(sink, false, "out of memory");
        }
        parts->items = items;
        parts->room = room;
    }
    struct part *part = &parts->items[parts->count++];
    *part = (struct part){.name = strdup(name)};
    bool is_read = part->name != NULL ? unpack(sink, archive, parts, part)
                                      : sink_fail(sink, false, "out of memory");
    parts->size += part->size;
    return is_read;
}

/* A second member of a name is another document to another reader. */
static bool read_members(struct sink *sink, struct archive *archive, struct parts *parts) {
    struct archive_entry *entry;
    int got = ARCHIVE_OK;
    for (unsigned count = 0; sink_goes_on(sink); count++) {
        got = archive_read_next_header(archive, &entry);
        if (got == ARCHIVE_EOF) {
            return true;
        }
        if (got < ARCHIVE_WARN) {
            return sink_fail(sink, false, "it is no office file, or is damaged: %.150s",
                             archive_error_string(archive));
        }
        if (count == PARTS_MEMBERS_MAX) {
            return sink_fail(sink, true, "it has more than %u parts", PARTS_MEMBERS_MAX);
        }
        const char *name = archive_entry_pathname(entry);
        if (name == NULL || !is_wanted(name)) {
            continue;
        }
        if (archive_entry_is_encrypted(entry) > 0) {
            return sink_fail(sink, false, "it is encrypted; save it without a password");
        }
        if (parts_find(parts, name) != NULL) {
            return sink_fail(sink, false, "it has the part %.100s twice", name);
        }
        if (!add(sink, archive, name, parts)) {
            return false;
        }
    }
    return false;
}

bool parts_read(struct sink *sink, const void *data, size_t size, struct parts *ret) {
    *ret = (struct parts){0};
    struct archive *archive = archive_read_new();
    if (archive == NULL) {
        return sink_fail(sink, false, "out of memory");
    }
    bool is_read = archive_read_support_format_zip(archive) == ARCHIVE_OK &&
                                   archive_read_open_memory(archive, data, size) == ARCHIVE_OK
                           ? read_members(sink, archive, ret)
                           : sink_fail(sink, false, "it is no office file, or is damaged: %.150s",
                                       archive_error_string(archive));
    (void)archive_read_free(archive);
    return is_read;
}

void parts_finish(struct parts *parts) {
    for (size_t i = 0; i < parts->count; i++) {
        free(parts->items[i].name);
        free(parts->items[i].data);
    }
    free(parts->items);
    *parts = (struct parts){0};
}

const struct part *parts_find(const struct parts *parts, const char *name) {
    for (size_t i = 0; i < parts->count; i++) {
        if (strcmp(parts->items[i].name, name) == 0) {
            return &parts->items[i];
        }
    }
    return NULL;
}
