#include "plugin/a.h"
