#include "provider/said.h"

#include <stdio.h>
#include <string.h>
#include <yyjson.h>

#include "base/cleanup.h"
#include "base/text.h"

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)

/* The places of the calls in a message, and of the members in a call. */
struct call_places {
    const char *calls[2]; /* in a message alone, and in a response */
    const char *kind;     /* a pointer that only calls have; NULL: all items are calls */
    const char *name;
    const char *arguments;
};

static const struct call_places call_places[TOOLRACK_FORMAT_COUNT] = {
        [TOOLRACK_FORMAT_OPENAI] = {{"/tool_calls", "/choices/0/message/tool_calls"},
                                    NULL,
                                    "/function/name",
                                    "/function/arguments"},
        [TOOLRACK_FORMAT_OPENAI_RESPONSES] = {{"", "/output"}, "/call_id", "/name", "/arguments"},
        [TOOLRACK_FORMAT_ANTHROPIC] = {{"/content", "/content"}, "/input", "/name", "/input"},
        [TOOLRACK_FORMAT_GEMINI] = {{"/parts", "/candidates/0/content/parts"},
                                    "/functionCall",
                                    "/functionCall/name",
                                    "/functionCall/args"},
        [TOOLRACK_FORMAT_OLLAMA] = {{"/tool_calls", "/message/tool_calls"},
                                    NULL,
                                    "/function/name",
                                    "/function/arguments"},
};

/* The one call of Chat Completions before it had `tool_calls`, in the message. */
static const struct call_places lone_call_places = {
        {NULL}, NULL, "/function_call/name", "/function_call/arguments"};

void said_add(struct buf *out, const char *text, size_t length) {
    CLEANUP(buf_finish) struct buf line = BUF_INIT;
    text_add_line(&line, text, length);
    text_add_cut(out, line.data != NULL ? line.data : "", line.length, SAID_WIDTH_MAX);
    out->failed = out->failed || line.failed;
}

/* Append a string as text, anything else as JSON. */
static void add_value(struct buf *out, yyjson_val *value) {
    CLEANUP(freep) char *json = yyjson_is_str(value) ? NULL : yyjson_val_write(value, 0, NULL);
    const char *text = yyjson_is_str(value) ? yyjson_get_str(value) : json;
    size_t length = text == NULL ? 0 : json == NULL ? yyjson_get_len(value) : strlen(json);
    said_add(out, text != NULL ? text : "", length);
}

/* Iterates over the calls; each item is visited once. */
struct call_iter {
    const struct call_places *places;
    const char *list; /* where the calls are */
    yyjson_arr_iter items;
    yyjson_val *lone; /* the only call, or NULL */
};

static struct call_iter calls_begin(const struct call_places *places, yyjson_val *root) {
    yyjson_val *calls = yyjson_ptr_get(root, places->calls[0]);
    const char *list = places->calls[yyjson_is_arr(calls) ? 0 : 1];
    calls = yyjson_is_arr(calls) ? calls : yyjson_ptr_get(root, list);
    if (yyjson_arr_size(calls) == 0 && places == &call_places[TOOLRACK_FORMAT_OPENAI] &&
        yyjson_is_obj(yyjson_obj_get(root, "function_call"))) {
        return (struct call_iter){&lone_call_places, NULL, yyjson_arr_iter_with(NULL), root};
    }
    return (struct call_iter){places, list, yyjson_arr_iter_with(calls), NULL};
}

/* The next call, or NULL. */
static yyjson_val *next_call(struct call_iter *iter) {
    yyjson_val *item = iter->lone;
    iter->lone = NULL;
    if (item != NULL) {
        return item;
    }
    do {
        item = yyjson_arr_iter_next(&iter->items);
    } while (item != NULL && iter->places->kind != NULL &&
             yyjson_ptr_get(item, iter->places->kind) == NULL);
    return item;
}

/* A name that could be taken for another one is shown in quotes, with codes. */
static void add_name(struct buf *out, const struct call_places *places, yyjson_val *call) {
    yyjson_val *name = yyjson_ptr_get(call, places->name);
    if (!yyjson_is_str(name)) {
        buf_add_text(out, "<unnamed>");
        return;
    }
    const char *text = yyjson_get_str(name);
    size_t length = yyjson_get_len(name);
    bool is_plain = length > 0;
    for (size_t i = 0; is_plain && i < length; i++) {
        is_plain = text[i] > ' ' && text[i] < 0x7f && text[i] != '"' && text[i] != '\\';
    }
    CLEANUP(buf_finish) struct buf quoted = BUF_INIT;
    CLEANUP(buf_finish) struct buf line = BUF_INIT;
    if (is_plain) {
        buf_add(&quoted, text, length);
    } else {
        buf_add_json_string(&quoted, text, length);
    }
    text_add_escaped(&line, quoted.data != NULL ? quoted.data : "", quoted.length);
    text_add_cut(out, line.data != NULL ? line.data : "", line.length, SAID_WIDTH_MAX);
}

size_t said_calls(enum toolrack_format format, const char *message, size_t length,
                  void (*take)(void *user, const struct said_call *call), void *user) {
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = yyjson_read(message, length, 0);
    struct call_iter calls = calls_begin(&call_places[format], yyjson_doc_get_root(doc));
    size_t n = 0;
    for (yyjson_val *call; (call = next_call(&calls)) != NULL; n++) {
        CLEANUP(buf_finish) struct buf name = BUF_INIT;
        CLEANUP(buf_finish) struct buf arguments = BUF_INIT;
        if (take == NULL) {
            continue;
        }
        add_name(&name, calls.places, call);
        buf_add(&arguments, "", 0);
        add_value(&arguments, yyjson_ptr_get(call, calls.places->arguments));
        if (!name.failed && !arguments.failed) {
            take(user,
                 &(struct said_call){.index = n, .tool = name.data, .arguments = arguments.data});
        }
    }
    return n;
}

void said_arguments(enum toolrack_format format, yyjson_val *message,
                    void (*take)(void *user, const char *name, const char *pointer), void *user) {
    struct call_iter calls = calls_begin(&call_places[format], message);
    for (yyjson_val *call; (call = next_call(&calls)) != NULL;) {
        const char *name = yyjson_get_str(yyjson_ptr_get(call, calls.places->name));
        char pointer[128];
        if (calls.list != NULL) { /* the iterator stands behind the call */
            (void)snprintf(pointer, sizeof pointer, "%s/%zu%s", calls.list, calls.items.idx - 1,
                           calls.places->arguments);
        } else {
            (void)snprintf(pointer, sizeof pointer, "%s", calls.places->arguments);
        }
        take(user, name != NULL ? name : "", pointer);
    }
}
