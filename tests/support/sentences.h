/* What a person asks the tools that every installation has, and what they cannot do: each sentence
 * with what is to come of it. The numbers in it do not depend on the network or the clock. */
#pragma once

#include <stddef.h>

struct sentence {
    const char *text;
    const char *tool;      /**< NULL: none can do it */
    const char *arguments; /**< compact JSON */
    const char *result;    /**< what a call prints, "*" for anything */
};

#define RATES(base)                                                                               \
    "{\"base\":\"" base                                                                           \
    "\",\"date\":null,\"rates\":[{\"currency\":\"USD\",\"rate\":1.0},{\"currency\":\"EUR\","      \
    "\"rate\":0.85},{\"currency\":\"GBP\",\"rate\":0.73},{\"currency\":\"JPY\",\"rate\":110.0}]}" \
    "\n"

static const struct sentence sentences[] = {
        {"convert 100 dollars to euros", "currency_convert",
         "{\"amount\":100,\"from_currency\":\"USD\",\"to_currency\":\"EUR\"}",
         "{\"amount\":100.0,*,\"result\":85.0,\"rate\":0.85}\n"},
        {"how much is 250 USD in yen?", "currency_convert",
         "{\"amount\":250,\"from_currency\":\"USD\",\"to_currency\":\"JPY\"}",
         "{\"amount\":250.0,*,\"result\":27500.0,\"rate\":110.0}\n"},
        {"which currencies are known", "currency_rates", "{}", RATES("USD")},
        {"列出支持的货币", "currency_rates", "{}", RATES("USD")},
        {"列出所有货币的汇率", "currency_rates", "{}", RATES("USD")},
        {"what day is it today", "get_current_time", "{}",
         "{\"timezone\":\"UTC\",\"datetime\":\"2*T*+00:00\",\"day_of_week\":\"*day\",*}\n"},
        {"what is the current time in Europe/Paris", "get_current_time",
         "{\"timezone\":\"Europe/Paris\"}",
         "{\"timezone\":\"Europe/Paris\",\"datetime\":\"2*T*+0*:00\",*}\n"},
        {"当前时间", "get_current_time", "{}",
         "{\"timezone\":\"UTC\",\"datetime\":\"2*T*+00:00\",*}\n"},
        {"what is 12 * (3 + 4)", "calculator", "{\"expression\":\"12 * (3 + 4)\"}", "84.0\n"},
        {"calculate sqrt(2) * 10", "calculator", "{\"expression\":\"sqrt(2) * 10\"}",
         "14.142135623730951\n"},
        {"计算 12*(3+4)", "calculator", "{\"expression\":\"12*(3+4)\"}", "84.0\n"},
        {"计算 (7+8)*2", "calculator", "{\"expression\":\"(7+8)*2\"}", "30.0\n"},
        {"count the words in \"the quick brown fox\"", "text_statistics",
         "{\"text\":\"the quick brown fox\"}", "{\"bytes\":19,\"characters\":19,\"words\":4,*}\n"},
        {"统计这段文字的字数：“你好世界”", "text_statistics", "{\"text\":\"你好世界\"}",
         "{\"bytes\":12,\"characters\":4,*}\n"},
        {"统计“今天下雨了”的字数", "text_statistics", "{\"text\":\"今天下雨了\"}",
         "{\"bytes\":15,\"characters\":5,*}\n"},
        {"把100美元换成欧元", "currency_convert",
         "{\"amount\":100,\"from_currency\":\"USD\",\"to_currency\":\"EUR\"}",
         "{\"amount\":100.0,*,\"result\":85.0,\"rate\":0.85}\n"},
        {"将 50 欧元兑换成日元", "currency_convert",
         "{\"amount\":50,\"from_currency\":\"EUR\",\"to_currency\":\"JPY\"}",
         "{\"amount\":50.0,*,\"result\":6470.588*,\"rate\":129.411*}\n"},
        {"what time is it in Tokyo", "get_current_time", "{\"timezone\":\"Asia/Tokyo\"}",
         "{\"timezone\":\"Asia/Tokyo\",\"datetime\":\"2*T*+09:00\",*}\n"},
        {"现在东京几点", "get_current_time", "{\"timezone\":\"Asia/Tokyo\"}",
         "{\"timezone\":\"Asia/Tokyo\",\"datetime\":\"2*T*+09:00\",*}\n"},
        {"现在纽约几点", "get_current_time", "{\"timezone\":\"America/New_York\"}",
         "{\"timezone\":\"America/New_York\",\"datetime\":\"2*T*-0*:00\",*}\n"},
        {"convert 3pm from London to New York", "convert_time",
         "{\"source_timezone\":\"Europe/London\",\"time\":\"15:00\",\"target_timezone\":\"America/"
         "New_York\"}",
         "{\"source\":{\"timezone\":\"Europe/London\",\"datetime\":\"2*T15:00:00+0*\"target\":{"
         "\"timezone\":\"America/New_York\",\"datetime\":\"2*T1*-0*:00\",*}\n"},
        {"17乘以23等于多少", "calculator", "{\"expression\":\"17 * 23\"}", "391.0\n"},
        {"what is the square root of 2", "calculator", "{\"expression\":\"sqrt(2)\"}",
         "1.4142135623730951\n"},
        {"add 40 and 2", "calculator", "{\"expression\":\"40 + 2\"}", "42.0\n"},
        {"replace \"cat\" with \"dog\" in \"the cat sat\"", "text_replace",
         "{\"text\":\"the cat sat\",\"pattern\":\"cat\",\"replacement\":\"dog\"}",
         "{\"text\":\"the dog sat\",\"count\":1}\n"},
        {"find \"cat\" in \"the cat sat\"", "text_search",
         "{\"text\":\"the cat sat\",\"pattern\":\"cat\"}",
         "{\"count\":1,\"truncated\":false,\"matches\":[{\"text\":\"cat\",\"line\":1,\"column\":5,*"
         "}\n"},
        {"convert 36 from dollars to yen", "currency_convert",
         "{\"amount\":36,\"from_currency\":\"USD\",\"to_currency\":\"JPY\"}",
         "{\"amount\":36.0,*,\"result\":3960.0,\"rate\":110.0}\n"},
        {"一百二十加三十等于几", "calculator", "{\"expression\":\"120 + 30\"}", "150.0\n"},
        {"把3和5加起来", "calculator", "{\"expression\":\"3 + 5\"}", "8.0\n"},
        {"multiply 7 and 12", "calculator", "{\"expression\":\"7 * 12\"}", "84.0\n"},
        {"春眠不觉晓有多少个字", "text_statistics", "{\"text\":\"春眠不觉晓\"}",
         "{\"bytes\":15,\"characters\":5,*}\n"},
        {"“床前明月光”有几个字", "text_statistics", "{\"text\":\"床前明月光\"}",
         "{\"bytes\":15,\"characters\":5,*}\n"},
        {"数一数“今天天气不错”有多少个字", "text_statistics", "{\"text\":\"今天天气不错\"}",
         "{\"bytes\":18,\"characters\":6,*}\n"},
        {.text = "book a table for two at eight"},
        {.text = "把这张照片发到群里"},
        {.text = "给小王发邮件"},
        {.text = "play some jazz"},
        {.text = "send an e-mail to Bob"},
        {.text = "turn off the kitchen light"},
        {.text = "delete the file /tmp/a.txt"},
        {.text = "tell me a joke"},
        {.text = "订一张去上海的机票"},
        {.text = "今天天气怎么样"},
        {.text = "播放一首爵士乐"},
        {.text = "打开客厅的灯"},
        {.text = "讲个笑话"},
};

#define SENTENCES (sizeof sentences / sizeof sentences[0])
