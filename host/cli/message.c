#include "cli/message.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/cleanup.h"

struct head {
    uint32_t kind;
    uint32_t length;
};

struct run_head {
    uint32_t protocol; /* of all protocols the first, and the version is the first text */
    uint32_t terminal;
    uint32_t asks;
    uint32_t columns;
    uint32_t words;
    uint32_t has_input;
};

/* ------------------------------------------------------------------- texts */

void message_add(struct buf *bytes, const char *text) {
    buf_add(bytes, text, strlen(text) + 1);
}

const char *message_next(const struct buf *bytes, size_t *at) {
    const char *text = bytes->data + *at;
    const char *end = *at < bytes->length ? memchr(text, '\0', bytes->length - *at) : NULL;
    if (end == NULL) {
        return NULL;
    }
    *at += (size_t)(end - text) + 1;
    return text;
}

void message_write_run(struct buf *bytes, const struct message_run *run) {
    const struct run_head head = {.protocol = MESSAGE_PROTOCOL,
                                  .terminal = run->terminal,
                                  .asks = run->asks,
                                  .columns = run->columns,
                                  .words = (uint32_t)run->count,
                                  .has_input = run->input != NULL};
    buf_add(bytes, &head, sizeof head);
    message_add(bytes, run->version);
    for (int i = 0; i < run->count; i++) {
        message_add(bytes, run->words[i]);
    }
    if (run->input != NULL) {
        buf_add(bytes, run->input, run->input_length);
    }
}

static int read_words(const struct buf *bytes, size_t at, const struct run_head *head,
                      struct message_run *ret) {
    CLEANUP(freep) char **words = calloc((size_t)head->words + 1, sizeof *words);
    if (words == NULL) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < head->words; i++) {
        words[i] = (char *)(uintptr_t)message_next(bytes, &at);
        if (words[i] == NULL) {
            return -EBADMSG;
        }
    }
    if (!head->has_input && at != bytes->length) {
        return -EBADMSG;
    }
    ret->input = head->has_input ? bytes->data + at : NULL;
    ret->input_length = bytes->length - at;
    ret->count = (int)head->words;
    ret->words = STEAL(words);
    return 0;
}

int message_read_run(const struct buf *bytes, struct message_run *ret) {
    struct run_head head = {0};
    size_t at = sizeof head;
    *ret = (struct message_run){0};
    if (bytes->length < sizeof head) {
        return -EBADMSG;
    }
    memcpy(&head, bytes->data, sizeof head);
    ret->version = message_next(bytes, &at);
    if (head.protocol != MESSAGE_PROTOCOL) {
        return -EPROTO;
    }
    if (ret->version == NULL || head.words == 0 || head.words > MESSAGE_WORDS_MAX) {
        return -EBADMSG;
    }
    ret->terminal = head.terminal != 0;
    ret->asks = head.asks != 0;
    ret->columns = head.columns;
    return read_words(bytes, at, &head, ret);
}

/* --------------------------------------------------------------- the socket */

/* @return 0, or a negative errno */
static int send_parts(int fd, struct iovec *parts, size_t count) {
    while (count > 0) {
        const struct msghdr message = {.msg_iov = parts, .msg_iovlen = count};
        ssize_t sent = sendmsg(fd, &message, MSG_NOSIGNAL);
        if (sent < 0 && errno != EINTR) {
            return -errno;
        }
        size_t left = sent > 0 ? (size_t)sent : 0;
        while (count > 0 && left >= parts->iov_len) {
            left -= parts->iov_len;
            parts++;
            count--;
        }
        if (count > 0) {
            parts->iov_base = (char *)parts->iov_base + left;
            parts->iov_len -= left;
        }
    }
    return 0;
}

int message_send(int fd, enum message_kind kind, const void *bytes, size_t length) {
    struct head head = {.kind = kind, .length = (uint32_t)length};
    struct iovec parts[] = {{.iov_base = &head, .iov_len = sizeof head},
                            {.iov_base = (void *)(uintptr_t)bytes, .iov_len = length}};
    return length > MESSAGE_LENGTH_MAX ? -EMSGSIZE : send_parts(fd, parts, length > 0 ? 2 : 1);
}

/* @return 0; -ENODATA: the other end closed before the first byte; -EBADMSG: after it */
static int receive_all(int fd, void *bytes, size_t length) {
    size_t have = 0;
    while (have < length) {
        ssize_t got = recv(fd, (char *)bytes + have, length - have, 0);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return got < 0 ? -errno : have == 0 ? -ENODATA : -EBADMSG;
        }
        have += (size_t)got;
    }
    return 0;
}

int message_receive(int fd, struct message *ret) {
    struct head head;
    int failed = receive_all(fd, &head, sizeof head);
    if (failed < 0) {
        return failed;
    }
    if (head.kind < MESSAGE_RUN || head.kind > MESSAGE_PROBE) {
        return -EBADMSG;
    }
    if (head.length > MESSAGE_LENGTH_MAX) {
        return -EMSGSIZE;
    }
    buf_clear(&ret->bytes);
    if (!buf_reserve(&ret->bytes, (size_t)head.length + 1)) {
        return -ENOMEM;
    }
    failed = receive_all(fd, ret->bytes.data, head.length);
    ret->kind = head.kind;
    ret->bytes.length = head.length;
    ret->bytes.data[head.length] = '\0';
    return failed == -ENODATA ? -EBADMSG : failed;
}

/* ------------------------------------------------------------- descriptors */

/* Aligned as the kernel wants it. */
union ancillary {
    struct cmsghdr head;
    char room[CMSG_SPACE(MESSAGE_DESCRIPTORS * sizeof(int))];
};

int message_send_descriptors(int fd, const int descriptors[static MESSAGE_DESCRIPTORS]) {
    char byte = 0;
    union ancillary ancillary = {.room = ""};
    struct iovec part = {.iov_base = &byte, .iov_len = 1};
    const struct msghdr message = {.msg_iov = &part,
                                   .msg_iovlen = 1,
                                   .msg_control = ancillary.room,
                                   .msg_controllen = sizeof ancillary.room};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(MESSAGE_DESCRIPTORS * sizeof(int));
    memcpy(CMSG_DATA(head), descriptors, MESSAGE_DESCRIPTORS * sizeof(int));
    ssize_t sent;
    do {
        sent = sendmsg(fd, &message, MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    return sent == 1 ? 0 : -errno;
}

int message_receive_descriptors(int fd, int ret[static MESSAGE_DESCRIPTORS]) {
    char byte;
    union ancillary ancillary = {.room = ""};
    struct iovec part = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = ancillary.room,
                             .msg_controllen = sizeof ancillary.room};
    ssize_t got;
    do {
        got = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
    } while (got < 0 && errno == EINTR);
    if (got <= 0) {
        return got < 0 ? -errno : -ENODATA;
    }
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    if (head == NULL || head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) {
        return -EBADMSG;
    }
    size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    if (count != MESSAGE_DESCRIPTORS) { /* the kernel has made those that have room */
        for (size_t i = 0; i < count; i++) {
            int other;
            memcpy(&other, CMSG_DATA(head) + i * sizeof other, sizeof other);
            (void)close(other);
        }
        return -EBADMSG;
    }
    memcpy(ret, CMSG_DATA(head), MESSAGE_DESCRIPTORS * sizeof(int));
    return 0;
}
