#include "author/image.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "toolrack/plugin.h"

/* The plugin's calls of malloc() and its like go through slots of its own image, which the loader
 * has filled in. Each is set to a function of this file, or each of the libraries that came with
 * the plugin. The host's allocations do not fail, nor those of libraries that the host has itself,
 * such as libc. */

#if defined(__x86_64__)
#define RELOCATION_SLOT R_X86_64_JUMP_SLOT
#define RELOCATION_DATA R_X86_64_GLOB_DAT
#elif defined(__aarch64__)
#define RELOCATION_SLOT R_AARCH64_JUMP_SLOT
#define RELOCATION_DATA R_AARCH64_GLOB_DAT
#endif

/* ------------------------------------------------------------------ find it */

struct found {
    uintptr_t base;
    const struct tr_plugin *plugin;
};

static int look(struct dl_phdr_info *info, size_t size, void *user) {
    struct found *found = user;
    (void)size;
    if (info->dlpi_name == NULL || info->dlpi_name[0] == '\0') {
        return 0;
    }
    void *handle = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
    if (handle == NULL) {
        return 0;
    }
    const struct tr_plugin *plugin = dlsym(handle, "toolrack_plugin");
    Dl_info where;
    if (plugin != NULL && dladdr(plugin, &where) != 0 &&
        (uintptr_t)where.dli_fbase == info->dlpi_addr && plugin->magic == TR_MAGIC) {
        found->base = info->dlpi_addr;
        found->plugin = plugin;
    }
    (void)dlclose(handle);
    return found->plugin != NULL;
}

static bool find(struct found *ret) {
    *ret = (struct found){0};
    (void)dl_iterate_phdr(look, ret);
    return ret->plugin != NULL;
}

bool image_flags(uint32_t *ret) {
    struct found found;
    if (!find(&found)) {
        return false;
    }
    *ret = found.plugin->flags;
    return true;
}

/* What compilers write of themselves is in the file only, in the section .comment. */
bool image_is_rust(void) {
    static const char mark[] = "rustc version ";
    struct found found;
    Dl_info where;
    struct stat about;
    if (!find(&found) || dladdr(found.plugin, &where) == 0) {
        return false;
    }
    CLEANUP(closep) int fd = open(where.dli_fname, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &about) != 0 || about.st_size <= 0) {
        return false;
    }
    size_t size = (size_t)about.st_size;
    void *file = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (file == MAP_FAILED) {
        return false;
    }
    bool is_rust = memmem(file, size, mark, strlen(mark)) != NULL;
    (void)munmap(file, size);
    return is_rust;
}

/* -------------------------------------------------------------- allocations */

static atomic_ulong allocations;
static atomic_ulong failing; /* the allocation that fails; 0: none */

static bool fails(void) {
    unsigned long nth = atomic_fetch_add(&allocations, 1) + 1;
    if (nth != atomic_load(&failing)) {
        return false;
    }
    errno = ENOMEM;
    return true;
}

static void *fail_malloc(size_t size) {
    return fails() ? NULL : malloc(size);
}

static void *fail_calloc(size_t count, size_t size) {
    return fails() ? NULL : calloc(count, size);
}

static void *fail_realloc(void *memory, size_t size) {
    return fails() ? NULL : realloc(memory, size);
}

static void *fail_reallocarray(void *memory, size_t count, size_t size) {
    return fails() ? NULL : reallocarray(memory, count, size);
}

static void *fail_aligned_alloc(size_t alignment, size_t size) {
    return fails() ? NULL : aligned_alloc(alignment, size);
}

static int fail_posix_memalign(void **ret, size_t alignment, size_t size) {
    return fails() ? ENOMEM : posix_memalign(ret, alignment, size);
}

static char *fail_strdup(const char *text) {
    return fails() ? NULL : strdup(text);
}

static char *fail_strndup(const char *text, size_t length) {
    return fails() ? NULL : strndup(text, length);
}

__attribute__((__format__(__printf__, 2, 0))) static int fail_vasprintf(char **ret,
                                                                        const char *format,
                                                                        va_list args) {
    return fails() ? -1 : vasprintf(ret, format, args);
}

__attribute__((__format__(__printf__, 2, 3))) static int fail_asprintf(char **ret,
                                                                       const char *format, ...) {
    va_list args;
    va_start(args, format);
    int length = fail_vasprintf(ret, format, args);
    va_end(args);
    return length;
}

