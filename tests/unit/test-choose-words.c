/* A text as words: where names are split, what is one word in two spellings, which words say
 * nothing, where a wish ends; stems; and what the lexicons know. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "choose/actions.h"
#include "choose/clauses.h"
#include "choose/orders.h"
#include "choose/rareness.h"
#include "choose/stem.h"
#include "choose/turns.h"
#include "choose/words.h"
#include "failing-malloc.h"

/* Reading a text of a megabyte takes a few milliseconds of a processor; a build with sanitizers
 * takes longer. */
#define LONG_TEXT    1000000u
#define LONG_TEXT_MS 2000u

enum shown { TEXTS, STEMS, PLACES, MARKS, CLAUSES };

static void show_word(const struct word *word, enum shown what, char *to, size_t room) {
    switch (what) {
    case TEXTS: (void)snprintf(to, room, "%.*s", word->text_length, word->text); break;
    case STEMS: (void)snprintf(to, room, "%.*s", word->stem_length, word->stem); break;
    case PLACES: (void)snprintf(to, room, "%u-%u", word->start, word->end); break;
    case CLAUSES: (void)snprintf(to, room, "%u.%u", word->clause, word->part); break;
    case MARKS:
        (void)snprintf(to, room, "%.*s%s%s%s", word->text_length, word->text, word->stop ? "-" : "",
                       word->joined ? "+" : "", word->quoted ? "'" : "");
        break;
    }
}

/* What words_read() makes of a text, with spaces between the words. */
static void assert_words(const char *text, enum shown what, const char *expected) {
    char all[1024] = "";
    struct words words;
    assert_int_equal(words_read(text, strlen(text), &words, NULL), 0);
    for (size_t i = 0; i < words.count; i++) {
        char one[128];
        show_word(&words.items[i], what, one, sizeof one);
        (void)strncat(all, i > 0 ? " " : "", sizeof all - strlen(all) - 1);
        (void)strncat(all, one, sizeof all - strlen(all) - 1);
    }
    words_finish(&words);
    assert_string_equal(all, expected);
}

static void names_are_split(void **state) {
    (void)state;
    assert_words("readFile", TEXTS, "read file");
    assert_words("read_file-now.txt", TEXTS, "read file now txt");
    assert_words("HTTPServer", TEXTS, "http server");
    assert_words("parseURLs getIDs", TEXTS, "parse urls get ids");
    assert_words("mp3ToWav 5G", TEXTS, "mp 3 to wav 5 g");
    assert_words("don't", TEXTS, "don t");
    assert_words("", TEXTS, "");
    assert_words(" \t-_-  \n", TEXTS, "");
}

static void spellings_are_one(void **state) {
    (void)state;
    assert_words("Caf\xc3\xa9 CAFE\xcc\x81 cafe", TEXTS, "cafe cafe cafe");
    assert_words("\xef\xbc\xa1\xef\xbd\x82\xef\xbc\x93", TEXTS, "ab 3");
    assert_words("\xd0\x96\xd0\xb8 \xce\xa9", TEXTS, "\xd0\xb6\xd0\xb8 \xcf\x89");
    assert_words("a\xe2\x80\x8b"
                 "b \xc2\xad"
                 "c",
                 TEXTS, "ab c");
    assert_words("開門", TEXTS, "开 门");
    assert_words("colours centres", STEMS, "color center");
}

static void a_word_knows_its_place(void **state) {
    (void)state;
    assert_words("ab, readFile 读取", PLACES, "0-2 4-8 8-12 13-16 16-19");
    assert_words("\xff x\xe4\xb8 y\xf0\x9f\x98\x80z", PLACES, "2-3 6-7 11-12");
}

