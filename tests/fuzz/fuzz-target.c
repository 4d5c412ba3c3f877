/* The target of a request to REST: the path and the query that anybody sends. What is taken has the
 * form that routes rely on, and is found or not found. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "serve/rest/routes.h"
#include "serve/rest/target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds) {
        abort();
    }
}

static void check_text(const char *text) {
    size_t length = strlen(text);
    require(utf8_valid(text, length));
    for (size_t i = 0; i < length; i++) {
        require((unsigned char)text[i] >= ' ' && text[i] != 0x7f);
    }
}

static void check_target(const struct target *target) {
    char allow[FRONT_ALLOW_ROOM];
    require(target->segment_count <= TARGET_SEGMENTS_MAX &&
            target->parameter_count <= TARGET_PARAMETERS_MAX);
    for (size_t i = 0; i < target->segment_count; i++) {
        check_text(target->segments[i]);
        require(target->segments[i][0] != '\0' && strcmp(target->segments[i], "..") != 0);
    }
    for (size_t i = 0; i < target->parameter_count; i++) {
        check_text(target->parameters[i].name);
        check_text(target->parameters[i].value);
        require(target_value(target, target->parameters[i].name) == target->parameters[i].value);
    }
    const struct route *route = routes_find("GET", target, allow);
    require(route == NULL || allow[0] != '\0');
    require(route == NULL || strchr(route->path, '{') == NULL ||
            route_part(route, target, "name") != NULL || route_part(route, target, "id") != NULL ||
            route_part(route, target, "list") != NULL ||
            route_part(route, target, "format") != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct target target;
    /* As long as the text is, so that a sanitizer sees a byte too far. */
    char *text = malloc(size + 1);
    char *room = malloc(size + 1);
    require(text != NULL && room != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    char *exact = strdup(text);
    free(room);
    room = malloc(strlen(text) + 1);
    require(exact != NULL && room != NULL);
    if (target_read(exact, room, &target) == NULL) {
        check_target(&target);
    }
    free(exact);
    free(room);
    free(text);
    return 0;
}
