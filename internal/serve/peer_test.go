package serve

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestMain also makes a server of this test binary, and a client, for tests that need other users.
func TestMain(m *testing.M) {
	switch role := os.Getenv("HEAPTAP_TEST_SERVE"); {
	case role == "server":
		s, err := Listen(Options{Warn: func(text string) { fmt.Println(text) }})
		if err != nil {
			panic(err)
		}
		fmt.Println(s.Invitation())
		panic(s.Serve(context.Background(), page, stub{}))
	case role != "":
		address, code, _ := strings.Cut(role, "#code=")
		body := strings.NewReader(fmt.Sprintf(`{"code": %q}`, code))
		response, err := http.Post(address+"auth", "application/json", body)
		if err != nil {
			panic(err)
		}
		fmt.Println(response.StatusCode)
	default:
		os.Exit(m.Run())
	}
}

// asUser prepares this test binary in another role, as a user.
func asUser(uid int, role string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe") // not by its path: other users do not get there
	cmd.Env = append(os.Environ(), "HEAPTAP_TEST_SERVE="+role)
	cmd.Dir = "/"
	if uid != os.Geteuid() {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	}
	return cmd
}

// TestUsers: a code is redeemed by the server's user and by root, and by nobody else.
func TestUsers(t *testing.T) {
	t.Parallel()
	users := []int{os.Geteuid()}
	if users[0] == 0 { // only root can become another user
		users = []int{0, 12345, 54321}
	}
	for _, server := range users {
		for _, client := range users {
			cmd := asUser(server, "server")
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			text := bufio.NewReader(out)
			invitation, _ := text.ReadString('\n')
			status, err := asUser(client, strings.TrimSpace(invitation)).Output()
			want := "200\n"
			if client != server && client != 0 {
				want = "403\n"
				if warning, _ := text.ReadString('\n'); !strings.Contains(warning, fmt.Sprintf(
					"belongs to user %d, and heaptap to user %d", client, server)) {
					t.Errorf("server of %d, client of %d: warning %q", server, client, warning)
				}
			}
			if string(status) != want || err != nil {
				t.Errorf("server of %d, client of %d: %q, %v, want %q", server, client, status, err, want)
			}
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}
}

// TestSocketOwner asks for sockets in all states.
func TestSocketOwner(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		l, err := net.Listen("tcp", address)
		if err != nil && strings.HasPrefix(address, "[") {
			t.Logf("no IPv6 here: %v", err)
			continue
		} else if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		server := addrPort(l.Addr())
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		accepted, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer accepted.Close()
		client := addrPort(c.LocalAddr())
		if uid, err := socketOwner(client, server); err != nil || int(uid) != os.Geteuid() {
			t.Errorf("%s: user %d, %v", address, uid, err)
		}
		// A server may also listen for both families.
		mapped := netip.AddrPortFrom(netip.AddrFrom16(client.Addr().As16()), client.Port())
		if uid, err := socketOwner(mapped, server); err != nil || int(uid) != os.Geteuid() {
			t.Errorf("%s: %s: user %d, %v", address, mapped, uid, err)
		}
		for what, pair := range map[string][2]netip.AddrPort{
			"another port":         {netip.AddrPortFrom(client.Addr(), client.Port()^1), server},
			"the listening socket": {server, client},
			"another server":       {client, netip.AddrPortFrom(server.Addr(), server.Port()^1)},
		} {
			accepted.Close()
			if uid, err := socketOwner(pair[0], pair[1]); err != errNoSocket {
				t.Errorf("%s: %s: user %d, %v", address, what, uid, err)
			}
		}
		// A socket that no process has any more reads as root's.
		c.Close()
		if uid, err := socketOwner(client, server); err != errNoSocket {
			t.Errorf("%s: closed: user %d, %v", address, uid, err)
		}
	}
}

// TestMappedClient: a client may reach a server by a socket of the other family.
func TestMappedClient(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Skipf("no IPv6 here: %v", err)
	}
	defer unix.Close(fd)
	server := addrPort(l.Addr())
	if err := unix.Connect(fd, &unix.SockaddrInet6{Port: int(server.Port()),
		Addr: netip.AddrFrom16(server.Addr().As16()).As16()}); err != nil {
		t.Fatal(err)
	}
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer accepted.Close()
	if uid, err := socketOwner(addrPort(accepted.RemoteAddr()), server); err != nil || int(uid) != os.Geteuid() {
		t.Errorf("user %d, %v", uid, err)
	}
}

func addrPort(a net.Addr) netip.AddrPort { return a.(*net.TCPAddr).AddrPort() }

// TestMayRedeem: whose socket it is must be known of every peer that is on this machine, by whatever address it comes.
func TestMayRedeem(t *testing.T) {
	t.Parallel()
	local := &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 80}
	for remote, ok := range map[string]bool{
		"198.51.100.7:1234":          true, // another machine
		"[2001:db8::7]:1234":         true,
		"127.0.0.1:1":                false, // no socket has this port
		"[::ffff:127.0.0.1]:1":       false,
		"[::1]:1":                    false,
		"192.0.2.1:1":                false, // the server's own address
		"[::ffff:192.0.2.1]:1":       false,
		"":                           false,
		"localhost:1":                false,
		"198.51.100.7":               false,
		"[fe80::7%" + "none" + "]:1": true,
	} {
		r := &http.Request{RemoteAddr: remote}
		r = r.WithContext(context.WithValue(context.Background(), http.LocalAddrContextKey, local))
		if err := mayRedeem(r); (err == nil) != ok {
			t.Errorf("%q: %v", remote, err)
		}
	}
	list, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range list {
		ip, _ := netip.AddrFromSlice(a.(*net.IPNet).IP)
		if !isHere(ip, netip.AddrFrom4([4]byte{192, 0, 2, 1})) {
			t.Errorf("%s is taken for another machine's", ip)
		}
	}
	if err := mayRedeem(&http.Request{RemoteAddr: "198.51.100.7:1234"}); err == nil {
		t.Error("a request that came by no connection")
	}
}

// FuzzOwner: whatever the kernel answers, it is the owner of this very socket, or an error.
func FuzzOwner(f *testing.F) {
	f.Add([]byte{})
	f.Add(make([]byte, 16))
	f.Add(make([]byte, 200))
	client, server := netip.MustParseAddrPort("127.0.0.1:1234"), netip.MustParseAddrPort("127.0.0.1:80")
	good := []byte{88, 0, 0, 0, unix.SOCK_DIAG_BY_FAMILY, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	good = append(good, unix.AF_INET, 1, 0, 0,
		4, 210, 0, 80, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 127, 0, 0, 1)
	good = append(good, make([]byte, 88-len(good))...)
	good[80], good[84] = 77, 1
	f.Add(good)
	f.Add(append([]byte{36, 0, 0, 0, unix.NLMSG_ERROR, 0, 0, 0}, make([]byte, 28)...))
	f.Fuzz(func(t *testing.T, answer []byte) {
		uid, err := ownerIn(answer, client, server)
		if err == nil && (len(answer) < len(good) || answer[84]|answer[85]|answer[86]|answer[87] == 0) {
			t.Errorf("user %d of %x", uid, answer)
		}
	})
	if uid, err := ownerIn(good, client, server); uid != 77 || err != nil {
		f.Errorf("user %d, %v", uid, err)
	}
}
