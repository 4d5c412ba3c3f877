/* Tools that toolrack.json defines, and what `check` says of such a file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "e2e.h"

#define WITH(...) RUN("--config", "toolrack.json", __VA_ARGS__)

static const char good[] =
        "// tools without a plugin\n"
        "{\n"
        "    \"tools\": [\n"
        "        {\"name\": \"weather\", \"description\": \"The weather in a town\",\n"
        "         \"type\": \"function\", \"tags\": [\"demo\"], \"priority\": 700,\n"
        "         \"parameters\": {\"type\": \"object\", \"required\": [\"town\"], "
        "\"properties\":\n"
        "             {\"town\": {\"type\": \"string\", \"description\": \"its name\"}}},\n"
        "         \"implementation\": {\"type\": \"mock\", \"mock_response\": {\"sky\": "
        "\"clear\"}}},\n"
        "        {\"name\": \"repeat\", \"description\": \"Its arguments\", \"type\": "
        "\"function\",\n"
        "         \"permission\": \"confirm\", \"parameters\": {\"type\": \"object\"},\n"
        "         \"implementation\": {\"type\": \"builtin\", \"handler\": \"echo\"}},\n"
        "        {\"name\": \"wipe\", \"description\": \"Nothing\", \"type\": \"function\",\n"
        "         \"permission\": \"dangerous\", \"parameters\": {\"type\": \"object\"},\n"
        "         \"implementation\": {\"type\": \"mock\", \"mock_response\": null}},\n"
        "    ]\n"
        "}\n";

static void defined_tools_are_tools_like_any_other(void **state) {
    (void)state;
    e2e_write("toolrack.json", good);
    EXPECT_JSON(WITH("list", "--json"), 0, "/0/id", "\"weather\"", "/0/priority", "700",
                "/0/plugin", "\"weather\"");
    EXPECT(WITH("call", "weather", "--arg", "town=Rome"), 0, "{\"sky\":\"clear\"}\n", "");
    EXPECT(WITH("call", "weather"), 4, "", "toolrack: InvalidArguments: /town: *\n");
    EXPECT(WITH("call", "repeat", "{\"a\":1}", "--yes"), 0, "{\"a\":1}\n", "");
    EXPECT(WITH("call", "repeat"), 5, "", "*");
    EXPECT(WITH("call", "wipe"), 5, "", "toolrack: PermissionDenied: *\n");
    EXPECT(WITH("grant", "wipe"), 0, NULL, "");
    EXPECT(WITH("call", "wipe"), 0, "null\n", "");
    EXPECT(WITH("disable", "weather"), 0, NULL, "");
    EXPECT(WITH("call", "weather", "--arg", "town=Rome"), 5, "", "toolrack: Disabled: *\n");
    EXPECT(WITH("show", "repeat"), 0, "*toolrack.json*", "");
    EXPECT(WITH("why", "repeat"), 0, "*toolrack.json*", "");
    EXPECT(WITH("reload", "repeat"), 1, "", "*toolrack.json, which is read at the start*\n");
    /* What is kept of a tool in the file is kept by its name: the next start sees the next file. */
    e2e_write("toolrack.json", "{\"tools\": []}");
    EXPECT(WITH("call", "repeat", "--yes"), 3, "", "toolrack: NotFound: *\n");
}

static void a_function_of_a_library_is_a_tool(void **state) {
    (void)state;
    e2e_write("toolrack.json",
              "{\"tools\": [{\"name\": \"cosine\", \"description\": \"The cosine of an angle\",\n"
              "\"type\": \"function\", \"implementation\": {\"type\": \"native\",\n"
              "\"library\": \"libm.so.6\", \"symbol\": \"cos\",\n"
              "\"arguments\": [{\"name\": \"x\", \"type\": \"float64\", \"description\": "
              "\"radians\"}],\n"
              "\"result\": {\"type\": \"float64\"}}}]}\n");
    EXPECT(RUN_WITH({.bare = true}, "check", "toolrack.json"), 0,
           "toolrack.json: configuration, 1 tool, no problems found\n", "");
    EXPECT(WITH("call", "cosine", "--arg", "x=0"), 0, "1.0\n", NULL);
    EXPECT(WITH("call", "cosine", "--arg", "x=zero"), 4, "", NULL);
    EXPECT(WITH("show", "cosine"), 0, "*isolation    process*", NULL);
}

/* As of a plugin; the next call tries it again. */
static void a_library_that_is_missing_is_known_after_the_command(void **state) {
    (void)state;
    static const char *const libraries[] = {"libnothere.so.1", "libm.so.6"};
    for (size_t i = 0; i < 2; i++) {
        char text[512];
        (void)snprintf(text, sizeof text,
                       "{\"tools\": [{\"name\": \"cosine\", \"description\": \"The cosine\", "
                       "\"type\": \"function\", \"implementation\": {\"type\": \"native\", "
                       "\"library\": \"%s\", \"symbol\": \"cos\", \"arguments\": [{\"name\": "
                       "\"x\", \"type\": \"float64\", \"description\": \"radians\"}], "
                       "\"result\": {\"type\": \"float64\"}}}]}",
                       libraries[i]);
        e2e_write("toolrack.json", text);
        EXPECT(WITH("call", "cosine", "--arg", "x=0"), i == 0 ? 7 : 0, i == 0 ? "" : "1.0\n", NULL);
        EXPECT(WITH("why", "cosine"), 0,
               i == 0 ? "*state        failed\n*libnothere.so.1*" : "*state        listed\n*",
               NULL);
    }
    e2e_write("toolrack.json", "{\"tools\": []}");
}

