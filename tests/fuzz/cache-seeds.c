/* Writes a seed for fuzz-cache: a pack of what the plugins of a folder say.
 *
 *     cache-seeds FOLDER SEED */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "files/pack.h"
#include "files/scan.h"

static bool write_seed(const char *path, const struct cache_index *index) {
    CLEANUP(buf_finish) struct buf pack = BUF_INIT;
    const uint32_t records_size = (uint32_t)pack_write(index, &pack);
    if (records_size == 0) {
        return false;
    }
    FILE *file = fopen(path, "wbe");
    return file != NULL && fwrite(&records_size, sizeof records_size, 1, file) == 1 &&
           fwrite(pack.data, pack.length, 1, file) == 1 && fclose(file) == 0;
}

int main(int argc, char **argv) {
    if (argc != 3) {
        (void)fprintf(stderr, "usage: cache-seeds FOLDER SEED\n");
        return EXIT_FAILURE;
    }
    const struct scan_folder folder = {.path = argv[1], .trust = TRUST_COMMUNITY};
    const struct scan_options options = {.folders = &folder, .folder_count = 1};
    struct scan *scan;
    if (scan_run(&options, &scan, NULL) < 0) {
        return EXIT_FAILURE;
    }
    struct cache_file *files = calloc(scan->file_count + 1, sizeof *files);
    for (size_t i = 0; files != NULL && i < scan->file_count; i++) {
        files[i] = (struct cache_file){strrchr(scan->files[i].path, '/') + 1,
                                       scan->files[i].identity, scan->files[i].descriptor};
    }
    const struct cache_folder cached = {"plugins", files, scan->file_count};
    const struct cache_index index = {&cached, 1};
    bool written = files != NULL && write_seed(argv[2], &index);
    free(files);
    scan_destroy(scan);
    return written ? EXIT_SUCCESS : EXIT_FAILURE;
}
