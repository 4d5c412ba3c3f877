/* archive - lists, extracts and creates archives, by libarchive, in one granted folder.
 *
 * What an archive says is never trusted: member.c decides what is refused, name.c makes names safe,
 * place.c creates below the folder only. Modes and times are not taken over but for "may be
 * executed", which is given when the file is made: a worker may not change it later. */
#include <archive.h>
#include <archive_entry.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <toolrack/plugin.h>
#include <unistd.h>

#include "../shared/place.h"
#include "member.h"

#define DEPTH_MAX   64
#define BUFFER_SIZE 65536
#define FOLDER_MADE (O_RDONLY | O_DIRECTORY | O_CREAT)

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

/* ------------------------------------------------------------- reading */

/* The archive that the argument `path` names; -1: the call has failed. */
static int open_source(struct tr_call *call) {
    char message[PLACE_MESSAGE_SIZE];
    if (!place_is_granted(call) || !place_is_whole(call, "path") ||
        !place_is_whole(call, "destination")) {
        return -1;
    }
    int fd = place_at(tr_get_string(call, "path", ""), O_RDONLY | O_NONBLOCK, 0, message);
    if (fd < 0) {
        (void)tr_fail(call, TR_INVALID_ARGUMENTS, "path", "%s", message);
    }
    return fd;
}

static tr_status fail_reading(struct tr_call *call, const struct members *members) {
    return tr_fail(call, members->is_limit ? TR_LIMIT_EXCEEDED : TR_FAILED, NULL, "%.300s: %s",
                   tr_get_string(call, "path", ""), members->message);
}

static void put_member(struct tr_call *call, const struct member *member) {
    (void)tr_put_object(call, NULL);
    (void)tr_put_string(call, "name", member->raw);
    (void)tr_put_string(call, "type", member_type_name(member->type));
    if (member->has_size && member->type == MEMBER_FILE) {
        (void)tr_put_u64(call, "size", member->size);
    }
    if (member->modified != INT64_MIN) {
        (void)tr_put_i64(call, "modified", member->modified);
    }
    if (member->link != NULL) {
        (void)tr_put_string(call, "target", member->link);
    }
    if (member->refused != NULL) {
        (void)tr_put_string(call, "refused", member->refused);
    }
    (void)tr_put_end(call);
}

static tr_status list(struct tr_call *call) {
    uint64_t limit = tr_get_u64(call, "max_entries", 1000);
    int fd = open_source(call);
    if (fd < 0) {
        return TR_FAILED;
    }
    struct members members;
    struct member member;
    int found = members_init(&members, fd) ? 1 : -1;
    (void)tr_put_object(call, NULL);
    (void)tr_put_array(call, "entries");
    while (found > 0 && (found = members_next(&members, &member)) > 0) {
        if (members.count <= limit) {
            put_member(call, &member);
        }
        if (tr_cancelled(call)) {
            members_finish(&members);
            (void)close(fd);
            return tr_fail(call, TR_CANCELLED, NULL, "cancelled");
        }
    }
    tr_status status = TR_OK;
    if (found < 0) {
        status = fail_reading(call, &members);
    } else {
        char format[128];
        members_format(&members, format, sizeof format);
        (void)tr_put_end(call);
        (void)tr_put_string(call, "format", format);
        (void)tr_put_u64(call, "count", members.count);
        (void)tr_put_u64(call, "unpacked_size", members.unpacked);
        (void)tr_put_bool(call, "truncated", members.count > limit);
        status = tr_put_end(call);
    }
    members_finish(&members);
    (void)close(fd);
    return status;
}

/* ---------------------------------------------------------- extracting */

struct extraction {
    struct tr_call *call;
    int destination;
    bool skips; /* leaves out what is refused */
    bool overwrites;
    uint32_t files;
    uint32_t folders;
    uint32_t skipped;
    uint32_t renamed;
    uint64_t bytes;
};

/* The first time: whether the archive can be extracted. */
static bool inspect(struct extraction *extraction, int fd) {
    struct tr_call *call = extraction->call;
    struct members members;
    struct member member;
    int found = members_init(&members, fd) ? 1 : -1;
    while (found > 0 && (found = members_next(&members, &member)) > 0) {
        if (member.refused != NULL && !extraction->skips) {
            (void)tr_fail(call, TR_FAILED, NULL,
                          "nothing was extracted: \"%.200s\" is refused, since %s; skip_unsafe "
                          "leaves such members out",
                          member.raw, member.refused);
            break;
        }
        if (tr_cancelled(call)) {
            (void)tr_fail(call, TR_CANCELLED, NULL, "cancelled");
            break;
        }
    }
    if (found < 0) {
        (void)fail_reading(call, &members);
    }
    members_finish(&members);
    return found == 0;
}

