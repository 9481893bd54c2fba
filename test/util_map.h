/* util_map.h - tensor maps of a launch on the simulator, as encoded by a host's driver. */
#ifndef TEST_UTIL_MAP_H
#define TEST_UTIL_MAP_H
#include "lib/hexc.h"
#include "lib/sim/sim.h"

/* Those of kernel 0 of m for these arguments, nmap of them, and where they stand among a launch's:
 * params[0..).  Fails the test where one cannot be encoded. */
void map_encode(const hexc_module *m, uint32_t nmap, const hexc_arg *arg, sim_tmap *map, const void **params);
#endif
