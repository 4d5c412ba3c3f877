#include "provider/conversation.h"

#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/json-lenient.h"
#include "base/json.h"
#include "base/name.h"
#include "base/utf8.h"

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)
CLEANUP_DEFINE(yyjson_mut_doc, yyjson_mut_doc_free)

/* Numbers are kept as written. */
#define READ_FLAGS YYJSON_READ_NUMBER_AS_RAW

/* The name of the member with the messages, and how a stream is requested. */
struct shape {
    const char *messages;
    const char *end;
};

static const struct shape shapes[TOOLRACK_FORMAT_COUNT] = {
        [TOOLRACK_FORMAT_OPENAI] = {"messages", ",\"stream\":true}"},
        [TOOLRACK_FORMAT_OPENAI_RESPONSES] = {"input", ",\"stream\":true}"},
        [TOOLRACK_FORMAT_ANTHROPIC] = {"messages", ",\"stream\":true}"},
        [TOOLRACK_FORMAT_GEMINI] = {"contents", "}"}, /* the URL requests the stream */
        [TOOLRACK_FORMAT_OLLAMA] = {"messages", ",\"stream\":true}"},
};

/* ------------------------------------------------------------------- begin */

/* Between two messages. */
static void add_comma(struct buf *messages) {
    if (messages->length > 0) {
        buf_add_char(messages, ',');
    }
}

static void add_string(struct buf *out, const char *before, const char *text, const char *after) {
    buf_add_text(out, before);
    buf_add_json_string(out, text, strlen(text));
    buf_add_text(out, after);
}

static void add_system(struct conversation *conversation, const char *system) {
    struct buf *head = &conversation->head;
    switch (conversation->format) {
    case TOOLRACK_FORMAT_OPENAI_RESPONSES:
        add_string(head, "\"instructions\":", system, ",");
        break;
    case TOOLRACK_FORMAT_ANTHROPIC: add_string(&conversation->system, "", system, ""); break;
    case TOOLRACK_FORMAT_GEMINI:
        add_string(head, "\"systemInstruction\":{\"parts\":[{\"text\":", system, "}]},");
        break;
    default:
        add_string(&conversation->messages, "{\"role\":\"system\",\"content\":", system, "}");
        conversation->count++;
    }
}

/* The end of the last block of the last message, which is the user's. */
static void note_turn(struct conversation *conversation) {
    static const char end[] = "}]}";
    const struct buf *messages = &conversation->messages;
    size_t length = sizeof end - 1;
    if (conversation->format == TOOLRACK_FORMAT_ANTHROPIC && messages->length > length &&
        memcmp(messages->data + messages->length - length, end, length) == 0) {
        conversation->turns[0] = conversation->turns[1];
        conversation->turns[1] = messages->length - length;
    }
}

static void add_task(struct conversation *conversation, const char *task) {
    struct buf *messages = &conversation->messages;
    add_comma(messages);
    switch (conversation->format) {
    case TOOLRACK_FORMAT_GEMINI:
        add_string(messages, "{\"role\":\"user\",\"parts\":[{\"text\":", task, "}]}");
        break;
    case TOOLRACK_FORMAT_ANTHROPIC:
        add_string(messages, "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":", task,
                   "}]}");
        break;
    default: add_string(messages, "{\"role\":\"user\",\"content\":", task, "}");
    }
    conversation->count++;
    note_turn(conversation);
}

static int check_text(const char *what, const char *text, struct toolrack_error *err) {
    return text == NULL || utf8_valid(text, strlen(text))
                   ? 0
                   : error_set(err, TOOLRACK_E_INVALID, "%s is not UTF-8", what);
}

static int check_task(const char *task, struct toolrack_error *err) {
    return task != NULL && task[strspn(task, " \t\r\n")] == '\0'
                   ? error_set(err, TOOLRACK_E_INVALID, "the task is empty: say what to do")
                   : check_text("the task", task, err);
}

int conversation_init(struct conversation *ret, enum toolrack_format format, const char *model,
                      const char *system, const char *tools, const char *task,
                      struct toolrack_error *err) {
    if (check_text("the model's name", model, err) < 0 || check_text("--system", system, err) < 0 ||
        check_task(task, err) < 0) {
        return TOOLRACK_E_INVALID;
    }
    struct conversation conversation = {.format = format};
    if (format != TOOLRACK_FORMAT_GEMINI) {
        add_string(&conversation.head, "\"model\":", model, ",");
    }
    if (format == TOOLRACK_FORMAT_ANTHROPIC) {
        buf_printf(&conversation.head, "\"max_tokens\":%u,", CONVERSATION_ANSWER_TOKENS_MAX);
    }
    if (system != NULL) {
        add_system(&conversation, system);
    }
    if (strcmp(tools, "[]") != 0) { /* some providers refuse an empty list */
        buf_add_text(&conversation.tools, tools);
    }
    if (task != NULL) {
        add_task(&conversation, task);
    }
    if (conversation.head.failed || conversation.system.failed || conversation.tools.failed ||
        conversation.messages.failed) {
        conversation_finish(&conversation);
        return error_oom(err);
    }
    *ret = conversation;
    return 0;
}

/* ------------------------------------------------------------------ extras */

