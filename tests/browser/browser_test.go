package browser

import (
	"context"
	"crypto/sha1"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/heaptap/heaptap/internal/serve"
	"github.com/heaptap/heaptap/tests/need"
)

//go:embed testdata
var testdata embed.FS

// app is an app in miniature: it does all that the policy lets the real one do.
func app(t *testing.T) fs.FS {
	t.Helper()
	files, err := fs.Sub(testdata, "testdata")
	if err != nil {
		t.Fatal(err)
	}
	return files
}

const secret = "SECRET"

// outcome is what attack.mjs prints.
type outcome struct {
	App struct {
		Title, Address, Cookies string
		Violations, Problems    []string
	}
	Elsewhere, OtherSite, Rebound, ReboundItself attack
}

type attack struct {
	Read     map[string]string // by way
	Answered []string          // addresses of the server whose responses were not errors
}

func (o *outcome) attacks() map[string]attack {
	return map[string]attack{"another port": o.Elsewhere, "another site": o.OtherSite,
		"another site by its own name": o.Rebound, "the rebound name": o.ReboundItself}
}

// drive has Chromium open pages.
func drive(t *testing.T, options map[string]string) (o outcome) {
	t.Helper()
	need.File(t, "../../ui/node_modules/playwright-core/package.json")
	node := need.Tool(t, "node")
	options["chromium"] = need.Tool(t, "chromium")
	text, err := json.Marshal(options)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(node, "attack.mjs", string(text))
	var problems strings.Builder
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &o)
	}
	if err != nil {
		t.Fatalf("%v\n%s%s", err, out, problems.String())
	}
	return o
}

// evil is the attacker's own server.
func evil(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<!doctype html><title>evil</title>")
	}))
	t.Cleanup(server.Close)
	return server.URL + "/"
}

func rebound(url string) string { return strings.Replace(url, "127.0.0.1", "evil.test", 1) }

// TestOtherPages: the app works within its policy. Pages of other servers, and a name that is made to lead here, read
// nothing, although they have the token and a code.
func TestOtherPages(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	server, err := serve.Listen(serve.Options{Warn: func(text string) { t.Error("warning:", text) }})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error)
	go func() {
		done <- server.Serve(ctx, app(t), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			asked.Add(1)
			fmt.Fprint(w, secret)
		}))
	}()
	defer func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	address := server.Address()
	_, code, _ := strings.Cut(server.Invitation(), "#code=")
	token := redeem(t, address, code)
	_, code, _ = strings.Cut(server.Invitation(), "#code=")
	o := drive(t, map[string]string{"app": server.Invitation(), "victim": address, "rebound": rebound(address),
		"evil": evil(t), "token": token, "code": code})

	if o.App.Title != "done: "+secret+", worker, image, policy" || o.App.Address != address || o.App.Cookies != "" {
		t.Errorf("the app shows %q at %q, cookies %q", o.App.Title, o.App.Address, o.App.Cookies)
	}
	// It tries one thing that it may not, which shows that violations are noticed.
	if v := o.App.Violations; len(v) != 1 || !strings.HasPrefix(v[0], "require-trusted-types-for ") ||
		len(o.App.Problems) != 1 || !strings.Contains(o.App.Problems[0], "TrustedHTML") {
		t.Errorf("the app breaks its policy: %q %q", v, o.App.Problems)
	}
	for from, a := range o.attacks() {
		for way, text := range a.Read {
			if text != "" {
				t.Errorf("from %s, %s reads %q", from, way, text)
			}
		}
		if len(a.Answered) > 0 {
			t.Errorf("from %s, there are answers at %q", from, a.Answered)
		}
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("the API was asked %d times, and once by the app", n)
	}
}

// redeem gives the token for a code.
func redeem(t *testing.T, address, code string) (token string) {
	t.Helper()
	response, err := http.Post(address+"auth", "application/json", strings.NewReader(fmt.Sprintf(`{"code": %q}`, code)))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var answer struct{ Token string }
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || answer.Token == "" {
		t.Fatalf("%s: %v", response.Status, err)
	}
	return answer.Token
}

// TestCarelessServer: the same pages read from a server that does not protect itself, so that they would notice.
func TestCarelessServer(t *testing.T) {
	t.Parallel()
	files := http.FileServerFS(app(t))
	var redeemed atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))
		h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type")
		h.Set("Access-Control-Allow-Credentials", "true")
		switch {
		case r.URL.Path == "/auth":
			if body, _ := io.ReadAll(r.Body); strings.HasPrefix(string(body), `{"code":"CODE"`) {
				redeemed.Add(1)
			}
			fmt.Fprint(w, "token")
		case r.URL.Path == "/api/v1/events":
			h.Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "data: "+secret+"\n\n")
		case r.URL.Path == "/api/v1/socket":
			sum := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
			h.Set("Sec-WebSocket-Accept", base64.StdEncoding.EncodeToString(sum[:]))
			h.Set("Connection", "Upgrade")
			h.Set("Upgrade", "websocket")
			w.WriteHeader(http.StatusSwitchingProtocols)
		case strings.HasPrefix(r.URL.Path, "/api/"):
			h.Set("Content-Type", "text/javascript")
			fmt.Fprint(w, secret)
		default:
			files.ServeHTTP(w, r)
		}
	}))
	defer server.Close()
	address := server.URL + "/"
	o := drive(t, map[string]string{"victim": address, "rebound": rebound(address), "evil": evil(t), "code": "CODE"})
	// Nothing can be read of these. The form and the beacon are there for what they do to the server.
	never := []string{"fetchOpaque", "redeemSimply", "beacon", "form"}
	for from, a := range o.attacks() {
		if len(a.Read) < 15 || len(a.Answered) < 8 {
			t.Errorf("from %s, there are %d ways and %d answers", from, len(a.Read), len(a.Answered))
		}
		for way, text := range a.Read {
			if from == "the rebound name" {
				continue // the same origin: it reads these, too
			}
			if (text != "") == slices.Contains(never, way) {
				t.Errorf("from %s, %s reads %q", from, way, text)
			}
		}
	}
	if n := redeemed.Load(); n < 4*4 {
		t.Errorf("%d redemptions, expected 4 ways from 4 places", n)
	}
}
