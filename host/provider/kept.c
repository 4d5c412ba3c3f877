#include "provider/kept.h"

#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "base/cleanup.h"
#include "base/error.h"

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)

static void free_all(char **texts, size_t count) {
    for (size_t i = 0; i < count; i++) {
        free(texts[i]);
    }
    free(texts);
}

static size_t count_of(char **texts) {
    size_t count = 0;
    while (texts != NULL && texts[count] != NULL) {
        count++;
    }
    return count;
}

/* Forget what was read, but not where it was read from. */
static void forget(struct kept *kept) {
    for (size_t i = 0; i < kept->exchange_count; i++) {
        free(kept->exchanges[i].task);
    }
    free(kept->exchanges);
    free_all(kept->answered, kept->answered_count);
    free_all(kept->query, count_of(kept->query));
    free_all(kept->parameters, count_of(kept->parameters));
    free(kept->id);
    free(kept->name);
    free(kept->endpoint);
    free(kept->model);
    free(kept->system);
    free(kept->open);
    conversation_finish(&kept->conversation);
    *kept = (struct kept){.transcript = kept->transcript, .has_calls = kept->has_calls};
}

void kept_finish(struct kept *kept) {
    forget(kept);
    transcript_close(kept->transcript);
    *kept = (struct kept){0};
}

static void close_open(struct kept *kept) {
    free(kept->open);
    kept->open = NULL;
}

void kept_drop_open(struct kept *kept) {
    conversation_truncate(&kept->conversation, kept->open_length, kept->open_count);
    close_open(kept);
}

void kept_undo(struct kept *kept) {
    struct kept_exchange *last = &kept->exchanges[--kept->exchange_count];
    conversation_truncate(&kept->conversation, last->length, last->count);
    while (kept->answered_count > last->answered) {
        free(kept->answered[--kept->answered_count]);
    }
    free(last->task);
    close_open(kept);
    kept->has_failed = false;
}

/* -------------------------------------------------------------------- lines */

/* What is wrong with a line; NULL: nothing. Memory that is missing is told by `err`. */
typedef const char *take_line(struct kept *kept, yyjson_val *value, struct toolrack_error *err);

static const char no_memory[] = "there is no memory";

/* A copy of a string in the place of the one before; what is no string leaves NULL. */
static bool take_text(char **text, yyjson_val *value) {
    free(*text);
    *text = yyjson_is_str(value) ? strdup(yyjson_get_str(value)) : NULL;
    return *text != NULL || !yyjson_is_str(value);
}

static bool take_texts(char ***texts, yyjson_val *value) {
    size_t at;
    size_t count = 0;
    yyjson_val *text;
    free_all(*texts, count_of(*texts));
    *texts = NULL;
    if (yyjson_arr_size(value) == 0) {
        return true;
    }
    *texts = calloc(yyjson_arr_size(value) + 1, sizeof **texts);
    if (*texts == NULL) {
        return false;
    }
    yyjson_arr_foreach (value, at, count, text) {
        (*texts)[at] = strdup(yyjson_is_str(text) ? yyjson_get_str(text) : "");
        if ((*texts)[at] == NULL) {
            return false;
        }
    }
    return true;
}

static const char *take_settings(struct kept *kept, yyjson_val *value) {
    kept->plan = yyjson_get_bool(yyjson_obj_get(value, "plan"));
    return take_text(&kept->id, yyjson_obj_get(value, "id")) &&
                           take_text(&kept->name, yyjson_obj_get(value, "name")) &&
                           take_text(&kept->endpoint, yyjson_obj_get(value, "endpoint")) &&
                           take_text(&kept->model, yyjson_obj_get(value, "model")) &&
                           take_text(&kept->system, yyjson_obj_get(value, "system")) &&
                           take_texts(&kept->query, yyjson_obj_get(value, "query")) &&
                           take_texts(&kept->parameters, yyjson_obj_get(value, "parameters"))
                   ? NULL
                   : no_memory;
}

static bool begin_exchange(struct kept *kept, const char *task) {
    struct kept_exchange *more =
            realloc(kept->exchanges, (kept->exchange_count + 1) * sizeof *more);
    char *copy = strdup(task);
    kept->exchanges = more != NULL ? more : kept->exchanges;
    if (more == NULL || copy == NULL) {
        free(copy);
        return false;
    }
    more[kept->exchange_count++] =
            (struct kept_exchange){.task = copy,
                                   .length = kept->conversation.messages.length,
                                   .count = kept->conversation.count,
                                   .answered = kept->answered_count};
    return true;
}

/* A file that was named with --transcript may have several conversations: the last one goes on. */
static const char *take_beginning(struct kept *kept, yyjson_val *value,
                                  struct toolrack_error *err) {
    const char *task = yyjson_get_str(yyjson_obj_get(value, "task"));
    const char *name = yyjson_get_str(yyjson_obj_get(value, "format"));
    enum toolrack_format format;
    if (name == NULL || toolrack_format_find(name, &format, NULL) < 0) {
        return "it does not say in which format the messages are";
    }
    forget(kept);
    kept->conversation.format = format;
    if (!begin_exchange(kept, task != NULL ? task : "")) {
        return no_memory;
    }
    return conversation_add_body(&kept->conversation, yyjson_obj_get(value, "body"), err) < 0
                   ? err->message
                   : take_settings(kept, value);
}

/* Whether the message before a line that goes on has calls: their results are a line of their own.
 */
