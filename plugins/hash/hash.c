/* hash - digests, message authentication codes, text forms of bytes, random bytes and UUIDs, on
 * libsodium.
 *
 * Of libsodium's digests those are offered that are in use elsewhere: SHA-256, SHA-512 and BLAKE2b.
 * It has no MD5 and no SHA-1, so nothing here can be mistaken for a safe use of them. */
#include <toolrack/plugin.h>

#include <string.h>
#include <time.h>

#include <sodium.h>

#include "base/utf8.h"

/* The numbers in the schemas below repeat these: macros cannot be used there. */
#define RANDOM_MAX 1024
#define UUIDS_MAX  100

#define UUID_LENGTH 36

static tr_status open_hash(struct tr_host *host) {
    return sodium_init() < 0 ? tr_host_fail(host, "libsodium finds no source of random numbers")
                             : TR_OK;
}

/* ------------------------------------------------------------ bytes as text */

enum form { FORM_HEX, FORM_BASE64, FORM_BASE64URL };
TR_DEFINE_ENUM(form, enum form, (FORM_HEX, "hex"), (FORM_BASE64, "base64"),
               (FORM_BASE64URL, "base64url"))

/* Base64 for URLs is without padding, as in JWTs and most other places (RFC 4648 section 5). */
static int variant_of(enum form form) {
    return form == FORM_BASE64 ? sodium_base64_VARIANT_ORIGINAL
                               : sodium_base64_VARIANT_URLSAFE_NO_PADDING;
}

static const char *write_form(struct tr_call *call, struct tr_bytes bytes, enum form form) {
    size_t room = form == FORM_HEX ? bytes.size * 2 + 1
                                   : sodium_base64_encoded_len(bytes.size, variant_of(form));
    char *text = tr_alloc(call, room);
    if (text == NULL) {
        return NULL;
    }
    if (form == FORM_HEX) {
        (void)sodium_bin2hex(text, room, bytes.data, bytes.size);
    } else {
        (void)sodium_bin2base64(text, room, bytes.data, bytes.size, variant_of(form));
    }
    return text;
}

/* What a tool is given: a text, or bytes where the text is NULL. False: the call has been failed.
 */
static bool take_input(struct tr_call *call, const char *text, const void *data, size_t size,
                       struct tr_bytes *ret) {
    if ((text != NULL) == (data != NULL)) {
        (void)tr_fail(call, TR_INVALID_ARGUMENTS, text == NULL ? "text" : "data",
                      "give either text or data, which is base64");
        return false;
    }
    *ret = text == NULL ? (struct tr_bytes){data, size} : (struct tr_bytes){text, strlen(text)};
    return true;
}

static const char *hash_encode(struct tr_call *call, const char *text, const void *data,
                               size_t size, enum form format) {
    struct tr_bytes bytes;
    return take_input(call, text, data, size, &bytes) ? write_form(call, bytes, format) : NULL;
}

struct decoded {
    const char *text;
    struct tr_bytes data;
    uint64_t size;
};
TR_DEFINE_STRUCT(decoded, struct decoded,
                 (TR_NULLABLE(TR_STRING), text,
                  "The bytes as UTF-8; null where they are no text, or contain U+0000"),
                 (TR_BYTES, data, "The bytes, as base64"), (TR_U64, size, "How many bytes"))

static struct decoded hash_decode(struct tr_call *call, const char *encoded, enum form format) {
    static const char spaces[] = " \t\r\n";
    struct decoded result = {0};
    size_t length = strlen(encoded);
    unsigned char *bytes = tr_alloc(call, length + 1);
    if (bytes == NULL) {
        return result;
    }
    size_t size;
    const char *end = encoded;
    int rc = format == FORM_HEX
                     ? sodium_hex2bin(bytes, length, encoded, length, spaces, &size, &end)
                     : sodium_base642bin(bytes, length, encoded, length, spaces, &size, &end,
                                         variant_of(format));
    if (rc != 0 || end != encoded + length) {
        (void)tr_fail(call, TR_INVALID_ARGUMENTS, "encoded", "is no %s: wrong from byte %zu on%s",
                      format == FORM_HEX      ? "hex"
                      : format == FORM_BASE64 ? "base64 with padding"
                                              : "base64url without padding",
                      (size_t)(end - encoded),
                      format == FORM_BASE64      ? "; with - and _ it is base64url"
                      : format == FORM_BASE64URL ? "; with +, / or = it is base64"
                                                 : "");
        return result;
    }
    bytes[size] = '\0';
    bool is_text = memchr(bytes, '\0', size) == NULL && utf8_valid((const char *)bytes, size);
    return (struct decoded){is_text ? (const char *)bytes : NULL, {bytes, size}, size};
}

