#include "remote/nats/message.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/json-string.h"
#include "base/json-write.h"
#include "base/json.h"
#include "remote/nats/subject.h"

/* ------------------------------------------------------------------- write */

static void begin(struct buf *out, const char *kind) {
    buf_printf(out, "{\"v\":%d", SUBJECT_VERSION);
    if (kind != NULL) {
        buf_printf(out, ",\"kind\":\"%s\"", kind);
    }
}

/* A member; NULL adds nothing, and what is no UTF-8, which no text of the host is, an empty one. */
static void add_text(struct buf *out, const char *name, const char *text) {
    if (text != NULL) {
        buf_printf(out, ",\"%s\":", name);
        if (!buf_add_json_text(out, text, strlen(text))) {
            buf_add_text(out, "\"\"");
        }
    }
}

static void add_raw(struct buf *out, const char *name, const char *json, size_t length) {
    buf_printf(out, ",\"%s\":", name);
    buf_add(out, json, length);
}

static void add_double(struct buf *out, const char *name, double value) {
    buf_printf(out, ",\"%s\":", name);
    buf_add_json_double(out, value);
}

static void add_flag(struct buf *out, const char *name, bool is_set) {
    if (is_set) {
        buf_printf(out, ",\"%s\":true", name);
    }
}

void message_write_call(struct buf *out, const struct message_call *call) {
    begin(out, NULL);
    add_text(out, "tool", call->tool);
    add_text(out, "version", call->version);
    add_text(out, "digest", call->digest);
    buf_printf(out, ",\"deadline_ms\":%u", call->deadline_ms);
    add_text(out, "caller", call->caller);
    add_text(out, "channel", call->channel);
    add_text(out, "conversation", call->conversation);
    add_text(out, "trace", call->trace);
    add_flag(out, "confirmed", call->confirmed);
    add_text(out, "confirmed_by", call->confirmed_by);
    add_raw(out, "arguments", call->arguments, call->length);
    buf_add_char(out, '}');
}

void message_write_progress(struct buf *out, double done, double total, const char *text) {
    begin(out, "progress");
    add_double(out, "done", done);
    add_double(out, "total", total);
    add_text(out, "message", text);
    buf_add_char(out, '}');
}

void message_write_log(struct buf *out, int level, const char *line) {
    begin(out, "log");
    buf_printf(out, ",\"level\":%d", level);
    add_text(out, "line", line);
    buf_add_char(out, '}');
}

void message_write_ask(struct buf *out, uint64_t id, const char *text, const char *schema) {
    begin(out, "ask");
    buf_printf(out, ",\"id\":%llu", (unsigned long long)id);
    add_text(out, "message", text);
    add_text(out, "schema", schema);
    buf_add_char(out, '}');
}

void message_write_result(struct buf *out, const struct toolrack_result *result) {
    size_t length = 0;
    const char *json = toolrack_result_json(result, &length);
    bool is_text = toolrack_result_text(result, NULL) != NULL;
    begin(out, "result");
    buf_printf(out, ",\"form\":\"%s\"",
               toolrack_result_is_content(result) ? "content"
               : is_text                          ? "text"
                                                  : "json");
    add_raw(out, "result", json, length);
    buf_add_char(out, '}');
}

void message_write_error(struct buf *out, const struct toolrack_error *err) {
    begin(out, "error");
    add_text(out, "code", toolrack_code_name(err->code));
    add_text(out, "message", err->message);
    add_text(out, "field", err->field[0] != '\0' ? err->field : NULL);
    add_text(out, "trace", err->trace[0] != '\0' ? err->trace : NULL);
    if (err->signal != 0) {
        buf_printf(out, ",\"signal\":%d", err->signal);
    }
    add_flag(out, "begun", err->begun);
    add_flag(out, "death", err->cause == TOOLRACK_CAUSE_DEATH);
    add_flag(out, "from_tool", err->from_tool);
    add_flag(out, "lasting", err->lasting);
    buf_add_char(out, '}');
}

void message_write_order(struct buf *out, const struct message_order *order) {
    begin(out, NULL);
    add_text(out, "order", order->what);
    add_text(out, "id", order->id);
    add_text(out, "version", order->version);
    add_text(out, "package", order->package);
    buf_printf(out, ",\"size\":%llu", (unsigned long long)order->size);
    add_text(out, "signature", order->signature);
    add_text(out, "file", order->file);
    add_text(out, "who", order->who);
    add_text(out, "from", order->from);
    add_flag(out, "tests", order->tests);
    buf_add_char(out, '}');
}

void message_write_done(struct buf *out, const char *report, size_t length) {
    begin(out, "done");
    add_raw(out, "report", report, length);
    buf_add_char(out, '}');
}

