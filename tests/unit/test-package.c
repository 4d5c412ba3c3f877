/* What a package says of itself, and the keys and signatures: what minisign made is read, and what
 * is made here is as minisign's. */
#include <sodium.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "failing-malloc.h"
#include "package/archive.h"
#include "package/keyring.h"
#include "package/sign.h"

#include "package-test.h"

#define ALLOCATIONS_MAX 10000u

static struct store *store;

static int set_up(void **state) {
    store = store_open(NULL, &err);
    return store != NULL ? enter_folder(state) : -1;
}

static int tear_down(void **state) {
    store_close(store);
    return leave_folder(state);
}

static void write_text(const char *name, const char *text, mode_t mode) {
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(name, mode), 0);
}

/* ------------------------------------------------------------------- manifest */

#define PIN "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define HEAD                                                                                     \
    "{\"toolrack_package\": 1, \"id\": \"org.example.hello\", \"version\": \"1.2.0\", \"abi\": " \
    "\"1.3\""
#define FILE_OF(path) "{\"path\": \"" path "\", \"size\": 10, \"sha256\": \"" PIN "\"}"
#define FILES         ", \"files\": [" FILE_OF("x86_64-gnu/hello.so") "]"
#define TOOL(name, more)                                                                         \
    "{\"name\": \"" name "\", \"version\": \"1.0.0\", \"permission\": \"safe\", \"pin\": \"" PIN \
    "\"" more "}"

static const char whole[] = HEAD
        ", \"description\": \"Says \\\"hello\\\"\", \"vendor\": \"Ex\\u00e4mple\", "
        "\"license\": \"MIT\", "
        "\"homepage\": \"https://example.org\", \"later\": {\"x\": [1]}, "
        "\"capabilities\": [\"read:/srv\", \"network:*:443\"], "
        "\"tools\": [" TOOL(
                "wipe",
                ", \"hints\": [\"destructive\", \"unheard\"], \"description\": "
                "\"d\"") ", " TOOL("greet",
                                   ", \"hints\": [\"read_only\", \"idempotent\", "
                                   "\"open_world\"]") "], "
                                                      "\"files\": [" FILE_OF(
                                                              "x86_"
                                                              "64-"
                                                              "gnu/"
                                                              "hello."
                                                              "so") ", " FILE_OF("aarch64-musl/"
                                                                                 "hello.so") ","
                                                                                             " " FILE_OF("README.md") ", " FILE_OF(
                                                                                                     "LICENSE") "]}";

static int parse(const char *text, struct manifest *ret) {
    return manifest_parse(text, strlen(text), ret, &err);
}

static void a_manifest_is_read_and_written_the_same(void **state) {
    (void)state;
    struct manifest manifest;
    struct manifest again;
    struct buf text = BUF_INIT;
    struct buf text_again = BUF_INIT;
    assert_ok(parse(whole, &manifest));
    assert_string_equal(manifest.id, "org.example.hello");
    assert_int_equal(manifest.abi_major, 1);
    assert_int_equal(manifest.host_minor_min, 3);
    assert_string_equal(manifest.vendor, "Ex\xc3\xa4mple");
    assert_int_equal(manifest.capability_count, 2);
    assert_string_equal(manifest.capabilities[0], "network:*:443");
    assert_int_equal(manifest.tool_count, 2);
    assert_string_equal(manifest.tools[0].name, "greet");
    assert_int_equal(manifest.tools[0].flags, TR_READ_ONLY | TR_IDEMPOTENT | TR_OPEN_WORLD);
    assert_string_equal(manifest.tools[0].description, "");
    assert_int_equal(manifest.tools[1].flags, TR_DESTRUCTIVE);
    assert_int_equal(manifest.tools[1].pin[1], 0x23);
    assert_int_equal(manifest.file_count, 4);
    assert_string_equal(manifest.files[0].path, "LICENSE");
    assert_string_equal(manifest_find_plugin(&manifest, "aarch64-musl")->path,
                        "aarch64-musl/hello.so");
    assert_null(manifest_find_plugin(&manifest, "aarch64-gnu"));
    assert_non_null(manifest_find_file(&manifest, "README.md"));

    manifest_write(&manifest, &text);
    assert_ok(manifest_parse(text.data, text.length, &again, &err));
    manifest_write(&again, &text_again);
    assert_false(text.failed || text_again.failed);
    assert_string_equal(text.data, text_again.data);
    assert_non_null(
            strstr(text.data, "\"hints\": [\"read_only\", \"idempotent\", \"open_world\"]"));
    manifest_finish(&manifest);
    manifest_finish(&again);
    buf_finish(&text);
    buf_finish(&text_again);
}

