/* archive - lists, extracts and creates archives, by libarchive, in one granted folder.
 *
 * What an archive says is never trusted: member.c decides what is refused, name.c makes names safe,
 * place.c creates below the folder only. Modes and times are not taken over but for "may be
 * executed", which is given when the file is made: a worker may not change it later. */
#include <locale.h>
#include <toolrack/plugin.h>

#include "../shared/place.h"
#include "work.h"

/* libarchive converts names by the locale of the thread: in that of a worker, "C", names that are
 * not ASCII would be lost. 0: the machine has no such locale. */
static locale_t utf8;

static tr_status in_utf8(struct tr_call *call, tr_status (*work)(struct tr_call *call)) {
    locale_t before = utf8 != (locale_t)0 ? uselocale(utf8) : (locale_t)0;
    tr_status status = work(call);
    if (before != (locale_t)0) {
        (void)uselocale(before);
    }
    return status;
}

static tr_status open_archive(struct tr_host *host) {
    if (!place_open(host)) {
        return TR_FAILED;
    }
    utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    return TR_OK;
}

static void close_archive(void) {
    place_close();
    if (utf8 != (locale_t)0) {
        freelocale(utf8);
        utf8 = (locale_t)0;
    }
}

/* clang-format off */
static tr_status archive_list(struct tr_call *call) {
    return in_utf8(call, unpack_list);
}
TR_JSON_TOOL(archive_list,
    ("List the contents of an archive (tar, zip, 7z, cpio; packed by gzip, bzip2, xz or zstd) without "
     "extracting them: name, type, size in bytes and time of each entry, and why an entry would be "
     "refused when the archive is extracted.",
     .title = "List an archive", .category = "files", .tags = "archive,contents,list,show",
     .flags = TR_READ_ONLY | TR_IDEMPOTENT),
    TR_SCHEMA({
        "type": "object",
        "properties": {
            "path": {"type": "string", "minLength": 1, "maxLength": 4095,
                     "description": "The archive: a path in the granted folder, or relative to it"},
            "max_entries": {"type": "integer", "minimum": 1, "maximum": 10000, "default": 1000,
                            "description": "How many entries are listed; count says how many there are"}
        },
        "required": ["path"],
        "additionalProperties": false
    }))

static tr_status archive_extract(struct tr_call *call) {
    return in_utf8(call, unpack_extract);
}
TR_JSON_TOOL(archive_extract,
    ("Extract, unzip or unpack all that an archive (tar, zip, 7z, cpio; packed by gzip, bzip2, xz or zstd) has into "
     "a folder, which is made if it is missing. Nothing is extracted of an archive with links, devices, names that lead out of the folder, or that "
     "unpacks to more than 512 MiB or 200 times its size.",
     .title = "Extract or unpack an archive", .category = "files", .tags = "archive,extract,unzip,untar,unpack,decompress,zip,tar",
     .permission = TR_CONFIRM, .flags = TR_DESTRUCTIVE, .deadline_ms = 120000),
    TR_SCHEMA({
        "type": "object",
        "properties": {
            "path": {"type": "string", "minLength": 1, "maxLength": 4095,
                     "description": "The archive: a path in the granted folder, or relative to it"},
            "destination": {"type": "string", "minLength": 1, "maxLength": 4095,
                            "description": "The folder for the files: a path in the granted folder, or relative to it"},
            "overwrite": {"type": "boolean", "default": false,
                          "description": "Replace files that are there; otherwise they are an error"},
            "skip_unsafe": {"type": "boolean", "default": false,
                            "description": "Leave entries out that are refused, such as links, and extract the others"}
        },
        "required": ["path", "destination"],
        "additionalProperties": false
    }))

static tr_status archive_create(struct tr_call *call) {
    return in_utf8(call, create_archive);
}
TR_JSON_TOOL(archive_create,
    ("Create an archive: compress or pack files and folders into it. The ending of its name says the format: .tar, "
     ".tar.gz, .tgz, .tar.bz2, .tar.xz, .tar.zst or .zip. An existing file is never replaced. "
     "Folders are added with all that is in them; symbolic links are left out and counted.",
     .title = "Create an archive", .category = "files", .tags = "archive,create,zip,tar,compress,pack",
     .permission = TR_CONFIRM, .deadline_ms = 120000),
    TR_SCHEMA({
        "type": "object",
        "properties": {
            "path": {"type": "string", "minLength": 1, "maxLength": 4095,
                     "description": "The archive to make: a path in the granted folder, or relative to it"},
            "files": {"type": "array", "minItems": 1, "maxItems": 1000,
                      "items": {"type": "string", "minLength": 1, "maxLength": 4095},
                      "description": "Files and folders to add, as paths relative to base; \".\" is all of it"},
            "base": {"type": "string", "minLength": 1, "maxLength": 4095, "default": ".",
                     "description": "The folder that files are relative to: a path in the granted folder, or relative to it"}
        },
        "required": ["path", "files"],
        "additionalProperties": false
    }))

TR_PLUGIN(("archive", .description = "Lists, extracts and creates archives in one granted folder",
           .vendor = "toolrack", .license = "MIT", .flags = TR_THREAD_SAFE, .open = open_archive,
           .close = close_archive,
           TR_CAPABILITIES(TR_READS("${workspace}"), TR_WRITES("${workspace}"))),
          "1.0.0", archive_list, archive_extract, archive_create)
