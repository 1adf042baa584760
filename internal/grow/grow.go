// Package grow makes room in lists that become long.
package grow

// For returns a list with room for n more elements, and for as many as it has. Where it outgrows its memory, that is
// doubled: append lets long lists grow by a quarter only. Memory that is new from the system is not touched before it
// is used, unlike by slices.Grow, which clears it.
func For[T any](list []T, n int) []T {
	if cap(list)-len(list) >= n {
		return list
	}
	longer := make([]T, len(list), len(list)+max(n, len(list)))
	copy(longer, list)
	return longer
}
