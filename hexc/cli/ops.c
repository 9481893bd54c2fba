/* ops.c - implements hexc ops: lists the operators of hexc_ops.h, or prints what one declares
 * (op_page.h), as text or JSON. */
#include "hexc/cli/base/json.h"
#include "hexc/cli/op_page.h"

static void
print_items(const char *title, const Items *l)
{
	if (l->n)
		printf("\n%s:\n", title);
	for (int i = 0; i < l->n; i++) {
		const Item *x = &l->item[i];
		int column = *x->name ? printf("  %-9s ", x->name) : printf("  ");

		column += printf("%s", x->text);
		if (x->hole)
			printf("%*s %s %s", column < 44 ? 44 - column : 0, "",
			       x->without ? "without" : "with", x->hole);
		if (x->inner)
			printf(", without %s", x->inner);
		putchar('\n');
	}
}

static void
print_page(const OpPage *p)
{
	printf("%s: %s\n\n", p->op.name, p->op.what);
	for (int i = 0; i < p->about.n; i++)
		printf("  %s\n", p->about.item[i].text);
	print_items("arguments", &p->all.argument);
	print_items("constants", &p->all.constant);
	print_items("tunables", &p->all.tunable);
	print_items("holes", &p->hole);
	print_items("limits", &p->all.limit);
	print_items("kernels by size, the first line that holds", &p->line);
}

static void
add_items(cJSON *page, const char *title, const char *text, const Items *l)
{
	cJSON *list = cJSON_AddArrayToObject(page, title);

	for (int i = 0; i < l->n; i++) {
		const Item *x = &l->item[i];
		cJSON *o;

		if (!*x->name) {
			cJSON_AddItemToArray(list, cJSON_CreateString(x->text));
			continue;
		}
		cJSON_AddItemToArray(list, o = cJSON_CreateObject());
		cJSON_AddStringToObject(o, "name", x->name);
		cJSON_AddStringToObject(o, text, x->text);
		if (x->hole)
			cJSON_AddStringToObject(o, x->without ? "without" : "with", x->hole);
	}
}

static cJSON *
json_page(const OpPage *p)
{
	cJSON *o = cJSON_CreateObject();

	cJSON_AddStringToObject(o, "name", p->op.name);
	cJSON_AddStringToObject(o, "what", p->op.what);
	add_items(o, "about", "", &p->about);
	add_items(o, "arguments", "type", &p->all.argument);
	add_items(o, "constants", "value", &p->all.constant);
	add_items(o, "tunables", "values", &p->all.tunable);
	add_items(o, "holes", "takes", &p->hole);
	add_items(o, "limits", "", &p->all.limit);
	add_items(o, "kernels", "", &p->line);
	return o;
}

int
cli_ops(Cli *c)
{
	bool json = cli_has(c, CLI_json_out);
	cJSON *list = json && !c->nfile ? cJSON_CreateArray() : NULL;
	const char *name = c->nfile ? c->file[0] : NULL;
	OpPage *p = cli_alloc(c, sizeof *p);

	if (c->nfile > 1)
		return cli_error(EXIT_USAGE, "only one operator is allowed; unexpected '%s'", c->file[1]);
	for (size_t i = 0; !name && hexc_op_at(i, &p->op); i++) {
		cJSON *o = json ? cJSON_CreateObject() : NULL;

		if (!json) {
			printf("%-20s %s\n", p->op.name, p->op.what);
			continue;
		}
		cJSON_AddStringToObject(o, "name", p->op.name);
		cJSON_AddStringToObject(o, "what", p->op.what);
		cJSON_AddItemToArray(list, o);
	}
	if (!name)
		return json ? json_write(c, "-", list) : cli_flush();
	if (hexc_op_find(name) < 0)
		return cli_error(EXIT_USAGE, "unknown operator '%s'; hexc ops lists them", name);
	hexc_op_at((size_t)hexc_op_find(name), &p->op);
	p->c = c;
	op_page_read(p);
	if (json)
		return json_write(c, "-", json_page(p));
	print_page(p);
	return cli_flush();
}
