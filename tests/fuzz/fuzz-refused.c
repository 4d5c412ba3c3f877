/* What servers refused of requests (refused.json of the state folder), from any bytes: whatever
 * they are, a conversation begins, and what is kept next is a list that can be read. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yyjson.h>

#include "provider/refused.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds) {
        abort();
    }
}

static void write_file(const char *path, const uint8_t *data, size_t size) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    require(fd >= 0 && write(fd, data, size) == (ssize_t)size && close(fd) == 0);
}

static void apply(const char *folder, const char *url) {
    struct conversation conversation;
    struct toolrack_error err;
    require(conversation_init(&conversation, TOOLRACK_FORMAT_OPENAI, "m", NULL, "[]", "task",
                              &err) == 0);
    refused_apply(folder, url, "m", &conversation);
    conversation_finish(&conversation);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char folder[] = "/tmp/toolrack-fuzz-XXXXXX";
    char path[64];
    require(mkdtemp(folder) != NULL);
    (void)snprintf(path, sizeof path, "%s/refused.json", folder);
    write_file(path, data, size);
    apply(folder, "http://a");
    refused_keep(folder, "http://a", "m", "store");
    apply(folder, "http://a");

    yyjson_doc *doc = yyjson_read_file(path, YYJSON_READ_NOFLAG, NULL, NULL);
    yyjson_val *rows = yyjson_doc_get_root(doc);
    yyjson_val *last = yyjson_arr_get_last(rows);
    require(yyjson_is_arr(rows) && yyjson_arr_size(rows) <= REFUSED_MAX);
    require(yyjson_equals_str(yyjson_obj_get(last, "name"), "store"));
    yyjson_doc_free(doc);
    require(unlink(path) == 0 && rmdir(folder) == 0);
    return 0;
}
