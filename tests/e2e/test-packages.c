/* Packages, from the key to the removal: made, signed, published on a web server of the test's own,
 * installed in another state folder, updated and gone back from. And each lie that is refused. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "e2e.h"
#include "file-server.h"
#include "patience.h"
#include "toolrack/toolrack.h"

#define ID          "org.example.parcel"
#define BARE(...)   RUN_WITH({.bare = true}, "--state", "state", __VA_ARGS__)
/* What is signed and published is of another machine, whose state this one does not have. */
#define AUTHOR(...) RUN_WITH({.bare = true}, "--state", "author", __VA_ARGS__)

#define ONE       "one/" ID "-1.0.0.trp"
#define TWO       "two/" ID "-1.1.0.trp"
#define TWO_AGAIN "again/" ID "-1.1.0.trp"
#define THREE     "three/" ID "-1.2.0.trp"
#define FOUR      "four/" ID "-1.4.0.trp"
#define CHATTY    "chatty/org.example.chatty-1.2.0.trp"
#define STEADY    "steady-1/org.example.steady-1.0.0.trp"
#define CHANGED   "steady-2/org.example.steady-1.1.0.trp"
#define STRANGER  "stranger/com.stranger.parcel-1.0.0.trp"
#define TWIN      "twin/org.Example.parcel-1.0.0.trp"

/* ------------------------------------------------------------ what is there */

static void make(const char *folder, const char *plugin, const char *file) {
    char from[4096];
    char to[256];
    assert_int_equal(mkdir(folder, 0700), 0);
    (void)snprintf(from, sizeof from, "%s/%s.so", getenv("E2E_PACKAGES"), plugin);
    (void)snprintf(to, sizeof to, "%s/parcel.so", folder);
    e2e_copy(from, to, 0);
    (void)snprintf(to, sizeof to, "%s/README.md", folder);
    e2e_write(to, "# Parcels\n");
    (void)snprintf(to, sizeof to, "%s/LICENSE", folder);
    e2e_write(to, "MIT\n");
    EXPECT(AUTHOR("pack", folder, "--output", file), 0, NULL, NULL);
}

static void sign(const char *file, const char *key) {
    EXPECT(AUTHOR("sign", file, "--key", key), 0, NULL, NULL);
}

/* Keys and packages are made once: to link, check and compress them takes most of the time. */
static char shelf[] = "/tmp/toolrack-e2e-packages-XXXXXX";

static int make_all(void **state) {
    (void)state;
    if (mkdtemp(shelf) == NULL || chdir(shelf) != 0) {
        return -1;
    }
    EXPECT(AUTHOR("keys", "new", "ours", "--no-password"), 0, NULL, NULL);
    EXPECT(AUTHOR("keys", "new", "next", "--no-password"), 0, NULL, NULL);
    EXPECT(AUTHOR("keys", "new", "theirs", "--no-password"), 0, NULL, NULL);
    make("one", "parcel-1", ONE);
    make("two", "parcel-2", TWO);
    make("again", "parcel-2-again", TWO_AGAIN);
    make("three", "parcel-3", THREE);
    make("four", "parcel-4", FOUR);
    make("chatty", "chatty", CHATTY);
    make("steady-1", "steady-1", STEADY);
    make("steady-2", "steady-2", CHANGED);
    make("stranger", "stranger", STRANGER);
    make("twin", "twin", TWIN);
    sign(ONE, "ours.key");
    sign(TWO, "ours.key");
    sign(TWO_AGAIN, "ours.key");
    sign(THREE, "next.key");
    sign(FOUR, "ours.key");
    sign(CHATTY, "ours.key");
    sign(STEADY, "ours.key");
    sign(CHANGED, "ours.key");
    sign(STRANGER, "theirs.key");
    sign(TWIN, "ours.key");
    return 0;
}

static int remove_all(void **state) {
    char command[64];
    (void)state;
    (void)snprintf(command, sizeof command, "rm -rf %s", shelf);
    return chdir("/") | system(command);
}

/* A file of the shelf, in the folder of the test under the same name, with its signature. */
static void take(const char *file, const char *as) {
    char from[512];
    char to[512];
    (void)snprintf(from, sizeof from, "%s/%s", shelf, file);
    e2e_copy(from, as, 0);
    (void)snprintf(from, sizeof from, "%s/%s.minisig", shelf, file);
    (void)snprintf(to, sizeof to, "%s.minisig", as);
    if (access(from, F_OK) == 0) {
        e2e_copy(from, to, 0);
    }
}

static const char *at(const char *file) {
    static char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", shelf, file);
    return path;
}

static void trust(const char *key, const char *trust_name, const char *ids) {
    EXPECT(BARE("keys", "add", at(key), "--trust", trust_name, "--ids", ids), 0, NULL, NULL);
}

static void install(const char *file) {
    EXPECT(BARE("install", at(file), "--yes"), 0, NULL, NULL);
}

/* What serves. */
static void expect_version(const char *version) {
    char text[64];
    (void)snprintf(text, sizeof text, "%s\n", version);
    EXPECT(BARE("call", "parcel"), 0, text, NULL);
}

/* What is installed. */
static void expect_listed(const char *version) {
    char text[64];
    (void)snprintf(text, sizeof text, "\"%s\"", version);
    EXPECT_JSON(BARE("packages", "--json"), 0, "/0/version", text, "/1", "");
}

/* ------------------------------------------------------------------- a file */