static void words_without_meaning_are_marked(void **state) {
    (void)state;
    assert_words("please show me the files", MARKS, "please- show- me- the- files");
    assert_words("请帮我打开文件", MARKS, "请- 帮-+ 我-+ 打+ 开+ 文+ 件+");
    assert_words("turn the light on, on time", MARKS, "turn the- light on on- time");
    assert_words("write \"the end\" to real-time", MARKS, "write the-' end' to- real time+");
    assert_words("read /tmp/a.txt or notes.txt", MARKS, "read tmp' a-' txt' or- notes txt");
    assert_words("open https://a.org/b, mail me@a.org", MARKS,
                 "open https' a-' org' b' mail me-' a-' org'");
    assert_words("remind me to call. Then go", MARKS, "remind me- to- call' then- go-");
    assert_words("say it, saying I am late", MARKS, "say it- saying i- am-' late'");
    assert_words("提醒我打电话。好", MARKS, "提 醒+ 我-+ 打+' 电+' 话+' 好");
    assert_words("it is 5\" wide", MARKS, "it- is- 5 wide");
}

static void wishes_are_told_apart(void **state) {
    (void)state;
    assert_words("read a.txt. Then send it", CLAUSES, "0.0 0.0 0.0 1.1 1.1 1.1");
    assert_words("buy milk, bread and eggs", CLAUSES, "0.0 0.0 0.1 0.2 0.2");
    assert_words("add 1.5 and 2,000", CLAUSES, "0.0 0.0 0.0 0.1 0.1 0.1");
    assert_words("查天气，然后发邮件", CLAUSES, "0.0 0.0 0.0 1.1 1.1 1.1 1.1 1.1");
    assert_words("!!! a ... b", CLAUSES, "0.0 1.1");
}

static void stems_are_porters(void **state) {
    (void)state;
    assert_words("files file translations translate translator deleting deleted delete", STEMS,
                 "file file translat translat translat delet delet delet");
    assert_words("planned making agreed hopes status weather us queries", STEMS,
                 "plan make agre hope status weather us queri");
    assert_words("children women bought summarize summary pics", STEMS,
                 "child woman bui summari summari pictur");
}

/* As stem_english() is given words of one letter, and of no letters. */
static void short_words_have_no_endings(void **state) {
    (void)state;
    char stem[8];
    assert_int_equal(stem_english("s", 1, stem), 1);
    assert_int_equal(stem_english("is", 2, stem), 2);
    assert_int_equal(stem_english("x2s", 3, stem), 3);
    assert_int_equal(stem_english("ied", 3, stem), 1);
    assert_int_equal(stem_english("eed", 3, stem), 1);
    assert_int_equal(stem_english("ing", 3, stem), 3);
}

/* ---------------------------------------------------------------- lexicons */

static size_t match(const char *text, size_t at, const struct lexicon *lexicon,
                    const char **ret_value) {
    CLEANUP(words_finish) struct words words = {0};
    const struct lexicon_row *row;
    size_t rows = 0;
    assert_int_equal(words_read(text, strlen(text), &words, NULL), 0);
    size_t length = words_match(&words, at, lexicon, &row, &rows);
    *ret_value = length > 0 ? lexicon_value(lexicon, row) : "";
    return length;
}

static void the_longest_key_is_found(void **state) {
    (void)state;
    const char *value;
    assert_int_equal(match("天气预报", 0, &lexicon_glossary, &value), 4);
    assert_string_equal(value, "weather forecast");
    assert_int_equal(match("天氣", 0, &lexicon_glossary, &value), 2);
    assert_string_equal(value, "weather");
    assert_int_equal(match("the Weather", 1, &lexicon_glossary_back, &value), 1);
    assert_non_null(strstr(value, "天气"));
    assert_int_equal(match("xyzzy", 0, &lexicon_glossary_back, &value), 0);
    assert_int_equal(match("turning on", 0, &lexicon_actions, &value), 2);
    assert_int_equal(match("turn. on", 0, &lexicon_actions, &value), 0);
}

