#include "plugin/b.h"
