#include "base/link.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The kernel's limit. */
#define LINKS_MAX 40u

size_t link_next_name(struct link_walk *walk) {
    for (;;) {
        const char *name = walk->rest + strspn(walk->rest, "/");
        size_t length = strcspn(name, "/");
        bool is_dots = length > 0 && length <= 2 && strncmp(name, "..", length) == 0;
        char *slash = is_dots && length == 2 ? strrchr(walk->at, '/') : NULL;
        if (slash != NULL) {
            *slash = '\0';
        }
        name += is_dots ? length : 0;
        memmove(walk->rest, name, strlen(name) + 1);
        if (!is_dots) {
            return length;
        }
    }
}

int link_follow(struct link_walk *walk, const char *link) {
    char target[PATH_MAX];
    char joined[PATH_MAX];
    ssize_t length = readlink(link, target, sizeof target - 1);
    if (length < 0) {
        return errno;
    }
    target[length] = '\0';
    if (++walk->links > LINKS_MAX) {
        return ELOOP;
    }
    int joined_length = snprintf(joined, sizeof joined, "%s/%s", target, walk->rest);
    if (joined_length < 0 || joined_length >= (int)sizeof joined) {
        return ENAMETOOLONG;
    }
    if (target[0] == '/') {
        walk->at[0] = '\0';
    }
    memcpy(walk->rest, joined, (size_t)joined_length + 1);
    return 0;
}
