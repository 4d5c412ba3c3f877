/* A plan of a text: what choose finds that the text wants, as plan takes it. */
#include <string.h>

#include "api/host.h"
#include "base/arena.h"
#include "base/ascii.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "choose/wishes.h"
#include "registry/document.h"
#include "toolrack/plan.h"

#define NAME_MAX_BYTES 48u
#define NAME_ROOM      64u
#define LEFT_MAX       200u /* bytes of a part of the text that is shown */

/* A choice below this is worth a look. */
#define SURE_CONFIDENCE 0.75

/* What is written. */
struct writing {
    const struct wishes *wishes;
    const char *text;
    yyjson_mut_doc *doc;
    yyjson_mut_val *inputs;
    yyjson_mut_val *nodes;
    yyjson_mut_val *unsure;
    char (*ids)[NAME_ROOM];
};

/* -------------------------------------------------------------------------------------- names */

/* A name that plans take, of another: at most NAME_MAX_BYTES. */
static void make_name(const char *from, const char *otherwise, char ret[NAME_ROOM]) {
    size_t length = 0;
    bool letter = false;
    for (; *from != '\0' && length < NAME_MAX_BYTES; from++) {
        if (ascii_is_alnum(*from) || *from == '_' || *from == '-') {
            letter = letter || ascii_is_letter(*from);
            ret[length++] = *from;
        } else if (length > 0 && ret[length - 1] != '_') {
            ret[length++] = '_';
        }
    }
    while (length > 0 && (ret[length - 1] == '_' || ret[length - 1] == '-')) {
        length--;
    }
    ret[length] = '\0';
    if (!letter || (!ascii_is_letter(ret[0]) && ret[0] != '_')) {
        (void)snprintf(ret, NAME_ROOM, "%s", otherwise);
    }
}

static bool is_id(const struct writing *writing, size_t count, const char *id) {
    for (size_t i = 0; i < count; i++) {
        if (strcmp(writing->ids[i], id) == 0) {
            return true;
        }
    }
    return false;
}

static void make_ids(struct writing *writing) {
    for (size_t i = 0; i < writing->wishes->count; i++) {
        char base[NAME_ROOM];
        make_name(writing->wishes->items[i].tool, "step", base);
        (void)snprintf(writing->ids[i], NAME_ROOM, "%s", base);
        for (unsigned n = 2; is_id(writing, i, writing->ids[i]); n++) {
            (void)snprintf(writing->ids[i], NAME_ROOM, "%.*s_%u", (int)NAME_MAX_BYTES, base, n);
        }
    }
}

/* ------------------------------------------------------------------------------------- unsure */

static yyjson_mut_val *add_unsure(struct writing *writing, const char *node, const char *about,
                                  const char *pointer, const char *reason, const char *question) {
    yyjson_mut_val *row = yyjson_mut_arr_add_obj(writing->doc, writing->unsure);
    document_add_text(writing->doc, row, "node", node);
    document_add_text(writing->doc, row, "about", about);
    document_add_text(writing->doc, row, "pointer", pointer);
    document_add_text(writing->doc, row, "reason", reason);
    document_add_text(writing->doc, row, "question", question);
    return row;
}

/* -------------------------------------------------------------------------------------- nodes */

/* What the text says is no reference, whatever it looks like: a copy of a value in which it is
 * none. */
