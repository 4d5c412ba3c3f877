/* work.h - what the tools do. */
#pragma once

#include <toolrack/plugin.h>

tr_status unpack_list(struct tr_call *call);
tr_status unpack_extract(struct tr_call *call);
tr_status create_archive(struct tr_call *call);
