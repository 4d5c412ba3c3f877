#include "choose/narrow.h"

#include "choose/assist.h"
#include "choose/profile.h"
#include "choose/scene.h"

/* What matches at least this share of the best match stays. Half is what loses no right tool: from
 * six tenths on, tools go that are right and described in words of another scene. */
#define MATCH_SHARE 0.5

/* Whether something else than its words leads to a tool. */
static bool is_led_to(const struct selecting *selecting, const struct shortlisted *item) {
    bool is_near = false;
    for (size_t i = 0; i < item->hit.reason_count; i++) {
        is_near = is_near || item->hit.reasons[i].relation == MATCH_VECTOR;
    }
    return is_near || item->whitelisted || item->said || item->history > 0 ||
           assist_names(selecting, toolrack_tool_name(item->tool));
}

void narrow(struct selecting *selecting) {
    struct shortlist *shortlist = &selecting->shortlist;
    const struct label *scenes = selecting->scenes;
    const size_t count = selecting->scene_count;
    double best = 0;
    bool is_any_about_it = false;
    if (selecting->asked.options.tools != NULL || selecting->steps > 1 || count == 0 ||
        scenes[0].score < SCENE_CERTAIN) {
        return;
    }
    for (size_t i = 0; i < shortlist->count; i++) {
        const struct fit_tool *tool = profile_fit(selecting->profiles[i]);
        double score = shortlist->items[i].hit.score;
        best = score > best ? score : best;
        is_any_about_it = is_any_about_it || fit_tool_about(tool, scenes, count) == FIT_ABOUT_IT;
    }
    for (size_t i = 0; is_any_about_it && i < shortlist->count; i++) {
        struct shortlisted *item = &shortlist->items[i];
        const struct fit_tool *tool = profile_fit(selecting->profiles[i]);
        item->left_out = item->hit.score < MATCH_SHARE * best &&
                         fit_tool_about(tool, scenes, count) == FIT_ABOUT_ELSE &&
                         !is_led_to(selecting, item);
        selecting->left_out += item->left_out;
    }
}
