/* recipe_impl.h - between the files that make recipes. */
#ifndef HEXC_RECIPE_IMPL_H
#define HEXC_RECIPE_IMPL_H
#include "infer/recipe.h"

enum { PARTS = 32 };

/* What is known of the two types, and the shifted copies of words that outputs ask for. */
typedef struct Make {
	Recipe *r;
	int bits;       /* of a source element */
	int place;      /* bits from one element to the next in natural order */
	bool sint, flt; /* the source */
	int lane;       /* bits of a result */
	int lanes;      /* results in a word */
	int man, bias;  /* of a float result */
	int room;       /* an integer's field may lie at places 0 .. room of the result */
	uint64_t forced[8];    /* a set of shifts, bit 32 + s each, that outputs of several parts need */
	uint64_t wants[8][32]; /* of each output of one part, any of which will do */
	int nwant[8];
} Make;

/* Bits of one word that go the same way. */
typedef struct Part {
	int word, shift;
	uint32_t mask; /* where they arrive */
} Part;

/* A step's value; equal steps are one. */
int recipe_step(Make *k, StepOp op, int x, int y, int n, uint32_t m, uint32_t c);
/* x in every lane of a word. */
uint32_t recipe_lanes(const Make *k, uint32_t x);
/* The bits of a number of the result's type. */
uint32_t recipe_code(const Make *k, double x);
/* 2^(bits - 1) of signed integers, 0 of others. */
int recipe_half(const Make *k);
/* Where bit b of element e of the group is: word * 32 + bit. */
int recipe_bit(const Make *k, int e, int b);
/* The parts of output j, its fields at `place`: at most PARTS; more are PARTS + 1. */
int recipe_parts(const Make *k, int j, int place, Part *part);
/* Output j is `value`: of each lane i 2^man + field * 2^place[i], the sign bit turned over. */
void recipe_finish(Make *k, int j, int value, const int place[2]);
/* The places of all outputs of integers to floats, such that few shifted copies of words are needed
 * (recipe_place.c). */
void recipe_places(Make *k, int *place);
/* Words in natural order to lanes of 16 bits (recipe_natural.c). */
void recipe_natural(Make *k);
#endif
