# values.sh - sourced by tests of products: numbers whose sums of products no order of additions changes.
values() { # type seed: what fills it, exactly multiplied
	case $1 in
	u4) echo "randint($2,0,15)" ;;
	i4) echo "randint($2,-8,7)" ;;
	u*) echo "randint($2,0,200)" ;;
	i*) echo "randint($2,-100,100)" ;;
	*) echo "randint($2,-7,7)" ;;
	esac
}
