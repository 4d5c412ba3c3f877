/* Objects in the store of a real nats-server: what is put is got, and what anybody has damaged, or
 * lies about, is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sodium.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "nats-server.h"
#include "remote/nats/object.h"

static struct toolrack_error err;
static struct nats_server server;
static natsConnection *connection;
static struct objects *objects;

#define BUCKET "test-1"

static natsConnection *connect_to(const struct nats_server *to) {
    natsOptions *options = NULL;
    natsConnection *made = NULL;
    const char *urls[] = {to->url};
    assert_int_equal(nats.Options_Create(&options), NATS_OK);
    assert_int_equal(nats.Options_SetServers(options, urls, 1), NATS_OK);
    assert_int_equal(nats.Connection_Connect(&made, options), NATS_OK);
    nats.Options_Destroy(options);
    return made;
}

static struct objects *open_bucket(natsConnection *on, const char *bucket, uint64_t bytes_max) {
    struct objects *made = NULL;
    const struct objects_options options = {.bucket = bucket, .bytes_max = bytes_max};
    if (objects_open(on, &options, &made, &err) < 0) {
        fail_msg("%s", err.message);
    }
    return made;
}

static int start(void **state) {
    (void)state;
    assert_int_equal(libnats_load(&err), 0);
    assert_true(nats_server_start(&server, true, NULL));
    connection = connect_to(&server);
    objects = open_bucket(connection, BUCKET, 0);
    return 0;
}

static int stop(void **state) {
    (void)state;
    objects_close(objects);
    nats.Connection_Destroy(connection);
    nats_server_stop(&server);
    return 0;
}

/* Bytes that differ from each other. */
static char *bytes_of(size_t length) {
    char *bytes = malloc(length + 1);
    assert_non_null(bytes);
    for (size_t i = 0; i < length; i++) {
        bytes[i] = (char)(i * 31 + i / 251);
    }
    return bytes;
}

static void assert_has(struct objects *in, const char *name, const char *bytes, size_t length) {
    CLEANUP(buf_finish) struct buf got = BUF_INIT;
    struct object_info info;
    buf_add_text(&got, "<");
    if (object_get(in, name, OBJECT_SIZE_MAX, &got, &info, &err) < 0) {
        fail_msg("%s: %s", name, err.message);
    }
    assert_int_equal(got.length, length + 1);
    assert_memory_equal(got.data + 1, bytes, length);
    assert_int_equal(info.size, length);
}

static void assert_refused(const char *name, int code, const char *words) {
    CLEANUP(buf_finish) struct buf got = BUF_INIT;
    buf_add_text(&got, "<");
    assert_int_equal(object_get(objects, name, OBJECT_SIZE_MAX, &got, NULL, &err), code);
    if (strstr(err.message, words) == NULL) {
        fail_msg("'%s' has no '%s'", err.message, words);
    }
    assert_string_equal(got.data, "<"); /* nothing of it is there */
}

/* ------------------------------------------------------------------- alike */

static void test_sizes(void **state) {
    (void)state;
    static const size_t sizes[] = {0, 1, OBJECT_CHUNK_SIZE, OBJECT_CHUNK_SIZE + 1,
                                   3 * OBJECT_CHUNK_SIZE + 5};
    for (size_t i = 0; i < ARRAY_LENGTH(sizes); i++) {
        char name[64];
        struct object_info info;
        CLEANUP(freep) char *bytes = bytes_of(sizes[i]);
        (void)snprintf(name, sizeof name, "a name/%zu.* \xc3\xa4>", sizes[i]);
        assert_int_equal(object_put(objects, name, bytes, sizes[i], &info, &err), 0);
        assert_int_equal(info.chunks, (sizes[i] + OBJECT_CHUNK_SIZE - 1) / OBJECT_CHUNK_SIZE);
        assert_has(objects, name, bytes, sizes[i]);
        assert_int_equal(object_delete(objects, name, &err), 0);
        assert_refused(name, TOOLRACK_E_NOT_FOUND, "there is no object");
    }
    assert_int_equal(object_put(objects, "", "", 0, NULL, &err), TOOLRACK_E_INVALID);
    char name[OBJECT_NAME_MAX + 2];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    assert_int_equal(object_put(objects, name, "", 0, NULL, &err), TOOLRACK_E_INVALID);
    name[OBJECT_NAME_MAX] = '\0';
    assert_int_equal(object_put(objects, name, "x", 1, NULL, &err), 0);
    assert_has(objects, name, "x", 1);
    assert_int_equal(object_delete(objects, name, &err), 0);
}

