package serve

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestAborts has 50 clients begin all kinds of requests and go away at random moments. Afterwards, no goroutine and no
// descriptor is left of them.
func TestAborts(t *testing.T) {
	s := start(t, Options{})
	bearer := "Host: localhost\r\nAuthorization: Bearer " + s.token() + "\r\n"
	requests := []string{
		"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"GET /app.js HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n\r\n",
		"GET /api/v1/x HTTP/1.1\r\n" + bearer + "\r\n",
		"GET /api/v1/stream HTTP/1.1\r\n" + bearer + "\r\n",
		"POST /api/v1/x HTTP/1.1\r\n" + bearer + "Content-Length: 100000\r\n\r\n" + strings.Repeat("x", 90000),
		"POST /auth HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 20\r\n\r\n" +
			`{"code":`,
		"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n",
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	goroutines, descriptors := runtime.NumGoroutine(), openDescriptors(t)
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(i)))
			for range 5 {
				c, err := net.Dial("tcp", s.listener.Addr().String())
				if err != nil {
					t.Error(err)
					return
				}
				text := requests[random.IntN(len(requests))]
				_, _ = io.WriteString(c, text[:random.IntN(len(text)+1)])
				_ = c.SetReadDeadline(time.Now().Add(time.Duration(random.IntN(5000)) * time.Microsecond))
				_, _ = io.CopyN(io.Discard, c, int64(random.IntN(500)))
				if random.IntN(2) == 0 {
					_ = c.(*net.TCPConn).SetLinger(0) // a reset
				}
				c.Close()
			}
		})
	}
	all.Wait()
	until(t, func() string {
		if g, d := runtime.NumGoroutine(), openDescriptors(t); g > goroutines || d > descriptors {
			return fmt.Sprintf("%d goroutines, before %d; %d descriptors, before %d", g, goroutines, d, descriptors)
		}
		return ""
	})
}

// until waits until nothing is wrong any more.
func until(t *testing.T, wrong func() string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		switch text := wrong(); {
		case text == "":
			return
		case time.Now().After(end):
			t.Fatal(text)
		}
	}
}

func openDescriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}
