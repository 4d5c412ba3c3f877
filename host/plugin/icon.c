/* The icons of a tool, as MCP has them: checked, and written again on one line with the members
 * that are known here.
 *
 * Wrong icons are left out with a warning: the tool works without them. */
#include <string.h>

#include "base/cleanup.h"
#include "plugin/reader.h"

#define ICONS_SIZE_MAX  (64u * 1024)
#define ICONS_COUNT_MAX 8u
#define ICON_SIZES_MAX  16u

/* What the source of an icon begins with: what a client can show without asking others than the
 * server that is named. */
static bool is_source(const char *text, size_t length) {
    static const char *const begins[] = {"https://", "data:image/"};
    for (size_t i = 0; i < length; i++) {
        if (text[i] <= ' ' || text[i] > '~') {
            return false;
        }
    }
    for (size_t i = 0; i < ARRAY_LENGTH(begins); i++) {
        size_t begin = strlen(begins[i]);
        if (length > begin && strncmp(text, begins[i], begin) == 0) {
            return true;
        }
    }
    return false;
}

/* A word such as "image/png" or "48x48". */
static bool is_word(yyjson_val *value) {
    const char *text = yyjson_get_str(value);
    size_t length = yyjson_get_len(value);
    if (text == NULL || length == 0 || length > 64) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        if (text[i] <= ' ' || text[i] > '~') {
            return false;
        }
    }
    return true;
}

/* What is wrong with an icon; NULL: nothing. */
static const char *fault_of(yyjson_val *icon) {
    yyjson_val *source = yyjson_obj_get(icon, "src");
    yyjson_val *mime_type = yyjson_obj_get(icon, "mimeType");
    yyjson_val *sizes = yyjson_obj_get(icon, "sizes");
    yyjson_val *theme = yyjson_obj_get(icon, "theme");
    size_t at;
    size_t count;
    yyjson_val *size;
    if (!yyjson_is_obj(icon)) {
        return "is no object";
    }
    if (!yyjson_is_str(source) || !is_source(yyjson_get_str(source), yyjson_get_len(source))) {
        return "has no src that is an https: or data:image/ URL";
    }
    if (mime_type != NULL && !is_word(mime_type)) {
        return "has a mimeType that is none";
    }
    if (sizes != NULL && (!yyjson_is_arr(sizes) || yyjson_arr_size(sizes) > ICON_SIZES_MAX)) {
        return "has sizes that are no array of at most 16 strings";
    }
    yyjson_arr_foreach (sizes, at, count, size) {
        if (!is_word(size)) {
            return "has sizes that are no array of at most 16 strings";
        }
    }
    return theme == NULL || yyjson_equals_str(theme, "light") || yyjson_equals_str(theme, "dark")
                   ? NULL
                   : "has a theme that is neither light nor dark";
}

static void add_icon(yyjson_mut_doc *doc, yyjson_mut_val *list, yyjson_val *icon) {
    static const char *const members[] = {"src", "mimeType", "sizes", "theme"};
    yyjson_mut_val *object = yyjson_mut_arr_add_obj(doc, list);
    for (size_t i = 0; i < ARRAY_LENGTH(members); i++) {
        yyjson_val *value = yyjson_obj_get(icon, members[i]);
        if (value != NULL) {
            (void)yyjson_mut_obj_add_val(doc, object, members[i], yyjson_val_mut_copy(doc, value));
        }
    }
}

/* In the descriptor's memory; NULL: `failure` is set. */
static const char *write_icons(struct reader *reader, yyjson_val *icons) {
    yyjson_alc alc = arena_alc(&reader->scratch);
    yyjson_mut_doc *doc = yyjson_mut_doc_new(&alc);
    yyjson_mut_val *list = doc != NULL ? yyjson_mut_arr(doc) : NULL;
    size_t at;
    size_t count;
    yyjson_val *icon;
    yyjson_arr_foreach (icons, at, count, icon) {
        add_icon(doc, list, icon);
    }
    size_t length = 0;
    const char *text =
            list != NULL ? yyjson_mut_val_write_opts(list, YYJSON_WRITE_NOFLAG, &alc, &length, NULL)
                         : NULL;
    if (text == NULL) {
        reader->failure = TOOLRACK_E_NO_MEMORY;
        return NULL;
    }
    char *copy = reader_alloc(reader, length + 1);
    if (copy != NULL) {
        memcpy(copy, text, length);
    }
    return copy;
}

const char *icons_read(struct reader *reader, const char *text) {
    char reason[READER_REASON_MAX] = "";
    const char *icons = NULL;
    if (strlen(text) > ICONS_SIZE_MAX) {
        reader_report(reader, FINDING_TOOL_ICONS, "the icons have more than %u bytes",
                      ICONS_SIZE_MAX);
        return NULL;
    }
    yyjson_val *root = yyjson_doc_get_root(reader_json(reader, text, reason, sizeof reason));
    size_t count = yyjson_arr_size(root);
    bool sound = yyjson_is_arr(root) && count <= ICONS_COUNT_MAX;
    if (!sound) {
        reader_report(reader, FINDING_TOOL_ICONS, "the icons are no JSON array of at most %u%s%s",
                      ICONS_COUNT_MAX, reason[0] != '\0' ? ": " : "", reason);
    }
    for (size_t i = 0; sound && i < count; i++) {
        const char *fault = fault_of(yyjson_arr_get(root, i));
        if (fault != NULL) {
            reader_report(reader, FINDING_TOOL_ICONS, "icon %zu %s", i + 1, fault);
            sound = false;
        }
    }
    if (sound && count > 0) {
        icons = write_icons(reader, root);
    }
    reader_scratch_reset(reader);
    return icons;
}
