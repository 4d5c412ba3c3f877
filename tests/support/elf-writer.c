#include "elf-writer.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define HEADERS  3u
#define DATA_AT  (sizeof(Elf64_Ehdr) + HEADERS * sizeof(Elf64_Phdr) + 8)
#define FUNCTION sizeof(Elf64_Ehdr) /* anywhere in the one segment, which is executable */

/* ---------------------------------------------------------------- bytes */

static uint64_t reserve(struct elf_writer *writer, size_t size) {
    uint64_t at = (writer->length + 7) & ~(uint64_t)7;
    if (at + size > ELF_WRITER_SIZE_MAX) {
        abort();
    }
    writer->length = at + size;
    return at;
}

static uint64_t put(struct elf_writer *writer, const void *bytes, size_t size) {
    uint64_t at = reserve(writer, size);
    memcpy(writer->bytes + at, bytes, size);
    return at;
}

static void set_pointer(struct elf_writer *writer, uint64_t at, uint64_t target) {
    if (writer->pointer_count == ELF_WRITER_MANY) {
        abort();
    }
    memcpy(writer->bytes + at, &target, sizeof target);
    if (target != 0) {
        writer->pointers[writer->pointer_count++] = at;
    }
}

/* Written before? Then there; types may contain themselves. */
static bool known(const struct elf_writer *writer, const void *what, uint64_t *ret) {
    for (size_t i = 0; i < writer->seen_count; i++) {
        if (writer->seen[i] == what) {
            *ret = writer->seen_at[i];
            return true;
        }
    }
    return false;
}

static void remember(struct elf_writer *writer, const void *what, uint64_t at) {
    if (writer->seen_count == ELF_WRITER_MANY) {
        abort();
    }
    writer->seen[writer->seen_count] = what;
    writer->seen_at[writer->seen_count++] = at;
}

/* ----------------------------------------------------------- descriptors */

static void point_to_text(struct elf_writer *writer, uint64_t at, const char *text) {
    uint64_t target = 0;
    if (text != NULL && !known(writer, text, &target)) {
        target = put(writer, text, strlen(text) + 1);
        remember(writer, text, target);
    }
    set_pointer(writer, at, target);
}
#define TEXT(type, field) point_to_text(writer, at + offsetof(type, field), from->field)

static uint64_t put_params(struct elf_writer *writer, const struct tr_param *params,
                           uint32_t count);

static uint64_t put_choices(struct elf_writer *writer, const struct tr_choice *choices,
                            uint32_t count) {
    uint64_t table = put(writer, choices, count * sizeof *choices);
    for (uint32_t i = 0; i < count; i++) {
        point_to_text(writer, table + i * sizeof *choices, choices[i].name);
    }
    return table;
}

static uint64_t put_type(struct elf_writer *writer, const struct tr_type *from) {
    uint64_t at;
    if (from == NULL || known(writer, from, &at)) {
        return from == NULL ? 0 : at;
    }
    at = put(writer, from, sizeof *from);
    remember(writer, from, at);
    set_pointer(writer, at + offsetof(struct tr_type, item), put_type(writer, from->item));
    set_pointer(writer, at + offsetof(struct tr_type, fields),
                from->fields == NULL ? 0 : put_params(writer, from->fields, from->field_count));
    set_pointer(writer, at + offsetof(struct tr_type, choices),
                from->choices == NULL ? 0 : put_choices(writer, from->choices, from->choice_count));
    return at;
}

static uint64_t put_params(struct elf_writer *writer, const struct tr_param *params,
                           uint32_t count) {
    uint64_t table = put(writer, params, count * sizeof *params);
    for (uint32_t i = 0; i < count; i++) {
        const struct tr_param *from = &params[i];
        uint64_t at = table + i * sizeof *params;
        TEXT(struct tr_param, name);
        TEXT(struct tr_param, description);
        TEXT(struct tr_param, default_json);
        TEXT(struct tr_param, choices_json);
        TEXT(struct tr_param, minimum_json);
        TEXT(struct tr_param, maximum_json);
        TEXT(struct tr_param, exclusive_minimum_json);
        TEXT(struct tr_param, exclusive_maximum_json);
        TEXT(struct tr_param, multiple_of_json);
        TEXT(struct tr_param, pattern);
        TEXT(struct tr_param, format);
        set_pointer(writer, at + offsetof(struct tr_param, type), put_type(writer, from->type));
    }
    return table;
}