/* ------------------------------------------------------------ digests */

enum digest { DIGEST_SHA256, DIGEST_SHA512, DIGEST_BLAKE2B };
TR_DEFINE_ENUM(digest, enum digest, (DIGEST_SHA256, "sha256"), (DIGEST_SHA512, "sha512"),
               (DIGEST_BLAKE2B, "blake2b"))

static const char *hash_digest(struct tr_call *call, const char *text, const void *data,
                               size_t size, enum digest algorithm, enum form format) {
    struct tr_bytes input;
    unsigned char digest[64];
    if (!take_input(call, text, data, size, &input)) {
        return NULL;
    }
    switch (algorithm) {
    case DIGEST_SHA256:
        (void)crypto_hash_sha256(digest, input.data, input.size);
        return write_form(call, (struct tr_bytes){digest, crypto_hash_sha256_BYTES}, format);
    case DIGEST_SHA512:
        (void)crypto_hash_sha512(digest, input.data, input.size);
        return write_form(call, (struct tr_bytes){digest, crypto_hash_sha512_BYTES}, format);
    default:
        (void)crypto_generichash(digest, crypto_generichash_BYTES_MAX, input.data, input.size, NULL,
                                 0);
        return write_form(call, (struct tr_bytes){digest, crypto_generichash_BYTES_MAX}, format);
    }
}

enum hmac { HMAC_SHA256, HMAC_SHA512 };
TR_DEFINE_ENUM(hmac, enum hmac, (HMAC_SHA256, "sha256"), (HMAC_SHA512, "sha512"))

static const char *hash_hmac(struct tr_call *call, const char *text, const void *data, size_t size,
                             const char *key, const void *key_data, size_t key_size,
                             enum hmac algorithm, enum form format) {
    struct tr_bytes input;
    if (!take_input(call, text, data, size, &input)) {
        return NULL;
    }
    if ((key != NULL) == (key_data != NULL)) {
        (void)tr_fail(call, TR_INVALID_ARGUMENTS, key == NULL ? "key" : "key_data",
                      "give either key or key_data, which is base64");
        return NULL;
    }
    const unsigned char *secret = key == NULL ? key_data : (const unsigned char *)key;
    size_t secret_size = key == NULL ? key_size : strlen(key);
    unsigned char code[64];
    if (algorithm == HMAC_SHA256) {
        crypto_auth_hmacsha256_state state;
        (void)crypto_auth_hmacsha256_init(&state, secret, secret_size);
        (void)crypto_auth_hmacsha256_update(&state, input.data, input.size);
        (void)crypto_auth_hmacsha256_final(&state, code);
        return write_form(call, (struct tr_bytes){code, crypto_auth_hmacsha256_BYTES}, format);
    }
    crypto_auth_hmacsha512_state state;
    (void)crypto_auth_hmacsha512_init(&state, secret, secret_size);
    (void)crypto_auth_hmacsha512_update(&state, input.data, input.size);
    (void)crypto_auth_hmacsha512_final(&state, code);
    return write_form(call, (struct tr_bytes){code, crypto_auth_hmacsha512_BYTES}, format);
}

/* ------------------------------------------------------------ random */

static const char *hash_random(struct tr_call *call, uint32_t size, enum form format) {
    unsigned char bytes[RANDOM_MAX];
    if (size < 1 || size > RANDOM_MAX) {
        (void)tr_fail(call, TR_INVALID_ARGUMENTS, "size", "must be from 1 to %d", RANDOM_MAX);
        return NULL;
    }
    randombytes_buf(bytes, size);
    return write_form(call, (struct tr_bytes){bytes, size}, format);
}

