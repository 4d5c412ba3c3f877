#include "base/buf.h"
