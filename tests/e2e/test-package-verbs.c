/* pack, sign, verify, keys: from a folder to a file that somebody else can trust. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/sanitizer.h"
#include "e2e.h"

/* As manifest_platform() names it. */
#if defined(__aarch64__)
#define HERE      "aarch64-gnu"
#define ELSEWHERE "x86_64-gnu"
#else
#define HERE      "x86_64-gnu"
#define ELSEWHERE "aarch64-gnu"
#endif

#define ELF_MACHINE_AT 18

/* Made by minisign, with little memory, so that it is quick; the password is "correct horse". */
static const char encrypted_public[] = "untrusted comment: minisign public key E0A8D28C96A37EB5\n"
                                       "RWS1fqOWjNKo4KDJvbKNE8kWFpLQCjUOwVaSKtuz5N58jjdQXmaE8OQ/\n";
static const char encrypted_secret[] =
        "untrusted comment: minisign encrypted secret key\n"
        "RWRTY0IyELw23J66AeqSnX2M7oW/"
        "Dpq6S3IAm5xeBs+"
        "yON1kL4sAABAAAAAAAAAAAAIAAAAAVrC84QKc8dje2v9beSoVf2d1ha5OeDOoEkI9nLDdzRkH5opu5vepBDSo1CpF5"
        "Ado1Tm690UJPPlAPRwDfxi4KeIDy4njiAIhg4DdA+r0u3UZHraOo6jJceEIvNViOd6milwdi8R99sM=\n";

static const char *good(void) {
    static char path[4096];
    (void)snprintf(path, sizeof path, "%s/old.so", e2e_plugins());
    return path;
}

static void make_folder(const char *path) {
    assert_int_equal(mkdir(path, 0755), 0);
}

/* A file that is there. */
static void assert_there(const char *path, bool is_there) {
    assert_int_equal(access(path, F_OK), is_there ? 0 : -1);
}

/* The folder "p" of the plugin kit.old, with the file right in it. */
static void make_plugin(void) {
    make_folder("p");
    e2e_copy(good(), "p/old.so", 0);
    e2e_write("p/README.md", "# Old\n");
    e2e_write("p/LICENSE", "MIT\n");
}

