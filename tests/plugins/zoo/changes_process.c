/* Fault: changes what belongs to the whole process: folder, umask, environment, locale. */
#include <locale.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "zoo.h"

static tr_status zoo_changes_process(struct tr_call *call) {
    (void)umask(0777);
    if (chdir("/") < 0 || setenv("ZOO_WAS_HERE", "1", 1) < 0 || setenv("TZ", "Asia/Tokyo", 1) < 0) {
        return tr_fail(call, TR_FAILED, NULL, "cannot change the process");
    }
    (void)setlocale(LC_ALL, "C.UTF-8");
    return zoo_survived(call);
}
ZOO_FAULT(zoo_changes_process)
ZOO_PLUGIN(zoo_changes_process)