static void what_a_manifest_must_not_say_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *text;
        const char *words;
    } cases[] = {
            {"", "is no JSON"},
            {"[]", "must be an object"},
            {"{\"id\": 1, \"id\": 2}", "twice"},
            {"{}", "/toolrack_package"},
            {"{\"toolrack_package\": 2}", "a later form needs a later toolrack"},
            {"{\"toolrack_package\": 1, \"id\": \"a b\"}", "/id"},
            {"{\"toolrack_package\": 1, \"id\": \"../x\"}", "/id"},
            {"{\"toolrack_package\": 1, \"id\": \"a\\u0000b\"}", "/id"},
            {"{\"toolrack_package\": 1, \"id\": \"a\", \"version\": \"1\"}", "/version"},
            {"{\"toolrack_package\": 1, \"id\": \"a\", \"version\": \"1.0.0\"}", "/abi"},
            {"{\"toolrack_package\": 1, \"id\": \"a\", \"version\": \"1.0.0\", \"abi\": "
             "\"1.99999\"}",
             "/abi"},
            {HEAD ", \"license\": 1" FILES "}", "must be texts"},
            {HEAD ", \"capabilities\": {}" FILES "}", "must be an array"},
            {HEAD ", \"capabilities\": [\"fly:high\"]" FILES "}", "/capabilities/0"},
            {HEAD ", \"capabilities\": [\"read:/a\\nwrite:/\"]" FILES "}", "/capabilities/0"},
            {HEAD ", \"tools\": [{\"name\": \"a b\"}]" FILES "}", "/tools/0"},
            {HEAD ", \"tools\": [" TOOL("a", "") ", " TOOL("a", "") "]" FILES "}",
             "has a@1.0.0 twice"},
            {HEAD ", \"tools\": [{\"name\": \"a\", \"version\": \"1.0.0\", \"permission\": "
                  "\"free\", \"pin\": \"" PIN "\"}]" FILES "}",
             "\"permission\""},
            {HEAD ", \"tools\": [{\"name\": \"a\", \"version\": \"1.0.0\", \"permission\": "
                  "\"safe\", \"pin\": \"AB\"}]" FILES "}",
             "\"pin\" must be"},
            {HEAD "}", "has no plugin"},
            {HEAD ", \"files\": [" FILE_OF("README.md") "]}", "has no plugin"},
            {HEAD ", \"files\": [" FILE_OF("../x86_64-gnu/hello.so") "]}", "/files/0"},
            {HEAD ", \"files\": [" FILE_OF("/etc/passwd") "]}", "/files/0"},
            {HEAD ", \"files\": [" FILE_OF("x86_64-gnu/../../hello.so") "]}", "/files/0"},
            {HEAD ", \"files\": [" FILE_OF("x86_64-gnu/.hello.so") "]}", "/files/0"},
            {HEAD ", \"files\": [" FILE_OF("x86_64-gnu/a/b.so") "]}", "/files/0"},
            {HEAD ", \"files\": [" FILE_OF("x86_64-gnu/h\\u0000.so") "]}", "/files/0"},
            {HEAD ", \"files\": [" FILE_OF("x86_64-gnu/.so") "]}", "/files/0"},
            {HEAD ", \"files\": [" FILE_OF("x86_64-gnu/hello.exe") "]}", "/files/0"},
            {HEAD ", \"files\": [" FILE_OF("toolrack-package.json") "]}", "/files/0"},
            {HEAD ", \"files\": [{\"path\": \"LICENSE\", \"size\": -1, \"sha256\": \"" PIN "\"}]}",
             "\"size\" must be"},
            {HEAD ", \"files\": [{\"path\": \"LICENSE\", \"size\": 1, \"sha256\": \"" PIN "0\"}]}",
             "\"sha256\" must be"},
            {HEAD ", \"files\": [" FILE_OF("x86_64-gnu/hello.so") ", " FILE_OF(
                     "x86_64-gnu/hello.so") "]}",
             "are one file"},
            {HEAD ", \"files\": [" FILE_OF("x86_64-gnu/hello.so") ", " FILE_OF(
                     "x86_64-gnu/Hello.so") "]}",
             "are one file where case does not count"},
            {HEAD ", \"files\": [" FILE_OF("x86_64-gnu/hello.so") ", " FILE_OF(
                     "x86_64-gnu/other.so") "]}",
             "two plugins for x86_64-gnu"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct manifest manifest;
        assert_error(parse(cases[i].text, &manifest), TOOLRACK_E_INVALID, cases[i].words);
        manifest_finish(&manifest);
    }
}

static void a_manifest_has_limits(void **state) {
    (void)state;
    struct manifest manifest;
    struct buf text = BUF_INIT;
    assert_error(parse(HEAD
                       ", \"files\": [{\"path\": \"LICENSE\", \"size\": 268435457, \"sha256\": "
                       "\"" PIN "\"}]}",
                       &manifest),
                 TOOLRACK_E_LIMIT_EXCEEDED, "268435456 are the most");
    manifest_finish(&manifest);
    buf_add_text(&text, HEAD ", \"files\": [");
    for (int i = 0; i < 3; i++) {
        buf_printf(&text,
                   "%s{\"path\": \"cpu%d-gnu/a.so\", \"size\": 200000000, \"sha256\": \"%s\"}",
                   i > 0 ? "," : "", i, PIN);
    }
    buf_add_text(&text, "]}");
    assert_error(parse(text.data, &manifest), TOOLRACK_E_LIMIT_EXCEEDED,
                 "600000000 bytes together");
    manifest_finish(&manifest);
    buf_clear(&text);
    buf_add_text(&text, HEAD ", \"capabilities\": [\"read:/a\"");
    for (unsigned i = 0; i < MANIFEST_CAPABILITIES_MAX; i++) {
        buf_add_text(&text, ", \"read:/a\"");
    }
    buf_add_text(&text, "]" FILES "}");
    assert_error(parse(text.data, &manifest), TOOLRACK_E_LIMIT_EXCEEDED, "257 items; 256 are");
    manifest_finish(&manifest);
    assert_error(manifest_parse("", MANIFEST_SIZE_MAX + 1, &manifest, &err),
                 TOOLRACK_E_LIMIT_EXCEEDED, "4194304 are the most");
    manifest_finish(&manifest);
    buf_finish(&text);
}

