#include "format/offered.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/hidden.h"
#include "base/json-write.h"
#include "run/run.h"

/* ------------------------------------------------------------------ members */

enum form {
    FORM_END,
    FORM_NAME, /* a short line */
    FORM_TEXT, /* any text */
    FORM_URI,
    FORM_TEMPLATE,
    FORM_SIZE,
    FORM_BOOLEAN,
    FORM_ICONS,
    FORM_NOTES, /* annotations */
    FORM_META,
    FORM_ARGUMENTS
};

struct member {
    const char *name;
    enum form form;
    bool is_needed;
    const char *wrong; /* what is said of a wrong or missing one */
};

#define MEMBERS_MAX 10
#define OF_EACH                                                                     \
    {"title", FORM_TEXT, false, "has a title that is no text"},                     \
            {"description", FORM_TEXT, false, "has a description that is no text"}, \
            {"icons", FORM_ICONS, false, "has icons that are none"}, {              \
        "_meta", FORM_META, false, "has a _meta that is no object"                  \
    }
#define OF_RESOURCES                                                        \
    {"name", FORM_NAME, true, "has no name"},                               \
            {"mimeType", FORM_NAME, false, "has a MIME type that is none"}, \
            {"annotations", FORM_NOTES, false, "has annotations that are none"}, OF_EACH

static const struct member members[OFFERED_KIND_COUNT][MEMBERS_MAX] = {
        [OFFERED_RESOURCE] = {{"uri", FORM_URI, true, "has no URI"},
                              {"size", FORM_SIZE, false, "has a size that is none"},
                              OF_RESOURCES},
        [OFFERED_TEMPLATE] = {{"uriTemplate", FORM_TEMPLATE, true, "has no URI template"},
                              OF_RESOURCES},
        [OFFERED_PROMPT] = {{"name", FORM_NAME, true, "has no name"},
                            {"arguments", FORM_ARGUMENTS, false, "has arguments that are none"},
                            OF_EACH}};

static const struct member argument_members[MEMBERS_MAX] = {{"name", FORM_NAME, true, ""},
                                                            {"title", FORM_TEXT, false, ""},
                                                            {"description", FORM_TEXT, false, ""},
                                                            {"required", FORM_BOOLEAN, false, ""}};

static const char *const list_names[OFFERED_KIND_COUNT] = {"resources", "resourceTemplates",
                                                           "prompts"};

const char *offered_list_name(enum offered_kind kind) {
    return list_names[kind];
}

const char *offered_key(enum offered_kind kind, yyjson_mut_val *item) {
    return yyjson_mut_get_str(yyjson_mut_obj_get(item, members[kind][0].name));
}

/* -------------------------------------------------------------------- forms */

/* Something that people read on one line and programs compare: nothing in it is hidden. */
static bool is_name(yyjson_val *value) {
    const char *text = yyjson_get_str(value);
    size_t length = yyjson_get_len(value);
    if (text == NULL || length == 0 || length > OFFERED_NAME_MAX || hidden_has(text, length)) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        if ((unsigned char)text[i] < ' ' || text[i] == 0x7f) {
            return false;
        }
    }
    return true;
}

/* A URI in which expressions in braces may stand. */
static bool is_template(yyjson_val *value) {
    char plain[CONTENT_URI_MAX];
    const char *text = yyjson_get_str(value);
    size_t length = yyjson_get_len(value);
    size_t at = 0;
    bool is_open = false;
    if (text == NULL || length >= sizeof plain) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '{' || text[i] == '}') {
            if (is_open == (text[i] == '{')) {
                return false;
            }
            is_open = !is_open;
            plain[at++] = 'x';
        } else if (!is_open) {
            plain[at++] = text[i];
        } else if (text[i] <= ' ' || text[i] > '~') {
            return false;
        }
    }
    return !is_open && content_is_uri(plain, at);
}

static bool is_icons(yyjson_val *value) {
    size_t at;
    size_t count;
    yyjson_val *icon;
    yyjson_arr_foreach (value, at, count, icon) {
        yyjson_val *source = yyjson_obj_get(icon, "src");
        const char *text = yyjson_get_str(source);
        if (text == NULL || !content_is_uri(text, yyjson_get_len(source)) ||
            (strncmp(text, "https:", 6) != 0 && strncmp(text, "data:image/", 11) != 0)) {
            return false;
        }
    }
    return yyjson_is_arr(value) && yyjson_arr_size(value) <= 8;
}

static bool has_members(const struct member *known, yyjson_val *object, const char **ret_wrong);

static bool is_arguments(yyjson_val *value) {
    const char *unheard;
    size_t at;
    size_t count;
    yyjson_val *argument;
    yyjson_arr_foreach (value, at, count, argument) {
        if (!yyjson_is_obj(argument) || !has_members(argument_members, argument, &unheard)) {
            return false;
        }
    }
    return yyjson_is_arr(value) && yyjson_arr_size(value) <= OFFERED_ARGUMENTS_MAX;
}

