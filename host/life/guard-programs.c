/* What runs with more rights than a plugin: whoever changes it is in no sandbox. */
#include <dlfcn.h>
#include <limits.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "life/guard-parts.h"

void guard_check_programs(struct grant *grant) {
    char program[PATH_MAX];
    Dl_info library = {0};
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length > 0 ? length : 0] = '\0';
    (void)dladdr(__extension__(const void *) & guard_check_programs, &library);
    const struct guarded list[] = {
            {"the program of this process", program, GUARD_PROGRAM},
            {"the library of the host", library.dli_fname, GUARD_PROGRAM},
            {"the program of the workers", grant->guard->worker_program, GUARD_PROGRAM},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(list) && guard_goes_on(grant); i++) {
        if (list[i].path != NULL && list[i].path[0] == '/') {
            guard_check_place(grant, &list[i]);
        }
    }
}
