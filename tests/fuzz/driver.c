/* driver.c - stands in for libFuzzer: runs LLVMFuzzerTestOneInput() once on
 * each file of the folders and on each file that the command line names.
 *
 * The file about to run is named on standard error first, so that a crash tells
 * which one it was. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A seed larger than this is a mistake: it slows every test run down. */
#define SEED_SIZE_MAX (1 << 20)

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static int run_file(const char *path) {
    FILE *file = fopen(path, "rbe");
    if (file == NULL) {
        perror(path);
        return -1;
    }
    (void)fprintf(stderr, "%s\n", path);
    /* Exactly as large as the input: reading past its end is then seen by AddressSanitizer. */
    unsigned char *data = malloc(SEED_SIZE_MAX);
    size_t size = data != NULL ? fread(data, 1, SEED_SIZE_MAX, file) : 0;
    int failed = data == NULL || ferror(file) || !feof(file);
    (void)fclose(file);
    unsigned char *exact = failed ? NULL : malloc(size > 0 ? size : 1);
    if (exact == NULL) {
        (void)fprintf(stderr, "%s: unreadable or larger than %d bytes\n", path, SEED_SIZE_MAX);
        free(data);
        return -1;
    }
    memcpy(exact, data, size);
    free(data);
    (void)LLVMFuzzerTestOneInput(exact, size);
    free(exact);
    return 0;
}

static int run_folder(const char *path) {
    struct dirent **entries = NULL;
    int count = scandir(path, &entries, NULL, alphasort);
    if (count < 0) {
        perror(path);
        return -1;
    }
    int result = 0;
    for (int i = 0; i < count; i++) {
        char *file = NULL;
        if (entries[i]->d_name[0] != '.') {
            if (asprintf(&file, "%s/%s", path, entries[i]->d_name) < 0 || run_file(file) < 0) {
                result = -1;
            }
        }
        free(file);
        free(entries[i]);
    }
    free(entries);
    return result;
}

int main(int argc, char **argv) {
    int result = EXIT_SUCCESS;
    for (int i = 1; i < argc; i++) {
        struct stat st;
        int folder = stat(argv[i], &st) == 0 && S_ISDIR(st.st_mode);
        if ((folder ? run_folder(argv[i]) : run_file(argv[i])) < 0) {
            result = EXIT_FAILURE;
        }
    }
    return result;
}
