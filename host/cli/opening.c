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
static struct line *told; /* when it was opened, printed or counted: not to be told again */
static size_t told_count;

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

static bool is_told(const char *source, const char *line) {
    for (size_t i = 0; i < told_count; i++) {
        if (strcmp(told[i].source, source) == 0 && strcmp(told[i].text, line) == 0) {
            return true;
        }
    }
    return false;
}

bool opening_keep(enum toolrack_log_level level, const char *source, const char *line) {
    (void)pthread_mutex_lock(&lock);
    bool kept = is_told(source, line) ||
                (keeps && level >= TOOLRACK_LOG_WARNING && add(level, source, line));
    (void)pthread_mutex_unlock(&lock);
    return kept;
}

static void drop(struct line **all, size_t *all_count) {
    for (size_t i = 0; i < *all_count; i++) {
        free((*all)[i].source);
    }
    free(*all);
    *all = NULL;
    *all_count = 0;
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

/* What the host says of a grant without effect, and of a tool that has changed
 * (permit_check_configured(), permit_tell_changed()). */
#define GRANT_BEGIN   "the configuration grants '"
#define CHANGED_BEGIN "Tool '"
#define CHANGED_WORDS "' is not what was approved: "

enum subject { SUBJECT_OTHER, SUBJECT_REFUSAL, SUBJECT_GRANT, SUBJECT_CHANGE };

static enum subject subject_of(const struct line *line, const struct toolrack_refusals *refusals) {
    bool is_grant = strcmp(line->source, "permission") == 0 &&
                    strncmp(line->text, GRANT_BEGIN, strlen(GRANT_BEGIN)) == 0;
    bool is_change = strncmp(line->text, CHANGED_BEGIN, strlen(CHANGED_BEGIN)) == 0 &&
                     strstr(line->text, CHANGED_WORDS) != NULL;
    return is_grant                           ? SUBJECT_GRANT
           : is_change                        ? SUBJECT_CHANGE
           : is_refusal(refusals, line->text) ? SUBJECT_REFUSAL
                                              : SUBJECT_OTHER;
}

/* Whether the command names the tool of a line, its version or its plugin. */
static bool is_asked(const struct opening_view *view, const struct line *line) {
    const char *name = strchr(line->text, '\'');
    size_t length = name != NULL ? strcspn(++name, "@'") : 0;
    for (size_t i = 0; i < view->word_count; i++) {
        const char *word = view->words[i];
        if (strcmp(word, line->source) == 0 ||
            (name != NULL && strcspn(word, "@") == length && strncmp(word, name, length) == 0)) {
            return true;
        }
    }
    return false;
}

static void print_counts(const struct opening_view *view, size_t problems, size_t grants) {
    const char *list = view->lists_some ? "'toolrack list --all' without names and filters"
                                        : "'toolrack list --all'";
    const char *them = problems + grants == 1 ? "it" : "them";
    if (problems > 0 && grants > 0) {
        output_note("%zu problem%s with tools or plugins, and %zu grant%s without effect; "
                    "%s and 'toolrack grants' show them",
                    problems, text_plural(problems), grants, text_plural(grants), list);
    } else if (problems > 0) {
        output_note("%zu problem%s with tools or plugins; %s shows %s", problems,
                    text_plural(problems), list, them);
    } else if (grants > 0) {
        output_note("%zu grant%s without effect; 'toolrack grants' shows %s", grants,
                    text_plural(grants), them);
    }
}

void opening_end(struct toolrack *host, const struct opening_view *view) {
    CLEANUP(toolrack_refusals_freep) struct toolrack_refusals *refusals = NULL;
    size_t problems = 0;
    size_t grants = 0;
    (void)pthread_mutex_lock(&lock);
    keeps = false;
    if (count > 0 && host != NULL) {
        (void)toolrack_refused(host, &refusals, NULL);
    }
    for (size_t i = 0; i < count; i++) {
        enum subject subject = subject_of(&lines[i], refusals);
        if (subject == SUBJECT_OTHER || (subject != SUBJECT_REFUSAL && is_asked(view, &lines[i]))) {
            opening_print(lines[i].level, lines[i].source, lines[i].text);
        } else if (subject == SUBJECT_GRANT) {
            grants += !view->shows_grants;
        } else {
            problems += !view->shows_refused;
        }
    }
    drop(&told, &told_count);
    told = lines;
    told_count = count;
    lines = NULL;
    count = 0;
    (void)pthread_mutex_unlock(&lock);
    print_counts(view, problems, grants);
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
    }
    drop(&lines, &count);
    drop(&told, &told_count);
    (void)pthread_mutex_unlock(&lock);
}
