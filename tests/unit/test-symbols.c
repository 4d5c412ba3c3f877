/* Names of functions from files of every kind, whole and damaged; build ids, which the same files
 * have. */
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "failing-malloc.h"
#include "plugin/build_id.h"
#include "plugin/symbols.h"

#include <cmocka.h>

#define AUTO_SYMBOLS CLEANUP(symbols_closep) struct symbols *

/* ----------------------------------------------------------------- helpers */

#define PATH_ROOM 512

static const char *crasher_path(const char *name, char room[PATH_ROOM]) {
    (void)snprintf(room, PATH_ROOM, "%s/%s.so", TEST_CRASHERS, name);
    return room;
}

struct bytes {
    unsigned char *data;
    size_t size;
};

static void bytes_finish(struct bytes *bytes) {
    free(bytes->data);
}
#define AUTO_BYTES CLEANUP(bytes_finish) struct bytes

static struct bytes bytes_of(const char *name) {
    char path[PATH_ROOM];
    struct stat st;
    CLEANUP(closep) int fd = open(crasher_path(name, path), O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0 && fstat(fd, &st) == 0);
    struct bytes bytes = {.data = malloc((size_t)st.st_size), .size = (size_t)st.st_size};
    assert_non_null(bytes.data);
    assert_int_equal(read(fd, bytes.data, bytes.size), bytes.size);
    return bytes;
}

/* A file in memory, and the path that leads there. */
static int put(const void *data, size_t size, char room[PATH_ROOM]) {
    int fd = memfd_create("symbols", MFD_CLOEXEC);
    assert_int_equal(write(fd, data, size), size);
    (void)snprintf(room, PATH_ROOM, "/proc/self/fd/%d", fd);
    return fd;
}

/* Where a name is in the table, by a reader that trusts the file: ours is compared with it. */
static Elf64_Sym symbol_named(const struct bytes *bytes, uint32_t table_type, const char *name) {
    const Elf64_Ehdr *header = (const void *)bytes->data;
    const Elf64_Shdr *sections = (const void *)(bytes->data + header->e_shoff);
    for (unsigned i = 0; i < header->e_shnum; i++) {
        if (sections[i].sh_type != table_type) {
            continue;
        }
        const Elf64_Sym *symbols = (const void *)(bytes->data + sections[i].sh_offset);
        const char *names = (const char *)bytes->data + sections[sections[i].sh_link].sh_offset;
        for (size_t n = 0; n < sections[i].sh_size / sizeof *symbols; n++) {
            if (strcmp(names + symbols[n].st_name, name) == 0) {
                return symbols[n];
            }
        }
    }
    fail_msg("the fixture has no symbol %s", name);
    abort();
}

static struct symbols *open_crasher(const char *name) {
    char path[PATH_ROOM];
    struct symbols *symbols = NULL;
    struct toolrack_error err = {0};
    if (symbols_open(crasher_path(name, path), &symbols, &err) != 0) {
        fail_msg("%s", err.message);
    }
    return symbols;
}

static void expect_name(struct symbols *symbols, uint64_t offset, const char *name,
                        uint64_t inside) {
    uint64_t found_inside = UINT64_MAX;
    const char *found = symbols_find(symbols, offset, &found_inside);
    if (name == NULL) {
        assert_null(found);
        assert_true(found_inside == UINT64_MAX);
        return;
    }
    assert_non_null(found);
    assert_string_equal(found, name);
    assert_int_equal(found_inside, inside);
}

static void expect_refused(const char *path, int code, const char *words) {
    struct symbols *symbols = NULL;
    struct toolrack_error err = {0};
    assert_int_equal(symbols_open(path, &symbols, &err), code);
    assert_null(symbols);
    if (strstr(err.message, words) == NULL) {
        fail_msg("'%s' is not in: %s", words, err.message);
    }
}

/* ------------------------------------------------------------------- tests */