static yyjson_mut_val *copy_literally(yyjson_mut_doc *doc, yyjson_mut_val *value) {
    const char *text = yyjson_mut_get_str(value);
    /* Also as what is taken for a mistaken one (plan/mistaken.h). */
    bool looks = text != NULL && (strstr(text, "${") != NULL || strstr(text, "{{") != NULL ||
                                  strncmp(text, "#/", 2) == 0 || strncmp(text, "$.", 2) == 0);
    if (yyjson_mut_is_ctn(value)) {
        yyjson_mut_obj_iter iter;
        yyjson_mut_val *key;
        (void)yyjson_mut_obj_iter_init(value, &iter);
        while ((key = yyjson_mut_obj_iter_next(&iter)) != NULL) {
            const char *name = yyjson_mut_get_str(key);
            looks = looks || (name != NULL && name[0] == '$');
        }
    }
    if (looks) {
        yyjson_mut_val *literal = yyjson_mut_obj(doc);
        (void)yyjson_mut_obj_add_val(doc, literal, "$literal", yyjson_mut_val_mut_copy(doc, value));
        return literal;
    }
    if (yyjson_mut_is_arr(value)) {
        yyjson_mut_val *list = yyjson_mut_arr(doc);
        size_t at;
        size_t count;
        yyjson_mut_val *item;
        yyjson_mut_arr_foreach(value, at, count, item) {
            (void)yyjson_mut_arr_append(list, copy_literally(doc, item));
        }
        return list;
    }
    if (yyjson_mut_is_obj(value)) {
        yyjson_mut_val *object = yyjson_mut_obj(doc);
        yyjson_mut_obj_iter iter;
        yyjson_mut_val *key;
        (void)yyjson_mut_obj_iter_init(value, &iter);
        while ((key = yyjson_mut_obj_iter_next(&iter)) != NULL) {
            (void)yyjson_mut_obj_add(object, yyjson_mut_val_mut_copy(doc, key),
                                     copy_literally(doc, yyjson_mut_obj_iter_get_val(key)));
        }
        return object;
    }
    return yyjson_mut_val_mut_copy(doc, value);
}

static void put(struct writing *writing, yyjson_mut_val *arguments, const char *pointer,
                const char *reference) {
    yyjson_mut_val *value = yyjson_mut_obj(writing->doc);
    (void)yyjson_mut_obj_add_strcpy(writing->doc, value, "$ref", reference);
    (void)yyjson_mut_ptr_setx(arguments, pointer, strlen(pointer), value, writing->doc, true, NULL,
                              NULL);
}

static const char *last_segment(const char *pointer) {
    const char *slash = strrchr(pointer, '/');
    return slash != NULL ? slash + 1 : pointer;
}

/* An input for what the text does not say. */
static void add_input(struct writing *writing, size_t at, const struct wish_ask *ask,
                      yyjson_mut_val *arguments) {
    char base[NAME_ROOM];
    char name[NAME_ROOM + 16];
    char reference[NAME_ROOM + 32];
    char pointer[NAME_ROOM + 32];
    make_name(last_segment(ask->pointer), "input", base);
    (void)snprintf(name, sizeof name, "%s", base);
    for (unsigned n = 2; yyjson_mut_obj_get(writing->inputs, name) != NULL; n++) {
        (void)snprintf(name, sizeof name, "%s_%u", base, n);
    }
    yyjson_mut_val *schema = yyjson_is_obj(ask->schema)
                                     ? yyjson_val_mut_copy(writing->doc, ask->schema)
                                     : yyjson_mut_obj(writing->doc);
    (void)yyjson_mut_obj_remove_key(schema, "default");
    (void)yyjson_mut_obj_remove_key(schema, "description");
    (void)yyjson_mut_obj_add_strcpy(writing->doc, schema, "description", ask->question);
    yyjson_mut_val *key = yyjson_mut_strcpy(writing->doc, name);
    (void)yyjson_mut_obj_add(writing->inputs, key, schema);
    (void)snprintf(reference, sizeof reference, "#/inputs/%s", name);
    (void)snprintf(pointer, sizeof pointer, "/inputs/%s", name);
    put(writing, arguments, ask->pointer, reference);
    (void)add_unsure(writing, writing->ids[at], "input", pointer,
                     ask->reason != NULL ? ask->reason : "the text does not say it", ask->question);
}

/* A text with a result inside: "${nodes.ID.result.PATH} * 12". A path is written with dots.
 * @param begun  the text with the results before, whose end this is; NULL: there are none */
