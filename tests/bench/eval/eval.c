#include "eval.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "choose/values-parts.h"

struct entry {
    const char *id;
    yyjson_val *tool;
};

struct eval {
    struct entry *entries;
    size_t count;
    size_t room;
};

static int compare(const void *a, const void *b) {
    return strcmp(((const struct entry *)a)->id, ((const struct entry *)b)->id);
}

yyjson_val *eval_tool(struct eval *eval, const char *id) {
    struct entry key = {id != NULL ? id : "", NULL};
    struct entry *found = bsearch(&key, eval->entries, eval->count, sizeof key, compare);
    return found != NULL ? found->tool : NULL;
}

struct arguments_tool eval_arguments_tool(yyjson_val *tool) {
    return (struct arguments_tool){.name = yyjson_get_str(yyjson_obj_get(tool, "name")),
                                   .description =
                                           yyjson_get_str(yyjson_obj_get(tool, "description")),
                                   .parameters = yyjson_obj_get(tool, "parameters")};
}

struct arguments_context eval_context(yyjson_val *item) {
    struct arguments_context context = {0};
    const char *now = yyjson_get_str(yyjson_obj_get(item, "now"));
    struct values *values = NULL;
    if (now == NULL || values_read(now, strlen(now), NULL, &values, NULL) != 0) {
        return context;
    }
    for (size_t i = 0; i < values->count && !context.has_now; i++) {
        if (values->list[i].kind == VALUE_DATE && values->list[i].time.has_year) {
            context.has_now = true;
            context.now_ms = value_days(&values->list[i].time) * 86400000;
        }
    }
    values_destroy(values);
    return context;
}

/* Documents live as long as the program. */
static int read_lines(const char *path, struct eval *eval,
                      int (*each)(struct eval *, yyjson_val *)) {
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        perror(path);
        return 1;
    }
    char *line = NULL;
    size_t room = 0;
    int failed = 0;
    while (failed == 0 && getline(&line, &room, file) > 0) {
        yyjson_doc *doc = yyjson_read(line, strlen(line), YYJSON_READ_NOFLAG);
        if (doc != NULL) {
            failed = each(eval, yyjson_doc_get_root(doc));
        }
    }
    free(line);
    (void)fclose(file);
    return failed != 0;
}

static int add_tool(struct eval *eval, yyjson_val *tool) {
    if (eval->count == eval->room) {
        eval->room = eval->room * 2 + 1024;
        eval->entries = realloc(eval->entries, eval->room * sizeof *eval->entries);
        if (eval->entries == NULL) {
            return -1;
        }
    }
    eval->entries[eval->count++] = (struct entry){yyjson_get_str(yyjson_obj_get(tool, "id")), tool};
    return 0;
}

int eval_run(const char *tools_folder, const char *items,
             int (*each)(struct eval *, yyjson_val *item)) {
    struct eval eval = {0};
    DIR *folder = opendir(tools_folder);
    if (folder == NULL) {
        perror(tools_folder);
        return 1;
    }
    int failed = 0;
    for (struct dirent *file = readdir(folder); file != NULL; file = readdir(folder)) {
        char path[4096];
        (void)snprintf(path, sizeof path, "%s/%s", tools_folder, file->d_name);
        if (strstr(file->d_name, ".jsonl") != NULL) {
            failed = failed != 0 ? failed : read_lines(path, &eval, add_tool);
        }
    }
    (void)closedir(folder);
    qsort(eval.entries, eval.count, sizeof *eval.entries, compare);
    return failed != 0 ? failed : read_lines(items, &eval, each);
}