/* Its workers are made at the start: what is allowed later says so. */
static void what_is_allowed_to_a_function_counts_from_the_next_start(void **state) {
    (void)state;
    e2e_write("toolrack.json",
              "{\"tools\": [{\"name\": \"lookup\", \"description\": \"A variable\",\n"
              "\"type\": \"function\", \"implementation\": {\"type\": \"native\",\n"
              "\"library\": \"libc.so.6\", \"symbol\": \"getenv\",\n"
              "\"capabilities\": [\"env:HOME\"],\n"
              "\"arguments\": [{\"name\": \"name\", \"type\": \"string\", \"description\": "
              "\"which\"}],\n"
              "\"result\": {\"type\": \"string\", \"nullable\": true}}}]}\n");
    EXPECT(WITH("allow", "lookup", "env:HOME"), 0,
           "env:HOME is allowed to lookup, from the next start of each host on\n", NULL);
    EXPECT_JSON(WITH("disallow", "lookup", "env:HOME", "--json"), 0, "/at_start", "true");
}

/* What a server of MCP, or the server that joins hosts, would be refused for. */
static void check_finds_servers_that_cannot_be_used(void **state) {
    (void)state;
    static const struct {
        const char *text;
        const char *finding;
    } cases[] = {
            {"{\"mcpServers\":\n{\"a\": {}}}",
             "config-mcp: line 2, column 7: *neither \"command\"*"},
            {"{\"mcpServers\": {\"a\": {\"command\": \"a\", \"url\": \"http://a\"}}}",
             "config-mcp: *has no meaning beside \"url\"*"},
            {"{\"mcpServers\": {\"\": {\"command\": \"a\"}}}", "config-mcp: *is no name of*"},
            {"{\"mcpServers\": {\"a b\": {\"command\": \"a\"}}}", "config-mcp: *is no name of*"},
            {"{\"mcpServers\": {\"a\": {\"command\": \"a\", \"env\": {\"A\": \"${input:k}\"}}}}",
             "config-mcp: *which only another client fills in*"},
            {"{\"mcpServers\": {\"a\": {\"type\": \"sse\", \"url\": \"http://127.0.0.1:1\"}}}",
             "config-mcp: *\"type\": \"http\"*"},
            {"{\"mcpServers\": {\"a\": {\"command\": \"a\", \"allow\": [\"read:/\"]}}}",
             "config-mcp: *is allowed \"read:/\"*"},
            {"{\"servers\": {}}", "config-key: *did you mean \"mcpServers\"*"},
            {"{\"nats\": {\"url\": \"http://a\"}}", "config-nats: *begins with \"http://\"*"},
            {"{\"nats\":\n{\"ca\": \"/nowhere/ca\"}}",
             "config-nats: line 2, *cannot read /nowhere/ca*"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char pattern[256];
        (void)snprintf(pattern, sizeof pattern, "wrong.json: *error %s", cases[i].finding);
        e2e_write("wrong.json", cases[i].text);
        struct run run = RUN_WITH({.bare = true}, "check", "wrong.json");
        assert_int_equal(run.exit, 1);
        EXPECT_MATCH(run.out, pattern);
        run_finish(&run);
    }
    e2e_write("right.json",
              "{\"mcpServers\": {\"off\": {\"disabled\": true},\n"
              "\"cline\": {\"type\": \"streamableHttp\", \"url\": \"http://127.0.0.1:1/mcp\", "
              "\"disabled\": false, \"autoApprove\": []}},\n"
              "\"nats\": {\"url\": \"nats://127.0.0.1:1\"}}\n");
    EXPECT(RUN_WITH({.bare = true}, "check", "right.json"), 0,
           "right.json: configuration, 0 tools, no problems found\n", NULL);
}

/* What the start only warns of, or never notices. */
static void check_finds_what_has_no_effect(void **state) {
    (void)state;
    e2e_write("toolrack.json",
              "{\"folders\": [{\"path\": \"nowhere\"}],\n"
              "\"grants\": [\"wipe\"],\n"
              "\"plugins\": {\"nobody\": {}},\n"
              "\"policies\": {\n"
              "\"kti\": {\"isolation\": \"none\",\n"
              "\"memory_mb\": 10},\n"
              "\"slow\": {\"backoff_max_ms\": 5, \"backoff_ms\": 10}},\n"
              "\"tools\": [{\"name\": \"kit\", \"description\": \"d\", \"type\": \"function\", "
              "\"parameters\": {\"type\": \"object\"}, "
              "\"implementation\": {\"type\": \"mock\", \"mock_response\": 1}}]}\n");
    struct run run = RUN_WITH({.bare = true}, "check", "toolrack.json");
    assert_int_equal(run.exit, 1);
    EXPECT_MATCH(run.out, "*warning config-folder: *nowhere: the folder does not exist*");
    EXPECT_MATCH(run.out, "*warning config-grant: *'wipe', but no tool has this name*");
    EXPECT_MATCH(run.out, "*warning config-plugin: line 3, column 13: \"plugins\" names nobody*");
    EXPECT_MATCH(run.out, "*\"policies\" names kti*\n    fix: did you mean \"kit\"?\n*");
    EXPECT_MATCH(run.out,
                 "*warning config-unused: line 6, column 1: \"memory_mb\" of the policy of "
                 "kti has no effect: with isolation none *");
    EXPECT_MATCH(run.out,
                 "*warning config-unused: line 7, *: \"backoff_ms\" of the policy of slow*");
    assert_null(strstr(run.out, " error "));
    run_finish(&run);
    EXPECT_JSON(RUN_WITH({.bare = true}, "check", "toolrack.json", "--json"), 1,
                "/0/findings/0/severity", "\"warning\"");
}

/* Made for these tests, for nobody; it is valid until 2126. */
static const char certificate[] =
        "-----BEGIN CERTIFICATE-----\n"
        "MIIBbzCCARWgAwIBAgIUWNUmi4oIID4On7iWIF1LwitoPpwwCgYIKoZIzj0EAwIw\n"
        "DDEKMAgGA1UEAwwBeDAgFw0yNjExMjMxMzQ5MDBaGA8yMTI2MTAzMDEzNDkwMFow\n"
        "DDEKMAgGA1UEAwwBeDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABOGj+hpdutPK\n"
        "I3e4P9nb/HLSIf0qEfpe1uahzTuZ9AF3zQRgVE99hAbO6r2bGElTfgTCArTm7DuD\n"
        "f4/tnpZK3bOjUzBRMB0GA1UdDgQWBBQl+IbBU2k9To0jRjMJhDYcfpD54TAfBgNV\n"
        "HSMEGDAWgBQl+IbBU2k9To0jRjMJhDYcfpD54TAPBgNVHRMBAf8EBTADAQH/MAoG\n"
        "CCqGSM49BAMCA0gAMEUCIBQrgwnvjqYlie/lUWAFEHFMJSaVcueAwg2q0Kph5Y4q\n"
        "AiEA8FtGGfmyrX0BheNQZHqaPvYI7Ebn744+rVHWpBExc3Q=\n"
        "-----END CERTIFICATE-----\n";
static const char its_key[] = "-----BEGIN PRIVATE KEY-----\n"
                              "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgZltVIQ/hhD4K30P8\n"
                              "ZzWJ2NZr8sDZWZJ4k32v7gKCnRyhRANCAATho/oaXbrTyiN3uD/Z2/xy0iH9KhH6\n"
                              "Xtbmoc07mfQBd80EYFRPfYQGzuq9mxhJU34EwgK05uw7g3+P7Z6WSt2z\n"
                              "-----END PRIVATE KEY-----\n";
static const char other_key[] = "-----BEGIN PRIVATE KEY-----\n"
                                "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgYwv85h5//iSeWbli\n"
                                "+dlzXgBbV3LF8Vmz3SF3NmTGEX6hRANCAAToeuZuyzTAuC8vuyRUvHlOCyo5x5Il\n"
                                "cKEepMOFrErxoycYOrtSXXlXlBjLASDEUOmIRP+k7fEkftwl3I9DLsWv\n"
                                "-----END PRIVATE KEY-----\n";

static void write_key(const char *name, const char *text) {
    e2e_write(name, text);
    assert_int_equal(chmod(name, 0640), 0);
}

/* Whoever writes the key or the certificate is the server for its clients; whoever reads the key
 * too. */
static void keys_that_others_may_write_are_refused(void **state) {
    (void)state;
    static const struct {
        mode_t certificate;
        mode_t key;
        mode_t folder;
        const char *found;
    } rows[] = {
            {0644, 0600, 0755, NULL},
            {0644, 0640, 01777, NULL},
            {0666, 0600, 0755,
             "*error config-file: line 2, column 24: certificate */tls/cert.pem: others may write "
             "to */tls/cert.pem (mode 0666)\n    fix: chmod go-w it\n*"},
            {0644, 0602, 0755,
             "*error config-file: line 2, column 47: key */tls/key.pem: others may write to "
             "*/tls/key.pem (mode 0602)\n    fix: chmod go-w it\n*"},
            {0644, 0600, 0777, "*: others may write to */tls (mode 0777) and exchange what is *"},
            {0644, 0644, 0755,
             "*warning config-file: line 2, column 47: key */tls/key.pem: every user of the "
             "machine may read it (mode 0644)\n    fix: chmod o-r it, *"},
    };
    assert_int_equal(mkdir("tls", 0755), 0);
    e2e_write("tls/cert.pem", certificate);
    e2e_write("tls/key.pem", its_key);
    e2e_write("toolrack.json",
              "{\"serve\": {\n\"tls\": {\"certificate\": \"tls/cert.pem\", \"key\": "
              "\"tls/key.pem\"}, \"listen\": \"203.0.113.1:1\"}}\n");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(chmod("tls/cert.pem", rows[i].certificate), 0);
        assert_int_equal(chmod("tls/key.pem", rows[i].key), 0);
        assert_int_equal(chmod("tls", rows[i].folder), 0);
        bool is_warned = rows[i].key == 0644;
        bool is_refused = rows[i].found != NULL && !is_warned;
        EXPECT(RUN_WITH({.bare = true}, "check", "toolrack.json"), rows[i].found != NULL,
               rows[i].found != NULL ? rows[i].found : "*, 0 tools, no problems found\n  note *",
               "");
        /* No server listens at an address of another machine: what is before that was not refused.
         */
        EXPECT(WITH("serve"), 1, "",
               is_refused  ? "toolrack: Invalid: *toolrack.json, line 2, column *: others may *"
               : is_warned ? "*config: *toolrack.json, line 2, column 47: key *: every user of the "
                             "machine may read it *; chmod o-r it, *toolrack: Refused: *"
                           : "toolrack: Refused: *203.0.113.1*");
    }
}