static void a_package_is_installed_from_a_file(void **state) {
    (void)state;
    EXPECT(BARE("install", at(ONE), "--yes"), 5, "",
           "*PermissionDenied: *" ID "-1.0.0.trp: the signature is of key *, which is not trusted "
           "here*keys add KEY.pub *\n");
    trust("ours.pub", "community", "org.example.*");
    EXPECT(BARE("packages"), 0, "", "*no packages are installed\n");
    EXPECT(BARE("install", at(ONE)), 5, "",
           ID
           " 1.0.0, signed by *tools:\n  parcel (safe): Say which version this is\n*capabilities: "
           "none\n*ConfirmationRequired: nobody can be asked *; agree with --yes\n");
    EXPECT(BARE("install", at(ONE), "--json"), 5, "*nobody can be asked *--dry-run*--yes*", "");
    EXPECT(BARE("install", at(ONE), "--dry-run"), 0,
           ID " 1.0.0, signed by *, trust community, from *\ntools:\n  parcel (safe): Say which "
              "version this is\n  weigh (safe): Weigh a parcel\ncapabilities: none\nnothing was "
              "changed\n",
           "");
    EXPECT(BARE("call", "parcel"), 3, NULL, NULL);
    assert_int_equal(rmdir("state/packages/incoming"), 0); /* nothing was left in it */
    EXPECT_JSON(BARE("install", at(ONE), "--yes", "--json"), 0, "/id", "\"" ID "\"", "/version",
                "\"1.0.0\"", "/installed", "null", "/trust", "\"community\"", "/changed", "true",
                "/serves", "true", "/tools/0/permission", "\"safe\"", "/hosts", "0");
    expect_version("1.0.0");
    EXPECT(BARE("install", at(ONE), "--yes"), 0, ID " 1.0.0 is installed already\n", NULL);
    EXPECT_JSON(BARE("packages", "--json"), 0, "/0/id", "\"" ID "\"", "/0/version", "\"1.0.0\"",
                "/0/previous", "null", "/1", "");
    EXPECT_JSON(BARE("decisions", "--plugin", ID, "--json"), 0, "/0/decision", "\"installed\"",
                "/0/why", "\"signed by *, trust community, from *");
    EXPECT(BARE("uninstall", ID), 0, ID " 1.0.0 is uninstalled\n", NULL);
    EXPECT(BARE("call", "parcel"), 3, NULL, NULL);
    EXPECT(BARE("uninstall", ID), 3, "", "*NotFound: no package '" ID "' is installed*packages\n");
    EXPECT(BARE("install", "nothing.trp", "--yes"), 3, "", "*'nothing.trp'*\n");
    EXPECT(BARE("install", ".", "--yes"), 3, "", "*not exactly one file .trp*index .\n");
    EXPECT(BARE("install", at("one"), "--yes"), 0, "*" ID " 1.0.0 is installed\n", NULL);
}

static void a_person_is_shown_what_it_wants_and_asked(void **state) {
    (void)state;
    trust("ours.pub", "community", ID);
    install(ONE);
    struct run no =
            RUN_WITH(HOW(.bare = true, .typed = "n\n"), "--state", "state", "install", at(TWO));
    EXPECT_MATCH(
            no.err,
            "*" ID " 1.1.0, signed by *capabilities, which 'toolrack allow' grants:\n  "
            "network:*:443\nchanges since 1.0.0:\n  breaks: tool-removed, weigh: the tool is "
            "gone\n  capability-added: network:*:443\n  text, parcel: its description is \"Say "
            "which version of it this is\", was *update " ID " 1.0.0 to 1.1.0?*nobody agreed*");
    assert_int_equal(no.exit, 5);
    run_finish(&no);
    expect_version("1.0.0");
    EXPECT(RUN_WITH(HOW(.bare = true, .typed = "y\n"), "--state", "state", "install", at(TWO)), 0,
           ID " 1.1.0 is installed, in place of 1.0.0\n", NULL);
    expect_version("1.1.0");
}

static void what_is_unsigned_needs_a_word_and_a_file(void **state) {
    (void)state;
    take(ONE, "plain.trp");
    assert_int_equal(unlink("plain.trp.minisig"), 0);
    EXPECT(BARE("install", "plain.trp", "--yes"), 1, "",
           "*Refused: plain.trp has no signature: *if nothing that is signed is installed under "
           "its "
           "id, add --unsigned*\n");
    EXPECT(BARE("install", "plain.trp", "--yes", "--unsigned"), 0,
           "*1.0.0, unsigned, trust community*", NULL);
    expect_version("1.0.0");
    /* What is signed may take its place, but not the other way round. */
    trust("ours.pub", "community", ID);
    install(TWO);
    take(TWO_AGAIN, "plain.trp");
    assert_int_equal(unlink("plain.trp.minisig"), 0);
    EXPECT(BARE("install", "plain.trp", "--yes", "--unsigned"), 1, "",
           "*Refused: plain.trp is unsigned, and what is installed *--unsigned does not replace; "
           "get its signature, or *uninstall " ID "\n");
    expect_version("1.1.0");
}

/* ------------------------------------------------------------------ updates */

static void an_update_is_gone_back_from(void **state) {
    (void)state;
    trust("ours.pub", "official", ID);
    install(ONE);
    expect_version("1.0.0");
    EXPECT_JSON(BARE("install", at(TWO), "--yes", "--json"), 0, "/installed", "\"1.0.0\"",
                "/changes/0/kind", "\"tool-removed\"", "/changes/0/breaks", "true",
                "/changes/1/kind", "\"capability-added\"", "/trust", "\"official\"");
    expect_version("1.1.0");
    EXPECT_JSON(BARE("packages", "--json"), 0, "/0/version", "\"1.1.0\"", "/0/previous",
                "\"1.0.0\"");
    EXPECT_JSON(BARE("rollback", ID, "--json"), 0, "/version", "\"1.0.0\"", "/from", "\"1.1.0\"",
                "/rolled_back", "true");
    expect_version("1.0.0");
    EXPECT(BARE("call", "weigh", "--arg", "grams=7"), 0, "7\n", NULL);
    EXPECT(BARE("call", "parcel@1.1.0"), 3, "", "*has no version '1.1.0'*\n"); /* it is not kept */
    EXPECT(BARE("rollback", ID), 3, "",
           "*NotFound: no version of '" ID "' before 1.0.0 is kept*\n");
    install(TWO);
    expect_version("1.1.0");
    EXPECT(BARE("call", "parcel@1.0.0"), 0, "1.0.0\n", NULL);
}

/* A tool that asked for more care in the version that was gone back from: what was decided about
 * that is not what was decided about this one. */
static void what_was_approved_goes_back_with_the_version(void **state) {
    (void)state;
    trust("ours.pub", "community", ID);
    install(ONE);
    expect_version("1.0.0");
    install(FOUR);
    EXPECT(BARE("call", "parcel"), 5, "", "*ConfirmationRequired: *");
    EXPECT(BARE("grant", "parcel"), 0, NULL, NULL);
    expect_version("1.4.0");
    EXPECT(BARE("rollback", ID), 0, ID " 1.0.0 is installed, *\n", NULL);
    expect_version("1.0.0");
    EXPECT(BARE("call", "weigh", "--arg", "grams=7"), 0, "7\n", NULL);
    /* The grant was for another tool than the one that was gone back to. */
    install(FOUR);
    EXPECT(BARE("call", "parcel"), 5, "", "*ConfirmationRequired: *");
}