static void functions_have_their_names(void **state) {
    (void)state;
    static const char *const functions[] = {"static_null_deref", "static_between", "crasher_run"};
    AUTO_BYTES bytes = bytes_of("crasher");
    AUTO_SYMBOLS symbols = open_crasher("crasher");
    for (size_t i = 0; i < ARRAY_LENGTH(functions); i++) {
        Elf64_Sym symbol = symbol_named(&bytes, SHT_SYMTAB, functions[i]);
        assert_true(symbol.st_size > 1);
        expect_name(symbols, symbol.st_value, functions[i], 0);
        expect_name(symbols, symbol.st_value + symbol.st_size - 1, functions[i],
                    symbol.st_size - 1);
    }
}

static void what_is_no_function_has_none(void **state) {
    (void)state;
    AUTO_BYTES bytes = bytes_of("crasher");
    AUTO_SYMBOLS symbols = open_crasher("crasher");
    expect_name(symbols, 0, NULL, 0);
    expect_name(symbols, bytes.size * 1000, NULL, 0);
    expect_name(symbols, UINT64_MAX, NULL, 0);
    /* Data has a name, but is no function. */
    expect_name(symbols, symbol_named(&bytes, SHT_SYMTAB, "sink").st_value, NULL, 0);
}

/* Only what the loader uses is left: the static functions are nobody's. */
static void a_stripped_file_names_its_exports(void **state) {
    (void)state;
    static const char *const stripped[] = {"crasher-stripped", "crasher-stripped-sysv"};
    for (size_t i = 0; i < ARRAY_LENGTH(stripped); i++) {
        AUTO_BYTES bytes = bytes_of(stripped[i]);
        AUTO_BYTES named = bytes_of("crasher");
        AUTO_SYMBOLS symbols = open_crasher(stripped[i]);
        Elf64_Sym run = symbol_named(&bytes, SHT_DYNSYM, "crasher_run");
        expect_name(symbols, run.st_value + 1, "crasher_run", 1);
        expect_name(symbols, run.st_value + run.st_size - 1, "crasher_run", run.st_size - 1);
        Elf64_Sym named_run = symbol_named(&named, SHT_SYMTAB, "crasher_run");
        Elf64_Sym hidden = symbol_named(&named, SHT_SYMTAB, "static_between");
        expect_name(symbols, run.st_value + (hidden.st_value - named_run.st_value), NULL, 0);
    }
}

/* Without section headers the table for debuggers is not found, the other one is. */
static void without_sections_exports_have_names(void **state) {
    (void)state;
    char path[PATH_ROOM];
    AUTO_BYTES bytes = bytes_of("crasher");
    Elf64_Sym run = symbol_named(&bytes, SHT_SYMTAB, "crasher_run");
    Elf64_Sym hidden = symbol_named(&bytes, SHT_SYMTAB, "static_between");
    Elf64_Ehdr *header = (void *)bytes.data;
    header->e_shoff = 0;
    header->e_shnum = 0;
    CLEANUP(closep) int fd = put(bytes.data, bytes.size, path);
    assert_true(fd >= 0);
    AUTO_SYMBOLS symbols = NULL;
    assert_int_equal(symbols_open(path, &symbols, NULL), 0);
    expect_name(symbols, run.st_value, "crasher_run", 0);
    expect_name(symbols, hidden.st_value, NULL, 0);
}

static Elf64_Shdr *section_of(struct bytes *bytes, uint32_t type) {
    const Elf64_Ehdr *header = (const void *)bytes->data;
    Elf64_Shdr *sections = (void *)(bytes->data + header->e_shoff);
    for (unsigned i = 0; i < header->e_shnum; i++) {
        if (sections[i].sh_type == type) {
            return &sections[i];
        }
    }
    fail_msg("the fixture has no section of type %u", type);
    abort();
}

