/* What is accepted by `check`: --allow RULE=REASON, and toolrack-check.json beside the files.
 *
 * The list comes with the files and may be a stranger's: what it accepts is told, with the reason,
 * and it cannot accept what a host refuses. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/check.h"

/* Longest list. */
#define LIST_SIZE_MAX (1024u * 1024u)

static const char *const usage = "--allow takes RULE=REASON, such as --allow "
                                 "elf-exports='symbols of a static library'";

/* -------------------------------------------------------------------- options */

int check_allow_options(struct cli *cli, struct check_allowances *list) {
    const struct texts *given = &cli->options.allow;
    for (size_t i = 0; i < given->count; i++) {
        const char *equals = strchr(given->items[i], '=');
        struct toolrack_rule rule;
        if (equals == NULL || check_list_is_blank(equals + 1)) {
            return cli_error(cli, TOOLRACK_E_INVALID, "%s; \"%s\" has no reason", usage,
                             given->items[i]);
        }
        struct check_allowance *item = check_list_add(list);
        const char *id = check_list_keep(list, given->items[i], (size_t)(equals - given->items[i]));
        if (item == NULL || id == NULL) {
            return cli_oom(cli);
        }
        if (!check_rule(id, &rule)) {
            return cli_error(cli, TOOLRACK_E_INVALID,
                             "--allow: there is no rule \"%s\"; 'toolrack help check' says how to "
                             "list them",
                             id);
        }
        if (rule.severity == TOOLRACK_SEVERITY_ERROR) {
            return cli_error(
                    cli, TOOLRACK_E_INVALID,
                    "--allow: %s is an error, which no reason undoes: hosts refuse what it "
                    "is about",
                    id);
        }
        item->rule = id;
        item->reason = equals + 1;
        item->is_asked = true;
    }
    return 0;
}

/* ---------------------------------------------------------------------- lists */

/* The length of the folder of a path, with the slash; 0: the working folder. */
static size_t folder_length(const char *file) {
    const char *slash = strrchr(file, '/');
    return slash != NULL ? (size_t)(slash - file) + 1 : 0;
}

/* Whether the folder is new, which it is not next time. */
static int note_folder(struct check_allowances *list, const char *file, bool *ret_is_new) {
    size_t length = folder_length(file);
    for (size_t i = 0; i < list->folder_count; i++) {
        if (strlen(list->folders[i]) == length && memcmp(list->folders[i], file, length) == 0) {
            *ret_is_new = false;
            return 0;
        }
    }
    char **folders = realloc(list->folders, (list->folder_count + 1) * sizeof *folders);
    if (folders != NULL) {
        list->folders = folders;
        folders[list->folder_count] = strndup(file, length);
    }
    if (folders == NULL || folders[list->folder_count] == NULL) {
        return TOOLRACK_E_NO_MEMORY;
    }
    list->folder_count++;
    *ret_is_new = true;
    return 0;
}

int check_allow_folder(struct cli *cli, struct check_allowances *list, const char *file,
                       const char **ret_path, struct buf *ret_wrong) {
    CLEANUP(buf_finish) struct buf path = BUF_INIT;
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    bool is_new;
    *ret_path = NULL;
    if (note_folder(list, file, &is_new) < 0) {
        return cli_oom(cli);
    }
    buf_printf(&path, "%.*s" CHECK_LIST_NAME, (int)folder_length(file), file);
    if (path.failed) {
        return cli_oom(cli);
    }
    if (!is_new || access(path.data, F_OK) < 0) {
        return 0;
    }
    *ret_path = check_list_keep(list, path.data, path.length);
    if (*ret_path == NULL) {
        return cli_oom(cli);
    }
    if (cli_read_file(cli, path.data, LIST_SIZE_MAX + 1, &text) < 0) {
        cli_forget_error(cli);
        buf_add_text(ret_wrong, "it cannot be read\tlet the user of this command read it\n");
    } else if (text.length > LIST_SIZE_MAX) {
        buf_add_text(ret_wrong, "it has more than 1 MiB\tleave out what is not needed\n");
    } else {
        check_list_read(list, *ret_path, text.data, text.length, ret_wrong);
    }
    return ret_wrong->failed ? cli_oom(cli) : 0;
}

/* ------------------------------------------------------------------- findings */

static bool is_about(const struct check_allowance *item, const char *file) {
    size_t folder = folder_length(file);
    if (item->list != NULL &&
        (folder_length(item->list) != folder || memcmp(item->list, file, folder) != 0)) {
        return false;
    }
    return item->file == NULL || strcmp(item->file, file + folder) == 0;
}

const char *check_allow_find(struct check_allowances *list, const char *file,
                             const struct toolrack_finding *finding) {
    const char *reason = NULL;
    for (size_t i = 0; i < list->count; i++) {
        struct check_allowance *item = &list->items[i];
        if (item->rule == NULL || !is_about(item, file)) {
            continue;
        }
        item->is_asked = true;
        bool is_it = finding != NULL && strcmp(item->rule, finding->rule) == 0 &&
                     finding->severity != TOOLRACK_SEVERITY_ERROR &&
                     (item->tool == NULL ||
                      (finding->tool != NULL && strcmp(item->tool, finding->tool) == 0));
        if (is_it) {
            item->is_used = true;
            reason = reason != NULL ? reason : item->reason;
        }
    }
    return reason;
}
