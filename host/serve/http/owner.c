/* owner.c - whose a TCP connection of this machine is, as the kernel's sock_diag(7) says it. */
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "serve/http/address.h"

struct question {
    struct nlmsghdr head;
    struct inet_diag_req_v2 request;
};

static void put_end(const struct sockaddr_storage *address, __be16 *ret_port, __be32 ret_host[4]) {
    if (address->ss_family == AF_INET6) {
        const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)address;
        *ret_port = six->sin6_port;
        memcpy(ret_host, &six->sin6_addr, sizeof six->sin6_addr);
    } else {
        const struct sockaddr_in *four = (const struct sockaddr_in *)address;
        *ret_port = four->sin_port;
        memcpy(ret_host, &four->sin_addr, sizeof four->sin_addr);
    }
}

/* The socket at the other end has this one's peer as its own address. False: no TCP. */
static bool write_question(int fd, struct question *ret) {
    struct sockaddr_storage own = {0};
    struct sockaddr_storage peer = {0};
    socklen_t own_size = sizeof own;
    socklen_t peer_size = sizeof peer;
    if (getsockname(fd, (struct sockaddr *)&own, &own_size) < 0 ||
        getpeername(fd, (struct sockaddr *)&peer, &peer_size) < 0 ||
        (own.ss_family != AF_INET && own.ss_family != AF_INET6)) {
        return false;
    }
    *ret = (struct question){
            .head = {.nlmsg_len = sizeof *ret,
                     .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                     .nlmsg_flags = NLM_F_REQUEST},
            .request = {.sdiag_family = (__u8)own.ss_family,
                        .sdiag_protocol = IPPROTO_TCP,
                        .idiag_states = ~0u,
                        .id = {.idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}}}};
    put_end(&peer, &ret->request.id.idiag_sport, ret->request.id.idiag_src);
    put_end(&own, &ret->request.id.idiag_dport, ret->request.id.idiag_dst);
    return true;
}

/* The kernel has put the answer into the queue before send() returns. */
static ssize_t ask(const struct question *question, void *answer, size_t size) {
    CLEANUP(closep) int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    return fd >= 0 && send(fd, question, sizeof *question, 0) == (ssize_t)sizeof *question
                   ? recv(fd, answer, size, MSG_DONTWAIT)
                   : -1;
}

bool address_owner(int fd, uint32_t *ret_user) {
    struct question question;
    union {
        struct nlmsghdr head;
        char bytes[1024];
    } answer;
    if (!write_question(fd, &question)) {
        return false;
    }
    ssize_t length = ask(&question, &answer, sizeof answer);
    if (length < (ssize_t)NLMSG_LENGTH(sizeof(struct inet_diag_msg)) ||
        answer.head.nlmsg_type != SOCK_DIAG_BY_FAMILY) {
        return false;
    }
    struct inet_diag_msg socket;
    memcpy(&socket, NLMSG_DATA(&answer.head), sizeof socket);
    /* The kernel finds a socket that listens at the address where the connection is gone, and names
     * root where no process has it any more. */
    if (socket.id.idiag_dport != question.request.id.idiag_dport || socket.idiag_inode == 0) {
        return false;
    }
    *ret_user = socket.idiag_uid;
    return true;
}