struct seen {
    size_t count;
    char names[8][16];
};

static bool see(void *user, const struct object_info *info) {
    struct seen *seen = user;
    assert_true(seen->count < ARRAY_LENGTH(seen->names));
    (void)snprintf(seen->names[seen->count++], sizeof seen->names[0], "%.15s", info->name);
    return true;
}

static size_t message_count(natsConnection *on, const char *bucket) {
    char subject[64];
    natsMsg *request = NULL;
    natsMsg *reply = NULL;
    (void)snprintf(subject, sizeof subject, "$JS.API.STREAM.INFO.OBJ_%s", bucket);
    assert_int_equal(nats.Msg_Create(&request, subject, NULL, "", 0), NATS_OK);
    assert_int_equal(nats.Connection_RequestMsg(&reply, on, request, 5000), NATS_OK);
    const char *at = strstr(nats.Msg_GetData(reply), "\"messages\":");
    assert_non_null(at);
    size_t count = strtoul(at + strlen("\"messages\":"), NULL, 10);
    nats.Msg_Destroy(request);
    nats.Msg_Destroy(reply);
    return count;
}

static void test_again_and_list(void **state) {
    (void)state;
    struct seen seen = {.count = 0};
    struct objects *own = open_bucket(connection, "test-list", 0);
    assert_int_equal(objects_list(own, see, &seen, &err), 0);
    assert_int_equal(seen.count, 0);
    assert_int_equal(object_put(own, "one", "1", 1, NULL, &err), 0);
    assert_int_equal(object_put(own, "two", "2", 1, NULL, &err), 0);
    assert_int_equal(object_put(own, "one", "another", 7, NULL, &err), 0);
    assert_int_equal(object_put(own, "three", "3", 1, NULL, &err), 0);
    assert_int_equal(object_delete(own, "two", &err), 0);
    assert_int_equal(object_delete(own, "two", &err), 0);
    assert_int_equal(object_delete(own, "four", &err), TOOLRACK_E_NOT_FOUND);
    assert_has(own, "one", "another", 7);
    assert_int_equal(objects_list(own, see, &seen, &err), 0);
    assert_int_equal(seen.count, 2);
    assert_string_equal(seen.names[0], "one");
    assert_string_equal(seen.names[1], "three");
    /* Nothing is left of what was there: two objects of one chunk, and that one was deleted. */
    assert_int_equal(message_count(connection, "test-list"), 5);
    objects_close(own);
}

/* ------------------------------------------------------------------ damage */

/* Make an object of two chunks. @return the number of its chunks */
static void put_two(const char *name, struct object_info *ret) {
    CLEANUP(freep) char *bytes = bytes_of(OBJECT_CHUNK_SIZE + 100);
    assert_int_equal(object_put(objects, name, bytes, OBJECT_CHUNK_SIZE + 100, ret, &err), 0);
}

static void publish(const char *subject, const void *data, size_t length) {
    assert_int_equal(nats.Connection_Publish(connection, subject, data, (int)length), NATS_OK);
    assert_int_equal(nats.Connection_FlushTimeout(connection, 5000), NATS_OK);
}