static void what_was_pinned_goes_back_with_the_version(void **state) {
    (void)state;
    trust("ours.pub", "community", ID);
    install(ONE);
    EXPECT(BARE("grant", "parcel"), 0, NULL, NULL);
    EXPECT(BARE("install", at(TWO), "--yes"), 0,
           "*in place of 1.0.0; 'parcel' is not as it was approved and does not run; approve it: "
           "*grant parcel\n",
           NULL);
    EXPECT(BARE("call", "parcel"), 5, "", "*is not what was approved*");
    /* Back, and nothing was decided in between. */
    EXPECT_JSON(BARE("rollback", ID, "--json"), 0, "/held", "[]");
    expect_version("1.0.0");
    install(TWO);
    EXPECT(BARE("call", "parcel"), 5, "", "*is not what was approved*");
    EXPECT(BARE("grant", "parcel"), 0, NULL, NULL);
    expect_version("1.1.0");
    EXPECT(BARE("rollback", ID), 0, NULL, NULL);
    expect_version("1.0.0");
    EXPECT_JSON(BARE("grants", "--json"), 0, "/0/tool", "\"parcel\"", "/0/reason", "null");
    /* What was held before is held after: to go back approves nothing. */
    install(TWO);
    install(FOUR);
    EXPECT(BARE("rollback", ID), 0,
           ID " 1.1.0 is installed, *; 'parcel' is not as it was approved and does not run; *\n",
           NULL);
    EXPECT(BARE("call", "parcel"), 5, "", "*is not what was approved*");
}

/* The texts of a tool have changed, and its version has not: it is another one all the same. */
static void a_tool_of_one_version_is_pinned_by_its_texts(void **state) {
    (void)state;
    trust("ours.pub", "community", "org.example.*");
    install(STEADY);
    EXPECT(BARE("grant", "parcel"), 0, NULL, NULL);
    expect_version("1.0.0");
    install(CHANGED);
    EXPECT(BARE("call", "parcel"), 5, "", "*is not what was approved*description*");
    EXPECT(BARE("grant", "parcel"), 0, NULL, NULL); /* in place of the other pin */
    expect_version("1.1.0");
    EXPECT(BARE("rollback", "org.example.steady"), 0, NULL, NULL);
    expect_version("1.0.0");
    EXPECT(BARE("uninstall", "org.example.steady"), 0, NULL, NULL);
    /* A package without a signature may come again under its version. */
    take(TWO, "plain.trp");
    assert_int_equal(unlink("plain.trp.minisig"), 0);
    EXPECT(BARE("install", "plain.trp", "--unsigned", "--yes"), 0, NULL, NULL);
    EXPECT(BARE("grant", "parcel"), 0, NULL, NULL);
    expect_version("1.1.0");
    take(TWO_AGAIN, "plain.trp");
    assert_int_equal(unlink("plain.trp.minisig"), 0);
    EXPECT(BARE("install", "plain.trp", "--unsigned", "--yes"), 0, NULL, NULL);
    EXPECT(BARE("call", "parcel"), 5, "", "*is not what was approved*");
    EXPECT(BARE("rollback", ID), 0, NULL, NULL);
    expect_version("1.1.0");
}

/* The id of the key that was added first. */
static const char *first_key(void) {
    static char id[17];
    struct run run = BARE("keys", "--json");
    const char *found = strstr(run.out, "\"id\":\"");
    assert_non_null(found);
    memcpy(id, found + 6, sizeof id - 1);
    run_finish(&run);
    return id;
}

/* What a removed key has signed runs and can be gone back from; nothing more comes by it. */
static void a_removed_key_brings_nothing_more(void **state) {
    (void)state;
    trust("ours.pub", "community", ID);
    install(ONE);
    install(TWO);
    EXPECT(BARE("keys", "remove", first_key()), 0, NULL, NULL);
    expect_version("1.1.0");
    EXPECT(BARE("install", at(FOUR), "--yes"), 5, "", "*PermissionDenied: *which is not trusted*");
    EXPECT(BARE("rollback", ID), 0, NULL, NULL);
    expect_version("1.0.0");
    EXPECT(BARE("install", at(TWO), "--yes"), 5, "", "*PermissionDenied: *which is not trusted*");
    /* Another key for the id does not take over what it has signed. */
    trust("next.pub", "community", ID);
    EXPECT(BARE("install", at(THREE), "--yes"), 5, "", "*has not signed over to it*");
    EXPECT(BARE("uninstall", ID), 0, NULL, NULL);
    install(THREE);
}

static void an_older_version_is_a_downgrade(void **state) {
    (void)state;
    trust("ours.pub", "community", ID);
    install(TWO);
    EXPECT(BARE("install", at(ONE), "--yes"), 1, "", "*Refused: *(a downgrade)*rollback " ID "\n");
    EXPECT(BARE("install", at(TWO_AGAIN), "--yes"), 1, "",
           "*Refused: *another file: a version is published once*\n");
    expect_version("1.1.0");
}

static void a_key_signs_only_its_ids(void **state) {
    (void)state;
    trust("theirs.pub", "official", "com.stranger.*");
    take(ONE, "taken.trp");
    EXPECT(AUTHOR("sign", "taken.trp", "--key", at("theirs.key")), 0, NULL, NULL);
    EXPECT(BARE("install", "taken.trp", "--yes"), 5, "",
           "*PermissionDenied: taken.trp: *" ID "*\n");
    install(STRANGER);
}

/* To a person it looks the same. */
static void an_id_differs_in_more_than_case(void **state) {
    (void)state;
    trust("ours.pub", "official", "*");
    install(ONE);
    EXPECT(BARE("install", at(TWIN), "--yes"), 1, "",
           "*Refused: *'org.Example.parcel', and '" ID "' is installed, *uninstall " ID "\n");
    EXPECT(BARE("uninstall", ID), 0, NULL, NULL);
    install(TWIN);
}

static void an_update_needs_the_key_or_its_successor(void **state) {
    (void)state;
    trust("ours.pub", "community", ID);
    install(ONE);
    trust("next.pub", "community", "*");
    EXPECT(BARE("install", at(THREE), "--yes"), 5, "",
           "*PermissionDenied: *is signed by the key *has not signed over to it*\n");
    expect_version("1.0.0");
    take("next.pub", "next.pub");
    EXPECT(AUTHOR("sign", "next.pub", "--key", at("ours.key")), 0, NULL, NULL);
    EXPECT(BARE("keys", "add", "next.pub"), 0, NULL, NULL);
    /* Also when the old one is trusted no longer, as when it was stolen. */
    EXPECT(BARE("keys", "remove", first_key()), 0, NULL, NULL);
    EXPECT(BARE("install", at(TWO), "--yes"), 5, "", "*PermissionDenied: *which is not trusted*");
    install(THREE);
    expect_version("1.2.0");
}

static void another_trust_is_another_plugin(void **state) {
    (void)state;
    trust("ours.pub", "community", ID);
    install(ONE);
    trust("ours.pub", "official", ID);
    EXPECT(BARE("install", at(TWO), "--yes"), 1, "",
           "*Refused: *installed with trust community, and would have trust official*uninstall*\n");
    expect_version("1.0.0");
}