enum uuid_version { UUID_V4, UUID_V7 };
TR_DEFINE_ENUM(uuid_version, enum uuid_version, (UUID_V4, "v4"), (UUID_V7, "v7"))

static uint64_t now_ms(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* The 60 bits before the variant: those of v7 are the milliseconds and 12 bits, of which this call
 * makes a counter that begins anywhere in the lower half. So the UUIDs of a call are in order (RFC
 * 9562 section 6.2, method 1). */
static void write_uuid(enum uuid_version version, uint64_t time_ms, uint32_t counter,
                       char ret[static UUID_LENGTH + 1]) {
    unsigned char bytes[16];
    randombytes_buf(bytes, sizeof bytes);
    if (version == UUID_V7) {
        for (unsigned i = 0; i < 6; i++) {
            bytes[i] = (unsigned char)(time_ms >> (40 - 8 * i));
        }
        bytes[6] = (unsigned char)(counter >> 8);
        bytes[7] = (unsigned char)counter;
    }
    bytes[6] = (unsigned char)((bytes[6] & 0x0f) | (version == UUID_V7 ? 0x70 : 0x40));
    bytes[8] = (unsigned char)((bytes[8] & 0x3f) | 0x80);
    char *at = ret;
    for (unsigned i = 0; i < sizeof bytes; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10) {
            *at++ = '-';
        }
        *at++ = "0123456789abcdef"[bytes[i] >> 4];
        *at++ = "0123456789abcdef"[bytes[i] & 0x0f];
    }
    *at = '\0';
}

static struct tr_array hash_uuid(struct tr_call *call, enum uuid_version version, uint32_t count) {
    if (count < 1 || count > UUIDS_MAX) {
        (void)tr_fail(call, TR_INVALID_ARGUMENTS, "count", "must be from 1 to %d", UUIDS_MAX);
        return (struct tr_array){0};
    }
    const char **uuids = tr_alloc(call, count * sizeof *uuids);
    char(*texts)[UUID_LENGTH + 1] = tr_alloc(call, count * sizeof *texts);
    if (uuids == NULL || texts == NULL) {
        return (struct tr_array){0};
    }
    uint64_t time_ms = now_ms();
    uint32_t counter = randombytes_uniform(0x800);
    for (uint32_t i = 0; i < count; i++) {
        write_uuid(version, time_ms, counter + i, texts[i]);
        uuids[i] = texts[i];
    }
    return (struct tr_array){uuids, count};
}

/* clang-format off */
TR_TOOL(hash_digest,
    ("Compute the SHA-256, SHA-512 or BLAKE2b (64 bytes) digest of a text or of bytes, such as to compare "
     "contents or to check a download. Not for passwords. Use hash_hmac if a key is involved.",
     .title = "Digest, checksum", .category = "data", .tags = "hash,digest,checksum,sha256,sha512,blake2b,integrity",
     .flags = TR_READ_ONLY | TR_IDEMPOTENT, .result_description = "The digest in the format asked for",
     TR_EXAMPLES(TR_EXAMPLE(TR_SCHEMA({"text": "abc"}),
         "\"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\""))),
    TR_STRING, TR_CALL,
    (TR_OPTIONAL(TR_STRING), text, "The text; its UTF-8 bytes are hashed"),
    (TR_OPTIONAL(TR_BYTES), data, "Bytes, as base64, instead of text"),
    (TR_ENUM(digest), algorithm, "Which digest", TR_DEFAULT("sha256")),
    (TR_ENUM(form), format, "How the digest is written", TR_DEFAULT("hex")))

