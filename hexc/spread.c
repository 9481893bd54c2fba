/* spread.c - the one statement of the spread orders. */
#include "hexc/spread.h"

bool
spread_valid(int spread)
{
	return spread == 0 || spread == 8 || spread == 16;
}

int
spread_bit(int bits, int spread, int element, int bit)
{
	int lanes, tuple, base, whole, left, s;

	if (spread == 0)
		return element * bits + bit;
	lanes = 32 / spread;
	tuple = element / lanes;
	base = spread * (element % lanes);
	whole = spread / bits;
	left = spread - whole * bits;
	if (tuple < bits * whole)
		return tuple / whole * 32 + base + tuple % whole * bits + bit;
	s = (tuple - bits * whole) * bits + bit;
	return s / left * 32 + base + whole * bits + s % left;
}

int
spread_unit(int bits, int spread)
{
	int n = SPREAD_GROUP;

	if (spread && spread % bits == 0)
		return 32 / bits;
	while (spread == 0 && n / 2 * bits % 32 == 0)
		n /= 2;
	return n;
}
