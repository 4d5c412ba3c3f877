/* test-web - the bundled plugins fetch and web_search, by the command, against a server of this
 * machine, whose answers are files with head and all: each case says what was sent. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "e2e.h"
#include "file-server.h"

#define NETWORK  "\"network:*\", \"network:udp\""
#define LOOPBACK "\"allow_networks\": \"127.0.0.1\""

static struct file_server *server;
static unsigned port;

static void configure(const char *plugin, const char *settings, const char *allowed) {
    char text[1024];
    (void)snprintf(text, sizeof text,
                   "{\"plugins\": {\"%s\": {%s}}, \"policies\": {\"%s\": {\"allow\": [%s]}}}",
                   plugin, settings, plugin, allowed);
    e2e_write("toolrack.json", text);
}

static int setup(void **state) {
    if (e2e_setup(state) != 0 || mkdir("www", 0700) != 0 || mkdir("www/raw", 0700) != 0) {
        return -1;
    }
    e2e_write("www/page", "<title>Page</title><p>Hello, <b>world</b>");
    server = file_server_start("www");
    port = server != NULL ? file_server_port(server) : 0;
    configure("fetch", LOOPBACK, NETWORK);
    return server != NULL ? 0 : -1;
}

static int teardown(void **state) {
    file_server_stop(server);
    return e2e_teardown(state);
}

/* What the server answers for /NAME. */
static void answer(const char *name, const char *head, const char *body, size_t length) {
    char path[512];
    (void)snprintf(path, sizeof path, "www/raw/%s", name);
    FILE *file = fopen(path, "wbe");
    assert_non_null(file);
    (void)fprintf(file, "HTTP/1.1 %s\r\nConnection: close\r\n\r\n", head);
    assert_int_equal(fwrite(body, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

#define ANSWER(name, head, body) answer(name, head, body, sizeof(body) - 1)

static struct run call(const char *tool, const char *arguments) {
    /* Another state for each call: a tool that fails often is not recommended, which is said. */
    static unsigned serial;
    char state[32];
    (void)snprintf(state, sizeof state, "state-%u", serial++);
    return RUN_WITH({.bare = true}, "--config", "toolrack.json", "--state", state, "--plugins",
                    getenv("E2E_BUNDLED"), "call", tool, arguments);
}

/* Fetch a page of the server; `more` are further arguments, such as ", \"raw\": true". */
static struct run fetch(const char *path, const char *more) {
    char arguments[512];
    (void)snprintf(arguments, sizeof arguments, "{\"url\": \"http://127.0.0.1:%u/%s\"%s}", port,
                   path, more);
    return call("fetch", arguments);
}

/* What follows the line that names the page, but for the line break at the end. */
static void expect_page(const char *file, int line, struct run run, const char *text) {
    char *content = strstr(run.out, "Contents of ");
    content = content != NULL ? strchr(content, '\n') : NULL;
    content += content != NULL;
    size_t length = content != NULL ? strlen(content) : 0;
    while (length > 0 && content[length - 1] == '\n') {
        content[--length] = '\0';
    }
    if (run.exit != 0 || content == NULL || strcmp(content, text) != 0) {
        print_error("%s:%d: exit code %d\nwanted: %s\ngot: %s\nerrors: %s\n", file, line, run.exit,
                    text, run.out, run.err);
        fail();
    }
    run_finish(&run);
}
#define EXPECT_PAGE(run, text) expect_page(__FILE__, __LINE__, run, text)

static void expect_refusal(const char *file, int line, struct run run, const char *pattern) {
    if (run.exit == 0) {
        print_error("%s:%d: it was not refused: %s\n", file, line, run.out);
        fail();
    }
    expect_match(file, line, run.err, pattern);
    run_finish(&run);
}
#define EXPECT_REFUSAL(run, pattern) expect_refusal(__FILE__, __LINE__, run, pattern)

/* --------------------------------------------------------------------- pages */

static void a_page_becomes_markdown(void **state) {
    (void)state;
    EXPECT_PAGE(fetch("page", ""), "# Page\n\nHello, **world**");
    EXPECT_PAGE(fetch("page", ", \"raw\": true"), "<title>Page</title><p>Hello, <b>world</b>");
    ANSWER("main", "200 OK\r\nContent-Type: text/html",
           "<body><header>Site</header><nav>Menu</nav><main><h1>Main</h1><p>This is the main part, "
           "and "
           "it is long enough to be taken for all that matters of the page: it has more than two "
           "hundred bytes of text, which is what it takes, as can be counted by everybody who "
           "likes.</main><footer>Foot</footer>");
    struct run run = fetch("main", "");
    EXPECT_MATCH(run.out, "Contents of *:\n# Main\n\nThis is the main part*likes.\n*");
    run_finish(&run);
}

/* Each piece of HTML, and what it is as Markdown. */
static void each_element_has_its_markdown(void **state) {
    (void)state;
    static const struct {
        const char *html;
        const char *markdown;
    } cases[] = {
            {"<h2>A <em>b</em></h2><p>c<br>d</p>e", "## A *b*\n\nc  \nd\n\ne"},
            {"<p>a<b> b </b>c <i></i><s>d</s><b><b>e</b></b>", "a **b** c ~~d~~**e**"},
            {"<b>a<p>b</p>c</b>", "**a**\n\n**b**\n\n**c**"},
            {"<ul><li>a<ul><li>b</ul><li><p>c<p>d</ul>", "- a\n  - b\n- c\n\n  d"},
            {"<ol start=9><li>a<li><ul><li>b</ul></ol>", "9. a\n10. - b"},
            {"<ul><li></li><li>a</ul>", "- a"},
            {"<blockquote>a<blockquote>b</blockquote><p>c</blockquote>d",
             "> a\n>\n> > b\n>\n> c\n\nd"},
            {"<pre class=language-c>int a;\n\n  b</pre>", "```c\nint a;\n\n  b\n```"},
            {"<ul><li><pre>a\n```</pre></ul>", "- ````\n  a\n  ```\n  ````"},
            {"<code> a  `b`</code>", "`` a `b` ``"},
            {"<table><tr><th>a<th>b|c<tr><td>1<td><p>2<p>3<tr><td></table>",
             "| a | b\\|c |\n| --- | --- |\n| 1 | 2 3 |\n| |"},
            {"<table><tr><td><h1>a</h1><td>b</table>", "# a\n\nb"},
            {"<a href='/x y?(z)'>a <b>b</b></a> <a href=#c>c</a> <a href='javascript:d'>d</a>",
             "[a **b**](http://127.0.0.1:PORT/x%20y?%28z%29) c d"},
            {"<base href=http://example.org/e/><a href=f>f</a><img src=g alt=h><img src=i>",
             "[f](http://example.org/e/f)![h](http://example.org/e/g)"},
            {"<a href=http://a/><p>b<p>c</a>", "[b](http://a/)\n\n[c](http://a/)"},
            {"<p>*a* _b_ c_d `e` &lt;f> # g<p># h<p>- i<p>1. j<p>12) k<p>> l",
             "\\*a\\* \\_b\\_ c_d \\`e\\` \\<f> # g\n\n\\# h\n\n\\- i\n\n1\\. j\n\n12\\) k\n\n\\> "
             "l"},
            {"a<hr>b<hr>", "a\n\n---\n\nb\n\n---"},
            {"<dl><dt>a<dd>b<dd>c</dl>", "a\n: b\n: c"},
            {"<p hidden>a<p style='display:none'>b<p aria-hidden=true>c<script>d</script><style>e"
             "</style><nav>f</nav><form>g<button>h</button><select><option>i</select></form>",
             "g"},
            {"<p style='color:red; DISPLAY : None'>a<p style=visibility:hidden>b<p "
             "style='opacity:0.0'>c"
             "<p style='font-size: 0px !important'>d<p style='opacity:0.5;font-size:10px'>e"
             "<p style='display:block'>f<p style='no-display:none;;:;x'>g",
             "e\n\nf\n\ng"},
            {"<p style='position:absolute;left:-9999px'>a<p style='left:-9999px'>b"
             "<p style='position: fixed; top: -100em'>c<p style='text-indent:-999px'>d"
             "<p style='clip:rect(0 0 1px 1px)'>e<p style='clip:rect(0,20px,20px,0)'>f"
             "<p style='height:1px;overflow:hidden'>g<p style='height:1px'>h"
             "<p style='width:0;max-width:10px;overflow:visible'>i<p style='margin-left:-100%'>j"
             "<p style='font-size:1px'>k<p style='opacity:.01'>l<p style='transform:scale(0)'>m",
             "b\n\nf\n\nh\n\ni\n\nj"},
            {"<p style='color:#fff;background:white'>a<p style='color:#fff;background:#000'>b"
             "<p style='color:transparent'>c<p style='color:red'>d"
             "<div style='background-color: rgb(255, 255,255)'><p style='color:#fefefe'>e"
             "<p style='color:rgb(0,0,0)'>f</div><table bgcolor=black><tr><td style=color:BLACK>g"
             "<td style='color:white'>h</table>",
             "b\n\nd\n\nf\n\n| h |\n| --- |"},
            {"<p>a\xf3\xa0\x81\xa8\xf3\xa0\x81\xa9"
             "b\xe2\x80\x8b\xe2\x80\xae"
             "c\x1b[31md\xc2\x9b"
             "e\xc2\xad"
             "f &#xe0041;g \xe2\x9d\xa4\xef\xb8\x8f",
             "abc\xef\xbf\xbd[31md\xef\xbf\xbd"
             "ef g \xe2\x9d\xa4\xef\xb8\x8f"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char wanted[600];
        const char *at = strstr(cases[i].markdown, "PORT");
        (void)snprintf(wanted, sizeof wanted, "%s", cases[i].markdown);
        if (at != NULL) {
            (void)snprintf(wanted, sizeof wanted, "%.*s%u%s", (int)(at - cases[i].markdown),
                           cases[i].markdown, port, at + 4);
        }
        answer("element", "200 OK\r\nContent-Type: text/html", cases[i].html,
               strlen(cases[i].html));
        EXPECT_PAGE(fetch("element", ""), wanted);
    }
}

static void a_part_is_counted_in_characters(void **state) {
    (void)state;
    ANSWER("part", "200 OK\r\nContent-Type: text/plain; charset=utf-8",
           "a\303\244\342\202\254\360\237\230\200z");
    static const struct {
        const char *more;
        const char *text;
    } cases[] = {
            {"", "a\303\244\342\202\254\360\237\230\200z"},
            {", \"max_length\": 2",
             "a\303\244\n\n<error>Content truncated. Call the fetch tool with "
             "a start_index of 2 to get more content.</error>"},
            {", \"start_index\": 2, \"max_length\": 2",
             "\342\202\254\360\237\230\200\n\n<error>Content truncated. Call the fetch tool with a "
             "start_index of 4 to get more content.</error>"},
            {", \"start_index\": 4", "z"},
            {", \"start_index\": 3, \"max_length\": 2", "\360\237\230\200z"},
            {", \"start_index\": 5", "<error>No more content available.</error>"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        EXPECT_PAGE(fetch("part", cases[i].more), cases[i].text);
    }
    struct run run = fetch("part", "");
    EXPECT_MATCH(run.out,
                 "Content type text/plain; charset=utf-8 cannot be simplified to markdown, "
                 "but here is the raw content:\nContents of *");
    run_finish(&run);
}

static void each_encoding_becomes_utf8(void **state) {
    (void)state;
    ANSWER("header", "200 OK\r\nContent-Type: text/html; charset=ISO-8859-1", "caf\xe9 \x93q\x94");
    EXPECT_PAGE(fetch("header", ""), "caf\303\251 \342\200\234q\342\200\235");
    ANSWER("meta", "200 OK\r\nContent-Type: text/html",
           "<meta charset=shift_jis><p>\x82\xb1\x82\xf1");
    EXPECT_PAGE(fetch("meta", ""), "\343\201\223\343\202\223");
    ANSWER("http-equiv", "200 OK\r\nContent-Type: text/html",
           "<meta http-equiv=Content-Type content='text/html; charset=koi8-r'>\xc1");
    EXPECT_PAGE(fetch("http-equiv", ""), "\320\260");
    ANSWER("mark", "200 OK\r\nContent-Type: text/plain; charset=utf-8",
           "\xff\xfe"
           "h\0\xe9\0");
    EXPECT_PAGE(fetch("mark", ""), "h\303\251");
    ANSWER("header-first", "200 OK\r\nContent-Type: text/html; charset=\"utf-8\"",
           "<meta charset=koi8-r>\303\251");
    EXPECT_PAGE(fetch("header-first", ""), "\303\251");
    ANSWER("guess", "200 OK\r\nContent-Type: text/html", "<p>\x80 5");
    EXPECT_PAGE(fetch("guess", ""), "\342\202\254 5");
    ANSWER("broken", "200 OK\r\nContent-Type: text/html; charset=utf-8",
           "a\xff"
           "b");
    EXPECT_PAGE(fetch("broken", ""), "a\357\277\275b");
    ANSWER("gb", "200 OK\r\nContent-Type: text/html; charset=gb2312", "\xd6\xd0");
    EXPECT_PAGE(fetch("gb", ""), "\344\270\255");
}

static void what_is_no_page_is_told(void **state) {
    (void)state;
    EXPECT_REFUSAL(fetch("nothing", ""), "*Failed to fetch http://*/nothing - status code 404*");
    ANSWER("busy", "503 Busy", "");
    EXPECT_REFUSAL(fetch("busy", ""), "*status code 503*");
    ANSWER("image", "200 OK\r\nContent-Type: image/png", "\x89PNG");
    EXPECT_REFUSAL(fetch("image", ""), "*is not text but image/png*");
    ANSWER("bytes", "200 OK", "a\0b");
    EXPECT_REFUSAL(fetch("bytes", ""), "*is not text but of no stated type*");
    ANSWER("json", "200 OK\r\nContent-Type: application/vnd.x+json", "{\"a\": 1}");
    EXPECT_PAGE(fetch("json", ""), "{\"a\": 1}");
    ANSWER("empty", "200 OK\r\nContent-Type: text/html", "");
    EXPECT_PAGE(fetch("empty", ""), "<error>No more content available.</error>");
    ANSWER("cut", "200 OK\r\nContent-Length: 100", "short");
    EXPECT_REFUSAL(fetch("cut", ""), "*cannot be fetched: *");
}

/* ------------------------------------------------------------------- refusals */

static void a_body_has_a_limit(void **state) {
    (void)state;
    size_t length = (5 << 20) + 1;
    char *body = malloc(length);
    assert_non_null(body);
    memset(body, 'a', length);
    answer("large", "200 OK\r\nContent-Type: text/plain", body, length);
    EXPECT_REFUSAL(fetch("large", ""), "*LimitExceeded: *has more than 5242880 bytes*");
    answer("full", "200 OK\r\nContent-Type: text/plain", body, length - 1);
    EXPECT_PAGE(fetch("full", ", \"start_index\": 5242879"), "a");
    free(body);
    /* 8 MiB of zeros, which gzip makes 8 KB of. */
    assert_int_equal(system("mkdir -p www/z && head -c 8388608 /dev/zero | gzip >www/z/bomb"), 0);
    EXPECT_REFUSAL(fetch("gzip/z/bomb", ""), "*LimitExceeded: *has more than 5242880 bytes*");
}

/* Of one line, and of many. */
static void headers_have_a_limit(void **state) {
    (void)state;
    static const char line[] = "\r\nX-Line: ";
    size_t length = 5 << 20;
    char *head = malloc(length + 1);
    assert_non_null(head);
    memset(head, 'a', length);
    head[length] = '\0';
    memcpy(head, "200 OK\r\nX-Long: ", 16);
    answer("long", head, "", 0);
    EXPECT_REFUSAL(fetch("long", ""), "*a line of its headers is too long*");
    for (size_t at = 6; at + 1000 < length; at += 1000) {
        memcpy(head + at, line, sizeof line - 1);
    }
    answer("lines", head, "", 0);
    EXPECT_REFUSAL(fetch("lines", ""), "*headers of more than 256 KiB*");
    free(head);
}

static void redirects_are_followed_and_each_is_checked(void **state) {
    (void)state;
    char head[128];
    EXPECT_PAGE(fetch("to/to/to/to/to/page", ""), "# Page\n\nHello, **world**");
    EXPECT_REFUSAL(fetch("to/to/to/to/to/to/page", ""), "*more than 5 redirects*");
    EXPECT_REFUSAL(fetch("loop/x", ""), "*more than 5 redirects*");
    EXPECT_REFUSAL(fetch("file/etc/passwd", ""),
                   "*file:///etc/passwd is neither http: nor https:*");
    (void)snprintf(head, sizeof head, "302 Found\r\nLocation: http://127.0.0.2:%u/page", port);
    ANSWER("other", "302 Found\r\nLocation: http://10.0.0.1/", "");
    EXPECT_REFUSAL(fetch("other", ""), "*10.0.0.1 is a private address*");
    answer("near", head, "", 0);
    EXPECT_REFUSAL(fetch("near", ""), "*127.0.0.2 is a loopback address*");
    (void)snprintf(head, sizeof head, "302 Found\r\nLocation: http://me:x@127.0.0.1:%u/page", port);
    answer("named", head, "", 0);
    EXPECT_REFUSAL(fetch("named", ""), "*name or password*");
    ANSWER("port", "302 Found\r\nLocation: http://127.0.0.1:22/", "");
    EXPECT_REFUSAL(fetch("port", ""), "*kept for other protocols*");
}

/* A name that leads to allowed and other addresses: only the allowed ones are connected to. */
static void each_address_of_a_name_is_checked(void **state) {
    (void)state;
    char arguments[128];
    (void)snprintf(arguments, sizeof arguments, "{\"url\": \"http://localhost:%u/page\"}", port);
    EXPECT_PAGE(call("fetch", arguments), "# Page\n\nHello, **world**");
    configure("fetch", "\"allow_networks\": \"127.0.0.2\"", NETWORK);
    EXPECT_REFUSAL(call("fetch", arguments), "*is a loopback address*");
    configure("fetch", "", NETWORK);
    EXPECT_REFUSAL(call("fetch", arguments), "*is a loopback address*");
}

static void robots_are_honoured(void **state) {
    (void)state;
    e2e_write("www/robots.txt", "User-agent: *\nDisallow: /page\nAllow: /page/x\n");
    EXPECT_REFUSAL(fetch("page", ""),
                   "*robots.txt does not allow programs to fetch http://*/page;*Disallow: /page*");
    EXPECT_REFUSAL(fetch("to/page", ""), "*does not allow programs to fetch http://*/page;*");
    e2e_write("www/robots.txt",
              "User-agent: *\nDisallow: /\n\nUser-agent: ToolRack/9\nDisallow: /other\n");
    EXPECT_PAGE(fetch("page", ""), "# Page\n\nHello, **world**");
    configure("fetch", LOOPBACK ", \"user_agent\": \"mine/1.0\"", NETWORK);
    EXPECT_REFUSAL(fetch("page", ""), "*user agent: mine/1.0*");
    configure("fetch", LOOPBACK ", \"ignore_robots_txt\": true", NETWORK);
    EXPECT_PAGE(fetch("page", ""), "# Page\n\nHello, **world**");
    configure("fetch", LOOPBACK, NETWORK);
    static const char *const closed[] = {"401 Who", "403 No", "500 Broken", "503 Busy"};
    for (size_t i = 0; i < sizeof closed / sizeof closed[0]; i++) {
        answer("robots.txt", closed[i], "", 0);
        EXPECT_REFUSAL(fetch("page", ""), "*robots.txt was answered with status *");
    }
    ANSWER("robots.txt", "410 Gone", "");
    EXPECT_PAGE(fetch("page", ""), "# Page\n\nHello, **world**");
    ANSWER("robots.txt", "301 There\r\nLocation: /moved", "");
    ANSWER("moved", "200 OK", "user-agent: toolrack\ndisallow: /pa*$\n");
    EXPECT_REFUSAL(fetch("page", ""), "*does not allow programs*");
}

static void each_capability_is_needed(void **state) {
    (void)state;
    char arguments[128];
    (void)snprintf(arguments, sizeof arguments, "{\"url\": \"http://localhost:%u/page\"}", port);
    configure("fetch", LOOPBACK, NETWORK);
    EXPECT_PAGE(call("fetch", arguments), "# Page\n\nHello, **world**");
    configure("fetch", LOOPBACK, "\"network:udp\"");
    EXPECT_REFUSAL(call("fetch", arguments), "*cannot be fetched*network:*");
    configure("fetch", LOOPBACK, "\"network:*\"");
    EXPECT_REFUSAL(call("fetch", "{\"url\": \"http://no.such.host.invalid/\"}"),
                   "*cannot be fetched*allow fetch network:udp*");
    configure("fetch", LOOPBACK, "");
    EXPECT_REFUSAL(call("fetch", arguments), "*cannot be fetched*network:udp*");
}

/* ------------------------------------------------------------------ web_search */

static void configure_search(const char *path, const char *allowed) {
    char settings[200];
    (void)snprintf(settings, sizeof settings, "\"endpoint\": \"http://127.0.0.1:%u/%s\"", port,
                   path);
    configure("web_search", settings, allowed);
}

static void a_question_is_asked_and_its_answer_read(void **state) {
    (void)state;
    configure_search("search", NETWORK);
    ANSWER("search?q=a%26b+%c3%a4&format=json&pageno=2&safesearch=0&time_range=year&language=de",
           "200 OK\r\nContent-Type: application/json",
           "{\"query\": \"x\", \"results\": [{\"title\": \"One\", \"url\": "
           "\"https://example.org/1\", "
           "\"content\": \"first\", \"publishedDate\": \"2024-01-15\"}, {\"title\": \"no "
           "address\"}, "
           "7, {\"url\": \"https://example.org/2\"}, {\"url\": \"https://example.org/3\"}]}");
    EXPECT(call("web_search",
                "{\"query\": \"a&b \303\244\", \"page\": 2, \"safe_search\": false, "
                "\"time_range\": \"year\", \"language\": \"de\", \"max_results\": 2}"),
           0,
           "{\"query\":\"a&b "
           "\303\244\",\"results\":[{\"title\":\"One\",\"url\":\"https://example.org/"
           "1\",\"snippet\":\"first\",\"published\":\"2024-01-15\"},{\"url\":\"https://example.org/"
           "2\"}]"
           "}\n",
           "");
    /* What the endpoint's own query has stays. */
    configure_search("s?key=1", NETWORK);
    ANSWER("s?key=1&q=x&format=json&pageno=1&safesearch=1", "200 OK", "{\"results\": []}");
    EXPECT(call("web_search", "{\"query\": \"x\"}"), 0, "{\"query\":\"x\",\"results\":[]}\n", "");
}

static void a_wrong_answer_is_told(void **state) {
    (void)state;
    static const struct {
        const char *head;
        const char *body;
        const char *said;
    } cases[] = {
            {"403 No", "", "*status 403; SearXNG does so if \"json\" is not in search.formats*"},
            {"302 There\r\nLocation: http://127.0.0.1/", "", "*answered with status 302*"},
            {"200 OK", "<html>", "*answer is no JSON: * at byte 0*"},
            {"200 OK", "", "*answer is no JSON: *"},
            {"200 OK", "{\"found\": []}", "*has no \"results\"*"},
            {"200 OK", "[]", "*has no \"results\"*"},
            {"200 OK\r\nContent-Length: 9", "{", "*cannot be fetched*"},
    };
    configure_search("search", NETWORK);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        answer("search?q=x&format=json&pageno=1&safesearch=1", cases[i].head, cases[i].body,
               strlen(cases[i].body));
        EXPECT_REFUSAL(call("web_search", "{\"query\": \"x\"}"), cases[i].said);
    }
    configure_search("search", "\"network:udp\"");
    EXPECT_REFUSAL(call("web_search", "{\"query\": \"x\"}"), "*cannot be fetched*network:*");
}

int main(void) {
    (void)signal(SIGPIPE, SIG_IGN); /* a client that has enough hangs up */
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
            CASE(a_page_becomes_markdown),
            CASE(each_element_has_its_markdown),
            CASE(a_part_is_counted_in_characters),
            CASE(each_encoding_becomes_utf8),
            CASE(what_is_no_page_is_told),
            CASE(a_body_has_a_limit),
            CASE(headers_have_a_limit),
            CASE(redirects_are_followed_and_each_is_checked),
            CASE(each_address_of_a_name_is_checked),
            CASE(robots_are_honoured),
            CASE(each_capability_is_needed),
            CASE(a_question_is_asked_and_its_answer_read),
            CASE(a_wrong_answer_is_told),
    };
#undef CASE
    return cmocka_run_group_tests_name("web", tests, NULL, NULL);
}