static uint64_t put_examples(struct elf_writer *writer, const struct tr_tool *tool) {
    const struct tr_example *examples = tool->examples;
    uint64_t table = put(writer, examples, tool->example_count * sizeof *examples);
    for (uint32_t i = 0; i < tool->example_count; i++) {
        const struct tr_example *from = &examples[i];
        uint64_t at = table + i * sizeof *examples;
        TEXT(struct tr_example, arguments);
        TEXT(struct tr_example, result);
    }
    return table;
}

static uint64_t put_tool(struct elf_writer *writer, const struct tr_tool *from) {
    if (from == NULL) {
        return 0;
    }
    uint64_t at = put(writer, from, sizeof *from);
    TEXT(struct tr_tool, name);
    TEXT(struct tr_tool, description);
    TEXT(struct tr_tool, version);
    TEXT(struct tr_tool, title);
    TEXT(struct tr_tool, category);
    TEXT(struct tr_tool, tags);
    TEXT(struct tr_tool, result_description);
    TEXT(struct tr_tool, schema);
    TEXT(struct tr_tool, result_schema);
    set_pointer(writer, at + offsetof(struct tr_tool, params),
                from->params == NULL ? 0 : put_params(writer, from->params, from->param_count));
    set_pointer(writer, at + offsetof(struct tr_tool, result), put_type(writer, from->result));
    set_pointer(writer, at + offsetof(struct tr_tool, function),
                from->function == NULL ? 0 : FUNCTION);
    set_pointer(writer, at + offsetof(struct tr_tool, run), from->run == NULL ? 0 : FUNCTION);
    set_pointer(writer, at + offsetof(struct tr_tool, examples),
                from->examples == NULL ? 0 : put_examples(writer, from));
    return at;
}

static uint64_t put_tools(struct elf_writer *writer, const struct tr_plugin *from) {
    uint64_t table = reserve(writer, from->tool_count * sizeof(uint64_t));
    for (uint32_t i = 0; i < from->tool_count; i++) {
        set_pointer(writer, table + i * sizeof(uint64_t), put_tool(writer, from->tools[i]));
    }
    return table;
}

static uint64_t put_capabilities(struct elf_writer *writer, const struct tr_plugin *from) {
    uint64_t table =
            put(writer, from->capabilities, from->capability_count * sizeof *from->capabilities);
    for (uint32_t i = 0; i < from->capability_count; i++) {
        point_to_text(writer,
                      table + i * sizeof(struct tr_capability) +
                              offsetof(struct tr_capability, value),
                      from->capabilities[i].value);
    }
    return table;
}

static void put_plugin(struct elf_writer *writer, const struct tr_plugin *from) {
    uint64_t at = put(writer, from, sizeof *from);
    writer->plugin = at;
    TEXT(struct tr_plugin, id);
    TEXT(struct tr_plugin, version);
    TEXT(struct tr_plugin, description);
    TEXT(struct tr_plugin, vendor);
    TEXT(struct tr_plugin, license);
    TEXT(struct tr_plugin, homepage);
    set_pointer(writer, at + offsetof(struct tr_plugin, capabilities),
                from->capabilities == NULL ? 0 : put_capabilities(writer, from));
    set_pointer(writer, at + offsetof(struct tr_plugin, tools),
                from->tools == NULL ? 0 : put_tools(writer, from));
    set_pointer(writer, at + offsetof(struct tr_plugin, open), from->open == NULL ? 0 : FUNCTION);
    set_pointer(writer, at + offsetof(struct tr_plugin, close), from->close == NULL ? 0 : FUNCTION);
    set_pointer(writer, at + offsetof(struct tr_plugin, get_extension),
                from->get_extension == NULL ? 0 : FUNCTION);
}