static const struct hook {
    const char *name;
    void (*function)(void);
} hooks[] = {
        {"malloc", (void (*)(void))fail_malloc},
        {"calloc", (void (*)(void))fail_calloc},
        {"realloc", (void (*)(void))fail_realloc},
        {"reallocarray", (void (*)(void))fail_reallocarray},
        {"aligned_alloc", (void (*)(void))fail_aligned_alloc},
        {"posix_memalign", (void (*)(void))fail_posix_memalign},
        {"strdup", (void (*)(void))fail_strdup},
        {"strndup", (void (*)(void))fail_strndup},
        {"vasprintf", (void (*)(void))fail_vasprintf},
        {"asprintf", (void (*)(void))fail_asprintf},
};

/* The images that were here before the plugin. */
#define IMAGES_MAX 1024u
static uintptr_t known[IMAGES_MAX];
static size_t known_count;

static int remember(struct dl_phdr_info *info, size_t size, void *user) {
    (void)size;
    (void)user;
    if (known_count < IMAGES_MAX) {
        known[known_count++] = info->dlpi_addr;
    }
    return 0;
}

void image_remember(void) {
    known_count = 0;
    (void)dl_iterate_phdr(remember, NULL);
}

#ifdef RELOCATION_SLOT

static bool set_slot(uintptr_t slot, void (*function)(void)) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    void *start = (void *)(slot & ~(page - 1));
    if (mprotect(start, page, PROT_READ | PROT_WRITE) < 0) {
        return false;
    }
    memcpy((void *)slot, &function, sizeof function);
    return true;
}

/* Addresses in the dynamic section are absolute: glibc has relocated them. */
static uintptr_t entry(const ElfW(Dyn) * dynamic, ElfW(Sxword) tag) {
    for (; dynamic->d_tag != DT_NULL; dynamic++) {
        if (dynamic->d_tag == tag) {
            return dynamic->d_un.d_ptr;
        }
    }
    return 0;
}

static unsigned hook_table(uintptr_t base, const ElfW(Dyn) * dynamic, uintptr_t table,
                           size_t size) {
    const ElfW(Sym) *symbols = (const ElfW(Sym) *)entry(dynamic, DT_SYMTAB);
    const char *names = (const char *)entry(dynamic, DT_STRTAB);
    const ElfW(Rela) *relocations = (const ElfW(Rela) *)table;
    unsigned count = 0;
    for (size_t i = 0; table != 0 && i < size / sizeof *relocations; i++) {
        uint32_t kind = (uint32_t)ELF64_R_TYPE(relocations[i].r_info);
        const char *name = names + symbols[ELF64_R_SYM(relocations[i].r_info)].st_name;
        if (kind != RELOCATION_SLOT && kind != RELOCATION_DATA) {
            continue;
        }
        for (size_t k = 0; k < ARRAY_LENGTH(hooks); k++) {
            if (strcmp(hooks[k].name, name) == 0) {
                count += set_slot(base + relocations[i].r_offset, hooks[k].function);
            }
        }
    }
    return count;
}

static bool is_known(uintptr_t base) {
    for (size_t i = 0; i < known_count; i++) {
        if (known[i] == base) {
            return true;
        }
    }
    return known_count == IMAGES_MAX; /* perhaps one of those that are not remembered */
}

/* Which images are hooked, and how many slots were. */
struct hooking {
    uintptr_t plugin;
    bool of_libraries;
    unsigned count;
};

static int hook_image(struct dl_phdr_info *info, size_t size, void *user) {
    struct hooking *hooking = user;
    bool is_plugin = info->dlpi_addr == hooking->plugin;
    const ElfW(Dyn) *dynamic = NULL;
    (void)size;
    if (hooking->of_libraries ? is_plugin || is_known(info->dlpi_addr) : !is_plugin) {
        return 0;
    }
    for (int i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC) {
            dynamic = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
        }
    }
    if (dynamic != NULL) {
        hooking->count += hook_table(info->dlpi_addr, dynamic, entry(dynamic, DT_JMPREL),
                                     entry(dynamic, DT_PLTRELSZ)) +
                          hook_table(info->dlpi_addr, dynamic, entry(dynamic, DT_RELA),
                                     entry(dynamic, DT_RELASZ));
    }
    return 0;
}

bool image_count_allocations(bool of_libraries) {
    struct found found;
    if (!find(&found)) {
        return false;
    }
    struct hooking hooking = {.plugin = found.base, .of_libraries = of_libraries};
    (void)dl_iterate_phdr(hook_image, &hooking);
    return hooking.count > 0;
}

#else

bool image_count_allocations(bool of_libraries) {
    (void)of_libraries;
    (void)hooks;
    return false;
}

#endif

void image_fail(uint64_t nth) {
    atomic_store(&allocations, 0);
    atomic_store(&failing, nth);
}

uint64_t image_end_fail(void) {
    atomic_store(&failing, 0);
    return atomic_load(&allocations);
}
