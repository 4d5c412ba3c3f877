/* What a sentence is about and what it wants done: steps 1 and 2 of choosing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "choose/intent.h"
#include "choose/scene.h"

#include <cmocka.h>

#define ROOM 8u

/* Asserts stop the program: what a test that failed holds is lost with it. */
static struct words words;
static struct label found[ROOM];

static size_t find_scenes(const char *text, const struct scenes *scenes) {
    words_finish(&words);
    assert_int_equal(words_read(text, strlen(text), &words, NULL), 0);
    return scene_find(text, strlen(text), &words, scenes, found, ROOM);
}

static size_t find_intents(const char *text) {
    words_finish(&words);
    assert_int_equal(words_read(text, strlen(text), &words, NULL), 0);
    return intent_find(&words, found, ROOM);
}

static void assert_first(const char *text, const char *what, size_t count, const char *expected) {
    const char *first = count > 0 ? found[0].id : "none";
    if (strcmp(first, expected) != 0) {
        print_error("%s of \"%s\" is %s, not %s\n", what, text, first, expected);
        fail();
    }
}

/* ------------------------------------------------------------- sentences */

static const struct {
    const char *text;
    const char *scene;
    const char *intent;
} sentences[] = {
        {"读取文件 /tmp/a.txt 的内容", "file_operations", "read"},
        {"Read the file /etc/hosts", "file_operations", "read"},
        {"Delete all the log files in that folder", "file_operations", "delete"},
        {"把桌面上的文件夹删除掉", "file_operations", "delete"},
        {"新建一个文件夹", "file_operations", "create"},
        {"Copy notes.txt to ~/backup", "file_operations", "copy"},
        {"把 report.docx 移到归档目录", "file_operations", "move"},
        {"Send a GET request to https://example.com/api", "network_requests", "send"},
        {"下载这个网页", "network_requests", "download"},
        {"Compute the median and the standard deviation of this dataset", "data_analysis",
         "compute"},
        {"分析这份销售数据的趋势", "data_analysis", "analyze"},
        {"Convert the video to mp4", "media_processing", "convert"},
        {"把这张图片缩放到一半", "media_processing", "convert"},
        {"What is the CPU usage of this machine?", "system_operations", "read"},
        {"重启系统服务进程", "system_operations", "run"},
        {"Email Anna that I am late", "communication", "send"},
        {"给小王发一封邮件", "communication", "send"},
        {"Will it rain in Paris tomorrow?", "weather", "read"},
        {"北京明天天气怎么样", "weather", "read"},
        {"Translate this sentence into French", "text_processing", "convert"},
        {"把这句话翻译成英文", "text_processing", "convert"},
        {"Turn off the lights in the kitchen", "smart_home", "control"},
        {"打开客厅的空调", "smart_home", "control"},
        {"打開客廳的燈", "smart_home", "control"},
        {"Book a flight from Boston to Rome", "travel", "book"},
        {"预订一间酒店房间", "travel", "book"},
        {"Find restaurants that have vegan food", "food", "search"},
        {"推荐几家好吃的餐厅", "food", "recommend"},
        {"Remind me of the meeting on Monday", "calendar", "send"},
        {"How much is 15 percent of 80?", "math", "compute"},
        {"计算 3 和 5 的平方根之和", "math", "compute"},
        {"Compare the share prices of the two stocks", "finance", "compare"},
        {"把 100 美元换算成人民币", "finance", "convert"},
        {"Summarize this article", "text_processing", "summarize"},
        {"Update the pull request on GitHub", "development", "update"},
        {"Play some music", "entertainment", "play"},
        {"List all the commits of the branch", "development", "list"},
};

static void a_sentence_has_a_scene_and_an_intent(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(sentences); i++) {
        const char *text = sentences[i].text;
        assert_first(text, "the scene", find_scenes(text, NULL), sentences[i].scene);
        assert_first(text, "the intent", find_intents(text), sentences[i].intent);
    }
}

static void a_label_has_its_chinese_name_a_score_and_its_words(void **state) {
    (void)state;
    const char *text = "读取文件 /tmp/a.txt 的内容";
    assert_true(find_scenes(text, NULL) > 0);
    assert_string_equal(found[0].name_zh, "文件操作");
    assert_true(found[0].score > 0.5 && found[0].score < 1);
    bool has_path = false;
    bool has_word = false;
    for (size_t i = 0; i < found[0].reason_count; i++) {
        const struct label_reason *reason = &found[0].reasons[i];
        size_t length = reason->end - reason->start;
        has_path |= length == strlen("/tmp/a.txt") &&
                    memcmp(text + reason->start, "/tmp/a.txt", length) == 0;
        has_word |= length == strlen("文件") && memcmp(text + reason->start, "文件", length) == 0;
    }
    assert_true(has_path);
    assert_true(has_word);
    assert_true(find_intents(text) > 0);
    assert_string_equal(found[0].name_zh, "读取");
}

