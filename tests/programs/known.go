package programs

import "fmt"

// Known returns the cases whose programs know their own numbers. Scale 1 is the size of `make test-programs`: 10
// million pairs, 8 million blocks freed by other threads, 5 million live blocks.
func (k *Kit) Known(scale float64) []Case {
	n := func(full float64) string { return fmt.Sprint(int(full * scale)) }
	w := k.Path("w")
	return []Case{
		{Name: "W1", Args: []string{w, "w1", n(10e6)}, Below: []string{"work"}, ComparePeak: true},
		{Name: "W1 at depth 60", Args: []string{w, "w1d", n(4e6)}, Below: []string{"work"}, ComparePeak: true},
		{Name: "W2", Args: []string{w, "w2", n(4e6)}, Below: []string{"work"}, ComparePeak: true},
		{Name: "W1 in 2 threads", Args: []string{w, "w1t2", n(4e6)}, Below: []string{"thread_main"}, Threads: true},
		{Name: "W3", Args: []string{w, "w3", n(8e6)}, Below: []string{"thread_main"}, Threads: true},
		{Name: "short threads", Args: []string{w, "many", n(5e3)}, Below: []string{"thread_main"}, Threads: true},
		{Name: "C++ map", Args: []string{k.Path("map"), n(5e6)}, Below: []string{"main"}, ComparePeak: true},
		{Name: "forks", Args: []string{k.Path("forks"), "3"}, Threads: true},
		{Name: "RTLD_LOCAL", Args: []string{k.Path("local"), k.Path("plugin.so"), n(50e3)}},
		{Name: "killed", Args: []string{k.Path("die"), "kill", n(1e6)}, Status: 137},
		{Name: "_exit", Args: []string{k.Path("die"), "_exit", n(1e6)}, Status: 7},
		{Name: "abort", Args: []string{k.Path("die"), "abort", n(1e6)}, Status: 134},
		{Name: "segv", Args: []string{k.Path("die"), "segv", n(1e6)}, Status: 139},
	}
}