/* Which formats have an extra, its member, and what is behind the messages for it. */
static const struct {
    unsigned extra;
    unsigned formats;
    const char *name;
    const char *value;
} extras[] = {
        {CONVERSATION_CACHE_CONTROL, 1u << TOOLRACK_FORMAT_ANTHROPIC, "cache_control", NULL},
        {CONVERSATION_STORE, 1u << TOOLRACK_FORMAT_OPENAI_RESPONSES, "store", "false"},
        {CONVERSATION_INCLUDE, 1u << TOOLRACK_FORMAT_OPENAI_RESPONSES, "include",
         "[\"reasoning.encrypted_content\"]"},
        {CONVERSATION_USAGE, 1u << TOOLRACK_FORMAT_OPENAI, "stream_options",
         "{\"include_usage\":true}"},
        {CONVERSATION_CACHE_KEY,
         1u << TOOLRACK_FORMAT_OPENAI | 1u << TOOLRACK_FORMAT_OPENAI_RESPONSES, "prompt_cache_key",
         NULL},
};

int conversation_set_extras(struct conversation *conversation, unsigned wanted,
                            const char *cache_key, struct toolrack_error *err) {
    char *copy = cache_key != NULL ? strdup(cache_key) : NULL;
    if (cache_key != NULL && copy == NULL) {
        return error_oom(err);
    }
    free(conversation->cache_key);
    conversation->cache_key = copy;
    conversation->extras = 0;
    for (size_t i = 0; i < ARRAY_LENGTH(extras); i++) {
        if ((extras[i].formats & 1u << conversation->format) != 0 &&
            (extras[i].extra != CONVERSATION_CACHE_KEY || copy != NULL)) {
            conversation->extras |= extras[i].extra & wanted;
        }
    }
    return 0;
}

/* Whether a text has a name as errors write one: 'store', body.store, store: or include[0]. Some of
 * the names are ordinary words. */
static bool names(const char *text, const char *name) {
    static const char around[] = "'\"`[].:=";
    size_t length = strlen(name);
    for (const char *at = text; (at = strstr(at, name)) != NULL; at += length) {
        char before = at > text ? at[-1] : ' ';
        char after = at[length];
        if (!ascii_is_word(before) && !ascii_is_word(after) &&
            (strchr(around, before) != NULL || (after != '\0' && strchr(around, after) != NULL))) {
            return true;
        }
    }
    return false;
}

/* Whether a refusal is about what the server does not know, and not about its value. */
static bool says_unknown(const char *text) {
    static const char *const words[] = {"supported",     "unknown", "unrecogni", "unexpected",
                                        "not permitted", "extra",   "forbidden", "not allowed"};
    for (size_t i = 0; i < ARRAY_LENGTH(words); i++) {
        if (strcasestr(text, words[i]) != NULL) {
            return true;
        }
    }
    return false;
}

/* JSON text, a part of the body, that is to be edited; NULL: no memory. */
static yyjson_mut_doc *read_part(const char *before, const char *text, size_t length,
                                 const char *after) {
    CLEANUP(buf_finish) struct buf whole = BUF_INIT;
    buf_add_text(&whole, before);
    buf_add(&whole, text, length);
    buf_add_text(&whole, after);
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *doc = whole.failed ? NULL : yyjson_read(whole.data, whole.length, READ_FLAGS);
    return doc != NULL ? yyjson_doc_mut_copy(doc, NULL) : NULL;
}

/* Put what was edited, without its outer brackets, in the place of a part; false: no memory, and
 * nothing changed. */
static bool replace_part(struct buf *part, yyjson_mut_doc *doc, const char *before,
                         const char *after) {
    size_t length = 0;
    CLEANUP(freep) char *text = yyjson_mut_write(doc, 0, &length);
    CLEANUP(buf_finish) struct buf made = BUF_INIT;
    buf_add_text(&made, before);
    buf_add(&made, text != NULL ? text + 1 : "", text != NULL ? length - 2 : 0);
    buf_add_text(&made, after);
    if (text == NULL || made.failed) {
        return false;
    }
    struct buf replaced = *part;
    *part = made;
    made = replaced;
    return true;
}

/* OpenAI refuses `max_tokens` for models that think, and most others do not know the newer name. */
static bool rename_limit(struct conversation *conversation, const char *text,
                         struct conversation_refused *ret) {
    static const char *const both[] = {"max_completion_tokens", "max_tokens"};
    struct buf *head = &conversation->head;
    if (conversation->format != TOOLRACK_FORMAT_OPENAI || conversation->has_renamed ||
        !says_unknown(text)) {
        return false;
    }
    CLEANUP(yyjson_mut_doc_freep)
    yyjson_mut_doc *doc = read_part("{", head->data, head->length - 1, "}"); /* no comma */
    yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
    for (size_t i = 0; i < ARRAY_LENGTH(both); i++) {
        if (yyjson_mut_obj_get(root, both[i]) != NULL && names(text, both[i])) {
            *ret = (struct conversation_refused){.name = both[i], .instead = both[1 - i]};
            conversation->has_renamed =
                    yyjson_mut_obj_rename_key(doc, root, ret->name, ret->instead) &&
                    replace_part(head, doc, "", ",");
            return conversation->has_renamed;
        }
    }
    return false;
}

/* Whether any definition said `strict`. */
static bool remove_strict(yyjson_mut_val *tools) {
    bool is_removed = false;
    size_t at;
    size_t count;
    yyjson_mut_val *tool;
    yyjson_mut_arr_foreach(tools, at, count, tool) {
        yyjson_mut_val *function = yyjson_mut_obj_get(tool, "function");
        yyjson_mut_val *owner = function != NULL ? function : tool;
        is_removed = yyjson_mut_obj_remove_key(owner, "strict") != NULL || is_removed;
    }
    return is_removed;
}

