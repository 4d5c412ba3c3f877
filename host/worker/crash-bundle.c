#include "worker/crash-bundle.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "worker/crash.h"

/* FNV-1a, http://www.isthe.com/chongo/tech/comp/fnv/ */
#define FNV_OFFSET UINT64_C(0xcbf29ce484222325)
#define FNV_PRIME  UINT64_C(0x100000001b3)

const char *crash_arguments_hash(const char *arguments, size_t length, char room[CRASH_HASH_ROOM]) {
    uint64_t hash = FNV_OFFSET;
    for (size_t i = 0; i < length; i++) {
        hash = (hash ^ (unsigned char)arguments[i]) * FNV_PRIME;
    }
    (void)snprintf(room, CRASH_HASH_ROOM, "%016" PRIx64, hash);
    return room;
}

/* ------------------------------------------------------------------ members */

static void add_name(struct buf *out, const char *name) {
    buf_printf(out, ",\"%s\":", name);
}

/* A plugin may print any bytes. Line breaks are kept. */
static void add_cleaned(struct buf *out, const char *text) {
    CLEANUP(freep) char *copy = strdup(text);
    if (copy == NULL) {
        out->failed = true;
        return;
    }
    for (char *line = copy; line != NULL;) {
        char *end = strchr(line, '\n');
        if (end != NULL) {
            *end = '\0';
        }
        utf8_make_line(line);
        if (end != NULL) {
            *end++ = '\n';
        }
        line = end;
    }
    buf_add_json_string(out, copy, strlen(copy));
}

static void add_text(struct buf *out, const char *text) {
    if (text == NULL) {
        buf_add_text(out, "null");
    } else if (utf8_valid(text, strlen(text))) {
        buf_add_json_string(out, text, strlen(text));
    } else {
        add_cleaned(out, text);
    }
}

static void add_member(struct buf *out, const char *name, const char *text) {
    add_name(out, name);
    add_text(out, text);
}

static void add_number(struct buf *out, const char *name, bool is_there, uint64_t number) {
    add_name(out, name);
    if (is_there) {
        buf_add_json_uint(out, number);
    } else {
        buf_add_text(out, "null");
    }
}

void crash_bundle_write(const struct crash_bundle *bundle, struct buf *out) {
    char signal[CRASH_SIGNAL_ROOM];
    char time[CLOCK_TEXT_ROOM];
    char build_id[2 * BUILD_ID_MAX + 1];
    size_t id_length = bundle->build_id_length;
    id_length = id_length < BUILD_ID_MAX ? id_length : BUILD_ID_MAX;
    for (size_t i = 0; i < id_length; i++) {
        (void)snprintf(build_id + 2 * i, 3, "%02x", bundle->build_id[i]);
    }
    buf_add_text(out, "{\"plugin\":");
    add_text(out, bundle->plugin_id);
    add_member(out, "version", bundle->version);
    add_member(out, "tool", bundle->tool);
    add_member(out, "signal",
               bundle->signal != 0 ? crash_signal_name(bundle->signal, signal) : NULL);
    add_number(out, "exit_status", bundle->exit_status >= 0, (uint64_t)bundle->exit_status);
    add_member(out, "reason", bundle->reason);
    add_member(out, "backtrace", bundle->backtrace);
    add_member(out, "build_id", id_length > 0 ? build_id : NULL);
    add_number(out, "generation", true, bundle->generation);
    add_member(out, "arguments_hash", bundle->arguments_hash);
    add_member(out, "time", clock_wall_text(bundle->time_ms / 1000, time)[0] != '\0' ? time : NULL);
    add_name(out, "last_lines");
    buf_add_char(out, '[');
    for (size_t i = 0; i < bundle->last_line_count; i++) {
        buf_add_text(out, i > 0 ? "," : "");
        add_text(out, bundle->last_lines[i]);
    }
    buf_add_char(out, ']');
    add_number(out, "time_ms", true, (uint64_t)bundle->time_ms);
    add_name(out, "stopped");
    buf_add_text(out, bundle->stopped ? "true}" : "false}");
}