/* With these `toolrack serve` does not start. */
static void check_finds_what_cannot_be_served(void **state) {
    (void)state;
    static const char *const wrong[][2] = {
            {"\"listen\": \"300.0.0.1:80\"", "*error config-value: line 2, column 11: "
                                             "\"300.0.0.1:80\" is no address to listen at*"},
            {"\"public_url\": \"https://tools.example.org/mcp?x=1\"",
             "*error config-value: line 2, column 15: *"},
            {"\"oauth\": {\"issuer\": \"https://a.example\", \"jwks_file\": \"toolrack.json\"}",
             "*error config-value: line 2, column 10: \"oauth\" does not say for whom tokens are*"},
            {"\"tls\": {\"certificate\": \"c.pem\", \"key\": \"toolrack.json\"}",
             "*error config-file: line 2, column 24: certificate */c.pem: No such file or "
             "directory\n    fix: make the file, or correct the path\n*"},
            {"\"socket\": \"/nowhere/mcp.sock\"",
             "*error config-file: line 2, column 11: socket /nowhere/mcp.sock: the folder of the "
             "socket does not exist\n*"},
            {"\"listen\": [\"127.0.0.1:9\", \"localhost:9\"]",
             "*error config-value: line 2, column 27: \"localhost:9\" has the port of "
             "\"127.0.0.1:9\", and only one can have it\n    fix: remove one of them, or give it "
             "another port\n*"},
            {"\"listen\": \"[::ffff:127.0.0.1]:0\"",
             "*error config-value: line 2, column 11: \"[::ffff:127.0.0.1]:0\" is an IPv4 address "
             "in "
             "the form of IPv6\n    fix: write the IPv4 address, *"},
            {"\"socket\": \"toolrack.json\"",
             "*error config-file: line 2, column 11: socket */toolrack.json: it exists and is no "
             "socket\n    fix: remove it, or choose another path\n*"},
            {"\"public_url\": \"https://tools.example.org/\\\"\"",
             "*error config-value: line 2, column 15: /serve/public_url must be an address that "
             "begins with https:// or http://, with no characters but those of a URL*"},
            {"\"oauth\": {\"issuer\": \"https://a\", \"audience\": \"a\", \"jwks_url\": "
             "\"http://a.example/k\"}",
             "*error config-value: line 2, column 63: \"http://a.example/k\" is not https, and *"},
            {"\"tls\": {\"certificate\": \"cert.pem\", \"key\": \"other.pem\"}",
             "*error config-serve: line 2, column 43: */other.pem has not the key of the "
             "certificate "
             "(*)\n    fix: name the key that the certificate was made for\n*"},
            {"\"tls\": {\"certificate\": \"key.pem\", \"key\": \"key.pem\"}",
             "*error config-serve: line 2, column 24: */key.pem has no certificate in PEM form "
             "(*)\n"
             "    fix: write the certificate and its chain there, or name another file\n*"},
            {"\"tls\": {\"certificate\": \"cert.pem\", \"key\": \"secret.pem\"}",
             "*error config-serve: line 2, column 43: */secret.pem has no private key in PEM form "
             "*"},
            {"\"oauth\": {\"issuer\": \"https://a\", \"audience\": \"a\", \"jwks_file\": "
             "\"toolrack.json\"}",
             "*error config-serve: line 2, column 64: */toolrack.json has no JSON Web Key Set, an "
             "object with the member \"keys\"\n    fix: write the keys of the issuer there, *"},
    };
    e2e_write("cert.pem", certificate);
    write_key("key.pem", its_key);
    write_key("other.pem", other_key);
    write_key("secret.pem", certificate);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char text[256];
        (void)snprintf(text, sizeof text, "{\"serve\": {\n%s}}\n", wrong[i][0]);
        e2e_write("toolrack.json", text);
        EXPECT(RUN_WITH({.bare = true}, "check", "toolrack.json"), 1, wrong[i][1], "");
        EXPECT(WITH("serve"), 1, "", "toolrack: Invalid: *toolrack.json, line 2, column *; *");
    }
    e2e_write("toolrack.json",
              "{\"serve\": {\"listen\": \"localhost:0\",\n\"pinned\": [\"calculatr\", \"kit*\"],\n"
              "\"profiles\": {\"r\": {\"tools\": [\"kit\", \"kti@^1\"], \"tags\": [\"nosuch\"],\n"
              "\"categories\": [\"none\"]}},\n\"tasks\": {\"tools\": {\"kti\": \"always\"}}},\n"
              "\"tools\": [{\"name\": \"kit\", \"description\": \"d\", \"type\": \"function\", "
              "\"parameters\": {\"type\": \"object\"}, "
              "\"implementation\": {\"type\": \"mock\", \"mock_response\": 1}}]}\n");
    struct run run = RUN_WITH({.bare = true}, "check", "toolrack.json");
    assert_int_equal(run.exit, 1);
    static const char *const said[] = {
            ("*warning config-tool: line 2, column 12: \"serve\" names 'calculatr', and no tool "
             "has this name\n*"),
            "*line 3, *'kti@^1', and no tool has this name\n    fix: did you mean \"kit\"?\n*",
            "*line 3, *'nosuch', and no tool has this tag\n*",
            "*line 4, *'none', and no tool has this category\n*",
            "*line 5, *'kti', and no tool has this name\n    fix: did you mean \"kit\"?\n*"};
    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++) {
        EXPECT_MATCH(run.out, said[i]);
    }
    assert_null(strstr(run.out, " error "));
    assert_null(strstr(run.out, "'kit*'"));
    run_finish(&run);
    EXPECT(WITH("mcp"), 0, "",
           "*config: *toolrack.json, line 2, column 12: \"serve\" names 'calculatr', and *");
}

