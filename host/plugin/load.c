#include "plugin/load.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/command.h"
#include "base/error.h"
#include "base/sanitizer.h"
#include "base/utf8.h"
#include "plugin/extension.h"
#include "plugin/threads.h"

/* Under AddressSanitizer images stay mapped: it reports at exit, and then cannot name symbols of
 * unmapped images or follow pointers in their data. */
#define KEEP_MAPPED (SANITIZER_ADDRESS != 0)

struct image {
    void *handle;                       /* from dlopen; NULL for memory of the app */
    const struct tr_tool *const *tools; /* the loaded table; NULL for memory of the app */
    void (*close)(void);                /* or NULL */
    uint64_t loaded;                    /* when: threads_moment() */
    bool has_thread_locals;
    bool starts_threads;
    char resident_reason[UNLOAD_CAUSE_MAX]; /* from its descriptor, or "" */
    struct extensions *extensions;          /* what the plugin may use as long as it is open */
    offer_function *offers[OFFER_COUNT];    /* NULL: not stated in its flags */
};

/* ------------------------------------------------------ the host's side of open() */

struct open_host {
    struct tr_host base; /* must be first: the plugin has a pointer to it */
    const struct image_host *host;
    const char *plugin_id;
    struct extensions *extensions;
    char reason[ERROR_MESSAGE_MAX];
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
    struct toolrack_error text; /* cuts between characters, makes it one line */
    (void)error_set(&text, TOOLRACK_E_EXECUTION_FAILED, "%s", message != NULL ? message : "");
    memcpy(open_host_of(base)->reason, text.message, sizeof text.message);
    return TR_FAILED;
}

static const void *host_get_extension(struct tr_host *base, const char *id) {
    return extensions_get(open_host_of(base)->extensions, id);
}

static const struct tr_host_api host_api = {
        .size = sizeof(struct tr_host_api),
        .config = host_config,
        .log = host_log,
        .fail = host_fail,
        .get_extension = host_get_extension,
};

static int call_open(const struct tr_plugin *plugin, const char *id, const struct image_host *host,
                     struct image *image, struct toolrack_error *err) {
    int code = offers_find(plugin, image->offers, err);
    if (code < 0) {
        return code;
    }
    image->extensions = extensions_create(host, id);
    if (image->extensions == NULL) {
        return error_oom(err);
    }
    if (plugin->open == NULL) {
        return 0;
    }
    struct open_host open = {.base = {.api = &host_api},
                             .host = host,
                             .plugin_id = id,
                             .extensions = image->extensions};
    if (plugin->open(&open.base) == TR_OK) {
        return 0;
    }
    return error_set(err, TOOLRACK_E_EXECUTION_FAILED, "plugin '%s' could not open: %s", id,
                     open.reason[0] != '\0' ? open.reason : "it does not say why");
}

/* ------------------------------------------------------------------ from a file */

static void copy_text(char *to, size_t room, const char *from) {
    size_t length = strnlen(from, room - 1);
    length = from[length] == '\0' ? length : utf8_cut(from, length);
    memcpy(to, from, length);
    to[length] = '\0';
}

/* The path must contain a slash, otherwise dlopen() searches the library path. */
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

static const char *file_of(const struct image_host *host, const char *path) {
    return host->file != NULL ? host->file : path;
}

/* Find, check and open the plugin in the loaded object. */
static int open_image(struct image *image, const char *path, const struct descriptor *desc,
                      const struct image_host *host, struct toolrack_error *err) {
    const struct tr_plugin *plugin = dlsym(image->handle, "toolrack_plugin");
    if (plugin == NULL) {
        return error_set(err, TOOLRACK_E_REFUSED, "%s, once loaded, has no symbol toolrack_plugin",
                         file_of(host, path));
    }
    CLEANUP(descriptor_unrefp) struct descriptor *copy = NULL;
    int code = descriptor_copy(plugin, &(struct descriptor_options){0}, &copy, err);
    if (code < 0) {
        return code;
    }
    /* The table in memory must equal the table that was read: only that one was checked. */
    if (!descriptor_same(desc, copy)) {
        return error_set(err, TOOLRACK_E_REFUSED,
                         "the loaded descriptor of %s differs from the one in its file; its "
                         "author must keep the descriptor constant",
                         file_of(host, path));
    }
    code = call_open(plugin, desc->plugin->id, host, image, err);
    if (code == 0) {
        image->tools = plugin->tools;
        image->close = plugin->close;
    }
    return code;
}

