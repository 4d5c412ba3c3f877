/* unpack.c - listing and extracting. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../shared/place.h"
#include "member.h"
#include "names.h"
#include "work.h"

/* A folder to write to, which is made if it is missing. */
#define FOLDER_MADE (O_RDONLY | O_DIRECTORY | O_CREAT)

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

tr_status unpack_list(struct tr_call *call) {
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

static void say_conflict(struct tr_call *call, const char *name, bool is_folder) {
    (void)tr_fail(call, TR_FAILED, NULL,
                  is_folder ? "nothing was extracted: \"%.200s\" is a file and a folder in it"
                            : "nothing was extracted: \"%.200s\" is in it more than once; with "
                              "overwrite the last one is kept",
                  name);
}

/* The first time: whether the archive can be extracted. All failures are TR_FAILED, since another
 * code could be taken for one of a call that had begun to write. */
static bool inspect(struct extraction *extraction, int fd) {
    struct tr_call *call = extraction->call;
    struct members members;
    struct member member;
    struct names names = {0};
    int found = members_init(&members, fd) ? 1 : -1;
    while (found > 0 && (found = members_next(&members, &member)) > 0) {
        if (member.refused != NULL && !extraction->skips) {
            (void)tr_fail(call, TR_FAILED, NULL,
                          "nothing was extracted: \"%.200s\" is refused, since %s; skip_unsafe "
                          "leaves such members out",
                          member.raw, member.refused);
            break;
        }
        if (member.refused == NULL && !member.is_whole &&
            !names_add(&names, member.name, member.type == MEMBER_FOLDER)) {
            (void)tr_fail(call, TR_FAILED, NULL, "nothing was extracted: no memory is left");
            break;
        }
        if (tr_cancelled(call)) {
            (void)tr_fail(call, TR_CANCELLED, NULL, "cancelled");
            break;
        }
    }
    bool is_folder = false;
    const char *twice =
            found == 0 ? names_find_conflict(&names, extraction->overwrites, &is_folder) : NULL;
    if (found < 0) {
        (void)tr_fail(call, TR_FAILED, NULL, "nothing was extracted: %.300s: %s",
                      tr_get_string(call, "path", ""), members.message);
    } else if (twice != NULL) {
        say_conflict(call, twice, is_folder);
    }
    names_finish(&names);
    members_finish(&members);
    return found == 0 && twice == NULL;
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

tr_status unpack_extract(struct tr_call *call) {
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