static bool has_strict(enum toolrack_format format) {
    return format == TOOLRACK_FORMAT_OPENAI || format == TOOLRACK_FORMAT_OPENAI_RESPONSES;
}

static bool drop_strict(struct conversation *conversation, const char *text,
                        struct conversation_refused *ret) {
    struct buf *tools = &conversation->tools;
    if (!has_strict(conversation->format) || tools->length == 0 || !names(text, "strict")) {
        return false;
    }
    CLEANUP(yyjson_mut_doc_freep)
    yyjson_mut_doc *doc = read_part("", tools->data, tools->length, "");
    if (!remove_strict(yyjson_mut_doc_get_root(doc)) || !replace_part(tools, doc, "[", "]")) {
        return false;
    }
    conversation->is_lax = true;
    *ret = (struct conversation_refused){.name = "strict"};
    return true;
}

static bool is_assistants(yyjson_mut_val *message) {
    return yyjson_mut_equals_str(yyjson_mut_obj_get(message, "role"), "assistant");
}

static bool is_needed_member(const char *name) {
    static const char *const needed[] = {"role", "content", "tool_calls", "function_call"};
    bool is_so = false;
    for (size_t i = 0; i < ARRAY_LENGTH(needed); i++) {
        is_so = is_so || strcmp(needed[i], name) == 0;
    }
    return is_so;
}

/* The member of the model's messages that a refusal names, of those that a message may lack. */
static const char *named_member(yyjson_mut_val *messages, const char *text) {
    size_t at;
    size_t count;
    yyjson_mut_val *message;
    yyjson_mut_arr_foreach(messages, at, count, message) {
        size_t key_at;
        size_t keys;
        yyjson_mut_val *key;
        yyjson_mut_val *value;
        yyjson_mut_obj_foreach(message, key_at, keys, key, value) {
            if (is_assistants(message) && !is_needed_member(yyjson_mut_get_str(key)) &&
                yyjson_mut_get_len(key) > 0 && names(text, yyjson_mut_get_str(key))) {
                return yyjson_mut_get_str(key);
            }
        }
    }
    return NULL;
}

static bool has_open_members(enum toolrack_format format) {
    return format == TOOLRACK_FORMAT_OPENAI || format == TOOLRACK_FORMAT_OLLAMA;
}

static bool drop_member(struct conversation *conversation, const char *text,
                        struct conversation_refused *ret) {
    struct buf *messages = &conversation->messages;
    if (!has_open_members(conversation->format) || !says_unknown(text) ||
        conversation->unsent_count == CONVERSATION_UNSENT_MAX) {
        return false;
    }
    CLEANUP(yyjson_mut_doc_freep)
    yyjson_mut_doc *doc = read_part("[", messages->data, messages->length, "]");
    yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
    const char *named = named_member(root, text);
    CLEANUP(freep) char *name = named != NULL ? strdup(named) : NULL;
    size_t at;
    size_t count;
    yyjson_mut_val *message;
    yyjson_mut_arr_foreach(root, at, count, message) {
        if (name != NULL && is_assistants(message)) {
            (void)yyjson_mut_obj_remove_key(message, name);
        }
    }
    if (name == NULL || !replace_part(messages, doc, "", "")) {
        return false;
    }
    *ret = (struct conversation_refused){.name = name};
    conversation->unsent[conversation->unsent_count++] = STEAL(name);
    return true;
}

bool conversation_drop_refused(struct conversation *conversation, const char *text,
                               struct conversation_refused *ret) {
    for (size_t i = 0; i < ARRAY_LENGTH(extras); i++) {
        if ((conversation->extras & extras[i].extra) != 0 &&
            extras[i].extra != CONVERSATION_STORE && names(text, extras[i].name)) {
            conversation->extras &= ~extras[i].extra;
            *ret = (struct conversation_refused){.name = extras[i].name};
            return true;
        }
    }
    return rename_limit(conversation, text, ret) || drop_strict(conversation, text, ret) ||
           drop_member(conversation, text, ret);
}

void conversation_drop(struct conversation *conversation, const char *name) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    struct conversation_refused unused;
    buf_printf(&text, "unknown: '%s'", name);
    if (text.failed || conversation_drop_refused(conversation, text.data, &unused) ||
        !has_open_members(conversation->format) || is_needed_member(name) ||
        conversation->unsent_count == CONVERSATION_UNSENT_MAX) {
        return;
    }
    char *copy = strdup(name); /* of messages that are to come */
    if (copy != NULL) {
        conversation->unsent[conversation->unsent_count++] = copy;
    }
}

const char *conversation_refusal_advice(const struct conversation *conversation, const char *text) {
    return (conversation->extras & CONVERSATION_STORE) != 0 && names(text, "store")
                   ? "store is false so that nothing is kept there, and no request is sent without "
                     "it: give another --format or provider, or --parameter store=true if the "
                     "messages may be kept"
                   : NULL;
}

