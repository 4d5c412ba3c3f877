/* Keys and signatures, as texts: read, or refused with a message; a public key that was read is
 * written the same, and a signature that nobody made is not verified. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "package/signature.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds) {
        abort();
    }
}

static void read_public(const char *text, size_t size) {
    struct public_key key;
    struct public_key again;
    struct toolrack_error err;
    struct buf out = BUF_INIT;
    if (public_key_parse(text, size, &key, &err) < 0) {
        require(err.message[0] != '\0');
        return;
    }
    public_key_write(&key, &out);
    require(public_key_parse(out.data, out.length, &again, &err) == 0);
    require(memcmp(&key, &again, sizeof key) == 0);
    buf_finish(&out);
}

/* Without the password: scrypt would take all the time. */
static void read_secret(const char *text, size_t size) {
    bool is_encrypted = false;
    struct secret_key key;
    struct toolrack_error err;
    int code = secret_key_is_encrypted(text, size, &is_encrypted, &err);
    require(code == 0 || err.message[0] != '\0');
    int read = secret_key_parse(text, size, NULL, &key, &err);
    require(read == 0 || err.message[0] != '\0');
    require(!is_encrypted || read == TOOLRACK_E_PERMISSION_DENIED);
}

static void read_signature(const char *text, size_t size) {
    static const struct public_key nobody = {.bytes = {1}};
    static const uint8_t hash[SIGNATURE_HASH_SIZE];
    struct signature_text signature;
    struct toolrack_error err;
    if (signature_parse(text, size, &signature, &err) < 0) {
        require(err.message[0] != '\0');
        return;
    }
    struct public_key key = nobody;
    memcpy(key.number, signature.number, sizeof key.number);
    require(signature_verify(&signature, hash, &key, &err) == TOOLRACK_E_REFUSED);
    require(strlen(signature.id) < sizeof signature.id);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    read_public((const char *)data, size);
    read_secret((const char *)data, size);
    read_signature((const char *)data, size);
    return 0;
}
