#include "config/problem.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/utf8.h"

#define PROBLEMS_FIRST_ROOM 16u

static bool make_room(struct problems *list) {
    if (list->count < list->room) {
        return true;
    }
    size_t room = list->room == 0 ? PROBLEMS_FIRST_ROOM : 2 * list->room;
    struct problem *grown = arena_alloc(list->arena, room * sizeof *grown);
    if (grown == NULL) {
        return false;
    }
    if (list->count > 0) {
        memcpy(grown, list->items, list->count * sizeof *grown);
    }
    list->items = grown;
    list->room = room;
    return true;
}

static const char *copy_line(struct problems *list, const char *text) {
    char *copy = text != NULL ? arena_copy(list->arena, text, strlen(text)) : NULL;
    if (copy != NULL) {
        utf8_make_line(copy);
    }
    list->failed = list->failed || (text != NULL && copy == NULL);
    return copy;
}

static void append(struct problems *list, const struct problem *what, const struct buf *text) {
    if (text->failed || what->fix == NULL || !make_room(list)) {
        list->failed = true;
        return;
    }
    struct problem *problem = &list->items[list->count++];
    *problem = *what;
    problem->cause = copy_line(list, text->data);
    problem->fix = copy_line(list, what->fix);
    problem->tool = copy_line(list, what->tool);
    if (what->pointer != NULL) {
        problem->pointer = arena_copy(list->arena, what->pointer, strlen(what->pointer));
        list->failed = list->failed || problem->pointer == NULL;
    }
}

void problems_add(struct problems *list, const struct problem *what, const char *cause, ...) {
    list->errors += what->severity == TOOLRACK_SEVERITY_ERROR;
    if (list->count == PROBLEMS_MAX) {
        list->left_out++;
        return;
    }
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    va_list args;
    va_start(args, cause);
    buf_vprintf(&text, cause, args);
    va_end(args);
    append(list, what, &text);
}

void problems_end(struct problems *list) {
    size_t told = 0;
    for (size_t i = 0; i < list->count; i++) {
        told += list->items[i].severity == TOOLRACK_SEVERITY_ERROR;
    }
    if (list->left_out > 0) {
        CLEANUP(buf_finish) struct buf text = BUF_INIT;
        buf_printf(&text, "%zu more problem%s not told", list->left_out,
                   list->left_out == 1 ? " is" : "s are");
        append(list,
               &(struct problem){.severity = list->errors > told ? TOOLRACK_SEVERITY_ERROR
                                                                 : TOOLRACK_SEVERITY_NOTE,
                                 .rule = "problems-left-out",
                                 .pointer = "/tools",
                                 .tool = "<others>",
                                 .fix = "correct those that are, and look again"},
               &text);
    }
}

void problem_line(const struct problem *problem, const char *text, size_t length, size_t *ret_line,
                  size_t *ret_column) {
    size_t position = problem->position;
    if (problem->pointer != NULL) {
        char pointer[JSON_POINTER_MAX] = "";
        strncat(pointer, problem->pointer, sizeof pointer - 1);
        enum json_place_at at = problem->at;
        while (!json_place_find(text, length, pointer, at, &position) && pointer[0] != '\0') {
            char *last = strrchr(pointer, '/');
            *(last != NULL ? last : pointer) = '\0';
            at = JSON_PLACE_VALUE;
        }
    }
    json_place_line(text, length, position, ret_line, ret_column);
}
