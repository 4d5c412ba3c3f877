/* image-host.h - what a plugin may use of its host. */
#pragma once

#include <stdbool.h>

#include "base/log.h"

/* What a plugin reports by its extensions, in a call or outside. */
enum plugin_notice {
    NOTICE_RESOURCES, /* the lists of resources and templates have changed */
    NOTICE_UPDATED,   /* the content of a resource; with its URI */
    NOTICE_PROMPTS,   /* the list of prompts */
    NOTICE_ENABLE,    /* a tool of it is to be enabled, or disabled; with its name */
    NOTICE_DISABLE,
    NOTICE_COUNT
};

/* Longest text of a notice; a longer one is left out. */
#define NOTICE_TEXT_MAX 1000u

/* A path that the plugin was granted. */
struct image_path {
    const char *path; /* NULL ends a list */
    bool writes;
    bool is_own; /* ${data} */
};

struct image_host {
    const char *file; /* what messages call the file; NULL: its path */
    const struct log *log;
    /* The plugin's setting at a path as JSON or plain text, or NULL; valid until open() returns. */
    const char *(*config)(void *user, const char *plugin_id, const char *path);
    /* The plugin reports something; `text` is its own, of any bytes, or NULL. Must not wait. NULL:
     * nobody hears it. [any-thread] */
    void (*notice)(void *user, const char *plugin_id, enum plugin_notice notice, const char *text);
    void *user;
    const struct image_path *paths; /* what was granted, as long as the image; NULL: nothing */
};