/* A key of the file and the same words in a text are one; rows are sorted, as is searched. */
static void tables_are_in_order(void **state) {
    (void)state;
    static const struct lexicon *const lexicons[] = {
#define LEXICON_ADDRESS(name) &lexicon_##name,
            LEXICONS(LEXICON_ADDRESS)
#undef LEXICON_ADDRESS
    };
    for (size_t i = 0; i < ARRAY_LENGTH(lexicons); i++) {
        assert_true(lexicons[i]->count > 0);
        for (size_t r = 1; r < lexicons[i]->count; r++) {
            const char *before = lexicon_key(lexicons[i], &lexicons[i]->rows[r - 1]);
            assert_true(strcmp(before, lexicon_key(lexicons[i], &lexicons[i]->rows[r])) <= 0);
        }
    }
    assert_int_equal(lexicon_simplified(0x9580), 0x95e8); /* 門, 门 */
    assert_int_equal(lexicon_simplified('a'), 'a');
    assert_int_equal(lexicon_simplified(UINT32_MAX), UINT32_MAX);
}

static uint32_t actions_of(const char *text) {
    CLEANUP(words_finish) struct words words = {0};
    assert_int_equal(words_read(text, strlen(text), &words, NULL), 0);
    return actions_at(&words, 0);
}

static void actions_are_named(void **state) {
    (void)state;
    assert_int_equal(actions_of("delete it"), 1u << ACTION_DELETE);
    assert_int_equal(actions_of("turn off"), 1u << ACTION_STOP);
    assert_int_equal(actions_of("打开"), 1u << ACTION_START);
    assert_int_equal(actions_of("searching"), 1u << ACTION_READ | 1u << ACTION_SEARCH);
    assert_int_equal(actions_of("banana"), 0);
}

/* ------------------------------------------------------------------- turns */

static void assert_weights(const char *text, const char *words, uint32_t expected) {
    struct turns turns;
    turns_read(text, strlen(text), &turns);
    assert_non_null(strstr(text, words));
    assert_int_equal(turns_weight(&turns, (size_t)(strstr(text, words) - text)), expected);
}

static void the_last_wish_of_a_conversation_counts(void **state) {
    (void)state;
    const char *asked = "user: book a table\nassistant: For which day?\nuser: Friday";
    assert_weights(asked, "book", TURNS_ONE);
    assert_weights(asked, "which", 0);
    assert_weights(asked, "Friday", TURNS_ONE);
    const char *done = "user: book a table\nsystem: It is booked.\nUser: now call Ann";
    assert_weights(done, "call", TURNS_ONE);
    assert_weights(done, "booked", 0);
    struct turns turns;
    turns_read(done, strlen(done), &turns);
    assert_in_range(turns_weight(&turns, strlen("user: ")), 1, TURNS_ONE / 2);
    assert_weights("call the user: Ann", "Ann", TURNS_ONE);
    assert_weights("please\nuser: no conversation", "no", TURNS_ONE);
}

/* ------------------------------------------------------------------ limits */

static void what_few_have_says_more(void **state) {
    (void)state;
    assert_int_equal(rareness(0, 0), RARENESS_ONE);
    assert_true(rareness(1, 100) > rareness(2, 100));
    assert_true(rareness(99, 100) > rareness(100, 100));
    assert_in_range(rareness(100, 100), 0, 8);
    assert_int_equal(rareness(1, 47) / RARENESS_ONE, 5); /* 96 / 3 is 2^5 */
}

static void a_long_text_is_cut(void **state) {
    (void)state;
    CLEANUP(freep) char *text = malloc(LONG_TEXT);
    static const char *const patterns[] = {
            "a",       "a ", "\"",  "a.b,", "\xe4\xb8\xad", "(a+)+$", "\xf0\x9f\x98\x80",
            "user:\n", "aB", "\xff"};
    struct words words;
    struct turns turns;
    assert_non_null(text);
    clock_t begin = clock();
    for (size_t p = 0; p < ARRAY_LENGTH(patterns); p++) {
        for (size_t i = 0; i < LONG_TEXT; i++) {
            text[i] = patterns[p][i % strlen(patterns[p])];
        }
        assert_int_equal(words_read(text, LONG_TEXT, &words, NULL), 0);
        assert_in_range(words.count, 0, WORDS_MAX);
        assert_int_equal(words.cut, words.count == WORDS_MAX);
        assert_in_range(words.clauses, 0, WORDS_CLAUSES_MAX);
        words_finish(&words);
        turns_read(text, LONG_TEXT, &turns);
    }
    assert_in_range((clock() - begin) / (CLOCKS_PER_SEC / 1000), 0, LONG_TEXT_MS);
}