static Elf64_Sym *find_in_table(struct bytes *bytes, const char *name) {
    Elf64_Shdr *section = section_of(bytes, SHT_SYMTAB);
    Elf64_Sym wanted = symbol_named(bytes, SHT_SYMTAB, name);
    Elf64_Sym *symbols = (void *)(bytes->data + section->sh_offset);
    while (memcmp(symbols, &wanted, sizeof wanted) != 0) {
        symbols++;
    }
    return symbols;
}

/* Functions in assembly often state no size: such a one has what follows it, up to the next. */
static void a_function_without_a_size_ends_at_the_next(void **state) {
    (void)state;
    char path[PATH_ROOM];
    AUTO_BYTES bytes = bytes_of("crasher");
    Elf64_Sym *symbol = find_in_table(&bytes, "static_null_deref");
    uint64_t start = symbol->st_value;
    uint64_t size = symbol->st_size;
    symbol->st_size = 0;
    CLEANUP(closep) int fd = put(bytes.data, bytes.size, path);
    assert_true(fd >= 0);
    AUTO_SYMBOLS symbols = NULL;
    assert_int_equal(symbols_open(path, &symbols, NULL), 0);
    expect_name(symbols, start + size - 1, "static_null_deref", size - 1);
    Elf64_Sym between = symbol_named(&bytes, SHT_SYMTAB, "static_between");
    expect_name(symbols, between.st_value, "static_between", 0);
    expect_name(symbols, start + SYMBOLS_UNSIZED_MAX, NULL, 0);
}

/* Each number of the tables wrong in turn: then there are other names, or none. */
static void wrong_numbers_lead_nowhere(void **state) {
    (void)state;
    static const uint64_t wrong[] = {0,          1,         23,         0x7fffffff,
                                     UINT32_MAX, INT64_MAX, UINT64_MAX, UINT64_MAX - 23,
                                     1u << 20,   24u << 20, 1u << 31,   UINT64_C(1) << 40};
    AUTO_BYTES bytes = bytes_of("crasher");
    Elf64_Sym run = symbol_named(&bytes, SHT_SYMTAB, "crasher_run");
    Elf64_Shdr *table = section_of(&bytes, SHT_SYMTAB);
    Elf64_Shdr *names =
            (Elf64_Shdr *)(bytes.data + ((Elf64_Ehdr *)bytes.data)->e_shoff) + table->sh_link;
    uint64_t *numbers[] = {&table->sh_offset, &table->sh_size, &table->sh_entsize,
                           &names->sh_offset, &names->sh_size};
    for (size_t i = 0; i < ARRAY_LENGTH(numbers); i++) {
        for (size_t n = 0; n < ARRAY_LENGTH(wrong); n++) {
            char path[PATH_ROOM];
            uint64_t right = *numbers[i];
            *numbers[i] = wrong[n];
            CLEANUP(closep) int fd = put(bytes.data, bytes.size, path);
            assert_true(fd >= 0);
            *numbers[i] = right;
            AUTO_SYMBOLS symbols = NULL;
            uint64_t inside;
            assert_int_equal(symbols_open(path, &symbols, NULL), 0);
            (void)symbols_find(symbols, run.st_value, &inside);
            (void)symbols_find(symbols, UINT64_MAX, &inside);
        }
    }
    Elf64_Sym *symbol = find_in_table(&bytes, "crasher_run");
    for (size_t n = 0; n < ARRAY_LENGTH(wrong); n++) {
        char path[PATH_ROOM];
        symbol->st_name = (uint32_t)wrong[n] | 0x40000000u;
        CLEANUP(closep) int fd = put(bytes.data, bytes.size, path);
        assert_true(fd >= 0);
        AUTO_SYMBOLS symbols = NULL;
        assert_int_equal(symbols_open(path, &symbols, NULL), 0);
        expect_name(symbols, run.st_value, NULL, 0);
    }
}