/* Gemini has all definitions in one object. */
static int add_tools(struct conversation *conversation, const char *tools,
                     struct toolrack_error *err) {
    static const char outer[] = "[{\"functionDeclarations\":";
    struct buf *all = &conversation->tools;
    bool is_inner = conversation->format == TOOLRACK_FORMAT_GEMINI &&
                    strncmp(tools, outer, sizeof outer - 1) == 0;
    size_t end = is_inner ? sizeof "]}]" - 1 : sizeof "]" - 1; /* of both */
    size_t begin = is_inner ? sizeof outer - 1 : 0;
    size_t length = all->length;
    if (length > end) {
        CLEANUP(buf_finish) struct buf last = BUF_INIT;
        buf_add(&last, all->data + length - end, end);
        buf_truncate(all, length - end);
        buf_add_char(all, ',');
        buf_add_text(all, tools + begin + 1);
        if (all->failed) {
            buf_truncate(all, length - end);
            buf_add(all, last.data, last.length); /* there is room */
        }
        return last.failed || all->failed ? error_oom(err) : 0;
    }
    buf_add_text(all, tools);
    return all->failed ? error_oom(err) : 0;
}

int conversation_add_tools(struct conversation *conversation, const char *tools,
                           struct toolrack_error *err) {
    if (!conversation->is_lax) {
        return add_tools(conversation, tools, err);
    }
    CLEANUP(buf_finish) struct buf lax = BUF_INIT;
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = read_part("", tools, strlen(tools), "");
    (void)remove_strict(yyjson_mut_doc_get_root(doc));
    return doc != NULL && replace_part(&lax, doc, "[", "]") ? add_tools(conversation, lax.data, err)
                                                            : error_oom(err);
}

/* Leave out the extras that are among the parameters. @return false: no memory */
static bool yield_to(struct conversation *conversation, const struct buf *members) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    buf_add_char(&text, '{');
    buf_add(&text, members->data, members->length - 1); /* without the last comma */
    buf_add_char(&text, '}');
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *doc = text.failed ? NULL : yyjson_read(text.data, text.length, READ_FLAGS);
    for (size_t i = 0; i < ARRAY_LENGTH(extras); i++) {
        if (yyjson_obj_get(yyjson_doc_get_root(doc), extras[i].name) != NULL) {
            conversation->extras &= ~extras[i].extra;
        }
    }
    return doc != NULL;
}

int conversation_set_parameters(struct conversation *conversation, const struct buf *members,
                                struct toolrack_error *err) {
    struct buf *head = &conversation->head;
    CLEANUP(buf_finish) struct buf own = BUF_INIT;
    if (members->length > 0 && !yield_to(conversation, members)) {
        return error_oom(err);
    }
    buf_printf(&own, "\"max_tokens\":%u,", CONVERSATION_ANSWER_TOKENS_MAX);
    if (own.failed) {
        return error_oom(err);
    }
    /* Anthropic's own number gives way. No string has such quotes in it. */
    const char *at = conversation->format == TOOLRACK_FORMAT_ANTHROPIC && members->length > 0 &&
                                     strstr(members->data, "\"max_tokens\":") != NULL
                             ? strstr(head->data, own.data)
                             : NULL;
    CLEANUP(buf_finish) struct buf made = BUF_INIT;
    buf_add(&made, members->data, members->length);
    size_t before = at != NULL ? (size_t)(at - head->data) : head->length;
    buf_add(&made, head->data, before);
    if (at != NULL) {
        buf_add_text(&made, at + own.length);
    }
    if (made.failed) {
        return error_oom(err);
    }
    struct buf replaced = *head;
    *head = made;
    made = replaced;
    return 0;
}

void conversation_finish(struct conversation *conversation) {
    buf_finish(&conversation->head);
    buf_finish(&conversation->system);
    buf_finish(&conversation->tools);
    free(conversation->cache_key);
    buf_finish(&conversation->messages);
    for (size_t i = 0; i < conversation->unsent_count; i++) {
        free(conversation->unsent[i]);
    }
    *conversation = (struct conversation){0};
}

/* ---------------------------------------------------------------- continue */

/* Append a value as another message, with text around it. */
static void append(struct conversation *conversation, struct buf *texts, const char *before,
                   yyjson_val *message, const char *after) {
    CLEANUP(freep) char *text = yyjson_val_write(message, 0, NULL);
    if (text == NULL) {
        texts->failed = true;
        return;
    }
    add_comma(texts);
    buf_add_text(texts, before);
    buf_add_text(texts, text);
    buf_add_text(texts, after);
    conversation->count++;
}

static void append_all(struct conversation *conversation, struct buf *texts, yyjson_val *messages) {
    size_t at;
    size_t count;
    yyjson_val *message;
    yyjson_arr_foreach (messages, at, count, message) {
        append(conversation, texts, "", message, "");
    }
}

static yyjson_val *first_of(yyjson_val *root, const char *pointer) {
    yyjson_val *found = yyjson_ptr_get(root, pointer);
    return found != NULL ? found : root;
}

/* Append the message in the root; false: it is not a message of this format. Providers refuse one
 * without any block or part. */
static bool append_message(struct conversation *conversation, struct buf *texts, yyjson_val *root) {
    yyjson_val *message = NULL;
    switch (conversation->format) {
    case TOOLRACK_FORMAT_OPENAI: message = first_of(root, "/choices/0/message"); break;
    case TOOLRACK_FORMAT_OLLAMA: message = first_of(root, "/message"); break;
    case TOOLRACK_FORMAT_GEMINI:
        message = first_of(root, "/candidates/0/content");
        if (yyjson_get_len(yyjson_obj_get(message, "parts")) == 0 &&
            yyjson_obj_get(message, "role") != NULL) {
            return true;
        }
        break;
    case TOOLRACK_FORMAT_ANTHROPIC:
        message = yyjson_obj_get(root, "content");
        if (yyjson_arr_size(message) > 0) {
            /* Anthropic accepts only these two members of a message. */
            append(conversation, texts, "{\"role\":\"assistant\",\"content\":", message, "}");
        }
        return yyjson_is_arr(message);
    default:
        message = first_of(root, "/output");
        append_all(conversation, texts, message);
        return yyjson_is_arr(message);
    }
    if (yyjson_obj_get(message, "role") == NULL) {
        return false;
    }
    append(conversation, texts, "", message, "");
    return true;
}

