/* A robots.txt from anywhere (plugins/fetch): the first line is the path that is asked for, the
 * rest the file. An answer is always found; an empty file allows all, and a rule that is added for
 * everybody at the end of a file without groups forbids. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "robots.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char all[] = "\nuser-agent: nobody\nuser-agent: FuZZer/1\ndisallow: /\n";
    const char *bytes = (const char *)data;
    const char *end = size > 0 ? memchr(bytes, '\n', size) : NULL;
    size_t head = end != NULL ? (size_t)(end - bytes) : size;
    char path[500] = "/";
    head = head < sizeof path - 2 ? head : sizeof path - 2;
    memcpy(path + 1, bytes, head);
    path[head + 1] = '\0';
    require(robots_allow("", 0, "fuzzer", path));
    bool answer = robots_allow(bytes + head, size - head, "fuzzer", path);
    require(answer == robots_allow(bytes + head, size - head, "FUZZER", path));
    require(!robots_allow(all, sizeof all - 1, "fuzzer", path));
    require(robots_allow(all, sizeof all - 1, "other", path));
    return 0;
}