static void every_allocation_of_a_manifest_may_fail(void **state) {
    (void)state;
    bool hit = true;
    for (unsigned n = 1; hit; n++) {
        struct manifest manifest;
        struct buf text = BUF_INIT;
        assert_true(n < ALLOCATIONS_MAX);
        failing_malloc_set(n);
        int code = parse(whole, &manifest);
        if (code == 0) {
            manifest_write(&manifest, &text);
        }
        hit = failing_malloc_hit();
        failing_malloc_set(0);
        assert_true(code == 0 || (code == TOOLRACK_E_NO_MEMORY && hit));
        assert_true(code < 0 || !text.failed || hit);
        manifest_finish(&manifest);
        buf_finish(&text);
    }
}

static void names_of_platforms_and_files(void **state) {
    (void)state;
    char name[MANIFEST_FILE_NAME_ROOM];
    char platform[MANIFEST_PLATFORM_ROOM];
    assert_string_equal(manifest_file_name("a.b", "1.0.0-rc.1", name), "a.b-1.0.0-rc.1.trp");
    assert_true(manifest_is_plugin("x86_64-gnu/lib+x-1.2_.so", platform));
    assert_string_equal(platform, "x86_64-gnu");
    assert_false(manifest_is_plugin("x86_64/hello.so", platform));
    assert_false(manifest_is_plugin("-gnu/hello.so", platform));
    assert_false(manifest_is_plugin("x86_64-/hello.so", platform));
    assert_false(manifest_is_plugin("x86_64-gnu/-x.so", platform));
    assert_false(manifest_is_plugin("x86_64-gnu/hello so.so", platform));
    assert_true(manifest_is_plugin(
            "x-y/0123456789012345678901234567890123456789012345678901234567890123"
            "45678901234567890123456789012345.so",
            platform));
    assert_false(
            manifest_is_plugin("x-y/01234567890123456789012345678901234567890123456789012345678901"
                               "2345678901234567890123456789012345678.so",
                               platform));
    assert_true(manifest_is_plugin("x86_64-gnu/a.so", platform));
    assert_true(strchr(manifest_platform(), '-') != NULL);
}

/* ---------------------------------------------------------------------- keys */

/* Made by minisign 0.11: a key without a password; one with the password "correct horse", made with
 * little memory (ulimit -v 40000), for which minisign takes a cheap scrypt; signatures of the text
 * "what is signed\n", of both kinds. */
static const char minisign_public[] = "untrusted comment: minisign public key 3068DA7735F02B02\n"
                                      "RWQCK/A1d9poMKyECzW9DoEO3N7UNUBVDb1eSWzGByvMtFYEnvdFtF0i\n";

static const char minisign_secret[] =
        "untrusted comment: minisign encrypted secret key\n"
        "RWQAAEIyAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAivwNXfaaDCCRrmAKs"
        "kVsbznLzAweM+4oTsYX/42MLu6N70RQoY/"
        "0qyECzW9DoEO3N7UNUBVDb1eSWzGByvMtFYEnvdFtF0iAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
        "\n";

static const char minisign_encrypted_public[] =
        "untrusted comment: minisign public key E0A8D28C96A37EB5\n"
        "RWS1fqOWjNKo4KDJvbKNE8kWFpLQCjUOwVaSKtuz5N58jjdQXmaE8OQ/\n";

static const char minisign_encrypted_secret[] =
        "untrusted comment: minisign encrypted secret key\n"
        "RWRTY0IyELw23J66AeqSnX2M7oW/"
        "Dpq6S3IAm5xeBs+"
        "yON1kL4sAABAAAAAAAAAAAAIAAAAAVrC84QKc8dje2v9beSoVf2d1ha5OeDOoEkI9nLDdzRkH5opu5vepBDSo1CpF5"
        "Ado1Tm690UJPPlAPRwDfxi4KeIDy4njiAIhg4DdA+r0u3UZHraOo6jJceEIvNViOd6milwdi8R99sM=\n";

static const char minisign_signature[] =
        "untrusted comment: signature from minisign secret key\n"
        "RUQCK/A1d9poMN8SfMXcZhy7/DaHev7VfzYxkD67VJeVdDnHY/Nk/Qc/"
        "OPcqQ7m+mY8K4N95x3GT51qshQHUl6ge6UjcWUXlvQQ=\n"
        "trusted comment: file:file.txt id:org.example.hello version:1.2.0\n"
        "ke9iZh9NWAqk1IXyeh4xg39mPQcVn+HkrEnVcybFh3f74KX/jqHNlphwcqQc/"
        "y+KzaIlVtcAATiEO8ZnEcZQAg==\n";

static const char minisign_legacy[] =
        "untrusted comment: signature from minisign secret key\n"
        "RWQCK/A1d9poMPIZzB9Co6WhV52SSQTisQOeEhCj58b1oTgoqqWzGAdPS3xrGlU8QoZ+H8F/UXukrWHDkoo3sW/"
        "V70KEPHcv8QU=\n"
        "trusted comment: timestamp:1795904729\tfile:file.txt\n"
        "vKq1TH9RyWBem0p1xyka7SlJIzZA8mgXscySacNVOOANeAsOQZebHzcPQzXjyEUzC2dd7o6p8VITbJVHdJS+Bg=="
        "\n";

static const char signed_text[] = "what is signed\n";

/* Little work. */
static const struct key_cost cheap = {.operations = 32768, .memory = 16777216};

static void read_public(const char *text, struct public_key *ret) {
    assert_ok(public_key_parse(text, strlen(text), ret, &err));
}

static int read_secret(const char *text, const char *password, struct secret_key *ret) {
    return secret_key_parse(text, strlen(text), password, ret, &err);
}