/* How often arguments may be JSON text within a JSON string; toolrack_answer() takes as many. */
#define ENCODED_MAX 3u

/* Read arguments as toolrack_answer() does; NULL: it cannot, or memory is out, as `ret_why` says.
 */
static yyjson_doc *read_arguments(const char *text, size_t length, yyjson_read_err *ret_why) {
    yyjson_doc *doc = json_read_lenient(text, length, READ_FLAGS, NULL, ret_why);
    for (unsigned i = 0; i < ENCODED_MAX && yyjson_is_str(yyjson_doc_get_root(doc)); i++) {
        yyjson_val *within = yyjson_doc_get_root(doc);
        yyjson_doc *inner = json_read_lenient(yyjson_get_str(within), yyjson_get_len(within),
                                              READ_FLAGS, NULL, ret_why);
        yyjson_doc_free(doc);
        doc = inner;
    }
    if (doc != NULL && json_is_deeper(yyjson_doc_get_root(doc), JSON_DEEPER_MAX)) {
        yyjson_doc_free(doc);
        doc = NULL;
    }
    return doc;
}

/* Whether arguments are as servers want them in the history: an object, or the text of one. */
static bool has_sound_form(yyjson_mut_val *given, bool is_text) {
    if (!is_text || !yyjson_mut_is_str(given)) {
        return !is_text && yyjson_mut_is_obj(given);
    }
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *doc = yyjson_read(yyjson_mut_get_str(given), yyjson_mut_get_len(given), READ_FLAGS);
    return yyjson_is_obj(yyjson_doc_get_root(doc));
}

/* Let a function of a message have arguments that are sound; false: no memory. */
static bool mend_function(yyjson_mut_doc *doc, yyjson_mut_val *function, bool is_text) {
    yyjson_mut_val *given = yyjson_mut_obj_get(function, "arguments");
    if (!yyjson_mut_is_obj(function) || has_sound_form(given, is_text)) {
        return true;
    }
    yyjson_read_err why = {0};
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *read = yyjson_mut_is_str(given) ? read_arguments(yyjson_mut_get_str(given),
                                                                 yyjson_mut_get_len(given), &why)
                                                : NULL;
    if (why.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION) {
        return false;
    }
    yyjson_mut_val *made = yyjson_is_obj(yyjson_doc_get_root(read))
                                   ? yyjson_val_mut_copy(doc, yyjson_doc_get_root(read))
                           : yyjson_mut_is_obj(given) ? given
                                                      : yyjson_mut_obj(doc);
    if (is_text) {
        size_t length = 0;
        CLEANUP(freep) char *text = yyjson_mut_val_write(made, 0, &length);
        made = text != NULL ? yyjson_mut_strncpy(doc, text, length) : NULL;
    }
    return made != NULL && yyjson_mut_obj_put(function, yyjson_mut_str(doc, "arguments"), made);
}

/* Where the model's message is in a document: the root, or a part of a whole response. */
static yyjson_mut_val *message_in(enum toolrack_format format, yyjson_mut_doc *doc) {
    static const char *const places[] = {
            [TOOLRACK_FORMAT_OPENAI] = "/choices/0/message",
            [TOOLRACK_FORMAT_OPENAI_RESPONSES] = "/output",
            [TOOLRACK_FORMAT_ANTHROPIC] = "", /* the response is the message */
            [TOOLRACK_FORMAT_GEMINI] = "/candidates/0/content",
            [TOOLRACK_FORMAT_OLLAMA] = "/message",
    };
    yyjson_mut_val *found = yyjson_mut_doc_ptr_get(doc, places[format]);
    return found != NULL ? found : yyjson_mut_doc_get_root(doc);
}

/* How many members of a name have a text; NULL: any value. A name may come twice in an object, and
 * readers differ in which one counts. */
static size_t count_members(yyjson_mut_val *object, const char *name, const char *text) {
    size_t found = 0;
    size_t at;
    size_t count;
    yyjson_mut_val *key;
    yyjson_mut_val *value;
    yyjson_mut_obj_foreach(object, at, count, key, value) {
        if (yyjson_mut_equals_str(key, name) &&
            (text == NULL || yyjson_mut_equals_str(value, text))) {
            found++;
        }
    }
    return found;
}

static bool has_other_role(yyjson_mut_val *object, const char *role) {
    return count_members(object, "role", NULL) > count_members(object, "role", role);
}

/* What a user or a host says, and no model: sent back, the next provider would take it for that. */
static bool is_foreign(enum toolrack_format format, yyjson_mut_val *part) {
    static const char *const results[] = {"function_call_output",    "custom_tool_call_output",
                                          "computer_call_output",    "local_shell_call_output",
                                          "apply_patch_call_output", "mcp_approval_response",
                                          "item_reference"};
    switch (format) {
    case TOOLRACK_FORMAT_ANTHROPIC: return count_members(part, "type", "tool_result") > 0;
    case TOOLRACK_FORMAT_GEMINI: /* Google reads both spellings */
        return yyjson_mut_obj_get(part, "functionResponse") != NULL ||
               yyjson_mut_obj_get(part, "function_response") != NULL;
    case TOOLRACK_FORMAT_OPENAI_RESPONSES:
        for (size_t i = 0; i < ARRAY_LENGTH(results); i++) {
            if (count_members(part, "type", results[i]) > 0) {
                return true;
            }
        }
        return has_other_role(part, "assistant");
    default: return false;
    }
}

