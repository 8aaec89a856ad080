/* The drivers of this library: a new one is a line here. */
#include "../icl_driver.h"

extern const struct icl_driver icl_emu_driver, icl_pciwin_driver;

const struct icl_driver* const icl_drivers[] = {&icl_emu_driver, &icl_pciwin_driver, NULL};
