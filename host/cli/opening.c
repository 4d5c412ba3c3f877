#include "cli/opening.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "cli/output.h"

CLEANUP_DEFINE(struct toolrack_refusals, toolrack_refusals_free)

struct line {
    enum toolrack_log_level level;
    char *source; /* owned, with the text behind its zero */
    const char *text;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static bool keeps;
static struct line *lines;
static size_t count;

void opening_print(enum toolrack_log_level level, const char *source, const char *line) {
    static const char *const names[] = {"debug", "info", "warning", "error"};
    output_note("%s: %s: %s", names[level], source, line);
}

void opening_begin(void) {
    (void)pthread_mutex_lock(&lock);
    keeps = true;
    (void)pthread_mutex_unlock(&lock);
}

static bool add(enum toolrack_log_level level, const char *source, const char *line) {
    size_t size = strlen(source) + 1;
    struct line *grown = reallocarray(lines, count + 1, sizeof *lines);
    lines = grown != NULL ? grown : lines;
    char *copy = grown != NULL ? malloc(size + strlen(line) + 1) : NULL;
    if (copy == NULL) {
        return false;
    }
    memcpy(copy, source, size);
    strcpy(copy + size, line);
    lines[count++] = (struct line){.level = level, .source = copy, .text = copy + size};
    return true;
}

bool opening_keep(enum toolrack_log_level level, const char *source, const char *line) {
    (void)pthread_mutex_lock(&lock);
    bool kept = keeps && level >= TOOLRACK_LOG_WARNING && add(level, source, line);
    (void)pthread_mutex_unlock(&lock);
    return kept;
}

/* Whether a line is about something in the list of refusals: it quotes the reason or the fix. */
static bool is_refusal(const struct toolrack_refusals *refusals, const char *text) {
    for (size_t i = 0; refusals != NULL && i < toolrack_refusals_count(refusals); i++) {
        const struct toolrack_refusal *refusal = toolrack_refusals_get(refusals, i);
        if (strstr(text, refusal->reason) != NULL ||
            (refusal->fix != NULL && refusal->fix[0] != '\0' &&
             strstr(text, refusal->fix) != NULL)) {
            return true;
        }
    }
    return false;
}

void opening_end(struct toolrack *host, bool shows_refused) {
    CLEANUP(toolrack_refusals_freep) struct toolrack_refusals *refusals = NULL;
    size_t refused = 0;
    (void)pthread_mutex_lock(&lock);
    keeps = false;
    if (count > 0 && host != NULL) {
        (void)toolrack_refused(host, &refusals, NULL);
    }
    for (size_t i = 0; i < count; i++) {
        if (is_refusal(refusals, lines[i].text)) {
            refused++;
        } else {
            opening_print(lines[i].level, lines[i].source, lines[i].text);
        }
        free(lines[i].source);
    }
    free(lines);
    lines = NULL;
    count = 0;
    (void)pthread_mutex_unlock(&lock);
    if (refused > 0 && !shows_refused) {
        output_note("%zu problem%s with tools or plugins; 'toolrack list --all' shows %s", refused,
                    text_plural(refused), refused == 1 ? "it" : "them");
    }
}

void opening_hold(void) {
    opening_begin();
}

/* Shorter texts, such as a tool may log, are in others by chance. */
#define SAME_LENGTH_MIN 32u

static bool is_in(const char *part, const char *whole) {
    return strlen(part) >= SAME_LENGTH_MIN && strstr(whole, part) != NULL;
}

void opening_drop(const char *said) {
    size_t kept = 0;
    (void)pthread_mutex_lock(&lock);
    for (size_t i = 0; i < count; i++) {
        if (is_in(lines[i].text, said) || is_in(said, lines[i].text)) {
            free(lines[i].source);
        } else {
            lines[kept++] = lines[i];
        }
    }
    count = kept;
    (void)pthread_mutex_unlock(&lock);
}

void opening_release(void) {
    (void)pthread_mutex_lock(&lock);
    keeps = false;
    for (size_t i = 0; i < count; i++) {
        opening_print(lines[i].level, lines[i].source, lines[i].text);
        free(lines[i].source);
    }
    free(lines);
    lines = NULL;
    count = 0;
    (void)pthread_mutex_unlock(&lock);
}
