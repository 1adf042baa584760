// Package spelling suggests known words for an unknown one.
package spelling

import "strings"

// Nearest returns the candidate that was probably meant; "" if no one is close.
func Nearest(word string, candidates []string) string {
	word, _, _ = strings.Cut(word, "=")
	best, least := "", max(2, len(word)/3)+1
	for _, c := range candidates {
		d := Distance(word, c)
		if len(word) >= 3 && strings.HasPrefix(c, word) {
			d = min(d, 1)
		}
		if d < least {
			best, least = c, d
		}
	}
	return best
}

// DidYouMean returns the end of an error message, with the candidate that was probably meant; "" if no one is close.
func DidYouMean(word string, candidates []string) string {
	if near := Nearest(word, candidates); near != "" {
		return "; did you mean " + near + "?"
	}
	return ""
}

// Distance counts the letters that must be changed, added, removed or swapped with their neighbour to make b of a.
func Distance(a, b string) int {
	d := make([][]int, len(a)+1)
	for i := range d {
		d[i] = make([]int, len(b)+1)
		d[i][0] = i
	}
	for j := range d[0] {
		d[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			d[i][j] = min(d[i-1][j]+1, d[i][j-1]+1, d[i-1][j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(a)][len(b)]
}