/* The same file is served with a token. */
static void check_notes_what_needs_a_token(void **state) {
    (void)state;
    e2e_write("toolrack.json",
              "{\"serve\": {\n\"listen\": [\"127.0.0.1:0\", \"0.0.0.0:0\"],\n"
              "\"tls\": {\"certificate\": \"cert.pem\", \"key\": \"key.pem\"}}}\n");
    e2e_write("cert.pem", certificate);
    write_key("key.pem", its_key);
    EXPECT(RUN_WITH({.bare = true}, "check", "toolrack.json"), 0,
           "toolrack.json: configuration, 0 tools, no problems found\n"
           "  note config-serve: line 2, column 11: others than the users of this machine may "
           "reach "
           "0.0.0.0:0, so a server begins when there is a token\n"
           "    fix: add one: toolrack token add NAME\n",
           "");
    EXPECT(WITH("serve"), 1, "", "toolrack: Refused: *may reach 0.0.0.0:0, *");
    e2e_write("toolrack.json", "{\"serve\": {\"listen\": \"127.0.0.1:0\"}}");
    EXPECT(RUN_WITH({.bare = true}, "check", "toolrack.json"), 0, "*, no problems found\n", "");
}

/* Plugins of the command line stand in place of the folders, as for a server. */
static void check_is_with_the_plugins_that_are_named(void **state) {
    (void)state;
    e2e_write("toolrack.json", "{\"policies\": {\"kit\": {\"workers\": 2}},\n"
                               "\"serve\": {\"pinned\": [\"add\"]}}");
    EXPECT(RUN_WITH({.bare = true}, "check", "toolrack.json", "--plugins", e2e_plugins()), 0,
           "toolrack.json: configuration, 0 tools, no problems found\n", "");
    EXPECT(RUN_WITH({.bare = true}, "check", "toolrack.json"), 1,
           "*warning config-plugin: line 1, *names kit*\n*warning config-tool: line 2, *'add'*",
           "");
    e2e_write("toolrack.json", "{\"arguments_of\": {\"tools\": {\n\"add\": \"exact\",\n"
                               "\"calculater\": \"exact\", \"ad\": \"lax\"}}}");
    EXPECT(RUN_WITH({.bare = true}, "check", "toolrack.json", "--plugins", e2e_plugins()), 1,
           "*warning config-tool: line 3, *names 'calculater', and there is no such tool\n*"
           "line 3, *names 'ad', *did you mean \"add\"*",
           "");
    e2e_write("toolrack.json", "{\"policies\": {\"kit\": {\"workers\": 2}},\n"
                               "\"serve\": {\"pinned\": [\"add\"]}}");
    EXPECT(RUN_WITH({.bare = true}, "check", "toolrack.json", "--plugins", "nowhere"), 1,
           "*warning config-folder: */nowhere: the folder does not exist\n    fix: create it, or "
           "leave it out\n*warning config-plugin: *",
           "");
    EXPECT(RUN_WITH({.bare = true}, "check", "toolrack.json", "--plugins", "toolrack.json"), 1,
           "*error config-folder: */toolrack.json: it is not a folder\n    fix: name the folder "
           "that "
           "the plugin files are in\n*",
           "");
    EXPECT(WITH("serve", "--plugins", "toolrack.json"), 1, "",
           "*InputOutput: cannot watch */toolrack.json: it is not a folder; name the folder that "
           "the "
           "plugin files are in\n");
    EXPECT(RUN_WITH({.bare = true}, "check", "toolrack.json", "--safe-mode", "--plugins",
                    e2e_plugins()),
           1, "*warning config-plugin: *", "");
    EXPECT(RUN_WITH({.bare = true}, "check", "toolrack.json", "--plugins", e2e_plugins(),
                    "--verbose"),
           0, "*no problems found\n", "*toolrack: *: *");
}

