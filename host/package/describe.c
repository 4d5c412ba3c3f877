#include "package/describe.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "permit/pin.h"
#include "plugin/capability.h"
#include "plugin/descriptor.h"
#include "registry/tool.h"

/* ------------------------------------------------------------------ describe */

static const char *or_empty(const char *text) {
    return text != NULL ? text : "";
}

/* Read the descriptor of a file in which nothing is wrong. */
static int read_descriptor(int fd, const char *name, struct descriptor **ret,
                           struct toolrack_error *err) {
    bool no_memory = false;
    CLEANUP(descriptor_unrefp) struct descriptor *desc = NULL;
    struct descriptor_options options = tool_descriptor_options(&no_memory);
    options.takes_foreign = true; /* nothing loads it here */
    int code = descriptor_read(fd, &options, &desc, err);
    if (code < 0 || no_memory) {
        return code < 0 ? code : error_oom(err);
    }
    for (uint32_t i = 0; i < desc->finding_count; i++) {
        const struct finding *finding = &desc->findings[i];
        if (finding->severity == FINDING_ERROR) {
            return error_set(err, TOOLRACK_E_REFUSED, "%s cannot be used: %s%s%s: %s; %s", name,
                             finding->rule, finding->tool != NULL ? ": " : "",
                             or_empty(finding->tool), finding->cause, finding->fix);
        }
    }
    if (desc->plugin == NULL) {
        return error_set(err, TOOLRACK_E_REFUSED, "%s is no plugin", name);
    }
    *ret = STEAL(desc);
    return 0;
}

/* What copies texts into the manifest's arena. */
struct copying {
    struct arena *arena;
    bool failed;
};

static const char *copy(struct copying *copying, const char *text) {
    const char *copied = text != NULL ? arena_copy(copying->arena, text, strlen(text)) : NULL;
    copying->failed |= copied == NULL && text != NULL;
    return copied;
}

static void add_capabilities(struct copying *copying, const struct tr_plugin *plugin,
                             struct manifest *to) {
    to->capabilities =
            arena_zalloc(copying->arena, (plugin->capability_count + 1) * sizeof *to->capabilities);
    if (to->capabilities == NULL) {
        copying->failed = true;
        return;
    }
    for (uint32_t i = 0; i < plugin->capability_count; i++) {
        const struct tr_capability *capability = &plugin->capabilities[i];
        to->capabilities[i] = arena_printf(
                copying->arena, "%s:%s", capability_kind_name(capability->kind), capability->value);
        copying->failed |= to->capabilities[i] == NULL;
    }
    to->capability_count = plugin->capability_count;
}

static void add_tools(struct copying *copying, const struct descriptor *desc, struct manifest *to) {
    struct manifest_tool *tools =
            arena_zalloc(copying->arena, (desc->tool_count + 1) * sizeof *tools);
    if (tools == NULL) {
        copying->failed = true;
        return;
    }
    for (uint32_t i = 0; i < desc->tool_count; i++) {
        const struct descriptor_tool *spec = &desc->tools[i];
        struct manifest_tool *tool = &tools[i];
        CLEANUP(arena_finish) struct arena scratch;
        arena_init(&scratch, NULL, 0);
        tool->name = copy(copying, spec->tool->name);
        tool->version = copy(copying, spec->version);
        tool->description = copy(copying, or_empty(spec->tool->description));
        tool->permission = (int)spec->tool->permission;
        tool->flags = spec->tool->flags & PIN_FLAGS;
        copying->failed |= !pin_hash(spec, &scratch, tool->pin);
    }
    to->tools = tools;
    to->tool_count = desc->tool_count;
}

int describe_plugin(int fd, const char *name, struct manifest *manifest,
                    struct toolrack_error *err) {
    CLEANUP(descriptor_unrefp) struct descriptor *desc = NULL;
    int code = read_descriptor(fd, name, &desc, err);
    if (code < 0 || desc == NULL) {
        return code;
    }
    struct copying copying = {.arena = &manifest->arena};
    const struct tr_plugin *plugin = desc->plugin;
    manifest->id = copy(&copying, plugin->id);
    manifest->version = copy(&copying, plugin->version);
    manifest->description = copy(&copying, plugin->description);
    manifest->vendor = copy(&copying, plugin->vendor);
    manifest->license = copy(&copying, plugin->license);
    manifest->homepage = copy(&copying, plugin->homepage);
    manifest->abi_major = plugin->abi_major;
    manifest->host_minor_min = plugin->host_minor_min;
    add_capabilities(&copying, plugin, manifest);
    if (!copying.failed) {
        add_tools(&copying, desc, manifest);
    }
    if (copying.failed) {
        return error_oom(err);
    }
    manifest_sort(manifest);
    return 0;
}

/* ------------------------------------------------------------------- compare */

/* Two optional texts. */
static bool same(const char *one, const char *other) {
    return strcmp(or_empty(one), or_empty(other)) == 0;
}

static int refuse(const char *name, const char *what, struct toolrack_error *err) {
    return error_set(err, TOOLRACK_E_REFUSED,
                     "the manifest of the package and its file %s differ in %s; all its files must "
                     "be of one build",
                     name, what);
}