static void keys_of_minisign_are_read(void **state) {
    (void)state;
    struct public_key public;
    struct public_key derived;
    struct secret_key secret;
    bool is_encrypted = true;
    read_public(minisign_public, &public);
    assert_ok(
            secret_key_is_encrypted(minisign_secret, strlen(minisign_secret), &is_encrypted, &err));
    assert_false(is_encrypted);
    assert_ok(read_secret(minisign_secret, NULL, &secret));
    key_public_of(&secret, &derived);
    assert_memory_equal(&derived, &public, sizeof public);

    read_public(minisign_encrypted_public, &public);
    assert_ok(secret_key_is_encrypted(minisign_encrypted_secret, strlen(minisign_encrypted_secret),
                                      &is_encrypted, &err));
    assert_true(is_encrypted);
    assert_error(read_secret(minisign_encrypted_secret, NULL, &secret),
                 TOOLRACK_E_PERMISSION_DENIED, "needs its password");
    assert_error(read_secret(minisign_encrypted_secret, "correct horses", &secret),
                 TOOLRACK_E_PERMISSION_DENIED, "the password is not that of the secret key");
    assert_ok(read_secret(minisign_encrypted_secret, "correct horse", &secret));
    key_public_of(&secret, &derived);
    assert_memory_equal(&derived, &public, sizeof public);
    secret_key_finish(&secret);
    /* The line alone, as minisign -P takes it. */
    read_public(strchr(minisign_public, '\n') + 1, &derived);
}

static void what_is_written_is_read(void **state) {
    (void)state;
    struct public_key public;
    struct public_key public_again;
    struct secret_key secret;
    struct secret_key again;
    char id[KEY_ID_ROOM];
    uint8_t number[KEY_NUMBER_SIZE];
    assert_ok(key_create(&public, &secret, &err));
    const char *const passwords[] = {NULL, "a", " with spaces "};
    for (size_t i = 0; i < ARRAY_LENGTH(passwords); i++) {
        struct buf text = BUF_INIT;
        assert_ok(secret_key_write(&secret, passwords[i], &cheap, &text, &err));
        assert_ok(read_secret(text.data, passwords[i], &again));
        assert_memory_equal(&again, &secret, sizeof secret);
        if (passwords[i] != NULL) {
            assert_error(read_secret(text.data, "b", &again), TOOLRACK_E_PERMISSION_DENIED,
                         "the password is not");
        }
        buf_finish(&text);
    }
    struct buf text = BUF_INIT;
    public_key_write(&public, &text);
    read_public(text.data, &public_again);
    assert_memory_equal(&public, &public_again, sizeof public);
    assert_true(key_id_parse(key_id(public.number, id), number));
    assert_memory_equal(number, public.number, sizeof number);
    assert_false(key_id_parse("0123456789ABCDE", number));
    assert_false(key_id_parse("0123456789ABCDEF0", number));
    assert_false(key_id_parse("0123456789ABCDEG", number));
    buf_finish(&text);
}

/* Change one character of the base64 of a text's second line. */
static void spoil(char *text, size_t at) {
    char *c = strchr(text, '\n') + 1 + at;
    *c = *c == 'A' ? 'B' : 'A';
}

static void damaged_keys_are_refused(void **state) {
    (void)state;
    struct public_key public;
    struct secret_key secret;
    char text[512];
    static const char *const no_public[] = {"", "\n", "RW", "untrusted comment: x\n",
                                            "hello\nworld\n"};
    for (size_t i = 0; i < ARRAY_LENGTH(no_public); i++) {
        assert_error(public_key_parse(no_public[i], strlen(no_public[i]), &public, &err),
                     TOOLRACK_E_INVALID, "no public key");
        assert_error(read_secret(no_public[i], NULL, &secret), TOOLRACK_E_INVALID, "no secret key");
    }
    (void)snprintf(text, sizeof text, "%s", minisign_public);
    spoil(text, 0);
    assert_error(public_key_parse(text, strlen(text), &public, &err), TOOLRACK_E_INVALID,
                 "another kind");
    (void)snprintf(text, sizeof text, "%s%s", minisign_public, minisign_public);
    assert_error(public_key_parse(text, strlen(text), &public, &err), TOOLRACK_E_INVALID,
                 "no public key");
    (void)snprintf(text, sizeof text, "%s", minisign_secret);
    spoil(text, 100); /* in the key itself, which its second half does not follow from any more */
    assert_error(read_secret(text, NULL, &secret), TOOLRACK_E_INVALID, "damaged");
    (void)snprintf(text, sizeof text, "%s", minisign_encrypted_secret);
    spoil(text, 3); /* the way of encryption */
    assert_error(read_secret(text, "correct horse", &secret), TOOLRACK_E_INVALID,
                 "encrypted in another way");
    (void)snprintf(text, sizeof text, "%s", minisign_encrypted_secret);
    spoil(text, 58); /* the operations */
    assert_error(read_secret(text, "correct horse", &secret), TOOLRACK_E_LIMIT_EXCEEDED,
                 "asks for more work than minisign's keys");
}

/* ---------------------------------------------------------------- signatures */

static void hash_text(const char *text, uint8_t ret[SIGNATURE_HASH_SIZE]) {
    (void)crypto_generichash(ret, SIGNATURE_HASH_SIZE, (const unsigned char *)text, strlen(text),
                             NULL, 0);
}