static void what_was_changed_is_refused_before_it_is_read(void **state) {
    (void)state;
    trust("ours.pub", "community", ID);
    take(ONE, "changed.trp");
    FILE *file = fopen("changed.trp", "r+e");
    assert_non_null(file);
    assert_int_equal(fputc('?', file), '?'); /* no compressor's file any more */
    assert_int_equal(fclose(file), 0);
    EXPECT(BARE("install", "changed.trp", "--yes"), 1, "",
           "*Refused: changed.trp: the signature *\n");
}

/* Another file of the same trust had the id before. */
static void what_does_not_serve_is_told(void **state) {
    (void)state;
    take("one/parcel.so", "parcel.so");
    assert_int_equal(mkdir("own", 0700) | rename("parcel.so", "own/parcel.so"), 0);
    e2e_write("toolrack.json", "{\"folders\": [\"own\"]}");
    EXPECT(BARE("--config", "toolrack.json", "call", "parcel"), 0, "1.0.0\n", NULL);
    trust("ours.pub", "community", ID);
    EXPECT(BARE("--config", "toolrack.json", "install", at(TWO), "--yes"), 0, NULL,
           "*" ID " is installed and does not serve: *own/parcel.so*");
    EXPECT(BARE("--config", "toolrack.json", "call", "parcel"), 0, "1.0.0\n", NULL);
    EXPECT(RUN_WITH({.plugins = "own"}, "install", at(TWO), "--yes"), 0,
           ID " 1.1.0 is installed already\n", "*does not serve: this host looks *--plugins*\n");
}

/* What came with the host has the highest trust, and serves. */
/* Whoever may write to packages/ could exchange plugins, and choose their trust. */
static void what_others_could_exchange_does_not_serve(void **state) {
    (void)state;
    trust("ours.pub", "community", "org.example.*");
    install(ONE);
    assert_int_equal(chmod("state/packages", 0777), 0);
    EXPECT(BARE("call", "parcel"), 3, "",
           "*nothing is read from state/packages: *no other may write to it (chmod "
           "go-w)*NotFound*");
    EXPECT(BARE("install", at(TWO), "--yes"), 1, "", "*Refused: packages are not read from *");
    assert_int_equal(chmod("state/packages", 0700), 0);
    expect_version("1.0.0");
    assert_int_equal(rename("state/packages", "elsewhere"), 0);
    assert_int_equal(symlink("../elsewhere", "state/packages"), 0);
    EXPECT(BARE("call", "parcel"), 3, "", "*nothing is read from *no symbolic link*");
}

/* Its links are relative: whoever moved a folder and left a link would have lost the plugin. */
static void a_folder_that_is_a_link_is_refused_before_anything_changes(void **state) {
    (void)state;
    static const char *const folders[] = {"community", "content", "incoming", "left"};
    trust("ours.pub", "community", "org.example.*");
    install(ONE);
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        char path[128];
        (void)snprintf(path, sizeof path, "state/packages/%s", folders[i]);
        assert_int_equal(rename(path, "moved"), 0);
        assert_int_equal(symlink("../../moved", path), 0);
        (void)snprintf(path, sizeof path, "*Refused: *packages/%s must be a folder and no *",
                       folders[i]);
        EXPECT(BARE("install", at(TWO), "--yes"), 1, NULL, path);
        EXPECT(BARE("uninstall", ID), 1, "", path);
        (void)snprintf(path, sizeof path, "state/packages/%s", folders[i]);
        assert_int_equal(unlink(path), 0);
        assert_int_equal(rename("moved", path), 0);
        expect_version("1.0.0");
    }
}

static void what_is_damaged_is_uninstalled_and_installed_again(void **state) {
    (void)state;
    static const char *const damages[] = {
            "rm state/packages/content/*/*/installed.json",
            "echo { >$(echo state/packages/content/*/*/installed.json)",
            "cd state/packages/content/*/* && rm installed.json && mkfifo installed.json",
            "rm -r state/packages/content/*/*"};
    trust("ours.pub", "community", "org.example.*");
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        install(ONE);
        assert_int_equal(system(damages[i]), 0);
        EXPECT(BARE("install", at(TWO), "--yes"), 1, "",
               "*installed.json *; uninstall the package, and install it again: toolrack --state *"
               " uninstall " ID "\n");
        EXPECT(BARE("rollback", ID), 1, "", "*; uninstall the package, and install it again: *");
        EXPECT(BARE("packages"), 0, "*" ID " *damaged*toolrack --state * uninstall " ID "\n", NULL);
        EXPECT(BARE("uninstall", ID), 0, ID " 1.0.0 is uninstalled\n", NULL);
        EXPECT(BARE("packages"), 0, "", "*no packages are installed\n");
    }
    install(TWO);
    expect_version("1.1.0");
}

static void the_id_of_a_bundled_plugin_is_taken(void **state) {
    (void)state;
    char folder[4096];
    take("one/parcel.so", "parcel.so");
    assert_int_equal(mkdir("bundled", 0700) | rename("parcel.so", "bundled/parcel.so"), 0);
    assert_non_null(getcwd(folder, sizeof folder - 16));
    (void)strcat(folder, "/bundled");
    trust("ours.pub", "official", "*");
    (void)setenv("TOOLRACK_BUILTIN_DIR", folder, 1);
    struct run first = BARE("install", at(TWO), "--yes");
    struct run second = BARE("install", at(TWIN), "--dry-run"); /* differs in case */
    (void)unsetenv("TOOLRACK_BUILTIN_DIR");
    assert_int_equal(access("state/packages", F_OK), -1); /* nothing was written */
    EXPECT(first, 1, "",
           "*Refused: the package '" ID "' would never serve: the plugin '" ID "', which comes "
           "with toolrack, has that id; its publisher *\n");
    EXPECT(second, 1, "", "*Refused: the package 'org.Example.parcel' would never serve*\n");
}

/* Text of a package cannot fill the screen; control characters are refused by 'pack', and escaped.
 */
static void what_an_author_writes_is_cut(void **state) {
    (void)state;
    trust("ours.pub", "community", "*");
    struct run run = BARE("install", at(CHATTY), "--dry-run");
    assert_int_equal(run.exit, 0);
    EXPECT_MATCH(run.out, "*parcel (safe): Say much 0123456789*789\u2026 (of 3* bytes; "
                          "--json has all)\n*");
    assert_null(strstr(run.out, "the end"));
    run_finish(&run);
}

