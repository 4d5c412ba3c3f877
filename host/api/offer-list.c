#include "api/offer-list.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/visible.h"
#include "run/run.h"

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)

bool offer_list_init(struct offer_list *list, enum toolrack_offer what, size_t plugins) {
    switch (what) {
    case TOOLRACK_OFFER_RESOURCES: list->kind = OFFERED_RESOURCE; break;
    case TOOLRACK_OFFER_TEMPLATES: list->kind = OFFERED_TEMPLATE; break;
    case TOOLRACK_OFFER_PROMPTS: list->kind = OFFERED_PROMPT; break;
    default: return true;
    }
    list->doc = yyjson_mut_doc_new(NULL);
    list->items = calloc(plugins + 1, sizeof(yyjson_mut_val *));
    return list->doc != NULL && list->items != NULL;
}

void offer_list_finish(struct offer_list *list) {
    yyjson_mut_doc_free(list->doc);
    free(list->items);
}

void offer_list_take(struct offer_list *list, size_t index, const struct plugin *plugin,
                     const struct toolrack_result *result, const struct toolrack_error *err,
                     const struct log *log) {
    const char *id = plugin->desc->plugin->id;
    const char *name = offered_list_name(list->kind);
    const char *wrong = NULL;
    if (result == NULL) {
        log_line(log, LOG_WARNING, id, "its list of %s is left out: %s", name, err->message);
        return;
    }
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *doc = yyjson_read(result->json, result->json_length, YYJSON_READ_NOFLAG);
    yyjson_val *root = yyjson_doc_get_root(doc);
    if (yyjson_is_null(root)) {
        return; /* it has none */
    }
    root = result->is_content ? yyjson_obj_get(root, "structuredContent") : root;
    list->items[index] = yyjson_mut_arr(list->doc);
    size_t left_out = offered_take(list->kind, root, list->doc, list->items[index], &wrong);
    if (left_out > 0) {
        log_line(log, LOG_WARNING, id, "%zu of its %s %s left out: one %s", left_out, name,
                 left_out == 1 ? "is" : "are", wrong);
    } else if (wrong != NULL) {
        log_line(log, LOG_WARNING, id, "its list of %s is left out: it %s", name, wrong);
    }
}

/* ------------------------------------------------------------------- one list */

/* An item, and whose it is. */
struct entry {
    const char *key;
    yyjson_mut_val *item;
    const struct plugin *plugin;
    size_t asked; /* position of the plugin, and of the item in its list */
    size_t at;
    const struct plugin
            *owner; /* another plugin, whose item has the key; NULL: it is in the list */
};

static int by_key(const void *left, const void *right) {
    const struct entry *a = left;
    const struct entry *b = right;
    int order = strcmp(a->key, b->key);
    order = order != 0 ? order : (a->asked > b->asked) - (a->asked < b->asked);
    return order != 0 ? order : (a->at > b->at) - (a->at < b->at);
}

static int by_plugin(const void *left, const void *right) {
    const struct entry *a = left;
    const struct entry *b = right;
    int order = strcmp(a->plugin->desc->plugin->id, b->plugin->desc->plugin->id);
    return order != 0 ? order : (a->at > b->at) - (a->at < b->at);
}

static size_t collect(const struct offer_list *list, const struct offer_plugins *plugins,
                      struct entry *entries) {
    size_t count = 0;
    for (size_t i = 0; i < plugins->count; i++) {
        size_t at;
        size_t size;
        yyjson_mut_val *item;
        yyjson_mut_arr_foreach(list->items[i], at, size, item) {
            if (entries != NULL) {
                entries[count] = (struct entry){.key = offered_key(list->kind, item),
                                                .item = item,
                                                .plugin = plugins->items[i],
                                                .asked = i,
                                                .at = at};
            }
            count++;
        }
    }
    return count;
}

/* Of items with one key the first is in the list. */
static void choose(struct entry *entries, size_t count, const struct offer_list *list,
                   const struct log *log) {
    qsort(entries, count, sizeof *entries, by_key);
    for (size_t i = 1; i < count; i++) {
        const struct entry *before = &entries[i - 1];
        if (strcmp(before->key, entries[i].key) == 0) {
            entries[i].owner = before->owner != NULL ? before->owner : before->plugin;
            log_line(log, LOG_INFO, entries[i].plugin->desc->plugin->id,
                     "'%s' of its %s is left out: plugin '%s' has it", entries[i].key,
                     offered_list_name(list->kind), entries[i].owner->desc->plugin->id);
        }
    }
    qsort(entries, count, sizeof *entries, by_plugin);
}

bool offer_list_write(struct offer_list *list, const struct offer_plugins *plugins,
                      const struct log *log, struct buf *out) {
    size_t count = collect(list, plugins, NULL);
    CLEANUP(freep) struct entry *entries = calloc(count + 1, sizeof *entries);
    yyjson_mut_val *root = yyjson_mut_obj(list->doc);
    yyjson_mut_val *all = yyjson_mut_obj_add_arr(list->doc, root, offered_list_name(list->kind));
    if (entries == NULL || all == NULL) {
        return false;
    }
    (void)collect(list, plugins, entries);
    if (count > 0) {
        choose(entries, count, list, log);
    }
    /* An item is in one array of the document at a time. */
    for (size_t i = 0; i < plugins->count; i++) {
        if (list->items[i] != NULL) {
            (void)yyjson_mut_arr_clear(list->items[i]);
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (entries[i].owner == NULL) {
            (void)yyjson_mut_arr_append(all, entries[i].item);
        }
    }
    yyjson_mut_doc_set_root(list->doc, root);
    size_t length = 0;
    CLEANUP(freep) char *text = yyjson_mut_write(list->doc, YYJSON_WRITE_NOFLAG, &length);
    struct visible hidden;
    size_t begin = out->length;
    if (text == NULL || !visible_json(text, length, out, &hidden)) {
        return false;
    }
    if (out->length == begin) { /* nothing is hidden */
        buf_add(out, text, length);
    }
    return !out->failed;
}
