/* A plugin with a tool whose schema has room in the file: a test writes another schema over it. */
#include "schema-room.h"

#include <toolrack/plugin.h>

#define SPACES_64  "                                                                "
#define SPACES_512 SPACES_64 SPACES_64 SPACES_64 SPACES_64 SPACES_64 SPACES_64 SPACES_64 SPACES_64
#define SPACES_4K \
    SPACES_512 SPACES_512 SPACES_512 SPACES_512 SPACES_512 SPACES_512 SPACES_512 SPACES_512
#define SPACES_32K SPACES_4K SPACES_4K SPACES_4K SPACES_4K SPACES_4K SPACES_4K SPACES_4K SPACES_4K

static const char schema[] = SCHEMA_ROOM_MARK SPACES_32K;

static tr_status roomy(struct tr_call *call) {
    return tr_reply_text(call, "done");
}
TR_JSON_TOOL(roomy, "Do nothing", schema)

TR_PLUGIN(("test.room", .license = "MIT"), "1.0.0", roomy)
