/* decode_video.c - decodes the video instructions from their syntax. */
#include <string.h>
#include "lib/sim/decode/decode.h"
#include "lib/sim/exec/video.h"

static const struct { const char *name; u8 op; } ops[] = {
	{ "vadd", V_ADD }, { "vsub", V_SUB }, { "vabsdiff", V_ABSDIFF }, { "vmin", V_MIN }, { "vmax", V_MAX },
	{ "vshl", V_SHL }, { "vshr", V_SHR }, { "vmad", V_MAD }, { "vset", V_SET }, { "vavrg", V_AVRG },
};

/* b0..b3, h0, h1 */
static bool
scalar_part(Dec *d, const Opnd *o, VideoLane *out)
{
	const char *s = o->sel;

	*out = (VideoLane){ 32, 0 };
	if (!s)
		return true;
	if (strlen(s) != 2 || s[1] < '0' || s[1] > (s[0] == 'b' ? '3' : '1'))
		return dec_fail(d, ".%.20s is not a register selector", s);
	out->bits = s[0] == 'b' ? 8 : 16;
	out->shift = (u8)((s[1] - '0') * out->bits);
	return true;
}

/* b3210, h10: one digit for each lane, the highest first; `top`: the largest digit. */
static bool
simd_part(Dec *d, const Opnd *o, const Video *v, u8 pick[4], char top)
{
	const char *s = o->sel;

	if (!s)
		return true;
	if (s[0] != (v->lanes == 4 ? 'b' : 'h') || strlen(s) != 1u + v->lanes)
		return dec_fail(d, ".%.20s does not select %u parts", s, v->lanes);
	for (u32 i = 0; i < v->lanes; i++) {
		char c = s[v->lanes - i];
		if (c < '0' || c > top)
			return dec_fail(d, ".%.20s: invalid part %c", s, c);
		pick[i] = (u8)(c - '0');
	}
	return true;
}

/* The mask of d: digits ascending from the right. */
static bool
simd_mask(Dec *d, const Opnd *o, Video *v)
{
	const char *s = o->sel;

	v->mask = (u8)((1u << v->lanes) - 1);
	if (!s)
		return true;
	v->mask = 0;
	if (s[0] != (v->lanes == 4 ? 'b' : 'h') || !s[1])
		return dec_fail(d, ".%.20s is not a mask", s);
	for (s++; *s; s++) {
		u32 bit = (u32)(*s - '0');
		if (bit >= v->lanes || v->mask & ((2u << bit) - 1))
			return dec_fail(d, "the parts of a mask must be in descending order");
		v->mask |= (u8)(1u << bit);
	}
	return true;
}

static bool
set_op(Dec *d, Video *v)
{
	static const struct { const char *name; u8 set; } rel[] = {
		{ "eq", 2 }, { "ne", 5 }, { "lt", 1 }, { "lo", 1 }, { "le", 3 }, { "ls", 3 }, { "gt", 4 },
		        { "hi", 4 },
		{ "ge", 6 }, { "hs", 6 },
	};
	const char *name = d->row->name;
	size_t n = strlen(name);

	v->lanes = name[n - 1] == '2' ? 2 : name[n - 1] == '4' ? 4 : 1;
	v->bits = (u8)(32 / v->lanes);
	n -= v->lanes > 1;
	for (size_t i = 0; i < COUNT_OF(ops); i++)
		if (strlen(ops[i].name) == n && !memcmp(ops[i].name, name, n))
			v->op = ops[i].op;
	for (size_t i = 0; i < COUNT_OF(rel) && v->op == V_SET; i++)
		if (dec_has(d, rel[i].name))
			v->relation = rel[i].set;
	v->sat = dec_has(d, "sat");
	v->clamp = dec_has(d, "clamp");
	dec_has(d, "wrap");
	v->plus_one = dec_has(d, "po");
	v->shift = dec_has(d, "shr7") ? 7 : dec_has(d, "shr15") ? 15 : 0;
	/* a secondary operation comes last: vmin.u32.u32.u32.min has its name twice */
	v->sec = dec_has(d, "add") ? SEC_ADD : dec_has(d, "min") ? SEC_MIN : dec_has(d, "max") ? SEC_MAX
	                                                   : SEC_NONE;
	return dec_types(d);
}

static bool
source(Dec *d, const Opnd *o, Ref *out)
{
	Opnd plain = *o;

	plain.sel = NULL;
	plain.minus = false;
	return dec_src(d, &plain, T_b32, out);
}

bool
dec_video(Dec *d)
{
	Ins *in = d->in;
	const Opnd *o = d->st->o;
	Ref *r = NEWN(d->arena, Ref, 4);
	Video *v = NEW(d->arena, Video);
	Opnd dst = o[0];
	bool set;

	if (!set_op(d, v) || d->st->no < 3 || d->st->no > 4)
		return dec_fail(d, "expected d, a, b and optionally c");
	set = v->op == V_SET;
	if (d->nty != (set ? 2u : 3u))
		return dec_fail(d, "wrong number of types");
	v->dsign = !set && d->ty[0] == T_s32;
	v->asign = d->ty[set ? 0 : 1] == T_s32;
	v->bsign = d->ty[set ? 1 : 2] == T_s32;
	in->type = T_u32;
	for (u32 i = 0; i < v->lanes; i++) {
		v->pick[0][i] = (u8)i;
		v->pick[1][i] = (u8)(v->lanes + i);
	}
	if (v->lanes == 1 ? !scalar_part(d, &o[0], &v->d) || !scalar_part(d, &o[1], &v->a) ||
	                            !scalar_part(d, &o[2], &v->b)
	                  : !simd_mask(d, &o[0], v) ||
	                            !simd_part(d, &o[1], v, v->pick[0], (char)('0' + 2 * v->lanes - 1)) ||
	                            !simd_part(d, &o[2], v, v->pick[1], (char)('0' + 2 * v->lanes - 1)))
		return false;
	if (d->st->no != 3u + (v->lanes > 1 || v->sec || v->d.bits < 32 || v->op == V_MAD))
		return dec_fail(d,
		                "c is required for a second operation, a part of d, and SIMD forms, and "
		                "only allowed there");
	if (v->lanes == 1 && v->d.bits < 32 && v->sec)
		return dec_fail(d, "a second operation and a part of d exclude each other");
	if (v->op == V_MAD) {
		v->neg_product = o[1].minus != o[2].minus;
		v->neg_c = o[3].minus;
		if ((v->neg_product && v->neg_c) || (v->plus_one && (o[1].minus || o[2].minus || o[3].minus)))
			return dec_fail(d, "too many signs");
	} else if (o[1].minus || o[2].minus) {
		return dec_fail(d, "only vmad supports signs");
	}
	dst.sel = NULL;
	in->video = v;
	in->d = r;
	in->nd = 1;
	in->s = r + 1;
	in->ns = (u8)(d->st->no - 1);
	if (!dec_dst(d, &dst, T_b32, r))
		return false;
	for (u32 i = 1; i <= in->ns; i++)
		if (!source(d, &o[i], &r[i]))
			return false;
	return true;
}
