/* An archive from anywhere (plugins/archive): it is listed and read within the limits, and the name
 * of what is not refused is a path that stays below the folder, in UTF-8, without control
 * characters. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/utf8.h"
#include "member.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds) {
        abort();
    }
}

static void check_name(const char *name) {
    size_t length = strlen(name);
    require(length > 0 && length < NAME_SIZE_MAX && utf8_valid(name, length));
    require(name[0] != '/' && name[length - 1] != '/' && strstr(name, "//") == NULL);
    for (const char *part = name; part != NULL; part = strchr(part, '/')) {
        part += part != name;
        size_t part_length = strcspn(part, "/");
        require(part_length <= 255 && !(part_length == 1 && part[0] == '.') &&
                !(part_length == 2 && memcmp(part, "..", 2) == 0));
    }
    for (size_t i = 0; i < length; i++) {
        require((unsigned char)name[i] >= ' ' && name[i] != 0x7f && name[i] != '\\');
    }
}

static void read_all(int fd) {
    struct members members;
    struct member member;
    uint64_t read = 0;
    if (members_init(&members, fd)) {
        while (members_next(&members, &member) > 0) {
            if (member.refused != NULL || member.is_whole) {
                continue;
            }
            check_name(member.name);
            const void *bytes;
            uint64_t length;
            int64_t at;
            while (read < MEMBER_TOTAL_MAX && members_read(&members, &bytes, &length, &at) > 0) {
                read += length;
            }
        }
        require(members.count <= MEMBER_COUNT_MAX + 1);
    }
    members_finish(&members);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char name[NAME_SIZE_MAX];
    char *text = malloc(size + 1);
    int fd = memfd_create("archive", MFD_CLOEXEC);
    require(text != NULL && fd >= 0 && write(fd, data, size) == (ssize_t)size);
    read_all(fd);
    memcpy(text, data, size);
    text[size] = '\0';
    enum name_fault fault = name_clean(text, name);
    if (fault == NAME_OK || fault == NAME_CHANGED) {
        check_name(name);
    }
    if (fault == NAME_OK) { /* but for "./" before it, and a slash at its end */
        const char *given = strncmp(text, "./", 2) == 0 ? text + 2 : text;
        require(strncmp(given, name, strlen(name)) == 0 && strlen(given) <= strlen(name) + 1);
    }
    (void)close(fd);
    free(text);
    return 0;
}