static bool write_all(int fd, const void *bytes, uint64_t size, int64_t at) {
    const char *rest = bytes;
    while (size > 0) {
        ssize_t written = pwrite(fd, rest, size, at);
        if (written < 0 && errno != EINTR) {
            return false;
        }
        size_t done = written > 0 ? (size_t)written : 0;
        rest += done;
        size -= done;
        at += (int64_t)done;
    }
    return true;
}

static bool write_member(struct extraction *extraction, struct members *members, int file,
                         const char *name) {
    struct tr_call *call = extraction->call;
    const void *bytes;
    uint64_t size;
    int64_t at;
    int64_t end = 0;
    int found;
    while ((found = members_read(members, &bytes, &size, &at)) > 0) {
        if (at < end || (uint64_t)at + size > MEMBER_TOTAL_MAX ||
            extraction->bytes + (uint64_t)(at - end) + size > MEMBER_TOTAL_MAX) {
            (void)tr_fail(call, TR_LIMIT_EXCEEDED, NULL,
                          "\"%.200s\" is larger than it says; %" PRIu32 " files were extracted",
                          name, extraction->files);
            return false;
        }
        if (!write_all(file, bytes, size, at)) {
            (void)tr_fail(call, TR_FAILED, NULL, "cannot write \"%.200s\": %s", name,
                          strerror(errno));
            return false;
        }
        extraction->bytes += (uint64_t)(at - end) + size;
        end = at + (int64_t)size;
        if (tr_cancelled(call)) {
            (void)tr_fail(call, TR_CANCELLED, NULL, "cancelled");
            return false;
        }
    }
    if (found < 0) {
        (void)fail_reading(call, members);
    }
    return found == 0;
}

static bool extract_member(struct extraction *extraction, struct members *members,
                           const struct member *member) {
    char message[PLACE_MESSAGE_SIZE];
    if (member->type == MEMBER_FOLDER) {
        int folder = place_below(extraction->destination, member->name, FOLDER_MADE, 0, message);
        if (folder < 0) {
            (void)tr_fail(extraction->call, TR_FAILED, NULL, "%s", message);
            return false;
        }
        (void)close(folder);
        extraction->folders++;
        return true;
    }
    /* A file that is there is replaced as a name, not as a file: it may have other names, and a
     * process that has it open keeps what it has. */
    if (extraction->overwrites) {
        place_remove(extraction->destination, member->name);
    }
    int file = place_below(extraction->destination, member->name, O_WRONLY | O_CREAT | O_EXCL,
                           member->is_program ? 0755 : 0644, message);
    if (file < 0) {
        (void)tr_fail(extraction->call, TR_FAILED, NULL, "%s%s; %" PRIu32 " files were extracted",
                      message, errno == EEXIST ? " (overwrite replaces what is there)" : "",
                      extraction->files);
        return false;
    }
    bool done = write_member(extraction, members, file, member->name);
    if (close(file) < 0 && done) {
        (void)tr_fail(extraction->call, TR_FAILED, NULL, "cannot write \"%.200s\": %s",
                      member->name, strerror(errno));
        done = false;
    }
    if (!done) {
        place_remove(extraction->destination, member->name);
        return false;
    }
    extraction->files++;
    return true;
}

static bool extract_all(struct extraction *extraction, int fd) {
    struct members members;
    struct member member;
    bool done = true;
    int found = members_init(&members, fd) ? 1 : -1;
    while (done && found > 0 && (found = members_next(&members, &member)) > 0) {
        if (member.is_whole) {
            continue;
        }
        if (member.refused != NULL) {
            /* Without `skips` the archive has changed since it was inspected. */
            extraction->skipped++;
            done = extraction->skips;
            continue;
        }
        extraction->renamed += member.is_renamed;
        done = extract_member(extraction, &members, &member);
        tr_progress(extraction->call, (double)members.count, 0, NULL);
    }
    if (found < 0) {
        (void)fail_reading(extraction->call, &members);
    } else if (!done && !extraction->skips && extraction->skipped > 0) {
        (void)tr_fail(extraction->call, TR_FAILED, NULL, "the archive changed while it was read");
    }
    members_finish(&members);
    return done && found == 0;
}

