#include "infer/prove/order.h"
void
order_signals(Order *w)
{
	(void)w;
}
