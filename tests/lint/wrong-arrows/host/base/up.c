#include "call/call.h"
