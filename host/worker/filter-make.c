/* The program that writes the filters as C, on its standard output. */
#include "worker/filter-make.h"

#include <stdio.h>
#include <string.h>

/* Writes it, and adds its length to `*end`. */
static int write_filter(unsigned grants, unsigned *end) {
    struct sock_filter filter[BPF_MAXINSNS + 1];
    size_t count = 0;
    const char *what = "";
    int failed = filter_make(grants, FILTER_TREE, filter, BPF_MAXINSNS + 1, &count, &what);
    if (failed != 0) {
        (void)fprintf(stderr, "filter-make: libseccomp refuses %s: %s\n", what, strerror(-failed));
        return failed;
    }
    for (size_t i = 0; i < count; i++) {
        (void)printf("    {0x%02x, %u, %u, 0x%x},\n", filter[i].code, filter[i].jt, filter[i].jf,
                     filter[i].k);
    }
    *end += (unsigned)count;
    return 0;
}

int main(void) {
    unsigned ends[FILTER_COUNT + 1] = {0};
    (void)printf("#include \"worker/filter-make.h\"\n\n"
                 "const struct sock_filter filter_instructions[] = {\n");
    for (unsigned i = 0; i < FILTER_COUNT; i++) {
        ends[i + 1] = ends[i];
        if (write_filter(i, &ends[i + 1]) != 0) {
            return 1;
        }
    }
    (void)printf("};\n\nconst unsigned filter_begins[] = {\n");
    for (unsigned i = 0; i <= FILTER_COUNT; i++) {
        (void)printf("    %u,\n", ends[i]);
    }
    (void)printf("};\n");
    return fflush(stdout) == 0 && ferror(stdout) == 0 ? 0 : 1;
}
