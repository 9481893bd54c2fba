# values.sh - sourced by tests of dots: values whose sums of products do not depend on the order of additions.
values() { # type seed: an exactly multiplied fill for --arg
	case $1 in
	u4) echo "randint($2,0,15)" ;;
	i4) echo "randint($2,-8,7)" ;;
	u*) echo "randint($2,0,200)" ;;
	i*) echo "randint($2,-100,100)" ;;
	*) echo "randint($2,-7,7)" ;;
	esac
}