/* ---------------------------------------------------------------- tables */

static const char strings[] = "\0toolrack_plugin\0libc.so.6";
#define LIBC_AT 17u /* of the last of them */

static void put_symbols(struct elf_writer *writer) {
    Elf64_Sym symbols[2] = {{0},
                            {.st_name = 1,
                             .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
                             .st_shndx = 1,
                             .st_value = writer->plugin,
                             .st_size = sizeof(struct tr_plugin)}};
    writer->symbols = put(writer, symbols, sizeof symbols);
    writer->strings = put(writer, strings, sizeof strings);
    writer->strings_size = sizeof strings;
    if (writer->libc != NULL) {
        (void)memcpy(writer->bytes + writer->length, writer->libc, strlen(writer->libc) + 1);
        writer->length += strlen(writer->libc) + 1;
        writer->strings_size += strlen(writer->libc) + 1;
    }
    if (writer->sysv_hash) {
        uint32_t table[] = {1, 2, 1, 0, 0}; /* one bucket, two symbols, both chains */
        writer->hash = put(writer, table, sizeof table);
        return;
    }
    uint32_t hash = 5381;
    for (const char *c = strings + 1; *c != '\0'; c++) {
        hash = hash * 33 + (unsigned char)*c;
    }
    /* One bucket, symbols from 1, one word of bloom filter that lets all pass. */
    uint32_t table[] = {1, 1, 1, 6, UINT32_MAX, UINT32_MAX, 1, hash | 1};
    writer->hash = put(writer, table, sizeof table);
}

/* One record: a version of the library that is needed. */
static void put_versions(struct elf_writer *writer) {
    const struct {
        Elf64_Verneed file;
        Elf64_Vernaux version;
    } needs = {{.vn_version = VER_NEED_CURRENT,
                .vn_cnt = 1,
                .vn_file = LIBC_AT,
                .vn_aux = sizeof(Elf64_Verneed)},
               {.vna_other = 2, .vna_name = sizeof strings}};
    writer->versions = put(writer, &needs, sizeof needs);
}

static int compare_words(const void *a, const void *b) {
    uint64_t first = *(const uint64_t *)a;
    uint64_t second = *(const uint64_t *)b;
    return (first > second) - (first < second);
}

/* Runs of an address and one bitmap each; not the densest form, but a right one. */
static void put_packed(struct elf_writer *writer) {
    qsort(writer->pointers, writer->pointer_count, sizeof *writer->pointers, compare_words);
    writer->relocations = reserve(writer, 0);
    for (size_t i = 0; i < writer->pointer_count;) {
        uint64_t first = writer->pointers[i++];
        uint64_t bitmap = 1;
        while (i < writer->pointer_count && writer->pointers[i] - first <= 63 * 8) {
            bitmap |= UINT64_C(1) << ((writer->pointers[i++] - first) / 8);
        }
        uint64_t run[2] = {first, bitmap};
        (void)put(writer, run, sizeof run);
        writer->relocation_count += 2;
    }
}

static void put_relocations(struct elf_writer *writer) {
    if (writer->packed) {
        put_packed(writer);
        return;
    }
    uint32_t type = writer->machine == EM_AARCH64 ? R_AARCH64_RELATIVE : R_X86_64_RELATIVE;
    writer->relocations = reserve(writer, 0);
    writer->relocation_count = writer->pointer_count;
    for (size_t i = 0; i < writer->pointer_count; i++) {
        uint64_t target;
        memcpy(&target, writer->bytes + writer->pointers[i], sizeof target);
        Elf64_Rela rela = {.r_offset = writer->pointers[i],
                           .r_info = ELF64_R_INFO(0, type),
                           .r_addend = (int64_t)target};
        (void)put(writer, &rela, sizeof rela);
    }
}

