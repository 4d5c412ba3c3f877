/* create.c - making archives. */
#include <archive.h>
#include <archive_entry.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../shared/place.h"
#include "member.h"
#include "work.h"

#define DEPTH_MAX   64
#define BUFFER_SIZE 65536

struct creation {
    struct tr_call *call;
    struct archive *archive;
    struct archive_entry *entry; /* of the file that is written now; reused */
    struct stat made;            /* the archive itself, which it does not take in */
    void *added;                 /* tree of struct added, by tsearch() */
    uint32_t files;
    uint32_t folders;
    uint32_t skipped; /* links, devices and the like */
    uint64_t bytes;
};

/* A member by its name, and the file that it is of. */
struct added {
    dev_t device;
    ino_t inode;
    char name[];
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
    (void)tr_fail(creation->call, TR_FAILED, NULL, "no archive was made: %.300s: %s", path,
                  why != NULL ? why : "cannot be added");
    return false;
}

static int compare_added(const void *one, const void *two) {
    const struct added *first = one;
    const struct added *second = two;
    return strcmp(first->name, second->name);
}

/* Note a member; false: it is not to be added, as it is there already (the arguments may name a
 * folder and a file in it), or the call has failed. */
static bool note(struct creation *creation, const char *path, const struct stat *status,
                 bool *ret_failed) {
    size_t length = strlen(path) + 1;
    struct added *added = malloc(sizeof *added + length);
    *ret_failed = true;
    if (added == NULL) {
        return fail_creating(creation, path, "no memory is left");
    }
    added->device = status->st_dev;
    added->inode = status->st_ino;
    memcpy(added->name, path, length);
    struct added **found = tsearch(added, &creation->added, compare_added);
    if (found != NULL && *found == added) {
        *ret_failed = false;
        return true;
    }
    bool is_same =
            found != NULL && (*found)->inode == added->inode && (*found)->device == added->device;
    free(added);
    if (found == NULL || !is_same) {
        return fail_creating(creation, path,
                             found == NULL ? "no memory is left"
                                           : "two files would have this name in the archive");
    }
    *ret_failed = false;
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
        (void)tr_fail(creation->call, TR_INVALID_ARGUMENTS, "files",
                      "no archive was made: there are more than %d files and folders",
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
        (void)tr_fail(creation->call, TR_INVALID_ARGUMENTS, "files",
                      "no archive was made: with %.200s the files have more than %u MiB", path,
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
    bool failed = false;
    bool is_member =
            path[0] != '\0' && !is_itself && (S_ISDIR(status.st_mode) || S_ISREG(status.st_mode));
    if (is_member && !note(creation, path, &status, &failed)) {
        (void)close(fd);
        return !failed;
    }
    if (S_ISDIR(status.st_mode)) {
        if (path[0] != '\0' && !begin_entry(creation, path, &status)) {
            (void)close(fd);
            return false;
        }
        creation->folders += path[0] != '\0';
        return add_folder(creation, fd, path, depth);
    }
    bool done = true;
    if (is_member) {
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

tr_status create_archive(struct tr_call *call) {
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
    tdestroy(creation.added, free);
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