static tr_status extract(struct tr_call *call) {
    struct extraction extraction = {.call = call,
                                    .skips = tr_get_bool(call, "skip_unsafe", false),
                                    .overwrites = tr_get_bool(call, "overwrite", false)};
    char message[PLACE_MESSAGE_SIZE];
    int fd = open_source(call);
    if (fd < 0) {
        return TR_FAILED;
    }
    if (!inspect(&extraction, fd)) {
        (void)close(fd);
        return TR_FAILED;
    }
    extraction.destination =
            place_at(tr_get_string(call, "destination", ""), FOLDER_MADE, 0, message);
    if (extraction.destination < 0) {
        (void)close(fd);
        return tr_fail(call, TR_INVALID_ARGUMENTS, "destination", "%s", message);
    }
    bool done = extract_all(&extraction, fd);
    (void)close(extraction.destination);
    (void)close(fd);
    if (!done) {
        return TR_FAILED;
    }
    (void)tr_put_object(call, NULL);
    (void)tr_put_u64(call, "files", extraction.files);
    (void)tr_put_u64(call, "folders", extraction.folders);
    (void)tr_put_u64(call, "bytes", extraction.bytes);
    (void)tr_put_u64(call, "skipped", extraction.skipped);
    (void)tr_put_u64(call, "renamed", extraction.renamed);
    return tr_put_end(call);
}

/* ------------------------------------------------------------ creating */

struct creation {
    struct tr_call *call;
    struct archive *archive;
    struct archive_entry *entry; /* of the file that is written now; reused */
    struct stat made;            /* the archive itself, which it does not take in */
    uint32_t files;
    uint32_t folders;
    uint32_t skipped; /* links, devices and the like */
    uint64_t bytes;
};

static const struct format {
    const char *ending;
    int (*set_format)(struct archive *);
    int (*add_filter)(struct archive *);
    const char *options; /* of libarchive, or NULL */
} formats[] = {
        {".tar", archive_write_set_format_pax_restricted, archive_write_add_filter_none},
        {".tar.gz", archive_write_set_format_pax_restricted, archive_write_add_filter_gzip},
        {".tgz", archive_write_set_format_pax_restricted, archive_write_add_filter_gzip},
        {".tar.bz2", archive_write_set_format_pax_restricted, archive_write_add_filter_bzip2},
        {".tar.xz", archive_write_set_format_pax_restricted, archive_write_add_filter_xz},
        {".tar.zst", archive_write_set_format_pax_restricted, archive_write_add_filter_zstd},
        {".zip", archive_write_set_format_zip, archive_write_add_filter_none,
         "zip:hdrcharset=UTF-8"},
};

static const struct format *format_of(const char *path) {
    size_t length = strlen(path);
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        size_t ending = strlen(formats[i].ending);
        if (length > ending && strcmp(path + length - ending, formats[i].ending) == 0) {
            return &formats[i];
        }
    }
    return NULL;
}

static bool fail_creating(struct creation *creation, const char *path, const char *why) {
    (void)tr_fail(creation->call, TR_FAILED, NULL, "%.300s: %s", path,
                  why != NULL ? why : "cannot be added");
    return false;
}

static bool begin_entry(struct creation *creation, const char *path, const struct stat *status) {
    struct archive_entry *entry = archive_entry_clear(creation->entry);
    archive_entry_copy_pathname(entry, path);
    archive_entry_set_filetype(entry, S_ISDIR(status->st_mode) ? AE_IFDIR : AE_IFREG);
    bool is_program = S_ISDIR(status->st_mode) || (status->st_mode & S_IXUSR) != 0;
    archive_entry_set_perm(entry, is_program ? 0755 : 0644);
    archive_entry_set_mtime(entry, status->st_mtime, 0);
    archive_entry_set_size(entry, S_ISDIR(status->st_mode) ? 0 : status->st_size);
    if (creation->files + creation->folders == MEMBER_COUNT_MAX) {
        (void)tr_fail(creation->call, TR_LIMIT_EXCEEDED, "files", "more than %d files and folders",
                      MEMBER_COUNT_MAX);
        return false;
    }
    int code = archive_write_header(creation->archive, entry);
    return code == ARCHIVE_OK || code == ARCHIVE_WARN ||
           fail_creating(creation, path, archive_error_string(creation->archive));
}