/* Nobody waits for a person who is asked; and what he was shown is what he gets. */
static void others_install_while_a_person_is_asked(void **state) {
    (void)state;
    trust("ours.pub", "community", "*");
    install(ONE);
    char command[1024];
    (void)snprintf(command, sizeof command, "'%s' --state state install '%s' --yes >other 2>&1",
                   getenv("E2E_TOOLRACK"), at(CHATTY));
    struct run run = RUN_WITH(HOW(.bare = true, .typed = "y\n", .meanwhile = command), "--state",
                              "state", "install", at(TWO));
    EXPECT(run, 0, ID " 1.1.0 is installed, in place of 1.0.0\n", NULL);
    EXPECT_JSON(BARE("packages", "--json"), 0, "/0/id", "\"org.example.chatty\"", "/1/version",
                "\"1.1.0\"", "/2", "");
    EXPECT(BARE("uninstall", "org.example.chatty"), 0, NULL, NULL);
    /* Another one was faster; the key was removed. */
    EXPECT(BARE("rollback", ID), 0, NULL, NULL);
    (void)snprintf(command, sizeof command, "'%s' --state state install '%s' --yes >other 2>&1",
                   getenv("E2E_TOOLRACK"), at(FOUR));
    run = RUN_WITH(HOW(.bare = true, .typed = "y\n", .meanwhile = command), "--state", "state",
                   "install", at(TWO));
    EXPECT(run, 1, "",
           "*AlreadyExists: another process has installed, updated or removed*'" ID
           "' meanwhile; *");
    expect_listed("1.4.0");
    EXPECT(BARE("rollback", ID), 0, NULL, NULL);
    (void)snprintf(command, sizeof command,
                   "t='%s'; \"$t\" --state state keys remove $(\"$t\" --state state keys --json | "
                   "cut -d'\"' -f4) >other 2>&1",
                   getenv("E2E_TOOLRACK"));
    run = RUN_WITH(HOW(.bare = true, .typed = "y\n", .meanwhile = command), "--state", "state",
                   "install", at(TWO));
    EXPECT(run, 5, "", "*PermissionDenied: the key * was removed or changed*meanwhile*");
    expect_version("1.0.0"); /* what a removed key has signed still runs */
}

/* -------------------------------------------------------------------- index */

static struct file_server *server;
static char url[64];

static int publish(void **state) {
    if (e2e_setup(state) != 0 || mkdir("www", 0700) != 0) {
        return -1;
    }
    server = file_server_start("www");
    if (server == NULL) {
        return -1;
    }
    (void)snprintf(url, sizeof url, "http://127.0.0.1:%u", file_server_port(server));
    take(ONE, "www/one.trp");
    EXPECT(AUTHOR("index", "www"), 0,
           "*www/index.json: number 1, 1 packages, good until *sign --key SECRET.key *", "");
    EXPECT(AUTHOR("sign", "www/index.json", "--key", at("ours.key")), 0, NULL, NULL);
    trust("ours.pub", "community", "org.example.*");
    return 0;
}

static int unpublish(void **state) {
    file_server_stop(server);
    return e2e_teardown(state);
}

static void publish_again(void) {
    EXPECT(AUTHOR("index", "www"), 0, NULL, NULL);
    EXPECT(AUTHOR("sign", "www/index.json", "--key", at("ours.key")), 0, NULL, NULL);
}

static void what_is_published_is_installed_and_updated(void **state) {
    (void)state;
    char text[512];
    EXPECT(BARE("install", ID, "--yes"), 3, "", "*no index of packages*--index*\n");
    EXPECT_JSON(BARE("search", "--packages", "WEIGH which", "--index", url, "--json"), 0, "/0/id",
                "\"" ID "\"", "/0/version", "\"1.0.0\"", "/0/installed", "null", "/0/tools/0/name",
                "\"parcel\"");
    EXPECT(BARE("search", "--packages", "elephant", "--index", url), 0, "", "*no package fits*\n");
    EXPECT(BARE("install", ID, "--index", url, "--yes"), 0, "*" ID " 1.0.0 is installed\n", NULL);
    expect_version("1.0.0");
    take(TWO, "www/two.trp");
    publish_again();
    /* Where the configuration says it. */
    (void)snprintf(text, sizeof text, "{\"packages\": {\"index\": [\"%s/index.json\"]}}", url);
    e2e_write("toolrack.json", text);
    EXPECT(BARE("--config", "toolrack.json", "update", "--dry-run"), 0,
           "*breaks: tool-removed, weigh*nothing was changed\n", "");
    EXPECT(BARE("--config", "toolrack.json", "update", "--yes"), 0,
           "*" ID " 1.1.0 is installed, in place of 1.0.0\n", NULL);
    EXPECT(BARE("--config", "toolrack.json", "update"), 0, ID " 1.1.0 is the newest version\n",
           NULL);
    EXPECT(BARE("rollback", ID), 0, ID " 1.0.0 is installed, as before 1.1.0, *", NULL);
    EXPECT(BARE("--config", "toolrack.json", "update", ID, "--yes"), 0,
           ID " 1.0.0 stays, as 1.1.0 was gone back from; *install " ID "@1.1.0\n", NULL);
    EXPECT(BARE("--config", "toolrack.json", "install", ID "@^1", "--yes"), 0, NULL, NULL);
    expect_version("1.1.0");
    EXPECT(BARE("uninstall", ID), 0, NULL, NULL);
    /* The same by a folder, the URL of the index and that of the file. */
    EXPECT(BARE("install", "www@1.0.0", "--yes"), 0, "*" ID " 1.0.0 is installed\n", NULL);
    EXPECT(BARE("install", url, "--yes"), 0, "*" ID " 1.1.0 is installed, in place of 1.0.0\n",
           NULL);
    EXPECT(BARE("uninstall", ID), 0, NULL, NULL);
    (void)snprintf(text, sizeof text, "%s/to/two.trp", url); /* its signature is redirected, too */
    EXPECT(BARE("install", text, "--yes"), 0, "*" ID " 1.1.0 is installed\n", NULL);
}

static void all_are_updated(void **state) {
    (void)state;
    EXPECT(BARE("update", "--index", url), 0, "no packages are installed\n", NULL);
    trust("theirs.pub", "community", "com.stranger.*");
    install(ONE);
    install(STRANGER);
    EXPECT(BARE("update", "--index", url), 0,
           "com.stranger.parcel 1.0.0 is the newest version\n" ID " 1.0.0 is the newest version\n",
           NULL);
    take(TWO, "www/two.trp");
    publish_again();
    EXPECT(BARE("update", "--index", url), 5, "", "*nobody can be asked *--yes\n");
    EXPECT_JSON(BARE("update", "--index", url, "--json", "--dry-run"), 0, "/0/id",
                "\"com.stranger.parcel\"", "/0/changed", "false", "/1/version", "\"1.1.0\"",
                "/1/installed", "\"1.0.0\"", "/1/changed", "false", "/1/changes/0/breaks", "true");
    EXPECT_JSON(BARE("update", "--index", url, "--json", "--yes"), 0, "/0/changed", "false",
                "/1/changed", "true", "/2", "");
    expect_version("1.1.0");
    /* One that cannot be updated keeps no other from it. */
    assert_int_equal(unlink("www/index.json"), 0);
    EXPECT_JSON(BARE("update", "--index", url, "--json", "--yes"), 1, "/0/type", "\"NotFound\"",
                "/1/type", "\"NotFound\"");
    EXPECT(BARE("update", "--index", url), 1, "",
           "*com.stranger.parcel is not updated: *\n*" ID " is not updated: *\n");
}