/* @return how many were left out; 0 too: it is no array */
static size_t leave_out_parts(enum toolrack_format format, yyjson_mut_val *parts) {
    size_t foreign = 0;
    yyjson_mut_arr_iter at;
    (void)yyjson_mut_arr_iter_init(parts, &at);
    for (yyjson_mut_val *part; (part = yyjson_mut_arr_iter_next(&at)) != NULL;) {
        if (is_foreign(format, part)) {
            (void)yyjson_mut_arr_iter_remove(&at);
            foreign++;
        }
    }
    return foreign;
}

/* Leave out of a message what is no model's, and let it have a model's role.
 * @param ret_foreign  receives how much of it was not so
 * @return false: no memory */
static bool leave_out_foreign(enum toolrack_format format, yyjson_mut_doc *doc,
                              size_t *ret_foreign) {
    static const struct {
        const char *parts; /* NULL: the message itself */
        const char *role;  /* NULL: it has none, or gets one anyway */
    } shape[TOOLRACK_FORMAT_COUNT] = {
            [TOOLRACK_FORMAT_OPENAI] = {"content", "assistant"},
            [TOOLRACK_FORMAT_OPENAI_RESPONSES] = {NULL, NULL},
            [TOOLRACK_FORMAT_ANTHROPIC] = {"content", NULL},
            [TOOLRACK_FORMAT_GEMINI] = {"parts", "model"},
            [TOOLRACK_FORMAT_OLLAMA] = {"content", "assistant"},
    };
    const char *role = shape[format].role;
    yyjson_mut_val *message = message_in(format, doc);
    size_t foreign = shape[format].parts == NULL ? leave_out_parts(format, message) : 0;
    size_t at;
    size_t count;
    yyjson_mut_val *key;
    yyjson_mut_val *value;
    yyjson_mut_obj_foreach(message, at, count, key, value) {
        if (shape[format].parts != NULL && yyjson_mut_equals_str(key, shape[format].parts)) {
            foreign += leave_out_parts(format, value);
        }
    }
    const bool is_others = role != NULL && has_other_role(message, role);
    *ret_foreign = foreign + (is_others ? 1 : 0);
    return !is_others ||
           yyjson_mut_obj_put(message, yyjson_mut_str(doc, "role"), yyjson_mut_str(doc, role));
}

static bool mend_calls(enum toolrack_format format, yyjson_mut_doc *doc) {
    const bool is_items = format == TOOLRACK_FORMAT_OPENAI_RESPONSES;
    const bool is_text = format != TOOLRACK_FORMAT_OLLAMA;
    yyjson_mut_val *message = message_in(format, doc);
    bool is_mended =
            is_items || mend_function(doc, yyjson_mut_obj_get(message, "function_call"), is_text);
    size_t at;
    size_t count;
    yyjson_mut_val *call;
    yyjson_mut_arr_foreach(is_items ? message : yyjson_mut_obj_get(message, "tool_calls"), at,
                           count, call) {
        if (!is_items) {
            is_mended =
                    is_mended && mend_function(doc, yyjson_mut_obj_get(call, "function"), is_text);
        } else if (yyjson_mut_equals_str(yyjson_mut_obj_get(call, "type"), "function_call")) {
            is_mended = is_mended && mend_function(doc, call, is_text);
        }
    }
    return is_mended;
}

/* Servers parse the arguments in the history, and some refuse each request for those that are no
 * JSON object: they become {}, and the result of the call says what was wrong with them. Messages
 * of Anthropic and Gemini have objects. Members that the provider has refused are left out, and so
 * is what is no model's. NULL: no memory. */
static yyjson_doc *mend_message(const struct conversation *conversation, yyjson_doc *doc,
                                size_t *ret_foreign) {
    const enum toolrack_format format = conversation->format;
    const bool has_objects =
            format == TOOLRACK_FORMAT_ANTHROPIC || format == TOOLRACK_FORMAT_GEMINI;
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *copy = yyjson_doc_mut_copy(doc, NULL);
    bool is_mended = copy != NULL && leave_out_foreign(format, copy, ret_foreign) &&
                     (has_objects || mend_calls(format, copy));
    for (size_t i = 0; is_mended && i < conversation->unsent_count; i++) {
        (void)yyjson_mut_obj_remove_key(message_in(format, copy), conversation->unsent[i]);
    }
    return is_mended ? yyjson_mut_doc_imut_copy(copy, NULL) : NULL;
}

/* Keep everything that was appended, or nothing. */
static int settle(struct conversation *conversation, const struct buf *texts, size_t count_before,
                  bool is_sound, const char *what, struct toolrack_error *err) {
    size_t length = conversation->messages.length;
    if (is_sound && !texts->failed && texts->length > 0) {
        add_comma(&conversation->messages);
        buf_add(&conversation->messages, texts->data, texts->length);
    }
    if (is_sound && !texts->failed && !conversation->messages.failed) {
        return 0;
    }
    conversation_truncate(conversation, length, count_before);
    return is_sound ? error_oom(err)
                    : error_set(err, TOOLRACK_E_INVALID, "%s is not valid in the format %s", what,
                                toolrack_format_name(conversation->format));
}

