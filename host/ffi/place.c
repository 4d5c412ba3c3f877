#include "ffi/place.h"

#include <string.h>

/* Recursive; the depth is bounded by the nesting of types. */
void place_add_pointer(const struct place *place, struct buf *buf) {
    if (place == NULL) {
        buf_add_text(buf, "");
        return;
    }
    place_add_pointer(place->up, buf);
    if (place->key != NULL) {
        buf_add_pointer(buf, place->key, strlen(place->key));
    } else {
        buf_add_char(buf, '/');
        buf_add_json_uint(buf, place->index);
    }
}