static bool lacks_results(const struct kept *kept) {
    return kept->open != NULL &&
           kept->has_calls(kept->conversation.format, kept->open, strlen(kept->open));
}

static const char no_results[] = "the calls of the message before it have no results";

static const char *take_resume(struct kept *kept, yyjson_val *value, struct toolrack_error *err) {
    const char *task = yyjson_get_str(yyjson_obj_get(value, "task"));
    if (yyjson_get_bool(yyjson_obj_get(value, "unsent")) && kept->open != NULL) {
        kept_drop_open(kept);
    }
    if (lacks_results(kept)) {
        return no_results;
    }
    close_open(kept);
    kept->has_failed = false;
    if (task != NULL && !begin_exchange(kept, task)) {
        return no_memory;
    }
    if (task != NULL && conversation_add_task(&kept->conversation, task, err) < 0) {
        return err->message;
    }
    return take_settings(kept, value);
}

static const char *take_message(struct kept *kept, yyjson_val *value, struct toolrack_error *err) {
    size_t length = 0;
    if (lacks_results(kept)) {
        return no_results;
    }
    close_open(kept);
    kept->open_length = kept->conversation.messages.length;
    kept->open_count = kept->conversation.count;
    kept->open = yyjson_val_write(value, 0, &length);
    if (kept->open == NULL) {
        return no_memory;
    }
    return conversation_add_message(&kept->conversation, kept->open, length, err) < 0 ? err->message
                                                                                      : NULL;
}

static const char *take_results(struct kept *kept, yyjson_val *value, struct toolrack_error *err) {
    if (kept->open == NULL) {
        return "results without a message of the model before them";
    }
    size_t length = 0;
    CLEANUP(freep) char *text = yyjson_val_write(value, 0, &length);
    char **more = realloc(kept->answered, (kept->answered_count + 1) * sizeof *more);
    kept->answered = more != NULL ? more : kept->answered;
    if (text == NULL || more == NULL) {
        return no_memory;
    }
    more[kept->answered_count++] = STEAL(kept->open);
    return conversation_add_results(&kept->conversation, text, length, err) < 0 ? err->message
                                                                                : NULL;
}

static const char *take_end(struct kept *kept, yyjson_val *value, struct toolrack_error *err) {
    (void)err;
    kept->has_failed = yyjson_obj_get(value, "type") != NULL;
    if (yyjson_get_bool(yyjson_obj_get(value, "unsent")) && kept->open != NULL) {
        kept_drop_open(kept);
    }
    return NULL;
}

static const char *take_undo(struct kept *kept, yyjson_val *value, struct toolrack_error *err) {
    (void)value;
    (void)err;
    if (kept->exchange_count == 0) {
        return "nothing is left that could be taken back";
    }
    kept_undo(kept);
    return NULL;
}

static const struct {
    const char *kind;
    take_line *take;
} kinds[] = {{"beginning", take_beginning}, {"resume", take_resume}, {"message", take_message},
             {"results", take_results},     {"end", take_end},       {"undo", take_undo}};

static const char *take(struct kept *kept, const char *line, size_t length,
                        struct toolrack_error *err) {
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *doc = yyjson_read(line, length, YYJSON_READ_NUMBER_AS_RAW);
    const char *kind = yyjson_get_str(yyjson_obj_get(yyjson_doc_get_root(doc), "kind"));
    if (doc == NULL) {
        return "it is not JSON";
    }
    if (kind == NULL) {
        return "it is no line of a conversation";
    }
    if (kept->exchanges == NULL && strcmp(kind, "beginning") != 0) {
        return "a conversation begins with a line of the kind \"beginning\"";
    }
    for (size_t i = 0; i < ARRAY_LENGTH(kinds); i++) {
        yyjson_val *value = yyjson_obj_get(yyjson_doc_get_root(doc), kind);
        if (strcmp(kinds[i].kind, kind) == 0) {
            return value != NULL ? kinds[i].take(kept, value, err) : "it has no value";
        }
    }
    return NULL;
}

int kept_open(const struct transcript_place *place, kept_has_calls *has_calls, struct kept *ret,
              struct toolrack_error *err) {
    struct toolrack_error why = {0};
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    ret->has_calls = has_calls;
    int code = transcript_open(place, &ret->transcript, err);
    if (code == 0) {
        code = transcript_read(ret->transcript, &text, err);
    }
    const char *path = code == 0 ? transcript_path(ret->transcript) : "";
    if (code == 0 && text.length == 0) {
        code = error_set(err, TOOLRACK_E_INVALID, "%s is no transcript of a conversation", path);
    }
    unsigned number = 1;
    for (size_t at = 0; code == 0 && at < text.length; number++) {
        size_t length = strcspn(text.data + at, "\n"); /* JSON has no zero bytes */
        const char *wrong = take(ret, text.data + at, length, &why);
        if (wrong == no_memory || (wrong != NULL && why.code == TOOLRACK_E_NO_MEMORY)) {
            code = error_oom(err);
        } else if (wrong != NULL) {
            code = error_set(err, TOOLRACK_E_INVALID,
                             "the transcript %s cannot be used, line %u: %s; undo what was changed "
                             "in it, or begin another conversation",
                             path, number, wrong);
        }
        at += length + 1;
    }
    if (code == 0 && ret->id != NULL && strcmp(ret->id, place->id) != 0) {
        code = error_set(err, TOOLRACK_E_INVALID,
                         "the transcript %s is of the conversation %.64s, not %.64s", path, ret->id,
                         place->id);
    }
    return code;
}
