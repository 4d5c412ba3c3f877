#include "plugin/finding.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

static const struct {
    const char *id;
    int severity;
    const char *fix;
} rules[] = {
#define FINDING_RULE(constant, severity, id, fix) {id, FINDING_##severity, fix},
        FINDING_RULES(FINDING_RULE)
#undef FINDING_RULE
};

/* Few files have findings, and fewer have many. */
#define FINDINGS_FIRST_ROOM 4u

/* Longest cause, with the terminating zero; a longer one is cut. */
#define FINDING_CAUSE_MAX 512

const char *finding_severity_name(int severity) {
    switch (severity) {
    case FINDING_NOTE: return "note";
    case FINDING_WARNING: return "warning";
    default: return "error";
    }
}

bool finding_rule_get(int rule, const char **ret_id, int *ret_severity, const char **ret_fix) {
    if (rule < 0 || rule >= FINDING_RULE_COUNT) {
        return false;
    }
    *ret_id = rules[rule].id;
    *ret_severity = rules[rule].severity;
    *ret_fix = rules[rule].fix;
    return true;
}

void findings_init(struct findings *list, struct arena *arena) {
    *list = (struct findings){.arena = arena};
}

/* Make one line of UTF-8 of any bytes. */
static void clean(char *text) {
    for (size_t i = 0; text[i] != '\0'; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c < 0x20 || c == 0x7f) {
            text[i] = ' ';
        } else if (c >= 0x80) {
            size_t length = 2;
            while (length <= 4 && text[i + length - 1] != '\0' && !utf8_valid(text + i, length)) {
                length++;
            }
            bool whole = length <= 4 && text[i + length - 1] != '\0';
            /* U+0080 to U+009F are control characters too. */
            if (whole && !(c == 0xc2 && (unsigned char)text[i + 1] < 0xa0)) {
                i += length - 1;
            } else {
                text[i] = '?';
            }
        }
    }
}

static bool grow(struct findings *list) {
    uint32_t room = list->room == 0 ? FINDINGS_FIRST_ROOM : list->room * 2;
    struct finding *items = arena_alloc(list->arena, room * sizeof *items);
    if (items == NULL) {
        list->failed = true;
        return false;
    }
    if (list->count > 0) {
        memcpy(items, list->items, list->count * sizeof *items);
    }
    list->items = items;
    list->room = room;
    return true;
}

/* The place for a finding of this severity: the end of the list, or, if the list is full, in place
 * of the last one with lower severity. The last place stays free for findings_close(). */
static struct finding *place_for(struct findings *list, int severity) {
    if (list->count < FINDINGS_MAX - 1) {
        if (list->count == list->room && !grow(list)) {
            return NULL;
        }
        return &list->items[list->count++];
    }
    list->left_out++;
    for (uint32_t i = list->count; i-- > 0;) {
        if (list->items[i].severity < severity) {
            memmove(&list->items[i], &list->items[i + 1],
                    (list->count - i - 1) * sizeof *list->items);
            return &list->items[list->count - 1];
        }
    }
    return NULL;
}

void findings_addv(struct findings *list, enum finding_rule rule, const char *tool,
                   const char *cause, va_list args) {
    int severity = rules[rule].severity;
    list->errors += severity == FINDING_ERROR;
    char line[FINDING_CAUSE_MAX];
    (void)vsnprintf(line, sizeof line, cause, args);
    clean(line);
    struct finding *place = place_for(list, severity);
    if (place == NULL) {
        return;
    }
    const char *copy = arena_copy(list->arena, line, strlen(line));
    if (copy == NULL) {
        list->failed = true;
        copy = "";
    }
    *place = (struct finding){.rule = rules[rule].id,
                              .severity = severity,
                              .tool = tool,
                              .cause = copy,
                              .fix = rules[rule].fix};
}

void findings_add(struct findings *list, enum finding_rule rule, const char *tool,
                  const char *cause, ...) {
    va_list args;
    va_start(args, cause);
    findings_addv(list, rule, tool, cause, args);
    va_end(args);
}

void findings_close(struct findings *list) {
    if (list->left_out == 0 || (list->count == list->room && !grow(list))) {
        return;
    }
    const char *cause = arena_printf(list->arena, "%u more findings are not shown (limit %u)",
                                     list->left_out, FINDINGS_MAX);
    if (cause == NULL) {
        list->failed = true;
        return;
    }
    list->items[list->count++] = (struct finding){.rule = rules[FINDING_LEFT_OUT].id,
                                                  .severity = rules[FINDING_LEFT_OUT].severity,
                                                  .cause = cause,
                                                  .fix = rules[FINDING_LEFT_OUT].fix};
}