static void a_signature_of_minisign_is_verified(void **state) {
    (void)state;
    struct public_key public;
    struct signature_text signature;
    uint8_t hash[SIGNATURE_HASH_SIZE];
    uint64_t size = 0;
    read_public(minisign_public, &public);
    assert_ok(signature_parse(minisign_signature, strlen(minisign_signature), &signature, &err));
    assert_string_equal(signature.file, "file.txt");
    assert_string_equal(signature.id, "org.example.hello");
    assert_string_equal(signature.version, "1.2.0");
    write_text("file.txt", signed_text, 0644);
    FILE *file = fopen("file.txt", "r");
    assert_ok(signature_hash(fileno(file), 100, hash, &size, &err));
    assert_int_equal(size, sizeof signed_text - 1);
    assert_ok(signature_verify(&signature, hash, &public, &err));
    assert_error(signature_hash(fileno(file), sizeof signed_text - 2, hash, NULL, &err),
                 TOOLRACK_E_LIMIT_EXCEEDED, "larger than");
    (void)fclose(file);
    assert_error(signature_parse(minisign_legacy, strlen(minisign_legacy), &signature, &err),
                 TOOLRACK_E_INVALID, "old kind");
}

static void what_was_changed_is_refused(void **state) {
    (void)state;
    struct public_key public;
    struct public_key other;
    struct signature_text good;
    uint8_t hash[SIGNATURE_HASH_SIZE];
    read_public(minisign_public, &public);
    read_public(minisign_encrypted_public, &other);
    assert_ok(signature_parse(minisign_signature, strlen(minisign_signature), &good, &err));
    hash_text("what is signed", hash);
    assert_error(signature_verify(&good, hash, &public, &err), TOOLRACK_E_REFUSED,
                 "the file was changed after it was signed");
    hash_text(signed_text, hash);
    assert_ok(signature_verify(&good, hash, &public, &err));
    assert_error(signature_verify(&good, hash, &other, &err), TOOLRACK_E_REFUSED,
                 "the signature is of key");
    struct signature_text changed = good;
    changed.comment[5] = 'F';
    assert_error(signature_verify(&changed, hash, &public, &err), TOOLRACK_E_REFUSED,
                 "the trusted comment of the signature was changed");
    changed = good;
    changed.global[0] ^= 1;
    assert_error(signature_verify(&changed, hash, &public, &err), TOOLRACK_E_REFUSED,
                 "the trusted comment");
    changed = good;
    changed.signature[0] ^= 1;
    assert_error(signature_verify(&changed, hash, &public, &err), TOOLRACK_E_REFUSED,
                 "is not that of this file");
    /* The number of another key, whose bytes sign nothing here. */
    changed = good;
    memcpy(changed.number, other.number, sizeof other.number);
    assert_error(signature_verify(&changed, hash, &other, &err), TOOLRACK_E_REFUSED,
                 "is not that of this file");
}

static void texts_that_are_no_signatures_are_refused(void **state) {
    (void)state;
    struct signature_text signature;
    char text[4096];
    const size_t whole_length = strlen(minisign_signature);
    for (size_t length = 0; length + 2 < whole_length; length++) {
        assert_error(signature_parse(minisign_signature, length, &signature, &err),
                     TOOLRACK_E_INVALID, "");
    }
    (void)snprintf(text, sizeof text, "%smore\n", minisign_signature);
    assert_error(signature_parse(text, strlen(text), &signature, &err), TOOLRACK_E_INVALID,
                 "four lines");
    (void)snprintf(text, sizeof text, "%s", minisign_signature);
    spoil(text, 1);
    assert_error(signature_parse(text, strlen(text), &signature, &err), TOOLRACK_E_INVALID,
                 "another kind");
    /* One thing said twice: a reader could take the one or the other. */
    struct secret_key secret;
    struct buf twice = BUF_INIT;
    uint8_t hash[SIGNATURE_HASH_SIZE] = {0};
    assert_ok(read_secret(minisign_secret, NULL, &secret));
    signature_make(hash, "file:a id:x version:1.0.0 id:y", &secret, &twice);
    assert_error(signature_parse(twice.data, twice.length, &signature, &err), TOOLRACK_E_INVALID,
                 "one thing twice");
    buf_clear(&twice);
    char comment[128];
    (void)snprintf(comment, sizeof comment, "id:%0*d", 65, 1);
    signature_make(hash, comment, &secret, &twice);
    assert_error(signature_parse(twice.data, twice.length, &signature, &err), TOOLRACK_E_INVALID,
                 "at too great length");
    buf_finish(&twice);
}

/* CRLF, as a signature has it that went through a mail. */
static void what_is_signed_here_is_verified(void **state) {
    (void)state;
    struct public_key public;
    struct secret_key secret;
    struct signature_text signature;
    struct buf comment = BUF_INIT;
    struct buf text = BUF_INIT;
    struct buf lines = BUF_INIT;
    uint8_t hash[SIGNATURE_HASH_SIZE];
    hash_text(signed_text, hash);
    assert_ok(key_create(&public, &secret, &err));
    signature_comment_package("a-1.0.0.trp", "a", "1.0.0", &comment);
    signature_make(hash, comment.data, &secret, &text);
    for (size_t i = 0; i < text.length; i++) {
        buf_add(&lines, text.data[i] == '\n' ? "\r\n" : &text.data[i],
                text.data[i] == '\n' ? 2 : 1);
    }
    assert_ok(signature_parse(lines.data, lines.length, &signature, &err));
    assert_ok(signature_verify(&signature, hash, &public, &err));
    assert_string_equal(signature.file, "a-1.0.0.trp");
    assert_string_equal(signature.id, "a");
    assert_string_equal(signature.version, "1.0.0");
    assert_string_equal(signature.succeeds, "");
    buf_finish(&comment);
    buf_finish(&text);
    buf_finish(&lines);
}

