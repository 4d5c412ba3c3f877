#pragma once

#define LOG_SOURCES(X) X("store")