static void every_character_can_be_read(void **state) {
    (void)state;
    for (uint32_t point = 1; point < 0x110000; point += point < 0x30000 ? 1 : 97) {
        char text[8];
        size_t length = 0;
        if (point < 0x80) {
            text[length++] = (char)point;
        } else {
            size_t more = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
            text[length++] = (char)((0xf00 >> more & 0xff) | point >> 6 * more);
            while (more-- > 0) {
                text[length++] = (char)(0x80 | (point >> 6 * more & 0x3f));
            }
        }
        struct words words;
        assert_int_equal(words_read(text, length, &words, NULL), 0);
        assert_in_range(words.count, 0, length);
        words_finish(&words);
    }
}

static void without_memory_it_is_an_error(void **state) {
    (void)state;
    const char *text = "Read the files, and then delete the folders 打开文件";
    int code = -1;
    for (unsigned n = 1; code < 0; n++) {
        struct words words = {0};
        failing_malloc_set(n);
        code = words_read(text, strlen(text), &words, NULL);
        failing_malloc_set(0);
        assert_true(code == 0 || code == TOOLRACK_E_NO_MEMORY);
        words_finish(&words);
    }
}

/* The wishes of a text, with " | " between them; "<" before one that refers to the wish before. */
static void assert_wishes_with(const char *text, const struct orders_verbs *verbs,
                               const char *expected) {
    char all[512] = "";
    struct words words;
    struct orders wishes;
    struct clauses pieces;
    assert_int_equal(words_read(text, strlen(text), &words, NULL), 0);
    clauses_read(text, strlen(text), &words, NULL, &pieces);
    orders_read(text, &words, &pieces, verbs, &wishes);
    for (size_t i = 0; i < wishes.count; i++) {
        const struct order *wish = &wishes.items[i];
        size_t start = words.items[wish->begin].start;
        size_t end = words.items[wish->end - 1].end;
        assert_int_equal(wish->first, i == 0 ? 0 : wishes.items[i - 1].end);
        (void)strncat(all, i > 0 ? " | " : "", sizeof all - strlen(all) - 1);
        (void)strncat(all, wish->refers ? "<" : "", sizeof all - strlen(all) - 1);
        (void)strncat(all, text + start, end - start);
    }
    assert_int_equal(wishes.count > 0 ? wishes.items[wishes.count - 1].end : 0, words.count);
    words_finish(&words);
    assert_string_equal(all, expected);
}

static void assert_wishes(const char *text, const char *expected) {
    assert_wishes_with(text, NULL, expected);
}

static void several_wishes_are_told_apart(void **state) {
    (void)state;
    assert_wishes("add milk to the list and remind me tomorrow at 9",
                  "add milk to the list | remind me tomorrow at 9");
    assert_wishes("Turn off the TV, then please start the vacuum.",
                  "Turn off the TV | start the vacuum");
    assert_wishes("find the file a.txt and delete it", "find the file a.txt | <delete it");
    assert_wishes("delete a.txt. Also list the files", "delete a.txt | list the files");
    assert_wishes("what's the weather in Paris and what time is it in Tokyo?",
                  "what's the weather in Paris | what time is it in Tokyo");
    assert_wishes("打开厨房的灯，并把卧室温度调到21度", "打开厨房的灯 | 把卧室温度调到21度");
    assert_wishes("把牛奶加到购物清单，然后明天九点提醒我开会",
                  "把牛奶加到购物清单 | 明天九点提醒我开会");
}