static void check_refuses_options_without_effect(void **state) {
    (void)state;
    e2e_write("toolrack.json", "{\"grants\": [\"nothing\"]}");
    EXPECT(RUN_WITH({.bare = true}, "check", "toolrack.json", "--color", "always"), 1,
           "*\x1b[*mwarning\x1b[0m config-grant: *", "");
    EXPECT(RUN_WITH({.bare = true}, "check", "toolrack.json", "--config", "toolrack.json"), 2, "",
           "toolrack: check takes no --config: the configuration is a FILE to check; leave it "
           "out\n");
    EXPECT(RUN_WITH({.bare = true}, "check", "toolrack.json", "--state", "state"), 2, "",
           "toolrack: check takes no --state: it neither keeps nor reads settings; *");
    EXPECT(RUN_WITH({.bare = true}, "check", "toolrack.json", "--require-sandbox"), 2, "",
           "toolrack: check takes no --require-sandbox: it runs no tool; *");
    EXPECT(RUN_WITH({.bare = true}, "check", "toolrack.json", "--state", "state", "--json"), 2,
           NULL, NULL);
}

/* Of "allow", what names nothing that the plugin declares. */
static void check_finds_what_allows_nothing(void **state) {
    (void)state;
    e2e_write("toolrack.json",
              "{\"policies\": {\"lookup\": {\"allow\": [\"env:HOME\", \"read:/usr/share\",\n"
              "\"read:/nowhere\",\n"
              "\"network\"]}},\n"
              "\"tools\": [{\"name\": \"lookup\", \"description\": \"A variable\",\n"
              "\"type\": \"function\", \"implementation\": {\"type\": \"native\",\n"
              "\"library\": \"libc.so.6\", \"symbol\": \"getenv\",\n"
              "\"capabilities\": [\"env:HOME\", \"read:/usr\"],\n"
              "\"arguments\": [{\"name\": \"name\", \"type\": \"string\", \"description\": "
              "\"which\"}],\n"
              "\"result\": {\"type\": \"string\", \"nullable\": true}}}]}\n");
    EXPECT(RUN_WITH({.bare = true}, "check", "toolrack.json"), 1,
           "toolrack.json: configuration, 1 tool\n"
           "  warning config-allow: line 2, column 1: \"read:/nowhere\" allows nothing to lookup, "
           "which declares env:HOME, read:/usr\n"
           "    fix: remove it, or write what the plugin declares\n"
           "  warning config-allow: line 3, column 1: \"network\" allows nothing to lookup, *\n"
           "    fix: *\n",
           "");
}

