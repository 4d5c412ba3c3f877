#include "choose/question.h"

#include <string.h>

#include "base/ascii.h"
#include "base/text.h"

/* Choices that a question lists. */
#define CHOICES_SHOWN_MAX 8u

/* Longest description in a question, in characters. */
#define DESCRIPTION_SHOWN_MAX 160u

/* startDate as "start date". */
static void add_name(struct buf *out, const char *name) {
    for (size_t i = 0; name[i] != '\0'; i++) {
        bool hump = i > 0 && ascii_is_upper(name[i]) && !ascii_is_upper(name[i - 1]) &&
                    ascii_is_alnum(name[i - 1]);
        if (hump) {
            buf_add_char(out, ' ');
        }
        bool lower = hump && name[i + 1] != '\0' && !ascii_is_upper(name[i + 1]);
        buf_add_char(out, name[i] == '_' ? ' ' : lower ? ascii_lower(name[i]) : name[i]);
    }
}

static void add_description(struct buf *out, const char *description, bool chinese) {
    if (*description != '\0') {
        buf_add_text(out, chinese ? "（" : " (");
        text_add_cut(out, description, strlen(description), DESCRIPTION_SHOWN_MAX);
        buf_add_text(out, chinese ? "）" : ")");
    }
}

static void add_choices(struct buf *out, const struct parameter *parameter, bool chinese) {
    size_t count = parameter != NULL ? parameter->choice_count : 0;
    if (count == 0) {
        return;
    }
    buf_add_text(out, chinese ? "可选：" : " One of: ");
    for (size_t i = 0; i < count && i < CHOICES_SHOWN_MAX; i++) {
        buf_add_text(out, i == 0 ? "" : chinese ? "、" : ", ");
        buf_add(out, parameter->choices[i].text, parameter->choices[i].length);
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
    text_add_cut(out, json, strlen(json), DESCRIPTION_SHOWN_MAX);
    bool shown = !chinese || (reason[0] & 0x80) != 0; /* the schema's are English */
    buf_add_text(out, !shown ? "" : chinese ? "：" : ": ");
    buf_add_text(out, shown ? reason : "");
    buf_add_text(out, chinese ? "。应该是什么？" : ". What should it be?");
    add_choices(out, parameter, chinese);
}