/* Whether the rules of plugin files have what the loader says. */
static bool has_rule(const char *reason) {
    static const char own_block[] = "cannot allocate memory in static TLS block";
    return strstr(reason, "cannot open shared object file") != NULL ||
           strstr(reason, "undefined symbol") != NULL ||
           strncmp(reason, own_block, sizeof own_block - 1) == 0;
}

int image_load(const char *path, const struct file_identity *identity,
               const struct descriptor *desc, const struct image_host *host, struct image **ret,
               struct toolrack_error *err) {
    struct stat st;
    if (stat(path, &st) < 0) {
        return error_set(err, TOOLRACK_E_REFUSED, "%s is gone; reload the plugin",
                         file_of(host, path));
    }
    struct file_identity found = identity_of(&st);
    if (!identity_same(&found, identity)) {
        return error_set(err, TOOLRACK_E_REFUSED,
                         "%s has changed since it was read; reload the plugin",
                         file_of(host, path));
    }
    CLEANUP(freep) struct image *image = calloc(1, sizeof *image);
    if (image == NULL) {
        return error_oom(err);
    }
    image->loaded = threads_moment();
    image->has_thread_locals = desc->has_thread_locals;
    image->starts_threads = (desc->plugin->flags & TR_STARTS_THREADS) != 0;
    copy_text(image->resident_reason, sizeof image->resident_reason,
              desc->resident_reason != NULL ? desc->resident_reason : "");
    image->handle = open_object(path);
    if (image->handle == NULL) {
        /* The author knows the file, not the host's copy of it. */
        const char *reason = dlerror();
        size_t length = strlen(path);
        if (reason != NULL && strncmp(reason, path, length) == 0 && reason[length] == ':') {
            reason += length + strspn(reason + length, ": ");
        }
        reason = reason != NULL ? reason : "out of memory";
        return error_set(err, TOOLRACK_E_REFUSED, "cannot load plugin '%s' from %s: %s%s%s",
                         desc->plugin->id, file_of(host, path), reason,
                         has_rule(reason) ? "; what else is known of that file: " : "",
                         has_rule(reason) ? COMMAND("check", file_of(host, path)) : "");
    }
    int code = open_image(image, path, desc, host, err);
    if (code < 0) {
        (void)image_unload(STEAL(image)); /* its constructors and its open() have run */
        return code;
    }
    *ret = STEAL(image);
    return 0;
}

static int has_path(struct dl_phdr_info *info, size_t size, void *user) {
    (void)size;
    return strcmp(info->dlpi_name, user) == 0;
}

bool image_is_mapped(const char *path) {
    return dl_iterate_phdr(has_path, (void *)(uintptr_t)path) != 0;
}

int image_adopt(const struct tr_plugin *plugin, const struct descriptor *desc,
                const struct image_host *host, struct image **ret, struct toolrack_error *err) {
    CLEANUP(freep) struct image *image = calloc(1, sizeof *image);
    if (image == NULL) {
        return error_oom(err);
    }
    int code = call_open(plugin, desc->plugin->id, host, image, err);
    if (code < 0) {
        extensions_destroy(image->extensions);
        return code;
    }
    image->close = plugin->close;
    *ret = STEAL(image);
    return 0;
}

/* ------------------------------------------------------------------- unloading */

/* What the loader has mapped at the address and under the path of an image. */
struct mapped {
    uintptr_t address;
    const char *path;
    bool found;
    uintptr_t code_begin; /* including everything between its executable segments */
    uintptr_t code_end;
};

static int look_at_object(struct dl_phdr_info *info, size_t size, void *user) {
    (void)size;
    struct mapped *mapped = user;
    if (info->dlpi_addr != mapped->address || strcmp(info->dlpi_name, mapped->path) != 0) {
        return 0;
    }
    mapped->found = true;
    mapped->code_begin = UINTPTR_MAX;
    for (ElfW(Half) i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type == PT_LOAD && (header->p_flags & PF_X) != 0) {
            uintptr_t begin = info->dlpi_addr + header->p_vaddr;
            uintptr_t end = begin + header->p_memsz;
            mapped->code_begin = begin < mapped->code_begin ? begin : mapped->code_begin;
            mapped->code_end = end > mapped->code_end ? end : mapped->code_end;
        }
    }
    return 1;
}