static const char mixed[] =
        "{\"tools\": [\n"
        "{\"name\": \"fetch\", \"description\": \"d\", \"type\": \"function\", \"parameters\":\n"
        " {\"type\": \"object\"}, \"implementation\": {\"type\": \"http\", \"url\": \"x\"}},\n"
        "{\"name\": \"inner\", \"description\": \"d\", \"type\": \"function\", \"parameters\":\n"
        " {\"type\": \"object\"}, \"implementation\": {\"type\": \"internal\", \"handler\": "
        "\"h\"}},\n"
        "{\"name\": \"sum\", \"description\": \"d\", \"type\": \"function\", \"parameters\":\n"
        " {\"type\": \"object\"}, \"implementation\": {\"type\": \"builtin\", \"handler\": "
        "\"suum\"}},\n"
        "{\"name\": \"fine\", \"description\": \"d\", \"type\": \"function\", \"parameters\":\n"
        " {\"type\": \"object\"}, \"implementation\": {\"type\": \"mock\", \"mock_response\": "
        "1}},\n"
        "{\"name\": \"fine\", \"description\": \"d\", \"type\": \"function\", \"parameters\":\n"
        " {\"type\": \"object\"}, \"implementation\": {\"type\": \"mock\", \"mock_response\": 2}}\n"
        "]}\n";

static void a_wrong_one_is_a_row_and_told_once(void **state) {
    (void)state;
    e2e_write("toolrack.json", mixed);
    EXPECT(WITH("call", "fine"), 0, "1\n",
           "toolrack: 4 problems with tools or plugins; see them: toolrack *list --all\n");
    EXPECT(WITH("list", "--verbose"), 0, NULL,
           "*toolrack: error: config: toolrack.json, line 3: tool 'fetch' is left out: HTTP tools "
           "not "
           "yet supported (coming in v2); *\n"
           "*line 5: tool 'inner' is left out: unknown handler 'h'; there are: none*\n"
           "*line 7: tool 'sum' is left out: unknown handler 'suum'; there are: echo, "
           "current_time, list_tools; *\n"
           "*warning: fine: Tool already exists: fine 1.0.0, from plugin fine (toolrack.json); "
           "that of toolrack.json is left out; name it fine_v2, *\n");
    EXPECT(WITH("list", "--all"), 0,
           "*fetch *refused *HTTP tools not yet supported (coming in v2)*fine *refused *Tool "
           "already exists: fine 1.0.0, *",
           "");
    EXPECT(WITH("call", "fetch"), 3, "", NULL);
    EXPECT(WITH("call", "inner"), 3, "", NULL);
}

