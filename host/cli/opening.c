#include "cli/opening.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/command.h"
#include "base/text.h"
#include "cli/output.h"
#include "view/json.h"
#include "view/tool.h"

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

/* ------------------------------------------------------------------ problems */

/* What the host has refused, and what else it says of tools and grants. */
struct problems {
    struct toolrack_refusals *refusals;
    struct toolrack_text *text;
    yyjson_doc *warnings; /* of the text */
};

static void problems_read(struct toolrack *host, struct problems *ret) {
    *ret = (struct problems){0};
    (void)toolrack_refused(host, &ret->refusals, NULL);
    if (toolrack_warnings(host, &ret->text, NULL) == 0) {
        ret->warnings = json_read(ret->text);
    }
}

static void problems_finish(struct problems *problems) {
    toolrack_refusals_free(problems->refusals);
    yyjson_doc_free(problems->warnings);
    toolrack_text_unref(problems->text);
}

static const char *member(yyjson_val *row, const char *key) {
    const char *text = yyjson_get_str(yyjson_obj_get(row, key));
    return text != NULL ? text : "";
}

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

/* Whether a line of the log is about one of them: it quotes the reason or the fix, or is the same.
 */
static bool is_problem(const struct problems *problems, const struct line *line) {
    size_t at;
    size_t size;
    yyjson_val *row;
    yyjson_arr_foreach (yyjson_doc_get_root(problems->warnings), at, size, row) {
        if (strcmp(line->source, member(row, "source")) == 0 &&
            strcmp(line->text, member(row, "text")) == 0) {
            return true;
        }
    }
    return is_refusal(problems->refusals, line->text);
}

/* Whether the command names the tool of a warning, its version or its plugin. */
static bool is_asked(const struct opening_view *view, const char *source, const char *text) {
    const char *name = strchr(text, '\'');
    size_t length = name != NULL ? strcspn(++name, "@'") : 0;
    for (size_t i = 0; i < view->word_count; i++) {
        const char *word = view->words[i];
        if (strcmp(word, source) == 0 ||
            (name != NULL && strcspn(word, "@") == length && strncmp(word, name, length) == 0)) {
            return true;
        }
    }
    return false;
}

static void print_counts(const struct opening_view *view, size_t problems, size_t grants) {
    const char *list = COMMAND("list --all");
    const char *whole = view->lists_some ? ", without names and filters" : "";
    const char *them = problems + grants == 1 ? "it" : "them";
    if (problems > 0 && grants > 0) {
        output_note("%zu problem%s with tools or plugins, and %zu grant%s without effect; "
                    "see them%s: %s; and: %s",
                    problems, text_plural(problems), grants, text_plural(grants), whole, list,
                    COMMAND("grants"));
    } else if (problems > 0) {
        output_note("%zu problem%s with tools or plugins; see %s%s: %s", problems,
                    text_plural(problems), them, whole, list);
    } else if (grants > 0) {
        output_note("%zu grant%s without effect; see %s: %s", grants, text_plural(grants), them,
                    COMMAND("grants"));
    }
}

/* Print what the command is about, and how much else there is. */
static void print_problems(const struct problems *problems, const struct opening_view *view) {
    size_t refused = 0;
    size_t grants = 0;
    size_t at;
    size_t size;
    yyjson_val *row;
    for (size_t i = 0;
         problems->refusals != NULL && i < toolrack_refusals_count(problems->refusals); i++) {
        const struct toolrack_refusal *refusal = toolrack_refusals_get(problems->refusals, i);
        refused += !view_is_shared(refusal) && !view_is_absent(refusal);
    }
    yyjson_arr_foreach (yyjson_doc_get_root(problems->warnings), at, size, row) {
        const char *source = member(row, "source");
        const char *text = member(row, "text");
        if (strcmp(member(row, "kind"), "header") == 0) {
            continue; /* it is news to who serves clients */
        }
        if (is_asked(view, source, text)) {
            opening_print(TOOLRACK_LOG_WARNING, source, text);
        } else if (strcmp(member(row, "kind"), "grant") == 0) {
            grants++;
        } else {
            refused++;
        }
    }
    print_counts(view, view->shows_refused ? 0 : refused, view->shows_grants ? 0 : grants);
}

void opening_end(struct toolrack *host, const struct opening_view *view) {
    CLEANUP(problems_finish) struct problems problems = {0};
    (void)pthread_mutex_lock(&lock);
    if (keeps && host != NULL) {
        problems_read(host, &problems);
    }
    keeps = false;
    for (size_t i = 0; i < count; i++) {
        if (!is_problem(&problems, &lines[i])) {
            opening_print(lines[i].level, lines[i].source, lines[i].text);
        }
    }
    drop(&told, &told_count);
    told = lines;
    told_count = count;
    lines = NULL;
    count = 0;
    (void)pthread_mutex_unlock(&lock);
    print_problems(&problems, view);
}

void opening_tell(struct toolrack *host, const struct opening_view *view) {
    CLEANUP(problems_finish) struct problems problems;
    problems_read(host, &problems);
    print_problems(&problems, view);
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
