#include "choose/question.h"

#include <string.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "choose/author.h"

/* Choices that a question lists. */
#define CHOICES_SHOWN_MAX 8u

/* A value as JSON, which has its own quotes and escapes what is in them. */
static void add_json(struct buf *out, const char *json) {
    CLEANUP(buf_finish) struct buf line = BUF_INIT;
    text_add_line(&line, json, strlen(json));
    text_add_cut(out, line.data != NULL ? line.data : "", line.length, AUTHOR_TEXT_MAX);
    out->failed = out->failed || line.failed;
}

/* Whether a sentence ends at a full stop: not that of "e.g. Paris" and "a.txt". */
static bool is_full_stop(const char *text, size_t at) {
    return text[at] == '.' && (text[at + 1] == ' ' || text[at + 1] == '\n') &&
           (at < 2 || text[at - 2] != '.');
}

static size_t first_sentence(const char *text) {
    static const char *const ends[] = {"\n", "。", "；", "!", "?"};
    size_t length = strlen(text);
    for (size_t i = 0; i < ARRAY_LENGTH(ends); i++) {
        const char *end = memmem(text, length, ends[i], strlen(ends[i]));
        length = end != NULL ? (size_t)(end - text) : length;
    }
    for (size_t at = 0; at < length; at++) {
        if (is_full_stop(text, at)) {
            return at;
        }
    }
    while (length > 0 && (text[length - 1] == '.' || text[length - 1] == ' ')) {
        length--;
    }
    return length;
}

void question_add_sentence(struct buf *out, const char *text, size_t width, bool chinese) {
    author_quote(out, text, first_sentence(text), width, chinese);
}

/* startDate as "start date". */
static void add_name(struct buf *out, const char *name) {
    CLEANUP(buf_finish) struct buf words = BUF_INIT;
    for (size_t i = 0; name[i] != '\0'; i++) {
        bool hump = i > 0 && ascii_is_upper(name[i]) && !ascii_is_upper(name[i - 1]) &&
                    ascii_is_alnum(name[i - 1]);
        if (hump) {
            buf_add_char(&words, ' ');
        }
        bool lower = hump && name[i + 1] != '\0' && !ascii_is_upper(name[i + 1]);
        buf_add_char(&words, name[i] == '_' ? ' ' : lower ? ascii_lower(name[i]) : name[i]);
    }
    if (words.failed) {
        out->failed = true;
    } else if (words.length > 0) {
        author_add(out, words.data, words.length, AUTHOR_NAME_MAX);
    }
}

static void add_description(struct buf *out, const char *description, bool chinese) {
    CLEANUP(buf_finish) struct buf sentence = BUF_INIT;
    question_add_sentence(&sentence, description != NULL ? description : "", AUTHOR_TEXT_MAX,
                          chinese);
    if (sentence.length > 0) {
        buf_add_text(out, chinese ? "（" : " (");
        buf_add(out, sentence.data, sentence.length);
        buf_add_text(out, chinese ? "）" : ")");
    }
    out->failed = out->failed || sentence.failed;
}

static void add_choices(struct buf *out, const struct parameter *parameter, bool chinese) {
    size_t count = parameter != NULL ? parameter->choice_count : 0;
    if (count == 0) {
        return;
    }
    buf_add_text(out, chinese ? "可选：" : " One of: ");
    for (size_t i = 0; i < count && i < CHOICES_SHOWN_MAX; i++) {
        buf_add_text(out, i == 0 ? "" : chinese ? "、" : ", ");
        author_add_name(out, parameter->choices[i].text, parameter->choices[i].length, chinese);
    }
    buf_add_text(out, count > CHOICES_SHOWN_MAX ? chinese ? "等。" : ", and others."
                      : chinese                 ? "。"
                                                : ".");
}

void question_missing(struct buf *out, const struct parameter *parameter, const char *name,
                      const char *description, bool chinese) {
    buf_add_text(out, chinese ? "请问“" : "What is \"");
    add_name(out, name);
    buf_add_text(out, chinese ? "”是什么" : "\"");
    add_description(out, description, chinese);
    buf_add_text(out, chinese ? "？" : "?");
    add_choices(out, parameter, chinese);
}

void question_invalid(struct buf *out, const struct parameter *parameter, const char *pointer,
                      const char *json, const char *reason, bool chinese) {
    buf_add_text(out, chinese ? "“" : "\"");
    add_name(out, parameter != NULL    ? parameter->name
                  : pointer[0] != '\0' ? pointer + 1
                                       : "arguments");
    buf_add_text(out, chinese ? "”不能是 " : "\" cannot be ");
    add_json(out, json);
    bool shown = !chinese || (reason[0] & 0x80) != 0; /* the schema's are English */
    buf_add_text(out, !shown ? "" : chinese ? "：" : ": ");
    text_add_line(out, shown ? reason : "", shown ? strlen(reason) : 0);
    buf_add_text(out, chinese ? "。应该是什么？" : ". What should it be?");
    add_choices(out, parameter, chinese);
}

void question_confirm(struct buf *out, const struct parameter *parameter, const char *json,
                      bool chinese) {
    buf_add_text(out, chinese ? "“" : "Is \"");
    add_name(out, parameter->name);
    buf_add_text(out, chinese ? "”" : "\"");
    add_description(out, parameter->description, chinese);
    buf_add_text(out, chinese ? "是 " : " ");
    add_json(out, json);
    buf_add_text(out, chinese ? " 吗？" : "?");
}

void question_words(struct buf *out, const char *words, size_t length, bool chinese) {
    buf_add_text(out, chinese ? "“" : "What is \"");
    author_add(out, words, length, AUTHOR_TEXT_MAX);
    buf_add_text(out, chinese ? "”是指什么？" : "\" for?");
}

void question_other_wish(struct buf *out, const char *words, size_t length, bool chinese) {
    buf_add_text(out, chinese ? "原文还要“" : "The text also wants \"");
    author_add(out, words, length, AUTHOR_TEXT_MAX);
    buf_add_text(out, chinese ? "”：先做哪一个？" : "\": which is to be done first?");
}

void question_told(struct buf *out, const char *tool, bool chinese) {
    buf_add_text(out, chinese ? "这是在询问、转述或设条件：现在要调用 "
                              : "This asks, tells what somebody said, or sets a condition. Is ");
    buf_add_text(out, tool);
    buf_add_text(out, chinese ? " 吗？" : " to be called now?");
}

void question_led(struct buf *out, const char *tool, bool chinese) {
    buf_add_text(out, chinese ? "原文没有明说，是以前的选择指向 "
                              : "Earlier choices lead to this tool; the text does not say so. Is ");
    buf_add_text(out, tool);
    buf_add_text(out, chinese ? "：要调用吗？" : " meant?");
}

void question_long(struct buf *out, bool chinese) {
    buf_add_text(out,
                 chinese ? "原文太长，只读了前面一部分，后面可能另有要求。要做什么？请说得短一些。"
                         : "The text is too long: only its beginning is read, and the rest may "
                           "say otherwise. What is to be done, in fewer words?");
}

void question_guessed(struct buf *out, const char *name, const char *json, bool chinese) {
    buf_add_text(out, chinese ? "“" : "Is \"");
    add_name(out, name);
    buf_add_text(out, chinese ? "”是 " : "\" ");
    add_json(out, json);
    buf_add_text(out, chinese ? " 吗？模型这样说，原文没有说。"
                              : "? A model says so; the text does not.");
}
