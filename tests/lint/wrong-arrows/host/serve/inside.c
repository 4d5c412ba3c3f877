#include "api/host.h"
