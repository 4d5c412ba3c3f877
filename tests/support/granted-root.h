/* granted-root.h - a host, as far as a plugin's parts need one to open the folders that it has
 * granted: one, `root` within the temporary folder `work`. Included after cmocka, by tests that are
 * made of a plugin's sources. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <toolrack/ext/paths.h>
#include <toolrack/plugin.h>

static char work[64];
static char root[80];

static bool granted_get_path(void *plugin, uint64_t index, struct tr_path *ret) {
    (void)plugin;
    ret->path = root;
    ret->flags = TR_PATH_WRITES;
    return index == 0;
}

static const void *granted_get_extension(struct tr_host *host, const char *id) {
    static const struct tr_paths_host paths = {.size = sizeof paths, .get = granted_get_path};
    (void)host;
    return strcmp(id, TR_EXT_PATHS) == 0 ? &paths : NULL;
}

/* Nothing is to be said of a folder that can be used. */
static void granted_say(struct tr_host *host, int32_t level, const char *message) {
    (void)host;
    (void)level;
    fail_msg("%s", message);
}

/** For struct tr_host. */
static const struct tr_host_api granted_api = {
        .size = sizeof granted_api, .log = granted_say, .get_extension = granted_get_extension};

/** The path of a name in `work`. */
static const char *in_work(const char *name, char path[300]) {
    (void)snprintf(path, 300, "%s/%s", work, name);
    return path;
}

/** Make `work` and `root`. */
static void granted_make(void) {
    (void)snprintf(work, sizeof work, "/tmp/toolrack-granted-XXXXXX");
    assert_non_null(mkdtemp(work));
    (void)snprintf(root, sizeof root, "%s/root", work);
    assert_int_equal(mkdir(root, 0700), 0);
}
