/* log-sources.h - the names under which the host itself logs.
 *
 * A plugin's lines are logged under its id, so an id that is one of these would pass its lines off
 * as the host's: such an id is refused. tests/lint/log-sources compares the list with the code. */
#pragma once

#define LOG_SOURCES(X) \
    X("answer")        \
    X("api")           \
    X("call")          \
    X("choose")        \
    X("cli")           \
    X("config")        \
    X("host")          \
    X("identity")      \
    X("life")          \
    X("mcp")           \
    X("nats")          \
    X("permission")    \
    X("permit")        \
    X("recommend")     \
    X("record")        \
    X("registry")      \
    X("reload")        \
    X("scan")          \
    X("store")         \
    X("toolrack")      \
    X("watch")         \
    X("worker")