/* ------------------------------------------------------------------- keyring */

static void patterns_say_what_a_key_signs(void **state) {
    (void)state;
    static const struct {
        const char *ids;
        const char *id;
        bool signs;
    } cases[] = {
            {"*", "anything", true},
            {"org.example.hello", "org.example.hello", true},
            {"org.example.hello", "org.example.hello2", false},
            {"org.example.hello", "org.example.hell", false},
            {"org.example.*", "org.example.hello", true},
            {"org.example.*", "org.example.a.b", true},
            {"org.example.*", "org.example", false},
            {"org.example.*", "org.example.", false},
            {"org.example.*", "org.example-evil.hello", false},
            {"org.example.*", "org.examples.hello", false},
            {"a\nb.*\nc", "b.x", true},
            {"a\nb.*\nc", "c", true},
            {"a\nb.*\nc", "a\nb.x", false},
            {"", "a", false},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        const struct keyring_key key = {.ids = cases[i].ids, .follows = ""};
        assert_int_equal(keyring_key_signs(&key, cases[i].id), cases[i].signs);
    }
    static const char *const valid[] = {"*", "a", "a.b", "a.*", "org.example.*"};
    static const char *const invalid[] = {"",      ".*",  "**",   "a*", "*.a",
                                          "a.*.b", "a b", "a\nb", "-a", "a.**"};
    for (size_t i = 0; i < ARRAY_LENGTH(valid); i++) {
        assert_true(keyring_pattern_valid(valid[i]));
    }
    for (size_t i = 0; i < ARRAY_LENGTH(invalid); i++) {
        assert_false(keyring_pattern_valid(invalid[i]));
    }
}

static int add_key(const char *path, int trust, const char *ids, struct keyring *ret) {
    const char *const list[] = {ids, NULL};
    return keyring_add(store, path, trust, ids != NULL ? list : NULL, NULL, "ann", ret, &err);
}

static int add_and_forget(const char *path, int trust, const char *ids) {
    struct keyring added;
    int code = add_key(path, trust, ids, &added);
    keyring_finish(&added);
    return code;
}

/* Two new keys, "old" and "new", and one of minisign, "other". */
static void make_keys(struct secret_key *ret_old, struct secret_key *ret_new) {
    struct secret_key *const secrets[] = {ret_old, ret_new};
    static const char *const names[] = {"old.pub", "new.pub"};
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        struct public_key public;
        struct buf text = BUF_INIT;
        assert_ok(key_create(&public, secrets[i], &err));
        public_key_write(&public, &text);
        write_text(names[i], text.data, 0644);
        buf_finish(&text);
    }
    write_text("other.pub", minisign_public, 0644);
}

static void keys_are_trusted_for_their_ids(void **state) {
    (void)state;
    struct secret_key old_key;
    struct secret_key new_key;
    struct keyring ring;
    make_keys(&old_key, &new_key);
    assert_error(add_and_forget("old.pub", -1, NULL), TOOLRACK_E_PERMISSION_DENIED,
                 "no key that is trusted here signs over to key");
    assert_error(add_and_forget("old.pub", TRUST_OFFICIAL, NULL), TOOLRACK_E_INVALID,
                 "a key needs ids");
    assert_error(add_and_forget("old.pub", -1, "a"), TOOLRACK_E_INVALID, "needs its trust");
    assert_error(add_and_forget("old.pub", TRUST_OFFICIAL, "a*"), TOOLRACK_E_INVALID,
                 "no pattern of ids");
    assert_error(add_and_forget("absent.pub", TRUST_OFFICIAL, "a"), TOOLRACK_E_NOT_FOUND,
                 "absent.pub");
    assert_ok(keyring_read(store, &ring, &err));
    assert_int_equal(ring.count, 0);
    keyring_finish(&ring);

    assert_ok(add_and_forget("old.pub", TRUST_COMMUNITY, "a.*"));
    assert_ok(add_and_forget("old.pub", TRUST_OFFICIAL, "b"));
    assert_ok(add_key("other.pub", TRUST_COMMUNITY, "*", &ring));
    assert_int_equal(ring.count, 1);
    assert_int_equal(ring.keys[0].trust, TRUST_COMMUNITY);
    keyring_finish(&ring);
    assert_ok(keyring_read(store, &ring, &err));
    assert_int_equal(ring.count, 2);
    const struct keyring_key *key = keyring_find(&ring, old_key.number);
    assert_int_equal(key->trust, TRUST_OFFICIAL);
    assert_string_equal(key->ids, "b");
    assert_string_equal(key->follows, "");
    assert_null(keyring_find(&ring, new_key.number));
    keyring_finish(&ring);

    /* Another key that took the number. */
    struct public_key forged = {.bytes = {1}};
    struct buf text = BUF_INIT;
    memcpy(forged.number, old_key.number, sizeof forged.number);
    public_key_write(&forged, &text);
    write_text("forged.pub", text.data, 0644);
    buf_finish(&text);
    assert_error(add_and_forget("forged.pub", TRUST_OFFICIAL, "*"), TOOLRACK_E_EXISTS,
                 "another key has the id");
}