/* Write an index by hand, and sign it. */
static void write_created(const char *number, const char *created, const char *expires,
                          const char *packages) {
    char text[2048];
    (void)snprintf(text, sizeof text,
                   "{\"toolrack_index\": 1, \"number\": %s, \"created\": \"%s\", "
                   "\"expires\": \"%s\", \"packages\": [%s]}",
                   number, created, expires, packages);
    e2e_write("www/index.json", text);
    EXPECT(AUTHOR("sign", "www/index.json", "--key", at("ours.key")), 0, NULL, NULL);
}

/* Whichever index has it, the highest version is taken that may be: one that nobody can install
 * keeps no other from being so. */
static void the_best_of_all_indexes_is_taken(void **state) {
    (void)state;
    struct file_server *second;
    char other[64];
    char text[512];
    assert_int_equal(mkdir("more", 0700), 0);
    second = file_server_start("more");
    assert_non_null(second);
    (void)snprintf(other, sizeof other, "http://127.0.0.1:%u", file_server_port(second));
    trust("next.pub", "community", "org.example.*");
    EXPECT(BARE("install", ID, "--index", url, "--index", other, "--yes"), 0, NULL, NULL);
    /* 1.1.0 is in the first; 1.4.0 and one of another key, 1.2.0, in the second. */
    take(TWO, "www/two.trp");
    publish_again();
    take(THREE, "more/three.trp");
    EXPECT(AUTHOR("index", "more"), 0, NULL, NULL);
    EXPECT(AUTHOR("sign", "more/index.json", "--key", at("ours.key")), 0, NULL, NULL);
    EXPECT(BARE("update", ID, "--index", other, "--yes"), 5, "", "*has not signed over to it*\n");
    EXPECT(BARE("update", ID, "--index", other, "--index", url, "--dry-run"), 0,
           "*" ID " 1.1.0, signed by *nothing was changed\n", NULL);
    take(FOUR, "more/four.trp");
    EXPECT(AUTHOR("index", "more"), 0, NULL, NULL);
    EXPECT(AUTHOR("sign", "more/index.json", "--key", at("ours.key")), 0, NULL, NULL);
    EXPECT(BARE("update", "--index", url, "--index", other, "--yes"), 0,
           "*" ID " 1.4.0 is installed, in place of 1.0.0\n", NULL);
    EXPECT(BARE("uninstall", ID), 0, NULL, NULL);
    EXPECT(BARE("install", ID "@1.1", "--index", other, "--index", url, "--dry-run"), 0,
           ID " 1.1.0, *", NULL);
    EXPECT(BARE("install", ID "@3", "--index", other, "--index", url, "--dry-run"), 3, "",
           "*and each other index has no package '" ID "' of version 3\n");
    /* One that cannot be used keeps nobody from the others. */
    (void)snprintf(text, sizeof text, "%s/gone", url);
    EXPECT(BARE("install", ID, "--index", text, "--index", other, "--dry-run"), 0, ID " 1.4.0, *",
           NULL);
    EXPECT(BARE("install", ID "@3", "--index", text, "--index", other, "--dry-run"), 3, "",
           "*gone/index.json does not exist*\n");
    file_server_stop(second);
}

#define EXPECT_REFUSED(exit, message) \
    EXPECT(BARE("install", ID, "--index", url, "--yes"), exit, "", message)
static void write_index(const char *number, const char *expires, const char *packages) {
    write_created(number, "2020-01-01T00:00:00Z", expires, packages);
}

#define LATER "2099-12-31T00:00:00Z"
#define ENTRY(version, file, size, digit)                                                        \
    "{\"id\": \"" ID "\", \"version\": \"" version "\", \"file\": \"" file "\", \"size\": " size \
    ", \"sha256\": \"" digit digit digit digit digit digit digit digit "\"}"
#define NOT_IT "01234567"

static void a_lying_index_is_refused(void **state) {
    (void)state;
    /* An older one: a downgrade. */
    write_index("8", LATER, "");
    EXPECT_REFUSED(3, "*has no package '" ID "'\n");
    write_index("7", LATER, "");
    EXPECT_REFUSED(1, "*Refused: *the number 7, and 8 was seen before*(a downgrade)\n");
    EXPECT(BARE("search", "--packages", "x", "--index", url), 1, "", "*(a downgrade)\n");
    /* The same number with other contents. */
    write_index("8", LATER, ENTRY("1.0.0", "one.trp", "10", NOT_IT));
    EXPECT_REFUSED(1, "*Refused: *the number 8 as before, and other contents*\n");
    /* One that has expired: a freeze. */
    write_index("10", "2020-01-02T00:00:00Z", "");
    EXPECT_REFUSED(1, "*Refused: *has expired on 2020-01-02T00:00:00Z: *(a freeze)*\n");
    write_created("11", "2098-01-01T00:00:00Z", LATER, "");
    EXPECT_REFUSED(1, "*Refused: *was made on 2098-01-01T00:00:00Z, which is in the future*\n");
    /* A package that was not published with it: mix and match. */
    write_index("11", LATER, ENTRY("1.0.0", "one.trp", "1000000", NOT_IT));
    EXPECT_REFUSED(1, "*Refused: *one.trp is not the file that the index means*(mix and match)\n");
    /* A longer one than it says. */
    write_index("12", LATER, ENTRY("1.0.0", "one.trp", "10", NOT_IT));
    EXPECT_REFUSED(1, "*LimitExceeded: *one.trp is longer than 10 bytes\n");
    write_index("13", LATER, ENTRY("1.0.0", "../../etc/passwd", "10", NOT_IT));
    EXPECT_REFUSED(1, "*Refused: *\"file\" must be a path below the folder of the index*\n");
    /* Changed after it was signed, by another key, and by none. */
    write_index("14", LATER, "");
    e2e_write("www/index.json", "{}");
    EXPECT_REFUSED(1, "*Refused: *index.json: the signature *\n");
    write_index("15", LATER, "");
    EXPECT(AUTHOR("sign", "www/index.json", "--key", at("theirs.key")), 0, NULL, NULL);
    EXPECT_REFUSED(5, "*PermissionDenied: *index.json is signed by the key *, which is not "
                      "trusted*keys add KEY.pub --trust community --ids " ID "\n");
    trust("theirs.pub", "community", "*");
    EXPECT_REFUSED(5,
                   "*PermissionDenied: *and was signed by * before, which has not signed over*\n");
    assert_int_equal(unlink("www/index.json.minisig"), 0);
    EXPECT_REFUSED(1, "*Refused: *index.json has no signature*\n");
    EXPECT(BARE("packages"), 0, "", NULL);
}

