/* From a sentence to a tool, forwarded to choose, and what the configuration says of it. */
#include "toolrack/choose.h"
#include "api/host.h"

#include "api/choosing.h"
#include "base/arena.h"
#include "base/json.h"
#include "choose/scene.h"

int toolrack_search(struct toolrack *host, const struct toolrack_select_options *options,
                    struct toolrack_text **ret, struct toolrack_error *err) {
    HOST_SCOPE(host);
    return choose_search(host->choose, options, ret, err);
}

int toolrack_search_prepare(struct toolrack *host, struct toolrack_error *err) {
    HOST_SCOPE(host);
    return choose_prepare(host->choose, err);
}

int toolrack_select(struct toolrack *host, const struct toolrack_select_options *options,
                    struct toolrack_text **ret, struct toolrack_error *err) {
    HOST_SCOPE(host);
    return choose_select(host->choose, options, ret, err);
}

int toolrack_select_worked(struct toolrack *host, const char *principal, const char *id,
                           bool worked, struct toolrack_error *err) {
    HOST_SCOPE(host);
    return choose_select_worked(host->choose, principal, id, worked, err);
}

int toolrack_select_feedback(struct toolrack *host, const char *principal, const char *id,
                             const char *tool, struct toolrack_error *err) {
    HOST_SCOPE(host);
    return choose_select_feedback(host->choose, principal, id, tool, err);
}

int toolrack_select_forget(struct toolrack *host, const char *principal, uint64_t *ret_count,
                           struct toolrack_error *err) {
    HOST_SCOPE(host);
    return choose_select_forget(host->choose, principal, ret_count, err);
}

/* ------------------------------------------------------------------------- configuration */

/* The words of a scene, separated by commas, which none of them has. NULL: out of memory. */
static const char *join_words(struct arena *arena, yyjson_val *words) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    size_t at;
    size_t count;
    yyjson_val *word;
    yyjson_arr_foreach (words, at, count, word) {
        buf_add(&text, ",", at > 0);
        buf_add(&text, yyjson_get_str(word), yyjson_get_len(word));
    }
    return text.failed ? NULL : arena_copy(arena, text.data, text.length);
}

int choosing_scenes(const struct config *config, struct scenes **ret, struct toolrack_error *err) {
    yyjson_val *object = yyjson_obj_get(config_choosing(config), "scenes");
    struct scene_row rows[SCENES_ADDED_MAX];
    CLEANUP(arena_finish) struct arena arena;
    size_t taken = 0;
    size_t at;
    size_t count;
    yyjson_val *id;
    yyjson_val *scene;
    arena_init(&arena, NULL, 0);
    json_obj_foreach (object, at, count, id, scene) {
        const char *words = join_words(&arena, yyjson_obj_get(scene, "words"));
        if (words == NULL) {
            return error_oom(err);
        }
        rows[taken++] =
                (struct scene_row){.id = yyjson_get_str(id),
                                   .name_zh = yyjson_get_str(yyjson_obj_get(scene, "name_zh")),
                                   .words = words};
    }
    *ret = NULL;
    return taken > 0 ? scenes_create(rows, taken, ret, err) : 0;
}