void message_write_control(struct buf *out, const struct message_control *control) {
    begin(out, NULL);
    add_text(out, "call", control->call);
    add_flag(out, "cancel", control->cancel);
    if (control->ask != 0) {
        buf_printf(out, ",\"ask\":%llu,\"answer\":%d", (unsigned long long)control->ask,
                   control->answer);
    }
    if (control->content != NULL) {
        add_raw(out, "content", control->content, strlen(control->content));
    }
    buf_add_char(out, '}');
}

void message_write_object(struct buf *out, const struct message_object *object) {
    char digest[OBJECT_DIGEST_ROOM];
    object_digest_write(object->hash, digest);
    begin(out, "object");
    add_text(out, "name", object->name);
    buf_printf(out, ",\"size\":%llu", (unsigned long long)object->size);
    add_text(out, "digest", digest);
    buf_add_char(out, '}');
}

/* -------------------------------------------------------------------- read */

yyjson_val *message_read(const char *text, size_t length, struct arena *arena, const char *what,
                         struct toolrack_error *err) {
    yyjson_alc alc = arena_alc(arena);
    yyjson_read_err why;
    yyjson_doc *doc = yyjson_read_opts((char *)(uintptr_t)text, length, YYJSON_READ_BIGNUM_AS_RAW,
                                       &alc, &why);
    yyjson_val *root = yyjson_doc_get_root(doc);
    if (doc == NULL && why.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION) {
        (void)error_oom(err);
    } else if (!yyjson_is_obj(root) || json_is_deeper(root, JSON_DEEPER_MAX)) {
        (void)error_set(err, TOOLRACK_E_INVALID, "%s that came by NATS is no JSON object", what);
    } else if (yyjson_get_uint(yyjson_obj_get(root, "v")) != SUBJECT_VERSION) {
        (void)error_set(err, TOOLRACK_E_INVALID,
                        "%s that came by NATS is not of version %d of the protocol; the hosts of a "
                        "group must speak the same",
                        what, SUBJECT_VERSION);
    } else {
        return root;
    }
    return NULL;
}

/* A text without U+0000, or NULL. */
static const char *text_of(yyjson_val *object, const char *name) {
    yyjson_val *value = yyjson_obj_get(object, name);
    const char *text = yyjson_get_str(value);
    return text != NULL && strlen(text) == yyjson_get_len(value) ? text : NULL;
}

static int refuse(const char *what, const char *member, struct toolrack_error *err) {
    return error_set(err, TOOLRACK_E_INVALID, "%s that came by NATS has no usable \"%s\"", what,
                     member);
}

/* The text of a value in the arena. NULL: out of memory. */
static const char *value_text(yyjson_val *value, struct arena *arena, size_t *ret_length) {
    yyjson_alc alc = arena_alc(arena);
    return yyjson_val_write_opts(value, YYJSON_WRITE_NOFLAG, &alc, ret_length, NULL);
}

static bool is_kind(yyjson_val *root, const char *kind) {
    const char *text = text_of(root, "kind");
    return text != NULL && strcmp(text, kind) == 0;
}

static int read_object(yyjson_val *root, struct message_object *ret, struct toolrack_error *err) {
    const char *name = text_of(root, "name");
    const char *digest = text_of(root, "digest");
    yyjson_val *size = yyjson_obj_get(root, "size");
    if (name == NULL || name[0] == '\0' || strlen(name) > OBJECT_NAME_MAX) {
        return refuse("what is an object", "name", err);
    }
    if (!yyjson_is_uint(size) || yyjson_get_uint(size) > OBJECT_SIZE_MAX) {
        return refuse("what is an object", "size", err);
    }
    if (digest == NULL || !object_digest_read(digest, ret->hash)) {
        return refuse("what is an object", "digest", err);
    }
    ret->name = name;
    ret->size = yyjson_get_uint(size);
    return 0;
}