/* A description says that its tool greets; of "light_set" only the name begins with "light". */
static void what_tools_say_they_do_is_a_verb(void **state) {
    (void)state;
    static const char *const of_tools[] = {"Greet", "light"};
    struct orders_verbs verbs = {.count = 0};
    for (size_t i = 0; i < ARRAY_LENGTH(of_tools); i++) {
        struct words words;
        assert_int_equal(words_read(of_tools[i], strlen(of_tools[i]), &words, NULL), 0);
        verbs.count += orders_verb_of(&words.items[0], i > 0, &verbs.items[verbs.count]);
        words_finish(&words);
    }
    assert_wishes("add a = 40 and b = 2, then greet Ann", "add a = 40 and b = 2, then greet Ann");
    assert_wishes_with("add a = 40 and b = 2, then greet Ann", &verbs,
                       "add a = 40 and b = 2 | greet Ann");
    assert_wishes_with("greet Ann and add 40 and 2", &verbs, "greet Ann | add 40 and 2");
    assert_wishes_with("add 40 and 2 and greet Ann", &verbs, "add 40 and 2 | greet Ann");
    assert_wishes_with("add milk and light beer to the list", &verbs,
                       "add milk and light beer to the list");
    assert_wishes_with("add milk to the list, then light the lamp", &verbs,
                       "add milk to the list | light the lamp");
}

static void one_wish_stays_whole(void **state) {
    (void)state;
    static const char *const texts[] = {
            "",
            "squash and merge PR 7",
            "find and replace foo",
            "add milk and eggs to the shopping list",
            "add a notebook and record to the list",
            "list the open and closed issues",
            "turn on the light or close the window",
            "remind me to buy milk and call mom",
            "post in #general: lunch is here, add plates. Close the door",
            "say \"stop and delete it\" to Bob",
            "show emails and notes",
            "添加牛奶和面包",
    };
    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
        assert_wishes(texts[i], texts[i]);
    }
}

static void wishes_beyond_the_limit_belong_to_the_last(void **state) {
    (void)state;
    char text[64 * 16] = "";
    struct words words;
    struct orders wishes;
    struct clauses pieces;
    for (size_t i = 0; i < 2 * (size_t)ORDERS_MAX; i++) {
        (void)strncat(text, "open the door. ", sizeof text - strlen(text) - 1);
    }
    assert_int_equal(words_read(text, strlen(text), &words, NULL), 0);
    clauses_read(text, strlen(text), &words, NULL, &pieces);
    orders_read(text, &words, &pieces, NULL, &wishes);
    assert_int_equal(wishes.count, ORDERS_MAX);
    assert_int_equal(wishes.items[ORDERS_MAX - 1].end, words.count);
    words_finish(&words);
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(names_are_split),
            cmocka_unit_test(spellings_are_one),
            cmocka_unit_test(a_word_knows_its_place),
            cmocka_unit_test(words_without_meaning_are_marked),
            cmocka_unit_test(wishes_are_told_apart),
            cmocka_unit_test(stems_are_porters),
            cmocka_unit_test(short_words_have_no_endings),
            cmocka_unit_test(the_longest_key_is_found),
            cmocka_unit_test(tables_are_in_order),
            cmocka_unit_test(actions_are_named),
            cmocka_unit_test(the_last_wish_of_a_conversation_counts),
            cmocka_unit_test(what_few_have_says_more),
            cmocka_unit_test(a_long_text_is_cut),
            cmocka_unit_test(every_character_can_be_read),
            cmocka_unit_test(without_memory_it_is_an_error),
            cmocka_unit_test(several_wishes_are_told_apart),
            cmocka_unit_test(what_tools_say_they_do_is_a_verb),
            cmocka_unit_test(one_wish_stays_whole),
            cmocka_unit_test(wishes_beyond_the_limit_belong_to_the_last),
    };
    return cmocka_run_group_tests_name("choose-words", tests, NULL, NULL);
}
