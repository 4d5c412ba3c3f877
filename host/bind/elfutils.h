/* elfutils.h - libdw and libelf, loaded when debug information is read. */
#pragma once

#include <elfutils/libdwfl.h>
#include <gelf.h>

#include "base/error.h"

/** X(name). libelf is a library of libdw. */
#define ELFUTILS_FUNCTIONS(X)       \
    X(dwarf_attr_integrate)         \
    X(dwarf_attr)                   \
    X(dwarf_child)                  \
    X(dwarf_diename)                \
    X(dwarf_entrypc)                \
    X(dwarf_formflag)               \
    X(dwarf_formref_die)            \
    X(dwarf_formstring)             \
    X(dwarf_formudata)              \
    X(dwarf_hasattr)                \
    X(dwarf_siblingof)              \
    X(dwarf_tag)                    \
    X(dwfl_begin)                   \
    X(dwfl_build_id_find_elf)       \
    X(dwfl_end)                     \
    X(dwfl_errmsg)                  \
    X(dwfl_errno)                   \
    X(dwfl_module_getdwarf)         \
    X(dwfl_module_nextcu)           \
    X(dwfl_offline_section_address) \
    X(dwfl_report_end)              \
    X(dwfl_report_offline)          \
    X(dwfl_standard_find_debuginfo) \
    X(elf_begin)                    \
    X(elf_end)                      \
    X(elf_errmsg)                   \
    X(elf_getdata)                  \
    X(elf_kind)                     \
    X(elf_nextscn)                  \
    X(elf_strptr)                   \
    X(elf_version)                  \
    X(gelf_getdyn)                  \
    X(gelf_getehdr)                 \
    X(gelf_getshdr)                 \
    X(gelf_getsym)                  \
    X(gelf_getversym)

struct elfutils {
#define ELFUTILS_MEMBER(name) __typeof__(&name) name;
    ELFUTILS_FUNCTIONS(ELFUTILS_MEMBER)
#undef ELFUTILS_MEMBER
};

/** Its functions, after elfutils_load(). */
extern struct elfutils elfutils;

/** @return 0; TOOLRACK_E_IO: the message names what is missing. [any-thread, one at a time] */
int elfutils_load(struct toolrack_error *err);