static bool same_capabilities(const struct manifest *one, const struct manifest *other) {
    bool is_same = one->capability_count == other->capability_count;
    for (size_t i = 0; is_same && i < one->capability_count; i++) {
        is_same = strcmp(one->capabilities[i], other->capabilities[i]) == 0;
    }
    return is_same;
}

static bool same_tool(const struct manifest_tool *one, const struct manifest_tool *other) {
    return same(one->name, other->name) && same(one->version, other->version) &&
           same(one->description, other->description) && one->permission == other->permission &&
           one->flags == other->flags && memcmp(one->pin, other->pin, sizeof one->pin) == 0;
}

static int compare_tools(const struct manifest *manifest, const struct manifest *file,
                         const char *name, struct toolrack_error *err) {
    char what[128];
    if (manifest->tool_count != file->tool_count) {
        return refuse(name, "the number of their tools", err);
    }
    for (size_t i = 0; i < manifest->tool_count; i++) {
        if (!same_tool(&manifest->tools[i], &file->tools[i])) {
            (void)snprintf(what, sizeof what, "the tool %s", manifest->tools[i].name);
            return refuse(name, what, err);
        }
    }
    return 0;
}

int describe_compare(const struct manifest *manifest, int fd, const char *name,
                     struct toolrack_error *err) {
    CLEANUP(manifest_finish) struct manifest file;
    manifest_init(&file);
    int code = describe_plugin(fd, name, &file, err);
    if (code < 0) {
        return code;
    }
    const char *what = !same(manifest->id, file.id)             ? "the id"
                       : !same(manifest->version, file.version) ? "the version"
                       : !same(manifest->description, file.description) ||
                                       !same(manifest->vendor, file.vendor) ||
                                       !same(manifest->homepage, file.homepage)
                               ? "description, vendor or homepage"
                       : !same(manifest->license, file.license) ? "the licence"
                       : manifest->abi_major != file.abi_major ||
                                       manifest->host_minor_min != file.host_minor_min
                               ? "the least host"
                       : !same_capabilities(manifest, &file) ? "capabilities"
                                                             : NULL;
    return what != NULL ? refuse(name, what, err) : compare_tools(manifest, &file, name, err);
}

/* ------------------------------------------------------------------ platform */

static const struct {
    uint16_t machine;
    const char *name;
} machines[] = {{EM_X86_64, "x86_64"}, {EM_AARCH64, "aarch64"}, {EM_RISCV, "riscv64"},
                {EM_PPC64, "ppc64"},   {EM_S390, "s390x"},      {258, "loongarch64"}};

static const char *machine_of(const Elf64_Ehdr *header) {
    if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64) {
        return NULL;
    }
    /* In the order of bytes of the file's own processor. */
    uint16_t machine = header->e_ident[EI_DATA] ==
                                       (__BYTE_ORDER == __LITTLE_ENDIAN ? ELFDATA2LSB : ELFDATA2MSB)
                               ? header->e_machine
                               : __builtin_bswap16(header->e_machine);
    for (size_t i = 0; i < ARRAY_LENGTH(machines); i++) {
        if (machines[i].machine == machine) {
            return machines[i].name;
        }
    }
    return NULL;
}

/* "gnu" or "musl", by what a file needs; NULL: it does not say. */
static const char *libc_of(int fd) {
    const char *libc = NULL;
    CLEANUP(descriptor_unrefp) struct descriptor *desc = NULL;
    if (descriptor_read(fd, &(struct descriptor_options){.takes_foreign = true}, &desc, NULL) < 0) {
        return NULL;
    }
    for (uint32_t i = 0; i < desc->needed_count; i++) {
        if (strcmp(desc->needed[i], "libc.so.6") == 0) {
            libc = "gnu";
        } else if (strncmp(desc->needed[i], "libc.musl-", 10) == 0 ||
                   strcmp(desc->needed[i], "libc.so") == 0) {
            libc = "musl";
        }
    }
    return libc;
}

bool describe_is_readable(const char *platform) {
    static const char *const readable[] = {"x86_64-", "aarch64-"};
    for (size_t i = 0; i < ARRAY_LENGTH(readable); i++) {
        if (strncmp(platform, readable[i], strlen(readable[i])) == 0) {
            return true;
        }
    }
    return false;
}

int describe_platform(int fd, const char *name, char ret[MANIFEST_PLATFORM_ROOM],
                      struct toolrack_error *err) {
    Elf64_Ehdr header;
    ssize_t length = pread(fd, &header, sizeof header, 0);
    if (length < 0) {
        return error_set(err, TOOLRACK_E_IO, "%s cannot be read: %s", name, strerror(errno));
    }
    const char *machine = length == (ssize_t)sizeof header ? machine_of(&header) : NULL;
    if (machine == NULL) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "%s is no shared object for a processor that toolrack knows", name);
    }
    const char *libc = libc_of(fd);
    (void)snprintf(ret, MANIFEST_PLATFORM_ROOM, "%s-%s", machine,
                   libc != NULL ? libc : strchr(manifest_platform(), '-') + 1);
    return 0;
}