static const char add_tool[] =
        "\"tools\": [{\"name\": \"add\", \"description\": \"d\", \"type\": \"function\",\n"
        "\"parameters\": {\"type\": \"object\"},\n"
        "\"implementation\": {\"type\": \"mock\", \"mock_response\": \"mine\"}}]}\n";

/* The fixtures have an `add` of the same version. */
static void a_definition_comes_before_a_plugin(void **state) {
    (void)state;
    char text[512] = "{";
    e2e_write("toolrack.json", strcat(text, add_tool));
    EXPECT(WITH("call", "add"), 0, "mine\n",
           "toolrack: 1 problem with tools or plugins; see it: toolrack *list --all\n");
    EXPECT(WITH("call", "add", "--verbose"), 0, "mine\n",
           "*toolrack: warning: *: Tool already exists: add 1.0.0, from plugin add "
           "(toolrack.json), of trust official; *; name it add_v2, *\n");
    /* To replace is within one origin; an administrator may choose between several. */
    strcpy(text, "{\"duplicates\": \"replace\", ");
    e2e_write("toolrack.json", strcat(text, add_tool));
    EXPECT(WITH("call", "add"), 0, "mine\n", NULL);
    EXPECT(WITH("default", "add", "1.0.0", "--plugin", "kit"), 0,
           "the default of add is 1.0.0, as set*", NULL);
    EXPECT(WITH("call", "add", "{\"a\":1,\"b\":2}"), 0, "3.0\n", NULL);
    EXPECT(WITH("default", "add", "--reset"), 0, "*", NULL);
    EXPECT(WITH("call", "add"), 0, "mine\n", NULL);
    EXPECT(WITH("adopt", "kit"), 1, "", "*needs no adoption*");
}

#define MOCK(name, permission)                                                                  \
    "{\"name\": \"" name "\", \"description\": \"d\", \"type\": \"function\", \"permission\": " \
    "\"" permission "\", \"parameters\": {\"type\": \"object\"}, \"implementation\": "          \
    "{\"type\": \"mock\", \"mock_response\": 1}},\n"
#define PLAN(name, more)                                                             \
    "{\"name\": \"" name "\", \"description\": \"d\", \"type\": \"function\", " more \
    "\"implementation\": {\"type\": \"plan\", \"file\": \"" name ".json\"}}"

/* What each call of a plan would be refused for is said before the first. */
static void check_tells_of_plans_that_cannot_be_called(void **state) {
    (void)state;
    e2e_write(
            "toolrack.json",
            "{\"tools\": [\n" MOCK("careful", "confirm") MOCK("risky", "dangerous")
                    PLAN("low", "") ",\n" PLAN("some", "\"permission\": \"confirm\", ") ",\n" PLAN(
                            "itself",
                            "") ",\n" PLAN("there",
                                           "") ",\n" PLAN("back",
                                                          "") ",\n" PLAN("outside",
                                                                         "") ",\n" PLAN("fine",
                                                                                        "\"permissi"
                                                                                        "on\": "
                                                                                        "\"confirm"
                                                                                        "\", ") "]}"
                                                                                                "\n");
    e2e_write("low.json", "{\"nodes\": [{\"id\": \"a\", \"tool\": \"careful\"}]}\n");
    e2e_write("some.json", "{\"nodes\": [{\"id\": \"a\", \"tool\": \"careful\"}, {\"id\": \"b\", "
                           "\"tool\": \"careful\", \"on_error\": {\"fallback\": {\"tool\": "
                           "\"risky\"}}}]}\n");
    e2e_write("itself.json", "{\"nodes\": [{\"id\": \"a\", \"tool\": \"itself\"}]}\n");
    e2e_write("there.json", "{\"nodes\": [{\"id\": \"a\", \"tool\": \"back\"}]}\n");
    e2e_write("back.json", "{\"nodes\": [{\"id\": \"a\", \"tool\": \"there\"}]}\n");
    e2e_write("outside.json", "{\"nodes\": [{\"id\": \"a\", \"tool\": \"itself\"}]}\n");
    e2e_write("fine.json", "{\"nodes\": [{\"id\": \"a\", \"tool\": \"careful\"}]}\n");
    EXPECT(RUN_WITH({.bare = true}, "check", "toolrack.json"), 1,
           "toolrack.json: configuration, 9 tools\n"
           "  error definition-plan: line 4, column 1: low: the plan calls 'careful', which is "
           "confirm, and is safe itself\n"
           "    fix: write \"permission\": \"confirm\" in its definition\n"
           "  error definition-plan: line 5, column *: some: the plan calls 'risky', which is "
           "dangerous, and is confirm itself\n"
           "    fix: write \"permission\": \"dangerous\" in its definition\n"
           "  error definition-plan: line 6, column *: itself: the plan calls itself: itself -> "
           "itself\n"
           "    fix: take one of these calls out of its plan\n"
           "  error definition-plan: line 7, column *: there: the plan calls itself: there -> back "
           "-> there\n"
           "    fix: *\n"
           "  error definition-plan: line 8, column *: back: the plan calls itself: back -> there "
           "-> back\n"
           "    fix: *\n"
           "  error definition-plan: line 9, column *: outside: a plan that it calls calls itself: "
           "outside -> itself -> itself\n"
           "    fix: *\n",
           "");
    EXPECT_JSON(RUN_WITH({.bare = true}, "check", "toolrack.json", "--json"), 1,
                "/0/findings/0/pointer", "\"/tools/2/permission\"", "/0/findings/2/pointer",
                "\"/tools/4/implementation/file\"", "/0/findings/6", "");
}

