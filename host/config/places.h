/* places.h - which folders and files a host uses: options, environment and configuration. */
#pragma once

#include "config/config.h"
#include "toolrack/toolrack.h"

/* Where the socket of the machine's own daemon is (cli/daemon-socket.h). */
#define PLACES_SYSTEM_RUNTIME "/run/toolrack"

/* In the state folder: where packages are, and in it the plugin folders of each trust that a key
 * can give (host/package/layout.h). */
#define PLACES_PACKAGES           "packages"
#define PLACES_PACKAGES_OFFICIAL  "official"
#define PLACES_PACKAGES_COMMUNITY "community"

/* Strings live as long as their arena. */
struct places {
    struct scan_folder *folders;
    size_t folder_count;
    const char *config_file; /* NULL: none */
    bool config_optional;
    const char *state_dir;   /* NULL: nothing is kept after the host is closed */
    const char *kept_dir;    /* the same, where files may be kept there; NULL: they may not */
    const char *cache_path;  /* in it; NULL: none */
    const char *packages;    /* the folder of installed packages in it; NULL: none */
    int packages_failed;     /* why nothing of it serves, for own_folder_words(); 0: it does */
    const char *data_dir;    /* of the user's plugins and their data; NULL: there is no HOME */
    const char *user_config; /* the folder of the user's configuration, and */
    const char *user_state;  /* the user's state folder, whatever this host uses; NULL: no HOME */
    const char *runtime_dir; /* of sockets; NULL: none */
};

/** Read the options and the environment, except the folders.
 * @return 0; TOOLRACK_E_NO_MEMORY. [any-thread] */
int places_find(const struct toolrack_options *options, struct arena *arena, struct places *ret,
                struct toolrack_error *err);

/** Add the folders: only those of the options, or those of configuration, environment and defaults.
 * @return 0; TOOLRACK_E_NO_MEMORY. [any-thread] */
int places_add_folders(const struct toolrack_options *options, const struct config *config,
                       struct arena *arena, struct places *places, struct toolrack_error *err);