TR_TOOL(hash_hmac,
    ("Compute the HMAC (RFC 2104) of a text or of bytes with a key, such as to sign a web hook or to check "
     "its signature.",
     .title = "HMAC", .category = "data", .tags = "hash,hmac,mac,signature,sha256,sha512,webhook,extra",
     .flags = TR_READ_ONLY | TR_IDEMPOTENT, .result_description = "The code in the format asked for",
     TR_EXAMPLES(TR_EXAMPLE(TR_SCHEMA({"text": "what do ya want for nothing?", "key": "Jefe"}),
         "\"5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843\""))),
    TR_STRING, TR_CALL,
    (TR_OPTIONAL(TR_STRING), text, "The text; its UTF-8 bytes are authenticated"),
    (TR_OPTIONAL(TR_BYTES), data, "Bytes, as base64, instead of text"),
    (TR_OPTIONAL(TR_STRING), key, "The key, of which the UTF-8 bytes are used"),
    (TR_OPTIONAL(TR_BYTES), key_data, "The key as base64, instead of key"),
    (TR_ENUM(hmac), algorithm, "The digest in it", TR_DEFAULT("sha256")),
    (TR_ENUM(form), format, "How the code is written", TR_DEFAULT("hex")))

TR_TOOL(hash_encode,
    ("Encode a text or bytes: write them as hex, base64 (with padding) or base64url (without).",
     .title = "Encode as base64 or hex", .category = "data", .tags = "base64,base64url,hex,encode",
     .flags = TR_READ_ONLY | TR_IDEMPOTENT, .result_description = "The encoded bytes",
     TR_EXAMPLES(TR_EXAMPLE(TR_SCHEMA({"text": "Köln"}), "\"S8O2bG4=\""))),
    TR_STRING, TR_CALL,
    (TR_OPTIONAL(TR_STRING), text, "The text; its UTF-8 bytes are encoded"),
    (TR_OPTIONAL(TR_BYTES), data, "Bytes, as base64, instead of text, such as to write them as hex"),
    (TR_ENUM(form), format, "The form to write", TR_DEFAULT("base64")))

TR_TOOL(hash_decode,
    ("Decode bytes that are given as hex, base64 (with padding) or base64url (without), and show them as "
     "text if they are text. White space between them is ignored.",
     .title = "Decode base64 or hex", .category = "data", .tags = "base64,base64url,hex,decode",
     .flags = TR_READ_ONLY | TR_IDEMPOTENT,
     TR_EXAMPLES(TR_EXAMPLE(TR_SCHEMA({"encoded": "S8O2bG4="}),
         TR_SCHEMA({"text": "Köln", "data": "S8O2bG4=", "size": 5})))),
    TR_STRUCT(decoded), TR_CALL,
    (TR_STRING, encoded, "The encoded bytes"),
    (TR_ENUM(form), format, "The form that they have", TR_DEFAULT("base64")))

TR_TOOL(hash_random,
    ("Make random bytes that nobody can guess, from the system's generator, for keys, tokens and salts.",
     .title = "Random bytes", .category = "data", .tags = "random,token,key,salt,secret,nonce,extra",
     .flags = TR_READ_ONLY, .result_description = "The bytes in the format asked for",
     TR_EXAMPLES(TR_EXAMPLE(TR_SCHEMA({"size": 32}), NULL))),
    TR_STRING, TR_CALL,
    (TR_U32, size, "How many bytes", TR_DEFAULT(32), TR_MINIMUM(1), TR_MAXIMUM(1024)),
    (TR_ENUM(form), format, "How they are written", TR_DEFAULT("hex")))

TR_TOOL(hash_uuid,
    ("Make new UUIDs (RFC 9562): v4 is random, v7 begins with the time and sorts by it.",
     .title = "Make UUIDs", .category = "data", .tags = "uuid,guid,id,random,identifier",
     .flags = TR_READ_ONLY, .result_description = "The UUIDs; those of v7 are in order",
     TR_EXAMPLES(TR_EXAMPLE("{}", NULL))),
    TR_ARRAY(TR_STRING), TR_CALL,
    (TR_ENUM(uuid_version), version, "Which kind", TR_DEFAULT("v4")),
    (TR_U32, count, "How many", TR_DEFAULT(1), TR_MINIMUM(1), TR_MAXIMUM(100)))

TR_PLUGIN(("hash", .description = "Digests, HMAC, base64, hex, random bytes and UUIDs",
           .vendor = "toolrack", .license = "MIT", .flags = TR_THREAD_SAFE, .open = open_hash),
          "1.0.0", hash_digest, hash_hmac, hash_encode, hash_decode, hash_random, hash_uuid)
