/* choose.c - what something may be, and which of that was decided. */
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "bind/parts.h"

const char *work_keep(struct work *work, const char *text) {
    const char *copy =
            text != NULL ? arena_copy(work->concluding->model->arena, text, strlen(text)) : NULL;
    if (copy == NULL && work->code == 0) {
        work->code = error_oom(work->err);
    }
    return copy != NULL ? copy : "";
}

struct choosing choosing_begin(struct work *work, const char *about, yyjson_mut_val *object) {
    return (struct choosing){
            .work = work, .about = about, .object = object, .choices = yyjson_mut_obj(work->doc)};
}

yyjson_mut_val *choosing_add(struct choosing *choosing, const char *name) {
    return yyjson_mut_obj_add_obj(choosing->work->doc, choosing->choices, name);
}

/* A number that was decided: the size of what is read. */
static void add_number(struct choosing *choosing, yyjson_mut_val *members, uint64_t number) {
    yyjson_mut_doc *doc = choosing->work->doc;
    bool is_array = yyjson_mut_equals_str(yyjson_mut_obj_get(members, "type"), "array");
    if (yyjson_mut_obj_get(members, "alone") != NULL) {
        (void)yyjson_mut_obj_add_uint(doc, choosing->object, is_array ? "minItems" : "minLength",
                                      number);
        (void)yyjson_mut_obj_add_uint(doc, choosing->object, is_array ? "maxItems" : "maxLength",
                                      number);
    }
}

static void merge(struct choosing *choosing, yyjson_mut_val *members, uint64_t number) {
    yyjson_mut_doc *doc = choosing->work->doc;
    size_t index;
    size_t count;
    yyjson_mut_val *key;
    yyjson_mut_val *value;
    yyjson_mut_obj_foreach(members, index, count, key, value) {
        yyjson_mut_val *copy = number != 0 && yyjson_mut_equals_str(key, "capacity")
                                       ? yyjson_mut_uint(doc, number)
                                       : yyjson_mut_val_mut_copy(doc, value);
        if (!yyjson_mut_obj_add(choosing->object, yyjson_mut_val_mut_copy(doc, key), copy)) {
            choosing->work->code = error_oom(choosing->work->err);
        }
    }
    if (number != 0) {
        add_number(choosing, members, number);
    }
}

static int refuse_choice(struct choosing *choosing, const struct decision *decision) {
    CLEANUP(buf_finish) struct buf known = BUF_INIT;
    size_t index;
    size_t count;
    yyjson_mut_val *key;
    yyjson_mut_val *value;
    yyjson_mut_obj_foreach(choosing->choices, index, count, key, value) {
        buf_printf(&known, "%s%s", index > 0 ? ", " : "", yyjson_mut_get_str(key));
    }
    return error_set(choosing->work->err, TOOLRACK_E_INVALID,
                     "%s.%s cannot be decided as '%s': choose one of %s",
                     choosing->work->function->name, choosing->about, decision->choice,
                     known.failed || known.length == 0 ? "none" : known.data);
}

/* Whether a decision has the size that its choice needs, and only then. */
static bool fits_room(yyjson_mut_val *members, uint64_t number) {
    yyjson_mut_val *capacity = yyjson_mut_obj_get(members, "capacity");
    bool is_sized = capacity != NULL || yyjson_mut_obj_get(members, "alone") != NULL;
    return number != 0 ? is_sized : capacity == NULL || yyjson_mut_get_uint(capacity) > 0;
}

/* The last decision of which there is such a choice. A pattern may fit things of which it is not
 * meant; a decision about just this must be possible. */
static yyjson_mut_val *find_decided(struct choosing *choosing, struct decision *ret) {
    struct work *work = choosing->work;
    const struct decisions *decisions = work->concluding->decisions;
    size_t at = decisions->count;
    while (decisions_before(decisions, &at, work->function->name, choosing->about, ret)) {
        yyjson_mut_val *members = yyjson_mut_obj_get(choosing->choices, ret->choice);
        if (members != NULL && fits_room(members, ret->number)) {
            decisions->used[at] = true;
            return members;
        }
        if (members != NULL && !ret->is_pattern && work->code == 0) {
            work->code = error_set(work->err, TOOLRACK_E_INVALID,
                                   ret->number == 0 ? "the decision '%s' needs how many bytes or "
                                                      "items there is room for, as in %s:32"
                                                    : "the decision '%s' has a room, which '%s' "
                                                      "does not take",
                                   decisions->texts[at], ret->choice);
        }
        if (members != NULL) {
            continue;
        }
        if (!ret->is_pattern && work->code == 0) {
            work->code = refuse_choice(choosing, ret);
        }
    }
    return NULL;
}

void choosing_end(struct choosing *choosing, const char *question) {
    struct work *work = choosing->work;
    struct decision decision = {.number = 0};
    yyjson_mut_val *members = find_decided(choosing, &decision);
    if (members != NULL) {
        merge(choosing, members, decision.number);
        return;
    }
    if (choosing->certain != NULL) {
        merge(choosing, yyjson_mut_obj_get(choosing->choices, choosing->certain), 0);
        return;
    }
    yyjson_mut_val *decide = yyjson_mut_obj_add_obj(work->doc, choosing->object, "decide");
    if (!yyjson_mut_obj_add_strcpy(work->doc, decide, "question", question) ||
        !yyjson_mut_obj_add_val(work->doc, decide, "choices", choosing->choices)) {
        work->code = error_oom(work->err);
    }
    work->undecided++;
}
