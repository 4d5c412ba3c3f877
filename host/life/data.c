#include "life/data.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "plugin/origin.h"

/* Bytes of the hash that the name has. */
#define NAME_BYTES 8u

const char *data_folder(struct arena *arena, const struct places *places, const char *id,
                        const char *origin) {
    unsigned char hash[crypto_hash_sha256_BYTES];
    char digits[2 * NAME_BYTES + 1];
    CLEANUP(freep) char *text = identity_text(id, origin);
    if (places == NULL || places->data_dir == NULL || text == NULL) {
        return NULL;
    }
    (void)crypto_hash_sha256(hash, (const unsigned char *)text, strlen(text));
    (void)sodium_bin2hex(digits, sizeof digits, hash, NAME_BYTES);
    return arena_printf(arena, "%s/data/%s-%s", places->data_dir, id, digits);
}

const char *data_make(struct arena *arena, const char *folder) {
    CLEANUP(freep) char *part = strdup(folder);
    struct stat st;
    bool is_made = part != NULL;
    for (char *slash = is_made ? strchr(part + 1, '/') : NULL; is_made && slash != NULL;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        is_made = mkdir(part, 0700) == 0 || errno == EEXIST;
        *slash = '/';
    }
    is_made = is_made && (mkdir(folder, 0700) == 0 || errno == EEXIST);
    if (!is_made || lstat(folder, &st) < 0) {
        return arena_printf(arena, "the folder %s cannot be made: %s", folder, strerror(errno));
    }
    if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 0077) != 0) {
        return arena_printf(arena,
                            "%s must be a folder of this user that nobody else can enter "
                            "(chmod 0700)",
                            folder);
    }
    return NULL;
}
