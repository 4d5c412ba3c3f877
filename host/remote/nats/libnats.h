/* libnats.h - the NATS client library, loaded when a host joins others.
 *
 * A host that is alone never loads it. Debian 12 has 3.4, which has neither micro services nor an
 * object store; JetStream it has. */
#pragma once

#include <nats/nats.h>

#include "base/error.h"

/** X(name), for nats<name>. */
#define NATS_FUNCTIONS(X)                  \
    X(Connection_Connect)                  \
    X(Connection_Close)                    \
    X(Connection_Destroy)                  \
    X(Connection_FlushTimeout)             \
    X(Connection_GetMaxPayload)            \
    X(Connection_JetStream)                \
    X(Connection_Publish)                  \
    X(Connection_PublishMsg)               \
    X(Connection_PublishRequest)           \
    X(Connection_QueueSubscribe)           \
    X(Connection_RequestMsg)               \
    X(Connection_Subscribe)                \
    X(Connection_GetConnectedUrl)          \
    X(Msg_Create)                          \
    X(Msg_Destroy)                         \
    X(Msg_GetData)                         \
    X(Msg_GetDataLength)                   \
    X(Msg_GetReply)                        \
    X(Msg_GetSequence)                     \
    X(Msg_GetSubject)                      \
    X(Msg_IsNoResponders)                  \
    X(MsgHeader_Get)                       \
    X(MsgHeader_Set)                       \
    X(Options_Create)                      \
    X(Options_Destroy)                     \
    X(Options_LoadCATrustedCertificates)   \
    X(Options_LoadCertificatesChain)       \
    X(Options_SetMaxReconnect)             \
    X(Options_SetName)                     \
    X(Options_SetNKeyFromSeed)             \
    X(Options_SetReconnectWait)            \
    X(Options_SetRetryOnFailedConnect)     \
    X(Options_SetSecure)                   \
    X(Options_SetSendAsap)                 \
    X(Options_SetTimeout)                  \
    X(Options_SetServers)                  \
    X(Options_SetUserCredentialsFromFiles) \
    X(Options_SetClosedCB)                 \
    X(Options_SetDisconnectedCB)           \
    X(Options_SetReconnectedCB)            \
    X(Options_UseGlobalMessageDelivery)    \
    X(Status_GetText)                      \
    X(Subscription_GetDropped)             \
    X(Subscription_Destroy) X(Subscription_SetOnCompleteCB) X(Subscription_Unsubscribe)

/** X(name), for functions of other names: the library's own, and those of JetStream. */
#define NATS_NAMED_FUNCTIONS(X)   \
    X(nats_Open)                  \
    X(jsCtx_Destroy)              \
    X(jsDirectGetMsgOptions_Init) \
    X(jsOptions_Init)             \
    X(jsStreamConfig_Init)        \
    X(jsStreamInfo_Destroy)       \
    X(js_AddStream)               \
    X(js_CreateKeyValue)          \
    X(js_DirectGetMsg)            \
    X(js_GetLastMsg)              \
    X(js_KeyValue)                \
    X(js_Publish)                 \
    X(js_PublishMsg)              \
    X(js_PurgeStream)             \
    X(kvConfig_Init)              \
    X(kvEntry_Destroy)            \
    X(kvEntry_Key)                \
    X(kvEntry_Operation)          \
    X(kvEntry_Revision)           \
    X(kvEntry_Value)              \
    X(kvEntry_ValueLen)           \
    X(kvStore_Create)             \
    X(kvStore_Destroy)            \
    X(kvStore_Get)                \
    X(kvStore_Update)             \
    X(kvStore_WatchAll)           \
    X(kvWatcher_Destroy)          \
    X(kvWatcher_Next)

struct libnats {
#define NATS_MEMBER(name) __typeof__(&nats##name) name;
    NATS_FUNCTIONS(NATS_MEMBER)
#undef NATS_MEMBER
#define NATS_NAMED_MEMBER(name) __typeof__(&(name)) name;
    NATS_NAMED_FUNCTIONS(NATS_NAMED_MEMBER)
#undef NATS_NAMED_MEMBER
};

/** The functions of libnats, valid for a thread after its libnats_load(). */
extern struct libnats nats;

/** Load it, unless it is loaded already.
 * @return 0; TOOLRACK_E_IO: the message names what is missing. [any-thread] */
int libnats_load(struct toolrack_error *err);
