/* pin.h - what becomes of a tool that is not as it was approved. */
#pragma once

enum pin_policy {
    PIN_UNSTATED, /* somebody else states it */
    PIN_OFF,      /* it is not compared */
    PIN_WARN,     /* it runs, with a warning */
    PIN_ENFORCE   /* it does not run until it is approved again */
};
