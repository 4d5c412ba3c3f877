/* scene.h - what a sentence or a tool is about: step 1.
 *
 * Words of lexicon/scenes.txt, and paths, URLs and e-mail addresses, speak for scenes, in English
 * and Chinese. An administrator may add scenes of his own, or words to those there are. */
#pragma once

#include "choose/label.h"
#include "choose/tool-words.h"

/** Every scene. X(constant, id, Chinese name) */
#define SCENES(X)                                         \
    X(BUSINESS, "business", "商业管理")                   \
    X(CALENDAR, "calendar", "日程时间")                   \
    X(CLOUD, "cloud", "云服务")                           \
    X(COMMUNICATION, "communication", "通信联络")         \
    X(DATA_ANALYSIS, "data_analysis", "数据分析")         \
    X(DEVELOPMENT, "development", "软件开发")             \
    X(EDUCATION, "education", "教育学习")                 \
    X(ENTERTAINMENT, "entertainment", "娱乐休闲")         \
    X(ENVIRONMENT, "environment", "环境生态")             \
    X(FILE_OPERATIONS, "file_operations", "文件操作")     \
    X(FINANCE, "finance", "金融财务")                     \
    X(FOOD, "food", "餐饮美食")                           \
    X(HEALTH, "health", "健康医疗")                       \
    X(HOUSING, "housing", "房产家居")                     \
    X(KNOWLEDGE, "knowledge", "知识问答")                 \
    X(LAW, "law", "法律事务")                             \
    X(MAPS, "maps", "地图位置")                           \
    X(MATH, "math", "数学计算")                           \
    X(MEDIA_PROCESSING, "media_processing", "媒体处理")   \
    X(NETWORK_REQUESTS, "network_requests", "网络请求")   \
    X(SCIENCE, "science", "科学研究")                     \
    X(SECURITY, "security", "安全防护")                   \
    X(SHOPPING, "shopping", "购物消费")                   \
    X(SMART_HOME, "smart_home", "智能家居")               \
    X(SOCIAL_MEDIA, "social_media", "社交媒体")           \
    X(SPORTS, "sports", "体育运动")                       \
    X(SYSTEM_OPERATIONS, "system_operations", "系统操作") \
    X(TEXT_PROCESSING, "text_processing", "文本处理")     \
    X(TRAVEL, "travel", "旅行出行")                       \
    X(WEATHER, "weather", "天气查询")

enum scene {
#define SCENE_CONSTANT(constant, id, name_zh) SCENE_##constant,
    SCENES(SCENE_CONSTANT)
#undef SCENE_CONSTANT
            SCENE_COUNT
};

/* Most scenes and words that an administrator may add, and bytes of an id with its final zero. */
#define SCENES_ADDED_MAX       64u
#define SCENES_ADDED_WORDS_MAX 1024u
#define SCENE_ID_MAX           64u

/* From this score on it is certain what a text or a tool is about. */
#define SCENE_CERTAIN 0.5

/** A scene that an administrator adds, or to which he adds words. */
struct scene_row {
    const char *id;      /**< lower-case letters, digits and "_" */
    const char *name_zh; /**< NULL: the id; of no use for a scene that there is */
    const char *words;   /**< separated by commas */
};

struct scenes;

/** The scenes that there are and those of an administrator.
 * @param rows  borrowed, copied
 * @param ret   to be released with scenes_destroy()
 * @return 0; TOOLRACK_E_INVALID for a malformed id or a row without a word;
 * TOOLRACK_E_LIMIT_EXCEEDED; TOOLRACK_E_NO_MEMORY. [any-thread] */
int scenes_create(const struct scene_row *rows, size_t count, struct scenes **ret,
                  struct toolrack_error *err);
/** NULL is ignored. [any-thread] */
void scenes_destroy(struct scenes *scenes);

/** The scenes of a text, the most certain first.
 * @param text    the one that `words` was read of
 * @param scenes  NULL: only those of the host; ids and names in `ret` are borrowed from it
 * @return how many there are: `room` at most. [any-thread] */
size_t scene_find(const char *text, size_t length, const struct words *words,
                  const struct scenes *scenes, struct label *ret, size_t room);

/** The scenes of a tool, by its category, tags, scenarios, name, title and description.
 * @return how many there are: `room` at most. [any-thread] */
size_t scene_of_tool(const struct tool_words *tool, const struct scenes *scenes, struct label *ret,
                     size_t room);
