/* format_table.c - defines the table of formats from formats.def. */
#include "lib/weights/format.h"
#include <string.h>

const Format formats[] = {
#define FORMAT(id, name_, container_, code_, bias_, group_, what_)                                      \
	{                                                                                               \
		.name = name_, .container = container_, .code = code_, .bias = bias_, .group = group_,  \
		.what = what_,
#define PLANE(id, dtype_, group_, per_n_, op_, c_)                                                      \
	.plane[HEXC_PLANE_##id] = { dtype_, OP_##op_, c_, group_, true, per_n_ },
#define STATED(by, must) .stated = by, .must_state = must,
#define TABLE(dtype_, ...) .table_type = dtype_, .table = { __VA_ARGS__ },
#define PARTS .part = {
#define ORDER_k 'k'
#define ORDER_n 'n'
#define ORDER_b 'b'
#define PART(suffix_, types_, tile_n_, tile_k_, order_, chunk_, rows_, optional_)                       \
	{                                                                                               \
		suffix_, types_, tile_n_, tile_k_, chunk_, rows_, ORDER_##order_, optional_,            \
		(const FormatPiece[]){
#define PIECE(id, bits_, shift_, base_, layout_) { layout_, bits_, shift_, base_, HEXC_PLANE_##id },
#define END_PART { NULL, 0, 0, 0, 0 } } },
#define END } },
#include "lib/weights/formats.def"
};
const size_t nformats = COUNT_OF(formats);

const Format *
format_find(const char *name)
{
	for (size_t i = 0; name && i < nformats; i++)
		if (strcmp(formats[i].name, name) == 0)
			return &formats[i];
	return NULL;
}

int
hexc_format_at(size_t i, hexc_format *out)
{
	hexc_format full;

	if (!out || i >= nformats)
		return 0;
	full = (hexc_format){ sizeof full, formats[i].name, formats[i].container, formats[i].code,
		              formats[i].group, formats[i].what };
	return hand_out(out, out->size, &full, sizeof full);
}
