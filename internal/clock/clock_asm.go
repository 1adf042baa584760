//go:build amd64 || arm64

package clock

//go:noescape
func counter() uint64

//go:noescape
func fence()
