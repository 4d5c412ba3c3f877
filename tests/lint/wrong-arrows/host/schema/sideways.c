#include "plugin/scan.h"
