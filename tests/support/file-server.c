#include "file-server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

struct file_server {
    pthread_t thread;
    int listener;
    int folder;
    unsigned port;
};

static void say(int fd, const char *text) {
    (void)send(fd, text, strlen(text), MSG_NOSIGNAL);
}

static void redirect(int fd, const char *to, const char *path) {
    char head[1024];
    (void)snprintf(head, sizeof head,
                   "HTTP/1.1 302 Found\r\nLocation: %s%s\r\nContent-Length: 0\r\n"
                   "Connection: close\r\n\r\n",
                   to, path);
    say(fd, head);
}

/* @param stated  added to the length that is said; negative: said in its place */
static void send_file(const struct file_server *server, int fd, const char *path,
                      const char *header, long long stated) {
    char head[256];
    struct stat st;
    int file = openat(server->folder, path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || fstat(file, &st) < 0 || !S_ISREG(st.st_mode)) {
        say(fd, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    } else {
        (void)snprintf(head, sizeof head,
                       "HTTP/1.1 200 OK\r\nContent-Length: %lld\r\n%sConnection: close\r\n\r\n",
                       stated < 0 ? -stated : (long long)st.st_size + stated, header);
        say(fd, head);
        for (off_t at = 0; at < st.st_size;) {
            if (sendfile(fd, file, &at, (size_t)(st.st_size - at)) <= 0) {
                break;
            }
        }
    }
    if (file >= 0) {
        (void)close(file);
    }
}

/* Send a text for as long as somebody takes it. */
static void send_always(int fd, const char *begin, const char *text) {
    say(fd, begin);
    while (send(fd, text, strlen(text), MSG_NOSIGNAL) > 0) {
    }
}

/* Send a byte, and wait until the other side has had enough. */
static void send_little(int fd) {
    char end;
    say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n.");
    (void)recv(fd, &end, 1, 0);
}

/* A whole answer from a file, head and all; false: there is none. */
static bool send_raw(const struct file_server *server, int fd, const char *path) {
    char name[600];
    struct stat st;
    (void)snprintf(name, sizeof name, "raw/%s", path);
    int file = openat(server->folder, name, O_RDONLY | O_CLOEXEC);
    bool is_there = file >= 0 && fstat(file, &st) == 0 && S_ISREG(st.st_mode);
    for (off_t at = 0; is_there && at < st.st_size;) {
        if (sendfile(fd, file, &at, (size_t)(st.st_size - at)) <= 0) {
            break;
        }
    }
    if (file >= 0) {
        (void)close(file);
    }
    return is_there;
}

/* Read the first line of a request, up to the end of its head. */
static bool read_path(int fd, char *ret, size_t room) {
    char head[8192];
    size_t length = 0;
    while (length + 1 < sizeof head) {
        ssize_t got = recv(fd, head + length, sizeof head - 1 - length, 0);
        if (got <= 0) {
            return false;
        }
        length += (size_t)got;
        head[length] = '\0';
        if (strstr(head, "\r\n\r\n") != NULL) {
            break;
        }
    }
    size_t path = strncmp(head, "GET /", 5) == 0 ? strcspn(head + 5, " ") : room;
    if (path >= room) {
        return false;
    }
    memcpy(ret, head + 5, path);
    ret[path] = '\0';
    return true;
}

static void answer(const struct file_server *server, int fd) {
    char path[512];
    if (!read_path(fd, path, sizeof path)) {
        return;
    }
    if (send_raw(server, fd, path)) {
        return;
    }
    if (strncmp(path, "loop/", 5) == 0) {
        redirect(fd, "/", path);
    } else if (strncmp(path, "to/", 3) == 0) {
        redirect(fd, "/", path + 3);
    } else if (strncmp(path, "gzip/", 5) == 0) {
        send_file(server, fd, path + 5, "Content-Encoding: gzip\r\n", 0);
    } else if (strncmp(path, "file/", 5) == 0) {
        redirect(fd, "file:///", path + 5);
    } else if (strncmp(path, "cut/", 4) == 0) {
        send_file(server, fd, path + 4, "", 100);
    } else if (strncmp(path, "short/", 6) == 0) {
        send_file(server, fd, path + 6, "", -1);
    } else if (strcmp(path, "endless/") == 0) {
        send_always(fd, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", "0123456789");
    } else if (strcmp(path, "headers/") == 0) {
        send_always(fd, "HTTP/1.1 200 OK\r\n", "X-Again: and again\r\n");
    } else if (strcmp(path, "silent/") == 0) {
        send_little(fd);
    } else if (strcmp(path, "other/") == 0) {
        say(fd, "220 this is another protocol\r\n");
    } else {
        send_file(server, fd, path, "", 0);
    }
}

static void *serve(void *argument) {
    const struct file_server *server = argument;
    for (int fd; (fd = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0;) {
        answer(server, fd);
        (void)shutdown(fd, SHUT_WR);
        (void)close(fd);
    }
    return NULL; /* the listener was shut down */
}

struct file_server *file_server_start(const char *folder) {
    struct file_server *server = calloc(1, sizeof *server);
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof address;
    if (server == NULL) {
        return NULL;
    }
    server->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (server->folder < 0 || server->listener < 0 ||
        bind(server->listener, (struct sockaddr *)&address, sizeof address) < 0 ||
        listen(server->listener, 16) < 0 ||
        getsockname(server->listener, (struct sockaddr *)&address, &length) < 0 ||
        pthread_create(&server->thread, NULL, serve, server) != 0) {
        (void)close(server->folder);
        (void)close(server->listener);
        free(server);
        return NULL;
    }
    server->port = ntohs(address.sin_port);
    return server;
}

void file_server_stop(struct file_server *server) {
    if (server != NULL) {
        (void)shutdown(server->listener, SHUT_RDWR); /* accept4() returns */
        (void)pthread_join(server->thread, NULL);
        (void)close(server->listener);
        (void)close(server->folder);
        free(server);
    }
}

unsigned file_server_port(const struct file_server *server) {
    return server->port;
}