/* Say something of an object. */
static void say(const char *name, const char *text) {
    char base64[64];
    char subject[128];
    (void)sodium_bin2base64(base64, sizeof base64, (const unsigned char *)name, strlen(name),
                            sodium_base64_VARIANT_URLSAFE);
    (void)snprintf(subject, sizeof subject, "$O." BUCKET ".M.%s", base64);
    publish(subject, text, strlen(text));
}

static void purge(const char *nuid) {
    natsMsg *request = NULL;
    natsMsg *reply = NULL;
    char text[128];
    (void)snprintf(text, sizeof text, "{\"filter\":\"$O." BUCKET ".C.%s\",\"keep\":1}", nuid);
    assert_int_equal(nats.Msg_Create(&request, "$JS.API.STREAM.PURGE.OBJ_" BUCKET, NULL, text,
                                     (int)strlen(text)),
                     NATS_OK);
    assert_int_equal(nats.Connection_RequestMsg(&reply, connection, request, 5000), NATS_OK);
    nats.Msg_Destroy(request);
    nats.Msg_Destroy(reply);
}

static void test_damage(void **state) {
    (void)state;
    struct object_info info;
    char subject[128];
    put_two("short", &info);
    purge(info.nuid);
    assert_refused("short", TOOLRACK_E_INVALID, "chunks are missing");

    put_two("long", &info);
    (void)snprintf(subject, sizeof subject, "$O." BUCKET ".C.%s", info.nuid);
    publish(subject, "x", 1);
    assert_refused("long", TOOLRACK_E_INVALID, "more bytes than it says");

    /* It takes the place of the damaged one. */
    put_two("long", &info);
    CLEANUP(freep) char *bytes = bytes_of(OBJECT_CHUNK_SIZE + 100);
    assert_has(objects, "long", bytes, OBJECT_CHUNK_SIZE + 100);
}

#define HASH "ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0=" /* of "abc" */

static void test_lies(void **state) {
    (void)state;
    static const struct {
        const char *text;
        const char *words;
    } lies[] = {
            {"{\"name\":\"lie\",\"nuid\":\"n1\",\"size\":4,\"chunks\":1,\"digest\":\"SHA-256=" HASH
             "\"}",
             "fewer bytes"},
            {"{\"name\":\"lie\",\"nuid\":\"n1\",\"size\":2,\"chunks\":1,\"digest\":\"SHA-256=" HASH
             "\"}",
             "more bytes"},
            {"{\"name\":\"lie\",\"nuid\":\"n1\",\"size\":3,\"chunks\":2,\"digest\":\"SHA-256=" HASH
             "\"}",
             "chunks are missing"},
            {"{\"name\":\"lie\",\"nuid\":\"n1\",\"size\":3,\"chunks\":4,\"digest\":\"SHA-256=" HASH
             "\"}",
             "so many chunks"},
            {"{\"name\":\"lie\",\"nuid\":\"n1\",\"size\":3,\"chunks\":0,\"digest\":\"SHA-256=" HASH
             "\"}",
             "so many chunks"},
            {"{\"name\":\"lie\",\"nuid\":\"n1\",\"size\":3,\"chunks\":1,\"digest\":\"SHA-256="
             "AAAAv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0=\"}",
             "another digest"},
            {"{\"name\":\"lie\",\"nuid\":\"n1\",\"size\":3,\"chunks\":1}", "\"digest\""},
            {"{\"name\":\"lie\",\"nuid\":\"n1\",\"size\":99999999999,\"chunks\":1,\"digest\":"
             "\"SHA-256=" HASH "\"}",
             "larger than"},
            {"{\"name\":\"lie\",\"nuid\":\">\",\"size\":3,\"chunks\":1,\"digest\":\"SHA-256=" HASH
             "\"}",
             "\"nuid\""},
            {"{\"name\":\"lie\",\"options\":{\"link\":{\"bucket\":\"b\"}}}", "link"},
            {"{\"name\":\"truth\",\"nuid\":\"n1\",\"size\":3,\"chunks\":1,\"digest\":\"SHA-"
             "256=" HASH "\"}",
             "another name"},
            {"[]", "no JSON object"},
            {"", "no JSON object"},
    };
    publish("$O." BUCKET ".C.n1", "abc", 3);
    say("true",
        "{\"name\":\"true\",\"nuid\":\"n1\",\"size\":3,\"chunks\":1,\"digest\":\"SHA-256=" HASH
        "\",\"mtime\":\"0001-01-01T00:00:00Z\",\"more\":[1]}");
    assert_has(objects, "true", "abc", 3);
    for (size_t i = 0; i < ARRAY_LENGTH(lies); i++) {
        say("lie", lies[i].text);
        assert_refused("lie", TOOLRACK_E_INVALID, lies[i].words);
    }
    CLEANUP(buf_finish) struct buf got = BUF_INIT;
    assert_int_equal(object_get(objects, "true", 2, &got, NULL, &err), TOOLRACK_E_LIMIT_EXCEEDED);
}