static struct mapped find_mapped(const struct unload *unload) {
    struct mapped mapped = {.address = unload->address, .path = unload->path};
    (void)dl_iterate_phdr(look_at_object, &mapped);
    return mapped;
}

static void decide(struct unload *unload, enum unload_verdict verdict, const char *cause) {
    unload->verdict = verdict;
    copy_text(unload->cause, sizeof unload->cause, cause);
}

/* Close the handle. False, with the verdict, when it cannot be closed. */
static bool close_object(struct unload *unload) {
    struct mapped mapped = find_mapped(unload);
    switch (threads_in(mapped.code_begin, mapped.code_end, unload->loaded)) {
    case THREADS_SOME:
        decide(unload, UNLOAD_PENDING, "a thread of the plugin still runs");
        return false;
    case THREADS_UNKNOWN:
        if (unload->starts_threads) {
            decide(unload, UNLOAD_RESIDENT,
                   "the plugin starts threads, and without /proc nobody knows whether they ended");
            return false;
        }
        break;
    case THREADS_NONE: break;
    }
    (void)dlclose(unload->handle);
    unload->handle = NULL;
    return true;
}

static void decide_by_look(struct unload *unload) {
    if (!find_mapped(unload).found) {
        decide(unload, UNLOAD_GONE, "");
    } else if (unload->resident_reason[0] != '\0') {
        decide(unload, UNLOAD_RESIDENT, unload->resident_reason);
    } else if (unload->has_thread_locals) {
        decide(unload, UNLOAD_PENDING, "a destructor of a thread-local variable is registered");
    } else {
        decide(unload, UNLOAD_PENDING, "something else in the process has it open");
    }
}

void unload_recheck(struct unload *unload) {
    if (unload->verdict == UNLOAD_GONE || KEEP_MAPPED) {
        return;
    }
    if (unload->handle != NULL) {
        if (!close_object(unload)) {
            return;
        }
    } else {
        /* A library that was kept for a destructor is unmapped only when the loader next closes a
         * library: so this library is opened and closed again. */
        void *handle = dlopen(unload->path, RTLD_NOLOAD | RTLD_LAZY | RTLD_LOCAL);
        if (handle != NULL) {
            (void)dlclose(handle);
        }
    }
    decide_by_look(unload);
}

struct unload image_unload(struct image *image) {
    struct unload unload = {.verdict = UNLOAD_GONE};
    if (image == NULL) {
        return unload;
    }
    if (image->close != NULL) {
        image->close();
    }
    unload.handle = image->handle;
    unload.loaded = image->loaded;
    unload.has_thread_locals = image->has_thread_locals;
    unload.starts_threads = image->starts_threads;
    if (image->handle != NULL) {
        struct link_map *map = NULL;
        if (dlinfo(image->handle, RTLD_DI_LINKMAP, &map) == 0) {
            unload.address = map->l_addr;
            copy_text(unload.path, sizeof unload.path, map->l_name);
        }
        memcpy(unload.resident_reason, image->resident_reason, sizeof unload.resident_reason);
        if (KEEP_MAPPED) {
            decide(&unload, UNLOAD_RESIDENT, "kept for the sanitizer");
        } else if (close_object(&unload)) {
            decide_by_look(&unload);
        }
    }
    if (unload.handle == NULL || KEEP_MAPPED) { /* else a thread of it still runs */
        extensions_destroy(image->extensions);
    }
    free(image);
    return unload;
}

void image_entry(const struct image *image, const struct descriptor_tool *tool,
                 void (**ret_function)(void), tr_status (**ret_run)(struct tr_call *call)) {
    if (offer_is(tool->index)) {
        *ret_function = NULL;
        *ret_run = image->offers[tool->index - OFFER_INDEX_FIRST];
        return;
    }
    const struct tr_tool *entry = image->tools != NULL ? image->tools[tool->index] : tool->tool;
    *ret_function = entry->function;
    *ret_run = entry->run;
}
