/* pin.h - what happens with a tool that has changed since it was approved. */
#pragma once

enum pin_policy {
    PIN_UNSTATED, /* stated elsewhere */
    PIN_OFF,      /* it is not compared */
    PIN_WARN,     /* it runs, with a warning */
    PIN_ENFORCE   /* it does not run until it is approved again */
};
