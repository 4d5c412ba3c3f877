/* An index of packages: whatever it holds, it is read or refused with a message; what was read
 * stays below its folder, is in order, and is written and read again the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/semver.h"
#include "package/index.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds) {
        abort();
    }
}

static void check_entries(const struct package_index *index) {
    for (size_t i = 0; i < index->count; i++) {
        const struct index_entry *entry = &index->entries[i];
        require(entry->file[0] != '/' && strstr(entry->file, "..") != entry->file);
        require(strstr(entry->file, "/.") == NULL && strchr(entry->file, ':') == NULL);
        require(semver_valid(entry->version) && entry->size > 0);
        require(strlen(entry->sha256) == INDEX_SHA256_DIGITS);
        const struct index_entry *found = index_find(index, entry->id, NULL);
        require(found != NULL && strcmp(found->id, entry->id) == 0);
        if (i > 0) {
            int order = strcmp(index->entries[i - 1].id, entry->id);
            require(order < 0 || (order == 0 && semver_compare(index->entries[i - 1].version,
                                                               entry->version) > 0));
        }
        (void)index_matches(entry, "tool of a package");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct package_index index;
    struct package_index again;
    struct toolrack_error err;
    struct buf text = BUF_INIT;
    if (index_read((const char *)data, size, "index.json", &index, &err) < 0) {
        require(err.message[0] != '\0');
        return 0;
    }
    require(index.number > 0 && index.expires_s > 0);
    check_entries(&index);
    index_write(&text, index.number, index.created_s, index.expires_s, index.entries, index.count);
    require(index_read(text.data, text.length, "index.json", &again, &err) == 0);
    require(again.count == index.count && again.expires_s == index.expires_s);
    index_finish(&index);
    index_finish(&again);
    buf_finish(&text);
    return 0;
}
