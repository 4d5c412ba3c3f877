#include "base/xdg.h"

#include <stdio.h>
#include <stdlib.h>

char *xdg_path(const char *variable, const char *below_home, const char *tail) {
    const char *base = getenv(variable);
    const char *home = getenv("HOME");
    char *path = NULL;
    int length = -1;
    if (base != NULL && base[0] == '/') {
        length = asprintf(&path, "%s/%s", base, tail);
    } else if (home != NULL && home[0] == '/') {
        length = asprintf(&path, "%s/%s/%s", home, below_home, tail);
    }
    return length >= 0 ? path : NULL;
}