static void a_key_signs_over_to_another(void **state) {
    (void)state;
    struct secret_key old_key;
    struct secret_key new_key;
    struct secret_key other;
    struct signed_file done;
    struct keyring ring;
    char old_id[KEY_ID_ROOM];
    make_keys(&old_key, &new_key);
    assert_ok(read_secret(minisign_secret, NULL, &other));
    assert_ok(add_and_forget("old.pub", TRUST_OFFICIAL, "a.*"));
    /* Signed by a key that is not trusted: it says nothing. */
    assert_ok(sign_file("new.pub", &other, &done, &err));
    assert_string_equal(done.kind, "key");
    assert_error(add_and_forget("new.pub", -1, NULL), TOOLRACK_E_PERMISSION_DENIED,
                 "no key that is trusted here signs over");
    assert_ok(sign_file("new.pub", &old_key, &done, &err));
    assert_ok(add_key("new.pub", -1, NULL, &ring));
    assert_int_equal(ring.keys[0].trust, TRUST_OFFICIAL);
    assert_string_equal(ring.keys[0].ids, "a.*");
    assert_true(keyring_key_follows(&ring.keys[0], key_id(old_key.number, old_id)));
    assert_true(keyring_key_follows(&ring.keys[0], ring.keys[0].id));
    assert_false(keyring_key_follows(&ring.keys[0], "0000000000000000"));
    keyring_finish(&ring);

    /* The third of a row follows the first, also when that is gone. */
    assert_ok(sign_file("other.pub", &new_key, &done, &err));
    assert_ok(add_and_forget("other.pub", -1, NULL));
    assert_ok(store_key_remove(store, old_id, &err));
    assert_ok(keyring_read(store, &ring, &err));
    assert_int_equal(ring.count, 2);
    assert_true(keyring_key_follows(keyring_find(&ring, other.number), old_id));
    assert_false(keyring_key_follows(keyring_find(&ring, new_key.number),
                                     keyring_find(&ring, other.number)->id));
    keyring_finish(&ring);
    assert_error(store_key_remove(store, old_id, &err), TOOLRACK_E_NOT_FOUND, "there is no key");
}

static void every_allocation_of_a_key_may_fail(void **state) {
    (void)state;
    struct secret_key old_key;
    struct secret_key new_key;
    struct signed_file done;
    bool hit = true;
    make_keys(&old_key, &new_key);
    assert_ok(add_and_forget("old.pub", TRUST_OFFICIAL, "a.*"));
    for (unsigned n = 1; hit; n++) {
        struct keyring ring;
        assert_true(n < ALLOCATIONS_MAX);
        failing_malloc_set(n);
        int code = sign_file("new.pub", &old_key, &done, &err);
        code = code == 0 ? add_and_forget("new.pub", -1, NULL) : code;
        hit = failing_malloc_hit();
        failing_malloc_set(0);
        if (code != 0 && (code != TOOLRACK_E_NO_MEMORY || !hit)) {
            fail_msg("allocation %u: %s: %s", n, toolrack_code_name(code), err.message);
        }
        /* It is there with all that belongs to it, or not. */
        assert_ok(keyring_read(store, &ring, &err));
        assert_int_equal(ring.keys[0].trust, TRUST_OFFICIAL);
        if (ring.count == 2) {
            assert_true(keyring_key_follows(&ring.keys[1], ring.keys[0].id));
            assert_string_equal(ring.keys[1].ids, "a.*");
        } else {
            assert_true(code < 0 && ring.count == 1);
        }
        keyring_finish(&ring);
    }
}

/* A signature by which the old key signs something else is no succession. */
static void other_signatures_are_no_succession(void **state) {
    (void)state;
    struct secret_key old_key;
    struct secret_key new_key;
    struct signed_file done;
    struct buf text = BUF_INIT;
    uint8_t hash[SIGNATURE_HASH_SIZE];
    char new_text[512];
    make_keys(&old_key, &new_key);
    assert_ok(add_and_forget("old.pub", TRUST_OFFICIAL, "*"));
    FILE *file = fopen("new.pub", "r");
    new_text[fread(new_text, 1, sizeof new_text - 1, file)] = '\0';
    (void)fclose(file);
    hash_text(new_text, hash);
    signature_make(hash, "file:new.pub", &old_key, &text);
    write_text("new.pub.minisig", text.data, 0644);
    assert_error(add_and_forget("new.pub", -1, NULL), TOOLRACK_E_REFUSED, "does not say that key");
    /* Of another key, moved here. */
    assert_ok(sign_file("other.pub", &old_key, &done, &err));
    assert_int_equal(rename("other.pub.minisig", "new.pub.minisig"), 0);
    assert_error(add_and_forget("new.pub", -1, NULL), TOOLRACK_E_REFUSED,
                 "is not that of this file");
    write_text("new.pub.minisig", "hello\n", 0644);
    assert_error(add_and_forget("new.pub", -1, NULL), TOOLRACK_E_INVALID, "new.pub.minisig: ");
    buf_finish(&text);
}

