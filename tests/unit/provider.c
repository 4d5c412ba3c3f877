#include "provider.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/lock.h"

static int listening;
static pthread_t thread;
static _Atomic(provider_answer) answer;
static atomic_uint asked;
static struct lock lock = LOCK_INIT; /* guards the next two */
static char *request;
static bool released;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

/* @return where the body begins; NULL: the client has gone */
static const char *read_request(int fd, struct buf *text) {
    char bytes[4096];
    for (;;) {
        ssize_t n = read(fd, bytes, sizeof bytes);
        if (n <= 0) {
            return NULL;
        }
        buf_add(text, bytes, (size_t)n);
        const char *end = strstr(text->data, "\r\n\r\n");
        const char *length = strcasestr(text->data, "content-length:");
        if (end != NULL && length != NULL &&
            strlen(end + 4) >= strtoul(length + strlen("content-length:"), NULL, 10)) {
            return end + 4;
        }
    }
}

static void serve(int fd) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    const char *body = read_request(fd, &text);
    if (body == NULL) {
        return;
    }
    lock_take(&lock);
    free(request);
    request = strdup(text.data);
    lock_release(&lock);
    atomic_fetch_add(&asked, 1);
    provider_answer how = atomic_load(&answer);
    if (how != NULL) {
        how(fd, body);
    } else {
        char byte;
        (void)!read(fd, &byte, 1);
    }
}

static void *provide(void *user) {
    for (;;) {
        int fd = accept(listening, NULL, NULL);
        if (fd < 0) {
            return user;
        }
        serve(fd);
        (void)close(fd);
    }
}

unsigned short provider_start(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    (void)setenv("no_proxy", "127.0.0.1", 1);
    atomic_store(&answer, NULL);
    atomic_store(&asked, 0);
    released = false;
    listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(listening, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(listening, 8) != 0 ||
        getsockname(listening, (struct sockaddr *)&address, &length) != 0 ||
        pthread_create(&thread, NULL, provide, NULL) != 0) {
        return 0;
    }
    return ntohs(address.sin_port);
}

void provider_stop(void) {
    (void)shutdown(listening, SHUT_RDWR);
    (void)pthread_join(thread, NULL);
    (void)close(listening);
    free(request);
    request = NULL;
}

void provider_hold(int fd, const char *body) {
    (void)fd;
    (void)body;
    LOCK_SCOPE(&lock);
    while (!released) {
        lock_wait(&lock, &changed);
    }
}

void provider_release(void) {
    LOCK_SCOPE(&lock);
    released = true;
    (void)pthread_cond_broadcast(&changed);
}

void provider_set(provider_answer how) {
    atomic_store(&answer, how);
}

unsigned provider_asked(void) {
    return atomic_load(&asked);
}

const char *provider_request(void) {
    lock_take(&lock);
    const char *last = request;
    lock_release(&lock);
    return last;
}

void provider_write(int fd, const char *status, const char *lines, const char *body,
                    size_t length) {
    CLEANUP(buf_finish) struct buf all = BUF_INIT;
    buf_printf(&all, "HTTP/1.1 %s\r\nContent-Length: %zu\r\nConnection: close\r\n%s\r\n", status,
               length, lines);
    buf_add(&all, body, length);
    for (size_t sent = 0; sent < all.length;) {
        ssize_t n = send(fd, all.data + sent, all.length - sent, MSG_NOSIGNAL);
        if (n <= 0) {
            return; /* the client has gone */
        }
        sent += (size_t)n;
    }
}
