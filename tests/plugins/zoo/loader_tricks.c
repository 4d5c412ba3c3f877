/* Fault: asks the loader for libraries in folders of its own (RPATH), for one that stands in for it
 * (AUXILIARY), and for one that watches the loader (AUDIT); meson.build adds them. None is there.
 */
#include "zoo.h"

static tr_status zoo_loader_tricks(struct tr_call *call) {
    return zoo_survived(call);
}
ZOO_FAULT(zoo_loader_tricks)
ZOO_PLUGIN(zoo_loader_tricks)