/* As many bytes as the entry says, also if the file grows meanwhile. */
static bool add_file(struct creation *creation, int fd, const char *path,
                     const struct stat *status) {
    static _Thread_local char buffer[BUFFER_SIZE];
    uint64_t left = (uint64_t)status->st_size;
    if (left > MEMBER_TOTAL_MAX || creation->bytes + left > MEMBER_TOTAL_MAX) {
        (void)tr_fail(creation->call, TR_LIMIT_EXCEEDED, "files",
                      "%.200s: the files have more than %u MiB", path,
                      (unsigned)(MEMBER_TOTAL_MAX >> 20));
        return false;
    }
    if (!begin_entry(creation, path, status)) {
        return false;
    }
    while (left > 0) {
        ssize_t got = read(fd, buffer, left < sizeof buffer ? (size_t)left : sizeof buffer);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return fail_creating(creation, path, got == 0 ? "became shorter" : strerror(errno));
        }
        if (archive_write_data(creation->archive, buffer, (size_t)got) < got) {
            return fail_creating(creation, path, archive_error_string(creation->archive));
        }
        left -= (uint64_t)got;
        if (tr_cancelled(creation->call)) {
            (void)tr_fail(creation->call, TR_CANCELLED, NULL, "cancelled");
            return false;
        }
    }
    creation->bytes += (uint64_t)status->st_size;
    creation->files++;
    return true;
}

static bool add(struct creation *creation, int fd, const char *path, unsigned depth);

