#include "life/keep.h"

#include <string.h>

#include "base/semver.h"
#include "life/generation.h"

bool keep_fits(const char *plugin_id, const char *version, const char *now_plugin_id,
               const char *now_version) {
    return strcmp(plugin_id, now_plugin_id) == 0 && semver_compare(version, now_version) != 0;
}

static bool fits_beside(const struct plugin *earlier, const struct plugin *now) {
    const struct tr_plugin *about = earlier->desc->plugin;
    return keep_fits(about->id, about->version, now->desc->plugin->id, now->desc->plugin->version);
}

void keep_choose(struct generations *generations, const struct plugin_file *file,
                 const struct plugin *old, const struct plugin *new, bool is_going_back,
                 struct keep_choice *ret) {
    uint32_t room = new != NULL ? generation_of(new)->policy.keep : 0;
    *ret = (struct keep_choice){0};
    /* What was never copied cannot be called any more. */
    ret->keeps = room > 0 && old != NULL && !is_going_back && atomic_load(&old->staged) &&
                 fits_beside(old, new);
    room -= ret->keeps;
    struct plugin *kept;
    for (size_t at = 0; ret->dropped_count < ARRAY_LENGTH(ret->dropped) &&
                        (kept = generations_hold_kept(generations, file, at)) != NULL;
         at++) {
        if (room > 0 && fits_beside(kept, new) && (!ret->keeps || fits_beside(kept, old))) {
            room--;
            plugin_unref(kept);
        } else {
            ret->dropped[ret->dropped_count++] = kept;
        }
    }
}

void keep_choice_finish(struct keep_choice *choice) {
    for (size_t i = 0; i < choice->dropped_count; i++) {
        plugin_unref(choice->dropped[i]);
    }
    choice->dropped_count = 0;
}
