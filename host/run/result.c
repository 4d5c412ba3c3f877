#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/error.h"
#include "base/json-string.h"
#include "run/run.h"

/* With it most results are never moved: they are a struct and some 200 bytes of JSON. */
#define RESULT_FIRST_ROOM 512u

/* The buffer is empty: to allocate and to clear takes a third of what buf_reserve() and buf_add()
 * take. */
void result_begin(struct buf *out) {
    char *room = malloc(RESULT_FIRST_ROOM);
    *out = (struct buf){.data = room, .failed = room == NULL};
    if (room != NULL) {
        memset(room, 0, sizeof(struct toolrack_result) + 1);
        out->length = sizeof(struct toolrack_result);
        out->room = RESULT_FIRST_ROOM;
    }
}

static struct toolrack_result *result_of(struct buf *out) {
    /* The buffer is from malloc(), so it is aligned for any type. */
    return (struct toolrack_result *)(void *)out->data;
}

/* ----------------------------------------------------------------- blocks */

static void add_string_member(struct buf *out, const char *key, const char *text, size_t length) {
    buf_printf(out, ",\"%s\":", key);
    buf_add_json_string(out, text, length);
}

static void add_base64_member(struct buf *out, const char *key, const struct reply_block *block) {
    buf_printf(out, ",\"%s\":\"", key);
    base64_encode(out, block->data, block->size);
    buf_add_char(out, '"');
}

static void add_block(struct buf *out, const struct reply_block *block) {
    switch (block->kind) {
    case REPLY_TEXT:
        buf_add_text(out, "{\"type\":\"text\"");
        add_string_member(out, "text", block->data, block->size);
        buf_add_char(out, '}');
        break;
    case REPLY_IMAGE:
    case REPLY_AUDIO:
        buf_printf(out, "{\"type\":\"%s\"", block->kind == REPLY_IMAGE ? "image" : "audio");
        add_base64_member(out, "data", block);
        add_string_member(out, "mimeType", block->mime_type, strlen(block->mime_type));
        buf_add_char(out, '}');
        break;
    case REPLY_RESOURCE:
        buf_add_text(out, "{\"type\":\"resource\",\"resource\":{\"uri\":");
        buf_add_json_string(out, block->uri, strlen(block->uri));
        if (block->mime_type != NULL) {
            add_string_member(out, "mimeType", block->mime_type, strlen(block->mime_type));
        }
        if (block->is_text) {
            add_string_member(out, "text", block->data, block->size);
        } else {
            add_base64_member(out, "blob", block);
        }
        buf_add_text(out, "}}");
        break;
    case REPLY_CONTENT: buf_add(out, block->data, block->size); break;
    case REPLY_JSON: break; /* not a part of the content */
    }
}

yyjson_val *result_structured(struct run *run) {
    if (run->structured == NULL) {
        yyjson_alc alc = arena_alc(&run->arena);
        const struct buf *text = &run->writer.text;
        run->structured = yyjson_doc_get_root(yyjson_read_opts(
                text->data + sizeof(struct toolrack_result),
                text->length - sizeof(struct toolrack_result), YYJSON_READ_NOFLAG, &alc, NULL));
    }
    return run->structured;
}

/* A result must be one line, so JSON with line breaks is written again; a reply written piece by
 * piece has none. */
static void add_json(struct run *run, const struct reply_block *block, struct buf *out) {
    if (memchr(block->data, '\n', block->size) == NULL &&
        memchr(block->data, '\r', block->size) == NULL) {
        buf_add(out, block->data, block->size);
        return;
    }
    yyjson_alc alc = arena_alc(&run->arena);
    size_t length = 0;
    const char *text =
            yyjson_val_write_opts(run->structured, YYJSON_WRITE_NOFLAG, &alc, &length, NULL);
    if (text == NULL) {
        out->failed = true;
        return;
    }
    buf_add(out, text, length);
}

static void add_content(struct run *run, struct buf *out) {
    if (!out->failed) {
        result_of(out)->is_content = true;
    }
    buf_add_text(out, "{\"content\":[");
    const struct reply_block *json = NULL;
    bool first = true;
    for (const struct reply_block *block = run->first_block; block != NULL; block = block->next) {
        if (block->kind == REPLY_JSON) {
            json = block;
            continue;
        }
        if (!first) {
            buf_add_char(out, ',');
        }
        first = false;
        add_block(out, block);
    }
    buf_add_char(out, ']');
    if (json != NULL) {
        buf_add_text(out, ",\"structuredContent\":");
        add_json(run, json, out);
    }
    buf_add_char(out, '}');
}

