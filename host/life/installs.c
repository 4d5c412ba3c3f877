/* The folders of installed packages: what another process, or this host's app, has put there or
 * removed takes effect here. The watch would notice it too, a little later and where there is one.
 */
#include "life/life.h"

#include "life/parts.h"
#include "life/reload.h"
#include "life/rescan.h"

static void look(void *user, struct plugin_file *file) {
    struct life *life = user;
    struct reload_row row;
    if (!files_take(&life->files, file, 0)) {
        return; /* an event of this thread's own reload */
    }
    (void)reload_settled(life, file, RELOAD_IF_CHANGED, 0,
                         &row); /* a refusal is a row and an event */
    reload_row_finish(&row);
    files_give(&life->files, file);
}

void life_follow_installs(struct life *life) {
    const struct places *places = life->options.places;
    for (size_t i = 0; i < places->folder_count; i++) {
        struct toolrack_error err;
        if (places->folders[i].installs &&
            rescan_folder(life, &places->folders[i], look, life, &err) < 0) {
            log_line(life->options.log, LOG_WARNING, "reload", "%s", err.message);
        }
    }
}

void life_keep_installed(struct life *life, const char *path) {
    struct plugin_file *file = files_find(&life->files, path);
    struct reload_row row;
    if (file == NULL || !files_take(&life->files, file, 0)) {
        return;
    }
    (void)reload_file(life, file, RELOAD_AND_KEEP, &row);
    reload_row_finish(&row);
    files_give(&life->files, file);
}

void life_judge_installed(struct life *life, const char *path, bool is_good) {
    struct plugin_file *file = files_find(&life->files, path);
    struct content_verdict verdict = {.is_bad = !is_good,
                                      .rule = CONTENT_RULE_ROLLED_BACK,
                                      .reason = "a person went back from it"};
    struct toolrack_error unheard; /* who looks at the file will report it */
    uint8_t now[STAGE_HASH_SIZE];
    if (file == NULL || !files_take(&life->files, file, 0)) {
        return;
    }
    if (file->key != NULL && stage_hash(file->path, NULL, now, &unheard) == 0) {
        content_set_verdict(&life->options, file->key, now, &verdict);
    }
    files_give(&life->files, file);
}