int conversation_add_message(struct conversation *conversation, const char *message, size_t length,
                             struct toolrack_error *err) {
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = yyjson_read(message, length, READ_FLAGS);
    CLEANUP(buf_finish) struct buf texts = BUF_INIT;
    size_t before = conversation->count;
    size_t foreign = 0;
    if (doc != NULL && json_is_deeper(yyjson_doc_get_root(doc), JSON_DEEPER_MAX)) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "the model's message is nested deeper than the %u levels allowed",
                         JSON_DEEPER_MAX);
    }
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *mended = doc != NULL ? mend_message(conversation, doc, &foreign) : NULL;
    if (doc != NULL && mended == NULL) {
        return error_oom(err);
    }
    bool is_message = append_message(conversation, &texts, yyjson_doc_get_root(mended));
    int code = settle(conversation, &texts, before, is_message, "the model's message", err);
    conversation->foreign += code == 0 ? foreign : 0;
    return code;
}

/* Where the calls are in a model's message, and their ids. */
static const struct {
    const char *calls; /* a member of the message; NULL: the message itself */
    const char *call;  /* a member of each of them, that only calls have; NULL: itself */
    const char *id;
} call_ids[TOOLRACK_FORMAT_COUNT] = {
        [TOOLRACK_FORMAT_OPENAI] = {"tool_calls", NULL, "id"},
        [TOOLRACK_FORMAT_OPENAI_RESPONSES] = {NULL, NULL, "call_id"},
        [TOOLRACK_FORMAT_ANTHROPIC] = {"content", NULL, "id"},
        [TOOLRACK_FORMAT_GEMINI] = {"parts", "functionCall", "id"},
        [TOOLRACK_FORMAT_OLLAMA] = {"tool_calls", NULL, "id"},
};

/* Whether a message that is kept has a text as a whole string; false too: no memory. */
static bool has_string(const struct conversation *conversation, const char *text) {
    const struct buf *messages = &conversation->messages;
    CLEANUP(buf_finish) struct buf quoted = BUF_INIT;
    buf_add_json_string(&quoted, text, strlen(text));
    return !quoted.failed && messages->length > 0 &&
           memmem(messages->data, messages->length, quoted.data, quoted.length) != NULL;
}

/* Length of an id that is made: all providers accept nine letters and digits. */
#define ID_LENGTH 9u

/* Not at random: the same conversation is always the same. */
static void make_id(const struct conversation *conversation, const char *from,
                    char ret[ID_LENGTH + 1]) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    uint64_t state = (uint64_t)name_hash(from, strlen(from)) << 32 ^ conversation->messages.length;
    do {
        for (size_t i = 0; i < ID_LENGTH; i++) {
            state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            ret[i] = digits[(state >> 33) % (sizeof digits - 1)];
        }
        ret[ID_LENGTH] = '\0';
    } while (has_string(conversation, ret));
}

/* @param ret_renewed  set if the call has another id now
 * @return false: no memory */
static bool renew_id(const struct conversation *conversation, yyjson_mut_doc *doc,
                     yyjson_mut_val *call, bool *ret_renewed) {
    const char *key = call_ids[conversation->format].id;
    const char *id = yyjson_mut_get_str(yyjson_mut_obj_get(call, key));
    char made[ID_LENGTH + 1];
    if (id == NULL || id[0] == '\0' || !has_string(conversation, id) ||
        (conversation->format == TOOLRACK_FORMAT_ANTHROPIC &&
         !yyjson_mut_equals_str(yyjson_mut_obj_get(call, "type"), "tool_use"))) {
        return true;
    }
    make_id(conversation, id, made);
    *ret_renewed = true;
    return yyjson_mut_obj_put(call, yyjson_mut_str(doc, key), yyjson_mut_strcpy(doc, made));
}

int conversation_renew_ids(const struct conversation *conversation, struct buf *message,
                           struct toolrack_error *err) {
    const char *calls = call_ids[conversation->format].calls;
    const char *inner = call_ids[conversation->format].call;
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *read = yyjson_read(message->data, message->length, READ_FLAGS);
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = yyjson_doc_mut_copy(read, NULL);
    yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
    bool is_renewed = false;
    bool is_sound = doc != NULL;
    size_t at;
    size_t count;
    yyjson_mut_val *call;
    yyjson_mut_arr_foreach(calls != NULL ? yyjson_mut_obj_get(root, calls) : root, at, count,
                           call) {
        is_sound = is_sound &&
                   renew_id(conversation, doc,
                            inner != NULL ? yyjson_mut_obj_get(call, inner) : call, &is_renewed);
    }
    if (!is_renewed) {
        return is_sound ? 0 : error_oom(err);
    }
    size_t length = 0;
    CLEANUP(freep) char *text = is_sound ? yyjson_mut_write(doc, 0, &length) : NULL;
    CLEANUP(buf_finish) struct buf made = BUF_INIT;
    buf_add(&made, text != NULL ? text : "", length);
    if (text == NULL || made.failed) {
        return error_oom(err);
    }
    struct buf replaced = *message;
    *message = made;
    made = replaced;
    return 0;
}