static bool is_form(enum form form, yyjson_val *value) {
    switch (form) {
    case FORM_NAME: return is_name(value);
    case FORM_TEXT: return yyjson_is_str(value);
    case FORM_URI:
        return yyjson_is_str(value) && content_is_uri(yyjson_get_str(value), yyjson_get_len(value));
    case FORM_TEMPLATE: return is_template(value);
    case FORM_SIZE: return yyjson_is_uint(value);
    case FORM_BOOLEAN: return yyjson_is_bool(value);
    case FORM_ICONS: return is_icons(value);
    case FORM_NOTES: return content_is_annotations(value);
    case FORM_META: return yyjson_is_obj(value);
    case FORM_ARGUMENTS: return is_arguments(value);
    case FORM_END: break;
    }
    return false;
}

static bool has_members(const struct member *known, yyjson_val *object, const char **ret_wrong) {
    for (size_t i = 0; i < MEMBERS_MAX && known[i].form != FORM_END; i++) {
        yyjson_val *value = yyjson_obj_get(object, known[i].name);
        if (value == NULL ? known[i].is_needed : !is_form(known[i].form, value)) {
            *ret_wrong = known[i].wrong;
            return false;
        }
    }
    return true;
}

/* --------------------------------------------------------------------- lists */

static yyjson_mut_val *copy_members(const struct member *known, yyjson_val *object,
                                    yyjson_mut_doc *doc);

static yyjson_mut_val *copy_value(const struct member *member, yyjson_val *value,
                                  yyjson_mut_doc *doc) {
    if (member->form != FORM_ARGUMENTS) {
        return yyjson_val_mut_copy(doc, value);
    }
    yyjson_mut_val *copy = yyjson_mut_arr(doc);
    size_t at;
    size_t count;
    yyjson_val *argument;
    yyjson_arr_foreach (value, at, count, argument) {
        (void)yyjson_mut_arr_append(copy, copy_members(argument_members, argument, doc));
    }
    return copy;
}

static yyjson_mut_val *copy_members(const struct member *known, yyjson_val *object,
                                    yyjson_mut_doc *doc) {
    yyjson_mut_val *copy = yyjson_mut_obj(doc);
    for (size_t i = 0; i < MEMBERS_MAX && known[i].form != FORM_END; i++) {
        yyjson_val *value = yyjson_obj_get(object, known[i].name);
        if (value != NULL) {
            (void)yyjson_mut_obj_add_val(doc, copy, known[i].name,
                                         copy_value(&known[i], value, doc));
        }
    }
    return copy;
}

size_t offered_take(enum offered_kind kind, yyjson_val *root, yyjson_mut_doc *doc,
                    yyjson_mut_val *ret_items, const char **ret_wrong) {
    yyjson_val *list = yyjson_obj_get(root, list_names[kind]);
    size_t left_out = 0;
    size_t at;
    size_t count;
    yyjson_val *item;
    *ret_wrong = yyjson_is_arr(list) ? NULL : "is no list";
    yyjson_arr_foreach (list, at, count, item) {
        const char *wrong = at >= OFFERED_ITEMS_MAX ? "is one too many" : "is no object";
        if (at < OFFERED_ITEMS_MAX && yyjson_is_obj(item) &&
            has_members(members[kind], item, &wrong)) {
            (void)yyjson_mut_arr_append(ret_items, copy_members(members[kind], item, doc));
            continue;
        }
        *ret_wrong = left_out++ == 0 ? wrong : *ret_wrong;
    }
    return left_out;
}

/* ------------------------------------------------------------------- replies */

/* What a plugin replied as JSON, with or without content beside it. */
static yyjson_val *object_of(yyjson_val *reply, bool is_content) {
    return is_content ? yyjson_obj_get(reply, "structuredContent") : reply;
}

static enum offered_reply finish(yyjson_mut_doc *doc, struct buf *out, const char **ret_wrong) {
    size_t length = 0;
    CLEANUP(freep) char *text = yyjson_mut_write(doc, YYJSON_WRITE_NOFLAG, &length);
    yyjson_mut_doc_free(doc);
    if (text == NULL) {
        *ret_wrong = "there is no memory for it";
        return OFFERED_WRONG;
    }
    buf_add(out, text, length);
    return OFFERED_DONE;
}

static enum offered_reply refuse(yyjson_mut_doc *doc, const char *wrong, const char **ret_wrong) {
    yyjson_mut_doc_free(doc);
    *ret_wrong = wrong;
    return OFFERED_WRONG;
}

enum offered_reply offered_read(yyjson_val *reply, bool is_content, struct buf *out,
                                const char **ret_wrong) {
    yyjson_val *object = object_of(reply, is_content);
    bool is_blocks = object == NULL;
    yyjson_val *parts =
            is_blocks ? yyjson_obj_get(reply, "content") : yyjson_obj_get(object, "contents");
    if (yyjson_is_null(reply)) {
        return OFFERED_NOTHING;
    }
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, root, "contents");
    yyjson_mut_doc_set_root(doc, root);
    size_t at;
    size_t count;
    yyjson_val *part;
    yyjson_arr_foreach (parts, at, count, part) {
        yyjson_val *resource = is_blocks ? yyjson_obj_get(part, "resource") : part;
        if (!content_is_resource(resource) || !is_form(FORM_URI, yyjson_obj_get(resource, "uri"))) {
            return refuse(doc, "a part of the resource is no text and no blob with a URI",
                          ret_wrong);
        }
        (void)yyjson_mut_arr_append(list, yyjson_val_mut_copy(doc, resource));
    }
    return yyjson_is_arr(parts) ? finish(doc, out, ret_wrong)
                                : refuse(doc, "it is no content of a resource", ret_wrong);
}

