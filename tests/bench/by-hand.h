/* by-hand.h - a call of that tool put together by hand, for this one tool: what a host for any tool
 * is measured against. Find it among 1,000 by its name, parse, check, call, write. */
#pragma once

#include <ffi.h>
#include <stdio.h>
#include <string.h>
#include <yyjson.h>

#include "search-tool.h"

static const char arguments[] =
        "{\"path\":\"/srv/data/projects/report-2026.txt\",\"mode\":\"regex\",\"limit\":25,"
        "\"ratio\":0.75,\"recursive\":true}";

#define TOOLS        1000
#define TOOL_NAME    "search_file_500"
#define HAND_OUT_MAX 4096u

/* The same answer as JSON, built with yyjson as a plugin would. */
static size_t build(yyjson_alc *alc, int64_t matches, char **ret) {
    yyjson_mut_doc *doc = yyjson_mut_doc_new(alc);
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    size_t length = 0;
    yyjson_mut_doc_set_root(doc, root);
    (void)yyjson_mut_obj_add_strn(doc, root, "text", result_text, sizeof result_text - 1);
    (void)yyjson_mut_obj_add_int(doc, root, "matches", matches);
    (void)yyjson_mut_obj_add_bool(doc, root, "is_error", false);
    *ret = yyjson_mut_write_opts(doc, 0, alc, &length, NULL);
    return length;
}

struct hand_tool {
    char name[32];
    uint32_t hash;
    ffi_cif cif;
};
static struct hand_tool hand_tools[TOOLS];
static struct hand_tool *hand_slots[2 * 1024];
static ffi_type *answer_elements[] = {&ffi_type_pointer, &ffi_type_sint64, &ffi_type_uint8, NULL};
static ffi_type answer_type = {.type = FFI_TYPE_STRUCT, .elements = answer_elements};
static ffi_type *hand_arguments[] = {&ffi_type_pointer, &ffi_type_pointer, &ffi_type_sint64,
                                     &ffi_type_double, &ffi_type_uint8};

static uint32_t hash_of(const char *name) {
    uint32_t hash = 2166136261u;
    while (*name != '\0') {
        hash = (hash ^ (unsigned char)*name++) * 16777619u;
    }
    return hash;
}

static struct hand_tool *look_up(const char *name) {
    uint32_t hash = hash_of(name);
    for (uint32_t i = hash & 2047; hand_slots[i] != NULL; i = (i + 1) & 2047) {
        if (hand_slots[i]->hash == hash && strcmp(hand_slots[i]->name, name) == 0) {
            return hand_slots[i];
        }
    }
    return NULL;
}

static bool is_key(yyjson_val *key, const char *name, size_t length) {
    return yyjson_get_len(key) == length && memcmp(yyjson_get_str(key), name, length) == 0;
}

/* The values by position, when they fit the schema. */
static bool check(yyjson_val *object, yyjson_val *values[5]) {
    size_t i;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    memset(values, 0, 5 * sizeof *values);
    yyjson_obj_foreach (object, i, count, key, value) {
        if (is_key(key, "path", 4)) {
            values[0] = value;
            if (!yyjson_is_str(value) || yyjson_get_len(value) < 1 ||
                yyjson_get_len(value) > 4096) {
                return false;
            }
        } else if (is_key(key, "mode", 4)) {
            values[1] = value;
            if (!yyjson_equals_str(value, "literal") && !yyjson_equals_str(value, "regex") &&
                !yyjson_equals_str(value, "glob")) {
                return false;
            }
        } else if (is_key(key, "limit", 5)) {
            values[2] = value;
            if (!yyjson_is_int(value) || yyjson_get_sint(value) < 1 ||
                yyjson_get_sint(value) > 1000) {
                return false;
            }
        } else if (is_key(key, "ratio", 5)) {
            values[3] = value;
            if (!yyjson_is_num(value) || yyjson_get_num(value) < 0 || yyjson_get_num(value) > 1) {
                return false;
            }
        } else if (is_key(key, "recursive", 9)) {
            values[4] = value;
            if (!yyjson_is_bool(value)) {
                return false;
            }
        } else {
            return false;
        }
    }
    return values[0] != NULL && values[1] != NULL;
}

/* Its answer in `out`, of HAND_OUT_MAX bytes; 0: the arguments do not fit. */
static size_t call_by_hand(const char *name, const char *text, size_t size, bool through_ffi,
                           char *out) {
    static _Thread_local _Alignas(64) char memory[16384];
    yyjson_alc alc;
    yyjson_val *values[5];
    (void)yyjson_alc_pool_init(&alc, memory, sizeof memory);
    struct hand_tool *tool = look_up(name);
    yyjson_doc *doc = yyjson_read_opts((char *)(uintptr_t)text, size, 0, &alc, NULL);
    if (tool == NULL || !check(yyjson_doc_get_root(doc), values)) {
        return 0;
    }
    const char *path = yyjson_get_str(values[0]);
    const char *mode = yyjson_get_str(values[1]);
    int64_t limit = values[2] != NULL ? yyjson_get_sint(values[2]) : 10;
    double ratio = values[3] != NULL ? yyjson_get_num(values[3]) : 0;
    uint8_t recursive = values[4] != NULL && yyjson_get_bool(values[4]);
    struct answer answer;
    if (through_ffi) {
        void *pointers[] = {&path, &mode, &limit, &ratio, &recursive};
        ffi_call(&tool->cif, (void (*)(void))typed, &answer, pointers);
    } else {
        answer = typed(path, mode, limit, ratio, recursive);
    }
    char *made = NULL;
    size_t length = build(&alc, answer.matches, &made);
    memcpy(out, made, length);
    return length;
}

static void make_hand_tools(void) {
    for (int i = 0; i < TOOLS; i++) {
        struct hand_tool *tool = &hand_tools[i];
        (void)snprintf(tool->name, sizeof tool->name, "search_file_%03d", i);
        tool->hash = hash_of(tool->name);
        (void)ffi_prep_cif(&tool->cif, FFI_DEFAULT_ABI, 5, &answer_type, hand_arguments);
        uint32_t at = tool->hash & 2047;
        while (hand_slots[at] != NULL) {
            at = (at + 1) & 2047;
        }
        hand_slots[at] = tool;
    }
}