static int open_memory(const char *text) {
    int fd = memfd_create("test", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    return fd;
}

static void only_a_key_that_may_is_believed(void **state) {
    (void)state;
    struct secret_key old_key;
    struct secret_key new_key;
    struct keyring ring;
    struct signature_text signature;
    const struct keyring_key *key = NULL;
    uint8_t hash[SIGNATURE_HASH_SIZE];
    make_keys(&old_key, &new_key);
    assert_ok(add_and_forget("old.pub", TRUST_OFFICIAL, "a.*"));
    assert_ok(keyring_read(store, &ring, &err));
    int fd = open_memory(signed_text);
    hash_text(signed_text, hash);
    static const struct {
        const char *comment;
        bool is_new;
        int code;
        const char *words;
    } cases[] = {
            {"file:x id:a.b version:1.0.0", false, 0, ""},
            {"file:x id:a.b version:1.0.0", true, TOOLRACK_E_PERMISSION_DENIED,
             "toolrack keys add KEY.pub --trust community --ids a.b"},
            {"file:x id:b version:1.0.0", false, TOOLRACK_E_PERMISSION_DENIED,
             "must not sign the plugin 'b'"},
            {"file:x version:1.0.0", false, TOOLRACK_E_INVALID, "not that of a package"},
            {"file:x id:a.b", false, TOOLRACK_E_INVALID, "not that of a package"},
            {"file:x id:a.b version:one", false, TOOLRACK_E_INVALID, "not that of a package"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct buf text = BUF_INIT;
        signature_make(hash, cases[i].comment, cases[i].is_new ? &new_key : &old_key, &text);
        assert_ok(signature_parse(text.data, text.length, &signature, &err));
        int code = keyring_verify(&ring, fd, &signature, &key, &err);
        if (cases[i].code == 0) {
            assert_ok(code);
            assert_ptr_equal(key, &ring.keys[0]);
        } else {
            assert_error(code, cases[i].code, cases[i].words);
        }
        buf_finish(&text);
    }
    (void)close(fd);
    keyring_finish(&ring);
}

static void there_are_so_many_keys(void **state) {
    (void)state;
    struct store_key key = {.ids = "*", .follows = "", .comment = "", .who = "ann"};
    char id[KEY_ID_ROOM];
    key.id = id;
    for (int i = 0; i < STORE_KEYS_MAX; i++) {
        (void)snprintf(id, sizeof id, "%016X", (unsigned)i);
        assert_ok(store_key_add(store, &key, &err));
    }
    assert_ok(store_key_add(store, &key, &err)); /* the last one again */
    (void)snprintf(id, sizeof id, "%016X", 0xffffffu);
    assert_error(store_key_add(store, &key, &err), TOOLRACK_E_LIMIT_EXCEEDED, "which is the most");
}

/* -------------------------------------------------------------------- files */

static void a_secret_key_is_for_its_owner_only(void **state) {
    (void)state;
    struct buf text = BUF_INIT;
    write_text("my.key", minisign_secret, 0640);
    assert_error(sign_read_text("my.key", KEY_TEXT_MAX, true, &text, &err), TOOLRACK_E_REFUSED,
                 "other users may read the secret key");
    assert_int_equal(chmod("my.key", 0600), 0);
    assert_ok(sign_read_text("my.key", KEY_TEXT_MAX, true, &text, &err));
    assert_string_equal(text.data, minisign_secret);
    buf_clear(&text);
    assert_error(sign_read_text("my.key", 10, true, &text, &err), TOOLRACK_E_LIMIT_EXCEEDED,
                 "my.key is larger than 10 bytes");
    buf_clear(&text);
    assert_error(sign_read_text(".", KEY_TEXT_MAX, false, &text, &err), TOOLRACK_E_INVALID,
                 "no regular file");
    assert_int_equal(mkfifo("pipe", 0600), 0);
    assert_error(sign_read_text("pipe", KEY_TEXT_MAX, false, &text, &err), TOOLRACK_E_INVALID,
                 "no regular file");
    buf_finish(&text);
}

static void any_file_can_be_signed(void **state) {
    (void)state;
    struct secret_key secret;
    struct public_key public;
    struct signed_file done;
    struct signature_text signature;
    uint8_t hash[SIGNATURE_HASH_SIZE];
    assert_ok(read_secret(minisign_secret, NULL, &secret));
    key_public_of(&secret, &public);
    write_text("index.json", signed_text, 0644);
    assert_ok(sign_file("index.json", &secret, &done, &err));
    assert_string_equal(done.path, "index.json.minisig");
    assert_string_equal(done.kind, "file");
    assert_string_equal(done.comment, "file:index.json");
    assert_ok(sign_read_signature("index.json", &signature, &err));
    hash_text(signed_text, hash);
    assert_ok(signature_verify(&signature, hash, &public, &err));
    write_text("a b.json", signed_text, 0644);
    assert_error(sign_file("a b.json", &secret, &done, &err), TOOLRACK_E_INVALID, "rename it");
    write_text("no.trp", signed_text, 0644);
    assert_error(sign_file("no.trp", &secret, &done, &err), TOOLRACK_E_INVALID, "no package");
    assert_int_equal(access("no.trp.minisig", F_OK), -1);
    assert_error(sign_read_signature("no.trp", &signature, &err), TOOLRACK_E_NOT_FOUND,
                 "no.trp has no signature");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
            TEST(a_manifest_is_read_and_written_the_same),
            TEST(what_a_manifest_must_not_say_is_refused),
            TEST(a_manifest_has_limits),
            TEST(every_allocation_of_a_manifest_may_fail),
            TEST(names_of_platforms_and_files),
            TEST(keys_of_minisign_are_read),
            TEST(what_is_written_is_read),
            TEST(damaged_keys_are_refused),
            TEST(a_signature_of_minisign_is_verified),
            TEST(what_was_changed_is_refused),
            TEST(texts_that_are_no_signatures_are_refused),
            TEST(what_is_signed_here_is_verified),
            TEST(patterns_say_what_a_key_signs),
            TEST(keys_are_trusted_for_their_ids),
            TEST(a_key_signs_over_to_another),
            TEST(every_allocation_of_a_key_may_fail),
            TEST(other_signatures_are_no_succession),
            TEST(only_a_key_that_may_is_believed),
            TEST(there_are_so_many_keys),
            TEST(a_secret_key_is_for_its_owner_only),
            TEST(any_file_can_be_signed),
    };
    return cmocka_run_group_tests_name("package", tests, NULL, NULL);
}