/* Takes the descriptor. */
static bool add_folder(struct creation *creation, int fd, const char *path, unsigned depth) {
    if (depth == DEPTH_MAX) {
        (void)close(fd);
        return fail_creating(creation, path, "has more than 64 folders");
    }
    DIR *folder = fdopendir(fd);
    if (folder == NULL) {
        (void)close(fd);
        return fail_creating(creation, path, strerror(errno));
    }
    bool done = true;
    for (struct dirent *item; done && (item = readdir(folder)) != NULL;) {
        if (strcmp(item->d_name, ".") == 0 || strcmp(item->d_name, "..") == 0) {
            continue;
        }
        char inside[NAME_SIZE_MAX];
        int length = snprintf(inside, sizeof inside, "%s%s%s", path, path[0] == '\0' ? "" : "/",
                              item->d_name);
        if (length >= (int)sizeof inside) {
            done = fail_creating(creation, path, "has a name that is too long");
            break;
        }
        int next =
                openat(dirfd(folder), item->d_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (next < 0 && (errno == ELOOP || errno == ENXIO)) {
            creation->skipped++; /* a link, a socket */
        } else {
            done = next >= 0 ? add(creation, next, inside, depth + 1)
                             : fail_creating(creation, inside, strerror(errno));
        }
    }
    (void)closedir(folder);
    return done;
}

/* Add what is open by `fd`, which it takes, as `path`. */
static bool add(struct creation *creation, int fd, const char *path, unsigned depth) {
    struct stat status;
    if (fstat(fd, &status) < 0) {
        (void)close(fd);
        return fail_creating(creation, path, strerror(errno));
    }
    bool is_itself =
            status.st_dev == creation->made.st_dev && status.st_ino == creation->made.st_ino;
    if (S_ISDIR(status.st_mode)) {
        if (path[0] != '\0' && !begin_entry(creation, path, &status)) {
            (void)close(fd);
            return false;
        }
        creation->folders += path[0] != '\0';
        return add_folder(creation, fd, path, depth);
    }
    bool done = true;
    if (S_ISREG(status.st_mode) && !is_itself) {
        done = add_file(creation, fd, path, &status);
    } else {
        creation->skipped += !is_itself;
    }
    (void)close(fd);
    return done;
}

/* The files that the argument names, which are paths below `base`. */
static bool add_named(struct creation *creation, int base) {
    struct tr_call *call = creation->call;
    for (unsigned i = 0;; i++) {
        char field[32];
        char clean[NAME_SIZE_MAX];
        char message[PLACE_MESSAGE_SIZE];
        (void)snprintf(field, sizeof field, "files/%u", i);
        const char *path = tr_get_string(call, field, NULL);
        if (path == NULL) {
            return place_is_whole(call, field);
        }
        enum name_fault fault = name_clean(path, clean);
        if (fault == NAME_EMPTY) {
            clean[0] = '\0';
        } else if (fault != NAME_OK && fault != NAME_CHANGED) {
            (void)tr_fail(call, TR_INVALID_ARGUMENTS, field, "%.200s: %s; name it relative to base",
                          path, name_explain(fault));
            return false;
        }
        int fd = place_below(base, path, O_RDONLY | O_NONBLOCK, 0, message);
        if (fd < 0) {
            (void)tr_fail(call, TR_INVALID_ARGUMENTS, field, "%s", message);
            return false;
        }
        if (!add(creation, fd, clean, 0)) {
            return false;
        }
    }
}

static bool create(struct creation *creation, const struct format *format, int fd) {
    struct tr_call *call = creation->call;
    char message[PLACE_MESSAGE_SIZE];
    creation->archive = archive_write_new();
    creation->entry = archive_entry_new();
    if (creation->archive == NULL || creation->entry == NULL || fstat(fd, &creation->made) < 0 ||
        format->set_format(creation->archive) < ARCHIVE_WARN ||
        format->add_filter(creation->archive) < ARCHIVE_WARN ||
        archive_write_set_options(creation->archive, format->options) != ARCHIVE_OK ||
        archive_write_set_bytes_in_last_block(creation->archive, 1) != ARCHIVE_OK ||
        archive_write_open_fd(creation->archive, fd) != ARCHIVE_OK) {
        return fail_creating(creation, tr_get_string(call, "path", ""),
                             creation->archive == NULL ? NULL
                                                       : archive_error_string(creation->archive));
    }
    int base = place_at(tr_get_string(call, "base", ""), O_RDONLY | O_DIRECTORY, 0, message);
    if (base < 0) {
        (void)tr_fail(call, TR_INVALID_ARGUMENTS, "base", "%s", message);
        return false;
    }
    bool done = add_named(creation, base);
    (void)close(base);
    if (done && archive_write_close(creation->archive) != ARCHIVE_OK) {
        done = fail_creating(creation, tr_get_string(call, "path", ""),
                             archive_error_string(creation->archive));
    }
    return done;
}

static tr_status pack(struct tr_call *call) {
    struct creation creation = {.call = call};
    const char *path = tr_get_string(call, "path", "");
    const struct format *format = format_of(path);
    char message[PLACE_MESSAGE_SIZE];
    if (!place_is_granted(call) || !place_is_whole(call, "path") || !place_is_whole(call, "base")) {
        return TR_FAILED;
    }
    if (format == NULL) {
        return tr_fail(call, TR_INVALID_ARGUMENTS, "path",
                       "must end in .tar, .tar.gz, .tgz, .tar.bz2, .tar.xz, .tar.zst or .zip, "
                       "which says what is made");
    }
    int fd = place_at(path, O_RDWR | O_CREAT | O_EXCL, 0644, message);
    if (fd < 0) {
        return tr_fail(call, TR_INVALID_ARGUMENTS, "path", "%s", message);
    }
    bool done = create(&creation, format, fd);
    struct stat made = {0};
    (void)archive_write_free(creation.archive);
    archive_entry_free(creation.entry);
    (void)fstat(fd, &made);
    if (close(fd) < 0 && done) {
        done = fail_creating(&creation, path, strerror(errno));
    }
    if (!done) {
        const char *rest;
        int folder = place_find(path, &rest);
        place_remove(folder, rest);
        return TR_FAILED;
    }
    (void)tr_put_object(call, NULL);
    (void)tr_put_u64(call, "files", creation.files);
    (void)tr_put_u64(call, "folders", creation.folders);
    (void)tr_put_u64(call, "skipped", creation.skipped);
    (void)tr_put_u64(call, "bytes", creation.bytes);
    (void)tr_put_u64(call, "size", (uint64_t)made.st_size);
    return tr_put_end(call);
}

/* clang-format off */
static tr_status archive_list(struct tr_call *call) {
    return in_utf8(call, list);
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
    return in_utf8(call, extract);
}
TR_JSON_TOOL(archive_extract,
    ("Extract, unzip or unpack all that an archive has into a folder, which is made if it is missing. Nothing is "
     "extracted of an archive with links, devices, names that lead out of the folder, or that "
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
    return in_utf8(call, pack);
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