static void safe_mode_starts_without_them(void **state) {
    (void)state;
    e2e_write("toolrack.json", good);
    EXPECT(WITH("--safe-mode", "call", "weather"), 3, "", NULL);
}

/* ----------------------------------------------------------------------- check */

static void check_has_nothing_to_mend(void **state) {
    (void)state;
    e2e_write("toolrack.json", good);
    EXPECT(RUN_WITH({.bare = true}, "check", "toolrack.json"), 0,
           "toolrack.json: configuration, 3 tools, no problems found\n", "");
    e2e_write("settings", "// by its beginning\n{\"pin\": \"off\"}\n");
    EXPECT(RUN_WITH({.bare = true}, "check", "settings"), 0,
           "settings: configuration, 0 tools, no problems found\n", "");
}

static void check_explains_each_error_by_line(void **state) {
    (void)state;
    e2e_write("plan.json", "{\"nodes\": [{\"id\": \"a\", \"tool\": \"add\"}]}\n");
    EXPECT(RUN_WITH({.bare = true}, "check", "plan.json"), 1,
           "plan.json: configuration, 0 tools\n"
           "  error config-key: line 1, column 2: unknown key \"nodes\"\n"
           "    fix: this is a plan, and no configuration: check it with toolrack run --dry-run "
           "FILE\n",
           "");
    e2e_write("toolrack.json", "{\n"
                               "    \"deadline_ms\": \"soon\",\n"
                               "    // the next line is about nothing\n"
                               "    \"polices\": {},\n"
                               "    \"tools\": [\n"
                               "        {\"name\": \"t\", \"type\": \"function\",\n"
                               "         \"parameters\": {\"type\": \"object\"},\n"
                               "         \"implementation\": {\"type\": \"builtin\",\n"
                               "             \"handler\": \"ecko\"}}\n"
                               "    ]\n"
                               "}\n");
    EXPECT(RUN_WITH({.bare = true}, "check", "toolrack.json"), 1,
           "toolrack.json: configuration, 0 tools\n"
           "  error config-value: line 2, column 20: /deadline_ms must be an integer, not "
           "a string\n"
           "    fix: write for example \"deadline_ms\": 30000\n"
           "  error config-key: line 4, column 5: unknown key \"polices\"\n"
           "    fix: did you mean \"policies\"?\n"
           "  error definition-missing: line 6, column 9: t: the definition has no "
           "\"description\"\n"
           "    fix: add for example *\n"
           "  error definition-handler: line 9, column 25: t: unknown handler 'ecko'; there are: "
           "echo, current_time, list_tools\n"
           "    fix: *\n",
           "");
    EXPECT_JSON(RUN_WITH({.bare = true}, "check", "toolrack.json", "--json"), 1,
                "/0/is_configuration", "true", "/0/findings/1/line", "4", "/0/findings/1/column",
                "5", "/0/findings/1/rule", "\"config-key\"", "/0/findings/4", "");
}

static void check_finds_where_it_is_no_json(void **state) {
    (void)state;
    e2e_write("toolrack.json", "{\n    \"tools\": [\n        {]\n}\n");
    EXPECT(RUN_WITH({.bare = true}, "check", "toolrack.json"), 1,
           "toolrack.json: configuration, 0 tools\n"
           "  error config-syntax: line 3, column 10: *\n    fix: *\n",
           "");
    EXPECT(WITH("list"), 1, "", "toolrack: *toolrack.json, line 3, column 10: *\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, e2e_setup, e2e_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
            TEST(defined_tools_are_tools_like_any_other),
            TEST(a_function_of_a_library_is_a_tool),
            TEST(a_library_that_is_missing_is_known_after_the_command),
            TEST(check_finds_servers_that_cannot_be_used),
            TEST(check_finds_what_has_no_effect),
            TEST(keys_that_others_may_write_are_refused),
            TEST(check_finds_what_cannot_be_served),
            TEST(check_notes_what_needs_a_token),
            TEST(check_is_with_the_plugins_that_are_named),
            TEST(check_refuses_options_without_effect),
            TEST(check_finds_what_allows_nothing),
            TEST(what_is_allowed_to_a_function_counts_from_the_next_start),
            TEST(a_wrong_one_is_a_row_and_told_once),
            TEST(a_definition_comes_before_a_plugin),
            TEST(safe_mode_starts_without_them),
            TEST(check_has_nothing_to_mend),
            TEST(check_explains_each_error_by_line),
            TEST(check_finds_where_it_is_no_json),
            TEST(check_tells_of_plans_that_cannot_be_called),
    };
    return cmocka_run_group_tests_name("configured", tests, NULL, NULL);
}
