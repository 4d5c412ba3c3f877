/* intent.h - what a sentence wants done: step 2.
 *
 * Words of lexicon/intents.txt speak for intents, in English and Chinese. Where a word stands says
 * whether it is meant: "please update the list" wants an update, "the update" and "do not update"
 * do not, and of "find the file and delete it" the first comes first. */
#pragma once

#include "choose/label.h"
#include "choose/tool-words.h"

/** Every intent. X(constant, id, Chinese name) */
#define INTENTS(X)                    \
    X(ANALYZE, "analyze", "分析")     \
    X(BOOK, "book", "预订")           \
    X(BUY, "buy", "购买")             \
    X(COMPARE, "compare", "比较")     \
    X(COMPUTE, "compute", "计算")     \
    X(CONNECT, "connect", "连接")     \
    X(CONTROL, "control", "控制")     \
    X(CONVERT, "convert", "转换")     \
    X(COPY, "copy", "复制")           \
    X(CREATE, "create", "创建")       \
    X(DELETE, "delete", "删除")       \
    X(DOWNLOAD, "download", "下载")   \
    X(EXPLAIN, "explain", "解释")     \
    X(EXTRACT, "extract", "提取")     \
    X(LIST, "list", "列出")           \
    X(MONITOR, "monitor", "监控")     \
    X(MOVE, "move", "移动")           \
    X(PLAY, "play", "播放")           \
    X(READ, "read", "读取")           \
    X(RECOMMEND, "recommend", "推荐") \
    X(RUN, "run", "运行")             \
    X(SEARCH, "search", "搜索")       \
    X(SEND, "send", "发送")           \
    X(SUMMARIZE, "summarize", "总结") \
    X(UPDATE, "update", "更新")       \
    X(WRITE, "write", "写入")

enum intent {
#define INTENT_CONSTANT(constant, id, name_zh) INTENT_##constant,
    INTENTS(INTENT_CONSTANT)
#undef INTENT_CONSTANT
            INTENT_COUNT
};

/** The intents of a text, the most certain first.
 * @return how many there are: `room` at most. [any-thread] */
size_t intent_find(const struct words *words, struct label *ret, size_t room);

/** What a tool does, by its name, title and the first sentence of its description.
 * @return how many there are: `room` at most. [any-thread] */
size_t intent_of_tool(const struct tool_words *tool, struct label *ret, size_t room);

/** Whether a word is a verb that says what is wanted, by the lexicon and by where it stands.
 * [any-thread] */
bool intent_is_verb(const struct words *words, size_t at);

/** Whether words that are a verb are an order or a wish there: "delete it", not "the search" nor
 * "don't search". [any-thread] */
bool intent_is_wanted(const struct words *words, size_t at);

/** How many things a text wants done, one after the other: clauses with a verb of their own; 1 at
 * least. [any-thread] */
unsigned intent_steps(const struct words *words);
