/* entry.h - one tool of a list. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "toolrack/toolrack.h"

/** Strings are zero-terminated, and the catalogue's. */
struct entry {
    const char *name;
    /* What toolrack_get() finds it by: its name, or a version of it that an allow list names. */
    const char *selector;
    const char *definition; /* JSON */
    size_t length;          /* of the definition */
    const char *category;   /* "" for none */
    enum toolrack_permission permission;
    bool is_basic; /* in the profile of those who state none */
};

/* What those without a category are called, where tools are told and found by category. */
#define ENTRY_NO_CATEGORY "other"

static inline const char *entry_category(const struct entry *entry) {
    return entry->category[0] != '\0' ? entry->category : ENTRY_NO_CATEGORY;
}
