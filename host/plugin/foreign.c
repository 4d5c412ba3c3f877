#include "plugin/foreign.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>

#include "base/ascii.h"
#include "base/error.h"
#include "base/utf8.h"

#define SYMBOL_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789"

/* --------------------------------------------------------------- describe */

/* Placeholder in the host for the function, whose address only the worker has. */
static void elsewhere(void) {
}

static bool is_symbol(const char *symbol) {
    size_t length = symbol == NULL ? 0 : strspn(symbol, SYMBOL_CHARACTERS);
    return length > 0 && length <= FOREIGN_SYMBOL_MAX && symbol[length] == '\0' &&
           !ascii_is_digit(symbol[0]);
}

int foreign_describe(const struct foreign *foreign, void (*function)(void),
                     const struct descriptor_options *options, struct descriptor **ret,
                     struct toolrack_error *err) {
    const char *library = foreign->library;
    size_t library_length = library == NULL ? 0 : strlen(library);
    /* A name with a slash that does not begin with one would be searched in the worker's working
     * folder. */
    if (library_length == 0 || library_length > FOREIGN_LIBRARY_MAX ||
        !utf8_valid(library, library_length) ||
        (library[0] != '/' && strchr(library, '/') != NULL)) {
        return error_set_field(err, TOOLRACK_E_REFUSED, "/library",
                               "the library must be a name such as libm.so.6, or an absolute path, "
                               "of at most %u bytes",
                               FOREIGN_LIBRARY_MAX);
    }
    if (!is_symbol(foreign->symbol)) {
        return error_set_field(err, TOOLRACK_E_REFUSED, "/symbol",
                               "the symbol must be the name of a C function, of at most %u bytes",
                               FOREIGN_SYMBOL_MAX);
    }
    /* A worker, which shows it to nobody, gets no description. */
    const struct tr_tool tool = {.size = sizeof tool,
                                 .flags = foreign->flags,
                                 .name = foreign->name,
                                 .description = foreign->description != NULL
                                                        ? foreign->description
                                                        : "A function of an installed library",
                                 .title = foreign->title,
                                 .category = foreign->category,
                                 .tags = foreign->tags,
                                 .permission = foreign->permission,
                                 .priority = foreign->priority,
                                 .deadline_ms = foreign->deadline_ms,
                                 .param_count = foreign->param_count,
                                 .params = foreign->params,
                                 .param_size = sizeof(struct tr_param),
                                 .result = foreign->result,
                                 .result_description = foreign->result_description,
                                 .function = function != NULL ? function : elsewhere,
                                 .deprecated = foreign->deprecated,
                                 .purpose = foreign->purpose,
                                 .scenarios = foreign->scenarios};
    const struct tr_tool *const tools[] = {&tool};
    const struct tr_plugin plugin = {
            .magic = TR_MAGIC,
            .size = sizeof plugin,
            .abi_major = TR_ABI_MAJOR,
            .abi_minor = TR_ABI_MINOR,
            .flags = foreign->thread_safe ? TR_THREAD_SAFE : 0,
            .id = foreign->name,
            .version = foreign->version != NULL ? foreign->version : FOREIGN_VERSION,
            .license = "NOASSERTION",
            .capabilities = foreign->capability_count > 0 ? foreign->capabilities : NULL,
            .capability_count = foreign->capability_count,
            .capability_size = sizeof(struct tr_capability),
            .tool_count = 1,
            .tool_size = sizeof tool,
            .tools = tools};
    CLEANUP(descriptor_unrefp) struct descriptor *desc = NULL;
    int code = descriptor_copy(&plugin, options, &desc, err);
    if (code < 0) {
        return code;
    }
    /* The first error, in the same words as for a plugin. */
    for (uint32_t i = 0; i < desc->finding_count; i++) {
        const struct finding *finding = &desc->findings[i];
        if (finding->severity == FINDING_ERROR) {
            return error_set(err, TOOLRACK_E_REFUSED, "%s (%s)", finding->cause, finding->rule);
        }
    }
    *ret = STEAL(desc);
    return 0;
}

/* ------------------------------------------------------------------- find */

int foreign_find(const struct foreign *foreign, const char *symbol, void (**ret)(void),
                 struct toolrack_error *err) {
    void *handle = dlopen(foreign->library, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        return error_set(err, TOOLRACK_E_REFUSED, "cannot load the library: %s", dlerror());
    }
    void *address = dlsym(handle, symbol);
    if (address == NULL) {
        const char *reason = dlerror();
        int code =
                error_set(err, TOOLRACK_E_REFUSED, "%s has no function '%s': %s", foreign->library,
                          symbol, reason != NULL ? reason : "its address is NULL");
        (void)dlclose(handle);
        return code;
    }
    /* A variable is refused. A function that a resolver chose (IFUNC) may have no symbol entry. */
    Dl_info info;
    void *entry = NULL;
    bool named = dladdr1(address, &info, &entry, RTLD_DL_SYMENT) != 0 && entry != NULL &&
                 info.dli_saddr == address;
    if (named && ELF64_ST_TYPE(((const ElfW(Sym) *)entry)->st_info) == STT_OBJECT) {
        (void)dlclose(handle);
        return error_set(err, TOOLRACK_E_REFUSED, "'%s' of %s is a variable, not a function",
                         symbol, foreign->library);
    }
    memcpy(ret, &address, sizeof address); /* the handle stays open as long as the process */
    return 0;
}