static void an_index_names_what_a_package_is(void **state) {
    (void)state;
    char text[16384];
    /* Hash and size are those of the file, the version is not. */
    FILE *file = fopen("www/index.json", "re");
    assert_non_null(file);
    size_t length = fread(text, 1, sizeof text - 1, file);
    assert_int_equal(fclose(file), 0);
    text[length] = '\0';
    char *version = strstr(text, "1.0.0");
    assert_non_null(version);
    memcpy(version, "1.9.9", 5);
    e2e_write("www/index.json", text);
    EXPECT(AUTHOR("sign", "www/index.json", "--key", at("ours.key")), 0, NULL, NULL);
    EXPECT_REFUSED(1, "*Refused: *is " ID " 1.0.0, and the index says " ID " 1.9.9\n");
}

/* What an index says of tools is its publisher's: neither too much of it is shown, nor what would
 * write over the screen. */
static void what_an_index_says_is_cut(void **state) {
    (void)state;
    char tools[1024] = "";
    char packages[1536];
    for (int i = 0; i < 20; i++) {
        size_t length = strlen(tools);
        (void)snprintf(tools + length, sizeof tools - length,
                       "%s{\"name\": \"%st%d\", \"description\": \"Many\"}", i > 0 ? ", " : "",
                       i == 0 ? "\\u001b[2K" : "", i);
    }
    (void)snprintf(packages, sizeof packages,
                   "{\"id\": \"a.b\", \"version\": \"1.0.0\", \"file\": \"a.trp\", \"size\": 9, "
                   "\"sha256\": \"" NOT_IT NOT_IT NOT_IT NOT_IT NOT_IT NOT_IT NOT_IT NOT_IT
                   "\", \"tools\": [%s]}",
                   tools);
    write_index("50", LATER, packages);
    EXPECT(BARE("search", "--packages", "many", "--index", url), 0,
           "*a.b *\\u001b[2Kt0 t1 *t15 and 4 more\n", "");
}

static void urls_have_limits(void **state) {
    (void)state;
    char text[512];
    (void)snprintf(text, sizeof text, "%s/loop/x.trp", url);
    EXPECT(BARE("install", text, "--yes"), 1, "",
           "*LimitExceeded: *redirects more than 5 times*\n");
    (void)snprintf(text, sizeof text, "%s/file%s/%s", url, shelf, ONE);
    EXPECT(BARE("install", text, "--yes"), 1, "", "*Refused: *neither https nor*\n");
    (void)snprintf(text, sizeof text, "%s/none.trp", url);
    EXPECT(BARE("install", text, "--yes"), 3, "", "*NotFound: *does not exist (HTTP status 404)\n");
    take(ONE, "www/plain.trp");
    assert_int_equal(unlink("www/plain.trp.minisig"), 0);
    (void)snprintf(text, sizeof text, "%s/plain.trp", url);
    EXPECT(BARE("install", text, "--yes", "--unsigned"), 1, "",
           "*Refused: *only a local file can be installed unsigned\n");
    /* Nothing that comes is decompressed, whatever the server says of it. */
    (void)snprintf(text, sizeof text, "%s/gzip/one.trp", url);
    EXPECT(BARE("install", text, "--dry-run"), 0, NULL, NULL);
    (void)snprintf(text, sizeof text, "%s/one.trp@2", url);
    EXPECT(BARE("install", text, "--yes"), 3, "", "*NotFound: *has version 1.0.0 of *, not 2\n");
}

/* ---------------------------------------------------------------- killed at */

/* Whether the default of the tool is of that version; "": there is no such tool. To show it is as
 * good as to call it, and much faster. */
static bool is_shown(const char *version) {
    char text[64];
    struct run run = BARE("show", "parcel", "--json");
    (void)snprintf(text, sizeof text, "\"version\":\"%s\"", version);
    const char *first = strstr(run.out, "\"version\":");
    bool is_it = version[0] == '\0' ? run.exit == 3
                                    : run.exit == 0 && first != NULL &&
                                              strncmp(first, text, strlen(text)) == 0;
    run_finish(&run);
    return is_it;
}

/* More steps than an installation has; some of them need not succeed, such as those that remove. */
#define STEPS_TRIED 60u

/* Run a verb that is killed at each of its steps, one after the other, until it ends. Before each
 * try the version is `before`; after it, `before` or `after`, and never anything else. `undo` makes
 * `before` of `after`. */
static unsigned kill_each(const char *const *args, const char *before, const char *after,
                          const char *const *undo) {
    char number[16];
    for (unsigned step = 1;; step++) {
        (void)snprintf(number, sizeof number, "%u", step);
        (void)setenv("KILLED_AT", number, 1);
        (void)setenv("LD_PRELOAD", getenv("E2E_KILLED_AT"), 1);
        struct run run = run_how(&(struct how){.bare = true}, args);
        (void)unsetenv("LD_PRELOAD");
        (void)unsetenv("KILLED_AT");
        bool is_killed = run.signal == SIGKILL;
        if (!is_killed && run.exit != 0) {
            fail_msg("step %u: exit %d: %s", step, run.exit, run.err);
        }
        run_finish(&run);
        bool is_after = is_shown(after);
        if (!is_after && !is_shown(before)) {
            fail_msg("step %u left something else", step);
        }
        if (!is_killed) {
            assert_true(is_after);
            return step;
        }
        if (is_after) { /* the next step is to be tried from before, too */
            EXPECT(run_how(&(struct how){.bare = true}, undo), 0, NULL, NULL);
        }
    }
}

/* Each of these steps fails once: what is said is true. */
static void a_step_that_fails_changes_nothing(void **state) {
    (void)state;
    trust("ours.pub", "community", ID);
    install(ONE);
    unsigned failures = 0;
    for (unsigned step = 1;; step++) {
        char number[16];
        (void)snprintf(number, sizeof number, "%u", step);
        (void)setenv("FAILED_AT", number, 1);
        (void)setenv("LD_PRELOAD", getenv("E2E_KILLED_AT"), 1);
        struct run run = BARE("install", at(TWO), "--yes");
        (void)unsetenv("LD_PRELOAD");
        (void)unsetenv("FAILED_AT");
        bool is_done = run.exit == 0;
        if (!is_done && strstr(run.err, "No space left on device") == NULL) {
            fail_msg("step %u: %s", step, run.err);
        }
        run_finish(&run);
        failures += !is_done;
        assert_true(is_shown(is_done ? "1.1.0" : "1.0.0"));
        if (is_done) {
            EXPECT(BARE("rollback", ID), 0, NULL, NULL);
        }
        if (step > STEPS_TRIED) {
            break;
        }
    }
    assert_true(failures > 10);
}