static void a_truncated_file_is_refused(void **state) {
    (void)state;
    AUTO_BYTES bytes = bytes_of("crasher");
    for (size_t size = 0; size < bytes.size; size += 97) {
        char path[PATH_ROOM];
        CLEANUP(closep) int fd = put(bytes.data, size, path);
        assert_true(fd >= 0);
        unsigned char id[BUILD_ID_MAX];
        expect_refused(path, TOOLRACK_E_REFUSED, "no symbols can be read from ");
        assert_int_equal(build_id_read(fd, id), 0);
    }
}

static void other_files_are_refused(void **state) {
    (void)state;
    expect_refused("/nowhere/at/all.so", TOOLRACK_E_IO, "cannot open /nowhere/at/all.so: ");
    expect_refused("", TOOLRACK_E_IO, "cannot open ");
    expect_refused("/dev/null", TOOLRACK_E_IO, "cannot open /dev/null: ");
    expect_refused("/tmp", TOOLRACK_E_IO, "cannot open /tmp: ");
    char path[PATH_ROOM];
    CLEANUP(closep) int fd = put("a text", 6, path);
    assert_true(fd >= 0);
    expect_refused(path, TOOLRACK_E_REFUSED, "it is a text file, not a shared object");
}

/* The test itself: a program, with a large table. */
static void a_program_has_names_too(void **state) {
    (void)state;
    AUTO_SYMBOLS symbols = NULL;
    struct toolrack_error err;
    if (symbols_open("/proc/self/exe", &symbols, &err) != 0) {
        print_message("linked to a fixed address: %s\n", err.message);
        skip();
    }
    Dl_info info;
    assert_true(dladdr((const void *)(uintptr_t)&a_program_has_names_too, &info) != 0);
    expect_name(symbols, (uintptr_t)&a_program_has_names_too + 1 - (uintptr_t)info.dli_fbase,
                "a_program_has_names_too", 1);
}

static void memory_may_run_out(void **state) {
    (void)state;
    char path[PATH_ROOM];
    (void)crasher_path("crasher", path);
    bool failed = true;
    for (unsigned n = 1; failed; n++) {
        struct symbols *symbols = NULL;
        struct toolrack_error err = {0};
        failing_malloc_set(n);
        int code = symbols_open(path, &symbols, &err);
        failed = failing_malloc_hit();
        failing_malloc_set(0);
        assert_true(n > 1 || failed);
        /* What is lost may have been only a remark on the file. */
        assert_true(code == 0 || (failed && code == TOOLRACK_E_NO_MEMORY));
        symbols_close(symbols);
    }
}

static void a_file_has_the_build_id_of_what_it_becomes(void **state) {
    (void)state;
    unsigned char here[BUILD_ID_MAX];
    unsigned char there[BUILD_ID_MAX];
    CLEANUP(closep) int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    size_t length = build_id_get(here);
    if (length == 0) {
        print_message("linked without --build-id\n");
        skip();
    }
    assert_int_equal(build_id_read(fd, there), length);
    assert_memory_equal(here, there, BUILD_ID_MAX);

    char path[PATH_ROOM];
    CLEANUP(closep) int other = open(crasher_path("crasher", path), O_RDONLY | O_CLOEXEC);
    assert_true(build_id_read(other, there) > 0);
    assert_memory_not_equal(here, there, BUILD_ID_MAX);
    assert_int_equal(build_id_read(-1, there), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(functions_have_their_names),
            cmocka_unit_test(what_is_no_function_has_none),
            cmocka_unit_test(a_stripped_file_names_its_exports),
            cmocka_unit_test(without_sections_exports_have_names),
            cmocka_unit_test(a_function_without_a_size_ends_at_the_next),
            cmocka_unit_test(wrong_numbers_lead_nowhere),
            cmocka_unit_test(a_truncated_file_is_refused),
            cmocka_unit_test(other_files_are_refused),
            cmocka_unit_test(a_program_has_names_too),
            cmocka_unit_test(memory_may_run_out),
            cmocka_unit_test(a_file_has_the_build_id_of_what_it_becomes),
    };
    return cmocka_run_group_tests_name("symbols", tests, NULL, NULL);
}
