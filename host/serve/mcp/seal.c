/* seal.c - see seal.h. XChaCha20-Poly1305 with a random nonce, and the kind as associated data. */
#include "serve/mcp/seal.h"

#include <sodium.h>

#include "base/cleanup.h"

#define NONCE   crypto_aead_xchacha20poly1305_ietf_NPUBBYTES
#define TAG     crypto_aead_xchacha20poly1305_ietf_ABYTES
#define VARIANT sodium_base64_VARIANT_URLSAFE_NO_PADDING

_Static_assert(SERVER_KEY_SIZE == crypto_aead_xchacha20poly1305_ietf_KEYBYTES, "one key");

void seal_add(const struct mcp *mcp, enum seal_kind kind, const void *data, size_t length,
              struct buf *out) {
    unsigned char ad = (unsigned char)kind;
    size_t size = NONCE + length + TAG;
    CLEANUP(freep) unsigned char *box = malloc(size);
    size_t room = sodium_base64_ENCODED_LEN(size, VARIANT);
    if (box == NULL || !buf_reserve(out, room)) {
        out->failed = true;
        return;
    }
    randombytes_buf(box, NONCE);
    (void)crypto_aead_xchacha20poly1305_ietf_encrypt(box + NONCE, NULL, data, length, &ad, 1, NULL,
                                                     box, mcp->key);
    (void)sodium_bin2base64(out->data + out->length, room, box, size, VARIANT);
    out->length += room - 1;
}

bool seal_open(const struct mcp *mcp, enum seal_kind kind, const char *text, size_t length,
               struct buf *out) {
    unsigned char ad = (unsigned char)kind;
    size_t room = length / 4 * 3 + 3;
    size_t size = 0;
    CLEANUP(freep) unsigned char *box = malloc(room);
    if (box == NULL ||
        sodium_base642bin(box, room, text, length, NULL, &size, NULL, VARIANT) != 0 ||
        size < NONCE + TAG || !buf_reserve(out, size)) {
        return false;
    }
    unsigned long long opened = 0;
    if (crypto_aead_xchacha20poly1305_ietf_decrypt((unsigned char *)out->data + out->length,
                                                   &opened, NULL, box + NONCE, size - NONCE, &ad, 1,
                                                   box, mcp->key) != 0) {
        return false;
    }
    out->length += (size_t)opened;
    out->data[out->length] = '\0';
    return true;
}