static void put_inside(struct writing *writing, const struct wish_link *link, const char *begun,
                       yyjson_mut_val *arguments) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    buf_add_text(&text, begun != NULL ? begun : "");
    buf_printf(&text, "%s${nodes.%s.result", link->before, writing->ids[link->from]);
    for (const char *c = link->path; *c != '\0'; c++) {
        buf_add_char(&text, *c == '/' ? '.' : *c);
    }
    buf_printf(&text, "}%s", link->behind);
    (void)yyjson_mut_ptr_setx(arguments, link->pointer, strlen(link->pointer),
                              yyjson_mut_strcpy(writing->doc, text.failed ? "" : text.data),
                              writing->doc, true, NULL, NULL);
}

/* The call is made for each item of a result, of which the parameter takes a part. */
static void add_each(struct writing *writing, yyjson_mut_val *node, const struct wish_link *link,
                     const char *list, yyjson_mut_val *arguments) {
    char item[512];
    yyjson_mut_val *each = yyjson_mut_obj_add_obj(writing->doc, node, "for_each");
    yyjson_mut_val *items = yyjson_mut_obj_add_obj(writing->doc, each, "items");
    (void)yyjson_mut_obj_add_strcpy(writing->doc, items, "$ref", list);
    (void)snprintf(item, sizeof item, "#/item%s", link->item);
    put(writing, arguments, link->pointer, item);
}

static void add_link(struct writing *writing, size_t at, yyjson_mut_val *node, size_t number,
                     yyjson_mut_val *arguments) {
    const struct wish_link *link = &writing->wishes->items[at].links[number];
    const bool goes_on = number > 0 && strcmp(link[-1].pointer, link->pointer) == 0;
    char reference[512];
    char pointer[512];
    (void)snprintf(reference, sizeof reference, "#/nodes/%s/result%s", writing->ids[link->from],
                   link->path);
    (void)snprintf(pointer, sizeof pointer, "/nodes/%zu/arguments%s", at, link->pointer);
    if (link->item != NULL) {
        add_each(writing, node, link, reference, arguments);
    } else if (link->before != NULL) {
        const char *begun =
                goes_on ? yyjson_mut_get_str(yyjson_mut_ptr_get(arguments, link->pointer)) : NULL;
        put_inside(writing, link, begun, arguments);
    } else {
        put(writing, arguments, link->pointer, reference);
    }
    if (!link->said) {
        (void)add_unsure(writing, writing->ids[at], "reference", pointer,
                         "the text does not say it; what the node before gives fits best", NULL);
    } else if (link->open) {
        (void)add_unsure(writing, writing->ids[at], "reference", pointer,
                         "the text does not say which part of the result it means", NULL);
    }
}

static void add_node(struct writing *writing, size_t at) {
    const struct wish *wish = &writing->wishes->items[at];
    yyjson_mut_doc *doc = writing->doc;
    yyjson_mut_val *node = yyjson_mut_arr_add_obj(doc, writing->nodes);
    char pointer[64];
    (void)yyjson_mut_obj_add_strcpy(doc, node, "id", writing->ids[at]);
    (void)yyjson_mut_obj_add_strcpy(doc, node, "tool", wish->tool);
    yyjson_mut_val *arguments = copy_literally(doc, wish->arguments);
    for (size_t i = 0; i < wish->link_count; i++) {
        add_link(writing, at, node, i, arguments);
    }
    for (size_t i = 0; i < wish->ask_count; i++) {
        if (wish->asks[i].required) {
            add_input(writing, at, &wish->asks[i], arguments);
        } else {
            (void)snprintf(pointer, sizeof pointer, "/nodes/%zu/arguments", at);
            (void)add_unsure(writing, writing->ids[at], "argument", pointer, wish->asks[i].reason,
                             wish->asks[i].question);
        }
    }
    (void)yyjson_mut_obj_add_val(doc, node, "arguments", arguments);
    if (wish->after) {
        yyjson_mut_val *after = yyjson_mut_obj_add_arr(doc, node, "depends_on");
        (void)yyjson_mut_arr_add_strcpy(doc, after, writing->ids[at - 1]);
    }
    if (wish->confidence < SURE_CONFIDENCE) {
        char reason[64];
        (void)snprintf(pointer, sizeof pointer, "/nodes/%zu/tool", at);
        (void)snprintf(reason, sizeof reason, "the tool is chosen with %.2f", wish->confidence);
        (void)add_unsure(writing, writing->ids[at], "tool", pointer, reason, NULL);
    }
    if (wish->question != NULL) {
        (void)snprintf(pointer, sizeof pointer, "/nodes/%zu", at);
        (void)add_unsure(writing, writing->ids[at], "text", pointer, "not all of it is understood",
                         wish->question);
    }
}

