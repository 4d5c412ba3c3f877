#include "ffi/place.h"

/* Recursive; the depth is bounded by the nesting of types. */
void place_add_pointer(const struct place *place, struct buf *buf) {
    if (place == NULL) {
        buf_add_text(buf, "");
        return;
    }
    place_add_pointer(place->up, buf);
    buf_add_char(buf, '/');
    if (place->key == NULL) {
        buf_add_json_uint(buf, place->index);
        return;
    }
    for (const char *key = place->key; *key != '\0'; key++) {
        switch (*key) {
        case '~': buf_add_text(buf, "~0"); break;
        case '/': buf_add_text(buf, "~1"); break;
        default: buf_add_char(buf, *key);
        }
    }
}
