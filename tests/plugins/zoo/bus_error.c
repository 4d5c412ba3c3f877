/* Fault: reads from a mapped file behind its end. The file is the plugin's own: no other may be
 * there to be read. */
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "zoo.h"

#define PAGE ((size_t)4096)

static tr_status zoo_bus_error(struct tr_call *call) {
    Dl_info self;
    struct stat st;
    int fd = dladdr(&toolrack_plugin, &self) != 0 ? open(self.dli_fname, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0 || fstat(fd, &st) < 0) {
        return tr_fail(call, TR_FAILED, NULL, "cannot read its own file");
    }
    size_t end = ((size_t)st.st_size + PAGE - 1) / PAGE * PAGE;
    volatile char *image = mmap(NULL, end + PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
    (void)close(fd);
    if (image == MAP_FAILED || image[end] != 0) {
        return tr_fail(call, TR_FAILED, NULL, "cannot map its own file");
    }
    return zoo_survived(call);
}
ZOO_FAULT(zoo_bus_error)
ZOO_PLUGIN(zoo_bus_error)