static void put_dynamic(struct elf_writer *writer) {
    bool packed = writer->packed;
    size_t entry = packed ? sizeof(uint64_t) : sizeof(Elf64_Rela);
    Elf64_Dyn entries[] = {
            {.d_tag = DT_NEEDED, .d_un.d_val = LIBC_AT},
            {.d_tag = writer->sysv_hash ? DT_HASH : DT_GNU_HASH, .d_un.d_ptr = writer->hash},
            {.d_tag = DT_STRTAB, .d_un.d_ptr = writer->strings},
            {.d_tag = DT_STRSZ, .d_un.d_val = writer->strings_size},
            {.d_tag = DT_SYMTAB, .d_un.d_ptr = writer->symbols},
            {.d_tag = DT_SYMENT, .d_un.d_val = sizeof(Elf64_Sym)},
            {.d_tag = packed ? DT_RELR : DT_RELA, .d_un.d_ptr = writer->relocations},
            {.d_tag = packed ? DT_RELRSZ : DT_RELASZ,
             .d_un.d_val = writer->relocation_count * entry},
            {.d_tag = packed ? DT_RELRENT : DT_RELAENT, .d_un.d_val = entry},
            {.d_tag = DT_NULL},
            {.d_tag = DT_NULL},
            {.d_tag = DT_NULL}};
    size_t count = sizeof entries / sizeof entries[0];
    if (writer->libc == NULL) {
        count -= 2;
    } else {
        entries[count - 3] = (Elf64_Dyn){.d_tag = DT_VERNEED, .d_un.d_ptr = writer->versions};
        entries[count - 2] = (Elf64_Dyn){.d_tag = DT_VERNEEDNUM, .d_un.d_val = 1};
    }
    writer->dynamic = put(writer, entries, count * sizeof entries[0]);
    writer->dynamic_count = count;
}

static void put_headers(struct elf_writer *writer) {
    Elf64_Ehdr header = {
            .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
            .e_type = ET_DYN,
            .e_machine = writer->machine,
            .e_version = EV_CURRENT,
            .e_phoff = sizeof header,
            .e_ehsize = sizeof header,
            .e_phentsize = sizeof(Elf64_Phdr),
            .e_phnum = HEADERS};
    size_t dynamic_size = writer->dynamic_count * sizeof(Elf64_Dyn);
    Elf64_Phdr headers[HEADERS] = {{.p_type = PT_LOAD,
                                    .p_flags = PF_R | PF_X,
                                    .p_filesz = writer->length,
                                    .p_memsz = writer->length,
                                    .p_align = 0x1000},
                                   {.p_type = PT_DYNAMIC,
                                    .p_flags = PF_R,
                                    .p_offset = writer->dynamic,
                                    .p_vaddr = writer->dynamic,
                                    .p_filesz = dynamic_size,
                                    .p_memsz = dynamic_size,
                                    .p_align = 8},
                                   {.p_type = PT_GNU_STACK, .p_flags = PF_R | PF_W}};
    memcpy(writer->bytes, &header, sizeof header);
    memcpy(writer->bytes + sizeof header, headers, sizeof headers);
}

void elf_writer_run(struct elf_writer *writer, const struct tr_plugin *plugin) {
    writer->bytes = calloc(1, ELF_WRITER_SIZE_MAX);
    if (writer->bytes == NULL) {
        abort();
    }
    writer->length = DATA_AT;
    writer->seen_count = 0;
    writer->pointer_count = 0;
    writer->relocation_count = 0;
    put_plugin(writer, plugin);
    put_symbols(writer);
    if (writer->libc != NULL) {
        put_versions(writer);
    }
    put_relocations(writer);
    put_dynamic(writer);
    put_headers(writer);
}

int elf_writer_fd(const void *bytes, size_t length) {
    int fd = memfd_create("plugin", MFD_CLOEXEC);
    for (size_t done = 0; fd >= 0 && done < length;) {
        ssize_t wrote = write(fd, (const char *)bytes + done, length - done);
        if (wrote <= 0) {
            abort();
        }
        done += (size_t)wrote;
    }
    return fd;
}
