/* peak.h - the most memory that a process has had at once. */
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/** Read it from a status file of /proc: bytes; `otherwise` where it is not there. The kernel takes
 * 20 us to write the file. [any-thread] */
static inline uint64_t peak_read(int status_fd, uint64_t otherwise) {
    static const char label[] = "\nVmHWM:";
    char text[2048];
    ssize_t got = pread(status_fd, text, sizeof text - 1, 0);
    text[got > 0 ? got : 0] = '\0';
    const char *line = strstr(text, label);
    return line != NULL ? strtoull(line + sizeof label - 1, NULL, 10) * 1024 : otherwise;
}