static void whoever_is_killed_leaves_the_old_or_the_new(void **state) {
    (void)state;
    trust("ours.pub", "community", ID);
    install(ONE);
    char two[512];
    (void)snprintf(two, sizeof two, "%s", at(TWO));
    unsigned steps = kill_each(ARGS("--state", "state", "install", two, "--yes"), "1.0.0", "1.1.0",
                               ARGS("--state", "state", "rollback", ID));
    assert_true(steps > 10);
    steps = kill_each(ARGS("--state", "state", "rollback", ID), "1.1.0", "1.0.0",
                      ARGS("--state", "state", "install", two, "--yes"));
    assert_true(steps > 3);
}

static void whoever_is_killed_removes_all_or_nothing(void **state) {
    (void)state;
    trust("ours.pub", "community", ID);
    install(ONE);
    unsigned steps = kill_each(ARGS("--state", "state", "uninstall", ID), "1.0.0", "",
                               ARGS("--state", "state", "install", at(ONE), "--yes"));
    assert_true(steps > 3);
    EXPECT(BARE("packages"), 0, "", NULL);
    assert_int_equal(access("state/packages/content/" ID, F_OK), -1);
}

/* --------------------------------------------------------- in a running host */

/* A host that calls the tool all the time, and what it got. */
struct running {
    struct toolrack *host;
    atomic_bool ends;
    atomic_uint calls;
    atomic_uint newer; /* of these, by the second version */
    atomic_uint bad;   /* neither version answered */
};

static void *call_on(void *argument) {
    struct running *running = argument;
    struct toolrack_error *err = toolrack_error_create();
    while (!atomic_load(&running->ends)) {
        struct toolrack_result *result = NULL;
        int code = toolrack_call(running->host, "parcel", "{}", NULL, &result, err);
        const char *text = code == 0 ? toolrack_result_json(result, NULL) : "";
        bool is_newer = strcmp(text, "\"1.1.0\"") == 0;
        (void)atomic_fetch_add(&running->calls, 1);
        (void)atomic_fetch_add(&running->newer, is_newer);
        (void)atomic_fetch_add(&running->bad, !is_newer && strcmp(text, "\"1.0.0\"") != 0);
        toolrack_result_free(result);
    }
    toolrack_error_free(err);
    return NULL;
}

static void a_running_host_has_the_old_or_the_new(void **state) {
    (void)state;
    pthread_t thread;
    struct running running = {.host = NULL};
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    options.config_file = "";
    options.state_dir = "state";
    assert_int_equal(toolrack_open(&options, &running.host, NULL), 0);
    trust("ours.pub", "community", ID);
    EXPECT_JSON(BARE("install", at(ONE), "--yes", "--json"), 0, "/hosts", "1", "/silent", "0");
    assert_int_equal(pthread_create(&thread, NULL, call_on, &running), 0);
    AWAIT(atomic_load(&running.calls) > 0);
    for (int round = 0; round < 3; round++) {
        unsigned newer = atomic_load(&running.newer);
        EXPECT_JSON(BARE("install", at(TWO), "--yes", "--json"), 0, "/hosts", "1");
        AWAIT(atomic_load(&running.newer) > newer);
        EXPECT_JSON(BARE("rollback", ID, "--json"), 0, "/hosts", "1");
    }
    atomic_store(&running.ends, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(atomic_load(&running.bad), 0);
    assert_null(toolrack_get(running.host, "parcel@1.1.0"));
    EXPECT_JSON(BARE("uninstall", ID, "--json"), 0, "/hosts", "1");
    assert_null(toolrack_get(running.host, "parcel"));
    toolrack_close(running.host);
}

/* It reads again what was decided while it still has the version that is gone back from. */
static void a_running_host_does_not_hold_what_was_gone_back_to(void **state) {
    (void)state;
    struct toolrack *host = NULL;
    struct toolrack_result *result = NULL;
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    options.config_file = "";
    options.state_dir = "state";
    assert_int_equal(toolrack_open(&options, &host, NULL), 0);
    trust("ours.pub", "community", ID);
    install(ONE);
    install(FOUR);
    EXPECT(BARE("call", "parcel"), 5, "", "*ConfirmationRequired: *");
    EXPECT(BARE("rollback", ID), 0, ID " 1.0.0 is installed, *\n", NULL);
    assert_int_equal(toolrack_call(host, "parcel", "{}", NULL, &result, NULL), 0);
    toolrack_result_free(result);
    expect_version("1.0.0");
    toolrack_close(host);
}

int main(void) {
#define CASE(name)    cmocka_unit_test_setup_teardown(name, e2e_setup, e2e_teardown)
#define INDEXED(name) cmocka_unit_test_setup_teardown(name, publish, unpublish)
    const struct CMUnitTest tests[] = {
            CASE(a_package_is_installed_from_a_file),
            CASE(a_person_is_shown_what_it_wants_and_asked),
            CASE(what_is_unsigned_needs_a_word_and_a_file),
            CASE(an_update_is_gone_back_from),
            CASE(what_was_approved_goes_back_with_the_version),
            CASE(what_was_pinned_goes_back_with_the_version),
            CASE(a_tool_of_one_version_is_pinned_by_its_texts),
            CASE(a_removed_key_brings_nothing_more),
            CASE(an_older_version_is_a_downgrade),
            CASE(a_key_signs_only_its_ids),
            CASE(an_id_differs_in_more_than_case),
            CASE(an_update_needs_the_key_or_its_successor),
            CASE(another_trust_is_another_plugin),
            CASE(what_was_changed_is_refused_before_it_is_read),
            CASE(what_does_not_serve_is_told),
            CASE(what_others_could_exchange_does_not_serve),
            CASE(a_folder_that_is_a_link_is_refused_before_anything_changes),
            CASE(what_is_damaged_is_uninstalled_and_installed_again),
            CASE(the_id_of_a_bundled_plugin_is_taken),
            CASE(what_an_author_writes_is_cut),
            CASE(others_install_while_a_person_is_asked),
            INDEXED(what_is_published_is_installed_and_updated),
            INDEXED(all_are_updated),
            INDEXED(the_best_of_all_indexes_is_taken),
            INDEXED(a_lying_index_is_refused),
            INDEXED(an_index_names_what_a_package_is),
            INDEXED(what_an_index_says_is_cut),
            INDEXED(urls_have_limits),
            CASE(a_step_that_fails_changes_nothing),
            CASE(whoever_is_killed_leaves_the_old_or_the_new),
            CASE(whoever_is_killed_removes_all_or_nothing),
            CASE(a_running_host_has_the_old_or_the_new),
            CASE(a_running_host_does_not_hold_what_was_gone_back_to),
    };
    return cmocka_run_group_tests(tests, make_all, remove_all);
}
