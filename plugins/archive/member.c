#include "member.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK_SIZE 65536

/* Formats and compressions that libarchive reads by itself; of the others some start programs. */
static bool set_formats(struct archive *archive) {
    return archive_read_support_format_tar(archive) == ARCHIVE_OK &&
           archive_read_support_format_zip(archive) == ARCHIVE_OK &&
           archive_read_support_format_7zip(archive) == ARCHIVE_OK &&
           archive_read_support_format_cpio(archive) == ARCHIVE_OK &&
           archive_read_support_filter_gzip(archive) == ARCHIVE_OK &&
           archive_read_support_filter_bzip2(archive) == ARCHIVE_OK &&
           archive_read_support_filter_xz(archive) == ARCHIVE_OK &&
           archive_read_support_filter_zstd(archive) == ARCHIVE_OK;
}

static bool fail(struct members *members, const char *message) {
    (void)snprintf(members->message, sizeof members->message, "%s", message);
    return false;
}

/* libarchive's own words, which may be missing. */
static bool fail_by_library(struct members *members) {
    const char *said = archive_error_string(members->archive);
    if (said != NULL && strcmp(said, "Unrecognized archive format") == 0) {
        return fail(members, "is damaged, or no archive that is read: tar, zip, 7z or cpio, packed "
                             "by gzip, bzip2, xz or zstd; others, such as RAR, are not");
    }
    return fail(members, said != NULL ? said : "the archive is damaged");
}

bool members_init(struct members *members, int fd) {
    *members = (struct members){0};
    struct stat status;
    if (fstat(fd, &status) < 0) {
        return fail(members, strerror(errno));
    }
    if (!S_ISREG(status.st_mode)) {
        return fail(members, "is no regular file");
    }
    if (lseek(fd, 0, SEEK_SET) < 0) {
        return fail(members, strerror(errno));
    }
    members->file_size = (uint64_t)status.st_size;
    members->archive = archive_read_new();
    if (members->archive == NULL || !set_formats(members->archive)) {
        return fail(members, "libarchive cannot be used, or no memory is left");
    }
    return archive_read_open_fd(members->archive, fd, BLOCK_SIZE) == ARCHIVE_OK ||
           fail_by_library(members);
}

void members_finish(struct members *members) {
    if (members->archive != NULL) {
        (void)archive_read_free(members->archive);
        members->archive = NULL;
    }
}

/* Names in UTF-8 where the format says so, else the bytes as they are. */
static const char *text_of(const char *utf8, const char *bytes) {
    return utf8 != NULL ? utf8 : bytes != NULL ? bytes : "";
}

/* Against bombs: by what members say before it is unpacked, and by what comes. */
static bool within_limits(struct members *members, uint64_t more) {
    uint64_t streamed = (uint64_t)archive_filter_bytes(members->archive, 0);
    bool is_packed = archive_filter_count(members->archive) > 1;
    members->unpacked = more > MEMBER_TOTAL_MAX ? MEMBER_TOTAL_MAX + 1 : members->unpacked + more;
    uint64_t size = is_packed && streamed > members->unpacked ? streamed : members->unpacked;
    if (size > MEMBER_TOTAL_MAX) {
        (void)snprintf(members->message, sizeof members->message,
                       "unpacks to more than %u MiB, the most that is extracted",
                       (unsigned)(MEMBER_TOTAL_MAX >> 20));
        members->is_limit = true;
        return false;
    }
    if (size > MEMBER_RATIO_FROM && size / MEMBER_RATIO_MAX > members->file_size) {
        (void)snprintf(members->message, sizeof members->message,
                       "unpacks to more than %d times its size, as a bomb does", MEMBER_RATIO_MAX);
        members->is_limit = true;
        return false;
    }
    return true;
}