/* ------------------------------------------------------------------ halves */

static void test_half_put(void **state) {
    (void)state;
    struct seen seen = {.count = 0};
    struct objects *small = open_bucket(connection, "test-small", 400 * 1024);
    CLEANUP(freep) char *bytes = bytes_of(512 * 1024);
    /* One that was killed before it said what it had put. */
    publish("$O.test-small.C.killed", "half", 4);
    assert_int_equal(objects_list(small, see, &seen, &err), 0);
    assert_int_equal(seen.count, 0);
    /* One for which there is no room: what was there is there, and nothing of the other. */
    assert_int_equal(object_put(small, "it", "before", 6, NULL, &err), 0);
    size_t count = message_count(connection, "test-small");
    assert_int_equal(object_put(small, "it", bytes, 512 * 1024, NULL, &err),
                     TOOLRACK_E_LIMIT_EXCEEDED);
    assert_non_null(strstr(err.message, "no room"));
    assert_int_equal(message_count(connection, "test-small"), count);
    assert_has(small, "it", "before", 6);
    objects_close(small);
}

/* ------------------------------------------------------------------ server */

static void test_no_jetstream(void **state) {
    (void)state;
    struct nats_server plain;
    struct objects *made = NULL;
    assert_true(nats_server_start(&plain, false, NULL));
    natsConnection *to = connect_to(&plain);
    const struct objects_options options = {.bucket = BUCKET};
    assert_int_equal(objects_open(to, &options, &made, &err), TOOLRACK_E_UNAVAILABLE);
    assert_non_null(strstr(err.message, "nats-server -js"));
    nats.Connection_Destroy(to);
    nats_server_stop(&plain);

    const struct objects_options wrong = {.bucket = "a.b"};
    assert_int_equal(objects_open(connection, &wrong, &made, &err), TOOLRACK_E_INVALID);
}

static void test_small_messages(void **state) {
    (void)state;
    struct nats_server small;
    struct object_info info;
    assert_true(nats_server_start(&small, true, "max_payload: 4096\n"));
    natsConnection *to = connect_to(&small);
    struct objects *bucket = open_bucket(to, BUCKET, 0);
    CLEANUP(freep) char *bytes = bytes_of(10000);
    assert_int_equal(object_put(bucket, "it", bytes, 10000, &info, &err), 0);
    assert_int_equal(info.chunks, 3);
    assert_has(bucket, "it", bytes, 10000);
    objects_close(bucket);
    nats.Connection_Destroy(to);
    nats_server_stop(&small);
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_sizes),          cmocka_unit_test(test_again_and_list),
            cmocka_unit_test(test_damage),         cmocka_unit_test(test_lies),
            cmocka_unit_test(test_half_put),       cmocka_unit_test(test_no_jetstream),
            cmocka_unit_test(test_small_messages),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
