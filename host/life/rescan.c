#include "life/rescan.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "files/folder.h"
#include "life/parts.h"

bool rescan_is_repeated(const struct life *life, const struct scan_folder *folder) {
    struct stat st;
    struct stat other;
    if (stat(folder->path, &st) < 0) {
        return false;
    }
    for (const struct scan_folder *at = life->options.places->folders; at < folder; at++) {
        if (stat(at->path, &other) == 0 && other.st_dev == st.st_dev && other.st_ino == st.st_ino) {
            return true;
        }
    }
    return false;
}

int rescan_folder(struct life *life, const struct scan_folder *asked,
                  void (*visit)(void *user, struct plugin_file *file), void *user,
                  struct toolrack_error *err) {
    if (rescan_is_repeated(life, asked)) {
        return 0;
    }
    CLEANUP(folder_finish) struct folder folder;
    struct arena arena;
    struct plugin_file *file;
    uint32_t round = atomic_fetch_add(&life->rounds, 1) + 1;
    int code = 0;
    arena_init(&arena, NULL, 0);
    int why = folder_init(&folder, asked->path);
    if (why == 0) {
        why = folder_list(&folder, asked->path, FOLDER_FILES_MAX, &arena);
    }
    for (size_t i = 0; code == 0 && i < folder.count; i++) {
        file = files_add(&life->files, folder_path(&folder, i), asked);
        if (file == NULL) {
            code = error_oom(err);
        } else {
            files_set_round(&life->files, file, round);
            visit(user, file);
        }
    }
    /* Known files that do not exist any more. */
    for (file = files_next(&life->files, NULL); file != NULL;
         file = files_next(&life->files, file)) {
        if (files_was_missed(&life->files, file, asked, round)) {
            visit(user, file);
        }
    }
    arena_finish(&arena);
    if (code < 0 || why == 0 || why == ENOENT) {
        return code;
    }
    return why == ENOMEM ? error_oom(err)
                         : error_set(err, TOOLRACK_E_IO, "cannot read the folder %s: %s",
                                     asked->path, strerror(why));
}