int message_read_call(const char *text, size_t length, struct arena *arena,
                      struct message_call *ret, struct toolrack_error *err) {
    yyjson_val *root = message_read(text, length, arena, "a call", err);
    if (root == NULL) {
        return err != NULL ? err->code : TOOLRACK_E_INVALID;
    }
    if (is_kind(root, "object")) {
        *ret = (struct message_call){.tool = NULL};
        return read_object(root, &ret->object, err);
    }
    yyjson_val *deadline = yyjson_obj_get(root, "deadline_ms");
    yyjson_val *arguments = yyjson_obj_get(root, "arguments");
    *ret = (struct message_call){.tool = text_of(root, "tool"),
                                 .version = text_of(root, "version"),
                                 .digest = text_of(root, "digest"),
                                 .deadline_ms = (uint32_t)yyjson_get_uint(deadline),
                                 .caller = text_of(root, "caller"),
                                 .channel = text_of(root, "channel"),
                                 .conversation = text_of(root, "conversation"),
                                 .trace = text_of(root, "trace"),
                                 .confirmed = yyjson_is_true(yyjson_obj_get(root, "confirmed")),
                                 .confirmed_by = text_of(root, "confirmed_by")};
    if (ret->tool == NULL || ret->version == NULL || ret->digest == NULL) {
        return refuse("a call",
                      ret->tool == NULL      ? "tool"
                      : ret->version == NULL ? "version"
                                             : "digest",
                      err);
    }
    if (!yyjson_is_uint(deadline) || yyjson_get_uint(deadline) >= UINT32_MAX) {
        return refuse("a call", "deadline_ms", err);
    }
    if (!yyjson_is_obj(arguments)) {
        return refuse("a call", "arguments", err);
    }
    ret->arguments = value_text(arguments, arena, &ret->length);
    return ret->arguments != NULL ? 0 : error_oom(err);
}

static double number_of(yyjson_val *object, const char *name) {
    yyjson_val *value = yyjson_obj_get(object, name);
    return yyjson_is_num(value) ? yyjson_get_num(value) : 0;
}

static void read_error(yyjson_val *root, struct toolrack_error *ret) {
    const char *code = text_of(root, "code");
    const char *message = text_of(root, "message");
    const char *field = text_of(root, "field");
    const char *trace = text_of(root, "trace");
    /* A code that this version does not know is a failure like any other. */
    int found = TOOLRACK_E_EXECUTION_FAILED;
#define READ_CODE(constant, value, name, recoverable) \
    if (code != NULL && strcmp(code, name) == 0) {    \
        found = TOOLRACK_E_##constant;                \
    }
    TOOLRACK_CODES(READ_CODE)
#undef READ_CODE
    (void)error_set_field(ret, found, field != NULL ? field : "", "%s",
                          message != NULL ? message : "the host says nothing of the failure");
    if (trace != NULL) {
        error_set_trace(ret, trace);
    }
    int64_t signal = yyjson_get_sint(yyjson_obj_get(root, "signal"));
    ret->signal = signal > 0 && signal < 128 ? (int)signal : 0;
    ret->begun = yyjson_is_true(yyjson_obj_get(root, "begun"));
    ret->from_tool = yyjson_is_true(yyjson_obj_get(root, "from_tool"));
    ret->lasting = yyjson_is_true(yyjson_obj_get(root, "lasting"));
    if (yyjson_is_true(yyjson_obj_get(root, "death"))) {
        ret->cause = TOOLRACK_CAUSE_DEATH;
    }
}

static int read_result(yyjson_val *root, struct message_event *ret, struct toolrack_error *err) {
    const char *form = text_of(root, "form");
    ret->result = yyjson_obj_get(root, "result");
    if (ret->result == NULL) {
        return refuse("a result", "result", err);
    }
    if (form != NULL && strcmp(form, "json") == 0) {
        ret->form = MESSAGE_JSON;
    } else if (form != NULL && strcmp(form, "text") == 0 && yyjson_is_str(ret->result)) {
        ret->form = MESSAGE_TEXT;
    } else if (form != NULL && strcmp(form, "content") == 0 && yyjson_is_obj(ret->result)) {
        ret->form = MESSAGE_CONTENT;
    } else {
        return refuse("a result", "form", err);
    }
    return 0;
}

int message_read_event(const char *text, size_t length, struct arena *arena,
                       struct message_event *ret, struct toolrack_error *ret_error,
                       struct toolrack_error *err) {
    yyjson_val *root = message_read(text, length, arena, "an answer", err);
    if (root == NULL) {
        return err != NULL ? err->code : TOOLRACK_E_INVALID;
    }
    const char *kind = text_of(root, "kind");
    kind = kind != NULL ? kind : "";
    *ret = (struct message_event){.text = text_of(root, "message")};
    if (strcmp(kind, "progress") == 0) {
        ret->kind = MESSAGE_PROGRESS;
        ret->done = number_of(root, "done");
        ret->total = number_of(root, "total");
        return 0;
    }
    if (strcmp(kind, "log") == 0) {
        double level = number_of(root, "level");
        ret->kind = MESSAGE_LOG;
        ret->text = text_of(root, "line");
        ret->level = level >= TOOLRACK_LOG_DEBUG && level <= TOOLRACK_LOG_ERROR ? (int)level
                                                                                : TOOLRACK_LOG_INFO;
        return ret->text != NULL ? 0 : refuse("a log line", "line", err);
    }
    if (strcmp(kind, "ask") == 0) {
        ret->kind = MESSAGE_ASK;
        ret->schema = text_of(root, "schema");
        ret->id = yyjson_get_uint(yyjson_obj_get(root, "id"));
        return ret->text != NULL && ret->schema != NULL && ret->id != 0
                       ? 0
                       : refuse("a question", "message", err);
    }
    if (strcmp(kind, "result") == 0) {
        ret->kind = MESSAGE_RESULT;
        return read_result(root, ret, err);
    }
    if (strcmp(kind, "error") == 0) {
        ret->kind = MESSAGE_ERROR;
        read_error(root, ret_error);
        return 0;
    }
    if (strcmp(kind, "object") == 0) {
        ret->kind = MESSAGE_OBJECT;
        return read_object(root, &ret->object, err);
    }
    return refuse("an answer", "kind", err);
}

