/* Runs a fuzzer over files: every file in the folders given, and every file given. What a fuzzer
 * once found stays found without the fuzzer. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PATH_ROOM 4096

static unsigned run_file(const char *path) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        (void)fprintf(stderr, "cannot read %s\n", path);
        exit(1);
    }
    (void)fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    /* Exactly as large as the input, so that a sanitizer sees a read beyond its end. */
    uint8_t *data = malloc(size > 0 ? (size_t)size : 1);
    if (data == NULL || fread(data, 1, (size_t)size, file) != (size_t)size) {
        exit(1);
    }
    (void)fclose(file);
    (void)LLVMFuzzerTestOneInput(data, (size_t)size);
    free(data);
    return 1;
}

static unsigned run_path(const char *path) {
    DIR *folder = opendir(path);
    if (folder == NULL) {
        return run_file(path);
    }
    unsigned count = 0;
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        if (entry->d_name[0] != '.') {
            char below[PATH_ROOM];
            (void)snprintf(below, sizeof below, "%s/%s", path, entry->d_name);
            count += run_path(below);
        }
    }
    (void)closedir(folder);
    return count;
}

int main(int argc, char **argv) {
    unsigned count = 0;
    for (int i = 1; i < argc; i++) {
        count += run_path(argv[i]);
    }
    (void)printf("%u inputs\n", count);
    return count > 0 ? 0 : 1;
}
