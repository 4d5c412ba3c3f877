/* The manifest of a package: whatever it holds, it is read or refused with a message, and what was
 * read is written and read again the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "package/manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct manifest manifest;
    struct manifest again;
    struct toolrack_error err;
    struct buf text = BUF_INIT;
    struct buf text_again = BUF_INIT;
    if (manifest_parse((const char *)data, size, &manifest, &err) < 0) {
        require(err.message[0] != '\0');
        manifest_finish(&manifest);
        return 0;
    }
    require(manifest_id_valid(manifest.id) && manifest.file_count > 0);
    for (size_t i = 0; i < manifest.file_count; i++) {
        require(strstr(manifest.files[i].path, "..") == NULL ||
                manifest_is_plugin(manifest.files[i].path, NULL));
        require(manifest.files[i].path[0] != '/');
        require(manifest_find_file(&manifest, manifest.files[i].path) == &manifest.files[i]);
    }
    manifest_write(&manifest, &text);
    require(manifest_parse(text.data, text.length, &again, &err) == 0);
    manifest_write(&again, &text_again);
    require(text.length == text_again.length &&
            memcmp(text.data, text_again.data, text.length) == 0);
    manifest_finish(&manifest);
    manifest_finish(&again);
    buf_finish(&text);
    buf_finish(&text_again);
    return 0;
}
