#include "remote/nats/nkey.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

/* The kinds: "S" and "U" are the first letters of the texts. */
#define PREFIX_SEED (18u << 3)
#define PREFIX_USER (20u << 3)
#define CHECK_SIZE  2u
/* Of a seed: two bytes of the kind, the seed, the checksum; 58 letters. */
#define SEED_BYTES  (2u + crypto_sign_SEEDBYTES + CHECK_SIZE)
#define SEED_LENGTH 58u
#define KEY_BYTES   (1u + crypto_sign_PUBLICKEYBYTES + CHECK_SIZE)

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

static int open_secret(const char *path, int *ret_fd, struct toolrack_error *err) {
    struct stat status;
    CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &status) < 0) {
        return error_set(err, TOOLRACK_E_IO, "cannot read %s, which \"nats\" names: %s", path,
                         strerror(errno));
    }
    if (!S_ISREG(status.st_mode) || (status.st_mode & 077u) != 0 || status.st_uid != geteuid()) {
        return error_set(err, TOOLRACK_E_REFUSED,
                         "%s has a secret of NATS and is not of this user alone; chmod 600 it",
                         path);
    }
    *ret_fd = fd;
    fd = -1; /* handed over */
    return 0;
}

int nkey_check_file(const char *path, struct toolrack_error *err) {
    CLEANUP(closep) int fd = -1;
    return open_secret(path, &fd, err);
}

/* CRC-16 of XMODEM. */
static uint16_t checksum(const unsigned char *bytes, size_t size) {
    uint16_t crc = 0;
    for (size_t i = 0; i < size; i++) {
        crc ^= (uint16_t)(bytes[i] << 8);
        for (unsigned bit = 0; bit < 8; bit++) {
            crc = (uint16_t)((crc & 0x8000u) != 0 ? (crc << 1) ^ 0x1021 : crc << 1);
        }
    }
    return crc;
}

/* @return whether it is base32 of exactly so many bytes */
static bool decode(const char *text, size_t length, unsigned char *ret, size_t size) {
    uint32_t bits = 0;
    unsigned count = 0;
    size_t made = 0;
    for (size_t i = 0; i < length; i++) {
        const char *letter = strchr(letters, text[i]);
        if (letter == NULL || text[i] == '\0') {
            return false;
        }
        bits = bits << 5 | (uint32_t)(letter - letters);
        count += 5;
        if (count >= 8) {
            count -= 8;
            if (made == size) {
                return false;
            }
            ret[made++] = (unsigned char)(bits >> count);
        }
    }
    return made == size;
}

static void encode(const unsigned char *bytes, size_t size, char *ret) {
    uint32_t bits = 0;
    unsigned count = 0;
    for (size_t i = 0; i < size; i++) {
        bits = bits << 8 | bytes[i];
        count += 8;
        while (count >= 5) {
            count -= 5;
            *ret++ = letters[bits >> count & 31u];
        }
    }
    *ret = '\0'; /* a public key is a multiple of five bits */
}

static void public_of(const unsigned char seed[crypto_sign_SEEDBYTES], char ret[NKEY_ROOM]) {
    unsigned char secret[crypto_sign_SECRETKEYBYTES];
    unsigned char bytes[KEY_BYTES] = {PREFIX_USER};
    (void)crypto_sign_seed_keypair(bytes + 1, secret, seed);
    uint16_t crc = checksum(bytes, KEY_BYTES - CHECK_SIZE);
    bytes[KEY_BYTES - 2] = (unsigned char)crc;
    bytes[KEY_BYTES - 1] = (unsigned char)(crc >> 8);
    encode(bytes, sizeof bytes, ret);
    sodium_memzero(secret, sizeof secret);
}

int nkey_read(const char *path, char ret[static NKEY_ROOM], struct toolrack_error *err) {
    CLEANUP(closep) int fd = -1;
    char text[128] = "";
    unsigned char bytes[SEED_BYTES];
    int code = open_secret(path, &fd, err);
    if (code < 0) {
        return code;
    }
    ssize_t length = read(fd, text, sizeof text - 1);
    size_t end = strcspn(text, " \t\r\n");
    bool is_seed = length > 0 && end == SEED_LENGTH && decode(text, end, bytes, sizeof bytes) &&
                   (bytes[0] & 0xf8u) == PREFIX_SEED &&
                   ((bytes[0] & 7u) << 5 | bytes[1] >> 3) == PREFIX_USER &&
                   checksum(bytes, SEED_BYTES - CHECK_SIZE) ==
                           (uint16_t)(bytes[SEED_BYTES - 2] | bytes[SEED_BYTES - 1] << 8);
    if (is_seed) {
        public_of(bytes + 2, ret);
    }
    sodium_memzero(text, sizeof text);
    sodium_memzero(bytes, sizeof bytes);
    return is_seed ? 0
                   : error_set(err, TOOLRACK_E_INVALID,
                               "%s holds no seed of a user of NATS, which begins with SU", path);
}
