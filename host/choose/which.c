#include "choose/which.h"

#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "choose/author.h"
#include "choose/intent.h"
#include "choose/question.h"

/* A candidate with less than this share of the best score is not asked for. */
#define RIVAL_SHARE 0.7
/* Nor is one with a score below this: what it does has too little to do with the text. */
#define ASKED_MIN   0.15
#define ASKED_MAX   WHICH_CANDIDATES_MAX

static bool is_chinese(const struct words *words) {
    for (size_t i = 0; i < words->count; i++) {
        if (words->items[i].kind == WORD_HAN) {
            return true;
        }
    }
    return false;
}

/* How many of the best are worth a question. */
static size_t count_rivals(const struct which_candidate *candidates, size_t all) {
    size_t count = 0;
    while (count < all && count < WHICH_CANDIDATES_MAX && candidates[count].score >= ASKED_MIN &&
           candidates[count].score >= RIVAL_SHARE * candidates[0].score) {
        count++;
    }
    return count;
}

/* What a tool is for. */
static void add_purpose(struct buf *out, const struct index_document *tool, bool chinese) {
    const char *text = tool->description != NULL && tool->description[0] != '\0' ? tool->description
                       : tool->title != NULL                                     ? tool->title
                                                                                 : "";
    question_add_sentence(out, text, WHICH_PURPOSE_MAX, chinese);
}

/* "read", or nothing. */
static void add_intent(struct buf *out, const struct which_candidate *candidate, bool chinese) {
    static const struct label_name names[] = {
#define INTENT_NAME(constant, id, name_zh) {id, name_zh},
            INTENTS(INTENT_NAME)
#undef INTENT_NAME
    };
    const char *id = fit_tool_intent(profile_fit(candidate->profile));
    for (size_t i = 0; id != NULL && i < ARRAY_LENGTH(names); i++) {
        if (strcmp(id, names[i].id) == 0) {
            buf_add_text(out, chinese ? names[i].name_zh : id);
        }
    }
}

/* "from and to": what a call needs, or nothing. */
static void add_required(struct buf *out, const struct which_candidate *candidate, bool chinese) {
    const struct parameters *parameters = profile_parameters(candidate->profile);
    size_t left = 0;
    for (size_t i = 0; i < parameters->count; i++) {
        left += parameters->list[i].must;
    }
    for (size_t i = 0; i < parameters->count; i++) {
        if (parameters->list[i].must) {
            const char *name = parameters->list[i].name;
            author_add_name(out, name, strlen(name), chinese);
            left--;
            buf_add_text(out, left == 0  ? ""
                              : left > 1 ? (chinese ? "、" : ", ")
                              : chinese  ? "和"
                                         : " and ");
        }
    }
}

typedef void add_aspect(struct buf *out, const struct which_candidate *candidate, bool chinese);

/* Whether each candidate has something of an aspect, and none the same as another. */
static bool differs(add_aspect *add, const struct which_candidate *candidates, size_t count) {
    struct buf said[ASKED_MAX] = {BUF_INIT, BUF_INIT, BUF_INIT};
    bool is_different = true;
    for (size_t i = 0; i < count; i++) {
        add(&said[i], &candidates[i], false);
        is_different = is_different && !said[i].failed && said[i].length > 0;
        for (size_t k = 0; is_different && k < i; k++) {
            is_different = said[i].length != said[k].length ||
                           memcmp(said[i].data, said[k].data, said[i].length) != 0;
        }
    }
    for (size_t i = 0; i < count; i++) {
        buf_finish(&said[i]);
    }
    return is_different;
}

/* What the candidates differ by, and how it is asked for. */
static const struct aspect {
    add_aspect *add; /* NULL: by what they are for */
    const char *question;
    const char *question_zh;
} aspects[] = {
        {add_intent, "What is to be done: ", "要做什么："},
        {add_required, "What is given: ", "有什么："},
        {NULL, "Which is meant: ", "要用哪一个："},
};

static const struct aspect *find_aspect(const struct which_candidate *candidates, size_t count) {
    const struct aspect *aspect = aspects;
    while (aspect->add != NULL && !differs(aspect->add, candidates, count)) {
        aspect++;
    }
    return aspect;
}

