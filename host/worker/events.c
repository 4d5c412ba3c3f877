#include "worker/events.h"

#include <sys/epoll.h>

_Static_assert(_Alignof(struct worker) > EVENT_SOURCE_MASK, "the low bits of the address are free");
_Static_assert(EVENT_CLONE <= EVENT_SOURCE_MASK, "a source fits into them");

bool events_add_fd(struct supervisor *supervisor, int fd, uint64_t source) {
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = source};
    return epoll_ctl(supervisor->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

void events_remove_fd(struct supervisor *supervisor, int fd) {
    if (fd >= 0) {
        (void)epoll_ctl(supervisor->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
    }
}

bool events_add(struct supervisor *supervisor, struct worker *worker) {
    uintptr_t name = (uintptr_t)worker;
    return events_add_fd(supervisor, worker->process.pidfd, name | EVENT_DEATH) &&
           events_add_fd(supervisor, worker->output.fd, name | EVENT_OUTPUT);
}

void events_remove(struct supervisor *supervisor, struct worker *worker) {
    events_remove_fd(supervisor, worker->process.pidfd);
    events_remove_fd(supervisor, worker->listener);
    events_remove_fd(supervisor, worker->output.fd);
}