static void what_says_nothing_has_no_scene(void **state) {
    (void)state;
    static const char *const texts[] = {"", "   ", "...", "qwrtz", "\xff\xfe\x80", "的了"};
    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
        assert_int_equal(find_scenes(texts[i], NULL), 0);
        assert_int_equal(find_intents(texts[i]), 0);
    }
}

static void a_word_counts_once(void **state) {
    (void)state;
    assert_true(find_scenes("weather", NULL) == 1);
    double once = found[0].score;
    assert_true(find_scenes("weather weather weather weather weather", NULL) == 1);
    assert_true(found[0].score <= once);
}

static void a_url_and_an_address_speak_for_scenes(void **state) {
    (void)state;
    assert_first("URL", "the scene", find_scenes("gopher://example.org/x", NULL),
                 "network_requests");
    assert_first("address", "the scene", find_scenes("anna@example.org", NULL), "communication");
    assert_first("path", "the scene", find_scenes("~/x", NULL), "file_operations");
    assert_int_equal(find_scenes("and/or 1/2", NULL), 0);
}

/* --------------------------------------------------------------- intents */

static void where_a_word_stands_says_whether_it_is_wanted(void **state) {
    (void)state;
    static const struct {
        const char *text;
        const char *intent;
    } cases[] = {
            {"Show me the update", "read"},
            {"Please update the copy", "update"},
            {"Do not delete it, copy it", "copy"},
            {"不要删除，复制一份", "copy"},
            {"Find the file and delete it", "search"},
            {"Delete the file \"find me\"", "delete"},
            {"I want you to send the search results", "send"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        assert_first(cases[i].text, "the intent", find_intents(cases[i].text), cases[i].intent);
    }
}

static unsigned steps_of(const char *text) {
    (void)find_intents(text);
    return intent_steps(&words);
}

static void steps_are_clauses_with_a_verb(void **state) {
    (void)state;
    assert_int_equal(steps_of("Convert the video"), 1);
    assert_int_equal(steps_of("Download the page. Translate it. Send me the result."), 3);
    assert_int_equal(steps_of("下载网页。翻译一下"), 2);
    assert_int_equal(steps_of(""), 1);
}

/* ----------------------------------------------------------------- tools */

static void a_tool_has_scenes_and_intents(void **state) {
    (void)state;
    struct tool_words tool;
    struct index_document document = {.name = "delete_file",
                                      .description = "Removes a file. It is not sent anywhere.",
                                      .category = "files"};
    assert_int_equal(tool_words_read(&document, NULL, &tool, NULL), 0);
    assert_true(scene_of_tool(&tool, NULL, found, ROOM) > 0);
    assert_string_equal(found[0].id, "file_operations");
    size_t count = intent_of_tool(&tool, found, ROOM);
    assert_true(count > 0);
    assert_string_equal(found[0].id, "delete");
    for (size_t i = 0; i < count; i++) {
        assert_string_not_equal(found[i].id, "send"); /* not of the first sentence */
    }
    tool_words_finish(&tool);
}

static void labels_agree_where_they_are_the_same(void **state) {
    (void)state;
    struct label weather = {.id = "weather", .score = 0.6};
    struct label both[] = {{.id = "travel", .score = 0.8}, {.id = "weather", .score = 0.4}};
    assert_true(label_agreement(&weather, 1, &weather, 1) > 0.99);
    double partly = label_agreement(&weather, 1, both, 2);
    assert_true(partly > 0.45 && partly < 0.55);
    assert_true(label_agreement(&weather, 1, both, 1) < 0.01);
    double unknown = label_agreement(&weather, 1, NULL, 0);
    assert_true(unknown > 0.49 && unknown < 0.51);
}

/* --------------------------------------------------------- administrators */

static void an_administrator_adds_scenes_and_words(void **state) {
    (void)state;
    static const struct scene_row rows[] = {
            {"brewing", "酿造", "mash tun, hops, 麦芽"},
            {"weather", NULL, "barometer"},
    };
    struct scenes *scenes = NULL;
    assert_int_equal(scenes_create(rows, ARRAY_LENGTH(rows), &scenes, NULL), 0);
    assert_first("hops", "the scene", find_scenes("Add more hops", scenes), "brewing");
    assert_string_equal(found[0].name_zh, "酿造");
    assert_first("tun", "the scene", find_scenes("Clean the mash tun", scenes), "brewing");
    assert_first("malt", "the scene", find_scenes("称一点麦芽", scenes), "brewing");
    assert_first("added word", "the scene", find_scenes("read the barometer", scenes), "weather");
    assert_first("others", "the scene", find_scenes("Convert the video", scenes),
                 "media_processing");
    assert_int_equal(find_scenes("hops", NULL), 0);
    scenes_destroy(scenes);
}

static void an_added_scene_that_is_malformed_is_refused(void **state) {
    (void)state;
    static const struct {
        struct scene_row row;
        int code;
        const char *message;
    } cases[] = {
            {{"Brewing", "x", "hops"},
             TOOLRACK_E_INVALID,
             "'Brewing' is no id of a scene; use lower-case letters, digits and '_'"},
            {{"", "x", "hops"},
             TOOLRACK_E_INVALID,
             "'' is no id of a scene; use lower-case letters, digits and '_'"},
            {{"brewing", "x", ", ,"},
             TOOLRACK_E_INVALID,
             "scene 'brewing' has no words; list some"},
            {{"brewing", "x", NULL}, TOOLRACK_E_INVALID, "scene 'brewing' has no words; list some"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct toolrack_error err;
        struct scenes *scenes = NULL;
        assert_int_equal(scenes_create(&cases[i].row, 1, &scenes, &err), cases[i].code);
        assert_string_equal(err.message, cases[i].message);
        assert_null(scenes);
    }
}

static void added_scenes_have_limits(void **state) {
    (void)state;
    static char ids[SCENES_ADDED_MAX + 1][SCENE_ID_MAX];
    static struct scene_row rows[SCENES_ADDED_MAX + 1];
    struct toolrack_error err;
    struct scenes *scenes = NULL;
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        (void)snprintf(ids[i], sizeof ids[i], "scene_%zu", i);
        rows[i] = (struct scene_row){ids[i], "x", ids[i]};
    }
    assert_int_equal(scenes_create(rows, SCENES_ADDED_MAX, &scenes, NULL), 0);
    scenes_destroy(scenes);
    scenes = NULL;
    assert_int_equal(scenes_create(rows, SCENES_ADDED_MAX + 1, &scenes, &err),
                     TOOLRACK_E_LIMIT_EXCEEDED);
    assert_string_equal(err.message, "more than 64 scenes were added; remove some");
    static char many[(SCENES_ADDED_WORDS_MAX + 1) * 8];
    for (size_t i = 0; i <= SCENES_ADDED_WORDS_MAX; i++) {
        (void)snprintf(many + strlen(many), sizeof many - strlen(many), "w%zu,", i);
    }
    rows[0].words = many;
    assert_int_equal(scenes_create(rows, 1, &scenes, &err), TOOLRACK_E_LIMIT_EXCEEDED);
    assert_string_equal(err.message, "more than 1024 words were added to scenes; remove some");
}

/* --------------------------------------------------------------- lexicons */

static void assert_lexicon(const struct lexicon *lexicon, const struct label_name *ids,
                           size_t count) {
    static bool has[LABELS_MAX];
    memset(has, 0, sizeof has);
    const struct label_names names = {.items = ids, .count = count};
    for (size_t i = 0; i < lexicon->count; i++) {
        const char *value = lexicon_value(lexicon, &lexicon->rows[i]);
        size_t length = strcspn(value, "\t");
        size_t at = label_place(&names, value, length);
        if (at == count || value[length] == '\0' || value[length + 1] < '1' ||
            value[length + 1] > '0' + (int)LABEL_WEIGHT_MAX || value[length + 2] != '\0') {
            fail_msg("the line of '%s' is '%s'", lexicon_key(lexicon, &lexicon->rows[i]), value);
        }
        has[at] = true;
    }
    for (size_t i = 0; i < count; i++) {
        if (!has[i]) {
            fail_msg("%s has no words", ids[i].id);
        }
    }
}

static void the_lexicons_have_words_for_every_label_and_no_others(void **state) {
    (void)state;
#define NAME(constant, id, name_zh) {id, name_zh},
    static const struct label_name scenes[] = {SCENES(NAME)};
    static const struct label_name intents[] = {INTENTS(NAME)};
#undef NAME
    assert_lexicon(&lexicon_scenes, scenes, SCENE_COUNT);
    assert_lexicon(&lexicon_intents, intents, INTENT_COUNT);
}

static int forget(void **state) {
    (void)state;
    words_finish(&words);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(a_sentence_has_a_scene_and_an_intent),
            cmocka_unit_test(a_label_has_its_chinese_name_a_score_and_its_words),
            cmocka_unit_test(what_says_nothing_has_no_scene),
            cmocka_unit_test(a_word_counts_once),
            cmocka_unit_test(a_url_and_an_address_speak_for_scenes),
            cmocka_unit_test(where_a_word_stands_says_whether_it_is_wanted),
            cmocka_unit_test(steps_are_clauses_with_a_verb),
            cmocka_unit_test(a_tool_has_scenes_and_intents),
            cmocka_unit_test(labels_agree_where_they_are_the_same),
            cmocka_unit_test(an_administrator_adds_scenes_and_words),
            cmocka_unit_test(an_added_scene_that_is_malformed_is_refused),
            cmocka_unit_test(added_scenes_have_limits),
            cmocka_unit_test(the_lexicons_have_words_for_every_label_and_no_others),
    };
    return cmocka_run_group_tests(tests, NULL, forget);
}
