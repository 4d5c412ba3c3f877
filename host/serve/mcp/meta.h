/* meta.h - the keys of `_meta` that the protocol defines. */
#pragma once

#define META_PREFIX       "io.modelcontextprotocol/"
#define META_VERSION      META_PREFIX "protocolVersion"
#define META_CAPABILITIES META_PREFIX "clientCapabilities"
#define META_CLIENT       META_PREFIX "clientInfo"
#define META_SERVER       META_PREFIX "serverInfo"
#define META_LOG_LEVEL    META_PREFIX "logLevel"
#define META_SUBSCRIPTION META_PREFIX "subscriptionId"
/* What was changed in the arguments of a call, in its result: our own. */
#define META_CHANGED      "toolrack/changed"
/* Without the prefix, as the protocol has it. */
#define META_TRACEPARENT  "traceparent"
