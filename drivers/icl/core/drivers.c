/* The drivers of this library: a new one is a line here. */
#include "../icl_driver.h"

const struct icl_driver* const icl_drivers[] = {NULL};