/* A text as JSON and, after that and its final zero, as it is. False: it is not UTF-8. */
static bool add_text(struct buf *out, const char *text, size_t length) {
    (void)buf_reserve(out, 2 * length + JSON_TEXT_EXTRA);
    if (!buf_add_json_text(out, text, length)) {
        return false;
    }
    size_t json_length = out->length - sizeof(struct toolrack_result);
    buf_add(out, "", 1);
    size_t at = out->length;
    buf_add(out, text, length);
    if (!out->failed) {
        result_of(out)->json_length = json_length;
        result_of(out)->text_at = at;
        result_of(out)->text_length = length;
    }
    return true;
}

/* Escapes and base64 make a reply larger than what was counted when it was added. */
static int check_size(const struct buf *out, struct toolrack_error *err) {
    const struct toolrack_result *result = (const void *)out->data;
    size_t length = result->text_at != 0 ? result->json_length : out->length - sizeof *result;
    return length <= TOOLRACK_RESULT_MAX
                   ? 0
                   : error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                               "the result is larger than the %u bytes allowed",
                               TOOLRACK_RESULT_MAX);
}

int result_add_replies(struct run *run, struct buf *out, struct toolrack_error *err) {
    const struct reply_block *block = run->first_block;
    if (run->block_count == 1 && run->writer.finished) {
        /* A reply written piece by piece was begun as a result; if it is the only block, it is not
         * copied. */
        *out = run->writer.text;
        run->writer.text = BUF_INIT;
        return 0;
    }
    result_begin(out);
    if (block == NULL) {
        buf_add_text(out, "null");
    } else if (run->block_count > 1) {
        add_content(run, out);
    } else if (block->kind == REPLY_JSON) {
        add_json(run, block, out);
    } else if (block->kind == REPLY_TEXT) {
        add_text(out, block->data, block->size);
    } else {
        add_content(run, out);
    }
    if (out->failed) {
        return error_oom(err);
    }
    return check_size(out, err);
}

const struct reply_block *result_only_text(const struct run *run) {
    const struct reply_block *block = run->first_block;
    return run->block_count == 1 && block->kind == REPLY_TEXT ? block : NULL;
}

int result_take_text(const char *text, size_t length, struct buf *out, struct toolrack_error *err) {
    result_begin(out);
    if (!add_text(out, text, length)) {
        return TOOLRACK_E_INVALID;
    }
    return out->failed ? error_oom(err) : check_size(out, err);
}

int result_end(struct buf *out, const struct buf *changed, struct toolrack_result **ret,
               struct toolrack_error *err) {
    if (out->failed) {
        return error_oom(err);
    }
    struct toolrack_result *result = result_of(out);
    if (result->text_at == 0) {
        result->json_length = out->length - sizeof *result;
    }
    if (changed != NULL && changed->length > 0) {
        buf_add(out, "", 1); /* the zero of what is before */
        size_t at = out->length;
        buf_add(out, changed->data, changed->length);
        if (out->failed || changed->failed) {
            return error_oom(err);
        }
        result = result_of(out);
        result->changed_at = at;
        result->changed_length = changed->length;
    }
    *ret = result;
    *out = BUF_INIT;
    return 0;
}

/* -------------------------------------------------------------- accessors */

const char *toolrack_result_changed(const struct toolrack_result *result, size_t *ret_length) {
    if (ret_length != NULL) {
        *ret_length = result->changed_length;
    }
    return result->changed_at != 0 ? (const char *)result + result->changed_at : NULL;
}

const char *toolrack_result_json(const struct toolrack_result *result, size_t *ret_length) {
    if (ret_length != NULL) {
        *ret_length = result->json_length;
    }
    return result->json;
}

const char *toolrack_result_text(const struct toolrack_result *result, size_t *ret_length) {
    if (result->text_at == 0) {
        return NULL;
    }
    if (ret_length != NULL) {
        *ret_length = result->text_length;
    }
    return (const char *)result + result->text_at;
}

bool toolrack_result_is_content(const struct toolrack_result *result) {
    return result->is_content;
}

uint64_t toolrack_result_duration_ns(const struct toolrack_result *result) {
    return result->duration_ns;
}

void toolrack_result_free(struct toolrack_result *result) {
    free(result);
}