static yyjson_mut_val *add_message(yyjson_mut_doc *doc, yyjson_mut_val *list, const char *role,
                                   yyjson_val *block) {
    yyjson_mut_val *message = yyjson_mut_arr_add_obj(doc, list);
    (void)yyjson_mut_obj_add_str(doc, message, "role", role);
    if (block != NULL) {
        (void)yyjson_mut_obj_add_val(doc, message, "content", yyjson_val_mut_copy(doc, block));
    }
    return message;
}

/* False: it is no message. */
static bool take_message(yyjson_mut_doc *doc, yyjson_mut_val *list, yyjson_val *message) {
    yyjson_val *role = yyjson_obj_get(message, "role");
    yyjson_val *block = yyjson_obj_get(message, "content");
    bool is_user = yyjson_equals_str(role, "user");
    if ((!is_user && !yyjson_equals_str(role, "assistant")) || !content_is_block(block)) {
        return false;
    }
    (void)add_message(doc, list, is_user ? "user" : "assistant", block);
    return true;
}

enum offered_reply offered_prompt(yyjson_val *reply, bool is_content, struct buf *out,
                                  const char **ret_wrong) {
    yyjson_val *object = object_of(reply, is_content);
    yyjson_val *description = yyjson_obj_get(object, "description");
    yyjson_val *messages = yyjson_obj_get(object, "messages");
    yyjson_val *blocks = object == NULL ? yyjson_obj_get(reply, "content") : NULL;
    if (yyjson_is_null(reply)) {
        return OFFERED_NOTHING;
    }
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    yyjson_mut_doc_set_root(doc, root);
    if (yyjson_is_str(description)) {
        (void)yyjson_mut_obj_add_val(doc, root, "description",
                                     yyjson_val_mut_copy(doc, description));
    }
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, root, "messages");
    size_t at;
    size_t count;
    yyjson_val *one;
    if (yyjson_is_str(reply)) { /* one text alone */
        yyjson_mut_val *content =
                yyjson_mut_obj_add_obj(doc, add_message(doc, list, "user", NULL), "content");
        (void)yyjson_mut_obj_add_str(doc, content, "type", "text");
        (void)yyjson_mut_obj_add_val(doc, content, "text", yyjson_val_mut_copy(doc, reply));
        return finish(doc, out, ret_wrong);
    }
    yyjson_arr_foreach (blocks, at, count, one) {
        (void)add_message(doc, list, "user", one); /* checked where the result was made */
    }
    yyjson_arr_foreach (messages, at, count, one) {
        if (!take_message(doc, list, one)) {
            return refuse(doc, "a message of the prompt is none", ret_wrong);
        }
    }
    return yyjson_is_arr(messages) || yyjson_is_arr(blocks)
                   ? finish(doc, out, ret_wrong)
                   : refuse(doc, "it has no messages", ret_wrong);
}

enum offered_reply offered_completion(yyjson_val *reply, struct buf *out, const char **ret_wrong) {
    yyjson_val *inside = yyjson_obj_get(reply, "completion");
    yyjson_val *object = inside != NULL ? inside : reply;
    yyjson_val *values = yyjson_obj_get(object, "values");
    yyjson_val *total = yyjson_obj_get(object, "total");
    yyjson_val *has_more = yyjson_obj_get(object, "hasMore");
    if (yyjson_is_null(reply)) {
        return OFFERED_NOTHING;
    }
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    yyjson_mut_doc_set_root(doc, root);
    yyjson_mut_val *completion = yyjson_mut_obj_add_obj(doc, root, "completion");
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, completion, "values");
    size_t at;
    size_t count;
    yyjson_val *value;
    bool is_cut = yyjson_arr_size(values) > OFFERED_VALUES_MAX;
    yyjson_arr_foreach (values, at, count, value) {
        if (!yyjson_is_str(value)) {
            return refuse(doc, "a value of the completion is no text", ret_wrong);
        }
        if (at < OFFERED_VALUES_MAX) {
            (void)yyjson_mut_arr_append(list, yyjson_val_mut_copy(doc, value));
        }
    }
    if (yyjson_is_uint(total)) {
        (void)yyjson_mut_obj_add_uint(doc, completion, "total", yyjson_get_uint(total));
    } else if (is_cut) {
        (void)yyjson_mut_obj_add_uint(doc, completion, "total", yyjson_arr_size(values));
    }
    if (yyjson_is_bool(has_more) || is_cut) {
        (void)yyjson_mut_obj_add_bool(doc, completion, "hasMore",
                                      is_cut || yyjson_get_bool(has_more));
    }
    return yyjson_is_arr(values) ? finish(doc, out, ret_wrong)
                                 : refuse(doc, "it has no values", ret_wrong);
}
