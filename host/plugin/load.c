#include "plugin/load.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/error.h"

/* Under AddressSanitizer images stay mapped: its reports come at the end, and could not name what
 * has been unmapped, nor see what its data point to. */
#if defined(__SANITIZE_ADDRESS__)
#define KEEP_MAPPED true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define KEEP_MAPPED true
#endif
#endif
#ifndef KEEP_MAPPED
#define KEEP_MAPPED false
#endif

struct image {
    void *handle;                       /* from dlopen; NULL for memory of the app */
    const struct tr_tool *const *tools; /* the loaded table; NULL for memory of the app */
    void (*close)(void);                /* or NULL */
};

/* ------------------------------------------------------ the host's side of open() */

struct open_host {
    struct tr_host base; /* first: the plugin holds a pointer to it */
    const struct image_host *host;
    const char *plugin_id;
    char reason[TOOLRACK_ERROR_MESSAGE_MAX];
};

static struct open_host *open_host_of(struct tr_host *base) {
    return (struct open_host *)base;
}

static tr_status host_config(struct tr_host *base, const char *path, const char **ret) {
    struct open_host *open = open_host_of(base);
    const char *value = NULL;
    if (open->host->config != NULL && path != NULL) {
        value = open->host->config(open->host->user, open->plugin_id, path);
    }
    if (value == NULL) {
        return TR_ABSENT;
    }
    *ret = value;
    return TR_OK;
}

static void host_log(struct tr_host *base, int32_t level, const char *message) {
    struct open_host *open = open_host_of(base);
    log_line(open->host->log, level, open->plugin_id, "%s", message != NULL ? message : "");
}

static tr_status host_fail(struct tr_host *base, const char *message) {
    struct toolrack_error text; /* cuts at a character, keeps it one line */
    (void)error_set(&text, TOOLRACK_E_EXECUTION_FAILED, "%s", message != NULL ? message : "");
    memcpy(open_host_of(base)->reason, text.message, sizeof text.message);
    return TR_FAILED;
}

static const void *host_get_extension(struct tr_host *base, const char *id) {
    (void)base;
    (void)id; /* this host offers none yet */
    return NULL;
}

static const struct tr_host_api host_api = {
        .size = sizeof(struct tr_host_api),
        .config = host_config,
        .log = host_log,
        .fail = host_fail,
        .get_extension = host_get_extension,
};

static int call_open(const struct tr_plugin *plugin, const char *id, const struct image_host *host,
                     struct toolrack_error *err) {
    if (plugin->open == NULL) {
        return 0;
    }
    struct open_host open = {.base = {.api = &host_api}, .host = host, .plugin_id = id};
    if (plugin->open(&open.base) == TR_OK) {
        return 0;
    }
    return error_set(err, TOOLRACK_E_EXECUTION_FAILED, "plugin '%s' could not open: %s", id,
                     open.reason[0] != '\0' ? open.reason : "it does not say why");
}

/* ------------------------------------------------------------------ from a file */

/* The path a shared object is opened by must hold a slash, or dlopen searches elsewhere. */
static void *open_object(const char *path) {
    if (strchr(path, '/') != NULL) {
        return dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    CLEANUP(freep) char *here = NULL;
    if (asprintf(&here, "./%s", path) < 0) {
        here = NULL;
        return NULL;
    }
    return dlopen(here, RTLD_NOW | RTLD_LOCAL);
}

static int check_unchanged(const char *path, const struct file_identity *identity,
                           struct toolrack_error *err) {
    struct stat st;
    if (stat(path, &st) < 0) {
        return error_set(err, TOOLRACK_E_REFUSED, "%s is gone; start the host again", path);
    }
    struct file_identity found = identity_of(&st);
    if (!identity_same(&found, identity)) {
        return error_set(err, TOOLRACK_E_REFUSED,
                         "%s has changed since it was read; start the host again", path);
    }
    return 0;
}

/* The table in memory must be the one that was read: nobody agreed to another. */
static int check_table(const struct tr_plugin *loaded, const char *path,
                       const struct descriptor *desc, struct toolrack_error *err) {
    CLEANUP(descriptor_unrefp) struct descriptor *copy = NULL;
    int code = descriptor_copy(loaded, &(struct descriptor_options){0}, &copy, err);
    if (code < 0) {
        return code;
    }
    return descriptor_same(desc, copy)
                   ? 0
                   : error_set(err, TOOLRACK_E_REFUSED,
                               "%s has another descriptor once loaded than its file says; its "
                               "author must keep the descriptor constant",
                               path);
}

/* Find, check and open what dlopen brought. */
static int open_image(struct image *image, const char *path, const struct descriptor *desc,
                      const struct image_host *host, struct toolrack_error *err) {
    const struct tr_plugin *plugin = dlsym(image->handle, "toolrack_plugin");
    if (plugin == NULL) {
        return error_set(err, TOOLRACK_E_REFUSED, "%s has no toolrack_plugin once loaded", path);
    }
    int code = check_table(plugin, path, desc, err);
    if (code == 0) {
        code = call_open(plugin, desc->plugin->id, host, err);
    }
    if (code == 0) {
        image->tools = plugin->tools;
        image->close = plugin->close;
    }
    return code;
}

int image_load(const char *path, const struct file_identity *identity,
               const struct descriptor *desc, const struct image_host *host, struct image **ret,
               struct toolrack_error *err) {
    int code = check_unchanged(path, identity, err);
    if (code < 0) {
        return code;
    }
    CLEANUP(freep) struct image *image = calloc(1, sizeof *image);
    if (image == NULL) {
        return error_oom(err);
    }
    image->handle = open_object(path);
    if (image->handle == NULL) {
        const char *reason = dlerror();
        return error_set(err, TOOLRACK_E_REFUSED, "cannot load %s: %s", path,
                         reason != NULL ? reason : "out of memory");
    }
    code = open_image(image, path, desc, host, err);
    if (code < 0) {
        (void)dlclose(image->handle);
        return code;
    }
    *ret = STEAL(image);
    return 0;
}

int image_adopt(const struct tr_plugin *plugin, const struct descriptor *desc,
                const struct image_host *host, struct image **ret, struct toolrack_error *err) {
    CLEANUP(freep) struct image *image = calloc(1, sizeof *image);
    if (image == NULL) {
        return error_oom(err);
    }
    int code = call_open(plugin, desc->plugin->id, host, err);
    if (code < 0) {
        return code;
    }
    image->close = plugin->close;
    *ret = STEAL(image);
    return 0;
}

void image_unload(struct image *image) {
    if (image == NULL) {
        return;
    }
    if (image->close != NULL) {
        image->close();
    }
    if (image->handle != NULL && !KEEP_MAPPED) {
        (void)dlclose(image->handle);
    }
    free(image);
}

void image_entry(const struct image *image, const struct descriptor_tool *tool,
                 void (**ret_function)(void), tr_status (**ret_run)(struct tr_call *call)) {
    const struct tr_tool *entry = image->tools != NULL ? image->tools[tool->index] : tool->tool;
    *ret_function = entry->function;
    *ret_run = entry->run;
}