static void add_told(struct writing *writing, const char *what, const struct wish_left *left) {
    const int length = left->length < LEFT_MAX ? (int)left->length : (int)LEFT_MAX;
    CLEANUP(buf_finish) struct buf reason = BUF_INIT;
    buf_printf(&reason, "%s \"%.*s\"", what, length, left->text);
    (void)add_unsure(writing, NULL, "text", NULL, reason.failed ? what : reason.data, NULL);
}

/* The parts of the text for which the plan does nothing, and the values that it does not use. */
static void add_left(struct writing *writing) {
    const struct wishes *wishes = writing->wishes;
    for (size_t i = 0; i < wishes->left_count; i++) {
        add_told(writing, "no tool is called for", &wishes->left[i]);
    }
    if (wishes->cut) {
        (void)add_unsure(writing, NULL, "text", NULL,
                         "the text is too long: only its beginning is read, and the rest may say "
                         "otherwise",
                         NULL);
    }
    for (size_t i = 0; i < wishes->refused_count; i++) {
        add_told(writing, "the text says not to do this, and no tool is called for it:",
                 &wishes->refused[i]);
    }
    for (size_t i = 0; i < wishes->condition_count; i++) {
        add_told(writing, "the calls are made whether this holds or not:", &wishes->conditions[i]);
    }
    for (size_t i = 0; i < wishes->unused_count; i++) {
        add_told(writing, "no call uses", &wishes->unused[i]);
    }
}

/* ---------------------------------------------------------------------------------- the whole */

int toolrack_plan_make(struct toolrack *host, const struct toolrack_select_options *options,
                       struct toolrack_text **ret, struct toolrack_error *err) {
    HOST_SCOPE(host);
    CLEANUP(wishes_finish) struct wishes wishes = {0};
    int code = choose_wishes(host->choose, options, &wishes, err);
    if (code < 0) {
        return code;
    }
    yyjson_mut_val *root;
    char ids[WISHES_MAX][NAME_ROOM];
    yyjson_mut_doc *doc = document_begin(&root);
    struct writing writing = {.wishes = &wishes, .doc = doc, .ids = ids};
    make_ids(&writing);
    if (wishes.count == 0) {
        (void)yyjson_mut_obj_add_null(doc, root, "plan");
        writing.unsure = yyjson_mut_obj_add_arr(doc, root, "unsure");
        (void)add_unsure(&writing, NULL, "tool", NULL, "no tool fits well enough", wishes.question);
        return document_end(doc, ret, err);
    }
    yyjson_mut_val *plan = yyjson_mut_obj_add_obj(doc, root, "plan");
    writing.inputs = yyjson_mut_obj(doc);
    writing.nodes = yyjson_mut_arr(doc);
    writing.unsure = yyjson_mut_obj_add_arr(doc, root, "unsure");
    for (size_t i = 0; i < wishes.count; i++) {
        add_node(&writing, i);
    }
    add_left(&writing);
    if (yyjson_mut_obj_size(writing.inputs) > 0) {
        (void)yyjson_mut_obj_add_val(doc, plan, "inputs", writing.inputs);
    }
    (void)yyjson_mut_obj_add_val(doc, plan, "nodes", writing.nodes);
    return document_end(doc, ret, err);
}
