#include "remote/mcp/sse.h"

#include <string.h>

/* Longest wait that a server can ask for. */
#define RETRY_MS_MAX 60000u

void sse_restart(struct sse *sse) {
    buf_clear(&sse->line);
    buf_clear(&sse->data);
    sse->has_data = sse->is_other = sse->after_return = sse->has_begun = false;
    memcpy(sse->next_id, sse->id, sizeof sse->id);
}

void sse_finish(struct sse *sse) {
    buf_finish(&sse->line);
    buf_finish(&sse->data);
}

static void take_id(struct sse *sse, const char *value, size_t length) {
    bool is_usable = length <= SSE_ID_MAX;
    for (size_t i = 0; i < length && is_usable; i++) {
        is_usable = value[i] >= ' ' && value[i] != 0x7f;
    }
    if (is_usable) {
        memcpy(sse->next_id, value, length);
        sse->next_id[length] = '\0';
    }
}

static void take_retry(struct sse *sse, const char *value, size_t length) {
    uint32_t ms = 0;
    for (size_t i = 0; i < length; i++) {
        if (value[i] < '0' || value[i] > '9') {
            return;
        }
        ms = ms < RETRY_MS_MAX ? ms * 10 + (uint32_t)(value[i] - '0') : RETRY_MS_MAX;
    }
    if (length > 0) {
        sse->retry_ms = ms < RETRY_MS_MAX ? ms : RETRY_MS_MAX;
        sse->has_retry = true;
    }
}

static bool is_named(const char *line, size_t length, const char *name) {
    return length == strlen(name) && memcmp(line, name, length) == 0;
}

static void take_field(struct sse *sse, const char *line, size_t length) {
    const char *colon = memchr(line, ':', length);
    size_t name = colon != NULL ? (size_t)(colon - line) : length;
    const char *value = colon != NULL ? colon + 1 : line + length;
    size_t size = length - (size_t)(value - line);
    if (size > 0 && value[0] == ' ') {
        value++;
        size--;
    }
    if (is_named(line, name, "data")) {
        if (sse->has_data) {
            buf_add_char(&sse->data, '\n');
        }
        buf_add(&sse->data, value, size);
        sse->has_data = true;
    } else if (is_named(line, name, "event")) {
        sse->is_other = size > 0 && !is_named(value, size, "message");
    } else if (is_named(line, name, "id")) {
        take_id(sse, value, size);
    } else if (is_named(line, name, "retry")) {
        take_retry(sse, value, size);
    }
}

static int end_event(struct sse *sse, const struct sse_taker *taker, struct toolrack_error *err) {
    int code = 0;
    memcpy(sse->id, sse->next_id, sizeof sse->id);
    if (!sse->is_other && sse->data.length > 0) {
        code = taker->take(taker->user, sse->data.data, sse->data.length, err);
    }
    buf_clear(&sse->data);
    sse->has_data = sse->is_other = false;
    return code;
}

static int end_line(struct sse *sse, const struct sse_taker *taker, struct toolrack_error *err) {
    static const char mark[] = "\xef\xbb\xbf"; /* of the order of bytes */
    const char *line = sse->line.data;
    size_t length = sse->line.length;
    int code = 0;
    if (!sse->has_begun && length >= 3 && memcmp(line, mark, 3) == 0) {
        line += 3;
        length -= 3;
    }
    sse->has_begun = true;
    if (length == 0) {
        code = end_event(sse, taker, err);
    } else if (line[0] != ':') {
        take_field(sse, line, length);
    }
    buf_clear(&sse->line);
    return code;
}

int sse_feed(struct sse *sse, const char *bytes, size_t length, size_t size_max,
             const struct sse_taker *taker, struct toolrack_error *err) {
    const char *end = bytes + length;
    while (bytes < end) {
        if (sse->after_return && *bytes == '\n') {
            bytes++;
        }
        sse->after_return = false;
        const char *at = bytes;
        while (at < end && *at != '\n' && *at != '\r') {
            at++;
        }
        buf_add(&sse->line, bytes, (size_t)(at - bytes));
        if (sse->line.length + sse->data.length > size_max) {
            return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                             "an event of more than the %zu bytes allowed came", size_max);
        }
        bytes = at;
        if (at < end) {
            int code = end_line(sse, taker, err);
            sse->after_return = *at == '\r';
            bytes = at + 1;
            if (code < 0) {
                return code;
            }
        }
        if (sse->line.failed || sse->data.failed) {
            return error_oom(err);
        }
    }
    return 0;
}