int conversation_add_results(struct conversation *conversation, const char *results, size_t length,
                             struct toolrack_error *err) {
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = yyjson_read(results, length, READ_FLAGS);
    CLEANUP(buf_finish) struct buf texts = BUF_INIT;
    size_t before = conversation->count;
    yyjson_val *root = yyjson_doc_get_root(doc);
    append_all(conversation, &texts, root);
    int code =
            settle(conversation, &texts, before, yyjson_is_arr(root), "the array of results", err);
    if (code == 0) {
        note_turn(conversation);
    }
    return code;
}

/* -------------------------------------------------------------------- body */

#define CACHE_MARK ",\"cache_control\":{\"type\":\"ephemeral\"}"

/* Append a text with a mark at some of its places, in their order; 0: none. */
static void add_marked(struct buf *out, const struct buf *text, const size_t *places,
                       size_t count) {
    size_t done = 0;
    for (size_t i = 0; i < count; i++) {
        if (places[i] > done) {
            buf_add(out, text->data + done, places[i] - done);
            buf_add_text(out, CACHE_MARK);
            done = places[i];
        }
    }
    buf_add(out, text->data + done, text->length - done);
}

/* Anthropic refuses a mark in an empty text. */
static void add_marked_system(const struct conversation *conversation, bool is_marked,
                              struct buf *out) {
    const struct buf *system = &conversation->system;
    if (system->length == 0) {
        return;
    }
    is_marked = is_marked && system->length > 2; /* the quotes */
    buf_add_text(out, is_marked ? "\"system\":[{\"type\":\"text\",\"text\":" : "\"system\":");
    buf_add(out, system->data, system->length);
    buf_add_text(out, is_marked ? CACHE_MARK "}]," : ",");
}

static void add_extras(const struct conversation *conversation, struct buf *out) {
    for (size_t i = 0; i < ARRAY_LENGTH(extras); i++) {
        if ((conversation->extras & extras[i].extra) != 0 && extras[i].value != NULL) {
            buf_printf(out, ",\"%s\":%s", extras[i].name, extras[i].value);
        }
    }
    if ((conversation->extras & CONVERSATION_CACHE_KEY) != 0) {
        add_string(out, ",\"prompt_cache_key\":", conversation->cache_key, "");
    }
}

int conversation_add_task(struct conversation *conversation, const char *task,
                          struct toolrack_error *err) {
    struct conversation before = *conversation;
    if (check_task(task, err) < 0) {
        return TOOLRACK_E_INVALID;
    }
    add_task(conversation, task);
    if (conversation->messages.failed) {
        conversation_truncate(conversation, before.messages.length, before.count);
        return error_oom(err);
    }
    return 0;
}

/* Whether a message is the system prompt, which is not one of those that are kept. */
static bool is_system(const struct conversation *conversation, yyjson_val *message) {
    return (conversation->format == TOOLRACK_FORMAT_OPENAI ||
            conversation->format == TOOLRACK_FORMAT_OLLAMA) &&
           yyjson_equals_str(yyjson_obj_get(message, "role"), "system");
}

int conversation_add_body(struct conversation *conversation, yyjson_val *body,
                          struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf texts = BUF_INIT;
    size_t before = conversation->count;
    yyjson_val *messages = yyjson_obj_get(body, shapes[conversation->format].messages);
    bool is_sound = yyjson_is_arr(messages);
    size_t at;
    size_t count;
    yyjson_val *message;
    yyjson_arr_foreach (messages, at, count, message) {
        if (!is_system(conversation, message)) {
            append(conversation, &texts, "", message, "");
        }
    }
    int code = settle(conversation, &texts, before, is_sound, "the body of the first request", err);
    if (code == 0) {
        note_turn(conversation);
    }
    return code;
}

int conversation_add_all(struct conversation *conversation, const struct conversation *from,
                         struct toolrack_error *err) {
    size_t before = conversation->count;
    size_t length = conversation->messages.length;
    size_t base = length > 0 ? length + 1 : 0;
    conversation->count += from->count;
    for (size_t i = 0; i < ARRAY_LENGTH(from->turns); i++) {
        conversation->turns[i] = from->turns[i] > 0 ? base + from->turns[i] : 0;
    }
    return settle(conversation, &from->messages, before, true, "", err);
}

void conversation_truncate(struct conversation *conversation, size_t length, size_t count) {
    size_t *turns = conversation->turns;
    buf_truncate(&conversation->messages, length);
    conversation->count = count;
    while (turns[1] >= length && turns[1] > 0) {
        turns[1] = turns[0];
        turns[0] = 0;
    }
}

int conversation_body(const struct conversation *conversation, struct buf *out,
                      struct toolrack_error *err) {
    const struct shape *shape = &shapes[conversation->format];
    const struct buf *tools = &conversation->tools;
    const bool is_marked = (conversation->extras & CONVERSATION_CACHE_CONTROL) != 0;
    buf_add_char(out, '{');
    buf_add(out, conversation->head.data, conversation->head.length);
    add_marked_system(conversation, is_marked, out);
    if (tools->length > 0) {
        bool has_end = tools->length > 2 && tools->data[tools->length - 2] == '}';
        size_t end = is_marked && has_end ? tools->length - 2 : 0;
        buf_add_text(out, "\"tools\":");
        add_marked(out, tools, &end, 1);
        buf_add_char(out, ',');
    }
    buf_printf(out, "\"%s\":[", shape->messages);
    add_marked(out, &conversation->messages, conversation->turns,
               is_marked ? ARRAY_LENGTH(conversation->turns) : 0);
    buf_add_char(out, ']');
    add_extras(conversation, out);
    buf_add_text(out, shape->end);
    return out->failed ? error_oom(err) : 0;
}