static bool is_order(const char *what) {
    static const char *const orders[] = {"install", "check", "back", "list"};
    for (size_t i = 0; i < ARRAY_LENGTH(orders); i++) {
        if (what != NULL && strcmp(what, orders[i]) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_hash(const char *text) {
    return text != NULL && strlen(text) == MESSAGE_HASH_LENGTH &&
           strspn(text, "0123456789abcdef") == MESSAGE_HASH_LENGTH;
}

int message_read_order(const char *text, size_t length, struct arena *arena,
                       struct message_order *ret, struct toolrack_error *err) {
    yyjson_val *root = message_read(text, length, arena, "an order", err);
    if (root == NULL) {
        return err != NULL ? err->code : TOOLRACK_E_INVALID;
    }
    *ret = (struct message_order){.what = text_of(root, "order"),
                                  .id = text_of(root, "id"),
                                  .version = text_of(root, "version"),
                                  .package = text_of(root, "package"),
                                  .size = yyjson_get_uint(yyjson_obj_get(root, "size")),
                                  .signature = text_of(root, "signature"),
                                  .file = text_of(root, "file"),
                                  .who = text_of(root, "who"),
                                  .from = text_of(root, "from"),
                                  .tests = yyjson_is_true(yyjson_obj_get(root, "tests"))};
    if (!is_order(ret->what)) {
        return refuse("an order", "order", err);
    }
    bool is_about_one = strcmp(ret->what, "list") != 0;
    if (is_about_one && (ret->id == NULL || ret->version == NULL)) {
        return refuse("an order", ret->id == NULL ? "id" : "version", err);
    }
    if (strcmp(ret->what, "install") != 0) {
        return 0;
    }
    return !is_hash(ret->package)                             ? refuse("an order", "package", err)
           : ret->size == 0 || ret->size > OBJECT_SIZE_MAX    ? refuse("an order", "size", err)
           : ret->signature == NULL || ret->signature[0] == 0 ? refuse("an order", "signature", err)
           : ret->file == NULL                                ? refuse("an order", "file", err)
                                                              : 0;
}

int message_read_done(const char *text, size_t length, struct arena *arena, yyjson_val **ret,
                      struct toolrack_error *err) {
    struct toolrack_error failure;
    yyjson_val *root = message_read(text, length, arena, "an answer", err);
    if (root == NULL) {
        return err != NULL ? err->code : TOOLRACK_E_INVALID;
    }
    if (is_kind(root, "error")) {
        read_error(root, &failure);
        if (err != NULL) {
            *err = failure;
        }
        return failure.code;
    }
    *ret = yyjson_obj_get(root, "report");
    return is_kind(root, "done") && *ret != NULL ? 0 : refuse("an answer", "report", err);
}

int message_read_control(const char *text, size_t length, struct arena *arena,
                         struct message_control *ret, struct toolrack_error *err) {
    yyjson_val *root = message_read(text, length, arena, "a control message", err);
    if (root == NULL) {
        return err != NULL ? err->code : TOOLRACK_E_INVALID;
    }
    yyjson_val *content = yyjson_obj_get(root, "content");
    uint64_t answer = yyjson_get_uint(yyjson_obj_get(root, "answer"));
    size_t content_length = 0;
    *ret = (struct message_control){
            .call = text_of(root, "call"),
            .cancel = yyjson_is_true(yyjson_obj_get(root, "cancel")),
            .ask = yyjson_get_uint(yyjson_obj_get(root, "ask")),
            .answer = answer <= TOOLRACK_ANSWER_DISMISSED ? (int)answer : TOOLRACK_ANSWER_NOBODY,
            .content = yyjson_is_obj(content) ? value_text(content, arena, &content_length) : NULL};
    return ret->call != NULL ? 0 : refuse("a control message", "call", err);
}