static enum member_type type_of(struct archive_entry *entry, const char **ret_link) {
    if (archive_entry_hardlink(entry) != NULL || archive_entry_hardlink_utf8(entry) != NULL) {
        *ret_link = text_of(archive_entry_hardlink_utf8(entry), archive_entry_hardlink(entry));
        return MEMBER_HARD_LINK;
    }
    switch (archive_entry_filetype(entry)) {
    case AE_IFREG: return MEMBER_FILE;
    case AE_IFDIR: return MEMBER_FOLDER;
    case AE_IFLNK:
        *ret_link = text_of(archive_entry_symlink_utf8(entry), archive_entry_symlink(entry));
        return MEMBER_LINK;
    default: return MEMBER_OTHER;
    }
}

static const char *refuse(const struct member *member, struct archive_entry *entry) {
    switch (member->type) {
    case MEMBER_LINK: return "it is a symbolic link";
    case MEMBER_HARD_LINK: return "it is a hard link";
    case MEMBER_OTHER: return "it is a device, a fifo or a socket";
    default: break;
    }
    if ((archive_entry_perm(entry) & (S_ISUID | S_ISGID)) != 0 && member->type == MEMBER_FILE) {
        return "it is a program that runs as another user or group (setuid, setgid)";
    }
    return archive_entry_is_encrypted(entry) ? "it is encrypted" : NULL;
}

int members_next(struct members *members, struct member *ret) {
    int code = archive_read_next_header(members->archive, &members->entry);
    if (code == ARCHIVE_EOF) {
        return within_limits(members, 0) ? 0 : -1;
    }
    /* A warning is about a name that cannot be shown in the locale, which text_of() can. */
    if (code != ARCHIVE_OK && code != ARCHIVE_WARN) {
        (void)fail_by_library(members);
        return -1;
    }
    if (++members->count > MEMBER_COUNT_MAX) {
        (void)snprintf(members->message, sizeof members->message, "has more than %d members",
                       MEMBER_COUNT_MAX);
        members->is_limit = true;
        return -1;
    }
    struct archive_entry *entry = members->entry;
    const char *name = text_of(archive_entry_pathname_utf8(entry), archive_entry_pathname(entry));
    *ret = (struct member){
            .is_program = (archive_entry_perm(entry) & S_IXUSR) != 0,
            .has_size = archive_entry_size_is_set(entry) != 0,
            .size = archive_entry_size(entry) > 0 ? (uint64_t)archive_entry_size(entry) : 0,
            .modified = archive_entry_mtime_is_set(entry) ? (int64_t)archive_entry_mtime(entry)
                                                          : INT64_MIN,
    };
    (void)snprintf(ret->raw, sizeof ret->raw, "%s", name);
    ret->type = type_of(entry, &ret->link);
    enum name_fault fault = name_clean(name, ret->name);
    ret->is_renamed = fault == NAME_CHANGED;
    ret->is_whole = fault == NAME_EMPTY && ret->type == MEMBER_FOLDER;
    ret->refused = refuse(ret, entry);
    if (ret->refused == NULL && fault != NAME_OK && fault != NAME_CHANGED && !ret->is_whole) {
        ret->refused = name_explain(fault);
    }
    return within_limits(members, ret->size) ? 1 : -1;
}

int members_read(struct members *members, const void **ret_bytes, uint64_t *ret_size,
                 int64_t *ret_at) {
    size_t size = 0;
    la_int64_t at = 0;
    int code = archive_read_data_block(members->archive, ret_bytes, &size, &at);
    if (code == ARCHIVE_EOF) {
        return 0;
    }
    if (code != ARCHIVE_OK && code != ARCHIVE_WARN) {
        (void)fail_by_library(members);
        return -1;
    }
    *ret_size = size;
    *ret_at = at;
    return 1;
}

void members_format(const struct members *members, char *ret, uint64_t size) {
    const char *format = archive_format_name(members->archive);
    const char *filter = archive_filter_name(members->archive, 0);
    bool is_packed = archive_filter_count(members->archive) > 1 && filter != NULL;
    (void)snprintf(ret, size, "%s%s%s", format != NULL ? format : "empty", is_packed ? ", " : "",
                   is_packed ? filter : "");
}

const char *member_type_name(enum member_type type) {
    static const char *const names[] = {"file", "folder", "link", "hard link", "device"};
    return names[type];
}
