/* places.h - which folders and files a host uses: options, environment and configuration. */
#pragma once

#include "config/config.h"
#include "toolrack/toolrack.h"

/* Strings live as long as the arena that they were made in. */
struct places {
    struct scan_folder *folders;
    size_t folder_count;
    const char *config_file; /* NULL: none */
    bool config_optional;
    const char *state_dir;  /* NULL: nothing is kept beyond the host's life */
    const char *cache_path; /* NULL: none */
};

/** What the options and the environment say, except the folders.
 * @return 0; TOOLRACK_E_NO_MEMORY. [any-thread] */
int places_find(const struct toolrack_options *options, struct arena *arena, struct places *ret,
                struct toolrack_error *err);

/** Add the folders: those of the options alone, or those of configuration, environment and
 * defaults.
 * @return 0; TOOLRACK_E_NO_MEMORY. [any-thread] */
int places_add_folders(const struct toolrack_options *options, const struct config *config,
                       struct arena *arena, struct places *places, struct toolrack_error *err);