static int run_command(const char *command) {
    int status = system(command);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* -------------------------------------------------------------------- pack */

static void a_folder_becomes_a_package(void **state) {
    (void)state;
    make_plugin();
    EXPECT(RUN_WITH({.bare = true}, "pack", "p"), 0,
           "package *kit.old-1.0.0.trp, * bytes\n"
           "sha256 *\n"
           "plugin *kit.old 1.0.0\n"
           "ABI *1.*\n"
           "tools *greet: Greet somebody, the old way\n"
           "files *LICENSE, 4 bytes\n"
           " *README.md, 6 bytes\n"
           " *" HERE "/old.so, * bytes\n"
           "then *toolrack sign --key SECRET.key kit.old-1.0.0.trp\n",
           NULL);
    EXPECT_JSON(RUN_WITH({.bare = true}, "pack", "p", "--output", "again.trp", "--json"), 0,
                "/file", "\"again.trp\"", "/size", "*", "/sha256", "\"*\"", "/manifest/id",
                "\"kit.old\"", "/manifest/tools/0/name", "\"greet\"",
                "/manifest/tools/0/permission", "\"safe\"", "/manifest/tools/0/pin", "\"*\"",
                "/manifest/files/2/path", "\"" HERE "/old.so\"", "/findings", "*");
    /* The same bytes, from files of another time. */
    assert_int_equal(run_command("cmp kit.old-1.0.0.trp again.trp"), 0);
    /* Nothing is left of what was written first. */
    assert_int_equal(run_command("test $(ls | wc -l) -eq 3"), 0);
}

static void a_build_folder_is_packed(void **state) {
    (void)state;
    make_plugin();
    make_folder("p/build");
    assert_int_equal(rename("p/old.so", "p/build/old.so"), 0);
    EXPECT(RUN_WITH({.bare = true}, "pack", "p"), 0, "*README.md, 6 bytes\n*", NULL);
    /* The folder of the build itself: the texts are above it. */
    EXPECT(RUN_WITH({.bare = true}, "pack", "p/build"), 0, "*README.md, 6 bytes\n*", NULL);
    make_folder("p/target");
    assert_int_equal(rename("p/build", "p/target/release"), 0);
    EXPECT(RUN_WITH({.bare = true}, "pack", "p"), 0, "*README.md, 6 bytes\n*", NULL);
    make_folder("p/" HERE);
    e2e_copy(good(), "p/" HERE "/old.so", 0);
    e2e_write("p/NOTICE", "n\n");
    e2e_write("p/CHANGELOG.md", "c\n");
    EXPECT(RUN_WITH({.bare = true}, "pack", "p"), 0, "*CHANGELOG.md, *LICENSE, *NOTICE, *", NULL);
}

/* One source, built for two processors. */
static void several_platforms_are_packed(void **state) {
    (void)state;
    char path[4096];
    static const char *const builds[] = {"x86-64", "AArch64"};
    make_plugin();
    assert_int_equal(unlink("p/old.so"), 0);
    make_folder("p/x86_64-gnu");
    make_folder("p/aarch64-gnu");
    for (size_t i = 0; i < 2; i++) {
        (void)snprintf(path, sizeof path, "%s/math-%s.so", getenv("E2E_CHECK"), builds[i]);
        e2e_copy(path, i == 0 ? "p/x86_64-gnu/math.so" : "p/aarch64-gnu/math.so", 0);
    }
    EXPECT(RUN_WITH({.bare = true}, "pack", "p"), 0,
           "*plugin *math 1.0.0\n*aarch64-gnu/math.so, *x86_64-gnu/math.so, *", NULL);
    /* What one platform has is what the other one has. */
    e2e_copy(good(), "p/" HERE "/math.so", 0);
    EXPECT(RUN_WITH({.bare = true}, "pack", "p"), 1, "",
           "toolrack: Refused: the manifest of the package and its file p/*/math.so differ in the "
           "id; all its files must be of one build\n");
    e2e_copy("p/" ELSEWHERE "/math.so", "p/" HERE "/math.so", 0);
    EXPECT(RUN_WITH({.bare = true}, "pack", "p"), 1, "",
           "toolrack: Invalid: p/" HERE "/math.so is for " ELSEWHERE
           ", and stands in a folder for " HERE "; move it\n");
    /* A processor whose files are only carried. */
    e2e_copy(good(), "p/" HERE "/math.so", 0);
    assert_int_equal(unlink("p/" ELSEWHERE "/math.so"), 0);
    make_folder("p/s390x-musl");
    e2e_copy(good(), "p/s390x-musl/math.so", 0);
    int fd = open("p/s390x-musl/math.so", O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(fd, "\x16\0", 2, ELF_MACHINE_AT), 2);
    assert_int_equal(close(fd), 0);
    EXPECT(RUN_WITH({.bare = true}, "pack", "p"), 0, "*s390x-musl/math.so, *" HERE "/math.so, *",
           NULL);
    assert_int_equal(unlink("p/" HERE "/math.so"), 0);
    assert_int_equal(unlink("kit.old-1.0.0.trp"), 0);
    EXPECT(RUN_WITH({.bare = true}, "pack", "p"), 1, "", "*none of the plugin's files is for*");
    assert_there("kit.old-1.0.0.trp", false);
}

static void what_cannot_be_packed_is_told(void **state) {
    (void)state;
    char bad[4096];
    EXPECT(RUN_WITH({.bare = true}, "pack", "absent"), 3, "",
           "toolrack: NotFound: cannot read absent: *\n");
    e2e_write("file", "");
    EXPECT(RUN_WITH({.bare = true}, "pack", "file"), 1, "", "*file is no folder; *");
    make_folder("p");
    EXPECT(RUN_WITH({.bare = true}, "pack", "p"), 3, "",
           "toolrack: NotFound: there is no plugin in p: neither " HERE
           "/NAME.so, nor NAME.so, nor build/NAME.so, nor target/release/NAME.so; build it "
           "first\n");
    e2e_copy(good(), "p/old.so", 0);
    EXPECT(RUN_WITH({.bare = true}, "pack", "p"), 3, "", "*there is no README.md in p; *");
    e2e_write("p/README.md", "# Old\n");
    EXPECT(RUN_WITH({.bare = true}, "pack", "p"), 3, "", "*there is no LICENSE in p; *");
    e2e_write("p/LICENSE", "MIT\n");
    e2e_copy(good(), "p/other.so", 0);
    EXPECT(RUN_WITH({.bare = true}, "pack", "p"), 1, "",
           "*p has 2 files that end in .so, old.so *");
    assert_int_equal(unlink("p/old.so"), 0);
    (void)snprintf(bad, sizeof bad, "%s/bad-schema.so", e2e_broken());
    e2e_copy(bad, "p/other.so", 0);
    EXPECT(RUN_WITH({.bare = true}, "pack", "p"), 1, "",
           "toolrack: Refused: p/other.so has errors (*crooked: *); see them all: toolrack check "
           "p/other.so\n");
    e2e_write("p/other.so", "no plugin\n");
    EXPECT(RUN_WITH({.bare = true}, "pack", "p"), 1, "", "*p/other.so is no shared object*");
    assert_int_equal(rename("p/other.so", "p/o r.so"), 0);
    e2e_copy(good(), "p/o r.so", 0);
    EXPECT(RUN_WITH({.bare = true}, "pack", "p"), 1, "", "*cannot be packed under this name*");
    assert_int_equal(run_command("ls *.trp* 2>/dev/null"), 2);
    assert_int_equal(rename("p/o r.so", "p/old.so"), 0);
    EXPECT(RUN_WITH({.bare = true}, "pack", "p", "--output", "absent/x.trp"), 1, "",
           "*absent/x.trp cannot be written: *");
}

/* What root's `--output /dev/null` would do. */
static void expect_left(const char *path, mode_t kind) {
    struct stat st;
    assert_int_equal(lstat(path, &st), 0);
    assert_int_equal(st.st_mode & S_IFMT, kind);
}

static void only_files_are_replaced(void **state) {
    (void)state;
    make_plugin();
    assert_int_equal(mkfifo("pipe", 0600), 0);
    e2e_write("target", "precious\n");
    assert_int_equal(symlink("target", "link"), 0);
    EXPECT(RUN_WITH({.bare = true}, "pack", "p", "--output", "pipe"), 1, "",
           "toolrack: Refused: pipe is a device, pipe or socket and no file, and is left as it is; "
           "choose another name, or remove it\n");
    EXPECT(RUN_WITH({.bare = true}, "pack", "p", "--output", "link"), 1, "",
           "*Refused: link is a symbolic link and no file*");
    EXPECT(RUN_WITH({.bare = true}, "pack", "p", "--output", "p"), 1, "",
           "*Refused: p is a folder and no file*");
    expect_left("pipe", S_IFIFO);
    expect_left("link", S_IFLNK);
    EXPECT(RUN_WITH({.bare = true}, "pack", "p", "--output", "p.trp"), 0, NULL, NULL);
    EXPECT(RUN_WITH({.bare = true}, "pack", "p", "--output", "p.trp"), 0, NULL, NULL);
    EXPECT(RUN_WITH({.bare = true}, "keys", "new", "k", "--no-password"), 0, NULL, NULL);
    assert_int_equal(rename("link", "p.trp.minisig"), 0);
    EXPECT(RUN_WITH({.bare = true}, "sign", "p.trp", "--key", "k.key"), 1, "",
           "*Refused: p.trp.minisig is a symbolic link and no file*");
    expect_left("p.trp.minisig", S_IFLNK);
    /* An index is written beside, under a name that nobody can know. */
    make_folder("www");
    e2e_copy("p.trp", "www/p.trp", 0);
    assert_int_equal(mkfifo("www/.index.json.new", 0600), 0);
    EXPECT(RUN_WITH({.bare = true}, "index", "www"), 0, NULL, NULL);
    expect_left("www/index.json", S_IFREG);
}

/* -------------------------------------------------------------------- keys */

static void make_keys(const char *name) {
    EXPECT(RUN_WITH({.bare = true}, "keys", "new", name, "--no-password"), 0, "key *", NULL);
}

static void a_pair_of_keys_is_made_once(void **state) {
    (void)state;
    struct stat status;
    EXPECT(RUN_WITH({.bare = true}, "keys", "new", "my", "--no-password"), 0,
           "key *\nsecret *my.key\npublic *my.pub\n", "toolrack: keep my.key to yourself, *\n");
    assert_int_equal(stat("my.key", &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
    EXPECT(RUN_WITH({.bare = true}, "keys", "new", "my", "--no-password"), 1, "",
           "toolrack: AlreadyExists: my.pub is there already; choose another name\n");
    assert_int_equal(unlink("my.pub"), 0);
    EXPECT(RUN_WITH({.bare = true}, "keys", "new", "my", "--no-password"), 1, "",
           "*AlreadyExists: my.key is there already; *");
    EXPECT_JSON(RUN_WITH({.bare = true}, "keys", "new", "other", "--no-password", "--json"), 0,
                "/id", "\"*\"", "/secret_file", "\"other.key\"", "/public_file", "\"other.pub\"",
                "/public_key", "\"RW*\"", "/encrypted", "false");
    EXPECT(RUN_WITH({.bare = true}, "keys", "new", "third"), 1, "",
           "*a password is needed, and there is no terminal to type it at; give --password-file "
           "FILE, or --no-password for a key without one\n");
    e2e_write("empty", "\n");
    EXPECT(RUN_WITH({.bare = true}, "keys", "new", "third", "--password-file", "empty"), 1, "",
           "*empty has no password*");
    EXPECT(RUN_WITH(HOW(.bare = true, .typed = "one\ntwo\n"), "keys", "new", "third"), 1, "",
           "*Password that encrypts the secret key: *The same again: *the two passwords differ*");
    EXPECT(RUN_WITH({.bare = true}, "keys", "new", "third", "--no-password", "--password-file",
                    "empty"),
           2, "", "*contradict each other*");
    assert_there("third.key", false);
    assert_there("third.pub", false);
    EXPECT(RUN("keys", "--trust", "official"), 2, "", "*keys list takes no --trust*");
    EXPECT(RUN("keys", "gone"), 2, "", "*must be list, new with a NAME, *");
}

static void keys_are_listed_and_removed(void **state) {
    (void)state;
    make_keys("my");
    EXPECT(RUN("keys"), 0, "", "toolrack: no keys are trusted here\n");
    EXPECT(RUN("keys", "add", "my.pub"), 5, "", "*no key that is trusted here signs over to key*");
    EXPECT(RUN("keys", "add", "my.pub", "--trust", "builtin", "--ids", "*"), 2, "",
           "*the trust of a key is official or community*");
    EXPECT(RUN("keys", "add", "my.key", "--trust", "community", "--ids", "*"), 2, "",
           "*my.key: this is no public key*");
    EXPECT(RUN("keys", "add", "my.pub", "--trust", "community", "--ids", "kit.*", "--ids", "a",
               "--name", "Ann"),
           0, "key * may sign kit.* a, with the trust community\n", "");
    EXPECT(RUN("keys"), 0,
           "KEY * TRUST * IDS * NAME * SUCCEEDS * SINCE * WHO\n"
           "* community  kit.* a  Ann *\n",
           "");
    EXPECT_JSON(RUN("keys", "list", "--json"), 0, "/0/trust", "\"community\"", "/0/ids",
                "[\"kit.*\",\"a\"]", "/0/name", "\"Ann\"", "/0/follows", "[]", "/0/public_key",
                "\"RW*\"", "/1", "");
    struct run run = RUN("keys", "--json");
    char id[17] = "";
    memcpy(id, strstr(run.out, "\"id\":\"") + 6, 16);
    run_finish(&run);
    EXPECT(RUN("keys", "remove", "my"), 1, "", "*is no id of a key*");
    EXPECT(RUN("keys", "remove", id), 0, "key * is removed\n", "");
    EXPECT(RUN("keys", "remove", id), 3, "", "toolrack: NotFound: there is no key *\n");
    EXPECT(RUN("decisions"), 0, "*removed key *added key *community, ids kit.* a\n*", "");
}

/* ---------------------------------------------------------- sign and verify */

static void make_package(void) {
    make_plugin();
    EXPECT(RUN_WITH({.bare = true}, "pack", "p"), 0, NULL, NULL);
}

static void a_signed_package_is_verified(void **state) {
    (void)state;
    make_package();
    make_keys("my");
    EXPECT(RUN("verify", "kit.old-1.0.0.trp"), 3, "", "*has no signature: there is no file*");
    EXPECT(RUN_WITH({.bare = true}, "sign", "kit.old-1.0.0.trp", "--key", "my.key"), 0,
           "signature *kit.old-1.0.0.trp.minisig\n"
           "key *\n"
           "says *file:kit.old-1.0.0.trp id:kit.old version:1.0.0\n",
           "");
    EXPECT(RUN("verify", "kit.old-1.0.0.trp"), 5, "",
           "toolrack: PermissionDenied: the signature is of key *, which is not trusted here; *: "
           "*toolrack *keys add KEY.pub --trust community --ids kit.old\n");
    EXPECT(RUN_WITH({.bare = true}, "verify", "kit.old-1.0.0.trp", "--key", "my.pub"), 0,
           "package *kit.old-1.0.0.trp\nsigned by *\nplugin *kit.old 1.0.0\n*", "");
    EXPECT(RUN("keys", "add", "my.pub", "--trust", "official", "--ids", "other"), 0, NULL, "");
    EXPECT(RUN("verify", "kit.old-1.0.0.trp"), 5, "",
           "*must not sign the plugin 'kit.old': *toolrack *keys list\n");
    EXPECT(RUN("keys", "add", "my.pub", "--trust", "official", "--ids", "kit.*"), 0, NULL, "");
    EXPECT_JSON(RUN("verify", "kit.old-1.0.0.trp", "--json"), 0, "/trust", "\"official\"",
                "/manifest/id", "\"kit.old\"", "/comment", "*kit.old-1.0.0.trp*");
    EXPECT_JSON(RUN_WITH({.bare = true}, "sign", "kit.old-1.0.0.trp", "--key", "my.key", "--json"),
                0, "/kind", "\"package\"", "/file", "\"kit.old-1.0.0.trp.minisig\"", "/key",
                "\"*\"");
}

static void a_changed_package_is_refused(void **state) {
    (void)state;
    make_package();
    make_keys("my");
    EXPECT(RUN("keys", "add", "my.pub", "--trust", "official", "--ids", "*"), 0, NULL, "");
    EXPECT(RUN_WITH({.bare = true}, "sign", "kit.old-1.0.0.trp", "--key", "my.key"), 0, NULL, "");
    int fd = open("kit.old-1.0.0.trp", O_WRONLY | O_APPEND | O_CLOEXEC);
    assert_int_equal(write(fd, "x", 1), 1);
    assert_int_equal(close(fd), 0);
    EXPECT(RUN("verify", "kit.old-1.0.0.trp"), 1, "",
           "toolrack: Refused: *the file was changed after it was signed, *\n");
    EXPECT(RUN_WITH({.bare = true}, "sign", "kit.old-1.0.0.trp", "--key", "my.key"), 1, "",
           "*no package, or a damaged one*");
    e2e_write("kit.old-1.0.0.trp.minisig", "hello\n");
    EXPECT(RUN("verify", "kit.old-1.0.0.trp"), 1, "",
           "*kit.old-1.0.0.trp.minisig: this is no sig*");
}

static void a_password_is_asked_for(void **state) {
    (void)state;
    make_package();
    e2e_write("my.key", encrypted_secret);
    e2e_write("my.pub", encrypted_public);
    e2e_write("right", "correct horse\n");
    e2e_write("wrong", "correct horses\n");
    assert_int_equal(chmod("my.key", 0644), 0);
    EXPECT(RUN_WITH({.bare = true}, "sign", "kit.old-1.0.0.trp", "--key", "my.key"), 1, "",
           "*other users may read the secret key my.key*");
    assert_int_equal(chmod("my.key", 0600), 0);
    EXPECT(RUN_WITH({.bare = true}, "sign", "kit.old-1.0.0.trp"), 2, "", "*sign needs --key FILE*");
    EXPECT(RUN_WITH({.bare = true}, "sign", "kit.old-1.0.0.trp", "--key", "my.pub"), 1, "",
           "*Invalid: my.pub: this is a public key, which signs nothing; give the secret key*");
    EXPECT(RUN_WITH({.bare = true}, "sign", "kit.old-1.0.0.trp", "--key", "my.key"), 1, "",
           "*a password is needed, and there is no terminal to type it at; give --password-file "
           "FILE\n");
    EXPECT(RUN_WITH({.bare = true}, "sign", "kit.old-1.0.0.trp", "--key", "my.key",
                    "--password-file", "wrong"),
           5, "", "*the password is not that of the secret key\n");
    assert_there("kit.old-1.0.0.trp.minisig", false);
    EXPECT(RUN_WITH(HOW(.bare = true, .typed = "correct horse\n"), "sign", "kit.old-1.0.0.trp",
                    "--key", "my.key"),
           0, "signature *", "Password of my.key: \n");
    EXPECT(RUN_WITH({.bare = true}, "verify", "kit.old-1.0.0.trp", "--key", "my.pub"), 0, NULL, "");
    EXPECT(RUN_WITH({.bare = true}, "sign", "kit.old-1.0.0.trp", "--key", "my.key",
                    "--password-file", "right"),
           0, NULL, "");
}

/* With as much memory as there is: here so little that it takes no seconds. A sanitizer takes more
 * than that for itself. */
static void a_new_key_is_encrypted(void **state) {
    (void)state;
    if (SANITIZER_ADDRESS) {
        print_message("# skipped: a sanitizer needs more memory\n");
        skip();
    }
    make_package();
    e2e_write("right", "correct horse\n");
    e2e_write("wrong", "correct\n");
    assert_int_equal(run_command("ulimit -v 150000; \"$E2E_TOOLRACK\" keys new my --password-file "
                                 "right >made 2>&1"),
                     0);
    EXPECT(RUN_WITH({.bare = true}, "sign", "kit.old-1.0.0.trp", "--key", "my.key",
                    "--password-file", "wrong"),
           5, "", "*the password is not that of the secret key\n");
    EXPECT(RUN_WITH({.bare = true}, "sign", "kit.old-1.0.0.trp", "--key", "my.key",
                    "--password-file", "right"),
           0, NULL, "");
    EXPECT(RUN_WITH({.bare = true}, "verify", "kit.old-1.0.0.trp", "--key", "my.pub"), 0, NULL, "");
    if (run_command("command -v minisign >/dev/null") == 0) {
        assert_int_equal(run_command("minisign -S -s my.key -m kit.old-1.0.0.trp <right >/dev/null "
                                     "2>&1"),
                         0);
        assert_int_equal(run_command("minisign -Vq -p my.pub -m kit.old-1.0.0.trp"), 0);
    }
}

static void a_key_is_succeeded(void **state) {
    (void)state;
    make_package();
    make_keys("old");
    make_keys("new");
    EXPECT(RUN("keys", "add", "old.pub", "--trust", "official", "--ids", "kit.*"), 0, NULL, "");
    EXPECT(RUN_WITH({.bare = true}, "sign", "new.pub", "--key", "old.key"), 0,
           "signature *new.pub.minisig\nkey *\nsays *succeeds:* key:*\n", "");
    EXPECT(RUN("keys", "add", "new.pub"), 0,
           "key * may sign kit.*, with the trust official; it succeeds key *\n", "");
    EXPECT_JSON(RUN("keys", "--json"), 0, "/1/trust", "\"official\"", "/1/ids", "[\"kit.*\"]",
                "/1/follows/0", "\"*\"", "/2", "");
    EXPECT(RUN_WITH({.bare = true}, "sign", "kit.old-1.0.0.trp", "--key", "new.key"), 0, NULL, "");
    EXPECT(RUN("verify", "kit.old-1.0.0.trp"), 0, "*signed by *, official\n*", "");
}

/* The program of others: it verifies what is signed here, and what it signs is verified here. */
static void minisign_agrees(void **state) {
    (void)state;
    if (run_command("command -v minisign >/dev/null") != 0) {
        print_message("# skipped: minisign is not installed\n");
        skip();
    }
    make_package();
    make_keys("my");
    EXPECT(RUN_WITH({.bare = true}, "sign", "kit.old-1.0.0.trp", "--key", "my.key"), 0, NULL, "");
    assert_int_equal(run_command("minisign -Vq -p my.pub -m kit.old-1.0.0.trp"), 0);
    assert_int_equal(run_command("minisign -G -W -p their.pub -s their.key >/dev/null"), 0);
    assert_int_equal(run_command("minisign -S -W -s their.key -m kit.old-1.0.0.trp -t "
                                 "'file:kit.old-1.0.0.trp id:kit.old version:1.0.0' >/dev/null"),
                     0);
    EXPECT(RUN("keys", "add", "their.pub", "--trust", "community", "--ids", "kit.old"), 0, NULL,
           "");
    EXPECT(RUN("verify", "kit.old-1.0.0.trp"), 0, "*signed by *, community\n*", "");
    /* Its own trusted comment has no id. */
    assert_int_equal(run_command("minisign -S -W -s their.key -m kit.old-1.0.0.trp >/dev/null"), 0);
    EXPECT(RUN("verify", "kit.old-1.0.0.trp"), 1, "",
           "*its trusted comment has no id and version*");
    /* Each reads the other's secret key. */
    assert_int_equal(run_command("minisign -S -W -s my.key -m kit.old-1.0.0.trp >/dev/null"), 0);
    assert_int_equal(run_command("minisign -Vq -p my.pub -m kit.old-1.0.0.trp"), 0);
    EXPECT(RUN_WITH({.bare = true}, "sign", "kit.old-1.0.0.trp", "--key", "their.key"), 0, NULL,
           "");
    assert_int_equal(run_command("minisign -Vq -p their.pub -m kit.old-1.0.0.trp"), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, e2e_setup, e2e_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
            TEST(a_folder_becomes_a_package),   TEST(a_build_folder_is_packed),
            TEST(several_platforms_are_packed), TEST(what_cannot_be_packed_is_told),
            TEST(a_pair_of_keys_is_made_once),  TEST(keys_are_listed_and_removed),
            TEST(a_signed_package_is_verified), TEST(a_changed_package_is_refused),
            TEST(a_password_is_asked_for),      TEST(a_new_key_is_encrypted),
            TEST(a_key_is_succeeded),           TEST(minisign_agrees),
            TEST(only_files_are_replaced),
    };
    return cmocka_run_group_tests_name("package-verbs", tests, NULL, NULL);
}