/* "read (NAME: what it does)", or "NAME (what it does)" where nothing else tells them apart. */
static void add_tool(struct buf *out, const struct which_candidate *candidate, add_aspect *add,
                     bool chinese) {
    const char *name = candidate->texts->name != NULL ? candidate->texts->name : "?";
    CLEANUP(buf_finish) struct buf purpose = BUF_INIT;
    add_purpose(&purpose, candidate->texts, chinese);
    if (add != NULL) {
        add(out, candidate, chinese);
    } else {
        buf_add_text(out, name);
    }
    out->failed = out->failed || purpose.failed;
    if (add == NULL && purpose.length == 0) {
        return;
    }
    buf_add_text(out, chinese ? "（" : " (");
    buf_add_text(out, add != NULL ? name : "");
    buf_add_text(out, add == NULL || purpose.length == 0 ? "" : chinese ? "：" : ": ");
    if (purpose.length > 0) {
        buf_add(out, purpose.data, purpose.length);
    }
    buf_add_text(out, chinese ? "）" : ")");
}

/* Nothing is near: ask for what the text does not say. */
static const char *ask_openly(const struct fit_wish *wish, bool chinese) {
    if (wish->words->count == 0) {
        return chinese ? "想做什么？" : "What is to be done?";
    }
    if (wish->intent_count == 0) {
        return chinese ? "具体想做什么操作，例如读取、搜索、创建还是计算？"
                       : "What exactly is to be done, for example read, search, create or compute?";
    }
    return chinese ? "能换一种说法，或者说明对象是什么吗？"
                   : "What is it to be done with, in other words?";
}

int which_ask(const struct fit_wish *wish, const struct which_candidate *candidates, size_t count,
              char **ret, struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    bool chinese = is_chinese(wish->words);
    count = count_rivals(candidates, count);
    if (count == 0) {
        buf_add_text(&out, ask_openly(wish, chinese));
    } else if (count == 1) {
        buf_add_text(&out, chinese ? "是要用 " : "Is this meant: ");
        add_tool(&out, &candidates[0], NULL, chinese);
        buf_add_text(&out, chinese ? " 吗？" : "?");
    } else {
        const struct aspect *aspect = find_aspect(candidates, count);
        buf_add_text(&out, chinese ? aspect->question_zh : aspect->question);
        for (size_t i = 0; i < count; i++) {
            const char *last = chinese ? "，还是 " : count > 2 ? ", or " : " or ";
            buf_add_text(&out, i == 0 ? "" : i + 1 == count ? last : chinese ? "，" : ", ");
            add_tool(&out, &candidates[i], aspect->add, chinese);
        }
        buf_add_text(&out, chinese ? "？" : "?");
    }
    *ret = buf_steal(&out);
    return *ret != NULL ? 0 : error_oom(err);
}

/* The command is told without the places of the host: the text may be one of who is elsewhere. */
int which_held(const struct fit_wish *wish, const char *tool, bool enabled, char **ret,
               struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    const char *verb = enabled ? "why" : "enable";
    if (is_chinese(wish->words)) {
        buf_printf(&out, "合适的工具是 %s，但它%s：toolrack %s %s", tool,
                   enabled ? "现在不能运行。原因和解决办法" : "已被禁用。启用它的命令", verb, tool);
    } else {
        buf_printf(&out, "%s would fit, and %s: toolrack %s %s", tool,
                   enabled ? "cannot run now; why, and what changes that"
                           : "is disabled; this enables it",
                   verb, tool);
    }
    *ret = buf_steal(&out);
    return *ret != NULL ? 0 : error_oom(err);
}

int which_ask_instead(const struct fit_wish *wish, char **ret, struct toolrack_error *err) {
    *ret = strdup(is_chinese(wish->words) ? "那就不做。要改做什么吗？"
                                          : "So this is not to be done. What is, instead?");
    return *ret != NULL ? 0 : error_oom(err);
}

int which_ask_opposite(const struct fit_wish *wish, const struct deeds_wanted *wanted,
                       const char *tool, char **ret, struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    CLEANUP(buf_finish) struct buf verb = BUF_INIT;
    const struct word *words = wish->words->items;
    size_t start = words[wanted->at].start;
    text_add_line(&verb, wish->text + start, words[wanted->last].end - start);
    if (verb.failed) {
        return error_oom(err);
    }
    if (is_chinese(wish->words)) {
        buf_printf(&out, "没有能“%s”的工具：%s 做的是别的。要改做什么吗？", verb.data, tool);
    } else {
        buf_printf(
                &out,
                "No tool here is for \"%s\": %s does something else. What is to be done instead?",
                verb.data, tool);
    }
    *ret = buf_steal(&out);
    return *ret != NULL ? 0 : error_oom(err);
}

int which_ask_wanted(const struct fit_wish *wish, const char *tool, char **ret,
                     struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    if (is_chinese(wish->words)) {
        buf_printf(&out, "这是在询问或陈述，而 %s 会做出改变。要执行吗？", tool);
    } else {
        buf_printf(&out, "This asks or tells, and %s would change something. Is it to be done?",
                   tool);
    }
    *ret = buf_steal(&out);
    return *ret != NULL ? 0 : error_oom(err);
}
