/* pch.h - system headers that most files of the host include, compiled once for each
 * library (option b_pch of meson, which only ./dev turns on).
 *
 * No header of the host is here: one that changes would rebuild everything. Each file
 * still includes what it uses; the clang stage, without this file, shows that it does.
 * signal.h is not here: a file has a function of its own that is named raise. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <yyjson.h>
